/* Vector index files: what is read lies inside the file and fits its dimensions. */
#include <stdlib.h>

#include "lance/index_file.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile float sink; /* keeps the reads below */

static void check(const lb_index_file *index, lb_store *store, lb_arena *arena)
{
    const uint8_t *codes;
    const uint64_t *ids;
    uint64_t rows = 0;

    REQUIRE(index->dimension % index->sub_vectors == 0);
    for (size_t i = 0; i < index->partitions * index->dimension; i++)
        sink = index->centroids[i];
    for (size_t i = 0; i < 256 * index->dimension; i++)
        sink = index->codebook[i];
    for (size_t i = 0; index->rotation != NULL && i < index->dimension * index->dimension; i++)
        sink = index->rotation[i];
    for (size_t p = 0; p < index->partitions; p++) {
        rows += index->lengths[p];
        if (p >= 8 || lb_index_file_partition(index, store, p, arena, &codes, &ids, NULL) != LB_OK)
            continue;
        for (size_t i = 0; i < index->lengths[p]; i++)
            sink = (float)(codes[i * index->sub_vectors] + ids[i]);
    }
    REQUIRE(rows == index->rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = (uint64_t)64 << 20 };
    lb_store *store = NULL;
    lb_index_file index;
    bool known = false;
    lb_arena arena;

    lb_arena_init(&arena, &budget);
    if (lb_store_open_memory(data, size, &store, NULL) == LB_OK &&
        lb_index_file_read(store, &arena, &index, &known, NULL) == LB_OK && known)
        check(&index, store, &arena);
    lb_store_close(store);
    lb_arena_free(&arena);
    return 0;
}
