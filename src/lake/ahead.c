#include "lake/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/pool.h"
#include "column/stream.h"

/* A run of blocks and the batches that came of it. */
typedef struct ahead_run {
    uint64_t first, count; /* rows */
    bool done;
    struct ArrowArray *batches;
    size_t n_batches, cap_batches, given;
    lb_status status; /* of what follows the batches */
    lb_error error;
} ahead_run;

typedef struct ahead {
    lb_data *data;
    lb_range range;
    lb_wanted *columns; /* of the range */
    uint64_t end;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    ahead_run *runs; /* a ring */
    size_t n_runs;
    uint64_t begun, given; /* runs that were begun, and given out */
    uint64_t next_row;     /* where the next run begins */
    bool stop;
    size_t n_threads;
    pthread_t *threads;
} ahead;

static ahead_run *ahead_slot(ahead *a, uint64_t index)
{
    return &a->runs[index % a->n_runs];
}

static void ahead_drop(ahead_run *run)
{
    while (run->given < run->n_batches)
        run->batches[run->given].release(&run->batches[run->given]), run->given++;
    run->n_batches = run->given = 0;
}

/* ---------------------------------------------------------------- one run */

static lb_status ahead_keep(ahead_run *run, struct ArrowArray *batch, lb_error *err)
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

static lb_status ahead_decode(ahead *a, ahead_run *run, lb_error *err)
{
    struct ArrowArrayStream stream = { 0 };
    lb_range range = a->range;

    range.first = run->first;
    range.count = run->count;
    LB_TRY(a->data->format->scan(a->data->reader, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = ahead_keep(run, &batch, err);
        if (batch.release != NULL)
            batch.release(&batch);
    }
    stream.release(&stream);
    return status;
}

/* Decode the next run that nobody has; the lock is held. False: none may be begun now. */
static bool ahead_step(ahead *a)
{
    if (a->stop || a->next_row >= a->end || a->begun - a->given >= a->n_runs)
        return false;
    ahead_run *run = ahead_slot(a, a->begun++);
    uint64_t border = LB_MIN(lb_blocks_border(&a->data->entry.blocks, a->next_row), a->end);
    run->first = a->next_row;
    run->count = border - a->next_row;
    run->done = false;
    run->error = (lb_error)LB_ERROR_INIT;
    a->next_row = border;
    pthread_mutex_unlock(&a->lock);
    lb_status status = ahead_decode(a, run, &run->error);
    pthread_mutex_lock(&a->lock);
    run->status = status;
    run->done = true;
    if (status != LB_OK)
        a->next_row = a->end; /* nothing that follows will be asked for */
    pthread_cond_broadcast(&a->turn);
    return true;
}

static void *ahead_work(void *arg)
{
    ahead *a = arg;

    pthread_mutex_lock(&a->lock);
    while (!a->stop && a->next_row < a->end)
        if (!ahead_step(a))
            pthread_cond_wait(&a->turn, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---------------------------------------------------------------- the stream */

static lb_status ahead_take(ahead *a, struct ArrowArray *out, lb_error *err)
{
    for (;;) {
        ahead_run *run = ahead_slot(a, a->given);
        if (a->given == a->begun && !ahead_step(a))
            return LB_OK;
        while (!run->done)
            if (!ahead_step(a))
                pthread_cond_wait(&a->turn, &a->lock);
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
    pthread_mutex_lock(&a->lock);
    lb_status status = ahead_take(a, out, err);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static void ahead_close(void *state)
{
    ahead *a = state;

    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->turn);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->n_threads; i++) {
        pthread_join(a->threads[i], NULL);
        lb_thread_give(a->data->cx);
    }
    for (size_t i = 0; i < a->n_runs; i++) {
        ahead_drop(&a->runs[i]);
        free(a->runs[i].batches);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->turn);
    free(a->runs);
    free(a->threads);
    free(a->columns);
    free(a);
}

/* Threads that cannot be had are not missed. */
static void ahead_start_threads(ahead *a)
{
    lb_context *cx = a->data->cx;

    while (a->n_threads + 1 < a->n_runs && lb_thread_take(cx)) {
        if (pthread_create(&a->threads[a->n_threads], NULL, ahead_work, a) != 0) {
            lb_thread_give(cx);
            return;
        }
        a->n_threads++;
    }
}

static lb_status ahead_open(ahead *a, lb_data *data, const lb_range *range, lb_error *err)
{
    const lb_context *cx = data->cx;

    *a = (ahead){ .data = data, .range = *range, .next_row = range->first, .n_runs = cx->threads + 1 };
    a->end = range->first + range->count;
    a->runs = calloc(a->n_runs, sizeof *a->runs);
    a->threads = calloc(a->n_runs, sizeof *a->threads);
    a->columns = calloc(range->n_columns + 1, sizeof *a->columns);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->turn, NULL);
    if (a->runs == NULL || a->threads == NULL || a->columns == NULL)
        return lb_fail_nomem(err);
    if (range->n_columns != 0)
        memcpy(a->columns, range->columns, range->n_columns * sizeof *a->columns);
    a->range.columns = a->columns;
    return LB_OK;
}

/* Are there several runs of a size that so many may be held of? */
static bool ahead_pays(const lb_data *data, const lb_range *range)
{
    const lb_entry *e = &data->entry;
    uint64_t end, held;

    if (!lb_threads_free(data->cx) || e->total_rows == LB_ROWS_UNKNOWN || range->first >= e->total_rows)
        return false;
    end = range->first + LB_MIN(range->count, e->total_rows - range->first);
    return lb_blocks_border(&e->blocks, range->first) < end &&
           !__builtin_mul_overflow(lb_blocks_run_bytes(&e->blocks), 4 * ((uint64_t)data->cx->threads + 1), &held) &&
           held <= data->cx->budget.limit;
}

lb_status lb_scan_ahead(lb_data *data, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    lb_range first = *range;

    if (!ahead_pays(data, range))
        return data->format->scan(data->reader, range, out, err);
    /* What is wrong with the range, or where it begins, is said at once; and this knows the schema. */
    first.count = 0;
    LB_TRY(data->format->scan(data->reader, &first, out, err));
    lb_status status = lb_stream_schema(out, &schema, err);
    out->release(out);
    LB_TRY(status);
    ahead *a = calloc(1, sizeof *a);
    if (a == NULL) {
        schema.release(&schema);
        return lb_fail_nomem(err);
    }
    first.count = LB_MIN(range->count, data->entry.total_rows - range->first);
    status = ahead_open(a, data, &first, err);
    if (status == LB_OK) {
        ahead_start_threads(a);
        return lb_stream_make((lb_source){ ahead_next, ahead_close, a }, &schema, out, err);
    }
    ahead_close(a);
    schema.release(&schema);
    return status;
}
