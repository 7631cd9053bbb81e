/* The columns of a read: which of the table's, where they are in each file, and how a file's batch becomes one of
 * theirs. */
#ifndef LB_LAKE_PROJECT_H
#define LB_LAKE_PROJECT_H

#include "lake/table.h"

typedef struct lb_project {
    lb_table *t;
    struct ArrowSchema schema; /* of the result */
    size_t n_columns;
    uint64_t *columns; /* places in the table's schema */
} lb_project;

/* `names` ended by NULL; NULL or none: all columns. `p` is to be freed also after an error.
 * Errors: NOTFOUND (a column, with a suggestion), CORRUPT (one whose files are in conflict), NOMEM. */
lb_status lb_project_init(lb_project *p, lb_table *t, const char *const *names, lb_error *err);
void lb_project_free(lb_project *p);

/* The same columns in one open file. */
typedef struct lb_project_file {
    const lb_project *project;
    const lb_data *data;
    size_t n_wanted;
    lb_wanted *wanted; /* columns to ask of the reader */
    uint64_t *places;  /* of each result column among them; UINT64_MAX: the file has none */
} lb_project_file;

/* `fresh`: the file changed since the table was opened, so that its columns are looked up by name, and none may be
 * missing (STALE). `f` is to be freed also after an error; it may be used again for another file, without being
 * freed before. */
lb_status lb_project_open(lb_project_file *f, const lb_project *p, const lb_data *data, bool fresh, lb_error *err);
void lb_project_close(lb_project_file *f);

/* Bring a batch of the file to the result's columns. Columns are moved out of `batch`, which the caller releases. An
 * error in a value has in err->row its row of the batch. */
lb_status lb_project_bring(const lb_project_file *f, struct ArrowArray *batch, struct ArrowArray *out, lb_error *err);

#endif
