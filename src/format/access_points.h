/* Restart points between a view of compressed bytes (io/unpacked.h) and the entry of a map. */
#ifndef LB_FORMAT_ACCESS_POINTS_H
#define LB_FORMAT_ACCESS_POINTS_H

#include "format/entry.h"
#include "io/unpacked.h"

/* Give a view the points of `member` that an entry has; the view's bytes begin at `base` of the file. Errors: NOMEM, BUDGET. */
lb_status lb_points_know(lb_store *view, const lb_access_points *points, uint32_t member, uint64_t base, lb_error *err);

/* Which row begins at byte `at` of the decompressed bytes or behind it, and where; asked for in ascending order. */
typedef void (*lb_points_row_fn)(void *user, uint64_t at, uint64_t *row, uint64_t *byte);

/* Keep the points that a view noted, those far enough from each other, in `arena`. Errors: NOMEM, BUDGET. */
lb_status lb_points_keep(lb_store *view, const char *kind, uint32_t member, uint64_t base, lb_points_row_fn row_at,
                         void *user, lb_arena *arena, lb_access_points *out, lb_error *err);

/* Put the points of another view of the same file behind those of `out`. Errors: NOMEM, BUDGET. */
lb_status lb_points_join(lb_access_points *out, const lb_access_points *more, lb_arena *arena, lb_error *err);

#endif
