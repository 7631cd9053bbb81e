/* Do two trees say the same? Long lists are walked by loops, as everywhere. */
#include "sql/sql_print.h"

/* The texts the two trees lend from. */
typedef struct pair {
    lb_str a, b;
} pair;

static bool same_expr(const pair *t, const lb_sql_expr *a, const lb_sql_expr *b);
static bool same_query(const pair *t, const lb_sql_query *a, const lb_sql_query *b);
static bool same_statement(const pair *t, const lb_sql_statement *a, const lb_sql_statement *b);

/* Walk two lists in step by `next`; false where an element differs or one list is longer. */
#define SAME_LIST(type, t, a, b, same_one)                       \
    do {                                                         \
        const type *x = (a), *y = (b);                           \
        for (; x != NULL && y != NULL; x = x->next, y = y->next) \
            if (!same_one((t), x, y))                            \
                return false;                                    \
        return x == NULL && y == NULL;                           \
    } while (0)

/* ---------------------------------------------------------------- names, types */

static bool same_text(lb_str a, lb_str b)
{
    return a.at == NULL || b.at == NULL ? a.at == b.at : lb_str_equal(a, b);
}

static bool same_name(const lb_sql_name *a, const lb_sql_name *b)
{
    return same_text(a->text, b->text) && a->quote == b->quote;
}

static bool same_names(lb_sql_names a, lb_sql_names b)
{
    if (a.count != b.count)
        return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (!same_name(&a.at[i], &b.at[i]))
            return false;
    return true;
}

static bool same_list(const pair *t, const lb_sql_expr *a, const lb_sql_expr *b)
{
    SAME_LIST(lb_sql_expr, t, a, b, same_expr);
}

/* Both absent, or both there and the same. */
static bool same_maybe(const pair *t, const lb_sql_expr *a, const lb_sql_expr *b)
{
    return a == NULL || b == NULL ? a == b : same_expr(t, a, b);
}

static bool same_maybe_query(const pair *t, const lb_sql_query *a, const lb_sql_query *b)
{
    return a == NULL || b == NULL ? a == b : same_query(t, a, b);
}

static bool same_types(const pair *t, const lb_sql_type *a, const lb_sql_type *b);

static bool same_type(const pair *t, const lb_sql_type *a, const lb_sql_type *b)
{
    return a->kind == b->kind && a->form == b->form && same_text(a->name, b->name) &&
           same_list(t, a->params, b->params) && same_text(a->zone, b->zone) && same_name(&a->field, &b->field) &&
           same_text(a->comment, b->comment) && same_types(t, a->first, b->first);
}

static bool same_types(const pair *t, const lb_sql_type *a, const lb_sql_type *b)
{
    SAME_LIST(lb_sql_type, t, a, b, same_type);
}

/* ---------------------------------------------------------------- expressions */

static bool same_item(const pair *t, const lb_sql_item *a, const lb_sql_item *b)
{
    return same_expr(t, a->expr, b->expr) && same_name(&a->alias, &b->alias);
}

static bool same_items(const pair *t, const lb_sql_item *a, const lb_sql_item *b)
{
    SAME_LIST(lb_sql_item, t, a, b, same_item);
}

static bool same_rename(const pair *t, const lb_sql_rename *a, const lb_sql_rename *b)
{
    (void)t;
    return same_name(&a->from, &b->from) && same_name(&a->to, &b->to);
}

static bool same_renames(const pair *t, const lb_sql_rename *a, const lb_sql_rename *b)
{
    SAME_LIST(lb_sql_rename, t, a, b, same_rename);
}

static bool same_star(const pair *t, const lb_sql_star *a, const lb_sql_star *b)
{
    return same_names(a->path, b->path) && same_names(a->except, b->except) && same_items(t, a->replace, b->replace) &&
           same_renames(t, a->renames, b->renames);
}

static bool same_order(const pair *t, const lb_sql_order *a, const lb_sql_order *b)
{
    return a->direction == b->direction && a->nulls == b->nulls && same_expr(t, a->expr, b->expr);
}

static bool same_orders(const pair *t, const lb_sql_order *a, const lb_sql_order *b)
{
    SAME_LIST(lb_sql_order, t, a, b, same_order);
}

static bool same_bound(const pair *t, const lb_sql_bound *a, const lb_sql_bound *b)
{
    return a->kind == b->kind && same_maybe(t, a->offset, b->offset);
}

static bool same_window(const pair *t, const lb_sql_window *a, const lb_sql_window *b)
{
    return same_name(&a->name, &b->name) && same_name(&a->base, &b->base) && a->bare == b->bare &&
           same_list(t, a->partition, b->partition) && same_orders(t, a->order, b->order) && a->frame == b->frame &&
           same_bound(t, &a->start, &b->start) && same_bound(t, &a->stop, &b->stop) && a->exclude == b->exclude;
}

static bool same_windows(const pair *t, const lb_sql_window *a, const lb_sql_window *b)
{
    SAME_LIST(lb_sql_window, t, a, b, same_window);
}

static bool same_call(const pair *t, const lb_sql_call *a, const lb_sql_call *b)
{
    return same_names(a->name, b->name) && same_text(a->unit, b->unit) && same_orders(t, a->order, b->order) &&
           same_orders(t, a->within, b->within) && same_maybe(t, a->filter, b->filter) &&
           same_windows(t, a->over, b->over);
}

static bool same_subquery(const pair *t, const lb_sql_subquery *a, const lb_sql_subquery *b)
{
    return same_maybe_query(t, a->query, b->query);
}

static bool same_cast(const pair *t, const lb_sql_cast *a, const lb_sql_cast *b)
{
    return same_type(t, a->type, b->type) && same_maybe(t, a->format, b->format);
}

/* What a kind has beyond its children. */
static bool same_own(const pair *t, const lb_sql_expr *a, const lb_sql_expr *b)
{
    switch ((lb_sql_kind)a->kind) {
    case LB_SQL_INTEGER:
    case LB_SQL_DECIMAL:
    case LB_SQL_STRING:
    case LB_SQL_PARAM:
    case LB_SQL_CURRENT:
        return lb_str_equal(lb_sql_text(t->a, a->begin, a->end), lb_sql_text(t->b, b->begin, b->end));
    case LB_SQL_COLUMN:
        return same_names(LB_SQL_AS(column, a)->path, LB_SQL_AS(column, b)->path);
    case LB_SQL_STAR:
        return same_star(t, LB_SQL_AS(star, a), LB_SQL_AS(star, b));
    case LB_SQL_FIELD:
    case LB_SQL_COLLATE:
        return same_name(&LB_SQL_AS(field, a)->name, &LB_SQL_AS(field, b)->name);
    case LB_SQL_SUBQUERY:
    case LB_SQL_EXISTS:
    case LB_SQL_IN_QUERY:
    case LB_SQL_QUANTIFIED:
    case LB_SQL_ARRAY_QUERY:
        return same_subquery(t, LB_SQL_AS(subquery, a), LB_SQL_AS(subquery, b));
    case LB_SQL_CAST:
        return same_cast(t, LB_SQL_AS(cast, a), LB_SQL_AS(cast, b));
    case LB_SQL_CALL:
        return same_call(t, LB_SQL_AS(call, a), LB_SQL_AS(call, b));
    case LB_SQL_INTERVAL:
        return same_name(&LB_SQL_AS(interval, a)->unit, &LB_SQL_AS(interval, b)->unit) &&
               same_name(&LB_SQL_AS(interval, a)->to, &LB_SQL_AS(interval, b)->to);
    case LB_SQL_LAMBDA:
        return same_names(LB_SQL_AS(lambda, a)->params, LB_SQL_AS(lambda, b)->params);
    case LB_SQL_NAMED:
        return same_name(&LB_SQL_AS(named, a)->name, &LB_SQL_AS(named, b)->name);
    default:
        return true;
    }
}

static bool same_expr(const pair *t, const lb_sql_expr *a, const lb_sql_expr *b)
{
    return a->kind == b->kind && a->op == b->op && a->joint == b->joint && a->flags == b->flags &&
           a->count == b->count && same_own(t, a, b) && same_list(t, a->first, b->first);
}

/* ---------------------------------------------------------------- FROM */

static bool same_refs(const pair *t, const lb_sql_ref *a, const lb_sql_ref *b);

static bool same_pivot(const pair *t, const lb_sql_pivot *a, const lb_sql_pivot *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->unpivot == b->unpivot && a->include_nulls == b->include_nulls && same_items(t, a->values, b->values) &&
           same_names(a->columns, b->columns) && same_items(t, a->in, b->in) && same_name(&a->alias, &b->alias);
}

static bool same_sample(const pair *t, const lb_sql_ref *a, const lb_sql_ref *b)
{
    return same_text(a->sample, b->sample) && same_maybe(t, a->sample_size, b->sample_size) &&
           same_text(a->sample_unit, b->sample_unit) && same_maybe(t, a->sample_seed, b->sample_seed);
}

static bool same_ref(const pair *t, const lb_sql_ref *a, const lb_sql_ref *b)
{
    return a->kind == b->kind && a->join == b->join && a->natural == b->natural && a->lateral == b->lateral &&
           a->ordinality == b->ordinality && a->only == b->only && same_names(a->path, b->path) &&
           same_maybe_query(t, a->query, b->query) && same_maybe(t, a->call, b->call) &&
           same_refs(t, a->refs, b->refs) && same_name(&a->alias, &b->alias) && same_names(a->columns, b->columns) &&
           same_types(t, a->column_types, b->column_types) && same_maybe(t, a->on, b->on) &&
           same_names(a->using, b->using) && same_text(a->version_of, b->version_of) &&
           same_maybe(t, a->version, b->version) && same_sample(t, a, b) && same_pivot(t, a->pivot, b->pivot);
}

static bool same_refs(const pair *t, const lb_sql_ref *a, const lb_sql_ref *b)
{
    SAME_LIST(lb_sql_ref, t, a, b, same_ref);
}

/* ---------------------------------------------------------------- queries */

static bool same_groups(const pair *t, const lb_sql_group *a, const lb_sql_group *b);

static bool same_group(const pair *t, const lb_sql_group *a, const lb_sql_group *b)
{
    return a->kind == b->kind && same_maybe(t, a->expr, b->expr) && same_groups(t, a->first, b->first);
}

static bool same_groups(const pair *t, const lb_sql_group *a, const lb_sql_group *b)
{
    SAME_LIST(lb_sql_group, t, a, b, same_group);
}

static bool same_tail(const pair *t, const lb_sql_tail *a, const lb_sql_tail *b)
{
    return same_orders(t, a->order, b->order) && a->order_all == b->order_all && a->all_direction == b->all_direction &&
           a->limit_all == b->limit_all && a->percent == b->percent && a->fetch == b->fetch &&
           a->with_ties == b->with_ties && same_maybe(t, a->limit, b->limit) && same_maybe(t, a->offset, b->offset);
}

static bool same_select(const pair *t, const lb_sql_block *a, const lb_sql_block *b)
{
    return a->distinct == b->distinct && a->select_all == b->select_all && a->straight_join == b->straight_join &&
           a->from_first == b->from_first && same_list(t, a->distinct_on, b->distinct_on) &&
           same_items(t, a->items, b->items) && a->item_count == b->item_count && same_names(a->into, b->into) &&
           same_refs(t, a->from, b->from) && same_maybe(t, a->where, b->where) && same_groups(t, a->group, b->group) &&
           a->group_by == b->group_by && same_maybe(t, a->having, b->having) && same_maybe(t, a->qualify, b->qualify) &&
           same_windows(t, a->windows, b->windows) && same_list(t, a->cluster_by, b->cluster_by) &&
           same_list(t, a->distribute_by, b->distribute_by) && same_orders(t, a->sort_by, b->sort_by);
}

static bool same_block(const pair *t, const lb_sql_block *a, const lb_sql_block *b)
{
    return a->kind == b->kind && a->set == b->set && a->all == b->all && a->distinct_word == b->distinct_word &&
           a->by_name == b->by_name && a->minus == b->minus && a->implied == b->implied && same_select(t, a, b) &&
           same_list(t, a->rows, b->rows) && a->row_count == b->row_count &&
           same_maybe_query(t, a->nested, b->nested) && same_tail(t, &a->tail, &b->tail);
}

static bool same_blocks(const pair *t, const lb_sql_block *a, const lb_sql_block *b)
{
    SAME_LIST(lb_sql_block, t, a, b, same_block);
}

static bool same_cte(const pair *t, const lb_sql_cte *a, const lb_sql_cte *b)
{
    return same_name(&a->name, &b->name) && same_names(a->columns, b->columns) && a->materialized == b->materialized &&
           same_maybe_query(t, a->query, b->query) &&
           (a->statement == NULL ? b->statement == NULL
                                 : b->statement != NULL && same_statement(t, a->statement, b->statement));
}

static bool same_ctes(const pair *t, const lb_sql_cte *a, const lb_sql_cte *b)
{
    SAME_LIST(lb_sql_cte, t, a, b, same_cte);
}

static bool same_with(const pair *t, const lb_sql_with *a, const lb_sql_with *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->recursive == b->recursive && same_ctes(t, a->first, b->first);
}

static bool same_query(const pair *t, const lb_sql_query *a, const lb_sql_query *b)
{
    return same_with(t, a->with, b->with) && a->count == b->count && same_blocks(t, a->first, b->first) &&
           same_tail(t, &a->tail, &b->tail);
}

/* ---------------------------------------------------------------- INSERT, UPDATE, DELETE, MERGE */

static bool same_assign(const pair *t, const lb_sql_assign *a, const lb_sql_assign *b)
{
    return same_names(a->column, b->column) && a->group == b->group && same_maybe(t, a->value, b->value);
}

static bool same_assigns(const pair *t, const lb_sql_assign *a, const lb_sql_assign *b)
{
    SAME_LIST(lb_sql_assign, t, a, b, same_assign);
}

static bool same_partition(const pair *t, const lb_sql_partition *a, const lb_sql_partition *b)
{
    return same_name(&a->column, &b->column) && same_maybe(t, a->value, b->value);
}

static bool same_partitions(const pair *t, const lb_sql_partition *a, const lb_sql_partition *b)
{
    SAME_LIST(lb_sql_partition, t, a, b, same_partition);
}

static bool same_insert(const pair *t, const lb_sql_insert *a, const lb_sql_insert *b)
{
    return a->mode == b->mode && a->table_word == b->table_word && a->if_not_exists == b->if_not_exists &&
           same_with(t, a->with, b->with) && same_names(a->table, b->table) &&
           same_maybe(t, a->directory, b->directory) && a->local == b->local &&
           same_text(a->directory_rest, b->directory_rest) && same_name(&a->alias, &b->alias) &&
           a->has_columns == b->has_columns && same_names(a->columns, b->columns) &&
           a->has_partition == b->has_partition && same_partitions(t, a->partition, b->partition) &&
           a->by_name == b->by_name && a->default_values == b->default_values &&
           same_maybe_query(t, a->query, b->query) && a->on_conflict == b->on_conflict &&
           same_names(a->conflict, b->conflict) && same_assigns(t, a->update, b->update) &&
           same_maybe(t, a->update_where, b->update_where) && same_items(t, a->returning, b->returning);
}

static bool same_update(const pair *t, const lb_sql_update *a, const lb_sql_update *b)
{
    return same_with(t, a->with, b->with) && same_names(a->table, b->table) && same_name(&a->alias, &b->alias) &&
           same_assigns(t, a->sets, b->sets) && same_refs(t, a->from, b->from) && a->using == b->using &&
           same_maybe(t, a->where, b->where) && same_items(t, a->returning, b->returning);
}

static bool same_when(const pair *t, const lb_sql_when *a, const lb_sql_when *b)
{
    return a->match == b->match && a->by_target == b->by_target && a->action == b->action && a->star == b->star &&
           a->default_values == b->default_values && same_maybe(t, a->condition, b->condition) &&
           same_assigns(t, a->sets, b->sets) && a->has_columns == b->has_columns &&
           same_names(a->columns, b->columns) && same_list(t, a->values, b->values);
}

static bool same_whens(const pair *t, const lb_sql_when *a, const lb_sql_when *b)
{
    SAME_LIST(lb_sql_when, t, a, b, same_when);
}

static bool same_merge(const pair *t, const lb_sql_merge *a, const lb_sql_merge *b)
{
    return same_with(t, a->with, b->with) && same_names(a->table, b->table) && same_name(&a->alias, &b->alias) &&
           same_refs(t, a->source, b->source) && same_maybe(t, a->on, b->on) && same_whens(t, a->whens, b->whens) &&
           same_items(t, a->returning, b->returning);
}

/* ---------------------------------------------------------------- CREATE */

static bool same_property(const pair *t, const lb_sql_property *a, const lb_sql_property *b)
{
    (void)t;
    return same_text(a->key, b->key) && same_text(a->value, b->value);
}

static bool same_properties(const pair *t, const lb_sql_property *a, const lb_sql_property *b)
{
    SAME_LIST(lb_sql_property, t, a, b, same_property);
}

static bool same_column_def(const pair *t, const lb_sql_column_def *a, const lb_sql_column_def *b)
{
    return same_name(&a->name, &b->name) && same_types(t, a->type, b->type) && a->primary_key == b->primary_key &&
           a->not_null == b->not_null && a->null_word == b->null_word && a->unique == b->unique &&
           same_maybe(t, a->fallback, b->fallback) && same_maybe(t, a->generated, b->generated) &&
           same_text(a->comment, b->comment) && same_text(a->rest, b->rest);
}

static bool same_column_defs(const pair *t, const lb_sql_column_def *a, const lb_sql_column_def *b)
{
    SAME_LIST(lb_sql_column_def, t, a, b, same_column_def);
}

static bool same_table(const pair *t, const lb_sql_create_table *a, const lb_sql_create_table *b)
{
    return a->external == b->external && a->temporary == b->temporary && a->or_replace == b->or_replace &&
           a->if_not_exists == b->if_not_exists && same_names(a->table, b->table) && a->has_columns == b->has_columns &&
           same_column_defs(t, a->columns, b->columns) && same_names(a->primary_key, b->primary_key) &&
           a->key_not_unique == b->key_not_unique && same_text(a->key_rest, b->key_rest) &&
           same_properties(t, a->constraints, b->constraints) && same_names(a->like, b->like) &&
           same_text(a->like_format, b->like_format) && same_maybe(t, a->like_file, b->like_file) &&
           same_column_defs(t, a->partitioned_by, b->partitioned_by) &&
           same_list(t, a->partition_spec, b->partition_spec) && a->spec_word == b->spec_word &&
           same_text(a->partition_rest, b->partition_rest) && same_names(a->sort_by, b->sort_by) &&
           same_text(a->sort_order, b->sort_order) && same_text(a->stored_as, b->stored_as) &&
           a->stored_string == b->stored_string && a->stored == b->stored && same_maybe(t, a->location, b->location) &&
           same_text(a->comment, b->comment) && same_properties(t, a->properties, b->properties) &&
           same_properties(t, a->serde_properties, b->serde_properties) && same_text(a->rest, b->rest) &&
           same_maybe_query(t, a->query, b->query) && same_text(a->query_rest, b->query_rest);
}

static bool same_view(const pair *t, const lb_sql_create_view *a, const lb_sql_create_view *b)
{
    return a->or_replace == b->or_replace && a->if_not_exists == b->if_not_exists && a->temporary == b->temporary &&
           a->materialized == b->materialized && same_names(a->view, b->view) && a->has_columns == b->has_columns &&
           same_column_defs(t, a->columns, b->columns) && same_text(a->comment, b->comment) &&
           same_properties(t, a->properties, b->properties) && same_query(t, a->query, b->query);
}

/* ---------------------------------------------------------------- statements */

static bool same_body(const pair *t, const lb_sql_statement *a, const lb_sql_statement *b)
{
    switch (a->kind) {
    case LB_SQL_SELECT:
        return same_query(t, a->query, b->query);
    case LB_SQL_INSERT:
        return same_insert(t, a->insert, b->insert);
    case LB_SQL_UPDATE:
    case LB_SQL_DELETE:
        return same_update(t, a->update, b->update);
    case LB_SQL_MERGE:
        return same_merge(t, a->merge, b->merge);
    case LB_SQL_CREATE_TABLE:
        return same_table(t, a->table, b->table);
    case LB_SQL_CREATE_VIEW:
    case LB_SQL_ALTER_VIEW:
        return same_view(t, a->view, b->view);
    case LB_SQL_EXPLAIN:
        return same_statement(t, a->explained, b->explained);
    default:
        return true;
    }
}

static bool same_statement(const pair *t, const lb_sql_statement *a, const lb_sql_statement *b)
{
    return a->kind == b->kind && same_text(a->words, b->words) && same_names(a->path, b->path) &&
           a->if_exists == b->if_exists && same_body(t, a, b);
}

bool lb_sql_same(lb_str text_a, const lb_sql_statement *a, lb_str text_b, const lb_sql_statement *b)
{
    const pair texts = { text_a, text_b };
    return same_statement(&texts, a, b);
}
