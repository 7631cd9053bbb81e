/* Saving: bytes go to a file beside the target, which replaces it in one step. A crash at any point leaves the target
 * as it was or as it is to be; what it leaves besides is cleared away by the next writer. */
#include "io/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/pack.h"

#define SAVE_BUFFER ((size_t)512 * 1024)
#define SAVE_LINKS 40 /* symbolic links followed one after the other, as Linux does */
#define SAVE_STALE_SECONDS 3600
#define SAVE_TRIES 16 /* names tried for the temporary file */

typedef struct save_name {
    char text[NAME_MAX + 1];
} save_name;

struct lb_saver {
    lb_context *cx;
    lb_error error;   /* the first failure of lb_saver_write */
    char *path;       /* as the caller gave it: for messages */
    char *target;     /* the file to replace, behind all links */
    const char *name; /* its last component */
    char *keep_as;
    int dir_fd, fd;
    bool direct; /* a device, a pipe …: written as it is, nothing replaced */
    bool made;   /* the temporary file stands in the directory */
    save_name temp;
    size_t used;
    uint8_t *buffer;
    lb_packer *packer; /* NULL: bytes are written as they come */
};

/* ---------------------------------------------------------------- names */

static const char *save_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* "dir/" of a path, or "." */
static char *save_dir(const char *path)
{
    size_t n = (size_t)(save_base(path) - path);
    return n == 0 ? strdup(".") : strndup(path, n);
}

static uint64_t save_random(void)
{
    uint64_t v;
    if (getrandom(&v, sizeof v, GRND_NONBLOCK) != (ssize_t)sizeof v)
        v = (uint64_t)lb_monotonic_ns() * UINT64_C(0x9E3779B97F4A7C15) ^ (uintptr_t)&v;
    return v;
}

/* NAME.tmp.<pid>.<random>; a name near the system's limit is cut. */
static void save_temp_name(const char *name, save_name *out)
{
    char tail[64];
    int n = snprintf(tail, sizeof tail, ".tmp.%ld.%016llx", (long)getpid(), (unsigned long long)save_random());
    (void)snprintf(out->text, sizeof out->text, "%.*s%s", NAME_MAX - n, name, tail);
}

static bool save_is_temp_of(const char *entry, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(entry, name, n) != 0 || strncmp(entry + n, ".tmp.", 5) != 0)
        return false;
    const char *p = entry + n + 5;
    size_t digits = strspn(p, "0123456789");
    if (digits == 0 || p[digits] != '.')
        return false;
    p += digits + 1;
    size_t hex = strspn(p, "0123456789abcdef");
    return hex != 0 && p[hex] == '\0';
}

/* ---------------------------------------------------------------- leftovers */

/* Remove one leftover, unless its writer is still at work: that one holds a lock on it. */
static void save_clear_one(int dir_fd, const char *name)
{
    struct stat st;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && time(NULL) - st.st_mtim.tv_sec > SAVE_STALE_SECONDS &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(dir_fd, name, 0);
    (void)close(fd);
}

static void save_clear_leftovers(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (save_is_temp_of(entry->d_name, name))
            save_clear_one(dir_fd, entry->d_name);
    (void)closedir(dir);
}

/* ---------------------------------------------------------------- opening */

static lb_status save_fail(lb_saver *s, int errnum, const char *what, lb_error *err)
{
    return lb_fail_errno(err, errnum, s->path, what);
}

/* Follow links by hand: the file behind them is to be replaced, which may not exist yet. */
static lb_status save_resolve(lb_saver *s, lb_error *err)
{
    char *at = strdup(s->path);
    for (int i = 0; at != NULL && i < SAVE_LINKS; i++) {
        char link[PATH_MAX];
        ssize_t n = readlink(at, link, sizeof link - 1);
        if (n < 0) {
            s->target = at;
            s->name = save_base(at);
            return LB_OK;
        }
        link[n] = '\0';
        char *dir = link[0] == '/' ? strdup("") : save_dir(at), *next = NULL;
        if (dir != NULL && asprintf(&next, "%s%s%s", dir, strcmp(dir, ".") == 0 ? "/" : "", link) < 0)
            next = NULL;
        free(dir);
        free(at);
        at = next;
    }
    if (at == NULL)
        return lb_fail_nomem(err);
    free(at);
    return save_fail(s, ELOOP, "open", err);
}

/* A file that is open already (/dev/stdout, /dev/fd/N) is written through that very descriptor: opened anew it would be
 * written from its beginning, and a renamed one would not reach the reader. */
static int save_open_descriptor(const char *path)
{
    const char *digits = NULL;
    int n = 0;
    if (strcmp(path, "/dev/stdout") == 0)
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (strcmp(path, "/dev/stderr") == 0)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (strncmp(path, "/dev/fd/", 8) == 0)
        digits = path + 8;
    else if (strncmp(path, "/proc/self/fd/", 14) == 0)
        digits = path + 14;
    if (digits == NULL || *digits == '\0')
        return -1;
    for (; *digits >= '0' && *digits <= '9' && n < 1000000; digits++)
        n = n * 10 + (*digits - '0');
    return *digits == '\0' ? fcntl(n, F_DUPFD_CLOEXEC, 3) : -1;
}

/* Things that are no regular file are written as they are. `*done`: the saver is ready. */
static lb_status save_open_direct(lb_saver *s, bool *done, lb_error *err)
{
    struct stat st;
    *done = false;
    s->fd = save_open_descriptor(s->path);
    if (s->fd < 0) {
        if (stat(s->path, &st) != 0 || S_ISREG(st.st_mode))
            return LB_OK;
        if (S_ISDIR(st.st_mode)) {
            lb_fail(err, LB_USAGE, LB_NOWHERE, "a file is to be written, this is a directory");
            lb_fail_path(err, s->path);
            return LB_USAGE;
        }
        s->fd = TEMP_FAILURE_RETRY(open(s->path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
        if (s->fd < 0)
            return save_fail(s, errno, "open", err);
    }
    s->direct = *done = true;
    return LB_OK;
}

/* The new file gets the mode of the old one, and its owner where we may. */
static lb_status save_keep_mode(lb_saver *s, const struct stat *old, lb_error *err)
{
    struct stat now;
    if (fstat(s->fd, &now) == 0 && (now.st_uid != old->st_uid || now.st_gid != old->st_gid)) {
        int ignored = fchown(s->fd, old->st_uid, old->st_gid);
        (void)ignored;
    }
    return fchmod(s->fd, old->st_mode & 0777) == 0 ? LB_OK : save_fail(s, errno, "set the mode of", err);
}

static lb_status save_open_temp(lb_saver *s, lb_error *err)
{
    struct stat old;
    bool exists = fstatat(s->dir_fd, s->name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    for (int i = 0; i < SAVE_TRIES && s->fd < 0; i++) {
        save_temp_name(s->name, &s->temp);
        s->fd = openat(s->dir_fd, s->temp.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY,
                       exists ? 0600 : 0666);
        if (s->fd < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (s->fd < 0)
        return save_fail(s, errno, "create", err);
    s->made = true;
    (void)flock(s->fd, LOCK_EX | LOCK_NB); /* says that somebody writes it: see save_clear_one */
    return exists ? save_keep_mode(s, &old, err) : LB_OK;
}

static lb_status save_open_beside(lb_saver *s, lb_error *err)
{
    LB_TRY(save_resolve(s, err));
    if (s->name[0] == '\0' || strcmp(s->name, ".") == 0 || strcmp(s->name, "..") == 0) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "a file is to be written, this names a directory");
        lb_fail_path(err, s->path);
        return LB_USAGE;
    }
    char *dir = save_dir(s->target);
    if (dir == NULL)
        return lb_fail_nomem(err);
    s->dir_fd = TEMP_FAILURE_RETRY(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (s->dir_fd < 0 && errno == EACCES)
        s->dir_fd = TEMP_FAILURE_RETRY(open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
    int failed = errno;
    free(dir);
    if (s->dir_fd < 0)
        return save_fail(s, failed, "open the directory of", err);
    save_clear_leftovers(s->dir_fd, s->name);
    if (s->keep_as != NULL)
        save_clear_leftovers(s->dir_fd, save_base(s->keep_as));
    return save_open_temp(s, err);
}

static lb_status save_open(lb_saver *s, const char *path, const char *keep_as, lb_error *err)
{
    bool done;
    s->path = strdup(path);
    s->keep_as = keep_as == NULL ? NULL : strdup(keep_as);
    s->buffer = malloc(SAVE_BUFFER);
    if (s->path == NULL || s->buffer == NULL || (keep_as != NULL && s->keep_as == NULL))
        return lb_fail_nomem(err);
    if (path[0] == '\0')
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the file to write has an empty name");
    LB_TRY(save_open_direct(s, &done, err));
    return done ? LB_OK : save_open_beside(s, err);
}

lb_status lb_saver_open_as(lb_context *cx, const char *path, const char *keep_as, lb_saver **out, lb_error *err)
{
    lb_saver *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->cx = cx;
    s->dir_fd = s->fd = -1;
    lb_error_clear(&s->error);
    lb_status status = save_open(s, path, keep_as, err);
    if (status != LB_OK) {
        lb_saver_discard(s);
        return status;
    }
    *out = s;
    return LB_OK;
}

size_t lb_saver_stem(const char *path)
{
    const lb_container *container = lb_container_of_path(lb_str_of(path));

    return container == NULL ? 0 : lb_container_strip(lb_str_of(path)).size;
}

lb_status lb_saver_open(lb_context *cx, const char *path, lb_saver **out, lb_error *err)
{
    const lb_container *container = lb_container_of_path(lb_str_of(path));
    lb_packer *packer = NULL;

    lb_error_clear(err);
    *out = NULL;
    if (container != NULL)
        LB_TRY(lb_packer_open(container, &packer, err));
    lb_status status = lb_saver_open_as(cx, path, NULL, out, err);
    if (status == LB_OK)
        (*out)->packer = packer;
    else
        lb_packer_free(packer);
    return status;
}

/* ---------------------------------------------------------------- writing */

static int save_write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            return EIO;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Write out, unless a failure came before; the first one is kept. */
static bool save_put(lb_saver *s, const uint8_t *bytes, size_t size)
{
    if (s->error.code != LB_OK)
        return false;
    if (s->cx != NULL && lb_check_cancel(s->cx, &s->error) != LB_OK)
        return false;
    int failed = save_write_all(s->fd, bytes, size);
    if (failed != 0)
        (void)lb_fail_errno(&s->error, failed, s->path, "write");
    return failed == 0;
}

static bool save_flush(lb_saver *s)
{
    size_t size = s->used;
    s->used = 0;
    return size == 0 ? s->error.code == LB_OK : save_put(s, s->buffer, size);
}

/* Behind the packer. */
static bool save_write(void *saver, const void *bytes, size_t size)
{
    lb_saver *s = saver;
    if (size <= SAVE_BUFFER - s->used) {
        if (size != 0)
            memcpy(s->buffer + s->used, bytes, size);
        s->used += size;
        return s->error.code == LB_OK;
    }
    if (!save_flush(s))
        return false;
    return size < SAVE_BUFFER ? save_write(s, bytes, size) : save_put(s, bytes, size);
}

/* The packer said no: where writing did not, memory ran out. */
static bool save_packed(lb_saver *s, bool done, bool nomem)
{
    if (!done && nomem && s->error.code == LB_OK)
        (void)lb_fail_nomem(&s->error);
    return done;
}

bool lb_saver_write(void *saver, const void *bytes, size_t size)
{
    lb_saver *s = saver;
    bool nomem;
    if (s->packer == NULL)
        return save_write(s, bytes, size);
    bool done = s->error.code == LB_OK && lb_packer_add(s->packer, bytes, size, save_write, s, &nomem);
    return s->error.code == LB_OK && save_packed(s, done, nomem);
}

const lb_error *lb_saver_error(const lb_saver *saver)
{
    return saver->error.code != LB_OK ? &saver->error : NULL;
}

static bool save_end_packing(lb_saver *s)
{
    bool nomem;
    if (s->packer == NULL || s->error.code != LB_OK)
        return s->error.code == LB_OK;
    bool done = lb_packer_finish(s->packer, save_write, s, &nomem);
    return save_packed(s, done, nomem);
}

/* ---------------------------------------------------------------- committing */

/* Some file systems cannot sync (what they cannot do cannot be asked for); pipes and devices neither. */
static bool save_sync(int fd)
{
    return TEMP_FAILURE_RETRY(fsync(fd)) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS ||
           errno == EBADF;
}

lb_status lb_sync_dir(int fd, const char *path, lb_error *err)
{
    return save_sync(fd) ? LB_OK : lb_fail_errno(err, errno, path, "sync");
}

/* Copy the old file: for file systems without hard links. Returns errno. */
static int save_copy(lb_saver *s, const char *to)
{
    struct stat st;
    int failed = 0;
    int in = TEMP_FAILURE_RETRY(openat(s->dir_fd, s->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    int out = in < 0 || fstat(in, &st) != 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
    if (out < 0)
        failed = errno;
    while (failed == 0) {
        ssize_t n = read(in, s->buffer, SAVE_BUFFER); /* the buffer was flushed */
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            failed = n < 0 ? errno : 0;
            break;
        }
        failed = save_write_all(out, s->buffer, (size_t)n);
    }
    if (failed == 0 && !save_sync(out))
        failed = errno;
    if (out >= 0 && close(out) != 0 && failed == 0)
        failed = errno;
    if (in >= 0)
        (void)close(in);
    return failed;
}

/* Give the old file its second name, by way of a temporary one, so that neither name is ever without a whole file. */
static lb_status save_keep_old(lb_saver *s, lb_error *err)
{
    char *dir = save_dir(s->keep_as), *temp = NULL;
    save_name name;
    int failed = 0;
    save_temp_name(save_base(s->keep_as), &name);
    if (dir == NULL || asprintf(&temp, "%s/%s", dir, name.text) < 0) {
        free(dir);
        return lb_fail_nomem(err);
    }
    bool linked = linkat(s->dir_fd, s->name, AT_FDCWD, temp, 0) == 0;
    if (linked || errno != ENOENT) { /* else nothing stood there */
        failed = linked ? 0 : save_copy(s, temp);
        if (failed == 0 && rename(temp, s->keep_as) != 0)
            failed = errno;
        (void)unlink(temp); /* stays where both names were the same file already, or on failure */
    }
    free(temp);
    free(dir);
    return failed == 0 ? LB_OK : lb_fail_errno(err, failed, s->keep_as, "keep the former file as");
}

static lb_status save_close(lb_saver *s, lb_error *err)
{
    int fd = s->fd;
    s->fd = -1;
    return close(fd) == 0 || errno == EINTR ? LB_OK : save_fail(s, errno, "close", err);
}

static lb_status save_replace(lb_saver *s, lb_error *err)
{
    if (!save_sync(s->fd))
        return save_fail(s, errno, "sync", err);
    LB_TRY(save_close(s, err));
    if (s->keep_as != NULL)
        LB_TRY(save_keep_old(s, err));
    if (renameat(s->dir_fd, s->temp.text, s->dir_fd, s->name) != 0)
        return save_fail(s, errno, "rename the new file to", err);
    s->made = false;
    return save_sync(s->dir_fd) ? LB_OK : save_fail(s, errno, "sync the directory of", err);
}

static lb_status save_commit(lb_saver *s, lb_error *err)
{
    if (!save_end_packing(s) || !save_flush(s)) {
        if (err != NULL && err->code == LB_OK)
            *err = s->error;
        return s->error.code;
    }
    return s->direct ? save_close(s, err) : save_replace(s, err);
}

lb_status lb_saver_commit(lb_saver *saver, lb_error *err)
{
    lb_error_clear(err);
    lb_status status = save_commit(saver, err);
    lb_saver_discard(saver);
    return status;
}

void lb_saver_discard(lb_saver *saver)
{
    if (saver == NULL)
        return;
    if (saver->made)
        (void)unlinkat(saver->dir_fd, saver->temp.text, 0);
    if (saver->fd >= 0)
        (void)close(saver->fd);
    if (saver->dir_fd >= 0)
        (void)close(saver->dir_fd);
    free(saver->path);
    free(saver->target);
    free(saver->keep_as);
    free(saver->buffer);
    lb_packer_free(saver->packer);
    free(saver);
}
