/* Where the data pages of a chunk lie: the map's pages, or the file's offset index (PageIndex.md of
 * apache/parquet-format). */
#include <stdlib.h>

#include "format/parquet/parquet_reader.h"

/* Indexes of one group lie beside each other in most files: they are read at once where little else is between them. */
#define PLACES_GAP ((uint64_t)64 << 10)

lb_status lb_parquet_plan_of(const lb_reader *r, size_t group, size_t leaf, lb_parquet_plan *out, lb_error *err)
{
    const lb_parquet_footer *f = &r->footer;
    const lb_parquet_meta m = lb_parquet_footer_meta(f, group, leaf);

    *out = (lb_parquet_plan){ .leaf = &f->schema.leaves[leaf],
                              .offset = m.offset,
                              .length = m.length,
                              .limit = LB_MAX(f->at, m.offset + m.length),
                              .num_values = m.num_values,
                              .rows = f->groups[group].rows,
                              .want_end = f->groups[group].rows };
    return lb_parquet_codec(&m, out->leaf->path, &out->codec, err);
}

/* ---------------------------------------------------------------- the map's pages */

/* First page that is of (group, leaf) or behind. */
static uint64_t places_find(const lb_pages *p, uint64_t group, uint64_t leaf)
{
    uint64_t low = 0, high = p->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (p->block[middle] < group || (p->block[middle] == group && p->column[middle] < leaf))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Do places ascend, within the chunk and its rows? */
static bool places_hold(const lb_parquet_place *places, size_t n, const lb_parquet_plan *plan, uint64_t end)
{
    uint64_t at = plan->offset, row = 0;

    if (n == 0 || places[0].first_row != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        const lb_parquet_place *p = &places[i];
        if (p->offset < at || p->length == 0 || p->offset > end || p->length > end - p->offset || p->first_row < row ||
            (p->first_row >= plan->rows && plan->rows != 0))
            return false;
        at = p->offset + p->length;
        row = p->first_row;
    }
    return true;
}

static lb_status places_of_map(const lb_pages *p, size_t group, size_t leaf, lb_parquet_plan *plan, lb_arena *arena,
                               lb_error *err)
{
    const uint64_t first = places_find(p, group, leaf), stop = places_find(p, group, (uint64_t)leaf + 1);
    const size_t n = (size_t)(stop - first);

    if (n == 0)
        return LB_OK;
    lb_parquet_place *places = lb_arena_alloc(arena, n, sizeof *places);
    if (places == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++)
        places[i] = (lb_parquet_place){ p->offset[first + i], p->length[first + i], p->first_row[first + i] };
    /* Rows that are not known are past any. */
    if (places_hold(places, n, plan, plan->offset + plan->length)) {
        plan->places = places;
        plan->n_places = n;
        plan->aligned = plan->leaf->max_rep == 0;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the offset index */

lb_status lb_parquet_index_places(const void *bytes, size_t size, const lb_parquet_plan *plan, uint64_t end,
                                  lb_arena *arena, const lb_parquet_place **out, size_t *n, lb_error *err)
{
    lb_pqt_offset_index index = { 0 };
    lb_error why = LB_ERROR_INIT;
    lb_cursor in;

    *out = NULL;
    *n = 0;
    lb_cursor_init(&in, bytes, size, 0);
    lb_status status = lb_thrift_decode(LB_THRIFT_COMPACT, &lb_pqt_offset_index_struct, &in, arena, &index, &why);
    if (lb_is_callers(status))
        return lb_fail(err, status, LB_NOWHERE, "%s", why.message);
    if (status != LB_OK || index.pages.count == 0)
        return LB_OK;
    const lb_pqt_location *from = index.pages.items;
    lb_parquet_place *places = lb_arena_alloc(arena, index.pages.count, sizeof *places);
    if (places == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < index.pages.count; i++) {
        if (from[i].offset < 0 || from[i].length < 0 || from[i].first_row < 0)
            return LB_OK;
        places[i] =
            (lb_parquet_place){ (uint64_t)from[i].offset, (uint64_t)from[i].length, (uint64_t)from[i].first_row };
    }
    if (places_hold(places, index.pages.count, plan, end)) {
        *out = places;
        *n = index.pages.count;
    }
    return LB_OK;
}

typedef struct places_index {
    uint64_t at;
    uint32_t size;
    size_t plan;
} places_index;

static int places_by_offset(const void *a, const void *b)
{
    const places_index *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Indexes [first, stop) of the sorted list, with one read. */
static lb_status places_read(const lb_reader *r, const places_index *list, size_t first, size_t stop,
                             lb_parquet_plan *plans, lb_arena *arena, lb_buf *bytes, lb_error *err)
{
    const uint64_t at = list[first].at;
    uint64_t end = at;

    for (size_t i = first; i < stop; i++)
        end = LB_MAX(end, list[i].at + list[i].size);
    bytes->size = 0;
    LB_TRY(lb_buf_reserve(bytes, (size_t)(end - at), err));
    LB_TRY(lb_parquet_read_at(r->store, at, bytes->data, (size_t)(end - at), err));
    for (size_t i = first; i < stop; i++) {
        lb_parquet_plan *plan = &plans[list[i].plan];
        LB_TRY(lb_parquet_index_places(bytes->data + (list[i].at - at), list[i].size, plan, plan->offset + plan->length,
                                       arena, &plan->places, &plan->n_places, err));
        plan->aligned = plan->n_places != 0;
    }
    return LB_OK;
}

static lb_status places_read_all(const lb_reader *r, places_index *list, size_t n, lb_parquet_plan *plans,
                                 lb_arena *arena, lb_error *err)
{
    lb_status status = LB_OK;
    lb_buf bytes;

    qsort(list, n, sizeof *list, places_by_offset);
    lb_buf_init(&bytes, &r->cx->budget);
    for (size_t first = 0, stop; status == LB_OK && first < n; first = stop) {
        uint64_t end = list[first].at + list[first].size;
        for (stop = first + 1; stop < n && list[stop].at <= end + PLACES_GAP; stop++)
            end = LB_MAX(end, list[stop].at + list[stop].size);
        status = places_read(r, list, first, stop, plans, arena, &bytes, err);
    }
    lb_buf_free(&bytes);
    return status;
}

lb_status lb_parquet_places(const lb_reader *r, size_t group, const size_t *leaves, lb_parquet_plan *plans, size_t n,
                            lb_arena *arena, lb_error *err)
{
    places_index *list = lb_arena_alloc(arena, n + 1, sizeof *list);
    size_t found = 0;

    if (list == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        if (r->known != NULL && r->known->pages.count != 0)
            LB_TRY(places_of_map(&r->known->pages, group, leaves[i], &plans[i], arena, err));
        const lb_parquet_meta m = lb_parquet_footer_meta(&r->footer, group, leaves[i]);
        if (plans[i].n_places == 0 && m.offset_index_length != 0 && m.offset_index <= r->store->size &&
            m.offset_index_length <= r->store->size - m.offset_index)
            list[found++] = (places_index){ m.offset_index, m.offset_index_length, i };
    }
    return places_read_all(r, list, found, plans, arena, err);
}
