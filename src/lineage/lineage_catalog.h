/* Tables, views and their columns: what the names of a statement are looked up in.
 *
 * A catalog is filled by one thread (JSON, DDL, tables one by one) and then only read, also by many threads at once. */
#ifndef LB_LINEAGE_LINEAGE_CATALOG_H
#define LB_LINEAGE_LINEAGE_CATALOG_H

#include "base/arena.h"
#include "base/names.h"

typedef enum lb_type_kind { LB_TYPE_SCALAR, LB_TYPE_ARRAY, LB_TYPE_MAP, LB_TYPE_STRUCT } lb_type_kind;

/* The type of a column as far as paths need it. */
typedef struct lb_nested_type lb_nested_type;

typedef struct lb_nested_field {
    lb_str name; /* lower case */
    const lb_nested_type *type;
} lb_nested_field;

struct lb_nested_type {
    lb_type_kind kind;
    const lb_nested_type *item;    /* of an array, or the value of a map */
    const lb_nested_type *key;     /* of a map */
    const lb_nested_field *fields; /* of a struct, as declared */
    uint32_t n_fields;
};

typedef struct lb_catalog_column {
    lb_str name;                /* lower case */
    const lb_nested_type *type; /* NULL: not known, taken as scalar */
    bool partition;             /* partition column of a hive table */
    bool hidden;                /* neither in a star nor a target */
} lb_catalog_column;

typedef struct lb_catalog_table {
    lb_str db, name;            /* lower case */
    lb_str full_name;           /* "db.name" */
    lb_str type;                /* "hive", "iceberg", "kudu", "hbase", "view", … */
    lb_str location;            /* empty: not known */
    int64_t create_time;        /* seconds since the epoch; -1: not known */
    lb_str view_sql;            /* of a view: the text of its query */
    lb_str view_db;             /* the database its names are looked up in; empty: its own */
    lb_catalog_column *columns; /* in star order: partition columns of a hive table last */
    uint32_t n_columns;
    lb_names by_name; /* place of each column by its name, made where there are many; see lb_catalog_column_find */
    bool dropped;     /* in a script's own catalog: hides the table of the catalog below */
} lb_catalog_table;

typedef struct lb_catalog lb_catalog;

/* Errors: NOMEM. `budget` NULL: no limit. */
lb_status lb_catalog_make(lb_budget *budget, lb_catalog **out, lb_error *err);
void lb_catalog_free(lb_catalog *catalog); /* takes NULL */

/* What is handed in for one table: everything is copied, names are made lower case, types are read as written
 * (`array<struct<f1:int>>`; what is not understood counts as scalar). A table of that name is replaced. */
typedef struct lb_catalog_column_spec {
    const char *name, *type; /* type NULL: not known */
    bool partition, hidden;
} lb_catalog_column_spec;

typedef struct lb_catalog_spec {
    const char *db, *name;
    const char *type;     /* NULL: "hive", or "view" where view_sql is given */
    const char *location; /* NULL: not known */
    int64_t create_time;  /* seconds since the epoch; -1: not known */
    const char *view_sql; /* NULL: a table */
    const char *view_db;  /* NULL: its own database */
    const lb_catalog_column_spec *columns;
    size_t n_columns; /* of a view 0: found from its query */
} lb_catalog_spec;

/* Errors: USAGE (no name, a column named twice), NOMEM, BUDGET. */
lb_status lb_catalog_put(lb_catalog *catalog, const lb_catalog_spec *spec, lb_error *err);

/* Add the tables of a JSON document: `{"tables":[{"db","name","table_type","columns":[{"name","type","partition"}],
 * "view_sql","location","create_time"}, …]}` or that list alone. Errors: CORRUPT, saying which table and what was
 * expected (err->line where the text is no JSON); NOMEM, BUDGET. */
lb_status lb_catalog_read_json(lb_catalog *catalog, const char *text, size_t size, lb_error *err);

/* Add what the statements of a script make: CREATE TABLE (also LIKE a table, AS SELECT) and VIEW, ALTER VIEW, DROP, USE.
 * Others are passed over. Errors: CORRUPT: the first statement that cannot be read, with err->offset and line. */
lb_status lb_catalog_read_ddl(lb_catalog *catalog, const char *text, size_t size, lb_str default_db, lb_error *err);

/* Look a table up by lower-case names; NULL: not there. Cost: O(1). */
const lb_catalog_table *lb_catalog_find(const lb_catalog *catalog, lb_str db, lb_str name);

size_t lb_catalog_count(const lb_catalog *catalog);
const lb_catalog_table *lb_catalog_at(const lb_catalog *catalog, size_t index); /* in the order of adding */

/* Place of the column of a lower-case name, or UINT32_MAX. Cost: O(1). */
uint32_t lb_catalog_column_find(const lb_catalog_table *table, lb_str name);

#endif
