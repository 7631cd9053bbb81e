/* Loaded before the C library (LD_PRELOAD): lets the n-th call of a class fail, fall short, or be the last one. The
 * README beside this file says how it is told what to do. Only files below one folder count, so that what the loader
 * and the system's libraries do is left alone. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHIM_FDS 4096

/* The allocator behind the names that are taken over here. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum shim_class {
    OPEN,
    READ,
    WRITE,
    SYNC,
    RENAME,
    LINK,
    UNLINK,
    LOCK,
    CLOSE,
    MMAP,
    STAT,
    READDIR,
    TRUNCATE,
    ALLOC,
    CLASSES
};

static const char *const shim_names[CLASSES] = { "open", "read",  "write", "sync", "rename",  "link",     "unlink",
                                                 "lock", "close", "mmap",  "stat", "readdir", "truncate", "alloc" };

enum shim_deed { NOTHING, FAIL, SHORT, KILL_BEFORE, KILL_AFTER };

static struct {
    bool on;
    char root[PATH_MAX];
    size_t root_size;
    enum shim_class which;
    enum shim_deed deed;
    int error;
    unsigned long at;
    bool ever;  /* from the n-th call on */
    bool plain; /* the file system cannot exchange names */
    _Atomic unsigned long count;
    _Atomic bool hit;
    atomic_bool below[SHIM_FDS];
} shim = { .which = CLASSES };

/* ---------------------------------------------------------------- what is asked */

__attribute__((noreturn)) static void shim_die(void)
{
    (void)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;)
        (void)syscall(SYS_pause);
}

/* Count one call; what is to become of it? A process that is to die before the call does so here. */
static enum shim_deed shim_meet(enum shim_class which)
{
    if (!shim.on || which != shim.which)
        return NOTHING;
    unsigned long n = atomic_fetch_add(&shim.count, 1) + 1;
    if (shim.at == 0 || (shim.ever ? n < shim.at : n != shim.at))
        return NOTHING;
    atomic_store(&shim.hit, true);
    if (shim.deed == KILL_BEFORE)
        shim_die();
    return shim.deed;
}

/* Does the call fail? Then with the error asked for. */
static bool shim_fails(enum shim_deed deed)
{
    if (deed == FAIL)
        errno = shim.error;
    return deed == FAIL;
}

static void shim_after(enum shim_deed deed)
{
    if (deed == KILL_AFTER)
        shim_die();
}

static bool shim_is_below(int dir_fd, const char *path)
{
    if (path[0] != '/')
        return dir_fd >= 0 && dir_fd < SHIM_FDS && atomic_load(&shim.below[dir_fd]);
    return shim.on && strncmp(path, shim.root, shim.root_size) == 0 &&
           (path[shim.root_size] == '/' || path[shim.root_size] == '\0');
}

static bool shim_knows(int fd)
{
    return fd >= 0 && fd < SHIM_FDS && atomic_load(&shim.below[fd]);
}

static void shim_mark(int fd, bool below)
{
    if (fd >= 0 && fd < SHIM_FDS)
        atomic_store(&shim.below[fd], below);
}

/* ---------------------------------------------------------------- beginning and end */

static void shim_set_deed(const char *text)
{
    shim.ever = text[0] != '\0' && text[strlen(text) - 1] == '+';
    if (strncmp(text, "errno:", 6) == 0) {
        shim.deed = FAIL;
        for (const char *p = text + 6; *p >= '0' && *p <= '9' && shim.error < 1000; p++)
            shim.error = shim.error * 10 + (*p - '0');
    } else if (strncmp(text, "short", 5) == 0) {
        shim.deed = SHORT;
    } else if (strcmp(text, "kill-before") == 0) {
        shim.deed = KILL_BEFORE;
    } else if (strcmp(text, "kill-after") == 0) {
        shim.deed = KILL_AFTER;
    }
}

__attribute__((constructor)) static void shim_begin(void)
{
    const char *root = getenv("LAKEBED_FAULT_ROOT"), *which = getenv("LAKEBED_FAULT_CLASS");
    const char *at = getenv("LAKEBED_FAULT_AT"), *deed = getenv("LAKEBED_FAULT_DO");
    if (root == NULL || which == NULL || root[0] != '/' || strlen(root) >= sizeof shim.root)
        return;
    shim.root_size = strlen(root);
    memcpy(shim.root, root, shim.root_size + 1);
    for (int i = 0; i < CLASSES; i++)
        if (strcmp(which, shim_names[i]) == 0)
            shim.which = (enum shim_class)i;
    for (; at != NULL && *at >= '0' && *at <= '9'; at++)
        shim.at = shim.at * 10 + (unsigned long)(*at - '0');
    if (deed != NULL)
        shim_set_deed(deed);
    shim.plain = getenv("LAKEBED_FAULT_PLAIN") != NULL;
    shim.on = true;
}

/* One line: calls counted, whether the asked one came, and descriptors below the folder that were never closed. */
__attribute__((destructor)) static void shim_end(void)
{
    const char *report = getenv("LAKEBED_FAULT_REPORT");
    char text[128];
    int open_fds = 0;
    if (!shim.on || report == NULL)
        return;
    shim.on = false;
    for (int fd = 0; fd < SHIM_FDS; fd++)
        open_fds += atomic_load(&shim.below[fd]);
    int n = snprintf(text, sizeof text, "%lu %d %d\n", atomic_load(&shim.count), (int)atomic_load(&shim.hit), open_fds);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)syscall(SYS_write, fd, text, (size_t)n);
        (void)syscall(SYS_close, fd);
    }
}

/* The next definition of the function that is being replaced. */
#define SHIM_REAL(name)            \
    static __typeof__(&name) real; \
    if (real == NULL)              \
    real = (__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name)

/* ---------------------------------------------------------------- opening */

static mode_t shim_mode(int flags, va_list ap)
{
    return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
}

static int shim_open(int dir_fd, const char *path, int flags, mode_t mode)
{
    bool below = shim_is_below(dir_fd, path);
    enum shim_deed deed = below ? shim_meet(OPEN) : NOTHING;
    if (shim_fails(deed))
        return -1;
    int fd = (int)syscall(SYS_openat, dir_fd, path, flags, mode);
    if (fd >= 0)
        shim_mark(fd, below);
    shim_after(deed);
    return fd;
}

#define SHIM_OPEN(name)                                \
    int name(const char *path, int flags, ...)         \
    {                                                  \
        va_list ap;                                    \
        va_start(ap, flags);                           \
        mode_t mode = shim_mode(flags, ap);            \
        va_end(ap);                                    \
        return shim_open(AT_FDCWD, path, flags, mode); \
    }
#define SHIM_OPENAT(name)                                  \
    int name(int dir_fd, const char *path, int flags, ...) \
    {                                                      \
        va_list ap;                                        \
        va_start(ap, flags);                               \
        mode_t mode = shim_mode(flags, ap);                \
        va_end(ap);                                        \
        return shim_open(dir_fd, path, flags, mode);       \
    }
SHIM_OPEN(open)
SHIM_OPEN(open64)
SHIM_OPENAT(openat)
SHIM_OPENAT(openat64)

DIR *fdopendir(int fd)
{
    SHIM_REAL(fdopendir);
    enum shim_deed deed = shim_knows(fd) ? shim_meet(READDIR) : NOTHING;
    if (shim_fails(deed))
        return NULL;
    DIR *dir = real(fd);
    shim_after(deed);
    return dir;
}

/* ---------------------------------------------------------------- closing: done also where it is said to fail */

int close(int fd)
{
    enum shim_deed deed = shim_knows(fd) ? shim_meet(CLOSE) : NOTHING;
    shim_mark(fd, false);
    int result = (int)syscall(SYS_close, fd);
    shim_after(deed);
    return shim_fails(deed) ? -1 : result;
}

int closedir(DIR *dir)
{
    SHIM_REAL(closedir);
    int fd = dirfd(dir);
    enum shim_deed deed = shim_knows(fd) ? shim_meet(CLOSE) : NOTHING;
    shim_mark(fd, false);
    int result = real(dir);
    shim_after(deed);
    return shim_fails(deed) ? -1 : result;
}

/* ---------------------------------------------------------------- reading and writing */

/* Half of what is asked, but something. */
static size_t shim_size(enum shim_deed deed, size_t size)
{
    return deed == SHORT && size > 1 ? size / 2 : size;
}

#define SHIM_MOVE(type, name, class, number, params, asked, ...)           \
    type name params                                                       \
    {                                                                      \
        enum shim_deed deed = shim_knows(fd) ? shim_meet(class) : NOTHING; \
        if (shim_fails(deed))                                              \
            return -1;                                                     \
        asked = shim_size(deed, asked);                                    \
        type result = (type)syscall(number, __VA_ARGS__);                  \
        shim_after(deed);                                                  \
        return result;                                                     \
    }
SHIM_MOVE(ssize_t, read, READ, SYS_read, (int fd, void *out, size_t size), size, fd, out, size)
SHIM_MOVE(ssize_t, pread, READ, SYS_pread64, (int fd, void *out, size_t size, off_t at), size, fd, out, size, at)
SHIM_MOVE(ssize_t, pread64, READ, SYS_pread64, (int fd, void *out, size_t size, off64_t at), size, fd, out, size, at)
SHIM_MOVE(ssize_t, write, WRITE, SYS_write, (int fd, const void *bytes, size_t size), size, fd, bytes, size)
SHIM_MOVE(ssize_t, pwrite, WRITE, SYS_pwrite64, (int fd, const void *bytes, size_t size, off_t at), size, fd, bytes,
          size, at)
SHIM_MOVE(ssize_t, pwrite64, WRITE, SYS_pwrite64, (int fd, const void *bytes, size_t size, off64_t at), size, fd, bytes,
          size, at)

/* ---------------------------------------------------------------- calls on a descriptor */

#define SHIM_ON_FD(name, class, params, ...)                               \
    int name params                                                        \
    {                                                                      \
        enum shim_deed deed = shim_knows(fd) ? shim_meet(class) : NOTHING; \
        if (shim_fails(deed))                                              \
            return -1;                                                     \
        int result = (int)syscall(__VA_ARGS__);                            \
        shim_after(deed);                                                  \
        return result;                                                     \
    }
SHIM_ON_FD(fsync, SYNC, (int fd), SYS_fsync, fd)
SHIM_ON_FD(fdatasync, SYNC, (int fd), SYS_fdatasync, fd)
SHIM_ON_FD(flock, LOCK, (int fd, int how), SYS_flock, fd, how)
SHIM_ON_FD(ftruncate, TRUNCATE, (int fd, off_t size), SYS_ftruncate, fd, size)
SHIM_ON_FD(ftruncate64, TRUNCATE, (int fd, off64_t size), SYS_ftruncate, fd, size)

static int shim_fcntl(int fd, int what, void *arg)
{
    bool dup = what == F_DUPFD || what == F_DUPFD_CLOEXEC, below = shim_knows(fd);
    enum shim_deed deed = below ? shim_meet(LOCK) : NOTHING;
    if (shim_fails(deed))
        return -1;
    int result = (int)syscall(SYS_fcntl, fd, what, arg);
    if (dup && result >= 0)
        shim_mark(result, below);
    shim_after(deed);
    return result;
}

#define SHIM_FCNTL(name)                  \
    int name(int fd, int what, ...)       \
    {                                     \
        va_list ap;                       \
        va_start(ap, what);               \
        void *arg = va_arg(ap, void *);   \
        va_end(ap);                       \
        return shim_fcntl(fd, what, arg); \
    }
SHIM_FCNTL(fcntl)
SHIM_FCNTL(fcntl64)

static void *shim_mmap(void *at, size_t size, int protect, int flags, int fd, long offset)
{
    enum shim_deed deed = shim_knows(fd) ? shim_meet(MMAP) : NOTHING;
    if (shim_fails(deed))
        return MAP_FAILED;
    void *result = (void *)syscall(SYS_mmap, at, size, protect, flags, fd, offset);
    shim_after(deed);
    return result;
}

void *mmap(void *at, size_t size, int protect, int flags, int fd, off_t offset)
{
    return shim_mmap(at, size, protect, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protect, int flags, int fd, off64_t offset)
{
    return shim_mmap(at, size, protect, flags, fd, offset);
}

/* ---------------------------------------------------------------- what a file is */

#define SHIM_STAT(name, type, below, params, ...)                  \
    int name params                                                \
    {                                                              \
        SHIM_REAL(name);                                           \
        enum shim_deed deed = (below) ? shim_meet(STAT) : NOTHING; \
        if (shim_fails(deed))                                      \
            return -1;                                             \
        int result = real(__VA_ARGS__);                            \
        shim_after(deed);                                          \
        return result;                                             \
    }
SHIM_STAT(stat, stat, shim_is_below(AT_FDCWD, path), (const char *path, struct stat *out), path, out)
SHIM_STAT(lstat, stat, shim_is_below(AT_FDCWD, path), (const char *path, struct stat *out), path, out)
SHIM_STAT(fstat, stat, shim_knows(fd), (int fd, struct stat *out), fd, out)
SHIM_STAT(fstatat, stat, shim_is_below(fd, path), (int fd, const char *path, struct stat *out, int flags), fd, path,
          out, flags)
SHIM_STAT(stat64, stat64, shim_is_below(AT_FDCWD, path), (const char *path, struct stat64 *out), path, out)
SHIM_STAT(lstat64, stat64, shim_is_below(AT_FDCWD, path), (const char *path, struct stat64 *out), path, out)
SHIM_STAT(fstat64, stat64, shim_knows(fd), (int fd, struct stat64 *out), fd, out)
SHIM_STAT(fstatat64, stat64, shim_is_below(fd, path), (int fd, const char *path, struct stat64 *out, int flags), fd,
          path, out, flags)
SHIM_STAT(access, int, shim_is_below(AT_FDCWD, path), (const char *path, int how), path, how)
SHIM_STAT(faccessat, int, shim_is_below(fd, path), (int fd, const char *path, int how, int flags), fd, path, how, flags)
SHIM_STAT(fchmod, int, shim_knows(fd), (int fd, mode_t mode), fd, mode)

#define SHIM_READDIR(name, type)                                                     \
    struct type *name(DIR *dir)                                                      \
    {                                                                                \
        SHIM_REAL(name);                                                             \
        enum shim_deed deed = shim_knows(dirfd(dir)) ? shim_meet(READDIR) : NOTHING; \
        if (shim_fails(deed))                                                        \
            return NULL;                                                             \
        struct type *result = real(dir);                                             \
        shim_after(deed);                                                            \
        return result;                                                               \
    }
SHIM_READDIR(readdir, dirent)
SHIM_READDIR(readdir64, dirent64)

/* ---------------------------------------------------------------- names */

#define SHIM_NAMES(name, class, below, params, ...)                 \
    int name params                                                 \
    {                                                               \
        enum shim_deed deed = (below) ? shim_meet(class) : NOTHING; \
        if (shim_fails(deed))                                       \
            return -1;                                              \
        int result = (int)syscall(__VA_ARGS__);                     \
        shim_after(deed);                                           \
        return result;                                              \
    }
SHIM_NAMES(rename, RENAME, shim_is_below(AT_FDCWD, to), (const char *from, const char *to), SYS_renameat2, AT_FDCWD,
           from, AT_FDCWD, to, 0)
SHIM_NAMES(renameat, RENAME, shim_is_below(to_fd, to), (int from_fd, const char *from, int to_fd, const char *to),
           SYS_renameat2, from_fd, from, to_fd, to, 0)

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    bool below = shim_is_below(to_fd, to);
    if (below && flags != 0 && shim.plain) {
        errno = EINVAL;
        return -1;
    }
    enum shim_deed deed = below ? shim_meet(RENAME) : NOTHING;
    if (shim_fails(deed))
        return -1;
    int result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    shim_after(deed);
    return result;
}

SHIM_NAMES(link, LINK, shim_is_below(AT_FDCWD, to), (const char *from, const char *to), SYS_linkat, AT_FDCWD, from,
           AT_FDCWD, to, 0)
SHIM_NAMES(linkat, LINK, shim_is_below(to_fd, to),
           (int from_fd, const char *from, int to_fd, const char *to, int flags), SYS_linkat, from_fd, from, to_fd, to,
           flags)
SHIM_NAMES(unlink, UNLINK, shim_is_below(AT_FDCWD, path), (const char *path), SYS_unlinkat, AT_FDCWD, path, 0)
SHIM_NAMES(unlinkat, UNLINK, shim_is_below(dir_fd, path), (int dir_fd, const char *path, int flags), SYS_unlinkat,
           dir_fd, path, flags)

/* ---------------------------------------------------------------- memory */

void *malloc(size_t size)
{
    enum shim_deed deed = shim_meet(ALLOC);
    return shim_fails(deed) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    enum shim_deed deed = shim_meet(ALLOC);
    return shim_fails(deed) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    enum shim_deed deed = shim_meet(ALLOC);
    return shim_fails(deed) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    enum shim_deed deed = shim_meet(ALLOC);
    void *p = deed == FAIL ? NULL : __libc_memalign(alignment, size);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    enum shim_deed deed = shim_meet(ALLOC);
    return shim_fails(deed) ? NULL : __libc_memalign(alignment, size);
}
