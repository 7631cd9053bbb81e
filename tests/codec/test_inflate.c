/* Restartable inflate: streams that libdeflate wrote at every level, in pieces of any size on both sides, and begun again at every
 * border of blocks, with the whole window before it and with the noted bytes of it only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "codec/inflate.h"

#define TEXT_SIZE 400000

static uint64_t seed;

static uint64_t draw(void)
{
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return seed >> 33;
}

/* Text of several kinds: words, rows of numbers, runs, short patterns, noise. */
static void text_make(uint8_t *text, size_t size, unsigned kind)
{
    static const char *const words[] = { "lake ", "river ", "the ", "of ", "bed\n", "depth, ", "1234.5," };
    size_t at = 0;

    seed = kind + 1;
    while (at < size) {
        uint8_t piece[600];
        size_t n = 0;
        if (kind == 0) {
            const char *word = words[draw() % LB_COUNT_OF(words)];
            n = strlen(word);
            memcpy(piece, word, n);
        } else if (kind == 1) {
            for (n = 0; n < 9; n++)
                piece[n] = (uint8_t)('0' + draw() % 10);
            piece[n++] = draw() % 9 == 0 ? '\n' : ',';
        } else if (kind == 2) {
            size_t period = 1 + draw() % 20;
            for (n = 0; n < 1 + draw() % 500; n++)
                piece[n] = (uint8_t)(n < period ? draw() : piece[n - period]);
        } else {
            piece[n++] = (uint8_t)(kind == 3 ? draw() : draw() % 3);
        }
        n = LB_MIN(n, size - at);
        memcpy(text + at, piece, n);
        at += n;
    }
}

static uint8_t *text_pack(const uint8_t *text, size_t size, int level, size_t *packed_size)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    size_t cap = libdeflate_deflate_compress_bound(c, size);
    uint8_t *packed = malloc(cap);

    assert_non_null(c);
    assert_non_null(packed);
    *packed_size = libdeflate_deflate_compress(c, text, size, packed, cap);
    assert_true(*packed_size > 0);
    libdeflate_free_compressor(c);
    return packed;
}

/* A stream of pieces: so many bytes of input and of room at a time; 0: all. */
typedef struct pieces {
    size_t in, out;
} pieces;

/* Decode from `from` on in pieces; every byte stands in a block of memory of just the size. */
static void run_in_pieces(const uint8_t *packed, size_t packed_size, const uint8_t *text, size_t text_size, pieces p)
{
    lb_inflate *z = lb_inflate_new();
    lb_error err = LB_ERROR_INIT;
    uint8_t *out = malloc(text_size + 1);
    size_t given = p.in == 0 ? packed_size : LB_MIN(p.in, packed_size), room = p.out == 0 ? text_size + 1 : p.out;
    lb_inflate_io io = { .in = packed, .out = out, .history = out };
    lb_inflate_stop stop = LB_INFLATE_ROOM;

    assert_non_null(z);
    assert_non_null(out);
    lb_inflate_begin(z, 0);
    do {
        io.in_end = packed + given;
        io.in_last = given == packed_size;
        io.out_end = out + LB_MIN((size_t)(io.out - out) + room, text_size + 1);
        assert_int_equal(LB_OK, lb_inflate_run(z, &io, &stop, &err));
        assert_int_equal(io.in_at, io.in - packed);
        if (stop == LB_INFLATE_INPUT) {
            assert_true(given < packed_size);
            given += LB_MIN(p.in, packed_size - given);
        }
        if (stop == LB_INFLATE_ROOM)
            assert_true(io.out == io.out_end);
    } while (stop != LB_INFLATE_END);
    assert_int_equal(text_size, io.out - out);
    assert_int_equal(packed_size, io.in - packed);
    assert_memory_equal(text, out, text_size);
    assert_int_equal(LB_OK, lb_inflate_run(z, &io, &stop, &err));
    assert_int_equal(LB_INFLATE_END, stop);
    free(out);
    lb_inflate_free(z);
}

/* From a border on: `window` bytes of history, of which those that were not noted are spoiled if `marks` is given. */
static void run_from(const uint8_t *packed, size_t packed_size, uint64_t byte, unsigned bit, const uint8_t *text,
                     size_t text_size, size_t at, const uint8_t *marks)
{
    size_t window = LB_MIN(at, (size_t)LB_INFLATE_WINDOW), rest = text_size - at;
    uint8_t *out = malloc(window + rest + 1);
    lb_inflate *z = lb_inflate_new();
    lb_inflate_stop stop;
    lb_error err = LB_ERROR_INIT;

    assert_non_null(out);
    assert_non_null(z);
    memcpy(out, text + at - window, window);
    for (size_t i = 0; marks != NULL && i < window; i++)
        if (marks[LB_INFLATE_WINDOW - window + i] == 0)
            out[i] = '#';
    lb_inflate_io io = { .in = packed + byte,
                         .in_end = packed + packed_size,
                         .in_at = byte,
                         .in_last = true,
                         .out = out + window,
                         .out_end = out + window + rest + 1,
                         .history = out };
    lb_inflate_begin(z, bit);
    assert_int_equal(LB_OK, lb_inflate_run(z, &io, &stop, &err));
    assert_int_equal(LB_INFLATE_END, stop);
    assert_int_equal(rest, io.out - (out + window));
    assert_memory_equal(text + at, out + window, rest);
    free(out);
    lb_inflate_free(z);
}

/* At every border: go on from there, with all bytes before and with the noted ones. */
static void run_borders(const uint8_t *packed, size_t packed_size, const uint8_t *text, size_t text_size, bool noted)
{
    lb_inflate *z = lb_inflate_new();
    lb_error err = LB_ERROR_INIT;
    uint8_t *out = malloc(text_size + 1), *marks = malloc(LB_INFLATE_WINDOW);
    lb_inflate_io io = { .in = packed,
                         .in_end = packed + packed_size,
                         .in_last = true,
                         .out = out,
                         .out_end = out + text_size + 1,
                         .history = out,
                         .stop_at_blocks = true };
    lb_inflate_stop stop;
    uint64_t byte = 0;
    size_t at = 0;
    unsigned bit = 0;
    bool noting = false;

    assert_non_null(z);
    assert_non_null(out);
    assert_non_null(marks);
    lb_inflate_begin(z, 0);
    do {
        assert_int_equal(LB_OK, lb_inflate_run(z, &io, &stop, &err));
        if (noting && (!lb_inflate_notes(z) || stop == LB_INFLATE_END)) {
            run_from(packed, packed_size, byte, bit, text, text_size, at, marks);
            noting = false;
        }
        if (stop != LB_INFLATE_BLOCK || noting)
            continue;
        lb_inflate_place(z, &io, &byte, &bit);
        at = (size_t)(io.out - out);
        run_from(packed, packed_size, byte, bit, text, text_size, at, NULL);
        if (noted) {
            memset(marks, 0, LB_INFLATE_WINDOW);
            lb_inflate_note(z, marks);
            noting = true;
        }
    } while (stop != LB_INFLATE_END);
    assert_memory_equal(text, out, text_size);
    free(out);
    free(marks);
    lb_inflate_free(z);
}

static void all_levels_and_pieces(void **state)
{
    static const pieces sizes[] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 3, 259 }, { 1500, 70000 }, { 1, 1 } };
    uint8_t *text = malloc(TEXT_SIZE);

    (void)state;
    assert_non_null(text);
    for (unsigned kind = 0; kind < 5; kind++) {
        text_make(text, TEXT_SIZE, kind);
        for (int level = 0; level <= 12; level += 3) {
            size_t size = level == 12 ? TEXT_SIZE : TEXT_SIZE / 4, packed_size;
            uint8_t *packed = text_pack(text, size, level, &packed_size);
            for (size_t i = 0; i < LB_COUNT_OF(sizes); i++)
                run_in_pieces(packed, packed_size, text, size, sizes[i]);
            free(packed);
        }
    }
    free(text);
}

static void short_streams(void **state)
{
    uint8_t text[300];

    (void)state;
    text_make(text, sizeof text, 0);
    for (int level = 0; level <= 12; level++)
        for (size_t size = 0; size < sizeof text; size += 1 + size / 8) {
            size_t packed_size;
            uint8_t *packed = text_pack(text, size, level, &packed_size);
            run_in_pieces(packed, packed_size, text, size, (pieces){ 0, 0 });
            run_in_pieces(packed, packed_size, text, size, (pieces){ 1, 1 });
            free(packed);
        }
}

static void begun_again_at_borders(void **state)
{
    uint8_t *text = malloc(TEXT_SIZE);

    (void)state;
    assert_non_null(text);
    for (unsigned kind = 0; kind < 5; kind++)
        for (int level = 1; level <= 12; level += 5) {
            size_t packed_size;
            text_make(text, TEXT_SIZE, kind);
            uint8_t *packed = text_pack(text, TEXT_SIZE, level, &packed_size);
            run_borders(packed, packed_size, text, TEXT_SIZE, false);
            run_borders(packed, packed_size, text, TEXT_SIZE, true);
            free(packed);
        }
    free(text);
}

/* ---------------------------------------------------------------- what is no deflate */

static const struct {
    const char *name, *bytes;
    size_t size;
    int64_t offset;
    const char *message;
} bad[] = {
    { "no bytes", "", 0, 0, "deflate: the bytes end inside a block" },
    { "kind 3", "\x07", 1, 0, "deflate: a block is of no known kind" },
    { "stored, cut", "\x01\x05\x00", 3, 3, "deflate: the bytes end inside a block" },
    { "stored, sizes differ", "\x01\x05\x00\xFA\xFE", 5, 5,
      "deflate: a stored block's size and its complement do not agree" },
    { "stored, few bytes", "\x01\x05\x00\xFA\xFFhi", 7, 7, "deflate: the bytes end inside a block" },
    { "fixed, far match", "\x4B\x04\x12\x00", 4, 3, "deflate: a match reaches back before the first byte" },
    { "fixed, length 286", "\x1B\x03", 2, 2, "deflate: no such code" },
    { "too many codes", "\xFD\xFF\x01", 3, 2, "deflate: a block has more codes than there are" },
};

static void streams_that_are_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++) {
        uint8_t out[400], *in = malloc(bad[i].size + 1);
        lb_inflate *z = lb_inflate_new();
        lb_error err = LB_ERROR_INIT;
        lb_inflate_stop stop;
        assert_non_null(in);
        memcpy(in, bad[i].bytes, bad[i].size);
        lb_inflate_io io = { in, in + bad[i].size, out, out + sizeof out, out, 0, true, false };
        assert_non_null(z);
        lb_inflate_begin(z, 0);
        assert_int_equal(LB_CORRUPT, lb_inflate_run(z, &io, &stop, &err));
        if (strcmp(bad[i].message, err.message) != 0)
            print_error("%s at %lld\n", bad[i].name, (long long)err.offset);
        assert_string_equal(bad[i].message, err.message);
        lb_inflate_free(z);
        free(in);
    }
}

/* Any byte turned: the text, another, or an error; and the same for any pieces. */
static void damage(void **state)
{
    uint8_t text[3000], out[2][4000];
    size_t packed_size, sizes[2];

    (void)state;
    text_make(text, sizeof text, 0);
    uint8_t *packed = text_pack(text, sizeof text, 6, &packed_size);
    for (size_t at = 0; at < packed_size * 8; at++) {
        lb_status statuses[2];
        packed[at / 8] ^= (uint8_t)(1 << at % 8);
        for (int way = 0; way < 2; way++) {
            lb_inflate *z = lb_inflate_new();
            lb_inflate_io io = { packed, packed + packed_size, out[way], out[way], out[way], 0, true, false };
            lb_inflate_stop stop = LB_INFLATE_ROOM;
            lb_error err = LB_ERROR_INIT;
            assert_non_null(z);
            lb_inflate_begin(z, 0);
            do {
                io.out_end = LB_MIN(io.out + (way == 0 ? 4000 : 7), out[way] + 4000);
                statuses[way] = lb_inflate_run(z, &io, &stop, &err);
            } while (statuses[way] == LB_OK && stop == LB_INFLATE_ROOM && io.out < out[way] + 4000);
            sizes[way] = (size_t)(io.out - out[way]);
            lb_inflate_free(z);
        }
        assert_int_equal(statuses[0], statuses[1]);
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(out[0], out[1], sizes[0]);
        packed[at / 8] ^= (uint8_t)(1 << at % 8);
    }
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_levels_and_pieces),
        cmocka_unit_test(short_streams),
        cmocka_unit_test(begun_again_at_borders),
        cmocka_unit_test(streams_that_are_none),
        cmocka_unit_test(damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
