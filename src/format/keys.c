#include "format/keys.h"

#include <stdlib.h>

#include "base/hash.h"
#include "column/stats.h"

#define KEYS_MOST_HINTS 4096

static uint32_t keys_hash(lb_str name)
{
    return (uint32_t)lb_xxh3_64(name.at, name.size);
}

/* ---------------------------------------------------------------- finding */

static size_t keys_look(const lb_keys *keys, lb_str name, uint32_t hash)
{
    if (keys->n_slots == 0)
        return LB_NO_KEY;
    for (size_t at = hash & (keys->n_slots - 1); keys->slots[at] != 0; at = (at + 1) & (keys->n_slots - 1)) {
        const lb_key *key = &keys->items[keys->slots[at] - 1];
        if (key->hash == hash && lb_str_equal(key->name, name))
            return keys->slots[at] - 1;
    }
    return LB_NO_KEY;
}

size_t lb_keys_of(const lb_keys *keys, lb_str name)
{
    return keys_look(keys, name, keys_hash(name));
}

size_t lb_keys_find(lb_keys *keys, size_t k, lb_str name)
{
    if (k < keys->n_hints) {
        const lb_key *hint = &keys->items[keys->hints[k]];
        if (hint->name.size == name.size && hint->head == lb_text_prefix(name.at, name.size) &&
            (name.size <= 8 || memcmp(hint->name.at + 8, name.at + 8, name.size - 8) == 0))
            return keys->hints[k];
    }
    const size_t number = lb_keys_of(keys, name);
    if (number != LB_NO_KEY && k < keys->n_hints)
        keys->hints[k] = (uint32_t)number;
    return number;
}

/* ---------------------------------------------------------------- adding */

static void keys_put(lb_keys *keys, uint32_t number)
{
    size_t at = keys->items[number].hash & (keys->n_slots - 1);

    while (keys->slots[at] != 0)
        at = (at + 1) & (keys->n_slots - 1);
    keys->slots[at] = number + 1;
}

static lb_status keys_grow(lb_keys *keys, lb_arena *arena, lb_error *err)
{
    const size_t cap = keys->cap == 0 ? 8 : 2 * keys->cap;
    lb_key *items = lb_arena_alloc(arena, cap, sizeof *items);
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

lb_status lb_keys_add(lb_keys *keys, lb_arena *arena, lb_str name, lb_error *err)
{
    uint8_t head[8] = { 0 };

    if (keys->count == keys->cap)
        LB_TRY(keys_grow(keys, arena, err));
    const lb_str copy = { lb_arena_copy(arena, name), name.size };
    if (copy.at == NULL)
        return lb_arena_fail(arena, err);
    if (name.size != 0)
        memcpy(head, name.at, LB_MIN(name.size, sizeof head));
    keys->items[keys->count] = (lb_key){ copy, lb_text_prefix((const char *)head, name.size), keys_hash(copy) };
    keys_put(keys, (uint32_t)keys->count++);
    return LB_OK;
}

/* Without memory there are no hints, and all else works. */
void lb_keys_hint(lb_keys *keys, lb_arena *arena, size_t k, size_t number)
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

static int keys_compare(const void *a, const void *b)
{
    const lb_key_seen *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

bool lb_keys_replaced(lb_key_seen *seen, size_t n, lb_buf *out, bool *any)
{
    const size_t size = n / 8 + 1;

    *any = false;
    if (lb_buf_reserve(out, size, NULL) != LB_OK)
        return false;
    uint8_t *bits = out->data + out->size;
    memset(bits, 0, size);
    out->size += size;
    if (n > 1)
        qsort(seen, n, sizeof *seen, keys_compare);
    for (size_t i = 1; i < n; i++) {
        if (seen[i - 1].hash != seen[i].hash)
            continue;
        bits[seen[i - 1].order / 8] |= (uint8_t)(1u << seen[i - 1].order % 8);
        *any = true;
    }
    return true;
}
