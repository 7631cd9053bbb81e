/* Rows of a table: part after part, each through its file's reader, brought to the table's columns. */
#include <stdlib.h>

#include "column/stream.h"
#include "lake/ahead.h"
#include "lake/project.h"
#include "lake/stretch.h"

typedef struct slice {
    lb_table *t;
    lb_project project;
    lb_project_file columns; /* of the open file */
    uint64_t at, end;        /* rows of the table still to give */
    uint64_t asked_end;      /* the end before it was cut at the table's */

    uint64_t file;       /* the open one, or the next */
    lb_data *data;       /* NULL: none open */
    bool own, delivered; /* delivered: some of this file's rows went out */
    bool fresh;          /* read without the map after it changed: not again */
    uint64_t part_end;   /* row of the table behind the part */
    struct ArrowArrayStream stream;
    struct ArrowArrayStream
        stretch; /* of a lake: rows of several files, brought to the table's columns; else no part is */
} slice;

/* ---------------------------------------------------------------- parts */

static void slice_close_part(slice *s)
{
    if (s->stretch.release != NULL)
        s->stretch.release(&s->stretch);
    s->stretch.release = NULL;
    if (s->stream.release != NULL)
        s->stream.release(&s->stream);
    s->stream.release = NULL;
    if (s->own)
        lb_data_close(s->data);
    s->data = NULL;
    s->own = false;
}

static lb_status slice_scan_part(slice *s, lb_error *err)
{
    uint64_t first;

    LB_TRY(lb_table_first_row(s->t, s->file, &first, err));
    LB_TRY(lb_project_open(&s->columns, &s->project, s->data, s->fresh, err));
    const lb_range range = { .first = s->at - first,
                             .count = s->part_end - s->at,
                             .n_columns = s->columns.n_wanted,
                             .columns = s->columns.wanted };
    return lb_scan_ahead(s->data, &range, &s->stream, err);
}

/* A single file that is no longer the one its entry tells of is read once more without it. */
static lb_status slice_read_afresh(slice *s, lb_status status, lb_error *err)
{
    if (status != LB_STALE || s->t->lake || s->delivered || s->fresh)
        return status;
    lb_note(s->t->cx, "%s: changed since it was mapped; read without the map", s->t->path);
    slice_close_part(s);
    lb_error_clear(err);
    s->fresh = true;
    LB_TRY(lb_data_reopen(s->t->cx, &s->t->request, &s->data, err));
    s->own = true;
    /* No row went out yet: the rows asked for are taken from the file as it is now. */
    s->end = LB_MIN(s->asked_end, s->data->entry.total_rows);
    s->at = LB_MIN(s->at, s->end);
    s->part_end = s->end;
    return slice_scan_part(s, err);
}

/* An error in a file names it. */
static lb_status slice_name_file(const slice *s, lb_status status, lb_error *err)
{
    if (status != LB_OK && s->data != NULL)
        lb_fail_path(err, s->data->store->path);
    return status;
}

static lb_status slice_open_part(slice *s, lb_error *err)
{
    uint64_t next;
    bool several = false;

    if (s->t->lake && s->t->rows != LB_ROWS_UNKNOWN)
        LB_TRY(lb_stretch_open(s->t, &s->project, s->at, s->end, &s->stretch, &several, err));
    if (several)
        return LB_OK;
    LB_TRY(lb_table_find_row(s->t, s->at, &s->file, err));
    if (s->file == UINT64_MAX)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "row %llu has no file", (unsigned long long)s->at);
    LB_TRY(lb_table_first_row(s->t, s->file + 1, &next, err));
    s->part_end = s->t->lake ? LB_MIN(s->end, next) : s->end;
    s->delivered = false;
    LB_TRY(lb_table_open_file(s->t, s->file, &s->data, &s->own, err));
    lb_status status = lb_data_check(s->data, err);
    if (status == LB_OK)
        status = slice_scan_part(s, err);
    return slice_name_file(s, slice_read_afresh(s, status, err), err);
}

/* ---------------------------------------------------------------- batches */

static lb_status slice_bring(slice *s, struct ArrowArray *batch, struct ArrowArray *out, lb_error *err)
{
    lb_status status = lb_project_bring(&s->columns, batch, out, err);
    uint64_t first;

    if (status == LB_OK)
        return LB_OK;
    if (err != NULL && err->row >= 0 && lb_table_first_row(s->t, s->file, &first, NULL) == LB_OK)
        err->row += (int64_t)(s->at - first);
    return slice_name_file(s, status, err);
}

/* The next batch of the open part; release NULL at its end. */
static lb_status slice_pull(slice *s, struct ArrowArray *batch, lb_error *err)
{
    lb_status status = lb_stream_next(&s->stream, batch, err);

    if (status == LB_OK && batch->release != NULL) {
        status = lb_data_check(s->data, err);
        if (status != LB_OK)
            batch->release(batch);
    }
    if (status == LB_OK)
        return LB_OK;
    LB_TRY(slice_name_file(s, slice_read_afresh(s, status, err), err));
    return slice_pull(s, batch, err);
}

/* The next batch of the open stretch, which is closed at its end. */
static lb_status slice_pull_stretch(slice *s, struct ArrowArray *out, lb_error *err)
{
    LB_TRY(lb_stream_next(&s->stretch, out, err));
    if (out->release == NULL)
        slice_close_part(s);
    else
        s->at += (uint64_t)out->length;
    return LB_OK;
}

/* The rows of a file are given, and more are asked for: what lies behind them matters. In a lake it was told of when the table was
 * opened, and the rows of the next file are asked for. */
static lb_status slice_part_tail(const slice *s, lb_error *err)
{
    return !s->t->lake && s->asked_end > s->part_end ? lb_data_tail(s->data, err) : LB_OK;
}

/* All rows are given. A file of none, or one asked for behind its rows, was not opened for that. */
static lb_status slice_tail(const slice *s, lb_error *err)
{
    const bool behind = !s->t->lake && s->t->rows != LB_ROWS_UNKNOWN && s->asked_end > s->t->rows && !s->fresh;

    return behind ? lb_data_tail(s->t->file, err) : LB_OK;
}

static lb_status slice_next(void *state, struct ArrowArray *out, lb_error *err)
{
    slice *s = state;
    struct ArrowArray batch = { 0 };

    out->release = NULL;
    for (;;) {
        if (s->data == NULL && s->stretch.release == NULL) {
            if (s->at >= s->end)
                return slice_tail(s, err);
            LB_TRY(slice_open_part(s, err));
        }
        if (s->stretch.release != NULL) {
            LB_TRY(slice_pull_stretch(s, out, err));
            if (out->release != NULL)
                return LB_OK;
            continue;
        }
        LB_TRY(slice_pull(s, &batch, err));
        if (batch.release != NULL)
            break;
        if (s->at < s->part_end && s->t->rows != LB_ROWS_UNKNOWN)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "file %llu of the table gave fewer rows than it has",
                           (unsigned long long)s->file);
        if (s->t->rows == LB_ROWS_UNKNOWN)
            s->at = s->end;
        else
            LB_TRY(slice_part_tail(s, err));
        slice_close_part(s);
    }
    lb_status status = slice_bring(s, &batch, out, err);
    s->delivered = true;
    s->at += (uint64_t)batch.length;
    batch.release(&batch);
    return status;
}

static void slice_close(void *state)
{
    slice *s = state;

    slice_close_part(s);
    lb_project_close(&s->columns);
    lb_project_free(&s->project);
    free(s);
}

/* ---------------------------------------------------------------- the public calls */

static lb_status slice_check(const lb_slice *want, lb_error *err)
{
    if (want->struct_size != sizeof *want)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_slice.struct_size is %zu, not %zu", want->struct_size,
                       sizeof *want);
    return LB_OK;
}

static lb_status slice_open(slice *s, const lb_slice *want, struct ArrowSchema *schema, lb_error *err)
{
    LB_TRY(lb_project_init(&s->project, s->t, want->columns, err));
    lb_table_span(s->t, want, &s->at, &s->end);
    if (__builtin_add_overflow(want->offset, want->limit, &s->asked_end))
        s->asked_end = UINT64_MAX;
    LB_TRY(lb_schema_copy(&s->project.schema, schema, err));
    /* The first part is opened at once, so that what is wrong is said by this call where it can be. */
    lb_status status = s->at < s->end ? slice_open_part(s, err) : LB_OK;
    if (status != LB_OK)
        schema->release(schema);
    return status;
}

lb_status lb_table_slice(lb_table *t, const lb_slice *want, struct ArrowArrayStream *out, lb_error *err)
{
    struct ArrowSchema schema = { 0 };

    lb_error_clear(err);
    out->release = NULL;
    LB_TRY(slice_check(want, err));
    slice *s = calloc(1, sizeof *s);
    if (s == NULL)
        return lb_fail_nomem(err);
    s->t = t;
    lb_table_tell_sample(t);
    lb_status status = slice_open(s, want, &schema, err);
    if (status == LB_OK)
        return lb_stream_make((lb_source){ slice_next, slice_close, s }, &schema, out, err);
    slice_close(s);
    lb_fail_path(err, t->path);
    return status;
}

/* Passes bytes on and remembers the last one. */
typedef struct raw_sink {
    lb_write_fn write;
    void *user;
    uint8_t last;
    bool binary; /* the records so far have no line ends */
} raw_sink;

static bool raw_write(void *user, const void *bytes, size_t size)
{
    raw_sink *sink = user;

    if (size != 0)
        sink->last = ((const uint8_t *)bytes)[size - 1];
    return sink->write(sink->user, bytes, size);
}

/* `on`: rows behind these are asked for as well. */
static lb_status raw_part(lb_table *t, uint64_t file, uint64_t first, uint64_t count, bool on, raw_sink *sink,
                          lb_error *err)
{
    lb_data *data;
    bool own;

    LB_TRY(lb_table_open_file(t, file, &data, &own, err));
    lb_status status = lb_data_check(data, err);
    sink->binary = data->format->binary;
    if (status == LB_OK)
        status = data->format->raw != NULL ? data->format->raw(data->reader, first, count, raw_write, sink, err)
                                           : lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                                                     "records of %s have no bytes of their own", data->format->name);
    if (status == LB_OK)
        status = lb_data_check(data, err);
    if (status == LB_OK && on)
        status = lb_data_tail(data, err);
    if (status != LB_OK)
        lb_fail_path(err, data->store->path);
    if (own)
        lb_data_close(data);
    return status;
}

lb_status lb_table_raw(lb_table *t, const lb_slice *want, lb_write_fn write, void *user, lb_error *err)
{
    raw_sink sink = { write, user, '\n', false };
    uint64_t at, end, file, first, next, asked_end;

    lb_error_clear(err);
    LB_TRY(slice_check(want, err));
    if (__builtin_add_overflow(want->offset, want->limit, &asked_end))
        asked_end = UINT64_MAX;
    for (lb_table_span(t, want, &at, &end); at < end; at = next) {
        LB_TRY(lb_table_find_row(t, at, &file, err));
        LB_TRY(lb_table_first_row(t, file, &first, err));
        LB_TRY(lb_table_first_row(t, file + 1, &next, err));
        next = t->lake ? LB_MIN(next, end) : end;
        /* A file may end without a line end; the next one's first record begins on a line of its own. */
        if (!sink.binary && sink.last != '\n' && sink.last != '\r' && !raw_write(&sink, "\n", 1))
            return lb_fail(err, LB_CANCELLED, LB_NOWHERE, "writing was stopped");
        LB_TRY(raw_part(t, file, at - first, next - at, !t->lake && asked_end > next, &sink, err));
    }
    const bool behind = !t->lake && t->rows != LB_ROWS_UNKNOWN && want->offset >= t->rows && asked_end > t->rows;
    return behind ? lb_data_tail(t->file, err) : LB_OK;
}
