/* Create, append and overwrite: rows of a stream as a new version. */
#include <stdlib.h>

#include "column/stream.h"
#include "lance/lance_backfill.h"
#include "lance/lance_change.h"
#include "lance/lance_fit.h"

typedef enum store_verb { STORE_CREATE, STORE_APPEND, STORE_OVERWRITE } store_verb;

typedef struct store_state {
    store_verb verb;
    const lb_lance_options *options;
    lb_lance_work work;
    lb_lance_snapshot base; /* what the rows were fitted to */
    struct ArrowArrayStream *stream;
    struct ArrowSchema from; /* of the stream */
    lb_lance_fit fit;
    lb_lance_entry **metadata;
    size_t n_metadata;
    lb_lance_new_files files;
    lb_lance_companions fresh; /* that an append brought, their fields, and what they say of the rows before */
    lb_lance_fields fresh_fields;
    lb_lance_new_files filled;
    lb_buf dictionaries; /* for the manifest */
} store_state;

/* ---------------------------------------------------------------- metadata of the schema */

static bool store_sets(const lb_lance_options *o, lb_str key)
{
    for (size_t i = 0; i < o->n_metadata; i++)
        if (lb_str_is(key, o->metadata[i].key))
            return true;
    return false;
}

static lb_status store_metadata_add(store_state *st, lb_str key, lb_str value, lb_error *err)
{
    lb_lance_entry *e = lb_lance_entry_new(&st->work.arena, key, value);
    if (e == NULL)
        return lb_arena_fail(&st->work.arena, err);
    st->metadata[st->n_metadata++] = e;
    return LB_OK;
}

/* What the stream's schema says (for a new schema) or the dataset's (for an append), and what the options change of
 * it. */
static lb_status store_metadata(store_state *st, lb_error *err)
{
    const lb_lance_manifest *pb = st->base.m.pb;
    struct ArrowMetadataReader reader;
    struct ArrowStringView k, v;
    bool fresh = st->verb != STORE_APPEND || !st->base.exists;
    if (ArrowMetadataReaderInit(&reader, st->from.metadata) != NANOARROW_OK)
        reader.remaining_keys = 0;
    size_t cap = st->options->n_metadata + (fresh ? (size_t)LB_MAX(reader.remaining_keys, 0) : pb->n_metadata);
    st->metadata = lb_arena_alloc(&st->work.arena, LB_MAX(cap, 1), sizeof *st->metadata);
    if (st->metadata == NULL)
        return lb_arena_fail(&st->work.arena, err);
    while (fresh && ArrowMetadataReaderRead(&reader, &k, &v) == NANOARROW_OK) {
        lb_str key = { k.data, (size_t)k.size_bytes };
        if (!store_sets(st->options, key) && !lb_str_is(key, LB_LANCE_META_NULLS))
            LB_TRY(store_metadata_add(st, key, (lb_str){ v.data, (size_t)v.size_bytes }, err));
    }
    for (size_t i = 0; !fresh && i < pb->n_metadata; i++)
        if (!store_sets(st->options, lb_lance_str(pb->metadata[i]->key)))
            st->metadata[st->n_metadata++] = pb->metadata[i];
    for (size_t i = 0; i < st->options->n_metadata; i++) {
        const lb_key_value *kv = &st->options->metadata[i];
        if (kv->value != NULL)
            LB_TRY(store_metadata_add(st, lb_str_of(kv->key), (lb_str){ kv->value, kv->size }, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the writer */

static lb_status store_begin_append(store_state *st, lb_error *err)
{
    LB_TRY(lb_lance_fit_open(&st->fit, &st->work, &st->base, err));
    LB_TRY(lb_lance_fit_check(&st->fit, &st->from, err));
    return lb_lance_fit_writer(&st->fit, &st->base, st->options->nulls, st->metadata, st->n_metadata, err);
}

static lb_status store_begin_new(store_state *st, lb_error *err)
{
    lb_lance_writer_options o = { .nulls = st->options->nulls, .metadata = st->metadata, .n_metadata = st->n_metadata };
    LB_TRY(lb_lance_write_schema(&st->from, &st->fit.schema, err));
    LB_TRY(lb_lance_fields_of_schema(&st->fit.schema, 0, &st->work.arena, &st->fit.fields, err));
    st->fit.next_id = (int32_t)st->fit.fields.count;
    return lb_lance_writer_new(st->work.cx, &st->fit.schema, &st->fit.fields, &o, &st->fit.writer, err);
}

/* ---------------------------------------------------------------- the change */

/* An append leaves the fields as they are, but for where their dictionaries lie. */
static void store_place_dictionaries(const lb_lance_fields *written, lb_lance_manifest *pb)
{
    for (size_t i = 0; i < written->count; i++)
        for (size_t k = 0; written->items[i]->dictionary != NULL && k < pb->n_fields; k++)
            if (pb->fields[k]->id == written->items[i]->id)
                pb->fields[k]->dictionary = written->items[i]->dictionary;
}

static lb_status store_fields(store_state *st, lb_lance_snapshot *newest, lb_error *err)
{
    lb_lance_fields all;
    lb_lance_companions list;
    lb_lance_manifest *pb = newest->m.pb;
    bool append = st->verb == STORE_APPEND && newest->exists;
    LB_TRY(lb_lance_writer_fields(st->fit.writer, &newest->arena, &all, &list, err));
    st->dictionaries.size = 0;
    LB_TRY(lb_lance_writer_dictionaries(st->fit.writer, 0, &st->dictionaries, err));
    newest->dictionaries = (lb_str){ (char *)st->dictionaries.data, st->dictionaries.size };
    pb->metadata = st->metadata;
    pb->n_metadata = st->n_metadata;
    if (append) {
        store_place_dictionaries(&all, pb);
        if (st->fresh.count == 0)
            return LB_OK;
        LB_TRY(lb_lance_extra_add(&st->base, &st->filled, newest, err));
        return lb_lance_extra_fields(&st->fresh_fields, &st->fresh, newest, err);
    }
    pb->fields = all.items;
    pb->n_fields = all.count;
    return list.count == 0 ? LB_OK : lb_lance_set_companions(newest, &list, err);
}

static lb_status store_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    store_state *st = user;
    lb_lance_manifest *pb = newest->m.pb;
    if (st->verb == STORE_CREATE && newest->exists)
        return lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer made the dataset meanwhile");
    if (st->verb == STORE_APPEND && newest->exists != st->base.exists)
        return lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer made the dataset meanwhile");
    if (st->verb == STORE_OVERWRITE)
        LB_TRY(lb_lance_forget_rows(newest, err));
    if (st->verb == STORE_APPEND && newest->exists) {
        LB_TRY(lb_lance_check_same_fields(&st->base, newest, err));
        if (newest->m.indices == NULL && (newest->m.indices = lb_lance_no_indices(&newest->arena)) == NULL)
            return lb_arena_fail(&newest->arena, err);
    }
    bool modern = newest->exists && lb_lance_is_modern(pb);
    LB_TRY(store_fields(st, newest, err));
    LB_TRY(lb_lance_add_fragments(newest, &st->files, modern, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- the calls */

static lb_status store_open(store_state *st, lb_context *cx, const char *path, lb_error *err)
{
    bool make = st->verb == STORE_CREATE || (st->verb == STORE_APPEND && st->options->replace);
    if (st->verb == STORE_CREATE)
        LB_TRY(lb_lance_check_vacant(path, err));
    LB_TRY(lb_lance_work_open(&st->work, cx, path, make, err));
    LB_TRY(lb_lance_snapshot_take(&st->work, 0, &st->base, err));
    LB_TRY(lb_lance_check_writable(&st->base.m, err));
    LB_TRY(lb_lance_check_storage(&st->work, &st->base, err));
    return lb_stream_schema(st->stream, &st->from, err);
}

static bool store_knows(const lb_lance_companions *known, int32_t field)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].field == field)
            return true;
    return false;
}

/* Columns that got their first nulls have a companion from now on, and rows that are there already need it too. */
static lb_status store_backfill(store_state *st, lb_error *err)
{
    lb_lance_fields all;
    lb_lance_companions list;
    if (st->verb != STORE_APPEND || !st->base.exists)
        return LB_OK;
    LB_TRY(lb_lance_writer_fields(st->fit.writer, &st->work.arena, &all, &list, err));
    st->fresh.items = lb_arena_alloc(&st->work.arena, list.count + 1, sizeof *st->fresh.items);
    st->fresh_fields.items = lb_arena_alloc(&st->work.arena, all.count + 1, sizeof *st->fresh_fields.items);
    if (st->fresh.items == NULL || st->fresh_fields.items == NULL)
        return lb_arena_fail(&st->work.arena, err);
    for (size_t i = 0; i < list.count; i++) {
        size_t at = 0;
        if (store_knows(&st->fit.companions, list.items[i].field))
            continue;
        while (at < all.count && all.items[at]->id != list.items[i].field)
            at++;
        do
            st->fresh_fields.items[st->fresh_fields.count++] = all.items[at++];
        while (at < all.count && all.items[at]->parent_id != -1);
        st->fresh.items[st->fresh.count++] = list.items[i];
    }
    if (st->fresh.count == 0)
        return LB_OK;
    return lb_lance_backfill(&st->work, &st->base, &st->fresh, &st->fresh_fields, st->metadata, st->n_metadata,
                             &st->filled, err);
}

static lb_status store_run(store_state *st, lb_lance_result *out, lb_error *err)
{
    lb_lance_rows_options ro = { .group_rows = st->options->group_rows,
                                 .file_rows = st->options->file_rows,
                                 .whole_batches = st->options->whole_batches,
                                 .file_names = st->options->file_names };
    LB_TRY(store_metadata(st, err));
    LB_TRY(st->verb == STORE_APPEND && st->base.exists ? store_begin_append(st, err) : store_begin_new(st, err));
    LB_TRY(lb_lance_rows_write(&st->work, st->stream, &st->from, st->fit.writer, &st->fit.schema, &ro, &st->fit.next_id,
                               &st->files, err));
    lb_lance_note note = lb_lance_note_of(st->options);
    lb_status s = store_backfill(st, err);
    if (s == LB_OK)
        s = lb_lance_commit(&st->work, store_change, st, &note, &out->version, err);
    if (s != LB_OK && out->version == 0) {
        lb_lance_rows_undo(&st->work, &st->files);
        lb_lance_rows_undo(&st->work, &st->filled);
    }
    out->rows = st->files.rows;
    out->files = st->files.count;
    return s;
}

static lb_status store_call(store_verb verb, lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                            const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    static const lb_lance_options defaults = { .struct_size = sizeof defaults };
    lb_lance_result result = { .struct_size = sizeof result };
    store_state st = { .verb = verb, .options = options == NULL ? &defaults : options, .stream = rows };
    lb_error_clear(err);
    st.work.versions_fd = -1;
    lb_arena_init(&st.work.arena, &cx->budget);
    lb_arena_init(&st.base.arena, &cx->budget);
    lb_buf_init(&st.dictionaries, &cx->budget);
    lb_status s = store_open(&st, cx, path, err);
    if (s == LB_OK)
        s = store_run(&st, &result, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    if (s != LB_OK && result.version == 0)
        lb_lance_work_unmake(&st.work);
    if (rows->release != NULL)
        rows->release(rows);
    lb_lance_fit_close(&st.fit);
    lb_buf_free(&st.dictionaries);
    if (st.from.release != NULL)
        st.from.release(&st.from);
    lb_lance_snapshot_free(&st.base);
    lb_lance_work_close(&st.work);
    if (out != NULL)
        *out = result;
    return s;
}

lb_status lb_lance_create(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                          const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    return store_call(STORE_CREATE, cx, path, rows, options, out, err);
}

lb_status lb_lance_append(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                          const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    return store_call(STORE_APPEND, cx, path, rows, options, out, err);
}

lb_status lb_lance_overwrite(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                             const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    return store_call(STORE_OVERWRITE, cx, path, rows, options, out, err);
}
