/* Unions. Before metadata V5 they could have nulls of their own, which the type of today has not: such a row becomes a null
 * of the type that its id names. */
#include "column/types.h"
#include "format/arrow/arrow.h"

/* Every id must be one of the type's. */
static lb_status union_check_ids(const lb_arrow_pull *p, const lb_arrow_node *n, const int8_t *ids, int64_t count,
                                 lb_error *err)
{
    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || n->child_of_id[ids[i]] < 0)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a row has type %d, which the union does not have", ids[i]);
    return LB_OK;
}

/* ---------------------------------------------------------------- nulls of V4 */

/* Rows [0, count) of a child, null where bits of the union are 0, as picks: of the child itself, or of chunk 1, a null. */
static lb_status union_null_rows(lb_arrow_pull *p, const lb_arrow_node *child, const uint8_t *bits, int64_t count,
                                 struct ArrowArray *array, lb_error *err)
{
    struct ArrowArray null = { .release = NULL }, made = { .release = NULL };
    const struct ArrowArray *chunks[] = { array, &null };
    lb_arrow_piece space;

    LB_TRY(lb_arrow_piece_new(&p->made, (uint64_t)count * sizeof(lb_pick), false, &space, err));
    lb_pick *picks = (lb_pick *)(void *)(uintptr_t)space.at;
    for (int64_t i = 0; i < count; i++)
        picks[i] = ArrowBitGet(bits, i) ? (lb_pick){ 0, (uint32_t)i } : (lb_pick){ 1, 0 };
    lb_status status = lb_array_nulls(child->plain, 1, &null, err);
    if (status == LB_OK)
        status = lb_arrow_gather(p, child, chunks, 2, picks, count, &made, err);
    lb_arrow_array_drop(&null);
    lb_arrow_piece_drop(&space);
    LB_TRY(status);
    lb_arrow_array_drop(array);
    *array = made;
    return LB_OK;
}

/* A null more behind the rows of a child. */
static lb_status union_append_null(lb_arrow_pull *p, const lb_arrow_node *child, struct ArrowArray *array,
                                   lb_error *err)
{
    struct ArrowArray null = { .release = NULL }, made = { .release = NULL };
    const struct ArrowArray *chunks[] = { array, &null };
    int64_t count = array->length;
    lb_arrow_piece space;

    LB_TRY(lb_arrow_piece_new(&p->made, ((uint64_t)count + 1) * sizeof(lb_pick), false, &space, err));
    lb_pick *picks = (lb_pick *)(void *)(uintptr_t)space.at;
    for (int64_t i = 0; i < count; i++)
        picks[i] = (lb_pick){ 0, (uint32_t)i };
    picks[count] = (lb_pick){ 1, 0 };
    lb_status status = lb_array_nulls(child->plain, 1, &null, err);
    if (status == LB_OK)
        status = lb_arrow_gather(p, child, chunks, 2, picks, count + 1, &made, err);
    lb_arrow_array_drop(&null);
    lb_arrow_piece_drop(&space);
    LB_TRY(status);
    lb_arrow_array_drop(array);
    *array = made;
    return LB_OK;
}

/* ---------------------------------------------------------------- the two kinds */

static lb_status union_sparse(lb_arrow_pull *p, const lb_arrow_node *n, const uint8_t *bits, int64_t first,
                              int64_t count, struct ArrowArray *out, lb_error *err)
{
    for (uint32_t i = 0; i < n->n_children; i++) {
        LB_TRY(lb_arrow_column_read(p, &n->children[i], first, count, out->children[i], err));
        if (bits != NULL)
            LB_TRY(union_null_rows(p, &n->children[i], bits, count, out->children[i], err));
    }
    return LB_OK;
}

typedef struct union_span {
    int64_t first, end; /* rows of the child that are used */
    bool null;          /* one of its rows is null by the union's bits */
} union_span;

static lb_status union_spans(const lb_arrow_pull *p, const lb_arrow_node *n, const uint8_t *bits, const int8_t *ids,
                             const int32_t *offsets, int64_t count, union_span *spans, lb_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        union_span *s = &spans[n->child_of_id[ids[i]]];
        if (bits != NULL && !ArrowBitGet(bits, i)) {
            s->null = true;
            continue;
        }
        if (offsets[i] < 0)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a row's offset is %d", offsets[i]);
        s->first = s->first == s->end ? offsets[i] : LB_MIN(s->first, offsets[i]);
        s->end = LB_MAX(s->end, (int64_t)offsets[i] + 1);
    }
    return LB_OK;
}

static void union_move(const lb_arrow_node *n, const uint8_t *bits, const int8_t *ids, int32_t *offsets, int64_t count,
                       const union_span *spans)
{
    for (int64_t i = 0; i < count; i++) {
        const union_span *s = &spans[n->child_of_id[ids[i]]];
        bool null = bits != NULL && !ArrowBitGet(bits, i);
        offsets[i] = (int32_t)(null ? s->end - s->first : offsets[i] - s->first);
    }
}

static lb_status union_children(lb_arrow_pull *p, const lb_arrow_node *n, const union_span *spans,
                                struct ArrowArray *out, lb_error *err)
{
    for (uint32_t i = 0; i < n->n_children; i++) {
        const union_span *s = &spans[i];
        LB_TRY(lb_arrow_column_read(p, &n->children[i], s->first, s->end - s->first, out->children[i], err));
        if (s->null)
            LB_TRY(union_append_null(p, &n->children[i], out->children[i], err));
    }
    return LB_OK;
}

static lb_status union_dense(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, const uint8_t *bits,
                             int64_t first, int64_t count, struct ArrowArray *out, lb_error *err)
{
    union_span spans[128] = { { 0, 0, false } };
    const int8_t *ids = out->buffers[0];
    lb_arrow_piece piece;

    LB_TRY(lb_arrow_values(p, buffer, first, count, 4, 4, &piece, err));
    lb_status status = union_spans(p, n, bits, ids, (const int32_t *)(const void *)piece.at, count, spans, err);
    if (status == LB_OK)
        status = union_children(p, n, spans, out, err);
    uint8_t *offsets = status == LB_OK ? lb_arrow_piece_edit(&p->made, &piece, err) : NULL;
    if (offsets == NULL) {
        lb_arrow_piece_drop(&piece);
        return status != LB_OK ? status : err != NULL ? err->code : LB_NOMEM;
    }
    union_move(n, bits, ids, (int32_t *)(void *)offsets, count, spans);
    lb_arrow_array_set(out, 1, &piece);
    return LB_OK;
}

static lb_status union_read(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, const uint8_t *bits,
                            int64_t first, int64_t count, struct ArrowArray *out, lb_error *err)
{
    lb_arrow_piece ids;

    LB_TRY(lb_arrow_array_new(count, n->layout == LB_ARROW_DENSE ? 2 : 1, n->n_children, out, err));
    LB_TRY(lb_arrow_values(p, buffer, first, count, 1, LB_ARROW_SWAP_NONE, &ids, err));
    lb_arrow_array_set(out, 0, &ids);
    LB_TRY(union_check_ids(p, n, out->buffers[0], count, err));
    if (n->layout == LB_ARROW_SPARSE)
        return union_sparse(p, n, bits, first, count, out, err);
    return union_dense(p, n, buffer + 1, bits, first, count, out, err);
}

lb_status lb_arrow_read_union(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                              struct ArrowArray *out, lb_error *err)
{
    uint64_t buffer;
    int64_t nulls, null_count;
    lb_arrow_piece bits;

    LB_TRY(lb_arrow_rows(p, n, first, count, &buffer, &nulls, err));
    if (!p->batch.v4)
        return union_read(p, n, buffer, NULL, first, count, out, err);
    LB_TRY(lb_arrow_validity(p, n, buffer, nulls, first, count, &bits, &null_count, err));
    lb_status status = union_read(p, n, buffer + 1, null_count == 0 ? NULL : bits.at, first, count, out, err);
    lb_arrow_piece_drop(&bits);
    return status;
}
