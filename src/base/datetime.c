/* Dates and times as text. A date is a count of days; the day's number in its era of 400 years, counted from the first
 * of March, gives year, month and day by arithmetic alone. */
#include "base/datetime.h"

#include "base/datetime_plain.h"
#include "base/number.h"

#define NANOS 1000000000
#define ERA_DAYS 146097 /* 400 years */
#define ERA_YEARS 400
#define EPOCH_ERAS 4 /* 1970-01-01 lies 4 eras and 135,080 days after 0000-03-01 */
#define EPOCH_DAYS 135080
#define FIRST_DAY (-719162)                   /* 0001-01-01 */
#define LAST_DAY 2932896                      /* 9999-12-31 */
#define YEAR_LIMIT INT64_C(25252734927760000) /* some 2^63 days */

static int64_t floor_divide(int64_t v, int64_t by)
{
    return v / by - (v % by < 0);
}

/* What floor_divide leaves; by itself, since quotient * by may not fit. */
static int64_t floor_rest(int64_t v, int64_t by)
{
    int64_t rest = v % by;
    return rest < 0 ? rest + by : rest;
}

/* ---------------------------------------------------------------- days */

int64_t lb_days_of(int64_t year, int month, int day)
{
    if (year < -YEAR_LIMIT)
        return INT64_MIN;
    if (year > YEAR_LIMIT)
        return INT64_MAX;
    year -= month <= 2;
    int64_t era = floor_divide(year, ERA_YEARS), in_era = floor_rest(year, ERA_YEARS);
    int64_t of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (era - EPOCH_ERAS) * ERA_DAYS + in_era * 365 + in_era / 4 - in_era / 100 + of_year - EPOCH_DAYS;
}

void lb_date_of(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t era = floor_divide(days, ERA_DAYS), in_era = floor_rest(days, ERA_DAYS) + EPOCH_DAYS;
    era += EPOCH_ERAS;
    if (in_era >= ERA_DAYS) {
        in_era -= ERA_DAYS;
        era++;
    }
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t of_year = in_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153; /* from March */
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = era * ERA_YEARS + y + (*month <= 2);
}

/* ---------------------------------------------------------------- reading */

/* Two digits; above 99 where they are none. */
static inline unsigned two_digits(const char *p)
{
    unsigned tens = (unsigned char)p[0] - (unsigned)'0', ones = (unsigned char)p[1] - (unsigned)'0';
    return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

/* Step over digits, of which up to nine are wanted; *count says how many there were, or more than nine. */
static inline __attribute__((always_inline)) const char *nine_digits_read(const char *p, const char *end,
                                                                          uint32_t *value, uint32_t *count)
{
    const char *first = p;
    uint64_t v = 0;
    if (end - p >= 8) {
        uint64_t word = lb_load8(p), x = word ^ 0x3030303030303030;
        uint64_t others = (((x & ~LB_HIGH_BITS) + 0x7676767676767676) | x) & LB_HIGH_BITS;
        size_t n = others == 0 ? 8 : (size_t)__builtin_ctzll(others) / 8;
        v = n == 0 ? 0 : lb_digits8(word, n);
        p += n;
    }
    for (; p < end && *p >= '0' && *p <= '9' && p - first < 10; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    *value = (uint32_t)v;
    *count = (uint32_t)(p - first);
    return p;
}

/* A point and 1 to 9 digits, if any. False: a point with none or too many. */
static inline __attribute__((always_inline)) bool fraction_read(const char **at, const char *end, lb_datetime *out)
{
    static const uint32_t scales[] = { NANOS, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1 };
    const char *p = *at;
    uint32_t v, digits;
    if (p == end || *p != '.')
        return true;
    *at = nine_digits_read(p + 1, end, &v, &digits);
    if (digits - 1 > 8)
        return false;
    out->fraction_digits = digits;
    out->nanos = v * scales[digits];
    return true;
}

/* HH:MM, then :SS and a fraction, which may be missing unless `whole`. */
static inline __attribute__((always_inline)) bool clock_read(const char **at, const char *end, bool whole,
                                                             lb_datetime *out)
{
    const char *p = *at;
    uint32_t seconds;
    if (end - p >= 8 && lb_clock_plain(p, &seconds)) {
        out->seconds = seconds;
        *at = p + 8;
        return fraction_read(at, end, out);
    }
    if (whole || end - p < 5 || p[2] != ':')
        return false;
    unsigned hour = two_digits(p), minute = two_digits(p + 3);
    out->seconds = (int64_t)hour * 3600 + minute * 60;
    *at = p + 5;
    return hour < 24 && minute < 60;
}

/* `Z`, ±HH, ±HHMM or ±HH:MM up to the end, in seconds east of Greenwich. */
static bool zone_read(const char *p, const char *end, int64_t *out)
{
    ptrdiff_t size = end - p;
    *out = 0;
    if (size == 1)
        return *p == 'Z';
    if ((size != 3 && size != 5 && size != 6) || (*p != '+' && *p != '-') || (size == 6 && p[3] != ':'))
        return false;
    unsigned hour = two_digits(p + 1), minute = size > 3 ? two_digits(end - 2) : 0;
    int64_t offset = (int64_t)hour * 3600 + minute * 60;
    *out = *p == '-' ? -offset : offset;
    return hour < 24 && minute < 60;
}

static lb_datetime_kind timestamp_read(const char *p, const char *end, lb_datetime *out)
{
    int64_t zone;
    if ((p[10] != 'T' && p[10] != ' ') || !lb_date_plain(p, &out->days))
        return LB_NOT_A_DATETIME;
    p += 11;
    if (!clock_read(&p, end, false, out))
        return LB_NOT_A_DATETIME;
    out->seconds += (int64_t)out->days * LB_DAY_SECONDS;
    if (p == end)
        return LB_TIMESTAMP;
    if (!zone_read(p, end, &zone))
        return LB_NOT_A_DATETIME;
    if (zone == 0)
        return LB_TIMESTAMP_UTC;
    out->seconds -= zone;
    out->days = (int32_t)floor_divide(out->seconds, LB_DAY_SECONDS);
    /* An instant outside the years that can be written would print as text that does not read back. */
    return out->days >= FIRST_DAY && out->days <= LAST_DAY ? LB_TIMESTAMP_UTC : LB_NOT_A_DATETIME;
}

lb_datetime_kind lb_datetime_parse(const char *p, size_t size, lb_datetime *out)
{
    *out = (lb_datetime){ .days = 0 };
    if (size < 8 || size > 35) /* 00:00:00 to 0001-01-01T00:00:00.000000000+00:00 */
        return LB_NOT_A_DATETIME;
    const char *end = p + size;
    if (p[2] == ':')
        return clock_read(&p, end, true, out) && p == end ? LB_TIME : LB_NOT_A_DATETIME;
    if (size == 10)
        return lb_date_plain(p, &out->days) ? LB_DATE : LB_NOT_A_DATETIME;
    return size >= 16 ? timestamp_read(p, end, out) : LB_NOT_A_DATETIME;
}

/* Inlined for each unit, so that nothing is divided by a variable. */
static inline __attribute__((always_inline)) bool datetime_count(const lb_datetime *v, int64_t unit, int64_t *out)
{
    uint32_t each = (uint32_t)(NANOS / unit);
    if (v->nanos % each != 0)
        return false;
    int64_t rest = v->nanos / each, seconds = v->seconds, count;
    if (seconds < 0 && rest > 0) { /* lest the product be too small where the sum is not */
        seconds++;
        rest -= unit;
    }
    return !__builtin_mul_overflow(seconds, unit, &count) && !__builtin_add_overflow(count, rest, out);
}

bool lb_datetime_count(const lb_datetime *v, int64_t unit, int64_t *out)
{
    switch (unit) {
    case 1:
        return datetime_count(v, 1, out);
    case 1000:
        return datetime_count(v, 1000, out);
    case 1000000:
        return datetime_count(v, 1000000, out);
    case NANOS:
        return datetime_count(v, NANOS, out);
    default:
        return unit >= 1 && unit <= NANOS && datetime_count(v, unit, out);
    }
}

/* ---------------------------------------------------------------- printing */

static char *put_two(char *at, unsigned v)
{
    at[0] = (char)('0' + v / 10 % 10);
    at[1] = (char)('0' + v % 10);
    return at + 2;
}

/* At least `width` digits. */
static char *put_padded(char *at, uint64_t v, size_t width)
{
    char digits[LB_INT_TEXT];
    size_t size = lb_print_uint64(v, digits);
    for (; width > size; width--)
        *at++ = '0';
    memcpy(at, digits, size);
    return at + size;
}

/* A point and the first `digits` of nine digits. */
static char *put_fraction(char *at, uint32_t nanos, int digits)
{
    *at = '.';
    for (int i = 9; i > 0; i--, nanos /= 10)
        if (i <= digits)
            at[i] = (char)('0' + nanos % 10);
    return at + 1 + digits;
}

/* Nothing, or 3, 6 or 9 digits behind a point. */
static char *put_thousandths(char *at, uint32_t nanos)
{
    if (nanos == 0)
        return at;
    return put_fraction(at, nanos, nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9);
}

static uint32_t unit_nanos(int64_t unit)
{
    return unit >= 1 && unit <= NANOS ? (uint32_t)(NANOS / unit) : 1;
}

static char *put_date(char *at, int64_t days)
{
    int64_t year;
    int month, day;
    lb_date_of(days, &year, &month, &day);
    bool plain = year >= 0 && year <= 9999;
    if (!plain)
        *at++ = year < 0 ? '-' : '+';
    at = put_padded(at, (uint64_t)(year < 0 ? -year : year), plain ? 4 : 5);
    *at++ = '-';
    at = put_two(at, (unsigned)month);
    *at++ = '-';
    return put_two(at, (unsigned)day);
}

static char *put_clock(char *at, uint64_t seconds, uint32_t nanos)
{
    at = put_padded(at, seconds / 3600, 2);
    *at++ = ':';
    at = put_two(at, (unsigned)(seconds / 60 % 60));
    *at++ = ':';
    at = put_two(at, (unsigned)(seconds % 60));
    return put_thousandths(at, nanos);
}

size_t lb_print_date(int64_t days, char out[LB_DATETIME_TEXT])
{
    return (size_t)(put_date(out, days) - out);
}

/* A time of day outside a day, which only a damaged file has, keeps its sign and its hours. */
size_t lb_print_time(int64_t count, int64_t unit, char out[LB_DATETIME_TEXT])
{
    char *at = out;
    uint64_t size = count < 0 ? 0 - (uint64_t)count : (uint64_t)count, each = (uint64_t)(unit > 0 ? unit : 1);
    if (count < 0)
        *at++ = '-';
    return (size_t)(put_clock(at, size / each, (uint32_t)(size % each) * unit_nanos(unit)) - out);
}

size_t lb_print_timestamp(int64_t count, int64_t unit, bool utc, char out[LB_DATETIME_TEXT])
{
    int64_t each = unit > 0 ? unit : 1, seconds = floor_divide(count, each),
            days = floor_divide(seconds, LB_DAY_SECONDS);
    uint32_t nanos = (uint32_t)floor_rest(count, each) * unit_nanos(unit);
    char *at = put_date(out, days);
    *at++ = 'T';
    at = put_clock(at, (uint64_t)floor_rest(seconds, LB_DAY_SECONDS), nanos);
    if (utc)
        *at++ = 'Z';
    return (size_t)(at - out);
}

/* `1H`, or nothing for 0. */
static char *put_part(char *at, uint64_t v, char letter)
{
    if (v == 0)
        return at;
    at += lb_print_uint64(v, at);
    *at++ = letter;
    return at;
}

static char *put_seconds(char *at, uint64_t seconds, uint32_t nanos)
{
    at += lb_print_uint64(seconds, at);
    int digits = 9;
    for (uint32_t v = nanos; digits > 0 && v % 10 == 0; v /= 10)
        digits--;
    if (digits > 0)
        at = put_fraction(at, nanos, digits);
    *at++ = 'S';
    return at;
}

size_t lb_print_duration(int64_t count, int64_t unit, char out[LB_DATETIME_TEXT])
{
    char *at = out;
    uint64_t size = count < 0 ? 0 - (uint64_t)count : (uint64_t)count, each = (uint64_t)(unit > 0 ? unit : 1);
    uint64_t seconds = size / each, day = seconds % LB_DAY_SECONDS;
    uint32_t nanos = (uint32_t)(size % each) * unit_nanos(unit);
    if (count < 0)
        *at++ = '-';
    *at++ = 'P';
    at = put_part(at, seconds / LB_DAY_SECONDS, 'D');
    if (day == 0 && nanos == 0 && seconds != 0)
        return (size_t)(at - out);
    *at++ = 'T';
    at = put_part(at, day / 3600, 'H');
    at = put_part(at, day / 60 % 60, 'M');
    if (day % 60 != 0 || nanos != 0 || seconds == 0)
        at = put_seconds(at, day % 60, nanos);
    return (size_t)(at - out);
}
