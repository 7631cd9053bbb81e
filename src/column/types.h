/* Types: their words (conformance terms of types.md), how they meet (types.md section 6), and Arrow schemas made of them. */
#ifndef LB_COLUMN_TYPES_H
#define LB_COLUMN_TYPES_H

#include "base/buf.h"
#include "column/stats.h"
#include "nanoarrow/nanoarrow.h"

/* Field metadata key: the column's name as the file has it, where it had to be changed. */
#define LB_META_ORIGINAL_NAME "lakebed.original_name"

/* Field metadata key of a schema whose one column is the rows themselves. */
#define LB_META_ROWS "lakebed.rows"

/* Field metadata key, with the value `true`: the type was declared, not found by looking at values. */
#define LB_META_DECLARED "lakebed.declared"

/* Field metadata key of a column typed by its values: some integer is beyond 2^53, or some date or timestamp beyond what
 * nanoseconds hold. Says how the column may meet others where no statistics are kept. */
#define LB_META_WIDE "lakebed.wide"
/* The same of some integer below zero. */
#define LB_META_NEGATIVE "lakebed.negative"

/* Field metadata key, with the value `true`, of a branch of a union that holds the nulls of the union itself, where a format has
 * such and Arrow has not. It has no part in the type's words, and prints as null. */
#define LB_META_NULL_BRANCH "lakebed.null_branch"

/* Append a type in words: `int64`, `{"list":"int64"}`; `quoted`: simple ones in JSON quotes. Every Arrow type has words;
 * extension types give those of their storage, but arrow.uuid gives uuid. Errors: NOMEM, CORRUPT (a schema that is none). */
lb_status lb_type_words(const struct ArrowSchema *schema, bool quoted, lb_buf *out, lb_error *err);

/* Make the type that simple words name (`decimal(10,2)`, `timestamp[us,UTC]`, …; also the JSON forms of nested
 * types). `out` gets no name. Errors: USAGE, listing what is known. */
lb_status lb_type_of_words(const char *words, struct ArrowSchema *out, lb_error *err);

/* Schema building. `out` must be unset; on error nothing has to be released. */
lb_status lb_schema_struct(struct ArrowSchema *out, int64_t n_children, lb_error *err);
lb_status lb_schema_set_name(struct ArrowSchema *field, lb_str name, lb_error *err);
lb_status lb_schema_set_meta(struct ArrowSchema *field, const char *key, lb_str value,
                             lb_error *err); /* keeps the others */
lb_status lb_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err);
bool lb_schema_get_meta(const struct ArrowSchema *field, const char *key, lb_str *value);
/* Same types, names, nullability, nested ones too; metadata is not compared. */
bool lb_schema_equal(const struct ArrowSchema *a, const struct ArrowSchema *b);

/* One side of a meeting of columns of equal name. */
typedef struct lb_column_side {
    const struct ArrowSchema *field;
    bool inferred;           /* typed by looking at values (text, JSON, MessagePack, workbooks), not declared */
    const lb_colstat *stats; /* may be NULL: bounds unknown */
} lb_column_side;

/* What two columns of equal name become (types.md section 6). `*met` false: they conflict, and `out` is not set. The result
 * is nullable if either is. `out` keeps the name and metadata of `a`. */
lb_status lb_types_meet(const lb_column_side *a, const lb_column_side *b, struct ArrowSchema *out, bool *met,
                        lb_error *err);

/* Bring an array to the type of `to` when lb_types_meet made `to` from its own type: widening only. Consumes `array` (also
 * on error). A value that does not fit is CORRUPT and says which row of the array (err->row). Same type: moves. */
lb_status lb_array_cast(const struct ArrowSchema *from, struct ArrowArray *array, const struct ArrowSchema *to,
                        struct ArrowArray *out, lb_error *err);

/* An array of `length` nulls of any type. */
lb_status lb_array_nulls(const struct ArrowSchema *type, int64_t length, struct ArrowArray *out, lb_error *err);

/* nanoarrow's error codes as ours. */
lb_status lb_fail_arrow(lb_error *err, int code, const struct ArrowError *arrow_error);

#endif
