/* Columns of a mapped file as they lie in it. No byte of a buffer is moved or changed: where rows begin inside a byte of
 * bits, the array's offset says so, and the other buffers then begin as many rows before. What a reader relies on is checked
 * as ever. Layouts whose children would have to be cut (lists, unions), or that are decoded, are read the common way, which
 * takes the buffers it need not change from the mapping too. */
#include "format/arrow/arrow.h"

/* Validity of the rows behind the first `shift`; the bits are of all of them. */
static lb_status lend_validity(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, int64_t nulls, int64_t first,
                               int64_t count, struct ArrowArray *out, lb_error *err)
{
    lb_arrow_piece bits;
    int64_t any;

    LB_TRY(lb_arrow_validity(p, n, buffer, nulls, first, count, &bits, &any, err));
    if (any == 0)
        return LB_OK;
    out->null_count = out->length - ArrowBitCountSet(bits.at, out->offset, out->length);
    if (out->null_count == 0)
        lb_arrow_piece_drop(&bits);
    else
        lb_arrow_array_set(out, 0, &bits);
    return LB_OK;
}

static lb_status lend_fixed(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, int64_t first, int64_t count,
                            struct ArrowArray *out, lb_error *err)
{
    lb_arrow_piece values;

    if (n->layout == LB_ARROW_BITS)
        LB_TRY(lb_arrow_buffer_get(p, buffer + 1, (uint64_t)first / 8, ((uint64_t)count + 7) / 8, LB_ARROW_SWAP_NONE,
                                   &values, err));
    else
        LB_TRY(lb_arrow_values(p, buffer + 1, first, count, n->width, n->swap, &values, err));
    lb_arrow_array_set(out, 1, &values);
    return LB_OK;
}

static lb_status lend_bytes(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, int64_t first, int64_t count,
                            struct ArrowArray *out, lb_error *err)
{
    const bool wide = n->layout == LB_ARROW_LARGE;
    const unsigned width = wide ? 8 : 4;
    lb_arrow_piece piece;

    LB_TRY(lb_arrow_values(p, buffer + 1, first, count + 1, width, width, &piece, err));
    lb_arrow_array_set(out, 1, &piece);
    const void *offsets = out->buffers[1];
    LB_TRY(lb_arrow_check_offsets(p, n, offsets, wide, count, err));
    int64_t end = wide ? ((const int64_t *)offsets)[count] : ((const int32_t *)offsets)[count];
    LB_TRY(lb_arrow_values(p, buffer + 2, 0, end, 1, LB_ARROW_SWAP_NONE, &piece, err));
    lb_arrow_array_set(out, 2, &piece);
    return lb_arrow_check_text(p, n, out->buffers[0], offsets, wide, out->buffers[2], out->offset, out->length, err);
}

static lb_status lend_struct(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                             struct ArrowArray *out, lb_error *err)
{
    for (uint32_t i = 0; i < n->n_children; i++)
        LB_TRY(lb_arrow_column_lend(p, &n->children[i], first, count, out->children[i], err));
    return LB_OK;
}

/* `shift` rows before the first one are in the buffers too. */
static lb_status lend_rows(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count, int64_t shift,
                           struct ArrowArray *out, lb_error *err)
{
    static const int buffers[] = {
        [LB_ARROW_FIXED] = 2, [LB_ARROW_BITS] = 2, [LB_ARROW_BYTES] = 3, [LB_ARROW_LARGE] = 3, [LB_ARROW_STRUCT] = 1
    };
    uint64_t buffer;
    int64_t nulls, from = first - shift, all = count + shift;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    LB_TRY(lb_arrow_array_new(count, buffers[n->layout], n->layout == LB_ARROW_STRUCT ? n->n_children : 0, out, err));
    out->offset = shift;
    LB_TRY(lend_validity(p, n, buffer, nulls, from, all, out, err));
    if (n->layout == LB_ARROW_STRUCT)
        return lend_struct(p, n, from, all, out, err);
    if (n->layout == LB_ARROW_BYTES || n->layout == LB_ARROW_LARGE)
        return lend_bytes(p, n, buffer, from, all, out, err);
    return lend_fixed(p, n, buffer, from, all, out, err);
}

static bool lend_can(const lb_arrow_pull *p, const lb_arrow_node *n)
{
    return !p->batch.compressed && !p->r->schema.swap &&
           (n->layout == LB_ARROW_FIXED || n->layout == LB_ARROW_BITS || n->layout == LB_ARROW_BYTES ||
            n->layout == LB_ARROW_LARGE || n->layout == LB_ARROW_STRUCT);
}

lb_status lb_arrow_column_lend(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                               struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t rows, nulls;

    out->release = NULL;
    if (!lend_can(p, n) || first < 0 || count <= 0)
        return lb_arrow_column_read(p, n, first, count, out, err);
    LB_TRY(lb_arrow_batch_node(p, n, &buffer, &rows, &nulls, err));
    int64_t shift = n->layout == LB_ARROW_BITS || nulls != 0 ? first % 8 : 0;
    lb_status status = lend_rows(p, n, first, count, shift, out, err);
    if (status != LB_OK)
        lb_arrow_array_drop(out);
    return status;
}
