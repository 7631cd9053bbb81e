#include "lake/build.h"

#include "base/path.h"
#include "base/pool.h"
#include "io/save.h"
#include "lake/former.h"
#include "lake/inspect.h"
#include "lake/lake_write.h"
#include "lake/sandbox.h"
#include "lake/spool.h"
#include "lance/dataset_store.h"

typedef struct build {
    lb_context *cx;
    const char *dir;
    const lb_map_options *asked;
    const lb_read_options *over; /* wins over the options, for one read of the lake; NULL */
    lb_lake_options *options;
    lb_lake_stats stats;
    lb_inspect_options inspect;
    lb_arena arena;
    lb_file_list found;
    lb_spool spool; /* a slot for each file found; empty: it vanished between listing and inspection */
    uint64_t total_bytes;
    _Atomic uint64_t bytes_done;
    _Atomic uint64_t files_done;
} build;

/* ---------------------------------------------------------------- options */

static lb_status build_setup(build *b, const lb_map_options *o, lb_error *err)
{
    if (o->struct_size != sizeof *o)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_map_options.struct_size is %zu, not %zu", o->struct_size,
                       sizeof *o);
    if (o->fingerprint != LB_FINGERPRINT_METADATA && o->fingerprint != LB_FINGERPRINT_BLAKE3)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the fingerprint is metadata or blake3");
    LB_TRY(lb_lake_options_new(o, &b->options, err));
    LB_TRY(lb_lake_stats_of_text(o->stats, &b->arena, &b->stats, err));
    b->inspect.stats = b->stats.policy;
    b->inspect.stats_columns = b->stats.columns;
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

    lb_progress(b->cx, LB_MIN(done, b->total_bytes), b->total_bytes, atomic_load(&b->files_done), b->found.count);
}

/* `*gone`: the file vanished. */
static lb_status build_inspect(build *b, const lb_data_file *file, const char *path, lb_arena *arena, lb_entry *out,
                               bool *gone, lb_error *err)
{
    lb_inspect_options options = b->inspect;
    lb_read_options *read = NULL;
    lb_store *store = NULL;

    options.bytes_done = &b->bytes_done;
    options.progress = b->cx->progress == NULL ? NULL : build_progress;
    options.progress_user = b;
    lb_status status = lb_data_file_check_name(file, err);
    if (status == LB_OK) {
        status = lb_data_store_open(path, &store, err);
        *gone = status == LB_NOTFOUND;
    }
    if (status == LB_OK)
        status = lb_lake_options_for(b->options, file->rel_path, b->over, &read, err);
    if (status == LB_OK)
        status = lb_inspect(b->cx, store, &options, read, arena, out, err);
    lb_read_options_free(read);
    lb_store_close(store);
    return status;
}

/* Failures of the file, not of the machine or the caller, may be recorded. */
static bool build_may_record(lb_status status)
{
    return status != LB_CANCELLED && status != LB_NOMEM && status != LB_INTERNAL;
}

static lb_status build_entry(build *b, size_t index, lb_arena *arena, lb_error *err)
{
    const lb_data_file *file = &b->found.files[index];
    const char *path = lb_data_file_path(b->dir, file, arena);
    lb_error failure = LB_ERROR_INIT;
    lb_entry entry = { .size_bytes = 0 };
    bool gone = false;

    if (path == NULL)
        return lb_arena_fail(arena, err);
    lb_status status = build_inspect(b, file, path, arena, &entry, &gone, &failure);
    if (gone)
        return LB_OK;
    if (status != LB_OK) {
        if (!b->asked->record_errors || !build_may_record(status)) {
            lb_fail_path(&failure, path);
            if (err != NULL)
                *err = failure;
            return status;
        }
        LB_TRY(lb_inspect_failed(&failure, file, arena, &entry, err));
    }
    return lb_spool_put(&b->spool, index, &entry, err);
}

static lb_status build_one(void *user, size_t index, lb_error *err)
{
    build *b = user;
    lb_arena arena;

    LB_TRY(lb_check_cancel(b->cx, err));
    lb_arena_init(&arena, &b->cx->budget);
    lb_status status = build_entry(b, index, &arena, err);
    lb_arena_free(&arena);
    atomic_fetch_add(&b->files_done, 1);
    return status;
}

/* A rule that no file matches is a mistake more often than not. */
static void build_tell_unused_rules(const build *b)
{
    for (size_t k = 0; k < b->options->n_rules; k++) {
        bool used = false;
        for (size_t i = 0; !used && i < b->found.count; i++)
            used = lb_glob_match(lb_str_of(b->options->rules[k].glob), b->found.files[i].rel_path);
        if (!used)
            lb_note(b->cx, "no file matches the glob of --set '%s'", b->options->set[k]);
    }
}

/* Close the gaps that files left which are gone. */
static void build_settle(build *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->found.count; i++) {
        if (!lb_spool_has(&b->spool, i))
            continue;
        b->found.files[n] = b->found.files[i];
        lb_spool_move(&b->spool, i, n++);
    }
    b->found.count = n;
}

/* A folder that cannot be read ends a build: a map without its files would be one of another lake, unless that is wanted. */
static lb_status build_find(build *b, lb_error *err)
{
    lb_status status = lb_discover(b->cx, b->dir, &b->options->discover, &b->found, err);
    size_t n = strlen(b->dir);

    while (n > 0 && b->dir[n - 1] == '/')
        n--;
    if (status == LB_IO && b->inspect.for_map && err != NULL && strncmp(err->path, b->dir, n) == 0 &&
        err->path[n] == '/' && err->hint[0] == '\0')
        lb_fail_hint(err, "to map the rest: --exclude '%s'", err->path + n + 1);
    return status;
}

static lb_status build_discover(build *b, lb_error *err)
{
    LB_TRY(build_find(b, err));
    LB_TRY(lb_spool_init(&b->spool, &b->cx->budget, b->found.count, err));
    if (b->found.links != 0)
        lb_note(b->cx, "%s: %zu symbolic link%s not followed; what %s to is left out", b->dir, b->found.links,
                b->found.links == 1 ? " is" : "s are", b->found.links == 1 ? "it points" : "they point");
    for (size_t i = 0; i < b->found.count; i++)
        b->total_bytes += b->found.files[i].size;
    if (b->inspect.for_map)
        build_tell_unused_rules(b);
    LB_TRY(lb_run_jobs(b->cx, b->found.count, build_one, b, err));
    lb_progress(b->cx, b->total_bytes, b->total_bytes, b->found.count, b->found.count);
    build_settle(b);
    return LB_OK;
}

/* ---------------------------------------------------------------- writing */

static lb_status build_get(void *user, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const build *b = user;
    const lb_data_file *file = &b->found.files[index];

    LB_TRY(lb_spool_get(&b->spool, (size_t)index, arena, out, err));
    out->rel_path = file->rel_path;
    out->rel_path_raw = file->rel_path_raw;
    return LB_OK;
}

static lb_entry_source build_entries(build *b)
{
    return (lb_entry_source){ .count = b->found.count, .get = build_get, .user = b };
}

static lb_lake_write build_how(const build *b)
{
    return (lb_lake_write){ .options = b->options,
                            .stats = b->stats,
                            .stride = b->inspect.stride,
                            .fingerprint = b->inspect.fingerprint,
                            .interop_full = b->asked->interop_full };
}

static void build_free(build *b)
{
    lb_spool_free(&b->spool);
    lb_file_list_free(&b->found);
    lb_lake_options_free(b->options);
    lb_arena_free(&b->arena);
}

static const lb_map_options build_defaults = { .struct_size = sizeof build_defaults };

static lb_status build_start(build *b, lb_context *cx, const char *dir, const lb_map_options *options, bool saved,
                             lb_error *err)
{
    lb_error_clear(err);
    *b = (build){ .cx = cx, .dir = dir, .asked = options != NULL ? options : &build_defaults };
    lb_arena_init(&b->arena, &cx->budget);
    lb_file_list_init(&b->found, &cx->budget);
    LB_TRY(build_setup(b, b->asked, err));
    b->inspect.digests = b->inspect.for_map = saved;
    return LB_OK;
}

/* ---------------------------------------------------------------- the two ways */

typedef struct build_bytes {
    lb_buf bytes;
    lb_error why; /* what kept them from growing: the writer only learns that it was refused */
} build_bytes;

static bool build_append(void *user, const void *bytes, size_t size)
{
    build_bytes *to = user;

    return lb_buf_append(&to->bytes, bytes, size, &to->why) == LB_OK;
}

static lb_status build_write(build *b, build_bytes *to, lb_error *err)
{
    const lb_lake_write how = build_how(b);
    const lb_entry_source entries = build_entries(b);
    lb_status status = lb_lake_write_map(&how, &entries, build_append, to, err);

    if (to->why.code == LB_OK)
        return status;
    if (err != NULL)
        *err = to->why;
    return to->why.code;
}

lb_status lb_map_build_unsaved(lb_context *cx, const char *dir, const lb_map_options *options,
                               const lb_read_options *over, bool rows_only, lb_map **out, lb_error *err)
{
    build_bytes made = { .why = LB_ERROR_INIT };
    build b;

    *out = NULL;
    lb_buf_init(&made.bytes, &cx->budget);
    lb_status status = build_start(&b, cx, dir, options, false, err);
    b.over = over;
    b.inspect.rows_only = rows_only;
    if (rows_only)
        b.inspect.stats = LB_STATS_OFF;
    if (status == LB_OK)
        status = build_discover(&b, err);
    if (status == LB_OK)
        status = build_write(&b, &made, err);
    build_free(&b);
    if (status == LB_OK)
        return lb_map_load_bytes(&made.bytes, dir, out, err);
    lb_buf_free(&made.bytes);
    return status;
}

static lb_status build_save(build *b, lb_error *err)
{
    const lb_lake_write how = build_how(b);
    lb_lock *lock = NULL;

    /* The walk comes first: a folder that is not there, or is none, gets no lock file either. */
    LB_TRY(build_discover(b, err));
    const lb_entry_source entries = build_entries(b);
    bool keep = false;
    lb_status status = lb_lake_lock(b->dir, &lock, err);
    if (status == LB_OK)
        status = lb_lake_former(b->cx, b->dir, &how, &keep, err);
    if (status == LB_OK)
        status = lb_lake_save_map(b->cx, b->dir, keep, &how, &entries, err);
    lb_lock_release(lock);
    return status;
}

lb_status lb_map_create(lb_context *cx, const char *dir, const lb_map_options *options, lb_map **out, lb_error *err)
{
    build b;

    if (out != NULL)
        *out = NULL;
    lb_status status = build_start(&b, cx, dir, options, true, err);
    if (status == LB_OK)
        status = lb_check_sandbox(dir, err);
    if (status == LB_OK)
        status = build_save(&b, err);
    if (status == LB_OK && out != NULL) {
        const char *path = lb_path_join(&b.arena, dir, LB_MAP_NAME);
        status = path == NULL ? lb_arena_fail(&b.arena, err) : lb_map_load_file(path, out, err);
    }
    build_free(&b);
    if (status != LB_OK)
        lb_fail_path(err, dir);
    return status;
}
