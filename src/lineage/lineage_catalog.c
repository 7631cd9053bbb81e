#include "lineage/lineage_catalog.h"

#include <stdlib.h>

#include "lineage/lineage_catalog_private.h"
#include "lineage/lineage_nested.h"

#define CATALOG_FEW_COLUMNS 8 /* up to here a look at each beats a hash */

struct lb_catalog {
    lb_arena arena;
    lb_names dbs;        /* database → place in db_tables */
    lb_names *db_tables; /* table → place in tables */
    size_t n_dbs, cap_dbs;
    lb_catalog_table **tables;
    size_t n_tables, cap_tables;
};

lb_status lb_catalog_make(lb_budget *budget, lb_catalog **out, lb_error *err)
{
    lb_catalog *catalog = calloc(1, sizeof *catalog);

    if (catalog == NULL)
        return lb_fail_nomem(err);
    lb_arena_init(&catalog->arena, budget);
    *out = catalog;
    return LB_OK;
}

void lb_catalog_free(lb_catalog *catalog)
{
    if (catalog == NULL)
        return;
    for (size_t i = 0; i < catalog->n_dbs; i++)
        lb_names_free(&catalog->db_tables[i]);
    for (size_t i = 0; i < catalog->n_tables; i++)
        lb_names_free(&catalog->tables[i]->by_name);
    lb_names_free(&catalog->dbs);
    free(catalog->db_tables);
    free(catalog->tables);
    lb_arena_free(&catalog->arena);
    free(catalog);
}

lb_arena *lb_catalog_arena(lb_catalog *catalog)
{
    return &catalog->arena;
}

size_t lb_catalog_count(const lb_catalog *catalog)
{
    return catalog == NULL ? 0 : catalog->n_tables;
}

const lb_catalog_table *lb_catalog_at(const lb_catalog *catalog, size_t index)
{
    return catalog->tables[index];
}

const lb_catalog_table *lb_catalog_entry(const lb_catalog *catalog, lb_str db, lb_str name)
{
    const uint64_t *at = catalog == NULL ? NULL : lb_names_find(&catalog->dbs, db);
    if (at != NULL)
        at = lb_names_find(&catalog->db_tables[*at], name);
    return at == NULL ? NULL : catalog->tables[*at];
}

const lb_catalog_table *lb_catalog_find(const lb_catalog *catalog, lb_str db, lb_str name)
{
    const lb_catalog_table *table = lb_catalog_entry(catalog, db, name);
    return table == NULL || table->dropped ? NULL : table;
}

uint32_t lb_catalog_column_find(const lb_catalog_table *table, lb_str name)
{
    if (table->n_columns > CATALOG_FEW_COLUMNS) {
        const uint64_t *at = lb_names_find(&table->by_name, name);
        return at == NULL ? UINT32_MAX : (uint32_t)*at;
    }
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (lb_str_equal(table->columns[i].name, name))
            return i;
    return UINT32_MAX;
}

/* Room for one more item in a plain array. */
static lb_status catalog_room(void **items, size_t *cap, size_t count, size_t size, lb_error *err)
{
    if (count < *cap)
        return LB_OK;
    size_t more = *cap == 0 ? 16 : *cap * 2, bytes;
    void *bigger = lb_mul_size(more, size, &bytes) ? realloc(*items, bytes) : NULL;
    if (bigger == NULL)
        return lb_fail_nomem(err);
    *items = bigger;
    *cap = more;
    return LB_OK;
}

/* The tables of a database, made where it is new. */
static lb_status catalog_db(lb_catalog *catalog, lb_str db, lb_names **out, lb_error *err)
{
    uint64_t *at = lb_names_find(&catalog->dbs, db);

    if (at == NULL) {
        LB_TRY(catalog_room((void **)&catalog->db_tables, &catalog->cap_dbs, catalog->n_dbs, sizeof *catalog->db_tables,
                            err));
        LB_TRY(lb_names_add(&catalog->dbs, db, catalog->n_dbs, NULL, err));
        catalog->db_tables[catalog->n_dbs++] = (lb_names){ 0 };
        *out = &catalog->db_tables[catalog->n_dbs - 1];
        return LB_OK;
    }
    *out = &catalog->db_tables[*at];
    return LB_OK;
}

static lb_status catalog_index_columns(lb_catalog_table *table, lb_error *err)
{
    bool small = table->n_columns <= CATALOG_FEW_COLUMNS, there = false;

    for (uint32_t i = 0; i < table->n_columns && !there; i++) {
        lb_str name = table->columns[i].name;
        for (uint32_t k = 0; small && k < i; k++)
            there |= lb_str_equal(table->columns[k].name, name);
        if (!small)
            LB_TRY(lb_names_add(&table->by_name, name, i, &there, err));
        if (there)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "table %.*s names the column %.*s twice",
                           (int)LB_MIN(table->full_name.size, 200), table->full_name.at, (int)LB_MIN(name.size, 200),
                           name.at);
    }
    return LB_OK;
}

/* A hive table's partition columns come last in a star, whatever the order they were given in. */
static lb_status catalog_order_columns(lb_catalog *catalog, lb_catalog_table *table, lb_error *err)
{
    uint32_t n = table->n_columns, first = 0, used = 0;

    while (first < n && !table->columns[first].partition)
        first++;
    while (first < n && table->columns[first].partition)
        first++;
    if (first == n)
        return LB_OK;
    lb_catalog_column *columns = lb_arena_alloc(&catalog->arena, n, sizeof *columns);
    if (columns == NULL)
        return lb_arena_fail(&catalog->arena, err);
    for (int partition = 0; partition < 2; partition++)
        for (uint32_t i = 0; i < n; i++)
            if (table->columns[i].partition == (partition != 0))
                columns[used++] = table->columns[i];
    table->columns = columns;
    return LB_OK;
}

lb_status lb_catalog_place(lb_catalog *catalog, lb_catalog_table *table, lb_error *err)
{
    lb_names *tables = NULL;
    lb_status status;

    char *full = lb_arena_alloc(&catalog->arena, table->db.size + table->name.size + 2, 1);
    if (full == NULL)
        return lb_arena_fail(&catalog->arena, err);
    memcpy(full, table->db.at, table->db.size);
    full[table->db.size] = '.';
    memcpy(full + table->db.size + 1, table->name.at, table->name.size);
    table->full_name = (lb_str){ full, table->db.size + 1 + table->name.size };
    table->by_name = (lb_names){ 0 };

    status = catalog_order_columns(catalog, table, err);
    if (status == LB_OK)
        status = catalog_index_columns(table, err);
    if (status == LB_OK)
        status = catalog_db(catalog, table->db, &tables, err);
    if (status == LB_OK)
        status = catalog_room((void **)&catalog->tables, &catalog->cap_tables, catalog->n_tables, sizeof(void *), err);
    uint64_t *at = status == LB_OK ? lb_names_find(tables, table->name) : NULL;
    if (status == LB_OK && at == NULL)
        status = lb_names_add(tables, table->name, catalog->n_tables, NULL, err);
    if (status != LB_OK) {
        lb_names_free(&table->by_name);
        return status;
    }
    if (at != NULL) {
        lb_names_free(&catalog->tables[*at]->by_name);
        catalog->tables[*at] = table;
    } else {
        catalog->tables[catalog->n_tables++] = table;
    }
    return LB_OK;
}

/* ---- tables handed in */

static lb_status catalog_lower(lb_catalog *catalog, const char *text, lb_str *out, lb_error *err)
{
    *out = lb_lower_copy(&catalog->arena, lb_str_of(text), false);
    return out->at == NULL ? lb_arena_fail(&catalog->arena, err) : LB_OK;
}

static lb_status catalog_keep(lb_catalog *catalog, const char *text, lb_str *out, lb_error *err)
{
    *out = (lb_str){ NULL, 0 };
    if (text == NULL)
        return LB_OK;
    const char *copy = lb_arena_copy(&catalog->arena, lb_str_of(text));
    *out = lb_str_of(copy);
    return copy == NULL ? lb_arena_fail(&catalog->arena, err) : LB_OK;
}

static lb_status catalog_columns(lb_catalog *catalog, const lb_catalog_spec *spec, lb_catalog_table *table,
                                 lb_error *err)
{
    if (spec->n_columns >= UINT32_MAX)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "table %.200s has too many columns", spec->name);
    table->n_columns = (uint32_t)spec->n_columns;
    table->columns = lb_arena_alloc(&catalog->arena, spec->n_columns, sizeof *table->columns);
    if (table->columns == NULL && spec->n_columns != 0)
        return lb_arena_fail(&catalog->arena, err);
    for (size_t i = 0; i < spec->n_columns; i++) {
        const lb_catalog_column_spec *from = &spec->columns[i];
        lb_catalog_column *to = &table->columns[i];
        if (from->name == NULL || from->name[0] == '\0')
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "column %zu of table %.200s has no name", i, spec->name);
        LB_TRY(catalog_lower(catalog, from->name, &to->name, err));
        to->partition = from->partition;
        to->hidden = from->hidden;
        if (from->type != NULL && (to->type = lb_nested_parse(&catalog->arena, lb_str_of(from->type))) == NULL)
            return lb_arena_fail(&catalog->arena, err);
    }
    return LB_OK;
}

lb_status lb_catalog_put(lb_catalog *catalog, const lb_catalog_spec *spec, lb_error *err)
{
    if (spec->db == NULL || spec->db[0] == '\0' || spec->name == NULL || spec->name[0] == '\0')
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a table of a catalog needs a database and a name");
    lb_catalog_table *table = lb_arena_alloc(&catalog->arena, 1, sizeof *table);
    if (table == NULL)
        return lb_arena_fail(&catalog->arena, err);
    table->create_time = spec->create_time;
    LB_TRY(catalog_lower(catalog, spec->db, &table->db, err));
    LB_TRY(catalog_lower(catalog, spec->name, &table->name, err));
    LB_TRY(catalog_lower(catalog,
                         spec->type != NULL       ? spec->type
                         : spec->view_sql != NULL ? "view"
                                                  : "hive",
                         &table->type, err));
    LB_TRY(catalog_keep(catalog, spec->location, &table->location, err));
    LB_TRY(catalog_keep(catalog, spec->view_sql, &table->view_sql, err));
    if (spec->view_db != NULL)
        LB_TRY(catalog_lower(catalog, spec->view_db, &table->view_db, err));
    LB_TRY(catalog_columns(catalog, spec, table, err));
    return lb_catalog_place(catalog, table, err);
}
