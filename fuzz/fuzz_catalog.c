/* Catalogs from any text, JSON or statements. What was added is found again by its name, column by column, and can be
 * selected from. Input: the text. */
#include <stdlib.h>

#include "lineage/lineage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_LIMIT ((uint64_t)256 << 20)
#define TABLES 8 /* looked at more closely */

static void check_columns(const lb_catalog_table *table)
{
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (lb_catalog_column_find(table, table->columns[i].name) != i)
            abort();
}

/* A catalog's names need not be plain: the statement quotes them. */
static void select_all(const lb_catalog *catalog, const lb_catalog_table *table)
{
    lb_error err = LB_ERROR_INIT;
    lb_lineage_options options = { .catalog = catalog, .expand_complex_types = true };
    lb_lineage_run *run = NULL;
    const lb_lineage_result *result = NULL;
    lb_buf sql;
    lb_buf_init(&sql, NULL);
    if (table->name.size < 1000 && table->db.size < 1000 && memchr(table->name.at, '`', table->name.size) == NULL &&
        memchr(table->db.at, '`', table->db.size) == NULL &&
        lb_buf_printf(&sql, &err, "select * from `%.*s`.`%.*s`", (int)table->db.size, table->db.at,
                      (int)table->name.size, table->name.at) == LB_OK) {
        if (lb_lineage_open(&options, (const char *)sql.data, sql.size, &run, &err) != LB_OK ||
            lb_lineage_next(run, &result, &err) != LB_OK)
            abort();
        lb_lineage_close(run);
    }
    lb_buf_free(&sql);
}

static void check_catalog(const lb_catalog *catalog)
{
    for (size_t i = 0; i < lb_catalog_count(catalog); i++) {
        const lb_catalog_table *table = lb_catalog_at(catalog, i);
        if (!table->dropped && lb_catalog_find(catalog, table->db, table->name) == NULL)
            abort();
        if (i < TABLES) {
            check_columns(table);
            select_all(catalog, table);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = MEMORY_LIMIT };
    lb_error err = LB_ERROR_INIT;
    lb_catalog *catalog = NULL;
    if (lb_catalog_make(&budget, &catalog, &err) != LB_OK)
        abort();
    lb_status status = lb_catalog_add(catalog, (const char *)data, size, NULL, &err);
    if (status != LB_OK && (err.code != status || err.message[0] == '\0'))
        abort();
    check_catalog(catalog);
    lb_catalog_free(catalog);
    return 0;
}
