/* Finding a few byte values 64 bytes at a time: the primitive under the text tokenizers. */
#ifndef LB_BASE_FIND_H
#define LB_BASE_FIND_H

#include <stddef.h>
#include <stdint.h>

#define LB_FIND_BLOCK 64
#define LB_FIND_VALUES 6

/* For each of `blocks` blocks of 64 bytes and each of `n` byte values (1 to LB_FIND_VALUES) a word of 64 bits:
 * bit i of out[v * stride + b] says whether p[64 * b + i] is values[v]. Reads exactly 64 * blocks bytes, and writes `blocks` words a
 * value. */
typedef void (*lb_find_fn)(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                           size_t stride);

/* The fastest one for this machine; all give the same bits. */
lb_find_fn lb_find_values(void);

/* The definition, byte by byte: the oracle of the others. */
void lb_find_scalar(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out, size_t stride);

/* The places of the bits of `n` words, in order: bit i of word w stands for at + 64 * w + i. Of `out` up to 64 places behind those
 * may be written, too. */
typedef void (*lb_spread_fn)(const uint64_t *words, size_t n, uint32_t at, uint32_t *out);
lb_spread_fn lb_spread_bits(void);
void lb_spread_scalar(const uint64_t *words, size_t n, uint32_t at, uint32_t *out);

#endif
