/* Tree → SQL text: whole statements, and the labels that lineage gives to result columns without a name. */
#ifndef LB_SQL_PRINT_H
#define LB_SQL_PRINT_H

#include "sql/sql_parse.h"

/* Write a tree as SQL on one line, so that parsing it again gives the same tree, places apart. `text` and `dialect`
 * are those it was parsed from. Errors: BUDGET, NOMEM; USAGE: a bad statement. */
lb_status lb_sql_print(lb_str text, lb_sql_dialect dialect, const lb_sql_statement *statement, lb_buf *out,
                       lb_error *err);
lb_status lb_sql_print_query(lb_str text, lb_sql_dialect dialect, const lb_sql_query *query, lb_buf *out,
                             lb_error *err);
lb_status lb_sql_print_expr(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *expr, lb_buf *out, lb_error *err);
lb_status lb_sql_print_type(lb_str text, const lb_sql_type *type, lb_buf *out, lb_error *err);

/* Write an expression as Impala shows it (spec/lineage.md, 1.6): its rewrites done, nothing lower-cased but names of
 * functions. */
lb_status lb_sql_render(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *expr, lb_buf *out, lb_error *err);

/* Write the label of a select item that has no alias, is no plain column and does not stand under the Hive rule (spec
 * 1.5, 4 and 5): an analytic call as `f(x) OVER(...)`, all else rendered, its
 * ASCII letters in lower case. */
lb_status lb_sql_label(lb_str text, lb_sql_dialect dialect, const lb_sql_expr *expr, lb_buf *out, lb_error *err);

/* An operator as it is written, "IS NOT DISTINCT FROM"; "" for none. Static. */
const char *lb_sql_op_text(unsigned op);

/* Do two trees say the same, places and texts apart? Literals compare by their tokens. */
bool lb_sql_same(lb_str text_a, const lb_sql_statement *a, lb_str text_b, const lb_sql_statement *b);

#endif
