/* Map against directory: first by names, sizes and times, then, where those do not tell, by content. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/names.h"
#include "base/pool.h"
#include "lake/data.h"
#include "lake/digest.h"
#include "lake/doctor.h"
#include "lake/handlers.h"
#include "lance/dataset_store.h"
#include "lance/lance_drift.h"

#define COMPARE_WINDOW 4096 /* files whose contents are compared at a time: what that takes is freed before the next */

/* ---------------------------------------------------------------- names, sizes, times */

lb_status lb_doctor_add(doctor *d, const doctor_file *file, lb_error *err)
{
    if (d->n_files == d->cap_files) {
        size_t cap = d->cap_files == 0 ? 64 : d->cap_files * 2;
        doctor_file *files = realloc(d->files, cap * sizeof *files);
        if (files == NULL)
            return lb_fail_nomem(err);
        d->files = files;
        d->cap_files = cap;
    }
    d->files[d->n_files++] = *file;
    return LB_OK;
}

doctor_detail *lb_doctor_detail(doctor *d, doctor_file *file)
{
    if (file->detail == NULL)
        file->detail = lb_arena_alloc(&d->arena, 1, sizeof *file->detail);
    return file->detail;
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

    if (look == DOCTOR_LOOK_NONE) {
        d->kept[index] = 1;
        d->healthy++;
        return LB_OK;
    }
    const doctor_file file = { .drift = LB_DRIFT_COUNT,
                               .rel_path = f->rel_path,
                               .disk = f,
                               .in_map = true,
                               .index = index,
                               .old_bytes = (int64_t)stamp->size_bytes,
                               .looked = true,
                               .ends_only = look == DOCTOR_LOOK_ENDS,
                               .same_time = same };
    d->to_look++;
    return lb_doctor_add(d, &file, err);
}

static lb_status compare_missing(doctor *d, uint64_t index, const lb_entry *stamp, lb_error *err)
{
    const doctor_file file = { .drift = LB_DRIFT_MISSING,
                               .rel_path = { lb_arena_copy(&d->arena, stamp->rel_path), stamp->rel_path.size },
                               .in_map = true,
                               .index = index,
                               .old_bytes = (int64_t)stamp->size_bytes };

    return file.rel_path.at == NULL ? lb_arena_fail(&d->arena, err) : lb_doctor_add(d, &file, err);
}

static lb_status compare_new(doctor *d, const lb_data_file *f, lb_error *err)
{
    const doctor_file file = { .drift = LB_DRIFT_UNINDEXED, .rel_path = f->rel_path, .disk = f, .old_bytes = -1 };

    return lb_doctor_add(d, &file, err);
}

static lb_status compare_contents(doctor *d, lb_error *err);

/* Entries and files, both in the order of their paths. */
static lb_status compare_names(doctor *d, lb_error *err)
{
    uint64_t n_entries = d->map == NULL ? 0 : lb_map_count(d->map), i = 0;
    size_t k = 0;

    while (i < n_entries || k < d->disk.count) {
        uint64_t index = i < n_entries ? lb_map_by_path(d->map, i) : n_entries;
        lb_entry stamp = { 0 };
        int order = -1;
        if (i < n_entries)
            LB_TRY(lb_map_view_stamp(d->map, index, &stamp, err));
        if (i == n_entries)
            order = 1;
        else if (k < d->disk.count)
            order = lb_str_compare(stamp.rel_path, d->disk.files[k].rel_path);
        if (order < 0)
            LB_TRY(compare_missing(d, index, &stamp, err));
        else if (order > 0)
            LB_TRY(compare_new(d, &d->disk.files[k], err));
        else
            LB_TRY(compare_both(d, index, &stamp, &d->disk.files[k], err));
        i += order <= 0;
        k += order >= 0;
        if (d->to_look == COMPARE_WINDOW)
            LB_TRY(compare_contents(d, err));
    }
    return compare_contents(d, err);
}

/* ---------------------------------------------------------------- content */

/* The bytes in which places of blocks count that a run of the file's bytes can change: its own, or what is decompressed
 * from the last restart point before it up to the first one behind it. Of a point inside a byte, the bits before it belong to what is before. */
static void compare_reach(const lb_entry *e, const lb_damage *damage, uint64_t *from, uint64_t *to)
{
    const lb_access_points *p = &e->access_points;
    const uint64_t first = damage->first_byte, end = damage->first_byte + damage->length;

    *from = e->container.size == 0 ? first : 0;
    *to = e->container.size == 0 ? end : UINT64_MAX;
    for (uint64_t i = 0; e->container.size != 0 && i < p->count; i++) {
        const uint64_t inside = p->bit[i] != 0;
        if (p->compressed_byte[i] + inside <= first)
            *from = p->uncompressed_byte[i];
        if (p->compressed_byte[i] >= end)
            *to = LB_MIN(*to, p->uncompressed_byte[i]);
    }
}

/* Rows of the blocks that a run of bytes touches. */
static void compare_damaged_rows(const lb_entry *e, lb_damage *damage)
{
    const lb_blocks *b = &e->blocks;
    uint64_t first = UINT64_MAX, end = 0, from, to;

    damage->first_row = damage->rows = -1;
    compare_reach(e, damage, &from, &to);
    for (uint64_t i = 0; b->first_byte != NULL && i < b->count; i++) {
        if (b->first_byte[i] >= to || b->first_byte[i] + lb_blocks_bytes(b, i) <= from)
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
static lb_status compare_damage(doctor *d, doctor_file *f, const lb_content_check *check, lb_error *err)
{
    const lb_digests *g = &check->entry->digests;
    doctor_detail *more = check->states == NULL ? NULL : lb_doctor_detail(d, f);
    uint64_t n = 0;

    if (check->states == NULL)
        return LB_OK;
    for (uint64_t i = 0; i < g->count; i++)
        n += check->states[i] == LB_RANGE_DIFFERS;
    if (more == NULL || (more->damage = lb_arena_alloc(&d->arena, (size_t)n, sizeof *more->damage)) == NULL)
        return lb_arena_fail(&d->arena, err);
    for (uint64_t i = 0; i < g->count; i++) {
        if (check->states[i] != LB_RANGE_DIFFERS)
            continue;
        lb_damage *last = more->n_damage == 0 ? NULL : &more->damage[more->n_damage - 1];
        if (last != NULL && last->first_byte + last->length == g->first_byte[i])
            last->length += g->length[i];
        else
            more->damage[more->n_damage++] = (lb_damage){ .first_byte = g->first_byte[i], .length = g->length[i] };
    }
    for (uint64_t i = 0; i < more->n_damage; i++)
        compare_damaged_rows(check->entry, &more->damage[i]);
    return LB_OK;
}

/* Is what is left the beginning of what was mapped? A cut range cannot be compared, the beginnings of blocks in it
 * can. */
static lb_status compare_shorter(doctor_file *f, const lb_content_check *check, lb_error *err)
{
    bool same = f->disk->size == 0, hold, looked;

    for (uint64_t i = 0; check->states != NULL && i < check->entry->digests.count; i++)
        same |= check->states[i] == LB_RANGE_SAME;
    f->drift = LB_DRIFT_REWRITTEN;
    if (check->differs)
        return LB_OK;
    LB_TRY(lb_content_starts(check->path, check->entry, &hold, &looked, err));
    f->drift = !hold ? LB_DRIFT_REWRITTEN : same || looked ? LB_DRIFT_TRUNCATED : LB_DRIFT_MODIFIED;
    return LB_OK;
}

/* Does an entry of equal content get new times from a heal? One that has them already is left alone, so that healing a
 * healthy lake writes nothing. */
static bool compare_is_stamped_anew(const doctor *d, const doctor_file *f, const lb_entry *old)
{
    return d->options.verify || compare_is_racy(old) || old->ctime_ns != f->disk->ctime_ns;
}

static lb_status compare_judge(doctor *d, doctor_file *f, const lb_content_check *check, lb_error *err)
{
    const lb_entry *old = check->entry;

    if (check->unreadable) {
        f->drift = LB_DRIFT_UNREADABLE;
        f->why = lb_arena_copy(&d->arena, lb_str_of(check->error->message));
        return f->why == NULL ? lb_arena_fail(&d->arena, err) : LB_OK;
    }
    if (!check->known) {
        /* Nothing to compare with: times are all there is, and under BLAKE3 that is not enough (8.1). An entry with an
         * error has no hash; it stands as long as ctime too says that the file has not been mended. */
        bool failed = old->error.size != 0;
        bool trusted = f->same_time &&
                       (failed ? old->ctime_ns == f->disk->ctime_ns : d->inspect.fingerprint != LB_FINGERPRINT_BLAKE3);
        f->drift = trusted ? LB_DRIFT_COUNT : LB_DRIFT_MODIFIED;
        return LB_OK;
    }
    if (f->same_time) {
        f->drift = check->differs ? LB_DRIFT_DAMAGED : compare_is_racy(old) ? LB_DRIFT_RACY : LB_DRIFT_COUNT;
        f->restamp = !check->differs && compare_is_stamped_anew(d, f, old);
        return check->differs ? compare_damage(d, f, check, err) : LB_OK;
    }
    if (f->disk->size < old->size_bytes)
        return compare_shorter(f, check, err);
    if (f->disk->size > old->size_bytes) {
        f->drift = check->differs ? LB_DRIFT_REWRITTEN : LB_DRIFT_APPENDED;
        return LB_OK;
    }
    f->drift = check->differs ? LB_DRIFT_REWRITTEN : LB_DRIFT_TOUCHED;
    f->restamp = !check->differs;
    return LB_OK;
}

/* What is wrong with a dataset, and in which of its files. */
static lb_status compare_tell(doctor *d, doctor_file *f, const char *root, const lb_error *why, lb_error *err)
{
    char text[sizeof why->path + sizeof why->message + 32], byte[32] = "";
    size_t n = strlen(root);

    if (why->offset >= 0)
        (void)snprintf(byte, sizeof byte, ", byte %lld", (long long)why->offset);
    if (strncmp(why->path, root, n) == 0 && why->path[n] == '/')
        (void)snprintf(text, sizeof text, "%s%s: %s", why->path + n + 1, byte, why->message);
    else
        (void)snprintf(text, sizeof text, "%s", why->message);
    f->why = lb_arena_copy(&d->arena, lb_str_of(text));
    return f->why == NULL ? lb_arena_fail(&d->arena, err) : LB_OK;
}

/* A dataset's bytes are those of its manifest: whether its rows can be read is seen by reading them. */
static lb_status compare_verify(doctor *d, doctor_file *f, const lb_content_check *check, lb_error *err)
{
    const lb_format *format = lb_handler_of_name(check->entry->format);
    lb_store *store = NULL;
    lb_reader *reader = NULL;
    lb_error why = LB_ERROR_INIT;

    if (!d->options.verify || lb_doctor_is_drift(f) || check->entry->error.size != 0 || format == NULL ||
        format->verify == NULL)
        return LB_OK;
    lb_status status = lb_data_store_open(check->path, &store, &why);
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
    return compare_tell(d, f, check->path, &why, err);
}

/* A dataset that has another version than the mapped one: versions tell more than bytes. Where they cannot be read, the survey will say
 * so. */
static lb_status compare_versions(doctor *d, doctor_file *f, const lb_content_check *check, lb_error *err)
{
    static const lb_drift drifts[] = { [LB_LANCE_GREW] = LB_DRIFT_APPENDED,
                                       [LB_LANCE_CHANGED] = LB_DRIFT_MODIFIED,
                                       [LB_LANCE_OVERWRITTEN] = LB_DRIFT_REWRITTEN,
                                       [LB_LANCE_LOST] = LB_DRIFT_REWRITTEN };
    lb_lance_drift drift;
    lb_error why = LB_ERROR_INIT;
    struct stat st;

    if (f->same_time || !lb_str_is(check->entry->format, "lance") || f->drift == LB_DRIFT_UNREADABLE ||
        stat(check->path, &st) != 0 || !S_ISDIR(st.st_mode))
        return LB_OK;
    lb_status status = lb_lance_drift_of(d->cx, check->path, check->entry, &drift, &why);
    if (status != LB_OK) {
        if (!lb_is_callers(status))
            return LB_OK;
        if (err != NULL)
            *err = why;
        return status;
    }
    if (drift.kind == LB_LANCE_SAME_VERSION || drift.words[0] == '\0')
        return LB_OK;
    doctor_detail *more = lb_doctor_detail(d, f);
    if (more == NULL || (more->note = lb_arena_copy(&d->arena, lb_str_of(drift.words))) == NULL)
        return lb_arena_fail(&d->arena, err);
    f->drift = drifts[drift.kind];
    f->restamp = false;
    more->damage = NULL;
    more->n_damage = 0;
    return LB_OK;
}

/* A window: the files that were added since the last one and are to be looked at. */
typedef struct compare_window {
    lb_arena arena;
    lb_entry *entries;
    lb_content_check *checks;
    size_t n;
} compare_window;

static lb_status compare_ask(doctor *d, compare_window *w, const doctor_file *f, lb_error *err)
{
    lb_entry *old = &w->entries[w->n];
    const char *path = lb_data_file_path(d->dir, f->disk, &w->arena);

    if (path == NULL)
        return lb_arena_fail(&w->arena, err);
    LB_TRY(lb_map_view(d->map, f->index, &w->arena, old, err));
    w->checks[w->n] = (lb_content_check){ .path = path, .entry = old, .ends_only = f->ends_only };
    d->planned_bytes += d->planned_all ? 0 : lb_content_check_bytes(&w->checks[w->n]);
    d->planned_files += !d->planned_all;
    w->n++;
    return LB_OK;
}

static lb_status compare_check(doctor *d, compare_window *w, lb_error *err)
{
    const lb_content_work work = { .arena = &w->arena,
                                   .bytes_done = &d->bytes_hashed,
                                   .files_done = &d->files_done,
                                   .progress = d->cx->progress == NULL ? NULL : lb_doctor_progress,
                                   .progress_user = d };

    w->entries = lb_arena_alloc(&w->arena, d->to_look, sizeof *w->entries);
    w->checks = lb_arena_alloc(&w->arena, d->to_look, sizeof *w->checks);
    if (w->entries == NULL || w->checks == NULL)
        return lb_arena_fail(&w->arena, err);
    for (size_t i = d->looked_to; i < d->n_files; i++)
        if (d->files[i].looked)
            LB_TRY(compare_ask(d, w, &d->files[i], err));
    return lb_content_check_all(d->cx, w->checks, w->n, &work, err);
}

/* Judge the files of a window; what is healthy and stays as it is leaves the list. */
static lb_status compare_judge_all(doctor *d, const compare_window *w, lb_error *err)
{
    size_t to = d->looked_to, k = 0;

    for (size_t i = d->looked_to; i < d->n_files; i++) {
        doctor_file *f = &d->files[i];
        if (f->looked) {
            LB_TRY(compare_judge(d, f, &w->checks[k], err));
            LB_TRY(compare_versions(d, f, &w->checks[k], err));
            LB_TRY(compare_verify(d, f, &w->checks[k++], err));
            d->healthy += !lb_doctor_is_drift(f);
        }
        if (f->looked && f->drift == LB_DRIFT_COUNT && !f->restamp)
            d->kept[f->index] = 1;
        else
            d->files[to++] = *f;
    }
    d->n_files = d->looked_to = to;
    d->to_look = 0;
    return LB_OK;
}

static lb_status compare_contents(doctor *d, lb_error *err)
{
    compare_window w = { .n = 0 };

    if (d->to_look == 0) {
        d->looked_to = d->n_files;
        return LB_OK;
    }
    lb_arena_init(&w.arena, &d->cx->budget);
    lb_status status = compare_check(d, &w, err);
    if (status == LB_OK)
        status = compare_judge_all(d, &w, err);
    lb_arena_free(&w.arena);
    return status;
}

/* ---------------------------------------------------------------- renamed files */

/* What tells a content: its size, and the hash of its digests. */
typedef struct compare_key {
    uint64_t size;
    uint8_t hash[LB_XXH3_SIZE];
} compare_key;

static bool compare_key_of(const lb_entry *e, compare_key *out)
{
    lb_xxh3 *hash = lb_xxh3_new();

    if (hash == NULL)
        return false;
    if (e->digests.count != 0)
        lb_xxh3_update(hash, e->digests.xxh3, (size_t)e->digests.count * LB_XXH3_SIZE);
    lb_xxh3_digest(hash, out->hash);
    lb_xxh3_free(hash);
    out->size = e->size_bytes;
    return true;
}

static lb_str compare_key_text(const compare_key *key)
{
    return (lb_str){ (const char *)key, sizeof *key };
}

typedef struct compare_renames {
    doctor *d;
    size_t *found; /* files to digest */
    compare_key *keys;
} compare_renames;

static lb_status compare_digest(doctor *d, const doctor_file *f, lb_arena *arena, compare_key *out, lb_error *err)
{
    const char *path = lb_data_file_path(d->dir, f->disk, arena);
    lb_entry entry = { .size_bytes = f->disk->size };
    lb_digester *digester = NULL;
    lb_store *store = NULL;
    uint8_t *bytes = malloc(LB_DIGEST_RANGE);
    lb_status status = bytes == NULL || path == NULL ? lb_fail_nomem(err) : lb_data_store_open(path, &store, err);

    if (status == LB_OK)
        status = lb_digester_new(false, &d->cx->budget, &digester, err);
    for (uint64_t at = 0; status == LB_OK && store != NULL;) {
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
    if (status == LB_OK)
        status = lb_digester_finish(digester, arena, &entry, err);
    if (status == LB_OK && !compare_key_of(&entry, out))
        status = lb_fail_nomem(err);
    lb_digester_free(digester);
    lb_store_close(store);
    free(bytes);
    return status;
}

static lb_status compare_digest_job(void *user, size_t k, lb_error *err)
{
    compare_renames *r = user;
    lb_error why = LB_ERROR_INIT;
    lb_arena arena;

    lb_arena_init(&arena, &r->d->cx->budget);
    lb_status status = compare_digest(r->d, &r->d->files[r->found[k]], &arena, &r->keys[k], &why);
    lb_arena_free(&arena);
    atomic_fetch_add(&r->d->files_done, 1);
    if (status == LB_OK)
        return LB_OK;
    /* One that cannot be read is no rename; the survey will say what is wrong with it. */
    r->keys[k].size = UINT64_MAX;
    if (status != LB_CANCELLED && status != LB_NOMEM)
        return LB_OK;
    if (err != NULL)
        *err = why;
    return status;
}

/* Give a file that is new the entry of one that is gone, content being equal. Each entry is given once. */
static void compare_match(doctor *d, const compare_renames *r, size_t n, const lb_names *gone)
{
    for (size_t k = 0; k < n; k++) {
        doctor_file *f = &d->files[r->found[k]];
        uint64_t *old = lb_names_find(gone, compare_key_text(&r->keys[k]));
        if (old == NULL || *old == UINT64_MAX)
            continue;
        doctor_file *from = &d->files[*old];
        *old = UINT64_MAX;
        f->drift = LB_DRIFT_RENAMED;
        f->index = from->index;
        f->old_bytes = from->old_bytes;
        f->restamp = true;
        from->moved = true;
    }
}

static lb_status compare_renamed(doctor *d, const lb_names *gone, const lb_names *sizes, lb_error *err)
{
    compare_renames r = { .d = d, .found = calloc(d->n_files + 1, sizeof *r.found) };
    size_t n = 0;

    for (size_t i = 0; r.found != NULL && i < d->n_files; i++)
        if (d->files[i].drift == LB_DRIFT_UNINDEXED &&
            lb_names_find(sizes, (lb_str){ (const char *)&d->files[i].disk->size, sizeof d->files[i].disk->size }) !=
                NULL)
            r.found[n++] = i;
    r.keys = calloc(n + 1, sizeof *r.keys);
    lb_status status = r.found == NULL || r.keys == NULL ? lb_fail_nomem(err) : LB_OK;
    d->planned_files += n;
    for (size_t k = 0; status == LB_OK && k < n; k++)
        d->planned_bytes += d->files[r.found[k]].disk->size;
    if (status == LB_OK)
        status = lb_run_jobs(d->cx, n, compare_digest_job, &r, err);
    if (status == LB_OK)
        compare_match(d, &r, n, gone);
    free(r.found);
    free(r.keys);
    return status;
}

/* Note the content of a file that is gone. Empty files are all alike. */
static lb_status compare_gone(doctor *d, size_t i, lb_arena *arena, lb_names *gone, lb_names *sizes, lb_error *err)
{
    lb_arena scratch;
    lb_entry old;

    if (d->files[i].drift != LB_DRIFT_MISSING || d->files[i].old_bytes == 0)
        return LB_OK;
    lb_arena_init(&scratch, &d->cx->budget);
    lb_status status = lb_map_view(d->map, d->files[i].index, &scratch, &old, err);
    compare_key *key = status != LB_OK || old.digests.xxh3 == NULL ? NULL : lb_arena_alloc(arena, 1, sizeof *key);
    if (status == LB_OK && old.digests.xxh3 != NULL && (key == NULL || !compare_key_of(&old, key)))
        status = lb_arena_fail(arena, err);
    lb_arena_free(&scratch);
    if (status != LB_OK || key == NULL)
        return status;
    LB_TRY(lb_names_add(gone, compare_key_text(key), i, NULL, err));
    return lb_names_add(sizes, (lb_str){ (const char *)&key->size, sizeof key->size }, i, NULL, err);
}

static lb_status compare_renames_all(doctor *d, lb_error *err)
{
    lb_names gone = { 0 }, sizes = { 0 };
    lb_arena arena;
    lb_status status = LB_OK;
    bool any = false;

    for (size_t i = 0; !any && i < d->n_files; i++)
        any = d->files[i].drift == LB_DRIFT_UNINDEXED;
    lb_arena_init(&arena, &d->cx->budget);
    for (size_t i = 0; any && status == LB_OK && i < d->n_files; i++)
        status = compare_gone(d, i, &arena, &gone, &sizes, err);
    if (status == LB_OK && gone.count != 0)
        status = compare_renamed(d, &gone, &sizes, err);
    lb_names_free(&gone);
    lb_names_free(&sizes);
    lb_arena_free(&arena);
    return status;
}

/* Where every content is compared, what there is to read is known at once. */
static void compare_plan(doctor *d)
{
    bool all = d->options.verify && d->options.older_than_ns == 0;

    d->planned_all = d->map != NULL && (all || d->inspect.fingerprint == LB_FINGERPRINT_BLAKE3);
    if (!d->planned_all)
        return;
    for (size_t i = 0; i < d->disk.count; i++)
        d->planned_bytes += d->disk.files[i].size;
    d->planned_files = d->disk.count;
}

/* The file of the report that an entry has; NULL: none, it is healthy. */
static doctor_file *compare_file_of(doctor *d, uint64_t index)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].in_map && d->files[i].index == index)
            return &d->files[i];
    return NULL;
}

/* Entries that stand and end inside a record. */
static lb_status compare_torn_entry(doctor *d, uint64_t index, lb_arena *arena, lb_error *err)
{
    lb_entry entry;
    doctor_file *f = compare_file_of(d, index);

    if (f == NULL && !d->kept[index])
        return LB_OK;
    LB_TRY(lb_map_view(d->map, index, arena, &entry, err));
    if (!lb_entry_has_rows(&entry) || (f != NULL && lb_doctor_is_drift(f)))
        return LB_OK;
    const char *why = lb_arena_copy(&d->arena, entry.error);
    const lb_str path = { lb_arena_copy(&d->arena, entry.rel_path), entry.rel_path.size };
    if (why == NULL || path.at == NULL)
        return lb_arena_fail(&d->arena, err);
    if (f == NULL) {
        const doctor_file torn = { .drift = LB_DRIFT_TORN,
                                   .rel_path = path,
                                   .in_map = true,
                                   .index = index,
                                   .old_bytes = (int64_t)entry.size_bytes,
                                   .why = why };
        return lb_doctor_add(d, &torn, err);
    }
    f->drift = LB_DRIFT_TORN;
    f->why = why;
    return LB_OK;
}

static lb_status compare_torn(doctor *d, lb_error *err)
{
    lb_status status = LB_OK;
    lb_error end = LB_ERROR_INIT;
    uint64_t index = 0;

    while (d->map != NULL && status == LB_OK && lb_map_next_failed(d->map, index, &index, &end) == LB_OK) {
        lb_arena arena;
        lb_arena_init(&arena, &d->cx->budget);
        status = compare_torn_entry(d, index++, &arena, err);
        lb_arena_free(&arena);
    }
    if (status == LB_OK && end.code != LB_OK && end.code != LB_NOTFOUND) {
        if (err != NULL)
            *err = end;
        return end.code;
    }
    return status;
}

lb_status lb_doctor_compare(doctor *d, lb_error *err)
{
    d->kept = calloc((size_t)(d->map == NULL ? 0 : lb_map_count(d->map)) + 1, 1);
    if (d->kept == NULL)
        return lb_fail_nomem(err);
    compare_plan(d);
    LB_TRY(compare_names(d, err));
    LB_TRY(compare_renames_all(d, err));
    return compare_torn(d, err);
}
