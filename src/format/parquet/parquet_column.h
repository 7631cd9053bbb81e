/* Rows of Parquet column chunks as Arrow arrays: pages, levels, encodings, and what the stored values become.
 *
 *     file (parquet_schema.h)    tree of nodes, one for each Arrow field; leaves numbered as the file's column chunks
 *     plan                       where the pages of one chunk (a leaf in a row group) lie
 *     chunk                      one chunk that is being read, forward only
 *     column                     the Arrow array of one top-level node that is being made; rows of many row groups may
 *                                go into one
 */
#ifndef LB_FORMAT_PARQUET_COLUMN_H
#define LB_FORMAT_PARQUET_COLUMN_H

#include "codec/block_codec.h"
#include "column/types.h"
#include "io/store.h"

/* As parquet.thrift numbers them. */
typedef enum lb_parquet_physical {
    LB_PARQUET_BOOLEAN,
    LB_PARQUET_INT32,
    LB_PARQUET_INT64,
    LB_PARQUET_INT96,
    LB_PARQUET_FLOAT,
    LB_PARQUET_DOUBLE,
    LB_PARQUET_BYTE_ARRAY,
    LB_PARQUET_FIXED, /* FIXED_LEN_BYTE_ARRAY */
    LB_PARQUET_PHYSICAL_COUNT
} lb_parquet_physical;

/* ---------------------------------------------------------------- nodes */

typedef enum lb_parquet_shape { LB_PARQUET_LEAF, LB_PARQUET_STRUCT, LB_PARQUET_LIST, LB_PARQUET_MAP } lb_parquet_shape;

/* A column of primitive values. */
typedef struct lb_parquet_leaf {
    lb_parquet_physical physical;
    uint32_t type_length; /* FIXED: bytes of a value */
    uint16_t max_def, max_rep;
    lb_str path; /* dotted, for messages */
} lb_parquet_leaf;

/* A field of the Arrow schema. Levels are those of the Parquet schema: an optional or repeated group or field adds
 * one to the definition level, a repeated one to the repetition level too.
 *
 *                                            def  slot_def  rep  item_def
 *     optional group a (LIST)        list     1      0       0      2
 *       repeated group list
 *         optional group element     struct   3      2       1
 *           required int32 x         leaf     3      2       1
 *           repeated int32 y         list     3      2       1      4       not nullable: empty where there is none
 *                                    leaf     4      4       2
 *
 * Of a MAP the one child is the struct of its entries (def and slot_def: the map's item_def), not nullable. */
typedef struct lb_parquet_node lb_parquet_node;
struct lb_parquet_node {
    lb_parquet_shape shape;
    bool nullable;
    uint16_t def;      /* definition level from which on it is there */
    uint16_t slot_def; /* that of the innermost repeated node around it: below, not even a null stands there; 0: top */
    uint16_t rep;      /* repetition level of that node; 0: none */
    uint16_t item_def; /* LIST, MAP: that of its own repeated node; def + 1 */
    const struct ArrowSchema *schema; /* of this field */
    size_t n_children;
    lb_parquet_node **children;
    size_t first_leaf, n_leaves; /* those below it, in the file's order; at least one */
    const lb_parquet_leaf *leaf; /* LEAF: of first_leaf */
};

/* Can values of the leaf become the Arrow type of its node? `UNSUPPORTED` names both. What can:
 *
 *     BOOLEAN     bool
 *     INT32       int8 … int32, uint8 … uint32, date32, time32, decimal128/256
 *     INT64       int64, uint64, time64, timestamp, duration, decimal128/256
 *     INT96       timestamp[ns]
 *     FLOAT       float
 *     DOUBLE      double
 *     BYTE_ARRAY  string, binary, decimal128/256
 *     FIXED       fixed_size_binary of that width, decimal128/256, half_float (2), interval_month_day_nano (12)
 *     any         null: nothing is decoded but the levels
 *
 * Strings are handed on as they are: whether they are UTF-8 is not checked. */
lb_status lb_parquet_leaf_check(const lb_parquet_node *node, lb_error *err);

/* ---------------------------------------------------------------- chunks */

#define LB_PARQUET_UNKNOWN UINT64_MAX

/* A data page as the offset index or the map has it. */
typedef struct lb_parquet_place {
    uint64_t offset;    /* of its header, in the file */
    uint64_t length;    /* header and body */
    uint64_t first_row; /* in the row group: the first one that begins in it */
} lb_parquet_place;

typedef struct lb_parquet_plan {
    const lb_parquet_leaf *leaf;
    lb_codec codec;
    uint64_t offset;     /* of the first page, which may be the dictionary */
    uint64_t length;     /* bytes of all pages, as the footer says */
    uint64_t limit;      /* no page reaches beyond this offset of the file: writers made `length` too short */
    uint64_t num_values; /* as the footer says, nulls counted */
    uint64_t rows;       /* of the row group */
    /* All data pages in order; n_places 0: not known, headers are walked. */
    size_t n_places;
    const lb_parquet_place *places;
    /* Every page begins with a row, as an offset index promises; else a nested row may go on in the next page. */
    bool aligned;
    /* Rows that are going to be asked for: how far it may read ahead. */
    uint64_t want_first, want_end;
    bool sparse;    /* … not all of those rows */
    bool scattered; /* … few of them: pages between may be left out, so it reads one at a time */
    /* Bytes of the file that are in memory already: `held_size` of them from offset `held_at` on; NULL: none. They
     * live as long as the chunk. Anything else is read from the store. */
    const uint8_t *held;
    uint64_t held_at, held_size;
} lb_parquet_plan;

typedef struct lb_parquet_chunk lb_parquet_chunk;

/* Nothing is read yet. The plan is copied; what it points to, the store and the context must outlive the chunk.
 * Errors: NOMEM. */
lb_status lb_parquet_chunk_open(lb_context *cx, lb_store *store, const lb_parquet_plan *plan, lb_parquet_chunk **out,
                                lb_error *err);
/* As if it were closed, and opened anew for another plan: its memory, which was touched already, serves again. */
void lb_parquet_chunk_reopen(lb_parquet_chunk *chunk, const lb_parquet_plan *plan);
size_t lb_parquet_chunk_memory(const lb_parquet_chunk *chunk);
void lb_parquet_chunk_close(lb_parquet_chunk *chunk); /* NULL is fine */

/* ---------------------------------------------------------------- columns */

/* Rows [first, first + count) of a row group. */
typedef struct lb_parquet_run {
    uint64_t first, count;
} lb_parquet_run;

typedef struct lb_parquet_column lb_parquet_column;

/* Errors: UNSUPPORTED as lb_parquet_leaf_check, of any leaf below; BUDGET, NOMEM. The node outlives the column. */
lb_status lb_parquet_column_new(lb_context *cx, const lb_parquet_node *node, lb_parquet_column **out, lb_error *err);
void lb_parquet_column_free(lb_parquet_column *column); /* NULL is fine */

/* Append rows: `chunks` are node->n_leaves, all of one row group. Runs ascend, do not meet, and begin at or behind
 * the last row read from these chunks before. Only pages that hold wanted rows are read and decoded, where it is
 * known which those are.
 *
 * Errors:  CORRUPT      a page; err->offset is that of its header
 *          UNSUPPORTED  an encoding that is none of the format's; *too_long
 *          BUDGET, NOMEM, IO, CANCELLED
 * After an error column and chunks are only good to be freed. *too_long (may be NULL): the rows have more text or
 * items than 32-bit offsets hold: read fewer of them into one column.
 * Threads: chunks and columns are for one thread at a time; different ones for different threads. */
lb_status lb_parquet_column_read(lb_parquet_column *column, lb_parquet_chunk *const *chunks, const lb_parquet_run *runs,
                                 size_t n_runs, bool *too_long, lb_error *err);

uint64_t lb_parquet_column_rows(const lb_parquet_column *column);

/* Hand out what was appended since the last time, and be ready for more. */
lb_status lb_parquet_column_finish(lb_parquet_column *column, struct ArrowArray *out, lb_error *err);

/* ---------------------------------------------------------------- pages */

/* As parquet.thrift numbers them. */
typedef enum lb_parquet_page_kind {
    LB_PARQUET_DATA_PAGE,
    LB_PARQUET_INDEX_PAGE,
    LB_PARQUET_DICTIONARY_PAGE,
    LB_PARQUET_DATA_PAGE_V2
} lb_parquet_page_kind;

typedef struct lb_parquet_page {
    lb_parquet_page_kind kind;
    int32_t encoding;
    uint64_t offset;            /* of the header, in the file */
    uint32_t header_size;       /* bytes of the header */
    uint32_t stored_size, size; /* of the body in the file, and decompressed */
    uint64_t num_values;        /* nulls counted */
    uint64_t first_row, n_rows; /* rows that begin in a data page; UNKNOWN: nested and not counted */
    bool has_crc;
} lb_parquet_page;

typedef enum lb_parquet_depth {
    LB_PARQUET_HEADERS, /* headers are read, bodies stepped over */
    LB_PARQUET_ROWS,    /* and where only repetition levels tell it, rows are counted */
    LB_PARQUET_ALL      /* every checksum is compared, every level and value decoded, counts are compared */
} lb_parquet_depth;

/* Give every page of a chunk in order, the dictionary and unknown kinds too. Errors: as above; what `page` returns
 * ends the walk. With ALL also: fewer or more rows or values than the plan says, an index (places) that does not
 * fit. */
typedef lb_status (*lb_parquet_page_fn)(void *user, const lb_parquet_page *page, lb_error *err);
lb_status lb_parquet_pages(lb_context *cx, lb_store *store, const lb_parquet_plan *plan, lb_parquet_depth depth,
                           lb_parquet_page_fn page, void *user, lb_error *err);

#endif
