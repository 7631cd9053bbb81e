/* Roaring bitmaps: bytes that pyroaring 1.0 (CRoaring) wrote, what each damage gives, and the round trip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/roaring.h"

#define ALL ((uint64_t)UINT32_MAX + 1)

/* Runs of numbers: first, count. */
typedef struct run {
    uint32_t first, count;
} run;

static const struct {
    const char *hex;
    run runs[8];
} cases[] = {
    { "3a30000000000000", { { 0, 0 } } },
    { "3a3000000100000000000000100000000500", { { 5, 1 } } },
    { "3a300000030000000000020001000000ffff00002000000026000000280000000000010002007011ffff",
      { { 0, 3 }, { 70000, 1 }, { UINT32_MAX, 1 } } },
    { "3b30020005000087130100010003006300010000008713701171110100400d6300",
      { { 0, 5000 }, { 70000, 2 }, { 200000, 100 } } },
    { "3b3004001f00006300010063000200630003006300040063002d00000033000000390000003f0000004500000001000000630001000000"
      "6300010000006300010000006300010000006300",
      { { 0, 100 }, { 65536, 100 }, { 131072, 100 }, { 196608, 100 }, { 262144, 100 } } },
};

static size_t bytes_of(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

static void numbers_of_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint8_t bytes[256];
        size_t size = bytes_of(cases[i].hex, bytes), at = 0;
        lb_error err = LB_ERROR_INIT;
        lb_buf out;
        lb_buf_init(&out, NULL);
        assert_int_equal(LB_OK, lb_roaring_decode(bytes, size, ALL, &out, &err));
        const uint32_t *v = (const uint32_t *)(const void *)out.data;
        for (size_t r = 0; r < LB_COUNT_OF(cases[i].runs); r++)
            for (uint32_t k = 0; k < cases[i].runs[r].count; k++, at++) {
                assert_true(at < out.size / sizeof *v);
                assert_int_equal(cases[i].runs[r].first + k, v[at]);
            }
        assert_int_equal(at, out.size / sizeof *v);
        lb_buf_free(&out);
        /* Cut anywhere, it is damaged. */
        for (size_t cut = 0; cut < size; cut++) {
            lb_buf_init(&out, NULL);
            assert_int_equal(LB_CORRUPT, lb_roaring_decode(bytes, cut, ALL, &out, NULL));
            lb_buf_free(&out);
        }
    }
}

/* Without runs the encoding is the one that others write. */
static void bytes_of_others(void **state)
{
    static const uint32_t small[] = { 0, 1, 2, 70000, UINT32_MAX };
    uint8_t bytes[256];
    lb_buf out;

    (void)state;
    lb_buf_init(&out, NULL);
    assert_int_equal(LB_OK, lb_roaring_encode(small, LB_COUNT_OF(small), &out, NULL));
    assert_int_equal(out.size, bytes_of(cases[2].hex, bytes));
    assert_memory_equal(out.data, bytes, out.size);
    out.size = 0;
    assert_int_equal(LB_OK, lb_roaring_encode(NULL, 0, &out, NULL));
    assert_int_equal(out.size, bytes_of(cases[0].hex, bytes));
    assert_memory_equal(out.data, bytes, out.size);
    lb_buf_free(&out);
}

static void round_trip(void **state)
{
    static const struct {
        uint32_t count, step;
    } shapes[] = { { 4096, 1 }, { 4097, 1 }, { 5000, 2 }, { 65536, 1 }, { 70000, 3 }, { 300, 60000 }, { 1, 1 } };

    (void)state;
    for (size_t s = 0; s < LB_COUNT_OF(shapes); s++) {
        uint32_t *values = calloc(shapes[s].count, sizeof *values);
        lb_buf bytes, out;
        assert_non_null(values);
        for (uint32_t i = 0; i < shapes[s].count; i++)
            values[i] = 7 + i * shapes[s].step;
        lb_buf_init(&bytes, NULL);
        lb_buf_init(&out, NULL);
        assert_int_equal(LB_OK, lb_roaring_encode(values, shapes[s].count, &bytes, NULL));
        assert_int_equal(LB_OK, lb_roaring_decode(bytes.data, bytes.size, ALL, &out, NULL));
        assert_int_equal(out.size, shapes[s].count * sizeof *values);
        assert_memory_equal(out.data, values, out.size);
        out.size = 0;
        uint64_t last = values[shapes[s].count - 1];
        assert_int_equal(LB_CORRUPT, lb_roaring_decode(bytes.data, bytes.size, last, &out, NULL));
        lb_buf_free(&bytes);
        lb_buf_free(&out);
        free(values);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_others),
        cmocka_unit_test(bytes_of_others),
        cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
