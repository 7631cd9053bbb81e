/* What the view of a compressed file is made of: cursors, each a decompressor that stands at a place of the view with the last bytes that
 * came of it; restart points; the order in which a tap gets the file's bytes; and the first bytes of frames that others may want. */
#ifndef LB_IO_UNPACKED_INSIDE_H
#define LB_IO_UNPACKED_INSIDE_H

#include <pthread.h>

#include "io/unpacked.h"

#define LB_UNPACKED_IN ((size_t)256 << 10)
#define LB_UNPACKED_OUT ((size_t)1 << 20)
#define LB_UNPACKED_CURSORS_MOST 32

/* Of its own, and the kilobytes that unpackers do not count. */
#define LB_UNPACKED_CURSOR_BYTES (LB_UNPACKED_IN + LB_UNPACKED_OUT + 4 * (size_t)LB_UNPACK_HISTORY)

/* Bytes of a frame that are kept for who reads a record that ends there. */
#define LB_UNPACKED_HEAD ((size_t)16 << 10)
#define LB_UNPACKED_HEADS_MOST (2 * LB_UNPACKED_CURSORS_MOST)

typedef struct lb_unpacked_cursor {
    lb_unpacker *unpacker; /* NULL: not made yet */
    lb_unpack_memory memory;
    bool busy, begun, ended;
    bool at_point;     /* nothing came since it was at a border that needs nothing before it */
    uint64_t used;     /* when, counted in reads */
    uint64_t begun_at; /* before it there is but a window, trimmed to what is referenced */
    uint8_t *in;
    size_t in_from, in_to;
    uint64_t in_next; /* in the file: what is read next */
    uint64_t in_most; /* in the file: what is behind is not needed, as far as is known */
    uint8_t *out;     /* history and what came last */
    size_t out_from, out_to;
    uint64_t at;       /* in the view: of out_to */
    uint64_t point_at; /* in the view: of the last restart point before */
    bool noting;       /* a point waits for what its window is used for */
    lb_unpacked_point point;
    uint8_t *window, *marks; /* of that point, LB_UNPACK_HISTORY bytes each */
} lb_unpacked_cursor;

/* Bytes of the file that were read before the tap had what is before them. */
typedef struct lb_unpacked_early {
    uint64_t at;
    size_t size;
    uint8_t *bytes;
} lb_unpacked_early;

/* What the tap had, and has to get. */
typedef struct lb_unpacked_turns {
    pthread_mutex_t lock;
    lb_tap_fn tap; /* NULL: none */
    void *user;
    uint64_t tapped;          /* bytes of the file that it got */
    lb_unpacked_early *early; /* by their place */
    size_t n, cap;
    uint64_t bytes; /* of them, counted against the budget */
    bool missed;    /* some could not be kept: the tap gets no more but what comes in order */
} lb_unpacked_turns;

/* The first bytes of a frame, or others that are at hand, in the view. */
typedef struct lb_unpacked_head {
    uint64_t at;
    size_t size; /* 0: none */
    uint8_t *bytes;
} lb_unpacked_head;

/* Bytes of the view that will be read again, counted against the budget. */
#define LB_UNPACKED_KEPT_MOST 24

typedef struct lb_unpacked_store {
    lb_store store;
    lb_context *cx;
    lb_store *packed;
    const lb_container *container;
    pthread_mutex_t lock; /* of all that follows but `turns`, and of `busy` and `used` of cursors */
    pthread_cond_t idle;
    bool alone; /* a reader has all cursors for itself, or waits for them: nobody else takes one */
    size_t n_cursors;
    lb_unpacked_cursor cursors[LB_UNPACKED_CURSORS_MOST];
    uint64_t reads;
    uint64_t cursor_bytes; /* the most that a cursor took so far */
    bool known;            /* points were given: none are noted */
    lb_unpacked_point *points;
    size_t n_points, cap_points;
    size_t n_heads, next_head; /* places for them; the one that is filled next */
    lb_unpacked_head heads[LB_UNPACKED_HEADS_MOST];
    size_t n_kept;
    lb_unpacked_head kept[LB_UNPACKED_KEPT_MOST];
    lb_unpacked_turns turns;
} lb_unpacked_store;

/* ---- restart points; the lock is held */

/* The first point behind a byte of the view. */
size_t lb_unpacked_points_behind(const lb_unpacked_store *s, uint64_t at);

/* The point at a place in the file; NULL: there is none. */
const lb_unpacked_point *lb_unpacked_points_find(const lb_unpacked_store *s, const lb_unpack_point *at);

/* Keep a point with a copy of its window; one that is there already stays. Errors: NOMEM. */
lb_status lb_unpacked_points_add(lb_unpacked_store *s, const lb_unpacked_point *p, lb_error *err);
void lb_unpacked_points_free(lb_unpacked_store *s);

/* ---- the tap, which has a lock of its own */

void lb_unpacked_turns_give(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size);
void lb_unpacked_turns_free(lb_unpacked_store *s);

/* ---- bytes of the view that are at hand: heads of frames, and what will be read again; the lock is held */

/* Keep bytes of the view, of which at most LB_UNPACKED_HEAD are kept. Without memory, they are not. */
void lb_unpacked_heads_keep(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size);

/* As lb_store.keep. */
void lb_unpacked_kept_add(lb_unpacked_store *s, uint64_t at, const uint8_t *bytes, size_t size, bool anew);

/* Bytes of the view that are at hand from `at` on, up to `size`; 0: none. */
size_t lb_unpacked_at_hand(const lb_unpacked_store *s, uint64_t at, uint8_t *out, size_t size);
void lb_unpacked_at_hand_free(lb_unpacked_store *s);

/* ---- cursors, of which the caller has this one for himself; the lock is not held */

/* Put the cursor at a point (lent for the call; NULL: at the beginning). Errors: CORRUPT of the window; NOMEM, BUDGET. */
lb_status lb_unpacked_cursor_begin(lb_unpacked_store *s, lb_unpacked_cursor *c, const lb_unpacked_point *p,
                                   lb_error *err);

/* Read the view from `offset`, which the cursor has or comes to, after *got bytes of it; *got moves along. Fewer come only at
 * the end. Errors: those of decompressing and of reading the file. */
lb_status lb_unpacked_cursor_read(lb_unpacked_store *s, lb_unpacked_cursor *c, uint64_t offset, uint8_t *out,
                                  size_t size, size_t *got, lb_error *err);

/* Decompress frames straight to where they are wanted: from the point at which the cursor is to where `size` bytes have come,
 * where another one is (at byte `end` of the file) or the file ends (UINT64_MAX). The cursor is there then. Errors: as above;
 * CORRUPT: more or fewer bytes come. */
lb_status lb_unpacked_cursor_straight(lb_unpacked_store *s, lb_unpacked_cursor *c, uint8_t *out, size_t size,
                                      uint64_t end, lb_error *err);

/* The first byte that the cursor still has. */
uint64_t lb_unpacked_cursor_from(const lb_unpacked_cursor *c);

/* Free what the cursor holds; it can begin again. */
void lb_unpacked_cursor_free(lb_unpacked_store *s, lb_unpacked_cursor *c);

#endif
