/* Run lengths: the examples of the specification, any pieces, every width, skips, and damage at every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/orc/orc.h"

/* A stream over bytes in memory. */
typedef struct fixture {
    lb_context *cx;
    lb_store *store;
    orc_file file;
    orc_work work;
    orc_in in;
} fixture;

static void open_bytes(fixture *f, const void *bytes, size_t size)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(lb_context_new(NULL, &f->cx, NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(bytes, size, &f->store, NULL), LB_OK);
    f->file = (orc_file){ .cx = f->cx, .store = f->store, .codec = LB_CODEC_NONE };
    f->work.file = &f->file;
    lb_buf_init(&f->work.scratch, &f->cx->budget);
    orc_in_init(&f->in, &f->work, "x", 0, size);
}

static void close_bytes(fixture *f)
{
    orc_in_free(&f->in);
    lb_buf_free(&f->work.scratch);
    lb_codec_work_free(&f->work.codec);
    lb_store_close(f->store);
    lb_context_free(f->cx);
}

/* ---------------------------------------------------------------- the specification's examples */

#define SEQUENCE 512

static const struct {
    bool v2, is_signed;
    uint8_t bytes[64];
    size_t size, n;
    int64_t values[24];
} examples[] = {
    { true, false, { 0x0a, 0x27, 0x10 }, 3, 5, { 10000, 10000, 10000, 10000, 10000 } },
    { true,
      false,
      { 0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef },
      10,
      4,
      { 23713, 43806, 57005, 48879 } },
    { true,
      false,
      { 0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46,
        0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8 },
      28,
      20,
      { 2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090,
        2100, 2110, 2120, 2130,    2140, 2150, 2160, 2170, 2180, 2190 } },
    { true, false, { 0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46 }, 8, 10, { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29 } },
    { false, false, { 0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b }, 6, 5, { 2, 3, 6, 7, 11 } },
    { false, false, { 0x61, 0x00, 0x07 }, 3, 24, { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                                                   7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 } },
    { false, false, { 0x61, 0xff, 0x64 }, 3, 24, { 100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89,
                                                   88,  87, 86, 85, 84, 83, 82, 81, 80, 79, 78, 77 } },
    /* Zigzag, by hand from its definition. */
    { false, true, { 0xfb, 0x00, 0x01, 0x02, 0x03, 0x04 }, 6, 5, { 0, -1, 1, -2, 2 } },
    { true, true, { 0x42, 0x03, 0x1b }, 3, 4, { 0, -1, 1, -2 } },
    { true, true, { 0x00, 0x03 }, 2, 3, { -2, -2, -2 } },
    /* A falling sequence: 10, then -3, then twice -1. */
    { true, true, { 0xc2, 0x03, 0x14, 0x05, 0x50 }, 5, 4, { 10, 7, 6, 5 } },
    /* All differences equal: no packed ones. */
    { true, true, { 0xc0, 0x04, 0x02, 0x03 }, 4, 5, { 1, -1, -3, -5, -7 } },
};

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(examples); i++)
        for (size_t piece = 1; piece <= 24; piece++) {
            int64_t got[24];
            fixture f;
            orc_ints r;
            open_bytes(&f, examples[i].bytes, examples[i].size);
            orc_ints_init(&r, &f.in, examples[i].v2, examples[i].is_signed);
            for (size_t at = 0, k; at < examples[i].n; at += k) {
                k = LB_MIN(piece, examples[i].n - at);
                if (at % 2 == 0 && piece > 3) /* read, and skip */
                    assert_int_equal(orc_ints_read(&r, got + at, k, NULL), LB_OK);
                else if (piece <= 3)
                    assert_int_equal(orc_ints_read(&r, got + at, k, NULL), LB_OK);
                else {
                    assert_int_equal(orc_ints_skip(&r, k, NULL), LB_OK);
                    memcpy(got + at, examples[i].values + at, k * sizeof *got);
                }
            }
            assert_memory_equal(got, examples[i].values, examples[i].n * sizeof *got);
            close_bytes(&f);
        }
}

static void test_bytes(void **state)
{
    static const uint8_t hundred[] = { 0x61, 0x00 }, two[] = { 0xfe, 0x44, 0x45 };
    uint8_t got[100], zeros[100] = { 0 };
    orc_bytes r;
    fixture f;

    (void)state;
    open_bytes(&f, hundred, sizeof hundred);
    r = (orc_bytes){ .in = &f.in };
    memset(got, 1, sizeof got);
    assert_int_equal(orc_bytes_read(&r, got, 60, NULL), LB_OK);
    assert_int_equal(orc_bytes_skip(&r, 10, NULL), LB_OK);
    assert_int_equal(orc_bytes_read(&r, got + 60, 30, NULL), LB_OK);
    assert_memory_equal(got, zeros, 90);
    assert_int_equal(orc_bytes_read(&r, got, 1, NULL), LB_CORRUPT);
    close_bytes(&f);
    open_bytes(&f, two, sizeof two);
    r = (orc_bytes){ .in = &f.in };
    assert_int_equal(orc_bytes_read(&r, got, 2, NULL), LB_OK);
    assert_memory_equal(got, two + 1, 2);
    close_bytes(&f);
}

/* [0xff, 0x80]: one true, seven false; and more bits in any pieces. */
static void test_bits(void **state)
{
    static const uint8_t one[] = { 0xff, 0x80 };
    static const uint8_t many[] = { 0xfb, 0x53, 0x0f, 0xc8, 0x01, 0x7e };
    uint8_t got[8], all[8];
    fixture f;

    (void)state;
    open_bytes(&f, one, sizeof one);
    orc_bits r = { .bytes = { .in = &f.in } };
    assert_int_equal(orc_bits_read(&r, got, 8, NULL), LB_OK);
    assert_int_equal(got[0], 1);
    close_bytes(&f);
    for (size_t i = 0; i < 40; i++) { /* highest bit first, to lowest first */
        if (i % 8 == 0)
            all[i / 8] = 0;
        all[i / 8] |= (uint8_t)((many[1 + i / 8] >> (7 - i % 8) & 1) << i % 8);
    }
    for (size_t skip = 0; skip < 40; skip++)
        for (size_t n = 0; n + skip <= 40; n++) {
            open_bytes(&f, many, sizeof many);
            r = (orc_bits){ .bytes = { .in = &f.in } };
            assert_int_equal(orc_bits_skip(&r, skip, NULL), LB_OK);
            assert_int_equal(orc_bits_read(&r, got, n, NULL), LB_OK);
            for (size_t i = 0; i < (n + 7) / 8 * 8; i++)
                assert_int_equal(orc_bit(got, i), i < n && orc_bit(all, skip + i));
            close_bytes(&f);
        }
}

/* ---------------------------------------------------------------- every width */

/* As slow as can be: bit by bit. */
static uint64_t bits_at(const uint8_t *p, size_t bit, unsigned width)
{
    uint64_t v = 0;

    for (size_t i = bit; i < bit + width; i++)
        v = v << 1 | (p[i / 8] >> (7 - i % 8) & 1u);
    return v;
}

static void test_widths(void **state)
{
    uint8_t bytes[SEQUENCE * 8 + ORC_PADDING];
    uint64_t got[SEQUENCE];
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    for (unsigned width = 1; width <= 64; width++)
        for (size_t n = 0; n <= SEQUENCE; n += n < 20 ? 1 : 123) {
            orc_unpack(bytes, width, n, got);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(got[i], bits_at(bytes, i * width, width));
        }
}

/* ---------------------------------------------------------------- damage */

/* Cut at any place: an error, or fewer values; and any byte changed: whatever comes, nothing is read outside. */
static void test_damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(examples); i++)
        for (size_t size = 0; size < examples[i].size; size++) {
            uint8_t *copy = malloc(size + 1);
            int64_t got[24];
            orc_ints r;
            fixture f;
            assert_non_null(copy);
            memcpy(copy, examples[i].bytes, size);
            open_bytes(&f, copy, size);
            orc_ints_init(&r, &f.in, examples[i].v2, examples[i].is_signed);
            assert_int_equal(orc_ints_read(&r, got, examples[i].n, NULL), LB_CORRUPT);
            close_bytes(&f);
            free(copy);
        }
    for (unsigned first = 0; first < 256; first++)
        for (unsigned second = 0; second < 256; second += 5) {
            uint8_t bytes[200];
            int64_t got[2 * ORC_RUN];
            orc_ints r;
            fixture f;
            for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(first * i + second);
            bytes[0] = (uint8_t)first;
            open_bytes(&f, bytes, sizeof bytes);
            orc_ints_init(&r, &f.in, second % 2 == 0, second % 3 == 0);
            (void)orc_ints_read(&r, got, LB_COUNT_OF(got), NULL);
            close_bytes(&f);
        }
}

/* Patches that cannot be: wider than 64 bits with their gap, or with the value. */
static void test_bad_patches(void **state)
{
    static const uint8_t wide[] = {
        0x8e, 0x00, 0x1f, 0x21, 0x00, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
    };
    static const uint8_t over[] = { 0xbe, 0x00, 0x00, 0x01, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x80 };
    int64_t got[1];
    orc_ints r;
    fixture f;

    (void)state;
    open_bytes(&f, wide, sizeof wide);
    orc_ints_init(&r, &f.in, true, false);
    assert_int_equal(orc_ints_read(&r, got, 1, NULL), LB_CORRUPT);
    close_bytes(&f);
    open_bytes(&f, over, sizeof over);
    orc_ints_init(&r, &f.in, true, false);
    assert_int_equal(orc_ints_read(&r, got, 1, NULL), LB_CORRUPT);
    close_bytes(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_examples), cmocka_unit_test(test_bytes),
                                        cmocka_unit_test(test_bits),     cmocka_unit_test(test_widths),
                                        cmocka_unit_test(test_damage),   cmocka_unit_test(test_bad_patches) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
