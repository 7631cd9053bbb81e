/* Types proven over all values of a column (types.md section 1): each value has a kind, a column keeps what it saw of every kind,
 * and the type is the join of that. */
#include <math.h>
#include <stdio.h>

#include "base/datetime.h"
#include "base/number.h"
#include "format/delimited/delimited.h"

#define INFER_EXACT_IN_DOUBLE ((int64_t)1 << 53)

_Static_assert(DELIM_VALUE_PADDING <= LB_TEXT_PADDING, "windows pad values");
_Static_assert(DELIM_VALUE_PADDING >= LB_DIGITS_PADDING + 1 && DELIM_VALUE_PADDING >= LB_BOUNDS_PADDING,
               "what reads values looks behind them");

enum { AT_TIME, AT_TIMESTAMP, AT_UTC }; /* places of min_at, max_at, nanos */

void delim_column_init(delim_column *c)
{
    memset(c, 0, sizeof *c);
}

/* ---------------------------------------------------------------- values */

static bool infer_is_null_word(lb_str raw, const delim_values *values)
{
    lb_str word = delim_trim(raw, false);
    char first = word.size == 0 ? '\0' : word.at[0];

    for (size_t i = 0; i < values->n_nulls; i++)
        if (values->nulls[i][0] == first && lb_str_is(word, values->nulls[i]))
            return true;
    return false;
}

lb_status delim_read_odd_value(const delim_dialect *d, const delim_values *values, const delim_field *field,
                               size_t most, lb_buf *scratch, delim_value *out, lb_error *err)
{
    if (!out->quoted && !out->null && !values->text)
        out->null = infer_is_null_word(out->text, values);
    if (out->null || (field->flags & DELIM_DIRTY) == 0)
        return LB_OK;
    scratch->size = 0;
    most = LB_MIN(most, field->size);
    LB_TRY(lb_buf_reserve(scratch, most + DELIM_VALUE_PADDING, err));
    size_t size = delim_unescape(d, field, most, scratch->data);
    memset(scratch->data + size, 0, DELIM_VALUE_PADDING);
    out->text = (lb_str){ (const char *)scratch->data, size };
    return LB_OK;
}

/* ---------------------------------------------------------------- taking values in */

#define INFER_WIDEN(c, kind, min, max, value) \
    do {                                      \
        if ((c)->seen[kind]++ == 0) {         \
            (min) = (max) = (value);          \
        } else {                              \
            if ((value) < (min))              \
                (min) = (value);              \
            if ((value) > (max))              \
                (max) = (value);              \
        }                                     \
    } while (0)

static void infer_add_double(delim_column *c, double v)
{
    c->seen[DELIM_KIND_FLOAT]++;
    if (v > c->min_f && v < c->max_f)
        return; /* as long as there are no bounds, both are 0 */
    if (isnan(v)) {
        c->nans++;
        return;
    }
    bool first = c->seen[DELIM_KIND_FLOAT] == c->nans + 1;
    if (first || delim_less(v, c->min_f))
        c->min_f = v;
    if (first || delim_less(c->max_f, v))
        c->max_f = v;
}

/* A plain decimal number taken apart: sign, digits before the point without leading zeros, digits after it. */
typedef struct infer_digits {
    bool negative;
    lb_str whole, fraction;
} infer_digits;

static infer_digits infer_split(lb_str v)
{
    infer_digits d = { .negative = v.size != 0 && v.at[0] == '-' };
    size_t at = d.negative ? 1 : 0;

    while (at < v.size && v.at[at] == '0')
        at++;
    size_t dot = at;
    while (dot < v.size && v.at[dot] != '.')
        dot++;
    d.whole = (lb_str){ v.at + at, dot - at };
    d.fraction = dot < v.size ? (lb_str){ v.at + dot + 1, v.size - dot - 1 } : (lb_str){ v.at + dot, 0 };
    while (d.fraction.size != 0 && d.fraction.at[d.fraction.size - 1] == '0')
        d.fraction.size--;
    if (d.whole.size == 0 && d.fraction.size == 0)
        d.negative = false;
    return d;
}

static int infer_compare_digits(lb_str x, lb_str y)
{
    infer_digits a = infer_split(x), b = infer_split(y);
    int order;

    if (a.negative != b.negative)
        return a.negative ? -1 : 1;
    if (a.whole.size != b.whole.size)
        order = a.whole.size < b.whole.size ? -1 : 1;
    else if ((order = lb_str_compare(a.whole, b.whole)) == 0)
        order = lb_str_compare(a.fraction, b.fraction);
    return a.negative ? -order : order;
}

static lb_str infer_digits_text(const struct delim_digits *d)
{
    return (lb_str){ d->text, d->size };
}

static void infer_bound_digits(struct delim_digits *bound, lb_str v, int sign)
{
    if (bound->size != 0 && infer_compare_digits(v, infer_digits_text(bound)) * sign <= 0)
        return;
    memcpy(bound->text, v.at, v.size);
    bound->size = (uint8_t)v.size;
}

/* Does a double lie inside the decimal bounds for certain? While every float so far had a point and digits that fit,
 * the float bounds are the decimal ones, rounded; and rounding keeps the order. */
static bool infer_is_inside_decimals(const delim_column *c, double v)
{
    return c->points == c->seen[DELIM_KIND_FLOAT] && v > c->min_f && v < c->max_f &&
           c->whole_digits + (uint64_t)c->fraction_digits <= DELIM_DECIMAL_DIGITS;
}

/* Widest digits and exact bounds of a number written with a point (or an integer among such), for decimal(P,S). Comes
 * before infer_add_double. */
static void infer_add_decimal(delim_column *c, lb_str v, const lb_number *n)
{
    bool inside = infer_is_inside_decimals(c, n->f);

    c->points++;
    c->whole_digits = LB_MAX(c->whole_digits, n->whole_digits);
    c->fraction_digits = LB_MAX(c->fraction_digits, n->fraction_digits);
    /* Longer ones cannot become a decimal, so their bounds are not asked for. */
    if (inside || v.size > sizeof c->min_decimal.text ||
        n->whole_digits + (uint64_t)n->fraction_digits > DELIM_DECIMAL_DIGITS)
        return;
    infer_bound_digits(&c->min_decimal, v, -1);
    infer_bound_digits(&c->max_decimal, v, 1);
}

static delim_kind infer_add_float(delim_column *c, lb_str v, const lb_number *n, const delim_values *values)
{
    if (values->decimal && n->point)
        infer_add_decimal(c, v, n);
    infer_add_double(c, n->f);
    return DELIM_KIND_FLOAT;
}

static uint32_t infer_whole_digits(const lb_plain *n, lb_str v)
{
    return n->whole - (n->whole == 1 && v.at[n->negative] == '0');
}

static delim_kind infer_add_number(delim_column *c, lb_str v, const delim_values *values)
{
    lb_number n;

    if (lb_plain_exponent(v.at, v.size, &n.f)) {
        infer_add_double(c, n.f);
        return DELIM_KIND_FLOAT;
    }
    switch (lb_number_parse(v.at, v.size, &n)) {
    case LB_NUMBER_INT:
        INFER_WIDEN(c, DELIM_KIND_INT, c->min_i, c->max_i, n.i);
        return DELIM_KIND_INT;
    case LB_NUMBER_UINT:
        INFER_WIDEN(c, DELIM_KIND_UINT, c->min_u, c->max_u, n.u);
        return DELIM_KIND_UINT;
    case LB_NUMBER_BIG:
        c->seen[DELIM_KIND_BIG]++;
        return DELIM_KIND_BIG;
    case LB_NUMBER_FLOAT:
        return infer_add_float(c, v, &n, values);
    case LB_NOT_A_NUMBER:
        break;
    }
    return DELIM_KIND_TEXT;
}

/* A number that lb_plain_read has read. */
static delim_kind infer_add_plain(delim_column *c, lb_str v, const lb_plain *n, const delim_values *values)
{
    int64_t i;

    if (lb_plain_integer(n, &i)) {
        INFER_WIDEN(c, DELIM_KIND_INT, c->min_i, c->max_i, i);
        return DELIM_KIND_INT;
    }
    if (!n->point)
        return infer_add_number(c, v, values);
    const lb_number number = {
        .f = lb_plain_double(n), .point = true, .whole_digits = infer_whole_digits(n, v), .fraction_digits = n->fraction
    };
    return infer_add_float(c, v, &number, values);
}

static delim_kind infer_add_instant(delim_column *c, lb_str v)
{
    lb_datetime t;
    int place;

    switch (lb_datetime_parse(v.at, v.size, &t)) {
    case LB_DATE:
        INFER_WIDEN(c, DELIM_KIND_DATE, c->min_date, c->max_date, t.days);
        return DELIM_KIND_DATE;
    case LB_TIME:
        place = AT_TIME;
        break;
    case LB_TIMESTAMP:
        place = AT_TIMESTAMP;
        break;
    case LB_TIMESTAMP_UTC:
        place = AT_UTC;
        break;
    default:
        return DELIM_KIND_TEXT;
    }
    delim_kind kind = DELIM_KIND_TIME + (delim_kind)place;
    bool first = c->seen[kind]++ == 0;
    c->nanos[place] |= t.fraction_digits > 6;
    if (t.seconds > c->min_at[place].seconds && t.seconds < c->max_at[place].seconds)
        return kind; /* as long as there are no bounds, both are 0 */
    struct delim_instant at = { t.seconds, t.nanos };
    if (first || delim_compare_instant(at, c->min_at[place]) < 0)
        c->min_at[place] = at;
    if (first || delim_compare_instant(at, c->max_at[place]) > 0)
        c->max_at[place] = at;
    return kind;
}

static inline delim_kind infer_add_bool(delim_column *c, lb_str v)
{
    bool yes;

    if (!delim_parse_bool(v, &yes))
        return DELIM_KIND_TEXT;
    if (c->seen[DELIM_KIND_BOOL]++ == 0)
        c->min_bool = c->max_bool = yes;
    c->min_bool &= yes; /* no branch on what is a matter of chance */
    c->max_bool |= yes;
    return DELIM_KIND_BOOL;
}

/* Were kinds seen that can meet in text only, whatever follows? */
static bool infer_is_settled(const delim_column *c)
{
    unsigned seen = 0;

    for (unsigned k = 0; k < DELIM_KINDS; k++)
        seen |= (c->seen[k] != 0 ? 1u : 0u) << k;
    const unsigned numbers = 1u << DELIM_KIND_INT | 1u << DELIM_KIND_UINT | 1u << DELIM_KIND_FLOAT;
    const unsigned dates = 1u << DELIM_KIND_DATE | 1u << DELIM_KIND_TIMESTAMP;
    if ((seen & ~numbers) == 0)
        return (seen & 1u << DELIM_KIND_UINT) != 0 && (seen & 1u << DELIM_KIND_FLOAT) != 0;
    return (seen & ~dates) != 0 && (seen & (seen - 1)) != 0;
}

/* The kind of a value shows in its first bytes: no text is parsed twice in vain. Bytes behind a short one are read,
 * too, which does no harm. */
static delim_kind infer_add_other(delim_column *c, lb_str v, const delim_values *values)
{
    char first = v.at[0] | 0x20;

    if (v.size == 0)
        return DELIM_KIND_TEXT;
    if ((first == 't') | (first == 'f'))
        return infer_add_bool(c, v);
    delim_kind kind = v.size >= 8 && (v.at[4] == '-' || v.at[2] == ':') ? infer_add_instant(c, v) : DELIM_KIND_TEXT;
    return kind != DELIM_KIND_TEXT ? kind : infer_add_number(c, v, values);
}

static inline void infer_settle(delim_column *c, delim_kind kind)
{
    c->seen[DELIM_KIND_TEXT] += kind == DELIM_KIND_TEXT;
    if (__builtin_expect(c->seen[kind] == 1, 0))
        c->settled = kind == DELIM_KIND_TEXT || infer_is_settled(c);
}

static void infer_add_unsettled(delim_column *c, lb_str v, bool quoted, const delim_values *values);

/* Any value that is no plain number as it stands. Once trimmed it may be one: then it counts as quoted, which is not
 * trimmed again. */
static __attribute__((noinline)) void infer_add_any(delim_column *c, lb_str v, bool quoted, const delim_values *values)
{
    lb_str trimmed = delim_trim(v, quoted);

    if (trimmed.size != v.size)
        infer_add_unsettled(c, trimmed, true, values);
    else
        infer_settle(c, infer_add_other(c, trimmed, values));
}

/* A plain number that may widen the bounds, or is the first of its kind. It is read again: handing it over would cost
 * all others the registers. */
static __attribute__((noinline)) void infer_add_wider(delim_column *c, lb_str v, const delim_values *values)
{
    lb_plain n;

    if (lb_plain_read(v.at, v.size, &n))
        infer_settle(c, infer_add_plain(c, v, &n, values));
}

/* A number with a point in a column that has some: what lies well inside the bounds need not be known exactly. False:
 * nothing is done. */
static inline bool infer_add_inside(delim_column *c, lb_str v, const lb_plain *n, bool decimal)
{
    double f = lb_plain_estimate(n), margin = fabs(f) * (2 * LB_ESTIMATE_ERROR);

    if (!(f - margin > c->min_f && f + margin < c->max_f) || n->digits > INT64_MAX ||
        (decimal && !infer_is_inside_decimals(c, f)))
        return false;
    c->seen[DELIM_KIND_FLOAT]++;
    if (decimal) {
        c->points++;
        c->whole_digits = LB_MAX(c->whole_digits, infer_whole_digits(n, v));
        c->fraction_digits = LB_MAX(c->fraction_digits, n->fraction);
    }
    return true;
}

/* An integer in a column that has some. False: nothing is done. */
static inline bool infer_add_further(delim_column *c, const lb_plain *n)
{
    int64_t i;

    if (c->seen[DELIM_KIND_INT] == 0 || !lb_plain_integer(n, &i))
        return false;
    c->seen[DELIM_KIND_INT]++;
    if (i < c->min_i)
        c->min_i = i;
    if (i > c->max_i)
        c->max_i = i;
    return true;
}

static __attribute__((noinline)) void infer_add_unsettled(delim_column *c, lb_str v, bool quoted,
                                                          const delim_values *values)
{
    unsigned first = (unsigned char)v.at[0];
    lb_plain n;

    if (first - '-' > '9' - '-' || v.at[4] == '-' || v.at[2] == ':' || !lb_plain_read(v.at, v.size, &n))
        infer_add_any(c, v, quoted, values);
    else if (!(n.point ? infer_add_inside(c, v, &n, values->decimal) : infer_add_further(c, &n)))
        infer_add_wider(c, v, values);
}

/* A value whose text bounds are seen to. What is called here is called last, so that no registers are saved. */
static inline __attribute__((always_inline)) void infer_add(delim_column *c, lb_str v, bool quoted,
                                                            const delim_values *values)
{
    if (quoted && v.size == 0) {
        c->quoted_empty++;
    } else if (c->settled || values->text) {
        c->seen[DELIM_KIND_TEXT]++;
        c->settled = true;
    } else {
        infer_add_unsettled(c, v, quoted, values);
    }
}

static __attribute__((noinline)) void infer_add_bounds(delim_column *c, lb_str v, bool quoted,
                                                       const delim_values *values)
{
    lb_text_bounds_add_padded(&c->text, v.at, v.size);
    infer_add(c, v, quoted, values);
}

void delim_column_add(delim_column *c, lb_str value, bool quoted, const delim_values *values, bool stats)
{
    if (stats && !lb_text_bounds_hold(&c->text, lb_text_prefix(value.at, value.size), value.size))
        infer_add_bounds(c, value, quoted, values);
    else
        infer_add(c, value, quoted, values);
}

/* ---------------------------------------------------------------- merging */

#define INFER_MERGE(c, o, kind, min, max)                    \
    do {                                                     \
        if ((o)->seen[kind] != 0) {                          \
            if ((c)->seen[kind] == 0 || (o)->min < (c)->min) \
                (c)->min = (o)->min;                         \
            if ((c)->seen[kind] == 0 || (o)->max > (c)->max) \
                (c)->max = (o)->max;                         \
        }                                                    \
    } while (0)

static void infer_merge_floats(delim_column *c, const delim_column *o)
{
    if (o->seen[DELIM_KIND_FLOAT] == o->nans)
        return;
    bool empty = c->seen[DELIM_KIND_FLOAT] == c->nans;
    if (empty || delim_less(o->min_f, c->min_f))
        c->min_f = o->min_f;
    if (empty || delim_less(c->max_f, o->max_f))
        c->max_f = o->max_f;
}

static void infer_merge_instants(delim_column *c, const delim_column *o)
{
    for (int place = AT_TIME; place <= AT_UTC; place++) {
        delim_kind kind = DELIM_KIND_TIME;
        if (place != AT_TIME)
            kind = place == AT_UTC ? DELIM_KIND_UTC : DELIM_KIND_TIMESTAMP;
        if (o->seen[kind] == 0)
            continue;
        if (c->seen[kind] == 0 || delim_compare_instant(o->min_at[place], c->min_at[place]) < 0)
            c->min_at[place] = o->min_at[place];
        if (c->seen[kind] == 0 || delim_compare_instant(o->max_at[place], c->max_at[place]) > 0)
            c->max_at[place] = o->max_at[place];
        c->nanos[place] |= o->nanos[place];
    }
}

void delim_column_merge(delim_column *c, const delim_column *o)
{
    INFER_MERGE(c, o, DELIM_KIND_INT, min_i, max_i);
    INFER_MERGE(c, o, DELIM_KIND_UINT, min_u, max_u);
    INFER_MERGE(c, o, DELIM_KIND_DATE, min_date, max_date);
    INFER_MERGE(c, o, DELIM_KIND_BOOL, min_bool, max_bool);
    infer_merge_floats(c, o);
    infer_merge_instants(c, o);
    if (o->min_decimal.size != 0)
        infer_bound_digits(&c->min_decimal, infer_digits_text(&o->min_decimal), -1);
    if (o->max_decimal.size != 0)
        infer_bound_digits(&c->max_decimal, infer_digits_text(&o->max_decimal), 1);
    c->whole_digits = LB_MAX(c->whole_digits, o->whole_digits);
    c->fraction_digits = LB_MAX(c->fraction_digits, o->fraction_digits);
    c->points += o->points;
    c->nans += o->nans;
    c->nulls += o->nulls;
    c->quoted_empty += o->quoted_empty;
    for (unsigned k = 0; k < DELIM_KINDS; k++)
        c->seen[k] += o->seen[k];
    lb_text_bounds_merge(&c->text, &o->text);
    c->settled = c->settled || o->settled || c->seen[DELIM_KIND_TEXT] != 0 || infer_is_settled(c);
}

uint64_t delim_column_values(const delim_column *c)
{
    uint64_t values = c->quoted_empty;

    for (unsigned k = 0; k < DELIM_KINDS; k++)
        values += c->seen[k];
    return values;
}

/* ---------------------------------------------------------------- the type */

static unsigned infer_digits_of(uint64_t v)
{
    unsigned n = 1;

    while (v >= 10) {
        v /= 10;
        n++;
    }
    return n;
}

static uint64_t infer_size_of(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Largest size of an INT that was seen; 0 without one. */
static uint64_t infer_largest_int(const delim_column *c)
{
    if (c->seen[DELIM_KIND_INT] == 0)
        return 0;
    return LB_MAX(infer_size_of(c->min_i), infer_size_of(c->max_i));
}

static void infer_number_type(const delim_column *c, const delim_values *values, char out[DELIM_TYPE_TEXT])
{
    bool ints = c->seen[DELIM_KIND_INT] != 0, uints = c->seen[DELIM_KIND_UINT] != 0;
    const char *type = "string";

    if (c->seen[DELIM_KIND_FLOAT] == 0) {
        type = !uints ? "int64" : ints && c->min_i < 0 ? "string" : "uint64";
    } else if (values->decimal && c->points == c->seen[DELIM_KIND_FLOAT] && !uints) {
        unsigned whole = LB_MAX(c->whole_digits, ints ? infer_digits_of(infer_largest_int(c)) : 0);
        if (whole <= DELIM_DECIMAL_DIGITS && c->fraction_digits <= DELIM_DECIMAL_DIGITS - whole) {
            (void)snprintf(out, DELIM_TYPE_TEXT, "decimal(%u,%u)", LB_MAX(whole + c->fraction_digits, 1),
                           c->fraction_digits);
            return;
        }
    } else if (!uints && infer_largest_int(c) <= (uint64_t)INFER_EXACT_IN_DOUBLE) {
        type = "float64";
    }
    (void)snprintf(out, DELIM_TYPE_TEXT, "%s", type);
}

static bool infer_fits_ns(struct delim_instant at)
{
    lb_datetime t = { .seconds = at.seconds, .nanos = at.nanos };
    int64_t count;

    return lb_datetime_count(&t, 1000000000, &count);
}

static void infer_timestamp_type(const delim_column *c, bool utc, char out[DELIM_TYPE_TEXT])
{
    int place = utc ? AT_UTC : AT_TIMESTAMP;
    bool nanos = c->nanos[place];
    bool fits = infer_fits_ns(c->min_at[place]) && infer_fits_ns(c->max_at[place]);

    if (!utc && c->seen[DELIM_KIND_DATE] != 0)
        fits = fits && infer_fits_ns((struct delim_instant){ (int64_t)c->min_date * 86400, 0 }) &&
               infer_fits_ns((struct delim_instant){ (int64_t)c->max_date * 86400, 0 });
    if (nanos && !fits)
        (void)snprintf(out, DELIM_TYPE_TEXT, "string");
    else
        (void)snprintf(out, DELIM_TYPE_TEXT, "timestamp[%s%s]", nanos ? "ns" : "us", utc ? ",UTC" : "");
}

void delim_column_type(const delim_column *c, const delim_values *values, char out[DELIM_TYPE_TEXT])
{
    uint64_t seen = 0;

    for (unsigned k = 0; k < DELIM_KINDS; k++)
        seen += c->seen[k];
    if (seen == 0)
        (void)snprintf(out, DELIM_TYPE_TEXT, "%s", values->text || c->quoted_empty != 0 ? "string" : "null");
    else if (c->settled || c->seen[DELIM_KIND_BIG] != 0)
        (void)snprintf(out, DELIM_TYPE_TEXT, "string");
    else if (c->seen[DELIM_KIND_BOOL] != 0)
        (void)snprintf(out, DELIM_TYPE_TEXT, "bool");
    else if (c->seen[DELIM_KIND_TIME] != 0)
        (void)snprintf(out, DELIM_TYPE_TEXT, "time[%s]", c->nanos[AT_TIME] ? "ns" : "us");
    else if (c->seen[DELIM_KIND_UTC] != 0)
        infer_timestamp_type(c, true, out);
    else if (c->seen[DELIM_KIND_TIMESTAMP] != 0)
        infer_timestamp_type(c, false, out);
    else if (c->seen[DELIM_KIND_DATE] != 0)
        (void)snprintf(out, DELIM_TYPE_TEXT, "date");
    else
        infer_number_type(c, values, out);
}

static bool infer_day_fits_ns(int32_t day)
{
    return infer_fits_ns((struct delim_instant){ (int64_t)day * 86400, 0 });
}

bool delim_column_is_wide(const delim_column *c, const char *type)
{
    int place = strstr(type, ",UTC]") != NULL ? AT_UTC : AT_TIMESTAMP;
    bool wide_dates =
        c->seen[DELIM_KIND_DATE] != 0 && !(infer_day_fits_ns(c->min_date) && infer_day_fits_ns(c->max_date));

    if (strcmp(type, "int64") == 0)
        return infer_largest_int(c) > (uint64_t)INFER_EXACT_IN_DOUBLE;
    if (strcmp(type, "date") == 0)
        return wide_dates;
    if (strncmp(type, "timestamp", 9) != 0)
        return false;
    return wide_dates || !infer_fits_ns(c->min_at[place]) || !infer_fits_ns(c->max_at[place]);
}

/* ---------------------------------------------------------------- statistics */

static void infer_int_bounds(lb_colstat *out, int64_t min, int64_t max)
{
    out->min_i = min;
    out->max_i = max;
    out->has |= LB_MIN_I | LB_MAX_I;
}

static void infer_instant_bounds(const delim_column *c, int place, const char *type, lb_colstat *out)
{
    int64_t unit = strstr(type, "[ns") != NULL ? 1000000000 : 1000000, min, max;
    struct delim_instant lo = c->min_at[place], hi = c->max_at[place];

    if (place == AT_TIMESTAMP && c->seen[DELIM_KIND_DATE] != 0) {
        struct delim_instant first = { (int64_t)c->min_date * 86400, 0 }, last = { (int64_t)c->max_date * 86400, 0 };
        lo = delim_compare_instant(first, lo) < 0 ? first : lo;
        hi = delim_compare_instant(last, hi) > 0 ? last : hi;
    }
    if (lb_datetime_count(&(lb_datetime){ .seconds = lo.seconds, .nanos = lo.nanos }, unit, &min) &&
        lb_datetime_count(&(lb_datetime){ .seconds = hi.seconds, .nanos = hi.nanos }, unit, &max))
        infer_int_bounds(out, min, max);
}

static void infer_float_bounds(const delim_column *c, lb_colstat *out)
{
    bool floats = c->seen[DELIM_KIND_FLOAT] != c->nans, ints = c->seen[DELIM_KIND_INT] != 0;

    out->has_nan_count = true;
    out->nan_count = c->nans;
    if (!floats && !ints)
        return;
    out->min_f = !floats || (ints && delim_less((double)c->min_i, c->min_f)) ? (double)c->min_i : c->min_f;
    out->max_f = !floats || (ints && delim_less(c->max_f, (double)c->max_i)) ? (double)c->max_i : c->max_f;
    out->has |= LB_MIN_F | LB_MAX_F;
}

static void infer_uint_bounds(const delim_column *c, lb_colstat *out)
{
    out->min_u = c->seen[DELIM_KIND_INT] != 0 ? (uint64_t)c->min_i : c->min_u;
    out->max_u = c->max_u;
    out->has |= LB_MIN_U | LB_MAX_U;
}

lb_status delim_decimal_bytes(lb_i256 v, int precision, lb_arena *arena, lb_str *out, lb_error *err)
{
    size_t size = precision <= 38 ? 16 : 32;
    uint8_t bytes[32];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(v.w[(size - 1 - i) / 8] >> ((size - 1 - i) % 8 * 8));
    *out = (lb_str){ lb_arena_dup(arena, bytes, size), size };
    return out->at == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

static lb_status infer_decimal_bytes(lb_str v, int precision, int scale, lb_arena *arena, lb_str *out, lb_error *err)
{
    lb_i256 n;

    if (!lb_parse_decimal(v.at, v.size, precision, scale, &n))
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a decimal bound does not fit its column's type");
    return delim_decimal_bytes(n, precision, arena, out, err);
}

static lb_status infer_decimal_bounds(const delim_column *c, const char *type, lb_arena *arena, lb_colstat *out,
                                      lb_error *err)
{
    struct delim_digits lo = c->min_decimal, hi = c->max_decimal;
    int precision, scale;
    char text[24];

    if (sscanf(type, "decimal(%d,%d)", &precision, &scale) != 2)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "%s is no decimal type", type);
    if (c->seen[DELIM_KIND_INT] != 0) {
        size_t n = (size_t)snprintf(text, sizeof text, "%lld", (long long)c->min_i);
        infer_bound_digits(&lo, (lb_str){ text, n }, -1);
        n = (size_t)snprintf(text, sizeof text, "%lld", (long long)c->max_i);
        infer_bound_digits(&hi, (lb_str){ text, n }, 1);
    }
    LB_TRY(infer_decimal_bytes(infer_digits_text(&lo), precision, scale, arena, &out->min_b, err));
    LB_TRY(infer_decimal_bytes(infer_digits_text(&hi), precision, scale, arena, &out->max_b, err));
    out->has |= LB_MIN_B | LB_MAX_B;
    return LB_OK;
}

lb_status delim_column_stats(const delim_column *c, lb_str name, const char *type, bool bounds, lb_arena *arena,
                             lb_colstat *out, lb_error *err)
{
    bool text = strcmp(type, "string") == 0, binary = strcmp(type, "binary") == 0;

    *out = (lb_colstat){ .name = name,
                         .type = lb_str_of(type),
                         .source = LB_STATS_COMPUTED,
                         .has_null_count = true,
                         .min_exact = true,
                         .max_exact = true };
    out->null_count = c->nulls + (text || binary ? 0 : c->quoted_empty);
    if (!bounds)
        return LB_OK;
    if (text || binary)
        return lb_text_bounds_finish(&c->text, text, arena, out, err);
    if (strcmp(type, "bool") == 0 && c->seen[DELIM_KIND_BOOL] != 0)
        infer_int_bounds(out, c->min_bool, c->max_bool);
    else if (strcmp(type, "int64") == 0 && c->seen[DELIM_KIND_INT] != 0)
        infer_int_bounds(out, c->min_i, c->max_i);
    else if (strcmp(type, "uint64") == 0 && c->seen[DELIM_KIND_UINT] != 0)
        infer_uint_bounds(c, out);
    else if (strcmp(type, "float64") == 0)
        infer_float_bounds(c, out);
    else if (strncmp(type, "decimal", 7) == 0 && c->points + c->seen[DELIM_KIND_INT] != 0)
        return infer_decimal_bounds(c, type, arena, out, err);
    else if (strcmp(type, "date") == 0 && c->seen[DELIM_KIND_DATE] != 0)
        infer_int_bounds(out, c->min_date, c->max_date);
    else if (strncmp(type, "time[", 5) == 0 && c->seen[DELIM_KIND_TIME] != 0)
        infer_instant_bounds(c, AT_TIME, type, out);
    else if (strstr(type, ",UTC]") != NULL && c->seen[DELIM_KIND_UTC] != 0)
        infer_instant_bounds(c, AT_UTC, type, out);
    else if (strncmp(type, "timestamp", 9) == 0 && c->seen[DELIM_KIND_TIMESTAMP] != 0)
        infer_instant_bounds(c, AT_TIMESTAMP, type, out);
    return LB_OK;
}
