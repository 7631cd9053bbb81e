#include "lance/lance_extra.h"

#include "column/stream.h"

typedef struct extra_state {
    lb_lance_extra *x;
    lb_lance_batch *batch; /* rows of the stream that come next */
    int64_t at;
    bool ended;
    lb_buf parts, spent; /* lb_lance_rows of a group; lb_lance_batch * that can go after it */
} extra_state;

/* ---------------------------------------------------------------- rows of the stream, as many as asked */

static lb_status extra_next(extra_state *st, lb_error *err)
{
    struct ArrowArray raw, ready;
    LB_TRY(lb_stream_next(st->x->stream, &raw, err));
    st->ended = raw.release == NULL;
    st->at = 0;
    if (st->ended)
        return LB_OK;
    LB_TRY(lb_lance_write_batch(st->x->from, &raw, st->x->to, &ready, err));
    return lb_lance_batch_open(st->x->writer, &ready, &st->batch, err);
}

static lb_status extra_part(extra_state *st, const lb_lance_batch *batch, int64_t first, int64_t count, lb_error *err)
{
    lb_lance_rows part = { batch, first, count };
    return count == 0 ? LB_OK : lb_buf_append(&st->parts, &part, sizeof part, err);
}

static lb_status extra_take(extra_state *st, uint64_t count, lb_error *err)
{
    while (count > 0) {
        int64_t left = st->batch == NULL ? 0 : lb_lance_batch_rows(st->batch) - st->at;
        if (left == 0) {
            if (st->batch != NULL)
                LB_TRY(lb_buf_append(&st->spent, &st->batch, sizeof st->batch, err));
            st->batch = NULL;
            LB_TRY(extra_next(st, err));
            if (st->ended)
                return lb_fail(err, LB_USAGE, LB_NOWHERE, "the dataset has %llu rows, the new columns only %llu",
                               (unsigned long long)st->x->set->rows, (unsigned long long)st->x->taken);
            continue;
        }
        int64_t n = (uint64_t)left < count ? left : (int64_t)count;
        LB_TRY(extra_part(st, st->batch, st->at, n, err));
        st->at += n;
        st->x->taken += (uint64_t)n;
        count -= (uint64_t)n;
    }
    return LB_OK;
}

static void extra_drop(extra_state *st)
{
    lb_lance_batch **spent = (lb_lance_batch **)(void *)st->spent.data;
    for (size_t i = 0; i < st->spent.size / sizeof *spent; i++)
        lb_lance_batch_free(spent[i]);
    st->spent.size = st->parts.size = 0;
}

/* ---------------------------------------------------------------- the file of one fragment */

/* Parts of physical rows [from, to): those that were deleted have no row in the stream, and nothing is stored for
 * them. */
static lb_status extra_parts(extra_state *st, const lb_deletions *gone, uint64_t from, uint64_t to, lb_error *err)
{
    while (from < to) {
        uint64_t before = gone == NULL ? 0 : from - lb_deletions_live(gone, from); /* deleted ones before `from` */
        uint64_t next = gone == NULL || before >= gone->count ? to : LB_MIN(gone->rows[before], to);
        LB_TRY(extra_take(st, next - from, err));
        from = next;
        for (; from < to && before < gone->count && gone->rows[before] == from; before++)
            from++;
        if (from > next)
            LB_TRY(extra_part(st, NULL, 0, (int64_t)(from - next), err));
    }
    return LB_OK;
}

static lb_status extra_groups(extra_state *st, size_t fragment, const lb_lance_data *data, lb_error *err)
{
    const lb_deletions *gone = NULL;
    LB_TRY(lb_lance_set_deletions(st->x->set, fragment, &gone, err));
    for (size_t i = 0; i < data->n_batches; i++) {
        uint64_t row = st->x->taken;
        LB_TRY(extra_parts(st, gone, (uint64_t)data->offsets[i], (uint64_t)data->offsets[i + 1], err));
        lb_status s = lb_lance_writer_group(st->x->writer, (const lb_lance_rows *)(void *)st->parts.data,
                                            st->parts.size / sizeof(lb_lance_rows), row, err);
        extra_drop(st);
        LB_TRY(s);
    }
    return LB_OK;
}

static lb_status extra_file(extra_state *st, size_t fragment, lb_lance_out *out, lb_error *err)
{
    lb_lance_data *data;
    lb_lance_written written;
    LB_TRY(lb_lance_set_take(st->x->set, fragment, 0, &data, err));
    lb_lance_writer_begin(st->x->writer, lb_lance_out_write, out);
    lb_status s = extra_groups(st, fragment, data, err);
    lb_lance_set_give(st->x->set, fragment, 0);
    LB_TRY(s);
    bool more = fragment + 1 < st->x->set->n_fragments;
    LB_TRY(lb_lance_writer_end(st->x->writer, more, st->x->next_id, &st->x->work->arena, &written, err));
    st->x->files.items[st->x->files.count++] =
        (lb_lance_new_file){ .name = out->name, .rows = written.rows, .ids = written.ids, .n_ids = written.n_ids };
    return LB_OK;
}

static lb_status extra_files(extra_state *st, lb_error *err)
{
    const char *const *names = st->x->file_names;
    st->x->files.items = lb_arena_alloc(&st->x->work->arena, st->x->set->n_fragments + 1, sizeof *st->x->files.items);
    if (st->x->files.items == NULL)
        return lb_arena_fail(&st->x->work->arena, err);
    for (size_t i = 0; i < st->x->set->n_fragments; i++) {
        lb_lance_out out;
        lb_error why = LB_ERROR_INIT;
        lb_status s = lb_lance_out_open(st->x->work, names == NULL || *names == NULL ? NULL : *names++, &out, &why);
        if (s == LB_OK)
            s = extra_file(st, i, &out, &why);
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
                           (unsigned long long)st->x->set->rows);
        lb_lance_batch_free(st->batch);
        st->batch = NULL;
        LB_TRY(extra_next(st, err));
    }
    return st->x->files.count == 0 ? LB_OK : lb_lance_sync_folder(st->x->work, "data", err);
}

lb_status lb_lance_extra_write(lb_lance_extra *extra, lb_error *err)
{
    extra_state st = { .x = extra };
    lb_buf_init(&st.parts, &extra->work->cx->budget);
    lb_buf_init(&st.spent, &extra->work->cx->budget);
    lb_status s = extra_files(&st, err);
    extra_drop(&st);
    lb_lance_batch_free(st.batch);
    lb_buf_free(&st.parts);
    lb_buf_free(&st.spent);
    if (s != LB_OK)
        lb_lance_rows_undo(extra->work, &extra->files);
    return s;
}

/* ---------------------------------------------------------------- in the manifest */

static lb_status extra_fragment(lb_lance_snapshot *newest, lb_lance_fragment *f, const lb_lance_new_file *file,
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

lb_status lb_lance_extra_add(const lb_lance_snapshot *base, const lb_lance_new_files *files, lb_lance_snapshot *newest,
                             lb_error *err)
{
    lb_lance_manifest *pb = newest->m.pb, *was = base->m.pb;
    size_t from = 0;
    for (size_t i = 0; i < pb->n_fragments; i++) {
        lb_lance_fragment *f = pb->fragments[i];
        while (from < was->n_fragments &&
               (was->fragments[from]->id != f->id || f->n_files == 0 ||
                !lb_str_equal(lb_lance_str(was->fragments[from]->files[0]->path), lb_lance_str(f->files[0]->path))))
            from++;
        if (from == was->n_fragments)
            return lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer added or rewrote rows meanwhile");
        LB_TRY(extra_fragment(newest, f, &files->items[from++], err));
    }
    return LB_OK;
}

lb_status lb_lance_extra_fields(const lb_lance_fields *added, const lb_lance_companions *list,
                                lb_lance_snapshot *newest, lb_error *err)
{
    lb_lance_manifest *pb = newest->m.pb;
    lb_lance_companions known = { NULL, 0 };
    lb_str text;
    lb_lance_field **all = lb_arena_alloc(&newest->arena, pb->n_fields + added->count, sizeof *all);
    if (all == NULL)
        return lb_arena_fail(&newest->arena, err);
    if (pb->n_fields != 0)
        memcpy(all, pb->fields, pb->n_fields * sizeof *all);
    memcpy(all + pb->n_fields, added->items, added->count * sizeof *all);
    pb->fields = all;
    pb->n_fields += added->count;
    if (list->count == 0)
        return LB_OK;
    if (lb_lance_entry_get(pb->metadata, pb->n_metadata, LB_LANCE_META_NULLS, &text))
        LB_TRY(lb_lance_companions_parse(text, &newest->arena, &known, err));
    lb_lance_companion *both = lb_arena_alloc(&newest->arena, known.count + list->count, sizeof *both);
    if (both == NULL)
        return lb_arena_fail(&newest->arena, err);
    if (known.count != 0)
        memcpy(both, known.items, known.count * sizeof *both);
    memcpy(both + known.count, list->items, list->count * sizeof *both);
    lb_lance_companions sum = { both, known.count + list->count };
    return lb_lance_set_companions(newest, &sum, err);
}
