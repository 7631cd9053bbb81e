/* How rows are printed: a tree of nodes, one a column and below, whose print functions are chosen once from type and
 * style. Private to the printers. */
#ifndef LB_COLUMN_PRINT_NODES_H
#define LB_COLUMN_PRINT_NODES_H

#include "base/context.h"
#include "column/print.h"
#include "column/values.h"

typedef enum print_style {
    PRINT_JSON, /* ndjson, json, and nested values inside csv and tables */
    PRINT_TAGGED,
    PRINT_CANONICAL,
    PRINT_TEXT, /* csv: the plain text, quoted by the caller where needed */
    PRINT_CELL  /* table: as text, but binary as its size */
} print_style;

typedef struct print_node print_node;

/* Append the value at `row`, which is not null. */
typedef lb_status (*print_fn)(const print_node *n, int64_t row, lb_buf *out, lb_error *err);

struct print_node {
    print_fn put;
    const struct ArrowArrayView *view; /* set by print_node_bind, with the two below */
    const uint8_t *validity;           /* NULL: no nulls */
    const void *data;                  /* second buffer */
    int64_t offset;
    print_style style;
    enum ArrowType type;
    int64_t unit; /* times: counts a second */
    int scale;
    bool zone, text_keys;
    bool null_branch; /* of a union: its nulls */
    lb_str key;       /* `"name":` */
    print_node *children;
    size_t n_children;
};

lb_status print_node_make(lb_arena *arena, const struct ArrowSchema *field, print_style style, print_node *out,
                          lb_error *err);
void print_node_bind(print_node *n, const struct ArrowArrayView *view);

/* Append the value at `row`; nulls by the style. */
lb_status print_node_value(const print_node *n, int64_t row, lb_buf *out, lb_error *err);

/* Whether a value is null in the end, through dictionaries and runs. */
bool print_node_is_null(const print_node *n, int64_t row);

static inline lb_status print_room(lb_buf *out, size_t more, lb_error *err)
{
    return out->cap - out->size >= more ? LB_OK : lb_buf_reserve(out, more, err);
}

static inline bool print_is_null_here(const print_node *n, int64_t row)
{
    return n->validity != NULL && !ArrowBitGet(n->validity, n->offset + row);
}

/* ---------------------------------------------------------------- rows of a stream */

typedef struct print_job {
    lb_context *cx;
    lb_form form;
    const struct ArrowSchema *schema;
    const lb_print_options *options;
    char delimiter;
    lb_write_fn write;
    void *user;
    lb_buf out; /* handed to `write` in pieces of at least PRINT_PIECE bytes */
    lb_arena arena;
    print_node *columns;
    size_t n_columns;
    uint64_t rows;
    void *state; /* of the form */
} print_job;

#define PRINT_PIECE ((size_t)128 * 1024)

/* A form: begin, the rows of one batch, end; `close` frees job->state, also after errors. */
typedef struct print_form {
    const char *name;
    lb_form form;
    print_style style;
    lb_status (*open)(print_job *job, lb_error *err);
    lb_status (*batch)(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err);
    lb_status (*end)(print_job *job, lb_error *err);
    void (*close)(print_job *job);
} print_form;

/* Hand over what is buffered. */
lb_status print_flush(print_job *job, lb_error *err);

static inline lb_status print_flush_full(print_job *job, lb_error *err)
{
    return job->out.size < PRINT_PIECE ? LB_OK : print_flush(job, err);
}

lb_status print_rows_json(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err);
lb_status print_end_json(print_job *job, lb_error *err);
lb_status print_open_csv(print_job *job, lb_error *err);
lb_status print_rows_csv(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err);
void print_close_csv(print_job *job);
lb_status print_open_table(print_job *job, lb_error *err);
lb_status print_rows_table(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err);
lb_status print_end_table(print_job *job, lb_error *err);
void print_close_table(print_job *job);
lb_status print_open_ipc(print_job *job, lb_error *err);
lb_status print_rows_ipc(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err);
lb_status print_end_ipc(print_job *job, lb_error *err);
void print_close_ipc(print_job *job);

#endif
