/* From what a file says of a graph to the graph: the part that the readers of all forms share. In a file vertices have
 * ids of any value and edges name ids; older records also have vertices of tables. */
#ifndef LB_LINEAGE_LINEAGE_RECORD_H
#define LB_LINEAGE_LINEAGE_RECORD_H

#include "base/buf.h"
#include "lineage/lineage_graph.h"

typedef struct lb_record_vertex {
    int64_t id;
    bool is_table; /* its label is a table's name; create_time may stand there */
    lb_lineage_vertex vertex;
} lb_record_vertex;

typedef struct lb_record_edge {
    lb_lineage_edge_type type;
    const int64_t *sources, *targets; /* ids */
    size_t n_sources, n_targets;
} lb_record_edge;

/* Build vertices and edges of `graph` in the arena: ids become places, in ascending order. A vertex of a table gives
 * its time to its columns, and stays only where an edge names it. `vertices` is sorted.
 * Errors: CORRUPT (an id that is there twice, or in an edge only), NOMEM, BUDGET. Cost: O(n log n). */
lb_status lb_record_build(lb_record_vertex *vertices, size_t n_vertices, const lb_record_edge *edges, size_t n_edges,
                          lb_arena *arena, lb_lineage_graph *graph, lb_error *err);

/* "database.table" of a vertex: what its metadata says, else the first two parts of its label, where it has three; else
 * empty. */
lb_str lb_vertex_table(const lb_lineage_vertex *vertex);

/* The name by which a vertex is known across statements: its label where that begins with the table's name, else table,
 * dot, label. A result column of a query has its label. Lies in the arena. */
lb_status lb_vertex_full_name(const lb_lineage_vertex *vertex, lb_arena *arena, lb_str *out, lb_error *err);

#endif
