/* What building a map anew takes away from the one that stands there. */
#ifndef LB_LAKE_FORMER_H
#define LB_LAKE_FORMER_H

#include "lake/lake_write.h"

/* Look at the map of `dir` before another is saved over it: *keep says whether it is one, so that it may stay as
 * .br_map.bazan.old for lb_doctor_undo (what is no map does not take the place of one). Options that it remembers and
 * `how` does not have are named in a note. The caller holds the lock. Errors: IO (it cannot be read: it would be
 * lost), NOMEM, BUDGET. */
lb_status lb_lake_former(lb_context *cx, const char *dir, const lb_lake_write *how, bool *keep, lb_error *err);

#endif
