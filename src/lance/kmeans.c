#include "lance/kmeans.h"

#include <math.h>

#include "base/cpu.h"
#include "base/pool.h"

/* ---------------------------------------------------------------- points side by side */

#define POINTS_LANES 8 /* of the widest vectors: points are filled up to a multiple */

lb_status lb_points_make(const float *points, size_t count, size_t dim, lb_arena *arena, lb_points *out, lb_error *err)
{
    size_t stride = (count + POINTS_LANES - 1) / POINTS_LANES * POINTS_LANES, size;

    if (!lb_mul_size(stride, dim, &size))
        return lb_fail_nomem(err);
    float *table = lb_arena_alloc(arena, size, sizeof *table);
    if (table == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < dim; j++)
            table[j * stride + i] = points[i * dim + j];
    *out = (lb_points){ .count = count, .dim = dim, .stride = stride, .table = table };
    return LB_OK;
}

typedef size_t (*points_fn)(const lb_points *p, const float *x, bool dot, float *best);

/* Of the least in each lane the least of all; of equal ones the first point. */
static inline __attribute__((always_inline)) size_t points_least(const float *least, const int32_t *at, size_t lanes,
                                                                 float *best)
{
    size_t found = 0;

    for (size_t i = 1; i < lanes; i++)
        if (least[i] < least[found] || (least[i] == least[found] && at[i] < at[found]))
            found = i;
    if (best != NULL)
        *best = least[found];
    return (size_t)at[found];
}

/* points_fn for vectors of LANES floats. Each lane adds in the order of coordinates, so that the width does not matter. Lanes
 * behind the last point hold zeros and never win, for their places are not below the count. */
#define POINTS_BODY(name, LANES)                                                                              \
    typedef float name##_lanes __attribute__((vector_size((LANES) * sizeof(float))));                         \
    typedef int32_t name##_places __attribute__((vector_size((LANES) * sizeof(int32_t))));                    \
                                                                                                              \
    static inline __attribute__((always_inline)) size_t name(const lb_points *p, const float *x, bool dot,    \
                                                             float *best)                                     \
    {                                                                                                         \
        name##_lanes least, point;                                                                            \
        name##_places at = { 0 }, place;                                                                      \
        float leasts[LANES];                                                                                  \
        int32_t places[LANES];                                                                                \
                                                                                                              \
        for (size_t i = 0; i < (LANES); i++) {                                                                \
            leasts[i] = INFINITY;                                                                             \
            places[i] = (int32_t)i;                                                                           \
        }                                                                                                     \
        memcpy(&least, leasts, sizeof least);                                                                 \
        memcpy(&place, places, sizeof place);                                                                 \
        for (size_t first = 0; first < p->count; first += (LANES), place += (LANES)) {                        \
            const float *column = p->table + first;                                                           \
            name##_lanes sum = { 0 };                                                                         \
            for (size_t j = 0; j < p->dim; j++, column += p->stride) {                                        \
                memcpy(&point, column, sizeof point);                                                         \
                if (dot) {                                                                                    \
                    sum -= x[j] * point;                                                                      \
                } else {                                                                                      \
                    point = x[j] - point;                                                                     \
                    sum += point * point;                                                                     \
                }                                                                                             \
            }                                                                                                 \
            name##_places nearer = (name##_places)(sum < least) & (name##_places)(place < (int32_t)p->count); \
            least = (name##_lanes)(((name##_places)sum & nearer) | ((name##_places)least & ~nearer));         \
            at = (place & nearer) | (at & ~nearer);                                                           \
        }                                                                                                     \
        memcpy(leasts, &least, sizeof least);                                                                 \
        memcpy(places, &at, sizeof at);                                                                       \
        return points_least(leasts, places, LANES, best);                                                     \
    }

POINTS_BODY(points_by_4, 4)

static size_t points_plain(const lb_points *p, const float *x, bool dot, float *best)
{
    return dot ? points_by_4(p, x, true, best) : points_by_4(p, x, false, best);
}

#if defined __x86_64__
POINTS_BODY(points_by_8, 8)

/* Without fused multiplication, which would give other sums. */
__attribute__((target("avx2"))) static size_t points_avx2(const lb_points *p, const float *x, bool dot, float *best)
{
    return dot ? points_by_8(p, x, true, best) : points_by_8(p, x, false, best);
}
#endif

static points_fn points_choose(void)
{
#if defined __x86_64__
    if ((lb_cpu() & LB_CPU_AVX2) != 0)
        return points_avx2;
#endif
    return points_plain;
}

size_t lb_points_nearest(const lb_points *points, const float *x, bool dot, float *best)
{
    return points_choose()(points, x, dot, best);
}

/* ---------------------------------------------------------------- chance */

uint64_t lb_seed_next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void lb_pick_sorted(uint64_t n, uint64_t want, uint64_t *seed, uint64_t *out)
{
    uint64_t taken = 0;

    for (uint64_t i = 0; taken < want; i++)
        if (lb_seed_next(seed) % (n - i) < want - taken)
            out[taken++] = i;
}

/* ---------------------------------------------------------------- centers */

#define MEANS_CHUNK 1024 /* rows a job */
#define MEANS_GAIN 1e-4  /* a round that does not shorten distances by this part of them was the last */

typedef struct means {
    lb_context *cx;
    const float *rows;
    size_t n, dim, k;
    float *centers;
    lb_points points;
    uint32_t *of;     /* nearest center of each row */
    float *distances; /* from it */
    double sum;       /* of distances, in the round before */
    double *sums;
    uint64_t *counts;
    _Atomic size_t changed; /* rows that went to another center */
} means;

static lb_status means_assign(void *user, size_t chunk, lb_error *err)
{
    means *m = user;
    size_t changed = 0, end = LB_MIN(m->n, (chunk + 1) * MEANS_CHUNK);

    LB_TRY(lb_check_cancel(m->cx, err));
    for (size_t i = chunk * MEANS_CHUNK; i < end; i++) {
        uint32_t to = (uint32_t)lb_points_nearest(&m->points, m->rows + i * m->dim, false, &m->distances[i]);
        changed += to != m->of[i];
        m->of[i] = to;
    }
    atomic_fetch_add_explicit(&m->changed, changed, memory_order_relaxed);
    return LB_OK;
}

/* A center without rows goes where a row is farthest from its own. */
static void means_move(means *m, size_t center)
{
    size_t far = 0;

    for (size_t i = 1; i < m->n; i++)
        if (m->distances[i] > m->distances[far])
            far = i;
    if (m->distances[far] > 0)
        memcpy(m->centers + center * m->dim, m->rows + far * m->dim, m->dim * sizeof(float));
    m->distances[far] = 0;
}

static void means_update(means *m)
{
    memset(m->sums, 0, m->k * m->dim * sizeof *m->sums);
    memset(m->counts, 0, m->k * sizeof *m->counts);
    for (size_t i = 0; i < m->n; i++) {
        double *sum = m->sums + m->of[i] * m->dim;
        m->counts[m->of[i]]++;
        for (size_t j = 0; j < m->dim; j++)
            sum[j] += m->rows[i * m->dim + j];
    }
    for (size_t c = 0; c < m->k; c++) {
        if (m->counts[c] == 0)
            means_move(m, c);
        for (size_t j = 0; m->counts[c] != 0 && j < m->dim; j++)
            m->centers[c * m->dim + j] = (float)(m->sums[c * m->dim + j] / (double)m->counts[c]);
    }
}

static lb_status means_round(means *m, bool *done, lb_error *err)
{
    lb_arena arena;

    lb_arena_init(&arena, &m->cx->budget);
    lb_status status = lb_points_make(m->centers, m->k, m->dim, &arena, &m->points, err);
    atomic_store(&m->changed, 0);
    if (status == LB_OK)
        status = lb_run_jobs(m->cx, (m->n + MEANS_CHUNK - 1) / MEANS_CHUNK, means_assign, m, err);
    lb_arena_free(&arena);
    LB_TRY(status);
    double sum = 0;
    for (size_t i = 0; i < m->n; i++)
        sum += m->distances[i];
    *done = atomic_load(&m->changed) == 0 || m->sum - sum < sum * MEANS_GAIN;
    m->sum = sum;
    if (!*done)
        means_update(m);
    return LB_OK;
}

/* The first centers: rows picked one after the other, each the likelier the farther it lies from those before (k-means++, Arthur and
 * Vassilvitskii 2007), out of some rows for each center. */
#define MEANS_PICKED 16

static float means_square(const float *a, const float *b, size_t dim)
{
    float sum = 0;

    for (size_t j = 0; j < dim; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* Place of the next one: `away` are the distances, and `total` is their sum. */
static size_t means_draw(const float *away, size_t n, double total, size_t center, uint64_t *seed)
{
    double left = (double)(lb_seed_next(seed) >> 11) / (double)(UINT64_C(1) << 53) * total;

    if (!(total > 0) || !isfinite(total)) /* nothing tells them apart */
        return center % n;
    for (size_t i = 0; i < n; i++) {
        left -= (double)away[i];
        if (left < 0)
            return i;
    }
    return n - 1;
}

static void means_first(const means *m, const uint64_t *rows, float *away, size_t n, uint64_t *seed)
{
    double total = 0;

    for (size_t i = 0; i < n; i++)
        away[i] = INFINITY;
    for (size_t c = 0; c < m->k; c++) {
        size_t next = c == 0 ? (size_t)(lb_seed_next(seed) % n) : means_draw(away, n, total, c, seed);
        float *center = m->centers + c * m->dim;
        memcpy(center, m->rows + rows[next] * m->dim, m->dim * sizeof *center);
        total = 0;
        for (size_t i = 0; i < n; i++) {
            away[i] = fminf(away[i], means_square(m->rows + rows[i] * m->dim, center, m->dim));
            total += (double)away[i];
        }
    }
}

static lb_status means_begin(means *m, uint64_t seed, lb_arena *arena, lb_error *err)
{
    size_t cells, picked = m->k > m->n / MEANS_PICKED ? m->n : m->k * MEANS_PICKED;

    if (!lb_mul_size(m->k, m->dim, &cells))
        return lb_fail_nomem(err);
    uint64_t *rows = lb_arena_alloc(arena, picked, sizeof *rows);
    m->of = lb_arena_alloc(arena, m->n, sizeof *m->of);
    m->distances = lb_arena_alloc(arena, m->n, sizeof *m->distances);
    m->sums = lb_arena_alloc(arena, cells, sizeof *m->sums);
    m->counts = lb_arena_alloc(arena, m->k, sizeof *m->counts);
    if (rows == NULL || m->of == NULL || m->distances == NULL || m->sums == NULL || m->counts == NULL)
        return lb_arena_fail(arena, err);
    memset(m->of, 0xff, m->n * sizeof *m->of);
    lb_pick_sorted(m->n, picked, &seed, rows);
    means_first(m, rows, m->distances, picked, &seed);
    return LB_OK;
}

lb_status lb_kmeans(lb_context *cx, const float *rows, size_t n, size_t dim, size_t k, unsigned rounds, uint64_t seed,
                    float *out, lb_error *err)
{
    means m = { .cx = cx, .rows = rows, .n = n, .dim = dim, .k = k, .centers = out, .sum = INFINITY };
    lb_arena arena;
    bool done = false;

    lb_arena_init(&arena, &cx->budget);
    lb_status status = means_begin(&m, seed, &arena, err);
    for (unsigned i = 0; status == LB_OK && !done && i < rounds; i++)
        status = means_round(&m, &done, err);
    lb_arena_free(&arena);
    return status;
}
