/* What statements make, change and drop → a catalog. */
#include "lineage/lineage_private.h"

/* The catalog that is changed, and the statement's surroundings. */
typedef struct ddl_change {
    lb_catalog *catalog;
    const lb_catalog *below; /* may be NULL */
    lb_arena *arena;         /* the catalog's */
    lb_str text, db;
    lb_sql_dialect dialect;
    lb_error *err;
} ddl_change;

static bool ddl_has_word(lb_str text, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.size; i++)
        if (lb_str_is_nocase((lb_str){ text.at + i, n }, word))
            return true;
    return false;
}

lb_str lb_ddl_table_type(const lb_sql_create_table *table)
{
    static const struct {
        const char *word, *type;
    } types[] = {
        { "kudu", "kudu" }, { "iceberg", "iceberg" }, { "hbase", "hbase" }, { "jdbc", "external-datasource" }
    };

    for (size_t i = 0; table->stored_as.at != NULL && i < LB_COUNT_OF(types); i++)
        if (ddl_has_word(table->stored_as, types[i].word))
            return lb_str_of(types[i].type);
    for (const lb_sql_property *p = table->properties; p != NULL; p = p->next)
        if (lb_str_is_nocase(p->key, "table_type") && lb_str_is_nocase(p->value, "iceberg"))
            return LB_STR("iceberg");
    return LB_STR("hive");
}

static lb_status ddl_lower(const ddl_change *d, lb_str text, lb_str *out)
{
    *out = lb_lower_copy(d->arena, text, false);
    return out->at == NULL ? lb_arena_fail(d->arena, d->err) : LB_OK;
}

static lb_status ddl_copy(const ddl_change *d, lb_str text, lb_str *out)
{
    const char *copy = lb_arena_copy(d->arena, text);

    *out = (lb_str){ copy, text.size };
    return copy == NULL ? lb_arena_fail(d->arena, d->err) : LB_OK;
}

/* Database and name of a path; what stands before them goes with the database. */
static lb_status ddl_name(const ddl_change *d, const lb_sql_names *path, lb_str *db, lb_str *name)
{
    uint32_t n = path->count;

    LB_TRY(ddl_lower(d, path->at[n - 1].text, name));
    if (n == 1)
        return ddl_lower(d, d->db, db);
    LB_TRY(ddl_lower(d, path->at[0].text, db));
    for (uint32_t i = 1; i + 1 < n; i++) {
        lb_str part;
        LB_TRY(ddl_lower(d, path->at[i].text, &part));
        char *joined = lb_arena_alloc(d->arena, db->size + part.size + 2, 1);
        if (joined == NULL)
            return lb_arena_fail(d->arena, d->err);
        memcpy(joined, db->at, db->size);
        joined[db->size] = '.';
        memcpy(joined + db->size + 1, part.at, part.size);
        *db = (lb_str){ joined, db->size + 1 + part.size };
    }
    return LB_OK;
}

static const lb_catalog_table *ddl_find(const ddl_change *d, lb_str db, lb_str name)
{
    const lb_catalog_table *table = lb_catalog_entry(d->catalog, db, name);

    if (table == NULL)
        table = lb_catalog_find(d->below, db, name);
    return table != NULL && table->dropped ? NULL : table;
}

/* ---- types */

static lb_status ddl_type(const ddl_change *d, const lb_sql_type *type, int depth, const lb_nested_type **out)
{
    lb_nested_type *made;
    lb_nested_field *fields;
    uint32_t n = 0;

    *out = &lb_nested_scalar;
    if (type == NULL || type->kind == LB_SQL_TYPE_PLAIN || type->first == NULL || depth == 0)
        return LB_OK;
    made = lb_arena_alloc(d->arena, 1, sizeof *made);
    if (made == NULL)
        return lb_arena_fail(d->arena, d->err);
    *out = made;
    if (type->kind == LB_SQL_TYPE_ARRAY) {
        made->kind = LB_TYPE_ARRAY;
        return ddl_type(d, type->first, depth - 1, &made->item);
    }
    if (type->kind == LB_SQL_TYPE_MAP) {
        made->kind = LB_TYPE_MAP;
        LB_TRY(ddl_type(d, type->first, depth - 1, &made->key));
        return ddl_type(d, type->first->next, depth - 1, &made->item);
    }
    for (const lb_sql_type *field = type->first; field != NULL; field = field->next)
        n++;
    fields = lb_arena_alloc(d->arena, n, sizeof *fields);
    if (fields == NULL)
        return lb_arena_fail(d->arena, d->err);
    made->kind = LB_TYPE_STRUCT;
    made->fields = fields;
    made->n_fields = n;
    for (const lb_sql_type *field = type->first; field != NULL; field = field->next, fields++) {
        LB_TRY(ddl_lower(d, field->field.text, &fields->name));
        LB_TRY(ddl_type(d, field, depth - 1, &fields->type));
    }
    return LB_OK;
}

/* Types that lie in another arena. */
static lb_status ddl_copy_type(const ddl_change *d, const lb_nested_type *type, const lb_nested_type **out)
{
    lb_nested_type *made;
    lb_nested_field *fields;

    *out = type == NULL ? NULL : &lb_nested_scalar;
    if (type == NULL || type->kind == LB_TYPE_SCALAR)
        return LB_OK;
    made = lb_arena_dup(d->arena, type, sizeof *type);
    if (made == NULL)
        return lb_arena_fail(d->arena, d->err);
    *out = made;
    LB_TRY(ddl_copy_type(d, type->item, &made->item));
    LB_TRY(ddl_copy_type(d, type->key, &made->key));
    if (type->n_fields == 0)
        return LB_OK;
    fields = lb_arena_alloc(d->arena, type->n_fields, sizeof *fields);
    if (fields == NULL)
        return lb_arena_fail(d->arena, d->err);
    made->fields = fields;
    for (uint32_t i = 0; i < type->n_fields; i++) {
        LB_TRY(ddl_copy(d, type->fields[i].name, &fields[i].name));
        LB_TRY(ddl_copy_type(d, type->fields[i].type, &fields[i].type));
    }
    return LB_OK;
}

/* ---- CREATE TABLE */

static lb_status ddl_columns(const ddl_change *d, const lb_sql_column_def *defs, bool partition,
                             lb_catalog_table *table)
{
    for (; defs != NULL; defs = defs->next) {
        lb_catalog_column *column = &table->columns[table->n_columns++];
        LB_TRY(ddl_lower(d, defs->name.text, &column->name));
        LB_TRY(ddl_type(d, defs->type, LB_NESTED_DEPTH, &column->type));
        column->partition = partition;
    }
    return LB_OK;
}

static uint32_t ddl_count(const lb_sql_column_def *defs)
{
    uint32_t n = 0;

    for (; defs != NULL; defs = defs->next)
        n++;
    return n;
}

static lb_status ddl_room(const ddl_change *d, lb_catalog_table *table, uint32_t n)
{
    table->columns = lb_arena_alloc(d->arena, n, sizeof *table->columns);
    return table->columns == NULL ? lb_arena_fail(d->arena, d->err) : LB_OK;
}

/* Names of PARTITIONED BY that stand among the columns already. */
static lb_status ddl_mark_partitions(const ddl_change *d, const lb_sql_column_def *defs, lb_catalog_table *table)
{
    lb_str name;

    for (; defs != NULL; defs = defs->next) {
        LB_TRY(ddl_lower(d, defs->name.text, &name));
        for (uint32_t i = 0; i < table->n_columns; i++)
            if (lb_str_equal(table->columns[i].name, name))
                table->columns[i].partition = true;
    }
    return LB_OK;
}

/* LIKE another table: its columns, whatever it is. */
static lb_status ddl_like(const ddl_change *d, const lb_sql_create_table *from, lb_catalog_table *table)
{
    lb_str db, name;

    LB_TRY(ddl_name(d, &from->like, &db, &name));
    const lb_catalog_table *like = ddl_find(d, db, name);
    if (like == NULL)
        return LB_OK;
    if (from->stored_as.at == NULL && like->view_sql.at == NULL)
        LB_TRY(ddl_copy(d, like->type, &table->type));
    LB_TRY(ddl_room(d, table, like->n_columns));
    table->n_columns = like->n_columns;
    for (uint32_t i = 0; i < like->n_columns; i++) {
        table->columns[i] = like->columns[i];
        LB_TRY(ddl_copy(d, like->columns[i].name, &table->columns[i].name));
        LB_TRY(ddl_copy_type(d, like->columns[i].type, &table->columns[i].type));
    }
    return LB_OK;
}

/* AS SELECT: the columns of the query, whose names are those of the table already. */
static lb_status ddl_as_select(const ddl_change *d, const lb_columns *columns, lb_catalog_table *table)
{
    if (columns->open != NULL)
        return LB_OK; /* what they are is not known */
    LB_TRY(ddl_room(d, table, columns->n));
    for (uint32_t i = 0; i < columns->n; i++) {
        bool twice = false;
        lb_str name;
        LB_TRY(ddl_lower(d, columns->names[i], &name));
        for (uint32_t k = 0; columns->n <= 64 && k < table->n_columns; k++)
            twice |= lb_str_equal(table->columns[k].name, name);
        if (twice)
            continue;
        lb_catalog_column *column = &table->columns[table->n_columns++];
        column->name = name;
        LB_TRY(ddl_copy_type(d, columns->slots[i].type, &column->type));
    }
    return LB_OK;
}

static lb_status ddl_create_table(const ddl_change *d, const lb_sql_create_table *from, const lb_columns *columns)
{
    lb_catalog_table *table = lb_arena_alloc(d->arena, 1, sizeof *table);
    bool hive;

    if (table == NULL)
        return lb_arena_fail(d->arena, d->err);
    table->create_time = -1;
    table->type = lb_ddl_table_type(from);
    LB_TRY(ddl_name(d, &from->table, &table->db, &table->name));
    if (from->if_not_exists && ddl_find(d, table->db, table->name) != NULL)
        return LB_OK;
    hive = lb_str_is(table->type, "hive");
    if (from->location != NULL) {
        table->location = lb_sql_string_value(d->text, d->dialect, from->location, d->arena);
        if (table->location.at == NULL)
            return lb_arena_fail(d->arena, d->err);
        LB_TRY(ddl_copy(d, table->location, &table->location));
    }
    if (from->query != NULL) {
        if (columns != NULL)
            LB_TRY(ddl_as_select(d, columns, table));
        if (hive)
            LB_TRY(ddl_mark_partitions(d, from->partitioned_by, table));
    } else if (from->like.count != 0) {
        LB_TRY(ddl_like(d, from, table));
    } else {
        bool typed = from->partitioned_by != NULL && from->partitioned_by->type != NULL;
        LB_TRY(ddl_room(d, table, ddl_count(from->columns) + ddl_count(from->partitioned_by)));
        LB_TRY(ddl_columns(d, from->columns, false, table));
        if (typed)
            LB_TRY(ddl_columns(d, from->partitioned_by, hive, table));
        else if (hive)
            LB_TRY(ddl_mark_partitions(d, from->partitioned_by, table));
    }
    return lb_catalog_place(d->catalog, table, d->err);
}

/* SELECT … INTO t. */
static lb_status ddl_select_into(const ddl_change *d, const lb_sql_names *path, const lb_columns *columns)
{
    lb_catalog_table *table = lb_arena_alloc(d->arena, 1, sizeof *table);

    if (table == NULL)
        return lb_arena_fail(d->arena, d->err);
    table->create_time = -1;
    table->type = LB_STR("hive");
    LB_TRY(ddl_name(d, path, &table->db, &table->name));
    if (columns != NULL)
        LB_TRY(ddl_as_select(d, columns, table));
    return lb_catalog_place(d->catalog, table, d->err);
}

/* ---- CREATE VIEW, ALTER VIEW, DROP */

static lb_status ddl_view(const ddl_change *d, const lb_sql_create_view *from)
{
    lb_catalog_table *view = lb_arena_alloc(d->arena, 1, sizeof *view);

    if (view == NULL)
        return lb_arena_fail(d->arena, d->err);
    if (from->query == NULL)
        return LB_OK;
    view->create_time = -1;
    view->type = LB_STR("view");
    LB_TRY(ddl_name(d, &from->view, &view->db, &view->name));
    const lb_catalog_table *old = ddl_find(d, view->db, view->name);
    if (from->if_not_exists && old != NULL)
        return LB_OK;
    if (old != NULL)
        view->create_time = old->create_time;
    LB_TRY(ddl_copy(d, lb_sql_text(d->text, from->query->begin, from->query->end), &view->view_sql));
    LB_TRY(ddl_lower(d, d->db, &view->view_db));
    LB_TRY(ddl_room(d, view, ddl_count(from->columns)));
    LB_TRY(ddl_columns(d, from->columns, false, view));
    return lb_catalog_place(d->catalog, view, d->err);
}

static lb_status ddl_drop(const ddl_change *d, const lb_sql_statement *statement)
{
    lb_str db, name;

    if (statement->path.count == 0 ||
        !(ddl_has_word(statement->words, "table") || ddl_has_word(statement->words, "view")))
        return LB_OK;
    LB_TRY(ddl_name(d, &statement->path, &db, &name));
    if (ddl_find(d, db, name) == NULL)
        return LB_OK;
    lb_catalog_table *table = lb_arena_alloc(d->arena, 1, sizeof *table);
    if (table == NULL)
        return lb_arena_fail(d->arena, d->err);
    *table =
        (lb_catalog_table){ .db = db, .name = name, .type = LB_STR("unknown"), .create_time = -1, .dropped = true };
    return lb_catalog_place(d->catalog, table, d->err);
}

lb_status lb_ddl_apply(lb_catalog *catalog, const lb_catalog *below, lb_str text, lb_sql_dialect dialect,
                       lb_str default_db, const lb_sql_statement *statement, const lb_columns *columns, lb_error *err)
{
    const ddl_change d = { .catalog = catalog,
                           .below = below,
                           .arena = lb_catalog_arena(catalog),
                           .text = text,
                           .db = default_db,
                           .dialect = dialect,
                           .err = err };

    switch (statement->kind) {
    case LB_SQL_CREATE_TABLE:
        return ddl_create_table(&d, statement->table, columns);
    case LB_SQL_CREATE_VIEW:
    case LB_SQL_ALTER_VIEW:
        return ddl_view(&d, statement->view);
    case LB_SQL_DROP:
        return ddl_drop(&d, statement);
    case LB_SQL_SELECT:
        return statement->query->count == 1 && statement->query->first->into.count != 0
                   ? ddl_select_into(&d, &statement->query->first->into, columns)
                   : LB_OK;
    default:
        return LB_OK;
    }
}
