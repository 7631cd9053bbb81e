/* lakebed doctor: what became of every file since it was mapped, mending the map, and taking that back. */
#include "cli.h"
#include "json_out.h"

#include <stdlib.h>
#include <string.h>

enum { FINDINGS_ON_TERMINAL = 100 }; /* of one kind; a pipe and --json get all */

typedef struct doctor_run {
    cli *c;
    const char *dir;
    bool verify;
    lb_doctor_info info;
    lb_finding *findings;
    lb_unseekable *unseekable;
    uint64_t counts[LB_DRIFT_COUNT];
    uint64_t failed;      /* findings with an error */
    uint64_t found_bytes; /* in files of findings */
} doctor_run;

/* ---------------------------------------------------------------- options */

/* "90s", "30m", "12h", "7d", "2w" in nanoseconds. */
bool cli_parse_age(const char *text, int64_t *out)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
    size_t n = strlen(text);
    char digits[24];
    uint64_t count;
    if (n < 2 || n > sizeof digits)
        return false;
    memcpy(digits, text, n - 1);
    digits[n - 1] = '\0';
    if (!args_parse_number(digits, &count))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].unit != text[n - 1])
            continue;
        *out = (int64_t)(count * units[i].seconds * 1000000000u);
        return count <= (uint64_t)INT64_MAX / 1000000000u / units[i].seconds;
    }
    return false;
}

static int doctor_options(cli *c, lb_doctor_options *out)
{
    const char *age = args_text(c, OPT_OLDER_THAN, NULL);
    *out = (lb_doctor_options){ .struct_size = sizeof *out,
                                .heal = args_has(c, OPT_HEAL),
                                .verify = args_has(c, OPT_VERIFY) || age != NULL };
    if (age != NULL && !cli_parse_age(age, &out->older_than_ns))
        return report_usage(c, "--older-than takes an age as 90s, 30m, 12h, 7d or 2w, not \"%s\"", age);
    if (args_has(c, OPT_UNDO) && (out->heal || out->verify))
        return report_usage(c, "--undo goes with no other work: not with --heal, --verify or --older-than");
    return EXIT_DONE;
}

/* ---------------------------------------------------------------- what was found */

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lb_status collect(doctor_run *r, const lb_doctor_report *report, lb_error *err)
{
    r->info = (lb_doctor_info){ .struct_size = sizeof r->info };
    lb_status status = lb_doctor_get_info(report, &r->info, err);
    size_t n = status == LB_OK ? (size_t)r->info.findings : 0;
    r->findings = cli_alloc(n, sizeof *r->findings);
    for (size_t i = 0; i < n && status == LB_OK; i++) {
        lb_finding *f = &r->findings[i];
        f->struct_size = sizeof *f;
        status = lb_doctor_finding(report, i, f, err);
        r->counts[f->drift] += status == LB_OK;
        r->failed += f->error != NULL;
        r->found_bytes += f->new_bytes > 0 ? (uint64_t)f->new_bytes : 0;
    }
    size_t n_unseekable = status == LB_OK ? (size_t)r->info.unseekable : 0;
    r->unseekable = cli_alloc(n_unseekable, sizeof *r->unseekable);
    for (size_t i = 0; i < n_unseekable && status == LB_OK; i++)
        status = lb_doctor_unseekable(report, i, &r->unseekable[i], err);
    return status;
}

/* ---------------------------------------------------------------- for people */

static const struct {
    const char *count; /* in the first line */
    const char *head;  /* above the files */
} words[LB_DRIFT_COUNT] = {
    [LB_DRIFT_UNINDEXED] = { "new", "new, not in the map" },
    [LB_DRIFT_MISSING] = { "missing", "missing, in the map but not on disk" },
    [LB_DRIFT_RENAMED] = { "renamed", "renamed, the contents of a file that is gone" },
    [LB_DRIFT_MODIFIED] = { "modified", "modified, how is not known" },
    [LB_DRIFT_APPENDED] = { "appended", "appended, what was mapped still stands" },
    [LB_DRIFT_TRUNCATED] = { "truncated", "truncated, what is left is as it was" },
    [LB_DRIFT_REWRITTEN] = { "rewritten", "rewritten, other contents" },
    [LB_DRIFT_TOUCHED] = { "touched", "touched, the same contents under another time" },
    [LB_DRIFT_DAMAGED] = { "damaged", "damaged, other contents under the same size and time" },
    [LB_DRIFT_UNREADABLE] = { "unreadable", "unreadable" },
    [LB_DRIFT_TORN] = { "torn", "torn, ends inside a record: the rows before it are read" },
};

/* Were sizes and times enough for files that match, but for racy ones? */
static bool is_by_time(const doctor_run *r)
{
    return !r->verify && r->info.bytes_hashed <= r->found_bytes;
}

static void print_status(const doctor_run *r)
{
    const lb_doctor_info *info = &r->info;
    const char *by_time = is_by_time(r) ? " by size and time" : "";
    const char *colour = info->status == LB_DOCTOR_DRIFT ? "\033[1;33m" : "\033[1;32m";
    bool on = r->c->out_colour, any = false;
    (void)printf("%s%s%s: %s", on ? colour : "", lb_doctor_status_text(info->status), on ? "\033[0m" : "",
                 plural_text(info->total_files, "file", "files").s);
    if (!info->had_map)
        (void)printf(info->healed ? ", there was no map" : ", there is no map");
    else if (info->status == LB_DOCTOR_HEALTHY)
        (void)printf(", as mapped%s", by_time);
    else
        (void)printf(", %s as mapped", number_text(info->healthy).s);
    for (int kind = 0; kind < LB_DRIFT_COUNT; kind++) {
        if (r->counts[kind] == 0 || kind == LB_DRIFT_RACY)
            continue;
        (void)printf("%s%s %s", any ? ", " : "; ", number_text(r->counts[kind]).s, words[kind].count);
        any = true;
    }
    (void)printf("\n");
}

static void print_sizes(const lb_finding *f)
{
    if (f->old_bytes >= 0 && f->new_bytes >= 0 && f->old_bytes != f->new_bytes)
        (void)printf("  %s, now %s", plural_text((uint64_t)f->old_bytes, "byte", "bytes").s,
                     number_text((uint64_t)f->new_bytes).s);
    else if (f->new_bytes >= 0 || f->old_bytes >= 0)
        (void)printf("  %s",
                     plural_text((uint64_t)(f->new_bytes >= 0 ? f->new_bytes : f->old_bytes), "byte", "bytes").s);
}

static void print_clean(const char *before, const char *text)
{
    char *clean = clean_text(text);
    (void)printf("%s%s", before, clean);
    free(clean);
}

static void print_damage(const lb_damage *d)
{
    (void)printf("    bytes %s to %s differ", number_text(d->first_byte).s,
                 number_text(d->first_byte + d->length - 1).s);
    if (d->first_row >= 0 && d->rows > 0)
        (void)printf(": rows %s to %s", number_text((uint64_t)d->first_row).s,
                     number_text((uint64_t)(d->first_row + d->rows - 1)).s);
    (void)printf("\n");
}

static void print_finding(const lb_finding *f)
{
    print_clean("  ", f->path);
    if (f->was != NULL)
        print_clean("  was ", f->was);
    print_sizes(f);
    (void)printf("\n");
    for (uint64_t i = 0; i < f->n_damage; i++)
        print_damage(&f->damage[i]);
    if (f->note != NULL) {
        print_clean("    ", f->note);
        (void)printf("\n");
    }
    for (uint64_t i = 0; i < f->n_schema; i++) {
        print_clean("    ", f->schema[i]);
        (void)printf("\n");
    }
    if (f->error != NULL) {
        print_clean(f->drift == LB_DRIFT_TORN ? "    " : "    cannot be read: ", f->error);
        (void)printf("\n");
    }
}

static void print_findings(const doctor_run *r)
{
    uint64_t most = r->c->out_terminal ? FINDINGS_ON_TERMINAL : UINT64_MAX, shown = 0;
    for (size_t i = 0; i < r->info.findings; i++) {
        const lb_finding *f = &r->findings[i];
        if (i == 0 || f->drift != r->findings[i - 1].drift)
            shown = 0;
        if (f->drift == LB_DRIFT_RACY)
            continue;
        if (shown == 0)
            (void)printf("%s:\n", words[f->drift].head);
        if (shown == most)
            (void)printf("  … and %s more; --json lists all\n", number_text(r->counts[f->drift] - most).s);
        if (shown < most)
            print_finding(f);
        shown++;
    }
    if (r->counts[LB_DRIFT_RACY] != 0)
        (void)printf("%s mapped within two seconds of a change: the contents were compared, and are equal\n",
                     plural_text(r->counts[LB_DRIFT_RACY], "file was", "files were").s);
}

/* The directory as a word of a shell's line. */
static char *shell_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%=";
    char *clean = clean_text(text), *out, *at;
    if (*clean != '\0' && strspn(clean, plain) == strlen(clean))
        return clean;
    at = out = cli_alloc(strlen(clean) * 4 + 3, 1);
    *at++ = '\'';
    for (const char *p = clean; *p != '\0'; p++) {
        if (*p == '\'') {
            memcpy(at, "'\\'", 3);
            at += 3;
        }
        *at++ = *p;
    }
    *at = '\'';
    free(clean);
    return out;
}

static void print_unseekable(const doctor_run *r)
{
    uint64_t n = r->info.unseekable, most = r->c->out_terminal ? FINDINGS_ON_TERMINAL : n;
    if (n == 0)
        return;
    (void)printf("compressed without restart points, so that every read begins at the start:\n");
    for (uint64_t i = 0; i < n && i < most; i++) {
        const lb_unseekable *u = &r->unseekable[i];
        char *path = clean_text(u->path);
        (void)printf("  %s  %s, %s of text in %s\n", path, u->container, size_text(u->text_bytes).s,
                     size_text(u->bytes).s);
        free(path);
    }
    if (n > most)
        (void)printf("  … and %s more; --json lists all\n", number_text(n - most).s);
    (void)printf("`lakebed slice FILE -o NEW.csv.zst` writes one anew with restart points\n");
}

/* What to type next, and why. */
static void print_next(const doctor_run *r)
{
    const lb_doctor_info *info = &r->info;
    char *dir = shell_word(r->dir);
    if (info->status == LB_DOCTOR_DRIFT && !info->had_map)
        (void)printf("to map it: lakebed map %s\n", dir);
    else if (info->status == LB_DOCTOR_DRIFT)
        (void)printf("to bring the map up to date: lakebed doctor %s --heal\n", dir);
    if (info->status == LB_DOCTOR_DRIFT && r->counts[LB_DRIFT_DAMAGED] != 0)
        (void)printf("healing takes damaged files as they are now; to keep the old contents, restore them first\n");
    if (info->status == LB_DOCTOR_HEALED && info->had_map)
        (void)printf("to take this back: lakebed doctor %s --undo\n", dir);
    if (info->status == LB_DOCTOR_HEALTHY && is_by_time(r) && info->total_files != 0)
        (void)printf("to compare contents as well: lakebed doctor %s --verify\n", dir);
    free(dir);
}

/* ---------------------------------------------------------------- for programs */

static bool is_modified(const lb_finding *f)
{
    switch (f->drift) {
    case LB_DRIFT_MODIFIED:
    case LB_DRIFT_APPENDED:
    case LB_DRIFT_TRUNCATED:
    case LB_DRIFT_REWRITTEN:
    case LB_DRIFT_TOUCHED:
    case LB_DRIFT_DAMAGED:
    case LB_DRIFT_UNREADABLE:
        return true;
    default:
        return false;
    }
}

static bool is_failed(const lb_finding *f)
{
    return f->error != NULL;
}

/* The path under which a list names a finding; NULL: it does not. */

static const char *modified_path(const lb_finding *f)
{
    return is_modified(f) ? f->path : NULL;
}

/* To readers who know the first seven keys alone, a renamed file is a new one, and one that is gone. */
static const char *unindexed_path(const lb_finding *f)
{
    return f->drift == LB_DRIFT_UNINDEXED || f->drift == LB_DRIFT_RENAMED ? f->path : NULL;
}

static const char *missing_path(const lb_finding *f)
{
    return f->drift == LB_DRIFT_MISSING ? f->path : f->was;
}

static const char *failed_path(const lb_finding *f)
{
    return is_failed(f) ? f->path : NULL;
}

static const char *racy_path(const lb_finding *f)
{
    return f->drift == LB_DRIFT_RACY ? f->path : NULL;
}

/* In the order of their bytes. */
static void json_paths(json_out *j, const doctor_run *r, const char *key, const char *(*path_of)(const lb_finding *f))
{
    const char **paths = cli_alloc((size_t)r->info.findings, sizeof *paths);
    size_t n = 0;
    for (size_t i = 0; i < r->info.findings; i++) {
        const char *path = path_of(&r->findings[i]);
        if (path != NULL)
            paths[n++] = path;
    }
    qsort(paths, n, sizeof *paths, text_order);
    jout_key(j, key);
    jout_open(j, '[');
    for (size_t i = 0; i < n; i++)
        jout_text(j, paths[i]);
    jout_close(j, ']');
    free(paths);
}

static void json_pair(json_out *j, const char *path, const char *key, const char *value)
{
    jout_open(j, '{');
    jput_text(j, "path", path);
    jout_key(j, key);
    jout_text(j, value);
    jout_close(j, '}');
}

static void json_renamed(json_out *j, const doctor_run *r)
{
    jout_key(j, "renamed_files");
    jout_open(j, '[');
    for (size_t i = 0; i < r->info.findings; i++)
        if (r->findings[i].was != NULL)
            json_pair(j, r->findings[i].path, "was", r->findings[i].was);
    jout_close(j, ']');
}

static int finding_order(const void *a, const void *b)
{
    return strcmp((*(const lb_finding *const *)a)->path, (*(const lb_finding *const *)b)->path);
}

static void json_errors(json_out *j, const doctor_run *r)
{
    const lb_finding **failed = cli_alloc((size_t)r->failed, sizeof *failed);
    size_t n = 0;
    for (size_t i = 0; i < r->info.findings; i++)
        if (is_failed(&r->findings[i]))
            failed[n++] = &r->findings[i];
    qsort(failed, n, sizeof *failed, finding_order);
    jout_key(j, "errors");
    jout_open(j, '[');
    for (size_t i = 0; i < n; i++)
        json_pair(j, failed[i]->path, "error", failed[i]->error);
    jout_close(j, ']');
    free(failed);
}

static void json_damage(json_out *j, const lb_damage *d)
{
    jout_open(j, '{');
    jput_count(j, "first_byte", d->first_byte);
    jput_count(j, "length", d->length);
    jput_known(j, "first_row", d->first_row);
    jput_known(j, "rows", d->rows);
    jout_close(j, '}');
}

static void json_finding(json_out *j, const lb_finding *f)
{
    jout_open(j, '{');
    jput_text(j, "path", f->path);
    jput_text(j, "drift", lb_drift_text(f->drift));
    jput_text(j, "was", f->was);
    jput_known(j, "old_bytes", f->old_bytes);
    jput_known(j, "new_bytes", f->new_bytes);
    jput_text(j, "error", f->error);
    jput_text(j, "note", f->note);
    jout_key(j, "damage");
    jout_open(j, '[');
    for (uint64_t i = 0; i < f->n_damage; i++)
        json_damage(j, &f->damage[i]);
    jout_close(j, ']');
    jout_key(j, "schema");
    jout_open(j, '[');
    for (uint64_t i = 0; i < f->n_schema; i++)
        jout_text(j, f->schema[i]);
    jout_close(j, ']');
    jout_close(j, '}');
}

static void json_unseekable(json_out *j, const doctor_run *r)
{
    jout_key(j, "unseekable_files");
    jout_open(j, '[');
    for (uint64_t i = 0; i < r->info.unseekable; i++) {
        jout_open(j, '{');
        jput_text(j, "path", r->unseekable[i].path);
        jput_text(j, "container", r->unseekable[i].container);
        jput_count(j, "bytes", r->unseekable[i].bytes);
        jput_count(j, "text_bytes", r->unseekable[i].text_bytes);
        jout_close(j, '}');
    }
    jout_close(j, ']');
}

/* The first seven keys, and their order, are an agreement with other readers of the report. */
static void json_report(const doctor_run *r)
{
    const lb_doctor_info *info = &r->info;
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    jput_text(&j, "status", lb_doctor_status_text(info->status));
    jput_count(&j, "total_files", info->total_files);
    jput_count(&j, "healthy_count", info->healthy);
    json_paths(&j, r, "modified_files", modified_path);
    json_paths(&j, r, "unindexed_files", unindexed_path);
    json_paths(&j, r, "missing_files", missing_path);
    jput_bool(&j, "healed", info->healed);
    jput_text(&j, "map_path", info->map_path);
    jput_known(&j, "map_schema", info->had_map ? info->map_schema : -1);
    jput_count(&j, "bytes_hashed", info->bytes_hashed);
    jput_count(&j, "bytes_surveyed", info->bytes_surveyed);
    jput_real(&j, "elapsed_ms", (double)info->elapsed_ns / 1e6);
    json_renamed(&j, r);
    json_paths(&j, r, "unreadable_files", failed_path);
    json_paths(&j, r, "racy_files", racy_path);
    json_unseekable(&j, r);
    json_errors(&j, r);
    jout_key(&j, "findings");
    jout_open(&j, '[');
    for (size_t i = 0; i < info->findings; i++)
        json_finding(&j, &r->findings[i]);
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
}

/* ---------------------------------------------------------------- the verb */

static int doctor_undo(cli *c, const char *dir)
{
    lb_error err = LB_ERROR_INIT;
    if (lb_doctor_undo(c->cx, dir, &err) != LB_OK)
        return report_error(c, &err);
    if (args_has(c, OPT_JSON)) {
        json_out j = { .file = stdout };
        jout_open(&j, '{');
        jput_bool(&j, "undone", true);
        jout_close(&j, '}');
        jout_end(&j);
    } else if (!args_has(c, OPT_QUIET)) {
        char *word = shell_word(dir);
        (void)printf("the former map is back\nto take this back: lakebed doctor %s --undo\n", word);
        free(word);
    }
    return EXIT_DONE;
}

static int doctor_tell(doctor_run *r)
{
    if (args_has(r->c, OPT_JSON)) {
        json_report(r);
    } else if (!args_has(r->c, OPT_QUIET)) {
        print_status(r);
        print_findings(r);
        print_unseekable(r);
        print_next(r);
    }
    return r->info.status == LB_DOCTOR_DRIFT || r->counts[LB_DRIFT_TORN] != 0 || (r->info.healed && r->failed != 0)
               ? EXIT_FINDING
               : EXIT_DONE;
}

int verb_doctor(cli *c)
{
    lb_error err = LB_ERROR_INIT;
    lb_doctor_options options;
    lb_doctor_report *report = NULL;
    doctor_run r = { .c = c, .dir = c->args.operands.items[0] };
    int result = doctor_options(c, &options);
    if (result != EXIT_DONE)
        return result;
    r.verify = options.verify;
    if (args_has(c, OPT_UNDO))
        return doctor_undo(c, r.dir);
    lb_status status = lb_doctor(c->cx, r.dir, &options, &report, &err);
    progress_end(c);
    if (status == LB_OK)
        status = collect(&r, report, &err);
    result = status == LB_OK ? doctor_tell(&r) : report_error(c, &err);
    free(r.findings);
    free(r.unseekable);
    lb_doctor_report_free(report);
    return result;
}
