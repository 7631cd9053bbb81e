/* Row numbers as people and files give them: `17`, and `3-9` for 3 to 9, both ends included. */
#ifndef LB_CLI_ROW_LIST_H
#define LB_CLI_ROW_LIST_H

#include "cli.h"

typedef struct row_range {
    uint64_t first, last;
} row_range;

typedef struct row_list {
    size_t n_ranges, cap_ranges;
    row_range *ranges;
    size_t count;   /* rows, once row_list_expand was called */
    uint64_t *rows; /* in the order given */
} row_list;

/* Add a word of the command line; EXIT_DONE or the exit status, with its message printed. */
int row_list_word(cli *c, row_list *list, const char *word);

/* Add all of a file, `-` being standard input: a row or range a line; blanks around it and empty lines do not count. */
int row_list_file(cli *c, row_list *list, const char *path);

/* Write the ranges out as rows. A row past the end of the table is an error before it takes memory. */
int row_list_expand(cli *c, row_list *list, lb_table *table);

void row_list_free(row_list *list);

#endif
