/* Numbers as text, both ways. Expected values come from Python and NumPy (number_cases.h), or are laws. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "number_cases.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static double double_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void assert_text(const char *want, const char *got, size_t size)
{
    if (size != strlen(want) || memcmp(want, got, size) != 0)
        fail_msg("expected %s, got %.*s", want, (int)size, got);
}

static const struct {
    const char *text;
    lb_number_kind kind;
    int64_t i;
    uint64_t u;
} integer_cases[] = {
    { "0", LB_NUMBER_INT, 0, 0 },
    { "7", LB_NUMBER_INT, 7, 0 },
    { "-1", LB_NUMBER_INT, -1, 0 },
    { "12345678", LB_NUMBER_INT, 12345678, 0 },
    { "123456789", LB_NUMBER_INT, 123456789, 0 },
    { "1234567890123456", LB_NUMBER_INT, 1234567890123456, 0 },
    { "9223372036854775807", LB_NUMBER_INT, INT64_MAX, 0 },
    { "-9223372036854775808", LB_NUMBER_INT, INT64_MIN, 0 },
    { "9223372036854775808", LB_NUMBER_UINT, 0, UINT64_C(9223372036854775808) },
    { "9999999999999999999", LB_NUMBER_UINT, 0, UINT64_C(9999999999999999999) },
    { "10000000000000000000", LB_NUMBER_UINT, 0, UINT64_C(10000000000000000000) },
    { "18446744073709551615", LB_NUMBER_UINT, 0, UINT64_MAX },
    { "18446744073709551616", LB_NUMBER_BIG, 0, 0 },
    { "19999999999999999999", LB_NUMBER_BIG, 0, 0 },
    { "20000000000000000000", LB_NUMBER_BIG, 0, 0 },
    { "36893488147419103232", LB_NUMBER_BIG, 0, 0 },
    { "99999999999999999999", LB_NUMBER_BIG, 0, 0 },
    { "123456789012345678901234567890", LB_NUMBER_BIG, 0, 0 },
    { "-9223372036854775809", LB_NUMBER_BIG, 0, 0 },
    { "-18446744073709551615", LB_NUMBER_BIG, 0, 0 },
    { "-18446744073709551616", LB_NUMBER_BIG, 0, 0 },
};

static void number_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(integer_cases); i++) {
        const char *text = integer_cases[i].text;
        lb_number n;
        lb_number_kind kind = lb_number_parse(text, strlen(text), &n);
        if (kind != integer_cases[i].kind)
            fail_msg("%s: kind %d", text, (int)kind);
        assert_false(n.point);
        if (kind == LB_NUMBER_INT)
            assert_true(n.i == integer_cases[i].i);
        if (kind == LB_NUMBER_UINT)
            assert_true(n.u == integer_cases[i].u);
    }
}

static const char *const no_numbers[] = {
    "",           "-",         "+",
    "+5",         "00",        "01",
    "-01",        "00.5",      "01e5",
    "-00",        ".",         "-.",
    ".e5",        "e5",        "1e",
    "1e+",        "1e-",       "1e5.",
    "1.2.3",      "1 ",        " 1",
    "1,5",        "0x10",      "1_000",
    "1f",         "na",        "n",
    "nano",       "NaN ",      "infinit",
    "Infinityy",  "--1",       "-+1",
    "+-inf",      "-+inf",     "+0.5",
    "1e999",      "-1e999",    "1e309",
    "2020-01-01", "12:30:00",  "1.7976931348623159e308",
    "hello",      "1e5e5",     "\xff",
    "1\x80",      "12345678x", "1234567:",
    "1234567/",   "12/45678",  "1e99999999999999999999",
    "0.1e1000",   "٣",         "e",
    "-e5",        "inf5",      "-.e1",
};

static void number_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(no_numbers); i++) {
        lb_number n;
        if (lb_number_parse(no_numbers[i], strlen(no_numbers[i]), &n) != LB_NOT_A_NUMBER)
            fail_msg("%s was taken for a number", no_numbers[i]);
    }
    lb_number n;
    assert_int_equal(lb_number_parse("1\0", 2, &n), LB_NOT_A_NUMBER);
    assert_int_equal(lb_number_parse(NULL, 0, &n), LB_NOT_A_NUMBER);
}

static const struct {
    const char *text;
    double value;
    bool point;
    uint32_t whole, fraction;
} float_texts[] = {
    { "-0", -0.0, false, 0, 0 },
    { "-0.0", -0.0, true, 0, 1 },
    { "0.5", 0.5, true, 0, 1 },
    { ".5", 0.5, true, 0, 1 },
    { "-.5", -0.5, true, 0, 1 },
    { "5.", 5.0, true, 1, 0 },
    { "-12.50", -12.5, true, 2, 2 },
    { "0.", 0.0, true, 0, 0 },
    { "1e5", 1e5, false, 0, 0 },
    { "1E5", 1e5, false, 0, 0 },
    { "1e+5", 1e5, false, 0, 0 },
    { "1e-05", 1e-5, false, 0, 0 },
    { "0e1", 0.0, false, 0, 0 },
    { "0e999", 0.0, false, 0, 0 },
    { "1.5e3", 1500.0, false, 0, 0 },
    { "5.e0", 5.0, false, 0, 0 },
    { "123456789.123456789", 123456789.123456789, true, 9, 9 },
    { "1e-999", 0.0, false, 0, 0 },
    { "-1e-999", -0.0, false, 0, 0 },
    { "inf", (double)INFINITY, false, 0, 0 },
    { "+Inf", (double)INFINITY, false, 0, 0 },
    { "-INFINITY", -(double)INFINITY, false, 0, 0 },
    { "infinity", (double)INFINITY, false, 0, 0 },
};

static void number_floats(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(float_texts); i++) {
        const char *text = float_texts[i].text;
        lb_number n;
        double v;
        if (lb_number_parse(text, strlen(text), &n) != LB_NUMBER_FLOAT || bits_of(n.f) != bits_of(float_texts[i].value))
            fail_msg("%s: %.17g", text, n.f);
        if (n.point != float_texts[i].point || n.whole_digits != float_texts[i].whole ||
            n.fraction_digits != float_texts[i].fraction)
            fail_msg("%s: digits %u %u", text, n.whole_digits, n.fraction_digits);
        assert_true(lb_parse_double(text, strlen(text), &v) && bits_of(v) == bits_of(n.f));
    }
    static const char *const nans[] = { "nan", "NaN", "-nan", "+NAN" };
    for (size_t i = 0; i < COUNT_OF(nans); i++) {
        lb_number n;
        assert_int_equal(lb_number_parse(nans[i], strlen(nans[i]), &n), LB_NUMBER_FLOAT);
        assert_true(isnan(n.f));
    }
}

static void number_hard(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hard_cases); i++) {
        const char *text = hard_cases[i].text;
        double v;
        if (!lb_parse_double(text, strlen(text), &v) || bits_of(v) != hard_cases[i].bits)
            fail_msg("%s: got %.17g, expected %.17g", text, v, double_of(hard_cases[i].bits));
    }
}

/* A tie written with 100,000 digits, and what one digit at the end of it changes. */
static void number_many_digits(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    char *text = malloc(SIZE);
    double v;
    assert_non_null(text);
    memset(text, '0', SIZE);
    memcpy(text, "9007199254740993.", 17);
    assert_true(lb_parse_double(text, SIZE, &v) && v == 9007199254740992.0);
    text[SIZE - 1] = '1';
    assert_true(lb_parse_double(text, SIZE, &v) && v == 9007199254740994.0);
    memset(text, '0', SIZE);
    memcpy(text, "0.", 2);
    memcpy(text + SIZE - 8, "25e99994", 8);
    assert_true(lb_parse_double(text, SIZE, &v) && v == 2500.0);
    free(text);
}

static const struct {
    const char *text;
    bool fits_int, fits_uint;
    int64_t i;
    uint64_t u;
} declared_cases[] = {
    { "0", true, true, 0, 0 },
    { "+5", true, true, 5, 5 },
    { "007", true, true, 7, 7 },
    { "+0000000000000000000000000012", true, true, 12, 12 },
    { "-007", true, false, -7, 0 },
    { "-0", true, false, 0, 0 },
    { "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
    { "9223372036854775808", false, true, 0, UINT64_C(9223372036854775808) },
    { "-9223372036854775808", true, false, INT64_MIN, 0 },
    { "-9223372036854775809", false, false, 0, 0 },
    { "18446744073709551615", false, true, 0, UINT64_MAX },
    { "018446744073709551615", false, true, 0, UINT64_MAX },
    { "18446744073709551616", false, false, 0, 0 },
    { "99999999999999999999", false, false, 0, 0 },
    { "", false, false, 0, 0 },
    { "+", false, false, 0, 0 },
    { "-", false, false, 0, 0 },
    { "+-1", false, false, 0, 0 },
    { "1.0", false, false, 0, 0 },
    { "1 ", false, false, 0, 0 },
    { "12345678a", false, false, 0, 0 },
};

static void number_declared(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(declared_cases); k++) {
        const char *text = declared_cases[k].text;
        int64_t i = 0;
        uint64_t u = 0;
        if (lb_parse_int64(text, strlen(text), &i) != declared_cases[k].fits_int || i != declared_cases[k].i)
            fail_msg("int64 %s", text);
        if (lb_parse_uint64(text, strlen(text), &u) != declared_cases[k].fits_uint || u != declared_cases[k].u)
            fail_msg("uint64 %s", text);
    }
    double v;
    assert_true(lb_parse_double("+0012.50", 8, &v) && v == 12.5);
    assert_true(lb_parse_double("9007199254740993", 16, &v) && v == 9007199254740992.0);
    assert_false(lb_parse_double("1e999", 5, &v));
    assert_false(lb_parse_double("", 0, &v));
    assert_false(lb_parse_double("+", 1, &v));
    assert_false(lb_parse_double("1x", 2, &v));
}

static void print_doubles(void **state)
{
    (void)state;
    char out[LB_DOUBLE_TEXT];
    for (size_t i = 0; i < COUNT_OF(double_cases); i++) {
        double v = double_of(double_cases[i].bits);
        assert_text(double_cases[i].shortest, out, lb_print_double(v, out));
        assert_text(double_cases[i].general, out, lb_print_double_17g(v, out));
    }
    assert_text("NaN", out, lb_print_double((double)NAN, out));
    assert_text("NaN", out, lb_print_double(-(double)NAN, out));
    assert_text("Infinity", out, lb_print_double((double)INFINITY, out));
    assert_text("-Infinity", out, lb_print_double_17g(-(double)INFINITY, out));
}

static void print_floats(void **state)
{
    (void)state;
    char out[LB_DOUBLE_TEXT];
    for (size_t i = 0; i < COUNT_OF(float_cases); i++) {
        float v;
        memcpy(&v, &float_cases[i].bits, sizeof v);
        assert_text(float_cases[i].shortest, out, lb_print_float(v, out));
    }
    assert_text("-Infinity", out, lb_print_float(-INFINITY, out));
}

static void print_integers(void **state)
{
    (void)state;
    char out[LB_INT_TEXT];
    uint64_t random = 88172645463325252;
    assert_text("-9223372036854775808", out, lb_print_int64(INT64_MIN, out));
    assert_text("18446744073709551615", out, lb_print_uint64(UINT64_MAX, out));
    for (int k = 0; k < 20000; k++) {
        char want[32];
        int64_t i = (int64_t)(random_next(&random)) >> (random_next(&random) % 64), back;
        (void)snprintf(want, sizeof want, "%lld", (long long)i);
        size_t size = lb_print_int64(i, out);
        assert_text(want, out, size);
        assert_true(lb_parse_int64(out, size, &back) && back == i);
        (void)snprintf(want, sizeof want, "%llu", (unsigned long long)i);
        assert_text(want, out, lb_print_uint64((uint64_t)i, out));
    }
}

/* Any bits come back, and none of the printed digits can be left out. */
static void print_round_trips(void **state)
{
    (void)state;
    uint64_t random = 20061211;
    for (int k = 0; k < 200000; k++) {
        char out[LB_DOUBLE_TEXT];
        double v = double_of(random_next(&random)), back;
        lb_number n;
        if (!isfinite(v))
            continue;
        size_t size = lb_print_double(v, out);
        if (!lb_parse_double(out, size, &back) || bits_of(back) != bits_of(v))
            fail_msg("%.17g came back as %.17g", v, back);
        assert_int_equal(lb_number_parse(out, size, &n), LB_NUMBER_FLOAT);
        assert_true(bits_of(n.f) == bits_of(v));
        float single = (float)v;
        size = lb_print_float(single, out);
        if (isfinite(single))
            assert_true(lb_parse_double(out, size, &back) && (float)back == single);
    }
}

static void half_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(half_cases); i++) {
        float v = lb_half_to_float(half_cases[i].half);
        assert_memory_equal(&v, &half_cases[i].bits, sizeof v);
    }
    assert_true(isnan(lb_half_to_float(0x7e00)));
    assert_true(isnan(lb_half_to_float(0xfc01)));
}

/* The point stays a point where the locale has a comma. */
static void number_locale(void **state)
{
    (void)state;
    char out[LB_DOUBLE_TEXT];
    double v;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
        skip();
    assert_text("0.10000000000000001", out, lb_print_double_17g(0.1, out));
    assert_text("0.1", out, lb_print_double(0.1, out));
    assert_true(lb_parse_double("0.1", 3, &v) && v == 0.1);
    (void)setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_integers),   cmocka_unit_test(number_refuses),     cmocka_unit_test(number_floats),
        cmocka_unit_test(number_hard),       cmocka_unit_test(number_many_digits), cmocka_unit_test(number_declared),
        cmocka_unit_test(print_doubles),     cmocka_unit_test(print_floats),       cmocka_unit_test(print_integers),
        cmocka_unit_test(print_round_trips), cmocka_unit_test(half_values),        cmocka_unit_test(number_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
