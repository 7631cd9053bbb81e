/* The common shapes of dates and times, read without a loop over their bytes. What these refuse may still be a date or a time,
 * and datetime.h says which. */
#ifndef LB_BASE_DATETIME_PLAIN_H
#define LB_BASE_DATETIME_PLAIN_H

#include "base/number_plain.h"

#define LB_HIGH_BITS UINT64_C(0x8080808080808080)
#define LB_EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */
#define LB_DAY_SECONDS 86400

/* Of a month that is one, in the year that is written in two pairs of digits. */
LB_INLINE unsigned lb_month_days(unsigned century, unsigned year, unsigned month)
{
    static const uint8_t days[] = { 0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = ((year != 0 ? year : century) & 3) == 0;
    return days[month] + (unsigned)(month == 2 && leap);
}

/* lb_days_of for the years 1 to 9999, in which nothing has a sign. */
LB_INLINE int32_t lb_days_of_written(unsigned year, unsigned month, unsigned day)
{
    static const uint16_t before[16] = { 0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275 }; /* from March */
    year -= month <= 2;
    return (int32_t)(year * 365 + year / 4 - year / 100 + year / 400 + before[month & 15] + day - 1) - LB_EPOCH_DAYS;
}

/* Read eight bytes that look as a pattern, in which 0 stands for any digit. Byte i of *out is then the number that the
 * digits at places i and i + 1 make. `rest` says what a byte may pass the pattern's by: 0x76 lets it be up to 9 above
 * it, 0x7f nothing; more sets the high bit. A byte that would carry into the next one has that bit by itself. */
LB_INLINE bool lb_pairs_read(const char *p, const char pattern[9], uint64_t rest, uint64_t *out)
{
    uint64_t v = lb_load8(p) ^ lb_load8(pattern);
    *out = v * 10 + (v >> 8);
    return (((v + rest) | v) & LB_HIGH_BITS) == 0;
}

LB_INLINE unsigned lb_pair_at(uint64_t pairs, int place)
{
    return (unsigned)(pairs >> (8 * place)) & 0xff;
}

/* A real day, YYYY-MM-DD in ten bytes. */
LB_INLINE bool lb_date_plain(const char *p, int32_t *days)
{
    uint64_t head, tail;
    if (!lb_pairs_read(p, "0000-00-", 0x7f76767f76767676, &head) ||
        !lb_pairs_read(p + 2, "00-00-00", 0x76767f76767f7676, &tail))
        return false;
    unsigned century = lb_pair_at(head, 0), in_century = lb_pair_at(head, 2), year = century * 100 + in_century;
    unsigned month = lb_pair_at(tail, 3), day = lb_pair_at(tail, 6);
    if (year == 0 || month - 1 > 11 || day - 1 >= lb_month_days(century, in_century, month))
        return false;
    *days = lb_days_of_written(year, month, day);
    return true;
}

/* HH:MM:SS in eight bytes: seconds since midnight. */
LB_INLINE bool lb_clock_plain(const char *p, uint32_t *seconds)
{
    uint64_t pairs;
    if (!lb_pairs_read(p, "00:00:00", 0x76767f76767f7676, &pairs))
        return false;
    unsigned hour = lb_pair_at(pairs, 0), minute = lb_pair_at(pairs, 3), second = lb_pair_at(pairs, 6);
    *seconds = hour * 3600 + minute * 60 + second;
    return (hour < 24) & (minute < 60) & (second < 60);
}

/* A date, `T` or a blank, and a time, in nineteen bytes: seconds since 1970-01-01 00:00:00. */
LB_INLINE bool lb_timestamp_plain(const char *p, int64_t *seconds)
{
    int32_t days;
    uint32_t clock;
    if ((p[10] != 'T' && p[10] != ' ') || !lb_date_plain(p, &days) || !lb_clock_plain(p + 11, &clock))
        return false;
    *seconds = (int64_t)days * LB_DAY_SECONDS + clock;
    return true;
}

#endif
