/* Heads of messages. */
#include "format/arrow/arrow.h"

#define MESSAGE_MARK UINT32_MAX
#define MESSAGE_FIRST 1024 /* bytes read of a head whose size is not known */

static lb_status message_damaged(uint64_t offset, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(offset), "the Arrow message is damaged: %s", what);
}

/* Arrow 0.17 said by a pair of the message that bodies are compressed; later versions by a table of the record batch. */
static lb_status message_codec(lb_flat *f, uint64_t message, uint64_t offset, lb_codec *codec, lb_error *err)
{
    uint64_t n, at = lb_flat_vector(f, message, 4, 4, &n);

    *codec = LB_CODEC_NONE;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t pair = lb_flat_follow(f, at + 4 * i);
        if (f->bad || !lb_str_is(lb_flat_string(f, pair, 0), "ARROW:experimental_compression"))
            continue;
        lb_str name = lb_flat_string(f, pair, 1);
        if (lb_str_is_nocase(name, "zstd"))
            *codec = LB_CODEC_ZSTD;
        else if (lb_str_is_nocase(name, "lz4") || lb_str_is_nocase(name, "lz4_frame"))
            *codec = LB_CODEC_LZ4_FRAME;
        else
            return lb_fail(err, LB_UNSUPPORTED, LB_AT(offset), "the message is compressed in a way that is not known");
    }
    return LB_OK;
}

/* Parse the head that m->bytes holds. */
static lb_status message_parse(lb_arrow_message *m, lb_error *err)
{
    uint64_t offset = m->place.offset;

    if (!lb_flat_message(m->bytes.data, m->bytes.size, &m->flat))
        return message_damaged(offset, "its metadata does not fit", err);
    lb_flat *f = &m->flat;
    uint64_t message = lb_flat_follow(f, 0);
    m->version = f->bad ? 0 : (unsigned)lb_flat_scalar(f, message, 0, 2);
    m->kind = f->bad ? 0 : (unsigned)lb_flat_scalar(f, message, 1, 1);
    m->table = f->bad ? 0 : lb_flat_table(f, message, 2);
    int64_t body = f->bad ? -1 : (int64_t)lb_flat_scalar(f, message, 3, 8);
    if (f->bad || body < 0)
        return message_damaged(offset, "its first part lies outside", err);
    if (m->version < LB_IPC_V4 || m->version > LB_IPC_V5)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(offset),
                       "the message has metadata of version V%u; V4 (Arrow 0.8) and V5 are read", m->version + 1);
    m->place.body = (uint64_t)body;
    if (m->table == 0)
        return message_damaged(offset, "it has no header", err);
    LB_TRY(message_codec(f, message, offset, &m->codec, err));
    return f->bad ? message_damaged(offset, "its pairs lie outside", err) : LB_OK;
}

static lb_status message_fill(lb_reader *r, uint64_t offset, uint64_t size, lb_arrow_message *m, lb_error *err)
{
    size_t got, have = m->bytes.size;

    if (size > SIZE_MAX || size < have)
        return message_damaged(offset, "its metadata does not fit", err);
    if (size == have)
        return LB_OK;
    LB_TRY(lb_buf_reserve(&m->bytes, (size_t)size - have, err));
    if (r->file != NULL && offset + have <= r->file->size && size - have <= r->file->size - offset - have) {
        memcpy(m->bytes.data + have, r->file->at + offset + have, (size_t)size - have);
        m->bytes.size = (size_t)size;
        return LB_OK;
    }
    LB_TRY(lb_store_read(r->store, offset + have, m->bytes.data + have, (size_t)size - have, &got, err));
    m->bytes.size = have + got;
    return LB_OK;
}

static lb_status message_torn(lb_arrow_message *m, lb_error *err)
{
    m->torn = true;
    return message_damaged(m->place.offset, "the file ends inside it", err);
}

static void message_init(lb_reader *r, uint64_t offset, lb_arrow_message *m)
{
    *m = (lb_arrow_message){ .place = { .offset = offset } };
    lb_buf_init(&m->bytes, &r->cx->budget);
}

lb_status lb_arrow_message_read(lb_reader *r, uint64_t offset, uint64_t head, lb_arrow_message *m, lb_error *err)
{
    message_init(r, offset, m);
    if (offset > r->store->size || head > r->store->size - offset || head < 8)
        return message_damaged(offset, "it lies outside the file", err);
    LB_TRY(message_fill(r, offset, head, m, err));
    if (m->bytes.size != head)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    m->place.head = head;
    return message_parse(m, err);
}

lb_status lb_arrow_message_next(lb_reader *r, uint64_t offset, uint64_t end, lb_arrow_message *m, bool *there,
                                lb_error *err)
{
    uint32_t mark, length;

    message_init(r, offset, m);
    *there = false;
    LB_TRY(message_fill(r, offset, LB_MIN(MESSAGE_FIRST, end - offset), m, err));
    if (m->bytes.size == 0)
        return LB_OK;
    if (m->bytes.size < 4)
        return message_torn(m, err);
    memcpy(&mark, m->bytes.data, 4);
    if (mark == 0)
        return LB_OK;
    uint64_t prefix = mark == MESSAGE_MARK ? 8 : 4;
    if (m->bytes.size < prefix)
        return message_torn(m, err);
    memcpy(&length, m->bytes.data + prefix - 4, 4);
    if (length == 0)
        return LB_OK;
    if (length > INT32_MAX)
        return message_damaged(offset, "the size of its metadata is negative", err);
    *there = true;
    m->place.head = prefix + length;
    if (m->place.head > end - offset)
        return message_torn(m, err);
    if (m->bytes.size < m->place.head)
        LB_TRY(message_fill(r, offset, m->place.head, m, err));
    if (m->bytes.size < m->place.head)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    m->bytes.size = (size_t)m->place.head;
    LB_TRY(message_parse(m, err));
    return m->place.body > end - offset - m->place.head ? message_torn(m, err) : LB_OK;
}
