/* Nearest of many points, and points that stand for many others: what building a vector index is made of (lance.md 9.5). */
#ifndef LB_LANCE_KMEANS_H
#define LB_LANCE_KMEANS_H

#include "base/arena.h"
#include "base/context.h"

/* Points to be compared with, laid out for that: coordinate j of point i stands at table[j * stride + i]. */
typedef struct lb_points {
    size_t count, dim, stride;
    const float *table;
} lb_points;

/* Lay out `count` points (fewer than 2^31) of `dim` coordinates each, which follow each other. In the arena. Errors: BUDGET, NOMEM. */
lb_status lb_points_make(const float *points, size_t count, size_t dim, lb_arena *arena, lb_points *out, lb_error *err);

/* Place of the point that is nearest to `x` by the squared distance, or (`dot`) of that with the largest product; of equal
 * ones the first. *best, unless NULL, gets the squared distance, or the negative product. Sums run over coordinates in
 * order, so that every processor finds the same. Coordinates that are no numbers: the first point. */
size_t lb_points_nearest(const lb_points *points, const float *x, bool dot, float *best);

/* A number from a seed that moves on: splitmix64 (Steele, Lea, Flood 2014). */
uint64_t lb_seed_next(uint64_t *seed);

/* `want` of `n` numbers, ascending, each set of them equally likely (Knuth, volume 2, algorithm S). want <= n. */
void lb_pick_sorted(uint64_t n, uint64_t want, uint64_t *seed, uint64_t *out);

/* Lloyd's algorithm over `n` rows of `dim` coordinates: `k` centers into `out`, k * dim of them. It begins with rows that lie apart, stops
 * when distances hardly shrink any more or after `rounds`, and gives a center that nobody is near to the row that is farthest from
 * its own. k <= n. The result depends on the seed and not on the number of threads. Errors: BUDGET, NOMEM, CANCELLED.
 * Cost: n * k * dim multiplications a round, by the context's threads. */
lb_status lb_kmeans(lb_context *cx, const float *rows, size_t n, size_t dim, size_t k, unsigned rounds, uint64_t seed,
                    float *out, lb_error *err);

#endif
