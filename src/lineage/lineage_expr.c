/* Expressions → sources. Every column that an expression mentions counts; what differs is how it gets there. */
#include "lineage/lineage_private.h"

bool lb_expr_is_literal(const lb_sql_expr *expr)
{
    return expr->kind <= LB_SQL_STRING || expr->kind == LB_SQL_DATED || expr->kind == LB_SQL_DEFAULT;
}

const lb_sql_expr *lb_expr_bare(const lb_sql_expr *expr)
{
    while (expr->kind == LB_SQL_PAREN)
        expr = expr->first;
    return expr;
}

lb_status lb_analysis_deeper(lb_analysis *an)
{
    if (++an->depth > LB_ANALYSIS_DEPTH)
        return lb_fail(an->err, LB_UNSUPPORTED, LB_NOWHERE,
                       "queries and expressions are nested more than %d deep, through views", LB_ANALYSIS_DEPTH);
    if (++an->work > LB_ANALYSIS_WORK)
        return lb_fail(an->err, LB_BUDGET, LB_NOWHERE, "the statement's columns depend on one another too often");
    return LB_OK;
}

static lb_status expr_list(lb_analysis *an, lb_scope *scope, const lb_sql_expr *first, const lb_sink *sink)
{
    for (const lb_sql_expr *e = first; e != NULL; e = e->next)
        if (!lb_expr_is_literal(e))
            LB_TRY(lb_expr_walk(an, scope, e, sink));
    return LB_OK;
}

static lb_status expr_column(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    lb_found found;

    LB_TRY(lb_scope_column(an, scope, &LB_SQL_AS(column, e)->path, &found));
    return lb_flow_emit(an, sink, &found.slot);
}

static lb_status expr_star(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    lb_columns *columns;

    LB_TRY(lb_columns_new(an, &columns));
    LB_TRY(lb_star_expand(an, scope, LB_SQL_AS(star, e), columns));
    for (uint32_t i = 0; i < columns->n; i++)
        LB_TRY(lb_flow_emit(an, sink, &columns->slots[i]));
    return LB_OK;
}

/* `(x).f`: a field where x is a struct that the catalog knows, else all of x. */
static lb_status expr_field(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, lb_flow_slot *out)
{
    lb_str name;
    bool found = false;

    LB_TRY(lb_expr_slot(an, scope, e->first, out));
    if (out->type == NULL || out->type->kind != LB_TYPE_STRUCT)
        return LB_OK;
    const lb_atom *atom = an->atoms[out->items[0].atom];
    const lb_nested_type *type = out->type;
    lb_str path = atom->path;
    LB_TRY(lb_analysis_lower(an, LB_SQL_AS(field, e)->name.text, &name));
    LB_TRY(lb_scope_step(an, &type, name, false, &path, &found));
    return found ? lb_flow_path_slot(an, atom->use, path, type, out) : LB_OK;
}

/* ---- conditionals */

static lb_status expr_case(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    const lb_sink value = lb_sink_by(*sink, LB_WAY_TRANSFORMATION), condition = lb_sink_by(*sink, LB_WAY_CONDITIONAL);
    const lb_sql_expr *at = e->first;
    bool searched = !(e->flags & LB_SQL_HAS_OPERAND);

    if (!searched) {
        LB_TRY(lb_expr_walk(an, scope, at, &condition));
        at = at->next;
    }
    for (; at != NULL && at->next != NULL; at = at->next->next) {
        lb_truth t = searched && an->folds ? lb_fold_truth(an->source.text, at) : LB_TRUTH_OPEN;
        if (t == LB_TRUTH_FALSE || t == LB_TRUTH_NULL)
            continue;
        LB_TRY(lb_expr_walk(an, scope, at, &condition));
        LB_TRY(lb_expr_walk(an, scope, at->next, &value));
        if (t == LB_TRUTH_TRUE)
            return LB_OK;
    }
    return at != NULL ? lb_expr_walk(an, scope, at, &value) : LB_OK;
}

static lb_status expr_if(lb_analysis *an, lb_scope *scope, const lb_sql_expr *first, const lb_sink *value, bool folds)
{
    const lb_sink condition = lb_sink_by(*value, LB_WAY_CONDITIONAL);

    if (first == NULL)
        return LB_OK;
    lb_truth t = folds ? lb_fold_truth(an->source.text, first) : LB_TRUTH_OPEN;
    if (t == LB_TRUTH_TRUE)
        return first->next == NULL ? LB_OK : lb_expr_walk(an, scope, first->next, value);
    if (t != LB_TRUTH_OPEN)
        return first->next == NULL ? LB_OK : expr_list(an, scope, first->next->next, value);
    LB_TRY(lb_expr_walk(an, scope, first, &condition));
    return expr_list(an, scope, first->next, value);
}

/* Each argument is a value, and says by being NULL which one is taken. */
static lb_status expr_coalesce(lb_analysis *an, lb_scope *scope, const lb_sql_expr *first, const lb_sink *value)
{
    const lb_sink condition = lb_sink_by(*value, LB_WAY_CONDITIONAL);

    if (an->folds && first != NULL && lb_expr_is_literal(first) && first->kind != LB_SQL_NULL)
        return LB_OK; /* the others are never looked at */
    LB_TRY(expr_list(an, scope, first, value));
    return expr_list(an, scope, first, &condition);
}

static lb_status expr_nullif(lb_analysis *an, lb_scope *scope, const lb_sql_expr *first, const lb_sink *value)
{
    const lb_sink condition = lb_sink_by(*value, LB_WAY_CONDITIONAL);

    if (first != NULL)
        LB_TRY(lb_expr_walk(an, scope, first, value));
    return expr_list(an, scope, first, &condition);
}

/* decode(x, compared, value, …[, fallback]) */
static lb_status expr_decode(lb_analysis *an, lb_scope *scope, const lb_sql_expr *first, const lb_sink *value)
{
    const lb_sink condition = lb_sink_by(*value, LB_WAY_CONDITIONAL);

    if (first == NULL)
        return LB_OK;
    LB_TRY(lb_expr_walk(an, scope, first, &condition));
    for (const lb_sql_expr *e = first->next; e != NULL; e = e->next) {
        LB_TRY(lb_expr_walk(an, scope, e, e->next != NULL ? &condition : value));
        if (e->next != NULL) {
            e = e->next;
            LB_TRY(lb_expr_walk(an, scope, e, value));
        }
    }
    return LB_OK;
}

/* ---- calls */

static lb_status expr_order(lb_analysis *an, lb_scope *scope, const lb_sql_order *order, const lb_sink *sink)
{
    for (; order != NULL; order = order->next)
        LB_TRY(lb_expr_walk(an, scope, order->expr, sink));
    return LB_OK;
}

static const lb_sql_window *expr_named_window(const lb_scope *scope, const lb_sql_name *name)
{
    for (const lb_sql_window *w = scope->windows; w != NULL; w = w->next) {
        bool same = w->name.text.size == name->text.size;
        for (size_t i = 0; same && i < name->text.size; i++)
            same = (w->name.text.at[i] | 0x20) == (name->text.at[i] | 0x20);
        if (same)
            return w;
    }
    return NULL;
}

/* PARTITION BY and ORDER BY of a window and of those it is built on. */
static lb_status expr_window(lb_analysis *an, lb_scope *scope, const lb_sql_window *window, const lb_sink *sink)
{
    lb_sink context = { .to = sink->to, .clause = sink->clause | LB_LINEAGE_WINDOW };

    for (int hops = 0; window != NULL && hops < 100; hops++) { /* windows may be built in a ring */
        LB_TRY(expr_list(an, scope, window->partition, &context));
        LB_TRY(expr_order(an, scope, window->order, &context));
        if ((window->partition != NULL || window->order != NULL) && sink->clause == 0)
            sink->to->windowed = true;
        window = lb_sql_has(&window->base) ? expr_named_window(scope, &window->base) : NULL;
    }
    return LB_OK;
}

static lb_status expr_arguments(lb_analysis *an, lb_scope *scope, const lb_sql_call *call, unsigned traits,
                                const lb_sink *value)
{
    const lb_sql_expr *first = call->expr.first;

    if (traits & LB_FUNCTION_GROUPING)
        return LB_OK;
    if (call->expr.op == LB_SQL_CALL_EXTRACT && first != NULL)
        return expr_list(an, scope, first->next, value); /* the first names a unit */
    if (traits & LB_FUNCTION_IF)
        return expr_if(an, scope, first, value, an->folds && !(traits & LB_FUNCTION_AGGREGATE));
    if (traits & LB_FUNCTION_CONDITIONAL)
        return expr_coalesce(an, scope, first, value);
    if (traits & LB_FUNCTION_NULLIF)
        return expr_nullif(an, scope, first, value);
    if ((traits & LB_FUNCTION_DECODE) && call->expr.count > 2)
        return expr_decode(an, scope, first, value);
    if (first != NULL && first->kind == LB_SQL_STAR && LB_SQL_AS(star, first)->path.count == 0 &&
        (traits & LB_FUNCTION_AGGREGATE))
        return LB_OK; /* count(*) */
    return expr_list(an, scope, first, value);
}

static lb_status expr_call(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    const lb_sql_call *call = LB_SQL_AS(call, e);
    unsigned traits = call->name.count == 1 ? lb_function_traits(call->name.at[0].text) : 0;
    bool star = e->first != NULL && e->first->kind == LB_SQL_STAR && LB_SQL_AS(star, e->first)->path.count == 0;

    if (call->filter != NULL || call->within != NULL || (e->flags & LB_SQL_CALL_DISTINCT) ||
        (star && lb_str_is_nocase(call->name.at[call->name.count - 1].text, "count")))
        traits |= LB_FUNCTION_AGGREGATE;
    bool aggregate = (traits & LB_FUNCTION_AGGREGATE) != 0;
    lb_sink value = lb_sink_by(*sink, aggregate ? LB_WAY_AGGREGATION : LB_WAY_TRANSFORMATION);
    value.masked |= (traits & LB_FUNCTION_MASKS) != 0;
    if (call->over != NULL)
        scope->has_window = true;
    else if (aggregate)
        scope->has_aggregate = true;
    LB_TRY(expr_arguments(an, scope, call, traits, &value));
    const lb_sink condition = lb_sink_by(value, LB_WAY_CONDITIONAL);
    if (call->filter != NULL)
        LB_TRY(lb_expr_walk(an, scope, call->filter, &condition));
    LB_TRY(expr_order(an, scope, call->order, &condition));
    LB_TRY(expr_order(an, scope, call->within, &value));
    return call->over == NULL ? LB_OK : expr_window(an, scope, call->over, sink);
}

/* ---- subqueries */

static lb_status expr_query(lb_analysis *an, lb_scope *scope, const lb_sql_query *query, lb_query_role role,
                            lb_columns **out, lb_query_facts *facts)
{
    const lb_query_place place = {
        .role = role, .outer = scope, .sees_outer = true, .env = scope->env, .no_labels = true
    };
    return lb_query_columns(an, query, &place, out, facts);
}

/* EXISTS: the conditions inside restrict, unless the test is decided without them. */
static lb_status expr_exists(lb_analysis *an, lb_scope *scope, const lb_sql_query *query)
{
    lb_query_facts facts = { 0 };
    lb_unit *user = an->unit, *unit;
    lb_columns *columns;

    LB_TRY(lb_flow_unit(an, &unit));
    an->unit = unit;
    LB_TRY(expr_query(an, scope, query, LB_QUERY_EXISTS, &columns, &facts));
    an->unit = user;
    return facts.decided && !an->view_statement ? LB_OK : lb_flow_use_unit(an, unit);
}

static lb_status expr_subquery(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    const lb_sql_query *query = LB_SQL_AS(subquery, e)->query;
    lb_sink value = *sink;
    lb_columns *columns;

    if (e->kind == LB_SQL_EXISTS)
        return expr_exists(an, scope, query);
    if (e->kind != LB_SQL_SUBQUERY)
        value = lb_sink_by(value, e->kind == LB_SQL_ARRAY_QUERY ? LB_WAY_AGGREGATION : LB_WAY_TRANSFORMATION);
    LB_TRY(expr_list(an, scope, e->first, &value));
    if (query == NULL)
        return LB_OK;
    lb_query_role role = e->kind == LB_SQL_SUBQUERY ? LB_QUERY_SCALAR : LB_QUERY_IN;
    LB_TRY(expr_query(an, scope, query, role, &columns, NULL));
    if (an->view_statement)
        return LB_OK; /* it stays a subquery, which gives no values (lineage.md 3.7) */
    if (value.clause != 0)
        value.clause |= LB_LINEAGE_SUBQUERY;
    for (uint32_t i = 0; i < columns->n; i++)
        LB_TRY(lb_flow_emit(an, &value, &columns->slots[i]));
    return LB_OK;
}

/* ---- all kinds */

static lb_status expr_chain(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    const lb_sink value = lb_sink_by(*sink, LB_WAY_TRANSFORMATION);

    if (an->folds && lb_fold_truth(an->source.text, e) != LB_TRUTH_OPEN)
        return LB_OK;
    return expr_list(an, scope, e->first, &value);
}

static lb_status expr_lambda(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    const lb_sql_names *params = &LB_SQL_AS(lambda, e)->params;
    const lb_sink value = lb_sink_by(*sink, LB_WAY_TRANSFORMATION);
    lb_hidden_name *before = scope->hidden, *names;

    LB_TRY(lb_analysis_alloc(an, params->count, sizeof *names, &names));
    for (uint32_t i = 0; i < params->count; i++) {
        LB_TRY(lb_analysis_lower(an, params->at[i].text, &names[i].name));
        names[i].next = scope->hidden;
        scope->hidden = &names[i];
    }
    LB_TRY(expr_list(an, scope, e->first, &value));
    scope->hidden = before;
    return LB_OK;
}

static lb_status expr_kind(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e, const lb_sink *sink)
{
    const lb_sink value = lb_sink_by(*sink, LB_WAY_TRANSFORMATION);
    lb_flow_slot slot;

    switch (e->kind) {
    case LB_SQL_COLUMN:
        return expr_column(an, scope, e, sink);
    case LB_SQL_STAR:
        return expr_star(an, scope, e, sink);
    case LB_SQL_PAREN:
    case LB_SQL_NAMED:
        return expr_list(an, scope, e->first, sink);
    case LB_SQL_FIELD:
        LB_TRY(expr_field(an, scope, e, &slot));
        return lb_flow_emit(an, sink, &slot);
    case LB_SQL_CHAIN:
        return expr_chain(an, scope, e, sink);
    case LB_SQL_SUBQUERY:
    case LB_SQL_EXISTS:
    case LB_SQL_IN_QUERY:
    case LB_SQL_QUANTIFIED:
    case LB_SQL_ARRAY_QUERY:
        return expr_subquery(an, scope, e, sink);
    case LB_SQL_CASE:
        return expr_case(an, scope, e, sink);
    case LB_SQL_CALL:
        return expr_call(an, scope, e, sink);
    case LB_SQL_LAMBDA:
        return expr_lambda(an, scope, e, sink);
    default: /* literals have no children */
        return expr_list(an, scope, e->first, &value);
    }
}

lb_status lb_expr_walk(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, const lb_sink *sink)
{
    LB_TRY(lb_analysis_deeper(an));
    LB_TRY(expr_kind(an, scope, expr, sink));
    an->depth--;
    return LB_OK;
}

lb_status lb_expr_slot(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, lb_flow_slot *out)
{
    const lb_sql_expr *bare = lb_expr_bare(expr);
    lb_collector *all;
    lb_found found;

    *out = (lb_flow_slot){ 0 };
    if (lb_expr_is_literal(bare))
        return LB_OK;
    if (bare->kind == LB_SQL_COLUMN) { /* lends the relation's slot */
        LB_TRY(lb_scope_column(an, scope, &LB_SQL_AS(column, bare)->path, &found));
        *out = found.slot;
        return LB_OK;
    }
    if (bare->kind == LB_SQL_FIELD) {
        LB_TRY(lb_analysis_deeper(an));
        LB_TRY(expr_field(an, scope, bare, out));
        an->depth--;
        return LB_OK;
    }
    LB_TRY(lb_flow_collector(an, &all));
    const lb_sink sink = { .to = all };
    lb_status status = lb_expr_walk(an, scope, bare, &sink);
    if (status == LB_OK)
        status = lb_flow_slot_of(an, all, out);
    lb_flow_release(an, all);
    return status;
}

/* ---- what restricts */

lb_status lb_expr_restrict(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, uint16_t clause)
{
    const lb_sink sink = { .to = &an->unit->restricts, .clause = clause };
    return lb_expr_walk(an, scope, expr, &sink);
}

lb_status lb_expr_beyond(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, uint16_t clause)
{
    const lb_sink sink = { .to = &an->unit->beyond, .clause = clause };
    return lb_expr_walk(an, scope, expr, &sink);
}

lb_status lb_slot_restrict(lb_analysis *an, const lb_flow_slot *slot, uint16_t clause, bool beyond)
{
    const lb_sink sink = { .to = beyond ? &an->unit->beyond : &an->unit->restricts, .clause = clause };
    return lb_flow_emit(an, &sink, slot);
}

/* One conjunct of WHERE: over several relations of the block it is a join. */
static lb_status expr_where(lb_analysis *an, lb_scope *scope, const lb_sql_expr *e)
{
    lb_reach_span span = { .scope = scope }, *around = an->span;
    lb_collector *all;

    LB_TRY(lb_flow_collector(an, &all));
    const lb_sink sink = { .to = all, .clause = LB_LINEAGE_WHERE };
    an->span = &span;
    LB_TRY(lb_expr_walk(an, scope, e, &sink));
    an->span = around;
    for (uint32_t i = 0; i < all->n; i++) {
        unsigned clauses = all->items[i].clauses;
        if (span.several)
            clauses = (clauses & ~(unsigned)LB_LINEAGE_WHERE) | LB_LINEAGE_JOIN;
        LB_TRY(lb_flow_add(an, &an->unit->restricts, all->items[i].atom, 0, (uint16_t)clauses));
    }
    lb_flow_release(an, all);
    return LB_OK;
}

lb_status lb_expr_condition(lb_analysis *an, lb_scope *scope, const lb_sql_expr *expr, uint16_t clause)
{
    const lb_sql_expr *bare = lb_expr_bare(expr);

    if (lb_expr_is_literal(bare) || (an->folds && lb_fold_truth(an->source.text, bare) != LB_TRUTH_OPEN))
        return LB_OK;
    if (bare->kind != LB_SQL_CHAIN || lb_fold_joint(bare) != LB_SQL_OP_AND)
        return clause == LB_LINEAGE_WHERE ? expr_where(an, scope, bare) : lb_expr_restrict(an, scope, bare, clause);
    LB_TRY(lb_analysis_deeper(an));
    for (const lb_sql_expr *e = bare->first; e != NULL; e = e->next)
        LB_TRY(lb_expr_condition(an, scope, e, clause));
    an->depth--;
    return LB_OK;
}
