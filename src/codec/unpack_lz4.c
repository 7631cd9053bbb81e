/* LZ4 frames (the LZ4 frame format 1.6.4), one after the other, some of them skippable. Blocks are decoded one by one, so that
 * each is a restart point; where blocks lean on each other, with the 64 KiB before it. */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "codec/unpack.h"

#define LZ4_MAGIC 0x184D2204u
#define LZ4_SKIPPABLE 0x184D2A50u /* and the fifteen that follow */
#define LZ4_LEGACY 0x184C2102u

enum {
    LZ4_INDEPENDENT = 0x20,
    LZ4_BLOCK_CHECK = 0x10,
    LZ4_CONTENT_SIZE = 0x08,
    LZ4_CONTENT_CHECK = 0x04,
    LZ4_DICTIONARY = 0x01
};

typedef enum lz4_state {
    LZ4_FRAME,
    LZ4_SKIP,
    LZ4_BLOCK_BEGINS,
    LZ4_BLOCK_GATHERS,
    LZ4_GIVES,
    LZ4_FRAME_ENDS
} lz4_state;

struct lb_unpacker {
    lz4_state state;
    bool first, told;
    uint8_t flags; /* of the frame */
    bool whole;    /* the frame was read from its beginning: its checksum can be held against what came */
    bool plain;    /* the block is not compressed */
    size_t block;  /* bytes of the block in the file, its checksum included */
    size_t got;    /* of them gathered */
    size_t skip;   /* bytes of a skippable frame to come */
    size_t most;   /* bytes that a block of the frame may give */
    XXH32_state_t *sum;
    size_t given, made; /* of a decoded block: handed out; there */
    size_t kept;        /* bytes before a block that it may lean on */
    uint8_t *in;        /* a block as it stands in the file */
    uint8_t *out;       /* LB_UNPACK_HISTORY bytes, then a block */
    size_t room;        /* bytes of a block that both have room for */
    lb_unpack_memory *memory;
};

static void lz4_close(lb_unpacker *u)
{
    if (u == NULL)
        return;
    (void)XXH32_freeState(u->sum);
    lb_unpack_free(u->memory, u->in);
    lb_unpack_free(u->memory, u->out);
    free(u);
}

static lb_unpacker *lz4_open(lb_unpack_memory *memory)
{
    lb_unpacker *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->memory = memory;
    u->sum = XXH32_createState();
    if (u->sum != NULL)
        return u;
    lz4_close(u);
    return NULL;
}

/* Room for the blocks of a frame. */
static lb_status lz4_room(lb_unpacker *u, lb_error *err)
{
    if (u->room >= u->most)
        return LB_OK;
    lb_unpack_free(u->memory, u->in);
    lb_unpack_free(u->memory, u->out);
    u->room = 0;
    u->in = lb_unpack_alloc(u->memory, u->most + 4);
    u->out = lb_unpack_alloc(u->memory, LB_UNPACK_HISTORY + u->most);
    if (u->in == NULL || u->out == NULL)
        return lb_unpack_no_memory(u->memory, "lz4", err);
    u->room = u->most;
    return LB_OK;
}

/* A point's param: flags of the frame in the low bits that matter, and the size code of its blocks. */
static uint8_t lz4_param(const lb_unpacker *u)
{
    unsigned code = u->most == 65536 ? 4 : u->most == 262144 ? 5 : u->most == 1048576 ? 6 : 7;

    return (uint8_t)((u->flags & (LZ4_INDEPENDENT | LZ4_BLOCK_CHECK | LZ4_CONTENT_CHECK)) | (code - 4));
}

static lb_status lz4_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    u->first = point == NULL;
    u->told = point != NULL;
    u->whole = false;
    u->kept = 0;
    u->state = point == NULL ? LZ4_FRAME : LZ4_BLOCK_BEGINS;
    if (point != NULL) {
        u->flags = point->param & (LZ4_INDEPENDENT | LZ4_BLOCK_CHECK | LZ4_CONTENT_CHECK);
        u->most = (size_t)65536 << 2 * (point->param & 3);
        u->kept = SIZE_MAX; /* taken from what stands before the output */
        return lz4_room(u, err);
    }
    return LB_OK;
}

static lb_status lz4_fail(const lb_unpack_io *io, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "lz4: %s", what);
}

static uint32_t lz4_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void lz4_take(lb_unpack_io *io, size_t n)
{
    io->in += n;
    io->in_at += n;
}

static lb_status lz4_need(const lb_unpack_io *io, size_t n, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    *wait = (size_t)(io->in_end - io->in) < n;
    *stop = LB_UNPACK_INPUT;
    return *wait && io->in_last ? lz4_fail(io, "the file ends inside a frame", err) : LB_OK;
}

/* ---------------------------------------------------------------- frames */

static lb_status lz4_header(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    LB_TRY(lz4_need(io, 7, wait, stop, err));
    if (*wait)
        return LB_OK;
    uint8_t flags = io->in[4], sizes = io->in[5];
    size_t size = 2 + ((flags & LZ4_CONTENT_SIZE) != 0 ? 8 : 0) + ((flags & LZ4_DICTIONARY) != 0 ? 4 : 0);
    LB_TRY(lz4_need(io, 4 + size + 1, wait, stop, err));
    if (*wait)
        return LB_OK;
    if (flags >> 6 != 1 || (flags & 2) != 0 || (sizes & 0x8F) != 0 || sizes >> 4 < 4)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "lz4: a frame of a kind that is not known");
    if ((XXH32(io->in + 4, size, 0) >> 8 & 0xFF) != io->in[4 + size])
        return lz4_fail(io, "the header of a frame is damaged", err);
    if ((flags & LZ4_DICTIONARY) != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "lz4: the frame was compressed with a dictionary");
    u->flags = flags;
    u->most = (size_t)65536 << 2 * ((sizes >> 4) - 4);
    LB_TRY(lz4_room(u, err));
    u->kept = 0;
    u->whole = true;
    u->first = false;
    u->told = false;
    (void)XXH32_reset(u->sum, 0);
    lz4_take(io, 4 + size + 1);
    u->state = LZ4_BLOCK_BEGINS;
    return LB_OK;
}

static lb_status lz4_frame(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    if (!u->first && io->in == io->in_end && io->in_last) {
        *wait = true;
        *stop = LB_UNPACK_END;
        return LB_OK;
    }
    if (!u->first && io->in_last && io->in_end - io->in < 4)
        return lz4_fail(io, "bytes that are no lz4 follow the last frame", err);
    LB_TRY(lz4_need(io, 4, wait, stop, err));
    if (*wait)
        return LB_OK;
    uint32_t magic = lz4_u32(io->in);
    if (magic == LZ4_LEGACY)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "lz4: a frame of the legacy format (lz4 -l)");
    if (magic == LZ4_MAGIC)
        return lz4_header(u, io, wait, stop, err);
    if ((magic & 0xFFFFFFF0) != LZ4_SKIPPABLE)
        return u->first ? lb_unpack_is_other(io->in_at, "lz4", err)
                        : lz4_fail(io, "bytes that are no lz4 follow the last frame", err);
    LB_TRY(lz4_need(io, 8, wait, stop, err));
    if (*wait)
        return LB_OK;
    u->skip = lz4_u32(io->in + 4);
    lz4_take(io, 8);
    u->state = LZ4_SKIP;
    return LB_OK;
}

static lb_status lz4_skip(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    size_t n = LB_MIN(u->skip, (size_t)(io->in_end - io->in));

    lz4_take(io, n);
    u->skip -= n;
    if (u->skip != 0)
        return lz4_need(io, 1, wait, stop, err);
    u->first = false;
    u->state = LZ4_FRAME;
    return LB_OK;
}

static lb_status lz4_frame_ends(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    if ((u->flags & LZ4_CONTENT_CHECK) != 0) {
        LB_TRY(lz4_need(io, 4, wait, stop, err));
        if (*wait)
            return LB_OK;
        if (u->whole && lz4_u32(io->in) != XXH32_digest(u->sum))
            return lz4_fail(io, "the checksum of a frame does not hold for what was compressed", err);
        lz4_take(io, 4);
    }
    u->state = LZ4_FRAME;
    return LB_OK;
}

/* ---------------------------------------------------------------- blocks */

/* After a restart, what stands before the output is what the block leans on. */
static void lz4_keep_history(lb_unpacker *u, const lb_unpack_io *io)
{
    size_t n = LB_MIN((size_t)(io->out - io->history), (size_t)LB_UNPACK_HISTORY);

    if (n != 0)
        memcpy(u->out + LB_UNPACK_HISTORY - n, io->out - n, n);
    u->kept = n;
}

static lb_status lz4_block_begins(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop,
                                  lb_unpack_point *point, lb_error *err)
{
    LB_TRY(lz4_need(io, 4, wait, stop, err));
    if (*wait)
        return LB_OK;
    uint32_t word = lz4_u32(io->in);
    if (word != 0 && !u->told && io->stop_at_borders) {
        u->told = true;
        *wait = true;
        *stop = LB_UNPACK_BORDER;
        *point = (lb_unpack_point){ .byte = io->in_at,
                                    .window = (u->flags & LZ4_INDEPENDENT) != 0 ? 0 : (unsigned)u->kept,
                                    .param = lz4_param(u) };
        return LB_OK;
    }
    u->told = false;
    if (u->kept == SIZE_MAX)
        lz4_keep_history(u, io);
    lz4_take(io, 4);
    u->plain = word >> 31 != 0;
    u->block = word & 0x7FFFFFFF;
    u->got = 0;
    if (u->block > u->most)
        return lz4_fail(io, "a block is larger than its frame allows", err);
    u->block += (u->flags & LZ4_BLOCK_CHECK) != 0 ? 4 : 0;
    u->state = word == 0 ? LZ4_FRAME_ENDS : LZ4_BLOCK_GATHERS;
    return LB_OK;
}

static lb_status lz4_decode(lb_unpacker *u, const lb_unpack_io *io, lb_error *err)
{
    size_t check = (u->flags & LZ4_BLOCK_CHECK) != 0 ? 4 : 0, size = u->block - check;
    uint8_t *to = u->out + LB_UNPACK_HISTORY;
    size_t kept = (u->flags & LZ4_INDEPENDENT) != 0 ? 0 : u->kept;
    int made = (int)size;

    if (check != 0 && XXH32(u->in, size, 0) != lz4_u32(u->in + size))
        return lz4_fail(io, "the checksum of a block does not hold", err);
    if (u->plain)
        memcpy(to, u->in, size);
    else
        made = LZ4_decompress_safe_usingDict((const char *)u->in, (char *)to, (int)size, (int)u->most,
                                             (const char *)to - kept, (int)kept);
    if (made < 0)
        return lz4_fail(io, "a block is damaged", err);
    if (u->whole && (u->flags & LZ4_CONTENT_CHECK) != 0)
        (void)XXH32_update(u->sum, to, (size_t)made);
    u->made = (size_t)made;
    u->given = 0;
    u->state = LZ4_GIVES;
    return LB_OK;
}

static lb_status lz4_gathers(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    size_t n = LB_MIN(u->block - u->got, (size_t)(io->in_end - io->in));

    if (n != 0)
        memcpy(u->in + u->got, io->in, n);
    lz4_take(io, n);
    u->got += n;
    return u->got == u->block ? lz4_decode(u, io, err) : lz4_need(io, 1, wait, stop, err);
}

/* The last LB_UNPACK_HISTORY bytes of what came move before the next block. */
static void lz4_slide(lb_unpacker *u)
{
    size_t kept = (u->flags & LZ4_INDEPENDENT) != 0 ? 0 : LB_MIN(u->kept + u->made, (size_t)LB_UNPACK_HISTORY);

    memmove(u->out + LB_UNPACK_HISTORY - kept, u->out + LB_UNPACK_HISTORY + u->made - kept, kept);
    u->kept = kept;
    u->state = LZ4_BLOCK_BEGINS;
}

static lb_status lz4_gives(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop)
{
    size_t n = LB_MIN(u->made - u->given, (size_t)(io->out_end - io->out));

    if (n != 0)
        memcpy(io->out, u->out + LB_UNPACK_HISTORY + u->given, n);
    io->out += n;
    u->given += n;
    if (u->given == u->made)
        lz4_slide(u);
    else
        *wait = true;
    *stop = LB_UNPACK_ROOM;
    return LB_OK;
}

static lb_status lz4_step(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_unpack_point *point,
                          lb_error *err)
{
    *wait = false;
    switch (u->state) {
    case LZ4_FRAME:
        return lz4_frame(u, io, wait, stop, err);
    case LZ4_SKIP:
        return lz4_skip(u, io, wait, stop, err);
    case LZ4_BLOCK_BEGINS:
        return lz4_block_begins(u, io, wait, stop, point, err);
    case LZ4_BLOCK_GATHERS:
        return lz4_gathers(u, io, wait, stop, err);
    case LZ4_GIVES:
        return lz4_gives(u, io, wait, stop);
    case LZ4_FRAME_ENDS:
        return lz4_frame_ends(u, io, wait, stop, err);
    }
    return LB_OK;
}

static lb_status lz4_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point, lb_error *err)
{
    bool wait = false;
    lb_status status = LB_OK;

    while (status == LB_OK && !wait)
        status = lz4_step(u, io, &wait, stop, point, err);
    return status;
}

const lb_container lb_container_lz4 = {
    .name = "lz4",
    .endings = (const char *const[]){ "lz4", NULL },
    .point_kind = "lz4_block",
    .open = lz4_open,
    .close = lz4_close,
    .begin = lz4_begin,
    .run = lz4_run,
};
