/* A store over a regular file, read by pread: a file that shrinks under us gives short reads, not signals. */
#include "io/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* After so many reads that each begin where the one before ended, the kernel is told to read further ahead. */
#define FILE_RUN 4

typedef struct file_store {
    lb_store store;
    int fd;
    _Atomic uint64_t expected; /* end of the last read */
    _Atomic unsigned run;
    char path[];
} file_store;

static int64_t file_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Only a hint, so that a race between threads does no harm. */
static void file_advise(file_store *f, uint64_t offset, size_t got)
{
    uint64_t before = atomic_exchange_explicit(&f->expected, offset + got, memory_order_relaxed);
    unsigned run = atomic_load_explicit(&f->run, memory_order_relaxed);
    if (run > FILE_RUN)
        return;
    run = before == offset ? run + 1 : 0;
    atomic_store_explicit(&f->run, run, memory_order_relaxed);
    if (run == FILE_RUN)
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

static lb_status file_fail_read(const file_store *f, int errnum, uint64_t offset, lb_error *err)
{
    lb_status status = lb_fail_errno(err, errnum, f->path, "read");
    if (err != NULL && err->offset < 0 && offset <= INT64_MAX)
        err->offset = (int64_t)offset;
    return status;
}

static lb_status file_read_at(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    file_store *f = (file_store *)store;
    size_t done = 0;
    *got = 0;
    if (offset > INT64_MAX)
        return LB_OK;
    size = (size_t)LB_MIN((uint64_t)size, INT64_MAX - offset); /* no file is longer */
    while (done < size) {
        ssize_t n = pread(f->fd, (char *)out + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_fail_read(f, errno, offset + done, err);
        if (n == 0)
            break;
        done += (size_t)n;
    }
    atomic_fetch_add_explicit(&store->bytes_read, done, memory_order_relaxed);
    file_advise(f, offset, done);
    *got = done;
    return LB_OK;
}

static lb_status file_stat_now(lb_store *store, lb_file_stat *out, lb_error *err)
{
    const file_store *f = (const file_store *)store;
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return lb_fail_errno(err, errno, f->path, "stat");
    *out = (lb_file_stat){ (uint64_t)st.st_size, file_ns(st.st_mtim), file_ns(st.st_ctim) };
    return LB_OK;
}

static void file_close(lb_store *store)
{
    file_store *f = (file_store *)store;
    lb_mapping_unref(store->mapping);
    if (f->fd >= 0)
        (void)close(f->fd);
    free(f);
}

static const char *file_kind(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISFIFO(mode))
        return "a pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return "a device";
    return "no regular file";
}

static lb_status file_open(file_store *f, lb_error *err)
{
    struct stat st;
    /* Not blocking, so that a pipe without a writer is refused rather than waited for. */
    f->fd = TEMP_FAILURE_RETRY(open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (f->fd < 0 && errno == ENXIO) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "a regular file is expected, this is a socket or a device");
        lb_fail_path(err, f->path);
        return LB_USAGE;
    }
    if (f->fd < 0)
        return lb_fail_errno(err, errno, f->path, "open");
    if (fstat(f->fd, &st) != 0)
        return lb_fail_errno(err, errno, f->path, "stat");
    if (!S_ISREG(st.st_mode)) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "a regular file is expected, this is %s", file_kind(st.st_mode));
        lb_fail_path(err, f->path);
        return LB_USAGE;
    }
    f->store.size = (uint64_t)st.st_size;
    return LB_OK;
}

lb_status lb_store_open_file(const char *path, lb_store **out, lb_error *err)
{
    size_t size = strlen(path) + 1;
    file_store *f = calloc(1, sizeof *f + size);
    *out = NULL;
    if (f == NULL)
        return lb_fail_nomem(err);
    f->store.read_at = file_read_at;
    f->store.stat = file_stat_now;
    f->store.close = file_close;
    f->store.path = f->path;
    memcpy(f->path, path, size);
    lb_status status = file_open(f, err);
    if (status != LB_OK) {
        file_close(&f->store);
        return status;
    }
    *out = &f->store;
    return LB_OK;
}

/* ---------------------------------------------------------------- mapping */

void lb_mapping_unref(lb_mapping *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    (void)munmap((void *)(uintptr_t)m->at, (size_t)m->size);
    free(m);
}

void lb_store_map(lb_store *store)
{
    if (store->close != file_close || store->mapping != NULL || store->size == 0 || store->size > SIZE_MAX / 2)
        return;
    lb_mapping *m = calloc(1, sizeof *m);
    if (m == NULL)
        return;
    void *at = mmap(NULL, (size_t)store->size, PROT_READ, MAP_SHARED, ((file_store *)store)->fd, 0);
    if (at == MAP_FAILED) {
        free(m);
        return;
    }
    m->refs = 1;
    m->at = at;
    m->size = store->size;
    store->mapping = m;
}

void lb_store_close(lb_store *store)
{
    if (store != NULL)
        store->close(store);
}
