/* Statements → targets, and what each is made of (lineage.md 3.9). UPDATE and MERGE stand in lineage_update.c. */
#include "lineage/lineage_private.h"

lb_status lb_statement_target(lb_analysis *an, lb_record *out, lb_str label, bool has_metadata,
                              const lb_flow_slot *slot)
{
    LB_TRY(lb_analysis_room(an, &out->targets, out->n_targets, &out->cap_targets, sizeof *out->targets));
    out->targets[out->n_targets++] = (lb_target){ .label = label, .has_metadata = has_metadata, .slot = *slot };
    return LB_OK;
}

void lb_statement_writes(lb_record *out, const lb_table_use *use)
{
    out->has_target_table = true;
    out->target_name = use->table->full_name;
    out->target_type = use->table->type;
    out->target_create_time = use->table->create_time;
}

/* Write a table that the statement makes; one that is there already wins. */
static lb_status statement_makes(lb_analysis *an, lb_record *out, const lb_sql_names *path, lb_str type)
{
    lb_str db, name;

    LB_TRY(lb_analysis_table_name(an, path, &db, &name));
    const lb_catalog_table *table = lb_analysis_find(an, db, name);
    out->has_target_table = true;
    out->target_type = table != NULL ? table->type : type;
    out->target_create_time = table != NULL ? table->create_time : -1;
    return lb_analysis_join(an, db, name, &out->target_name);
}

/* ---- SELECT */

/* All columns of a query as targets. */
static lb_status statement_columns(lb_analysis *an, lb_record *out, const lb_columns *columns, bool has_metadata)
{
    for (uint32_t i = 0; i < columns->n; i++)
        LB_TRY(lb_statement_target(an, out, columns->names[i], has_metadata, &columns->slots[i]));
    return LB_OK;
}

static lb_status statement_query(lb_analysis *an, const lb_sql_query *query, lb_env *env, lb_columns **out)
{
    const lb_query_place place = { .role = LB_QUERY_TOP, .env = env };
    return lb_query_columns(an, query, &place, out, NULL);
}

static lb_status statement_select(lb_analysis *an, const lb_sql_query *query, lb_record *out)
{
    const lb_sql_names *into = query->count == 1 ? &query->first->into : NULL;

    if (into != NULL && into->count != 0) { /* SELECT … INTO t makes a table */
        out->operation = "CREATETABLE_AS_SELECT";
        an->source.hive_labels = true;
        LB_TRY(statement_makes(an, out, into, LB_STR("hive")));
        LB_TRY(statement_query(an, query, NULL, &out->columns));
        return statement_columns(an, out, out->columns, true);
    }
    out->operation = lb_query_is_select(an, query) ? "SELECT" : "UNKNOWN";
    LB_TRY(statement_query(an, query, NULL, &out->columns));
    return statement_columns(an, out, out->columns, false);
}

/* ---- CREATE TABLE */

/* The location written, less a slash at its end, or that below the warehouse. */
static lb_status statement_location(lb_analysis *an, const lb_sql_create_table *table, lb_record *out)
{
    lb_str warehouse = an->options->warehouse, db, name;
    lb_buf *text = an->scratch;

    out->has_location = true;
    if (table->location != NULL) {
        out->location = lb_sql_string_value(an->source.text, an->options->dialect, table->location, an->arena);
        if (out->location.at == NULL)
            return lb_analysis_nomem(an);
        while (out->location.size > 1 && out->location.at[out->location.size - 1] == '/')
            out->location.size--;
        return LB_OK;
    }
    LB_TRY(lb_analysis_table_name(an, &table->table, &db, &name));
    if (warehouse.size == 0)
        warehouse = LB_STR("/test-warehouse");
    while (warehouse.size > 0 && warehouse.at[warehouse.size - 1] == '/')
        warehouse.size--;
    text->size = 0;
    LB_TRY(lb_buf_append(text, warehouse.at, warehouse.size, an->err));
    LB_TRY(lb_buf_append_str(text, "/", an->err));
    if (!lb_str_is(db, "default")) {
        LB_TRY(lb_buf_append(text, db.at, db.size, an->err));
        LB_TRY(lb_buf_append_str(text, ".db/", an->err));
    }
    LB_TRY(lb_buf_append(text, name.at, name.size, an->err));
    const char *copy = lb_arena_dup(an->arena, text->data, text->size);
    out->location = (lb_str){ copy, text->size };
    return copy == NULL ? lb_analysis_nomem(an) : LB_OK;
}

/* The names of a list of definitions. */
static lb_status statement_names(lb_analysis *an, const lb_sql_column_def *defs, lb_sql_names *out)
{
    *out = (lb_sql_names){ 0 };
    for (const lb_sql_column_def *def = defs; def != NULL; def = def->next)
        out->count++;
    LB_TRY(lb_analysis_alloc(an, out->count, sizeof *out->at, &out->at));
    for (uint32_t i = 0; defs != NULL; defs = defs->next)
        out->at[i++] = defs->name;
    return LB_OK;
}

/* Columns named by PARTITIONED BY: the last ones of the query, and the first targets of a hive table. */
static uint32_t statement_partitioned(const lb_sql_create_table *table, lb_str type, uint32_t n_columns)
{
    uint32_t n = 0;

    for (const lb_sql_column_def *def = table->partitioned_by; def != NULL; def = def->next)
        n++;
    return lb_str_is(type, "hive") && n <= n_columns ? n : 0;
}

static lb_status statement_ctas(lb_analysis *an, const lb_sql_create_table *table, lb_record *out)
{
    lb_sql_names names;
    lb_columns *columns;

    out->operation = "CREATETABLE_AS_SELECT";
    an->source.hive_labels = true;
    LB_TRY(statement_makes(an, out, &table->table, lb_ddl_table_type(table)));
    LB_TRY(statement_query(an, table->query, NULL, &columns));
    LB_TRY(statement_names(an, table->columns, &names));
    LB_TRY(lb_columns_rename(an, &columns, &names));
    out->columns = columns;
    uint32_t rest = columns->n - statement_partitioned(table, out->target_type, columns->n);
    for (uint32_t i = rest; i < columns->n; i++)
        LB_TRY(lb_statement_target(an, out, columns->names[i], true, &columns->slots[i]));
    for (uint32_t i = 0; i < rest; i++)
        LB_TRY(lb_statement_target(an, out, columns->names[i], true, &columns->slots[i]));
    return LB_OK;
}

static lb_status statement_create_table(lb_analysis *an, const lb_sql_create_table *table, lb_record *out)
{
    if (table->external)
        LB_TRY(statement_location(an, table, out));
    if (table->query != NULL)
        return statement_ctas(an, table, out);
    out->operation = "CREATETABLE";
    out->leaves_none = table->like.count != 0;
    return statement_makes(an, out, &table->table, lb_ddl_table_type(table));
}

/* ---- CREATE VIEW, ALTER VIEW */

static lb_status statement_view(lb_analysis *an, const lb_sql_create_view *view, bool alters, lb_record *out)
{
    lb_sql_names names;

    out->operation = alters ? "ALTERVIEW_AS" : "CREATEVIEW";
    out->leaves_none = view->query == NULL;
    if (out->leaves_none)
        return LB_OK;
    an->view_statement = true;
    an->folds = false;
    an->source.hive_labels = true;
    LB_TRY(statement_makes(an, out, &view->view, LB_STR("view")));
    LB_TRY(statement_query(an, view->query, NULL, &out->columns));
    LB_TRY(statement_names(an, view->columns, &names));
    LB_TRY(lb_columns_rename(an, &out->columns, &names));
    return statement_columns(an, out, out->columns, true);
}

/* ---- INSERT */

/* What an INSERT puts where. */
typedef struct statement_insert {
    lb_table_use *use;
    lb_str *names; /* the columns that are filled, in the order of the query's columns */
    uint32_t n_names, cap_names;
    lb_flow_slot *slots;
    bool *filled; /* by column of the table */
    lb_flow_slot *values;
} statement_insert;

static lb_status insert_name(lb_analysis *an, statement_insert *in, lb_str name)
{
    LB_TRY(lb_analysis_room(an, &in->names, in->n_names, &in->cap_names, sizeof *in->names));
    in->names[in->n_names++] = name;
    return LB_OK;
}

/* The columns that a query without a column list fills: all but partition columns, or all where it has as many. */
static lb_status insert_default_names(lb_analysis *an, statement_insert *in, const lb_sql_insert *insert,
                                      const lb_columns *columns)
{
    const lb_catalog_table *table = in->use->table;
    uint32_t shown = 0;

    for (uint32_t i = 0; i < table->n_columns; i++)
        shown += !table->columns[i].hidden;
    bool all = !insert->has_partition && columns != NULL && columns->n == shown;
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (!table->columns[i].hidden && (all || !table->columns[i].partition))
            LB_TRY(insert_name(an, in, table->columns[i].name));
    for (uint32_t i = 0; in->use->open && columns != NULL && i < columns->n; i++)
        LB_TRY(insert_name(an, in, columns->names[i]));
    return LB_OK;
}

static lb_status insert_names(lb_analysis *an, statement_insert *in, const lb_sql_insert *insert,
                              const lb_columns *columns)
{
    lb_str name;

    if (insert->by_name && columns != NULL) {
        for (uint32_t i = 0; i < columns->n; i++)
            LB_TRY(insert_name(an, in, columns->names[i]));
        return LB_OK;
    }
    if (!insert->has_columns)
        LB_TRY(insert_default_names(an, in, insert, columns));
    for (uint32_t i = 0; i < insert->columns.count; i++) {
        LB_TRY(lb_analysis_lower(an, insert->columns.at[i].text, &name));
        LB_TRY(insert_name(an, in, name));
    }
    for (const lb_sql_partition *p = insert->partition; p != NULL; p = p->next) {
        if (p->value != NULL)
            continue;
        LB_TRY(lb_analysis_lower(an, p->column.text, &name));
        LB_TRY(insert_name(an, in, name));
    }
    return LB_OK;
}

/* The slot for the i-th of `n` filled columns; an open star stands for as many as are wanting. */
static lb_flow_slot insert_slot(const lb_columns *columns, uint32_t i, uint32_t n)
{
    const lb_flow_slot none = { 0 };

    if (columns == NULL || columns->n == 0)
        return none;
    uint32_t star = columns->open_at, behind = star < columns->n ? columns->n - star - 1 : 0;
    if (star >= columns->n || i < star)
        return i < columns->n ? columns->slots[i] : none;
    return n > behind && i < n - behind ? columns->slots[star] : columns->slots[columns->n - LB_MIN(behind, n - i)];
}

/* Columns that the table does not have, as far as anybody knows. */
static lb_status insert_stray(lb_analysis *an, const statement_insert *in, const lb_sql_insert *insert, uint32_t i,
                              lb_record *out)
{
    if (!in->use->open) {
        const lb_sql_name *name =
            i < insert->columns.count ? &insert->columns.at[i] : &insert->table.at[insert->table.count - 1];
        LB_TRY(lb_analysis_mark(an, LB_LINEAGE_UNKNOWN_COLUMN, name->begin, name->end));
    }
    return lb_statement_target(an, out, in->names[i], true, &in->slots[i]);
}

/* The targets in the table's order: partition columns first; of kudu only what is filled. */
static lb_status insert_targets(lb_analysis *an, const statement_insert *in, lb_record *out)
{
    const lb_catalog_table *table = in->use->table;
    bool only_filled = lb_str_is(table->type, "kudu");

    for (int partition = 1; partition >= 0; partition--)
        for (uint32_t i = 0; i < table->n_columns; i++) {
            const lb_catalog_column *c = &table->columns[i];
            if (c->hidden || c->partition != (partition != 0) || (only_filled && !in->filled[i]))
                continue;
            LB_TRY(lb_statement_target(an, out, c->name, true, &in->values[i]));
        }
    return LB_OK;
}

/* ON CONFLICT DO UPDATE: more contributors, which may name what was to be inserted as `excluded`. */
static lb_status insert_conflict(lb_analysis *an, statement_insert *in, const lb_sql_insert *insert, lb_env *env)
{
    lb_scope *scope;
    lb_relation *target, *excluded;
    lb_columns *columns;
    lb_str *parts;

    LB_TRY(lb_analysis_alloc(an, 1, sizeof *scope, &scope));
    scope->env = env;
    LB_TRY(lb_from_table(an, scope, in->use, &insert->table, &insert->alias, &target));
    LB_TRY(lb_columns_new(an, &columns));
    for (uint32_t i = 0; i < in->n_names; i++)
        LB_TRY(lb_columns_add(an, columns, in->names[i], &in->slots[i]));
    LB_TRY(lb_analysis_alloc(an, 1, sizeof *excluded, &excluded));
    *excluded = (lb_relation){ .kind = LB_RELATION_DERIVED, .alias = LB_STR("excluded"), .columns = columns };
    LB_TRY(lb_scope_add(an, scope, excluded));
    excluded->invisible = true;
    for (const lb_sql_assign *a = insert->update; a != NULL; a = a->next) {
        lb_flow_slot both[2];
        lb_str name;
        LB_TRY(lb_scope_parts(an, &a->column, &parts));
        name = parts[a->column.count - 1];
        if (a->value == NULL)
            continue;
        LB_TRY(lb_expr_slot(an, scope, a->value, &both[0]));
        uint32_t column = lb_catalog_column_find(in->use->table, name);
        if (column == LB_NONE)
            continue;
        both[1] = in->values[column];
        LB_TRY(lb_flow_unite(an, both, 2, &in->values[column]));
        in->filled[column] = true;
    }
    return insert->update_where == NULL ? LB_OK : lb_expr_condition(an, scope, insert->update_where, LB_LINEAGE_WHERE);
}

static lb_status insert_table(lb_analysis *an, const lb_sql_insert *insert, const lb_columns *columns, lb_env *env,
                              lb_record *out)
{
    statement_insert in = { 0 };
    uint32_t n_strays = 0, *strays;

    LB_TRY(lb_analysis_table(an, &insert->table, true, &in.use));
    lb_statement_writes(out, in.use);
    LB_TRY(insert_names(an, &in, insert, columns));
    LB_TRY(lb_analysis_alloc(an, in.n_names, sizeof *in.slots, &in.slots));
    LB_TRY(lb_analysis_alloc(an, in.n_names, sizeof *strays, &strays));
    LB_TRY(lb_analysis_alloc(an, in.use->table->n_columns, sizeof *in.filled, &in.filled));
    LB_TRY(lb_analysis_alloc(an, in.use->table->n_columns, sizeof *in.values, &in.values));
    for (uint32_t i = 0; i < in.n_names; i++) {
        in.slots[i] = insert_slot(columns, i, in.n_names);
        uint32_t column = lb_catalog_column_find(in.use->table, in.names[i]);
        if (column == LB_NONE) {
            strays[n_strays++] = i;
            continue;
        }
        in.filled[column] = true;
        in.values[column] = in.slots[i];
    }
    if (insert->update != NULL)
        LB_TRY(insert_conflict(an, &in, insert, env));
    LB_TRY(insert_targets(an, &in, out));
    for (uint32_t i = 0; i < n_strays; i++)
        LB_TRY(insert_stray(an, &in, insert, strays[i], out));
    return LB_OK;
}

static lb_status statement_insert_into(lb_analysis *an, const lb_sql_insert *insert, lb_record *out)
{
    static const char *const operations[] = { [LB_SQL_INTO] = "INSERT",
                                              [LB_SQL_OVERWRITE] = "INSERT_OVERWRITE",
                                              [LB_SQL_UPSERT] = "UPSERT",
                                              [LB_SQL_REPLACE] = "INSERT" };
    lb_columns *columns = NULL;
    lb_env *env;

    out->operation = operations[insert->mode];
    LB_TRY(lb_from_env(an, insert->with, NULL, NULL, false, &env));
    if (insert->query != NULL) {
        lb_query_place place = { .role = LB_QUERY_TOP, .env = env };
        place.no_labels = insert->table.count != 0 && !insert->by_name &&
                          (insert->has_columns || insert->query->first->kind == LB_SQL_BLOCK_VALUES);
        LB_TRY(lb_query_columns(an, insert->query, &place, &columns, NULL));
    }
    if (insert->table.count != 0)
        return insert_table(an, insert, columns, env, out);
    return columns == NULL ? LB_OK : statement_columns(an, out, columns, false); /* into a directory */
}

lb_status lb_statement_analyze(lb_analysis *an, const lb_sql_statement *statement, lb_record *out)
{
    *out = (lb_record){ .target_create_time = -1 };
    switch (statement->kind) {
    case LB_SQL_SELECT:
        return statement_select(an, statement->query, out);
    case LB_SQL_INSERT:
        return statement_insert_into(an, statement->insert, out);
    case LB_SQL_UPDATE:
        return lb_statement_update(an, statement->update, out);
    case LB_SQL_MERGE:
        return lb_statement_merge(an, statement->merge, out);
    case LB_SQL_CREATE_TABLE:
        return statement_create_table(an, statement->table, out);
    case LB_SQL_CREATE_VIEW:
        return statement_view(an, statement->view, false, out);
    case LB_SQL_ALTER_VIEW:
        return statement_view(an, statement->view, true, out);
    default:
        out->leaves_none = true;
        return LB_OK;
    }
}
