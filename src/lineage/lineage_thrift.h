/* Lineage records as Thrift structs, Impala's TLineageGraph (lineage.md 2.6), in the binary and the compact
 * protocol. */
#ifndef LB_LINEAGE_LINEAGE_THRIFT_H
#define LB_LINEAGE_LINEAGE_THRIFT_H

#include "lineage/lineage_graph.h"
#include "wire/thrift.h"

/* Append the struct. Field 10, operation_type, is written where the graph has one. Errors: USAGE, NOMEM, BUDGET. */
lb_status lb_lineage_thrift_write(lb_thrift_protocol protocol, const lb_lineage_graph *graph, lb_buf *out,
                                  lb_error *err);

/* Read one struct; the cursor ends up behind it. Texts are lent from the input. Errors: CORRUPT, NOMEM, BUDGET. */
lb_status lb_lineage_thrift_read(lb_thrift_protocol protocol, lb_cursor *in, lb_arena *arena, lb_lineage_graph *out,
                                 lb_error *err);

#endif
