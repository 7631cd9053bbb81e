#include "lake/inspect.h"

#include <stdio.h>

#include "base/clock.h"
#include "lake/digest.h"
#include "lake/handlers.h"

typedef struct inspect {
    lb_context *cx;
    lb_store *store;
    const lb_inspect_options *options;
    const lb_read_options *read;
    lb_arena *arena;
    lb_digester *digester;       /* NULL: no digests */
} inspect;

static void inspect_tap(void *user, const uint8_t *bytes, size_t size)
{
    inspect *i = user;

    if (i->digester != NULL)
        lb_digester_add(i->digester, bytes, size);
    if (i->options->bytes_done != NULL)
        atomic_fetch_add_explicit(i->options->bytes_done, size, memory_order_relaxed);
    if (i->options->progress != NULL)
        i->options->progress(i->options->progress_user);
}

/* Bytes that the survey had no need of still count for the digests. */
static lb_status inspect_rest(inspect *i, lb_error *err)
{
    uint64_t at = i->digester == NULL ? i->store->size : lb_digester_bytes(i->digester);
    lb_buf bytes;
    lb_status status = LB_OK;

    lb_buf_init(&bytes, &i->cx->budget);
    while (status == LB_OK && at < i->store->size) {
        size_t got = 0;
        status = lb_buf_reserve(&bytes, 1 << 20, err);
        if (status == LB_OK)
            status = lb_check_cancel(i->cx, err);
        if (status == LB_OK)
            status = lb_store_read(i->store, at, bytes.data, 1 << 20, &got, err);
        if (status == LB_OK && got == 0)
            break;
        lb_digester_add(i->digester, bytes.data, got);
        at += got;
    }
    lb_buf_free(&bytes);
    return status;
}

/* --detect: a reading that fits better is taken, by a reader of its own. */
static lb_status inspect_detect(inspect *i, const lb_format *format, lb_reader **reader, lb_read_options **detected, lb_error *err)
{
    char option[128], why[128];
    lb_reader *other = NULL;

    if (!i->options->detect || format->suggest == NULL)
        return LB_OK;
    LB_TRY(format->suggest(*reader, option, why, sizeof option, err));
    if (option[0] == '\0')
        return LB_OK;
    LB_TRY(lb_read_options_merge(i->read, NULL, detected, err));
    LB_TRY(lb_read_options_parse(*detected, option, err));
    LB_TRY(format->open(format, i->cx, i->store, *detected, NULL, &other, err));
    format->close(*reader);
    *reader = other;
    return LB_OK;
}

/* Without it, it is told and nothing changed. */
static void inspect_tell(inspect *i, const lb_format *format, lb_reader *reader)
{
    char option[128], why[128];

    if (!i->options->detect && format->suggest != NULL && i->cx->note != NULL &&
        format->suggest(reader, option, why, sizeof option, NULL) == LB_OK && option[0] != '\0')
        lb_note(i->cx, "%s: %s; %s would read it so", i->store->path, why, option);
}

static lb_status inspect_survey(inspect *i, const lb_format *format, lb_reader *reader, lb_entry *out, lb_error *err)
{
    const lb_inspect_options *o = i->options;
    lb_survey_options survey = { .stride = o->stride, .stats = o->stats, .stats_columns = o->stats_columns,
                                 .sample_bytes = o->sample_bytes, .pages = o->pages, .tap = inspect_tap, .tap_user = i };

    LB_TRY(format->survey(reader, &survey, i->arena, out, err));
    if (o->for_map && lb_handler_is_dynamic(format)) {
        out->blocks = (lb_blocks){ 0 };
        out->has_dialect = false;
    }
    if (o->sample_bytes == 0)
        LB_TRY(inspect_rest(i, err));
    return i->digester == NULL ? LB_OK : lb_digester_finish(i->digester, i->arena, out, err);
}

static lb_status inspect_read(inspect *i, lb_entry *out, lb_error *err)
{
    const lb_format *format;
    lb_reader *reader = NULL;
    lb_read_options *detected = NULL;

    LB_TRY(lb_handler_of_file(i->cx, i->store, i->options->format, &format, err));
    out->format = lb_str_of(format->name);
    out->locator = lb_str_of(format->locator);
    lb_status status = format->open(format, i->cx, i->store, i->read, NULL, &reader, err);
    if (status == LB_OK)
        status = inspect_detect(i, format, &reader, &detected, err);
    if (status == LB_OK)
        status = inspect_survey(i, format, reader, out, err);
    if (status == LB_OK)
        inspect_tell(i, format, reader);
    format->close(reader);
    lb_read_options_free(detected);
    return status;
}

static lb_status inspect_unchanged(inspect *i, const lb_file_stat *before, lb_error *err)
{
    lb_file_stat after;

    LB_TRY(lb_store_stat(i->store, &after, err));
    if (after.size == before->size && after.mtime_ns == before->mtime_ns && after.ctime_ns == before->ctime_ns)
        return LB_OK;
    lb_fail(err, LB_STALE, LB_NOWHERE, "the file changed while it was inspected");
    lb_fail_hint(err, "try again when nothing writes to it");
    return LB_STALE;
}

lb_status lb_inspect(lb_context *cx, lb_store *store, const lb_inspect_options *options, const lb_read_options *read,
                     lb_arena *arena, lb_entry *out, lb_error *err)
{
    inspect i = { .cx = cx, .store = store, .options = options, .read = read, .arena = arena };
    lb_file_stat before;

    LB_TRY(lb_store_stat(store, &before, err));
    *out = (lb_entry){ .size_bytes = before.size, .mtime_ns = before.mtime_ns, .ctime_ns = before.ctime_ns,
                       .inspected_ns = lb_now_ns(), .verified_ns = INT64_MIN };
    if (options->digests || options->fingerprint == LB_FINGERPRINT_BLAKE3)
        LB_TRY(lb_digester_new(options->fingerprint == LB_FINGERPRINT_BLAKE3, &cx->budget, &i.digester, err));
    lb_status status = inspect_read(&i, out, err);
    if (status == LB_OK || status == LB_CORRUPT || status == LB_STALE) {
        lb_error changed = LB_ERROR_INIT;
        lb_status same = inspect_unchanged(&i, &before, &changed);
        /* What was read of a file in motion says nothing about it. */
        if (same != LB_OK) {
            status = same;
            if (err != NULL)
                *err = changed;
        }
    }
    lb_digester_free(i.digester);
    if (status != LB_OK)
        lb_fail_path(err, store->path);
    return status;
}

lb_status lb_inspect_record(const lb_error *error, lb_arena *arena, lb_entry *out, lb_error *err)
{
    char text[1024];
    size_t at = 0;

    if (error->row >= 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "row %lld, ", (long long)error->row);
    if (error->line >= 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "line %lld, ", (long long)error->line);
    if (error->offset >= 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "byte %lld: ", (long long)error->offset);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s%s", error->message, error->hint[0] != '\0' ? " (" : "", error->hint,
                           error->hint[0] != '\0' ? ")" : "");
    out->error = (lb_str){ lb_arena_copy(arena, lb_str_of(text)), strlen(text) };
    out->total_rows = 0;
    out->blocks = (lb_blocks){ 0 };
    out->columns = (lb_colstats){ 0 };
    out->arrow_schema = (lb_str){ NULL, 0 };
    return out->error.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
}
