/* Zstandard (RFC 8878): frames one after the other, some of them skippable. Each frame is a restart point. */
#define ZSTD_STATIC_LINKING_ONLY /* for one parameter, ZSTD_d_stableOutBuffer */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "codec/unpack.h"

struct lb_unpacker {
    ZSTD_DStream *stream;
    bool inside; /* a frame */
    bool told;   /* that this border is one */
    bool first;
    uint8_t *stays; /* the frame is decompressed to here, block after block where they have to stand; NULL: by copies */
    uint64_t window; /* bytes that are counted for the library's buffers */
    lb_unpack_memory *memory;
};

/* The library keeps a frame's window and two blocks of output, one of input, and some kilobytes of its own. */
#define ZSTD_OWN ((uint64_t)256 << 10)
#define ZSTD_BLOCK ((uint64_t)128 << 10)
#define ZSTD_HEAD_MOST 18
#define ZSTD_WINDOW_MOST ((uint64_t)128 << 20)

static lb_unpacker *zstd_open(lb_unpack_memory *memory)
{
    lb_unpacker *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->memory = memory;
    u->stream = lb_unpack_take(memory, ZSTD_OWN) ? ZSTD_createDStream() : NULL;
    if (u->stream != NULL)
        return u;
    free(u);
    return NULL;
}

/* The window of the frame that begins here (RFC 8878, 3.1.1.1); 0: it is none, or does not say. */
static uint64_t zstd_window(const uint8_t *p, size_t size)
{
    static const unsigned dictionary_sizes[] = { 0, 1, 2, 4 }, content_sizes[] = { 1, 2, 4, 8 };

    if (size < 6 || memcmp(p, "\x28\xB5\x2F\xFD", 4) != 0)
        return 0;
    if ((p[4] & 0x20) == 0) {
        uint64_t base = (uint64_t)1 << (10 + (p[5] >> 3));
        return base + base / 8 * (p[5] & 7);
    }
    unsigned at = 5 + dictionary_sizes[p[4] & 3], n = content_sizes[p[4] >> 6];
    uint64_t content = n == 2 ? 256 : 0;
    for (unsigned i = 0; i < n && at + i < size; i++)
        content += (uint64_t)p[at + i] << 8 * i;
    return content;
}

/* Count what the library is about to allocate for a frame; what it will refuse is not asked for. */
static lb_status zstd_room(lb_unpacker *u, const lb_unpack_io *io, lb_error *err)
{
    const uint64_t window = zstd_window(io->in, (size_t)(io->in_end - io->in));

    if (window <= u->window || window > ZSTD_WINDOW_MOST)
        return LB_OK;
    if (!lb_unpack_take(u->memory, window - u->window + (u->window == 0 ? 3 * ZSTD_BLOCK : 0)))
        return lb_unpack_no_memory(u->memory, "zstd", err);
    u->window = window;
    return LB_OK;
}

static void zstd_close(lb_unpacker *u)
{
    if (u != NULL)
        (void)ZSTD_freeDStream(u->stream);
    free(u);
}

static lb_status zstd_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    (void)err;
    (void)ZSTD_DCtx_reset(u->stream, ZSTD_reset_session_only);
    u->inside = false;
    u->stays = NULL;
    u->told = point != NULL;
    u->first = point == NULL;
    return LB_OK;
}

static lb_status zstd_fail(const lb_unpacker *u, const lb_unpack_io *io, size_t code, lb_error *err)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return lb_fail_nomem(err);
    case ZSTD_error_prefix_unknown:
        return u->first
                   ? lb_unpack_is_other(io->in_at, "zstd", err)
                   : lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "zstd: bytes that are no zstd follow the last frame");
    case ZSTD_error_frameParameter_windowTooLarge:
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at),
                       "zstd: the frame wants a window of more than 128 MiB (--long)");
    case ZSTD_error_dictionary_wrong:
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "zstd: the frame was compressed with a dictionary");
    default:
        return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "zstd: %s", ZSTD_getErrorName(code));
    }
}

static lb_status zstd_some(lb_unpacker *u, lb_unpack_io *io, lb_error *err)
{
    ZSTD_inBuffer in = { io->in, (size_t)(io->in_end - io->in), 0 };
    uint8_t *to = u->stays == NULL ? io->out : u->stays;
    ZSTD_outBuffer out = { to, (size_t)(io->out_end - to), (size_t)(io->out - to) };
    size_t left = ZSTD_decompressStream(u->stream, &out, &in);

    if (ZSTD_isError(left))
        return zstd_fail(u, io, left, err);
    u->inside = left != 0;
    u->told = false;
    if (!u->inside)
        u->first = false;
    io->in += in.pos;
    io->in_at += in.pos;
    io->out = to + out.pos;
    return LB_OK;
}

/* A frame begins. What it needs depends on where its bytes go. */
static lb_status zstd_frame(lb_unpacker *u, const lb_unpack_io *io, lb_error *err)
{
    const int stays = io->out_stays;

    if (!ZSTD_isError(ZSTD_DCtx_setParameter(u->stream, ZSTD_d_stableOutBuffer, stays)) && io->out_stays) {
        u->stays = io->out;
        return LB_OK;
    }
    u->stays = NULL;
    return zstd_room(u, io, err);
}

static lb_status zstd_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point, lb_error *err)
{
    for (;;) {
        bool empty = io->in == io->in_end;
        if (!u->inside && empty && io->in_last && !u->first) {
            *stop = LB_UNPACK_END;
            return LB_OK;
        }
        if (!u->inside && !empty && !u->told && io->stop_at_borders) {
            u->told = true;
            *stop = LB_UNPACK_BORDER;
            *point = (lb_unpack_point){ .byte = io->in_at };
            return LB_OK;
        }
        if (!u->inside && io->in_end - io->in < ZSTD_HEAD_MOST && !io->in_last) {
            *stop = LB_UNPACK_INPUT;
            return LB_OK;
        }
        if (!u->inside)
            LB_TRY(zstd_frame(u, io, err));
        const uint8_t *in = io->in, *out = io->out;
        LB_TRY(zstd_some(u, io, err));
        if (io->in != in || io->out != out)
            continue;
        if (io->out == io->out_end && u->inside && (u->stays == NULL || io->in != io->in_end)) {
            *stop = LB_UNPACK_ROOM;
            return LB_OK;
        }
        if (io->in_last)
            return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "zstd: the file ends inside a frame");
        *stop = LB_UNPACK_INPUT;
        return LB_OK;
    }
}

const lb_container lb_container_zstd = {
    .name = "zstd",
    .endings = (const char *const[]){ "zst", "zstd", NULL },
    .point_kind = "zstd_frame",
    .straight = true,
    .open = zstd_open,
    .close = zstd_close,
    .begin = zstd_begin,
    .run = zstd_run,
};
