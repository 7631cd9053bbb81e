/* Numbers to text. The shortest digits of a double are found with Schubfach (Giulietti 2020, "The Schubfach way to
 * render doubles"): three products with a power of ten of 128 bits, rounded to odd, decide exactly. */
#include "base/number.h"

#include <math.h>
#include <stdio.h>

#include "base/number_table.h"

#define SIGN_BIT ((uint64_t)1 << 63)

static const char digit_pairs[] = "0001020304050607080910111213141516171819"
                                  "2021222324252627282930313233343536373839"
                                  "4041424344454647484950515253545556575859"
                                  "6061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

/* ---------------------------------------------------------------- integers */

/* Write the digits of v so that they end before `end`; gives their start. At most 20. */
static char *digits_before(char *end, uint64_t v)
{
    for (; v >= 100; v /= 100) {
        end -= 2;
        memcpy(end, digit_pairs + v % 100 * 2, 2);
    }
    if (v < 10) {
        *--end = (char)('0' + v);
        return end;
    }
    end -= 2;
    memcpy(end, digit_pairs + v * 2, 2);
    return end;
}

size_t lb_print_uint64(uint64_t v, char out[LB_INT_TEXT])
{
    char text[LB_INT_TEXT], *end = text + sizeof text, *start = digits_before(end, v);
    memcpy(out, start, (size_t)(end - start));
    return (size_t)(end - start);
}

size_t lb_print_int64(int64_t v, char out[LB_INT_TEXT])
{
    if (v >= 0)
        return lb_print_uint64((uint64_t)v, out);
    char text[LB_INT_TEXT], *end = text + sizeof text, *start = digits_before(end, 0 - (uint64_t)v);
    *--start = '-'; /* int64 has at most 19 digits */
    memcpy(out, start, (size_t)(end - start));
    return (size_t)(end - start);
}

/* ---------------------------------------------------------------- shortest digits */

/* digits * 10^exponent */
typedef struct shortest {
    uint64_t digits;
    int exponent;
} shortest;

/* floor(log2(10^e)), for |e| <= 1233 */
static inline int log2_of_power(int e)
{
    return (e * 1741647) >> 19;
}

/* The 64 highest bits of v * g, with the last bit set where the bits below are not all 0. */
static inline uint64_t round_to_odd(const uint64_t g[2], uint64_t v)
{
    uint64_t below = (uint64_t)(((unsigned __int128)g[1] * v) >> 64);
    unsigned __int128 x = (unsigned __int128)g[0] * v + below;
    return (uint64_t)(x >> 64) | ((uint64_t)x > 1);
}

/* Of the numbers with fewest digits that round to c * 2^q the one next to it. `closer`: c is a power of two, so that
 * the number below is only half as far as the one above. */
static shortest shortest_find(uint64_t c, int q, bool closer)
{
    if (q <= 0 && q > -53 && (c & (((uint64_t)1 << -q) - 1)) == 0)
        return (shortest){ c >> -q, 0 };                 /* an integer below 2^53 */
    int k = (q * 1262611 - (closer ? 524031 : 0)) >> 22; /* floor(log10(2^q)), of 3/4 * 2^q where closer */
    int h = q + log2_of_power(-k) + 1;
    const uint64_t *row = lb_power_table[-k - LB_POWER_FIRST];
    uint64_t g[2] = { row[0], row[1] + (-k > 55) }; /* rounded up; no low word of the table is all ones */
    uint64_t low = round_to_odd(g, (4 * c - 2 + closer) << h), mid = round_to_odd(g, (4 * c) << h);
    uint64_t high = round_to_odd(g, (4 * c + 2) << h);
    bool odd = (c & 1) != 0; /* the borders of the interval round to c only where c is even */
    low += odd;
    high -= odd;
    uint64_t s = mid / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool down = low <= 40 * tens, up = 40 * tens + 40 <= high;
        if (down != up)
            return (shortest){ tens + up, k + 1 };
    }
    bool down = low <= 4 * s, up = 4 * s + 4 <= high;
    if (down != up)
        return (shortest){ s + up, k };
    uint64_t half = 4 * s + 2;
    return (shortest){ s + (mid > half || (mid == half && (s & 1) != 0)), k };
}

/* ---------------------------------------------------------------- the look of a float */

static size_t put_exponent(char *out, int exponent)
{
    char *at = out;
    *at++ = 'e';
    if (exponent < 0)
        *at++ = '-';
    at += lb_print_uint64((uint64_t)(exponent < 0 ? -exponent : exponent), at);
    return (size_t)(at - out);
}

/* `count` digits, the first of which stands for 10^exponent, with a point or an exponent. */
static size_t put_float(char *out, const char *digits, int count, int exponent)
{
    char *at = out;
    if (exponent < -5 || exponent >= 16) {
        *at++ = digits[0];
        if (count > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, (size_t)count - 1);
            at += count - 1;
        }
        return (size_t)(at - out) + put_exponent(at, exponent);
    }
    int before = exponent + 1; /* digits before the point */
    if (before <= 0) {
        memcpy(at, "0.0000", 6);
        memcpy(at + 2 - before, digits, (size_t)count);
        return (size_t)(2 - before + count);
    }
    if (before < count) {
        memcpy(at, digits, (size_t)before);
        at[before] = '.';
        memcpy(at + before + 1, digits + before, (size_t)(count - before));
        return (size_t)count + 1;
    }
    memcpy(at, digits, (size_t)count);
    memset(at + count, '0', (size_t)(before - count));
    memcpy(at + before, ".0", 2);
    return (size_t)before + 2;
}

static size_t put_text(char *out, const char *text)
{
    size_t size = strlen(text);
    memcpy(out, text, size);
    return size;
}

/* NaN and the infinities. */
static size_t put_special(double v, char *out)
{
    return put_text(out, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
}

/* A sign and c * 2^q. */
static size_t put_shortest(bool negative, uint64_t c, int q, bool closer, char *out)
{
    size_t sign = negative;
    if (negative)
        out[0] = '-';
    if (c == 0)
        return sign + put_text(out + sign, "0.0");
    shortest s = shortest_find(c, q, closer);
    char text[20], *end = text + sizeof text, *start = digits_before(end, s.digits);
    int exponent = s.exponent + (int)(end - start) - 1;
    while (end[-1] == '0')
        end--;
    return sign + put_float(out + sign, start, (int)(end - start), exponent);
}

size_t lb_print_double(double v, char out[LB_DOUBLE_TEXT])
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t fraction = bits & 0xfffffffffffff;
    int biased = (int)(bits >> 52 & 0x7ff);
    if (biased == 0x7ff)
        return put_special(v, out);
    uint64_t c = biased == 0 ? fraction : fraction | (uint64_t)1 << 52;
    return put_shortest(bits >= SIGN_BIT, c, (biased == 0 ? 1 : biased) - 1075, fraction == 0 && biased > 1, out);
}

size_t lb_print_float(float v, char out[LB_DOUBLE_TEXT])
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint32_t fraction = bits & 0x7fffff;
    int biased = (int)(bits >> 23 & 0xff);
    if (biased == 0xff)
        return put_special((double)v, out);
    uint32_t c = biased == 0 ? fraction : fraction | 1u << 23;
    return put_shortest(bits >> 31 != 0, c, (biased == 0 ? 1 : biased) - 150, fraction == 0 && biased > 1, out);
}

/* ---------------------------------------------------------------- %.17g */

/* Digits and exponent as %g puts them: no trailing zeros, no needless point, an exponent of two digits or more. */
static size_t put_general(char *out, const char *digits, int count, int exponent)
{
    char *at = out;
    if (exponent >= -4 && exponent < 17) {
        if (exponent < count - 1)
            return put_float(out, digits, count, exponent);
        memcpy(out, digits, (size_t)count);
        memset(out + count, '0', (size_t)(exponent + 1 - count));
        return (size_t)exponent + 1;
    }
    *at++ = digits[0];
    if (count > 1) {
        *at++ = '.';
        memcpy(at, digits + 1, (size_t)count - 1);
        at += count - 1;
    }
    int size = exponent < 0 ? -exponent : exponent;
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    if (size < 10)
        *at++ = '0';
    at += lb_print_uint64((uint64_t)size, at);
    return (size_t)(at - out);
}

size_t lb_print_double_17g(double v, char out[LB_DOUBLE_TEXT])
{
    if (!isfinite(v))
        return put_special(v, out);
    /* of the form d?dddddddddddddddde±xxx, where ? is the locale's point and may be several bytes */
    char text[64], digits[17];
    int size = snprintf(text, sizeof text, "%.16e", fabs(v)), mark = size - 1;
    while (text[mark] != 'e')
        mark--;
    int exponent = 0;
    for (int i = mark + 2; i < size; i++)
        exponent = exponent * 10 + (text[i] - '0');
    digits[0] = text[0];
    memcpy(digits + 1, text + mark - 16, 16);
    int count = 17;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    size_t sign = signbit(v) != 0;
    if (sign != 0)
        out[0] = '-';
    return sign + put_general(out + sign, digits, count, text[mark + 1] == '-' ? -exponent : exponent);
}

/* ---------------------------------------------------------------- half */

float lb_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, biased = half >> 10 & 31, fraction = half & 0x3ffu, bits;
    if (biased == 0) {
        float v = (float)fraction * 0x1p-24f; /* exact: subnormal halves are multiples of 2^-24 */
        return sign != 0 ? -v : v;
    }
    bits = sign | (biased == 31 ? 0x7f800000 : (biased + 127 - 15) << 23) | fraction << 13;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}
