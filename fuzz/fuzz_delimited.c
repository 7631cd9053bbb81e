/* Delimited text: the first six bytes choose dialect, options and sizes, the rest is the file. The tokenizer must agree
 * with the slow reader however the file is cut; a survey must not depend on pieces, nor on threads and the parts that they read;
 * ranges must be ranges of the whole, and scattered rows the rows they are. */
#include <stdint.h>
#include <stdlib.h>

#include "../tests/format/delimited/slow_reader.h"
#include "base/hash.h"
#include "column/stream.h"
#include "format/delimited/delimited.h"
#include "format/delimited/delimited_handlers.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define CHOICES 6
#define FILE_MOST 4096
#define MEMORY_MOST (UINT64_C(256) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    lb_read_options options;
    lb_column_decl column;
    delim_dialect dialect;
    lb_survey_options survey;
    size_t chunk, other_chunk;
    uint64_t first, count;
    const uint8_t *file;
    size_t size;
} input;

static const char *const fuzz_nulls[] = { "NA", "\\N" };

static void choose_dialect(input *in, uint8_t a, uint8_t b)
{
    static const char *const delimiters[] = { ",",  ";",   "\t",   "|",   "||",       "aa",
                                              "ab", "\t|", "::::", "a,a", "\xC2\xA6", " " };
    static const int quotes[] = { '"', '\'', -1, 'q' }, escapes[] = { -1, '\\', 'x', '"' };
    const char *delimiter = delimiters[a % LB_COUNT_OF(delimiters)];
    lb_read_options *o = &in->options;

    o->set = LB_OPT_DELIMITER | LB_OPT_QUOTE | LB_OPT_ESCAPE | LB_OPT_HEADER | LB_OPT_RAGGED;
    memcpy(o->delimiter, delimiter, strlen(delimiter) + 1);
    o->quote = quotes[b & 3];
    o->escape = escapes[b >> 2 & 3];
    o->has_header = (b >> 4 & 1) != 0;
    o->ragged_null = (b >> 5 & 1) != 0;
    in->dialect =
        (delim_dialect){ .delimiter_size = (unsigned)strlen(delimiter), .quote = o->quote, .escape = o->escape };
    memcpy(in->dialect.delimiter, delimiter, strlen(delimiter));
    if (in->dialect.escape == in->dialect.quote)
        in->dialect.escape = -1;
}

static void choose_values(input *in, uint8_t c, uint8_t b)
{
    static const char *const encodings[] = { "UTF-16", "ISO-8859-1", "WINDOWS-1255", "UTF-32BE" };
    static const char *const types[] = { "int8",   "uint16", "float32",  "decimal(9,2)", "decimal(50,10)",
                                         "date",   "bool",   "time[ms]", "timestamp[s]", "string",
                                         "binary", "int64",  "uint64" };
    lb_read_options *o = &in->options;

    if ((b >> 6 & 3) == 3) {
        o->set |= LB_OPT_ENCODING;
        o->encoding = encodings[c & 3];
    }
    o->types = (c >> 2 & 3) == 3 ? LB_TYPES_TEXT : LB_TYPES_AUTO;
    o->decimal = (c >> 4 & 1) != 0;
    o->nulls = (const char **)(uintptr_t)fuzz_nulls;
    o->n_nulls = c >> 5 & 1 ? 2 : 0;
    if ((c >> 6 & 1) != 0) {
        in->column = (lb_column_decl){ "a", types[b % LB_COUNT_OF(types)] };
        o->columns = &in->column;
        o->n_columns = 1;
    }
}

static void choose(input *in, const uint8_t *data, size_t size)
{
    static const lb_stats_policy policies[] = { LB_STATS_ALL, LB_STATS_OFF, LB_STATS_BLOCKS, LB_STATS_ALL };

    *in = (input){ .file = data + CHOICES, .size = LB_MIN(size - CHOICES, (size_t)FILE_MOST) };
    choose_dialect(in, data[0], data[1]);
    choose_values(in, data[2], data[1]);
    in->survey = (lb_survey_options){ .stride = 1 + (data[3] & 15),
                                      .stats = policies[data[3] >> 4 & 3],
                                      .keep_state = (data[3] & 64) != 0,
                                      .part = 32 + 3 * (size_t)data[5] };
    in->chunk = 1 + data[4] % 70;
    in->other_chunk = data[4] < 128 ? 0 : 64;
    in->first = data[5] & 15;
    in->count = data[5] >> 4;
}

/* ---------------------------------------------------------------- the tokenizer */

static delim_step next(delim_scanner *s)
{
    delim_step step;
    REQUIRE(delim_next(s, &step, NULL) == LB_OK);
    return step;
}

static void same_record(const delim_scanner *s, size_t base, const slow_text *slow, const slow_record *want)
{
    static uint8_t value[FILE_MOST];

    REQUIRE(base + s->start == want->start && base + s->stop == want->stop && base + s->after == want->after);
    REQUIRE(s->n_fields == want->n_fields);
    for (size_t i = 0; i < s->n_fields; i++) {
        const delim_field *f = &s->fields[i];
        const slow_field *w = &slow->fields[want->first_field + i];
        bool dirty = (f->flags & DELIM_DIRTY) != 0;
        size_t size = dirty ? delim_unescape(s->dialect, f, SIZE_MAX, value) : f->size;
        REQUIRE(size <= f->size && size == w->size && w->quoted == ((f->flags & DELIM_QUOTED) != 0));
        REQUIRE(size == 0 || memcmp(dirty ? value : f->p, w->value, size) == 0);
    }
}

/* Put the bytes from `base` to `end` into the window's heap, padded. */
static uint8_t *window_of(const input *in, delim_scanner *s, uint8_t *old, size_t base, size_t end)
{
    uint8_t *p = calloc(end - base + LB_TEXT_PADDING, 1);

    REQUIRE(p != NULL);
    if (end != base)
        memcpy(p, in->file + base, end - base);
    free(old);
    delim_window(s, p, end - base, end == in->size, 0);
    return p;
}

/* Records in windows that grow by a chunk, all read, or `skip` passed over after each one read. */
static void check_windows(const input *in, const slow_text *slow, uint64_t skip)
{
    size_t base = 0, end = LB_MIN(in->chunk, in->size), record = 0;
    uint64_t passing = 0;
    delim_scanner s;
    bool more;

    delim_scanner_init(&s, &in->dialect, NULL);
    uint8_t *window = window_of(in, &s, NULL, 0, end);
    for (;;) {
        uint64_t passed = delim_skip(&s, passing);
        REQUIRE(passed <= passing);
        record += passed;
        passing -= passed;
        more = passing != 0;
        if (!more) {
            delim_step step = next(&s);
            if (step == DELIM_RECORD) {
                REQUIRE(record < slow->n_records);
                same_record(&s, base, slow, &slow->records[record++]);
                passing = skip;
                continue;
            }
            more = step == DELIM_MORE;
        }
        if (!more || end == in->size)
            break;
        base += s.start;
        end = LB_MIN(end + in->chunk, in->size);
        window = window_of(in, &s, window, base, end);
    }
    REQUIRE(record == slow->n_records && end == in->size);
    delim_scanner_free(&s);
    free(window);
}

/* Records that fit are passed over and others read, in one window. */
static void check_fitting(const input *in, const slow_text *slow, size_t width, bool fewer)
{
    size_t record = 0;
    delim_scanner s;

    delim_scanner_init(&s, &in->dialect, NULL);
    uint8_t *window = window_of(in, &s, NULL, 0, in->size);
    for (;;) {
        delim_skip_blank(&s);
        size_t from = s.after;
        uint64_t n = delim_skip_fitting(&s, 1 + in->count, width, fewer);
        REQUIRE(n <= slow->n_records - record);
        for (uint64_t i = 0; i < n; i++) {
            size_t fields = slow->records[record + i].n_fields;
            REQUIRE(fields == width || (fewer && fields < width));
        }
        record += n;
        REQUIRE(s.after == (n == 0 ? from : slow->records[record - 1].after));
        REQUIRE(s.lines_passed == lb_count_lines(window + from, s.after - from, false));
        if (n == 1 + in->count)
            continue;
        if (next(&s) == DELIM_END)
            break;
        REQUIRE(record < slow->n_records);
        same_record(&s, 0, slow, &slow->records[record++]);
    }
    REQUIRE(record == slow->n_records);
    delim_scanner_free(&s);
    free(window);
}

/* The index by vectors says what the one byte by byte says. */
static void check_index(const input *in, bool marking)
{
    delim_scanner fast, slow;

    delim_scanner_init(&fast, &in->dialect, NULL);
    uint8_t *window = window_of(in, &fast, NULL, 0, in->size);
    fast.marking = marking;
    slow = fast;
    for (size_t at = 0; at < in->size; at += fast.n_blocks * LB_FIND_BLOCK) {
        fast.base = slow.base = at;
        delim_index(&fast);
        delim_index_slow(&slow);
        REQUIRE(fast.n_blocks == slow.n_blocks && fast.dirty_to >= slow.dirty_to);
        REQUIRE(memcmp(fast.separators, slow.separators, sizeof fast.separators) == 0);
        REQUIRE(memcmp(fast.breaks, slow.breaks, sizeof fast.breaks) == 0);
        REQUIRE(memcmp(fast.ends, slow.ends, sizeof fast.ends) == 0);
        REQUIRE(memcmp(fast.lines, slow.lines, sizeof fast.lines) == 0);
        if (!marking)
            continue;
        REQUIRE(memcmp(fast.opens, slow.opens, fast.n_blocks * sizeof *fast.opens) == 0);
        REQUIRE(memcmp(fast.closes, slow.closes, fast.n_blocks * sizeof *fast.closes) == 0);
        REQUIRE(memcmp(fast.marks, slow.marks, fast.n_blocks * sizeof *fast.marks) == 0);
    }
    REQUIRE(fast.carry.quoted == slow.carry.quoted);
    free(window);
}

static void check_tokens(const input *in)
{
    const slow_dialect d = { in->dialect.delimiter, in->dialect.delimiter_size, in->dialect.quote, in->dialect.escape };
    slow_text slow = slow_read(&d, in->file, in->size, 0);

    for (uint64_t skip = 0; skip < 3; skip++)
        check_windows(in, &slow, skip);
    check_windows(in, &slow, 3 + in->count);
    check_fitting(in, &slow, slow.n_records == 0 ? 1 : slow.records[0].n_fields, false);
    check_fitting(in, &slow, 1 + in->first, true);
    check_index(in, false);
    check_index(in, true);
    slow_free(&slow);
}

/* ---------------------------------------------------------------- survey and scan */

typedef struct surveyed {
    lb_arena arena;
    lb_entry entry;
    lb_status status;
    lb_error err;
    lb_buf tapped;
} surveyed;

static bool write_buf(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

static void tap(void *user, const uint8_t *bytes, size_t size)
{
    REQUIRE(write_buf(user, bytes, size));
}

static void note(void *user, const char *text)
{
    REQUIRE(write_buf(user, text, strlen(text) + 1));
}

static lb_context *context_of(unsigned threads, lb_buf *notes)
{
    const lb_context_options options = {
        .struct_size = sizeof options, .threads = threads, .memory_limit = MEMORY_MOST, .note = note, .user = notes
    };
    lb_context *cx;

    REQUIRE(lb_context_new(&options, &cx, NULL) == LB_OK);
    return cx;
}

static void survey(const input *in, lb_context *cx, lb_store *store, size_t chunk, surveyed *out)
{
    lb_survey_options how = in->survey;
    lb_reader *reader;

    *out = (surveyed){ .err = LB_ERROR_INIT };
    how.chunk = chunk;
    how.tap = tap;
    how.tap_user = &out->tapped;
    lb_buf_init(&out->tapped, NULL);
    lb_arena_init(&out->arena, NULL);
    out->status = lb_format_csv.open(&lb_format_csv, cx, store, &in->options, NULL, &reader, &out->err);
    if (out->status != LB_OK)
        return;
    out->status = lb_format_csv.survey(reader, &how, &out->arena, &out->entry, &out->err);
    lb_format_csv.close(reader);
}

static void same_bytes(lb_str a, lb_str b)
{
    REQUIRE(lb_str_equal(a, b));
}

static bool same_bits(double a, double b)
{
    uint64_t x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static void same_stats(const lb_colstats *a, const lb_colstats *b)
{
    REQUIRE(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        const lb_colstat *x = &a->items[i], *y = &b->items[i];
        same_bytes(x->name, y->name);
        same_bytes(x->type, y->type);
        REQUIRE(x->null_count == y->null_count && x->nan_count == y->nan_count && x->has == y->has);
        REQUIRE(x->min_i == y->min_i && x->max_i == y->max_i && x->min_u == y->min_u && x->max_u == y->max_u);
        REQUIRE(same_bits(x->min_f, y->min_f) && same_bits(x->max_f, y->max_f));
        same_bytes(x->min_b, y->min_b);
        same_bytes(x->max_b, y->max_b);
    }
}

static void same_survey(const surveyed *a, const surveyed *b)
{
    const lb_blocks *x = &a->entry.blocks, *y = &b->entry.blocks;

    REQUIRE(a->status == b->status && a->err.offset == b->err.offset && a->err.row == b->err.row &&
            a->err.line == b->err.line);
    if (a->status != LB_OK)
        return;
    REQUIRE(a->entry.total_rows == b->entry.total_rows && x->count == y->count);
    REQUIRE(a->entry.dialect.data_start == b->entry.dialect.data_start);
    same_bytes(a->entry.arrow_schema, b->entry.arrow_schema);
    same_bytes(a->entry.open_state, b->entry.open_state);
    same_bytes((lb_str){ (const char *)a->tapped.data, a->tapped.size },
               (lb_str){ (const char *)b->tapped.data, b->tapped.size });
    same_stats(&a->entry.columns, &b->entry.columns);
    same_stats(&a->entry.block_columns, &b->entry.block_columns);
    for (uint64_t i = 0; i < x->count; i++)
        REQUIRE(x->first_byte[i] == y->first_byte[i] && x->total_byte_size[i] == y->total_byte_size[i] &&
                x->first_row[i] == y->first_row[i] && x->row_count[i] == y->row_count[i] &&
                x->first_line[i] == y->first_line[i] && x->start_hash[i] == y->start_hash[i]);
}

static void surveyed_free(surveyed *s)
{
    lb_arena_free(&s->arena);
    lb_buf_free(&s->tapped);
}

/* Blocks follow each other, cover all rows, and lie in the file. */
static void check_blocks(const input *in, const lb_entry *e)
{
    uint64_t rows = 0, byte = e->dialect.data_start;

    for (uint64_t i = 0; i < e->blocks.count; i++) {
        bool last = i + 1 == e->blocks.count;
        REQUIRE(e->blocks.first_row[i] == rows && e->blocks.first_byte[i] >= byte);
        REQUIRE(last ? e->blocks.row_count[i] - 1 < in->survey.stride : e->blocks.row_count[i] == in->survey.stride);
        rows += e->blocks.row_count[i];
        byte = e->blocks.first_byte[i] + e->blocks.total_byte_size[i];
    }
    REQUIRE(rows == e->total_rows && byte <= in->size);
}

/* The columns, as many as are looked at, of a range; printed behind `out`. */
static uint64_t scan_rows(lb_context *cx, lb_reader *r, lb_range *range, lb_buf *out)
{
    lb_wanted wanted[64];
    struct ArrowArrayStream stream;
    uint64_t rows;

    range->n_columns = LB_MIN((size_t)r->schema.n_children, LB_COUNT_OF(wanted));
    range->columns = wanted;
    for (size_t i = 0; i < range->n_columns; i++)
        wanted[i] = (lb_wanted){ .column = i };
    lb_status status =
        range->rows != NULL ? r->format->take(r, range, &stream, NULL) : r->format->scan(r, range, &stream, NULL);
    REQUIRE(status == LB_OK);
    status = lb_print(cx, &stream, "tagged", NULL, write_buf, out, &rows, NULL);
    REQUIRE(status == LB_OK);
    return rows;
}

static uint64_t scan(lb_context *cx, lb_reader *r, uint64_t first, uint64_t count, size_t chunk, lb_buf *out)
{
    lb_range range = { .first = first, .count = count, .chunk = chunk, .batch_rows = 1 + (size_t)(count & 7) };

    return scan_rows(cx, r, &range, out);
}

static void check_scans(const input *in, lb_context *cx, lb_store *store, const lb_entry *e)
{
    lb_reader *r;
    lb_buf whole, parts, one;

    REQUIRE(lb_format_csv.open(&lb_format_csv, cx, store, &in->options, e, &r, NULL) == LB_OK);
    lb_buf_init(&whole, NULL);
    lb_buf_init(&parts, NULL);
    lb_buf_init(&one, NULL);
    REQUIRE(scan(cx, r, 0, UINT64_MAX, in->chunk, &whole) == e->total_rows);
    for (uint64_t i = 0; i < e->blocks.count; i++)
        REQUIRE(scan(cx, r, e->blocks.first_row[i], e->blocks.row_count[i], in->other_chunk, &parts) ==
                e->blocks.row_count[i]);
    same_bytes((lb_str){ (const char *)whole.data, whole.size }, (lb_str){ (const char *)parts.data, parts.size });
    uint64_t left = in->first >= e->total_rows ? 0 : e->total_rows - in->first;
    REQUIRE(scan(cx, r, in->first, in->count, in->chunk, &one) == LB_MIN(left, in->count));
    REQUIRE(one.size == 0 || memmem(whole.data, whole.size, one.data, one.size) != NULL);
    one.size = 0;
    REQUIRE(lb_format_csv.raw(r, in->first, in->count, write_buf, &one, NULL) == LB_OK);
    REQUIRE((one.size != 0) == (left != 0 && in->count != 0));
    REQUIRE(one.size == 0 || memmem(in->file, in->size, one.data, one.size) != NULL);
    lb_buf_free(&whole);
    lb_buf_free(&parts);
    lb_buf_free(&one);
    r->format->close(r);
}

/* Scattered rows are what each of them is by itself, and their places are where their bytes lie. */
static void check_row(const input *in, lb_context *cx, lb_reader *r, uint64_t row, const lb_extent *at, lb_buf *alone)
{
    lb_buf raw;

    REQUIRE(scan(cx, r, row, 1, in->chunk, alone) == 1);
    lb_buf_init(&raw, NULL);
    REQUIRE(lb_format_csv.raw(r, row, 1, write_buf, &raw, NULL) == LB_OK);
    REQUIRE(at->first <= at->stop && at->stop <= at->end && at->end <= in->size);
    same_bytes((lb_str){ (const char *)raw.data, raw.size },
               (lb_str){ (const char *)in->file + at->first, at->end - at->first });
    lb_buf_free(&raw);
}

static void check_taken(const input *in, lb_context *cx, lb_reader *r, const uint64_t *rows, size_t n)
{
    lb_extent extents[FILE_MOST / 2];
    lb_buf alone, together;
    size_t found;

    lb_buf_init(&alone, NULL);
    lb_buf_init(&together, NULL);
    REQUIRE(lb_format_csv.extents(r, rows, n, extents, &found, NULL) == LB_OK && found == n);
    for (size_t i = 0; i < n; i++)
        check_row(in, cx, r, rows[i], &extents[i], &alone);
    REQUIRE(scan_rows(cx, r, &(lb_range){ .rows = rows, .count = n, .chunk = in->other_chunk, .batch_rows = 3 },
                      &together) == n);
    same_bytes((lb_str){ (const char *)alone.data, alone.size },
               (lb_str){ (const char *)together.data, together.size });
    lb_buf_free(&alone);
    lb_buf_free(&together);
}

static void check_takes(const input *in, lb_context *cx, lb_store *store, const lb_entry *e)
{
    uint64_t rows[FILE_MOST / 2], step = 1 + in->count;
    size_t n = 0;
    lb_reader *r;

    REQUIRE(lb_format_csv.open(&lb_format_csv, cx, store, &in->options, e, &r, NULL) == LB_OK);
    /* Each step is wider than the last: dense at first, then across blocks. */
    for (uint64_t row = in->first; row < e->total_rows && n < LB_COUNT_OF(rows); row += 1 + n++ % step)
        rows[n] = row;
    if (n != 0)
        check_taken(in, cx, r, rows, n);
    r->format->close(r);
}

static void check_file(const input *in, lb_context *cx)
{
    lb_store *store;
    surveyed a, b;

    REQUIRE(lb_store_open_memory(in->file, in->size, &store, NULL) == LB_OK);
    survey(in, cx, store, in->chunk, &a);
    survey(in, cx, store, in->other_chunk, &b);
    same_survey(&a, &b);
    REQUIRE(a.status == LB_OK || a.status == LB_CORRUPT || a.status == LB_USAGE);
    if (a.status == LB_OK) {
        check_blocks(in, &a.entry);
        check_scans(in, cx, store, &a.entry);
        check_takes(in, cx, store, &a.entry);
    }
    surveyed_free(&a);
    surveyed_free(&b);
    lb_store_close(store);
}

/* Three threads find what one finds, and say it once. */
static void check_threads(const input *in)
{
    lb_buf said[2] = { { .budget = NULL }, { .budget = NULL } };
    surveyed results[2];
    lb_store *store;

    REQUIRE(lb_store_open_memory(in->file, in->size, &store, NULL) == LB_OK);
    for (unsigned i = 0; i < 2; i++) {
        lb_context *cx = context_of(i == 0 ? 1 : 3, &said[i]);
        survey(in, cx, store, in->other_chunk, &results[i]);
        REQUIRE(cx->budget.used == 0 && cx->helping == 0);
        lb_context_free(cx);
    }
    same_survey(&results[0], &results[1]);
    REQUIRE(strcmp(results[0].err.message, results[1].err.message) == 0);
    same_bytes((lb_str){ (const char *)said[0].data, said[0].size },
               (lb_str){ (const char *)said[1].data, said[1].size });
    for (unsigned i = 0; i < 2; i++) {
        surveyed_free(&results[i]);
        lb_buf_free(&said[i]);
    }
    lb_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_buf said = { .budget = NULL };
    input in;

    if (size < CHOICES)
        return 0;
    choose(&in, data, size);
    check_tokens(&in);
    lb_context *cx = context_of(1, &said);
    check_file(&in, cx);
    REQUIRE(cx->budget.used == 0);
    lb_context_free(cx);
    lb_buf_free(&said);
    check_threads(&in);
    return 0;
}
