/* One data file opened for reading: through a map's entry where that still holds, else surveyed first
 * (lake-map.md section 7). */
#ifndef LB_LAKE_DATA_H
#define LB_LAKE_DATA_H

#include "lake/lake_options.h"
#include "lake/map.h"

#define LB_PROVEN_BYTES ((uint64_t)256 << 20) /* files up to this size are typed whole without being asked */
#define LB_SAMPLE_BYTES ((uint64_t)16 << 20)  /* of larger ones, so much is looked at */

typedef struct lb_data {
    lb_context *cx;
    lb_arena arena;
    lb_store *store;  /* what rows are read from */
    lb_store *packed; /* the file itself, where `store` is the view of a compressed one; else NULL */
    const lb_format *format;
    lb_reader *reader;
    lb_read_options *options; /* how it is read: what the map remembers, and what was asked */
    lb_entry entry;
    struct ArrowSchema schema;
    const char *map_use; /* "used", or why not; static */
    bool surveyed;       /* the entry was made by this open */
} lb_data;

typedef struct lb_data_request {
    const char *path;                  /* to open */
    const char *version;               /* of a dataset; NULL: the newest */
    const char *format;                /* forced; NULL */
    const lb_read_options *over;       /* asked; may be NULL */
    const lb_map *map;                 /* where the entry stands; NULL: none */
    const lb_lake_options *remembered; /* of that map; NULL: none */
    lb_str rel_path;                   /* in it */
    bool listed;
    uint64_t index;            /* of the entry, where listed */
    const lb_entry *entry;     /* use this one instead of the map's; it must outlive the file */
    bool single;               /* asked for as a file, not as part of a lake */
    bool fresh_map;            /* just built by the caller, with `over` and the handlers of run time in it */
    const char *no_map_reason; /* why there is no map; static */
    bool whole;                /* survey the whole file, whatever its size and type mode */
    bool stats;                /* … with statistics; a map's entry is not used */
    bool memory_map;           /* map the file into memory, for what can be handed out as it lies there */
    bool rows_only;            /* … for its rows and their places alone: without columns */
} lb_data_request;

/* Errors: those of opening and surveying. A file that does not match its entry is surveyed, never read through it. */
lb_status lb_data_open(lb_context *cx, const lb_data_request *request, lb_data **out, lb_error *err);
void lb_data_close(lb_data *d); /* NULL is fine */

/* What is wrong behind the last row: see lb_format.tail. */
lb_status lb_data_tail(const lb_data *d, lb_error *err);

/* Survey again without the entry: for a file that turned out to be another than the one mapped. */
lb_status lb_data_reopen(lb_context *cx, const lb_data_request *request, lb_data **out, lb_error *err);

/* STALE when the open file is no longer as its entry says. */
lb_status lb_data_check(lb_data *d, lb_error *err);

/* Does a file's entry still hold? By size and mtime; where only ctime differs the start hashes decide, which every scan checks. */
bool lb_entry_matches(const lb_entry *entry, const lb_file_stat *now);

/* The entry under value options, where nothing needs to be read for that; *done false: the file has to be surveyed. */
lb_status lb_entry_adapt(const lb_entry *known, const lb_read_options *over, lb_arena *arena, lb_entry *out, bool *done,
                         lb_error *err);

/* Did loading a map fail with `status` though it is there and ours to read? Then the rows must not be read without it: it also
 * remembers how the files are to be read. */
bool lb_map_is_lost(const char *path, lb_status status);

/* The map that lists a file, looked for from its folder upwards. *map NULL: none, with the reason; the caller closes it.
 * `rel_path` lives in the arena. */
lb_status lb_find_map(lb_context *cx, const char *path, lb_arena *arena, lb_map **map, lb_str *rel_path,
                      uint64_t *index, const char **reason, lb_error *err);

#endif
