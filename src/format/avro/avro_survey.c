/* What a map keeps of a file: blocks, of their heads alone; and statistics, for which all rows are decoded once. */
#include <stdlib.h>

#include "base/pool.h"
#include "column/array_stats.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "format/avro/avro.h"

/* ---------------------------------------------------------------- blocks */

static lb_status survey_walk(avro_walk *w, lb_block_builder *b, lb_error *err)
{
    for (bool got = true; got;) {
        const uint64_t first_row = w->row;
        LB_TRY(avro_walk_next(w, &got, err));
        if (!got || w->count == 0)
            continue;
        const lb_block block = { .first_row = first_row,
                                 .row_count = w->count,
                                 .first_byte = w->first_byte,
                                 .total_byte_size = w->at - w->first_byte,
                                 .compressed_size = w->payload_size,
                                 .first_line = UINT64_MAX,
                                 .start_hash = w->start_hash };
        LB_TRY(lb_block_builder_add(b, &block, err));
    }
    return LB_OK;
}

/* Go on behind the last block of an entry. */
static lb_status survey_go_on(avro_walk *w, lb_block_builder *b, const lb_entry *known, lb_error *err)
{
    const lb_blocks *of = &known->blocks;

    LB_TRY(lb_block_builder_add_all(b, of, of->count, err));
    w->row = known->total_rows;
    if (of->count != 0)
        w->at = of->first_byte[of->count - 1] + of->total_byte_size[of->count - 1];
    return LB_OK;
}

lb_status avro_find_blocks(lb_reader *r, const lb_entry *known, lb_arena *arena, lb_blocks *out, uint64_t *rows,
                           lb_error *err)
{
    lb_block_builder b;
    avro_walk w;

    lb_block_builder_init(&b, &r->cx->budget);
    avro_walk_open(&w, r->cx, r->store, &r->header, r->rows);
    lb_status status = known == NULL ? LB_OK : survey_go_on(&w, &b, known, err);
    if (status == LB_OK)
        status = survey_walk(&w, &b, err);
    *rows = w.row;
    avro_walk_close(&w);
    if (status != LB_OK) {
        lb_block_builder_free(&b);
        return status;
    }
    return lb_block_builder_finish(&b, arena, out, err);
}

/* ---------------------------------------------------------------- rows of a run of blocks */

const lb_wanted *avro_all_columns(const lb_reader *r, lb_arena *arena)
{
    lb_wanted *columns = lb_arena_alloc(arena, (size_t)r->schema.n_children, sizeof *columns);

    for (int64_t i = 0; columns != NULL && i < r->schema.n_children; i++)
        columns[i].column = (uint64_t)i;
    return columns;
}

/* What is read by one thread at a time: several blocks, or one each where they have statistics of their own. */
typedef struct survey_runs {
    lb_reader *r;
    const lb_blocks *blocks;
    const lb_wanted *columns;
    uint64_t *first; /* rows; one more than there are runs */
    size_t count;
} survey_runs;

/* The blocks from number `from` on, as runs. */
static lb_status survey_cut(survey_runs *runs, uint64_t from, bool each_block, lb_arena *arena, lb_error *err)
{
    const lb_blocks *b = runs->blocks;
    uint64_t rows = 0;

    runs->first = lb_arena_alloc(arena, (size_t)b->count + 1, sizeof *runs->first);
    runs->columns = avro_all_columns(runs->r, arena);
    if (runs->first == NULL || runs->columns == NULL)
        return lb_arena_fail(arena, err);
    for (uint64_t i = from; i < b->count; i++) {
        const bool begins = i == from || each_block || lb_blocks_border(b, rows) == b->first_row[i];
        if (begins)
            runs->first[runs->count++] = rows = b->first_row[i];
        runs->first[runs->count] = b->first_row[i] + b->row_count[i];
    }
    return LB_OK;
}

typedef lb_status (*survey_batch_fn)(void *user, struct ArrowArray *batch, lb_error *err);

static lb_status survey_read(const survey_runs *runs, size_t run, survey_batch_fn take, void *user, lb_error *err)
{
    const lb_range range = { .first = runs->first[run],
                             .count = runs->first[run + 1] - runs->first[run],
                             .n_columns = (size_t)runs->r->schema.n_children,
                             .columns = runs->columns };
    struct ArrowArrayStream stream;

    LB_TRY(avro_scan_blocks(runs->r, runs->blocks, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        if (take != NULL)
            status = take(user, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    return status;
}

/* ---------------------------------------------------------------- statistics */

typedef struct survey {
    survey_runs runs;
    const lb_survey_options *options;
    lb_arena *arena;
    lb_entry *out;
    lb_array_stats *whole;
    uint32_t *of_block, *of_column;
    pthread_mutex_t lock; /* of whole and the arena */
    size_t known;         /* blocks whose statistics are there already */
    bool other;           /* … but for others than are asked for now */
    lb_buf bounds;        /* long ones (column/array_stats.h) */
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

typedef struct survey_taking {
    const struct ArrowSchema *schema;
    lb_array_stats *stats;
} survey_taking;

static lb_status survey_take(void *user, struct ArrowArray *batch, lb_error *err)
{
    const survey_taking *t = user;

    return lb_array_stats_add(t->stats, t->schema, batch, err);
}

static lb_status survey_keep_block(survey *s, size_t block, const lb_array_stats *stats, lb_error *err)
{
    const size_t n = lb_array_stats_count(stats), at = block * n;
    lb_colstat *items = s->out->block_columns.items;

    for (size_t i = 0; i < n; i++)
        s->of_block[at + i] = (uint32_t)block;
    return lb_array_stats_finish(stats, s->arena, &items[at], &s->of_column[at], err);
}

static lb_status survey_run(void *user, size_t run, lb_error *err)
{
    survey *s = user;
    lb_reader *r = s->runs.r;
    lb_array_stats *stats = NULL;

    LB_TRY(lb_array_stats_new(&r->schema, survey_wants, s, &r->cx->budget, &stats, err));
    survey_taking taking = { &r->schema, stats };
    lb_status status = survey_read(&s->runs, run, survey_take, &taking, err);
    if (status == LB_OK) {
        pthread_mutex_lock(&s->lock);
        lb_array_stats_merge(s->whole, stats);
        if (s->options->stats == LB_STATS_BLOCKS)
            status = survey_keep_block(s, s->known + run, stats, err);
        pthread_mutex_unlock(&s->lock);
    }
    lb_array_stats_free(stats);
    return status;
}

static lb_status survey_block_room(survey *s, size_t n, lb_error *err)
{
    size_t all;

    if (s->options->stats != LB_STATS_BLOCKS)
        return LB_OK;
    if (!lb_mul_size(n, s->known + s->runs.count, &all))
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
    const lb_entry *known = s->runs.r->known;
    const size_t all = s->known * n;

    s->other = !lb_array_stats_resume(s->whole, &known->columns, avro_state_bounds(known->open_state));
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

static lb_status survey_rows(survey *s, lb_arena *runs, lb_error *err)
{
    lb_reader *r = s->runs.r;

    LB_TRY(lb_array_stats_new(&r->schema, survey_wants, s, &r->cx->budget, &s->whole, err));
    const size_t n = lb_array_stats_count(s->whole);
    LB_TRY(survey_cut(&s->runs, s->known, s->options->stats == LB_STATS_BLOCKS, runs, err));
    LB_TRY(survey_block_room(s, n, err));
    if (s->known != 0)
        survey_resume(s, n);
    if (s->other)
        return LB_OK;
    if (n != 0)
        LB_TRY(lb_run_jobs(r->cx, s->runs.count, survey_run, s, err));
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
static lb_status survey_stats(lb_reader *r, const lb_survey_options *options, size_t known, lb_arena *arena,
                              lb_entry *out, bool *other, lb_error *err)
{
    survey s = {
        .runs = { .r = r, .blocks = &out->blocks }, .options = options, .arena = arena, .out = out, .known = known
    };
    lb_status status = LB_OK;
    lb_arena runs;

    lb_arena_init(&runs, &r->cx->budget);
    lb_buf_init(&s.bounds, &r->cx->budget);
    pthread_mutex_init(&s.lock, NULL);
    if (options->stats != LB_STATS_OFF && !options->rows_only)
        status = survey_rows(&s, &runs, err);
    else
        s.other = known != 0 && r->known->columns.count != 0;
    if (status == LB_OK && !s.other && options->keep_state)
        status = avro_state_put(&r->header, (lb_str){ (const char *)s.bounds.data, s.bounds.size }, arena,
                                &out->open_state, err);
    *other = s.other;
    lb_array_stats_free(s.whole);
    pthread_mutex_destroy(&s.lock);
    lb_buf_free(&s.bounds);
    lb_arena_free(&runs);
    return status;
}

/* ---------------------------------------------------------------- all of it */

static lb_status survey_schema(lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &r->cx->budget);
    lb_status status = lb_ipc_encode_schema(&r->schema, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

lb_status avro_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err)
{
    bool other;

    LB_TRY(survey_schema(r, arena, out, err));
    LB_TRY(avro_find_blocks(r, NULL, arena, &out->blocks, &out->total_rows, err));
    return survey_stats(r, options, 0, arena, out, &other, err);
}

/* Can the entry be gone on with? Its blocks have to lie in the file it was made of, and its header in its state. */
static bool extend_can(const lb_reader *r)
{
    const lb_entry *known = r->known;
    const lb_blocks *b = &known->blocks;
    bool good;
    avro_header header;

    avro_state_get(known->open_state, &header, &good);
    if (!good || header.size > known->size_bytes || known->arrow_schema.size == 0 || known->error.size != 0)
        return false;
    return b->count == 0 ||
           (b->first_byte != NULL && b->start_hash != NULL && b->first_byte[b->count - 1] <= known->size_bytes &&
            b->total_byte_size[b->count - 1] <= known->size_bytes - b->first_byte[b->count - 1]);
}

lb_status avro_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                      lb_error *err)
{
    lb_entry made = *out;
    bool other;

    *done = false;
    if (!extend_can(r))
        return LB_OK;
    LB_TRY(survey_schema(r, arena, &made, err));
    LB_TRY(avro_find_blocks(r, r->known, arena, &made.blocks, &made.total_rows, err));
    LB_TRY(survey_stats(r, options, (size_t)r->known->blocks.count, arena, &made, &other, err));
    *done = !other;
    if (*done)
        *out = made;
    return LB_OK;
}

/* ---------------------------------------------------------------- verifying */

static lb_status verify_run(void *user, size_t run, lb_error *err)
{
    return survey_read(user, run, NULL, NULL, err);
}

/* Every block is looked for anew, whatever the map says, and every value decoded. */
lb_status avro_verify(lb_reader *r, lb_error *err)
{
    lb_blocks blocks;
    survey_runs runs = { .r = r, .blocks = &blocks };
    lb_arena arena;
    uint64_t rows;

    lb_arena_init(&arena, &r->cx->budget);
    lb_status status = avro_find_blocks(r, NULL, &arena, &blocks, &rows, err);
    if (status == LB_OK)
        status = survey_cut(&runs, 0, false, &arena, err);
    if (status == LB_OK)
        status = lb_run_jobs(r->cx, runs.count, verify_run, &runs, err);
    lb_arena_free(&arena);
    return status;
}
