/* The lake map as bytes: written from entries, loaded through a memory map, looked up without copying
 * (lake-map.md sections 4 and 14). */
#ifndef LB_LAKE_MAP_H
#define LB_LAKE_MAP_H

#include "column/types.h"
#include "format/entry.h"

#define LB_MAP_NAME ".br_map.bazan"
#define LB_MAP_LOCK_NAME ".br_map.lock"
#define LB_MAP_OLD_NAME ".br_map.bazan.old"
#define LB_MAP_RETIRED_NAME ".br_map.ipc"

#define LB_DEFAULT_STRIDE 65536

/* What a map says of itself: its schema metadata. Strings are lent. */
typedef struct lb_map_header {
    uint64_t stride;
    lb_fingerprint fingerprint;
    lb_str stats;        /* `bazan.stats_columns`: "all", "none", "block" or a JSON array of names, sorted, each once */
    lb_str options_json; /* `bazan.options` */
    lb_str writer;       /* `bazan.writer` */
    int64_t created_ns;
    bool interop_full;   /* fill stats_json and row_groups_json */
    lb_str union_schema; /* encapsulated schema of the lake; empty: not stored */
} lb_map_header;

/* Where the entries of a map come from, one at a time: a lake may have millions, and nothing but the one at hand is
 * held. */
typedef struct lb_entry_source {
    uint64_t count;
    /* Entry `index`, in ascending order of rel_path. What it points to lives as long as the arena, which is emptied
     * between two calls. Asked for in ascending order, from 0 on, twice: first for totals and schemas, then to write. */
    lb_status (*get)(void *user, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err);
    void *user;
} lb_entry_source;

/* Write a map. `unite`: the united schema of the entries is stored, else the header's. first_global_row, totals,
 * schema references and batches (closed at about `batch_bytes`, 0: 16 MiB) are worked out. The bytes are the same for
 * the same input. Memory: some copies of a batch, and 36 bytes a schema. Errors: INTERNAL (entries out of order, or a
 * path twice), what `get` gives, IO, NOMEM. */
lb_status lb_map_write(const lb_map_header *header, const lb_entry_source *entries, bool unite, uint64_t batch_bytes,
                       lb_write_fn write, void *user, lb_error *err);

/* Load from a file (memory-mapped, closed with the map) or from bytes, which the map takes over (also on error).
 * `path` is for messages. Nothing is copied; for maps of ours the cost does not depend on the number of entries:
 * batches are taken in when an entry of theirs is first asked for. The reference's layouts (5, 7 and 8 columns) are
 * parsed on access. Errors: NOTFOUND, IO, CORRUPT (what is wrong, and that rebuilding mends it). */
lb_status lb_map_load_file(const char *path, lb_map **out, lb_error *err);
lb_status lb_map_load_bytes(lb_buf *bytes, const char *path, lb_map **out, lb_error *err);

/* Take all batches in now: whether any is damaged, for who would rather do without the map. Errors: CORRUPT, NOMEM. */
lb_status lb_map_check_batches(const lb_map *map, lb_error *err);

const lb_map_header *lb_map_header_of(const lb_map *map);
uint64_t lb_map_count(const lb_map *map);

/* A view of one entry: its arrays point into the map, `columns` stay empty; what a reference layout holds as JSON goes
 * to `arena`. Every length and offset is checked, so that a damaged map gives CORRUPT and nothing worse: blocks are
 * checked for order, range and overlap, rel_path by lb_path_is_inside. Thread-safe. */
lb_status lb_map_view(const lb_map *map, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err);

/* The same with what a view leaves out (`columns`, `block_columns`), to write the entry into another map. */
lb_status lb_map_view_all(const lb_map *map, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err);

/* The little that lookups need, without the rest: O(1). */
lb_status lb_map_view_path(const lb_map *map, uint64_t index, lb_str *rel_path, lb_error *err);
/* The name's own bytes where it is not UTF-8; else empty. */
lb_status lb_map_view_raw_path(const lb_map *map, uint64_t index, lb_str *out, lb_error *err);
lb_status lb_map_view_rows(const lb_map *map, uint64_t index, uint64_t *first_global_row, uint64_t *total_rows,
                           lb_error *err);

/* Of a compressed file: how many restart points its entry has; *packed false: it is none, or its container is not told. O(1). */
lb_status lb_map_view_restarts(const lb_map *map, uint64_t index, bool *packed, uint64_t *out, lb_error *err);

/* What says whether an entry still holds, without the rest: O(1), nothing is allocated; `out` gets rel_path,
 * size_bytes, the times and error. */
lb_status lb_map_view_stamp(const lb_map *map, uint64_t index, lb_entry *out, lb_error *err);

/* Column statistics of an entry, whole file; strings point into the map or go to the arena. */
lb_status lb_map_load_columns(const lb_map *map, uint64_t index, lb_arena *arena, lb_colstats *out, lb_error *err);

/* The k-th entry in ascending order of paths: k itself but in maps of the oldest layout, which need not be sorted. k <
 * count. */
uint64_t lb_map_by_path(const lb_map *map, uint64_t k);

/* Binary searches. find_path: NOTFOUND. find_row: the entry that holds a global row (entries without rows are skipped);
 * USAGE past the end, saying how many rows there are. */
lb_status lb_map_find_path(const lb_map *map, lb_str rel_path, uint64_t *index, lb_error *err);
lb_status lb_map_find_row(const lb_map *map, uint64_t row, uint64_t *index, lb_error *err);

#endif
