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

/* Put picked rows in the place of an array; chunk 1 is a null. */
static lb_status union_pick(lb_arrow_pull *p, const lb_arrow_node *child, const lb_pick *picks, int64_t count,
                            struct ArrowArray *array, lb_error *err)
{
    struct ArrowArray null, made;
    const struct ArrowArray *chunks[] = { array, &null };

    LB_TRY(lb_array_nulls(child->plain, 1, &null, err));
    lb_status status = lb_arrow_gather(p, child, chunks, 2, picks, count, &made, err);
    lb_arrow_array_drop(&null);
    LB_TRY(status);
    lb_arrow_array_drop(array);
    *array = made;
    return LB_OK;
}

static lb_status union_picks(lb_arrow_pull *p, int64_t count, lb_arrow_piece *out, lb_pick **picks, lb_error *err)
{
    LB_TRY(lb_arrow_piece_new(&p->made, (uint64_t)count * sizeof **picks, false, out, err));
    *picks = (lb_pick *)(void *)(uintptr_t)out->at;
    return LB_OK;
}

/* Of a sparse union: rows of a child, null where bits of the union are 0. */
static lb_status union_null_rows(lb_arrow_pull *p, const lb_arrow_node *child, const uint8_t *bits, int64_t count,
                                 struct ArrowArray *array, lb_error *err)
{
    lb_arrow_piece space;
    lb_pick *picks;

    LB_TRY(union_picks(p, count, &space, &picks, err));
    for (int64_t i = 0; i < count; i++)
        picks[i] = ArrowBitGet(bits, i) ? (lb_pick){ 0, (uint32_t)i } : (lb_pick){ 1, 0 };
    lb_status status = union_pick(p, child, picks, count, array, err);
    lb_arrow_piece_drop(&space);
    return status;
}

/* ---------------------------------------------------------------- sparse */

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

/* ---------------------------------------------------------------- dense */

/* The rows of a dense union. */
typedef struct union_rows {
    const uint8_t *bits; /* its own validity; NULL */
    const int8_t *ids;
    int32_t *offsets; /* into the children, of which only what is referred to is read */
    int64_t count;
    int64_t first[128], end[128]; /* that, of each child */
} union_rows;

static bool union_is_null(const union_rows *u, int64_t i)
{
    return u->bits != NULL && !ArrowBitGet(u->bits, i);
}

static lb_status union_measure(const lb_arrow_pull *p, const lb_arrow_node *n, union_rows *u, lb_error *err)
{
    for (int64_t i = 0; i < u->count; i++) {
        int c = n->child_of_id[u->ids[i]];
        if (union_is_null(u, i))
            continue;
        if (u->offsets[i] < 0)
            return lb_arrow_fail(p, n, LB_CORRUPT, err, "a row's offset is %d", u->offsets[i]);
        u->first[c] = u->first[c] == u->end[c] ? u->offsets[i] : LB_MIN(u->first[c], u->offsets[i]);
        u->end[c] = LB_MAX(u->end[c], (int64_t)u->offsets[i] + 1);
    }
    return LB_OK;
}

/* A child's rows in the order of the union's, with the nulls among them; offsets are told so. */
static lb_status union_order(lb_arrow_pull *p, const lb_arrow_node *n, int child, union_rows *u,
                             struct ArrowArray *array, lb_error *err)
{
    lb_arrow_piece space;
    lb_pick *picks;
    int64_t at = 0;

    LB_TRY(union_picks(p, u->count, &space, &picks, err));
    for (int64_t i = 0; i < u->count; i++) {
        if (n->child_of_id[u->ids[i]] != child)
            continue;
        picks[at] = union_is_null(u, i) ? (lb_pick){ 1, 0 } : (lb_pick){ 0, (uint32_t)u->offsets[i] };
        u->offsets[i] = (int32_t)at++;
    }
    lb_status status = union_pick(p, &n->children[child], picks, at, array, err);
    lb_arrow_piece_drop(&space);
    return status;
}

static lb_status union_children(lb_arrow_pull *p, const lb_arrow_node *n, union_rows *u, struct ArrowArray *out,
                                lb_error *err)
{
    LB_TRY(union_measure(p, n, u, err));
    for (int64_t i = 0; i < u->count; i++)
        if (!union_is_null(u, i))
            u->offsets[i] -= (int32_t)u->first[n->child_of_id[u->ids[i]]];
    for (uint32_t i = 0; i < n->n_children; i++) {
        LB_TRY(lb_arrow_column_read(p, &n->children[i], u->first[i], u->end[i] - u->first[i], out->children[i], err));
        if (u->bits != NULL)
            LB_TRY(union_order(p, n, (int)i, u, out->children[i], err));
    }
    return LB_OK;
}

static lb_status union_dense(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, const uint8_t *bits,
                             int64_t first, int64_t count, struct ArrowArray *out, lb_error *err)
{
    union_rows u = { .bits = bits, .ids = out->buffers[0], .count = count };
    lb_arrow_piece piece;

    LB_TRY(lb_arrow_values(p, buffer, first, count, 4, 4, &piece, err));
    u.offsets = (int32_t *)(void *)lb_arrow_piece_edit(&p->made, &piece, err);
    lb_status status = u.offsets == NULL ? (err != NULL ? err->code : LB_NOMEM) : union_children(p, n, &u, out, err);
    if (status == LB_OK)
        lb_arrow_array_set(out, 1, &piece);
    else
        lb_arrow_piece_drop(&piece);
    return status;
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
