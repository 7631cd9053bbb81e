/* A block is its size as a varint, then elements: the lowest two bits of an element's first byte say what it is.
 *
 *     0  literal   length - 1 in the upper six bits; 60 … 63: in the next 1 … 4 bytes
 *     1  copy      3 bits of length - 4, 11 bits of offset: the upper three in the first byte, one byte more
 *     2  copy      6 bits of length - 1, two bytes of offset
 *     3  copy      6 bits of length - 1, four bytes of offset */
#include "codec/snappy.h"

#include <string.h>

/* A copy is at most 64 bytes long; it and short literals are moved 16 bytes at a time, where so much room is left. */
#define SNAPPY_WIDE 16
#define SNAPPY_ROOM (64 + 2 * SNAPPY_WIDE)

/* An element takes at most so many bytes of input, a long literal's own bytes not counted. */
#define SNAPPY_ELEMENT 5

/* The claim is refused before room is made for it: three bytes of input make at most 64 of output. */
bool lb_snappy_size(const void *bytes, size_t size, size_t *out_size)
{
    const uint8_t *in = bytes;
    uint64_t v = 0;

    for (unsigned i = 0; i < 5 && i < size; i++) {
        v |= (uint64_t)(in[i] & 0x7F) << (7 * i);
        if (in[i] < 0x80) {
            *out_size = (size_t)v;
            return v <= UINT32_MAX && v / 64 <= size;
        }
    }
    return false;
}

bool lb_snappy_begin(lb_snappy *s, const void *bytes, size_t size, void *out, size_t out_size)
{
    size_t claimed, head = 1;
    const uint8_t *in = bytes;

    if (!lb_snappy_size(bytes, size, &claimed) || claimed != out_size)
        return false;
    while (in[head - 1] >= 0x80)
        head++;
    *s = (lb_snappy){ in + head, in + size, out, out, (uint8_t *)out + out_size };
    return true;
}

static inline void snappy_move(uint8_t *to, const uint8_t *from)
{
    uint64_t v[2];

    memcpy(v, from, sizeof v);
    memcpy(to, v, sizeof v);
}

static inline uint32_t snappy_load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* `length` <= 64 bytes from `offset` before `at`; SNAPPY_ROOM bytes may be written. A run repeats itself: each move doubles what
 * there is of it, until the next may be a wide one. */
static inline void snappy_copy_wide(uint8_t *at, size_t offset, size_t length)
{
    const uint8_t *from = at - offset, *end = at + length;

    while (at - from < SNAPPY_WIDE) {
        snappy_move(at, from);
        at += at - from;
        if (at >= end)
            return;
    }
    do {
        snappy_move(at, from);
        at += SNAPPY_WIDE;
        from += SNAPPY_WIDE;
    } while (at < end);
}

/* Behind the first byte, `tag`, of a literal. */
static bool snappy_literal(lb_snappy *s, unsigned tag)
{
    size_t length = tag >> 2;

    if (length >= 60) {
        const size_t bytes = length - 59;
        if (bytes > (size_t)(s->in_end - s->in))
            return false;
        length = 0;
        for (size_t i = 0; i < bytes; i++)
            length |= (size_t)s->in[i] << (8 * i);
        s->in += bytes;
    }
    length++;
    if (length > (size_t)(s->in_end - s->in) || length > (size_t)(s->out_end - s->at))
        return false;
    memcpy(s->at, s->in, length);
    s->in += length;
    s->at += length;
    return true;
}

/* One element wherever it stands. */
static bool snappy_element(lb_snappy *s)
{
    uint8_t rest[SNAPPY_ELEMENT] = { 0 };
    const unsigned tag = *s->in++;
    const size_t sizes[] = { 0, 1, 2, 4 }, size = sizes[tag & 3];
    size_t length = (tag >> 2) + 1, offset;

    if ((tag & 3) == 0)
        return snappy_literal(s, tag);
    if (size > (size_t)(s->in_end - s->in))
        return false;
    memcpy(rest, s->in, size);
    s->in += size;
    offset = snappy_load32(rest);
    if ((tag & 3) == 1) {
        length = (tag >> 2 & 7) + 4;
        offset |= (size_t)(tag >> 5) << 8;
    }
    if (offset == 0 || offset > (size_t)(s->at - s->out) || length > (size_t)(s->out_end - s->at))
        return false;
    for (; length != 0; length--, s->at++)
        *s->at = s->at[-(ptrdiff_t)offset];
    return true;
}

/* Elements as long as there is so much room that nothing but offsets has to be checked, and output is wanted up to `stop`. What
 * does not fit is left to the caller. */
static bool snappy_quick(lb_snappy *s, const uint8_t *stop)
{
    const uint8_t *in = s->in;
    uint8_t *at = s->at;
    bool good = true;

    while (at < stop && s->in_end - in >= SNAPPY_ELEMENT + SNAPPY_WIDE && s->out_end - at >= SNAPPY_ROOM) {
        const unsigned tag = *in;
        if ((tag & 3) == 0) {
            const size_t length = (tag >> 2) + 1;
            if (length > SNAPPY_WIDE) {
                s->in = in + 1;
                s->at = at;
                if (!snappy_literal(s, tag))
                    return false;
                in = s->in;
                at = s->at;
                continue;
            }
            snappy_move(at, in + 1);
            in += 1 + length;
            at += length;
            continue;
        }
        const uint32_t next = snappy_load32(in + 1);
        size_t length = (tag >> 2) + 1, offset = next & 0xFFFF, size = 3;
        if ((tag & 3) == 1) {
            length = (tag >> 2 & 7) + 4;
            offset = (next & 0xFF) | (size_t)(tag >> 5) << 8;
            size = 2;
        } else if ((tag & 3) == 3) {
            offset = next;
            size = 5;
        }
        good = offset != 0 && offset <= (size_t)(at - s->out);
        if (!good)
            break;
        snappy_copy_wide(at, offset, length);
        in += size;
        at += length;
    }
    s->in = in;
    s->at = at;
    return good;
}

bool lb_snappy_run(lb_snappy *s, size_t least)
{
    const uint8_t *stop = s->out + least;

    while (s->at < stop) {
        if (!snappy_quick(s, stop))
            return false;
        if (s->at < stop && (s->in == s->in_end || !snappy_element(s)))
            return false;
    }
    return s->at < s->out_end || s->in == s->in_end;
}
