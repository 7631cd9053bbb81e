/* The common shapes of numbers, read without a loop over their bytes: a sign, up to 19 digits, at most one point. What
 * these refuse may still be a number, and number.h says which. All of them look at up to LB_DIGITS_PADDING bytes behind
 * the text, whatever stands there. */
#ifndef LB_BASE_NUMBER_PLAIN_H
#define LB_BASE_NUMBER_PLAIN_H

#include "base/str.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LB_INLINE static inline __attribute__((always_inline))
#define LB_DIGITS_PADDING 16
#define LB_PLAIN_DIGITS 19 /* so many always fit uint64 */
#define LB_PLAIN_SIZE (LB_PLAIN_DIGITS + 2)

/* Bytes in the order of the text: the first is the lowest. */
static inline uint64_t lb_load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Bit i says that p[i] is no digit. Reads 16 bytes. The scalar one is the definition. */
static inline uint32_t lb_nondigits16_scalar(const char *p)
{
    uint32_t bits = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t v = lb_load8(p + 8 * i) ^ 0x3030303030303030;
        v = (((v & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | v) & 0x8080808080808080;
        bits |= (uint32_t)(((v >> 7) * 0x0102040810204080) >> 56) << (8 * i);
    }
    return bits;
}

static inline uint32_t lb_nondigits16(const char *p)
{
#if defined(__SSE2__)
    __m128i v = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v)) ^ 0xffff;
#else
    return lb_nondigits16_scalar(p);
#endif
}

/* Of a text of up to 31 bytes: bits behind it are 0. */
LB_INLINE uint32_t lb_nondigits32(const char *p, size_t size)
{
    uint32_t bits = lb_nondigits16(p);
    if (size > 16)
        bits |= lb_nondigits16(p + 16) << 16;
    return bits & (((uint32_t)1 << size) - 1);
}

/* The number that eight digits make, each less '0'. */
LB_INLINE uint64_t lb_digits_of(uint64_t v)
{
    const uint64_t mask = 0x000000ff000000ff;
    v = v * 10 + (v >> 8); /* pairs, in every other byte */
    return ((v & mask) * 0x000f424000000064 + ((v >> 16) & mask) * 0x0000271000000001) >> 32;
}

/* The value of the `count` digits, 0 to 8, that a word begins with. */
LB_INLINE uint64_t lb_digits8(uint64_t word, size_t count)
{
    /* in two steps, for a shift by 64 is none */
    return lb_digits_of((word & 0x0f0f0f0f0f0f0f0f) << (32 - 4 * count) << (32 - 4 * count));
}

/* Eight bytes from p[at] on, of a text from which the byte p[point] is taken out. */
LB_INLINE uint64_t lb_plain_word(const char *p, size_t at, size_t point)
{
    if (point >= at + 8)
        return lb_load8(p + at);
    uint64_t before = point <= at ? 0 : ((uint64_t)1 << (8 * (point - at))) - 1;
    return (lb_load8(p + at) & before) | (lb_load8(p + at + 1) & ~before);
}

/* The value of `count` digits, 1 to 19, among which p[point] is passed over. */
LB_INLINE uint64_t lb_plain_digits(const char *p, size_t count, size_t point)
{
    uint64_t first = lb_plain_word(p, 0, point);
    if (count <= 8)
        return lb_digits8(first, count);
    uint64_t last = lb_digits8(lb_plain_word(p, count - 8, point), 8);
    if (__builtin_expect(count <= 16, 1))
        return lb_digits8(first, count - 8) * 100000000 + last;
    uint64_t middle = lb_digits8(lb_plain_word(p, count - 16, point), 8);
    return (lb_digits8(first, count - 16) * 100000000 + middle) * 100000000 + last;
}

typedef struct lb_plain {
    uint64_t digits; /* all of them run together */
    bool negative, point;
    uint32_t whole, fraction; /* digits before the point as they stand, and after it */
} lb_plain;

extern const uint32_t lb_tens[9]; /* 10^0 to 10^8 */

/* Read -?digits[.digits] of at most LB_PLAIN_DIGITS, at least one, without needless leading zeros. False: something
 * else. */
LB_INLINE bool lb_plain_read(const char *p, size_t size, lb_plain *out)
{
    if (size - 1 >= LB_PLAIN_SIZE)
        return false;
    uint32_t others = lb_nondigits32(p, size);
    size_t sign = *p == '-';
    others >>= sign;
    p += sign;
    size -= sign;
    size_t point = others == 0 ? size : (size_t)__builtin_ctz(others), count = size - (others != 0);
    if ((others & (others - 1)) != 0 || (others != 0 && p[point] != '.') || count - 1 >= LB_PLAIN_DIGITS ||
        (*p == '0' && point > 1))
        return false;
    out->negative = sign != 0;
    out->point = others != 0;
    out->whole = (uint32_t)point;
    out->fraction = (uint32_t)(count - point);
    if (others == 0 && count <= 8)
        out->digits = lb_digits8(lb_load8(p), count);
    else if (point <= 8 && count - point <= 8) /* no branch tells 12.345678 from 112.345678 */
        out->digits = lb_digits8(lb_load8(p), point) * lb_tens[count - point] +
                      lb_digits8(lb_load8(p + point + 1), count - point);
    else
        out->digits = lb_plain_digits(p, count, point);
    return true;
}

/* Is it an integer within int64? False also for -0, which is none, and for the least one. */
LB_INLINE bool lb_plain_integer(const lb_plain *n, int64_t *out)
{
    uint64_t sign = 0 - (uint64_t)n->negative;
    *out = (int64_t)((n->digits ^ sign) - sign);
    return !n->point && n->digits <= INT64_MAX && (n->digits != 0 || !n->negative);
}

extern const double lb_exact_powers[23]; /* 10^0 to 10^22 */

/* The double next to w * 10^q, w of 1 to 19 digits. False: it is too large for one. */
bool lb_double_of(uint64_t w, int64_t q, double *out);

/* The double next to a number with a point. */
static inline double lb_plain_double(const lb_plain *n)
{
    double v = 0;
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 0
    /* both operands exact, so the one operation rounds once */
    if (__builtin_expect(n->digits <= (uint64_t)1 << 53, 1))
        v = (double)(int64_t)n->digits / lb_exact_powers[n->fraction];
    else
#endif
        (void)lb_double_of(n->digits, -(int64_t)n->fraction, &v);
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits |= (uint64_t)n->negative << 63;
    memcpy(&v, &bits, sizeof v);
    return v;
}

extern const double lb_inverse_powers[LB_PLAIN_DIGITS + 1]; /* 10^0 to 10^-19, rounded */

/* Nearly the same, without a division: off by less than LB_ESTIMATE_ERROR of itself (three roundings), and 0 just for
 * 0. For digits within int64. */
#define LB_ESTIMATE_ERROR 0x1p-50
static inline double lb_plain_estimate(const lb_plain *n)
{
    uint64_t sign = 0 - (uint64_t)n->negative;
    return (double)(int64_t)((n->digits ^ sign) - sign) * lb_inverse_powers[n->fraction];
}

/* Read -?digits[.digits]e[+-]digits, within the same limits; the exponent has at most four bytes. */
bool lb_plain_exponent(const char *p, size_t size, double *out);

#endif
