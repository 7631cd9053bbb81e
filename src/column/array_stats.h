/* Statistics of columns that come as Arrow arrays: null counts and bounds of each column, and of the fields of structs under
 * their dotted paths. Lists and other types without an order have null counts only. */
#ifndef LB_COLUMN_ARRAY_STATS_H
#define LB_COLUMN_ARRAY_STATS_H

#include "column/types.h"

typedef struct lb_array_stats lb_array_stats;

/* Say of each leaf whether it is taken; NULL: all are. `column`: the top-level one it lies in. */
typedef bool (*lb_stats_want_fn)(void *user, const char *path, uint64_t column);

/* For batches (struct arrays) of `schema`, which need not live on. Errors: NOMEM, BUDGET, CORRUPT (no schema). */
lb_status lb_array_stats_new(const struct ArrowSchema *schema, lb_stats_want_fn want, void *user, lb_budget *budget,
                             lb_array_stats **out, lb_error *err);
void lb_array_stats_free(lb_array_stats *stats); /* NULL is fine */

/* Forget all values. */
void lb_array_stats_reset(lb_array_stats *stats);

/* Take a batch's values in. Errors: CORRUPT (an array that is none of the schema), NOMEM. */
lb_status lb_array_stats_add(lb_array_stats *stats, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                             lb_error *err);

/* Take in what another one of the same schema and wants has. */
void lb_array_stats_merge(lb_array_stats *stats, const lb_array_stats *from);

/* For rows that are added to a file: what lb_array_stats_finish cannot tell, the bounds of text that it shortens, as bytes to
 * be kept beside its results. Appends nothing where no bound is long. Errors: NOMEM, BUDGET. */
lb_status lb_array_stats_put_long(const lb_array_stats *stats, lb_buf *out, lb_error *err);

/* Take in the results of another one of the same schema and wants, with the bytes that lb_array_stats_put_long gave. False:
 * they are of another one, and what was taken in is of no use. */
bool lb_array_stats_resume(lb_array_stats *stats, const lb_colstats *from, lb_str long_bounds);

size_t lb_array_stats_count(const lb_array_stats *stats);

/* The statistics so far, names and bounds in the arena, lb_array_stats_count of them into `out`; `columns`, where not NULL, gets the
 * top-level column of each. Errors: NOMEM, BUDGET. */
lb_status lb_array_stats_finish(const lb_array_stats *stats, lb_arena *arena, lb_colstat *out, uint32_t *columns,
                                lb_error *err);

#endif
