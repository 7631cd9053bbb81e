/* Writing maps: what is written loads again, part by part, whatever the size of batches. */
#include "map_samples.h"

static const lb_map_header header = { .stride = 4,
                                      .fingerprint = LB_FINGERPRINT_BLAKE3,
                                      .stats = { "[\"id\"]", 6 },
                                      .options_json = { "{\"hidden\":true}", 15 },
                                      .writer = { "lakebed test", 12 },
                                      .created_ns = 1234567890123456789,
                                      .interop_full = true,
                                      .union_schema = { "bytes\0\xFF", 7 } };

static void assert_str(lb_str got, lb_str want)
{
    assert_int_equal(got.size, want.size);
    if (want.size != 0)
        assert_memory_equal(got.at, want.at, want.size);
}

/* Equal arrays, or both NULL. */
static void assert_many(const void *got, const void *want, uint64_t n, size_t width)
{
    assert_int_equal(got == NULL, want == NULL || n == 0);
    if (want != NULL && n != 0)
        assert_memory_equal(got, want, n * width);
}

static void assert_blocks(const lb_blocks *got, const lb_blocks *want)
{
    assert_int_equal(got->count, want->count);
    assert_many(got->first_row, want->first_row, want->count, 8);
    assert_many(got->row_count, want->row_count, want->count, 8);
    assert_many(got->total_byte_size, want->total_byte_size, want->count, 8);
    assert_many(got->compressed_size, want->compressed_size, want->count, 8);
    assert_many(got->first_byte, want->first_byte, want->count, 8);
    assert_many(got->first_line, want->first_line, want->count, 8);
    assert_many(got->start_hash, want->start_hash, want->count, 8);
    for (uint64_t i = 0; i < want->count; i++) {
        uint64_t g = got->page_indexed_bit + i, w = want->page_indexed_bit + i;
        assert_int_equal(got->page_indexed[g / 8] >> (g % 8) & 1,
                         want->page_indexed == NULL ? 0 : want->page_indexed[w / 8] >> (w % 8) & 1);
    }
}

static void assert_stats(const lb_colstats *got, const lb_colstats *want)
{
    assert_int_equal(got->count, want->count);
    for (uint64_t i = 0; i < want->count; i++) {
        const lb_colstat *g = &got->items[i], *w = &want->items[i];
        assert_str(g->name, w->name);
        assert_str(g->type, w->type);
        assert_str(g->min_b, w->min_b);
        assert_str(g->max_b, w->max_b);
        assert_int_equal(g->source, w->source);
        assert_int_equal(g->has, w->has);
        assert_int_equal(g->has_null_count, w->has_null_count);
        assert_int_equal(g->has_nan_count, w->has_nan_count);
        assert_true(g->null_count == w->null_count && g->nan_count == w->nan_count);
        assert_true(g->min_i == w->min_i && g->max_i == w->max_i && g->min_u == w->min_u && g->max_u == w->max_u);
        assert_memory_equal(&g->min_f, &w->min_f, sizeof g->min_f);
        assert_memory_equal(&g->max_f, &w->max_f, sizeof g->max_f);
        assert_true(g->min_exact == w->min_exact && g->max_exact == w->max_exact);
    }
}

static void assert_dialect(const lb_entry *got, const lb_entry *want)
{
    const lb_dialect *g = &got->dialect, *w = &want->dialect;
    assert_int_equal(got->has_dialect, want->has_dialect);
    if (!want->has_dialect)
        return;
    assert_str(g->delimiter, w->delimiter);
    assert_str(g->encoding, w->encoding);
    assert_int_equal(g->quote, w->quote);
    assert_int_equal(g->escape, w->escape);
    assert_int_equal(g->has_header, w->has_header);
    assert_int_equal(g->ragged_null, w->ragged_null);
    assert_int_equal(g->bom_bytes, w->bom_bytes);
    assert_int_equal(g->data_start, w->data_start);
    assert_int_equal(g->sheet, w->sheet);
    assert_int_equal(g->header_row, w->header_row);
}

static void assert_chunks(const lb_entry *got, const lb_entry *want)
{
    const lb_pages *g = &got->pages, *w = &want->pages;
    assert_int_equal(got->n_leaf_paths, want->n_leaf_paths);
    for (uint64_t i = 0; i < want->n_leaf_paths; i++)
        assert_str(got->leaf_paths[i], want->leaf_paths[i]);
    assert_int_equal(got->chunks.count, want->chunks.count);
    assert_many(got->chunks.offset, want->chunks.offset, want->chunks.count, 8);
    assert_many(got->chunks.length, want->chunks.length, want->chunks.count, 8);
    assert_many(got->chunks.null_count, want->chunks.null_count, want->chunks.count, 8);
    assert_int_equal(g->count, w->count);
    assert_many(g->block, w->block, w->count, 4);
    assert_many(g->column, w->column, w->count, 4);
    assert_many(g->first_row, w->first_row, w->count, 8);
    assert_many(g->offset, w->offset, w->count, 8);
    assert_many(g->length, w->length, w->count, 8);
}

static void assert_points(const lb_access_points *g, const lb_access_points *w)
{
    assert_int_equal(g->count, w->count);
    assert_str(g->kind, w->kind);
    assert_many(g->member, w->member, w->count, 4);
    assert_many(g->compressed_byte, w->compressed_byte, w->count, 8);
    assert_many(g->uncompressed_byte, w->uncompressed_byte, w->count, 8);
    assert_many(g->next_row, w->next_row, w->count, 8);
    assert_many(g->next_row_byte, w->next_row_byte, w->count, 8);
    assert_many(g->bit, w->bit, w->count, 1);
    assert_int_equal(g->window_offsets == NULL, w->window_offsets == NULL);
    assert_null(g->params_offsets);
    for (uint64_t i = 0; w->window_offsets != NULL && i < w->count; i++)
        assert_str((lb_str){ (const char *)g->window_data + g->window_offsets[i],
                             (size_t)(g->window_offsets[i + 1] - g->window_offsets[i]) },
                   (lb_str){ (const char *)w->window_data + w->window_offsets[i],
                             (size_t)(w->window_offsets[i + 1] - w->window_offsets[i]) });
}

static void assert_digests(const lb_digests *g, const lb_digests *w)
{
    assert_int_equal(g->count, w->count);
    assert_many(g->first_byte, w->first_byte, w->count, 8);
    assert_many(g->length, w->length, w->count, 8);
    assert_many(g->xxh3, w->xxh3, w->count, 16);
    assert_many(g->blake3, w->blake3, w->count, 32);
}

static void assert_entry(const lb_entry *g, const lb_entry *w)
{
    const lb_str got[] = { g->rel_path,  g->rel_path_raw, g->format,       g->locator,
                           g->container, g->error,        g->arrow_schema, g->open_state };
    const lb_str want[] = { w->rel_path,  w->rel_path_raw, w->format,       w->locator,
                            w->container, w->error,        w->arrow_schema, w->open_state };
    for (size_t i = 0; i < COUNT_OF(got); i++)
        assert_str(got[i], want[i]);
    assert_true(g->size_bytes == w->size_bytes && g->total_rows == w->total_rows);
    assert_true(g->mtime_ns == w->mtime_ns && g->ctime_ns == w->ctime_ns);
    assert_true(g->inspected_ns == w->inspected_ns && g->verified_ns == w->verified_ns);
    assert_true(g->first_global_row == w->first_global_row);
    assert_int_equal(g->has_content_hash, w->has_content_hash);
    if (w->has_content_hash)
        assert_memory_equal(g->content_hash, w->content_hash, sizeof w->content_hash);
    assert_dialect(g, w);
    assert_blocks(&g->blocks, &w->blocks);
    assert_chunks(g, w);
    assert_stats(&g->columns, &w->columns);
    assert_stats(&g->block_columns, &w->block_columns);
    assert_many(g->block_of_column, w->block_of_column, w->block_columns.count, 4);
    assert_many(g->column_of_column, w->column_of_column, w->block_columns.count, 4);
    assert_points(&g->access_points, &w->access_points);
    assert_digests(&g->digests, &w->digests);
}

static void assert_header(const lb_map_header *got)
{
    assert_int_equal(got->stride, header.stride);
    assert_int_equal(got->fingerprint, header.fingerprint);
    assert_str(got->stats, header.stats);
    assert_str(got->options_json, header.options_json);
    assert_str(got->writer, header.writer);
    assert_true(got->created_ns == header.created_ns);
    assert_int_equal(got->interop_full, true);
    assert_str(got->union_schema, header.union_schema);
}

static const uint64_t batch_sizes[] = { 0, 1, 1500 };

/* What goes in comes out, in the order of paths. */
static void round_trip(void **state)
{
    (void)state;
    static const size_t order[] = { 1, 4, 3, 2, 5, 0 }; /* "a b/…" "a.csv" "bad.csv" "caf…" "empty.csv" "z.parquet" */
    for (size_t b = 0; b < COUNT_OF(batch_sizes); b++) {
        lb_error err = LB_ERROR_INIT;
        lb_entry want[SAMPLE_ENTRIES], got;
        lb_buf bytes, keep;
        lb_map *map;
        uint64_t row = 0;
        sample_map(&header, batch_sizes[b], &bytes);
        sample_entries(want, &keep);
        sample_ok(lb_map_load_bytes(&bytes, "sample", &map, &err), &err);
        assert_header(lb_map_header_of(map));
        assert_int_equal(lb_map_count(map), SAMPLE_ENTRIES);
        for (size_t i = 0; i < SAMPLE_ENTRIES; i++) {
            lb_arena arena;
            uint64_t found;
            lb_arena_init(&arena, NULL);
            want[order[i]].first_global_row = row;
            row += want[order[i]].total_rows;
            sample_ok(lb_map_view_all(map, i, &arena, &got, &err), &err);
            assert_entry(&got, &want[order[i]]);
            sample_ok(lb_map_find_path(map, got.rel_path, &found, &err), &err);
            assert_int_equal(found, i);
            for (uint64_t r = 0; r < got.total_rows; r++) {
                sample_ok(lb_map_find_row(map, got.first_global_row + r, &found, &err), &err);
                assert_int_equal(found, i);
            }
            lb_arena_free(&arena);
        }
        lb_map_close(map);
        lb_buf_free(&keep);
    }
}

/* A map written from the views of another is that map, byte by byte. */
static void rewritten_is_equal(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_entry got[SAMPLE_ENTRIES];
    lb_buf bytes, again, copy;
    lb_arena arena;
    lb_map *map;
    sample_map(&header, 1500, &bytes);
    lb_buf_init(&copy, NULL);
    lb_buf_init(&again, NULL);
    sample_ok(lb_buf_append(&copy, bytes.data, bytes.size, &err), &err);
    sample_ok(lb_map_load_bytes(&bytes, "sample", &map, &err), &err);
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < SAMPLE_ENTRIES; i++)
        sample_ok(lb_map_view_all(map, i, &arena, &got[i], &err), &err);
    sample_ok(sample_write_list(lb_map_header_of(map), got, SAMPLE_ENTRIES, 1500, sample_write, &again, &err), &err);
    assert_int_equal(again.size, copy.size);
    assert_memory_equal(again.data, copy.data, copy.size);
    lb_map_close(map);
    lb_arena_free(&arena);
    lb_buf_free(&again);
    lb_buf_free(&copy);
}

static void no_entries(void **state)
{
    (void)state;
    lb_error err = LB_ERROR_INIT;
    lb_map_header empty = { .stride = 0 };
    lb_buf bytes;
    lb_map *map;
    uint64_t index;
    lb_buf_init(&bytes, NULL);
    sample_ok(sample_write_list(&empty, NULL, 0, 0, sample_write, &bytes, &err), &err);
    sample_ok(lb_map_load_bytes(&bytes, "empty", &map, &err), &err);
    assert_int_equal(lb_map_count(map), 0);
    assert_int_equal(lb_map_header_of(map)->stride, LB_DEFAULT_STRIDE);
    assert_str(lb_map_header_of(map)->stats, LB_STR("all"));
    assert_int_equal(lb_map_find_path(map, LB_STR("a"), &index, NULL), LB_NOTFOUND);
    assert_int_equal(lb_map_find_row(map, 0, &index, NULL), LB_USAGE);
    lb_map_close(map);
}

static void stats_words(void **state)
{
    (void)state;
    static const struct {
        const char *given, *stored, *loaded;
    } cases[] = {
        { "all", "null", "all" },
        { "", "null", "all" },
        { "none", "[]", "none" },
        { "block", "null", "block" },
        { "[\"a\",\"b\"]", "[\"a\",\"b\"]", "[\"a\",\"b\"]" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lb_error err = LB_ERROR_INIT;
        lb_map_header h = { .stats = lb_str_of(cases[i].given) };
        lb_buf bytes;
        lb_map *map;
        lb_buf_init(&bytes, NULL);
        sample_ok(sample_write_list(&h, NULL, 0, 0, sample_write, &bytes, &err), &err);
        assert_non_null(memmem(bytes.data, bytes.size, cases[i].stored, strlen(cases[i].stored)));
        sample_ok(lb_map_load_bytes(&bytes, "words", &map, &err), &err);
        assert_str(lb_map_header_of(map)->stats, lb_str_of(cases[i].loaded));
        lb_map_close(map);
    }
}

/* The reference's JSON (lake-map.md 4.2 and 4.3), as written down from that description. */
static void interop_json(void **state)
{
    (void)state;
    static const char stats[] =
        "{\"total_rows\":10,\"columns\":{\"id\":{\"min\":-9.223372036854776e18,\"max\":9007199254740992.0,"
        "\"min_str\":null,\"max_str\":null},\"name\":{\"min\":null,\"max\":null,\"min_str\":\"a\\\"\\u000a\","
        "\"max_str\":\"z\xC3\xA9\"}}}";
    static const char first[] =
        "[{\"ordinal\":0,\"first_row\":0,\"row_count\":4,\"first_byte\":8,\"total_byte_size\":100,"
        "\"compressed_size\":100,"
        "\"columns\":[{\"path\":\"id\",\"offset\":8,\"length\":50,"
        "\"pages\":[{\"first_row\":0,\"offset\":8,\"length\":12},"
        "{\"first_row\":2,\"offset\":20,\"length\":38}]},"
        "{\"path\":\"a.b\",\"offset\":58,\"length\":50,\"pages\":[]}]},";
    static const char last[] = "{\"path\":\"a.b\",\"offset\":230,\"length\":28,\"pages\":[]}]}]";
    static const char text[] =
        "{\"ordinal\":2,\"first_row\":8,\"row_count\":2,\"first_byte\":208,\"total_byte_size\":50,"
        "\"compressed_size\":50,"
        "\"columns\":[]}]";
    static const char *const full[] = { stats, first, last, text };
    static const char none[] = "{\"total_rows\":10,\"columns\":{}}";
    lb_map_header h = header;
    for (int lean = 0; lean < 2; lean++) {
        lb_buf bytes;
        h.interop_full = lean == 0;
        sample_map(&h, 0, &bytes);
        for (size_t i = 0; i < COUNT_OF(full); i++) {
            const void *at = memmem(bytes.data, bytes.size, full[i], strlen(full[i]));
            assert_int_equal(at != NULL, lean == 0);
        }
        assert_int_equal(memmem(bytes.data, bytes.size, none, strlen(none)) != NULL, lean == 1);
        lb_buf_free(&bytes);
    }
}

/* Two entries as they are given, not sorted. */
static void refuse(const lb_entry *a, const lb_entry *b, lb_status status, const char *says)
{
    lb_error err = LB_ERROR_INIT;
    lb_map_header h = { .stride = 1 };
    const lb_entry both[] = { *a, *b };
    sample_list list = { .entries = both };
    const lb_entry_source source = { .count = 2, .get = sample_get, .user = &list };
    lb_buf bytes;
    lb_buf_init(&bytes, NULL);
    assert_int_equal(lb_map_write(&h, &source, false, 0, sample_write, &bytes, &err), status);
    assert_non_null(strstr(err.message, says));
    lb_buf_free(&bytes);
}

static void refused(void **state)
{
    (void)state;
    static const char *const paths[] = { "", "/a", "../a", "a/../b", "a//b", "a/", "caf\xE9" };
    lb_entry a = sample_plain("same", 1), b = sample_plain("same", 2);
    refuse(&a, &b, LB_INTERNAL, "twice");
    b = sample_plain("before", 2);
    refuse(&a, &b, LB_INTERNAL, "order");
    a = sample_plain("a", 1);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        b = sample_plain(paths[i], 2);
        refuse(&a, &b, LB_INTERNAL, "path");
    }
    b = sample_plain("b", LB_ROWS_UNKNOWN);
    refuse(&a, &b, LB_INTERNAL, "rows");
    b = sample_plain("b", INT64_MAX);
    refuse(&a, &b, LB_INTERNAL, "more rows");
}

static bool stop_writing(void *user, const void *bytes, size_t size)
{
    size_t *left = user;
    (void)bytes;
    if (*left < size)
        return false;
    *left -= size;
    return true;
}

/* A disk that fills up at any moment gives an error and leaks nothing. */
static void output_fails(void **state)
{
    (void)state;
    lb_entry entries[SAMPLE_ENTRIES];
    lb_buf keep, whole;
    sample_map(&header, 1500, &whole);
    sample_entries(entries, &keep);
    for (size_t room = 0; room < whole.size; room += 97) {
        size_t left = room;
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(sample_write_list(&header, entries, SAMPLE_ENTRIES, 1500, stop_writing, &left, &err), LB_IO);
    }
    lb_buf_free(&keep);
    lb_buf_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),   cmocka_unit_test(rewritten_is_equal), cmocka_unit_test(no_entries),
        cmocka_unit_test(stats_words),  cmocka_unit_test(interop_json),       cmocka_unit_test(refused),
        cmocka_unit_test(output_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
