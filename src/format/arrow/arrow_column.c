/* Rows of one field as an array. The bytes handed out are those that were read, where the layout allows: bitmaps are moved to
 * begin at a byte and offsets to begin at 0, both in place. Everything that a reader of the array will rely on is checked here: lengths,
 * offsets, text. */
#include "format/arrow/arrow.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

/* More rows of no bytes than this are counted against the memory limit. */
#define COLUMN_FREE_NULLS 65536

lb_status lb_arrow_fail(const lb_arrow_pull *p, const lb_arrow_node *n, lb_status code, lb_error *err, const char *fmt,
                        ...)
{
    char what[160];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return lb_fail(err, code, LB_AT(p->batch.message.place.offset), "column '%.60s' of the record batch: %s",
                   n->name == NULL ? "" : n->name, what);
}

lb_status lb_arrow_fail_long(lb_arrow_pull *p, const lb_arrow_node *n, lb_error *err)
{
    p->too_long = true;
    return lb_arrow_fail(p, n, LB_UNSUPPORTED, err, "one array does not hold so many bytes");
}

lb_status lb_arrow_rows(const lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count, uint64_t *buffer,
                        int64_t *nulls, lb_error *err)
{
    int64_t rows;

    LB_TRY(lb_arrow_batch_node(p, n, buffer, &rows, nulls, err));
    if (first < 0 || count < 0 || first > rows || count > rows - first)
        return lb_arrow_fail(p, n, LB_CORRUPT, err, "it has %lld rows, and row %lld is referred to", (long long)rows,
                             (long long)first + count - 1);
    return LB_OK;
}

/* ---------------------------------------------------------------- buffers */

lb_status lb_arrow_values(lb_arrow_pull *p, uint64_t buffer, int64_t first, int64_t count, uint64_t width,
                          unsigned swap, lb_arrow_piece *out, lb_error *err)
{
    uint64_t from, size;

    if (__builtin_mul_overflow((uint64_t)first, width, &from) || __builtin_mul_overflow((uint64_t)count, width, &size))
        from = size = UINT64_MAX;
    return lb_arrow_buffer_get(p, buffer, from, size, swap, out, err);
}

/* Bits [first, first + count), moved to begin at a byte. */
static lb_status column_bits(lb_arrow_pull *p, uint64_t buffer, int64_t first, int64_t count, lb_arrow_piece *out,
                             lb_error *err)
{
    unsigned shift = (unsigned)(first % 8);
    uint64_t size = ((uint64_t)count + shift + 7) / 8;

    LB_TRY(lb_arrow_buffer_get(p, buffer, (uint64_t)first / 8, count == 0 ? 0 : size, LB_ARROW_SWAP_NONE, out, err));
    if (shift == 0 || count == 0)
        return LB_OK;
    uint8_t *bytes = lb_arrow_piece_edit(&p->made, out, err);
    if (bytes == NULL) {
        lb_arrow_piece_drop(out);
        return err != NULL ? err->code : LB_NOMEM;
    }
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bytes[i] >> shift | (i + 1 < size ? bytes[i + 1] << (8 - shift) : 0));
    return LB_OK;
}

lb_status lb_arrow_validity(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, int64_t nulls, int64_t first,
                            int64_t count, lb_arrow_piece *bits, int64_t *null_count, lb_error *err)
{
    uint64_t size;

    *null_count = 0;
    LB_TRY(lb_arrow_piece_new(&p->made, 0, false, bits, err));
    if (nulls == 0 || count == 0)
        return LB_OK;
    LB_TRY(lb_arrow_buffer_size(p, buffer, &size, err));
    if (size == 0)
        return nulls < 0 ? LB_OK : lb_arrow_fail(p, n, LB_CORRUPT, err, "it has nulls and no bitmap of them");
    LB_TRY(column_bits(p, buffer, first, count, bits, err));
    *null_count = count - ArrowBitCountSet(bits->at, 0, count);
    if (*null_count == 0)
        lb_arrow_piece_drop(bits);
    return LB_OK;
}

static lb_status column_set_validity(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, int64_t nulls,
                                     int64_t first, int64_t count, struct ArrowArray *out, lb_error *err)
{
    lb_arrow_piece bits;

    LB_TRY(lb_arrow_validity(p, n, buffer, nulls, first, count, &bits, &out->null_count, err));
    if (out->null_count != 0)
        lb_arrow_array_set(out, 0, &bits);
    return LB_OK;
}

/* ---------------------------------------------------------------- offsets */

/* Do numbers ascend from 0 or more? Written so that a compiler can do several at once. */
#define COLUMN_ASCENDS(type)                                         \
    static bool column_ascends_##type(const type *at, int64_t count) \
    {                                                                \
        type bad = at[0] < 0 ? -1 : 0;                               \
        for (int64_t i = 0; i < count; i++)                          \
            bad |= (type)(at[i + 1] < at[i] ? -1 : 0);               \
        return bad == 0;                                             \
    }

COLUMN_ASCENDS(int32_t)
COLUMN_ASCENDS(int64_t)

static void column_rebase(uint8_t *bytes, bool wide, int64_t start, int64_t count)
{
    int32_t *narrow = (int32_t *)(void *)bytes;
    int64_t *large = (int64_t *)(void *)bytes;

    for (int64_t i = 0; i <= count; i++) {
        if (wide)
            large[i] -= start;
        else
            narrow[i] -= (int32_t)start;
    }
}

lb_status lb_arrow_check_offsets(lb_arrow_pull *p, const lb_arrow_node *n, const void *offsets, bool wide,
                                 int64_t count, lb_error *err)
{
    if (wide ? column_ascends_int64_t(offsets, count) : column_ascends_int32_t(offsets, count))
        return LB_OK;
    return lb_arrow_fail(p, n, LB_CORRUPT, err, "its offsets do not ascend");
}

static int64_t column_offset(const void *offsets, bool wide, int64_t i)
{
    return wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
}

/* Offsets of the rows, made to begin at 0; they stood for [*start, *end). */
static lb_status column_offsets(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, bool wide, int64_t first,
                                int64_t count, lb_arrow_piece *out, int64_t *start, int64_t *end, lb_error *err)
{
    unsigned width = wide ? 8 : 4;

    *start = *end = 0;
    LB_TRY(lb_arrow_values(p, buffer, first, count == 0 ? 0 : count + 1, width, width, out, err));
    if (count == 0)
        return LB_OK;
    lb_status status = lb_arrow_check_offsets(p, n, out->at, wide, count, err);
    if (status != LB_OK) {
        lb_arrow_piece_drop(out);
        return status;
    }
    *start = column_offset(out->at, wide, 0);
    *end = column_offset(out->at, wide, count);
    if (*start == 0)
        return LB_OK;
    uint8_t *bytes = lb_arrow_piece_edit(&p->made, out, err);
    if (bytes != NULL) {
        column_rebase(bytes, wide, *start, count);
        return LB_OK;
    }
    lb_arrow_piece_drop(out);
    return err != NULL ? err->code : LB_NOMEM;
}

/* ---------------------------------------------------------------- text */

/* All bytes are valid together: does no value begin inside a character? */
static bool column_text_cuts(const void *offsets, bool wide, const uint8_t *data, int64_t first, int64_t last)
{
    int64_t end = column_offset(offsets, wide, last);
    bool good = true;

    for (int64_t i = first; i < last; i++) {
        int64_t at = column_offset(offsets, wide, i);
        good = good && (at >= end || (data[at] & 0xC0) != 0x80);
    }
    return good;
}

lb_status lb_arrow_check_text(lb_arrow_pull *p, const lb_arrow_node *n, const uint8_t *bits, const void *offsets,
                              bool wide, const uint8_t *data, int64_t first, int64_t count, lb_error *err)
{
    const int64_t last = first + count;

    if (!n->text || count == 0)
        return LB_OK;
    size_t start = (size_t)column_offset(offsets, wide, first);
    size_t size = (size_t)column_offset(offsets, wide, last) - start;
    if (lb_utf8_valid_prefix(data + start, size) == size && column_text_cuts(offsets, wide, data, first, last))
        return LB_OK;
    /* What stands in null rows does not matter. */
    for (int64_t i = first; i < last; i++) {
        size_t at = (size_t)column_offset(offsets, wide, i), end = (size_t)column_offset(offsets, wide, i + 1);
        if ((bits == NULL || ArrowBitGet(bits, i)) && lb_utf8_valid_prefix(data + at, end - at) != end - at)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a text of %zu bytes is not UTF-8", end - at);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- layouts */

static lb_status read_nulls(lb_arrow_pull *p, int64_t count, struct ArrowArray *out, lb_error *err)
{
    if (count > COLUMN_FREE_NULLS && !lb_arrow_work_take(&p->made, (uint64_t)count))
        return lb_arrow_work_fail(&p->made, err);
    LB_TRY(lb_arrow_array_new(count, 0, 0, out, err));
    out->null_count = count;
    return LB_OK;
}

static lb_status read_fixed(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                            struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls;
    lb_arrow_piece values;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 2, 0, out, err));
    LB_TRY(column_set_validity(p, n, buffer, nulls, first, count, out, err));
    if (n->layout == LB_ARROW_BITS)
        LB_TRY(column_bits(p, buffer + 1, first, count, &values, err));
    else
        LB_TRY(lb_arrow_values(p, buffer + 1, first, count, n->width, n->swap, &values, err));
    lb_arrow_array_set(out, 1, &values);
    return LB_OK;
}

static lb_status read_bytes(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                            struct ArrowArray *out, lb_error *err)
{
    bool wide = n->layout == LB_ARROW_LARGE;
    uint64_t buffer;
    int64_t nulls, start, end;
    lb_arrow_piece piece;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 3, 0, out, err));
    LB_TRY(column_set_validity(p, n, buffer, nulls, first, count, out, err));
    LB_TRY(column_offsets(p, n, buffer + 1, wide, first, count, &piece, &start, &end, err));
    lb_arrow_array_set(out, 1, &piece);
    LB_TRY(lb_arrow_values(p, buffer + 2, start, end - start, 1, LB_ARROW_SWAP_NONE, &piece, err));
    lb_arrow_array_set(out, 2, &piece);
    return lb_arrow_check_text(p, n, out->buffers[0], out->buffers[1], wide, out->buffers[2], 0, count, err);
}

static lb_status read_list(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                           struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls, start, end;
    lb_arrow_piece offsets;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 2, 1, out, err));
    LB_TRY(column_set_validity(p, n, buffer, nulls, first, count, out, err));
    LB_TRY(
        column_offsets(p, n, buffer + 1, n->layout == LB_ARROW_LARGE_LIST, first, count, &offsets, &start, &end, err));
    lb_arrow_array_set(out, 1, &offsets);
    return lb_arrow_column_read(p, &n->children[0], start, end - start, out->children[0], err);
}

static lb_status read_fixed_list(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                                 struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls, start, items;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 1, 1, out, err));
    LB_TRY(column_set_validity(p, n, buffer, nulls, first, count, out, err));
    if (__builtin_mul_overflow(first, n->each, &start) || __builtin_mul_overflow(count, n->each, &items))
        return lb_arrow_fail(p, n, LB_CORRUPT, err, "it has more items than there are numbers");
    return lb_arrow_column_read(p, &n->children[0], start, items, out->children[0], err);
}

static lb_status read_struct(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                             struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, 1, n->n_children, out, err));
    LB_TRY(column_set_validity(p, n, buffer, nulls, first, count, out, err));
    for (uint32_t i = 0; i < n->n_children; i++)
        LB_TRY(lb_arrow_column_read(p, &n->children[i], first, count, out->children[i], err));
    return LB_OK;
}

static lb_status column_read(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                             struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls;

    switch (n->layout) {
    case LB_ARROW_NULLS:
        LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
        return read_nulls(p, count, out, err);
    case LB_ARROW_FIXED:
    case LB_ARROW_BITS:
        return read_fixed(p, n, first, count, out, err);
    case LB_ARROW_BYTES:
    case LB_ARROW_LARGE:
        return read_bytes(p, n, first, count, out, err);
    case LB_ARROW_VIEWS:
        return lb_arrow_read_views(p, n, first, count, out, err);
    case LB_ARROW_LIST:
    case LB_ARROW_LARGE_LIST:
        return read_list(p, n, first, count, out, err);
    case LB_ARROW_LIST_VIEW:
    case LB_ARROW_LARGE_LIST_VIEW:
        return lb_arrow_read_list_views(p, n, first, count, out, err);
    case LB_ARROW_FIXED_LIST:
        return read_fixed_list(p, n, first, count, out, err);
    case LB_ARROW_STRUCT:
        return read_struct(p, n, first, count, out, err);
    case LB_ARROW_SPARSE:
    case LB_ARROW_DENSE:
        return lb_arrow_read_union(p, n, first, count, out, err);
    case LB_ARROW_RUNS:
        return lb_arrow_read_runs(p, n, first, count, out, err);
    case LB_ARROW_DICTIONARY:
        return lb_arrow_read_dictionary(p, n, first, count, out, err);
    }
    return lb_arrow_fail(p, n, LB_INTERNAL, err, "its layout is unknown");
}

lb_status lb_arrow_column_read(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                               struct ArrowArray *out, lb_error *err)
{
    out->release = NULL;
    lb_status status = column_read(p, n, first, count, out, err);
    if (status != LB_OK)
        lb_arrow_array_drop(out);
    return status;
}
