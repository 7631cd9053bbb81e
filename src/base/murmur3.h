/* MurmurHash3, the 128-bit x64 variant, as lineage records use it. Not against anybody: only to tell texts apart. */
#ifndef LB_BASE_MURMUR3_H
#define LB_BASE_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

#define LB_MURMUR3_SIZE 16

/* Hash of `size` bytes: two halves, each in little-endian byte order. */
void lb_murmur3_128(const void *bytes, size_t size, uint32_t seed, uint8_t out[LB_MURMUR3_SIZE]);

/* Hash with seed 0 of valid UTF-8 text as UTF-16 (little-endian, no byte-order mark), which is made piece by piece on
 * the way; a byte that is not valid counts as U+FFFD. */
void lb_murmur3_128_utf16(const char *text, size_t size, uint8_t out[LB_MURMUR3_SIZE]);

#endif
