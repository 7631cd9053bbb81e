/* Text to numbers. Doubles are correctly rounded in three steps, each for what the one before cannot settle: exact
 * double arithmetic (Clinger 1990), a 128-bit product (Lemire 2021, "Number parsing at a gigabyte per second"), and
 * a comparison of big integers. */
#include "base/number.h"

#include <math.h>

#include "base/number_plain.h"

#define LB_POWER_TABLE_BODY
#include "base/number_table.h"

#define INT64_LIMIT ((uint64_t)1 << 63)          /* the size of INT64_MIN */
#define TEN_TO_19 UINT64_C(10000000000000000000) /* the least number of 20 digits; fits uint64 */
#define EXACT_DIGITS 19                          /* so many always fit uint64 */
#define INFINITE_BITS UINT64_C(0x7ff0000000000000)
#define EXPONENT_CAP INT64_C(1000000000000000) /* beyond any text's length, so that sums cannot wrap */

/* A number as it is written, without its sign. */
typedef struct written {
    const char *whole, *whole_end;       /* digits before the point */
    const char *fraction, *fraction_end; /* and after it */
    uint64_t value;                      /* of all digits run together, modulo 2^64 */
    int64_t exponent;                    /* as written after the `e` */
    bool point, has_exponent;
} written;

/* ---------------------------------------------------------------- digits */

/* The value of eight digits at once; false where one of the bytes is none. */
static inline bool eight_digits(const char *p, uint64_t *value)
{
    uint64_t v = lb_load8(p);
    if ((((v + 0x4646464646464646) | (v - 0x3030303030303030)) & 0x8080808080808080) != 0)
        return false;
    *value = lb_digits8(v, 8);
    return true;
}

/* Step over digits, running them onto *value. */
static inline const char *digits_run(const char *p, const char *end, uint64_t *value)
{
    uint64_t v = *value, eight;
    while (end - p >= 8 && eight_digits(p, &eight)) {
        v = v * 100000000 + eight;
        p += 8;
    }
    for (; p < end; p++) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9)
            break;
        v = v * 10 + digit;
    }
    *value = v;
    return p;
}

static const char *zeros_skip(const char *p, const char *end)
{
    while (p < end && *p == '0')
        p++;
    return p;
}

/* What stands after an `e`: NULL where it is no exponent. Large ones are capped; no text is long enough for the
 * difference to show. */
static const char *exponent_run(const char *p, const char *end, int64_t *out)
{
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *first = p;
    int64_t v = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (v < EXPONENT_CAP)
            v = v * 10 + (*p - '0');
    *out = negative ? -v : v;
    return p == first ? NULL : p;
}

/* Take a number apart; false where the text is none, or goes on after it. */
static inline bool number_scan(const char *p, const char *end, written *n)
{
    uint64_t value = 0;
    n->whole = p;
    p = digits_run(p, end, &value);
    n->whole_end = n->fraction = n->fraction_end = p;
    n->point = n->has_exponent = false;
    n->exponent = 0;
    if (p < end && *p == '.') {
        n->point = true;
        n->fraction = p + 1;
        p = n->fraction_end = digits_run(p + 1, end, &value);
    }
    n->value = value;
    if (n->whole == n->whole_end && n->fraction == n->fraction_end)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        n->has_exponent = true;
        p = exponent_run(p + 1, end, &n->exponent);
    }
    return p == end;
}

/* ---------------------------------------------------------------- big integers, for what is close to a tie */

/* Room for 800 decimal digits (2,658 bits) and for 5^1125 times a double's 54 bits (2,667), the largest that the
 * comparison below needs; as both sides are near each other, shifting one does not pass this either. */
#define BIG_WORDS 64
#define BIG_DIGITS 800 /* a tie between two doubles has at most 768 */

typedef struct big {
    int used;
    uint64_t w[BIG_WORDS];
} big;

static void big_multiply_add(big *b, uint64_t factor, uint64_t carry)
{
    for (int i = 0; i < b->used; i++) {
        unsigned __int128 x = (unsigned __int128)b->w[i] * factor + carry;
        b->w[i] = (uint64_t)x;
        carry = (uint64_t)(x >> 64);
    }
    if (carry != 0 && b->used < BIG_WORDS)
        b->w[b->used++] = carry;
}

static void big_multiply_five(big *b, int64_t power)
{
    for (; power >= 27; power -= 27)
        big_multiply_add(b, UINT64_C(7450580596923828125), 0); /* 5^27 */
    uint64_t rest = 1;
    for (; power > 0; power--)
        rest *= 5;
    big_multiply_add(b, rest, 0);
}

static void big_shift_left(big *b, int64_t bits)
{
    int words = (int)(bits / 64);
    big_multiply_add(b, (uint64_t)1 << (bits % 64), 0);
    if (b->used + words > BIG_WORDS)
        words = BIG_WORDS - b->used;
    memmove(b->w + words, b->w, (size_t)b->used * sizeof b->w[0]);
    memset(b->w, 0, (size_t)words * sizeof b->w[0]);
    b->used += words;
}

static int big_compare(const big *a, const big *b)
{
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (int i = a->used; i-- > 0;)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

/* The significant digits of a number as one integer, and the power of ten it is to be multiplied with. Of very many
 * digits the first 800 count, then whether any other is not 0. */
static int64_t big_read(big *b, const written *n, size_t count)
{
    size_t taken = 0;
    bool rest = false, started = false;
    *b = (big){ .used = 0 };
    for (const char *p = n->whole; p < n->fraction_end; p++) {
        started = started || (*p != '0' && *p != '.');
        if (!started || *p == '.')
            continue;
        if (taken < BIG_DIGITS) {
            big_multiply_add(b, 10, (uint64_t)(*p - '0'));
            taken++;
        } else {
            rest = rest || *p != '0';
        }
    }
    int64_t exponent = n->exponent - (n->fraction_end - n->fraction) + (int64_t)(count - taken);
    if (!rest)
        return exponent;
    big_multiply_add(b, 10, 1);
    return exponent - 1;
}

/* Bits of the double next to the number, where that is `low` or the double after it. */
static uint64_t tie_settle(const written *n, size_t count, uint64_t low)
{
    uint64_t fraction = low & 0xfffffffffffff, biased = low >> 52;
    uint64_t significand = biased == 0 ? fraction : fraction | (uint64_t)1 << 52;
    int64_t half_exponent = (int64_t)(biased == 0 ? 1 : biased) - 1075 - 1;
    big text, half = { .used = 1, .w = { 2 * significand + 1 } };
    int64_t exponent = big_read(&text, n, count);
    if (exponent >= 0)
        big_multiply_five(&text, exponent);
    else
        big_multiply_five(&half, -exponent);
    int64_t shift = exponent - half_exponent;
    if (shift >= 0)
        big_shift_left(&text, shift);
    else
        big_shift_left(&half, -shift);
    int order = big_compare(&text, &half);
    return order < 0 || (order == 0 && (low & 1) == 0) ? low : low + 1;
}

/* ---------------------------------------------------------------- doubles */

/* Bits of the double next to w * 10^q, ties to even; INFINITE_BITS where it is too large. */
static uint64_t double_bits(uint64_t w, int64_t q)
{
    if (w == 0 || q < LB_POWER_FIRST)
        return 0;
    if (q > 308)
        return INFINITE_BITS;
    const uint64_t *power = lb_power_table[q - LB_POWER_FIRST];
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    unsigned __int128 product = (unsigned __int128)w * power[0];
    /* 55 bits are wanted; the table's low word matters only where the nine below them are all set */
    if (((uint64_t)(product >> 64) & 0x1ff) == 0x1ff)
        product += (uint64_t)(((unsigned __int128)w * power[1]) >> 64);
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    int top = (int)(high >> 63), shift = top + 64 - 55;
    uint64_t mantissa = high >> shift;
    int64_t biased = ((217706 * q) >> 16) + 63 + top - zeros + 1023;
    if (biased <= 0) {
        if (biased < -62)
            return 0;
        mantissa >>= 1 - biased;
        mantissa += mantissa & 1;
        return mantissa >> 1; /* a carry into bit 52 makes the smallest normal number by itself */
    }
    /* the only powers with which a product can lie exactly on a tie */
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << shift == high)
        mantissa &= ~(uint64_t)1;
    mantissa += mantissa & 1;
    mantissa >>= 1;
    uint64_t bits = ((uint64_t)biased << 52) + (mantissa - ((uint64_t)1 << 52));
    return bits < INFINITE_BITS ? bits : INFINITE_BITS;
}

/* The same for a number of more digits than fit an integer: it lies between its first 19 digits and one more. */
static uint64_t long_bits(const written *n)
{
    const char *first = zeros_skip(n->whole, n->whole_end);
    size_t count = (size_t)(n->whole_end - first) + (size_t)(n->fraction_end - n->fraction);
    if (first == n->whole_end) {
        first = zeros_skip(n->fraction, n->fraction_end);
        count = (size_t)(n->fraction_end - first);
    }
    int64_t exponent = n->exponent - (n->fraction_end - n->fraction);
    if (count <= EXACT_DIGITS)
        return double_bits(n->value, exponent);
    uint64_t w = 0;
    int taken = 0;
    for (const char *p = first; taken < EXACT_DIGITS; p++) {
        if (*p != '.') {
            w = w * 10 + (uint64_t)(*p - '0');
            taken++;
        }
    }
    exponent += (int64_t)(count - EXACT_DIGITS);
    uint64_t low = double_bits(w, exponent), high = double_bits(w + 1, exponent);
    return low == high ? low : tie_settle(n, count, low);
}

const double lb_exact_powers[23] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

const uint32_t lb_tens[9] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };

const double lb_inverse_powers[LB_PLAIN_DIGITS + 1] = {
    1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,
    1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19,
};

bool lb_double_of(uint64_t w, int64_t q, double *out)
{
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 0
    if (q >= -22 && q <= 22 && w <= (uint64_t)1 << 53) { /* both operands exact, so the one operation rounds once */
        double v = (double)(int64_t)w;
        *out = q < 0 ? v / lb_exact_powers[-q] : v * lb_exact_powers[q];
        return true;
    }
#endif
    uint64_t bits = double_bits(w, q);
    memcpy(out, &bits, sizeof *out);
    return bits != INFINITE_BITS;
}

/* The double next to a number; false where it is too large for one. */
static inline bool number_value(const written *n, bool negative, double *out)
{
    int64_t digits = (n->whole_end - n->whole) + (n->fraction_end - n->fraction);
    if (digits <= EXACT_DIGITS) {
        if (!lb_double_of(n->value, n->exponent - (n->fraction_end - n->fraction), out))
            return false;
        *out = negative ? -*out : *out;
        return true;
    }
    uint64_t bits = long_bits(n);
    if (bits == INFINITE_BITS)
        return false;
    bits |= (uint64_t)negative << 63;
    memcpy(out, &bits, sizeof *out);
    return true;
}

bool lb_plain_exponent(const char *p, size_t size, double *out)
{
    if (size - 1 >= LB_PLAIN_SIZE + 5) /* `e+308` */
        return false;
    uint32_t others = lb_nondigits32(p, size);
    bool negative = *p == '-';
    others >>= negative;
    p += negative;
    const char *end = p + size - negative;
    if (others == 0)
        return false;
    size_t at = (size_t)__builtin_ctz(others), point = at;
    if (p[at] == '.') {
        others &= others - 1;
        at = others == 0 ? 0 : (size_t)__builtin_ctz(others);
    }
    size_t count = at - (point < at);
    if ((p[at] | 0x20) != 'e' || count - 1 >= LB_PLAIN_DIGITS || (*p == '0' && point > 1))
        return false;
    int64_t exponent;
    if (end - p - (ptrdiff_t)at > 5 || exponent_run(p + at + 1, end, &exponent) != end)
        return false;
    double v;
    if (!lb_double_of(lb_plain_digits(p, count, point), exponent - (int64_t)(point < at ? at - point - 1 : 0), &v))
        return false;
    *out = negative ? -v : v;
    return true;
}

/* NaN, Inf and Infinity with an optional sign, in any case. A NaN has no sign. */
static bool number_word(const char *p, size_t size, double *out)
{
    bool negative = size > 0 && *p == '-';
    if (size > 0 && (*p == '-' || *p == '+')) {
        p++;
        size--;
    }
    lb_str word = { p, size };
    if (lb_str_is_nocase(word, "nan")) {
        *out = (double)NAN;
        return true;
    }
    *out = negative ? -(double)INFINITY : (double)INFINITY;
    return lb_str_is_nocase(word, "inf") || lb_str_is_nocase(word, "infinity");
}

/* ---------------------------------------------------------------- what a text reads as */

/* An integer without needless zeros, of the value n->value modulo 2^64. */
static lb_number_kind number_integer(const written *n, bool negative, lb_number *out)
{
    size_t digits = (size_t)(n->whole_end - n->whole);
    uint64_t v = n->value;
    /* of 20 digits those below 2^64 begin with 1 and have not wrapped to below 10^19 */
    if (digits > 20 || (digits == 20 && (*n->whole != '1' || v < TEN_TO_19)))
        return LB_NUMBER_BIG;
    if (negative && v == 0) {
        out->f = -0.0;
        return LB_NUMBER_FLOAT;
    }
    if (v < INT64_LIMIT || (negative && v == INT64_LIMIT)) {
        out->i = (int64_t)(negative ? 0 - v : v);
        return LB_NUMBER_INT;
    }
    out->u = v;
    return negative ? LB_NUMBER_BIG : LB_NUMBER_UINT;
}

static uint32_t count_cap(ptrdiff_t n)
{
    return n > (ptrdiff_t)UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static lb_number_kind number_float(const written *n, bool negative, lb_number *out)
{
    if (!number_value(n, negative, &out->f))
        return LB_NOT_A_NUMBER;
    if (n->point && !n->has_exponent) {
        out->point = true;
        out->whole_digits = count_cap(n->whole_end - zeros_skip(n->whole, n->whole_end));
        out->fraction_digits = count_cap(n->fraction_end - n->fraction);
    }
    return LB_NUMBER_FLOAT;
}

lb_number_kind lb_number_parse(const char *p, size_t size, lb_number *out)
{
    *out = (lb_number){ .i = 0 };
    if (size == 0)
        return LB_NOT_A_NUMBER;
    bool negative = *p == '-';
    const char *at = p + negative, *end = p + size;
    if (at == end)
        return LB_NOT_A_NUMBER;
    unsigned digit = (unsigned char)*at - (unsigned)'0';
    if (digit > 9 && *at != '.') {
        /* nothing else begins with a letter or a plus */
        char first = (char)(*at | 0x20);
        bool may = size <= 9 && (first == 'n' || first == 'i' || (*at == '+' && !negative));
        return may && number_word(p, size, &out->f) ? LB_NUMBER_FLOAT : LB_NOT_A_NUMBER;
    }
    written n;
    if (!number_scan(at, end, &n) || (digit == 0 && n.whole_end - n.whole > 1))
        return LB_NOT_A_NUMBER;
    return n.point || n.has_exponent ? number_float(&n, negative, out) : number_integer(&n, negative, out);
}

/* Digits alone, with leading zeros, within uint64. */
static bool digits_read(const char *p, const char *end, uint64_t *out)
{
    if (p == end)
        return false;
    uint64_t v = 0;
    const char *first = zeros_skip(p, end);
    if (digits_run(first, end, &v) != end)
        return false;
    *out = v;
    return end - first < 20 || (end - first == 20 && *first == '1' && v >= TEN_TO_19);
}

bool lb_parse_int64(const char *p, size_t size, int64_t *out)
{
    uint64_t v;
    bool negative = size > 0 && *p == '-', sign = negative || (size > 0 && *p == '+');
    if (size == 0 || !digits_read(p + sign, p + size, &v) || v > INT64_LIMIT - !negative)
        return false;
    *out = (int64_t)(negative ? 0 - v : v);
    return true;
}

bool lb_parse_uint64(const char *p, size_t size, uint64_t *out)
{
    uint64_t v;
    bool sign = size > 0 && *p == '+';
    if (size == 0 || !digits_read(p + sign, p + size, &v))
        return false;
    *out = v;
    return true;
}

bool lb_parse_double(const char *p, size_t size, double *out)
{
    written n;
    bool negative = size > 0 && *p == '-', sign = negative || (size > 0 && *p == '+');
    if (size == sign)
        return false;
    double v;
    bool fits = number_scan(p + sign, p + size, &n) ? number_value(&n, negative, &v) : number_word(p, size, &v);
    if (fits)
        *out = v;
    return fits;
}
