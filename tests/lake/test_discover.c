/* Which files are data: extensions, names, globs, handlers of run time; the same set for a map and for a read without
 * one. */
#include "lake/discover.h"

#include "lake_fixture.h"

static const lb_discover_options defaults;

/* The paths found, each followed by a blank. */
static char *found(const lb_discover_options *options, lb_status want)
{
    lb_error err = LB_ERROR_INIT;
    lb_file_list list;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    lb_file_list_init(&list, NULL);
    assert_non_null(f);
    assert_int_equal(lb_discover(cx, ".", options, &list, &err), want);
    for (size_t i = 0; want == LB_OK && i < list.count; i++)
        (void)fprintf(f, "%.*s ", (int)list.files[i].rel_path.size, list.files[i].rel_path.at);
    (void)fclose(f);
    lb_file_list_free(&list);
    return text;
}

static void found_are(const lb_discover_options *options, const char *want)
{
    char *got = found(options, LB_OK);
    assert_string_equal(got, want);
    free(got);
}

static void put_all(const char *const *names)
{
    for (; *names != NULL; names++)
        lake_put(*names, "a\n1\n");
}

static void extensions(void **state)
{
    static const char *const names[] = { "a.csv",  "B.CSV", "c.Tsv",  "d.psv",   "e.txt",     "f.csvx", "g",    ".csv",
                                         ".x.csv", "h.",    "i.csv~", "j.csv.b", "k.tar.csv", "csv",    "l.md", NULL };
    (void)state;
    put_all(names);
    found_are(&defaults, ".x.csv B.CSV a.csv c.Tsv d.psv e.txt k.tar.csv ");
}

static void own_files_and_by_products(void **state)
{
    static const char *const names[] = { ".br_map.bazan",
                                         ".br_map.ipc",
                                         ".br_map.lock",
                                         ".br_map.bazan.old",
                                         ".br_map.bazan.tmp.1.csv",
                                         "_SUCCESS.csv",
                                         "_metadata",
                                         "a.csv",
                                         NULL };
    const lb_discover_options all = { .hidden = true, .by_products = true };
    (void)state;
    put_all(names);
    assert_int_equal(mkdir(".br_cache", 0777) + mkdir("s", 0777), 0);
    lake_put(".br_cache/x.csv", "a\n");
    lake_put("s/.br_map.bazan.tmp.2.csv", "a\n");
    /* Not even a handler makes data of them. */
    assert_int_equal(lb_register_delimited(cx, "bazan", ",", true, NULL), LB_OK);
    assert_int_equal(lb_register_delimited(cx, "ipc", ",", true, NULL), LB_OK);
    assert_int_equal(lb_register_delimited(cx, "lock", ",", true, NULL), LB_OK);
    assert_int_equal(lb_register_delimited(cx, "old", ",", true, NULL), LB_OK);
    found_are(&defaults, "a.csv ");
    found_are(&all, ".br_cache/x.csv _SUCCESS.csv a.csv ");
    lake_put("mine.ipc", "a\n");
    found_are(&defaults, "a.csv mine.ipc ");
}

static void hidden_folders(void **state)
{
    const lb_discover_options hidden = { .hidden = true };
    (void)state;
    assert_int_equal(mkdir(".h", 0777) + mkdir("v", 0777) + mkdir("v/.w", 0777), 0);
    lake_put(".h/a.csv", "a\n");
    lake_put("v/.w/b.csv", "a\n");
    lake_put("v/.c.csv", "a\n");
    found_are(&defaults, "v/.c.csv ");
    found_are(&hidden, ".h/a.csv v/.c.csv v/.w/b.csv ");
}

static void globs(void **state)
{
    static const char *const names[] = { "a.csv", "b.tsv", "eu/a.csv", "eu/b.csv", "eu/x/c.csv", "us/a.csv", NULL };
    static const struct {
        const char *include[3], *exclude[3], *want;
    } cases[] = {
        { { NULL }, { NULL }, "a.csv b.tsv eu/a.csv eu/b.csv eu/x/c.csv us/a.csv " },
        { { "*.csv" }, { NULL }, "a.csv eu/a.csv eu/b.csv eu/x/c.csv us/a.csv " },
        { { "/*.csv" }, { NULL }, "a.csv " },
        { { "**/*.csv" }, { NULL }, "a.csv eu/a.csv eu/b.csv eu/x/c.csv us/a.csv " },
        { { "eu/**" }, { NULL }, "eu/a.csv eu/b.csv eu/x/c.csv " },
        { { "eu/*" }, { NULL }, "eu/a.csv eu/b.csv " },
        { { "*.tsv", "us/*" }, { NULL }, "b.tsv us/a.csv " },
        { { NULL }, { "eu" }, "a.csv b.tsv us/a.csv " },
        { { NULL }, { "**/a.csv", "*.tsv" }, "eu/b.csv eu/x/c.csv " },
        { { "eu/**" }, { "eu/x" }, "eu/a.csv eu/b.csv " },
        { { "?.csv" }, { "a*" }, "eu/b.csv eu/x/c.csv " },
        { { "{eu,us}/[ab].csv" }, { NULL }, "eu/a.csv eu/b.csv us/a.csv " },
        { { "nothing" }, { NULL }, "" },
    };
    (void)state;
    assert_int_equal(mkdir("eu", 0777) + mkdir("eu/x", 0777) + mkdir("us", 0777), 0);
    put_all(names);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        const lb_discover_options o = { .include = cases[i].include, .exclude = cases[i].exclude };
        found_are(&o, cases[i].want);
    }
}

static void names_that_are_no_text(void **state)
{
    const lb_discover_options record = { .record_clashes = true };
    lb_file_list list;
    (void)state;
    lake_put("a\xFF.csv", "a\n");
    lake_put("b%FF.csv", "a\n");
    lake_put("c%\x80.csv", "a\n");
    lb_file_list_init(&list, NULL);
    assert_int_equal(lb_discover(cx, ".", &defaults, &list, NULL), LB_OK);
    const lb_data_file *files = list.files;
    assert_int_equal(list.count, 3);
    assert_true(lb_str_is(files[0].rel_path, "a%FF.csv") && lb_str_is(files[0].rel_path_raw, "a\xFF.csv"));
    assert_true(lb_str_is(files[1].rel_path, "b%FF.csv") && files[1].rel_path_raw.size == 0);
    assert_true(lb_str_is(files[2].rel_path, "c%25%80.csv") && lb_str_is(files[2].rel_path_raw, "c%\x80.csv"));
    lb_file_list_free(&list);
    lake_put("a%FF.csv", "a\n");
    free(found(&defaults, LB_UNSUPPORTED));
    found_are(&record, "%61%FF%2E%63%73%76 a%FF.csv b%FF.csv c%25%80.csv ");
    lb_map_options recording = { .struct_size = sizeof recording, .record_errors = true };
    lb_entry_info e = { .struct_size = sizeof e };
    lb_map *map;
    assert_int_equal(lb_map_create(cx, ".", &recording, &map, NULL), LB_OK);
    assert_int_equal(lb_map_entry(map, 0, &e, NULL), LB_OK);
    assert_string_equal(e.path, "%61%FF%2E%63%73%76");
    assert_string_equal(e.error, "two files would both be called a%FF.csv in the map: one name is not UTF-8");
    assert_int_equal(lb_map_entry(map, 1, &e, NULL), LB_OK);
    assert_string_equal(e.path, "a%FF.csv");
    assert_null(e.error);
    lb_map_close(map);
}

static void handlers_of_run_time(void **state)
{
    lb_error err = LB_ERROR_INIT;
    lb_entry_info e = { .struct_size = sizeof e };
    lb_map *map;
    (void)state;
    lake_put("a.csv", "id\n1\n");
    lake_put("b.Tilde", "id~v\n2~3\n");
    lake_put("plain", "id,v\n4,5\n6,7\n");
    found_are(&defaults, "a.csv ");
    assert_int_equal(lb_register_delimited(cx, ".TILDE", "~", true, &err), LB_OK);
    found_are(&defaults, "a.csv b.Tilde ");
    lake_ok(lb_map_create(cx, ".", NULL, &map, &err), &err);
    lake_ok(lb_map_entry(map, 1, &e, &err), &err);
    assert_string_equal(e.path, "b.Tilde");
    assert_string_equal(e.format, "dynamic");
    assert_true(e.rows == 1 && e.blocks == 0);
    lb_map_close(map);
    lb_table *t = lake_open(".", NULL);
    lake_rows_are(t, NULL, "{\"id\":1,\"v\":null}\n{\"id\":2,\"v\":3}\n");
    lb_close(t);
    t = lake_open("b.Tilde", NULL);
    assert_string_equal(lb_table_map_use(t, 0), "dynamic handler");
    lake_rows_are(t, NULL, "{\"id\":2,\"v\":3}\n");
    lb_close(t);
    t = lake_open("plain", NULL); /* by content */
    lake_rows_are(t, NULL, "{\"id\":4,\"v\":5}\n{\"id\":6,\"v\":7}\n");
    lb_close(t);
    /* A handler that takes over an extension: its way of reading, and no locator. */
    assert_int_equal(lb_register_delimited(cx, "csv", "|", false, &err), LB_OK);
    t = lake_open("a.csv", NULL);
    assert_string_equal(lb_table_map_use(t, 0), "dynamic handler");
    lake_rows_are(t, NULL, "{\"column_1\":\"id\"}\n{\"column_1\":\"1\"}\n");
    lb_close(t);
    assert_true(lb_unregister_format(cx, "csv"));
    assert_true(lb_unregister_format(cx, "tilde"));
    assert_false(lb_unregister_format(cx, "tilde"));
    found_are(&defaults, "a.csv ");
    t = lake_open("a.csv", NULL);
    assert_string_equal(lb_table_map_use(t, 0), "used");
    lb_close(t);
}

static void what_cannot_be_registered(void **state)
{
    static const struct {
        const char *ext, *delimiter;
    } bad[] = { { "", "," },    { ".", "," },
                { "a/b", "," }, { "x", "" },
                { "x", "ab" },  { "x", "\"" },
                { "x", "\n" },  { "x", "\r" },
                { "a.b", "," }, { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "," } };
    size_t before = lb_format_count(cx);
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++)
        assert_int_equal(lb_register_delimited(cx, bad[i].ext, bad[i].delimiter, true, NULL), LB_USAGE);
    assert_int_equal(lb_format_count(cx), before);
    lb_format_info info = { .struct_size = sizeof info };
    assert_int_equal(lb_register_delimited(cx, "x", "~", true, NULL), LB_OK);
    assert_int_equal(lb_format_at(cx, before, &info, NULL), LB_OK);
    assert_true(info.dynamic);
    assert_string_equal(info.extensions, "x");
    assert_int_equal(lb_format_at(cx, before + 1, &info, NULL), LB_USAGE);
}

static void no_folder(void **state)
{
    lb_map *map;
    (void)state;
    lake_put("a.csv", "a\n");
    assert_int_equal(lb_map_create(cx, "missing", NULL, &map, NULL), LB_NOTFOUND);
    assert_null(map);
    assert_int_equal(lb_map_create(cx, "a.csv", NULL, &map, NULL), LB_USAGE);
    assert_false(lake_exists("missing"));
    assert_false(lake_exists(".br_map.lock"));
}

static void an_unreadable_folder_fails_the_walk(void **state)
{
    lb_error err = LB_ERROR_INIT;
    (void)state;
    if (geteuid() == 0)
        skip(); /* may read everything */
    lake_put("a.csv", "a\n");
    assert_int_equal(mkdir("shut", 0), 0);
    assert_int_equal(lb_map_create(cx, ".", NULL, NULL, &err), LB_IO);
    assert_non_null(strstr(err.path, "shut"));
    assert_false(lake_exists(".br_map.bazan"));
    assert_int_equal(chmod("shut", 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAKE_TEST(extensions),
        LAKE_TEST(own_files_and_by_products),
        LAKE_TEST(hidden_folders),
        LAKE_TEST(globs),
        LAKE_TEST(names_that_are_no_text),
        LAKE_TEST(handlers_of_run_time),
        LAKE_TEST(what_cannot_be_registered),
        LAKE_TEST(no_folder),
        LAKE_TEST(an_unreadable_folder_fails_the_walk),
    };
    return cmocka_run_group_tests(tests, lake_group_setup, lake_group_teardown);
}
