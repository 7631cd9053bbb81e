/* Deflate alone (RFC 1951), as parts of ZIP archives have it: no header, no checksum, one stream. Every border between blocks is a
 * restart point. */
#include <stdlib.h>
#include <string.h>

#include "codec/unpack_deflate.h"

struct lb_unpacker {
    lb_inflate *inflate;
    lb_deflate_place place;
    bool ended;
};

lb_status lb_unpack_inflate(lb_inflate *z, lb_unpack_io *io, lb_deflate_place *place, lb_inflate_stop *why,
                            lb_unpack_point *point, lb_error *err)
{
    const uint64_t reach = LB_MIN(place->came + place->before, (uint64_t)LB_INFLATE_WINDOW);
    const size_t kept = (size_t)(io->out - io->history);
    lb_inflate_io run = { .in = io->in,
                          .in_end = io->in_end,
                          .out = io->out,
                          .out_end = io->out_end,
                          .history = io->out - LB_MIN((uint64_t)kept, reach),
                          .in_at = io->in_at,
                          .in_last = io->in_last,
                          .stop_at_blocks = io->stop_at_borders };
    const lb_status status = lb_inflate_run(z, &run, why, err);

    place->came += (size_t)(run.out - io->out);
    io->in = run.in;
    io->in_at = run.in_at;
    io->out = run.out;
    if (status == LB_OK && *why == LB_INFLATE_BLOCK) {
        lb_inflate_place(z, &run, &point->byte, &point->bit);
        point->window = (unsigned)LB_MIN(place->came + place->before, (uint64_t)LB_INFLATE_WINDOW);
    }
    return status;
}

static lb_unpacker *deflate_open(lb_unpack_memory *memory)
{
    (void)memory;
    lb_unpacker *u = calloc(1, sizeof *u);

    if (u == NULL)
        return NULL;
    u->inflate = lb_inflate_new();
    if (u->inflate != NULL)
        return u;
    free(u);
    return NULL;
}

static void deflate_close(lb_unpacker *u)
{
    if (u != NULL)
        lb_inflate_free(u->inflate);
    free(u);
}

static lb_status deflate_begin(lb_unpacker *u, const lb_unpack_point *point, lb_error *err)
{
    (void)err;
    u->place = (lb_deflate_place){ .before = point == NULL ? 0 : point->window };
    u->ended = false;
    lb_inflate_begin(u->inflate, point == NULL ? 0 : point->bit);
    return LB_OK;
}

static lb_status deflate_run(lb_unpacker *u, lb_unpack_io *io, lb_unpack_stop *stop, lb_unpack_point *point,
                             lb_error *err)
{
    static const lb_unpack_stop stop_of[] = { [LB_INFLATE_INPUT] = LB_UNPACK_INPUT,
                                              [LB_INFLATE_ROOM] = LB_UNPACK_ROOM,
                                              [LB_INFLATE_BLOCK] = LB_UNPACK_BORDER,
                                              [LB_INFLATE_END] = LB_UNPACK_END };
    lb_inflate_stop why = LB_INFLATE_END;

    *stop = LB_UNPACK_END;
    if (u->ended)
        return LB_OK;
    LB_TRY(lb_unpack_inflate(u->inflate, io, &u->place, &why, point, err));
    *stop = stop_of[why];
    u->ended = why == LB_INFLATE_END;
    if (why == LB_INFLATE_END)
        lb_inflate_note(u->inflate, NULL);
    return LB_OK;
}

static void deflate_note(lb_unpacker *u, uint8_t *marks)
{
    lb_inflate_note(u->inflate, marks);
}

static bool deflate_notes(const lb_unpacker *u)
{
    return lb_inflate_notes(u->inflate);
}

const lb_container lb_container_deflate = {
    .name = "deflate",
    .endings = (const char *const[]){ NULL },
    .point_kind = "deflate",
    .open = deflate_open,
    .close = deflate_close,
    .begin = deflate_begin,
    .run = deflate_run,
    .note = deflate_note,
    .notes = deflate_notes,
};
