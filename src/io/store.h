/* Random-access bytes: a file, a piece of memory, or a view of another store. */
#ifndef LB_IO_STORE_H
#define LB_IO_STORE_H

#include "base/context.h"

/* What says whether a file is still the one that was mapped. */
typedef struct lb_file_stat {
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
} lb_file_stat;

/* The bytes of a file in memory, shared by all who hand out parts of them. They may be read only, and only while the file
 * is as long as it was: beyond its end the kernel kills the process. */
typedef struct lb_mapping {
    _Atomic unsigned refs;
    const uint8_t *at; /* at a page's start; never NULL */
    uint64_t size;
} lb_mapping;

static inline lb_mapping *lb_mapping_ref(lb_mapping *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void lb_mapping_unref(lb_mapping *m); /* NULL is fine */

typedef struct lb_store lb_store;

/* The size of a store whose end nobody has seen. Reads tell it: fewer bytes come only at the end. */
#define LB_SIZE_UNKNOWN UINT64_MAX

struct lb_store {
    /* Read up to `size` bytes at `offset`; fewer only at the end. Thread-safe. Errors: IO, CANCELLED. */
    lb_status (*read_at)(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err);
    /* Fresh size and times, of the very file that is read. Memory stores have times 0. */
    lb_status (*stat)(lb_store *store, lb_file_stat *out, lb_error *err);
    void (*close)(lb_store *store);
    /* A dataset is a folder with one file that says what is in it: read_at and stat are that file's, and this opens another one
     * by its path below the folder. NULL: a single file. Errors: NOTFOUND, IO, USAGE. */
    lb_status (*open_inside)(lb_store *store, const char *rel_path, lb_store **out, lb_error *err);
    /* The nearest place before `offset`, or this itself, at which reading can begin without reading what is before it. Thread-safe.
     * NULL: everywhere. */
    uint64_t (*begin_before)(lb_store *store, uint64_t offset);
    /* Keep a copy of bytes that were read and will be read again, beside those that are kept, or (`anew`) in their place. It may be left
     * out for want of memory. Thread-safe. NULL: reading them again costs no more. */
    void (*keep)(lb_store *store, uint64_t offset, const uint8_t *bytes, size_t size, bool anew);
    const char *path;      /* for messages; "" for memory */
    const char *container; /* what is compressed below these bytes: "gzip" …; NULL: nothing */
    uint64_t size;         /* when it was opened; LB_SIZE_UNKNOWN of one that is decompressed (io/unpacked.h) */
    lb_mapping *mapping; /* all its bytes, of a file store after lb_store_map; else NULL. Read at will beside read_at */
    _Atomic uint64_t bytes_read;
};

/* Open a regular file for reading (no FIFO, device or directory: USAGE). Does not block.
 * Errors: NOTFOUND, IO, USAGE. */
lb_status lb_store_open_file(const char *path, lb_store **out, lb_error *err);

/* Map the file of a store that lb_store_open_file gave, before it is read. It stays without a mapping where the system gives
 * none, as for a file of no bytes; read_at goes on reading the file itself. */
void lb_store_map(lb_store *store);

/* Bytes that the caller keeps alive and unchanged. */
lb_status lb_store_open_memory(const void *bytes, size_t size, lb_store **out, lb_error *err);

/* Bytes [first, first+size) of another store, which must outlive it, as a store of their own. Its times are the
 * other's. Errors: USAGE: they reach past the end; NOMEM. */
lb_status lb_store_open_part(lb_store *whole, uint64_t first, uint64_t size, lb_store **out, lb_error *err);

static inline lb_status lb_store_read(lb_store *s, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    return s->read_at(s, offset, out, size, got, err);
}

static inline lb_status lb_store_stat(lb_store *s, lb_file_stat *out, lb_error *err)
{
    return s->stat(s, out, err);
}

void lb_store_close(lb_store *store); /* NULL is fine */

#endif
