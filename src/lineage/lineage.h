/* Column lineage of SQL: statements and a catalog in, graphs out (lineage.md section 3).
 *
 *     lb_lineage_options options = { .catalog = catalog, .default_db = LB_STR("default") };
 *     lb_lineage_run *run = NULL;
 *     LB_TRY(lb_lineage_open(&options, text, size, &run, err));
 *     const lb_lineage_result *result;
 *     while ((status = lb_lineage_next(run, &result, err)) == LB_OK && result != NULL)
 *         if (result->graph != NULL)
 *             write(result->graph);
 *     lb_lineage_close(run);
 */
#ifndef LB_LINEAGE_LINEAGE_H
#define LB_LINEAGE_LINEAGE_H

#include "lineage/lineage_catalog.h"
#include "lineage/lineage_graph.h"
#include "sql/sql_parse.h"

/* Texts are lent and must live as long as the run. */
typedef struct lb_lineage_options {
    const lb_catalog *catalog;         /* NULL: none; only read, so that runs of several threads may share one */
    lb_context *context;               /* asked for cancellation only; may be NULL */
    lb_sql_dialect dialect;            /* 0: Impala's */
    lb_budget *budget;                 /* NULL: no limit */
    lb_str default_db;                 /* empty: "default" */
    bool expand_complex_types;         /* a star includes columns of complex types */
    bool expr_rewrites;                /* fold constants before columns are collected (lineage.md 3.6) */
    bool keep_newlines;                /* of the recorded text; else each becomes a blank */
    bool strict;                       /* a name that is unresolved or ambiguous fails its statement */
    lb_str warehouse;                  /* where tables without a location of their own lie; empty: "/test-warehouse" */
    lb_str user;                       /* recorded as it is */
    uint64_t query_id_hi, query_id_lo; /* of the first statement; each further one gets the next low half */
    int64_t started, ended;            /* seconds since the epoch; ended is raised to started */
} lb_lineage_options;

typedef enum lb_lineage_mark_kind {
    LB_LINEAGE_UNKNOWN_TABLE,   /* no catalog knows it: its columns are taken as they are named */
    LB_LINEAGE_UNKNOWN_COLUMN,  /* no relation in scope has it */
    LB_LINEAGE_AMBIGUOUS_COLUMN /* several relations have it, or could have: every one of them is a source */
} lb_lineage_mark_kind;

/* A name that could not be resolved for certain. */
typedef struct lb_lineage_mark {
    lb_lineage_mark_kind kind;
    uint64_t offset; /* of the name in the text; in a stored view's text: of the view's name in this one */
    lb_str name;     /* as written */
    lb_str view;     /* "db.view" when it stands in a stored view's text, else empty */
} lb_lineage_mark;

/* One statement. Lent until the next call on the run. */
typedef struct lb_lineage_result {
    uint64_t begin, end; /* its bytes in the text, without the semicolon */
    lb_status status;    /* other than OK: it has no graph, `error` says why; the script goes on */
    const lb_error *error;
    const lb_lineage_graph *graph; /* NULL: the statement leaves no record */
    const lb_lineage_mark *marks;  /* in order of offsets; the first LB_LINEAGE_MARK_LIMIT of them */
    size_t n_marks;
    uint64_t n_unknown_tables, n_unknown_columns, n_ambiguous_columns; /* all of them */
} lb_lineage_result;

#define LB_LINEAGE_MARK_LIMIT 1000

typedef struct lb_lineage_run lb_lineage_run;

/* Begin a script. `text` is lent and must live as long as the run. Tables and views that its statements make (CREATE
 * TABLE and VIEW, ALTER VIEW, DROP, USE) are known to the later ones and change no catalog. Errors: NOMEM, BUDGET. */
lb_status lb_lineage_open(const lb_lineage_options *options, const char *text, size_t size, lb_lineage_run **out,
                          lb_error *err);

/* The next statement, or *out NULL at the end. A statement that cannot be read or resolved is a result with a status,
 * not a failure of this call. Errors: NOMEM. */
lb_status lb_lineage_next(lb_lineage_run *run, const lb_lineage_result **out, lb_error *err);

void lb_lineage_close(lb_lineage_run *run); /* takes NULL */

#endif
