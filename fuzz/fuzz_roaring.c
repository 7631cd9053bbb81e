/* Roaring bitmaps: what decodes is ascending and below the limit, and comes back from its own encoding. */
#include <stdlib.h>

#include "wire/roaring.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define LIMIT ((uint64_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_again(const lb_buf *values, lb_budget *budget)
{
    lb_buf bytes, again;

    lb_buf_init(&bytes, budget);
    lb_buf_init(&again, budget);
    if (lb_roaring_encode((const uint32_t *)(const void *)values->data, values->size / 4, &bytes, NULL) == LB_OK) {
        REQUIRE(lb_roaring_decode(bytes.data, bytes.size, LIMIT, &again, NULL) != LB_CORRUPT);
        REQUIRE(again.size == values->size && (again.size == 0 || memcmp(again.data, values->data, again.size) == 0));
    }
    lb_buf_free(&bytes);
    lb_buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_budget budget = { .limit = (uint64_t)128 << 20 };
    lb_buf values;

    lb_buf_init(&values, &budget);
    if (lb_roaring_decode(data, size, LIMIT, &values, NULL) == LB_OK) {
        const uint32_t *v = (const uint32_t *)(const void *)values.data;
        for (size_t i = 0; i < values.size / 4; i++)
            REQUIRE(v[i] < LIMIT && (i == 0 || v[i] > v[i - 1]));
        decode_again(&values, &budget);
    }
    lb_buf_free(&values);
    return 0;
}
