/* Walking a directory: regular files in ascending order of their paths' bytes, symbolic links skipped (lake-map.md
 * 5.2). */
#ifndef LB_IO_WALK_H
#define LB_IO_WALK_H

#include "base/context.h"

typedef struct lb_walk_file {
    lb_str rel_path; /* `/` between, bytes as listed */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
} lb_walk_file;

typedef struct lb_walk_options {
    bool hidden; /* also enter directories whose name begins with a dot */
    /* Say whether a directory is entered, whether a file is taken; NULL: all. `is_dir`: rel_path is a directory's. */
    bool (*want)(void *user, lb_str rel_path, bool is_dir);
    void *user;
} lb_walk_options;

/* Give all files below `root` (which may be a link), sorted. Depth of folders is not limited by the stack. Errors:
 * NOTFOUND, IO (also a folder that cannot be read: the walk fails), USAGE (root is no directory), CANCELLED, BUDGET.
 * The array and its strings live in the arena. A file that vanishes meanwhile is left out. */
lb_status lb_walk(lb_context *cx, const char *root, const lb_walk_options *options, lb_arena *arena,
                  lb_walk_file **files, size_t *count, lb_error *err);

#endif
