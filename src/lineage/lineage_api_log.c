/* lakebed.h's calls for logs, the records in them, and trails through them. */
#include <stdlib.h>

#include "lineage/lineage_dot.h"
#include "lineage/lineage_json.h"
#include "lineage/lineage_log.h"

static lb_span span_of(lb_str text)
{
    return (lb_span){ text.at, text.size };
}

/* ---------------------------------------------------------------- logs */

struct lb_lineage_log {
    lb_log_writer *writer;
};

lb_status lb_lineage_log_open(lb_context *cx, const char *dir, const lb_lineage_log_options *options,
                              lb_lineage_log **out, lb_error *err)
{
    lb_lineage_log_options all = { .struct_size = sizeof all };
    lb_error_clear(err);
    (void)cx;
    *out = NULL;
    if (options != NULL)
        memcpy(&all, options, LB_MIN(options->struct_size, sizeof all));
    lb_lineage_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return lb_fail_nomem(err);
    lb_status status = lb_log_writer_open(dir, all.max_records, all.sync_each, &log->writer, err);
    if (status == LB_OK)
        *out = log;
    else
        free(log);
    return status;
}

lb_status lb_lineage_log_append(lb_lineage_log *log, const lb_lineage_graph *graph, lb_error *err)
{
    lb_error_clear(err);
    return lb_log_append(log->writer, graph, err);
}

lb_status lb_lineage_log_close(lb_lineage_log *log, lb_error *err)
{
    lb_error_clear(err);
    if (log == NULL)
        return LB_OK;
    lb_status status = lb_log_writer_close(log->writer, err);
    free(log);
    return status;
}

/* ---------------------------------------------------------------- records */

struct lb_lineage_records {
    lb_log_reader *reader;
};

lb_status lb_lineage_records_open(lb_context *cx, const char *path, lb_lineage_records **out, lb_error *err)
{
    lb_error_clear(err);
    *out = NULL;
    lb_lineage_records *records = calloc(1, sizeof *records);
    if (records == NULL)
        return lb_fail_nomem(err);
    lb_status status = lb_log_reader_open(cx, path, &records->reader, err);
    if (status == LB_OK)
        *out = records;
    else
        free(records);
    return status;
}

lb_status lb_lineage_records_next(lb_lineage_records *records, const lb_lineage_graph **graph, lb_error *err)
{
    lb_error_clear(err);
    return lb_log_reader_next(records->reader, graph, err);
}

uint64_t lb_lineage_records_bad(const lb_lineage_records *records)
{
    return lb_log_reader_bad(records->reader);
}

void lb_lineage_records_close(lb_lineage_records *records)
{
    if (records == NULL)
        return;
    lb_log_reader_close(records->reader);
    free(records);
}

/* ---------------------------------------------------------------- trails */

struct lb_trail_reply {
    const lb_trail *trail;
    lb_arena arena;
    lb_trail_answer answer;
    uint32_t *place; /* of each column among the steps */
};

lb_status lb_trail_new(lb_context *cx, lb_trail **out, lb_error *err)
{
    lb_error_clear(err);
    return lb_trail_make(&cx->budget, out, err);
}

lb_status lb_trail_add(lb_trail *trail, const lb_lineage_graph *graph, lb_error *err)
{
    lb_error_clear(err);
    return lb_trail_put(trail, graph, err);
}

static lb_status index_steps(lb_trail_reply *reply, lb_error *err)
{
    reply->place = lb_arena_alloc(&reply->arena, (size_t)lb_trail_columns(reply->trail) + 1, sizeof *reply->place);
    if (reply->place == NULL)
        return lb_arena_fail(&reply->arena, err);
    for (size_t i = 0; i < reply->answer.n_steps; i++)
        reply->place[reply->answer.steps[i].column] = (uint32_t)i;
    return LB_OK;
}

lb_status lb_trail_ask(lb_trail *trail, const char *column, const lb_trail_options *options, lb_trail_reply **out,
                       lb_error *err)
{
    lb_trail_options all = { .struct_size = sizeof all };
    uint32_t from = 0;
    lb_error_clear(err);
    *out = NULL;
    if (options != NULL)
        memcpy(&all, options, LB_MIN(options->struct_size, sizeof all));
    lb_trail_reply *reply = calloc(1, sizeof *reply);
    if (reply == NULL)
        return lb_fail_nomem(err);
    reply->trail = trail;
    lb_arena_init(&reply->arena, lb_trail_budget(trail));
    lb_status status = lb_trail_find(trail, column, &from, err);
    if (status == LB_OK)
        status = lb_trail_follow(trail, from, all.downstream ? LB_TRAIL_DOWNSTREAM : LB_TRAIL_UPSTREAM, all.values_only,
                                 all.depth, &reply->arena, &reply->answer, err);
    if (status == LB_OK)
        status = index_steps(reply, err);
    if (status == LB_OK)
        *out = reply;
    else
        lb_trail_reply_free(reply);
    return status;
}

void lb_trail_reply_free(lb_trail_reply *reply)
{
    if (reply == NULL)
        return;
    lb_arena_free(&reply->arena);
    free(reply);
}

uint64_t lb_trail_reply_size(const lb_trail_reply *reply)
{
    return reply->answer.n_steps;
}

static void tell_statement(const lb_trail *t, uint32_t statement, lb_trail_column_info *info)
{
    const lb_trail_statement *s = lb_trail_statement_at(t, statement);
    info->operation = span_of(s->operation);
    info->query_text = span_of(s->text);
    info->user = span_of(s->user);
    info->started = s->started;
    info->ended = s->has_ended ? s->ended : -1;
    lb_query_id_print(s->query_id_hi, s->query_id_lo, info->query_id);
}

lb_status lb_trail_reply_at(const lb_trail_reply *reply, uint64_t index, lb_trail_column_info *out, lb_error *err)
{
    lb_error_clear(err);
    if (index >= reply->answer.n_steps)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the reply has %zu columns", reply->answer.n_steps);
    const lb_trail_step *step = &reply->answer.steps[index];
    const lb_trail_column *column = lb_trail_column_at(reply->trail, step->column);
    lb_trail_column_info info = { .struct_size = out->struct_size,
                                  .column = span_of(column->name),
                                  .table = span_of(column->table),
                                  .table_type = span_of(column->type),
                                  .result = column->result,
                                  .value = step->value,
                                  .depth = step->depth,
                                  .toward = step->depth == 0 ? index : reply->place[step->toward],
                                  .started = -1,
                                  .ended = -1 };
    uint32_t statement = step->depth == 0 ? UINT32_MAX : lb_trail_edge_at(reply->trail, step->edge)->statement;
    if (statement != UINT32_MAX)
        tell_statement(reply->trail, statement, &info);
    memcpy(out, &info, LB_MIN(out->struct_size, sizeof info));
    return LB_OK;
}

lb_status lb_trail_reply_dot(const lb_trail_reply *reply, lb_write_fn write, void *user, lb_error *err)
{
    lb_buf out;
    lb_error_clear(err);
    lb_buf_init(&out, lb_trail_budget(reply->trail));
    lb_status status = lb_trail_dot_write(reply->trail, &reply->answer, &out, err);
    if (status == LB_OK && !write(user, out.data, out.size))
        status = lb_fail(err, LB_IO, LB_NOWHERE, "the output could not be written");
    lb_buf_free(&out);
    return status;
}
