#include "lineage/lineage_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/path.h"
#include "io/save.h"
#include "lineage/lineage_json.h"

#define LOG_LOCK_WAIT_MS 30000
#define LOG_TRIES 1000 /* names tried for a new file: one a millisecond */

typedef struct log_name {
    char text[NAME_MAX + 1];
} log_name;

struct lb_log_writer {
    char *dir, *lock_path;
    uint64_t max_records;
    bool sync_each;
    bool dirty;        /* written since the last sync */
    bool made;         /* a file was made: its name must last too */
    int dir_fd, fd;    /* of the current file; -1: none yet */
    uint64_t number;   /* in its name */
    uint64_t size;     /* of it, as far as its lines were counted */
    uint64_t records;  /* lines */
    bool ends_in_line; /* its last byte counted is a newline, or there is none */
    lb_buf line;
};

/* ---------------------------------------------------------------- the current file */

static lb_status log_fail(const lb_log_writer *w, const char *what, lb_error *err)
{
    return lb_fail_errno(err, errno, w->dir, what);
}

static void forget_file(lb_log_writer *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
    w->size = w->records = w->number = 0;
    w->ends_in_line = true;
}

bool lb_log_name_number(const char *name, uint64_t *number)
{
    const size_t n = sizeof LB_LOG_PREFIX - 1;
    return strncmp(name, LB_LOG_PREFIX, n) == 0 && name[n] != '+' &&
           lb_parse_uint64(name + n, strlen(name + n), number);
}

/* Name of the current file as the lock file has it; an empty one where there is none. */
static void read_current(const lb_log_writer *w, log_name *name)
{
    int fd = TEMP_FAILURE_RETRY(openat(w->dir_fd, LB_LOG_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    ssize_t n = fd < 0 ? 0 : TEMP_FAILURE_RETRY(pread(fd, name->text, sizeof name->text - 1, 0));
    if (fd >= 0)
        (void)close(fd);
    name->text[n > 0 ? n : 0] = '\0';
    char *end = strchr(name->text, '\n');
    if (end == NULL)
        name->text[0] = '\0'; /* cut off: believed to be none */
    else
        *end = '\0';
}

/* Write all of it; at an offset, or where that is below 0 at the end. Says how much was written. */
static size_t write_all(int fd, const uint8_t *bytes, size_t size, off_t at)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = at < 0 ? TEMP_FAILURE_RETRY(write(fd, bytes + done, size - done))
                           : TEMP_FAILURE_RETRY(pwrite(fd, bytes + done, size - done, at + (off_t)done));
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static lb_status write_current(const lb_log_writer *w, const char *name, lb_error *err)
{
    char text[NAME_MAX + 2];
    size_t n = (size_t)snprintf(text, sizeof text, "%s\n", name);
    int fd = TEMP_FAILURE_RETRY(openat(w->dir_fd, LB_LOG_LOCK, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd < 0)
        return log_fail(w, "open the lock file", err);
    lb_status status = LB_OK;
    if (TEMP_FAILURE_RETRY(ftruncate(fd, 0)) != 0 || write_all(fd, (const uint8_t *)text, n, 0) != n)
        status = log_fail(w, "write the lock file", err);
    (void)close(fd);
    return status;
}

static lb_status sync_file(lb_log_writer *w, lb_error *err)
{
    if (w->dirty && w->fd >= 0 && TEMP_FAILURE_RETRY(fdatasync(w->fd)) != 0)
        return log_fail(w, "sync the log", err);
    w->dirty = false;
    return LB_OK;
}

/* Count the lines that came since the last look. */
static lb_status count_lines(lb_log_writer *w, lb_error *err)
{
    uint8_t buffer[65536];
    for (;;) {
        ssize_t n = TEMP_FAILURE_RETRY(pread(w->fd, buffer, sizeof buffer, (off_t)w->size));
        if (n < 0)
            return log_fail(w, "read the log", err);
        if (n == 0)
            return LB_OK;
        const uint8_t *at = buffer, *end = buffer + n;
        while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL && at++ < end)
            w->records++;
        w->size += (uint64_t)n;
        w->ends_in_line = end[-1] == '\n';
    }
}

/* May the file that is open take one more record? Not one that was removed, cut, is full, or ends in a torn line. */
static lb_status check_file(lb_log_writer *w, bool *good, lb_error *err)
{
    struct stat st;
    *good = false;
    if (w->fd < 0)
        return LB_OK;
    if (fstat(w->fd, &st) != 0)
        return log_fail(w, "stat the log", err);
    if (!S_ISREG(st.st_mode) || st.st_nlink == 0 || st.st_size < 0 || (uint64_t)st.st_size < w->size)
        return LB_OK;
    LB_TRY(count_lines(w, err));
    *good = w->ends_in_line && w->records < w->max_records;
    return LB_OK;
}

static lb_status open_current(lb_log_writer *w, lb_error *err)
{
    log_name name = { "" };
    uint64_t number = 0, before = w->number;
    read_current(w, &name);
    forget_file(w);
    w->number = before;
    if (!lb_log_name_number(name.text, &number))
        return LB_OK;
    w->number = LB_MAX(number, before);
    w->fd = TEMP_FAILURE_RETRY(
        openat(w->dir_fd, name.text, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
    if (w->fd < 0 && errno != ENOENT && errno != ELOOP)
        return log_fail(w, "open the log", err);
    return LB_OK;
}

/* A new file is named after the time, and always later than the one before it, whatever the clock says. */
static lb_status begin_file(lb_log_writer *w, lb_error *err)
{
    log_name name;
    uint64_t number = LB_MAX((uint64_t)(lb_now_ns() / 1000000), w->number == 0 ? 0 : w->number + 1);
    forget_file(w);
    for (int i = 0; i < LOG_TRIES && w->fd < 0; i++, number++) {
        (void)snprintf(name.text, sizeof name.text, LB_LOG_PREFIX "%" PRIu64, number);
        w->number = number;
        w->fd =
            TEMP_FAILURE_RETRY(openat(w->dir_fd, name.text, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (w->fd < 0 && errno != EEXIST)
            break;
    }
    if (w->fd < 0)
        return log_fail(w, "make a log file", err);
    w->made = true;
    LB_TRY(write_current(w, name.text, err));
    return w->sync_each ? lb_sync_dir(w->dir_fd, w->dir, err) : LB_OK;
}

static lb_status find_file(lb_log_writer *w, lb_error *err)
{
    bool good;
    LB_TRY(check_file(w, &good, err));
    if (good)
        return LB_OK;
    LB_TRY(sync_file(w, err));
    LB_TRY(open_current(w, err));
    LB_TRY(check_file(w, &good, err));
    return good ? LB_OK : begin_file(w, err);
}

/* ---------------------------------------------------------------- records */

/* All of the line, or the file as it was. */
static lb_status write_line(lb_log_writer *w, lb_error *err)
{
    size_t done = write_all(w->fd, w->line.data, w->line.size, -1);
    if (done < w->line.size) {
        lb_status status = log_fail(w, "write the log", err);
        if (done > 0 && TEMP_FAILURE_RETRY(ftruncate(w->fd, (off_t)w->size)) != 0)
            w->ends_in_line = false;
        return status;
    }
    w->dirty = true;
    w->size += done;
    w->records++;
    return w->sync_each ? sync_file(w, err) : LB_OK;
}

lb_status lb_log_append(lb_log_writer *w, const lb_lineage_graph *graph, lb_error *err)
{
    lb_lock *lock = NULL;
    w->line.size = 0;
    LB_TRY(lb_lineage_json_write(graph, &w->line, err));
    LB_TRY(lb_lock_take(w->lock_path, LOG_LOCK_WAIT_MS, &lock, err));
    lb_status status = find_file(w, err);
    if (status == LB_OK)
        status = write_line(w, err);
    lb_lock_release(lock);
    return status;
}

/* ---------------------------------------------------------------- open and close */

static char *join_path(const char *dir, const char *name)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = malloc(n);
    if (path != NULL)
        (void)snprintf(path, n, "%s/%s", dir, name);
    return path;
}

static lb_status open_dir(lb_log_writer *w, lb_error *err)
{
    if (mkdir(w->dir, 0777) != 0 && errno != EEXIST)
        return log_fail(w, "make the directory of the log", err);
    w->dir_fd = TEMP_FAILURE_RETRY(open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return w->dir_fd < 0 ? log_fail(w, "open the directory of the log", err) : LB_OK;
}

lb_status lb_log_writer_open(const char *dir, uint64_t max_records, bool sync_each, lb_log_writer **out, lb_error *err)
{
    *out = NULL;
    lb_log_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return lb_fail_nomem(err);
    *w = (lb_log_writer){ .max_records = max_records == 0 ? LB_LOG_RECORDS : max_records,
                          .sync_each = sync_each,
                          .dir_fd = -1,
                          .fd = -1,
                          .ends_in_line = true };
    w->dir = strdup(dir);
    w->lock_path = join_path(dir, LB_LOG_LOCK);
    lb_status status = w->dir == NULL || w->lock_path == NULL ? lb_fail_nomem(err) : open_dir(w, err);
    if (status == LB_OK)
        *out = w;
    else
        (void)lb_log_writer_close(w, NULL);
    return status;
}

lb_status lb_log_writer_close(lb_log_writer *w, lb_error *err)
{
    lb_status status = LB_OK;
    if (w == NULL)
        return LB_OK;
    if (w->dirty)
        status = sync_file(w, err);
    if (w->made && status == LB_OK)
        status = lb_sync_dir(w->dir_fd, w->dir, err);
    forget_file(w);
    if (w->dir_fd >= 0)
        (void)close(w->dir_fd);
    lb_buf_free(&w->line);
    free(w->lock_path);
    free(w->dir);
    free(w);
    return status;
}
