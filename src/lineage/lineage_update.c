/* UPDATE and MERGE: targets are full names, so that a column may be source and target at once. */
#include <assert.h>

#include "lineage/lineage_private.h"

#define UPDATE_TESTED 10 /* assignments up to which Impala tests whether a row would change */

/* ---- assignments */

/* The column of an assignment below its table: `c`, `t.c` and `db.t.c` are `c`, `c.f` is `c.f`. */
static lb_status update_column(lb_analysis *an, const lb_relation *target, const lb_sql_names *path, lb_str *out)
{
    uint32_t prefixes[3], skip = 0;
    lb_str *parts;

    LB_TRY(lb_scope_parts(an, path, &parts));
    uint32_t n = lb_scope_prefixes(target, parts, path->count, prefixes);
    for (uint32_t i = 0; i < n; i++)
        if (prefixes[i] < path->count && prefixes[i] > skip)
            skip = prefixes[i];
    if (skip != 0 && path->count > skip && lb_catalog_column_find(target->use->table, parts[0]) != LB_NONE &&
        lb_catalog_column_find(target->use->table, parts[skip]) == LB_NONE)
        skip = 0; /* a struct column that is named like its table */
    *out = (lb_str){ "", 0 };
    for (uint32_t i = skip; i < path->count; i++)
        LB_TRY(lb_analysis_join(an, *out, parts[i], out));
    if (!target->use->open && lb_catalog_column_find(target->use->table, parts[skip]) == LB_NONE)
        LB_TRY(lb_analysis_mark(an, LB_LINEAGE_UNKNOWN_COLUMN, path->at[0].begin, path->at[path->count - 1].end));
    return LB_OK;
}

lb_status lb_statement_assign(lb_analysis *an, lb_scope *scope, const lb_sql_assign *assign, lb_flow_slot *slots,
                              uint32_t n)
{
    const lb_sql_assign *last = assign;
    const lb_sql_expr *value;

    for (uint32_t i = 1; i < n; i++)
        last = last->next;
    value = lb_expr_bare(last->value);
    if (n == 1)
        return lb_expr_slot(an, scope, last->value, slots);
    if (value->kind == LB_SQL_TUPLE && value->count == n) {
        value = value->first;
        for (uint32_t i = 0; i < n; i++, value = value->next)
            LB_TRY(lb_expr_slot(an, scope, value, &slots[i]));
        return LB_OK;
    }
    if (value->kind == LB_SQL_SUBQUERY) {
        const lb_query_place place = {
            .role = LB_QUERY_SCALAR, .outer = scope, .sees_outer = true, .env = scope->env, .no_labels = true
        };
        lb_columns *columns;
        LB_TRY(lb_query_columns(an, LB_SQL_AS(subquery, value)->query, &place, &columns, NULL));
        for (uint32_t i = 0; i < n; i++)
            slots[i] = i < columns->n ? columns->slots[i] : (lb_flow_slot){ 0 };
        return LB_OK;
    }
    LB_TRY(lb_expr_slot(an, scope, value, &slots[0])); /* one value that holds them all, as ROW(…) */
    for (uint32_t i = 1; i < n; i++)
        slots[i] = slots[0];
    return LB_OK;
}

/* One column that is assigned, and what to. */
typedef struct update_set {
    lb_str column;
    lb_flow_slot slot;
} update_set;

/* All assignments of a SET list; `sets` has room for each. */
static lb_status update_sets(lb_analysis *an, lb_scope *scope, const lb_relation *target, const lb_sql_assign *first,
                             update_set *sets)
{
    lb_flow_slot *slots;

    while (first != NULL) {
        uint32_t n = 1;
        const lb_sql_assign *last = first;
        for (; last->value == NULL && last->next != NULL; last = last->next)
            n++;
        if (last->value == NULL)
            return LB_OK;
        LB_TRY(lb_analysis_alloc(an, n, sizeof *slots, &slots));
        LB_TRY(lb_statement_assign(an, scope, first, slots, n));
        for (uint32_t i = 0; i < n; i++, first = first->next, sets++) {
            LB_TRY(update_column(an, target, &first->column, &sets->column));
            sets->slot = slots[i];
        }
    }
    return LB_OK;
}

static uint32_t update_count(const lb_sql_assign *first)
{
    uint32_t n = 0;

    for (; first != NULL; first = first->next)
        n++;
    return n;
}

/* ---- UPDATE */

/* Does an expression call a function of a database, hence a user's? */
static bool update_calls_user(const lb_sql_expr *e)
{
    if (e->kind == LB_SQL_CALL && LB_SQL_AS(call, e)->name.count > 1)
        return true;
    for (const lb_sql_expr *child = e->first; child != NULL; child = child->next)
        if (update_calls_user(child))
            return true;
    return false;
}

static bool update_is_tested(const lb_sql_update *update, uint32_t n)
{
    for (const lb_sql_assign *a = update->sets; a != NULL; a = a->next)
        if (a->value != NULL && update_calls_user(a->value))
            return false;
    return n <= UPDATE_TESTED;
}

/* The relation that is updated: one of FROM by its alias or table, or else one beside them. */
static lb_status update_target(lb_analysis *an, lb_scope *scope, const lb_sql_update *update, lb_relation **out)
{
    uint32_t prefixes[3];
    lb_table_use *use;
    lb_str *parts;

    *out = NULL;
    LB_TRY(lb_scope_parts(an, &update->table, &parts));
    for (uint32_t i = 0; i < scope->n_relations && !lb_sql_has(&update->alias); i++) {
        lb_relation *r = scope->relations[i];
        uint32_t n = lb_scope_prefixes(r, parts, update->table.count, prefixes);
        for (uint32_t k = 0; k < n && *out == NULL; k++)
            if (prefixes[k] == update->table.count)
                *out = r;
    }
    if (*out != NULL)
        return LB_OK;
    LB_TRY(lb_analysis_table(an, &update->table, true, &use));
    for (uint32_t i = 0; i < scope->n_relations && !lb_sql_has(&update->alias); i++) {
        lb_relation *r = scope->relations[i];
        assert(r != NULL);
        if (r->use == use && r->kind != LB_RELATION_COLLECTION) {
            *out = r;
            return LB_OK;
        }
    }
    return lb_from_table(an, scope, use, &update->table, &update->alias, out);
}

static lb_status update_restrict(lb_analysis *an, const lb_relation *target, const update_set *sets, uint32_t n)
{
    lb_flow_slot slot;

    for (uint32_t i = 0; i < n; i++) {
        LB_TRY(lb_flow_path_slot(an, target->use, sets[i].column, NULL, &slot));
        LB_TRY(lb_slot_restrict(an, &slot, LB_LINEAGE_CHANGE, false));
        LB_TRY(lb_slot_restrict(an, &sets[i].slot, LB_LINEAGE_CHANGE, false));
    }
    return LB_OK;
}

lb_status lb_statement_update(lb_analysis *an, const lb_sql_update *update, lb_record *out)
{
    uint32_t n = update_count(update->sets);
    lb_relation *target;
    update_set *sets;
    lb_scope *scope;
    lb_str label;

    out->operation = "UPDATE";
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *scope, &scope));
    LB_TRY(lb_from_env(an, update->with, NULL, NULL, false, &scope->env));
    LB_TRY(lb_from_list(an, scope, update->from));
    LB_TRY(update_target(an, scope, update, &target));
    if (target->use == NULL)
        return lb_fail(an->err, LB_USAGE, LB_AT(update->table.at[0].begin), "%.*s is no table that can be updated",
                       (int)LB_MIN(update->table.at[0].text.size, 200), update->table.at[0].text.at);
    lb_statement_writes(out, target->use);
    LB_TRY(lb_analysis_alloc(an, n, sizeof *sets, &sets));
    LB_TRY(update_sets(an, scope, target, update->sets, sets));
    for (uint32_t i = 0; i < n; i++) {
        LB_TRY(lb_analysis_join(an, target->use->table->full_name, sets[i].column, &label));
        LB_TRY(lb_statement_target(an, out, label, true, &sets[i].slot));
    }
    if (update->where != NULL)
        LB_TRY(lb_expr_condition(an, scope, update->where, LB_LINEAGE_WHERE));
    return update_is_tested(update, n) ? update_restrict(an, target, sets, n) : LB_OK;
}

/* ---- MERGE */

/* The columns that branches assign, in the order of their first mention. */
typedef struct merge_columns {
    const lb_relation *target;
    lb_text_map map;
    lb_str *names;
    lb_collector **values;
    uint32_t n, cap_names, cap_values;
} merge_columns;

static lb_status merge_add(lb_analysis *an, merge_columns *m, lb_str name, const lb_flow_slot *slot)
{
    bool there;
    uint32_t *place = lb_text_map_put(&m->map, an->arena, NULL, name, &there);

    if (place == NULL)
        return lb_analysis_nomem(an);
    if (!there) {
        LB_TRY(lb_analysis_room(an, &m->names, m->n, &m->cap_names, sizeof *m->names));
        LB_TRY(lb_analysis_room(an, &m->values, m->n, &m->cap_values, sizeof(lb_collector *)));
        LB_TRY(lb_flow_collector(an, &m->values[m->n]));
        m->names[m->n] = name;
        *place = m->n++;
    }
    const lb_sink sink = { .to = m->values[*place] };
    return lb_flow_emit(an, &sink, slot);
}

/* The i-th column of the target that can be written; NULL: there are not so many. */
static const lb_catalog_column *merge_column_at(const lb_catalog_table *table, uint32_t *at)
{
    while (*at < table->n_columns && table->columns[*at].hidden)
        (*at)++;
    return *at < table->n_columns ? &table->columns[(*at)++] : NULL;
}

/* UPDATE SET *, INSERT *: the source's columns by position; by name where the target's are not known. */
static lb_status merge_star(lb_analysis *an, merge_columns *m, const lb_scope *scope)
{
    const lb_catalog_table *table = m->target->use->table;
    uint32_t at = 0;
    lb_columns *source;

    LB_TRY(lb_columns_new(an, &source));
    for (uint32_t i = 0; i < scope->n_relations; i++)
        if (scope->relations[i] != m->target && !scope->relations[i]->invisible)
            LB_TRY(lb_star_relation(an, scope->relations[i], true, source));
    if (m->target->use->open) {
        for (uint32_t i = 0; i < source->n; i++)
            LB_TRY(merge_add(an, m, source->names[i], &source->slots[i]));
        return LB_OK;
    }
    for (uint32_t i = 0; i < source->n || i > source->open_at; i++) {
        const lb_catalog_column *column = merge_column_at(table, &at);
        if (column == NULL)
            break;
        LB_TRY(merge_add(an, m, column->name, &source->slots[LB_MIN(i, source->open_at)]));
    }
    return LB_OK;
}

static lb_status merge_insert(lb_analysis *an, merge_columns *m, lb_scope *scope, const lb_sql_when *when)
{
    const lb_sql_expr *value = when->values;
    lb_flow_slot slot;
    uint32_t at = 0;
    lb_str name;

    for (uint32_t i = 0; value != NULL; value = value->next, i++) {
        const lb_catalog_column *column = when->has_columns ? NULL : merge_column_at(m->target->use->table, &at);
        if (when->has_columns && i < when->columns.count) {
            lb_sql_names path = { &when->columns.at[i], 1 };
            LB_TRY(update_column(an, m->target, &path, &name));
        } else if (column != NULL) {
            name = column->name;
        } else if (m->target->use->open && value->kind == LB_SQL_COLUMN) { /* named as its source, for want of better */
            const lb_sql_names *path = &LB_SQL_AS(column, value)->path;
            LB_TRY(lb_analysis_lower(an, path->at[path->count - 1].text, &name));
        } else {
            break;
        }
        LB_TRY(lb_expr_slot(an, scope, value, &slot));
        LB_TRY(merge_add(an, m, name, &slot));
    }
    return LB_OK;
}

static lb_status merge_update(lb_analysis *an, merge_columns *m, lb_scope *scope, const lb_sql_when *when)
{
    uint32_t n = update_count(when->sets);
    update_set *sets;

    LB_TRY(lb_analysis_alloc(an, n, sizeof *sets, &sets));
    LB_TRY(update_sets(an, scope, m->target, when->sets, sets));
    for (uint32_t i = 0; i < n; i++)
        LB_TRY(merge_add(an, m, sets[i].column, &sets[i].slot));
    return LB_OK;
}

static lb_status merge_branches(lb_analysis *an, merge_columns *m, lb_scope *scope, const lb_sql_when *when,
                                bool *writes)
{
    for (; when != NULL; when = when->next) {
        if (when->condition != NULL)
            LB_TRY(lb_expr_condition(an, scope, when->condition, LB_LINEAGE_WHEN));
        if (when->action != LB_SQL_DO_UPDATE && when->action != LB_SQL_DO_INSERT)
            continue;
        *writes = true;
        if (when->star)
            LB_TRY(merge_star(an, m, scope));
        else if (when->action == LB_SQL_DO_UPDATE)
            LB_TRY(merge_update(an, m, scope, when));
        else
            LB_TRY(merge_insert(an, m, scope, when));
    }
    return LB_OK;
}

static lb_status merge_target(lb_analysis *an, const merge_columns *m, uint32_t i, lb_record *out)
{
    lb_flow_slot slot;
    lb_str label;

    assert(m->values != NULL && i < m->n);
    LB_TRY(lb_flow_slot_of(an, m->values[i], &slot));
    LB_TRY(lb_analysis_join(an, m->target->use->table->full_name, m->names[i], &label));
    return lb_statement_target(an, out, label, true, &slot);
}

/* Assigned columns in the table's order, then those that are fields or that it does not have. */
static lb_status merge_targets(lb_analysis *an, const merge_columns *m, lb_record *out)
{
    const lb_catalog_table *table = m->target->use->table;

    for (uint32_t i = 0; i < table->n_columns; i++) {
        uint32_t place = lb_text_map_find(&m->map, NULL, table->columns[i].name);
        if (place != LB_NONE)
            LB_TRY(merge_target(an, m, place, out));
    }
    for (uint32_t i = 0; i < m->n; i++)
        if (lb_catalog_column_find(table, m->names[i]) == LB_NONE)
            LB_TRY(merge_target(an, m, i, out));
    return LB_OK;
}

lb_status lb_statement_merge(lb_analysis *an, const lb_sql_merge *merge, lb_record *out)
{
    merge_columns m = { 0 };
    lb_relation *target;
    lb_table_use *use;
    lb_scope *scope;
    bool writes = false;

    out->operation = "MERGE";
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *scope, &scope));
    LB_TRY(lb_from_env(an, merge->with, NULL, NULL, false, &scope->env));
    LB_TRY(lb_analysis_table(an, &merge->table, true, &use));
    LB_TRY(lb_from_table(an, scope, use, &merge->table, &merge->alias, &target));
    m.target = target;
    LB_TRY(lb_from_list(an, scope, merge->source));
    if (merge->on != NULL)
        LB_TRY(lb_expr_condition(an, scope, merge->on, LB_LINEAGE_JOIN));
    LB_TRY(merge_branches(an, &m, scope, merge->whens, &writes));
    out->leaves_none = !writes;
    lb_statement_writes(out, use);
    return merge_targets(an, &m, out);
}
