/* Queries: SELECT blocks, VALUES, set operations → columns; and what in them restricts. */
#include <assert.h>

#include "base/number.h"
#include "lineage/lineage_private.h"
#include "sql/sql_print.h"

bool lb_query_is_select(const lb_analysis *an, const lb_sql_query *query)
{
    const lb_sql_block *last = query->first;

    while (last->next != NULL)
        last = last->next;
    if (last->set == LB_SQL_SET_EXCEPT || last->set == LB_SQL_SET_INTERSECT)
        return !an->view_statement;
    if (query->count != 1)
        return false;
    return last->kind == LB_SQL_BLOCK_NESTED ? lb_query_is_select(an, last->nested) : last->kind != LB_SQL_BLOCK_VALUES;
}

/* ---- labels (lineage.md 1.5) */

static lb_status query_hive_label(lb_analysis *an, uint32_t index, lb_str *out)
{
    char *text;

    LB_TRY(lb_analysis_alloc(an, LB_INT_TEXT + 2, 1, &text));
    text[0] = '_';
    text[1] = 'c';
    *out = (lb_str){ text, 2 + lb_print_uint64(index, text + 2) };
    return LB_OK;
}

/* Label of a select item without an alias that is no plain column. */
static lb_status query_label(lb_analysis *an, const lb_sql_expr *expr, uint32_t index, lb_str *out)
{
    if (an->source.hive_labels)
        return query_hive_label(an, index, out);
    an->scratch->size = 0;
    LB_TRY(lb_sql_label(an->source.text, an->options->dialect, expr, an->scratch, an->err));
    const char *copy = lb_arena_dup(an->arena, an->scratch->data, an->scratch->size);
    *out = (lb_str){ copy, an->scratch->size };
    return copy == NULL ? lb_analysis_nomem(an) : LB_OK;
}

/* ---- the select list */

typedef struct query_items {
    lb_scope *scope;
    lb_columns *columns;
    lb_str *aliases; /* by column */
    bool *aggregates;
    uint32_t cap, cap_aggregates;
    bool no_labels;
} query_items;

static lb_status query_item_column(lb_analysis *an, query_items *items, lb_str alias, lb_str name, bool aggregate,
                                   const lb_flow_slot *slot)
{
    uint32_t n = items->columns->n;

    LB_TRY(lb_analysis_room(an, &items->aliases, n, &items->cap, sizeof *items->aliases));
    LB_TRY(lb_analysis_room(an, &items->aggregates, n, &items->cap_aggregates, sizeof *items->aggregates));
    items->aliases[n] = alias;
    items->aggregates[n] = aggregate;
    return lb_columns_add(an, items->columns, name, slot);
}

static lb_status query_star(lb_analysis *an, query_items *items, const lb_sql_expr *expr)
{
    const lb_str none = { NULL, 0 };
    lb_columns *star;

    LB_TRY(lb_columns_new(an, &star));
    LB_TRY(lb_star_expand(an, items->scope, LB_SQL_AS(star, expr), star));
    for (const lb_open_star *open = star->open; open != NULL; open = open->next)
        LB_TRY(lb_columns_open(an, items->columns, open->use, open->also));
    for (uint32_t i = 0; i < star->n; i++)
        LB_TRY(query_item_column(an, items, none, star->names[i], false, &star->slots[i]));
    return LB_OK;
}

static lb_status query_item(lb_analysis *an, query_items *items, const lb_sql_item *item, uint32_t index)
{
    const lb_sql_expr *bare = lb_expr_bare(item->expr);
    bool before = items->scope->has_aggregate, aggregate;
    lb_str alias = { NULL, 0 }, name = { "", 0 };
    lb_flow_slot slot;
    lb_found found;

    if (item->expr->kind == LB_SQL_STAR)
        return query_star(an, items, item->expr);
    items->scope->has_aggregate = false;
    if (bare->kind == LB_SQL_COLUMN) {
        LB_TRY(lb_scope_column(an, items->scope, &LB_SQL_AS(column, bare)->path, &found));
        slot = found.slot;
        name = found.label;
    } else {
        LB_TRY(lb_expr_slot(an, items->scope, item->expr, &slot));
    }
    aggregate = items->scope->has_aggregate;
    items->scope->has_aggregate = before || aggregate;
    if (lb_sql_has(&item->alias)) {
        LB_TRY(lb_analysis_lower(an, item->alias.text, &alias));
        name = alias;
    } else if (name.size == 0 && !items->no_labels) {
        LB_TRY(query_label(an, item->expr, index, &name));
    }
    return query_item_column(an, items, alias, name, aggregate, &slot);
}

static lb_status query_select_list(lb_analysis *an, query_items *items, const lb_sql_block *block)
{
    uint32_t index = 0;

    for (const lb_sql_item *item = block->items; item != NULL; item = item->next) {
        LB_TRY(query_item(an, items, item, index++));
        items->scope->items = items->columns;
        items->scope->aliases = items->aliases;
        items->scope->n_items = items->columns->n;
    }
    return LB_OK;
}

/* ---- GROUP BY and ORDER BY: positions, aliases, expressions */

static lb_status query_position(lb_analysis *an, const lb_columns *columns, const lb_sql_expr *e, lb_flow_slot *out)
{
    uint64_t place;

    *out = (lb_flow_slot){ 0 };
    if (lb_parse_uint64(an->source.text.at + e->begin, e->end - e->begin, &place) && place - 1 < columns->n)
        *out = columns->slots[place - 1];
    return LB_OK;
}

/* A select item by its alias, where the name stands alone; an alias wins over a column. */
static lb_status query_alias(lb_analysis *an, const query_items *items, const lb_sql_expr *e, bool *found,
                             lb_flow_slot *out)
{
    const lb_sql_names *path = &LB_SQL_AS(column, e)->path;
    lb_str name;

    *found = false;
    if (path->count != 1)
        return LB_OK;
    LB_TRY(lb_analysis_lower(an, path->at[0].text, &name));
    for (uint32_t i = 0; i < items->columns->n; i++) {
        if (items->aliases[i].at == NULL || !lb_str_equal(items->aliases[i], name))
            continue;
        const lb_flow_slot both[2] = { items->columns->slots[i], *out };
        if (*found && both[0].items != both[1].items)
            LB_TRY(lb_analysis_mark(an, LB_LINEAGE_AMBIGUOUS_COLUMN, e->begin, e->end));
        LB_TRY(lb_flow_unite(an, both, *found ? 2 : 1, out));
        *found = true;
    }
    return LB_OK;
}

/* One expression of GROUP BY or ORDER BY. */
static lb_status query_key(lb_analysis *an, const query_items *items, const lb_sql_expr *e, lb_flow_slot *out)
{
    bool found = false;

    if (e->kind == LB_SQL_INTEGER)
        return query_position(an, items->columns, e, out);
    if (e->kind == LB_SQL_COLUMN)
        LB_TRY(query_alias(an, items, e, &found, out));
    return found ? LB_OK : lb_expr_slot(an, items->scope, e, out);
}

static lb_status query_keys(lb_analysis *an, const query_items *items, const lb_sql_expr *list, uint16_t clause,
                            bool beyond)
{
    lb_flow_slot slot;

    for (; list != NULL; list = list->next) {
        LB_TRY(query_key(an, items, list, &slot));
        LB_TRY(lb_slot_restrict(an, &slot, clause, beyond));
    }
    return LB_OK;
}

static lb_status query_group_list(lb_analysis *an, const query_items *items, const lb_sql_group *group, bool beyond)
{
    LB_TRY(lb_analysis_deeper(an));
    for (; group != NULL; group = group->next) {
        if (group->kind != LB_SQL_GROUP_EXPR) {
            LB_TRY(query_group_list(an, items, group->first, beyond));
        } else if (group->expr->kind == LB_SQL_TUPLE) {
            LB_TRY(query_keys(an, items, group->expr->first, LB_LINEAGE_GROUP_BY, beyond));
        } else {
            lb_flow_slot slot;
            LB_TRY(query_key(an, items, group->expr, &slot));
            LB_TRY(lb_slot_restrict(an, &slot, LB_LINEAGE_GROUP_BY, beyond));
        }
    }
    an->depth--;
    return LB_OK;
}

static lb_status query_group(lb_analysis *an, const query_items *items, const lb_sql_block *block)
{
    bool beyond = !items->scope->has_aggregate;

    LB_TRY(query_group_list(an, items, block->group, beyond));
    for (uint32_t i = 0; block->group_by == LB_SQL_BY_ALL && i < items->columns->n; i++)
        if (!items->aggregates[i])
            LB_TRY(lb_slot_restrict(an, &items->columns->slots[i], LB_LINEAGE_GROUP_BY, beyond));
    return LB_OK;
}

/* ---- ORDER BY: restricts where a LIMIT makes it choose rows */

static bool query_is_number(const lb_analysis *an, const lb_sql_expr *e, uint64_t number)
{
    uint64_t value;

    return e != NULL && e->kind == LB_SQL_INTEGER &&
           lb_parse_uint64(an->source.text.at + e->begin, e->end - e->begin, &value) && value == number;
}

/* Has the block a LIMIT, written or (lineage.md 3.7) put in by the rewriting of subqueries? */
static bool query_is_limited(const lb_analysis *an, const lb_sql_block *block, const lb_query_place *place,
                             const lb_scope *scope)
{
    bool limited = block->tail.limit != NULL;

    if (an->view_statement || place->role == LB_QUERY_TOP || place->role == LB_QUERY_INLINE)
        return limited;
    if (scope->correlated)
        return false;
    if (place->role == LB_QUERY_EXISTS)
        return true;
    bool one_row =
        block->from == NULL || (scope->has_aggregate && block->group == NULL && block->group_by == LB_SQL_BY_PLAIN);
    return limited || (place->role == LB_QUERY_SCALAR && !one_row);
}

/* The slots of ORDER BY, kept until it is known whether they restrict. */
static lb_status query_order_slots(lb_analysis *an, const query_items *items, const lb_sql_order *order, uint32_t n,
                                   lb_flow_slot *slots)
{
    for (uint32_t i = 0; i < n; i++, order = order->next)
        LB_TRY(query_key(an, items, order->expr, &slots[i]));
    return LB_OK;
}

static lb_status query_order(lb_analysis *an, const query_items *items, const lb_sql_block *block,
                             const lb_query_place *place)
{
    const lb_sql_tail *tail = &block->tail;
    lb_flow_slot *slots;
    uint32_t n = 0;

    for (const lb_sql_order *o = tail->order; o != NULL; o = o->next)
        n++;
    LB_TRY(lb_analysis_alloc(an, n, sizeof *slots, &slots));
    items->scope->orders = true;
    LB_TRY(query_order_slots(an, items, tail->order, n, slots));
    items->scope->orders = false;
    bool beyond = !query_is_limited(an, block, place, items->scope);
    for (uint32_t i = 0; i < n; i++)
        LB_TRY(lb_slot_restrict(an, &slots[i], LB_LINEAGE_ORDER_BY, beyond));
    for (uint32_t i = 0; tail->order_all && i < items->columns->n; i++)
        LB_TRY(lb_slot_restrict(an, &items->columns->slots[i], LB_LINEAGE_ORDER_BY, beyond));
    return LB_OK;
}

/* ---- a SELECT block */

/* Sorting and spreading that choose no rows, and DISTINCT ON. */
static lb_status query_beyond(lb_analysis *an, const query_items *items, const lb_sql_block *block)
{
    lb_flow_slot slot;

    LB_TRY(query_keys(an, items, block->distinct_on, LB_LINEAGE_DISTINCT, true));
    LB_TRY(query_keys(an, items, block->cluster_by, LB_LINEAGE_ORDER_BY, true));
    LB_TRY(query_keys(an, items, block->distribute_by, LB_LINEAGE_ORDER_BY, true));
    for (const lb_sql_order *o = block->sort_by; o != NULL; o = o->next) {
        LB_TRY(query_key(an, items, o->expr, &slot));
        LB_TRY(lb_slot_restrict(an, &slot, LB_LINEAGE_ORDER_BY, true));
    }
    return LB_OK;
}

static lb_status query_clauses(lb_analysis *an, const query_items *items, const lb_sql_block *block,
                               const lb_query_place *place)
{
    lb_scope *scope = items->scope;

    if (block->where != NULL)
        LB_TRY(lb_expr_condition(an, scope, block->where, LB_LINEAGE_WHERE));
    if (block->having != NULL)
        LB_TRY(lb_expr_condition(an, scope, block->having, LB_LINEAGE_HAVING));
    if (block->qualify != NULL)
        LB_TRY(lb_expr_condition(an, scope, block->qualify, LB_LINEAGE_QUALIFY));
    LB_TRY(query_order(an, items, block, place));
    LB_TRY(query_group(an, items, block));
    return query_beyond(an, items, block);
}

/* Is EXISTS over the block decided without looking at a row? */
static bool query_is_decided(const lb_analysis *an, const lb_sql_block *block, const lb_scope *scope)
{
    lb_truth where = block->where == NULL ? LB_TRUTH_TRUE : lb_fold_truth(an->source.text, block->where);

    if (where == LB_TRUTH_FALSE || where == LB_TRUTH_NULL || query_is_number(an, block->tail.limit, 0))
        return true;
    return scope->has_aggregate && !scope->has_window && block->having == NULL;
}

static lb_status query_select(lb_analysis *an, const lb_sql_block *block, const lb_query_place *place, lb_columns **out,
                              lb_query_facts *facts)
{
    query_items items = { .no_labels = place->no_labels };
    lb_scope *scope;

    LB_TRY(lb_analysis_alloc(an, 1, sizeof *scope, &scope));
    scope->outer = place->outer;
    scope->sees_outer = place->sees_outer;
    scope->env = place->env;
    scope->windows = block->windows;
    items.scope = scope;
    LB_TRY(lb_columns_new(an, &items.columns));
    LB_TRY(lb_from_list(an, scope, block->from));
    if (block->kind == LB_SQL_BLOCK_TABLE) {
        const lb_sql_star star = { .expr = { .kind = LB_SQL_STAR } };
        LB_TRY(query_star(an, &items, &star.expr));
    }
    LB_TRY(query_select_list(an, &items, block));
    LB_TRY(query_clauses(an, &items, block, place));
    facts->correlated |= scope->correlated;
    facts->decided = query_is_decided(an, block, scope);
    scope->items = NULL;
    *out = items.columns;
    return LB_OK;
}

/* ---- VALUES */

/* Sources of each column over all rows. Most values are literals, and are stepped over. */
static lb_status query_value_rows(lb_analysis *an, lb_scope *scope, const lb_sql_block *block, uint32_t n,
                                  lb_collector **all)
{
    for (const lb_sql_expr *row = block->rows; row != NULL; row = row->next) {
        const lb_sql_expr *e = row->first;
        for (uint32_t i = 0; e != NULL && i < n; e = e->next, i++) {
            if (lb_expr_is_literal(e))
                continue;
            if (all[i] == NULL)
                LB_TRY(lb_flow_collector(an, &all[i]));
            const lb_sink sink = { .to = all[i] };
            LB_TRY(lb_expr_walk(an, scope, e, &sink));
        }
    }
    return LB_OK;
}

static lb_status query_values(lb_analysis *an, const lb_sql_block *block, const lb_query_place *place, lb_columns **out)
{
    const lb_sql_expr *first = block->rows == NULL ? NULL : block->rows->first;
    uint32_t n = block->rows == NULL ? 0 : block->rows->count;
    lb_collector **all;
    lb_scope *scope;

    LB_TRY(lb_columns_new(an, out));
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *scope, &scope));
    *scope = (lb_scope){ .outer = place->outer, .sees_outer = place->sees_outer, .env = place->env };
    LB_TRY(lb_analysis_alloc(an, n, sizeof(lb_collector *), &all));
    LB_TRY(query_value_rows(an, scope, block, n, all));
    for (uint32_t i = 0; i < n; i++, first = first->next) {
        lb_str name = { "", 0 };
        lb_flow_slot slot = { 0 };
        if (first->kind == LB_SQL_NAMED)
            LB_TRY(lb_analysis_lower(an, LB_SQL_AS(named, first)->name.text, &name));
        else if (!place->no_labels)
            LB_TRY(query_label(an, first, i, &name));
        if (all[i] != NULL)
            LB_TRY(lb_flow_slot_of(an, all[i], &slot));
        lb_flow_release(an, all[i]);
        LB_TRY(lb_columns_add(an, *out, name, &slot));
    }
    return LB_OK;
}

/* ---- set operations */

static lb_status query_block(lb_analysis *an, const lb_sql_block *block, const lb_query_place *place, lb_columns **out,
                             lb_query_facts *facts)
{
    switch (block->kind) {
    case LB_SQL_BLOCK_VALUES:
        return query_values(an, block, place, out);
    case LB_SQL_BLOCK_NESTED:
        return lb_query_columns(an, block->nested, place, out, facts);
    default:
        return query_select(an, block, place, out, facts);
    }
}

/* Operands that UNION puts together. */
typedef struct query_operands {
    lb_columns **at;
    uint32_t n, cap;
    bool by_name;
} query_operands;

/* What an operand gives to column `i` of the first one. */
static lb_status query_operand(lb_analysis *an, const lb_columns *first, uint32_t i, lb_columns *other, bool by_name,
                               const lb_sink *sink)
{
    uint32_t place = i;

    if (by_name || i >= first->open_at || i >= other->open_at) { /* places are not known behind an open star */
        LB_TRY(lb_columns_find(an, other, first->names[i], 0, &place));
        if (place == LB_NONE && other->open != NULL)
            place = other->open_at;
    }
    return place < other->n ? lb_flow_emit(an, sink, &other->slots[place]) : LB_OK;
}

/* Put columns of later operands, that the first has not, behind its own. */
static lb_status query_by_name(lb_analysis *an, lb_columns *out, lb_columns *other)
{
    uint32_t place;

    for (uint32_t i = 0; i < other->n; i++) {
        LB_TRY(lb_columns_find(an, out, other->names[i], 0, &place));
        if (place == LB_NONE) {
            LB_TRY(lb_columns_add(an, out, other->names[i], &other->slots[i]));
            out->map = (lb_text_map){ 0 };
        }
    }
    return LB_OK;
}

static lb_status query_unite(lb_analysis *an, query_operands *operands, lb_columns **out)
{
    lb_columns *first, *columns;
    lb_flow_slot slot;
    lb_collector *all;

    assert(operands->at != NULL && operands->n != 0);
    first = operands->at[0];
    if (operands->n == 1) {
        *out = first;
        return LB_OK;
    }
    LB_TRY(lb_columns_new(an, &columns));
    for (uint32_t i = 0; i < first->n; i++) {
        LB_TRY(lb_flow_collector(an, &all));
        const lb_sink sink = { .to = all };
        LB_TRY(lb_flow_emit(an, &sink, &first->slots[i]));
        for (uint32_t k = 1; k < operands->n; k++)
            LB_TRY(query_operand(an, first, i, operands->at[k], operands->by_name, &sink));
        LB_TRY(lb_flow_slot_of(an, all, &slot));
        lb_flow_release(an, all);
        LB_TRY(lb_columns_add(an, columns, first->names[i], &slot));
    }
    for (uint32_t k = 0; k < operands->n; k++) {
        for (const lb_open_star *star = operands->at[k]->open; star != NULL; star = star->next)
            LB_TRY(lb_columns_open(an, columns, star->use, k > 0 || star->also));
        if (operands->by_name && k > 0)
            LB_TRY(query_by_name(an, columns, operands->at[k]));
    }
    columns->open_at = first->open_at != LB_NONE ? first->open_at : columns->open_at;
    *out = columns;
    return LB_OK;
}

static lb_status query_restrict_all(lb_analysis *an, const lb_columns *columns)
{
    for (uint32_t i = 0; i < columns->n; i++)
        LB_TRY(lb_slot_restrict(an, &columns->slots[i], LB_LINEAGE_SET, false));
    return LB_OK;
}

static lb_status query_set(lb_analysis *an, const lb_sql_query *query, const lb_query_place *place, lb_columns **out,
                           lb_query_facts *facts)
{
    query_operands operands = { 0 };
    lb_query_place later = *place;
    lb_columns *columns, *left;

    for (const lb_sql_block *block = query->first; block != NULL; block = block->next) {
        bool joins = (block->set == LB_SQL_SET_EXCEPT || block->set == LB_SQL_SET_INTERSECT) && !an->view_statement;
        LB_TRY(query_block(an, block, &later, &columns, facts));
        facts->decided = false;
        operands.by_name |= block->by_name;
        later.no_labels |= !block->by_name && (block->next == NULL || !block->next->by_name);
        if (joins) { /* a semi or anti join of all columns: values come from the left side only */
            LB_TRY(query_unite(an, &operands, &left));
            LB_TRY(query_restrict_all(an, left));
            LB_TRY(query_restrict_all(an, columns));
            operands.at[0] = left;
            operands.n = 1;
            continue;
        }
        LB_TRY(lb_analysis_room(an, &operands.at, operands.n, &operands.cap, sizeof(lb_columns *)));
        operands.at[operands.n++] = columns;
    }
    return query_unite(an, &operands, out);
}

/* ORDER BY of a whole set operation: over its columns. */
static lb_status query_tail(lb_analysis *an, const lb_sql_query *query, const lb_query_place *place,
                            lb_columns *columns)
{
    bool beyond = query->tail.limit == NULL || !lb_query_is_select(an, query);
    lb_relation relation = { .kind = LB_RELATION_DERIVED, .columns = columns };
    lb_relation *relations[1] = { &relation };
    lb_scope scope = { .outer = place->outer,
                       .sees_outer = place->sees_outer,
                       .env = place->env,
                       .relations = relations,
                       .n_relations = 1 };
    lb_flow_slot slot;

    for (const lb_sql_order *o = query->tail.order; o != NULL; o = o->next) {
        if (o->expr->kind == LB_SQL_INTEGER)
            LB_TRY(query_position(an, columns, o->expr, &slot));
        else
            LB_TRY(lb_expr_slot(an, &scope, o->expr, &slot));
        LB_TRY(lb_slot_restrict(an, &slot, LB_LINEAGE_ORDER_BY, beyond));
    }
    for (uint32_t i = 0; query->tail.order_all && i < columns->n; i++)
        LB_TRY(lb_slot_restrict(an, &columns->slots[i], LB_LINEAGE_ORDER_BY, beyond));
    return LB_OK;
}

lb_status lb_query_columns(lb_analysis *an, const lb_sql_query *query, const lb_query_place *place, lb_columns **out,
                           lb_query_facts *facts)
{
    lb_query_place inner = *place;
    lb_query_facts unasked = { 0 };

    if (facts == NULL)
        facts = &unasked;
    LB_TRY(lb_analysis_deeper(an));
    LB_TRY(lb_from_env(an, query->with, place->env, place->outer, place->sees_outer, &inner.env));
    if (query->count == 1)
        LB_TRY(query_block(an, query->first, &inner, out, facts));
    else
        LB_TRY(query_set(an, query, &inner, out, facts));
    LB_TRY(query_tail(an, query, &inner, *out));
    an->depth--;
    return LB_OK;
}
