/* Sums of ranges of a file's bytes. Several threads may take them, each where it has a range's bytes at hand; with the bytes they are
 * then given in the order of the file. */
#ifndef LB_FORMAT_SUMS_H
#define LB_FORMAT_SUMS_H

#include <stddef.h>
#include <stdint.h>

typedef struct lb_sums {
    uint64_t range; /* bytes of each; they begin at multiples of it */
    size_t size;    /* of a sum; at most LB_SUM_MOST */

    /* What one thread at a time takes sums with. NULL: no memory, and no sums are taken. `begin` forgets what was added. */
    void *(*open)(void *user);
    void (*begin)(void *sum);
    void (*add)(void *sum, const uint8_t *bytes, size_t size);
    void (*take)(void *sum, uint8_t *out);
    void (*close)(void *sum);

    /* In place of a tap (io/text.h): a whole number of ranges, and their sums. */
    void (*give)(void *user, const uint8_t *bytes, size_t size, const uint8_t *sums);
} lb_sums;

#define LB_SUM_MOST 64

#endif
