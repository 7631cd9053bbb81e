/* One open Parquet file, and what its parts share. */
#ifndef LB_FORMAT_PARQUET_READER_H
#define LB_FORMAT_PARQUET_READER_H

#include <pthread.h>

#include "format/format.h"
#include "format/parquet/parquet_footer.h"

#define LB_PARQUET_SPARE 8

struct lb_reader {
    lb_context *cx;
    lb_store *store;
    const lb_entry *known; /* NULL: opened to be surveyed */
    lb_parquet_footer footer;

    pthread_mutex_t lock; /* of what follows */
    size_t n_spare;
    lb_parquet_chunk *spare[LB_PARQUET_SPARE]; /* chunks that were read, and whose memory may serve again */
};

/* Open a chunk, and be done with one (NULL is fine; leaves NULL), from any thread. */
lb_status lb_parquet_take_chunk(lb_reader *r, const lb_parquet_plan *plan, lb_parquet_chunk **out, lb_error *err);
void lb_parquet_give_chunk(lb_reader *r, lb_parquet_chunk **chunk);

/* ---------------------------------------------------------------- places of pages (parquet_places.c) */

/* Plan of a chunk without its pages. Errors: UNSUPPORTED (the codec). */
lb_status lb_parquet_plan_of(const lb_reader *r, size_t group, size_t leaf, lb_parquet_plan *out, lb_error *err);

/* Fill in the places of the data pages of `n` plans, of these leaves of one row group, as the map's pages or else the
 * file's offset index have them, in the arena. A plan whose pages are not known, or whose index cannot be right, is
 * left as it is: headers tell. */
lb_status lb_parquet_places(const lb_reader *r, size_t group, const size_t *leaves, lb_parquet_plan *plans, size_t n,
                            lb_arena *arena, lb_error *err);

/* The pages as an offset index has them; *out NULL: it contradicts itself, the chunk or the rows. */
lb_status lb_parquet_index_places(const void *bytes, size_t size, const lb_parquet_plan *plan, uint64_t end,
                                  lb_arena *arena, const lb_parquet_place **out, size_t *n, lb_error *err);

/* ---------------------------------------------------------------- the calls of the handler */

lb_status lb_parquet_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status lb_parquet_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);
lb_status lb_parquet_verify(lb_reader *r, lb_error *err);

#endif
