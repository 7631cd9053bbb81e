#include "lake/spool.h"

#include <stdlib.h>

#include "base/hash.h"

/* One walk over an entry's parts both packs and unpacks it, so that the two cannot differ. Numbers are LEB128 varints;
 * arrays stand as they are. After the first failure the rest does nothing. What is read here was written here. */
typedef struct spool_pack {
    lb_buf *out;       /* packing */
    const uint8_t *at; /* unpacking, where `out` is NULL */
    lb_arena *arena;
    lb_error *err;
    lb_status status;
} spool_pack;

/* ---------------------------------------------------------------- values */

static void pack_bytes(spool_pack *p, const void *bytes, size_t size)
{
    if (p->status == LB_OK)
        p->status = lb_buf_append(p->out, bytes, size, p->err);
}

static void pack_u64(spool_pack *p, uint64_t *v)
{
    uint8_t text[10];
    size_t n = 0;

    if (p->out != NULL) {
        for (uint64_t rest = *v; rest >= 0x80 || n == 0 || text[n - 1] >= 0x80; rest >>= 7)
            text[n++] = (uint8_t)(rest & 0x7F) | (rest >= 0x80 ? 0x80 : 0);
        pack_bytes(p, text, n);
        return;
    }
    *v = 0;
    for (unsigned shift = 0; p->status == LB_OK; shift += 7) {
        uint8_t byte = *p->at++;
        *v |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return;
    }
}

/* A signed number as its distance from another one, which is mostly small. */
static void pack_i64_near(spool_pack *p, int64_t *v, int64_t other)
{
    uint64_t d = (uint64_t)*v - (uint64_t)other;
    uint64_t folded = d << 1 ^ (d >> 63 != 0 ? UINT64_MAX : 0);

    pack_u64(p, &folded);
    d = folded >> 1 ^ ((folded & 1) != 0 ? UINT64_MAX : 0);
    *v = (int64_t)((uint64_t)other + d);
}

static void pack_fixed(spool_pack *p, void *value, size_t size)
{
    if (p->out != NULL) {
        pack_bytes(p, value, size);
    } else if (p->status == LB_OK) {
        memcpy(value, p->at, size);
        p->at += size;
    } else {
        memset(value, 0, size);
    }
}

static void pack_int(spool_pack *p, int *v)
{
    int64_t wide = *v;
    pack_i64_near(p, &wide, 0);
    *v = (int)wide;
}

static void pack_bool(spool_pack *p, bool *v)
{
    uint8_t byte = *v;
    pack_fixed(p, &byte, 1);
    *v = byte != 0;
}

/* `count` items, or none at all: the pointer is NULL. */
static void pack_array(spool_pack *p, const void **items, uint64_t count, size_t each)
{
    bool there = *items != NULL && count != 0;
    size_t size = (size_t)count * each;

    if (p->status != LB_OK)
        return;
    pack_bool(p, &there);
    if (!there) {
        *items = NULL;
        return;
    }
    if (p->out != NULL) {
        pack_bytes(p, *items, size);
        return;
    }
    *items = lb_arena_dup(p->arena, p->at, size);
    p->at += size;
    if (*items == NULL)
        p->status = lb_arena_fail(p->arena, p->err);
}

#define PACK_ARRAY(p, array, count)                         \
    do {                                                    \
        const void *items_ = (array);                       \
        pack_array((p), &items_, (count), sizeof *(array)); \
        (array) = items_;                                   \
    } while (0)

static void pack_str(spool_pack *p, lb_str *text)
{
    uint64_t size = text->size;

    pack_u64(p, &size);
    if (p->out != NULL) {
        pack_bytes(p, text->at, text->size);
        return;
    }
    *text = LB_STR("");
    if (size == 0 || p->status != LB_OK)
        return;
    *text = (lb_str){ lb_arena_dup(p->arena, p->at, (size_t)size), (size_t)size };
    p->at += size;
    if (text->at == NULL)
        p->status = lb_arena_fail(p->arena, p->err);
}

/* ---------------------------------------------------------------- parts of an entry */

static void pack_dialect(spool_pack *p, lb_entry *e)
{
    lb_dialect *d = &e->dialect;

    pack_bool(p, &e->has_dialect);
    if (!e->has_dialect) {
        *d = (lb_dialect){ .quote = -1, .escape = -1, .sheet = -1, .header_row = -1 };
        return;
    }
    pack_str(p, &d->delimiter);
    pack_int(p, &d->quote);
    pack_int(p, &d->escape);
    pack_bool(p, &d->has_header);
    pack_str(p, &d->encoding);
    pack_bool(p, &d->ragged_null);
    pack_fixed(p, &d->bom_bytes, 1);
    pack_u64(p, &d->data_start);
    pack_fixed(p, &d->sheet, sizeof d->sheet);
    pack_fixed(p, &d->header_row, sizeof d->header_row);
}

static void pack_blocks(spool_pack *p, lb_blocks *b)
{
    pack_u64(p, &b->count);
    if (b->count == 0)
        return;
    PACK_ARRAY(p, b->first_row, b->count);
    PACK_ARRAY(p, b->row_count, b->count);
    PACK_ARRAY(p, b->total_byte_size, b->count);
    PACK_ARRAY(p, b->compressed_size, b->count);
    PACK_ARRAY(p, b->first_byte, b->count);
    PACK_ARRAY(p, b->first_line, b->count);
    PACK_ARRAY(p, b->start_hash, b->count);
    pack_u64(p, &b->page_indexed_bit);
    PACK_ARRAY(p, b->page_indexed, (b->page_indexed_bit + b->count + 7) / 8);
}

static void pack_parquet(spool_pack *p, lb_entry *e)
{
    pack_u64(p, &e->n_leaf_paths);
    lb_str *paths = (lb_str *)(uintptr_t)e->leaf_paths;
    if (p->out == NULL && p->status == LB_OK) {
        paths = e->n_leaf_paths == 0 ? NULL : lb_arena_alloc(p->arena, (size_t)e->n_leaf_paths, sizeof *paths);
        if (paths == NULL && e->n_leaf_paths != 0)
            p->status = lb_arena_fail(p->arena, p->err);
        e->leaf_paths = paths;
    }
    for (uint64_t i = 0; paths != NULL && i < e->n_leaf_paths && p->status == LB_OK; i++)
        pack_str(p, &paths[i]);
    pack_u64(p, &e->chunks.count);
    if (e->chunks.count != 0) {
        PACK_ARRAY(p, e->chunks.offset, e->chunks.count);
        PACK_ARRAY(p, e->chunks.length, e->chunks.count);
        PACK_ARRAY(p, e->chunks.null_count, e->chunks.count);
    }
    pack_u64(p, &e->pages.count);
    if (e->pages.count == 0)
        return;
    PACK_ARRAY(p, e->pages.block, e->pages.count);
    PACK_ARRAY(p, e->pages.column, e->pages.count);
    PACK_ARRAY(p, e->pages.first_row, e->pages.count);
    PACK_ARRAY(p, e->pages.offset, e->pages.count);
    PACK_ARRAY(p, e->pages.length, e->pages.count);
}

/* Only what is known of a column. */
static void pack_stat(spool_pack *p, lb_colstat *s)
{
    uint64_t has = s->has;

    pack_str(p, &s->name);
    pack_str(p, &s->type);
    pack_fixed(p, &s->source, 1);
    pack_u64(p, &has);
    s->has = (unsigned)has;
    pack_bool(p, &s->has_null_count);
    if (s->has_null_count)
        pack_u64(p, &s->null_count);
    pack_bool(p, &s->has_nan_count);
    if (s->has_nan_count)
        pack_u64(p, &s->nan_count);
    const struct {
        unsigned bit;
        void *value;
    } bounds[] = { { LB_MIN_I, &s->min_i }, { LB_MAX_I, &s->max_i }, { LB_MIN_U, &s->min_u },
                   { LB_MAX_U, &s->max_u }, { LB_MIN_F, &s->min_f }, { LB_MAX_F, &s->max_f } };
    for (size_t i = 0; i < LB_COUNT_OF(bounds); i++)
        if ((s->has & bounds[i].bit) != 0)
            pack_fixed(p, bounds[i].value, sizeof s->min_i);
    pack_str(p, &s->min_b);
    pack_str(p, &s->max_b);
    pack_bool(p, &s->min_exact);
    pack_bool(p, &s->max_exact);
}

static void pack_stats(spool_pack *p, lb_colstats *stats)
{
    pack_u64(p, &stats->count);
    if (p->out == NULL && p->status == LB_OK) {
        stats->items = stats->count == 0 ? NULL : lb_arena_alloc(p->arena, (size_t)stats->count, sizeof *stats->items);
        if (stats->items == NULL && stats->count != 0)
            p->status = lb_arena_fail(p->arena, p->err);
    }
    for (uint64_t i = 0; stats->items != NULL && i < stats->count && p->status == LB_OK; i++)
        pack_stat(p, &stats->items[i]);
}

/* Strings of a column, whose offsets begin at 0 afterwards. */
static void pack_strings(spool_pack *p, uint64_t count, const int32_t **offsets, const uint8_t **data)
{
    const int32_t *from = *offsets;

    PACK_ARRAY(p, *offsets, count + 1);
    if (*offsets == NULL || p->status != LB_OK) {
        *offsets = NULL;
        *data = NULL;
        return;
    }
    if (p->out != NULL) {
        const uint8_t *bytes = *data == NULL ? NULL : *data + from[0];
        PACK_ARRAY(p, bytes, (uint64_t)(from[count] - from[0]));
        return;
    }
    int32_t *own = (int32_t *)(uintptr_t)*offsets, base = own[0];
    for (uint64_t i = 0; i <= count; i++)
        own[i] -= base;
    PACK_ARRAY(p, *data, (uint64_t)own[count]);
}

static void pack_points(spool_pack *p, lb_access_points *a)
{
    pack_u64(p, &a->count);
    if (a->count == 0)
        return;
    pack_str(p, &a->kind);
    PACK_ARRAY(p, a->member, a->count);
    PACK_ARRAY(p, a->compressed_byte, a->count);
    PACK_ARRAY(p, a->uncompressed_byte, a->count);
    PACK_ARRAY(p, a->next_row, a->count);
    PACK_ARRAY(p, a->next_row_byte, a->count);
    PACK_ARRAY(p, a->bit, a->count);
    pack_strings(p, a->count, &a->window_offsets, &a->window_data);
    pack_strings(p, a->count, &a->params_offsets, &a->params_data);
}

static void pack_digests(spool_pack *p, lb_digests *d)
{
    const void *xxh3 = d->xxh3, *blake3 = d->blake3;

    pack_u64(p, &d->count);
    if (d->count == 0)
        return;
    PACK_ARRAY(p, d->first_byte, d->count);
    PACK_ARRAY(p, d->length, d->count);
    pack_array(p, &xxh3, d->count, LB_XXH3_SIZE);
    pack_array(p, &blake3, d->count, LB_BLAKE3_SIZE);
    d->xxh3 = xxh3;
    d->blake3 = blake3;
}

static void pack_entry(spool_pack *p, lb_entry *e)
{
    pack_u64(p, &e->size_bytes);
    pack_fixed(p, &e->mtime_ns, sizeof e->mtime_ns);
    pack_i64_near(p, &e->ctime_ns, e->mtime_ns);
    pack_i64_near(p, &e->inspected_ns, e->mtime_ns);
    pack_i64_near(p, &e->verified_ns, INT64_MIN);
    pack_u64(p, &e->total_rows);
    pack_bool(p, &e->has_content_hash);
    if (e->has_content_hash)
        pack_fixed(p, e->content_hash, sizeof e->content_hash);
    pack_str(p, &e->format);
    pack_str(p, &e->locator);
    pack_str(p, &e->container);
    pack_str(p, &e->error);
    pack_str(p, &e->open_state);
    pack_dialect(p, e);
    pack_blocks(p, &e->blocks);
    e->blocks.packed = lb_str_is(e->locator, LB_LOCATOR_PACKED);
    pack_parquet(p, e);
    pack_stats(p, &e->columns);
    pack_stats(p, &e->block_columns);
    if (e->block_columns.count != 0) {
        PACK_ARRAY(p, e->block_of_column, e->block_columns.count);
        PACK_ARRAY(p, e->column_of_column, e->block_columns.count);
    }
    pack_points(p, &e->access_points);
    pack_digests(p, &e->digests);
}

/* ---------------------------------------------------------------- the spool */

lb_status lb_spool_init(lb_spool *spool, lb_budget *budget, size_t count, lb_error *err)
{
    *spool = (lb_spool){ .count = count };
    lb_arena_init(&spool->arena, budget);
    lb_buf_init(&spool->schemas, budget);
    if (pthread_mutex_init(&spool->lock, NULL) != 0)
        return lb_fail_nomem(err);
    spool->slots = calloc(count + 1, sizeof *spool->slots);
    if (spool->slots != NULL)
        return LB_OK;
    (void)pthread_mutex_destroy(&spool->lock);
    return lb_fail_nomem(err);
}

void lb_spool_free(lb_spool *spool)
{
    if (spool->slots == NULL)
        return;
    lb_arena_free(&spool->arena);
    lb_buf_free(&spool->schemas);
    free(spool->table);
    free(spool->slots);
    spool->slots = NULL;
    (void)pthread_mutex_destroy(&spool->lock);
}

static lb_str spool_schema(const lb_spool *spool, uint64_t place)
{
    return ((const lb_str *)(const void *)spool->schemas.data)[place];
}

/* Where a schema is or belongs in the table, which has room. */
static size_t spool_seek(const lb_spool *spool, lb_str schema)
{
    size_t at = (size_t)lb_xxh3_64(schema.at, schema.size) & (spool->cap_table - 1);

    while (spool->table[at] != 0 && !lb_str_equal(spool_schema(spool, spool->table[at] - 1), schema))
        at = (at + 1) & (spool->cap_table - 1);
    return at;
}

static lb_status spool_grow(lb_spool *spool, size_t n, lb_error *err)
{
    uint32_t *former = spool->table;

    if (n * 2 < spool->cap_table)
        return LB_OK;
    size_t cap = spool->cap_table == 0 ? 64 : spool->cap_table * 2;
    uint32_t *table = n >= UINT32_MAX ? NULL : calloc(cap, sizeof *table);
    if (table == NULL)
        return lb_fail_nomem(err);
    spool->table = table;
    spool->cap_table = cap;
    for (size_t i = 0; i < n; i++)
        table[spool_seek(spool, spool_schema(spool, i))] = (uint32_t)i + 1;
    free(former);
    return LB_OK;
}

/* Place of a schema among those kept + 1; 0: it is none. With the lock held. */
static lb_status spool_intern(lb_spool *spool, lb_str schema, uint64_t *out, lb_error *err)
{
    size_t n = spool->schemas.size / sizeof schema;

    *out = 0;
    if (schema.size == 0)
        return LB_OK;
    LB_TRY(spool_grow(spool, n, err));
    size_t at = spool_seek(spool, schema);
    if (spool->table[at] == 0) {
        lb_str kept = { lb_arena_dup(&spool->arena, schema.at, schema.size), schema.size };
        if (kept.at == NULL)
            return lb_arena_fail(&spool->arena, err);
        LB_TRY(lb_buf_append(&spool->schemas, &kept, sizeof kept, err));
        spool->table[at] = (uint32_t)n + 1;
    }
    *out = spool->table[at];
    return LB_OK;
}

/* The packed entry follows the place of its schema. With the lock held. */
static lb_status spool_keep(lb_spool *spool, size_t slot, lb_str schema, lb_buf *packed, lb_error *err)
{
    uint64_t place;
    spool_pack p = { .out = packed, .err = err };

    LB_TRY(spool_intern(spool, schema, &place, err));
    pack_u64(&p, &place);
    LB_TRY(p.status);
    uint8_t *kept = lb_arena_dup(&spool->arena, packed->data, packed->size);
    if (kept == NULL)
        return lb_arena_fail(&spool->arena, err);
    spool->slots[slot] = kept;
    return LB_OK;
}

lb_status lb_spool_put(lb_spool *spool, size_t slot, const lb_entry *entry, lb_error *err)
{
    lb_entry e = *entry; /* the walk writes what it reads, as it is */
    lb_buf packed;
    spool_pack p = { .out = &packed, .err = err };

    lb_buf_init(&packed, NULL);
    pack_entry(&p, &e);
    if (p.status == LB_OK) {
        (void)pthread_mutex_lock(&spool->lock);
        p.status = spool_keep(spool, slot, entry->arrow_schema, &packed, err);
        (void)pthread_mutex_unlock(&spool->lock);
    }
    lb_buf_free(&packed);
    return p.status;
}

lb_status lb_spool_get(const lb_spool *spool, size_t slot, lb_arena *arena, lb_entry *out, lb_error *err)
{
    spool_pack p = { .at = spool->slots[slot], .arena = arena, .err = err };
    uint64_t place = 0;

    *out = (lb_entry){ .rel_path = LB_STR("") };
    pack_entry(&p, out);
    if (p.status == LB_OK)
        pack_u64(&p, &place);
    out->arrow_schema = place == 0 ? LB_STR("") : spool_schema(spool, place - 1);
    return p.status;
}
