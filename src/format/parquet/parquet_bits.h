/* Packed numbers and bits: what levels, dictionary indices, booleans and deltas are made of (Encodings.md of
 * parquet-format). Bits are counted from the least significant one of the first byte. */
#ifndef LB_FORMAT_PARQUET_BITS_H
#define LB_FORMAT_PARQUET_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of `width` bits that stand one after the other: `n` of them from number `first` on. The caller made sure that
 * (first + n) * width bits lie in the `size` bytes. */
void lb_parquet_unpack32(const uint8_t *bytes, size_t size, unsigned width, uint64_t first, size_t n, uint32_t *out);
void lb_parquet_unpack64(const uint8_t *bytes, size_t size, unsigned width, uint64_t first, size_t n, uint64_t *out);

/* Bitmaps: copy `n` bits; set `n` bits to one value; count those that are set. Bits of `to` before `to_first` stay,
 * those behind in the last byte touched may change. */
void lb_bits_copy(uint8_t *to, uint64_t to_first, const uint8_t *from, uint64_t from_first, uint64_t n);
void lb_bits_fill(uint8_t *to, uint64_t first, uint64_t n, bool value);
uint64_t lb_bits_count(const uint8_t *bits, uint64_t first, uint64_t n);

static inline bool lb_bits_get(const uint8_t *bits, uint64_t i)
{
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
}

/* Runs of equal numbers and of packed ones, mixed: the encoding RLE. */
typedef struct lb_parquet_hybrid {
    const uint8_t *at, *end;
    unsigned width;
    uint64_t left; /* numbers left in this run */
    bool packed;   /* the run: packed, or `value` again and again */
    uint32_t value;
    const uint8_t *run; /* packed: its bytes, and how many numbers of it were given */
    size_t run_size;
    uint64_t given;
} lb_parquet_hybrid;

/* `width` at most 32. Of width 0 there are as many numbers as are asked for, whatever the bytes are. */
void lb_parquet_hybrid_init(lb_parquet_hybrid *h, const uint8_t *bytes, size_t size, unsigned width);

/* The next `n` numbers. False: the bytes end before, or break the encoding. */
bool lb_parquet_hybrid_numbers(lb_parquet_hybrid *h, size_t n, uint32_t *out);
bool lb_parquet_hybrid_skip(lb_parquet_hybrid *h, uint64_t n);

/* The same as levels; none is more than `max`, or it is false. */
bool lb_parquet_hybrid_levels(lb_parquet_hybrid *h, size_t n, uint16_t max, uint16_t *out);

/* The same of width 1 as bits from `first` on, `bits` NULL: they are only counted. *ones gets how many are set. */
bool lb_parquet_hybrid_bits(lb_parquet_hybrid *h, uint64_t n, uint8_t *bits, uint64_t first, uint64_t *ones);

/* How many of the next numbers are of one run (as far as is known without decoding), at most `most`; *equal: they
 * are all *value. 0: the bytes end or break the encoding. */
uint64_t lb_parquet_hybrid_run(lb_parquet_hybrid *h, uint64_t most, bool *equal, uint32_t *value);

/* Behind the bytes of the next `n` numbers, where those up to `there` may be looked at and no others; NULL: they do not tell.
 * What breaks the encoding is told when the numbers are asked for. */
const uint8_t *lb_parquet_hybrid_reach(const lb_parquet_hybrid *h, uint64_t n, const uint8_t *there);

/* Levels of the encoding BIT_PACKED count bits from the most significant one: bring `n` numbers to the order of all
 * others. `out` has (n * width + 7) / 8 bytes, `bytes` as many. */
void lb_parquet_reorder(const uint8_t *bytes, unsigned width, uint64_t n, uint8_t *out);

/* Unsigned LEB128 of at most 64 bits. False: the bytes end or it is longer. */
static inline bool lb_parquet_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = v;
            return true;
        }
    }
    return false;
}

#endif
