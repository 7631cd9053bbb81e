/* Map against directory: first by names, sizes and times, then, where those do not tell, by content. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/names.h"
#include "base/pool.h"
#include "lake/data.h"
#include "lake/digest.h"
#include "lake/doctor.h"
#include "lake/handlers.h"
#include "lance/dataset_store.h"

/* ---------------------------------------------------------------- names, sizes, times */

static lb_status compare_add(doctor *d, doctor_file file, doctor_file **out, lb_error *err)
{
    if (d->n_files == d->cap_files) {
        size_t cap = d->cap_files == 0 ? 64 : d->cap_files * 2;
        doctor_file *files = realloc(d->files, cap * sizeof *files);
        if (files == NULL)
            return lb_fail_nomem(err);
        d->files = files;
        d->cap_files = cap;
    }
    d->files[d->n_files] = file;
    if (out != NULL)
        *out = &d->files[d->n_files];
    d->n_files++;
    return LB_OK;
}

/* Was the file changed so shortly before it was inspected that a later change may have the same time? */
static bool compare_is_racy(const lb_entry *e)
{
    return e->inspected_ns != 0 && e->mtime_ns > e->inspected_ns - LB_RACY_NS;
}

/* Does anything but the times have to be looked at? */
static doctor_look compare_look(const doctor *d, const lb_entry *e, const lb_data_file *f, bool same)
{
    bool due = d->options.verify && (d->options.older_than_ns == 0 || e->verified_ns == INT64_MIN ||
                                     e->verified_ns <= d->now_ns - d->options.older_than_ns);

    if (same && (due || d->inspect.fingerprint == LB_FINGERPRINT_BLAKE3))
        return DOCTOR_LOOK_ALL;
    if (same && d->extended && (compare_is_racy(e) || (e->ctime_ns != INT64_MIN && e->ctime_ns != f->ctime_ns)))
        return DOCTOR_LOOK_ALL;
    if (!same && f->size > e->size_bytes && d->inspect.fingerprint != LB_FINGERPRINT_BLAKE3 && !d->options.verify)
        return DOCTOR_LOOK_ENDS;
    return same ? DOCTOR_LOOK_NONE : DOCTOR_LOOK_ALL;
}

static lb_status compare_both(doctor *d, uint64_t index, const lb_entry *stamp, const lb_data_file *f, lb_error *err)
{
    const lb_file_stat now = { f->size, f->mtime_ns, f->ctime_ns };
    bool same = lb_entry_matches(stamp, &now);
    doctor_look look = compare_look(d, stamp, f, same);
    doctor_file *file;

    if (look == DOCTOR_LOOK_NONE) {
        d->kept[index] = 1;
        d->healthy++;
        return LB_OK;
    }
    LB_TRY(compare_add(d,
                       (doctor_file){ .drift = LB_DRIFT_COUNT,
                                      .rel_path = f->rel_path,
                                      .disk = f,
                                      .in_map = true,
                                      .index = index,
                                      .same_time = same },
                       &file, err));
    file->old = lb_arena_alloc(&d->arena, 1, sizeof *file->old);
    file->check = lb_arena_alloc(&d->arena, 1, sizeof *file->check);
    if (file->old == NULL || file->check == NULL)
        return lb_arena_fail(&d->arena, err);
    LB_TRY(lb_map_view(d->map, index, &d->arena, file->old, err));
    *file->check = (lb_content_check){ .path = f->path, .entry = file->old, .ends_only = look == DOCTOR_LOOK_ENDS };
    return LB_OK;
}

static lb_status compare_missing(doctor *d, uint64_t index, const lb_entry *stamp, lb_error *err)
{
    doctor_file *file;
    lb_str path = { lb_arena_copy(&d->arena, stamp->rel_path), stamp->rel_path.size };

    if (path.at == NULL)
        return lb_arena_fail(&d->arena, err);
    LB_TRY(compare_add(d, (doctor_file){ .drift = LB_DRIFT_MISSING, .rel_path = path, .in_map = true, .index = index },
                       &file, err));
    file->old = lb_arena_alloc(&d->arena, 1, sizeof *file->old);
    if (file->old == NULL)
        return lb_arena_fail(&d->arena, err);
    return lb_map_view(d->map, index, &d->arena, file->old, err);
}

/* Entries and files, both in the order of their paths. */
static lb_status compare_names(doctor *d, lb_error *err)
{
    uint64_t n_entries = d->map == NULL ? 0 : lb_map_count(d->map), i = 0;
    size_t k = 0;

    while (i < n_entries || k < d->n_disk) {
        uint64_t index = i < n_entries ? lb_map_by_path(d->map, i) : n_entries;
        lb_entry stamp = { 0 };
        int order = -1;
        if (i < n_entries)
            LB_TRY(lb_map_view_stamp(d->map, index, &stamp, err));
        if (i == n_entries)
            order = 1;
        else if (k < d->n_disk)
            order = lb_str_compare(stamp.rel_path, d->disk[k].rel_path);
        if (order < 0)
            LB_TRY(compare_missing(d, index, &stamp, err));
        else if (order > 0)
            LB_TRY(compare_add(
                d, (doctor_file){ .drift = LB_DRIFT_UNINDEXED, .rel_path = d->disk[k].rel_path, .disk = &d->disk[k] },
                NULL, err));
        else
            LB_TRY(compare_both(d, index, &stamp, &d->disk[k], err));
        i += order <= 0;
        k += order >= 0;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- content */

static lb_status compare_contents(doctor *d, lb_error *err)
{
    size_t n = 0;
    lb_content_check *checks = calloc(d->n_files + 1, sizeof *checks);

    if (checks == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].check != NULL)
            checks[n++] = *d->files[i].check;
    lb_content_work work = { .arena = &d->arena,
                             .bytes_done = &d->bytes_hashed,
                             .files_done = &d->files_done,
                             .progress = d->cx->progress == NULL ? NULL : lb_doctor_progress,
                             .progress_user = d };
    d->planned_files += n;
    for (size_t i = 0; i < n; i++)
        d->planned_bytes += lb_content_check_bytes(&checks[i]);
    lb_status status = lb_content_check_all(d->cx, checks, n, &work, err);
    n = 0;
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].check != NULL)
            *d->files[i].check = checks[n++];
    free(checks);
    return status;
}

/* Rows of the blocks that a run of bytes touches. */
static void compare_damaged_rows(const lb_entry *e, lb_damage *damage)
{
    const lb_blocks *b = &e->blocks;
    uint64_t first = UINT64_MAX, end = 0;

    damage->first_row = damage->rows = -1;
    for (uint64_t i = 0; b->first_byte != NULL && i < b->count; i++) {
        if (b->first_byte[i] >= damage->first_byte + damage->length ||
            b->first_byte[i] + b->total_byte_size[i] <= damage->first_byte)
            continue;
        first = LB_MIN(first, b->first_row[i]);
        end = LB_MAX(end, b->first_row[i] + b->row_count[i]);
    }
    if (first == UINT64_MAX)
        return;
    damage->first_row = (int64_t)first;
    damage->rows = (int64_t)(end - first);
}

/* Ranges that differ, neighbours joined. */
static lb_status compare_damage(doctor *d, doctor_file *f, lb_error *err)
{
    const lb_digests *g = &f->old->digests;

    if (f->check->states == NULL)
        return LB_OK;
    f->damage = lb_arena_alloc(&d->arena, (size_t)g->count, sizeof *f->damage);
    if (f->damage == NULL)
        return lb_arena_fail(&d->arena, err);
    for (uint64_t i = 0; i < g->count; i++) {
        if (f->check->states[i] != LB_RANGE_DIFFERS)
            continue;
        lb_damage *last = f->n_damage == 0 ? NULL : &f->damage[f->n_damage - 1];
        if (last != NULL && last->first_byte + last->length == g->first_byte[i])
            last->length += g->length[i];
        else
            f->damage[f->n_damage++] = (lb_damage){ .first_byte = g->first_byte[i], .length = g->length[i] };
    }
    for (uint64_t i = 0; i < f->n_damage; i++)
        compare_damaged_rows(f->old, &f->damage[i]);
    return LB_OK;
}

/* Is what is left the beginning of what was mapped? A cut range cannot be compared, the beginnings of blocks in it
 * can. */
static lb_status compare_shorter(doctor_file *f, lb_error *err)
{
    bool same = f->disk->size == 0, hold, looked;

    for (uint64_t i = 0; f->check->states != NULL && i < f->old->digests.count; i++)
        same |= f->check->states[i] == LB_RANGE_SAME;
    f->drift = LB_DRIFT_REWRITTEN;
    if (f->check->differs)
        return LB_OK;
    LB_TRY(lb_content_starts(f->disk->path, f->old, &hold, &looked, err));
    f->drift = !hold ? LB_DRIFT_REWRITTEN : same || looked ? LB_DRIFT_TRUNCATED : LB_DRIFT_MODIFIED;
    return LB_OK;
}

/* Does an entry of equal content get new times from a heal? One that has them already is left alone, so that healing a
 * healthy lake writes nothing. */
static bool compare_is_stamped_anew(const doctor *d, const doctor_file *f)
{
    return d->options.verify || compare_is_racy(f->old) || f->old->ctime_ns != f->disk->ctime_ns;
}

static lb_status compare_judge(doctor *d, doctor_file *f, lb_error *err)
{
    const lb_content_check *check = f->check;

    if (check->unreadable) {
        f->drift = LB_DRIFT_UNREADABLE;
        f->why = check->error;
        return LB_OK;
    }
    if (!check->known) {
        /* Nothing to compare with: times are all there is, and under BLAKE3 that is not enough (8.1). An entry with an
         * error has no hash; it stands as long as ctime too says that the file has not been mended. */
        bool failed = f->old->error.size != 0;
        bool trusted = f->same_time && (failed ? f->old->ctime_ns == f->disk->ctime_ns
                                               : d->inspect.fingerprint != LB_FINGERPRINT_BLAKE3);
        f->drift = trusted ? LB_DRIFT_COUNT : LB_DRIFT_MODIFIED;
        return LB_OK;
    }
    if (f->same_time) {
        f->drift = check->differs ? LB_DRIFT_DAMAGED : compare_is_racy(f->old) ? LB_DRIFT_RACY : LB_DRIFT_COUNT;
        f->restamp = !check->differs && compare_is_stamped_anew(d, f);
        return check->differs ? compare_damage(d, f, err) : LB_OK;
    }
    if (f->disk->size < f->old->size_bytes)
        return compare_shorter(f, err);
    if (f->disk->size > f->old->size_bytes) {
        f->drift = check->differs ? LB_DRIFT_REWRITTEN : LB_DRIFT_APPENDED;
        return LB_OK;
    }
    f->drift = check->differs ? LB_DRIFT_REWRITTEN : LB_DRIFT_TOUCHED;
    f->restamp = !check->differs;
    return LB_OK;
}

/* A dataset's bytes are those of its manifest: whether its rows can be read is seen by reading them. */
static lb_status compare_verify(doctor *d, doctor_file *f, lb_error *err)
{
    const lb_format *format = lb_handler_of_name(f->old->format);
    lb_store *store = NULL;
    lb_reader *reader = NULL;
    lb_error why = LB_ERROR_INIT;

    if (!d->options.verify || lb_doctor_is_drift(f) || f->old->error.size != 0 || format == NULL ||
        format->verify == NULL)
        return LB_OK;
    lb_status status = lb_data_store_open(f->disk->path, &store, &why);
    if (status == LB_OK)
        status = format->open(format, d->cx, store, NULL, NULL, &reader, &why);
    if (status == LB_OK)
        status = format->verify(reader, &why);
    format->close(reader);
    lb_store_close(store);
    if (status == LB_OK)
        return LB_OK;
    if (lb_is_callers(status) || status == LB_INTERNAL) {
        if (err != NULL)
            *err = why;
        return status;
    }
    f->drift = LB_DRIFT_UNREADABLE;
    f->restamp = false;
    f->why = lb_arena_dup(&d->arena, &why, sizeof why);
    return f->why == NULL ? lb_arena_fail(&d->arena, err) : LB_OK;
}

static lb_status compare_judge_all(doctor *d, lb_error *err)
{
    for (size_t i = 0; i < d->n_files; i++) {
        doctor_file *f = &d->files[i];
        if (f->check == NULL)
            continue;
        LB_TRY(compare_judge(d, f, err));
        LB_TRY(compare_verify(d, f, err));
        d->healthy += !lb_doctor_is_drift(f);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- renamed files */

/* What tells a content: size and digests. */
static lb_status compare_key(lb_arena *arena, const lb_entry *e, lb_str *out, lb_error *err)
{
    size_t n = (size_t)e->digests.count * LB_XXH3_SIZE;
    char *key = n > SIZE_MAX / 2 ? NULL : lb_arena_alloc(arena, n + sizeof e->size_bytes, 1);

    if (key == NULL)
        return lb_arena_fail(arena, err);
    memcpy(key, &e->size_bytes, sizeof e->size_bytes);
    if (n != 0)
        memcpy(key + sizeof e->size_bytes, e->digests.xxh3, n);
    *out = (lb_str){ key, n + sizeof e->size_bytes };
    return LB_OK;
}

typedef struct compare_renames {
    doctor *d;
    size_t *found; /* files to digest */
    lb_entry *digests;
    lb_arena *arenas;
} compare_renames;

static lb_status compare_digest(doctor *d, const doctor_file *f, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_digester *digester = NULL;
    lb_store *store = NULL;
    uint8_t *bytes = malloc(LB_DIGEST_RANGE);
    lb_status status = bytes == NULL ? lb_fail_nomem(err) : lb_data_store_open(f->disk->path, &store, err);

    if (status == LB_OK)
        status = lb_digester_new(false, &d->cx->budget, &digester, err);
    for (uint64_t at = 0; status == LB_OK;) {
        size_t got = 0;
        status = lb_check_cancel(d->cx, err);
        if (status == LB_OK)
            status = lb_store_read(store, at, bytes, LB_DIGEST_RANGE, &got, err);
        if (status != LB_OK || got == 0)
            break;
        lb_digester_add(digester, bytes, got);
        atomic_fetch_add(&d->bytes_hashed, got);
        lb_doctor_progress(d);
        at += got;
    }
    *out = (lb_entry){ .size_bytes = f->disk->size };
    if (status == LB_OK)
        status = lb_digester_finish(digester, arena, out, err);
    lb_digester_free(digester);
    lb_store_close(store);
    free(bytes);
    return status;
}

static lb_status compare_digest_job(void *user, size_t k, lb_error *err)
{
    compare_renames *r = user;
    lb_error why = LB_ERROR_INIT;

    lb_arena_init(&r->arenas[k], &r->d->cx->budget);
    lb_status status = compare_digest(r->d, &r->d->files[r->found[k]], &r->arenas[k], &r->digests[k], &why);
    atomic_fetch_add(&r->d->files_done, 1);
    if (status == LB_OK)
        return LB_OK;
    /* One that cannot be read is no rename; the survey will say what is wrong with it. */
    r->digests[k] = (lb_entry){ .size_bytes = UINT64_MAX };
    if (status != LB_CANCELLED && status != LB_NOMEM)
        return LB_OK;
    if (err != NULL)
        *err = why;
    return status;
}

/* Give a file that is new the entry of one that is gone, content being equal. Each entry is given once. */
static lb_status compare_match(doctor *d, compare_renames *r, size_t n, lb_names *gone, lb_error *err)
{
    for (size_t k = 0; k < n; k++) {
        doctor_file *f = &d->files[r->found[k]];
        lb_str key = { NULL, 0 };
        LB_TRY(compare_key(&d->arena, &r->digests[k], &key, err));
        uint64_t *old = lb_names_find(gone, key);
        if (old == NULL || *old == UINT64_MAX)
            continue;
        doctor_file *from = &d->files[*old];
        *old = UINT64_MAX;
        f->drift = LB_DRIFT_RENAMED;
        f->was = from->rel_path;
        f->index = from->index;
        f->old = from->old;
        f->restamp = true;
    }
    return LB_OK;
}

static lb_status compare_renamed(doctor *d, lb_names *gone, lb_names *sizes, lb_error *err)
{
    compare_renames r = { .d = d, .found = calloc(d->n_files + 1, sizeof *r.found) };
    size_t n = 0;

    for (size_t i = 0; r.found != NULL && i < d->n_files; i++)
        if (d->files[i].drift == LB_DRIFT_UNINDEXED &&
            lb_names_find(sizes, (lb_str){ (const char *)&d->files[i].disk->size, sizeof d->files[i].disk->size }) !=
                NULL)
            r.found[n++] = i;
    r.digests = calloc(n + 1, sizeof *r.digests);
    r.arenas = calloc(n + 1, sizeof *r.arenas);
    lb_status status = r.found == NULL || r.digests == NULL || r.arenas == NULL ? lb_fail_nomem(err) : LB_OK;
    d->planned_files += n;
    for (size_t k = 0; status == LB_OK && k < n; k++)
        d->planned_bytes += d->files[r.found[k]].disk->size;
    if (status == LB_OK)
        status = lb_run_jobs(d->cx, n, compare_digest_job, &r, err);
    if (status == LB_OK)
        status = compare_match(d, &r, n, gone, err);
    for (size_t k = 0; r.arenas != NULL && k < n; k++)
        lb_arena_free(&r.arenas[k]);
    free(r.found);
    free(r.digests);
    free(r.arenas);
    return status;
}

static lb_status compare_renames_all(doctor *d, lb_error *err)
{
    lb_names gone = { 0 }, sizes = { 0 };
    lb_status status = LB_OK;

    for (size_t i = 0; status == LB_OK && i < d->n_files; i++) {
        doctor_file *f = &d->files[i];
        lb_str key = { NULL, 0 };
        /* Empty files are all alike. */
        if (f->drift != LB_DRIFT_MISSING || f->old->size_bytes == 0 || f->old->digests.xxh3 == NULL)
            continue;
        status = compare_key(&d->arena, f->old, &key, err);
        if (status == LB_OK)
            status = lb_names_add(&gone, key, i, NULL, err);
        if (status == LB_OK)
            status = lb_names_add(&sizes, (lb_str){ (const char *)&f->old->size_bytes, sizeof f->old->size_bytes }, i,
                                  NULL, err);
    }
    if (status == LB_OK && gone.count != 0)
        status = compare_renamed(d, &gone, &sizes, err);
    lb_names_free(&gone);
    lb_names_free(&sizes);
    return status;
}

lb_status lb_doctor_compare(doctor *d, lb_error *err)
{
    d->kept = calloc((size_t)(d->map == NULL ? 0 : lb_map_count(d->map)) + 1, 1);
    if (d->kept == NULL)
        return lb_fail_nomem(err);
    LB_TRY(compare_names(d, err));
    LB_TRY(compare_contents(d, err));
    LB_TRY(compare_judge_all(d, err));
    return compare_renames_all(d, err);
}
