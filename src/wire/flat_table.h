/* Flatbuffers read in place, with every position checked: the metadata of Arrow IPC. A general verifier is not used, since
 * one table may be referred to many times: a kilobyte can describe more tables than there are atoms, and a verifier visits each.
 * Whoever walks tables here caps their number.
 *
 * A table begins with the distance back to its vtable: u16 size of the vtable, u16 size of the table, then for each field where it stands
 * in the table, 0 where it is not set. Strings, vectors and tables in a field are distances forward. All is little-endian. */
#ifndef LB_WIRE_FLAT_TABLE_H
#define LB_WIRE_FLAT_TABLE_H

#include "base/str.h"

/* Positions count from the beginning; 0 is never a table's or a vector's position. */
typedef struct lb_flat {
    const uint8_t *at;
    uint64_t size;
    bool bad; /* sticky: something lies outside */
} lb_flat;

/* A number of `width` bytes, at most 8; 0 where it lies outside. */
static inline uint64_t lb_flat_read(lb_flat *f, uint64_t pos, unsigned width)
{
    uint64_t v = 0;
    if (f->bad || f->at == NULL || pos > f->size || f->size - pos < width) {
        f->bad = true;
        return 0;
    }
    memcpy(&v, f->at + pos, width);
    return v;
}

/* Where the distance stored at `pos` leads. */
static inline uint64_t lb_flat_follow(lb_flat *f, uint64_t pos)
{
    uint64_t ref = lb_flat_read(f, pos, 4);
    if (ref == 0 || ref > f->size)
        f->bad = true;
    return f->bad ? 0 : pos + ref;
}

/* Position of field `id` of a table; 0: not set. */
static inline uint64_t lb_flat_field(lb_flat *f, uint64_t table, unsigned id)
{
    int64_t vtable = (int64_t)table - (int32_t)(uint32_t)lb_flat_read(f, table, 4);
    if (f->bad || vtable < 0) {
        f->bad = true;
        return 0;
    }
    uint64_t size = lb_flat_read(f, (uint64_t)vtable, 2), slot = 4 + 2 * (uint64_t)id;
    if (f->bad || slot + 2 > size)
        return 0;
    uint64_t offset = lb_flat_read(f, (uint64_t)vtable + slot, 2);
    return offset == 0 ? 0 : table + offset;
}

/* A number; `unset` where the writer left it out, as it does with the schema's default. */
static inline uint64_t lb_flat_scalar_or(lb_flat *f, uint64_t table, unsigned id, unsigned width, uint64_t unset)
{
    uint64_t pos = lb_flat_field(f, table, id);
    return pos == 0 ? unset : lb_flat_read(f, pos, width);
}

static inline uint64_t lb_flat_scalar(lb_flat *f, uint64_t table, unsigned id, unsigned width)
{
    return lb_flat_scalar_or(f, table, id, width, 0);
}

/* Position of a table, string or vector; 0: not set. */
static inline uint64_t lb_flat_table(lb_flat *f, uint64_t table, unsigned id)
{
    uint64_t pos = lb_flat_field(f, table, id);
    return pos == 0 ? 0 : lb_flat_follow(f, pos);
}

/* Position of a vector's first item, and how many there are, of `width` bytes each; all lie inside. */
static inline uint64_t lb_flat_vector(lb_flat *f, uint64_t table, unsigned id, unsigned width, uint64_t *count)
{
    uint64_t pos = lb_flat_table(f, table, id);
    *count = 0;
    if (pos == 0)
        return 0;
    uint64_t n = lb_flat_read(f, pos, 4);
    if (f->bad || n > (f->size - pos - 4) / width) {
        f->bad = true;
        return 0;
    }
    *count = n;
    return pos + 4;
}

/* Lent; empty where it is not set. */
static inline lb_str lb_flat_string(lb_flat *f, uint64_t table, unsigned id)
{
    uint64_t n, pos = lb_flat_vector(f, table, id, 1, &n);
    return pos == 0 ? (lb_str){ "", 0 } : (lb_str){ (const char *)f->at + pos, (size_t)n };
}

/* The flatbuffer of an encapsulated Arrow message of at most `size` bytes; the marker 0xFFFFFFFF before its length came with
 * Arrow 0.15. */
static inline bool lb_flat_message(const uint8_t *at, uint64_t size, lb_flat *out)
{
    lb_flat head = { .at = at, .size = size };
    uint64_t prefix = lb_flat_read(&head, 0, 4) == UINT32_MAX ? 8 : 4;
    uint64_t length = lb_flat_read(&head, prefix - 4, 4);
    if (head.bad || length < 4 || length > size - prefix)
        return false;
    *out = (lb_flat){ .at = at + prefix, .size = length };
    return true;
}

#endif
