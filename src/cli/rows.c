/* What the verbs that print rows share: where they go and in which form, and the explanation of how they would be
 * read. */
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json_out.h"

/* ---------------------------------------------------------------- what is asked */

static const struct {
    const char *extension, *form, *delimiter;
} extensions[] = {
    { "csv", "csv", NULL },       { "tsv", "csv", "\t" },      { "psv", "csv", "|" },
    { "ndjson", "ndjson", NULL }, { "jsonl", "ndjson", NULL }, { "json", "json", NULL },
    { "arrow", "arrow", NULL },   { "ipc", "arrow", NULL },    { "feather", "arrow", NULL },
    { "arrows", "arrows", NULL }, { "lance", "lance", NULL },
};

static bool plan_extension(rows_plan *plan, const char *file);

/* The form follows from the extension before the container's: "rows.csv.zst". */
static bool plan_packed(rows_plan *plan, const char *file, size_t size)
{
    char *inner = cli_format("%.*s", (int)size, file);
    bool asked = plan->form != NULL, known = plan_extension(plan, inner);
    free(inner);
    if (!asked && known && strcmp(plan->form, "csv") != 0 && strcmp(plan->form, "ndjson") != 0 &&
        strcmp(plan->form, "json") != 0) {
        plan->form = NULL; /* formats of bytes compress inside */
        return false;
    }
    return known;
}

static bool plan_extension(rows_plan *plan, const char *file)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(slash == NULL ? file : slash, '.');
    size_t stem = lb_saver_stem(file);
    if (stem != 0)
        return plan_packed(plan, file, stem);
    for (size_t i = 0; dot != NULL && i < sizeof extensions / sizeof *extensions; i++) {
        if (strcasecmp(dot + 1, extensions[i].extension) != 0)
            continue;
        plan->delimiter = extensions[i].delimiter;
        if (plan->form == NULL)
            plan->form = extensions[i].form;
        return true;
    }
    return false;
}

int rows_form(cli *c, rows_plan *plan)
{
    plan->form = args_text(c, OPT_TO, NULL);
    plan->file = args_text(c, OPT_OUTPUT, NULL);
    if (plan->file != NULL && strcmp(plan->file, "-") == 0)
        plan->file = NULL;
    if (plan->file != NULL && !plan_extension(plan, plan->file) && plan->form == NULL)
        return report_usage(c, "the extension of \"%s\" tells no form; give one, as --to csv", plan->file);
    if (plan->form == NULL)
        plan->form = c->out_terminal && !args_has(c, OPT_OUTPUT) ? "table" : "csv";
    if (args_has(c, OPT_JSON) && !args_has(c, OPT_EXPLAIN))
        return report_usage(c, "--json goes with --explain; rows as JSON are --to json or --to ndjson");
    if (args_has(c, OPT_EXPLAIN) && args_has(c, OPT_OUTPUT))
        return report_usage(c, "--explain prints no rows, so there is nothing for --output");
    if (strcmp(plan->form, "lance") == 0 && plan->file == NULL && !args_has(c, OPT_EXPLAIN))
        return report_usage(c, "a Lance dataset is a folder; name it with -o");
    bool binary = strcmp(plan->form, "arrow") == 0 || strcmp(plan->form, "arrows") == 0;
    if (binary && plan->file == NULL && c->out_terminal && !args_has(c, OPT_EXPLAIN))
        return report_usage(c, "--to %s is not for a terminal; write it to a file with -o, or into a pipe", plan->form);
    if (strcmp(plan->form, "raw") == 0 && args_has(c, OPT_COLUMNS))
        return report_usage(c, "--to raw gives whole records; leave --columns out");
    return EXIT_DONE;
}

/* Cut `text` at its commas; `\,` is a comma and `\\` a backslash of the name. Gives where the next list can be
 * written. */
static char *split_columns(cli_list *columns, const char *text, char *out)
{
    list_add(columns, out);
    for (; *text != '\0'; text++) {
        if (*text == '\\' && (text[1] == ',' || text[1] == '\\')) {
            *out++ = *++text;
        } else if (*text == ',') {
            *out++ = '\0';
            list_add(columns, out);
        } else {
            *out++ = *text;
        }
    }
    *out++ = '\0';
    return out;
}

void cli_columns(const cli *c, cli_list *columns, char **names)
{
    const cli_list *given = &c->args.given[OPT_COLUMNS];
    size_t size = 0;
    for (size_t i = 0; i < given->count; i++)
        size += strlen(given->items[i]) + 1;
    char *out = *names = cli_alloc(size, 1);
    for (size_t i = 0; i < given->count; i++)
        out = split_columns(columns, given->items[i], out);
}

void rows_columns(const cli *c, rows_plan *plan)
{
    cli_columns(c, &plan->columns, &plan->names);
}

/* ---------------------------------------------------------------- writing */

static bool same_file(const struct stat *out, const char *path)
{
    struct stat in;
    return stat(path, &in) == 0 && in.st_dev == out->st_dev && in.st_ino == out->st_ino;
}

/* Files that no rows may go over, whatever is read: maps with what stands beside them, and what a Lance dataset consists of, which
 * lies up to three folders deep. */
static int refuse_kept(cli *c, const char *file)
{
    enum { DATASET_DEPTH = 3 };
    char *real = realpath(file, NULL);
    if (real == NULL)
        return EXIT_DONE;
    char *slash = strrchr(real, '/');
    int result = EXIT_DONE;
    if (strncmp(slash + 1, ".br_map.", 8) == 0)
        result = report_usage(c, "\"%s\" is the map of its directory; give another name to --output", file);
    for (int depth = 0; result == EXIT_DONE && depth < DATASET_DEPTH && slash != NULL && slash != real; depth++) {
        *slash = '\0';
        if (lb_dataset_exists(real))
            result = report_usage(c, "\"%s\" is a file of a Lance dataset; give another name to --output", file);
        slash = strrchr(real, '/');
    }
    free(real);
    return result;
}

/* The rows must not go over one of the files they come from. */
static int refuse_input(cli *c, lb_table *table, const char *file)
{
    const char *path = c->args.operands.items[0];
    struct stat out, in;
    if (stat(file, &out) != 0 || !S_ISREG(out.st_mode))
        return EXIT_DONE;
    int result = refuse_kept(c, file);
    if (result != EXIT_DONE || stat(path, &in) != 0)
        return result;
    bool clash = same_file(&out, path);
    for (uint64_t i = 0; S_ISDIR(in.st_mode) && !clash && i < lb_table_files(table); i++) {
        lb_entry_info entry = { .struct_size = sizeof entry };
        if (lb_table_file(table, i, &entry, NULL) != LB_OK)
            continue;
        char *one = cli_format("%s/%s", path, entry.path);
        clash = same_file(&out, one);
        free(one);
    }
    return clash ? report_usage(c, "\"%s\" is one of the files to be read; give another name to --output", file)
                 : EXIT_DONE;
}

typedef struct rows_sink {
    cli *c;
    lb_saver *saver; /* NULL: standard output */
    bool refused;    /* the sink failed; it knows why */
} rows_sink;

static bool sink_write(void *user, const void *bytes, size_t size)
{
    rows_sink *sink = user;
    bool good = sink->saver != NULL ? lb_saver_write(sink->saver, bytes, size) : out_write(sink->c, bytes, size);
    sink->refused = sink->refused || !good;
    return good;
}

static lb_status sink_print(rows_sink *sink, lb_table *table, const rows_plan *plan, uint64_t *rows, lb_error *err)
{
    cli *c = sink->c;
    bool terminal = sink->saver == NULL && c->out_terminal;
    struct ArrowArrayStream stream = { 0 };
    lb_print_options options = { .struct_size = sizeof options,
                                 .width = terminal ? out_width() : 0,
                                 .colour = sink->saver == NULL && c->out_colour,
                                 .header = true,
                                 .delimiter = plan->delimiter };
    bool raw = strcmp(plan->form, "raw") == 0;
    if (raw && plan->take != NULL)
        return lb_table_take_raw(table, plan->take, sink_write, sink, err);
    if (raw)
        return lb_table_raw(table, plan->slice, sink_write, sink, err);
    lb_status status = plan->take != NULL ? lb_table_take(table, plan->take, &stream, err)
                                          : lb_table_slice(table, plan->slice, &stream, err);
    return status != LB_OK ? status : lb_print(c->cx, &stream, plan->form, &options, sink_write, sink, rows, err);
}

static int write_file(cli *c, lb_table *table, const rows_plan *plan)
{
    lb_error err = LB_ERROR_INIT;
    rows_sink sink = { .c = c };
    uint64_t rows = 0;
    int result = refuse_input(c, table, plan->file);
    if (result != EXIT_DONE)
        return result;
    if (lb_saver_open(c->cx, plan->file, &sink.saver, &err) != LB_OK)
        return report_error(c, &err);
    lb_status status = sink_print(&sink, table, plan, &rows, &err);
    if (status == LB_OK || sink.refused) { /* after a refused write the commit fails, with the cause */
        lb_error why = LB_ERROR_INIT;
        lb_status committed = lb_saver_commit(sink.saver, &why);
        if (committed != LB_OK || status == LB_OK)
            return committed == LB_OK ? EXIT_DONE : report_error(c, &why);
    } else {
        lb_saver_discard(sink.saver);
    }
    return report_error(c, &err);
}

static int write_stdout(cli *c, lb_table *table, const rows_plan *plan)
{
    lb_error err = LB_ERROR_INIT;
    rows_sink sink = { .c = c };
    uint64_t rows = 0;
    if (c->out_terminal)
        progress_end(c);
    lb_status status = sink_print(&sink, table, plan, &rows, &err);
    if (sink.refused)
        return EXIT_DONE; /* out_finish tells why */
    if (status != LB_OK)
        return report_error(c, &err);
    int64_t all = lb_table_rows(table);
    if (plan->capped && rows == TERMINAL_ROWS && (all < 0 || (uint64_t)all - plan->skipped > TERMINAL_ROWS))
        progress_note(c, all < 0 ? "stopped at 1,000 rows; for more: --limit N, or a pipe"
                                 : "stopped at 1,000 rows, there are more: --limit N, or a pipe");
    return EXIT_DONE;
}

/* ---------------------------------------------------------------- explaining */

typedef struct explained {
    size_t count, cap;
    lb_part *part;
    uint64_t rows;
    int64_t bytes;   /* -1: a part does not know */
    const char *map; /* "used", or why the first part that goes without a map does so */
} explained;

static void explain_add(explained *e, const lb_part *part)
{
    if (e->count == e->cap) {
        e->cap = e->cap == 0 ? 16 : e->cap * 2;
        lb_part *more = cli_alloc(e->cap, sizeof *more);
        if (e->part != NULL)
            memcpy(more, e->part, e->count * sizeof *more);
        free(e->part);
        e->part = more;
    }
    e->part[e->count++] = *part;
    e->rows += part->rows;
    e->bytes = e->bytes < 0 || part->bytes < 0 ? -1 : e->bytes + part->bytes;
    if (e->map == NULL || strcmp(e->map, "used") == 0)
        e->map = part->map;
}

static bool explain_tell(void *user, const lb_part *part)
{
    explain_add(user, part);
    return true;
}

static lb_status explain_slice(lb_table *table, const lb_slice *slice, explained *e, lb_error *err)
{
    for (uint64_t i = 0;; i++) {
        lb_part part = { .struct_size = sizeof part };
        bool done = false;
        lb_status status = lb_table_explain(table, slice, i, &part, &done, err);
        if (status != LB_OK)
            return status;
        if (done)
            return LB_OK;
        explain_add(e, &part);
    }
}

static lb_status explain_gather(lb_table *table, const rows_plan *plan, explained *e, lb_error *err)
{
    lb_status status = plan->take != NULL ? lb_table_take_explain(table, plan->take, explain_tell, e, err)
                                          : explain_slice(table, plan->slice, e, err);
    if (e->map == NULL)
        e->map = lb_table_files(table) != 0 ? lb_table_map_use(table, 0) : "no map";
    return status;
}

static void explain_json_part(json_out *j, const lb_part *part)
{
    jout_open(j, '{');
    jput_text(j, "path", part->path);
    jput_text(j, "format", part->format);
    jput_text(j, "locator", part->locator);
    jput_text(j, "map", part->map);
    jput_count(j, "first_row", part->first_row);
    jput_count(j, "rows", part->rows);
    jput_known(j, "first_block", part->blocks != 0 ? (int64_t)part->first_block : -1);
    jput_count(j, "blocks", part->blocks);
    jput_known(j, "first_byte", part->first_byte);
    jput_known(j, "bytes", part->bytes);
    jput_count(j, "skipped_rows", part->skipped_rows);
    if (part->container != NULL) {
        jput_text(j, "container", part->container);
        jput_count(j, "restart_points", part->restart_points);
        jput_known(j, "unpacked_bytes", part->unpacked_bytes);
    }
    jout_close(j, '}');
}

static void explain_json(const explained *e, const rows_plan *plan)
{
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    jput_text(&j, "map", e->map);
    if (plan->slice != NULL) {
        jput_count(&j, "offset", plan->slice->offset);
        jput_known(&j, "limit", plan->slice->limit == UINT64_MAX ? -1 : (int64_t)plan->slice->limit);
    }
    jput_count(&j, "rows", e->rows);
    jput_known(&j, "bytes", e->bytes);
    jout_key(&j, "parts");
    jout_open(&j, '[');
    for (size_t i = 0; i < e->count; i++)
        explain_json_part(&j, &e->part[i]);
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
}

static void grid_add_range(grid *g, uint64_t first, uint64_t count)
{
    char text[64] = "-";
    if (count == 1)
        (void)snprintf(text, sizeof text, "%" PRIu64, first);
    else if (count > 1)
        (void)snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu64, first, first + (count - 1));
    grid_add(g, text);
}

/* The rows of a slice stand side by side: first and last are told. */
static void explain_slice_part(grid *g, const lb_part *part)
{
    grid_add_range(g, part->first_row, part->rows);
    grid_add_range(g, part->first_block, part->blocks);
    grid_add_range(g, part->first_byte < 0 ? 0 : (uint64_t)part->first_byte,
                   part->first_byte < 0 || part->bytes < 0 ? 0 : (uint64_t)part->bytes);
}

static void explain_take_part(grid *g, const lb_part *part)
{
    grid_add(g, number_text(part->rows).s);
    grid_add(g, number_text(part->blocks).s);
    grid_add(g, part->bytes < 0 ? "-" : number_text((uint64_t)part->bytes).s);
}

/* Of a compressed file: what has to be decompressed first. */
static void explain_packed(const lb_part *part)
{
    if (part->container == NULL)
        return;
    if (part->restart_points == 0)
        (void)printf("%s: %s without restart points", part->path, part->container);
    else
        (void)printf("%s: %s, %s", part->path, part->container,
                     plural_text(part->restart_points, "restart point", "restart points").s);
    if (part->unpacked_bytes >= 0)
        (void)printf("; %s decompressed before the first block", size_text((uint64_t)part->unpacked_bytes).s);
    (void)printf("\n");
}

static void explain_people(const explained *e, const rows_plan *plan)
{
    (void)printf("%s from %s", plural_text(e->rows, "row", "rows").s, plural_text(e->count, "file", "files").s);
    if (e->bytes >= 0)
        (void)printf(", at most %s to read", size_text((uint64_t)e->bytes).s);
    (void)printf("; map: %s\n", e->map);
    if (e->count == 0)
        return;
    grid *g = grid_new(plan->take != NULL ? "file|format|map|>rows|>blocks|>bytes of them|>rows passed over"
                                          : "file|format|map|rows|blocks|bytes|>rows decoded before");
    for (size_t i = 0; i < e->count; i++) {
        const lb_part *part = &e->part[i];
        grid_add(g, part->path);
        grid_add(g, part->format);
        grid_add(g, part->map);
        if (plan->take != NULL)
            explain_take_part(g, part);
        else
            explain_slice_part(g, part);
        grid_add(g, number_text(part->skipped_rows).s);
    }
    grid_print(g, "");
    grid_free(g);
    for (size_t i = 0; i < e->count; i++)
        explain_packed(&e->part[i]);
}

static int explain(cli *c, lb_table *table, const rows_plan *plan)
{
    lb_error err = LB_ERROR_INIT;
    explained e = { 0 };
    int result = EXIT_DONE;
    lb_status status = explain_gather(table, plan, &e, &err);
    progress_end(c);
    if (status != LB_OK)
        result = report_error(c, &err);
    else if (args_has(c, OPT_JSON))
        explain_json(&e, plan);
    else
        explain_people(&e, plan);
    free(e.part);
    return result;
}

/* ---------------------------------------------------------------- the way of all rows */

int rows_give(cli *c, lb_table *table, const rows_plan *plan)
{
    if (args_has(c, OPT_EXPLAIN))
        return explain(c, table, plan);
    if (strcmp(plan->form, "lance") == 0)
        return lance_create_from(c, table, plan->slice, plan->take, plan->file);
    return plan->file != NULL ? write_file(c, table, plan) : write_stdout(c, table, plan);
}

bool rows_are_capped(const cli *c, rows_plan *plan, uint64_t limit)
{
    plan->capped = limit == UINT64_MAX && plan->file == NULL && c->out_terminal && !args_has(c, OPT_EXPLAIN) &&
                   strcmp(plan->form, "table") == 0;
    return plan->capped;
}

void rows_free(rows_plan *plan)
{
    free(plan->columns.items);
    free(plan->names);
}
