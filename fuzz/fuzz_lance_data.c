/* Data files alone: whatever the bytes are, they are refused, or give as many rows as they say, and the same ones in pieces. */
#include <stdlib.h>

#include "pulled.h"

#include "lance/lance_format.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ROWS 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t pull(lb_lance_set *set, const lb_lance_scan *scan, bool *whole)
{
    struct ArrowArrayStream stream;

    *whole = false;
    return lb_lance_set_scan(set, scan, &stream, NULL) == LB_OK ? pulled_stream(&stream, whole, NULL) : 0;
}

static void read_rows(lb_lance_set *set)
{
    uint64_t some[ROWS / 7 + 1], count = LB_MIN(set->rows, (uint64_t)ROWS), n = 0;
    bool whole, pieces;
    uint64_t *columns = calloc(set->n_columns + 1, sizeof *columns);

    if (columns == NULL)
        return;
    for (size_t i = 0; i < set->n_columns; i++)
        columns[i] = i;
    lb_lance_scan scan = { .count = count, .n_columns = set->n_columns, .columns = columns };
    uint64_t got = pull(set, &scan, &whole);
    REQUIRE(!whole || got == count);
    for (uint64_t row = 0; row < count; row += 7)
        some[n++] = row;
    scan.rows = some;
    scan.count = n;
    got = pull(set, &scan, &pieces);
    REQUIRE(!pieces || got == n);
    REQUIRE(!whole || pieces || set->cx->budget.limit != 0); /* only memory may make a difference */
    free(columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 256u << 20 };
    lb_context *cx = NULL;
    lb_store *store = NULL;
    lb_lance_set *set = NULL;

    if (lb_context_new(&options, &cx, NULL) == LB_OK && lb_store_open_memory(data, size, &store, NULL) == LB_OK &&
        lb_lance_set_open(cx, store, &set, NULL) == LB_OK) {
        read_rows(set);
        if (set->rows <= ROWS)
            (void)lb_lance_verify(set, NULL);
    }
    lb_lance_set_close(set);
    lb_store_close(store);
    lb_context_free(cx);
    return 0;
}
