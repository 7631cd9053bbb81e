/* Dates and times as text, both ways. Expected values come from Python (datetime_cases.h), or are laws. */
#include "base/datetime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "datetime_cases.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define NANO INT64_C(1000000000)
#define MICRO INT64_C(1000000)

static void assert_text(const char *want, const char *got, size_t size)
{
    if (size != strlen(want) || memcmp(want, got, size) != 0)
        fail_msg("expected %s, got %.*s", want, (int)size, got);
}

static lb_datetime_kind parse(const char *text, lb_datetime *out)
{
    return lb_datetime_parse(text, strlen(text), out);
}

static void dates_as_python(void **state)
{
    (void)state;
    char out[LB_DATETIME_TEXT];
    for (size_t i = 0; i < COUNT_OF(date_cases); i++) {
        lb_datetime v;
        if (parse(date_cases[i].text, &v) != LB_DATE || v.days != date_cases[i].days)
            fail_msg("%s: %d", date_cases[i].text, v.days);
        assert_text(date_cases[i].text, out, lb_print_date(date_cases[i].days, out));
    }
}

static void stamps_as_python(void **state)
{
    (void)state;
    char out[LB_DATETIME_TEXT];
    for (size_t i = 0; i < COUNT_OF(stamp_cases); i++) {
        const char *text = stamp_cases[i].text;
        lb_datetime v;
        int64_t count = 0;
        if (parse(text, &v) != LB_TIMESTAMP || !lb_datetime_count(&v, MICRO, &count) || count != stamp_cases[i].micros)
            fail_msg("%s", text);
        assert_text(text, out, lb_print_timestamp(count, MICRO, false, out));
        assert_text(text + 11, out, lb_print_time(count - (int64_t)v.days * 86400 * MICRO, MICRO, out));
    }
    for (size_t i = 0; i < COUNT_OF(zone_cases); i++) {
        lb_datetime v;
        int64_t count;
        if (parse(zone_cases[i].text, &v) != LB_TIMESTAMP_UTC || !lb_datetime_count(&v, MICRO, &count) ||
            count != zone_cases[i].micros)
            fail_msg("%s", zone_cases[i].text);
    }
}

/* An instant is a timestamp only where it can be written in UTC, and then reads back. */
static void instants_stay_within_the_years(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(edge_cases); i++) {
        const char *text = edge_cases[i].text;
        char out[LB_DATETIME_TEXT];
        lb_datetime v, back;
        int64_t count = 0, again = 0;
        if (parse(text, &v) != (edge_cases[i].held ? LB_TIMESTAMP_UTC : LB_NOT_A_DATETIME))
            fail_msg("%s", text);
        if (!edge_cases[i].held)
            continue;
        assert_true(lb_datetime_count(&v, MICRO, &count));
        size_t size = lb_print_timestamp(count, MICRO, true, out);
        if (lb_datetime_parse(out, size, &back) != LB_TIMESTAMP_UTC || !lb_datetime_count(&back, MICRO, &again) ||
            again != count)
            fail_msg("%s does not read back from %.*s", text, (int)size, out);
    }
}

static const struct {
    const char *text;
    lb_datetime_kind kind;
    int32_t days;
    int64_t seconds;
    uint32_t nanos, digits;
} parse_cases[] = {
    { "1970-01-01", LB_DATE, 0, 0, 0, 0 },
    { "0001-01-01", LB_DATE, -719162, 0, 0, 0 },
    { "9999-12-31", LB_DATE, 2932896, 0, 0, 0 },
    { "2000-02-29", LB_DATE, 11016, 0, 0, 0 },
    { "00:00:00", LB_TIME, 0, 0, 0, 0 },
    { "23:59:59.999999999", LB_TIME, 0, 86399, 999999999, 9 },
    { "12:30:00.5", LB_TIME, 0, 45000, 500000000, 1 },
    { "1969-12-31T23:59:59.25", LB_TIMESTAMP, -1, -1, 250000000, 2 },
    { "1970-01-01 00:01", LB_TIMESTAMP, 0, 60, 0, 0 },
    { "1970-01-01T00:01Z", LB_TIMESTAMP_UTC, 0, 60, 0, 0 },
    { "1970-01-01T00:00:00+01", LB_TIMESTAMP_UTC, -1, -3600, 0, 0 },
    { "1970-01-01T00:00-0130", LB_TIMESTAMP_UTC, 0, 5400, 0, 0 },
    { "1970-01-01 23:30:00.000000001-01:00", LB_TIMESTAMP_UTC, 1, 88200, 1, 9 },
    { "0001-01-01T00:30:00+00:30", LB_TIMESTAMP_UTC, -719162, -62135596800, 0, 0 },
    { "9999-12-31T22:59:59.999999999-01", LB_TIMESTAMP_UTC, 2932896, 253402300799, 999999999, 9 },
    { "1970-01-01T00:00:00.0", LB_TIMESTAMP, 0, 0, 0, 1 },
};

static void parse_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(parse_cases); i++) {
        lb_datetime v;
        if (parse(parse_cases[i].text, &v) != parse_cases[i].kind || v.days != parse_cases[i].days ||
            v.seconds != parse_cases[i].seconds || v.nanos != parse_cases[i].nanos ||
            v.fraction_digits != parse_cases[i].digits)
            fail_msg("%s", parse_cases[i].text);
    }
}

static const char *const no_datetimes[] = {
    "",
    "0000-01-01",
    "2001-02-29",
    "1900-02-29",
    "2020-00-10",
    "2020-13-10",
    "2020-04-31",
    "2020-01-00",
    "2020-01-32",
    "2020/01/01",
    "2020-1-01",
    "20200101",
    "+2020-01-1",
    "2020-01-01 ",
    " 2020-01-01",
    "2020-01-01T",
    "2020-01-01T1",
    "2020-01-01T10",
    "2020-01-01T10:0",
    "2020-01-01T24:00",
    "2020-01-01T23:60",
    "2020-01-01T23:59:60",
    "2020-01-01t10:00",
    "2020-01-01  10:00",
    "2020-01-01T10:00:",
    "2020-01-01T10:00:0",
    "2020-01-01T10:00:00.",
    "2020-01-01T10:00:00.Z",
    "2020-01-01T10:00:00.1234567890",
    "2020-01-01T10:00:00,5",
    "2020-01-01T10:00.5",
    "2020-01-01T10:00:00 Z",
    "2020-01-01T10:00:00ZZ",
    "2020-01-01T10:00:00z",
    "0001-01-01T00:30:00+01:00",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:30:00-01:00",
    "9999-12-31T23:00:00-01",
    "2020-01-01T10:00:00+",
    "2020-01-01T10:00:00+1",
    "2020-01-01T10:00:00+100",
    "2020-01-01T10:00:00+24:00",
    "2020-01-01T10:00:00+01:60",
    "2020-01-01T10:00:00+01-30",
    "2020-01-01T10:00:00+01:0",
    "2020-01-01T10:00:00 Europe/Rome",
    "10:00",
    "1:00:00",
    "24:00:00",
    "00:60:00",
    "00:00:60",
    "00:00:00Z",
    "00:00:00.1234567890",
    "00-00-00",
    "-1:00:00",
    "2020-01-01T10:00:00.123456789+01:000",
};

static void parse_refuses(void **state)
{
    (void)state;
    lb_datetime v;
    for (size_t i = 0; i < COUNT_OF(no_datetimes); i++)
        if (parse(no_datetimes[i], &v) != LB_NOT_A_DATETIME)
            fail_msg("%s was taken for a date or time", no_datetimes[i]);
    assert_int_equal(lb_datetime_parse(NULL, 0, &v), LB_NOT_A_DATETIME);
}

static const struct {
    const char *text;
    int64_t unit;
    bool fits;
    int64_t count;
} count_cases[] = {
    { "1970-01-01T00:00:01", 1, true, 1 },
    { "1970-01-01T00:00:01.5", 1, false, 0 },
    { "1970-01-01T00:00:01.5", 1000, true, 1500 },
    { "1969-12-31T23:59:59.999", 1000, true, -1 },
    { "1970-01-01T00:00:00.0001", 1000, false, 0 },
    { "1677-09-21T00:12:43.145224192", NANO, true, INT64_MIN },
    { "1677-09-21T00:12:43.145224191", NANO, false, 0 },
    { "2262-04-11T23:47:16.854775807", NANO, true, INT64_MAX },
    { "2262-04-11T23:47:16.854775808", NANO, false, 0 },
    { "9999-12-31T23:59:59.999999", MICRO, true, INT64_C(253402300799999999) },
    { "9999-12-31T23:59:59", NANO, false, 0 },
    { "12:00:00.000000001", NANO, true, INT64_C(43200000000001) },
    { "12:00:00", 0, false, 0 },
};

static void counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(count_cases); i++) {
        lb_datetime v;
        int64_t count = 0;
        assert_int_not_equal(parse(count_cases[i].text, &v), LB_NOT_A_DATETIME);
        bool fits = lb_datetime_count(&v, count_cases[i].unit, &count);
        if (fits != count_cases[i].fits || (fits && count != count_cases[i].count))
            fail_msg("%s", count_cases[i].text);
    }
}

static void print_dates(void **state)
{
    (void)state;
    char out[LB_DATETIME_TEXT];
    /* beyond Python's years: as NumPy prints them, but for its `-0001` and `10000` */
    assert_text("0000-12-31", out, lb_print_date(-719163, out));
    assert_text("-00001-12-31", out, lb_print_date(-719529, out));
    assert_text("+10000-01-01", out, lb_print_date(2932897, out));
    assert_text("-292277022657-01-27T08:29:52", out, lb_print_timestamp(INT64_MIN, 1, false, out));
    assert_text("+292277026596-12-04T15:30:07Z", out, lb_print_timestamp(INT64_MAX, 1, true, out));
    assert_text("1677-09-21T00:12:43.145224192", out, lb_print_timestamp(INT64_MIN, NANO, false, out));
    assert_text("1969-12-31T23:59:59.999Z", out, lb_print_timestamp(-1, 1000, true, out));
    assert_true(lb_print_date(INT64_MIN, out) <= LB_DATETIME_TEXT);
    assert_true(lb_print_date(INT64_MAX, out) <= LB_DATETIME_TEXT);
}

static void print_times(void **state)
{
    (void)state;
    char out[LB_DATETIME_TEXT];
    assert_text("00:00:00", out, lb_print_time(0, NANO, out));
    assert_text("23:59:59.999999999", out, lb_print_time(INT64_C(86399999999999), NANO, out));
    assert_text("00:00:00.500", out, lb_print_time(500, 1000, out));
    assert_text("00:00:00.000500", out, lb_print_time(500, MICRO, out));
    assert_text("00:00:00.001", out, lb_print_time(1000000, NANO, out));
    assert_text("24:00:00", out, lb_print_time(86400, 1, out));
    assert_text("-00:00:01", out, lb_print_time(-1, 1, out));
    assert_true(lb_print_time(INT64_MIN, 1, out) <= LB_DATETIME_TEXT);
}

static const struct {
    int64_t count, unit;
    const char *text;
} duration_cases[] = {
    { 0, 1, "PT0S" },
    { 1500, 1000, "PT1.5S" },
    { -3, 1, "-PT3S" },
    { 93600, 1, "P1DT2H" },
    { 86400, 1, "P1D" },
    { 90, 1, "PT1M30S" },
    { 3600, 1, "PT1H" },
    { 86401, 1, "P1DT1S" },
    { INT64_C(86400000000001), NANO, "P1DT0.000000001S" },
    { -1, MICRO, "-PT0.000001S" },
    { 100000, MICRO, "PT0.1S" },
    { INT64_MIN, NANO, "-P106751DT23H47M16.854775808S" },
    { INT64_MIN, 1, "-P106751991167300DT15H30M8S" },
};

static void print_durations(void **state)
{
    (void)state;
    char out[LB_DATETIME_TEXT];
    for (size_t i = 0; i < COUNT_OF(duration_cases); i++)
        assert_text(duration_cases[i].text, out,
                    lb_print_duration(duration_cases[i].count, duration_cases[i].unit, out));
}

/* Every day of 1,200 years follows the one before it, and far days come back. */
static void days_round_trip(void **state)
{
    (void)state;
    int64_t year = 1400, day_number = lb_days_of(1400, 1, 1);
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    for (; year < 2600; year++) {
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= lengths[month - 1] + (month == 2 && leap); day++, day_number++) {
                int64_t y;
                int m, d;
                lb_date_of(day_number, &y, &m, &d);
                assert_true(y == year && m == month && d == day);
                assert_true(lb_days_of(year, month, day) == day_number);
            }
    }
    static const int64_t far[] = { INT64_C(9223372036850000000), INT64_C(-9223372036850000000), -1, -146097, 146096 };
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        int64_t y;
        int m, d;
        lb_date_of(far[i], &y, &m, &d);
        assert_true(lb_days_of(y, m, d) == far[i]);
    }
    assert_true(lb_days_of(INT64_MAX, 1, 1) == INT64_MAX && lb_days_of(INT64_MIN, 1, 1) == INT64_MIN);
}

/* ---------------------------------------------------------------- the rules, byte by byte */

/* `count` digits. */
static bool plain_digits(const char **at, const char *end, int count, int64_t *out)
{
    *out = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (*at == end || **at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool plain_byte(const char **at, const char *end, const char *any_of)
{
    if (*at == end || **at == '\0' || strchr(any_of, **at) == NULL)
        return false;
    ++*at;
    return true;
}

static bool plain_date(const char **at, const char *end, lb_datetime *out)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t year, month, day;
    if (!plain_digits(at, end, 4, &year) || !plain_byte(at, end, "-") || !plain_digits(at, end, 2, &month) ||
        !plain_byte(at, end, "-") || !plain_digits(at, end, 2, &day) || year < 1 || month < 1 || month > 12)
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    out->days = (int32_t)lb_days_of(year, (int)month, (int)day);
    return day >= 1 && day <= lengths[month - 1] + (month == 2 && leap);
}

static bool plain_clock(const char **at, const char *end, bool whole, lb_datetime *out)
{
    int64_t hour, minute, second = 0, digit;
    if (!plain_digits(at, end, 2, &hour) || !plain_byte(at, end, ":") || !plain_digits(at, end, 2, &minute))
        return false;
    if (plain_byte(at, end, ":")) {
        if (!plain_digits(at, end, 2, &second))
            return false;
        if (plain_byte(at, end, ".")) {
            uint32_t unit = 100000000;
            for (; plain_digits(at, end, 1, &digit); unit /= 10) {
                out->nanos += (uint32_t)digit * unit;
                out->fraction_digits++;
            }
            if (out->fraction_digits < 1 || out->fraction_digits > 9)
                return false;
        }
    } else if (whole) {
        return false;
    }
    out->seconds = hour * 3600 + minute * 60 + second;
    return hour < 24 && minute < 60 && second < 60;
}

static bool plain_zone(const char **at, const char *end, int64_t *out)
{
    int64_t hour, minute = 0;
    *out = 0;
    if (plain_byte(at, end, "Z"))
        return *at == end;
    bool west = *at < end && **at == '-';
    if (!plain_byte(at, end, "+-") || !plain_digits(at, end, 2, &hour))
        return false;
    bool colon = plain_byte(at, end, ":");
    if ((colon || *at < end) && !plain_digits(at, end, 2, &minute))
        return false;
    *out = (hour * 3600 + minute * 60) * (west ? -1 : 1);
    return *at == end && hour < 24 && minute < 60;
}

static lb_datetime_kind plain_parse(const char *at, size_t size, lb_datetime *out)
{
    const char *end = at + size;
    int64_t zone;
    *out = (lb_datetime){ .days = 0 };
    if (size > 2 && at[2] == ':')
        return plain_clock(&at, end, true, out) && at == end ? LB_TIME : LB_NOT_A_DATETIME;
    if (!plain_date(&at, end, out))
        return LB_NOT_A_DATETIME;
    if (at == end)
        return LB_DATE;
    if (!plain_byte(&at, end, "T ") || !plain_clock(&at, end, false, out))
        return LB_NOT_A_DATETIME;
    out->seconds += out->days * INT64_C(86400);
    if (at == end)
        return LB_TIMESTAMP;
    if (!plain_zone(&at, end, &zone))
        return LB_NOT_A_DATETIME;
    out->seconds -= zone;
    if (out->seconds < -719162 * INT64_C(86400) || out->seconds >= 2932897 * INT64_C(86400))
        return LB_NOT_A_DATETIME;
    out->days = (int32_t)((out->seconds + 719162 * INT64_C(86400)) / 86400 - 719162);
    return LB_TIMESTAMP_UTC;
}

static uint64_t random_state = 88172645463325252;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static int random_date(char *out, size_t cap)
{
    uint64_t year = random_below(3) == 0 ? random_below(10000) : 1999 + random_below(3);
    return snprintf(out, cap, "%04u-%02u-%02u", (unsigned)year, (unsigned)random_below(13), (unsigned)random_below(33));
}

static int random_clock(char *out, size_t cap)
{
    int n = snprintf(out, cap, "%02u:%02u", (unsigned)random_below(25), (unsigned)random_below(61));
    if (random_below(4) != 0)
        n += snprintf(out + n, cap - (size_t)n, ":%02u", (unsigned)random_below(61));
    if (random_below(2) == 0)
        n += snprintf(out + n, cap - (size_t)n, ".%0*u", (int)random_below(11), (unsigned)random_below(10000000));
    return n;
}

static size_t random_text(char *out, size_t cap)
{
    static const char *const zones[] = { "", "", "Z", "+01", "-0130", "+05:30", "-23:59", "+24", "+1", "z", "+01:60" };
    uint64_t shape = random_below(4);
    int n = shape == 0 ? random_clock(out, cap) : random_date(out, cap);
    if (shape > 1) {
        out[n++] = "T  TTt"[random_below(6)];
        n += random_clock(out + n, cap - (size_t)n);
        n += snprintf(out + n, cap - (size_t)n, "%s", zones[random_below(COUNT_OF(zones))]);
    }
    return (size_t)n;
}

/* Real ones, nearly real ones, and such with a byte or two that are wrong; in blocks without a byte to spare. */
static void parses_as_the_rules_say(void **state)
{
    static const char odd[] = "0123456789-:.TZ +/;\xb0\xff";
    (void)state;
    uint64_t seen[LB_TIMESTAMP_UTC + 1] = { 0 };
    for (int turn = 0; turn < 2000000; turn++) {
        char made[80];
        size_t size = random_text(made, sizeof made);
        for (uint64_t changes = random_below(3); changes > 0; changes--)
            if (turn % 2 == 0)
                made[random_below(size)] = odd[random_below(sizeof odd - 1)];
        if (turn % 7 == 0)
            size = random_below(size + 1);
        char *text = malloc(size == 0 ? 1 : size);
        assert_non_null(text);
        memcpy(text, made, size);
        lb_datetime want, got;
        lb_datetime_kind kind = plain_parse(text, size, &want);
        bool same = lb_datetime_parse(text, size, &got) == kind;
        if (kind == LB_DATE || kind == LB_TIMESTAMP || kind == LB_TIMESTAMP_UTC)
            same = same && got.days == want.days;
        if (kind != LB_NOT_A_DATETIME)
            same = same && got.seconds == want.seconds && got.nanos == want.nanos &&
                   got.fraction_digits == want.fraction_digits;
        if (!same)
            fail_msg("%.*s", (int)size, text);
        seen[kind]++;
        free(text);
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        assert_true(seen[i] > 10000);
}

/* Every day that can be written. */
static void every_day_parses(void **state)
{
    (void)state;
    for (int64_t day = -719162; day <= 2932896; day++) {
        char out[LB_DATETIME_TEXT];
        lb_datetime v;
        if (lb_print_date(day, out) != 10 || lb_datetime_parse(out, 10, &v) != LB_DATE || v.days != day)
            fail_msg("day %lld", (long long)day);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_as_python),
        cmocka_unit_test(stamps_as_python),
        cmocka_unit_test(instants_stay_within_the_years),
        cmocka_unit_test(parse_fields),
        cmocka_unit_test(parse_refuses),
        cmocka_unit_test(counts),
        cmocka_unit_test(print_dates),
        cmocka_unit_test(print_times),
        cmocka_unit_test(print_durations),
        cmocka_unit_test(days_round_trip),
        cmocka_unit_test(parses_as_the_rules_say),
        cmocka_unit_test(every_day_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
