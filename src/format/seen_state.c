/* What a survey saw up to a block, and a torn end: kept as the entry's `open_state`, so that a file that grew is read
 * from there only, and that the torn end is known without reading.
 *
 *   u8 version  u64 row of the block, all ones: none  u8 torn
 *   [u64 row, line, byte of the torn end]  [node of the rows]
 *   node: u8 flags; u16 kinds seen, and for each its count and bounds; text bounds;
 *         u32 members, each: u32 size and bytes of the name, u64 first, node; the node of items
 *
 * Little-endian, as the map. Whatever does not read so is no state: the file is then surveyed whole. */
#include "format/seen.h"

#define STATE_VERSION 1

enum {
    STATE_MIXED = 1,
    STATE_MAP = 2,
    STATE_FALSE = 4,
    STATE_TRUE = 8,
    STATE_TEXT = 16,
    STATE_ITEMS = 32,
    STATE_NANS = 64, /* their number stands behind the floats' bounds */
    STATE_FINER = 128
};

#define STATE_PUT(out, value) LB_TRY(lb_buf_append(out, &(value), sizeof(value), err))

static lb_status state_put_bytes(lb_buf *out, const void *bytes, uint32_t size, lb_error *err)
{
    STATE_PUT(out, size);
    return lb_buf_append(out, bytes, size, err);
}

static lb_status state_put_values(const lb_seen *n, lb_buf *out, lb_error *err)
{
    for (unsigned k = 0; k < LB_SEEN_KINDS; k++)
        if (n->seen[k] != 0)
            STATE_PUT(out, n->seen[k]);
    if (n->seen[LB_SEEN_INT] != 0) {
        STATE_PUT(out, n->min_i);
        STATE_PUT(out, n->max_i);
    }
    if (n->seen[LB_SEEN_UINT] != 0) {
        STATE_PUT(out, n->min_u);
        STATE_PUT(out, n->max_u);
    }
    if (n->seen[LB_SEEN_FLOAT] != 0) {
        STATE_PUT(out, n->min_f);
        STATE_PUT(out, n->max_f);
    }
    if (n->nans != 0)
        STATE_PUT(out, n->nans);
    if (n->seen[LB_SEEN_STAMP] != 0) {
        STATE_PUT(out, n->min_s.seconds);
        STATE_PUT(out, n->min_s.nanos);
        STATE_PUT(out, n->max_s.seconds);
        STATE_PUT(out, n->max_s.nanos);
    }
    if (n->text == NULL || !n->text->any)
        return LB_OK;
    LB_TRY(state_put_bytes(out, n->text->min, n->text->min_size, err));
    return state_put_bytes(out, n->text->max, n->text->max_size, err);
}

static lb_status state_put_members(const lb_seen *n, lb_buf *out, lb_error *err)
{
    const uint32_t count = (uint32_t)n->keys.count;

    STATE_PUT(out, count);
    for (size_t i = 0; i < n->keys.count; i++) {
        const lb_str name = n->keys.items[i].name;
        if (name.size > UINT32_MAX)
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a key of more than 4 GiB");
        LB_TRY(state_put_bytes(out, name.at, (uint32_t)name.size, err));
        STATE_PUT(out, n->members[i].first);
        LB_TRY(lb_seen_put(n->members[i].node, out, err));
    }
    return LB_OK;
}

lb_status lb_seen_put(const lb_seen *n, lb_buf *out, lb_error *err)
{
    const bool text = n->text != NULL && n->text->any;
    const uint8_t flags =
        (uint8_t)((n->mixed ? STATE_MIXED : 0) | (n->map ? STATE_MAP : 0) | (n->has_false ? STATE_FALSE : 0) |
                  (n->has_true ? STATE_TRUE : 0) | (text ? STATE_TEXT : 0) | (n->items != NULL ? STATE_ITEMS : 0) |
                  (n->nans != 0 ? STATE_NANS : 0) | (n->finer ? STATE_FINER : 0));
    uint16_t kinds = 0;

    for (unsigned k = 0; k < LB_SEEN_KINDS; k++)
        kinds |= (uint16_t)((n->seen[k] != 0 ? 1u : 0u) << k);
    STATE_PUT(out, flags);
    STATE_PUT(out, kinds);
    LB_TRY(state_put_values(n, out, err));
    LB_TRY(state_put_members(n, out, err));
    return n->items == NULL ? LB_OK : lb_seen_put(n->items, out, err);
}

lb_status lb_seen_state_put(const lb_seen_state *state, lb_buf *out, lb_error *err)
{
    const uint8_t version = STATE_VERSION, torn = state->torn;

    out->size = 0;
    STATE_PUT(out, version);
    STATE_PUT(out, state->row);
    STATE_PUT(out, torn);
    if (state->torn) {
        STATE_PUT(out, state->torn_row);
        STATE_PUT(out, state->torn_line);
        STATE_PUT(out, state->torn_byte);
    }
    return state->rows == NULL ? LB_OK : lb_seen_put(state->rows, out, err);
}

/* ---------------------------------------------------------------- reading */

static void state_get(lb_cursor *c, void *out, size_t size)
{
    const uint8_t *p = lb_cursor_take(c, size);

    if (p != NULL)
        memcpy(out, p, size);
}

#define STATE_GET(c, member) state_get(c, &(member), sizeof(member))

/* A bound of text, at most one byte longer than is kept. */
static void state_get_bound(lb_cursor *c, lb_text_bounds *t)
{
    uint32_t size = lb_cursor_u32(c);
    const uint8_t *p = size > LB_STATS_TEXT_BYTES + 1 ? NULL : lb_cursor_take(c, size);

    if (p == NULL)
        c->bad = true;
    else
        lb_text_bounds_add(t, (const char *)p, size);
}

static lb_status state_get_values(lb_cursor *c, lb_arena *arena, lb_seen *n, uint8_t flags, uint16_t kinds,
                                  lb_error *err)
{
    const bool text = (flags & STATE_TEXT) != 0, nans = (flags & STATE_NANS) != 0;

    for (unsigned k = 0; k < LB_SEEN_KINDS; k++)
        if ((kinds >> k & 1) != 0)
            STATE_GET(c, n->seen[k]);
    if (n->seen[LB_SEEN_INT] != 0) {
        STATE_GET(c, n->min_i);
        STATE_GET(c, n->max_i);
    }
    if (n->seen[LB_SEEN_UINT] != 0) {
        STATE_GET(c, n->min_u);
        STATE_GET(c, n->max_u);
    }
    if (n->seen[LB_SEEN_FLOAT] != 0) {
        STATE_GET(c, n->min_f);
        STATE_GET(c, n->max_f);
    }
    if (nans)
        STATE_GET(c, n->nans);
    if (n->seen[LB_SEEN_STAMP] != 0) {
        STATE_GET(c, n->min_s.seconds);
        STATE_GET(c, n->min_s.nanos);
        STATE_GET(c, n->max_s.seconds);
        STATE_GET(c, n->max_s.nanos);
    }
    if (n->nans > n->seen[LB_SEEN_FLOAT] || n->min_s.nanos > 999999999 || n->max_s.nanos > 999999999)
        c->bad = true;
    if (!text)
        return LB_OK;
    n->text = lb_arena_alloc(arena, 1, sizeof *n->text);
    if (n->text == NULL)
        return lb_arena_fail(arena, err);
    state_get_bound(c, n->text);
    state_get_bound(c, n->text);
    return LB_OK;
}

static lb_status state_get_node(lb_cursor *c, lb_arena *arena, unsigned depth, lb_seen **out, lb_error *err);

static lb_status state_get_members(lb_cursor *c, lb_arena *arena, unsigned depth, lb_seen *n, lb_error *err)
{
    uint64_t count = lb_cursor_count(c, lb_cursor_u32(c), 19);

    for (uint64_t i = 0; i < count && !c->bad; i++) {
        const uint32_t size = lb_cursor_u32(c);
        const uint8_t *p = lb_cursor_take(c, size);
        const uint64_t first = lb_cursor_u64(c);
        const lb_str name = { (const char *)p, size };
        if (c->bad || lb_keys_of(&n->keys, name) != LB_NO_KEY) {
            c->bad = true;
            return LB_OK;
        }
        lb_seen_member *m = lb_seen_add_member(n, arena, name, first);
        if (m == NULL)
            return lb_arena_fail(arena, err);
        LB_TRY(state_get_node(c, arena, depth + 1, &m->node, err));
    }
    return LB_OK;
}

static lb_status state_get_node(lb_cursor *c, lb_arena *arena, unsigned depth, lb_seen **out, lb_error *err)
{
    uint16_t kinds = 0;
    lb_seen *n = depth == 0 ? lb_seen_rows(arena, false) : lb_seen_new(arena, false);

    *out = n;
    if (n == NULL)
        return lb_arena_fail(arena, err);
    if (depth > LB_SEEN_DEPTH + 1) {
        c->bad = true;
        return LB_OK;
    }
    const uint8_t flags = lb_cursor_u8(c);
    STATE_GET(c, kinds);
    n->mixed = (flags & STATE_MIXED) != 0;
    n->map = (flags & STATE_MAP) != 0;
    n->has_false = (flags & STATE_FALSE) != 0;
    n->has_true = (flags & STATE_TRUE) != 0;
    n->finer = (flags & STATE_FINER) != 0;
    LB_TRY(state_get_values(c, arena, n, flags, kinds, err));
    LB_TRY(state_get_members(c, arena, depth, n, err));
    if (c->bad || (flags & STATE_ITEMS) == 0)
        return LB_OK;
    return state_get_node(c, arena, depth + 1, &n->items, err);
}

lb_status lb_seen_get(lb_cursor *c, lb_arena *arena, lb_seen **out, lb_error *err)
{
    return state_get_node(c, arena, 0, out, err);
}

lb_status lb_seen_state_get(lb_str bytes, lb_arena *arena, bool nodes, lb_seen_state *out, bool *good, lb_error *err)
{
    lb_cursor c;

    *out = (lb_seen_state){ .row = UINT64_MAX };
    lb_cursor_init(&c, bytes.at, bytes.size, 0);
    *good = lb_cursor_u8(&c) == STATE_VERSION;
    if (!*good)
        return LB_OK;
    out->row = lb_cursor_u64(&c);
    out->torn = lb_cursor_u8(&c) != 0;
    if (out->torn) {
        out->torn_row = lb_cursor_u64(&c);
        out->torn_line = lb_cursor_u64(&c);
        out->torn_byte = lb_cursor_u64(&c);
    }
    if (nodes && out->row != UINT64_MAX)
        LB_TRY(lb_seen_get(&c, arena, &out->rows, err));
    *good = !c.bad;
    return LB_OK;
}
