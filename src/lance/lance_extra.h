/* Further data files for the fragments of a version: how columns are added, and companions that come later. */
#ifndef LB_LANCE_LANCE_EXTRA_H
#define LB_LANCE_LANCE_EXTRA_H

#include "lance/fragments.h"
#include "lance/lance_change.h"

/* One file for each fragment of `set`, with the batches of its first one. The stream gives a row for each live row, in order; it is
 * pulled to its end. New companions get ids from *next_id on. On error no file is left. Errors: USAGE: other rows
 * than the dataset has; those of lb_lance_rows_write. */
typedef struct lb_lance_extra {
    lb_lance_work *work;
    lb_lance_set *set;
    struct ArrowArrayStream *stream;
    const struct ArrowSchema *from, *to; /* of the stream; of the writer */
    lb_lance_writer *writer;
    const char *const *file_names; /* may be NULL */
    int32_t *next_id;
    lb_lance_new_files files; /* made */
    uint64_t taken;           /* rows pulled */
} lb_lance_extra;

lb_status lb_lance_extra_write(lb_lance_extra *extra, lb_error *err);

/* Add the files to the fragments of the newest version. Errors: CONFLICT: it has fragments that `base` has not. */
lb_status lb_lance_extra_add(const lb_lance_snapshot *base, const lb_lance_new_files *files, lb_lance_snapshot *newest,
                             lb_error *err);

/* Add the fields that a writer made, and say which of them are companions, beside those that are known. */
lb_status lb_lance_extra_fields(const lb_lance_fields *added, const lb_lance_companions *companions,
                                lb_lance_snapshot *newest, lb_error *err);

#endif
