/* Text of a store as UTF-8 in a sliding window: decoded where it has another encoding, checked, and able to begin at
 * any character border. */
#ifndef LB_IO_TEXT_H
#define LB_IO_TEXT_H

#include <iconv.h>

#include "base/buf.h"
#include "io/store.h"

/* Readable bytes after the window's end, so that vector code may load whole blocks. They are zero. */
#define LB_TEXT_PADDING 64

/* Given every byte of the store once, in order, while text is read from its beginning. */
typedef void (*lb_tap_fn)(void *user, const uint8_t *bytes, size_t size);

typedef struct lb_text {
    /* Read these. */
    const uint8_t *data; /* the window */
    size_t size;
    uint64_t at;     /* position of data[0] in the decoded text; positions count from the opening offset */
    bool end;        /* nothing follows the window */
    uint64_t bad_at; /* position of the first byte that is not valid text; UINT64_MAX: none so far. What
                                  follows it in the window is not to be used */

    /* Private. */
    lb_context *cx;
    lb_store *store;
    lb_buf window, raw;
    size_t chunk;
    uint64_t opened_at, next_offset; /* in the store */
    uint64_t checked_to;             /* position up to which UTF-8 was checked */
    bool store_end, cut_at_end;
    iconv_t decoder, seeker; /* the second one decodes again for lb_text_offset */
    const char *encoding;
    lb_buf pieces;                   /* decoded pieces of the window, for positions → offsets */
    unsigned unit, long_unit;        /* encoded bytes of a character, and of one of 4 in UTF-8; 0: they differ */
    uint64_t known_at, known_offset; /* a position whose offset is known: the next is looked for from there */
    uint64_t start_offset;           /* of the window, where characters are counted */
    bool tapped;                     /* the bytes before opened_at were given to the tap */
    lb_tap_fn tap;
    void *tap_user;
} lb_text;

/* Begin at `offset` of the store, a character border. `encoding`: NULL or "" for UTF-8, else a name that iconv knows
 * and that says the byte order (see lb_text_encoding). `chunk`: bytes read at a time (0: 256 KiB). Errors: USAGE
 * (encoding). */
lb_status lb_text_open(lb_text *t, lb_context *cx, lb_store *store, uint64_t offset, const char *encoding, size_t chunk,
                       lb_error *err);
/* Before the first lb_text_more. `before`: the bytes of the store that lie before the opening offset are given as well. */
void lb_text_tap(lb_text *t, bool before, lb_tap_fn tap, void *user);

/* A text that is at hand as a whole: `data`, lent, is valid UTF-8, the store's bytes from `offset` on, and has
 * LB_TEXT_PADDING readable bytes behind it. Nothing is read from the store. */
void lb_text_lend(lb_text *t, lb_context *cx, lb_store *store, const uint8_t *data, size_t size, uint64_t offset);
void lb_text_close(lb_text *t);

/* Drop the first `used` bytes of the window and read on: the window grows by at least one byte, or `end` is set.
 * Pointers into the window become invalid. Errors: IO, BUDGET (window too large: a record of that size), NOMEM,
 * CANCELLED. */
lb_status lb_text_more(lb_text *t, size_t used, lb_error *err);

/* Let a store that is decompressed from one end to the other keep what the window has from a position on: others will read it. */
void lb_text_keep(const lb_text *t, uint64_t position);

/* Offset in the store of a position inside the window (or at its end). Cheapest where positions are asked for in
 * ascending order: the work is then linear in the text between them. */
uint64_t lb_text_offset(lb_text *t, uint64_t position);

/* Settle an encoding's name for a store: canonical iconv name with byte order (a BOM decides for UTF-16 and UTF-32,
 * else little endian), "" for UTF-8 and ASCII; and the length of a BOM to skip. `name` NULL: UTF-8. Errors: USAGE for a
 * name iconv does not know, and UNSUPPORTED for one with shift states (ISO-2022, UTF-7 …), in which no row can be
 * reached. `store` NULL: only the spelling is settled, UTF-16 and UTF-32 keep their order open. */
lb_status lb_text_encoding(lb_store *store, const char *name, char out[64], unsigned *bom_bytes, lb_error *err);

/* Describe what is wrong at bad_at: CORRUPT with offset, `row` and `line` (-1 unknown), and the option that may read
 * it. */
lb_status lb_text_fail(lb_text *t, int64_t row, int64_t line, lb_error *err);

/* Physical lines that end in these bytes: LF, CR LF and lone CR count one each. `after_cr`: the byte before p is CR; a
 * CR as the last byte is counted. */
uint64_t lb_count_lines(const uint8_t *p, size_t size, bool after_cr);

#endif
