#include "format/lance/lance_read.h"

#include <stdlib.h>

#include "column/values.h"

/* Reads of pieces that lie closer together than this become one. */
#define READ_GAP ((uint64_t)4096)
/* … but are not made longer than this, unless one piece alone is. */
#define READ_SPAN ((uint64_t)1 << 20)
/* Values of text, which are larger, are worth a larger gap. */
#define READ_VAR_GAP ((uint64_t)16384)

typedef struct read_place {
    lb_lance_reading *r;
    const lb_lance_part *part;
    const lb_lance_data *data;
    size_t batch;
} read_place;

void lb_lance_reading_init(lb_lance_reading *r, lb_context *cx)
{
    *r = (lb_lance_reading){ .cx = cx };
    lb_buf_init(&r->bytes, &cx->budget);
    lb_buf_init(&r->copy, &cx->budget);
    lb_buf_init(&r->segments, &cx->budget);
}

void lb_lance_reading_free(lb_lance_reading *r)
{
    lb_buf_free(&r->bytes);
    lb_buf_free(&r->copy);
    lb_buf_free(&r->segments);
}

/* ---------------------------------------------------------------- columns */

/* Fixed-size lists are one node, but an array each: the innermost one. */
static struct ArrowArray *column_leaf(const lb_lance_column *c)
{
    struct ArrowArray *array = c->array;

    if (c->node->type.kind == LB_LANCE_FIXED || c->node->type.kind == LB_LANCE_BITS)
        while (array->n_children == 1)
            array = array->children[0];
    return array;
}

lb_status lb_lance_column_begin(const lb_lance_node *node, struct ArrowArray *array, lb_arena *arena,
                                lb_lance_column *out, lb_error *err)
{
    *out = (lb_lance_column){ .node = node, .array = array, .n_children = node->n_children };
    out->children = lb_arena_alloc(arena, node->n_children + 1, sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < node->n_children; i++)
        LB_TRY(lb_lance_column_begin(node->children[i], array->children[i], arena, &out->children[i], err));
    return LB_OK;
}

/* The next `n` values are there, or not. */
static lb_status column_valid(lb_lance_column *c, int64_t n, bool there, lb_error *err)
{
    struct ArrowBitmap *valid = ArrowArrayValidityBitmap(c->array);

    if (!there && !c->has_valid) {
        LB_TRY(lb_fail_arrow(err, ArrowBitmapAppend(valid, 1, c->length), NULL));
        c->has_valid = true;
    }
    if (c->has_valid)
        LB_TRY(lb_fail_arrow(err, ArrowBitmapAppend(valid, there, n), NULL));
    c->length += n;
    return LB_OK;
}

/* Room for `n` items of `size` bytes at the end of a buffer. */
static lb_status column_room(struct ArrowBuffer *buffer, uint64_t n, uint64_t size, uint8_t **at, lb_error *err)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > INT64_MAX / 4)
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "too many values for one batch");
    /* One byte more, so that there is a pointer also to none. */
    LB_TRY(lb_fail_arrow(err, ArrowBufferReserve(buffer, (int64_t)bytes + 1), NULL));
    *at = buffer->data + buffer->size_bytes;
    return LB_OK;
}

/* ---------------------------------------------------------------- errors */

static lb_status read_bad(const read_place *p, const lb_lance_node *node, uint64_t at, const char *what, lb_error *err)
{
    char shown[128];

    lb_lance_shown(node->name, shown, sizeof shown);
    lb_fail(err, LB_CORRUPT, LB_AT(at), "column '%s' (field %d), batch %zu: %s", shown, node->id, p->batch, what);
    lb_fail_path(err, p->data->store->path);
    return LB_CORRUPT;
}

static lb_status read_exact(const read_place *p, uint64_t at, void *out, uint64_t size, lb_error *err)
{
    size_t got;

    LB_TRY(lb_store_read(p->data->store, at, out, (size_t)size, &got, err));
    if (got == size)
        return LB_OK;
    lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    lb_fail_path(err, p->data->store->path);
    return LB_STALE;
}

/* ---------------------------------------------------------------- pieces of a file */

/* Bytes [at, at + size). */
typedef struct read_piece {
    uint64_t at, size;
} read_piece;

/* Pieces [i, *end) that one read gets: ascending, and close to each other. */
static uint64_t read_cluster(const read_piece *pieces, size_t i, size_t n, uint64_t gap, size_t *end)
{
    uint64_t stop = pieces[i].at + pieces[i].size;

    for (*end = i + 1; *end < n; (*end)++) {
        const read_piece *next = &pieces[*end];
        if (next->at < stop || next->at - stop > gap || next->at + next->size - pieces[i].at > READ_SPAN)
            break;
        stop = next->at + next->size;
    }
    return stop - pieces[i].at;
}

/* Copy with a constant size where that is common: a call for each value would cost more than the value. */
static inline void read_copy(uint8_t *to, const uint8_t *from, uint64_t size)
{
    if (size == 8)
        memcpy(to, from, 8);
    else if (size == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, (size_t)size);
}

/* Read pieces one after the other into `out`. They lie inside the file. */
static lb_status read_pieces(const read_place *p, const read_piece *pieces, size_t n, uint64_t gap, uint8_t *out,
                             lb_error *err)
{
    lb_buf *copy = &p->r->copy;

    for (size_t i = 0, end; i < n; i = end) {
        uint64_t span = read_cluster(pieces, i, n, gap, &end), sum = 0;
        for (size_t k = i; k < end; k++)
            sum += pieces[k].size;
        if (sum == span) {
            LB_TRY(read_exact(p, pieces[i].at, out, span, err));
            out += span;
            continue;
        }
        copy->size = 0;
        LB_TRY(lb_buf_reserve(copy, (size_t)span, err));
        LB_TRY(read_exact(p, pieces[i].at, copy->data, span, err));
        for (size_t k = i; k < end; k++) {
            read_copy(out, copy->data + (pieces[k].at - pieces[i].at), pieces[k].size);
            out += pieces[k].size;
        }
    }
    return LB_OK;
}

/* Pieces of runs of items of `width` bytes, each longer by `more` items. In p->r->segments. */
static lb_status read_run_pieces(const read_place *p, uint64_t base, uint64_t width, uint64_t more,
                                 const lb_lance_run *runs, size_t n, lb_error *err)
{
    lb_buf *out = &p->r->segments;

    out->size = 0;
    if (n > SIZE_MAX / sizeof(read_piece))
        return lb_fail_nomem(err);
    LB_TRY(lb_buf_reserve(out, n * sizeof(read_piece), err));
    for (size_t i = 0; i < n; i++) {
        read_piece piece = { base + runs[i].first * width, (runs[i].count + more) * width };
        lb_buf_put(out, &piece, sizeof piece);
    }
    return LB_OK;
}

static uint64_t read_total(const lb_lance_run *runs, size_t n)
{
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += runs[i].count;
    return total;
}

/* The page of a node, which has to hold items [0, `least`) of `width` bytes each, or bits where `width` is 0. */
static lb_status read_page(const read_place *p, const lb_lance_node *node, uint64_t width, uint64_t bits,
                           uint64_t least, lb_lance_page *out, lb_error *err)
{
    uint64_t size, end;

    LB_TRY(lb_lance_data_page(p->data, node->id, p->batch, out, err));
    if (least > (uint64_t)out->length)
        return read_bad(p, node, (uint64_t)out->position, "its page has fewer values than there are rows", err);
    bool wraps = __builtin_mul_overflow((uint64_t)out->length, width != 0 ? width : bits, &size);
    size = width != 0 ? size : size / 8 + (size % 8 != 0);
    if (wraps || __builtin_add_overflow((uint64_t)out->position, size, &end) || end > p->data->end)
        return read_bad(p, node, (uint64_t)out->position, "its page reaches beyond the end of the file", err);
    return LB_OK;
}

/* ---------------------------------------------------------------- values */

static lb_status read_fixed(const read_place *p, lb_lance_column *c, uint64_t least, const lb_lance_run *runs, size_t n,
                            lb_error *err)
{
    uint64_t width = c->node->type.width, total = read_total(runs, n);
    struct ArrowBuffer *data = ArrowArrayBuffer(column_leaf(c), 1);
    lb_lance_page page;
    uint8_t *to;

    LB_TRY(read_page(p, c->node, width, 0, least, &page, err));
    LB_TRY(read_run_pieces(p, (uint64_t)page.position, width, 0, runs, n, err));
    LB_TRY(column_room(data, total, width, &to, err));
    LB_TRY(read_pieces(p, (const read_piece *)(const void *)p->r->segments.data, n, READ_GAP, to, err));
    data->size_bytes += (int64_t)(total * width);
    return column_valid(c, (int64_t)total, true, err);
}

static void read_bits_append(struct ArrowArray *leaf, int64_t at, const uint8_t *bits, uint64_t first, uint64_t count)
{
    uint8_t *to = ArrowArrayBuffer(leaf, 1)->data;

    if (at % 8 == 0 && first % 8 == 0) {
        memcpy(to + at / 8, bits + first / 8, (size_t)(count / 8));
        at += (int64_t)(count / 8 * 8);
        first += count / 8 * 8;
        count %= 8;
    }
    for (uint64_t i = 0; i < count; i++)
        ArrowBitSetTo(to, at + (int64_t)i, (uint8_t)ArrowBitGet(bits, (int64_t)(first + i)));
}

static lb_status read_bits(const read_place *p, lb_lance_column *c, uint64_t least, const lb_lance_run *runs, size_t n,
                           lb_error *err)
{
    struct ArrowArray *leaf = column_leaf(c);
    struct ArrowBuffer *data = ArrowArrayBuffer(leaf, 1);
    uint64_t each = c->node->type.width, total = read_total(runs, n);
    int64_t at = c->length * (int64_t)each;
    lb_buf *bytes = &p->r->bytes;
    lb_lance_page page;
    uint8_t *room;

    LB_TRY(read_page(p, c->node, 0, each, least, &page, err));
    LB_TRY(column_room(data, total, each, &room, err));
    int64_t size = (at + (int64_t)(total * each) + 7) / 8;
    memset(room, 0, (size_t)(size - data->size_bytes));
    for (size_t i = 0; i < n; i++) {
        uint64_t first = runs[i].first * each, count = runs[i].count * each, byte = first / 8;
        uint64_t length = (first + count + 7) / 8 - byte;
        bytes->size = 0;
        LB_TRY(lb_buf_reserve(bytes, (size_t)length, err));
        LB_TRY(read_exact(p, (uint64_t)page.position + byte, bytes->data, length, err));
        read_bits_append(leaf, at, bytes->data, first % 8, count);
        at += (int64_t)count;
    }
    data->size_bytes = size;
    return column_valid(c, (int64_t)total, true, err);
}

/* Offsets are appended by how many bytes or items they move on. */
static lb_status read_offset(const read_place *p, struct ArrowBuffer *offsets, bool large, uint64_t more, lb_error *err)
{
    if (large) {
        int64_t last = ((const int64_t *)(const void *)offsets->data)[offsets->size_bytes / 8 - 1] + (int64_t)more;
        return lb_fail_arrow(err, ArrowBufferAppend(offsets, &last, sizeof last), NULL);
    }
    int32_t last = ((const int32_t *)(const void *)offsets->data)[offsets->size_bytes / 4 - 1];
    if (more > (uint64_t)(INT32_MAX - last)) {
        p->r->too_long = true;
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "one batch has more than 2 GiB of text or items");
    }
    last += (int32_t)more;
    return lb_fail_arrow(err, ArrowBufferAppend(offsets, &last, sizeof last), NULL);
}

/* Offsets of a run of strings, `count` + 1 of them: ascending, and inside the file. */
static lb_status read_var_run(const read_place *p, lb_lance_column *c, const uint8_t *bounds, uint64_t count,
                              lb_buf *values, lb_error *err)
{
    struct ArrowBuffer *offsets = ArrowArrayBuffer(c->array, 1);
    uint64_t first, from, to;
    bool large = c->node->type.large;
    uint8_t *room;

    memcpy(&first, bounds, sizeof first);
    LB_TRY(column_room(offsets, count, large ? 8 : 4, &room, err));
    from = first;
    for (uint64_t i = 1; i <= count; i++, from = to) {
        memcpy(&to, bounds + i * sizeof to, sizeof to);
        if (to < from || to > p->data->end)
            return read_bad(p, c->node, from, "offsets of its values run backwards or out of the file", err);
        LB_TRY(read_offset(p, offsets, large, to - from, err));
    }
    read_piece piece = { first, from - first };
    if (first > p->data->end)
        return read_bad(p, c->node, first, "offsets of its values run out of the file", err);
    return piece.size == 0 ? LB_OK : lb_buf_append(values, &piece, sizeof piece, err);
}

/* The values' bytes: those of all runs, in order. */
static lb_status read_var_values(const read_place *p, lb_lance_column *c, lb_buf *values, lb_error *err)
{
    struct ArrowBuffer *data = ArrowArrayBuffer(c->array, 2);
    const read_piece *pieces = (const read_piece *)(const void *)values->data;
    size_t n = values->size / sizeof *pieces;
    uint64_t total = 0;
    uint8_t *to;

    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(total, pieces[i].size, &total))
            return lb_fail(err, LB_BUDGET, LB_NOWHERE, "too much text for one batch");
    LB_TRY(column_room(data, total, 1, &to, err));
    LB_TRY(read_pieces(p, pieces, n, READ_VAR_GAP, to, err));
    data->size_bytes += (int64_t)total;
    return LB_OK;
}

static lb_status read_var(const read_place *p, lb_lance_column *c, uint64_t least, const lb_lance_run *runs, size_t n,
                          lb_error *err)
{
    uint64_t total = read_total(runs, n), bytes, at = 0;
    lb_buf *bounds = &p->r->bytes, values;
    lb_lance_page page;

    LB_TRY(read_page(p, c->node, 8, 0, least, &page, err));
    if ((uint64_t)page.position + ((uint64_t)page.length + 1) * 8 > p->data->end)
        return read_bad(p, c->node, (uint64_t)page.position, "its page reaches beyond the end of the file", err);
    LB_TRY(read_run_pieces(p, (uint64_t)page.position, 8, 1, runs, n, err));
    if (__builtin_mul_overflow(total + n, (uint64_t)8, &bytes))
        return lb_fail_nomem(err);
    bounds->size = 0;
    LB_TRY(lb_buf_reserve(bounds, (size_t)bytes, err));
    LB_TRY(read_pieces(p, (const read_piece *)(const void *)p->r->segments.data, n, READ_GAP, bounds->data, err));
    lb_buf_init(&values, &p->r->cx->budget);
    lb_status status = LB_OK;
    for (size_t i = 0; status == LB_OK && i < n; i++) {
        status = read_var_run(p, c, bounds->data + at, runs[i].count, &values, err);
        at += (runs[i].count + 1) * 8;
    }
    if (status == LB_OK)
        status = read_var_values(p, c, &values, err);
    lb_buf_free(&values);
    return status == LB_OK ? column_valid(c, (int64_t)total, true, err) : status;
}

/* ---------------------------------------------------------------- dictionaries */

lb_status lb_lance_dictionary_load(const lb_lance_node *node, const lb_lance_field *field, lb_store *store,
                                   uint64_t end, lb_arena *arena, lb_lance_dictionary *out, lb_error *err)
{
    const LbPb__Dictionary *d = field->dictionary;
    bool var = node->type.value_kind == LB_LANCE_VAR;
    uint64_t width = var ? 8 : node->type.value_width, size, first = 0;
    size_t got;

    *out = (lb_lance_dictionary){ 0 };
    if (d == NULL || d->offset < 0 || d->length < 0 || (uint64_t)d->offset > end ||
        (uint64_t)d->length > (end - (uint64_t)d->offset) / width ||
        (var && (uint64_t)d->length + 1 > (end - (uint64_t)d->offset) / width))
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "field %d: its dictionary is missing or lies outside the file",
                       node->id);
    out->count = (uint64_t)d->length;
    size = (out->count + var) * width;
    uint8_t *bytes = lb_arena_alloc(arena, 1, (size_t)size);
    if (bytes == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_store_read(store, (uint64_t)d->offset, bytes, (size_t)size, &got, err));
    if (got != size)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    out->data = bytes;
    if (!var)
        return LB_OK;
    uint64_t *bounds = (uint64_t *)(void *)bytes;
    for (uint64_t i = 0; i <= out->count; i++)
        if (bounds[i] > end || (i > 0 && bounds[i] < bounds[i - 1]))
            return lb_fail(err, LB_CORRUPT, LB_AT(d->offset), "field %d: offsets of its dictionary run out of order",
                           node->id);
    first = bounds[0];
    size = bounds[out->count] - first;
    out->data = lb_arena_alloc(arena, 1, (size_t)size);
    if (out->data == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_store_read(store, first, (void *)(uintptr_t)out->data, (size_t)size, &got, err));
    if (got != size)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    for (uint64_t i = 0; i < out->count; i++)
        bounds[i] = bounds[i + 1] - first;
    out->ends = bounds;
    return LB_OK;
}

static uint64_t read_key(const uint8_t *at, uint64_t width, bool is_signed)
{
    uint64_t key = 0;

    memcpy(&key, at, (size_t)width);
    if (is_signed && width > 0 && width < 8 && (key >> (8 * width - 1)) != 0)
        return UINT64_MAX;
    return is_signed && width == 8 && (key >> 63) != 0 ? UINT64_MAX : key;
}

static lb_status read_dictionary_value(const read_place *p, lb_lance_column *c, const lb_lance_dictionary *d,
                                       uint64_t k, lb_error *err)
{
    const lb_lance_type *t = &c->node->type;
    uint64_t from;

    if (t->value_kind != LB_LANCE_VAR)
        return lb_fail_arrow(
            err,
            ArrowBufferAppend(ArrowArrayBuffer(c->array, 1), d->data + k * t->value_width, (int64_t)t->value_width),
            NULL);
    from = k == 0 ? 0 : d->ends[k - 1];
    LB_TRY(read_offset(p, ArrowArrayBuffer(c->array, 1), t->value_large, d->ends[k] - from, err));
    return lb_fail_arrow(
        err, ArrowBufferAppend(ArrowArrayBuffer(c->array, 2), d->data + from, (int64_t)(d->ends[k] - from)), NULL);
}

static lb_status read_keys(const read_place *p, lb_lance_column *c, uint64_t least, const lb_lance_run *runs, size_t n,
                           lb_error *err)
{
    uint64_t width = c->node->type.width, total = read_total(runs, n);
    const lb_lance_dictionary *dictionary;
    lb_buf *keys = &p->r->bytes;
    lb_lance_page page;

    LB_TRY(read_page(p, c->node, width, 0, least, &page, err));
    LB_TRY(p->part->dictionary(p->part->user, c->node, p->data, &dictionary, err));
    LB_TRY(read_run_pieces(p, (uint64_t)page.position, width, 0, runs, n, err));
    keys->size = 0;
    LB_TRY(lb_buf_reserve(keys, (size_t)(total * width), err));
    LB_TRY(read_pieces(p, (const read_piece *)(const void *)p->r->segments.data, n, READ_GAP, keys->data, err));
    for (uint64_t i = 0; i < total; i++) {
        uint64_t key = read_key(keys->data + i * width, width, c->node->type.is_signed);
        if (key >= dictionary->count)
            return read_bad(p, c->node, (uint64_t)page.position, "a key points outside the dictionary", err);
        LB_TRY(read_dictionary_value(p, c, dictionary, key, err));
    }
    return column_valid(c, (int64_t)total, true, err);
}

/* ---------------------------------------------------------------- lists */

static lb_status read_in_batch(const read_place *p, lb_lance_column *c, uint64_t least, bool exact,
                               const lb_lance_run *runs, size_t n, lb_error *err);

/* An offset of a list page. */
static int64_t read_list_offset(const uint8_t *at, bool large)
{
    int64_t wide;
    int32_t narrow;

    if (large) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

/* Items of a run of lists, from its `count` + 1 offsets. */
static lb_status read_list_run(const read_place *p, lb_lance_column *c, const uint8_t *at, uint64_t count,
                               int64_t origin, lb_buf *items, lb_error *err)
{
    bool large = c->node->type.large;
    uint64_t width = large ? 8 : 4;
    int64_t from = read_list_offset(at, large), to, first = from, last;
    struct ArrowBuffer *offsets = ArrowArrayBuffer(c->array, 1);

    if (from < origin)
        return read_bad(p, c->node, lb_lance_data_batch(p->data, 0), "offsets of its lists run backwards", err);
    for (uint64_t i = 1; i <= count; i++, from = to) {
        to = read_list_offset(at + i * width, large);
        if (to < from)
            return read_bad(p, c->node, 0, "offsets of its lists run backwards", err);
        LB_TRY(read_offset(p, offsets, large, (uint64_t)(to - from), err));
    }
    lb_lance_run run = { (uint64_t)(first - origin), (uint64_t)(from - first) };
    if (run.count == 0)
        return LB_OK;
    if (items->size != 0) {
        lb_lance_run *before = (lb_lance_run *)(void *)(items->data + items->size) - 1;
        last = (int64_t)(before->first + before->count);
        if (last == (int64_t)run.first) {
            before->count += run.count;
            return LB_OK;
        }
    }
    return lb_buf_append(items, &run, sizeof run, err);
}

static lb_status read_list_items(const read_place *p, lb_lance_column *c, uint64_t rows, const lb_lance_run *runs,
                                 size_t n, lb_buf *items, lb_error *err)
{
    bool large = c->node->type.large;
    uint64_t width = large ? 8 : 4, total = read_total(runs, n), bytes, at = 0;
    lb_buf *offsets = &p->r->bytes;
    uint8_t first[8];
    lb_lance_page page;

    LB_TRY(read_page(p, c->node, width, 0, rows + 1, &page, err));
    LB_TRY(read_run_pieces(p, (uint64_t)page.position, width, 1, runs, n, err));
    if (__builtin_mul_overflow(total + n, width, &bytes))
        return lb_fail_nomem(err);
    offsets->size = 0;
    LB_TRY(lb_buf_reserve(offsets, (size_t)bytes, err));
    LB_TRY(read_pieces(p, (const read_piece *)(const void *)p->r->segments.data, n, READ_GAP, offsets->data, err));
    LB_TRY(read_exact(p, (uint64_t)page.position, first, width, err));
    for (size_t i = 0; i < n; i++) {
        LB_TRY(read_list_run(p, c, offsets->data + at, runs[i].count, read_list_offset(first, large), items, err));
        at += (runs[i].count + 1) * width;
    }
    return LB_OK;
}

static lb_status read_list(const read_place *p, lb_lance_column *c, uint64_t rows, bool exact, const lb_lance_run *runs,
                           size_t n, lb_error *err)
{
    lb_buf items;

    lb_buf_init(&items, &p->r->cx->budget);
    lb_status status = read_list_items(p, c, rows, runs, n, &items, err);
    const lb_lance_run *inner = (const lb_lance_run *)(const void *)items.data;
    size_t n_inner = items.size / sizeof *inner;
    uint64_t least = n_inner == 0 ? 0 : inner[n_inner - 1].first + inner[n_inner - 1].count;
    /* All lists of the batch: their items must be all items. */
    bool whole = exact && n == 1 && runs[0].first == 0 && runs[0].count == rows;
    if (status == LB_OK)
        status = column_valid(c, (int64_t)read_total(runs, n), true, err);
    if (status == LB_OK)
        status = read_in_batch(p, &c->children[0], least, whole, inner, n_inner, err);
    lb_buf_free(&items);
    return status;
}

/* ---------------------------------------------------------------- one batch */

/* The page has as many values as the table says: `rows`, and one more for the offsets of lists. */
static lb_status read_check_length(const read_place *p, const lb_lance_node *node, uint64_t rows, lb_error *err)
{
    lb_lance_page page;

    if (node->type.kind == LB_LANCE_STRUCT)
        return LB_OK;
    LB_TRY(lb_lance_data_page(p->data, node->id, p->batch, &page, err));
    if ((uint64_t)page.length == rows + (node->type.kind == LB_LANCE_LIST))
        return LB_OK;
    return read_bad(p, node, (uint64_t)page.position, "the length of its page is not the number of rows", err);
}

/* Rows of a node of one file in one batch. The batch has at least `least` values here; `exact`: precisely so many. */
static lb_status read_in_batch(const read_place *p, lb_lance_column *c, uint64_t least, bool exact,
                               const lb_lance_run *runs, size_t n, lb_error *err)
{
    if (exact && least != 0)
        LB_TRY(read_check_length(p, c->node, least, err));
    if (n == 0)
        return LB_OK;
    switch (c->node->type.kind) {
    case LB_LANCE_NOTHING:
        return column_valid(c, (int64_t)read_total(runs, n), true, err);
    case LB_LANCE_BITS:
        return read_bits(p, c, least, runs, n, err);
    case LB_LANCE_FIXED:
        return read_fixed(p, c, least, runs, n, err);
    case LB_LANCE_VAR:
        return read_var(p, c, least, runs, n, err);
    case LB_LANCE_DICTIONARY:
        return read_keys(p, c, least, runs, n, err);
    case LB_LANCE_LIST:
        return read_list(p, c, least, exact, runs, n, err);
    case LB_LANCE_STRUCT:
        break;
    }
    LB_TRY(column_valid(c, (int64_t)read_total(runs, n), true, err));
    for (size_t i = 0; i < c->n_children; i++)
        LB_TRY(read_in_batch(p, &c->children[i], least, exact, runs, n, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- a fragment */

/* `count` nulls, for a field that no file has. */
static lb_status read_missing(lb_lance_reading *r, lb_lance_column *c, uint64_t count, lb_error *err)
{
    const read_place p = { .r = r };
    const lb_lance_type *t = &c->node->type;
    uint8_t *room;

    if (t->kind == LB_LANCE_FIXED || (t->kind == LB_LANCE_DICTIONARY && t->value_kind == LB_LANCE_FIXED)) {
        struct ArrowBuffer *data = ArrowArrayBuffer(column_leaf(c), 1);
        uint64_t width = t->kind == LB_LANCE_FIXED ? t->width : t->value_width;
        LB_TRY(column_room(data, count, width, &room, err));
        memset(room, 0, (size_t)(count * width));
        data->size_bytes += (int64_t)(count * width);
    } else if (t->kind == LB_LANCE_BITS) {
        struct ArrowBuffer *data = ArrowArrayBuffer(column_leaf(c), 1);
        LB_TRY(column_room(data, count, t->width, &room, err));
        int64_t size = ((c->length + (int64_t)count) * (int64_t)t->width + 7) / 8;
        memset(room, 0, (size_t)(size - data->size_bytes));
        data->size_bytes = size;
    } else if (t->kind == LB_LANCE_VAR || t->kind == LB_LANCE_DICTIONARY || t->kind == LB_LANCE_LIST) {
        bool large = t->kind == LB_LANCE_DICTIONARY ? t->value_large : t->large;
        for (uint64_t i = 0; i < count; i++)
            LB_TRY(read_offset(&p, ArrowArrayBuffer(c->array, 1), large, 0, err));
    }
    LB_TRY(column_valid(c, (int64_t)count, t->kind == LB_LANCE_NOTHING, err));
    for (size_t i = 0; t->kind == LB_LANCE_STRUCT && i < c->n_children; i++)
        LB_TRY(read_missing(r, &c->children[i], count, err));
    return LB_OK;
}

size_t lb_lance_part_file(const lb_lance_part *part, int32_t id)
{
    for (size_t i = 0; i < part->n_files; i++) {
        const lb_lance_data_file *f = part->files[i];
        /* Ids mostly count up by one from the first. */
        size_t guess = f->n_fields == 0 || id < f->fields[0] ? 0 : (size_t)((int64_t)id - f->fields[0]);
        if (guess < f->n_fields && f->fields[guess] == id)
            return i;
        for (size_t k = 0; k < f->n_fields; k++)
            if (f->fields[k] == id)
                return i;
    }
    return SIZE_MAX;
}

static bool read_is_missing(const lb_lance_part *part, const lb_lance_node *node)
{
    if (lb_lance_part_file(part, node->id) != SIZE_MAX)
        return false;
    if (node->type.kind == LB_LANCE_STRUCT)
        for (size_t i = 0; i < node->n_children; i++)
            if (!read_is_missing(part, node->children[i]))
                return false;
    return true;
}

/* Runs of a fragment's rows, batch after batch of one file. */
static lb_status read_batches(lb_lance_reading *r, const lb_lance_part *part, const lb_lance_data *data,
                              lb_lance_column *c, const lb_lance_run *runs, size_t n, lb_error *err)
{
    read_place p = { r, part, data, 0 };
    uint64_t into = 0; /* rows of runs[i] done */
    lb_buf local;

    lb_buf_init(&local, &r->cx->budget);
    lb_status status = LB_OK;
    for (size_t i = 0; status == LB_OK && i < n;) {
        p.batch = lb_lance_data_batch(data, runs[i].first + into);
        uint64_t begin = (uint64_t)data->offsets[p.batch], end = (uint64_t)data->offsets[p.batch + 1];
        local.size = 0;
        while (status == LB_OK && i < n && runs[i].first + into < end) {
            lb_lance_run run = { runs[i].first + into - begin,
                                 LB_MIN(runs[i].first + runs[i].count, end) - runs[i].first - into };
            status = lb_buf_append(&local, &run, sizeof run, err);
            into += run.count;
            if (into == runs[i].count) {
                into = 0;
                i++;
            }
        }
        if (status == LB_OK)
            status = read_in_batch(&p, c, end - begin, true, (const lb_lance_run *)(const void *)local.data,
                                   local.size / sizeof(lb_lance_run), err);
    }
    lb_buf_free(&local);
    return status;
}

static lb_status read_class(const lb_lance_node *node, lb_str class, lb_error *err)
{
    char name[128], shown[64];

    lb_lance_shown(node->name, name, sizeof name);
    lb_lance_shown(class, shown, sizeof shown);
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%s' has the storage class '%s'", name, shown);
}

lb_status lb_lance_column_read(lb_lance_reading *r, const lb_lance_part *part, lb_lance_column *c,
                               const lb_lance_run *runs, size_t n, lb_error *err)
{
    lb_lance_data *data;
    uint64_t total = read_total(runs, n);

    r->too_long = false;
    LB_TRY(lb_check_cancel(r->cx, err));
    lb_str class = lb_lance_str(c->node->field->storage_class);
    if (class.size != 0 && !lb_str_is(class, "default"))
        return read_class(c->node, class, err);
    if (read_is_missing(part, c->node))
        return read_missing(r, c, total, err);
    if (c->node->type.kind == LB_LANCE_STRUCT) {
        /* Its children may lie in different files. */
        LB_TRY(column_valid(c, (int64_t)total, true, err));
        for (size_t i = 0; i < c->n_children; i++)
            LB_TRY(lb_lance_column_read(r, part, &c->children[i], runs, n, err));
        return LB_OK;
    }
    LB_TRY(part->open(part->user, part, lb_lance_part_file(part, c->node->id), &data, err));
    if (data->rows != part->rows) {
        lb_fail(err, LB_CORRUPT, LB_NOWHERE, "this file has %llu rows, its fragment %llu",
                (unsigned long long)data->rows, (unsigned long long)part->rows);
        lb_fail_path(err, data->store->path);
        return LB_CORRUPT;
    }
    return read_batches(r, part, data, c, runs, n, err);
}

/* ---------------------------------------------------------------- nulls and the end */

/* Items in a value of a fixed-size list. */
static int64_t array_each(struct ArrowArray *array)
{
    const struct ArrowArrayPrivateData *own = array->private_data;

    return array->n_children == 1 ? own->layout.child_size_elements : 1;
}

/* The booleans inside a companion, which lists may surround. */
static struct ArrowArray *nulls_leaf(struct ArrowArray *array)
{
    while (array->n_children == 1)
        array = array->children[0];
    return array;
}

lb_status lb_lance_column_nulls(lb_lance_column *c, unsigned level, struct ArrowArray *companion, lb_error *err)
{
    struct ArrowArray *leaf = nulls_leaf(companion);
    struct ArrowArray *array = c->array;
    int64_t length = c->length;

    for (; level > 0 && array->n_children == 1; level--) {
        length *= array_each(array);
        array = array->children[0];
    }
    if (leaf->n_buffers != 2 || leaf->length != length || level != 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "field %d: the column that tells its nulls has %lld values, not %lld", c->node->id,
                       (long long)leaf->length, (long long)length);
    struct ArrowBitmap *valid = ArrowArrayValidityBitmap(array);
    const uint8_t *there = ArrowArrayValidityBitmap(leaf)->buffer.data, *bits = ArrowArrayBuffer(leaf, 1)->data;
    if (length != 0 && valid->size_bits == 0)
        LB_TRY(lb_fail_arrow(err, ArrowBitmapAppend(valid, 1, length), NULL));
    c->has_valid = c->has_valid || array == c->array;
    for (int64_t i = 0; i < length; i++)
        if (!ArrowBitGet(bits, i) && (there == NULL || ArrowBitGet(there, i)))
            ArrowBitClear(valid->buffer.data, i);
    return LB_OK;
}

/* Empty text of a nullable field is null. */
static lb_status end_empty(lb_lance_column *c, lb_error *err)
{
    struct ArrowBitmap *valid = ArrowArrayValidityBitmap(c->array);
    const uint8_t *offsets = ArrowArrayBuffer(c->array, 1)->data;
    bool large = c->node->type.large;
    size_t width = large ? 8 : 4;

    for (int64_t i = 0; i < c->length; i++, offsets += width) {
        if (read_list_offset(offsets, large) != read_list_offset(offsets + width, large))
            continue;
        if (!c->has_valid)
            LB_TRY(lb_fail_arrow(err, ArrowBitmapAppend(valid, 1, c->length), NULL));
        c->has_valid = true;
        ArrowBitClear(valid->buffer.data, i);
    }
    return LB_OK;
}

lb_status lb_lance_column_end(lb_lance_column *c, lb_lance_keep_fn keep_empty, void *user, lb_error *err)
{
    int64_t length = c->length;

    if (c->node->type.kind == LB_LANCE_VAR && c->node->nullable && !(keep_empty != NULL && keep_empty(user, c->node)))
        LB_TRY(end_empty(c, err));
    for (size_t i = 0; i < c->n_children; i++)
        LB_TRY(lb_lance_column_end(&c->children[i], keep_empty, user, err));
    for (struct ArrowArray *a = c->array; a != NULL;
         a = c->n_children == 0 && a->n_children == 1 ? a->children[0] : NULL) {
        const struct ArrowBitmap *valid = ArrowArrayValidityBitmap(a);
        a->length = length;
        a->null_count = valid->size_bits == 0 ? 0 : length - ArrowBitCountSet(valid->buffer.data, 0, length);
        if (c->node->type.kind == LB_LANCE_NOTHING)
            a->null_count = length;
        length *= array_each(a);
    }
    return LB_OK;
}
