#include "lake/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/pool.h"
#include "column/stream.h"

struct lb_ahead_run {
    _Alignas(max_align_t) uint8_t job[LB_AHEAD_JOB];
    bool done;
    struct ArrowArray *batches;
    size_t n_batches, cap_batches, given;
    lb_status status; /* of what follows the batches */
    lb_error error;
};

typedef struct ahead {
    lb_context *cx;
    const lb_ahead_work *work;
    void *user;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    lb_ahead_run *runs; /* a ring */
    size_t n_runs;
    uint64_t begun, given; /* runs that were begun, and given out */
    bool ended;            /* no further run is to be begun */
    size_t n_threads;
    pthread_t *threads;
} ahead;

static lb_ahead_run *ahead_slot(ahead *a, uint64_t index)
{
    return &a->runs[index % a->n_runs];
}

/* ---------------------------------------------------------------- one run */

lb_status lb_ahead_keep(lb_ahead_run *run, struct ArrowArray *batch, lb_error *err)
{
    if (run->n_batches == run->cap_batches) {
        size_t cap = run->cap_batches == 0 ? 4 : run->cap_batches * 2;
        struct ArrowArray *grown = realloc(run->batches, cap * sizeof *grown);
        if (grown == NULL)
            return lb_fail_nomem(err);
        run->batches = grown;
        run->cap_batches = cap;
    }
    ArrowArrayMove(batch, &run->batches[run->n_batches++]);
    return LB_OK;
}

/* Do the next run that nobody has; the lock is held. False: none may be begun now. */
static bool ahead_step(ahead *a)
{
    bool there = false;

    if (a->ended || a->begun - a->given >= a->n_runs)
        return false;
    lb_ahead_run *run = ahead_slot(a, a->begun);
    run->done = false;
    run->error = (lb_error)LB_ERROR_INIT;
    run->status = a->work->next(a->user, run->job, &there, &run->error);
    if (run->status == LB_OK && !there) {
        a->ended = true;
        pthread_cond_broadcast(&a->turn);
        return false;
    }
    a->begun++;
    if (run->status == LB_OK) {
        pthread_mutex_unlock(&a->lock);
        lb_status status = a->work->run(a->user, run->job, run, &run->error);
        pthread_mutex_lock(&a->lock);
        run->status = status;
    }
    run->done = true;
    a->ended |= run->status != LB_OK; /* nothing that follows will be asked for */
    pthread_cond_broadcast(&a->turn);
    return true;
}

static void *ahead_work_on(void *arg)
{
    ahead *a = arg;

    pthread_mutex_lock(&a->lock);
    while (!a->ended)
        if (!ahead_step(a) && !a->ended)
            lb_wait(a->cx, &a->turn, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---------------------------------------------------------------- the stream */

static lb_status ahead_take(ahead *a, struct ArrowArray *out, lb_error *err)
{
    for (;;) {
        lb_ahead_run *run = ahead_slot(a, a->given);
        if (a->given == a->begun && !ahead_step(a))
            return LB_OK;
        while (!run->done)
            if (!ahead_step(a))
                lb_wait(a->cx, &a->turn, &a->lock);
        if (run->given < run->n_batches) {
            ArrowArrayMove(&run->batches[run->given++], out);
            return LB_OK;
        }
        if (run->status != LB_OK) {
            if (err != NULL)
                *err = run->error;
            return run->status;
        }
        run->n_batches = run->given = 0;
        a->given++;
        pthread_cond_broadcast(&a->turn);
    }
}

static lb_status ahead_next(void *state, struct ArrowArray *out, lb_error *err)
{
    ahead *a = state;

    out->release = NULL;
    LB_TRY(lb_check_cancel(a->cx, err)); /* also where batches are at hand */
    pthread_mutex_lock(&a->lock);
    lb_status status = ahead_take(a, out, err);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static void ahead_close(void *state)
{
    ahead *a = state;

    pthread_mutex_lock(&a->lock);
    a->ended = true;
    pthread_cond_broadcast(&a->turn);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->n_threads; i++) {
        lb_join(a->cx, a->threads[i]);
        lb_thread_give(a->cx);
    }
    for (size_t i = 0; a->runs != NULL && i < a->n_runs; i++) {
        lb_ahead_run *run = &a->runs[i];
        for (; run->given < run->n_batches; run->given++)
            run->batches[run->given].release(&run->batches[run->given]);
        free(run->batches);
    }
    a->work->close(a->user);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->turn);
    free(a->runs);
    free(a->threads);
    free(a);
}

/* Threads that cannot be had are not missed. */
static void ahead_start_threads(ahead *a)
{
    while (a->n_threads + 1 < a->n_runs && lb_thread_take(a->cx)) {
        if (pthread_create(&a->threads[a->n_threads], NULL, ahead_work_on, a) != 0) {
            lb_thread_give(a->cx);
            return;
        }
        a->n_threads++;
    }
}

lb_status lb_ahead_open(lb_context *cx, const lb_ahead_work *work, void *user, struct ArrowSchema *schema,
                        struct ArrowArrayStream *out, lb_error *err)
{
    ahead *a = calloc(1, sizeof *a);

    if (a == NULL) {
        work->close(user);
        schema->release(schema);
        return lb_fail_nomem(err);
    }
    *a = (ahead){ .cx = cx, .work = work, .user = user, .n_runs = cx->threads + 1 };
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->turn, NULL);
    a->runs = calloc(a->n_runs, sizeof *a->runs);
    a->threads = calloc(a->n_runs, sizeof *a->threads);
    if (a->runs != NULL && a->threads != NULL) {
        ahead_start_threads(a);
        return lb_stream_make((lb_source){ ahead_next, ahead_close, a }, schema, out, err);
    }
    ahead_close(a);
    schema->release(schema);
    return lb_fail_nomem(err);
}

/* ---------------------------------------------------------------- rows of one file */

typedef struct ahead_scan {
    lb_data *data;
    lb_range range;
    lb_wanted *columns; /* of the range */
    uint64_t at, end;   /* rows left */
} ahead_scan;

typedef struct ahead_rows {
    uint64_t first, count;
} ahead_rows;

static lb_status scan_next(void *user, void *job, bool *there, lb_error *err)
{
    ahead_scan *s = user;
    uint64_t border = LB_MIN(lb_blocks_border(&s->data->entry.blocks, s->at), s->end);
    const ahead_rows rows = { s->at, border - s->at };

    (void)err;
    *there = s->at < s->end;
    memcpy(job, &rows, sizeof rows);
    s->at = border;
    return LB_OK;
}

static lb_status scan_run(void *user, const void *job, lb_ahead_run *run, lb_error *err)
{
    const ahead_scan *s = user;
    struct ArrowArrayStream stream = { 0 };
    lb_range range = s->range;
    ahead_rows rows;

    memcpy(&rows, job, sizeof rows);
    range.first = rows.first;
    range.count = rows.count;
    LB_TRY(s->data->format->scan(s->data->reader, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_ahead_keep(run, &batch, err);
        if (batch.release != NULL)
            batch.release(&batch);
    }
    stream.release(&stream);
    return status;
}

static void scan_close(void *user)
{
    ahead_scan *s = user;

    free(s->columns);
    free(s);
}

bool lb_ahead_pays(const lb_data *data, uint64_t first, uint64_t count)
{
    const lb_entry *e = &data->entry;
    uint64_t held;

    if (!lb_threads_free(data->cx) || e->total_rows == LB_ROWS_UNKNOWN || first >= e->total_rows)
        return false;
    return lb_blocks_border(&e->blocks, first) < first + LB_MIN(count, e->total_rows - first) &&
           !__builtin_mul_overflow(lb_blocks_run_bytes(&e->blocks), 4 * ((uint64_t)data->cx->threads + 1), &held) &&
           held <= data->cx->budget.limit;
}

lb_status lb_scan_ahead(lb_data *data, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    static const lb_ahead_work work = { scan_next, scan_run, scan_close };
    struct ArrowSchema schema = { 0 };
    lb_range none = *range;

    if (!lb_ahead_pays(data, range->first, range->count))
        return data->format->scan(data->reader, range, out, err);
    /* What is wrong with the range is said at once; and this knows the schema. */
    none.count = 0;
    LB_TRY(data->format->scan(data->reader, &none, out, err));
    lb_status status = lb_stream_schema(out, &schema, err);
    out->release(out);
    LB_TRY(status);
    ahead_scan *s = calloc(1, sizeof *s);
    lb_wanted *columns = calloc(range->n_columns + 1, sizeof *columns);
    if (s == NULL || columns == NULL) {
        free(s);
        free(columns);
        schema.release(&schema);
        return lb_fail_nomem(err);
    }
    if (range->n_columns != 0)
        memcpy(columns, range->columns, range->n_columns * sizeof *columns);
    *s = (ahead_scan){ .data = data, .range = *range, .columns = columns, .at = range->first };
    s->range.columns = columns;
    s->end = range->first + LB_MIN(range->count, data->entry.total_rows - range->first);
    return lb_ahead_open(data->cx, &work, s, &schema, out, err);
}
