/* Making an IVF_PQ index (lance.md 9.2 to 9.5): centers of partitions and codes of sub-vectors found from a sample, then the place
 * and the codes of every vector. */
#ifndef LB_LANCE_INDEX_BUILD_H
#define LB_LANCE_INDEX_BUILD_H

#include "lance/fragments.h"
#include "lance/index_file.h"

/* What an index is asked to be. */
typedef struct lb_index_wish {
    lb_index_metric metric;
    size_t partitions;  /* 0: about the square root of the number of rows */
    size_t sub_vectors; /* 0: 16, or the next smaller number that divides the dimension */
    unsigned rounds;    /* of k-means, at most; 0: 50 */
    uint64_t seed;
} lb_index_wish;

/* Vectors as the index has them, in the order of rows. */
typedef struct lb_index_rows {
    size_t count;
    lb_buf partitions; /* uint32_t each */
    lb_buf codes;      /* sub_vectors bytes each */
    lb_buf ids;        /* uint64_t each: Lance row ids */
} lb_index_rows;

/* Find centroids and codebook for a shown column of vectors of float. Fills metric, dimension, partitions, sub_vectors, centroids and
 * codebook of `out`, in the arena. Vectors that are null or not finite are left out. Errors: USAGE: too few vectors, or numbers that
 * do not go together; UNSUPPORTED: another type; BUDGET (the sample is held: at most 512 MiB), and what reading gives. */
lb_status lb_index_train(lb_lance_set *set, size_t column, const lb_index_wish *wish, lb_arena *arena,
                         lb_index_file *out, lb_error *err);

/* Partition and codes of every live row that is not null. Init before, free after, also on error. Memory: sub_vectors + 12 bytes a row. */
void lb_index_rows_init(lb_index_rows *rows, lb_budget *budget);
void lb_index_rows_free(lb_index_rows *rows);
lb_status lb_index_encode(lb_lance_set *set, size_t column, const lb_index_file *model, lb_index_rows *out,
                          lb_error *err);

/* Write the index file: model, rows, and from `model` also name, column and dataset_version. `write` false: the caller knows why;
 * IO is given. Errors: USAGE (too large for the format), BUDGET, NOMEM. */
lb_status lb_index_put(const lb_index_file *model, const lb_index_rows *rows, lb_budget *budget, lb_write_fn write,
                       void *user, lb_error *err);

#endif
