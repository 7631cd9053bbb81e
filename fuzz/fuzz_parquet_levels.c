/* Runs of numbers: whatever the bytes are, one reading gives what readings in pieces, as levels, as bits and past
 * skipped numbers give. The first byte is the width, the second where to cut. */
#include <stdlib.h>
#include <string.h>

#include "format/parquet/parquet_bits.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define MOST 3000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As many numbers as there are, at most MOST. */
static size_t read_all(const uint8_t *bytes, size_t size, unsigned width, uint32_t *out)
{
    lb_parquet_hybrid h;
    size_t n = 0;

    lb_parquet_hybrid_init(&h, bytes, size, width);
    while (n < MOST && lb_parquet_hybrid_numbers(&h, 1, out + n))
        n++;
    return n;
}

static void read_cut(const uint8_t *bytes, size_t size, unsigned width, size_t n, size_t cut, const uint32_t *want)
{
    static uint32_t out[MOST];
    lb_parquet_hybrid h;

    lb_parquet_hybrid_init(&h, bytes, size, width);
    REQUIRE(lb_parquet_hybrid_numbers(&h, cut, out));
    REQUIRE(lb_parquet_hybrid_numbers(&h, n - cut, out + cut));
    REQUIRE(n == 0 || memcmp(out, want, n * sizeof *out) == 0);
    REQUIRE(n == MOST || !lb_parquet_hybrid_numbers(&h, 1, out));
    lb_parquet_hybrid_init(&h, bytes, size, width);
    REQUIRE(lb_parquet_hybrid_skip(&h, cut));
    REQUIRE(lb_parquet_hybrid_numbers(&h, n - cut, out + cut));
    REQUIRE(n == cut || memcmp(out + cut, want + cut, (n - cut) * sizeof *out) == 0);
}

static void read_levels(const uint8_t *bytes, size_t size, unsigned width, size_t n, const uint32_t *want)
{
    static uint16_t out[MOST];
    lb_parquet_hybrid h;
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++)
        max = want[i] > max ? want[i] : max;
    if (max > UINT16_MAX)
        return;
    lb_parquet_hybrid_init(&h, bytes, size, width);
    REQUIRE(lb_parquet_hybrid_levels(&h, n, (uint16_t)max, out));
    for (size_t i = 0; i < n; i++)
        REQUIRE(out[i] == want[i]);
}

static void read_bits(const uint8_t *bytes, size_t size, size_t n, size_t first, const uint32_t *want)
{
    static uint8_t out[(MOST + 256) / 8 + 1];
    lb_parquet_hybrid h;
    uint64_t ones, counted = 0;

    lb_parquet_hybrid_init(&h, bytes, size, 1);
    REQUIRE(lb_parquet_hybrid_bits(&h, n, out, first, &ones));
    for (size_t i = 0; i < n; i++) {
        REQUIRE(lb_bits_get(out, first + i) == (want[i] != 0));
        counted += want[i];
    }
    REQUIRE(ones == counted && lb_bits_count(out, first, n) == ones);
}

/* Where numbers end is told right by the bytes up to any place, or not at all: what stands behind does not matter. */
static void read_reach(const uint8_t *bytes, size_t size, unsigned width, size_t n, size_t cut, const uint32_t *want)
{
    static uint32_t out[MOST];
    uint8_t *copy = malloc(size + 1);

    REQUIRE(copy != NULL);
    for (size_t there = 0; there <= size; there += there < 40 ? 1 : size / 8) {
        lb_parquet_hybrid h;
        memcpy(copy, bytes, size);
        lb_parquet_hybrid_init(&h, copy, size, width);
        REQUIRE(lb_parquet_hybrid_numbers(&h, cut, out));
        const uint8_t *end = lb_parquet_hybrid_reach(&h, n - cut, copy + there);
        if (end == NULL)
            continue;
        REQUIRE(end <= copy + size);
        for (uint8_t *p = copy + (end - copy); p < copy + size; p++)
            *p = (uint8_t) ~*p;
        REQUIRE(lb_parquet_hybrid_numbers(&h, n - cut, out));
        REQUIRE(n == cut || memcmp(out, want + cut, (n - cut) * sizeof *out) == 0);
    }
    lb_parquet_hybrid h;
    lb_parquet_hybrid_init(&h, copy, size, width);
    REQUIRE(lb_parquet_hybrid_reach(&h, n, copy + size) != NULL);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t want[MOST];

    if (size < 2)
        return 0;
    const unsigned width = data[0] % 33;
    const size_t n = read_all(data + 2, size - 2, width, want);
    read_cut(data + 2, size - 2, width, n, n * data[1] / 255, want);
    read_reach(data + 2, size - 2, width, n, n * data[1] / 255, want);
    read_levels(data + 2, size - 2, width, n, want);
    if (width == 1)
        read_bits(data + 2, size - 2, n, data[1], want);
    return 0;
}
