/* JSON files: the first four bytes choose handler, options and sizes, the rest is the file. A survey must find the rows and
 * the first error of the slow reader, and must not depend on pieces; ranges must be ranges of the whole. */
#include <stdint.h>
#include <stdlib.h>

#include "../tests/wire/slow_json.h"
#include "base/buf.h"
#include "column/stream.h"
#include "format/json/json_handlers.h"
#include "format/json/json_rows.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define CHOICES 4
#define FILE_MOST 4096
#define MEMORY_MOST (UINT64_C(256) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const lb_format *format;
    lb_read_options options;
    lb_survey_options survey;
    size_t chunk, other_chunk;
    uint64_t first, count;
    const uint8_t *file;
    size_t size;
} input;

static void choose(input *in, const uint8_t *data, size_t size)
{
    static const lb_stats_policy policies[] = { LB_STATS_ALL, LB_STATS_OFF, LB_STATS_BLOCKS, LB_STATS_ALL };

    *in = (input){ .file = data + CHOICES, .size = LB_MIN(size - CHOICES, (size_t)FILE_MOST) };
    in->format = (data[0] & 1) != 0 ? &lb_format_json : &lb_format_ndjson;
    in->options.types = (data[0] >> 1 & 3) == 3 ? LB_TYPES_TEXT : LB_TYPES_AUTO;
    in->survey = (lb_survey_options){ .stride = 1 + (data[1] & 15), .stats = policies[data[1] >> 4 & 3] };
    in->chunk = 1 + data[2] % 70;
    in->other_chunk = data[2] < 128 ? 0 : 64;
    in->first = data[3] & 15;
    in->count = data[3] >> 4;
}

/* ---------------------------------------------------------------- surveys */

typedef struct surveyed {
    lb_arena arena;
    lb_entry entry;
    lb_status status;
    lb_error err;
} surveyed;

static void survey(const input *in, lb_context *cx, lb_store *store, size_t chunk, surveyed *out)
{
    lb_survey_options how = in->survey;
    lb_reader *reader;

    *out = (surveyed){ .err = LB_ERROR_INIT };
    how.chunk = chunk;
    how.keep_state = true;
    lb_arena_init(&out->arena, NULL);
    out->status = in->format->open(in->format, cx, store, &in->options, NULL, &reader, &out->err);
    if (out->status != LB_OK)
        return;
    out->status = in->format->survey(reader, &how, &out->arena, &out->entry, &out->err);
    in->format->close(reader);
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
    same_bytes(a->entry.locator, b->entry.locator);
    same_bytes(a->entry.arrow_schema, b->entry.arrow_schema);
    same_bytes(a->entry.open_state, b->entry.open_state);
    same_stats(&a->entry.columns, &b->entry.columns);
    same_stats(&a->entry.block_columns, &b->entry.block_columns);
    for (uint64_t i = 0; i < x->count; i++)
        REQUIRE(x->first_byte[i] == y->first_byte[i] && x->total_byte_size[i] == y->total_byte_size[i] &&
                x->first_row[i] == y->first_row[i] && x->row_count[i] == y->row_count[i] &&
                x->first_line[i] == y->first_line[i] && x->start_hash[i] == y->start_hash[i]);
}

/* ---------------------------------------------------------------- against the slow reader */

typedef struct wanted_rows {
    slow_json_rows rows;
    size_t from;  /* bytes of a byte-order mark */
    size_t valid; /* bytes of valid text behind it */
} wanted_rows;

static wanted_rows read_slowly(const input *in)
{
    wanted_rows w = { .from = in->size >= 3 && memcmp(in->file, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0 };
    const uint8_t *text = in->file + w.from;
    size_t first = 0;

    w.valid = lb_utf8_valid_prefix(text, in->size - w.from);
    while (first < w.valid && strchr(" \t\r\n", text[first]) != NULL && text[first] != 0)
        first++;
    const bool array = in->format == &lb_format_json && first < w.valid && text[first] == '[';
    w.rows = slow_json_read(text, w.valid, array ? LB_JSON_ARRAY : LB_JSON_LINES);
    if (w.rows.reason == LB_JSON_BEHIND && text[w.rows.bad_at] == '[') { /* each array is a row */
        slow_json_free(&w.rows);
        w.rows = slow_json_read(text, w.valid, LB_JSON_LINES);
    }
    return w;
}

static void check_rows(const input *in, const surveyed *s)
{
    wanted_rows w = read_slowly(in);

    const uint8_t *invalid = in->file + w.from + w.valid;
    const size_t n_invalid = in->size - w.from - w.valid;
    if (n_invalid != 0 && s->status == LB_OK) { /* the end cuts a row, in the middle of a character */
        REQUIRE(lb_utf8_cut_tail(invalid, n_invalid) == n_invalid && w.rows.reason == LB_JSON_CUT);
        REQUIRE(s->entry.total_rows == w.rows.n && in->format->tail(&s->entry, NULL) != LB_OK);
    } else if (n_invalid != 0) { /* not text: an error there, or before it */
        REQUIRE(s->status != LB_CORRUPT || s->err.offset <= (int64_t)(w.from + w.valid));
    } else if (w.rows.reason == LB_JSON_GOOD || w.rows.reason == LB_JSON_CUT) {
        REQUIRE(s->status != LB_CORRUPT && (s->status != LB_OK || s->entry.total_rows == w.rows.n));
        REQUIRE(s->status != LB_OK || (in->format->tail(&s->entry, NULL) == LB_OK) == (w.rows.reason == LB_JSON_GOOD));
    } else {
        REQUIRE(s->status != LB_OK);
        if (s->status == LB_CORRUPT)
            REQUIRE(s->err.offset == (int64_t)(w.from + w.rows.bad_at) && s->err.row == (int64_t)w.rows.n);
    }
    slow_json_free(&w.rows);
}

/* ---------------------------------------------------------------- scans */

/* Blocks follow each other, cover all rows, and lie in the file. */
static void check_blocks(const input *in, const lb_entry *e)
{
    uint64_t rows = 0, byte = 0;

    for (uint64_t i = 0; i < e->blocks.count; i++) {
        bool last = i + 1 == e->blocks.count;
        REQUIRE(e->blocks.first_row[i] == rows && e->blocks.first_byte[i] >= byte);
        REQUIRE(last ? e->blocks.row_count[i] - 1 < in->survey.stride : e->blocks.row_count[i] == in->survey.stride);
        rows += e->blocks.row_count[i];
        byte = e->blocks.first_byte[i] + e->blocks.total_byte_size[i];
    }
    REQUIRE(rows == e->total_rows && byte <= in->size);
}

static bool write_buf(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

/* The columns, as many as are looked at, of a range; printed behind `out`. */
static uint64_t scan(lb_context *cx, lb_reader *r, uint64_t first, uint64_t count, size_t chunk, lb_buf *out)
{
    lb_wanted wanted[64];
    struct ArrowArrayStream stream;
    uint64_t rows;
    lb_range range = { .first = first, .count = count, .chunk = chunk, .batch_rows = 1 + (size_t)(count & 7) };

    range.n_columns = LB_MIN((size_t)r->schema.n_children, LB_COUNT_OF(wanted));
    range.columns = wanted;
    for (size_t i = 0; i < range.n_columns; i++)
        wanted[i] = (lb_wanted){ .column = i };
    REQUIRE(r->format->scan(r, &range, &stream, NULL) == LB_OK);
    lb_status status = lb_print(cx, &stream, "tagged", NULL, write_buf, out, &rows, NULL);
    REQUIRE(status == LB_OK);
    return rows;
}

static void check_scans(const input *in, lb_context *cx, lb_store *store, const lb_entry *e)
{
    lb_reader *r;
    lb_buf whole, parts, one;

    REQUIRE(in->format->open(in->format, cx, store, &in->options, e, &r, NULL) == LB_OK);
    lb_buf_init(&whole, NULL);
    lb_buf_init(&parts, NULL);
    lb_buf_init(&one, NULL);
    REQUIRE(scan(cx, r, 0, e->total_rows, in->chunk, &whole) == e->total_rows);
    for (uint64_t i = 0; i < e->blocks.count; i++)
        REQUIRE(scan(cx, r, e->blocks.first_row[i], e->blocks.row_count[i], in->other_chunk, &parts) ==
                e->blocks.row_count[i]);
    same_bytes((lb_str){ (const char *)whole.data, whole.size }, (lb_str){ (const char *)parts.data, parts.size });
    uint64_t left = in->first >= e->total_rows ? 0 : e->total_rows - in->first, count = LB_MIN(left, in->count);
    REQUIRE(scan(cx, r, in->first, count, in->chunk, &one) == count);
    REQUIRE(one.size == 0 || memmem(whole.data, whole.size, one.data, one.size) != NULL);
    lb_buf_free(&whole);
    lb_buf_free(&parts);
    lb_buf_free(&one);
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
    REQUIRE(a.status == LB_OK || a.status == LB_CORRUPT || a.status == LB_UNSUPPORTED);
    check_rows(in, &a);
    if (a.status == LB_OK) {
        check_blocks(in, &a.entry);
        check_scans(in, cx, store, &a.entry);
    }
    lb_arena_free(&a.arena);
    lb_arena_free(&b.arena);
    lb_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = MEMORY_MOST };
    lb_context *cx;
    input in;

    if (size < CHOICES)
        return 0;
    choose(&in, data, size);
    REQUIRE(lb_context_new(&options, &cx, NULL) == LB_OK);
    check_file(&in, cx);
    REQUIRE(cx->budget.used == 0);
    lb_context_free(cx);
    return 0;
}
