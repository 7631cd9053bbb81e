/* A Lance v1 data file: where its pages lie.
 *
 *     pages, batch after batch                     a page holds the rows of one batch of one field
 *     page table                                   (i64 position, i64 length), row after row: a row a field id, a column a batch
 *     [statistics]  [dictionary values]
 *     length | Manifest                            the schema of this file
 *     length | FileMetadata                        ends where the footer begins
 *     footer, version 0.1 or 0.2
 */
#ifndef LB_FORMAT_LANCE_DATA_H
#define LB_FORMAT_LANCE_DATA_H

#include "format/lance/lance_schema.h"

typedef struct lb_lance_page {
    int64_t position, length;
} lb_lance_page;

typedef struct lb_lance_data {
    lb_store *store;
    bool lent; /* the store is the caller's */
    lb_arena arena;
    lb_lance_file_metadata *meta;
    lb_lance_manifest *schema; /* embedded; NULL: the file has none */
    uint64_t end;              /* where the footer begins */
    size_t n_batches;
    const int32_t *offsets; /* n_batches + 1: first row of each batch; one 0 where there is no batch */
    uint64_t rows;
    int32_t low, high; /* field ids of the page table's rows; high < low: it has none */
    const lb_lance_page *pages;
} lb_lance_data;

/* Open the file of a store, which it takes, also on error, unless it is `lent`. `ids`: of the fields in it, for a file without a schema of its own.
 * Errors: CORRUPT; UNSUPPORTED: a file of format 2, saying which; BUDGET, NOMEM, IO. Memory: the page table and the schema. */
lb_status lb_lance_data_open(lb_store *store, bool lent, const int32_t *ids, size_t n_ids, lb_budget *budget,
                             lb_lance_data **out, lb_error *err);
void lb_lance_data_close(lb_lance_data *data); /* NULL is fine */

/* Rows of a file, from its metadata alone. Errors: as lb_lance_data_open. */
lb_status lb_lance_data_count(lb_store *store, lb_budget *budget, uint64_t *rows, lb_error *err);

/* UNSUPPORTED where a footer is not that of a v1 data file, naming what it is. */
lb_status lb_lance_data_check_version(const lb_lance_footer *footer, lb_error *err);

/* Batch that holds a row < data->rows. */
size_t lb_lance_data_batch(const lb_lance_data *data, uint64_t row);

/* The page of a field in a batch. Errors: CORRUPT: there is none. */
lb_status lb_lance_data_page(const lb_lance_data *data, int32_t id, size_t batch, lb_lance_page *out, lb_error *err);

#endif
