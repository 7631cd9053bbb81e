/* Arrow IPC: files, streams, and Feather V2, which is the file form.
 *
 *     file:    ARROW1 00 00 | stream | footer (flatbuffer) | i32 size of the footer | ARROW1
 *     stream:  schema, then dictionary batches and record batches; at the end FF FF FF FF 00 00 00 00, or nothing
 *     message: FF FF FF FF | i32 size of the metadata | metadata (flatbuffer, padded) | body
 *              (before Arrow 0.15 without the marker)
 *     body:    buffers, padded to 8 or 64 bytes; the metadata says where each begins and ends. A compressed one begins with
 *              its i64 size when decompressed, -1: it is not compressed
 *
 * A record batch lists nodes (rows, nulls) and buffers, in depth-first order of the schema's fields. A reader of some columns
 * and rows needs the metadata and, of an uncompressed batch, just the bytes of those buffers that belong to the rows.
 * What is handed out has plain types: dictionaries and runs are decoded, views are strings, list views lists.
 * Sources: the Arrow columnar format 1.5, sections "Serialization and Interprocess Communication" and "Physical Memory
 * Layout", and its Message.fbs, Schema.fbs and File.fbs. */
#ifndef LB_FORMAT_ARROW_ARROW_H
#define LB_FORMAT_ARROW_ARROW_H

#include <pthread.h>

#include "codec/block_codec.h"
#include "base/names.h"
#include "column/gather.h"
#include "format/format.h"
#include "wire/arrow_ids.h"
#include "wire/flat_table.h"

/* ---------------------------------------------------------------- types (arrow_schema.c) */

typedef enum lb_arrow_layout {
    LB_ARROW_NULLS,
    LB_ARROW_FIXED, /* validity, values of `width` bytes */
    LB_ARROW_BITS,  /* validity, bits */
    LB_ARROW_BYTES, /* validity, offsets of 4 bytes, bytes */
    LB_ARROW_LARGE, /* the same with offsets of 8 bytes */
    LB_ARROW_VIEWS, /* validity, views of 16 bytes, any number of buffers */
    LB_ARROW_LIST,  /* validity, offsets of 4 bytes; also maps */
    LB_ARROW_LARGE_LIST,
    LB_ARROW_LIST_VIEW, /* validity, offsets, sizes */
    LB_ARROW_LARGE_LIST_VIEW,
    LB_ARROW_FIXED_LIST, /* validity; `each` items a row */
    LB_ARROW_STRUCT,     /* validity */
    LB_ARROW_SPARSE,     /* type ids; before metadata V5 a validity before them */
    LB_ARROW_DENSE,      /* type ids, offsets; the same */
    LB_ARROW_RUNS,       /* children: where each run ends, the values */
    LB_ARROW_DICTIONARY, /* validity, indices of `width` bytes */
} lb_arrow_layout;

/* How the values of a big-endian file are turned round: items of so many bytes, or one of these. */
enum { LB_ARROW_SWAP_NONE = 0, LB_ARROW_SWAP_MONTH_DAY_NANO = 254, LB_ARROW_SWAP_VIEWS = 255 };

/* Places of a node in the lists of its record batch. */
typedef struct lb_arrow_counts {
    uint32_t nodes, buffers, views,
        unions; /* views: with numbers of buffers of their own; unions: a buffer more in V4 */
} lb_arrow_counts;

typedef struct lb_arrow_node lb_arrow_node;
struct lb_arrow_node {
    lb_arrow_layout layout;
    bool text;      /* values are UTF-8 */
    bool is_signed; /* indices of a dictionary */
    uint8_t swap;
    uint32_t width;
    int64_t each;
    lb_arrow_counts at;
    int16_t *child_of_id;            /* of a union: 128 places, -1: no such type */
    uint32_t dictionary;             /* place in the schema's dictionaries */
    const struct ArrowSchema *plain; /* the type handed out; NULL for the ends of runs */
    const char *name;
    uint32_t n_children;
    lb_arrow_node *children;
};

/* What dictionary batches of one id hold. */
typedef struct lb_arrow_dictionary {
    int64_t id;
    lb_arrow_node values;
    lb_arrow_counts counts; /* of its batches */
} lb_arrow_dictionary;

typedef struct lb_arrow_schema {
    struct ArrowSchema plain;
    bool swap; /* numbers are big-endian, and have to be turned round */
    uint32_t n_columns, n_dictionaries;
    lb_arrow_node *columns;
    lb_arrow_dictionary *dictionaries;
    lb_names ids; /* of dictionaries, as 8 bytes: places */
    lb_arrow_counts counts;
} lb_arrow_schema;

/* Read the table Schema at `table`. `out` holds parts of the arena, and is to be released also after an error.
 * Errors: CORRUPT; UNSUPPORTED: a type that is not known, nesting beyond LB_TYPE_DEPTH; BUDGET, NOMEM.
 * Cost: linear in the flatbuffer's size, whatever it says. */
lb_status lb_arrow_schema_read(lb_flat *f, uint64_t table, lb_arena *arena, lb_arrow_schema *out, lb_error *err);
void lb_arrow_schema_release(lb_arrow_schema *schema);

/* Place of a dictionary; UINT32_MAX: the schema has none of that id. */
uint32_t lb_arrow_schema_dictionary(const lb_arrow_schema *schema, int64_t id);

/* Do two nodes hold the same? Names are not compared. */
bool lb_arrow_node_same(const lb_arrow_node *a, const lb_arrow_node *b);

/* Buffers of a field alone, without those of its children, of views, and of unions before V5. */
unsigned lb_arrow_node_buffers(const lb_arrow_node *n);

/* Least number of bits that a row takes in the buffers; 0: any number of rows fits into nothing. */
uint64_t lb_arrow_node_bits(const lb_arrow_node *n);

/* ---------------------------------------------------------------- messages (arrow_message.c) */

/* A message in the file: `head` bytes of marker, size, metadata and padding, then the body. */
typedef struct lb_arrow_place {
    uint64_t offset, head, body;
} lb_arrow_place;

typedef struct lb_arrow_message {
    lb_buf bytes; /* its head */
    lb_arrow_place place;
    lb_flat flat;
    unsigned kind, version;
    uint64_t table; /* the header, of that kind */
    lb_codec codec; /* of a body, as messages of Arrow 0.17 say it in their metadata */
    bool torn;      /* the file ends inside it */
} lb_arrow_message;

/* Read the message whose head is `head` bytes long; place.body is what it says itself. The buffer is to be freed
 * also after an error. Errors: CORRUPT, UNSUPPORTED (metadata before V4, or after V5), IO, BUDGET, NOMEM. */
lb_status lb_arrow_message_read(lb_reader *r, uint64_t offset, uint64_t head, lb_arrow_message *out, lb_error *err);

/* As above, of the message that begins at `offset`, up to `end`. *there false: the stream ends here, by its mark or because
 * nothing follows. */
lb_status lb_arrow_message_next(lb_reader *r, uint64_t offset, uint64_t end, lb_arrow_message *out, bool *there,
                                lb_error *err);

/* ---------------------------------------------------------------- memory (arrow_bytes.c) */

/* Bytes counted against the budget while they are worked on; given back at once. */
typedef struct lb_arrow_work {
    lb_budget *budget;
    uint64_t taken;
} lb_arrow_work;

bool lb_arrow_work_take(lb_arrow_work *w, uint64_t bytes);
void lb_arrow_work_give(lb_arrow_work *w);
lb_status lb_arrow_work_fail(const lb_arrow_work *w, lb_error *err);

/* Memory that several arrays share. */
typedef struct lb_arrow_mem {
    _Atomic unsigned refs;
    uint64_t size;
    uint8_t *at; /* 64-byte aligned, but for the phase that was asked for; 64 bytes behind it are zero */
    lb_mapping
        *mapping; /* a reference: `at` are the bytes of the file itself, which nobody may change; NULL: own ones */
} lb_arrow_mem;

lb_status lb_arrow_mem_new(lb_arrow_work *w, uint64_t size, unsigned phase, lb_arrow_mem **out, lb_error *err);
/* The whole of a mapped file; nothing is counted. Errors: NOMEM. */
lb_status lb_arrow_mem_map(lb_mapping *mapping, lb_arrow_mem **out, lb_error *err);
void lb_arrow_mem_unref(lb_arrow_mem *m); /* NULL is fine */

/* A part of it. */
typedef struct lb_arrow_piece {
    const uint8_t *at; /* never NULL; aligned for its values */
    uint64_t size;
    lb_arrow_mem *mem; /* a reference; NULL: nothing has to be released */
    bool own;          /* nobody else sees these bytes: they may be changed */
} lb_arrow_piece;

void lb_arrow_piece_drop(lb_arrow_piece *p);
/* Another reference to the same bytes, which are not to be changed by its holder. */
lb_arrow_piece lb_arrow_piece_share(const lb_arrow_piece *p);
/* The bytes to be changed: those of the piece itself, or a copy. NULL: see err. */
uint8_t *lb_arrow_piece_edit(lb_arrow_work *w, lb_arrow_piece *p, lb_error *err);
/* A new piece of `size` bytes, zeroed where `zero`; for its bytes use lb_arrow_piece_edit, which then cannot fail. */
lb_status lb_arrow_piece_new(lb_arrow_work *w, uint64_t size, bool zero, lb_arrow_piece *out, lb_error *err);

/* An array of ours with room for children and buffers; children and buffers are to be set. */
lb_status lb_arrow_array_new(int64_t length, int n_buffers, int64_t n_children, struct ArrowArray *out, lb_error *err);
/* Give it a buffer; moves. */
void lb_arrow_array_set(struct ArrowArray *array, int i, lb_arrow_piece *piece);
void lb_arrow_array_drop(struct ArrowArray *array); /* released or not */

/* ---------------------------------------------------------------- batches (arrow_batch.c) */

/* A record batch, or the one in a dictionary batch, opened: its metadata is at hand. */
typedef struct lb_arrow_batch {
    lb_arrow_message message;
    uint64_t body; /* where it begins in the file */
    uint64_t rows;
    uint64_t nodes, n_nodes, buffers, n_buffers; /* positions and numbers in the metadata */
    uint64_t *view_sums;                         /* buffers of the views before each; one more than there are views */
    uint32_t n_views;
    bool v4, compressed;
    lb_codec codec;
    lb_arrow_mem **loaded; /* whole buffers, decompressed and turned round; NULL: not yet */
    lb_arrow_mem *span;    /* a stretch of the body that was read at once; NULL */
    uint64_t span_first, span_size;
} lb_arrow_batch;

/* Whoever reads rows of one file, in one thread. */
typedef struct lb_arrow_pull {
    lb_reader *r;
    lb_arrow_batch batch;
    bool open;
    lb_arrow_work held; /* what lives as long as the open batch */
    lb_arrow_work made; /* what goes into the array that is made */
    lb_codec_work codec;
    uint64_t epoch; /* dictionaries count that were delivered before this byte */
    bool too_long;  /* the last failure: so many rows give too large an array, fewer may not */
    bool at_once;   /* rows are not cut where they come to be many bytes */
} lb_arrow_pull;

void lb_arrow_pull_init(lb_arrow_pull *p, lb_reader *r);
void lb_arrow_pull_free(lb_arrow_pull *p);

/* Open the batch of a message; `counts` are those of its fields. `p` is to be freed or another batch opened, also after an error.
 * `start_hash`, where not NULL, is that of its first LB_ARROW_START bytes. Errors: STALE: it is not; CORRUPT … */
#define LB_ARROW_START 64
lb_status lb_arrow_pull_open(lb_arrow_pull *p, const lb_arrow_place *place, unsigned kind,
                             const lb_arrow_counts *counts, const uint64_t *start_hash, lb_error *err);

/* Check that the rows which a batch claims can be in its buffers. */
lb_status lb_arrow_batch_check_rows(lb_reader *r, const lb_arrow_batch *b, const lb_arrow_node *columns,
                                    uint32_t n_columns, lb_error *err);

/* Read the buffers of some columns at once, where that is cheaper than one after the other; `whole`: all rows will be read. */
lb_status lb_arrow_pull_ahead(lb_arrow_pull *p, const lb_arrow_node *const *columns, size_t n, bool whole,
                              lb_error *err);

/* Where the node's buffers begin in the list of the batch, and its row and null counts (-1: not known). */
lb_status lb_arrow_batch_node(const lb_arrow_pull *p, const lb_arrow_node *n, uint64_t *buffer, int64_t *rows,
                              int64_t *nulls, lb_error *err);

/* Bytes of a buffer when decompressed. */
lb_status lb_arrow_buffer_size(lb_arrow_pull *p, uint64_t buffer, uint64_t *size, lb_error *err);

/* Bytes [from, from + size) of a buffer, turned round by `swap`. Errors: CORRUPT where it is shorter … */
lb_status lb_arrow_buffer_get(lb_arrow_pull *p, uint64_t buffer, uint64_t from, uint64_t size, unsigned swap,
                              lb_arrow_piece *out, lb_error *err);

/* The same through memory that is kept as long as the batch. */
lb_status lb_arrow_buffer_keep(lb_arrow_pull *p, uint64_t buffer, uint64_t from, uint64_t size, unsigned swap,
                               lb_arrow_piece *out, lb_error *err);

/* ---------------------------------------------------------------- columns (arrow_column.c, arrow_decode.c) */

/* Rows [first, first + count) of a field of the open batch, as its plain type. Errors: CORRUPT, naming the field; UNSUPPORTED with
 * p->too_long … On error nothing has to be released. */
lb_status lb_arrow_column_read(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                               struct ArrowArray *out, lb_error *err);

/* CORRUPT (or another code), naming field and batch. */
__attribute__((format(printf, 5, 6))) lb_status lb_arrow_fail(const lb_arrow_pull *p, const lb_arrow_node *n,
                                                              lb_status code, lb_error *err, const char *fmt, ...);
/* UNSUPPORTED, and p->too_long. */
lb_status lb_arrow_fail_long(lb_arrow_pull *p, const lb_arrow_node *n, lb_error *err);

/* The places of a node, with its rows checked to be there. */
lb_status lb_arrow_rows(const lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count, uint64_t *buffer,
                        int64_t *nulls, lb_error *err);

/* Validity bits of the rows, from bit 0 on; a piece of no bytes where none is null. */
lb_status lb_arrow_validity(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t buffer, int64_t nulls, int64_t first,
                            int64_t count, lb_arrow_piece *bits, int64_t *null_count, lb_error *err);

/* Values of `width` bytes each. */
lb_status lb_arrow_values(lb_arrow_pull *p, uint64_t buffer, int64_t first, int64_t count, uint64_t width,
                          unsigned swap, lb_arrow_piece *out, lb_error *err);

/* Are the values [first, first + count) text? `bits`: validity, NULL where all are valid. */
lb_status lb_arrow_check_text(lb_arrow_pull *p, const lb_arrow_node *n, const uint8_t *bits, const void *offsets,
                              bool wide, const uint8_t *data, int64_t first, int64_t count, lb_error *err);

/* Do the offsets of `count` rows, one more than these, ascend from 0 or more? */
lb_status lb_arrow_check_offsets(lb_arrow_pull *p, const lb_arrow_node *n, const void *offsets, bool wide,
                                 int64_t count, lb_error *err);

/* As lb_arrow_column_read, of a mapped file: buffers lie in the mapping as they are. The array's offset says where its rows
 * begin in them, up to seven rows in, and offsets of values need not begin at 0 (arrow_lend.c). */
lb_status lb_arrow_column_lend(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                               struct ArrowArray *out, lb_error *err);

/* Layouts that only save space. */
lb_status lb_arrow_read_views(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                              struct ArrowArray *out, lb_error *err);
lb_status lb_arrow_read_list_views(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                                   struct ArrowArray *out, lb_error *err);
lb_status lb_arrow_read_runs(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                             struct ArrowArray *out, lb_error *err);
lb_status lb_arrow_read_dictionary(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                                   struct ArrowArray *out, lb_error *err);

/* Picked rows of chunks of the field's plain type. */
lb_status lb_arrow_gather(lb_arrow_pull *p, const lb_arrow_node *n, const struct ArrowArray *const *chunks,
                          size_t n_chunks, const lb_pick *picks, int64_t count, struct ArrowArray *out, lb_error *err);

/* Unions, also those of metadata V4 with nulls of their own (arrow_union.c). */
lb_status lb_arrow_read_union(lb_arrow_pull *p, const lb_arrow_node *n, int64_t first, int64_t count,
                              struct ArrowArray *out, lb_error *err);

/* ---------------------------------------------------------------- dictionaries (arrow_dictionary.c) */

/* A dictionary batch in the file. */
typedef struct lb_arrow_delivery {
    lb_arrow_place place;
    uint32_t dictionary; /* of the schema's */
    bool delta;          /* added to what was before; else in its place */
} lb_arrow_delivery;

/* The values of a dictionary as a batch sees it: chunks, each with its first index. */
typedef struct lb_arrow_kept lb_arrow_kept;
typedef struct lb_arrow_words {
    size_t n;
    lb_arrow_kept **kept;
    const struct ArrowArray **chunks; /* n, and room for one more */
    uint64_t *first;                  /* n + 1 */
} lb_arrow_words;

/* What dictionary `d` holds for the batch of `p`. Errors: CORRUPT … Give it back. Threads: safe. */
lb_status lb_arrow_words_get(lb_arrow_pull *p, uint32_t d, lb_arrow_words *out, lb_error *err);
void lb_arrow_words_give(lb_reader *r, lb_arrow_words *w);

/* Decoded batches, kept for the next one that asks. */
typedef struct lb_arrow_cache {
    pthread_mutex_t lock;
    lb_arrow_kept **slots; /* of each delivery; in the reader's arena */
    uint64_t bytes, clock;
} lb_arrow_cache;

void lb_arrow_cache_free(lb_reader *r);

/* May rows be decoded into an array of `bytes`? UNSUPPORTED with p->too_long: not so many at once. */
lb_status lb_arrow_decode_fits(lb_arrow_pull *p, const lb_arrow_node *n, uint64_t bytes, int64_t count, lb_error *err);

/* Rows of a dictionary of text with these indices. *done false: it is none that this does, and nothing was made. `bits` is
 * shared with the array where rows are null (arrow_spell.c). */
lb_status lb_arrow_spell(lb_arrow_pull *p, const lb_arrow_node *n, const lb_arrow_words *w, const uint8_t *indices,
                         const lb_arrow_piece *bits, int64_t null_count, int64_t count, struct ArrowArray *out,
                         bool *done, lb_error *err);

/* ---------------------------------------------------------------- the reader (arrow_format.c, arrow_index.c) */

struct lb_reader {
    lb_context *cx;
    lb_store *store;
    const lb_entry *known;
    lb_arrow_mem *file; /* the file's own bytes, where the store is mapped; NULL */
    lb_arena arena;
    bool is_file;  /* has a footer */
    uint64_t base; /* where the stream begins */
    lb_arrow_schema schema;
    lb_str schema_bytes; /* the head of the schema's message, or the footer, of which the schema was read */
    bool by_footer;
    uint64_t schema_end;   /* of a stream: where the message behind the schema begins */
    uint64_t n_deliveries; /* by offset, in the order in which they count */
    lb_arrow_delivery *deliveries;
    uint64_t *by_dictionary; /* their numbers, those of one dictionary together and ascending */
    uint64_t *groups;        /* where those of each dictionary begin in it; one more than there are dictionaries */
    bool indexed;            /* deliveries are known */
    lb_arrow_cache cache;
};

/* The batches of a file, found by lb_arrow_index. */
typedef struct lb_arrow_index {
    lb_block_builder blocks;
    uint64_t rows;
    uint64_t torn; /* where the stream breaks off inside a message; 0: it does not */
} lb_arrow_index;

/* Read the schema; of a file the footer. */
lb_status lb_arrow_open_schema(lb_reader *r, lb_error *err);

/* Find all batches and dictionaries. Its builder is to be freed, also after an error. */
lb_status lb_arrow_index_read(lb_reader *r, lb_arrow_index *out, lb_error *err);

/* The same of a stream that grew since r->known was made of it: from the last message that is known. */
lb_status lb_arrow_index_extend(lb_reader *r, lb_arrow_index *out, lb_error *err);

/* Column `open_state` of a map: all that is needed to read rows, but for where the batches are; and the long bounds of its
 * statistics, which are of use when it grows. */
lb_status lb_arrow_state_put(lb_reader *r, const lb_arrow_index *index, lb_str bounds, lb_arena *arena, lb_str *out,
                             lb_error *err);
lb_str lb_arrow_state_bounds(lb_str state);
/* *good false: it is none of ours, and the file has to be asked. */
lb_status lb_arrow_state_get(lb_reader *r, lb_str state, bool *good, lb_error *err);
lb_status lb_arrow_tail(const lb_entry *known, lb_error *err);

/* Rows of the file whose batches are `blocks`, which must outlive the stream. */
lb_status lb_arrow_scan_blocks(lb_reader *r, const lb_blocks *blocks, const lb_range *range,
                               struct ArrowArrayStream *out, lb_error *err);
lb_status lb_arrow_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status lb_arrow_extend(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, bool *done,
                          lb_error *err);
lb_status lb_arrow_verify(lb_reader *r, lb_error *err);

#endif
