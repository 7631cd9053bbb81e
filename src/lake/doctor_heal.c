/* The mended map: healthy entries as they stand, equal content under new times, and what was surveyed anew. */
#include <stdlib.h>

#include "base/clock.h"
#include "io/save.h"
#include "lake/doctor.h"
#include "lake/lake_write.h"

/* Entries of the new map in the order of paths: an index in the old map, or HEAL_FILE and a place in d->files. */
#define HEAL_FILE ((uint64_t)1 << 63)

typedef struct heal {
    doctor *d;
    uint64_t *items;
    size_t n;
} heal;

/* ---------------------------------------------------------------- one entry */

static lb_status heal_get(void *user, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const heal *h = user;
    doctor *d = h->d;
    uint64_t item = h->items[index];

    if ((item & HEAL_FILE) == 0)
        return lb_map_view_all(d->map, item, arena, out, err);
    const doctor_file *f = &d->files[item & ~HEAL_FILE];
    if (f->slot != 0) {
        LB_TRY(lb_spool_get(&d->spool, f->slot - 1, arena, out, err));
    } else {
        LB_TRY(lb_map_view_all(d->map, f->index, arena, out, err));
        out->mtime_ns = f->disk->mtime_ns;
        out->ctime_ns = f->disk->ctime_ns;
        out->inspected_ns = d->now_ns;
        if (d->options.verify && f->looked)
            out->verified_ns = d->now_ns;
    }
    out->rel_path = f->disk->rel_path;
    out->rel_path_raw = f->disk->rel_path_raw;
    return LB_OK;
}

/* ---------------------------------------------------------------- all */

static bool heal_has(const doctor_file *f)
{
    return f->disk != NULL && (f->slot != 0 || f->restamp);
}

/* Files come in the order of their paths, but for those that an upgrade added behind the others. */
static _Thread_local const doctor_file *heal_sorted;

static int heal_order(const void *a, const void *b)
{
    return lb_str_compare(heal_sorted[*(const size_t *)a].rel_path, heal_sorted[*(const size_t *)b].rel_path);
}

static size_t heal_files(const doctor *d, size_t *out)
{
    size_t n = 0;
    bool sorted = true;

    for (size_t i = 0; i < d->n_files; i++) {
        if (!heal_has(&d->files[i]))
            continue;
        sorted = sorted && (n == 0 || lb_str_compare(d->files[out[n - 1]].rel_path, d->files[i].rel_path) < 0);
        out[n++] = i;
    }
    heal_sorted = d->files;
    if (!sorted)
        qsort(out, n, sizeof *out, heal_order);
    return n;
}

/* Kept entries and files, merged. */
static lb_status heal_merge(heal *h, const size_t *files, size_t n_files, lb_error *err)
{
    const doctor *d = h->d;
    uint64_t count = d->map == NULL ? 0 : lb_map_count(d->map);
    size_t k = 0;

    for (uint64_t n = 0; n < count; n++) {
        uint64_t i = lb_map_by_path(d->map, n);
        lb_str path;
        if (!d->kept[i])
            continue;
        LB_TRY(lb_map_view_path(d->map, i, &path, err));
        while (k < n_files && lb_str_compare(d->files[files[k]].rel_path, path) < 0)
            h->items[h->n++] = HEAL_FILE | files[k++];
        h->items[h->n++] = i;
    }
    while (k < n_files)
        h->items[h->n++] = HEAL_FILE | files[k++];
    return LB_OK;
}

static lb_status heal_list(heal *h, lb_error *err)
{
    doctor *d = h->d;
    uint64_t count = d->map == NULL ? 0 : lb_map_count(d->map), kept = 0;
    size_t *files = calloc(d->n_files + 1, sizeof *files);
    size_t n_files = files == NULL ? 0 : heal_files(d, files);

    for (uint64_t i = 0; i < count; i++)
        kept += d->kept[i] != 0;
    h->items = calloc((size_t)kept + n_files + 1, sizeof *h->items);
    lb_status status = files == NULL || h->items == NULL ? lb_fail_nomem(err) : heal_merge(h, files, n_files, err);
    free(files);
    return status;
}

/* One that could not be surveyed is kept with its error, or ends the heal. */
static lb_status heal_check(const doctor *d, lb_error *err)
{
    if (d->lake->record_errors || d->failed_at == SIZE_MAX)
        return LB_OK;
    if (err != NULL)
        *err = d->failed_why;
    return d->failed_why.code;
}

lb_status lb_doctor_write(doctor *d, bool keep_old, lb_error *err)
{
    heal h = { .d = d };
    const lb_lake_write how = { .options = d->lake,
                                .stats = d->stats,
                                .stride = d->inspect.stride,
                                .fingerprint = d->inspect.fingerprint,
                                .interop_full = d->interop_full };

    LB_TRY(heal_check(d, err));
    lb_status status = heal_list(&h, err);
    const lb_entry_source entries = { .count = h.n, .get = heal_get, .user = &h };
    if (status == LB_OK)
        status = lb_check_cancel(d->cx, err);
    if (status == LB_OK)
        status = lb_lake_save_map(d->cx, d->dir, keep_old, &how, &entries, err);
    free(h.items);
    return status;
}
