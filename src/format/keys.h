/* Keys of objects and numbers for them, from 0 in the order in which they were added. Objects of one place mostly have the same
 * keys in the same order, so what the k-th key was is looked at first. */
#ifndef LB_FORMAT_KEYS_H
#define LB_FORMAT_KEYS_H

#include "base/buf.h"

typedef struct lb_key {
    lb_str name;
    uint64_t head; /* its first 8 bytes, as lb_text_prefix has them */
    uint32_t hash;
} lb_key;

typedef struct lb_keys {
    lb_key *items;
    size_t count, cap;
    uint32_t *slots; /* number + 1; 0: free */
    size_t n_slots;
    uint32_t *hints; /* number of the k-th key of the object before */
    size_t n_hints, cap_hints;
} lb_keys;

#define LB_NO_KEY SIZE_MAX

/* Number of the k-th key of an object, or LB_NO_KEY. Eight bytes can be read at name.at, however short it is. */
size_t lb_keys_find(lb_keys *keys, size_t k, lb_str name);
size_t lb_keys_of(const lb_keys *keys, lb_str name);
/* Add a name that is not there; it is copied. Memory is the arena's. Errors: BUDGET, NOMEM. */
lb_status lb_keys_add(lb_keys *keys, lb_arena *arena, lb_str name, lb_error *err);
/* The k-th key has this number: look there first the next time. */
void lb_keys_hint(lb_keys *keys, lb_arena *arena, size_t k, size_t number);

/* One key of many, by the hash of its name. */
typedef struct lb_key_seen {
    uint64_t hash;
    size_t order;
} lb_key_seen;

/* Of an object's `n` members those that a later one of the same key replaces (types.md section 2: the last wins), as bits by their
 * order, appended to `out`; *any: are there some? 64 bits of a hash stand for a key: two that are not equal meet once in 2^64, and
 * hashes made to meet lose only to who made them. `seen` is sorted. False: no memory. */
bool lb_keys_replaced(lb_key_seen *seen, size_t n, lb_buf *out, bool *any);

#endif
