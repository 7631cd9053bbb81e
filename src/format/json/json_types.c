/* Values taken in: each goes to what its place has seen (format/seen.h). */
#include "format/json/json_known.h"

/* ---------------------------------------------------------------- taking values in */

static bool take_fails(js_taker *t, lb_status status)
{
    if (status != LB_OK)
        t->status = status;
    return status != LB_OK;
}

static uint64_t take_offset(const js_taker *t, const uint8_t *at)
{
    return t->base_offset + (uint64_t)(at - t->base);
}

static bool take_value(js_taker *t, lb_seen *n, lb_json_cursor *c, unsigned depth);

static bool take_word(lb_seen *n, lb_json_cursor *c, lb_json_kind kind)
{
    if (kind != LB_JSON_NULL) {
        lb_seen_see(n, LB_SEEN_BOOL);
        n->has_true |= kind == LB_JSON_TRUE;
        n->has_false |= kind == LB_JSON_FALSE;
    }
    return lb_json_word(c);
}

static bool take_number(lb_seen *n, lb_json_cursor *c)
{
    lb_number v;
    lb_str text;

    switch (lb_json_number(c, &text, &v)) {
    case LB_NUMBER_INT:
        lb_seen_int(n, v.i);
        break;
    case LB_NUMBER_UINT:
        lb_seen_uint(n, v.u);
        break;
    case LB_NUMBER_FLOAT:
        lb_seen_float(n, v.f);
        break;
    case LB_NUMBER_BIG:
        lb_seen_see(n, LB_SEEN_BIG);
        break;
    case LB_NOT_A_NUMBER: /* one that no double holds, unless the cursor is bad */
        if (c->reason != LB_JSON_GOOD)
            return false;
        lb_seen_see(n, LB_SEEN_BIG);
        break;
    }
    return true;
}

static bool take_string(js_taker *t, lb_seen *n, lb_json_cursor *c)
{
    lb_json_text text;

    if (!lb_json_string(c, &text))
        return false;
    lb_seen_see(n, LB_SEEN_TEXT);
    if (!n->bounds || n->mixed)
        return true;
    if (n->text == NULL && take_fails(t, lb_seen_keep_text(n, t->arena, t->err)))
        return false;
    const lb_str v = js_text(&text, &t->scratch);
    if (v.at == NULL)
        return !take_fails(t, lb_fail_nomem(t->err));
    if (!lb_text_bounds_hold(n->text, lb_text_prefix(v.at, v.size), v.size))
        lb_text_bounds_add_padded(n->text, v.at, v.size);
    return true;
}

static bool take_array(js_taker *t, lb_seen *n, lb_json_cursor *c, unsigned depth)
{
    if (take_fails(t, lb_seen_items(n, t->arena, t->err)))
        return false;
    for (bool more = lb_json_array(c); more; more = lb_json_item(c))
        if (!take_value(t, n->items, c, depth + 1))
            return false;
    return c->reason == LB_JSON_GOOD;
}

static bool take_declared_map(const js_taker *t, lb_str name)
{
    for (size_t i = 0; t->maps != NULL && t->maps[i] != NULL; i++)
        if (lb_str_is(name, t->maps[i]))
            return true;
    return false;
}

/* The member that a key names; NULL: t->status says why. */
static lb_seen_member *take_member(js_taker *t, lb_seen *n, size_t k, const lb_json_text *key, unsigned depth)
{
    size_t number = js_keys_find(&n->keys, k, key, &t->scratch);

    if (number != LB_NO_KEY) {
        lb_keys_hint(&n->keys, t->arena, k, number);
        return &n->members[number];
    }
    const lb_str name = js_text(key, &t->scratch);
    if (name.at == NULL) {
        (void)take_fails(t, lb_fail_nomem(t->err));
        return NULL;
    }
    lb_seen_member *made = lb_seen_add_member(n, t->arena, name, take_offset(t, key->p));
    if (made == NULL) {
        (void)take_fails(t, lb_arena_fail(t->arena, t->err));
        return NULL;
    }
    lb_keys_hint(&n->keys, t->arena, k, n->keys.count - 1);
    made->node->map = depth == 0 && take_declared_map(t, name);
    return made;
}

/* Which members of the object at the cursor count: bit i of t->replaced from *from on says that member i does not.
 * *from SIZE_MAX: all do. */
static bool take_replaced(js_taker *t, const lb_json_cursor *c, bool needed, size_t *from)
{
    const size_t size = t->replaced.size;
    size_t n;
    bool any;

    *from = SIZE_MAX;
    if (!needed)
        return true;
    if (!js_find_replaced(*c, &t->replaced, &n, &any)) {
        lb_json_cursor again = *c;
        /* Where the text is bad, reading it says so. */
        return !lb_json_skip(&again, NULL) || !take_fails(t, lb_fail_nomem(t->err));
    }
    if (any)
        *from = size;
    else
        t->replaced.size = size;
    return true;
}

static bool take_is_replaced(const js_taker *t, size_t from, size_t k)
{
    return from != SIZE_MAX && (t->replaced.data[from + k / 8] >> k % 8 & 1) != 0;
}

/* Keys are data: what they are called does not matter. */
static bool take_map(js_taker *t, lb_seen *n, lb_json_cursor *c, unsigned depth)
{
    lb_json_text key;
    size_t from, k = 0, size = t->replaced.size;

    if (take_fails(t, lb_seen_items(n, t->arena, t->err)) || !take_replaced(t, c, true, &from))
        return false;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key), k++)
        if (!(take_is_replaced(t, from, k) ? lb_json_skip(c, NULL) : take_value(t, n->items, c, depth + 1)))
            return false;
    t->replaced.size = size;
    return c->reason == LB_JSON_GOOD;
}

/* What becomes a map on the way: its members so far are in. */
static bool take_rest_of_map(js_taker *t, lb_seen *n, lb_json_cursor *c, const lb_json_cursor *begin, unsigned depth,
                             size_t from, size_t k)
{
    lb_json_text key;

    if (!t->careful && !take_replaced(t, begin, true, &from))
        return false;
    if (!t->careful && from != SIZE_MAX) {
        t->equal_keys = true;
        return false;
    }
    for (bool more = lb_json_member(c, &key); more; more = lb_json_member(c, &key), k++)
        if (!(take_is_replaced(t, from, k) ? lb_json_skip(c, NULL) : take_value(t, n->items, c, depth + 1)))
            return false;
    return c->reason == LB_JSON_GOOD;
}

/* Where every column is text, what a value is made of does not matter. */
static bool take_as_text(js_taker *t, lb_seen *n, lb_json_cursor *c)
{
    const lb_json_kind kind = lb_json_peek(c);

    if (kind == LB_JSON_STRING)
        return take_string(t, n, c);
    if (kind > LB_JSON_NULL)
        lb_seen_see(n, js_text_kinds[kind]);
    return lb_json_skip(c, NULL);
}

/* The k-th member of an object; of a row it is looked for where it was the last time. *at: its place then. NULL: there
 * are no more; or the cursor is bad, or t->status says why. */
static lb_seen_member *take_next(js_taker *t, lb_seen *n, lb_json_cursor *c, size_t k, unsigned depth, size_t *at)
{
    const bool known = depth == 0 && t->known.size != 0;
    const uint8_t *const p = c->p;
    lb_json_text key;

    if (known) {
        const size_t place = js_known_next(t, *at, &c->p, c->end);
        if (place != 0) {
            c->depth = 1;
            *at = place;
            return &n->members[place - 1];
        }
    }
    if (!(k == 0 ? lb_json_object(c, &key) : lb_json_member(c, &key)))
        return NULL;
    lb_seen_member *m = take_member(t, n, k, &key, depth);
    if (known && m != NULL)
        js_known_learn(t, at, (size_t)(m - n->members), p, (size_t)(c->p - p));
    return m;
}

static bool take_struct(js_taker *t, lb_seen *n, lb_json_cursor *c, unsigned depth)
{
    const uint64_t object = ++t->object;
    const size_t size = t->replaced.size;
    const lb_json_cursor begin = *c;
    lb_seen_member *m;
    size_t from, at = 0;

    if (!take_replaced(t, c, t->careful, &from))
        return false;
    for (size_t k = 0; (m = take_next(t, n, c, k, depth, &at)) != NULL; k++) {
        if (m->stamp == object && !t->careful) { /* being careful and still here: the text is bad further on */
            t->equal_keys = true;
            return false;
        }
        m->stamp = object;
        if (take_is_replaced(t, from, k)) {
            if (!lb_json_skip(c, NULL))
                return false;
            continue;
        }
        if (!(t->text ? take_as_text(t, m->node, c) : take_value(t, m->node, c, depth + 1)))
            return false;
        if (n->keys.count > n->most_keys)
            return !take_fails(t, lb_seen_become_map(n, t->arena, t->err)) &&
                   take_rest_of_map(t, n, c, &begin, depth, from, k + 1);
    }
    t->replaced.size = size;
    return c->reason == LB_JSON_GOOD && t->status == LB_OK;
}

static bool take_object(js_taker *t, lb_seen *n, lb_json_cursor *c, unsigned depth)
{
    return n->map ? take_map(t, n, c, depth) : take_struct(t, n, c, depth);
}

static bool take_value(js_taker *t, lb_seen *n, lb_json_cursor *c, unsigned depth)
{
    const lb_json_kind kind = lb_json_peek(c);

    switch (kind) {
    case LB_JSON_NOTHING:
        return false;
    case LB_JSON_NULL:
    case LB_JSON_TRUE:
    case LB_JSON_FALSE:
        return take_word(n, c, kind);
    case LB_JSON_NUMBER:
        return take_number(n, c);
    case LB_JSON_STRING:
        return take_string(t, n, c);
    case LB_JSON_OBJECT:
    case LB_JSON_ARRAY_VALUE:
        break;
    }
    lb_seen_see(n, kind == LB_JSON_OBJECT ? LB_SEEN_OBJECT : LB_SEEN_ARRAY);
    if (depth >= LB_SEEN_DEPTH && !n->mixed)
        lb_seen_mix(n);
    if (n->mixed)
        return lb_json_skip(c, NULL);
    return kind == LB_JSON_OBJECT ? take_object(t, n, c, depth) : take_array(t, n, c, depth);
}

bool js_take(js_taker *t, lb_seen *n, lb_json_cursor *c)
{
    return take_value(t, n, c, 0) && lb_json_finish(c);
}
