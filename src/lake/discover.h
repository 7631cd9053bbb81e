/* Which files of a directory are data (lake-map.md 5.2 and 14): the same set for map and doctor. */
#ifndef LB_LAKE_DISCOVER_H
#define LB_LAKE_DISCOVER_H

#include "io/walk.h"

typedef struct lb_discover_options {
    bool hidden, by_products;
    const char *const *include, *const *exclude; /* ended by NULL; may be NULL */
} lb_discover_options;

/* One data file: the name in the map, and the one on disk. */
typedef struct lb_data_file {
    lb_str rel_path;     /* valid UTF-8: percent-escaped where the name is not */
    lb_str rel_path_raw; /* the name's bytes where they are not UTF-8; else empty */
    const char *path;    /* to open it */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
} lb_data_file;

/* All data files below `root`, Lance datasets among them (a folder that is taken as one file and not looked into), by ascending rel_path. Errors: as lb_walk. */
lb_status lb_discover(lb_context *cx, const char *root, const lb_discover_options *options, lb_arena *arena,
                      lb_data_file **files, size_t *count, lb_error *err);

/* A name as a map holds it: valid UTF-8; a name that is not has its odd bytes, and `%`, as %XX. */
lb_status lb_map_name_of(lb_str raw, lb_arena *arena, lb_str *out, lb_error *err);

#endif
