/* Protocol Buffers: the examples of its description, packed and unpacked numbers, and damage at every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/proto.h"

/* The examples of the encoding's description (protobuf.dev, "Encoding"): field, wire type, number or bytes. */
static const struct {
    const char *bytes;
    size_t size;
    uint32_t number;
    lb_proto_wire wire;
    uint64_t value;
    const char *text;
} fields[] = {
    { "\x08\x96\x01", 3, 1, LB_PROTO_VARINT, 150, NULL },
    { "\x12\x07testing", 9, 2, LB_PROTO_BYTES, 0, "testing" },
    { "\x1a\x03\x08\x96\x01", 5, 3, LB_PROTO_BYTES, 0, "\x08\x96\x01" },
    { "\x20\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 4, LB_PROTO_VARINT, UINT64_MAX - 1, NULL }, /* -2 as int32 */
    { "\x2d\x00\x00\x80\x3f", 5, 5, LB_PROTO_FIXED32, 0x3f800000, NULL },                             /* 1.0f */
    { "\x31\x00\x00\x00\x00\x00\x00\xf0\x3f", 9, 6, LB_PROTO_FIXED64, 0x3ff0000000000000, NULL },     /* 1.0 */
    { "\x82\xf4\x03\x03ORC", 7, 8000, LB_PROTO_BYTES, 0, "ORC" },
};

static void test_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lb_proto m = lb_proto_of((lb_str){ fields[i].bytes, fields[i].size });
        lb_proto_field f;
        assert_true(lb_proto_next(&m, &f));
        assert_int_equal(f.number, fields[i].number);
        assert_int_equal(f.wire, fields[i].wire);
        assert_int_equal(f.value, fields[i].value);
        if (fields[i].text != NULL)
            assert_true(lb_str_is(f.bytes, fields[i].text));
        assert_false(lb_proto_next(&m, &f));
        assert_false(m.bad);
    }
}

/* Cut anywhere, a field is none, and the message is bad; of no bytes it is merely at its end. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t size = 0; size < fields[i].size; size++) {
            char *copy = malloc(size + 1);
            lb_proto_field f;
            assert_non_null(copy);
            memcpy(copy, fields[i].bytes, size);
            lb_proto m = lb_proto_of((lb_str){ copy, size });
            assert_false(lb_proto_next(&m, &f));
            assert_int_equal(m.bad, size != 0);
            assert_false(lb_proto_next(&m, &f));
            free(copy);
        }
}

static void test_bad(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        { "\x00\x01", 2 },                                          /* field 0 */
        { "\x0b\x0c", 2 },                                          /* a group */
        { "\x0e", 1 },                                              /* a wire type that there is none of */
        { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },     /* more bytes than there are */
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 }, /* a number of more than ten bytes */
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lb_proto m = lb_proto_of((lb_str){ bad[i].bytes, bad[i].size });
        lb_proto_field f;
        assert_false(lb_proto_next(&m, &f));
        assert_true(m.bad);
    }
}

/* repeated int32 f = 6 [packed=true], with 3, 270 and 86942; and the same one by one. */
static void test_packed(void **state)
{
    static const uint64_t values[] = { 3, 270, 86942 };
    lb_proto m = lb_proto_of(LB_STR("\x32\x06\x03\x8e\x02\x9e\xa7\x05"));
    lb_proto_field f;
    uint64_t v;

    (void)state;
    assert_true(lb_proto_next(&m, &f));
    lb_proto_packed p = lb_proto_unpack(&f);
    for (size_t i = 0; i < 3; i++) {
        assert_true(lb_proto_packed_next(&p, &v));
        assert_int_equal(v, values[i]);
    }
    assert_false(lb_proto_packed_next(&p, &v));
    assert_false(p.inner.bad);
    m = lb_proto_of(LB_STR("\x30\x03\x30\x8e\x02\x30\x9e\xa7\x05"));
    for (size_t i = 0; i < 3; i++) {
        assert_true(lb_proto_next(&m, &f));
        p = lb_proto_unpack(&f);
        assert_true(lb_proto_packed_next(&p, &v));
        assert_int_equal(v, values[i]);
        assert_false(lb_proto_packed_next(&p, &v));
    }
    m = lb_proto_of(LB_STR("\x32\x01\x80"));
    assert_true(lb_proto_next(&m, &f));
    p = lb_proto_unpack(&f);
    assert_false(lb_proto_packed_next(&p, &v));
    assert_true(p.inner.bad);
}

static void test_zigzag(void **state)
{
    static const int64_t values[] = { 0, -1, 1, -2, 2 };

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(lb_proto_zigzag(i), values[i]);
    assert_int_equal(lb_proto_zigzag(UINT64_MAX), INT64_MIN);
    assert_int_equal(lb_proto_zigzag(UINT64_MAX - 1), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fields), cmocka_unit_test(test_cut),
                                        cmocka_unit_test(test_bad), cmocka_unit_test(test_packed),
                                        cmocka_unit_test(test_zigzag) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
