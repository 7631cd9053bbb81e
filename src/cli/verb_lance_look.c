/* lakebed lance log, show, diff, tag, aux, metadata: what only looks. */
#include "cli.h"
#include "json_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *look_path(const cli *c)
{
    return c->args.operands.items[1];
}

static int look_open(cli *c, const char *path, lb_dataset **out)
{
    lb_error err = LB_ERROR_INIT;
    return lb_dataset_open(c->cx, path, out, &err) == LB_OK ? EXIT_DONE : report_error(c, &err);
}

cli_text moment_text(int64_t seconds, int32_t nanos)
{
    cli_text out = { "-" };
    time_t t = (time_t)seconds;
    struct tm tm;
    if (seconds == 0 || gmtime_r(&t, &tm) == NULL)
        return out;
    (void)snprintf(out.s, sizeof out.s, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(nanos / 1000000));
    return out;
}

static cli_text known_text(int64_t n)
{
    cli_text unknown = { "-" };
    return n < 0 ? unknown : number_text((uint64_t)n);
}

static void grid_text(grid *g, const char *text)
{
    char *clean = clean_text(text);
    grid_add(g, clean);
    free(clean);
}

/* Tags of the manifest and of refs files, as one text owned by the caller. */
static char *all_tags(const lb_dataset_version *v)
{
    bool both = *v->tag != '\0' && *v->tags != '\0';
    return cli_format("%s%s%s", v->tag, both ? " " : "", v->tags);
}

/* ---------------------------------------------------------------- log */

static void log_json(json_out *j, const lb_dataset_version *v)
{
    char *tags = all_tags(v);
    jout_open(j, '{');
    jput_count(j, "version", v->version);
    jput_text(j, "time", v->seconds == 0 ? NULL : moment_text(v->seconds, v->nanos).s);
    jput_text(j, "tags", tags);
    jput_text(j, "manifest", v->manifest);
    jput_count(j, "bytes", v->bytes);
    jout_close(j, '}');
    free(tags);
}

static void log_line(grid *g, const lb_dataset_version *v)
{
    char *tags = all_tags(v);
    grid_add(g, number_text(v->version).s);
    grid_add(g, moment_text(v->seconds, v->nanos).s);
    grid_text(g, tags);
    grid_text(g, v->manifest);
    free(tags);
}

int lance_log(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_dataset *d = NULL;
    uint64_t n = 0;
    json_out j = { .file = stdout };
    bool json = args_has(c, OPT_JSON);
    int result = look_open(c, look_path(c), &d);
    if (result != EXIT_DONE)
        return result;
    grid *g = grid_new(">version|time|tags|manifest");
    if (lb_dataset_version_count(d, &n, &err) != LB_OK)
        result = report_error(c, &err);
    uint64_t limit = args_number(c, OPT_LIMIT, UINT64_MAX);
    if (json) {
        jout_open(&j, '{');
        jout_key(&j, "versions");
        jout_open(&j, '[');
    }
    for (uint64_t i = n; i > 0 && n - i < limit && result == EXIT_DONE; i--) { /* the newest first */
        lb_dataset_version v = { .struct_size = sizeof v };
        if (lb_dataset_version_at(d, i - 1, &v, &err) != LB_OK)
            result = report_error(c, &err);
        else if (json)
            log_json(&j, &v);
        else
            log_line(g, &v);
    }
    if (json) {
        jout_close(&j, ']');
        jout_close(&j, '}');
        jout_end(&j);
    } else {
        grid_print(g, "");
    }
    grid_free(g);
    lb_dataset_close(d);
    return result;
}

int lance_tags(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_dataset *d = NULL;
    uint64_t n = 0;
    json_out j = { .file = stdout };
    int result = look_open(c, look_path(c), &d);
    if (result != EXIT_DONE)
        return result;
    if (lb_dataset_version_count(d, &n, &err) != LB_OK)
        result = report_error(c, &err);
    if (args_has(c, OPT_JSON))
        jout_open(&j, '{');
    for (uint64_t i = 0; i < n && result == EXIT_DONE; i++) {
        lb_dataset_version v = { .struct_size = sizeof v };
        if (lb_dataset_version_at(d, i, &v, &err) != LB_OK) {
            result = report_error(c, &err);
            break;
        }
        char *tags = all_tags(&v), *save = NULL;
        for (const char *tag = strtok_r(tags, " ", &save); tag != NULL; tag = strtok_r(NULL, " ", &save)) {
            if (args_has(c, OPT_JSON))
                jput_count(&j, tag, v.version);
            else
                (void)printf("%s\t%" PRIu64 "\n", tag, v.version);
        }
        free(tags);
    }
    if (args_has(c, OPT_JSON)) {
        jout_close(&j, '}');
        jout_end(&j);
    }
    lb_dataset_close(d);
    return result;
}

/* ---------------------------------------------------------------- aux and metadata */

/* A value as text where it is some, else as base64 in JSON's `base64:` form would hide it: its size. */
static bool value_is_text(const void *value, size_t size)
{
    return size == 0 || memchr(value, '\0', size) == NULL;
}

static void pairs_json(json_out *j, lb_dataset *d, lb_dataset_meta kind, lb_error *err)
{
    jout_open(j, '{');
    for (uint64_t i = 0; i < lb_dataset_meta_count(d, kind); i++) {
        const char *key;
        const void *value;
        size_t size;
        if (lb_dataset_meta_at(d, kind, i, &key, &value, &size, err) != LB_OK)
            break;
        char *text = cli_format("%.*s", (int)size, size == 0 ? "" : (const char *)value);
        jput_text(j, key, value_is_text(value, size) ? text : NULL);
        free(text);
    }
    jout_close(j, '}');
}

static int pairs_lines(cli *c, lb_dataset *d, lb_dataset_meta kind)
{
    lb_error err = LB_ERROR_INIT;
    for (uint64_t i = 0; i < lb_dataset_meta_count(d, kind); i++) {
        const char *key;
        const void *value;
        size_t size;
        if (lb_dataset_meta_at(d, kind, i, &key, &value, &size, &err) != LB_OK)
            return report_error(c, &err);
        char *name = clean_text(key);
        (void)printf("%s=", name);
        free(name);
        if (!out_write(c, value, size) || !out_write(c, "\n", 1))
            return EXIT_DONE;
    }
    return EXIT_DONE;
}

int lance_pairs(cli *c, lb_dataset_meta kind)
{
    lb_error err = LB_ERROR_INIT;
    lb_dataset *d = NULL;
    json_out j = { .file = stdout };
    int result = look_open(c, look_path(c), &d);
    if (result != EXIT_DONE)
        return result;
    if (args_has(c, OPT_JSON)) {
        pairs_json(&j, d, kind, &err);
        jout_end(&j);
    } else {
        result = pairs_lines(c, d, kind);
    }
    lb_dataset_close(d);
    return result;
}

/* ---------------------------------------------------------------- show */

static void show_head_json(json_out *j, const lb_dataset_info *v)
{
    jput_text(j, "path", v->path);
    jput_count(j, "version", v->version);
    jput_count(j, "newest", v->newest);
    jput_text(j, "manifest", v->manifest);
    jput_text(j, "time", v->seconds == 0 ? NULL : moment_text(v->seconds, v->nanos).s);
    jput_text(j, "tag", v->tag);
    jput_text(j, "writer", v->writer);
    jput_text(j, "storage", v->storage);
    jput_count(j, "reader_flags", v->reader_flags);
    jput_count(j, "writer_flags", v->writer_flags);
    jput_known(j, "max_fragment_id", v->max_fragment);
    jput_known(j, "rows", v->rows);
    jput_known(j, "deleted", v->deleted);
    jput_text(j, "unreadable", v->unreadable);
}

static void ids_json(json_out *j, const char *key, const int32_t *ids, size_t n)
{
    jout_key(j, key);
    jout_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%" PRId32, ids[i]);
        jout_raw(j, text);
    }
    jout_close(j, ']');
}

static lb_status show_fields_json(json_out *j, lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    jout_key(j, "fields");
    jout_open(j, '[');
    for (uint64_t i = 0; i < info->fields; i++) {
        lb_dataset_field f = { .struct_size = sizeof f };
        lb_status s = lb_dataset_field_at(d, i, &f, err);
        if (s != LB_OK)
            return s;
        jout_open(j, '{');
        jput_count(j, "id", (uint64_t)f.id);
        jput_known(j, "parent", f.parent);
        jput_text(j, "name", f.name);
        jput_text(j, "logical_type", f.logical_type);
        jput_bool(j, "nullable", f.nullable);
        jput_text(j, "encoding", f.encoding);
        jput_known(j, "nulls_of", f.null_of);
        jout_close(j, '}');
    }
    jout_close(j, ']');
    return LB_OK;
}

static lb_status show_fragments_json(json_out *j, lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    jout_key(j, "fragments");
    jout_open(j, '[');
    for (uint64_t i = 0; i < info->fragments; i++) {
        lb_dataset_fragment f = { .struct_size = sizeof f };
        lb_status s = lb_dataset_fragment_at(d, i, &f, err);
        if (s != LB_OK)
            return s;
        jout_open(j, '{');
        jput_count(j, "id", f.id);
        jput_known(j, "rows", f.rows);
        jput_known(j, "rows_recorded", f.rows_recorded);
        jput_known(j, "deleted", f.deleted);
        jput_text(j, "deletion_file", f.deletion_file);
        jout_key(j, "files");
        jout_open(j, '[');
        for (uint64_t k = 0; k < f.files; k++) {
            lb_dataset_file file = { .struct_size = sizeof file };
            s = lb_dataset_file_at(d, i, k, &file, err);
            if (s != LB_OK)
                return s;
            jout_open(j, '{');
            jput_text(j, "path", file.path);
            ids_json(j, "fields", file.fields, file.n_fields);
            jout_close(j, '}');
        }
        jout_close(j, ']');
        jout_close(j, '}');
    }
    jout_close(j, ']');
    return LB_OK;
}

/* The fragments that an index says it covers; null where it does not say. */
static void covers_json(json_out *j, const lb_dataset_index *x)
{
    jout_key(j, "fragments");
    if (x->fragments == NULL) {
        jout_text(j, NULL);
        return;
    }
    jout_open(j, '[');
    for (size_t i = 0; i < x->n_fragments; i++)
        jout_count(j, x->fragments[i]);
    jout_close(j, ']');
}

static lb_status show_indices_json(json_out *j, lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    jout_key(j, "indices");
    jout_open(j, '[');
    for (uint64_t i = 0; i < info->indices; i++) {
        lb_dataset_index x = { .struct_size = sizeof x };
        lb_status s = lb_dataset_index_at(d, i, &x, err);
        if (s != LB_OK)
            return s;
        jout_open(j, '{');
        jput_text(j, "name", x.name);
        jput_text(j, "uuid", x.uuid);
        jput_text(j, "type", x.type);
        ids_json(j, "fields", x.fields, x.n_fields);
        jput_count(j, "dataset_version", x.dataset_version);
        covers_json(j, &x);
        jout_close(j, '}');
    }
    jout_close(j, ']');
    return LB_OK;
}

static void orphan_json(void *user, const lb_lance_orphan *o)
{
    json_out *j = user;
    jout_open(j, '{');
    jput_text(j, "path", o->path);
    jput_count(j, "bytes", o->bytes);
    jput_real(j, "age_seconds", (double)o->age_ns / 1e9);
    jout_close(j, '}');
}

static void orphan_line(void *user, const lb_lance_orphan *o)
{
    char *path = clean_text(o->path);
    ++*(uint64_t *)user;
    (void)printf("  %s (%s)\n", path, size_text(o->bytes).s);
    free(path);
}

/* What no version reaches is the whole dataset's affair. */
static lb_status show_orphans(cli *c, const lb_dataset_info *info, json_out *j, lb_error *err)
{
    uint64_t n = 0;
    if (!args_has(c, OPT_ORPHANS))
        return LB_OK;
    if (j == NULL)
        (void)puts("\nreached by no version:");
    else {
        jout_key(j, "orphans");
        jout_open(j, '[');
    }
    lb_status s = lb_lance_orphans(c->cx, info->path, false, 0, j == NULL ? orphan_line : orphan_json,
                                   j == NULL ? (void *)&n : (void *)j, err);
    if (j != NULL)
        jout_close(j, ']');
    else if (s == LB_OK && n == 0)
        (void)puts("  nothing");
    return s;
}

static lb_status show_json(cli *c, lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    static const struct {
        const char *key;
        lb_dataset_meta kind;
    } pairs[] = { { "metadata", LB_DATASET_SCHEMA }, { "aux", LB_DATASET_AUX }, { "config", LB_DATASET_CONFIG } };
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    show_head_json(&j, info);
    lb_status s = show_fields_json(&j, d, info, err);
    if (s == LB_OK)
        s = show_fragments_json(&j, d, info, err);
    if (s == LB_OK)
        s = show_indices_json(&j, d, info, err);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && s == LB_OK; i++) {
        jout_key(&j, pairs[i].key);
        pairs_json(&j, d, pairs[i].kind, err);
    }
    if (s == LB_OK)
        s = show_orphans(c, info, &j, err);
    jout_close(&j, '}');
    jout_end(&j);
    return s;
}

static lb_status show_fields(lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    lb_status s = LB_OK;
    grid *g = grid_new(">id|name|type|nulls");
    for (uint64_t i = 0; i < info->fields && s == LB_OK; i++) {
        lb_dataset_field f = { .struct_size = sizeof f };
        s = lb_dataset_field_at(d, i, &f, err);
        if (s != LB_OK)
            break;
        char *note = f.null_of >= 0 ? cli_format("tells the nulls of %" PRId32, f.null_of)
                                    : cli_format("%s", f.nullable ? "nullable" : "");
        char *name = cli_format("%s%s", f.parent >= 0 ? "  " : "", f.name);
        grid_add(g, number_text((uint64_t)f.id).s);
        grid_text(g, name);
        grid_text(g, f.logical_type);
        grid_add(g, note);
        free(name);
        free(note);
    }
    grid_print(g, "");
    grid_free(g);
    return s;
}

static lb_status show_fragments(lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    lb_status s = LB_OK;
    if (info->fragments == 0)
        return LB_OK;
    (void)puts("");
    grid *g = grid_new(">fragment|>rows|>deleted|>files|first file");
    for (uint64_t i = 0; i < info->fragments && s == LB_OK; i++) {
        lb_dataset_fragment f = { .struct_size = sizeof f };
        lb_dataset_file file = { .struct_size = sizeof file, .path = "" };
        s = lb_dataset_fragment_at(d, i, &f, err);
        if (s == LB_OK && f.files != 0)
            s = lb_dataset_file_at(d, i, 0, &file, err);
        if (s != LB_OK)
            break;
        grid_add(g, number_text(f.id).s);
        grid_add(g, known_text(f.rows).s);
        grid_add(g, known_text(f.deleted).s);
        grid_add(g, number_text(f.files).s);
        grid_text(g, file.path);
    }
    grid_print(g, "");
    grid_free(g);
    return s;
}

static lb_status show_indices(lb_dataset *d, const lb_dataset_info *info, lb_error *err)
{
    lb_status s = LB_OK;
    for (uint64_t i = 0; i < info->indices && s == LB_OK; i++) {
        lb_dataset_index x = { .struct_size = sizeof x };
        s = lb_dataset_index_at(d, i, &x, err);
        if (s != LB_OK)
            break;
        char *name = clean_text(x.name);
        (void)printf("%sindex %s (%s) %s\n", i == 0 ? "\n" : "", name, x.uuid, x.type);
        free(name);
    }
    return s;
}

static lb_status show_people(cli *c, lb_dataset *d, const lb_dataset_info *v, lb_error *err)
{
    (void)printf("version %" PRIu64 " of %" PRIu64 ", %s%s%s%s%s\n", v->version, v->newest,
                 moment_text(v->seconds, v->nanos).s, *v->tag == '\0' ? "" : ", tag ", v->tag,
                 *v->writer == '\0' ? "" : ", by ", v->writer);
    (void)printf("%s%s, %s, %s\n\n", v->rows < 0 ? "rows not known" : plural_text((uint64_t)v->rows, "row", "rows").s,
                 v->deleted > 0 ? " (others are deleted)" : "", plural_text(v->fragments, "fragment", "fragments").s,
                 plural_text(v->files, "file", "files").s);
    if (v->unreadable != NULL)
        (void)printf("rows cannot be read: %s\n\n", v->unreadable);
    lb_status s = show_fields(d, v, err);
    if (s == LB_OK)
        s = show_fragments(d, v, err);
    if (s == LB_OK)
        s = show_indices(d, v, err);
    return s == LB_OK ? show_orphans(c, v, NULL, err) : s;
}

int lance_show(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_dataset *d = NULL;
    lb_dataset_info info = { .struct_size = sizeof info };
    int result = look_open(c, look_path(c), &d);
    if (result != EXIT_DONE)
        return result;
    lb_status s = lb_dataset_get_info(d, &info, &err);
    if (s == LB_OK)
        s = args_has(c, OPT_JSON) ? show_json(c, d, &info, &err) : show_people(c, d, &info, &err);
    lb_dataset_close(d);
    return s == LB_OK ? EXIT_DONE : report_error(c, &err);
}

/* ---------------------------------------------------------------- diff */

/* Two versions, and what is told of them. */
typedef struct diff_state {
    cli *c;
    lb_dataset *a, *b;
    lb_dataset_info ia, ib;
    json_out j;
    bool json;
    uint64_t lines;
} diff_state;

static void diff_line(diff_state *t, const char *sign, const char *what, const char *name, const char *detail)
{
    t->lines++;
    if (t->json) {
        jout_open(&t->j, '{');
        jput_text(&t->j, "change", sign[0] == '+' ? "added" : sign[0] == '-' ? "removed" : "changed");
        jput_text(&t->j, "what", what);
        jput_text(&t->j, "name", name);
        jput_text(&t->j, "detail", detail);
        jout_close(&t->j, '}');
        return;
    }
    char *text = clean_text(name);
    (void)printf("%s %s%s%s%s%s\n", sign, what, *text == '\0' ? "" : " ", text, *detail == '\0' ? "" : ": ", detail);
    free(text);
}

static bool find_field(lb_dataset *d, const lb_dataset_info *info, int32_t id, lb_dataset_field *out)
{
    for (uint64_t i = 0; i < info->fields; i++)
        if (lb_dataset_field_at(d, i, out, NULL) == LB_OK && out->id == id)
            return true;
    return false;
}

static void diff_fields(diff_state *t)
{
    lb_dataset_field f = { .struct_size = sizeof f }, g = { .struct_size = sizeof g };
    for (uint64_t i = 0; i < t->ia.fields; i++) {
        if (lb_dataset_field_at(t->a, i, &f, NULL) != LB_OK)
            continue;
        if (!find_field(t->b, &t->ib, f.id, &g)) {
            diff_line(t, "-", "column", f.name, f.logical_type);
        } else if (strcmp(f.name, g.name) != 0 || strcmp(f.logical_type, g.logical_type) != 0) {
            char *detail = cli_format("now %s, %s", g.name, g.logical_type);
            diff_line(t, "~", "column", f.name, detail);
            free(detail);
        }
    }
    for (uint64_t i = 0; i < t->ib.fields; i++)
        if (lb_dataset_field_at(t->b, i, &f, NULL) == LB_OK && !find_field(t->a, &t->ia, f.id, &g))
            diff_line(t, "+", "column", f.name, f.logical_type);
}

typedef struct diff_fragment {
    lb_dataset_fragment f;
    char *key; /* id and first file */
} diff_fragment;

static int fragment_compare(const void *a, const void *b)
{
    return strcmp(((const diff_fragment *)a)->key, ((const diff_fragment *)b)->key);
}

static diff_fragment *fragments_of(lb_dataset *d, const lb_dataset_info *info)
{
    diff_fragment *out = cli_alloc(info->fragments + 1, sizeof *out);
    for (uint64_t i = 0; i < info->fragments; i++) {
        lb_dataset_file file = { .struct_size = sizeof file, .path = "" };
        out[i].f.struct_size = sizeof out[i].f;
        (void)lb_dataset_fragment_at(d, i, &out[i].f, NULL);
        (void)lb_dataset_file_at(d, i, 0, &file, NULL);
        out[i].key = cli_format("%020" PRIu64 " %s", out[i].f.id, file.path == NULL ? "" : file.path);
    }
    qsort(out, info->fragments, sizeof *out, fragment_compare);
    return out;
}

static void fragments_free(diff_fragment *list, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        free(list[i].key);
    free(list);
}

static void diff_one(diff_state *t, const char *sign, const diff_fragment *f)
{
    char *detail = f->f.rows < 0 ? cli_format("%s", f->key + 21)
                                 : cli_format("%s, %s", plural_text((uint64_t)f->f.rows, "row", "rows").s, f->key + 21);
    diff_line(t, sign, "fragment", number_text(f->f.id).s, detail);
    free(detail);
}

static void diff_pair(diff_state *t, const diff_fragment *f, const diff_fragment *g)
{
    if (f->f.deleted != g->f.deleted || (f->f.deletion_file == NULL) != (g->f.deletion_file == NULL)) {
        char *detail = cli_format("deleted rows %s, were %s", known_text(g->f.deleted).s, known_text(f->f.deleted).s);
        diff_line(t, "~", "fragment", number_text(f->f.id).s, detail);
        free(detail);
    }
    if (f->f.files != g->f.files) {
        char *detail = cli_format("%s, were %" PRIu64, plural_text(g->f.files, "file", "files").s, f->f.files);
        diff_line(t, "~", "fragment", number_text(f->f.id).s, detail);
        free(detail);
    }
}

static void diff_fragments(diff_state *t)
{
    diff_fragment *x = fragments_of(t->a, &t->ia), *y = fragments_of(t->b, &t->ib);
    uint64_t i = 0, k = 0;
    while (i < t->ia.fragments || k < t->ib.fragments) {
        int order = i == t->ia.fragments ? 1 : k == t->ib.fragments ? -1 : strcmp(x[i].key, y[k].key);
        if (order < 0)
            diff_one(t, "-", &x[i++]);
        else if (order > 0)
            diff_one(t, "+", &y[k++]);
        else
            diff_pair(t, &x[i++], &y[k++]);
    }
    fragments_free(x, t->ia.fragments);
    fragments_free(y, t->ib.fragments);
}

static void diff_rows(diff_state *t)
{
    if (t->ia.rows == t->ib.rows)
        return;
    char *detail = cli_format("%s, were %s", known_text(t->ib.rows).s, known_text(t->ia.rows).s);
    diff_line(t, "~", "rows", "", detail);
    free(detail);
}

static int diff_run(diff_state *t)
{
    lb_error err = LB_ERROR_INIT;
    t->ia.struct_size = t->ib.struct_size = sizeof t->ia;
    if (lb_dataset_get_info(t->a, &t->ia, &err) != LB_OK || lb_dataset_get_info(t->b, &t->ib, &err) != LB_OK)
        return report_error(t->c, &err);
    if (t->json) {
        jout_open(&t->j, '{');
        jput_count(&t->j, "from", t->ia.version);
        jput_count(&t->j, "to", t->ib.version);
        jout_key(&t->j, "changes");
        jout_open(&t->j, '[');
    } else {
        (void)printf("version %" PRIu64 " to %" PRIu64 "\n", t->ia.version, t->ib.version);
    }
    diff_rows(t);
    diff_fields(t);
    diff_fragments(t);
    if (t->json) {
        jout_close(&t->j, ']');
        jout_close(&t->j, '}');
        jout_end(&t->j);
    } else if (t->lines == 0) {
        (void)puts("the same columns and rows");
    }
    return t->lines == 0 ? EXIT_DONE : EXIT_FINDING;
}

int lance_diff(cli *c)
{
    const char *from = look_path(c), *at = strrchr(from, '@');
    const char *to = c->args.operands.count > 2 ? c->args.operands.items[2] : NULL;
    diff_state t = { .c = c, .j = { .file = stdout }, .json = args_has(c, OPT_JSON) };
    if (at == NULL)
        return report_usage(c, "say from which version: lakebed lance diff PATH@A [B]");
    bool whole = to != NULL && strchr(to, '@') != NULL; /* PATH@B, or B alone */
    char *path =
        to == NULL || whole ? cli_format("%s", whole ? to : "") : cli_format("%.*s@%s", (int)(at - from), from, to);
    if (to == NULL) {
        free(path);
        path = cli_format("%.*s", (int)(at - from), from);
    }
    int result = look_open(c, from, &t.a);
    if (result == EXIT_DONE)
        result = look_open(c, path, &t.b);
    if (result == EXIT_DONE)
        result = diff_run(&t);
    lb_dataset_close(t.a);
    lb_dataset_close(t.b);
    free(path);
    return result;
}
