/* A map made of entries: what its metadata says, and the united schema. One way for building and healing. */
#ifndef LB_LAKE_WRITE_H
#define LB_LAKE_WRITE_H

#include "lake/lake_options.h"
#include "lake/lake_stats.h"
#include "lake/map.h"

typedef struct lb_lake_write {
    const lb_lake_options *options;
    lb_lake_stats stats;
    uint64_t stride;
    lb_fingerprint fingerprint;
    bool interop_full;
} lb_lake_write;

lb_status lb_lake_write_map(const lb_lake_write *how, const lb_entry_source *entries, lb_write_fn write, void *user,
                            lb_error *err);

/* The same into `dir`/.br_map.bazan; `keep_old`: what stood there stays as .br_map.bazan.old. The caller holds the
 * lock. */
lb_status lb_lake_save_map(lb_context *cx, const char *dir, bool keep_old, const lb_lake_write *how,
                           const lb_entry_source *entries, lb_error *err);

/* The lock that writers of a lake's map take; waits a little. Errors: CONFLICT. */
struct lb_lock;
lb_status lb_lake_lock(const char *dir, struct lb_lock **out, lb_error *err);

#endif
