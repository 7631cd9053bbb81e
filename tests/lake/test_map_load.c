/* Loading and looking up: damage of every kind gives an error or the right answer, and lookups agree with a plain
 * count. */
#include "map_samples.h"

static const lb_map_header header = { .stride = 4, .stats = { "block", 5 }, .writer = { "lakebed", 7 } };

/* Everything a map can be asked, with whatever comes out. True: all went well. */
static bool ask_all(const lb_map *map)
{
    bool good = true;
    lb_map_info info = { .struct_size = sizeof info };
    lb_place place = { .struct_size = sizeof place };
    good = lb_map_get_info(map, &info, NULL) == LB_OK && good;
    for (uint64_t i = 0; i < lb_map_count(map) && i < 16; i++) {
        lb_arena arena;
        lb_entry e;
        lb_entry_info entry = { .struct_size = sizeof entry };
        lb_column_info column = { .struct_size = sizeof column };
        uint64_t found;
        lb_arena_init(&arena, NULL);
        bool whole = lb_map_view_all(map, i, &arena, &e, NULL) == LB_OK;
        good = whole && good;
        if (whole) {
            good = lb_map_find_path(map, e.rel_path, &found, NULL) == LB_OK && found == i && good;
            if (e.total_rows > 0 && lb_map_find_row(map, e.first_global_row, &found, NULL) != LB_OK)
                good = false;
            (void)lb_map_locate(map, e.first_global_row + e.total_rows / 2, &place, NULL);
            assert_true(e.rel_path.size == 0 || e.rel_path.at[0] != '/');
        }
        good = lb_map_entry(map, i, &entry, NULL) == LB_OK && good;
        for (uint64_t c = 0; c < 3; c++)
            (void)lb_map_column(map, i, c, &column, NULL);
        lb_arena_free(&arena);
    }
    return good;
}

static lb_status load_copy(const uint8_t *bytes, size_t size, lb_map **out)
{
    lb_buf copy;
    lb_error err = LB_ERROR_INIT;
    lb_buf_init(&copy, NULL);
    assert_int_equal(lb_buf_append(&copy, bytes, size, &err), LB_OK);
    lb_status status = lb_map_load_bytes(&copy, "damaged", out, &err);
    assert_int_equal(status == LB_OK, err.code == LB_OK);
    return status;
}

/* No beginning of a map is a map. */
static void truncated(void **state)
{
    (void)state;
    lb_buf whole;
    lb_map *map;
    sample_map(&header, 3000, &whole);
    for (size_t size = 0; size < whole.size; size++) {
        lb_status status = load_copy(whole.data, size, &map);
        assert_true(status == LB_CORRUPT || status == LB_UNSUPPORTED);
        assert_null(map);
    }
    lb_buf_free(&whole);
}

static void flipped(void **state)
{
    (void)state;
    lb_buf whole;
    lb_map *map;
    size_t refused = 0, noticed = 0;
    sample_map(&header, 3000, &whole);
    assert_int_equal(load_copy(whole.data, whole.size, &map), LB_OK);
    assert_true(ask_all(map));
    lb_map_close(map);
    for (size_t i = 0; i < whole.size; i++) {
        for (int bit = (int)(i % 7); bit < 8; bit += 7 - (int)(i % 7)) { /* one of the lower bits, and the highest */
            whole.data[i] ^= (uint8_t)(1 << bit);
            if (load_copy(whole.data, whole.size, &map) == LB_OK)
                noticed += !ask_all(map);
            else
                refused++;
            lb_map_close(map);
            whole.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    /* The footer, the headers and the offsets are a good part of so small a map. */
    assert_true(refused > whole.size / 16 && noticed > whole.size / 64);
    lb_buf_free(&whole);
}

/* A page of 0xFF or of zeros laid over every place of the map. */
static void overwritten(void **state)
{
    (void)state;
    lb_buf whole;
    lb_map *map;
    sample_map(&header, 3000, &whole);
    for (size_t i = 0; i + 8 <= whole.size; i += 12) {
        for (int fill = 0; fill < 256; fill += 255) {
            uint8_t saved[8];
            memcpy(saved, whole.data + i, sizeof saved);
            memset(whole.data + i, fill, sizeof saved);
            if (load_copy(whole.data, whole.size, &map) == LB_OK)
                (void)ask_all(map);
            lb_map_close(map);
            memcpy(whole.data + i, saved, sizeof saved);
        }
    }
    lb_buf_free(&whole);
}

#define MANY 3000

/* Thousands of entries, some without rows, in few and in many batches. */
static void many_entries(void **state)
{
    (void)state;
    static const uint64_t batch_bytes[] = { 0, 1, 20000 };
    lb_entry *entries = calloc(MANY, sizeof *entries);
    char(*names)[16] = calloc(MANY, sizeof *names);
    for (size_t b = 0; b < COUNT_OF(batch_bytes); b++) {
        lb_error err = LB_ERROR_INIT;
        lb_buf bytes;
        lb_map *map;
        uint64_t row = 0, found;
        for (size_t i = 0; i < MANY; i++) {
            (void)snprintf(names[i], sizeof names[i], "f%05zu", i);
            entries[(i * 1009) % MANY] = sample_plain(names[i], i % 3 == 0 ? 0 : i % 7);
        }
        lb_buf_init(&bytes, NULL);
        sample_ok(sample_write_list(&header, entries, MANY, batch_bytes[b], sample_write, &bytes, &err), &err);
        sample_ok(lb_map_load_bytes(&bytes, "many", &map, &err), &err);
        for (size_t i = 0; i < MANY; i++) {
            sample_ok(lb_map_find_path(map, lb_str_of(names[i]), &found, &err), &err);
            assert_int_equal(found, i);
            for (uint64_t r = 0; r < (i % 3 == 0 ? 0 : i % 7); r++) {
                sample_ok(lb_map_find_row(map, row++, &found, &err), &err);
                assert_int_equal(found, i);
            }
        }
        assert_int_equal(lb_map_find_row(map, row, &found, NULL), LB_USAGE);
        lb_map_close(map);
    }
    free(names);
    free(entries);
}

static void public_calls(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;
    lb_map *map;
    lb_map_info info = { .struct_size = sizeof info };
    lb_entry_info e = { .struct_size = sizeof e };
    lb_column_info c = { .struct_size = sizeof c };
    lb_place p = { .struct_size = sizeof p };
    uint64_t index;
    sample_map(&header, 0, &bytes);
    sample_ok(lb_map_load_bytes(&bytes, "public", &map, &err), &err);
    sample_ok(lb_map_get_info(map, &info, &err), &err);
    assert_true(info.files == 6 && info.rows == 37 && info.bytes == 3780 && info.failed == 1 && info.extended);
    assert_string_equal(info.writer, "lakebed");
    assert_string_equal(info.options_json, "");
    sample_ok(lb_map_find(map, "caf%E9.csv.gz", &index, &err), &err);
    sample_ok(lb_map_entry(map, index, &e, &err), &err);
    assert_string_equal(e.path, "caf%E9.csv.gz");
    assert_string_equal(e.container, "gzip");
    assert_true(e.rows == 10 && e.first_row == 17 && e.blocks == 3 && e.columns == 2 && e.mtime_ns == -1);
    assert_null(e.error);
    sample_ok(lb_map_column(map, index, 0, &c, &err), &err);
    assert_string_equal(c.name, "id");
    assert_string_equal(c.type, "int64");
    assert_string_equal(c.min, "-9223372036854775808");
    assert_string_equal(c.max, "9007199254740993");
    assert_true(c.has_stats && !c.nullable && c.null_count == 0 && c.nan_count == -1 && c.min_exact && c.max_exact);
    sample_ok(lb_map_column(map, index, 1, &c, &err), &err);
    assert_true(c.nullable && c.null_count == 3 && c.min_exact && !c.max_exact);
    assert_int_equal(lb_map_column(map, index, 2, &c, &err), LB_USAGE);
    assert_int_equal(lb_map_entry(map, 6, &e, &err), LB_USAGE);
    sample_ok(lb_map_locate(map, 5, &p, &err), &err);
    assert_true(p.entry == 0 && p.block == 1 && p.row_in_block == 1 && p.block_first_line == 6 &&
                p.block_first_byte == 108);
    sample_ok(lb_map_locate_in(map, "z.parquet", 9, &p, &err), &err);
    assert_true(p.global_row == 36 && p.block == 2 && p.page_indexed && p.block_first_line == -1);
    sample_ok(lb_map_locate(map, 12, &p, &err), &err);
    assert_true(p.entry == 1 && p.file_row == 2 && p.block == -1);
    assert_int_equal(lb_map_locate(map, 37, &p, &err), LB_USAGE);
    assert_non_null(strstr(err.message, "37 rows"));
    sample_ok(lb_map_entry(map, 2, &e, &err), &err);
    assert_string_equal(e.error, "row 3 has 4 fields, the header 3");
    info.struct_size = 0;
    assert_int_equal(lb_map_get_info(map, &info, &err), LB_USAGE);
    lb_map_close(map);
    lb_map_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated),    cmocka_unit_test(flipped),      cmocka_unit_test(overwritten),
        cmocka_unit_test(many_entries), cmocka_unit_test(public_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
