/* What fills a catalog from inside: JSON, DDL, the statements of a script. */
#ifndef LB_LINEAGE_LINEAGE_CATALOG_PRIVATE_H
#define LB_LINEAGE_LINEAGE_CATALOG_PRIVATE_H

#include "lineage/lineage_catalog.h"

lb_arena *lb_catalog_arena(lb_catalog *catalog);

/* Take a table whose parts lie in the catalog's arena; replaces one of that name. Fills full_name and by_name, and puts
 * partition columns last. Errors: USAGE (a column named twice), NOMEM, BUDGET. */
lb_status lb_catalog_place(lb_catalog *catalog, lb_catalog_table *table, lb_error *err);

/* As lb_catalog_find, but also what says that a table was dropped. */
const lb_catalog_table *lb_catalog_entry(const lb_catalog *catalog, lb_str db, lb_str name);

#endif
