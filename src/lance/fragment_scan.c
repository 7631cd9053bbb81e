/* Rows of a dataset as a stream: batch after batch, each gathered from the fragments it lies in. */
#include <stdlib.h>

#include "column/stream.h"
#include "lance/fragments.h"

#define SCAN_BATCH_ROWS 65536
#define SCAN_BATCH_BYTES ((uint64_t)16 << 20)

typedef struct scan {
    lb_lance_set *set;
    lb_lance_scan want;
    uint64_t *columns; /* copy */
    struct ArrowSchema schema;
    uint64_t at, end; /* live rows; where `rows` are given, places in them */
    lb_lance_reading reading;

    /* Companions: top-level columns read beside. */
    size_t n_side;
    const lb_lance_node **side;
    struct ArrowSchema side_schema;

    /* The part that is read. */
    size_t fragment;
    bool *taken; /* files of it that are kept open; room for the most files of any fragment */
    lb_buf runs; /* lb_lance_run */
} scan;

/* ---------------------------------------------------------------- the open fragment */

static lb_status scan_open(void *user, const lb_lance_part *part, size_t file, lb_lance_data **out, lb_error *err)
{
    scan *s = user;
    (void)part;

    if (s->taken[file]) {
        *out = s->set->fragments[s->fragment].files[file].data;
        return LB_OK;
    }
    LB_TRY(lb_lance_set_take(s->set, s->fragment, file, out, err));
    s->taken[file] = true;
    return LB_OK;
}

static lb_status scan_dictionary(void *user, const lb_lance_node *node, const lb_lance_data *data,
                                 const lb_lance_dictionary **out, lb_error *err)
{
    const scan *s = user;

    return lb_lance_set_dictionary(s->set, node, data, out, err);
}

static void scan_give_all(scan *s)
{
    size_t n = s->set->n_fragments == 0 ? 0 : s->set->fragments[s->fragment].pb->n_files;

    for (size_t i = 0; i < n; i++)
        if (s->taken[i])
            lb_lance_set_give(s->set, s->fragment, i);
    memset(s->taken, 0, n * sizeof *s->taken);
}

static void scan_go_to(scan *s, size_t fragment)
{
    if (fragment == s->fragment)
        return;
    scan_give_all(s);
    s->fragment = fragment;
}

/* ---------------------------------------------------------------- runs */

static lb_status scan_add_run(scan *s, uint64_t first, uint64_t count, lb_error *err)
{
    lb_lance_run run = { first, count };

    if (count == 0)
        return LB_OK;
    if (s->runs.size != 0) {
        lb_lance_run *last = (lb_lance_run *)(void *)(s->runs.data + s->runs.size) - 1;
        if (last->first + last->count == first) {
            last->count += count;
            return LB_OK;
        }
    }
    return lb_buf_append(&s->runs, &run, sizeof run, err);
}

/* Physical runs of `count` live rows of the fragment from `row` on. */
static lb_status scan_range_runs(scan *s, const lb_deletions *d, uint64_t row, uint64_t count, lb_error *err)
{
    if (d == NULL || count == 0)
        return scan_add_run(s, row, count, err);
    uint64_t at = lb_deletions_physical(d, row), k = at - row; /* deleted rows before */
    while (count != 0) {
        uint64_t stop = k < d->count ? d->rows[k] : UINT64_MAX, n = LB_MIN(count, stop - at);
        LB_TRY(scan_add_run(s, at, n, err));
        count -= n;
        at += n;
        while (k < d->count && d->rows[k] == at) {
            k++;
            at++;
        }
    }
    return LB_OK;
}

/* Live row at a place of what is wanted. */
static uint64_t scan_row(const scan *s, uint64_t place)
{
    return s->want.rows == NULL ? place : s->want.rows[place];
}

/* Runs of places [at, *stop) that lie in the fragment; *stop: behind the last, at most `stop`. */
static lb_status scan_runs(scan *s, uint64_t at, uint64_t stop, uint64_t *out, lb_error *err)
{
    const lb_lance_rows_of *f = &s->set->fragments[s->fragment];
    uint64_t end = f->first + f->rows - f->deleted;
    const lb_deletions *d;

    s->runs.size = 0;
    LB_TRY(lb_lance_set_deletions(s->set, s->fragment, &d, err));
    if (s->want.rows == NULL) {
        *out = LB_MIN(stop, end);
        return scan_range_runs(s, d, at - f->first, *out - at, err);
    }
    for (; at < stop && s->want.rows[at] < end; at++) {
        uint64_t row = s->want.rows[at] - f->first;
        LB_TRY(scan_add_run(s, d == NULL ? row : lb_deletions_physical(d, row), 1, err));
    }
    *out = at;
    return LB_OK;
}

/* ---------------------------------------------------------------- batches */

static bool scan_has_var(const lb_lance_node *n, uint64_t *fixed)
{
    bool var = n->type.kind == LB_LANCE_VAR || n->type.kind == LB_LANCE_LIST || n->type.kind == LB_LANCE_DICTIONARY;

    *fixed += n->type.kind == LB_LANCE_FIXED  ? n->type.width
              : n->type.kind == LB_LANCE_BITS ? n->type.width / 8 + 1
                                              : 8;
    for (size_t i = 0; i < n->n_children; i++)
        var |= scan_has_var(n->children[i], fixed);
    return var;
}

/* Rows of a batch: so many that it has about SCAN_BATCH_BYTES. Text is taken to be as long as in the whole file. */
static lb_status scan_batch_rows(scan *s, uint64_t *rows, lb_error *err)
{
    const lb_lance_rows_of *f = &s->set->fragments[s->fragment];
    const lb_lance_part part = { .n_files = f->pb->n_files, .files = f->pb->files };
    uint64_t width = 1;
    bool var = false;

    for (size_t i = 0; i < s->want.n_columns; i++)
        var |= scan_has_var(s->set->columns[s->columns[i]], &width);
    for (size_t i = 0; var && f->rows != 0 && i < s->want.n_columns; i++) {
        size_t file = lb_lance_part_file(&part, s->set->columns[s->columns[i]]->id);
        lb_lance_data *data;
        if (file == SIZE_MAX)
            continue;
        LB_TRY(scan_open(s, NULL, file, &data, err));
        width = LB_MAX(width, data->store->size / f->rows);
    }
    width = LB_MAX(width, (uint64_t)1);
    uint64_t most = s->want.batch_rows == 0 ? SCAN_BATCH_ROWS : (uint64_t)s->want.batch_rows;
    *rows = LB_MAX((uint64_t)1, LB_MIN(most, SCAN_BATCH_BYTES / width));
    return LB_OK;
}

typedef struct scan_batch {
    lb_arena arena;
    struct ArrowArray array, side;
    lb_lance_column *columns, *side_columns;
} scan_batch;

static lb_status scan_begin_columns(const struct ArrowSchema *schema, const lb_lance_node *const *nodes, size_t n,
                                    lb_arena *arena, struct ArrowArray *array, lb_lance_column **out, lb_error *err)
{
    *out = lb_arena_alloc(arena, n + 1, sizeof **out);
    if (*out == NULL)
        return lb_arena_fail(arena, err);
    LB_TRY(lb_fail_arrow(err, ArrowArrayInitFromSchema(array, schema, NULL), NULL));
    LB_TRY(lb_fail_arrow(err, ArrowArrayStartAppending(array), NULL));
    for (size_t i = 0; i < n; i++)
        LB_TRY(lb_lance_column_begin(nodes[i], array->children[i], arena, &(*out)[i], err));
    return LB_OK;
}

static lb_status scan_begin(scan *s, scan_batch *b, lb_error *err)
{
    size_t n = s->want.n_columns;

    *b = (scan_batch){ 0 };
    lb_arena_init(&b->arena, &s->set->cx->budget);
    const lb_lance_node **nodes = lb_arena_alloc(&b->arena, n + 1, sizeof(lb_lance_node *));
    if (nodes == NULL)
        return lb_arena_fail(&b->arena, err);
    for (size_t i = 0; i < n; i++)
        nodes[i] = s->set->columns[s->columns[i]];
    LB_TRY(scan_begin_columns(&s->schema, nodes, n, &b->arena, &b->array, &b->columns, err));
    if (s->n_side == 0)
        return LB_OK;
    return scan_begin_columns(&s->side_schema, s->side, s->n_side, &b->arena, &b->side, &b->side_columns, err);
}

/* Rows of the open fragment into all columns. */
static lb_status scan_read(scan *s, scan_batch *b, lb_error *err)
{
    const lb_lance_rows_of *f = &s->set->fragments[s->fragment];
    const lb_lance_part part = { .n_files = f->pb->n_files,
                                 .files = f->pb->files,
                                 .rows = f->rows,
                                 .open = scan_open,
                                 .dictionary = scan_dictionary,
                                 .user = s };
    const lb_lance_run *runs = (const lb_lance_run *)(const void *)s->runs.data;
    size_t n = s->runs.size / sizeof *runs;

    for (size_t i = 0; i < s->want.n_columns; i++)
        LB_TRY(lb_lance_column_read(&s->reading, &part, &b->columns[i], runs, n, err));
    for (size_t i = 0; i < s->n_side; i++)
        LB_TRY(lb_lance_column_read(&s->reading, &part, &b->side_columns[i], runs, n, err));
    return LB_OK;
}

static lb_lance_column *scan_find(lb_lance_column *c, int32_t id)
{
    lb_lance_column *found = c->node->id == id ? c : NULL;

    for (size_t i = 0; found == NULL && i < c->n_children; i++)
        found = scan_find(&c->children[i], id);
    return found;
}

static bool scan_has_companion(void *user, const lb_lance_node *node)
{
    const scan *s = user;

    for (size_t i = 0; i < s->set->companions.count; i++)
        if (s->set->companions.items[i].of == node->id && s->set->companions.items[i].level == 0)
            return true;
    return false;
}

static lb_status scan_join_nulls(scan *s, scan_batch *b, lb_error *err)
{
    const lb_lance_companions *all = &s->set->companions;

    for (size_t k = 0; k < s->n_side; k++)
        LB_TRY(lb_lance_column_end(&b->side_columns[k], NULL, NULL, err));
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < s->n_side; k++) {
            if (s->side[k] != s->set->companion_columns[i])
                continue;
            for (size_t c = 0; c < s->want.n_columns; c++) {
                lb_lance_column *of = scan_find(&b->columns[c], all->items[i].of);
                if (of != NULL)
                    LB_TRY(lb_lance_column_nulls(of, all->items[i].level, b->side.children[k], err));
            }
        }
    return LB_OK;
}

static lb_status scan_end(scan *s, scan_batch *b, uint64_t rows, struct ArrowArray *out, lb_error *err)
{
    struct ArrowError why = { "" };

    LB_TRY(scan_join_nulls(s, b, err));
    for (size_t i = 0; i < s->want.n_columns; i++)
        LB_TRY(lb_lance_column_end(&b->columns[i], scan_has_companion, s, err));
    b->array.length = (int64_t)rows;
    b->array.null_count = 0;
    int code = ArrowArrayFinishBuilding(&b->array, NANOARROW_VALIDATION_LEVEL_DEFAULT, &why);
    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    ArrowArrayMove(&b->array, out);
    return LB_OK;
}

/* Places [s->at, stop) as one batch. */
static lb_status scan_batch_of(scan *s, uint64_t stop, struct ArrowArray *out, lb_error *err)
{
    uint64_t at = s->at, next = at;
    scan_batch b;

    lb_status status = scan_begin(s, &b, err);
    while (status == LB_OK && at < stop) {
        scan_go_to(s, lb_lance_set_find(s->set, scan_row(s, at)));
        status = scan_runs(s, at, stop, &next, err);
        if (status == LB_OK && next == at)
            status = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "row %llu lies in no fragment", (unsigned long long)at);
        if (status == LB_OK)
            status = scan_read(s, &b, err);
        at = next;
    }
    if (status == LB_OK)
        status = scan_end(s, &b, stop - s->at, out, err);
    if (b.array.release != NULL)
        b.array.release(&b.array);
    if (b.side.release != NULL)
        b.side.release(&b.side);
    lb_arena_free(&b.arena);
    return status;
}

/* Where the batch that begins at s->at ends. */
static lb_status scan_stop(scan *s, uint64_t *stop, lb_error *err)
{
    uint64_t row = scan_row(s, s->at), rows, border = UINT64_MAX;

    scan_go_to(s, lb_lance_set_find(s->set, row));
    LB_TRY(scan_batch_rows(s, &rows, err));
    *stop = s->at + LB_MIN(rows, s->end - s->at);
    if (s->want.border != NULL)
        border = s->want.border(s->want.border_user, row);
    while (*stop - s->at > 1 && scan_row(s, *stop - 1) >= border)
        *stop = s->want.rows == NULL ? LB_MAX(s->at + 1, border) : *stop - 1;
    return LB_OK;
}

/* Rows past the end are not wanted, once it is known where that is. */
static void scan_clamp(scan *s)
{
    uint64_t rows = atomic_load(&s->set->rows);

    if (s->want.rows == NULL)
        s->end = LB_MIN(s->end, rows);
    while (s->want.rows != NULL && s->end > s->at && s->want.rows[s->end - 1] >= rows)
        s->end--;
}

/* The fragment of a place of what is wanted, unless rows end before it. */
static lb_status scan_reach(scan *s, uint64_t place, lb_error *err)
{
    LB_TRY(lb_lance_set_reach(s->set, scan_row(s, place), err));
    scan_clamp(s);
    return LB_OK;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;
    uint64_t stop;

    out->release = NULL;
    if (s->at < s->end)
        LB_TRY(scan_reach(s, s->at, err));
    if (s->at >= s->end)
        return LB_OK;
    LB_TRY(lb_check_cancel(s->set->cx, err));
    LB_TRY(scan_stop(s, &stop, err));
    LB_TRY(scan_reach(s, stop - 1, err));
    stop = LB_MIN(stop, s->end);
    for (;;) {
        lb_error why = LB_ERROR_INIT;
        lb_status status = scan_batch_of(s, stop, out, &why);
        if (status == LB_OK)
            break;
        if (!s->reading.too_long || stop - s->at <= 1) {
            if (err != NULL && err->code == LB_OK)
                *err = why;
            return status;
        }
        stop = s->at + (stop - s->at) / 2;
    }
    s->at = stop;
    return LB_OK;
}

/* ---------------------------------------------------------------- opening and closing */

static void scan_close(void *state)
{
    scan *s = state;

    if (s->taken != NULL)
        scan_give_all(s);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    if (s->side_schema.release != NULL)
        s->side_schema.release(&s->side_schema);
    lb_lance_reading_free(&s->reading);
    lb_buf_free(&s->runs);
    free(s->columns);
    free(s->side);
    free(s->taken);
    free(s);
}

static bool scan_is_below(const lb_lance_node *n, int32_t id)
{
    bool found = n->id == id;

    for (size_t i = 0; !found && i < n->n_children; i++)
        found = scan_is_below(n->children[i], id);
    return found;
}

/* Companions of what is wanted. */
static lb_status scan_pick_side(scan *s, lb_error *err)
{
    const lb_lance_companions *all = &s->set->companions;

    s->side = calloc(all->count + 1, sizeof *s->side);
    if (s->side == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < all->count; i++) {
        bool wanted = false;
        for (size_t c = 0; !wanted && c < s->want.n_columns; c++)
            wanted = scan_is_below(s->set->columns[s->columns[c]], all->items[i].of);
        for (size_t k = 0; wanted && k < s->n_side; k++)
            wanted = s->side[k] != s->set->companion_columns[i];
        if (wanted)
            s->side[s->n_side++] = s->set->companion_columns[i];
    }
    if (s->n_side == 0)
        return LB_OK;
    LB_TRY(lb_schema_struct(&s->side_schema, (int64_t)s->n_side, err));
    for (size_t i = 0; i < s->n_side; i++) {
        if (s->side_schema.children[i]->release != NULL)
            s->side_schema.children[i]->release(s->side_schema.children[i]);
        LB_TRY(lb_lance_node_schema(s->side[i], s->side_schema.children[i], err));
    }
    return LB_OK;
}

static lb_status scan_schema(scan *s, lb_error *err)
{
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)s->want.n_columns, err));
    for (size_t i = 0; i < s->want.n_columns; i++) {
        struct ArrowSchema *field = s->schema.children[i];
        if (field->release != NULL)
            field->release(field);
        LB_TRY(lb_schema_copy(s->set->schema.children[s->columns[i]], field, err));
    }
    return LB_OK;
}

static lb_status scan_setup(scan *s, lb_error *err)
{
    s->columns = calloc(s->want.n_columns + 1, sizeof *s->columns);
    s->taken = calloc(s->set->most_files + 1, sizeof *s->taken);
    if (s->columns == NULL || s->taken == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < s->want.n_columns; i++) {
        s->columns[i] = s->want.columns[i];
        if (s->columns[i] >= s->set->n_columns)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "the dataset has %zu columns, not column %llu", s->set->n_columns,
                           (unsigned long long)s->columns[i]);
    }
    LB_TRY(scan_schema(s, err));
    return scan_pick_side(s, err);
}

lb_status lb_lance_set_scan(lb_lance_set *set, const lb_lance_scan *want, struct ArrowArrayStream *out, lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->set = set;
    s->want = *want;
    lb_lance_reading_init(&s->reading, set->cx);
    lb_buf_init(&s->runs, &set->cx->budget);
    s->at = want->rows == NULL ? want->first : 0;
    if (__builtin_add_overflow(s->at, want->count, &s->end))
        s->end = UINT64_MAX;
    scan_clamp(s);
    lb_status status = scan_setup(s, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}
