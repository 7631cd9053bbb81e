/* Values taken in column after column: a loop for each kind of column, which knows what its values look like and keeps what it
 * finds in registers. A value that looks otherwise is left to delim_column_add, which is the definition of all of this. */
#include <math.h>

#include "base/cpu.h"
#include "base/datetime.h"
#include "base/datetime_plain.h"
#include "format/delimited/delimited.h"

#define TYPING_INLINE static inline __attribute__((always_inline))

/* Bytes of a value that tell where it lies among others: the bounds of text ask for no more. */
#define TYPING_TEXT_BYTES (LB_STATS_TEXT_BYTES + 1)

typedef struct typing_column {
    const delim_typing *t;
    const delim_cells *cells;
    delim_column *c;
    size_t column;
    bool stats;
} typing_column;

void delim_typing_init(delim_typing *t, const delim_dialect *dialect, const delim_values *values, lb_buf *scratch)
{
    *t = (delim_typing){ .dialect = dialect, .values = values, .scratch = scratch };
    t->asking = values->n_nulls != 0 && !values->text;
    t->odd[' '] = t->odd['\t'] = true;
    for (size_t i = 0; i < values->n_nulls; i++)
        t->odd[(unsigned char)values->nulls[i][0]] = true;
}

/* ---------------------------------------------------------------- bounds of text */

typedef unsigned __int128 typing_key;

/* Bounds of text as keys that compare as the texts do; those of texts of more than 15 bytes may be equal for others, too. */
typedef struct typing_bounds {
    typing_key min, max;
} typing_bounds;

/* The first 15 bytes, zero-filled, and how many there are. Reads 16 bytes, whatever stands behind the value. */
TYPING_INLINE typing_key typing_key_of(const char *p, size_t size)
{
    static const uint64_t kept[17][2] = {
        { 0, 0 },
        { UINT64_C(0xff00000000000000), 0 },
        { UINT64_C(0xffff000000000000), 0 },
        { UINT64_C(0xffffff0000000000), 0 },
        { UINT64_C(0xffffffff00000000), 0 },
        { UINT64_C(0xffffffffff000000), 0 },
        { UINT64_C(0xffffffffffff0000), 0 },
        { UINT64_C(0xffffffffffffff00), 0 },
        { UINT64_MAX, 0 },
        { UINT64_MAX, UINT64_C(0xff00000000000000) },
        { UINT64_MAX, UINT64_C(0xffff000000000000) },
        { UINT64_MAX, UINT64_C(0xffffff0000000000) },
        { UINT64_MAX, UINT64_C(0xffffffff00000000) },
        { UINT64_MAX, UINT64_C(0xffffffffff000000) },
        { UINT64_MAX, UINT64_C(0xffffffffffff0000) },
        { UINT64_MAX, UINT64_C(0xffffffffffffff00) },
        { UINT64_MAX, UINT64_C(0xffffffffffffff00) },
    };
    const size_t n = LB_MIN(size, (size_t)16);
    const uint64_t high = __builtin_bswap64(lb_load8(p)) & kept[n][0],
                   low = (__builtin_bswap64(lb_load8(p + 8)) & kept[n][1]) | n;
    return (typing_key)high << 64 | low;
}

/* Without statistics every value lies within. */
TYPING_INLINE typing_bounds typing_bounds_of(const typing_column *tc)
{
    const lb_text_bounds *b = &tc->c->text;

    if (!tc->stats)
        return (typing_bounds){ 0, ~(typing_key)0 };
    if (!b->any)
        return (typing_bounds){ ~(typing_key)0, 0 };
    return (typing_bounds){ typing_key_of((const char *)b->min, b->min_size),
                            typing_key_of((const char *)b->max, b->max_size) };
}

/* For certain? Of a long value the key must lie inside. */
TYPING_INLINE bool typing_holds(const typing_bounds *b, const char *p, size_t size)
{
    const typing_key key = typing_key_of(p, size);
    const unsigned open = size > 15;

    return (key - open >= b->min) & (key + open <= b->max);
}

static __attribute__((noinline)) typing_bounds typing_widen(const typing_column *tc, const char *p, size_t size)
{
    lb_text_bounds_add_padded(&tc->c->text, p, size);
    return typing_bounds_of(tc);
}

/* ---------------------------------------------------------------- the loops */

/* Each begins at a row and gives the first one whose value it leaves, or the number of rows. */

typedef struct typing_cursor {
    const delim_cell *cell, *end;
    const char *data;
    size_t width;
} typing_cursor;

TYPING_INLINE typing_cursor typing_from(const typing_column *tc, size_t row)
{
    const delim_cells *cells = tc->cells;

    return (typing_cursor){ .cell = cells->cells + row * cells->width + tc->column,
                            .end = cells->cells + cells->rows * cells->width + tc->column,
                            .data = (const char *)cells->data,
                            .width = cells->width };
}

TYPING_INLINE size_t typing_row(const typing_column *tc, const typing_cursor *at)
{
    return (size_t)(at->cell - tc->cells->cells) / at->width;
}

/* A value of the loop's kind: sets p and size. Empty fields are null, and passed over; what may be a null word, or has escapes, or
 * has more than `most` bytes, ends the loop. */
#define TYPING_EACH(at, tc, most, p, size)                                           \
    for (; (at).cell != (at).end; (at).cell += (at).width)                           \
        if (((size) = (at).cell->size & ~DELIM_CELL_QUOTED) - 1 >= (most)) {         \
            if ((at).cell->size != 0)                                                \
                break;                                                               \
        } else if ((p) = (at).data + (at).cell->begin,                               \
                   (tc)->t->asking && (tc)->t->odd[(unsigned char)*(p)]) {           \
            break;                                                                   \
        } else

/* All text, whatever it looks like; where every field is a value, so is an empty one. */
TYPING_INLINE size_t typing_texts(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    const bool all = tc->t->values->text;
    uint64_t n = 0;

    for (; at.cell != at.end; at.cell += at.width) {
        const uint32_t size = at.cell->size & ~DELIM_CELL_QUOTED;
        const char *p = at.data + at.cell->begin;
        if ((int32_t)size <= 0) {
            if (at.cell->size != 0)
                break;
            if (!all)
                continue;
        } else if (tc->t->asking && tc->t->odd[(unsigned char)*p]) {
            break;
        }
        n++;
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    tc->c->seen[DELIM_KIND_TEXT] += n;
    tc->c->settled |= n != 0;
    return typing_row(tc, &at);
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

    TYPING_EACH(at, tc, TYPING_INT_BYTES, p, size)
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
    return typing_row(tc, &at);
}

static __attribute__((noinline)) void typing_widen_floats(delim_column *c, const lb_plain *v)
{
    const double f = lb_plain_double(v);

    if (delim_less(f, c->min_f))
        c->min_f = f;
    if (delim_less(c->max_f, f))
        c->max_f = f;
}

/* Numbers with a point; well inside the bounds they need not be known exactly. Integers among them, if there were some. */
TYPING_INLINE size_t typing_floats(const typing_column *tc, size_t row)
{
    typing_cursor at = typing_from(tc, row);
    typing_bounds bounds = typing_bounds_of(tc);
    delim_column *c = tc->c;
    double min = c->min_f, max = c->max_f;
    uint64_t floats = 0, ints = 0;
    const char *p;
    uint32_t size;
    lb_plain v;

    TYPING_EACH(at, tc, LB_PLAIN_SIZE, p, size)
    {
        if (!lb_plain_read(p, size, &v) || v.digits > INT64_MAX)
            break;
        if (v.point) {
            const double f = lb_plain_estimate(&v), margin = fabs(f) * (2 * LB_ESTIMATE_ERROR);
            if (__builtin_expect(!(f - margin > min && f + margin < max), 0)) {
                typing_widen_floats(c, &v);
                min = c->min_f;
                max = c->max_f;
            }
            floats++;
        } else {
            int64_t i;
            if (c->seen[DELIM_KIND_INT] == 0 || !lb_plain_integer(&v, &i))
                break;
            c->min_i = LB_MIN(c->min_i, i);
            c->max_i = LB_MAX(c->max_i, i);
            ints++;
        }
        if (__builtin_expect(!typing_holds(&bounds, p, size), 0))
            bounds = typing_widen(tc, p, size);
    }
    c->seen[DELIM_KIND_FLOAT] += floats;
    c->seen[DELIM_KIND_INT] += ints;
    return typing_row(tc, &at);
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

    TYPING_EACH(at, tc, 10, p, size)
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
    return typing_row(tc, &at);
}

static __attribute__((noinline)) void typing_widen_instants(delim_column *c, int place, const lb_datetime *v)
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

    TYPING_EACH(at, tc, 35, p, size)
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
    return typing_row(tc, &at);
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

    TYPING_EACH(at, tc, 5, p, size)
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
    return typing_row(tc, &at);
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

TYPING_INLINE size_t typing_run(const typing_column *tc, size_t row)
{
    switch (typing_kind(tc->c, tc->t->values)) {
    case DELIM_KIND_TEXT:
        return typing_texts(tc, row);
    case DELIM_KIND_INT:
        return typing_ints(tc, row);
    case DELIM_KIND_FLOAT:
        return typing_floats(tc, row);
    case DELIM_KIND_DATE:
        return typing_dates(tc, row);
    case DELIM_KIND_TIME:
        return typing_instants(tc, row, DELIM_KIND_TIME, LB_TIME);
    case DELIM_KIND_TIMESTAMP:
        return typing_instants(tc, row, DELIM_KIND_TIMESTAMP, LB_TIMESTAMP);
    case DELIM_KIND_UTC:
        return typing_instants(tc, row, DELIM_KIND_UTC, LB_TIMESTAMP_UTC);
    case DELIM_KIND_BOOL:
        return typing_bools(tc, row);
    default:
        return row;
    }
}

static size_t typing_run_plainly(const typing_column *tc, size_t row)
{
    return typing_run(tc, row);
}

#if defined(__x86_64__)
/* The same with instructions that shift and count bits. */
__attribute__((target("avx2,popcnt,bmi,bmi2,lzcnt"))) static size_t typing_run_wide(const typing_column *tc, size_t row)
{
    return typing_run(tc, row);
}
#else
#define typing_run_wide typing_run_plainly
#endif

static lb_status typing_odd(const typing_column *tc, size_t row, lb_error *err)
{
    const delim_typing *t = tc->t;
    const delim_cells *cells = tc->cells;
    const delim_field field = delim_cell_field(cells, &cells->cells[row * cells->width + tc->column]);
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
        row = wide ? typing_run_wide(&tc, row) : typing_run_plainly(&tc, row);
        if (row < cells->rows)
            LB_TRY(typing_odd(&tc, row, err));
    }
    return LB_OK;
}
