#include "io/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"

#define WALK_ASK_EVERY 1024 /* entries between two looks at the cancel flag */

typedef struct walk {
    lb_context *cx;
    const char *root;
    const lb_walk_options *options;
    lb_arena *arena;
    lb_buf files;   /* of lb_walk_file */
    lb_buf folders; /* of lb_str: still to be read, the latest first */
    int root_fd;
    int last_fd; /* folder read last and its path: the next one mostly lies in it */
    lb_str last;
    unsigned seen;
} walk;

static int64_t walk_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A failure inside the tree; the error names the folder or file. */
static lb_status walk_fail(walk *w, int errnum, lb_str rel_path, const char *what, lb_error *err)
{
    const char *rel = lb_arena_copy(w->arena, rel_path);
    const char *path = rel == NULL ? NULL : lb_path_join(w->arena, w->root, rel);
    return lb_fail_errno(err, errnum, path == NULL ? w->root : path, what);
}

/* What is gone, or became something else, between listing and opening. */
static bool walk_is_gone(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == ESTALE;
}

static bool walk_is_below(lb_str path, lb_str folder)
{
    return folder.size > 0 && path.size > folder.size && path.at[folder.size] == '/' &&
           memcmp(path.at, folder.at, folder.size) == 0;
}

/* Open a folder one component at a time, so that no link is followed on the way and no path is too long. -1: errno. */
static int walk_open(walk *w, lb_str rel_path)
{
    size_t begin = walk_is_below(rel_path, w->last) ? w->last.size + 1 : 0;
    int from = begin != 0 ? w->last_fd : w->root_fd, fd = from;
    char name[NAME_MAX + 1];
    while (begin < rel_path.size) {
        const char *slash = memchr(rel_path.at + begin, '/', rel_path.size - begin);
        size_t end = slash == NULL ? rel_path.size : (size_t)(slash - rel_path.at);
        int next = -1, failed = ENAMETOOLONG;
        if (end - begin < sizeof name) {
            memcpy(name, rel_path.at + begin, end - begin);
            name[end - begin] = '\0';
            int how = end == rel_path.size ? O_RDONLY : O_PATH;
            next = TEMP_FAILURE_RETRY(openat(fd, name, how | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            failed = errno;
        }
        if (fd != from)
            (void)close(fd);
        if (next < 0) {
            errno = failed;
            return -1;
        }
        fd = next;
        begin = end + 1;
    }
    return fd;
}

static lb_status walk_join(walk *w, lb_str folder, const char *name, lb_str *out, lb_error *err)
{
    size_t n = strlen(name), at = folder.size == 0 ? 0 : folder.size + 1;
    char *text = lb_arena_alloc(w->arena, at + n + 1, 1);
    if (text == NULL)
        return lb_arena_fail(w->arena, err);
    if (at != 0) {
        memcpy(text, folder.at, folder.size);
        text[folder.size] = '/';
    }
    memcpy(text + at, name, n);
    *out = (lb_str){ text, at + n };
    return LB_OK;
}

static bool walk_wants(const walk *w, lb_str rel_path, bool is_dir)
{
    const lb_walk_options *o = w->options;
    return o == NULL || o->want == NULL || o->want(o->user, rel_path, is_dir);
}

static lb_status walk_folder_found(walk *w, lb_str rel_path, const char *name, lb_error *err)
{
    if (name[0] == '.' && !(w->options != NULL && w->options->hidden))
        return LB_OK;
    if (!walk_wants(w, rel_path, true))
        return LB_OK;
    return lb_buf_append(&w->folders, &rel_path, sizeof rel_path, err);
}

static lb_status walk_file_found(walk *w, lb_str rel_path, const struct stat *st, lb_error *err)
{
    lb_walk_file file = { rel_path, (uint64_t)st->st_size, walk_ns(st->st_mtim), walk_ns(st->st_ctim) };
    return lb_buf_append(&w->files, &file, sizeof file, err);
}

static lb_status walk_entry(walk *w, int fd, lb_str folder, const struct dirent *entry, lb_error *err)
{
    const char *name = entry->d_name;
    unsigned char type = entry->d_type;
    struct stat st;
    lb_str rel_path;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return LB_OK;
    if (type != DT_UNKNOWN && type != DT_REG && type != DT_DIR)
        return LB_OK;
    if (++w->seen % WALK_ASK_EVERY == 0)
        LB_TRY(lb_check_cancel(w->cx, err));
    LB_TRY(walk_join(w, folder, name, &rel_path, err));
    if (type == DT_DIR)
        return walk_folder_found(w, rel_path, name, err);
    if (type == DT_REG && !walk_wants(w, rel_path, false)) /* asked first: a stat costs more */
        return LB_OK;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return walk_is_gone(errno) ? LB_OK : walk_fail(w, errno, rel_path, "stat", err);
    if (S_ISDIR(st.st_mode))
        return walk_folder_found(w, rel_path, name, err);
    if (!S_ISREG(st.st_mode) || (type == DT_UNKNOWN && !walk_wants(w, rel_path, false)))
        return LB_OK;
    return walk_file_found(w, rel_path, &st, err);
}

static lb_status walk_list(walk *w, DIR *dir, lb_str folder, lb_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            return errno == 0 || walk_is_gone(errno) ? LB_OK : walk_fail(w, errno, folder, "read", err);
        LB_TRY(walk_entry(w, dirfd(dir), folder, entry, err));
    }
}

/* Read one folder; its descriptor stays open as `last_fd` for the folders in it. */
static lb_status walk_folder(walk *w, lb_str folder, lb_error *err)
{
    int fd = folder.size == 0 ? TEMP_FAILURE_RETRY(openat(w->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
                              : walk_open(w, folder);
    if (fd < 0)
        return folder.size != 0 && walk_is_gone(errno) ? LB_OK : walk_fail(w, errno, folder, "open", err);
    int kept = TEMP_FAILURE_RETRY(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    DIR *dir = kept < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int failed = errno;
        (void)close(fd);
        if (kept >= 0)
            (void)close(kept);
        return walk_fail(w, failed, folder, "open", err);
    }
    if (w->last_fd >= 0)
        (void)close(w->last_fd);
    w->last_fd = kept;
    w->last = folder;
    lb_status status = walk_list(w, dir, folder, err);
    (void)closedir(dir);
    return status;
}

static int walk_compare(const void *a, const void *b)
{
    return lb_str_compare(((const lb_walk_file *)a)->rel_path, ((const lb_walk_file *)b)->rel_path);
}

static lb_status walk_all(walk *w, lb_error *err)
{
    lb_str folder = LB_STR("");
    LB_TRY(walk_folder(w, folder, err));
    while (w->folders.size != 0) {
        w->folders.size -= sizeof folder;
        memcpy(&folder, w->folders.data + w->folders.size, sizeof folder);
        LB_TRY(lb_check_cancel(w->cx, err));
        LB_TRY(walk_folder(w, folder, err));
    }
    if (w->files.size != 0)
        qsort(w->files.data, w->files.size / sizeof(lb_walk_file), sizeof(lb_walk_file), walk_compare);
    return LB_OK;
}

static lb_status walk_open_root(walk *w, lb_error *err)
{
    struct stat st;
    if (stat(w->root, &st) != 0)
        return lb_fail_errno(err, errno, w->root, "stat");
    if (!S_ISDIR(st.st_mode)) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "a directory is expected, this is a file");
        lb_fail_path(err, w->root);
        return LB_USAGE;
    }
    w->root_fd = TEMP_FAILURE_RETRY(open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return w->root_fd < 0 ? lb_fail_errno(err, errno, w->root, "open") : LB_OK;
}

lb_status lb_walk(lb_context *cx, const char *root, const lb_walk_options *options, lb_arena *arena,
                  lb_walk_file **files, size_t *count, lb_error *err)
{
    walk w = { .cx = cx, .root = root, .options = options, .arena = arena, .root_fd = -1, .last_fd = -1 };
    *files = NULL;
    *count = 0;
    lb_buf_init(&w.files, arena->budget);
    lb_buf_init(&w.folders, arena->budget);
    lb_status status = walk_open_root(&w, err);
    if (status == LB_OK)
        status = walk_all(&w, err);
    if (status == LB_OK) {
        *files = lb_arena_dup(arena, w.files.data, w.files.size);
        if (*files == NULL)
            status = lb_arena_fail(arena, err);
        else
            *count = w.files.size / sizeof(lb_walk_file);
    }
    if (w.last_fd >= 0)
        (void)close(w.last_fd);
    if (w.root_fd >= 0)
        (void)close(w.root_fd);
    lb_buf_free(&w.files);
    lb_buf_free(&w.folders);
    return status;
}
