/* Walking a directory: regular files in ascending order of their paths' bytes, symbolic links skipped (lake-map.md
 * 5.2). */
#ifndef LB_IO_WALK_H
#define LB_IO_WALK_H

#include "base/buf.h"
#include "base/context.h"

typedef struct lb_walk_file { /* paths end in NUL */
    lb_str rel_path;          /* `/` between, bytes as listed; whoever gives a file another name puts it here */
    lb_str rel_path_raw;      /* and keeps the listed one here; else empty */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
} lb_walk_file;

/* Files found. An array and packed names: a lake may have millions of files, and all of them are held at once. */
typedef struct lb_file_list {
    lb_walk_file *files;
    size_t count;
    lb_buf bytes;   /* what `files` points into */
    lb_arena names; /* strings of the files */
    char *room;     /* in the arena's piece that is filled now, and how much is left of it */
    size_t room_left;
    size_t links; /* symbolic links that were skipped: to folders, or of names that are wanted */
} lb_file_list;

void lb_file_list_init(lb_file_list *list, lb_budget *budget);
void lb_file_list_free(lb_file_list *list);

typedef struct lb_walk_options {
    bool hidden; /* also enter directories whose name begins with a dot */
    /* Say whether a directory is entered, whether a file is taken; NULL: all. `is_dir`: rel_path is a directory's.
     * Called from several threads at once. */
    bool (*want)(void *user, lb_str rel_path, bool is_dir);
    void *user;
} lb_walk_options;

/* Give all files below `root` (which may be a link), sorted, in an initialised list. Depth of folders is not limited
 * by the stack, and folders are read on up to cx->threads threads. Errors: NOTFOUND, IO (also a folder that cannot be
 * read: the walk fails), USAGE (root is no directory), CANCELLED, BUDGET. A file that vanishes meanwhile is left out. */
lb_status lb_walk(lb_context *cx, const char *root, const lb_walk_options *options, lb_file_list *out, lb_error *err);

#endif
