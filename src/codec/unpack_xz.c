/* Xz (the .xz file format 1.1.0): streams of blocks, each stream with an index behind its blocks. Blocks are decoded one by one, so
 * that each is a restart point; a stream's index and footer are checked by going over them again. */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "codec/unpack.h"

/* The largest preset's dictionary takes 65 MiB. */
#define XZ_MEMORY (UINT64_C(512) << 20)

typedef enum xz_state { XZ_STREAM, XZ_BLOCK_BEGINS, XZ_BLOCK, XZ_INDEX, XZ_FOOTER } xz_state;

struct lb_unpacker {
    xz_state state;
    lzma_stream stream; /* of a block, or of an index that is passed over */
    lzma_block block;
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_check check;
    lzma_index_hash *hash; /* of the stream's blocks; NULL: it was not read from its beginning */
    lzma_index *index;     /* then the index is read for itself */
    bool indexing;         /* the index's decoder is at work */
    bool first, told;
    unsigned padding; /* zero bytes behind the last stream, modulo 4 */
    lb_unpack_memory *memory;
    lzma_allocator allocator;
};

static void *xz_alloc(void *memory, size_t count, size_t size)
{
    size_t bytes;

    return lb_mul_size(count, size, &bytes) ? lb_unpack_alloc(memory, bytes) : NULL;
}

static void xz_free(void *memory, void *p)
{
    lb_unpack_free(memory, p);
}

static lb_unpacker *xz_open(lb_unpack_memory *memory)
{
    lb_unpacker *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->filters[0].id = LZMA_VLI_UNKNOWN;
    u->memory = memory;
    u->allocator = (lzma_allocator){ .alloc = xz_alloc, .free = xz_free, .opaque = memory };
    u->stream = (lzma_stream)LZMA_STREAM_INIT;
    u->stream.allocator = &u->allocator;
    return u;
}

static void xz_filters_free(lb_unpacker *u)
{
    for (size_t i = 0; u->filters[i].id != LZMA_VLI_UNKNOWN; i++)
        lb_unpack_free(u->memory, u->filters[i].options);
    u->filters[0].id = LZMA_VLI_UNKNOWN;
}

static void xz_reset(lb_unpacker *u)
{
    lzma_end(&u->stream);
    u->stream = (lzma_stream)LZMA_STREAM_INIT;
    u->stream.allocator = &u->allocator;
    lzma_index_hash_end(u->hash, &u->allocator);
    u->hash = NULL;
    lzma_index_end(u->index, &u->allocator);
    u->index = NULL;
    u->indexing = false;
    xz_filters_free(u);
}

static void xz_close(lb_unpacker *u)
{
    if (u != NULL)
        xz_reset(u);
    free(u);
}

static lb_status xz_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    (void)err;
    xz_reset(u);
    u->first = point == NULL;
    u->told = point != NULL;
    u->check = point == NULL ? LZMA_CHECK_NONE : (lzma_check)point->param;
    u->state = point == NULL ? XZ_STREAM : XZ_BLOCK_BEGINS;
    u->padding = 0;
    return LB_OK;
}

static lb_status xz_fail(const lb_unpacker *u, const lb_unpack_io *io, lzma_ret code, const char *what, lb_error *err)
{
    if (code == LZMA_MEM_ERROR)
        return lb_unpack_no_memory(u->memory, "xz", err);
    if (code == LZMA_OPTIONS_ERROR)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "xz: %s has options that are not known", what);
    return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "xz: %s is damaged", what);
}

static lb_status xz_cut(const lb_unpack_io *io, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "xz: the file ends inside a stream");
}

static void xz_take(lb_unpack_io *io, size_t n)
{
    io->in += n;
    io->in_at += n;
}

/* Are `n` bytes there? If not, more are asked for, or there are none (CORRUPT). */
static lb_status xz_need(const lb_unpack_io *io, size_t n, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    *wait = (size_t)(io->in_end - io->in) < n;
    *stop = LB_UNPACK_INPUT;
    return *wait && io->in_last ? xz_cut(io, err) : LB_OK;
}

/* ---------------------------------------------------------------- streams */

/* Zero bytes in fours may stand behind a stream. */
static lb_status xz_padding(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    for (; io->in < io->in_end && *io->in == 0; u->padding = (u->padding + 1) % 4)
        xz_take(io, 1);
    *wait = io->in == io->in_end;
    *stop = io->in_last ? LB_UNPACK_END : LB_UNPACK_INPUT;
    if ((!*wait || io->in_last) && u->padding != 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at),
                       "xz: zero bytes behind a stream that are no multiple of four");
    return LB_OK;
}

/* Do the next bytes, however few, begin otherwise than a stream? */
static bool xz_is_other(const lb_unpack_io *io)
{
    static const uint8_t magic[6] = { 0xFD, '7', 'z', 'X', 'Z', 0 };

    return memcmp(io->in, magic, LB_MIN((size_t)(io->in_end - io->in), sizeof magic)) != 0;
}

static lb_status xz_stream(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    lzma_stream_flags flags;

    *wait = false;
    if (!u->first)
        LB_TRY(xz_padding(u, io, wait, stop, err));
    if (*wait)
        return LB_OK;
    if (!u->first && xz_is_other(io))
        return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "xz: bytes that are no xz follow the last stream");
    LB_TRY(xz_need(io, LZMA_STREAM_HEADER_SIZE, wait, stop, err));
    if (*wait)
        return LB_OK;
    lzma_ret code = lzma_stream_header_decode(&flags, io->in);
    if (code == LZMA_FORMAT_ERROR)
        return lb_unpack_is_other(io->in_at, "xz", err);
    if (code != LZMA_OK)
        return xz_fail(u, io, code, "the header of a stream", err);
    xz_reset(u);
    u->hash = lzma_index_hash_init(NULL, &u->allocator);
    if (u->hash == NULL)
        return lb_unpack_no_memory(u->memory, "xz", err);
    u->check = flags.check;
    u->first = false;
    u->told = false;
    u->state = XZ_BLOCK_BEGINS;
    xz_take(io, LZMA_STREAM_HEADER_SIZE);
    return LB_OK;
}

/* The index has to be that of the blocks that were read; one whose first blocks were not read is read for itself. */
static lzma_ret xz_index_some(lb_unpacker *u, lb_unpack_io *io)
{
    size_t at = 0;

    if (u->hash != NULL) {
        lzma_ret code = lzma_index_hash_decode(u->hash, io->in, &at, (size_t)(io->in_end - io->in));
        xz_take(io, at);
        return code;
    }
    if (!u->indexing) {
        lzma_ret made = lzma_index_decoder(&u->stream, &u->index, XZ_MEMORY);
        if (made != LZMA_OK)
            return made;
        u->indexing = true;
    }
    u->stream.next_in = io->in;
    u->stream.avail_in = (size_t)(io->in_end - io->in);
    lzma_ret code = lzma_code(&u->stream, LZMA_RUN);
    xz_take(io, (size_t)(io->in_end - io->in) - u->stream.avail_in);
    return code;
}

static lb_status xz_index(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    LB_TRY(xz_need(io, 1, wait, stop, err));
    if (*wait)
        return LB_OK;
    lzma_ret code = xz_index_some(u, io);
    if (code == LZMA_OK || code == LZMA_BUF_ERROR)
        return LB_OK;
    if (code != LZMA_STREAM_END)
        return xz_fail(u, io, code, "the index of a stream", err);
    u->state = XZ_FOOTER;
    return LB_OK;
}

static lb_status xz_footer(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    lzma_stream_flags flags;

    LB_TRY(xz_need(io, LZMA_STREAM_HEADER_SIZE, wait, stop, err));
    if (*wait)
        return LB_OK;
    lzma_ret code = lzma_stream_footer_decode(&flags, io->in);
    if (code != LZMA_OK)
        return xz_fail(u, io, code, "the footer of a stream", err);
    if (u->hash != NULL && (flags.backward_size != lzma_index_hash_size(u->hash) || flags.check != u->check))
        return xz_fail(u, io, LZMA_DATA_ERROR, "the footer of a stream", err);
    xz_take(io, LZMA_STREAM_HEADER_SIZE);
    u->state = XZ_STREAM;
    u->padding = 0;
    return LB_OK;
}

/* ---------------------------------------------------------------- blocks */

static lb_status xz_block_header(lb_unpacker *u, lb_unpack_io *io, lb_error *err)
{
    xz_filters_free(u);
    u->block = (lzma_block){ .version = 1, .check = u->check, .filters = u->filters };
    u->block.header_size = lzma_block_header_size_decode(*io->in);
    lzma_ret code = lzma_block_header_decode(&u->block, &u->allocator, io->in);
    if (code != LZMA_OK) {
        u->filters[0].id = LZMA_VLI_UNKNOWN;
        return xz_fail(u, io, code, "the header of a block", err);
    }
    if (lzma_raw_decoder_memusage(u->filters) > XZ_MEMORY)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "xz: a block wants more than 512 MiB of memory");
    code = lzma_block_decoder(&u->stream, &u->block);
    if (code != LZMA_OK)
        return xz_fail(u, io, code, "the header of a block", err);
    xz_take(io, u->block.header_size);
    u->state = XZ_BLOCK;
    u->told = false;
    return LB_OK;
}

/* At a block, or at the index that begins with a zero byte. */
static lb_status xz_block_begins(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop,
                                 lb_unpack_point *point, lb_error *err)
{
    LB_TRY(xz_need(io, 1, wait, stop, err));
    if (*wait)
        return LB_OK;
    if (*io->in == 0) {
        u->state = XZ_INDEX;
        return LB_OK;
    }
    LB_TRY(xz_need(io, lzma_block_header_size_decode(*io->in), wait, stop, err));
    if (*wait)
        return LB_OK;
    if (!io->stop_at_borders || u->told)
        return xz_block_header(u, io, err);
    u->told = true;
    *wait = true;
    *stop = LB_UNPACK_BORDER;
    *point = (lb_unpack_point){ .byte = io->in_at, .param = (uint8_t)u->check };
    return LB_OK;
}

static lb_status xz_block(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    size_t in_size = (size_t)(io->in_end - io->in), room = (size_t)(io->out_end - io->out);

    u->stream.next_in = io->in;
    u->stream.avail_in = in_size;
    u->stream.next_out = io->out;
    u->stream.avail_out = room;
    lzma_ret code = lzma_code(&u->stream, LZMA_RUN);
    xz_take(io, in_size - u->stream.avail_in);
    io->out += room - u->stream.avail_out;
    if (code == LZMA_STREAM_END) {
        if (u->hash != NULL)
            code = lzma_index_hash_append(u->hash, lzma_block_unpadded_size(&u->block), u->block.uncompressed_size);
        u->state = XZ_BLOCK_BEGINS;
        return code == LZMA_OK || code == LZMA_STREAM_END ? LB_OK : xz_fail(u, io, code, "the index of a stream", err);
    }
    if (code != LZMA_OK && code != LZMA_BUF_ERROR)
        return xz_fail(u, io, code, "a block", err);
    *wait = io->out == io->out_end || io->in == io->in_end;
    *stop = io->out == io->out_end ? LB_UNPACK_ROOM : LB_UNPACK_INPUT;
    return *wait && *stop == LB_UNPACK_INPUT && io->in_last ? xz_cut(io, err) : LB_OK;
}

static lb_status xz_step(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_unpack_point *point,
                         lb_error *err)
{
    *wait = false;
    switch (u->state) {
    case XZ_STREAM:
        return xz_stream(u, io, wait, stop, err);
    case XZ_BLOCK_BEGINS:
        return xz_block_begins(u, io, wait, stop, point, err);
    case XZ_BLOCK:
        return xz_block(u, io, wait, stop, err);
    case XZ_INDEX:
        return xz_index(u, io, wait, stop, err);
    case XZ_FOOTER:
        return xz_footer(u, io, wait, stop, err);
    }
    return LB_OK;
}

static lb_status xz_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point, lb_error *err)
{
    bool wait = false;
    lb_status status = LB_OK;

    while (status == LB_OK && !wait)
        status = xz_step(u, io, &wait, stop, point, err);
    return status;
}

const lb_container lb_container_xz = {
    .name = "xz",
    .endings = (const char *const[]){ "xz", NULL },
    .point_kind = "xz_block",
    .open = xz_open,
    .close = xz_close,
    .begin = xz_begin,
    .run = xz_run,
};
