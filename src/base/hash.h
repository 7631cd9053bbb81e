/* Hashes: XXH3 (fast, against rot) and BLAKE3 (against anything). */
#ifndef LB_BASE_HASH_H
#define LB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define LB_XXH3_SIZE 16
#define LB_BLAKE3_SIZE 32

uint64_t lb_xxh3_64(const void *bytes, size_t size);

/* XXH3-128 and BLAKE3-256 of a stream of bytes. */
typedef struct lb_xxh3 lb_xxh3;
lb_xxh3 *lb_xxh3_new(void); /* NULL: no memory */
void lb_xxh3_free(lb_xxh3 *h);
void lb_xxh3_reset(lb_xxh3 *h);
void lb_xxh3_update(lb_xxh3 *h, const void *bytes, size_t size);
void lb_xxh3_digest(const lb_xxh3 *h, uint8_t out[LB_XXH3_SIZE]); /* canonical (big-endian) form */

typedef struct lb_blake3 lb_blake3;
lb_blake3 *lb_blake3_new(void);
void lb_blake3_free(lb_blake3 *h);
void lb_blake3_reset(lb_blake3 *h);
void lb_blake3_update(lb_blake3 *h, const void *bytes, size_t size);
void lb_blake3_digest(const lb_blake3 *h, uint8_t out[LB_BLAKE3_SIZE]);

/* Lower-case hexadecimal with a closing NUL: `out` has 2 * size + 1 bytes. */
void lb_hex(const uint8_t *bytes, size_t size, char *out);

#endif
