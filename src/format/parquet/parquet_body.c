#include "format/parquet/parquet_body.h"

/* Of pages that are not compressed so much is read at least. */
#define BODY_LEAST ((size_t)4096)

/* Larger buffers get no room but what they need. */
#define BODY_ROOM_MOST ((size_t)8 << 20)

lb_status lb_parquet_room(lb_buf *buf, size_t size, lb_error *err)
{
    buf->size = 0;
    if (size <= buf->cap)
        return LB_OK;
    lb_buf_free(buf);
    if (size <= BODY_ROOM_MOST && lb_buf_reserve(buf, size + size / 4, NULL) == LB_OK)
        return LB_OK;
    return lb_buf_reserve(buf, size, err);
}

void lb_parquet_body_init(lb_parquet_body *body, lb_budget *budget)
{
    *body = (lb_parquet_body){ .part = false };
    lb_buf_init(&body->bytes, budget);
}

void lb_parquet_body_reset(lb_parquet_body *body)
{
    lb_codec_front_end(&body->front);
    body->bytes.size = 0;
    body->part = false;
    body->store = NULL;
    body->from = body->to = 0;
}

void lb_parquet_body_free(lb_parquet_body *body)
{
    lb_parquet_body_reset(body);
    lb_buf_free(&body->bytes);
    lb_codec_work_free(&body->work);
}

size_t lb_parquet_body_memory(const lb_parquet_body *body)
{
    return body->bytes.cap;
}

/* A size is believed at once where the bytes could well give it, or where it is little for the memory there is. */
static bool body_is_likely(const lb_parquet_body *body, size_t stored, size_t size)
{
    const lb_budget *budget = body->bytes.budget;
    const uint64_t little = LB_MAX((uint64_t)4 << 20, budget == NULL ? 0 : budget->limit / 8);

    return size <= little || size / 64 <= stored;
}

lb_status lb_parquet_body_unpack(lb_parquet_body *body, lb_codec codec, lb_codec_work *work, const uint8_t *bytes,
                                 size_t stored, size_t size, lb_error *err)
{
    lb_buf *out = &body->bytes;

    lb_parquet_body_reset(body);
    if (!body_is_likely(body, stored, size)) { /* it grows as it comes */
        LB_TRY(lb_codec_decode_append(codec, work, bytes, stored, size, out, err));
        if (out->size != size)
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a page gives %zu bytes, not the %zu of its header", out->size,
                           size);
        return lb_buf_reserve(out, LB_PARQUET_BODY_SLACK, err);
    }
    LB_TRY(lb_parquet_room(out, size + LB_PARQUET_BODY_SLACK, err));
    LB_TRY(lb_codec_decode_exact(codec, work, bytes, stored, out->data, size, err));
    out->size = size;
    return LB_OK;
}

lb_status lb_parquet_body_begin(lb_parquet_body *body, lb_codec codec, const uint8_t *bytes, size_t stored, size_t size,
                                lb_error *err)
{
    if (!body_is_likely(body, stored, size))
        return lb_parquet_body_unpack(body, codec, &body->work, bytes, stored, size, err);
    lb_parquet_body_reset(body);
    LB_TRY(lb_parquet_room(&body->bytes, size + LB_PARQUET_BODY_SLACK, err));
    lb_codec_front_begin(&body->front, codec, &body->work, bytes, stored, body->bytes.data, size);
    body->bytes.size = size;
    body->part = true;
    return LB_OK;
}

lb_status lb_parquet_body_lie(lb_parquet_body *body, lb_store *store, uint64_t at, size_t size, lb_error *err)
{
    lb_parquet_body_reset(body);
    LB_TRY(lb_parquet_room(&body->bytes, size + LB_PARQUET_BODY_SLACK, err));
    body->bytes.size = size;
    body->part = true;
    body->store = store;
    body->at = at;
    return LB_OK;
}

/* What goes on where the last read ended is joined to it; else only the new bytes count as read. */
static lb_status body_read(lb_parquet_body *body, size_t from, size_t stop, lb_error *err)
{
    size_t got;

    if (from >= body->from && stop <= body->to)
        return LB_OK;
    if (from < body->from || from > body->to)
        body->from = body->to = from;
    stop = LB_MIN(LB_MAX(stop, body->to + BODY_LEAST), body->bytes.size);
    LB_TRY(lb_store_read(body->store, body->at + body->to, body->bytes.data + body->to, stop - body->to, &got, err));
    if (got != stop - body->to)
        return lb_fail(err, LB_CORRUPT, LB_AT(body->at + body->to + got), "the file ends inside a page of %zu bytes",
                       body->bytes.size);
    body->to = stop;
    return LB_OK;
}

lb_status lb_parquet_body_reach_slow(lb_parquet_body *body, size_t from, uint64_t size, lb_error *err)
{
    const size_t all = body->bytes.size;

    from = LB_MIN(from, all);
    const size_t stop = from + (size_t)LB_MIN(size, (uint64_t)(all - from));
    return body->store != NULL ? body_read(body, from, stop, err) : lb_codec_front_reach(&body->front, stop, err);
}
