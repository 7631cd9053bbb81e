/* Sets of 32-bit numbers as Roaring bitmaps, in the portable form of github.com/RoaringBitmap/RoaringFormatSpec: Lance keeps
 * deleted rows and the fragments of an index so. */
#ifndef LB_WIRE_ROARING_H
#define LB_WIRE_ROARING_H

#include "base/buf.h"

/* Append the numbers (uint32_t each, ascending, each once) to `out`. All must be below `limit`, which bounds the memory.
 * Errors: CORRUPT with the offset in `bytes`, BUDGET, NOMEM. */
lb_status lb_roaring_decode(const void *bytes, size_t size, uint64_t limit, lb_buf *out, lb_error *err);

/* Append the bitmap of `n` numbers, ascending and each once: arrays of up to 4,096 and bitmaps above, no runs; the same bytes
 * for the same numbers. Errors: BUDGET, NOMEM. */
lb_status lb_roaring_encode(const uint32_t *values, size_t n, lb_buf *out, lb_error *err);

#endif
