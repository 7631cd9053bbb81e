/* Bzip2: streams one after the other, as parallel compressors write them. Each stream is a restart point. */
#include <bzlib.h>
#include <limits.h>
#include <stdlib.h>

#include "codec/unpack.h"

struct lb_unpacker {
    bz_stream stream;
    bool inside; /* a stream */
    bool told;   /* that this border is one */
    bool first;
};

static lb_unpacker *bzip2_open(void)
{
    return calloc(1, sizeof(lb_unpacker));
}

static void bzip2_leave(lb_unpacker *u)
{
    if (u->inside)
        (void)BZ2_bzDecompressEnd(&u->stream);
    u->inside = false;
}

static void bzip2_close(lb_unpacker *u)
{
    if (u != NULL)
        bzip2_leave(u);
    free(u);
}

static lb_status bzip2_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    (void)err;
    bzip2_leave(u);
    u->told = point != NULL;
    u->first = point == NULL;
    return LB_OK;
}

static lb_status bzip2_enter(lb_unpacker *u, lb_error *err)
{
    u->stream = (bz_stream){ .avail_in = 0 };
    if (BZ2_bzDecompressInit(&u->stream, 0, 0) != BZ_OK)
        return lb_fail_nomem(err);
    u->inside = true;
    u->told = false;
    return LB_OK;
}

static lb_status bzip2_some(lb_unpacker *u, lb_unpack_io *io, lb_error *err)
{
    unsigned room = (unsigned)LB_MIN((size_t)(io->out_end - io->out), (size_t)UINT_MAX);
    unsigned given = (unsigned)LB_MIN((size_t)(io->in_end - io->in), (size_t)UINT_MAX);

    /* The library takes its input as a pointer to what could be written, and writes nothing there. */
    u->stream.next_in = (char *)(uintptr_t)io->in;
    u->stream.avail_in = given;
    u->stream.next_out = (char *)io->out;
    u->stream.avail_out = room;
    int result = BZ2_bzDecompress(&u->stream);
    io->in += given - u->stream.avail_in;
    io->in_at += given - u->stream.avail_in;
    io->out += room - u->stream.avail_out;
    switch (result) {
    case BZ_OK:
        return LB_OK;
    case BZ_STREAM_END:
        bzip2_leave(u);
        u->first = false;
        return LB_OK;
    case BZ_MEM_ERROR:
        return lb_fail_nomem(err);
    case BZ_DATA_ERROR_MAGIC:
        return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at),
                       u->first ? "bzip2: the file does not begin as bzip2 does"
                                : "bzip2: bytes that are no bzip2 follow the last stream");
    default:
        return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "bzip2: a block is damaged: its checksum does not hold");
    }
}

static lb_status bzip2_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point,
                           lb_error *err)
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
        if (io->out == io->out_end) {
            *stop = LB_UNPACK_ROOM;
            return LB_OK;
        }
        if (!u->inside)
            LB_TRY(bzip2_enter(u, err));
        const uint8_t *in = io->in, *out = io->out;
        LB_TRY(bzip2_some(u, io, err));
        if (io->in != in || io->out != out || !u->inside)
            continue;
        if (io->in_last)
            return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "bzip2: the file ends inside a stream");
        *stop = LB_UNPACK_INPUT;
        return LB_OK;
    }
}

const lb_container lb_container_bzip2 = {
    .name = "bzip2",
    .endings = (const char *const[]){ "bz2", "bzip2", NULL },
    .point_kind = "bzip2_block",
    .open = bzip2_open,
    .close = bzip2_close,
    .begin = bzip2_begin,
    .run = bzip2_run,
};
