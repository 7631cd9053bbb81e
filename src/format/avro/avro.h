/* Avro object container files (specification 1.12, "Object container files"; lake-map.md 6.7 and 14).
 *
 *   "Obj" 01 | metadata: map<bytes>, with avro.schema and avro.codec | sync marker, 16 bytes
 *   block:     rows (long) | size (long) | `size` bytes of rows, compressed | sync marker
 *   …
 *
 * A block of the map is a block of the file. Blocks are found by their heads alone; rows are decoded by a program that is
 * made of the schema and the wanted columns (avro_program.c). */
#ifndef LB_FORMAT_AVRO_AVRO_H
#define LB_FORMAT_AVRO_AVRO_H

#include "codec/block_codec.h"
#include "column/append.h"
#include "format/format.h"

#define AVRO_MAGIC "Obj\x01"
#define AVRO_SYNC_BYTES 16
#define AVRO_VALUE "value" /* the column of a file whose rows are no records */

/* Rows of a block at most: more are not believed, whatever they are made of. */
#define AVRO_BLOCK_ROWS ((uint64_t)1 << 31)

/* ---- schemas (avro_schema.c) */

typedef enum avro_kind {
    AVRO_NULL,
    AVRO_BOOLEAN,
    AVRO_INT,
    AVRO_LONG,
    AVRO_FLOAT,
    AVRO_DOUBLE,
    AVRO_BYTES,
    AVRO_STRING, /* the primitives, in this order, have a name each */
    AVRO_FIXED,
    AVRO_ENUM,
    AVRO_ARRAY,
    AVRO_MAP,
    AVRO_UNION,
    AVRO_RECORD
} avro_kind;

typedef enum avro_logical {
    AVRO_PLAIN,
    AVRO_DECIMAL,
    AVRO_DATE,
    AVRO_TIME,
    AVRO_TIMESTAMP,
    AVRO_LOCAL_TIMESTAMP,
    AVRO_UUID,
    AVRO_DURATION
} avro_logical;

typedef struct avro_type avro_type;

/* A field of a record; of an array's or map's items and a union's branches only `type` is set. */
typedef struct avro_field {
    lb_str name;
    const avro_type *type;
} avro_field;

struct avro_type {
    avro_kind kind;
    avro_logical logical;
    enum ArrowTimeUnit unit; /* times and timestamps */
    int32_t precision, scale;
    lb_str name; /* full name of a record, enum or fixed */
    bool open;   /* its fields are being read: who names it now is recursive */
    uint32_t n;  /* fields, branches, symbols; ITEMS: 1; FIXED: bytes */
    avro_field *fields;
    lb_str *symbols;
    uint64_t least, most; /* bytes of a value; most UINT64_MAX: no limit */
    uint64_t weight;      /* nodes, where each use of a named type counts */
    unsigned depth;       /* levels of Arrow types below */
};

/* Read the schema's text; all of `out` lives in the arena. Errors: CORRUPT: it breaks the rules; UNSUPPORTED: a recursive type, or
 * one too large or too deep; NOMEM, BUDGET. */
lb_status avro_schema_read(lb_str text, lb_arena *arena, const avro_type **out, lb_error *err);

/* A nullable type's one branch that is not null, or NULL: no such union. *null_branch: the index of the null. */
const avro_type *avro_nullable(const avro_type *type, unsigned *null_branch);

/* Columns of the rows: a record's fields, or the one column `value`. */
lb_status avro_schema_arrow(const avro_type *rows, struct ArrowSchema *out, lb_error *err);

/* ---- the header (avro_header.c) */

typedef struct avro_header {
    uint64_t size; /* bytes; the first block begins behind them */
    lb_codec codec;
    uint8_t sync[AVRO_SYNC_BYTES];
    lb_str schema; /* text, in the arena */
} avro_header;

lb_status avro_header_read(lb_store *store, lb_arena *arena, avro_header *out, lb_error *err);

/* The header of these bytes, lent to `out`. *more: they end too early, and a longer piece may do. */
lb_status avro_header_parse(const uint8_t *bytes, size_t size, avro_header *out, bool *more, lb_error *err);

/* Column `open_state` of a map: what a header says, and the long bounds of the statistics, which are of use when the file
 * grows; and back; *good false: it is none. */
lb_status avro_state_put(const avro_header *header, lb_str bounds, lb_arena *arena, lb_str *out, lb_error *err);
void avro_state_get(lb_str state, avro_header *out, bool *good);
lb_str avro_state_bounds(lb_str state);

/* ---- blocks (avro_blocks.c) */

/* Walks the heads of blocks. */
typedef struct avro_walk {
    lb_context *cx;
    lb_store *store;
    const avro_header *header;
    const avro_type *rows;
    uint64_t at;   /* offset of the next block */
    uint64_t row;  /* its first */
    lb_buf window; /* bytes of the file from `window_at` on */
    uint64_t window_at;
    uint64_t last_size; /* of the block before: how far to read */
    /* The block that was found: */
    uint64_t first_byte, count, payload_at, payload_size, start_hash;
} avro_walk;

void avro_walk_open(avro_walk *w, lb_context *cx, lb_store *store, const avro_header *header, const avro_type *rows);
void avro_walk_close(avro_walk *w);
/* The next block, also an empty one; *got false: the file ends, as it may. Errors: CORRUPT with the byte. */
lb_status avro_walk_next(avro_walk *w, bool *got, lb_error *err);

/* One block, read and decompressed. */
typedef struct avro_block {
    lb_buf bytes, plain;
    lb_codec_work work;
    const uint8_t *data; /* rows */
    size_t size;
    uint64_t count;
    uint64_t first_byte;
} avro_block;

void avro_block_init(avro_block *b, lb_budget *budget);
void avro_block_free(avro_block *b);
/* Read block `index` of a map. Errors: STALE: what stands there is none, or another one; CORRUPT; IO, BUDGET, NOMEM. */
lb_status avro_block_read(avro_block *b, lb_store *store, const avro_header *header, const lb_blocks *blocks,
                          uint64_t index, lb_error *err);

/* ---- programs (avro_program.c, avro_decode.c) */

typedef enum avro_code {
    AVRO_PUT_NULL,
    AVRO_PUT_BOOL,
    AVRO_PUT_INT,
    AVRO_PUT_LONG,
    AVRO_PUT_FLOAT,
    AVRO_PUT_DOUBLE,
    AVRO_PUT_BYTES,
    AVRO_PUT_FIXED,
    AVRO_PUT_ENUM,
    AVRO_PUT_DECIMAL,       /* of bytes */
    AVRO_PUT_FIXED_DECIMAL, /* of `n` bytes */
    AVRO_PUT_UUID,          /* of text */
    AVRO_PUT_DURATION,
    AVRO_PUT_EMPTY,    /* a fixed of no bytes */
    AVRO_PUT_NULLABLE, /* `n`: the null branch; then the other one */
    AVRO_PUT_UNION,    /* `n` branches, at `starts` */
    AVRO_PUT_ARRAY,    /* the items' program follows */
    AVRO_PUT_MAP,      /* the values' program follows */
    AVRO_PUT_STRUCT,   /* the fields came before */
    AVRO_MARK,         /* the column that follows is put more than once: */
    AVRO_BACK,         /* once more from the mark */
    AVRO_PASS_FIXED,   /* `n` bytes */
    AVRO_PASS_LONG,
    AVRO_PASS_BYTES,
    AVRO_PASS_UNION,
    AVRO_PASS_ARRAY,
    AVRO_PASS_MAP
} avro_code;

typedef struct avro_op {
    avro_code code;
    uint32_t next;   /* index of the op behind this one and its own */
    uint32_t column; /* of the rows, for messages */
    uint64_t n;
    uint64_t least; /* ITEMS: bytes of one at least */
    lb_growing *to;
    const avro_type *type;
    const uint32_t *starts; /* UNION: n + 1 of them; a branch ends where the next begins */
} avro_op;

typedef struct avro_program {
    avro_op *ops;
    uint32_t count, cap;
} avro_program;

/* A program that puts the columns (`columns[i]` of the rows goes to to->children[i]; one may come again) and passes the others.
 * `to` NULL: passes whole rows. Errors: NOMEM, BUDGET. */
lb_status avro_program_make(const avro_type *rows, const uint64_t *columns, size_t n_columns, lb_growing *to,
                            lb_arena *arena, avro_program *out, lb_error *err);

/* Decodes rows of one block. */
typedef struct avro_decoder {
    const uint8_t *at, *end;
    const avro_op *ops;
    lb_append *append;
    const uint8_t *mark;
    uint64_t empty;     /* items of no bytes so far in the row */
    const char *why;    /* what is wrong with the bytes */
    const avro_op *who; /* where in the program */
} avro_decoder;

/* One row, by the program. False: d->why, or d->append->status. */
bool avro_decode_row(avro_decoder *d, const avro_program *program);

/* ---- the reader */

struct lb_reader {
    lb_context *cx;
    lb_store *store;
    const lb_entry *known; /* may be NULL */
    lb_arena arena;
    avro_header header;
    const avro_type *rows;
    struct ArrowSchema schema;
};

#define AVRO_START_BYTES 64

/* Every column of the file, in order, as a range asks for them; in the arena. NULL: no memory. */
const lb_wanted *avro_all_columns(const lb_reader *r, lb_arena *arena);

/* All blocks of the file that have rows; those of `known`, where not NULL, are taken over, and looked for are those behind. */
lb_status avro_find_blocks(lb_reader *r, const lb_entry *known, lb_arena *arena, lb_blocks *out, uint64_t *rows,
                           lb_error *err);
lb_status avro_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status avro_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                      lb_error *err);
lb_status avro_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);
/* The same through other blocks than those of r->known. */
lb_status avro_scan_blocks(lb_reader *r, const lb_blocks *blocks, const lb_range *range, struct ArrowArrayStream *out,
                           lb_error *err);
lb_status avro_verify(lb_reader *r, lb_error *err);

#endif
