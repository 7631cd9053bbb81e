/* Versions of a dataset: the manifests in its folder `_versions`, and the names given to them. */
#ifndef LB_LANCE_VERSIONS_H
#define LB_LANCE_VERSIONS_H

#include "lance/manifest.h"

#define LB_LANCE_LATEST "_latest.manifest"
#define LB_LANCE_VERSIONS "_versions"
#define LB_LANCE_TAGS "_refs/tags"

/* Manifests are named by their number, or (20 digits) by 2^64 - 1 less the number. */
typedef struct lb_version_name {
    uint64_t version;
    bool long_name;
} lb_version_name;

typedef struct lb_versions {
    size_t count;
    const lb_version_name *items; /* by ascending version; of equal numbers the short name first */
} lb_versions;

/* What a name in `_versions` says; false: it is no manifest's (temporary, detached or half-written ones, hints). */
bool lb_version_of_name(const char *name, lb_version_name *out);

/* `_versions/7.manifest`. At most 64 bytes with the NUL. */
void lb_version_path(const lb_version_name *name, char out[64]);

/* Does the folder `path` look like a dataset: has it `_versions` with a manifest in it, or `_latest.manifest`? */
bool lb_is_dataset(const char *path);

/* The same, where not being able to tell is an error. What is no folder is no dataset. Errors: IO, NOMEM. */
lb_status lb_dataset_look(const char *path, bool *is, lb_error *err);

/* Has the folder `path` what a dataset has but no version: `_versions` without a manifest, beside `data`? Writing it was broken off, or its
 * manifests are gone. *is_rest: there is nothing but what making a dataset leaves: data files, and manifests that did not get their
 * names. Errors: IO, NOMEM. */
lb_status lb_dataset_look_headless(const char *path, bool *is, bool *is_rest, lb_error *err);

/* Say so of `path`. Gives CORRUPT. */
lb_status lb_dataset_fail_headless(const char *path, bool is_rest, lb_error *err);

/* All versions; none is no error. Errors: IO, NOMEM, BUDGET. */
lb_status lb_versions_list(const char *root, lb_arena *arena, lb_versions *out, lb_error *err);

/* The newest version alone, without a list of all. *found false: there is none in `_versions`. */
lb_status lb_versions_newest(const char *root, lb_version_name *out, bool *found, lb_error *err);

/* The version that `spec` means: a number; else a tag, of a refs file or of a manifest (the newest that has it); else a time
 * (`2026-11-30`, with `T12:34:56[.789]` and `Z` or `+01:00`): the newest version that was there then. Errors: NOTFOUND, with what
 * there is; CORRUPT (a refs file); IO. Cost: a number reads no manifest, a tag or time reads them from the newest down. */
lb_status lb_version_find(lb_context *cx, const char *root, const char *spec, lb_version_name *out, lb_error *err);

/* Tags of refs files, by name: each lends from the arena. */
typedef struct lb_version_tag {
    const char *name;
    uint64_t version;
} lb_version_tag;
lb_status lb_version_tags(const char *root, lb_arena *arena, lb_version_tag **out, size_t *n, lb_error *err);

/* Open the manifest of a version. Errors: NOTFOUND: no such version; IO. */
lb_status lb_version_open(const char *root, const lb_version_name *name, lb_store **out, lb_error *err);

#endif
