#include "lake/stretch.h"

#include <stdlib.h>

#include "base/pool.h"
#include "column/stream.h"
#include "lake/ahead.h"

typedef struct stretch {
    lb_table *t;
    const lb_project *project;
    uint64_t at, end; /* rows of the table left */

    /* The file that holds `at`. */
    uint64_t file, first, next; /* its index, its first row, and that of the one behind it */
    lb_arena arena;
    lb_entry entry;
} stretch;

/* Rows of one file. */
typedef struct stretch_run {
    uint64_t file, first, count;
} stretch_run;

/* ---------------------------------------------------------------- cutting into runs */

/* Look at the file that holds s->at. */
static lb_status stretch_look(stretch *s, lb_error *err)
{
    LB_TRY(lb_table_find_row(s->t, s->at, &s->file, err));
    if (s->file == UINT64_MAX)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "row %llu has no file", (unsigned long long)s->at);
    LB_TRY(lb_table_first_row(s->t, s->file, &s->first, err));
    LB_TRY(lb_table_first_row(s->t, s->file + 1, &s->next, err));
    lb_arena_free(&s->arena);
    lb_arena_init(&s->arena, &s->t->cx->budget);
    return lb_table_entry(s->t, s->file, &s->arena, &s->entry, err);
}

/* The row of the table at which the run that begins at s->at ends. */
static uint64_t stretch_border(const stretch *s)
{
    uint64_t border = lb_blocks_border(&s->entry.blocks, s->at - s->first), end = LB_MIN(s->end, s->next);

    return border < end - s->first ? s->first + border : end;
}

/* May runs of the file be held, one more than there are threads, and decoded? */
static bool stretch_fits(const stretch *s)
{
    const lb_context *cx = s->t->cx;
    uint64_t held;

    return !__builtin_mul_overflow(lb_blocks_run_bytes(&s->entry.blocks), 4 * ((uint64_t)cx->threads + 1), &held) &&
           held <= cx->budget.limit;
}

static lb_status stretch_next(void *user, void *job, bool *there, lb_error *err)
{
    stretch *s = user;

    *there = false;
    if (s->at >= s->end)
        return LB_OK;
    if (s->at >= s->next)
        LB_TRY(stretch_look(s, err));
    if (!stretch_fits(s))
        return LB_OK;
    const uint64_t border = stretch_border(s);
    const stretch_run run = { s->file, s->at - s->first, border - s->at };
    memcpy(job, &run, sizeof run);
    s->at = border;
    *there = true;
    return LB_OK;
}

/* ---------------------------------------------------------------- reading a run */

/* A batch of the file, `done` rows into the run, becomes one of the table's. */
static lb_status stretch_bring(const lb_project_file *columns, struct ArrowArray *batch, uint64_t row, lb_ahead_run *to,
                               lb_error *err)
{
    struct ArrowArray out = { 0 };

    lb_status status = lb_project_bring(columns, batch, &out, err);
    batch->release(batch);
    if (status != LB_OK && err != NULL && err->row >= 0)
        err->row += (int64_t)row;
    LB_TRY(status);
    status = lb_ahead_keep(to, &out, err);
    if (out.release != NULL)
        out.release(&out);
    return status;
}

static lb_status stretch_pull(lb_data *data, const lb_project_file *columns, const stretch_run *run,
                              struct ArrowArrayStream *stream, lb_ahead_run *to, lb_error *err)
{
    uint64_t done = 0;

    for (;;) {
        struct ArrowArray batch = { 0 };
        LB_TRY(lb_stream_next(stream, &batch, err));
        if (batch.release == NULL)
            break;
        uint64_t rows = (uint64_t)batch.length;
        lb_status status = lb_data_check(data, err);
        if (status != LB_OK) {
            batch.release(&batch);
            return status;
        }
        LB_TRY(stretch_bring(columns, &batch, run->first + done, to, err));
        done += rows;
    }
    if (done == run->count)
        return LB_OK;
    return lb_fail(err, LB_STALE, LB_NOWHERE, "file %llu of the table gave fewer rows than it has",
                   (unsigned long long)run->file);
}

static lb_status stretch_scan(lb_data *data, const lb_project_file *columns, const stretch_run *run, lb_ahead_run *to,
                              lb_error *err)
{
    const lb_range range = {
        .first = run->first, .count = run->count, .n_columns = columns->n_wanted, .columns = columns->wanted
    };
    struct ArrowArrayStream stream = { 0 };

    LB_TRY(data->format->scan(data->reader, &range, &stream, err));
    lb_status status = stretch_pull(data, columns, run, &stream, to, err);
    stream.release(&stream);
    return status;
}

static lb_status stretch_read(void *user, const void *job, lb_ahead_run *to, lb_error *err)
{
    const stretch *s = user;
    lb_project_file columns = { 0 };
    lb_data *data = NULL;
    stretch_run run;
    bool own;

    memcpy(&run, job, sizeof run);
    LB_TRY(lb_table_open_file(s->t, run.file, &data, &own, err));
    lb_status status = lb_data_check(data, err);
    if (status == LB_OK)
        status = lb_project_open(&columns, s->project, data, false, err);
    if (status == LB_OK)
        status = stretch_scan(data, &columns, &run, to, err);
    if (status != LB_OK)
        lb_fail_path(err, data->store->path);
    lb_project_close(&columns);
    lb_data_close(data);
    return status;
}

/* ---------------------------------------------------------------- opening */

static void stretch_close(void *user)
{
    stretch *s = user;

    lb_arena_free(&s->arena);
    free(s);
}

lb_status lb_stretch_open(lb_table *t, const lb_project *project, uint64_t at, uint64_t end,
                          struct ArrowArrayStream *out, bool *opened, lb_error *err)
{
    static const lb_ahead_work work = { stretch_next, stretch_read, stretch_close };
    struct ArrowSchema schema = { 0 };

    *opened = false;
    if (!lb_threads_free(t->cx))
        return LB_OK;
    stretch *s = calloc(1, sizeof *s);
    if (s == NULL)
        return lb_fail_nomem(err);
    *s = (stretch){ .t = t, .project = project, .at = at, .end = end };
    lb_arena_init(&s->arena, &t->cx->budget);
    lb_status status = stretch_look(s, err);
    *opened = status == LB_OK && stretch_fits(s) && stretch_border(s) < end;
    if (*opened)
        status = lb_schema_copy(&project->schema, &schema, err);
    if (status == LB_OK && *opened)
        return lb_ahead_open(t->cx, &work, s, &schema, out, err);
    stretch_close(s);
    return status;
}
