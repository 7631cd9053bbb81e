/* lakebed PATH: what it is, whether a map covers it, ten rows, and the next thing to type. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOW_ROWS = 10, SHOW_FORMATS = 32, SHOW_COLUMNS = 40 };

/* Why a map does not serve a file, and what helps. %s is the command that builds a map of the directory. */
static const struct {
    const char *reason, *text;
    bool build;
} reasons[] = {
    { "used", "used", false },
    { "no map", "none yet; make one:", true },
    { "not listed", "does not list this file; build it again:", true },
    { "stale", "older than the file; build it again:", true },
    { "invalid map", "damaged; build it again:", true },
    { "other options", "not used, it was built with other read options than these", false },
    { "dynamic handler", "not used for formats that are registered by --delimited", false },
    { "no locator", "lists this file without places of rows", false },
    { "not asked", "not used, as --no-map asks", false },
};

/* A word as a shell wants it. Owned by the caller. */
static char *shell_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@%+=:,";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0')
        return cli_format("%s", word);
    char *out = cli_alloc(strlen(word) + 1, 4), *at = out;
    *at++ = '\'';
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            memcpy(at, "'\\'", 3);
            at += 3;
        }
        *at++ = *word;
    }
    *at = '\'';
    return out;
}

/* A path as an operand: one that begins like an option is written from the folder it is in. */
static char *path_word(const char *path)
{
    char *from_here = cli_format("%s%s", path[0] == '-' ? "./" : "", path), *word = shell_word(from_here);
    free(from_here);
    return word;
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return cli_format(".");
    return cli_format("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static void print_map_line(const char *use, const char *dir)
{
    char *word = path_word(dir), *clean = clean_text(word);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (strcmp(use, reasons[i].reason) != 0)
            continue;
        (void)printf("map: %s", reasons[i].text);
        if (reasons[i].build)
            (void)printf(" lakebed map %s", clean);
        (void)fputc('\n', stdout);
    }
    free(clean);
    free(word);
}

static void print_title(const char *path, const char *rest)
{
    char *clean = clean_text(path);
    (void)printf("%s: %s\n", clean, rest);
    free(clean);
}

static lb_status show_file(lb_table *table, const char *path, uint64_t columns, lb_error *err)
{
    lb_entry_info file = { .struct_size = sizeof file };
    int64_t rows = lb_table_rows(table);
    lb_status status = lb_table_file(table, 0, &file, err);
    if (status != LB_OK)
        return status;
    bool mapped = strcmp(lb_table_map_use(table, 0), "used") == 0;
    char *text = cli_format(
        "%s%s%s%s, %s, %s, %s", file.format == NULL ? "unknown format" : file.format,
        file.container == NULL ? "" : " in ", file.container == NULL ? "" : file.container,
        file.container == NULL || !mapped || file.restart_points != 0 ? "" : " without restart points",
        size_text(file.bytes).s, rows < 0 ? "rows not counted" : plural_text((uint64_t)rows, "row", "rows").s,
        plural_text(columns, "column", "columns").s);
    char *dir = directory_of(path);
    print_title(path, text);
    print_map_line(lb_table_map_use(table, 0), dir);
    free(dir);
    free(text);
    return LB_OK;
}

typedef struct lake_sum {
    size_t formats;
    struct {
        const char *name;
        uint64_t files, bytes, rows;
        bool counted;
    } format[SHOW_FORMATS];
    uint64_t bytes, failed, unused;
    const char *use; /* of the first file that no map serves */
} lake_sum;

static void sum_file(lake_sum *sum, const lb_entry_info *file, const char *use)
{
    const char *name = file->error != NULL && file->rows == 0 ? "unreadable"
                       : file->format == NULL                 ? "unknown"
                                                              : file->format;
    size_t i = 0;
    while (i < sum->formats && strcmp(sum->format[i].name, name) != 0)
        i++;
    if (i == SHOW_FORMATS)
        i--;
    if (i == sum->formats) {
        sum->format[i].name = name;
        sum->format[i].counted = true;
        sum->formats++;
    }
    sum->format[i].files++;
    sum->format[i].bytes += file->bytes;
    sum->format[i].counted = sum->format[i].counted && file->rows <= (uint64_t)INT64_MAX;
    sum->format[i].rows += file->rows <= (uint64_t)INT64_MAX ? file->rows : 0;
    sum->bytes += file->bytes;
    sum->failed += file->error != NULL;
    if (strcmp(use, "used") != 0 && file->error == NULL) {
        sum->unused++;
        sum->use = sum->use == NULL ? use : sum->use;
    }
}

static void print_formats(const lake_sum *sum)
{
    grid *g = grid_new("format|>files|>rows|>size");
    for (size_t i = 0; i < sum->formats; i++) {
        grid_add(g, sum->format[i].name);
        grid_add(g, number_text(sum->format[i].files).s);
        grid_add(g, sum->format[i].counted ? number_text(sum->format[i].rows).s : "-");
        grid_add(g, size_text(sum->format[i].bytes).s);
    }
    grid_print(g, "  ");
    grid_free(g);
}

static lb_status show_lake(lb_table *table, const char *path, uint64_t columns, lb_error *err)
{
    lake_sum sum = { 0 };
    uint64_t files = lb_table_files(table);
    int64_t rows = lb_table_rows(table);
    for (uint64_t i = 0; i < files; i++) {
        lb_entry_info file = { .struct_size = sizeof file };
        lb_status status = lb_table_file(table, i, &file, err);
        if (status != LB_OK)
            return status;
        sum_file(&sum, &file, lb_table_map_use(table, i));
    }
    char *text = cli_format("%s, %s, %s, %s", plural_text(files, "file", "files").s, size_text(sum.bytes).s,
                            rows < 0 ? "rows not counted" : plural_text((uint64_t)rows, "row", "rows").s,
                            plural_text(columns, "column", "columns").s);
    print_title(path, text);
    if (sum.unused != 0 && sum.unused < files)
        (void)printf("%s not served by the map\n", plural_text(sum.unused, "file is", "files are").s);
    if (files != 0) {
        print_map_line(sum.use == NULL ? "used" : sum.use, path);
        print_formats(&sum);
    } else {
        (void)puts("no file here has a format that is read; these are: lakebed formats");
    }
    free(text);
    return LB_OK;
}

/* Names of the columns that are shown and can be read, for a slice; free the list's items. */
static cli_list readable_columns(const struct ArrowSchema *schema)
{
    cli_list names = { 0 };
    for (int64_t i = 0; i < schema->n_children && i < SHOW_COLUMNS; i++) {
        char *conflict = column_conflict(schema->children[i]);
        if (conflict == NULL)
            list_add(&names, schema->children[i]->name);
        free(conflict);
    }
    return names;
}

static int print_rows(cli *c, lb_table *table, const char *const *columns)
{
    lb_error err = LB_ERROR_INIT;
    struct ArrowArrayStream stream = { 0 };
    lb_slice slice = { .struct_size = sizeof slice, .limit = SHOW_ROWS, .columns = columns };
    lb_print_options options = { .struct_size = sizeof options,
                                 .width = c->out_terminal ? out_width() : 0,
                                 .colour = c->out_colour,
                                 .header = true };
    uint64_t rows = 0;
    lb_status status = lb_table_slice(table, &slice, &stream, &err);
    if (status == LB_OK)
        status = lb_print(c->cx, &stream, "table", &options, out_write, c, &rows, &err);
    return status == LB_OK || c->out_error != 0 ? EXIT_DONE : report_error(c, &err);
}

/* Columns in conflict cannot be read as they are: the rows are shown without them. */
static int show_rows(cli *c, lb_table *table, const struct ArrowSchema *schema)
{
    uint64_t conflicts = count_conflicts(schema);
    if (conflicts == 0 && schema->n_children <= SHOW_COLUMNS)
        return print_rows(c, table, NULL);
    cli_list names = readable_columns(schema);
    int result = EXIT_DONE;
    if (names.count == 0) {
        (void)puts("no rows are shown: every column is in conflict");
    } else {
        if (conflicts != 0)
            (void)printf("rows, without %s in conflict:\n", plural_text(conflicts, "column", "columns").s);
        result = print_rows(c, table, names.items);
    }
    free(names.items);
    return result;
}

static void print_option(const char *name, const char *value)
{
    char *word = shell_word(value == NULL ? "" : value), *clean = clean_text(word);
    (void)printf(" --%s%s%s", name, value == NULL ? "" : "=", value == NULL ? "" : clean);
    free(clean);
    free(word);
}

/* Options that the next command needs as well, to read the file the same way. */
static void print_same_options(const cli *c, bool but_schema)
{
    const cli_list *names = &c->args.read_names, *values = &c->args.read_values;
    for (size_t i = 0; i < names->count; i++)
        print_option(names->items[i], values->items[i]);
    if (args_has(c, OPT_FORMAT))
        print_option("format", args_text(c, OPT_FORMAT, NULL));
    if (args_has(c, OPT_SCHEMA) && !but_schema)
        print_option("schema", args_text(c, OPT_SCHEMA, NULL));
    for (size_t i = 0; i < c->args.given[OPT_DELIMITED].count; i++)
        print_option("delimited", c->args.given[OPT_DELIMITED].items[i]);
}

/* What follows reads all columns: those in conflict as text. */
static void print_next(const cli *c, const char *path, int64_t rows, bool conflict)
{
    char *word = path_word(path), *clean = clean_text(word);
    const char *verb = rows < 0 ? "count" : rows > SHOW_ROWS ? "slice" : "stats";
    (void)printf("\nnext: lakebed %s %s", verb, clean);
    if (rows > SHOW_ROWS)
        (void)printf(" --offset %" PRId64 " --limit 10", rows / 2);
    if (conflict)
        print_option("schema", "text");
    print_same_options(c, conflict);
    (void)fputc('\n', stdout);
    free(clean);
    free(word);
}

/* A screen has no room for thousands of columns: the first are shown, and where the others are. */
static void print_more_columns(const cli *c, const char *path, int64_t columns)
{
    if (columns <= SHOW_COLUMNS)
        return;
    char *word = path_word(path), *clean = clean_text(word);
    (void)printf("  … and %s columns more: lakebed schema %s", number_text((uint64_t)(columns - SHOW_COLUMNS)).s,
                 clean);
    print_same_options(c, false);
    (void)fputc('\n', stdout);
    free(clean);
    free(word);
}

int verb_show(cli *c)
{
    const char *path = c->args.operands.items[0];
    lb_error err = LB_ERROR_INIT;
    struct ArrowSchema schema = { 0 };
    lb_table *table = NULL;
    int result = cli_open(c, path, &table);
    if (result != EXIT_DONE)
        return result;
    progress_end(c);
    bool lake = lb_table_is_lake(table);
    lb_status status = lb_table_schema(table, &schema, &err);
    if (status == LB_OK)
        status = lake ? show_lake(table, path, (uint64_t)schema.n_children, &err)
                      : show_file(table, path, (uint64_t)schema.n_children, &err);
    if (status != LB_OK) {
        result = report_error(c, &err);
        goto done;
    }
    if (schema.n_children != 0) {
        (void)fputc('\n', stdout);
        print_columns(&schema, "  ", SHOW_COLUMNS);
        print_more_columns(c, path, schema.n_children);
        (void)fputc('\n', stdout);
        result = show_rows(c, table, &schema);
    }
    if (result == EXIT_DONE && lb_table_files(table) != 0)
        print_next(c, path, lb_table_rows(table), count_conflicts(&schema) != 0);
done:
    if (schema.release != NULL)
        schema.release(&schema);
    cli_close(c, table);
    return result;
}
