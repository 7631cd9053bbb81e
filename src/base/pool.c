#include "base/pool.h"

#include <stdlib.h>

typedef struct pool {
    size_t count;
    lb_job_fn job;
    void *user;
    _Atomic size_t next;    /* first job not yet taken */
    _Atomic size_t stop_at; /* no job from here on is begun: the lowest that failed */
    pthread_mutex_t lock;
    lb_error error; /* of job stop_at */
    lb_status status;
} pool;

static void pool_failed(pool *p, size_t index, lb_status status, const lb_error *error)
{
    pthread_mutex_lock(&p->lock);
    if (index < atomic_load(&p->stop_at)) {
        atomic_store(&p->stop_at, index);
        p->status = status;
        p->error = *error;
    }
    pthread_mutex_unlock(&p->lock);
}

/* Jobs below a failing one are still done, so that the lowest failure is found whatever the order. */
static void *pool_work(void *arg)
{
    pool *p = arg;

    for (;;) {
        size_t index = atomic_fetch_add(&p->next, 1);
        if (index >= p->count || index >= atomic_load(&p->stop_at))
            return NULL;
        lb_error error = LB_ERROR_INIT;
        lb_status status = p->job(p->user, index, &error);
        if (status != LB_OK)
            pool_failed(p, index, status, &error);
    }
}

lb_status lb_run_jobs(lb_context *cx, size_t count, lb_job_fn job, void *user, lb_error *err)
{
    pool p = { .count = count, .job = job, .user = user };
    size_t want = LB_MIN((size_t)cx->threads, count), started = 0;
    pthread_t *threads = want > 1 ? calloc(want - 1, sizeof *threads) : NULL;

    atomic_store(&p.stop_at, count);
    pthread_mutex_init(&p.lock, NULL);
    /* A thread that cannot be had is not missed: the others do its work. */
    while (threads != NULL && started < want - 1 && pthread_create(&threads[started], NULL, pool_work, &p) == 0)
        started++;
    pool_work(&p);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    pthread_mutex_destroy(&p.lock);
    if (p.status != LB_OK && err != NULL && err->code == LB_OK)
        *err = p.error;
    return p.status;
}
