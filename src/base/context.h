/* What one lb_context carries. */
#ifndef LB_BASE_CONTEXT_H
#define LB_BASE_CONTEXT_H

#include <pthread.h>

#include "base/arena.h"

struct lb_registry;

struct lb_context {
    unsigned threads;
    _Atomic unsigned helping; /* threads at work beside those that called the library; less than `threads` */
    lb_budget budget;
    _Atomic bool cancelled;
    lb_progress_fn progress;
    lb_note_fn note;
    lb_poll_fn poll;
    void *user;
    pthread_mutex_t talk; /* progress and note come from one thread at a time */
    int64_t last_progress_ns;
    struct lb_registry *registry; /* run-time handlers; made by the lake floor on first use */
    void (*registry_free)(struct lb_registry *registry);
    pthread_mutex_t registry_lock;
};

/* LB_CANCELLED once the caller asked to stop; long loops ask once a buffer, with no lock held. Polls the caller. */
lb_status lb_check_cancel(lb_context *cx, lb_error *err);

/* Wait for `turn`, as pthread_cond_wait; with a caller to poll, it is polled meanwhile, `lock` set free. May return early. */
void lb_wait(lb_context *cx, pthread_cond_t *turn, pthread_mutex_t *lock);

/* Wait for a thread to end, and poll the caller meanwhile. */
void lb_join(lb_context *cx, pthread_t thread);

/* Tell the caller; does nothing without a note function. */
__attribute__((format(printf, 2, 3))) void lb_note(lb_context *cx, const char *fmt, ...);

/* Report progress; calls come through at most every 30 ms, and the last one always (done == total). */
void lb_progress(lb_context *cx, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files);

#endif
