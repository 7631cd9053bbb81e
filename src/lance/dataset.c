/* The public view of a dataset: its versions and what one of them is made of. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lance/dataset_store.h"
#include "lance/index_search.h"
#include "lance/lance_format.h"
#include "wire/roaring.h"

struct lb_dataset {
    lb_context *cx;
    lb_arena arena;
    char *root;
    lb_store *store;
    lb_manifest m;
    pthread_mutex_t lock; /* of arena, set, versions, fragment bitmaps */
    lb_lance_set *set;    /* opened when rows are first asked for */
    bool tried;
    lb_error unreadable; /* why there is no set */
    bool listed;
    size_t n_versions;
    lb_dataset_version *versions;
};

/* ---------------------------------------------------------------- opening */

bool lb_dataset_exists(const char *path)
{
    return lb_is_dataset(path);
}

/* PATH or PATH@VERSION; a folder of that very name goes before. */
static lb_status dataset_split(lb_dataset *d, const char *path, const char **spec, lb_error *err)
{
    const char *at = strrchr(path, '@');
    struct stat st;

    *spec = NULL;
    bool whole = at == NULL || at == path || at[1] == '\0' || stat(path, &st) == 0;
    d->root = lb_arena_copy(&d->arena, (lb_str){ path, whole ? strlen(path) : (size_t)(at - path) });
    if (d->root == NULL)
        return lb_arena_fail(&d->arena, err);
    if (!whole)
        *spec = at + 1;
    if (lb_is_dataset(d->root))
        return LB_OK;
    if (stat(d->root, &st) != 0)
        return lb_fail_errno(err, errno, d->root, "open");
    bool headless, is_rest;
    LB_TRY(lb_dataset_look_headless(d->root, &headless, &is_rest, err));
    if (headless)
        return lb_dataset_fail_headless(d->root, is_rest, err);
    lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "this is no Lance dataset: it has neither %s with a manifest nor %s",
            LB_LANCE_VERSIONS, LB_LANCE_LATEST);
    lb_fail_path(err, d->root);
    return LB_NOTFOUND;
}

static lb_status dataset_open(lb_dataset *d, const char *path, lb_error *err)
{
    const char *spec;

    LB_TRY(dataset_split(d, path, &spec, err));
    LB_TRY(lb_dataset_store_open(d->cx, d->root, spec, &d->store, err));
    return lb_manifest_read(d->store, &d->arena, &d->m, err);
}

lb_status lb_dataset_open(lb_context *cx, const char *path, lb_dataset **out, lb_error *err)
{
    lb_dataset *d = calloc(1, sizeof *d);

    lb_error_clear(err);
    *out = NULL;
    if (d == NULL)
        return lb_fail_nomem(err);
    d->cx = cx;
    lb_error_clear(&d->unreadable);
    lb_arena_init(&d->arena, &cx->budget);
    pthread_mutex_init(&d->lock, NULL);
    lb_status status = dataset_open(d, path, err);
    if (status == LB_OK)
        *out = d;
    else
        lb_dataset_close(d);
    return status;
}

void lb_dataset_close(lb_dataset *d)
{
    if (d == NULL)
        return;
    lb_lance_set_close(d->set);
    lb_store_close(d->store);
    pthread_mutex_destroy(&d->lock);
    lb_arena_free(&d->arena);
    free(d);
}

/* Open the rows; where that cannot be, d->unreadable says why. Errors: the caller's own ones only. */
static lb_status dataset_rows(lb_dataset *d, lb_error *err)
{
    if (d->tried)
        return LB_OK;
    lb_status status = lb_lance_set_open(d->cx, d->store, &d->set, &d->unreadable);
    if (lb_is_callers(status)) {
        if (err != NULL)
            *err = d->unreadable;
        lb_error_clear(&d->unreadable);
        return status;
    }
    d->tried = true;
    return LB_OK;
}

/* The same, for calls that cannot do without. */
static lb_status dataset_need_rows(lb_dataset *d, lb_error *err)
{
    LB_TRY(dataset_rows(d, err));
    if (d->set != NULL)
        return LB_OK;
    if (err != NULL)
        *err = d->unreadable;
    return d->unreadable.code;
}

/* A text that ends in NUL. Where there is no memory, "". */
static const char *dataset_text(lb_dataset *d, lb_str text)
{
    const char *copy = text.size == 0 ? "" : lb_arena_copy(&d->arena, text);

    return copy == NULL ? "" : copy;
}

static lb_status dataset_past(const char *what, uint64_t index, uint64_t count, lb_error *err)
{
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "%s %llu of %llu", what, (unsigned long long)index,
                   (unsigned long long)count);
}

/* ---------------------------------------------------------------- the version */

static const char *dataset_writer(lb_dataset *d)
{
    const LbPb__WriterVersion *w = d->m.pb->writer_version;
    char text[256], library[100], version[100];

    if (w == NULL)
        return "";
    lb_copy_text(library, sizeof library, (const char *)w->library.data, w->library.len);
    lb_copy_text(version, sizeof version, (const char *)w->version.data, w->version.len);
    (void)snprintf(text, sizeof text, "%s %s", library, version);
    return dataset_text(d, lb_str_of(text));
}

static const char *dataset_manifest_name(lb_dataset *d, const lb_version_name *name)
{
    char path[64] = LB_LANCE_LATEST;

    if (name->version != 0 || name->long_name)
        lb_version_path(name, path);
    return dataset_text(d, lb_str_of(path));
}

static lb_status dataset_info(lb_dataset *d, lb_dataset_info *out, lb_error *err)
{
    const lb_version_name name = lb_dataset_store_version(d->store);
    const lb_lance_manifest *m = d->m.pb;
    lb_version_name newest;
    bool found;

    LB_TRY(lb_versions_newest(d->root, &newest, &found, err));
    LB_TRY(dataset_rows(d, err));
    *out = (lb_dataset_info){ .struct_size = sizeof *out,
                              .path = d->root,
                              .manifest = dataset_manifest_name(d, &name),
                              .version = m->version,
                              .newest = found ? newest.version : m->version,
                              .rows = -1,
                              .deleted = -1,
                              .fragments = m->n_fragments,
                              .fields = m->n_fields,
                              .indices = d->m.indices == NULL ? 0 : d->m.indices->n_indices,
                              .seconds = m->timestamp == NULL ? 0 : m->timestamp->seconds,
                              .nanos = m->timestamp == NULL ? 0 : m->timestamp->nanos,
                              .tag = dataset_text(d, lb_lance_str(m->tag)),
                              .writer = dataset_writer(d),
                              .storage =
                                  m->data_format == NULL ? "" : dataset_text(d, lb_lance_str(m->data_format->version)),
                              .branch = m->branch_is_case == LB_PB__MANIFEST__BRANCH_IS_BRANCH
                                            ? dataset_text(d, lb_lance_str(m->branch))
                                            : "",
                              .transaction = dataset_text(d, lb_lance_str(m->transaction_file)),
                              .reader_flags = m->reader_feature_flags,
                              .writer_flags = m->writer_feature_flags,
                              .max_fragment = m->max_fragment_id_is_case == LB_PB__MANIFEST__MAX_FRAGMENT_ID_IS__NOT_SET
                                                  ? -1
                                                  : (int64_t)m->max_fragment_id,
                              .manifest_bytes = d->store->size,
                              .has_indices = d->m.indices != NULL,
                              .has_aux = d->m.aux != NULL };
    for (size_t i = 0; i < m->n_fragments; i++)
        out->files += m->fragments[i]->n_files;
    for (size_t i = 0; i < m->n_fields; i++)
        out->columns += m->fields[i]->parent_id == -1;
    if (d->set == NULL) {
        out->unreadable = d->unreadable.message;
        return LB_OK;
    }
    out->rows = (int64_t)d->set->rows;
    out->deleted = 0;
    for (size_t i = 0; i < d->set->n_fragments; i++)
        out->deleted += (int64_t)d->set->fragments[i].deleted;
    return LB_OK;
}

/* One call after the other: what they lend is made in one arena. */
#define DATASET_LOCKED(dataset, call)           \
    do {                                        \
        pthread_mutex_lock(&(dataset)->lock);   \
        lb_status dataset_status_ = (call);     \
        pthread_mutex_unlock(&(dataset)->lock); \
        return dataset_status_;                 \
    } while (0)

lb_status lb_dataset_get_info(lb_dataset *d, lb_dataset_info *out, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_info(d, out, err));
}

/* ---------------------------------------------------------------- versions */

static const char *dataset_tags_of(lb_dataset *d, const lb_version_tag *tags, size_t n, uint64_t version)
{
    lb_buf text;

    lb_buf_init(&text, NULL);
    for (size_t i = 0; i < n; i++)
        if (tags[i].version == version)
            (void)lb_buf_printf(&text, NULL, "%s%s", text.size == 0 ? "" : " ", tags[i].name);
    const char *copy = dataset_text(d, (lb_str){ (const char *)text.data, text.size });
    lb_buf_free(&text);
    return copy;
}

static lb_status dataset_look(lb_dataset *d, const lb_version_name *name, lb_dataset_version *out, lb_error *err)
{
    lb_manifest_glance glance;
    lb_store *store = NULL;
    lb_arena arena;

    lb_arena_init(&arena, &d->cx->budget);
    lb_status status = lb_check_cancel(d->cx, err);
    if (status == LB_OK)
        status = lb_version_open(d->root, name, &store, err);
    if (status == LB_OK)
        status = lb_manifest_look(store, &arena, &glance, err);
    if (status == LB_OK)
        *out = (lb_dataset_version){ .struct_size = sizeof *out,
                                     .version = name->version,
                                     .manifest = dataset_manifest_name(d, name),
                                     .bytes = store->size,
                                     .seconds = glance.seconds,
                                     .nanos = glance.nanos,
                                     .tag = dataset_text(d, glance.tag) };
    else if (store != NULL)
        lb_fail_path(err, store->path);
    lb_store_close(store);
    lb_arena_free(&arena);
    return status;
}

static lb_status dataset_list(lb_dataset *d, lb_error *err)
{
    lb_versions all;
    lb_version_tag *tags;
    size_t n_tags, n = 0;

    if (d->listed)
        return LB_OK;
    LB_TRY(lb_versions_list(d->root, &d->arena, &all, err));
    LB_TRY(lb_version_tags(d->root, &d->arena, &tags, &n_tags, err));
    d->versions = lb_arena_alloc(&d->arena, all.count + 1, sizeof *d->versions);
    if (d->versions == NULL)
        return lb_arena_fail(&d->arena, err);
    for (size_t i = 0; i < all.count; i++) {
        lb_error why = LB_ERROR_INIT;
        lb_status status = dataset_look(d, &all.items[i], &d->versions[n], &why);
        if (status == LB_NOTFOUND) /* cleaned up meanwhile */
            continue;
        if (status != LB_OK) {
            if (err != NULL)
                *err = why;
            return status;
        }
        d->versions[n].tags = dataset_tags_of(d, tags, n_tags, d->versions[n].version);
        n++;
    }
    d->n_versions = n;
    d->listed = true;
    return LB_OK;
}

lb_status lb_dataset_version_count(lb_dataset *d, uint64_t *count, lb_error *err)
{
    lb_error_clear(err);
    pthread_mutex_lock(&d->lock);
    lb_status status = dataset_list(d, err);
    *count = d->n_versions;
    pthread_mutex_unlock(&d->lock);
    return status;
}

lb_status lb_dataset_version_at(lb_dataset *d, uint64_t index, lb_dataset_version *out, lb_error *err)
{
    uint64_t count;

    LB_TRY(lb_dataset_version_count(d, &count, err));
    if (index >= count)
        return dataset_past("version", index, count, err);
    *out = d->versions[index];
    return LB_OK;
}

/* ---------------------------------------------------------------- fields */

/* The field whose nulls a column tells, or lists and booleans of such a column do. */
static int32_t dataset_null_of(const lb_dataset *d, const lb_lance_field *f)
{
    lb_lance_companions list = { 0 };
    int32_t found = -1;
    lb_arena arena;
    lb_str value;

    if (!lb_lance_entry_get(d->m.pb->metadata, d->m.pb->n_metadata, LB_LANCE_META_NULLS, &value))
        return -1;
    lb_arena_init(&arena, NULL);
    if (lb_lance_companions_parse(value, &arena, &list, NULL) == LB_OK)
        for (size_t i = 0; found < 0 && i < list.count; i++)
            if (list.items[i].field == f->id)
                found = list.items[i].of;
    lb_arena_free(&arena);
    return found;
}

static lb_status dataset_field(lb_dataset *d, uint64_t index, lb_dataset_field *out, lb_error *err)
{
    static const char *const encodings[] = { "none", "plain", "var_binary", "dictionary", "rle" };

    if (index >= d->m.pb->n_fields)
        return dataset_past("field", index, d->m.pb->n_fields, err);
    const lb_lance_field *f = d->m.pb->fields[index];
    *out = (lb_dataset_field){ .struct_size = sizeof *out,
                               .id = f->id,
                               .parent = f->parent_id,
                               .name = dataset_text(d, lb_lance_str(f->name)),
                               .logical_type = dataset_text(d, lb_lance_str(f->logical_type)),
                               .encoding =
                                   (unsigned)f->encoding < LB_COUNT_OF(encodings) ? encodings[f->encoding] : "unknown",
                               .nullable = f->nullable,
                               .null_of = dataset_null_of(d, f),
                               .dictionary_offset = f->dictionary == NULL ? -1 : f->dictionary->offset,
                               .dictionary_length = f->dictionary == NULL ? -1 : f->dictionary->length };
    return LB_OK;
}

lb_status lb_dataset_field_at(lb_dataset *d, uint64_t index, lb_dataset_field *out, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_field(d, index, out, err));
}

/* ---------------------------------------------------------------- fragments and files */

static lb_status dataset_fragment(lb_dataset *d, uint64_t index, lb_dataset_fragment *out, lb_error *err)
{
    char path[96] = "";

    if (index >= d->m.pb->n_fragments)
        return dataset_past("fragment", index, d->m.pb->n_fragments, err);
    const lb_lance_fragment *f = d->m.pb->fragments[index];
    LB_TRY(dataset_rows(d, err));
    *out = (lb_dataset_fragment){ .struct_size = sizeof *out,
                                  .id = f->id,
                                  .files = f->n_files,
                                  .rows = d->set == NULL ? -1 : (int64_t)d->set->fragments[index].rows,
                                  .rows_recorded = f->physical_rows == 0 ? -1 : (int64_t)f->physical_rows,
                                  .deleted = d->set == NULL ? -1 : (int64_t)d->set->fragments[index].deleted };
    if (f->deletion_file != NULL && lb_deletions_path(f->id, f->deletion_file, path, NULL) == LB_OK)
        out->deletion_file = dataset_text(d, lb_str_of(path));
    return LB_OK;
}

lb_status lb_dataset_fragment_at(lb_dataset *d, uint64_t index, lb_dataset_fragment *out, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_fragment(d, index, out, err));
}

static lb_status dataset_file(lb_dataset *d, uint64_t fragment, uint64_t index, lb_dataset_file *out, lb_error *err)
{
    if (fragment >= d->m.pb->n_fragments)
        return dataset_past("fragment", fragment, d->m.pb->n_fragments, err);
    const lb_lance_fragment *f = d->m.pb->fragments[fragment];
    if (index >= f->n_files)
        return dataset_past("file", index, f->n_files, err);
    const lb_lance_data_file *file = f->files[index];
    char *path = lb_arena_alloc(&d->arena, file->path.len + 6, 1);
    if (path == NULL)
        return lb_arena_fail(&d->arena, err);
    memcpy(path, "data/", 5);
    memcpy(path + 5, file->path.data, file->path.len);
    *out = (lb_dataset_file){ .struct_size = sizeof *out,
                              .path = path,
                              .fields = file->fields,
                              .n_fields = file->n_fields,
                              .major = file->file_major_version,
                              .minor = file->file_minor_version,
                              .bytes = file->file_size_bytes };
    return LB_OK;
}

lb_status lb_dataset_file_at(lb_dataset *d, uint64_t fragment, uint64_t index, lb_dataset_file *out, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_file(d, fragment, index, out, err));
}

/* ---------------------------------------------------------------- indices */

static void dataset_uuid(const uint8_t bytes[16], char out[37])
{
    size_t at = 0;

    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[at++] = '-';
        (void)snprintf(out + at, 37 - at, "%02x", bytes[i]);
        at += 2;
    }
}

static lb_status dataset_bitmap(lb_dataset *d, const lb_lance_index_entry *e, lb_dataset_index *out, lb_error *err)
{
    lb_buf ids;

    if (e->fragment_bitmap_is_case == LB_PB__INDEX_ENTRY__FRAGMENT_BITMAP_IS__NOT_SET)
        return LB_OK;
    lb_buf_init(&ids, &d->cx->budget);
    lb_status status =
        lb_roaring_decode(e->fragment_bitmap.data, e->fragment_bitmap.len, (uint64_t)UINT32_MAX + 1, &ids, err);
    if (status == LB_OK) {
        out->fragments = lb_arena_dup(&d->arena, ids.data, ids.size);
        out->n_fragments = ids.size / sizeof(uint32_t);
        status = out->fragments == NULL ? lb_arena_fail(&d->arena, err) : LB_OK;
    }
    lb_buf_free(&ids);
    return status;
}

static lb_status dataset_index(lb_dataset *d, uint64_t index, lb_dataset_index *out, lb_error *err)
{
    size_t n = d->m.indices == NULL ? 0 : d->m.indices->n_indices;
    char uuid[37];

    if (index >= n)
        return dataset_past("index", index, n, err);
    const lb_lance_index_entry *e = d->m.indices->indices[index];
    dataset_uuid(e->uuid->uuid.data, uuid);
    *out = (lb_dataset_index){ .struct_size = sizeof *out,
                               .name = dataset_text(d, lb_lance_str(e->name)),
                               .uuid = dataset_text(d, lb_str_of(uuid)),
                               .fields = e->fields,
                               .n_fields = e->n_fields,
                               .dataset_version = e->dataset_version,
                               .type = e->index_details == NULL
                                           ? ""
                                           : dataset_text(d, lb_lance_str(e->index_details->type_url)) };
    return dataset_bitmap(d, e, out, err);
}

lb_status lb_dataset_index_at(lb_dataset *d, uint64_t index, lb_dataset_index *out, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_index(d, index, out, err));
}

/* ---------------------------------------------------------------- metadata */

static lb_lance_entry *const *dataset_meta(const lb_dataset *d, lb_dataset_meta kind, size_t *n)
{
    const lb_lance_manifest *m = d->m.pb;

    switch (kind) {
    case LB_DATASET_SCHEMA:
        return *n = m->n_metadata, m->metadata;
    case LB_DATASET_AUX:
        *n = d->m.aux == NULL ? 0 : d->m.aux->n_metadata;
        return d->m.aux == NULL ? NULL : d->m.aux->metadata;
    case LB_DATASET_CONFIG:
        return *n = m->n_config, m->config;
    case LB_DATASET_TABLE:
        return *n = m->n_table_metadata, m->table_metadata;
    }
    *n = 0;
    return NULL;
}

uint64_t lb_dataset_meta_count(lb_dataset *d, lb_dataset_meta kind)
{
    size_t n;

    (void)dataset_meta(d, kind, &n);
    return n;
}

lb_status lb_dataset_meta_at(lb_dataset *d, lb_dataset_meta kind, uint64_t index, const char **key, const void **value,
                             size_t *size, lb_error *err)
{
    size_t n;
    lb_lance_entry *const *entries = dataset_meta(d, kind, &n);

    lb_error_clear(err);
    if (index >= n)
        return dataset_past("metadata", index, n, err);
    pthread_mutex_lock(&d->lock);
    *key = dataset_text(d, lb_lance_str(entries[index]->key));
    pthread_mutex_unlock(&d->lock);
    *value = entries[index]->value.data == NULL ? (const void *)"" : entries[index]->value.data;
    *size = entries[index]->value.len;
    return LB_OK;
}

/* ---------------------------------------------------------------- row ids */

static lb_status dataset_row_ids(lb_dataset *d, uint64_t first, uint64_t count, uint64_t *out, lb_error *err)
{
    LB_TRY(dataset_need_rows(d, err));
    if (first > d->set->rows || count > d->set->rows - first)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "rows up to %llu of a dataset of %llu",
                       (unsigned long long)(first + count), (unsigned long long)d->set->rows);
    for (uint64_t i = 0; i < count; i++)
        LB_TRY(lb_lance_set_row_id(d->set, first + i, &out[i], err));
    return LB_OK;
}

lb_status lb_dataset_row_ids(lb_dataset *d, uint64_t first, uint64_t count, uint64_t *out, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_row_ids(d, first, count, out, err));
}

static lb_status dataset_row_of_id(lb_dataset *d, uint64_t id, uint64_t *row, lb_error *err)
{
    uint64_t at = id & UINT32_MAX;
    const lb_deletions *deleted;

    LB_TRY(dataset_need_rows(d, err));
    for (size_t i = 0; i < d->set->n_fragments; i++) {
        const lb_lance_rows_of *f = &d->set->fragments[i];
        if (f->pb->id != id >> 32 || at >= f->rows)
            continue;
        LB_TRY(lb_lance_set_deletions(d->set, i, &deleted, err));
        *row = f->first + (deleted == NULL ? at : lb_deletions_live(deleted, at));
        if (deleted == NULL || lb_deletions_physical(deleted, *row - f->first) == at)
            return LB_OK;
        return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "row %llu of fragment %llu is deleted", (unsigned long long)at,
                       (unsigned long long)(id >> 32));
    }
    return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no row %llu of a fragment %llu", (unsigned long long)at,
                   (unsigned long long)(id >> 32));
}

lb_status lb_dataset_row_of_id(lb_dataset *d, uint64_t id, uint64_t *row, lb_error *err)
{
    lb_error_clear(err);
    DATASET_LOCKED(d, dataset_row_of_id(d, id, row, err));
}

/* ---------------------------------------------------------------- nearest vectors */

static lb_status dataset_search(lb_dataset *d, const lb_search *search, lb_hit *out, size_t *n, lb_error *err)
{
    LB_TRY(dataset_need_rows(d, err));
    return lb_lance_search(d->set, search, out, n, err);
}

lb_status lb_dataset_search(lb_dataset *d, const lb_search *search, lb_hit *out, size_t *n, lb_error *err)
{
    lb_error_clear(err);
    *n = 0;
    if (search->struct_size != sizeof *search)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_search.struct_size is %zu, not %zu", search->struct_size,
                       sizeof *search);
    DATASET_LOCKED(d, dataset_search(d, search, out, n, err));
}

/* ---------------------------------------------------------------- verifying */

/* The version is opened anew: an open one keeps what it has read, and the disk is what is asked about. */
lb_status lb_dataset_verify(lb_dataset *d, lb_error *err)
{
    const lb_version_name name = lb_dataset_store_version(d->store);
    lb_store *store = NULL;
    lb_lance_set *set = NULL;
    char spec[24];

    lb_error_clear(err);
    (void)snprintf(spec, sizeof spec, "%llu", (unsigned long long)name.version);
    LB_TRY(lb_dataset_store_open(d->cx, d->root, name.version == 0 ? NULL : spec, &store, err));
    lb_status status = lb_lance_set_open(d->cx, store, &set, err);
    if (status == LB_OK)
        status = lb_lance_verify(set, err);
    lb_lance_set_close(set);
    lb_store_close(store);
    return status;
}
