/* Work on several threads. The context counts the threads that help: calls may nest, and what one call has no use for another
 * one takes up, so that never more than cx->threads are at work for one caller. */
#ifndef LB_BASE_POOL_H
#define LB_BASE_POOL_H

#include "base/context.h"

/* Do `count` jobs with up to cx->threads threads, the caller's being one of them. Jobs start in order of index.
 * When one fails no further one starts; the error given is that of the lowest failing index, so that the
 * outcome does not depend on the number of threads. `job` must be safe to call from several threads at once. */
typedef lb_status (*lb_job_fn)(void *user, size_t index, lb_error *err);
lb_status lb_run_jobs(lb_context *cx, size_t count, lb_job_fn job, void *user, lb_error *err);

/* Is a thread free that could help now? Take one, to be made by the caller and given back when it ends; false: none is. */
bool lb_threads_free(lb_context *cx);
bool lb_thread_take(lb_context *cx);
void lb_thread_give(lb_context *cx);

/* A group of threads that share out their work themselves. */
typedef struct lb_crew lb_crew;
typedef void (*lb_crew_fn)(lb_crew *crew, void *user);

/* Run work(crew, user) on this thread, and on others that lb_crew_call brings in; returns when all have returned. */
void lb_run_crew(lb_context *cx, lb_crew_fn work, void *user);

/* From within the work: bring in another thread if one is free. Cheap when none is. */
void lb_crew_call(lb_crew *crew);

#endif
