/* Keys of objects: which number a name has, found fast where objects look like the one before. */
#include <stdlib.h>

#include "base/hash.h"
#include "column/stats.h"
#include "format/json/json_rows.h"

#define KEYS_MOST_HINTS 4096

lb_str js_text(const lb_json_text *text, lb_buf *scratch)
{
    if (!text->escaped)
        return (lb_str){ (const char *)text->p, text->size };
    scratch->size = 0;
    if (lb_buf_reserve(scratch, text->size + LB_JSON_PADDING, NULL) != LB_OK)
        return (lb_str){ NULL, 0 };
    const size_t size = lb_json_decode(text, scratch->data);
    memset(scratch->data + size, 0, LB_JSON_PADDING);
    return (lb_str){ (const char *)scratch->data, size };
}

static uint32_t keys_hash(lb_str name)
{
    return (uint32_t)lb_xxh3_64(name.at, name.size);
}

/* ---------------------------------------------------------------- finding */

static size_t keys_look(const js_keys *keys, lb_str name, uint32_t hash)
{
    if (keys->n_slots == 0)
        return JS_NO_KEY;
    for (size_t at = hash & (keys->n_slots - 1); keys->slots[at] != 0; at = (at + 1) & (keys->n_slots - 1)) {
        const js_key *key = &keys->items[keys->slots[at] - 1];
        if (key->hash == hash && lb_str_equal(key->name, name))
            return keys->slots[at] - 1;
    }
    return JS_NO_KEY;
}

size_t js_keys_of(const js_keys *keys, lb_str name)
{
    return keys_look(keys, name, keys_hash(name));
}

size_t js_keys_find(js_keys *keys, size_t k, const lb_json_text *key, lb_buf *scratch)
{
    if (k < keys->n_hints && !key->escaped) {
        const js_key *hint = &keys->items[keys->hints[k]];
        if (hint->name.size == key->size && hint->head == lb_text_prefix((const char *)key->p, key->size) &&
            (key->size <= 8 || memcmp(hint->name.at + 8, key->p + 8, key->size - 8) == 0))
            return keys->hints[k];
    }
    const lb_str name = js_text(key, scratch);
    const size_t number = name.at == NULL ? JS_NO_KEY : js_keys_of(keys, name);
    if (number != JS_NO_KEY && k < keys->n_hints)
        keys->hints[k] = (uint32_t)number;
    return number;
}

/* ---------------------------------------------------------------- adding */

static void keys_put(js_keys *keys, uint32_t number)
{
    size_t at = keys->items[number].hash & (keys->n_slots - 1);

    while (keys->slots[at] != 0)
        at = (at + 1) & (keys->n_slots - 1);
    keys->slots[at] = number + 1;
}

static lb_status keys_grow(js_keys *keys, lb_arena *arena, lb_error *err)
{
    const size_t cap = keys->cap == 0 ? 8 : 2 * keys->cap;
    js_key *items = lb_arena_alloc(arena, cap, sizeof *items);
    uint32_t *slots = lb_arena_alloc(arena, 2 * cap, sizeof *slots);

    if (items == NULL || slots == NULL)
        return lb_arena_fail(arena, err);
    if (keys->count != 0)
        memcpy(items, keys->items, keys->count * sizeof *items);
    keys->items = items;
    keys->cap = cap;
    keys->slots = slots;
    keys->n_slots = 2 * cap;
    for (size_t i = 0; i < keys->count; i++)
        keys_put(keys, (uint32_t)i);
    return LB_OK;
}

lb_status js_keys_add(js_keys *keys, lb_arena *arena, lb_str name, lb_error *err)
{
    uint8_t head[8] = { 0 };

    if (keys->count == keys->cap)
        LB_TRY(keys_grow(keys, arena, err));
    const lb_str copy = { lb_arena_copy(arena, name), name.size };
    if (copy.at == NULL)
        return lb_arena_fail(arena, err);
    if (name.size != 0)
        memcpy(head, name.at, LB_MIN(name.size, sizeof head));
    keys->items[keys->count] = (js_key){ copy, lb_text_prefix((const char *)head, name.size), keys_hash(copy) };
    keys_put(keys, (uint32_t)keys->count++);
    return LB_OK;
}

/* Without memory there are no hints, and all else works. */
void js_keys_hint(js_keys *keys, lb_arena *arena, size_t k, size_t number)
{
    if (k != keys->n_hints || k >= KEYS_MOST_HINTS)
        return;
    if (keys->n_hints == keys->cap_hints) {
        const size_t cap = keys->cap_hints == 0 ? 8 : 2 * keys->cap_hints;
        uint32_t *hints = lb_arena_alloc(arena, cap, sizeof *hints);
        if (hints == NULL)
            return;
        if (keys->n_hints != 0)
            memcpy(hints, keys->hints, keys->n_hints * sizeof *hints);
        keys->hints = hints;
        keys->cap_hints = cap;
    }
    keys->hints[keys->n_hints++] = (uint32_t)number;
}

/* ---------------------------------------------------------------- equal keys */

typedef struct keys_seen {
    uint64_t hash;
    size_t order;
} keys_seen;

static int keys_compare(const void *a, const void *b)
{
    const keys_seen *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* 64 bits of a hash stand for a key: two that are not equal meet once in 2^64, and hashes made to meet lose only to
 * who made them. */
static bool keys_list(lb_json_cursor *c, lb_buf *list, lb_buf *scratch, size_t *n)
{
    lb_json_text key;

    *n = 0;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key)) {
        const lb_str name = js_text(&key, scratch);
        const keys_seen seen = { name.at == NULL ? 0 : lb_xxh3_64(name.at, name.size), (*n)++ };
        if (name.at == NULL || lb_buf_append(list, &seen, sizeof seen, NULL) != LB_OK || !lb_json_skip(c, NULL))
            return false;
    }
    return c->reason == LB_JSON_GOOD;
}

bool js_find_replaced(lb_json_cursor c, lb_buf *out, size_t *n, bool *any)
{
    lb_buf list, scratch;

    *any = false;
    lb_buf_init(&list, out->budget);
    lb_buf_init(&scratch, out->budget);
    bool good = keys_list(&c, &list, &scratch, n) && lb_buf_reserve(out, *n / 8 + 1, NULL) == LB_OK;
    if (good) {
        keys_seen *seen = (keys_seen *)(void *)list.data;
        uint8_t *bits = out->data + out->size;
        memset(bits, 0, *n / 8 + 1);
        out->size += *n / 8 + 1;
        if (*n > 1)
            qsort(seen, *n, sizeof *seen, keys_compare);
        for (size_t i = 1; i < *n; i++) {
            if (seen[i - 1].hash != seen[i].hash)
                continue;
            bits[seen[i - 1].order / 8] |= (uint8_t)(1u << seen[i - 1].order % 8);
            *any = true;
        }
    }
    lb_buf_free(&list);
    lb_buf_free(&scratch);
    return good;
}
