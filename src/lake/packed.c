#include "lake/packed.h"

#include <zstd.h>

/* ---------------------------------------------------------------- from a map */

/* The i-th restart point of an entry. A window that is no zstd frame with its size in front does not read, as the view will say. */
static lb_unpacked_point packed_point(const lb_access_points *p, uint64_t i)
{
    lb_unpacked_point out = { .at = { .byte = p->compressed_byte[i], .bit = p->bit[i] },
                              .out_at = p->uncompressed_byte[i] };

    if (p->window_offsets != NULL && p->window_offsets[i + 1] > p->window_offsets[i]) {
        out.window = p->window_data + p->window_offsets[i];
        out.window_size = (size_t)(p->window_offsets[i + 1] - p->window_offsets[i]);
        unsigned long long size = ZSTD_getFrameContentSize(out.window, out.window_size);
        out.at.window = size > LB_UNPACK_HISTORY ? LB_UNPACK_HISTORY + 1 : (unsigned)size;
    }
    if (p->params_offsets != NULL && p->params_offsets[i + 1] > p->params_offsets[i])
        out.at.param = p->params_data[p->params_offsets[i]];
    return out;
}

static lb_status packed_know(lb_store *view, const lb_access_points *p, lb_arena *arena, lb_error *err)
{
    lb_unpacked_point *points = lb_arena_alloc(arena, (size_t)p->count, sizeof *points);

    if (points == NULL)
        return lb_arena_fail(arena, err);
    for (uint64_t i = 0; i < p->count; i++)
        points[i] = packed_point(p, i);
    return lb_unpacked_know(view, points, (size_t)p->count, err);
}

lb_status lb_packed_view(lb_context *cx, lb_store *store, const lb_entry *known, lb_store **out, lb_error *err)
{
    const lb_container *container = store->open_inside != NULL ? NULL : lb_container_of_path(lb_str_of(store->path));

    *out = NULL;
    if (container == NULL)
        return LB_OK;
    LB_TRY(lb_store_open_unpacked(cx, store, container, out, err));
    lb_arena arena;
    lb_arena_init(&arena, &cx->budget);
    lb_status status = known != NULL && lb_str_is(known->container, container->name)
                           ? packed_know(*out, &known->access_points, &arena, err)
                           : lb_unpacked_look(*out, store, err);
    lb_arena_free(&arena);
    if (status == LB_OK)
        return LB_OK;
    lb_store_close(*out);
    *out = NULL;
    return status;
}

/* ---------------------------------------------------------------- for a map */

typedef struct packed_columns {
    uint32_t *member;
    uint64_t *compressed_byte, *uncompressed_byte, *next_row, *next_row_byte;
    uint8_t *bit, *window, *params;
    int32_t *window_offsets, *params_offsets;
} packed_columns;

static bool packed_alloc(packed_columns *c, lb_arena *arena, size_t n, size_t windows)
{
    c->member = lb_arena_alloc(arena, n, sizeof *c->member);
    c->compressed_byte = lb_arena_alloc(arena, n, sizeof *c->compressed_byte);
    c->uncompressed_byte = lb_arena_alloc(arena, n, sizeof *c->uncompressed_byte);
    c->next_row = lb_arena_alloc(arena, n, sizeof *c->next_row);
    c->next_row_byte = lb_arena_alloc(arena, n, sizeof *c->next_row_byte);
    c->bit = lb_arena_alloc(arena, n, 1);
    c->window = lb_arena_alloc(arena, windows + 1, 1);
    c->params = lb_arena_alloc(arena, n, 1);
    c->window_offsets = lb_arena_alloc(arena, n + 1, sizeof *c->window_offsets);
    c->params_offsets = lb_arena_alloc(arena, n + 1, sizeof *c->params_offsets);
    return c->member != NULL && c->compressed_byte != NULL && c->uncompressed_byte != NULL && c->next_row != NULL &&
           c->next_row_byte != NULL && c->bit != NULL && c->window != NULL && c->params != NULL &&
           c->window_offsets != NULL && c->params_offsets != NULL;
}

/* The first block that begins at `at` or behind; blocks are in order, and so are the places that are asked for. */
static void packed_next_row(const lb_entry *e, uint64_t at, uint64_t *block, uint64_t *row, uint64_t *byte)
{
    const lb_blocks *b = &e->blocks;

    while (b->first_byte != NULL && *block < b->count && b->first_byte[*block] < at)
        (*block)++;
    bool there = b->first_byte != NULL && *block < b->count;
    *row = there ? b->first_row[*block] : e->total_rows;
    *byte = there ? b->first_byte[*block] : at;
}

static void packed_put(packed_columns *c, size_t i, const lb_unpacked_point *p)
{
    c->compressed_byte[i] = p->at.byte;
    c->uncompressed_byte[i] = p->out_at;
    c->bit[i] = (uint8_t)p->at.bit;
    c->params[i] = p->at.param;
    c->params_offsets[i + 1] = (int32_t)i + 1;
    if (p->window_size != 0)
        memcpy(c->window + c->window_offsets[i], p->window, p->window_size);
    c->window_offsets[i + 1] = c->window_offsets[i] + (int32_t)p->window_size;
}

/* The points that are far enough from each other for a map: a file that tells its frames has more. */
static lb_status packed_far(lb_store *view, lb_arena *arena, const lb_unpacked_point **out, size_t *n, lb_error *err)
{
    const lb_unpacked_point *all;
    size_t count = lb_unpacked_points(view, &all);
    lb_unpacked_point *far = lb_arena_alloc(arena, count, sizeof *far);
    uint64_t last = 0;

    *n = 0;
    if (far == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < count; i++)
        if (all[i].out_at - last >= LB_UNPACKED_SPACING) {
            far[(*n)++] = all[i];
            last = all[i].out_at;
        }
    *out = far;
    return LB_OK;
}

lb_status lb_packed_keep(lb_store *view, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const lb_unpacked_point *points;
    size_t n, windows = 0;
    packed_columns c;
    uint64_t block = 0;

    out->container = lb_str_of(view->container);
    /* Windows are of 64 KiB at most, and a map's column of them of 2 GiB. */
    LB_TRY(packed_far(view, arena, &points, &n, err));
    n = LB_MIN(n, (size_t)INT32_MAX / LB_UNPACK_HISTORY);
    for (size_t i = 0; i < n; i++)
        windows += points[i].window_size;
    if (n == 0)
        return LB_OK;
    if (!packed_alloc(&c, arena, n, windows))
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        packed_put(&c, i, &points[i]);
        packed_next_row(out, points[i].out_at, &block, &c.next_row[i], &c.next_row_byte[i]);
    }
    out->access_points = (lb_access_points){ .count = n,
                                             .kind = lb_str_of(lb_container_of_name(out->container)->point_kind),
                                             .member = c.member,
                                             .compressed_byte = c.compressed_byte,
                                             .uncompressed_byte = c.uncompressed_byte,
                                             .next_row = c.next_row,
                                             .next_row_byte = c.next_row_byte,
                                             .bit = c.bit,
                                             .window_offsets = c.window_offsets,
                                             .params_offsets = c.params_offsets,
                                             .window_data = c.window,
                                             .params_data = c.params };
    return LB_OK;
}
