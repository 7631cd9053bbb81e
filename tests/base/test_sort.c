/* Sorting numbers: the C library's sort is the control, and equal keys keep their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sort.h"

#define MOST 3000

static uint64_t numbers = 88172645463325252u;

static uint64_t next_number(void)
{
    numbers ^= numbers << 13;
    numbers ^= numbers >> 7;
    return numbers ^= numbers << 17;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check(size_t n, uint64_t mask, unsigned shift)
{
    static uint64_t keys[MOST], asked[MOST], want[MOST], spare[MOST];
    static uint32_t places[MOST], spare_places[MOST];
    for (size_t i = 0; i < n; i++) {
        asked[i] = keys[i] = want[i] = (next_number() & mask) << shift;
        places[i] = (uint32_t)i;
    }
    qsort(want, n, sizeof *want, compare);
    lb_sort_u64(keys, places, n, spare, spare_places);
    for (size_t i = 0; i < n; i++) {
        assert_true(keys[i] == want[i] && asked[places[i]] == keys[i]);
        assert_true(i == 0 || keys[i - 1] != keys[i] || places[i - 1] < places[i]);
    }
    memcpy(keys, asked, sizeof keys);
    lb_sort_u64(keys, NULL, n, spare, NULL);
    assert_memory_equal(keys, want, n * sizeof *keys);
}

static void as_the_c_library(void **state)
{
    static const uint64_t masks[] = { 0, 1, 0xff, 0xffff, 0xfffff, 0x00ff00ff00ff00ff, UINT64_MAX };
    (void)state;
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
        for (size_t n = 0; n <= MOST; n = n < 5 ? n + 1 : n * 3)
            check(n, masks[m], m % 2 == 0 ? 0 : 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_c_library) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
