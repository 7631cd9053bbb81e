/* A manifest: one version of a Lance dataset.
 *
 *     [values of the dictionary columns, by ascending field id]
 *     [length | VersionAuxData]
 *     [length | IndexSection]
 *     length | Manifest                                    ends where the footer begins
 *     i64 its position | u16 major | u16 minor | "LANC"
 */
#ifndef LB_LANCE_MANIFEST_H
#define LB_LANCE_MANIFEST_H

#include "format/lance/lance_message.h"

/* Bits of the feature flags (of reader and writer). */
enum {
    LB_LANCE_FLAG_DELETIONS = 1,
    LB_LANCE_FLAG_ROW_IDS = 2,    /* stable ones */
    LB_LANCE_FLAG_V2_STORAGE = 4, /* writer only; 0.12 to 0.15 */
    LB_LANCE_FLAG_CONFIG = 8,     /* writer only */
    LB_LANCE_FLAG_BASE_PATHS = 16,
    LB_LANCE_FLAG_NO_TRANSACTIONS = 32 /* writer only */
};

#define LB_LANCE_READER_FLAGS LB_LANCE_FLAG_DELETIONS /* those this reader implements */

typedef struct lb_manifest {
    lb_lance_manifest *pb;
    lb_lance_index_section *indices; /* NULL: the manifest has no index section */
    lb_lance_aux_data *aux;          /* NULL: none */
    uint64_t position;               /* of the Manifest message in its file */
    uint16_t major, minor;           /* of the footer; they say nothing of the data files */
} lb_manifest;

/* Decode the manifest that a store holds, with its index section and auxiliary data; everything lives in the arena. Field tree,
 * names and paths are checked. Feature flags are not: see lb_manifest_check_readable.
 * Errors: CORRUPT; UNSUPPORTED (a numbering of before release 0.2.7, an unknown footer version); BUDGET, NOMEM, IO. */
lb_status lb_manifest_read(lb_store *store, lb_arena *arena, lb_manifest *out, lb_error *err);

/* What tells versions apart, read without decoding the fragments. Strings in the arena. */
typedef struct lb_manifest_glance {
    uint64_t version;
    int64_t seconds; /* commit time, UTC */
    int32_t nanos;
    lb_str tag;
} lb_manifest_glance;
lb_status lb_manifest_look(lb_store *store, lb_arena *arena, lb_manifest_glance *out, lb_error *err);

/* UNSUPPORTED, naming the bits, where the flags ask a reader for what it does not implement. */
lb_status lb_manifest_check_readable(const lb_manifest *m, lb_error *err);

/* Append the whole file: `dictionaries` (what lies before the messages, may be empty: dictionary offsets of the fields point
 * into it), then auxiliary data, index section, manifest and footer 0.1. Positions in m->pb are set to where things came to
 * lie; `index_section` is written where m->indices is not NULL, also for an empty one. Errors: BUDGET, NOMEM, USAGE. */
lb_status lb_manifest_encode(lb_manifest *m, lb_str dictionaries, lb_buf *out, lb_error *err);

#endif
