/* Opening delimited text: which handler a text looks like, which better reading is suggested, which dialects are
 * refused, and what holds of every survey: each byte is given once, and memory stays within its limit. */
#include "format/delimited/delimited.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/delimited/delimited_handlers.h"

static lb_context *cx;

/* ---------------------------------------------------------------- sniffing */

static const struct {
    const char *head;
    uint64_t more; /* bytes of the file after the head */
    const char *format;
} heads[] = {
    { "a,b\n1,2\n", 0, "csv" },
    { "a;b\n", 0, "txt" },
    { "a|b;c,d\n", 0, "psv" },
    { "a\tb|c;d,e\n", 0, "tsv" },
    { "a\n1,2\n", 0, "csv" },
    { "a,b\r1;2\r", 0, "csv" },
    { "a;b\r\n1|2\r\n", 0, "txt" },
    { "a\r1\t2\r", 0, "csv" },
    { "just text", 0, "csv" },
    { "\xEF\xBB\xBF"
      "a;b\n",
      0, "txt" },
    { "", 0, NULL },
    { "a,\xFF\n", 0, NULL },
    { "a,b\xC3", 100, "csv" },
    { "a,b\xC3", 0, NULL },
};

static void open_sniffs(void **state)
{
    static const lb_format *const formats[] = { &lb_format_csv, &lb_format_tsv, &lb_format_psv, &lb_format_txt };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(heads); i++) {
        size_t size = strlen(heads[i].head);
        const lb_peek peek = { .head = (const uint8_t *)heads[i].head,
                               .head_size = size,
                               .file_size = size + heads[i].more };
        const char *best = NULL;
        int sure = 0;
        for (size_t k = 0; k < LB_COUNT_OF(formats); k++) {
            int score = formats[k]->sniff(formats[k], &peek);
            assert_in_range(score, 0, 100);
            if (score > sure) {
                sure = score;
                best = formats[k]->name;
            }
        }
        if (best == NULL || heads[i].format == NULL)
            assert_ptr_equal(best, heads[i].format);
        else
            assert_string_equal(best, heads[i].format);
    }
}

static void open_sniffs_no_nul(void **state)
{
    const lb_peek peek = { .head = (const uint8_t *)"a,b\0\n", .head_size = 5, .file_size = 5 };

    (void)state;
    assert_int_equal(lb_format_csv.sniff(&lb_format_csv, &peek), 0);
}

/* ---------------------------------------------------------------- suggestions */

static const struct {
    const lb_format *format;
    const char *text;
    size_t size;
    unsigned set;
    const char *option;
} suggestions[] = {
#define TEXT(literal) (literal), sizeof(literal) - 1
    { &lb_format_csv, TEXT("a;b;c\n1;2;3\n"), 0, "delimiter=;" },
    { &lb_format_csv, TEXT("a\tb\n1\t2\n"), 0, "delimiter=\\t" },
    { &lb_format_csv, TEXT("a|b\n1,5|2\n\"x|y\"|3\n"), 0, "delimiter=|" },
    { &lb_format_txt, TEXT("a,b\n1,2\n"), 0, "delimiter=," },
    { &lb_format_csv, TEXT("a,b\n1,2\n"), 0, "" },
    { &lb_format_csv, TEXT("a,b;c\n1,2;3\n"), 0, "" },
    { &lb_format_csv, TEXT("a;b\n1\n"), 0, "" },
    { &lb_format_csv, TEXT("a\n1\n"), 0, "" },
    { &lb_format_csv, TEXT(""), 0, "" },
    { &lb_format_csv, TEXT("a;b;c\n1;2;3\n"), LB_OPT_DELIMITER, "" },
    { &lb_format_csv, TEXT("\xEF\xBB\xBF\"a\";\"b\"\n1;2\n"), 0, "delimiter=;" },
    { &lb_format_csv, TEXT("a;b|c|d\n1;2|3|4\n"), 0, "delimiter=|" },
    { &lb_format_csv,
      TEXT("\xFF\xFE"
           "a\0,\0b\0\n\0"),
      0, "encoding=UTF-16" },
    { &lb_format_csv, TEXT("\xFE\xFF\0a\0,\0b\0\n"), 0, "encoding=UTF-16" },
#undef TEXT
};

static void open_suggests(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(suggestions); i++) {
        const lb_format *format = suggestions[i].format;
        const lb_read_options options = { .set = suggestions[i].set, .delimiter = "," };
        char option[128], why[128];
        lb_error err = LB_ERROR_INIT;
        lb_store *store;
        lb_reader *r;
        assert_int_equal(lb_store_open_memory(suggestions[i].text, suggestions[i].size, &store, &err), LB_OK);
        assert_int_equal(format->open(format, cx, store, &options, NULL, &r, &err), LB_OK);
        assert_int_equal(format->suggest(r, option, why, sizeof option, &err), LB_OK);
        assert_string_equal(option, suggestions[i].option);
        assert_int_equal(why[0] == '\0', option[0] == '\0');
        format->close(r);
        lb_store_close(store);
    }
}

/* ---------------------------------------------------------------- dialects */

static const struct {
    unsigned set;
    const char *delimiter;
    int quote, escape;
    lb_status status;
    const char *says;
} dialects[] = {
    { LB_OPT_DELIMITER, "::", 0, 0, LB_OK, "" },
    { LB_OPT_DELIMITER, "\n", 0, 0, LB_USAGE, "line end" },
    { LB_OPT_DELIMITER, ";\r", 0, 0, LB_USAGE, "line end" },
    { LB_OPT_DELIMITER, "\"", 0, 0, LB_USAGE, "one meaning" },
    { LB_OPT_DELIMITER | LB_OPT_QUOTE, "a'b", '\'', 0, LB_USAGE, "one meaning" },
    { LB_OPT_DELIMITER | LB_OPT_QUOTE, "\"", -1, 0, LB_OK, "" },
    { LB_OPT_DELIMITER | LB_OPT_ESCAPE, "\\|", 0, '\\', LB_USAGE, "escape" },
    { LB_OPT_QUOTE, "", '\n', 0, LB_USAGE, "line end" },
    { LB_OPT_ESCAPE, "", 0, '\r', LB_USAGE, "line end" },
    { LB_OPT_ESCAPE, "", 0, '"', LB_OK, "" },
    { LB_OPT_QUOTE | LB_OPT_ESCAPE, "", -1, -1, LB_OK, "" },
};

static void open_refuses_dialects(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(dialects); i++) {
        lb_read_options options = { .set = dialects[i].set, .quote = dialects[i].quote, .escape = dialects[i].escape };
        lb_error err = LB_ERROR_INIT;
        lb_store *store;
        lb_reader *r;
        memcpy(options.delimiter, dialects[i].delimiter, strlen(dialects[i].delimiter) + 1);
        assert_int_equal(lb_store_open_memory("a,b\n", 4, &store, &err), LB_OK);
        assert_int_equal(lb_format_csv.open(&lb_format_csv, cx, store, &options, NULL, &r, &err), dialects[i].status);
        assert_non_null(strstr(err.message, dialects[i].says));
        assert_true((r != NULL) == (dialects[i].status == LB_OK));
        lb_format_csv.close(r);
        lb_store_close(store);
    }
}

/* A map is a file as any other: its dialect may say anything. */
static void open_distrusts_entries(void **state)
{
    static const lb_dialect known[] = {
        { .delimiter = { "", 0 }, .quote = '"', .escape = -1 },
        { .delimiter = { "12345", 5 }, .quote = '"', .escape = -1 },
        { .delimiter = { "\n", 1 }, .quote = '"', .escape = -1 },
        { .delimiter = { ",", 1 }, .quote = ',', .escape = -1 },
        { .delimiter = { ",", 1 }, .quote = '"', .escape = '\n' },
        { .delimiter = { ",", 1 },
          .quote = '"',
          .escape = -1,
          .encoding = { "0123456789012345678901234567890123456789012345678901234567890123", 64 } },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(known); i++) {
        const lb_entry entry = { .has_dialect = true, .dialect = known[i] };
        lb_error err = LB_ERROR_INIT;
        lb_store *store;
        lb_reader *r;
        assert_int_equal(lb_store_open_memory("a,b\n", 4, &store, &err), LB_OK);
        lb_status status = lb_format_csv.open(&lb_format_csv, cx, store, NULL, &entry, &r, &err);
        assert_true(status == LB_CORRUPT || status == LB_USAGE);
        assert_null(r);
        lb_store_close(store);
    }
}

static void open_registered(void **state)
{
    lb_format *format;
    lb_error err = LB_ERROR_INIT;
    lb_arena arena;
    lb_entry entry = { .total_rows = 0 };
    lb_store *store;
    lb_reader *r;
    const lb_survey_options how = { .stride = 2 };

    (void)state;
    assert_int_equal(lb_delimited_register("pipes", '|', false, &format, &err), LB_OK);
    assert_string_equal(format->extensions[0], "pipes");
    assert_null(format->extensions[1]);
    assert_string_equal(format->name, "dynamic");
    assert_string_equal(format->locator, "none");
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_store_open_memory("1|x\n2|y\n3|z\n", 12, &store, &err), LB_OK);
    assert_int_equal(format->open(format, cx, store, NULL, NULL, &r, &err), LB_OK);
    assert_int_equal(format->survey(r, &how, &arena, &entry, &err), LB_OK);
    assert_int_equal(entry.total_rows, 3);
    assert_int_equal(entry.columns.count, 2);
    assert_true(lb_str_is(entry.columns.items[0].name, "column_1"));
    format->close(r);
    lb_store_close(store);
    lb_arena_free(&arena);
    free(format);
}

/* ---------------------------------------------------------------- every survey */

static const char sample[] =
    "a,b,c\n1,\"two\nlines\",2020-01-01\n,\"say \"\"hi\"\"\",\n3,x,2021-02-03\n\n4.5,y,2022-03-04\n";

static void take_bytes(void *user, const uint8_t *bytes, size_t size)
{
    assert_int_equal(lb_buf_append(user, bytes, size, NULL), LB_OK);
}

static void survey_gives_every_byte_once(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof sample; size++) {
        for (size_t chunk = 0; chunk < 20; chunk++) {
            const lb_read_options options = { .set = LB_OPT_RAGGED, .ragged_null = true };
            lb_error err = LB_ERROR_INIT;
            lb_arena arena;
            lb_entry entry = { .total_rows = 0 };
            lb_store *store;
            lb_reader *r;
            lb_buf seen;
            lb_buf_init(&seen, NULL);
            lb_arena_init(&arena, NULL);
            const lb_survey_options how = { .stride = 2, .chunk = chunk, .tap = take_bytes, .tap_user = &seen };
            assert_int_equal(lb_store_open_memory(sample, size, &store, &err), LB_OK);
            assert_int_equal(lb_format_csv.open(&lb_format_csv, cx, store, &options, NULL, &r, &err), LB_OK);
            assert_int_equal(lb_format_csv.survey(r, &how, &arena, &entry, &err), LB_OK);
            assert_int_equal(seen.size, size);
            assert_true(size == 0 || memcmp(seen.data, sample, size) == 0);
            lb_format_csv.close(r);
            lb_store_close(store);
            lb_arena_free(&arena);
            lb_buf_free(&seen);
        }
    }
}

static bool write_nowhere(void *user, const void *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    return size != 0;
}

/* Survey and scan the sample within a limit; what was taken is given back. */
static lb_status read_within(uint64_t limit, bool *budget_is_free)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = limit };
    const lb_survey_options how = { .stride = 2, .chunk = 16, .stats = LB_STATS_BLOCKS };
    const lb_wanted wanted[] = { { .column = 2 }, { .column = 1 } };
    const lb_range range = { .count = 10, .columns = wanted, .n_columns = 2, .chunk = 16 };
    struct ArrowArrayStream stream;
    lb_error err = LB_ERROR_INIT;
    lb_context *small;
    lb_arena arena;
    lb_entry entry = { .total_rows = 0 };
    lb_store *store;
    lb_reader *r;

    assert_int_equal(lb_context_new(&options, &small, &err), LB_OK);
    assert_int_equal(lb_store_open_memory(sample, sizeof sample - 1, &store, &err), LB_OK);
    lb_arena_init(&arena, &small->budget);
    lb_status status = lb_format_csv.open(&lb_format_csv, small, store, NULL, NULL, &r, &err);
    if (status == LB_OK) {
        status = lb_format_csv.survey(r, &how, &arena, &entry, &err);
        lb_format_csv.close(r);
    }
    if (status == LB_OK)
        status = lb_format_csv.open(&lb_format_csv, small, store, NULL, &entry, &r, &err);
    if (status == LB_OK) {
        status = lb_format_csv.scan(r, &range, &stream, &err);
        if (status == LB_OK)
            status = lb_print(small, &stream, "tagged", NULL, write_nowhere, NULL, NULL, &err);
        lb_format_csv.close(r);
    }
    lb_arena_free(&arena);
    lb_store_close(store);
    *budget_is_free = small->budget.used == 0;
    lb_context_free(small);
    return status;
}

static void memory_stays_within_its_limit(void **state)
{
    lb_status status = LB_BUDGET;
    bool budget_is_free;

    (void)state;
    for (uint64_t limit = 1; status != LB_OK; limit += 97) {
        status = read_within(limit, &budget_is_free);
        if ((status != LB_OK && status != LB_BUDGET) || !budget_is_free)
            fail_msg("limit %llu: status %d", (unsigned long long)limit, (int)status);
        assert_true(limit < (uint64_t)4 << 20);
    }
}

static int make_context(void **state)
{
    (void)state;
    return lb_context_new(NULL, &cx, NULL) == LB_OK ? 0 : -1;
}

static int free_context(void **state)
{
    (void)state;
    lb_context_free(cx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_sniffs),
        cmocka_unit_test(open_sniffs_no_nul),
        cmocka_unit_test(open_suggests),
        cmocka_unit_test(open_refuses_dialects),
        cmocka_unit_test(open_distrusts_entries),
        cmocka_unit_test(open_registered),
        cmocka_unit_test(survey_gives_every_byte_once),
        cmocka_unit_test(memory_stays_within_its_limit),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
