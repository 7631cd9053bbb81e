/* lakebed count, schema, stats and formats. */
#include "cli.h"
#include "json_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int info_open(cli *c, const char *path, bool rows_only, lb_table **out)
{
    lb_error err = LB_ERROR_INIT;
    const char *schema = args_text(c, OPT_SCHEMA, "union");
    lb_open_options options = {
        .struct_size = sizeof options,
        .read = c->args.read,
        .format = args_text(c, OPT_FORMAT, NULL),
        .no_map = args_has(c, OPT_NO_MAP),
        .schema = strcmp(schema, "strict") == 0 ? LB_SCHEMA_STRICT
                  : strcmp(schema, "text") == 0 ? LB_SCHEMA_TEXT
                                                : LB_SCHEMA_UNION,
        .rows_only = rows_only,
    };
    lb_status status = lb_open(c->cx, path, &options, out, &err);
    if (status == LB_NOTFOUND && strcmp(path, "-") == 0)
        (void)snprintf(err.hint, sizeof err.hint,
                       "standard input is not read, for rows are found by seeking: name a file");
    return status == LB_OK ? EXIT_DONE : report_error(c, &err);
}

int cli_open(cli *c, const char *path, lb_table **out)
{
    return info_open(c, path, false, out);
}

void cli_close(cli *c, lb_table *table)
{
    if (table != NULL && lb_table_failed(table) != 0)
        c->left_out = true;
    lb_close(table);
}

/* ---------------------------------------------------------------- count */

static int count_one(cli *c, const char *path, uint64_t *rows)
{
    lb_error err = LB_ERROR_INIT;
    lb_table *table = NULL;
    int result = info_open(c, path, true, &table);
    if (result == EXIT_DONE && lb_table_count(table, rows, &err) != LB_OK)
        result = report_error(c, &err);
    cli_close(c, table);
    return result;
}

static void count_json(const cli_list *paths, const uint64_t *rows, const bool *known)
{
    json_out j = { .file = stdout };
    uint64_t total = 0;
    jout_open(&j, '{');
    jout_key(&j, "files");
    jout_open(&j, '[');
    for (size_t i = 0; i < paths->count; i++) {
        jout_open(&j, '{');
        jput_text(&j, "path", paths->items[i]);
        jput_known(&j, "rows", known[i] ? (int64_t)rows[i] : -1);
        jout_close(&j, '}');
        total += rows[i];
    }
    jout_close(&j, ']');
    jput_count(&j, "rows", total);
    jout_close(&j, '}');
    jout_end(&j);
}

static void count_people(const cli_list *paths, const uint64_t *rows, const bool *known)
{
    uint64_t total = 0;
    for (size_t i = 0; i < paths->count; i++) {
        if (known[i] && paths->count == 1) {
            (void)printf("%" PRIu64 "\n", rows[i]);
        } else if (known[i]) {
            char *clean = clean_text(paths->items[i]);
            (void)printf("%" PRIu64 "\t%s\n", rows[i], clean);
            free(clean);
        }
        total += rows[i];
    }
    if (paths->count > 1)
        (void)printf("%" PRIu64 "\ttotal\n", total);
}

/* A path that fails is told and left out; the others are counted. */
int verb_count(cli *c)
{
    const cli_list *paths = &c->args.operands;
    uint64_t *rows = cli_alloc(paths->count, sizeof *rows);
    bool *known = cli_alloc(paths->count, sizeof *known);
    int result = EXIT_DONE;
    for (size_t i = 0; i < paths->count; i++) {
        int one = count_one(c, paths->items[i], &rows[i]);
        known[i] = one == EXIT_DONE;
        if (!known[i])
            rows[i] = 0;
        result = result == EXIT_DONE ? one : result;
    }
    progress_end(c);
    if (args_has(c, OPT_JSON))
        count_json(paths, rows, known);
    else
        count_people(paths, rows, known);
    free(known);
    free(rows);
    return result;
}

/* ---------------------------------------------------------------- schema */

/* A key that only columns have whose files disagree. */
static void json_conflict(json_out *j, const struct ArrowSchema *column)
{
    char *conflict = column_conflict(column);
    if (conflict != NULL)
        jput_text(j, "conflict", conflict);
    free(conflict);
}

static void schema_json(const struct ArrowSchema *schema, int64_t rows)
{
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    jput_known(&j, "rows", rows);
    jout_key(&j, "columns");
    jout_open(&j, '[');
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *column = schema->children[i];
        char *type = type_json(column);
        jout_open(&j, '{');
        jput_text(&j, "name", column->name == NULL ? "" : column->name);
        jput_raw(&j, "type", type);
        jput_bool(&j, "nullable", (column->flags & ARROW_FLAG_NULLABLE) != 0);
        json_conflict(&j, column);
        jout_close(&j, '}');
        free(type);
    }
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
}

int verb_schema(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_table *table = NULL;
    struct ArrowSchema schema = { 0 };
    int result = cli_open(c, c->args.operands.items[0], &table);
    if (result == EXIT_DONE && lb_table_schema(table, &schema, &err) != LB_OK)
        result = report_error(c, &err);
    progress_end(c);
    if (result != EXIT_DONE)
        goto done;
    int64_t rows = lb_table_rows(table);
    if (args_has(c, OPT_JSON)) {
        schema_json(&schema, rows);
    } else {
        (void)printf("%s, %s\n", rows < 0 ? "rows not counted" : plural_text((uint64_t)rows, "row", "rows").s,
                     plural_text((uint64_t)schema.n_children, "column", "columns").s);
        print_columns(&schema, "  ", INT64_MAX);
    }
done:
    if (schema.release != NULL)
        schema.release(&schema);
    cli_close(c, table);
    return result;
}

/* ---------------------------------------------------------------- stats */

static lb_status stats_json_files(json_out *j, lb_table *table, lb_error *err)
{
    lb_status status = LB_OK;
    jout_key(j, "files");
    jout_open(j, '[');
    for (uint64_t i = 0; i < lb_table_files(table) && status == LB_OK; i++) {
        lb_entry_info file = { .struct_size = sizeof file };
        status = lb_table_file(table, i, &file, err);
        if (status != LB_OK)
            break;
        jout_open(j, '{');
        jput_text(j, "path", file.path);
        jput_text(j, "format", file.format);
        jput_text(j, "container", file.container);
        if (file.container != NULL)
            jput_count(j, "restart_points", file.restart_points);
        jput_count(j, "bytes", file.bytes);
        jput_known(j, "rows", file.rows > (uint64_t)INT64_MAX ? -1 : (int64_t)file.rows);
        jput_count(j, "blocks", file.blocks);
        jput_text(j, "map", lb_table_map_use(table, i));
        jput_text(j, "error", file.error);
        jout_close(j, '}');
    }
    jout_close(j, ']');
    return status;
}

static lb_status stats_json_columns(json_out *j, lb_table *table, const struct ArrowSchema *schema, lb_error *err)
{
    lb_status status = LB_OK;
    jout_key(j, "columns");
    jout_open(j, '[');
    for (uint64_t i = 0; i < lb_table_columns(table); i++) {
        lb_column_info column = { .struct_size = sizeof column };
        status = lb_table_column(table, i, &column, err);
        if (status != LB_OK)
            break;
        jout_open(j, '{');
        jput_text(j, "name", column.name);
        jput_text(j, "type", column.type);
        jput_bool(j, "nullable", column.nullable);
        jput_known(j, "nulls", column.has_stats ? column.null_count : -1);
        jput_known(j, "nans", column.has_stats ? column.nan_count : -1);
        jput_bytes(j, "min", column.has_stats ? column.min : NULL, column.min_size);
        jput_bool(j, "min_exact", column.has_stats && column.min_exact);
        jput_bytes(j, "max", column.has_stats ? column.max : NULL, column.max_size);
        jput_bool(j, "max_exact", column.has_stats && column.max_exact);
        if (i < (uint64_t)schema->n_children)
            json_conflict(j, schema->children[i]);
        jout_close(j, '}');
    }
    jout_close(j, ']');
    return status;
}

static lb_status stats_json(lb_table *table, const struct ArrowSchema *schema, lb_error *err)
{
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    jput_known(&j, "rows", lb_table_rows(table));
    lb_status status = stats_json_files(&j, table, err);
    if (status == LB_OK)
        status = stats_json_columns(&j, table, schema, err);
    jout_close(&j, '}');
    jout_end(&j);
    return status;
}

static lb_status stats_people_files(lb_table *table, lb_error *err)
{
    grid *g = grid_new("file|format|>bytes|>rows|>blocks|map");
    lb_status status = LB_OK;
    for (uint64_t i = 0; i < lb_table_files(table); i++) {
        lb_entry_info file = { .struct_size = sizeof file };
        status = lb_table_file(table, i, &file, err);
        if (status != LB_OK)
            break;
        grid_add(g, file.path);
        grid_add(g, file.error != NULL && file.rows == 0 ? "unreadable" : file.format == NULL ? "-" : file.format);
        grid_add(g, number_text(file.bytes).s);
        grid_add(g, file.rows > (uint64_t)INT64_MAX ? "-" : number_text(file.rows).s);
        grid_add(g, number_text(file.blocks).s);
        grid_add(g, lb_table_map_use(table, i));
    }
    if (status == LB_OK)
        grid_print(g, "");
    grid_free(g);
    return status;
}

/* A bound; `~` before it where it is not exact, `-` where it is not known. */
static void grid_add_bound(grid *g, bool known, const char *bound, size_t size, bool exact)
{
    known = known && bound != NULL;
    char *clean = clean_bytes(known ? bound : "-", known ? size : 1);
    char *text = cli_format("%s%s", known && !exact ? "~" : "", clean);
    grid_add(g, text);
    free(text);
    free(clean);
}

static lb_status stats_people_columns(lb_table *table, const struct ArrowSchema *schema, lb_error *err)
{
    grid *g = grid_new("column|type|>nulls|min|max");
    lb_status status = LB_OK;
    for (uint64_t i = 0; i < lb_table_columns(table); i++) {
        lb_column_info column = { .struct_size = sizeof column };
        status = lb_table_column(table, i, &column, err);
        if (status != LB_OK)
            break;
        grid_add(g, column.name);
        grid_add(g, column.type);
        grid_add(g, !column.has_stats || column.null_count < 0 ? "-" : number_text((uint64_t)column.null_count).s);
        grid_add_bound(g, column.has_stats, column.min, column.min_size, column.min_exact);
        grid_add_bound(g, column.has_stats, column.max, column.max_size, column.max_exact);
    }
    if (status == LB_OK) {
        grid_print(g, "");
        print_conflicts(schema, "");
    }
    grid_free(g);
    return status;
}

int verb_stats(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    lb_table *table = NULL;
    int result = cli_open(c, c->args.operands.items[0], &table);
    progress_end(c);
    if (result != EXIT_DONE)
        return result;
    lb_status status = lb_table_schema(table, &schema, &err);
    if (status == LB_OK && args_has(c, OPT_JSON)) {
        status = stats_json(table, &schema, &err);
    } else if (status == LB_OK) {
        status = stats_people_files(table, &err);
        (void)fputc('\n', stdout);
        if (status == LB_OK)
            status = stats_people_columns(table, &schema, &err);
    }
    if (status != LB_OK)
        result = report_error(c, &err);
    if (schema.release != NULL)
        schema.release(&schema);
    cli_close(c, table);
    return result;
}

/* ---------------------------------------------------------------- formats */

static void json_words(json_out *j, const char *words)
{
    jout_open(j, '[');
    while (words != NULL && *words != '\0') {
        size_t n = strcspn(words, " ");
        char *word = cli_format("%.*s", (int)n, words);
        if (n != 0)
            jout_text(j, word);
        free(word);
        words += n + (words[n] == ' ');
    }
    jout_close(j, ']');
}

static void format_json(json_out *j, const lb_format_info *format)
{
    jout_open(j, '{');
    jput_text(j, "name", format->name);
    jout_key(j, "extensions");
    json_words(j, format->extensions);
    jput_text(j, "locator", format->locator);
    jout_key(j, "options");
    json_words(j, format->options);
    jput_bool(j, "dynamic", format->dynamic);
    jout_close(j, '}');
}

static void format_people(grid *g, const lb_format_info *format)
{
    grid_add(g, format->name);
    grid_add(g, format->extensions == NULL ? "" : format->extensions);
    grid_add(g, format->locator == NULL ? "-" : format->locator);
    grid_add(g, format->options == NULL ? "" : format->options);
}

int verb_formats(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    json_out j = { .file = stdout };
    bool json = args_has(c, OPT_JSON);
    grid *g = grid_new("format|extensions|locator|read options");
    int result = EXIT_DONE;
    if (json) {
        jout_open(&j, '{');
        jout_key(&j, "formats");
        jout_open(&j, '[');
    }
    for (size_t i = 0; i < lb_format_count(c->cx); i++) {
        lb_format_info format = { .struct_size = sizeof format };
        if (lb_format_at(c->cx, i, &format, &err) != LB_OK) {
            result = report_error(c, &err);
            break;
        }
        if (json)
            format_json(&j, &format);
        else
            format_people(g, &format);
    }
    if (json) {
        jout_close(&j, ']');
        jout_close(&j, '}');
        jout_end(&j);
    } else if (result == EXIT_DONE) {
        grid_print(g, "");
    }
    grid_free(g);
    return result;
}
