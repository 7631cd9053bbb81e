/* Gzip (RFC 1952): members one after the other, each a header, deflate, and the size and checksum of what came. Every border between
 * blocks is a restart point; at the first block of a member nothing before it is needed. */
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "codec/unpack_deflate.h"

enum { GZIP_TEXT = 1, GZIP_HEADER_CHECK = 2, GZIP_EXTRA = 4, GZIP_NAME = 8, GZIP_COMMENT = 16 };

#define GZIP_FIXED 10
#define GZIP_TRAILER 8

typedef enum gzip_state {
    GZIP_MEMBER, /* a header, or the end of the file */
    GZIP_EXTRA_SIZE,
    GZIP_SKIP_EXTRA,
    GZIP_SKIP_NAME,
    GZIP_SKIP_COMMENT,
    GZIP_SKIP_CHECK,
    GZIP_BODY_BEGINS,
    GZIP_BODY,
    GZIP_ENDS,
    GZIP_PADDING, /* zero bytes to the end of the file */
} gzip_state;

struct lb_unpacker {
    lb_inflate *inflate;
    gzip_state state;
    unsigned flags, skip;
    bool first;             /* no member was read yet */
    bool whole;             /* the member was read from its first byte: its checksum can be held against what came */
    lb_deflate_place place; /* in the member */
    uint32_t crc;
};

static lb_unpacker *gzip_open(lb_unpack_memory *memory)
{
    (void)memory;
    lb_unpacker *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->inflate = lb_inflate_new();
    if (u->inflate != NULL) {
        lb_inflate_name(u->inflate, "gzip");
        return u;
    }
    free(u);
    return NULL;
}

static void gzip_close(lb_unpacker *u)
{
    if (u != NULL)
        lb_inflate_free(u->inflate);
    free(u);
}

static lb_status gzip_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    (void)err;
    u->first = point == NULL;
    /* Nothing before it is needed: a member begins there. */
    u->whole = point != NULL && point->window == 0;
    u->crc = 0;
    u->place = (lb_deflate_place){ .before = point == NULL ? 0 : point->window };
    u->state = point == NULL ? GZIP_MEMBER : GZIP_BODY;
    lb_inflate_begin(u->inflate, point == NULL ? 0 : point->bit);
    return LB_OK;
}

static lb_status gzip_fail(const lb_unpack_io *io, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(io->in_at), "gzip: %s", what);
}

static void gzip_take(lb_unpack_io *io, size_t n)
{
    io->in += n;
    io->in_at += n;
}

/* ---------------------------------------------------------------- headers */

/* Is there so much input? Else more is wanted, or there is none. */
static bool gzip_has(const lb_unpack_io *io, size_t n)
{
    return (size_t)(io->in_end - io->in) >= n;
}

/* Zero bytes may follow the last member: tapes and tools pad with them. */
static lb_status gzip_padding(lb_unpack_io *io, lb_unpack_stop *stop, lb_error *err)
{
    while (io->in < io->in_end) {
        if (*io->in != 0)
            return gzip_fail(io, "bytes that are no gzip follow the last member", err);
        gzip_take(io, 1);
    }
    *stop = io->in_last ? LB_UNPACK_END : LB_UNPACK_INPUT;
    return LB_OK;
}

static lb_status gzip_fixed(lb_unpacker *u, lb_unpack_io *io, lb_error *err)
{
    const uint8_t *p = io->in;

    if (p[0] != 0x1F || p[1] != 0x8B)
        return u->first ? lb_unpack_is_other(io->in_at, "gzip", err)
                        : gzip_fail(io, "bytes that are no gzip follow the last member", err);
    if (p[2] != 8)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "gzip: compression method %u; only deflate (8) is known",
                       p[2]);
    if ((p[3] & 0xE0) != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(io->in_at), "gzip: flags 0x%02X of the header are not known", p[3]);
    u->flags = p[3];
    u->first = false;
    gzip_take(io, GZIP_FIXED);
    u->state = GZIP_EXTRA_SIZE;
    return LB_OK;
}

/* A member's header, or the file's end. *wait: more input is wanted, or nothing follows. */
static lb_status gzip_member(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    *wait = true;
    if (!u->first && (io->in == io->in_end ? io->in_last : *io->in == 0)) {
        u->state = GZIP_PADDING;
        return gzip_padding(io, stop, err);
    }
    if (!gzip_has(io, GZIP_FIXED)) {
        *stop = LB_UNPACK_INPUT;
        if (!io->in_last)
            return LB_OK;
        bool begins = gzip_has(io, 2) && io->in[0] == 0x1F && io->in[1] == 0x8B;
        if (u->first && !begins && gzip_has(io, 1))
            return lb_unpack_is_other(io->in_at, "gzip", err);
        return gzip_fail(
            io, u->first || begins ? "the file ends inside a header" : "bytes that are no gzip follow the last member",
            err);
    }
    *wait = false;
    return gzip_fixed(u, io, err);
}

/* Pass over text that ends in NUL. */
static bool gzip_pass_text(lb_unpack_io *io)
{
    size_t left = (size_t)(io->in_end - io->in);
    const uint8_t *nul = left == 0 ? NULL : memchr(io->in, 0, left);

    gzip_take(io, nul == NULL ? left : (size_t)(nul - io->in) + 1);
    return nul != NULL;
}

/* One part of the header behind its fixed bytes; false: more input is wanted. */
static bool gzip_header_part(lb_unpacker *u, lb_unpack_io *io)
{
    static const unsigned flag_of[] = { [GZIP_EXTRA_SIZE] = GZIP_EXTRA,
                                        [GZIP_SKIP_NAME] = GZIP_NAME,
                                        [GZIP_SKIP_COMMENT] = GZIP_COMMENT,
                                        [GZIP_SKIP_CHECK] = GZIP_HEADER_CHECK };
    bool there = u->state == GZIP_SKIP_EXTRA ? true : (u->flags & flag_of[u->state]) != 0;

    if (!there) {
        u->state = u->state == GZIP_EXTRA_SIZE ? GZIP_SKIP_NAME : u->state + 1;
        return true;
    }
    if (u->state == GZIP_SKIP_NAME || u->state == GZIP_SKIP_COMMENT) {
        if (!gzip_pass_text(io))
            return false;
    } else if (u->state == GZIP_SKIP_EXTRA) {
        size_t n = LB_MIN((size_t)u->skip, (size_t)(io->in_end - io->in));
        gzip_take(io, n);
        u->skip -= (unsigned)n;
        if (u->skip != 0)
            return false;
    } else {
        if (!gzip_has(io, 2))
            return false;
        u->skip = (unsigned)io->in[0] | (unsigned)io->in[1] << 8;
        gzip_take(io, 2);
    }
    u->state++;
    return true;
}

/* ---------------------------------------------------------------- bodies */

static lb_status gzip_body(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_unpack_point *point,
                           lb_error *err)
{
    const uint8_t *out = io->out;
    lb_inflate_stop why;
    const lb_status status = lb_unpack_inflate(u->inflate, io, &u->place, &why, point, err);

    if (u->whole)
        u->crc = libdeflate_crc32(u->crc, out, (size_t)(io->out - out));
    if (status != LB_OK)
        return status;
    *wait = why != LB_INFLATE_END;
    *stop = why == LB_INFLATE_INPUT ? LB_UNPACK_INPUT : why == LB_INFLATE_ROOM ? LB_UNPACK_ROOM : LB_UNPACK_BORDER;
    if (why == LB_INFLATE_END)
        u->state = GZIP_ENDS;
    return LB_OK;
}

static uint32_t gzip_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static lb_status gzip_ends(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_error *err)
{
    *wait = !gzip_has(io, GZIP_TRAILER);
    *stop = LB_UNPACK_INPUT;
    if (*wait)
        return io->in_last ? gzip_fail(io, "the file ends before the checksum of its last member", err) : LB_OK;
    if (u->whole && gzip_u32(io->in) != u->crc)
        return gzip_fail(io, "the checksum does not hold for what was compressed", err);
    if (u->whole && gzip_u32(io->in + 4) != (uint32_t)u->place.came)
        return gzip_fail(io, "the size does not hold for what was compressed", err);
    gzip_take(io, GZIP_TRAILER);
    lb_inflate_note(u->inflate, NULL);
    u->state = GZIP_MEMBER;
    return LB_OK;
}

/* The header is read: the first block is a border that needs nothing before it. */
static bool gzip_body_begins(lb_unpacker *u, const lb_unpack_io *io, lb_unpack_point *point)
{
    lb_inflate_begin(u->inflate, 0);
    u->place = (lb_deflate_place){ .came = 0 };
    u->crc = 0;
    u->whole = true;
    u->state = GZIP_BODY;
    *point = (lb_unpack_point){ .byte = io->in_at };
    return io->stop_at_borders;
}

static lb_status gzip_step(lb_unpacker *u, lb_unpack_io *io, bool *wait, lb_unpack_stop *stop, lb_unpack_point *point,
                           lb_error *err)
{
    *wait = false;
    switch (u->state) {
    case GZIP_MEMBER:
        return gzip_member(u, io, wait, stop, err);
    case GZIP_PADDING:
        *wait = true;
        return gzip_padding(io, stop, err);
    case GZIP_BODY_BEGINS:
        *wait = gzip_body_begins(u, io, point);
        *stop = LB_UNPACK_BORDER;
        return LB_OK;
    case GZIP_BODY:
        return gzip_body(u, io, wait, stop, point, err);
    case GZIP_ENDS:
        return gzip_ends(u, io, wait, stop, err);
    default:
        break;
    }
    *wait = !gzip_header_part(u, io);
    *stop = LB_UNPACK_INPUT;
    return *wait && io->in_last ? gzip_fail(io, "the file ends inside a header", err) : LB_OK;
}

static lb_status gzip_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point, lb_error *err)
{
    bool wait = false;
    lb_status status = LB_OK;

    while (status == LB_OK && !wait)
        status = gzip_step(u, io, &wait, stop, point, err);
    return status;
}

static void gzip_note(lb_unpacker *u, uint8_t *marks)
{
    lb_inflate_note(u->inflate, marks);
}

static bool gzip_notes(const lb_unpacker *u)
{
    return lb_inflate_notes(u->inflate);
}

const lb_container lb_container_gzip = {
    .name = "gzip",
    .endings = (const char *const[]){ "gz", "gzip", "bgz", NULL },
    .point_kind = "deflate",
    .straight = true,
    .open = gzip_open,
    .close = gzip_close,
    .begin = gzip_begin,
    .run = gzip_run,
    .note = gzip_note,
    .notes = gzip_notes,
};
