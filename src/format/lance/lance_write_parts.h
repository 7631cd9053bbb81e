/* What the files of the Lance writer share: columns, sink, dictionaries. Private to them. */
#ifndef LB_FORMAT_LANCE_WRITE_PARTS_H
#define LB_FORMAT_LANCE_WRITE_PARTS_H

#include "column/values.h"
#include "format/lance/lance_write.h"

/* Where the bytes of a file go, and how many went. */
typedef struct lw_sink {
    lb_write_fn write;
    void *user;
    uint64_t at; /* position of the next byte */
    lb_buf held; /* not yet written */
} lw_sink;

lb_status lw_put(lw_sink *sink, const void *bytes, size_t size, lb_error *err);
lb_status lw_flush(lw_sink *sink, lb_error *err);

/* Distinct values, numbered in the order they came: of `width` bytes, or of any length where width is 0. */
typedef struct lw_dictionary {
    size_t width;
    lb_buf data, ends;    /* ends: u64 of each value */
    uint64_t count, most; /* most: how many the key type can tell apart */
    uint32_t *slots;      /* value number + 1; 0: free */
    size_t n_slots;
} lw_dictionary;

void lw_dictionary_init(lw_dictionary *d, lb_budget *budget, size_t width, uint64_t most);
void lw_dictionary_free(lw_dictionary *d);

/* Number of a value, which is added where it is new. Errors: UNSUPPORTED (more than the keys can tell), BUDGET,
 * NOMEM. */
lb_status lw_dictionary_number(lw_dictionary *d, lb_str value, uint64_t *number, lb_error *err);

/* Add a value as the next number, also where it is there already. */
lb_status lw_dictionary_add(lw_dictionary *d, lb_str value, lb_error *err);

/* The values as they stand in a file from byte `at` on; *position is what the schema's dictionary entry points at. */
lb_status lw_dictionary_encode(const lw_dictionary *d, uint64_t at, lb_buf *out, uint64_t *position, lb_error *err);

/* Which values of a column are there; one bit each, in one file. */
typedef struct lw_valid {
    bool keep;  /* a companion tells */
    bool dirty; /* `bits` holds all of them; else all are true */
    uint64_t count;
    lb_buf bits;
    lb_buf groups; /* u64: count at the end of each group */
} lw_valid;

typedef enum lw_kind { LW_FIXED, LW_BITS, LW_BYTES, LW_LIST, LW_STRUCT, LW_NULL, LW_KEYS } lw_kind;

typedef struct lw_page {
    int64_t position, length;
} lw_page;

typedef struct lw_column {
    lw_kind kind;
    const struct ArrowSchema *schema;
    lb_lance_field *field;
    size_t parent;               /* SIZE_MAX: top */
    size_t n_inside;             /* columns that follow and lie inside */
    size_t width;                /* bytes of one innermost value in the file */
    bool large;                  /* a list with offsets of 64 bits */
    unsigned levels;             /* fixed-size lists around the innermost values */
    int64_t each[LB_TYPE_DEPTH]; /* how many items each of those has */
    lw_valid *valid;             /* levels + 1 */
    bool saw_null, saw_empty;
    lb_buf pages; /* lw_page of each group */
    lw_dictionary dictionary;
    bool decoded;        /* a dictionary column whose batches hold values, not keys */
    uint64_t translated; /* serial of the batch that `numbers` is for */
    const void *translated_from;
    lb_buf numbers; /* int64 for each value of the batch's dictionary; -1: null */
} lw_column;

/* Lists (all but the last) and booleans that tell which values of a column are null. */
typedef struct lw_companion {
    size_t column;
    unsigned level;
    lb_lance_field **fields;
    size_t n_fields;
} lw_companion;

/* Values [first, first + count) of a view, not counting its own offset. view NULL: values below a null. */
typedef struct lw_run {
    const struct ArrowArrayView *view;
    int64_t first, count;
} lw_run;

struct lb_lance_batch {
    struct ArrowArray array;
    struct ArrowArrayView view;
    uint64_t serial;
};

struct lb_lance_writer {
    lb_context *cx;
    lb_arena arena;
    const struct ArrowSchema *schema;
    lb_lance_writer_options options;
    lw_column *columns; /* preorder */
    size_t n_columns;
    lw_companion *companions;
    size_t n_companions, cap_companions;
    lw_sink sink;
    bool dry; /* only look for the row that fails */
    uint64_t serial;
    lb_buf group_ends; /* i32: rows at the end of each group of this file */
    uint64_t rows;     /* of this file */
    lb_buf scratch;
};

/* Put the page of one column, and those of the columns inside it. */
lb_status lw_put_column(lb_lance_writer *w, size_t column, const lw_run *runs, size_t n_runs, lb_error *err);

/* May this column not change whether it is nullable? Items of lists always are, or no release of Lance reads them. */
bool lw_is_nullable_fixed(const lb_lance_writer *w, const lw_column *c);

/* Dotted path of a column. */
void lw_path(const lb_lance_writer *w, size_t column, char *out, size_t cap);

#endif
