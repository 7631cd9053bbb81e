/* The lineage graph of one statement, as every writer takes it and every reader gives it.
 *
 * Vertices are columns; a vertex's id is its place in `vertices`, and its label is its identity within the graph (two
 * result columns of one label share a vertex). Edges join sets of vertices and stand in the order in which they were
 * made: for each target its PROJECTION, then its own PREDICATE if it has one; last the PREDICATE of the whole
 * statement. The first `n_edges` edges and `n_vertices` vertices are what Apache Impala records. What richer forms want
 * besides (how a source reaches its target; restrictions Impala does not count) stands beside them and can be left
 * out. */
#ifndef LB_LINEAGE_LINEAGE_GRAPH_H
#define LB_LINEAGE_LINEAGE_GRAPH_H

#include "base/str.h"

typedef enum lb_lineage_edge_type {
    LB_LINEAGE_PROJECTION = 0, /* the source's values flow into the target */
    LB_LINEAGE_PREDICATE = 1   /* the source decides which rows, windows or groups the target comes from */
} lb_lineage_edge_type;

/* How a value gets from a source to its target, over all ways and all nested queries: bits, since there may be several
 * ways. A way has one of the first four; MASKED is added where a function on the way hides the value (count, a hash). */
enum {
    LB_LINEAGE_IDENTITY = 1 << 0,       /* a plain reference all the way */
    LB_LINEAGE_TRANSFORMATION = 1 << 1, /* some expression on the way, no aggregate */
    LB_LINEAGE_AGGREGATION = 1 << 2,    /* an aggregate, or one used as a window function, on the way */
    LB_LINEAGE_CONDITIONAL = 1 << 3,    /* stands only in a condition: of CASE, IF, COALESCE and their like */
    LB_LINEAGE_MASKED = 1 << 4
};

/* Which clauses make a column restrict: bits. Of a value they are 0. */
enum {
    LB_LINEAGE_WHERE = 1 << 0,
    LB_LINEAGE_JOIN = 1 << 1, /* ON, USING, NATURAL; a condition in WHERE that spans relations */
    LB_LINEAGE_GROUP_BY = 1 << 2,
    LB_LINEAGE_HAVING = 1 << 3,
    LB_LINEAGE_QUALIFY = 1 << 4,
    LB_LINEAGE_ORDER_BY = 1 << 5,
    LB_LINEAGE_WINDOW = 1 << 6,     /* PARTITION BY and ORDER BY of a window function */
    LB_LINEAGE_COLLECTION = 1 << 7, /* the rows of an unnested collection; it must not be empty */
    LB_LINEAGE_SUBQUERY = 1 << 8,   /* compared by IN, EXISTS or a scalar subquery in a condition */
    LB_LINEAGE_SET = 1 << 9,        /* compared by EXCEPT or INTERSECT */
    LB_LINEAGE_CHANGE = 1 << 10,    /* UPDATE's test that a row would change at all */
    LB_LINEAGE_WHEN = 1 << 11,      /* filter of a WHEN branch of MERGE */
    LB_LINEAGE_DISTINCT = 1 << 12   /* DISTINCT ON; only in `beyond` */
};

/* One source of an edge. */
typedef struct lb_lineage_source {
    uint32_t vertex;  /* id */
    uint16_t kinds;   /* LB_LINEAGE_IDENTITY …; of a PREDICATE 0; 0 where it is not known, as in a record read back */
    uint16_t clauses; /* LB_LINEAGE_WHERE …; of a PROJECTION 0; 0 where it is not known */
} lb_lineage_source;

typedef struct lb_lineage_edge {
    lb_lineage_edge_type type;
    uint32_t n_sources, n_targets;
    lb_lineage_source *sources; /* ascending ids, each once */
    uint32_t *targets;          /* ascending ids, each once */
} lb_lineage_edge;

typedef struct lb_lineage_vertex {
    lb_str label;
    bool has_metadata;   /* result columns of a query have none */
    bool is_target;      /* target of some edge */
    bool unresolved;     /* named after a relation or column that no catalog knows */
    lb_str table_name;   /* "database.table" */
    lb_str table_type;   /* "hive", "iceberg", "kudu", "hbase", "view", "virtual", "external-datasource", "unknown" */
    int64_t create_time; /* seconds since the epoch; -1: not known, or not yet made */
} lb_lineage_vertex;

/* A graph and the facts of its statement. All texts and arrays are lent by whoever made the graph (an analysis' result,
 * a reader's arena) and live as long as that. */
typedef struct lb_lineage_graph {
    lb_str query_text;     /* as recorded: newlines already made blanks unless they were to be kept */
    lb_str operation_type; /* "SELECT", "INSERT", …; empty in older records */
    uint64_t query_id_hi, query_id_lo;
    lb_str hash; /* 32 lower-case hexadecimal digits */
    lb_str user;
    int64_t started, ended; /* seconds since the epoch */
    bool has_ended;         /* a Thrift record may lack it */
    bool has_table_location;
    lb_str table_location;

    uint32_t n_vertices, n_edges;
    /* Vertices and edges beyond those Impala records: sources of restrictions such as GROUP BY without an aggregate and
     * ORDER BY without LIMIT, one PREDICATE edge over all targets. They follow the others in the same arrays. */
    uint32_t n_vertices_beyond, n_edges_beyond;
    lb_lineage_vertex *vertices; /* n_vertices + n_vertices_beyond */
    lb_lineage_edge *edges;      /* n_edges + n_edges_beyond */

    /* What the statement writes: "database.table"; empty for a query. */
    lb_str target_table, target_type;
} lb_lineage_graph;

#endif
