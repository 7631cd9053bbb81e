#include "base/hash.h"

#include <pthread.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cpu.h"
#include "base/hash_wide.h"
#include "blake3.h"

struct lb_xxh3 {
    XXH3_state_t state; /* wants 64-byte alignment, which the type carries */
};

struct lb_blake3 {
    blake3_hasher hasher;
};

uint64_t lb_xxh3_64(const void *bytes, size_t size)
{
    return XXH3_64bits(size == 0 ? "" : bytes, size);
}

lb_xxh3 *lb_xxh3_new(void)
{
    lb_xxh3 *h = aligned_alloc(_Alignof(lb_xxh3), sizeof *h);
    if (h != NULL) {
        XXH3_INITSTATE(&h->state);
        lb_xxh3_reset(h);
    }
    return h;
}

void lb_xxh3_free(lb_xxh3 *h)
{
    free(h);
}

void lb_xxh3_reset(lb_xxh3 *h)
{
    (void)XXH3_128bits_reset(&h->state);
}

void lb_xxh3_update(lb_xxh3 *h, const void *bytes, size_t size)
{
    if (size == 0)
        return;
#if defined(LB_HASH_WIDE)
    unsigned cpu = lb_cpu();
    if ((cpu & LB_CPU_AVX512) != 0) {
        lb_xxh3_update_avx512(&h->state, bytes, size);
        return;
    }
    if ((cpu & LB_CPU_AVX2) != 0) {
        lb_xxh3_update_avx2(&h->state, bytes, size);
        return;
    }
#endif
    (void)XXH3_128bits_update(&h->state, bytes, size);
}

void lb_xxh3_digest(const lb_xxh3 *h, uint8_t out[LB_XXH3_SIZE])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&h->state));
    memcpy(out, canonical.digest, LB_XXH3_SIZE);
}

/* The official code looks at the processor on its first block and keeps what it found in a plain variable: that happens once, before
 * threads meet there. */
static void hash_warm_blake3(void)
{
    blake3_hasher hasher;
    uint8_t out[LB_BLAKE3_SIZE];

    blake3_hasher_init(&hasher);
    blake3_hasher_finalize(&hasher, out, sizeof out);
}

lb_blake3 *lb_blake3_new(void)
{
    static pthread_once_t warm = PTHREAD_ONCE_INIT;
    lb_blake3 *h = malloc(sizeof *h);

    (void)pthread_once(&warm, hash_warm_blake3);
    if (h != NULL)
        lb_blake3_reset(h);
    return h;
}

void lb_blake3_free(lb_blake3 *h)
{
    free(h);
}

void lb_blake3_reset(lb_blake3 *h)
{
    blake3_hasher_init(&h->hasher);
}

void lb_blake3_update(lb_blake3 *h, const void *bytes, size_t size)
{
    if (size != 0)
        blake3_hasher_update(&h->hasher, bytes, size);
}

void lb_blake3_digest(const lb_blake3 *h, uint8_t out[LB_BLAKE3_SIZE])
{
    blake3_hasher_finalize(&h->hasher, out, LB_BLAKE3_SIZE);
}

void lb_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}
