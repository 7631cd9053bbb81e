/* What a loaded map is inside; for the map_*.c files alone. */
#ifndef LB_LAKE_MAP_PRIVATE_H
#define LB_LAKE_MAP_PRIVATE_H

#include <pthread.h>

#include "lake/map.h"
#include "lake/map_schema.h"

/* One field of one batch, as pointers into the file. Checked when loaded: every buffer lies inside its batch, is
 * aligned to 8 bytes and holds `length` values. What offsets say is checked on access. */
typedef struct lb_map_array {
    bool present; /* the file has this field */
    uint64_t length, null_count;
    const uint8_t *validity; /* bits; NULL: no nulls */
    const int32_t *offsets;  /* length + 1, of text, binary and lists */
    const uint8_t *data;
    uint64_t data_size;
} lb_map_array;

typedef struct lb_map_batch {
    uint64_t first_entry, count;
    lb_map_array fields[LB_MAP_N_FIELDS];
} lb_map_batch;

/* Of so many entries' first rows the first one is kept by itself. */
#define LB_MAP_SAMPLE 64

/* What finds the rows of a batch of a map of ours, worked out when one is first asked for. In a map of millions of entries a look-up
 * takes as long as what it touches is far apart: what is found here needs not be looked up in the file. */
typedef struct lb_map_rows {
    const lb_map_batch *batch;
    const uint64_t *first_rows; /* of the entries */
    bool even;                  /* each entry has the rows up to the first one of the next; the last one up to `end` */
    uint64_t end;
    /* Each entry has one block, whose place these tell; NULL: unknown in all of them. No more is known of any block. */
    bool single;
    const uint64_t *first_byte, *bytes, *first_line;
    size_t n_samples;
    uint64_t samples[];
} lb_map_rows;

/* A batch as opening a map sees it: where it lies by the footer, and what `bazan.batches` says of it; where that is
 * missing, what its header says. Its fields are taken in, and all of this is checked, when an entry of it is first
 * asked for: so opening does not cost more for more batches. */
typedef struct lb_map_part {
    uint64_t first_entry, count, failed;
    uint64_t first_row;    /* where the map is indexed */
    uint64_t offset, body; /* of the message, and its body's size */
    uint32_t head;         /* bytes of the message before the body */
    _Atomic(lb_map_batch *) batch;
    _Atomic(lb_map_rows *) rows;
} lb_map_part;

/* The file's fields in the order of a depth-first walk, which is the order of nodes and buffers in a batch. */
typedef struct lb_map_node {
    int16_t id, parent; /* -1: not one of ours; at the top */
    int8_t buffers;
} lb_map_node;

typedef struct lb_map_names lb_map_names;

struct lb_map {
    const uint8_t *bytes;
    uint64_t size;
    bool mapped; /* by mmap; else `own` holds the bytes */
    lb_buf own;
    lb_arena arena;
    const char *path; /* for messages */
    lb_map_header header;
    int map_schema; /* 1, 2, 3 */
    bool extended;  /* the columns of ours are there */
    uint64_t count, total_rows, total_bytes, failed;
    lb_str batches; /* `bazan.batches` */
    bool indexed;   /* and it holds as far as can be seen */
    size_t n_parts;
    lb_map_part *parts; /* malloc'ed; none is empty */
    size_t n_nodes;
    const lb_map_node *nodes;
    bool has[LB_MAP_N_FIELDS]; /* fields the file has */
    uint64_t *first_rows;      /* maps that are not ours: worked out on load (LM-107); else NULL */
    uint64_t *path_order;      /* maps whose entries are not sorted: entries in the order of their paths; else NULL */

    pthread_mutex_t lock;          /* of changes to `names` */
    _Atomic(lb_map_names *) names; /* strings the public calls lend */
};

/* A value's place: batch and row in it. */
typedef struct lb_map_cell {
    const lb_map_batch *batch;
    uint64_t row;
} lb_map_cell;

/* The batch of a part, taken in now if need be. Errors: CORRUPT, NOMEM. */
lb_status lb_map_batch_of(const lb_map *map, lb_map_part *part, const lb_map_batch **out, lb_error *err);

/* Errors: USAGE (no such entry), CORRUPT. */
lb_status lb_map_cell_of(const lb_map *map, uint64_t index, lb_map_cell *out, lb_error *err);

/* First row of an entry, and how many it has. Errors: CORRUPT. */
lb_status lb_map_cell_rows(const lb_map *map, lb_map_cell c, uint64_t *first_global_row, uint64_t *total_rows,
                           lb_error *err);

/* map_rows.c: the entry that holds a global row, its first one and how many it has. Errors: as lb_map_find_row. */
typedef struct lb_map_found {
    lb_map_cell cell;
    uint64_t first, rows;
    const lb_map_rows *of; /* NULL: the map is not ours */
} lb_map_found;
lb_status lb_map_cell_of_row(const lb_map *map, uint64_t row, lb_map_found *out, lb_error *err);

static inline bool lb_map_is_valid(const lb_map_array *a, uint64_t row)
{
    return a->present && (a->validity == NULL || (a->validity[row >> 3] >> (row & 7) & 1) != 0);
}

/* Bytes of text or binary; of nulls and missing columns none. Errors: CORRUPT. */
lb_status lb_map_bytes_at(const lb_map *map, const lb_map_batch *batch, unsigned id, uint64_t row, lb_str *out,
                          lb_error *err);
/* The same, which has to be UTF-8. */
lb_status lb_map_text_at(const lb_map *map, const lb_map_batch *batch, unsigned id, uint64_t row, lb_str *out,
                         lb_error *err);

/* Items [*first, *first + *count) of a list's row lie inside its child. Errors: CORRUPT. */
lb_status lb_map_list_at(const lb_map *map, const lb_map_batch *batch, unsigned id, uint64_t row, uint64_t *first,
                         uint64_t *count, lb_error *err);

static inline uint64_t lb_map_u64_at(const lb_map_batch *batch, unsigned id, uint64_t row)
{
    const lb_map_array *a = &batch->fields[id];
    return lb_map_is_valid(a, row) ? ((const uint64_t *)(const void *)a->data)[row] : 0;
}

static inline int64_t lb_map_i64_at(const lb_map_batch *batch, unsigned id, uint64_t row, int64_t if_null)
{
    const lb_map_array *a = &batch->fields[id];
    return lb_map_is_valid(a, row) ? ((const int64_t *)(const void *)a->data)[row] : if_null;
}

/* CORRUPT with the map's path and the advice to rebuild it. */
__attribute__((format(printf, 3, 4))) lb_status lb_map_fail(const lb_map *map, lb_error *err, const char *fmt, ...);
/* The same with another status. */
__attribute__((format(printf, 4, 5))) lb_status lb_map_fail_as(const lb_map *map, lb_error *err, lb_status code,
                                                               const char *fmt, ...);

/* The blocks of an entry without their order being checked: O(1) for our maps. Errors: CORRUPT. */
lb_status lb_map_view_blocks(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_blocks *out, lb_error *err);

/* The Arrow schema bytes of an entry, through schema_ref. Errors: CORRUPT. */
lb_status lb_map_view_schema(const lb_map *map, uint64_t index, lb_str *out, lb_error *err);

/* Number of column statistics of an entry. Errors: CORRUPT. */
lb_status lb_map_count_columns(const lb_map *map, uint64_t index, uint64_t *out, lb_error *err);

/* map_ipc.c: the parts of the file, and what its schema metadata says. `give` is called for every pair. */
typedef lb_status (*lb_map_meta_fn)(lb_map *map, lb_str key, lb_str value, lb_error *err);
lb_status lb_map_read_file(lb_map *map, lb_map_meta_fn give, unsigned *n_columns, lb_error *err);
lb_status lb_map_read_batch(const lb_map *map, const lb_map_part *part, lb_map_batch *out, lb_error *err);
/* Number of top-level fields of an encapsulated schema message; false: it is none. */
bool lb_map_count_schema_fields(lb_str message, uint64_t *out);

/* map_reference.c: what the reference's layouts hold as JSON. `total_rows` of the entry, for the last block. */
lb_status lb_map_reference_finish(lb_map *map, lb_error *err);
void lb_map_reference_formats(lb_entry *entry);
lb_status lb_map_reference_blocks(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_blocks *out, lb_error *err);
lb_status lb_map_reference_chunks(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_entry *out, lb_error *err);
lb_status lb_map_reference_columns(const lb_map *map, lb_map_cell cell, lb_arena *arena, lb_colstats *out,
                                   lb_error *err);

/* map_json.c: the two JSON columns of an entry, appended. */
lb_status lb_map_print_stats(const lb_entry *entry, bool full, lb_buf *out, lb_error *err);
lb_status lb_map_print_row_groups(const lb_entry *entry, bool full, lb_buf *out, lb_error *err);

/* map_api.c. lb_map_names_ahead brings in the place where the path of an entry is looked for that was lent before. */
void lb_map_names_free(lb_map_names *names);
void lb_map_names_ahead(const lb_map *map, uint64_t index);

#endif
