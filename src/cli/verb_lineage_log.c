/* lakebed lineage --log without SQL: a log listed, written in another form, or asked about one column. */
#include "cli.h"
#include "json_out.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST_TEXT = 60 }; /* characters of a statement in a list */

/* A time as text, by value: to be used inside one call. */
static cli_text time_text(int64_t seconds)
{
    cli_text out = { "-" };
    time_t t = (time_t)seconds;
    struct tm tm;
    if (seconds >= 0 && gmtime_r(&t, &tm) != NULL && tm.tm_year <= 8099)
        (void)strftime(out.s, sizeof out.s, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return out;
}

static void grid_span(grid *g, lb_span span)
{
    char *text = span.size == 0 ? cli_format("-") : span_text(span);
    grid_add(g, text);
    free(text);
}

static void jput_span(json_out *j, const char *key, lb_span span)
{
    char *text = span.size == 0 ? NULL : span_text(span);
    jput_text(j, key, text);
    free(text);
}

/* A statement's text in a list: so many characters, and a sign where it goes on. */
static char *short_text(lb_span span)
{
    size_t n = 0, characters = 0;
    while (n < span.size && characters <= LIST_TEXT)
        characters += ((unsigned char)span.text[n++] & 0xC0) != 0x80;
    if (characters <= LIST_TEXT)
        return span_text(span);
    do
        n--;
    while (n > 0 && ((unsigned char)span.text[n] & 0xC0) == 0x80);
    return cli_format("%.*s…", (int)n, span.text);
}

/* ---------------------------------------------------------------- every record */

typedef struct record_list {
    cli *c;
    lb_write_fn write;
    void *user;
    const char *form; /* NULL: a list */
    grid *g;          /* for people */
    json_out j;
    uint64_t count;
} record_list;

/* Tables that the vertices name, each once, in the order of their ids. */
static void json_tables(json_out *j, const lb_lineage_graph *graph, uint64_t vertices)
{
    lb_span last = { NULL, 0 };
    cli_list seen = { 0 };
    jout_key(j, "sources");
    jout_open(j, '[');
    for (uint64_t i = 0; i < vertices; i++) {
        lb_vertex_info v = { .struct_size = sizeof v };
        if (lb_lineage_vertex_at(graph, i, &v, NULL) != LB_OK || v.target || v.table.size == 0)
            continue;
        if (v.table.size == last.size && memcmp(v.table.text, last.text, last.size) == 0)
            continue;
        last = v.table;
        char *name = span_text(v.table);
        bool known = false;
        for (size_t k = 0; k < seen.count && !known; k++)
            known = strcmp(seen.items[k], name) == 0;
        if (known) {
            free(name);
            continue;
        }
        list_add(&seen, name);
        jout_text(j, name);
    }
    jout_close(j, ']');
    for (size_t k = 0; k < seen.count; k++)
        free((char *)(uintptr_t)seen.items[k]);
    free(seen.items);
}

static void list_json(record_list *l, const lb_lineage_graph *graph, const lb_lineage_info *info)
{
    json_out *j = &l->j;
    jout_open(j, '{');
    jput_text(j, "query_id", info->query_id);
    jput_span(j, "operation", info->operation);
    jput_span(j, "user", info->user);
    jput_known(j, "started", info->started);
    jput_known(j, "ended", info->ended);
    jput_span(j, "target", info->target);
    json_tables(j, graph, info->vertices);
    jput_count(j, "vertices", info->vertices);
    jput_count(j, "edges", info->edges);
    jput_span(j, "hash", info->hash);
    jput_span(j, "query_text", info->query_text);
    jout_close(j, '}');
}

static void list_people(record_list *l, const lb_lineage_info *info)
{
    char *text = short_text(info->query_text);
    grid_add(l->g, time_text(info->started).s);
    grid_span(l->g, info->operation);
    grid_span(l->g, info->target);
    grid_add(l->g, number_text(info->vertices).s);
    grid_add(l->g, info->query_id);
    grid_add(l->g, text);
    free(text);
}

static lb_status take_record(record_list *l, const lb_lineage_graph *graph, lb_error *err)
{
    lb_lineage_info info = { .struct_size = sizeof info };
    l->count++;
    if (l->form != NULL)
        return lb_lineage_write(graph, l->form, l->write, l->user, err);
    lb_status status = lb_lineage_get_info(graph, &info, err);
    if (status == LB_OK && l->g == NULL)
        list_json(l, graph, &info);
    else if (status == LB_OK)
        list_people(l, &info);
    return status;
}

static lb_status each_record(lb_lineage_records *records, record_list *l, lb_error *err)
{
    const lb_lineage_graph *graph;
    for (;;) {
        lb_status status = lb_lineage_records_next(records, &graph, err);
        if (status != LB_OK || graph == NULL)
            return status;
        status = take_record(l, graph, err);
        if (status != LB_OK)
            return status;
    }
}

/* What was no record is a finding. */
static int records_end(cli *c, const lb_lineage_records *records, lb_status status, const lb_error *err)
{
    if (status != LB_OK && c->out_error != 0)
        return EXIT_SYSTEM;
    if (status != LB_OK)
        return report_error(c, err);
    return lb_lineage_records_bad(records) != 0 ? EXIT_FINDING : EXIT_DONE;
}

static int list_records(cli *c, lb_lineage_records *records, record_list *l)
{
    lb_error err = LB_ERROR_INIT;
    bool json = args_has(c, OPT_JSON);
    if (l->form == NULL && json) {
        jout_open(&l->j, '{');
        jout_key(&l->j, "records");
        jout_open(&l->j, '[');
    } else if (l->form == NULL) {
        l->g = grid_new("started|operation|writes|>columns|query id|statement");
    }
    lb_status status = each_record(records, l, &err);
    if (l->form == NULL && json) {
        jout_close(&l->j, ']');
        jput_count(&l->j, "bad", lb_lineage_records_bad(records));
        jout_close(&l->j, '}');
        jout_end(&l->j);
    } else if (l->form == NULL) {
        if (status == LB_OK)
            grid_print(l->g, "");
        grid_free(l->g);
    }
    return records_end(c, records, status, &err);
}

/* ---------------------------------------------------------------- one column */

static lb_trail_column_info reply_at(const lb_trail_reply *reply, uint64_t i)
{
    lb_trail_column_info info = { .struct_size = sizeof info };
    (void)lb_trail_reply_at(reply, i, &info, NULL);
    return info;
}

/* A result column is told with its query, for others have its name too. */
static char *column_text(const lb_trail_column_info *info)
{
    char *name = span_text(info->column);
    if (!info->result)
        return name;
    char *text = cli_format("%s (result)", name);
    free(name);
    return text;
}

static const char *how_text(const lb_trail_column_info *info)
{
    return info->depth == 0 ? "" : info->value ? "value" : "restriction";
}

static void reply_people(const lb_trail_reply *reply, bool downstream)
{
    grid *g = grid_new(downstream ? ">step|column|how|made from|statement|started|query id"
                                  : ">step|column|how|goes into|statement|started|query id");
    for (uint64_t i = 0; i < lb_trail_reply_size(reply); i++) {
        lb_trail_column_info info = reply_at(reply, i), next = reply_at(reply, info.toward);
        char *column = column_text(&info), *toward = column_text(&next);
        bool part = info.depth != 0 && info.query_id[0] == '\0';
        grid_add(g, number_text(info.depth).s);
        grid_add(g, column);
        grid_add(g, part ? "part of" : how_text(&info));
        grid_add(g, info.depth == 0 ? "" : toward);
        if (info.operation.size != 0)
            grid_span(g, info.operation);
        else
            grid_add(g, "");
        grid_add(g, info.query_id[0] == '\0' ? "" : time_text(info.started).s);
        grid_add(g, info.query_id);
        free(toward);
        free(column);
    }
    grid_print(g, "");
    grid_free(g);
}

static void reply_json(const lb_trail_reply *reply, bool downstream, uint64_t statements, uint64_t bad)
{
    json_out j = { .file = stdout };
    lb_trail_column_info first = reply_at(reply, 0);
    jout_open(&j, '{');
    jput_span(&j, "column", first.column);
    jput_text(&j, "direction", downstream ? "downstream" : "upstream");
    jput_count(&j, "statements", statements);
    jput_count(&j, "bad", bad);
    jout_key(&j, "columns");
    jout_open(&j, '[');
    for (uint64_t i = 1; i < lb_trail_reply_size(reply); i++) {
        lb_trail_column_info info = reply_at(reply, i), next = reply_at(reply, info.toward);
        jout_open(&j, '{');
        jput_span(&j, "column", info.column);
        jput_span(&j, "table", info.table);
        jput_span(&j, "table_type", info.table_type);
        jput_bool(&j, "result", info.result);
        jput_count(&j, "depth", info.depth);
        jput_text(&j, "how", how_text(&info));
        jput_span(&j, downstream ? "made_from" : "goes_into", next.column);
        jput_text(&j, "query_id", info.query_id[0] == '\0' ? NULL : info.query_id);
        jput_span(&j, "operation", info.operation);
        jput_known(&j, "started", info.started);
        jput_known(&j, "ended", info.ended);
        jput_span(&j, "user", info.user);
        jput_span(&j, "query_text", info.query_text);
        jout_close(&j, '}');
    }
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
}

typedef struct trail_question {
    bool downstream;
    const char *column, *form;
    lb_write_fn write;
    void *user;
} trail_question;

static int answer(cli *c, lb_trail *trail, const trail_question *q, uint64_t statements, uint64_t bad)
{
    lb_error err = LB_ERROR_INIT;
    lb_trail_reply *reply = NULL;
    lb_trail_options options = { .struct_size = sizeof options,
                                 .downstream = q->downstream,
                                 .values_only = args_has(c, OPT_VALUES_ONLY),
                                 .depth = (uint32_t)args_number(c, OPT_DEPTH, 0) };
    lb_status status = lb_trail_ask(trail, q->column, &options, &reply, &err);
    if (status == LB_OK && q->form != NULL)
        status = lb_trail_reply_dot(reply, q->write, q->user, &err);
    else if (status == LB_OK && args_has(c, OPT_JSON))
        reply_json(reply, q->downstream, statements, bad);
    else if (status == LB_OK)
        reply_people(reply, q->downstream);
    lb_trail_reply_free(reply);
    return status == LB_OK || c->out_error != 0 ? EXIT_DONE : report_error(c, &err);
}

static lb_status load_trail(lb_lineage_records *records, lb_trail *trail, uint64_t *statements, lb_error *err)
{
    const lb_lineage_graph *graph;
    lb_status status;
    while ((status = lb_lineage_records_next(records, &graph, err)) == LB_OK && graph != NULL) {
        status = lb_trail_add(trail, graph, err);
        if (status != LB_OK)
            return status;
        ++*statements;
    }
    return status;
}

static int follow(cli *c, lb_lineage_records *records, const trail_question *q)
{
    lb_error err = LB_ERROR_INIT;
    lb_trail *trail = NULL;
    uint64_t statements = 0;
    lb_status status = lb_trail_new(c->cx, &trail, &err);
    if (status == LB_OK)
        status = load_trail(records, trail, &statements, &err);
    int result = records_end(c, records, status, &err);
    if (status == LB_OK) {
        int answered = answer(c, trail, q, statements, lb_lineage_records_bad(records));
        if (answered > result)
            result = answered;
    }
    lb_trail_free(trail);
    return result;
}

/* ---------------------------------------------------------------- the whole */

static int check(cli *c, bool asks)
{
    const char *form = args_text(c, OPT_TO, NULL);
    if (args_has(c, OPT_UPSTREAM) && args_has(c, OPT_DOWNSTREAM))
        return report_usage(c, "ask one thing: --upstream or --downstream");
    if (!asks && (args_has(c, OPT_VALUES_ONLY) || args_has(c, OPT_DEPTH)))
        return report_usage(c, "--values-only and --depth go with --upstream or --downstream");
    if (args_has(c, OPT_DEPTH) && args_number(c, OPT_DEPTH, 0) > UINT32_MAX)
        return report_usage(c, "--depth takes at most %u", UINT32_MAX);
    if (form != NULL && args_has(c, OPT_JSON))
        return report_usage(c, "give --json or --to, not both");
    if (asks && form != NULL && strcmp(form, "dot") != 0)
        return report_usage(c, "what is upstream or downstream is printed as a table, with --json, or --to dot");
    if (args_has(c, OPT_OUTPUT) && form == NULL)
        return report_usage(c, "--output needs a form, as --to %s", asks ? "dot" : "impala");
    return EXIT_DONE;
}

int lineage_read_log(cli *c, lb_write_fn write, void *user)
{
    lb_error err = LB_ERROR_INIT;
    lb_lineage_records *records = NULL;
    trail_question q = { .downstream = args_has(c, OPT_DOWNSTREAM),
                         .column = args_text(c, OPT_UPSTREAM, args_text(c, OPT_DOWNSTREAM, NULL)),
                         .form = args_text(c, OPT_TO, NULL),
                         .write = write,
                         .user = user };
    record_list l = { .c = c, .write = write, .user = user, .form = q.form, .j = { .file = stdout } };
    int result = check(c, q.column != NULL);
    if (result != EXIT_DONE)
        return result;
    if (lb_lineage_records_open(c->cx, args_text(c, OPT_LOG, NULL), &records, &err) != LB_OK)
        return report_error(c, &err);
    result = q.column != NULL ? follow(c, records, &q) : list_records(c, records, &l);
    lb_lineage_records_close(records);
    return result;
}
