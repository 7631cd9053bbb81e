/* Blocks of compressed bytes, one call each: the pages, streams and blocks inside columnar files. Text files compressed
 * as a whole are another matter. */
#ifndef LB_CODEC_BLOCK_CODEC_H
#define LB_CODEC_BLOCK_CODEC_H

#include "base/buf.h"

typedef enum lb_codec {
    LB_CODEC_NONE,
    LB_CODEC_DEFLATE,    /* RFC 1951, without header (Avro, ORC, ZIP) */
    LB_CODEC_ZLIB,       /* RFC 1950 */
    LB_CODEC_GZIP,       /* RFC 1952; several members are joined */
    LB_CODEC_SNAPPY,     /* raw blocks, without framing */
    LB_CODEC_ZSTD,       /* RFC 8878; several frames are joined */
    LB_CODEC_LZ4,        /* the block format */
    LB_CODEC_LZ4_FRAME,  /* several frames are joined */
    LB_CODEC_LZ4_HADOOP, /* big-endian sizes before blocks; a plain block where those do not fit (Parquet's old LZ4) */
    LB_CODEC_LZO,        /* LZO1X, one block */
    LB_CODEC_LZO_HADOOP, /* sizes before blocks as with LZ4_HADOOP (Parquet's LZO); a plain block where they do not fit */
    LB_CODEC_BROTLI,     /* RFC 7932 */
    LB_CODEC_BZIP2,
    LB_CODEC_XZ,
} lb_codec;

/* The name for messages: "zstd", "lz4" … */
const char *lb_codec_name(lb_codec codec);

/* What decompressing keeps between calls so that a small block does not pay for it anew. All zero before use; freed with
 * lb_codec_work_free. For one thread at a time. */
typedef struct lb_codec_work {
    void *zstd, *deflate, *lz4_frame;
} lb_codec_work;

void lb_codec_work_free(lb_codec_work *work);

/* Decompress `size` bytes into `out`, which has room for `cap`: *got of them came. Bytes that would come beyond are damage.
 * `work` may be NULL. Errors: CORRUPT (with the codec's name; no place: the caller knows it), NOMEM. */
lb_status lb_codec_decode(lb_codec codec, lb_codec_work *work, const void *bytes, size_t size, void *out, size_t cap,
                          size_t *got, lb_error *err);

/* As above where exactly `out_size` bytes must come. */
lb_status lb_codec_decode_exact(lb_codec codec, lb_codec_work *work, const void *bytes, size_t size, void *out,
                                size_t out_size, lb_error *err);

/* As above where nobody says how many bytes come: they are appended to `out`, at most `most` of them. The buffer grows as they come,
 * whatever the block claims. Errors: CORRUPT, BUDGET, NOMEM. */
lb_status lb_codec_decode_append(lb_codec codec, lb_codec_work *work, const void *bytes, size_t size, size_t most,
                                 lb_buf *out, lb_error *err);

#endif
