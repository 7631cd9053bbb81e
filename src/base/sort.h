/* Sorting of numbers. */
#ifndef LB_BASE_SORT_H
#define LB_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sort `keys` ascending and bring `places` (may be NULL) to the same order; equal keys stay in theirs. The spare
 * arrays have n items each. Cost: linear; bytes that are equal in all keys cost nothing. */
void lb_sort_u64(uint64_t *keys, uint32_t *places, size_t n, uint64_t *spare_keys, uint32_t *spare_places);

#endif
