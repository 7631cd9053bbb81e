/* Arrow files and streams: whatever the bytes are, they are refused, or give as many rows as they say, valid to the last value, and
 * the same ones in pieces and scattered, read from a store or from a mapping; and a stream that grew is as one that was whole. */
#include <stdlib.h>

#include "grown.h"
#include "pulled.h"

#include "column/ipc.h"
#include "format/arrow/arrow_handlers.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ROWS 2000
#define COLUMNS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(const lb_format *format, lb_reader *r, const lb_entry *entry, size_t n_columns)
{
    uint64_t some[ROWS / 7 + 1], count = LB_MIN(entry->total_rows, (uint64_t)ROWS), n = 0;
    lb_wanted columns[COLUMNS] = { { 0, NULL } };
    bool whole, pieces;

    for (size_t i = 0; i < n_columns; i++)
        columns[i].column = i;
    lb_range range = { .count = count, .n_columns = n_columns, .columns = columns };
    uint64_t got = pulled_scan(format, r, &range, &whole);
    REQUIRE(!whole || got == count);
    range.batch_rows = 3;
    got = pulled_scan(format, r, &range, &pieces);
    REQUIRE(!pieces || got == count);
    REQUIRE(!whole || pieces);
    for (uint64_t row = 0; row < count; row += 7)
        some[n++] = row;
    range = (lb_range){ .rows = some, .count = n, .n_columns = n_columns, .columns = columns };
    got = pulled_scan(format, r, &range, &pieces);
    REQUIRE(!pieces || got == n);
    REQUIRE(!whole || pieces);
}

static void read_known(const lb_format *format, lb_context *cx, lb_store *store, const lb_entry *entry)
{
    struct ArrowSchema schema;
    lb_reader *r = NULL;

    if (format->open(format, cx, store, NULL, entry, &r, NULL) != LB_OK)
        return;
    const struct lb_survey_options none = { .stride = 1, .stats = LB_STATS_OFF };
    lb_arena arena;
    lb_entry again = { 0 };
    lb_arena_init(&arena, &cx->budget);
    if (format->survey(r, &none, &arena, &again, NULL) == LB_OK)
        REQUIRE(again.total_rows == entry->total_rows);
    lb_arena_free(&arena);
    REQUIRE(lb_ipc_decode_schema(entry->arrow_schema.at, entry->arrow_schema.size, &schema, NULL) == LB_OK);
    if (schema.n_children <= COLUMNS)
        read_rows(format, r, entry, (size_t)schema.n_children);
    if (entry->total_rows <= ROWS)
        (void)format->verify(r, NULL);
    schema.release(&schema);
    format->close(r);
}

static void read_as(const lb_format *format, lb_context *cx, lb_store *store)
{
    const lb_survey_options options = { .stride = 1, .stats = LB_STATS_OFF, .keep_state = true };
    lb_reader *r = NULL;
    lb_entry entry = { 0 };
    lb_arena arena;

    lb_arena_init(&arena, &cx->budget);
    if (format->open(format, cx, store, NULL, NULL, &r, NULL) == LB_OK &&
        format->survey(r, &options, &arena, &entry, NULL) == LB_OK)
        read_known(format, cx, store, &entry);
    if (r != NULL)
        format->close(r);
    lb_arena_free(&arena);
}

/* A stream that ended in several places before. */
static void grow(lb_context *cx, const uint8_t *data, size_t size)
{
    const lb_survey_options options = { .stride = 1, .stats = LB_STATS_ALL, .keep_state = true };
    const lb_format *format = &lb_format_arrow_stream;
    lb_store *store = NULL;
    lb_reader *r = NULL;
    lb_entry entry = { 0 };
    lb_arena arena;

    lb_arena_init(&arena, &cx->budget);
    if (lb_store_open_memory(data, size, &store, NULL) == LB_OK &&
        format->open(format, cx, store, NULL, NULL, &r, NULL) == LB_OK &&
        format->survey(r, &options, &arena, &entry, NULL) == LB_OK && entry.total_rows <= ROWS)
        for (size_t cut = size / 4; cut != 0 && cut < size; cut += size / 4)
            grown_check(format, cx, data, size, cut, &options, &entry);
    if (r != NULL)
        format->close(r);
    lb_store_close(store);
    lb_arena_free(&arena);
}

/* As a mapped file; the bytes end where they end, so that a look behind them is seen. */
static void read_mapped(lb_context *cx, const uint8_t *data, size_t size)
{
    lb_store *store = NULL;
    void *copy = NULL;

    if (posix_memalign(&copy, 64, size) != 0)
        return;
    memcpy(copy, data, size);
    lb_mapping mapping = { .refs = 1, .at = copy, .size = size };
    if (lb_store_open_memory(copy, size, &store, NULL) == LB_OK) {
        store->mapping = &mapping;
        read_as(&lb_format_arrow, cx, store);
        read_as(&lb_format_arrow_stream, cx, store);
        REQUIRE(mapping.refs == 1); /* arrays and readers gave it back */
    }
    lb_store_close(store);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 64u << 20 };
    lb_context *cx = NULL;
    lb_store *store = NULL;

    if (lb_context_new(&options, &cx, NULL) == LB_OK && lb_store_open_memory(data, size, &store, NULL) == LB_OK) {
        read_as(&lb_format_arrow, cx, store);
        read_as(&lb_format_arrow_stream, cx, store);
        if (size != 0) {
            read_mapped(cx, data, size);
            grow(cx, data, size);
        }
        REQUIRE(atomic_load(&cx->budget.used) == 0); /* what was counted was given back */
    }
    lb_store_close(store);
    lb_context_free(cx);
    return 0;
}
