/* Taking scattered rows: a window of them is sorted, read block by block in parallel, and given out in the order
 * asked. Shared by the files that plan, read, explain and give raw records. */
#ifndef LB_LAKE_TAKE_H
#define LB_LAKE_TAKE_H

#include "column/gather.h"
#include "lake/project.h"

#define LB_TAKE_WINDOW_ROWS ((uint64_t)1 << 22)

/* ---- which rows (take_rows.c) */

typedef struct lb_take_rows {
    lb_context *cx;
    const uint64_t *list; /* NULL: the permutation's values from place `from` on */
    uint64_t *own;        /* what list is, where we made it */
    uint64_t own_bytes;   /* counted against the budget */
    lb_permutation order;
    uint64_t from, count;
} lb_take_rows;

/* `total`: rows of the table, LB_ROWS_UNKNOWN for a list only. Errors: USAGE: a row past the end. */
lb_status lb_take_rows_init(lb_take_rows *r, lb_context *cx, const lb_take *take, uint64_t total, lb_error *err);
void lb_take_rows_free(lb_take_rows *r);

static inline uint64_t lb_take_row(const lb_take_rows *r, uint64_t i)
{
    return r->list != NULL ? r->list[i] : lb_permutation_at(&r->order, r->from + i);
}

lb_status lb_take_past_end(uint64_t row, uint64_t total, lb_error *err);

/* ---- a window and its plan (take_plan.c) */

/* Rows of one file. */
typedef struct lb_take_part {
    uint64_t file, first_row; /* of the table */
    size_t first, end;        /* in the window's rows */
    size_t segments;          /* not yet read: the file is closed after the last */
    pthread_mutex_t lock;     /* of what follows */
    bool opened, own;
    lb_data *data;
    lb_project_file columns;
} lb_take_part;

/* Rows that are read in one pass. Where segments begin depends on the file and the rows alone, not on the threads. */
typedef struct lb_take_segment {
    size_t part;
    size_t first, end; /* in the window's rows */
    size_t chunk;      /* bytes to read at a time; 0: the format's choice */
    size_t n_batches, cap_batches;
    struct ArrowArray *batches;
    lb_extent *extents; /* of raw records, in the window's; NULL */
} lb_take_segment;

typedef struct lb_take_window {
    lb_table *t;
    lb_data *single; /* the file to read, where the table is one */
    lb_arena arena;
    size_t n;       /* rows asked */
    uint32_t *pick; /* of each of them, its place in rows */
    size_t n_rows;  /* distinct ones */
    uint64_t *rows; /* ascending; rows of the file of their part */
    bool as_asked;  /* rows are what was asked, in that order */
    size_t n_parts, n_segments, cap_parts, cap_segments;
    lb_take_part *parts;
    lb_take_segment *segments;
} lb_take_window;

/* Plan rows [at, at+n) of `rows`. `w` is to be freed also after an error. */
lb_status lb_take_plan(lb_take_window *w, lb_table *t, lb_data *single, const lb_take_rows *rows, uint64_t at, size_t n,
                       lb_error *err);
void lb_take_window_free(lb_take_window *w);

/* Rows of a window for the budget that there is. */
uint64_t lb_take_window_rows(lb_table *t, const lb_data *single, uint64_t total);

/* The entry of a part; lent from `arena` or the open file. */
lb_status lb_take_entry(const lb_take_window *w, uint64_t file, lb_arena *arena, lb_entry *out, lb_error *err);

/* Open a part's file, once for all its segments; `project` NULL: no columns. And leave it: after the last segment it
 * is closed. */
lb_status lb_take_part_open(lb_take_window *w, lb_take_part *p, const lb_project *project, bool fresh, lb_error *err);
void lb_take_part_leave(lb_take_part *p);

/* Fewer rows than were asked for came of a segment; `missing` is the first that did not. */
lb_status lb_take_short(lb_take_window *w, uint64_t missing, lb_error *err);

/* ---- what all calls begin with (take.c) */

typedef struct lb_taking {
    lb_table *t;
    const lb_take *want;
    lb_data *single;
    uint64_t total; /* rows of the table; LB_ROWS_UNKNOWN */
    lb_take_rows rows;
    uint64_t window; /* rows */
    lb_data *fresh;  /* the file as it is now, read without the map after it changed; NULL */
} lb_taking;

lb_status lb_taking_init(lb_taking *k, lb_table *t, const lb_take *want, lb_error *err);
void lb_taking_free(lb_taking *k);

/* Have the places of all rows, where only a sample of the file was read, so that several windows do not read it over
 * and over. */
lb_status lb_taking_index(lb_taking *k, lb_error *err);

/* After STALE, before anything was given out: go on with the file as it is now. False: that cannot help, or failed. */
lb_status lb_taking_afresh(lb_taking *k, lb_status status, lb_error *err);

#endif
