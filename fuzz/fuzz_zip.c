/* ZIP directories: whatever the bytes are, they are refused, or every entry lies inside the file. */
#include <stdlib.h>

#include "wire/zip.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void list(const uint8_t *data, size_t size, const lb_zip_end *end)
{
    lb_budget budget = { .limit = (uint64_t)64 << 20 };
    lb_arena arena;
    lb_zip_entry *entries = NULL;
    size_t n = 0;

    REQUIRE(end->at <= size && end->size <= size - end->at);
    lb_arena_init(&arena, &budget);
    if (lb_zip_list(data + end->at, (size_t)end->size, end, &arena, &entries, &n, NULL) == LB_OK) {
        REQUIRE(n == end->count);
        for (size_t i = 0; i < n; i++) {
            const lb_zip_entry *e = &entries[i];
            uint64_t at;
            REQUIRE(e->local_at <= size && e->packed <= size - e->local_at);
            if (lb_zip_content_at(e, data + e->local_at, size - (size_t)e->local_at, size, &at, NULL) == LB_OK)
                REQUIRE(at <= size && e->packed <= size - at);
        }
    }
    lb_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_zip_end end;
    size_t tail = LB_MIN(size, LB_ZIP_TAIL);

    if (lb_zip_find_end(data + size - tail, tail, size, &end, NULL) != LB_OK)
        return 0;
    if (end.zip64_at == 0 || lb_zip_end64(data + end.zip64_at, size, &end, NULL) == LB_OK)
        list(data, size, &end);
    return 0;
}
