/* Files that the caller reads, a stream for each; and what a caller is asked while a long call runs. */
#include "lake_fixture.h"

#include "column/stream.h"

/* A handler under test: `rows` rows in batches of `batch`, the numbers from 0 on; `wrong` breaks something. */
typedef struct numbers {
    int64_t rows, batch, at;
    const char *wrong;
} numbers;

static int released;

static void numbers_release(void *user)
{
    (void)user;
    released++;
}

static lb_status numbers_batch(const numbers *n, int64_t count, struct ArrowArray *out, lb_error *err)
{
    struct ArrowSchema schema;
    (void)err;

    assert_int_equal(lb_schema_struct(&schema, 1, NULL), LB_OK);
    assert_int_equal(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_INT64), 0);
    assert_int_equal(ArrowArrayInitFromSchema(out, &schema, NULL), 0);
    assert_int_equal(ArrowArrayStartAppending(out), 0);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(ArrowArrayAppendInt(out->children[0], n->at + i), 0);
        assert_int_equal(ArrowArrayFinishElement(out), 0);
    }
    assert_int_equal(ArrowArrayFinishBuildingDefault(out, NULL), 0);
    schema.release(&schema);
    return LB_OK;
}

static lb_status numbers_next(void *state, struct ArrowArray *out, lb_error *err)
{
    numbers *n = state;
    int64_t count = LB_MIN(n->batch, n->rows - n->at);

    out->release = NULL;
    if (strcmp(n->wrong, "late error") == 0 && n->at > 0)
        return lb_fail(err, LB_IO, LB_NOWHERE, "the well is dry");
    if (n->at == n->rows)
        return LB_OK;
    LB_TRY(numbers_batch(n, count, out, err));
    n->at += count;
    if (strcmp(n->wrong, "short child") == 0)
        out->children[0]->length--;
    if (strcmp(n->wrong, "unknown nulls") == 0)
        out->children[0]->null_count = -1;
    if (strcmp(n->wrong, "offset") == 0) {
        out->offset = 1;
        out->length--;
    }
    return LB_OK;
}

static void numbers_close(void *state)
{
    free(state);
}

static lb_status numbers_open(void *user, const char *path, struct ArrowArrayStream *out, lb_error *err)
{
    const numbers *given = user;
    struct ArrowSchema schema;

    assert_non_null(strstr(path, ".num"));
    if (strcmp(given->wrong, "refused") == 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "no numbers today");
    if (strcmp(given->wrong, "silent") == 0)
        return LB_IO;
    if (strcmp(given->wrong, "nothing") == 0)
        return LB_OK;
    assert_int_equal(lb_schema_struct(&schema, 1, NULL), LB_OK);
    assert_int_equal(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_INT64), 0);
    if (strcmp(given->wrong, "no name") != 0)
        assert_int_equal(ArrowSchemaSetName(schema.children[0], "n"), 0);
    if (strcmp(given->wrong, "no rows") == 0) {
        struct ArrowSchema column = *schema.children[0];
        schema.children[0]->release = NULL;
        schema.release(&schema);
        schema = column;
    }
    numbers *n = malloc(sizeof *n);
    assert_non_null(n);
    *n = *given;
    return lb_stream_make((lb_source){ numbers_next, numbers_close, n }, &schema, out, err);
}

static void put_numbers(numbers *n)
{
    lake_put("x.num", "");
    assert_int_equal(lb_register_stream(cx, ".NUM", numbers_open, n, numbers_release, NULL), LB_OK);
}

static void every_range(void **state)
{
    numbers n = { .rows = 23, .batch = 5, .wrong = "" };
    char want[512];
    (void)state;

    put_numbers(&n);
    lb_table *t = lake_open("x.num", NULL);
    assert_int_equal(lb_table_rows(t), 23);
    for (uint64_t first = 0; first <= 24; first++)
        for (uint64_t limit = 0; limit <= 24; limit++) {
            const lb_slice s = { .struct_size = sizeof s, .offset = first, .limit = limit };
            size_t at = 0;
            want[0] = '\0';
            for (uint64_t i = first; i < LB_MIN(first + limit, 23); i++)
                at += (size_t)snprintf(want + at, sizeof want - at, "{\"n\":%d}\n", (int)i);
            lake_rows_are(t, &s, want);
        }
    lb_close(t);
}

static void counts_and_offsets_that_are_odd_but_legal(void **state)
{
    static const struct {
        const char *wrong, *rows;
    } cases[] = { { "unknown nulls", "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n" }, { "offset", "{\"n\":1}\n{\"n\":2}\n" } };
    (void)state;

    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        numbers n = { .rows = 3, .batch = 3, .wrong = cases[i].wrong };
        const lb_slice all = { .struct_size = sizeof all, .limit = UINT64_MAX };
        put_numbers(&n);
        lb_table *t = lake_open("x.num", NULL);
        lake_rows_are(t, &all, cases[i].rows);
        lb_close(t);
    }
}

static void what_goes_wrong_is_told(void **state)
{
    static const struct {
        const char *wrong;
        lb_status status;
        const char *says;
    } cases[] = {
        { "refused", LB_CORRUPT, "no numbers today" },     { "silent", LB_IO, "the handler of 'num' failed" },
        { "nothing", LB_USAGE, "gave no stream" },         { "no name", LB_USAGE, "has no name" },
        { "no rows", LB_USAGE, "a struct array a batch" }, { "short child", LB_CORRUPT, "" },
        { "late error", LB_IO, "the well is dry" },
    };
    (void)state;

    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        numbers n = { .rows = 9, .batch = 3, .wrong = cases[i].wrong };
        lb_error err = LB_ERROR_INIT;
        lb_table *t = NULL;
        put_numbers(&n);
        assert_int_equal(lb_open(cx, "x.num", NULL, &t, &err), cases[i].status);
        assert_null(t);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_string_equal(err.path, "x.num");
    }
}

static void registrations_are_released_once(void **state)
{
    static const char *const bad[] = { "", ".", "a.b", "a/b", "abcdefghijklmnopqrstuvwxyzabcdefghijkl" };
    numbers n = { .rows = 1, .batch = 1, .wrong = "" };
    lb_context *own = NULL;
    lb_error err = LB_ERROR_INIT;
    (void)state;

    released = 0;
    assert_int_equal(lb_context_new(NULL, &own, NULL), LB_OK);
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++) {
        assert_int_equal(lb_register_stream(own, bad[i], numbers_open, &n, numbers_release, &err), LB_USAGE);
        assert_int_equal(released, (int)i + 1);
    }
    released = 0;
    assert_int_equal(lb_register_stream(own, "num", numbers_open, &n, numbers_release, &err), LB_OK);
    assert_int_equal(lb_register_stream(own, "num", numbers_open, &n, NULL, &err), LB_OK);
    assert_true(lb_unregister_format(own, ".NUM"));
    assert_false(lb_unregister_format(own, "num"));
    assert_int_equal(released, 0); /* a reader may still use one */
    lb_context_free(own);
    assert_int_equal(released, 1);
}

/* ---------------------------------------------------------------- polls */

static int polls, polls_left;

static bool poll_some(void *user)
{
    assert_ptr_equal(user, &polls);
    polls++;
    return polls_left-- == 0;
}

static lb_context *polled_context(unsigned threads)
{
    const lb_context_options o = { .struct_size = sizeof o, .threads = threads, .poll = poll_some, .user = &polls };
    lb_context *own = NULL;

    assert_int_equal(lb_context_new(&o, &own, NULL), LB_OK);
    return own;
}

static void put_many(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs("a,b\n", f);
    for (int i = 0; i < 400000; i++)
        (void)fprintf(f, "%d,text %d\n", i, i);
    assert_int_equal(fclose(f), 0);
}

static void a_poll_ends_a_call(void **state)
{
    (void)state;
    put_many("a.csv");
    for (unsigned threads = 1; threads <= 2; threads++) {
        lb_error err = LB_ERROR_INIT;
        lb_context *own = polled_context(threads);
        polls = polls_left = 0;
        struct timespec wait = { .tv_nsec = 60000000 }; /* this thread's last poll is long ago */
        (void)nanosleep(&wait, NULL);
        assert_int_equal(lb_map_create(own, ".", NULL, NULL, &err), LB_CANCELLED);
        assert_true(polls >= 1);
        assert_int_equal(access(".br_map.bazan", F_OK), -1);
        assert_int_equal(lb_map_create(own, ".", NULL, NULL, &err), LB_CANCELLED);
        polls_left = 1 << 30;
        lb_context_resume(own);
        assert_int_equal(lb_map_create(own, ".", NULL, NULL, &err), LB_OK);
        assert_int_equal(unlink(".br_map.bazan"), 0);
        lb_context_free(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAKE_TEST(every_range),
        LAKE_TEST(counts_and_offsets_that_are_odd_but_legal),
        LAKE_TEST(what_goes_wrong_is_told),
        LAKE_TEST(registrations_are_released_once),
        LAKE_TEST(a_poll_ends_a_call),
    };
    return cmocka_run_group_tests(tests, lake_group_setup, lake_group_teardown);
}
