/* The front part of a compressed block: whoever wants one value of a page need not decompress what lies behind it. */
#ifndef LB_CODEC_BLOCK_FRONT_H
#define LB_CODEC_BLOCK_FRONT_H

#include "codec/block_codec.h"
#include "codec/snappy.h"

typedef struct lb_codec_front {
    lb_codec codec;
    lb_codec_work *work;
    const uint8_t *in;
    size_t size, taken; /* of the block; of it, those that zstd, brotli or gzip took */
    size_t hint;        /* zstd: how many bytes bring the next block of it */
    uint8_t *out;
    size_t out_size, got; /* what the block has to give, and what of it is there */
    enum { LB_FRONT_FRESH, LB_FRONT_GOING, LB_FRONT_WHOLE_ONLY } way;
    lb_snappy snappy;
    void *brotli, *inflate;
} lb_codec_front;

/* Nothing is decoded yet. `bytes`, `out` with room for `out_size` bytes, and `work` are lent until the front is done with;
 * so long `work` serves nothing else. */
void lb_codec_front_begin(lb_codec_front *f, lb_codec codec, lb_codec_work *work, const void *bytes, size_t size,
                          void *out, size_t out_size);

/* Decode until front->got >= least, which is at most out_size. More may come: zstd gives its own blocks of up to 128 KiB,
 * snappy what it copies at once, and deflate without gzip's head, LZO, bzip2, xz and framed LZ4 the whole; bytes behind `got` may hold
 * anything. LZ4 begins anew when asked for more, gzip when asked for all. Once all is there, of
 * an out_size of 0 too, it is as if lb_codec_decode_exact had been called.
 * Errors: CORRUPT, NOMEM. */
lb_status lb_codec_front_reach(lb_codec_front *f, size_t least, lb_error *err);

void lb_codec_front_end(lb_codec_front *f); /* all zero is fine */

#endif
