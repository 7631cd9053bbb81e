#include "lance/fragments.h"

#include <stdlib.h>

#include "base/path.h"
#include "base/pool.h"

struct lb_lance_loaded {
    struct lb_lance_loaded *next;
    int32_t id;
    const void *of; /* the manifest's field, or the file whose own dictionary it is */
    lb_lance_dictionary dictionary;
};

/* ---------------------------------------------------------------- what is refused */

static lb_status set_check_storage(lb_lance_set *s, lb_error *err)
{
    const LbPb__DataFormat *format = s->m.pb->data_format;
    lb_lance_footer footer;
    lb_store *store = NULL;
    char path[600];

    LB_TRY(lb_manifest_check_readable(&s->m, err));
    if (s->m.pb->n_fragments == 0 || s->single)
        return LB_OK;
    for (size_t i = 0; i < s->m.pb->n_fragments; i++)
        for (size_t k = 0; k < s->m.pb->fragments[i]->n_files; k++)
            if (s->m.pb->fragments[i]->files[k]->base_id_is_case != LB_PB__DATA_FILE__BASE_ID_IS__NOT_SET)
                return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "data files outside the dataset's folder (base paths)");
    (void)format;
    /* The manifest may be wrong about the storage in both ways: a data file's footer decides. */
    for (size_t i = 0; i < s->m.pb->n_fragments; i++) {
        const lb_lance_fragment *f = s->m.pb->fragments[i];
        if (f->n_files == 0)
            continue;
        lb_str name = lb_lance_str(f->files[0]->path);
        if (name.size > 500)
            return LB_OK;
        memcpy(path, "data/", 5);
        memcpy(path + 5, name.at, name.size);
        path[5 + name.size] = '\0';
        LB_TRY(s->store->open_inside(s->store, path, &store, err));
        lb_status status = lb_lance_read_footer(store, &footer, err);
        if (status == LB_OK)
            status = lb_lance_data_check_version(&footer, err);
        if (status != LB_OK)
            lb_fail_path(err, store->path);
        lb_store_close(store);
        return status;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- schema */

static const lb_lance_node *set_top(const lb_lance_node *n)
{
    while (n != NULL && n->parent != NULL)
        n = n->parent;
    return n;
}

/* Companions whose fields are both there; the others say nothing. */
static lb_status set_companions(lb_lance_set *s, lb_error *err)
{
    lb_str value;
    size_t kept = 0;

    if (!lb_lance_entry_get(s->m.pb->metadata, s->m.pb->n_metadata, LB_LANCE_META_NULLS, &value))
        return LB_OK;
    LB_TRY(lb_lance_companions_parse(value, &s->arena, &s->companions, err));
    s->companion_columns = lb_arena_alloc(&s->arena, s->companions.count + 1, sizeof *s->companion_columns);
    if (s->companion_columns == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < s->companions.count; i++) {
        const lb_lance_companion c = s->companions.items[i];
        const lb_lance_node *top = set_top(lb_lance_tree_find(&s->tree, c.field));
        if (top == NULL || lb_lance_tree_find(&s->tree, c.of) == NULL)
            continue;
        s->companion_columns[kept] = top;
        s->companions.items[kept++] = c;
    }
    s->companions.count = kept;
    return LB_OK;
}

static bool set_is_companion(const lb_lance_set *s, const lb_lance_node *column)
{
    for (size_t i = 0; i < s->companions.count; i++)
        if (s->companion_columns[i] == column)
            return true;
    return false;
}

static lb_status set_schema(lb_lance_set *s, lb_error *err)
{
    LB_TRY(lb_lance_tree_make(s->m.pb->fields, s->m.pb->n_fields, &s->arena, &s->tree, err));
    LB_TRY(set_companions(s, err));
    s->columns = lb_arena_alloc(&s->arena, s->tree.n_columns + 1, sizeof(lb_lance_node *));
    if (s->columns == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < s->tree.n_columns; i++)
        if (!set_is_companion(s, s->tree.columns[i]))
            s->columns[s->n_columns++] = s->tree.columns[i];
    return LB_OK;
}

static bool set_same_files(const lb_lance_fragment *a, const lb_lance_fragment *b)
{
    bool same = a->n_files == b->n_files;

    for (size_t i = 0; same && i < a->n_files; i++)
        same = a->files[i]->n_fields == b->files[i]->n_fields &&
               memcmp(a->files[i]->fields, b->files[i]->fields, a->files[i]->n_fields * sizeof(int32_t)) == 0;
    return same;
}

static bool set_lacks(const lb_lance_part *part, const lb_lance_node *n)
{
    if (n->type.kind != LB_LANCE_STRUCT)
        return lb_lance_part_file(part, n->id) == SIZE_MAX;
    for (size_t i = 0; i < n->n_children; i++)
        if (set_lacks(part, n->children[i]))
            return true;
    return n->n_children == 0 && lb_lance_part_file(part, n->id) == SIZE_MAX;
}

static void set_allow_nulls(struct ArrowSchema *field)
{
    field->flags |= ARROW_FLAG_NULLABLE;
    for (int64_t i = 0; i < field->n_children; i++)
        set_allow_nulls(field->children[i]);
}

/* Columns that a fragment lacks have nulls. Most fragments have files with the same fields: only those that differ from the
 * one before are looked at. */
static void set_mark_missing(const lb_lance_set *s, struct ArrowSchema *out)
{
    for (size_t i = 0; i < s->n_fragments; i++) {
        const lb_lance_fragment *f = s->fragments[i].pb;
        const lb_lance_part part = { .n_files = f->n_files, .files = f->files };
        if (i > 0 && set_same_files(f, s->fragments[i - 1].pb))
            continue;
        for (size_t k = 0; k < s->n_columns; k++)
            if ((out->children[k]->flags & ARROW_FLAG_NULLABLE) == 0 && set_lacks(&part, s->columns[k]))
                set_allow_nulls(out->children[k]);
    }
}

static lb_status set_metadata(const lb_lance_set *s, struct ArrowSchema *out, lb_error *err)
{
    char key[256];

    for (size_t i = 0; i < s->m.pb->n_metadata; i++) {
        const lb_lance_entry *e = s->m.pb->metadata[i];
        lb_str name = lb_lance_str(e->key);
        if (name.size == 0 || name.size >= sizeof key || memchr(name.at, '\0', name.size) != NULL ||
            lb_str_is(name, LB_LANCE_META_NULLS))
            continue;
        memcpy(key, name.at, name.size);
        key[name.size] = '\0';
        LB_TRY(lb_schema_set_meta(out, key, lb_lance_str(e->value), err));
    }
    return LB_OK;
}

/* Made once: looking through all fragments is not for every read. */
static lb_status set_arrow_schema(lb_lance_set *s, lb_error *err)
{
    struct ArrowSchema *out = &s->schema;

    LB_TRY(lb_schema_struct(out, (int64_t)s->n_columns, err));
    LB_TRY(set_metadata(s, out, err));
    for (size_t i = 0; i < s->n_columns; i++) {
        if (out->children[i]->release != NULL)
            out->children[i]->release(out->children[i]);
        LB_TRY(lb_lance_node_schema(s->columns[i], out->children[i], err));
    }
    set_mark_missing(s, out);
    return LB_OK;
}

/* ---------------------------------------------------------------- counting rows */

static lb_status set_open_file(lb_lance_set *s, const char *folder, lb_str name, lb_store **out, lb_error *err)
{
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    const char *copy = lb_arena_copy(&arena, name);
    const char *path = copy == NULL ? NULL : lb_path_join(&arena, folder, copy);
    lb_status status = path == NULL ? lb_arena_fail(&arena, err) : s->store->open_inside(s->store, path, out, err);
    lb_arena_free(&arena);
    return status;
}

/* Numbers of rows in manifests of releases that did not yet write their version may be wrong. */
static bool set_trusts_rows(const lb_lance_set *s, const lb_lance_fragment *f)
{
    return s->m.pb->writer_version != NULL && f->physical_rows != 0;
}

/* Does the manifest say all of a fragment's numbers? */
static bool set_is_told(const lb_lance_set *s, const lb_lance_fragment *f)
{
    return (f->n_files == 0 || set_trusts_rows(s, f)) &&
           (f->deletion_file == NULL || f->deletion_file->num_deleted_rows != 0);
}

static lb_status set_check_count(const lb_lance_rows_of *f, lb_error *err)
{
    if (f->rows > UINT32_MAX)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "fragment %llu is said to have %llu rows",
                       (unsigned long long)f->pb->id, (unsigned long long)f->rows);
    if (f->deleted > f->rows)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "fragment %llu has %llu rows, of which %llu are deleted",
                       (unsigned long long)f->pb->id, (unsigned long long)f->rows, (unsigned long long)f->deleted);
    return LB_OK;
}

static lb_status set_count(lb_lance_set *s, size_t index, lb_error *err)
{
    lb_lance_rows_of *f = &s->fragments[index];
    lb_store *store = NULL;

    f->rows = f->pb->physical_rows;
    if (f->pb->n_files != 0 && !set_trusts_rows(s, f->pb)) {
        LB_TRY(set_open_file(s, "data", lb_lance_str(f->pb->files[0]->path), &store, err));
        lb_status status = lb_lance_data_count(store, &s->cx->budget, &f->rows, err);
        lb_store_close(store);
        LB_TRY(status);
    }
    f->deleted = f->pb->deletion_file == NULL ? 0 : f->pb->deletion_file->num_deleted_rows;
    if (f->pb->deletion_file != NULL && f->deleted == 0) {
        const lb_deletions *d;
        LB_TRY(lb_lance_set_deletions(s, index, &d, err));
        f->deleted = d == NULL ? 0 : d->count;
    }
    return set_check_count(f, err);
}

#define SET_COUNT_RUN 64 /* fragments a job */

/* Fragments [first, end) are counted. */
typedef struct set_counting {
    lb_lance_set *set;
    size_t first, end;
} set_counting;

static lb_status set_count_run(void *user, size_t run, lb_error *err)
{
    const set_counting *c = user;
    size_t at = c->first + run * SET_COUNT_RUN, end = LB_MIN(c->end, at + SET_COUNT_RUN);

    for (; at < end; at++)
        LB_TRY(set_count(c->set, at, err));
    return LB_OK;
}

/* Live rows of the fragments that are reached. */
static uint64_t set_reached_rows(const lb_lance_set *s, size_t reached)
{
    const lb_lance_rows_of *last = reached == 0 ? NULL : &s->fragments[reached - 1];

    return last == NULL ? 0 : last->first + last->rows - last->deleted;
}

/* The numbers of fragments up to `end` are there now. */
static void set_advance(lb_lance_set *s, size_t end)
{
    size_t at = atomic_load_explicit(&s->reached, memory_order_relaxed);
    uint64_t rows = set_reached_rows(s, at);

    for (; at < end; at++) {
        s->fragments[at].first = rows;
        rows += s->fragments[at].rows - s->fragments[at].deleted;
    }
    atomic_store_explicit(&s->reached, end, memory_order_release);
    if (end == s->n_fragments)
        atomic_store_explicit(&s->rows, rows, memory_order_release);
}

/* `row` lies in a fragment that is reached, or all are. */
static bool set_is_reached(const lb_lance_set *s, uint64_t row, size_t *reached)
{
    *reached = atomic_load_explicit(&s->reached, memory_order_acquire);
    return *reached == s->n_fragments || row < set_reached_rows(s, *reached);
}

/* Twice as many each time, so that little is counted in vain, and never in small pieces. */
static lb_status set_reach(lb_lance_set *s, uint64_t row, lb_error *err)
{
    size_t reached, least = LB_LANCE_COUNT_FEW;

    while (!set_is_reached(s, row, &reached)) {
        size_t more = row == UINT64_MAX ? SIZE_MAX : LB_MAX(reached, least);
        const set_counting c = { s, reached, reached + LB_MIN(more, s->n_fragments - reached) };
        LB_TRY(lb_run_jobs(s->cx, (c.end - c.first + SET_COUNT_RUN - 1) / SET_COUNT_RUN, set_count_run,
                           (void *)(uintptr_t)&c, err));
        set_advance(s, c.end);
    }
    return LB_OK;
}

lb_status lb_lance_set_reach(lb_lance_set *s, uint64_t row, lb_error *err)
{
    size_t reached;

    if (set_is_reached(s, row, &reached))
        return LB_OK;
    pthread_mutex_lock(&s->counting);
    lb_status status = set_reach(s, row, err);
    pthread_mutex_unlock(&s->counting);
    if (status != LB_OK)
        lb_fail_path(err, s->store->path);
    return status;
}

static lb_status set_take_known(lb_lance_set *s, const lb_lance_counts *known, lb_error *err)
{
    size_t at = 0;

    for (size_t i = 0; i < known->n; i++) {
        const lb_lance_count_run *run = &known->runs[i];
        if (run->count > s->n_fragments - at)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "the dataset has fewer fragments than were mapped");
        for (uint32_t k = 0; k < run->count; k++, at++) {
            s->fragments[at].rows = run->rows;
            s->fragments[at].deleted = run->deleted;
            LB_TRY(set_check_count(&s->fragments[at], err));
        }
    }
    set_advance(s, at);
    return LB_OK;
}

/* Fragments from the first one on that the manifest tells all of, and a few more. */
static lb_status set_count_some(lb_lance_set *s, lb_error *err)
{
    size_t told = atomic_load(&s->reached), asked = 0;

    for (; told < s->n_fragments; told++) {
        asked += !set_is_told(s, s->fragments[told].pb);
        if (asked > LB_LANCE_COUNT_FEW)
            break;
    }
    if (told < s->n_fragments && atomic_load(&s->reached) != 0)
        return LB_OK;
    const set_counting c = { s, atomic_load(&s->reached), told };
    LB_TRY(lb_run_jobs(s->cx, (c.end - c.first + SET_COUNT_RUN - 1) / SET_COUNT_RUN, set_count_run,
                       (void *)(uintptr_t)&c, err));
    set_advance(s, told);
    return LB_OK;
}

static lb_status set_fragments(lb_lance_set *s, lb_error *err)
{
    s->n_fragments = s->m.pb->n_fragments;
    s->fragments = lb_arena_alloc(&s->arena, s->n_fragments + 1, sizeof *s->fragments);
    if (s->fragments == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < s->n_fragments; i++)
        s->fragments[i].pb = s->m.pb->fragments[i];
    atomic_store(&s->rows, s->n_fragments == 0 ? 0 : LB_ROWS_UNKNOWN);
    return LB_OK;
}

/* ---------------------------------------------------------------- a data file alone */

/* One fragment with one file, the store's own. */
static lb_status set_single(lb_lance_set *s, lb_error *err)
{
    static LbPb__Manifest nothing = LB_PB__MANIFEST__INIT;
    lb_lance_data *data = NULL;

    LB_TRY(lb_lance_data_open(s->store, true, NULL, 0, &s->cx->budget, &data, err));
    lb_lance_fragment *f = lb_arena_alloc(&s->arena, 1, sizeof *f);
    lb_lance_data_file *file = lb_arena_alloc(&s->arena, 1, sizeof *file);
    lb_lance_fragment **fragments = lb_arena_alloc(&s->arena, 1, sizeof(lb_lance_fragment *));
    lb_lance_data_file **files = lb_arena_alloc(&s->arena, 1, sizeof(lb_lance_data_file *));
    s->fragments = lb_arena_alloc(&s->arena, 1, sizeof *s->fragments);
    lb_lance_file *open = lb_arena_alloc(&s->arena, 1, sizeof *open);
    lb_lance_manifest *m = lb_arena_alloc(&s->arena, 1, sizeof *m);
    size_t n = data->schema == NULL ? 0 : data->schema->n_fields;
    int32_t *ids = lb_arena_alloc(&s->arena, n + 1, sizeof *ids);
    if (f == NULL || file == NULL || fragments == NULL || files == NULL || s->fragments == NULL || open == NULL ||
        m == NULL || ids == NULL) {
        lb_lance_data_close(data);
        return lb_arena_fail(&s->arena, err);
    }
    lb_pb__fragment__init(f);
    lb_pb__data_file__init(file);
    *m = data->schema == NULL ? nothing : *data->schema;
    for (size_t i = 0; i < n; i++)
        ids[i] = m->fields[i]->id;
    file->fields = ids;
    file->n_fields = n;
    files[0] = file;
    f->files = files;
    f->n_files = 1;
    f->physical_rows = data->rows;
    fragments[0] = f;
    m->fragments = fragments;
    m->n_fragments = 1;
    s->m.pb = m;
    s->n_fragments = 1;
    *open = (lb_lance_file){ .data = data, .users = 1 };
    s->fragments[0] = (lb_lance_rows_of){ .pb = f, .rows = data->rows, .files = open };
    set_advance(s, 1);
    if (data->schema == NULL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "this data file has no schema of its own; it can be read as part of its dataset only");
    return LB_OK;
}

/* ---------------------------------------------------------------- opening */

static lb_status set_open(lb_lance_set *s, const lb_lance_counts *known, lb_error *err)
{
    LB_TRY(s->single ? set_single(s, err) : lb_manifest_read(s->store, &s->arena, &s->m, err));
    LB_TRY(set_check_storage(s, err));
    LB_TRY(set_schema(s, err));
    if (!s->single)
        LB_TRY(set_fragments(s, err));
    if (known != NULL)
        LB_TRY(set_take_known(s, known, err));
    LB_TRY(set_count_some(s, err));
    for (size_t i = 0; i < s->n_fragments; i++)
        s->most_files = LB_MAX(s->most_files, s->fragments[i].pb->n_files);
    return set_arrow_schema(s, err);
}

lb_status lb_lance_set_open_some(lb_context *cx, lb_store *store, const lb_lance_counts *known, lb_lance_set **out,
                                 lb_error *err)
{
    lb_lance_set *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->cx = cx;
    s->store = store;
    s->single = store->open_inside == NULL;
    lb_arena_init(&s->arena, &cx->budget);
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->counting, NULL);
    lb_status status = set_open(s, known, err);
    if (status == LB_OK)
        *out = s;
    else
        lb_lance_set_close(s);
    if (status != LB_OK)
        lb_fail_path(err, store->path);
    return status;
}

lb_status lb_lance_set_open(lb_context *cx, lb_store *store, lb_lance_set **out, lb_error *err)
{
    LB_TRY(lb_lance_set_open_some(cx, store, NULL, out, err));
    lb_status status = lb_lance_set_reach(*out, UINT64_MAX, err);
    if (status != LB_OK) {
        lb_lance_set_close(*out);
        *out = NULL;
    }
    return status;
}

void lb_lance_set_close(lb_lance_set *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n_open; i++)
        lb_lance_data_close(s->open[i]->data);
    if (s->single && s->n_fragments == 1)
        lb_lance_data_close(s->fragments[0].files[0].data);
    free(s->open);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->counting);
    lb_arena_free(&s->arena);
    free(s);
}

size_t lb_lance_set_find(const lb_lance_set *s, uint64_t row)
{
    size_t low = 0, high = atomic_load_explicit(&s->reached, memory_order_acquire);

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->fragments[middle].first <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---------------------------------------------------------------- deletions */

static lb_status set_load_deletions(lb_lance_set *s, lb_lance_rows_of *f, lb_error *err)
{
    lb_store *store = NULL;
    char path[96];

    lb_deletions *d = lb_arena_alloc(&s->arena, 1, sizeof *d);
    if (d == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(lb_deletions_path(f->pb->id, f->pb->deletion_file, path, err));
    LB_TRY(s->store->open_inside(s->store, path, &store, err));
    lb_status status = lb_deletions_read(store, f->pb->deletion_file, f->rows, &s->arena, d, err);
    lb_store_close(store);
    if (status == LB_OK)
        f->deletions = d;
    return status;
}

lb_status lb_lance_set_deletions(lb_lance_set *s, size_t fragment, const lb_deletions **out, lb_error *err)
{
    lb_lance_rows_of *f = &s->fragments[fragment];
    lb_status status = LB_OK;

    *out = NULL;
    if (f->pb->deletion_file == NULL)
        return LB_OK;
    pthread_mutex_lock(&s->lock);
    if (f->deletions == NULL)
        status = set_load_deletions(s, f, err);
    *out = f->deletions;
    pthread_mutex_unlock(&s->lock);
    return status;
}

lb_status lb_lance_set_row_id(lb_lance_set *s, uint64_t row, uint64_t *out, lb_error *err)
{
    size_t i = lb_lance_set_find(s, row);
    const lb_lance_rows_of *f = &s->fragments[i];
    const lb_deletions *d;

    LB_TRY(lb_lance_set_deletions(s, i, &d, err));
    uint64_t at = row - f->first;
    *out = f->pb->id << 32 | (d == NULL ? at : lb_deletions_physical(d, at));
    return LB_OK;
}

/* ---------------------------------------------------------------- files */

/* Close the file that nobody uses and was used longest ago. */
static void set_make_room(lb_lance_set *s)
{
    size_t oldest = SIZE_MAX;

    for (size_t i = 0; i < s->n_open; i++)
        if (s->open[i]->users == 0 && (oldest == SIZE_MAX || s->open[i]->used < s->open[oldest]->used))
            oldest = i;
    if (oldest == SIZE_MAX)
        return;
    lb_lance_data_close(s->open[oldest]->data);
    s->open[oldest]->data = NULL;
    s->open[oldest] = s->open[--s->n_open];
}

static lb_status set_open_data(lb_lance_set *s, lb_lance_rows_of *f, size_t file, lb_error *err)
{
    const lb_lance_data_file *pb = f->pb->files[file];
    lb_store *store = NULL;

    if (s->n_open >= LB_LANCE_OPEN_FILES)
        set_make_room(s);
    if (s->n_open == s->cap_open) {
        size_t cap = s->cap_open == 0 ? 16 : s->cap_open * 2;
        lb_lance_file **grown = realloc(s->open, cap * sizeof(lb_lance_file *));
        if (grown == NULL)
            return lb_fail_nomem(err);
        s->open = grown;
        s->cap_open = cap;
    }
    LB_TRY(set_open_file(s, "data", lb_lance_str(pb->path), &store, err));
    LB_TRY(lb_lance_data_open(store, false, pb->fields, pb->n_fields, &s->cx->budget, &f->files[file].data, err));
    s->open[s->n_open++] = &f->files[file];
    return LB_OK;
}

static lb_status set_take(lb_lance_set *s, lb_lance_rows_of *f, size_t file, lb_lance_data **out, lb_error *err)
{
    if (f->files == NULL)
        f->files = lb_arena_alloc(&s->arena, f->pb->n_files, sizeof *f->files);
    if (f->files == NULL)
        return lb_arena_fail(&s->arena, err);
    if (f->files[file].data == NULL)
        LB_TRY(set_open_data(s, f, file, err));
    f->files[file].users++;
    f->files[file].used = ++s->calls;
    *out = f->files[file].data;
    return LB_OK;
}

lb_status lb_lance_set_take(lb_lance_set *s, size_t fragment, size_t file, lb_lance_data **out, lb_error *err)
{
    pthread_mutex_lock(&s->lock);
    lb_status status = set_take(s, &s->fragments[fragment], file, out, err);
    pthread_mutex_unlock(&s->lock);
    return status;
}

void lb_lance_set_give(lb_lance_set *s, size_t fragment, size_t file)
{
    pthread_mutex_lock(&s->lock);
    s->fragments[fragment].files[file].users--;
    pthread_mutex_unlock(&s->lock);
}

/* ---------------------------------------------------------------- dictionaries */

static const lb_lance_field *set_own_field(const lb_lance_data *data, int32_t id)
{
    for (size_t i = 0; data->schema != NULL && i < data->schema->n_fields; i++)
        if (data->schema->fields[i]->id == id)
            return data->schema->fields[i];
    return NULL;
}

static lb_status set_load_dictionary(lb_lance_set *s, const lb_lance_node *node, const lb_lance_data *data, bool own,
                                     const lb_lance_dictionary **out, lb_error *err)
{
    const lb_lance_field *field = own ? set_own_field(data, node->id) : node->field;
    lb_store *store = own ? data->store : s->store;

    if (field == NULL)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "field %d: its dictionary stands nowhere", node->id);
    struct lb_lance_loaded *loaded = lb_arena_alloc(&s->arena, 1, sizeof *loaded);
    if (loaded == NULL)
        return lb_arena_fail(&s->arena, err);
    loaded->id = node->id;
    loaded->of = own && !s->single ? lb_arena_copy(&s->arena, lb_str_of(data->store->path)) : NULL;
    LB_TRY(lb_lance_dictionary_load(node, field, store, store->size - LB_LANCE_FOOTER, &s->arena, &loaded->dictionary,
                                    err));
    loaded->next = s->dictionaries;
    s->dictionaries = loaded;
    *out = &loaded->dictionary;
    return LB_OK;
}

lb_status lb_lance_set_dictionary(lb_lance_set *s, const lb_lance_node *node, const lb_lance_data *data,
                                  const lb_lance_dictionary **out, lb_error *err)
{
    bool own = s->single || node->field->dictionary == NULL;
    lb_status status = LB_OK;

    *out = NULL;
    pthread_mutex_lock(&s->lock);
    for (const struct lb_lance_loaded *l = s->dictionaries; *out == NULL && l != NULL; l = l->next)
        if (l->id == node->id && (l->of == NULL || strcmp(l->of, data->store->path) == 0))
            *out = &l->dictionary;
    if (*out == NULL)
        status = set_load_dictionary(s, node, data, own, out, err);
    pthread_mutex_unlock(&s->lock);
    return status;
}
