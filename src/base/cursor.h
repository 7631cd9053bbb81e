/* Reading hostile bytes: one place advances, a failed read sticks, and the parser asks once per record. */
#ifndef LB_BASE_CURSOR_H
#define LB_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct lb_cursor {
    const uint8_t *at, *end, *base; /* never NULL, even over no bytes */
    uint64_t origin;                /* where base lies in the file */
    bool bad;                       /* sticky: some read passed the end */
} lb_cursor;

static inline void lb_cursor_init(lb_cursor *c, const void *bytes, size_t size, uint64_t origin)
{
    static const uint8_t nothing[1];
    const uint8_t *p = bytes == NULL ? nothing : bytes;
    *c = (lb_cursor){ .at = p, .end = p + (bytes == NULL ? 0 : size), .base = p, .origin = origin };
}

static inline size_t lb_cursor_left(const lb_cursor *c)
{
    return (size_t)(c->end - c->at);
}

/* Offset in the file of the next byte. */
static inline uint64_t lb_cursor_offset(const lb_cursor *c)
{
    return c->origin + (uint64_t)(c->at - c->base);
}

/* The next n bytes, or NULL. */
static inline const uint8_t *lb_cursor_take(lb_cursor *c, uint64_t n)
{
    if (c->bad || n > lb_cursor_left(c)) {
        c->bad = true;
        return NULL;
    }
    c->at += n;
    return c->at - n;
}

/* A count is believed only if the bytes left could hold it; least_bytes_each >= 1. */
static inline uint64_t lb_cursor_count(lb_cursor *c, uint64_t claimed, size_t least_bytes_each)
{
    if (claimed > lb_cursor_left(c) / least_bytes_each)
        c->bad = true;
    return c->bad ? 0 : claimed;
}

#define LB_CURSOR_READ(name, type)                      \
    static inline type lb_cursor_##name(lb_cursor *c)   \
    {                                                   \
        type v = 0;                                     \
        const uint8_t *p = lb_cursor_take(c, sizeof v); \
        if (p != NULL)                                  \
            memcpy(&v, p, sizeof v);                    \
        return v;                                       \
    }

/* Little-endian, as all machines Lakebed runs on (checked at build). */
LB_CURSOR_READ(u8, uint8_t)
LB_CURSOR_READ(u16, uint16_t)
LB_CURSOR_READ(u32, uint32_t)
LB_CURSOR_READ(u64, uint64_t)

#endif
