/* Tokens of MessagePack: bytes that Python's msgpack 1.2 wrote; and objects passed over, whole and cut at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fail.h"
#include "wire/msgpack_wire.h"

static size_t bytes_of(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

static const struct {
    const char *hex;
    lb_msgpack_token is;
} tokens[] = {
    { "c0", { .kind = LB_MSGPACK_NIL } },
    { "c3", { .kind = LB_MSGPACK_BOOL, .i = 1 } },
    { "c2", { .kind = LB_MSGPACK_BOOL } },
    { "00", { .kind = LB_MSGPACK_INT } },
    { "7f", { .kind = LB_MSGPACK_INT, .i = 127 } },
    { "cc80", { .kind = LB_MSGPACK_INT, .i = 128 } },
    { "cd0100", { .kind = LB_MSGPACK_INT, .i = 256 } },
    { "ceffffffff", { .kind = LB_MSGPACK_INT, .i = UINT32_MAX } },
    { "cf7fffffffffffffff", { .kind = LB_MSGPACK_INT, .i = INT64_MAX } },
    { "cf8000000000000000", { .kind = LB_MSGPACK_UINT, .u = (uint64_t)1 << 63 } },
    { "cfffffffffffffffff", { .kind = LB_MSGPACK_UINT, .u = UINT64_MAX } },
    { "ff", { .kind = LB_MSGPACK_INT, .i = -1 } },
    { "e0", { .kind = LB_MSGPACK_INT, .i = -32 } },
    { "d0df", { .kind = LB_MSGPACK_INT, .i = -33 } },
    { "d1ff7f", { .kind = LB_MSGPACK_INT, .i = -129 } },
    { "d280000000", { .kind = LB_MSGPACK_INT, .i = INT32_MIN } },
    { "d38000000000000000", { .kind = LB_MSGPACK_INT, .i = INT64_MIN } },
    { "cb3ff8000000000000", { .kind = LB_MSGPACK_FLOAT, .f = 1.5 } },
    { "ca3fc00000", { .kind = LB_MSGPACK_FLOAT, .f = 1.5 } },
    { "a26162", { .kind = LB_MSGPACK_STR, .n = 2 } },
    { "d9026162", { .kind = LB_MSGPACK_STR, .n = 2 } },
    { "da00026162", { .kind = LB_MSGPACK_STR, .n = 2 } },
    { "db000000026162", { .kind = LB_MSGPACK_STR, .n = 2 } },
    { "c4026162", { .kind = LB_MSGPACK_BIN, .n = 2 } },
    { "c500026162", { .kind = LB_MSGPACK_BIN, .n = 2 } },
    { "c6000000026162", { .kind = LB_MSGPACK_BIN, .n = 2 } },
    { "d5056162", { .kind = LB_MSGPACK_EXT, .n = 2, .i = 5 } },
    { "c702ff6162", { .kind = LB_MSGPACK_EXT, .n = 2, .i = -1 } },
    { "c80002056162", { .kind = LB_MSGPACK_EXT, .n = 2, .i = 5 } },
    { "c900000002056162", { .kind = LB_MSGPACK_EXT, .n = 2, .i = 5 } },
    { "93", { .kind = LB_MSGPACK_ARRAY, .n = 3 } },
    { "dc0003", { .kind = LB_MSGPACK_ARRAY, .n = 3 } },
    { "dd00000003", { .kind = LB_MSGPACK_ARRAY, .n = 3 } },
    { "83", { .kind = LB_MSGPACK_MAP, .n = 3 } },
    { "de0003", { .kind = LB_MSGPACK_MAP, .n = 3 } },
    { "dfffffffff", { .kind = LB_MSGPACK_MAP, .n = UINT32_MAX } },
};

static void check(const lb_msgpack_token *want, const lb_msgpack_token *got)
{
    assert_int_equal(want->kind, got->kind);
    if (want->kind == LB_MSGPACK_UINT)
        assert_true(want->u == got->u);
    else if (want->kind == LB_MSGPACK_FLOAT)
        assert_true(want->f == got->f);
    else if (want->kind >= LB_MSGPACK_STR)
        assert_true(want->n == got->n);
    if (want->kind <= LB_MSGPACK_INT || want->kind == LB_MSGPACK_EXT)
        assert_true(want->kind == LB_MSGPACK_NIL || want->i == got->i);
    if (want->kind >= LB_MSGPACK_STR && want->kind <= LB_MSGPACK_EXT)
        assert_memory_equal(got->data, "ab", 2);
}

static void every_token(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(tokens); i++) {
        uint8_t bytes[32];
        const size_t size = bytes_of(tokens[i].hex, bytes);
        for (size_t cut = 0; cut <= size; cut++) {
            const uint8_t *p = bytes;
            lb_msgpack_token t = { .kind = LB_MSGPACK_NIL };
            const bool got = lb_msgpack_next(&p, bytes + cut, &t);
            assert_int_equal(got, cut == size);
            assert_int_equal(p - bytes, got ? size : 0);
            if (got)
                check(&tokens[i].is, &t);
        }
    }
}

static void no_token(void **state)
{
    static const uint8_t byte = 0xC1;
    const uint8_t *p = &byte, *start = NULL;
    lb_msgpack_skip s = { &byte, 0 };
    lb_msgpack_token t;
    uint64_t done;
    (void)state;
    assert_false(lb_msgpack_next(&p, &byte + 1, &t));
    assert_int_equal(LB_MSGPACK_BAD, lb_msgpack_pass(&s, &byte + 1, 1, &done, &start));
    assert_ptr_equal(s.at, &byte);
}

/* [1, {"a": [None, b"xy"]}], "text", {}, 2**40, [[[[[]]]]] */
static const char objects[] = "920181a16192c0c4027879"
                              "a474657874"
                              "80"
                              "cf0000010000000000"
                              "9191919190";

static void passing(void **state)
{
    static const size_t ends[] = { 0, 11, 16, 17, 26, 31 };
    uint8_t bytes[64];
    (void)state;
    const size_t size = bytes_of(objects, bytes);
    assert_int_equal(size, ends[5]);
    for (size_t cut = 0; cut <= size; cut++) {
        const uint8_t *start = NULL;
        lb_msgpack_skip s = { bytes, 0 };
        uint64_t before = 0, after = 0;
        size_t whole = 0;
        while (whole < 5 && ends[whole + 1] <= cut)
            whole++;
        assert_int_equal(lb_msgpack_pass(&s, bytes + cut, 5, &before, &start),
                         whole == 5 ? LB_MSGPACK_DONE : LB_MSGPACK_MORE);
        assert_int_equal(before, whole);
        if (s.pending != 0)
            assert_ptr_equal(start, bytes + ends[whole]);
        assert_int_equal(s.pending != 0, cut != ends[whole]);
        assert_int_equal(lb_msgpack_pass(&s, bytes + size, 5 - before, &after, &start), LB_MSGPACK_DONE);
        assert_int_equal(before + after, 5);
        assert_ptr_equal(s.at, bytes + size);
    }
}

/* What a count claims is told, and never waited for. */
static void claims(void **state)
{
    static const uint8_t bytes[] = { 0xDF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01 };
    const uint8_t *start = NULL;
    lb_msgpack_skip s = { bytes, 0 };
    uint64_t done;
    (void)state;
    assert_int_equal(LB_MSGPACK_MORE, lb_msgpack_pass(&s, bytes + sizeof bytes, 1, &done, &start));
    assert_true(s.pending == 2 * (uint64_t)UINT32_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_token), cmocka_unit_test(no_token),
                                        cmocka_unit_test(passing), cmocka_unit_test(claims) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
