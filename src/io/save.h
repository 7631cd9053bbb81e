/* Writing that is never half done (design.md section 4): beside, sync, rename, sync the directory. lb_saver in
 * lakebed.h is the way in; here are the parts that need names of their own. */
#ifndef LB_IO_SAVE_H
#define LB_IO_SAVE_H

#include "base/context.h"

/* As lb_saver_open; the file is `path`, the temporary one `path`.tmp.<pid>.<random>. An existing file's mode is kept,
 * else 0666 & umask. Temporaries of that name older than an hour are removed. `keep_as`, where not NULL: what stood at
 * `path` before is kept under that name, in the same directory. */
lb_status lb_saver_open_as(lb_context *cx, const char *path, const char *keep_as, lb_saver **out, lb_error *err);

/* Why the first lb_saver_write that failed did; NULL: none failed. */
const lb_error *lb_saver_error(const lb_saver *saver);

/* Make renames in an open directory last; `path` is for the message. Errors: IO. */
lb_status lb_sync_dir(int fd, const char *path, lb_error *err);

/* An advisory lock (flock) on the file `path`, made when missing and left there. Errors: CONFLICT when another holds it
 * longer than `wait_ms`. */
typedef struct lb_lock lb_lock;
lb_status lb_lock_take(const char *path, int wait_ms, lb_lock **out, lb_error *err);
void lb_lock_release(lb_lock *lock); /* NULL is fine */

#endif
