/* Making a vector index: its file first, then a version that names it (lance.md 9). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lance/dataset_store.h"
#include "lance/index_build.h"
#include "lance/lance_change.h"
#include "wire/roaring.h"

typedef struct index_state {
    const lb_lance_index_options *want;
    lb_lance_work work;
    lb_lance_snapshot base;
    lb_store *store;
    lb_lance_set *set;
    size_t column; /* among the shown ones */
    int32_t field;
    lb_index_file model;
    lb_index_rows rows;
    uint8_t uuid[16];
    char *folder; /* _indices/UUID */
    bool made;    /* it is there */
    lb_buf bitmap;
} index_state;

/* ---------------------------------------------------------------- names */

static void index_uuid_text(const uint8_t *b, char out[37])
{
    (void)snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
                   b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static int index_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: it is no UUID in lower-case letters. */
static bool index_uuid_bytes(const char *text, uint8_t out[16])
{
    char again[37];
    size_t n = 0;

    for (const char *p = text; *p != '\0' && n < 32; p++) {
        int digit = index_digit(*p);
        if (digit < 0)
            continue;
        out[n / 2] = (uint8_t)(n % 2 == 0 ? digit << 4 : out[n / 2] | digit);
        n++;
    }
    if (n != 32)
        return false;
    index_uuid_text(out, again);
    return strcmp(text, again) == 0;
}

static lb_status index_name_folder(index_state *st, const lb_lance_options *options, lb_error *err)
{
    lb_uuid_text fresh = lb_uuid_new();
    const char *text = options->file_names != NULL && options->file_names[0] != NULL ? options->file_names[0] : fresh.s;
    char path[64];

    if (!index_uuid_bytes(text, st->uuid))
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "'%.100s' is no UUID; an index lies in a folder named by one", text);
    (void)snprintf(path, sizeof path, "_indices/%s", text);
    st->folder = lb_arena_copy(&st->work.arena, lb_str_of(path));
    return st->folder == NULL ? lb_arena_fail(&st->work.arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- the index that stands */

static const lb_lance_index_entry *index_entry_of(const lb_manifest *m, lb_str name)
{
    for (size_t i = 0; m->indices != NULL && i < m->indices->n_indices; i++)
        if (lb_str_equal(lb_lance_str(m->indices->indices[i]->name), name))
            return m->indices->indices[i];
    return NULL;
}

/* Its partitions and codebook. */
static lb_status index_keep_model(index_state *st, lb_error *err)
{
    const lb_lance_index_entry *e = index_entry_of(&st->base.m, st->model.name);
    lb_index_file old;
    char uuid[37], path[80];
    lb_store *store;
    bool known;

    if (e == NULL || e->uuid == NULL || e->uuid->uuid.len != 16)
        return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "there is no index '%.*s' whose model could be kept",
                       (int)LB_MIN(st->model.name.size, (size_t)100), st->model.name.at);
    index_uuid_text(e->uuid->uuid.data, uuid);
    (void)snprintf(path, sizeof path, "_indices/%s/index.idx", uuid);
    LB_TRY(st->store->open_inside(st->store, path, &store, err));
    lb_status status = lb_index_file_read(store, &st->work.arena, &old, &known, err);
    lb_store_close(store);
    LB_TRY(status);
    uint64_t width = st->set->columns[st->column]->type.width;
    if (!known || old.rotation != NULL || old.dimension * sizeof(float) != width || e->n_fields != 1 ||
        e->fields[0] != st->field)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the model of index '%.*s' is not one that can be kept",
                       (int)LB_MIN(st->model.name.size, (size_t)100), st->model.name.at);
    old.name = st->model.name;
    old.column = st->model.column;
    st->model = old;
    return LB_OK;
}

/* ---------------------------------------------------------------- making it */

static lb_status index_check_name(const index_state *st, const lb_manifest *m, lb_error *err)
{
    if (st->want->replace || st->want->keep_model || index_entry_of(m, st->model.name) == NULL)
        return LB_OK;
    lb_fail(err, LB_USAGE, LB_NOWHERE, "there is an index '%.*s' already",
            (int)LB_MIN(st->model.name.size, (size_t)100), st->model.name.at);
    lb_fail_hint(err, "--force puts the new one in its place");
    return LB_USAGE;
}

static lb_status index_column(index_state *st, const char *column, lb_error *err)
{
    for (st->column = 0; st->column < st->set->n_columns; st->column++)
        if (lb_str_is(st->set->columns[st->column]->name, column))
            break;
    if (st->column == st->set->n_columns)
        return lb_fail(err, LB_NOTFOUND, LB_NOWHERE, "Column '%s' not found", column);
    st->field = st->set->columns[st->column]->id;
    return LB_OK;
}

static int index_order(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Row ids must say which fragment is meant: all are 0 in datasets of C++ releases. */
static lb_status index_check_ids(index_state *st, lb_error *err)
{
    size_t n = st->set->n_fragments;
    uint32_t *ids = lb_arena_alloc(&st->work.arena, n + 1, sizeof *ids);
    bool fits = true;

    if (ids == NULL)
        return lb_arena_fail(&st->work.arena, err);
    for (size_t i = 0; i < n; i++) {
        fits = fits && st->set->fragments[i].pb->id <= UINT32_MAX;
        ids[i] = (uint32_t)st->set->fragments[i].pb->id;
    }
    qsort(ids, n, sizeof *ids, index_order);
    for (size_t i = 1; i < n; i++)
        fits = fits && ids[i] != ids[i - 1];
    return fits ? LB_OK
                : lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                          "fragments have the same number, or one above 4294967295; their rows cannot be indexed");
}

static lb_status index_open(index_state *st, const char *column, lb_error *err)
{
    char spec[24];

    LB_TRY(lb_lance_snapshot_take(&st->work, 0, &st->base, err));
    LB_TRY(lb_lance_check_writable(&st->base.m, err));
    LB_TRY(lb_lance_check_storage(&st->work, &st->base, err));
    (void)snprintf(spec, sizeof spec, "%llu", (unsigned long long)st->base.version);
    LB_TRY(lb_dataset_store_open(st->work.cx, st->work.root, spec, &st->store, err));
    LB_TRY(lb_lance_set_open(st->work.cx, st->store, &st->set, err));
    LB_TRY(index_check_ids(st, err));
    return index_column(st, column, err);
}

static lb_status index_model(index_state *st, const char *column, lb_error *err)
{
    const lb_lance_index_options *w = st->want;
    const lb_index_wish wish = { .metric =
                                     w->metric == LB_METRIC_DEFAULT ? LB_INDEX_L2 : (lb_index_metric)(w->metric - 1),
                                 .partitions = w->partitions,
                                 .sub_vectors = w->sub_vectors,
                                 .rounds = w->rounds,
                                 .seed = w->seed };
    size_t size = strlen(column);
    char *name = w->name != NULL ? lb_arena_copy(&st->work.arena, lb_str_of(w->name))
                                 : lb_arena_alloc(&st->work.arena, size + sizeof "_idx", 1);

    if (name == NULL)
        return lb_arena_fail(&st->work.arena, err);
    if (w->name == NULL) {
        memcpy(name, column, size);
        memcpy(name + size, "_idx", sizeof "_idx");
    }
    st->model.name = lb_str_of(name);
    st->model.column = lb_str_of(column);
    LB_TRY(index_check_name(st, &st->base.m, err));
    if (w->keep_model) {
        LB_TRY(index_keep_model(st, err));
    } else {
        const lb_index_file names = st->model;
        LB_TRY(lb_index_train(st->set, st->column, &wish, &st->work.arena, &st->model, err));
        st->model.name = names.name;
        st->model.column = names.column;
    }
    st->model.dataset_version = st->base.version;
    return LB_OK;
}

static lb_status index_make_folder(index_state *st, lb_error *err)
{
    const char *all = lb_lance_work_path(&st->work, "_indices", ""),
               *own = lb_lance_work_path(&st->work, st->folder, "");

    if (all == NULL || own == NULL)
        return lb_arena_fail(&st->work.arena, err);
    if (mkdir(all, 0777) != 0 && errno != EEXIST)
        return lb_fail_errno(err, errno, all, "make the folder");
    if (mkdir(own, 0777) != 0)
        return lb_fail_errno(err, errno, own, "make the folder");
    st->made = true;
    return LB_OK;
}

static lb_status index_write(index_state *st, lb_error *err)
{
    lb_error why = LB_ERROR_INIT;
    lb_lance_out out;

    LB_TRY(index_make_folder(st, err));
    LB_TRY(lb_lance_out_make(&st->work, st->folder, "index.idx", &out, err));
    lb_status status = lb_index_put(&st->model, &st->rows, &st->work.cx->budget, lb_lance_out_write, &out, &why);
    if (out.error.code != LB_OK) {
        status = out.error.code;
        why = out.error;
    }
    if (status != LB_OK && err != NULL && err->code == LB_OK)
        *err = why;
    lb_status closed = lb_lance_out_close(&out, status == LB_OK, err);
    LB_TRY(status == LB_OK ? closed : status);
    LB_TRY(lb_lance_sync_folder(&st->work, st->folder, err));
    LB_TRY(lb_lance_sync_folder(&st->work, "_indices", err));
    return lb_lance_sync_folder(&st->work, "", err);
}

static void index_undo(index_state *st)
{
    const char *file = lb_lance_work_path(&st->work, st->folder, "index.idx"),
               *own = lb_lance_work_path(&st->work, st->folder, ""),
               *all = lb_lance_work_path(&st->work, "_indices", "");

    if (!st->made || file == NULL || own == NULL || all == NULL)
        return;
    (void)unlink(file);
    (void)rmdir(own);
    (void)rmdir(all); /* where it is empty */
}

/* ---------------------------------------------------------------- the change */

/* The file that holds a field of a fragment. */
static lb_str index_file_of(const lb_lance_fragment *f, int32_t field)
{
    for (size_t i = 0; i < f->n_files; i++)
        for (size_t k = 0; k < f->files[i]->n_fields; k++)
            if (f->files[i]->fields[k] == field)
                return lb_lance_str(f->files[i]->path);
    return (lb_str){ "", 0 };
}

/* Fragments of the newest version whose vectors are those that were indexed. */
static lb_status index_cover(index_state *st, const lb_lance_manifest *newest, lb_error *err)
{
    const lb_lance_manifest *was = st->base.m.pb;
    size_t n = 0, from = 0;
    lb_arena arena;

    lb_arena_init(&arena, &st->work.cx->budget);
    uint32_t *ids = lb_arena_alloc(&arena, newest->n_fragments + 1, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < newest->n_fragments; i++) {
        const lb_lance_fragment *f = newest->fragments[i];
        lb_str file = index_file_of(f, st->field);
        /* Fragments mostly stand as they stood. */
        for (size_t k = 0; k < was->n_fragments; k++, from++) {
            const lb_lance_fragment *old = was->fragments[from % was->n_fragments];
            if (old->id != f->id || !lb_str_equal(index_file_of(old, st->field), file))
                continue;
            ids[n++] = (uint32_t)f->id;
            from++;
            break;
        }
    }
    lb_status status = ids == NULL ? lb_arena_fail(&arena, err) : LB_OK;
    if (status == LB_OK && n == 0)
        status = lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer rewrote the rows that were being indexed");
    if (status == LB_OK) {
        qsort(ids, n, sizeof *ids, index_order);
        st->bitmap.size = 0;
        status = lb_roaring_encode(ids, n, &st->bitmap, err);
    }
    lb_arena_free(&arena);
    return status;
}

static lb_lance_index_entry *index_new_entry(index_state *st, lb_arena *arena)
{
    lb_lance_index_entry *e = lb_arena_alloc(arena, 1, sizeof *e);
    LbPb__Uuid *uuid = lb_arena_alloc(arena, 1, sizeof *uuid);
    int32_t *field = lb_arena_dup(arena, &st->field, sizeof st->field);

    if (e == NULL || uuid == NULL || field == NULL)
        return NULL;
    lb_pb__index_entry__init(e);
    lb_pb__uuid__init(uuid);
    uuid->uuid = lb_lance_bytes((lb_str){ (const char *)st->uuid, sizeof st->uuid });
    e->uuid = uuid;
    e->fields = field;
    e->n_fields = 1;
    e->name = lb_lance_bytes(st->model.name);
    e->fragment_bitmap_is_case = LB_PB__INDEX_ENTRY__FRAGMENT_BITMAP_IS_FRAGMENT_BITMAP;
    e->fragment_bitmap = lb_lance_bytes((lb_str){ (const char *)st->bitmap.data, st->bitmap.size });
    return e;
}

/* Entries with ours at the end, and without one of its name. */
static lb_status index_add_entry(lb_lance_snapshot *newest, lb_lance_index_entry *e, lb_error *err)
{
    size_t before = newest->m.indices == NULL ? 0 : newest->m.indices->n_indices, n = 0;
    lb_lance_index_section *section = lb_lance_no_indices(&newest->arena);
    lb_lance_index_entry **all = lb_arena_alloc(&newest->arena, before + 1, sizeof *all);

    if (section == NULL || all == NULL)
        return lb_arena_fail(&newest->arena, err);
    for (size_t i = 0; i < before; i++)
        if (!lb_str_equal(lb_lance_str(newest->m.indices->indices[i]->name), lb_lance_str(e->name)))
            all[n++] = newest->m.indices->indices[i];
    all[n++] = e;
    section->indices = all;
    section->n_indices = n;
    newest->m.indices = section;
    return LB_OK;
}

/* Releases up to 0.6.2 wrote the version that the index came with, later ones the version that was read; both mean the fragments that
 * this version lists. Where another writer came between, only the latter is true. */
static uint64_t index_version(const index_state *st, const lb_lance_snapshot *newest)
{
    bool modern = lb_lance_is_modern(newest->m.pb), between = newest->newest != st->base.version;

    return modern || between ? st->base.version : newest->newest + 1;
}

static lb_status index_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    index_state *st = user;

    LB_TRY(lb_lance_check_same_fields(&st->base, newest, err));
    LB_TRY(index_check_name(st, &newest->m, err));
    /* An index of cosines is told from those of early releases by who wrote the manifest. */
    if (st->model.metric == LB_INDEX_COSINE || lb_lance_is_modern(newest->m.pb))
        LB_TRY(lb_lance_make_modern(&st->work, newest, err));
    LB_TRY(index_cover(st, newest->m.pb, err));
    lb_lance_index_entry *e = index_new_entry(st, &newest->arena);
    if (e == NULL)
        return lb_arena_fail(&newest->arena, err);
    e->dataset_version = index_version(st, newest);
    return index_add_entry(newest, e, err);
}

/* ---------------------------------------------------------------- the call */

static lb_status index_run(index_state *st, const char *column, const lb_lance_options *options, lb_lance_result *out,
                           lb_error *err)
{
    lb_lance_note note = lb_lance_note_of(options);

    LB_TRY(index_name_folder(st, options, err));
    LB_TRY(index_open(st, column, err));
    LB_TRY(index_model(st, column, err));
    LB_TRY(lb_index_encode(st->set, st->column, &st->model, &st->rows, err));
    lb_status status = index_write(st, err);
    if (status == LB_OK)
        status = lb_lance_commit(&st->work, index_change, st, &note, &out->version, err);
    if (status != LB_OK && out->version == 0)
        index_undo(st);
    out->rows = st->rows.count;
    out->files = 1;
    out->fragments = st->base.m.pb->n_fragments;
    return status;
}

lb_status lb_lance_index(lb_context *cx, const char *path, const char *column, const lb_lance_index_options *index,
                         const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    static const lb_lance_options defaults = { .struct_size = sizeof defaults };
    static const lb_lance_index_options usual = { .struct_size = sizeof usual };
    lb_lance_result result = { .struct_size = sizeof result };
    index_state st = { .want = index == NULL ? &usual : index };

    lb_error_clear(err);
    if (st.want->struct_size != sizeof usual)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_lance_index_options.struct_size is %zu, not %zu",
                       st.want->struct_size, sizeof usual);
    if ((unsigned)st.want->metric > LB_METRIC_DOT)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "%d is no metric", (int)st.want->metric);
    lb_arena_init(&st.base.arena, &cx->budget);
    lb_index_rows_init(&st.rows, &cx->budget);
    lb_buf_init(&st.bitmap, &cx->budget);
    lb_status status = lb_lance_work_open(&st.work, cx, path, false, err);
    if (status == LB_OK)
        status = index_run(&st, column, options == NULL ? &defaults : options, &result, err);
    if (status != LB_OK)
        lb_fail_path(err, path);
    lb_index_rows_free(&st.rows);
    lb_buf_free(&st.bitmap);
    lb_lance_set_close(st.set);
    lb_store_close(st.store);
    lb_lance_snapshot_free(&st.base);
    lb_lance_work_close(&st.work);
    if (out != NULL)
        *out = result;
    return status;
}
