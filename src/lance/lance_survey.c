/* What a map keeps of a dataset: rows, fragments as blocks, and statistics, for which the live rows are read once. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/pool.h"
#include "column/array_stats.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "lance/dataset_store.h"
#include "lance/lance_format.h"

/* ---------------------------------------------------------------- blocks */

/* Size of a data file. Manifests of before release 0.27 do not say it: the file is asked, and 0 stands for one that is not there, for
 * reading it will say so. */
static uint64_t survey_file_bytes(const lb_lance_set *set, const lb_lance_data_file *file)
{
    lb_str name = lb_lance_str(file->path);
    struct stat st = { .st_size = 0 };
    lb_arena arena;

    if (file->file_size_bytes != 0)
        return file->file_size_bytes;
    lb_arena_init(&arena, NULL);
    const char *copy = lb_arena_copy(&arena, name), *dir = lb_path_join(&arena, set->store->path, "data"),
               *path = copy == NULL || dir == NULL ? NULL : lb_path_join(&arena, dir, copy);
    if (path == NULL || stat(path, &st) != 0)
        st.st_size = 0;
    lb_arena_free(&arena);
    return (uint64_t)st.st_size;
}

static uint64_t survey_bytes(const lb_lance_set *set, const lb_lance_rows_of *f)
{
    uint64_t bytes = 0;

    for (size_t i = 0; !set->single && i < f->pb->n_files; i++)
        (void)__builtin_add_overflow(bytes, survey_file_bytes(set, f->pb->files[i]), &bytes);
    return set->single ? set->store->size : bytes;
}

static lb_status survey_blocks(const lb_lance_set *set, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_block_builder b;

    lb_block_builder_init(&b, &set->cx->budget);
    lb_status status = LB_OK;
    for (size_t i = 0, n = atomic_load(&set->reached); status == LB_OK && i < n; i++) {
        const lb_lance_rows_of *f = &set->fragments[i];
        uint64_t bytes = survey_bytes(set, f);
        const lb_block block = { .first_row = f->first,
                                 .row_count = f->rows - f->deleted,
                                 .first_byte = UINT64_MAX,
                                 .total_byte_size = bytes,
                                 .compressed_size = bytes,
                                 .first_line = UINT64_MAX,
                                 .start_hash = UINT64_MAX };
        if (block.row_count != 0)
            status = lb_block_builder_add(&b, &block, err);
    }
    if (status != LB_OK) {
        lb_block_builder_free(&b);
        return status;
    }
    return lb_block_builder_finish(&b, arena, &out->blocks, err);
}

/* ---------------------------------------------------------------- statistics */

typedef struct survey {
    lb_lance_set *set;
    const lb_survey_options *options;
    const struct ArrowSchema *schema;
    lb_arena *arena;
    lb_entry *out;
    uint64_t *columns; /* all of them */
    lb_array_stats *whole;
    uint32_t *of_block, *of_column;
    pthread_mutex_t lock; /* of whole and the arena */
} survey;

static bool survey_wants(void *user, const char *path, uint64_t column)
{
    const survey *s = user;
    const char *const *names = s->options->stats_columns;
    (void)column;

    if (s->options->stats != LB_STATS_NAMED)
        return true;
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, path) == 0)
            return true;
    return false;
}

/* Live rows [first, first + count) into `stats`. */
static lb_status survey_rows(const survey *s, uint64_t first, uint64_t count, lb_array_stats *stats, lb_error *err)
{
    const lb_lance_scan scan = {
        .first = first, .count = count, .n_columns = s->set->n_columns, .columns = s->columns
    };
    struct ArrowArrayStream stream;

    LB_TRY(lb_lance_set_scan(s->set, &scan, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_array_stats_add(stats, s->schema, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return status;
}

static lb_status survey_keep_block(survey *s, size_t block, const lb_array_stats *stats, lb_error *err)
{
    size_t n = lb_array_stats_count(stats), at = block * n;

    for (size_t i = 0; i < n; i++)
        s->of_block[at + i] = (uint32_t)block;
    return lb_array_stats_finish(stats, s->arena, &s->out->block_columns.items[at], &s->of_column[at], err);
}

static lb_status survey_block(void *user, size_t block, lb_error *err)
{
    survey *s = user;
    const lb_blocks *b = &s->out->blocks;
    lb_array_stats *stats = NULL;

    LB_TRY(lb_array_stats_new(s->schema, survey_wants, s, &s->set->cx->budget, &stats, err));
    lb_status status = survey_rows(s, b->first_row[block], b->row_count[block], stats, err);
    if (status == LB_OK) {
        pthread_mutex_lock(&s->lock);
        lb_array_stats_merge(s->whole, stats);
        if (s->options->stats == LB_STATS_BLOCKS)
            status = survey_keep_block(s, block, stats, err);
        pthread_mutex_unlock(&s->lock);
    }
    lb_array_stats_free(stats);
    return status;
}

static lb_status survey_read(survey *s, lb_error *err)
{
    size_t blocks = (size_t)s->out->blocks.count, n, all;

    s->columns = calloc(s->set->n_columns + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < s->set->n_columns; i++)
        s->columns[i] = i;
    LB_TRY(lb_array_stats_new(s->schema, survey_wants, s, &s->set->cx->budget, &s->whole, err));
    n = lb_array_stats_count(s->whole);
    if (s->options->stats == LB_STATS_BLOCKS) {
        if (!lb_mul_size(n, blocks, &all))
            return lb_fail_nomem(err);
        s->of_block = lb_arena_alloc(s->arena, all, sizeof *s->of_block);
        s->of_column = lb_arena_alloc(s->arena, all, sizeof *s->of_column);
        s->out->block_columns.items = lb_arena_alloc(s->arena, all, sizeof *s->out->block_columns.items);
        if (s->of_block == NULL || s->of_column == NULL || s->out->block_columns.items == NULL)
            return lb_arena_fail(s->arena, err);
        s->out->block_columns.count = all;
        s->out->block_of_column = s->of_block;
        s->out->column_of_column = s->of_column;
    }
    if (n != 0)
        LB_TRY(lb_run_jobs(s->set->cx, blocks, survey_block, s, err));
    s->out->columns.items = lb_arena_alloc(s->arena, n, sizeof *s->out->columns.items);
    if (s->out->columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    s->out->columns.count = n;
    return lb_array_stats_finish(s->whole, s->arena, s->out->columns.items, NULL, err);
}

static lb_status survey_stats(lb_lance_set *set, const lb_survey_options *options, const struct ArrowSchema *schema,
                              lb_arena *arena, lb_entry *out, lb_error *err)
{
    survey s = { .set = set, .options = options, .schema = schema, .arena = arena, .out = out };

    if (options->stats == LB_STATS_OFF)
        return LB_OK;
    pthread_mutex_init(&s.lock, NULL);
    lb_status status = survey_read(&s, err);
    lb_array_stats_free(s.whole);
    pthread_mutex_destroy(&s.lock);
    free(s.columns);
    return status;
}

/* ---------------------------------------------------------------- all of it */

static lb_status survey_schema(const struct ArrowSchema *schema, lb_budget *budget, lb_arena *arena, lb_entry *out,
                               lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, budget);
    lb_status status = lb_ipc_encode_schema(schema, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

lb_status lb_lance_survey(lb_lance_set *set, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    out->total_rows = atomic_load(&set->rows);
    LB_TRY(survey_schema(&set->schema, &set->cx->budget, arena, out, err));
    LB_TRY(survey_blocks(set, arena, out, err));
    return survey_stats(set, o, &set->schema, arena, out, err);
}
