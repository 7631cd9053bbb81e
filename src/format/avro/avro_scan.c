/* Rows of a file as Arrow batches: from the block that holds the first one, only the wanted columns. */
#include <stdlib.h>

#include "column/stream.h"
#include "format/avro/avro.h"

#define SCAN_BATCH_ROWS LB_RUN_ROWS
#define SCAN_BATCH_BYTES ((uint64_t)32 << 20)

/* A batch may have this part of the memory limit, where that is less: several streams are open at a time. */
#define SCAN_BATCH_PART 8

typedef struct scan {
    lb_reader *r;
    const lb_blocks *blocks;
    struct ArrowSchema schema;
    lb_arena arena;
    uint64_t *columns;
    lb_growing *rows_built;
    lb_append append;
    avro_program put, pass;
    uint64_t left;        /* rows still wanted */
    uint64_t row;         /* the next one, unless `rows` */
    const uint64_t *rows; /* the next of them; NULL: all from `row` on */
    size_t batch_rows;
    uint64_t batch_bytes; /* a batch ends behind the row that reaches them */

    avro_block block;
    uint64_t index; /* of the block that is read; UINT64_MAX: none */
    uint64_t at;    /* row at which the decoder stands */
    avro_decoder decoder;
} scan;

/* ---------------------------------------------------------------- blocks */

static lb_status scan_fail(scan *s, lb_error *err)
{
    const avro_decoder *d = &s->decoder;
    const char *column = "";
    lb_where where = { (int64_t)s->block.first_byte, (int64_t)s->at, -1 };

    if (s->append.status != LB_OK) {
        if (err != NULL && err->row < 0 && !lb_is_callers(s->append.status))
            err->row = where.row;
        return s->append.status;
    }
    if (d->who != NULL && (int64_t)d->who->column < s->r->schema.n_children)
        column = s->r->schema.children[d->who->column]->name;
    if (column[0] != '\0')
        return lb_fail(err, LB_CORRUPT, where, "column '%s': %s", column, d->why);
    return lb_fail(err, LB_CORRUPT, where, "%s", d->why);
}

/* A block has no bytes behind its last row. */
static lb_status scan_check_end(scan *s, lb_error *err)
{
    const uint64_t end = s->blocks->first_row[s->index] + s->blocks->row_count[s->index];

    if (s->at != end || s->decoder.at == s->decoder.end)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_AT(s->block.first_byte), "%zu bytes follow the last row of a block",
                   (size_t)(s->decoder.end - s->decoder.at));
}

static lb_status scan_load(scan *s, uint64_t row, lb_error *err)
{
    const uint64_t index = lb_blocks_find(s->blocks, row);

    if (index == s->index && index != UINT64_MAX && s->at <= row)
        return LB_OK;
    if (index == UINT64_MAX)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "row %llu lies in no block", (unsigned long long)row);
    s->index = UINT64_MAX;
    LB_TRY(lb_check_cancel(s->r->cx, err));
    LB_TRY(avro_block_read(&s->block, s->r->store, &s->r->header, s->blocks, index, err));
    s->index = index;
    s->at = s->blocks->first_row[index];
    s->decoder.at = s->block.data;
    s->decoder.end = s->block.data + s->block.size;
    return LB_OK;
}

/* Pass the rows of the block before `row`. */
static lb_status scan_pass(scan *s, uint64_t row, lb_error *err)
{
    const avro_type *t = s->r->rows;
    uint64_t bytes;

    if (t->least == t->most) {
        if (!__builtin_mul_overflow(row - s->at, t->least, &bytes) &&
            bytes <= (uint64_t)(s->decoder.end - s->decoder.at)) {
            s->decoder.at += bytes;
            s->at = row;
            return LB_OK;
        }
    }
    for (; s->at < row; s->at++) {
        s->decoder.empty = 0;
        if (!avro_decode_row(&s->decoder, &s->pass))
            return scan_fail(s, err);
    }
    return LB_OK;
}

static lb_status scan_row(scan *s, uint64_t row, lb_error *err)
{
    if (s->index == UINT64_MAX || row != s->at || s->at == s->blocks->first_row[s->index] + s->block.count) {
        LB_TRY(scan_load(s, row, err));
        LB_TRY(scan_pass(s, row, err));
    }
    s->decoder.empty = 0;
    if (!avro_decode_row(&s->decoder, &s->put))
        return scan_fail(s, err);
    s->rows_built->length++;
    s->at++;
    return scan_check_end(s, err);
}

/* ---------------------------------------------------------------- batches */

static uint64_t scan_want(const scan *s)
{
    const uint64_t want = LB_MIN(s->left, (uint64_t)s->batch_rows);

    return s->rows != NULL ? want : LB_MIN(want, lb_blocks_border(s->blocks, s->row) - s->row);
}

static lb_status scan_fill(scan *s, lb_error *err)
{
    const uint64_t want = scan_want(s);
    uint64_t n = want;

    s->append.err = err;
    lb_growing_expect(&s->append, s->rows_built, want);
    if (s->schema.n_children == 0) /* numbers of rows stand in the heads */
        s->rows_built->length = (int64_t)want;
    else
        for (n = 0; n < want && s->append.bytes < s->batch_bytes; n++)
            LB_TRY(scan_row(s, s->rows != NULL ? s->rows[n] : s->row + n, err));
    s->left -= n;
    s->row += n;
    if (s->rows != NULL)
        s->rows += n;
    return LB_OK;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;

    out->release = NULL;
    if (s->left == 0)
        return LB_OK;
    LB_TRY(lb_check_cancel(s->r->cx, err));
    lb_status status = scan_fill(s, err);
    if (status == LB_OK)
        status = lb_growing_finish(&s->append, s->rows_built, &s->schema, out, err);
    else
        lb_growing_reset(&s->append, s->rows_built);
    if (status != LB_OK)
        lb_fail_path(err, s->r->store->path);
    return status;
}

/* ---------------------------------------------------------------- opening */

static void scan_close(void *state)
{
    scan *s = state;

    lb_growing_reset(&s->append, s->rows_built);
    avro_block_free(&s->block);
    lb_arena_free(&s->arena);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    free(s);
}

static lb_status scan_columns(scan *s, const lb_range *range, lb_error *err)
{
    const struct ArrowSchema *file = &s->r->schema;

    s->columns = lb_arena_alloc(&s->arena, range->n_columns, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)range->n_columns, err));
    for (size_t i = 0; i < range->n_columns; i++) {
        struct ArrowSchema *field = s->schema.children[i];
        s->columns[i] = range->columns[i].column;
        if (s->columns[i] >= (uint64_t)file->n_children)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "the file has %lld columns, not a column %llu",
                           (long long)file->n_children, (unsigned long long)s->columns[i]);
        field->release(field);
        LB_TRY(lb_schema_copy(file->children[s->columns[i]], field, err));
    }
    LB_TRY(lb_growing_make(&s->schema, &s->arena, &s->rows_built, err));
    LB_TRY(avro_program_make(s->r->rows, s->columns, range->n_columns, s->rows_built, &s->arena, &s->put, err));
    return avro_program_make(s->r->rows, NULL, 0, NULL, &s->arena, &s->pass, err);
}

/* Rows of the range that lie before the end of the file. */
static uint64_t scan_count(const lb_blocks *b, const lb_range *range)
{
    const uint64_t total = b->count == 0 ? 0 : b->first_row[b->count - 1] + b->row_count[b->count - 1];
    uint64_t n = range->count;

    if (range->rows == NULL)
        return range->first >= total ? 0 : LB_MIN(n, total - range->first);
    while (n > 0 && range->rows[n - 1] >= total)
        n--;
    return n;
}

static lb_status scan_open(scan *s, const lb_range *range, lb_error *err)
{
    if (s->blocks->count != 0 && s->blocks->first_byte == NULL)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the map does not say where the blocks are");
    s->left = scan_count(s->blocks, range);
    s->row = range->first;
    s->rows = range->rows;
    s->index = UINT64_MAX;
    s->batch_rows = range->batch_rows != 0 ? range->batch_rows : SCAN_BATCH_ROWS;
    s->batch_bytes = LB_MAX(LB_MIN(SCAN_BATCH_BYTES, s->r->cx->budget.limit / SCAN_BATCH_PART), 1);
    return scan_columns(s, range, err);
}

lb_status avro_scan_blocks(lb_reader *r, const lb_blocks *blocks, const lb_range *range, struct ArrowArrayStream *out,
                           lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    s->blocks = blocks;
    s->append.budget = &r->cx->budget;
    s->decoder.append = &s->append;
    lb_arena_init(&s->arena, &r->cx->budget);
    avro_block_init(&s->block, &r->cx->budget);
    lb_status status = scan_open(s, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}

lb_status avro_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    if (r->known == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a scan needs an entry");
    return avro_scan_blocks(r, &r->known->blocks, range, out, err);
}
