/* Compaction: neighbouring fragments that are small or have deleted rows are written anew as full ones. */
#include <stdio.h>

#include "column/stream.h"
#include "lance/dataset_store.h"
#include "lance/fragments.h"
#include "lance/lance_change.h"
#include "lance/lance_fit.h"

/* Fragments [first, first + count) of the base that become files. */
typedef struct compact_run {
    size_t first, count;
    lb_lance_new_files files;
} compact_run;

typedef struct compact_state {
    const lb_lance_options *options;
    lb_lance_work work;
    lb_lance_snapshot base;
    lb_store *store;
    lb_lance_set *set;
    compact_run *runs;
    size_t n_runs;
    lb_lance_rows_options rows;
} compact_state;

static bool compact_wants(const lb_lance_rows_of *f, uint64_t full)
{
    return f->deleted != 0 || f->rows < full;
}

/* Runs worth the work: several fragments, or one with deleted rows. */
static lb_status compact_plan(compact_state *st, uint64_t full, lb_error *err)
{
    const lb_lance_set *set = st->set;
    st->runs = lb_arena_alloc(&st->work.arena, set->n_fragments + 1, sizeof *st->runs);
    if (st->runs == NULL)
        return lb_arena_fail(&st->work.arena, err);
    for (size_t i = 0; i < set->n_fragments;) {
        size_t end = i;
        bool deleted = false;
        for (; end < set->n_fragments && compact_wants(&set->fragments[end], full); end++)
            deleted = deleted || set->fragments[end].deleted != 0;
        if (end - i > 1 || deleted)
            st->runs[st->n_runs++] = (compact_run){ .first = i, .count = end - i };
        i = LB_MAX(end, i + 1);
    }
    return LB_OK;
}

/* The rows of a run, all columns, as a stream. */
static lb_status compact_scan(compact_state *st, const compact_run *run, struct ArrowArrayStream *out, lb_error *err)
{
    lb_lance_set *set = st->set;
    const lb_lance_rows_of *last = &set->fragments[run->first + run->count - 1];
    uint64_t *columns = lb_arena_alloc(&st->work.arena, set->n_columns + 1, sizeof *columns);
    if (columns == NULL)
        return lb_arena_fail(&st->work.arena, err);
    for (size_t i = 0; i < set->n_columns; i++)
        columns[i] = i;
    lb_lance_scan scan = { .first = set->fragments[run->first].first, .n_columns = set->n_columns, .columns = columns };
    scan.count = last->first + (last->rows - last->deleted) - scan.first;
    return lb_lance_set_scan(set, &scan, out, err);
}

static lb_status compact_write(compact_state *st, compact_run *run, lb_error *err)
{
    struct ArrowArrayStream stream = { .release = NULL };
    struct ArrowSchema from = { .release = NULL };
    lb_lance_fit fit = { .next_id = 0 };
    const lb_lance_manifest *pb = st->base.m.pb;
    int32_t fields = lb_lance_next_field_id(pb);
    lb_status s = lb_lance_fit_open(&fit, &st->work, &st->base, err);
    if (s == LB_OK)
        s = lb_lance_fit_writer(&fit, &st->base, LB_LANCE_NULLS_REFUSE, pb->metadata, pb->n_metadata, err);
    if (s == LB_OK)
        s = compact_scan(st, run, &stream, err);
    if (s == LB_OK)
        s = lb_stream_schema(&stream, &from, err);
    if (s == LB_OK)
        s = lb_lance_rows_write(&st->work, &stream, &from, fit.writer, &fit.schema, &st->rows, &fit.next_id,
                                &run->files, err);
    if (s == LB_OK && fit.next_id != fields)
        s = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "rewriting the rows made new columns");
    if (from.release != NULL)
        from.release(&from);
    if (stream.release != NULL)
        stream.release(&stream);
    lb_lance_fit_close(&fit);
    return s;
}

/* ---------------------------------------------------------------- the change */

static bool compact_same(const lb_lance_fragment *a, const lb_lance_fragment *b)
{
    if (a->id != b->id || a->n_files != b->n_files || (a->deletion_file == NULL) != (b->deletion_file == NULL))
        return false;
    for (size_t i = 0; i < a->n_files; i++)
        if (!lb_str_equal(lb_lance_str(a->files[i]->path), lb_lance_str(b->files[i]->path)))
            return false;
    const lb_lance_deletion_file *x = a->deletion_file, *y = b->deletion_file;
    return x == NULL || (x->id == y->id && x->read_version == y->read_version && x->file_type == y->file_type);
}

/* Where the run's fragments stand in the newest version, one behind the other as they did; SIZE_MAX: no longer. */
static size_t compact_find(const compact_state *st, const compact_run *run, const lb_lance_manifest *pb)
{
    lb_lance_fragment **was = st->base.m.pb->fragments + run->first;
    for (size_t at = 0; at + run->count <= pb->n_fragments; at++) {
        size_t n = 0;
        while (n < run->count && compact_same(was[n], pb->fragments[at + n]))
            n++;
        if (n == run->count)
            return at;
    }
    return SIZE_MAX;
}

static lb_status compact_replace(compact_state *st, lb_lance_snapshot *newest, const compact_run *run, bool modern,
                                 lb_error *err)
{
    lb_lance_manifest *pb = newest->m.pb;
    size_t at = compact_find(st, run, pb);
    if (at == SIZE_MAX)
        return lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer changed the rows that were being compacted");
    /* New ones are made behind the others, and then moved to where the old ones were. */
    size_t before = pb->n_fragments;
    LB_TRY(lb_lance_add_fragments(newest, &run->files, modern, err));
    size_t n_new = pb->n_fragments - before, behind = before - at - run->count;
    lb_lance_fragment **all = lb_arena_alloc(&newest->arena, pb->n_fragments + 1, sizeof *all);
    if (all == NULL)
        return lb_arena_fail(&newest->arena, err);
    memcpy(all, pb->fragments, at * sizeof *all);
    memcpy(all + at, pb->fragments + before, n_new * sizeof *all);
    memcpy(all + at + n_new, pb->fragments + at + run->count, behind * sizeof *all);
    pb->fragments = all;
    pb->n_fragments = at + n_new + behind;
    return LB_OK;
}

static lb_status compact_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    compact_state *st = user;
    bool modern = lb_lance_is_modern(newest->m.pb);
    LB_TRY(lb_lance_check_same_fields(&st->base, newest, err));
    for (size_t i = 0; i < st->n_runs; i++)
        LB_TRY(compact_replace(st, newest, &st->runs[i], modern, err));
    return lb_lance_apply_metadata(newest, st->options, err);
}

static lb_status compact_open(compact_state *st, lb_error *err)
{
    char spec[24];
    LB_TRY(lb_lance_snapshot_take(&st->work, 0, &st->base, err));
    LB_TRY(lb_lance_check_writable(&st->base.m, err));
    LB_TRY(lb_lance_check_storage(&st->work, &st->base, err));
    (void)snprintf(spec, sizeof spec, "%llu", (unsigned long long)st->base.version);
    LB_TRY(lb_dataset_store_open(st->work.cx, st->work.root, spec, &st->store, err));
    return lb_lance_set_open(st->work.cx, st->store, &st->set, err);
}

static lb_status compact_run_all(compact_state *st, lb_lance_result *out, lb_error *err)
{
    lb_lance_note note = lb_lance_note_of(st->options);
    LB_TRY(compact_open(st, err));
    LB_TRY(compact_plan(st, st->rows.file_rows == 0 ? 1048576 : st->rows.file_rows, err));
    if (st->n_runs == 0)
        return LB_OK;
    lb_status s = LB_OK;
    for (size_t i = 0; i < st->n_runs && s == LB_OK; i++) {
        s = compact_write(st, &st->runs[i], err);
        for (size_t k = 0; st->rows.file_names != NULL && k < st->runs[i].files.count && *st->rows.file_names != NULL;
             k++)
            st->rows.file_names++;
        out->rows += st->runs[i].files.rows;
        out->files += st->runs[i].files.count;
    }
    if (s == LB_OK)
        s = lb_lance_commit(&st->work, compact_change, st, &note, &out->version, err);
    for (size_t i = 0; s != LB_OK && out->version == 0 && i < st->n_runs; i++)
        lb_lance_rows_undo(&st->work, &st->runs[i].files);
    return s;
}

lb_status lb_lance_compact(lb_context *cx, const char *path, const lb_lance_options *options, lb_lance_result *out,
                           lb_error *err)
{
    static const lb_lance_options defaults = { .struct_size = sizeof defaults };
    lb_lance_result result = { .struct_size = sizeof result };
    compact_state st = { .options = options == NULL ? &defaults : options };
    st.rows = (lb_lance_rows_options){ .group_rows = st.options->group_rows,
                                       .file_rows = st.options->file_rows,
                                       .whole_batches = st.options->whole_batches,
                                       .file_names = st.options->file_names };
    lb_error_clear(err);
    lb_arena_init(&st.base.arena, &cx->budget);
    lb_status s = lb_lance_work_open(&st.work, cx, path, false, err);
    if (s == LB_OK)
        s = compact_run_all(&st, &result, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_lance_set_close(st.set);
    lb_store_close(st.store);
    lb_lance_snapshot_free(&st.base);
    lb_lance_work_close(&st.work);
    if (out != NULL)
        *out = result;
    return s;
}
