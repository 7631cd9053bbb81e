/* Whole ORC files: whatever the bytes are, they are refused, or give as many rows as they say, whole arrays, and the same rows again in
 * pieces from wherever they begin. */
#include <stdlib.h>

#include "pulled.h"

#include "format/orc/orc.h"
#include "format/orc/orc_handlers.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ROWS 3000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(lb_reader *r)
{
    const orc_file *f = &r->file;
    uint64_t some[ROWS / 7 + 1], n = 0;
    const uint64_t count = LB_MIN(f->rows, (uint64_t)ROWS);
    lb_wanted *columns = calloc((size_t)f->n_columns + 1, sizeof *columns);
    bool whole, pieces;

    if (columns == NULL)
        return;
    for (uint32_t i = 0; i < f->n_columns; i++)
        columns[i].column = i;
    lb_range range = { .count = count, .n_columns = f->n_columns, .columns = columns };
    uint64_t got = pulled_scan(&lb_format_orc, r, &range, &whole);
    REQUIRE(!whole || got == count);
    for (uint64_t row = 0; row < count; row += 7)
        some[n++] = row;
    range.rows = some;
    range.count = n;
    got = pulled_scan(&lb_format_orc, r, &range, &pieces);
    REQUIRE(!pieces || got == n);
    range = (lb_range){ .first = f->rows / 2, .count = 50, .n_columns = f->n_columns, .columns = columns };
    got = pulled_scan(&lb_format_orc, r, &range, &pieces);
    REQUIRE(!pieces || got == LB_MIN(f->rows - f->rows / 2, (uint64_t)50));
    free(columns);
}

static void survey(lb_context *cx, lb_reader *r)
{
    const lb_survey_options options = { .stride = 1000, .stats = LB_STATS_BLOCKS };
    lb_entry entry = { 0 };
    lb_arena arena;

    lb_arena_init(&arena, &cx->budget);
    if (lb_format_orc.survey(r, &options, &arena, &entry, NULL) == LB_OK)
        REQUIRE(entry.total_rows == r->file.rows && entry.blocks.count == r->file.n_stripes);
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = 1, .memory_limit = 256u << 20 };
    lb_context *cx = NULL;
    lb_store *store = NULL;
    lb_reader *r = NULL;

    if (lb_context_new(&options, &cx, NULL) == LB_OK && lb_store_open_memory(data, size, &store, NULL) == LB_OK &&
        lb_format_orc.open(&lb_format_orc, cx, store, NULL, NULL, &r, NULL) == LB_OK) {
        read_rows(r);
        if (r->file.rows <= ROWS) {
            survey(cx, r);
            (void)lb_format_orc.verify(r, NULL);
        }
    }
    lb_format_orc.close(r);
    lb_store_close(store);
    lb_context_free(cx);
    return 0;
}
