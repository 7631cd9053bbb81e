#include "io/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define LOCK_NAP_NS 5000000 /* between two tries */

struct lb_lock {
    int fd;
};

/* A lock can also be taken on a file that we may read but not write. */
static int lock_open(const char *path)
{
    const int how = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
    int fd = TEMP_FAILURE_RETRY(open(path, O_RDWR | O_CREAT | how, 0666));
    if (fd < 0 && (errno == EACCES || errno == EROFS)) {
        int first = errno;
        fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | how));
        if (fd < 0)
            errno = first;
    }
    return fd;
}

static lb_status lock_check(int fd, const char *path, lb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lb_fail_errno(err, errno, path, "stat");
    if (S_ISREG(st.st_mode))
        return LB_OK;
    lb_fail(err, LB_USAGE, LB_NOWHERE, "a lock file is expected, this is no regular file");
    lb_fail_path(err, path);
    return LB_USAGE;
}

static lb_status lock_wait(int fd, const char *path, int wait_ms, lb_error *err)
{
    int64_t until = lb_monotonic_ns() + (int64_t)wait_ms * 1000000;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return lb_fail_errno(err, errno, path, "lock");
        if (lb_monotonic_ns() >= until) {
            lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer holds the lock");
            lb_fail_path(err, path);
            lb_fail_hint(err, "try again when it is done");
            return LB_CONFLICT;
        }
        struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
        (void)nanosleep(&nap, NULL);
    }
    return LB_OK;
}

lb_status lb_lock_take(const char *path, int wait_ms, lb_lock **out, lb_error *err)
{
    *out = NULL;
    lb_lock *lock = malloc(sizeof *lock);
    if (lock == NULL)
        return lb_fail_nomem(err);
    lock->fd = lock_open(path);
    lb_status status = lock->fd < 0 ? lb_fail_errno(err, errno, path, "open") : lock_check(lock->fd, path, err);
    if (status == LB_OK)
        status = lock_wait(lock->fd, path, wait_ms, err);
    if (status != LB_OK) {
        lb_lock_release(lock);
        return status;
    }
    *out = lock;
    return LB_OK;
}

void lb_lock_release(lb_lock *lock)
{
    if (lock == NULL)
        return;
    if (lock->fd >= 0) {
        (void)flock(lock->fd, LOCK_UN); /* a child that was forked meanwhile has the descriptor too */
        (void)close(lock->fd);
    }
    free(lock);
}
