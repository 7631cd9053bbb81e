/* Radix sort, from the lowest byte up. */
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

static bool sort_is_sorted(const uint64_t *keys, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (keys[i - 1] > keys[i])
            return false;
    return true;
}

/* Where the keys with each value of the byte begin; false: all have the same. */
static bool sort_starts(const uint64_t *keys, size_t n, unsigned shift, size_t starts[256])
{
    size_t sum = 0;

    memset(starts, 0, 256 * sizeof *starts);
    for (size_t i = 0; i < n; i++)
        starts[(keys[i] >> shift) & 0xff]++;
    if (starts[(keys[0] >> shift) & 0xff] == n)
        return false;
    for (size_t i = 0; i < 256; i++) {
        size_t count = starts[i];
        starts[i] = sum;
        sum += count;
    }
    return true;
}

void lb_sort_u64(uint64_t *keys, uint32_t *places, size_t n, uint64_t *spare_keys, uint32_t *spare_places)
{
    size_t starts[256];

    if (sort_is_sorted(keys, n))
        return;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!sort_starts(keys, n, shift, starts))
            continue;
        for (size_t i = 0; i < n; i++) {
            size_t to = starts[(keys[i] >> shift) & 0xff]++;
            spare_keys[to] = keys[i];
            if (places != NULL)
                spare_places[to] = places[i];
        }
        memcpy(keys, spare_keys, n * sizeof *keys);
        if (places != NULL)
            memcpy(places, spare_places, n * sizeof *places);
    }
}
