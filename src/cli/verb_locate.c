/* lakebed locate: where rows lie, from the map alone. */
#include "cli.h"
#include "json_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct locate_rows {
    size_t count;
    uint64_t *row;
    lb_place *place;
} locate_rows;

static int parse_rows(cli *c, locate_rows *rows)
{
    const cli_list *operands = &c->args.operands;
    rows->count = operands->count - 1;
    rows->row = cli_alloc(rows->count, sizeof *rows->row);
    rows->place = cli_alloc(rows->count, sizeof *rows->place);
    for (size_t i = 0; i < rows->count; i++)
        if (!args_parse_number(operands->items[i + 1], &rows->row[i]))
            return report_usage(c, "a row is a whole number from 0 to 9223372036854775807, not \"%s\"",
                                operands->items[i + 1]);
    return EXIT_DONE;
}

/* The file as named, or, where the map has no such file, without the directory that people put before it. */
static const char *file_in_map(const cli *c, const lb_map *map)
{
    const char *dir = c->args.operands.items[0], *file = args_text(c, OPT_FILE, NULL);
    uint64_t index;
    size_t n = strlen(dir);
    if (file == NULL || lb_map_find(map, file, &index, NULL) == LB_OK)
        return file;
    while (n > 0 && dir[n - 1] == '/')
        n--;
    if (strncmp(file, dir, n) == 0 && file[n] == '/' && lb_map_find(map, file + n + 1, &index, NULL) == LB_OK)
        return file + n + 1;
    return file;
}

static int locate_all(cli *c, const lb_map *map, locate_rows *rows)
{
    lb_error err = LB_ERROR_INIT;
    const char *file = file_in_map(c, map);
    for (size_t i = 0; i < rows->count; i++) {
        lb_place *place = &rows->place[i];
        place->struct_size = sizeof *place;
        lb_status status = file == NULL ? lb_map_locate(map, rows->row[i], place, &err)
                                        : lb_map_locate_in(map, file, rows->row[i], place, &err);
        if (status != LB_OK)
            return report_error(c, &err);
    }
    return EXIT_DONE;
}

/* The line of the row itself: known where the row is its block's first. */
static int64_t place_line(const lb_place *place)
{
    return place->row_in_block == 0 ? place->block_first_line : -1;
}

static void print_json(const locate_rows *rows)
{
    json_out j = { .file = stdout };
    jout_open(&j, '{');
    jout_key(&j, "rows");
    jout_open(&j, '[');
    for (size_t i = 0; i < rows->count; i++) {
        const lb_place *place = &rows->place[i];
        const struct {
            const char *key;
            int64_t value;
        } known[] = {
            { "line", place_line(place) },
            { "block", place->block },
            { "row_in_block", place->row_in_block },
            { "block_first_row", place->block_first_row },
            { "block_rows", place->block_rows },
            { "block_first_line", place->block_first_line },
            { "block_first_byte", place->block_first_byte },
            { "block_bytes", place->block_bytes },
        };
        jout_open(&j, '{');
        jput_count(&j, "row", place->global_row);
        jput_text(&j, "path", place->path);
        jput_count(&j, "file_row", place->file_row);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            jput_known(&j, known[k].key, known[k].value);
        }
        jput_bool(&j, "page_indexed", place->page_indexed);
        jout_close(&j, '}');
    }
    jout_close(&j, ']');
    jout_close(&j, '}');
    jout_end(&j);
}

static void add_known(grid *g, int64_t n)
{
    char text[24] = "";
    if (n >= 0)
        (void)snprintf(text, sizeof text, "%" PRId64, n);
    grid_add(g, n < 0 ? "-" : text);
}

static void add_bytes(grid *g, const lb_place *place)
{
    char text[64] = "-";
    if (place->block_first_byte >= 0 && place->block_bytes > 0)
        (void)snprintf(text, sizeof text, "%" PRId64 "-%" PRId64, place->block_first_byte,
                       place->block_first_byte + (place->block_bytes - 1));
    grid_add(g, text);
}

static void print_people(const locate_rows *rows)
{
    grid *g = grid_new(">row|file|>file row|>line|>block|>row in block|block's bytes|>block's first line");
    for (size_t i = 0; i < rows->count; i++) {
        const lb_place *place = &rows->place[i];
        add_known(g, (int64_t)place->global_row);
        grid_add(g, place->path);
        add_known(g, (int64_t)place->file_row);
        add_known(g, place_line(place));
        add_known(g, place->block);
        add_known(g, place->row_in_block);
        add_bytes(g, place);
        add_known(g, place->block_first_line);
    }
    grid_print(g, "");
    grid_free(g);
}

/* No map stands in `path`. If one above it tells of what lies there, that is the one to ask. */
static void hint_map_above(const char *path, lb_error *err)
{
    struct stat st;
    char *real = realpath(path, NULL), *dir = real == NULL ? NULL : cli_format("%s", real), *slash;
    bool folder = real != NULL && stat(real, &st) == 0 && S_ISDIR(st.st_mode), found = false;
    while (dir != NULL && !found && (slash = strrchr(dir, '/')) != NULL) {
        *slash = '\0';
        char *map = cli_format("%s/.br_map.bazan", dir);
        found = access(map, F_OK) == 0;
        free(map);
    }
    if (found && folder)
        (void)snprintf(err->hint, sizeof err->hint, "the map above it, in %.200s, tells of its rows", dir);
    else if (found)
        (void)snprintf(err->hint, sizeof err->hint, "a file is named by: lakebed locate %.100s --file %.100s", dir,
                       real + strlen(dir) + 1);
    else if (!folder)
        (void)snprintf(err->hint, sizeof err->hint, "name a mapped directory, and the file by --file");
    free(dir);
    free(real);
}

int verb_locate(cli *c)
{
    const char *dir = c->args.operands.items[0];
    lb_error err = LB_ERROR_INIT;
    locate_rows rows = { 0 };
    lb_map *map = NULL;
    int result = parse_rows(c, &rows);
    if (result != EXIT_DONE)
        goto done;
    lb_status status = lb_map_open(c->cx, dir, &map, &err);
    if (status != LB_OK) {
        if (access(dir, F_OK) != 0)
            err.hint[0] = '\0';
        else if (status == LB_NOTFOUND || status == LB_IO)
            hint_map_above(dir, &err);
        result = report_error(c, &err);
        goto done;
    }
    result = locate_all(c, map, &rows);
    if (result != EXIT_DONE)
        goto done;
    if (args_has(c, OPT_JSON))
        print_json(&rows);
    else
        print_people(&rows);
done:
    lb_map_close(map);
    free(rows.row);
    free(rows.place);
    return result;
}
