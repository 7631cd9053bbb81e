#include "lake/inspect.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "lake/digest.h"
#include "lake/handlers.h"
#include "lake/packed.h"

#define INSPECT_READ ((size_t)1 << 20)

typedef struct inspect {
    lb_context *cx;
    lb_store *store;
    lb_store *rows; /* the store itself, or the view of a compressed file */
    const lb_inspect_options *options;
    const lb_read_options *read;
    lb_arena *arena;
    lb_digester *digester; /* NULL: no digests */
    const lb_entry *old;   /* the file grew since this was made of it; NULL: survey it whole */
} inspect;

static void inspect_tell_progress(const inspect *i, size_t size)
{
    if (i->options->bytes_done != NULL)
        atomic_fetch_add_explicit(i->options->bytes_done, size, memory_order_relaxed);
    if (i->options->progress != NULL)
        i->options->progress(i->options->progress_user);
}

static void inspect_tap(void *user, const uint8_t *bytes, size_t size)
{
    inspect *i = user;

    if (i->digester != NULL)
        lb_digester_add(i->digester, bytes, size);
    inspect_tell_progress(i, size);
}

/* The same of bytes with the sums of their ranges. */
static void inspect_give(void *user, const uint8_t *bytes, size_t size, const uint8_t *sums)
{
    inspect *i = user;

    lb_digester_give(i->digester, bytes, size, sums);
    inspect_tell_progress(i, size);
}

/* Give a digester the bytes from `at` to the end. */
static lb_status inspect_feed(inspect *i, lb_digester *digester, uint64_t at, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &i->cx->budget);
    lb_status status = lb_buf_reserve(&bytes, INSPECT_READ, err);
    while (status == LB_OK && at < i->store->size) {
        size_t got = 0;
        status = lb_check_cancel(i->cx, err);
        if (status == LB_OK)
            status = lb_store_read(i->store, at, bytes.data, INSPECT_READ, &got, err);
        if (status != LB_OK || got == 0)
            break;
        lb_digester_add(digester, bytes.data, got);
        at += got;
    }
    lb_buf_free(&bytes);
    return status;
}

/* --detect: a reading that fits better is taken, by a reader of its own. */
static lb_status inspect_detect(inspect *i, const lb_format *format, lb_reader **reader, lb_read_options **detected,
                                lb_error *err)
{
    char option[128], why[128];
    lb_reader *other = NULL;

    if (!i->options->detect || format->suggest == NULL)
        return LB_OK;
    LB_TRY(format->suggest(*reader, option, why, sizeof option, err));
    if (option[0] == '\0')
        return LB_OK;
    LB_TRY(lb_read_options_merge(i->read, NULL, detected, err));
    /* Not parsed as a list: the delimiter may be a comma. */
    char *value = strchr(option, '=');
    if (value != NULL)
        *value++ = '\0';
    LB_TRY(lb_read_options_set(*detected, option, value, err));
    LB_TRY(format->open(format, i->cx, i->rows, *detected, NULL, &other, err));
    format->close(*reader);
    *reader = other;
    return LB_OK;
}

/* "delimiter=;" as it is typed: --delimiter ';'. */
static void inspect_option_words(const char *option, char *out, size_t cap)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *equals = strchr(option, '='), *value = equals == NULL ? "" : equals + 1;
    const char *quote = *value == '\0' || value[strspn(value, plain)] != '\0' ? "'" : "";

    if (equals == NULL)
        (void)snprintf(out, cap, "--%s", option);
    else
        (void)snprintf(out, cap, "--%.*s %s%s%s", (int)(equals - option), option, quote, value, quote);
}

/* Without it, it is told and nothing changed. */
static void inspect_tell(inspect *i, const lb_format *format, lb_reader *reader)
{
    char option[128], why[128], words[160];

    if (i->options->detect || format->suggest == NULL || i->cx->note == NULL ||
        format->suggest(reader, option, why, sizeof option, NULL) != LB_OK || option[0] == '\0')
        return;
    inspect_option_words(option, words, sizeof words);
    lb_note(i->cx, "%s: %s; %s would read it so", i->store->path, why, words);
}

static lb_status inspect_survey(inspect *i, const lb_format *format, lb_reader *reader, lb_entry *out, lb_error *err)
{
    const lb_inspect_options *o = i->options;
    lb_sums sums = { 0 };
    lb_survey_options survey = { .stride = o->stride,
                                 .stats = o->stats,
                                 .rows_only = o->rows_only,
                                 .rows_later = o->rows_later,
                                 .stats_columns = o->stats_columns,
                                 .sample_bytes = o->sample_bytes,
                                 .pages = o->pages,
                                 .keep_state = o->for_map && i->rows == i->store,
                                 .tap = i->rows == i->store ? inspect_tap : NULL,
                                 .tap_user = i };

    if (i->digester != NULL) {
        lb_digester_sums(i->digester, &sums);
        sums.give = inspect_give;
        survey.sums = &sums;
    }
    LB_TRY(format->survey(reader, &survey, i->arena, out, err));
    if (i->rows != i->store)
        LB_TRY(lb_packed_keep(i->rows, i->arena, out, err));
    if (o->for_map && lb_handler_is_dynamic(format)) {
        out->blocks = (lb_blocks){ 0 };
        out->has_dialect = false;
    }
    /* Bytes that the survey had no need of still count for the digests. */
    if (o->sample_bytes == 0 && i->digester != NULL)
        LB_TRY(inspect_feed(i, i->digester, lb_digester_bytes(i->digester), err));
    return i->digester == NULL ? LB_OK : lb_digester_finish(i->digester, i->arena, out, err);
}

/* ---------------------------------------------------------------- files that grew */

/* Digests of a file that grew: those of the ranges that were full stand, the digester saw the rest. */
static lb_status inspect_join_digests(inspect *i, lb_digester *tail, uint64_t full, lb_entry *out, lb_error *err)
{
    const lb_digests *old = &i->old->digests;
    lb_entry rest = { 0 };

    LB_TRY(lb_digester_finish(tail, i->arena, &rest, err));
    uint64_t n = full + rest.digests.count;
    uint64_t *first = lb_arena_alloc(i->arena, (size_t)n, sizeof *first),
             *length = lb_arena_alloc(i->arena, (size_t)n, sizeof *length);
    uint8_t *xxh3 = lb_arena_alloc(i->arena, (size_t)n, LB_XXH3_SIZE);
    if (first == NULL || length == NULL || xxh3 == NULL)
        return lb_arena_fail(i->arena, err);
    for (uint64_t k = 0; k < n; k++) {
        first[k] = k * LB_DIGEST_RANGE;
        length[k] = k < full ? LB_DIGEST_RANGE : rest.digests.length[k - full];
    }
    if (full != 0)
        memcpy(xxh3, old->xxh3, (size_t)full * LB_XXH3_SIZE);
    if (n != full)
        memcpy(xxh3 + full * LB_XXH3_SIZE, rest.digests.xxh3, (size_t)(n - full) * LB_XXH3_SIZE);
    out->digests = (lb_digests){ n, first, length, xxh3, NULL };
    return LB_OK;
}

/* Read on from the last range that was not full. */
static lb_status inspect_tail_digests(inspect *i, lb_entry *out, lb_error *err)
{
    uint64_t full = i->old->size_bytes / LB_DIGEST_RANGE;
    lb_digester *tail = NULL;

    LB_TRY(lb_digester_new(false, &i->cx->budget, &tail, err));
    lb_status status = inspect_feed(i, tail, full * LB_DIGEST_RANGE, err);
    if (status == LB_OK)
        status = inspect_join_digests(i, tail, full, out, err);
    lb_digester_free(tail);
    return status;
}

/* Can the digests of the old entry be carried on? BLAKE3 of a whole file cannot. */
static bool inspect_can_grow(const inspect *i)
{
    const lb_digests *d = &i->old->digests;
    uint64_t full = i->old->size_bytes / LB_DIGEST_RANGE;

    return i->options->fingerprint == LB_FINGERPRINT_METADATA && i->options->digests && d->xxh3 != NULL &&
           d->count >= full && i->old->open_state.size != 0;
}

/* *done false: the file has to be surveyed whole. */
static lb_status inspect_grow(inspect *i, const lb_format *format, lb_entry *out, bool *done, lb_error *err)
{
    const lb_inspect_options *o = i->options;
    const lb_survey_options survey = { .stride = o->stride,
                                       .stats = o->stats,
                                       .stats_columns = o->stats_columns,
                                       .pages = o->pages,
                                       .keep_state = o->for_map };
    lb_reader *reader = NULL;

    *done = false;
    if (i->old == NULL || format->extend == NULL || i->rows != i->store || !lb_str_is(i->old->format, format->name) ||
        !inspect_can_grow(i))
        return LB_OK;
    LB_TRY(format->open(format, i->cx, i->store, i->read, i->old, &reader, err));
    lb_status status = format->extend(reader, &survey, i->arena, out, done, err);
    format->close(reader);
    if (status == LB_OK && *done)
        status = inspect_tail_digests(i, out, err);
    if (status == LB_OK && *done && o->bytes_done != NULL)
        atomic_fetch_add_explicit(o->bytes_done, i->store->size - i->old->size_bytes, memory_order_relaxed);
    return status;
}

/* Place, message and hint in one line. */
static lb_status inspect_error_text(const lb_error *error, lb_arena *arena, lb_str *out, lb_error *err)
{
    char text[1024];
    size_t at = 0;

    if (error->row >= 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "row %lld, ", (long long)error->row);
    if (error->line >= 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "line %lld, ", (long long)error->line);
    if (error->offset >= 0)
        at += (size_t)snprintf(text + at, sizeof text - at, "byte %lld: ", (long long)error->offset);
    (void)snprintf(text + at, sizeof text - at, "%s%s%s%s", error->message, error->hint[0] != '\0' ? " (" : "",
                   error->hint, error->hint[0] != '\0' ? ")" : "");
    *out = (lb_str){ lb_arena_copy(arena, lb_str_of(text)), strlen(text) };
    return out->at == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

/* What is wrong behind the last row is kept with the entry. */
static lb_status inspect_tail(inspect *i, const lb_format *format, lb_entry *out, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;

    if (format->tail == NULL || format->tail(out, &why) == LB_OK)
        return LB_OK;
    return inspect_error_text(&why, i->arena, &out->error, err);
}

static lb_status inspect_read(inspect *i, lb_entry *out, lb_error *err)
{
    bool done;

    const lb_format *format;
    lb_reader *reader = NULL;
    lb_read_options *detected = NULL;

    LB_TRY(lb_handler_of_file(i->cx, i->rows, i->options->format, &format, err));
    out->format = lb_str_of(format->name);
    out->locator = lb_str_of(format->locator);
    LB_TRY(inspect_grow(i, format, out, &done, err));
    if (done)
        return inspect_tail(i, format, out, err);
    lb_status status = format->open(format, i->cx, i->rows, i->read, NULL, &reader, err);
    if (status == LB_OK)
        status = inspect_detect(i, format, &reader, &detected, err);
    if (status == LB_OK)
        status = inspect_survey(i, format, reader, out, err);
    if (status == LB_OK)
        inspect_tell(i, format, reader);
    if (status == LB_OK)
        status = inspect_tail(i, format, out, err);
    format->close(reader);
    lb_read_options_free(detected);
    return status;
}

/* A compressed file is surveyed through its view, and its own bytes are counted and hashed as they are read for that. */
static lb_status inspect_open_rows(inspect *i, lb_error *err)
{
    lb_store *view;

    LB_TRY(lb_packed_view(i->cx, i->store, NULL, &view, err));
    if (view == NULL)
        return LB_OK;
    lb_unpacked_tap(view, inspect_tap, i);
    i->rows = view;
    return LB_OK;
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
    return lb_inspect_grown(cx, store, options, read, NULL, arena, out, err);
}

lb_status lb_inspect_grown(lb_context *cx, lb_store *store, const lb_inspect_options *options,
                           const lb_read_options *read, const lb_entry *old, lb_arena *arena, lb_entry *out,
                           lb_error *err)
{
    inspect i = {
        .cx = cx, .store = store, .rows = store, .options = options, .read = read, .arena = arena, .old = old
    };
    lb_file_stat before;

    LB_TRY(lb_store_stat(store, &before, err));
    *out = (lb_entry){ .size_bytes = before.size,
                       .mtime_ns = before.mtime_ns,
                       .ctime_ns = before.ctime_ns,
                       .inspected_ns = lb_now_ns(),
                       .verified_ns = INT64_MIN };
    if (options->digests || options->fingerprint == LB_FINGERPRINT_BLAKE3)
        LB_TRY(lb_digester_new(options->fingerprint == LB_FINGERPRINT_BLAKE3, &cx->budget, &i.digester, err));
    lb_status status = inspect_open_rows(&i, err);
    if (status == LB_OK)
        status = inspect_read(&i, out, err);
    if (i.rows != store)
        lb_store_close(i.rows);
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
    out->total_rows = 0;
    out->blocks = (lb_blocks){ 0 };
    out->columns = (lb_colstats){ 0 };
    out->arrow_schema = (lb_str){ NULL, 0 };
    return inspect_error_text(error, arena, &out->error, err);
}

lb_status lb_inspect_failed(const lb_error *error, const lb_data_file *file, lb_arena *arena, lb_entry *out,
                            lb_error *err)
{
    if (out->format.size == 0)
        *out = (lb_entry){ .size_bytes = file->size,
                           .mtime_ns = file->mtime_ns,
                           .ctime_ns = file->ctime_ns,
                           .inspected_ns = lb_now_ns(),
                           .verified_ns = INT64_MIN,
                           .format = LB_STR("unknown"),
                           .locator = LB_STR("none") };
    return lb_inspect_record(error, arena, out, err);
}
