/* A store over a part of another. */
#include "io/store.h"

#include <stdlib.h>

typedef struct part_store {
    lb_store store;
    lb_store *whole;
    uint64_t first;
} part_store;

static lb_status part_read_at(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    part_store *p = (part_store *)store;

    *got = 0;
    if (offset >= store->size)
        return LB_OK;
    lb_status status =
        lb_store_read(p->whole, p->first + offset, out, (size_t)LB_MIN((uint64_t)size, store->size - offset), got, err);
    atomic_fetch_add_explicit(&store->bytes_read, *got, memory_order_relaxed);
    return status;
}

static lb_status part_stat(lb_store *store, lb_file_stat *out, lb_error *err)
{
    LB_TRY(lb_store_stat(((part_store *)store)->whole, out, err));
    out->size = store->size;
    return LB_OK;
}

static void part_close(lb_store *store)
{
    free(store);
}

lb_status lb_store_open_part(lb_store *whole, uint64_t first, uint64_t size, lb_store **out, lb_error *err)
{
    *out = NULL;
    if (first > whole->size || size > whole->size - first)
        return lb_fail(err, LB_USAGE, LB_AT(first), "a part of %llu bytes reaches past the end",
                       (unsigned long long)size);
    part_store *p = calloc(1, sizeof *p);
    if (p == NULL)
        return lb_fail_nomem(err);
    p->store.read_at = part_read_at;
    p->store.stat = part_stat;
    p->store.close = part_close;
    p->store.path = whole->path;
    p->store.size = size;
    p->whole = whole;
    p->first = first;
    *out = &p->store;
    return LB_OK;
}
