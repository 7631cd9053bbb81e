/* Rows of several arrays of one type, in any order, as one array. */
#ifndef LB_COLUMN_GATHER_H
#define LB_COLUMN_GATHER_H

#include "column/types.h"

/* Row `row` of array `chunk`. */
typedef struct lb_pick {
    uint32_t chunk, row;
} lb_pick;

/* The picked rows, in their order; one may be picked again. `type` is the type of all chunks and of the result;
 * encodings (dictionaries, runs, views) have to be decoded before. Chunks are lent. Errors: UNSUPPORTED: an
 * encoding, or more text than a column holds; NOMEM; CORRUPT (arrays that are none). Cost: linear in the picked
 * values, and a small sum for each chunk. */
lb_status lb_array_gather(const struct ArrowSchema *type, const struct ArrowArray *const *chunks, size_t n_chunks,
                          const lb_pick *picks, size_t n, struct ArrowArray *out, lb_error *err);

/* The general way, for every type (cast.c). */
lb_status lb_array_gather_any(const struct ArrowSchema *type, const struct ArrowArray *const *chunks, size_t n_chunks,
                              const lb_pick *picks, size_t n, struct ArrowArray *out, lb_error *err);

#endif
