/* Streams: bytes of the file, decompressed chunk by chunk into a window that moves on. */
#include <stdarg.h>
#include <stdio.h>

#include "format/orc/orc.h"

/* The first read from a stream is small, for it may be the only one; each further one doubles. */
#define STREAM_AHEAD_FIRST ((size_t)16 << 10)
#define STREAM_AHEAD_MOST ((size_t)512 << 10)

void orc_in_init(orc_in *in, orc_work *work, const char *column, uint64_t first, uint64_t size)
{
    static const uint8_t nothing[ORC_PADDING];
    lb_budget *budget = &work->file->cx->budget;

    *in = (orc_in){ .work = work, .column = column, .first = first, .size = size, .ahead = STREAM_AHEAD_FIRST };
    lb_buf_init(&in->window, budget);
    lb_buf_init(&in->raw, budget);
    in->at = in->end = in->chunk_at = nothing;
}

void orc_in_free(orc_in *in)
{
    lb_buf_free(&in->window);
    lb_buf_free(&in->raw);
    *in = (orc_in){ 0 };
}

lb_status orc_in_fail(const orc_in *in, lb_error *err, const char *fmt, ...)
{
    char text[160];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return lb_fail(err, LB_CORRUPT, LB_AT(in->first + in->chunk), "column '%.80s': %s", in->column, text);
}

lb_status orc_in_ends(const orc_in *in, lb_error *err)
{
    return orc_in_fail(in, err,
                       in->size == 0 ? "a stream of its values is missing" : "a stream ends before its values do");
}

/* Move what is left to the front, and have room for `more` bytes behind it. */
static lb_status in_window(orc_in *in, size_t more, lb_error *err)
{
    const size_t left = orc_in_left(in);

    if (left != 0 && in->at != in->window.data)
        memmove(in->window.data, in->at, left);
    in->window.size = left;
    in->at = in->end = in->window.data;
    lb_status status = lb_buf_reserve(&in->window, more + ORC_PADDING, err);
    in->at = in->chunk_at = in->window.data;
    in->end = in->at + left;
    if (in->window.data == NULL)
        return status;
    memset(in->window.data + left, 0, ORC_PADDING);
    return status;
}

/* ---------------------------------------------------------------- from the file */

static size_t in_ahead(orc_in *in, uint64_t left)
{
    const size_t size = in->ahead;

    in->ahead = LB_MIN(2 * in->ahead, STREAM_AHEAD_MOST);
    return (size_t)LB_MIN((uint64_t)size, left);
}

static lb_status in_read(orc_in *in, uint64_t at, void *out, size_t size, lb_error *err)
{
    size_t got = 0;

    LB_TRY(lb_check_cancel(in->work->file->cx, err));
    LB_TRY(lb_store_read(in->work->file->store, in->first + at, out, size, &got, err));
    if (got != size)
        return lb_fail(err, LB_STALE, LB_AT(in->first + at), "the file became shorter while it was read");
    return LB_OK;
}

static lb_status in_load_plain(orc_in *in, size_t want, lb_error *err)
{
    const uint64_t left = in->size - in->next;
    size_t size = in_ahead(in, left);

    size = (size_t)LB_MIN(LB_MAX((uint64_t)size, (uint64_t)want), left);
    LB_TRY(in_window(in, size, err));
    uint8_t *to = in->window.data + in->window.size;
    LB_TRY(in_read(in, in->next, to, size, err));
    in->chunk = in->next;
    in->chunk_at = to;
    in->next += size;
    in->window.size += size;
    in->end = in->window.data + in->window.size;
    memset(in->window.data + in->window.size, 0, ORC_PADDING);
    return LB_OK;
}

/* `size` stored bytes from in->next on. */
static lb_status in_raw(orc_in *in, size_t size, const uint8_t **out, lb_error *err)
{
    const uint64_t at = in->next - in->raw_at;

    if (in->next < in->raw_at || at > in->raw.size || size > in->raw.size - at) {
        const uint64_t left = in->size - in->next;
        if (size > left) {
            (void)orc_in_fail(in, err, "a compressed chunk passes the end of its stream");
            return LB_CORRUPT;
        }
        const size_t more = LB_MAX(in_ahead(in, left), size);
        in->raw.size = 0;
        LB_TRY(lb_buf_reserve(&in->raw, more, err));
        LB_TRY(in_read(in, in->next, in->raw.data, more, err));
        in->raw.size = more;
        in->raw_at = in->next;
    }
    *out = in->raw.data + (in->next - in->raw_at);
    return LB_OK;
}

/* A chunk is decompressed into what all streams share, for a window of every stream as large as a chunk may be would be too
 * much for wide tables. */
static lb_status in_decode(orc_in *in, const uint8_t *p, size_t size, size_t *got, lb_error *err)
{
    orc_work *work = in->work;
    const size_t block = work->file->block;

    work->scratch.size = 0;
    LB_TRY(lb_buf_reserve(&work->scratch, block, err));
    lb_error why = LB_ERROR_INIT;
    lb_status status = lb_codec_decode(work->file->codec, &work->codec, p, size, work->scratch.data, block, got, &why);
    if (status == LB_CORRUPT)
        return orc_in_fail(in, err, "%s", why.message);
    if (status != LB_OK && err != NULL && err->code == LB_OK)
        *err = why;
    return status;
}

static lb_status in_load_chunk(orc_in *in, lb_error *err)
{
    const uint8_t *p;
    size_t got = 0;

    LB_TRY(in_raw(in, 3, &p, err));
    const uint32_t head = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
    const size_t size = head >> 1;
    LB_TRY(in_raw(in, 3 + size, &p, err));
    if ((head & 1) == 0) {
        LB_TRY(in_decode(in, p + 3, size, &got, err));
        p = in->work->scratch.data;
    } else {
        p += 3;
        got = size;
    }
    LB_TRY(in_window(in, got, err));
    in->chunk = in->next;
    in->chunk_at = in->window.data + in->window.size;
    lb_buf_put(&in->window, p, got);
    in->end = in->window.data + in->window.size;
    memset(in->window.data + in->window.size, 0, ORC_PADDING);
    in->next += 3 + size;
    return LB_OK;
}

lb_status orc_in_fill(orc_in *in, size_t want, lb_error *err)
{
    while (orc_in_left(in) < want && in->next < in->size) {
        if (in->work->file->codec == LB_CODEC_NONE)
            LB_TRY(in_load_plain(in, want - orc_in_left(in), err));
        else
            LB_TRY(in_load_chunk(in, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- moving */

static void in_drop(orc_in *in, uint64_t next)
{
    in->window.size = 0;
    in->at = in->end = in->chunk_at;
    in->next = next;
    in->chunk = next;
}

static lb_status in_seek_plain(orc_in *in, uint64_t offset, lb_error *err)
{
    const uint64_t from = in->chunk, to = in->next;

    if (offset > in->size)
        return orc_in_fail(in, err, "its row index leads past the end of a stream");
    if (offset >= from && offset <= to && orc_in_left(in) + (size_t)(in->at - in->chunk_at) == to - from)
        in->at = in->chunk_at + (offset - from);
    else
        in_drop(in, offset);
    return LB_OK;
}

lb_status orc_in_seek(orc_in *in, uint64_t chunk, uint64_t offset, lb_error *err)
{
    if (in->work->file->codec == LB_CODEC_NONE)
        return in_seek_plain(in, offset, err);
    if (chunk > in->size)
        return orc_in_fail(in, err, "its row index leads past the end of a stream");
    if (chunk != in->chunk || in->next == in->chunk) {
        in_drop(in, chunk);
        if (offset != 0)
            LB_TRY(orc_in_fill(in, 1, err));
    }
    if (offset > (uint64_t)(in->end - in->chunk_at))
        return orc_in_fail(in, err, "its row index leads past the end of a chunk");
    in->at = in->chunk_at + offset;
    return LB_OK;
}

lb_status orc_in_skip(orc_in *in, uint64_t size, lb_error *err)
{
    if (in->work->file->codec == LB_CODEC_NONE && size > orc_in_left(in)) {
        if (size - orc_in_left(in) > in->size - in->next)
            return orc_in_ends(in, err);
        in_drop(in, in->next + (size - orc_in_left(in)));
        return LB_OK;
    }
    for (;;) {
        const size_t n = (size_t)LB_MIN(size, (uint64_t)orc_in_left(in));
        in->at += n;
        size -= n;
        if (size == 0)
            return LB_OK;
        LB_TRY(orc_in_fill(in, 1, err));
        if (orc_in_left(in) == 0)
            return orc_in_ends(in, err);
    }
}

lb_status orc_in_copy(orc_in *in, void *out, size_t size, lb_error *err)
{
    uint8_t *to = out;

    for (;;) {
        const size_t n = LB_MIN(size, orc_in_left(in));
        if (n != 0)
            memcpy(to, in->at, n);
        in->at += n;
        to += n;
        size -= n;
        if (size == 0)
            return LB_OK;
        LB_TRY(orc_in_fill(in, 1, err));
        if (orc_in_left(in) == 0)
            return orc_in_ends(in, err);
    }
}
