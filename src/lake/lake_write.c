#include "lake/lake_write.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/path.h"
#include "io/save.h"

#define LAKE_LOCK_WAIT_MS 2000

lb_status lb_lake_write_map(const lb_lake_write *how, const lb_entry_source *entries, lb_write_fn write, void *user,
                            lb_error *err)
{
    lb_buf options, stats;
    char writer[64];
    int n = snprintf(writer, sizeof writer, "lakebed %s", lb_version());
    lb_map_header header = { .stride = how->stride,
                             .fingerprint = how->fingerprint,
                             .created_ns = lb_now_ns(),
                             .interop_full = how->interop_full,
                             .writer = { writer, (size_t)n } };

    lb_buf_init(&options, NULL);
    lb_buf_init(&stats, NULL);
    lb_status status = lb_lake_options_json(how->options, &options, err);
    if (status == LB_OK)
        status = lb_lake_stats_text(&how->stats, &stats, err);
    header.options_json = (lb_str){ (const char *)options.data, options.size };
    header.stats = (lb_str){ (const char *)stats.data, stats.size };
    if (status == LB_OK)
        status = lb_map_write(&header, entries, true, 0, write, user, err);
    lb_buf_free(&options);
    lb_buf_free(&stats);
    return status;
}

static lb_status save_to(lb_context *cx, const char *path, const char *old, const lb_lake_write *how,
                         const lb_entry_source *entries, lb_error *err)
{
    lb_saver *saver = NULL;

    LB_TRY(lb_saver_open_as(cx, path, old, &saver, err));
    lb_status status = lb_lake_write_map(how, entries, lb_saver_write, saver, err);
    if (status == LB_OK)
        return lb_saver_commit(saver, err);
    const lb_error *why = lb_saver_error(saver);
    if (why != NULL) { /* the writer of the map knows only that its bytes were refused */
        status = why->code;
        if (err != NULL)
            *err = *why;
    }
    lb_saver_discard(saver);
    return status;
}

lb_status lb_lake_save_map(lb_context *cx, const char *dir, bool keep_old, const lb_lake_write *how,
                           const lb_entry_source *entries, lb_error *err)
{
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, dir, LB_MAP_NAME), *old = lb_path_join(&arena, dir, LB_MAP_OLD_NAME);
    lb_status status = path == NULL || old == NULL ? lb_arena_fail(&arena, err)
                                                   : save_to(cx, path, keep_old ? old : NULL, how, entries, err);
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
