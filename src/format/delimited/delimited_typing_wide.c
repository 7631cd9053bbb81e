/* The loops of delimited_typing.c by vectors: 16 bytes of a value are looked at together. */
#include "format/delimited/delimited_typing.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "base/datetime_plain.h"

#define TYPING_AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2,lzcnt")))

TYPING_AVX2 TYPING_INLINE __m128i typing_load(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* The `n` first bytes, 0 to 16, moved to the end; zeros before them. */
TYPING_AVX2 TYPING_INLINE __m128i typing_to_end(__m128i v, size_t n)
{
    static const uint8_t places[32] = { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                        0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15 };

    return _mm_shuffle_epi8(v, typing_load(places + n));
}

/* Bytes of `v` up to those of `most`? */
TYPING_AVX2 TYPING_INLINE bool typing_are_within(__m128i v, __m128i most)
{
    const __m128i beyond = _mm_subs_epu8(v, most);

    return _mm_testz_si128(beyond, beyond);
}

/* The number that sixteen digits make: they are put together in pairs, then pairs of those, then fours. */
TYPING_AVX2 TYPING_INLINE uint64_t typing_sixteen(__m128i v)
{
    v = _mm_maddubs_epi16(v, _mm_set1_epi16(1 << 8 | 10));
    v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 16 | 100));
    v = _mm_packus_epi32(v, v);
    v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 16 | 10000));
    const uint64_t halves = (uint64_t)_mm_cvtsi128_si64(v);
    return (halves & UINT32_MAX) * 100000000 + (halves >> 32);
}

TYPING_INLINE int64_t typing_signed(uint64_t v, uint64_t sign)
{
    return (int64_t)((v ^ (0 - sign)) + sign);
}

/* ---------------------------------------------------------------- integers */

/* Integers of as many digits and one sign compare as their texts do, or the other way round. So where the least and the largest of
 * each such class are known, the bounds of text need no look at the others. */
typedef struct typing_range {
    int64_t min, max;
} typing_range;

typedef struct typing_classes {
    uint64_t seen; /* a bit for each class */
    typing_range of[64];
} typing_classes;

/* The range of another class is wanted; that of the one before it is put away. */
static __attribute__((noinline)) typing_range typing_turn(typing_classes *k, size_t from, typing_range had,
                                                          size_t class)
{
    k->of[from] = had;
    if ((k->seen >> class & 1) == 0)
        k->of[class] = (typing_range){ INT64_MAX, INT64_MIN };
    k->seen |= (uint64_t)1 << class;
    return k->of[class];
}

static void typing_bound_int(const typing_column *tc, int64_t v)
{
    char text[LB_INT_TEXT + LB_BOUNDS_PADDING];

    tc->c->min_i = LB_MIN(tc->c->min_i, v);
    tc->c->max_i = LB_MAX(tc->c->max_i, v);
    typing_bound_text(tc, text, lb_print_int64(v, text));
}

/* No value is of class 0. */
static void typing_classes_give(const typing_column *tc, const typing_classes *k)
{
    for (uint64_t seen = k->seen & ~(uint64_t)1; seen != 0; seen &= seen - 1) {
        const typing_range *range = &k->of[__builtin_ctzll(seen)];
        if (range->min <= range->max) {
            typing_bound_int(tc, range->min);
            typing_bound_int(tc, range->max);
        }
    }
}

/* -?(0|[1-9][0-9]*), not -0, of up to 16 digits. */
TYPING_AVX2 TYPING_INLINE bool typing_int_wide(const char *p, size_t size, int64_t *out, size_t *class)
{
    const uint64_t sign = *p == '-';
    const size_t n = size - sign;

    p += sign;
    if (n - 1 >= 16 || (*p == '0' && size != 1))
        return false;
    const __m128i v = typing_to_end(_mm_sub_epi8(typing_load(p), _mm_set1_epi8('0')), n);
    *out = typing_signed(typing_sixteen(v), sign);
    *class = size | sign << 5;
    return typing_are_within(v, _mm_set1_epi8(9));
}

TYPING_AVX2 size_t typing_many_ints(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_classes classes;
    typing_range range = { INT64_MAX, INT64_MIN };
    size_t of = 0, class;
    uint64_t n = 0;
    const char *p;
    uint32_t size;
    int64_t i;

    classes.seen = 0;
    TYPING_EACH(at, 17, p, size)
    {
        if (!typing_int_wide(p, size, &i, &class))
            break;
        if (class != of) {
            range = typing_turn(&classes, of, range, class);
            of = class;
        }
        n++;
        range.min = LB_MIN(range.min, i);
        range.max = LB_MAX(range.max, i);
    }
    classes.of[of] = range;
    typing_classes_give(tc, &classes);
    tc->c->seen[DELIM_KIND_INT] += n;
    return typing_row(&at);
}

/* ---------------------------------------------------------------- numbers with a point */

/* -?digits.digits of up to 15 digits, at least one, without needless zeros before them. */
TYPING_AVX2 TYPING_INLINE bool typing_decimal_wide(const char *p, size_t size, lb_plain *out)
{
    static const uint8_t steps[32] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
    const uint64_t sign = *p == '-';
    const size_t n = size - sign;

    p += sign;
    if (n - 2 >= 15)
        return false;
    const __m128i v = typing_load(p);
    const uint32_t points =
        (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('.'))) & (((uint32_t)1 << n) - 1);
    if (points == 0)
        return false;
    const size_t point = (size_t)__builtin_ctz(points);
    if (*p == '0' && point > 1)
        return false;
    /* What stands before the point moves over it. */
    const __m128i digits = _mm_sub_epi8(v, _mm_set1_epi8('0')),
                  all = _mm_blendv_epi8(typing_to_end(digits, n), typing_to_end(digits, n - 1),
                                        typing_load(steps + n - 1 - point));
    *out = (lb_plain){ .digits = typing_sixteen(all),
                       .negative = sign != 0,
                       .point = true,
                       .whole = (uint32_t)point,
                       .fraction = (uint32_t)(n - 1 - point) };
    return typing_are_within(all, _mm_set1_epi8(9));
}

TYPING_AVX2 size_t typing_many_floats(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    typing_reals r = typing_reals_of(tc->c);
    const char *p;
    uint32_t size;
    lb_plain v;

    TYPING_EACH(at, LB_PLAIN_SIZE, p, size)
    {
        if (typing_decimal_wide(p, size, &v)) {
            /* both are exact, so the one operation rounds once */
            const double f = (double)typing_signed(v.digits, v.negative) / lb_exact_powers[v.fraction];
            if (__builtin_expect(!(f > r.min && f < r.max), 0))
                typing_widen_floats(&r, &v);
            r.floats++;
        } else if (!typing_real(&r, p, size)) {
            break;
        }
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    typing_reals_give(&r);
    return typing_row(&at);
}

/* ---------------------------------------------------------------- dates and times */

/* Two digits each of century, year, month and day, as many bits, the first one highest: they compare as the dates do. */
TYPING_AVX2 TYPING_INLINE bool typing_date_wide(const char *p, uint64_t *out)
{
    const __m128i pattern = _mm_setr_epi8('0', '0', '0', '0', '-', '0', '0', '-', '0', '0', 0, 0, 0, 0, 0, 0),
                  most = _mm_setr_epi8(9, 9, 9, 9, 0, 9, 9, 0, 9, 9, -1, -1, -1, -1, -1, -1),
                  places = _mm_setr_epi8(8, 9, 5, 6, 2, 3, 0, 1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i v = _mm_xor_si128(typing_load(p), pattern);
    const uint64_t pairs =
        (uint64_t)_mm_cvtsi128_si64(_mm_maddubs_epi16(_mm_shuffle_epi8(v, places), _mm_set1_epi16(1 << 8 | 10)));
    const unsigned day = pairs & 0xffff, month = pairs >> 16 & 0xffff, year = pairs >> 32 & 0xffff,
                   century = (unsigned)(pairs >> 48);

    *out = pairs;
    return typing_are_within(v, most) && month - 1 < 12 && day - 1 < lb_month_days(century, year, month) &&
           pairs >> 32 != 0;
}

TYPING_INLINE int32_t typing_days_of(uint64_t pairs)
{
    const unsigned year = (unsigned)(pairs >> 48) * 100 + (pairs >> 32 & 0xffff);

    return lb_days_of_written(year, pairs >> 16 & 0xffff, pairs & 0xffff);
}

/* The same of hours, minutes and seconds: HH:MM:SS. */
TYPING_AVX2 TYPING_INLINE bool typing_clock_wide(const char *p, uint64_t *out)
{
    const __m128i pattern = _mm_setr_epi8('0', '0', ':', '0', '0', ':', '0', '0', 0, 0, 0, 0, 0, 0, 0, 0),
                  most = _mm_setr_epi8(9, 9, 0, 9, 9, 0, 9, 9, -1, -1, -1, -1, -1, -1, -1, -1),
                  places = _mm_setr_epi8(6, 7, 3, 4, 0, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i v = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)p), pattern);
    const uint64_t pairs =
        (uint64_t)_mm_cvtsi128_si64(_mm_maddubs_epi16(_mm_shuffle_epi8(v, places), _mm_set1_epi16(1 << 8 | 10)));

    *out = pairs;
    return typing_are_within(v, most) && (pairs & 0xffff) < 60 && (pairs >> 16 & 0xffff) < 60 && pairs >> 32 < 24;
}

/* The text that pairs of digits were read of, with what stands between and behind them. */
static void typing_put_pairs(char *to, uint64_t pairs, unsigned n, const char *between)
{
    while (n-- > 0) {
        const unsigned v = pairs >> (16 * n) & 0xffff;
        *to++ = (char)('0' + v / 10);
        *to++ = (char)('0' + v % 10);
        if (*between != '_')
            *to++ = *between;
        between++;
    }
}

#define TYPING_DATE_TEXT (LB_BOUNDS_PADDING + 24)

static void typing_bound_date(const typing_column *tc, uint64_t pairs)
{
    const int32_t day = typing_days_of(pairs);
    char text[TYPING_DATE_TEXT] = { 0 };

    tc->c->min_date = LB_MIN(tc->c->min_date, day);
    tc->c->max_date = LB_MAX(tc->c->max_date, day);
    typing_put_pairs(text, pairs, 4, "_--_");
    typing_bound_text(tc, text, 10);
}

TYPING_AVX2 size_t typing_many_dates(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    uint64_t min = UINT64_MAX, max = 0, pairs, n = 0;
    const char *p;
    uint32_t size;

    TYPING_EACH(at, 10, p, size)
    {
        if (size != 10 || !typing_date_wide(p, &pairs))
            break;
        n++;
        min = LB_MIN(min, pairs);
        max = LB_MAX(max, pairs);
    }
    if (n != 0) {
        typing_bound_date(tc, min);
        typing_bound_date(tc, max);
    }
    tc->c->seen[DELIM_KIND_DATE] += n;
    return typing_row(&at);
}

static void typing_bound_timestamp(const typing_column *tc, typing_key pairs, char between)
{
    const uint64_t date = (uint64_t)(pairs >> 64), clock = (uint64_t)pairs,
                   seconds = (clock >> 32) * 3600 + (clock >> 16 & 0xffff) * 60 + (clock & 0xffff);
    const char marks[] = { '_', '-', '-', between };
    char text[TYPING_DATE_TEXT] = { 0 };

    typing_widen_instants(
        tc->c, DELIM_KIND_TIMESTAMP - DELIM_KIND_TIME,
        &(lb_datetime){ .seconds = (int64_t)typing_days_of(date) * LB_DAY_SECONDS + (int64_t)seconds });
    typing_put_pairs(text, date, 4, marks);
    typing_put_pairs(text + 11, clock, 3, "::_");
    typing_bound_text(tc, text, 19);
}

/* Those without fractions of a second that have the same byte between date and time as the first one: their texts compare as they
 * do. */
TYPING_AVX2 size_t typing_many_timestamps(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    const char between = at.data[at.begin[at.at] + 10];
    typing_key min = ~(typing_key)0, max = 0;
    uint64_t date, clock, n = 0;
    const char *p;
    uint32_t size;

    if (between != 'T' && between != ' ')
        return row;
    TYPING_EACH(at, 19, p, size)
    {
        if (size != 19 || p[10] != between || !typing_date_wide(p, &date) || !typing_clock_wide(p + 11, &clock))
            break;
        const typing_key pairs = (typing_key)date << 64 | clock;
        n++;
        min = pairs < min ? pairs : min;
        max = pairs > max ? pairs : max;
    }
    if (n != 0) {
        typing_bound_timestamp(tc, min, between);
        typing_bound_timestamp(tc, max, between);
    }
    tc->c->seen[DELIM_KIND_TIMESTAMP] += n;
    return typing_row(&at);
}

#endif
