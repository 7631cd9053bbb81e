/* lakebed lineage: the column lineage of statements, printed or appended to a log. */
#include "cli.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where graphs go: to the log, or in a form to standard output or a file. */
typedef struct lineage_sink {
    const char *form;
    lb_lineage_log *log;
    lb_write_fn write;
    void *user;
} lineage_sink;

char *span_text(lb_span span)
{
    return cli_format("%.*s", (int)(span.size < INT32_MAX ? span.size : INT32_MAX), span.size == 0 ? "" : span.text);
}

static void worsen(int *result, int status)
{
    if (status > *result)
        *result = status;
}

/* ---------------------------------------------------------------- the catalog */

static int add_lake(cli *c, lb_catalog *catalog, const char *dir)
{
    lb_error err = LB_ERROR_INIT;
    if (lb_catalog_add_lake(catalog, c->cx, dir, args_text(c, OPT_DEFAULT_DB, NULL), &err) != LB_OK)
        return report_error(c, &err);
    return EXIT_DONE;
}

/* A place in statements is shown; the messages about JSON have theirs in them. */
static int tell_catalog(cli *c, sql_text *text, lb_error *err)
{
    const char *at = text->bytes, *end = at + text->size;
    while (at < end && (unsigned char)*at <= ' ')
        at++;
    if (err->offset >= 0 && at < end && *at != '{' && *at != '[') {
        sql_report(c, text, (uint64_t)err->offset, true, err->message);
    } else {
        err->offset = err->line = -1;
        (void)snprintf(err->path, sizeof err->path, "%s", text->path);
        (void)report_error(c, err);
    }
    return err->code == LB_USAGE ? EXIT_DATA : report_status(err->code);
}

static int add_file(cli *c, lb_catalog *catalog, const char *path)
{
    lb_error err = LB_ERROR_INIT;
    sql_text text;
    int result = sql_read(c, path, &text);
    if (result == EXIT_DONE &&
        lb_catalog_add(catalog, text.bytes, text.size, args_text(c, OPT_DEFAULT_DB, NULL), &err) != LB_OK)
        result = tell_catalog(c, &text, &err);
    sql_free(&text);
    return result;
}

/* A table of a lake may be declared otherwise by a file: files come later. */
static int fill_catalog(cli *c, lb_catalog *catalog)
{
    const cli_list *lakes = &c->args.given[OPT_LAKE], *files = &c->args.given[OPT_CATALOG];
    int result = EXIT_DONE;
    for (size_t i = 0; i < lakes->count && result == EXIT_DONE; i++)
        result = add_lake(c, catalog, lakes->items[i]);
    for (size_t i = 0; i < files->count && result == EXIT_DONE; i++)
        result = add_file(c, catalog, files->items[i]);
    return result;
}

/* ---------------------------------------------------------------- statements */

/* Names that could not be resolved for certain. */
static void tell_marks(cli *c, const lb_trace *trace, sql_text *text, const lb_trace_info *info)
{
    static const char *const says[][2] = {
        [LB_MARK_UNKNOWN_TABLE] = { "table", "is in no catalog; its columns are taken as they are named" },
        [LB_MARK_UNKNOWN_COLUMN] = { "column", "is of no table that is known here" },
        [LB_MARK_AMBIGUOUS_COLUMN] = { "column", "may be of several tables; all of them are recorded" },
    };
    uint64_t all = info->unknown_tables + info->unknown_columns + info->ambiguous_columns;
    for (uint64_t i = 0; i < info->marks; i++) {
        lb_mark_info mark = { .struct_size = sizeof mark };
        if (lb_trace_mark(trace, i, &mark, NULL) != LB_OK)
            continue;
        char *name = span_text(mark.name), *view = span_text(mark.view);
        char *message = cli_format("%s %s %s%s%s", says[mark.kind][0], name, says[mark.kind][1],
                                   mark.view.size == 0 ? "" : ", in the text of view ", view);
        sql_report(c, text, mark.offset, false, message);
        free(message);
        free(view);
        free(name);
    }
    if (all > info->marks)
        report_line(c, "and %s more names like these", number_text(all - info->marks).s);
}

static int write_graph(cli *c, const lineage_sink *sink, const lb_lineage_graph *graph)
{
    lb_error err = LB_ERROR_INIT;
    lb_status status = LB_OK;
    if (sink->log != NULL)
        status = lb_lineage_log_append(sink->log, graph, &err);
    if (status == LB_OK && sink->form != NULL)
        status = lb_lineage_write(graph, sink->form, sink->write, sink->user, &err);
    if (status == LB_OK)
        return EXIT_DONE;
    if (c->out_error != 0) /* told at the end, by out_finish */
        return EXIT_SYSTEM;
    return report_error(c, &err);
}

static int tell_error(cli *c, sql_text *text, const lb_trace_info *info)
{
    const lb_error *err = info->error;
    uint64_t offset = err->offset >= 0 ? (uint64_t)err->offset : info->begin;
    sql_report(c, text, offset, true, err->message[0] != '\0' ? err->message : lb_status_text(err->code));
    if (err->hint[0] != '\0') {
        char *clean = clean_text(err->hint);
        (void)fprintf(stderr, "  %s\n", clean);
        free(clean);
    }
    /* The call was right; it is the text that is wrong. */
    return info->status == LB_USAGE ? EXIT_DATA : report_status(info->status);
}

/* What becomes of one statement. *stop: nothing more can be written. */
static int take_statement(cli *c, const lb_trace *trace, sql_text *text, const lb_trace_info *info,
                          const lineage_sink *sink, bool *stop)
{
    bool marked = info->unknown_tables + info->unknown_columns + info->ambiguous_columns != 0;
    bool strict = args_has(c, OPT_STRICT);
    if (marked && (strict || !args_has(c, OPT_QUIET)))
        tell_marks(c, trace, text, info);
    if (marked && strict)
        return EXIT_FINDING;
    if (info->status != LB_OK)
        return tell_error(c, text, info);
    if (info->graph == NULL)
        return EXIT_DONE;
    int result = write_graph(c, sink, info->graph);
    *stop = result != EXIT_DONE;
    return result;
}

static int trace_script(cli *c, const lb_trace_options *options, sql_text *text, const lineage_sink *sink)
{
    lb_error err = LB_ERROR_INIT;
    lb_trace *trace = NULL;
    bool done = false, stop = false;
    int result = EXIT_DONE;
    lb_status status = lb_trace_open(c->cx, options, text->bytes, text->size, &trace, &err);
    while (status == LB_OK && !stop) {
        lb_trace_info info = { .struct_size = sizeof info };
        status = lb_trace_next(trace, &info, &done, &err);
        if (status != LB_OK || done)
            break;
        worsen(&result, take_statement(c, trace, text, &info, sink, &stop));
    }
    if (status != LB_OK)
        worsen(&result, report_error(c, &err));
    lb_trace_close(trace);
    return result;
}

/* ---------------------------------------------------------------- what is recorded */

static const char *user_name(const cli *c)
{
    const struct passwd *entry = args_has(c, OPT_USER) ? NULL : getpwuid(geteuid());
    const char *known = entry != NULL ? entry->pw_name : getenv("USER");
    return args_text(c, OPT_USER, known == NULL ? "" : known);
}

/* SOURCE_DATE_EPOCH stands for the clock, as in builds that are to be repeated. 0: now. */
static int64_t record_time(void)
{
    uint64_t seconds;
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    return fixed != NULL && args_parse_number(fixed, &seconds) ? (int64_t)seconds : 0;
}

static lb_trace_options trace_options(const cli *c, const lb_catalog *catalog)
{
    int64_t time = record_time();
    return (lb_trace_options){ .struct_size = sizeof(lb_trace_options),
                               .catalog = catalog,
                               .default_db = args_text(c, OPT_DEFAULT_DB, NULL),
                               .warehouse = args_text(c, OPT_WAREHOUSE, NULL),
                               .user = user_name(c),
                               .query_id = args_text(c, OPT_QUERY_ID, NULL),
                               .started = time,
                               .ended = time,
                               .keep_newlines = strcmp(args_text(c, OPT_NEWLINES, "blank"), "keep") == 0,
                               .expand_complex_types = args_has(c, OPT_EXPAND_COMPLEX_TYPES),
                               .expr_rewrites = args_has(c, OPT_EXPR_REWRITES) };
}

/* ---------------------------------------------------------------- the whole */

static int run_script(cli *c, sql_text *text, lineage_sink *sink)
{
    lb_error err = LB_ERROR_INIT;
    lb_catalog *catalog = NULL;
    if (lb_catalog_new(c->cx, &catalog, &err) != LB_OK)
        return report_error(c, &err);
    int result = fill_catalog(c, catalog);
    if (result == EXIT_DONE && args_has(c, OPT_LOG) &&
        lb_lineage_log_open(c->cx, args_text(c, OPT_LOG, NULL), NULL, &sink->log, &err) != LB_OK)
        result = report_error(c, &err);
    if (result == EXIT_DONE) {
        lb_trace_options options = trace_options(c, catalog);
        result = trace_script(c, &options, text, sink);
    }
    if (lb_lineage_log_close(sink->log, &err) != LB_OK)
        worsen(&result, report_error(c, &err));
    lb_catalog_free(catalog);
    return result;
}

static int run_sql(cli *c, lineage_sink *sink)
{
    const char *file = args_text(c, OPT_FILE, NULL);
    sql_text text = { .line = 1 };
    int result = EXIT_DONE;
    if (file == NULL && strcmp(c->args.operands.items[0], "-") == 0)
        file = "-";
    if (file != NULL) {
        result = sql_read(c, file, &text);
    } else {
        text.bytes = cli_format("%s", c->args.operands.items[0]);
        text.size = strlen(text.bytes);
    }
    if (result == EXIT_DONE)
        result = run_script(c, &text, sink);
    sql_free(&text);
    return result;
}

static int check_options(cli *c, bool has_sql)
{
    static const cli_option_id of_log[] = { OPT_UPSTREAM, OPT_DOWNSTREAM, OPT_VALUES_ONLY, OPT_DEPTH, OPT_JSON };
    static const cli_option_id of_sql[] = { OPT_CATALOG,      OPT_LAKE,      OPT_DEFAULT_DB,
                                            OPT_NEWLINES,     OPT_WAREHOUSE, OPT_USER,
                                            OPT_QUERY_ID,     OPT_STRICT,    OPT_EXPAND_COMPLEX_TYPES,
                                            OPT_EXPR_REWRITES };
    const cli_option_id *wrong = has_sql ? of_log : of_sql;
    size_t n = has_sql ? sizeof of_log / sizeof *of_log : sizeof of_sql / sizeof *of_sql;
    cli_option option;
    if (has_sql && c->args.operands.count != 0 && args_has(c, OPT_FILE))
        return report_usage(c, "give the statements once: as an argument, or with --file");
    if (!has_sql && !args_has(c, OPT_LOG))
        return report_usage(c, "lineage needs SQL: lakebed lineage [options] SQL, or -f FILE, or - for standard input");
    for (size_t i = 0; i < n; i++)
        if (args_has(c, wrong[i]) && cli_option_at(wrong[i], &option))
            return report_usage(c, has_sql ? "--%s asks a log: give --log DIR, and no SQL" : "--%s goes with SQL",
                                option.name);
    const char *form = args_text(c, OPT_TO, "");
    bool binary = strncmp(form, "thrift", 6) == 0 && c->out_terminal && !args_has(c, OPT_OUTPUT);
    return binary ? report_usage(c, "--to %s is not for a terminal; write it to a file with -o, or into a pipe", form)
                  : EXIT_DONE;
}

/* A form that is not written yet is said before anything is read. */
static int check_form(cli *c)
{
    const char *form = args_text(c, OPT_TO, "impala");
    if (strcmp(form, "openlineage") != 0 && strcmp(form, "html") != 0)
        return EXIT_DONE;
    report_line(c, "lineage is not written as %s yet; there are: %s", form, lb_lineage_forms());
    return EXIT_DATA;
}

static int run(cli *c, bool has_sql, lb_write_fn write, void *user)
{
    lineage_sink sink = { .form =
                              args_text(c, OPT_TO, args_has(c, OPT_LOG) && !args_has(c, OPT_OUTPUT) ? NULL : "impala"),
                          .write = write,
                          .user = user };
    return has_sql ? run_sql(c, &sink) : lineage_read_log(c, write, user);
}

/* The file appears when all was written, also where some statements had findings. */
static int run_into_file(cli *c, bool has_sql, const char *file)
{
    lb_error err = LB_ERROR_INIT;
    lb_saver *saver = NULL;
    if (lb_saver_open(c->cx, file, &saver, &err) != LB_OK)
        return report_error(c, &err);
    int result = run(c, has_sql, lb_saver_write, saver);
    if (result == EXIT_DONE || result == EXIT_FINDING || result == EXIT_DATA) {
        if (lb_saver_commit(saver, &err) != LB_OK)
            worsen(&result, report_error(c, &err));
    } else {
        lb_saver_discard(saver);
    }
    return result;
}

int verb_lineage(cli *c)
{
    bool has_sql = c->args.operands.count != 0 || args_has(c, OPT_FILE);
    const char *file = args_text(c, OPT_OUTPUT, "-");
    int result = check_options(c, has_sql);
    if (result == EXIT_DONE)
        result = check_form(c);
    if (result != EXIT_DONE)
        return result;
    return strcmp(file, "-") == 0 ? run(c, has_sql, out_write, c) : run_into_file(c, has_sql, file);
}
