/* Rows as a stream of batches: each column of a batch from the chunks of the row groups it lies in. */
#include <stdlib.h>

#include "base/pool.h"
#include "base/utf8.h"
#include "column/stream.h"
#include "format/parquet/parquet_reader.h"

#define SCAN_BATCH_ROWS 65536
#define SCAN_BATCH_BYTES ((uint64_t)16 << 20)

/* Columns are worth a thread each from so many rows on, and where so many bytes of a group are looked into for the
 * first time: then a page of each has to be decompressed. */
#define SCAN_PARALLEL_ROWS 4096
#define SCAN_PARALLEL_BYTES ((uint64_t)1 << 20)

/* Chunks up to this size are read together with their neighbours; gaps up to this are read over. */
#define SCAN_SMALL_CHUNK ((uint64_t)512 << 10)
#define SCAN_GAP ((uint64_t)32 << 10)
#define SCAN_HELD ((uint64_t)8 << 20)

typedef struct scan_column {
    const lb_parquet_node *node;
    lb_parquet_column *building;
    lb_parquet_plan *plans; /* of the open group, node->n_leaves of them, as */
    lb_parquet_chunk **chunks;
    bool too_long;
} scan_column;

typedef struct scan {
    lb_reader *r;
    size_t n_columns;
    scan_column *columns;
    size_t n_leaves; /* of all columns */
    size_t *leaves;
    lb_parquet_plan *plans;
    lb_parquet_chunk **chunks;
    uint64_t *rows;   /* take: a copy of what is wanted */
    uint64_t at, end; /* rows of the file; of a take: places in `rows` */
    size_t batch_rows;

    size_t group;    /* the open one; SIZE_MAX: none */
    lb_arena arena;  /* what lives as long as it */
    lb_buf runs;     /* of the group, for the batch: lb_parquet_run */
    bool group_ends; /* with these runs: no rows of it are wanted behind them */
} scan;

/* ---------------------------------------------------------------- the open row group */

static void scan_close_group(scan *s)
{
    for (size_t i = 0; i < s->n_leaves; i++)
        lb_parquet_give_chunk(s->r, &s->chunks[i]);
    lb_arena_free(&s->arena);
    lb_arena_init(&s->arena, &s->r->cx->budget);
    s->group = SIZE_MAX;
}

static uint64_t scan_row(const scan *s, uint64_t place)
{
    return s->rows == NULL ? place : s->rows[place];
}

static size_t scan_find_group(const scan *s, uint64_t row)
{
    const lb_parquet_group *g = s->r->footer.groups;
    size_t low = 0, high = s->r->footer.n_groups;

    while (low < high) { /* the first group that begins behind the row */
        size_t middle = low + (high - low) / 2;
        if (g[middle].first_row > row)
            high = middle;
        else
            low = middle + 1;
    }
    /* Groups without rows begin where the next one does. */
    return low == 0 ? SIZE_MAX : low - 1;
}

/* Rows of the group that are wanted from place `at` on, from the first to behind the last; *n: how many. */
static void scan_wanted(const scan *s, const lb_parquet_group *g, uint64_t at, uint64_t *first, uint64_t *end,
                        uint64_t *n)
{
    uint64_t stop = g->first_row + g->rows, last = at;

    *first = scan_row(s, at) - g->first_row;
    if (s->rows == NULL) {
        *end = LB_MIN(stop, s->end) - g->first_row;
        *n = *end - *first;
        return;
    }
    while (last < s->end && s->rows[last] < stop)
        last++;
    *end = s->rows[last - 1] - g->first_row + 1;
    *n = last - at;
}

/* ---------------------------------------------------------------- reading ahead of small chunks */

static int scan_by_offset(const void *a, const void *b)
{
    const lb_parquet_plan *const *x = a, *const *y = b;

    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

static lb_status scan_hold(scan *s, lb_parquet_plan **list, size_t n, uint64_t end, lb_error *err)
{
    const uint64_t at = list[0]->offset;
    uint8_t *bytes = lb_arena_alloc(&s->arena, (size_t)(end - at), 1);

    if (bytes == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(lb_parquet_read_at(s->r->store, at, bytes, (size_t)(end - at), err));
    for (size_t i = 0; i < n; i++) {
        list[i]->held = bytes;
        list[i]->held_at = at;
        list[i]->held_size = end - at;
    }
    return LB_OK;
}

/* Read small chunks that lie beside each other at once. */
static lb_status scan_hold_small(scan *s, lb_error *err)
{
    lb_parquet_plan **list = lb_arena_alloc(&s->arena, s->n_leaves + 1, sizeof(lb_parquet_plan *));
    size_t n = 0;
    uint64_t total = 0;

    if (list == NULL)
        return lb_arena_fail(&s->arena, err);
    for (size_t i = 0; i < s->n_leaves; i++)
        if (s->plans[i].length != 0 && s->plans[i].length <= SCAN_SMALL_CHUNK)
            list[n++] = &s->plans[i];
    qsort(list, n, sizeof *list, scan_by_offset);
    for (size_t first = 0, stop; first < n && total < SCAN_HELD; first = stop) {
        uint64_t end = list[first]->offset + list[first]->length;
        for (stop = first + 1; stop < n && list[stop]->offset <= end + SCAN_GAP &&
                               list[stop]->offset + list[stop]->length - list[first]->offset <= SCAN_HELD;
             stop++)
            end = LB_MAX(end, list[stop]->offset + list[stop]->length);
        total += end - list[first]->offset;
        if (stop - first > 1)
            LB_TRY(scan_hold(s, list + first, stop - first, end, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- opening a row group */

/* Are `n` wanted rows so far apart in a chunk that what lies between is not worth reading? */
static bool scan_is_scattered(const lb_parquet_plan *plan, uint64_t n)
{
    double share = (double)(plan->want_end - plan->want_first) / (double)LB_MAX(plan->rows, 1);

    return n < plan->want_end - plan->want_first && (double)plan->length * share / (double)n > (double)SCAN_GAP;
}

/* For the rows from place `at` on. */
static lb_status scan_open_group(scan *s, size_t group, uint64_t at, lb_error *err)
{
    const lb_parquet_group *g = &s->r->footer.groups[group];
    uint64_t first, end, n;

    if (group == s->group)
        return LB_OK;
    scan_close_group(s);
    scan_wanted(s, g, at, &first, &end, &n);
    for (size_t i = 0; i < s->n_leaves; i++) {
        LB_TRY(lb_parquet_plan_of(s->r, group, s->leaves[i], &s->plans[i], err));
        s->plans[i].want_first = first;
        s->plans[i].want_end = end;
        s->plans[i].sparse = n < end - first;
        s->plans[i].scattered = scan_is_scattered(&s->plans[i], n);
    }
    if (n < g->rows)
        LB_TRY(lb_parquet_places(s->r, group, s->leaves, s->plans, s->n_leaves, &s->arena, err));
    if (n >= g->rows / 2)
        LB_TRY(scan_hold_small(s, err));
    s->group = group;
    return LB_OK;
}

/* ---------------------------------------------------------------- batches */

/* About how many bytes a row of the wanted columns has, decompressed. */
static uint64_t scan_width(const scan *s, size_t group)
{
    const lb_parquet_footer *f = &s->r->footer;
    const lb_parquet_group *g = &f->groups[group];
    uint64_t stored = 0, fixed = 1;

    for (size_t i = 0; i < s->n_leaves; i++) {
        stored += lb_parquet_footer_meta(f, group, s->leaves[i]).length;
        fixed += 4;
    }
    double share = g->compressed_size == 0 ? 1.0 : (double)stored / (double)g->compressed_size;
    double width = (double)g->total_byte_size * LB_MIN(share, 1.0) / (double)LB_MAX(g->rows, 1);
    return LB_MAX(fixed, width < 1e15 ? (uint64_t)width : UINT64_C(1) << 50);
}

/* Where the batch that begins at s->at ends. */
static uint64_t scan_stop(const scan *s)
{
    const uint64_t row = scan_row(s, s->at);
    const uint64_t most = s->batch_rows == 0 ? SCAN_BATCH_ROWS : s->batch_rows;
    const uint64_t width = scan_width(s, scan_find_group(s, row));
    uint64_t stop = s->at + LB_MIN(s->end - s->at, LB_MAX(LB_MIN(most, SCAN_BATCH_BYTES / width), 1));

    if (s->rows != NULL || s->r->known == NULL)
        return stop;
    return LB_MIN(stop, lb_blocks_border(&s->r->known->blocks, row));
}

/* Runs of the places [at, stop) that lie in the group; gives the place behind them. */
static lb_status scan_runs(scan *s, const lb_parquet_group *g, uint64_t at, uint64_t stop, uint64_t *next,
                           lb_error *err)
{
    const uint64_t end = g->first_row + g->rows;
    lb_parquet_run run = { 0, 0 };

    s->runs.size = 0;
    if (s->rows == NULL) {
        *next = LB_MIN(stop, end);
        run = (lb_parquet_run){ at - g->first_row, *next - at };
        return lb_buf_append(&s->runs, &run, sizeof run, err);
    }
    for (; at < stop && s->rows[at] < end; at++) {
        const uint64_t row = s->rows[at] - g->first_row;
        if (run.count != 0 && run.first + run.count == row) {
            run.count++;
            continue;
        }
        if (run.count != 0)
            LB_TRY(lb_buf_append(&s->runs, &run, sizeof run, err));
        run = (lb_parquet_run){ row, 1 };
    }
    *next = at;
    return lb_buf_append(&s->runs, &run, sizeof run, err);
}

/* A column's chunks are open as long as rows of the group are still to come, so that memory of one serves the next. */
static lb_status scan_read_column(void *user, size_t i, lb_error *err)
{
    scan *s = user;
    scan_column *c = &s->columns[i];

    for (size_t k = 0; k < c->node->n_leaves; k++)
        if (c->chunks[k] == NULL)
            LB_TRY(lb_parquet_take_chunk(s->r, &c->plans[k], &c->chunks[k], err));
    LB_TRY(lb_parquet_column_read(c->building, c->chunks, (const lb_parquet_run *)(const void *)s->runs.data,
                                  s->runs.size / sizeof(lb_parquet_run), &c->too_long, err));
    for (size_t k = 0; k < c->node->n_leaves && s->group_ends; k++)
        lb_parquet_give_chunk(s->r, &c->chunks[k]);
    return LB_OK;
}

/* Is there much in the open group? */
static bool scan_is_heavy(const scan *s)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->n_leaves; i++)
        bytes += s->plans[i].length;
    return bytes >= SCAN_PARALLEL_BYTES;
}

/* Places from s->at to `stop` into the columns. */
static lb_status scan_read(scan *s, uint64_t stop, lb_error *err)
{
    uint64_t at = s->at;

    while (at < stop) {
        const uint64_t row = scan_row(s, at);
        const size_t group = scan_find_group(s, row);
        const lb_parquet_group *g = &s->r->footer.groups[group];
        uint64_t next;
        if (group == SIZE_MAX || row - g->first_row >= g->rows)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "row %llu lies in no row group", (unsigned long long)row);
        const bool fresh = group != s->group;
        LB_TRY(scan_open_group(s, group, at, err));
        LB_TRY(scan_runs(s, g, at, stop, &next, err));
        s->group_ends = next == s->end || scan_row(s, next) >= g->first_row + g->rows;
        if (s->n_columns > 1 && (next - at >= SCAN_PARALLEL_ROWS || (fresh && scan_is_heavy(s))))
            LB_TRY(lb_run_jobs(s->r->cx, s->n_columns, scan_read_column, s, err));
        else
            for (size_t i = 0; i < s->n_columns; i++)
                LB_TRY(scan_read_column(s, i, err));
        at = next;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- text */

static bool scan_is_ascii(const uint8_t *p, size_t n)
{
    uint64_t seen = 0, word;
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        uint64_t w[4];
        memcpy(w, p + i, sizeof w);
        seen |= w[0] | w[1] | w[2] | w[3];
    }
    for (; i + 8 <= n; i += 8) {
        memcpy(&word, p + i, sizeof word);
        seen |= word;
    }
    for (; i < n; i++)
        seen |= p[i];
    return (seen & UINT64_C(0x8080808080808080)) == 0;
}

/* The first value that is not UTF-8; -1: all are. Text that is valid as a whole may yet be cut inside a character. */
static int64_t scan_bad_text(const struct ArrowArray *a)
{
    const int32_t *offsets = a->buffers[1];
    const uint8_t *data = a->buffers[2];

    if (a->length == 0 || offsets == NULL || offsets[a->length] == offsets[0])
        return -1;
    if (scan_is_ascii(data + offsets[0], (size_t)(offsets[a->length] - offsets[0])))
        return -1;
    for (int64_t i = 0; i < a->length; i++) {
        size_t size = (size_t)(offsets[i + 1] - offsets[i]);
        if (lb_utf8_valid_prefix(data + offsets[i], size) != size)
            return i;
    }
    return -1;
}

/* Text that is none is an error: nobody who takes it as text could read it. */
static lb_status scan_check_text(const scan *s, const lb_parquet_node *node, const struct ArrowArray *array,
                                 lb_error *err)
{
    lb_where where = LB_NOWHERE;

    for (size_t i = 0; i < node->n_children; i++)
        LB_TRY(scan_check_text(s, node->children[i], array->children[i], err));
    if (node->shape != LB_PARQUET_LEAF || node->schema->format[0] != 'u')
        return LB_OK;
    int64_t bad = scan_bad_text(array);
    if (bad < 0)
        return LB_OK;
    if (node->rep == 0) /* a value a row */
        where.row = (int64_t)scan_row(s, s->at + (uint64_t)bad);
    return lb_fail(err, LB_CORRUPT, where, "column '%.200s' is declared as text, but a value is not UTF-8",
                   node->leaf->path.at);
}

/* ---------------------------------------------------------------- one batch */

static lb_status scan_begin(scan *s, lb_error *err)
{
    for (size_t i = 0; i < s->n_columns; i++) {
        scan_column *c = &s->columns[i];
        c->too_long = false;
        if (c->building == NULL)
            LB_TRY(lb_parquet_column_new(s->r->cx, c->node, &c->building, err));
    }
    return LB_OK;
}

static void scan_drop_columns(scan *s)
{
    for (size_t i = 0; i < s->n_columns; i++) {
        lb_parquet_column_free(s->columns[i].building);
        s->columns[i].building = NULL;
    }
}

static lb_status scan_end(scan *s, uint64_t rows, struct ArrowArray *out, lb_error *err)
{
    int code = ArrowArrayInitFromType(out, NANOARROW_TYPE_STRUCT);

    if (code != NANOARROW_OK)
        out->release = NULL;
    if (code == NANOARROW_OK)
        code = ArrowArrayAllocateChildren(out, (int64_t)s->n_columns);
    lb_status status = lb_fail_arrow(err, code, NULL);
    for (size_t i = 0; status == LB_OK && i < s->n_columns; i++) {
        struct ArrowArray *child = out->children[i];
        status = lb_parquet_column_finish(s->columns[i].building, child, err);
        if (status == LB_OK && child->length != (int64_t)rows)
            status = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a column has %lld rows of %llu", (long long)child->length,
                             (unsigned long long)rows);
        if (status == LB_OK)
            status = scan_check_text(s, s->columns[i].node, child, err);
    }
    out->length = (int64_t)rows;
    out->null_count = 0;
    if (status != LB_OK && out->release != NULL) {
        ArrowArrayRelease(out);
        out->release = NULL;
    }
    return status;
}

static bool scan_too_long(const scan *s)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (s->columns[i].too_long)
            return true;
    return false;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;

    out->release = NULL;
    if (s->at >= s->end)
        return LB_OK;
    uint64_t stop = scan_stop(s);
    for (;;) {
        lb_error why = LB_ERROR_INIT;
        LB_TRY(lb_check_cancel(s->r->cx, err));
        lb_status status = scan_begin(s, &why);
        if (status == LB_OK)
            status = scan_read(s, stop, &why);
        if (status == LB_OK)
            status = scan_end(s, stop - s->at, out, &why);
        if (status == LB_OK)
            break;
        const bool again = scan_too_long(s) && stop - s->at > 1;
        scan_drop_columns(s);
        scan_close_group(s);
        if (!again) {
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

    scan_drop_columns(s);
    if (s->chunks != NULL)
        scan_close_group(s);
    lb_arena_free(&s->arena);
    lb_buf_free(&s->runs);
    free(s->columns);
    free(s->leaves);
    free(s->plans);
    free(s->chunks);
    free(s->rows);
    free(s);
}

static lb_status scan_room(scan *s, const lb_range *range, lb_error *err)
{
    s->columns = calloc(range->n_columns + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < range->n_columns; i++) {
        if (range->columns[i].column >= s->r->footer.schema.n_columns)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "the file has fewer columns than were mapped");
        s->columns[i].node = s->r->footer.schema.columns[range->columns[i].column];
        s->n_leaves += s->columns[i].node->n_leaves;
    }
    s->n_columns = range->n_columns;
    s->leaves = calloc(s->n_leaves + 1, sizeof *s->leaves);
    s->plans = calloc(s->n_leaves + 1, sizeof *s->plans);
    s->chunks = calloc(s->n_leaves + 1, sizeof(lb_parquet_chunk *));
    return s->leaves == NULL || s->plans == NULL || s->chunks == NULL ? lb_fail_nomem(err) : LB_OK;
}

static lb_status scan_columns(scan *s, const lb_range *range, struct ArrowSchema *schema, lb_error *err)
{
    size_t at = 0;

    LB_TRY(scan_room(s, range, err));
    LB_TRY(lb_schema_struct(schema, (int64_t)s->n_columns, err));
    for (size_t i = 0; i < s->n_columns; i++) {
        scan_column *c = &s->columns[i];
        c->plans = s->plans + at;
        c->chunks = s->chunks + at;
        for (size_t k = 0; k < c->node->n_leaves; k++)
            s->leaves[at++] = c->node->first_leaf + k;
        if (schema->children[i]->release != NULL)
            ArrowSchemaRelease(schema->children[i]);
        LB_TRY(lb_schema_copy(c->node->schema, schema->children[i], err));
    }
    return LB_OK;
}

static lb_status scan_places(scan *s, const lb_range *range, lb_error *err)
{
    const uint64_t rows = s->r->footer.rows;

    if (range->rows == NULL) {
        s->at = LB_MIN(range->first, rows);
        s->end = s->at + LB_MIN(range->count, rows - s->at);
        return LB_OK;
    }
    while (s->end < range->count && range->rows[s->end] < rows)
        s->end++;
    s->rows = malloc((size_t)(s->end + 1) * sizeof *s->rows);
    if (s->rows == NULL)
        return lb_fail_nomem(err);
    memcpy(s->rows, range->rows, (size_t)s->end * sizeof *s->rows);
    return LB_OK;
}

lb_status lb_parquet_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    s->group = SIZE_MAX;
    s->batch_rows = range->batch_rows;
    lb_arena_init(&s->arena, &r->cx->budget);
    lb_buf_init(&s->runs, &r->cx->budget);
    struct ArrowSchema schema = { .release = NULL };
    lb_status status = scan_columns(s, range, &schema, err);
    if (status == LB_OK)
        status = scan_places(s, range, err);
    if (status == LB_OK)
        return lb_stream_make((lb_source){ scan_next, scan_close, s }, &schema, out, err);
    scan_close(s);
    if (schema.release != NULL)
        ArrowSchemaRelease(&schema);
    return status;
}
