/* Rows of a file as Arrow batches, from the nearest block on, only the wanted columns; and the objects' own bytes. */
#include <stdlib.h>

#include "base/hash.h"
#include "column/stream.h"
#include "format/msgpack/msgpack.h"

#define SCAN_BATCH_ROWS LB_RUN_ROWS
#define SCAN_BATCH_BYTES ((uint64_t)32 << 20)

/* A batch may have this part of the memory limit, where that is less: several streams are open at a time. */
#define SCAN_BATCH_PART 8

typedef struct scan {
    lb_reader *r;
    mp_records records;
    struct ArrowSchema schema;
    lb_arena arena;
    mp_build build;
    lb_growing *columns;
    mp_field *fields;
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
    uint8_t bytes[MP_START_BYTES];
    const size_t want = (size_t)LB_MIN(blocks->total_byte_size[block], (uint64_t)sizeof bytes);
    size_t got;

    if (blocks->start_hash == NULL)
        return LB_OK;
    LB_TRY(lb_store_read(r->store, blocks->first_byte[block], bytes, want, &got, err));
    if (got == want && lb_xxh3_64(bytes, got) == blocks->start_hash[block])
        return LB_OK;
    lb_fail(err, LB_STALE, LB_AT(blocks->first_byte[block]), "the bytes here are not those that were mapped");
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

/* How many elements an array has from row `row` on, by its head; UINT64_MAX: no array. */
static lb_status scan_left(lb_reader *r, uint64_t row, uint64_t *left, lb_error *err)
{
    uint8_t head[5];
    const uint8_t *p = head;
    lb_msgpack_token t;
    size_t got;

    *left = UINT64_MAX;
    if (!lb_str_is(r->known->locator, "array_object"))
        return LB_OK;
    LB_TRY(lb_store_read(r->store, 0, head, sizeof head, &got, err));
    const uint64_t passed = row + (r->header ? 1 : 0);
    if (!lb_msgpack_next(&p, head + got, &t) || t.kind != LB_MSGPACK_ARRAY || t.n < passed)
        return lb_fail(err, LB_STALE, LB_AT(0), "the bytes here are not those that were mapped");
    *left = t.n - passed;
    return LB_OK;
}

static lb_status scan_begin(lb_reader *r, uint64_t first, size_t chunk, mp_records *out, lb_error *err)
{
    const lb_blocks *b = &r->known->blocks;
    uint64_t block = b->first_byte == NULL ? UINT64_MAX : lb_blocks_find(b, first), left;
    bool array;

    if (block == UINT64_MAX && b->first_byte != NULL && b->count != 0)
        block = b->count - 1;
    if (block == UINT64_MAX) {
        mp_records_open(out, r->cx, r->store, 0, 0, UINT64_MAX, chunk);
        return mp_begin_rows(out, r, lb_str_is(r->known->locator, "array_object"), &array, NULL, err);
    }
    mp_records_open(out, r->cx, r->store, b->first_byte[block], b->first_row[block], UINT64_MAX, chunk);
    LB_TRY(scan_check_start(r, b, block, err));
    LB_TRY(scan_left(r, b->first_row[block], &left, err));
    out->left = left;
    return LB_OK;
}

lb_status mp_seek(lb_reader *r, uint64_t first, size_t chunk, mp_records *out, bool *there, lb_error *err)
{
    uint64_t passed = 0;

    *there = false;
    LB_TRY(scan_begin(r, first, chunk, out, err));
    const uint64_t between = first - out->row;
    LB_TRY(mp_records_pass(out, between, &passed, err));
    *there = passed == between;
    return LB_OK;
}

/* ---------------------------------------------------------------- building a batch */

static lb_where scan_where(const scan *s, const uint8_t *at)
{
    return (lb_where){ (int64_t)mp_records_offset(&s->records, at), (int64_t)s->records.row - 1, -1 };
}

static void scan_hint(const scan *s, lb_error *err)
{
    if (s->r->known->total_rows == LB_ROWS_UNKNOWN)
        lb_fail_hint(err, "types come from the first part of the file; --types proven reads all of it first");
}

/* A value that is not of its column's type. */
static lb_status scan_fail_value(scan *s, const uint8_t *at, lb_error *err)
{
    const struct ArrowSchema *field = s->schema.children[s->build.column];
    mp_cursor c = { at, s->records.window.data + s->records.stop };
    lb_status ignored = LB_OK;
    char shown[64];
    lb_buf words, value;

    lb_buf_init(&words, NULL);
    lb_buf_init(&value, NULL);
    if (mp_tagged(&c, &value, &ignored, NULL) && lb_type_words(field, false, &words, NULL) == LB_OK) {
        lb_copy_text(shown, sizeof shown, (const char *)value.data, LB_MIN(value.size, sizeof shown - 1));
        lb_fail(err, LB_CORRUPT, scan_where(s, at), "column '%s', of type %.*s: %s does not read so", field->name,
                (int)LB_MIN(words.size, 100), (const char *)words.data, shown);
    }
    lb_buf_free(&words);
    lb_buf_free(&value);
    lb_fail(err, LB_CORRUPT, scan_where(s, at), "column '%s': a value that is not of its type", field->name);
    scan_hint(s, err);
    return LB_CORRUPT;
}

static lb_status scan_failed(scan *s, lb_error *err)
{
    const uint8_t *start = s->records.window.data + s->records.start;
    char shown[64];

    if (s->build.append.status != LB_OK) {
        if (err != NULL && err->row < 0 && !lb_is_callers(s->build.append.status)) {
            err->row = (int64_t)s->records.row - 1;
            err->offset = (int64_t)mp_records_offset(&s->records, start);
        }
        return s->build.append.status;
    }
    if (s->build.unknown.at != NULL) {
        lb_copy_text(shown, sizeof shown, s->build.unknown.at, s->build.unknown.size);
        lb_fail(err, LB_CORRUPT, scan_where(s, start), "a key '%s' that the first part of the file does not have",
                shown);
        lb_fail_hint(err, "--types proven reads the whole file first");
        return LB_CORRUPT;
    }
    if (s->build.wrong_at == NULL)
        return lb_fail(err, LB_INTERNAL, scan_where(s, start), "a row ends before its end");
    if (s->build.wrong_at != start || s->value)
        return scan_fail_value(s, s->build.wrong_at, err);
    lb_fail(err, LB_CORRUPT, scan_where(s, start), "a row that is no map, where others are");
    scan_hint(s, err);
    return LB_CORRUPT;
}

/* Pass over to the next wanted row; *got false: the file ends before. */
static lb_status scan_reach(scan *s, bool *got, lb_error *err)
{
    uint64_t passed = 0;

    *got = true;
    if (s->rows == NULL)
        return LB_OK;
    const uint64_t between = *s->rows++ - s->records.row;
    if (between != 0)
        LB_TRY(mp_records_pass(&s->records, between, &passed, err));
    *got = passed == between;
    return LB_OK;
}

/* The next wanted row into the columns; *got false at the end of the file. Mostly it lies in the window as a whole, which building it
 * shows; else it is passed over first. */
static lb_status scan_row(scan *s, bool *got, lb_error *err)
{
    mp_cursor c;

    LB_TRY(scan_reach(s, got, err));
    if (!*got)
        return LB_OK;
    if (mp_records_look(&s->records, &c) && mp_build_try(&s->build, s->fields, s->value, &c)) {
        mp_records_took(&s->records, c.at);
        return LB_OK;
    }
    LB_TRY(mp_records_next(&s->records, got, err));
    if (!*got)
        return LB_OK;
    c = mp_records_cursor(&s->records);
    s->build.append.err = err;
    return mp_build_row(&s->build, s->fields, s->value, &c) ? LB_OK : scan_failed(s, err);
}

static lb_status scan_fill(scan *s, uint64_t *rows, lb_error *err)
{
    const uint64_t row = s->records.row, border = lb_blocks_border(&s->r->known->blocks, row);
    uint64_t want = LB_MIN(s->left, (uint64_t)s->batch_rows);

    if (s->rows == NULL)
        want = LB_MIN(want, border - row);
    lb_growing_expect(&s->build.append, s->columns, want);
    for (*rows = 0; *rows < want && s->build.append.bytes < s->batch_bytes; (*rows)++) {
        bool got;
        LB_TRY(scan_row(s, &got, err));
        if (!got) {
            s->at_end = true;
            break;
        }
    }
    s->left -= *rows;
    return LB_OK;
}

/* A file that was not read whole before ends in the middle of an object: rows before it have gone out by then. */
static lb_status scan_check_torn(scan *s, lb_error *err)
{
    const mp_records *r = &s->records;

    if (!r->torn || s->r->known->total_rows != LB_ROWS_UNKNOWN)
        return LB_OK;
    const lb_where where = { (int64_t)(r->at + r->start), (int64_t)r->row, -1 };
    return lb_fail(err, LB_CORRUPT, where, "the file ends inside this value");
}

/* A file that ends before the map says, or goes on behind it, is not the file that was mapped. */
static lb_status scan_check_end(scan *s, lb_error *err)
{
    const lb_entry *known = s->r->known;
    const mp_records *r = &s->records;
    bool torn;

    if (known->total_rows == LB_ROWS_UNKNOWN)
        return LB_OK;
    if (s->at_end && s->left != 0 && r->row < known->total_rows)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file ends after row %llu, where %llu rows were mapped",
                       (unsigned long long)r->row, (unsigned long long)known->total_rows);
    if (s->left != 0 || s->at_end || r->row != known->total_rows || r->after >= s->r->store->size)
        return LB_OK;
    torn = s->r->store->size == known->size_bytes; /* then what follows is what was said to be torn */
    return torn ? LB_OK
                : lb_fail(err, LB_STALE, LB_AT(r->after), "the file has more rows than the %llu that were mapped",
                          (unsigned long long)known->total_rows);
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
    if (status == LB_OK && rows != 0)
        status = lb_growing_finish(&s->build.append, s->columns, &s->schema, out, err);
    else if (status == LB_OK)
        status = scan_check_torn(s, err);
    if (status != LB_OK || rows == 0)
        lb_growing_reset(&s->build.append, s->columns);
    if (status != LB_OK)
        lb_fail_path(err, s->r->store->path);
    return status;
}

/* ---------------------------------------------------------------- opening */

static void scan_close(void *state)
{
    scan *s = state;

    mp_records_close(&s->records);
    lb_growing_reset(&s->build.append, s->columns);
    mp_build_free(&s->build);
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
    LB_TRY(lb_growing_make(&s->schema, &s->arena, &s->columns, err));
    return mp_build_make(&s->build, &s->schema, s->columns, &s->fields, err);
}

/* Rows of the range that lie before the end of the file. */
static uint64_t scan_count(const lb_range *range, uint64_t total)
{
    uint64_t n = range->count;

    if (total == LB_ROWS_UNKNOWN)
        return n;
    if (range->rows == NULL)
        return range->first >= total ? 0 : LB_MIN(n, total - range->first);
    while (n > 0 && range->rows[n - 1] >= total)
        n--;
    return n;
}

static lb_status scan_open(scan *s, const lb_range *range, lb_error *err)
{
    lb_reader *r = s->r;
    bool there;

    if (r->known == NULL || r->schema.release == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a scan needs an entry with a schema");
    s->batch_rows = range->batch_rows != 0 ? range->batch_rows : SCAN_BATCH_ROWS;
    s->batch_bytes = LB_MAX(LB_MIN(SCAN_BATCH_BYTES, r->cx->budget.limit / SCAN_BATCH_PART), 1);
    s->left = scan_count(range, r->known->total_rows);
    s->rows = range->rows;
    LB_TRY(scan_columns(s, range, err));
    if (s->left == 0)
        return LB_OK;
    LB_TRY(mp_seek(r, s->rows != NULL ? *s->rows : range->first, range->chunk, &s->records, &there, err));
    s->at_end = !there;
    return scan_check_end(s, err);
}

lb_status mp_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    scan *s = calloc(1, sizeof *s);
    lb_budget *budget = &r->cx->budget;

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    lb_arena_init(&s->arena, budget);
    s->build = (mp_build){ .arena = &s->arena,
                           .append = { .budget = budget },
                           .file = &r->schema,
                           .places = mp_reader_places(r),
                           .trusted = r->known != NULL && r->known->total_rows != LB_ROWS_UNKNOWN };
    lb_buf_init(&s->build.text, budget);
    lb_buf_init(&s->build.replaced, budget);
    lb_buf_init(&s->build.list, budget);
    lb_buf_init(&s->build.key, budget);
    lb_status status = scan_open(s, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}

/* ---------------------------------------------------------------- the objects' own bytes */

lb_status mp_extents(lb_reader *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found, lb_error *err)
{
    mp_records records = { .row = 0 };
    bool there = true;

    *found = 0;
    if (n == 0)
        return LB_OK;
    lb_status status = mp_seek(r, rows[0], 0, &records, &there, err);
    while (status == LB_OK && there && *found < n) {
        uint64_t passed;
        const uint64_t between = rows[*found] - records.row;
        status = mp_records_pass(&records, between, &passed, err);
        there = status == LB_OK && passed == between;
        if (there)
            status = mp_records_next(&records, &there, err);
        if (status != LB_OK || !there)
            break;
        const uint64_t stop = records.at + records.stop;
        out[(*found)++] = (lb_extent){ records.at + records.start, stop, stop };
    }
    mp_records_close(&records);
    return status;
}

static lb_status raw_copy(lb_reader *r, uint64_t from, uint64_t to, lb_write_fn write, void *user, lb_error *err)
{
    uint8_t bytes[65536];

    while (from < to) {
        const size_t want = (size_t)LB_MIN(to - from, (uint64_t)sizeof bytes);
        size_t got;
        LB_TRY(lb_check_cancel(r->cx, err));
        LB_TRY(lb_store_read(r->store, from, bytes, want, &got, err));
        if (got == 0)
            return lb_fail(err, LB_STALE, LB_AT(from), "the file became shorter while it was read");
        if (!write(user, bytes, got))
            return lb_fail(err, LB_CANCELLED, LB_NOWHERE, "writing was stopped");
        from += got;
    }
    return LB_OK;
}

lb_status mp_raw(lb_reader *r, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err)
{
    mp_records records = { .row = 0 };
    uint64_t from = 0, passed;
    bool there;

    lb_status status = mp_seek(r, first, 0, &records, &there, err);
    if (status == LB_OK && there) {
        from = records.at + records.place;
        status = mp_records_pass(&records, count, &passed, err);
    }
    const uint64_t to = records.after;
    mp_records_close(&records);
    return status != LB_OK || !there || to <= from ? status : raw_copy(r, from, to, write, user, err);
}
