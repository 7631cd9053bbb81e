/* Files cut into runs of whole records: what splits.c makes and splits_check.c reads again. */
#ifndef LB_LAKE_SPLITS_H
#define LB_LAKE_SPLITS_H

#include "lake/table.h"

typedef struct lb_split_item {
    uint64_t first_byte, bytes, first_row, rows;
} lb_split_item;

/* The splits of one file. */
typedef struct lb_split_file {
    const char *path; /* as shown */
    bool by_bytes;
    uint64_t header_bytes, first_split; /* first_split: of the table's */
    size_t n, cap;
    lb_split_item *items;
} lb_split_file;

struct lb_splits {
    lb_table *t;
    lb_data *single; /* the file, where the table is one */
    uint64_t target, n;
    lb_split_file *files; /* of the table, in order */
    uint64_t n_files;
};

/* Open a file of the table and check that it is still the same; *own: to be closed. */
lb_status lb_splits_open_file(const lb_splits *s, uint64_t file, lb_data **out, bool *own, lb_error *err);

#endif
