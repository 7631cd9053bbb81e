/* The handler of Parquet files. */
#ifndef LB_FORMAT_PARQUET_HANDLERS_H
#define LB_FORMAT_PARQUET_HANDLERS_H

#include "format/format.h"

extern const lb_format lb_format_parquet;

#endif
