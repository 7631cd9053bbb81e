/* Rows of a file as Arrow batches: from the nearest block, only the wanted columns. */
#include <stdlib.h>

#include "base/hash.h"
#include "column/stream.h"
#include "format/delimited/delimited.h"

#define SCAN_BATCH_ROWS LB_RUN_ROWS
#define SCAN_BATCH_BYTES ((uint64_t)32 << 20)

/* A batch may have this part of the memory limit, where that is less: several streams are open at a time. */
#define SCAN_BATCH_PART 8

/* One column of the batch being built. */
typedef struct scan_column {
    uint64_t field; /* place in the record */
    delim_target target;
    struct ArrowBitmap validity, bits;
    struct ArrowBuffer offsets, data;
    int64_t nulls;
} scan_column;

typedef struct scan {
    lb_reader *r;
    delim_records records;
    lb_buf scratch;
    struct ArrowSchema schema;
    size_t n_columns;
    scan_column *columns;
    uint64_t left;        /* rows still wanted */
    const uint64_t *rows; /* the next of them; NULL: all from here on */
    size_t batch_rows;
    uint64_t batch_bytes; /* a batch ends behind the row that reaches them */
    uint64_t row_bits;    /* of a row of the wanted columns, their text not counted */
    uint64_t bytes;       /* of text in the batch */
    uint64_t taken;       /* bytes of the batch that the budget counts */
    bool at_end;
} scan;

/* ---------------------------------------------------------------- finding the place */

static lb_status scan_check_start(lb_reader *r, const lb_blocks *blocks, uint64_t block, lb_error *err)
{
    uint8_t bytes[DELIM_START_BYTES];
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

lb_status delim_seek(lb_reader *r, uint64_t first, size_t chunk, delim_records *out, bool *there, lb_error *err)
{
    const lb_entry *known = r->known;
    uint64_t block = scan_block(known, first), offset = known->dialect.data_start, row = 0, line = 1, passed = 0;

    if (block != UINT64_MAX) {
        offset = known->blocks.first_byte[block];
        row = known->blocks.first_row[block];
        line = known->blocks.first_line != NULL ? known->blocks.first_line[block] : 1;
        LB_TRY(scan_check_start(r, &known->blocks, block, err));
    }
    lb_status status = delim_records_open(out, r->cx, r->store, &r->dialect, offset, row, line, chunk, err);
    if (status == LB_OK)
        status = delim_records_skip(out, first - row, &passed, err);
    *there = passed == first - row;
    return status;
}

/* ---------------------------------------------------------------- building a batch */

static lb_status scan_arrow(int code, lb_error *err)
{
    return code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, NULL);
}

static void scan_begin_column(scan_column *c)
{
    ArrowBitmapInit(&c->validity);
    ArrowBitmapInit(&c->bits);
    ArrowBufferInit(&c->offsets);
    ArrowBufferInit(&c->data);
    c->nulls = 0;
}

static void scan_drop_column(scan_column *c)
{
    ArrowBitmapReset(&c->validity);
    ArrowBitmapReset(&c->bits);
    ArrowBufferReset(&c->offsets);
    ArrowBufferReset(&c->data);
}

static int scan_reserve_column(scan_column *c, size_t rows)
{
    int code = ArrowBitmapReserve(&c->validity, (int64_t)rows);

    if (code == NANOARROW_OK && c->target.storage == DELIM_BOOL)
        code = ArrowBitmapReserve(&c->bits, (int64_t)rows);
    else if (code == NANOARROW_OK && c->target.storage == DELIM_TEXT)
        code = ArrowBufferReserve(&c->offsets, (int64_t)(rows + 1) * 4);
    else if (code == NANOARROW_OK)
        code = ArrowBufferReserve(&c->data, (int64_t)rows * c->target.bytes);
    if (code == NANOARROW_OK && c->target.storage == DELIM_TEXT)
        ArrowBufferAppendUnsafe(&c->offsets, &(int32_t){ 0 }, 4);
    return code;
}

static lb_status scan_take(scan *s, uint64_t bytes, lb_error *err)
{
    if (!lb_budget_take(&s->r->cx->budget, bytes))
        return lb_fail(err, LB_BUDGET, delim_records_where(&s->records), "a batch of rows passes the memory limit");
    s->taken += bytes;
    return LB_OK;
}

/* Bits that a row of the column takes, its text not counted. */
static uint64_t scan_row_bits(const delim_target *t)
{
    if (t->storage == DELIM_TEXT)
        return 1 + 32;
    return t->storage == DELIM_BOOL ? 1 + 1 : 1 + 8 * (uint64_t)t->bytes;
}

/* Bytes that `rows` rows take, their text not counted; more than a batch may have where it cannot be said. */
static uint64_t scan_fixed_bytes(const scan *s, uint64_t rows)
{
    uint64_t bits;

    return __builtin_mul_overflow(rows, s->row_bits, &bits) ? UINT64_MAX / 8 : bits / 8;
}

static lb_status scan_reserve(scan *s, size_t rows, lb_error *err)
{
    LB_TRY(scan_take(s, scan_fixed_bytes(s, rows), err));
    for (size_t i = 0; i < s->n_columns; i++)
        LB_TRY(scan_arrow(scan_reserve_column(&s->columns[i], rows), err));
    return LB_OK;
}

/* The bytes of a value as they stand in the column's buffer. */
static void scan_store(scan_column *c, const delim_scalar *v)
{
    float single = (float)v->f;

    switch (c->target.storage) {
    case DELIM_BOOL:
        ArrowBitmapAppendUnsafe(&c->bits, (uint8_t)v->i, 1);
        break;
    case DELIM_UNSIGNED:
        ArrowBufferAppendUnsafe(&c->data, &v->u, c->target.bytes);
        break;
    case DELIM_DOUBLE:
        if (c->target.bytes == 4)
            ArrowBufferAppendUnsafe(&c->data, &single, 4);
        else
            ArrowBufferAppendUnsafe(&c->data, &v->f, 8);
        break;
    case DELIM_DECIMAL:
        ArrowBufferAppendUnsafe(&c->data, v->d.w, c->target.bytes);
        break;
    case DELIM_SIGNED:
    case DELIM_INSTANT:
    case DELIM_DAYS:
        ArrowBufferAppendUnsafe(&c->data, &v->i, c->target.bytes);
        break;
    case DELIM_TEXT: {
        int32_t end = (int32_t)c->data.size_bytes;
        ArrowBufferAppendUnsafe(&c->offsets, &end, 4);
        break;
    }
    case DELIM_NOTHING:
        break;
    }
}

static lb_status scan_fail_value(scan *s, size_t column, const delim_value *v, lb_error *err)
{
    lb_buf words;

    lb_buf_init(&words, NULL);
    if (lb_type_words(s->schema.children[column], false, &words, NULL) == LB_OK)
        lb_fail(err, LB_CORRUPT, delim_records_where(&s->records), "column '%s': \"%.*s\" does not read as %.*s",
                s->schema.children[column]->name, (int)LB_MIN(v->text.size, 60), v->text.at, (int)words.size,
                (const char *)words.data);
    lb_buf_free(&words);
    if (s->r->known->total_rows == LB_ROWS_UNKNOWN)
        lb_fail_hint(err, "types come from the first part of the file; --types proven reads all of it first");
    return LB_CORRUPT;
}

static lb_status scan_append_text(scan *s, scan_column *c, lb_str text, lb_error *err)
{
    if (text.size > (size_t)INT32_MAX - (size_t)c->data.size_bytes)
        return lb_fail(err, LB_UNSUPPORTED, delim_records_where(&s->records),
                       "a value of %zu bytes is longer than a column of text holds", text.size);
    int64_t size = (int64_t)text.size, cap = c->data.capacity_bytes;
    if (size > cap - c->data.size_bytes) {
        int64_t grown = LB_MAX(2 * cap, c->data.size_bytes + size);
        LB_TRY(scan_take(s, (uint64_t)(grown - cap), err));
        LB_TRY(scan_arrow(ArrowBufferReserve(&c->data, grown - c->data.size_bytes), err));
    }
    if (size != 0)
        ArrowBufferAppendUnsafe(&c->data, text.at, size);
    s->bytes += text.size;
    return LB_OK;
}

static lb_status scan_append(scan *s, size_t column, const delim_value *v, lb_error *err)
{
    scan_column *c = &s->columns[column];
    delim_scalar scalar = { 0 };
    bool null = delim_nulls(&c->target, v);

    if (c->target.storage == DELIM_NOTHING && !null)
        return scan_fail_value(s, column, v, err);
    if (!null && c->target.storage == DELIM_TEXT)
        LB_TRY(scan_append_text(s, c, v->text, err));
    else if (!null && !delim_parse(&c->target, delim_trim(v->text, v->quoted), &scalar))
        return scan_fail_value(s, column, v, err);
    c->nulls += null;
    ArrowBitmapAppendUnsafe(&c->validity, !null, 1);
    scan_store(c, &scalar);
    return LB_OK;
}

/* Records behind a sample were not looked at by the survey. */
static lb_status scan_check_width(scan *s, lb_error *err)
{
    lb_reader *r = s->r;
    size_t n = s->records.scan.n_fields, width = (size_t)r->schema.n_children;

    if (n == width || (n < width && r->dialect.ragged_null))
        return LB_OK;
    if (!r->dialect.ragged_null)
        return delim_fail_ragged(r, &s->records, width, err);
    lb_fail(err, LB_CORRUPT, delim_records_where(&s->records),
            "a record of %zu fields where the first part of the file has %zu", n, width);
    lb_fail_hint(err, "--types proven reads the whole file first");
    return LB_CORRUPT;
}

static lb_status scan_record(scan *s, lb_error *err)
{
    const delim_scanner *scanner = &s->records.scan;
    const lb_reader *r = s->r;

    if (r->known->total_rows == LB_ROWS_UNKNOWN)
        LB_TRY(scan_check_width(s, err));
    for (size_t i = 0; i < s->n_columns; i++) {
        delim_value v = { .null = true };
        if (s->columns[i].field < scanner->n_fields)
            LB_TRY(delim_read_value(&r->dialect, &r->values, &scanner->fields[s->columns[i].field], SIZE_MAX,
                                    &s->scratch, &v, err));
        LB_TRY(scan_append(s, i, &v, err));
    }
    return LB_OK;
}

static int scan_finish_column(scan_column *c, struct ArrowArray *child, int64_t rows)
{
    int code = NANOARROW_OK;

    child->length = rows;
    child->null_count = c->nulls;
    if (c->target.storage == DELIM_NOTHING)
        return code;
    if (c->nulls != 0)
        ArrowArraySetValidityBitmap(child, &c->validity);
    if (c->target.storage == DELIM_BOOL)
        code = ArrowArraySetBuffer(child, 1, &c->bits.buffer);
    else if (c->target.storage == DELIM_TEXT)
        code = ArrowArraySetBuffer(child, 1, &c->offsets);
    if (code == NANOARROW_OK && c->target.storage != DELIM_BOOL)
        code = ArrowArraySetBuffer(child, c->target.storage == DELIM_TEXT ? 2 : 1, &c->data);
    return code;
}

static lb_status scan_finish(scan *s, int64_t rows, struct ArrowArray *out, lb_error *err)
{
    int code = ArrowArrayInitFromSchema(out, &s->schema, NULL);

    for (size_t i = 0; code == NANOARROW_OK && i < s->n_columns; i++)
        code = scan_finish_column(&s->columns[i], out->children[i], rows);
    if (code == NANOARROW_OK) {
        out->length = rows;
        out->null_count = 0;
        code = ArrowArrayFinishBuilding(out, NANOARROW_VALIDATION_LEVEL_MINIMAL, NULL);
    }
    if (code != NANOARROW_OK && out->release != NULL)
        out->release(out);
    return scan_arrow(code, err);
}

/* The next wanted record; *got false at the end of the text. */
static lb_status scan_record_next(scan *s, bool *got, lb_error *err)
{
    uint64_t passed;

    if (s->rows != NULL) {
        uint64_t between = *s->rows++ - s->records.row;
        if (between != 0)
            LB_TRY(delim_records_skip(&s->records, between, &passed, err));
        *got = between == 0 || passed == between;
        if (!*got)
            return LB_OK;
    }
    return delim_records_next(&s->records, got, err);
}

static lb_status scan_fill(scan *s, uint64_t *rows, lb_error *err)
{
    uint64_t row = s->records.row, border = lb_blocks_border(&s->r->known->blocks, row);
    size_t want = (size_t)LB_MIN(s->left, (uint64_t)s->batch_rows);

    if (s->rows == NULL)
        want = (size_t)LB_MIN((uint64_t)want, border - row);
    LB_TRY(scan_reserve(s, want, err));
    s->bytes = 0;
    for (*rows = 0; *rows < want && s->bytes + scan_fixed_bytes(s, *rows) < s->batch_bytes; (*rows)++) {
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
    LB_TRY(delim_records_next(&s->records, &more, err));
    if (!more)
        return LB_OK;
    lb_fail(err, LB_STALE, delim_records_where(&s->records), "the file has more rows than the %llu that were mapped",
            (unsigned long long)known->total_rows);
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;
    uint64_t rows = 0;

    out->release = NULL;
    if (s->left == 0 || s->at_end)
        return LB_OK;
    for (size_t i = 0; i < s->n_columns; i++)
        scan_begin_column(&s->columns[i]);
    lb_status status = scan_fill(s, &rows, err);
    if (status == LB_OK)
        status = scan_check_end(s, err);
    if (status == LB_OK)
        status = scan_check_more(s, err);
    if (status == LB_OK && rows != 0)
        status = scan_finish(s, (int64_t)rows, out, err);
    for (size_t i = 0; i < s->n_columns; i++)
        scan_drop_column(&s->columns[i]);
    lb_budget_give(&s->r->cx->budget, s->taken);
    s->taken = 0;
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
    delim_records_close(&s->records);
    lb_buf_free(&s->scratch);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    free(s->columns);
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
        s->columns[i].field = w->column;
        LB_TRY(delim_target_of(s->schema.children[i], &s->columns[i].target, err));
        s->row_bits += scan_row_bits(&s->columns[i].target);
    }
    return LB_OK;
}

/* Rows of a batch: as many as its bytes allow before there is any text, and one at least. */
static void scan_settle_batch(scan *s, size_t most)
{
    s->batch_bytes = LB_MIN(SCAN_BATCH_BYTES, s->r->cx->budget.limit / SCAN_BATCH_PART);
    s->batch_bytes = LB_MAX(s->batch_bytes, 1);
    s->batch_rows = most != 0 ? most : SCAN_BATCH_ROWS;
    if (s->row_bits != 0)
        s->batch_rows = (size_t)LB_MIN((uint64_t)s->batch_rows, LB_MAX(s->batch_bytes * 8 / s->row_bits, 1));
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

    lb_buf_init(&s->scratch, &r->cx->budget);
    s->n_columns = range->n_columns;
    s->left = range->count;
    s->columns = calloc(range->n_columns + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_fail_nomem(err);
    if (r->known == NULL || r->schema.release == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a scan needs an entry with a schema");
    LB_TRY(scan_columns(s, range, err));
    scan_settle_batch(s, range->batch_rows);
    if (r->known->total_rows != LB_ROWS_UNKNOWN)
        s->left = scan_count(range, r->known->total_rows);
    if (s->left == 0)
        return LB_OK;
    s->rows = range->rows;
    uint64_t first = s->rows != NULL ? *s->rows : range->first;
    LB_TRY(delim_seek(r, first, scan_chunk(s, range, first), &s->records, &there, err));
    s->at_end = !there;
    return scan_check_end(s, err);
}

lb_status delim_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    lb_status status = scan_open(s, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}

/* ---------------------------------------------------------------- the records' own bytes */

static lb_status raw_copy(lb_reader *r, uint64_t from, uint64_t to, lb_write_fn write, void *user, lb_error *err)
{
    uint8_t bytes[65536];

    while (from < to) {
        size_t want = (size_t)LB_MIN(to - from, (uint64_t)sizeof bytes), got;
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

/* Bytes from the beginning of row `first` to the end of the last wanted row. */
static lb_status raw_range(delim_records *records, uint64_t count, uint64_t *from, uint64_t *to, lb_error *err)
{
    uint64_t passed;
    bool got;

    *from = *to = 0;
    LB_TRY(delim_records_next(records, &got, err));
    if (!got)
        return LB_OK;
    *from = lb_text_offset(&records->text, delim_records_position(records));
    *to = lb_text_offset(&records->text, records->text.at + records->scan.after);
    if (count < 2)
        return LB_OK;
    LB_TRY(delim_records_skip(records, count - 2, &passed, err));
    LB_TRY(delim_records_next(records, &got, err));
    *to = lb_text_offset(&records->text, records->text.at + records->scan.after);
    return LB_OK;
}

lb_status delim_raw(lb_reader *r, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err)
{
    delim_records records = { 0 };
    uint64_t from, to;
    bool there;

    if (r->known->total_rows != LB_ROWS_UNKNOWN)
        count = first >= r->known->total_rows ? 0 : LB_MIN(count, r->known->total_rows - first);
    if (count == 0)
        return LB_OK;
    lb_status status = delim_seek(r, first, 0, &records, &there, err);
    if (status == LB_OK && there) {
        status = raw_range(&records, count, &from, &to, err);
        if (status == LB_OK)
            status = raw_copy(r, from, to, write, user, err);
    }
    delim_records_close(&records);
    return status;
}
