/* Entries of a loaded map, lent in place. Everything is checked here, on access, so that opening a map costs
 * nothing for entries nobody asks for. */
#include "base/path.h"
#include "base/utf8.h"
#include "lake/map_private.h"

static const uint64_t *u64s(const lb_map_batch *b, unsigned id, uint64_t first)
{
    return (const uint64_t *)(const void *)b->fields[id].data + first;
}

static const uint32_t *u32s(const lb_map_batch *b, unsigned id, uint64_t first)
{
    return (const uint32_t *)(const void *)b->fields[id].data + first;
}

typedef enum validity { NONE_VALID, ALL_VALID, MIXED } validity;

/* Which of `count` values are there. */
static validity validity_of(const lb_map_array *a, uint64_t first, uint64_t count)
{
    if (!a->present || (a->validity != NULL && a->null_count == a->length))
        return NONE_VALID;
    if (a->validity == NULL)
        return ALL_VALID;
    uint64_t valid = 0;
    for (uint64_t i = first; i < first + count;) {
        if (i % 8 == 0 && first + count - i >= 8) {
            valid += (uint64_t)__builtin_popcount(a->validity[i / 8]);
            i += 8;
        } else {
            valid += a->validity[i / 8] >> (i % 8) & 1;
            i++;
        }
    }
    return valid == 0 ? NONE_VALID : valid == count ? ALL_VALID : MIXED;
}

/* A column of values that an entry has wholly or not at all; NULL: not at all. `*out` is its first value. */
static lb_status view_optional(const lb_map *map, const lb_map_batch *b, unsigned id, uint64_t first, uint64_t count,
                               const uint8_t **out, lb_error *err)
{
    validity v = count == 0 ? NONE_VALID : validity_of(&b->fields[id], first, count);
    *out = v == ALL_VALID ? b->fields[id].data + first * lb_map_type_width((lb_map_type)lb_map_fields[id].type) : NULL;
    return v == MIXED ? lb_map_fail(map, err, "'%s' of an entry is known for some only", lb_map_fields[id].name)
                      : LB_OK;
}

static lb_status view_optional_u64(const lb_map *map, const lb_map_batch *b, unsigned id, uint64_t first,
                                   uint64_t count, const uint64_t **out, lb_error *err)
{
    const uint8_t *at;
    LB_TRY(view_optional(map, b, id, first, count, &at, err));
    *out = (const uint64_t *)(const void *)at;
    return LB_OK;
}

/* A column in which single values may be null, and null is UINT64_MAX. Our own maps have that number below each
 * null; where another program rewrote the file and put something else there, the values are copied. */
static lb_status view_sparse_u64(const lb_map_batch *b, unsigned id, uint64_t first, uint64_t count, lb_arena *arena,
                                 const uint64_t **out, lb_error *err)
{
    const lb_map_array *a = &b->fields[id];
    bool same = a->present;
    if (same)
        *out = u64s(b, id, first);
    if (same && a->validity == NULL)
        return LB_OK;
    for (uint64_t i = 0; i < count && same; i++)
        same = lb_map_is_valid(a, first + i) || (*out)[i] == UINT64_MAX;
    if (same)
        return LB_OK;
    uint64_t *copy = lb_arena_alloc(arena, count, sizeof *copy);
    if (copy == NULL)
        return lb_arena_fail(arena, err);
    for (uint64_t i = 0; i < count; i++)
        copy[i] = lb_map_is_valid(a, first + i) ? u64s(b, id, first)[i] : UINT64_MAX;
    *out = copy;
    return LB_OK;
}

/* ---------------------------------------------------------------- blocks */

lb_status lb_map_view_blocks(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_blocks *out, lb_error *err)
{
    const lb_map_batch *b = cell.batch;
    uint64_t first, n;
    *out = (lb_blocks){ .count = 0 };
    if (!map->extended)
        return lb_map_reference_blocks(map, cell, arena, out, err);
    LB_TRY(lb_map_list_at(map, b, LB_MAP_F_BLOCKS, cell.row, &first, &n, err));
    if (n == 0)
        return LB_OK;
    out->count = n;
    out->first_row = u64s(b, LB_MAP_F_BLOCK_FIRST_ROW, first);
    out->row_count = u64s(b, LB_MAP_F_BLOCK_ROW_COUNT, first);
    out->total_byte_size = u64s(b, LB_MAP_F_BLOCK_TOTAL_BYTE_SIZE, first);
    out->compressed_size = u64s(b, LB_MAP_F_BLOCK_COMPRESSED_SIZE, first);
    out->page_indexed = b->fields[LB_MAP_F_BLOCK_PAGE_INDEXED].data;
    out->page_indexed_bit = first;
    LB_TRY(view_optional_u64(map, b, LB_MAP_F_BLOCK_FIRST_BYTE, first, n, &out->first_byte, err));
    LB_TRY(view_optional_u64(map, b, LB_MAP_F_BLOCK_FIRST_LINE, first, n, &out->first_line, err));
    return view_optional_u64(map, b, LB_MAP_F_BLOCK_START_HASH, first, n, &out->start_hash, err);
}

/* Rows: from 0, without gap or overlap, to the end. */
static lb_status check_rows(const lb_map *map, const lb_entry *e, lb_error *err)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < e->blocks.count; i++)
        if (e->blocks.first_row[i] != next || !lb_add_u64(next, e->blocks.row_count[i], &next))
            return lb_map_fail(map, err, "block %llu of '%.*s' does not follow the one before it",
                               (unsigned long long)i, (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at);
    if (e->blocks.count > 0 && next != e->total_rows)
        return lb_map_fail(map, err, "the blocks of '%.*s' have %llu rows, the file has %llu",
                           (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at, (unsigned long long)next,
                           (unsigned long long)e->total_rows);
    return LB_OK;
}

/* Bytes: inside the file where it is plain; in order and apart where blocks lie one after the other. Row groups and
 * record batches may stand in any order. */
static lb_status check_bytes(const lb_map *map, const lb_entry *e, lb_error *err)
{
    const lb_blocks *b = &e->blocks;
    bool ordered =
        map->extended && !b->packed && !lb_str_is(e->locator, "record_batch") && !lb_str_is(e->locator, "fragment");
    uint64_t limit = e->container.size == 0 ? e->size_bytes : UINT64_MAX, before = 0;
    for (uint64_t i = 0; b->first_byte != NULL && i < b->count; i++) {
        uint64_t size = lb_blocks_bytes(b, i), at = b->first_byte[i];
        if (at > limit || size > limit - at || (ordered && at < before))
            return lb_map_fail(map, err, "block %llu of '%.*s' lies outside the file or on another one",
                               (unsigned long long)i, (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at);
        before = at + size;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the other parts */

lb_status lb_map_view_schema(const lb_map *map, uint64_t index, lb_str *out, lb_error *err)
{
    lb_map_cell c;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    const lb_map_array *refs = &c.batch->fields[LB_MAP_F_SCHEMA_REF];
    if (!lb_map_is_valid(&c.batch->fields[LB_MAP_F_ARROW_SCHEMA], c.row) && lb_map_is_valid(refs, c.row)) {
        uint32_t ref = *u32s(c.batch, LB_MAP_F_SCHEMA_REF, c.row);
        if (ref >= index)
            return lb_map_fail(map, err, "schema_ref of entry %llu points to no earlier one",
                               (unsigned long long)index);
        LB_TRY(lb_map_cell_of(map, ref, &c, err));
        if (!lb_map_is_valid(&c.batch->fields[LB_MAP_F_ARROW_SCHEMA], c.row))
            return lb_map_fail(map, err, "schema_ref of entry %llu points to one without a schema",
                               (unsigned long long)index);
    }
    return lb_map_bytes_at(map, c.batch, LB_MAP_F_ARROW_SCHEMA, c.row, out, err);
}

static int32_t i32_at(const lb_map_batch *b, unsigned id, uint64_t row)
{
    return lb_map_is_valid(&b->fields[id], row) ? ((const int32_t *)(const void *)b->fields[id].data)[row] : -1;
}

static int byte_at(const lb_map_batch *b, unsigned id, uint64_t row)
{
    return lb_map_is_valid(&b->fields[id], row) ? b->fields[id].data[row] : -1;
}

static bool bit_at(const lb_map_batch *b, unsigned id, uint64_t row)
{
    const lb_map_array *a = &b->fields[id];
    return lb_map_is_valid(a, row) && (a->data[row >> 3] >> (row & 7) & 1) != 0;
}

static lb_status view_dialect(const lb_map *map, lb_map_cell c, lb_entry *e, lb_error *err)
{
    const lb_map_batch *b = c.batch;
    lb_dialect *d = &e->dialect;
    lb_str ragged;
    e->has_dialect = lb_map_is_valid(&b->fields[LB_MAP_F_DIALECT], c.row);
    if (!e->has_dialect)
        return LB_OK;
    LB_TRY(lb_map_bytes_at(map, b, LB_MAP_F_DIALECT_DELIMITER, c.row, &d->delimiter, err));
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_DIALECT_ENCODING, c.row, &d->encoding, err));
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_DIALECT_RAGGED, c.row, &ragged, err));
    d->quote = byte_at(b, LB_MAP_F_DIALECT_QUOTE, c.row);
    d->escape = byte_at(b, LB_MAP_F_DIALECT_ESCAPE, c.row);
    d->has_header = bit_at(b, LB_MAP_F_DIALECT_HAS_HEADER, c.row);
    d->ragged_null = lb_str_is(ragged, "null");
    d->bom_bytes = (uint8_t)LB_MAX(byte_at(b, LB_MAP_F_DIALECT_BOM_BYTES, c.row), 0);
    d->data_start = lb_map_u64_at(b, LB_MAP_F_DIALECT_DATA_START, c.row);
    d->sheet = i32_at(b, LB_MAP_F_DIALECT_SHEET, c.row);
    d->header_row = i32_at(b, LB_MAP_F_DIALECT_HEADER_ROW, c.row);
    if (e->container.size == 0 && d->data_start > e->size_bytes)
        return lb_map_fail(map, err, "the data of '%.*s' begins behind its end", (int)LB_MIN(e->rel_path.size, 100u),
                           e->rel_path.at);
    return LB_OK;
}

static lb_status view_leaf_paths(const lb_map *map, lb_map_cell c, lb_arena *arena, lb_entry *e, lb_error *err)
{
    uint64_t first, n;
    LB_TRY(lb_map_list_at(map, c.batch, LB_MAP_F_LEAF_PATHS, c.row, &first, &n, err));
    if (n == 0)
        return LB_OK;
    lb_str *paths = lb_arena_alloc(arena, n, sizeof *paths);
    if (paths == NULL)
        return lb_arena_fail(arena, err);
    for (uint64_t i = 0; i < n; i++)
        LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_LEAF_PATH, first + i, &paths[i], err));
    e->leaf_paths = paths;
    e->n_leaf_paths = n;
    return LB_OK;
}

static lb_status view_chunks(const lb_map *map, lb_map_cell c, lb_arena *arena, lb_entry *e, lb_error *err)
{
    uint64_t first, n;
    size_t want;
    LB_TRY(lb_map_list_at(map, c.batch, LB_MAP_F_CHUNKS, c.row, &first, &n, err));
    if (n == 0)
        return LB_OK;
    if (!lb_mul_size((size_t)e->blocks.count, (size_t)e->n_leaf_paths, &want) || n != want)
        return lb_map_fail(map, err, "'%.*s' does not have one chunk for each block and leaf column",
                           (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at);
    e->chunks.count = n;
    e->chunks.offset = u64s(c.batch, LB_MAP_F_CHUNK_OFFSET, first);
    e->chunks.length = u64s(c.batch, LB_MAP_F_CHUNK_LENGTH, first);
    for (uint64_t i = 0; i < n; i++)
        if (e->chunks.offset[i] > e->size_bytes || e->chunks.length[i] > e->size_bytes - e->chunks.offset[i])
            return lb_map_fail(map, err, "a chunk of '%.*s' lies outside the file", (int)LB_MIN(e->rel_path.size, 100u),
                               e->rel_path.at);
    return view_sparse_u64(c.batch, LB_MAP_F_CHUNK_NULL_COUNT, first, n, arena, &e->chunks.null_count, err);
}

static lb_status view_pages(const lb_map *map, lb_map_cell c, lb_arena *arena, lb_entry *e, lb_error *err)
{
    uint64_t first, n;
    LB_TRY(lb_map_list_at(map, c.batch, LB_MAP_F_PAGES, c.row, &first, &n, err));
    if (n == 0)
        return LB_OK;
    lb_pages *p = &e->pages;
    p->count = n;
    p->block = u32s(c.batch, LB_MAP_F_PAGE_BLOCK, first);
    p->column = u32s(c.batch, LB_MAP_F_PAGE_COLUMN, first);
    p->offset = u64s(c.batch, LB_MAP_F_PAGE_OFFSET, first);
    p->length = u64s(c.batch, LB_MAP_F_PAGE_LENGTH, first);
    for (uint64_t i = 0; i < n; i++)
        if (p->block[i] >= e->blocks.count || p->column[i] >= e->n_leaf_paths || p->offset[i] > e->size_bytes ||
            p->length[i] > e->size_bytes - p->offset[i])
            return lb_map_fail(map, err, "a page of '%.*s' lies outside the file, its blocks or its columns",
                               (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at);
    return view_sparse_u64(c.batch, LB_MAP_F_PAGE_FIRST_ROW, first, n, arena, &p->first_row, err);
}

static lb_status view_digests(const lb_map *map, lb_map_cell c, lb_entry *e, lb_error *err)
{
    uint64_t first, n;
    LB_TRY(lb_map_list_at(map, c.batch, LB_MAP_F_DIGESTS, c.row, &first, &n, err));
    if (n == 0)
        return LB_OK;
    lb_digests *d = &e->digests;
    d->count = n;
    d->first_byte = u64s(c.batch, LB_MAP_F_DIGEST_FIRST_BYTE, first);
    d->length = u64s(c.batch, LB_MAP_F_DIGEST_LENGTH, first);
    uint64_t end = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (d->first_byte[i] < end || !lb_add_u64(d->first_byte[i], d->length[i], &end))
            return lb_map_fail(map, err, "digest %llu of '%.*s' lies on another one", (unsigned long long)i,
                               (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at);
    }
    LB_TRY(view_optional(map, c.batch, LB_MAP_F_DIGEST_XXH3, first, n, &d->xxh3, err));
    return view_optional(map, c.batch, LB_MAP_F_DIGEST_BLAKE3, first, n, &d->blake3, err);
}

/* Offsets and bytes of a nullable binary part of the access points; NULL where all are null. */
static lb_status view_point_bytes(const lb_map *map, const lb_map_batch *b, unsigned id, uint64_t first, uint64_t n,
                                  const int32_t **offsets, const uint8_t **data, lb_error *err)
{
    const lb_map_array *a = &b->fields[id];
    *offsets = NULL;
    *data = NULL;
    if (validity_of(a, first, n) == NONE_VALID)
        return LB_OK;
    const int32_t *at = a->offsets + first;
    for (uint64_t i = 0; i < n; i++)
        if (at[i] < 0 || at[i + 1] < at[i] || (uint64_t)at[i + 1] > a->data_size)
            return lb_map_fail(map, err, "a value of '%s' lies outside its column", lb_map_fields[id].name);
    *offsets = at;
    *data = a->data;
    return LB_OK;
}

static lb_status check_points(const lb_map *map, lb_map_cell c, uint64_t first, const lb_entry *e, lb_error *err)
{
    const lb_access_points *p = &e->access_points;
    for (uint64_t i = 0; i < p->count; i++) {
        lb_str kind;
        LB_TRY(lb_map_text_at(map, c.batch, LB_MAP_F_ACCESS_KIND, first + i, &kind, err));
        bool after =
            i == 0 || p->member[i] != p->member[i - 1] || p->uncompressed_byte[i] >= p->uncompressed_byte[i - 1];
        if (!lb_str_equal(kind, p->kind) || !after || p->compressed_byte[i] > e->size_bytes || p->bit[i] > 7)
            return lb_map_fail(map, err, "restart point %llu of '%.*s' is not possible", (unsigned long long)i,
                               (int)LB_MIN(e->rel_path.size, 100u), e->rel_path.at);
    }
    return LB_OK;
}

static lb_status view_access_points(const lb_map *map, lb_map_cell c, lb_entry *e, lb_error *err)
{
    const lb_map_batch *b = c.batch;
    uint64_t first, n;
    LB_TRY(lb_map_list_at(map, b, LB_MAP_F_ACCESS_POINTS, c.row, &first, &n, err));
    if (n == 0)
        return LB_OK;
    lb_access_points *p = &e->access_points;
    p->count = n;
    p->member = u32s(b, LB_MAP_F_ACCESS_MEMBER, first);
    p->compressed_byte = u64s(b, LB_MAP_F_ACCESS_COMPRESSED_BYTE, first);
    p->uncompressed_byte = u64s(b, LB_MAP_F_ACCESS_UNCOMPRESSED_BYTE, first);
    p->next_row = u64s(b, LB_MAP_F_ACCESS_NEXT_ROW, first);
    p->next_row_byte = u64s(b, LB_MAP_F_ACCESS_NEXT_ROW_BYTE, first);
    p->bit = b->fields[LB_MAP_F_ACCESS_BIT].data + first;
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_ACCESS_KIND, first, &p->kind, err));
    LB_TRY(view_point_bytes(map, b, LB_MAP_F_ACCESS_WINDOW, first, n, &p->window_offsets, &p->window_data, err));
    LB_TRY(view_point_bytes(map, b, LB_MAP_F_ACCESS_PARAMS, first, n, &p->params_offsets, &p->params_data, err));
    return check_points(map, c, first, e, err);
}

lb_status lb_map_view_restarts(const lb_map *map, uint64_t index, bool *packed, uint64_t *out, lb_error *err)
{
    uint64_t first;
    lb_map_cell c;

    *out = 0;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    *packed = lb_map_is_valid(&c.batch->fields[LB_MAP_F_CONTAINER], c.row);
    return *packed ? lb_map_list_at(map, c.batch, LB_MAP_F_ACCESS_POINTS, c.row, &first, out, err) : LB_OK;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static lb_status view_hash(const lb_map *map, lb_map_cell c, lb_entry *e, lb_error *err)
{
    lb_str text;
    e->has_content_hash = lb_map_is_valid(&c.batch->fields[LB_MAP_F_CONTENT_HASH], c.row);
    LB_TRY(lb_map_bytes_at(map, c.batch, LB_MAP_F_CONTENT_HASH, c.row, &text, err));
    if (!e->has_content_hash)
        return LB_OK;
    bool good = text.size == 2 * sizeof e->content_hash;
    for (size_t i = 0; good && i < sizeof e->content_hash; i++) {
        int high = hex_value(text.at[2 * i]), low = hex_value(text.at[2 * i + 1]);
        good = high >= 0 && low >= 0;
        e->content_hash[i] = (uint8_t)(good ? high * 16 + low : 0);
    }
    return good ? LB_OK : lb_map_fail(map, err, "a content hash is not 64 hexadecimal digits");
}

/* ---------------------------------------------------------------- entries */

/* The times of a map that is not ours are whole milliseconds. */
static lb_status view_times(const lb_map *map, lb_map_cell c, lb_entry *e, lb_error *err)
{
    const lb_map_batch *b = c.batch;
    e->ctime_ns = e->verified_ns = INT64_MIN;
    if (!map->extended) {
        int64_t ms = lb_map_i64_at(b, LB_MAP_F_MTIME_MS, c.row, 0);
        return __builtin_mul_overflow(ms, (int64_t)1000000, &e->mtime_ns)
                   ? lb_map_fail(map, err, "a modification time is not possible")
                   : LB_OK;
    }
    e->mtime_ns = lb_map_i64_at(b, LB_MAP_F_MTIME_NS, c.row, 0);
    e->ctime_ns = lb_map_i64_at(b, LB_MAP_F_CTIME_NS, c.row, INT64_MIN);
    e->inspected_ns = lb_map_i64_at(b, LB_MAP_F_INSPECTED_NS, c.row, 0);
    e->verified_ns = lb_map_i64_at(b, LB_MAP_F_VERIFIED_NS, c.row, INT64_MIN);
    return LB_OK;
}

static lb_status view_texts(const lb_map *map, uint64_t index, lb_map_cell c, lb_entry *e, lb_error *err)
{
    const lb_map_batch *b = c.batch;
    LB_TRY(lb_map_view_path(map, index, &e->rel_path, err));
    if (!map->extended) {
        lb_map_reference_formats(e);
        return LB_OK;
    }
    LB_TRY(lb_map_bytes_at(map, b, LB_MAP_F_REL_PATH_RAW, c.row, &e->rel_path_raw, err));
    if (e->rel_path_raw.size != 0 && !lb_path_is_inside(e->rel_path_raw))
        return lb_map_fail(map, err, "path leaves the lake: the raw name of entry %llu", (unsigned long long)index);
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_FORMAT, c.row, &e->format, err));
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_LOCATOR, c.row, &e->locator, err));
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_CONTAINER, c.row, &e->container, err));
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_ERROR, c.row, &e->error, err));
    LB_TRY(lb_map_bytes_at(map, b, LB_MAP_F_OPEN_STATE, c.row, &e->open_state, err));
    return lb_map_view_schema(map, index, &e->arrow_schema, err);
}

lb_status lb_map_view(const lb_map *map, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_map_cell c;
    *out = (lb_entry){ .dialect = { .quote = -1, .escape = -1, .sheet = -1, .header_row = -1 } };
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    LB_TRY(view_texts(map, index, c, out, err));
    LB_TRY(lb_map_view_rows(map, index, &out->first_global_row, &out->total_rows, err));
    out->size_bytes = lb_map_u64_at(c.batch, LB_MAP_F_SIZE_BYTES, c.row);
    LB_TRY(view_times(map, c, out, err));
    LB_TRY(view_hash(map, c, out, err));
    LB_TRY(lb_map_view_blocks(map, c, arena, &out->blocks, err));
    out->blocks.packed = lb_str_is(out->locator, LB_LOCATOR_PACKED);
    out->blocks.unpacked = out->container.size != 0;
    if (!map->extended) {
        /* The reference's blocks may not add up to the rows its reader counts: such an entry has no locator. */
        lb_error why = LB_ERROR_INIT;
        if (check_rows(map, out, &why) == LB_OK && check_bytes(map, out, &why) == LB_OK)
            return lb_map_reference_chunks(map, c, arena, out, err);
        out->blocks = (lb_blocks){ .count = 0 };
        return LB_OK;
    }
    LB_TRY(check_rows(map, out, err));
    LB_TRY(check_bytes(map, out, err));
    LB_TRY(view_dialect(map, c, out, err));
    LB_TRY(view_leaf_paths(map, c, arena, out, err));
    LB_TRY(view_chunks(map, c, arena, out, err));
    LB_TRY(view_pages(map, c, arena, out, err));
    LB_TRY(view_digests(map, c, out, err));
    return view_access_points(map, c, out, err);
}

uint64_t lb_map_by_path(const lb_map *map, uint64_t k)
{
    return map->path_order != NULL ? map->path_order[k] : k;
}

lb_status lb_map_view_stamp(const lb_map *map, uint64_t index, lb_entry *out, lb_error *err)
{
    lb_map_cell c;

    *out = (lb_entry){ .ctime_ns = INT64_MIN, .verified_ns = INT64_MIN };
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    LB_TRY(lb_map_view_path(map, index, &out->rel_path, err));
    out->size_bytes = lb_map_u64_at(c.batch, LB_MAP_F_SIZE_BYTES, c.row);
    LB_TRY(view_times(map, c, out, err));
    return map->extended ? lb_map_text_at(map, c.batch, LB_MAP_F_ERROR, c.row, &out->error, err) : LB_OK;
}

/* ---------------------------------------------------------------- statistics */

/* Fields of `block_columns` stand in the same order as those of `columns`: `id` of the latter, `shift` to the
 * former. */
#define BLOCK_SHIFT (LB_MAP_F_BLOCK_COLUMN_NAME - LB_MAP_F_COLUMN_NAME)

static bool take_count(const lb_map_batch *b, unsigned id, uint64_t row, uint64_t *out)
{
    *out = lb_map_u64_at(b, id, row);
    return lb_map_is_valid(&b->fields[id], row);
}

static lb_status load_bounds(const lb_map *map, const lb_map_batch *b, unsigned shift, uint64_t row, lb_colstat *out,
                             lb_error *err)
{
    static const struct {
        unsigned id, has;
    } bounds[] = {
        { LB_MAP_F_COLUMN_MIN_I, LB_MIN_I }, { LB_MAP_F_COLUMN_MAX_I, LB_MAX_I }, { LB_MAP_F_COLUMN_MIN_U, LB_MIN_U },
        { LB_MAP_F_COLUMN_MAX_U, LB_MAX_U }, { LB_MAP_F_COLUMN_MIN_F, LB_MIN_F }, { LB_MAP_F_COLUMN_MAX_F, LB_MAX_F },
        { LB_MAP_F_COLUMN_MIN_B, LB_MIN_B }, { LB_MAP_F_COLUMN_MAX_B, LB_MAX_B },
    };
    for (size_t i = 0; i < LB_COUNT_OF(bounds); i++)
        if (lb_map_is_valid(&b->fields[bounds[i].id + shift], row))
            out->has |= bounds[i].has;
    out->min_i = lb_map_i64_at(b, LB_MAP_F_COLUMN_MIN_I + shift, row, 0);
    out->max_i = lb_map_i64_at(b, LB_MAP_F_COLUMN_MAX_I + shift, row, 0);
    out->min_u = lb_map_u64_at(b, LB_MAP_F_COLUMN_MIN_U + shift, row);
    out->max_u = lb_map_u64_at(b, LB_MAP_F_COLUMN_MAX_U + shift, row);
    if (out->has & LB_MIN_F)
        memcpy(&out->min_f, b->fields[LB_MAP_F_COLUMN_MIN_F + shift].data + row * 8, 8);
    if (out->has & LB_MAX_F)
        memcpy(&out->max_f, b->fields[LB_MAP_F_COLUMN_MAX_F + shift].data + row * 8, 8);
    LB_TRY(lb_map_bytes_at(map, b, LB_MAP_F_COLUMN_MIN_B + shift, row, &out->min_b, err));
    return lb_map_bytes_at(map, b, LB_MAP_F_COLUMN_MAX_B + shift, row, &out->max_b, err);
}

static lb_status load_stat(const lb_map *map, const lb_map_batch *b, unsigned shift, uint64_t row, lb_colstat *out,
                           lb_error *err)
{
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_COLUMN_NAME + shift, row, &out->name, err));
    LB_TRY(lb_map_text_at(map, b, LB_MAP_F_COLUMN_TYPE + shift, row, &out->type, err));
    out->source = b->fields[LB_MAP_F_COLUMN_SOURCE + shift].data[row];
    out->has_null_count = take_count(b, LB_MAP_F_COLUMN_NULL_COUNT + shift, row, &out->null_count);
    out->has_nan_count = take_count(b, LB_MAP_F_COLUMN_NAN_COUNT + shift, row, &out->nan_count);
    out->min_exact = bit_at(b, LB_MAP_F_COLUMN_MIN_EXACT + shift, row);
    out->max_exact = bit_at(b, LB_MAP_F_COLUMN_MAX_EXACT + shift, row);
    return load_bounds(map, b, shift, row, out, err);
}

static lb_status load_stats(const lb_map *map, lb_map_cell c, unsigned list, unsigned shift, lb_arena *arena,
                            lb_colstats *out, uint64_t *first, lb_error *err)
{
    uint64_t n;
    *out = (lb_colstats){ .count = 0 };
    LB_TRY(lb_map_list_at(map, c.batch, list, c.row, first, &n, err));
    if (n == 0)
        return LB_OK;
    out->items = lb_arena_alloc(arena, n, sizeof *out->items);
    if (out->items == NULL)
        return lb_arena_fail(arena, err);
    for (uint64_t i = 0; i < n; i++)
        LB_TRY(load_stat(map, c.batch, shift, *first + i, &out->items[i], err));
    out->count = n;
    return LB_OK;
}

lb_status lb_map_load_columns(const lb_map *map, uint64_t index, lb_arena *arena, lb_colstats *out, lb_error *err)
{
    lb_map_cell c;
    uint64_t first;
    *out = (lb_colstats){ .count = 0 };
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    if (!map->extended)
        return lb_map_reference_columns(map, c, arena, out, err);
    return load_stats(map, c, LB_MAP_F_COLUMNS, 0, arena, out, &first, err);
}

lb_status lb_map_count_columns(const lb_map *map, uint64_t index, uint64_t *out, lb_error *err)
{
    lb_map_cell c;
    uint64_t first;
    *out = 0;
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    return lb_map_list_at(map, c.batch, LB_MAP_F_COLUMNS, c.row, &first, out, err);
}

lb_status lb_map_view_all(const lb_map *map, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_map_cell c;
    uint64_t first = 0;
    LB_TRY(lb_map_view(map, index, arena, out, err));
    LB_TRY(lb_map_load_columns(map, index, arena, &out->columns, err));
    LB_TRY(lb_map_cell_of(map, index, &c, err));
    LB_TRY(load_stats(map, c, LB_MAP_F_BLOCK_COLUMNS, BLOCK_SHIFT, arena, &out->block_columns, &first, err));
    if (out->block_columns.count > 0) {
        out->block_of_column = u32s(c.batch, LB_MAP_F_BLOCK_COLUMN_BLOCK, first);
        out->column_of_column = u32s(c.batch, LB_MAP_F_BLOCK_COLUMN_COLUMN, first);
    }
    return LB_OK;
}
