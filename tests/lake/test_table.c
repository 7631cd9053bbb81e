/* Tables over files and lakes: slices, parts, raw bytes, the caller's mistakes and limits, and many threads at once. */
#include <pthread.h>

#include "lake_fixture.h"

#define ALL                                                  \
    {                                                        \
        .struct_size = sizeof(lb_slice), .limit = UINT64_MAX \
    }

/* Ten rows of two columns: k counts on over the files. */
static void put_ten(const char *path, int first)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("k,v\n", f);
    for (int i = first; i < first + 10; i++)
        (void)fprintf(f, "%d,\"v\n%d\"\n", i, i);
    assert_int_equal(fclose(f), 0);
}

static void put_lake(void)
{
    const lb_map_options o = { .struct_size = sizeof o, .stride = 4 };
    put_ten("a.csv", 0);
    put_ten("b.csv", 10);
    lake_put("empty.csv", "k,v\n");
    put_ten("z.csv", 20);
    lake_map(&o);
}

/* Rows [first, end) of column k, as ndjson. */
static void check_k(lb_table *t, const lb_slice *slice, uint64_t first, uint64_t end)
{
    static const char *const k[] = { "k", NULL };
    lb_slice only = *slice;
    char want[1024] = "";
    size_t at = 0;
    only.columns = k;
    for (uint64_t i = first; i < end; i++)
        at += (size_t)snprintf(want + at, sizeof want - at, "{\"k\":%d}\n", (int)i);
    lake_rows_are(t, &only, want);
}

static void every_range(void **state)
{
    const lb_open_options no_map = { .struct_size = sizeof no_map, .no_map = true };
    (void)state;
    put_lake();
    lb_table *tables[] = { lake_open(".", NULL), lake_open(".", &no_map) };
    for (size_t i = 0; i < LB_COUNT_OF(tables); i++) {
        assert_int_equal(lb_table_rows(tables[i]), 30);
        for (uint64_t first = 0; first <= 31; first++)
            for (uint64_t limit = 0; limit <= 31; limit += 3) {
                const lb_slice s = { .struct_size = sizeof s, .offset = first, .limit = limit };
                check_k(tables[i], &s, LB_MIN(first, 30), LB_MIN(first + limit, 30));
            }
        const lb_slice huge = { .struct_size = sizeof huge, .offset = 29, .limit = UINT64_MAX },
                       beyond = { .struct_size = sizeof beyond, .offset = UINT64_MAX, .limit = UINT64_MAX };
        check_k(tables[i], &huge, 29, 30);
        check_k(tables[i], &beyond, 0, 0);
        lb_close(tables[i]);
    }
}

/* A stream without rows still has its schema. */
static void no_rows_keep_the_schema(void **state)
{
    static const char *const columns[] = { "v", "k", "v", NULL };
    const lb_slice slices[] = { { .struct_size = sizeof slices[0], .columns = columns },
                                { .struct_size = sizeof slices[0], .offset = 99, .limit = 5, .columns = columns } };
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    for (size_t i = 0; i < LB_COUNT_OF(slices); i++) {
        struct ArrowArrayStream stream;
        struct ArrowSchema schema;
        struct ArrowArray batch;
        assert_int_equal(lb_table_slice(t, &slices[i], &stream, NULL), LB_OK);
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        assert_int_equal(schema.n_children, 3);
        assert_string_equal(schema.children[0]->name, "v");
        assert_string_equal(schema.children[0]->format, "u");
        assert_string_equal(schema.children[1]->format, "l");
        assert_string_equal(schema.children[2]->name, "v");
        assert_int_equal(stream.get_next(&stream, &batch), 0);
        assert_null(batch.release);
        assert_false(lb_stream_error(&stream, NULL));
        schema.release(&schema);
        stream.release(&stream);
    }
    lb_close(t);
}

static void what_is_wrong_with_a_call(void **state)
{
    static const char *const wrong[] = { "k", "vv", NULL };
    const lb_open_options bad_open = { .struct_size = 8 }, csv = { .struct_size = sizeof csv, .format = "csv" },
                          cvs = { .struct_size = sizeof cvs, .format = "cvs" };
    const lb_slice bad = { .struct_size = 3 },
                   unknown = { .struct_size = sizeof unknown, .limit = 1, .columns = wrong };
    lb_entry_info e = { .struct_size = sizeof e };
    lb_column_info c = { .struct_size = sizeof c };
    struct ArrowArrayStream stream;
    lb_error err = LB_ERROR_INIT;
    lb_part part;
    lb_table *t;
    bool done;
    lb_buf text;
    (void)state;
    lb_buf_init(&text, NULL);
    put_lake();
    assert_int_equal(lb_open(cx, ".", &bad_open, &t, &err), LB_USAGE);
    assert_null(t);
    assert_int_equal(lb_open(cx, ".", &csv, &t, &err), LB_USAGE);
    assert_int_equal(lb_open(cx, "a.csv", &cvs, &t, &err), LB_USAGE);
    assert_non_null(strstr(err.message, "did you mean csv"));
    assert_int_equal(lb_open(cx, "missing.csv", NULL, &t, &err), LB_NOTFOUND);
    assert_string_equal(err.path, "missing.csv");
    assert_int_equal(lb_open(cx, "", NULL, &t, &err), LB_NOTFOUND);
    t = lake_open(".", NULL);
    assert_int_equal(lb_table_slice(t, &bad, &stream, &err), LB_USAGE);
    assert_int_equal(lb_table_raw(t, &bad, lake_append, &text, &err), LB_USAGE);
    assert_int_equal(lb_table_explain(t, &bad, 0, &part, &done, &err), LB_USAGE);
    assert_int_equal(lb_table_slice(t, &unknown, &stream, &err), LB_NOTFOUND);
    assert_string_equal(err.message, "Column 'vv' not found");
    assert_string_equal(err.hint, "did you mean 'v'?");
    assert_int_equal(lb_table_file(t, 4, &e, &err), LB_USAGE);
    assert_int_equal(lb_table_column(t, 2, &c, &err), LB_USAGE);
    assert_string_equal(lb_table_map_use(t, 4), "not listed");
    lb_close(t);
    lb_close(NULL);
    lb_buf_free(&text);
}

static void files_of_a_table(void **state)
{
    static const struct {
        const char *path;
        uint64_t first_row, rows, blocks;
    } want[] = { { "a.csv", 0, 10, 3 }, { "b.csv", 10, 10, 3 }, { "empty.csv", 20, 0, 0 }, { "z.csv", 20, 10, 3 } };
    lb_entry_info e = { .struct_size = sizeof e };
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    assert_int_equal(lb_table_files(t), LB_COUNT_OF(want));
    for (size_t i = 0; i < LB_COUNT_OF(want); i++) {
        assert_int_equal(lb_table_file(t, i, &e, NULL), LB_OK);
        assert_string_equal(e.path, want[i].path);
        assert_true(e.first_row == want[i].first_row && e.rows == want[i].rows && e.blocks == want[i].blocks &&
                    e.columns == 2);
        assert_string_equal(lb_table_map_use(t, i), "used");
    }
    lb_close(t);
}

/* Parts of two slices asked for by turns: each call stands for itself. */
static void parts_of_slices_by_turns(void **state)
{
    const lb_slice slices[] = { ALL, { .struct_size = sizeof slices[0], .offset = 15, .limit = 10 } };
    static const char *const want[2][4] = { { "a.csv", "b.csv", "z.csv" }, { "b.csv", "z.csv" } };
    lb_error err = LB_ERROR_INIT;
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    for (uint64_t part = 0; part < 4; part++)
        for (size_t i = 0; i < 2; i++) {
            lb_part p = { .struct_size = sizeof p };
            bool done;
            lake_ok(lb_table_explain(t, &slices[i], part, &p, &done, &err), &err);
            assert_int_equal(done, want[i][part] == NULL);
            if (!done)
                assert_string_equal(p.path, want[i][part]);
        }
    lb_close(t);
}

static void raw_bytes_and_their_end(void **state)
{
    const lb_slice two = { .struct_size = sizeof two, .offset = 9, .limit = 2 };
    lb_error err = LB_ERROR_INIT;
    lb_buf text;
    (void)state;
    lb_buf_init(&text, NULL);
    put_lake();
    lb_table *t = lake_open(".", NULL);
    lake_ok(lb_table_raw(t, &two, lake_append, &text, &err), &err);
    assert_int_equal(lb_buf_append(&text, "", 1, NULL), LB_OK);
    assert_string_equal((const char *)text.data, "9,\"v\n9\"\n10,\"v\n10\"\n");
    lb_buf_free(&text);
    lb_close(t);
}

static bool refuse(void *user, const void *bytes, size_t size)
{
    (void)bytes, (void)size;
    ++*(int *)user;
    return false;
}

static void a_writer_that_stops(void **state)
{
    const lb_slice all = ALL;
    int calls = 0;
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    assert_int_equal(lb_table_raw(t, &all, refuse, &calls, NULL), LB_CANCELLED);
    assert_int_equal(calls, 1);
    lb_close(t);
}

/* ---------------------------------------------------------------- changes while a table is open */

static void a_lake_whose_file_changes_is_stale(void **state)
{
    const lb_slice all = ALL, first = { .struct_size = sizeof first, .limit = 10 };
    lb_error err = LB_ERROR_INIT;
    (void)state;
    put_lake();
    lb_table *t = lake_open(".", NULL);
    put_ten("b.csv", 5);
    assert_null(lake_print(t, &all, "csv", &err));
    assert_int_equal(err.code, LB_STALE);
    assert_non_null(strstr(err.path, "b.csv"));
    check_k(t, &first, 0, 10);
    assert_int_equal(unlink("z.csv"), 0);
    const lb_slice last = { .struct_size = sizeof last, .offset = 25, .limit = 1 };
    assert_null(lake_print(t, &last, "csv", &err));
    assert_int_equal(err.code, LB_NOTFOUND);
    lb_close(t);
}

/* A single file is read as it is now, when none of its rows went out. */
static void a_file_replaced_while_open(void **state)
{
    (void)state;
    put_lake();
    lb_table *t = lake_open("b.csv", NULL);
    FILE *f = fopen("b.csv", "r+");
    assert_non_null(f);
    (void)fputs("k,v\n70,", f);
    assert_int_equal(fclose(f), 0);
    char *got = lake_print(t, NULL, "csv", NULL);
    assert_non_null(got);
    assert_int_equal(strncmp(got, "70,", 3), 0);
    assert_non_null(strstr(lake_noted, "changed since it was mapped"));
    free(got);
    lb_close(t);
}

/* ---------------------------------------------------------------- the caller's limits and wishes */

static void put_many(const char *path, int rows)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("id,x,text\n", f);
    for (int i = 0; i < rows; i++)
        (void)fprintf(f, "%d,%d.5,text of row %d\n", i, i, i);
    assert_int_equal(fclose(f), 0);
}

static void cancelled_between_batches(void **state)
{
    const lb_slice all = ALL;
    lb_error err = LB_ERROR_INIT;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    (void)state;
    put_many("a.csv", 300000);
    put_many("b.csv", 10);
    lake_map(NULL);
    lb_table *t = lake_open(".", NULL);
    lake_ok(lb_table_slice(t, &all, &stream, &err), &err);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_true(batch.length > 0 && batch.length < 300000);
    batch.release(&batch);
    lb_context_cancel(cx);
    int code = 0;
    do {
        code = stream.get_next(&stream, &batch);
        if (code == 0 && batch.release != NULL)
            batch.release(&batch);
    } while (code == 0 && batch.release != NULL);
    assert_int_not_equal(code, 0);
    assert_true(lb_stream_error(&stream, &err));
    assert_int_equal(err.code, LB_CANCELLED);
    stream.release(&stream);
    lb_close(t);
    assert_int_equal(
        lb_open(cx, "a.csv", &(lb_open_options){ .struct_size = sizeof(lb_open_options), .no_map = true }, &t, &err),
        LB_CANCELLED);
}

/* Whatever the limit, a table is read right or not at all. */
static void memory_has_a_limit(void **state)
{
    const lb_slice some = { .struct_size = sizeof some, .offset = 999, .limit = 20000 };
    bool any_good = false, any_bad = false;
    lb_context *usual = cx;
    (void)state;
    put_many("a.csv", 30000);
    put_many("b.csv", 10);
    lake_map(NULL);
    lb_table *t = lake_open(".", NULL);
    char *want = lake_print(t, &some, "csv", NULL);
    lb_close(t);
    assert_non_null(want);
    for (uint64_t limit = 1; limit < ((uint64_t)1 << 26); limit *= 2)
        for (int no_map = 0; no_map < 2; no_map++) {
            const lb_context_options options = { .struct_size = sizeof options, .threads = 2, .memory_limit = limit };
            const lb_open_options open = { .struct_size = sizeof open, .no_map = no_map != 0 };
            lb_error err = LB_ERROR_INIT;
            char *got = NULL;
            assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
            if (lb_open(cx, "a.csv", &open, &t, &err) == LB_OK) {
                got = lake_print(t, &some, "csv", &err);
                lb_close(t);
            }
            if (got == NULL)
                assert_int_equal(err.code, LB_BUDGET);
            else
                assert_string_equal(got, want);
            any_good = any_good || got != NULL;
            any_bad = any_bad || got == NULL;
            free(got);
            lb_context_free(cx);
        }
    cx = usual;
    assert_true(any_good && any_bad);
    free(want);
}

/* ---------------------------------------------------------------- many threads */

#define THREADS 6
#define TURNS 12

typedef struct worker {
    pthread_t thread;
    lb_table *lake, *file;
    lb_map *map;
    unsigned seed;
    int wrong;
} worker;

static uint64_t worker_random(worker *w, uint64_t below)
{
    w->seed = w->seed * 1103515245u + 12345u;
    return (w->seed >> 8) % below;
}

/* Sum of a slice's first column, which counts the rows of the lake. */
static bool worker_sum(lb_table *t, const lb_slice *slice, uint64_t want_rows, int64_t want_sum)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    uint64_t rows = 0;
    int64_t sum = 0;
    if (lb_table_slice(t, slice, &stream, NULL) != LB_OK)
        return false;
    int code;
    while ((code = stream.get_next(&stream, &batch)) == 0 && batch.release != NULL) {
        const int64_t *values = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++)
            sum += values[batch.children[0]->offset + i];
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return code == 0 && rows == want_rows && sum == want_sum;
}

static int64_t sum_of(uint64_t first, uint64_t end)
{
    return end <= first ? 0 : (int64_t)((first + end - 1) * (end - first) / 2);
}

static bool worker_slices(worker *w)
{
    static const char *const k[] = { "k", NULL };
    uint64_t first = worker_random(w, 30), limit = worker_random(w, 30), end = LB_MIN(first + limit, 30);
    const lb_slice s = { .struct_size = sizeof s, .offset = first, .limit = limit, .columns = k };
    uint64_t a = LB_MIN(first, 10), b = LB_MIN(end, 10);
    return worker_sum(w->lake, &s, end - first, sum_of(first, end)) && worker_sum(w->file, &s, b - a, sum_of(a, b));
}

static bool worker_asks(worker *w)
{
    lb_place p = { .struct_size = sizeof p };
    lb_entry_info e = { .struct_size = sizeof e };
    lb_column_info c = { .struct_size = sizeof c };
    lb_part part = { .struct_size = sizeof part };
    const lb_slice all = ALL;
    uint64_t row = worker_random(w, 30), index;
    bool done;
    if (lb_map_locate(w->map, row, &p, NULL) != LB_OK || p.file_row != row % 10)
        return false;
    if (lb_map_find(w->map, p.path, &index, NULL) != LB_OK || index != p.entry)
        return false;
    if (lb_map_entry(w->map, index, &e, NULL) != LB_OK || e.rows != 10 ||
        lb_map_column(w->map, index, 0, &c, NULL) != LB_OK)
        return false;
    if (lb_table_file(w->lake, index, &e, NULL) != LB_OK || e.rows != 10 || strcmp(e.path, p.path) != 0)
        return false;
    if (lb_table_column(w->lake, 0, &c, NULL) != LB_OK || strcmp(c.max, "29") != 0)
        return false;
    if (lb_table_column(w->file, 0, &c, NULL) != LB_OK || strcmp(c.max, "9") != 0)
        return false;
    uint64_t n = worker_random(w, 3);
    return lb_table_explain(w->lake, &all, n, &part, &done, NULL) == LB_OK && !done && part.path[0] == "abz"[n];
}

static void *work(void *user)
{
    worker *w = user;
    for (int turn = 0; turn < TURNS; turn++)
        w->wrong += !worker_slices(w) + !worker_asks(w);
    return NULL;
}

static void many_threads(void **state)
{
    worker workers[THREADS];
    lb_map *map;
    (void)state;
    put_lake();
    for (int changed = 0; changed < 2; changed++) {
        if (changed != 0)
            put_ten("b.csv", 10); /* the same rows, mapped no more */
        lb_table *lake = lake_open(".", NULL), *file = lake_open("a.csv", NULL);
        assert_int_equal(lb_map_open(cx, ".", &map, NULL), LB_OK);
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (worker){ .lake = lake, .file = file, .map = map, .seed = i };
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
            assert_int_equal(workers[i].wrong, 0);
        }
        lb_map_close(map);
        lb_close(file);
        lb_close(lake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAKE_TEST(every_range),
        LAKE_TEST(no_rows_keep_the_schema),
        LAKE_TEST(what_is_wrong_with_a_call),
        LAKE_TEST(files_of_a_table),
        LAKE_TEST(parts_of_slices_by_turns),
        LAKE_TEST(raw_bytes_and_their_end),
        LAKE_TEST(a_writer_that_stops),
        LAKE_TEST(a_lake_whose_file_changes_is_stale),
        LAKE_TEST(a_file_replaced_while_open),
        LAKE_TEST(cancelled_between_batches),
        LAKE_TEST(memory_has_a_limit),
        LAKE_TEST(many_threads),
    };
    return cmocka_run_group_tests(tests, lake_group_setup, lake_group_teardown);
}
