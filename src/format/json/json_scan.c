/* Rows of a file as Arrow batches: from the nearest block, only the wanted columns. */
#include <stdlib.h>

#include "base/hash.h"
#include "column/stream.h"
#include "format/json/json_rows.h"

#define SCAN_BATCH_ROWS LB_RUN_ROWS
#define SCAN_BATCH_BYTES ((uint64_t)32 << 20)

/* A batch may have this part of the memory limit, where that is less: several streams are open at a time. */
#define SCAN_BATCH_PART 8

typedef struct scan {
    lb_reader *r;
    js_records records;
    struct ArrowSchema schema;
    lb_arena arena;
    js_build build;
    js_builder *rows_built;
    bool value;           /* columns are the row as it stands */
    uint64_t left;        /* rows still wanted */
    const uint64_t *rows; /* the next of them; NULL: all from here on */
    size_t batch_rows;
    uint64_t batch_bytes; /* a batch ends behind the row that reaches them */
    bool at_end;
} scan;

/* ---------------------------------------------------------------- finding the place */

static lb_status scan_check_start(lb_reader *r, const lb_blocks *blocks, uint64_t block, lb_error *err)
{
    uint8_t bytes[JS_START_BYTES];
    size_t want = LB_MIN(blocks->total_byte_size[block], sizeof bytes), got;

    if (blocks->start_hash == NULL)
        return LB_OK;
    LB_TRY(lb_store_read(r->store, blocks->first_byte[block], bytes, want, &got, err));
    if (got == want && lb_xxh3_64(bytes, got) == blocks->start_hash[block])
        return LB_OK;
    lb_fail(err, LB_STALE, LB_AT(blocks->first_byte[block]), "the bytes here are not those that were mapped");
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

/* The block to begin in: the one that holds `first`, or the last one known before it. UINT64_MAX: there is none. */
static uint64_t scan_block(const lb_entry *known, uint64_t first)
{
    const lb_blocks *blocks = &known->blocks;
    uint64_t block = blocks->first_byte == NULL ? UINT64_MAX : lb_blocks_find(blocks, first);

    if (block == UINT64_MAX && blocks->first_byte != NULL && blocks->count != 0)
        block = blocks->count - 1;
    return block;
}

/* At the block, or at the beginning of the file. */
static lb_status scan_begin(lb_reader *r, uint64_t block, size_t chunk, js_records *out, lb_error *err)
{
    const lb_blocks *b = &r->known->blocks;

    if (block == UINT64_MAX) {
        LB_TRY(js_records_open(out, r->cx, r->store, r->encoding, LB_JSON_LINES, 0, 0, 1, chunk, err));
        return js_records_begin(out, js_is_array(r->known->locator), err);
    }
    LB_TRY(scan_check_start(r, b, block, err));
    const lb_json_layout layout = js_is_array(r->known->locator) ? LB_JSON_ELEMENTS : LB_JSON_LINES;
    return js_records_open(out, r->cx, r->store, r->encoding, layout, b->first_byte[block], b->first_row[block],
                           b->first_line != NULL ? b->first_line[block] : 1, chunk, err);
}

lb_status js_seek(lb_reader *r, uint64_t first, size_t chunk, js_records *out, bool *there, lb_error *err)
{
    uint64_t passed = 0;

    *there = false;
    lb_status status = scan_begin(r, scan_block(r->known, first), chunk, out, err);
    const uint64_t between = first - out->row;
    if (status == LB_OK)
        status = js_records_skip(out, between, &passed, err);
    *there = status == LB_OK && passed == between;
    return status;
}

/* ---------------------------------------------------------------- building a batch */

/* A value that is not of its column's type. */
static lb_status scan_fail_value(scan *s, const uint8_t *at, lb_error *err)
{
    const struct ArrowSchema *field = s->schema.children[s->build.column];
    const size_t left = (size_t)(s->records.text.data + s->records.walk.stop - at);
    char shown[64];
    lb_buf words;

    lb_copy_text(shown, sizeof shown, (const char *)at, LB_MIN(left, sizeof shown - 1));
    lb_buf_init(&words, NULL);
    if (lb_type_words(field, false, &words, NULL) == LB_OK)
        lb_fail(err, LB_CORRUPT, js_records_where(&s->records, at),
                "column '%s', of type %.*s: what begins with %s "
                "does not read so",
                field->name, (int)LB_MIN(words.size, 100), (const char *)words.data, shown);
    lb_buf_free(&words);
    if (s->r->known->total_rows == LB_ROWS_UNKNOWN)
        lb_fail_hint(err, "types come from the first part of the file; --types proven reads all of it first");
    return LB_CORRUPT;
}

/* Columns by keys were found in other rows. */
static lb_status scan_fail_row(scan *s, lb_error *err)
{
    lb_fail(err, LB_CORRUPT, js_records_where(&s->records, s->records.text.data + s->records.walk.start),
            "a row that is no object, where others are");
    if (s->r->known->total_rows == LB_ROWS_UNKNOWN)
        lb_fail_hint(err, "types come from the first part of the file; --types proven reads all of it first");
    return LB_CORRUPT;
}

static lb_status scan_fail_key(scan *s, const uint8_t *at, lb_error *err)
{
    char shown[64];
    const size_t left = (size_t)(s->records.text.data + s->records.walk.stop - at),
                 most = LB_MIN(left, sizeof shown - 1);
    const uint8_t *quote = memchr(at, '"', most);

    lb_copy_text(shown, sizeof shown, (const char *)at, quote != NULL ? (size_t)(quote - at) : most);
    lb_fail(err, LB_CORRUPT, js_records_where(&s->records, at),
            "a key '%s' that the first part of the file does not have", shown);
    lb_fail_hint(err, "--types proven reads the whole file first");
    return LB_CORRUPT;
}

static lb_status scan_failed(scan *s, const lb_json_cursor *c, lb_error *err)
{
    if (s->build.status != LB_OK) {
        const lb_where where = js_records_where(&s->records, s->records.text.data + s->records.walk.start);
        if (err != NULL && err->row < 0) {
            err->row = where.row;
            err->line = where.line;
            err->offset = where.offset;
        }
        return s->build.status;
    }
    if (s->build.unknown_at != NULL)
        return scan_fail_key(s, s->build.unknown_at, err);
    if (s->build.wrong_at == NULL)
        return js_records_fail(&s->records, c, err);
    const bool row = s->build.wrong_at == s->records.text.data + s->records.walk.start && !s->value;
    return row ? scan_fail_row(s, err) : scan_fail_value(s, s->build.wrong_at, err);
}

static lb_status scan_record(scan *s, lb_error *err)
{
    lb_json_cursor c = lb_json_cursor_of(&s->records.walk);

    s->build.err = err;
    return js_builder_row(&s->build, s->rows_built, s->value, &c) ? LB_OK : scan_failed(s, &c, err);
}

/* The next wanted record; *got false at the end of the text. */
static lb_status scan_record_next(scan *s, bool *got, lb_error *err)
{
    uint64_t passed;

    if (s->rows != NULL) {
        uint64_t between = *s->rows++ - s->records.row;
        if (between != 0)
            LB_TRY(js_records_skip(&s->records, between, &passed, err));
        *got = between == 0 || passed == between;
        if (!*got)
            return LB_OK;
    }
    return js_records_next(&s->records, got, err);
}

/* A file that was not read whole before ends in the middle of a record: rows before it have gone out by then. */
static lb_status scan_check_torn(scan *s, lb_error *err)
{
    js_records *r = &s->records;

    if (!r->torn || s->r->known->total_rows != LB_ROWS_UNKNOWN)
        return LB_OK;
    lb_where where = js_records_where(r, r->text.data + r->walk.start);
    where.row = (int64_t)r->row;
    return lb_fail(err, LB_CORRUPT, where, "the file ends inside this value");
}

static uint64_t scan_want(const scan *s)
{
    const uint64_t row = s->records.row, border = lb_blocks_border(&s->r->known->blocks, row);
    const uint64_t want = LB_MIN(s->left, (uint64_t)s->batch_rows);

    return s->rows == NULL ? LB_MIN(want, border - row) : want;
}

static lb_status scan_fill(scan *s, uint64_t *rows, lb_error *err)
{
    const uint64_t want = scan_want(s);

    s->build.bytes = 0;
    for (*rows = 0; *rows < want && s->build.bytes < s->batch_bytes; (*rows)++) {
        bool got;
        LB_TRY(scan_record_next(s, &got, err));
        if (!got) {
            s->at_end = true;
            break;
        }
        LB_TRY(scan_record(s, err));
    }
    s->left -= *rows;
    return LB_OK;
}

/* A file that ends before the map says is not the file that was mapped. */
static lb_status scan_check_end(scan *s, lb_error *err)
{
    const lb_entry *known = s->r->known;

    if (!s->at_end || s->left == 0 || known->total_rows == LB_ROWS_UNKNOWN || s->records.row >= known->total_rows)
        return LB_OK;
    lb_fail(err, LB_STALE, LB_NOWHERE, "the file ends after row %llu, where %llu rows were mapped",
            (unsigned long long)s->records.row, (unsigned long long)known->total_rows);
    return LB_STALE;
}

/* One that goes on behind the last row is not either: its rows would be numbered wrong. */
static lb_status scan_check_more(scan *s, lb_error *err)
{
    const lb_entry *known = s->r->known;
    bool more;

    if (s->left != 0 || s->at_end || known->total_rows == LB_ROWS_UNKNOWN || s->records.row != known->total_rows)
        return LB_OK;
    LB_TRY(js_records_next(&s->records, &more, err));
    if (!more)
        return LB_OK;
    lb_fail(err, LB_STALE, js_records_where(&s->records, s->records.text.data + s->records.walk.start),
            "the file has more rows than the %llu that were mapped", (unsigned long long)known->total_rows);
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;
    uint64_t rows = 0;

    out->release = NULL;
    if (s->left == 0)
        return LB_OK;
    if (s->at_end)
        return scan_check_torn(s, err);
    lb_status status = scan_fill(s, &rows, err);
    if (status == LB_OK)
        status = scan_check_end(s, err);
    if (status == LB_OK)
        status = scan_check_more(s, err);
    if (status == LB_OK && rows != 0)
        status = js_builder_finish(s->rows_built, &s->schema, (int64_t)rows, out, err);
    else if (status == LB_OK)
        status = scan_check_torn(s, err);
    js_builder_reset(s->rows_built);
    lb_budget_give(&s->r->cx->budget, s->build.taken);
    s->build.taken = 0;
    if (status != LB_OK)
        lb_fail_path(err, s->r->store->path);
    return status;
}

/* ---------------------------------------------------------------- opening */

static void scan_close(void *state)
{
    scan *s = state;

    if (s == NULL)
        return;
    js_records_close(&s->records);
    js_builder_reset(s->rows_built);
    lb_budget_give(&s->r->cx->budget, s->build.taken);
    lb_buf_free(&s->build.scratch);
    lb_buf_free(&s->build.replaced);
    lb_buf_free(&s->build.key);
    lb_arena_free(&s->arena);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    free(s);
}

static lb_status scan_columns(scan *s, const lb_range *range, lb_error *err)
{
    const struct ArrowSchema *file = &s->r->schema;

    LB_TRY(lb_schema_struct(&s->schema, (int64_t)range->n_columns, err));
    for (size_t i = 0; i < range->n_columns; i++) {
        const lb_wanted *w = &range->columns[i];
        if (w->column >= (uint64_t)file->n_children)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "column %llu of a file that has %lld",
                           (unsigned long long)w->column, (long long)file->n_children);
        const struct ArrowSchema *field = file->children[w->column];
        s->schema.children[i]->release(s->schema.children[i]);
        LB_TRY(lb_schema_copy(w->as != NULL ? w->as : field, s->schema.children[i], err));
        LB_TRY(lb_schema_set_name(s->schema.children[i], lb_str_of(field->name), err));
    }
    s->value = lb_schema_is_value(file);
    return js_builder_make(&s->build, &s->schema, &s->rows_built, err);
}

static void scan_settle_batch(scan *s, size_t most)
{
    s->batch_bytes = LB_MIN(SCAN_BATCH_BYTES, s->r->cx->budget.limit / SCAN_BATCH_PART);
    s->batch_bytes = LB_MAX(s->batch_bytes, 1);
    s->batch_rows = most != 0 ? most : SCAN_BATCH_ROWS;
}

/* Rows of the range that lie before the end of the file. */
static uint64_t scan_count(const lb_range *range, uint64_t total)
{
    uint64_t n = range->count;

    if (range->rows == NULL)
        return range->first >= total ? 0 : LB_MIN(n, total - range->first);
    while (n > 0 && range->rows[n - 1] >= total)
        n--;
    return n;
}

/* A few rows of small blocks are read by a few bytes. */
static size_t scan_chunk(const scan *s, const lb_range *range, uint64_t first)
{
    if (range->chunk != 0 || s->r->known->total_rows == LB_ROWS_UNKNOWN)
        return range->chunk;
    return lb_blocks_chunk(&s->r->known->blocks, first, s->rows != NULL ? s->rows[s->left - 1] : first + s->left - 1);
}

static lb_status scan_open(scan *s, const lb_range *range, lb_error *err)
{
    lb_reader *r = s->r;
    bool there;

    s->left = range->count;
    if (r->known == NULL || r->schema.release == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a scan needs an entry with a schema");
    LB_TRY(scan_columns(s, range, err));
    scan_settle_batch(s, range->batch_rows);
    if (r->known->total_rows != LB_ROWS_UNKNOWN)
        s->left = scan_count(range, r->known->total_rows);
    if (s->left == 0)
        return LB_OK;
    s->rows = range->rows;
    const uint64_t first = s->rows != NULL ? *s->rows : range->first;
    LB_TRY(js_seek(r, first, scan_chunk(s, range, first), &s->records, &there, err));
    s->at_end = !there;
    return scan_check_end(s, err);
}

lb_status js_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    lb_arena_init(&s->arena, &r->cx->budget);
    s->build = (js_build){ .arena = &s->arena,
                           .budget = &r->cx->budget,
                           .file = &r->schema,
                           .trusted = r->known != NULL && r->known->total_rows != LB_ROWS_UNKNOWN };
    lb_buf_init(&s->build.scratch, &r->cx->budget);
    lb_buf_init(&s->build.replaced, &r->cx->budget);
    lb_buf_init(&s->build.key, &r->cx->budget);
    lb_status status = scan_open(s, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}
