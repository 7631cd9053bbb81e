#define ZSTD_STATIC_LINKING_ONLY /* for one parameter, ZSTD_d_stableOutBuffer */
#include "codec/block_front.h"

#include <brotli/decode.h>
#include <limits.h>
#include <lz4.h>
#include <zstd.h>

#include "codec/inflate.h"

void lb_codec_front_begin(lb_codec_front *f, lb_codec codec, lb_codec_work *work, const void *bytes, size_t size,
                          void *out, size_t out_size)
{
    lb_codec_front_end(f);
    *f = (lb_codec_front){ .codec = codec, .work = work, .in = bytes, .size = size, .out = out, .out_size = out_size };
}

void lb_codec_front_end(lb_codec_front *f)
{
    BrotliDecoderDestroyInstance(f->brotli);
    lb_inflate_free(f->inflate);
    *f = (lb_codec_front){ 0 };
}

/* Where a part cannot be had, all of it is decoded; that tells too what is wrong with a block, in the words of the others. */
static lb_status front_whole(lb_codec_front *f, lb_error *err)
{
    f->way = LB_FRONT_WHOLE_ONLY;
    LB_TRY(lb_codec_decode_exact(f->codec, f->work, f->in, f->size, f->out, f->out_size, err));
    f->got = f->out_size;
    return LB_OK;
}

/* ---------------------------------------------------------------- zstd */

/* The output is one buffer that stays, so that blocks are decoded where they have to stand, and matches reach back in it. */
static bool front_zstd_begin(lb_codec_front *f)
{
    if (f->work->zstd == NULL)
        f->work->zstd = ZSTD_createDCtx();
    if (f->work->zstd == NULL || ZSTD_isError(ZSTD_DCtx_reset(f->work->zstd, ZSTD_reset_session_only)) ||
        ZSTD_isError(ZSTD_DCtx_setParameter(f->work->zstd, ZSTD_d_stableOutBuffer, 1)))
        return false;
    f->hint = ZSTD_FRAMEHEADERSIZE_MIN(ZSTD_f_zstd1);
    return true;
}

/* One block after another, and no more input than each asks for; behind the last byte of output, the checksum too.
 * False: it ended, or went wrong. */
static bool front_zstd(lb_codec_front *f, size_t least)
{
    ZSTD_outBuffer out = { f->out, f->out_size, f->got };

    while (out.pos < least || (out.pos == f->out_size && f->hint != 0)) {
        ZSTD_inBuffer in = { f->in + f->taken, LB_MIN(f->hint, f->size - f->taken), 0 };
        const size_t before = out.pos, hint = ZSTD_decompressStream(f->work->zstd, &out, &in);
        if (ZSTD_isError(hint) || (in.pos == 0 && out.pos == before) || (hint == 0 && out.pos < least))
            return false;
        f->taken += in.pos;
        f->hint = hint;
    }
    f->got = out.pos;
    return out.pos < f->out_size || f->taken == f->size;
}

/* ---------------------------------------------------------------- the others */

static bool front_brotli(lb_codec_front *f, size_t least)
{
    if (f->brotli == NULL)
        f->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (f->brotli == NULL)
        return false;
    const uint8_t *in = f->in + f->taken;
    uint8_t *out = f->out + f->got;
    size_t in_left = f->size - f->taken, out_left = least - f->got;
    BrotliDecoderResult result = BrotliDecoderDecompressStream(f->brotli, &in_left, &in, &out_left, &out, NULL);
    f->taken = f->size - in_left;
    f->got = least - out_left;
    if (least == f->out_size)
        return out_left == 0 && in_left == 0 && result == BROTLI_DECODER_RESULT_SUCCESS;
    return out_left == 0 && result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
}

/* RFC 1952: the head that all writers of columnar files write, without names and comments. */
static bool front_gzip_begin(lb_codec_front *f)
{
    static const uint8_t head[] = { 0x1F, 0x8B, 8, 0 };

    f->taken = 10;
    if (f->size < f->taken || memcmp(f->in, head, sizeof head) != 0)
        return false;
    f->inflate = lb_inflate_new();
    if (f->inflate != NULL)
        lb_inflate_begin(f->inflate, 0);
    return f->inflate != NULL;
}

/* The checksum is only looked at where all is decoded. */
static bool front_gzip(lb_codec_front *f, size_t least)
{
    lb_inflate_io io = { .in = f->in + f->taken,
                         .in_end = f->in + f->size,
                         .out = f->out + f->got,
                         .out_end = f->out + least,
                         .history = f->out,
                         .in_last = true };
    lb_inflate_stop stop;

    if (least == f->out_size || lb_inflate_run(f->inflate, &io, &stop, NULL) != LB_OK)
        return false;
    f->taken = (size_t)(io.in - f->in);
    f->got = (size_t)(io.out - f->out);
    return f->got >= least;
}

static bool front_lz4(lb_codec_front *f, size_t least)
{
    if (f->size > INT_MAX || f->out_size > INT_MAX || f->got != 0)
        return false;
    int got =
        LZ4_decompress_safe_partial((const char *)f->in, (char *)f->out, (int)f->size, (int)least, (int)f->out_size);
    if (got < 0 || (size_t)got < least)
        return false;
    f->got = (size_t)got;
    return true;
}

static bool front_snappy(lb_codec_front *f, size_t least)
{
    if (!lb_snappy_run(&f->snappy, least))
        return false;
    f->got = (size_t)(f->snappy.at - f->snappy.out);
    return true;
}

static bool front_begin(lb_codec_front *f)
{
    f->way = LB_FRONT_GOING;
    switch (f->codec) {
    case LB_CODEC_ZSTD:
        return front_zstd_begin(f);
    case LB_CODEC_SNAPPY:
        return lb_snappy_begin(&f->snappy, f->in, f->size, f->out, f->out_size);
    case LB_CODEC_GZIP:
        return front_gzip_begin(f);
    case LB_CODEC_BROTLI:
    case LB_CODEC_LZ4:
        return true;
    default:
        return false;
    }
}

static bool front_more(lb_codec_front *f, size_t least)
{
    switch (f->codec) {
    case LB_CODEC_ZSTD:
        return front_zstd(f, least);
    case LB_CODEC_SNAPPY:
        return front_snappy(f, least);
    case LB_CODEC_BROTLI:
        return front_brotli(f, least);
    case LB_CODEC_GZIP:
        return front_gzip(f, least);
    default:
        return front_lz4(f, least);
    }
}

lb_status lb_codec_front_reach(lb_codec_front *f, size_t least, lb_error *err)
{
    if (least <= f->got && f->out_size != 0) /* of nothing all is there at once, and yet to be checked */
        return LB_OK;
    if (f->way == LB_FRONT_FRESH && (least == f->out_size || !front_begin(f)))
        return front_whole(f, err);
    if (f->way == LB_FRONT_WHOLE_ONLY || !front_more(f, least))
        return front_whole(f, err);
    return LB_OK;
}
