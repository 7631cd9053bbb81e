/* Rows as a stream of batches, of a range or scattered ones. */
#include <stdlib.h>

#include "column/stream.h"
#include "format/orc/orc.h"

#define SCAN_BATCH_ROWS 65536
#define SCAN_BATCH_BYTES ((uint64_t)16 << 20)
/* Values are decoded in steps of about so many bytes at most, guessed from the size of the stripe. */
#define SCAN_STEP_BYTES ((uint64_t)2 << 20)

typedef struct scan {
    lb_reader *r;
    lb_arena arena;
    orc_rows rows;
    struct ArrowSchema schema;
    const uint64_t *picked; /* rows wanted; NULL: a range */
    uint64_t at, end;       /* rows, or places in `picked` */
    uint64_t batch_rows;
    uint64_t step; /* rows decoded at a time at the most; halved where that was too much */
    bool no_columns;
} scan;

static uint64_t scan_row(const scan *s, uint64_t place)
{
    return s->picked == NULL ? place : s->picked[place];
}

/* Where the batch that begins at s->at ends at the latest. */
static uint64_t scan_stop(const scan *s)
{
    const uint64_t most = LB_MIN(s->end - s->at, s->batch_rows);

    if (s->picked != NULL || s->r->known == NULL)
        return s->at + most;
    return LB_MIN(s->at + most, lb_blocks_border(&s->r->known->blocks, s->at));
}

static uint64_t scan_step_rows(const scan *s, const orc_stripe *stripe)
{
    const uint64_t width = stripe->rows == 0 ? 1 : stripe->data / stripe->rows * 4 + 1;

    return LB_MAX(LB_MIN(s->step, SCAN_STEP_BYTES / width), 1);
}

/* Rows that follow each other in one stripe, from place `at` on. */
static uint64_t scan_together(const scan *s, uint64_t at, uint64_t most, const orc_stripe *stripe)
{
    const uint64_t row = scan_row(s, at), left = stripe->rows - (row - stripe->first_row);
    uint64_t n = 1;

    most = LB_MIN(most, left);
    if (s->picked == NULL)
        return most;
    while (n < most && s->picked[at + n] == row + n)
        n++;
    return n;
}

/* Append rows of places [s->at, stop), as many as a batch takes; *at: behind the last. */
static lb_status scan_fill(scan *s, uint64_t stop, uint64_t *at, lb_error *err)
{
    const orc_file *f = &s->r->file;

    for (*at = s->at; *at < stop && s->rows.build->bytes < SCAN_BATCH_BYTES;) {
        const uint64_t row = scan_row(s, *at), stripe = orc_find_stripe(f, row);
        const orc_stripe *of = &f->stripes[stripe];
        const uint64_t n = scan_together(s, *at, LB_MIN(stop - *at, scan_step_rows(s, of)), of);
        LB_TRY(orc_rows_goto(&s->rows, stripe, row - of->first_row, err));
        LB_TRY(orc_rows_read(&s->rows, (size_t)n, err));
        *at += n;
    }
    return LB_OK;
}

static lb_status scan_finish(scan *s, uint64_t n, struct ArrowArray *out, lb_error *err)
{
    struct ArrowError why = { "" };
    orc_node *root = &s->rows.root;
    int code = ArrowArrayInitFromSchema(out, &s->schema, &why);

    if (code != NANOARROW_OK) {
        out->release = NULL;
        return lb_fail_arrow(err, code, &why);
    }
    out->length = (int64_t)n;
    out->null_count = 0;
    for (int64_t i = 0; code == NANOARROW_OK && i < out->n_children; i++)
        code = orc_node_finish(&root->children[i], out->children[i]);
    if (code == NANOARROW_OK)
        code = ArrowArrayFinishBuilding(out, NANOARROW_VALIDATION_LEVEL_MINIMAL, &why);
    if (code == NANOARROW_OK)
        return LB_OK;
    out->release(out);
    return lb_fail_arrow(err, code, &why);
}

/* What has no columns is rows alone. */
static lb_status scan_batch(scan *s, uint64_t stop, uint64_t *at, struct ArrowArray *out, lb_error *err)
{
    lb_status status = LB_OK;

    *at = stop;
    if (!s->no_columns)
        status = scan_fill(s, stop, at, err);
    if (status == LB_OK)
        status = scan_finish(s, *at - s->at, out, err);
    return status;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;

    out->release = NULL;
    if (s->at >= s->end)
        return LB_OK;
    LB_TRY(lb_check_cancel(s->r->cx, err));
    for (uint64_t stop = scan_stop(s), at;;) {
        lb_error why = LB_ERROR_INIT;
        lb_status status = scan_batch(s, stop, &at, out, &why);
        const bool again = status != LB_OK && s->rows.build->too_long && (at > s->at || s->step > 1);
        orc_rows_reset(&s->rows);
        if (status == LB_OK) {
            s->at = at;
            return LB_OK;
        }
        if (!again) {
            if (why.row < 0 && !lb_is_callers(status) && status != LB_IO)
                why.row = (int64_t)scan_row(s, LB_MIN(at, s->end - 1));
            lb_fail_path(&why, s->r->file.store->path);
            if (err != NULL && err->code == LB_OK)
                *err = why;
            return status;
        }
        /* More than a column or a step holds: what went well is a batch, and steps are smaller from now on. */
        s->step = LB_MAX(s->step / 2, 1);
        if (at > s->at)
            stop = at;
    }
}

static void scan_close(void *state)
{
    scan *s = state;

    if (s->rows.file != NULL)
        orc_rows_close(&s->rows);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    lb_arena_free(&s->arena);
    free(s);
}

static lb_status scan_schema(scan *s, const lb_range *range, const uint64_t *columns, lb_error *err)
{
    const orc_file *f = &s->r->file;

    LB_TRY(lb_schema_struct(&s->schema, (int64_t)range->n_columns, err));
    for (size_t i = 0; i < range->n_columns; i++) {
        struct ArrowSchema *field = s->schema.children[i];
        if (field->release != NULL)
            field->release(field);
        LB_TRY(lb_schema_copy(f->schema.children[columns[i]], field, err));
    }
    return LB_OK;
}

static void scan_range(scan *s, const lb_range *range)
{
    const uint64_t rows = s->r->file.rows;

    s->picked = range->rows;
    if (s->picked == NULL) {
        s->at = LB_MIN(range->first, rows);
        s->end = s->at + LB_MIN(range->count, rows - s->at);
        return;
    }
    s->end = range->count;
    while (s->end > 0 && s->picked[s->end - 1] >= rows)
        s->end--;
}

static lb_status scan_open(scan *s, const lb_range *range, struct ArrowSchema *schema, lb_error *err)
{
    uint64_t *columns = lb_arena_alloc(&s->arena, range->n_columns + 1, sizeof *columns);

    if (columns == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < range->n_columns; i++)
        columns[i] = range->columns[i].column;
    scan_range(s, range);
    s->batch_rows = range->batch_rows == 0 ? SCAN_BATCH_ROWS : range->batch_rows;
    s->step = ORC_STEP;
    s->no_columns = range->n_columns == 0;
    LB_TRY(orc_rows_open(&s->rows, &s->r->file, columns, range->n_columns, &s->arena, err));
    LB_TRY(scan_schema(s, range, columns, err));
    return lb_schema_copy(&s->schema, schema, err);
}

lb_status orc_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    lb_arena_init(&s->arena, &r->cx->budget);
    lb_status status = scan_open(s, range, &schema, err);
    if (status == LB_OK)
        return lb_stream_make((lb_source){ scan_next, scan_close, s }, &schema, out, err);
    scan_close(s);
    return status;
}
