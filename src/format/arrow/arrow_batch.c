/* An open record batch and its buffers: where they are, read as far as they are wanted, decompressed, turned round. */
#include <stdlib.h>

#include "base/hash.h"
#include "format/arrow/arrow.h"

/* A zstd block of 4 bytes gives at most 128 KiB; LZ4 gives less for a byte. */
#define BATCH_RATIO 32768

/* A stretch of buffers is read at once up to this size, when the whole batch is wanted, or some rows of it. */
#define BATCH_SPAN_WHOLE ((uint64_t)1 << 20)
#define BATCH_SPAN_SOME ((uint64_t)16 << 10)

static lb_status batch_damaged(const lb_arrow_pull *p, lb_error *err, const char *what)
{
    return lb_fail(err, LB_CORRUPT, LB_AT(p->batch.message.place.offset), "the record batch is damaged: %s", what);
}

void lb_arrow_pull_init(lb_arrow_pull *p, lb_reader *r)
{
    *p = (lb_arrow_pull){ .r = r, .held = { &r->cx->budget, 0 }, .made = { &r->cx->budget, 0 } };
}

static void pull_close(lb_arrow_pull *p)
{
    lb_arrow_batch *b = &p->batch;

    for (uint64_t i = 0; b->loaded != NULL && i < b->n_buffers; i++)
        lb_arrow_mem_unref(b->loaded[i]);
    lb_arrow_mem_unref(b->span);
    free(b->loaded);
    free(b->view_sums);
    lb_buf_free(&b->message.bytes);
    *b = (lb_arrow_batch){ .rows = 0 };
    lb_arrow_work_give(&p->held);
    p->open = false;
}

void lb_arrow_pull_free(lb_arrow_pull *p)
{
    if (p->open)
        pull_close(p);
    lb_arrow_work_give(&p->made);
    lb_codec_work_free(&p->codec);
}

/* ---------------------------------------------------------------- opening */

static lb_status batch_compression(lb_arrow_pull *p, lb_flat *f, uint64_t table, lb_error *err)
{
    lb_arrow_batch *b = &p->batch;
    uint64_t compression = lb_flat_table(f, table, 3);

    b->codec = b->message.codec;
    if (compression != 0) {
        uint64_t codec = lb_flat_scalar(f, compression, 0, 1), method = lb_flat_scalar(f, compression, 1, 1);
        if (f->bad)
            return batch_damaged(p, err, "what it says of compression lies outside");
        if (codec > 1 || method != 0)
            return lb_fail(err, LB_UNSUPPORTED, LB_AT(b->message.place.offset),
                           "the record batch is compressed in a way that is not known");
        b->codec = codec == 0 ? LB_CODEC_LZ4_FRAME : LB_CODEC_ZSTD;
    }
    b->compressed = b->codec != LB_CODEC_NONE;
    return LB_OK;
}

static lb_status batch_views(lb_arrow_pull *p, lb_flat *f, uint64_t table, const lb_arrow_counts *counts, lb_error *err)
{
    lb_arrow_batch *b = &p->batch;
    uint64_t n, at = lb_flat_vector(f, table, 4, 8, &n);

    if (counts->views == 0)
        return LB_OK;
    if (f->bad || n != counts->views)
        return batch_damaged(p, err, "the numbers of its views' buffers are not those of the schema");
    b->view_sums = calloc((size_t)n + 1, sizeof *b->view_sums);
    if (b->view_sums == NULL)
        return lb_fail_nomem(err);
    b->n_views = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t more = lb_flat_read(f, at + 8 * i, 8);
        if (more > b->n_buffers - LB_MIN(b->view_sums[i], b->n_buffers))
            return batch_damaged(p, err, "its views have more buffers than there are");
        b->view_sums[i + 1] = b->view_sums[i] + more;
    }
    return LB_OK;
}

static lb_status batch_parse(lb_arrow_pull *p, uint64_t table, const lb_arrow_counts *counts, lb_error *err)
{
    lb_arrow_batch *b = &p->batch;
    lb_flat *f = &b->message.flat;

    b->rows = lb_flat_scalar(f, table, 0, 8);
    b->nodes = lb_flat_vector(f, table, 1, 16, &b->n_nodes);
    b->buffers = lb_flat_vector(f, table, 2, 16, &b->n_buffers);
    b->v4 = b->message.version == LB_IPC_V4;
    if (f->bad || b->rows > INT64_MAX / 64)
        return batch_damaged(p, err, "its lists lie outside");
    if (b->n_nodes != counts->nodes)
        return batch_damaged(p, err, "it does not have the fields of the schema");
    LB_TRY(batch_compression(p, f, table, err));
    LB_TRY(batch_views(p, f, table, counts, err));
    uint64_t views = b->view_sums == NULL ? 0 : b->view_sums[b->n_views];
    if (b->n_buffers < (uint64_t)counts->buffers + (b->v4 ? counts->unions : 0) + views)
        return batch_damaged(p, err, "it lacks buffers");
    b->loaded = calloc((size_t)b->n_buffers + 1, sizeof *b->loaded);
    return b->loaded == NULL ? lb_fail_nomem(err) : LB_OK;
}

lb_status lb_arrow_pull_open(lb_arrow_pull *p, const lb_arrow_place *place, unsigned kind,
                             const lb_arrow_counts *counts, const uint64_t *start_hash, lb_error *err)
{
    lb_arrow_message *m = &p->batch.message;
    lb_error why = LB_ERROR_INIT;

    if (p->open)
        pull_close(p);
    p->open = true;
    lb_status status = lb_arrow_message_read(p->r, place->offset, place->head, m, &why);
    if (start_hash != NULL && m->bytes.size >= LB_ARROW_START &&
        lb_xxh3_64(m->bytes.data, LB_ARROW_START) != *start_hash)
        return lb_fail(err, LB_STALE, LB_AT(place->offset), "the record batch does not begin as it did");
    if (status != LB_OK) {
        if (err != NULL && err->code == LB_OK)
            *err = why;
        return status;
    }
    if (kind == LB_IPC_RECORD_BATCH)
        p->epoch = p->r->is_file ? UINT64_MAX : place->offset;
    if (m->kind != kind)
        return batch_damaged(p, err, "another kind of message is in its place");
    p->batch.body = place->offset + place->head;
    if (m->place.body > p->r->store->size - p->batch.body)
        return batch_damaged(p, err, "its body ends outside the file");
    uint64_t table = kind == LB_IPC_DICTIONARY_BATCH ? lb_flat_table(&m->flat, m->table, 1) : m->table;
    if (m->flat.bad || table == 0)
        return batch_damaged(p, err, "its lists lie outside");
    return batch_parse(p, table, counts, err);
}

lb_status lb_arrow_batch_check_rows(lb_reader *r, const lb_arrow_batch *b, const lb_arrow_node *columns,
                                    uint32_t n_columns, lb_error *err)
{
    uint64_t bits = 0, most;

    for (uint32_t i = 0; i < n_columns; i++)
        bits = LB_MAX(bits, lb_arrow_node_bits(&columns[i]));
    if (__builtin_mul_overflow(b->message.place.body, (uint64_t)(b->compressed ? BATCH_RATIO : 1) * 8, &most))
        most = UINT64_MAX;
    if (bits != 0 && b->rows > most / bits)
        return lb_fail(err, LB_CORRUPT, LB_AT(b->message.place.offset),
                       "the record batch is damaged: %llu rows do not fit into its %llu bytes",
                       (unsigned long long)b->rows, (unsigned long long)b->message.place.body);
    /* Rows of no bytes cost nothing in the file, but a place each for whoever reads them. */
    if (bits == 0 && b->rows > r->cx->budget.limit)
        return lb_fail(err, LB_BUDGET, LB_AT(b->message.place.offset),
                       "the record batch claims %llu rows of no bytes, more than the memory limit has bytes",
                       (unsigned long long)b->rows);
    return LB_OK;
}

lb_status lb_arrow_batch_node(const lb_arrow_pull *p, const lb_arrow_node *n, uint64_t *buffer, int64_t *rows,
                              int64_t *nulls, lb_error *err)
{
    const lb_arrow_batch *b = &p->batch;
    lb_flat f = b->message.flat;
    uint64_t at = b->nodes + 16 * (uint64_t)n->at.nodes;

    *buffer =
        (uint64_t)n->at.buffers + (b->v4 ? n->at.unions : 0) + (b->view_sums == NULL ? 0 : b->view_sums[n->at.views]);
    *rows = (int64_t)lb_flat_read(&f, at, 8);
    *nulls = LB_MAX((int64_t)lb_flat_read(&f, at + 8, 8), -1);
    if (*rows < 0 || *rows > INT64_MAX / 64)
        return lb_arrow_fail(p, n, LB_CORRUPT, err, "it has %lld rows", (long long)*rows);
    return LB_OK;
}

/* ---------------------------------------------------------------- turning round */

#define TURN(bits, swap)                                                                    \
    for (uint64_t i = 0; i + sizeof(uint##bits##_t) <= size; i += sizeof(uint##bits##_t)) { \
        uint##bits##_t v;                                                                   \
        memcpy(&v, bytes + i, sizeof v);                                                    \
        v = swap(v);                                                                        \
        memcpy(bytes + i, &v, sizeof v);                                                    \
    }

static void turn_item(uint8_t *item, unsigned width)
{
    for (unsigned i = 0; i < width / 2; i++) {
        uint8_t byte = item[i];
        item[i] = item[width - 1 - i];
        item[width - 1 - i] = byte;
    }
}

/* A view is a length, and four bytes and two numbers where the value is longer than 12 bytes. */
static void turn_view(uint8_t *view)
{
    int32_t length;

    turn_item(view, 4);
    memcpy(&length, view, 4);
    if (length > 12) {
        turn_item(view + 8, 4);
        turn_item(view + 12, 4);
    }
}

static void batch_turn(uint8_t *bytes, uint64_t size, unsigned swap)
{
    switch (swap) {
    case LB_ARROW_SWAP_NONE:
        return;
    case 2:
        TURN(16, __builtin_bswap16)
        return;
    case 4:
        TURN(32, __builtin_bswap32)
        return;
    case 8:
        TURN(64, __builtin_bswap64)
        return;
    case LB_ARROW_SWAP_MONTH_DAY_NANO:
        for (uint64_t i = 0; i + 16 <= size; i += 16) {
            turn_item(bytes + i, 4);
            turn_item(bytes + i + 4, 4);
            turn_item(bytes + i + 8, 8);
        }
        return;
    case LB_ARROW_SWAP_VIEWS:
        for (uint64_t i = 0; i + 16 <= size; i += 16)
            turn_view(bytes + i);
        return;
    default:
        for (uint64_t i = 0; i + swap <= size; i += swap)
            turn_item(bytes + i, swap);
    }
}

/* ---------------------------------------------------------------- buffers */

static lb_status buffer_place(const lb_arrow_pull *p, uint64_t buffer, uint64_t *offset, uint64_t *size, lb_error *err)
{
    const lb_arrow_batch *b = &p->batch;
    lb_flat f = b->message.flat;

    *offset = *size = 0;
    if (buffer >= b->n_buffers)
        return batch_damaged(p, err, "it lacks buffers");
    *offset = lb_flat_read(&f, b->buffers + 16 * buffer, 8);
    *size = lb_flat_read(&f, b->buffers + 16 * buffer + 8, 8);
    if (f.bad || *offset > b->message.place.body || *size > b->message.place.body - *offset)
        return batch_damaged(p, err, "a buffer lies outside its body");
    return LB_OK;
}

static lb_status buffer_short(const lb_arrow_pull *p, lb_error *err)
{
    return batch_damaged(p, err, "a buffer is shorter than its values");
}

static lb_status batch_read(lb_arrow_pull *p, uint64_t offset, void *out, uint64_t size, lb_error *err)
{
    size_t got;

    LB_TRY(lb_store_read(p->r->store, p->batch.body + offset, out, (size_t)size, &got, err));
    return got == size ? LB_OK : lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
}

/* Bytes of the body as they stand. */
static lb_status batch_raw(lb_arrow_pull *p, lb_arrow_work *work, uint64_t offset, uint64_t size, lb_arrow_piece *out,
                           lb_error *err)
{
    lb_arrow_batch *b = &p->batch;
    lb_arrow_mem *file = p->r->file;

    if (file != NULL && size != 0) {
        *out = (lb_arrow_piece){ .at = file->at + b->body + offset, .size = size, .mem = file };
        atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
        return LB_OK;
    }
    if (b->span != NULL && size != 0 && offset >= b->span_first && offset - b->span_first <= b->span_size &&
        size <= b->span_size - (offset - b->span_first)) {
        *out = (lb_arrow_piece){ .at = b->span->at + (offset - b->span_first), .size = size, .mem = b->span };
        atomic_fetch_add_explicit(&b->span->refs, 1, memory_order_relaxed);
        return LB_OK;
    }
    LB_TRY(lb_arrow_piece_new(work, size, false, out, err));
    lb_status status = size == 0 ? LB_OK : batch_read(p, offset, out->mem->at, size, err);
    if (status != LB_OK)
        lb_arrow_piece_drop(out);
    return status;
}

static lb_status buffer_decompress(lb_arrow_pull *p, uint64_t offset, uint64_t size, lb_arrow_mem **out, lb_error *err)
{
    lb_arrow_piece raw;
    lb_arrow_work passing = { p->held.budget, 0 };
    int64_t claim;

    if (size < 8)
        return buffer_short(p, err);
    LB_TRY(batch_raw(p, &passing, offset, size, &raw, err));
    memcpy(&claim, raw.at, 8);
    uint64_t have = size - 8, want = claim == -1 ? have : (uint64_t)claim;
    lb_status status = LB_OK;
    if (claim < -1 || (claim != -1 && want / BATCH_RATIO > have))
        status = lb_fail(err, LB_CORRUPT, LB_AT(p->batch.body + offset),
                         "a compressed buffer of %llu bytes claims to hold %lld", (unsigned long long)have,
                         (long long)claim);
    if (status == LB_OK)
        status = lb_arrow_mem_new(&p->held, want, 0, out, err);
    if (status == LB_OK && claim == -1)
        memcpy((*out)->at, raw.at + 8, (size_t)have);
    else if (status == LB_OK)
        status =
            lb_codec_decode_exact(p->batch.codec, &p->codec, raw.at + 8, (size_t)have, (*out)->at, (size_t)want, err);
    if (status != LB_OK && err != NULL && err->offset < 0 && !lb_is_callers(status))
        err->offset = (int64_t)(p->batch.body + offset);
    lb_arrow_piece_drop(&raw);
    lb_arrow_work_give(&passing);
    return status;
}

/* The whole buffer, kept with the batch; NULL where it has no bytes. */
static lb_status buffer_load(lb_arrow_pull *p, uint64_t buffer, unsigned swap, lb_arrow_mem **out, lb_error *err)
{
    uint64_t offset, size;
    lb_arrow_mem *m = NULL;

    LB_TRY(buffer_place(p, buffer, &offset, &size, err));
    *out = p->batch.loaded[buffer];
    if (*out != NULL || size == 0)
        return LB_OK;
    lb_status status = LB_OK;
    if (p->batch.compressed) {
        status = buffer_decompress(p, offset, size, &m, err);
    } else {
        status = lb_arrow_mem_new(&p->held, size, 0, &m, err);
        if (status == LB_OK)
            status = batch_read(p, offset, m->at, size, err);
    }
    if (status != LB_OK) {
        lb_arrow_mem_unref(m);
        return status;
    }
    if (p->r->schema.swap)
        batch_turn(m->at, m->size, swap);
    *out = p->batch.loaded[buffer] = m;
    return LB_OK;
}

lb_status lb_arrow_buffer_size(lb_arrow_pull *p, uint64_t buffer, uint64_t *size, lb_error *err)
{
    uint64_t offset;
    lb_arrow_mem *m;

    LB_TRY(buffer_place(p, buffer, &offset, size, err));
    if (!p->batch.compressed || *size == 0)
        return LB_OK;
    /* Bytes of values, which are not turned round. */
    LB_TRY(buffer_load(p, buffer, LB_ARROW_SWAP_NONE, &m, err));
    *size = m->size;
    return LB_OK;
}

lb_status lb_arrow_buffer_keep(lb_arrow_pull *p, uint64_t buffer, uint64_t from, uint64_t size, unsigned swap,
                               lb_arrow_piece *out, lb_error *err)
{
    lb_arrow_mem *m = NULL;

    LB_TRY(lb_arrow_piece_new(&p->made, 0, false, out, err));
    if (size == 0)
        return LB_OK;
    if (p->r->file != NULL && !p->batch.compressed && !p->r->schema.swap)
        return lb_arrow_buffer_get(p, buffer, from, size, swap, out, err);
    LB_TRY(buffer_load(p, buffer, swap, &m, err));
    if (m == NULL || from > m->size || size > m->size - from)
        return buffer_short(p, err);
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    *out = (lb_arrow_piece){ .at = m->at + from, .size = size, .mem = m };
    return LB_OK;
}

lb_status lb_arrow_buffer_get(lb_arrow_pull *p, uint64_t buffer, uint64_t from, uint64_t size, unsigned swap,
                              lb_arrow_piece *out, lb_error *err)
{
    uint64_t offset, have;

    if (p->batch.compressed)
        return lb_arrow_buffer_keep(p, buffer, from, size, swap, out, err);
    LB_TRY(lb_arrow_piece_new(&p->made, 0, false, out, err));
    if (size == 0)
        return LB_OK;
    LB_TRY(buffer_place(p, buffer, &offset, &have, err));
    if (from > have || size > have - from)
        return buffer_short(p, err);
    LB_TRY(batch_raw(p, &p->made, offset + from, size, out, err));
    bool turn = p->r->schema.swap && swap != LB_ARROW_SWAP_NONE;
    if (!turn && (out->own || (p->batch.body + offset) % 8 == 0))
        return LB_OK;
    /* Bytes of a stretch that begin anywhere are moved to where numbers may stand. */
    uint8_t *bytes = lb_arrow_piece_edit(&p->made, out, err);
    if (bytes == NULL) {
        lb_arrow_piece_drop(out);
        return err != NULL ? err->code : LB_NOMEM;
    }
    if (turn)
        batch_turn(bytes, size, swap);
    return LB_OK;
}

/* ---------------------------------------------------------------- reading at once */

typedef struct batch_stretch {
    uint64_t first, end, sum;
} batch_stretch;

/* Numbers of the buffers of a node alone. */
static uint64_t node_buffers(const lb_arrow_pull *p, const lb_arrow_node *n)
{
    uint64_t count = lb_arrow_node_buffers(n);

    if (n->layout == LB_ARROW_VIEWS)
        count += p->batch.view_sums[n->at.views + 1] - p->batch.view_sums[n->at.views];
    if (n->layout == LB_ARROW_SPARSE || n->layout == LB_ARROW_DENSE)
        count += p->batch.v4;
    return count;
}

static lb_status batch_measure(const lb_arrow_pull *p, const lb_arrow_node *n, batch_stretch *s, lb_error *err)
{
    uint64_t buffer, offset, size;
    int64_t rows, nulls;

    LB_TRY(lb_arrow_batch_node(p, n, &buffer, &rows, &nulls, err));
    for (uint64_t i = 0, count = node_buffers(p, n); i < count; i++) {
        LB_TRY(buffer_place(p, buffer + i, &offset, &size, err));
        if (size == 0)
            continue;
        s->first = s->sum == 0 ? offset : LB_MIN(s->first, offset);
        s->end = LB_MAX(s->end, offset + size);
        if (!lb_add_u64(s->sum, size, &s->sum))
            s->sum = UINT64_MAX;
    }
    for (uint32_t i = 0; i < n->n_children; i++)
        LB_TRY(batch_measure(p, &n->children[i], s, err));
    return LB_OK;
}

lb_status lb_arrow_pull_ahead(lb_arrow_pull *p, const lb_arrow_node *const *columns, size_t n, bool whole,
                              lb_error *err)
{
    batch_stretch s = { 0, 0, 0 };
    lb_arrow_batch *b = &p->batch;

    if (p->r->file != NULL)
        return LB_OK;
    for (size_t i = 0; i < n; i++)
        LB_TRY(batch_measure(p, columns[i], &s, err));
    uint64_t size = s.end - s.first;
    if (b->span != NULL || size == 0 || size > (whole ? BATCH_SPAN_WHOLE : BATCH_SPAN_SOME) || size / 2 > s.sum ||
        (p->r->schema.swap && !b->compressed))
        return LB_OK;
    lb_arrow_mem *m;
    LB_TRY(lb_arrow_mem_new(&p->held, size, (unsigned)((b->body + s.first) % 64), &m, err));
    lb_status status = batch_read(p, s.first, m->at, size, err);
    if (status != LB_OK) {
        lb_arrow_mem_unref(m);
        return status;
    }
    b->span = m;
    b->span_first = s.first;
    b->span_size = size;
    return LB_OK;
}
