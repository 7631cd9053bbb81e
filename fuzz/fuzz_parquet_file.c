/* A whole Parquet file: its footer, page index and statistics are taken for a map, it is opened from what that keeps,
 * its first and last rows are read, and all of it is verified. The first byte says what else: 1: the rest is an offset
 * index of a chunk of 100 rows. */
#include <stdlib.h>

#include "column/stream.h"
#include "format/parquet/parquet_handlers.h"
#include "format/parquet/parquet_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_LIMIT ((uint64_t)64 << 20)

static void fuzz_index(lb_context *cx, const uint8_t *data, size_t size)
{
    const lb_parquet_leaf leaf = { .physical = LB_PARQUET_INT32 };
    const lb_parquet_plan plan = { .leaf = &leaf, .offset = 4, .length = 1000, .rows = 100, .num_values = 100 };
    const lb_parquet_place *places;
    lb_arena arena;
    size_t n;

    lb_arena_init(&arena, &cx->budget);
    if (lb_parquet_index_places(data, size, &plan, 1004, &arena, &places, &n, NULL) == LB_OK)
        for (size_t i = 0; i < n; i++)
            if (places[i].offset < 4 || places[i].offset + places[i].length > 1004 || places[i].first_row >= 100)
                abort();
    lb_arena_free(&arena);
}

static void fuzz_rows(lb_reader *r, uint64_t first, uint64_t count)
{
    lb_wanted columns[8];
    lb_range range = { .first = first, .count = count, .columns = columns };
    struct ArrowArrayStream stream;
    uint64_t rows = 0;

    for (; range.n_columns < 8 && range.n_columns < r->footer.schema.n_columns; range.n_columns++)
        columns[range.n_columns] = (lb_wanted){ .column = range.n_columns };
    if (lb_format_parquet.scan(r, &range, &stream, NULL) != LB_OK)
        return;
    for (;;) {
        struct ArrowArray batch = { .release = NULL };
        if (lb_stream_next(&stream, &batch, NULL) != LB_OK || batch.release == NULL)
            break;
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    if (rows > count)
        abort();
    stream.release(&stream);
}

static void fuzz_known(lb_context *cx, lb_store *store, const lb_entry *entry)
{
    lb_reader *r;

    if (lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, entry, &r, NULL) != LB_OK)
        return;
    fuzz_rows(r, 0, 3);
    if (entry->total_rows > 3)
        fuzz_rows(r, entry->total_rows - 2, 2);
    (void)lb_format_parquet.verify(r, NULL);
    lb_format_parquet.close(r);
}

static void fuzz_file(lb_context *cx, lb_store *store)
{
    const lb_survey_options options = { .stride = 1, .stats = LB_STATS_BLOCKS, .pages = true };
    lb_entry entry = { .size_bytes = store->size, .locator = LB_STR("row_group") };
    lb_arena arena;
    lb_reader *r;

    if (lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, NULL, &r, NULL) != LB_OK)
        return;
    lb_arena_init(&arena, &cx->budget);
    lb_status status = lb_format_parquet.survey(r, &options, &arena, &entry, NULL);
    lb_format_parquet.close(r);
    if (status == LB_OK)
        fuzz_known(cx, store, &entry);
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = MEMORY_LIMIT };
    lb_context *cx;
    lb_store *store;

    if (lb_context_new(&options, &cx, NULL) != LB_OK)
        return 0;
    if (size != 0 && data[0] == 1) {
        fuzz_index(cx, data + 1, size - 1);
    } else if (lb_store_open_memory(data, size, &store, NULL) == LB_OK) {
        fuzz_file(cx, store);
        lb_store_close(store);
    }
    lb_context_free(cx);
    return 0;
}
