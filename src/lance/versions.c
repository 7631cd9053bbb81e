#include "lance/versions.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/datetime.h"
#include "base/path.h"
#include "wire/json_tree.h"

#define VERSIONS_LONG 20 /* digits of the newer naming */
#define VERSIONS_REF_MAX 65536

/* ---------------------------------------------------------------- names */

bool lb_version_of_name(const char *name, lb_version_name *out)
{
    static const char ending[] = ".manifest";
    size_t size = strlen(name), digits = strspn(name, "0123456789");
    uint64_t number = 0;

    if (digits == 0 || digits > VERSIONS_LONG || size != digits + sizeof ending - 1 ||
        strcmp(name + digits, ending) != 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(name[i] - '0'), &number))
            return false;
    *out = (lb_version_name){ .version = digits == VERSIONS_LONG ? UINT64_MAX - number : number,
                              .long_name = digits == VERSIONS_LONG };
    return true;
}

void lb_version_path(const lb_version_name *name, char out[64])
{
    if (name->long_name)
        (void)snprintf(out, 64, LB_LANCE_VERSIONS "/%020llu.manifest",
                       (unsigned long long)(UINT64_MAX - name->version));
    else
        (void)snprintf(out, 64, LB_LANCE_VERSIONS "/%llu.manifest", (unsigned long long)name->version);
}

static int versions_order(const void *a, const void *b)
{
    const lb_version_name *x = a, *y = b;

    return x->version != y->version ? (x->version > y->version) - (x->version < y->version)
                                    : x->long_name - y->long_name;
}

/* Call `each` for every name in a folder below `root`, until it says no. A folder that is not there has no names. */
static lb_status versions_each(const char *root, const char *folder, bool (*each)(void *user, const char *name),
                               void *user, lb_error *err)
{
    lb_arena arena;
    const struct dirent *entry;
    lb_status status = LB_OK;

    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, root, folder);
    DIR *dir = path == NULL ? NULL : opendir(path);
    if (path == NULL)
        status = lb_arena_fail(&arena, err);
    else if (dir == NULL && errno != ENOENT && errno != ENOTDIR)
        status = lb_fail_errno(err, errno, path, "open");
    for (errno = 0; dir != NULL && (entry = readdir(dir)) != NULL; errno = 0)
        if (!each(user, entry->d_name))
            break;
    if (dir != NULL) {
        if (errno != 0 && status == LB_OK)
            status = lb_fail_errno(err, errno, path, "read");
        (void)closedir(dir);
    }
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- listing */

static bool versions_collect(void *user, const char *name)
{
    lb_version_name v;
    lb_buf *out = user;

    if (!lb_version_of_name(name, &v))
        return true;
    if (lb_buf_reserve(out, sizeof v, NULL) != LB_OK) {
        out->cap = 0; /* says that memory ran out */
        return false;
    }
    lb_buf_put(out, &v, sizeof v);
    return true;
}

lb_status lb_versions_list(const char *root, lb_arena *arena, lb_versions *out, lb_error *err)
{
    lb_buf found;

    *out = (lb_versions){ 0 };
    lb_buf_init(&found, NULL);
    lb_status status = versions_each(root, LB_LANCE_VERSIONS, versions_collect, &found, err);
    size_t n = found.size / sizeof(lb_version_name);
    if (status == LB_OK && n != 0 && found.cap == 0)
        status = lb_fail_nomem(err);
    if (status == LB_OK && found.data != NULL && n != 0) {
        qsort(found.data, n, sizeof(lb_version_name), versions_order);
        out->items = lb_arena_dup(arena, found.data, found.size);
        out->count = n;
        status = out->items == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&found);
    return status;
}

typedef struct versions_newest {
    bool found;
    lb_version_name best;
} versions_newest;

static bool versions_take_newer(void *user, const char *name)
{
    versions_newest *n = user;
    lb_version_name v;

    if (lb_version_of_name(name, &v) && (!n->found || versions_order(&v, &n->best) > 0)) {
        n->best = v;
        n->found = true;
    }
    return true;
}

lb_status lb_versions_newest(const char *root, lb_version_name *out, bool *found, lb_error *err)
{
    versions_newest n = { .found = false };

    LB_TRY(versions_each(root, LB_LANCE_VERSIONS, versions_take_newer, &n, err));
    *found = n.found;
    *out = n.best;
    return LB_OK;
}

static bool versions_any(void *user, const char *name)
{
    lb_version_name v;

    *(bool *)user = lb_version_of_name(name, &v);
    return !*(bool *)user;
}

lb_status lb_dataset_look(const char *path, bool *is, lb_error *err)
{
    struct stat st;
    lb_arena arena;

    *is = false;
    lb_arena_init(&arena, NULL);
    const char *latest = lb_path_join(&arena, path, LB_LANCE_LATEST);
    lb_status status = latest == NULL ? lb_arena_fail(&arena, err) : LB_OK;
    *is = latest != NULL && stat(latest, &st) == 0 && S_ISREG(st.st_mode);
    lb_arena_free(&arena);
    return status != LB_OK || *is ? status : versions_each(path, LB_LANCE_VERSIONS, versions_any, is, err);
}

bool lb_is_dataset(const char *path)
{
    bool is;

    return lb_dataset_look(path, &is, NULL) == LB_OK && is;
}

/* ---------------------------------------------------------------- datasets without a version */

static bool headless_is_dir(const char *root, const char *name)
{
    struct stat st;
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, root, name);
    bool is = path != NULL && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
    lb_arena_free(&arena);
    return is;
}

static bool headless_top(void *user, const char *name)
{
    static const char *const known[] = { ".", "..", "data", LB_LANCE_VERSIONS, "_transactions" };

    for (size_t i = 0; i < LB_COUNT_OF(known); i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return *(bool *)user = false;
}

static bool headless_temporary(void *user, const char *name)
{
    if (name[0] == '.' && (name[1] == '\0' || strcmp(name, "..") == 0 || strncmp(name, ".tmp_", 5) == 0))
        return true;
    return *(bool *)user = strchr(name, '#') != NULL;
}

static bool headless_data(void *user, const char *name)
{
    lb_str ending = lb_path_extension(lb_str_of(name));

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    return *(bool *)user = lb_str_is(ending, "lance");
}

lb_status lb_dataset_look_headless(const char *path, bool *is, bool *is_rest, lb_error *err)
{
    bool has_version = false;

    *is_rest = false;
    *is = headless_is_dir(path, LB_LANCE_VERSIONS) && headless_is_dir(path, "data");
    if (!*is)
        return LB_OK;
    LB_TRY(lb_dataset_look(path, &has_version, err));
    *is = !has_version;
    *is_rest = *is;
    if (*is_rest)
        LB_TRY(versions_each(path, "", headless_top, is_rest, err));
    if (*is_rest)
        LB_TRY(versions_each(path, LB_LANCE_VERSIONS, headless_temporary, is_rest, err));
    return *is_rest ? versions_each(path, "data", headless_data, is_rest, err) : LB_OK;
}

lb_status lb_dataset_fail_headless(const char *path, bool is_rest, lb_error *err)
{
    if (is_rest) {
        lb_fail(err, LB_CORRUPT, LB_NOWHERE,
                "a Lance dataset that was never finished: it has data files, and no version");
        lb_fail_hint(err, "`lakebed lance clean` removes it when nobody has written to it for a week");
    } else {
        lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a Lance dataset without a version: %s holds no manifest",
                LB_LANCE_VERSIONS);
        lb_fail_hint(err, "its rows are in data files that only a manifest could tell how to read together");
    }
    lb_fail_path(err, path);
    return LB_CORRUPT;
}

/* ---------------------------------------------------------------- tags in files of their own */

/* The number that a refs file gives. */
static lb_status tags_read(const char *path, lb_context *cx, uint64_t *version, lb_error *err)
{
    lb_store *store = NULL;
    json_error_t why;
    char *text = NULL;
    size_t got = 0;

    (void)cx;
    LB_TRY(lb_store_open_file(path, &store, err));
    lb_status status =
        store->size > VERSIONS_REF_MAX ? lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a tag of this size is none") : LB_OK;
    if (status == LB_OK && (text = calloc(1, (size_t)store->size + 1)) == NULL)
        status = lb_fail_nomem(err);
    if (status == LB_OK)
        status = lb_store_read(store, 0, text, (size_t)store->size, &got, err);
    json_t *tree = status == LB_OK ? lb_json_load(text, got, 0, &why) : NULL;
    const json_t *number = json_object_get(tree, "version");
    if (status == LB_OK && (!json_is_integer(number) || json_integer_value(number) < 0))
        status = lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a tag is a JSON object with the key \"version\"");
    if (status == LB_OK)
        *version = (uint64_t)json_integer_value(number);
    else
        lb_fail_path(err, path);
    json_decref(tree);
    free(text);
    lb_store_close(store);
    return status;
}

typedef struct tags_list {
    const char *root;
    lb_arena *arena;
    lb_buf items;
    lb_status status;
    lb_error *err;
} tags_list;

static bool tags_collect(void *user, const char *name)
{
    tags_list *l = user;
    size_t size = strlen(name);
    lb_version_tag tag;

    if (name[0] == '.' || size <= 5 || strcmp(name + size - 5, ".json") != 0)
        return true;
    const char *folder = lb_path_join(l->arena, l->root, LB_LANCE_TAGS);
    const char *path = folder == NULL ? NULL : lb_path_join(l->arena, folder, name);
    tag.name = path == NULL ? NULL : lb_arena_copy(l->arena, (lb_str){ name, size - 5 });
    l->status = tag.name == NULL ? lb_arena_fail(l->arena, l->err) : tags_read(path, NULL, &tag.version, l->err);
    if (l->status == LB_OK)
        l->status = lb_buf_append(&l->items, &tag, sizeof tag, l->err);
    return l->status == LB_OK;
}

static int tags_order(const void *a, const void *b)
{
    return strcmp(((const lb_version_tag *)a)->name, ((const lb_version_tag *)b)->name);
}

lb_status lb_version_tags(const char *root, lb_arena *arena, lb_version_tag **out, size_t *n, lb_error *err)
{
    tags_list l = { .root = root, .arena = arena, .err = err };

    lb_buf_init(&l.items, NULL);
    lb_status status = versions_each(root, LB_LANCE_TAGS, tags_collect, &l, err);
    if (status == LB_OK)
        status = l.status;
    *n = status == LB_OK ? l.items.size / sizeof **out : 0;
    *out = NULL;
    if (*n != 0) {
        qsort(l.items.data, *n, sizeof **out, tags_order);
        *out = lb_arena_dup(arena, l.items.data, l.items.size);
        status = *out == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&l.items);
    return status;
}

/* ---------------------------------------------------------------- finding */

lb_status lb_version_open(const char *root, const lb_version_name *name, lb_store **out, lb_error *err)
{
    lb_arena arena;
    char rel[64];

    lb_version_path(name, rel);
    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, root, rel);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : lb_store_open_file(path, out, err);
    lb_arena_free(&arena);
    return status;
}

/* The newest version that a test accepts. */
typedef bool (*versions_test)(const lb_manifest_glance *g, const void *user);

static lb_status versions_search(lb_context *cx, const char *root, const lb_versions *all, versions_test test,
                                 const void *user, lb_version_name *out, bool *found, lb_error *err)
{
    lb_status status = LB_OK;

    *found = false;
    for (size_t i = all->count; status == LB_OK && !*found && i-- > 0;) {
        lb_manifest_glance glance;
        lb_store *store = NULL;
        lb_arena arena;
        lb_arena_init(&arena, &cx->budget);
        status = lb_version_open(root, &all->items[i], &store, err);
        if (status == LB_OK)
            status = lb_manifest_look(store, &arena, &glance, err);
        *found = status == LB_OK && test(&glance, user);
        *out = all->items[i];
        lb_store_close(store);
        lb_arena_free(&arena);
        if (status == LB_OK)
            status = lb_check_cancel(cx, err);
    }
    return status;
}

static bool versions_has_tag(const lb_manifest_glance *g, const void *user)
{
    return lb_str_is(g->tag, user);
}

static bool versions_was_there(const lb_manifest_glance *g, const void *user)
{
    const lb_datetime *t = user;

    return g->seconds < t->seconds || (g->seconds == t->seconds && g->nanos <= (int64_t)t->nanos);
}

static bool versions_is_number(const char *spec, uint64_t *out)
{
    *out = 0;
    if (*spec == '\0')
        return false;
    for (; *spec >= '0' && *spec <= '9'; spec++)
        if (__builtin_mul_overflow(*out, (uint64_t)10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*spec - '0'), out))
            return false;
    return *spec == '\0';
}

static lb_status versions_by_number(const char *root, const lb_versions *all, uint64_t version, lb_version_name *out,
                                    lb_error *err)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].version == version) {
            *out = all->items[i];
            return LB_OK;
        }
    if (all->count == 0)
        lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no version %llu: the dataset has none",
                (unsigned long long)version);
    else
        lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no version %llu: the dataset has %zu, from %llu to %llu",
                (unsigned long long)version, all->count, (unsigned long long)all->items[0].version,
                (unsigned long long)all->items[all->count - 1].version);
    lb_fail_path(err, root);
    return LB_NOTFOUND;
}

/* A name that may be a file's in the folder of tags. */
static bool versions_may_be_tag(const char *spec)
{
    return spec[0] != '\0' && spec[0] != '.' && strchr(spec, '/') == NULL && strlen(spec) < 200;
}

static lb_status versions_ref(const char *root, const char *spec, uint64_t *version, bool *found, lb_error *err)
{
    char name[256];
    lb_arena arena;

    *found = false;
    (void)snprintf(name, sizeof name, "%s.json", spec);
    lb_arena_init(&arena, NULL);
    const char *folder = lb_path_join(&arena, root, LB_LANCE_TAGS);
    const char *path = folder == NULL ? NULL : lb_path_join(&arena, folder, name);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : LB_OK;
    if (path != NULL && access(path, F_OK) == 0) {
        status = tags_read(path, NULL, version, err);
        *found = status == LB_OK;
    }
    lb_arena_free(&arena);
    return status;
}

static lb_status versions_find(lb_context *cx, const char *root, const char *spec, const lb_versions *all,
                               lb_version_name *out, lb_error *err)
{
    uint64_t number;
    lb_datetime when;
    bool found = false;

    if (versions_is_number(spec, &number))
        return versions_by_number(root, all, number, out, err);
    if (versions_may_be_tag(spec)) {
        LB_TRY(versions_ref(root, spec, &number, &found, err));
        if (found)
            return versions_by_number(root, all, number, out, err);
        LB_TRY(versions_search(cx, root, all, versions_has_tag, spec, out, &found, err));
        if (found)
            return LB_OK;
    }
    lb_datetime_kind kind = lb_datetime_parse(spec, strlen(spec), &when);
    if (kind == LB_DATE)
        when.seconds = (int64_t)when.days * 86400;
    if (kind == LB_DATE || kind == LB_TIMESTAMP || kind == LB_TIMESTAMP_UTC) {
        LB_TRY(versions_search(cx, root, all, versions_was_there, &when, out, &found, err));
        if (found)
            return LB_OK;
        lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "no version is as old as %s", spec);
    } else {
        lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no version with the tag '%.100s'", spec);
        lb_fail_hint(err, "behind @ stands a version's number, a tag, or a time as 2026-11-30T12:00:00Z");
    }
    lb_fail_path(err, root);
    return LB_NOTFOUND;
}

lb_status lb_version_find(lb_context *cx, const char *root, const char *spec, lb_version_name *out, lb_error *err)
{
    lb_versions all;
    lb_arena arena;

    lb_arena_init(&arena, &cx->budget);
    lb_status status = lb_versions_list(root, &arena, &all, err);
    if (status == LB_OK)
        status = versions_find(cx, root, spec, &all, out, err);
    lb_arena_free(&arena);
    return status;
}
