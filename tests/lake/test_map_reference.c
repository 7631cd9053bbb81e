/* Maps of the layouts of 5, 7 and 8 columns, and files that are no map; all made by tools/make_reference_maps.py
 * with pyarrow, whose rows are these. */
#include "map_samples.h"

static lb_status load_data(const char *name, lb_map **out, lb_error *err)
{
    const char *root = getenv("LAKEBED_SOURCE");
    char path[1024];
    int n = snprintf(path, sizeof path, "%s/tests/lake/data/%s", root == NULL ? "." : root, name);
    assert_true(n > 0 && (size_t)n < sizeof path);
    return lb_map_load_file(path, out, err);
}

static lb_map *load_good(const char *name)
{
    lb_error err = LB_ERROR_INIT;
    lb_map *map = NULL;
    sample_ok(load_data(name, &map, &err), &err);
    return map;
}

typedef struct row {
    const char *path, *format;
    uint64_t size, rows;
    int64_t mtime_ns;
    uint64_t blocks; /* with a locator that can be used */
} row;

static const row rows[] = {
    { "a/data.parquet", "parquet", 900, 10, 1700000000001000000, 2 },
    { "b.csv", "csv", 120, 5, 1700000000002000000, 2 },
    { "c.arrow", "arrow_file", 50, 2, -1000000, 2 },
    { "d.json", "", 77, 9, 0, 0 },
    { "e.xlsx", "xlsx", 77, 0, 0, 0 },
};
static const size_t in_order[] = { 0, 1, 2, 3, 4 }, order_of_5[] = { 1, 0, 2, 3, 4 };

static void check_rows(const lb_map *map, const size_t *order, bool blocks)
{
    lb_error err = LB_ERROR_INIT;
    uint64_t first = 0, found;
    lb_entry e;
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_map_count(map), 5);
    for (uint64_t i = 0; i < 5; i++) {
        const row *want = &rows[order[i]];
        sample_ok(lb_map_view(map, i, &arena, &e, &err), &err);
        assert_true(lb_str_is(e.rel_path, want->path));
        assert_true(lb_str_is(e.format, want->format));
        assert_true(e.size_bytes == want->size && e.total_rows == want->rows && e.mtime_ns == want->mtime_ns);
        assert_true(e.ctime_ns == INT64_MIN && e.verified_ns == INT64_MIN);
        assert_int_equal(e.first_global_row, first);
        assert_int_equal(e.blocks.count, blocks ? want->blocks : 0);
        sample_ok(lb_map_find_path(map, e.rel_path, &found, &err), &err);
        assert_int_equal(found, i);
        for (uint64_t r = 0; r < e.total_rows; r++) {
            sample_ok(lb_map_find_row(map, first + r, &found, &err), &err);
            assert_int_equal(found, i);
        }
        first += e.total_rows;
    }
    assert_int_equal(lb_map_find_path(map, LB_STR("b"), &found, NULL), LB_NOTFOUND);
    assert_int_equal(lb_map_find_row(map, first, &found, &err), LB_USAGE);
    assert_non_null(strstr(err.message, "26 rows"));
    lb_arena_free(&arena);
}

static void five_columns(void **state)
{
    (void)state;
    lb_map *map = load_good("reference_5.bazan");
    lb_map_info info = { .struct_size = sizeof info };
    check_rows(map, order_of_5, false);
    assert_int_equal(lb_map_get_info(map, &info, NULL), LB_OK);
    assert_true(info.files == 5 && info.rows == 26 && info.bytes == 1224 && info.map_schema == 1 && !info.extended);
    assert_int_equal(info.stride, LB_DEFAULT_STRIDE);
    lb_map_close(map);
}

static void seven_columns(void **state)
{
    (void)state;
    lb_map *map = load_good("reference_7.bazan");
    lb_map_info info = { .struct_size = sizeof info };
    check_rows(map, in_order, true);
    assert_int_equal(lb_map_get_info(map, &info, NULL), LB_OK);
    assert_true(info.map_schema == 2 && info.stride == LB_DEFAULT_STRIDE &&
                info.fingerprint == LB_FINGERPRINT_METADATA);
    assert_true(lb_str_is(lb_map_header_of(map)->stats, "all"));
    lb_map_close(map);
}

static void check_blocks(const lb_map *map)
{
    lb_error err = LB_ERROR_INIT;
    lb_entry e;
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    sample_ok(lb_map_view(map, 0, &arena, &e, &err), &err);
    static const uint64_t offsets[] = { 4, 104, 304, 504 }, lengths[] = { 100, 200, 200, 300 };
    assert_true(e.blocks.first_row[1] == 4 && e.blocks.row_count[1] == 6 && e.blocks.first_byte[1] == 304);
    assert_true(e.blocks.total_byte_size[0] == 400 && e.blocks.compressed_size[1] == 500);
    assert_int_equal(e.blocks.page_indexed[0], 1);
    assert_int_equal(e.n_leaf_paths, 2);
    assert_true(lb_str_is(e.leaf_paths[1], "s.name"));
    assert_int_equal(e.chunks.count, 4);
    assert_memory_equal(e.chunks.offset, offsets, sizeof offsets);
    assert_memory_equal(e.chunks.length, lengths, sizeof lengths);
    assert_true(e.has_content_hash && e.content_hash[30] == 0 && e.content_hash[31] == 0x0F);
    sample_ok(lb_map_view(map, 2, &arena, &e, &err), &err);
    assert_null(e.blocks.first_byte);
    assert_false(e.has_content_hash);
    lb_arena_free(&arena);
}

static void eight_columns(void **state)
{
    (void)state;
    static const char *const names[] = { "reference_8.bazan", "reference_8_extra.bazan" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        lb_map *map = load_good(names[i]);
        check_rows(map, in_order, true);
        check_blocks(map);
        assert_int_equal(lb_map_header_of(map)->stride, 1000);
        assert_int_equal(lb_map_header_of(map)->fingerprint, LB_FINGERPRINT_BLAKE3);
        assert_true(lb_str_is(lb_map_header_of(map)->stats, "[\"id\",\"name\"]"));
        lb_map_close(map);
    }
}

static void statistics(void **state)
{
    (void)state;
    lb_map *map = load_good("reference_8.bazan");
    lb_column_info c = { .struct_size = sizeof c };
    assert_int_equal(lb_map_column(map, 0, 0, &c, NULL), LB_OK);
    assert_string_equal(c.name, "id");
    assert_string_equal(c.min, "0.0");
    assert_string_equal(c.max, "9.0");
    assert_true(c.has_stats && c.min_exact && c.max_exact && c.null_count == -1);
    assert_int_equal(lb_map_column(map, 0, 1, &c, NULL), LB_OK);
    assert_string_equal(c.type, "string");
    assert_string_equal(c.max, "z\xC3\xA9");
    assert_int_equal(lb_map_column(map, 0, 2, &c, NULL), LB_USAGE);
    assert_int_equal(lb_map_column(map, 1, 0, &c, NULL), LB_OK);
    assert_string_equal(c.max, "9007199254740992.0"); /* 2^53 + 1, rounded */
    assert_true(c.min_exact && !c.max_exact);
    lb_map_close(map);
}

static void places(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_map *map = load_good("reference_8.bazan");
    lb_place p = { .struct_size = sizeof p };
    sample_ok(lb_map_locate(map, 5, &p, &err), &err);
    assert_string_equal(p.path, "a/data.parquet");
    assert_true(p.file_row == 5 && p.block == 1 && p.row_in_block == 1 && p.block_first_byte == 304 && !p.page_indexed);
    sample_ok(lb_map_locate(map, 3, &p, &err), &err);
    assert_true(p.block == 0 && p.row_in_block == 3 && p.page_indexed);
    sample_ok(lb_map_locate_in(map, "b.csv", 4, &p, &err), &err);
    assert_true(p.global_row == 14 && p.entry == 1 && p.block == 1 && p.row_in_block == 1 && p.block_first_line == -1);
    sample_ok(lb_map_locate(map, 16, &p, &err), &err);
    assert_true(p.entry == 2 && p.file_row == 1 && p.block == 0 && p.block_first_byte == -1);
    sample_ok(lb_map_locate_in(map, "d.json", 8, &p, &err), &err);
    assert_true(p.block == -1 && p.row_in_block == -1);
    assert_int_equal(lb_map_locate(map, 26, &p, &err), LB_USAGE);
    assert_int_equal(lb_map_locate_in(map, "e.xlsx", 0, &p, &err), LB_USAGE);
    assert_non_null(strstr(err.message, "has 0 rows"));
    assert_int_equal(lb_map_locate_in(map, "x", 0, &p, &err), LB_NOTFOUND);
    lb_map_close(map);
}

static const struct {
    const char *file;
    lb_status code;
    const char *says;
} bad[] = {
    { "bad_4_columns.bazan", LB_CORRUPT, "4 columns" },
    { "bad_6_columns.bazan", LB_CORRUPT, "6 columns" },
    { "bad_type.bazan", LB_CORRUPT, "size_bytes" },
    { "bad_kind.bazan", LB_CORRUPT, "bazan.kind" },
    { "bad_version.bazan", LB_UNSUPPORTED, "bazan.version" },
    { "bad_map_schema.bazan", LB_UNSUPPORTED, "bazan.map_schema" },
    { "bad_layout.bazan", LB_CORRUPT, "7 columns" },
    { "bad_stride.bazan", LB_CORRUPT, "stride" },
    { "bad_fingerprint.bazan", LB_UNSUPPORTED, "bazan.fingerprint" },
    { "bad_stats.bazan", LB_CORRUPT, "bazan.stats_columns" },
    { "bad_no_hash.bazan", LB_CORRUPT, "content_hash" },
    { "bad_compressed.bazan", LB_UNSUPPORTED, "compressed" },
    { "bad_dictionary.bazan", LB_UNSUPPORTED, "dictionar" },
    { "bad_ext.bazan", LB_CORRUPT, "bazan.ext" },
    { "bad_text.bazan", LB_CORRUPT, "ARROW1" },
    { "no_such.bazan", LB_NOTFOUND, "" },
    { "", LB_CORRUPT, "regular file" },
};

static void no_maps(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_map *map = NULL;
        lb_status status = load_data(bad[i].file, &map, &err);
        if (status != bad[i].code || strstr(err.message, bad[i].says) == NULL || map != NULL)
            fail_msg("%s: status %d, %s", bad[i].file, (int)status, err.message);
        if (status != LB_NOTFOUND)
            assert_non_null(strstr(err.hint, "lakebed map"));
    }
}

/* What is wrong with one entry is found when that entry is asked for. */
static void bad_entries(void **state)
{
    (void)state;
    static const struct {
        const char *file, *says;
    } cases[] = { { "bad_path.bazan", "path leaves the lake" }, { "bad_json.bazan", "row_groups_json" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_map *map = load_good(cases[i].file);
        lb_entry e;
        lb_arena arena;
        lb_arena_init(&arena, NULL);
        assert_int_equal(lb_map_view(map, 0, &arena, &e, &err), LB_CORRUPT);
        assert_non_null(strstr(err.message, cases[i].says));
        lb_colstats stats;
        assert_int_equal(lb_map_load_columns(map, 0, &arena, &stats, NULL), i == 0 ? LB_OK : LB_CORRUPT);
        lb_arena_free(&arena);
        lb_map_close(map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_columns), cmocka_unit_test(seven_columns), cmocka_unit_test(eight_columns),
        cmocka_unit_test(statistics),   cmocka_unit_test(places),        cmocka_unit_test(no_maps),
        cmocka_unit_test(bad_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
