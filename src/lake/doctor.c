/* The doctor: one run, its report, and undoing a heal. */
#include "lake/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "io/save.h"
#include "lake/lake_write.h"
#include "lake/sandbox.h"

struct lb_doctor_report {
    doctor d;
    lb_doctor_status status;
    bool healed;
    const char *map_path;
    int map_schema;
    size_t *order; /* places of the findings in d.files */
    size_t n_findings;
    int64_t elapsed_ns;
};

#define DOCTOR_TEXT(name, text) text,

const char *lb_doctor_status_text(lb_doctor_status status)
{
    static const char *const texts[] = { LB_DOCTOR_STATUS_MAP(DOCTOR_TEXT) };

    return (unsigned)status < LB_COUNT_OF(texts) ? texts[status] : "?";
}

const char *lb_drift_text(lb_drift drift)
{
    static const char *const texts[] = { LB_DRIFT_MAP(DOCTOR_TEXT) };

    return (unsigned)drift < LB_COUNT_OF(texts) ? texts[drift] : "?";
}

/* ---------------------------------------------------------------- the run */

void lb_doctor_progress(void *user)
{
    doctor *d = user;
    uint64_t done = atomic_load_explicit(&d->bytes_hashed, memory_order_relaxed) +
                    atomic_load_explicit(&d->bytes_surveyed, memory_order_relaxed);

    lb_progress(d->cx, LB_MIN(done, d->planned_bytes), d->planned_bytes, atomic_load(&d->files_done), d->planned_files);
}

/* What the map remembers; defaults without one. */
static lb_status doctor_take_options(lb_doctor_report *r, lb_error *err)
{
    doctor *d = &r->d;
    lb_map_info info = { .struct_size = sizeof info };

    d->inspect =
        (lb_inspect_options){ .stride = LB_DEFAULT_STRIDE, .stats = LB_STATS_ALL, .digests = true, .for_map = true };
    if (d->map == NULL)
        return lb_lake_options_new(NULL, &d->lake, err);
    const lb_map_header *header = lb_map_header_of(d->map);
    LB_TRY(lb_map_get_info(d->map, &info, err));
    LB_TRY(lb_lake_options_of_json(header->options_json, &d->lake, err));
    LB_TRY(lb_lake_stats_of_map(header->stats, &d->arena, &d->stats, err));
    r->map_schema = info.map_schema;
    d->extended = info.extended;
    d->interop_full = header->interop_full;
    d->inspect.stride = header->stride;
    d->inspect.fingerprint = header->fingerprint;
    d->inspect.stats = d->stats.policy;
    d->inspect.stats_columns = d->stats.columns;
    d->inspect.detect = d->lake->detect;
    d->inspect.pages = d->lake->pages;
    return LB_OK;
}

static lb_status doctor_load(lb_doctor_report *r, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;

    lb_status status = lb_map_load_file(r->map_path, &r->d.map, &why);
    if (status == LB_OK || status == LB_NOTFOUND)
        return LB_OK;
    if (err != NULL)
        *err = why;
    return status;
}

static bool doctor_has_drift(const doctor *d)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (lb_doctor_is_drift(&d->files[i]))
            return true;
    return d->map == NULL;
}

/* Is there anything a heal would renew without it being drift? */
static bool doctor_has_stamps(const doctor *d)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].restamp)
            return true;
    return false;
}

/* A heal of a map in one of the reference's layouts makes all its entries anew: those kept so far, too. */
static lb_status doctor_upgrade(doctor *d, lb_error *err)
{
    size_t k = 0;

    for (uint64_t n = 0; d->map != NULL && !d->extended && n < lb_map_count(d->map); n++) {
        uint64_t i = lb_map_by_path(d->map, n);
        lb_str path;
        if (!d->kept[i])
            continue;
        LB_TRY(lb_map_view_path(d->map, i, &path, err));
        while (k < d->disk.count && lb_str_compare(d->disk.files[k].rel_path, path) < 0)
            k++;
        const lb_data_file *disk = &d->disk.files[k];
        const doctor_file file = { .drift = LB_DRIFT_COUNT,
                                   .rel_path = disk->rel_path,
                                   .disk = disk,
                                   .in_map = true,
                                   .index = i,
                                   .old_bytes = -1 };
        LB_TRY(lb_doctor_add(d, &file, err));
        d->kept[i] = 0;
    }
    return LB_OK;
}

static lb_status doctor_run(lb_doctor_report *r, lb_error *err)
{
    doctor *d = &r->d;
    bool drift;

    LB_TRY(lb_discover(d->cx, d->dir, &d->lake->discover, &d->disk, err));
    LB_TRY(lb_doctor_compare(d, err));
    drift = doctor_has_drift(d);
    if (d->options.heal && drift)
        LB_TRY(doctor_upgrade(d, err));
    LB_TRY(lb_doctor_survey(d, d->options.heal && drift, err));
    r->status = drift ? LB_DOCTOR_DRIFT : LB_DOCTOR_HEALTHY;
    if (!d->options.heal || (!drift && !doctor_has_stamps(d)))
        return LB_OK;
    /* Times renewed are no heal: undoing still leads to the map of before the last one. */
    LB_TRY(lb_doctor_write(d, drift, err));
    r->healed = drift;
    r->status = drift ? LB_DOCTOR_HEALED : LB_DOCTOR_HEALTHY;
    return LB_OK;
}

/* A heal left another map than the one that was found. */
static lb_status doctor_seeks(lb_doctor_report *r, lb_error *err)
{
    lb_map *healed = NULL;

    if (r->healed)
        LB_TRY(lb_map_load_file(r->map_path, &healed, err));
    const lb_map *map = r->healed ? healed : r->d.map;
    lb_status status = map == NULL ? LB_OK : lb_doctor_find_unseekable(&r->d, map, err);
    lb_map_close(healed);
    return status;
}

/* Findings by kind, then by path. */
static _Thread_local const doctor_file *doctor_sorted;

static int doctor_order(const void *a, const void *b)
{
    const doctor_file *x = &doctor_sorted[*(const size_t *)a], *y = &doctor_sorted[*(const size_t *)b];

    if (x->drift != y->drift)
        return x->drift < y->drift ? -1 : 1;
    return lb_str_compare(x->rel_path, y->rel_path);
}

/* A renamed file has one finding, under its new name. */
static lb_status doctor_list(lb_doctor_report *r, lb_error *err)
{
    r->order = calloc(r->d.n_files + 1, sizeof *r->order);
    if (r->order == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < r->d.n_files; i++)
        if (r->d.files[i].drift != LB_DRIFT_COUNT && !r->d.files[i].moved)
            r->order[r->n_findings++] = i;
    doctor_sorted = r->d.files;
    qsort(r->order, r->n_findings, sizeof *r->order, doctor_order);
    return LB_OK;
}

static lb_status doctor_start(lb_doctor_report *r, lb_context *cx, const char *dir, const lb_doctor_options *options,
                              lb_error *err)
{
    doctor *d = &r->d;

    if (pthread_mutex_init(&d->lock, NULL) != 0)
        return lb_fail_nomem(err);
    d->cx = cx;
    lb_arena_init(&d->arena, &cx->budget);
    lb_file_list_init(&d->disk, &cx->budget);
    lb_buf_init(&d->unseekable, &cx->budget);
    d->failed_at = SIZE_MAX;
    if (options != NULL && options->struct_size != sizeof *options)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_doctor_options.struct_size is %zu, not %zu", options->struct_size,
                       sizeof *options);
    if (options != NULL)
        d->options = *options;
    d->now_ns = lb_now_ns();
    d->dir = lb_arena_copy(&d->arena, lb_str_of(dir));
    r->map_path = lb_path_join(&d->arena, dir, LB_MAP_NAME);
    if (d->dir == NULL || r->map_path == NULL)
        return lb_arena_fail(&d->arena, err);
    return lb_check_sandbox(dir, err);
}

/* A directory that is none gets no lock file. */
static lb_status doctor_check_dir(const char *dir, lb_error *err)
{
    if (access(dir, F_OK) != 0)
        return lb_fail_errno(err, errno, dir, "open");
    return LB_OK;
}

static lb_status doctor_locked(lb_doctor_report *r, lb_error *err)
{
    lb_lock *lock = NULL;

    LB_TRY(doctor_check_dir(r->d.dir, err));
    if (r->d.options.heal)
        LB_TRY(lb_lake_lock(r->d.dir, &lock, err));
    lb_status status = doctor_load(r, err);
    if (status == LB_OK)
        status = doctor_take_options(r, err);
    if (status == LB_OK)
        status = doctor_run(r, err);
    if (status == LB_OK)
        status = doctor_seeks(r, err);
    lb_lock_release(lock);
    return status;
}

lb_status lb_doctor(lb_context *cx, const char *dir, const lb_doctor_options *options, lb_doctor_report **out,
                    lb_error *err)
{
    lb_doctor_report *r = calloc(1, sizeof *r);
    int64_t began = lb_monotonic_ns();

    lb_error_clear(err);
    *out = NULL;
    if (r == NULL)
        return lb_fail_nomem(err);
    lb_status status = doctor_start(r, cx, dir, options, err);
    if (status == LB_OK)
        status = doctor_locked(r, err);
    if (status == LB_OK)
        status = doctor_list(r, err);
    r->elapsed_ns = lb_monotonic_ns() - began;
    if (status == LB_OK) {
        *out = r;
        return LB_OK;
    }
    lb_doctor_report_free(r);
    lb_fail_path(err, dir);
    return status;
}

void lb_doctor_report_free(lb_doctor_report *r)
{
    if (r == NULL)
        return;
    lb_spool_free(&r->d.spool);
    lb_file_list_free(&r->d.disk);
    lb_buf_free(&r->d.unseekable);
    free(r->d.files);
    free(r->d.kept);
    free(r->order);
    lb_lake_options_free(r->d.lake);
    lb_map_close(r->d.map);
    lb_arena_free(&r->d.arena);
    if (r->d.cx != NULL)
        (void)pthread_mutex_destroy(&r->d.lock);
    free(r);
}

/* ---------------------------------------------------------------- the report */

lb_status lb_doctor_get_info(const lb_doctor_report *r, lb_doctor_info *out, lb_error *err)
{
    lb_error_clear(err);
    *out = (lb_doctor_info){ .struct_size = sizeof *out,
                             .status = r->status,
                             .total_files = r->d.disk.count,
                             .healthy = r->d.healthy,
                             .findings = r->n_findings,
                             .healed = r->healed,
                             .had_map = r->d.map != NULL,
                             .map_path = r->map_path,
                             .map_schema = r->map_schema,
                             .bytes_hashed = r->d.bytes_hashed,
                             .bytes_surveyed = r->d.bytes_surveyed,
                             .elapsed_ns = r->elapsed_ns,
                             .unseekable = r->d.unseekable.size / sizeof(lb_unseekable) };
    return LB_OK;
}

lb_status lb_doctor_unseekable(const lb_doctor_report *r, uint64_t index, lb_unseekable *out, lb_error *err)
{
    const lb_unseekable *all = (const lb_unseekable *)(const void *)r->d.unseekable.data;

    lb_error_clear(err);
    if (index >= r->d.unseekable.size / sizeof *all)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "file %llu of a report that has %zu without restart points",
                       (unsigned long long)index, r->d.unseekable.size / sizeof *all);
    *out = all[index];
    return LB_OK;
}

/* The path a renamed file had. */
static lb_status doctor_was(doctor *d, const doctor_file *f, const char **out, lb_error *err)
{
    lb_str path;

    LB_TRY(lb_map_view_path(d->map, f->index, &path, err));
    *out = lb_arena_copy(&d->arena, path);
    return *out == NULL ? lb_arena_fail(&d->arena, err) : LB_OK;
}

lb_status lb_doctor_finding(const lb_doctor_report *report, uint64_t index, lb_finding *out, lb_error *err)
{
    lb_doctor_report *r = (lb_doctor_report *)(uintptr_t)report;
    static const doctor_detail none;

    lb_error_clear(err);
    if (index >= r->n_findings)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "finding %llu of a report of %zu", (unsigned long long)index,
                       r->n_findings);
    const doctor_file *f = &r->d.files[r->order[index]];
    const doctor_detail *more = f->detail != NULL ? f->detail : &none;
    *out = (lb_finding){ .struct_size = sizeof *out,
                         .drift = f->drift,
                         .path = f->rel_path.at,
                         .error = f->why,
                         .old_bytes = f->old_bytes,
                         .new_bytes = f->disk != NULL ? (int64_t)f->disk->size : -1,
                         .n_damage = more->n_damage,
                         .damage = more->damage,
                         .n_schema = more->n_schema,
                         .schema = more->schema,
                         .note = more->note };
    return f->drift == LB_DRIFT_RENAMED ? doctor_was(&r->d, f, &out->was, err) : LB_OK;
}

/* ---------------------------------------------------------------- undoing */

/* The swap for file systems that cannot exchange names: by way of a third name, so that a map is there at every
 * moment. A failure on the way puts back what was. The third name is one that writers clear away. Returns errno. */
static int doctor_swap_slowly(int dir)
{
    static const char spare[] = LB_MAP_NAME ".tmp.0.0";
    int failed = 0;

    (void)unlinkat(dir, spare, 0);
    if (linkat(dir, LB_MAP_NAME, dir, spare, 0) != 0)
        return errno;
    if (renameat(dir, LB_MAP_OLD_NAME, dir, LB_MAP_NAME) != 0) {
        failed = errno;
        (void)unlinkat(dir, spare, 0);
    } else if (renameat(dir, spare, dir, LB_MAP_OLD_NAME) != 0) {
        failed = errno;
        if (linkat(dir, LB_MAP_NAME, dir, LB_MAP_OLD_NAME, 0) == 0)
            (void)renameat(dir, spare, dir, LB_MAP_NAME);
    }
    return failed;
}

/* Swap the map with the one kept beside it; without a map, put the kept one in its place. Returns errno. */
static int doctor_swap(int dir)
{
    int failed = renameat2(dir, LB_MAP_OLD_NAME, dir, LB_MAP_NAME, RENAME_EXCHANGE) == 0 ? 0 : errno;

    if (failed == EINVAL || failed == ENOSYS || failed == ENOTSUP)
        failed = doctor_swap_slowly(dir);
    if (failed == ENOENT)
        failed = renameat(dir, LB_MAP_OLD_NAME, dir, LB_MAP_NAME) == 0 ? 0 : errno;
    return failed;
}

static lb_status doctor_undo_locked(const char *dir, lb_arena *arena, lb_error *err)
{
    char *old = lb_path_join(arena, dir, LB_MAP_OLD_NAME);
    lb_map *former = NULL;

    if (old == NULL)
        return lb_arena_fail(arena, err);
    if (access(old, F_OK) != 0) {
        if (errno != ENOENT)
            return lb_fail_errno(err, errno, old, "open");
        lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no former map to put back");
        lb_fail_path(err, old);
        return LB_NOTFOUND;
    }
    /* What is put back has to be a map. */
    LB_TRY(lb_map_load_file(old, &former, err));
    lb_map_close(former);
    int fd = TEMP_FAILURE_RETRY(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return lb_fail_errno(err, errno, dir, "open");
    int failed = doctor_swap(fd);
    lb_status status = failed != 0 ? lb_fail_errno(err, failed, old, "put back") : lb_sync_dir(fd, dir, err);
    (void)close(fd);
    return status;
}

lb_status lb_doctor_undo(lb_context *cx, const char *dir, lb_error *err)
{
    lb_lock *lock = NULL;
    lb_arena arena;

    lb_error_clear(err);
    lb_arena_init(&arena, &cx->budget);
    lb_status status = lb_check_sandbox(dir, err);
    if (status == LB_OK)
        status = doctor_check_dir(dir, err);
    if (status == LB_OK)
        status = lb_lake_lock(dir, &lock, err);
    if (status == LB_OK)
        status = doctor_undo_locked(dir, &arena, err);
    lb_lock_release(lock);
    lb_arena_free(&arena);
    if (status != LB_OK)
        lb_fail_path(err, dir);
    return status;
}
