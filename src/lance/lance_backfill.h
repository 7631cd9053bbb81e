/* Companions that come later: rows that were there before a column got its first nulls are all told to be there. */
#ifndef LB_LANCE_LANCE_BACKFILL_H
#define LB_LANCE_LANCE_BACKFILL_H

#include "lance/lance_extra.h"

/* Write a file for each fragment of `base` with the companions `fresh`, whose fields are `fields`. Errors: what reading the columns
 * they tell of gives; on error no file is left. */
lb_status lb_lance_backfill(lb_lance_work *work, const lb_lance_snapshot *base, const lb_lance_companions *fresh,
                            const lb_lance_fields *fields, lb_lance_entry **metadata, size_t n_metadata,
                            lb_lance_new_files *out, lb_error *err);

#endif
