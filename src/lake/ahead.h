/* Reading ahead: batches made by several threads, given out in order. */
#ifndef LB_LAKE_AHEAD_H
#define LB_LAKE_AHEAD_H

#include "lake/data.h"

/* Takes a batch, which is moved. Errors: NOMEM. */
typedef struct lb_ahead_run lb_ahead_run;
lb_status lb_ahead_keep(lb_ahead_run *run, struct ArrowArray *batch, lb_error *err);

/* The work is cut into runs, each so small that one run more than there are threads may be held. */
typedef struct lb_ahead_work {
    /* The next run, as up to LB_AHEAD_JOB bytes that say what it is; false: there is none. Called in order, by one thread at a
     * time. Errors end the stream when the runs before are given out. */
    lb_status (*next)(void *user, void *job, bool *there, lb_error *err);

    /* Do a run: its batches go to lb_ahead_keep. Called by several threads at once. */
    lb_status (*run)(void *user, const void *job, lb_ahead_run *run, lb_error *err);

    void (*close)(void *user); /* once, at the end */
} lb_ahead_work;

#define LB_AHEAD_JOB 64

/* A stream of the runs' batches; takes `user` and moves `schema`, both also on error. Threads of its own, as many as are free,
 * make those to come while the caller is busy with a batch; the caller makes some while it waits. Releasing the stream waits for
 * the runs at work. */
lb_status lb_ahead_open(lb_context *cx, const lb_ahead_work *work, void *user, struct ArrowSchema *schema,
                        struct ArrowArrayStream *out, lb_error *err);

/* As data->format->scan, and with the same batches whatever the number of threads; runs are those of lb_blocks_border. `data` must
 * outlive the stream. */
lb_status lb_scan_ahead(lb_data *data, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);

/* May so many rows from `first` on be read as runs now: is a thread free, are there several, and is one small enough? */
bool lb_ahead_pays(const lb_data *data, uint64_t first, uint64_t count);

#endif
