#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CONTEXT_MAX_THREADS 256
#define CONTEXT_PROGRESS_NS 30000000
#define CONTEXT_POLL_NS 50000000

const char *lb_version(void)
{
#define CONTEXT_TEXT(x) #x
#define CONTEXT_DOTTED(a, b, c) CONTEXT_TEXT(a) "." CONTEXT_TEXT(b) "." CONTEXT_TEXT(c)
    return CONTEXT_DOTTED(LB_VERSION_MAJOR, LB_VERSION_MINOR, LB_VERSION_PATCH);
}

/* Half of what the process may use: of the machine's memory, or of its own limit if that is less. */
static uint64_t context_default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)2 << 30;
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < memory)
        memory = limit.rlim_cur;
    return memory / 2;
}

static unsigned context_default_threads(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > CONTEXT_MAX_THREADS ? CONTEXT_MAX_THREADS : (unsigned)cores;
}

lb_status lb_context_new(const lb_context_options *options, lb_context **out, lb_error *err)
{
    lb_error_clear(err);
    *out = NULL;
    if (options != NULL && options->struct_size != sizeof *options)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_context_options.struct_size is %zu, not %zu",
                       options->struct_size, sizeof *options);
    lb_context *cx = calloc(1, sizeof *cx);
    if (cx == NULL)
        return lb_fail_nomem(err);
    cx->threads = options != NULL && options->threads != 0 ? LB_MIN(options->threads, CONTEXT_MAX_THREADS)
                                                           : context_default_threads();
    cx->budget.limit = options != NULL && options->memory_limit != 0 ? options->memory_limit : context_default_memory();
    if (options != NULL) {
        cx->progress = options->progress;
        cx->note = options->note;
        cx->poll = options->poll;
        cx->user = options->user;
    }
    pthread_mutex_init(&cx->talk, NULL);
    pthread_mutex_init(&cx->registry_lock, NULL);
    *out = cx;
    return LB_OK;
}

void lb_context_free(lb_context *cx)
{
    if (cx == NULL)
        return;
    if (cx->registry != NULL)
        cx->registry_free(cx->registry);
    pthread_mutex_destroy(&cx->talk);
    pthread_mutex_destroy(&cx->registry_lock);
    free(cx);
}

void lb_context_cancel(lb_context *cx)
{
    atomic_store_explicit(&cx->cancelled, true, memory_order_relaxed);
}

void lb_context_resume(lb_context *cx)
{
    atomic_store_explicit(&cx->cancelled, false, memory_order_relaxed);
}

/* Each thread has a time of its own: only the caller's may know what to look after. */
static void context_poll(lb_context *cx)
{
    static _Thread_local int64_t next_ns;
    int64_t now = lb_monotonic_ns();

    if (now < next_ns)
        return;
    next_ns = now + CONTEXT_POLL_NS;
    if (cx->poll(cx->user))
        lb_context_cancel(cx);
}

static struct timespec context_soon(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += CONTEXT_POLL_NS;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

void lb_wait(lb_context *cx, pthread_cond_t *turn, pthread_mutex_t *lock)
{
    if (cx->poll == NULL) {
        pthread_cond_wait(turn, lock);
        return;
    }
    const struct timespec soon = context_soon();
    if (pthread_cond_timedwait(turn, lock, &soon) == 0)
        return;
    pthread_mutex_unlock(lock);
    context_poll(cx);
    pthread_mutex_lock(lock);
}

void lb_join(lb_context *cx, pthread_t thread)
{
    struct timespec soon = context_soon();

    while (cx->poll != NULL && pthread_timedjoin_np(thread, NULL, &soon) != 0) {
        context_poll(cx);
        soon = context_soon();
    }
    if (cx->poll == NULL)
        pthread_join(thread, NULL);
}

lb_status lb_check_cancel(lb_context *cx, lb_error *err)
{
    if (cx->poll != NULL)
        context_poll(cx);
    if (!atomic_load_explicit(&cx->cancelled, memory_order_relaxed))
        return LB_OK;
    return lb_fail(err, LB_CANCELLED, LB_NOWHERE, "cancelled");
}

void lb_note(lb_context *cx, const char *fmt, ...)
{
    char text[768];
    va_list ap;

    if (cx->note == NULL)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&cx->talk);
    cx->note(cx->user, text);
    pthread_mutex_unlock(&cx->talk);
}

void lb_progress(lb_context *cx, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files)
{
    if (cx->progress == NULL)
        return;
    int64_t now = lb_monotonic_ns();
    pthread_mutex_lock(&cx->talk);
    if (now - cx->last_progress_ns >= CONTEXT_PROGRESS_NS || done == total) {
        cx->last_progress_ns = now;
        cx->progress(cx->user, done, total, files, total_files);
    }
    pthread_mutex_unlock(&cx->talk);
}
