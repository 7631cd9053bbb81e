/* Text read as a given type: the same as the plain functions of number.h say, over texts that fit, nearly fit, and do
 * not. Each lies in a block of its own, whose padding holds what it likes. */
#include "format/delimited/delimited.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state = 88172645463325252;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static delim_target target_of(const char *words)
{
    struct ArrowSchema type;
    delim_target out;
    lb_error err = LB_ERROR_INIT;

    assert_int_equal(lb_type_of_words(words, &type, &err), LB_OK);
    assert_int_equal(delim_target_of(&type, &out, &err), LB_OK);
    type.release(&type);
    return out;
}

static bool parse(const delim_target *t, lb_str text, delim_scalar *out)
{
    static unsigned turn;
    char *copy = malloc(text.size + DELIM_VALUE_PADDING);

    assert_non_null(copy);
    memcpy(copy, text.at, text.size);
    for (size_t i = 0; i < DELIM_VALUE_PADDING; i++)
        copy[text.size + i] = "5.-e:0 \xff"[turn++ % 8];
    *out = (delim_scalar){ .i = 0 };
    bool fits = delim_parse(t, (lb_str){ copy, text.size }, out);
    free(copy);
    return fits;
}

static size_t random_text(char *out, size_t cap)
{
    static const char others[] = "..-eE+ :/a";
    uint64_t wide = random_below(UINT64_MAX) << 11 ^ random_below(2048);
    int64_t i = (int64_t)wide >> random_below(64);
    size_t size = 1 + random_below(24);

    switch (random_below(5)) {
    case 0:
        return (size_t)snprintf(out, cap, "%lld", (long long)i);
    case 1:
        return (size_t)snprintf(out, cap, "%.*f", (int)random_below(6), (double)i / 1000);
    case 2:
        return (size_t)snprintf(out, cap, "%+.*e", (int)random_below(18), (double)i);
    case 3:
        return (size_t)snprintf(out, cap, "%s%0*llu", i % 3 == 0 ? "+" : "", (int)random_below(22),
                                (unsigned long long)wide >> random_below(64));
    default:
        for (size_t k = 0; k < size; k++)
            out[k] = random_below(12) == 0 ? others[random_below(10)] : (char)('0' + random_below(10));
        return size;
    }
}

static void assert_truth(bool truth, lb_str text, const char *type)
{
    if (!truth)
        fail_msg("%.*s as %s", (int)text.size, text.at, type);
}

static void check_integers(lb_str text)
{
    static const char *const types[] = { "int8", "int16", "int32", "int64" };
    static const char *const unsigned_types[] = { "uint8", "uint16", "uint32", "uint64" };
    int64_t i = 0;
    uint64_t u = 0;
    bool is_int = lb_parse_int64(text.at, text.size, &i), is_uint = lb_parse_uint64(text.at, text.size, &u);

    for (unsigned k = 0; k < LB_COUNT_OF(types); k++) {
        delim_target t = target_of(types[k]), ut = target_of(unsigned_types[k]);
        int64_t most = INT64_MAX >> (64 - (8 << k));
        delim_scalar got;
        bool fits = is_int && i <= most && i >= -most - 1;
        assert_truth(parse(&t, text, &got) == fits && (!fits || got.i == i), text, types[k]);
        fits = is_uint && u <= UINT64_MAX >> (64 - (8 << k));
        assert_truth(parse(&ut, text, &got) == fits && (!fits || got.u == u), text, unsigned_types[k]);
    }
}

static void check_floats(lb_str text)
{
    const delim_target t = target_of("float64"), single = target_of("float32");
    double v = 0;
    delim_scalar got;
    bool fits = lb_parse_double(text.at, text.size, &v);

    assert_truth(parse(&t, text, &got) == fits, text, "float64");
    assert_truth(!fits || memcmp(&got.f, &v, sizeof v) == 0, text, "float64");
    fits = fits && (isinf(v) || !isinf((double)(float)v));
    assert_truth(parse(&single, text, &got) == fits, text, "float32");
    assert_truth(!fits || isnan(v) || got.f == (double)(float)v, text, "float32");
}

static void check_decimals(lb_str text)
{
    static const char *const types[] = { "decimal(1,0)",   "decimal(7,2)",  "decimal(18,0)",  "decimal(18,3)",
                                         "decimal(18,18)", "decimal(19,3)", "decimal(38,10)", "decimal(76,40)" };

    for (size_t k = 0; k < LB_COUNT_OF(types); k++) {
        delim_target t = target_of(types[k]);
        lb_i256 want = { { 0 } };
        delim_scalar got;
        bool fits = lb_parse_decimal(text.at, text.size, t.precision, t.scale, &want);
        assert_truth(parse(&t, text, &got) == fits && (!fits || lb_i256_compare(got.d, want) == 0), text, types[k]);
    }
}

static void numbers_as_the_plain_functions(void **state)
{
    static const char *const edges[] = {
        "",
        "-",
        "+",
        ".",
        "-0",
        "+0",
        "007",
        "-007",
        "127",
        "128",
        "-128",
        "-129",
        "255",
        "256",
        "65535",
        "65536",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "1.50",
        "1.500",
        "1.505",
        "-.5",
        "5.",
        "99999.99",
        "100000.00",
        "999999999999999999",
        "1000000000000000000",
        "0.999999999999999999",
        "-0.000",
        "3.4028235e38",
        "3.5e38",
        "1e400",
        "nan",
        "-inf",
    };

    (void)state;
    for (int turn = 0; turn < 150000; turn++) {
        char made[500];
        lb_str text = { made, 0 };
        if ((size_t)turn < LB_COUNT_OF(edges))
            text = lb_str_of(edges[turn]);
        else
            text.size = random_text(made, sizeof made);
        if (text.size > 60)
            continue;
        check_integers(text);
        check_floats(text);
        check_decimals(text);
    }
}

static void booleans_in_any_case(void **state)
{
    const delim_target t = target_of("bool");

    (void)state;
    for (int turn = 0; turn < 200000; turn++) {
        char text[8] = "trueSE";
        size_t size = random_below(8);
        memcpy(text, random_below(2) == 0 ? "true\0\0\0" : "false\0\0", sizeof text - 1);
        for (size_t i = 0; i < size; i++)
            text[i] ^= random_below(3) == 0 ? 0x20 : 0;
        if (random_below(4) == 0)
            text[random_below(7)] ^= (char)(1 << random_below(8));
        else
            size = strlen(text);
        lb_str v = { text, size };
        delim_scalar got;
        bool yes = lb_str_is_nocase(v, "true"), no = lb_str_is_nocase(v, "false");
        assert_truth(parse(&t, v, &got) == (yes || no) && (!yes || got.i == 1) && (!no || got.i == 0), v, "bool");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_as_the_plain_functions),
        cmocka_unit_test(booleans_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
