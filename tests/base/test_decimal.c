/* Decimals of up to 76 digits. Expected values come from Python's decimal module (decimal_cases.h), or are laws. */
#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "decimal_cases.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void assert_text(const char *want, const char *got, size_t size)
{
    if (size != strlen(want) || memcmp(want, got, size) != 0)
        fail_msg("expected %s, got %.*s", want, (int)size, got);
}

static void decimal_values(void **state)
{
    (void)state;
    char out[LB_DECIMAL_TEXT];
    for (size_t i = 0; i < COUNT_OF(decimal_cases); i++) {
        const char *text = decimal_cases[i].text;
        lb_i256 v;
        if (!lb_parse_decimal(text, strlen(text), decimal_cases[i].precision, decimal_cases[i].scale, &v) ||
            lb_i256_compare(v, decimal_cases[i].value) != 0)
            fail_msg("%s was not read", text);
        assert_text(text, out, lb_print_decimal(v, decimal_cases[i].scale, out));
    }
}

static const struct {
    const char *text;
    int precision, scale;
    bool fits;
    int64_t value;
} small_cases[] = {
    { "12.5", 5, 2, true, 1250 },    { "+12.5", 5, 2, true, 1250 },     { "-00012.5000000", 5, 2, true, -1250 },
    { "12.505", 5, 2, false, 0 },    { "999.99", 5, 2, true, 99999 },   { "1000", 5, 2, false, 0 },
    { ".5", 5, 2, true, 50 },        { "5.", 5, 2, true, 500 },         { "-0", 5, 2, true, 0 },
    { "0.00", 1, 0, true, 0 },       { "0.05", 2, 2, true, 5 },         { "1.05", 2, 2, false, 0 },
    { "12300", 3, -2, true, 123 },   { "12310", 4, -2, false, 0 },      { "1234500", 4, -2, false, 0 },
    { "0", 3, -2, true, 0 },         { "5", 3, -2, false, 0 },          { "100", 3, -5, false, 0 },
    { "100.5", 3, -2, false, 0 },    { "0.00012", 2, 5, true, 12 },     { "0.00123", 2, 5, false, 0 },
    { "", 5, 2, false, 0 },          { "-", 5, 2, false, 0 },           { ".", 5, 2, false, 0 },
    { "+.", 5, 2, false, 0 },        { "1e2", 5, 2, false, 0 },         { "1.2.3", 5, 2, false, 0 },
    { " 1", 5, 2, false, 0 },        { "1", 77, 0, false, 0 },          { "1", 5, 2000000000, false, 0 },
    { "0", 5, 2000000000, true, 0 }, { "1", 5, -2000000000, false, 0 },
};

static void decimal_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(small_cases); i++) {
        const char *text = small_cases[i].text;
        lb_i256 v = lb_i256_of(0);
        if (lb_parse_decimal(text, strlen(text), small_cases[i].precision, small_cases[i].scale, &v) !=
            small_cases[i].fits)
            fail_msg("%s in (%d,%d)", text, small_cases[i].precision, small_cases[i].scale);
        if (lb_i256_compare(v, lb_i256_of(small_cases[i].value)) != 0)
            fail_msg("%s: another value", text);
    }
}

static void decimal_print(void **state)
{
    (void)state;
    char out[LB_DECIMAL_TEXT + 8];
    const lb_i256 least = { { 0, 0, 0, (uint64_t)1 << 63 } };
    assert_text("12300", out, lb_print_decimal(lb_i256_of(123), -2, out));
    assert_text("0", out, lb_print_decimal(lb_i256_of(0), -2, out));
    assert_text("0.00", out, lb_print_decimal(lb_i256_of(0), 2, out));
    assert_text("-0.05", out, lb_print_decimal(lb_i256_of(-5), 2, out));
    assert_text("-57896044618658097711785492504343953926634992332820282019728792003956564819968", out,
                lb_print_decimal(least, 0, out));
    /* a scale that only a damaged file has must not run over the end */
    size_t size = lb_print_decimal(least, 93, out);
    assert_true(size <= LB_DECIMAL_TEXT);
    size = lb_print_decimal(least, INT32_MAX, out);
    assert_text("-57896044618658097711785492504343953926634992332820282019728792003956564819968e-2147483647", out,
                size);
    assert_true(size <= LB_DECIMAL_TEXT);
}

static void decimal_order(void **state)
{
    (void)state;
    static const int64_t values[] = { INT64_MIN, -2, -1, 0, 1, 2, INT64_MAX };
    for (size_t i = 0; i < COUNT_OF(values); i++)
        for (size_t j = 0; j < COUNT_OF(values); j++)
            assert_int_equal(lb_i256_compare(lb_i256_of(values[i]), lb_i256_of(values[j])), (i > j) - (i < j));
    const lb_i256 big = { { 0, 0, 1, 0 } }, small = { { UINT64_MAX, UINT64_MAX, 0, 0 } };
    assert_true(lb_i256_compare(big, small) > 0);
    assert_true(lb_i256_compare(lb_i256_of(-1), small) < 0);
}

static void decimal_negate(void **state)
{
    (void)state;
    static const int64_t values[] = { INT64_MIN + 1, -1, 0, 1, INT64_MAX };
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_int_equal(0, lb_i256_compare(lb_i256_negate(lb_i256_of(values[i])), lb_i256_of(-values[i])));
    const lb_i256 carried = { { 0, 0, 1, 0 } }, want = { { 0, 0, UINT64_MAX, UINT64_MAX } };
    const lb_i256 least = { { 0, 0, 0, (uint64_t)1 << 63 } };
    assert_int_equal(0, lb_i256_compare(lb_i256_negate(carried), want));
    assert_int_equal(0, lb_i256_compare(lb_i256_negate(least), least));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_values), cmocka_unit_test(decimal_rules),  cmocka_unit_test(decimal_print),
        cmocka_unit_test(decimal_order),  cmocka_unit_test(decimal_negate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
