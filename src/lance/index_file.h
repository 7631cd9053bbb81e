/* Vector index files (index.idx, IVF_PQ): for each partition PQ codes and row ids, behind them the message that says where
 * (lance.md 9.2). */
#ifndef LB_LANCE_INDEX_FILE_H
#define LB_LANCE_INDEX_FILE_H

#include "format/lance/lance_message.h"

#define LB_INDEX_CODES 256 /* words of the codebook of one sub-vector */
#define LB_INDEX_DIMENSION_MAX 65536

typedef enum lb_index_metric { LB_INDEX_L2 = 0, LB_INDEX_COSINE = 1, LB_INDEX_DOT = 2 } lb_index_metric;

typedef struct lb_index_file {
    lb_str name, column;
    uint64_t dataset_version;
    lb_index_metric metric;
    size_t dimension, partitions, sub_vectors;
    const float *centroids;  /* partitions * dimension */
    const uint64_t *offsets; /* of partitions; each lies inside the file */
    const uint32_t *lengths; /* rows of partitions */
    const float *codebook;   /* [sub][code of 256][dimension / sub_vectors] */
    const float *rotation;   /* dimension * dimension, row-major; NULL: none (OPQ) */
    uint64_t rows;           /* of all partitions */
} lb_index_file;

/* Read all but the partitions; *known false: it is of a kind that is not read (later vector indices, DiskANN). In the arena.
 * Errors: CORRUPT, BUDGET, NOMEM, IO. */
lb_status lb_index_file_read(lb_store *store, lb_arena *arena, lb_index_file *out, bool *known, lb_error *err);

/* Codes (lengths[p] * sub_vectors bytes) and row ids of one partition, in the arena. */
lb_status lb_index_file_partition(const lb_index_file *index, lb_store *store, size_t p, lb_arena *arena,
                                  const uint8_t **codes, const uint64_t **ids, lb_error *err);

#endif
