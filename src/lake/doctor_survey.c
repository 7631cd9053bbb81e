/* Changed files surveyed: what their columns became, and the entries a heal would write. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/pool.h"
#include "column/ipc.h"
#include "lake/doctor.h"
#include "lance/dataset_store.h"

typedef struct survey_work {
    doctor *d;
    bool heal;     /* entries are kept */
    size_t *files; /* places in d->files */
} survey_work;

/* One file while it is surveyed; all of it lives in the arena. */
typedef struct survey {
    doctor *d;
    doctor_file *f;
    lb_arena *arena;
    const char *path;
    bool has_old;
    lb_entry old, fresh;
    const char **schema; /* what became of its columns */
    size_t n_schema;
} survey;

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

__attribute__((format(printf, 3, 4))) static lb_status survey_say(survey *s, lb_error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    s->schema[s->n_schema] = lb_arena_copy(s->arena, lb_str_of(text));
    return s->schema[s->n_schema++] == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
}

static lb_status survey_compare_field(survey *s, const struct ArrowSchema *was, const struct ArrowSchema *is,
                                      lb_error *err)
{
    lb_buf before, now;

    lb_buf_init(&before, NULL);
    lb_buf_init(&now, NULL);
    lb_status status = survey_words(was, &before, err);
    if (status == LB_OK && is == NULL)
        status = survey_say(s, err, "column '%s' (%s) is gone", was->name, (const char *)before.data);
    else if (status == LB_OK)
        status = survey_words(is, &now, err);
    if (status == LB_OK && is != NULL && (before.size != now.size || memcmp(before.data, now.data, now.size) != 0))
        status = survey_say(s, err, "column '%s': %s became %s", was->name, (const char *)before.data,
                            (const char *)now.data);
    lb_buf_free(&before);
    lb_buf_free(&now);
    return status;
}

static lb_status survey_new_field(survey *s, const struct ArrowSchema *is, lb_error *err)
{
    lb_buf words;

    lb_buf_init(&words, NULL);
    lb_status status = survey_words(is, &words, err);
    if (status == LB_OK)
        status = survey_say(s, err, "column '%s' (%s) is new", is->name, (const char *)words.data);
    lb_buf_free(&words);
    return status;
}

static lb_status survey_compare_schemas(survey *s, const struct ArrowSchema *was, const struct ArrowSchema *is,
                                        lb_error *err)
{
    s->schema = lb_arena_alloc(s->arena, (size_t)(was->n_children + is->n_children), sizeof *s->schema);
    if (s->schema == NULL)
        return lb_arena_fail(s->arena, err);
    for (int64_t i = 0; i < was->n_children; i++)
        LB_TRY(survey_compare_field(s, was->children[i], survey_find(is, was->children[i]->name, i), err));
    for (int64_t i = 0; i < is->n_children; i++)
        if (survey_find(was, is->children[i]->name, i) == NULL)
            LB_TRY(survey_new_field(s, is->children[i], err));
    return LB_OK;
}

static lb_status survey_schema_drift(survey *s, lb_error *err)
{
    struct ArrowSchema was = { 0 }, is = { 0 };
    lb_str old = s->old.arrow_schema, fresh = s->fresh.arrow_schema;

    if (!s->has_old || old.size == 0 || fresh.size == 0 || lb_str_equal(old, fresh))
        return LB_OK;
    LB_TRY(lb_ipc_decode_schema(old.at, old.size, &was, err));
    lb_status status = lb_ipc_decode_schema(fresh.at, fresh.size, &is, err);
    if (status == LB_OK) {
        status = survey_compare_schemas(s, &was, &is, err);
        is.release(&is);
    }
    was.release(&was);
    return status;
}

/* ---------------------------------------------------------------- one file */

static lb_status survey_inspect(survey *s, lb_error *err)
{
    doctor *d = s->d;
    const lb_entry *grown = s->f->drift == LB_DRIFT_APPENDED && s->has_old ? &s->old : NULL;
    lb_inspect_options options = d->inspect;
    lb_read_options *read = NULL;
    lb_store *store = NULL;

    options.bytes_done = &d->bytes_surveyed;
    options.progress = d->cx->progress == NULL ? NULL : lb_doctor_progress;
    options.progress_user = d;
    lb_status status = lb_data_file_check_name(s->f->disk, err);
    if (status == LB_OK)
        status = lb_data_store_open(s->path, &store, err);
    if (status == LB_OK)
        status = lb_lake_options_for(d->lake, s->f->rel_path, NULL, &read, err);
    if (status == LB_OK)
        status = lb_inspect_grown(d->cx, store, &options, read, grown, s->arena, &s->fresh, err);
    lb_read_options_free(read);
    lb_store_close(store);
    return status;
}

/* Say of a file that it could not be surveyed. With the lock held. */
static lb_status survey_failed(survey *s, size_t at, const lb_error *why, lb_error *err)
{
    doctor *d = s->d;

    if (at < d->failed_at) {
        d->failed_at = at;
        d->failed_why = *why;
    }
    s->f->why = lb_arena_copy(&d->arena, s->fresh.error);
    return s->f->why == NULL ? lb_arena_fail(&d->arena, err) : LB_OK;
}

/* Copy what was found of the columns into the report. With the lock held. */
static lb_status survey_keep_schema(survey *s, lb_error *err)
{
    doctor *d = s->d;
    doctor_detail *more = s->n_schema == 0 ? NULL : lb_doctor_detail(d, s->f);

    if (s->n_schema == 0)
        return LB_OK;
    if (more == NULL || (more->schema = lb_arena_alloc(&d->arena, s->n_schema, sizeof *more->schema)) == NULL)
        return lb_arena_fail(&d->arena, err);
    for (size_t i = 0; i < s->n_schema; i++) {
        more->schema[i] = lb_arena_copy(&d->arena, lb_str_of(s->schema[i]));
        if (more->schema[i] == NULL)
            return lb_arena_fail(&d->arena, err);
        more->n_schema++;
    }
    return LB_OK;
}

static lb_status survey_report(survey *s, size_t at, const lb_error *why, lb_error *err)
{
    (void)pthread_mutex_lock(&s->d->lock);
    lb_status status = why->code == LB_OK ? LB_OK : survey_failed(s, at, why, err);
    if (status == LB_OK)
        status = survey_keep_schema(s, err);
    (void)pthread_mutex_unlock(&s->d->lock);
    return status;
}

/* `why` says afterwards whether the file failed. */
static lb_status survey_file(survey *s, lb_error *why, lb_error *err)
{
    s->path = lb_data_file_path(s->d->dir, s->f->disk, s->arena);
    if (s->path == NULL)
        return lb_arena_fail(s->arena, err);
    s->has_old = s->f->in_map || s->f->drift == LB_DRIFT_RENAMED;
    /* What grew is gone on with, and needs all that was known of it. */
    if (s->has_old && s->f->drift == LB_DRIFT_APPENDED)
        LB_TRY(lb_map_view_all(s->d->map, s->f->index, s->arena, &s->old, err));
    else if (s->has_old)
        LB_TRY(lb_map_view(s->d->map, s->f->index, s->arena, &s->old, err));
    lb_status status = survey_inspect(s, why);
    if (status == LB_CANCELLED || status == LB_NOMEM || status == LB_INTERNAL) {
        if (err != NULL)
            *err = *why;
        return status;
    }
    if (status == LB_OK)
        return survey_schema_drift(s, err);
    lb_fail_path(why, s->path);
    return lb_inspect_failed(why, s->f->disk, s->arena, &s->fresh, err);
}

static lb_status survey_one(void *user, size_t k, lb_error *err)
{
    survey_work *w = user;
    doctor *d = w->d;
    lb_error why = LB_ERROR_INIT;
    lb_arena arena;
    survey s = { .d = d, .f = &d->files[w->files[k]], .arena = &arena };

    LB_TRY(lb_check_cancel(d->cx, err));
    lb_arena_init(&arena, &d->cx->budget);
    lb_status status = survey_file(&s, &why, err);
    if (status == LB_OK)
        status = survey_report(&s, w->files[k], &why, err);
    if (status == LB_OK && w->heal) {
        status = lb_spool_put(&d->spool, k, &s.fresh, err);
        s.f->slot = k + 1;
    }
    lb_arena_free(&arena);
    atomic_fetch_add(&d->files_done, 1);
    lb_doctor_progress(d);
    return status;
}

/* ---------------------------------------------------------------- which files */

/* May a renamed file keep the entry it had? Only if both names are read in the same way. */
static lb_status survey_same_reading(doctor *d, const doctor_file *f, bool *same, lb_error *err)
{
    lb_read_options *a = NULL, *b = NULL;
    lb_str was;
    lb_buf x, y;

    LB_TRY(lb_map_view_path(d->map, f->index, &was, err));
    lb_buf_init(&x, NULL);
    lb_buf_init(&y, NULL);
    lb_status status = lb_lake_options_for(d->lake, was, NULL, &a, err);
    if (status == LB_OK)
        status = lb_lake_options_for(d->lake, f->rel_path, NULL, &b, err);
    if (status == LB_OK)
        status = lb_read_options_json(a, &x, err);
    if (status == LB_OK)
        status = lb_read_options_json(b, &y, err);
    *same = status == LB_OK && x.size == y.size && memcmp(x.data, y.data, x.size) == 0 &&
            lb_str_equal(lb_path_extension(was), lb_path_extension(f->rel_path));
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
        f->restamp = same;
        *wants = heal && !f->restamp;
        break;
    }
    case LB_DRIFT_MISSING:
    case LB_DRIFT_TOUCHED:
    case LB_DRIFT_RACY:
    case LB_DRIFT_TORN:
    case LB_DRIFT_COUNT:
        break;
    }
    return LB_OK;
}

/* Bytes that a survey reads, most likely. */
static uint64_t survey_bytes(const doctor_file *f)
{
    uint64_t size = f->disk == NULL ? 0 : f->disk->size;
    bool grown = f->drift == LB_DRIFT_APPENDED && size > (uint64_t)f->old_bytes;

    return grown ? size - (uint64_t)f->old_bytes : size;
}

/* Places of the files to survey, `n` of them. */
static lb_status survey_choose(doctor *d, bool heal, size_t *places, size_t *n, lb_error *err)
{
    for (size_t i = 0; i < d->n_files; i++) {
        bool wants = false;
        LB_TRY(survey_wants(d, &d->files[i], heal, &wants, err));
        /* Entries of the reference's layouts lack what ours have: a heal makes them anew. */
        if (heal && !d->extended && d->files[i].disk != NULL)
            wants = true;
        if (wants) {
            places[(*n)++] = i;
            d->planned_bytes += survey_bytes(&d->files[i]);
        }
    }
    d->planned_files += *n;
    return LB_OK;
}

lb_status lb_doctor_survey(doctor *d, bool heal, lb_error *err)
{
    survey_work w = { .d = d, .heal = heal, .files = calloc(d->n_files + 1, sizeof *w.files) };
    size_t n = 0;

    lb_status status = w.files == NULL ? lb_fail_nomem(err) : survey_choose(d, heal, w.files, &n, err);
    if (status == LB_OK)
        status = lb_spool_init(&d->spool, &d->cx->budget, heal ? n : 0, err);
    if (status == LB_OK)
        status = lb_run_jobs(d->cx, n, survey_one, &w, err);
    free(w.files);
    return status;
}
