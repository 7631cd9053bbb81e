/* Survey and scan: what they find does not depend on how the file is cut into pieces, ranges are ranges of the whole,
 * and rows, bytes and lines are those of slow_reader.h. Then where errors are, and what headers name. */
#include "format/delimited/delimited.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "format/delimited/delimited_handlers.h"
#include "format/delimited/slow_reader.h"

#define RANDOM_FILES 1500
#define FILE_MOST 8192

static lb_context *cx;

/* ---------------------------------------------------------------- a file in memory */

typedef struct opened {
    uint8_t *copy;
    lb_store *store;
    lb_read_options options;
    lb_arena arena;
    lb_entry entry;
    lb_reader *reader; /* with the entry known; NULL: the survey failed */
    lb_status status;
    lb_error err;
} opened;

static lb_survey_options survey_options(uint64_t stride, size_t chunk, lb_stats_policy stats)
{
    return (lb_survey_options){ .stride = stride, .chunk = chunk, .stats = stats };
}

/* Survey the bytes, in heap of their own size, and open them again with what was found. */
static void open_bytes(opened *f, const lb_format *format, const uint8_t *bytes, size_t size, const lb_read_options *o,
                       const lb_survey_options *how)
{
    lb_reader *reader;

    *f = (opened){ .copy = malloc(size + 1), .options = *o, .err = LB_ERROR_INIT };
    assert_non_null(f->copy);
    f->copy = realloc(f->copy, size == 0 ? 1 : size);
    memcpy(f->copy, bytes, size);
    lb_arena_init(&f->arena, NULL);
    assert_int_equal(lb_store_open_memory(f->copy, size, &f->store, &f->err), LB_OK);
    f->status = format->open(format, cx, f->store, &f->options, NULL, &reader, &f->err);
    if (f->status != LB_OK)
        return;
    f->status = format->survey(reader, how, &f->arena, &f->entry, &f->err);
    format->close(reader);
    if (f->status == LB_OK)
        assert_int_equal(format->open(format, cx, f->store, &f->options, &f->entry, &f->reader, &f->err), LB_OK);
}

static void close_bytes(opened *f)
{
    if (f->reader != NULL)
        f->reader->format->close(f->reader);
    lb_store_close(f->store);
    lb_arena_free(&f->arena);
    free(f->copy);
}

static bool write_buf(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

/* Rows as text, one a line, exact for every type. */
static lb_status scan_text(lb_reader *r, uint64_t first, uint64_t count, const lb_wanted *wanted, size_t n_wanted,
                           size_t chunk, size_t batch, lb_buf *out, uint64_t *rows, lb_error *err)
{
    const lb_range range = {
        .first = first, .count = count, .n_columns = n_wanted, .columns = wanted, .chunk = chunk, .batch_rows = batch
    };
    struct ArrowArrayStream stream;

    out->size = 0;
    LB_TRY(r->format->scan(r, &range, &stream, err));
    return lb_print(cx, &stream, "tagged", NULL, write_buf, out, rows, err);
}

/* ---------------------------------------------------------------- random files */

static uint64_t random_state = 20240229;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

typedef struct random_file {
    lb_read_options options;
    delim_dialect dialect;
    uint8_t bytes[FILE_MOST];
    size_t size;
    size_t bom;
} random_file;

static void put(random_file *f, const char *text, size_t size)
{
    assert_true(f->size + size <= sizeof f->bytes);
    memcpy(f->bytes + f->size, text, size);
    f->size += size;
}

static void put_text(random_file *f, const char *text)
{
    put(f, text, strlen(text));
}

static void random_options(random_file *f)
{
    static const char *const delimiters[] = { ",", ";", "\t", "|", "||", "aa", "::::", "\t|" };
    static const int quotes[] = { '"', '"', '"', '\'', -1 }, escapes[] = { -1, -1, '\\' };
    lb_read_options *o = &f->options;
    const char *delimiter = delimiters[random_below(LB_COUNT_OF(delimiters))];

    *f = (random_file){ .size = 0 };
    o->set = LB_OPT_DELIMITER | LB_OPT_QUOTE | LB_OPT_ESCAPE | LB_OPT_HEADER | LB_OPT_RAGGED;
    memcpy(o->delimiter, delimiter, strlen(delimiter));
    o->quote = quotes[random_below(LB_COUNT_OF(quotes))];
    o->escape = escapes[random_below(LB_COUNT_OF(escapes))];
    o->has_header = random_below(3) != 0;
    o->ragged_null = random_below(2) == 0;
    o->decimal = random_below(4) == 0;
    f->dialect =
        (delim_dialect){ .delimiter_size = (unsigned)strlen(delimiter), .quote = o->quote, .escape = o->escape };
    memcpy(f->dialect.delimiter, delimiter, strlen(delimiter));
}

static void put_value(random_file *f, const char *value, bool quoted)
{
    const char quote = (char)f->dialect.quote;

    if (!quoted) {
        put_text(f, value);
        return;
    }
    put(f, &quote, 1);
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == quote || (int)*p == f->dialect.escape)
            put(f, *p == quote && random_below(2) == 0 && f->dialect.escape >= 0 ? "\\" : p, 1);
        put(f, p, 1);
    }
    put(f, &quote, 1);
}

static const char *const kinds[][8] = {
    { "1", "-20", "300", "", "0", "9223372036854775807", "7", "42" },
    { "1.5", "-2", "1e5", "NaN", "", "0.25", "-0", "7" },
    { "2020-01-01", "1999-12-31", "", "0001-01-01", "2020-01-01", "9999-12-31", "2000-02-29", "2020-02-02" },
    { "2020-01-01T10:00", "2020-01-01", "2020-01-01 10:00:00.5", "", "1970-01-01T00:00", "2000-02-29", "", "" },
    { "true", "false", "", "TRUE", "False", "true", "", "false" },
    { "x", "", "two words", "\xC3\xBC\xE2\x82\xAC", "a\nb", "say \"it\"", "a\r\nb,c;d|e\tf||g::::h", " 12 " },
    { "x", "1", "", "'", "\"", "\"\"", "a\"b", "\n\n\n" },
    { "12:00:00", "00:00:00.123456", "", "23:59:59", "00:00:01", "", "", "01:02:03.5" },
};

static bool needs_quotes(const random_file *f, const char *value)
{
    char first[2] = { (char)f->dialect.delimiter[0], '\0' };

    return strpbrk(value, "\n\r") != NULL || strstr(value, first) != NULL ||
           (f->dialect.quote >= 0 && value[0] == (char)f->dialect.quote);
}

/* A table of few columns whose values are mostly of one kind each. */
static void random_table(random_file *f)
{
    static const char *const breaks[] = { "\n", "\r\n", "\r", "\n\n", "\r\n\r\n" };
    size_t width = 1 + random_below(4), rows = random_below(random_below(4) == 0 ? 60 : 12), kind[4];
    unsigned breaks_used = random_below(2) == 0 ? 1 : 5;

    if (f->options.quote < 0)
        f->options.ragged_null = true; /* what should be quoted cannot be */
    if (f->options.ragged_null && random_below(3) == 0)
        width = 4;
    for (size_t i = 0; i < 4; i++)
        kind[i] = random_below(LB_COUNT_OF(kinds));
    if (random_below(6) == 0) {
        put(f, "\xEF\xBB\xBF", 3);
        f->bom = 3;
    }
    for (size_t row = 0; row < rows; row++) {
        size_t fields = f->options.ragged_null && random_below(4) == 0 ? 1 + random_below(width + 2) : width;
        for (size_t i = 0; i < fields; i++) {
            const char *value = kinds[random_below(20) == 0 ? 5 : kind[i % 4]][random_below(8)];
            bool quoted = f->dialect.quote >= 0 && (needs_quotes(f, value) || random_below(5) == 0 || fields == 1);
            if (i != 0)
                put(f, (const char *)f->dialect.delimiter, f->dialect.delimiter_size);
            put_value(f, value, quoted);
        }
        if (row + 1 < rows || random_below(2) == 0)
            put_text(f, breaks[random_below(breaks_used)]);
    }
}

/* Bytes that mean something, in no order. */
static void random_bytes(random_file *f)
{
    size_t want = random_below(400);

    f->options.ragged_null = true;
    while (f->size < want) {
        char c = "\n\r\"',;|\ta\\1 x:"[random_below(15)];
        put(f, &c, 1);
    }
}

/* ---------------------------------------------------------------- two surveys */

static void assert_same_text(lb_str a, lb_str b, const char *what)
{
    if (!lb_str_equal(a, b))
        fail_msg("%s: %.*s and %.*s", what, (int)a.size, a.at == NULL ? "" : a.at, (int)b.size,
                 b.at == NULL ? "" : b.at);
}

static void assert_same_stats(const lb_colstats *a, const lb_colstats *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const lb_colstat *x = &a->items[i], *y = &b->items[i];
        assert_same_text(x->name, y->name, "name");
        assert_same_text(x->type, y->type, "type");
        assert_int_equal(x->null_count, y->null_count);
        assert_int_equal(x->nan_count, y->nan_count);
        assert_int_equal(x->has, y->has);
        assert_true(x->min_i == y->min_i && x->max_i == y->max_i && x->min_u == y->min_u && x->max_u == y->max_u);
        assert_memory_equal(&x->min_f, &y->min_f, sizeof x->min_f);
        assert_memory_equal(&x->max_f, &y->max_f, sizeof x->max_f);
        assert_same_text(x->min_b, y->min_b, "minimum");
        assert_same_text(x->max_b, y->max_b, "maximum");
    }
}

static void assert_same_blocks(const lb_blocks *a, const lb_blocks *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->first_row[i], b->first_row[i]);
        assert_int_equal(a->row_count[i], b->row_count[i]);
        assert_int_equal(a->first_byte[i], b->first_byte[i]);
        assert_int_equal(a->total_byte_size[i], b->total_byte_size[i]);
        assert_int_equal(a->first_line[i], b->first_line[i]);
        assert_int_equal(a->start_hash[i], b->start_hash[i]);
    }
}

static void assert_same_entry(const opened *a, const opened *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->err.message, b->err.message);
    assert_true(a->err.offset == b->err.offset && a->err.row == b->err.row && a->err.line == b->err.line);
    if (a->status != LB_OK)
        return;
    assert_int_equal(a->entry.total_rows, b->entry.total_rows);
    assert_int_equal(a->entry.dialect.data_start, b->entry.dialect.data_start);
    assert_same_text(a->entry.arrow_schema, b->entry.arrow_schema, "schema");
    assert_same_blocks(&a->entry.blocks, &b->entry.blocks);
    assert_same_stats(&a->entry.columns, &b->entry.columns);
    assert_same_stats(&a->entry.block_columns, &b->entry.block_columns);
}

/* ---------------------------------------------------------------- against the slow reader */

static void check_blocks(const opened *f, const random_file *file, const slow_text *slow, size_t header,
                         uint64_t stride)
{
    const lb_blocks *b = &f->entry.blocks;
    uint64_t rows = slow->n_records - header;

    assert_int_equal(f->entry.total_rows, rows);
    assert_int_equal(b->count, (rows + stride - 1) / stride);
    for (size_t i = 0; i < b->count; i++) {
        const slow_record *first = &slow->records[header + i * stride];
        const slow_record *last = &slow->records[header + LB_MIN((i + 1) * stride, rows) - 1];
        assert_int_equal(b->first_row[i], i * stride);
        assert_int_equal(b->row_count[i], LB_MIN(stride, rows - i * stride));
        assert_int_equal(b->first_byte[i], first->start);
        assert_int_equal(b->total_byte_size[i], last->after - first->start);
        assert_int_equal(b->first_line[i], slow_line(file->bytes, first->start));
        assert_int_equal(b->start_hash[i],
                         lb_xxh3_64(file->bytes + first->start, LB_MIN(last->after - first->start, (size_t)64)));
    }
    if (header != 0)
        assert_int_equal(f->entry.dialect.data_start, slow->records[0].after);
    else if (!file->options.has_header)
        assert_int_equal(f->entry.dialect.data_start, file->bom);
}

static void check_batch_values(const struct ArrowSchema *schema, const struct ArrowArray *batch, const slow_text *slow,
                               size_t record)
{
    struct ArrowArrayView view;

    assert_int_equal(ArrowArrayViewInitFromSchema(&view, schema, NULL), NANOARROW_OK);
    assert_int_equal(ArrowArrayViewSetArray(&view, batch, NULL), NANOARROW_OK);
    assert_int_equal(ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, NULL), NANOARROW_OK);
    for (int64_t row = 0; row < batch->length; row++) {
        const slow_record *want = &slow->records[record + (size_t)row];
        assert_true(want->n_fields <= (size_t)schema->n_children);
        for (int64_t i = 0; i < schema->n_children; i++) {
            bool there = (size_t)i < want->n_fields;
            assert_int_equal(ArrowArrayViewIsNull(view.children[i], row), !there);
            if (!there)
                continue;
            struct ArrowStringView got = ArrowArrayViewGetStringUnsafe(view.children[i], row);
            const slow_field *field = &slow->fields[want->first_field + (size_t)i];
            assert_same_text((lb_str){ got.data, (size_t)got.size_bytes },
                             (lb_str){ (const char *)field->value, field->size }, "value");
        }
    }
    ArrowArrayViewReset(&view);
}

/* All text: every value is the slow reader's. */
static void check_values(const random_file *file, const slow_text *slow, size_t header, uint64_t stride, size_t chunk)
{
    const lb_survey_options how = survey_options(stride, chunk, LB_STATS_OFF);
    lb_read_options options = file->options;
    lb_wanted wanted[64];
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    size_t record = header;
    opened f;

    options.types = LB_TYPES_TEXT;
    open_bytes(&f, &lb_format_csv, file->bytes, file->size, &options, &how);
    assert_int_equal(f.status, LB_OK);
    check_blocks(&f, file, slow, header, stride);
    assert_true(f.reader->schema.n_children <= 64);
    for (size_t i = 0; i < 64; i++)
        wanted[i] = (lb_wanted){ .column = i };
    const lb_range range = { .count = UINT64_MAX,
                             .columns = wanted,
                             .n_columns = (size_t)f.reader->schema.n_children,
                             .chunk = chunk,
                             .batch_rows = 1 + random_below(9) };
    assert_int_equal(lb_format_csv.scan(f.reader, &range, &stream, &f.err), LB_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    for (;;) {
        assert_int_equal(lb_stream_next(&stream, &batch, &f.err), LB_OK);
        if (batch.release == NULL)
            break;
        check_batch_values(&schema, &batch, slow, record);
        record += (size_t)batch.length;
        batch.release(&batch);
    }
    assert_int_equal(record, LB_MAX(slow->n_records, header));
    schema.release(&schema);
    stream.release(&stream);
    close_bytes(&f);
}

static void check_raw(const opened *f, const random_file *file, const slow_text *slow, size_t header)
{
    uint64_t rows = f->entry.total_rows, first = random_below(rows + 1), count = random_below(rows - first + 1);
    bool beyond = count == rows - first && random_below(2) == 0;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;

    lb_buf_init(&out, NULL);
    assert_int_equal(lb_format_csv.raw(f->reader, first, beyond ? UINT64_MAX : count, write_buf, &out, &err), LB_OK);
    if (count == 0) {
        assert_int_equal(out.size, 0);
    } else {
        const slow_record *a = &slow->records[header + first], *b = &slow->records[header + first + count - 1];
        assert_same_text((lb_str){ (const char *)out.data, out.size },
                         (lb_str){ (const char *)file->bytes + a->start, b->after - a->start }, "raw bytes");
    }
    lb_buf_free(&out);
}

/* Lines [first, first + count) of a text. */
static lb_str lines_of(const lb_buf *text, uint64_t first, uint64_t count)
{
    const char *at = (const char *)text->data, *end = at + text->size, *from;

    for (; first > 0 && at < end; first--)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    for (from = at; count > 0 && at < end; count--)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    return (lb_str){ from, (size_t)(at - from) };
}

static void check_ranges(const opened *f, size_t chunk)
{
    lb_error err = LB_ERROR_INIT;
    size_t width = (size_t)f->reader->schema.n_children, n = width == 0 ? 0 : 1 + random_below(width + 1);
    lb_wanted wanted[80];
    lb_buf whole, part;
    uint64_t rows = 0;

    lb_buf_init(&whole, NULL);
    lb_buf_init(&part, NULL);
    n = LB_MIN(n, LB_COUNT_OF(wanted));
    for (size_t i = 0; i < n; i++)
        wanted[i] = (lb_wanted){ .column = random_below(width) };
    if (scan_text(f->reader, 0, UINT64_MAX, wanted, n, chunk, 0, &whole, &rows, &err) != LB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(rows, f->entry.total_rows);
    for (int i = 0; i < 4; i++) {
        uint64_t first = random_below(rows + 2), count = random_below(rows + 2), got = 0;
        assert_int_equal(
            scan_text(f->reader, first, count, wanted, n, 1 + random_below(70), random_below(5), &part, &got, &err),
            LB_OK);
        assert_int_equal(got, first >= rows ? 0 : LB_MIN(count, rows - first));
        assert_same_text((lb_str){ (const char *)part.data, part.size }, lines_of(&whole, first, count), "rows");
    }
    lb_buf_free(&whole);
    lb_buf_free(&part);
}

static void check_file(const random_file *file)
{
    static const lb_stats_policy policies[] = { LB_STATS_ALL, LB_STATS_OFF, LB_STATS_BLOCKS };
    const uint64_t stride = 1 + random_below(9);
    const lb_stats_policy stats = policies[random_below(3)];
    const lb_survey_options one = survey_options(stride, 0, stats),
                            two = survey_options(stride, 1 + random_below(70), stats);
    slow_dialect sd = { file->dialect.delimiter, file->dialect.delimiter_size, file->dialect.quote,
                        file->dialect.escape };
    slow_text slow = slow_read(&sd, file->bytes, file->size, file->bom);
    size_t header = file->options.has_header && slow.n_records != 0;
    opened a, b;

    open_bytes(&a, &lb_format_csv, file->bytes, file->size, &file->options, &one);
    open_bytes(&b, &lb_format_csv, file->bytes, file->size, &file->options, &two);
    assert_same_entry(&a, &b);
    if (file->options.ragged_null && a.status != LB_OK)
        fail_msg("%s", a.err.message);
    if (a.status == LB_OK) {
        check_blocks(&a, file, &slow, header, stride);
        check_ranges(&a, 1 + random_below(70));
        check_raw(&a, file, &slow, header);
        check_values(file, &slow, header, stride, 1 + random_below(70));
    }
    close_bytes(&a);
    close_bytes(&b);
    slow_free(&slow);
}

static void scan_random_files(void **state)
{
    static random_file file;

    (void)state;
    for (int i = 0; i < RANDOM_FILES; i++) {
        random_options(&file);
        if (i % 3 == 0)
            random_bytes(&file);
        else
            random_table(&file);
        check_file(&file);
    }
}

/* ---------------------------------------------------------------- statistics of blocks */

/* The statistics of a block are those of a file that has its rows only. */
static void scan_block_statistics(void **state)
{
    static const char text[] = "a,b\n1,x\n2\n,y\n4,z,3\n5,,4\n6\n,w\n8,w,5,6\n9,\"\"\n";
    static const struct {
        uint32_t block, column;
        uint64_t nulls;
        const char *min, *max;
    } want[] = {
        { 0, 0, 1, "1", "4" }, { 0, 1, 1, "x", "z" },   { 0, 2, 3, "3", "3" },   { 1, 0, 1, "5", "8" },
        { 1, 1, 2, "w", "w" }, { 1, 2, 2, "4", "5" },   { 1, 3, 3, "6", "6" },   { 2, 0, 0, "9", "9" },
        { 2, 1, 0, "", "" },   { 2, 2, 1, NULL, NULL }, { 2, 3, 1, NULL, NULL },
    };
    static const uint64_t nulls[] = { 2, 3, 6, 8 };
    const lb_read_options options = { .set = LB_OPT_RAGGED, .ragged_null = true };
    const lb_survey_options how = survey_options(4, 0, LB_STATS_BLOCKS);
    opened f;

    (void)state;
    open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
    assert_int_equal(f.status, LB_OK);
    assert_int_equal(f.entry.columns.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(f.entry.columns.items[i].null_count, nulls[i]);
    assert_int_equal(f.entry.block_columns.count, LB_COUNT_OF(want));
    for (size_t i = 0; i < LB_COUNT_OF(want); i++) {
        const lb_colstat *s = &f.entry.block_columns.items[i];
        assert_int_equal(f.entry.block_of_column[i], want[i].block);
        assert_int_equal(f.entry.column_of_column[i], want[i].column);
        assert_int_equal(s->null_count, want[i].nulls);
        if (want[i].min == NULL)
            assert_int_equal(s->has, 0);
        else if (s->has & LB_MIN_B)
            assert_true(lb_str_is(s->min_b, want[i].min) && lb_str_is(s->max_b, want[i].max));
        else
            assert_true(s->min_i == want[i].min[0] - '0' && s->max_i == want[i].max[0] - '0');
    }
    close_bytes(&f);
}

/* ---------------------------------------------------------------- encodings */

/* The same ASCII text in UTF-16: the same rows; bytes are twice as far. */
static void scan_utf16(void **state)
{
    static uint8_t wide[2 * FILE_MOST + 2];
    static random_file file;

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        bool big = random_below(2) == 0, mark = random_below(2) == 0;
        const lb_survey_options how = survey_options(1 + random_below(5), 1 + random_below(70), LB_STATS_ALL);
        size_t n = 0;
        opened narrow, encoded;
        random_options(&file);
        random_bytes(&file);
        for (size_t i = mark ? 0 : 1; i <= file.size; i++) {
            unsigned c = i == 0 ? 0xFEFF : file.bytes[i - 1];
            wide[n++] = (uint8_t)(big ? c >> 8 : c);
            wide[n++] = (uint8_t)(big ? c : c >> 8);
        }
        open_bytes(&narrow, &lb_format_csv, file.bytes, file.size, &file.options, &how);
        file.options.set |= LB_OPT_ENCODING;
        file.options.encoding = mark ? "UTF-16" : big ? "UTF-16BE" : "UTF-16LE";
        open_bytes(&encoded, &lb_format_csv, wide, n, &file.options, &how);
        assert_int_equal(encoded.status, LB_OK);
        assert_same_text(narrow.entry.arrow_schema, encoded.entry.arrow_schema, "schema");
        assert_same_stats(&narrow.entry.columns, &encoded.entry.columns);
        assert_int_equal(narrow.entry.blocks.count, encoded.entry.blocks.count);
        for (size_t i = 0; i < narrow.entry.blocks.count; i++) {
            assert_int_equal(encoded.entry.blocks.first_byte[i],
                             2 * narrow.entry.blocks.first_byte[i] + (mark ? 2 : 0));
            assert_int_equal(encoded.entry.blocks.total_byte_size[i], 2 * narrow.entry.blocks.total_byte_size[i]);
            assert_int_equal(encoded.entry.blocks.first_line[i], narrow.entry.blocks.first_line[i]);
        }
        check_ranges(&encoded, 1 + random_below(70));
        close_bytes(&narrow);
        close_bytes(&encoded);
    }
}

/* ---------------------------------------------------------------- headers */

static const struct {
    const char *text;
    size_t size;
    unsigned set;        /* LB_OPT_HEADER: there is none; LB_OPT_RAGGED: null */
    const char *columns; /* name:type, separated by `/` */
    uint64_t rows, data_start;
} headers[] = {
#define TEXT(literal) (literal), sizeof(literal) - 1
    { TEXT(""), 0, "", 0, 0 },
    { TEXT(""), LB_OPT_HEADER, "", 0, 0 },
    { TEXT("\n\r\n"), 0, "", 0, 0 },
    { TEXT("\xEF\xBB\xBF"), 0, "", 0, 3 },
    { TEXT("a,b"), 0, "a:null/b:null", 0, 3 },
    { TEXT("a,b\r\n"), 0, "a:null/b:null", 0, 5 },
    { TEXT("\xEF\xBB\xBF"
           "a\n1\n"),
      0, "a:int64", 1, 5 },
    { TEXT("\xEF\xBB\xBF\"a,b\"\n1\n"), 0, "a,b:int64", 1, 9 },
    { TEXT("\xEF\xBB\xBF"
           "1\n2\n"),
      LB_OPT_HEADER, "column_1:int64", 2, 3 },
    { TEXT("\n\na\n\n1"), 0, "a:int64", 1, 4 },
    { TEXT("\"a\nb\",\"c\"\"d\"\n1,x\n"), 0, "a\nb:int64/c\"d:string", 1, 13 },
    { TEXT("a,a,,a_2,\"\",a\n1,2,3,4,5,6\n"), 0, "a:int64/a_3:int64/column_3:int64/a_2:int64/column_5:int64/a_4:int64",
      1, 14 },
    { TEXT(",column_1\n1,2\n"), 0, "column_2:int64/column_1:int64", 1, 10 },
    { TEXT("a\n1,x\n2\n3,y,z\n"), LB_OPT_RAGGED, "a:int64/column_2:string/column_3:string", 3, 2 },
    { TEXT("1\n2,x\n"), LB_OPT_RAGGED | LB_OPT_HEADER, "column_1:int64/column_2:string", 2, 0 },
    { TEXT("a,column_3\n1,2,3\n"), LB_OPT_RAGGED, "a:int64/column_3:int64/column_4:int64", 1, 11 },
    { TEXT(" a \n1\n"), 0, " a :int64", 1, 4 },
#undef TEXT
};

static void print_columns(const struct ArrowSchema *schema, lb_buf *out)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        assert_int_equal(lb_buf_printf(out, NULL, "%s%s:", i == 0 ? "" : "/", schema->children[i]->name), LB_OK);
        assert_int_equal(lb_type_words(schema->children[i], false, out, NULL), LB_OK);
    }
}

static void scan_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(headers); i++) {
        const lb_read_options options = { .set = headers[i].set, .ragged_null = true };
        for (size_t chunk = 0; chunk < 9; chunk++) {
            const lb_survey_options how = survey_options(2, chunk, LB_STATS_ALL);
            lb_buf columns;
            opened f;
            lb_buf_init(&columns, NULL);
            open_bytes(&f, &lb_format_csv, (const uint8_t *)headers[i].text, headers[i].size, &options, &how);
            if (f.status != LB_OK)
                fail_msg("header %zu: %s", i, f.err.message);
            print_columns(&f.reader->schema, &columns);
            assert_string_equal(lb_buf_text(&columns), headers[i].columns);
            assert_int_equal(f.entry.total_rows, headers[i].rows);
            assert_int_equal(f.entry.dialect.data_start, headers[i].data_start);
            lb_buf_free(&columns);
            close_bytes(&f);
        }
    }
}

static void scan_keeps_the_header_as_it_was(void **state)
{
    static const char text[] = "a,a,\n1,2,3\n";
    const lb_read_options options = { .set = 0 };
    const lb_survey_options how = survey_options(2, 0, LB_STATS_ALL);
    lb_str original;
    opened f;

    (void)state;
    open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
    assert_int_equal(f.status, LB_OK);
    assert_false(lb_schema_get_meta(f.reader->schema.children[0], LB_META_ORIGINAL_NAME, &original));
    assert_true(lb_schema_get_meta(f.reader->schema.children[1], LB_META_ORIGINAL_NAME, &original));
    assert_true(lb_str_is(original, "a"));
    assert_true(lb_schema_get_meta(f.reader->schema.children[2], LB_META_ORIGINAL_NAME, &original));
    assert_true(lb_str_is(original, ""));
    close_bytes(&f);
}

/* ---------------------------------------------------------------- errors */

static const struct {
    const char *text, *encoding, *type; /* type: of a column `a` that is declared */
    int64_t offset, row, line;
    const char *says, *hint;
} errors[] = {
    { "a,b\n1,2\n3\n", NULL, NULL, 8, 1, 3, "1 field where 2 are expected", "--ragged null" },
    { "a\n1\n\n\n2,3,4\n", NULL, NULL, 6, 1, 5, "3 fields where 1 is expected", "--ragged null" },
    { "a,b\n1,\"x\n\ny\"\r\n3\n", NULL, NULL, 14, 1, 5, "1 field where 2 are expected", "--ragged null" },
    { "a,b\rx,y\r\rz\r", NULL, NULL, 9, 1, 4, "1 field", "--ragged null" },
    { "a\nx\n\xFFy\n", NULL, NULL, 4, 1, 3, "0xFF is not valid UTF-8 here", "--encoding WINDOWS-1252" },
    { "a\nx\nab\xC3\x28\n", NULL, NULL, 6, 1, 3, "not valid UTF-8", "--encoding WINDOWS-1252" },
    { "a\nx\nab\xC3", NULL, NULL, 6, 1, 3, "ends inside a character", "--encoding" },
    { "a\xFF\nx\n", NULL, NULL, 1, -1, 1, "0xFF", "--encoding WINDOWS-1252" },
    { "a\nx\n\"b\n\nc\xED\xA0\x80\"\n", NULL, NULL, 9, 1, 3, "0xED", "--encoding" },
    { "a\n\x81x\n", "WINDOWS-1252", NULL, 2, 0, 2, "0x81 is not valid WINDOWS-1252 here", "may have another encoding" },
    { "a\n1\nx\n", NULL, "int64", 4, 1, 3, "column 'a': \"x\" does not read as int64", "--column NAME=TYPE" },
    { "a\n-128\n127\n128\n", NULL, "int8", 11, 2, 4, "\"128\" does not read as int8", "--column NAME=TYPE" },
    { "a\n-129\n", NULL, "int8", 2, 0, 2, "\"-129\" does not read as int8", "--column NAME=TYPE" },
    { "a\n300\n", NULL, "uint8", 2, 0, 2, "\"300\" does not read as uint8", "--column NAME=TYPE" },
    { "a\n1e39\n", NULL, "float32", 2, 0, 2, "\"1e39\" does not read as float32", "--column NAME=TYPE" },
    { "a\n1.25\n", NULL, "decimal(3,1)", 2, 0, 2, "\"1.25\" does not read as decimal(3,1)", "--column NAME=TYPE" },
    { "a,b\n1,2\n\"3,4\n5,6\n", NULL, NULL, 8, 1, 3, "1 field where 2 are expected", "never closed; --quote none" },
};

static void scan_errors_have_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(errors); i++) {
        lb_column_decl column = { "a", errors[i].type };
        const lb_read_options options = { .set = errors[i].encoding == NULL ? 0 : LB_OPT_ENCODING,
                                          .encoding = errors[i].encoding,
                                          .n_columns = errors[i].type != NULL,
                                          .columns = &column };
        for (size_t chunk = 0; chunk < 12; chunk++) {
            const lb_survey_options how = survey_options(2, chunk, LB_STATS_ALL);
            opened f;
            open_bytes(&f, &lb_format_csv, (const uint8_t *)errors[i].text, strlen(errors[i].text), &options, &how);
            assert_int_equal(f.status, LB_CORRUPT);
            if (f.err.offset != errors[i].offset || f.err.row != errors[i].row || f.err.line != errors[i].line)
                fail_msg("error %zu, chunk %zu: offset %lld, row %lld, line %lld: %s", i, chunk,
                         (long long)f.err.offset, (long long)f.err.row, (long long)f.err.line, f.err.message);
            if (strstr(f.err.message, errors[i].says) == NULL)
                fail_msg("error %zu says %s", i, f.err.message);
            if (strstr(f.err.hint, errors[i].hint) == NULL)
                fail_msg("error %zu hints %s", i, f.err.hint);
            close_bytes(&f);
        }
    }
}

/* ---------------------------------------------------------------- files that changed, and types of a sample */

/* Read `count` rows from `first` on of `text` by what was found in another file, or in a part of it. */
static lb_status scan_known(const lb_entry *entry, const char *text, uint64_t first, uint64_t count, uint64_t *rows,
                            lb_error *err)
{
    const lb_wanted wanted = { .column = 0 };
    lb_store *store;
    lb_reader *r;
    lb_buf out;

    *err = (lb_error)LB_ERROR_INIT;
    *rows = 0;
    lb_buf_init(&out, NULL);
    assert_int_equal(lb_store_open_memory(text, strlen(text), &store, err), LB_OK);
    assert_int_equal(lb_format_csv.open(&lb_format_csv, cx, store, NULL, entry, &r, err), LB_OK);
    lb_status status = scan_text(r, first, count, &wanted, 1, 5, 0, &out, rows, err);
    lb_buf_free(&out);
    lb_format_csv.close(r);
    lb_store_close(store);
    return status;
}

static void scan_notices_changes(void **state)
{
    static const char text[] = "a\n1\n2\n3\n4\n5\n6\n";
    static const struct {
        const char *text;
        uint64_t first;
        lb_status status;
        int64_t offset;
        const char *says;
    } changed[] = {
        { text, 0, LB_OK, -1, "" },
        { "a\n1\n2\n3\n4\n5\n7\n", 0, LB_OK, -1, "" },
        { "a\n1\n2\n3\n4\n5\n7\n", 4, LB_STALE, 10, "the bytes here are not those that were mapped" },
        { "a\n1\n2\n3\n4\n5\n7\n", 5, LB_STALE, 10, "the bytes here are not those that were mapped" },
        { "a\n1\n2\n3\n4\n5\n7\n", 3, LB_OK, -1, "" },
        { "b\n1\n2\n3\n4\n5\n6\n", 1, LB_OK, -1, "" },
        { "a\n10\n2\n3\n4\n5\n6\n", 2, LB_STALE, 6, "the bytes here are not those that were mapped" },
        { "a\n1\n2\n3\n4\n", 4, LB_STALE, 10, "the bytes here are not those that were mapped" },
        { "a\n1\n2\n3\n4\n", 3, LB_STALE, -1, "the file ends after row 4, where 6 rows were mapped" },
        { "a\n1\n2\n", 1, LB_STALE, -1, "the file ends after row 2, where 6 rows were mapped" },
    };
    const lb_read_options options = { .set = 0 };
    const lb_survey_options how = survey_options(2, 0, LB_STATS_ALL);
    lb_error err;
    uint64_t rows;
    opened f;

    (void)state;
    open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
    assert_int_equal(f.status, LB_OK);
    for (size_t i = 0; i < LB_COUNT_OF(changed); i++) {
        lb_status status = scan_known(&f.entry, changed[i].text, changed[i].first, 9, &rows, &err);
        if (status != changed[i].status || err.offset != changed[i].offset || strcmp(err.message, changed[i].says) != 0)
            fail_msg("change %zu: status %d, offset %lld: %s", i, (int)status, (long long)err.offset, err.message);
        if (status == LB_OK)
            assert_int_equal(rows, 6 - changed[i].first);
    }
    close_bytes(&f);
}

static void scan_beyond_a_sample(void **state)
{
    static const char text[] = "a,b\n1,x\n2,\"y\n\"\n3,z\n4,v\r\n\r\nw,u\n6,t\n";
    const lb_read_options options = { .set = 0 };
    lb_survey_options how = survey_options(2, 4, LB_STATS_ALL);
    lb_error err;
    uint64_t rows;
    opened f;

    (void)state;
    how.sample_bytes = 20;
    open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
    assert_int_equal(f.status, LB_OK);
    assert_true(f.entry.total_rows == LB_ROWS_UNKNOWN);
    assert_int_equal(f.entry.blocks.count, 2);
    assert_int_equal(scan_known(&f.entry, text, 1, 3, &rows, &err), LB_OK);
    assert_int_equal(rows, 3);
    assert_int_equal(scan_known(&f.entry, text, 5, 9, &rows, &err), LB_OK);
    assert_int_equal(rows, 1);
    assert_int_equal(scan_known(&f.entry, text, 7, 9, &rows, &err), LB_OK);
    assert_int_equal(rows, 0);
    for (uint64_t first = 0; first < 5; first++) {
        assert_int_equal(scan_known(&f.entry, text, first, 9, &rows, &err), LB_CORRUPT);
        assert_string_equal(err.message, "column 'a': \"w\" does not read as int64");
        assert_true(err.offset == 26 && err.row == 4 && err.line == 8);
    }
    close_bytes(&f);
}

/* Records of another width behind the sample are told of as those in it are. */
static void scan_ragged_beyond_a_sample(void **state)
{
    static const struct {
        const char *more;
        bool ragged_null;
        lb_status status;
        const char *says, *hint;
    } rows[] = {
        { "3\n", false, LB_CORRUPT, "a record of 1 field where 2 are expected", "--ragged null" },
        { "3,4,5\n", false, LB_CORRUPT, "a record of 3 fields where 2 are expected", "--ragged null" },
        { "\"3,4\n5,6\n", false, LB_CORRUPT, "a record of 1 field where 2 are expected", "never closed" },
        { "3,4\n", false, LB_OK, "", "" },
        { "3\n", true, LB_OK, "", "" },
        { "3,4,5\n", true, LB_CORRUPT, "a record of 3 fields where the first part of the file has 2",
          "--types proven" },
    };
    lb_survey_options how = survey_options(2, 4, LB_STATS_ALL);

    (void)state;
    how.sample_bytes = 8;
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++) {
        const lb_read_options options = { .set = LB_OPT_RAGGED, .ragged_null = rows[i].ragged_null };
        char text[64];
        lb_error err;
        uint64_t n;
        opened f;
        size_t size = (size_t)snprintf(text, sizeof text, "a,b\n1,2\n2,3\n%s", rows[i].more);
        open_bytes(&f, &lb_format_csv, (const uint8_t *)text, size, &options, &how);
        assert_int_equal(f.status, LB_OK);
        assert_true(f.entry.total_rows == LB_ROWS_UNKNOWN);
        assert_int_equal(scan_known(&f.entry, text, 0, 9, &n, &err), rows[i].status);
        assert_string_equal(err.message, rows[i].says);
        if (strstr(err.hint, rows[i].hint) == NULL)
            fail_msg("row %zu hints %s", i, err.hint);
        if (rows[i].status != LB_OK)
            assert_true(err.offset == 12 && err.row == 2 && err.line == 4);
        close_bytes(&f);
    }
}

/* ---------------------------------------------------------------- declared types */

static const struct {
    const char *type, *rows;
    uint64_t nulls;
    unsigned has;
    double min, max;
} declared[] = {
    { "int8", "{\"a\":1}\n{\"a\":null}\n{\"a\":0}\n{\"a\":7}\n", 1, LB_MIN_I | LB_MAX_I, 0, 7 },
    { "float32", "{\"a\":1.0}\n{\"a\":null}\n{\"a\":-0.0}\n{\"a\":7.0}\n", 1, LB_MIN_F | LB_MAX_F, -0.0, 7 },
    { "decimal(5,2)", "{\"a\":\"1.00\"}\n{\"a\":null}\n{\"a\":\"0.00\"}\n{\"a\":\"7.00\"}\n", 1, LB_MIN_B | LB_MAX_B, 0,
      0 },
    { "string", "{\"a\":\"1\"}\n{\"a\":\"\"}\n{\"a\":\"-0\"}\n{\"a\":\" 7 \"}\n", 0, LB_MIN_B | LB_MAX_B, 0, 0 },
    { "binary",
      "{\"a\":{\"$bin\":\"MQ==\"}}\n{\"a\":{\"$bin\":\"\"}}\n"
      "{\"a\":{\"$bin\":\"LTA=\"}}\n{\"a\":{\"$bin\":\"IDcg\"}}\n",
      0, LB_MIN_B | LB_MAX_B, 0, 0 },
};

static void scan_declared(void **state)
{
    static const char text[] = "a\n1\n\"\"\n-0\n 7 \n";
    const lb_survey_options how = survey_options(2, 3, LB_STATS_ALL);

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(declared); i++) {
        lb_column_decl column = { "a", declared[i].type };
        const lb_read_options options = { .n_columns = 1, .columns = &column, .value_set = LB_VAL_COLUMN };
        lb_wanted wanted = { .column = 0 };
        lb_buf out;
        uint64_t rows;
        opened f;
        lb_buf_init(&out, NULL);
        open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
        if (f.status != LB_OK)
            fail_msg("%s: %s", declared[i].type, f.err.message);
        const lb_colstat *s = &f.entry.columns.items[0];
        assert_int_equal(s->null_count, declared[i].nulls);
        assert_int_equal(s->has, declared[i].has);
        if (s->has & LB_MIN_I)
            assert_true(s->min_i == (int64_t)declared[i].min && s->max_i == (int64_t)declared[i].max);
        if (s->has & LB_MIN_F)
            assert_true(s->min_f == declared[i].min && s->max_f == declared[i].max);
        assert_int_equal(scan_text(f.reader, 0, 9, &wanted, 1, 2, 0, &out, &rows, &f.err), LB_OK);
        assert_string_equal(lb_buf_text(&out), declared[i].rows);
        lb_buf_free(&out);
        close_bytes(&f);
    }
}

/* NaN is counted and bounds nothing; bounds of blocks are those of the declared type, too. */
static void scan_counts_nan_of_declared(void **state)
{
    static const char text[] = "a\nNaN\n0.0\n-0.0\n1\n\"\"\nnan\nNaN\n2.5\n";
    static const char *const types[] = { "float64", "float32" };
    const lb_survey_options how = survey_options(4, 3, LB_STATS_BLOCKS);

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(types); i++) {
        lb_column_decl column = { "a", types[i] };
        const lb_read_options options = { .n_columns = 1, .columns = &column, .value_set = LB_VAL_COLUMN };
        opened f;
        open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
        if (f.status != LB_OK)
            fail_msg("%s: %s", types[i], f.err.message);
        const lb_colstat *s = &f.entry.columns.items[0], *b = f.entry.block_columns.items;
        assert_true(s->has_nan_count && s->nan_count == 3 && s->null_count == 1);
        assert_true(s->has == (LB_MIN_F | LB_MAX_F) && s->min_f == 0 && __builtin_signbit(s->min_f) && s->max_f == 2.5);
        assert_int_equal(f.entry.block_columns.count, 2);
        assert_true(b[0].has_nan_count && b[0].nan_count == 1 && b[0].null_count == 0);
        assert_true(b[0].has == (LB_MIN_F | LB_MAX_F) && b[0].max_f == 1 && __builtin_signbit(b[0].min_f));
        assert_true(b[1].nan_count == 2 && b[1].null_count == 1 && b[1].min_f == 2.5 && b[1].max_f == 2.5);
        close_bytes(&f);
    }
}

/* A declared decimal is bounded by all values that read so, however they are written. */
static void scan_bounds_declared_blocks(void **state)
{
    static const char text[] = "a\n1\n2.5\n-3\n007\n";
    lb_column_decl column = { "a", "decimal(5,2)" };
    const lb_read_options options = { .n_columns = 1, .columns = &column, .value_set = LB_VAL_COLUMN };
    const lb_survey_options how = survey_options(2, 3, LB_STATS_BLOCKS);
    static const int64_t want[] = { 100, 250, -300, 700 };
    opened f;

    (void)state;
    open_bytes(&f, &lb_format_csv, (const uint8_t *)text, sizeof text - 1, &options, &how);
    assert_int_equal(f.status, LB_OK);
    assert_int_equal(f.entry.block_columns.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lb_colstat *s = &f.entry.block_columns.items[i];
        assert_int_equal(s->has, LB_MIN_B | LB_MAX_B);
        assert_true(s->min_b.size == 16 && s->max_b.size == 16);
        assert_int_equal((int16_t)((uint8_t)s->min_b.at[14] << 8 | (uint8_t)s->min_b.at[15]), want[2 * i]);
        assert_int_equal((int16_t)((uint8_t)s->max_b.at[14] << 8 | (uint8_t)s->max_b.at[15]), want[2 * i + 1]);
    }
    close_bytes(&f);
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
        cmocka_unit_test(scan_headers),
        cmocka_unit_test(scan_keeps_the_header_as_it_was),
        cmocka_unit_test(scan_errors_have_places),
        cmocka_unit_test(scan_notices_changes),
        cmocka_unit_test(scan_beyond_a_sample),
        cmocka_unit_test(scan_ragged_beyond_a_sample),
        cmocka_unit_test(scan_counts_nan_of_declared),
        cmocka_unit_test(scan_bounds_declared_blocks),
        cmocka_unit_test(scan_declared),
        cmocka_unit_test(scan_block_statistics),
        cmocka_unit_test(scan_utf16),
        cmocka_unit_test(scan_random_files),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
