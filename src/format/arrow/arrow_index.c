/* Where things are: the schema, dictionaries and record batches, from a file's footer or by going from message to message. */
#include "format/arrow/arrow.h"

#include <stdlib.h>

#include "base/hash.h"

#define INDEX_TAIL (4 + LB_IPC_MAGIC_SIZE)
#define INDEX_HEAD 8 /* ARROW1 and two bytes */

static lb_status index_damaged(uint64_t at, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(at), "the Arrow file is damaged: %s", what);
}

/* ---------------------------------------------------------------- the schema */

static lb_status index_set_schema(lb_reader *r, lb_flat *f, uint64_t table, lb_error *err)
{
    if (f->bad || table == 0)
        return index_damaged(0, "its schema is missing", err);
    return lb_arrow_schema_read(f, table, &r->arena, &r->schema, err);
}

/* The table Schema in the bytes that were kept of it. */
static uint64_t index_schema_table(const lb_reader *r, lb_flat *f)
{
    if (r->by_footer) {
        *f = (lb_flat){ .at = (const uint8_t *)r->schema_bytes.at, .size = r->schema_bytes.size };
        return lb_flat_table(f, lb_flat_follow(f, 0), 1);
    }
    *f = (lb_flat){ .bad = true };
    if (!lb_flat_message((const uint8_t *)r->schema_bytes.at, r->schema_bytes.size, f))
        return 0;
    uint64_t message = lb_flat_follow(f, 0);
    return f->bad || lb_flat_scalar(f, message, 1, 1) != LB_IPC_SCHEMA ? 0 : lb_flat_table(f, message, 2);
}

static lb_status index_keep(lb_reader *r, const void *bytes, size_t size, lb_error *err)
{
    r->schema_bytes = (lb_str){ lb_arena_dup(&r->arena, bytes, size), size };
    return r->schema_bytes.at == NULL ? lb_arena_fail(&r->arena, err) : LB_OK;
}

/* The schema of a stream is its first message. */
static lb_status index_stream_schema(lb_reader *r, lb_error *err)
{
    lb_arrow_message m;
    bool there;

    lb_status status = lb_arrow_message_next(r, r->base, r->store->size, &m, &there, err);
    if (status == LB_OK && (!there || m.kind != LB_IPC_SCHEMA))
        status = index_damaged(r->base, "it does not begin with a schema", err);
    if (status == LB_OK)
        status = index_keep(r, m.bytes.data, m.bytes.size, err);
    if (status == LB_OK) {
        r->schema_end = r->base + m.place.head + m.place.body;
        status = index_set_schema(r, &m.flat, m.table, err);
    }
    lb_buf_free(&m.bytes);
    return status;
}

/* ---------------------------------------------------------------- the footer */

static lb_status footer_read(lb_reader *r, lb_buf *out, lb_error *err)
{
    uint8_t tail[INDEX_TAIL];
    int32_t length;
    size_t got;

    if (r->store->size < INDEX_HEAD + INDEX_TAIL)
        return index_damaged(0, "it is too short for a footer", err);
    LB_TRY(lb_store_read(r->store, r->store->size - INDEX_TAIL, tail, sizeof tail, &got, err));
    if (got != sizeof tail || memcmp(tail + 4, LB_IPC_MAGIC, LB_IPC_MAGIC_SIZE) != 0) {
        index_damaged(r->store->size, "it does not end in " LB_IPC_MAGIC ", so that it was cut off or never finished",
                      err);
        lb_fail_hint(err, "--format arrow_stream reads what batches there are");
        return LB_CORRUPT;
    }
    memcpy(&length, tail, 4);
    if (length < 8 || (uint64_t)length > r->store->size - INDEX_HEAD - INDEX_TAIL)
        return index_damaged(r->store->size - INDEX_TAIL, "the size of its footer does not fit", err);
    LB_TRY(lb_buf_reserve(out, (size_t)length, err));
    LB_TRY(
        lb_store_read(r->store, r->store->size - INDEX_TAIL - (uint64_t)length, out->data, (size_t)length, &got, err));
    out->size = got;
    return got == (size_t)length ? LB_OK
                                 : lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
}

static lb_status index_file_schema(lb_reader *r, lb_error *err)
{
    lb_buf footer;
    lb_flat f;

    lb_buf_init(&footer, &r->cx->budget);
    lb_status status = footer_read(r, &footer, err);
    if (status == LB_OK)
        status = index_keep(r, footer.data, footer.size, err);
    lb_buf_free(&footer);
    LB_TRY(status);
    r->by_footer = true;
    uint64_t table = index_schema_table(r, &f);
    /* Some writers leave the footer's version out, which makes it V1; the messages have their own. */
    uint64_t version = f.bad ? LB_IPC_V5 : lb_flat_scalar(&f, lb_flat_follow(&f, 0), 0, 2);
    if (version > LB_IPC_V5)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "the file has metadata of version V%u; V4 (Arrow 0.8) and V5 are read", (unsigned)version + 1);
    return index_set_schema(r, &f, table, err);
}

lb_status lb_arrow_open_schema(lb_reader *r, lb_error *err)
{
    return r->is_file ? index_file_schema(r, err) : index_stream_schema(r, err);
}

/* ---------------------------------------------------------------- what the messages say */

typedef struct index_walk {
    lb_reader *r;
    lb_arrow_index *out;
    lb_buf deliveries;
    bool *delivered; /* whether each dictionary was */
    lb_arrow_pull pull;
} index_walk;

static lb_status index_delivery(index_walk *w, lb_arrow_message *m, lb_error *err)
{
    int64_t id = (int64_t)lb_flat_scalar(&m->flat, m->table, 0, 8);
    lb_arrow_delivery d = { .place = m->place, .delta = lb_flat_scalar(&m->flat, m->table, 2, 1) != 0 };

    d.dictionary = lb_arrow_schema_dictionary(&w->r->schema, id);
    if (m->flat.bad)
        return index_damaged(m->place.offset, "a dictionary's head lies outside", err);
    if (d.dictionary == UINT32_MAX)
        return LB_OK; /* nothing refers to it */
    if (w->r->is_file && !d.delta && w->delivered[d.dictionary])
        return lb_fail(err, LB_CORRUPT, LB_AT(m->place.offset),
                       "dictionary %lld is delivered again, which only streams may do", (long long)id);
    w->delivered[d.dictionary] = true;
    return lb_buf_append(&w->deliveries, &d, sizeof d, err);
}

/* Hash of the block's first bytes, which are in its head but for very short ones. */
static lb_status index_start_hash(lb_reader *r, const lb_arrow_message *m, uint64_t size, uint64_t *out, lb_error *err)
{
    uint8_t bytes[LB_ARROW_START];
    size_t want = (size_t)LB_MIN(size, LB_ARROW_START), got = want;

    if (m->bytes.size >= want) {
        *out = lb_xxh3_64(m->bytes.data, want);
        return LB_OK;
    }
    LB_TRY(lb_store_read(r->store, m->place.offset, bytes, want, &got, err));
    *out = lb_xxh3_64(bytes, got);
    return LB_OK;
}

static lb_status index_batch(index_walk *w, const lb_arrow_place *place, lb_error *err)
{
    lb_reader *r = w->r;
    const lb_arrow_batch *b = &w->pull.batch;
    uint64_t hash;

    LB_TRY(lb_arrow_pull_open(&w->pull, place, LB_IPC_RECORD_BATCH, &r->schema.counts, NULL, err));
    LB_TRY(lb_arrow_batch_check_rows(r, b, r->schema.columns, r->schema.n_columns, err));
    uint64_t body = b->message.place.body, size = place->head + body;
    LB_TRY(index_start_hash(r, &b->message, size, &hash, err));
    const lb_block block = { .first_row = w->out->rows,
                             .row_count = b->rows,
                             .first_byte = place->offset,
                             .total_byte_size = size,
                             .compressed_size = body,
                             .first_line = UINT64_MAX,
                             .start_hash = hash };
    if (!lb_add_u64(w->out->rows, b->rows, &w->out->rows) || w->out->rows > INT64_MAX / 64)
        return index_damaged(place->offset, "it has more rows than there are numbers", err);
    return lb_block_builder_add(&w->out->blocks, &block, err);
}

/* ---------------------------------------------------------------- streams */

static lb_status index_message(index_walk *w, lb_arrow_message *m, lb_error *err)
{
    switch (m->kind) {
    case LB_IPC_DICTIONARY_BATCH:
        return index_delivery(w, m, err);
    case LB_IPC_RECORD_BATCH:
        return index_batch(w, &m->place, err);
    case LB_IPC_SCHEMA:
        return index_damaged(m->place.offset, "it has a second schema", err);
    default:
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(m->place.offset),
                       "message of kind %u; schemas, dictionaries and record batches are read", m->kind);
    }
}

/* Messages from the one at `at` on. */
static lb_status index_stream(index_walk *w, uint64_t at, lb_error *err)
{
    lb_reader *r = w->r;
    bool there = true;

    while (there) {
        lb_arrow_message m;
        lb_error why = LB_ERROR_INIT;
        LB_TRY(lb_check_cancel(r->cx, err));
        lb_status status = lb_arrow_message_next(r, at, r->store->size, &m, &there, &why);
        if (status == LB_CORRUPT && (m.torn || r->base != 0)) {
            /* What is before it can be read; whoever reads on is told. Of a file that was cut off, it may be the footer. */
            w->out->torn = at;
            there = false;
            status = LB_OK;
        }
        if (status == LB_OK && there)
            status = index_message(w, &m, &why);
        at += m.place.head + m.place.body;
        lb_buf_free(&m.bytes);
        if (status != LB_OK) {
            if (err != NULL)
                *err = why;
            return status;
        }
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- files */

/* A place in the footer's lists. All together they may not claim more than the file has. */
static lb_status index_block(const lb_reader *r, lb_flat *f, uint64_t at, uint64_t *left, lb_arrow_place *out,
                             lb_error *err)
{
    int64_t offset = (int64_t)lb_flat_read(f, at, 8), body = (int64_t)lb_flat_read(f, at + 16, 8);
    int32_t head = (int32_t)(uint32_t)lb_flat_read(f, at + 8, 4);

    if (offset < INDEX_HEAD || head < 8 || body < 0 || (uint64_t)head > *left ||
        (uint64_t)body > *left - (uint64_t)head)
        return index_damaged(r->store->size, "its footer refers to places outside", err);
    *left -= (uint64_t)head + (uint64_t)body;
    *out = (lb_arrow_place){ (uint64_t)offset, (uint64_t)head, (uint64_t)body };
    return LB_OK;
}

static lb_status index_file_dictionary(index_walk *w, const lb_arrow_place *place, lb_error *err)
{
    lb_arrow_message m;

    lb_status status = lb_arrow_message_read(w->r, place->offset, place->head, &m, err);
    if (status == LB_OK && m.kind != LB_IPC_DICTIONARY_BATCH)
        status = index_damaged(place->offset, "no dictionary is where the footer says", err);
    if (status == LB_OK)
        status = index_delivery(w, &m, err);
    lb_buf_free(&m.bytes);
    return status;
}

static lb_status index_footer(index_walk *w, lb_flat *f, lb_error *err)
{
    lb_reader *r = w->r;
    uint64_t root = lb_flat_follow(f, 0), n, left = r->store->size;
    lb_arrow_place place;

    for (unsigned list = 2; list <= 3; list++) {
        uint64_t at = lb_flat_vector(f, root, list, LB_IPC_BLOCK, &n);
        if (f->bad)
            return index_damaged(r->store->size, "the lists of its footer lie outside", err);
        for (uint64_t i = 0; i < n; i++) {
            LB_TRY(lb_check_cancel(r->cx, err));
            LB_TRY(index_block(r, f, at + LB_IPC_BLOCK * i, &left, &place, err));
            LB_TRY(list == 2 ? index_file_dictionary(w, &place, err) : index_batch(w, &place, err));
        }
    }
    return LB_OK;
}

static lb_status index_file(index_walk *w, lb_error *err)
{
    lb_buf footer;

    lb_buf_init(&footer, &w->r->cx->budget);
    lb_status status = footer_read(w->r, &footer, err);
    if (status == LB_OK) {
        lb_flat f = { .at = footer.data, .size = footer.size };
        status = index_footer(w, &f, err);
    }
    lb_buf_free(&footer);
    return status;
}

/* ---------------------------------------------------------------- both */

/* Those of one dictionary together: counted, then laid out. */
static lb_status index_group(lb_reader *r, lb_error *err)
{
    uint32_t n = r->schema.n_dictionaries;
    r->groups = lb_arena_alloc(&r->arena, (size_t)n + 2, sizeof *r->groups);
    r->by_dictionary = lb_arena_alloc(&r->arena, (size_t)r->n_deliveries, sizeof *r->by_dictionary);
    if (r->groups == NULL || r->by_dictionary == NULL)
        return lb_arena_fail(&r->arena, err);
    for (uint64_t i = 0; i < r->n_deliveries; i++)
        r->groups[r->deliveries[i].dictionary + 2]++;
    for (uint32_t d = 0; d < n; d++)
        r->groups[d + 2] += r->groups[d + 1];
    for (uint64_t i = 0; i < r->n_deliveries; i++)
        r->by_dictionary[r->groups[r->deliveries[i].dictionary + 1]++] = i;
    return LB_OK;
}

static lb_status index_keep_deliveries(lb_reader *r, const void *all, uint64_t n, lb_error *err)
{
    r->deliveries = lb_arena_dup(&r->arena, all, (size_t)n * sizeof *r->deliveries);
    r->cache.slots = lb_arena_alloc(&r->arena, (size_t)n + 1, sizeof *r->cache.slots);
    if (r->deliveries == NULL || r->cache.slots == NULL)
        return lb_arena_fail(&r->arena, err);
    r->n_deliveries = n;
    LB_TRY(index_group(r, err));
    r->indexed = true;
    return LB_OK;
}

static lb_status index_open(index_walk *w, lb_reader *r, lb_arrow_index *out, lb_error *err)
{
    *w = (index_walk){ .r = r, .out = out };
    *out = (lb_arrow_index){ .rows = 0 };
    lb_block_builder_init(&out->blocks, &r->cx->budget);
    lb_buf_init(&w->deliveries, &r->cx->budget);
    lb_arrow_pull_init(&w->pull, r);
    w->delivered = calloc((size_t)r->schema.n_dictionaries + 1, sizeof *w->delivered);
    return w->delivered == NULL ? lb_fail_nomem(err) : LB_OK;
}

static lb_status index_close(index_walk *w, lb_status status, lb_error *err)
{
    if (status == LB_OK && !w->r->indexed)
        status = index_keep_deliveries(w->r, w->deliveries.data, w->deliveries.size / sizeof(lb_arrow_delivery), err);
    lb_arrow_pull_free(&w->pull);
    lb_buf_free(&w->deliveries);
    free(w->delivered);
    return status;
}

lb_status lb_arrow_index_read(lb_reader *r, lb_arrow_index *out, lb_error *err)
{
    index_walk w;

    lb_status status = index_open(&w, r, out, err);
    if (status == LB_OK)
        status = r->is_file ? index_file(&w, err) : index_stream(&w, r->schema_end, err);
    return index_close(&w, status, err);
}

/* The end of the last message that is known. */
static uint64_t index_end(const lb_reader *r)
{
    const lb_blocks *b = &r->known->blocks;
    uint64_t end = r->schema_end;

    if (b->count != 0)
        end = LB_MAX(end, b->first_byte[b->count - 1] + b->total_byte_size[b->count - 1]);
    for (uint64_t i = 0; i < r->n_deliveries; i++) {
        const lb_arrow_place *d = &r->deliveries[i].place;
        end = LB_MAX(end, d->offset + d->head + d->body);
    }
    return end;
}

lb_status lb_arrow_index_extend(lb_reader *r, lb_arrow_index *out, lb_error *err)
{
    const lb_blocks *b = &r->known->blocks;
    index_walk w;

    lb_status status = index_open(&w, r, out, err);
    if (status == LB_OK)
        status = lb_block_builder_add_all(&out->blocks, b, b->count, err);
    if (status == LB_OK && r->n_deliveries != 0)
        status = lb_buf_append(&w.deliveries, r->deliveries, (size_t)r->n_deliveries * sizeof *r->deliveries, err);
    if (status == LB_OK) {
        out->rows = r->known->total_rows;
        status = index_stream(&w, index_end(r), err);
    }
    /* Those behind the known ones come to them; nothing of any was decoded yet. */
    r->indexed = false;
    return index_close(&w, status, err);
}

/* ---------------------------------------------------------------- open_state */

/* Column `open_state` of a map: this, the deliveries, long bounds (column/array_stats.h), the schema's bytes. */
typedef struct index_state {
    char mark[8];
    uint8_t is_file, by_footer, unused[2];
    uint32_t long_bytes;
    uint64_t base, schema_end, torn, n_deliveries;
} index_state;

typedef struct index_delivery_state {
    uint64_t offset, head, body;
    uint32_t dictionary, delta;
} index_delivery_state;

static const char index_mark[8] = { 'A', 'R', 'R', 'O', 'W', 'v', '0', '1' };

/* Is the schema at the beginning of a file the one of its footer? It is much shorter than a footer with many batches. */
static bool index_same_schema(lb_reader *r, const lb_arrow_message *m, lb_arena *arena)
{
    lb_arrow_schema other;
    lb_flat f = m->flat;

    if (m->kind != LB_IPC_SCHEMA)
        return false;
    bool same = lb_arrow_schema_read(&f, m->table, arena, &other, NULL) == LB_OK;
    same = same && other.n_columns == r->schema.n_columns && other.swap == r->schema.swap &&
           other.n_dictionaries == r->schema.n_dictionaries && lb_schema_equal(&other.plain, &r->schema.plain);
    for (uint32_t i = 0; same && i < other.n_columns; i++)
        same = lb_arrow_node_same(&other.columns[i], &r->schema.columns[i]);
    for (uint32_t i = 0; same && i < other.n_dictionaries; i++)
        same = other.dictionaries[i].id == r->schema.dictionaries[i].id &&
               lb_arrow_node_same(&other.dictionaries[i].values, &r->schema.dictionaries[i].values);
    lb_arrow_schema_release(&other);
    return same;
}

/* The bytes to keep for the schema of a file. */
static lb_status index_short_schema(lb_reader *r, lb_buf *out, bool *by_footer, lb_error *err)
{
    lb_arrow_message m;
    lb_arena arena;
    bool there = false;

    lb_arena_init(&arena, &r->cx->budget);
    lb_status status = lb_arrow_message_next(r, INDEX_HEAD, r->store->size, &m, &there, NULL);
    *by_footer = status != LB_OK || !there || !index_same_schema(r, &m, &arena);
    status = *by_footer ? lb_buf_append(out, r->schema_bytes.at, r->schema_bytes.size, err)
                        : lb_buf_append(out, m.bytes.data, m.bytes.size, err);
    lb_buf_free(&m.bytes);
    lb_arena_free(&arena);
    return status;
}

static lb_status index_put(lb_reader *r, const lb_arrow_index *index, lb_str bounds, lb_buf *out, lb_error *err)
{
    index_state s = { .is_file = r->is_file,
                      .long_bytes = (uint32_t)bounds.size,
                      .base = r->base,
                      .schema_end = r->schema_end,
                      .torn = index->torn,
                      .n_deliveries = r->n_deliveries };
    bool by_footer = false;
    lb_buf schema;

    lb_buf_init(&schema, &r->cx->budget);
    lb_status status = r->is_file ? index_short_schema(r, &schema, &by_footer, err)
                                  : lb_buf_append(&schema, r->schema_bytes.at, r->schema_bytes.size, err);
    memcpy(s.mark, index_mark, sizeof index_mark);
    s.by_footer = by_footer;
    if (status == LB_OK)
        status = lb_buf_append(out, &s, sizeof s, err);
    for (uint64_t i = 0; status == LB_OK && i < r->n_deliveries; i++) {
        const lb_arrow_delivery *d = &r->deliveries[i];
        const index_delivery_state one = { d->place.offset, d->place.head, d->place.body, d->dictionary, d->delta };
        status = lb_buf_append(out, &one, sizeof one, err);
    }
    if (status == LB_OK)
        status = lb_buf_append(out, bounds.at, bounds.size, err);
    if (status == LB_OK)
        status = lb_buf_append(out, schema.data, schema.size, err);
    lb_buf_free(&schema);
    return status;
}

lb_status lb_arrow_state_put(lb_reader *r, const lb_arrow_index *index, lb_str bounds, lb_arena *arena, lb_str *out,
                             lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &r->cx->budget);
    lb_status status = index_put(r, index, bounds, &bytes, err);
    if (status == LB_OK) {
        *out = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

static bool index_state_head(lb_str state, index_state *s)
{
    if (state.size < sizeof *s)
        return false;
    memcpy(s, state.at, sizeof *s);
    return memcmp(s->mark, index_mark, sizeof index_mark) == 0 &&
           s->n_deliveries <= (state.size - sizeof *s) / sizeof(index_delivery_state) &&
           s->long_bytes <= state.size - sizeof *s - (size_t)s->n_deliveries * sizeof(index_delivery_state);
}

/* Where the long bounds begin. */
static size_t index_state_bounds(const index_state *s)
{
    return sizeof *s + (size_t)s->n_deliveries * sizeof(index_delivery_state);
}

lb_str lb_arrow_state_bounds(lb_str state)
{
    index_state s;

    if (!index_state_head(state, &s))
        return (lb_str){ "", 0 };
    return (lb_str){ state.at + index_state_bounds(&s), s.long_bytes };
}

static lb_status index_get_deliveries(lb_reader *r, lb_str state, uint64_t n, lb_error *err)
{
    lb_buf all;
    lb_status status = LB_OK;

    lb_buf_init(&all, &r->cx->budget);
    for (uint64_t i = 0; status == LB_OK && i < n; i++) {
        index_delivery_state one;
        memcpy(&one, state.at + sizeof(index_state) + i * sizeof one, sizeof one);
        const lb_arrow_delivery d = { { one.offset, one.head, one.body }, one.dictionary, one.delta != 0 };
        status = one.dictionary < r->schema.n_dictionaries
                     ? lb_buf_append(&all, &d, sizeof d, err)
                     : lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the map knows a dictionary that the schema does not have");
    }
    if (status == LB_OK)
        status = index_keep_deliveries(r, all.data, n, err);
    lb_buf_free(&all);
    return status;
}

lb_status lb_arrow_state_get(lb_reader *r, lb_str state, bool *good, lb_error *err)
{
    index_state s;
    lb_flat f;

    *good = index_state_head(state, &s);
    if (!*good)
        return LB_OK;
    const size_t skip = index_state_bounds(&s) + s.long_bytes;
    r->is_file = s.is_file != 0;
    r->by_footer = s.by_footer != 0;
    r->base = s.base;
    r->schema_end = s.schema_end;
    r->schema_bytes = (lb_str){ state.at + skip, state.size - skip };
    uint64_t table = index_schema_table(r, &f);
    LB_TRY(index_set_schema(r, &f, table, err));
    return index_get_deliveries(r, state, s.n_deliveries, err);
}

lb_status lb_arrow_tail(const lb_entry *known, lb_error *err)
{
    index_state s;

    if (!index_state_head(known->open_state, &s) || s.torn == 0)
        return LB_OK;
    lb_fail(err, LB_CORRUPT, LB_AT(s.torn), "the file ends inside the message that begins here");
    lb_fail_hint(err, "the rows before it are read; it may still be written");
    return LB_CORRUPT;
}
