/* Statistics of a Parquet file: from the footer where what it says can be trusted, else from the column index, else
 * from the data. */
#ifndef LB_FORMAT_PARQUET_STATS_H
#define LB_FORMAT_PARQUET_STATS_H

#include "format/parquet/parquet_reader.h"

/* Nulls of a chunk, UINT64_MAX where the footer does not say. Errors: NOMEM, BUDGET. */
lb_status lb_parquet_null_count(const lb_parquet_meta *meta, const lb_parquet_leaf *leaf, uint64_t *out, lb_error *err);

/* Fill in `columns`, and where asked the blocks' ones, of an entry that has its blocks. Errors: those of reading the
 * columns whose statistics nobody kept. */
lb_status lb_parquet_survey_stats(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out,
                                  lb_error *err);

/* ---------------------------------------------------------------- bounds (parquet_bounds.c) */

typedef enum lb_parquet_bound_kind {
    LB_PARQUET_BOUND_NONE, /* values have no order: nulls are counted only */
    LB_PARQUET_BOUND_INT,
    LB_PARQUET_BOUND_UINT,
    LB_PARQUET_BOUND_FLOAT,
    LB_PARQUET_BOUND_BYTES,
    LB_PARQUET_BOUND_TEXT,
    LB_PARQUET_BOUND_DECIMAL
} lb_parquet_bound_kind;

lb_parquet_bound_kind lb_parquet_bound_kind_of(const lb_parquet_node *node);

/* Bounds that grow. Zero is empty; `text` is room for text and binary. */
typedef struct lb_parquet_bounds {
    lb_parquet_bound_kind kind;
    bool any, min_exact, max_exact;
    int64_t min_i, max_i;
    uint64_t min_u, max_u;
    double min_f, max_f;
    uint8_t min_d[32], max_d[32]; /* decimals, big-endian */
    lb_text_bounds *text;
    bool has_nans;
    uint64_t nulls, nans;
} lb_parquet_bounds;

void lb_parquet_bounds_clear(lb_parquet_bounds *b);

/* Take in a pair as the file has it (PLAIN without lengths); false: it is none of the leaf's type, a NaN, or the wrong
 * way round. */
bool lb_parquet_bounds_add(lb_parquet_bounds *b, const lb_parquet_node *node, lb_str min, lb_str max, bool min_exact,
                           bool max_exact);
void lb_parquet_bounds_merge(lb_parquet_bounds *b, const lb_parquet_bounds *from);

/* Fill in what is known; bytes are copied to the arena. Errors: NOMEM, BUDGET. */
lb_status lb_parquet_bounds_finish(const lb_parquet_bounds *b, const lb_parquet_node *node, lb_arena *arena,
                                   lb_colstat *out, lb_error *err);

#endif
