/* Rows that a verb prints: what the verbs that do so share. */
#ifndef LB_CLI_ROWS_H
#define LB_CLI_ROWS_H

#include "cli.h"

enum { TERMINAL_ROWS = 1000, SHORT_ROWS = 10 };

/* One of slice and take says which rows. */
typedef struct rows_plan {
    const lb_slice *slice;
    const lb_take *take;
    const char *form;      /* of lb_print, or "raw" */
    const char *delimiter; /* csv into .tsv or .psv */
    const char *file;      /* NULL: standard output */
    cli_list columns;
    char *names;      /* what columns points into */
    bool capped;      /* the limit is the terminal's, not the caller's */
    uint64_t skipped; /* rows before the first that is given */
} rows_plan;

/* Form and file from the options; EXIT_DONE or the exit status, with its message printed. */
int rows_form(cli *c, rows_plan *plan);

/* Columns from the options, into plan->columns. */
void rows_columns(const cli *c, rows_plan *plan);

/* Without a limit, a table on a terminal stops at TERMINAL_ROWS. */
bool rows_are_capped(const cli *c, rows_plan *plan, uint64_t limit);

/* Print, write or explain the rows; gives the exit status. */
int rows_give(cli *c, lb_table *table, const rows_plan *plan);
void rows_free(rows_plan *plan);

#endif
