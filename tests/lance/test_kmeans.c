/* Nearest points and centers of many: laws, against the plainest way to say the same. */
#include "lance/kmeans.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static float number(uint64_t *seed)
{
    return (float)(lb_seed_next(seed) >> 40) / (float)(1 << 23) - 1;
}

static size_t plain_nearest(const float *points, size_t n, size_t dim, const float *x, bool dot, float *best)
{
    size_t found = 0;

    *best = INFINITY;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t j = 0; j < dim; j++) {
            float d = x[j] - points[i * dim + j];
            sum += dot ? -(x[j] * points[i * dim + j]) : d * d;
        }
        if (sum < *best) {
            *best = sum;
            found = i;
        }
    }
    return found;
}

static void compare_nearest(const float *points, size_t n, size_t dim, const float *x)
{
    lb_arena arena;
    lb_points laid;

    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_points_make(points, n, dim, &arena, &laid, NULL), LB_OK);
    for (int dot = 0; dot < 2; dot++) {
        float want, got;
        size_t place = plain_nearest(points, n, dim, x, dot, &want);
        assert_int_equal(lb_points_nearest(&laid, x, dot, &got), place);
        assert_int_equal(lb_points_nearest(&laid, x, dot, NULL), place);
        assert_memory_equal(&got, &want, sizeof got);
    }
    lb_arena_free(&arena);
}

/* Also numbers of points that fill no vector of the processor, and points that are alike. */
static void nearest_is_the_plain_nearest(void **state)
{
    static const size_t counts[] = { 1, 3, 7, 8, 9, 16, 31, 256 }, dims[] = { 1, 2, 3, 8, 33 };
    uint64_t seed = 5;
    (void)state;

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
            size_t n = counts[c], dim = dims[d];
            float *points = calloc(n * dim, sizeof *points), *x = calloc(dim, sizeof *x);
            assert_true(points != NULL && x != NULL);
            for (int turn = 0; turn < 20; turn++) {
                for (size_t i = 0; i < n * dim; i++)
                    points[i] = turn % 2 == 0 ? number(&seed) : (float)(lb_seed_next(&seed) % 3);
                for (size_t j = 0; j < dim; j++)
                    x[j] = turn % 2 == 0 ? number(&seed) : (float)(lb_seed_next(&seed) % 3);
                compare_nearest(points, n, dim, x);
            }
            free(points);
            free(x);
        }
}

static void what_is_no_number_is_near_the_first(void **state)
{
    const float points[] = { 1, 2, 3, 4, 5, 6 }, x[] = { NAN, 1 }, far[] = { INFINITY, 1 };
    (void)state;

    compare_nearest(points, 3, 2, x);
    compare_nearest(points, 3, 2, far);
}

/* splitmix64 as its authors publish it: the first numbers for the seed 1234567. */
static void seeds_are_splitmix(void **state)
{
    static const uint64_t want[] = { UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                     UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                     UINT64_C(16408922859458223821) };
    uint64_t seed = 1234567;
    (void)state;

    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_true(lb_seed_next(&seed) == want[i]);
}

static void picks_are_sets(void **state)
{
    uint64_t seed = 9, out[50];
    unsigned seen[50] = { 0 };
    (void)state;

    for (int turn = 0; turn < 2000; turn++) {
        lb_pick_sorted(50, 10, &seed, out);
        for (size_t i = 0; i < 10; i++) {
            assert_true(out[i] < 50 && (i == 0 || out[i] > out[i - 1]));
            seen[out[i]]++;
        }
    }
    for (size_t i = 0; i < 50; i++) /* 400 of each are expected, with a deviation of 18 */
        assert_in_range(seen[i], 300, 500);
    lb_pick_sorted(50, 50, &seed, out);
    for (size_t i = 0; i < 50; i++)
        assert_true(out[i] == i);
}

/* Groups that lie far apart: their means are the centers, whoever counts and from whichever rows it begins. */
static void groups_are_found(void **state)
{
    enum { GROUPS = 5, EACH = 700, DIM = 3 };
    static float rows[GROUPS * EACH * DIM], centers[2][GROUPS * DIM];
    double means[GROUPS][DIM] = { { 0 } };
    uint64_t seed = 3;
    (void)state;

    for (size_t i = 0; i < (size_t)GROUPS * EACH; i++)
        for (size_t j = 0; j < DIM; j++) {
            rows[i * DIM + j] = number(&seed) + (j == 0 ? 100 * (float)(i % GROUPS) : 0);
            means[i % GROUPS][j] += (double)rows[i * DIM + j] / EACH;
        }
    for (uint64_t from = 0; from < 6; from++) {
        for (unsigned threads = 1; threads <= 2; threads++) {
            const lb_context_options options = { .struct_size = sizeof options, .threads = threads };
            lb_context *cx = NULL;
            assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
            assert_int_equal(
                lb_kmeans(cx, rows, (size_t)GROUPS * EACH, DIM, GROUPS, 50, from, centers[threads - 1], NULL), LB_OK);
            lb_context_free(cx);
        }
        assert_memory_equal(centers[0], centers[1], sizeof centers[0]);
        for (size_t g = 0; g < GROUPS; g++) {
            float wanted[DIM], distance;
            for (size_t j = 0; j < DIM; j++)
                wanted[j] = (float)means[g][j];
            (void)plain_nearest(centers[0], GROUPS, DIM, wanted, false, &distance);
            if (distance > 1e-6F)
                fail_msg("seed %d: no center is near group %zu, but %g away", (int)from, g, (double)distance);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_is_the_plain_nearest),
        cmocka_unit_test(what_is_no_number_is_near_the_first),
        cmocka_unit_test(seeds_are_splitmix),
        cmocka_unit_test(picks_are_sets),
        cmocka_unit_test(groups_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
