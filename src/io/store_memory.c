/* A store over bytes of the caller. */
#include "io/store.h"

#include <stdlib.h>

typedef struct memory_store {
    lb_store store;
    const uint8_t *bytes;
} memory_store;

static lb_status memory_read_at(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    (void)err;
    memory_store *m = (memory_store *)store;
    size_t n = 0;
    if (offset < store->size) {
        n = (size_t)LB_MIN((uint64_t)size, store->size - offset);
        if (n != 0)
            memcpy(out, m->bytes + offset, n);
    }
    atomic_fetch_add_explicit(&store->bytes_read, n, memory_order_relaxed);
    *got = n;
    return LB_OK;
}

static lb_status memory_stat(lb_store *store, lb_file_stat *out, lb_error *err)
{
    (void)err;
    *out = (lb_file_stat){ .size = store->size };
    return LB_OK;
}

static void memory_close(lb_store *store)
{
    free(store);
}

lb_status lb_store_open_memory(const void *bytes, size_t size, lb_store **out, lb_error *err)
{
    memory_store *m = calloc(1, sizeof *m);
    *out = NULL;
    if (m == NULL)
        return lb_fail_nomem(err);
    m->store.read_at = memory_read_at;
    m->store.stat = memory_stat;
    m->store.close = memory_close;
    m->store.path = "";
    m->store.size = size;
    m->bytes = bytes;
    *out = &m->store;
    return LB_OK;
}
