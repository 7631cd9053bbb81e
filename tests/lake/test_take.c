/* Taking rows through the library: mistakes, empty answers, columns, limits of memory, windows, threads, and the
 * shuffle as it is promised; and splits. */
#include <pthread.h>

#include "lake/handlers.h"
#include "lake/splits.h"
#include "lake_fixture.h"

static void put_rows(const char *path, int first, int count)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("k,v\n", f);
    for (int i = first; i < first + count; i++)
        (void)fprintf(f, "%d,\"v\n%d\"\n", i, i);
    assert_int_equal(fclose(f), 0);
}

/* 30 rows in which k counts on. */
static void put_lake(void)
{
    const lb_map_options o = { .struct_size = sizeof o, .stride = 4 };
    put_rows("a.csv", 0, 10);
    put_rows("b.csv", 10, 10);
    lake_put("empty.csv", "k,v\n");
    put_rows("z.csv", 20, 10);
    lake_map(&o);
}

static char *print_take(lb_table *t, const lb_take *take, lb_error *err)
{
    struct ArrowArrayStream stream;
    lb_buf text;
    char *out = NULL;
    lb_buf_init(&text, NULL);
    if (lb_table_take(t, take, &stream, err) == LB_OK &&
        lb_print(cx, &stream, "canonical", NULL, lake_append, &text, NULL, err) == LB_OK)
        out = strdup(lb_buf_text(&text));
    lb_buf_free(&text);
    return out;
}

static void take_is(lb_table *t, const lb_take *take, const char *want)
{
    lb_error err = LB_ERROR_INIT;
    char *got = print_take(t, take, &err);
    if (got == NULL)
        fail_msg("%s: %s", err.path, err.message);
    assert_string_equal(got, want);
    free(got);
}

static const char *const k_only[] = { "k", NULL };

static void rows_in_the_order_asked(void **state)
{
    static const uint64_t rows[] = { 29, 0, 10, 10, 9, 19 };
    const lb_open_options no_map = { .struct_size = sizeof no_map, .no_map = true };
    (void)state;
    put_lake();
    lb_table *tables[] = { lake_open(".", NULL), lake_open(".", &no_map) };
    for (size_t i = 0; i < LB_COUNT_OF(tables); i++) {
        lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 6, .columns = k_only };
        take_is(tables[i], &take, "[29]\n[0]\n[10]\n[10]\n[9]\n[19]\n");
        take.sorted = true;
        take_is(tables[i], &take, "[0]\n[9]\n[10]\n[10]\n[19]\n[29]\n");
        take.count = 0;
        take_is(tables[i], &take, "");
        take.rows = NULL;
        take_is(tables[i], &take, "");
        lb_close(tables[i]);
    }
}

static void mistakes(void **state)
{
    static const uint64_t rows[] = { 3, 30, 99 };
    static const char *const wrong[] = { "kk", NULL };
    struct ArrowArrayStream stream;
    lb_error err = LB_ERROR_INIT;
    lb_splits *splits;
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 3 };
    assert_int_equal(lb_table_take(t, &take, &stream, &err), LB_USAGE);
    assert_null(stream.release);
    assert_string_equal(err.message, "row 30 is past the end: there are 30 rows, 0 to 29");
    take.count = 1;
    take.columns = wrong;
    assert_int_equal(lb_table_take(t, &take, &stream, &err), LB_NOTFOUND);
    assert_string_equal(err.hint, "did you mean 'k'?");
    take.struct_size = 1;
    assert_int_equal(lb_table_take(t, &take, &stream, &err), LB_USAGE);
    take = (lb_take){ .struct_size = sizeof take, .count = 1 };
    assert_int_equal(lb_table_take(t, &take, &stream, &err), LB_USAGE);
    assert_int_equal(lb_table_splits(t, 0, &splits, &err), LB_USAGE);
    assert_null(splits);
    lb_close(t);
}

/* What is promised: the rows at places [from, from + count) of the permutation. */
static void a_shuffle_is_its_permutation(void **state)
{
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    for (uint64_t seed = 0; seed < 5; seed++)
        for (uint64_t from = 0; from <= 31; from += 5) {
            lb_permutation p = { .struct_size = sizeof p };
            char want[512] = "";
            size_t at = 0;
            assert_int_equal(lb_permutation_init(&p, 30, seed, NULL), LB_OK);
            for (uint64_t i = from; i < LB_MIN(from + 7, 30); i++)
                at += (size_t)snprintf(want + at, sizeof want - at, "[%d]\n", (int)lb_permutation_at(&p, i));
            const lb_take take = {
                .struct_size = sizeof take, .shuffled = true, .seed = seed, .from = from, .count = 7, .columns = k_only
            };
            take_is(t, &take, want);
        }
    lb_close(t);
}

/* The same rows whatever memory there is: with little, in many windows. */
static void little_memory(void **state)
{
    const lb_context_options limits[] = { { .struct_size = sizeof limits[0], .threads = 2 },
                                          { .struct_size = sizeof limits[0], .threads = 2, .memory_limit = 6 << 20 },
                                          { .struct_size = sizeof limits[0], .threads = 3, .memory_limit = 3 << 20 } };
    char *first = NULL;
    (void)state;
    put_rows("a.csv", 0, 40000);
    lake_map(NULL);
    for (size_t i = 0; i < LB_COUNT_OF(limits); i++) {
        lb_context *mine, *theirs = cx;
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(lb_context_new(&limits[i], &mine, NULL), LB_OK);
        cx = mine;
        lb_table *t = lake_open("a.csv", NULL);
        const lb_take take = { .struct_size = sizeof take, .shuffled = true, .seed = 6, .count = UINT64_MAX };
        char *got = print_take(t, &take, &err);
        if (got == NULL)
            fail_msg("%zu: %s", i, err.message);
        if (first != NULL)
            assert_string_equal(got, first);
        lb_close(t);
        assert_int_equal(mine->budget.used, 0);
        lb_context_free(mine);
        cx = theirs;
        if (first == NULL)
            first = got;
        else
            free(got);
    }
    free(first);
}

/* One long row among short ones: the windows that the average suggests do not hold what is asked. */
static void a_row_that_is_longer_than_the_others(void **state)
{
    const lb_context_options little = { .struct_size = sizeof little, .threads = 2, .memory_limit = 48 << 20 };
    enum { LONG = 1 << 20, TIMES = 40 };
    lb_context *mine, *theirs = cx;
    uint64_t rows[TIMES];
    (void)state;
    FILE *f = fopen("a.csv", "w");
    assert_non_null(f);
    (void)fputs("k,v\n", f);
    for (int i = 0; i < 60; i++)
        (void)fprintf(f, "%d,%0*d\n", i, i % 3 == 0 ? LONG : 1, i);
    assert_int_equal(fclose(f), 0);
    lake_map(NULL);
    assert_int_equal(lb_context_new(&little, &mine, NULL), LB_OK);
    cx = mine;
    lb_table *t = lake_open("a.csv", NULL);
    for (size_t i = 0; i < TIMES; i++)
        rows[i] = i % 2 == 0 ? 57 : i;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    const lb_take take = { .struct_size = sizeof take, .rows = rows, .count = TIMES };
    lb_error err = LB_ERROR_INIT;
    lake_ok(lb_table_take(t, &take, &stream, &err), &err);
    int64_t n = 0;
    while (assert_int_equal(stream.get_next(&stream, &batch), 0), batch.release != NULL) {
        const int64_t *k = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++)
            assert_int_equal(k[i], rows[n++]);
        batch.release(&batch);
    }
    assert_int_equal(n, TIMES);
    stream.release(&stream);
    lb_close(t);
    assert_int_equal(mine->budget.used, 0);
    lb_context_free(mine);
    cx = theirs;
}

static bool stop_at_once(void *user, const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    ++*(int *)user;
    return false;
}

static void raw_records(void **state)
{
    static const uint64_t rows[] = { 4, 0, 1, 2, 4 };
    const lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 5 };
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    int calls = 0;
    (void)state;
    lake_put("a.csv", "k,v\n1,\"a\nb\"\r\n\n2,c\n3,d");
    lake_put("b.csv", "k,v\n4,e\n\n5,f");
    lake_map(NULL);
    lb_table *t = lake_open(".", NULL);
    lb_buf_init(&out, NULL);
    lake_ok(lb_table_take_raw(t, &take, lake_append, &out, &err), &err);
    assert_string_equal(lb_buf_text(&out), "5,f\n1,\"a\nb\"\r\n2,c\n3,d\n5,f");
    lb_buf_free(&out);
    assert_int_equal(lb_table_take_raw(t, &take, stop_at_once, &calls, &err), LB_CANCELLED);
    assert_int_equal(calls, 1);
    lb_close(t);
}

/* The line end that a file's last record lacks is written as the file writes it. */
static void raw_line_ends_of_wide_text(void **state)
{
    static const char text[] = "k\0,\0v\0\n\0"
                               "1\0,\0a\0\n\0"
                               "2\0,\0b\0";
    static const char want[] = "2\0,\0b\0\n\0"
                               "1\0,\0a\0\n\0"
                               "2\0,\0b\0";
    static const uint64_t rows[] = { 1, 0, 1 };
    const lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 3 };
    lb_open_options options = { .struct_size = sizeof options };
    lb_read_options *read;
    lb_error err = LB_ERROR_INIT;
    lb_buf out;
    (void)state;
    lake_put_bytes("a.csv", text, sizeof text - 1);
    assert_int_equal(lb_read_options_new(&read, NULL), LB_OK);
    lake_ok(lb_read_options_set(read, "encoding", "UTF-16LE", &err), &err);
    options.read = read;
    lb_table *t = lake_open("a.csv", &options);
    lb_buf_init(&out, NULL);
    lake_ok(lb_table_take_raw(t, &take, lake_append, &out, &err), &err);
    assert_int_equal(out.size, sizeof want - 1);
    assert_memory_equal(out.data, want, sizeof want - 1);
    lb_buf_free(&out);
    lb_close(t);
    lb_read_options_free(read);
}

/* A format that can neither take nor tell places: rows are chosen from a scan, and files are cut at blocks. */
static void a_format_that_only_scans(void **state)
{
    static const uint64_t rows[] = { 29, 0, 10, 10, 9, 19, 11, 12, 5 };
    lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 9, .columns = k_only };
    lb_error err = LB_ERROR_INIT;
    lb_splits *splits;
    lb_buf out;
    (void)state;
    lake_ok(lb_register_delimited(cx, "dat", ",", true, &err), &err);
    lb_format *format = (lb_format *)(uintptr_t)lb_handler_of_extension(cx, LB_STR("dat"));
    assert_true(lb_handler_is_dynamic(format));
    put_rows("a.dat", 0, 30);
    lb_table *t = lake_open(".", NULL);
    for (int only_scans = 0; only_scans < 2; only_scans++) {
        if (only_scans) {
            format->take = NULL;
            format->extents = NULL;
        }
        take_is(t, &take, "[29]\n[0]\n[10]\n[10]\n[9]\n[19]\n[11]\n[12]\n[5]\n");
        take.sorted = true;
        take_is(t, &take, "[0]\n[5]\n[9]\n[10]\n[10]\n[11]\n[12]\n[19]\n[29]\n");
        take.sorted = false;
        lb_buf_init(&out, NULL);
        assert_int_equal(lb_table_take_raw(t, &take, lake_append, &out, &err), only_scans ? LB_UNSUPPORTED : LB_OK);
        lb_buf_free(&out);
        lake_ok(lb_table_splits(t, 40, &splits, &err), &err);
        /* Records of 8 and 10 bytes: five, and then four a split; or one block. */
        assert_int_equal(lb_splits_count(splits), only_scans ? 1 : 7);
        lake_ok(lb_splits_check(splits, &err), &err);
        lb_splits_free(splits);
    }
    lb_close(t);
}

/* What the check is for: a split that begins or ends elsewhere than it should, or has other rows. */
static void the_check_finds_wrong_splits(void **state)
{
    static const struct {
        size_t split;
        int first, bytes, rows;
        const char *says;
    } cases[] = {
        { 1, 1, 0, 0, "split 1, bytes 37 to 68: " },  { 1, -8, 8, 0, "split 1, bytes 28 to 67: " },
        { 1, 0, -8, 0, "split 1, bytes 36 to 59: " }, { 2, 0, 0, 1, "split 2, bytes 68 to 83: " },
        { 0, 0, 0, -1, "split 0, bytes 4 to 35: " },  { 2, 0, -8, -1, "split 2, bytes 68 to 75: " },
    };
    (void)state;
    put_rows("a.csv", 0, 10);
    lb_table *t = lake_open("a.csv", NULL);
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_splits *splits;
        lake_ok(lb_table_splits(t, 32, &splits, &err), &err);
        assert_int_equal(lb_splits_count(splits), 3);
        lb_split_item *item = &splits->files[0].items[cases[i].split];
        item->first_byte += (uint64_t)cases[i].first;
        item->bytes += (uint64_t)cases[i].bytes;
        item->rows += (uint64_t)cases[i].rows;
        assert_int_equal(lb_splits_check(splits, &err), LB_CORRUPT);
        if (strncmp(err.message, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("case %zu: %s", i, err.message);
        assert_string_equal(err.path, "a.csv");
        lb_splits_free(splits);
    }
    lb_close(t);
}

typedef struct told {
    size_t n, most;
    lb_part parts[8];
} told;

static bool tell(void *user, const lb_part *part)
{
    told *all = user;
    all->parts[all->n++] = *part;
    return all->n < all->most;
}

static void explained(void **state)
{
    static const uint64_t rows[] = { 29, 0, 10, 10, 9, 19 };
    const lb_take take = { .struct_size = sizeof take, .rows = rows, .count = 6 };
    told all = { .most = 8 };
    lb_error err = LB_ERROR_INIT;
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    lake_ok(lb_table_take_explain(t, &take, tell, &all, &err), &err);
    assert_int_equal(all.n, 3);
    assert_string_equal(all.parts[0].path, "a.csv");
    assert_string_equal(all.parts[2].path, "z.csv");
    assert_string_equal(all.parts[0].map, "used");
    /* Rows 0 and 9 of a.csv: blocks 0 and 2 of 4, 4 and 2 rows; row 8 is passed over. */
    assert_int_equal(all.parts[0].rows, 2);
    assert_int_equal(all.parts[0].first_block, 0);
    assert_int_equal(all.parts[0].blocks, 2);
    assert_int_equal(all.parts[0].skipped_rows, 1);
    assert_int_equal(all.parts[0].first_byte, 4);
    assert_int_equal(all.parts[0].bytes, 4 * 8 + 2 * 8);
    assert_int_equal(all.parts[2].first_row, 9);
    all = (told){ .most = 1 };
    lake_ok(lb_table_take_explain(t, &take, tell, &all, &err), &err);
    assert_int_equal(all.n, 1);
    lb_close(t);
}

typedef struct reader {
    lb_table *t;
    uint64_t seed;
    char *got;
} reader;

static void *read_all(void *arg)
{
    reader *r = arg;
    const lb_take take = {
        .struct_size = sizeof take, .shuffled = true, .seed = r->seed, .count = UINT64_MAX, .columns = k_only
    };
    r->got = print_take(r->t, &take, NULL);
    return NULL;
}

static void many_threads_at_once(void **state)
{
    pthread_t threads[6];
    reader readers[6];
    (void)state;
    put_lake();
    for (int single = 0; single < 2; single++) {
        lb_table *t = lake_open(single ? "a.csv" : ".", NULL);
        for (size_t i = 0; i < 6; i++) {
            readers[i] = (reader){ .t = t, .seed = i / 2 };
            assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
        }
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (size_t i = 0; i < 6; i++) {
            assert_non_null(readers[i].got);
            assert_string_equal(readers[i].got, readers[i / 2 * 2].got);
        }
        for (size_t i = 0; i < 6; i++)
            free(readers[i].got);
        lb_close(t);
    }
}

static void splits_of_a_lake(void **state)
{
    lb_split split = { .struct_size = sizeof split };
    lb_error err = LB_ERROR_INIT;
    lb_splits *splits;
    uint64_t rows = 0;
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    /* Records of 8 bytes in a.csv, of 10 in the others. */
    lake_ok(lb_table_splits(t, 32, &splits, &err), &err);
    assert_int_equal(lb_splits_count(splits), 3 + 4 + 4);
    lake_ok(lb_splits_at(splits, 4, &split, &err), &err);
    assert_string_equal(split.path, "b.csv");
    assert_int_equal(split.file, 1);
    assert_int_equal(split.number, 1);
    assert_int_equal(split.first_byte, 4 + 30);
    assert_int_equal(split.bytes, 30);
    assert_int_equal(split.first_row, 3);
    assert_int_equal(split.rows, 3);
    assert_int_equal(split.header_bytes, 4);
    for (uint64_t i = 0; i < lb_splits_count(splits); i++) {
        lake_ok(lb_splits_at(splits, i, &split, &err), &err);
        rows += split.rows;
    }
    assert_int_equal(rows, 30);
    assert_int_equal(lb_splits_at(splits, 11, &split, &err), LB_USAGE);
    lake_ok(lb_splits_check(splits, &err), &err);
    lb_splits_free(splits);
    lb_splits_free(NULL);
    lake_ok(lb_table_splits(t, UINT64_MAX, &splits, &err), &err);
    assert_int_equal(lb_splits_count(splits), 3);
    lake_ok(lb_splits_check(splits, &err), &err);
    /* A split that is not one any more is named. */
    lake_put("b.csv", "k,v\n1,2\n");
    assert_int_equal(lb_splits_check(splits, &err), LB_STALE);
    assert_non_null(strstr(err.path, "b.csv"));
    lb_splits_free(splits);
    lb_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAKE_TEST(rows_in_the_order_asked),
        LAKE_TEST(mistakes),
        LAKE_TEST(a_shuffle_is_its_permutation),
        LAKE_TEST(little_memory),
        LAKE_TEST(a_row_that_is_longer_than_the_others),
        LAKE_TEST(raw_records),
        LAKE_TEST(raw_line_ends_of_wide_text),
        LAKE_TEST(a_format_that_only_scans),
        LAKE_TEST(the_check_finds_wrong_splits),
        LAKE_TEST(explained),
        LAKE_TEST(many_threads_at_once),
        LAKE_TEST(splits_of_a_lake),
    };
    return cmocka_run_group_tests(tests, lake_group_setup, lake_group_teardown);
}
