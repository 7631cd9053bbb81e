/* ORC files, ORCv0 (0.11) and ORCv1 (0.12), by the published specification.
 *
 *   "ORC"                    3 bytes
 *   stripe 0, 1, …           each: index streams, data streams, footer
 *   statistics of stripes    message Metadata
 *   Footer                   types, stripes, statistics of the file
 *   PostScript               codec and sizes; never compressed
 *   u8                       size of the postscript
 *
 * Every part but the postscript is compressed in chunks: a header of 3 bytes, little-endian, (size << 1 | is original), then as
 * many bytes. A column of a stripe is one or more streams: PRESENT (a bit a value, only where there are nulls), DATA, LENGTH,
 * SECONDARY, DICTIONARY_DATA. Types form a tree, numbered from the root on; a child has values only where its parent is not
 * null. Every `stride` rows the row index has, for each column, where in its streams the decoders stood. */
#ifndef LB_FORMAT_ORC_ORC_H
#define LB_FORMAT_ORC_ORC_H

#include "codec/block_codec.h"
#include "column/values.h"
#include "format/format.h"
#include "format/orc/orc_zone.h"
#include "wire/proto.h"

typedef enum orc_kind {
    ORC_BOOLEAN = 0,
    ORC_BYTE = 1,
    ORC_SHORT = 2,
    ORC_INT = 3,
    ORC_LONG = 4,
    ORC_FLOAT = 5,
    ORC_DOUBLE = 6,
    ORC_STRING = 7,
    ORC_BINARY = 8,
    ORC_TIMESTAMP = 9,
    ORC_LIST = 10,
    ORC_MAP = 11,
    ORC_STRUCT = 12,
    ORC_UNION = 13,
    ORC_DECIMAL = 14,
    ORC_DATE = 15,
    ORC_VARCHAR = 16,
    ORC_CHAR = 17,
    ORC_INSTANT = 18,
    ORC_GEOMETRY = 19,
    ORC_GEOGRAPHY = 20,
} orc_kind;

typedef struct orc_type {
    orc_kind kind;
    uint32_t id;
    uint32_t precision, scale; /* DECIMAL: precision 0 is read as (38, 18) */
    bool undeclared;           /* DECIMAL without precision, as of Hive 0.11 */
    bool micros;               /* timestamps: statistics say that nanoseconds do not hold them */
    bool encrypted;            /* it or a type above it is the root of an encryption variant */
    uint32_t n_children, n_names, n_attributes;
    uint32_t *children; /* ids, each larger than this one's */
    lb_str *names;      /* STRUCT: of the children */
    lb_str *attributes; /* key, value, key, value … */
} orc_type;

typedef struct orc_stripe {
    uint64_t offset, index, data, footer; /* sizes of the three parts, which follow each other */
    uint64_t rows, first_row;
} orc_stripe;

/* What the end of a file says. Not changed after opening: serves any number of threads. */
typedef struct orc_file {
    lb_context *cx;
    lb_store *store;
    lb_arena arena;
    lb_buf footer; /* lent from by names and statistics */
    lb_codec codec;
    size_t block;    /* a chunk never has more bytes once decompressed */
    uint64_t writer; /* who wrote it: 0 Java, 1 C++, 2 Presto … */
    uint64_t writer_version;
    uint32_t n_types;
    orc_type *types;
    uint64_t n_stripes;
    orc_stripe *stripes;
    uint64_t rows, stride;
    lb_str *stats; /* a message ColumnStatistics for each of the types; empty: none */
    uint64_t metadata_at, metadata_size;
    uint64_t tail_at, tail_hash; /* footer and postscript: XXH3 */
    bool bare;                   /* the root is no struct: one column without a name */
    uint32_t n_columns;
    uint32_t *columns; /* types of the top-level columns */
    struct ArrowSchema schema;
} orc_file;

struct lb_reader {
    lb_context *cx;
    const lb_entry *known;
    orc_file file;
};

/* Read the end of a file. On error nothing is left. `orc_file_close` also frees one that is all zero. */
lb_status orc_file_open(lb_context *cx, lb_store *store, orc_file *out, lb_error *err);
void orc_file_close(orc_file *file);

/* Fill `schema` from the types. */
lb_status orc_file_schema(orc_file *file, lb_error *err);
const char *orc_column_name(const orc_file *file, uint64_t column); /* for messages */

/* Decompress all chunks of `bytes`, at most `most` bytes; `at`: where they lie in the file. */
lb_status orc_inflate(const orc_file *file, lb_str bytes, uint64_t at, uint64_t most, lb_buf *out, lb_error *err);

/* ---------------------------------------------------------------- streams (orc_stream.c) */

/* What one thread needs to read streams. */
typedef struct orc_work {
    const orc_file *file;
    lb_codec_work codec;
    lb_buf scratch; /* one chunk, decompressed */
} orc_work;

/* Bytes that may be read behind the end of what a stream has at hand, whatever stands there. */
#define ORC_PADDING 16

/* A stream as a window of its decompressed bytes that moves on; all zero: a stream that is not there. */
typedef struct orc_in {
    orc_work *work;
    const char *column;   /* for messages */
    uint64_t first, size; /* in the file, as it is stored */
    const uint8_t *at, *end;
    uint64_t next;  /* in the stream: what is loaded next */
    uint64_t chunk; /* in the stream: the chunk loaded last, whose bytes are [chunk_at, end) */
    const uint8_t *chunk_at;
    lb_buf window;
    lb_buf raw; /* as stored: bytes [raw_at, raw_at + raw.size) of the stream */
    uint64_t raw_at;
    size_t ahead; /* bytes read next from the file */
} orc_in;

void orc_in_init(orc_in *in, orc_work *work, const char *column, uint64_t first, uint64_t size);
void orc_in_free(orc_in *in);

/* Try to have `want` bytes from `at` on; fewer only where the stream ends. */
lb_status orc_in_fill(orc_in *in, size_t want, lb_error *err);

static inline size_t orc_in_left(const orc_in *in)
{
    return (size_t)(in->end - in->at);
}

static inline lb_status orc_in_need(orc_in *in, size_t want, lb_error *err)
{
    return orc_in_left(in) >= want ? LB_OK : orc_in_fill(in, want, err);
}

/* As a position of the row index says: a chunk, and a byte of it once decompressed. Of uncompressed ones a byte. */
lb_status orc_in_seek(orc_in *in, uint64_t chunk, uint64_t offset, lb_error *err);
lb_status orc_in_skip(orc_in *in, uint64_t size, lb_error *err);
lb_status orc_in_copy(orc_in *in, void *out, size_t size, lb_error *err);
/* Damage at this place of the stream. */
__attribute__((format(printf, 3, 4))) lb_status orc_in_fail(const orc_in *in, lb_error *err, const char *fmt, ...);
lb_status orc_in_ends(const orc_in *in, lb_error *err); /* it ends before all values came */

/* ---------------------------------------------------------------- run lengths (orc_rle.c) */

/* Bytes: runs of 3 to 130 equal ones, or 1 to 128 as they are. */
typedef struct orc_bytes {
    orc_in *in;
    size_t left; /* of the open run */
    bool repeats;
    uint8_t value;
} orc_bytes;

/* Bits, the highest of each byte first. */
typedef struct orc_bits {
    orc_bytes bytes;
    uint8_t byte; /* the bits that are left, in Arrow's order */
    unsigned left;
} orc_bits;

#define ORC_RUN 512 /* the most values of a run of integers */

typedef struct orc_ints {
    orc_in *in;
    bool v2, is_signed;
    size_t at, n; /* values of the open run that are left: [at, n) */
    int64_t run[ORC_RUN];
} orc_ints;

lb_status orc_bytes_read(orc_bytes *r, uint8_t *out, size_t n, lb_error *err);
lb_status orc_bytes_skip(orc_bytes *r, uint64_t n, lb_error *err);
/* `out` in Arrow's order from bit 0 on; bits behind the n-th of the last byte are 0. */
lb_status orc_bits_read(orc_bits *r, uint8_t *out, size_t n, lb_error *err);
lb_status orc_bits_skip(orc_bits *r, uint64_t n, lb_error *err);
lb_status orc_ints_read(orc_ints *r, int64_t *out, size_t n, lb_error *err);
lb_status orc_ints_skip(orc_ints *r, uint64_t n, lb_error *err);

static inline void orc_ints_init(orc_ints *r, orc_in *in, bool v2, bool is_signed)
{
    r->in = in;
    r->v2 = v2;
    r->is_signed = is_signed;
    r->at = r->n = 0;
}

/* n numbers of `width` bits (1 to 64), big-endian; reads up to 8 bytes behind the last. */
void orc_unpack(const uint8_t *p, unsigned width, size_t n, uint64_t *out);

/* ---------------------------------------------------------------- columns (orc_node.c, orc_values.c) */

enum { ORC_IN_PRESENT, ORC_IN_DATA, ORC_IN_LENGTH, ORC_IN_SECOND, ORC_IN_DICTIONARY, ORC_INS };

#define ORC_STEP 4096 /* the most values decoded at a time */

/* Buffers of a batch that is being built. */
typedef struct orc_build {
    lb_budget *budget;
    uint64_t taken; /* of the budget, for the batch */
    uint64_t bytes; /* of values, about */
    bool too_long;  /* why it failed: the rows asked for at once are more than a column or a step holds */
    uint64_t stop;  /* `bytes` that the step must not pass */
    int64_t values[ORC_STEP], more[ORC_STEP];
    uint8_t tags[ORC_STEP];
} orc_build;

/* Positions of a column's row index. */
typedef struct orc_index {
    bool read;        /* looked for */
    size_t n;         /* entries; 0: none that can be used */
    lb_buf starts;    /* uint32 each: of its positions; one more than entries */
    lb_buf positions; /* uint64 */
} orc_index;

typedef struct orc_node orc_node;

struct orc_node {
    const orc_file *file;
    const orc_type *type;
    const char *column; /* top-level one, for messages */
    size_t n_children;
    orc_node *children;

    /* The open stripe. */
    bool has_encoding, v2, dictionary;
    uint64_t n_dictionary;
    bool dictionary_read;
    bool in_there[ORC_INS];
    orc_in in[ORC_INS];
    orc_bits present;
    orc_bits bits;   /* BOOLEAN */
    orc_bytes bytes; /* BYTE, UNION */
    orc_ints ints;   /* DATA, or LENGTH where the lengths are what a value has first */
    orc_ints second; /* LENGTH of strings, SECONDARY */
    lb_buf words;    /* the dictionary's bytes, and where each begins: uint32, one more than words */
    lb_buf word_starts;
    uint64_t index_at, index_size; /* of the row index in the file; 0: none */
    orc_index index;
    orc_zone *zone; /* TIMESTAMP: the writer's; NULL: UTC */
    int64_t zone_base;

    /* The batch. */
    int64_t length, nulls;
    struct ArrowBuffer validity, offsets, data; /* validity: without bytes as long as there are no nulls */
};

void orc_node_init(const orc_file *file, const orc_type *type, const char *column, orc_node *out);
/* With all that is below it. */
lb_status orc_node_make(const orc_file *file, uint32_t type, const char *column, lb_arena *arena, orc_node *out,
                        lb_error *err);
void orc_node_close_stripe(orc_node *node); /* forget the stripe, not the batch */
void orc_node_reset(orc_node *node);        /* forget the batch */
/* Take the batch over as the array of the node's type, which was made from the schema. */
int orc_node_finish(orc_node *node, struct ArrowArray *out);

/* Append n values; `valid` (bits) says where the parent has some, NULL: everywhere. */
lb_status orc_node_read(orc_node *node, orc_build *b, size_t n, const uint8_t *valid, lb_error *err);
/* Pass over n values that the parent has. */
lb_status orc_node_skip(orc_node *node, orc_build *b, uint64_t n, lb_error *err);
/* All decoders to the beginning of the stripe; to where entry `group` of the index says (*done false: it cannot). */
void orc_node_start(orc_node *node);
lb_status orc_node_rewind(orc_node *node, lb_error *err);
lb_status orc_node_seek(orc_node *node, uint64_t group, uint64_t groups, bool *done, lb_error *err);

/* Values that stand where the node's own `valid` has its k bits; n slots. In orc_values.c. */
lb_status orc_values_read(orc_node *node, orc_build *b, size_t n, size_t k, const uint8_t *valid, lb_error *err);
lb_status orc_values_skip(orc_node *node, orc_build *b, uint64_t k, lb_error *err);
lb_status orc_room(orc_build *b, struct ArrowBuffer *buffer, int64_t more, lb_error *err);
lb_status orc_offset_room(orc_node *node, orc_build *b, size_t n, int32_t **out, lb_error *err);
lb_status orc_too_long(orc_build *b, const orc_node *node, lb_error *err);

static inline size_t orc_count_bits(const uint8_t *bits, size_t n)
{
    size_t count = 0, i = 0;
    uint64_t word;

    for (; i + 64 <= n; i += 64) {
        memcpy(&word, bits + i / 8, 8);
        count += (size_t)__builtin_popcountll(word);
    }
    for (; i < n; i++)
        count += bits[i >> 3] >> (i & 7) & 1u;
    return count;
}

static inline bool orc_bit(const uint8_t *bits, size_t i)
{
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
}

/* ---------------------------------------------------------------- stripes (orc_stripe.c) */

/* Some top-level columns of a stripe, each standing at the same row. */
typedef struct orc_rows {
    const orc_file *file;
    orc_work work;
    orc_build *build;
    orc_node root;     /* its children are the columns asked for */
    uint64_t stripe;   /* the open one; UINT64_MAX: none */
    uint64_t at;       /* row of the stripe that is read next */
    bool no_index;     /* never use the row index */
    bool always_index; /* go by it to the beginning of every group (to check it) */
    lb_buf footer;
    orc_zone zone;
    char zone_name[64]; /* of `zone` */
} orc_rows;

/* `columns`: of the file. The nodes live in the arena. */
lb_status orc_rows_open(orc_rows *rows, const orc_file *file, const uint64_t *columns, size_t n, lb_arena *arena,
                        lb_error *err);
void orc_rows_close(orc_rows *rows);
lb_status orc_rows_goto(orc_rows *rows, uint64_t stripe, uint64_t row, lb_error *err);
/* Append `n` rows from where they stand, at most ORC_STEP. */
lb_status orc_rows_read(orc_rows *rows, size_t n, lb_error *err);
/* A step of more than one row takes at most about so many bytes, however long its values turn out to be. */
#define ORC_STEP_BYTES ((uint64_t)64 << 20)
void orc_rows_reset(orc_rows *rows);
bool orc_is_encrypted(const orc_file *file, uint32_t type); /* or something below it */
uint64_t orc_find_stripe(const orc_file *file, uint64_t row);

/* ---------------------------------------------------------------- the format's functions */

lb_status orc_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status orc_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err);
lb_status orc_verify(lb_reader *r, lb_error *err);

/* Statistics that a message ColumnStatistics gives of a leaf over `rows` rows, into `out` (name and type are set already).
 * False: they are not there, or not to be trusted: the values have to be read. */
bool orc_stats_of(const orc_file *file, const orc_type *type, lb_str message, uint64_t rows, lb_arena *arena,
                  lb_colstat *out, lb_status *status, lb_error *err);
/* Least and largest timestamp in milliseconds, as far as known; for the choice of a unit. */
bool orc_stats_beyond_nanos(const orc_file *file, lb_str message);

#endif
