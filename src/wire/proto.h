/* Reading Protocol Buffers messages field by field, without copies: bounds are checked, a failed read sticks, and what is
 * not known is passed over. For hot paths and hostile input; what is written goes through protobuf-c. */
#ifndef LB_WIRE_PROTO_H
#define LB_WIRE_PROTO_H

#include "base/str.h"

typedef struct lb_proto {
    const uint8_t *at, *end;
    bool bad; /* sticky */
} lb_proto;

typedef enum lb_proto_wire {
    LB_PROTO_VARINT = 0,
    LB_PROTO_FIXED64 = 1,
    LB_PROTO_BYTES = 2,
    LB_PROTO_FIXED32 = 5,
} lb_proto_wire;

typedef struct lb_proto_field {
    uint32_t number;
    lb_proto_wire wire;
    uint64_t value; /* of the three that are numbers */
    lb_str bytes;   /* lent */
} lb_proto_field;

static inline lb_proto lb_proto_of(lb_str bytes)
{
    static const uint8_t nothing[1];
    const uint8_t *p = bytes.size == 0 ? nothing : (const uint8_t *)bytes.at;

    return (lb_proto){ .at = p, .end = p + bytes.size };
}

/* A number of up to 64 bits; 0 and bad where it is cut or longer. */
static inline uint64_t lb_proto_varint(lb_proto *m)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        const uint8_t b = *m->at++;
        v |= (uint64_t)(b & 0x7F) << shift;
        if ((b & 0x80) == 0)
            return v;
    }
    m->bad = true;
    return 0;
}

static inline int64_t lb_proto_zigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline uint64_t lb_proto_fixed(lb_proto *m, size_t size)
{
    uint64_t v = 0;

    if ((size_t)(m->end - m->at) < size) {
        m->bad = true;
        return 0;
    }
    memcpy(&v, m->at, size); /* little-endian */
    m->at += size;
    return v;
}

/* The next field; false at the end and when something is wrong. Groups are not known. */
static inline bool lb_proto_next(lb_proto *m, lb_proto_field *f)
{
    if (m->bad || m->at == m->end)
        return false;
    const uint64_t key = lb_proto_varint(m);
    *f = (lb_proto_field){ .number = (uint32_t)(key >> 3), .wire = (lb_proto_wire)(key & 7) };
    if (m->bad || f->number == 0 || key >> 3 > UINT32_MAX) {
        m->bad = true;
        return false;
    }
    if (f->wire == LB_PROTO_VARINT) {
        f->value = lb_proto_varint(m);
    } else if (f->wire == LB_PROTO_FIXED64) {
        f->value = lb_proto_fixed(m, 8);
    } else if (f->wire == LB_PROTO_FIXED32) {
        f->value = lb_proto_fixed(m, 4);
    } else if (f->wire == LB_PROTO_BYTES) {
        const uint64_t size = lb_proto_varint(m);
        if (size > (uint64_t)(m->end - m->at))
            m->bad = true;
        else
            f->bytes = (lb_str){ (const char *)m->at, (size_t)size };
        m->at += m->bad ? 0 : size;
    } else {
        m->bad = true;
    }
    return !m->bad;
}

/* One number of a repeated field that may be packed: walk the field's bytes, or take its one value. */
typedef struct lb_proto_packed {
    lb_proto inner;
    uint64_t one;
    bool single;
} lb_proto_packed;

static inline lb_proto_packed lb_proto_unpack(const lb_proto_field *f)
{
    return (lb_proto_packed){ .inner = lb_proto_of(f->bytes), .one = f->value, .single = f->wire != LB_PROTO_BYTES };
}

static inline bool lb_proto_packed_next(lb_proto_packed *p, uint64_t *out)
{
    if (p->single) {
        p->single = false;
        *out = p->one;
        return true;
    }
    if (p->inner.bad || p->inner.at == p->inner.end)
        return false;
    *out = lb_proto_varint(&p->inner);
    return !p->inner.bad;
}

#endif
