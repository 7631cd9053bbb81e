/* Entries → the Arrow IPC file of a map. Batches are built column by column through the table of map_schema.h and
 * closed by their size: offsets of 32 bits suffice, and memory is bounded by a batch whatever the number of entries. */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/path.h"
#include "base/utf8.h"
#include "column/ipc.h"
#include "column/print.h"
#include "lake/map_private.h"
#include "lake/unite.h"

#define DEFAULT_BATCH_BYTES (16u << 20) /* docs/decisions/2026-11-30-small-batches.md */
#define FIXED_ENTRY_BYTES 360           /* of an entry without any text or list */

/* A schema by its hash, which nobody can make two schemas share; and the entry + 1 that holds it, 0: a free slot. */
typedef struct schema_slot {
    uint8_t hash[LB_BLAKE3_SIZE];
    uint32_t entry;
} schema_slot;

/* What the map's metadata says of a batch, so that opening need not look at each. */
typedef struct batch_note {
    uint64_t count, first_row, failed;
} batch_note;

typedef struct map_writer {
    const lb_map_header *header;
    const lb_entry_source *entries;
    lb_arena arena; /* of the entry at hand */
    lb_buf united;  /* the united schema, where it is made here */
    uint64_t max_batch;
    uint64_t total_rows, total_bytes;
    lb_ipc_writer *out;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArray *fields[LB_MAP_N_FIELDS];
    int code;          /* first failure of an append; sticky */
    lb_buf notes;      /* of batch_note: worked out in the first round */
    uint64_t in_batch; /* bytes, then entries, of the batch so far */
    lb_buf stats_json, row_groups_json;
    struct schema_slot *schemas; /* open hash table */
    size_t n_schemas, cap_schemas;
    lb_blake3 *hash;
    lb_buf last_schema; /* most entries have the schema of the one before */
    uint32_t last_ref;
} map_writer;

/* ---------------------------------------------------------------- appending */

static void put_null(map_writer *w, unsigned id)
{
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayAppendNull(w->fields[id], 1);
}

static void put_uint(map_writer *w, unsigned id, uint64_t v)
{
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayAppendUInt(w->fields[id], v);
}

static void put_int(map_writer *w, unsigned id, int64_t v)
{
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayAppendInt(w->fields[id], v);
}

static void put_uint_if(map_writer *w, unsigned id, bool known, uint64_t v)
{
    if (known)
        put_uint(w, id, v);
    else
        put_null(w, id);
}

static void put_int_if(map_writer *w, unsigned id, bool known, int64_t v)
{
    if (known)
        put_int(w, id, v);
    else
        put_null(w, id);
}

static void put_double_if(map_writer *w, unsigned id, bool known, double v)
{
    if (!known)
        put_null(w, id);
    else if (w->code == NANOARROW_OK)
        w->code = ArrowArrayAppendDouble(w->fields[id], v);
}

static void put_bytes(map_writer *w, unsigned id, lb_str v)
{
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayAppendBytes(w->fields[id], (struct ArrowBufferView){ { v.at }, (int64_t)v.size });
}

static void put_bytes_if(map_writer *w, unsigned id, bool known, lb_str v)
{
    if (known)
        put_bytes(w, id, v);
    else
        put_null(w, id);
}

/* End a row of a struct or a list. */
static void put_end(map_writer *w, unsigned id)
{
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayFinishElement(w->fields[id]);
}

/* `n` values of a fixed width at once; NULL: nulls. */
static void put_many(map_writer *w, unsigned id, const void *values, uint64_t n)
{
    struct ArrowArray *a = w->fields[id];
    unsigned width = lb_map_type_width((lb_map_type)lb_map_fields[id].type);
    if (w->code != NANOARROW_OK || n == 0)
        return;
    if (values == NULL) {
        w->code = ArrowArrayAppendNull(a, (int64_t)n);
        return;
    }
    w->code = n > INT32_MAX ? EOVERFLOW : ArrowBufferAppend(ArrowArrayBuffer(a, 1), values, (int64_t)(n * width));
    struct ArrowBitmap *valid = ArrowArrayValidityBitmap(a);
    if (w->code == NANOARROW_OK && valid->buffer.data != NULL)
        w->code = ArrowBitmapAppend(valid, 1, (int64_t)n);
    a->length += (int64_t)n;
}

/* Numbers where UINT64_MAX is null; that number also stands below the null, so that a view needs no copy. */
static void put_sparse(map_writer *w, unsigned id, const uint64_t *values, uint64_t n)
{
    if (values == NULL)
        put_many(w, id, NULL, n);
    for (uint64_t i = 0; values != NULL && i < n && w->code == NANOARROW_OK; i++) {
        put_uint_if(w, id, values[i] != UINT64_MAX, values[i]);
        struct ArrowBuffer *data = ArrowArrayBuffer(w->fields[id], 1);
        if (w->code == NANOARROW_OK)
            memcpy(data->data + data->size_bytes - sizeof values[i], &values[i], sizeof values[i]);
    }
}

/* `n` structs, whose fields were appended, as one row of a list. */
static void put_list(map_writer *w, unsigned list, uint64_t n)
{
    w->fields[list + 1]->length += (int64_t)n;
    put_end(w, list);
}

/* ---------------------------------------------------------------- parts of an entry */

static void put_dialect(map_writer *w, const lb_entry *e)
{
    const lb_dialect *d = &e->dialect;
    if (!e->has_dialect) {
        put_null(w, LB_MAP_F_DIALECT);
        return;
    }
    put_bytes(w, LB_MAP_F_DIALECT_DELIMITER, d->delimiter);
    put_uint_if(w, LB_MAP_F_DIALECT_QUOTE, d->quote >= 0, (uint8_t)d->quote);
    put_uint_if(w, LB_MAP_F_DIALECT_ESCAPE, d->escape >= 0, (uint8_t)d->escape);
    put_uint(w, LB_MAP_F_DIALECT_HAS_HEADER, d->has_header);
    put_bytes_if(w, LB_MAP_F_DIALECT_ENCODING, d->encoding.size != 0, d->encoding);
    put_bytes(w, LB_MAP_F_DIALECT_RAGGED, d->ragged_null ? LB_STR("null") : LB_STR("error"));
    put_uint(w, LB_MAP_F_DIALECT_BOM_BYTES, d->bom_bytes);
    put_uint(w, LB_MAP_F_DIALECT_DATA_START, d->data_start);
    put_int_if(w, LB_MAP_F_DIALECT_SHEET, d->sheet >= 0, d->sheet);
    put_int_if(w, LB_MAP_F_DIALECT_HEADER_ROW, d->header_row >= 0, d->header_row);
    put_end(w, LB_MAP_F_DIALECT);
}

static void put_blocks(map_writer *w, const lb_blocks *b)
{
    put_many(w, LB_MAP_F_BLOCK_FIRST_ROW, b->first_row, b->count);
    put_many(w, LB_MAP_F_BLOCK_ROW_COUNT, b->row_count, b->count);
    put_many(w, LB_MAP_F_BLOCK_FIRST_BYTE, b->first_byte, b->count);
    put_many(w, LB_MAP_F_BLOCK_TOTAL_BYTE_SIZE, b->total_byte_size, b->count);
    put_many(w, LB_MAP_F_BLOCK_COMPRESSED_SIZE, b->compressed_size, b->count);
    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t bit = b->page_indexed_bit + i;
        put_uint(w, LB_MAP_F_BLOCK_PAGE_INDEXED,
                 b->page_indexed != NULL && (b->page_indexed[bit / 8] >> (bit % 8) & 1) != 0);
    }
    put_many(w, LB_MAP_F_BLOCK_FIRST_LINE, b->first_line, b->count);
    put_many(w, LB_MAP_F_BLOCK_START_HASH, b->start_hash, b->count);
    put_list(w, LB_MAP_F_BLOCKS, b->count);
}

static void put_chunks(map_writer *w, const lb_entry *e)
{
    const lb_chunks *c = &e->chunks;
    const lb_pages *p = &e->pages;
    for (uint64_t i = 0; i < e->n_leaf_paths; i++)
        put_bytes(w, LB_MAP_F_LEAF_PATH, e->leaf_paths[i]);
    put_end(w, LB_MAP_F_LEAF_PATHS);
    put_many(w, LB_MAP_F_CHUNK_OFFSET, c->offset, c->count);
    put_many(w, LB_MAP_F_CHUNK_LENGTH, c->length, c->count);
    put_sparse(w, LB_MAP_F_CHUNK_NULL_COUNT, c->null_count, c->count);
    put_list(w, LB_MAP_F_CHUNKS, c->count);
    put_many(w, LB_MAP_F_PAGE_BLOCK, p->block, p->count);
    put_many(w, LB_MAP_F_PAGE_COLUMN, p->column, p->count);
    put_sparse(w, LB_MAP_F_PAGE_FIRST_ROW, p->first_row, p->count);
    put_many(w, LB_MAP_F_PAGE_OFFSET, p->offset, p->count);
    put_many(w, LB_MAP_F_PAGE_LENGTH, p->length, p->count);
    put_list(w, LB_MAP_F_PAGES, p->count);
}

/* `shift` leads from the fields of `columns` to those of `block_columns`, which stand in the same order. */
static void put_stat(map_writer *w, const lb_colstat *s, unsigned shift)
{
    put_bytes(w, LB_MAP_F_COLUMN_NAME + shift, s->name);
    put_bytes(w, LB_MAP_F_COLUMN_TYPE + shift, s->type);
    put_uint(w, LB_MAP_F_COLUMN_SOURCE + shift, s->source);
    put_uint_if(w, LB_MAP_F_COLUMN_NULL_COUNT + shift, s->has_null_count, s->null_count);
    put_uint_if(w, LB_MAP_F_COLUMN_NAN_COUNT + shift, s->has_nan_count, s->nan_count);
    put_int_if(w, LB_MAP_F_COLUMN_MIN_I + shift, (s->has & LB_MIN_I) != 0, s->min_i);
    put_int_if(w, LB_MAP_F_COLUMN_MAX_I + shift, (s->has & LB_MAX_I) != 0, s->max_i);
    put_uint_if(w, LB_MAP_F_COLUMN_MIN_U + shift, (s->has & LB_MIN_U) != 0, s->min_u);
    put_uint_if(w, LB_MAP_F_COLUMN_MAX_U + shift, (s->has & LB_MAX_U) != 0, s->max_u);
    put_double_if(w, LB_MAP_F_COLUMN_MIN_F + shift, (s->has & LB_MIN_F) != 0, s->min_f);
    put_double_if(w, LB_MAP_F_COLUMN_MAX_F + shift, (s->has & LB_MAX_F) != 0, s->max_f);
    put_bytes_if(w, LB_MAP_F_COLUMN_MIN_B + shift, (s->has & LB_MIN_B) != 0, s->min_b);
    put_bytes_if(w, LB_MAP_F_COLUMN_MAX_B + shift, (s->has & LB_MAX_B) != 0, s->max_b);
    put_uint(w, LB_MAP_F_COLUMN_MIN_EXACT + shift, s->min_exact);
    put_uint(w, LB_MAP_F_COLUMN_MAX_EXACT + shift, s->max_exact);
}

static void put_stats(map_writer *w, const lb_entry *e)
{
    const unsigned shift = LB_MAP_F_BLOCK_COLUMN_NAME - LB_MAP_F_COLUMN_NAME;
    for (uint64_t i = 0; i < e->columns.count; i++)
        put_stat(w, &e->columns.items[i], 0);
    put_list(w, LB_MAP_F_COLUMNS, e->columns.count);
    for (uint64_t i = 0; i < e->block_columns.count; i++)
        put_stat(w, &e->block_columns.items[i], shift);
    put_many(w, LB_MAP_F_BLOCK_COLUMN_BLOCK, e->block_of_column, e->block_columns.count);
    put_many(w, LB_MAP_F_BLOCK_COLUMN_COLUMN, e->column_of_column, e->block_columns.count);
    put_list(w, LB_MAP_F_BLOCK_COLUMNS, e->block_columns.count);
}

static void put_point_bytes(map_writer *w, unsigned id, const int32_t *offsets, const uint8_t *data, uint64_t i)
{
    bool known = offsets != NULL && offsets[i + 1] > offsets[i];
    put_bytes_if(w, id, known,
                 known ? (lb_str){ (const char *)data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]) }
                       : LB_STR(""));
}

static void put_access_points(map_writer *w, const lb_access_points *p)
{
    for (uint64_t i = 0; i < p->count; i++) {
        put_bytes(w, LB_MAP_F_ACCESS_KIND, p->kind);
        put_point_bytes(w, LB_MAP_F_ACCESS_WINDOW, p->window_offsets, p->window_data, i);
        put_point_bytes(w, LB_MAP_F_ACCESS_PARAMS, p->params_offsets, p->params_data, i);
    }
    put_many(w, LB_MAP_F_ACCESS_MEMBER, p->member, p->count);
    put_many(w, LB_MAP_F_ACCESS_COMPRESSED_BYTE, p->compressed_byte, p->count);
    put_many(w, LB_MAP_F_ACCESS_BIT, p->bit, p->count);
    put_many(w, LB_MAP_F_ACCESS_UNCOMPRESSED_BYTE, p->uncompressed_byte, p->count);
    put_many(w, LB_MAP_F_ACCESS_NEXT_ROW, p->next_row, p->count);
    put_many(w, LB_MAP_F_ACCESS_NEXT_ROW_BYTE, p->next_row_byte, p->count);
    put_list(w, LB_MAP_F_ACCESS_POINTS, p->count);
}

static void put_digests(map_writer *w, const lb_digests *d)
{
    put_many(w, LB_MAP_F_DIGEST_FIRST_BYTE, d->first_byte, d->count);
    put_many(w, LB_MAP_F_DIGEST_LENGTH, d->length, d->count);
    put_many(w, LB_MAP_F_DIGEST_XXH3, d->xxh3, d->count);
    put_many(w, LB_MAP_F_DIGEST_BLAKE3, d->blake3, d->count);
    put_list(w, LB_MAP_F_DIGESTS, d->count);
}

/* ---------------------------------------------------------------- schemas that repeat */

static size_t schemas_seek(const schema_slot *table, size_t cap, const uint8_t *hash)
{
    uint64_t start;
    memcpy(&start, hash, sizeof start);
    size_t at = (size_t)start & (cap - 1);
    while (table[at].entry != 0 && memcmp(table[at].hash, hash, LB_BLAKE3_SIZE) != 0)
        at = (at + 1) & (cap - 1);
    return at;
}

static bool schemas_grow(map_writer *w)
{
    if (w->n_schemas * 2 < w->cap_schemas)
        return true;
    size_t cap = w->cap_schemas == 0 ? 64 : w->cap_schemas * 2;
    schema_slot *table = calloc(cap, sizeof *table);
    if (table == NULL)
        return false;
    for (size_t i = 0; i < w->cap_schemas; i++)
        if (w->schemas[i].entry != 0)
            table[schemas_seek(table, cap, w->schemas[i].hash)] = w->schemas[i];
    free(w->schemas);
    w->schemas = table;
    w->cap_schemas = cap;
    return true;
}

/* Entry + 1 that holds a schema, or 0: then it is this one from now on. */
static uint32_t schemas_find(map_writer *w, lb_str s, uint64_t index)
{
    uint8_t hash[LB_BLAKE3_SIZE];
    if (w->last_ref != 0 && lb_str_equal((lb_str){ (const char *)w->last_schema.data, w->last_schema.size }, s))
        return w->last_ref;
    w->last_schema.size = 0;
    if (!schemas_grow(w) || lb_buf_append(&w->last_schema, s.at, s.size, NULL) != LB_OK) {
        w->code = ENOMEM;
        return 0;
    }
    lb_blake3_reset(w->hash);
    lb_blake3_update(w->hash, s.at, s.size);
    lb_blake3_digest(w->hash, hash);
    schema_slot *slot = &w->schemas[schemas_seek(w->schemas, w->cap_schemas, hash)];
    uint32_t found = slot->entry;
    if (found == 0 && index < UINT32_MAX) {
        memcpy(slot->hash, hash, sizeof hash);
        slot->entry = (uint32_t)index + 1;
        w->n_schemas++;
    }
    w->last_ref = slot->entry;
    return found;
}

/* Write the schema, or which earlier entry has it. */
static void put_schema(map_writer *w, const lb_entry *e, uint64_t index)
{
    lb_str s = e->arrow_schema;
    uint32_t found = s.size == 0 || w->code != NANOARROW_OK ? 0 : schemas_find(w, s, index);
    put_bytes_if(w, LB_MAP_F_ARROW_SCHEMA, found == 0 && s.size != 0, s);
    put_uint_if(w, LB_MAP_F_SCHEMA_REF, found != 0, found - 1);
}

/* ---------------------------------------------------------------- entries and batches */

static int64_t floor_ms(int64_t ns)
{
    return ns / 1000000 - (ns % 1000000 < 0);
}

static void put_scalars(map_writer *w, const lb_entry *e)
{
    char hash[2 * sizeof e->content_hash + 1];
    lb_hex(e->content_hash, sizeof e->content_hash, hash);
    put_bytes(w, LB_MAP_F_REL_PATH, e->rel_path);
    put_uint(w, LB_MAP_F_SIZE_BYTES, e->size_bytes);
    put_int(w, LB_MAP_F_MTIME_MS, floor_ms(e->mtime_ns));
    put_uint(w, LB_MAP_F_TOTAL_ROWS, e->total_rows);
    put_bytes(w, LB_MAP_F_STATS_JSON, (lb_str){ (const char *)w->stats_json.data, w->stats_json.size });
    put_uint(w, LB_MAP_F_FIRST_GLOBAL_ROW, e->first_global_row);
    put_bytes(w, LB_MAP_F_ROW_GROUPS_JSON, (lb_str){ (const char *)w->row_groups_json.data, w->row_groups_json.size });
    put_bytes_if(w, LB_MAP_F_CONTENT_HASH, e->has_content_hash, (lb_str){ hash, sizeof hash - 1 });
    put_bytes(w, LB_MAP_F_FORMAT, e->format);
    put_bytes(w, LB_MAP_F_LOCATOR, e->locator.size == 0 ? LB_STR("none") : e->locator);
    put_bytes_if(w, LB_MAP_F_CONTAINER, e->container.size != 0, e->container);
    put_int(w, LB_MAP_F_MTIME_NS, e->mtime_ns);
    put_int_if(w, LB_MAP_F_CTIME_NS, e->ctime_ns != INT64_MIN, e->ctime_ns);
    put_int(w, LB_MAP_F_INSPECTED_NS, e->inspected_ns);
    put_int_if(w, LB_MAP_F_VERIFIED_NS, e->verified_ns != INT64_MIN, e->verified_ns);
    put_bytes_if(w, LB_MAP_F_OPEN_STATE, e->open_state.size != 0, e->open_state);
    put_bytes_if(w, LB_MAP_F_ERROR, e->error.size != 0, e->error);
    put_bytes_if(w, LB_MAP_F_REL_PATH_RAW, e->rel_path_raw.size != 0, e->rel_path_raw);
}

static void put_entry(map_writer *w, const lb_entry *e, uint64_t index)
{
    put_scalars(w, e);
    put_schema(w, e, index);
    put_dialect(w, e);
    put_blocks(w, &e->blocks);
    put_chunks(w, e);
    put_stats(w, e);
    put_access_points(w, &e->access_points);
    put_digests(w, &e->digests);
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayFinishElement(&w->batch);
}

static uint64_t stats_size(const lb_colstats *s)
{
    uint64_t n = s->count * 100;
    for (uint64_t i = 0; i < s->count; i++)
        n += s->items[i].name.size + s->items[i].type.size + s->items[i].min_b.size + s->items[i].max_b.size;
    return n;
}

static uint64_t points_size(const lb_access_points *p)
{
    uint64_t n = p->count * (60 + p->kind.size);
    if (p->window_offsets != NULL)
        n += (uint64_t)(p->window_offsets[p->count] - p->window_offsets[0]);
    if (p->params_offsets != NULL)
        n += (uint64_t)(p->params_offsets[p->count] - p->params_offsets[0]);
    return n;
}

/* About the bytes an entry adds to a batch, with the JSON that was made for it. */
static uint64_t entry_size(const map_writer *w, const lb_entry *e)
{
    uint64_t n = FIXED_ENTRY_BYTES + e->rel_path.size + e->rel_path_raw.size + e->arrow_schema.size + e->error.size;
    n += e->open_state.size + w->stats_json.size + w->row_groups_json.size;
    n += e->blocks.count * 57 + e->chunks.count * 24 + e->pages.count * 32 + e->digests.count * 64;
    for (uint64_t i = 0; i < e->n_leaf_paths; i++)
        n += 4 + e->leaf_paths[i].size;
    return n + stats_size(&e->columns) + stats_size(&e->block_columns) + points_size(&e->access_points);
}

/* Where each field's array stands in the batch: walked as the table is. */
static void find_fields(map_writer *w, struct ArrowArray *parent, unsigned first, unsigned end)
{
    int64_t child = 0;
    for (unsigned id = first; id < end; id = lb_map_field_end(id)) {
        w->fields[id] = parent->children[child++];
        find_fields(w, w->fields[id], id + 1, lb_map_field_end(id));
    }
}

static void begin_batch(map_writer *w)
{
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayInitFromSchema(&w->batch, &w->schema, NULL);
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayStartAppending(&w->batch);
    if (w->code == NANOARROW_OK)
        find_fields(w, &w->batch, 0, LB_MAP_N_FIELDS);
    w->in_batch = 0;
}

static lb_status failed_append(const map_writer *w, lb_error *err)
{
    if (w->code == EOVERFLOW || w->code == EINVAL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "what is known of one file is more than a map's column holds (2 GiB)");
    return lb_fail_nomem(err);
}

/* The bits behind the last one of a bitmap are whatever was in memory: the same files shall give the same map. */
static void clear_spare_bits(struct ArrowArray *a)
{
    struct ArrowBitmap *valid = ArrowArrayValidityBitmap(a);

    if (valid->buffer.data != NULL && valid->size_bits % 8 != 0)
        valid->buffer.data[valid->size_bits / 8] &= (uint8_t)((1u << valid->size_bits % 8) - 1);
}

static lb_status end_batch(map_writer *w, lb_error *err)
{
    if (w->batch.release == NULL)
        return LB_OK;
    for (unsigned id = 0; id < LB_MAP_N_FIELDS && w->code == NANOARROW_OK; id++)
        clear_spare_bits(w->fields[id]);
    if (w->code == NANOARROW_OK)
        w->code = ArrowArrayFinishBuildingDefault(&w->batch, NULL);
    lb_status status = w->code != NANOARROW_OK ? failed_append(w, err) : lb_ipc_writer_batch(w->out, &w->batch, err);
    ArrowArrayRelease(&w->batch);
    w->in_batch = 0;
    return status;
}

static lb_status get_entry(map_writer *w, uint64_t index, lb_entry *out, lb_error *err)
{
    lb_arena_free(&w->arena);
    return w->entries->get(w->entries->user, index, &w->arena, out, err);
}

static lb_status print_json(map_writer *w, const lb_entry *e, lb_error *err)
{
    bool full = w->header->interop_full;
    w->stats_json.size = w->row_groups_json.size = 0;
    LB_TRY(lb_map_print_stats(e, full, &w->stats_json, err));
    return lb_map_print_row_groups(e, full, &w->row_groups_json, err);
}

static lb_status write_entry(map_writer *w, const lb_entry *e, uint64_t index, lb_error *err)
{
    LB_TRY(print_json(w, e, err));
    if (w->batch.release == NULL)
        begin_batch(w);
    if (w->code == NANOARROW_OK)
        put_entry(w, e, index);
    w->in_batch++;
    return w->code == NANOARROW_OK ? LB_OK : failed_append(w, err);
}

/* The second round: the header was written, so that it has to hold. */
static lb_status write_entries(map_writer *w, lb_error *err)
{
    const batch_note *note = (const batch_note *)(const void *)w->notes.data;
    uint64_t rows = 0;
    w->hash = lb_blake3_new();
    if (w->hash == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0; i < w->entries->count; i++) {
        lb_entry e;
        LB_TRY(get_entry(w, i, &e, err));
        e.first_global_row = rows;
        rows += e.total_rows;
        LB_TRY(write_entry(w, &e, i, err));
        if (w->in_batch == note->count) {
            LB_TRY(end_batch(w, err));
            note++;
        }
    }
    return rows == w->total_rows
               ? LB_OK
               : lb_fail(err, LB_INTERNAL, LB_NOWHERE, "the entries of a map changed while it was written");
}

/* ---------------------------------------------------------------- metadata */

#define MAX_PAIRS 24

typedef struct meta_pairs {
    lb_str pairs[2 * MAX_PAIRS];
    char numbers[MAX_PAIRS][LB_INT_TEXT];
    size_t n;
} meta_pairs;

static void meta_text(meta_pairs *m, const char *key, lb_str value)
{
    m->pairs[2 * m->n] = lb_str_of(key);
    m->pairs[2 * m->n++ + 1] = value;
}

static void meta_uint(meta_pairs *m, const char *key, uint64_t v)
{
    char *text = m->numbers[m->n];
    meta_text(m, key, (lb_str){ text, lb_print_uint64(v, text) });
}

static void meta_int(meta_pairs *m, const char *key, int64_t v)
{
    char *text = m->numbers[m->n];
    meta_text(m, key, (lb_str){ text, lb_print_int64(v, text) });
}

/* The reference reads `null` as all columns, else a JSON array of names. It knows nothing of statistics by block,
 * so that word has a key of ours. */
static void meta_stats(meta_pairs *m, lb_str stats)
{
    bool block = lb_str_is(stats, "block"), all = stats.size == 0 || lb_str_is(stats, "all");
    meta_text(m, "bazan.stats_columns",
              block || all               ? LB_STR("null")
              : lb_str_is(stats, "none") ? LB_STR("[]")
                                         : stats);
    if (block)
        meta_text(m, "bazan.stats", LB_STR("block"));
}

static void make_pairs(const map_writer *w, lb_str union_text, lb_str batches, meta_pairs *m)
{
    const lb_map_header *h = w->header;
    m->n = 0;
    meta_text(m, "bazan.kind", LB_STR("lake_map"));
    meta_text(m, "bazan.version", LB_STR("1"));
    meta_text(m, "bazan.payload", LB_STR("arrow_ipc"));
    meta_text(m, "bazan.map_schema", LB_STR("3"));
    meta_uint(m, "bazan.checkpoint_stride_rows", h->stride == 0 ? LB_DEFAULT_STRIDE : h->stride);
    meta_text(m, "bazan.fingerprint", h->fingerprint == LB_FINGERPRINT_BLAKE3 ? LB_STR("blake3") : LB_STR("metadata"));
    meta_stats(m, h->stats);
    meta_text(m, "bazan.ext", LB_STR("1"));
    meta_uint(m, "bazan.total_files", w->entries->count);
    meta_uint(m, "bazan.total_rows", w->total_rows);
    meta_uint(m, "bazan.total_bytes", w->total_bytes);
    meta_text(m, "bazan.batches", batches);
    meta_int(m, "bazan.created_ns", h->created_ns);
    meta_text(m, "bazan.writer", h->writer.size == 0 ? LB_STR("lakebed") : h->writer);
    meta_text(m, "bazan.interop", h->interop_full ? LB_STR("full") : LB_STR("lean"));
    if (h->options_json.size != 0)
        meta_text(m, "bazan.options", h->options_json);
    /* Metadata values are read as text, so bytes stand there as base64. */
    if (union_text.size != 0)
        meta_text(m, "bazan.union_schema", union_text);
}

/* `bazan.batches`: of each batch its entries, first global row and entries with an error, as `count:row:failed,…`. */
static lb_status print_notes(const map_writer *w, lb_buf *out, lb_error *err)
{
    const batch_note *notes = (const batch_note *)(const void *)w->notes.data;
    for (size_t i = 0; i < w->notes.size / sizeof *notes; i++)
        LB_TRY(lb_buf_printf(out, err, "%s%llu:%llu:%llu", i == 0 ? "" : ",", (unsigned long long)notes[i].count,
                             (unsigned long long)notes[i].first_row, (unsigned long long)notes[i].failed));
    return LB_OK;
}

static lb_status make_schema(map_writer *w, bool unite, lb_error *err)
{
    meta_pairs m;
    lb_buf text, batches;
    lb_str united = unite ? (lb_str){ (const char *)w->united.data, w->united.size } : w->header->union_schema;
    lb_buf_init(&text, NULL);
    lb_buf_init(&batches, NULL);
    lb_status status = united.size == 0 ? LB_OK : lb_print_base64(&text, united.at, united.size, err);
    if (status == LB_OK)
        status = print_notes(w, &batches, err);
    if (status == LB_OK) {
        make_pairs(w, (lb_str){ (const char *)text.data, text.size },
                   (lb_str){ (const char *)batches.data, batches.size }, &m);
        status = lb_map_make_schema(m.pairs, m.n, &w->schema, err);
    }
    lb_buf_free(&text);
    lb_buf_free(&batches);
    return status;
}

/* ---------------------------------------------------------------- the whole */

static lb_status bad_entry(const lb_entry *e, const char *what, lb_error *err)
{
    char shown[200];
    lb_copy_text(shown, sizeof shown, e->rel_path.at, e->rel_path.size);
    return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "entry '%s' cannot stand in a map: %s", shown, what);
}

/* `before`: the path of the entry before it; empty: it is the first. */
static lb_status check_entry(const lb_entry *e, lb_str before, lb_error *err)
{
    size_t want;
    if (!lb_path_is_inside(e->rel_path) ||
        lb_utf8_valid_prefix((const uint8_t *)e->rel_path.at, e->rel_path.size) != e->rel_path.size)
        return bad_entry(e, "its path is none of a file in the lake", err);
    int order = before.size == 0 ? -1 : lb_str_compare(before, e->rel_path);
    if (order >= 0)
        return bad_entry(e, order == 0 ? "it is given twice" : "it is not given in the order of paths", err);
    if (e->total_rows > INT64_MAX)
        return bad_entry(e, "its rows are not known", err);
    if (e->n_leaf_paths > 0 && e->leaf_paths == NULL)
        return bad_entry(e, "it lacks its leaf paths", err);
    if (e->chunks.count > 0 &&
        (!lb_mul_size((size_t)e->blocks.count, (size_t)e->n_leaf_paths, &want) || want != e->chunks.count))
        return bad_entry(e, "it does not have one chunk for each block and leaf column", err);
    return LB_OK;
}

/* Count an entry into its batch: a new one where it would grow beyond its size. */
static lb_status note_entry(map_writer *w, const lb_entry *e, lb_error *err)
{
    LB_TRY(print_json(w, e, err));
    uint64_t size = entry_size(w, e);
    if (w->notes.size == 0 || w->in_batch + size > w->max_batch) {
        const batch_note fresh = { .first_row = w->total_rows };
        LB_TRY(lb_buf_append(&w->notes, &fresh, sizeof fresh, err));
        w->in_batch = 0;
    }
    batch_note *note = (batch_note *)(void *)(w->notes.data + w->notes.size) - 1;
    note->count++;
    note->failed += e->error.size != 0;
    w->in_batch += size;
    return LB_OK;
}

/* The first round (LM-106, LM-107): `before` is for the path of the entry before. */
static lb_status count_entry(map_writer *w, uint64_t index, lb_unite *u, lb_buf *before, lb_error *err)
{
    lb_entry e;
    LB_TRY(get_entry(w, index, &e, err));
    LB_TRY(check_entry(&e, (lb_str){ (const char *)before->data, before->size }, err));
    before->size = 0;
    LB_TRY(lb_buf_append(before, e.rel_path.at, e.rel_path.size, err));
    LB_TRY(note_entry(w, &e, err));
    if (!lb_add_u64(w->total_rows, e.total_rows, &w->total_rows) || w->total_rows > INT64_MAX ||
        !lb_add_u64(w->total_bytes, e.size_bytes, &w->total_bytes))
        return bad_entry(&e, "with it the lake has more rows or bytes than can be counted", err);
    return u == NULL ? LB_OK : lb_unite_add(u, &e, &e.columns, err);
}

static lb_status count_entries(map_writer *w, lb_unite *u, lb_error *err)
{
    lb_buf before;
    lb_status status = LB_OK;
    lb_buf_init(&before, NULL);
    for (uint64_t i = 0; status == LB_OK && i < w->entries->count; i++)
        status = count_entry(w, i, u, &before, err);
    lb_buf_free(&before);
    return status;
}

/* The encapsulated schema of all entries' columns. */
static lb_status encode_united(lb_unite *u, lb_buf *out, lb_error *err)
{
    struct ArrowSchema schema = { .release = NULL };
    LB_TRY(lb_unite_schema(u, &schema, err));
    lb_status status = lb_ipc_encode_schema(&schema, out, err);
    schema.release(&schema);
    return status;
}

static lb_status count_and_unite(map_writer *w, bool unite, lb_error *err)
{
    lb_unite *u = NULL;
    lb_status status = unite ? lb_unite_new(LB_SCHEMA_UNION, &u, err) : LB_OK;
    if (status == LB_OK)
        status = count_entries(w, u, err);
    if (status == LB_OK && unite)
        status = encode_united(u, &w->united, err);
    lb_unite_free(u);
    w->in_batch = 0;
    return status;
}

static void writer_free(map_writer *w)
{
    lb_ipc_writer_free(w->out);
    if (w->batch.release != NULL)
        ArrowArrayRelease(&w->batch);
    if (w->schema.release != NULL)
        ArrowSchemaRelease(&w->schema);
    lb_arena_free(&w->arena);
    lb_buf_free(&w->united);
    lb_buf_free(&w->stats_json);
    lb_buf_free(&w->row_groups_json);
    lb_buf_free(&w->last_schema);
    lb_buf_free(&w->notes);
    lb_blake3_free(w->hash);
    free(w->schemas);
}

lb_status lb_map_write(const lb_map_header *header, const lb_entry_source *entries, bool unite, uint64_t batch_bytes,
                       lb_write_fn write, void *user, lb_error *err)
{
    map_writer w = { .header = header,
                     .entries = entries,
                     .max_batch = batch_bytes == 0 ? DEFAULT_BATCH_BYTES : batch_bytes };
    lb_arena_init(&w.arena, NULL);
    lb_buf_init(&w.united, NULL);
    lb_buf_init(&w.stats_json, NULL);
    lb_buf_init(&w.row_groups_json, NULL);
    lb_buf_init(&w.last_schema, NULL);
    lb_buf_init(&w.notes, NULL);
    lb_status status = count_and_unite(&w, unite, err);
    if (status == LB_OK)
        status = make_schema(&w, unite, err);
    if (status == LB_OK)
        status = lb_ipc_writer_open(&w.schema, true, write, user, &w.out, err);
    if (status == LB_OK)
        status = write_entries(&w, err);
    if (status == LB_OK)
        status = lb_ipc_writer_finish(w.out, err);
    writer_free(&w);
    return status;
}
