/* One column chunk that is being read forward: its bytes, its pages, the levels of the page at hand. Private to the
 * decoder. */
#ifndef LB_FORMAT_PARQUET_CHUNK_H
#define LB_FORMAT_PARQUET_CHUNK_H

#include "format/parquet/parquet_dictionary.h"
#include "format/parquet/parquet_page.h"

#define LB_PARQUET_LEVELS 2048 /* levels are decoded so many at a time */

struct lb_parquet_chunk {
    lb_context *cx;
    lb_store *store;
    lb_parquet_plan plan;

    lb_buf window; /* bytes of the file from window_at on */
    uint64_t window_at;
    uint64_t last_wanted_byte; /* places known: where the last wanted page ends */
    lb_parquet_dictionary dictionary;

    uint64_t next;        /* offset of the next page's header */
    size_t place;         /* places known: the next one */
    uint64_t row;         /* rows that began before what comes next */
    uint64_t values_seen; /* in pages that were passed or begun */
    bool passed;          /* values were passed over without decoding them */

    lb_parquet_page_head head; /* of the page at hand */
    uint64_t levels_left;      /* of its values, nulls counted, those not yet decoded to a level */
    lb_parquet_body body;      /* of it, if its values do not stand in the window */
    lb_buf turned[2];          /* old levels in the usual order of bits */
    lb_parquet_hybrid rep, def;
    lb_parquet_values values;

    size_t block_at, block_size; /* levels that were decoded and not yet used */
    uint16_t reps[LB_PARQUET_LEVELS], defs[LB_PARQUET_LEVELS];
};

/* Go to the page with the next value, at or behind the start of row `wanted` where whole pages before it can be
 * passed over; one with values left stays. *end: there is none. */
lb_status lb_parquet_chunk_page(lb_parquet_chunk *c, uint64_t wanted, bool *end, lb_error *err);

/* Have levels in the block, of the next page if need be. *end: there are none. */
lb_status lb_parquet_chunk_levels(lb_parquet_chunk *c, uint64_t wanted, bool *end, lb_error *err);

/* The next page's header, whatever kind it is, at c->next. */
lb_status lb_parquet_chunk_head(lb_parquet_chunk *c, lb_parquet_page_head *out, lb_error *err);

/* Begin a data page whose header was read: its levels and values. */
lb_status lb_parquet_chunk_begin(lb_parquet_chunk *c, const lb_parquet_page_head *head, lb_error *err);

/* Read a dictionary page. */
lb_status lb_parquet_chunk_dictionary_page(lb_parquet_chunk *c, const lb_parquet_page_head *head, lb_error *err);

/* Before the next `n` values of the page at hand are asked of c->values: have their bytes. */
lb_status lb_parquet_chunk_want(lb_parquet_chunk *c, uint64_t n, lb_error *err);

/* Pass over the next `n` values. Errors: CORRUPT, where they end before. */
lb_status lb_parquet_chunk_skip(lb_parquet_chunk *c, uint64_t n, lb_error *err);

/* The next `n` dictionary indices, and the values that they name. Errors: CORRUPT: the chunk has no dictionary, or not so
 * many values in it. */
lb_status lb_parquet_chunk_indices(lb_parquet_chunk *c, const lb_parquet_conversion *as, size_t n, uint32_t *out,
                                   lb_error *err);

/* The page at hand was used up: did as many rows begin in it as its header says? Errors: CORRUPT. */
lb_status lb_parquet_chunk_done(const lb_parquet_chunk *c, lb_error *err);

/* Are there no further pages? */
bool lb_parquet_chunk_ended(const lb_parquet_chunk *c);

/* Add to a failure where it happened. Returns `status`. */
lb_status lb_parquet_chunk_failed(const lb_parquet_chunk *c, lb_status status, lb_error *err);

#endif
