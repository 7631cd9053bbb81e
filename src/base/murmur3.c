#include "base/murmur3.h"

#include <string.h>

#include "base/utf8.h"

typedef struct murmur3 {
    uint64_t h1, h2;
} murmur3;

static inline uint64_t murmur3_rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static inline uint64_t murmur3_k1(uint64_t k)
{
    return murmur3_rotate(k * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
}

static inline uint64_t murmur3_k2(uint64_t k)
{
    return murmur3_rotate(k * 0x4cf5ad432745937fu, 33) * 0x87c37b91114253d5u;
}

/* Take in whole blocks of 16 bytes. */
static void murmur3_blocks(murmur3 *m, const uint8_t *p, size_t blocks)
{
    for (size_t i = 0; i < blocks; i++, p += 16) {
        uint64_t a, b;
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        m->h1 = (murmur3_rotate(m->h1 ^ murmur3_k1(a), 27) + m->h2) * 5 + 0x52dce729;
        m->h2 = (murmur3_rotate(m->h2 ^ murmur3_k2(b), 31) + m->h1) * 5 + 0x38495ab5;
    }
}

static uint64_t murmur3_mix(uint64_t v)
{
    v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
    v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53u;
    return v ^ v >> 33;
}

/* Take in the last bytes, fewer than 16, of `total`. */
static void murmur3_end(murmur3 *m, const uint8_t *tail, size_t size, uint64_t total, uint8_t out[LB_MURMUR3_SIZE])
{
    uint8_t last[16] = { 0 };
    uint64_t a, b;

    if (size != 0)
        memcpy(last, tail, size);
    memcpy(&a, last, 8);
    memcpy(&b, last + 8, 8);
    uint64_t h1 = m->h1 ^ murmur3_k1(a) ^ total, h2 = m->h2 ^ murmur3_k2(b) ^ total; /* a zero half changes nothing */
    h1 += h2;
    h2 += h1;
    h1 = murmur3_mix(h1);
    h2 = murmur3_mix(h2);
    h1 += h2;
    h2 += h1;
    memcpy(out, &h1, 8);
    memcpy(out + 8, &h2, 8);
}

void lb_murmur3_128(const void *bytes, size_t size, uint32_t seed, uint8_t out[LB_MURMUR3_SIZE])
{
    murmur3 m = { seed, seed };
    const uint8_t *p = bytes;

    murmur3_blocks(&m, p, size / 16);
    murmur3_end(&m, size % 16 == 0 ? NULL : p + size / 16 * 16, size % 16, size, out);
}

void lb_murmur3_128_utf16(const char *text, size_t size, uint8_t out[LB_MURMUR3_SIZE])
{
    enum { ROOM = 512 };
    murmur3 m = { 0, 0 };
    uint16_t units[ROOM];
    size_t n = 0;
    uint64_t total = 0;

    for (size_t at = 0; at < size;) {
        uint8_t byte = (uint8_t)text[at];
        if (byte < 0x80) {
            units[n++] = byte;
            at++;
        } else {
            uint32_t c;
            at += lb_utf8_decode((const uint8_t *)text + at, size - at, &c);
            if (c >= 0x10000)
                units[n++] = (uint16_t)(0xD7C0 + (c >> 10)); /* 0xD800 less 0x10000 >> 10 */
            units[n++] = c >= 0x10000 ? (uint16_t)(0xDC00 | (c & 0x3FF)) : (uint16_t)c;
        }
        if (n >= ROOM - 1) { /* whole blocks only: the rest moves to the front */
            size_t whole = n / 8 * 8;
            murmur3_blocks(&m, (const uint8_t *)units, whole / 8);
            total += whole * 2;
            n -= whole;
            memmove(units, units + whole, n * 2);
        }
    }
    size_t blocks = n / 8;
    murmur3_blocks(&m, (const uint8_t *)units, blocks);
    murmur3_end(&m, (const uint8_t *)(units + blocks * 8), (n - blocks * 8) * 2, total + n * 2, out);
}
