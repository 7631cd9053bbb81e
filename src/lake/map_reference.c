/* Maps in the reference's layouts of 5, 7 and 8 columns (lake-map.md 4.1 to 4.3): locators and statistics are JSON
 * text, turned into the typed form on access. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/path.h"
#include "lake/map_private.h"
#include "wire/json_tree.h"

/* jansson makes some 60 bytes of memory of each byte of text. */
#define MAX_JSON (16u << 20)

/* ---------------------------------------------------------------- on load */

static int by_path(const void *a, const void *b, void *user)
{
    const lb_str *paths = user;
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    int c = lb_str_compare(paths[x], paths[y]);
    return c != 0 ? c : (x > y) - (x < y);
}

/* The oldest maps are ordered by the parts of paths, not by their bytes. */
static lb_status order_paths(lb_map *map, lb_error *err)
{
    bool sorted = true;
    lb_str *paths = calloc(map->count + 1, sizeof *paths);
    uint64_t *order = calloc(map->count + 1, sizeof *order);
    lb_status status = paths == NULL || order == NULL ? lb_fail_nomem(err) : LB_OK;
    for (uint64_t i = 0; i < map->count && status == LB_OK; i++) {
        order[i] = i;
        lb_map_cell c;
        status = lb_map_cell_of(map, i, &c, err);
        if (status == LB_OK)
            status = lb_map_bytes_at(map, c.batch, LB_MAP_F_REL_PATH, c.row, &paths[i], err);
        sorted = sorted && (i == 0 || lb_str_compare(paths[i - 1], paths[i]) < 0);
    }
    if (status == LB_OK && !sorted) {
        qsort_r(order, map->count, sizeof *order, by_path, paths);
        map->path_order = order;
        order = NULL;
    }
    free(paths);
    free(order);
    return status;
}

lb_status lb_map_reference_finish(lb_map *map, lb_error *err)
{
    map->first_rows = calloc(map->count + 1, sizeof *map->first_rows);
    if (map->first_rows == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0; i < map->count; i++) {
        lb_map_cell c;
        LB_TRY(lb_map_cell_of(map, i, &c, err));
        map->first_rows[i] = map->total_rows;
        if (!lb_add_u64(map->total_rows, lb_map_u64_at(c.batch, LB_MAP_F_TOTAL_ROWS, c.row), &map->total_rows) ||
            map->total_rows > INT64_MAX ||
            !lb_add_u64(map->total_bytes, lb_map_u64_at(c.batch, LB_MAP_F_SIZE_BYTES, c.row), &map->total_bytes))
            return lb_map_fail(map, err, "its rows or bytes are more than can be");
    }
    return order_paths(map, err);
}

/* ---------------------------------------------------------------- what the extension says */

void lb_map_reference_formats(lb_entry *entry)
{
    static const struct {
        const char *extension, *format, *locator;
    } known[] = {
        { "parquet", "parquet", "row_group" },
        { "pq", "parquet", "row_group" },
        { "feather", "arrow_file", "record_batch" },
        { "arrow", "arrow_file", "record_batch" },
        { "ipc", "arrow_file", "record_batch" },
        { "csv", "csv", "record" },
        { "tsv", "tsv", "record" },
        { "psv", "psv", "record" },
        { "txt", "txt", "record" },
        { "ndjson", "ndjson", "line" },
        { "xlsx", "xlsx", "sheet_row" },
        { "avro", "avro", "avro_block" },
        { "orc", "orc", "stripe" },
        { "msgpack", "msgpack", "object" },
    };
    lb_str extension = lb_path_extension(entry->rel_path);
    entry->format = entry->locator = LB_STR("");
    for (size_t i = 0; i < LB_COUNT_OF(known); i++)
        if (lb_str_is_nocase(extension, known[i].extension)) {
            entry->format = lb_str_of(known[i].format);
            entry->locator = lb_str_of(known[i].locator);
        }
}

/* ---------------------------------------------------------------- JSON */

/* Text of a JSON column as a value the caller releases; `*out` NULL: there is none. */
static lb_status parse_cell(const lb_map *map, lb_map_cell cell, unsigned id, json_t **out, lb_error *err)
{
    lb_str text;
    json_error_t why;
    *out = NULL;
    LB_TRY(lb_map_bytes_at(map, cell.batch, id, cell.row, &text, err));
    if (text.size == 0 || lb_str_is(text, "[]"))
        return LB_OK;
    if (text.size > MAX_JSON)
        return lb_map_fail_as(map, err, LB_BUDGET, "'%s' of an entry is longer than 16 MiB", lb_map_fields[id].name);
    *out = lb_json_load(text.at, text.size, 0, &why);
    return *out != NULL ? LB_OK
                        : lb_map_fail(map, err, "'%s' of an entry is no JSON: %s", lb_map_fields[id].name, why.text);
}

static bool get_count(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(object, key);
    *out = json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v) : 0;
    return json_is_integer(v) && json_integer_value(v) >= 0;
}

typedef struct block_arrays {
    uint64_t *first_row, *row_count, *total, *compressed, *first_byte;
    uint8_t *page_indexed;
    bool bytes_known;
} block_arrays;

static bool alloc_blocks(lb_arena *arena, size_t n, block_arrays *a)
{
    a->first_row = lb_arena_alloc(arena, n, sizeof(uint64_t));
    a->row_count = lb_arena_alloc(arena, n, sizeof(uint64_t));
    a->total = lb_arena_alloc(arena, n, sizeof(uint64_t));
    a->compressed = lb_arena_alloc(arena, n, sizeof(uint64_t));
    a->first_byte = lb_arena_alloc(arena, n, sizeof(uint64_t));
    a->page_indexed = lb_arena_alloc(arena, n / 8 + 1, 1);
    a->bytes_known = true;
    return a->first_row != NULL && a->row_count != NULL && a->total != NULL && a->compressed != NULL &&
           a->first_byte != NULL && a->page_indexed != NULL;
}

static bool has_pages(const json_t *block)
{
    size_t i;
    json_t *column;
    json_array_foreach(json_object_get(block, "columns"), i,
                       column) if (json_array_size(json_object_get(column, "pages")) > 0) return true;
    return false;
}

static bool fill_block(const json_t *block, size_t i, block_arrays *a)
{
    bool good = get_count(block, "first_row", &a->first_row[i]) && get_count(block, "row_count", &a->row_count[i]);
    (void)get_count(block, "total_byte_size", &a->total[i]);
    (void)get_count(block, "compressed_size", &a->compressed[i]);
    a->bytes_known = get_count(block, "first_byte", &a->first_byte[i]) && a->bytes_known;
    if (has_pages(block))
        a->page_indexed[i / 8] |= (uint8_t)(1u << (i % 8));
    return good;
}

lb_status lb_map_reference_blocks(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_blocks *out, lb_error *err)
{
    json_t *blocks;
    block_arrays a;
    *out = (lb_blocks){ .count = 0 };
    LB_TRY(parse_cell(map, cell, LB_MAP_F_ROW_GROUPS_JSON, &blocks, err));
    size_t n = json_array_size(blocks);
    lb_status status = n != 0 && !alloc_blocks(arena, n, &a) ? lb_arena_fail(arena, err) : LB_OK;
    for (size_t i = 0; i < n && status == LB_OK; i++)
        if (!fill_block(json_array_get(blocks, i), i, &a))
            status = lb_map_fail(map, err, "'row_groups_json' of an entry has a block without rows");
    if (status == LB_OK && n != 0)
        *out = (lb_blocks){ .count = n,
                            .first_row = a.first_row,
                            .row_count = a.row_count,
                            .total_byte_size = a.total,
                            .compressed_size = a.compressed,
                            .first_byte = a.bytes_known ? a.first_byte : NULL,
                            .page_indexed = a.page_indexed };
    json_decref(blocks);
    return status;
}

/* ---------------------------------------------------------------- chunks of Parquet files */

/* Number of leaf columns where every block has the same; 0: not so. */
static size_t common_columns(const json_t *blocks)
{
    const json_t *first = json_object_get(json_array_get(blocks, 0), "columns");
    size_t n = json_array_size(first), i;
    json_t *block;
    json_array_foreach(blocks, i, block)
    {
        const json_t *columns = json_object_get(block, "columns");
        if (json_array_size(columns) != n)
            return 0;
        for (size_t c = 0; c < n; c++) {
            const json_t *path = json_object_get(json_array_get(columns, c), "path");
            if (!json_is_string(path) || !json_equal(path, json_object_get(json_array_get(first, c), "path")))
                return 0;
        }
    }
    return n;
}

static lb_status take_leaf_paths(const json_t *columns, size_t n, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_str *paths = lb_arena_alloc(arena, n, sizeof *paths);
    for (size_t c = 0; paths != NULL && c < n; c++) {
        const json_t *path = json_object_get(json_array_get(columns, c), "path");
        paths[c] = (lb_str){ json_string_value(path), json_string_length(path) };
        paths[c].at = lb_arena_copy(arena, paths[c]);
        if (paths[c].at == NULL)
            paths = NULL;
    }
    if (paths == NULL)
        return lb_arena_fail(arena, err);
    out->leaf_paths = paths;
    out->n_leaf_paths = n;
    return LB_OK;
}

static lb_status take_chunks(const json_t *blocks, size_t n_columns, lb_arena *arena, lb_entry *out, lb_error *err)
{
    size_t n_blocks = json_array_size(blocks), n = n_blocks * n_columns;
    uint64_t *offset = lb_arena_alloc(arena, n, sizeof *offset), *length = lb_arena_alloc(arena, n, sizeof *length);
    uint64_t *nulls = lb_arena_alloc(arena, n, sizeof *nulls);
    if (offset == NULL || length == NULL || nulls == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < n; i++) {
        const json_t *columns = json_object_get(json_array_get(blocks, i / n_columns), "columns");
        const json_t *chunk = json_array_get(columns, i % n_columns);
        nulls[i] = UINT64_MAX;
        if (!get_count(chunk, "offset", &offset[i]) || !get_count(chunk, "length", &length[i]) ||
            offset[i] > out->size_bytes || length[i] > out->size_bytes - offset[i])
            return LB_OK; /* chunks that cannot be are left out */
    }
    out->chunks = (lb_chunks){ .count = n, .offset = offset, .length = length, .null_count = nulls };
    return LB_OK;
}

lb_status lb_map_reference_chunks(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_entry *out, lb_error *err)
{
    json_t *blocks;
    LB_TRY(parse_cell(map, cell, LB_MAP_F_ROW_GROUPS_JSON, &blocks, err));
    size_t n = common_columns(blocks);
    lb_status status = LB_OK;
    if (n != 0)
        status = take_leaf_paths(json_object_get(json_array_get(blocks, 0), "columns"), n, arena, out, err);
    if (n != 0 && status == LB_OK)
        status = take_chunks(blocks, n, arena, out, err);
    json_decref(blocks);
    return status;
}

/* ---------------------------------------------------------------- statistics */

static bool take_text(const json_t *v, lb_arena *arena, lb_str *out)
{
    *out = (lb_str){ json_string_value(v), json_string_length(v) };
    out->at = lb_arena_copy(arena, *out);
    return out->at != NULL;
}

/* Numbers are doubles, whatever the column's type: whole ones beyond 2^53 may be rounded. */
static bool take_stat(const char *name, const json_t *from, lb_arena *arena, lb_colstat *out)
{
    const json_t *min = json_object_get(from, "min"), *max = json_object_get(from, "max");
    const json_t *min_text = json_object_get(from, "min_str"), *max_text = json_object_get(from, "max_str");
    assert(out != NULL);
    *out = (lb_colstat){ .source = LB_STATS_COMPUTED, .type = LB_STR("float64"), .min_exact = true, .max_exact = true };
    out->name = lb_str_of(name);
    out->name.at = lb_arena_copy(arena, out->name);
    if (out->name.at == NULL)
        return false;
    if (json_is_string(min_text) && json_is_string(max_text)) {
        out->type = LB_STR("string");
        out->has = LB_MIN_B | LB_MAX_B;
        return take_text(min_text, arena, &out->min_b) && take_text(max_text, arena, &out->max_b);
    }
    out->has = (json_is_number(min) ? LB_MIN_F : 0u) | (json_is_number(max) ? LB_MAX_F : 0u);
    out->min_f = json_number_value(min);
    out->max_f = json_number_value(max);
    out->min_exact = fabs(out->min_f) < 0x1p53;
    out->max_exact = fabs(out->max_f) < 0x1p53;
    return true;
}

lb_status lb_map_reference_columns(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_colstats *out,
                                   lb_error *err)
{
    json_t *stats;
    LB_TRY(parse_cell(map, cell, LB_MAP_F_STATS_JSON, &stats, err));
    json_t *columns = json_object_get(stats, "columns");
    size_t n = json_object_size(columns);
    lb_status status = LB_OK;
    out->items = lb_arena_alloc(arena, n, sizeof *out->items);
    if (out->items == NULL)
        status = lb_arena_fail(arena, err);
    for (void *at = json_object_iter(columns); status == LB_OK && at != NULL && out->count < n;
         at = json_object_iter_next(columns, at))
        if (!take_stat(json_object_iter_key(at), json_object_iter_value(at), arena, &out->items[out->count++]))
            status = lb_arena_fail(arena, err);
    json_decref(stats);
    return status;
}
