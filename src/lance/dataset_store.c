#include "lance/dataset_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"

typedef struct dataset_store {
    lb_store store;
    lb_store *manifest;
    lb_version_name version;
    pthread_mutex_t lock; /* of the thing */
    void *thing;
    lb_dataset_drop_fn drop;
    char root[];
} dataset_store;

static lb_status dataset_read_at(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    dataset_store *d = (dataset_store *)store;
    lb_status status = lb_store_read(d->manifest, offset, out, size, got, err);

    atomic_fetch_add_explicit(&store->bytes_read, *got, memory_order_relaxed);
    return status;
}

static lb_status dataset_stat_now(lb_store *store, lb_file_stat *out, lb_error *err)
{
    return lb_store_stat(((dataset_store *)store)->manifest, out, err);
}

static void dataset_close(lb_store *store)
{
    dataset_store *d = (dataset_store *)store;

    lb_dataset_store_keep(store, NULL, NULL);
    lb_store_close(d->manifest);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static lb_status dataset_open_inside(lb_store *store, const char *rel_path, lb_store **out, lb_error *err)
{
    lb_arena arena;

    *out = NULL;
    if (!lb_path_is_inside(lb_str_of(rel_path)))
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "'%.200s' lies outside the dataset", rel_path);
    lb_arena_init(&arena, NULL);
    const char *path = lb_path_join(&arena, store->path, rel_path);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : lb_store_open_file(path, out, err);
    lb_arena_free(&arena);
    return status;
}

/* The newest version. Between listing and opening a clean may have removed it: then there is a newer one. */
static lb_status dataset_open_newest(dataset_store *d, lb_error *err)
{
    lb_version_name before = { 0 };
    bool found;

    for (;;) {
        lb_error why = LB_ERROR_INIT;
        LB_TRY(lb_versions_newest(d->root, &d->version, &found, err));
        if (!found)
            break;
        lb_status status = lb_version_open(d->root, &d->version, &d->manifest, &why);
        if (status == LB_OK)
            return LB_OK;
        if (status != LB_NOTFOUND || d->version.version == before.version) {
            if (err != NULL && err->code == LB_OK)
                *err = why;
            return status;
        }
        before = d->version;
    }
    d->version = (lb_version_name){ 0 };
    return dataset_open_inside(&d->store, LB_LANCE_LATEST, &d->manifest, err);
}

lb_status lb_dataset_store_open(lb_context *cx, const char *root, const char *spec, lb_store **out, lb_error *err)
{
    size_t size = strlen(root) + 1;
    dataset_store *d = calloc(1, sizeof *d + size);

    *out = NULL;
    if (d == NULL)
        return lb_fail_nomem(err);
    memcpy(d->root, root, size);
    pthread_mutex_init(&d->lock, NULL);
    d->store.read_at = dataset_read_at;
    d->store.stat = dataset_stat_now;
    d->store.close = dataset_close;
    d->store.open_inside = dataset_open_inside;
    d->store.path = d->root;
    lb_status status = LB_OK;
    if (spec == NULL) {
        status = dataset_open_newest(d, err);
    } else {
        status = lb_version_find(cx, root, spec, &d->version, err);
        if (status == LB_OK)
            status = lb_version_open(root, &d->version, &d->manifest, err);
    }
    if (status == LB_OK && d->manifest == NULL)
        status = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a manifest was opened and is not there");
    if (status != LB_OK || d->manifest == NULL) {
        dataset_close(&d->store);
        return status;
    }
    d->store.size = d->manifest->size;
    *out = &d->store;
    return LB_OK;
}

lb_status lb_data_store_open(const char *path, lb_store **out, lb_error *err)
{
    struct stat st;
    bool is = false;

    *out = NULL;
    if (stat(path, &st) != 0)
        return lb_fail_errno(err, errno, path, "open");
    if (S_ISDIR(st.st_mode))
        LB_TRY(lb_dataset_look(path, &is, err));
    return is ? lb_dataset_store_open(NULL, path, NULL, out, err) : lb_store_open_file(path, out, err);
}

void lb_dataset_store_keep(lb_store *store, void *thing, lb_dataset_drop_fn drop)
{
    dataset_store *d = (dataset_store *)store;

    pthread_mutex_lock(&d->lock);
    void *former = d->thing;
    lb_dataset_drop_fn drop_former = d->drop;
    d->thing = thing;
    d->drop = drop;
    pthread_mutex_unlock(&d->lock);
    if (former != NULL)
        drop_former(former);
}

void *lb_dataset_store_take(lb_store *store)
{
    dataset_store *d = (dataset_store *)store;

    pthread_mutex_lock(&d->lock);
    void *thing = d->thing;
    d->thing = NULL;
    pthread_mutex_unlock(&d->lock);
    return thing;
}

lb_version_name lb_dataset_store_version(const lb_store *store)
{
    return ((const dataset_store *)store)->version;
}

lb_status lb_dataset_stat(const char *root, lb_file_stat *out, lb_error *err)
{
    lb_store *store = NULL;

    LB_TRY(lb_dataset_store_open(NULL, root, NULL, &store, err));
    if (store == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a dataset was opened and is not there");
    lb_status status = lb_store_stat(store, out, err);
    lb_store_close(store);
    return status;
}
