/* Every split is read alone, and its rows compared with those of one pass over the whole file. */
#include <stdlib.h>

#include "base/pool.h"
#include "column/gather.h"
#include "column/stream.h"
#include "column/values.h"
#include "lake/splits.h"

typedef struct split_check {
    const lb_splits *s;
    const lb_split_file *f;
    lb_data *data;
    size_t n_columns;
    lb_wanted *columns;           /* all of the file */
    struct ArrowArrayStream pass; /* over the whole file */
    struct ArrowSchema schema;
    struct ArrowArray batch; /* of the pass; release NULL: none */
    int64_t used;            /* rows of it that were compared */
} split_check;

static lb_status check_fail(const split_check *c, size_t split, const char *what, lb_error *err)
{
    const lb_split_item *item = &c->f->items[split];

    if (!c->f->by_bytes)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "split %zu, rows %llu to %llu: %s", split,
                       (unsigned long long)item->first_row, (unsigned long long)(item->first_row + item->rows - 1),
                       what);
    return lb_fail(err, LB_CORRUPT, LB_AT(item->first_byte), "split %zu, bytes %llu to %llu: %s", split,
                   (unsigned long long)item->first_byte, (unsigned long long)(item->first_byte + item->bytes - 1),
                   what);
}

/* ---------------------------------------------------------------- comparing */

/* Rows [from, from+n) of a batch in an array of their own, laid out in the one way that gathering has. */
static lb_status check_cut(const split_check *c, const struct ArrowArray *batch, int64_t from, size_t n,
                           struct ArrowArray *out, lb_error *err)
{
    lb_pick *picks = malloc(n * sizeof *picks + 1);

    if (picks == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        picks[i] = (lb_pick){ 0, (uint32_t)(from + (int64_t)i) };
    lb_status status = lb_array_gather(&c->schema, &batch, 1, picks, n, out, err);
    free(picks);
    return status;
}

static lb_status check_same(const split_check *c, const struct ArrowArray *a, const struct ArrowArray *b, bool *same,
                            lb_error *err)
{
    struct ArrowArrayView x, y;
    int equal = 0;

    lb_status status = lb_view_open(&c->schema, a, &x, err);
    if (status == LB_OK) {
        status = lb_view_open(&c->schema, b, &y, err);
        if (status == LB_OK)
            status = lb_fail_arrow(err, ArrowArrayViewCompare(&x, &y, NANOARROW_COMPARE_IDENTICAL, &equal, NULL), NULL);
        ArrowArrayViewReset(&y);
    }
    ArrowArrayViewReset(&x);
    *same = equal != 0;
    return status;
}

/* Rows of both sides, as many as the shorter has left. */
static lb_status check_run(split_check *c, const struct ArrowArray *batch, int64_t at, size_t n, bool *same,
                           lb_error *err)
{
    struct ArrowArray a = { 0 }, b = { 0 };

    lb_status status = check_cut(c, batch, at, n, &a, err);
    if (status == LB_OK)
        status = check_cut(c, &c->batch, c->used, n, &b, err);
    if (status == LB_OK)
        status = check_same(c, &a, &b, same, err);
    if (a.release != NULL)
        a.release(&a);
    if (b.release != NULL)
        b.release(&b);
    return status;
}

/* Have rows of the pass at hand; *more false at its end. */
static lb_status check_pull(split_check *c, bool *more, lb_error *err)
{
    *more = true;
    while (c->batch.release == NULL || c->used == c->batch.length) {
        if (c->batch.release != NULL)
            c->batch.release(&c->batch);
        c->batch.release = NULL;
        c->used = 0;
        LB_TRY(lb_stream_next(&c->pass, &c->batch, err));
        if (c->batch.release == NULL)
            return *more = false, LB_OK;
    }
    return LB_OK;
}

static lb_status check_batch(split_check *c, size_t split, const struct ArrowArray *batch, lb_error *err)
{
    bool more, same;

    for (int64_t at = 0; at < batch->length;) {
        LB_TRY(check_pull(c, &more, err));
        if (!more)
            return check_fail(c, split, "it has rows that the file does not have", err);
        int64_t n = LB_MIN(batch->length - at, c->batch.length - c->used);
        LB_TRY(check_run(c, batch, at, (size_t)n, &same, err));
        if (!same)
            return check_fail(c, split, "read alone, its rows are not those of the file", err);
        at += n;
        c->used += n;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- reading a split */

static lb_status check_stream(split_check *c, size_t split, struct ArrowArrayStream *stream, lb_error *err)
{
    uint64_t rows = 0;

    for (;;) {
        struct ArrowArray batch = { 0 };
        LB_TRY(lb_check_cancel(c->s->t->cx, err));
        LB_TRY(lb_stream_next(stream, &batch, err));
        if (batch.release == NULL)
            break;
        rows += (uint64_t)batch.length;
        lb_status status = check_batch(c, split, &batch, err);
        batch.release(&batch);
        LB_TRY(status);
    }
    return rows == c->f->items[split].rows ? LB_OK : check_fail(c, split, "read alone, it has other rows", err);
}

static lb_status check_scan(split_check *c, size_t split, lb_reader *reader, uint64_t first, uint64_t count,
                            lb_error *err)
{
    const lb_range range = { .first = first, .count = count, .n_columns = c->n_columns, .columns = c->columns };
    struct ArrowArrayStream stream = { 0 };

    LB_TRY(c->data->format->scan(reader, &range, &stream, err));
    lb_status status = check_stream(c, split, &stream, err);
    stream.release(&stream);
    return status;
}

/* A file of its own: it has no header, and nothing is known of it but dialect and types. */
static lb_status check_bytes(split_check *c, size_t split, lb_error *err)
{
    const lb_split_item *item = &c->f->items[split];
    lb_entry alone = c->data->entry;
    lb_store *store = NULL;
    lb_reader *reader = NULL;

    alone.size_bytes = item->bytes;
    alone.total_rows = LB_ROWS_UNKNOWN;
    alone.dialect.has_header = false;
    alone.dialect.data_start = 0;
    alone.dialect.bom_bytes = 0;
    alone.blocks = (lb_blocks){ 0 };
    LB_TRY(lb_store_open_part(c->data->store, item->first_byte, item->bytes, &store, err));
    lb_status status =
        c->data->format->open(c->data->format, c->s->t->cx, store, c->data->options, &alone, &reader, err);
    if (status == LB_OK)
        status = check_scan(c, split, reader, 0, UINT64_MAX, err);
    c->data->format->close(reader);
    lb_store_close(store);
    return status;
}

/* An error in a split says where it is in the split; which split that is must be said. */
static lb_status check_split(split_check *c, size_t split, lb_error *err)
{
    const lb_split_item *item = &c->f->items[split];
    lb_error why = LB_ERROR_INIT;

    /* Blocks of a columnar file lie apart, but none of them is a file. */
    lb_status status = c->f->by_bytes && c->data->format->extents != NULL
                           ? check_bytes(c, split, &why)
                           : check_scan(c, split, c->data->reader, item->first_row, item->rows, &why);
    if (status == LB_OK)
        return LB_OK;
    if (status == LB_CORRUPT && strncmp(why.message, "split ", 6) != 0) {
        char what[400];
        lb_copy_text(what, sizeof what, why.message, strlen(why.message));
        return check_fail(c, split, what, err);
    }
    if (err != NULL && err->code == LB_OK)
        *err = why;
    return status;
}

/* ---------------------------------------------------------------- a file */

static lb_status check_begin(split_check *c, lb_error *err)
{
    c->n_columns = (size_t)c->data->schema.n_children;
    c->columns = calloc(c->n_columns + 1, sizeof *c->columns);
    if (c->columns == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < c->n_columns; i++)
        c->columns[i].column = i;
    const lb_range all = { .count = UINT64_MAX, .n_columns = c->n_columns, .columns = c->columns };
    LB_TRY(c->data->format->scan(c->data->reader, &all, &c->pass, err));
    return lb_stream_schema(&c->pass, &c->schema, err);
}

static lb_status check_all(split_check *c, lb_error *err)
{
    bool more;

    LB_TRY(check_begin(c, err));
    for (size_t i = 0; i < c->f->n; i++)
        LB_TRY(check_split(c, i, err));
    LB_TRY(check_pull(c, &more, err));
    if (more)
        return check_fail(c, c->f->n - 1, "the file has rows behind it", err);
    return lb_data_check(c->data, err);
}

static void check_end(split_check *c)
{
    if (c->batch.release != NULL)
        c->batch.release(&c->batch);
    if (c->pass.release != NULL)
        c->pass.release(&c->pass);
    if (c->schema.release != NULL)
        c->schema.release(&c->schema);
    free(c->columns);
}

static lb_status check_file(void *user, size_t i, lb_error *err)
{
    const lb_splits *s = user;
    split_check c = { .s = s, .f = &s->files[i] };
    bool own;

    if (c.f->n == 0)
        return LB_OK;
    lb_status status = lb_splits_open_file(s, i, &c.data, &own, err);
    if (status == LB_OK)
        status = check_all(&c, err);
    if (status != LB_OK && c.data != NULL)
        lb_fail_path(err, c.data->store->path);
    check_end(&c);
    if (own)
        lb_data_close(c.data);
    return status;
}

lb_status lb_splits_check(const lb_splits *s, lb_error *err)
{
    lb_error_clear(err);
    lb_status status = lb_run_jobs(s->t->cx, (size_t)s->n_files, check_file, (void *)(uintptr_t)s, err);
    if (status != LB_OK)
        lb_fail_path(err, s->t->path);
    return status;
}
