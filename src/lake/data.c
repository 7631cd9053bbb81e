#include "lake/data.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "column/ipc.h"
#include "lake/handlers.h"
#include "lake/inspect.h"
#include "lake/packed.h"
#include "lake/sandbox.h"
#include "lance/dataset_store.h"

/* ---------------------------------------------------------------- finding the map */

/* Cut a path to its parent folder; false: it was the root. */
static bool data_parent(char *dir)
{
    char *slash = strrchr(dir, '/');

    if (slash == NULL || (slash == dir && dir[1] == '\0'))
        return false;
    slash[slash == dir ? 1 : 0] = '\0';
    return true;
}

bool lb_map_is_lost(const char *path, lb_status status)
{
    return status == LB_IO && access(path, R_OK) == 0;
}

/* The name in the map may be that of another file, where one of the two is not UTF-8: NOTFOUND. */
static lb_status data_check_name(const lb_map *map, uint64_t index, lb_str name, lb_str rel_path, lb_error *err)
{
    lb_str raw;

    LB_TRY(lb_map_view_raw_path(map, index, &raw, err));
    return lb_str_equal(raw.size != 0 ? raw : rel_path, name)
               ? LB_OK
               : lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "the map has another file of that name");
}

/* Look in one folder; *map NULL where its map does not list the file, or there is none. */
static lb_status data_look_in(lb_context *cx, const char *dir, const char *path, lb_arena *arena, lb_map **map,
                              lb_str *rel_path, uint64_t *index, const char **reason, lb_error *err)
{
    const char *file = lb_path_join(arena, dir, LB_MAP_NAME);
    size_t skip = strlen(dir) + (strcmp(dir, "/") != 0);
    lb_error why = LB_ERROR_INIT;

    if (file == NULL)
        return lb_arena_fail(arena, err);
    if (access(file, F_OK) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? LB_OK : lb_fail_errno(err, errno, file, "open");
    if (lb_check_sandbox(file, NULL) != LB_OK)
        return LB_OK;
    LB_TRY(lb_map_name_of(lb_str_of(path + skip), arena, rel_path, err));
    lb_status status = lb_map_load_file(file, map, &why);
    if (status == LB_OK)
        status = lb_map_find_path(*map, *rel_path, index, &why);
    if (status == LB_OK)
        status = data_check_name(*map, *index, lb_str_of(path + skip), *rel_path, &why);
    if (status == LB_OK)
        return LB_OK;
    lb_map_close(*map);
    *map = NULL;
    if (lb_is_callers(status) || lb_map_is_lost(file, status)) {
        lb_fail(err, status, LB_NOWHERE, "%s", why.message);
        lb_fail_path(err, file);
        return status;
    }
    *reason = "not listed";
    if (status != LB_NOTFOUND) {
        *reason = "invalid map";
        lb_note(cx, "%s: %s; read without it", file, why.message);
    }
    return LB_OK;
}

lb_status lb_find_map(lb_context *cx, const char *path, lb_arena *arena, lb_map **map, lb_str *rel_path,
                      uint64_t *index, const char **reason, lb_error *err)
{
    const char *normal = lb_path_normal(arena, path);
    char *dir = normal == NULL ? NULL : lb_arena_copy(arena, lb_str_of(normal));

    *map = NULL;
    *reason = "no map";
    if (dir == NULL)
        return lb_arena_fail(arena, err);
    while (data_parent(dir)) {
        LB_TRY(data_look_in(cx, dir, normal, arena, map, rel_path, index, reason, err));
        if (*map != NULL || strcmp(*reason, "invalid map") == 0)
            break;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- does the entry serve */

/* Whole milliseconds of a time, rounded down. */
static int64_t data_ms(int64_t ns)
{
    return ns / 1000000 - (ns % 1000000 < 0);
}

bool lb_entry_matches(const lb_entry *entry, const lb_file_stat *now)
{
    /* The reference's layouts know whole milliseconds only, and no ctime. */
    bool coarse = entry->ctime_ns == INT64_MIN && entry->mtime_ns % 1000000 == 0;

    if (entry->size_bytes != now->size)
        return false;
    return coarse ? data_ms(entry->mtime_ns) == data_ms(now->mtime_ns) : entry->mtime_ns == now->mtime_ns;
}

lb_status lb_entry_adapt(const lb_entry *known, const lb_read_options *over, lb_arena *arena, lb_entry *out, bool *done,
                         lb_error *err)
{
    const lb_format *format = lb_handler_of_name(known->format);

    *out = *known;
    *done = over == NULL || over->value_set == 0 || !lb_entry_has_rows(known);
    if (*done || format == NULL || format->adapt == NULL)
        return LB_OK;
    return format->adapt(known, over, arena, out, done, err);
}

/* Do the entry's blocks serve a read with these structural options? Names of sheets only the handler knows. */
static bool data_serves(const lb_entry *entry, const lb_read_options *over)
{
    const lb_format *format = lb_handler_of_name(entry->format);

    if (over == NULL || (over->set & LB_OPT_SHEET) == 0 || format == NULL || format->sheet_of == NULL)
        return lb_dialect_serves(entry, over);
    lb_read_options others = *over;
    others.set &= ~(unsigned)LB_OPT_SHEET;
    return entry->has_dialect && format->sheet_of(entry, over->sheet) == entry->dialect.sheet &&
           lb_dialect_serves(entry, &others);
}

static const char *data_reason(const lb_entry *entry, const lb_data_request *q, lb_store *store, lb_error *err)
{
    lb_file_stat now;

    if (lb_store_stat(store, &now, err) != LB_OK || !lb_entry_matches(entry, &now))
        return "stale";
    if (!lb_entry_has_rows(entry))
        return "error when mapped";
    if (q->format != NULL && !lb_str_is(entry->format, q->format))
        return "other options";
    if (!q->fresh_map && !data_serves(entry, q->over))
        return "other options";
    if (entry->blocks.count == 0 && entry->total_rows != 0)
        return "no locator";
    /* Positions that another tokenizer made, without types: not to be trusted. */
    if (entry->arrow_schema.size == 0)
        return "reference layout";
    return NULL;
}

/* Take the entry the request names into d->entry if it serves; d->map_use says why not. */
static lb_status data_take_entry(lb_data *d, const lb_data_request *q, bool *taken, lb_error *err)
{
    lb_entry entry;
    const lb_format *by_name = lb_handler_of_path(d->cx, lb_str_of(q->path));

    *taken = false;
    d->map_use = q->no_map_reason;
    if (q->map == NULL && q->entry == NULL)
        return LB_OK;
    d->map_use = "not listed";
    if (q->entry == NULL && !q->listed)
        return LB_OK;
    d->map_use = "dynamic handler";
    if (q->entry == NULL && !q->fresh_map && q->format == NULL && by_name != NULL && lb_handler_is_dynamic(by_name))
        return LB_OK;
    if (q->entry != NULL)
        entry = *q->entry;
    else
        LB_TRY(lb_map_view(q->map, q->index, &d->arena, &entry, err));
    d->map_use = data_reason(&entry, q, d->store, NULL);
    if (d->map_use != NULL)
        return LB_OK;
    LB_TRY(lb_entry_adapt(&entry, q->fresh_map ? NULL : q->over, &d->arena, &d->entry, taken, err));
    d->map_use = *taken ? "used" : "other options";
    return LB_OK;
}

/* ---------------------------------------------------------------- surveying */

static uint64_t data_sample(const lb_data *d, const lb_data_request *q)
{
    lb_type_mode mode = d->options->types;

    if (q->whole || mode == LB_TYPES_PROVEN)
        return 0;
    return mode == LB_TYPES_SAMPLE || d->store->size > LB_PROVEN_BYTES ? LB_SAMPLE_BYTES : 0;
}

static lb_status data_survey(lb_data *d, const lb_data_request *q, lb_error *err)
{
    const lb_map_header *header = q->map == NULL ? NULL : lb_map_header_of(q->map);
    lb_inspect_options options = { .stride = header != NULL ? header->stride : LB_DEFAULT_STRIDE,
                                   .stats = q->stats ? LB_STATS_ALL : LB_STATS_OFF,
                                   .detect = q->remembered != NULL && q->remembered->detect,
                                   .sample_bytes = data_sample(d, q),
                                   .rows_only = q->rows_only,
                                   .rows_later = q->single && !q->whole && !q->stats,
                                   .format = q->format };

    d->surveyed = true;
    return lb_inspect(d->cx, d->store, &options, d->options, &d->arena, &d->entry, err);
}

/* ---------------------------------------------------------------- opening */

static lb_status data_options(lb_data *d, const lb_data_request *q, lb_error *err)
{
    if (q->remembered != NULL)
        return lb_lake_options_for(q->remembered, q->rel_path, q->over, &d->options, err);
    return lb_read_options_merge(q->over, NULL, &d->options, err);
}

/* Rows of a compressed file are read through its view. */
static lb_status data_view(lb_data *d, lb_error *err)
{
    lb_store *view;

    if (d->entry.container.size == 0)
        return LB_OK;
    LB_TRY(lb_packed_view(d->cx, d->store, &d->entry, &view, err));
    if (view == NULL)
        return lb_fail(err, LB_STALE, LB_NOWHERE,
                       "the file was compressed when it was mapped, and its name no longer says so");
    d->packed = d->store;
    d->store = view;
    return LB_OK;
}

/* Options asked for one file must be its format's; those for a lake are for the files that take them. */
static lb_status data_reader(lb_data *d, const lb_data_request *q, lb_error *err)
{
    d->format = lb_handler_of_name(d->entry.format);
    if (d->format == NULL)
        LB_TRY(lb_handler_of_file(d->cx, d->store, q->format, &d->format, err));
    if (q->single)
        LB_TRY(lb_handler_check_options(d->format, q->over, err));
    LB_TRY(lb_ipc_decode_schema(d->entry.arrow_schema.at, d->entry.arrow_schema.size, &d->schema, err));
    LB_TRY(data_view(d, err));
    return d->format->open(d->format, d->cx, d->store, d->options, &d->entry, &d->reader, err);
}

static lb_status data_open(lb_data *d, const lb_data_request *q, bool use_entry, lb_error *err)
{
    bool taken = false;

    if (q->version != NULL)
        LB_TRY(lb_dataset_store_open(d->cx, q->path, q->version, &d->store, err));
    else
        LB_TRY(lb_data_store_open(q->path, &d->store, err));
    if (q->memory_map)
        lb_store_map(d->store);
    LB_TRY(data_options(d, q, err));
    d->map_use = "stale";
    if (use_entry)
        LB_TRY(data_take_entry(d, q, &taken, err));
    if (!taken)
        LB_TRY(data_survey(d, q, err));
    return data_reader(d, q, err);
}

static lb_status data_make(lb_context *cx, const lb_data_request *q, bool use_entry, lb_data **out, lb_error *err)
{
    lb_data *d = calloc(1, sizeof *d);

    *out = NULL;
    if (d == NULL)
        return lb_fail_nomem(err);
    d->cx = cx;
    lb_arena_init(&d->arena, &cx->budget);
    lb_status status = data_open(d, q, use_entry && !q->stats, err);
    if (status == LB_OK) {
        *out = d;
        return LB_OK;
    }
    lb_data_close(d);
    lb_fail_path(err, q->path);
    return status;
}

lb_status lb_data_open(lb_context *cx, const lb_data_request *request, lb_data **out, lb_error *err)
{
    lb_status status = data_make(cx, request, true, out, err);

    if (status != LB_STALE)
        return status;
    /* It changed under the survey: looked at once more. */
    lb_error_clear(err);
    return data_make(cx, request, false, out, err);
}

lb_status lb_data_reopen(lb_context *cx, const lb_data_request *request, lb_data **out, lb_error *err)
{
    return data_make(cx, request, false, out, err);
}

lb_status lb_data_tail(const lb_data *d, lb_error *err)
{
    lb_status status = d->format->tail == NULL ? LB_OK : d->format->tail(&d->entry, err);

    if (status != LB_OK)
        lb_fail_path(err, d->store->path);
    return status;
}

void lb_data_close(lb_data *d)
{
    if (d == NULL)
        return;
    if (d->format != NULL && d->reader != NULL)
        d->format->close(d->reader);
    if (d->schema.release != NULL)
        d->schema.release(&d->schema);
    lb_read_options_free(d->options);
    lb_store_close(d->store);
    lb_store_close(d->packed);
    lb_arena_free(&d->arena);
    free(d);
}

lb_status lb_data_check(lb_data *d, lb_error *err)
{
    lb_file_stat now;

    LB_TRY(lb_store_stat(d->store, &now, err));
    if (lb_entry_matches(&d->entry, &now))
        return LB_OK;
    lb_fail(err, LB_STALE, LB_NOWHERE, "the file changed while it was read");
    lb_fail_hint(err, "read it again when nothing writes to it");
    lb_fail_path(err, d->store->path);
    return LB_STALE;
}
