#include "lake/discover.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"
#include "codec/unpack.h"
#include "lake/handlers.h"
#include "lake/map.h"
#include "lance/dataset_store.h"

typedef struct discover {
    lb_context *cx;
    const lb_discover_options *options;
    const char *root;
    pthread_mutex_t lock; /* of what follows: folders are asked for by several threads */
    lb_arena names;
    lb_buf datasets; /* of lb_walk_file: folders that are taken as one file */
    lb_status status;
    lb_error why;
} discover;

/* Never data, whatever is registered for their extension. */
static bool discover_is_own(lb_str name)
{
    static const char temporary[] = LB_MAP_NAME ".tmp.";

    return lb_str_is(name, LB_MAP_NAME) || lb_str_is(name, LB_MAP_RETIRED_NAME) || lb_str_is(name, LB_MAP_LOCK_NAME) ||
           lb_str_is(name, LB_MAP_OLD_NAME) ||
           (name.size >= sizeof temporary - 1 && memcmp(name.at, temporary, sizeof temporary - 1) == 0);
}

/* What engines leave beside data: it is not rows. */
static bool discover_is_by_product(lb_str name)
{
    return lb_str_is(name, "_gold_metadata.json") || lb_str_is(name, "_metadata") ||
           lb_str_is(name, "_common_metadata") || (name.size >= 8 && memcmp(name.at, "_SUCCESS", 8) == 0);
}

static bool discover_matches(const char *const *globs, lb_str path)
{
    for (; globs != NULL && *globs != NULL; globs++)
        if (lb_glob_match(lb_str_of(*globs), path))
            return true;
    return false;
}

static bool discover_is_included(const discover *d, lb_str rel_path)
{
    const char *const *include = d->options->include;

    return include == NULL || include[0] == NULL || discover_matches(include, rel_path);
}

/* Keep a dataset that is wanted. One whose manifest cannot be looked at is told of when it is inspected. */
static lb_status discover_note(discover *d, lb_str rel_path, const char *path, lb_error *err)
{
    lb_file_stat now = { 0 };

    if (lb_dataset_stat(path, &now, NULL) != LB_OK)
        now = (lb_file_stat){ 0 };
    lb_walk_file file = { .rel_path = rel_path, .size = now.size, .mtime_ns = now.mtime_ns, .ctime_ns = now.ctime_ns };
    (void)pthread_mutex_lock(&d->lock);
    file.rel_path.at = lb_arena_copy(&d->names, rel_path);
    lb_status status =
        file.rel_path.at == NULL ? lb_arena_fail(&d->names, err) : lb_buf_append(&d->datasets, &file, sizeof file, err);
    (void)pthread_mutex_unlock(&d->lock);
    return status;
}

/* A dataset that has no version is no directory of files: it is told of, and left out. */
static lb_status discover_headless(discover *d, lb_str rel_path, const char *path, bool *is, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    bool is_rest;

    LB_TRY(lb_dataset_look_headless(path, is, &is_rest, err));
    if (!*is || !discover_is_included(d, rel_path))
        return LB_OK;
    (void)lb_dataset_fail_headless(path, is_rest, &why);
    lb_note(d->cx, "%s: %s; left out", path, why.message);
    return LB_OK;
}

/* Is a folder a dataset? Then it is noted as one file. */
static bool discover_dataset(discover *d, lb_str rel_path)
{
    lb_error why = LB_ERROR_INIT;
    lb_arena arena;
    bool is = false;

    lb_arena_init(&arena, NULL);
    const char *rel = lb_arena_copy(&arena, rel_path);
    const char *path = rel == NULL ? NULL : lb_path_join(&arena, d->root, rel);
    lb_status status = path == NULL ? lb_arena_fail(&arena, &why) : lb_dataset_look(path, &is, &why);
    if (status == LB_OK && is && discover_is_included(d, rel_path))
        status = discover_note(d, rel_path, path, &why);
    if (status == LB_OK && !is && path != NULL)
        status = discover_headless(d, rel_path, path, &is, &why);
    lb_arena_free(&arena);
    if (status != LB_OK) {
        (void)pthread_mutex_lock(&d->lock);
        if (d->status == LB_OK) {
            d->status = status;
            d->why = why;
        }
        (void)pthread_mutex_unlock(&d->lock);
    }
    return is;
}

static bool discover_wants(void *user, lb_str rel_path, bool is_dir)
{
    discover *d = user;
    const lb_discover_options *o = d->options;
    lb_str name = lb_path_name(rel_path);

    if (discover_matches(o->exclude, rel_path))
        return false;
    if (is_dir)
        return (o->by_products || !lb_str_is(name, ".br_cache")) && !discover_dataset(d, rel_path);
    if (discover_is_own(name) || (!o->by_products && discover_is_by_product(name)))
        return false;
    if (lb_handler_of_path(d->cx, name) == NULL || (o->no_compressed && lb_container_of_path(name) != NULL))
        return false;
    return discover_is_included(d, rel_path);
}

static const char discover_digits[] = "0123456789ABCDEF";

/* A name as valid UTF-8: bytes that are not, and `%`, as %XX. */
static lb_status discover_escape(lb_str raw, lb_arena *arena, lb_str *out, lb_error *err)
{
    char *to = raw.size > SIZE_MAX / 4 ? NULL : lb_arena_alloc(arena, 3 * raw.size + 1, 1);
    size_t n = 0;

    if (to == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < raw.size;) {
        uint32_t code;
        size_t size = lb_utf8_decode((const uint8_t *)raw.at + i, raw.size - i, &code);
        bool valid = lb_utf8_valid_prefix((const uint8_t *)raw.at + i, size) == size;
        if (valid && raw.at[i] != '%') {
            memcpy(to + n, raw.at + i, size);
            n += size;
        } else {
            size = 1;
            to[n++] = '%';
            to[n++] = discover_digits[(uint8_t)raw.at[i] >> 4];
            to[n++] = discover_digits[raw.at[i] & 15];
        }
        i += size;
    }
    *out = (lb_str){ to, n };
    return LB_OK;
}

lb_status lb_map_name_of(lb_str raw, lb_arena *arena, lb_str *out, lb_error *err)
{
    if (lb_utf8_valid_prefix((const uint8_t *)raw.at, raw.size) != raw.size)
        return discover_escape(raw, arena, out, err);
    *out = raw;
    return LB_OK;
}

const char *lb_data_file_path(const char *root, const lb_data_file *file, lb_arena *arena)
{
    const char *name = lb_arena_copy(arena, file->rel_path_raw.size != 0 ? file->rel_path_raw : file->rel_path);

    return name == NULL ? NULL : lb_path_join(arena, root, name);
}

/* Every byte as %XX. */
static lb_status discover_escape_all(lb_str raw, lb_arena *arena, lb_str *out, lb_error *err)
{
    char *to = raw.size > SIZE_MAX / 4 ? NULL : lb_arena_alloc(arena, 3 * raw.size + 1, 1);

    if (to == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < raw.size; i++) {
        to[3 * i] = '%';
        to[3 * i + 1] = discover_digits[(uint8_t)raw.at[i] >> 4];
        to[3 * i + 2] = discover_digits[raw.at[i] & 15];
    }
    *out = (lb_str){ to, 3 * raw.size };
    return LB_OK;
}

static int discover_order(const void *a, const void *b)
{
    return lb_str_compare(((const lb_data_file *)a)->rel_path, ((const lb_data_file *)b)->rel_path);
}

static lb_status discover_clash(const lb_data_file *file, lb_error *err)
{
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                   "two files would both be called %.*s in the map: one name is not UTF-8",
                   (int)LB_MIN(file->rel_path.size, 200), file->rel_path.at);
}

lb_status lb_data_file_check_name(const lb_data_file *file, lb_error *err)
{
    lb_arena arena;
    lb_data_file plain = *file;

    if (file->rel_path_raw.size == 0)
        return LB_OK;
    lb_arena_init(&arena, NULL);
    lb_status status = lb_map_name_of(file->rel_path_raw, &arena, &plain.rel_path, err);
    if (status == LB_OK && !lb_str_equal(plain.rel_path, file->rel_path))
        status = discover_clash(&plain, err);
    lb_arena_free(&arena);
    return status;
}

/* Put the files in the order of their names in the map. An escaped name may be another file's own: `*clashes`. */
static lb_status discover_sort(lb_file_list *list, bool rename, bool *clashes, lb_error *err)
{
    *clashes = false;
    qsort(list->files, list->count, sizeof *list->files, discover_order);
    for (size_t i = 1; i < list->count; i++) {
        lb_data_file *one = &list->files[i - 1], *other = &list->files[i];
        if (!lb_str_equal(one->rel_path, other->rel_path))
            continue;
        if (!rename)
            return discover_clash(one, err);
        lb_data_file *odd = one->rel_path_raw.size != 0 ? one : other;
        LB_TRY(discover_escape_all(odd->rel_path_raw, &list->names, &odd->rel_path, err));
        *clashes = true;
    }
    return LB_OK;
}

/* A dataset is data, not a directory of them. */
static lb_status discover_is_no_dataset(const char *root, lb_error *err)
{
    bool is, headless, is_rest;

    LB_TRY(lb_dataset_look_headless(root, &headless, &is_rest, err));
    if (headless)
        return lb_dataset_fail_headless(root, is_rest, err);
    LB_TRY(lb_dataset_look(root, &is, err));
    if (!is)
        return LB_OK;
    lb_fail(err, LB_USAGE, LB_NOWHERE, "this is one Lance dataset; a map is of a directory of files and datasets");
    lb_fail_hint(err, "name the folder above it");
    lb_fail_path(err, root);
    return LB_USAGE;
}

/* Add the datasets to the files of the walk, behind them. */
static lb_status discover_add_datasets(discover *d, lb_file_list *out, lb_error *err)
{
    const lb_walk_file *datasets = (const lb_walk_file *)(const void *)d->datasets.data;

    for (size_t i = 0; i < d->datasets.size / sizeof *datasets; i++) {
        lb_walk_file file = datasets[i];
        file.rel_path.at = lb_arena_copy(&out->names, file.rel_path);
        if (file.rel_path.at == NULL)
            return lb_arena_fail(&out->names, err);
        LB_TRY(lb_buf_append(&out->bytes, &file, sizeof file, err));
    }
    out->files = (lb_walk_file *)(void *)out->bytes.data;
    out->count = out->bytes.size / sizeof *out->files;
    return LB_OK;
}

static lb_status discover_all(discover *d, lb_context *cx, lb_file_list *out, lb_error *err)
{
    const lb_walk_options walk = { .hidden = d->options->hidden, .want = discover_wants, .user = d };

    LB_TRY(lb_walk(cx, d->root, &walk, out, err));
    if (d->status != LB_OK && err != NULL)
        *err = d->why;
    LB_TRY(d->status);
    return d->datasets.size == 0 ? LB_OK : discover_add_datasets(d, out, err);
}

/* Names as a map has them; `*odd`: the order of paths is another one now, or a name may be there twice. */
static lb_status discover_name(lb_file_list *out, bool *odd, lb_error *err)
{
    for (size_t i = 0; i < out->count; i++) {
        lb_data_file *file = &out->files[i];
        lb_str raw = file->rel_path;
        LB_TRY(lb_map_name_of(raw, &out->names, &file->rel_path, err));
        if (file->rel_path.at != raw.at) {
            file->rel_path_raw = raw;
            *odd = true;
        }
    }
    return LB_OK;
}

lb_status lb_discover(lb_context *cx, const char *root, const lb_discover_options *options, lb_file_list *out,
                      lb_error *err)
{
    discover d = { .cx = cx, .options = options, .root = root, .why = LB_ERROR_INIT };
    bool clashes = false;

    LB_TRY(discover_is_no_dataset(root, err));
    if (pthread_mutex_init(&d.lock, NULL) != 0)
        return lb_fail_nomem(err);
    lb_arena_init(&d.names, &cx->budget);
    lb_buf_init(&d.datasets, &cx->budget);
    lb_status status = discover_all(&d, cx, out, err);
    bool odd = d.datasets.size != 0;
    lb_buf_free(&d.datasets);
    lb_arena_free(&d.names);
    (void)pthread_mutex_destroy(&d.lock);
    if (status == LB_OK)
        status = discover_name(out, &odd, err);
    if (status != LB_OK || !odd)
        return status;
    LB_TRY(discover_sort(out, options->record_clashes, &clashes, err));
    return clashes ? discover_sort(out, false, &clashes, err) : LB_OK;
}
