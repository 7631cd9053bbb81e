/* The rows of one version of a dataset: its fragments with their files, deletions and dictionaries, opened when first needed.
 * Also of a data file alone, which is one fragment of itself.
 *
 * Manifests of the reference era do not say how many rows a fragment has: its data file has to be asked. Where rows near
 * the beginning are wanted, only the fragments before them are: `reached` counts up, from the front. */
#ifndef LB_LANCE_FRAGMENTS_H
#define LB_LANCE_FRAGMENTS_H

#include <pthread.h>

#include "format/entry.h"
#include "format/lance/lance_read.h"
#include "format/lance/lance_write.h"
#include "lance/deletions.h"
#include "lance/manifest.h"

/* So many data files are kept open when nobody reads them. */
#define LB_LANCE_OPEN_FILES 256

/* So many fragments are counted at once where their number of rows must be asked for. */
#define LB_LANCE_COUNT_FEW 64

typedef struct lb_lance_file {
    lb_lance_data *data; /* NULL: closed */
    unsigned users;
    uint64_t used; /* when last, in calls */
} lb_lance_file;

typedef struct lb_lance_rows_of {
    const lb_lance_fragment *pb;
    uint64_t rows;        /* physical */
    uint64_t deleted;     /* of those */
    uint64_t first;       /* live rows before it */
    lb_lance_file *files; /* pb->n_files of them; NULL: none was opened yet */
    lb_deletions *deletions;
} lb_lance_rows_of;

/* `count` fragments one after the other with the same numbers. */
typedef struct lb_lance_count_run {
    uint32_t count, rows, deleted;
} lb_lance_count_run;

typedef struct lb_lance_set {
    lb_context *cx;
    lb_store *store; /* of the manifest, or the data file; lent */
    bool single;     /* a data file alone */
    lb_arena arena;
    lb_manifest m;
    lb_lance_tree tree;
    size_t n_columns; /* those that are shown: without the companions */
    lb_lance_node **columns;
    lb_lance_companions companions;
    const lb_lance_node **companion_columns; /* top-level column of each companion */
    size_t n_fragments;
    lb_lance_rows_of *fragments; /* the numbers of the first `reached` of them are known and stay */
    _Atomic size_t reached;
    _Atomic uint64_t rows;     /* live; LB_ROWS_UNKNOWN until all fragments are reached */
    size_t most_files;         /* of one fragment */
    struct ArrowSchema schema; /* of the shown columns; those that some fragment lacks are nullable */

    pthread_mutex_t counting; /* held by whoever reaches further */
    pthread_mutex_t lock;     /* of what follows, the arena, and the files and deletions of fragments */
    uint64_t calls;
    size_t n_open, cap_open;
    lb_lance_file **open; /* files that are open */
    struct lb_lance_loaded *dictionaries;
} lb_lance_set;

/* Open the version that `store` holds (with open_inside), or the data file. Feature flags and the storage version are checked; rows of
 * fragments are counted, from the data files where the manifest does not say or is not to be trusted. Errors: UNSUPPORTED, CORRUPT,
 * NOTFOUND (a data file that is not there), BUDGET, NOMEM, IO. */
lb_status lb_lance_set_open(lb_context *cx, lb_store *store, lb_lance_set **out, lb_error *err);
void lb_lance_set_close(lb_lance_set *set); /* NULL is fine */

/* Rows of fragments from the first one on, as somebody remembers them of the same version. */
typedef struct lb_lance_counts {
    size_t n;
    const lb_lance_count_run *runs;
} lb_lance_counts;

/* The same without counting more than LB_LANCE_COUNT_FEW fragments that the manifest does not tell of, and those not where
 * `known` does (NULL: nothing is known). Errors: also STALE: `known` does not fit. */
lb_status lb_lance_set_open_some(lb_context *cx, lb_store *store, const lb_lance_counts *known, lb_lance_set **out,
                                 lb_error *err);

/* Count on until the live row `row` is in a fragment that is counted, or all are. UINT64_MAX: count all. Errors: those of opening data
 * and deletion files, BUDGET, NOMEM, CANCELLED. Threads: any; one counts, by all threads of the context, the others wait. */
lb_status lb_lance_set_reach(lb_lance_set *set, uint64_t row, lb_error *err);

/* Fragment that holds a live row which was reached and is there. */
size_t lb_lance_set_find(const lb_lance_set *set, uint64_t row);

/* Deleted rows of a fragment, loaded when first asked for; NULL: it has none. */
lb_status lb_lance_set_deletions(lb_lance_set *set, size_t fragment, const lb_deletions **out, lb_error *err);

/* Open a data file of a fragment and keep it open until it is given back. */
lb_status lb_lance_set_take(lb_lance_set *set, size_t fragment, size_t file, lb_lance_data **out, lb_error *err);
void lb_lance_set_give(lb_lance_set *set, size_t fragment, size_t file);

/* Values of a dictionary column as the manifest has them, or the data file where the manifest has none. */
lb_status lb_lance_set_dictionary(lb_lance_set *set, const lb_lance_node *node, const lb_lance_data *data,
                                  const lb_lance_dictionary **out, lb_error *err);

/* Row id of a live row: fragment id << 32 | physical row. Errors: those of deletion files. */
lb_status lb_lance_set_row_id(lb_lance_set *set, uint64_t row, uint64_t *out, lb_error *err);

/* What is read. */
typedef struct lb_lance_scan {
    uint64_t first, count; /* live rows */
    const uint64_t *rows;  /* instead: these, `count` of them, ascending; lent to the stream. NULL: the range */
    size_t n_columns;
    const uint64_t *columns;                      /* places among the shown ones, in the order wanted; one may repeat */
    size_t batch_rows;                            /* at most so many rows a batch; 0: some 16 MiB, up to 65,536 rows */
    uint64_t (*border)(void *user, uint64_t row); /* no batch crosses the row this gives; NULL: none */
    void *border_user;
} lb_lance_scan;

/* Rows as a stream of batches. The set must outlive it. Rows past the end are left out. */
lb_status lb_lance_set_scan(lb_lance_set *set, const lb_lance_scan *scan, struct ArrowArrayStream *out, lb_error *err);

#endif
