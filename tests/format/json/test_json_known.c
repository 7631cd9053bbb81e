/* Rows taken in by their known keys: all that is counted, where rows end and what is left over is as if each had been
 * walked over and taken in alone, wherever the text is cut into windows. Where values are read too, looking for keys
 * where they were changes nothing. */
#include "format/json/json_known.h"
#include "format/json/json_texts.h"

#define TEXTS 400

typedef struct outcome {
    lb_arena arena;
    js_taker taker;
    lb_seen *rows;
    lb_buf ends; /* of size_t */
    uint64_t known;
    bool taken, careful;
    lb_json_reason reason; /* of what ended it */
    size_t bad_at;
} outcome;

static void outcome_end(outcome *o, size_t base, const lb_json_walk *w)
{
    const size_t stop = base + w->stop;

    assert_int_equal(lb_buf_append(&o->ends, &stop, sizeof stop, NULL), LB_OK);
}

/* Each row alone. */
static bool take_one(outcome *o, size_t base, const lb_json_walk *w)
{
    lb_json_cursor c = lb_json_cursor_of(w);

    o->taker.base = w->data;
    o->taker.base_offset = base;
    o->taken = js_take(&o->taker, o->rows, &c);
    if (!o->taken) {
        o->reason = c.reason;
        o->bad_at = c.reason == LB_JSON_GOOD ? 0 : base + (size_t)(c.bad_at - w->data);
        return false;
    }
    outcome_end(o, base, w);
    return true;
}

/* Of the rows passed together only the last one's end is told. */
static void take_known(outcome *o, size_t base, lb_json_walk *w, uint64_t most)
{
    const uint64_t passed = js_take_known(&o->taker, o->rows, w, most);
    const size_t none = 0;

    assert_true(passed <= most);
    o->known += passed;
    for (uint64_t i = 1; i < passed; i++)
        assert_int_equal(lb_buf_append(&o->ends, &none, sizeof none, NULL), LB_OK);
    if (passed != 0)
        outcome_end(o, base, w);
}

/* `chunk`: bytes by which the window grows; `most`: rows to pass together, 0: none. */
static void read_all(outcome *o, const char *bytes, size_t size, lb_json_layout layout, size_t chunk, uint64_t most)
{
    size_t base = 0, end = LB_MIN(chunk, size);
    uint8_t *padded = calloc(1, size + LB_JSON_PADDING);
    lb_json_step step = LB_JSON_VALUE;
    lb_json_walk w;

    assert_non_null(padded);
    memcpy(padded, bytes, size);
    lb_json_walk_init(&w, layout);
    lb_json_walk_window(&w, padded, end, end == size, 0);
    while (step == LB_JSON_VALUE || step == LB_JSON_MORE) {
        if (most != 0)
            take_known(o, base, &w, most);
        step = lb_json_walk_next(&w);
        if (step == LB_JSON_VALUE && !take_one(o, base, &w))
            break;
        if (step == LB_JSON_MORE) {
            base += w.start;
            end = LB_MIN(end + chunk, size);
            lb_json_walk_window(&w, padded + base, end - base, end == size, 0);
        }
        if (step == LB_JSON_BAD) {
            o->reason = w.reason;
            o->bad_at = base + w.bad_at;
        }
    }
    free(padded);
}

static void outcome_of(outcome *o, bool careful, bool typed, const char *bytes, size_t size, lb_json_layout layout,
                       size_t chunk, uint64_t most)
{
    *o = (outcome){ .taker = { .text = !typed, .careful = careful } };
    lb_arena_init(&o->arena, NULL);
    o->taker.arena = &o->arena;
    o->rows = lb_seen_rows(&o->arena, typed);
    assert_non_null(o->rows);
    if (most != 0)
        assert_int_equal(js_known_begin(&o->taker, NULL), LB_OK);
    read_all(o, bytes, size, layout, chunk, most);
}

static void outcome_free(outcome *o)
{
    lb_arena_free(&o->arena);
    lb_buf_free(&o->taker.scratch);
    lb_buf_free(&o->taker.replaced);
    lb_buf_free(&o->taker.known);
    lb_buf_free(&o->taker.counters);
    lb_buf_free(&o->ends);
}

static void assert_same(const outcome *a, const outcome *b)
{
    const size_t *ends_a = (const size_t *)(const void *)a->ends.data,
                 *ends_b = (const size_t *)(const void *)b->ends.data;
    lb_buf seen_a = { 0 }, seen_b = { 0 };

    /* Such a row is read again anyhow; what is wrong behind the keys may be found before they are. */
    if (a->taker.equal_keys && b->reason != LB_JSON_GOOD)
        return;
    assert_int_equal(a->reason, b->reason);
    assert_int_equal(a->bad_at, b->bad_at);
    assert_int_equal(a->taker.equal_keys, b->taker.equal_keys);
    assert_int_equal(a->taker.status, b->taker.status);
    assert_int_equal(a->ends.size, b->ends.size);
    for (size_t i = 0; i < a->ends.size / sizeof *ends_a; i++)
        if (ends_b[i] != 0)
            assert_int_equal(ends_a[i], ends_b[i]);
    if (!a->taken) /* what was taken in of a row that failed is of no use */
        return;
    assert_int_equal(lb_seen_put(a->rows, &seen_a, NULL), LB_OK);
    assert_int_equal(lb_seen_put(b->rows, &seen_b, NULL), LB_OK);
    assert_int_equal(seen_a.size, seen_b.size);
    assert_memory_equal(seen_a.data, seen_b.data, seen_a.size);
    lb_buf_free(&seen_a);
    lb_buf_free(&seen_b);
}

/* Returns how many rows were known. */
static uint64_t check_text(const char *bytes, size_t size, lb_json_layout layout)
{
    static const size_t chunks[] = { 1, 7, 33, 64, 150, 5000 };
    uint64_t known = 0;

    for (unsigned mode = 0; mode < 4; mode++) {
        const bool careful = (mode & 1) != 0, typed = (mode & 2) != 0;
        outcome alone, together;
        outcome_of(&alone, careful, typed, bytes, size, layout, size + 1, 0);
        for (size_t i = 0; i < LB_COUNT_OF(chunks); i++) {
            outcome_of(&together, careful, typed, bytes, size, layout, chunks[i], i % 2 == 0 ? UINT64_MAX : 3);
            assert_same(&alone, &together);
            known += together.known;
            outcome_free(&together);
        }
        outcome_free(&alone);
    }
    return known;
}

/* ---------------------------------------------------------------- tests */

#define FIRST "{\"a\":1,\"b\":\"x\",\"c\":true,\"d\":null,\"e\":[1],\"f\":{\"g\":2}}\n"

/* Second rows that are like the first; and those that must not be passed so. */
static const struct {
    const char *row;
    bool known;
} rows[] = {
    { "{\"a\":1,\"b\":\"x\",\"c\":true,\"d\":null,\"e\":[1],\"f\":{\"g\":2}}", true },
    { "{\"a\":-12345.678,\"b\":\"a text longer than sixteen bytes\",\"c\":false,\"e\":[]}", true },
    { "{\"a\":123456789012345,\"b\":\"\"}", true },
    { "{\"a\":1234567890123456,\"b\":\"\"}", true },
    { "{\"a\":-123456789012345678901234567890,\"b\":\"\\u0041\\n\"}", true },
    { "{\"a\":1e5}", true },
    { "{\"a\":-0}", true },
    { "{\"a\":0.5}", true },
    { "{\"a\":1.5E-7}", true },
    { "{\"a\":1e999}", true },
    { "{}", true },
    { "{ }", true },
    { "{\"f\":{},\"e\":[[],{}],\"b\":\"y\"}", true },
    { " { \"a\" : 1 , \"b\"\t:\n\"x\" } ", true },
    { "{\"\\u0061\":1,\"b\":\"x\"}", true },
    { "{\"b\":null,\"a\":null}", true },
    { "{\"z\":1}", false },               /* a new key */
    { "{\"a\":\"text\"}", false },        /* a new kind */
    { "{\"d\":1}", false },               /* the first that is not null */
    { "{\"a\":1,\"a\":2}", false },       /* equal keys */
    { "{\"a\":1,\"\\u0061\":2}", false }, /* of another spelling */
    { "{\"a\":1,}", false },
    { "{\"a\":1 \"b\":\"x\"}", false },
    { "{\"a\":1,\"b\":\"x\"", false },
    { "{\"a\":1,\"b\":\"x", false },
    { "{\"a\":", false },
    { "{\"a\"", false },
    { "{,\"a\":1}", false },
    { "{\"a\":01}", false },
    { "{\"a\":-01}", false },
    { "{\"a\":00.5}", false },
    { "{\"a\":1.}", false },
    { "{\"a\":.5}", false },
    { "{\"a\":1.2.3}", false },
    { "{\"a\":-}", false },
    { "{\"a\":--1}", false },
    { "{\"a\":1-2}", false },
    { "{\"a\":1x}", false },
    { "{\"a\":1e}", false },
    { "{\"a\":12345678901234567890x}", false },
    { "{\"c\":truefalse}", false },
    { "{\"c\":tru}", false },
    { "{\"c\":falsy}", false },
    { "{\"d\":nul}", false },
    { "{\"b\":\"a\tb\"}", false },
    { "{\"b\":\"\\x\"}", false },
    { "{\"b\":\"\\ud800\"}", false },
    { "{\"e\":[1,]}", false },
    { "{\"f\":{\"g\":01}}", false },
    { "[1]", false },
    { "7", false },
    { "\"{}\"", false },
    { "]", false },
};

static void test_rows(void **state)
{
    char bytes[1024];

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++) {
        const int n = snprintf(bytes, sizeof bytes, FIRST "%s\n", rows[i].row);
        assert_int_equal(check_text(bytes, (size_t)n, LB_JSON_LINES) != 0, rows[i].known);
        const int in_array = snprintf(bytes, sizeof bytes, "[" FIRST ",%s\n]", rows[i].row);
        assert_int_equal(check_text(bytes, (size_t)in_array, LB_JSON_ARRAY) != 0, rows[i].known);
    }
}

/* Every row between others of every kind: what was remembered of one must not spoil the next. */
static void test_pairs(void **state)
{
    char bytes[2048];

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++)
        for (size_t j = 0; j < LB_COUNT_OF(rows); j++) {
            const int n =
                snprintf(bytes, sizeof bytes, FIRST "%s\n%s\n" FIRST "%s", rows[i].row, rows[j].row, rows[i].row);
            (void)check_text(bytes, (size_t)n, LB_JSON_LINES);
        }
}

static void test_wide(void **state)
{
    lb_buf wide = { 0 };

    (void)state;
    for (unsigned row = 0; row < 4; row++) {
        for (unsigned k = 0; k < 700; k++)
            assert_int_equal(
                lb_buf_printf(&wide, NULL, "%s\"a key of its own%*u\":%u", k == 0 ? "{" : ",", (int)(k % 60), k, row),
                LB_OK);
        assert_int_equal(lb_buf_append_str(&wide, "}\n", NULL), LB_OK);
    }
    assert_true(check_text((const char *)wide.data, wide.size, LB_JSON_LINES) >= 3);
    lb_buf_free(&wide);
}

static void test_random(void **state)
{
    text t = { .at = malloc(FILE_MOST) };
    uint64_t known = 0;

    (void)state;
    assert_non_null(t.at);
    for (size_t i = 0; i < TEXTS; i++) {
        random_text(&t, 500);
        const size_t from = (unsigned char)t.at[0] == 0xEF ? 3 : 0;
        const lb_json_layout layout = t.s.array ? LB_JSON_ARRAY : LB_JSON_LINES;
        known += check_text(t.at + from, t.size - from, layout);
        t.at[from + random_below(t.size - from)] = "{}[]\",:\\0-.etn \n"[random_below(16)]; /* one byte wrong */
        (void)check_text(t.at + from, t.size - from, layout);
    }
    assert_true(known > TEXTS);
    free(t.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_pairs),
                                        cmocka_unit_test(test_wide), cmocka_unit_test(test_random) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
