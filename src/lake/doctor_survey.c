/* Changed files surveyed: what their columns became, and the entries a heal would write. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/pool.h"
#include "column/ipc.h"
#include "lake/doctor.h"
#include "lance/dataset_store.h"

typedef struct survey_work {
    doctor *d;
    size_t *files; /* places in d->files */
} survey_work;

/* ---------------------------------------------------------------- columns that changed */

static lb_status survey_words(const struct ArrowSchema *field, lb_buf *out, lb_error *err)
{
    out->size = 0;
    LB_TRY(lb_type_words(field, false, out, err));
    return lb_buf_text(out) == NULL ? lb_fail_nomem(err) : LB_OK;
}

static const struct ArrowSchema *survey_find(const struct ArrowSchema *schema, const char *name, int64_t hint)
{
    if (hint < schema->n_children && strcmp(schema->children[hint]->name, name) == 0)
        return schema->children[hint];
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return schema->children[i];
    return NULL;
}

__attribute__((format(printf, 4, 5))) static lb_status survey_say(doctor_file *f, lb_arena *arena, lb_error *err,
                                                                  const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    f->schema[f->n_schema] = lb_arena_copy(arena, lb_str_of(text));
    return f->schema[f->n_schema++] == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

static lb_status survey_compare_field(doctor_file *f, const struct ArrowSchema *was, const struct ArrowSchema *is,
                                      lb_arena *arena, lb_error *err)
{
    lb_buf before, now;

    lb_buf_init(&before, NULL);
    lb_buf_init(&now, NULL);
    lb_status status = survey_words(was, &before, err);
    if (status == LB_OK && is == NULL)
        status = survey_say(f, arena, err, "column '%s' (%s) is gone", was->name, (const char *)before.data);
    else if (status == LB_OK)
        status = survey_words(is, &now, err);
    if (status == LB_OK && is != NULL && (before.size != now.size || memcmp(before.data, now.data, now.size) != 0))
        status = survey_say(f, arena, err, "column '%s': %s became %s", was->name, (const char *)before.data,
                            (const char *)now.data);
    lb_buf_free(&before);
    lb_buf_free(&now);
    return status;
}

static lb_status survey_compare_schemas(doctor_file *f, const struct ArrowSchema *was, const struct ArrowSchema *is,
                                        lb_arena *arena, lb_error *err)
{
    f->schema = lb_arena_alloc(arena, (size_t)(was->n_children + is->n_children), sizeof *f->schema);
    if (f->schema == NULL)
        return lb_arena_fail(arena, err);
    for (int64_t i = 0; i < was->n_children; i++)
        LB_TRY(survey_compare_field(f, was->children[i], survey_find(is, was->children[i]->name, i), arena, err));
    for (int64_t i = 0; i < is->n_children; i++) {
        if (survey_find(was, is->children[i]->name, i) != NULL)
            continue;
        lb_buf words;
        lb_buf_init(&words, NULL);
        lb_status status = survey_words(is->children[i], &words, err);
        if (status == LB_OK)
            status =
                survey_say(f, arena, err, "column '%s' (%s) is new", is->children[i]->name, (const char *)words.data);
        lb_buf_free(&words);
        LB_TRY(status);
    }
    return LB_OK;
}

static lb_status survey_schema_drift(doctor_file *f, lb_arena *arena, lb_error *err)
{
    struct ArrowSchema was = { 0 }, is = { 0 };
    const lb_entry *old = f->old, *fresh = f->fresh;

    if (old == NULL || old->arrow_schema.size == 0 || fresh->arrow_schema.size == 0 ||
        lb_str_equal(old->arrow_schema, fresh->arrow_schema))
        return LB_OK;
    LB_TRY(lb_ipc_decode_schema(old->arrow_schema.at, old->arrow_schema.size, &was, err));
    lb_status status = lb_ipc_decode_schema(fresh->arrow_schema.at, fresh->arrow_schema.size, &is, err);
    if (status == LB_OK) {
        status = survey_compare_schemas(f, &was, &is, arena, err);
        is.release(&is);
    }
    was.release(&was);
    return status;
}

/* ---------------------------------------------------------------- one file */

static lb_status survey_inspect(doctor *d, doctor_file *f, lb_arena *arena, lb_error *err)
{
    const lb_entry *grown = f->drift == LB_DRIFT_APPENDED ? f->old : NULL;
    lb_inspect_options options = d->inspect;
    lb_read_options *read = NULL;
    lb_store *store = NULL;

    f->fresh = lb_arena_alloc(arena, 1, sizeof *f->fresh);
    if (f->fresh == NULL)
        return lb_arena_fail(arena, err);
    options.bytes_done = &d->bytes_surveyed;
    options.progress = d->cx->progress == NULL ? NULL : lb_doctor_progress;
    options.progress_user = d;
    lb_status status = lb_data_store_open(f->disk->path, &store, err);
    if (status == LB_OK)
        status = lb_lake_options_for(d->lake, f->rel_path, NULL, &read, err);
    if (status == LB_OK)
        status = lb_inspect_grown(d->cx, store, &options, read, grown, arena, f->fresh, err);
    lb_read_options_free(read);
    lb_store_close(store);
    return status;
}

/* What a failed file gets in a map that records errors. */
static lb_status survey_record(doctor_file *f, const lb_error *why, lb_arena *arena, lb_error *err)
{
    lb_error *kept = lb_arena_alloc(arena, 1, sizeof *kept);

    if (kept == NULL)
        return lb_arena_fail(arena, err);
    *kept = *why;
    f->failed = true;
    f->why = kept;
    if (f->fresh->format.size == 0)
        *f->fresh = (lb_entry){ .size_bytes = f->disk->size,
                                .mtime_ns = f->disk->mtime_ns,
                                .ctime_ns = f->disk->ctime_ns,
                                .inspected_ns = lb_now_ns(),
                                .verified_ns = INT64_MIN,
                                .format = LB_STR("unknown"),
                                .locator = LB_STR("none") };
    return lb_inspect_record(why, arena, f->fresh, err);
}

static lb_status survey_one(void *user, size_t k, lb_error *err)
{
    survey_work *w = user;
    doctor *d = w->d;
    doctor_file *f = &d->files[w->files[k]];
    lb_arena *arena = &d->survey_arenas[k];
    lb_error why = LB_ERROR_INIT;

    lb_arena_init(arena, &d->cx->budget);
    LB_TRY(lb_check_cancel(d->cx, err));
    lb_status status = survey_inspect(d, f, arena, &why);
    if (status == LB_CANCELLED || status == LB_NOMEM || status == LB_INTERNAL) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (status != LB_OK) {
        lb_fail_path(&why, f->disk->path);
        LB_TRY(survey_record(f, &why, arena, err));
    }
    atomic_fetch_add(&d->files_done, 1);
    lb_doctor_progress(d);
    f->fresh->rel_path = f->disk->rel_path;
    f->fresh->rel_path_raw = f->disk->rel_path_raw;
    return status == LB_OK ? survey_schema_drift(f, arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- which files */

/* May a renamed file keep the entry it had? Only if both names are read in the same way. */
static lb_status survey_same_reading(doctor *d, const doctor_file *f, bool *same, lb_error *err)
{
    lb_read_options *a = NULL, *b = NULL;
    lb_buf x, y;

    lb_buf_init(&x, NULL);
    lb_buf_init(&y, NULL);
    lb_status status = lb_lake_options_for(d->lake, f->was, NULL, &a, err);
    if (status == LB_OK)
        status = lb_lake_options_for(d->lake, f->rel_path, NULL, &b, err);
    if (status == LB_OK)
        status = lb_read_options_json(a, &x, err);
    if (status == LB_OK)
        status = lb_read_options_json(b, &y, err);
    *same = status == LB_OK && x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    lb_read_options_free(a);
    lb_read_options_free(b);
    lb_buf_free(&x);
    lb_buf_free(&y);
    return status;
}

static lb_status survey_wants(doctor *d, doctor_file *f, bool heal, bool *wants, lb_error *err)
{
    *wants = false;
    switch (f->drift) {
    case LB_DRIFT_MODIFIED:
    case LB_DRIFT_APPENDED:
    case LB_DRIFT_TRUNCATED:
    case LB_DRIFT_REWRITTEN:
    case LB_DRIFT_DAMAGED:
        *wants = true;
        break;
    case LB_DRIFT_UNINDEXED:
    case LB_DRIFT_UNREADABLE:
        *wants = heal;
        break;
    case LB_DRIFT_RENAMED: {
        bool same = false;
        if (heal)
            LB_TRY(survey_same_reading(d, f, &same, err));
        f->restamp = same && lb_str_equal(lb_path_extension(f->was), lb_path_extension(f->rel_path));
        *wants = heal && !f->restamp;
        break;
    }
    case LB_DRIFT_MISSING:
    case LB_DRIFT_TOUCHED:
    case LB_DRIFT_RACY:
    case LB_DRIFT_COUNT:
        break;
    }
    return LB_OK;
}

/* Bytes that a survey reads, most likely. */
static uint64_t survey_bytes(const doctor_file *f)
{
    uint64_t size = f->disk == NULL ? 0 : f->disk->size;
    bool grown = f->drift == LB_DRIFT_APPENDED && size > f->old->size_bytes;

    return grown ? size - f->old->size_bytes : size;
}

lb_status lb_doctor_survey(doctor *d, bool heal, lb_error *err)
{
    survey_work w = { .d = d, .files = calloc(d->n_files + 1, sizeof *w.files) };
    lb_status status = w.files == NULL ? lb_fail_nomem(err) : LB_OK;

    for (size_t i = 0; status == LB_OK && i < d->n_files; i++) {
        bool wants = false;
        status = survey_wants(d, &d->files[i], heal, &wants, err);
        /* Entries of the reference's layouts lack what ours have: a heal makes them anew. */
        if (status == LB_OK && heal && !d->extended && d->files[i].disk != NULL)
            wants = true;
        if (wants) {
            w.files[d->n_surveyed++] = i;
            d->planned_bytes += survey_bytes(&d->files[i]);
        }
    }
    d->planned_files += d->n_surveyed;
    if (status == LB_OK) {
        d->survey_arenas = calloc(d->n_surveyed + 1, sizeof *d->survey_arenas);
        status = d->survey_arenas == NULL ? lb_fail_nomem(err) : lb_run_jobs(d->cx, d->n_surveyed, survey_one, &w, err);
    }
    free(w.files);
    return status;
}
