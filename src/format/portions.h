/* One text file by several threads. The file is cut into parts of equal size, at multiples of it; a part's records are those that
 * begin in it.
 *
 *   1. walking   Each part is read by some thread, which does not know in what state the part begins. It guesses where the first
 *                record begins, and walks the records from there.
 *   2. placing   In order of the parts: the records of a part are right when they begin where those of the part before it end,
 *                for the same bytes from the same beginning give the same records. Where a part began elsewhere it is walked
 *                again, from the right place. Now its first row and line are known.
 *   3. values    The values of the part are taken in, by any thread.
 *   4. joining   In order again, what was taken in is put together.
 *
 * Guesses are seldom wrong, so values are taken in while records are walked; but not where a guess was wrong a few parts before, and
 * not when a part is walked again, which is what the parts behind it wait for.
 *
 * So a wrong guess costs time and nothing else, and the outcome is that of reading record by record. A part that holds
 * something odd (a record that does not fit, invalid text, a record that does not end) ends all this: the rows before it are
 * joined, and the rest is left to that way of reading, which has the words for it. So is what follows the last whole part. */
#ifndef LB_FORMAT_PORTIONS_H
#define LB_FORMAT_PORTIONS_H

#include "base/buf.h"
#include "base/context.h"
#include "format/sums.h"
#include "io/store.h"
#include "io/text.h"

/* So many bytes of the part are at hand when a guess is asked for first. */
#define LB_PORTION_GUESS_BYTES ((size_t)64 << 10)
#define LB_PORTION_UNKNOWN SIZE_MAX

typedef struct lb_portion {
    lb_store *store;
    lb_context *cx;
    uint64_t at;   /* offset in the store */
    size_t size;   /* records that begin in so many bytes are the part's */
    bool certain;  /* 1 is likely to be done once: values may be taken in on the way, in step 1 instead of 3 */
    size_t filled; /* bytes read from `at` on; may pass `size`, for the last record goes on behind it */
    /* Private: a buffer that begins where pages do, the bytes in it as far behind that as they lie behind a page's beginning in
     * the store, room for so many of them. The kernel copies a third as fast into a place a few bytes further on in its page. */
    uint8_t *buffer, *data;
    size_t room;
    size_t most; /* so many bytes from `at` on can be had */

    /* Private: sums of the part's ranges, where it has whole ones. */
    const lb_sums *sums;
    void *sum; /* takes them; NULL: no sums */
    bool summing;
    size_t summed; /* bytes of which sums were taken */
    lb_buf taken;
    void *own; /* the format's */

    /* Positions count from `at`. */
    size_t from;                    /* where the first record begins */
    size_t to;                      /* behind the records, and behind line ends that follow them up to `size` */
    size_t last_after;              /* behind the last record */
    uint64_t rows, lines;           /* between them */
    uint64_t first_row, first_line; /* of `from`; known from step 3 on */
} lb_portion;

/* The part's bytes; [-1] is the byte before it, a line end for the first part. LB_TEXT_PADDING zero bytes follow what was read. */
static inline const uint8_t *lb_portion_data(const lb_portion *p)
{
    return p->data;
}

/* Read on until `size` bytes from `at` on are there. False: that cannot be had. Moves lb_portion_data. */
bool lb_portion_fill(lb_portion *p, size_t size);

/* Physical lines that end between two positions; CR LF is one line end, also where it was cut. */
uint64_t lb_portion_lines(const lb_portion *p, size_t from, size_t to);

/* `at`, or the first byte behind it that ends no line; LB_PORTION_UNKNOWN: none before `size`. */
size_t lb_portion_pass_breaks(const lb_portion *p, size_t at, size_t size);

/* A tap that is to have all bytes of the file, each once and in order: `to` is what it has had. */
typedef struct lb_tapped {
    lb_tap_fn tap;       /* NULL: none */
    const lb_sums *sums; /* may be NULL */
    void *user;
    uint64_t to;
} lb_tapped;

/* Give it bytes that begin at `at`, less those that it has had; the part's `size` bytes, with sums where there are any; or what the
 * store has before `to`. Errors: those of the store. */
void lb_tapped_give(lb_tapped *t, uint64_t at, const uint8_t *bytes, size_t size);
void lb_tapped_give_part(lb_tapped *t, const lb_portion *p);
lb_status lb_tapped_give_store(lb_tapped *t, lb_store *store, uint64_t to, lb_error *err);

/* Where a record begins and where the one before it ends, so many rows and lines behind the beginning of the part's records. */
typedef struct lb_portion_mark {
    size_t at, before;
    uint64_t row, lines;
} lb_portion_mark;

/* The last of the marks (in order of rows, the first at row 0; at least one) that is not behind a row of the part. */
const lb_portion_mark *lb_portion_find_mark(const lb_buf *marks, uint64_t row);

/* What a format does. All but `join` are called by several threads at once, each with another part. */
typedef struct lb_portions_work {
    /* Make and free what a part needs of the format's own; parts are used again for later places of the file. */
    lb_status (*open)(void *user, lb_portion *p, lb_error *err);
    void (*close)(void *user, lb_portion *p);

    /* Where the part's first record is likely to begin, by the bytes that are at hand; LB_PORTION_UNKNOWN: cannot tell, and
     * is asked again with four times as many, up to the whole part. */
    size_t (*guess)(void *user, const lb_portion *p);

    /* Walk the records that begin in the part, from `from` on: sets to, last_after, rows, lines, and reads on as needed. All text
     * between `from` and `to` must be valid. False: something odd stands there. */
    bool (*walk)(void *user, lb_portion *p);

    /* Take in the values. False: something odd stands there. */
    bool (*values)(void *user, lb_portion *p);

    /* Put the part behind those joined before. `after`: offset behind the record before the part's first. */
    lb_status (*join)(void *user, lb_portion *p, uint64_t after, lb_error *err);
} lb_portions_work;

/* Where reading stands. */
typedef struct lb_portions_place {
    uint64_t offset, row, line; /* where the next record is looked for; its row, and the line there */
    uint64_t after;             /* offset behind the record before it */
} lb_portions_place;

/* Read on from `place`, which is moved behind the parts that were joined. Nothing is read where no thread is free, fewer than two
 * parts are left, or two are too large for a fourth of the memory that is left. `part_bytes`: size of a part, 0: 1 MiB. *odd:
 * something stands at the new place that has to be read record by record. Errors: those of `open` and `join`.
 *
 * A store whose size nobody knows is decompressed from one end to the other, by one thread at a time, while the others do what comes
 * behind that. What was read of it in vain the store keeps (lb_store.keep); before, it must have what was read behind `place`. */
lb_status lb_read_portions(lb_context *cx, lb_store *store, const lb_portions_work *work, void *user, size_t part_bytes,
                           const lb_tapped *tapped, lb_portions_place *place, bool *odd, lb_error *err);

#endif
