/* Sums of a file's bytes that are held against the bytes they are given with: for tests of surveys by several threads. */
#ifndef TESTS_CHECKED_SUMS_H
#define TESTS_CHECKED_SUMS_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "format/sums.h"

#define CHECKED_RANGE ((size_t)64)

/* A plain sum that depends on the order, and how many bytes it is of. */
typedef struct checked_sum {
    uint64_t sum, bytes;
} checked_sum;

static void checked_begin(void *sum)
{
    *(checked_sum *)sum = (checked_sum){ .sum = 1 };
}

static void *checked_open(void *user)
{
    checked_sum *s = malloc(sizeof *s);

    (void)user;
    checked_begin(s);
    return s;
}

static void checked_add(void *sum, const uint8_t *bytes, size_t size)
{
    checked_sum *s = sum;

    for (size_t i = 0; i < size; i++)
        s->sum = s->sum * 31 + bytes[i];
    s->bytes += size;
}

static void checked_take(void *sum, uint8_t *out)
{
    memcpy(out, sum, sizeof(checked_sum));
}

/* Are these the sums of the bytes' ranges? */
static bool checked_right(const uint8_t *bytes, size_t size, const uint8_t *sums)
{
    for (size_t at = 0; at < size; at += CHECKED_RANGE) {
        checked_sum want;
        checked_begin(&want);
        checked_add(&want, bytes + at, CHECKED_RANGE);
        if (memcmp(&want, sums + at / CHECKED_RANGE * sizeof want, sizeof want) != 0)
            return false;
    }
    return size % CHECKED_RANGE == 0;
}

static lb_sums checked_sums(void (*give)(void *user, const uint8_t *bytes, size_t size, const uint8_t *sums))
{
    return (lb_sums){ CHECKED_RANGE, sizeof(checked_sum), checked_open, checked_begin,
                      checked_add,   checked_take,        free,         give };
}

#endif
