#include "lake/packed.h"

#include "format/access_points.h"

lb_status lb_packed_view(lb_context *cx, lb_store *store, const lb_entry *known, lb_store **out, lb_error *err)
{
    const lb_container *container = store->open_inside != NULL ? NULL : lb_container_of_path(lb_str_of(store->path));

    *out = NULL;
    if (container == NULL)
        return LB_OK;
    LB_TRY(lb_store_open_unpacked(cx, store, container, out, err));
    lb_status status = known != NULL && lb_str_is(known->container, container->name)
                           ? lb_points_know(*out, &known->access_points, 0, 0, err)
                           : lb_unpacked_look(*out, store, err);
    if (status == LB_OK)
        return LB_OK;
    lb_store_close(*out);
    *out = NULL;
    return status;
}

typedef struct packed_rows {
    const lb_entry *entry;
    uint64_t block;
} packed_rows;

/* The first block that begins at `at` or behind; blocks are in order, and so are the places that are asked for. */
static void packed_next_row(void *user, uint64_t at, uint64_t *row, uint64_t *byte)
{
    packed_rows *r = user;
    const lb_blocks *b = &r->entry->blocks;

    while (b->first_byte != NULL && r->block < b->count && b->first_byte[r->block] < at)
        r->block++;
    bool there = b->first_byte != NULL && r->block < b->count;
    *row = there ? b->first_row[r->block] : r->entry->total_rows;
    *byte = there ? b->first_byte[r->block] : at;
}

lb_status lb_packed_keep(lb_store *view, lb_arena *arena, lb_entry *out, lb_error *err)
{
    packed_rows rows = { .entry = out };

    out->container = lb_str_of(view->container);
    out->blocks.unpacked = true;
    return lb_points_keep(view, lb_container_of_name(out->container)->point_kind, 0, 0, packed_next_row, &rows, arena,
                          &out->access_points, err);
}
