/* Files whose rows come as a stream from a function of the caller's. There are no places: a range is read from the first
 * row on. */
#include <stdlib.h>

#include "column/array_stats.h"
#include "column/gather.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "column/values.h"
#include "format/foreign/foreign_handlers.h"

#define FOREIGN_BATCH_ROWS 65536

typedef struct foreign {
    lb_format format;
    lb_open_stream_fn open;
    void *user;
    void (*release)(void *user);
    const char *extensions[2];
    char extension[];
} foreign;

struct lb_reader {
    const foreign *f;
    lb_context *cx;
    lb_store *store;
    const lb_entry *known;
};

/* One pass over a file: the caller's batches, decoded. */
typedef struct foreign_rows {
    lb_context *cx;
    struct ArrowArrayStream stream;
    struct ArrowSchema from, plain;
    bool same;    /* nothing has to be decoded */
    uint64_t row; /* of the next batch's first one */
} foreign_rows;

/* ---------------------------------------------------------------- the caller's stream */

static void foreign_end(foreign_rows *p)
{
    if (p->stream.release != NULL)
        p->stream.release(&p->stream);
    if (p->from.release != NULL)
        p->from.release(&p->from);
    if (p->plain.release != NULL)
        p->plain.release(&p->plain);
}

static lb_status foreign_call(lb_reader *r, struct ArrowArrayStream *out, lb_error *err)
{
    lb_error own = LB_ERROR_INIT;

    if (err == NULL)
        err = &own;
    lb_status status = r->f->open(r->f->user, r->store->path, out, err);
    if (status == LB_OK && out->release != NULL)
        return LB_OK;
    if (status == LB_OK)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the handler of '%s' gave no stream", r->f->extension);
    return lb_fail(err, status, LB_NOWHERE, "the handler of '%s' failed", r->f->extension);
}

static lb_status foreign_check_schema(const struct ArrowSchema *schema, lb_error *err)
{
    struct ArrowSchemaView view;

    LB_TRY(lb_schema_view(schema, &view, err));
    if (view.type != NANOARROW_TYPE_STRUCT)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a handler gives rows, a struct array a batch, and no other arrays");
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->name == NULL)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "column %lld of a handler's rows has no name", (long long)i);
    return LB_OK;
}

static lb_status foreign_begin(lb_reader *r, foreign_rows *p, lb_error *err)
{
    *p = (foreign_rows){ .cx = r->cx };
    LB_TRY(foreign_call(r, &p->stream, err));
    LB_TRY(lb_stream_schema(&p->stream, &p->from, err));
    LB_TRY(foreign_check_schema(&p->from, err));
    LB_TRY(lb_schema_plain(&p->from, &p->plain, err));
    p->same = lb_schema_is_plain(&p->from);
    return LB_OK;
}

/* A count that is not known of an array without a bitmap is none. */
static void foreign_settle_nulls(const struct ArrowSchema *type, struct ArrowArray *array, int depth)
{
    if (array->null_count < 0 && array->n_buffers > 0 && array->buffers != NULL && array->buffers[0] == NULL &&
        strncmp(type->format, "+u", 2) != 0)
        array->null_count = 0;
    if (array->n_children != type->n_children || depth > LB_TYPE_DEPTH)
        return; /* what is looked at next will say so */
    for (int64_t i = 0; i < array->n_children; i++)
        foreign_settle_nulls(type->children[i], array->children[i], depth + 1);
    if (array->dictionary != NULL && type->dictionary != NULL)
        foreign_settle_nulls(type->dictionary, array->dictionary, depth + 1);
}

/* What the caller gives is looked at before it is used: lengths, offsets, children. */
static lb_status foreign_check_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch, lb_error *err)
{
    struct ArrowArrayView view;
    struct ArrowError why = { "" };

    lb_status status = lb_view_open(schema, batch, &view, err);
    if (status == LB_OK)
        status = lb_fail_arrow(err, ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &why), &why);
    if (status == LB_OK && batch->null_count != 0 && lb_view_has_validity(&view) &&
        ArrowArrayViewComputeNullCount(&view) != 0)
        status = lb_fail(err, LB_USAGE, LB_NOWHERE, "a handler's rows are null as wholes; only their values may be");
    ArrowArrayViewReset(&view);
    return status;
}

/* The next batch that has rows; out->release NULL: no more. */
static lb_status foreign_next(foreign_rows *p, struct ArrowArray *out, lb_error *err)
{
    for (;;) {
        out->release = NULL;
        LB_TRY(lb_check_cancel(p->cx, err));
        LB_TRY(lb_stream_next(&p->stream, out, err));
        if (out->release == NULL)
            return LB_OK;
        foreign_settle_nulls(&p->from, out, 0);
        lb_status status = foreign_check_batch(&p->from, out, err);
        if (status == LB_OK && out->length != 0)
            break;
        out->release(out);
        LB_TRY(status);
    }
    p->row += (uint64_t)out->length;
    if (p->same)
        return LB_OK;
    struct ArrowArray coded;
    ArrowArrayMove(out, &coded);
    return lb_array_cast(&p->from, &coded, &p->plain, out, err);
}

/* ---------------------------------------------------------------- survey */

static bool foreign_wants(void *user, const char *path, uint64_t column)
{
    const lb_survey_options *o = user;
    const char *const *names = o->stats_columns;
    (void)column;

    if (o->stats != LB_STATS_NAMED)
        return true;
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, path) == 0)
            return true;
    return false;
}

static lb_status foreign_keep_schema(const foreign_rows *p, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &p->cx->budget);
    lb_status status = lb_ipc_encode_schema(&p->plain, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

static lb_status foreign_count(foreign_rows *p, lb_array_stats *stats, lb_error *err)
{
    struct ArrowArray batch = { 0 };

    do {
        LB_TRY(foreign_next(p, &batch, err));
        if (batch.release == NULL)
            break;
        lb_status status = stats == NULL ? LB_OK : lb_array_stats_add(stats, &p->plain, &batch, err);
        batch.release(&batch);
        LB_TRY(status);
    } while (true);
    return LB_OK;
}

static lb_status foreign_keep_stats(const lb_array_stats *stats, lb_arena *arena, lb_entry *out, lb_error *err)
{
    size_t n = lb_array_stats_count(stats);

    out->columns.items = lb_arena_alloc(arena, n, sizeof *out->columns.items);
    if (out->columns.items == NULL)
        return lb_arena_fail(arena, err);
    out->columns.count = n;
    return lb_array_stats_finish(stats, arena, out->columns.items, NULL, err);
}

static lb_status foreign_measure(foreign_rows *p, const lb_survey_options *o, lb_arena *arena, lb_entry *out,
                                 lb_error *err)
{
    lb_survey_options wants = *o;
    lb_array_stats *stats = NULL;

    LB_TRY(foreign_keep_schema(p, arena, out, err));
    if (o->stats != LB_STATS_OFF && !o->rows_only)
        LB_TRY(lb_array_stats_new(&p->plain, foreign_wants, &wants, &p->cx->budget, &stats, err));
    lb_status status = foreign_count(p, stats, err);
    if (status == LB_OK && stats != NULL)
        status = foreign_keep_stats(stats, arena, out, err);
    lb_array_stats_free(stats);
    out->total_rows = p->row;
    return status;
}

/* All rows as one block, which is nowhere: so says an entry that its rows are read from their beginning. A map gets none. */
static lb_status foreign_block(const lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const lb_block block = { .row_count = out->total_rows,
                             .first_byte = UINT64_MAX,
                             .total_byte_size = r->store->size,
                             .compressed_size = r->store->size,
                             .first_line = UINT64_MAX,
                             .start_hash = UINT64_MAX };
    lb_block_builder b;

    lb_block_builder_init(&b, &r->cx->budget);
    lb_status status = block.row_count == 0 ? LB_OK : lb_block_builder_add(&b, &block, err);
    if (status == LB_OK)
        return lb_block_builder_finish(&b, arena, &out->blocks, err);
    lb_block_builder_free(&b);
    return status;
}

static lb_status foreign_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    foreign_rows rows;

    lb_status status = foreign_begin(r, &rows, err);
    if (status == LB_OK)
        status = foreign_measure(&rows, o, arena, out, err);
    foreign_end(&rows);
    return status == LB_OK ? foreign_block(r, arena, out, err) : status;
}

/* ---------------------------------------------------------------- rows */

typedef struct foreign_scan {
    foreign_rows rows;
    uint64_t first, end; /* rows of the file that are wanted */
    size_t batch_rows;
    size_t n_columns;
    uint64_t *columns;
    struct ArrowSchema schema; /* of the result */
    struct ArrowArray batch;   /* of which rows are still wanted; of these, row `at` is next */
    uint64_t at;
} foreign_scan;

static void scan_close(void *state)
{
    foreign_scan *s = state;

    foreign_end(&s->rows);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    if (s->batch.release != NULL)
        s->batch.release(&s->batch);
    free(s->columns);
    free(s);
}

/* Rows [at, at + n) of one column. */
static lb_status scan_column(const foreign_scan *s, size_t i, size_t n, struct ArrowArray *out, lb_error *err)
{
    const struct ArrowSchema *type = s->rows.plain.children[s->columns[i]];
    struct ArrowArray part = *s->batch.children[s->columns[i]];
    const struct ArrowArray *chunk = &part;
    lb_pick *picks = calloc(n, sizeof *picks);

    if (picks == NULL)
        return lb_fail_nomem(err);
    for (size_t k = 0; k < n; k++)
        picks[k] = (lb_pick){ 0, (uint32_t)k };
    part.offset += s->batch.offset + (int64_t)s->at;
    part.length = (int64_t)n;
    part.null_count = part.null_count == 0 || part.n_buffers == 0 || part.buffers[0] == NULL ? part.null_count : -1;
    lb_status status = lb_array_gather(type, &chunk, 1, picks, n, out, err);
    free(picks);
    return status;
}

static lb_status scan_cut(foreign_scan *s, size_t n, struct ArrowArray *out, lb_error *err)
{
    lb_status status = lb_fail_arrow(err, ArrowArrayInitFromSchema(out, &s->schema, NULL), NULL);

    for (size_t i = 0; status == LB_OK && i < s->n_columns; i++) {
        out->children[i]->release(out->children[i]);
        status = scan_column(s, i, n, out->children[i], err);
    }
    out->length = (int64_t)n;
    out->null_count = 0;
    if (status != LB_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* Pull until a batch has a wanted row. */
static lb_status scan_pull(foreign_scan *s, lb_error *err)
{
    if (s->batch.release != NULL && s->at == (uint64_t)s->batch.length)
        s->batch.release(&s->batch);
    while (s->batch.release == NULL) {
        uint64_t before = s->rows.row;
        LB_TRY(foreign_next(&s->rows, &s->batch, err));
        if (s->batch.release == NULL)
            return LB_OK;
        s->at = s->first > before ? s->first - before : 0;
        if (s->at >= (uint64_t)s->batch.length)
            s->batch.release(&s->batch);
    }
    return LB_OK;
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    foreign_scan *s = state;

    out->release = NULL;
    if (s->first >= s->end)
        return LB_OK;
    LB_TRY(scan_pull(s, err));
    if (s->batch.release == NULL)
        return LB_OK;
    uint64_t n = LB_MIN((uint64_t)s->batch.length - s->at, s->end - s->first);
    n = LB_MIN(n, s->batch_rows);
    LB_TRY(scan_cut(s, (size_t)n, out, err));
    s->at += n;
    s->first += n;
    return LB_OK;
}

static lb_status scan_columns(foreign_scan *s, const lb_range *range, lb_error *err)
{
    s->columns = calloc(range->n_columns + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_fail_nomem(err);
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)range->n_columns, err));
    s->n_columns = range->n_columns;
    for (size_t i = 0; i < range->n_columns; i++) {
        s->columns[i] = range->columns[i].column;
        s->schema.children[i]->release(s->schema.children[i]);
        LB_TRY(lb_schema_copy(s->rows.plain.children[s->columns[i]], s->schema.children[i], err));
    }
    return LB_OK;
}

/* The columns have to be those that were found before: whoever asks counts on their places. */
static bool scan_same(const struct ArrowSchema *known, const struct ArrowSchema *now)
{
    bool same = known->n_children == now->n_children;

    for (int64_t i = 0; same && i < now->n_children; i++)
        same = lb_schema_equal(known->children[i], now->children[i]);
    return same;
}

static lb_status scan_check(const foreign_scan *s, const lb_reader *r, lb_error *err)
{
    struct ArrowSchema known;

    if (r->known == NULL || r->known->arrow_schema.size == 0)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "rows of a handler without the columns of its survey");
    LB_TRY(lb_ipc_decode_schema(r->known->arrow_schema.at, r->known->arrow_schema.size, &known, err));
    bool same = scan_same(&known, &s->rows.plain);
    known.release(&known);
    if (same)
        return LB_OK;
    return lb_fail(err, LB_STALE, LB_NOWHERE, "the handler of '%s' gives other columns than before", r->f->extension);
}

static lb_status scan_open(foreign_scan *s, lb_reader *r, const lb_range *range, lb_error *err)
{
    if (range->count > UINT64_MAX - range->first)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a range reaches beyond what can be counted");
    s->first = range->first;
    s->end = range->first + range->count;
    s->batch_rows = range->batch_rows == 0 ? FOREIGN_BATCH_ROWS : LB_MIN(range->batch_rows, UINT32_MAX);
    LB_TRY(foreign_begin(r, &s->rows, err));
    LB_TRY(scan_check(s, r, err));
    return scan_columns(s, range, err);
}

static lb_status foreign_scan_rows(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    foreign_scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    lb_status status = scan_open(s, r, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}

/* ---------------------------------------------------------------- the handler */

static int foreign_sniff(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    (void)peek;
    return 0;
}

static lb_status foreign_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                              const lb_entry *known, lb_reader **out, lb_error *err)
{
    (void)options;
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return lb_fail_nomem(err);
    **out = (lb_reader){ .f = format->arg, .cx = cx, .store = store, .known = known };
    return LB_OK;
}

static void foreign_close(lb_reader *r)
{
    free(r);
}

static const char *const foreign_options[] = { NULL };

lb_status lb_foreign_register(const char *extension, lb_open_stream_fn open, void *user, void (*release)(void *user),
                              lb_format **out, lb_error *err)
{
    size_t size = strlen(extension) + 1;
    foreign *f = calloc(1, sizeof *f + size);

    if (f == NULL)
        return lb_fail_nomem(err);
    memcpy(f->extension, extension, size);
    f->extensions[0] = f->extension;
    f->open = open;
    f->user = user;
    f->release = release;
    f->format = (lb_format){ .name = "dynamic",
                             .extensions = f->extensions,
                             .locator = "none",
                             .options = foreign_options,
                             .arg = f,
                             .sniff = foreign_sniff,
                             .open = foreign_open,
                             .survey = foreign_survey,
                             .scan = foreign_scan_rows,
                             .close = foreign_close };
    *out = &f->format;
    return LB_OK;
}

void lb_foreign_free(lb_format *format)
{
    foreign *f = (foreign *)format;

    if (f->release != NULL)
        f->release(f->user);
    free(f);
}
