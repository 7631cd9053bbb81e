/* The text window: equal to straight decoding for any encoding, chunk size and way of consuming; offsets exact. */
#include "io/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "text_cases.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static uint8_t *repeat(const char *bytes, size_t size, size_t times)
{
    uint8_t *out = malloc(size * times);
    assert_non_null(out);
    for (size_t i = 0; i < times; i++)
        memcpy(out + i * size, bytes, size);
    return out;
}

static lb_store *memory(const void *bytes, size_t size)
{
    lb_store *store;
    assert_int_equal(lb_store_open_memory(bytes, size, &store, NULL), LB_OK);
    return store;
}

static void check_padding(const lb_text *t)
{
    for (size_t i = 0; i < LB_TEXT_PADDING; i++)
        assert_int_equal(t->data[t->size + i], 0);
}

/* Offsets of all borders of case `c` inside the window; the text is the case's, repeated. */
static void check_offsets(lb_text *t, size_t c, uint64_t from_position, uint64_t from_offset)
{
    uint64_t whole = text_cases[c].utf8_size, encoded = text_cases[c].size;
    const uint16_t *borders = text_cases[c].borders;
    for (int tries = 0; tries < 6; tries++) {
        uint64_t at = t->at + random_below((uint32_t)t->size + 1) + from_position, base = at / whole;
        for (size_t i = 0; i < text_cases[c].n_borders; i++) {
            if (borders[2 * i] != at % whole)
                continue;
            uint64_t want = base * encoded + borders[2 * i + 1];
            uint64_t got = lb_text_offset(t, at - from_position);
            if (got != want)
                fail_msg("%s: position %llu lies at %llu, not at %llu (from %llu)", text_cases[c].encoding,
                         (unsigned long long)at, (unsigned long long)want, (unsigned long long)got,
                         (unsigned long long)from_offset);
        }
    }
}

/* Read the case repeated `times` from border `begin`, consuming at random, and compare. */
static void read_case(size_t c, size_t times, size_t chunk, size_t begin)
{
    size_t size = text_cases[c].size * times, want_size = text_cases[c].utf8_size * times;
    uint8_t *bytes = repeat(text_cases[c].bytes, text_cases[c].size, times);
    uint8_t *want = repeat(text_cases[c].utf8, text_cases[c].utf8_size, times);
    uint64_t position = text_cases[c].borders[2 * begin], offset = text_cases[c].borders[2 * begin + 1];
    lb_store *store = memory(bytes, size);
    lb_text t;
    assert_int_equal(lb_text_open(&t, NULL, store, offset, text_cases[c].encoding, chunk, NULL), LB_OK);
    for (bool more = true; more;) {
        size_t before = t.size, used = t.size == 0 ? 0 : random_below((uint32_t)t.size + 1);
        more = !t.end;
        assert_int_equal(lb_text_more(&t, used, NULL), LB_OK);
        assert_true(t.end || t.size > before - used);
        assert_true(t.bad_at == UINT64_MAX);
        assert_true(position + t.at + t.size <= want_size);
        assert_memory_equal(t.data, want + position + t.at, t.size);
        check_padding(&t);
        check_offsets(&t, c, position, offset);
    }
    assert_int_equal(position + t.at + t.size, want_size);
    lb_text_close(&t);
    lb_store_close(store);
    free(bytes);
    free(want);
}

static void encodings_small_chunks(void **state)
{
    (void)state;
    random_state = 1;
    for (size_t c = 0; c < COUNT_OF(text_cases); c++)
        for (size_t chunk = 1; chunk <= 70; chunk += 3)
            read_case(c, 1 + random_below(2), chunk, random_below(40));
}

static void encodings_large_chunks(void **state)
{
    (void)state;
    random_state = 2;
    for (size_t c = 0; c < COUNT_OF(text_cases); c++)
        for (size_t i = 0; i < 4; i++)
            read_case(c, 60, 500 + random_below(9000), random_below(100));
}

static void utf8_like_the_others(void **state)
{
    (void)state;
    random_state = 3;
    for (size_t c = 0; c < COUNT_OF(text_cases); c++) {
        for (size_t chunk = 1; chunk <= 70; chunk += 4) {
            size_t size = text_cases[c].utf8_size;
            lb_store *store = memory(text_cases[c].utf8, size);
            lb_text t;
            assert_int_equal(lb_text_open(&t, NULL, store, 0, "", chunk, NULL), LB_OK);
            while (!t.end) {
                size_t used = random_below((uint32_t)t.size + 1);
                assert_int_equal(lb_text_more(&t, used, NULL), LB_OK);
                assert_memory_equal(t.data, text_cases[c].utf8 + t.at, t.size);
                assert_int_equal(lb_text_offset(&t, t.at + t.size), t.at + t.size);
                assert_true(t.bad_at == UINT64_MAX);
                check_padding(&t);
            }
            assert_int_equal(t.at + t.size, size);
            lb_text_close(&t);
            lb_store_close(store);
        }
    }
}

/* Text without line feeds, in which a decoder may hold letters back: pieces grow long. */
static void no_line_feeds(void **state)
{
    (void)state;
    static const char letters[] = "\xE0\xE1\xE2\xE9"; /* WINDOWS-1255: 4 letters of 2 bytes in UTF-8 */
    const size_t times = 30000;
    uint8_t *bytes = repeat(letters, 4, times);
    lb_store *store = memory(bytes, 4 * times);
    lb_text t;
    assert_int_equal(lb_text_open(&t, NULL, store, 0, "WINDOWS-1255", 1000, NULL), LB_OK);
    while (!t.end)
        assert_int_equal(lb_text_more(&t, 0, NULL), LB_OK);
    assert_int_equal(t.size, 8 * times);
    for (size_t i = 0; i <= 4 * times; i += 4999)
        assert_int_equal(lb_text_offset(&t, 2 * i), i);
    lb_text_close(&t);
    lb_store_close(store);
    free(bytes);
}

static const struct {
    const char *encoding; /* "" is UTF-8 */
    const char *bytes;
    size_t size;
    uint64_t bad_at, offset;
    const char *says, *hints;
} bad_cases[] = {
    { "",
      "abc\xE9"
      "def\n",
      8, 3, 3, "0xE9 is not valid UTF-8 here", "--encoding WINDOWS-1252" },
    { "", "ab\xC0\x80", 4, 2, 2, "0xC0", "" },
    { "", "ab\xED\xA0\x80", 5, 2, 2, "0xED", "" },
    { "", "ab\xF4\x90\x80\x80", 6, 2, 2, "0xF4", "" },
    { "", "abc\xE2\x82", 5, 3, 3, "ends inside a character", "" },
    { "",
      "\xFF\xFE"
      "a\0b\0",
      6, 0, 0, "0xFF", "--encoding UTF-16" },
    { "", "a\0b\0c\0\xE9\0d\0", 10, 6, 6, "0xE9", "UTF-16LE" },
    { "", "\0a\0b\0c\0\xE9\0d", 10, 7, 7, "0xE9", "UTF-16BE" },
    { "UTF-16LE",
      "a\0\n\0\0\xD8"
      "b\0",
      8, 2, 4, "is not valid UTF-16LE", "damaged" },
    { "UTF-16LE", "a\0\n\0b", 5, 2, 4, "ends inside a character of UTF-16LE", "" },
    { "SHIFT_JIS", "\x93\xFA\n\xFF\n", 5, 4, 3, "0xFF is not valid SHIFT_JIS here", "" },
    { "SHIFT_JIS", "\x93\xFA\n\x93", 4, 4, 3, "ends inside", "" },
    { "GB18030", "\xD6\xD0\xFF", 3, 3, 2, "0xFF", "" },
};

static void bad_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_cases); i++) {
        for (size_t chunk = 1; chunk < 12; chunk++) {
            for (int drop = 0; drop < 2; drop++) {
                lb_store *store = memory(bad_cases[i].bytes, bad_cases[i].size);
                lb_error err = LB_ERROR_INIT;
                lb_text t;
                assert_int_equal(lb_text_open(&t, NULL, store, 0, bad_cases[i].encoding, chunk, NULL), LB_OK);
                while (!t.end)
                    assert_int_equal(lb_text_more(&t, drop ? t.size : 0, &err), LB_OK);
                assert_int_equal(t.bad_at, bad_cases[i].bad_at);
                assert_true(t.bad_at < t.at + t.size);
                assert_int_equal(lb_text_fail(&t, 7, 8, &err), LB_CORRUPT);
                assert_int_equal(err.offset, bad_cases[i].offset);
                assert_int_equal(err.row, 7);
                assert_int_equal(err.line, 8);
                if (strstr(err.message, bad_cases[i].says) == NULL || strstr(err.hint, bad_cases[i].hints) == NULL)
                    fail_msg("case %zu says: %s (%s)", i, err.message, err.hint);
                lb_text_close(&t);
                lb_store_close(store);
            }
        }
    }
}

typedef struct tapped {
    uint8_t bytes[4096];
    size_t size;
} tapped;

static void tap(void *user, const uint8_t *bytes, size_t size)
{
    tapped *t = user;
    assert_true(size <= sizeof t->bytes - t->size);
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}

/* The tap sees the bytes of the file, the BOM too, each once. */
static void tap_sees_all(void **state)
{
    (void)state;
    static const char text[] = "\xEF\xBB\xBFh\xC3\xA9llo,\n\xFFrest";
    const char *encodings[] = { "", "ISO-8859-1" };
    for (size_t e = 0; e < 2; e++) {
        for (size_t chunk = 1; chunk < 20; chunk++) {
            lb_store *store = memory(text, sizeof text - 1);
            tapped seen = { .size = 0 };
            lb_text t;
            assert_int_equal(lb_text_open(&t, NULL, store, 3, encodings[e], chunk, NULL), LB_OK);
            lb_text_tap(&t, true, tap, &seen);
            while (!t.end)
                assert_int_equal(lb_text_more(&t, t.size, NULL), LB_OK);
            assert_int_equal(seen.size, sizeof text - 1);
            assert_memory_equal(seen.bytes, text, sizeof text - 1);
            lb_text_close(&t);
            lb_store_close(store);
        }
    }
}

static void nothing_at_all(void **state)
{
    (void)state;
    const char *encodings[] = { "", "UTF-16LE", "GBK" };
    for (size_t e = 0; e < 3; e++) {
        lb_store *store = memory("", 0);
        lb_text t;
        assert_int_equal(lb_text_open(&t, NULL, store, 0, encodings[e], 0, NULL), LB_OK);
        assert_int_equal(lb_text_more(&t, 0, NULL), LB_OK);
        assert_true(t.end);
        assert_int_equal(t.size, 0);
        assert_int_equal(lb_text_offset(&t, 0), 0);
        check_padding(&t);
        lb_text_close(&t);
        lb_store_close(store);
    }
}

static void budget_and_cancel(void **state)
{
    (void)state;
    lb_context_options options = { .struct_size = sizeof options, .memory_limit = 1 << 20 };
    lb_context *cx;
    lb_error err = LB_ERROR_INIT;
    lb_text t;
    uint8_t *bytes = calloc(4, 1 << 20);
    lb_status status = LB_OK;
    assert_non_null(bytes);
    assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
    lb_store *store = memory(bytes, 4u << 20);
    assert_int_equal(lb_text_open(&t, cx, store, 0, NULL, 65536, NULL), LB_OK);
    while (status == LB_OK && !t.end)
        status = lb_text_more(&t, 0, &err);
    assert_int_equal(status, LB_BUDGET);
    assert_true(t.size > 600000); /* most of the budget could be used */
    lb_text_close(&t);
    assert_int_equal(lb_text_open(&t, cx, store, 0, NULL, 65536, NULL), LB_OK);
    while (!t.end)
        assert_int_equal(lb_text_more(&t, t.size, NULL), LB_OK);
    lb_text_close(&t);
    lb_context_cancel(cx);
    assert_int_equal(lb_text_open(&t, cx, store, 0, NULL, 65536, NULL), LB_OK);
    assert_int_equal(lb_text_more(&t, 0, NULL), LB_CANCELLED);
    lb_text_close(&t);
    lb_store_close(store);
    lb_context_free(cx);
    free(bytes);
}

static const struct {
    const char *name, *head;
    size_t head_size;
    lb_status status;
    const char *settled;
    unsigned bom;
} encoding_cases[] = {
    { NULL, "abc", 3, LB_OK, "", 0 },
    { "utf-8",
      "\xEF\xBB\xBF"
      "a",
      4, LB_OK, "", 3 },
    { "utf8", "\xEF\xBB", 2, LB_OK, "", 0 },
    { "us-ascii", "a", 1, LB_OK, "", 0 },
    { "UTF-16",
      "\xFF\xFE"
      "a\0",
      4, LB_OK, "UTF-16LE", 2 },
    { "utf_16", "\xFE\xFF\0a", 4, LB_OK, "UTF-16BE", 2 },
    { "UTF-16", "a\0b\0", 4, LB_OK, "UTF-16LE", 0 },
    { "utf-16-be", "\xFE\xFF\0a", 4, LB_OK, "UTF-16BE", 2 },
    { "UTF-16LE", "\xFF\xFE", 2, LB_OK, "UTF-16LE", 2 },
    { "UTF-16LE", "\xFE\xFF", 2, LB_OK, "UTF-16LE", 0 },
    { "UTF-32", "\xFF\xFE\0\0", 4, LB_OK, "UTF-32LE", 4 },
    { "utf32", "\0\0\xFE\xFF", 4, LB_OK, "UTF-32BE", 4 },
    { "UTF-32", "a\0\0\0", 4, LB_OK, "UTF-32LE", 0 },
    { "latin-1", "", 0, LB_OK, "ISO-8859-1", 0 },
    { "latin1", "\xEF\xBB\xBF", 3, LB_OK, "ISO-8859-1", 0 },
    { "iso8859-15", "", 0, LB_OK, "ISO-8859-15", 0 },
    { "ISO_8859-5", "", 0, LB_OK, "ISO-8859-5", 0 },
    { "cp1252", "", 0, LB_OK, "WINDOWS-1252", 0 },
    { "Windows-1251", "", 0, LB_OK, "WINDOWS-1251", 0 },
    { "shift_jis", "", 0, LB_OK, "SHIFT_JIS", 0 },
    { "sjis", "", 0, LB_OK, "SHIFT_JIS", 0 },
    { "gbk", "", 0, LB_OK, "GBK", 0 },
    { "gb18030", "\x84\x31\x95\x33", 4, LB_OK, "GB18030", 4 },
    { "big5-hkscs", "", 0, LB_OK, "BIG5-HKSCS", 0 },
    { "euc_jp", "", 0, LB_OK, "EUC-JP", 0 },
    { "koi8-r", "", 0, LB_OK, "KOI8-R", 0 },
    { "IBM037", "", 0, LB_OK, "IBM037", 0 },
    { "EUC-JISX0213", "", 0, LB_OK, "EUC-JISX0213", 0 },
    { "ISO-2022-JP", "", 0, LB_UNSUPPORTED, "", 0 },
    { "iso2022_kr", "", 0, LB_UNSUPPORTED, "", 0 },
    { "UTF-7", "", 0, LB_UNSUPPORTED, "", 0 },
    { "hz", "", 0, LB_UNSUPPORTED, "", 0 },
    { "IBM930", "", 0, LB_UNSUPPORTED, "", 0 },
    { "CSIBM1364", "", 0, LB_UNSUPPORTED, "", 0 },
    { "UTF-99", "", 0, LB_USAGE, "", 0 },
    { "UTF-16//IGNORE", "", 0, LB_USAGE, "", 0 },
    { "char", "", 0, LB_USAGE, "", 0 },
    { "a-name-that-is-much-longer-than-any-encoding-has-and-than-the-buffer-is", "", 0, LB_USAGE, "", 0 },
};

static void encoding_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(encoding_cases); i++) {
        char out[64];
        unsigned bom;
        lb_error err = LB_ERROR_INIT;
        lb_store *store = memory(encoding_cases[i].head, encoding_cases[i].head_size);
        lb_status status = lb_text_encoding(store, encoding_cases[i].name, out, &bom, &err);
        if (status != encoding_cases[i].status)
            fail_msg("%s: %s", encoding_cases[i].name, err.message);
        if (status == LB_OK) {
            assert_string_equal(out, encoding_cases[i].settled);
            assert_int_equal(bom, encoding_cases[i].bom);
        } else {
            assert_true(strstr(err.hint, "iconv") != NULL);
        }
        lb_store_close(store);
    }
}

static uint64_t lines_by_hand(const uint8_t *p, size_t size, bool after_cr)
{
    uint64_t n = 0;
    for (size_t i = 0; i < size; i++) {
        n += p[i] == '\r' || (p[i] == '\n' && !after_cr);
        after_cr = p[i] == '\r';
    }
    return n;
}

static void line_counts(void **state)
{
    (void)state;
    static uint8_t bytes[20000];
    random_state = 4;
    for (int round = 0; round < 300; round++) {
        size_t size = round < 200 ? random_below(100) : random_below(sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t) "\r\n\n\rab\0\xFF"[random_below(8)];
        size_t cut = random_below((uint32_t)size + 1);
        assert_int_equal(lb_count_lines(bytes, size, false), lines_by_hand(bytes, size, false));
        assert_int_equal(lb_count_lines(bytes, size, true), lines_by_hand(bytes, size, true));
        uint64_t parts = lb_count_lines(bytes, cut, false) +
                         lb_count_lines(bytes + cut, size - cut, cut > 0 && bytes[cut - 1] == '\r');
        assert_int_equal(parts, lines_by_hand(bytes, size, false));
    }
    memset(bytes, '\n', sizeof bytes);
    assert_int_equal(lb_count_lines(bytes, sizeof bytes, false), sizeof bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_small_chunks),
        cmocka_unit_test(encodings_large_chunks),
        cmocka_unit_test(utf8_like_the_others),
        cmocka_unit_test(no_line_feeds),
        cmocka_unit_test(bad_bytes),
        cmocka_unit_test(tap_sees_all),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(budget_and_cancel),
        cmocka_unit_test(encoding_names),
        cmocka_unit_test(line_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
