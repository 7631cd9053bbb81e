/* The footer of a Parquet file, and what a map keeps of it so that the next open need not read it:
 *
 *     PAR1 | pages of row groups | indexes, bloom filters | FileMetaData (Thrift, compact) | its length, uint32 | PAR1
 *
 * Source: README.md and parquet.thrift of apache/parquet-format. */
#ifndef LB_FORMAT_PARQUET_FOOTER_H
#define LB_FORMAT_PARQUET_FOOTER_H

#include "format/entry.h"
#include "format/parquet/parquet_schema.h"

#define LB_PARQUET_MAGIC "PAR1"
#define LB_PARQUET_MAGIC_ENCRYPTED "PARE"

/* A row group. */
typedef struct lb_parquet_group {
    uint64_t first_row, rows;
    uint64_t first_byte;                       /* of its first page */
    uint64_t total_byte_size, compressed_size; /* of its pages */
} lb_parquet_group;

/* A column chunk: the pages of one leaf in one row group. */
typedef struct lb_parquet_meta {
    uint64_t offset, length; /* of all its pages */
    uint64_t num_values;     /* nulls counted */
    uint64_t offset_index, column_index;
    uint32_t offset_index_length, column_index_length; /* 0: there is none */
    uint8_t codec;                                     /* number of parquet.thrift; 255: one that there is not */
    uint8_t physical;                                  /* lb_parquet_physical */
    uint32_t statistics_size;
    const char *statistics; /* Thrift bytes in the footer; NULL: none */
} lb_parquet_meta;

typedef struct lb_parquet_footer {
    lb_arena arena;
    lb_buf bytes;                 /* the footer itself: names and statistics are lent from it */
    lb_buf group_list, meta_list; /* what `groups` and `metas` lend */
    uint64_t at;                  /* where it begins in the file: pages end there */
    uint64_t tail_hash;
    size_t n_elements;
    const lb_parquet_element *elements;
    lb_parquet_schema schema;
    uint64_t rows;
    size_t n_groups;
    const lb_parquet_group *groups;
    const lb_parquet_meta *metas; /* by group, then leaf; NULL: made from a map */
    const lb_entry *known;        /* the map's entry */
    lb_str kept;                  /* numbers of chunks in its open_state */
    size_t n_orders;              /* orders of leaves; 0: not said */
    const lb_pqt_order *orders;
} lb_parquet_footer;

/* Read the footer. Errors: UNSUPPORTED (encrypted, columns in other files), CORRUPT, IO, BUDGET, NOMEM. Nothing to
 * free after an error. Cost: linear in its columns and chunks. */
lb_status lb_parquet_footer_read(lb_context *cx, lb_store *store, lb_parquet_footer *out, lb_error *err);

/* Make it from a map's entry, which must outlive it, without reading it; *done false: the entry has no state for that.
 * Looks at the last bytes of the file. Errors: STALE where those are others. Cost: linear in the columns. */
lb_status lb_parquet_footer_of(lb_context *cx, lb_store *store, const lb_entry *known, lb_parquet_footer *out,
                               bool *done, lb_error *err);
void lb_parquet_footer_free(lb_parquet_footer *footer);

/* An empty one, for the two above. */
void lb_parquet_footer_init(lb_context *cx, lb_parquet_footer *footer);

/* Exactly these bytes. Errors: STALE where the file has become shorter, IO. */
lb_status lb_parquet_read_at(lb_store *store, uint64_t at, void *out, size_t size, lb_error *err);

/* So many last bytes of a file tell it from another: tail_hash is their XXH3-64. */
#define LB_PARQUET_TAIL ((size_t)4 << 10)

/* What lb_parquet_footer_of needs, for column open_state. The entry's blocks and chunks are to be those of the footer. */
lb_status lb_parquet_footer_keep(const lb_parquet_footer *footer, lb_arena *arena, lb_str *out, lb_error *err);

/* A chunk, of either origin. Statistics and the column index only where the footer was read. */
lb_parquet_meta lb_parquet_footer_meta(const lb_parquet_footer *footer, size_t group, size_t leaf);

/* The same, lent where it stands, or made in `room`. */
static inline const lb_parquet_meta *lb_parquet_footer_look(const lb_parquet_footer *f, size_t group, size_t leaf,
                                                            lb_parquet_meta *room)
{
    if (f->metas != NULL)
        return &f->metas[group * f->schema.n_leaves + leaf];
    *room = lb_parquet_footer_meta(f, group, leaf);
    return room;
}

/* Errors: UNSUPPORTED: a codec that Parquet does not have. */
lb_status lb_parquet_codec(const lb_parquet_meta *meta, lb_str path, lb_codec *out, lb_error *err);

#endif
