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

/* Order of a value against kept bytes; equal prefixes are already known. */
static int bounds_compare(const uint8_t *p, size_t size, const uint8_t *kept, uint32_t kept_size)
{
    size_t n = LB_MIN(size, (size_t)kept_size);
    int c = n == 0 ? 0 : memcmp(p, kept, n);
    return c != 0 ? c : (size > kept_size) - (size < kept_size);
}

static void bounds_keep(uint8_t *kept, uint32_t *kept_size, uint64_t *kept_prefix, const uint8_t *p, size_t size,
                        uint64_t prefix)
{
    if (size != 0)
        memcpy(kept, p, size);
    *kept_size = (uint32_t)size;
    *kept_prefix = prefix;
}

/* Called when the prefix does not tell that the value lies inside. */
static __attribute__((noinline)) void bounds_add_slow(lb_text_bounds *b, const uint8_t *p, size_t size, uint64_t prefix)
{
    size = LB_MIN(size, (size_t)LB_STATS_TEXT_BYTES + 1);
    if (!b->any || prefix < b->min_prefix ||
        (prefix == b->min_prefix && bounds_compare(p, size, b->min, b->min_size) < 0))
        bounds_keep(b->min, &b->min_size, &b->min_prefix, p, size, prefix);
    if (!b->any || prefix > b->max_prefix ||
        (prefix == b->max_prefix && bounds_compare(p, size, b->max, b->max_size) > 0))
        bounds_keep(b->max, &b->max_size, &b->max_prefix, p, size, prefix);
    b->any = true;
}

void lb_text_bounds_add(lb_text_bounds *b, const char *p, size_t size)
{
    uint64_t prefix = bounds_load((const uint8_t *)p, size);
    if (__builtin_expect(prefix > b->min_prefix && prefix < b->max_prefix, 1))
        return; /* an empty one has both prefixes 0 */
    bounds_add_slow(b, (const uint8_t *)p, size, prefix);
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
