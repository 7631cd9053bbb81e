/* The bytes of a page as they were before compression: all of them, or as many as somebody asks for. Who wants one row of a
 * page has no use for what lies behind it. */
#ifndef LB_FORMAT_PARQUET_BODY_H
#define LB_FORMAT_PARQUET_BODY_H

#include "codec/block_front.h"
#include "io/store.h"

#define LB_PARQUET_BODY_SLACK 64 /* room behind the bytes for loads in wide steps */

typedef struct lb_parquet_body {
    lb_buf bytes; /* size: of all, also where they are not all there */
    bool part;    /* they are there only as far as lb_parquet_body_reach made them */
    lb_codec_work work;
    lb_codec_front front; /* of what is compressed */
    lb_store *store;      /* of what is not: they are read from `at` on; bytes [from, to) were */
    uint64_t at;
    size_t from, to;
} lb_parquet_body;

void lb_parquet_body_init(lb_parquet_body *body, lb_budget *budget);
void lb_parquet_body_free(lb_parquet_body *body);
void lb_parquet_body_reset(lb_parquet_body *body); /* nothing is in it; its memory stays */
size_t lb_parquet_body_memory(const lb_parquet_body *body);

/* All of it: `stored` bytes give exactly `size`. `work` may be the body's own, or another one's that is not at work.
 * Errors: CORRUPT, BUDGET, NOMEM. */
lb_status lb_parquet_body_unpack(lb_parquet_body *body, lb_codec codec, lb_codec_work *work, const uint8_t *bytes,
                                 size_t stored, size_t size, lb_error *err);

/* The same, but only as it is asked for: `bytes` are lent until the body is reset, or begun anew. */
lb_status lb_parquet_body_begin(lb_parquet_body *body, lb_codec codec, const uint8_t *bytes, size_t stored, size_t size,
                                lb_error *err);

/* `size` bytes that stand in the file, from `at` on, as they are; read as they are asked for. */
lb_status lb_parquet_body_lie(lb_parquet_body *body, lb_store *store, uint64_t at, size_t size, lb_error *err);

/* Have bytes [from, from + size), as far as there are so many. Where only parts are there, those in front are too if the
 * page is compressed. Errors: CORRUPT, IO, NOMEM. */
lb_status lb_parquet_body_reach_slow(lb_parquet_body *body, size_t from, uint64_t size, lb_error *err);
static inline lb_status lb_parquet_body_reach(lb_parquet_body *body, size_t from, uint64_t size, lb_error *err)
{
    return body->part ? lb_parquet_body_reach_slow(body, from, size, err) : LB_OK;
}

/* Behind the bytes that are there from `from` on, without a gap. */
static inline size_t lb_parquet_body_there(const lb_parquet_body *body, size_t from)
{
    if (!body->part)
        return body->bytes.size;
    if (body->store == NULL)
        return body->front.got;
    return from >= body->from && from <= body->to ? body->to : from;
}

/* Room for `size` bytes from the first on: what is in the buffer is not kept, and so not copied. Some more is taken than that,
 * so that pages of about the same size do not make it grow again and again. Errors: BUDGET, NOMEM. */
lb_status lb_parquet_room(lb_buf *buf, size_t size, lb_error *err);

/* A good step, in bytes, for who does not know how much he needs. */
static inline size_t lb_parquet_body_step(const lb_parquet_body *body)
{
    return body->bytes.size / 16 + 4096;
}

#endif
