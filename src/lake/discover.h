/* Which files of a directory are data (lake-map.md 5.2 and 14): the same set for map and doctor. */
#ifndef LB_LAKE_DISCOVER_H
#define LB_LAKE_DISCOVER_H

#include "io/walk.h"

typedef struct lb_discover_options {
    bool hidden, by_products;
    bool no_compressed;  /* leave out files that are compressed as a whole */
    bool record_clashes; /* list a file whose name in the map is another's, under a third name; else UNSUPPORTED */
    const char *const *include, *const *exclude; /* ended by NULL; may be NULL */
} lb_discover_options;

/* One data file. rel_path is its name in the map: valid UTF-8, percent-escaped where the name is not; rel_path_raw then
 * has the name's bytes. */
typedef lb_walk_file lb_data_file;

/* All data files below `root`, by ascending rel_path, in an initialised list; the folder of a Lance dataset is one of them and
 * not looked into. Errors: as lb_walk; USAGE (root is a dataset itself). */
lb_status lb_discover(lb_context *cx, const char *root, const lb_discover_options *options, lb_file_list *out,
                      lb_error *err);

/* Where a file is opened, in the arena. NULL: see arena->why. */
const char *lb_data_file_path(const char *root, const lb_data_file *file, lb_arena *arena);

/* LB_UNSUPPORTED where a file stands under a third name, since its own in the map is another's; else LB_OK. */
lb_status lb_data_file_check_name(const lb_data_file *file, lb_error *err);

/* A name as a map holds it: valid UTF-8; a name that is not has its odd bytes, and `%`, as %XX. */
lb_status lb_map_name_of(lb_str raw, lb_arena *arena, lb_str *out, lb_error *err);

#endif
