/* Rows fitted to a dataset that exists: its columns as a schema, and a writer that goes on with its dictionaries
 * and with the companions that tell of nulls. */
#ifndef LB_LANCE_LANCE_FIT_H
#define LB_LANCE_LANCE_FIT_H

#include "format/lance/lance_schema.h"
#include "lance/lance_rows.h"

typedef struct lb_lance_fit {
    lb_lance_work *work;
    struct ArrowSchema schema; /* of the columns that hold data: no companions; dictionaries as their values */
    lb_lance_fields fields;    /* of those, in preorder */
    lb_lance_companions companions;
    lb_lance_tree tree; /* of all fields */
    lb_lance_writer *writer;
    int32_t next_id; /* for new fields */
} lb_lance_fit;

/* What lives in the work's arena lends from the snapshot. Zeroed memory may be closed too. */
lb_status lb_lance_fit_open(lb_lance_fit *fit, lb_lance_work *work, const lb_lance_snapshot *base, lb_error *err);
void lb_lance_fit_close(lb_lance_fit *fit);

/* USAGE where rows of the schema `from` are none of the dataset's: a column is missing, too many, or of a type that
 * its cannot hold. */
lb_status lb_lance_fit_check(const lb_lance_fit *fit, const struct ArrowSchema *from, lb_error *err);

/* Make the writer. */
lb_status lb_lance_fit_writer(lb_lance_fit *fit, const lb_lance_snapshot *base, lb_lance_nulls nulls,
                              lb_lance_entry **metadata, size_t n_metadata, lb_error *err);

#endif
