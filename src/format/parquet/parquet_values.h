/* The values of one data page, by encoding (Encodings.md of parquet-format): passed over, or decoded in their stored
 * form. */
#ifndef LB_FORMAT_PARQUET_VALUES_H
#define LB_FORMAT_PARQUET_VALUES_H

#include "format/parquet/parquet_bits.h"
#include "format/parquet/parquet_column.h"

/* As parquet.thrift numbers them. */
enum {
    LB_PARQUET_PLAIN = 0,
    LB_PARQUET_PLAIN_DICTIONARY = 2, /* the old name of RLE_DICTIONARY */
    LB_PARQUET_RLE = 3,
    LB_PARQUET_BIT_PACKED = 4,
    LB_PARQUET_DELTA_BINARY_PACKED = 5,
    LB_PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    LB_PARQUET_DELTA_BYTE_ARRAY = 7,
    LB_PARQUET_RLE_DICTIONARY = 8,
    LB_PARQUET_BYTE_STREAM_SPLIT = 9
};

/* The name for messages; "encoding N" of unknown ones is put into `room` (32 bytes). */
const char *lb_parquet_encoding_name(int32_t encoding, char *room);

/* Bytes of arrays of bytes, one after the other; `ends` are int32, a 0 before the first. */
typedef struct lb_parquet_strings {
    lb_buf data, ends;
    bool too_long; /* an append failed because 32 bits do not hold the end */
} lb_parquet_strings;

/* A value inside other bytes. */
typedef struct lb_parquet_span {
    uint32_t first, size;
} lb_parquet_span;

void lb_parquet_strings_init(lb_parquet_strings *s, lb_budget *budget);
void lb_parquet_strings_free(lb_parquet_strings *s);

static inline size_t lb_parquet_strings_count(const lb_parquet_strings *s)
{
    return s->ends.size == 0 ? 0 : s->ends.size / sizeof(int32_t) - 1;
}

/* Room for `count` values with `bytes` bytes together, and some more behind for copying in wide steps. */
#define LB_PARQUET_SLACK 32
lb_status lb_parquet_strings_reserve(lb_parquet_strings *s, size_t count, size_t bytes, lb_error *err);

/* Copy `size` bytes, where `to` has LB_PARQUET_SLACK bytes of room more, and `from` too if `wide`. */
static inline void lb_parquet_copy(uint8_t *to, const uint8_t *from, size_t size, bool wide)
{
    if (wide && size <= 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, size);
}

/* DELTA_BINARY_PACKED. */
typedef struct lb_parquet_delta {
    const uint8_t *at, *end; /* of what comes next: a block, or a part of one */
    uint64_t total, given;   /* numbers */
    uint64_t last;           /* the number given last; before any, the first one */
    uint64_t per_mini;       /* numbers in a part of a block */
    uint64_t minis, mini;    /* parts of a block, and the next one */
    const uint8_t *widths;
    uint64_t least;     /* added to every delta of the block */
    const uint8_t *run; /* bytes of this part */
    size_t run_size;
    unsigned width;
    uint64_t run_given, run_left;
} lb_parquet_delta;

/* `most`: more numbers than the page has values are damage. False: damage. */
bool lb_parquet_delta_init(lb_parquet_delta *d, const uint8_t *bytes, size_t size, uint64_t most);
bool lb_parquet_delta_numbers(lb_parquet_delta *d, size_t n, uint64_t *out);
/* Where the bytes end; NULL: damage. Looks at every block, at no number. */
const uint8_t *lb_parquet_delta_end(const lb_parquet_delta *d);

typedef enum lb_parquet_values_kind {
    LB_PARQUET_V_FIXED, /* plain, of `width` bytes */
    LB_PARQUET_V_STRINGS,
    LB_PARQUET_V_BITS, /* booleans */
    LB_PARQUET_V_RUNS, /* booleans as RLE */
    LB_PARQUET_V_DICTIONARY,
    LB_PARQUET_V_DELTA,
    LB_PARQUET_V_DELTA_LENGTH,
    LB_PARQUET_V_DELTA_BYTES,
    LB_PARQUET_V_SPLIT
} lb_parquet_values_kind;

typedef struct lb_parquet_values {
    lb_parquet_values_kind kind;
    size_t width;            /* bytes of a value; 0: it has its own length */
    const uint8_t *at, *end; /* what was not given yet */
    uint64_t given, count;   /* BITS, SPLIT: values, and how many the bytes have */
    lb_parquet_hybrid runs;  /* RUNS, DICTIONARY */
    lb_parquet_delta delta, prefixes;
    lb_buf last;   /* DELTA_BYTES: the value given last; a page of old writers goes on from that of the page before */
    lb_buf turned; /* BIT_PACKED booleans in the usual order */
} lb_parquet_values;

void lb_parquet_values_init(lb_parquet_values *v, lb_budget *budget);
void lb_parquet_values_free(lb_parquet_values *v);

/* Begin a page whose values are `bytes`, at most `most` of them; the bytes are lent. Errors: CORRUPT, UNSUPPORTED:
 * no such encoding. */
lb_status lb_parquet_values_open(lb_parquet_values *v, const lb_parquet_leaf *leaf, int32_t encoding,
                                 const uint8_t *bytes, size_t size, uint64_t most, lb_error *err);

/* The next `n` values. Errors: CORRUPT, where they end before. */
lb_status lb_parquet_values_skip(lb_parquet_values *v, uint64_t n, lb_error *err);
/* Of fixed width, not DICTIONARY: `out` has n * width bytes. */
lb_status lb_parquet_values_fixed(lb_parquet_values *v, size_t n, uint8_t *out, lb_error *err);
/* The same lent where they stand as they are (FIXED), else NULL in *out and nothing is given. */
lb_status lb_parquet_values_lend(lb_parquet_values *v, size_t n, const uint8_t **out, lb_error *err);
/* Booleans as bits from `first` on; what comes behind in the last byte may change. */
lb_status lb_parquet_values_bits(lb_parquet_values *v, uint64_t n, uint8_t *bits, uint64_t first, lb_error *err);
/* Arrays of bytes, appended. */
lb_status lb_parquet_values_strings(lb_parquet_values *v, size_t n, lb_parquet_strings *out, lb_error *err);
/* DICTIONARY: indices, each below `count`; *most: the greatest (0 of none). */
lb_status lb_parquet_values_indices(lb_parquet_values *v, size_t n, uint32_t count, uint32_t *out, uint32_t *most,
                                    lb_error *err);

/* Bytes of a stored value; 0: of its own length (BYTE_ARRAY) or a bit (BOOLEAN). */
size_t lb_parquet_width(const lb_parquet_leaf *leaf);

#endif
