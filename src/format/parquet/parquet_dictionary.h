/* The dictionary of a column chunk. Its values are decompressed and brought to Arrow's form as far as indices ask for them. */
#ifndef LB_FORMAT_PARQUET_DICTIONARY_H
#define LB_FORMAT_PARQUET_DICTIONARY_H

#include "format/parquet/parquet_body.h"
#include "format/parquet/parquet_convert.h"

typedef struct lb_parquet_dictionary {
    bool there;            /* a page of it was seen */
    uint32_t count, ready; /* values that the page has; the first ones of them that stand ready */
    const uint8_t *values; /* WIDE: those; strings: the bytes that spans are of */
    lb_parquet_body body;  /* the page */
    lb_buf stored;         /* what the body lends while it is not decompressed whole; filled by the chunk */
    lb_buf made;           /* Arrow values, where they are not as the page has them */
    lb_buf spans;          /* STRINGS */
    size_t walked;         /* bytes of the page in front of the first string that is not ready */
} lb_parquet_dictionary;

void lb_parquet_dictionary_init(lb_parquet_dictionary *d, lb_budget *budget);
void lb_parquet_dictionary_free(lb_parquet_dictionary *d);
void lb_parquet_dictionary_reset(lb_parquet_dictionary *d); /* none is there; its memory stays */
size_t lb_parquet_dictionary_memory(const lb_parquet_dictionary *d);

/* Take a page of `count` values. `part`: not all of them are likely to be asked for; then `bytes` are lent until the
 * dictionary is reset; else `work` serves. Errors: CORRUPT, BUDGET, NOMEM. */
lb_status lb_parquet_dictionary_take(lb_parquet_dictionary *d, lb_codec codec, lb_codec_work *work,
                                     const uint8_t *bytes, size_t stored, size_t size, uint32_t count, bool part,
                                     lb_error *err);

/* As above, of a page that is not compressed: its bytes stand in the store from `at` on. Errors: BUDGET, NOMEM. */
lb_status lb_parquet_dictionary_lie(lb_parquet_dictionary *d, lb_store *store, uint64_t at, size_t size, uint32_t count,
                                    lb_error *err);

/* Have those of the `n` values ready that `indices`, each below the count, name. Errors: as below. */
lb_status lb_parquet_dictionary_pick(lb_parquet_dictionary *d, const lb_parquet_leaf *leaf,
                                     const lb_parquet_conversion *as, const uint32_t *indices, size_t n, uint32_t most,
                                     lb_error *err);

/* Have the first `n` <= count values ready, always with the same leaf and conversion. What was lent before may move.
 * Errors: CORRUPT: the page has fewer, or one does not fit the type. */
lb_status lb_parquet_dictionary_ready(lb_parquet_dictionary *d, const lb_parquet_leaf *leaf,
                                      const lb_parquet_conversion *as, uint32_t n, lb_error *err);

#endif
