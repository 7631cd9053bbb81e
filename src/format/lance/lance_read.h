/* Rows of one fragment as Arrow arrays. A fragment has one or more data files with different fields of the same rows; what no
 * file has is null. Values go from the file into the array's buffers, runs of rows by one read where they lie together. */
#ifndef LB_FORMAT_LANCE_READ_H
#define LB_FORMAT_LANCE_READ_H

#include "format/lance/lance_data.h"

/* Rows [first, first + count). */
typedef struct lb_lance_run {
    uint64_t first, count;
} lb_lance_run;

/* Values of a dictionary, loaded whole. */
typedef struct lb_lance_dictionary {
    uint64_t count;
    const uint64_t *ends; /* VAR: where each value ends in data; else NULL */
    const uint8_t *data;
} lb_lance_dictionary;

typedef struct lb_lance_part lb_lance_part;

/* The files of a fragment, lent by whoever reads. */
struct lb_lance_part {
    size_t n_files;
    lb_lance_data_file *const *files;
    uint64_t rows; /* physical */
    /* Open file `file` of the part; it stays open as long as the part is used. */
    lb_status (*open)(void *user, const lb_lance_part *part, size_t file, lb_lance_data **out, lb_error *err);
    /* Values of a dictionary field; `data` is the file its keys are in. */
    lb_status (*dictionary)(void *user, const lb_lance_node *node, const lb_lance_data *data,
                            const lb_lance_dictionary **out, lb_error *err);
    void *user;
};

/* Load the values that `position` and `length` of a field tell of, from the file whose footer begins at `end`.
 * Errors: CORRUPT, BUDGET, NOMEM, IO. */
lb_status lb_lance_dictionary_load(const lb_lance_node *node, const lb_lance_field *field, lb_store *store,
                                   uint64_t end, lb_arena *arena, lb_lance_dictionary *out, lb_error *err);

/* The first file of the part that lists a field; SIZE_MAX: none does. */
size_t lb_lance_part_file(const lb_lance_part *part, int32_t id);

/* An array that is being made, with those below it. */
typedef struct lb_lance_column lb_lance_column;
struct lb_lance_column {
    const lb_lance_node *node;
    struct ArrowArray *array;
    bool has_valid; /* a null came: the array has a bitmap of `length` bits */
    int64_t length;
    size_t n_children;
    lb_lance_column *children;
};

/* What reading needs beside: scratch memory, and whether an array passed what 32-bit offsets hold. */
typedef struct lb_lance_reading {
    lb_context *cx;
    lb_buf bytes, copy, segments; /* scratch */
    bool too_long; /* the call failed because a text or list column outgrew its offsets: ask for fewer rows */
} lb_lance_reading;

void lb_lance_reading_init(lb_lance_reading *r, lb_context *cx);
void lb_lance_reading_free(lb_lance_reading *r);

/* Begin a column in `array`, made of the schema of lb_lance_node_schema, with ArrowArrayStartAppending done. The column lives in the
 * arena; the array stays the caller's. */
lb_status lb_lance_column_begin(const lb_lance_node *node, struct ArrowArray *array, lb_arena *arena,
                                lb_lance_column *out, lb_error *err);

/* Append rows of a part: runs ascending, inside part->rows. Errors: CORRUPT, UNSUPPORTED, STALE, BUDGET (r->too_long), NOMEM, IO. */
lb_status lb_lance_column_read(lb_lance_reading *r, const lb_lance_part *part, lb_lance_column *column,
                               const lb_lance_run *runs, size_t n_runs, lb_error *err);

/* Mark values null where the booleans of `companion`, an ended column's array of the same shape, are false; `level`: of items so many
 * fixed-size lists deep. Before lb_lance_column_end. Errors: CORRUPT: other shape. */
lb_status lb_lance_column_nulls(lb_lance_column *column, unsigned level, struct ArrowArray *companion, lb_error *err);

/* Set lengths and null counts; ArrowArrayFinishBuilding is left to the caller. Whatever is nullable text and empty is null, unless `keep_empty` says of a node that a companion tells. */
typedef bool (*lb_lance_keep_fn)(void *user, const lb_lance_node *node);
lb_status lb_lance_column_end(lb_lance_column *column, lb_lance_keep_fn keep_empty, void *user, lb_error *err);

#endif
