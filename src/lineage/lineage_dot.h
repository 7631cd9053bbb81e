/* Pictures of lineage in the language of Graphviz: tables as boxes around their columns, values as solid arrows,
 * restrictions as dashed ones. The same input gives the same text. */
#ifndef LB_LINEAGE_LINEAGE_DOT_H
#define LB_LINEAGE_LINEAGE_DOT_H

#include "base/buf.h"
#include "lineage/lineage_trail.h"

/* Append one digraph: a statement's graph. An edge between many sources and many targets goes through a point. Errors:
 * NOMEM, BUDGET. */
lb_status lb_lineage_dot_write(const lb_lineage_graph *graph, lb_buf *out, lb_error *err);

/* Append one digraph: what a walk over many statements found. */
lb_status lb_trail_dot_write(const lb_trail *t, const lb_trail_answer *answer, lb_buf *out, lb_error *err);

#endif
