/* What became of a dataset since a map was made of it. Versions are never changed, so the one that was mapped tells. */
#ifndef LB_LANCE_LANCE_DRIFT_H
#define LB_LANCE_LANCE_DRIFT_H

#include "format/entry.h"
#include "lance/versions.h"

typedef enum lb_lance_change_kind {
    LB_LANCE_SAME_VERSION, /* no other one was committed: what differs is the manifest's file */
    LB_LANCE_GREW,         /* all rows stand where they stood, behind them are others; the columns are the same */
    LB_LANCE_CHANGED,      /* rows, columns or settings are others */
    LB_LANCE_OVERWRITTEN,  /* none of the fragments is left */
    LB_LANCE_LOST          /* the version that was mapped is gone, or another one has its number: nothing is known */
} lb_lance_change_kind;

typedef struct lb_lance_drift {
    lb_lance_change_kind kind;
    uint64_t from, to; /* versions */
    char words[256];   /* "version 5, was 3: 2 fragments added (200 rows), rows deleted in 1 fragment" */
} lb_lance_drift;

/* The version that a map's entry of a dataset is of; false: the entry does not say. */
bool lb_lance_entry_version(const lb_entry *entry, uint64_t *version);

/* Compare the version of a map's entry with the newest one of the dataset in `root`. Reads both manifests. Errors: CORRUPT, UNSUPPORTED,
 * IO, BUDGET, NOMEM. */
lb_status lb_lance_drift_of(lb_context *cx, const char *root, const lb_entry *entry, lb_lance_drift *out,
                            lb_error *err);

#endif
