/* Work on several threads. */
#ifndef LB_BASE_POOL_H
#define LB_BASE_POOL_H

#include "base/context.h"

/* Do `count` jobs with up to cx->threads threads, the caller's being one of them. Jobs start in order of index.
 * When one fails no further one starts; the error given is that of the lowest failing index, so that the
 * outcome does not depend on the number of threads. `job` must be safe to call from several threads at once. */
typedef lb_status (*lb_job_fn)(void *user, size_t index, lb_error *err);
lb_status lb_run_jobs(lb_context *cx, size_t count, lb_job_fn job, void *user, lb_error *err);

#endif
