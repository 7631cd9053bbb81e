#include "lake/lake_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/path.h"
#include "column/ipc.h"
#include "io/save.h"
#include "lake/unite.h"

#define LAKE_LOCK_WAIT_MS 2000

/* The encapsulated schema of all entries' columns. */
static lb_status write_union(lb_entry **entries, size_t n, lb_buf *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    lb_unite *u = NULL;

    lb_status status = lb_unite_new(LB_SCHEMA_UNION, &u, err);
    for (size_t i = 0; status == LB_OK && i < n; i++)
        status = lb_unite_add(u, entries[i], &entries[i]->columns, err);
    if (status == LB_OK)
        status = lb_unite_schema(u, &schema, err);
    if (status == LB_OK) {
        status = lb_ipc_encode_schema(&schema, out, err);
        schema.release(&schema);
    }
    lb_unite_free(u);
    return status;
}

static int write_order(const void *a, const void *b)
{
    return lb_str_compare((*(lb_entry *const *)a)->rel_path, (*(lb_entry *const *)b)->rel_path);
}

lb_status lb_lake_write_map(const lb_lake_write *how, lb_entry **entries, size_t count, lb_write_fn write, void *user,
                            lb_error *err)
{
    lb_buf options, stats, united;
    char writer[64];
    int n = snprintf(writer, sizeof writer, "lakebed %s", lb_version());
    lb_map_header header = { .stride = how->stride,
                             .fingerprint = how->fingerprint,
                             .created_ns = lb_now_ns(),
                             .interop_full = how->interop_full,
                             .writer = { writer, (size_t)n } };

    lb_buf_init(&options, NULL);
    lb_buf_init(&stats, NULL);
    lb_buf_init(&united, NULL);
    /* Columns are united in map order. */
    if (count != 0)
        qsort(entries, count, sizeof *entries, write_order);
    lb_status status = lb_lake_options_json(how->options, &options, err);
    if (status == LB_OK)
        status = lb_lake_stats_text(&how->stats, &stats, err);
    if (status == LB_OK)
        status = write_union(entries, count, &united, err);
    header.options_json = (lb_str){ (const char *)options.data, options.size };
    header.stats = (lb_str){ (const char *)stats.data, stats.size };
    header.union_schema = (lb_str){ (const char *)united.data, united.size };
    if (status == LB_OK)
        status = lb_map_write(&header, entries, count, 0, write, user, err);
    lb_buf_free(&options);
    lb_buf_free(&stats);
    lb_buf_free(&united);
    return status;
}

static lb_status save_to(lb_context *cx, const char *path, const char *old, const lb_lake_write *how,
                         lb_entry **entries, size_t count, lb_error *err)
{
    lb_saver *saver = NULL;

    LB_TRY(lb_saver_open_as(cx, path, old, &saver, err));
    lb_status status = lb_lake_write_map(how, entries, count, lb_saver_write, saver, err);
    if (status == LB_OK)
        return lb_saver_commit(saver, err);
    lb_saver_discard(saver);
    return status;
}

lb_status lb_lake_save_map(lb_context *cx, const char *dir, bool keep_old, const lb_lake_write *how, lb_entry **entries,
                           size_t count, lb_error *err)
{
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, dir, LB_MAP_NAME), *old = lb_path_join(&arena, dir, LB_MAP_OLD_NAME);
    lb_status status = path == NULL || old == NULL ? lb_arena_fail(&arena, err)
                                                   : save_to(cx, path, keep_old ? old : NULL, how, entries, count, err);
    lb_arena_free(&arena);
    return status;
}

lb_status lb_lake_lock(const char *dir, struct lb_lock **out, lb_error *err)
{
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, dir, LB_MAP_LOCK_NAME);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : lb_lock_take(path, LAKE_LOCK_WAIT_MS, out, err);
    lb_arena_free(&arena);
    return status;
}
