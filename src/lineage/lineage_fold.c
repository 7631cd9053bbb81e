/* Conditions that are the same for every row: what of Impala's simplification can take columns out of a statement. */
#include "base/number.h"
#include "lineage/lineage_private.h"

lb_sql_op lb_fold_joint(const lb_sql_expr *chain)
{
    return chain->first == NULL || chain->first->next == NULL ? LB_SQL_OP_NONE : (lb_sql_op)chain->first->next->joint;
}

static lb_truth fold_not(lb_truth t)
{
    return t == LB_TRUTH_TRUE ? LB_TRUTH_FALSE : t == LB_TRUTH_FALSE ? LB_TRUTH_TRUE : t;
}

/* Operands of AND, which FALSE decides, or of OR, which TRUE does. */
static lb_truth fold_operands(lb_str text, const lb_sql_expr *chain, lb_truth decides)
{
    lb_truth all = fold_not(decides);

    for (const lb_sql_expr *e = chain->first; e != NULL; e = e->next) {
        lb_truth t = lb_fold_truth(text, e);
        if (t == decides)
            return decides;
        if (t == LB_TRUTH_OPEN || all == LB_TRUTH_OPEN)
            all = LB_TRUTH_OPEN;
        else if (t == LB_TRUTH_NULL)
            all = LB_TRUTH_NULL;
    }
    return all;
}

static bool fold_same_column(const lb_sql_expr *a, const lb_sql_expr *b)
{
    if (a->kind != LB_SQL_COLUMN || b->kind != LB_SQL_COLUMN)
        return false;
    const lb_sql_names *x = &LB_SQL_AS(column, a)->path, *y = &LB_SQL_AS(column, b)->path;
    bool same = x->count == y->count;
    for (uint32_t i = 0; same && i < x->count; i++)
        same = lb_str_equal(x->at[i].text, y->at[i].text);
    return same;
}

static bool fold_holds(lb_sql_op op, uint64_t x, uint64_t y)
{
    switch (op) {
    case LB_SQL_OP_EQ:
        return x == y;
    case LB_SQL_OP_NE:
        return x != y;
    case LB_SQL_OP_LT:
        return x < y;
    case LB_SQL_OP_LE:
        return x <= y;
    case LB_SQL_OP_GT:
        return x > y;
    default:
        return x >= y;
    }
}

/* Comparisons of NULL, of two numbers, of a column with itself. */
static lb_truth fold_comparison(lb_str text, const lb_sql_expr *chain, lb_sql_op op)
{
    const lb_sql_expr *a = lb_expr_bare(chain->first), *b = lb_expr_bare(chain->first->next);
    uint64_t x, y;

    if (chain->count != 2)
        return LB_TRUTH_OPEN;
    if (op == LB_SQL_OP_DISTINCT || op == LB_SQL_OP_NOT_DISTINCT || op == LB_SQL_OP_NULL_SAFE_EQ)
        return !fold_same_column(a, b) ? LB_TRUTH_OPEN : op == LB_SQL_OP_DISTINCT ? LB_TRUTH_FALSE : LB_TRUTH_TRUE;
    if (op < LB_SQL_OP_EQ || op > LB_SQL_OP_GE)
        return LB_TRUTH_OPEN;
    if (a->kind == LB_SQL_NULL || b->kind == LB_SQL_NULL)
        return LB_TRUTH_NULL;
    if (a->kind != LB_SQL_INTEGER || b->kind != LB_SQL_INTEGER ||
        !lb_parse_uint64(text.at + a->begin, a->end - a->begin, &x) ||
        !lb_parse_uint64(text.at + b->begin, b->end - b->begin, &y))
        return LB_TRUTH_OPEN;
    return fold_holds(op, x, y) ? LB_TRUTH_TRUE : LB_TRUTH_FALSE;
}

static lb_truth fold_is(lb_str text, const lb_sql_expr *e)
{
    lb_truth t = lb_fold_truth(text, e->first), is;

    if (t == LB_TRUTH_OPEN)
        return LB_TRUTH_OPEN;
    switch (e->op) {
    case LB_SQL_IS_TRUE:
        is = t == LB_TRUTH_TRUE ? LB_TRUTH_TRUE : LB_TRUTH_FALSE;
        break;
    case LB_SQL_IS_FALSE:
        is = t == LB_TRUTH_FALSE ? LB_TRUTH_TRUE : LB_TRUTH_FALSE;
        break;
    default:
        is = t == LB_TRUTH_NULL ? LB_TRUTH_TRUE : LB_TRUTH_FALSE;
    }
    return e->flags & LB_SQL_NOT ? fold_not(is) : is;
}

lb_truth lb_fold_truth(lb_str text, const lb_sql_expr *expr)
{
    const lb_sql_expr *e = lb_expr_bare(expr);
    lb_sql_op op;

    switch (e->kind) {
    case LB_SQL_TRUE:
        return LB_TRUTH_TRUE;
    case LB_SQL_FALSE:
        return LB_TRUTH_FALSE;
    case LB_SQL_NULL:
        return LB_TRUTH_NULL;
    case LB_SQL_UNARY:
        return e->op == LB_SQL_OP_NOT || e->op == LB_SQL_OP_BANG ? fold_not(lb_fold_truth(text, e->first))
                                                                 : LB_TRUTH_OPEN;
    case LB_SQL_IS:
        return fold_is(text, e);
    case LB_SQL_CHAIN:
        op = lb_fold_joint(e);
        if (op == LB_SQL_OP_AND)
            return fold_operands(text, e, LB_TRUTH_FALSE);
        if (op == LB_SQL_OP_OR)
            return fold_operands(text, e, LB_TRUTH_TRUE);
        return op == LB_SQL_OP_NONE ? LB_TRUTH_OPEN : fold_comparison(text, e, op);
    default:
        return LB_TRUTH_OPEN;
    }
}
