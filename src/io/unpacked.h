/* A compressed file as a store of the bytes that were compressed, read from anywhere: decompressing begins at the restart point
 * before, goes on where it stood, and notes restart points as it comes by. */
#ifndef LB_IO_UNPACKED_H
#define LB_IO_UNPACKED_H

#include "codec/unpack.h"
#include "io/store.h"
#include "io/text.h"

/* Bytes of output between restart points, about. */
#define LB_UNPACKED_SPACING ((uint64_t)4 << 20)

typedef struct lb_unpacked_point {
    lb_unpack_point at;    /* in the file */
    uint64_t out_at;       /* in the view */
    const uint8_t *window; /* zstd: the at.window bytes before it, those that nothing reaches being zero */
    size_t window_size;    /* of that */
} lb_unpacked_point;

/* Open a view of `packed`, which must outlive it. Its times are those of the file, its size that of the file too where lb_store_stat is
 * asked. Memory: 1.4 MiB for each thread that reads, and what waits for the tap or is kept (lb_store.keep), against the budget.
 * Errors: NOMEM. Reading gives CORRUPT and UNSUPPORTED with places in the file as well. */
lb_status lb_store_open_unpacked(lb_context *cx, lb_store *packed, const lb_container *container, lb_store **out,
                                 lb_error *err);

/* Give the restart points that were found before, ascending, of which copies are kept; before the first read. None are
 * noted then. Errors: NOMEM. */
lb_status lb_unpacked_know(lb_store *view, const lb_unpacked_point *points, size_t n, lb_error *err);

/* Where the file itself tells the sizes of its frames (BGZF, Zstandard in frames with sizes, xz in blocks), know them as above, and
 * the view's size; before the first read. Errors: NOMEM, IO. */
lb_status lb_unpacked_look(lb_store *view, lb_store *packed, lb_error *err);

/* Have every byte of the file given once, in order, as it is read; before the first read. */
void lb_unpacked_tap(lb_store *view, lb_tap_fn tap, void *user);

/* The restart points that are known now, ascending; lent until the next read. */
size_t lb_unpacked_points(lb_store *view, const lb_unpacked_point **out);

#endif
