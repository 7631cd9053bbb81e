/* The columns of many files as those of one table (types.md section 6). */
#ifndef LB_LAKE_UNITE_H
#define LB_LAKE_UNITE_H

#include "column/types.h"
#include "format/entry.h"

/* Field metadata of a united column whose files disagree: why, in words. */
#define LB_META_CONFLICT "lakebed.conflict"

typedef struct lb_unite lb_unite;

lb_status lb_unite_new(lb_schema_mode mode, lb_unite **out, lb_error *err);
void lb_unite_free(lb_unite *u);

/* Take in one file, in map order. `stats` are its columns' (may be empty). Entries without a schema, as those of files
 * that could not be read, are left out. Errors: CORRUPT (LB_SCHEMA_STRICT: the first difference, naming both files; a
 * schema that does not decode). */
lb_status lb_unite_add(lb_unite *u, const lb_entry *entry, const lb_colstats *stats, lb_error *err);

/* The united schema, owned by the caller. Columns of nothing but nulls keep the null type. Its metadata is that of the first
 * file's schema, as a column's is that of the first file that has the column. */
lb_status lb_unite_schema(lb_unite *u, struct ArrowSchema *out, lb_error *err);

/* Statistics of a united column over all files; its strings are lent. False: unknown, since some file's are. */
size_t lb_unite_count(const lb_unite *u);
bool lb_unite_stat(const lb_unite *u, size_t column, lb_colstat *out);

/* Are a schema's columns typed by looking at values? Said by the entry's format. */
bool lb_entry_is_inferred(const lb_entry *entry, const struct ArrowSchema *field);

#endif
