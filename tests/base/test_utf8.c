/* UTF-8. The definition to compare with is the table of well-formed sequences in RFC 3629, written out below; widths
 * are those of wcwidth where all its implementations agree. */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* RFC 3629, section 4, row by row: ranges of each byte. */
static const struct {
    uint8_t size, low[4], high[4];
} rfc_rows[] = {
    { 1, { 0x00 }, { 0x7f } },
    { 2, { 0xc2, 0x80 }, { 0xdf, 0xbf } },
    { 3, { 0xe0, 0xa0, 0x80 }, { 0xe0, 0xbf, 0xbf } },
    { 3, { 0xe1, 0x80, 0x80 }, { 0xec, 0xbf, 0xbf } },
    { 3, { 0xed, 0x80, 0x80 }, { 0xed, 0x9f, 0xbf } },
    { 3, { 0xee, 0x80, 0x80 }, { 0xef, 0xbf, 0xbf } },
    { 4, { 0xf0, 0x90, 0x80, 0x80 }, { 0xf0, 0xbf, 0xbf, 0xbf } },
    { 4, { 0xf1, 0x80, 0x80, 0x80 }, { 0xf3, 0xbf, 0xbf, 0xbf } },
    { 4, { 0xf4, 0x80, 0x80, 0x80 }, { 0xf4, 0x8f, 0xbf, 0xbf } },
};

/* Whether row `row` allows the first `count` of its bytes to be these. */
static bool rfc_fits(size_t row, const uint8_t *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (p[i] < rfc_rows[row].low[i] || p[i] > rfc_rows[row].high[i])
            return false;
    return true;
}

static size_t rfc_length(const uint8_t *p, size_t size)
{
    for (size_t row = 0; row < COUNT_OF(rfc_rows); row++)
        if (rfc_rows[row].size <= size && rfc_fits(row, p, rfc_rows[row].size))
            return rfc_rows[row].size;
    return 0;
}

static size_t rfc_prefix(const uint8_t *p, size_t size)
{
    size_t at = 0, length;
    while (at < size && (length = rfc_length(p + at, size - at)) != 0)
        at += length;
    return at;
}

static size_t rfc_cut_tail(const uint8_t *p, size_t size)
{
    for (size_t back = size < 3 ? size : 3; back > 0; back--)
        for (size_t row = 0; row < COUNT_OF(rfc_rows); row++)
            if (rfc_rows[row].size > back && rfc_fits(row, p + size - back, back))
                return back;
    return 0;
}

/* All sequences of up to four bytes over those at which some rule changes. */
static void sequences_by_rfc(void **state)
{
    (void)state;
    static const uint8_t edges[] = {
        0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
        0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xfe, 0xff,
    };
    const size_t n = COUNT_OF(edges);
    for (size_t k = 0; k < n * n * n * n; k++) {
        const uint8_t p[4] = { edges[k % n], edges[k / n % n], edges[k / n / n % n], edges[k / n / n / n] };
        for (size_t size = 1; size <= 4; size++) {
            uint32_t code_point;
            size_t length = rfc_length(p, size), prefix = lb_utf8_valid_prefix(p, size);
            if (prefix != rfc_prefix(p, size) || lb_utf8_cut_tail(p, size) != rfc_cut_tail(p, size) ||
                lb_utf8_decode(p, size, &code_point) != (length == 0 ? 1 : length) ||
                (length == 0 && code_point != 0xfffd))
                fail_msg("%02x %02x %02x %02x of %zu: %zu", p[0], p[1], p[2], p[3], size, prefix);
        }
    }
    assert_int_equal(lb_utf8_valid_prefix(NULL, 0), 0);
    assert_int_equal(lb_utf8_cut_tail(NULL, 0), 0);
}

static void characters_round_trip(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x110010; c++) {
        uint8_t bytes[4];
        uint32_t back;
        size_t size = lb_utf8_encode(c, bytes);
        bool character = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
        assert_int_equal(lb_utf8_valid_prefix(bytes, size), size);
        assert_int_equal(lb_utf8_decode(bytes, size, &back), size);
        assert_int_equal(back, character ? c : 0xfffd);
    }
}

/* One wrong byte at every place of texts that are long enough for each way of walking. */
static void wrong_byte_anywhere(void **state)
{
    (void)state;
    static const char *const pieces[] = { "a", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "0123456789abcdefghij" };
    for (size_t piece = 0; piece < COUNT_OF(pieces); piece++) {
        size_t length = strlen(pieces[piece]), size = 240 / length * length;
        uint8_t text[240];
        for (size_t i = 0; i < size; i++)
            text[i] = (uint8_t)pieces[piece][i % length];
        for (size_t from = 0; from < 9 * length; from += length)
            assert_int_equal(lb_utf8_valid_prefix(text + from, size - from), size - from);
        for (size_t wrong = 0; wrong < size; wrong++) {
            uint8_t kept = text[wrong];
            text[wrong] = 0xff;
            assert_int_equal(lb_utf8_valid_prefix(text, size), rfc_prefix(text, size));
            text[wrong] = kept;
            assert_int_equal(lb_utf8_valid_prefix(text, wrong), rfc_prefix(text, wrong));
        }
    }
}

/* Bytes drawn mostly from whole characters, then spoilt here and there. */
static void random_texts(void **state)
{
    (void)state;
    uint64_t random = 20061211;
    for (int k = 0; k < 20000; k++) {
        uint8_t text[200 + 4];
        size_t size = 0;
        while (size < 200) {
            random = random * 6364136223846793005 + 1442695040888963407;
            uint32_t c = (uint32_t)(random >> 40);
            size += lb_utf8_encode((c & 3) == 0 ? c >> 3 : (c & 3) == 1 ? c >> 9 : c >> 17, text + size);
        }
        if (k % 3 != 0)
            text[random >> 33 & 127] = (uint8_t)(random >> 20);
        assert_int_equal(lb_utf8_valid_prefix(text, size), rfc_prefix(text, size));
        size -= random >> 50 & 7;
        assert_int_equal(lb_utf8_valid_prefix(text, size), rfc_prefix(text, size));
        assert_int_equal(lb_utf8_cut_tail(text, size), rfc_cut_tail(text, size));
    }
}

static const struct {
    uint32_t code_point;
    int width;
} width_cases[] = {
    { 'a', 1 },     { 0xe9, 1 },    { 0xad, 1 },    { 0x300, 0 },    { 0x36f, 0 },    { 0x370, 1 },      { 0x5d0, 1 },
    { 0x5b0, 0 },   { 0x94d, 0 },   { 0x1100, 2 },  { 0x1161, 0 },   { 0x200b, 0 },   { 0x200d, 0 },     { 0x20ac, 1 },
    { 0x20dd, 0 },  { 0x2500, 1 },  { 0x3000, 2 },  { 0x3042, 2 },   { 0x4e00, 2 },   { 0x9fff, 2 },     { 0xac00, 2 },
    { 0xd7a3, 2 },  { 0xfe0f, 0 },  { 0xff01, 2 },  { 0xff61, 1 },   { 0xffe0, 2 },   { 0x1f600, 2 },    { 0x1d400, 1 },
    { 0x20000, 2 }, { 0x3fffd, 2 }, { 0xe0100, 0 }, { 0x10ffff, 1 }, { 0x110000, 1 }, { UINT32_MAX, 1 },
};

static void widths(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(width_cases); i++)
        if (lb_utf8_width(width_cases[i].code_point) != width_cases[i].width)
            fail_msg("U+%04X is %d wide", width_cases[i].code_point, lb_utf8_width(width_cases[i].code_point));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_by_rfc),
        cmocka_unit_test(characters_round_trip),
        cmocka_unit_test(wrong_byte_anywhere),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
