/* Dates and times as text, both ways, in the rules of types.md sections 1 and 5. Proleptic Gregorian; no locale, no
 * zone database. */
#ifndef LB_BASE_DATETIME_H
#define LB_BASE_DATETIME_H

#include "base/str.h"

typedef enum lb_datetime_kind {
    LB_NOT_A_DATETIME,
    LB_DATE,      /* YYYY-MM-DD, a real day, years 0001-9999 */
    LB_TIME,      /* HH:MM:SS with up to 9 fraction digits; seconds below 60, hours below 24 */
    LB_TIMESTAMP, /* date, `T` or one blank, HH:MM, optional :SS and fraction */
    LB_TIMESTAMP_UTC /* the same followed by `Z`, ±HH, ±HHMM or ±HH:MM; the instant is given in UTC and lies in the years
                             0001-9999 there too */
} lb_datetime_kind;

typedef struct lb_datetime {
    int32_t days;             /* since 1970-01-01; DATE and both TIMESTAMPs */
    int64_t seconds;          /* TIMESTAMPs: since 1970-01-01 00:00:00; TIME: since midnight */
    uint32_t nanos;           /* 0 to 999,999,999, counted forwards from seconds */
    uint32_t fraction_digits; /* digits as written */
} lb_datetime;

/* The whole text counts: no blanks, nothing after. */
lb_datetime_kind lb_datetime_parse(const char *p, size_t size, lb_datetime *out);

/* seconds and nanos as a count of `unit` (1, 1000, 1000000 or 1000000000 a second). False: does not fit int64, or
 * digits would be lost. */
bool lb_datetime_count(const lb_datetime *v, int64_t unit, int64_t *out);

/* ISO 8601, no NUL; each returns the length, at most LB_DATETIME_TEXT. Years outside 0000-9999 are signed and have at least
 * five digits. The fraction is left out when 0, else has 3, 6 or 9 digits: the fewest that hold it. */
#define LB_DATETIME_TEXT 64
size_t lb_print_date(int64_t days, char out[LB_DATETIME_TEXT]);
size_t lb_print_time(int64_t count, int64_t unit, char out[LB_DATETIME_TEXT]);
size_t lb_print_timestamp(int64_t count, int64_t unit, bool utc,
                          char out[LB_DATETIME_TEXT]);                             /* `T` between; utc: `Z` after */
size_t lb_print_duration(int64_t count, int64_t unit, char out[LB_DATETIME_TEXT]); /* `PT1.5S`, `-PT3S`, `P1DT2H` */

/* Days since 1970-01-01 of a date, and back. */
int64_t lb_days_of(int64_t year, int month, int day);
void lb_date_of(int64_t days, int64_t *year, int *month, int *day);

#endif
