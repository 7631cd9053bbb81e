/* Numbers of Avro: bytes that fastavro 1.13 wrote, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fail.h"
#include "wire/avro_wire.h"

static const struct {
    int64_t value;
    size_t size;
    uint8_t bytes[LB_AVRO_LONG_BYTES];
} longs[] = {
    { 0, 1, { 0x00 } },
    { -1, 1, { 0x01 } },
    { 1, 1, { 0x02 } },
    { 63, 1, { 0x7e } },
    { -64, 1, { 0x7f } },
    { 64, 2, { 0x80, 0x01 } },
    { 8191, 2, { 0xfe, 0x7f } },
    { -8192, 2, { 0xff, 0x7f } },
    { INT32_MAX, 5, { 0xfe, 0xff, 0xff, 0xff, 0x0f } },
    { INT32_MIN, 5, { 0xff, 0xff, 0xff, 0xff, 0x0f } },
    { INT64_MAX, 10, { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
    { INT64_MIN, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
};

/* Each reads whole; cut anywhere it does not, and moves nothing. */
static void numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(longs); i++) {
        for (size_t size = 0; size <= longs[i].size; size++) {
            const uint8_t *p = longs[i].bytes;
            int64_t v = 7;
            assert_int_equal(size == longs[i].size, lb_avro_long(&p, longs[i].bytes + size, &v));
            assert_int_equal(size == longs[i].size ? size : 0, p - longs[i].bytes);
            assert_true(v == (size == longs[i].size ? longs[i].value : 7));
        }
    }
}

static const struct {
    size_t size;
    uint8_t bytes[12];
} wrong[] = {
    { 11, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } }, /* eleven bytes */
    { 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 } },       /* a 65th bit */
};

static void no_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(wrong); i++) {
        const uint8_t *p = wrong[i].bytes;
        lb_cursor c;
        int64_t v;
        assert_false(lb_avro_long(&p, wrong[i].bytes + wrong[i].size, &v));
        lb_cursor_init(&c, wrong[i].bytes, wrong[i].size, 0);
        assert_int_equal(lb_cursor_avro_long(&c), 0);
        assert_true(c.bad);
    }
}

static void runs_of_bytes(void **state)
{
    static const uint8_t good[] = { 0x06, 'a', 'b', 'c' }, negative[] = { 0x01, 'a' };
    const uint8_t *p = good, *out;
    size_t size;
    (void)state;
    assert_true(lb_avro_bytes(&p, good + sizeof good, &out, &size));
    assert_true(size == 3 && out == good + 1 && p == good + 4);
    p = good;
    assert_false(lb_avro_bytes(&p, good + sizeof good - 1, &out, &size));
    p = negative;
    assert_false(lb_avro_bytes(&p, negative + sizeof negative, &out, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers), cmocka_unit_test(no_numbers),
                                        cmocka_unit_test(runs_of_bytes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
