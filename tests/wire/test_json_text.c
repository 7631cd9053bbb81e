/* JSON text: strings and numbers as Python reads them, errors where they stand, and the laws of json_laws.h with every
 * body that the processor can run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define REQUIRE(truth)                                                        \
    do {                                                                      \
        if (!(truth)) {                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth); \
            abort();                                                          \
        }                                                                     \
    } while (0)

#include "json_cases.h"
#include "json_laws.h"

/* A text with what must be readable behind it. */
static const uint8_t *padded(const char *text, size_t size)
{
    static uint8_t bytes[JSON_LAWS_MOST + LB_JSON_PADDING];

    assert_true(size <= JSON_LAWS_MOST);
    memset(bytes, '9', sizeof bytes);
    memcpy(bytes, text, size);
    return bytes;
}

static lb_json_cursor cursor_on(const char *text)
{
    const size_t size = strlen(text);
    const uint8_t *p = padded(text, size);

    return lb_json_cursor_over(p, p + size);
}

static void strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(string_cases); i++) {
        uint8_t out[256];
        lb_json_text text;
        lb_json_cursor c = cursor_on(string_cases[i].json);
        assert_int_equal(lb_json_peek(&c), LB_JSON_STRING);
        assert_true(lb_json_string(&c, &text));
        assert_true(lb_json_finish(&c));
        assert_int_equal(lb_json_decode(&text, out), string_cases[i].size);
        assert_memory_equal(out, string_cases[i].text, string_cases[i].size);
        const lb_str want = { string_cases[i].text, string_cases[i].size };
        assert_true(lb_json_text_is(&text, want));
        out[want.size] = 'z';
        assert_false(lb_json_text_is(&text, (lb_str){ (const char *)out, want.size + 1 }));
        if (want.size != 0) {
            assert_false(lb_json_text_is(&text, (lb_str){ want.at, want.size - 1 }));
            out[want.size - 1] ^= 1;
            assert_false(lb_json_text_is(&text, (lb_str){ (const char *)out, want.size }));
        }
    }
}

static void numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(number_cases); i++) {
        lb_str text;
        lb_number number;
        uint64_t bits = number_cases[i].bits;
        lb_json_cursor c = cursor_on(number_cases[i].json);
        lb_number_kind kind = lb_json_number(&c, &text, &number);
        if (kind != number_cases[i].kind)
            fail_msg("%s is of kind %d", number_cases[i].json, (int)kind);
        assert_true(lb_json_finish(&c));
        assert_true(lb_str_is(text, number_cases[i].json));
        if (kind == LB_NUMBER_INT)
            assert_true((uint64_t)number.i == bits);
        if (kind == LB_NUMBER_UINT)
            assert_true(number.u == bits);
        if (kind == LB_NUMBER_FLOAT)
            assert_memory_equal(&number.f, &bits, sizeof bits);
    }
}

/* ---------------------------------------------------------------- errors */

/* Read whole and in pieces of one byte: rows before the error, and what and where it is. */
static const struct {
    lb_json_layout layout;
    const char *text;
    size_t rows;
    lb_json_reason reason;
    size_t bad_at;
} error_cases[] = {
    { LB_JSON_LINES, "", 0, LB_JSON_GOOD, 0 },
    { LB_JSON_LINES, " \t\r\n", 0, LB_JSON_GOOD, 0 },
    { LB_JSON_LINES, "{}\r{}\r\n\n[]\n", 3, LB_JSON_GOOD, 0 },
    { LB_JSON_LINES, "{}{}[1]\"a\"2 true", 6, LB_JSON_GOOD, 0 },
    { LB_JSON_LINES, "[1,2]\n[3]", 2, LB_JSON_GOOD, 0 },
    { LB_JSON_LINES, "{},{}", 1, LB_JSON_NO_VALUE, 2 },
    { LB_JSON_LINES, "{}]", 1, LB_JSON_NO_VALUE, 2 },
    { LB_JSON_LINES, "{}\n#", 1, LB_JSON_NO_VALUE, 3 },
    { LB_JSON_LINES, "{}\n\f{}", 1, LB_JSON_NO_VALUE, 3 },
    { LB_JSON_LINES, "'a'", 0, LB_JSON_NO_VALUE, 0 },
    { LB_JSON_LINES, "+1", 0, LB_JSON_NO_VALUE, 0 },
    { LB_JSON_LINES, ".5", 0, LB_JSON_NO_VALUE, 0 },
    { LB_JSON_LINES, "NaN", 0, LB_JSON_NO_VALUE, 0 },
    { LB_JSON_LINES, "1 -Infinity", 1, LB_JSON_BAD_NUMBER, 2 },
    { LB_JSON_LINES, "01", 0, LB_JSON_BAD_NUMBER, 0 },
    { LB_JSON_LINES, "-01 ", 0, LB_JSON_BAD_NUMBER, 0 },
    { LB_JSON_LINES, "1. ", 0, LB_JSON_BAD_NUMBER, 0 },
    { LB_JSON_LINES, "[1.]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[1.e5]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[1e]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[1eE2]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[1e+]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[-]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[0x1]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[1a]", 0, LB_JSON_BAD_NUMBER, 1 },
    { LB_JSON_LINES, "[1\0]", 0, LB_JSON_CUT, 2 }, /* ends at the NUL, for the table's sake */
    { LB_JSON_LINES, "1.", 0, LB_JSON_CUT, 2 },
    { LB_JSON_LINES, "-", 0, LB_JSON_CUT, 1 },
    { LB_JSON_LINES, "tru", 0, LB_JSON_CUT, 3 },
    { LB_JSON_LINES, "tru ", 0, LB_JSON_BAD_WORD, 0 },
    { LB_JSON_LINES, "truer", 0, LB_JSON_BAD_WORD, 0 },
    { LB_JSON_LINES, "nulltrue", 0, LB_JSON_BAD_WORD, 0 },
    { LB_JSON_LINES, "[fals]", 0, LB_JSON_BAD_WORD, 1 },
    { LB_JSON_LINES, "[True]", 0, LB_JSON_NO_VALUE, 1 },
    { LB_JSON_LINES, "{\"a\":1}\n{\"a\":\"x", 1, LB_JSON_CUT, 15 },
    { LB_JSON_LINES, "{\"a\":1}\n{\"a\":\"x\n{\"a\":2}\n", 1, LB_JSON_CONTROL, 15 },
    { LB_JSON_LINES, "{\"a\":1}\n{\"a\":2\n{\"a\":3}\n", 1, LB_JSON_NO_COMMA, 15 },
    { LB_JSON_LINES, "{\"a\":1}\n{\"a\":\n{\"a\":3}\n", 1, LB_JSON_CUT, 22 },
    { LB_JSON_LINES, "{\"a\" 1}", 0, LB_JSON_NO_COLON, 5 },
    { LB_JSON_LINES, "{\"a\"::1}", 0, LB_JSON_NO_VALUE, 5 },
    { LB_JSON_LINES, "{a:1}", 0, LB_JSON_NO_KEY, 1 },
    { LB_JSON_LINES, "{1:1}", 0, LB_JSON_NO_KEY, 1 },
    { LB_JSON_LINES, "{\"a\":1,}", 0, LB_JSON_NO_KEY, 7 },
    { LB_JSON_LINES, "{,}", 0, LB_JSON_NO_KEY, 1 },
    { LB_JSON_LINES, "{\"a\":1]", 0, LB_JSON_NO_COMMA, 6 },
    { LB_JSON_LINES, "[1}", 0, LB_JSON_NO_COMMA, 2 },
    { LB_JSON_LINES, "[1,]", 0, LB_JSON_NO_VALUE, 3 },
    { LB_JSON_LINES, "[,1]", 0, LB_JSON_NO_VALUE, 1 },
    { LB_JSON_LINES, "[1 2]", 0, LB_JSON_NO_COMMA, 3 },
    { LB_JSON_LINES, "[1:2]", 0, LB_JSON_NO_COMMA, 2 },
    { LB_JSON_LINES, "[\"a\\x\"]", 0, LB_JSON_BAD_ESCAPE, 3 },
    { LB_JSON_LINES, "[\"\\u00g0\"]", 0, LB_JSON_BAD_ESCAPE, 2 },
    { LB_JSON_LINES, "[\"\\u00\"]", 0, LB_JSON_BAD_ESCAPE, 2 },
    { LB_JSON_LINES, "[\"a\tb\"]", 0, LB_JSON_CONTROL, 3 },
    { LB_JSON_LINES, "[\"\\ud800\"]", 0, LB_JSON_LONE_SURROGATE, 2 },
    { LB_JSON_LINES, "[\"\\udc00\"]", 0, LB_JSON_LONE_SURROGATE, 2 },
    { LB_JSON_LINES, "[\"\\ud800\\n\"]", 0, LB_JSON_LONE_SURROGATE, 2 },
    { LB_JSON_LINES, "[\"\\ud800\\ud800\"]", 0, LB_JSON_LONE_SURROGATE, 2 },
    { LB_JSON_LINES, "[\"\\ud800\\u\"]", 0, LB_JSON_BAD_ESCAPE, 8 },
    { LB_JSON_LINES, "[\"\\udd1e\\ud834\"]", 0, LB_JSON_LONE_SURROGATE, 2 },
    { LB_JSON_ARRAY, "", 0, LB_JSON_CUT, 0 },
    { LB_JSON_ARRAY, "{}", 0, LB_JSON_NO_ARRAY, 0 },
    { LB_JSON_ARRAY, " [ ] ", 0, LB_JSON_GOOD, 0 },
    { LB_JSON_ARRAY, "[1,\"],\",[2],{\"a\":[3,4]}]\n", 4, LB_JSON_GOOD, 0 },
    { LB_JSON_ARRAY, "[1", 0, LB_JSON_CUT, 2 },
    { LB_JSON_ARRAY, "[1 ", 1, LB_JSON_CUT, 3 },
    { LB_JSON_ARRAY, "[1,", 1, LB_JSON_CUT, 3 },
    { LB_JSON_ARRAY, "[{},{\"a\":", 1, LB_JSON_CUT, 9 },
    { LB_JSON_ARRAY, "[1,]", 1, LB_JSON_NO_VALUE, 3 },
    { LB_JSON_ARRAY, "[1,,2]", 1, LB_JSON_NO_VALUE, 3 },
    { LB_JSON_ARRAY, "[,1]", 0, LB_JSON_NO_VALUE, 1 },
    { LB_JSON_ARRAY, "[1 2]", 1, LB_JSON_NO_COMMA, 3 },
    { LB_JSON_ARRAY, "[{}{}]", 1, LB_JSON_NO_COMMA, 3 },
    { LB_JSON_ARRAY, "[1}", 1, LB_JSON_NO_COMMA, 2 },
    { LB_JSON_ARRAY, "[1]]", 1, LB_JSON_BEHIND, 3 },
    { LB_JSON_ARRAY, "[1][2]", 1, LB_JSON_BEHIND, 3 },
    { LB_JSON_ARRAY, "[] x", 0, LB_JSON_BEHIND, 3 },
    { LB_JSON_ELEMENTS, "{},{}]", 2, LB_JSON_GOOD, 0 },
    { LB_JSON_ELEMENTS, "]", 0, LB_JSON_NO_VALUE, 0 },
};

static void errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(error_cases); i++) {
        const size_t size = strlen(error_cases[i].text);
        json_laws in = { .text = padded(error_cases[i].text, size), .size = size, .layout = error_cases[i].layout };
        for (in.chunk = 1; in.chunk < 4; in.chunk++) {
            slow_json_rows slow = slow_json_read(in.text, in.size, in.layout);
            outcome o = read_windows(&in, &slow, in.chunk == 3 ? size : in.chunk, 0);
            if (o.n != error_cases[i].rows || o.reason != error_cases[i].reason || o.bad_at != error_cases[i].bad_at)
                fail_msg("%s: %zu rows, %s at %zu", error_cases[i].text, o.n, lb_json_reason_text(o.reason), o.bad_at);
            free(o.out);
            slow_json_free(&slow);
        }
    }
}

/* An error sticks, and what is asked for afterwards neither moves nor loops. */
static void errors_stick(void **state)
{
    lb_json_cursor c = cursor_on("{\"a\":1 \"b\":2}");
    lb_json_text key;
    lb_number number;
    lb_str text;

    (void)state;
    assert_true(lb_json_object(&c, &key));
    assert_int_equal(lb_json_number(&c, &text, &number), LB_NUMBER_INT);
    assert_false(lb_json_member(&c, &key));
    assert_int_equal(c.reason, LB_JSON_NO_COMMA);
    const uint8_t *bad_at = c.bad_at;
    assert_false(lb_json_member(&c, &key));
    assert_false(lb_json_object(&c, &key));
    assert_false(lb_json_array(&c));
    assert_false(lb_json_item(&c));
    assert_false(lb_json_string(&c, &key));
    assert_false(lb_json_word(&c));
    assert_false(lb_json_skip(&c, NULL));
    assert_false(lb_json_pass(&c, NULL));
    assert_false(lb_json_finish(&c));
    assert_int_equal(lb_json_number(&c, &text, &number), LB_NOT_A_NUMBER);
    assert_int_equal(lb_json_peek(&c), LB_JSON_NOTHING);
    assert_int_equal(c.reason, LB_JSON_NO_COMMA);
    assert_ptr_equal(c.bad_at, bad_at);
}

static void depth(void **state)
{
    char text[2 * LB_JSON_DEPTH + 8];

    (void)state;
    for (size_t deep = LB_JSON_DEPTH - 1; deep <= LB_JSON_DEPTH + 1; deep++) {
        const bool fits = deep <= LB_JSON_DEPTH;
        memset(text, '[', deep);
        memset(text + deep, ']', deep);
        json_laws in = { .text = padded(text, 2 * deep), .size = 2 * deep, .chunk = 64 };
        json_laws_hold(&in);
        slow_json_rows slow = slow_json_read(in.text, in.size, in.layout);
        assert_int_equal(slow.n, fits);
        assert_int_equal(slow.reason, fits ? LB_JSON_GOOD : LB_JSON_TOO_DEEP);
        slow_json_free(&slow);
    }
}

/* What can no longer become JSON is refused at once, and not when the window has grown to the end of the file. */
static void no_waiting(void **state)
{
    static const char *const texts[] = { "{\"a\":\"x\n", "{\"a\":1\n{", "[1 2", "\"\t", "{\"a\":tru,", "12x" };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(texts); i++) {
        lb_json_walk w;
        lb_json_walk_init(&w, LB_JSON_LINES);
        lb_json_walk_window(&w, padded(texts[i], strlen(texts[i])), strlen(texts[i]), false, 0);
        assert_int_equal(lb_json_walk_next(&w), LB_JSON_BAD);
        assert_int_equal(w.start, 0);
        assert_int_equal(lb_json_walk_next(&w), LB_JSON_BAD);
    }
}

/* ---------------------------------------------------------------- guesses */

static void guesses(void **state)
{
    static const struct {
        lb_json_layout layout;
        const char *text, *like;
        size_t at;
    } cases[] = {
        { LB_JSON_LINES, "x\":1}\n{\"id\":2}\n", "{\"id\"", 6 },
        { LB_JSON_LINES, "x\":1}\r\n{\"id\":2}\n", "{\"id\"", 7 },
        { LB_JSON_LINES, "  \"k\": 1\n}\n{\n  \"k\": 2\n}", "", 11 },
        { LB_JSON_LINES, "no line end", "", SIZE_MAX },
        { LB_JSON_LINES, "\n", "", SIZE_MAX },
        { LB_JSON_ARRAY, "x\"},{\"id\":3,\"l\":[{\"k\":1},{\"k\":2}]},{", "{\"id\"", 4 },
        { LB_JSON_ARRAY, "1},{\"k\":2}]},{\"id\":3},", "{\"id\"", 13 },
        { LB_JSON_ARRAY, "    },\n    {\n  }\n ]},\n  {\n", "", 24 },
        { LB_JSON_ARRAY, "1,2,3", "", SIZE_MAX },
        { LB_JSON_ARRAY, "", "", SIZE_MAX },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        const size_t size = strlen(cases[i].text);
        size_t at = lb_json_guess(padded(cases[i].text, size), size, cases[i].layout, lb_str_of(cases[i].like));
        if (at != cases[i].at)
            fail_msg("%s: %zu", cases[i].text, at);
    }
}

/* ---------------------------------------------------------------- texts made at random */

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

/* Pieces that make much that is JSON, and some that is not. */
static size_t random_text(uint64_t *random, char *out, size_t most)
{
    static const char *const pieces[] = {
        "{\"a\":1}",
        "{\"a\":1,\"b\":[",
        "]}",
        "[{},",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"key\":",
        "\"s\"",
        "\"\\\"\"",
        "\"\\\\\"",
        "\"\\u00e9\\ud83d\\ude00\"",
        "\"",
        "\\",
        "\n",
        "\r\n",
        " ",
        "        ",
        "\t",
        "1",
        "-2.5e3",
        "0",
        "true",
        "null",
        "false",
        "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
        "\xc3\xa9",
        "\n{\"id\":7,\"name\":\"x y\",\"tags\":[\"a\",\"b\"],\"at\":{\"x\":1.5,\"y\":-2}}",
        "},{",
        "\"]}\"",
        "\"{[\"",
    };
    size_t size = 0;

    for (uint64_t left = random_next(random) % 40; left > 0; left--) {
        const char *piece = pieces[random_next(random) % LB_COUNT_OF(pieces)];
        if (strlen(piece) > most - size)
            break;
        memcpy(out + size, piece, strlen(piece));
        size += strlen(piece);
    }
    return size;
}

/* A value as it should be. */
static size_t random_value(uint64_t *random, char *out, size_t size, unsigned deep)
{
    static const char *const scalars[] = { "1", "-0.5E+3", "true", "null", "\"\"", "\"a\\\\\"", "\"}\\\"]\"" };
    const uint64_t kind = random_next(random) % (deep == 0 ? 2 : 4);

    if (kind < 2) {
        const char *text = scalars[random_next(random) % LB_COUNT_OF(scalars)];
        memcpy(out + size, text, strlen(text));
        return size + strlen(text);
    }
    out[size++] = "{["[kind - 2];
    for (uint64_t i = 0, n = random_next(random) % 4; i < n; i++) {
        if (i != 0)
            out[size++] = ',';
        if (random_next(random) % 3 == 0)
            out[size++] = " \n\t\r"[random_next(random) % 4];
        if (kind == 2) {
            memcpy(out + size, "\"k\" :", 5);
            size += 5;
        }
        size = random_value(random, out, size, deep - 1);
    }
    out[size++] = "}]"[kind - 2];
    return size;
}

static size_t random_values(uint64_t *random, char *out, lb_json_layout layout)
{
    size_t size = 0;

    if (layout == LB_JSON_ARRAY)
        out[size++] = '[';
    /* Many of them pass the border of an index; a value has less than 600 bytes. */
    for (uint64_t i = 0, n = 1 + random_next(random) % (random_next(random) % 4 == 0 ? 200 : 9); i < n; i++) {
        if (size > JSON_LAWS_MOST - 600)
            break;
        if (i != 0)
            out[size++] = layout == LB_JSON_LINES ? '\n' : ',';
        size = random_value(random, out, size, 3);
    }
    if (layout != LB_JSON_LINES)
        out[size++] = ']';
    return size;
}

static void laws_at_random(void)
{
    uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
    char text[JSON_LAWS_MOST];

    for (unsigned turn = 0; turn < 10000; turn++) {
        json_laws in = { .text = (const uint8_t *)text,
                         .layout = (lb_json_layout)(turn % 3),
                         .chunk = 1 + random_next(&random) % 130,
                         .skip = random_next(&random) };
        in.size = turn % 2 == 0 ? random_text(&random, text, 1200) : random_values(&random, text, in.layout);
        json_laws_hold(&in);
    }
}

/* The choice of bodies is made once a process, so each one has a process of its own. */
static void laws_on_each_processor(void **state)
{
    static const char *const disabled[] = { "", "avx512", "avx2,avx512", "avx2,avx512,neon" };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(disabled); i++) {
        int status = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (setenv("LB_DISABLE_CPU", disabled[i], 1) != 0)
                _exit(1);
            laws_at_random();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("without \"%s\" other rows are found", disabled[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_on_each_processor), /* first: nothing has been chosen yet */
        cmocka_unit_test(strings),
        cmocka_unit_test(numbers),
        cmocka_unit_test(errors),
        cmocka_unit_test(errors_stick),
        cmocka_unit_test(depth),
        cmocka_unit_test(no_waiting),
        cmocka_unit_test(guesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
