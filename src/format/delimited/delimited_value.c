/* Text read as a given type. */
#include <math.h>

#include "base/datetime.h"
#include "format/delimited/delimited.h"

#define VALUE_PLAIN_PRECISION 18

static const uint64_t value_powers[VALUE_PLAIN_PRECISION + 1] = {
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
};

static int64_t value_unit(enum ArrowTimeUnit unit)
{
    switch (unit) {
    case NANOARROW_TIME_UNIT_SECOND:
        return 1;
    case NANOARROW_TIME_UNIT_MILLI:
        return 1000;
    case NANOARROW_TIME_UNIT_MICRO:
        return 1000000;
    case NANOARROW_TIME_UNIT_NANO:
        return 1000000000;
    }
    return 1;
}

static bool value_decimal_target(const struct ArrowSchemaView *view, delim_target *out)
{
    *out = (delim_target){ .storage = DELIM_DECIMAL,
                           .bytes = (unsigned)view->decimal_bitwidth / 8,
                           .precision = view->decimal_precision,
                           .scale = view->decimal_scale };
    return out->scale >= 0 && out->precision <= DELIM_DECIMAL_DIGITS;
}

static bool value_target(const struct ArrowSchemaView *view, delim_target *out)
{
    switch (view->type) {
    case NANOARROW_TYPE_NA:
        *out = (delim_target){ .storage = DELIM_NOTHING };
        return true;
    case NANOARROW_TYPE_BOOL:
        *out = (delim_target){ .storage = DELIM_BOOL };
        return true;
    case NANOARROW_TYPE_INT8:
        *out = (delim_target){ .storage = DELIM_SIGNED, .bytes = 1 };
        return true;
    case NANOARROW_TYPE_INT16:
        *out = (delim_target){ .storage = DELIM_SIGNED, .bytes = 2 };
        return true;
    case NANOARROW_TYPE_INT32:
        *out = (delim_target){ .storage = DELIM_SIGNED, .bytes = 4 };
        return true;
    case NANOARROW_TYPE_INT64:
        *out = (delim_target){ .storage = DELIM_SIGNED, .bytes = 8 };
        return true;
    case NANOARROW_TYPE_UINT8:
        *out = (delim_target){ .storage = DELIM_UNSIGNED, .bytes = 1 };
        return true;
    case NANOARROW_TYPE_UINT16:
        *out = (delim_target){ .storage = DELIM_UNSIGNED, .bytes = 2 };
        return true;
    case NANOARROW_TYPE_UINT32:
        *out = (delim_target){ .storage = DELIM_UNSIGNED, .bytes = 4 };
        return true;
    case NANOARROW_TYPE_UINT64:
        *out = (delim_target){ .storage = DELIM_UNSIGNED, .bytes = 8 };
        return true;
    case NANOARROW_TYPE_FLOAT:
        *out = (delim_target){ .storage = DELIM_DOUBLE, .bytes = 4 };
        return true;
    case NANOARROW_TYPE_DOUBLE:
        *out = (delim_target){ .storage = DELIM_DOUBLE, .bytes = 8 };
        return true;
    case NANOARROW_TYPE_STRING:
        *out = (delim_target){ .storage = DELIM_TEXT };
        return true;
    case NANOARROW_TYPE_BINARY:
        *out = (delim_target){ .storage = DELIM_TEXT, .binary = true };
        return true;
    case NANOARROW_TYPE_DATE32:
        *out = (delim_target){ .storage = DELIM_DAYS, .bytes = 4 };
        return true;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return value_decimal_target(view, out);
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        *out = (delim_target){ .storage = DELIM_INSTANT, .clock = true, .unit = value_unit(view->time_unit) };
        out->bytes = view->type == NANOARROW_TYPE_TIME32 ? 4 : 8;
        return true;
    case NANOARROW_TYPE_TIMESTAMP:
        *out = (delim_target){ .storage = DELIM_INSTANT, .bytes = 8, .unit = value_unit(view->time_unit) };
        out->utc = view->timezone != NULL && view->timezone[0] != '\0';
        return true;
    default:
        return false;
    }
}

lb_status delim_target_of(const struct ArrowSchema *type, delim_target *out, lb_error *err)
{
    struct ArrowSchemaView view;
    struct ArrowError why = { "" };
    int code = ArrowSchemaViewInit(&view, type, &why);

    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    if (value_target(&view, out))
        return LB_OK;
    lb_buf words;
    lb_buf_init(&words, NULL);
    if (lb_type_words(type, false, &words, NULL) == LB_OK)
        lb_fail(err, LB_USAGE, LB_NOWHERE, "delimited text is not read as %.*s", (int)words.size,
                (const char *)words.data);
    lb_buf_free(&words);
    lb_fail_hint(err,
                 "types of delimited text: bool, int8 … int64, uint8 … uint64, float32, float64, decimal(P,S), string, "
                 "binary, date, time[U], timestamp[U], timestamp[U,ZONE]");
    return LB_USAGE;
}

static bool value_parse_signed(const delim_target *t, lb_str v, delim_scalar *out)
{
    unsigned bits = t->bytes * 8 - 1;
    lb_plain n;

    if (!(lb_plain_read(v.at, v.size, &n) && lb_plain_integer(&n, &out->i)) && !lb_parse_int64(v.at, v.size, &out->i))
        return false;
    return out->i >> bits == 0 || out->i >> bits == -1;
}

static bool value_parse_unsigned(const delim_target *t, lb_str v, delim_scalar *out)
{
    lb_plain n;

    if (lb_plain_read(v.at, v.size, &n) && !n.negative && !n.point)
        out->u = n.digits;
    else if (!lb_parse_uint64(v.at, v.size, &out->u))
        return false;
    return t->bytes == 8 || out->u >> (t->bytes * 8) == 0;
}

static bool value_parse_instant(const delim_target *t, lb_str v, delim_scalar *out)
{
    lb_datetime at;
    lb_datetime_kind kind = lb_datetime_parse(v.at, v.size, &at);

    if (t->clock)
        return kind == LB_TIME && lb_datetime_count(&at, t->unit, &out->i);
    if (t->utc)
        return kind == LB_TIMESTAMP_UTC && lb_datetime_count(&at, t->unit, &out->i);
    if (kind == LB_DATE)
        at.seconds = (int64_t)at.days * 86400;
    else if (kind != LB_TIMESTAMP)
        return false;
    return lb_datetime_count(&at, t->unit, &out->i);
}

static bool value_parse_days(lb_str v, delim_scalar *out)
{
    lb_datetime at;

    if (lb_datetime_parse(v.at, v.size, &at) != LB_DATE)
        return false;
    out->i = at.days;
    return true;
}

static bool value_parse_bool(lb_str v, delim_scalar *out)
{
    bool yes;

    if (!delim_parse_bool(v, &yes))
        return false;
    out->i = yes;
    return true;
}

/* Decimals that fit int64; the rest is lb_parse_decimal's. */
static bool value_parse_decimal(const delim_target *t, lb_str v, delim_scalar *out)
{
    lb_plain n;

    if (t->precision > VALUE_PLAIN_PRECISION || !lb_plain_read(v.at, v.size, &n) || n.fraction > (unsigned)t->scale)
        return lb_parse_decimal(v.at, v.size, t->precision, t->scale, &out->d);
    uint64_t size, raise = value_powers[(unsigned)t->scale - n.fraction];
    if (__builtin_mul_overflow(n.digits, raise, &size) || size >= value_powers[t->precision])
        return false;
    out->d = lb_i256_of(n.negative ? -(int64_t)size : (int64_t)size);
    return true;
}

static inline bool value_read_double(lb_str v, double *out)
{
    lb_plain n;

    if (!lb_plain_read(v.at, v.size, &n))
        return lb_plain_exponent(v.at, v.size, out) || lb_parse_double(v.at, v.size, out);
    *out = lb_plain_double(&n);
    return true;
}

/* A float32's bounds are those of what is kept; what only a double holds does not fit. */
static bool value_parse_double(const delim_target *t, lb_str v, delim_scalar *out)
{
    if (!value_read_double(v, &out->f))
        return false;
    if (t->bytes == 8)
        return true;
    double single = (double)(float)out->f;
    bool fits = isinf(out->f) || !isinf(single);
    out->f = single;
    return fits;
}

bool delim_parse(const delim_target *t, lb_str v, delim_scalar *out)
{
    switch (t->storage) {
    case DELIM_BOOL:
        return value_parse_bool(v, out);
    case DELIM_SIGNED:
        return value_parse_signed(t, v, out);
    case DELIM_UNSIGNED:
        return value_parse_unsigned(t, v, out);
    case DELIM_DOUBLE:
        return value_parse_double(t, v, out);
    case DELIM_DECIMAL:
        return value_parse_decimal(t, v, out);
    case DELIM_INSTANT:
        return value_parse_instant(t, v, out);
    case DELIM_DAYS:
        return value_parse_days(v, out);
    case DELIM_TEXT:
    case DELIM_NOTHING:
        break;
    }
    return false;
}
