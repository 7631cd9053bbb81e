/* Everything there is, read and checked. */
#include <stdlib.h>

#include "base/pool.h"
#include "column/stream.h"
#include "format/arrow/arrow.h"

typedef struct verify {
    lb_reader *r;
    const lb_blocks *blocks;
    lb_wanted *columns;
} verify;

/* All rows of a batch; what reads them checks them. */
static lb_status verify_block(void *user, size_t block, lb_error *err)
{
    const verify *v = user;
    const lb_range range = { .first = v->blocks->first_row[block],
                             .count = v->blocks->row_count[block],
                             .n_columns = v->r->schema.n_columns,
                             .columns = v->columns };
    struct ArrowArrayStream stream;
    struct ArrowArray batch = { .release = NULL };

    LB_TRY(lb_arrow_scan_blocks(v->r, v->blocks, &range, &stream, err));
    lb_status status = LB_OK;
    do {
        if (batch.release != NULL)
            batch.release(&batch);
        status = lb_stream_next(&stream, &batch, err);
    } while (status == LB_OK && batch.release != NULL);
    stream.release(&stream);
    return status;
}

/* Values of dictionaries that no row may refer to. */
static lb_status verify_dictionary(void *user, size_t d, lb_error *err)
{
    const verify *v = user;
    lb_arrow_pull pull;
    lb_arrow_words words;

    lb_arrow_pull_init(&pull, v->r);
    pull.epoch = UINT64_MAX;
    lb_status status = lb_arrow_words_get(&pull, (uint32_t)d, &words, err);
    lb_arrow_words_give(v->r, &words);
    lb_arrow_pull_free(&pull);
    return status;
}

static lb_status verify_blocks(lb_reader *r, lb_arrow_index *index, lb_arena *arena, lb_error *err)
{
    lb_blocks blocks;
    verify v = { .r = r, .blocks = &blocks };

    LB_TRY(lb_block_builder_finish(&index->blocks, arena, &blocks, err));
    v.columns = calloc((size_t)r->schema.n_columns + 1, sizeof *v.columns);
    if (v.columns == NULL)
        return lb_fail_nomem(err);
    for (uint32_t i = 0; i < r->schema.n_columns; i++)
        v.columns[i].column = i;
    lb_status status = lb_run_jobs(r->cx, (size_t)blocks.count, verify_block, &v, err);
    if (status == LB_OK)
        status = lb_run_jobs(r->cx, r->schema.n_dictionaries, verify_dictionary, &v, err);
    free(v.columns);
    return status;
}

lb_status lb_arrow_verify(lb_reader *r, lb_error *err)
{
    lb_arrow_index index;
    lb_arena arena;

    lb_arena_init(&arena, &r->cx->budget);
    lb_status status = lb_arrow_index_read(r, &index, err);
    if (status == LB_OK)
        status = verify_blocks(r, &index, &arena, err);
    if (status == LB_OK && index.torn != 0)
        status = lb_fail(err, LB_CORRUPT, LB_AT(index.torn), "the file ends inside the message that begins here");
    lb_block_builder_free(&index.blocks);
    lb_arena_free(&arena);
    return status;
}
