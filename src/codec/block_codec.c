#include "codec/block_codec.h"

#include <brotli/decode.h>
#include <bzlib.h>
#include <libdeflate.h>
#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "codec/lzo_load.h"
#include "codec/snappy.h"

/* xz may ask for so much beside the output: its largest preset takes 65 MiB. */
#define BLOCK_XZ_MEMORY (UINT64_C(128) << 20)

/* The least that is tried where nobody knows how much comes. */
#define BLOCK_FIRST_ROOM (64u << 10)

typedef enum block_outcome {
    BLOCK_DONE,
    BLOCK_DAMAGED,
    BLOCK_NO_ROOM, /* more bytes come than `cap` */
    BLOCK_NO_MEMORY,
    BLOCK_NO_CODEC /* its library is not on this machine */
} block_outcome;

typedef struct block_job {
    lb_codec_work *work; /* NULL only before block_try */
    const uint8_t *in;
    size_t size;
    uint8_t *out;
    size_t cap, got;
} block_job;

const char *lb_codec_name(lb_codec codec)
{
    static const char *const names[] = {
        [LB_CODEC_NONE] = "uncompressed", [LB_CODEC_DEFLATE] = "deflate", [LB_CODEC_ZLIB] = "zlib",
        [LB_CODEC_GZIP] = "gzip",         [LB_CODEC_SNAPPY] = "snappy",   [LB_CODEC_ZSTD] = "zstd",
        [LB_CODEC_LZ4] = "lz4",           [LB_CODEC_LZ4_FRAME] = "lz4",   [LB_CODEC_LZ4_HADOOP] = "lz4",
        [LB_CODEC_LZO] = "lzo",           [LB_CODEC_LZO_HADOOP] = "lzo",  [LB_CODEC_BROTLI] = "brotli",
        [LB_CODEC_BZIP2] = "bzip2",       [LB_CODEC_XZ] = "xz",
    };

    return (size_t)codec < LB_COUNT_OF(names) ? names[codec] : "unknown";
}

void lb_codec_work_free(lb_codec_work *work)
{
    ZSTD_freeDCtx(work->zstd);
    if (work->deflate != NULL)
        libdeflate_free_decompressor(work->deflate);
    (void)LZ4F_freeDecompressionContext(work->lz4_frame);
    *work = (lb_codec_work){ 0 };
}

static block_outcome block_none(block_job *job)
{
    if (job->size > job->cap)
        return BLOCK_NO_ROOM;
    if (job->size != 0)
        memcpy(job->out, job->in, job->size);
    job->got = job->size;
    return BLOCK_DONE;
}

/* ---------------------------------------------------------------- deflate */

static block_outcome block_deflate_outcome(enum libdeflate_result result)
{
    if (result == LIBDEFLATE_SUCCESS)
        return BLOCK_DONE;
    return result == LIBDEFLATE_INSUFFICIENT_SPACE ? BLOCK_NO_ROOM : BLOCK_DAMAGED;
}

static struct libdeflate_decompressor *block_deflate_ready(block_job *job)
{
    if (job->work->deflate == NULL)
        job->work->deflate = libdeflate_alloc_decompressor();
    return job->work->deflate;
}

static block_outcome block_deflate(block_job *job, lb_codec codec)
{
    struct libdeflate_decompressor *d = block_deflate_ready(job);

    if (d == NULL)
        return BLOCK_NO_MEMORY;
    if (codec == LB_CODEC_ZLIB)
        return block_deflate_outcome(libdeflate_zlib_decompress(d, job->in, job->size, job->out, job->cap, &job->got));
    return block_deflate_outcome(libdeflate_deflate_decompress(d, job->in, job->size, job->out, job->cap, &job->got));
}

static block_outcome block_gzip(block_job *job)
{
    struct libdeflate_decompressor *d = block_deflate_ready(job);
    size_t at = 0;

    if (d == NULL)
        return BLOCK_NO_MEMORY;
    do {
        size_t taken = 0, given = 0;
        enum libdeflate_result result = libdeflate_gzip_decompress_ex(
            d, job->in + at, job->size - at, job->out + job->got, job->cap - job->got, &taken, &given);
        if (result != LIBDEFLATE_SUCCESS)
            return block_deflate_outcome(result);
        at += taken;
        job->got += given;
    } while (at < job->size);
    return BLOCK_DONE;
}

/* ---------------------------------------------------------------- snappy, zstd, brotli, bzip2, xz */

static block_outcome block_snappy(block_job *job)
{
    lb_snappy s;
    size_t size;

    if (!lb_snappy_size(job->in, job->size, &size))
        return BLOCK_DAMAGED;
    if (size > job->cap)
        return BLOCK_NO_ROOM;
    job->got = size;
    return lb_snappy_begin(&s, job->in, job->size, job->out, size) && lb_snappy_run(&s, size) ? BLOCK_DONE
                                                                                              : BLOCK_DAMAGED;
}

static block_outcome block_zstd(block_job *job)
{
    if (job->work->zstd == NULL)
        job->work->zstd = ZSTD_createDCtx();
    if (job->work->zstd == NULL)
        return BLOCK_NO_MEMORY;
    size_t got = ZSTD_decompressDCtx(job->work->zstd, job->out, job->cap, job->in, job->size);
    if (!ZSTD_isError(got)) {
        job->got = got;
        return BLOCK_DONE;
    }
    switch (ZSTD_getErrorCode(got)) {
    case ZSTD_error_memory_allocation:
        return BLOCK_NO_MEMORY;
    case ZSTD_error_dstSize_tooSmall:
        return BLOCK_NO_ROOM;
    default:
        return BLOCK_DAMAGED;
    }
}

static block_outcome block_brotli(block_job *job)
{
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    const uint8_t *in = job->in;
    uint8_t *out = job->out;
    size_t in_left = job->size, out_left = job->cap;

    if (state == NULL)
        return BLOCK_NO_MEMORY;
    BrotliDecoderResult result = BrotliDecoderDecompressStream(state, &in_left, &in, &out_left, &out, NULL);
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state);
    BrotliDecoderDestroyInstance(state);
    job->got = job->cap - out_left;
    if (result == BROTLI_DECODER_RESULT_SUCCESS)
        return in_left == 0 ? BLOCK_DONE : BLOCK_DAMAGED;
    if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT)
        return BLOCK_NO_ROOM;
    /* Codes from ALLOC_CONTEXT_MODES (-21) to ALLOC_BLOCK_TYPE_TREES (-30) are about memory. */
    bool memory =
        code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return memory ? BLOCK_NO_MEMORY : BLOCK_DAMAGED;
}

static block_outcome block_bzip2(block_job *job)
{
    unsigned got = (unsigned)LB_MIN(job->cap, (size_t)UINT_MAX);

    if (job->size > UINT_MAX)
        return BLOCK_DAMAGED;
    /* The library takes its input as a pointer to what could be written, and writes nothing there. */
    int result =
        BZ2_bzBuffToBuffDecompress((char *)job->out, &got, (char *)(uintptr_t)job->in, (unsigned)job->size, 0, 0);
    job->got = got;
    switch (result) {
    case BZ_OK:
        return BLOCK_DONE;
    case BZ_OUTBUFF_FULL:
        return BLOCK_NO_ROOM;
    case BZ_MEM_ERROR:
        return BLOCK_NO_MEMORY;
    default:
        return BLOCK_DAMAGED;
    }
}

static block_outcome block_xz(block_job *job)
{
    uint64_t memory = BLOCK_XZ_MEMORY;
    size_t in_at = 0;
    lzma_ret result = lzma_stream_buffer_decode(&memory, LZMA_CONCATENATED, NULL, job->in, &in_at, job->size, job->out,
                                                &job->got, job->cap);

    if (result == LZMA_OK)
        return in_at == job->size ? BLOCK_DONE : BLOCK_DAMAGED;
    if (result == LZMA_BUF_ERROR)
        return BLOCK_NO_ROOM;
    return result == LZMA_MEM_ERROR ? BLOCK_NO_MEMORY : BLOCK_DAMAGED;
}

/* ---------------------------------------------------------------- lz4 and lzo */

/* The block format does not tell a full output from damage: where the output could have been larger, it is asked again. */
static block_outcome block_lz4(block_job *job)
{
    if (job->size > INT_MAX)
        return BLOCK_DAMAGED;
    int cap = (int)LB_MIN(job->cap, (size_t)INT_MAX);
    int got = LZ4_decompress_safe((const char *)job->in, (char *)job->out, (int)job->size, cap);
    if (got >= 0) {
        job->got = (size_t)got;
        return BLOCK_DONE;
    }
    /* A byte of input makes at most 255 of output. */
    return job->cap / 255 >= job->size ? BLOCK_DAMAGED : BLOCK_NO_ROOM;
}

static block_outcome block_lz4_frames(block_job *job)
{
    size_t at = 0, left = 1;

    if (job->work->lz4_frame == NULL) {
        LZ4F_dctx *made = NULL;
        if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)))
            return BLOCK_NO_MEMORY;
        job->work->lz4_frame = made;
    }
    LZ4F_resetDecompressionContext(job->work->lz4_frame);
    while (at < job->size) {
        size_t taken = job->size - at, given = job->cap - job->got;
        left = LZ4F_decompress(job->work->lz4_frame, job->out + job->got, &given, job->in + at, &taken, NULL);
        if (LZ4F_isError(left))
            return strcmp(LZ4F_getErrorName(left), "ERROR_allocation_failed") == 0 ? BLOCK_NO_MEMORY : BLOCK_DAMAGED;
        at += taken;
        job->got += given;
        if (taken == 0 && given == 0)
            return job->got == job->cap ? BLOCK_NO_ROOM : BLOCK_DAMAGED;
    }
    /* The input may be taken whole while output is still held back. */
    while (left != 0 && job->got < job->cap) {
        size_t taken = 0, given = job->cap - job->got;
        left = LZ4F_decompress(job->work->lz4_frame, job->out + job->got, &given, job->in + at, &taken, NULL);
        if (LZ4F_isError(left) || given == 0)
            return BLOCK_DAMAGED;
        job->got += given;
    }
    if (left == 0)
        return BLOCK_DONE;
    return job->got == job->cap ? BLOCK_NO_ROOM : BLOCK_DAMAGED;
}

static block_outcome block_lzo(block_job *job)
{
    static const block_outcome outcomes[] = { [LB_LZO_DONE] = BLOCK_DONE,
                                              [LB_LZO_DAMAGED] = BLOCK_DAMAGED,
                                              [LB_LZO_NO_ROOM] = BLOCK_NO_ROOM,
                                              [LB_LZO_MISSING] = BLOCK_NO_CODEC };

    job->got = job->cap;
    return outcomes[lb_lzo_decode(job->in, job->size, job->out, &job->got)];
}

/* Is it no fault of the block's? */
static bool block_is_ours(block_outcome outcome)
{
    return outcome == BLOCK_NO_MEMORY || outcome == BLOCK_NO_CODEC;
}

static uint32_t block_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Hadoop's streams (BlockCompressorStream): the size of the bytes that come, then blocks, each after its own size, until so many
 * came; and so on. */
static block_outcome block_hadoop(block_job *job, block_outcome (*decode)(block_job *job))
{
    size_t at = 0;

    while (at < job->size) {
        if (job->size - at < 8)
            return BLOCK_DAMAGED;
        size_t stop = block_be32(job->in + at);
        at += 4;
        if (stop > job->cap - job->got)
            return BLOCK_NO_ROOM;
        for (stop += job->got; job->got < stop;) {
            if (job->size - at < 4)
                return BLOCK_DAMAGED;
            block_job part = { job->work,           job->in + at + 4, block_be32(job->in + at),
                               job->out + job->got, stop - job->got,  0 };
            at += 4;
            if (part.size > job->size - at || part.size == 0)
                return BLOCK_DAMAGED;
            block_outcome outcome = decode(&part);
            if (block_is_ours(outcome))
                return outcome;
            if (outcome != BLOCK_DONE || part.got == 0)
                return BLOCK_DAMAGED;
            at += part.size;
            job->got += part.got;
        }
    }
    return BLOCK_DONE;
}

/* With sizes before the blocks, or without: writers of both kinds gave the same name to what they wrote. */
static block_outcome block_hadoop_or_plain(block_job *job, block_outcome (*decode)(block_job *job))
{
    block_outcome framed = block_hadoop(job, decode);

    if (framed == BLOCK_DONE || block_is_ours(framed))
        return framed;
    job->got = 0;
    block_outcome plain = decode(job);
    return plain == BLOCK_DAMAGED ? framed : plain;
}

/* ---------------------------------------------------------------- all */

static block_outcome block_decode(lb_codec codec, block_job *job)
{
    switch (codec) {
    case LB_CODEC_NONE:
        return block_none(job);
    case LB_CODEC_DEFLATE:
    case LB_CODEC_ZLIB:
        return block_deflate(job, codec);
    case LB_CODEC_GZIP:
        return block_gzip(job);
    case LB_CODEC_SNAPPY:
        return block_snappy(job);
    case LB_CODEC_ZSTD:
        return block_zstd(job);
    case LB_CODEC_LZ4:
        return block_lz4(job);
    case LB_CODEC_LZ4_FRAME:
        return block_lz4_frames(job);
    case LB_CODEC_LZ4_HADOOP:
        return block_hadoop_or_plain(job, block_lz4);
    case LB_CODEC_LZO:
        return block_lzo(job);
    case LB_CODEC_LZO_HADOOP:
        return block_hadoop_or_plain(job, block_lzo);
    case LB_CODEC_BROTLI:
        return block_brotli(job);
    case LB_CODEC_BZIP2:
        return block_bzip2(job);
    case LB_CODEC_XZ:
        return block_xz(job);
    }
    return BLOCK_DAMAGED;
}

static lb_status block_fail(lb_codec codec, block_outcome outcome, size_t cap, lb_error *err)
{
    if (outcome == BLOCK_NO_MEMORY)
        return lb_fail_nomem(err);
    if (outcome == BLOCK_NO_CODEC) {
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s is read by a library that is not on this machine",
                lb_codec_name(codec));
        lb_fail_hint(err, "install liblzo2 (Debian: liblzo2-2)");
        return LB_UNSUPPORTED;
    }
    if (outcome == BLOCK_NO_ROOM && codec == LB_CODEC_LZ4)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "lz4 block is damaged, or gives more than the %zu bytes expected of it", cap);
    if (outcome == BLOCK_NO_ROOM)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s block gives more than the %zu bytes expected of it",
                       lb_codec_name(codec), cap);
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s block is damaged", lb_codec_name(codec));
}

/* One try, with work of its own where none was given. The libraries do not all bear a missing output. */
static block_outcome block_try(lb_codec codec, lb_codec_work *work, block_job *job)
{
    lb_codec_work own = { 0 };
    uint8_t nothing = 0;
    block_job try = *job;

    if (try.cap == 0)
        try.out = &nothing;
    if (try.size == 0)
        try.in = &nothing;
    try.work = work == NULL ? &own : work;
    block_outcome outcome = block_decode(codec, &try);
    job->got = try.got;
    lb_codec_work_free(&own);
    return outcome;
}

lb_status lb_codec_decode(lb_codec codec, lb_codec_work *work, const void *bytes, size_t size, void *out, size_t cap,
                          size_t *got, lb_error *err)
{
    block_job job = { NULL, bytes, size, out, cap, 0 };
    block_outcome outcome = block_try(codec, work, &job);

    *got = outcome == BLOCK_DONE ? job.got : 0;
    return outcome == BLOCK_DONE ? LB_OK : block_fail(codec, outcome, cap, err);
}

lb_status lb_codec_decode_exact(lb_codec codec, lb_codec_work *work, const void *bytes, size_t size, void *out,
                                size_t out_size, lb_error *err)
{
    size_t got;

    LB_TRY(lb_codec_decode(codec, work, bytes, size, out, out_size, &got, err));
    if (got != out_size)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s block gives %zu bytes, not the %zu expected of it",
                       lb_codec_name(codec), got, out_size);
    return LB_OK;
}

lb_status lb_codec_decode_append(lb_codec codec, lb_codec_work *work, const void *bytes, size_t size, size_t most,
                                 lb_buf *out, lb_error *err)
{
    size_t room = LB_MIN(most, LB_MAX(size < SIZE_MAX / 4 ? size * 4 : size, (size_t)BLOCK_FIRST_ROOM));

    for (;;) {
        LB_TRY(lb_buf_reserve(out, room, err));
        room = LB_MIN(most, out->cap - out->size);
        block_job job = { NULL, bytes, size, out->data + out->size, room, 0 };
        block_outcome outcome = block_try(codec, work, &job);
        if (outcome == BLOCK_DONE)
            out->size += job.got;
        if (outcome == BLOCK_DONE)
            return LB_OK;
        if (outcome != BLOCK_NO_ROOM || room == most)
            return block_fail(codec, outcome, room, err);
        room = room < most / 4 ? room * 4 : most;
    }
}
