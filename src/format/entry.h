/* What is known of one data file: an entry of the lake map (lake-map.md 4.4 and 14), as a survey makes it and as a map
 * lends it. Arrays are columns, so that an entry lent by a map points straight into the mapped file. */
#ifndef LB_FORMAT_ENTRY_H
#define LB_FORMAT_ENTRY_H

#include "base/buf.h"
#include "column/stats.h"

#define LB_ROWS_UNKNOWN UINT64_MAX

/* Contiguous runs of rows: first_row[0] = 0, first_row[i+1] = first_row[i] + row_count[i]. A NULL column: null in every
 * block. */
typedef struct lb_blocks {
    uint64_t count;
    const uint64_t *first_row, *row_count, *total_byte_size, *compressed_size; /* never NULL where count > 0 */
    const uint64_t *first_byte;  /* in the file; of the decompressed stream for compressed text */
    const uint64_t *first_line;  /* physical line of the first row, from 1 */
    const uint64_t *start_hash;  /* XXH3-64 of the first 64 bytes, or of all if shorter */
    const uint8_t *page_indexed; /* bits; NULL: all false */
    uint64_t page_indexed_bit;   /* of the first block */
    /* A block takes compressed_size bytes of the file, not total_byte_size: those of LB_LOCATOR_PACKED. */
    bool packed;
    /* They are of text that is decompressed for them: to begin at one costs what lies behind the restart point before it. */
    bool unpacked;
} lb_blocks;

#define LB_LOCATOR_PACKED "row_group"

/* Bytes of the file that a block takes. */
static inline uint64_t lb_blocks_bytes(const lb_blocks *b, uint64_t i)
{
    return b->packed ? b->compressed_size[i] : b->total_byte_size[i];
}

typedef struct lb_dialect {
    lb_str delimiter;
    int quote, escape; /* a byte; -1: none */
    bool has_header;
    lb_str encoding; /* empty: UTF-8 */
    bool ragged_null;
    uint8_t bom_bytes;
    uint64_t data_start;       /* first byte after the header record */
    int32_t sheet, header_row; /* workbooks; -1: none */
} lb_dialect;

/* Parquet: dense, row-major by block then leaf column. */
typedef struct lb_chunks {
    uint64_t count;
    const uint64_t *offset, *length;
    const uint64_t *null_count; /* UINT64_MAX: unknown */
} lb_chunks;

typedef struct lb_pages {
    uint64_t count;
    const uint32_t *block, *column;
    const uint64_t *first_row; /* inside the block; UINT64_MAX: unknown */
    const uint64_t *offset, *length;
} lb_pages;

typedef struct lb_digests {
    uint64_t count;
    const uint64_t *first_byte, *length;
    const uint8_t *xxh3;   /* 16 bytes each; NULL: not taken */
    const uint8_t *blake3; /* 32 bytes each; NULL: not taken */
} lb_digests;

/* Restart points of a decompressor. */
typedef struct lb_access_points {
    uint64_t count;
    lb_str kind; /* of all of them: `deflate`, `zstd_frame` … */
    const uint32_t *member;
    const uint64_t *compressed_byte, *uncompressed_byte, *next_row, *next_row_byte;
    const uint8_t *bit;
    const int32_t *window_offsets, *params_offsets; /* count + 1 each; NULL: none */
    const uint8_t *window_data, *params_data;
} lb_access_points;

typedef struct lb_entry {
    lb_str rel_path;     /* valid UTF-8; percent-escaped where the name is not */
    lb_str rel_path_raw; /* the name's own bytes where it is not UTF-8; else empty */
    uint64_t size_bytes;
    int64_t mtime_ns, ctime_ns;        /* ctime INT64_MIN: unknown */
    int64_t inspected_ns, verified_ns; /* verified INT64_MIN: never */
    uint64_t total_rows;               /* LB_ROWS_UNKNOWN only outside maps, after a sample */
    uint64_t first_global_row;
    bool has_content_hash;
    uint8_t content_hash[32];
    lb_str format, locator, container; /* container empty: plain */
    lb_str error;                      /* not empty: could not be inspected, or not to its end: see lb_entry_has_rows */
    lb_str arrow_schema;               /* encapsulated IPC schema message; empty: unknown */
    bool has_dialect;
    lb_dialect dialect;
    lb_blocks blocks;
    uint64_t n_leaf_paths;
    const lb_str *leaf_paths; /* Parquet leaf columns, dotted; in the entry's arena, or NULL in a map's view */
    lb_chunks chunks;
    lb_pages pages;
    lb_colstats columns; /* whole file; not filled in a map's view: lb_map_load_columns */
    /* Per block, as `--stats block` asks: block_columns.items[i] belongs to block block_of_column[i], column column_of_column[i] */
    lb_colstats block_columns;
    const uint32_t *block_of_column, *column_of_column;
    lb_access_points access_points;
    lb_digests digests;
    lb_str open_state; /* private to the format */
} lb_entry;

/* Can rows of the entry be read? Of one with an error those before it can where its schema is known. */
static inline bool lb_entry_has_rows(const lb_entry *e)
{
    return e->error.size == 0 || e->arrow_schema.size != 0;
}

/* Growing the blocks of an entry. first_byte, first_line or start_hash that is UINT64_MAX in every block becomes a NULL
 * column. */
typedef struct lb_block_builder {
    lb_buf first_row, row_count, first_byte, total_byte_size, compressed_size, first_line, start_hash;
} lb_block_builder;

typedef struct lb_block {
    uint64_t first_row, row_count, first_byte, total_byte_size, compressed_size, first_line, start_hash;
} lb_block;

void lb_block_builder_init(lb_block_builder *b, lb_budget *budget);
lb_status lb_block_builder_add(lb_block_builder *b, const lb_block *block, lb_error *err);
/* The first `count` blocks of another entry. */
lb_status lb_block_builder_add_all(lb_block_builder *b, const lb_blocks *from, uint64_t count, lb_error *err);
/* Copy into `arena` and free the builder (also on error). */
lb_status lb_block_builder_finish(lb_block_builder *b, lb_arena *arena, lb_blocks *out, lb_error *err);
void lb_block_builder_free(lb_block_builder *b);

/* Block that holds a row: index, or UINT64_MAX where none does. Binary search; safe on any contents. */
uint64_t lb_blocks_find(const lb_blocks *blocks, uint64_t row);

/* Bytes worth reading at a time for rows `first` to `last`: from the first one's block to the end of the last one's, and a
 * little more, which shows where that ends. 0: as many as else, for they are more than 256 KiB or not known. */
size_t lb_blocks_chunk(const lb_blocks *blocks, uint64_t first, uint64_t last);

/* Blocks in runs of LB_RUN_ROWS rows or LB_RUN_BYTES bytes, whichever is less, but of one block at least: so many are read by one
 * thread; of text that is decompressed, up to four times as many, within LB_RUN_UNPACKED_BYTES. The size of the first block tells how many those are. A batch of rows never crosses the border of two runs, so that
 * batches do not depend on who read them. Gives the first row behind `row` that begins a run; UINT64_MAX: none does. */
#define LB_RUN_ROWS 65536
#define LB_RUN_BYTES ((uint64_t)8 << 20)
#define LB_RUN_UNPACKED_BYTES ((uint64_t)32 << 20)
uint64_t lb_blocks_border(const lb_blocks *blocks, uint64_t row);
/* About the most bytes that a run has in the file. */
uint64_t lb_blocks_run_bytes(const lb_blocks *blocks);

/* Copy everything an entry points to into an arena, so that it outlives where it came from. */
lb_status lb_entry_copy(const lb_entry *from, lb_arena *arena, lb_entry *out, lb_error *err);

#endif
