/* Create, append and overwrite: rows of a stream as a new version. */
#include <stdlib.h>

#include "column/stream.h"
#include "column/values.h"
#include "format/lance/lance_read.h"
#include "lance/lance_change.h"
#include "lance/lance_rows.h"

typedef enum store_verb { STORE_CREATE, STORE_APPEND, STORE_OVERWRITE } store_verb;

typedef struct store_state {
    store_verb verb;
    const lb_lance_options *options;
    lb_lance_work work;
    lb_lance_snapshot base; /* what the rows were fitted to */
    struct ArrowArrayStream *stream;
    struct ArrowSchema from, to; /* of the stream; as written */
    lb_lance_fields fields;
    lb_lance_companions companions;
    lb_lance_entry **metadata;
    size_t n_metadata;
    lb_lance_writer *writer;
    int32_t next_id;
    lb_lance_new_files files;
    lb_buf dictionaries; /* for the manifest */
    bool new_fields;     /* companions came into being */
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

/* What the stream's schema says (for a new schema) or the dataset's (for an append), and what the options change of it. */
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

/* ---------------------------------------------------------------- fields of a dataset that is appended to */

/* The place behind a field and everything inside it; parents stand before their children. */
static size_t store_subtree_end(const lb_lance_manifest *pb, size_t at)
{
    size_t end = at + 1;
    while (end < pb->n_fields && pb->fields[end]->parent_id != -1)
        end++;
    return end;
}

static bool store_is_companion(const store_state *st, int32_t id)
{
    for (size_t i = 0; i < st->companions.count; i++)
        if (st->companions.items[i].field == id)
            return true;
    return false;
}

static lb_status store_field_schema(store_state *st, const lb_lance_tree *tree, struct ArrowSchema *out, lb_error *err)
{
    const lb_lance_manifest *pb = st->base.m.pb;
    int64_t n = 0;
    for (size_t i = 0; i < tree->n_columns; i++)
        n += !store_is_companion(st, tree->columns[i]->id);
    LB_TRY(lb_schema_struct(out, n, err));
    st->fields.items = lb_arena_alloc(&st->work.arena, LB_MAX(pb->n_fields, 1), sizeof *st->fields.items);
    if (st->fields.items == NULL)
        return lb_arena_fail(&st->work.arena, err);
    n = 0;
    for (size_t i = 0; i < tree->n_columns; i++) {
        const lb_lance_node *node = tree->columns[i];
        struct ArrowSchema child = { .release = NULL };
        if (store_is_companion(st, node->id))
            continue;
        LB_TRY(lb_lance_node_schema(node, &child, err));
        out->children[n]->release(out->children[n]);
        ArrowSchemaMove(&child, out->children[n++]);
        for (size_t at = node->index, end = store_subtree_end(pb, at); at < end; at++)
            st->fields.items[st->fields.count++] = pb->fields[at];
    }
    return LB_OK;
}

/* Types without what may differ: nullability, metadata. */
static bool store_same_type(const struct ArrowSchema *a, const struct ArrowSchema *b, int depth)
{
    if (depth > LB_TYPE_DEPTH || strcmp(a->format, b->format) != 0 || a->n_children != b->n_children ||
        (a->dictionary == NULL) != (b->dictionary == NULL))
        return false;
    for (int64_t i = 0; i < a->n_children; i++)
        if (!store_same_type(a->children[i], b->children[i], depth + 1))
            return false;
    return true;
}

static const struct ArrowSchema *store_find(const struct ArrowSchema *s, const char *name)
{
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->name != NULL && strcmp(s->children[i]->name, name) == 0)
            return s->children[i];
    return NULL;
}

static lb_status store_fit_column(const struct ArrowSchema *have, const struct ArrowSchema *want, lb_error *err)
{
    struct ArrowSchema met = { .release = NULL };
    lb_column_side a = { .field = want }, b = { .field = have };
    bool fits = false;
    LB_TRY(lb_types_meet(&a, &b, &met, &fits, err));
    if (fits) {
        struct ArrowSchema plain;
        lb_status s = lb_schema_plain(want, &plain, err);
        fits = s == LB_OK && store_same_type(&met, &plain, 0);
        met.release(&met);
        if (s != LB_OK)
            return s;
        plain.release(&plain);
    }
    if (fits)
        return LB_OK;
    lb_buf x, y;
    lb_buf_init(&x, NULL);
    lb_buf_init(&y, NULL);
    lb_status s = lb_type_words(have, false, &x, err);
    if (s == LB_OK)
        s = lb_type_words(want, false, &y, err);
    if (s == LB_OK)
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%.100s' is %.150s, the dataset has %.150s", want->name,
                    lb_buf_text(&x), lb_buf_text(&y));
    lb_buf_free(&x);
    lb_buf_free(&y);
    return s;
}

static lb_status store_fit(const struct ArrowSchema *from, const struct ArrowSchema *to, lb_error *err)
{
    for (int64_t i = 0; i < to->n_children; i++) {
        const struct ArrowSchema *have = store_find(from, to->children[i]->name);
        if (have == NULL)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%.200s' of the dataset is missing", to->children[i]->name);
        LB_TRY(store_fit_column(have, to->children[i], err));
    }
    for (int64_t i = 0; i < from->n_children; i++) {
        const char *name = from->children[i]->name == NULL ? "" : from->children[i]->name;
        if (store_find(to, name) != NULL)
            continue;
        lb_fail(err, LB_USAGE, LB_NOWHERE, "the dataset has no column '%.200s'", name);
        lb_fail_hint(err, "`lakebed lance add-columns` adds columns");
        return LB_USAGE;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the writer */

static lb_status store_make_writer(store_state *st, lb_error *err)
{
    lb_lance_writer_options o = { .nulls = st->options->nulls,
                                  .fixed_nullable = st->verb == STORE_APPEND && st->base.exists,
                                  .metadata = st->metadata,
                                  .n_metadata = st->n_metadata };
    return lb_lance_writer_new(st->work.cx, &st->to, &st->fields, &o, &st->writer, err);
}

/* Dictionaries that the dataset has go on. */
static lb_status store_load_dictionaries(store_state *st, const lb_lance_tree *tree, lb_error *err)
{
    lb_store *store;
    LB_TRY(lb_store_open_memory(st->base.dictionaries.at, st->base.dictionaries.size, &store, err));
    lb_status s = LB_OK;
    for (size_t i = 0; i < st->fields.count && s == LB_OK; i++) {
        const lb_lance_field *f = st->fields.items[i];
        lb_lance_dictionary d;
        if (f->dictionary == NULL)
            continue;
        s = lb_lance_dictionary_load(lb_lance_tree_find(tree, f->id), f, store, store->size, &st->work.arena, &d, err);
        if (s == LB_OK)
            s = lb_lance_writer_set_dictionary(st->writer, i, d.count, d.ends, d.data, err);
    }
    lb_store_close(store);
    return s;
}

/* Companions that the dataset has go on telling, in every file. */
static lb_status store_keep_companions(store_state *st, lb_error *err)
{
    const lb_lance_manifest *pb = st->base.m.pb;
    for (size_t i = 0; i < st->companions.count; i++) {
        size_t at = 0;
        while (at < pb->n_fields && pb->fields[at]->id != st->companions.items[i].field)
            at++;
        if (at == pb->n_fields) /* somebody dropped the column: nothing tells any more */
            continue;
        LB_TRY(lb_lance_writer_keep(st->writer, &st->companions.items[i], &pb->fields[at],
                                    store_subtree_end(pb, at) - at, err));
    }
    return LB_OK;
}

static lb_status store_begin_append(store_state *st, lb_error *err)
{
    const lb_lance_manifest *pb = st->base.m.pb;
    lb_lance_tree tree;
    lb_str list;
    if (lb_lance_entry_get(pb->metadata, pb->n_metadata, LB_LANCE_META_NULLS, &list))
        LB_TRY(lb_lance_companions_parse(list, &st->work.arena, &st->companions, err));
    LB_TRY(lb_lance_tree_make(pb->fields, pb->n_fields, &st->work.arena, &tree, err));
    LB_TRY(store_field_schema(st, &tree, &st->to, err));
    LB_TRY(store_fit(&st->from, &st->to, err));
    LB_TRY(store_make_writer(st, err));
    st->next_id = lb_lance_next_field_id(pb);
    LB_TRY(store_load_dictionaries(st, &tree, err));
    return store_keep_companions(st, err);
}

static lb_status store_begin_new(store_state *st, lb_error *err)
{
    LB_TRY(lb_lance_write_schema(&st->from, &st->to, err));
    LB_TRY(lb_lance_fields_of_schema(&st->to, 0, &st->work.arena, &st->fields, err));
    st->next_id = (int32_t)st->fields.count;
    return store_make_writer(st, err);
}

/* ---------------------------------------------------------------- the change */

static lb_status store_fields(store_state *st, lb_lance_snapshot *newest, lb_error *err)
{
    lb_lance_fields all;
    lb_lance_companions list;
    lb_lance_manifest *pb = newest->m.pb;
    LB_TRY(lb_lance_writer_fields(st->writer, &newest->arena, &all, &list, err));
    st->dictionaries.size = 0;
    LB_TRY(lb_lance_writer_dictionaries(st->writer, 0, &st->dictionaries, err));
    newest->dictionaries = (lb_str){ (char *)st->dictionaries.data, st->dictionaries.size };
    pb->fields = all.items;
    pb->n_fields = all.count;
    pb->metadata = st->metadata;
    pb->n_metadata = st->n_metadata;
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

static lb_status store_run(store_state *st, lb_lance_result *out, lb_error *err)
{
    lb_lance_rows_options ro = { .group_rows = st->options->group_rows,
                                 .file_rows = st->options->file_rows,
                                 .whole_batches = st->options->whole_batches,
                                 .file_names = st->options->file_names };
    LB_TRY(store_metadata(st, err));
    LB_TRY(st->verb == STORE_APPEND && st->base.exists ? store_begin_append(st, err) : store_begin_new(st, err));
    LB_TRY(lb_lance_rows_write(&st->work, st->stream, &st->from, st->writer, &st->to, &ro, &st->next_id, &st->files, err));
    lb_lance_note note = lb_lance_note_of(st->options);
    lb_status s = lb_lance_commit(&st->work, store_change, st, &note, &out->version, err);
    if (s != LB_OK && out->version == 0)
        lb_lance_rows_undo(&st->work, &st->files);
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
    if (rows->release != NULL)
        rows->release(rows);
    lb_lance_writer_free(st.writer);
    lb_buf_free(&st.dictionaries);
    if (st.from.release != NULL)
        st.from.release(&st.from);
    if (st.to.release != NULL)
        st.to.release(&st.to);
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
