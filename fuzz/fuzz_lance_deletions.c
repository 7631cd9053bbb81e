/* Deletion files, Arrow or bitmap by the first byte: what is read is ascending and inside the fragment, and live and physical
 * rows lead to each other. */
#include <stdlib.h>

#include "lance/deletions.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ROWS ((uint64_t)100000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const lb_deletions *d)
{
    REQUIRE(d->count <= ROWS);
    for (uint64_t i = 0; i < d->count; i++)
        REQUIRE(d->rows[i] < ROWS && (i == 0 || d->rows[i] > d->rows[i - 1]));
    for (uint64_t row = 0; row < ROWS - d->count; row += 97) {
        uint64_t at = lb_deletions_physical(d, row);
        REQUIRE(at < ROWS && lb_deletions_live(d, at) == row);
        REQUIRE(row == 0 || lb_deletions_physical(d, row - 1) < at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_lance_deletion_file file = LB_PB__DELETION_FILE__INIT;
    lb_budget budget = { .limit = (uint64_t)64 << 20 };
    lb_store *store = NULL;
    lb_deletions d;
    lb_arena arena;

    if (size == 0)
        return 0;
    file.file_type = data[0] & 1;
    lb_arena_init(&arena, &budget);
    if (lb_store_open_memory(data + 1, size - 1, &store, NULL) == LB_OK &&
        lb_deletions_read(store, &file, ROWS, &arena, &d, NULL) == LB_OK)
        check(&d);
    lb_store_close(store);
    lb_arena_free(&arena);
    return 0;
}
