/* Opening tables, and what is known of them without reading rows. */
#include "lake/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/pool.h"
#include "column/ipc.h"
#include "column/print.h"
#include "lake/build.h"
#include "lake/handlers.h"
#include "lake/inspect.h"
#include "lake/sandbox.h"
#include "lance/dataset_store.h"

/* ---------------------------------------------------------------- a single file */

static lb_status table_open_single(lb_table *t, lb_error *err)
{
    lb_data_request *q = &t->request;
    const char *reason = t->no_map_reason;

    *q = (lb_data_request){ .path = t->version == NULL ? t->path : t->root,
                            .version = t->version,
                            .format = t->format,
                            .over = t->over,
                            .single = true,
                            .memory_map = t->memory_map,
                            .whole = t->rows_only,
                            .rows_only = t->rows_only };
    if (reason == NULL && t->version != NULL)
        reason = "not listed"; /* a map knows the newest version only */
    if (reason == NULL)
        LB_TRY(lb_find_map(t->cx, t->path, &t->arena, &t->map, &q->rel_path, &q->index, &reason, err));
    q->no_map_reason = reason;
    q->map = t->map;
    q->listed = t->map != NULL;
    if (t->map != NULL) {
        LB_TRY(lb_lake_options_of_json(lb_map_header_of(t->map)->options_json, &t->remembered, err));
        q->remembered = t->remembered;
    }
    LB_TRY(lb_data_open(t->cx, q, &t->file, err));
    t->n_files = 1;
    t->rows = t->file->entry.total_rows;
    return lb_schema_copy(&t->file->schema, &t->schema, err);
}

/* ---------------------------------------------------------------- a lake */

static int table_order_overrides(const void *a, const void *b)
{
    const lb_override *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

static const lb_override *table_override(const lb_table *t, uint64_t index)
{
    const lb_override key = { .index = index };

    if (t->n_overrides == 0)
        return NULL;
    return bsearch(&key, t->overrides, t->n_overrides, sizeof *t->overrides, table_order_overrides);
}

/* An entry by its place in the table, which may be a part of the map. */
static lb_status table_view(const lb_table *t, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    return lb_map_view(t->map, t->base + index, arena, out, err);
}

static lb_status table_view_rows(const lb_table *t, uint64_t index, uint64_t *first, uint64_t *rows, lb_error *err)
{
    LB_TRY(lb_map_view_rows(t->map, t->base + index, first, rows, err));
    *first -= LB_MIN(*first, t->base_row);
    return LB_OK;
}

/* What is to be worked into the map's entries. Those of a map built for this table alone have it in them. */
static const lb_read_options *table_over(const lb_table *t)
{
    return t->no_map_reason == NULL ? t->over : NULL;
}

/* Does every entry keep its own types, and so its statistics? */
static bool table_keeps_types(const lb_table *t)
{
    return table_over(t) == NULL || t->over->value_set == 0;
}

/* Name on disk of an entry's file. */
static char *table_file_path(const lb_table *t, const lb_entry *entry, lb_arena *arena)
{
    lb_str name = entry->rel_path_raw.size != 0 ? entry->rel_path_raw : entry->rel_path;
    char *copy = lb_arena_copy(arena, name);

    return copy == NULL ? NULL : lb_path_join(arena, t->root, copy);
}

lb_status lb_table_entry(lb_table *t, uint64_t index, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const lb_override *override = table_override(t, index);
    lb_entry entry;
    bool done;

    if (override != NULL) {
        *out = override->entry;
        return LB_OK;
    }
    LB_TRY(table_view(t, index, arena, &entry, err));
    return lb_entry_adapt(&entry, table_over(t), arena, out, &done, err);
}

lb_str lb_table_shown(const lb_table *t, lb_str rel_path)
{
    size_t n = LB_MIN(t->prefix, rel_path.size);

    return (lb_str){ rel_path.at + n, rel_path.size - n };
}

typedef struct table_check {
    lb_table *t;
    uint8_t *changed; /* a byte a file: 0, TABLE_CHANGED or TABLE_UNMAPPED */
    lb_override *overrides;
} table_check;

enum { TABLE_CHANGED = 1, TABLE_UNMAPPED }; /* the latter: its handler has no positions in a map */

#define TABLE_CHECK_RUN 256 /* files a job */

/* Is a path below the lake's folder reached without a symbolic link, as discovery would? 0 with `*now` filled, ELOOP
 * where a link or something else is in the way, or errno. */
static int table_reach(const lb_table *t, char *path, struct stat *now)
{
    int failed = 0;

    for (char *slash = strchr(path + strlen(t->root) + 1, '/'); failed == 0 && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        failed = lstat(path, now) != 0 ? errno : S_ISDIR(now->st_mode) ? 0 : ELOOP;
        *slash = '/';
    }
    if (failed != 0)
        return failed;
    if (lstat(path, now) != 0)
        return errno;
    return S_ISREG(now->st_mode) || (S_ISDIR(now->st_mode) && lb_is_dataset(path)) ? 0 : ELOOP;
}

/* Size and times that say whether an entry still holds: of a dataset those of its newest manifest. */
static lb_status table_stat(const char *path, const struct stat *now, lb_file_stat *out, lb_error *err)
{
    if (S_ISDIR(now->st_mode))
        return lb_dataset_stat(path, out, err);
    *out = (lb_file_stat){ .size = (uint64_t)now->st_size,
                           .mtime_ns = (int64_t)now->st_mtim.tv_sec * 1000000000 + now->st_mtim.tv_nsec };
    return LB_OK;
}

/* Is a file read by a handler registered at run time, or was it when it was mapped? A map has no positions for it. */
static bool table_is_dynamic(const lb_table *t, const lb_entry *entry)
{
    const lb_format *format = lb_handler_of_path(t->cx, entry->rel_path);

    return lb_str_is(entry->format, "dynamic") || (format != NULL && lb_handler_is_dynamic(format));
}

/* Is the file of an entry as it was mapped? */
static lb_status table_check_file(table_check *c, uint64_t index, lb_arena *arena, lb_error *err)
{
    struct stat now;
    lb_entry entry;

    LB_TRY(table_view(c->t, index, arena, &entry, err));
    char *path = table_file_path(c->t, &entry, arena);
    if (path == NULL)
        return lb_arena_fail(arena, err);
    c->changed[index] = TABLE_CHANGED;
    if (table_is_dynamic(c->t, &entry)) {
        c->changed[index] = TABLE_UNMAPPED;
        return LB_OK;
    }
    if (table_reach(c->t, path, &now) != 0)
        return LB_OK;
    lb_file_stat stat_now;
    if (table_stat(path, &now, &stat_now, NULL) != LB_OK)
        return LB_OK;
    c->changed[index] = lb_entry_matches(&entry, &stat_now) ? 0 : TABLE_CHANGED;
    return LB_OK;
}

static lb_status table_check_run(void *user, size_t run, lb_error *err)
{
    table_check *c = user;
    uint64_t end = LB_MIN(c->t->n_files, ((uint64_t)run + 1) * TABLE_CHECK_RUN);
    lb_status status = LB_OK;
    lb_arena arena;

    lb_arena_init(&arena, &c->t->cx->budget);
    for (uint64_t i = (uint64_t)run * TABLE_CHECK_RUN; status == LB_OK && i < end; i++)
        status = table_check_file(c, i, &arena, err);
    lb_arena_free(&arena);
    return status;
}

/* Survey a file that changed. One that is gone, or cannot be read now, has no rows; the caller is told. */
static lb_status table_survey_changed(void *user, size_t k, lb_error *err)
{
    table_check *c = user;
    lb_override *o = &c->overrides[k];
    lb_read_options *read = NULL;
    lb_store *store = NULL;
    lb_error why = LB_ERROR_INIT;
    struct stat now;
    lb_entry was;

    lb_arena_init(&o->arena, &c->t->cx->budget);
    LB_TRY(table_view(c->t, o->index, &o->arena, &was, err));
    char *path = table_file_path(c->t, &was, &o->arena);
    if (path == NULL)
        return lb_arena_fail(&o->arena, err);
    const lb_inspect_options options = { .stride = lb_map_header_of(c->t->map)->stride,
                                         .stats = LB_STATS_ALL,
                                         .detect = c->t->remembered->detect };
    lb_status status = lb_data_store_open(path, &store, &why);
    int failed = status == LB_OK ? table_reach(c->t, path, &now) : 0;
    if (failed == ELOOP)
        status =
            lb_fail(&why, LB_UNSUPPORTED, LB_NOWHERE, "a symbolic link is in the way, which a lake does not follow");
    else if (failed != 0)
        status = lb_fail_errno(&why, failed, path, "stat");
    if (status == LB_OK && lb_str_is(was.format, "dynamic") && lb_handler_of_path(c->t->cx, was.rel_path) == NULL) {
        status = lb_fail(&why, LB_UNSUPPORTED, LB_NOWHERE, "the handler it was mapped with is not registered");
        lb_fail_hint(&why, "--delimited EXT=CHAR registers one");
    }
    if (status == LB_OK)
        status = lb_lake_options_for(c->t->remembered, was.rel_path, c->t->over, &read, &why);
    if (status == LB_OK)
        status = lb_inspect(c->t->cx, store, &options, read, &o->arena, &o->entry, &why);
    lb_read_options_free(read);
    lb_store_close(store);
    if (status == LB_CANCELLED || status == LB_NOMEM || status == LB_INTERNAL) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (status != LB_OK) {
        o->gone = true;
        o->entry = (lb_entry){ .format = was.format, .locator = was.locator };
        LB_TRY(lb_inspect_record(&why, &o->arena, &o->entry, err));
    }
    o->entry.rel_path = was.rel_path;
    o->entry.rel_path_raw = was.rel_path_raw;
    return LB_OK;
}

static lb_status table_number_rows(lb_table *t, lb_error *err)
{
    t->first_rows = calloc((size_t)t->n_files + 1, sizeof *t->first_rows);
    if (t->first_rows == NULL)
        return lb_fail_nomem(err);
    for (uint64_t i = 0; i < t->n_files; i++) {
        const lb_override *o = table_override(t, i);
        uint64_t first, rows;
        LB_TRY(table_view_rows(t, i, &first, &rows, err));
        t->first_rows[i + 1] = t->first_rows[i] + (o != NULL ? o->entry.total_rows : rows);
    }
    t->rows = t->first_rows[t->n_files];
    return LB_OK;
}

/* Compare every entry with the disk, and survey the files that differ: rows are never counted by an old map. */
static lb_status table_check_all(lb_table *t, lb_error *err)
{
    table_check c = { .t = t, .changed = calloc((size_t)t->n_files + 1, 1) };
    size_t n = 0, changed = 0;

    if (c.changed == NULL)
        return lb_fail_nomem(err);
    lb_status status =
        lb_run_jobs(t->cx, (size_t)((t->n_files + TABLE_CHECK_RUN - 1) / TABLE_CHECK_RUN), table_check_run, &c, err);
    for (uint64_t i = 0; i < t->n_files; i++) {
        n += c.changed[i] != 0;
        changed += c.changed[i] == TABLE_CHANGED;
    }
    if (status == LB_OK && n != 0) {
        c.overrides = calloc(n, sizeof *c.overrides);
        status = c.overrides == NULL ? lb_fail_nomem(err) : LB_OK;
    }
    if (status == LB_OK && n != 0) {
        size_t k = 0;
        for (uint64_t i = 0; i < t->n_files; i++)
            if (c.changed[i] != 0)
                c.overrides[k++].index = i;
        if (changed != 0)
            lb_note(
                t->cx,
                "%s: %zu file%s changed since the map was made and %s read without it; `lakebed doctor %s --heal` mends the map",
                t->path, changed, changed == 1 ? "" : "s", changed == 1 ? "is" : "are", t->root);
        t->overrides = c.overrides;
        t->n_overrides = n;
        status = lb_run_jobs(t->cx, n, table_survey_changed, &c, err);
        if (status == LB_OK)
            status = table_number_rows(t, err);
    }
    free(c.changed);
    return status;
}

/* Can every entry of the map serve these options without reading its file? */
static bool table_map_serves(const lb_table *t)
{
    const lb_read_options *o = t->over;

    return o->set == 0 && (o->value_set == 0 || (o->value_set == LB_VAL_TYPES && o->types == LB_TYPES_TEXT));
}

/* Why the lake's map, loaded with `status`, is not used; NULL: it is. */
static const char *table_why_not(const lb_table *t, lb_status status)
{
    lb_map_info info = { .struct_size = sizeof info };

    if (status != LB_OK)
        return status == LB_NOTFOUND ? "no map" : "invalid map";
    if (lb_map_get_info(t->map, &info, NULL) != LB_OK || !info.extended)
        return "reference layout";
    return table_map_serves(t) ? NULL : "other options";
}

static lb_status table_build(lb_table *t, lb_error *err)
{
    lb_lake_options *remembered = t->remembered;
    lb_map_options options = { .struct_size = sizeof options, .record_errors = true };

    if (remembered != NULL) {
        options.read = remembered->read;
        options.hidden = remembered->discover.hidden;
        options.by_products = remembered->discover.by_products;
        options.no_compressed = remembered->discover.no_compressed;
        options.detect = remembered->detect;
        options.include = remembered->discover.include;
        options.exclude = remembered->discover.exclude;
        options.set = remembered->set;
    }
    lb_map_close(t->map);
    t->map = NULL;
    lb_status status = lb_map_build_unsaved(t->cx, t->path, &options, t->over, t->rows_only, &t->map, err);
    if (status != LB_OK)
        return status;
    t->remembered = NULL;
    status = lb_lake_options_of_json(lb_map_header_of(t->map)->options_json, &t->remembered, err);
    lb_lake_options_free(remembered);
    return status;
}

/* Take a loaded map, or say why it is not used. */
static lb_status table_take_map(lb_table *t, const char *path, lb_status status, lb_error *why)
{
    if (status == LB_OK)
        status = lb_map_check_batches(t->map, why);
    if (status == LB_OK)
        status = lb_lake_options_of_json(lb_map_header_of(t->map)->options_json, &t->remembered, why);
    if (lb_is_callers(status) || lb_map_is_lost(path, status))
        return status;
    t->no_map_reason = table_why_not(t, status);
    if (status != LB_OK && status != LB_NOTFOUND)
        lb_note(t->cx, "%s: %s; read without it", path, why->message);
    return status;
}

/* The first entry whose path is not below `path`. */
static lb_status table_lower_bound(const lb_map *map, lb_str path, uint64_t *out, lb_error *err)
{
    uint64_t low = 0, high = lb_map_count(map);

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        lb_str at;
        LB_TRY(lb_map_view_path(map, mid, &at, err));
        if (lb_str_compare(at, path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *out = low;
    return LB_OK;
}

static lb_status table_take_whole(lb_table *t, lb_error *err)
{
    lb_map_info info = { .struct_size = sizeof info };

    LB_TRY(lb_map_get_info(t->map, &info, err));
    t->n_files = info.files;
    t->rows = info.rows;
    return LB_OK;
}

/* The entries below a folder: those between `folder/` and `folder0`, `0` being the byte after `/`. */
static lb_status table_take_part(lb_table *t, const char *below, lb_error *err)
{
    size_t n = strlen(below) + 1;
    char *text = lb_arena_alloc(&t->arena, n + 1, 1);
    uint64_t end, rows;

    if (text == NULL)
        return lb_arena_fail(&t->arena, err);
    memcpy(text, below, n - 1);
    text[n - 1] = '/';
    LB_TRY(table_lower_bound(t->map, (lb_str){ text, n }, &t->base, err));
    text[n - 1] = '/' + 1;
    LB_TRY(table_lower_bound(t->map, (lb_str){ text, n }, &end, err));
    t->n_files = end - t->base;
    t->prefix = n;
    if (t->n_files == 0)
        return LB_OK;
    LB_TRY(lb_map_view_rows(t->map, t->base, &t->base_row, &rows, err));
    LB_TRY(lb_map_view_rows(t->map, end - 1, &t->rows, &rows, err));
    t->rows += rows - t->base_row;
    return LB_OK;
}

static void table_drop_map(lb_table *t)
{
    lb_map_close(t->map);
    lb_lake_options_free(t->remembered);
    t->map = NULL;
    t->remembered = NULL;
    t->base = t->base_row = t->prefix = t->n_files = 0;
    t->root = t->path;
    t->no_map_reason = "no map";
}

/* A folder without a map may be part of a lake that has one: the nearest one upwards that lists files below it. */
static lb_status table_look_up(lb_table *t, lb_error *err)
{
    const char *normal = lb_path_normal(&t->arena, t->path);
    char *dir = normal == NULL ? NULL : lb_arena_copy(&t->arena, lb_str_of(normal)), *slash;

    if (dir == NULL)
        return lb_arena_fail(&t->arena, err);
    while ((slash = strrchr(dir, '/')) != NULL && slash != dir) {
        lb_error why = LB_ERROR_INIT;
        *slash = '\0';
        const char *path = lb_path_join(&t->arena, dir, LB_MAP_NAME);
        if (path == NULL)
            return lb_arena_fail(&t->arena, err);
        if (access(path, F_OK) != 0 || lb_check_sandbox(path, NULL) != LB_OK)
            continue;
        if (table_take_map(t, path, lb_map_load_file(path, &t->map, &why), &why) == LB_OK && t->no_map_reason == NULL) {
            t->root = lb_arena_copy(&t->arena, lb_str_of(dir));
            if (t->root == NULL)
                return lb_arena_fail(&t->arena, err);
            LB_TRY(table_take_part(t, normal + strlen(dir) + 1, err));
            if (t->n_files != 0)
                return LB_OK;
        }
        table_drop_map(t);
    }
    return LB_OK;
}

static lb_status table_load(lb_table *t, lb_error *err)
{
    const char *path = lb_path_join(&t->arena, t->path, LB_MAP_NAME);
    lb_error why = LB_ERROR_INIT;

    t->root = t->path;
    if (path == NULL)
        return lb_arena_fail(&t->arena, err);
    if (t->no_map_reason == NULL) {
        LB_TRY(lb_check_sandbox(path, err));
        lb_status status = table_take_map(t, path, lb_map_load_file(path, &t->map, &why), &why);
        /* Read without it, the rows could be others: it also remembers how the files are to be read. */
        if (lb_is_callers(status) || lb_map_is_lost(path, status)) {
            lb_fail(err, status, LB_NOWHERE, "%s", why.message);
            lb_fail_path(err, path);
            return status;
        }
        if (status == LB_NOTFOUND)
            LB_TRY(table_look_up(t, err));
    }
    if (t->no_map_reason != NULL)
        LB_TRY(table_build(t, err));
    return t->prefix != 0 ? LB_OK : table_take_whole(t, err);
}

static void table_note_failures(lb_table *t)
{
    lb_arena arena;
    lb_entry entry;

    lb_arena_init(&arena, NULL);
    for (uint64_t i = 0; i < t->n_files; i++)
        if (lb_table_entry(t, i, &arena, &entry, NULL) == LB_OK && entry.error.size != 0) {
            lb_str path = lb_table_shown(t, entry.rel_path);
            lb_note(t->cx, "%s/%.*s: %s: %.*s", t->path, (int)LB_MIN(path.size, 200), path.at,
                    lb_entry_has_rows(&entry) ? "read to a torn end" : "left out", (int)LB_MIN(entry.error.size, 400),
                    entry.error.at);
            t->failed++;
        }
    lb_arena_free(&arena);
}

/* Unite the columns of all files. */
static lb_status table_unite(lb_table *t, lb_unite **out, lb_error *err)
{
    lb_status status = lb_unite_new(t->mode, out, err);
    lb_arena arena;

    for (uint64_t i = 0; status == LB_OK && i < t->n_files; i++) {
        const lb_override *o = table_override(t, i);
        lb_colstats stats = { 0 };
        lb_entry entry;
        lb_arena_init(&arena, &t->cx->budget);
        status = lb_table_entry(t, i, &arena, &entry, err);
        if (status == LB_OK && o == NULL && table_keeps_types(t))
            status = lb_map_load_columns(t->map, t->base + i, &arena, &stats, err);
        if (status == LB_OK)
            status = lb_unite_add(*out, &entry, o != NULL ? &o->entry.columns : &stats, err);
        lb_arena_free(&arena);
    }
    return status;
}

static lb_status table_need_stats(lb_table *t, lb_error *err);

static lb_status table_lake_schema(lb_table *t, lb_error *err)
{
    lb_str stored = lb_map_header_of(t->map)->union_schema;

    if (stored.size != 0 && t->prefix == 0 && t->mode == LB_SCHEMA_UNION && t->n_overrides == 0 && table_keeps_types(t))
        return lb_ipc_decode_schema(stored.at, stored.size, &t->schema, err);
    LB_TRY(table_need_stats(t, err));
    return lb_unite_schema(t->unite, &t->schema, err);
}

static lb_status table_open_lake(lb_table *t, lb_error *err)
{
    lb_map_info info = { .struct_size = sizeof info };

    if (t->format != NULL) {
        lb_fail(err, LB_USAGE, LB_NOWHERE, "--format names the format of one file, and this is a directory");
        lb_fail_hint(err, "files of a lake are told apart by their extensions; --delimited EXT=CHAR adds one");
        return LB_USAGE;
    }
    LB_TRY(table_load(t, err));
    LB_TRY(lb_map_get_info(t->map, &info, err));
    if (t->no_map_reason == NULL)
        LB_TRY(table_check_all(t, err));
    if (info.failed != 0 || t->n_overrides != 0)
        table_note_failures(t);
    return table_lake_schema(t, err);
}

/* ---------------------------------------------------------------- opening and closing */

/* A column of nothing but nulls is shown as text (types.md section 1); not one that was declared to have that type. */
static lb_status table_show_nulls(lb_table *t, lb_error *err)
{
    for (int64_t i = 0; i < t->schema.n_children; i++) {
        struct ArrowSchema *field = t->schema.children[i], made = { 0 };
        lb_str conflict, original, declared;
        if (strcmp(field->format, "n") != 0 || lb_schema_get_meta(field, LB_META_CONFLICT, &conflict) ||
            lb_schema_get_meta(field, LB_META_DECLARED, &declared))
            continue;
        LB_TRY(lb_type_of_words("string", &made, err));
        lb_status status = lb_schema_set_name(&made, lb_str_of(field->name), err);
        if (status == LB_OK && lb_schema_get_meta(field, LB_META_ORIGINAL_NAME, &original))
            status = lb_schema_set_meta(&made, LB_META_ORIGINAL_NAME, original, err);
        if (status != LB_OK) {
            made.release(&made);
            return status;
        }
        field->release(field);
        *field = made;
    }
    return LB_OK;
}

static lb_status table_name_columns(lb_table *t, lb_error *err)
{
    for (int64_t i = 0; i < t->schema.n_children; i++)
        LB_TRY(lb_names_add(&t->columns, lb_str_of(t->schema.children[i]->name), (uint64_t)i, NULL, err));
    return LB_OK;
}

static lb_status table_options(lb_table *t, const char *path, const lb_open_options *o, lb_error *err)
{
    if (o != NULL && o->struct_size != sizeof *o)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_open_options.struct_size is %zu, not %zu", o->struct_size,
                       sizeof *o);
    t->path = lb_arena_copy(&t->arena, lb_str_of(path));
    if (t->path == NULL)
        return lb_arena_fail(&t->arena, err);
    if (o != NULL && o->format != NULL) {
        t->format = lb_arena_copy(&t->arena, lb_str_of(o->format));
        if (t->format == NULL)
            return lb_arena_fail(&t->arena, err);
    }
    if (o != NULL && (unsigned)o->schema > LB_SCHEMA_TEXT)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "%d is no schema mode", (int)o->schema);
    t->mode = o != NULL ? o->schema : LB_SCHEMA_UNION;
    t->no_map_reason = o != NULL && o->no_map ? "not asked" : NULL;
    t->memory_map = o != NULL && o->memory_map;
    t->rows_only = o != NULL && o->rows_only;
    return lb_read_options_merge(o != NULL ? o->read : NULL, NULL, &t->over, err);
}

/* DATASET@VERSION: t->version and, in t->root, the folder. A file of that very name goes before. */
static lb_status table_find_version(lb_table *t, const char *path, lb_error *err)
{
    const char *at = strrchr(path, '@');
    struct stat info;

    if (at == NULL || at == path || at[1] == '\0')
        return LB_OK;
    const char *root = lb_arena_copy(&t->arena, (lb_str){ path, (size_t)(at - path) });
    if (root == NULL)
        return lb_arena_fail(&t->arena, err);
    bool is = false;
    if (stat(root, &info) == 0 && S_ISDIR(info.st_mode))
        LB_TRY(lb_dataset_look(root, &is, err));
    if (!is)
        return LB_OK;
    t->root = root;
    t->version = lb_arena_copy(&t->arena, lb_str_of(at + 1));
    return t->version == NULL ? lb_arena_fail(&t->arena, err) : lb_check_sandbox(root, err);
}

static lb_status table_open(lb_table *t, const char *path, const lb_open_options *options, lb_error *err)
{
    struct stat info;

    LB_TRY(table_options(t, path, options, err));
    LB_TRY(lb_check_sandbox(path, err));
    bool there = stat(path, &info) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR)
        return lb_fail_errno(err, errno, path, "open");
    if (!there)
        LB_TRY(table_find_version(t, path, err));
    if (there && S_ISDIR(info.st_mode)) {
        bool headless, is_rest;
        LB_TRY(lb_dataset_look(path, &t->lake, err));
        t->lake = !t->lake;
        LB_TRY(lb_dataset_look_headless(path, &headless, &is_rest, err));
        if (headless)
            return lb_dataset_fail_headless(path, is_rest, err);
    }
    LB_TRY(t->lake ? table_open_lake(t, err) : table_open_single(t, err));
    LB_TRY(table_show_nulls(t, err));
    return table_name_columns(t, err);
}

lb_status lb_open(lb_context *cx, const char *path, const lb_open_options *options, lb_table **out, lb_error *err)
{
    lb_table *t = calloc(1, sizeof *t);

    lb_error_clear(err);
    *out = NULL;
    if (t == NULL)
        return lb_fail_nomem(err);
    t->cx = cx;
    lb_arena_init(&t->arena, &cx->budget);
    pthread_mutex_init(&t->lock, NULL);
    lb_status status = table_open(t, path, options, err);
    if (status == LB_OK)
        *out = t;
    else
        lb_close(t);
    if (status != LB_OK)
        lb_fail_path(err, path);
    return status;
}

void lb_close(lb_table *t)
{
    if (t == NULL)
        return;
    lb_data_close(t->file);
    lb_data_close(t->indexed);
    for (size_t i = 0; i < t->n_overrides; i++)
        lb_arena_free(&t->overrides[i].arena);
    free(t->overrides);
    free(t->first_rows);
    lb_unite_free(t->unite);
    if (t->schema.release != NULL)
        t->schema.release(&t->schema);
    lb_names_free(&t->columns);
    lb_lake_options_free(t->remembered);
    lb_map_close(t->map);
    lb_read_options_free(t->over);
    pthread_mutex_destroy(&t->lock);
    lb_arena_free(&t->arena);
    free(t);
}

bool lb_table_is_lake(const lb_table *t)
{
    return t->lake;
}

/* ---------------------------------------------------------------- rows */

int64_t lb_table_rows(const lb_table *t)
{
    return t->rows == LB_ROWS_UNKNOWN ? -1 : (int64_t)t->rows;
}

/* Survey a single file whole. Rows do not depend on types: text is not looked into for them. */
static lb_status table_read_whole(lb_table *t, lb_data **out, lb_error *err)
{
    lb_data_request q = t->request;
    lb_read_options *text = NULL;

    lb_status status = lb_read_options_merge(t->over, NULL, &text, err);
    if (status == LB_OK && t->file->format->text)
        status = lb_read_options_set(text, "all-text", NULL, err);
    q.over = text;
    q.whole = true;
    q.rows_only = true;
    if (status == LB_OK)
        status = lb_data_reopen(t->cx, &q, out, err);
    lb_read_options_free(text);
    return status;
}

lb_status lb_table_count(lb_table *t, uint64_t *rows, lb_error *err)
{
    lb_data *whole = NULL;

    lb_error_clear(err);
    *rows = t->rows;
    if (t->rows != LB_ROWS_UNKNOWN)
        return LB_OK;
    LB_TRY(table_read_whole(t, &whole, err));
    *rows = whole->entry.total_rows;
    lb_data_close(whole);
    return LB_OK;
}

/* Read it as before, by the sample's types, but by the places of all its rows. */
static lb_status table_index(lb_table *t, const lb_entry *whole, lb_data **out, lb_error *err)
{
    lb_entry copy;

    LB_TRY(lb_data_reopen(t->cx, &t->request, out, err));
    lb_data *d = *out;
    if (d->entry.size_bytes != whole->size_bytes || d->entry.mtime_ns != whole->mtime_ns) {
        lb_fail(err, LB_STALE, LB_NOWHERE, "the file changed while it was read");
        lb_fail_path(err, t->path);
        return LB_STALE;
    }
    LB_TRY(lb_entry_copy(whole, &d->arena, &copy, err));
    d->entry.blocks = copy.blocks;
    return LB_OK;
}

static lb_status table_need_index(lb_table *t, lb_error *err)
{
    lb_data *whole = NULL, *made = NULL;

    if (t->indexed != NULL)
        return LB_OK;
    LB_TRY(table_read_whole(t, &whole, err));
    lb_status status = table_index(t, &whole->entry, &made, err);
    t->indexed_rows = whole->entry.total_rows;
    if (status == LB_OK)
        t->indexed = made;
    else
        lb_data_close(made);
    lb_data_close(whole);
    return status;
}

lb_status lb_table_index(lb_table *t, lb_data **out, uint64_t *rows, lb_error *err)
{
    *out = t->file;
    *rows = t->rows;
    if (t->rows != LB_ROWS_UNKNOWN)
        return LB_OK;
    pthread_mutex_lock(&t->lock);
    lb_status status = table_need_index(t, err);
    *out = t->indexed;
    *rows = t->indexed_rows;
    pthread_mutex_unlock(&t->lock);
    return status;
}

void lb_table_span(const lb_table *t, const lb_slice *slice, uint64_t *first, uint64_t *end)
{
    *first = slice->offset;
    if (__builtin_add_overflow(slice->offset, slice->limit, end))
        *end = UINT64_MAX;
    if (t->rows != LB_ROWS_UNKNOWN) {
        *first = LB_MIN(*first, t->rows);
        *end = LB_MIN(*end, t->rows);
    }
}

lb_status lb_table_first_row(lb_table *t, uint64_t index, uint64_t *row, lb_error *err)
{
    uint64_t rows;

    if (!t->lake || index == t->n_files) {
        *row = index == 0 ? 0 : t->rows;
        return LB_OK;
    }
    if (t->first_rows == NULL)
        return table_view_rows(t, index, row, &rows, err);
    *row = t->first_rows[index];
    return LB_OK;
}

lb_status lb_table_find_row(lb_table *t, uint64_t row, uint64_t *index, lb_error *err)
{
    uint64_t low = 0, high = t->n_files;

    *index = UINT64_MAX;
    if (row >= t->rows)
        return LB_OK;
    if (!t->lake)
        return *index = 0, LB_OK;
    if (t->first_rows == NULL) {
        LB_TRY(lb_map_find_row(t->map, row + t->base_row, index, err));
        *index -= LB_MIN(*index, t->base);
        return LB_OK;
    }
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        if (t->first_rows[mid] <= row)
            low = mid;
        else
            high = mid;
    }
    *index = low;
    return LB_OK;
}

/* ---------------------------------------------------------------- files */

const char *lb_table_reason(lb_table *t, uint64_t index, const lb_entry *entry)
{
    if (!t->lake)
        return t->file->map_use;
    if (t->no_map_reason != NULL)
        return t->no_map_reason;
    if (table_override(t, index) != NULL)
        return table_is_dynamic(t, entry) ? "dynamic handler" : "stale";
    if (entry->error.size != 0)
        return "error when mapped";
    return entry->blocks.count == 0 && entry->total_rows != 0 ? "no locator" : "used";
}

static lb_status table_file_request(lb_table *t, uint64_t index, lb_arena *arena, lb_data_request *q, lb_error *err)
{
    const lb_override *override = table_override(t, index);
    lb_entry entry;

    *q = (lb_data_request){ .remembered = t->remembered,
                            .over = t->over,
                            .map = t->map,
                            .listed = true,
                            .index = t->base + index,
                            .memory_map = t->memory_map,
                            .rows_only = t->rows_only,
                            .fresh_map = t->no_map_reason != NULL };
    LB_TRY(table_view(t, index, arena, &entry, err));
    if (override != NULL)
        q->entry = &override->entry;
    q->rel_path = entry.rel_path;
    q->path = table_file_path(t, &entry, arena);
    return q->path == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

lb_status lb_table_open_file(lb_table *t, uint64_t index, lb_data **out, bool *own, lb_error *err)
{
    lb_data_request q;
    lb_arena arena;

    *own = t->lake;
    *out = t->file;
    if (!t->lake)
        return LB_OK;
    *out = NULL;
    lb_arena_init(&arena, &t->cx->budget);
    lb_status status = table_file_request(t, index, &arena, &q, err);
    if (status == LB_OK)
        status = lb_data_open(t->cx, &q, out, err);
    /* Rows of the lake are numbered already: another file in this place would shift them. */
    if (status == LB_OK && (*out)->surveyed) {
        status = lb_fail(err, LB_STALE, LB_NOWHERE, "the file changed since the lake was opened");
        lb_fail_path(err, q.path);
        lb_data_close(*out);
        *out = NULL;
    }
    lb_arena_free(&arena);
    return status;
}

uint64_t lb_table_failed(const lb_table *t)
{
    return t->failed;
}

uint64_t lb_table_files(const lb_table *t)
{
    return t->n_files;
}

static const char *table_keep(lb_table *t, lb_str text)
{
    return text.size == 0 ? NULL : lb_arena_copy(&t->arena, text);
}

static lb_status table_file_info(lb_table *t, uint64_t index, lb_entry_info *out, lb_error *err)
{
    lb_entry entry;
    struct ArrowSchema schema = { 0 };

    if (t->lake)
        LB_TRY(lb_table_entry(t, index, &t->arena, &entry, err));
    else
        entry = t->file->entry;
    *out = (lb_entry_info){ .struct_size = sizeof *out,
                            .format = table_keep(t, entry.format),
                            .locator = table_keep(t, entry.locator),
                            .container = table_keep(t, entry.container),
                            .error = table_keep(t, entry.error),
                            .bytes = entry.size_bytes,
                            .rows = entry.total_rows,
                            .blocks = entry.blocks.count,
                            .mtime_ns = entry.mtime_ns,
                            .restart_points = entry.container.size == 0 ? 0 : entry.access_points.count };
    out->path = t->lake ? table_keep(t, lb_table_shown(t, entry.rel_path)) : t->path;
    if (entry.has_content_hash) {
        char hex[65];
        for (size_t i = 0; i < 32; i++)
            (void)snprintf(hex + 2 * i, 3, "%02x", entry.content_hash[i]);
        out->content_hash = table_keep(t, lb_str_of(hex));
    }
    LB_TRY(lb_table_first_row(t, index, &out->first_row, err));
    if (entry.arrow_schema.size == 0)
        return LB_OK;
    LB_TRY(lb_ipc_decode_schema(entry.arrow_schema.at, entry.arrow_schema.size, &schema, err));
    out->columns = (uint64_t)schema.n_children;
    schema.release(&schema);
    return LB_OK;
}

lb_status lb_table_file(lb_table *t, uint64_t index, lb_entry_info *out, lb_error *err)
{
    lb_error_clear(err);
    if (index >= t->n_files)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "file %llu of a table of %llu", (unsigned long long)index,
                       (unsigned long long)t->n_files);
    pthread_mutex_lock(&t->lock);
    lb_status status = table_file_info(t, index, out, err);
    pthread_mutex_unlock(&t->lock);
    return status;
}

const char *lb_table_map_use(lb_table *t, uint64_t index)
{
    const char *reason = "not listed";
    lb_entry entry;
    lb_arena arena;

    if (index >= t->n_files)
        return reason;
    if (!t->lake)
        return t->file->map_use;
    lb_arena_init(&arena, NULL);
    if (lb_table_entry(t, index, &arena, &entry, NULL) == LB_OK)
        reason = lb_table_reason(t, index, &entry);
    lb_arena_free(&arena);
    return reason;
}

/* ---------------------------------------------------------------- columns */

void lb_table_tell_sample(lb_table *t)
{
    if (t->rows == LB_ROWS_UNKNOWN && t->file->format->text && t->file->options->types == LB_TYPES_AUTO &&
        !atomic_flag_test_and_set(&t->sample_told))
        lb_note(t->cx,
                "%s: types come from its first %llu MiB; --types proven reads all of it first, a map does so once",
                t->path, (unsigned long long)(LB_SAMPLE_BYTES >> 20));
}

lb_status lb_table_schema(lb_table *t, struct ArrowSchema *out, lb_error *err)
{
    lb_error_clear(err);
    lb_table_tell_sample(t);
    return lb_schema_copy(&t->schema, out, err);
}

uint64_t lb_table_columns(lb_table *t)
{
    return (uint64_t)t->schema.n_children;
}

/* Statistics of a single file: the map's, or those of a survey of all of it. */
static lb_status table_file_stats(lb_table *t, lb_unite *u, lb_error *err)
{
    lb_data_request q = t->request;
    lb_data *whole = NULL;
    lb_colstats stats = { 0 };

    if (strcmp(t->file->map_use, "used") == 0 && t->over->value_set == 0) {
        LB_TRY(lb_map_load_columns(t->map, q.index, &t->arena, &stats, err));
        return lb_unite_add(u, &t->file->entry, &stats, err);
    }
    q.stats = q.whole = true;
    LB_TRY(lb_data_open(t->cx, &q, &whole, err));
    lb_status status = lb_unite_add(u, &whole->entry, &whole->entry.columns, err);
    lb_data_close(whole);
    return status;
}

/* Statistics of the whole table, made when first asked for. */
static lb_status table_need_stats(lb_table *t, lb_error *err)
{
    lb_unite *u = NULL;
    lb_status status;

    if (t->unite != NULL)
        return LB_OK;
    if (t->lake) {
        status = table_unite(t, &u, err);
    } else {
        status = lb_unite_new(t->mode, &u, err);
        if (status == LB_OK)
            status = table_file_stats(t, u, err);
    }
    if (status == LB_OK)
        t->unite = u;
    else
        lb_unite_free(u);
    return status;
}

/* NULL: unknown. */
static lb_status table_bound(lb_table *t, const lb_colstat *stat, bool max, const char **out, size_t *size,
                             lb_error *err)
{
    bool known;
    lb_buf buf;

    *out = NULL;
    lb_buf_init(&buf, NULL);
    lb_status status = lb_print_bound(stat, max, &buf, &known, err);
    if (status == LB_OK && known) {
        *out = lb_arena_copy(&t->arena, (lb_str){ (const char *)buf.data, *size = buf.size });
        status = *out == NULL ? lb_arena_fail(&t->arena, err) : LB_OK;
    }
    lb_buf_free(&buf);
    return status;
}

static lb_status table_column_info(lb_table *t, uint64_t column, lb_column_info *out, lb_error *err)
{
    const struct ArrowSchema *field = t->schema.children[column];
    lb_colstat stat;
    lb_buf words;

    *out = (lb_column_info){ .struct_size = sizeof *out,
                             .name = field->name,
                             .null_count = -1,
                             .nan_count = -1,
                             .nullable = (field->flags & ARROW_FLAG_NULLABLE) != 0 };
    lb_buf_init(&words, NULL);
    lb_status status = lb_type_words(field, false, &words, err);
    if (status == LB_OK)
        out->type = lb_arena_copy(&t->arena, (lb_str){ (const char *)words.data, words.size });
    lb_buf_free(&words);
    LB_TRY(status);
    if (out->type == NULL)
        return lb_arena_fail(&t->arena, err);
    LB_TRY(table_need_stats(t, err));
    if (column >= lb_unite_count(t->unite) || !lb_unite_stat(t->unite, column, &stat))
        return LB_OK;
    out->has_stats = true;
    out->null_count = stat.has_null_count ? (int64_t)stat.null_count : -1;
    out->nan_count = stat.has_nan_count ? (int64_t)stat.nan_count : -1;
    LB_TRY(table_bound(t, &stat, false, &out->min, &out->min_size, err));
    LB_TRY(table_bound(t, &stat, true, &out->max, &out->max_size, err));
    out->min_exact = out->min != NULL && stat.min_exact;
    out->max_exact = out->max != NULL && stat.max_exact;
    return LB_OK;
}

lb_status lb_table_column(lb_table *t, uint64_t column, lb_column_info *out, lb_error *err)
{
    lb_error_clear(err);
    if (column >= (uint64_t)t->schema.n_children)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "column %llu of a table of %lld", (unsigned long long)column,
                       (long long)t->schema.n_children);
    pthread_mutex_lock(&t->lock);
    lb_status status = table_column_info(t, column, out, err);
    pthread_mutex_unlock(&t->lock);
    return status;
}
