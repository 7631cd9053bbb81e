/* A ColumnChunk of a footer in the form that writers give it: a wide footer has millions of its fields, and each is read where the
 * processor can foresee what comes. */
#ifndef LB_FORMAT_PARQUET_QUICK_H
#define LB_FORMAT_PARQUET_QUICK_H

#include "format/parquet/parquet_thrift.h"

/* Read one from [p, end) into `item`, an lb_pqt_chunk, whatever was in it. Gives the place behind it; NULL for anything out of the
 * ordinary, damage too: the tables of parquet_thrift.h read that, and what was filled in counts for nothing. */
const uint8_t *lb_pqt_chunk_quick(const uint8_t *p, const uint8_t *end, void *item);

#endif
