/* Building a map: options, checkpoints, failures, and that nothing is left behind by a build that fails. */
#include <dirent.h>

#include "lake_fixture.h"

static lb_map *build(const lb_map_options *options)
{
    lb_error err = LB_ERROR_INIT;
    lb_map *map = NULL;
    lake_ok(lb_map_create(cx, ".", options, &map, &err), &err);
    return map;
}

/* Names in the folder but data, each followed by a blank. */
static void left_behind(const char *want)
{
    char got[1024] = "";
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (e->d_name[0] == '.' && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, ".br_map.lock") != 0)
            (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%.100s ", e->d_name);
    (void)closedir(dir);
    assert_string_equal(got, want);
}

/* A build that fails with this status and these words, and leaves nothing. */
static void build_fails(const lb_map_options *options, lb_status status, const char *says)
{
    lb_error err = LB_ERROR_INIT;
    lb_map *map = NULL;
    assert_int_equal(lb_map_create(cx, ".", options, &map, &err), status);
    assert_null(map);
    if (says != NULL && strstr(err.message, says) == NULL && strstr(err.hint, says) == NULL)
        fail_msg("%s (%s)", err.message, err.hint);
    left_behind("");
}

static void options_survive_a_reload(void **state)
{
    lb_map_options o = {
        .struct_size = sizeof o, .stride = 2, .fingerprint = LB_FINGERPRINT_BLAKE3, .stats = "id,id,other"
    };
    lb_map_info info = { .struct_size = sizeof info };
    lb_entry_info e = { .struct_size = sizeof e };
    lb_column_info c = { .struct_size = sizeof c };
    lb_place p = { .struct_size = sizeof p };
    lb_map *map;
    (void)state;
    lake_put("a.csv", "id,v\n3,x\n1,y\n2,z\n");
    lb_map_close(build(&o));
    assert_int_equal(lb_map_open(cx, ".", &map, NULL), LB_OK);
    assert_int_equal(lb_map_get_info(map, &info, NULL), LB_OK);
    assert_true(info.files == 1 && info.rows == 3 && info.bytes == 17 && info.failed == 0 && info.stride == 2);
    assert_true(info.fingerprint == LB_FINGERPRINT_BLAKE3 && info.map_schema == 3 && info.extended &&
                info.created_ns > 0);
    assert_int_equal(lb_map_entry(map, 0, &e, NULL), LB_OK);
    assert_true(e.rows == 3 && e.blocks == 2 && e.columns == 2 && e.bytes == 17);
    /* Of the file's 17 bytes, by the blake3 package of Python. */
    assert_string_equal(e.content_hash, "bcf7a3cbe20ab463a2bda498738f29a8d8670d88d9e0c84c91e5001dbc51f170");
    assert_int_equal(lb_map_column(map, 0, 0, &c, NULL), LB_OK);
    assert_true(c.has_stats && c.null_count == 0);
    assert_string_equal(c.min, "1");
    assert_string_equal(c.max, "3");
    assert_int_equal(lb_map_column(map, 0, 1, &c, NULL), LB_OK);
    assert_false(c.has_stats);
    assert_int_equal(lb_map_locate(map, 2, &p, NULL), LB_OK);
    assert_true(p.block == 1 && p.row_in_block == 0 && p.block_rows == 1 && p.block_first_byte == 13 &&
                p.block_bytes == 4 && p.block_first_line == 4);
    lb_map_close(map);
}

/* Rows of the last block, for every number of rows around the stride's multiples. */
static void blocks_end_at_the_stride(void **state)
{
    static const uint64_t strides[] = { 1, 2, 3, 7, 65536, UINT64_MAX };
    lb_entry_info e = { .struct_size = sizeof e };
    lb_place p = { .struct_size = sizeof p };
    char text[256];
    (void)state;
    for (size_t s = 0; s < LB_COUNT_OF(strides); s++)
        for (uint64_t rows = 0; rows <= 15; rows++) {
            lb_map_options o = { .struct_size = sizeof o, .stride = strides[s] };
            size_t at = (size_t)snprintf(text, sizeof text, "k\n");
            for (uint64_t i = 0; i < rows; i++)
                at += (size_t)snprintf(text + at, sizeof text - at, "%02d\n", (int)i);
            lake_put("a.csv", text);
            lb_map *map = build(&o);
            assert_int_equal(lb_map_entry(map, 0, &e, NULL), LB_OK);
            assert_int_equal(e.rows, rows);
            assert_int_equal(e.blocks, rows / strides[s] + (rows % strides[s] != 0));
            for (uint64_t i = 0; i < rows; i++) {
                assert_int_equal(lb_map_locate(map, i, &p, NULL), LB_OK);
                assert_true((uint64_t)p.block == i / strides[s] && (uint64_t)p.row_in_block == i % strides[s]);
                assert_int_equal(p.block_first_byte, 2 + 3 * (p.block * (int64_t)LB_MIN(strides[s], 15)));
            }
            assert_int_equal(lb_map_locate(map, rows, &p, NULL), LB_USAGE);
            lb_map_close(map);
        }
}

static void what_is_no_option(void **state)
{
    static const char *const no_colon[] = { "delimiter=;", NULL }, *const no_option[] = { "*:delimeter=;", NULL },
                             *const no_value[] = { "*:delimiter=", NULL }, *const no_glob[] = { ":delimiter=;", NULL };
    const lb_map_options cases[] = {
        { .struct_size = 1 },
        { .struct_size = sizeof cases[0], .fingerprint = (lb_fingerprint)7 },
        { .struct_size = sizeof cases[0], .stats = "" },
        { .struct_size = sizeof cases[0], .set = no_colon },
        { .struct_size = sizeof cases[0], .set = no_option },
        { .struct_size = sizeof cases[0], .set = no_value },
        { .struct_size = sizeof cases[0], .set = no_glob },
    };
    (void)state;
    lake_put("a.csv", "k\n1\n");
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++)
        build_fails(&cases[i], LB_USAGE, NULL);
    build_fails(&cases[4], LB_USAGE, "delimiter");
    assert_false(lake_exists(".br_map.lock"));
}

static void an_empty_folder_has_an_empty_map(void **state)
{
    lb_map_info info = { .struct_size = sizeof info };
    lb_place p = { .struct_size = sizeof p };
    uint64_t index;
    (void)state;
    lb_map *map = build(NULL);
    assert_int_equal(lb_map_get_info(map, &info, NULL), LB_OK);
    assert_true(info.files == 0 && info.rows == 0 && info.bytes == 0);
    assert_int_equal(lb_map_locate(map, 0, &p, NULL), LB_USAGE);
    assert_int_equal(lb_map_find(map, "a.csv", &index, NULL), LB_NOTFOUND);
    lb_map_close(map);
    lb_table *t = lake_open(".", NULL);
    assert_true(lb_table_rows(t) == 0 && lb_table_files(t) == 0 && lb_table_columns(t) == 0);
    lake_rows_are(t, NULL, "");
    lb_close(t);
    left_behind(".br_map.bazan ");
}

/* ---------------------------------------------------------------- files that cannot be read */

static const struct {
    const char *text, *says;
    lb_status status;
} bad_files[] = {
    { "a,b\n1,2\n3\n", "ragged", LB_CORRUPT },
    { "a,b\n1,2,3\n", "ragged", LB_CORRUPT },
    { "a\n\xE9\n", "encoding", LB_CORRUPT },
    { "PAR1....................PAR1", "Parquet", LB_UNSUPPORTED },
    { "\x1F\x8B\x08\x00\x00\x00\x00\x00", "gzip", LB_UNSUPPORTED },
};

static void a_bad_file_aborts(void **state)
{
    lb_error err = LB_ERROR_INIT;
    (void)state;
    lake_put("a.csv", "k\n1\n");
    lake_put("c.csv", "k\n1\n");
    for (size_t i = 0; i < LB_COUNT_OF(bad_files); i++) {
        lake_put("b.csv", bad_files[i].text);
        build_fails(NULL, bad_files[i].status, bad_files[i].says);
        (void)lb_map_create(cx, ".", NULL, NULL, &err);
        assert_non_null(strstr(err.path, "b.csv"));
    }
}

static void a_bad_file_is_recorded(void **state)
{
    const lb_map_options o = { .struct_size = sizeof o, .record_errors = true };
    lb_map_info info = { .struct_size = sizeof info };
    lb_entry_info e = { .struct_size = sizeof e };
    (void)state;
    lake_put("a.csv", "k\n1\n");
    lake_put("c.csv", "k\n2\n");
    for (size_t i = 0; i < LB_COUNT_OF(bad_files); i++) {
        lake_put("b.csv", bad_files[i].text);
        lb_map *map = build(&o);
        assert_int_equal(lb_map_get_info(map, &info, NULL), LB_OK);
        assert_true(info.files == 3 && info.failed == 1 && info.rows == 2 &&
                    info.bytes == 8 + strlen(bad_files[i].text));
        assert_int_equal(lb_map_entry(map, 1, &e, NULL), LB_OK);
        assert_true(e.rows == 0 && e.blocks == 0 && e.first_row == 1 && e.bytes == strlen(bad_files[i].text));
        assert_non_null(e.error);
        if (strstr(e.error, bad_files[i].says) == NULL)
            fail_msg("%s", e.error);
        lb_map_close(map);
        lb_table *t = lake_open(".", NULL);
        lake_rows_are(t, NULL, "{\"k\":1}\n{\"k\":2}\n");
        assert_string_equal(lb_table_map_use(t, 1), "error when mapped");
        lb_close(t);
    }
}

/* A failed build does not touch the map that was there. */
static void the_old_map_stays(void **state)
{
    struct stat before, after;
    (void)state;
    lake_put("a.csv", "k\n1\n");
    lb_map_close(build(NULL));
    assert_int_equal(stat(".br_map.bazan", &before), 0);
    lake_put("b.csv", "k\n\xE9\n");
    assert_int_equal(lb_map_create(cx, ".", NULL, NULL, NULL), LB_CORRUPT);
    assert_int_equal(stat(".br_map.bazan", &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    left_behind(".br_map.bazan ");
}

/* ---------------------------------------------------------------- the caller's limits and wishes */

static void put_rows(const char *path, int rows)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("id,text\n", f);
    for (int i = 0; i < rows; i++)
        (void)fprintf(f, "%d,%0100d\n", i, i);
    assert_int_equal(fclose(f), 0);
}

static void cancel(void *user, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files)
{
    assert_true(done <= total && files <= total_files);
    lb_context_cancel(*(lb_context **)user);
}

static void cancelled(void **state)
{
    lb_context *mine = NULL;
    const lb_context_options options = {
        .struct_size = sizeof options, .threads = 1, .progress = cancel, .user = &mine
    };
    lb_map *map;
    (void)state;
    put_rows("a.csv", 50000);
    put_rows("b.csv", 50000);
    assert_int_equal(lb_context_new(&options, &mine, NULL), LB_OK);
    assert_int_equal(lb_map_create(mine, ".", NULL, &map, NULL), LB_CANCELLED);
    /* And before anything began; failures that are recorded are the files', not the caller's wish. */
    const lb_map_options record = { .struct_size = sizeof record, .record_errors = true };
    assert_int_equal(lb_map_create(mine, ".", &record, &map, NULL), LB_CANCELLED);
    left_behind("");
    lb_context_free(mine);
}

static void memory_has_a_limit(void **state)
{
    static const uint64_t limits[] = { 1, 1000, 10000, 100000, 300000, 1000000, 3000000 };
    lb_map *map = NULL;
    (void)state;
    put_rows("a.csv", 20000);
    for (size_t i = 0; i < LB_COUNT_OF(limits); i++) {
        const lb_context_options options = { .struct_size = sizeof options, .threads = 2, .memory_limit = limits[i] };
        lb_context *mine;
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(lb_context_new(&options, &mine, NULL), LB_OK);
        lb_status status = lb_map_create(mine, ".", NULL, &map, &err);
        assert_true(status == LB_OK || status == LB_BUDGET);
        assert_true(status == LB_BUDGET || i > 1);
        left_behind(status == LB_OK ? ".br_map.bazan " : "");
        lb_map_close(map);
        (void)unlink(".br_map.bazan");
        lb_context_free(mine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAKE_TEST(options_survive_a_reload), LAKE_TEST(blocks_end_at_the_stride),
        LAKE_TEST(what_is_no_option),        LAKE_TEST(an_empty_folder_has_an_empty_map),
        LAKE_TEST(a_bad_file_aborts),        LAKE_TEST(a_bad_file_is_recorded),
        LAKE_TEST(the_old_map_stays),        LAKE_TEST(cancelled),
        LAKE_TEST(memory_has_a_limit),
    };
    return cmocka_run_group_tests(tests, lake_group_setup, lake_group_teardown);
}
