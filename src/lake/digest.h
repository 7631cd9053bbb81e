/* Digests of a file in ranges of 1 MiB, and of the whole, taken from the bytes as they pass by. */
#ifndef LB_LAKE_DIGEST_H
#define LB_LAKE_DIGEST_H

#include "format/entry.h"
#include "format/sums.h"

#define LB_DIGEST_RANGE ((uint64_t)1 << 20)

typedef struct lb_digester lb_digester;

/* `blake3`: also BLAKE3 of each range and of the whole file. Errors: NOMEM. */
lb_status lb_digester_new(bool blake3, lb_budget *budget, lb_digester **out, lb_error *err);
void lb_digester_free(lb_digester *d);

/* An lb_tap_fn. Running out of memory is remembered for finish. */
void lb_digester_add(void *digester, const uint8_t *bytes, size_t size);

/* Sums that several threads take of ranges; lb_digester_give takes them instead of the bytes, as sums.give does. */
void lb_digester_sums(const lb_digester *d, lb_sums *out);
void lb_digester_give(lb_digester *d, const uint8_t *bytes, size_t size, const uint8_t *sums);

/* Bytes seen so far. */
uint64_t lb_digester_bytes(const lb_digester *d);

/* Fill digests and, with BLAKE3, content_hash of the entry; arrays go to the arena. Errors: NOMEM, BUDGET. */
lb_status lb_digester_finish(lb_digester *d, lb_arena *arena, lb_entry *out, lb_error *err);

#endif
