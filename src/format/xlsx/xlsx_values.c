/* What cells hold, and what columns of them are (types.md section 4). */
#include <math.h>
#include <stdio.h>

#include "base/datetime.h"
#include "base/number.h"
#include "base/utf8.h"
#include "format/xlsx/xlsx.h"

#define DAY_MS INT64_C(86400000)
/* Days from the day 0 to 1970-01-01: it is 1899-12-30, for the first system counts a 29 February 1900 that never was; or
 * 1904-01-01. */
#define DAYS_1900 25569
#define DAYS_1904 24107
#define SERIAL_MOST 2958466.0 /* 10000-01-01 in the first system */
#define WHOLE_MOST 9007199254740992.0

const char *const xl_type_words[XL_C_TYPES] = { "null",     "bool",          "int64",        "float64", "date",
                                                "time[ms]", "timestamp[ms]", "duration[ms]", "string" };

/* ---------------------------------------------------------------- moments */

static int64_t value_floor_day(int64_t ms)
{
    return (ms >= 0 ? ms / DAY_MS : -((-ms + DAY_MS - 1) / DAY_MS)) * DAY_MS;
}

/* A number that its format shows as a date or time, unless no date is so far off: then it stays a number. */
static void value_serial(const xl_valuer *v, xl_shows shows, xl_value *out)
{
    double most = v->package->date1904 ? SERIAL_MOST - (DAYS_1900 - DAYS_1904) : SERIAL_MOST;
    double least = shows == XL_ELAPSED ? -most : 0;

    if (!(out->number >= least && out->number < most))
        return;
    out->kind = XL_MOMENT;
    out->shows = shows;
    out->span = llround(out->number * (double)DAY_MS);
    out->instant = out->span - (v->package->date1904 ? DAYS_1904 : DAYS_1900) * DAY_MS;
    if (!v->package->date1904 && out->number < 60)
        out->instant += DAY_MS;
    out->of_day = out->span >= 0 && out->span < DAY_MS;
}

/* ISO 8601 as written; what is finer than a millisecond, or has a zone, stays text. */
static void value_iso(const xl_valuer *v, lb_str text, xl_value *out)
{
    lb_datetime t;
    int64_t ms;
    lb_datetime_kind kind = lb_datetime_parse(text.at, text.size, &t);

    *out = (xl_value){ .kind = XL_TEXT, .text = text };
    if ((kind != LB_DATE && kind != LB_TIME && kind != LB_TIMESTAMP) ||
        (kind != LB_DATE && !lb_datetime_count(&t, 1000, &ms)))
        return;
    out->kind = XL_MOMENT;
    out->iso = true;
    if (kind == LB_TIME) {
        out->shows = XL_TIME;
        out->span = ms;
        out->instant = ms - (v->package->date1904 ? DAYS_1904 : DAYS_1900 - 1) * DAY_MS;
        out->of_day = true;
        return;
    }
    out->shows = kind == LB_DATE ? XL_DATE : XL_DATETIME;
    out->instant = kind == LB_DATE ? t.days * DAY_MS : ms;
    out->span = out->instant;
}

/* ---------------------------------------------------------------- cells */

static lb_status value_number(const xl_valuer *v, const xl_cell *c, lb_str text, xl_value *out, lb_error *err)
{
    lb_str s = lb_xml_trim(text);
    bool number = s.size != 0 && s.at[s.size - 1] <= '9'; /* or a point; not INF and the like */

    (void)err;
    *out = (xl_value){ .kind = XL_NUMERIC };
    if (!number || !lb_parse_double(s.at, s.size, &out->number)) {
        *out = (xl_value){ .kind = XL_TEXT, .text = text };
        return LB_OK;
    }
    if (c->style < v->package->styles.size && v->package->styles.data[c->style] != XL_NUMBER)
        value_serial(v, (xl_shows)v->package->styles.data[c->style], out);
    return LB_OK;
}

static lb_status value_shared(xl_valuer *v, lb_str text, xl_value *out, lb_error *err)
{
    lb_str s = lb_xml_trim(text);
    uint64_t number;

    *out = (xl_value){ .kind = XL_TEXT };
    if (!lb_parse_uint64(s.at, s.size, &number))
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a cell's shared string has the number '%.*s'",
                       (int)LB_MIN(s.size, (size_t)40), s.at);
    if (v->strings == NULL)
        return LB_OK;
    v->scratch.size = 0;
    LB_TRY(xl_strings_get(v->strings, number, &v->scratch, err));
    out->text = (lb_str){ (const char *)v->scratch.data, v->scratch.size };
    return LB_OK;
}

static void value_bool(lb_str text, xl_value *out)
{
    lb_str s = lb_xml_trim(text);

    *out = (xl_value){ .kind = XL_BOOL, .boolean = lb_str_is(s, "1") || lb_str_is_nocase(s, "true") };
    if (!out->boolean && !lb_str_is(s, "0") && !lb_str_is_nocase(s, "false"))
        *out = (xl_value){ .kind = XL_TEXT, .text = text };
}

lb_status xl_value_of(xl_valuer *v, const xl_rows *rows, const xl_cell *c, xl_value *out, lb_error *err)
{
    lb_str text = { (const char *)rows->text.data + c->at, c->size };

    switch (c->type) {
    case XL_T_SHARED:
        LB_TRY(value_shared(v, text, out, err));
        break;
    case XL_T_BOOL:
        value_bool(text, out);
        break;
    case XL_T_ERROR:
        *out = (xl_value){ .kind = XL_ERROR, .text = lb_xml_trim(text) };
        break;
    case XL_T_ISO:
        value_iso(v, lb_xml_trim(text), out);
        break;
    case XL_T_TEXT:
        *out = (xl_value){ .kind = XL_TEXT, .text = text };
        break;
    default:
        LB_TRY(value_number(v, c, text, out, err));
    }
    if (out->text.size != 0 && lb_utf8_valid_prefix((const uint8_t *)out->text.at, out->text.size) != out->text.size)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row %u of the sheet: a text that is no UTF-8", rows->row);
    return LB_OK;
}

/* ---------------------------------------------------------------- text */

static lb_str value_elapsed(int64_t ms, char room[XL_TEXT_ROOM])
{
    uint64_t size = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    int n = snprintf(room, XL_TEXT_ROOM, "%s%llu:%02u:%02u", ms < 0 ? "-" : "", (unsigned long long)(size / 3600000),
                     (unsigned)(size / 60000 % 60), (unsigned)(size / 1000 % 60));

    if (size % 1000 != 0)
        n += snprintf(room + n, XL_TEXT_ROOM - (size_t)n, ".%03u", (unsigned)(size % 1000));
    return (lb_str){ room, (size_t)n };
}

static lb_str value_moment(const xl_value *v, char room[XL_TEXT_ROOM])
{
    bool midnight = value_floor_day(v->instant) == v->instant;

    if (v->iso)
        return v->text;
    if (v->shows == XL_ELAPSED)
        return value_elapsed(v->span, room);
    if (v->shows == XL_TIME && v->of_day)
        return (lb_str){ room, lb_print_time(v->span, 1000, room) };
    if (v->shows == XL_DATE && midnight)
        return (lb_str){ room, lb_print_date(v->instant / DAY_MS, room) };
    return (lb_str){ room, lb_print_timestamp(v->instant, 1000, false, room) };
}

static bool value_is_whole(double d)
{
    return d >= -WHOLE_MOST && d <= WHOLE_MOST && d == (double)(int64_t)d && !(d == 0 && signbit(d));
}

lb_str xl_value_text(const xl_value *v, char room[XL_TEXT_ROOM])
{
    switch (v->kind) {
    case XL_BOOL:
        return v->boolean ? LB_STR("true") : LB_STR("false");
    case XL_NUMERIC:
        if (value_is_whole(v->number))
            return (lb_str){ room, lb_print_int64((int64_t)v->number, room) };
        return (lb_str){ room, lb_print_double(v->number, room) };
    case XL_MOMENT:
        return value_moment(v, room);
    default:
        return v->text;
    }
}

/* ---------------------------------------------------------------- columns */

static void seen_moment(xl_seen *s, const xl_value *v)
{
    /* What 64 bits of nanoseconds hold, in whole days: 1677-09-22 to 2262-04-10. */
    const int64_t least = INT64_C(-106751) * DAY_MS, most = INT64_C(106751) * DAY_MS;

    s->moments++;
    s->elapsed |= v->shows == XL_ELAPSED;
    s->calendar |= v->shows != XL_ELAPSED;
    s->days |= v->shows != XL_TIME || !v->of_day;
    s->times |= value_floor_day(v->instant) != v->instant;
    s->wide |= v->instant < least || v->instant >= most;
}

void xl_seen_add(xl_seen *s, const xl_value *v)
{
    switch (v->kind) {
    case XL_BOOL:
        s->booleans++;
        break;
    case XL_NUMERIC:
        s->numbers++;
        s->fraction |= !value_is_whole(v->number);
        s->negative |= v->number < 0;
        break;
    case XL_MOMENT:
        seen_moment(s, v);
        break;
    case XL_ERROR:
        s->errors++;
        break;
    case XL_TEXT:
        s->texts++;
        break;
    default:
        break;
    }
}

xl_column_type xl_seen_type(const xl_seen *s)
{
    unsigned kinds = (s->booleans != 0) + (s->numbers != 0) + (s->moments != 0) + (s->texts != 0);

    if (kinds == 0)
        return XL_C_NULL;
    if (kinds > 1 || s->texts != 0 || (s->elapsed && s->calendar))
        return XL_C_STRING;
    if (s->booleans != 0)
        return XL_C_BOOL;
    if (s->numbers != 0)
        return s->fraction ? XL_C_DOUBLE : XL_C_INT;
    if (s->elapsed)
        return XL_C_DURATION;
    if (!s->days)
        return XL_C_TIME;
    return s->times ? XL_C_TIMESTAMP : XL_C_DATE;
}
