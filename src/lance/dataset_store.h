/* A dataset's folder as a store: its bytes, size and times are those of one version's manifest, and the other files are opened
 * by open_inside. What is opened stays the version it was, also when others are committed. */
#ifndef LB_LANCE_DATASET_STORE_H
#define LB_LANCE_DATASET_STORE_H

#include "lance/versions.h"

/* Open a version of the dataset in the folder `root`: `spec` as in lb_version_find; NULL: the newest (`_latest.manifest` where
 * `_versions` holds none). Errors: NOTFOUND (no dataset, no such version), CORRUPT, IO. */
lb_status lb_dataset_store_open(lb_context *cx, const char *root, const char *spec, lb_store **out, lb_error *err);

/* A data file, or the newest version where `path` is a dataset. Errors: as lb_store_open_file. */
lb_status lb_data_store_open(const char *path, lb_store **out, lb_error *err);

/* The manifest that such a store holds; version 0: `_latest.manifest`. */
lb_version_name lb_dataset_store_version(const lb_store *store);

/* What was decoded of the version can wait in the store for whoever opens it next. `drop` frees it when the store is closed, or when
 * something else comes to wait. Taking gives it away; NULL: nothing waits. Threads: any. */
typedef void (*lb_dataset_drop_fn)(void *thing);
void lb_dataset_store_keep(lb_store *store, void *thing, lb_dataset_drop_fn drop);
void *lb_dataset_store_take(lb_store *store);

/* Size and times of the newest manifest of a folder. Errors: as above. */
lb_status lb_dataset_stat(const char *root, lb_file_stat *out, lb_error *err);

#endif
