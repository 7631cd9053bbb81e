/* Scattered rows as a stream: windows of them, read by blocks in parallel, gathered in the order asked. */
#include "lake/take.h"

#include <stdlib.h>

#include "base/pool.h"
#include "column/stream.h"
#include "column/values.h"

/* A batch of the answer. */
#define TAKE_BATCH_ROWS 65536
#define TAKE_BATCH_BYTES ((uint64_t)32 << 20)

/* Batches of a file are given out as they are, where their rows are in the order asked and so many on the average. */
#define TAKE_WHOLE_ROWS 4096

/* A window that passes the memory limit is tried again with half its rows, down to this. */
#define TAKE_WINDOW_LEAST 64

/* Rows that ascend need no larger window than this: the next one begins where it ended. */
#define TAKE_WINDOW_SORTED ((uint64_t)1 << 18)

/* Below this, gathering is not worth another thread. */
#define TAKE_PARALLEL_VALUES 16384

typedef struct take {
    lb_taking k;
    lb_project project;
    uint64_t at; /* of the rows asked, the first after the window */
    bool delivered;

    lb_take_window w;
    size_t given; /* rows of the window that went out */
    bool whole;   /* batches go out as they are */
    size_t n_chunks, next_chunk;
    struct ArrowArray **chunks; /* the batches of all segments, in order */
    lb_pick *where;             /* of each distinct row */
    size_t batch_rows;
    _Atomic uint64_t held; /* bytes of batches counted against the budget */
} take;

/* ---------------------------------------------------------------- reading a segment */

static uint64_t take_view_bytes(const struct ArrowArrayView *v)
{
    uint64_t bytes = 64;

    for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; i++)
        bytes += (uint64_t)LB_MAX(v->buffer_views[i].size_bytes, 0);
    for (int64_t i = 0; i < v->n_children; i++)
        bytes += take_view_bytes(v->children[i]);
    return bytes;
}

/* Count a batch, which is held from now on, against the budget. */
static lb_status take_hold(take *s, struct ArrowArrayView *view, const struct ArrowArray *batch, lb_error *err)
{
    struct ArrowError why = { "" };
    int code = ArrowArrayViewSetArray(view, batch, &why);

    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    const uint64_t bytes = take_view_bytes(view);
    if (!lb_budget_take(&s->k.t->cx->budget, bytes))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "the rows of a window pass the memory limit");
    atomic_fetch_add(&s->held, bytes);
    return LB_OK;
}

/* Keep a batch of the file as one of the result's; `batch` is released. `view`: one of the result's type. */
static lb_status take_keep(take *s, lb_take_segment *g, const lb_take_part *p, struct ArrowArrayView *view,
                           struct ArrowArray *batch, size_t done, lb_error *err)
{
    struct ArrowArray out = { 0 };

    lb_status status = lb_project_bring(&p->columns, batch, &out, err);
    batch->release(batch);
    if (status != LB_OK && err != NULL && err->row >= 0 && done + (size_t)err->row < g->end - g->first)
        err->row = (int64_t)s->w.rows[g->first + done + (size_t)err->row];
    LB_TRY(status);
    if (g->n_batches == g->cap_batches) {
        size_t cap = g->cap_batches == 0 ? 4 : g->cap_batches * 2;
        struct ArrowArray *grown = realloc(g->batches, cap * sizeof *grown);
        if (grown == NULL) {
            out.release(&out);
            return lb_fail_nomem(err);
        }
        g->batches = grown;
        g->cap_batches = cap;
    }
    g->batches[g->n_batches++] = out;
    return take_hold(s, view, &g->batches[g->n_batches - 1], err);
}

/* What is needed of a batch of all rows from `row` on: the wanted rows, of which `done` are passed. */
static lb_status take_choose(const struct ArrowSchema *schema, struct ArrowArray *batch, uint64_t row,
                             const uint64_t *wanted, size_t n, struct ArrowArray *out, lb_error *err)
{
    const struct ArrowArray *chunk = batch;
    size_t count = 0;

    out->release = NULL;
    while (count < n && wanted[count] - row < (uint64_t)batch->length)
        count++;
    if (count == 0)
        return LB_OK;
    lb_pick *picks = malloc(count * sizeof *picks);
    if (picks == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        picks[i] = (lb_pick){ 0, (uint32_t)(wanted[i] - row) };
    lb_status status = lb_array_gather(schema, &chunk, 1, picks, count, out, err);
    free(picks);
    return status;
}

/* The next batch of wanted rows. A format that cannot take gives all rows between the first and the last. */
static lb_status take_pull(take *s, const lb_take_segment *g, const lb_take_part *p, struct ArrowArrayStream *stream,
                           const struct ArrowSchema *schema, size_t done, uint64_t *row, struct ArrowArray *out,
                           lb_error *err)
{
    const uint64_t *wanted = s->w.rows + g->first + done;
    struct ArrowArray batch = { 0 };

    for (;;) {
        LB_TRY(lb_stream_next(stream, out, err));
        if (out->release == NULL || p->data->format->take != NULL)
            return LB_OK;
        ArrowArrayMove(out, &batch);
        uint64_t first = *row;
        *row += (uint64_t)batch.length;
        lb_status status = take_choose(schema, &batch, first, wanted, g->end - g->first - done, out, err);
        batch.release(&batch);
        if (status != LB_OK || out->release != NULL)
            return status;
    }
}

static lb_status take_pull_all(take *s, lb_take_segment *g, const lb_take_part *p, struct ArrowArrayStream *stream,
                               const struct ArrowSchema *schema, struct ArrowArrayView *view, lb_error *err)
{
    size_t done = 0, n = g->end - g->first;
    uint64_t row = s->w.rows[g->first];
    struct ArrowArray batch = { 0 };

    while (done < n) {
        LB_TRY(lb_check_cancel(s->k.t->cx, err));
        LB_TRY(take_pull(s, g, p, stream, schema, done, &row, &batch, err));
        if (batch.release == NULL)
            return lb_take_short(&s->w, s->w.rows[g->first + done], err);
        size_t rows = (size_t)batch.length;
        lb_status status = lb_data_check(p->data, err);
        if (status != LB_OK) {
            batch.release(&batch);
            return status;
        }
        LB_TRY(take_keep(s, g, p, view, &batch, done, err));
        done += rows;
    }
    return done == n ? LB_OK : lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a format gave more rows than it was asked for");
}

static lb_status take_scan(take *s, lb_take_segment *g, const lb_take_part *p, struct ArrowArrayStream *stream,
                           lb_error *err)
{
    const uint64_t *rows = s->w.rows + g->first;
    size_t n = g->end - g->first;
    const lb_format *format = p->data->format;
    lb_range range = { .first = rows[0],
                       .count = rows[n - 1] - rows[0] + 1,
                       .n_columns = p->columns.n_wanted,
                       .columns = p->columns.wanted,
                       .chunk = g->chunk };

    if (format->take == NULL)
        return format->scan(p->data->reader, &range, stream, err);
    range.rows = rows;
    range.count = n;
    return format->take(p->data->reader, &range, stream, err);
}

static lb_status take_part(take *s, lb_take_segment *g, const lb_take_part *p, lb_error *err)
{
    struct ArrowArrayStream stream = { 0 };
    struct ArrowSchema schema = { 0 };
    struct ArrowArrayView view;
    struct ArrowError why = { "" };

    LB_TRY(take_scan(s, g, p, &stream, err));
    ArrowArrayViewInitFromType(&view, NANOARROW_TYPE_UNINITIALIZED);
    lb_status status = lb_stream_schema(&stream, &schema, err);
    if (status == LB_OK) {
        int code = ArrowArrayViewInitFromSchema(&view, &s->project.schema, &why);
        status = code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, &why);
    }
    if (status == LB_OK)
        status = take_pull_all(s, g, p, &stream, &schema, &view, err);
    ArrowArrayViewReset(&view);
    if (schema.release != NULL)
        schema.release(&schema);
    stream.release(&stream);
    return status;
}

static lb_status take_segment(void *user, size_t i, lb_error *err)
{
    take *s = user;
    lb_take_segment *g = &s->w.segments[i];
    lb_take_part *p = &s->w.parts[g->part];

    LB_TRY(lb_check_cancel(s->k.t->cx, err));
    lb_status status = lb_take_part_open(&s->w, p, &s->project, s->k.fresh != NULL, err);
    if (status == LB_OK) {
        status = take_part(s, g, p, err);
        if (status != LB_OK && status != LB_USAGE)
            lb_fail_path(err, p->data->store->path);
    }
    lb_take_part_leave(p);
    return status;
}

/* ---------------------------------------------------------------- a window */

/* The batches of all segments in one list, and where each row is. */
static lb_status take_index(take *s, lb_error *err)
{
    size_t n = 0, row = 0;

    for (size_t i = 0; i < s->w.n_segments; i++)
        n += s->w.segments[i].n_batches;
    s->chunks = lb_arena_alloc(&s->w.arena, n + 1, sizeof *s->chunks);
    s->where = lb_arena_alloc(&s->w.arena, s->w.n_rows + 1, sizeof *s->where);
    if (s->chunks == NULL || s->where == NULL)
        return lb_arena_fail(&s->w.arena, err);
    s->n_chunks = s->next_chunk = 0;
    for (size_t i = 0; i < s->w.n_segments; i++)
        for (size_t k = 0; k < s->w.segments[i].n_batches; k++) {
            struct ArrowArray *batch = &s->w.segments[i].batches[k];
            for (int64_t r = 0; r < batch->length; r++)
                s->where[row++] = (lb_pick){ (uint32_t)s->n_chunks, (uint32_t)r };
            s->chunks[s->n_chunks++] = batch;
        }
    uint64_t mean = atomic_load(&s->held) / LB_MAX(s->w.n_rows, 1);
    s->batch_rows = (size_t)LB_MAX(LB_MIN(TAKE_BATCH_BYTES / LB_MAX(mean, 1), TAKE_BATCH_ROWS), 1);
    s->whole = s->w.as_asked && s->w.n_rows / TAKE_WHOLE_ROWS >= s->n_chunks;
    return LB_OK;
}

static void take_drop_window(take *s)
{
    lb_take_window_free(&s->w);
    lb_budget_give(&s->k.t->cx->budget, atomic_exchange(&s->held, 0));
    s->given = s->n_chunks = 0;
    s->chunks = NULL;
    s->where = NULL;
}

static lb_status take_read_window(take *s, size_t n, lb_error *err)
{
    LB_TRY(lb_take_plan(&s->w, s->k.t, s->k.single, &s->k.rows, s->at, n, err));
    LB_TRY(lb_run_jobs(s->k.t->cx, s->w.n_segments, take_segment, s, err));
    return take_index(s, err);
}

/* Rows of the next window: all that it may hold, unless they ascend. A shuffle's are not looked at: they do not. A
 * file whose blocks are not known is read in one pass. */
static size_t take_window_size(const take *s)
{
    uint64_t n = LB_MIN(s->k.window, s->k.rows.count - s->at), sorted = 1;

    if (s->k.rows.list == NULL || n <= TAKE_WINDOW_SORTED || s->k.total == LB_ROWS_UNKNOWN)
        return (size_t)n;
    const uint64_t *rows = s->k.rows.list + s->at;
    while (sorted < TAKE_WINDOW_SORTED && rows[sorted - 1] < rows[sorted])
        sorted++;
    return (size_t)(sorted == TAKE_WINDOW_SORTED ? sorted : n);
}

static lb_status take_load(take *s, lb_error *err)
{
    for (;;) {
        size_t n = take_window_size(s);
        take_drop_window(s);
        if (n == 0)
            return LB_OK;
        lb_status status = take_read_window(s, n, err);
        if (status == LB_OK) {
            s->at += n;
            return LB_OK;
        }
        take_drop_window(s);
        if (status == LB_BUDGET && n > TAKE_WINDOW_LEAST) {
            lb_error_clear(err);
            LB_TRY(lb_taking_index(&s->k, err));
            s->k.window = n / 2;
        } else if (s->delivered || s->at != 0 || status != LB_STALE) {
            return status;
        } else {
            LB_TRY(lb_taking_afresh(&s->k, status, err));
        }
    }
}

/* ---------------------------------------------------------------- giving it out */

typedef struct take_batch {
    take *s;
    size_t first_chunk, n_chunks; /* those that are picked from, and all between */
    const lb_pick *picks;         /* chunks counted from the first */
    size_t n;
    struct ArrowArray *out;
} take_batch;

static lb_status take_column(void *user, size_t i, lb_error *err)
{
    take_batch *b = user;
    take *s = b->s;
    const struct ArrowArray **columns = malloc((b->n_chunks + 1) * sizeof *columns);

    if (columns == NULL)
        return lb_fail_nomem(err);
    for (size_t k = 0; k < b->n_chunks; k++)
        columns[k] = s->chunks[b->first_chunk + k]->children[i];
    if (b->out->children[i]->release != NULL)
        b->out->children[i]->release(b->out->children[i]);
    lb_status status =
        lb_array_gather(s->project.schema.children[i], columns, b->n_chunks, b->picks, b->n, b->out->children[i], err);
    free(columns);
    return status;
}

static lb_status take_columns(take_batch *b, lb_error *err)
{
    size_t n = b->s->project.n_columns;

    if (b->n * n >= TAKE_PARALLEL_VALUES)
        return lb_run_jobs(b->s->k.t->cx, n, take_column, b, err);
    for (size_t i = 0; i < n; i++)
        LB_TRY(take_column(b, i, err));
    return LB_OK;
}

static lb_status take_gather(take *s, size_t n, struct ArrowArray *out, lb_error *err)
{
    lb_pick *picks = malloc(n * sizeof *picks + 1);
    uint32_t first = UINT32_MAX, last = 0;

    if (picks == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        picks[i] = s->where[s->w.pick[s->given + i]];
        first = LB_MIN(first, picks[i].chunk);
        last = LB_MAX(last, picks[i].chunk);
    }
    for (size_t i = 0; i < n; i++)
        picks[i].chunk -= first;
    take_batch b = {
        .s = s, .first_chunk = first, .n_chunks = (size_t)(last - first) + 1, .picks = picks, .n = n, .out = out
    };
    int code = ArrowArrayInitFromSchema(out, &s->project.schema, NULL);
    if (code != NANOARROW_OK) {
        out->release = NULL;
        free(picks);
        return lb_fail_arrow(err, code, NULL);
    }
    lb_status status = take_columns(&b, err);
    free(picks);
    out->length = (int64_t)n;
    out->null_count = 0;
    if (status != LB_OK)
        out->release(out);
    return status;
}

/* Rows of one batch may be many times as long as the others: what does not fit into a column is tried with fewer. */
static lb_status take_emit(take *s, struct ArrowArray *out, lb_error *err)
{
    for (;;) {
        size_t n = LB_MIN(s->batch_rows, s->w.n - s->given);
        lb_status status = take_gather(s, n, out, err);
        if (status == LB_OK) {
            s->given += n;
            return LB_OK;
        }
        if (status != LB_UNSUPPORTED || n < 2)
            return status;
        lb_error_clear(err);
        s->batch_rows = n / 2;
    }
}

static void take_emit_whole(take *s, struct ArrowArray *out)
{
    ArrowArrayMove(s->chunks[s->next_chunk++], out);
    s->given += (size_t)out->length;
}

static lb_status take_next(void *state, struct ArrowArray *out, lb_error *err)
{
    take *s = state;

    out->release = NULL;
    if (s->given == s->w.n)
        LB_TRY(take_load(s, err));
    if (s->w.n == 0)
        return LB_OK;
    lb_status status = LB_OK;
    if (s->whole)
        take_emit_whole(s, out);
    else
        status = take_emit(s, out, err);
    s->delivered = true;
    if (status == LB_OK && s->given == s->w.n)
        take_drop_window(s);
    return status;
}

static void take_close(void *state)
{
    take *s = state;

    take_drop_window(s);
    lb_project_free(&s->project);
    lb_taking_free(&s->k);
    free(s);
}

/* ---------------------------------------------------------------- what all calls begin with */

static lb_status taking_check(const lb_take *want, lb_error *err)
{
    if (want->struct_size != sizeof *want)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_take.struct_size is %zu, not %zu", want->struct_size,
                       sizeof *want);
    if (!want->shuffled && want->rows == NULL && want->count != 0)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_take has a count of rows, but no rows");
    return LB_OK;
}

/* Where only a sample of the file was read, one window of listed rows is found on the way; else its rows are found
 * first. */
static lb_status taking_settle(lb_taking *k, lb_error *err)
{
    lb_table *t = k->t;

    k->single = t->file;
    k->total = t->rows;
    k->window = lb_take_window_rows(t, t->file, t->rows);
    if (t->rows == LB_ROWS_UNKNOWN && (k->want->shuffled || k->want->count > k->window))
        LB_TRY(lb_table_index(t, &k->single, &k->total, err));
    return lb_take_rows_init(&k->rows, t->cx, k->want, k->total, err);
}

lb_status lb_taking_index(lb_taking *k, lb_error *err)
{
    if (k->total != LB_ROWS_UNKNOWN)
        return LB_OK;
    LB_TRY(lb_table_index(k->t, &k->single, &k->total, err));
    lb_take_rows_free(&k->rows);
    return lb_take_rows_init(&k->rows, k->t->cx, k->want, k->total, err);
}

lb_status lb_taking_init(lb_taking *k, lb_table *t, const lb_take *want, lb_error *err)
{
    *k = (lb_taking){ .t = t, .want = want };
    LB_TRY(taking_check(want, err));
    lb_table_tell_sample(t);
    return taking_settle(k, err);
}

void lb_taking_free(lb_taking *k)
{
    lb_take_rows_free(&k->rows);
    lb_data_close(k->fresh);
    k->fresh = NULL;
}

lb_status lb_taking_afresh(lb_taking *k, lb_status status, lb_error *err)
{
    lb_table *t = k->t;
    lb_data_request q = t->request;

    if (status != LB_STALE || t->lake || k->fresh != NULL)
        return status;
    lb_note(t->cx, "%s: changed since it was mapped; read without the map", t->path);
    lb_error_clear(err);
    q.whole = true;
    LB_TRY(lb_data_reopen(t->cx, &q, &k->fresh, err));
    k->single = k->fresh;
    k->total = k->fresh->entry.total_rows;
    k->window = lb_take_window_rows(t, k->single, k->total);
    lb_take_rows_free(&k->rows);
    return lb_take_rows_init(&k->rows, t->cx, k->want, k->total, err);
}

/* ---------------------------------------------------------------- the public call */

static lb_status take_open(take *s, lb_table *t, const lb_take *want, struct ArrowSchema *schema, lb_error *err)
{
    LB_TRY(taking_check(want, err));
    LB_TRY(lb_project_init(&s->project, t, want->columns, err));
    LB_TRY(lb_taking_init(&s->k, t, want, err));
    /* The first window is read at once, so that what is wrong is said by this call where it can be. */
    LB_TRY(take_load(s, err));
    return lb_schema_copy(&s->project.schema, schema, err);
}

lb_status lb_table_take(lb_table *t, const lb_take *want, struct ArrowArrayStream *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    take *s = calloc(1, sizeof *s);

    lb_error_clear(err);
    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->k.t = t;
    s->w.t = t;
    lb_status status = take_open(s, t, want, &schema, err);
    if (status == LB_OK)
        return lb_stream_make((lb_source){ take_next, take_close, s }, &schema, out, err);
    take_close(s);
    lb_fail_path(err, t->path);
    return status;
}
