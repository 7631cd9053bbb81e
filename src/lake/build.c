#include "lake/build.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/pool.h"
#include "column/ipc.h"
#include "io/save.h"
#include "lake/inspect.h"
#include "lake/sandbox.h"
#include "lake/unite.h"

#define BUILD_LOCK_WAIT_MS 2000

typedef struct build_file {
    lb_arena arena;
    lb_entry entry;
    bool gone;                   /* vanished between listing and inspection: as if never listed */
} build_file;

typedef struct build {
    lb_context *cx;
    const char *dir;
    const lb_map_options *asked;
    const lb_read_options *over; /* wins over the options, for one read of the lake; NULL */
    lb_lake_options *options;
    lb_inspect_options inspect;
    lb_arena arena;
    lb_data_file *found;
    size_t count;
    build_file *files;
    uint64_t total_bytes;
    _Atomic uint64_t bytes_done;
    _Atomic uint64_t files_done;
} build;

/* ---------------------------------------------------------------- options */

static int build_order_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lb_status build_stats_names(const char *text, lb_arena *arena, const char *const **names, lb_error *err)
{
    size_t cap = 2, n = 0, unique = 0;

    for (const char *p = text; *p != '\0'; p++)
        cap += *p == ',';
    const char **list = lb_arena_alloc(arena, cap, sizeof *list);
    if (list == NULL)
        return lb_arena_fail(arena, err);
    while (*text != '\0') {
        const char *comma = strchr(text, ',');
        size_t size = comma == NULL ? strlen(text) : (size_t)(comma - text);
        list[n] = lb_arena_copy(arena, (lb_str){ text, size });
        if (list[n] == NULL)
            return lb_arena_fail(arena, err);
        n += size != 0;
        text += size + (comma != NULL);
    }
    qsort(list, n, sizeof *list, build_order_names);
    for (size_t i = 0; i < n; i++)
        if (unique == 0 || strcmp(list[unique - 1], list[i]) != 0)
            list[unique++] = list[i];
    list[unique] = NULL;
    *names = list;
    return LB_OK;
}

lb_status lb_parse_stats(const char *text, lb_arena *arena, int *policy, const char *const **names, lb_error *err)
{
    *names = NULL;
    if (text == NULL || strcmp(text, "all") == 0)
        return *policy = LB_STATS_ALL, LB_OK;
    if (strcmp(text, "none") == 0)
        return *policy = LB_STATS_OFF, LB_OK;
    if (strcmp(text, "block") == 0)
        return *policy = LB_STATS_BLOCKS, LB_OK;
    if (text[0] == '\0')
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "--stats takes all, none, block or column names, not nothing");
    *policy = LB_STATS_NAMED;
    return build_stats_names(text, arena, names, err);
}

static lb_status build_setup(build *b, const lb_map_options *o, lb_error *err)
{
    int policy;

    if (o->struct_size != sizeof *o)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_map_options.struct_size is %zu, not %zu", o->struct_size, sizeof *o);
    if (o->fingerprint != LB_FINGERPRINT_METADATA && o->fingerprint != LB_FINGERPRINT_BLAKE3)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the fingerprint is metadata or blake3");
    LB_TRY(lb_lake_options_new(o, &b->options, err));
    LB_TRY(lb_parse_stats(o->stats, &b->arena, &policy, &b->inspect.stats_columns, err));
    b->inspect.stats = (lb_stats_policy)policy;
    b->inspect.stride = o->stride == 0 ? LB_DEFAULT_STRIDE : o->stride;
    b->inspect.fingerprint = o->fingerprint;
    b->inspect.detect = o->detect;
    b->inspect.pages = o->pages;
    return LB_OK;
}

/* ---------------------------------------------------------------- inspecting */

static void build_progress(void *user)
{
    build *b = user;
    uint64_t done = atomic_load_explicit(&b->bytes_done, memory_order_relaxed);

    lb_progress(b->cx, LB_MIN(done, b->total_bytes), b->total_bytes, atomic_load(&b->files_done), b->count);
}

static lb_status build_inspect(build *b, const lb_data_file *file, build_file *out, lb_error *err)
{
    lb_inspect_options options = b->inspect;
    lb_read_options *read = NULL;
    lb_store *store = NULL;

    options.bytes_done = &b->bytes_done;
    options.progress = b->cx->progress == NULL ? NULL : build_progress;
    options.progress_user = b;
    lb_status status = lb_store_open_file(file->path, &store, err);
    out->gone = status == LB_NOTFOUND;
    if (status == LB_OK)
        status = lb_lake_options_for(b->options, file->rel_path, b->over, &read, err);
    if (status == LB_OK)
        status = lb_inspect(b->cx, store, &options, read, &out->arena, &out->entry, err);
    lb_read_options_free(read);
    lb_store_close(store);
    return status;
}

/* Failures of the file, not of the machine or the caller, may be recorded. */
static bool build_may_record(lb_status status)
{
    return status != LB_CANCELLED && status != LB_NOMEM && status != LB_INTERNAL;
}

static lb_status build_one(void *user, size_t index, lb_error *err)
{
    build *b = user;
    const lb_data_file *file = &b->found[index];
    build_file *out = &b->files[index];
    lb_error failure = LB_ERROR_INIT;

    lb_arena_init(&out->arena, &b->cx->budget);
    LB_TRY(lb_check_cancel(b->cx, err));
    lb_status status = build_inspect(b, file, out, &failure);
    if (status != LB_OK && !out->gone) {
        if (!b->asked->record_errors || !build_may_record(status)) {
            lb_fail_path(&failure, file->path);
            if (err != NULL)
                *err = failure;
            return status;
        }
        if (out->entry.format.size == 0)
            out->entry = (lb_entry){ .size_bytes = file->size, .mtime_ns = file->mtime_ns, .ctime_ns = file->ctime_ns,
                                     .inspected_ns = lb_now_ns(), .verified_ns = INT64_MIN, .format = LB_STR("unknown"),
                                     .locator = LB_STR("none") };
        LB_TRY(lb_inspect_record(&failure, &out->arena, &out->entry, err));
    }
    out->entry.rel_path = file->rel_path;
    out->entry.rel_path_raw = file->rel_path_raw;
    atomic_fetch_add(&b->files_done, 1);
    return LB_OK;
}

static lb_status build_discover(build *b, lb_error *err)
{
    LB_TRY(lb_discover(b->cx, b->dir, &b->options->discover, &b->arena, &b->found, &b->count, err));
    b->files = calloc(b->count + 1, sizeof *b->files);
    if (b->files == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < b->count; i++)
        b->total_bytes += b->found[i].size;
    LB_TRY(lb_run_jobs(b->cx, b->count, build_one, b, err));
    lb_progress(b->cx, b->total_bytes, b->total_bytes, b->count, b->count);
    return LB_OK;
}

/* ---------------------------------------------------------------- writing */

static lb_status build_union(build *b, lb_entry **entries, size_t n, lb_str *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    lb_unite *u = NULL;
    lb_buf bytes;

    lb_buf_init(&bytes, NULL);
    lb_status status = lb_unite_new(LB_SCHEMA_UNION, &u, err);
    for (size_t i = 0; status == LB_OK && i < n; i++)
        status = lb_unite_add(u, entries[i], &entries[i]->columns, err);
    if (status == LB_OK)
        status = lb_unite_schema(u, &schema, err);
    if (status == LB_OK) {
        status = lb_ipc_encode_schema(&schema, &bytes, err);
        schema.release(&schema);
    }
    if (status == LB_OK) {
        *out = (lb_str){ lb_arena_dup(&b->arena, bytes.data, bytes.size), bytes.size };
        status = out->at == NULL ? lb_arena_fail(&b->arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    lb_unite_free(u);
    return status;
}

/* `bazan.stats_columns`: the policy's word, or the names as a JSON array. */
static lb_status build_stats_text(const build *b, lb_buf *out, lb_error *err)
{
    static const char *const words[] = { "all", "none", "block" };

    if (b->inspect.stats != LB_STATS_NAMED)
        return lb_buf_append_str(out, words[b->inspect.stats], err);
    json_t *array = json_array();
    for (size_t i = 0; b->inspect.stats_columns[i] != NULL; i++)
        (void)json_array_append_new(array, json_string(b->inspect.stats_columns[i]));
    char *text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    lb_status status = text == NULL ? lb_fail_nomem(err) : lb_buf_append_str(out, text, err);
    free(text);
    return status;
}

static lb_status build_write(build *b, lb_write_fn write, void *user, lb_error *err)
{
    lb_entry **entries = calloc(b->count + 1, sizeof *entries);
    lb_buf options, stats;
    size_t n = 0;

    if (entries == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < b->count; i++)
        if (!b->files[i].gone)
            entries[n++] = &b->files[i].entry;
    lb_map_header header = { .stride = b->inspect.stride, .fingerprint = b->inspect.fingerprint, .created_ns = lb_now_ns(),
                             .interop_full = b->asked->interop_full, .writer = LB_STR("lakebed") };
    char writer[64];
    header.writer = (lb_str){ writer, (size_t)snprintf(writer, sizeof writer, "lakebed %s", lb_version()) };
    lb_buf_init(&options, NULL);
    lb_buf_init(&stats, NULL);
    lb_status status = lb_lake_options_json(b->options, &options, err);
    if (status == LB_OK)
        status = build_stats_text(b, &stats, err);
    if (status == LB_OK)
        status = build_union(b, entries, n, &header.union_schema, err);
    header.options_json = (lb_str){ (const char *)options.data, options.size };
    header.stats = (lb_str){ (const char *)stats.data, stats.size };
    if (status == LB_OK)
        status = lb_map_write(&header, entries, n, 0, write, user, err);
    lb_buf_free(&options);
    lb_buf_free(&stats);
    free(entries);
    return status;
}

static void build_free(build *b)
{
    for (size_t i = 0; b->files != NULL && i < b->count; i++)
        lb_arena_free(&b->files[i].arena);
    free(b->files);
    lb_lake_options_free(b->options);
    lb_arena_free(&b->arena);
}

static const lb_map_options build_defaults = { .struct_size = sizeof build_defaults };

static lb_status build_start(build *b, lb_context *cx, const char *dir, const lb_map_options *options, bool saved, lb_error *err)
{
    lb_error_clear(err);
    *b = (build){ .cx = cx, .dir = dir, .asked = options != NULL ? options : &build_defaults };
    lb_arena_init(&b->arena, &cx->budget);
    LB_TRY(build_setup(b, b->asked, err));
    b->inspect.digests = b->inspect.for_map = saved;
    return LB_OK;
}

/* ---------------------------------------------------------------- the two ways */

static bool build_append(void *buf, const void *bytes, size_t size)
{
    return lb_buf_append(buf, bytes, size, NULL) == LB_OK;
}

lb_status lb_map_build_unsaved(lb_context *cx, const char *dir, const lb_map_options *options, const lb_read_options *over,
                               lb_map **out, lb_error *err)
{
    lb_buf bytes;
    build b;

    *out = NULL;
    lb_buf_init(&bytes, &cx->budget);
    lb_status status = build_start(&b, cx, dir, options, false, err);
    b.over = over;
    if (status == LB_OK)
        status = build_discover(&b, err);
    if (status == LB_OK)
        status = build_write(&b, build_append, &bytes, err);
    build_free(&b);
    if (status == LB_OK)
        return lb_map_load_bytes(&bytes, dir, out, err);
    lb_buf_free(&bytes);
    return status;
}

static lb_status build_save(build *b, const char *path, lb_error *err)
{
    lb_saver *saver = NULL;

    LB_TRY(lb_saver_open_as(b->cx, path, NULL, &saver, err));
    lb_status status = build_write(b, lb_saver_write, saver, err);
    if (status == LB_OK)
        return lb_saver_commit(saver, err);
    lb_saver_discard(saver);
    return status;
}

static lb_status build_locked(build *b, const char *path, const char *lock_path, lb_error *err)
{
    lb_lock *lock = NULL;

    /* The walk comes first: a folder that is not there, or is none, gets no lock file either. */
    lb_status status = build_discover(b, err);
    if (status == LB_OK)
        status = lb_lock_take(lock_path, BUILD_LOCK_WAIT_MS, &lock, err);
    if (status == LB_OK)
        status = build_save(b, path, err);
    lb_lock_release(lock);
    return status;
}

lb_status lb_map_create(lb_context *cx, const char *dir, const lb_map_options *options, lb_map **out, lb_error *err)
{
    build b;

    if (out != NULL)
        *out = NULL;
    lb_status status = build_start(&b, cx, dir, options, true, err);
    const char *path = NULL, *lock = NULL;
    if (status == LB_OK)
        status = lb_check_sandbox(dir, err);
    if (status == LB_OK) {
        path = lb_path_join(&b.arena, dir, LB_MAP_NAME);
        lock = lb_path_join(&b.arena, dir, LB_MAP_LOCK_NAME);
        status = path == NULL || lock == NULL ? lb_arena_fail(&b.arena, err) : build_locked(&b, path, lock, err);
    }
    if (status == LB_OK && out != NULL)
        status = lb_map_load_file(path, out, err);
    build_free(&b);
    if (status != LB_OK)
        lb_fail_path(err, dir);
    return status;
}
