/* Gathering rows: every type's picked rows print as they do where they stand, by the direct way and by the general
 * one. */
#include "column/gather.h"
#include "column_fixture.h"

static const struct {
    const char *type, *first, *second;
} cases[] = {
    { "bool", "true, null, false, true", "false, false, null" },
    { "int8", "1, -128, null, 127", "5, 6, 7" },
    { "uint16", "1, 65535", "null, 0, 3" },
    { "int32", "1, 2, 3", "4, 5, 6" },
    { "int64", "null, null", "-9223372036854775808, 1, 9223372036854775807" },
    { "uint64", "18446744073709551615", "0, null, 7" },
    { "float32", "1.5, null, -0.0", "1e10, 2.5, 3.5" },
    { "float64", "0.1, NaN", "null, 5e-324, -1.5" },
    { "decimal(9,2)", "1.25, null", "-3.50, 0.00, 9.99" },
    { "decimal(50,10)", "1.25, null", "-3.50, 0.00, 9.99" },
    { "date", "0, 19000, null", "-1, 5, 6" },
    { "timestamp[us,UTC]", "0, 1", "null, 2, 3" },
    { "time[ms]", "0, 1, null", "5, 6, 7" },
    { "string", "\"a\", \"\", null, \"longer text\"", "\"b\", null, \"c\"" },
    { "binary", "\"a\", null", "\"\", \"xyz\", \"q\"" },
    { "@U", "\"large\", null", "\"\", \"xyz\", \"q\"" },
    { "@w:3", "\"abc\", null", "\"def\", \"ghi\", \"jkl\"" },
    { "@n", "null, null", "null, null, null" },
    { "{\"list\":\"int64\"}", "[1, 2], null, [], [3, null]", "[4], [5, 6, 7], null" },
    { "{\"list\":{\"list\":\"string\"}}", "[[\"a\"], []], [null, [\"b\", \"c\"]]", "null, [], [[\"d\"]]" },
};

typedef lb_status (*gather_fn)(const struct ArrowSchema *, const struct ArrowArray *const *, size_t, const lb_pick *,
                               size_t, struct ArrowArray *, lb_error *);

/* Line `row` of what an array prints. */
static lb_str line_of(const lb_buf *text, uint32_t row)
{
    const char *at = (const char *)text->data, *end;
    for (;; at = end + 1) {
        end = memchr(at, '\n', text->size - (size_t)(at - (const char *)text->data));
        assert_non_null(end);
        if (row-- == 0)
            return (lb_str){ at, (size_t)(end + 1 - at) };
    }
}

static void check_picks(const struct ArrowSchema *type, const struct ArrowArray *const chunks[2], const lb_buf lines[2],
                        gather_fn gather, uint32_t seed)
{
    lb_error err = LB_ERROR_INIT;
    struct ArrowArray out;
    lb_pick picks[40];
    lb_buf want, got;
    size_t n = seed % 41;
    lb_buf_init(&want, NULL);
    lb_buf_init(&got, NULL);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245 + 12345;
        picks[i].chunk = seed >> 16 & 1;
        picks[i].row = (seed >> 17) % (uint32_t)chunks[picks[i].chunk]->length;
        lb_str line = line_of(&lines[picks[i].chunk], picks[i].row);
        assert_status(LB_OK, lb_buf_append(&want, line.at, line.size, &err), &err);
    }
    assert_status(LB_OK, gather(type, chunks, 2, picks, n, &out, &err), &err);
    assert_int_equal(out.length, n);
    fixture_print(type, &out, LB_FORM_TAGGED, &got);
    assert_text(want.size == 0 ? "" : lb_buf_text(&want), &got);
    out.release(&out);
    lb_buf_free(&want);
    lb_buf_free(&got);
}

static void check_case(size_t k)
{
    struct ArrowSchema type;
    struct ArrowArray arrays[2];
    lb_buf lines[2];
    fixture_type(cases[k].type, &type);
    fixture_array(&type, cases[k].first, &arrays[0]);
    fixture_array(&type, cases[k].second, &arrays[1]);
    const struct ArrowArray *const chunks[2] = { &arrays[0], &arrays[1] };
    for (size_t i = 0; i < 2; i++) {
        lb_buf_init(&lines[i], NULL);
        fixture_print(&type, chunks[i], LB_FORM_TAGGED, &lines[i]);
    }
    for (uint32_t seed = 0; seed < 200; seed++) {
        check_picks(&type, chunks, lines, lb_array_gather, seed);
        check_picks(&type, chunks, lines, lb_array_gather_any, seed);
    }
    for (size_t i = 0; i < 2; i++) {
        lb_buf_free(&lines[i]);
        arrays[i].release(&arrays[i]);
    }
    type.release(&type);
}

static void picked_rows_are_the_rows(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        check_case(k);
}

/* An array that begins in the middle of its buffers. */
static void offsets_count(void **state)
{
    static const char *const types[] = { "int64", "bool", "string" };
    static const char *const values[] = { "1, 2, null, 4, 5", "true, false, null, true, false",
                                          "\"a\", \"b\", null, \"dd\", \"e\"" };
    static const char *const want[] = { "5\nnull\n4\n", "false\nnull\ntrue\n", "\"e\"\nnull\n\"dd\"\n" };
    const lb_pick picks[] = { { 0, 2 }, { 0, 0 }, { 0, 1 } };
    (void)state;
    for (size_t k = 0; k < COUNT_OF(types); k++) {
        struct ArrowSchema type;
        struct ArrowArray array, out;
        lb_error err = LB_ERROR_INIT;
        lb_buf got;
        fixture_type(types[k], &type);
        fixture_array(&type, values[k], &array);
        array.offset = 2;
        array.length = 3;
        const struct ArrowArray *chunk = &array;
        assert_status(LB_OK, lb_array_gather(&type, &chunk, 1, picks, 3, &out, &err), &err);
        lb_buf_init(&got, NULL);
        fixture_print(&type, &out, LB_FORM_CANONICAL, &got);
        assert_text(want[k], &got);
        lb_buf_free(&got);
        out.release(&out);
        array.release(&array);
        type.release(&type);
    }
}

/* More text than a column's offsets reach is refused, not wrapped. */
static void too_much_text(void **state)
{
    struct ArrowSchema type;
    struct ArrowArray array, out;
    lb_error err = LB_ERROR_INIT;
    const size_t size = (size_t)64 << 20, n = 33;
    (void)state;
    char *text = calloc(size, 1);
    lb_pick *picks = calloc(n, sizeof *picks);
    assert_true(text != NULL && picks != NULL);
    fixture_type("binary", &type);
    assert_arrow(ArrowArrayInitFromSchema(&array, &type, NULL));
    assert_arrow(ArrowArrayStartAppending(&array));
    assert_arrow(ArrowArrayAppendBytes(&array, (struct ArrowBufferView){ { text }, (int64_t)size }));
    assert_arrow(ArrowArrayFinishBuildingDefault(&array, NULL));
    const struct ArrowArray *chunk = &array;
    assert_status(LB_UNSUPPORTED, lb_array_gather(&type, &chunk, 1, picks, n, &out, &err), &err);
    assert_null(out.release);
    array.release(&array);
    type.release(&type);
    free(text);
    free(picks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picked_rows_are_the_rows),
        cmocka_unit_test(offsets_count),
        cmocka_unit_test(too_much_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
