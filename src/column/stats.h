/* Statistics of one column (lake-map.md 4.5). */
#ifndef LB_COLUMN_STATS_H
#define LB_COLUMN_STATS_H

#include "base/arena.h"

enum { LB_STATS_NONE = 0, LB_STATS_COMPUTED = 1, LB_STATS_FROM_METADATA = 2 }; /* source */

/* Which bounds are known. A minimum and a maximum of one kind each. */
enum {
    LB_MIN_I = 1,
    LB_MAX_I = 2, /* integers, booleans, dates, times, timestamps, durations: exact */
    LB_MIN_U = 4,
    LB_MAX_U = 8, /* unsigned integers: exact */
    LB_MIN_F = 16,
    LB_MAX_F = 32, /* floats; NaN never enters; -0.0 sorts below +0.0 */
    LB_MIN_B = 64,
    LB_MAX_B = 128 /* text and binary by bytes; decimals: 16 or 32 bytes, big-endian two's complement */
};

/* Bounds of text are kept to this many bytes; a shortened maximum is rounded up, or dropped if it cannot be. */
#define LB_STATS_TEXT_BYTES 256

typedef struct lb_colstat {
    lb_str name; /* nested leaves: dotted path */
    lb_str type; /* type words, as "int64" or JSON text */
    uint8_t source;
    bool has_null_count, has_nan_count;
    uint64_t null_count, nan_count;
    unsigned has; /* LB_MIN_I … */
    int64_t min_i, max_i;
    uint64_t min_u, max_u;
    double min_f, max_f;
    lb_str min_b, max_b;
    bool min_exact, max_exact;
} lb_colstat;

typedef struct lb_colstats {
    uint64_t count;
    lb_colstat *items;
} lb_colstats;

/* Running bounds of text, shortened only at the end: prefixes compare first, so that most values cost two integer
 * comparisons. Zero-initialised is empty. */
typedef struct lb_text_bounds {
    bool any;
    uint32_t min_size, max_size; /* kept bytes, at most LB_STATS_TEXT_BYTES + 1: one more shows that there was more */
    uint64_t min_prefix, max_prefix;                                    /* first 8 bytes, big-endian, zero-filled */
    uint8_t min[LB_STATS_TEXT_BYTES + 1], max[LB_STATS_TEXT_BYTES + 1]; /* the first 16 are zero-filled */
} lb_text_bounds;

void lb_text_bounds_add(lb_text_bounds *b, const char *p, size_t size);

/* The first 8 bytes of a value, big-endian and zero-filled. Reads 8 bytes, whatever stands behind the value. No branch
 * depends on the size, for neighbours differ in it. */
static inline uint64_t lb_text_prefix(const char *p, size_t size)
{
    static const uint64_t kept[9] = {
        0,
        UINT64_C(0xff00000000000000),
        UINT64_C(0xffff000000000000),
        UINT64_C(0xffffff0000000000),
        UINT64_C(0xffffffff00000000),
        UINT64_C(0xffffffffff000000),
        UINT64_C(0xffffffffffff0000),
        UINT64_C(0xffffffffffffff00),
        UINT64_MAX,
    };
    uint64_t prefix;
    memcpy(&prefix, p, sizeof prefix);
    return __builtin_bswap64(prefix) & kept[size < 8 ? size : 8];
}

/* Does a value lie within the bounds, as its prefix shows? A value of up to 8 bytes is known by prefix and size. */
static inline bool lb_text_bounds_hold(const lb_text_bounds *b, uint64_t prefix, size_t size)
{
    unsigned held = (prefix > b->min_prefix) & (prefix < b->max_prefix); /* never in empty ones: both are 0 */
    unsigned is_min = (prefix == b->min_prefix) & (size == b->min_size);
    unsigned is_max = (prefix == b->max_prefix) & (size == b->max_size);
    held |= (is_min | is_max) & (size <= 8) & b->any;
    __asm__("" : "+r"(held)); /* one branch: which of these holds is a matter of chance */
    return held != 0;
}

/* As lb_text_bounds_add for a value with LB_BOUNDS_PADDING readable bytes behind it, whatever stands there. Worth
 * calling where lb_text_bounds_hold says no. */
#define LB_BOUNDS_PADDING 16
void lb_text_bounds_add_padded(lb_text_bounds *b, const char *p, size_t size);

void lb_text_bounds_merge(lb_text_bounds *b, const lb_text_bounds *other);

/* Fill min_b, max_b, the exact flags and `has` of `out`; bytes are copied to the arena. `text`: cut at whole UTF-8
 * characters. Errors: BUDGET, NOMEM. */
lb_status lb_text_bounds_finish(const lb_text_bounds *b, bool text, lb_arena *arena, lb_colstat *out, lb_error *err);

#endif
