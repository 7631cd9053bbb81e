/* Deleting rows: a deletion file for each fragment concerned (lance.md 10.3). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "column/ipc.h"
#include "lance/dataset_store.h"
#include "lance/fragments.h"
#include "lance/lance_change.h"
#include "wire/roaring.h"

/* From so many rows on a fragment's deletions are a bitmap, below it an Arrow file: as Lance does it. */
#define DELETE_ARROW_MOST 5000

/* Rows of one fragment that go. */
typedef struct delete_part {
    uint64_t fragment;
    lb_str file; /* its first data file: the fragment is still the same while it has that one */
    uint64_t physical;
    uint32_t *rows; /* ascending */
    size_t count;
} delete_part;

typedef struct delete_state {
    lb_lance_work work;
    delete_part *parts;
    size_t n_parts;
    char **written; /* deletion files of the last try */
    size_t n_written;
    uint64_t deleted;
    bool nothing;
} delete_state;

/* ---------------------------------------------------------------- which rows */

static int delete_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A sorted copy, each number once. NULL: no memory. */
static uint64_t *delete_sorted(lb_lance_work *work, const uint64_t *rows, size_t *n)
{
    uint64_t *copy = lb_arena_dup(&work->arena, rows, *n * sizeof *rows);
    size_t kept = 0;
    if (copy == NULL)
        return NULL;
    if (*n > 1)
        qsort(copy, *n, sizeof *copy, delete_compare);
    for (size_t i = 0; i < *n; i++)
        if (kept == 0 || copy[kept - 1] != copy[i])
            copy[kept++] = copy[i];
    *n = kept;
    return copy;
}

static lb_status delete_part_add(delete_state *st, const lb_lance_rows_of *f, uint32_t *rows, size_t count,
                                 lb_error *err)
{
    delete_part *part = &st->parts[st->n_parts++];
    *part = (delete_part){ .fragment = f->pb->id, .physical = f->rows, .rows = rows, .count = count };
    if (f->pb->n_files == 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "fragment %llu has no data file", (unsigned long long)f->pb->id);
    part->file = lb_lance_str(f->pb->files[0]->path);
    const char *copy = lb_arena_copy(&st->work.arena, part->file); /* outlives the set */
    if (copy == NULL)
        return lb_arena_fail(&st->work.arena, err);
    part->file.at = copy;
    return LB_OK;
}

/* Live rows of one fragment, numbers over the dataset, as physical ones. */
static lb_status delete_of_rows(delete_state *st, lb_lance_set *set, size_t fragment, const uint64_t *rows, size_t n,
                                lb_error *err)
{
    const lb_lance_rows_of *f = &set->fragments[fragment];
    const lb_deletions *gone = NULL;
    uint32_t *physical = lb_arena_alloc(&st->work.arena, n, sizeof *physical);
    if (physical == NULL)
        return lb_arena_fail(&st->work.arena, err);
    LB_TRY(lb_lance_set_deletions(set, fragment, &gone, err));
    for (size_t i = 0; i < n; i++) {
        uint64_t live = rows[i] - f->first;
        physical[i] = (uint32_t)(gone == NULL ? live : lb_deletions_physical(gone, live));
    }
    return delete_part_add(st, f, physical, n, err);
}

static lb_status delete_by_row(delete_state *st, lb_lance_set *set, const uint64_t *rows, size_t n, lb_error *err)
{
    if (n != 0 && rows[n - 1] >= set->rows)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no row %llu: the dataset has %llu rows",
                       (unsigned long long)rows[n - 1], (unsigned long long)set->rows);
    for (size_t at = 0; at < n;) {
        size_t fragment = lb_lance_set_find(set, rows[at]), end = at;
        const lb_lance_rows_of *f = &set->fragments[fragment];
        while (end < n && rows[end] < f->first + (f->rows - f->deleted))
            end++;
        LB_TRY(delete_of_rows(st, set, fragment, rows + at, end - at, err));
        at = end;
    }
    return LB_OK;
}

/* The one fragment of an id; SIZE_MAX: none, or several. */
static size_t delete_fragment_of(const lb_lance_set *set, uint64_t id)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < set->n_fragments; i++) {
        if (set->fragments[i].pb->id != id)
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

static lb_status delete_by_id(delete_state *st, lb_lance_set *set, const uint64_t *ids, size_t n, lb_error *err)
{
    for (size_t at = 0, end; at < n; at = end) {
        size_t fragment = delete_fragment_of(set, ids[at] >> 32);
        for (end = at; end < n && ids[end] >> 32 == ids[at] >> 32;)
            end++;
        if (fragment == SIZE_MAX || (ids[end - 1] & UINT32_MAX) >= set->fragments[fragment].rows)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no row of the id %llu",
                           (unsigned long long)ids[fragment == SIZE_MAX ? at : end - 1]);
        uint32_t *rows = lb_arena_alloc(&st->work.arena, end - at, sizeof *rows);
        if (rows == NULL)
            return lb_arena_fail(&st->work.arena, err);
        for (size_t i = at; i < end; i++)
            rows[i - at] = (uint32_t)ids[i];
        LB_TRY(delete_part_add(st, &set->fragments[fragment], rows, end - at, err));
    }
    return LB_OK;
}

static lb_status delete_plan(delete_state *st, const uint64_t *rows, size_t n, bool ids, lb_error *err)
{
    lb_store *store = NULL;
    lb_lance_set *set = NULL;
    uint64_t *sorted = delete_sorted(&st->work, rows, &n);
    if (sorted == NULL)
        return lb_arena_fail(&st->work.arena, err);
    lb_status s = lb_dataset_store_open(st->work.cx, st->work.root, NULL, &store, err);
    if (s == LB_OK)
        s = lb_lance_set_open(st->work.cx, store, &set, err);
    if (s == LB_OK) {
        st->parts = lb_arena_alloc(&st->work.arena, LB_MIN(n, set->n_fragments) + 1, sizeof *st->parts);
        if (st->parts == NULL)
            s = lb_arena_fail(&st->work.arena, err);
    }
    if (s == LB_OK)
        s = ids ? delete_by_id(st, set, sorted, n, err) : delete_by_row(st, set, sorted, n, err);
    lb_lance_set_close(set);
    lb_store_close(store);
    return s;
}

/* ---------------------------------------------------------------- deletion files */

static bool delete_append(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

static lb_status delete_arrow_schema(struct ArrowSchema *schema, lb_error *err)
{
    LB_TRY(lb_schema_struct(schema, 1, err));
    lb_status s = lb_fail_arrow(err, ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_UINT32), NULL);
    if (s == LB_OK)
        s = lb_schema_set_name(schema->children[0], LB_STR("row_id"), err);
    schema->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    if (s != LB_OK)
        schema->release(schema);
    return s;
}

/* An Arrow file with the one column row_id. */
static lb_status delete_arrow(const uint32_t *rows, size_t n, lb_buf *out, lb_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    lb_ipc_writer *w = NULL;
    LB_TRY(delete_arrow_schema(&schema, err));
    lb_status s = lb_fail_arrow(err, ArrowArrayInitFromSchema(&array, &schema, NULL), NULL);
    if (s != LB_OK) {
        schema.release(&schema);
        return s;
    }
    int code = ArrowBufferAppend(ArrowArrayBuffer(array.children[0], 1), rows, (int64_t)(n * sizeof *rows));
    array.children[0]->length = array.length = (int64_t)n;
    if (code == NANOARROW_OK)
        code = ArrowArrayFinishBuildingDefault(&array, NULL);
    s = lb_fail_arrow(err, code, NULL);
    if (s == LB_OK)
        s = lb_ipc_writer_open(&schema, true, delete_append, out, &w, err);
    if (s == LB_OK)
        s = lb_ipc_writer_batch(w, &array, err);
    if (s == LB_OK)
        s = lb_ipc_writer_finish(w, err);
    lb_ipc_writer_free(w);
    array.release(&array);
    schema.release(&schema);
    return s;
}

static uint64_t delete_random(void)
{
    uint64_t v = 0;
    if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
        v = (uintptr_t)&v ^ (uint64_t)getpid();
    return v;
}

static lb_status delete_folder(lb_lance_work *work, lb_error *err)
{
    const char *path = lb_lance_work_path(work, "_deletions", "");
    if (path == NULL)
        return lb_arena_fail(&work->arena, err);
    return mkdir(path, 0777) == 0 || errno == EEXIST ? LB_OK : lb_fail_errno(err, errno, path, "make the folder");
}

/* Write the complete set of a fragment, and name it in the manifest. */
static lb_status delete_write(delete_state *st, lb_lance_snapshot *newest, lb_lance_fragment *f, const uint32_t *rows,
                              size_t n, lb_error *err)
{
    char path[96];
    lb_buf bytes;
    lb_lance_deletion_file *d = lb_arena_alloc(&newest->arena, 1, sizeof *d);
    if (d == NULL)
        return lb_arena_fail(&newest->arena, err);
    lb_pb__deletion_file__init(d);
    d->file_type = n > DELETE_ARROW_MOST;
    d->read_version = newest->newest;
    d->id = delete_random();
    d->num_deleted_rows = n;
    LB_TRY(lb_deletions_path(f->id, d, path, err));
    lb_buf_init(&bytes, &st->work.cx->budget);
    lb_status s = d->file_type == 0 ? delete_arrow(rows, n, &bytes, err) : lb_roaring_encode(rows, n, &bytes, err);
    const char *name = strchr(path, '/') + 1;
    if (s == LB_OK)
        s = lb_lance_place(&st->work, "_deletions", name, bytes.data, bytes.size, true, err);
    lb_buf_free(&bytes);
    if (s != LB_OK)
        return s;
    f->deletion_file = d;
    st->written[st->n_written] = lb_lance_work_path(&st->work, "_deletions", name);
    return st->written[st->n_written++] == NULL ? lb_arena_fail(&st->work.arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- the change */

static void delete_undo(delete_state *st)
{
    for (size_t i = 0; i < st->n_written; i++)
        if (st->written[i] != NULL)
            (void)unlink(st->written[i]);
    st->n_written = 0;
}

static lb_lance_fragment **delete_find(lb_lance_manifest *pb, const delete_part *part)
{
    for (size_t i = 0; i < pb->n_fragments; i++) {
        const lb_lance_fragment *f = pb->fragments[i];
        if (f->id == part->fragment && f->n_files != 0 && lb_str_equal(lb_lance_str(f->files[0]->path), part->file))
            return &pb->fragments[i];
    }
    return NULL;
}

/* What the fragment has lost already. */
static lb_status delete_known(delete_state *st, const lb_lance_fragment *f, uint64_t physical, lb_arena *arena,
                              lb_deletions *out, lb_error *err)
{
    char rel[96];
    lb_store *store;
    *out = (lb_deletions){ 0, NULL };
    if (f->deletion_file == NULL)
        return LB_OK;
    LB_TRY(lb_deletions_path(f->id, f->deletion_file, rel, err));
    const char *path = lb_lance_work_path(&st->work, "", rel);
    if (path == NULL)
        return lb_arena_fail(&st->work.arena, err);
    LB_TRY(lb_store_open_file(path, &store, err));
    lb_status s = lb_deletions_read(store, f->deletion_file, physical, arena, out, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_store_close(store);
    return s;
}

/* Both sets as one; *added: how many are new. */
static size_t delete_merge(const lb_deletions *known, const delete_part *part, uint32_t *out, uint64_t *added)
{
    size_t n = 0, a = 0, b = 0;
    *added = 0;
    while (a < known->count || b < part->count) {
        bool new_one = a == known->count || (b < part->count && part->rows[b] < known->rows[a]);
        uint32_t row = new_one ? part->rows[b] : known->rows[a];
        *added += new_one;
        a += !new_one;
        b += b < part->count && part->rows[b] == row;
        out[n++] = row;
    }
    return n;
}

static lb_status delete_fragment(delete_state *st, lb_lance_snapshot *newest, const delete_part *part, lb_error *err)
{
    lb_lance_manifest *pb = newest->m.pb;
    lb_lance_fragment **place = delete_find(pb, part);
    lb_deletions known;
    uint64_t added;
    if (place == NULL)
        return lb_fail(err, LB_CONFLICT, LB_NOWHERE, "another writer rewrote the rows of fragment %llu in version %llu",
                       (unsigned long long)part->fragment, (unsigned long long)newest->newest);
    LB_TRY(delete_known(st, *place, part->physical, &newest->arena, &known, err));
    uint32_t *rows = lb_arena_alloc(&newest->arena, (size_t)known.count + part->count, sizeof *rows);
    if (rows == NULL)
        return lb_arena_fail(&newest->arena, err);
    size_t n = delete_merge(&known, part, rows, &added);
    st->deleted += added;
    if (added == 0)
        return LB_OK;
    if (n < part->physical)
        return delete_write(st, newest, *place, rows, n, err);
    memmove(place, place + 1, (size_t)(pb->fragments + pb->n_fragments - place - 1) * sizeof *place);
    pb->n_fragments--;
    return LB_OK;
}

static lb_status delete_change(void *user, lb_lance_snapshot *newest, lb_error *err)
{
    delete_state *st = user;
    delete_undo(st);
    st->deleted = 0;
    LB_TRY(lb_lance_make_modern(&st->work, newest, err));
    for (size_t i = 0; i < st->n_parts; i++)
        LB_TRY(delete_fragment(st, newest, &st->parts[i], err));
    return st->n_written == 0 ? LB_OK : lb_lance_sync_folder(&st->work, "_deletions", err);
}

static lb_status delete_run(delete_state *st, const uint64_t *rows, size_t n, bool ids, const lb_lance_options *options,
                            lb_lance_result *out, lb_error *err)
{
    lb_lance_note note = lb_lance_note_of(options);
    LB_TRY(delete_plan(st, rows, n, ids, err));
    if (st->n_parts == 0)
        return LB_OK;
    st->written = lb_arena_alloc(&st->work.arena, st->n_parts, sizeof *st->written);
    if (st->written == NULL)
        return lb_arena_fail(&st->work.arena, err);
    LB_TRY(delete_folder(&st->work, err));
    lb_status s = lb_lance_commit(&st->work, delete_change, st, &note, &out->version, err);
    if (out->version == 0)
        delete_undo(st);
    out->rows = st->deleted;
    return s;
}

lb_status lb_lance_delete(lb_context *cx, const char *path, const uint64_t *rows, size_t n_rows, bool ids,
                          const lb_lance_options *options, lb_lance_result *out, lb_error *err)
{
    static const lb_lance_options defaults = { .struct_size = sizeof defaults };
    lb_lance_result result = { .struct_size = sizeof result };
    delete_state st = { .n_parts = 0 };
    lb_error_clear(err);
    lb_status s = lb_lance_work_open(&st.work, cx, path, false, err);
    if (s == LB_OK)
        s = delete_run(&st, rows, n_rows, ids, options == NULL ? &defaults : options, &result, err);
    if (s != LB_OK)
        lb_fail_path(err, path);
    lb_lance_work_close(&st.work);
    if (out != NULL)
        *out = result;
    return s;
}
