/* Stored values as Arrow values; what was expected was computed with Python (int.to_bytes, datetime). */
#include "format/parquet/parquet_convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static lb_status convert(lb_parquet_physical physical, uint32_t length, const char *type, const uint8_t *stored,
                         size_t n, uint8_t *out, lb_error *err)
{
    const lb_parquet_leaf leaf = { .physical = physical, .type_length = length, .path = LB_STR("a.b") };
    struct ArrowSchema schema;
    lb_parquet_conversion as;

    assert_int_equal(lb_type_of_words(type, &schema, NULL), LB_OK);
    const lb_parquet_node node = { .shape = LB_PARQUET_LEAF, .schema = &schema, .leaf = &leaf, .n_leaves = 1 };
    lb_status status = lb_parquet_conversion_of(&node, &as, err);
    if (status == LB_OK)
        status = lb_parquet_convert(&as, stored, n, out, err);
    schema.release(&schema);
    return status;
}

static const struct {
    lb_parquet_physical physical;
    uint32_t length;
    const char *type;
    size_t n;
    const uint8_t *stored;
    size_t stored_size;
    const uint8_t *want;
    size_t size;
} cases[] = {
    { LB_PARQUET_INT32, 0, "int8", 2, BYTES("\x80\xFF\xFF\xFF\x7F\0\0\0"), BYTES("\x80\x7F") },
    { LB_PARQUET_INT32, 0, "uint8", 2, BYTES("\xFF\0\0\0\0\0\0\0"), BYTES("\xFF\0") },
    { LB_PARQUET_INT32, 0, "int16", 2, BYTES("\0\x80\xFF\xFF\xFF\x7F\0\0"), BYTES("\0\x80\xFF\x7F") },
    { LB_PARQUET_INT32, 0, "uint16", 1, BYTES("\xFF\xFF\0\0"), BYTES("\xFF\xFF") },
    { LB_PARQUET_INT32, 0, "uint32", 1, BYTES("\xFF\xFF\xFF\xFF"), BYTES("\xFF\xFF\xFF\xFF") },
    { LB_PARQUET_INT32, 0, "date", 1, BYTES("\1\2\0\0"), BYTES("\1\2\0\0") },
    { LB_PARQUET_INT32, 0, "decimal(9,2)", 2, BYTES("\xFE\xFF\xFF\xFF\5\0\0\0"),
      BYTES("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") },
    { LB_PARQUET_INT64, 0, "decimal(18,2)", 1, BYTES("\1\0\0\0\0\0\0\x80"),
      BYTES("\1\0\0\0\0\0\0\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF") },
    /* -1 and 256 in 3 bytes; 2 bytes below 0; 17 bytes whose first is only the sign */
    { LB_PARQUET_FIXED, 3, "decimal(6,0)", 2, BYTES("\xFF\xFF\xFF\0\1\0"),
      BYTES("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0") },
    { LB_PARQUET_FIXED, 9, "decimal(20,0)", 1, BYTES("\x80\0\0\0\0\0\0\0\2"),
      BYTES("\2\0\0\0\0\0\0\0\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF") },
    { LB_PARQUET_FIXED, 17, "decimal(38,0)", 1, BYTES("\xFF\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"),
      BYTES("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80") },
    { LB_PARQUET_FIXED, 2, "decimal(40,0)", 1, BYTES("\xFF\xFE"),
      BYTES("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
            "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF") },
    { LB_PARQUET_FIXED, 2, "float16", 1, BYTES("\0\x3C"), BYTES("\0\x3C") },
    { LB_PARQUET_FIXED, 3, "fixed_binary(3)", 1, BYTES("abc"), BYTES("abc") },
    /* 1970-01-01 00:00:00.000000001; 2000-01-01 12:00 = 946728000 s; the day before 1970 */
    { LB_PARQUET_INT96, 0, "timestamp[ns]", 3,
      BYTES("\1\0\0\0\0\0\0\0\x8C\x3D\x25\0\0\x80\xA7\x48\x4A\x27\0\0\x59\x68\x25\0\0\0\0\0\0\0\0\0\x8B\x3D\x25\0"),
      BYTES("\1\0\0\0\0\0\0\0\0\x80\xEA\x9A\x19\x74\x23\x0D\0\0\xB1\x6E\x6B\xB1\xFF\xFF") },
    /* 1 month, 2 days, 3 ms */
    { LB_PARQUET_FIXED, 12, "interval[month_day_ns]", 1, BYTES("\1\0\0\0\2\0\0\0\3\0\0\0"),
      BYTES("\1\0\0\0\2\0\0\0\xC0\xC6\x2D\0\0\0\0\0") },
};

static void converting(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint8_t out[64];
        lb_error err = { .code = LB_OK };
        lb_status status =
            convert(cases[i].physical, cases[i].length, cases[i].type, cases[i].stored, cases[i].n, out, &err);
        if (status != LB_OK || memcmp(out, cases[i].want, cases[i].size) != 0)
            fail_msg("case %zu: %s", i, err.message);
    }
}

static void not_fitting(void **state)
{
    static const struct {
        lb_parquet_physical physical;
        uint32_t length;
        const char *type;
        const char *stored;
        lb_status status;
        const char *says;
    } bad[] = {
        { LB_PARQUET_INT32, 0, "int8", "\x80\0\0\0", LB_CORRUPT, "int8" },
        { LB_PARQUET_INT32, 0, "uint16", "\xFF\xFF\xFF\xFF", LB_CORRUPT, "uint16" },
        { LB_PARQUET_FIXED, 17, "decimal(38,0)", "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", LB_CORRUPT, "decimal128" },
        { LB_PARQUET_FIXED, 17, "decimal(38,0)", "\0\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", LB_CORRUPT, "decimal128" },
        /* Julian day 0; the day 5373484, 9999-12-31 */
        { LB_PARQUET_INT96, 0, "timestamp[ns]", "\0\0\0\0\0\0\0\0\0\0\0\0", LB_CORRUPT, "1677 to 2262" },
        { LB_PARQUET_INT96, 0, "timestamp[ns]", "\0\0\0\0\0\0\0\0\x2C\xFE\x51\0", LB_CORRUPT, "1677 to 2262" },
        { LB_PARQUET_FIXED, 12, "interval[month_day_ns]", "\0\0\0\x80\0\0\0\0\0\0\0\0", LB_CORRUPT, "interval" },
        { LB_PARQUET_FIXED, 3, "fixed_binary(4)", "abc", LB_UNSUPPORTED, "column a.b" },
        { LB_PARQUET_DOUBLE, 0, "float32", "12345678", LB_UNSUPPORTED, "float32" },
        { LB_PARQUET_INT96, 0, "timestamp[us]", "123456789abc", LB_UNSUPPORTED, "timestamp[us]" },
    };
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++) {
        uint8_t out[32];
        lb_error err = { .code = LB_OK };
        assert_int_equal(
            convert(bad[i].physical, bad[i].length, bad[i].type, (const uint8_t *)bad[i].stored, 1, out, &err),
            bad[i].status);
        if (strstr(err.message, bad[i].says) == NULL)
            fail_msg("case %zu: %s", i, err.message);
    }
}

/* Decimals of any length, of none too: that is 0. */
static void decimals_of_bytes(void **state)
{
    const lb_parquet_leaf leaf = { .physical = LB_PARQUET_BYTE_ARRAY };
    struct ArrowSchema schema;
    lb_parquet_conversion as;
    lb_parquet_strings in;
    const int32_t ends[] = { 0, 0, 1, 3, 21 };
    uint8_t out[4 * 16];

    (void)state;
    assert_int_equal(lb_type_of_words("decimal(38,3)", &schema, NULL), LB_OK);
    const lb_parquet_node node = { .shape = LB_PARQUET_LEAF, .schema = &schema, .leaf = &leaf, .n_leaves = 1 };
    assert_int_equal(lb_parquet_conversion_of(&node, &as, NULL), LB_OK);
    lb_parquet_strings_init(&in, NULL);
    assert_int_equal(lb_buf_append(&in.ends, ends, sizeof ends, NULL), LB_OK);
    assert_int_equal(lb_buf_append(&in.data, "\x85\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x7F", 21, NULL), LB_OK);
    assert_int_equal(lb_parquet_convert_strings(&as, &in, out, NULL), LB_OK);
    assert_memory_equal(
        out,
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x85\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
        "\2\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x7F\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        64);
    lb_parquet_strings_free(&in);
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converting),
        cmocka_unit_test(not_fitting),
        cmocka_unit_test(decimals_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
