/* Entries that are finished and wait for the map to be written: packed, since a lake may have millions of files and an
 * lb_entry with an arena of its own takes two kilobytes where some hundred bytes say the same. */
#ifndef LB_LAKE_SPOOL_H
#define LB_LAKE_SPOOL_H

#include <pthread.h>

#include "format/entry.h"

typedef struct lb_spool {
    lb_arena arena; /* packed entries, and schemas each once */
    pthread_mutex_t lock;
    size_t count;
    const uint8_t **slots; /* NULL: nothing there */
    lb_buf schemas;        /* of lb_str, in the order they came */
    uint32_t *table;       /* open hash table: place in `schemas` + 1 */
    size_t cap_table;
} lb_spool;

/* `count` empty slots. Zero-initialised is valid for lb_spool_free, which has to be called also on error. */
lb_status lb_spool_init(lb_spool *spool, lb_budget *budget, size_t count, lb_error *err);
void lb_spool_free(lb_spool *spool);

/* Keep all of an entry but rel_path, rel_path_raw and first_global_row. Safe from several threads, each with another
 * slot. Errors: BUDGET, NOMEM. */
lb_status lb_spool_put(lb_spool *spool, size_t slot, const lb_entry *entry, lb_error *err);

static inline bool lb_spool_has(const lb_spool *spool, size_t slot)
{
    return spool->slots[slot] != NULL;
}

/* Move what is in a slot to an empty one. */
static inline void lb_spool_move(lb_spool *spool, size_t from, size_t to)
{
    spool->slots[to] = spool->slots[from];
    if (from != to)
        spool->slots[from] = NULL;
}

/* The entry as it was put, in `arena`; its schema is lent by the spool. Errors: BUDGET, NOMEM. */
lb_status lb_spool_get(const lb_spool *spool, size_t slot, lb_arena *arena, lb_entry *out, lb_error *err);

#endif
