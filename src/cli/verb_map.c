/* lakebed map: build, save and report. */
#include "cli.h"
#include "json_out.h"

#include <stdlib.h>
#include <string.h>

static void map_options(const cli *c, lb_map_options *out)
{
    *out = (lb_map_options){
        .struct_size = sizeof *out,
        .stride = args_number(c, OPT_STRIDE, 0),
        .fingerprint = strcmp(args_text(c, OPT_FINGERPRINT, "metadata"), "blake3") == 0 ? LB_FINGERPRINT_BLAKE3
                                                                                        : LB_FINGERPRINT_METADATA,
        .stats = args_text(c, OPT_STATS, NULL),
        .record_errors = strcmp(args_text(c, OPT_ON_ERROR, "record"), "record") == 0,
        .hidden = args_has(c, OPT_HIDDEN),
        .no_compressed = args_has(c, OPT_NO_COMPRESSED),
        .by_products = args_has(c, OPT_BY_PRODUCTS),
        .detect = args_has(c, OPT_DETECT),
        .interop_full = strcmp(args_text(c, OPT_INTEROP, "lean"), "full") == 0,
        .pages = args_has(c, OPT_PAGES),
        .include = c->args.given[OPT_INCLUDE].items,
        .exclude = c->args.given[OPT_EXCLUDE].items,
        .read = c->args.read,
        .set = c->args.given[OPT_SET].items,
    };
}

static char *map_path(const char *dir)
{
    size_t n = strlen(dir);
    return cli_format("%s%s.br_map.bazan", dir, n != 0 && dir[n - 1] == '/' ? "" : "/");
}

/* Call `each` for every entry that has an error. */
static lb_status map_failures(const lb_map *map, const lb_map_info *info, lb_error *err,
                              void (*each)(void *user, const lb_entry_info *entry), void *user)
{
    uint64_t index = 0;
    for (uint64_t i = 0; i < info->failed; i++, index++) {
        lb_entry_info entry = { .struct_size = sizeof entry };
        lb_status status = lb_map_next_failed(map, index, &index, err);
        if (status == LB_OK)
            status = lb_map_entry(map, index, &entry, err);
        if (status != LB_OK)
            return status;
        each(user, &entry);
    }
    return LB_OK;
}

static void failure_json(void *user, const lb_entry_info *entry)
{
    json_out *j = user;
    jout_open(j, '{');
    jput_text(j, "path", entry->path);
    jput_text(j, "error", entry->error);
    jout_close(j, '}');
}

typedef struct failure_lines {
    cli *c;
    const char *dir, *slash;
    bool torn;       /* tell of those whose rows before the end are there, or of the others */
    uint64_t n_torn; /* how many of those there are */
} failure_lines;

static void failure_count(void *user, const lb_entry_info *entry)
{
    failure_lines *f = user;
    f->n_torn += entry->rows != 0;
}

static void failure_line(void *user, const lb_entry_info *entry)
{
    failure_lines *f = user;
    if (f->torn != (entry->rows != 0))
        return;
    report_line(f->c, "%s%s%s: %s", f->dir, f->slash, entry->path, entry->error);
}

static lb_status report_json(const lb_map *map, const lb_map_info *info, const char *path, double seconds,
                             lb_error *err)
{
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    jput_text(&j, "map", path);
    jput_count(&j, "files", info->files);
    jput_count(&j, "rows", info->rows);
    jput_count(&j, "bytes", info->bytes);
    jput_count(&j, "map_bytes", info->file_bytes);
    jput_count(&j, "stride", info->stride);
    jput_text(&j, "fingerprint", info->fingerprint == LB_FINGERPRINT_BLAKE3 ? "blake3" : "metadata");
    jput_real(&j, "seconds", seconds);
    jput_count(&j, "failed", info->failed);
    jout_key(&j, "failures");
    jout_open(&j, '[');
    lb_status status = map_failures(map, info, err, failure_json, &j);
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
    return status;
}

static lb_status report_people(cli *c, const lb_map *map, const lb_map_info *info, const char *path, double seconds,
                               lb_error *err)
{
    const char *dir = c->args.operands.items[0];
    failure_lines lines = { .c = c, .dir = dir, .slash = *dir != '\0' && dir[strlen(dir) - 1] == '/' ? "" : "/" };
    if (!args_has(c, OPT_QUIET)) {
        char *clean = clean_text(path);
        (void)printf("%s, %s, %s in %.2f s", plural_text(info->files, "file", "files").s,
                     plural_text(info->rows, "row", "rows").s, size_text(info->bytes).s, seconds);
        if (seconds > 0.001)
            (void)printf(" (%s/s)", size_text((uint64_t)((double)info->bytes / seconds)).s);
        (void)printf("\nmap: %s, %s\n", clean, size_text(info->file_bytes).s);
        free(clean);
    }
    lb_status status = map_failures(map, info, err, failure_count, &lines);
    const uint64_t failed = info->failed - lines.n_torn;
    if (failed != 0)
        report_line(c, "%s could not be read and %s no rows in the map:", plural_text(failed, "file", "files").s,
                    failed == 1 ? "has" : "have");
    if (status == LB_OK)
        status = map_failures(map, info, err, failure_line, &lines);
    lines.torn = true;
    if (lines.n_torn != 0)
        report_line(c, "%s inside a record; the rows before it are in the map:",
                    plural_text(lines.n_torn, "file ends", "files end").s);
    if (status == LB_OK)
        status = map_failures(map, info, err, failure_line, &lines);
    if (status == LB_OK && failed != 0)
        report_line(c, "an option for some files only is set by a glob: --set 'GLOB:NAME=VALUE,…'");
    return status;
}

int verb_map(cli *c)
{
    const char *dir = c->args.operands.items[0];
    lb_error err = LB_ERROR_INIT;
    lb_map_options options;
    lb_map_info info = { .struct_size = sizeof info };
    lb_map *map = NULL;
    char *path = map_path(dir);
    double started = clock_seconds();
    int result;
    map_options(c, &options);
    lb_status status = lb_map_create(c->cx, dir, &options, &map, &err);
    double seconds = clock_seconds() - started;
    progress_end(c);
    if (status == LB_OK)
        status = lb_map_get_info(map, &info, &err);
    if (status == LB_OK)
        status = args_has(c, OPT_JSON) ? report_json(map, &info, path, seconds, &err)
                                       : report_people(c, map, &info, path, seconds, &err);
    result = status != LB_OK ? report_error(c, &err) : info.failed != 0 ? EXIT_FINDING : EXIT_DONE;
    lb_map_close(map);
    free(path);
    return result;
}
