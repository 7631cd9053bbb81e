/* Maps of any number of entries, made by the library's own writer from entries that exist nowhere else, and how long it
 * takes to open them and to find something. Built by the target lakebed_bench_map.
 *
 *   bench_map make DIR ENTRIES       writes DIR/.br_map.bazan; file i has 1 + i % 1000 rows in one block
 *   bench_map ask DIR LOOKUPS        prints seconds of processor time: of opening, of the first look-up, then of each of
 *                                    LOOKUPS rows and of paths, in random order; every answer is checked */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/number.h"
#include "base/path.h"
#include "column/ipc.h"
#include "io/save.h"
#include "lake/map.h"

#define ROWS_TURN 1000
#define ROWS_OF_TURN ((uint64_t)ROWS_TURN * (ROWS_TURN + 1) / 2)
#define FILES_A_FOLDER 1000
#define PATH_TEXT 64

typedef struct made {
    lb_str schema;
} made;

static void path_of(uint64_t i, char *out)
{
    (void)snprintf(out, PATH_TEXT, "year/%08" PRIu64 "/part-%04u.csv", i / FILES_A_FOLDER,
                   (unsigned)(i % FILES_A_FOLDER));
}

static uint64_t rows_of(uint64_t i)
{
    return 1 + i % ROWS_TURN;
}

static uint64_t first_row_of(uint64_t i)
{
    uint64_t k = i % ROWS_TURN;
    return i / ROWS_TURN * ROWS_OF_TURN + k * (k + 1) / 2;
}

/* ---------------------------------------------------------------- making */

static lb_status make_entry(void *user, uint64_t i, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const made *m = user;
    static const uint64_t zero, one = 1;
    char *path = lb_arena_alloc(arena, PATH_TEXT, 1);
    uint64_t *numbers = lb_arena_alloc(arena, 3, sizeof *numbers);
    uint8_t *digest = lb_arena_alloc(arena, 16, 1);

    if (path == NULL || numbers == NULL || digest == NULL)
        return lb_arena_fail(arena, err);
    path_of(i, path);
    memcpy(digest, &i, sizeof i);
    numbers[0] = rows_of(i);
    numbers[1] = numbers[0] * 20;
    numbers[2] = i * 0x9E3779B97F4A7C15;
    *out = (lb_entry){ .rel_path = lb_str_of(path),
                       .size_bytes = numbers[1],
                       .mtime_ns = 1600000000000000000,
                       .ctime_ns = 1600000000000000000,
                       .inspected_ns = 1700000000000000000,
                       .verified_ns = INT64_MIN,
                       .total_rows = numbers[0],
                       .format = LB_STR("csv"),
                       .locator = LB_STR("record"),
                       .arrow_schema = m->schema,
                       .has_dialect = true,
                       .dialect = { LB_STR(","), '"', -1, true, LB_STR(""), false, 0, 0, -1, -1 } };
    out->blocks = (lb_blocks){ .count = 1,
                               .first_row = &zero,
                               .row_count = &numbers[0],
                               .first_byte = &zero,
                               .total_byte_size = &numbers[1],
                               .compressed_size = &zero,
                               .first_line = &one,
                               .start_hash = &numbers[2] };
    out->digests = (lb_digests){ .count = 1, .first_byte = &zero, .length = &numbers[1], .xxh3 = digest };
    return LB_OK;
}

static lb_status make_schema(lb_buf *out, lb_error *err)
{
    struct ArrowSchema schema;

    LB_TRY(lb_schema_struct(&schema, 1, err));
    schema.children[0]->release(schema.children[0]);
    lb_status status = lb_type_of_words("int64", schema.children[0], err);
    if (status == LB_OK)
        status = lb_schema_set_name(schema.children[0], LB_STR("id"), err);
    if (status == LB_OK)
        status = lb_ipc_encode_schema(&schema, out, err);
    schema.release(&schema);
    return status;
}

static lb_status make_map(lb_context *cx, const char *dir, uint64_t count, lb_error *err)
{
    const lb_map_header header = { .writer = LB_STR("bench_map") };
    lb_saver *saver = NULL;
    lb_arena arena;
    lb_buf schema;

    lb_arena_init(&arena, NULL);
    lb_buf_init(&schema, NULL);
    lb_status status = make_schema(&schema, err);
    made m = { .schema = { (const char *)schema.data, schema.size } };
    const lb_entry_source entries = { .count = count, .get = make_entry, .user = &m };
    if (status == LB_OK)
        status = lb_saver_open_as(cx, lb_path_join(&arena, dir, LB_MAP_NAME), NULL, &saver, err);
    if (status == LB_OK)
        status = lb_map_write(&header, &entries, true, 0, lb_saver_write, saver, err);
    if (status == LB_OK)
        status = lb_saver_commit(saver, err);
    else if (saver != NULL)
        lb_saver_discard(saver);
    lb_buf_free(&schema);
    lb_arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- asking */

static uint64_t state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1D >> 11;
}

/* Processor time: what else the machine does is left out. */
static int64_t cpu_ns(void)
{
    struct timespec now = { 0, 0 };

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double since(int64_t began, uint64_t n)
{
    return (double)(cpu_ns() - began) / 1e9 / (double)n;
}

static lb_status wrong(const char *what, uint64_t i, lb_error *err)
{
    return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "%s of entry %" PRIu64 " is wrong", what, i);
}

/* Rows of files picked at random; `files` of them, asked for `n` times. */
static lb_status ask_rows(const lb_map *map, const uint64_t *files, uint64_t n, double *out, lb_error *err)
{
    int64_t began = cpu_ns();

    for (uint64_t k = 0; k < n; k++) {
        lb_place place = { .struct_size = sizeof place };
        uint64_t i = files[k], row = k % rows_of(i);
        LB_TRY(lb_map_locate(map, first_row_of(i) + row, &place, err));
        if (place.entry != i || place.file_row != row || place.block != 0)
            return wrong("a row", i, err);
    }
    *out = since(began, n);
    return LB_OK;
}

static lb_status ask_paths(const lb_map *map, const uint64_t *files, char (*paths)[PATH_TEXT], uint64_t n, double *out,
                           lb_error *err)
{
    int64_t began = cpu_ns();

    for (uint64_t k = 0; k < n; k++) {
        uint64_t index = 0;
        LB_TRY(lb_map_find(map, paths[k], &index, err));
        if (index != files[k])
            return wrong("the path", files[k], err);
    }
    *out = since(began, n);
    return LB_OK;
}

static lb_status ask_all(const lb_map *map, uint64_t n, lb_error *err)
{
    lb_map_info info = { .struct_size = sizeof info };
    uint64_t *files = calloc(n, sizeof *files);
    char(*paths)[PATH_TEXT] = calloc(n, sizeof *paths);
    double first = 0, rows = 0, by_path = 0, warm;

    lb_status status = files == NULL || paths == NULL ? lb_fail_nomem(err) : lb_map_get_info(map, &info, err);
    for (uint64_t k = 0; status == LB_OK && k < n; k++) {
        files[k] = next_random() % info.files;
        path_of(files[k], paths[k]);
    }
    if (status == LB_OK)
        status = ask_rows(map, files, 1, &first, err);
    /* The same rows twice: the first round brings the map's pages in. */
    if (status == LB_OK)
        status = ask_rows(map, files, n, &warm, err);
    if (status == LB_OK)
        status = ask_rows(map, files, n, &rows, err);
    if (status == LB_OK)
        status = ask_paths(map, files, paths, n, &warm, err);
    if (status == LB_OK)
        status = ask_paths(map, files, paths, n, &by_path, err);
    if (status == LB_OK)
        (void)printf(" %.9f %.9f %.9f\n", first, rows, by_path);
    free(files);
    free(paths);
    return status;
}

static lb_status ask(lb_context *cx, const char *dir, uint64_t n, lb_error *err)
{
    lb_map *map = NULL;
    int64_t began = cpu_ns();

    LB_TRY(lb_map_open(cx, dir, &map, err));
    (void)printf("%.9f", since(began, 1));
    lb_status status = ask_all(map, n, err);
    lb_map_close(map);
    return status;
}

int main(int argc, char **argv)
{
    lb_error err = LB_ERROR_INIT;
    lb_context *cx = NULL;
    uint64_t n = 0;
    bool asks = argc == 4 && strcmp(argv[1], "ask") == 0, makes = argc == 4 && strcmp(argv[1], "make") == 0;

    if ((!asks && !makes) || !lb_parse_uint64(argv[3], strlen(argv[3]), &n) || n == 0 || n > UINT64_C(1) << 32) {
        (void)fprintf(stderr, "usage: bench_map make DIR ENTRIES | bench_map ask DIR LOOKUPS\n");
        return 2;
    }
    lb_status status = lb_context_new(NULL, &cx, &err);
    if (status == LB_OK)
        status = makes ? make_map(cx, argv[2], n, &err) : ask(cx, argv[2], n, &err);
    if (status != LB_OK)
        (void)fprintf(stderr, "bench_map: %s\n", err.message);
    lb_context_free(cx);
    return status == LB_OK ? 0 : 1;
}
