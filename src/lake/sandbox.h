/* The sandbox (LM-120): where BASALTIC_RED_DATA_ROOT or BASALTIC_RED_ALLOWED_ROOT is set, nothing outside that folder is
 * touched. */
#ifndef LB_LAKE_SANDBOX_H
#define LB_LAKE_SANDBOX_H

#include "base/arena.h"

/* Errors: USAGE: the path, with links followed, lies outside; IO: the root cannot be resolved. A path that is not there is
 * judged by the folder it would be in. */
lb_status lb_check_sandbox(const char *path, lb_error *err);

#endif
