/* Primitives of Avro's binary encoding (specification, "Binary encoding"): zigzag varints, and bytes behind their length. */
#ifndef LB_WIRE_AVRO_WIRE_H
#define LB_WIRE_AVRO_WIRE_H

#include "base/cursor.h"

#define LB_AVRO_LONG_BYTES 10

/* The varint at *p, before `end`, of at most 10 bytes; *p moves behind it. False: it does not end, or passes 64 bits; *p stays. */
static inline bool lb_avro_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    const uint8_t *at = *p;
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        const uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *p = at;
            *out = value;
            return true;
        }
    }
    return false;
}

static inline int64_t lb_avro_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* An int or long; most are one byte. */
static inline bool lb_avro_long(const uint8_t **p, const uint8_t *end, int64_t *out)
{
    uint64_t v;

    if (*p < end && **p < 0x80) {
        *out = lb_avro_unzigzag(*(*p)++);
        return true;
    }
    if (!lb_avro_varint(p, end, &v))
        return false;
    *out = lb_avro_unzigzag(v);
    return true;
}

/* Bytes or a string: *out and *size. False: no length, a negative one, or more than is left; *p may have moved. */
static inline bool lb_avro_bytes(const uint8_t **p, const uint8_t *end, const uint8_t **out, size_t *size)
{
    int64_t n;

    if (!lb_avro_long(p, end, &n) || n < 0 || (uint64_t)n > (uint64_t)(end - *p))
        return false;
    *out = *p;
    *size = (size_t)n;
    *p += n;
    return true;
}

/* The same on a cursor; a failure sticks. */
static inline int64_t lb_cursor_avro_long(lb_cursor *c)
{
    int64_t v = 0;

    if (c->bad || !lb_avro_long(&c->at, c->end, &v))
        c->bad = true;
    return v;
}

#endif
