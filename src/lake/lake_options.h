/* How a lake is built and read: the options of a map build, as kept in its metadata (`bazan.options`) so that reads and heals
 * use what the map remembers. */
#ifndef LB_LAKE_OPTIONS_H
#define LB_LAKE_OPTIONS_H

#include "format/format.h"
#include "lake/discover.h"

typedef struct lb_set_rule {
    const char *glob;
    lb_read_options *options;
} lb_set_rule;

typedef struct lb_lake_options {
    lb_arena arena;
    lb_discover_options discover;
    bool detect, record_errors, pages;
    lb_read_options *read; /* for all files; never NULL */
    size_t n_rules;
    lb_set_rule *rules;     /* later ones win */
    const char *const *set; /* the rules as they were written, ended by NULL */
} lb_lake_options;

/* Errors: USAGE: a rule without a colon, an option in it that is none. */
lb_status lb_lake_options_new(const lb_map_options *from, lb_lake_options **out, lb_error *err);

/* From what a map's metadata holds; an empty text (maps of the reference) gives the defaults. Errors: CORRUPT. */
lb_status lb_lake_options_of_json(lb_str json, lb_lake_options **out, lb_error *err);

/* The JSON object for `bazan.options`. */
lb_status lb_lake_options_json(const lb_lake_options *options, lb_buf *out, lb_error *err);
void lb_lake_options_free(lb_lake_options *options); /* NULL is fine */

/* How one file is read: for all, then the rules that match, then `over` (may be NULL). */
lb_status lb_lake_options_for(const lb_lake_options *options, lb_str rel_path, const lb_read_options *over,
                              lb_read_options **out, lb_error *err);

#endif
