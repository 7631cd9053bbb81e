/* Bounds of text: laws against a plain memcmp over all values, and the rounding of long ones. */
#include "column/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int compare(lb_str a, lb_str b)
{
    return lb_str_compare(a, b);
}

static void finish(const lb_text_bounds *b, bool text, lb_arena *arena, lb_colstat *out)
{
    lb_error err = LB_ERROR_INIT;
    memset(out, 0, sizeof *out);
    assert_int_equal(LB_OK, lb_text_bounds_finish(b, text, arena, out, &err));
}

/* Short values of few letters, so that prefixes and lengths collide, NUL among them. */
static void bounds_are_the_least_and_greatest(void **state)
{
    (void)state;
    static const char letters[] = { '\0', 'a', 'b', '\x7f', (char)0x80, (char)0xff };
    uint32_t seed = 1;
    for (int round = 0; round < 400; round++) {
        char text[40][24];
        lb_str values[40], min, max;
        lb_text_bounds all = { .any = false }, left = { .any = false }, right = { .any = false };
        lb_arena arena;
        lb_colstat stat;
        lb_arena_init(&arena, NULL);
        for (size_t i = 0; i < 40; i++) {
            size_t size = 0;
            seed = seed * 1664525 + 1013904223;
            for (size_t most = seed >> 16 & 15; size < most + (size_t)(round % 8); size++) {
                seed = seed * 1664525 + 1013904223;
                text[i][size] = letters[(seed >> 16) % (1 + (unsigned)round % sizeof letters)];
            }
            values[i] = (lb_str){ text[i], size };
            lb_text_bounds_add(&all, text[i], size);
            lb_text_bounds_add(i % 3 == 0 ? &left : &right, text[i], size);
        }
        min = max = values[0];
        for (size_t i = 1; i < 40; i++) {
            min = compare(values[i], min) < 0 ? values[i] : min;
            max = compare(values[i], max) > 0 ? values[i] : max;
        }
        lb_text_bounds_merge(&left, &right);
        for (int k = 0; k < 2; k++) {
            finish(k == 0 ? &all : &left, false, &arena, &stat);
            assert_int_equal(LB_MIN_B | LB_MAX_B, stat.has);
            assert_true(stat.min_exact && stat.max_exact);
            assert_true(lb_str_equal(stat.min_b, min));
            assert_true(lb_str_equal(stat.max_b, max));
        }
        lb_arena_free(&arena);
    }
}

static void none_and_the_empty_text(void **state)
{
    (void)state;
    lb_text_bounds none = { .any = false }, one = { .any = false };
    lb_arena arena;
    lb_colstat stat;
    lb_arena_init(&arena, NULL);
    finish(&none, true, &arena, &stat);
    assert_int_equal(0, stat.has);
    lb_text_bounds_add(&one, "", 0);
    lb_text_bounds_merge(&one, &none);
    finish(&one, true, &arena, &stat);
    assert_int_equal(LB_MIN_B | LB_MAX_B, stat.has);
    assert_int_equal(0, stat.min_b.size);
    assert_int_equal(0, stat.max_b.size);
    assert_true(stat.min_exact && stat.max_exact);
    lb_arena_free(&arena);
}

/* `count` times `unit`, then `tail`. */
static size_t fill(char *out, const char *unit, size_t count, const char *tail)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(out + at, unit, strlen(unit));
        at += strlen(unit);
    }
    memcpy(out + at, tail, strlen(tail));
    return at + strlen(tail);
}

static void long_text_is_cut_at_characters(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        size_t count;
        const char *tail;
        size_t min_size;
        const char *max_unit; /* NULL: no maximum is left */
        size_t max_count;
        const char *max_tail;
    } cases[] = {
        { "a", 256, "", 256, "a", 256, "" }, /* just fits */
        { "a", 257, "", 256, "a", 255, "b" },
        { "a", 255, "\xc5\xbc", 255, "a", 254, "b" }, /* the character would be split */
        { "\xc5\xbc", 200, "", 256, "\xc5\xbc", 127, "\xc5\xbd" },
        { "a", 255,
          "\x7f"
          "x",
          256, "a", 254, "b" }, /* its successor takes two bytes */
        { "\xe6\xbc\xa2", 100, "", 255, "\xe6\xbc\xa2", 84, "\xe6\xbc\xa3" },
        { "\xed\x9f\xbf", 100, "", 255, "\xed\x9f\xbf", 84, "\xee\x80\x80" }, /* surrogates are passed over */
        { "\xf4\x8f\xbf\xbf", 70, "", 256, NULL, 0, NULL },                   /* U+10FFFF has no successor */
        { "b\xf4\x8f\xbf\xbf", 1, "\xf4\x8f\xbf\xbf", 9, "b\xf4\x8f\xbf\xbf", 1, "\xf4\x8f\xbf\xbf" },
    };
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        char text[1200], want[1200];
        lb_text_bounds b = { .any = false };
        lb_arena arena;
        lb_colstat stat;
        size_t size = fill(text, cases[i].unit, cases[i].count, cases[i].tail);
        lb_arena_init(&arena, NULL);
        lb_text_bounds_add(&b, text, size);
        finish(&b, true, &arena, &stat);
        assert_int_equal(size <= 256, stat.min_exact);
        assert_true(lb_str_equal(stat.min_b, (lb_str){ text, cases[i].min_size }));
        assert_int_equal(cases[i].max_unit != NULL, (stat.has & LB_MAX_B) != 0);
        if (cases[i].max_unit != NULL) {
            size_t max_size = fill(want, cases[i].max_unit, cases[i].max_count, cases[i].max_tail);
            if (!lb_str_equal(stat.max_b, (lb_str){ want, max_size }))
                fail_msg("case %zu: a maximum of %zu bytes, not %zu", i, stat.max_b.size, max_size);
            assert_int_equal(size <= 256, stat.max_exact);
            assert_true(compare(stat.max_b, (lb_str){ text, size }) >= 0);
        }
        lb_arena_free(&arena);
    }
}

static void long_binary_is_raised_by_bytes(void **state)
{
    (void)state;
    uint8_t bytes[300];
    lb_text_bounds b = { .any = false };
    lb_arena arena;
    lb_colstat stat;
    lb_arena_init(&arena, NULL);
    memset(bytes, 0xff, sizeof bytes);
    lb_text_bounds_add(&b, (const char *)bytes, sizeof bytes);
    finish(&b, false, &arena, &stat);
    assert_int_equal(LB_MIN_B, stat.has);
    assert_int_equal(256, stat.min_b.size);
    bytes[9] = 1;
    b = (lb_text_bounds){ .any = false };
    lb_text_bounds_add(&b, (const char *)bytes, sizeof bytes);
    finish(&b, false, &arena, &stat);
    assert_int_equal(LB_MIN_B | LB_MAX_B, stat.has);
    assert_int_equal(10, stat.max_b.size);
    assert_int_equal(2, stat.max_b.at[9]);
    assert_false(stat.max_exact);
    lb_arena_free(&arena);
}

/* ---------------------------------------------------------------- values with padding */

static uint64_t random_state = 88172645463325252;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

/* A run of one letter, long or short, with few others in it; in a block of its own with just the padding. */
static char *random_value(size_t *size, uint64_t longest)
{
    static const char letters[] = { '\0', 'a', 'b', (char)0x80, (char)0xff };
    *size = random_below(longest + 1);
    char *p = malloc(*size + LB_BOUNDS_PADDING);
    assert_non_null(p);
    memset(p, letters[random_below(8) == 0 ? random_below(sizeof letters) : 1], *size);
    for (uint64_t n = random_below(3); n > 0 && *size > 0; n--)
        p[random_below(*size)] = letters[random_below(sizeof letters)];
    for (size_t i = 0; i < LB_BOUNDS_PADDING; i++)
        p[*size + i] = letters[random_below(sizeof letters)];
    return p;
}

static void assert_kept(lb_str want, const uint8_t *kept, uint32_t size)
{
    size_t most = LB_MIN(want.size, (size_t)LB_STATS_TEXT_BYTES + 1);
    assert_int_equal(size, most);
    assert_memory_equal(kept, want.at, most);
}

/* What is kept is always the least and the greatest by memcmp, and a value that the bounds hold changes nothing. */
static void padded_values_as_plain_ones(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        lb_text_bounds b = { .any = false }, plain = { .any = false };
        lb_str values[24], min = { NULL, 0 }, max = { NULL, 0 };
        const uint64_t longest[] = { 3, 9, 17, 33, 300 };
        for (size_t i = 0; i < LB_COUNT_OF(values); i++) {
            values[i].at = random_value(&values[i].size, longest[(unsigned)round % LB_COUNT_OF(longest)]);
            bool held = lb_text_bounds_hold(&b, lb_text_prefix(values[i].at, values[i].size), values[i].size);
            lb_text_bounds before = b;
            lb_text_bounds_add_padded(&b, values[i].at, values[i].size);
            lb_text_bounds_add(&plain, values[i].at, values[i].size);
            assert_true(!held || memcmp(&b, &before, sizeof b) == 0);
            min = i == 0 || compare(values[i], min) < 0 ? values[i] : min;
            max = i == 0 || compare(values[i], max) > 0 ? values[i] : max;
            assert_kept(min, b.min, b.min_size);
            assert_kept(max, b.max, b.max_size);
        }
        assert_true(b.min_size == plain.min_size && memcmp(b.min, plain.min, b.min_size) == 0);
        assert_true(b.max_size == plain.max_size && memcmp(b.max, plain.max, b.max_size) == 0);
        for (size_t i = 0; i < LB_COUNT_OF(values); i++)
            free((void *)(uintptr_t)values[i].at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_the_least_and_greatest), cmocka_unit_test(none_and_the_empty_text),
        cmocka_unit_test(long_text_is_cut_at_characters),    cmocka_unit_test(long_binary_is_raised_by_bytes),
        cmocka_unit_test(padded_values_as_plain_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
