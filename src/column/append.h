/* Columns that grow value by value: a tree in the shape of an Arrow schema, for readers that meet values row by row (Avro,
 * MessagePack). A value goes in by one call, a nested one from the inside: first its items or fields, then itself. */
#ifndef LB_COLUMN_APPEND_H
#define LB_COLUMN_APPEND_H

#include "column/types.h"

/* What the columns of a batch share. */
typedef struct lb_append {
    lb_budget *budget;
    uint64_t taken;    /* bytes that the budget counts for the batch */
    uint64_t bytes;    /* of the values in it */
    uint64_t had_rows; /* of the batch before */
    lb_status status;  /* the first failure: BUDGET, NOMEM, UNSUPPORTED (more than a column of one batch holds) */
    lb_error *err;
} lb_append;

typedef enum lb_growing_kind {
    LB_GROWING_NULL,
    LB_GROWING_BOOL,
    LB_GROWING_FIXED, /* numbers, times, decimals, intervals, fixed-size binary */
    LB_GROWING_BYTES, /* string, binary */
    LB_GROWING_STRUCT,
    LB_GROWING_LIST,
    LB_GROWING_MAP,  /* children: keys and values */
    LB_GROWING_UNION /* dense; type ids from 0 */
} lb_growing_kind;

typedef struct lb_growing lb_growing;

struct lb_growing {
    lb_growing_kind kind;
    uint32_t width; /* FIXED: bytes of a value */
    int64_t length, nulls;
    struct ArrowBuffer valid; /* a byte for each value; empty as long as there are no nulls */
    struct ArrowBuffer
        ends; /* BYTES, LIST, MAP: int32 ends of values, without the 0 before; UNION: places in children */
    struct ArrowBuffer data; /* BOOL: a byte for each value; UNION: type ids */
    int64_t had;             /* FIXED, BYTES: bytes of data in the batch before */
    size_t n_children;
    lb_growing *children;
};

/* Columns for a schema, in the arena; nested at most as deep as types may. Errors: UNSUPPORTED: a type that does not grow
 * (dictionaries, views, large and sparse ones); NOMEM, BUDGET. */
lb_status lb_growing_make(const struct ArrowSchema *schema, lb_arena *arena, lb_growing **out, lb_error *err);

/* Forget all values; the budget gets back what was taken for them. NULL is fine. */
void lb_growing_reset(lb_append *a, lb_growing *g);

/* About `rows` rows come: make room for as much as they had in the batch before, as far as the budget has it. */
void lb_growing_expect(lb_append *a, lb_growing *g, uint64_t rows);

/* The values as an array of `schema`, of which the columns were made; they are empty afterwards, also on error. Some memory stays for the
 * next batch, until lb_growing_reset. Errors: NOMEM, CORRUPT (columns of a struct that differ in length). */
lb_status lb_growing_finish(lb_append *a, lb_growing *g, const struct ArrowSchema *schema, struct ArrowArray *out,
                            lb_error *err);

/* Keep the first `length` values only. */
void lb_growing_truncate(lb_growing *g, int64_t length);

bool lb_growing_null(lb_append *a, lb_growing *g);

/* ---- private to the calls below */

bool lb_append_grow(lb_append *a, struct ArrowBuffer *buffer, int64_t more);
bool lb_append_first_null(lb_append *a, lb_growing *g);
bool lb_append_too_long(lb_append *a);

static inline bool lb_append_room(lb_append *a, struct ArrowBuffer *buffer, int64_t more)
{
    a->bytes += (uint64_t)more;
    return buffer->capacity_bytes - buffer->size_bytes >= more || lb_append_grow(a, buffer, more);
}

/* The value that was just put is there, and none of the nulls. */
static inline bool lb_append_valid(lb_append *a, lb_growing *g)
{
    g->length++;
    if (g->nulls == 0)
        return true;
    if (!lb_append_room(a, &g->valid, 1))
        return false;
    g->valid.data[g->valid.size_bytes++] = 1;
    return true;
}

static inline bool lb_append_end(lb_append *a, lb_growing *g, int64_t end)
{
    const int32_t at = (int32_t)end;

    if (end > INT32_MAX)
        return lb_append_too_long(a);
    if (!lb_append_room(a, &g->ends, 4))
        return false;
    memcpy(g->ends.data + g->ends.size_bytes, &at, 4);
    g->ends.size_bytes += 4;
    return true;
}

/* ---- values. False: see a->status */

/* FIXED, of `size` bytes, which is g->width: a constant where the caller knows it. */
static inline bool lb_growing_fixed(lb_append *a, lb_growing *g, const void *value, size_t size)
{
    if (!lb_append_room(a, &g->data, (int64_t)size))
        return false;
    memcpy(g->data.data + g->data.size_bytes, value, size);
    g->data.size_bytes += (int64_t)size;
    return lb_append_valid(a, g);
}

static inline bool lb_growing_bool(lb_append *a, lb_growing *g, bool value)
{
    if (!lb_append_room(a, &g->data, 1))
        return false;
    g->data.data[g->data.size_bytes++] = value;
    return lb_append_valid(a, g);
}

static inline bool lb_growing_bytes(lb_append *a, lb_growing *g, const void *p, size_t size)
{
    if (size > (size_t)INT32_MAX)
        return lb_append_too_long(a);
    if (!lb_append_room(a, &g->data, (int64_t)size))
        return false;
    if (size != 0)
        memcpy(g->data.data + g->data.size_bytes, p, size);
    g->data.size_bytes += (int64_t)size;
    return lb_append_end(a, g, g->data.size_bytes) && lb_append_valid(a, g);
}

/* LIST or MAP: the items that came since the value before are this one's. */
static inline bool lb_growing_items(lb_append *a, lb_growing *g)
{
    return lb_append_end(a, g, g->children[0].length) && lb_append_valid(a, g);
}

/* STRUCT: a value came in each field. */
static inline bool lb_growing_struct(lb_append *a, lb_growing *g)
{
    return lb_append_valid(a, g);
}

/* UNION: the next value of child `branch` is this one's. */
static inline bool lb_growing_branch(lb_append *a, lb_growing *g, size_t branch)
{
    if (!lb_append_end(a, g, g->children[branch].length) || !lb_append_room(a, &g->data, 1))
        return false;
    g->data.data[g->data.size_bytes++] = (uint8_t)branch;
    g->length++;
    return true;
}

#endif
