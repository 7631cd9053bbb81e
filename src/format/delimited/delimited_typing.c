/* Values taken in column after column: a loop for each kind of column, which knows what its values look like and keeps what it
 * finds in registers. A value that looks otherwise is left to delim_column_add, which is the definition of all of this. */
#include <math.h>

#include "base/cpu.h"
#include "base/datetime_plain.h"
#include "format/delimited/delimited_typing.h"

void delim_typing_init(delim_typing *t, const delim_dialect *dialect, const delim_values *values, lb_buf *scratch)
{
    *t = (delim_typing){ .dialect = dialect, .values = values, .scratch = scratch };
    t->asking = values->n_nulls != 0 && !values->text;
    t->odd[' '] = t->odd['\t'] = true;
    for (size_t i = 0; i < values->n_nulls; i++)
        t->odd[(unsigned char)values->nulls[i][0]] = true;
}

/* ---------------------------------------------------------------- bounds of text */

typing_bounds typing_widen(const typing_column *tc, const char *p, size_t size)
{
    lb_text_bounds_add_padded(&tc->c->text, p, size);
    return typing_bounds_of(tc);
}

/* ---------------------------------------------------------------- the loops */

/* All text, whatever it looks like; where every field is a value, so is an empty one. */
TYPING_INLINE size_t typing_texts(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    const bool all = tc->t->values->text;
    uint64_t n = 0;

    for (; at.at != at.end; at.at += at.width) {
        const uint32_t size = at.size[at.at] & ~DELIM_CELL_QUOTED;
        const char *p = at.data + at.begin[at.at];
        if ((int32_t)size <= 0) {
            if (at.size[at.at] != 0)
                break;
            if (!all)
                continue;
        } else if (at.odd != NULL && at.odd[(unsigned char)*p]) {
            break;
        }
        n++;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    tc->c->seen[DELIM_KIND_TEXT] += n;
    tc->c->settled |= n != 0;
    return typing_row(&at);
}

/* Eight bytes less '0' each; true where all are digits. */
TYPING_INLINE bool typing_are_digits(uint64_t x)
{
    return (((x + 0x7676767676767676) | x) & LB_HIGH_BITS) == 0;
}

#define TYPING_INT_BYTES 17

/* -?(0|[1-9][0-9]*), not -0, of up to 16 digits. */
TYPING_INLINE bool typing_int(const char *p, size_t size, int64_t *out)
{
    const uint64_t zeros = 0x3030303030303030, sign = *p == '-';
    const size_t n = size - sign;

    p += sign;
    const uint64_t first = lb_load8(p) ^ zeros;
    if (n - 1 >= 16 || ((first & 0xff) == 0 && size != 1))
        return false;
    uint64_t head = first << (64 - 8 * (n <= 8 ? n : n - 8)), value = 0;
    if (n > 8) {
        const uint64_t tail = lb_load8(p + n - 8) ^ zeros;
        if (!typing_are_digits(tail))
            return false;
        value = lb_digits_of(head) * 100000000 + lb_digits_of(tail);
    } else {
        value = lb_digits_of(head);
    }
    *out = (int64_t)((value ^ (0 - sign)) + sign);
    return typing_are_digits(head);
}

TYPING_INLINE size_t typing_ints(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    delim_column *c = tc->c;
    int64_t min = c->min_i, max = c->max_i, i;
    uint64_t n = 0;
    const char *p;
    uint32_t size;

    TYPING_EACH(at, TYPING_INT_BYTES, p, size)
    {
        if (!typing_int(p, size, &i))
            break;
        n++;
        min = i < min ? i : min;
        max = i > max ? i : max;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    c->min_i = min;
    c->max_i = max;
    c->seen[DELIM_KIND_INT] += n;
    return typing_row(&at);
}

void typing_widen_floats(typing_reals *r, const lb_plain *v)
{
    const double f = lb_plain_double(v);

    if (delim_less(f, r->min))
        r->c->min_f = r->min = f;
    if (delim_less(r->max, f))
        r->c->max_f = r->max = f;
}

TYPING_INLINE size_t typing_floats(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    typing_reals r = typing_reals_of(tc->c);
    const char *p;
    uint32_t size;

    TYPING_EACH(at, LB_PLAIN_SIZE, p, size)
    {
        if (!typing_real(&r, p, size))
            break;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    typing_reals_give(&r);
    return typing_row(&at);
}

TYPING_INLINE size_t typing_dates(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    delim_column *c = tc->c;
    int32_t min = c->min_date, max = c->max_date, day;
    uint64_t n = 0;
    const char *p;
    uint32_t size;

    TYPING_EACH(at, 10, p, size)
    {
        if (size != 10 || !lb_date_plain(p, &day))
            break;
        n++;
        min = day < min ? day : min;
        max = day > max ? day : max;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    c->min_date = min;
    c->max_date = max;
    c->seen[DELIM_KIND_DATE] += n;
    return typing_row(&at);
}

void typing_widen_instants(delim_column *c, int place, const lb_datetime *v)
{
    const struct delim_instant at = { v->seconds, v->nanos };

    if (delim_compare_instant(at, c->min_at[place]) < 0)
        c->min_at[place] = at;
    if (delim_compare_instant(at, c->max_at[place]) > 0)
        c->max_at[place] = at;
}

/* Times of a day, and of any day. */
TYPING_INLINE size_t typing_instants(const typing_column *tc, size_t row, delim_kind kind, lb_datetime_kind wanted)
{
    const int place = (int)(kind - DELIM_KIND_TIME);
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    delim_column *c = tc->c;
    int64_t min = c->min_at[place].seconds, max = c->max_at[place].seconds;
    bool nanos = false;
    uint64_t n = 0;
    const char *p;
    uint32_t size;

    TYPING_EACH(at, 35, p, size)
    {
        lb_datetime v = { .fraction_digits = 0 };
        if (!(wanted == LB_TIMESTAMP && size == 19 && lb_timestamp_plain(p, &v.seconds)) &&
            lb_datetime_parse(p, size, &v) != wanted)
            break;
        if (__builtin_expect(!(v.seconds > min && v.seconds < max), 0)) {
            typing_widen_instants(c, place, &v);
            min = c->min_at[place].seconds;
            max = c->max_at[place].seconds;
        }
        nanos |= v.fraction_digits > 6;
        n++;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    c->nanos[place] |= nanos;
    c->seen[kind] += n;
    return typing_row(&at);
}

TYPING_INLINE size_t typing_bools(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    delim_column *c = tc->c;
    unsigned min = c->min_bool, max = c->max_bool;
    uint64_t n = 0;
    const char *p;
    uint32_t size;

    TYPING_EACH(at, 5, p, size)
    {
        bool yes;
        if (!delim_parse_bool((lb_str){ p, size }, &yes))
            break;
        n++;
        min &= yes;
        max |= yes;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    c->min_bool = (uint8_t)min;
    c->max_bool = (uint8_t)max;
    c->seen[DELIM_KIND_BOOL] += n;
    return typing_row(&at);
}

/* ---------------------------------------------------------------- the column */

/* The only kind of value that a column had, or one of the two that may stand side by side; DELIM_KINDS: no loop is for it. */
static delim_kind typing_kind(const delim_column *c, const delim_values *values)
{
    unsigned seen = 0;

    if (c->settled || values->text)
        return DELIM_KIND_TEXT;
    for (unsigned k = 0; k < DELIM_KINDS; k++)
        seen |= (c->seen[k] != 0 ? 1u : 0u) << k;
    if (seen == (1u << DELIM_KIND_INT | 1u << DELIM_KIND_FLOAT))
        seen = 1u << DELIM_KIND_FLOAT;
    if (seen == 0 || (seen & (seen - 1)) != 0)
        return DELIM_KINDS;
    const delim_kind kind = (delim_kind)__builtin_ctz(seen);
    return kind == DELIM_KIND_FLOAT && (values->decimal || c->seen[kind] == c->nans) ? DELIM_KINDS : kind;
}

/* Every loop is compiled twice, the second time with instructions that shift and count bits. */
#if defined(__x86_64__)
#define TYPING_WIDE __attribute__((noinline, target("avx2,popcnt,bmi,bmi2,lzcnt")))
#else
#define TYPING_WIDE __attribute__((noinline))
#endif

#define TYPING_TWICE(name, ...)                                                               \
    static __attribute__((noinline)) size_t name##_plain(const typing_column *tc, size_t row) \
    {                                                                                         \
        return __VA_ARGS__;                                                                   \
    }                                                                                         \
    TYPING_WIDE static size_t name##_wide(const typing_column *tc, size_t row)                \
    {                                                                                         \
        return __VA_ARGS__;                                                                   \
    }

TYPING_TWICE(run_texts, typing_texts(tc, row))
TYPING_TWICE(run_few_ints, typing_ints(tc, row))
static size_t run_floats_plain(const typing_column *tc, size_t row)
{
    return typing_floats(tc, row);
}

TYPING_TWICE(run_few_dates, typing_dates(tc, row))
TYPING_TWICE(run_times, typing_instants(tc, row, DELIM_KIND_TIME, LB_TIME))
TYPING_TWICE(run_few_timestamps, typing_instants(tc, row, DELIM_KIND_TIMESTAMP, LB_TIMESTAMP))
TYPING_TWICE(run_utc, typing_instants(tc, row, DELIM_KIND_UTC, LB_TIMESTAMP_UTC))
TYPING_TWICE(run_bools, typing_bools(tc, row))

#if defined(__x86_64__)
static bool typing_are_many(const typing_column *tc, size_t row)
{
    return tc->cells->rows - row >= TYPING_MANY;
}

static size_t run_ints(const typing_column *tc, size_t row)
{
    return typing_are_many(tc, row) ? typing_many_ints(tc, row) : run_few_ints_wide(tc, row);
}

static size_t run_dates(const typing_column *tc, size_t row)
{
    return typing_are_many(tc, row) ? typing_many_dates(tc, row) : run_few_dates_wide(tc, row);
}

static size_t run_timestamps(const typing_column *tc, size_t row)
{
    const delim_cells *cells = tc->cells;
    const uint32_t size = cells->size[row * cells->width + tc->column] & ~DELIM_CELL_QUOTED;

    return size == 19 && typing_are_many(tc, row) ? typing_many_timestamps(tc, row) : run_few_timestamps_wide(tc, row);
}
#else
#define run_ints run_few_ints_wide
#define run_dates run_few_dates_wide
#define run_timestamps run_few_timestamps_wide
#define typing_many_floats run_floats_plain
#endif

typedef size_t (*typing_loop)(const typing_column *tc, size_t row);

static const typing_loop typing_loops[DELIM_KINDS][2] = {
    [DELIM_KIND_BOOL] = { run_bools_plain, run_bools_wide },
    [DELIM_KIND_INT] = { run_few_ints_plain, run_ints },
    [DELIM_KIND_FLOAT] = { run_floats_plain, typing_many_floats },
    [DELIM_KIND_DATE] = { run_few_dates_plain, run_dates },
    [DELIM_KIND_TIME] = { run_times_plain, run_times_wide },
    [DELIM_KIND_TIMESTAMP] = { run_few_timestamps_plain, run_timestamps },
    [DELIM_KIND_UTC] = { run_utc_plain, run_utc_wide },
    [DELIM_KIND_TEXT] = { run_texts_plain, run_texts_wide },
};

/* The loop for what the column has held so far, if there is one. */
static size_t typing_run(const typing_column *tc, size_t row, bool wide)
{
    const delim_kind kind = typing_kind(tc->c, tc->t->values);

    return kind == DELIM_KINDS || typing_loops[kind][0] == NULL ? row : typing_loops[kind][wide](tc, row);
}

static lb_status typing_odd(const typing_column *tc, size_t row, lb_error *err)
{
    const delim_typing *t = tc->t;
    const delim_field field = delim_cell_field(tc->cells, row * tc->cells->width + tc->column);
    const bool text = tc->c->settled || t->values->text;
    delim_value v;

    LB_TRY(delim_read_value(t->dialect, t->values, &field, text ? TYPING_TEXT_BYTES : SIZE_MAX, t->scratch, &v, err));
    if (!v.null)
        delim_column_add(tc->c, v.text, v.quoted, t->values, tc->stats);
    return LB_OK;
}

lb_status delim_typing_add(const delim_typing *t, const delim_cells *cells, size_t column, delim_column *c, bool stats,
                           lb_error *err)
{
    const typing_column tc = { .t = t, .cells = cells, .c = c, .column = column, .stats = stats };
    const bool wide = (lb_cpu() & LB_CPU_AVX2) != 0;

    for (size_t row = 0; row < cells->rows; row++) {
        row = typing_run(&tc, row, wide);
        if (row < cells->rows)
            LB_TRY(typing_odd(&tc, row, err));
    }
    return LB_OK;
}
