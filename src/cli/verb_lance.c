/* lakebed lance: making and changing datasets. What only looks is in verb_lance_look.c. */
#include "cli.h"
#include "json_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS ((int64_t)86400 * 1000000000)

/* ---------------------------------------------------------------- what is asked */

/* Operand at this place behind the word that says what to do, or NULL. */
static const char *operand(const cli *c, size_t index)
{
    return index + 1 < c->args.operands.count ? c->args.operands.items[index + 1] : NULL;
}

/* The folder and the version of PATH@V; both owned by the caller, the version NULL where none is said. */
static void split_version(const char *path, char **folder, char **version)
{
    const char *at = lb_dataset_exists(path) ? NULL : strrchr(path, '@');
    *folder = at == NULL ? cli_format("%s", path) : cli_format("%.*s", (int)(at - path), path);
    *version = at == NULL ? NULL : cli_format("%s", at + 1);
}

/* PATH@V where a change is asked for, which always goes on top of the newest version. */
static bool names_version(const char *path)
{
    char *folder, *version;
    split_version(path, &folder, &version);
    bool named = version != NULL && lb_dataset_exists(folder);
    free(folder);
    free(version);
    return named;
}

/* Contents of a file, for KEY=@FILE. */
static int read_value(cli *c, const char *file, lb_key_value *out)
{
    FILE *in = fopen(file, "rb");
    char *data = NULL;
    size_t size = 0, cap = 0, n = 0;
    if (in == NULL) {
        report_line(c, "%s: the file of a value could not be opened", file);
        return EXIT_SYSTEM;
    }
    do {
        if (size == cap) {
            cap = cap == 0 ? 4096 : cap * 2;
            char *more = cli_alloc(cap, 1);
            if (size != 0)
                memcpy(more, data, size);
            free(data);
            data = more;
        }
        n = fread(data + size, 1, cap - size, in);
        size += n;
    } while (n != 0);
    bool bad = ferror(in) != 0;
    (void)fclose(in);
    out->value = data;
    out->size = size;
    if (bad)
        report_line(c, "%s: the file of a value could not be read", file);
    return bad ? EXIT_SYSTEM : EXIT_DONE;
}

/* KEY=VALUE or KEY=@FILE. */
static int read_pair(cli *c, const char *option, const char *text, lb_key_value *out)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return report_usage(c, "--%s takes KEY=VALUE or KEY=@FILE, not \"%s\"", option, text);
    out->key = cli_format("%.*s", (int)(equals - text), text);
    if (equals[1] == '@')
        return read_value(c, equals + 2, out);
    out->value = cli_format("%s", equals + 1);
    out->size = strlen(equals + 1);
    return EXIT_DONE;
}

static int read_pairs(cli *c, const char *name, cli_option_id id, lb_key_value **pairs, size_t *n, size_t more)
{
    const cli_list *given = &c->args.given[id];
    int result = EXIT_DONE;
    *pairs = cli_alloc(given->count + more + 1, sizeof **pairs);
    for (size_t i = 0; i < given->count && result == EXIT_DONE; i++)
        result = read_pair(c, name, given->items[i], &(*pairs)[(*n)++]);
    return result;
}

static void free_pairs(lb_key_value *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)pairs[i].key);
        free((void *)(uintptr_t)pairs[i].value);
    }
    free(pairs);
}

int lance_options(cli *c, lance_call *out)
{
    const char *nulls = args_text(c, OPT_NULLS, "refuse");
    *out = (lance_call){ .options = { .struct_size = sizeof out->options,
                                      .group_rows = args_number(c, OPT_GROUP_ROWS, 0),
                                      .file_rows = args_number(c, OPT_FILE_ROWS, 0),
                                      .replace = args_has(c, OPT_FORCE),
                                      .tag = args_text(c, OPT_TAG, NULL) } };
    out->options.nulls = strcmp(nulls, "keep") == 0    ? LB_LANCE_NULLS_KEEP
                         : strcmp(nulls, "lossy") == 0 ? LB_LANCE_NULLS_LOSSY
                                                       : LB_LANCE_NULLS_REFUSE;
    int result = read_pairs(c, "aux", OPT_AUX, &out->aux, &out->options.n_aux, 0);
    out->options.aux = out->aux;
    return result;
}

void lance_options_free(lance_call *call)
{
    free_pairs(call->metadata, call->options.n_metadata);
    free_pairs(call->aux, call->options.n_aux);
}

/* ---------------------------------------------------------------- what was done */

static void say_done(cli *c, const char *path, const lb_lance_result *r, const char *what)
{
    progress_end(c);
    if (args_has(c, OPT_JSON)) {
        json_out j = { .file = stdout };
        jout_open(&j, '{');
        jput_text(&j, "path", path);
        jput_known(&j, "version", r->version == 0 ? -1 : (int64_t)r->version);
        jput_count(&j, "rows", r->rows);
        jput_count(&j, "files", r->files);
        jout_close(&j, '}');
        jout_end(&j);
        return;
    }
    if (args_has(c, OPT_QUIET))
        return;
    if (r->version == 0)
        (void)printf("%s: nothing to do\n", path);
    else if (what == NULL)
        (void)printf("%s: version %" PRIu64 "\n", path, r->version);
    else
        (void)printf("%s: version %" PRIu64 ", %s %s\n", path, r->version, plural_text(r->rows, "row", "rows").s, what);
}

int lance_end_call(cli *c, lance_call *call, lb_status status, lb_error *err, const char *path,
                   const lb_lance_result *r, const char *what)
{
    int result = EXIT_DONE;
    if (status != LB_OK)
        result = report_error(c, err);
    else
        say_done(c, path, r, what);
    lance_options_free(call);
    return result;
}

/* ---------------------------------------------------------------- rows from elsewhere */

typedef lb_status (*store_fn)(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                              const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* One of slice and take says which rows. */
static int store(cli *c, lb_table *table, const lb_slice *slice, const lb_take *take, const char *path, store_fn call,
                 const char *what)
{
    lb_error err = LB_ERROR_INIT;
    struct ArrowArrayStream rows = { 0 };
    lb_lance_result r = { .struct_size = sizeof r };
    lance_call how = { .metadata = NULL };
    int result = lance_options(c, &how);
    if (result != EXIT_DONE) {
        lance_options_free(&how);
        return result;
    }
    lb_status status =
        take != NULL ? lb_table_take(table, take, &rows, &err) : lb_table_slice(table, slice, &rows, &err);
    if (status == LB_OK)
        status = call(c->cx, path, &rows, &how.options, &r, &err);
    return lance_end_call(c, &how, status, &err, path, &r, what);
}

int lance_create_from(cli *c, lb_table *table, const lb_slice *slice, const lb_take *take, const char *path)
{
    return store(c, table, slice, take, path, lb_lance_create, "written");
}

static int store_verb(cli *c, store_fn call, const char *what)
{
    lb_table *table = NULL;
    cli_list columns = { 0 };
    char *names = NULL;
    const char *from = args_text(c, OPT_FROM, NULL), *path = operand(c, 0);
    if (from == NULL)
        return report_usage(c, "say where the rows come from: --from SRC");
    lb_slice slice = { .struct_size = sizeof slice,
                       .offset = args_number(c, OPT_OFFSET, 0),
                       .limit = args_number(c, OPT_LIMIT, UINT64_MAX) };
    cli_columns(c, &columns, &names);
    slice.columns = columns.items;
    int result = cli_open(c, from, &table);
    if (result == EXIT_DONE)
        result = store(c, table, &slice, NULL, path, call, what);
    cli_close(c, table);
    free(columns.items);
    free(names);
    return result;
}

static int lance_create(cli *c)
{
    return store_verb(c, lb_lance_create, "written");
}

static int lance_append(cli *c)
{
    return store_verb(c, lb_lance_append, "added");
}

static int lance_overwrite(cli *c)
{
    return store_verb(c, lb_lance_overwrite, "written");
}

static int lance_add_columns(cli *c)
{
    return store_verb(c, lb_lance_add_columns, "got the new columns");
}

/* ---------------------------------------------------------------- delete */

typedef struct row_list {
    uint64_t *rows;
    size_t count, cap;
} row_list;

static void row_add(row_list *list, uint64_t row)
{
    if (list->count == list->cap) {
        list->cap = list->cap == 0 ? 64 : list->cap * 2;
        uint64_t *more = cli_alloc(list->cap, sizeof *more);
        if (list->rows != NULL)
            memcpy(more, list->rows, list->count * sizeof *more);
        free(list->rows);
        list->rows = more;
    }
    list->rows[list->count++] = row;
}

/* "17" or "100-199". */
static int row_parse(cli *c, const char *text, row_list *out)
{
    uint64_t first, last;
    const char *dash = strchr(text, '-');
    char *head = dash == NULL ? cli_format("%s", text) : cli_format("%.*s", (int)(dash - text), text);
    bool good =
        args_parse_number(head, &first) && args_parse_number(dash == NULL ? head : dash + 1, &last) && first <= last;
    free(head);
    if (!good)
        return report_usage(c, "delete takes row numbers, or A-B for all from A to B, not \"%s\"", text);
    if (last - first >= (uint64_t)1 << 32)
        return report_usage(c, "\"%s\" are too many rows for one call", text);
    for (uint64_t row = first; row <= last; row++)
        row_add(out, row);
    return EXIT_DONE;
}

static int rows_of_file(cli *c, const char *file, row_list *out)
{
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
    char *line = NULL;
    size_t cap = 0;
    int result = EXIT_DONE;
    if (in == NULL) {
        report_line(c, "%s: could not be opened", file);
        return EXIT_SYSTEM;
    }
    while (result == EXIT_DONE && getline(&line, &cap, in) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0')
            result = row_parse(c, line, out);
    }
    free(line);
    if (in != stdin)
        (void)fclose(in);
    return result;
}

static int lance_delete(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_lance_result r = { .struct_size = sizeof r };
    row_list list = { 0 };
    lance_call how = { .metadata = NULL };
    const cli_list *files = &c->args.given[OPT_ROWS_FROM];
    int result = EXIT_DONE;
    for (size_t i = 0; result == EXIT_DONE && i < files->count; i++)
        result = rows_of_file(c, files->items[i], &list);
    for (size_t i = 1; result == EXIT_DONE && operand(c, i) != NULL; i++)
        result = row_parse(c, operand(c, i), &list);
    if (result == EXIT_DONE && list.count == 0)
        result = report_usage(c, "say which rows go: lakebed lance delete PATH ROW…");
    if (result == EXIT_DONE && (result = lance_options(c, &how)) == EXIT_DONE) {
        lb_status status =
            lb_lance_delete(c->cx, operand(c, 0), list.rows, list.count, args_has(c, OPT_IDS), &how.options, &r, &err);
        result = lance_end_call(c, &how, status, &err, operand(c, 0), &r, "deleted");
    }
    free(list.rows);
    return result;
}

/* ---------------------------------------------------------------- versions made of versions */

static int lance_compact(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_lance_result r = { .struct_size = sizeof r };
    lance_call how = { .metadata = NULL };
    int result = lance_options(c, &how);
    if (result != EXIT_DONE)
        return result;
    lb_status status = lb_lance_compact(c->cx, operand(c, 0), &how.options, &r, &err);
    return lance_end_call(c, &how, status, &err, operand(c, 0), &r, "rewritten");
}

static int lance_restore(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_lance_result r = { .struct_size = sizeof r };
    lance_call how = { .metadata = NULL };
    char *folder, *version;
    split_version(operand(c, 0), &folder, &version);
    int result = version != NULL ? lance_options(c, &how)
                                 : report_usage(c, "say which version is to come back: lakebed lance restore PATH@V");
    if (result == EXIT_DONE) {
        lb_status status = lb_lance_restore(c->cx, folder, version, &how.options, &r, &err);
        result = lance_end_call(c, &how, status, &err, folder, &r, NULL);
    }
    free(folder);
    free(version);
    return result;
}

static int lance_tag(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    const char *name = operand(c, 1);
    char *folder, *version;
    if (name == NULL)
        return args_has(c, OPT_REMOVE) ? report_usage(c, "say which tag goes: lakebed lance tag PATH NAME --remove")
                                       : lance_tags(c);
    lb_lance_options options = { .struct_size = sizeof options, .replace = args_has(c, OPT_FORCE) };
    split_version(operand(c, 0), &folder, &version);
    lb_status status = lb_lance_tag(c->cx, folder, version, name, args_has(c, OPT_REMOVE), &options, &err);
    free(folder);
    free(version);
    return status == LB_OK ? EXIT_DONE : report_error(c, &err);
}

/* aux and metadata: print, or commit a version that says something else. */
static int annotate(cli *c, lb_dataset_meta kind)
{
    const cli_list *set = &c->args.given[OPT_SET], *unset = &c->args.given[OPT_UNSET];
    lb_error err = LB_ERROR_INIT;
    lb_lance_result r = { .struct_size = sizeof r };
    lance_call how = { .metadata = NULL };
    if (set->count == 0 && unset->count == 0)
        return lance_pairs(c, kind);
    if (names_version(operand(c, 0)))
        return report_usage(c, "--set and --unset go on top of the newest version; leave out what stands behind the @");
    if (kind == LB_DATASET_AUX && unset->count != 0)
        return report_usage(
            c, "auxiliary data belongs to one version: a new one begins without any, --unset is not needed");
    int result = lance_options(c, &how);
    if (result == EXIT_DONE && kind == LB_DATASET_AUX) {
        free_pairs(how.aux, how.options.n_aux);
        how.options.n_aux = 0;
        result = read_pairs(c, "set", OPT_SET, &how.aux, &how.options.n_aux, 0);
        how.options.aux = how.aux;
    } else if (result == EXIT_DONE) {
        result = read_pairs(c, "set", OPT_SET, &how.metadata, &how.options.n_metadata, unset->count);
        for (size_t i = 0; i < unset->count; i++)
            how.metadata[how.options.n_metadata++].key = cli_format("%s", unset->items[i]);
        how.options.metadata = how.metadata;
    }
    if (result != EXIT_DONE) {
        lance_options_free(&how);
        return result;
    }
    lb_status status = lb_lance_annotate(c->cx, operand(c, 0), &how.options, &r, &err);
    return lance_end_call(c, &how, status, &err, operand(c, 0), &r, NULL);
}

static int lance_aux(cli *c)
{
    return annotate(c, LB_DATASET_AUX);
}

static int lance_metadata(cli *c)
{
    return annotate(c, LB_DATASET_SCHEMA);
}

/* ---------------------------------------------------------------- clean */

typedef struct clean_report {
    cli *c;
    json_out j;
    uint64_t removed, kept, bytes;
} clean_report;

static void clean_each(void *user, const lb_lance_orphan *o)
{
    clean_report *r = user;
    r->removed += o->removed;
    r->kept += !o->removed;
    r->bytes += o->removed ? o->bytes : 0;
    if (args_has(r->c, OPT_JSON)) {
        jout_open(&r->j, '{');
        jput_text(&r->j, "path", o->path);
        jput_count(&r->j, "bytes", o->bytes);
        jput_real(&r->j, "age_seconds", (double)o->age_ns / 1e9);
        jput_bool(&r->j, "removed", o->removed);
        jout_close(&r->j, '}');
    } else if (!args_has(r->c, OPT_QUIET)) {
        char *path = clean_text(o->path);
        (void)printf("%s %s (%s)\n", o->removed ? "removed" : "kept, not old enough:", path, size_text(o->bytes).s);
        free(path);
    }
}

static int lance_clean(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    clean_report r = { .c = c, .j = { .file = stdout } };
    const char *age = args_text(c, OPT_OLDER_THAN, NULL);
    int64_t older = 7 * DAY_NS;
    if (age != NULL && !cli_parse_age(age, &older))
        return report_usage(c, "--older-than takes an age as 90s, 30m, 12h, 7d or 2w, not \"%s\"", age);
    if (args_has(c, OPT_JSON)) {
        jout_open(&r.j, '{');
        jout_key(&r.j, "orphans");
        jout_open(&r.j, '[');
    }
    lb_status status = lb_lance_orphans(c->cx, operand(c, 0), true, older, clean_each, &r, &err);
    if (args_has(c, OPT_JSON)) {
        jout_close(&r.j, ']');
        jput_count(&r.j, "removed", r.removed);
        jput_count(&r.j, "removed_bytes", r.bytes);
        jout_close(&r.j, '}');
        jout_end(&r.j);
    } else if (status == LB_OK && !args_has(c, OPT_QUIET)) {
        (void)printf("%s removed (%s), %s kept\n", plural_text(r.removed, "file", "files").s, size_text(r.bytes).s,
                     number_text(r.kept).s);
    }
    return status == LB_OK ? EXIT_DONE : report_error(c, &err);
}

/* ---------------------------------------------------------------- which of them */

static const struct {
    const char *name;
    size_t most; /* operands behind the name */
    int (*run)(cli *c);
    bool newest; /* works on the newest version, whatever the path says */
} lance_verbs[] = {
    { "create", 1, lance_create, true },
    { "append", 1, lance_append, true },
    { "overwrite", 1, lance_overwrite, true },
    { "add-columns", 1, lance_add_columns, true },
    { "delete", SIZE_MAX, lance_delete, true },
    { "compact", 1, lance_compact, true },
    { "restore", 1, lance_restore, false },
    { "tag", 2, lance_tag, false },
    { "log", 1, lance_log, false },
    { "show", 1, lance_show, false },
    { "diff", 2, lance_diff, false },
    { "aux", 1, lance_aux, false },
    { "metadata", 1, lance_metadata, false },
    { "clean", 1, lance_clean, true },
    { "index", 2, lance_index, true },
    { "search", 2, lance_search, false },
};

int verb_lance(cli *c)
{
    const char *what = c->args.operands.items[0];
    typo t;
    typo_begin(&t, what);
    for (size_t i = 0; i < sizeof lance_verbs / sizeof *lance_verbs; i++) {
        typo_offer(&t, lance_verbs[i].name);
        if (strcmp(lance_verbs[i].name, what) != 0)
            continue;
        if (c->args.operands.count - 1 > lance_verbs[i].most)
            return report_usage(c, "lance %s: \"%s\" is too much", what, operand(c, lance_verbs[i].most));
        if (lance_verbs[i].newest && names_version(operand(c, 0)))
            return report_usage(c, "lance %s goes on top of the newest version; leave out what stands behind the @",
                                what);
        return lance_verbs[i].run(c);
    }
    if (typo_best(&t) != NULL)
        return report_usage(c, "there is no lance %s; did you mean lance %s?", what, typo_best(&t));
    return report_usage(c, "there is no lance %s", what);
}
