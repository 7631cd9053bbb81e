/* Whole Avro files: whatever the bytes are, they are refused, or give as many rows as they say, and the same ones in pieces; and a
 * file that grew is as one that was whole. */
#include <stdlib.h>

#include "grown.h"
#include "pulled.h"

#include "column/ipc.h"
#include "format/avro/avro_handlers.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ROWS 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(lb_reader *r, const lb_entry *entry, size_t n_columns)
{
    const uint64_t count = LB_MIN(entry->total_rows, (uint64_t)ROWS);
    uint64_t some[ROWS / 7 + 1], n = 0;
    bool whole, pieces;
    lb_wanted *columns = calloc(n_columns + 1, sizeof *columns);

    if (columns == NULL)
        return;
    for (size_t i = 0; i < n_columns; i++)
        columns[i].column = i;
    lb_range range = { .count = count, .n_columns = n_columns, .columns = columns };
    uint64_t got = pulled_scan(&lb_format_avro, r, &range, &whole);
    REQUIRE(!whole || got == count);
    for (uint64_t row = 0; row < count; row += 7)
        some[n++] = row;
    range.rows = some;
    range.count = n;
    range.n_columns = n_columns / 2;
    got = pulled_scan(&lb_format_avro, r, &range, &pieces);
    REQUIRE(!pieces || got == n);
    REQUIRE(!whole || pieces);
    free(columns);
}

static void read_file(lb_context *cx, lb_store *store)
{
    const lb_survey_options options = { .stride = 100, .stats = LB_STATS_OFF, .keep_state = true };
    lb_reader *r = NULL, *again = NULL;
    lb_entry entry = { 0 };
    struct ArrowSchema schema = { 0 };
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    if (lb_format_avro.open(&lb_format_avro, cx, store, NULL, NULL, &r, NULL) == LB_OK &&
        lb_format_avro.survey(r, &options, &arena, &entry, NULL) == LB_OK) {
        REQUIRE(lb_format_avro.open(&lb_format_avro, cx, store, NULL, &entry, &again, NULL) == LB_OK);
        REQUIRE(lb_ipc_decode_schema(entry.arrow_schema.at, entry.arrow_schema.size, &schema, NULL) == LB_OK);
        read_rows(again, &entry, (size_t)schema.n_children);
        schema.release(&schema);
        (void)lb_format_avro.verify(r, NULL);
    }
    lb_format_avro.close(r);
    lb_format_avro.close(again);
    lb_arena_free(&arena);
}

static void grow(lb_context *cx, lb_store *store, const uint8_t *data, size_t size)
{
    const lb_survey_options options = { .stride = 100, .stats = LB_STATS_ALL, .keep_state = true };
    lb_reader *r = NULL;
    lb_entry entry = { 0 };
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    if (lb_format_avro.open(&lb_format_avro, cx, store, NULL, NULL, &r, NULL) == LB_OK &&
        lb_format_avro.survey(r, &options, &arena, &entry, NULL) == LB_OK && entry.total_rows <= ROWS) {
        /* A file ends behind a block, or its survey fails. */
        for (uint64_t i = 0; i < entry.blocks.count && i < 8; i++)
            grown_check(&lb_format_avro, cx, data, size, (size_t)entry.blocks.first_byte[i], &options, &entry);
    }
    lb_format_avro.close(r);
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 256u << 20 };
    lb_context *cx = NULL;
    lb_store *store = NULL;

    if (lb_context_new(&options, &cx, NULL) == LB_OK && lb_store_open_memory(data, size, &store, NULL) == LB_OK) {
        read_file(cx, store);
        grow(cx, store, data, size);
    }
    lb_store_close(store);
    lb_context_free(cx);
    return 0;
}
