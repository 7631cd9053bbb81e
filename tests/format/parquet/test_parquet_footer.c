/* The footer of a small file, against what pyarrow's own metadata says of it; what a map keeps of it; and what is
 * wrong. */
#include "format/parquet/parquet_footer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/parquet/parquet_handlers.h"
#include "format/parquet/parquet_sample.h"
#include "format/parquet/parquet_stats.h"

/* By pyarrow.parquet.ParquetFile(…).metadata. */
static const struct {
    uint64_t offset, length, num_values, nulls;
} chunks[2][5] = {
    { { 4, 37, 3, 1 }, { 41, 44, 3, 0 }, { 85, 45, 3, 1 }, { 130, 45, 3, 2 }, { 175, 41, 3, 0 } },
    { { 216, 37, 2, 0 }, { 253, 40, 2, 0 }, { 293, 44, 2, 0 }, { 337, 53, 3, 1 }, { 390, 37, 2, 0 } },
};

static lb_context *cx;

static lb_store *store_of(const void *bytes, size_t size)
{
    lb_store *store;

    assert_int_equal(lb_store_open_memory(bytes, size, &store, NULL), LB_OK);
    return store;
}

static void check_footer(const lb_parquet_footer *f, bool whole)
{
    assert_int_equal(f->rows, 5);
    assert_int_equal(f->n_groups, 2);
    assert_int_equal(f->groups[0].rows, 3);
    assert_int_equal(f->groups[1].first_row, 3);
    assert_int_equal(f->groups[0].first_byte, 4);
    assert_int_equal(f->groups[1].first_byte, 216);
    assert_int_equal(f->groups[0].total_byte_size, 212);
    assert_int_equal(f->groups[1].total_byte_size, 211);
    assert_int_equal(f->schema.n_columns, 5);
    assert_int_equal(f->schema.n_leaves, 5);
    assert_true(lb_str_is(f->schema.leaves[3].path, "l.list.element.x"));
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < 5; i++) {
            const lb_parquet_meta m = lb_parquet_footer_meta(f, g, i);
            uint64_t nulls;
            assert_int_equal(m.offset, chunks[g][i].offset);
            assert_int_equal(m.length, chunks[g][i].length);
            assert_int_equal(m.num_values, chunks[g][i].num_values);
            assert_int_equal(m.codec, 0);
            assert_true(m.offset_index_length != 0);
            if (!whole)
                continue;
            assert_int_equal(lb_parquet_null_count(&m, &f->schema.leaves[i], &nulls, NULL), LB_OK);
            assert_int_equal(nulls, chunks[g][i].nulls);
        }
}

static void reads_what_pyarrow_wrote(void **state)
{
    lb_store *store = store_of(parquet_sample, sizeof parquet_sample);
    lb_parquet_footer f;
    (void)state;

    assert_int_equal(lb_parquet_footer_read(cx, store, &f, NULL), LB_OK);
    check_footer(&f, true);
    lb_parquet_footer_free(&f);
    lb_store_close(store);
}

/* An entry as a survey makes it. */
static void survey(lb_store *store, lb_arena *arena, lb_survey_options options, lb_entry *out)
{
    lb_error err = LB_ERROR_INIT;
    lb_reader *reader;

    *out = (lb_entry){ .size_bytes = store->size, .format = LB_STR("parquet"), .locator = LB_STR("row_group") };
    options.stride = 65536;
    assert_int_equal(lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, NULL, &reader, &err), LB_OK);
    if (lb_format_parquet.survey(reader, &options, arena, out, &err) != LB_OK)
        fail_msg("%s", err.message);
    lb_format_parquet.close(reader);
}

static void opens_from_what_a_map_keeps(void **state)
{
    lb_store *store = store_of(parquet_sample, sizeof parquet_sample);
    lb_parquet_footer f;
    lb_arena arena;
    lb_entry entry;
    bool done;
    (void)state;

    lb_arena_init(&arena, NULL);
    survey(store, &arena, (lb_survey_options){ .stats = LB_STATS_OFF }, &entry);
    assert_int_equal(lb_parquet_footer_of(cx, store, &entry, &f, &done, NULL), LB_OK);
    assert_true(done);
    assert_null(f.metas);
    check_footer(&f, false);
    lb_parquet_footer_free(&f);
    lb_store_close(store);

    /* Another end of the file is another file. */
    unsigned char *changed = malloc(sizeof parquet_sample);
    memcpy(changed, parquet_sample, sizeof parquet_sample);
    changed[sizeof parquet_sample - 100] ^= 1;
    store = store_of(changed, sizeof parquet_sample);
    assert_int_equal(lb_parquet_footer_of(cx, store, &entry, &f, &done, NULL), LB_STALE);
    lb_store_close(store);
    free(changed);
    lb_arena_free(&arena);
}

/* A damaged state is refused, or taken for what it says: nothing outside of it is read. */
static void damaged_states(void **state)
{
    lb_store *store = store_of(parquet_sample, sizeof parquet_sample);
    lb_arena arena;
    lb_entry entry;
    (void)state;

    lb_arena_init(&arena, NULL);
    survey(store, &arena, (lb_survey_options){ .stats = LB_STATS_OFF }, &entry);
    const lb_str whole = entry.open_state;
    for (size_t i = 0; i < whole.size; i++)
        for (int change = 0; change < 4; change++) {
            static const unsigned char masks[] = { 0x01, 0x80, 0xFF };
            size_t size = change == 3 ? i : whole.size;
            char *bytes = malloc(size + 1);
            lb_parquet_footer f;
            bool done;
            memcpy(bytes, whole.at, size);
            if (change < 3)
                bytes[i] = (char)(bytes[i] ^ masks[change]);
            entry.open_state = (lb_str){ bytes, size };
            lb_status status = lb_parquet_footer_of(cx, store, &entry, &f, &done, NULL);
            if (status == LB_OK && done) {
                for (size_t k = 0; k < f.n_groups * f.schema.n_leaves; k++)
                    (void)lb_parquet_footer_meta(&f, k / f.schema.n_leaves, k % f.schema.n_leaves);
                lb_parquet_footer_free(&f);
            }
            assert_true(size == whole.size || !done);
            free(bytes);
        }
    lb_store_close(store);
    lb_arena_free(&arena);
}

static const lb_colstat *column(const lb_entry *e, const char *name)
{
    for (uint64_t i = 0; i < e->columns.count; i++)
        if (lb_str_is(e->columns.items[i].name, name))
            return &e->columns.items[i];
    fail_msg("no column %s", name);
    return NULL;
}

/* Bounds as pyarrow's statistics have them, and no page is read for them. */
static void statistics_of_the_footer(void **state)
{
    lb_store *store = store_of(parquet_sample, sizeof parquet_sample);
    lb_arena arena;
    lb_entry entry;
    (void)state;

    lb_arena_init(&arena, NULL);
    survey(store, &arena, (lb_survey_options){ .stats = LB_STATS_BLOCKS }, &entry);
    assert_true(store->bytes_read <= sizeof parquet_sample); /* the end, once */
    assert_int_equal(entry.columns.count, 5);
    const lb_colstat *id = column(&entry, "id"), *s = column(&entry, "s"), *f = column(&entry, "f"),
                     *u = column(&entry, "u");
    assert_int_equal(id->source, LB_STATS_FROM_METADATA);
    assert_int_equal(id->has, LB_MIN_I | LB_MAX_I);
    assert_int_equal(id->min_i, -7);
    assert_int_equal(id->max_i, 11);
    assert_int_equal(id->null_count, 1);
    assert_true(lb_str_is(s->min_b, "a") && lb_str_is(s->max_b, "\xC3\xA9"));
    assert_true(f->min_f == -2.5 && f->max_f == 3.0 && f->null_count == 1);
    assert_int_equal(u->has, LB_MIN_U | LB_MAX_U);
    assert_int_equal(u->max_u, UINT64_C(4000000000));
    assert_int_equal(column(&entry, "l")->source, LB_STATS_NONE);
    assert_int_equal(entry.block_columns.count, 10);
    assert_int_equal(entry.block_columns.items[5].min_i, 9);
    assert_int_equal(entry.block_columns.items[0].max_i, 5);
    lb_store_close(store);
    lb_arena_free(&arena);
}

static void check_read(const void *bytes, size_t size, lb_status want, const char *says)
{
    lb_store *store = store_of(bytes, size);
    lb_error err = LB_ERROR_INIT;
    lb_parquet_footer f;

    assert_int_equal(lb_parquet_footer_read(cx, store, &f, &err), want);
    if (strstr(err.message, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
    lb_store_close(store);
}

static void ends_that_are_none(void **state)
{
    unsigned char bytes[sizeof parquet_sample];
    const size_t size = sizeof bytes;
    (void)state;

    check_read(parquet_sample, 0, LB_CORRUPT, "cut off");
    check_read(parquet_sample, 11, LB_CORRUPT, "cut off");
    check_read(parquet_sample, size - 1, LB_CORRUPT, "PAR1");
    memcpy(bytes, parquet_sample, size);
    bytes[size - 1] = 'E';
    check_read(bytes, size, LB_UNSUPPORTED, "encrypted");
    memcpy(bytes, parquet_sample, size);
    memset(bytes + size - 8, 0xFF, 4);
    check_read(bytes, size, LB_CORRUPT, "claims");
    memset(bytes + size - 8, 0, 4);
    check_read(bytes, size, LB_CORRUPT, "claims");
}

/* Any byte of the footer another one: an error, or a footer; statistics, indexes and rows may be looked at. */
static void damaged_footers(void **state)
{
    unsigned char *bytes = malloc(sizeof parquet_sample);
    (void)state;

    for (size_t i = 0; i < sizeof parquet_sample; i++)
        for (unsigned k = 0; k < 3; k++) {
            memcpy(bytes, parquet_sample, sizeof parquet_sample);
            bytes[i] = (unsigned char)(k == 0 ? bytes[i] ^ 1u : k == 1 ? 0xFFu : bytes[i] ^ 0x10u);
            lb_store *store = store_of(bytes, sizeof parquet_sample);
            const lb_survey_options options = { .stride = 1, .stats = LB_STATS_ALL, .pages = true };
            lb_entry entry = { .size_bytes = store->size };
            lb_reader *reader;
            lb_arena arena;
            lb_arena_init(&arena, NULL);
            if (lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, NULL, &reader, NULL) == LB_OK) {
                (void)lb_format_parquet.survey(reader, &options, &arena, &entry, NULL);
                (void)lb_format_parquet.verify(reader, NULL);
                lb_format_parquet.close(reader);
            }
            lb_arena_free(&arena);
            lb_store_close(store);
        }
    free(bytes);
}

/* Which bytes are the body of a page, and of rows of which group. */
static unsigned char body_of[sizeof parquet_sample];

static lb_status mark_body(void *user, const lb_parquet_page *page, lb_error *err)
{
    (void)err;
    memset(body_of + page->offset + page->header_size, *(unsigned char *)user, page->stored_size);
    return LB_OK;
}

/* Pages have checksums: another byte in one is found, with its place and a row of its row group. */
static void flipped_bits_of_pages_are_found(void **state)
{
    unsigned char *bytes = malloc(sizeof parquet_sample);
    lb_store *store = store_of(parquet_sample, sizeof parquet_sample);
    lb_reader *reader;
    size_t found = 0;
    (void)state;

    assert_int_equal(lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, NULL, &reader, NULL), LB_OK);
    assert_int_equal(lb_format_parquet.verify(reader, NULL), LB_OK);
    for (size_t i = 0; i < 10; i++) {
        unsigned char mark = (unsigned char)(1 + i / 5);
        lb_parquet_plan plan;
        assert_int_equal(lb_parquet_plan_of(reader, i / 5, i % 5, &plan, NULL), LB_OK);
        assert_int_equal(lb_parquet_pages(cx, store, &plan, LB_PARQUET_HEADERS, mark_body, &mark, NULL), LB_OK);
    }
    lb_format_parquet.close(reader);
    lb_store_close(store);
    for (size_t i = 0; i < sizeof body_of; i++) {
        lb_error err = LB_ERROR_INIT;
        if (body_of[i] == 0)
            continue;
        memcpy(bytes, parquet_sample, sizeof parquet_sample);
        bytes[i] ^= (unsigned char)(1u << (i % 8));
        store = store_of(bytes, sizeof parquet_sample);
        assert_int_equal(lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, NULL, &reader, &err), LB_OK);
        assert_int_equal(lb_format_parquet.verify(reader, &err), LB_CORRUPT);
        assert_true(err.offset >= 4 && err.offset <= (int64_t)i);
        assert_int_equal(err.row, body_of[i] == 1 ? 0 : 3);
        found++;
        lb_format_parquet.close(reader);
        lb_store_close(store);
    }
    assert_true(found > 100);
    free(bytes);
}

static int begin(void **state)
{
    (void)state;
    return lb_context_new(NULL, &cx, NULL) != LB_OK;
}

static int end(void **state)
{
    (void)state;
    lb_context_free(cx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_pyarrow_wrote),
        cmocka_unit_test(opens_from_what_a_map_keeps),
        cmocka_unit_test(damaged_states),
        cmocka_unit_test(statistics_of_the_footer),
        cmocka_unit_test(ends_that_are_none),
        cmocka_unit_test(damaged_footers),
        cmocka_unit_test(flipped_bits_of_pages_are_found),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
