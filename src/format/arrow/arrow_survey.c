/* What a map keeps of an Arrow file. Rows and blocks come of the batches' heads; statistics of one pass over the values, a batch a
 * thread. */
#include <stdlib.h>

#include "base/pool.h"
#include "column/array_stats.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "format/arrow/arrow.h"

typedef struct survey {
    lb_reader *r;
    const lb_survey_options *options;
    lb_arena *arena;
    lb_entry *out;
    struct ArrowSchema schema; /* of the columns with statistics */
    lb_wanted *columns;
    size_t n_columns;
    lb_array_stats *whole;
    uint32_t *of_block, *of_column;
    pthread_mutex_t lock; /* of whole and the arena */
    size_t known;         /* blocks whose statistics are there already */
    bool other;           /* … but for others than are asked for now */
    lb_buf bounds;        /* long ones (column/array_stats.h) */
} survey;

/* ---------------------------------------------------------------- which columns */

/* Is a leaf asked for? */
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

/* Might some leaf of a column be asked for? */
static bool survey_may_want(const survey *s, const char *name)
{
    const char *const *names = s->options->stats_columns;
    size_t size = strlen(name);

    if (s->options->stats != LB_STATS_NAMED)
        return true;
    for (; names != NULL && *names != NULL; names++)
        if (strncmp(*names, name, size) == 0 && ((*names)[size] == '\0' || (*names)[size] == '.'))
            return true;
    return false;
}

static lb_status survey_columns(survey *s, lb_error *err)
{
    const lb_arrow_schema *all = &s->r->schema;

    s->columns = calloc((size_t)all->n_columns + 1, sizeof *s->columns);
    if (s->columns == NULL)
        return lb_fail_nomem(err);
    for (uint32_t i = 0; i < all->n_columns; i++)
        if (survey_may_want(s, all->columns[i].name))
            s->columns[s->n_columns++].column = i;
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)s->n_columns, err));
    for (size_t i = 0; i < s->n_columns; i++) {
        struct ArrowSchema *field = s->schema.children[i];
        if (field->release != NULL)
            field->release(field);
        LB_TRY(lb_schema_copy(all->plain.children[s->columns[i].column], field, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- values */

static lb_status survey_rows(const survey *s, size_t block, lb_array_stats *stats, lb_error *err)
{
    const lb_blocks *b = &s->out->blocks;
    const lb_range range = {
        .first = b->first_row[block], .count = b->row_count[block], .n_columns = s->n_columns, .columns = s->columns
    };
    struct ArrowArrayStream stream;

    LB_TRY(lb_arrow_scan_blocks(s->r, b, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_array_stats_add(stats, &s->schema, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return status;
}

static lb_status survey_keep_block(survey *s, size_t block, const lb_array_stats *stats, lb_error *err)
{
    size_t n = lb_array_stats_count(stats), at = block * n;

    LB_TRY(lb_array_stats_finish(stats, s->arena, &s->out->block_columns.items[at], &s->of_column[at], err));
    for (size_t i = 0; i < n; i++) {
        s->of_block[at + i] = (uint32_t)block;
        s->of_column[at + i] = (uint32_t)s->columns[s->of_column[at + i]].column;
    }
    return LB_OK;
}

static lb_status survey_block(void *user, size_t job, lb_error *err)
{
    survey *s = user;
    const size_t block = s->known + job;
    lb_array_stats *stats = NULL;

    LB_TRY(lb_array_stats_new(&s->schema, survey_wants, s, &s->r->cx->budget, &stats, err));
    lb_status status = survey_rows(s, block, stats, err);
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

static lb_status survey_make_blocks(survey *s, size_t n, lb_error *err)
{
    size_t all;

    if (!lb_mul_size(n, (size_t)s->out->blocks.count, &all))
        return lb_fail_nomem(err);
    s->of_block = lb_arena_alloc(s->arena, all, sizeof *s->of_block);
    s->of_column = lb_arena_alloc(s->arena, all, sizeof *s->of_column);
    s->out->block_columns.items = lb_arena_alloc(s->arena, all, sizeof *s->out->block_columns.items);
    if (s->of_block == NULL || s->of_column == NULL || s->out->block_columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    s->out->block_columns.count = all;
    s->out->block_of_column = s->of_block;
    s->out->column_of_column = s->of_column;
    return LB_OK;
}

/* What the entry of a file that grew has of its blocks; s->other: not what is asked for. */
static void survey_resume(survey *s, size_t n)
{
    const lb_entry *known = s->r->known;
    const size_t all = s->known * n;

    s->other = !lb_array_stats_resume(s->whole, &known->columns, lb_arrow_state_bounds(known->open_state));
    if (s->options->stats != LB_STATS_BLOCKS || s->other)
        return;
    s->other = known->block_columns.count != all;
    for (size_t i = 0; !s->other && i < all; i++) {
        s->out->block_columns.items[i] = known->block_columns.items[i];
        s->of_block[i] = known->block_of_column[i];
        s->of_column[i] = known->column_of_column[i];
        s->other = s->of_block[i] != i / n;
    }
}

static lb_status survey_values(survey *s, lb_error *err)
{
    LB_TRY(survey_columns(s, err));
    LB_TRY(lb_array_stats_new(&s->schema, survey_wants, s, &s->r->cx->budget, &s->whole, err));
    size_t n = lb_array_stats_count(s->whole);
    if (s->options->stats == LB_STATS_BLOCKS)
        LB_TRY(survey_make_blocks(s, n, err));
    if (s->known != 0)
        survey_resume(s, n);
    if (s->other)
        return LB_OK;
    if (n != 0)
        LB_TRY(lb_run_jobs(s->r->cx, (size_t)s->out->blocks.count - s->known, survey_block, s, err));
    if (s->options->keep_state)
        LB_TRY(lb_array_stats_put_long(s->whole, &s->bounds, err));
    s->out->columns.items = lb_arena_alloc(s->arena, n, sizeof *s->out->columns.items);
    if (s->out->columns.items == NULL)
        return lb_arena_fail(s->arena, err);
    s->out->columns.count = n;
    return lb_array_stats_finish(s->whole, s->arena, s->out->columns.items, NULL, err);
}

/* Statistics of the blocks behind the `known` ones, whose own are taken over; *other: they are not what is asked for. Then
 * what opening needs. */
static lb_status survey_stats(lb_reader *r, const lb_survey_options *options, const lb_arrow_index *index, size_t known,
                              lb_arena *arena, lb_entry *out, bool *other, lb_error *err)
{
    survey s = { .r = r, .options = options, .arena = arena, .out = out, .known = known };
    lb_status status = LB_OK;

    lb_buf_init(&s.bounds, &r->cx->budget);
    pthread_mutex_init(&s.lock, NULL);
    if (options->stats != LB_STATS_OFF && !options->rows_only)
        status = survey_values(&s, err);
    else
        s.other = known != 0 && r->known->columns.count != 0;
    if (status == LB_OK && !s.other)
        status = lb_arrow_state_put(r, index, (lb_str){ (const char *)s.bounds.data, s.bounds.size }, arena,
                                    &out->open_state, err);
    *other = s.other;
    lb_array_stats_free(s.whole);
    pthread_mutex_destroy(&s.lock);
    if (s.schema.release != NULL)
        s.schema.release(&s.schema);
    lb_buf_free(&s.bounds);
    free(s.columns);
    return status;
}

/* ---------------------------------------------------------------- all of it */

static lb_status survey_schema(lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &r->cx->budget);
    lb_status status = lb_ipc_encode_schema(&r->schema.plain, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

lb_status lb_arrow_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_arrow_index index;
    bool other;

    LB_TRY(survey_schema(r, arena, out, err));
    lb_status status = lb_arrow_index_read(r, &index, err);
    if (status != LB_OK) {
        lb_block_builder_free(&index.blocks);
        return status;
    }
    out->total_rows = index.rows;
    LB_TRY(lb_block_builder_finish(&index.blocks, arena, &out->blocks, err));
    return survey_stats(r, o, &index, 0, arena, out, &other, err);
}

/* ---------------------------------------------------------------- streams that grew */

/* A file's footer is written anew when it grows, and then it is another file; what is left of one may get its footer. */
static bool extend_can(const lb_reader *r)
{
    const lb_entry *known = r->known;
    const lb_blocks *b = &known->blocks;

    if (!r->indexed || r->is_file || r->base != 0 || known->arrow_schema.size == 0 ||
        (b->count != 0 && (b->first_byte == NULL || b->start_hash == NULL)))
        return false;
    /* What lies behind the last block begins with bytes that were there. */
    return b->count == 0 || (b->first_byte[b->count - 1] <= known->size_bytes &&
                             b->total_byte_size[b->count - 1] <= known->size_bytes - b->first_byte[b->count - 1]);
}

lb_status lb_arrow_extend(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, bool *done,
                          lb_error *err)
{
    lb_entry made = *out;
    lb_arrow_index index;
    bool other = false;

    *done = false;
    if (!extend_can(r))
        return LB_OK;
    LB_TRY(survey_schema(r, arena, &made, err));
    lb_status status = lb_arrow_index_extend(r, &index, err);
    if (status != LB_OK) {
        lb_block_builder_free(&index.blocks);
        return status;
    }
    made.total_rows = index.rows;
    LB_TRY(lb_block_builder_finish(&index.blocks, arena, &made.blocks, err));
    LB_TRY(survey_stats(r, o, &index, (size_t)r->known->blocks.count, arena, &made, &other, err));
    *done = !other;
    if (*done)
        *out = made;
    return LB_OK;
}
