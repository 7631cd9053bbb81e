/* Deletion files: which rows of a fragment are no longer there. */
#ifndef LB_LANCE_DELETIONS_H
#define LB_LANCE_DELETIONS_H

#include "format/lance/lance_message.h"

/* Row offsets in a fragment, ascending, each once. */
typedef struct lb_deletions {
    uint64_t count;
    const uint32_t *rows;
} lb_deletions;

/* Path below the dataset's folder: `_deletions/FRAGMENT-VERSION-ID.arrow` or `.bin`. At most 96 bytes with the NUL.
 * Errors: UNSUPPORTED: a file type of a later release. */
lb_status lb_deletions_path(uint64_t fragment, const lb_lance_deletion_file *file, char out[96], lb_error *err);

/* Read a file of either kind; `rows` (physical) is the fragment's number of rows, below which all offsets lie. In the arena.
 * Errors: CORRUPT, UNSUPPORTED, BUDGET, NOMEM, IO. */
lb_status lb_deletions_read(lb_store *store, const lb_lance_deletion_file *file, uint64_t rows, lb_arena *arena,
                            lb_deletions *out, lb_error *err);

/* Physical row of the live row `row`, and how many live rows lie before the physical row `row`. */
uint64_t lb_deletions_physical(const lb_deletions *d, uint64_t row);
uint64_t lb_deletions_live(const lb_deletions *d, uint64_t row);

#endif
