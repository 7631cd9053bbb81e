/* What files of unusual shape cost: many columns, short rows, names that repeat, blocks of one row, encoded text. Time is that of the
 * processor and its limits are wide: what is guarded against takes tens of times as long. */
#include "format/delimited/delimited.h"

#include <iconv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/context.h"
#include "column/stream.h"
#include "format/delimited/delimited_handlers.h"

#define MIB ((uint64_t)1 << 20)

/* ---------------------------------------------------------------- a file in memory, read within a limit */

typedef struct surveyed {
    lb_context *cx;
    lb_store *store;
    lb_read_options options;
    lb_arena arena;
    lb_entry entry;
    lb_status status;
    lb_error err;
    double seconds;
} surveyed;

static double processor_seconds(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* `limit`: of everything, the entry's arena too. */
static void survey_bytes(surveyed *f, const lb_buf *text, const lb_read_options *o, const lb_survey_options *how,
                         uint64_t limit)
{
    const lb_context_options context = { .struct_size = sizeof context, .threads = 1, .memory_limit = limit };
    lb_reader *r;

    *f = (surveyed){ .options = *o, .err = LB_ERROR_INIT };
    assert_int_equal(lb_context_new(&context, &f->cx, &f->err), LB_OK);
    assert_int_equal(lb_store_open_memory(text->data, text->size, &f->store, &f->err), LB_OK);
    lb_arena_init(&f->arena, &f->cx->budget);
    assert_int_equal(lb_format_csv.open(&lb_format_csv, f->cx, f->store, &f->options, NULL, &r, &f->err), LB_OK);
    double begin = processor_seconds();
    f->status = lb_format_csv.survey(r, how, &f->arena, &f->entry, &f->err);
    f->seconds = processor_seconds() - begin;
    lb_format_csv.close(r);
}

static void close_surveyed(surveyed *f)
{
    lb_arena_free(&f->arena);
    lb_store_close(f->store);
    assert_int_equal(f->cx->budget.used, 0);
    lb_context_free(f->cx);
}

static void put(lb_buf *text, const char *part)
{
    assert_int_equal(lb_buf_append_str(text, part, NULL), LB_OK);
}

static void put_times(lb_buf *text, const char *part, size_t times)
{
    while (times-- > 0)
        put(text, part);
}

static const lb_read_options no_options = { .set = 0 };
static const lb_read_options ragged = { .set = LB_OPT_RAGGED, .ragged_null = true };

/* ---------------------------------------------------------------- names */

static void equal_names_take_no_time(void **state)
{
    enum { COLUMNS = 20000 };
    const lb_survey_options how = { .stride = 65536, .stats = LB_STATS_ALL };
    lb_buf text;
    surveyed f;
    char want[32];

    (void)state;
    lb_buf_init(&text, NULL);
    put_times(&text, "a,", COLUMNS - 1);
    put(&text, "a\n");
    survey_bytes(&f, &text, &no_options, &how, 512 * MIB);
    assert_int_equal(f.status, LB_OK);
    assert_int_equal(f.entry.columns.count, COLUMNS);
    for (unsigned i = 1; i < COLUMNS; i++) {
        (void)snprintf(want, sizeof want, "a_%u", i + 1);
        assert_true(lb_str_is(f.entry.columns.items[i].name, want));
    }
    assert_true(f.seconds < 8);
    close_surveyed(&f);
    lb_buf_free(&text);
}

/* Columns without a name, whose numbers all belong to others already. */
static void missing_names_take_no_time(void **state)
{
    enum { COLUMNS = 10000 };
    const lb_survey_options how = { .stride = 65536, .stats = LB_STATS_ALL };
    lb_buf text;
    surveyed f;
    char want[32];

    (void)state;
    lb_buf_init(&text, NULL);
    put_times(&text, ",", COLUMNS);
    for (unsigned i = 0; i < COLUMNS; i++)
        assert_int_equal(lb_buf_printf(&text, NULL, "%scolumn_%u", i == 0 ? "" : ",", i + 1), LB_OK);
    put(&text, "\n");
    survey_bytes(&f, &text, &no_options, &how, 512 * MIB);
    assert_int_equal(f.status, LB_OK);
    assert_int_equal(f.entry.columns.count, 2 * COLUMNS);
    for (unsigned i = 0; i < COLUMNS; i++) {
        (void)snprintf(want, sizeof want, "column_%u", COLUMNS + i + 1);
        assert_true(lb_str_is(f.entry.columns.items[i].name, want));
    }
    assert_true(f.seconds < 8);
    close_surveyed(&f);
    lb_buf_free(&text);
}

/* ---------------------------------------------------------------- rows of different widths */

/* Every record has a field more than the one before it. */
static void stairs_take_no_memory(void **state)
{
    enum { STEPS = 1500 };
    const lb_survey_options how = { .stride = 65536, .stats = LB_STATS_ALL };
    lb_buf text;
    surveyed f;

    (void)state;
    lb_buf_init(&text, NULL);
    put(&text, "a\n");
    for (size_t i = 0; i < STEPS; i++) {
        put_times(&text, "1,", i);
        put(&text, "1\n");
    }
    survey_bytes(&f, &text, &ragged, &how, 12 * MIB);
    assert_string_equal(f.err.message, "");
    assert_int_equal(f.entry.columns.count, STEPS);
    for (size_t i = 0; i < STEPS; i++)
        assert_int_equal(f.entry.columns.items[i].null_count, i);
    close_surveyed(&f);
    lb_buf_free(&text);
}

static void short_rows_take_no_time(void **state)
{
    enum { COLUMNS = 30000, ROWS = 30000 };
    const lb_survey_options how = { .stride = 65536, .stats = LB_STATS_ALL, .keep_state = true };
    lb_buf text;
    surveyed f;

    (void)state;
    lb_buf_init(&text, NULL);
    put_times(&text, "x,", COLUMNS - 1);
    put(&text, "x\n");
    put_times(&text, "1\n", ROWS);
    put(&text, "2,\"\",3\n");
    survey_bytes(&f, &text, &ragged, &how, 1024 * MIB);
    assert_int_equal(f.status, LB_OK);
    assert_int_equal(f.entry.total_rows, ROWS + 1);
    assert_int_equal(f.entry.columns.items[0].null_count, 0);
    assert_int_equal(f.entry.columns.items[1].null_count, ROWS);
    assert_int_equal(f.entry.columns.items[2].null_count, ROWS);
    assert_int_equal(f.entry.columns.items[3].null_count, ROWS + 1);
    assert_true(f.seconds < 10);
    close_surveyed(&f);
    lb_buf_free(&text);
}

/* ---------------------------------------------------------------- blocks of one row */

static void small_blocks_take_little_memory(void **state)
{
    enum { ROWS = 20000 };
    const lb_survey_options how = { .stride = 1, .stats = LB_STATS_BLOCKS };
    lb_buf text;
    surveyed f;

    (void)state;
    lb_buf_init(&text, NULL);
    put(&text, "a,b,c\n");
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(lb_buf_printf(&text, NULL, "%d,%d.5,\n", i, -i), LB_OK);
    survey_bytes(&f, &text, &no_options, &how, 36 * MIB);
    assert_string_equal(f.err.message, "");
    assert_int_equal(f.entry.block_columns.count, 3 * ROWS);
    for (int i = 0; i < ROWS; i++) {
        const lb_colstat *s = &f.entry.block_columns.items[3 * i];
        assert_true(s[0].min_i == i && s[0].max_i == i && s[0].null_count == 0);
        assert_true(s[1].min_f == -i - 0.5 || (i == 0 && s[1].min_f == 0.5));
        assert_true(s[1].max_f == s[1].min_f && s[2].null_count == 1 && s[2].has == 0);
        assert_int_equal(f.entry.block_of_column[3 * i + 2], i);
        assert_int_equal(f.entry.column_of_column[3 * i + 2], 2);
    }
    close_surveyed(&f);
    lb_buf_free(&text);
}

/* ---------------------------------------------------------------- batches */

static uint64_t batch_bytes(struct ArrowArray *batch)
{
    uint64_t bytes = 0;

    for (int64_t i = 0; i < batch->n_children; i++) {
        struct ArrowArray *child = batch->children[i];
        bytes += (uint64_t)ArrowArrayValidityBitmap(child)->buffer.capacity_bytes;
        for (int64_t b = 1; b < child->n_buffers; b++)
            bytes += (uint64_t)ArrowArrayBuffer(child, b)->capacity_bytes;
    }
    return bytes;
}

/* Read `width` columns; gives the most bytes and the most rows of a batch. */
static void scan_all(surveyed *f, size_t width, uint64_t *rows, uint64_t *most_bytes, int64_t *most_rows)
{
    lb_wanted *wanted = calloc(width, sizeof *wanted);
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    lb_reader *r;

    assert_non_null(wanted);
    for (size_t i = 0; i < width; i++)
        wanted[i].column = i;
    const lb_range range = { .count = UINT64_MAX, .n_columns = width, .columns = wanted };
    f->err = (lb_error)LB_ERROR_INIT;
    assert_int_equal(lb_format_csv.open(&lb_format_csv, f->cx, f->store, &f->options, &f->entry, &r, &f->err), LB_OK);
    assert_int_equal(lb_format_csv.scan(r, &range, &stream, &f->err), LB_OK);
    *rows = *most_bytes = 0;
    *most_rows = 0;
    while ((f->status = lb_stream_next(&stream, &batch, &f->err)) == LB_OK && batch.release != NULL) {
        *rows += (uint64_t)batch.length;
        *most_rows = LB_MAX(*most_rows, batch.length);
        *most_bytes = LB_MAX(*most_bytes, batch_bytes(&batch));
        batch.release(&batch);
    }
    stream.release(&stream);
    lb_format_csv.close(r);
    free(wanted);
}

static void wide_batches_are_short(void **state)
{
    enum { COLUMNS = 3000, ROWS = 30000 };
    const lb_survey_options how = { .stride = 65536, .stats = LB_STATS_OFF };
    int64_t most_rows;
    uint64_t rows, most_bytes;
    lb_buf text;
    surveyed f;

    (void)state;
    lb_buf_init(&text, NULL);
    put_times(&text, "x,", COLUMNS - 1);
    put(&text, "x\n");
    put_times(&text, "1\n", ROWS);
    put_times(&text, "1,", COLUMNS - 1);
    put(&text, "1\n");
    survey_bytes(&f, &text, &ragged, &how, 64 * MIB);
    assert_int_equal(f.status, LB_OK);
    scan_all(&f, COLUMNS, &rows, &most_bytes, &most_rows);
    assert_string_equal(f.err.message, "");
    assert_int_equal(rows, ROWS + 1);
    assert_true(most_rows >= 100);
    assert_true(most_bytes <= 16 * MIB);
    close_surveyed(&f);
    lb_buf_free(&text);
}

/* One row that is larger than the limit allows is refused, and nothing stays taken. */
static void batches_stay_within_the_limit(void **state)
{
    const lb_survey_options how = { .stride = 65536, .stats = LB_STATS_ALL };
    const uint64_t limit = 3 * MIB;
    int64_t most_rows;
    uint64_t rows, most_bytes;
    lb_buf text;
    surveyed f;

    (void)state;
    lb_buf_init(&text, NULL);
    put(&text, "a,b,c,d\n");
    for (int field = 0; field < 4; field++) {
        put_times(&text, "0123456789abcdef", 24 << 10);
        put(&text, field == 3 ? "\n" : ",");
    }
    survey_bytes(&f, &text, &no_options, &how, 64 * MIB);
    assert_int_equal(f.status, LB_OK);
    f.cx->budget.limit = f.cx->budget.used + limit;
    scan_all(&f, 4, &rows, &most_bytes, &most_rows);
    assert_int_equal(f.status, LB_BUDGET);
    f.cx->budget.limit = 64 * MIB;
    scan_all(&f, 4, &rows, &most_bytes, &most_rows);
    assert_int_equal(f.status, LB_OK);
    assert_int_equal(rows, 1);
    close_surveyed(&f);
    lb_buf_free(&text);
}

/* ---------------------------------------------------------------- encoded text */

static const struct {
    const char *encoding, *row;
    size_t size;
    double times; /* as long as decoding its rows at most */
} encoded[] = {
    { "ISO-8859-1", "\xE4\xF6\xFC,1,\"\xDF\"\r\n", 0, 10 },
    { "WINDOWS-1252", "\x80\x84\xE9,1,2\n", 0, 10 },
    { "UTF-16LE",
      "\xE4\0,\0"
      "1\0,\0=\xD8\x00\xDE\n\0",
      14, 10 },
    { "SHIFT_JIS", "\x93\xFA\x96\x7B,1,2\n", 0, 60 },
    { "GB18030", "\xD6\xD0\x81\x30\x81\x30,1,2\r\n\r\n", 0, 60 },
    { "WINDOWS-1255", "\xE0\xE1\xC0,1,\xE0\n", 0, 60 },
};

/* What it takes to decode the text row by row: nobody who looks for the places of rows in it does less. */
static double seconds_of_decoding(const char *encoding, const char *row, size_t size, size_t rows)
{
    iconv_t decoder = iconv_open("UTF-8", encoding);
    double begin = processor_seconds();

    assert_true(decoder != (iconv_t)-1);
    for (size_t i = 0; i < rows; i++) {
        char out[128], *from = (char *)(uintptr_t)row, *to = out;
        size_t left = size, room = sizeof out;
        (void)iconv(decoder, NULL, NULL, NULL, NULL);
        assert_true(iconv(decoder, &from, &left, &to, &room) != (size_t)-1);
        assert_true(iconv(decoder, NULL, NULL, &to, &room) != (size_t)-1);
    }
    double seconds = processor_seconds() - begin;
    (void)iconv_close(decoder);
    return LB_MAX(seconds, 0.001);
}

static void encoded_text_takes_little_longer(void **state)
{
    enum { ROWS = 40000 };
    static const uint64_t strides[] = { 65536, 1 };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(encoded); i++) {
        size_t size = encoded[i].size != 0 ? encoded[i].size : strlen(encoded[i].row);
        const lb_read_options options = { .set = LB_OPT_HEADER | LB_OPT_ENCODING, .encoding = encoded[i].encoding };
        lb_buf text;
        lb_buf_init(&text, NULL);
        for (size_t row = 0; row < ROWS; row++)
            assert_int_equal(lb_buf_append(&text, encoded[i].row, size, NULL), LB_OK);
        for (size_t k = 0; k < LB_COUNT_OF(strides); k++) {
            const lb_survey_options how = { .stride = strides[k], .stats = LB_STATS_ALL };
            double plain = seconds_of_decoding(encoded[i].encoding, encoded[i].row, size, ROWS);
            surveyed f;
            survey_bytes(&f, &text, &options, &how, 1024 * MIB);
            assert_string_equal(f.err.message, "");
            assert_int_equal(f.entry.total_rows, ROWS);
            for (uint64_t b = 0; b < f.entry.blocks.count; b++)
                assert_int_equal(f.entry.blocks.first_byte[b], b * strides[k] * size);
            if (f.seconds > encoded[i].times * plain)
                fail_msg("%s, stride %llu: %.3f s where decoding takes %.3f s", encoded[i].encoding,
                         (unsigned long long)strides[k], f.seconds, plain);
            close_surveyed(&f);
        }
        lb_buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_take_no_time),        cmocka_unit_test(missing_names_take_no_time),
        cmocka_unit_test(stairs_take_no_memory),           cmocka_unit_test(short_rows_take_no_time),
        cmocka_unit_test(small_blocks_take_little_memory), cmocka_unit_test(wide_batches_are_short),
        cmocka_unit_test(batches_stay_within_the_limit),   cmocka_unit_test(encoded_text_takes_little_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
