/* Bounds of text columns, kept while values pass by. */
#include "column/stats.h"

#include "base/utf8.h"

static inline uint64_t bounds_load(const uint8_t *p, size_t size)
{
    uint64_t v = 0;
    if (size >= 8) {
        memcpy(&v, p, 8);
        return __builtin_bswap64(v);
    }
    if (size >= 4) { /* two loads that overlap */
        uint32_t head, tail;
        memcpy(&head, p, 4);
        memcpy(&tail, p + size - 4, 4);
        v = (uint64_t)__builtin_bswap32(head) << 32;
        return v | (uint64_t)__builtin_bswap32(tail) << (8 * (8 - size));
    }
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)p[i] << (56 - 8 * i);
    return v;
}

#define BOUNDS_NEAR 16 /* bytes that integers compare */

/* Order of two runs of at least BOUNDS_NEAR bytes. */
static inline int bounds_compare_far(const uint8_t *a, const uint8_t *b, size_t size)
{
    for (size_t i = BOUNDS_NEAR; i < size; i += 8) {
        size_t at = LB_MIN(i, size - 8); /* the last word may overlap the one before it, which is equal */
        uint64_t x = bounds_load(a + at, 8), y = bounds_load(b + at, 8);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Bytes 8 to 15, as bounds_load gives the first ones. */
static inline uint64_t bounds_second(const uint8_t *p, size_t size)
{
    return size <= 8 ? 0 : bounds_load(p + 8, LB_MIN(size - 8, (size_t)8));
}

typedef struct bounds_value {
    uint64_t prefix, second;
    const uint8_t *p;
    size_t size; /* at most LB_STATS_TEXT_BYTES + 1 */
} bounds_value;

/* Order of a value against a kept one. */
static inline int bounds_compare(const bounds_value *v, uint64_t prefix, const uint8_t *kept, uint32_t kept_size)
{
    uint64_t second = bounds_second(kept, BOUNDS_NEAR);
    if (v->prefix != prefix)
        return v->prefix < prefix ? -1 : 1;
    if (v->second != second)
        return v->second < second ? -1 : 1;
    size_t n = LB_MIN(v->size, (size_t)kept_size);
    int c = n <= BOUNDS_NEAR ? 0 : bounds_compare_far(v->p, kept, n);
    return c != 0 ? c : (v->size > kept_size) - (v->size < kept_size);
}

static inline void bounds_keep(uint8_t *kept, uint32_t *kept_size, uint64_t *kept_prefix, const bounds_value *v)
{
    uint64_t head[2] = { __builtin_bswap64(v->prefix), __builtin_bswap64(v->second) };
    memcpy(kept, head, sizeof head);
    if (v->size > BOUNDS_NEAR && v->size <= 2 * BOUNDS_NEAR) /* the end of the value, which may overlap the head */
        memcpy(kept + v->size - BOUNDS_NEAR, v->p + v->size - BOUNDS_NEAR, BOUNDS_NEAR);
    else if (v->size > BOUNDS_NEAR)
        memcpy(kept + BOUNDS_NEAR, v->p + BOUNDS_NEAR, v->size - BOUNDS_NEAR);
    *kept_size = (uint32_t)v->size;
    *kept_prefix = v->prefix;
}

static inline void bounds_widen(lb_text_bounds *b, const bounds_value *v)
{
    if (!b->any) {
        bounds_keep(b->min, &b->min_size, &b->min_prefix, v);
        bounds_keep(b->max, &b->max_size, &b->max_prefix, v);
        b->any = true;
    } else if (bounds_compare(v, b->min_prefix, b->min, b->min_size) < 0) {
        bounds_keep(b->min, &b->min_size, &b->min_prefix, v);
    } else if (bounds_compare(v, b->max_prefix, b->max, b->max_size) > 0) {
        bounds_keep(b->max, &b->max_size, &b->max_prefix, v);
    }
}

void lb_text_bounds_add_padded(lb_text_bounds *b, const char *p, size_t size)
{
    bounds_value v = { lb_text_prefix(p, size), 0, (const uint8_t *)p, LB_MIN(size, (size_t)LB_STATS_TEXT_BYTES + 1) };
    if (size > 8)
        v.second = lb_text_prefix(p + 8, size - 8);
    bounds_widen(b, &v);
}

void lb_text_bounds_add(lb_text_bounds *b, const char *p, size_t size)
{
    const uint8_t *at = (const uint8_t *)p;
    bounds_value v = { bounds_load(at, size), bounds_second(at, size), at,
                       LB_MIN(size, (size_t)LB_STATS_TEXT_BYTES + 1) };
    bounds_widen(b, &v);
}

void lb_text_bounds_merge(lb_text_bounds *b, const lb_text_bounds *other)
{
    if (!other->any)
        return;
    lb_text_bounds_add(b, (const char *)other->min, other->min_size);
    lb_text_bounds_add(b, (const char *)other->max, other->max_size);
}

/* Cut before a character that the end would split. */
static size_t bounds_whole(const uint8_t *p, size_t size)
{
    return size - lb_utf8_cut_tail(p, size);
}

/* The character after `cp` in byte order; 0: there is none. */
static uint32_t bounds_next_character(uint32_t cp)
{
    if (cp >= 0x10ffff)
        return 0;
    return cp == 0xd7ff ? 0xe000 : cp + 1;
}

/* Make the shortest text above everything that begins with these bytes by raising their last character, or an earlier
 * one where it is the greatest. Returns the size; 0: there is none. */
static size_t bounds_raise_text(uint8_t *p, size_t size)
{
    while (size > 0) {
        size_t start = size - 1;
        while (start > 0 && (p[start] & 0xc0) == 0x80)
            start--;
        uint32_t cp, next;
        uint8_t bytes[4];
        size_t read = lb_utf8_decode(p + start, size - start, &cp);
        if (read == size - start && (next = bounds_next_character(cp)) != 0) {
            size_t n = lb_utf8_encode(next, bytes);
            if (start + n <= LB_STATS_TEXT_BYTES) {
                memcpy(p + start, bytes, n);
                return start + n;
            }
        }
        size = start;
    }
    return 0;
}

static size_t bounds_raise_bytes(uint8_t *p, size_t size)
{
    while (size > 0 && p[size - 1] == 0xff)
        size--;
    if (size > 0)
        p[size - 1]++;
    return size;
}

/* Store `size` bytes as one of the bounds. */
static lb_status bounds_store(lb_arena *arena, const uint8_t *p, size_t size, lb_str *out, lb_error *err)
{
    const char *copy = lb_arena_dup(arena, p, size);
    if (copy == NULL)
        return lb_arena_fail(arena, err);
    *out = (lb_str){ copy, size };
    return LB_OK;
}

lb_status lb_text_bounds_finish(const lb_text_bounds *b, bool text, lb_arena *arena, lb_colstat *out, lb_error *err)
{
    if (!b->any)
        return LB_OK;
    size_t min_size = b->min_size, max_size = b->max_size;
    uint8_t max[LB_STATS_TEXT_BYTES + 1];
    memcpy(max, b->max, sizeof max);
    out->min_exact = min_size <= LB_STATS_TEXT_BYTES;
    out->max_exact = max_size <= LB_STATS_TEXT_BYTES;
    if (!out->min_exact)
        min_size = text ? bounds_whole(b->min, LB_STATS_TEXT_BYTES) : LB_STATS_TEXT_BYTES;
    if (!out->max_exact && text)
        max_size = bounds_raise_text(max, bounds_whole(max, LB_STATS_TEXT_BYTES));
    else if (!out->max_exact)
        max_size = bounds_raise_bytes(max, LB_STATS_TEXT_BYTES);
    LB_TRY(bounds_store(arena, b->min, min_size, &out->min_b, err));
    out->has |= LB_MIN_B;
    if (!out->max_exact && max_size == 0)
        return LB_OK;
    LB_TRY(bounds_store(arena, max, max_size, &out->max_b, err));
    out->has |= LB_MAX_B;
    return LB_OK;
}
