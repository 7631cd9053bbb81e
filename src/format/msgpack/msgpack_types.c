/* Values taken in: each goes to what its place has seen (format/seen.h). */
#include "format/msgpack/msgpack.h"

static bool take_fails(mp_taker *t, lb_status status)
{
    if (status != LB_OK)
        t->status = status;
    return status != LB_OK;
}

static bool take_value(mp_taker *t, lb_seen *n, mp_cursor *c, unsigned depth);

void mp_taker_init(mp_taker *t, lb_arena *arena, lb_budget *budget, bool text, bool careful)
{
    *t = (mp_taker){ .arena = arena, .text = text, .careful = careful };
    lb_buf_init(&t->replaced, budget);
    lb_buf_init(&t->list, budget);
    lb_buf_init(&t->key, budget);
}

void mp_taker_free(mp_taker *t)
{
    lb_buf_free(&t->replaced);
    lb_buf_free(&t->list);
    lb_buf_free(&t->key);
}

/* ---------------------------------------------------------------- plain values */

/* Bytes, of text or not; the window has padding behind them. */
static bool take_bytes(mp_taker *t, lb_seen *n, const lb_msgpack_token *v, lb_seen_kind kind)
{
    const lb_str bytes = mp_bytes(v);

    lb_seen_see(n, kind);
    if (!n->bounds || n->mixed)
        return true;
    if (n->text == NULL && take_fails(t, lb_seen_keep_text(n, t->arena, t->err)))
        return false;
    if (!lb_text_bounds_hold(n->text, lb_text_prefix(bytes.at, bytes.size), bytes.size))
        lb_text_bounds_add_padded(n->text, bytes.at, bytes.size);
    return true;
}

static void take_extension(lb_seen *n, const lb_msgpack_token *v)
{
    lb_stamp stamp;

    if (mp_stamp(v, &stamp))
        lb_seen_stamp(n, stamp);
    else
        lb_seen_see(n, LB_SEEN_EXTENSION);
}

/* ---------------------------------------------------------------- nested ones */

static bool take_array(mp_taker *t, lb_seen *n, mp_cursor *c, uint64_t count, unsigned depth)
{
    if (take_fails(t, lb_seen_items(n, t->arena, t->err)))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!take_value(t, n->items, c, depth + 1))
            return false;
    return true;
}

/* Which pairs count, the cursor being at the first of them: see mp_is_replaced. */
static bool take_replaced(mp_taker *t, mp_cursor c, uint64_t count, size_t *from)
{
    const size_t size = t->replaced.size;
    bool any;

    *from = SIZE_MAX;
    if (count < 2)
        return true;
    if (!mp_find_replaced(c, count, &t->list, &t->key, &t->replaced, &any, &t->status, t->err))
        return false;
    if (any)
        *from = size;
    else
        t->replaced.size = size;
    return true;
}

/* Keys are data: what they are called does not matter. */
static bool take_map(mp_taker *t, lb_seen *n, mp_cursor *c, uint64_t count, unsigned depth)
{
    const size_t size = t->replaced.size;
    size_t from;

    if (take_fails(t, lb_seen_items(n, t->arena, t->err)) || !take_replaced(t, *c, count, &from))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!mp_pass(c, 1))
            return false;
        if (!(mp_is_replaced(&t->replaced, from, i) ? mp_pass(c, 1) : take_value(t, n->items, c, depth + 1)))
            return false;
    }
    t->replaced.size = size;
    return true;
}

static lb_seen_member *take_new_member(mp_taker *t, lb_seen *n, uint64_t k, lb_str name, const uint8_t *at)
{
    const uint64_t offset = t->base_offset + (uint64_t)(at - t->base);

    lb_seen_member *made = lb_seen_add_member(n, t->arena, name, offset);
    if (made == NULL) {
        (void)take_fails(t, lb_arena_fail(t->arena, t->err));
        return NULL;
    }
    lb_keys_hint(&n->keys, t->arena, (size_t)k, n->keys.count - 1);
    return made;
}

/* The member that the key at the cursor names; NULL: t->status says why. */
static lb_seen_member *take_member(mp_taker *t, lb_seen *n, uint64_t k, mp_cursor *c)
{
    const uint8_t *at = c->at;
    size_t number = mp_hinted_key(&n->keys, k, c);
    lb_str name;

    if (number != LB_NO_KEY)
        return &n->members[number];
    if (!mp_key(c, &t->key, &name, &t->status, t->err))
        return NULL;
    number = lb_keys_find(&n->keys, (size_t)k, name);
    if (number == LB_NO_KEY)
        return take_new_member(t, n, k, name, at);
    lb_keys_hint(&n->keys, t->arena, (size_t)k, number);
    return &n->members[number];
}

/* What becomes a map on the way: its pairs before `k` are in. */
static bool take_rest_of_map(mp_taker *t, lb_seen *n, mp_cursor *c, const uint8_t *begin, uint64_t k, uint64_t count,
                             size_t from, unsigned depth)
{
    if (!t->careful && !take_replaced(t, (mp_cursor){ begin, c->end }, count, &from))
        return false;
    if (!t->careful && from != SIZE_MAX) {
        t->equal_keys = true;
        return false;
    }
    for (; k < count; k++) {
        if (!mp_pass(c, 1))
            return false;
        if (!(mp_is_replaced(&t->replaced, from, k) ? mp_pass(c, 1) : take_value(t, n->items, c, depth + 1)))
            return false;
    }
    return true;
}

static bool take_as_text(mp_taker *t, lb_seen *n, mp_cursor *c);

static bool take_struct(mp_taker *t, lb_seen *n, mp_cursor *c, uint64_t count, unsigned depth)
{
    const uint64_t object = ++t->object;
    const size_t size = t->replaced.size;
    const uint8_t *begin = c->at; /* not the cursor: to copy what was just written to in part stalls */
    size_t from = SIZE_MAX;

    if (t->careful && !take_replaced(t, *c, count, &from))
        return false;
    for (uint64_t k = 0; k < count; k++) {
        lb_seen_member *m = take_member(t, n, k, c);
        if (m == NULL)
            return false;
        if (m->stamp == object && !t->careful) {
            t->equal_keys = true;
            return false;
        }
        m->stamp = object;
        if (mp_is_replaced(&t->replaced, from, k)) {
            if (!mp_pass(c, 1))
                return false;
            continue;
        }
        if (!(t->text ? take_as_text(t, m->node, c) : take_value(t, m->node, c, depth + 1)))
            return false;
        if (n->keys.count > n->most_keys)
            return !take_fails(t, lb_seen_become_map(n, t->arena, t->err)) &&
                   take_rest_of_map(t, n, c, begin, k + 1, count, from, depth);
    }
    t->replaced.size = size;
    return true;
}

static bool take_nested(mp_taker *t, lb_seen *n, mp_cursor *c, const lb_msgpack_token *v, unsigned depth)
{
    const bool map = v->kind == LB_MSGPACK_MAP;

    lb_seen_see(n, map ? LB_SEEN_OBJECT : LB_SEEN_ARRAY);
    if (depth >= LB_SEEN_DEPTH && !n->mixed)
        lb_seen_mix(n);
    if (n->mixed)
        return mp_pass(c, map ? 2 * v->n : v->n);
    if (!map)
        return take_array(t, n, c, v->n, depth);
    return n->map ? take_map(t, n, c, v->n, depth) : take_struct(t, n, c, v->n, depth);
}

/* ---------------------------------------------------------------- any value */

static bool take_value(mp_taker *t, lb_seen *n, mp_cursor *c, unsigned depth)
{
    lb_msgpack_token v;

    if (!mp_next(c, &v))
        return false;
    switch (v.kind) {
    case LB_MSGPACK_NIL:
        return true;
    case LB_MSGPACK_BOOL:
        lb_seen_see(n, LB_SEEN_BOOL);
        n->has_true |= v.i != 0;
        n->has_false |= v.i == 0;
        return true;
    case LB_MSGPACK_INT:
        lb_seen_int(n, v.i);
        return true;
    case LB_MSGPACK_UINT:
        lb_seen_uint(n, v.u);
        return true;
    case LB_MSGPACK_FLOAT:
        lb_seen_float(n, v.f);
        return true;
    case LB_MSGPACK_STR:
        return take_bytes(t, n, &v, mp_is_text(&v) ? LB_SEEN_TEXT : LB_SEEN_BINARY);
    case LB_MSGPACK_BIN:
        return take_bytes(t, n, &v, LB_SEEN_BINARY);
    case LB_MSGPACK_EXT:
        take_extension(n, &v);
        return true;
    default:
        return take_nested(t, n, c, &v, depth);
    }
}

/* Where every column is text, what a value is made of does not matter. */
static bool take_as_text(mp_taker *t, lb_seen *n, mp_cursor *c)
{
    static const lb_seen_kind kinds[] = {
        [LB_MSGPACK_BOOL] = LB_SEEN_BOOL,     [LB_MSGPACK_INT] = LB_SEEN_INT,     [LB_MSGPACK_UINT] = LB_SEEN_INT,
        [LB_MSGPACK_FLOAT] = LB_SEEN_INT,     [LB_MSGPACK_STR] = LB_SEEN_TEXT,    [LB_MSGPACK_BIN] = LB_SEEN_BINARY,
        [LB_MSGPACK_EXT] = LB_SEEN_EXTENSION, [LB_MSGPACK_ARRAY] = LB_SEEN_ARRAY, [LB_MSGPACK_MAP] = LB_SEEN_OBJECT
    };
    mp_cursor again = *c;
    lb_msgpack_token v;

    if (!mp_next(&again, &v))
        return false;
    if (v.kind == LB_MSGPACK_STR && mp_is_text(&v)) {
        *c = again;
        return take_bytes(t, n, &v, LB_SEEN_TEXT);
    }
    if (v.kind != LB_MSGPACK_NIL)
        lb_seen_see(n, v.kind == LB_MSGPACK_STR ? LB_SEEN_BINARY : kinds[v.kind]);
    return mp_pass(c, 1);
}

/* ---------------------------------------------------------------- rows */

lb_seen *mp_rows_new(lb_arena *arena, bool bounds, const mp_places *places)
{
    lb_seen *rows = lb_seen_rows(arena, bounds);

    /* In their order, before whatever else stands in the file. */
    for (size_t i = 0; rows != NULL && places != NULL && i < places->count; i++)
        if (lb_seen_add_member(rows, arena, places->names[i], i) == NULL)
            return NULL;
    return rows;
}

static lb_seen *take_place(mp_taker *t, lb_seen *n, uint64_t place, const uint8_t *at)
{
    char own[MP_PLACE_NAME];
    lb_seen_member *m = lb_seen_add_member(n, t->arena, mp_place_name(t->places, place, own),
                                           t->base_offset + (uint64_t)(at - t->base) + t->places->count);

    if (m == NULL)
        (void)take_fails(t, lb_arena_fail(t->arena, t->err));
    return m == NULL ? NULL : m->node;
}

/* A row that is an array, whose places are columns. */
static bool take_places(mp_taker *t, lb_seen *n, mp_cursor *c, uint64_t count)
{
    lb_seen_see(n, LB_SEEN_OBJECT);
    if (n->mixed)
        return mp_pass(c, count);
    for (uint64_t i = 0; i < count; i++) {
        lb_seen *to = n->map ? n->items : take_place(t, n, i, c->at);
        if (to == NULL || !(t->text ? take_as_text(t, to, c) : take_value(t, to, c, 1)))
            return false;
        if (n->keys.count > n->most_keys && take_fails(t, lb_seen_become_map(n, t->arena, t->err)))
            return false;
    }
    return true;
}

bool mp_take(mp_taker *t, lb_seen *n, mp_cursor *c)
{
    lb_msgpack_token v;

    if (t->places == NULL)
        return take_value(t, n, c, 0);
    mp_cursor again = *c;
    if (!mp_next(&again, &v) || v.kind != LB_MSGPACK_ARRAY)
        return take_value(t, n, c, 0);
    *c = again;
    return take_places(t, n, c, v.n);
}
