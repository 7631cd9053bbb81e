/* Blocks: found by their heads, and read one at a time. */
#include <libdeflate.h>

#include "base/hash.h"
#include "format/avro/avro.h"
#include "wire/avro_wire.h"

/* Two varints, the marker before them, and what the start hash takes. */
#define BLOCKS_HEAD ((size_t)128)
/* Where blocks are smaller than this, many are read at once. */
#define BLOCKS_SMALL ((uint64_t)8 << 10)
#define BLOCKS_WINDOW ((size_t)64 << 10)

/* Bytes that one of a compressed block can become at most, by the format: a claim of more rows is none to believe. */
static uint64_t blocks_expansion(lb_codec codec)
{
    switch (codec) {
    case LB_CODEC_NONE:
        return 1;
    case LB_CODEC_SNAPPY:
        return 64;
    case LB_CODEC_DEFLATE:
        return 1040; /* 258 bytes for two bits, and a little */
    default:
        return (uint64_t)1 << 24; /* zstd, bzip2 and xz: runs of megabytes in a few bytes */
    }
}

static uint64_t blocks_times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* ---------------------------------------------------------------- walking */

void avro_walk_open(avro_walk *w, lb_context *cx, lb_store *store, const avro_header *header, const avro_type *rows)
{
    *w = (avro_walk){ .cx = cx, .store = store, .header = header, .rows = rows, .at = header->size };
    lb_buf_init(&w->window, &cx->budget);
}

void avro_walk_close(avro_walk *w)
{
    lb_buf_free(&w->window);
}

/* Bytes from `offset` on, at least `want` unless the file ends before; *got of them. */
static lb_status walk_bytes(avro_walk *w, uint64_t offset, size_t want, const uint8_t **out, size_t *got, lb_error *err)
{
    if (offset < w->window_at || offset - w->window_at > w->window.size ||
        w->window.size - (size_t)(offset - w->window_at) < want) {
        const size_t size = w->last_size < BLOCKS_SMALL ? BLOCKS_WINDOW : want;
        w->window.size = 0;
        w->window_at = offset;
        LB_TRY(lb_check_cancel(w->cx, err));
        LB_TRY(lb_buf_reserve(&w->window, size, err));
        LB_TRY(lb_store_read(w->store, offset, w->window.data, size, &w->window.size, err));
    }
    *out = w->window.data + (offset - w->window_at);
    *got = w->window.size - (size_t)(offset - w->window_at);
    return LB_OK;
}

/* The head at w->at. */
static lb_status walk_head(avro_walk *w, lb_error *err)
{
    const uint8_t *bytes, *p, *end;
    size_t got;
    int64_t count, size;

    LB_TRY(walk_bytes(w, w->at, BLOCKS_HEAD, &bytes, &got, err));
    p = bytes;
    end = bytes + LB_MIN(got, (size_t)2 * LB_AVRO_LONG_BYTES);
    if (!lb_avro_long(&p, end, &count) || !lb_avro_long(&p, end, &size))
        return lb_fail(err, LB_CORRUPT, LB_AT(w->at), "no head of a block stands here, or the file ends inside it");
    if (count < 0 || size < 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(w->at), "a block of %lld rows in %lld bytes", (long long)count,
                       (long long)size);
    w->first_byte = w->at;
    w->count = (uint64_t)count;
    w->payload_at = w->at + (uint64_t)(p - bytes);
    w->payload_size = (uint64_t)size;
    return LB_OK;
}

static lb_status walk_check_rows(const avro_walk *w, lb_error *err)
{
    const uint64_t room = blocks_times(w->payload_size, blocks_expansion(w->header->codec)), least = w->rows->least;

    if (w->count > AVRO_BLOCK_ROWS || (least != 0 && w->count > room / least))
        return lb_fail(err, LB_CORRUPT, LB_AT(w->at), "a block claims %llu rows in %llu bytes",
                       (unsigned long long)w->count, (unsigned long long)w->payload_size);
    return LB_OK;
}

static lb_status walk_check_sync(avro_walk *w, lb_error *err)
{
    const uint64_t size = w->store->size, left = size - LB_MIN(size, w->payload_at);
    const uint8_t *bytes;
    size_t got;

    if (w->payload_size > left || left - w->payload_size < AVRO_SYNC_BYTES)
        return lb_fail(err, LB_CORRUPT, LB_AT(size), "the file ends inside the block that begins at byte %llu",
                       (unsigned long long)w->first_byte);
    const uint64_t sync_at = w->payload_at + w->payload_size;
    w->last_size = w->payload_size;
    LB_TRY(walk_bytes(w, sync_at, AVRO_SYNC_BYTES, &bytes, &got, err));
    if (got < AVRO_SYNC_BYTES)
        return lb_fail(err, LB_STALE, LB_AT(sync_at), "the file became shorter while it was read");
    if (memcmp(bytes, w->header->sync, AVRO_SYNC_BYTES) != 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(sync_at),
                       "the marker behind the block that begins at byte %llu is not the file's",
                       (unsigned long long)w->first_byte);
    w->at = sync_at + AVRO_SYNC_BYTES;
    return LB_OK;
}

/* Of the block's first bytes; they were read with its head. */
static lb_status walk_start_hash(avro_walk *w, lb_error *err)
{
    const uint64_t total = w->payload_at + w->payload_size + AVRO_SYNC_BYTES - w->first_byte;
    const size_t want = (size_t)LB_MIN(total, (uint64_t)AVRO_START_BYTES);
    const uint8_t *bytes;
    size_t got;

    LB_TRY(walk_bytes(w, w->first_byte, want, &bytes, &got, err));
    w->start_hash = lb_xxh3_64(bytes, LB_MIN(got, want));
    return LB_OK;
}

lb_status avro_walk_next(avro_walk *w, bool *got, lb_error *err)
{
    *got = w->at < w->store->size;
    if (!*got)
        return LB_OK;
    LB_TRY(walk_head(w, err));
    LB_TRY(walk_check_rows(w, err));
    LB_TRY(walk_start_hash(w, err));
    LB_TRY(walk_check_sync(w, err));
    w->row += w->count;
    return LB_OK;
}

/* ---------------------------------------------------------------- reading */

void avro_block_init(avro_block *b, lb_budget *budget)
{
    *b = (avro_block){ .count = 0 };
    lb_buf_init(&b->bytes, budget);
    lb_buf_init(&b->plain, budget);
}

void avro_block_free(avro_block *b)
{
    lb_buf_free(&b->bytes);
    lb_buf_free(&b->plain);
    lb_codec_work_free(&b->work);
}

static lb_status block_stale(const avro_block *b, lb_error *err)
{
    lb_fail(err, LB_STALE, LB_AT(b->first_byte), "the bytes here are not the block that was mapped");
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

static lb_status block_bytes(avro_block *b, lb_store *store, uint64_t total, lb_error *err)
{
    size_t got;

    b->bytes.size = 0;
    if (total > store->size || b->first_byte > store->size - total)
        return block_stale(b, err);
    LB_TRY(lb_buf_reserve(&b->bytes, (size_t)total, err));
    LB_TRY(lb_store_read(store, b->first_byte, b->bytes.data, (size_t)total, &got, err));
    b->bytes.size = got;
    return got == total ? LB_OK : block_stale(b, err);
}

/* The rows' bytes, still compressed. */
static lb_status block_payload(const avro_block *b, const avro_header *header, uint64_t start_hash, const uint8_t **out,
                               size_t *out_size, lb_error *err)
{
    const uint8_t *p = b->bytes.data, *end = p + b->bytes.size;
    int64_t rows, size;

    if (start_hash != UINT64_MAX && lb_xxh3_64(p, LB_MIN(b->bytes.size, (size_t)AVRO_START_BYTES)) != start_hash)
        return block_stale(b, err);
    if (!lb_avro_long(&p, end, &rows) || !lb_avro_long(&p, end, &size) || rows < 0 || (uint64_t)rows != b->count ||
        size < 0 || (uint64_t)(end - p) != (uint64_t)size + AVRO_SYNC_BYTES ||
        memcmp(p + size, header->sync, AVRO_SYNC_BYTES) != 0)
        return block_stale(b, err);
    *out = p;
    *out_size = (size_t)size;
    return LB_OK;
}

/* Snappy's blocks end in the CRC-32 of what they become, big-endian. */
static lb_status block_check_crc(const uint8_t *crc, const lb_buf *plain, lb_error *err)
{
    const uint32_t want = (uint32_t)crc[0] << 24 | (uint32_t)crc[1] << 16 | (uint32_t)crc[2] << 8 | crc[3],
                   is = libdeflate_crc32(0, plain->data, plain->size);

    return is == want ? LB_OK
                      : lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a block's checksum is %08x, not the %08x that it says",
                                is, want);
}

static lb_status block_plain(avro_block *b, lb_codec codec, const uint8_t *payload, size_t size, lb_error *err)
{
    const size_t crc = codec == LB_CODEC_SNAPPY ? 4 : 0;
    const uint64_t most = blocks_times(size, blocks_expansion(codec));

    b->plain.size = 0;
    if (codec == LB_CODEC_NONE) {
        b->data = payload;
        b->size = size;
        return LB_OK;
    }
    if (size < crc)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a block of %zu bytes, which has no room for its checksum", size);
    LB_TRY(lb_codec_decode_append(codec, &b->work, payload, size - crc, (size_t)LB_MIN(most, (uint64_t)SIZE_MAX / 4),
                                  &b->plain, err));
    if (crc != 0)
        LB_TRY(block_check_crc(payload + size - crc, &b->plain, err));
    b->data = b->plain.data;
    b->size = b->plain.size;
    return LB_OK;
}

lb_status avro_block_read(avro_block *b, lb_store *store, const avro_header *header, const lb_blocks *blocks,
                          uint64_t index, lb_error *err)
{
    const uint64_t start_hash = blocks->start_hash == NULL ? UINT64_MAX : blocks->start_hash[index];
    const uint8_t *payload;
    size_t size;

    b->first_byte = blocks->first_byte[index];
    b->count = blocks->row_count[index];
    LB_TRY(block_bytes(b, store, blocks->total_byte_size[index], err));
    LB_TRY(block_payload(b, header, start_hash, &payload, &size, err));
    lb_status status = block_plain(b, header->codec, payload, size, err);
    if (status != LB_OK && err != NULL && err->offset < 0)
        err->offset = (int64_t)b->first_byte;
    return status;
}
