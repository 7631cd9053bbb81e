/* Entries with every part a map can hold, for the tests of maps. */
#ifndef LB_TESTS_LAKE_MAP_SAMPLES_H
#define LB_TESTS_LAKE_MAP_SAMPLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "column/ipc.h"
#include "lake/map.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool sample_write(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

/* Fail with the library's own words. */
static inline void sample_ok(lb_status status, const lb_error *err)
{
    if (status != LB_OK)
        fail_msg("%s", err->message);
}

/* The schema message of two columns, `id` int64 and `name` string. */
static inline lb_str sample_schema(lb_buf *keep)
{
    static const struct {
        const char *name;
        enum ArrowType type;
    } columns[] = { { "id", NANOARROW_TYPE_INT64 }, { "name", NANOARROW_TYPE_STRING } };
    struct ArrowSchema s;
    lb_error err = LB_ERROR_INIT;
    ArrowSchemaInit(&s);
    assert_int_equal(ArrowSchemaSetTypeStruct(&s, 2), NANOARROW_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ArrowSchemaSetType(s.children[i], columns[i].type), NANOARROW_OK);
        assert_int_equal(ArrowSchemaSetName(s.children[i], columns[i].name), NANOARROW_OK);
    }
    s.children[0]->flags = 0;
    lb_buf_init(keep, NULL);
    sample_ok(lb_ipc_encode_schema(&s, keep, &err), &err);
    ArrowSchemaRelease(&s);
    return (lb_str){ (const char *)keep->data, keep->size };
}

/* An entry that holds nothing but its name and its rows. */
static inline lb_entry sample_plain(const char *path, uint64_t rows)
{
    return (lb_entry){ .rel_path = lb_str_of(path),
                       .size_bytes = 1000,
                       .mtime_ns = 1700000000123456789,
                       .ctime_ns = INT64_MIN,
                       .verified_ns = INT64_MIN,
                       .total_rows = rows,
                       .format = LB_STR("csv"),
                       .locator = LB_STR("none") };
}

static const uint64_t sample_first_row[] = { 0, 4, 8 }, sample_row_count[] = { 4, 4, 2 };
static const uint64_t sample_first_byte[] = { 8, 108, 208 }, sample_sizes[] = { 100, 100, 50 };
static const uint64_t sample_lines[] = { 2, 6, 11 }, sample_hashes[] = { 1, UINT64_MAX, 3 };

/* A delimited file: blocks with lines and hashes, dialect, statistics, digests. */
static inline lb_entry sample_text(const char *path, lb_str schema)
{
    static const uint64_t starts[] = { 0, 200 }, lengths[] = { 200, 60 };
    static const uint8_t xxh3[32] = "0123456789abcdefghijklmnopqrstu",
                         blake3[64] = "blake3 of two ranges, 32 bytes ea.";
    static lb_colstat stats[2];
    stats[0] = (lb_colstat){ .name = LB_STR("id"),
                             .type = LB_STR("int64"),
                             .source = LB_STATS_COMPUTED,
                             .has_null_count = true,
                             .has = LB_MIN_I | LB_MAX_I,
                             .min_i = INT64_MIN,
                             .max_i = 9007199254740993,
                             .min_exact = true,
                             .max_exact = true };
    stats[1] = (lb_colstat){ .name = LB_STR("name"),
                             .type = LB_STR("string"),
                             .source = LB_STATS_COMPUTED,
                             .has_null_count = true,
                             .null_count = 3,
                             .has = LB_MIN_B | LB_MAX_B,
                             .min_b = LB_STR("a\"\n"),
                             .max_b = LB_STR("z\xC3\xA9"),
                             .min_exact = true };
    lb_entry e = sample_plain(path, 10);
    e.size_bytes = 260;
    e.mtime_ns = -1;
    e.ctime_ns = 5;
    e.inspected_ns = 6;
    e.verified_ns = 7;
    e.locator = LB_STR("record");
    e.arrow_schema = schema;
    e.has_content_hash = true;
    memset(e.content_hash, 0xAB, sizeof e.content_hash);
    e.has_dialect = true;
    e.dialect = (lb_dialect){ .delimiter = LB_STR("||"),
                              .quote = '"',
                              .escape = -1,
                              .has_header = true,
                              .encoding = LB_STR("UTF-16LE"),
                              .ragged_null = true,
                              .bom_bytes = 2,
                              .data_start = 8,
                              .sheet = -1,
                              .header_row = 0 };
    e.blocks = (lb_blocks){ .count = 3,
                            .first_row = sample_first_row,
                            .row_count = sample_row_count,
                            .total_byte_size = sample_sizes,
                            .compressed_size = sample_sizes,
                            .first_byte = sample_first_byte,
                            .first_line = sample_lines,
                            .start_hash = sample_hashes };
    e.columns = (lb_colstats){ 2, stats };
    e.digests = (lb_digests){ .count = 2, .first_byte = starts, .length = lengths, .xxh3 = xxh3, .blake3 = blake3 };
    return e;
}

/* A Parquet file: row groups, chunks, pages, statistics by block, open state. */
static inline lb_entry sample_parquet(const char *path, lb_str schema)
{
    static const uint8_t indexed[] = { 0x28 }; /* bits 3 to 5: set, not, set */
    static const lb_str leaves[] = { { "id", 2 }, { "a.b", 3 } };
    static const uint64_t offsets[] = { 8, 58, 108, 158, 208, 230 }, lengths[] = { 50, 50, 50, 50, 22, 28 };
    static const uint64_t nulls[] = { 0, UINT64_MAX, 1, 2, UINT64_MAX, 0 };
    static const uint32_t page_block[] = { 0, 0, 2 }, page_column[] = { 0, 0, 1 };
    static const uint64_t page_row[] = { 0, 2, UINT64_MAX }, page_offset[] = { 8, 20, 230 },
                          page_length[] = { 12, 38, 28 };
    static const uint32_t of_block[] = { 0, 2 }, of_column[] = { 0, 1 };
    static lb_colstat stats[2];
    stats[0] = (lb_colstat){ .name = LB_STR("id"),
                             .type = LB_STR("float64"),
                             .source = LB_STATS_FROM_METADATA,
                             .has_nan_count = true,
                             .nan_count = 1,
                             .has = LB_MIN_F | LB_MAX_F,
                             .min_f = -0.0,
                             .max_f = 1e300 };
    stats[1] = (lb_colstat){ .name = LB_STR("a.b"),
                             .type = LB_STR("uint64"),
                             .source = LB_STATS_FROM_METADATA,
                             .has = LB_MIN_U | LB_MAX_U,
                             .min_u = 1,
                             .max_u = UINT64_MAX };
    lb_entry e = sample_text(path, schema);
    e.has_content_hash = e.has_dialect = false;
    e.format = LB_STR("parquet");
    e.locator = LB_STR("row_group");
    e.digests = (lb_digests){ .count = 0 };
    e.blocks.first_line = e.blocks.start_hash = NULL;
    e.blocks.page_indexed = indexed;
    e.blocks.page_indexed_bit = 3;
    e.n_leaf_paths = 2;
    e.leaf_paths = leaves;
    e.chunks = (lb_chunks){ .count = 6, .offset = offsets, .length = lengths, .null_count = nulls };
    e.pages = (lb_pages){ .count = 3,
                          .block = page_block,
                          .column = page_column,
                          .first_row = page_row,
                          .offset = page_offset,
                          .length = page_length };
    e.block_columns = (lb_colstats){ 2, stats };
    e.block_of_column = of_block;
    e.column_of_column = of_column;
    e.open_state = LB_STR("state\0of parquet");
    return e;
}

/* A compressed file with restart points, and a name that is not UTF-8. */
static inline lb_entry sample_gzip(const char *path, lb_str schema)
{
    static const uint32_t member[] = { 0, 0, 1 };
    static const uint64_t compressed[] = { 10, 100, 200 }, plain[] = { 0, 4096, 8192 }, row[] = { 0, 4, 8 },
                          row_byte[] = { 8, 4100, 8192 };
    static const uint8_t bit[] = { 0, 7, 0 };
    static const int32_t windows[] = { 0, 0, 5, 5 };
    lb_entry e = sample_text(path, schema);
    e.has_content_hash = false;
    e.container = LB_STR("gzip");
    e.rel_path_raw = LB_STR("caf\xE9.csv.gz");
    e.digests.xxh3 = NULL;
    e.access_points = (lb_access_points){ .count = 3,
                                          .kind = LB_STR("deflate"),
                                          .member = member,
                                          .compressed_byte = compressed,
                                          .uncompressed_byte = plain,
                                          .next_row = row,
                                          .next_row_byte = row_byte,
                                          .bit = bit,
                                          .window_offsets = windows,
                                          .window_data = (const uint8_t *)"\0\1\2\3\4" };
    return e;
}

static inline lb_entry sample_failed(const char *path)
{
    lb_entry e = sample_plain(path, 0);
    e.error = LB_STR("row 3 has 4 fields, the header 3");
    return e;
}

static inline int sample_order(const void *a, const void *b)
{
    return lb_str_compare(((const lb_entry *)a)->rel_path, ((const lb_entry *)b)->rel_path);
}

typedef struct sample_list {
    const lb_entry *entries;
    uint64_t calls;
} sample_list;

static inline lb_status sample_get(void *user, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    sample_list *list = user;
    (void)arena, (void)err;
    list->calls++;
    *out = list->entries[index];
    return LB_OK;
}

/* Write a list of entries, which is sorted here. */
static inline lb_status sample_write_list(const lb_map_header *header, lb_entry *entries, size_t count,
                                          uint64_t batch_bytes, lb_write_fn write, void *user, lb_error *err)
{
    sample_list list = { .entries = entries };
    const lb_entry_source source = { .count = count, .get = sample_get, .user = &list };
    if (count != 0)
        qsort(entries, count, sizeof *entries, sample_order);
    return lb_map_write(header, &source, false, batch_bytes, write, user, err);
}

#define SAMPLE_ENTRIES 6

/* The six above, not in order; `keep` holds the schema's bytes. */
static inline void sample_entries(lb_entry entries[SAMPLE_ENTRIES], lb_buf *keep)
{
    lb_str schema = sample_schema(keep);
    entries[0] = sample_parquet("z.parquet", schema);
    entries[1] = sample_text("a b/\xC3\xA9.csv", schema);
    entries[2] = sample_gzip("caf%E9.csv.gz", schema);
    entries[3] = sample_failed("bad.csv");
    entries[4] = sample_plain("a.csv", 7);
    entries[5] = sample_plain("empty.csv", 0);
}

static inline void sample_map(const lb_map_header *header, uint64_t batch_bytes, lb_buf *out)
{
    lb_entry entries[SAMPLE_ENTRIES];
    lb_buf keep;
    lb_error err = LB_ERROR_INIT;
    sample_entries(entries, &keep);
    lb_buf_init(out, NULL);
    sample_ok(sample_write_list(header, entries, SAMPLE_ENTRIES, batch_bytes, sample_write, out, &err), &err);
    lb_buf_free(&keep);
}

#endif
