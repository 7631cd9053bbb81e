#include "lake/discover.h"

#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"
#include "lake/handlers.h"
#include "lake/map.h"
#include "lance/dataset_store.h"

typedef struct discover {
    lb_context *cx;
    const lb_discover_options *options;
    const char *root;
    lb_arena *arena;
    lb_buf datasets; /* lb_walk_file: folders that are taken as one file */
    lb_status status;
    lb_error *err;
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

/* Is a folder a dataset? Then it is noted as one file. */
static bool discover_dataset(discover *d, lb_str rel_path)
{
    lb_walk_file file = { .rel_path = rel_path };
    lb_file_stat now;
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const char *rel = lb_arena_copy(&arena, rel_path);
    const char *path = rel == NULL ? NULL : lb_path_join(&arena, d->root, rel);
    bool is = false;
    if (d->status == LB_OK)
        d->status = path == NULL ? lb_arena_fail(&arena, d->err) : lb_dataset_look(path, &is, d->err);
    if (is && discover_is_included(d, rel_path) && d->status == LB_OK) {
        /* One that cannot be looked at is told of when it is inspected. */
        if (lb_dataset_stat(path, &now, NULL) == LB_OK) {
            file.size = now.size;
            file.mtime_ns = now.mtime_ns;
            file.ctime_ns = now.ctime_ns;
        }
        d->status = lb_buf_append(&d->datasets, &file, sizeof file, d->err);
    }
    lb_arena_free(&arena);
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
    if (lb_handler_of_extension(d->cx, lb_path_extension(name)) == NULL)
        return false;
    return discover_is_included(d, rel_path);
}

/* A name as valid UTF-8: bytes that are not, and `%`, as %XX. */
static lb_status discover_escape(lb_str raw, lb_arena *arena, lb_str *out, lb_error *err)
{
    static const char digits[] = "0123456789ABCDEF";
    char *to = raw.size > SIZE_MAX / 4 ? NULL : lb_arena_alloc(arena, raw.size, 3);
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
            to[n++] = digits[(uint8_t)raw.at[i] >> 4];
            to[n++] = digits[raw.at[i] & 15];
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

static lb_status discover_file(const char *root, const lb_walk_file *from, lb_arena *arena, lb_data_file *out,
                               lb_error *err)
{
    lb_str raw = from->rel_path;
    char *name = lb_arena_copy(arena, raw);

    *out =
        (lb_data_file){ .rel_path = raw, .size = from->size, .mtime_ns = from->mtime_ns, .ctime_ns = from->ctime_ns };
    out->path = name == NULL ? NULL : lb_path_join(arena, root, name);
    if (out->path == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_map_name_of(raw, arena, &out->rel_path, err));
    if (out->rel_path.at != raw.at)
        out->rel_path_raw = raw;
    return LB_OK;
}

static int discover_order(const void *a, const void *b)
{
    return lb_str_compare(((const lb_data_file *)a)->rel_path, ((const lb_data_file *)b)->rel_path);
}

/* A dataset is data, not a directory of them. */
static lb_status discover_is_no_dataset(const char *root, lb_error *err)
{
    bool is;

    LB_TRY(lb_dataset_look(root, &is, err));
    if (!is)
        return LB_OK;
    lb_fail(err, LB_USAGE, LB_NOWHERE, "this is one Lance dataset; a map is of a directory of files and datasets");
    lb_fail_hint(err, "name the folder above it");
    lb_fail_path(err, root);
    return LB_USAGE;
}

/* Files and datasets, in no order yet. */
static lb_status discover_all(discover *d, lb_data_file **files, size_t *count, lb_error *err)
{
    lb_walk_options walk = { .hidden = d->options->hidden, .want = discover_wants, .user = d };
    lb_walk_file *found;
    size_t n;

    LB_TRY(lb_walk(d->cx, d->root, &walk, d->arena, &found, &n, err));
    LB_TRY(d->status);
    const lb_walk_file *datasets = (const lb_walk_file *)(const void *)d->datasets.data;
    *count = n + d->datasets.size / sizeof *datasets;
    *files = lb_arena_alloc(d->arena, *count, sizeof **files);
    if (*files == NULL)
        return lb_arena_fail(d->arena, err);
    for (size_t i = 0; i < *count; i++)
        LB_TRY(discover_file(d->root, i < n ? &found[i] : &datasets[i - n], d->arena, &(*files)[i], err));
    return LB_OK;
}

lb_status lb_discover(lb_context *cx, const char *root, const lb_discover_options *options, lb_arena *arena,
                      lb_data_file **files, size_t *count, lb_error *err)
{
    discover d = { .cx = cx, .options = options, .root = root, .arena = arena, .err = err };

    lb_buf_init(&d.datasets, &cx->budget);
    lb_status status = discover_is_no_dataset(root, err);
    if (status == LB_OK)
        status = discover_all(&d, files, count, err);
    lb_buf_free(&d.datasets);
    LB_TRY(status);
    if (*files != NULL && *count != 0)
        qsort(*files, *count, sizeof **files, discover_order);
    /* An escaped name may be another file's own. */
    for (size_t i = 1; *files != NULL && i < *count; i++)
        if (lb_str_equal((*files)[i].rel_path, (*files)[i - 1].rel_path))
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                           "two files would both be called %.*s in the map: one name is not UTF-8",
                           (int)LB_MIN((*files)[i].rel_path.size, 200), (*files)[i].rel_path.at);
    return LB_OK;
}
