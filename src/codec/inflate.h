/* Deflate (RFC 1951) decoded so that it can stop at any byte of output, and begin again at the border of any block from the
 * 32 KiB before it: what zlib can do, at the speed of decoders that cannot. */
#ifndef LB_CODEC_INFLATE_H
#define LB_CODEC_INFLATE_H

#include "base/fail.h"

/* So far back a match reaches. */
#define LB_INFLATE_WINDOW 32768

/* Unless no more input follows, fewer bytes than this may be left untouched: they are given again with more behind them. */
#define LB_INFLATE_AHEAD 1024

typedef enum lb_inflate_stop {
    LB_INFLATE_INPUT, /* more input is wanted */
    LB_INFLATE_ROOM,  /* the output is full */
    LB_INFLATE_BLOCK, /* at the border of two blocks, as asked */
    LB_INFLATE_END,   /* the last block has ended */
} lb_inflate_stop;

/* What one call works on. The pointers move along; the caller slides his buffers between calls. */
typedef struct lb_inflate_io {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_end;
    const uint8_t *history; /* the first byte of earlier output that still stands, directly before `out`: the last
                               LB_INFLATE_WINDOW bytes of it, or all there ever was */
    uint64_t in_at;         /* where `in` lies in the file; moves along; for messages too */
    bool in_last;           /* nothing follows in_end */
    bool stop_at_blocks;    /* return at each border between blocks */
} lb_inflate_io;

/* Tables and bits between calls; 12 KiB. For one thread at a time. */
typedef struct lb_inflate lb_inflate;

lb_inflate *lb_inflate_new(void); /* NULL: no memory */
void lb_inflate_free(lb_inflate *z);

/* Messages are those of a file of this kind ("gzip"), static; without it, of some bytes. */
void lb_inflate_name(lb_inflate *z, const char *file);

/* Before the first byte of a stream, or at the border of a block of which `bit` bits (0 to 7) of the next byte are past. */
void lb_inflate_begin(lb_inflate *z, unsigned bit);

/* Decode until something is missing or reached, as *stop says. At LB_INFLATE_END, `in` is behind the stream's last byte.
 *
 * Errors:  CORRUPT  with the place in the file, within some bytes; nothing more can be decoded then
 * Cost:    linear; what cannot be decoded with slack on both sides is decoded bit by bit, some times slower */
lb_status lb_inflate_run(lb_inflate *z, lb_inflate_io *io, lb_inflate_stop *stop, lb_error *err);

/* At LB_INFLATE_BLOCK: the place of the border in the file, as the byte it lies in and the bits of it that are past. */
void lb_inflate_place(const lb_inflate *z, const lb_inflate_io *io, uint64_t *byte, unsigned *bit);

/* From here on, note which bytes of the LB_INFLATE_WINDOW bytes before this place later matches reach: marks[i] becomes 1 for the i-th
 * of them, the last being right before this place. NULL: no longer. Noting ends by itself where no match can reach. Slower while it
 * lasts. Bytes that stay 0 may be anything when decoding begins here. */
void lb_inflate_note(lb_inflate *z, uint8_t *marks);
bool lb_inflate_notes(const lb_inflate *z);

#endif
