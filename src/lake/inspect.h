/* One data file looked at once: its entry. */
#ifndef LB_LAKE_INSPECT_H
#define LB_LAKE_INSPECT_H

#include "lake/discover.h"
#include "lake/lake_options.h"

typedef struct lb_inspect_options {
    uint64_t stride;
    lb_stats_policy stats;
    const char *const *stats_columns; /* LB_STATS_NAMED */
    lb_fingerprint fingerprint;
    bool digests; /* of the bytes that are read anyway */
    bool detect;
    bool pages;
    bool for_map;                 /* leave out what a map may not hold: positions of run-time handlers (LM-76) */
    uint64_t sample_bytes;        /* 0: the whole file */
    const char *format;           /* forced; NULL */
    _Atomic uint64_t *bytes_done; /* counts up as bytes are read; may be NULL */
    void (*progress)(void *user); /* called after that; may be NULL */
    void *progress_user;
    bool rows_only;  /* rows and their places are asked for, and no columns */
    bool rows_later; /* rows may stay unknown where counting them is dear */
} lb_inspect_options;

/* Inspect the file of an open store with `read` (how it is to be read). Fills all of `out` but rel_path, in `arena`.
 * Size and times are taken before and after: a difference is STALE. */
lb_status lb_inspect(lb_context *cx, lb_store *store, const lb_inspect_options *options, const lb_read_options *read,
                     lb_arena *arena, lb_entry *out, lb_error *err);

/* The same for a file that grew since `old` was made of it: read from its last block on where its format can, else
 * whole. The result equals that of lb_inspect. */
lb_status lb_inspect_grown(lb_context *cx, lb_store *store, const lb_inspect_options *options,
                           const lb_read_options *read, const lb_entry *old, lb_arena *arena, lb_entry *out,
                           lb_error *err);

/* Give a failed file's entry its error: place, message and hint in one line. */
lb_status lb_inspect_record(const lb_error *error, lb_arena *arena, lb_entry *out, lb_error *err);

/* The same for an inspection that may have failed before it knew anything of the file. */
lb_status lb_inspect_failed(const lb_error *error, const lb_data_file *file, lb_arena *arena, lb_entry *out,
                            lb_error *err);

#endif
