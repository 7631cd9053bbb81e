#include "wire/msgpack_wire.h"

#include <string.h>

/* Big-endian, of 1, 2, 4 or 8 bytes. */
static inline uint64_t wire_number(const uint8_t *p, unsigned bytes)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (bytes) {
    case 1:
        return *p;
    case 2:
        memcpy(&two, p, sizeof two);
        return __builtin_bswap16(two);
    case 4:
        memcpy(&four, p, sizeof four);
        return __builtin_bswap32(four);
    default:
        memcpy(&eight, p, sizeof eight);
        return __builtin_bswap64(eight);
    }
}

/* ---------------------------------------------------------------- passing */

/* Of the bytes from 0xC0 to 0xDF: how many the head has; bytes of a length in it, and behind it (`more` with the length, else alone);
 * and how many tokens follow for each that the length counts. */
static const struct {
    uint8_t head, length, more, tokens;
} wire_heads[32] = {
    { 1, 0, 0, 0 }, { 0, 0, 0, 0 },                                 /* nil, never used */
    { 1, 0, 0, 0 }, { 1, 0, 0, 0 },                                 /* false, true */
    { 2, 1, 0, 0 }, { 3, 2, 0, 0 }, { 5, 4, 0, 0 },                 /* bin */
    { 3, 1, 0, 0 }, { 4, 2, 0, 0 }, { 6, 4, 0, 0 },                 /* ext: the type stands behind the length */
    { 1, 0, 4, 0 }, { 1, 0, 8, 0 },                                 /* float */
    { 1, 0, 1, 0 }, { 1, 0, 2, 0 }, { 1, 0, 4, 0 }, { 1, 0, 8, 0 }, /* uint */
    { 1, 0, 1, 0 }, { 1, 0, 2, 0 }, { 1, 0, 4, 0 }, { 1, 0, 8, 0 }, /* int */
    { 2, 0, 1, 0 }, { 2, 0, 2, 0 }, { 2, 0, 4, 0 }, { 2, 0, 8, 0 }, { 2, 0, 16, 0 }, /* fixext */
    { 2, 1, 0, 0 }, { 3, 2, 0, 0 }, { 5, 4, 0, 0 },                                  /* str */
    { 3, 2, 0, 1 }, { 5, 4, 0, 1 },                                                  /* array */
    { 3, 2, 0, 2 }, { 5, 4, 0, 2 },                                                  /* map */
};

/* A token of 0xC0 to 0xDF: *size of its bytes, and how many tokens it brings. 0 bytes: it is none. False: they are not all there. */
static inline bool wire_long(const uint8_t *p, const uint8_t *end, uint64_t *size, uint64_t *tokens)
{
    const unsigned i = *p - 0xC0u, head = wire_heads[i].head, length = wire_heads[i].length;
    const size_t left = (size_t)(end - p);

    *size = head;
    *tokens = 0;
    if (left < head)
        return false;
    *size += wire_heads[i].more;
    if (length != 0) {
        const uint64_t n = wire_number(p + 1, length);
        if (wire_heads[i].tokens == 0)
            *size += n;
        else
            *tokens = n * wire_heads[i].tokens;
    }
    return *size <= left;
}

lb_msgpack_step lb_msgpack_pass(lb_msgpack_skip *s, const uint8_t *end, uint64_t count, uint64_t *done,
                                const uint8_t **start)
{
    const uint8_t *p = s->at;
    uint64_t pending = s->pending, n = 0;
    lb_msgpack_step step = LB_MSGPACK_DONE;

    while (n < count) {
        if (pending == 0) {
            if (p == end)
                break;
            *start = p;
            pending = 1;
        }
        while (pending != 0 && p < end) {
            const uint8_t byte = *p;
            if (byte < 0x80 || byte >= 0xE0) { /* a small number */
                p++;
                pending--;
            } else if (byte >= 0xA0 && byte < 0xC0) { /* a short text */
                const size_t size = (byte & 0x1Fu) + 1u;
                if (size > (size_t)(end - p))
                    break;
                p += size;
                pending--;
            } else if (byte < 0xA0) { /* a small map or array */
                pending += byte < 0x90 ? 2u * (byte & 0x0Fu) : byte & 0x0Fu;
                pending--;
                p++;
            } else {
                uint64_t size, tokens;
                if (!wire_long(p, end, &size, &tokens))
                    break;
                if (size == 0) {
                    step = LB_MSGPACK_BAD;
                    break;
                }
                pending += tokens - 1;
                p += size;
            }
        }
        if (pending != 0)
            break;
        n++;
    }
    if (n < count && step == LB_MSGPACK_DONE)
        step = LB_MSGPACK_MORE;
    s->at = p;
    s->pending = pending;
    *done = n;
    return step;
}

/* ---------------------------------------------------------------- tokens */

static void wire_unsigned(lb_msgpack_token *t, uint64_t v)
{
    t->kind = v > (uint64_t)INT64_MAX ? LB_MSGPACK_UINT : LB_MSGPACK_INT;
    t->i = (int64_t)v;
    t->u = v;
}

/* nil, booleans and numbers: kinds, and bytes in all. */
static const struct {
    uint8_t size, kind;
} wire_plain[32] = {
    [0x00] = { 1, LB_MSGPACK_NIL },   [0x02] = { 1, LB_MSGPACK_BOOL },  [0x03] = { 1, LB_MSGPACK_BOOL },
    [0x0A] = { 5, LB_MSGPACK_FLOAT }, [0x0B] = { 9, LB_MSGPACK_FLOAT }, [0x0C] = { 2, LB_MSGPACK_INT },
    [0x0D] = { 3, LB_MSGPACK_INT },   [0x0E] = { 5, LB_MSGPACK_INT },   [0x0F] = { 9, LB_MSGPACK_INT },
    [0x10] = { 2, LB_MSGPACK_INT },   [0x11] = { 3, LB_MSGPACK_INT },   [0x12] = { 5, LB_MSGPACK_INT },
    [0x13] = { 9, LB_MSGPACK_INT },
};

static void wire_value(const uint8_t *p, lb_msgpack_token *t)
{
    uint64_t bits;
    float single;

    switch (*p) {
    case 0xC2:
    case 0xC3:
        t->i = *p & 1;
        break;
    case 0xCA:
        memcpy(&single, &(uint32_t){ (uint32_t)wire_number(p + 1, 4) }, sizeof single);
        t->f = (double)single;
        break;
    case 0xCB:
        bits = wire_number(p + 1, 8);
        memcpy(&t->f, &bits, sizeof t->f);
        break;
    case 0xCC:
        t->i = p[1];
        break;
    case 0xCD:
        t->i = (int64_t)wire_number(p + 1, 2);
        break;
    case 0xCE:
        t->i = (int64_t)wire_number(p + 1, 4);
        break;
    case 0xCF:
        wire_unsigned(t, wire_number(p + 1, 8));
        break;
    case 0xD0:
        t->i = (int8_t)p[1];
        break;
    case 0xD1:
        t->i = (int16_t)wire_number(p + 1, 2);
        break;
    case 0xD2:
        t->i = (int32_t)wire_number(p + 1, 4);
        break;
    case 0xD3:
        t->i = (int64_t)wire_number(p + 1, 8);
        break;
    default:
        break;
    }
}

/* A text, binary, extension, array or map. False: its head is not all there, or it is none. */
static __attribute__((noinline)) bool wire_sized(const uint8_t **at, const uint8_t *end, lb_msgpack_token *t)
{
    const uint8_t *p = *at;
    const unsigned i = *p - 0xC0u;
    uint64_t size, tokens;

    if (!wire_long(p, end, &size, &tokens) || size == 0)
        return false;
    t->n = wire_heads[i].length == 0 ? wire_heads[i].more : wire_number(p + 1, wire_heads[i].length);
    t->data = p + wire_heads[i].head;
    if (i <= 6) {
        t->kind = LB_MSGPACK_BIN;
    } else if (i <= 9 || (i >= 20 && i <= 24)) {
        t->kind = LB_MSGPACK_EXT;
        t->i = (int8_t)p[wire_heads[i].head - 1];
    } else if (i <= 27) {
        t->kind = LB_MSGPACK_STR;
    } else {
        t->kind = i <= 29 ? LB_MSGPACK_ARRAY : LB_MSGPACK_MAP;
    }
    *at = p + size;
    return true;
}

bool lb_msgpack_next_long(const uint8_t **at, const uint8_t *end, lb_msgpack_token *out)
{
    const uint8_t *p = *at;
    const size_t size = wire_plain[*p - 0xC0u].size;

    if (size == 0)
        return wire_sized(at, end, out);
    if (size > (size_t)(end - p))
        return false;
    out->kind = (lb_msgpack_kind)wire_plain[*p - 0xC0u].kind;
    wire_value(p, out);
    *at = p + size;
    return true;
}
