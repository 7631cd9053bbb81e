/* MessagePack (github.com/msgpack/msgpack, spec.md): tokens, and objects passed over without a look at what they hold. */
#ifndef LB_WIRE_MSGPACK_WIRE_H
#define LB_WIRE_MSGPACK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lb_msgpack_kind {
    LB_MSGPACK_NIL,
    LB_MSGPACK_BOOL,
    LB_MSGPACK_INT,   /* within int64: value in i */
    LB_MSGPACK_UINT,  /* beyond int64: value in u */
    LB_MSGPACK_FLOAT, /* 32 or 64 bits: value in f */
    LB_MSGPACK_STR,
    LB_MSGPACK_BIN,
    LB_MSGPACK_EXT, /* its type in i */
    LB_MSGPACK_ARRAY,
    LB_MSGPACK_MAP
} lb_msgpack_kind;

typedef struct lb_msgpack_token {
    lb_msgpack_kind kind;
    int64_t i; /* BOOL: 0 or 1 */
    uint64_t u;
    double f;
    uint64_t n;          /* STR, BIN, EXT: bytes; ARRAY: items; MAP: pairs */
    const uint8_t *data; /* STR, BIN, EXT: the bytes, which are there */
} lb_msgpack_token;

/* As below, of a token whose first byte is of 0xC0 to 0xDF. */
bool lb_msgpack_next_long(const uint8_t **p, const uint8_t *end, lb_msgpack_token *out);

/* The token at *p, before `end`; *p moves behind it: of an array or a map behind the head, before the first item. False: it is
 * none (0xC1), or the bytes end inside it; *p stays. */
static inline bool lb_msgpack_next(const uint8_t **p, const uint8_t *end, lb_msgpack_token *out)
{
    const uint8_t *at = *p;

    if (at >= end)
        return false;
    const uint8_t byte = *at;
    if (byte < 0x80 || byte >= 0xE0) {
        out->kind = LB_MSGPACK_INT;
        out->i = (int8_t)byte;
        *p = at + 1;
        return true;
    }
    if (byte >= 0xC0)
        return lb_msgpack_next_long(p, end, out);
    out->data = at + 1;
    if (byte < 0xA0) {
        out->kind = byte < 0x90 ? LB_MSGPACK_MAP : LB_MSGPACK_ARRAY;
        out->n = byte & 0x0Fu;
        *p = at + 1;
        return true;
    }
    out->kind = LB_MSGPACK_STR;
    out->n = byte & 0x1Fu;
    if (out->n >= (uint64_t)(end - at))
        return false;
    *p = at + 1 + out->n;
    return true;
}

typedef enum lb_msgpack_step {
    LB_MSGPACK_DONE,
    LB_MSGPACK_MORE, /* the bytes end inside an object */
    LB_MSGPACK_BAD   /* a byte that begins no token stands at `at` */
} lb_msgpack_step;

/* Passes objects over, also in pieces. */
typedef struct lb_msgpack_skip {
    const uint8_t *at; /* next token */
    uint64_t pending;  /* tokens that the open object still has, at least; every one takes a byte */
} lb_msgpack_skip;

/* Pass up to `count` objects from s->at on, the first one of which may be open (s->pending); *done of them. MORE: s->at is the
 * token that the bytes do not hold, and, where s->pending, *start the object that it is of; both may be moved together with the
 * bytes, and the call made again. Depth costs nothing. */
lb_msgpack_step lb_msgpack_pass(lb_msgpack_skip *s, const uint8_t *end, uint64_t count, uint64_t *done,
                                const uint8_t **start);

#endif
