/* Packed numbers, runs and bitmaps: the examples of Encodings.md of parquet-format, and every width against numbers
 * that are put together bit by bit. */
#include "format/parquet/parquet_bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A generator of the kind that needs no library. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint64_t bit_by_bit(const uint8_t *bytes, unsigned width, uint64_t i)
{
    uint64_t v = 0;
    for (unsigned b = 0; b < width; b++)
        v |= (uint64_t)lb_bits_get(bytes, i * width + b) << b;
    return v;
}

/* Blocks of exactly the size, so that a sanitizer sees a step too far. */
static uint8_t *random_bytes(size_t size, uint64_t *seed)
{
    uint8_t *bytes = malloc(size == 0 ? 1 : size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next_random(seed) >> 32);
    return bytes;
}

static void unpacking(void **state)
{
    uint64_t seed = 88172645463325252u;
    uint32_t out32[300];
    uint64_t out64[300];

    (void)state;
    for (unsigned width = 0; width <= 64; width++)
        for (unsigned turn = 0; turn < 12; turn++) {
            const uint64_t first = next_random(&seed) % 20;
            const size_t n = next_random(&seed) % 300, size = (size_t)((first + n) * width + 7) / 8;
            uint8_t *bytes = random_bytes(size, &seed);
            lb_parquet_unpack64(bytes, size, width, first, n, out64);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(out64[i], bit_by_bit(bytes, width, first + i));
            if (width <= 32) {
                lb_parquet_unpack32(bytes, size, width, first, n, out32);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(out32[i], out64[i]);
            }
            free(bytes);
        }
}

/* "The numbers 0 through 7 using bit width 3", in the order of RLE and in the old one. */
static void examples(void **state)
{
    static const uint8_t packed[] = { 0x03, 0x88, 0xC6, 0xFA }, old[] = { 0x05, 0x39, 0x77 };
    uint8_t turned[3];
    uint32_t out[8];
    lb_parquet_hybrid h;

    (void)state;
    lb_parquet_hybrid_init(&h, packed, sizeof packed, 3);
    assert_true(lb_parquet_hybrid_numbers(&h, 8, out));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(out[i], i);
    assert_false(lb_parquet_hybrid_numbers(&h, 1, out));
    lb_parquet_reorder(old, 3, 8, turned);
    assert_memory_equal(turned, packed + 1, 3);
}

/* 4 times 300 in two bytes, a group of 8 packed, 511 no times, 2 times 1. */
static const uint32_t mixed_numbers[] = { 300, 300, 300, 300, 0, 1, 2, 3, 4, 5, 6, 7, 1, 1 };

static void runs(void **state)
{
    uint8_t bytes[] = { 0x08, 0x2C, 0x01, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0xFF, 0x01, 0x04, 0x01, 0x00 };
    uint32_t out[14];
    uint16_t levels[14];
    lb_parquet_hybrid h;

    (void)state;
    for (unsigned i = 0; i < 8; i++) /* 9 bits each */
        for (unsigned b = 0; b < 9; b++)
            bytes[4 + (i * 9 + b) / 8] |= (uint8_t)((i >> b & 1) << (i * 9 + b) % 8);
    for (size_t cut = 0; cut <= 14; cut++) {
        lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 9);
        assert_true(lb_parquet_hybrid_numbers(&h, cut, out));
        assert_true(lb_parquet_hybrid_numbers(&h, 14 - cut, out + cut));
        assert_memory_equal(out, mixed_numbers, sizeof out);
        assert_false(lb_parquet_hybrid_skip(&h, 1));
        lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 9);
        assert_true(lb_parquet_hybrid_skip(&h, cut));
        assert_true(lb_parquet_hybrid_numbers(&h, 14 - cut, out + cut));
        assert_memory_equal(out, mixed_numbers, sizeof out);
    }
    lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 9);
    assert_true(lb_parquet_hybrid_levels(&h, 14, 300, levels));
    for (size_t i = 0; i < 14; i++)
        assert_int_equal(levels[i], mixed_numbers[i]);
    lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 9);
    assert_false(lb_parquet_hybrid_levels(&h, 14, 299, levels));
}

/* Levels have loops of their own for narrow widths; they give what numbers give, wherever they are cut. */
static void levels_of_every_width(void **state)
{
    uint64_t seed = 362436069;

    (void)state;
    for (unsigned turn = 0; turn < 16 * 40; turn++) {
        const unsigned width = turn % 16 + 1, groups = (unsigned)(next_random(&seed) % 40) + 1;
        const size_t n = (size_t)groups * 8, cut = next_random(&seed) % n, size = (size_t)groups * width + 1;
        uint8_t *bytes = random_bytes(size, &seed);
        uint32_t numbers[320];
        uint16_t levels[320];
        lb_parquet_hybrid h;
        bytes[0] = (uint8_t)(groups << 1 | 1);
        lb_parquet_hybrid_init(&h, bytes, size, width);
        assert_true(lb_parquet_hybrid_numbers(&h, n, numbers));
        lb_parquet_hybrid_init(&h, bytes, size, width);
        assert_true(lb_parquet_hybrid_levels(&h, cut, UINT16_MAX, levels));
        assert_true(lb_parquet_hybrid_levels(&h, n - cut, UINT16_MAX, levels + cut));
        for (size_t i = 0; i < n; i++)
            assert_int_equal(levels[i], numbers[i]);
        free(bytes);
    }
}

/* What writers do: a last group cut short, width 0 without any bytes; and what is damage. */
static void borders(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        unsigned width;
        uint64_t n;
        bool good;
    } cases[] = {
        { "", 0, 0, 1000, true },                                        /* one dictionary value */
        { "", 0, 1, 1, false },                                          /* no run */
        { "\x03\xFF", 2, 4, 2, true },                                   /* 8 claimed, bytes of 2 */
        { "\x03\xFF", 2, 4, 3, false },                                  /* and no more */
        { "\x02", 1, 8, 1, false },                                      /* a run without its value */
        { "\x01\x02\x07", 3, 3, 1, true },                               /* an empty packed run before */
        { "\x02\x08", 2, 3, 1, false },                                  /* a value of 4 bits */
        { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, 1, 1, false }, /* a head of 65 bits */
        { "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x01", 11, 1, (uint64_t)1 << 62, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lb_parquet_hybrid h;
        lb_parquet_hybrid_init(&h, (const uint8_t *)cases[i].bytes, cases[i].size, cases[i].width);
        if (lb_parquet_hybrid_skip(&h, cases[i].n) != cases[i].good)
            fail_msg("case %zu", i);
    }
}

static void bits_of_runs(void **state)
{
    static const uint8_t bytes[] = { 0x06, 0x01, 0x05, 0xA5, 0x3C, 0x0A, 0x00 }; /* 3 ones, 16 packed, 5 zeros */
    uint8_t out[8];
    uint32_t numbers[24];
    lb_parquet_hybrid h;

    (void)state;
    lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 1);
    assert_true(lb_parquet_hybrid_numbers(&h, 24, numbers));
    for (uint64_t first = 0; first < 16; first++)
        for (size_t cut = 0; cut <= 24; cut++) {
            uint64_t ones, more;
            memset(out, 0xFF, sizeof out);
            lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 1);
            assert_true(lb_parquet_hybrid_bits(&h, cut, out, first, &ones));
            assert_true(lb_parquet_hybrid_bits(&h, 24 - cut, out, first + cut, &more));
            assert_int_equal(ones + more, 11);
            for (uint64_t i = 0; i < first + 24; i++)
                assert_int_equal(lb_bits_get(out, i), i < first ? 1 : numbers[i - first]);
            lb_parquet_hybrid_init(&h, bytes, sizeof bytes, 1);
            assert_true(lb_parquet_hybrid_bits(&h, cut, NULL, 0, &more));
            assert_int_equal(ones, more);
        }
}

static void bitmaps(void **state)
{
    uint64_t seed = 1234567;

    (void)state;
    for (unsigned turn = 0; turn < 500; turn++) {
        const uint64_t to = next_random(&seed) % 70, from = next_random(&seed) % 70, n = next_random(&seed) % 300;
        uint8_t *source = random_bytes((size_t)(from + n + 7) / 8, &seed);
        uint8_t *target = random_bytes((size_t)(to + n + 7) / 8, &seed);
        uint8_t before[10];
        uint64_t ones = 0;
        memcpy(before, target, (size_t)(to + n + 7) / 8 < sizeof before ? (size_t)(to + n + 7) / 8 : sizeof before);
        lb_bits_copy(target, to, source, from, n);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(lb_bits_get(target, to + i), lb_bits_get(source, from + i));
            ones += lb_bits_get(source, from + i);
        }
        for (uint64_t i = 0; i < to; i++)
            assert_int_equal(lb_bits_get(target, i), lb_bits_get(before, i));
        assert_int_equal(lb_bits_count(source, from, n), ones);
        lb_bits_fill(target, to, n, (turn & 1) != 0);
        assert_int_equal(lb_bits_count(target, to, n), (turn & 1) != 0 ? n : 0);
        for (uint64_t i = 0; i < to; i++)
            assert_int_equal(lb_bits_get(target, i), lb_bits_get(before, i));
        free(source);
        free(target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking), cmocka_unit_test(examples),
        cmocka_unit_test(runs),      cmocka_unit_test(levels_of_every_width),
        cmocka_unit_test(borders),   cmocka_unit_test(bits_of_runs),
        cmocka_unit_test(bitmaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
