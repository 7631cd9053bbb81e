/* Survey and scan of JSON: what they find does not depend on how the file is cut into pieces, ranges are ranges of
 * the whole, a record's own bytes read alone give its row, a file that grew is surveyed as if it had been so from the
 * beginning; then where errors are, what torn files give, and what single values become. */
#include "column/ipc.h"
#include "column/stream.h"
#include "format/json/json_files.h"

#define FILES 600

static lb_context *cx;

/* ---------------------------------------------------------------- reading */

typedef struct opened {
    lb_store *store;
    lb_read_options *options;
    surveyed survey;
    lb_reader *reader; /* NULL: the survey failed */
} opened;

static void open_text(opened *f, const lb_format *format, const char *bytes, size_t size, const char *types,
                      lb_survey_options how)
{
    *f = (opened){ .store = NULL };
    assert_int_equal(lb_read_options_new(&f->options, NULL), LB_OK);
    if (types != NULL)
        assert_int_equal(lb_read_options_set(f->options, "types", types, NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(bytes, size, &f->store, NULL), LB_OK);
    survey_store(f->store, format, 1, f->options, how, NULL, &f->survey);
    if (f->survey.status == LB_OK)
        assert_int_equal(format->open(format, cx, f->store, f->options, &f->survey.entry, &f->reader, &f->survey.err),
                         LB_OK);
}

static void close_text(opened *f)
{
    if (f->reader != NULL)
        f->reader->format->close(f->reader);
    surveyed_free(&f->survey);
    lb_store_close(f->store);
    lb_read_options_free(f->options);
}

static bool write_buf(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

/* Rows of all columns as text, one a line, exact for every type. `take`: these rows instead. */
static lb_status scan_text(lb_reader *r, uint64_t first, uint64_t count, const uint64_t *take, size_t chunk,
                           size_t batch, lb_buf *out, lb_error *err)
{
    lb_wanted wanted[16];
    struct ArrowArrayStream stream;
    const size_t n = (size_t)r->schema.n_children;
    lb_range range = { .first = first, .count = count, .rows = take, .columns = wanted, .chunk = chunk };
    uint64_t rows;

    range.batch_rows = batch;
    range.n_columns = n;
    assert_true(n <= LB_COUNT_OF(wanted));
    for (size_t i = 0; i < n; i++)
        wanted[i] = (lb_wanted){ .column = i };
    out->size = 0;
    LB_TRY(r->format->scan(r, &range, &stream, err));
    return lb_print(cx, &stream, "tagged", NULL, write_buf, out, &rows, err);
}

/* Where the lines of a text begin, and its end behind them. */
static size_t *lines_of(const lb_buf *t, uint64_t n)
{
    size_t *at = calloc((size_t)n + 1, sizeof *at), k = 1;

    assert_non_null(at);
    for (size_t i = 0; i < t->size; i++)
        if (t->data[i] == '\n' && k <= n)
            at[k++] = i + 1;
    assert_int_equal(k, n + 1);
    return at;
}

/* ---------------------------------------------------------------- laws on random files */

static void check_ranges(const opened *f, const lb_buf *whole, const size_t *lines, uint64_t rows)
{
    lb_buf out;

    lb_buf_init(&out, NULL);
    for (int i = 0; i < 6; i++) {
        const uint64_t first = random_below(rows + 2), count = random_below(rows + 2);
        const uint64_t from = LB_MIN(first, rows), to = LB_MIN(from + count, rows);
        assert_int_equal(scan_text(f->reader, first, count, NULL, random_below(2) * 7, 1 + random_below(9), &out, NULL),
                         LB_OK);
        assert_int_equal(out.size, lines[to] - lines[from]);
        assert_memory_equal(out.data, whole->data + lines[from], out.size);
    }
    lb_buf_free(&out);
}

static void check_take(const opened *f, const lb_buf *whole, const size_t *lines, uint64_t rows)
{
    uint64_t take[8];
    size_t n = 0;
    lb_buf out;

    for (uint64_t row = random_below(4); row < rows && n < LB_COUNT_OF(take); row += 1 + random_below(9))
        take[n++] = row;
    lb_buf_init(&out, NULL);
    assert_int_equal(scan_text(f->reader, 0, n, take, 0, 0, &out, NULL), LB_OK);
    for (size_t i = 0, at = 0; i < n; i++) {
        const size_t size = lines[take[i] + 1] - lines[take[i]];
        assert_true(out.size - at >= size);
        assert_memory_equal(out.data + at, whole->data + lines[take[i]], size);
        at += size;
    }
    lb_buf_free(&out);
}

/* The bytes that extents and raw give for a row are that row. All are text, so that types are none of the file's. */
static void check_bytes(const text *t, const opened *f, uint64_t rows)
{
    lb_buf raw, out;

    lb_buf_init(&raw, NULL);
    lb_buf_init(&out, NULL);
    for (int i = 0; i < 4 && rows != 0; i++) {
        const uint64_t row = random_below(rows);
        lb_extent place;
        size_t found;
        assert_int_equal(js_extents(f->reader, &row, 1, &place, &found, NULL), LB_OK);
        assert_int_equal(found, 1);
        assert_true(place.first < place.stop && place.stop <= place.end && place.end <= t->size);
        raw.size = 0;
        assert_int_equal(js_raw(f->reader, row, 1, write_buf, &raw, NULL), LB_OK);
        assert_int_equal(raw.size, place.end - place.first);
        assert_memory_equal(raw.data, t->at + place.first, raw.size);
        opened alone;
        open_text(&alone, &lb_format_ndjson, t->at + place.first, place.stop - place.first, "text",
                  (lb_survey_options){ .stride = 1 });
        assert_int_equal(alone.survey.status, LB_OK);
        assert_int_equal(alone.survey.entry.total_rows, 1);
        assert_int_equal(alone.survey.entry.blocks.total_byte_size[0], place.stop - place.first);
        close_text(&alone);
    }
    lb_buf_free(&raw);
    lb_buf_free(&out);
}

static void check_file(const text *t)
{
    const uint64_t strides[] = { 1, 3, 64, 5000 };
    const lb_survey_options how = { .stride = strides[random_below(4)], .stats = LB_STATS_ALL };
    opened f, cut;
    lb_buf whole, again;

    open_text(&f, &lb_format_jsonl, t->at, t->size, NULL, how);
    assert_string_equal(f.survey.err.message, "");
    assert_int_equal(f.survey.status, LB_OK);
    const uint64_t rows = f.survey.entry.total_rows;
    lb_survey_options cut_how = how;
    cut_how.chunk = 1 + random_below(200);
    open_text(&cut, &lb_format_jsonl, t->at, t->size, NULL, cut_how);
    same_survey(&f.survey, &cut.survey);
    lb_buf_init(&whole, NULL);
    lb_buf_init(&again, NULL);
    assert_int_equal(scan_text(f.reader, 0, UINT64_MAX, NULL, 0, 0, &whole, NULL), LB_OK);
    assert_int_equal(scan_text(f.reader, 0, UINT64_MAX, NULL, cut_how.chunk, 1 + random_below(50), &again, NULL),
                     LB_OK);
    assert_int_equal(whole.size, again.size);
    assert_memory_equal(whole.data, again.data, whole.size);
    size_t *lines = lines_of(&whole, rows);
    check_ranges(&f, &whole, lines, rows);
    check_take(&f, &whole, lines, rows);
    check_bytes(t, &f, rows);
    free(lines);
    lb_buf_free(&whole);
    lb_buf_free(&again);
    close_text(&cut);
    close_text(&f);
}

static void scan_random_files(void **state)
{
    text t = { .at = malloc(FILE_MOST) };

    (void)state;
    assert_non_null(t.at);
    for (int i = 0; i < FILES; i++) {
        random_text(&t, random_below(5000));
        check_file(&t);
    }
    free(t.at);
}

/* A log that grows: cut anywhere, the survey is taken up again and comes to what a survey of the whole does. */
static void scan_grown_files(void **state)
{
    text t = { .at = malloc(FILE_MOST) };
    const uint64_t strides[] = { 1, 7, 4096 };

    (void)state;
    assert_non_null(t.at);
    for (int i = 0; i < FILES; i++) {
        surveyed before, grown, fresh;
        lb_store *part, *all;
        random_text(&t, 1 + random_below(5000));
        if (t.s.array)
            continue;
        const size_t cut = random_below(t.size);
        const lb_survey_options how = { .stride = strides[random_below(3)], .stats = LB_STATS_ALL, .keep_state = true };
        assert_int_equal(lb_store_open_memory(t.at, cut, &part, NULL), LB_OK);
        assert_int_equal(lb_store_open_memory(t.at, t.size, &all, NULL), LB_OK);
        survey_store(part, &lb_format_ndjson, 1, NULL, how, NULL, &before);
        survey_store(all, &lb_format_ndjson, 1, NULL, how, NULL, &fresh);
        if (before.status == LB_OK) {
            survey_store(all, &lb_format_ndjson, 1, NULL, how, &before.entry, &grown);
            /* Where it cannot be told, it says so, and is surveyed whole: a file that had no row. A number may go on. */
            if (grown.status == LB_OK)
                same_survey(&fresh, &grown);
            else
                assert_int_equal(before.entry.total_rows, 0);
            surveyed_free(&grown);
        }
        surveyed_free(&before);
        surveyed_free(&fresh);
        lb_store_close(part);
        lb_store_close(all);
    }
    free(t.at);
}

/* ---------------------------------------------------------------- tables */

static void scan_errors(void **state)
{
    static const struct {
        const char *text, *message;
        int64_t offset, row, line;
    } cases[] = {
        { "{\"a\":1}\n{\"a\":01}\n", "expected a number as JSON writes it", 13, 1, 2 },
        { "{\"a\":1}\n\n\n{\"a\":\"\\x\"}\n", "an escape that JSON does not have", 16, 1, 4 },
        { "{\"a\":\n1,\n}", "expected a key in quotes", 9, 0, 3 },
        { "{\"a\":1}\n{\"a\":tru}", "expected true, false or null", 13, 1, 2 },
        { "{\"a\":1}\r{\"a\":\"\xFF\"}", "0xFF is not valid UTF-8 here", 14, 1, 2 },
        { "{\"a\":1} }", "expected a value", 8, 1, 1 },
        { "[{\"a\":1},\n{\"a\":2}\n{\"a\":3}]", "expected a comma or the closing bracket", 18, 2, 3 },
        { "[{\"a\":1},]", "expected a value", 9, 1, 1 },
        { "[{\"a\":1}] x", "something follows the end", 10, 1, 1 },
        { "[{\"a\":1}] {}", "something follows the end", 10, 1, 1 },
        { "{\"a\\u0000\":1}", "a key holds the character NUL", 2, 0, 1 },
        { "{\"b\":1}\n\n{\"a\":\n{\"x\\u0000\":1}}", "a key holds the character NUL", 17, 1, 4 },
        { "[[],\n[{\"x\\u0000\":1}],\n[]]", "a key holds the character NUL", 8, 1, 2 },
        { "{\"a\":1}\n\xE2\x82", "the text ends inside a character of UTF-8", 8, 1, 2 },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        opened f;
        open_text(&f, &lb_format_json, cases[i].text, strlen(cases[i].text), NULL, (lb_survey_options){ .stride = 10 });
        assert_int_not_equal(f.survey.status, LB_OK);
        if (strstr(f.survey.err.message, cases[i].message) == NULL)
            fail_msg("case %zu: \"%s\", not \"%s\"", i, f.survey.err.message, cases[i].message);
        assert_int_equal(f.survey.err.offset, cases[i].offset);
        assert_int_equal(f.survey.err.row, cases[i].row);
        assert_int_equal(f.survey.err.line, cases[i].line);
        close_text(&f);
    }
}

/* The rows before a torn end are there, and its place is known. */
static void scan_torn(void **state)
{
    static const struct {
        const char *text;
        uint64_t rows;
        int64_t offset, line;
    } cases[] = {
        { "{\"a\":1}\n{\"a\":2}\n{\"a", 2, 16, 3 },
        { "{\"a\":1}\n{\"a\":\"x\\", 1, 8, 2 },
        { "{\"a\":1}\n{\"a\":\"\xE2\x82", 1, 8, 2 },
        { "{\"a\":1}\n{\"a\":\n\n", 1, 8, 2 },
        { "{", 0, 0, 1 },
        { "[{\"a\":1},\n{\"a\":2", 1, 10, 2 },
        { "[{\"a\":1}", 1, 8, 1 },
        { "[", 0, 1, 1 },
        { "1 2 tru", 2, 4, 1 },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        opened f;
        open_text(&f, &lb_format_json, cases[i].text, strlen(cases[i].text), NULL, (lb_survey_options){ .stride = 10 });
        assert_int_equal(f.survey.status, LB_OK);
        assert_int_equal(f.survey.entry.total_rows, cases[i].rows);
        assert_int_equal(js_tail(&f.survey.entry, &err), LB_CORRUPT);
        assert_int_equal(err.offset, cases[i].offset);
        assert_int_equal(err.row, cases[i].rows);
        assert_int_equal(err.line, cases[i].line);
        close_text(&f);
    }
}

static void scan_values(void **state)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        { "{\"a\":1}\n{\"b\":true,\"a\":null}", "{\"a\":1,\"b\":null}\n{\"a\":null,\"b\":true}\n" },
        { "{\"a\":1} {\"a\":2.5}", "{\"a\":1.0}\n{\"a\":2.5}\n" },
        { "{\"a\":-1} {\"a\":18446744073709551615}", "{\"a\":\"-1\"}\n{\"a\":\"18446744073709551615\"}\n" },
        { "{\"a\":1} {\"a\":18446744073709551615}", "{\"a\":1}\n{\"a\":{\"$int\":\"18446744073709551615\"}}\n" },
        { "{\"a\":9007199254740993} {\"a\":0.5}", "{\"a\":\"9007199254740993\"}\n{\"a\":\"0.5\"}\n" },
        { "{\"a\":1e999} {\"a\":-0}", "{\"a\":\"1e999\"}\n{\"a\":\"-0.0\"}\n" },
        { "{\"a\":{\"x\":[1, 2e1]}} {\"a\":\"t\"} {\"a\":null} {\"a\":[9007199254740993, -0, \"\\u0001\\/\"]}",
          "{\"a\":\"{\\\"x\\\":[1,20.0]}\"}\n{\"a\":\"t\"}\n{\"a\":null}\n"
          "{\"a\":\"[{\\\"$int\\\":\\\"9007199254740993\\\"},-0.0,\\\"\\\\u0001/\\\"]\"}\n" },
        { "{\"a\":[]} {\"a\":[[1],null]}", "{\"a\":[]}\n{\"a\":[[1],null]}\n" },
        { "{\"a\":[]} {\"a\":{}}", "{\"a\":\"[]\"}\n{\"a\":\"{}\"}\n" },
        { "{\"a\":1,\"a\":\"x\"} {\"a\":\"y\"}", "{\"a\":\"x\"}\n{\"a\":\"y\"}\n" },
        { "{\"a\":[1,2],\"b\":7,\"\\u0061\":[]} {}", "{\"a\":[],\"b\":7}\n{\"a\":null,\"b\":null}\n" },
        { "{\"a\":{\"x\":\"t\",\"x\":1,\"y\":{\"z\":[1],\"z\":[2,3]}}}", "{\"a\":{\"x\":1,\"y\":{\"z\":[2,3]}}}\n" },
        { "{\"a\":[{\"b\":[1],\"b\":\"x\",\"b\":[2,3]},{\"b\":null}]}", "{\"a\":[{\"b\":[2,3]},{\"b\":null}]}\n" },
        { "{\"a\":{\"b\":{\"c\":1}}} {\"a\":{\"b\":null}} {\"a\":null}",
          "{\"a\":{\"b\":{\"c\":1}}}\n{\"a\":{\"b\":null}}\n{\"a\":null}\n" },
        { "1 2 null", "{\"value\":1}\n{\"value\":2}\n{\"value\":null}\n" },
        { "{\"a\":1} 2", "{\"value\":\"{\\\"a\\\":1}\"}\n{\"value\":\"2\"}\n" },
        { "{\"a\\u0000\":[]} 2", "{\"value\":\"{\\\"a\\\\u0000\\\":[]}\"}\n{\"value\":\"2\"}\n" },
        { "[[1],[2,3]]", "{\"value\":[1]}\n{\"value\":[2,3]}\n" },
        { "[{\"a\":1}] [ ]", "{\"value\":[{\"a\":1}]}\n{\"value\":[]}\n" },
        { "[]", "" },
        { " \n", "" },
        { "", "" },
        { "{}{}", "{}\n{}\n" },
        { "\xEF\xBB\xBF{\"a\":\"\\ud83d\\ude00\\n\"}", "{\"a\":\"\xF0\x9F\x98\x80\\u000a\"}\n" },
    };
    lb_buf out;

    (void)state;
    lb_buf_init(&out, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        opened f;
        open_text(&f, &lb_format_json, cases[i].text, strlen(cases[i].text), NULL, (lb_survey_options){ .stride = 1 });
        assert_string_equal(f.survey.err.message, "");
        assert_int_equal(f.survey.status, LB_OK);
        assert_int_equal(scan_text(f.reader, 0, UINT64_MAX, NULL, 0, 0, &out, NULL), LB_OK);
        assert_non_null(lb_buf_text(&out));
        assert_string_equal(lb_buf_text(&out), cases[i].rows);
        close_text(&f);
    }
    lb_buf_free(&out);
}

/* Where types come from the first part of a file, what the rest has besides is an error with its place. */
static void scan_beyond_sample(void **state)
{
    static const struct {
        const char *text, *message;
        int64_t offset, row, line;
    } cases[] = {
        { "{\"a\":1}\n{\"a\":2,\"b\":3}\n", "a key 'b' that the first part of the file does not have", 16, 1, 2 },
        { "{\"a\":1}\n\n{\"a\":\"x\"}\n", "column 'a', of type int64: what begins with \"x\"", 14, 1, 3 },
        { "{\"a\":1}\n7", "a row that is no object, where others are", 8, 1, 2 },
        { "{\"a\":{}}\n{\"a\":{\"q\":1}}", "a key 'q' that the first part of the file does not have", 16, 1, 2 },
        { "{\"a\":1}\n{\"a\"", "the file ends inside this value", 8, 1, 2 },
    };
    lb_buf out;

    (void)state;
    lb_buf_init(&out, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        opened f;
        open_text(&f, &lb_format_json, cases[i].text, strlen(cases[i].text), NULL,
                  (lb_survey_options){ .stride = 1, .sample_bytes = 1 });
        assert_int_equal(f.survey.status, LB_OK);
        assert_true(f.survey.entry.total_rows == LB_ROWS_UNKNOWN);
        assert_int_equal(scan_text(f.reader, 0, 1, NULL, 0, 0, &out, &err), LB_OK);
        assert_int_equal(scan_text(f.reader, 0, UINT64_MAX, NULL, 0, 1, &out, &err), LB_CORRUPT);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: \"%s\", not \"%s\"", i, err.message, cases[i].message);
        assert_int_equal(err.offset, cases[i].offset);
        assert_int_equal(err.row, cases[i].row);
        assert_int_equal(err.line, cases[i].line);
        close_text(&f);
    }
    lb_buf_free(&out);
}

/* Columns that are declared. Rows empty: the value does not read so. */
static void scan_declared(void **state)
{
    static const struct {
        const char *column, *text, *rows;
    } cases[] = {
        { "a=date", "{\"a\":\"1970-01-02\"} {\"a\":null}", "{\"a\":1}\n{\"a\":null}\n" },
        { "a=timestamp[us]", "{\"a\":\"1970-01-01T00:00:01.5\"} {\"a\":\"1970-01-02\"}",
          "{\"a\":1500000}\n{\"a\":86400000000}\n" },
        { "a=timestamp[ms,UTC]", "{\"a\":\"1970-01-01T01:00:00+01:00\"}", "{\"a\":0}\n" },
        { "a=time[us]", "{\"a\":\"00:00:0\\u0031\"}", "{\"a\":1000000}\n" },
        { "a=decimal(5,2)", "{\"a\":1.5} {\"a\":\"-0.05\"} {\"a\":7}",
          "{\"a\":\"1.50\"}\n{\"a\":\"-0.05\"}\n{\"a\":\"7.00\"}\n" },
        { "a=float64", "{\"a\":1}", "{\"a\":1.0}\n" },
        { "a=int8", "{\"a\":-128}", "{\"a\":-128}\n" },
        { "a=uint16", "{\"a\":65535}", "{\"a\":65535}\n" },
        { "a=map", "{\"a\":{\"x\":1,\"y\":2,\"x\":3}}", "{\"a\":[[\"y\",2],[\"x\",3]]}\n" },
        { "a={\"list\":\"string\"}", "{\"a\":[1,\"x\",{}]}", "{\"a\":[\"1\",\"x\",\"{}\"]}\n" },
        { "a=date", "{\"a\":\"1970-02-30\"}", "" },
        { "a=date", "{\"a\":5}", "" },
        { "a=timestamp[us,UTC]", "{\"a\":\"1970-01-01T00:00\"}", "" },
        { "a=decimal(5,2)", "{\"a\":1.555}", "" },
        { "a=int8", "{\"a\":128}", "" },
        { "a=uint16", "{\"a\":-1}", "" },
        { "a=bool", "{\"a\":1}", "" },
        { "a=int64", "{\"a\":1.0}", "" },
    };
    lb_buf out;

    (void)state;
    lb_buf_init(&out, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_read_options *o = NULL;
        lb_reader *reader;
        lb_store *store;
        surveyed s;
        assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
        assert_int_equal(lb_read_options_set(o, "column", cases[i].column, NULL), LB_OK);
        assert_int_equal(lb_store_open_memory(cases[i].text, strlen(cases[i].text), &store, NULL), LB_OK);
        survey_store(store, &lb_format_json, 1, o, (lb_survey_options){ .stride = 1 }, NULL, &s);
        assert_string_equal(s.err.message, "");
        assert_int_equal(lb_format_json.open(&lb_format_json, cx, store, o, &s.entry, &reader, NULL), LB_OK);
        const lb_status status = scan_text(reader, 0, UINT64_MAX, NULL, 0, 0, &out, &err);
        if (cases[i].rows[0] != '\0') {
            assert_string_equal(err.message, "");
            assert_string_equal(lb_buf_text(&out), cases[i].rows);
        } else {
            assert_int_equal(status, LB_CORRUPT);
            assert_int_equal(err.row, 0);
            assert_int_equal(err.offset, 5);
        }
        lb_format_json.close(reader);
        surveyed_free(&s);
        lb_store_close(store);
        lb_read_options_free(o);
    }
    lb_buf_free(&out);
}

/* Arrays that lie deeper in each other than columns do are text from there on. */
static void scan_deep(void **state)
{
    char deep[600] = "{\"a\":";
    lb_buf out;
    opened f;

    (void)state;
    lb_buf_init(&out, NULL);
    memset(deep + 5, '[', 200);
    memset(deep + 205, ']', 200);
    deep[405] = '}';
    open_text(&f, &lb_format_json, deep, 406, NULL, (lb_survey_options){ .stride = 1, .stats = LB_STATS_ALL });
    assert_int_equal(f.survey.status, LB_OK);
    assert_int_equal(scan_text(f.reader, 0, 1, NULL, 0, 0, &out, NULL), LB_OK);
    assert_int_equal(out.size, 200 + 200 + 2 + 6 + 1); /* quotes around the inner ones */
    close_text(&f);
    lb_buf_free(&out);
}

static int set_up(void **state)
{
    (void)state;
    cx = new_context(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(cx->budget.used, 0);
    lb_context_free(cx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_random_files),  cmocka_unit_test(scan_grown_files), cmocka_unit_test(scan_errors),
        cmocka_unit_test(scan_torn),          cmocka_unit_test(scan_values),      cmocka_unit_test(scan_deep),
        cmocka_unit_test(scan_beyond_sample), cmocka_unit_test(scan_declared),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
