/* SQL text → tree. The language is Impala's (spec/lineage.md, section 4), with what other systems add to it where that
 * does not clash; the ANSI dialect reads what clashes as PostgreSQL and DuckDB do. The time is linear in the text. */
#ifndef LB_SQL_PARSE_H
#define LB_SQL_PARSE_H

#include "base/buf.h"
#include "base/context.h"
#include "sql/sql_tree.h"

typedef enum lb_sql_dialect {
    LB_SQL_IMPALA, /* "x" is a string; backslashes escape; || is loose; ORDER BY binds to the last operand of a UNION;
                    * set operations are of one strength */
    LB_SQL_ANSI, /* "x" is an identifier; a quote is escaped by doubling it (E'…' has backslashes); || is tighter than
                    * comparisons; ORDER BY binds to the whole; INTERSECT is tighter than UNION */
} lb_sql_dialect;

/* Why a statement did not parse. */
typedef struct lb_sql_problem {
    uint32_t begin, end;         /* the bytes that were not expected; empty at the end of the text */
    uint32_t line, column;       /* from 1; columns count characters */
    const char *message;         /* "expected FROM or ',' but found key word WHERE"; one line */
    lb_sql_statement *statement; /* its kind is LB_SQL_BAD; NULL from lb_sql_parse_query() and its like */
    struct lb_sql_problem *next;
} lb_sql_problem;

typedef struct lb_sql_script {
    lb_str text;
    lb_sql_dialect dialect;
    lb_sql_statement *first; /* in the order of the text; empty ones between semicolons are left out */
    uint32_t count;
    lb_sql_problem *problems; /* at most one a statement, and at most LB_SQL_PROBLEMS */
    uint32_t problem_count;   /* of all bad statements */
} lb_sql_script;

#define LB_SQL_PROBLEMS 100

/* Parse a script of statements with semicolons between them. A bad statement becomes a problem, and parsing goes on
 * behind its semicolon: LB_OK then too. `cx` may be NULL; it is asked for cancellation only. The tree is of the
 * arena's, and lends from the text. Errors: UNSUPPORTED (4 GiB of text or more), BUDGET, NOMEM, CANCELLED. */
lb_status lb_sql_parse(lb_context *cx, lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_sql_script *out,
                       lb_error *err);

/* Parse a text that is one query (the definition of a stored view), one expression, or one type, as of a catalog
 * (`array<struct<f1:int>>`). Errors: USAGE with the problem's message, line and byte, and as lb_sql_parse. */
lb_status lb_sql_parse_query(lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_sql_query **out, lb_error *err);
lb_status lb_sql_parse_expr(lb_str text, lb_sql_dialect dialect, lb_arena *arena, lb_sql_expr **out, lb_error *err);
lb_status lb_sql_parse_type(lb_str text, lb_arena *arena, lb_sql_type **out, lb_error *err);

/* A problem as an error: USAGE, "line 3, column 9: expected …", with byte offset and line. */
lb_status lb_sql_problem_fail(const lb_sql_problem *problem, lb_error *err);

/* Write a problem for people, over several lines: where, what, the line of the query and a caret below it. Lines that
 * are too long for a terminal are cut around the place. */
lb_status lb_sql_problem_print(lb_str text, const lb_sql_problem *problem, lb_buf *out, lb_error *err);

/* Line and column, from 1, of a byte of the text; for places the analysis complains of. O(offset). */
void lb_sql_place(lb_str text, uint32_t offset, uint32_t *line, uint32_t *column);

/* The value of an LB_SQL_STRING: quotes gone, escapes decoded; lent by the text or made in the arena. NULL `at`: no
 * memory, see arena->why. */
lb_str lb_sql_string_value(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *string, lb_arena *arena);

/* Bytes [begin, end) of the text. */
static inline lb_str lb_sql_text(lb_str text, uint32_t begin, uint32_t end)
{
    return (lb_str){ text.at + begin, end - begin };
}

#endif
