/* Finding a few byte values 64 bytes at a time: the primitive under the text tokenizers. */
#ifndef LB_BASE_FIND_H
#define LB_BASE_FIND_H

#include <stddef.h>
#include <stdint.h>

#define LB_FIND_BLOCK 64
#define LB_FIND_BYTES 6

/* Up to six byte values; the unused places repeat the first. */
typedef struct lb_byte_set {
    uint8_t bytes[LB_FIND_BYTES];
} lb_byte_set;

/* `count` values, at least 1; what passes LB_FIND_BYTES is dropped. */
lb_byte_set lb_byte_set_of(const uint8_t *bytes, size_t count);

/* Bit i of the answer says whether p[i] is in the set. Reads exactly 64 bytes. */
typedef uint64_t (*lb_find64_fn)(const uint8_t *p, const lb_byte_set *set);

/* The fastest one for this machine; all give the same bits. */
lb_find64_fn lb_find64(void);

/* The definition, byte by byte: the oracle of the others. */
uint64_t lb_find64_scalar(const uint8_t *p, const lb_byte_set *set);

#endif
