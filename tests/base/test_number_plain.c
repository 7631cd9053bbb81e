/* Plain numbers read without a loop: the same as lb_number_parse and C's strtod say, over millions of texts that are
 * numbers, nearly numbers and none. Each text lies in a block of its own, whose padding holds what it likes. */
#include "base/number_plain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/number.h"

#define LONGEST 30

static uint64_t random_state = 88172645463325252;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void nondigits_byte_by_byte(void **state)
{
    (void)state;
    for (int turn = 0; turn < 300000; turn++) {
        char bytes[16];
        uint32_t want = 0;
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (char)(turn % 2 == 0 ? random_below(256) : '.' + random_below(14));
            want |= (uint32_t)(bytes[i] < '0' || bytes[i] > '9') << i;
        }
        assert_int_equal(lb_nondigits16(bytes), want);
        assert_int_equal(lb_nondigits16_scalar(bytes), want);
    }
}

/* A copy with just the padding that is promised. */
static char *padded(const char *text, size_t size)
{
    char *copy = malloc(size + LB_DIGITS_PADDING);
    assert_non_null(copy);
    memcpy(copy, text, size);
    for (size_t i = 0; i < LB_DIGITS_PADDING; i++)
        copy[size + i] = "0.5e+-9\xff"[random_below(8)];
    return copy;
}

static void assert_truth(bool truth, const char *text, size_t size, const char *what)
{
    if (!truth)
        fail_msg("%.*s: %s", (int)size, text, what);
}

static void check_plain(const char *text, size_t size, lb_number_kind kind, const lb_number *want, const lb_plain *n)
{
    int64_t i;
    bool integer = lb_plain_integer(n, &i);

    assert_truth(integer == (kind == LB_NUMBER_INT && want->i != INT64_MIN), text, size, "an integer or not");
    if (integer) {
        assert_truth(i == want->i, text, size, "its value");
    } else if (!n->point) {
        bool zero = kind == LB_NUMBER_FLOAT && n->negative && n->digits == 0;
        bool large = n->digits > INT64_MAX && (n->negative || (kind == LB_NUMBER_UINT && want->u == n->digits));
        assert_truth(zero || large, text, size, "no integer within int64");
    } else {
        assert_truth(kind == LB_NUMBER_FLOAT && want->point, text, size, "its kind");
        assert_truth(same_bits(lb_plain_double(n), want->f), text, size, "its double");
        assert_truth(n->fraction == want->fraction_digits, text, size, "digits after the point");
        bool zero = n->whole == 1 && text[n->negative] == '0';
        assert_truth(n->whole - zero == want->whole_digits, text, size, "digits before the point");
    }
}

/* The exact value to 64 bits. */
static void check_estimate(const char *text, size_t size, const lb_plain *n)
{
    long double exact = (long double)n->digits / powl(10, (long double)n->fraction);
    long double got = (long double)lb_plain_estimate(n);

    exact = n->negative ? -exact : exact;
    assert_truth(fabsl(got - exact) <= fabsl(exact) * (long double)LB_ESTIMATE_ERROR, text, size, "its estimate");
}

static size_t count_digits(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size && text[i] != 'e' && text[i] != 'E'; i++)
        n += text[i] >= '0' && text[i] <= '9';
    return n;
}

static void check_text(const char *bytes, size_t size)
{
    char *text = padded(bytes, size), zero_ended[LONGEST + 1];
    lb_number want;
    lb_plain n;
    double f = 0;
    lb_number_kind kind = lb_number_parse(text, size, &want);
    bool short_enough = size <= LONGEST && count_digits(text, size) <= LB_PLAIN_DIGITS;
    bool plain = lb_plain_read(text, size, &n), exponent = lb_plain_exponent(text, size, &f);

    (void)snprintf(zero_ended, sizeof zero_ended, "%.*s", (int)size, bytes);
    assert_truth(!(plain && exponent), text, size, "of one kind");
    if (plain) {
        check_plain(text, size, kind, &want, &n);
        assert_truth(!n.point || same_bits(lb_plain_double(&n), strtod(zero_ended, NULL)), text, size,
                     "strtod's value");
        if (n.digits <= INT64_MAX)
            check_estimate(text, size, &n);
    } else {
        bool should = kind == LB_NUMBER_INT || (kind == LB_NUMBER_FLOAT && want.point);
        assert_truth(!(should && short_enough), text, size, "a plain number that is refused");
    }
    if (exponent) {
        assert_truth(kind == LB_NUMBER_FLOAT && !want.point && same_bits(f, want.f), text, size, "its exponent");
        assert_truth(same_bits(f, strtod(zero_ended, NULL)), text, size, "strtod's value with its exponent");
    }
    free(text);
}

static void edges(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        ".",
        "-.",
        "0",
        "-0",
        "00",
        "0.",
        "-0.",
        ".0",
        "-.0",
        "00.5",
        "1.2.3",
        "1-2",
        "--1",
        "1e5",
        "e5",
        "1e",
        "1e+",
        "1.e1",
        ".e1",
        ".1e1",
        "1e999",
        "0e999",
        "1e-999",
        "1e0005",
        "9.5",
        "12345678",
        "123456789",
        "1234567890123456",
        "12345678901234567",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "9999999999999999999",
        "-9999999999999999999",
        "10000000000000000000",
        "1234567.8",
        "12345678.",
        ".12345678",
        "0.12345678901234567",
        "-0.123456789012345678",
        "9007199254740993.0",
        "9007199254740992.5",
        "9007199254740993e0",
        "5e-324",
        "2e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "4.9406564584124654e-324",
        "-1.5E+10",
        "2.2250738585072011e-308",
        "9999999999999999999e22",
        "1 ",
        " 1",
        "1\xff",
        "1/2",
        "1:2",
        "+1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_text(texts[i], strlen(texts[i]));
}

/* Digits with what else belongs to numbers, seldom or often. */
static void random_texts(void **state)
{
    static const char others[] = "..-eE+ :/a";

    (void)state;
    for (int turn = 0; turn < 2000000; turn++) {
        char text[LONGEST];
        size_t size = 1 + random_below(LONGEST - 1);
        uint64_t odd = 2 + random_below(30);
        for (size_t i = 0; i < size; i++)
            text[i] = random_below(odd) == 0 ? others[random_below(sizeof others - 1)] : (char)('0' + random_below(10));
        if (random_below(4) == 0)
            text[0] = '-';
        check_text(text, size);
    }
}

static int print_form(char *out, size_t cap, double v)
{
    int digits = (int)random_below(18);

    switch (random_below(3)) {
    case 0:
        return snprintf(out, cap, "%.*f", digits, v);
    case 1:
        return snprintf(out, cap, "%.*g", digits, v);
    default:
        return snprintf(out, cap, "%.*e", digits, v);
    }
}

/* Numbers as programs print them. */
static void printed_numbers(void **state)
{
    (void)state;
    for (int turn = 0; turn < 1000000; turn++) {
        char text[400];
        uint64_t bits = random_below(UINT64_MAX) << 8 ^ random_below(UINT64_MAX);
        double v = (double)(int64_t)(bits >> random_below(64)) / (double)(1 + random_below(1000000));
        if (turn % 4 == 0)
            memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        int size = turn % 5 == 0 ? snprintf(text, sizeof text, "%lld", (long long)(int64_t)(bits >> random_below(64)))
                                 : print_form(text, sizeof text, v);
        if (size <= LONGEST)
            check_text(text, (size_t)size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nondigits_byte_by_byte),
        cmocka_unit_test(edges),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(printed_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
