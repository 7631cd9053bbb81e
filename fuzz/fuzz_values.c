/* Numbers, decimals, dates and times: the first byte chooses precision and scale, the rest is the text. What reads must
 * print, and what is printed must read back as the same; where C's strtod has a say, it must agree. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/datetime.h"
#include "base/number.h"
#include "base/number_plain.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define TEXT_MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_bits(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static void check_double_print(double v)
{
    char out[LB_DOUBLE_TEXT];
    double back = 0;
    lb_number n;
    size_t size = lb_print_double(v, out);
    REQUIRE(size <= sizeof out && lb_parse_double(out, size, &back));
    REQUIRE(lb_number_parse(out, size, &n) == LB_NUMBER_FLOAT);
    REQUIRE(isnan(v) ? isnan(back) && isnan(n.f) : same_bits(v, back) && same_bits(v, n.f));
    size = lb_print_double_17g(v, out);
    REQUIRE(size <= sizeof out && lb_parse_double(out, size, &back));
    REQUIRE(isnan(v) ? isnan(back) : same_bits(v, back));
    float single = (float)v;
    size = lb_print_float(single, out);
    REQUIRE(size <= sizeof out && lb_parse_double(out, size, &back));
    REQUIRE(isnan(single) ? isnan(back) : (float)back == single);
}

/* strtod reads more (blanks, hexadecimal, `nan(…)`), so only what both read is compared. */
static void check_against_strtod(const char *text, size_t size)
{
    double v = 0;
    char *end;
    bool plain = true;
    for (size_t i = 0; i < size; i++)
        plain = plain && text[i] != '\0' && strchr("0123456789.eE+-", text[i]) != NULL;
    double want = strtod(text, &end);
    bool all = plain && size > 0 && end == text + size;
    bool got = lb_parse_double(text, size, &v);
    if (all)
        REQUIRE(got == (isfinite(want) != 0) && (!got || same_bits(v, want)));
    else
        REQUIRE(!got || !plain);
}

static void check_integer(const char *text, size_t size, lb_number_kind kind, const lb_number *n)
{
    char out[LB_INT_TEXT];
    int64_t i = 0;
    uint64_t u = 0;
    double f = 0;
    bool has_int = lb_parse_int64(text, size, &i), has_uint = lb_parse_uint64(text, size, &u);
    REQUIRE(!(has_int && has_uint) || (i >= 0 && (uint64_t)i == u));
    REQUIRE(!(has_int || has_uint) || lb_parse_double(text, size, &f));
    if (kind == LB_NUMBER_INT) {
        REQUIRE(has_int && i == n->i && has_uint == (i >= 0 && *text != '-'));
        REQUIRE(lb_print_int64(i, out) == size && memcmp(out, text, size) == 0 && f == (double)i);
    } else if (kind == LB_NUMBER_UINT) {
        REQUIRE(!has_int && has_uint && u == n->u && u > INT64_MAX);
        REQUIRE(lb_print_uint64(u, out) == size && memcmp(out, text, size) == 0 && f == (double)u);
    } else if (kind == LB_NUMBER_BIG) {
        REQUIRE(!has_int && !has_uint);
    }
}

static void check_number(const char *text, size_t size)
{
    lb_number n;
    double v = 0;
    lb_number_kind kind = lb_number_parse(text, size, &n);
    bool declared = lb_parse_double(text, size, &v);
    check_integer(text, size, kind, &n);
    check_against_strtod(text, size);
    REQUIRE(kind == LB_NOT_A_NUMBER || kind == LB_NUMBER_BIG || declared); /* a BIG may pass a double's range */
    if (kind == LB_NUMBER_FLOAT)
        REQUIRE(isnan(v) ? isnan(n.f) : same_bits(v, n.f));
    REQUIRE(!n.point || (kind == LB_NUMBER_FLOAT && (size_t)n.whole_digits + n.fraction_digits < size));
    if (declared)
        check_double_print(v);
}

/* What the short ways read, they must read as lb_number_parse does. */
static void check_plain(const char *text, size_t size)
{
    lb_number n;
    lb_plain plain;
    double f;
    int64_t i;
    lb_number_kind kind = lb_number_parse(text, size, &n);
    if (lb_plain_exponent(text, size, &f))
        REQUIRE(kind == LB_NUMBER_FLOAT && !n.point && same_bits(f, n.f));
    if (!lb_plain_read(text, size, &plain)) {
        REQUIRE(kind != LB_NUMBER_INT || n.i == INT64_MIN);
        return;
    }
    if (lb_plain_integer(&plain, &i))
        REQUIRE(kind == LB_NUMBER_INT && n.i == i);
    else if (plain.point)
        REQUIRE(kind == LB_NUMBER_FLOAT && n.point && same_bits(n.f, lb_plain_double(&plain)));
    else
        REQUIRE(kind != LB_NOT_A_NUMBER);
}

static void check_decimal(const char *text, size_t size, uint8_t choice)
{
    char out[LB_DECIMAL_TEXT + 128];
    lb_i256 v, back;
    double as_double;
    int precision = 1 + choice % 76, scale = choice % 3 == 0 ? 0 : choice % 3 == 1 ? precision / 2 : -(choice % 100);
    if (!lb_parse_decimal(text, size, precision, scale, &v))
        return;
    size_t length = lb_print_decimal(v, scale, out);
    REQUIRE(length <= LB_DECIMAL_TEXT + (size_t)(scale < 0 ? -scale : 0));
    REQUIRE(lb_parse_decimal(out, length, precision, scale, &back) && lb_i256_compare(v, back) == 0);
    REQUIRE(lb_parse_double(text, size, &as_double));
}

static void check_datetime_print(const lb_datetime *v, lb_datetime_kind kind, int64_t unit)
{
    char out[LB_DATETIME_TEXT];
    lb_datetime back;
    int64_t count;
    if (!lb_datetime_count(v, unit, &count))
        return;
    bool time = kind == LB_TIME;
    size_t size =
        time ? lb_print_time(count, unit, out) : lb_print_timestamp(count, unit, kind == LB_TIMESTAMP_UTC, out);
    REQUIRE(size <= sizeof out);
    bool far = v->days < -719162 || v->days > 2932896; /* an offset has led out of the years 1 to 9999 */
    REQUIRE(lb_datetime_parse(out, size, &back) == (far ? LB_NOT_A_DATETIME : kind));
    REQUIRE(far || (back.days == v->days && back.seconds == v->seconds && back.nanos == v->nanos));
}

static void check_datetime(const char *text, size_t size)
{
    lb_datetime v;
    char out[LB_DATETIME_TEXT];
    lb_datetime_kind kind = lb_datetime_parse(text, size, &v);
    lb_number n;
    if (kind == LB_NOT_A_DATETIME)
        return;
    REQUIRE(lb_number_parse(text, size, &n) == LB_NOT_A_NUMBER);
    REQUIRE(v.nanos < 1000000000 && v.fraction_digits <= 9);
    if (kind == LB_DATE) {
        REQUIRE(lb_print_date(v.days, out) == size && memcmp(out, text, size) == 0);
        return;
    }
    for (int64_t unit = 1; unit <= 1000000000; unit *= 1000)
        check_datetime_print(&v, kind, unit);
}

/* The text's first bytes as a count: whatever a damaged file holds must print within bounds. */
static void check_counts(const uint8_t *data, size_t size)
{
    char out[LB_DATETIME_TEXT], text[LB_DECIMAL_TEXT];
    int64_t count, year;
    int month, day;
    lb_i256 wide = { { 0 } };
    if (size < sizeof count)
        return;
    memcpy(&count, data, sizeof count);
    memcpy(&wide, data, size < sizeof wide ? size : sizeof wide);
    for (int64_t unit = 1; unit <= 1000000000; unit *= 1000) {
        REQUIRE(lb_print_timestamp(count, unit, true, out) <= sizeof out);
        REQUIRE(lb_print_time(count, unit, out) <= sizeof out);
        REQUIRE(lb_print_duration(count, unit, out) <= sizeof out);
    }
    REQUIRE(lb_print_date(count, out) <= sizeof out);
    lb_date_of(count, &year, &month, &day);
    REQUIRE(month >= 1 && month <= 12 && day >= 1 && day <= 31);
    REQUIRE(lb_days_of(year, month, day) == count || year > INT64_C(25252734927000000) ||
            year < -INT64_C(25252734927000000));
    REQUIRE(lb_print_decimal(wide, (int)(data[0] * 5), text) <= sizeof text);
    double v;
    memcpy(&v, data, sizeof v);
    check_double_print(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MOST + 1 + LB_DIGITS_PADDING];
    if (size == 0 || size > TEXT_MOST)
        return 0;
    uint8_t choice = data[0];
    data++;
    size--;
    memcpy(text, data, size);
    memset(text + size, size % 2 == 0 ? '\0' : '7', LB_DIGITS_PADDING);
    check_plain(text, size);
    text[size] = '\0'; /* for strtod */
    check_number(text, size);
    check_decimal(text, size, choice);
    check_datetime(text, size);
    check_counts(data, size);
    return 0;
}
