/* Printing of whole streams: the list of forms, and the loop that all share. */
#include "column/print.h"

#include <stdlib.h>

#include "column/ipc.h"
#include "column/print_nodes.h"
#include "column/stream.h"

static const print_form print_form_list[] = {
    { "table", LB_FORM_TABLE, PRINT_CELL, print_open_table, print_rows_table, print_end_table, print_close_table },
    { "csv", LB_FORM_CSV, PRINT_TEXT, print_open_csv, print_rows_csv, NULL, print_close_csv },
    { "ndjson", LB_FORM_NDJSON, PRINT_JSON, NULL, print_rows_json, NULL, NULL },
    { "json", LB_FORM_JSON, PRINT_JSON, NULL, print_rows_json, print_end_json, NULL },
    { "arrow", LB_FORM_ARROW, PRINT_JSON, print_open_ipc, print_rows_ipc, print_end_ipc, print_close_ipc },
    { "arrows", LB_FORM_ARROWS, PRINT_JSON, print_open_ipc, print_rows_ipc, print_end_ipc, print_close_ipc },
    { "tagged", LB_FORM_TAGGED, PRINT_TAGGED, NULL, print_rows_json, NULL, NULL },
    { "canonical", LB_FORM_CANONICAL, PRINT_CANONICAL, NULL, print_rows_json, NULL, NULL },
};

LB_API const char *lb_print_forms(void)
{
    return "table csv ndjson json arrow arrows tagged canonical";
}

static const print_form *print_form_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < LB_COUNT_OF(print_form_list); i++)
        if (strcmp(print_form_list[i].name, name) == 0)
            return &print_form_list[i];
    return NULL;
}

static bool print_form_is_ipc(lb_form form)
{
    return form == LB_FORM_ARROW || form == LB_FORM_ARROWS;
}

lb_status print_flush(print_job *job, lb_error *err)
{
    if (job->out.size != 0 && !job->write(job->user, job->out.data, job->out.size))
        return lb_fail(err, LB_IO, LB_NOWHERE, "the output could not be written");
    job->out.size = 0;
    return LB_OK;
}

/* ---------------------------------------------------------------- Arrow IPC */

typedef struct ipc_state {
    lb_ipc_writer *writer;
    struct ArrowSchema plain; /* release NULL: the schema is plain already */
} ipc_state;

lb_status print_open_ipc(print_job *job, lb_error *err)
{
    ipc_state *state = lb_arena_alloc(&job->arena, 1, sizeof *state);
    if (state == NULL)
        return lb_arena_fail(&job->arena, err);
    job->state = state;
    if (!lb_schema_is_plain(job->schema))
        LB_TRY(lb_schema_plain(job->schema, &state->plain, err));
    const struct ArrowSchema *schema = state->plain.release != NULL ? &state->plain : job->schema;
    return lb_ipc_writer_open(schema, job->form == LB_FORM_ARROW, job->write, job->user, &state->writer, err);
}

/* A copy of a batch that lends everything: its release frees nothing. */
static void ipc_lent_release(struct ArrowArray *array)
{
    array->release = NULL;
}

lb_status print_rows_ipc(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err)
{
    ipc_state *state = job->state;
    struct ArrowArray decoded = { .release = NULL }, lent = *batch;
    lent.release = ipc_lent_release;
    lb_status s = LB_OK;
    if (state->plain.release != NULL)
        s = lb_array_cast(job->schema, &lent, &state->plain, &decoded, err);
    if (s == LB_OK)
        s = lb_ipc_writer_batch(state->writer, decoded.release != NULL ? &decoded : batch, err);
    if (decoded.release != NULL)
        decoded.release(&decoded);
    if (s == LB_OK)
        job->rows += (uint64_t)n_rows;
    return s;
}

lb_status print_end_ipc(print_job *job, lb_error *err)
{
    ipc_state *state = job->state;
    return lb_ipc_writer_finish(state->writer, err);
}

void print_close_ipc(print_job *job)
{
    ipc_state *state = job->state;
    if (state == NULL)
        return;
    lb_ipc_writer_free(state->writer);
    if (state->plain.release != NULL)
        state->plain.release(&state->plain);
}

/* ---------------------------------------------------------------- the loop */

static lb_status print_columns(print_job *job, print_style style, lb_error *err)
{
    job->n_columns = (size_t)job->schema->n_children;
    job->columns = lb_arena_alloc(&job->arena, LB_MAX(job->n_columns, 1u), sizeof *job->columns);
    if (job->columns == NULL)
        return lb_arena_fail(&job->arena, err);
    for (size_t i = 0; i < job->n_columns; i++)
        LB_TRY(print_node_make(&job->arena, job->schema->children[i], style, &job->columns[i], err));
    return LB_OK;
}

static lb_status print_batch(print_job *job, const print_form *form, struct ArrowArrayView *view,
                             struct ArrowArray *batch, lb_error *err)
{
    struct ArrowError why = { "" };
    int code = ArrowArrayViewSetArray(view, batch, &why);
    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    for (size_t i = 0; i < job->n_columns; i++)
        print_node_bind(&job->columns[i], view->children[i]);
    return form->batch(job, batch, batch->length, err);
}

static lb_status print_pull(print_job *job, const print_form *form, struct ArrowArrayStream *stream,
                            struct ArrowArrayView *view, lb_error *err)
{
    for (;;) {
        struct ArrowArray batch = { .release = NULL };
        if (job->cx != NULL)
            LB_TRY(lb_check_cancel(job->cx, err));
        LB_TRY(lb_stream_next(stream, &batch, err));
        if (batch.release == NULL)
            return form->end == NULL ? LB_OK : form->end(job, err);
        lb_status s = print_batch(job, form, view, &batch, err);
        batch.release(&batch);
        LB_TRY(s);
    }
}

static lb_status print_all(print_job *job, const print_form *form, struct ArrowArrayStream *stream, lb_error *err)
{
    struct ArrowArrayView view;
    struct ArrowError why = { "" };
    ArrowArrayViewInitFromType(&view, NANOARROW_TYPE_UNINITIALIZED);
    int code = ArrowArrayViewInitFromSchema(&view, job->schema, &why);
    lb_status s = lb_fail_arrow(err, code, &why);
    if (s == LB_OK && !print_form_is_ipc(form->form))
        s = print_columns(job, form->style, err);
    if (s == LB_OK)
        s = lb_buf_reserve(&job->out, PRINT_PIECE + PRINT_PIECE / 4, err);
    if (s == LB_OK && form->open != NULL)
        s = form->open(job, err);
    if (s == LB_OK)
        s = print_pull(job, form, stream, &view, err);
    /* After an error the rows before it still go out; whoever reads sees where it stopped. */
    lb_status flushed = print_flush(job, s == LB_OK ? err : NULL);
    if (form->close != NULL)
        form->close(job);
    ArrowArrayViewReset(&view);
    return s != LB_OK ? s : flushed;
}

static void print_options_of(const lb_print_options *given, lb_print_options *out)
{
    memset(out, 0, sizeof *out);
    if (given != NULL)
        memcpy(out, given, LB_MIN(given->struct_size, sizeof *out));
}

LB_API lb_status lb_print(lb_context *cx, struct ArrowArrayStream *stream, const char *form_name,
                          const lb_print_options *options, lb_write_fn write, void *user, uint64_t *rows, lb_error *err)
{
    lb_print_options used;
    struct ArrowSchema schema = { .release = NULL };
    print_options_of(options, &used);
    print_job job = { .cx = cx, .schema = &schema, .options = &used, .write = write, .user = user };
    lb_budget *budget = cx == NULL ? NULL : &cx->budget;
    const print_form *form = print_form_of(form_name);
    lb_error_clear(err);
    lb_buf_init(&job.out, budget);
    lb_arena_init(&job.arena, budget);
    lb_status s = LB_OK;
    if (form == NULL)
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "unknown form '%.40s'; forms are %s", form_name == NULL ? "" : form_name,
                    lb_print_forms());
    if (s == LB_OK)
        s = lb_stream_schema(stream, &schema, err);
    if (s == LB_OK && strcmp(schema.format, "+s") != 0)
        s = lb_fail(err, LB_USAGE, LB_NOWHERE, "only streams of structs can be printed, not of '%.40s'", schema.format);
    if (s == LB_OK) {
        job.form = form->form;
        s = print_all(&job, form, stream, err);
    }
    if (rows != NULL)
        *rows = job.rows;
    if (schema.release != NULL)
        schema.release(&schema);
    lb_buf_free(&job.out);
    lb_arena_free(&job.arena);
    if (stream->release != NULL)
        stream->release(stream);
    return s;
}
