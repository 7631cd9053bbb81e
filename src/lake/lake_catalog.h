/* A lake as a catalog of tables for lineage: every file is a table (design: names without extensions, folders as
 * databases). lb_catalog_add_lake in lakebed.h is the way in; here are its parts. */
#ifndef LB_LAKE_LAKE_CATALOG_H
#define LB_LAKE_LAKE_CATALOG_H

#include "base/buf.h"

/* Database and table of a file by its path below the lake's root, in lower case: `a/b/sales.2024.csv` is `sales` in
 * `a_b`, and `sales.csv` is `sales` in `default_db`. A name that begins with a dot keeps it. Both live in the arena;
 * NULL: arena->why. */
const char *lb_lake_table_name(lb_str rel_path, lb_arena *arena);
const char *lb_lake_table_db(lb_str rel_path, const char *default_db, lb_arena *arena);

/* Append a column's type as SQL writes it: `bigint`, `array<struct<a:int>>`. What SQL has no word for is `string`. */
struct ArrowSchema;
lb_status lb_lake_sql_type(const struct ArrowSchema *type, lb_buf *out, lb_error *err);

#endif
