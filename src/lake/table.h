/* A file or a lake as rows: what is inside an lb_table, shared by the files that open, slice and explain it. */
#ifndef LB_LAKE_TABLE_H
#define LB_LAKE_TABLE_H

#include <pthread.h>

#include "base/names.h"
#include "lake/data.h"
#include "lake/unite.h"

/* A file of a lake that is not as the map says: surveyed when the lake was opened. */
typedef struct lb_override {
    uint64_t index;
    bool gone; /* it is no longer there, or cannot be read: no rows */
    lb_arena arena;
    lb_entry entry;
} lb_override;

struct lb_table {
    lb_context *cx;
    lb_arena arena;
    pthread_mutex_t lock; /* of arena, unite, explained, indexed after opening */
    char *path;           /* as given */
    bool lake;

    lb_read_options *over; /* asked; never NULL */
    const char *format;    /* forced; NULL */
    lb_schema_mode mode;
    bool memory_map, rows_only;
    const char *no_map_reason;

    lb_map *map;                 /* of the lake, or the one that lists the file; NULL */
    lb_lake_options *remembered; /* of the map */
    lb_data_request request;     /* of a single file */
    lb_data *file;               /* a single file, opened */

    const char *version;      /* of a dataset, asked by PATH@VERSION; NULL */
    const char *root;         /* the folder that the map's paths are below: path, or a folder above it */
    size_t prefix;            /* bytes of those paths that lead to path; 0: the map is path's own */
    uint64_t base, base_row;  /* the first entry of the table in the map, and its first row there */
    uint64_t n_files, failed; /* failed: could not be read, or not to their end */
    lb_override *overrides;   /* by ascending index */
    size_t n_overrides;
    uint64_t *first_rows; /* n_files + 1, where the map's do not hold; else NULL */
    uint64_t rows;        /* LB_ROWS_UNKNOWN: only a sample was read */
    lb_data *indexed;     /* then, once lb_table_index was asked: the file with the places of all rows */
    uint64_t indexed_rows;

    struct ArrowSchema schema;                             /* of the table; nothing but nulls is shown as string */
    lb_names columns;                                      /* places of its fields */
    lb_unite *unite;                                       /* made when statistics are asked for */
    uint64_t explained_at, explained_part, explained_file; /* explained last: slice's first row, part, its file */
    atomic_flag sample_told;                               /* that types come from a sample */
};

/* The entry of a file of a lake, as this table reads it. */
lb_status lb_table_entry(lb_table *t, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err);
const char *lb_table_reason(lb_table *t, uint64_t index, const lb_entry *entry);

/* An entry's path as the table shows it: below the folder that was opened. */
lb_str lb_table_shown(const lb_table *t, lb_str rel_path);

/* Global row of a file's first one; index may be n_files. */
lb_status lb_table_first_row(lb_table *t, uint64_t index, uint64_t *row, lb_error *err);

/* The file that holds a row; UINT64_MAX past the end. */
lb_status lb_table_find_row(lb_table *t, uint64_t row, uint64_t *index, lb_error *err);

/* Tell, once, when types are shown or used that come from a sample of the file. */
void lb_table_tell_sample(lb_table *t);

/* A single file by which all rows are found, and how many there are: the table's own, or, where only a sample of it
 * was read, the same with the places of all its rows, for which it is read to the end once. The file is the table's;
 * NULL for a lake. */
lb_status lb_table_index(lb_table *t, lb_data **out, uint64_t *rows, lb_error *err);

/* Open a file of the table; for a single file it is the table's own (*own false). */
lb_status lb_table_open_file(lb_table *t, uint64_t index, lb_data **out, bool *own, lb_error *err);

/* Rows [*first, *end) that a slice means, cut at the table's end where that is known. */
void lb_table_span(const lb_table *t, const lb_slice *slice, uint64_t *first, uint64_t *end);

#endif
