/* Permutations: each is one, its inverse undoes it, the same seed gives the same, and orders look drawn by lot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fail.h"
#include "permutation_cases.h"

static lb_permutation make(uint64_t n, uint64_t seed)
{
    lb_permutation p = { .struct_size = sizeof p };
    assert_int_equal(lb_permutation_init(&p, n, seed, NULL), LB_OK);
    return p;
}

static void every_small_one_is_a_bijection(void **state)
{
    static uint8_t seen[5000];
    (void)state;
    for (uint64_t n = 0; n <= sizeof seen; n++) {
        const lb_permutation p = make(n, n * 7 + 1);
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v = lb_permutation_at(&p, i);
            assert_true(v < n && seen[v]++ == 0);
            assert_int_equal(lb_permutation_place(&p, v), i);
        }
        assert_true(lb_permutation_at(&p, n) == UINT64_MAX && lb_permutation_place(&p, n) == UINT64_MAX);
    }
}

static void large_ones_are_undone(void **state)
{
    static const uint64_t sizes[] = { 65535,
                                      65536,
                                      65537,
                                      1000003,
                                      (UINT64_C(1) << 32) - 1,
                                      UINT64_C(1) << 32,
                                      (UINT64_C(1) << 32) + 1,
                                      UINT64_C(4611686014132420609), /* (2^31 - 1)^2 */
                                      INT64_MAX - 1,
                                      INT64_MAX };
    (void)state;
    for (size_t s = 0; s < LB_COUNT_OF(sizes); s++) {
        const lb_permutation p = make(sizes[s], s);
        for (uint64_t k = 0; k < 4000; k++) {
            uint64_t i = k < 2000 ? k : sizes[s] - 1 - (k - 2000) * (sizes[s] / 2001);
            uint64_t v = lb_permutation_at(&p, i);
            assert_true(v < sizes[s]);
            assert_true(lb_permutation_place(&p, v) == i && lb_permutation_at(&p, lb_permutation_place(&p, i)) == i);
        }
    }
}

static void middle_ones_are_bijections(void **state)
{
    static const uint64_t sizes[] = { 65536, 65537, 99856, 100000, 262143 };
    (void)state;
    for (size_t s = 0; s < LB_COUNT_OF(sizes); s++) {
        const lb_permutation p = make(sizes[s], 99 + s);
        uint8_t *seen = calloc(sizes[s], 1);
        assert_non_null(seen);
        for (uint64_t i = 0; i < sizes[s]; i++)
            assert_int_equal(seen[lb_permutation_at(&p, i)]++, 0);
        free(seen);
    }
}

/* Seeds that people keep stay good. */
static void stays_what_it_was(void **state)
{
    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(permutation_cases); k++) {
        uint64_t n = permutation_cases[k].n, seed = permutation_cases[k].seed;
        const lb_permutation p = make(n, seed);
        for (uint64_t i = 0; i < LB_MIN(n, 6); i++)
            if (lb_permutation_at(&p, i) != permutation_cases[k].first[i])
                fail_msg("n %llu, seed %llu: place %llu has %llu", (unsigned long long)n, (unsigned long long)seed,
                         (unsigned long long)i, (unsigned long long)lb_permutation_at(&p, i));
    }
}

/* The keys are the numbers that SplitMix64 gives: here those that other programs print for this seed. */
static void keys_are_splitmix64(void **state)
{
    static const uint64_t known[] = { UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                      UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                      UINT64_C(16408922859458223821) };
    const lb_permutation p = make(100, 1234567);
    (void)state;
    assert_memory_equal(p.keys, known, sizeof known);
}

/* Sum of (count - mean)^2 / mean. Under chance it is about the number of cells, give or take sqrt(2 cells). */
static double chi_square(const uint32_t *counts, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)counts[i] - mean) * ((double)counts[i] - mean) / mean;
    return sum;
}

static void assert_chance(const uint32_t *counts, size_t n, double total)
{
    double chi = chi_square(counts, n, total / (double)n), free_cells = (double)n - 1;
    double six_sigma = 6 * __builtin_sqrt(2 * free_cells);
    if (chi > free_cells + six_sigma || chi < free_cells - six_sigma)
        fail_msg("chi-square %.1f over %zu cells", chi, n);
}

/* All 120 orders of five things, over many seeds. */
static void orders_are_equally_likely(void **state)
{
    static uint32_t counts[3125];
    uint32_t orders[120];
    size_t n = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60000; seed++) {
        const lb_permutation p = make(5, seed);
        size_t code = 0;
        for (uint64_t i = 0; i < 5; i++)
            code = code * 5 + (size_t)lb_permutation_at(&p, i);
        counts[code]++;
    }
    for (size_t i = 0; i < LB_COUNT_OF(counts); i++)
        if (counts[i] != 0) {
            assert_true(n < LB_COUNT_OF(orders));
            orders[n++] = counts[i];
        }
    assert_int_equal(n, 120);
    assert_chance(orders, 120, 60000);
}

/* Where the values of a block go, and what follows a value, over the cells of a table. */
static void places_and_followers_are_spread(void **state)
{
    static const uint64_t sizes[] = { 640, 10007, 100000, UINT64_C(1) << 40 };
    (void)state;
    for (size_t s = 0; s < LB_COUNT_OF(sizes); s++) {
        uint32_t places[32 * 32] = { 0 }, followers[32] = { 0 };
        uint64_t n = sizes[s], step = n > 100000 ? n / 100000 : 1, total = 0;
        for (uint64_t seed = 0; total < 100000; seed++) {
            const lb_permutation p = make(n, 1000 + seed);
            for (uint64_t i = 0; i + 1 < n && total < 100000; i += step, total++) {
                uint64_t v = lb_permutation_at(&p, i), w = lb_permutation_at(&p, i + 1);
                places[(size_t)((double)i / (double)n * 32) * 32 + (size_t)((double)v / (double)n * 32)]++;
                followers[(size_t)((double)((w - v + n) % n) / (double)n * 32)]++;
            }
        }
        /* Rows and columns of a whole permutation are filled evenly by nature, which only lowers the sum. */
        assert_true(chi_square(places, LB_COUNT_OF(places), (double)total / 1024) < 1023 + 6 * 45.3);
        assert_chance(followers, 32, (double)total);
    }
}

/* Seeds that differ by one share no more places than chance gives: one, on the average. */
static void near_seeds_differ(void **state)
{
    uint64_t same = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const lb_permutation p = make(1000, seed), q = make(1000, seed + 1);
        for (uint64_t i = 0; i < 1000; i++)
            same += lb_permutation_at(&p, i) == lb_permutation_at(&q, i);
    }
    assert_in_range(same, 100, 300);
}

static void mistakes(void **state)
{
    lb_permutation p = { .struct_size = 1 };
    lb_error err = LB_ERROR_INIT;
    (void)state;
    assert_int_equal(lb_permutation_init(&p, 5, 0, &err), LB_USAGE);
    p.struct_size = sizeof p;
    assert_int_equal(lb_permutation_init(&p, (uint64_t)INT64_MAX + 1, 0, &err), LB_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_one_is_a_bijection),
        cmocka_unit_test(large_ones_are_undone),
        cmocka_unit_test(middle_ones_are_bijections),
        cmocka_unit_test(stays_what_it_was),
        cmocka_unit_test(keys_are_splitmix64),
        cmocka_unit_test(orders_are_equally_likely),
        cmocka_unit_test(places_and_followers_are_spread),
        cmocka_unit_test(near_seeds_differ),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
