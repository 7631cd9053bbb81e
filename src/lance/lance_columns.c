/* Adding columns: one further data file for each fragment, with the batches of its first one (lance.md 8.3). */
#include <stdio.h>

#include "column/stream.h"
#include "lance/dataset_store.h"
#include "lance/lance_extra.h"

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
    lb_lance_extra extra;
    lb_buf dictionaries;
} columns_state;

/* ---------------------------------------------------------------- the change */

static lb_status columns_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    columns_state *st = user;
    lb_lance_fields added;
    lb_lance_companions list;
    LB_TRY(lb_lance_check_same_fields(&st->base, newest, err));
    LB_TRY(lb_lance_extra_add(&st->base, &st->extra.files, newest, err));
    LB_TRY(lb_lance_writer_fields(st->writer, &newest->arena, &added, &list, err));
    LB_TRY(lb_lance_extra_fields(&added, &list, newest, err));
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
    st->extra = (lb_lance_extra){ .work = &st->work,
                                  .set = st->set,
                                  .stream = st->stream,
                                  .from = &st->from,
                                  .to = &st->to,
                                  .writer = st->writer,
                                  .file_names = st->options->file_names,
                                  .next_id = &st->next_id };
    lb_status s = lb_lance_extra_write(&st->extra, err);
    if (s == LB_OK)
        s = lb_lance_commit(&st->work, columns_change, st, &note, &out->version, err);
    if (s != LB_OK && out->version == 0)
        lb_lance_rows_undo(&st->work, &st->extra.files);
    out->rows = st->extra.taken;
    out->files = st->extra.files.count;
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
    lb_buf_init(&st.dictionaries, &cx->budget);
    lb_status s = lb_lance_work_open(&st.work, cx, path, false, err);
    if (s == LB_OK)
        s = columns_run(&st, &result, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_lance_writer_free(st.writer);
    if (rows->release != NULL)
        rows->release(rows);
    if (st.from.release != NULL)
        st.from.release(&st.from);
    if (st.to.release != NULL)
        st.to.release(&st.to);
    lb_lance_set_close(st.set);
    lb_store_close(st.store);
    lb_buf_free(&st.dictionaries);
    lb_lance_snapshot_free(&st.base);
    lb_lance_work_close(&st.work);
    if (out != NULL)
        *out = result;
    return s;
}
