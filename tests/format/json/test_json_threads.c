/* A survey by several threads finds what one finds: types, statistics, blocks, lines, hashes, state and errors, for
 * any size of the parts and pieces that the file is cut into; and the tap gets the bytes of the file in order. */
#include "format/json/json_files.h"

#define FILES 3000

/* Something that ends all rows, somewhere; or a torn end. */
static bool spoil(text *t)
{
    static const char *const bad[] = { "}", "]", "\xFF", "x", "\"", ",", "\\", "\x01" };

    switch (random_below(4)) {
    case 0:
        t->at[random_below(t->size)] = bad[random_below(LB_COUNT_OF(bad))][0];
        return true;
    case 1:
        t->size = random_below(t->size);
        return false;
    default:
        return false;
    }
}

/* `spoilt`: where only rows are counted, what is wrong inside them may be seen or not. */
static void check_file(const text *t, bool spoilt)
{
    static const size_t parts[] = { 64, 100, 257, 1024, 4096 };
    static const unsigned threads[] = { 1, 2, 7 };
    const uint64_t strides[] = { 1, 7, 100, 5000 };
    const lb_stats_policy stats[] = { LB_STATS_ALL, LB_STATS_ALL, LB_STATS_OFF, LB_STATS_BLOCKS };
    lb_survey_options how = { .stride = strides[random_below(4)],
                              .keep_state = random_below(2) == 0,
                              .rows_only = !spoilt && random_below(8) == 0,
                              .stats = stats[random_below(4)] };
    lb_read_options *o = NULL;
    lb_store *store;
    surveyed one, many;

    assert_int_equal(lb_read_options_new(&o, NULL), LB_OK);
    if (random_below(4) == 0)
        assert_int_equal(lb_read_options_set(o, "types", "text", NULL), LB_OK);
    assert_int_equal(lb_store_open_memory(t->at, t->size, &store, NULL), LB_OK);
    survey_store(store, &lb_format_json, 1, o, how, NULL, &one);
    if (one.status == LB_OK) {
        assert_int_equal(one.tapped.size, t->size);
        assert_memory_equal(one.tapped.data, t->at, t->size);
    }
    for (size_t i = 0; i < LB_COUNT_OF(parts); i++) {
        how.part = parts[i];
        how.chunk = random_below(2) == 0 ? 0 : 1 + random_below(300);
        survey_store(store, &lb_format_json, threads[random_below(3)], o, how, NULL, &many);
        same_survey(&one, &many);
        if (one.status == LB_OK) {
            assert_int_equal(many.tapped.size, t->size);
            assert_memory_equal(many.tapped.data, t->at, t->size);
        }
        surveyed_free(&many);
    }
    surveyed_free(&one);
    lb_store_close(store);
    lb_read_options_free(o);
}

static void threads_random_files(void **state)
{
    text t = { .at = malloc(FILE_MOST) };

    (void)state;
    assert_non_null(t.at);
    for (int i = 0; i < FILES; i++) {
        random_text(&t, 1 + random_below(i % 20 == 0 ? FILE_MOST / 2 : 6000));
        check_file(&t, spoil(&t));
    }
    free(t.at);
}

/* Texts that lead the first guess astray: rows in strings, rows longer than parts, blanks for long. */
static void threads_hard_files(void **state)
{
    text t = { .at = malloc(FILE_MOST) };

    (void)state;
    assert_non_null(t.at);
    for (int i = 0; i < 60; i++) {
        put(&t, "{\"id\":\"");
        for (int k = 0; k < 12; k++)
            put(&t, k % 3 == 0 ? "\\n{\\\"id\\\":7}" : "},{'id':1}, ");
        put(&t, "\", \"in\": [\n{\"id\": 8},\n{\"id\": 9}\n]}\n");
    }
    for (int i = 0; i < 10; i++)
        check_file(&t, false);
    for (int i = 0; i < 5000; i++)
        put(&t, i % 7 == 0 ? "\r\n" : " ");
    put(&t, "{\"id\":null}");
    for (int i = 0; i < 10; i++)
        check_file(&t, false);
    t.size = 0;
    put(&t, "[{\"id\":\"");
    for (int i = 0; i < 9000; i++)
        put(&t, "q");
    put(&t, "\"},\r\n{\"id\":1}\r\n,{\"id\":2}\r\n,\r\n{\"id\":3}]\r\n");
    for (int i = 0; i < 10; i++)
        check_file(&t, false);
    free(t.at);
}

/* The state is that of the last block where one is due: most lie inside a part, and what was seen before begins before it. */
static void threads_states(void **state)
{
    static const unsigned rows[] = { 4096, 4097, 9000, 20001 };
    static const size_t parts[] = { 3000, 20000, 100001 };
    static const uint64_t strides[] = { 64, 1000, 4096, 7777, 5000 };
    text t = { .at = malloc((size_t)2 << 20) };

    (void)state;
    assert_non_null(t.at);
    for (unsigned i = 0; i < 20; i++) {
        const unsigned n = rows[i % 4];
        lb_survey_options how = { .stride = strides[i % 5], .keep_state = true, .stats = LB_STATS_ALL };
        lb_store *store;
        surveyed one, many;
        t.at[0] = '[';
        t.size = i % 2;
        for (unsigned k = 0; k < n; k++) {
            char *to = t.at + t.size;
            t.size += (size_t)snprintf(to, 128, "%s{\"id\": %u%s, \"a\": \"%u\"%s}\n", k != 0 && i % 2 != 0 ? "," : "",
                                       (unsigned)random_below(1000), k > n / 2 && k % 1000 == 7 ? ".5" : "", k,
                                       k > n / 3 && k % 900 == 1 ? ", \"late\": [1, null]" : "");
        }
        t.at[t.size] = ']';
        t.size += i % 2;
        assert_int_equal(lb_store_open_memory(t.at, t.size, &store, NULL), LB_OK);
        survey_store(store, &lb_format_json, 1, NULL, how, NULL, &one);
        assert_int_equal(one.status, LB_OK);
        assert_int_equal(one.entry.total_rows, n);
        assert_true(one.entry.open_state.size != 0);
        for (size_t k = 0; k < LB_COUNT_OF(parts); k++) {
            how.part = parts[k];
            survey_store(store, &lb_format_json, k % 2 == 0 ? 2 : 7, NULL, how, NULL, &many);
            same_survey(&one, &many);
            surveyed_free(&many);
        }
        surveyed_free(&one);
        lb_store_close(store);
    }
    free(t.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_random_files),
        cmocka_unit_test(threads_hard_files),
        cmocka_unit_test(threads_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
