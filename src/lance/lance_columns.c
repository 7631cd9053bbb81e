/* Adding columns: one further data file for each fragment, with the batches of its first one (lance.md 8.3). */
#include <stdio.h>

#include "base/names.h"
#include "column/stream.h"
#include "lance/dataset_store.h"
#include "lance/fragments.h"
#include "lance/lance_change.h"

typedef struct columns_state {
    const lb_lance_options *options;
    lb_lance_work work;
    lb_lance_snapshot base;
    lb_store *store;
    lb_lance_set *set;
    struct ArrowArrayStream *stream;
    struct ArrowSchema from, to;
    lb_lance_fields fields;
    lb_lance_writer *writer;
    int32_t next_id;
    lb_lance_batch *batch; /* rows of the stream that come next */
    int64_t at;
    bool ended;
    uint64_t taken;           /* rows of the stream */
    lb_buf parts, spent;      /* lb_lance_rows of a group; lb_lance_batch * that can go after it */
    lb_lance_new_files files; /* one for each fragment of the base */
    lb_buf dictionaries;
} columns_state;

/* ---------------------------------------------------------------- rows of the stream, as many as asked */

static lb_status columns_next(columns_state *st, lb_error *err)
{
    struct ArrowArray raw, ready;
    LB_TRY(lb_stream_next(st->stream, &raw, err));
    st->ended = raw.release == NULL;
    st->at = 0;
    if (st->ended)
        return LB_OK;
    LB_TRY(lb_lance_write_batch(&st->from, &raw, &st->to, &ready, err));
    return lb_lance_batch_open(st->writer, &ready, &st->batch, err);
}

static lb_status columns_part(columns_state *st, const lb_lance_batch *batch, int64_t first, int64_t count,
                              lb_error *err)
{
    lb_lance_rows part = { batch, first, count };
    return count == 0 ? LB_OK : lb_buf_append(&st->parts, &part, sizeof part, err);
}

static lb_status columns_take(columns_state *st, uint64_t count, lb_error *err)
{
    while (count > 0) {
        int64_t left = st->batch == NULL ? 0 : lb_lance_batch_rows(st->batch) - st->at;
        if (left == 0) {
            if (st->batch != NULL)
                LB_TRY(lb_buf_append(&st->spent, &st->batch, sizeof st->batch, err));
            st->batch = NULL;
            LB_TRY(columns_next(st, err));
            if (st->ended)
                return lb_fail(err, LB_USAGE, LB_NOWHERE, "the dataset has %llu rows, the new columns only %llu",
                               (unsigned long long)st->set->rows, (unsigned long long)st->taken);
            continue;
        }
        int64_t n = (uint64_t)left < count ? left : (int64_t)count;
        LB_TRY(columns_part(st, st->batch, st->at, n, err));
        st->at += n;
        st->taken += (uint64_t)n;
        count -= (uint64_t)n;
    }
    return LB_OK;
}

static void columns_drop(columns_state *st)
{
    lb_lance_batch **spent = (lb_lance_batch **)(void *)st->spent.data;
    for (size_t i = 0; i < st->spent.size / sizeof *spent; i++)
        lb_lance_batch_free(spent[i]);
    st->spent.size = st->parts.size = 0;
}

/* ---------------------------------------------------------------- the file of one fragment */

/* Parts of physical rows [from, to): those that were deleted have no row in the stream, and nothing is stored for
 * them. */
static lb_status columns_parts(columns_state *st, const lb_deletions *gone, uint64_t from, uint64_t to, lb_error *err)
{
    while (from < to) {
        uint64_t before = gone == NULL ? 0 : from - lb_deletions_live(gone, from); /* deleted ones before `from` */
        uint64_t next = gone == NULL || before >= gone->count ? to : LB_MIN(gone->rows[before], to);
        LB_TRY(columns_take(st, next - from, err));
        from = next;
        for (; from < to && before < gone->count && gone->rows[before] == from; before++)
            from++;
        if (from > next)
            LB_TRY(columns_part(st, NULL, 0, (int64_t)(from - next), err));
    }
    return LB_OK;
}

static lb_status columns_groups(columns_state *st, size_t fragment, const lb_lance_data *data, lb_error *err)
{
    const lb_deletions *gone = NULL;
    LB_TRY(lb_lance_set_deletions(st->set, fragment, &gone, err));
    for (size_t i = 0; i < data->n_batches; i++) {
        uint64_t row = st->taken;
        LB_TRY(columns_parts(st, gone, (uint64_t)data->offsets[i], (uint64_t)data->offsets[i + 1], err));
        lb_status s = lb_lance_writer_group(st->writer, (const lb_lance_rows *)(void *)st->parts.data,
                                            st->parts.size / sizeof(lb_lance_rows), row, err);
        columns_drop(st);
        LB_TRY(s);
    }
    return LB_OK;
}

static lb_status columns_file(columns_state *st, size_t fragment, lb_lance_out *out, lb_error *err)
{
    lb_lance_data *data;
    lb_lance_written written;
    LB_TRY(lb_lance_set_take(st->set, fragment, 0, &data, err));
    lb_lance_writer_begin(st->writer, lb_lance_out_write, out);
    lb_status s = columns_groups(st, fragment, data, err);
    lb_lance_set_give(st->set, fragment, 0);
    LB_TRY(s);
    bool more = fragment + 1 < st->set->n_fragments;
    LB_TRY(lb_lance_writer_end(st->writer, more, &st->next_id, &st->work.arena, &written, err));
    st->files.items[st->files.count++] =
        (lb_lance_new_file){ .name = out->name, .rows = written.rows, .ids = written.ids, .n_ids = written.n_ids };
    return LB_OK;
}

static lb_status columns_files(columns_state *st, lb_error *err)
{
    const char *const *names = st->options->file_names;
    st->files.items = lb_arena_alloc(&st->work.arena, st->set->n_fragments + 1, sizeof *st->files.items);
    if (st->files.items == NULL)
        return lb_arena_fail(&st->work.arena, err);
    for (size_t i = 0; i < st->set->n_fragments; i++) {
        lb_lance_out out;
        lb_error why = LB_ERROR_INIT;
        lb_status s = lb_lance_out_open(&st->work, names == NULL || *names == NULL ? NULL : *names++, &out, &why);
        if (s == LB_OK)
            s = columns_file(st, i, &out, &why);
        if (s != LB_OK && out.error.code != LB_OK)
            why = out.error;
        if (s != LB_OK && err != NULL && err->code == LB_OK)
            *err = why;
        lb_status closed = lb_lance_out_close(&out, s == LB_OK, err);
        LB_TRY(s);
        LB_TRY(closed);
    }
    while (!st->ended) { /* nothing may be left over */
        if (st->batch != NULL && lb_lance_batch_rows(st->batch) > st->at)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "the dataset has %llu rows, the new columns have more",
                           (unsigned long long)st->set->rows);
        lb_lance_batch_free(st->batch);
        st->batch = NULL;
        LB_TRY(columns_next(st, err));
    }
    return st->files.count == 0 ? LB_OK : lb_lance_sync_folder(&st->work, "data", err);
}

/* ---------------------------------------------------------------- the change */

static lb_status columns_fragment(lb_lance_snapshot *newest, lb_lance_fragment *f, const lb_lance_new_file *file,
                                  lb_error *err)
{
    LbPb__DataFile **files = lb_arena_alloc(&newest->arena, f->n_files + 1, sizeof *files);
    if (files == NULL)
        return lb_arena_fail(&newest->arena, err);
    memcpy(files, f->files, f->n_files * sizeof *files);
    files[f->n_files] = lb_lance_file_new(&newest->arena, file);
    if (files[f->n_files] == NULL)
        return lb_arena_fail(&newest->arena, err);
    f->files = files;
    f->n_files++;
    return LB_OK;
}

/* Each fragment of the newest version has to be one that got a file. */
static lb_status columns_fragments(columns_state *st, lb_lance_snapshot *newest, lb_error *err)
{
    lb_lance_manifest *pb = newest->m.pb, *was = st->base.m.pb;
    size_t from = 0;
    for (size_t i = 0; i < pb->n_fragments; i++) {
        lb_lance_fragment *f = pb->fragments[i];
        while (from < was->n_fragments &&
               (was->fragments[from]->id != f->id || f->n_files == 0 ||
                !lb_str_equal(lb_lance_str(was->fragments[from]->files[0]->path), lb_lance_str(f->files[0]->path))))
            from++;
        if (from == was->n_fragments)
            return lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer added or rewrote rows meanwhile");
        LB_TRY(columns_fragment(newest, f, &st->files.items[from++], err));
    }
    return LB_OK;
}

static lb_status columns_schema(columns_state *st, lb_lance_snapshot *newest, lb_error *err)
{
    lb_lance_manifest *pb = newest->m.pb;
    lb_lance_fields added;
    lb_lance_companions list, known = { NULL, 0 };
    lb_str text;
    LB_TRY(lb_lance_writer_fields(st->writer, &newest->arena, &added, &list, err));
    lb_lance_field **all = lb_arena_alloc(&newest->arena, pb->n_fields + added.count, sizeof *all);
    if (all == NULL)
        return lb_arena_fail(&newest->arena, err);
    if (pb->n_fields != 0)
        memcpy(all, pb->fields, pb->n_fields * sizeof *all);
    memcpy(all + pb->n_fields, added.items, added.count * sizeof *all);
    pb->fields = all;
    pb->n_fields += added.count;
    if (list.count == 0)
        return LB_OK;
    if (lb_lance_entry_get(pb->metadata, pb->n_metadata, LB_LANCE_META_NULLS, &text))
        LB_TRY(lb_lance_companions_parse(text, &newest->arena, &known, err));
    lb_lance_companion *both = lb_arena_alloc(&newest->arena, known.count + list.count, sizeof *both);
    if (both == NULL)
        return lb_arena_fail(&newest->arena, err);
    if (known.count != 0)
        memcpy(both, known.items, known.count * sizeof *both);
    memcpy(both + known.count, list.items, list.count * sizeof *both);
    lb_lance_companions sum = { both, known.count + list.count };
    return lb_lance_set_companions(newest, &sum, err);
}

static lb_status columns_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    columns_state *st = user;
    LB_TRY(lb_lance_check_same_fields(&st->base, newest, err));
    LB_TRY(columns_fragments(st, newest, err));
    LB_TRY(columns_schema(st, newest, err));
    st->dictionaries.size = 0;
    LB_TRY(lb_buf_append(&st->dictionaries, newest->dictionaries.at, newest->dictionaries.size, err));
    LB_TRY(lb_lance_writer_dictionaries(st->writer, newest->dictionaries.size, &st->dictionaries, err));
    newest->dictionaries = (lb_str){ (char *)st->dictionaries.data, st->dictionaries.size };
    return lb_lance_apply_metadata(newest, st->options, err);
}

/* ---------------------------------------------------------------- the call */

static lb_status columns_check_names(const columns_state *st, lb_error *err)
{
    const lb_lance_manifest *pb = st->base.m.pb;
    for (int64_t i = 0; i < st->to.n_children; i++)
        for (size_t k = 0; k < pb->n_fields; k++)
            if (pb->fields[k]->parent_id == -1 &&
                lb_str_is(lb_lance_str(pb->fields[k]->name), st->to.children[i]->name))
                return lb_fail(err, LB_USAGE, LB_NOWHERE, "the dataset has a column '%.200s' already",
                               st->to.children[i]->name);
    return LB_OK;
}

static lb_status columns_open(columns_state *st, lb_error *err)
{
    char spec[24];
    lb_lance_writer_options o = { .nulls = st->options->nulls };
    LB_TRY(lb_lance_snapshot_take(&st->work, 0, &st->base, err));
    LB_TRY(lb_lance_check_writable(&st->base.m, err));
    LB_TRY(lb_lance_check_storage(&st->work, &st->base, err));
    (void)snprintf(spec, sizeof spec, "%llu", (unsigned long long)st->base.version);
    LB_TRY(lb_dataset_store_open(st->work.cx, st->work.root, spec, &st->store, err));
    LB_TRY(lb_lance_set_open(st->work.cx, st->store, &st->set, err));
    LB_TRY(lb_stream_schema(st->stream, &st->from, err));
    LB_TRY(lb_lance_write_schema(&st->from, &st->to, err));
    LB_TRY(columns_check_names(st, err));
    st->next_id = lb_lance_next_field_id(st->base.m.pb);
    LB_TRY(lb_lance_fields_of_schema(&st->to, st->next_id, &st->work.arena, &st->fields, err));
    st->next_id += (int32_t)st->fields.count;
    return lb_lance_writer_new(st->work.cx, &st->to, &st->fields, &o, &st->writer, err);
}

static lb_status columns_run(columns_state *st, lb_lance_result *out, lb_error *err)
{
    lb_lance_note note = lb_lance_note_of(st->options);
    LB_TRY(columns_open(st, err));
    lb_status s = columns_files(st, err);
    if (s == LB_OK)
        s = lb_lance_commit(&st->work, columns_change, st, &note, &out->version, err);
    if (s != LB_OK && out->version == 0)
        lb_lance_rows_undo(&st->work, &st->files);
    out->rows = st->taken;
    out->files = st->files.count;
    return s;
}

lb_status lb_lance_add_columns(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                               const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    static const lb_lance_options defaults = { .struct_size = sizeof defaults };
    lb_lance_result result = { .struct_size = sizeof result };
    columns_state st = { .options = options == NULL ? &defaults : options, .stream = rows };
    lb_error_clear(err);
    lb_arena_init(&st.base.arena, &cx->budget);
    lb_buf_init(&st.parts, &cx->budget);
    lb_buf_init(&st.spent, &cx->budget);
    lb_buf_init(&st.dictionaries, &cx->budget);
    lb_status s = lb_lance_work_open(&st.work, cx, path, false, err);
    if (s == LB_OK)
        s = columns_run(&st, &result, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    columns_drop(&st);
    lb_lance_batch_free(st.batch);
    lb_lance_writer_free(st.writer);
    if (rows->release != NULL)
        rows->release(rows);
    if (st.from.release != NULL)
        st.from.release(&st.from);
    if (st.to.release != NULL)
        st.to.release(&st.to);
    lb_lance_set_close(st.set);
    lb_store_close(st.store);
    lb_buf_free(&st.parts);
    lb_buf_free(&st.spent);
    lb_buf_free(&st.dictionaries);
    lb_lance_snapshot_free(&st.base);
    lb_lance_work_close(&st.work);
    if (out != NULL)
        *out = result;
    return s;
}
