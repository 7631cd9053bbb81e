/* Where a column's contents came from, and where they went, over many statements: the records of a log joined through
 * the columns of their tables.
 *
 * Statements count in the order of time. Going upstream from a column, a statement that wrote it counts if it began
 * before the reading one ended; going downstream, one that read it counts if it ended after the writing one began.
 * Where times overlap, both ways are believed. What a view hands on is never too late: it is read each time anew. */
#ifndef LB_LINEAGE_LINEAGE_TRAIL_H
#define LB_LINEAGE_LINEAGE_TRAIL_H

#include "base/buf.h"
#include "base/names.h"
#include "lineage/lineage_graph.h"

typedef struct lb_trail lb_trail;

typedef enum lb_trail_way { LB_TRAIL_UPSTREAM, LB_TRAIL_DOWNSTREAM } lb_trail_way;

/* What is kept of a statement. Texts are the trail's. */
typedef struct lb_trail_statement {
    uint64_t query_id_hi, query_id_lo;
    lb_str operation, text, user; /* the text cut at LB_TRAIL_TEXT bytes */
    int64_t started, ended;       /* cut at 2^62 */
    bool has_ended;
} lb_trail_statement;

#define LB_TRAIL_TEXT 4096

/* A column: of a table, or of a query's result, which nothing can read. */
typedef struct lb_trail_column {
    lb_str name;  /* "db.table.column"; of a result the label */
    lb_str table; /* "db.table"; empty: not known, or a result */
    lb_str type;  /* of the table; empty: not known */
    bool result;
    uint32_t of; /* the statement whose result it is */
} lb_trail_column;

/* An edge between columns. Ids are places in columns. */
typedef struct lb_trail_edge {
    uint32_t statement;
    lb_lineage_edge_type type;
    bool view; /* its targets are a view's */
    uint32_t n_sources, n_targets;
    const uint32_t *sources, *targets;
} lb_trail_edge;

/* A column that was reached. Columns are in order of depth, then of name. */
typedef struct lb_trail_step {
    uint32_t column;
    uint32_t depth;  /* statements between it and the column asked for, at least; 0: that column itself */
    bool value;      /* by values alone; else some step on every way restricts */
    uint32_t edge;   /* the one it was first reached by; UINT32_MAX at depth 0 */
    uint32_t toward; /* the column at the other end of it */
} lb_trail_step;

typedef struct lb_trail_answer {
    lb_trail_step *steps;
    size_t n_steps;
    uint32_t *edges; /* all edges between the columns reached that count, ascending */
    size_t n_edges;
} lb_trail_answer;

lb_status lb_trail_make(lb_budget *budget, lb_trail **out, lb_error *err);
void lb_trail_free(lb_trail *t); /* takes NULL */
lb_budget *lb_trail_budget(const lb_trail *t);

/* Everything is copied. Errors: NOMEM, BUDGET. */
lb_status lb_trail_put(lb_trail *t, const lb_lineage_graph *graph, lb_error *err);

uint32_t lb_trail_columns(const lb_trail *t);
const lb_trail_column *lb_trail_column_at(const lb_trail *t, uint32_t column);
uint32_t lb_trail_statements(const lb_trail *t);
const lb_trail_statement *lb_trail_statement_at(const lb_trail *t, uint32_t statement);
uint32_t lb_trail_edges(const lb_trail *t);
const lb_trail_edge *lb_trail_edge_at(const lb_trail *t, uint32_t edge);

/* Find a column of a table by its name, any case: whole, or its end behind a dot where only one has it
 * ("table.column").
 * Errors: NOTFOUND (with what is near), USAGE (several, naming some). Cost: O(columns). */
lb_status lb_trail_find(const lb_trail *t, const char *name, uint32_t *column, lb_error *err);

/* Follow the edges from a column. `values_only`: PREDICATE edges do not count. `depth` 0: as far as it goes. The answer
 * lies in the arena. Errors: NOMEM, BUDGET. Cost: O(edges log edges). */
lb_status lb_trail_follow(lb_trail *t, uint32_t column, lb_trail_way way, bool values_only, uint32_t depth,
                          lb_arena *arena, lb_trail_answer *out, lb_error *err);

#endif
