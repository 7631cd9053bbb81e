#include "base/pool.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- threads that help */

bool lb_thread_take(lb_context *cx)
{
    unsigned helping = atomic_load_explicit(&cx->helping, memory_order_relaxed);

    while (helping + 1 < cx->threads)
        if (atomic_compare_exchange_weak(&cx->helping, &helping, helping + 1))
            return true;
    return false;
}

bool lb_threads_free(lb_context *cx)
{
    return atomic_load_explicit(&cx->helping, memory_order_relaxed) + 1 < cx->threads;
}

void lb_thread_give(lb_context *cx)
{
    atomic_fetch_sub(&cx->helping, 1);
}

/* ---------------------------------------------------------------- crews */

typedef struct crew_member {
    struct crew_member *next;
    lb_crew *crew;
    pthread_t thread;
} crew_member;

struct lb_crew {
    lb_context *cx;
    lb_crew_fn work;
    void *user;
    pthread_mutex_t lock;
    crew_member *members;
};

static void *crew_work(void *arg)
{
    crew_member *m = arg;
    lb_context *cx = m->crew->cx;

    m->crew->work(m->crew, m->crew->user);
    lb_thread_give(cx);
    return NULL;
}

/* A thread that cannot be had is not missed: the others do its work. */
void lb_crew_call(lb_crew *crew)
{
    if (!lb_thread_take(crew->cx))
        return;
    crew_member *m = malloc(sizeof *m);
    bool started = false;
    if (m != NULL) {
        m->crew = crew;
        pthread_mutex_lock(&crew->lock);
        started = pthread_create(&m->thread, NULL, crew_work, m) == 0;
        if (started) {
            m->next = crew->members;
            crew->members = m;
        }
        pthread_mutex_unlock(&crew->lock);
    }
    if (!started) {
        free(m);
        lb_thread_give(crew->cx);
    }
}

/* Members may bring in others as long as any is at work, so the list is taken again until it stays empty. */
static void crew_join(lb_crew *crew)
{
    for (;;) {
        pthread_mutex_lock(&crew->lock);
        crew_member *m = crew->members;
        if (m != NULL)
            crew->members = m->next;
        pthread_mutex_unlock(&crew->lock);
        if (m == NULL)
            return;
        lb_join(crew->cx, m->thread);
        free(m);
    }
}

void lb_run_crew(lb_context *cx, lb_crew_fn work, void *user)
{
    lb_crew crew = { .cx = cx, .work = work, .user = user };

    pthread_mutex_init(&crew.lock, NULL);
    work(&crew, user);
    crew_join(&crew);
    pthread_mutex_destroy(&crew.lock);
}

/* ---------------------------------------------------------------- jobs */

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
static void pool_work(lb_crew *crew, void *arg)
{
    pool *p = arg;

    for (;;) {
        size_t index = atomic_fetch_add(&p->next, 1);
        if (index >= p->count || index >= atomic_load(&p->stop_at))
            return;
        if (p->count - index > 1)
            lb_crew_call(crew);
        lb_error error = LB_ERROR_INIT;
        lb_status status = p->job(p->user, index, &error);
        if (status != LB_OK)
            pool_failed(p, index, status, &error);
    }
}

lb_status lb_run_jobs(lb_context *cx, size_t count, lb_job_fn job, void *user, lb_error *err)
{
    pool p = { .count = count, .job = job, .user = user };

    atomic_store(&p.stop_at, count);
    pthread_mutex_init(&p.lock, NULL);
    lb_run_crew(cx, pool_work, &p);
    pthread_mutex_destroy(&p.lock);
    if (p.status != LB_OK && err != NULL && err->code == LB_OK)
        *err = p.error;
    return p.status;
}
