/* Decimals of up to 76 digits as 256-bit integers. */
#include "base/number.h"

#define WORDS 4
#define CHUNK_DIGITS 19                      /* so many always fit uint64 */
#define CHUNK UINT64_C(10000000000000000000) /* 10^19 */
#define DIGITS_MOST 76                       /* 10^76 < 2^255 */
#define PLAIN_SCALE 93                       /* a sign, `0.` and so many digits fit LB_DECIMAL_TEXT */

static const uint64_t powers[CHUNK_DIGITS + 1] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
    CHUNK,
};

lb_i256 lb_i256_of(int64_t v)
{
    uint64_t sign = v < 0 ? UINT64_MAX : 0;
    return (lb_i256){ { (uint64_t)v, sign, sign, sign } };
}

static bool i256_negative(const lb_i256 *v)
{
    return v->w[WORDS - 1] >> 63 != 0;
}

int lb_i256_compare(lb_i256 a, lb_i256 b)
{
    bool negative = i256_negative(&a);
    if (negative != i256_negative(&b))
        return negative ? -1 : 1;
    for (int i = WORDS; i-- > 0;)
        if (a.w[i] != b.w[i])
            return a.w[i] < b.w[i] ? -1 : 1;
    return 0;
}

lb_i256 lb_i256_negate(lb_i256 v)
{
    bool carry = true;
    for (int i = 0; i < WORDS; i++) {
        v.w[i] = ~v.w[i] + carry;
        carry = carry && v.w[i] == 0;
    }
    return v;
}

/* Both of these take v as unsigned. What does not fit is cut off. */
static void i256_multiply_add(lb_i256 *v, uint64_t factor, uint64_t carry)
{
    for (int i = 0; i < WORDS; i++) {
        unsigned __int128 x = (unsigned __int128)v->w[i] * factor + carry;
        v->w[i] = (uint64_t)x;
        carry = (uint64_t)(x >> 64);
    }
}

static uint64_t i256_divide_chunk(lb_i256 *v)
{
    uint64_t rest = 0;
    for (int i = WORDS; i-- > 0;) {
        unsigned __int128 x = (unsigned __int128)rest << 64 | v->w[i];
        v->w[i] = (uint64_t)(x / CHUNK);
        rest = (uint64_t)(x % CHUNK);
    }
    return rest;
}

/* ---------------------------------------------------------------- reading */

/* Where the digits of a decimal lie: [whole, whole_end) and [fraction, fraction_end). */
typedef struct places {
    const char *whole, *whole_end, *fraction, *fraction_end;
} places;

static const char *decimal_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Digits with at most one point among them; one digit at least. */
static bool decimal_scan(const char *p, const char *end, places *out)
{
    out->whole = p;
    p = out->whole_end = out->fraction = out->fraction_end = decimal_digits(p, end);
    if (p < end && *p == '.') {
        out->fraction = p + 1;
        p = out->fraction_end = decimal_digits(p + 1, end);
    }
    return p == end && (out->whole < out->whole_end || out->fraction < out->fraction_end);
}

/* Cut zeros at the front of the digits before the point and at the end of those after it. */
static void decimal_trim(places *d)
{
    while (d->whole < d->whole_end && *d->whole == '0')
        d->whole++;
    while (d->fraction < d->fraction_end && d->fraction_end[-1] == '0')
        d->fraction_end--;
}

static void decimal_run(lb_i256 *v, const char *p, const char *end)
{
    while (p < end) {
        uint64_t chunk = 0;
        int count = 0;
        for (; p < end && count < CHUNK_DIGITS; p++, count++)
            chunk = chunk * 10 + (uint64_t)(*p - '0');
        i256_multiply_add(v, powers[count], chunk);
    }
}

/* Multiply with 10^zeros, where that is at most DIGITS_MOST. */
static void decimal_raise(lb_i256 *v, ptrdiff_t zeros)
{
    for (; zeros > CHUNK_DIGITS; zeros -= CHUNK_DIGITS)
        i256_multiply_add(v, CHUNK, 0);
    i256_multiply_add(v, powers[zeros], 0);
}

/* With a scale below 0 the last digits before the point must be 0; they are cut. */
static bool decimal_cut_tens(places *d, ptrdiff_t tens)
{
    for (; tens > 0 && d->whole < d->whole_end; tens--)
        if (*--d->whole_end != '0')
            return false;
    return true;
}

/* How many digits a trimmed number has once it is multiplied with 10^scale, scale at least 0. */
static ptrdiff_t decimal_length(const places *d, ptrdiff_t scale)
{
    if (d->whole < d->whole_end)
        return d->whole_end - d->whole + scale;
    const char *p = d->fraction;
    while (p < d->fraction_end && *p == '0')
        p++;
    return p == d->fraction_end ? 0 : scale - (p - d->fraction);
}

bool lb_parse_decimal(const char *p, size_t size, int precision, int scale, lb_i256 *out)
{
    places d;
    bool negative = size > 0 && *p == '-', sign = negative || (size > 0 && *p == '+');
    if (size == 0 || precision > DIGITS_MOST || !decimal_scan(p + sign, p + size, &d))
        return false;
    decimal_trim(&d);
    ptrdiff_t kept = scale > 0 ? scale : 0, fraction = d.fraction_end - d.fraction;
    if (fraction > kept || (scale < 0 && !decimal_cut_tens(&d, -(ptrdiff_t)scale)))
        return false;
    ptrdiff_t length = decimal_length(&d, kept);
    if (length > precision)
        return false;
    lb_i256 v = { { 0 } };
    if (length > 0) {
        decimal_run(&v, d.whole, d.whole_end);
        decimal_run(&v, d.fraction, d.fraction_end);
        decimal_raise(&v, kept - fraction);
    }
    if (negative)
        v = lb_i256_negate(v);
    *out = v;
    return true;
}

/* ---------------------------------------------------------------- printing */

/* The digits of v, taken as unsigned; none for 0. Gives their start, which lies before `end`: at most 78. */
static char *decimal_digits_before(char *end, lb_i256 v)
{
    while ((v.w[0] | v.w[1] | v.w[2] | v.w[3]) != 0) {
        uint64_t rest = i256_divide_chunk(&v);
        for (int i = 0; i < CHUNK_DIGITS; i++, rest /= 10)
            *--end = (char)('0' + rest % 10);
    }
    while (*end == '0') /* the caller set a byte that is no digit behind */
        end++;
    return end;
}

static size_t decimal_put(char *out, const char *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return size;
}

/* `size` digits with the last `scale` of them behind a point; zeros are added where there are fewer. */
static size_t decimal_put_point(char *out, const char *digits, size_t size, size_t scale)
{
    size_t at = 0;
    if (size > scale) {
        at += decimal_put(out, digits, size - scale);
        digits += size - scale;
        size = scale;
    } else {
        out[at++] = '0';
    }
    out[at++] = '.';
    memset(out + at, '0', scale - size);
    at += scale - size;
    return at + decimal_put(out + at, digits, size);
}

/* For a scale that no decimal of 76 digits needs: `123e-400`. */
static size_t decimal_put_exponent(char *out, const char *digits, size_t size, int scale)
{
    size_t at = decimal_put(out, digits, size);
    at += decimal_put(out + at, "e-", 2);
    return at + lb_print_uint64((uint64_t)scale, out + at);
}

size_t lb_print_decimal(lb_i256 v, int scale, char *out)
{
    char text[5 * CHUNK_DIGITS + 1], *end = text + sizeof text - 1;
    *end = '\0';
    size_t at = 0;
    if (i256_negative(&v)) {
        out[at++] = '-';
        v = lb_i256_negate(v);
    }
    char *digits = decimal_digits_before(end, v);
    bool zero = digits == end;
    if (zero)
        *--digits = '0';
    size_t size = (size_t)(end - digits);
    if (scale > PLAIN_SCALE)
        return at + decimal_put_exponent(out + at, digits, size, scale);
    if (scale > 0)
        return at + decimal_put_point(out + at, digits, size, (size_t)scale);
    at += decimal_put(out + at, digits, size);
    if (scale == 0 || zero)
        return at;
    size_t zeros = 0 - (size_t)(ptrdiff_t)scale;
    memset(out + at, '0', zeros);
    return at + zeros;
}
