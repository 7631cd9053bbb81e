/* The mended map: healthy entries as they stand, equal content under new times, and what was surveyed anew. */
#include <stdlib.h>

#include "base/clock.h"
#include "io/save.h"
#include "lake/doctor.h"
#include "lake/lake_write.h"

static lb_status heal_entry(doctor *d, uint64_t index, lb_entry **out, lb_error *err)
{
    *out = lb_arena_alloc(&d->heal_arena, 1, sizeof **out);
    if (*out == NULL)
        return lb_arena_fail(&d->heal_arena, err);
    return lb_map_view_all(d->map, index, &d->heal_arena, *out, err);
}

static lb_status heal_kept(doctor *d, lb_entry **entries, size_t *n, lb_error *err)
{
    for (uint64_t i = 0; d->map != NULL && i < lb_map_count(d->map); i++)
        if (d->kept[i])
            LB_TRY(heal_entry(d, i, &entries[(*n)++], err));
    return LB_OK;
}

static lb_status heal_restamped(doctor *d, const doctor_file *f, lb_entry **out, lb_error *err)
{
    lb_entry *e = NULL;

    LB_TRY(heal_entry(d, f->index, &e, err));
    *out = e;
    e->rel_path = f->disk->rel_path;
    e->rel_path_raw = f->disk->rel_path_raw;
    e->mtime_ns = f->disk->mtime_ns;
    e->ctime_ns = f->disk->ctime_ns;
    e->inspected_ns = d->now_ns;
    if (d->options.verify && f->check != NULL)
        e->verified_ns = d->now_ns;
    return LB_OK;
}

static lb_status heal_failed(doctor *d, const doctor_file *f, lb_error *err)
{
    if (d->lake->record_errors)
        return LB_OK;
    if (err != NULL)
        *err = *f->why;
    return f->why->code;
}

static lb_status heal_file(doctor *d, doctor_file *f, lb_entry **entries, size_t *n, lb_error *err)
{
    if (f->disk == NULL)
        return LB_OK;
    if (f->failed)
        LB_TRY(heal_failed(d, f, err));
    if (f->fresh != NULL) {
        entries[(*n)++] = f->fresh;
        return LB_OK;
    }
    if (f->restamp)
        return heal_restamped(d, f, &entries[(*n)++], err);
    /* Looked at and found healthy, with nothing to compare but its times. */
    return f->drift == LB_DRIFT_COUNT ? heal_entry(d, f->index, &entries[(*n)++], err) : LB_OK;
}

lb_status lb_doctor_write(doctor *d, bool keep_old, lb_error *err)
{
    size_t most = d->n_files + (size_t)(d->map == NULL ? 0 : lb_map_count(d->map)), n = 0;
    lb_entry **entries = calloc(most + 1, sizeof *entries);
    const lb_lake_write how = { .options = d->lake,
                                .stats = d->stats,
                                .stride = d->inspect.stride,
                                .fingerprint = d->inspect.fingerprint,
                                .interop_full = d->interop_full };

    lb_status status = entries == NULL ? lb_fail_nomem(err) : heal_kept(d, entries, &n, err);
    for (size_t i = 0; status == LB_OK && i < d->n_files; i++)
        status = heal_file(d, &d->files[i], entries, &n, err);
    if (status == LB_OK)
        status = lb_check_cancel(d->cx, err);
    if (status == LB_OK)
        status = lb_lake_save_map(d->cx, d->dir, keep_old, &how, entries, n, err);
    free(entries);
    return status;
}
