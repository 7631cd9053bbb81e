/* The rows of a take: a list, or places of a permutation. */
#include <stdlib.h>

#include "base/sort.h"
#include "lake/take.h"

lb_status lb_take_past_end(uint64_t row, uint64_t total, lb_error *err)
{
    if (total == 0)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "row %llu is past the end: there are no rows",
                       (unsigned long long)row);
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "row %llu is past the end: there are %llu rows, 0 to %llu",
                   (unsigned long long)row, (unsigned long long)total, (unsigned long long)(total - 1));
}

static lb_status rows_check(const lb_take *take, uint64_t total, lb_error *err)
{
    for (uint64_t i = 0; total != LB_ROWS_UNKNOWN && i < take->count; i++)
        if (take->rows[i] >= total)
            return lb_take_past_end(take->rows[i], total, err);
    return LB_OK;
}

static lb_status rows_sort(lb_take_rows *r, lb_error *err)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(r->count, 2 * sizeof *r->own, &bytes) || bytes > SIZE_MAX / 2 ||
        !lb_budget_take(&r->cx->budget, bytes))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "sorting %llu rows passes the memory limit",
                       (unsigned long long)r->count);
    r->own_bytes = bytes;
    uint64_t *list = r->own = malloc((size_t)bytes + 1);
    if (list == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0; i < r->count; i++)
        list[i] = lb_take_row(r, i);
    lb_sort_u64(list, NULL, (size_t)r->count, list + r->count, NULL);
    r->list = list;
    return LB_OK;
}

lb_status lb_take_rows_init(lb_take_rows *r, lb_context *cx, const lb_take *take, uint64_t total, lb_error *err)
{
    *r = (lb_take_rows){ .cx = cx, .list = take->rows, .count = take->count };
    if (take->shuffled) {
        r->list = NULL;
        r->order.struct_size = sizeof r->order;
        LB_TRY(lb_permutation_init(&r->order, total, take->seed, err));
        r->from = LB_MIN(take->from, total);
        r->count = LB_MIN(take->count, total - r->from);
    } else {
        LB_TRY(rows_check(take, total, err));
    }
    return take->sorted ? rows_sort(r, err) : LB_OK;
}

void lb_take_rows_free(lb_take_rows *r)
{
    free(r->own);
    if (r->own_bytes != 0)
        lb_budget_give(&r->cx->budget, r->own_bytes);
    *r = (lb_take_rows){ 0 };
}
