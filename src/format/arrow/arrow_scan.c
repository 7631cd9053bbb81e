/* Rows as batches: a range, or scattered ones. A batch of rows never crosses a record batch. */
#include <stdlib.h>

#include "column/stream.h"
#include "format/arrow/arrow.h"

#define SCAN_BATCH_ROWS ((uint64_t)65536)
#define SCAN_BATCH_BYTES ((uint64_t)4 << 20)

/* Rows between two wanted ones are read with them where they take no more than this. */
#define SCAN_GAP_BYTES 2048

typedef struct scan {
    lb_reader *r;
    const lb_blocks *blocks;
    lb_arrow_pull pull;
    struct ArrowSchema schema;
    const lb_arrow_node **columns;
    size_t n_columns;
    const uint64_t *rows; /* to take; NULL: [at, end) of the file */
    uint64_t at, end;     /* rows of the file, or places in `rows` */
    uint64_t batch_rows;  /* at most; 0: as is fit */
    uint64_t block;       /* the open one; UINT64_MAX: none */
    uint64_t width;       /* about the bytes that a row of it takes */
} scan;

/* ---------------------------------------------------------------- blocks */

static lb_status scan_open_block(scan *s, uint64_t block, lb_error *err)
{
    const lb_blocks *b = s->blocks;
    const lb_arrow_batch *batch = &s->pull.batch;

    if (block == s->block)
        return LB_OK;
    s->block = UINT64_MAX;
    if (b->first_byte == NULL || b->compressed_size[block] > b->total_byte_size[block])
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the map does not say where the record batches are");
    const lb_arrow_place place = { b->first_byte[block], b->total_byte_size[block] - b->compressed_size[block],
                                   b->compressed_size[block] };
    LB_TRY(lb_arrow_pull_open(&s->pull, &place, LB_IPC_RECORD_BATCH, &s->r->schema.counts,
                              b->start_hash == NULL ? NULL : &b->start_hash[block], err));
    if (batch->rows != b->row_count[block])
        return lb_fail(err, LB_STALE, LB_AT(place.offset), "the record batch has %llu rows, not %llu",
                       (unsigned long long)batch->rows, (unsigned long long)b->row_count[block]);
    s->width = batch->message.place.body / LB_MAX(batch->rows, 1) + 1;
    s->block = block;
    return LB_OK;
}

/* Open the block of a row of the file; *first: the row in it. */
static lb_status scan_go_to(scan *s, uint64_t row, uint64_t *first, lb_error *err)
{
    uint64_t block = lb_blocks_find(s->blocks, row);

    if (block == UINT64_MAX)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "row %llu lies in no record batch", (unsigned long long)row);
    *first = row - s->blocks->first_row[block];
    return scan_open_block(s, block, err);
}

/* ---------------------------------------------------------------- batches */

static lb_status scan_rows(scan *s, uint64_t first, uint64_t count, struct ArrowArray *out, lb_error *err)
{
    lb_status status = lb_arrow_array_new((int64_t)count, 1, (int64_t)s->n_columns, out, err);
    __typeof__(lb_arrow_column_read) *read = s->r->file != NULL ? lb_arrow_column_lend : lb_arrow_column_read;

    for (size_t i = 0; status == LB_OK && i < s->n_columns; i++)
        status = read(&s->pull, s->columns[i], (int64_t)first, (int64_t)count, out->children[i], err);
    if (status != LB_OK)
        lb_arrow_array_drop(out);
    return status;
}

/* So many rows that a batch is of a fit size; but for the last they begin and end at whole bytes of bitmaps. */
static uint64_t scan_fit(const scan *s)
{
    uint64_t most = s->batch_rows == 0 ? SCAN_BATCH_ROWS : s->batch_rows;
    uint64_t rows = LB_MAX(LB_MIN(most, SCAN_BATCH_BYTES / s->width), 1);

    return rows > 8 ? rows & ~(uint64_t)7 : rows;
}

static lb_status scan_range(scan *s, uint64_t *done, struct ArrowArray *out, lb_error *err)
{
    uint64_t first;

    LB_TRY(scan_go_to(s, s->at, &first, err));
    uint64_t left = LB_MIN(s->pull.batch.rows - first, s->end - s->at);
    *done = LB_MIN(left, scan_fit(s));
    LB_TRY(lb_arrow_pull_ahead(&s->pull, s->columns, s->n_columns, *done == s->pull.batch.rows, err));
    return scan_rows(s, first, *done, out, err);
}

/* ---------------------------------------------------------------- scattered rows */

/* Rows of the open block, read as runs. */
typedef struct scan_runs {
    size_t n;
    struct ArrowArray *arrays;
    const struct ArrowArray **chunks;
    lb_pick *picks;
} scan_runs;

static void runs_free(scan_runs *u)
{
    for (size_t i = 0; i < u->n; i++)
        lb_arrow_array_drop(&u->arrays[i]);
    free(u->arrays);
    free(u->chunks);
    free(u->picks);
}

/* Read the rows at places [at, at + count), all of the open block, and note where each is. */
static lb_status runs_read(scan *s, uint64_t block_first, uint64_t count, scan_runs *u, lb_error *err)
{
    const uint64_t *rows = s->rows + s->at, gap = SCAN_GAP_BYTES / s->width;

    u->arrays = calloc((size_t)count + 1, sizeof *u->arrays);
    u->chunks = calloc((size_t)count + 1, sizeof *u->chunks);
    u->picks = calloc((size_t)count + 1, sizeof *u->picks);
    if (u->arrays == NULL || u->chunks == NULL || u->picks == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0, stop; i < count; i = stop) {
        for (stop = i + 1; stop < count && rows[stop] - rows[stop - 1] <= gap + 1;)
            stop++;
        for (uint64_t k = i; k < stop; k++)
            u->picks[k] = (lb_pick){ (uint32_t)u->n, (uint32_t)(rows[k] - rows[i]) };
        LB_TRY(scan_rows(s, rows[i] - block_first, rows[stop - 1] - rows[i] + 1, &u->arrays[u->n], err));
        u->n++;
    }
    return LB_OK;
}

static lb_status runs_gather(const scan *s, scan_runs *u, uint64_t count, struct ArrowArray *out, lb_error *err)
{
    lb_status status = lb_arrow_array_new((int64_t)count, 1, (int64_t)s->n_columns, out, err);

    for (size_t i = 0; status == LB_OK && i < s->n_columns; i++) {
        for (size_t k = 0; k < u->n; k++)
            u->chunks[k] = u->arrays[k].children[i];
        status = lb_array_gather(s->columns[i]->plain, u->chunks, u->n, u->picks, (size_t)count, out->children[i], err);
    }
    if (status != LB_OK)
        lb_arrow_array_drop(out);
    return status;
}

static lb_status scan_take_some(scan *s, uint64_t block_first, uint64_t count, struct ArrowArray *out, lb_error *err)
{
    scan_runs u = { .n = 0 };

    lb_status status = runs_read(s, block_first, count, &u, err);
    if (status == LB_OK && u.n == 1 && (uint64_t)u.arrays[0].length == count)
        ArrowArrayMove(&u.arrays[0], out);
    else if (status == LB_OK)
        status = runs_gather(s, &u, count, out, err);
    runs_free(&u);
    return status;
}

static lb_status scan_take(scan *s, uint64_t *done, struct ArrowArray *out, lb_error *err)
{
    uint64_t first, count = 0;

    LB_TRY(scan_go_to(s, s->rows[s->at], &first, err));
    uint64_t block_first = s->rows[s->at] - first, block_end = block_first + s->pull.batch.rows;
    uint64_t most = LB_MIN(scan_fit(s), s->end - s->at);
    while (count < most && s->rows[s->at + count] < block_end)
        count++;
    *done = count;
    LB_TRY(lb_arrow_pull_ahead(&s->pull, s->columns, s->n_columns, count == s->pull.batch.rows, err));
    return scan_take_some(s, block_first, count, out, err);
}

/* ---------------------------------------------------------------- the stream */

/* Fewer rows, where so many gave too large an array. */
static lb_status scan_less(scan *s, uint64_t *done, struct ArrowArray *out, lb_error *err)
{
    uint64_t first;

    *done /= 2;
    LB_TRY(scan_go_to(s, s->rows == NULL ? s->at : s->rows[s->at], &first, err));
    if (s->rows == NULL)
        return scan_rows(s, first, *done, out, err);
    return scan_take_some(s, s->rows[s->at] - first, *done, out, err);
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;
    uint64_t done = 0;
    lb_error why = LB_ERROR_INIT;

    out->release = NULL;
    if (s->at >= s->end)
        return LB_OK;
    LB_TRY(lb_check_cancel(s->r->cx, err));
    s->pull.too_long = false;
    lb_status status = s->rows == NULL ? scan_range(s, &done, out, &why) : scan_take(s, &done, out, &why);
    while (status != LB_OK && s->pull.too_long && done > 1) {
        lb_arrow_work_give(&s->pull.made);
        lb_error_clear(&why);
        s->pull.too_long = false;
        status = scan_less(s, &done, out, &why);
    }
    lb_arrow_work_give(&s->pull.made);
    if (status != LB_OK && err != NULL && err->code == LB_OK)
        *err = why;
    s->at += done;
    return status;
}

static void scan_close(void *state)
{
    scan *s = state;

    lb_arrow_pull_free(&s->pull);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    free(s->columns);
    free(s);
}

static lb_status scan_columns(scan *s, const lb_range *range, lb_error *err)
{
    const lb_arrow_schema *all = &s->r->schema;

    s->n_columns = range->n_columns;
    s->columns = calloc(range->n_columns + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_fail_nomem(err);
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)range->n_columns, err));
    for (size_t i = 0; i < range->n_columns; i++) {
        uint64_t column = range->columns[i].column;
        if (column >= all->n_columns)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "the file has %u columns, not column %llu", all->n_columns,
                           (unsigned long long)column);
        s->columns[i] = &all->columns[column];
        struct ArrowSchema *field = s->schema.children[i];
        if (field->release != NULL)
            field->release(field);
        LB_TRY(lb_schema_copy(all->plain.children[column], field, err));
    }
    return LB_OK;
}

static void scan_bounds(scan *s, const lb_range *range)
{
    const lb_blocks *b = s->blocks;
    uint64_t rows = b->count == 0 ? 0 : b->first_row[b->count - 1] + b->row_count[b->count - 1];

    s->rows = range->rows;
    s->batch_rows = range->batch_rows;
    s->block = UINT64_MAX;
    s->width = 1;
    if (range->rows == NULL) {
        s->at = LB_MIN(range->first, rows);
        s->end = s->at + LB_MIN(range->count, rows - s->at);
        return;
    }
    s->end = range->count;
    while (s->end > 0 && range->rows[s->end - 1] >= rows)
        s->end--;
}

lb_status lb_arrow_scan_blocks(lb_reader *r, const lb_blocks *blocks, const lb_range *range,
                               struct ArrowArrayStream *out, lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    s->blocks = blocks;
    lb_arrow_pull_init(&s->pull, r);
    scan_bounds(s, range);
    lb_status status = scan_columns(s, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}
