/* A whole Parquet file: its footer, page index and statistics are taken for a map, it is opened from what that keeps,
 * its first and last rows are read, some are taken and are those that a whole read gives, and all of it is verified. The first byte says
 * what else: 1: the rest is an offset index of a chunk of 100 rows. */
#include <stdlib.h>
#include <string.h>

#include "pulled.h"

#include "column/print.h"
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
    bool whole;

    for (; range.n_columns < 8 && range.n_columns < r->footer.schema.n_columns; range.n_columns++)
        columns[range.n_columns] = (lb_wanted){ .column = range.n_columns };
    if (pulled_scan(&lb_format_parquet, r, &range, &whole) > count)
        abort();
}

#define TAKEN_MOST 200 /* rows of files of which some are taken and compared */

typedef struct printed {
    lb_buf text;
    size_t n, ends[TAKEN_MOST];
} printed;

static lb_status print_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch, printed *out)
{
    struct ArrowArrayView view;
    lb_status status = LB_OK;

    if (ArrowArrayViewInitFromSchema(&view, schema, NULL) != NANOARROW_OK)
        abort();
    if (ArrowArrayViewSetArray(&view, batch, NULL) != NANOARROW_OK)
        abort();
    for (int64_t row = 0; status == LB_OK && row < batch->length && out->n < TAKEN_MOST; row++) {
        for (int64_t i = 0; status == LB_OK && i < batch->n_children; i++)
            status = lb_print_value(schema->children[i], view.children[i], row, LB_FORM_CANONICAL, &out->text, NULL);
        out->ends[out->n++] = out->text.size;
    }
    ArrowArrayViewReset(&view);
    return status;
}

/* Are all rows there? */
static bool print_rows(lb_reader *r, const uint64_t *rows, uint64_t count, printed *out)
{
    lb_wanted columns[4];
    lb_range range = { .rows = rows, .count = count, .columns = columns };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    lb_status status;

    *out = (printed){ .n = 0 };
    lb_buf_init(&out->text, &r->cx->budget);
    for (; range.n_columns < 4 && range.n_columns < r->footer.schema.n_columns; range.n_columns++)
        columns[range.n_columns] = (lb_wanted){ .column = range.n_columns };
    if ((rows == NULL ? lb_format_parquet.scan : lb_format_parquet.take)(r, &range, &stream, NULL) != LB_OK)
        return false;
    if (stream.get_schema(&stream, &schema) != NANOARROW_OK)
        abort();
    for (;;) {
        struct ArrowArray batch = { .release = NULL };
        status = lb_stream_next(&stream, &batch, NULL);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = print_batch(&schema, &batch, out);
        batch.release(&batch);
        if (status != LB_OK)
            break;
    }
    schema.release(&schema);
    stream.release(&stream);
    return status == LB_OK && out->n == count;
}

static void same_row(const printed *a, size_t i, const printed *b, size_t k)
{
    const size_t from = i == 0 ? 0 : a->ends[i - 1], other = k == 0 ? 0 : b->ends[k - 1], size = a->ends[i] - from;

    if (size != b->ends[k] - other || (size != 0 && memcmp(a->text.data + from, b->text.data + other, size) != 0))
        abort();
}

/* What is decompressed only in part gives what the whole gives. */
static void fuzz_taken(lb_reader *r, uint64_t total)
{
    const uint64_t rows[] = { 0, total / 3 + 1, total - 1 };
    printed all, some;

    if (total < 4 || total > TAKEN_MOST)
        return;
    const bool whole = print_rows(r, NULL, total, &all), part = print_rows(r, rows, 3, &some);
    for (size_t i = 0; whole && part && i < 3; i++)
        same_row(&some, i, &all, (size_t)rows[i]);
    lb_buf_free(&all.text);
    lb_buf_free(&some.text);
}

static void fuzz_known(lb_context *cx, lb_store *store, const lb_entry *entry)
{
    lb_reader *r;

    if (lb_format_parquet.open(&lb_format_parquet, cx, store, NULL, entry, &r, NULL) != LB_OK)
        return;
    fuzz_rows(r, 0, 3);
    if (entry->total_rows > 3)
        fuzz_rows(r, entry->total_rows - 2, 2);
    fuzz_taken(r, entry->total_rows);
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
