/* The printer, shared by its files. Private to the room. The first failure sticks in `status`. */
#ifndef LB_SQL_PRINTER_H
#define LB_SQL_PRINTER_H

#include "sql/sql_print.h"

typedef struct lb_sql_printer {
    lb_str text; /* the tree was parsed from */
    bool ansi;
    bool label; /* as Impala shows it, and not as it was written */
    lb_buf *out;
    lb_error *err;
    lb_status status;
} lb_sql_printer;

/* Append; a blank comes between what would become one token, as two minus signs. */
void lb_sql_put_str(lb_sql_printer *pr, lb_str text);
void lb_sql_put(lb_sql_printer *pr, const char *text);
void lb_sql_put_lower(lb_sql_printer *pr, lb_str text);
void lb_sql_put_upper(lb_sql_printer *pr, lb_str text);
/* `value` in single quotes, escaped. */
void lb_sql_put_quoted(lb_sql_printer *pr, lb_str value);

void lb_sql_put_name(lb_sql_printer *pr, const lb_sql_name *name);
void lb_sql_put_path(lb_sql_printer *pr, lb_sql_names path);
void lb_sql_put_names(lb_sql_printer *pr, lb_sql_names names); /* a, b */

void lb_sql_put_expr(lb_sql_printer *pr, const lb_sql_expr *e);
void lb_sql_put_list(lb_sql_printer *pr, const lb_sql_expr *first); /* a, b */
void lb_sql_put_items(lb_sql_printer *pr, const lb_sql_item *first);
void lb_sql_put_order(lb_sql_printer *pr, const lb_sql_order *first);
void lb_sql_put_window(lb_sql_printer *pr, const lb_sql_window *w);
void lb_sql_put_type(lb_sql_printer *pr, const lb_sql_type *type);
void lb_sql_put_query(lb_sql_printer *pr, const lb_sql_query *q);
void lb_sql_put_statement(lb_sql_printer *pr, const lb_sql_statement *s);

/* The forms in which a label differs from the text; false: none of them, print as written. sql_label.c */
bool lb_sql_put_as_label(lb_sql_printer *pr, const lb_sql_expr *e);

#endif
