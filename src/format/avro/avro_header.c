/* The header of a file: a map of bytes between magic and marker. */
#include "format/avro/avro.h"
#include "wire/avro_wire.h"

/* Bytes read at first, and at most: a schema may be long, and other metadata longer. */
#define HEADER_FIRST ((size_t)16 << 10)
#define HEADER_MOST ((size_t)64 << 20)

static const struct {
    const char *name;
    lb_codec codec;
} header_codecs[] = {
    { "null", LB_CODEC_NONE },      { "deflate", LB_CODEC_DEFLATE }, { "snappy", LB_CODEC_SNAPPY },
    { "zstandard", LB_CODEC_ZSTD }, { "bzip2", LB_CODEC_BZIP2 },     { "xz", LB_CODEC_XZ },
};

typedef struct header_meta {
    lb_str schema, codec;
} header_meta;

static lb_str header_text(lb_cursor *c)
{
    const int64_t size = lb_cursor_avro_long(c);
    const uint8_t *p = size < 0 ? NULL : lb_cursor_take(c, (uint64_t)size);

    if (p == NULL)
        c->bad = true;
    return (lb_str){ (const char *)p, p == NULL ? 0 : (size_t)size };
}

/* One block of the map; false: it was the last, or the bytes end. A negative count stands before the block's size. */
static bool header_block(lb_cursor *c, header_meta *out, bool *wrong)
{
    int64_t n = lb_cursor_avro_long(c);

    if (n < 0) {
        *wrong = n == INT64_MIN || lb_cursor_avro_long(c) < 0;
        n = *wrong ? 0 : -n;
    }
    for (int64_t i = 0; i < n && !c->bad; i++) {
        const lb_str key = header_text(c), value = header_text(c);
        if (c->bad)
            break;
        if (lb_str_is(key, "avro.schema"))
            out->schema = value;
        else if (lb_str_is(key, "avro.codec"))
            out->codec = value;
    }
    return n != 0 && !c->bad && !*wrong;
}

static lb_status header_codec(lb_str name, lb_codec *out, lb_error *err)
{
    if (name.size == 0)
        name = LB_STR("null");
    for (size_t i = 0; i < LB_COUNT_OF(header_codecs); i++) {
        if (!lb_str_is(name, header_codecs[i].name))
            continue;
        *out = header_codecs[i].codec;
        return LB_OK;
    }
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the blocks are compressed by '%.*s', which Lakebed does not read",
            (int)LB_MIN(name.size, 60), name.at);
    lb_fail_hint(err, "null, deflate, snappy, zstandard, bzip2 and xz are read");
    return LB_UNSUPPORTED;
}

static bool header_has_magic(const uint8_t *bytes, size_t size)
{
    return memcmp(bytes, AVRO_MAGIC, LB_MIN(size, (size_t)4)) == 0;
}

lb_status avro_header_parse(const uint8_t *bytes, size_t size, avro_header *out, bool *more, lb_error *err)
{
    header_meta meta = { { NULL, 0 }, { NULL, 0 } };
    bool wrong = false;
    lb_cursor c;

    *more = false;
    *out = (avro_header){ .codec = LB_CODEC_NONE };
    if (size != 0 && !header_has_magic(bytes, size)) {
        return lb_fail(err, LB_CORRUPT, LB_AT(0),
                       size > 3 && memcmp(bytes, AVRO_MAGIC, 3) == 0
                           ? "a version of Avro files other than 1"
                           : "this is no Avro file: it does not begin with Obj");
    }
    lb_cursor_init(&c, bytes, size, 0);
    (void)lb_cursor_take(&c, 4);
    while (header_block(&c, &meta, &wrong))
        ;
    const uint8_t *sync = wrong ? NULL : lb_cursor_take(&c, AVRO_SYNC_BYTES);
    if (wrong)
        return lb_fail(err, LB_CORRUPT, LB_AT(lb_cursor_offset(&c)), "a count that none can be, in the header");
    if (sync == NULL) {
        *more = true;
        return LB_OK;
    }
    memcpy(out->sync, sync, AVRO_SYNC_BYTES);
    out->size = lb_cursor_offset(&c);
    out->schema = meta.schema;
    if (meta.schema.at == NULL)
        return lb_fail(err, LB_CORRUPT, LB_AT(0), "the header has no schema (avro.schema)");
    return header_codec(meta.codec, &out->codec, err);
}

static lb_status header_read(lb_store *store, lb_buf *bytes, avro_header *out, lb_error *err)
{
    for (size_t want = HEADER_FIRST;; want *= 4) {
        bool more;
        size_t got;
        LB_TRY(lb_buf_reserve(bytes, want - bytes->size, err));
        LB_TRY(lb_store_read(store, bytes->size, bytes->data + bytes->size, want - bytes->size, &got, err));
        const bool all = got < want - bytes->size;
        bytes->size += got;
        LB_TRY(avro_header_parse(bytes->data, bytes->size, out, &more, err));
        if (!more)
            return LB_OK;
        if (all)
            return lb_fail(err, LB_CORRUPT, LB_AT(bytes->size), "the file ends inside its header");
        if (want >= HEADER_MOST)
            return lb_fail(err, LB_UNSUPPORTED, LB_AT(0), "a header of more than %zu MiB", HEADER_MOST >> 20);
    }
}

lb_status avro_header_read(lb_store *store, lb_arena *arena, avro_header *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, arena->budget);
    lb_status status = header_read(store, &bytes, out, err);
    if (status == LB_OK) {
        out->schema.at = lb_arena_copy(arena, out->schema);
        status = out->schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------- kept in a map */

static const char header_mark[8] = { 'A', 'V', 'R', 'O', 'v', '0', '0', '1' };

typedef struct header_state {
    char mark[8];
    uint64_t size;
    uint32_t codec; /* place in header_codecs */
    uint8_t sync[AVRO_SYNC_BYTES];
    uint32_t long_bytes; /* of long bounds (column/array_stats.h), which follow; then the schema */
} header_state;

lb_status avro_state_put(const avro_header *header, lb_str bounds, lb_arena *arena, lb_str *out, lb_error *err)
{
    header_state state = { .size = header->size, .long_bytes = (uint32_t)bounds.size };
    const size_t size = sizeof state + bounds.size + header->schema.size;
    char *bytes = lb_arena_alloc(arena, size, 1);

    if (bytes == NULL)
        return lb_arena_fail(arena, err);
    memcpy(state.mark, header_mark, sizeof header_mark);
    memcpy(state.sync, header->sync, sizeof state.sync);
    while (header_codecs[state.codec].codec != header->codec)
        state.codec++;
    memcpy(bytes, &state, sizeof state);
    if (bounds.size != 0)
        memcpy(bytes + sizeof state, bounds.at, bounds.size);
    memcpy(bytes + sizeof state + bounds.size, header->schema.at, header->schema.size);
    *out = (lb_str){ bytes, size };
    return LB_OK;
}

static bool header_state_head(lb_str bytes, header_state *state)
{
    if (bytes.size < sizeof *state)
        return false;
    memcpy(state, bytes.at, sizeof *state);
    return memcmp(state->mark, header_mark, sizeof header_mark) == 0 && state->codec < LB_COUNT_OF(header_codecs) &&
           state->long_bytes <= bytes.size - sizeof *state;
}

void avro_state_get(lb_str bytes, avro_header *out, bool *good)
{
    header_state state;

    *good = header_state_head(bytes, &state);
    if (!*good)
        return;
    const size_t skip = sizeof state + state.long_bytes;
    *out = (avro_header){ .size = state.size,
                          .codec = header_codecs[state.codec].codec,
                          .schema = { bytes.at + skip, bytes.size - skip } };
    memcpy(out->sync, state.sync, sizeof out->sync);
}

lb_str avro_state_bounds(lb_str bytes)
{
    header_state state;

    if (!header_state_head(bytes, &state))
        return (lb_str){ "", 0 };
    return (lb_str){ bytes.at + sizeof state, state.long_bytes };
}
