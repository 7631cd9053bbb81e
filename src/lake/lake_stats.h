/* The statistics policy of a map in words: `--stats`, and `bazan.stats_columns`. */
#ifndef LB_LAKE_STATS_H
#define LB_LAKE_STATS_H

#include "format/format.h"

typedef struct lb_lake_stats {
    lb_stats_policy policy;
    const char *const *columns; /* LB_STATS_NAMED: sorted, each once, ended by NULL */
} lb_lake_stats;

/* What a `--stats` text names ("all" if NULL). Names live in the arena. Errors: USAGE (nothing named). */
lb_status lb_lake_stats_of_text(const char *text, lb_arena *arena, lb_lake_stats *out, lb_error *err);

/* What a map's header holds: a word or a JSON array of names; and back. Errors: CORRUPT. */
lb_status lb_lake_stats_of_map(lb_str text, lb_arena *arena, lb_lake_stats *out, lb_error *err);
lb_status lb_lake_stats_text(const lb_lake_stats *stats, lb_buf *out, lb_error *err);

#endif
