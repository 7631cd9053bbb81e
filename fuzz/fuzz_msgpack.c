/* Whole MessagePack files: whatever the bytes are, they are refused, or give as many rows as they say, the same ones in pieces and
 * however much is read at a time; and what was said of their types holds. */
#include <stdlib.h>

#include "pulled.h"

#include "column/ipc.h"
#include "format/msgpack/msgpack_handlers.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ROWS 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* *whole: without an error, but for values nested too deeply to be text. */
static uint64_t pull(lb_reader *r, const lb_range *range, bool *whole)
{
    struct ArrowArrayStream stream;
    lb_error err = LB_ERROR_INIT;

    REQUIRE(lb_format_msgpack.scan(r, range, &stream, NULL) == LB_OK);
    const uint64_t rows = pulled_stream(&stream, whole, &err);
    REQUIRE(*whole || err.code == LB_UNSUPPORTED || err.code == LB_BUDGET);
    return rows;
}

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
    lb_range range = { .count = count, .n_columns = n_columns, .columns = columns, .chunk = 7 };
    uint64_t got = pull(r, &range, &whole);
    REQUIRE(!whole || got == count);
    for (uint64_t row = 0; row < count; row += 7)
        some[n++] = row;
    range.rows = some;
    range.count = n;
    range.n_columns = n_columns / 2;
    got = pull(r, &range, &pieces);
    REQUIRE(!pieces || got == n);
    REQUIRE(!whole || pieces);
    free(columns);
}

static bool survey(lb_context *cx, lb_store *store, lb_stats_policy stats, size_t chunk, lb_arena *arena,
                   lb_entry *entry)
{
    const lb_survey_options options = { .stride = 3, .stats = stats, .keep_state = true, .chunk = chunk };
    lb_reader *r = NULL;

    REQUIRE(lb_format_msgpack.open(&lb_format_msgpack, cx, store, NULL, NULL, &r, NULL) == LB_OK);
    const bool good = lb_format_msgpack.survey(r, &options, arena, entry, NULL) == LB_OK;
    lb_format_msgpack.close(r);
    entry->size_bytes = store->size; /* as the lake fills in: what follows the rows is torn, not new */
    return good;
}

static bool same(const lb_entry *a, const lb_entry *b)
{
    return a->total_rows == b->total_rows && lb_str_equal(a->arrow_schema, b->arrow_schema) &&
           lb_str_equal(a->open_state, b->open_state) && a->blocks.count == b->blocks.count;
}

/* With one thread, values are taken in as rows are passed over; with more, afterwards. */
static void survey_both_ways(lb_context *one, lb_context *two, lb_store *store, bool good, lb_arena *arena)
{
    lb_entry now = { 0 }, later = { 0 };

    REQUIRE(survey(one, store, LB_STATS_ALL, 6, arena, &now) == good);
    REQUIRE(survey(two, store, LB_STATS_ALL, 0, arena, &later) == good);
    REQUIRE(!good || (same(&now, &later) && now.columns.count == later.columns.count));
}

static void read_file(lb_context *cx, lb_context *two, lb_store *store)
{
    lb_entry entry = { 0 }, again = { 0 };
    struct ArrowSchema schema = { 0 };
    lb_reader *r = NULL;
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const bool good = survey(cx, store, LB_STATS_BLOCKS, 0, &arena, &entry);
    REQUIRE(survey(cx, store, LB_STATS_BLOCKS, 5, &arena, &again) == good);
    survey_both_ways(cx, two, store, good, &arena);
    if (good) {
        REQUIRE(same(&entry, &again));
        REQUIRE(lb_ipc_decode_schema(entry.arrow_schema.at, entry.arrow_schema.size, &schema, NULL) == LB_OK);
        REQUIRE(lb_format_msgpack.open(&lb_format_msgpack, cx, store, NULL, &entry, &r, NULL) == LB_OK);
        read_rows(r, &entry, (size_t)schema.n_children);
        schema.release(&schema);
        lb_format_msgpack.close(r);
    }
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 256u << 20 };
    lb_context *one = NULL, *two = NULL;
    lb_store *store = NULL;

    bool made = lb_context_new(&options, &one, NULL) == LB_OK;
    options.threads = 2;
    made = made && lb_context_new(&options, &two, NULL) == LB_OK;
    if (made && lb_store_open_memory(data, size, &store, NULL) == LB_OK)
        read_file(one, two, store);
    lb_store_close(store);
    lb_context_free(one);
    lb_context_free(two);
    return 0;
}
