/* Layouts that only save space, as plain arrays: views, list views, runs, dictionaries. Here a few bytes of the file can stand for
 * very many, so that what comes out is measured before it is made. */
#include <stdlib.h>

#include "format/arrow/arrow.h"

/* A batch of several rows is cut where one column would come to more than this. */
#define DECODE_MOST ((uint64_t)64 << 20)

lb_status lb_arrow_decode_fits(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t bytes, int64_t count, lb_error *err)
{
    return bytes > DECODE_MOST && count > 1 && !p->at_once ? lb_arrow_fail_long(p, n, err) : LB_OK;
}

/* May an array of `bytes` be made? They are counted. */
static lb_status decode_allow(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t bytes, int64_t count, lb_error *err)
{
    LB_TRY(lb_arrow_decode_fits(p, n, bytes, count, err));
    return lb_arrow_work_take(&p->made, bytes) ? LB_OK : lb_arrow_work_fail(&p->made, err);
}

/* ---------------------------------------------------------------- picked rows */

static uint64_t decode_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* About the bytes of rows [first, first + count) of a plain array. */
static uint64_t decode_bytes(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t first, int64_t count)
{
    struct ArrowSchemaView view;
    uint64_t bytes = 0;

    if (count <= 0 || ArrowSchemaViewInit(&view, type, NULL) != NANOARROW_OK)
        return 0;
    int64_t at = a->offset + first, end = at + count;
    switch (view.storage_type) {
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
        return 4 * (uint64_t)count +
               (uint64_t)(((const int32_t *)a->buffers[1])[end] - ((const int32_t *)a->buffers[1])[at]);
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY:
        return 8 * (uint64_t)count +
               (uint64_t)(((const int64_t *)a->buffers[1])[end] - ((const int64_t *)a->buffers[1])[at]);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP: {
        const int32_t *o = a->buffers[1];
        return decode_sum(4 * (uint64_t)count, decode_bytes(type->children[0], a->children[0], o[at], o[end] - o[at]));
    }
    case NANOARROW_TYPE_LARGE_LIST: {
        const int64_t *o = a->buffers[1];
        return decode_sum(8 * (uint64_t)count, decode_bytes(type->children[0], a->children[0], o[at], o[end] - o[at]));
    }
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return decode_bytes(type->children[0], a->children[0], at * view.fixed_size, count * view.fixed_size);
    case NANOARROW_TYPE_DENSE_UNION: /* each row has one item, of the mean size of its child */
        for (int64_t i = 0; i < a->n_children; i++)
            bytes = LB_MAX(bytes, decode_bytes(type->children[i], a->children[i], 0, a->children[i]->length) /
                                      (uint64_t)LB_MAX(a->children[i]->length, 1));
        return decode_sum(5, bytes) * (uint64_t)count;
    case NANOARROW_TYPE_STRUCT:
    case NANOARROW_TYPE_SPARSE_UNION:
        for (int64_t i = 0; i < a->n_children; i++)
            bytes = decode_sum(bytes, decode_bytes(type->children[i], a->children[i], at, count));
        return decode_sum(bytes, (uint64_t)count);
    default:
        return (uint64_t)LB_MAX(view.layout.element_size_bits[1] / 8, 1) * (uint64_t)count;
    }
}

static bool decode_is_flat(const struct ArrowSchema *type)
{
    return type->n_children == 0 && strchr("uUzZ", type->format[0]) == NULL;
}

/* Bytes of the picked rows. */
static uint64_t decode_measure(const struct ArrowSchema *type, const struct ArrowArray *const *chunks, size_t n_chunks,
                               const lb_pick *picks, int64_t count)
{
    uint64_t bytes = 0;

    if (n_chunks == 0 || count == 0)
        return 0;
    if (decode_is_flat(type))
        return decode_bytes(type, chunks[0], 0, 1) * (uint64_t)count;
    if (strcmp(type->format, "u") == 0 || strcmp(type->format, "z") == 0) {
        for (int64_t i = 0; i < count; i++) {
            const struct ArrowArray *a = chunks[picks[i].chunk];
            const int32_t *o = (const int32_t *)a->buffers[1] + a->offset + picks[i].row;
            bytes += 4 + (uint64_t)(o[1] - o[0]);
        }
        return bytes;
    }
    for (int64_t i = 0; i < count; i++)
        bytes = decode_sum(bytes, decode_bytes(type, chunks[picks[i].chunk], picks[i].row, 1));
    return bytes;
}

lb_status lb_arrow_gather(lb_arrow_pull *p, const lb_arrow_node *n, const struct ArrowArray *const *chunks,
                          size_t n_chunks, const lb_pick *picks, int64_t count, struct ArrowArray *out, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;

    LB_TRY(decode_allow(p, n, decode_measure(n->plain, chunks, n_chunks, picks, count), count, err));
    lb_status status = count == 0 ? lb_array_nulls(n->plain, 0, out, &why)
                                  : lb_array_gather(n->plain, chunks, n_chunks, picks, (size_t)count, out, &why);
    if (status == LB_UNSUPPORTED)
        return lb_arrow_fail_long(p, n, err);
    if (status != LB_OK && err != NULL && err->code == LB_OK)
        *err = why;
    return status;
}

static lb_status decode_picks(lb_arrow_pull *p, int64_t count, lb_arrow_piece *out, lb_error *err)
{
    uint64_t size;

    if (__builtin_mul_overflow((uint64_t)count, sizeof(lb_pick), &size))
        size = UINT64_MAX;
    return lb_arrow_piece_new(&p->made, size, false, out, err);
}

/* ---------------------------------------------------------------- views */

typedef struct view_item {
    int32_t size;
    uint8_t here[4]; /* of a longer value the first bytes */
    int32_t buffer, offset;
} view_item;

#define VIEW_INLINE 12

typedef struct view_buffer {
    uint64_t first, end; /* bytes that are referred to */
    lb_arrow_piece piece;
} view_buffer;

typedef struct views {
    const view_item *items;
    const uint8_t *bits; /* validity; NULL */
    int64_t count;
    uint64_t total, n_buffers;
    view_buffer *buffers;
} views;

static bool view_is_set(const views *v, int64_t i)
{
    return v->bits == NULL || ArrowBitGet(v->bits, i);
}

static lb_status views_measure(lb_arrow_pull *p, const lb_arrow_node *n, views *v, lb_error *err)
{
    for (int64_t i = 0; i < v->count; i++) {
        const view_item *item = &v->items[i];
        if (!view_is_set(v, i))
            continue;
        if (item->size < 0)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a view has %d bytes", item->size);
        v->total += (uint64_t)item->size;
        if (item->size <= VIEW_INLINE)
            continue;
        if (item->buffer < 0 || (uint64_t)item->buffer >= v->n_buffers || item->offset < 0)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a view refers to byte %d of buffer %d of %llu", item->offset,
                                 item->buffer, (unsigned long long)v->n_buffers);
        view_buffer *b = &v->buffers[item->buffer];
        uint64_t end = (uint64_t)item->offset + (uint64_t)item->size;
        b->first = b->first == b->end ? (uint64_t)item->offset : LB_MIN(b->first, (uint64_t)item->offset);
        b->end = LB_MAX(b->end, end);
    }
    return LB_OK;
}

static lb_status views_fetch(lb_arrow_pull *p, uint64_t buffer, views *v, lb_error *err)
{
    for (uint64_t i = 0; i < v->n_buffers; i++) {
        view_buffer *b = &v->buffers[i];
        if (b->end != b->first)
            LB_TRY(lb_arrow_buffer_get(p, buffer + i, b->first, b->end - b->first, LB_ARROW_SWAP_NONE, &b->piece, err));
    }
    return LB_OK;
}

static void views_copy(const views *v, int32_t *offsets, uint8_t *data)
{
    int32_t at = 0;

    for (int64_t i = 0; i < v->count; i++) {
        const view_item *item = &v->items[i];
        offsets[i] = at;
        if (!view_is_set(v, i) || item->size == 0)
            continue;
        if (item->size <= VIEW_INLINE) {
            memcpy(data + at, item->here, (size_t)item->size);
        } else {
            const view_buffer *b = &v->buffers[item->buffer];
            memcpy(data + at, b->piece.at + ((uint64_t)item->offset - b->first), (size_t)item->size);
        }
        at += item->size;
    }
    offsets[v->count] = at;
}

static lb_status views_make(lb_arrow_pull *p, const lb_arrow_node *n, views *v, struct ArrowArray *out, lb_error *err)
{
    lb_arrow_piece offsets, data;

    LB_TRY(lb_arrow_piece_new(&p->made, 4 * ((uint64_t)v->count + 1), false, &offsets, err));
    lb_status status = lb_arrow_piece_new(&p->made, v->total, false, &data, err);
    if (status != LB_OK) {
        lb_arrow_piece_drop(&offsets);
        return status;
    }
    views_copy(v, (int32_t *)(void *)(uintptr_t)offsets.at, (uint8_t *)(uintptr_t)data.at);
    lb_arrow_array_set(out, 1, &offsets);
    lb_arrow_array_set(out, 2, &data);
    return lb_arrow_check_text(p, n, v->bits, out->buffers[1], false, out->buffers[2], 0, v->count, err);
}

static lb_status views_all(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, views *v, struct ArrowArray *out,
                           lb_error *err)
{
    v->buffers = calloc((size_t)v->n_buffers + 1, sizeof *v->buffers);
    if (v->buffers == NULL)
        return lb_fail_nomem(err);
    lb_status status = views_measure(p, n, v, err);
    if (status == LB_OK && v->total > DECODE_MOST && v->count > 1 && !p->at_once)
        status = lb_arrow_fail_long(p, n, err);
    if (status == LB_OK && v->total > INT32_MAX)
        status = lb_arrow_fail_long(p, n, err);
    if (status == LB_OK)
        status = views_fetch(p, buffer + 2, v, err);
    if (status == LB_OK)
        status = views_make(p, n, v, out, err);
    for (uint64_t i = 0; i < v->n_buffers; i++)
        lb_arrow_mem_unref(v->buffers[i].piece.mem);
    free(v->buffers);
    return status;
}

lb_status lb_arrow_read_views(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                              struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls;
    lb_arrow_piece bits, items;
    const uint64_t *sums = &p->batch.view_sums[n->at.views];

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 3, 0, out, err));
    LB_TRY(lb_arrow_validity(p, n, buffer, nulls, first, count, &bits, &out->null_count, err));
    views v = { .bits = out->null_count == 0 ? NULL : bits.at, .count = count, .n_buffers = sums[1] - sums[0] };
    if (v.bits != NULL)
        lb_arrow_array_set(out, 0, &bits); /* lives as long as `out` */
    LB_TRY(lb_arrow_values(p, buffer + 1, first, count, 16, LB_ARROW_SWAP_VIEWS, &items, err));
    v.items = (const view_item *)(const void *)items.at;
    lb_status status = views_all(p, n, buffer, &v, out, err);
    lb_arrow_piece_drop(&items);
    return status;
}

/* ---------------------------------------------------------------- list views */

typedef struct list_views {
    bool wide;
    const uint8_t *bits, *offsets, *sizes;
    int64_t count;
    int64_t low, high, total; /* items that are referred to, and how many rows have together */
    bool in_order;            /* each begins where the one before ended */
} list_views;

static int64_t list_number(const list_views *l, const uint8_t *from, int64_t i)
{
    return l->wide ? ((const int64_t *)(const void *)from)[i] : ((const int32_t *)(const void *)from)[i];
}

static bool list_is_set(const list_views *l, int64_t i)
{
    return (l->bits == NULL || ArrowBitGet(l->bits, i)) && list_number(l, l->sizes, i) != 0;
}

static lb_status list_measure(lb_arrow_pull *p, const lb_arrow_node *n, list_views *l, lb_error *err)
{
    l->in_order = true;
    for (int64_t i = 0; i < l->count; i++) {
        int64_t at = list_number(l, l->offsets, i), size = list_number(l, l->sizes, i), end;
        if (!list_is_set(l, i))
            continue;
        if (at < 0 || size < 0 || __builtin_add_overflow(at, size, &end) ||
            __builtin_add_overflow(l->total, size, &l->total))
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a list view begins at %lld and has %lld items", (long long)at,
                                 (long long)size);
        l->in_order = l->in_order && (l->high == l->low || at == l->high);
        l->low = l->high == l->low ? at : LB_MIN(l->low, at);
        l->high = LB_MAX(l->high, end);
    }
    if (!l->wide && l->total > INT32_MAX)
        return lb_arrow_fail_long(p, n, err);
    return LB_OK;
}

/* Items out of order, or more than once. */
static lb_status list_gather(lb_arrow_pull *p, const lb_arrow_node *child, const list_views *l,
                             const struct ArrowArray *items, struct ArrowArray *out, lb_error *err)
{
    lb_arrow_piece space;
    int64_t at = 0;

    if (l->total > (int64_t)(DECODE_MOST / sizeof(lb_pick)) && l->count > 1 && !p->at_once)
        return lb_arrow_fail_long(p, child, err);
    if (items->length > UINT32_MAX)
        return lb_arrow_fail(p, child, LB_UNSUPPORTED, err, "list views refer to more items than can be put in order");
    LB_TRY(decode_picks(p, l->total, &space, err));
    lb_pick *picks = (lb_pick *)(void *)(uintptr_t)space.at;
    for (int64_t i = 0; i < l->count; i++) {
        int64_t start = list_number(l, l->offsets, i) - l->low, size = list_number(l, l->sizes, i);
        for (int64_t k = 0; list_is_set(l, i) && k < size; k++)
            picks[at++] = (lb_pick){ 0, (uint32_t)(start + k) };
    }
    lb_status status = lb_arrow_gather(p, child, &items, 1, picks, l->total, out, err);
    lb_arrow_piece_drop(&space);
    return status;
}

static lb_status list_items(lb_arrow_pull *p, const lb_arrow_node *child, const list_views *l, struct ArrowArray *out,
                            lb_error *err)
{
    struct ArrowArray items;

    if (l->in_order)
        return lb_arrow_column_read(p, child, l->low, l->high - l->low, out, err);
    LB_TRY(lb_arrow_column_read(p, child, l->low, l->high - l->low, &items, err));
    lb_status status = list_gather(p, child, l, &items, out, err);
    lb_arrow_array_drop(&items);
    return status;
}

static lb_status list_make(lb_arrow_pull *p, const lb_arrow_node *n, list_views *l, struct ArrowArray *out,
                           lb_error *err)
{
    lb_arrow_piece offsets;
    int64_t at = 0;

    LB_TRY(list_measure(p, n, l, err));
    LB_TRY(lb_arrow_piece_new(&p->made, (l->wide ? 8 : 4) * ((uint64_t)l->count + 1), true, &offsets, err));
    void *to = (void *)(uintptr_t)offsets.at;
    for (int64_t i = 0; i < l->count; i++) {
        at += list_is_set(l, i) ? list_number(l, l->sizes, i) : 0;
        if (l->wide)
            ((int64_t *)to)[i + 1] = at;
        else
            ((int32_t *)to)[i + 1] = (int32_t)at;
    }
    lb_arrow_array_set(out, 1, &offsets);
    return list_items(p, &n->children[0], l, out->children[0], err);
}

lb_status lb_arrow_read_list_views(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                                   struct ArrowArray *out, lb_error *err)
{
    list_views l = { .wide = n->layout == LB_ARROW_LARGE_LIST_VIEW, .count = count };
    unsigned width = l.wide ? 8 : 4;
    uint64_t buffer;
    int64_t nulls;
    lb_arrow_piece bits, offsets, sizes;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 2, 1, out, err));
    LB_TRY(lb_arrow_validity(p, n, buffer, nulls, first, count, &bits, &out->null_count, err));
    if (out->null_count != 0) {
        l.bits = bits.at;
        lb_arrow_array_set(out, 0, &bits);
    }
    LB_TRY(lb_arrow_values(p, buffer + 1, first, count, width, width, &offsets, err));
    lb_status status = lb_arrow_values(p, buffer + 2, first, count, width, width, &sizes, err);
    if (status == LB_OK) {
        l.offsets = offsets.at;
        l.sizes = sizes.at;
        status = list_make(p, n, &l, out, err);
        lb_arrow_piece_drop(&sizes);
    }
    lb_arrow_piece_drop(&offsets);
    return status;
}

/* ---------------------------------------------------------------- runs */

typedef struct runs {
    const uint8_t *ends;
    unsigned width;
    int64_t n;
} runs;

static int64_t run_end(const runs *r, int64_t i)
{
    int16_t narrow;
    int32_t middle;
    int64_t wide;

    switch (r->width) {
    case 2:
        memcpy(&narrow, r->ends + 2 * i, 2);
        return narrow;
    case 4:
        memcpy(&middle, r->ends + 4 * i, 4);
        return middle;
    default:
        memcpy(&wide, r->ends + 8 * i, 8);
        return wide;
    }
}

/* The first run that ends behind a row. */
static int64_t runs_find(const runs *r, int64_t row)
{
    int64_t low = 0, high = r->n;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (run_end(r, middle) > row)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Picks of the rows' runs, counted from the first; *used: how many. */
static lb_status runs_pick(const lb_arrow_pull *p, const lb_arrow_node *n, const runs *r, int64_t first, int64_t count,
                           int64_t start, lb_pick *picks, int64_t *used, lb_error *err)
{
    int64_t run = start;

    for (int64_t row = first; row < first + count; row++) {
        while (run < r->n && run_end(r, run) <= row) {
            run++;
            if (run < r->n && run_end(r, run) <= run_end(r, run - 1))
                return lb_arrow_fail(p, n, LB_CORRUPT, err, "the ends of its runs do not ascend");
        }
        if (run >= r->n || run - start > UINT32_MAX)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "its runs end before row %lld", (long long)row);
        picks[row - first] = (lb_pick){ 0, (uint32_t)(run - start) };
    }
    *used = count == 0 ? 0 : run - start + 1;
    return LB_OK;
}

static lb_status runs_values(lb_arrow_pull *p, const lb_arrow_node *n, const runs *r, int64_t first, int64_t count,
                             lb_pick *picks, struct ArrowArray *out, lb_error *err)
{
    int64_t start = runs_find(r, first), used = 0;
    struct ArrowArray values;

    LB_TRY(runs_pick(p, n, r, first, count, start, picks, &used, err));
    LB_TRY(lb_arrow_column_read(p, &n->children[1], used == 0 ? 0 : start, used, &values, err));
    const struct ArrowArray *chunk = &values;
    lb_status status = lb_arrow_gather(p, n, &chunk, 1, picks, count, out, err);
    lb_arrow_array_drop(&values);
    return status;
}

lb_status lb_arrow_read_runs(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                             struct ArrowArray *out, lb_error *err)
{
    const lb_arrow_node *ends = &n->children[0];
    runs r = { .width = ends->width };
    uint64_t buffer;
    int64_t nulls;
    lb_arrow_piece kept, space;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_batch_node(p, ends, &buffer, &r.n, &nulls, err));
    if (nulls > 0)
        return lb_arrow_fail(p, n, LB_CORRUPT, err, "the ends of its runs have nulls");
    LB_TRY(decode_picks(p, count, &space, err));
    lb_status status = lb_arrow_buffer_keep(p, buffer + 1, 0, (uint64_t)r.n * r.width, ends->swap, &kept, err);
    if (status == LB_OK) {
        r.ends = kept.at;
        status = runs_values(p, n, &r, first, count, (lb_pick *)(void *)(uintptr_t)space.at, out, err);
        lb_arrow_piece_drop(&kept);
    }
    lb_arrow_piece_drop(&space);
    return status;
}

/* ---------------------------------------------------------------- dictionaries */

static uint64_t index_at(const lb_arrow_node *n, const uint8_t *at, int64_t i)
{
    uint16_t narrow;
    uint32_t middle;
    uint64_t wide;

    /* An index below 0 becomes one past all ends. */
    switch (n->width) {
    case 1:
        return n->is_signed ? (uint64_t)(int64_t)(int8_t)at[i] : at[i];
    case 2:
        memcpy(&narrow, at + 2 * i, 2);
        return n->is_signed ? (uint64_t)(int64_t)(int16_t)narrow : narrow;
    case 4:
        memcpy(&middle, at + 4 * i, 4);
        return n->is_signed ? (uint64_t)(int64_t)(int32_t)middle : middle;
    default:
        memcpy(&wide, at + 8 * i, 8);
        return wide;
    }
}

/* The chunk of an index; the one before is most often it. */
static size_t words_find(const lb_arrow_words *w, uint64_t index, size_t guess)
{
    size_t low = 0, high = w->n;

    if (index >= w->first[guess] && index < w->first[guess + 1])
        return guess;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (w->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static lb_status dictionary_pick(const lb_arrow_pull *p, const lb_arrow_node *n, const lb_arrow_words *w,
                                 const uint8_t *indices, const uint8_t *bits, int64_t count, lb_pick *picks,
                                 lb_error *err)
{
    size_t chunk = 0;

    for (int64_t i = 0; i < count; i++) {
        if (bits != NULL && !ArrowBitGet(bits, i)) {
            picks[i] = (lb_pick){ (uint32_t)w->n, 0 };
            continue;
        }
        uint64_t index = index_at(n, indices, i);
        if (index >= w->first[w->n])
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "index %lld, and the dictionary has %llu values",
                                 (long long)index, (unsigned long long)w->first[w->n]);
        chunk = words_find(w, index, chunk);
        picks[i] = (lb_pick){ (uint32_t)chunk, (uint32_t)(index - w->first[chunk]) };
    }
    return LB_OK;
}

/* Of many chunks most may be referred to by no row: the list becomes that of the others. *n: how many. */
static lb_status dictionary_thin(lb_arrow_pull *p, lb_arrow_words *w, lb_pick *picks, int64_t count, size_t *n,
                                 lb_error *err)
{
    lb_arrow_piece space;
    size_t used = 0;

    LB_TRY(lb_arrow_piece_new(&p->made, (w->n + 1) * sizeof(uint32_t), true, &space, err));
    uint32_t *place = (uint32_t *)(void *)(uintptr_t)space.at;
    for (int64_t i = 0; i < count; i++)
        place[picks[i].chunk] = 1;
    for (size_t i = 0; i <= w->n; i++) {
        if (place[i] == 0)
            continue;
        w->chunks[used] = w->chunks[i];
        place[i] = (uint32_t)used++;
    }
    for (int64_t i = 0; i < count; i++)
        picks[i].chunk = place[picks[i].chunk];
    lb_arrow_piece_drop(&space);
    *n = used;
    return LB_OK;
}

static lb_status dictionary_gather(lb_arrow_pull *p, const lb_arrow_node *n, lb_arrow_words *w, const uint8_t *indices,
                                   const uint8_t *bits, int64_t count, struct ArrowArray *out, lb_error *err)
{
    struct ArrowArray null = { .release = NULL };
    lb_arrow_piece space;
    size_t n_chunks = w->n + (bits != NULL);

    LB_TRY(decode_picks(p, count, &space, err));
    lb_pick *picks = (lb_pick *)(void *)(uintptr_t)space.at;
    lb_status status = dictionary_pick(p, n, w, indices, bits, count, picks, err);
    if (status == LB_OK && bits != NULL)
        status = lb_array_nulls(n->plain, 1, &null, err);
    w->chunks[w->n] = &null;
    if (status == LB_OK && w->n > 1)
        status = dictionary_thin(p, w, picks, count, &n_chunks, err);
    if (status == LB_OK)
        status = lb_arrow_gather(p, n, w->chunks, n_chunks, picks, count, out, err);
    lb_arrow_array_drop(&null);
    lb_arrow_piece_drop(&space);
    return status;
}

static lb_status dictionary_rows(lb_arrow_pull *p, const lb_arrow_node *n, const uint8_t *indices,
                                 const lb_arrow_piece *bits, int64_t null_count, int64_t count, struct ArrowArray *out,
                                 lb_error *err)
{
    lb_arrow_words words;
    bool done = false;

    lb_status status = lb_arrow_words_get(p, n->dictionary, &words, err);
    if (status == LB_OK)
        status = lb_arrow_spell(p, n, &words, indices, bits, null_count, count, out, &done, err);
    if (status == LB_OK && !done)
        status = dictionary_gather(p, n, &words, indices, null_count == 0 ? NULL : bits->at, count, out, err);
    lb_arrow_words_give(p->r, &words);
    return status;
}

lb_status lb_arrow_read_dictionary(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                                   struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls, null_count;
    lb_arrow_piece bits, indices;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_validity(p, n, buffer, nulls, first, count, &bits, &null_count, err));
    lb_status status = lb_arrow_values(p, buffer + 1, first, count, n->width, n->swap, &indices, err);
    if (status == LB_OK) {
        status = dictionary_rows(p, n, indices.at, &bits, null_count, count, out, err);
        lb_arrow_piece_drop(&indices);
    }
    lb_arrow_piece_drop(&bits);
    return status;
}
