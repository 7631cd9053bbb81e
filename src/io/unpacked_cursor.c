/* A cursor of the view of a compressed file: it decompresses on from where it stands, and notes restart points as it comes by. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "io/unpacked_inside.h"

#define CURSOR_FILL ((size_t)64 << 10) /* read at a time: a cursor that is sent elsewhere has read some of it in vain */
#define CURSOR_STEP ((size_t)16 << 10)
#define CURSOR_WINDOW_LEVEL 3

/* ---------------------------------------------------------------- noting points */

/* The point's window is settled: packed, and kept. */
static lb_status cursor_settle(lb_unpacked_store *s, lb_unpacked_cursor *c, lb_error *err)
{
    size_t n = c->point.at.window, from = LB_UNPACK_HISTORY - n, cap = ZSTD_compressBound(n);
    uint8_t *packed = malloc(cap + 1);

    c->noting = false;
    if (packed == NULL)
        return lb_fail_nomem(err);
    for (size_t i = from; s->container->note != NULL && i < LB_UNPACK_HISTORY; i++)
        if (c->marks[i] == 0)
            c->window[i] = 0;
    size_t size = ZSTD_compress(packed, cap, c->window + from, n, CURSOR_WINDOW_LEVEL);
    lb_status status = ZSTD_isError(size) ? lb_fail_nomem(err) : LB_OK;
    c->point.window = packed;
    c->point.window_size = size;
    if (status == LB_OK) {
        pthread_mutex_lock(&s->lock);
        status = lb_unpacked_points_add(s, &c->point, err);
        pthread_mutex_unlock(&s->lock);
    }
    free(packed);
    return status;
}

static lb_status cursor_other_size(const lb_unpacked_store *s, uint64_t at, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(at), "%s: a frame gives another number of bytes than the file says of it",
                   s->container->name);
}

/* Points that were given may be wrong: where the cursor comes by one, it has to stand where the point says. */
static lb_status cursor_check(lb_unpacked_store *s, const lb_unpacked_cursor *c, const lb_unpack_point *at,
                              lb_error *err)
{
    pthread_mutex_lock(&s->lock);
    const lb_unpacked_point *p = lb_unpacked_points_find(s, at);
    const bool holds = p == NULL || p->out_at == c->at;
    pthread_mutex_unlock(&s->lock);
    return holds ? LB_OK : cursor_other_size(s, at->byte, err);
}

/* The cursor stands at a border. One that is far enough behind the last point becomes a point. */
static lb_status cursor_border(lb_unpacked_store *s, lb_unpacked_cursor *c, const lb_unpack_point *at, lb_error *err)
{
    c->at_point = at->window == 0;
    if (s->known)
        return cursor_check(s, c, at, err);
    if (c->at - c->point_at < LB_UNPACKED_SPACING)
        return LB_OK;
    c->point_at = c->at;
    c->point = (lb_unpacked_point){ .at = *at, .out_at = c->at };
    if (at->window == 0) {
        pthread_mutex_lock(&s->lock);
        lb_status status = lb_unpacked_points_add(s, &c->point, err);
        pthread_mutex_unlock(&s->lock);
        return status;
    }
    if (at->window > c->out_to - c->out_from)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "less is left of what was decompressed than a restart needs");
    memcpy(c->window + LB_UNPACK_HISTORY - at->window, c->out + c->out_to - at->window, at->window);
    c->noting = true;
    if (s->container->note == NULL)
        return cursor_settle(s, c, err);
    /* The container's marks are of the bytes that its matches can reach, the last ones of ours. */
    memset(c->marks, 0, LB_UNPACK_HISTORY);
    s->container->note(c->unpacker, c->marks + LB_UNPACK_HISTORY - LB_INFLATE_WINDOW);
    return LB_OK;
}

/* ---------------------------------------------------------------- cursors */

static lb_status cursor_make(lb_unpacked_store *s, lb_unpacked_cursor *c, lb_error *err)
{
    if (c->unpacker != NULL)
        return LB_OK;
    c->memory = (lb_unpack_memory){ .budget = &s->cx->budget };
    bool granted = lb_unpack_take(&c->memory, LB_UNPACKED_CURSOR_BYTES);
    uint8_t *memory = granted ? malloc(LB_UNPACKED_CURSOR_BYTES) : NULL;
    lb_unpacker *u = memory == NULL ? NULL : s->container->open(&c->memory);
    if (u == NULL) {
        free(memory);
        lb_status status = lb_unpack_no_memory(&c->memory, s->container->name, err);
        lb_budget_give(&s->cx->budget, c->memory.taken);
        return status;
    }
    c->unpacker = u;
    c->out = memory;
    c->in = memory + LB_UNPACKED_OUT + LB_UNPACK_HISTORY;
    c->window = c->in + LB_UNPACKED_IN;
    c->marks = c->window + LB_UNPACK_HISTORY;
    return LB_OK;
}

/* Free what the cursor holds; it can be made again. */
void lb_unpacked_cursor_free(lb_unpacked_store *s, lb_unpacked_cursor *c)
{
    if (c->unpacker == NULL)
        return;
    s->container->close(c->unpacker);
    c->unpacker = NULL;
    c->begun = false;
    free(c->out);
    lb_budget_give(&s->cx->budget, c->memory.taken);
}

static lb_status cursor_window(lb_unpacked_cursor *c, const lb_unpacked_point *p, lb_error *err)
{
    if (p->at.window > LB_UNPACK_HISTORY)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the map's restart point at byte %llu has a window of %u bytes",
                       (unsigned long long)p->at.byte, p->at.window);
    size_t got = ZSTD_decompress(c->out, LB_UNPACK_HISTORY, p->window, p->window_size);
    if (ZSTD_isError(got) || got != p->at.window)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                       "the map's restart point at byte %llu has a window that does not read",
                       (unsigned long long)p->at.byte);
    c->out_to = got;
    return LB_OK;
}

/* Put the cursor at a point (lent for the call; NULL: at the beginning). */
lb_status lb_unpacked_cursor_begin(lb_unpacked_store *s, lb_unpacked_cursor *c, const lb_unpacked_point *p,
                                   lb_error *err)
{
    LB_TRY(cursor_make(s, c, err));
    c->begun = c->ended = c->noting = false;
    c->in_most = UINT64_MAX;
    c->in_from = c->in_to = c->out_from = c->out_to = 0;
    c->in_next = p == NULL ? 0 : p->at.byte;
    c->at = c->point_at = c->begun_at = c->first = p == NULL ? 0 : p->out_at;
    if (p != NULL && p->at.window != 0)
        LB_TRY(cursor_window(c, p, err));
    LB_TRY(s->container->begin(c->unpacker, p == NULL ? NULL : &p->at, err));
    c->begun = true;
    c->at_point = p == NULL || p->at.window == 0;
    return LB_OK;
}

/* Read on in the file. */
static lb_status cursor_fill(lb_unpacked_store *s, lb_unpacked_cursor *c, lb_error *err)
{
    size_t left = c->in_to - c->in_from, size = LB_MIN(LB_UNPACKED_IN - left, CURSOR_FILL), got;

    LB_TRY(lb_check_cancel(s->cx, err));
    if (c->in_next < c->in_most)
        size = (size_t)LB_MIN((uint64_t)size, c->in_most - c->in_next);
    memmove(c->in, c->in + c->in_from, left);
    c->in_from = 0;
    c->in_to = left;
    LB_TRY(lb_store_read(s->packed, c->in_next, c->in + left, size, &got, err));
    if (got == 0 && c->in_next < s->packed->size)
        return lb_fail(err, LB_STALE, LB_AT(c->in_next), "the file became shorter while it was read");
    lb_unpacked_turns_give(s, c->in_next, c->in + left, got);
    c->in_to += got;
    c->in_next += got;
    return LB_OK;
}

/* Room for output, with enough of what came before it. */
static void cursor_slide(lb_unpacked_cursor *c)
{
    size_t keep = LB_MIN(c->out_to - c->out_from, (size_t)LB_UNPACK_HISTORY);

    if (c->out_to < LB_UNPACKED_OUT + LB_UNPACK_HISTORY)
        return;
    memmove(c->out, c->out + c->out_to - keep, keep);
    c->out_from = 0;
    c->out_to = keep;
}

/* The cursor went on from a place. Others may have failed on this way for what it did not see. */
static lb_status cursor_passed(lb_unpacked_store *s, const lb_unpacked_cursor *c, uint64_t from, lb_error *err)
{
    lb_status status = LB_OK;

    if (!atomic_load_explicit(&s->failed, memory_order_acquire))
        return LB_OK;
    pthread_mutex_lock(&s->lock);
    if (c->first < s->failed_at && from <= s->failed_at && (c->at > s->failed_at || c->ended)) {
        status = LB_CORRUPT;
        *err = s->failure;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Decompress into `io`, which says where to; *came: so many bytes. */
static lb_status cursor_some(lb_unpacked_store *s, lb_unpacked_cursor *c, lb_unpack_io *io, lb_unpack_stop *stop,
                             lb_unpack_point *point, size_t *came, lb_error *err)
{
    const uint8_t *out = io->out;
    const uint64_t from = c->at;

    io->in = c->in + c->in_from;
    io->in_end = c->in + c->in_to;
    io->in_at = c->in_next - (c->in_to - c->in_from);
    io->in_last = c->in_next >= s->packed->size;
    io->stop_at_borders = true;
    lb_status status = s->container->run(c->unpacker, io, stop, point, err);
    *came = (size_t)(io->out - out);
    c->in_from = (size_t)(io->in - c->in);
    c->at += *came;
    if (*came != 0)
        c->at_point = false;
    c->ended = status == LB_OK && *stop == LB_UNPACK_END;
    return status == LB_OK ? cursor_passed(s, c, from, err) : status;
}

/* Decompress some more: about as much as is wanted, for a cursor that was asked for little may be wanted elsewhere. */
static lb_status cursor_run(lb_unpacked_store *s, lb_unpacked_cursor *c, uint64_t want, lb_error *err)
{
    lb_unpack_stop stop;
    lb_unpack_point point = { 0 };
    size_t came;

    cursor_slide(c);
    size_t room = LB_UNPACKED_OUT + LB_UNPACK_HISTORY - c->out_to;
    room = (size_t)LB_MIN((uint64_t)room, LB_MAX(want, (uint64_t)CURSOR_STEP));
    lb_unpack_io io = { .out = c->out + c->out_to,
                        .out_end = c->out + c->out_to + room,
                        .history = c->out + c->out_from };
    lb_status status = cursor_some(s, c, &io, &stop, &point, &came, err);
    c->out_to += came;
    if (status != LB_OK)
        return status;
    if (c->noting && (c->ended || !s->container->notes(c->unpacker)))
        LB_TRY(cursor_settle(s, c, err));
    if (stop == LB_UNPACK_BORDER)
        return cursor_border(s, c, &point, err);
    return stop == LB_UNPACK_INPUT ? cursor_fill(s, c, err) : LB_OK;
}

/* The first byte that the cursor still has. */
uint64_t lb_unpacked_cursor_from(const lb_unpacked_cursor *c)
{
    return LB_MAX(c->at - (c->out_to - c->out_from), c->begun_at);
}

/* A read ends where a point is, at which the next one may begin anew: a checksum that stands before it is for this cursor to meet. */
static lb_status cursor_meet(lb_unpacked_store *s, lb_unpacked_cursor *c, uint64_t end, lb_error *err)
{
    if (!s->known || c->at != end || c->at_point)
        return LB_OK;
    pthread_mutex_lock(&s->lock);
    const size_t behind = lb_unpacked_points_behind(s, end);
    const bool point = behind != 0 && s->points[behind - 1].out_at == end;
    pthread_mutex_unlock(&s->lock);
    while (point && c->at == end && !c->at_point && !c->ended)
        LB_TRY(cursor_run(s, c, 0, err));
    return LB_OK;
}

lb_status lb_unpacked_cursor_read(lb_unpacked_store *s, lb_unpacked_cursor *c, uint64_t offset, uint8_t *out,
                                  size_t size, size_t *got, lb_error *err)
{
    while (*got < size) {
        uint64_t from = lb_unpacked_cursor_from(c), want = offset + *got;
        if (want >= from && want < c->at) {
            size_t n = (size_t)LB_MIN((uint64_t)(size - *got), c->at - want);
            memcpy(out + *got, c->out + c->out_to - (size_t)(c->at - want), n);
            *got += n;
        } else if (c->ended) {
            return LB_OK;
        } else {
            LB_TRY(cursor_run(s, c, want + (size - *got) - c->at, err));
        }
    }
    return cursor_meet(s, c, offset + size, err);
}

/* ---------------------------------------------------------------- straight to where bytes are wanted */

/* The first bytes are there: others may want them. *kept: so many were kept so far. */
static void cursor_keep_head(lb_unpacked_store *s, const lb_unpacked_cursor *c, const uint8_t *out, uint64_t begin,
                             bool all, bool *kept)
{
    const uint64_t came = c->at - begin;

    if (*kept || (came < LB_UNPACKED_HEAD && !all))
        return;
    *kept = true;
    pthread_mutex_lock(&s->lock);
    lb_unpacked_heads_keep(s, begin, out, (size_t)LB_MIN(came, (uint64_t)LB_UNPACKED_HEAD));
    pthread_mutex_unlock(&s->lock);
}

static lb_status cursor_straight(lb_unpacked_store *s, lb_unpacked_cursor *c, uint8_t *out, size_t size, lb_error *err)
{
    const uint64_t begin = c->at, until = begin + size;
    lb_unpack_io io = { .out = out, .out_end = out + size, .history = out, .out_stays = true };
    lb_unpack_point point = { 0 };
    lb_unpack_stop stop;
    bool kept = false;
    size_t came;

    for (;;) {
        LB_TRY(cursor_some(s, c, &io, &stop, &point, &came, err));
        cursor_keep_head(s, c, out, begin, c->at == until, &kept);
        if (stop == LB_UNPACK_BORDER)
            LB_TRY(cursor_border(s, c, &point, err));
        if (stop == LB_UNPACK_ROOM || (c->ended && c->at != until))
            return cursor_other_size(s, io.in_at, err);
        /* Behind the last byte come a checksum and, of gzip, blocks of no bytes. */
        if (c->ended || (c->at_point && c->at == until))
            return LB_OK;
        if (stop == LB_UNPACK_INPUT)
            LB_TRY(cursor_fill(s, c, err));
    }
}

lb_status lb_unpacked_cursor_straight(lb_unpacked_store *s, lb_unpacked_cursor *c, uint8_t *out, size_t size,
                                      uint64_t end, lb_error *err)
{
    /* What a container wants to see ahead. */
    if (!lb_add_u64(end, LB_UNPACK_AHEAD, &c->in_most))
        c->in_most = UINT64_MAX;
    lb_status status = cursor_straight(s, c, out, size, err);
    c->in_most = UINT64_MAX;
    c->out_from = c->out_to = 0;
    c->begun_at = c->at;
    return status;
}
