/* What the loops over the values of a column share: private to delimited_typing.c and delimited_typing_wide.c. */
#ifndef LB_FORMAT_DELIMITED_TYPING_H
#define LB_FORMAT_DELIMITED_TYPING_H

#include <math.h>

#include "base/datetime.h"
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

/* ---- bounds of text */

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

/* Widen the bounds by a value; gives what they are then. */
typing_bounds typing_widen(const typing_column *tc, const char *p, size_t size);

TYPING_INLINE void typing_bound_text(const typing_column *tc, const char *p, size_t size)
{
    const typing_bounds bounds = typing_bounds_of(tc);

    if (!typing_holds(&bounds, p, size))
        (void)typing_widen(tc, p, size);
}

/* Widen the bounds of instants of a place. */
void typing_widen_instants(delim_column *c, int place, const lb_datetime *v);

/* ---- numbers with a point, and integers among them if there were some */

typedef struct typing_reals {
    delim_column *c;
    double min, max; /* the column's */
    uint64_t floats, ints;
} typing_reals;

TYPING_INLINE typing_reals typing_reals_of(delim_column *c)
{
    return (typing_reals){ .c = c, .min = c->min_f, .max = c->max_f };
}

TYPING_INLINE void typing_reals_give(const typing_reals *r)
{
    r->c->seen[DELIM_KIND_FLOAT] += r->floats;
    r->c->seen[DELIM_KIND_INT] += r->ints;
}

/* Widen the bounds by a number with a point. */
void typing_widen_floats(typing_reals *r, const lb_plain *v);

/* Well inside the bounds a number need not be known exactly. False: it is left. */
TYPING_INLINE bool typing_real(typing_reals *r, const char *p, size_t size)
{
    lb_plain v;
    int64_t i;

    if (!lb_plain_read(p, size, &v) || v.digits > INT64_MAX)
        return false;
    if (v.point) {
        const double f = lb_plain_estimate(&v), margin = fabs(f) * (2 * LB_ESTIMATE_ERROR);
        if (__builtin_expect(!(f - margin > r->min && f + margin < r->max), 0))
            typing_widen_floats(r, &v);
        r->floats++;
        return true;
    }
    if (r->c->seen[DELIM_KIND_INT] == 0 || !lb_plain_integer(&v, &i))
        return false;
    r->c->min_i = LB_MIN(r->c->min_i, i);
    r->c->max_i = LB_MAX(r->c->max_i, i);
    r->ints++;
    return true;
}

/* ---- loops */

/* Each loop begins at a row and gives the first one whose value it leaves, or the number of rows. */

typedef struct typing_cursor {
    const uint32_t *begin, *size;
    size_t at, end, width;
    const char *data;
    const bool *odd; /* NULL: no field is a null word */
} typing_cursor;

TYPING_INLINE typing_cursor typing_from(const typing_column *tc, size_t row)
{
    const delim_cells *cells = tc->cells;

    return (typing_cursor){ .begin = cells->begin,
                            .size = cells->size,
                            .at = row * cells->width + tc->column,
                            .end = cells->rows * cells->width + tc->column,
                            .width = cells->width,
                            .data = (const char *)cells->data,
                            .odd = tc->t->asking ? tc->t->odd : NULL };
}

TYPING_INLINE size_t typing_row(const typing_cursor *at)
{
    return at->at / at->width;
}

/* A value of the loop's kind: sets p and size. Empty fields are null, and passed over; what may be a null word, or has escapes, or
 * has more than `most` bytes, ends the loop. */
#define TYPING_EACH(c, most, p, field)                                                                    \
    for (; (c).at != (c).end; (c).at += (c).width)                                                        \
        if (((field) = (c).size[(c).at] & ~DELIM_CELL_QUOTED) - 1 >= (most)) {                            \
            if ((c).size[(c).at] != 0)                                                                    \
                break;                                                                                    \
        } else if ((p) = (c).data + (c).begin[(c).at], (c).odd != NULL && (c).odd[(unsigned char)*(p)]) { \
            break;                                                                                        \
        } else

/* By vectors (delimited_typing_wide.c), for processors with AVX2. */
#define TYPING_MANY 64 /* rows for which they are worth it */
size_t typing_many_ints(const typing_column *tc, size_t row);
size_t typing_many_floats(const typing_column *tc, size_t row);
size_t typing_many_dates(const typing_column *tc, size_t row);
size_t typing_many_timestamps(const typing_column *tc, size_t row);

#endif
