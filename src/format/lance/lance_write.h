/* Writing Lance v1 data files. One writer serves all files of one operation: it knows the fields, gathers dictionaries and
 * settles what becomes of nulls; files are begun and ended, and between them groups of rows are put.
 *
 *     pages, group after group; in a group fields depth first
 *     page table                       16 bytes for each field id and group
 *     values of the dictionary columns, by ascending field id
 *     length | Manifest                the schema of this file alone
 *     length | FileMetadata
 *     footer, version 0.1
 *
 * Nulls. A page has no validity. Strings and binaries of a nullable field say null by being empty; everything else loses
 * its nulls. What cannot be said is met by lb_lance_nulls. */
#ifndef LB_FORMAT_LANCE_WRITE_H
#define LB_FORMAT_LANCE_WRITE_H

#include "column/types.h"
#include "format/lance/lance_message.h"

/* A companion: the field `field` holds booleans that are false where the values of field `of` are null, in as many
 * lists as those values lie in. `level`: of items so many fixed-size lists deep (which are no fields). */
typedef struct lb_lance_companion {
    int32_t field, of;
    unsigned level;
} lb_lance_companion;

typedef struct lb_lance_fields {
    lb_lance_field **items; /* preorder */
    size_t count;
} lb_lance_fields;

typedef struct lb_lance_companions {
    lb_lance_companion *items;
    size_t count;
} lb_lance_companions;

/* Key of the schema metadata that lists companions, "FIELD:OF FIELD:OF/LEVEL …", all numbers decimal. */
#define LB_LANCE_META_NULLS "lakebed.nulls"

/* The list in an arena; a value that is none gives none. */
lb_status lb_lance_companions_parse(lb_str value, lb_arena *arena, lb_lance_companions *out, lb_error *err);
lb_status lb_lance_companions_print(const lb_lance_companions *list, lb_buf *out, lb_error *err);

/* The type in which a column is written: views, runs and maps as plain strings, lists and lists of structs;
 * dictionaries stay where Lance has them. Errors: UNSUPPORTED: a type that no Lance v1 file has, named with the
 * column; USAGE: a name with a dot, or twice at one level. */
lb_status lb_lance_write_schema(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err);

/* Bring a batch to that schema. Consumes `array`, also on error. */
lb_status lb_lance_write_batch(const struct ArrowSchema *from, struct ArrowArray *array, const struct ArrowSchema *to,
                               struct ArrowArray *out, lb_error *err);

/* Fields of a schema that lb_lance_write_schema gave, in preorder, with ids from `next_id` on. They live in the arena.
 * Errors: BUDGET, NOMEM, UNSUPPORTED. */
lb_status lb_lance_fields_of_schema(const struct ArrowSchema *schema, int32_t next_id, lb_arena *arena,
                                    lb_lance_fields *out, lb_error *err);

typedef struct lb_lance_writer lb_lance_writer;

typedef struct lb_lance_writer_options {
    lb_lance_nulls nulls;      /* lakebed.h */
    bool fixed_nullable;       /* the fields are those of a dataset: whether they are nullable cannot change any more */
    lb_lance_entry **metadata; /* of the schema; lent */
    size_t n_metadata;
} lb_lance_writer_options;

/* A writer for rows of `schema` (as lb_lance_write_schema gives it), whose fields are `fields`: both are lent, the
 * fields changed by it (dictionary, nullable). A dictionary field may have batches of plain values. */
lb_status lb_lance_writer_new(lb_context *cx, const struct ArrowSchema *schema, const lb_lance_fields *fields,
                              const lb_lance_writer_options *options, lb_lance_writer **out, lb_error *err);
void lb_lance_writer_free(lb_lance_writer *w); /* NULL is fine */

/* Dictionary values that keys of the field at this place already mean: new ones are added behind them. Value i ends
 * at ends[i] of `data`; `ends` NULL: all have the width of their type. */
lb_status lb_lance_writer_set_dictionary(lb_lance_writer *w, size_t field, uint64_t count, const uint64_t *ends,
                                         const uint8_t *data, lb_error *err);

/* Nulls of companion->of are told by these fields of the dataset (the lists around, and the booleans inside them),
 * in every file. Errors: CORRUPT where they do not go together. */
lb_status lb_lance_writer_keep(lb_lance_writer *w, const lb_lance_companion *companion, lb_lance_field **fields,
                               size_t n_fields, lb_error *err);

/* Begin a file whose bytes go to `write`. */
void lb_lance_writer_begin(lb_lance_writer *w, lb_write_fn write, void *user);

/* A batch of rows, of the writer's schema, that groups are made of. Takes `array`, also on error. */
typedef struct lb_lance_batch lb_lance_batch;
lb_status lb_lance_batch_open(lb_lance_writer *w, struct ArrowArray *array, lb_lance_batch **out, lb_error *err);
void lb_lance_batch_free(lb_lance_batch *batch); /* NULL is fine */
int64_t lb_lance_batch_rows(const lb_lance_batch *batch);

/* A part of one group: rows [first, first + count) of a batch; without one, rows of which nothing is known. */
typedef struct lb_lance_rows {
    const lb_lance_batch *batch;
    int64_t first, count;
} lb_lance_rows;

/* Put one group, made of the parts in order. `row` is the first one's number for messages. After an error the file
 * is to be thrown away. Errors: USAGE (a null that cannot be kept), CORRUPT (arrays that are none), UNSUPPORTED
 * (more than the format can count), IO (write gave false), BUDGET, NOMEM. */
lb_status lb_lance_writer_group(lb_lance_writer *w, const lb_lance_rows *parts, size_t n_parts, uint64_t row,
                                lb_error *err);

/* What the file became. */
typedef struct lb_lance_written {
    uint64_t rows, bytes;
    int32_t *ids; /* of the fields with companions, ascending; in the arena */
    size_t n_ids;
} lb_lance_written;

/* End the file. Companions that are due and lack a field get one, with ids from *next_id on, which is moved on.
 * `more`: files may follow, so that under LB_LANCE_NULLS_KEEP whatever may be null gets one. */
lb_status lb_lance_writer_end(lb_lance_writer *w, bool more, int32_t *next_id, lb_arena *arena, lb_lance_written *out,
                              lb_error *err);

/* All fields, those of companions behind the others; and the companions. Arrays in the arena, fields lent by the
 * writer. */
lb_status lb_lance_writer_fields(const lb_lance_writer *w, lb_arena *arena, lb_lance_fields *out,
                                 lb_lance_companions *companions, lb_error *err);

/* Append the values of all dictionaries as they stand in a file from byte `at` on, and set the fields' dictionary
 * positions. */
lb_status lb_lance_writer_dictionaries(lb_lance_writer *w, uint64_t at, lb_buf *out, lb_error *err);

#endif
