/* A survey in two steps: rows and checkpoints by passing objects over, in order; then types and statistics of all values, over
 * several threads. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/pool.h"
#include "format/msgpack/msgpack.h"

/* Rows between states that are kept: at a whole number of blocks, so that where the last one lies follows from the rows alone. */
#define SURVEY_STATE_ROWS 4096

typedef struct survey {
    lb_reader *r;
    const lb_survey_options *options;
    lb_arena *arena; /* of the entry */
    mp_records records;
    lb_block_builder blocks;
    lb_blocks found; /* what they came to */
    lb_buf cuts;     /* mp_cut: between blocks and in them, where reading can begin */
    uint64_t rows;
    bool array, sampled;
    uint64_t tap_at, tapped_to; /* the bytes before were given: once, whoever reads them again */

    /* Values. */
    lb_arena nodes;
    lb_seen *before, *after; /* of the rows before the state, and of all others */
    uint64_t state_row;      /* UINT64_MAX: no state is kept */
    uint64_t known_rows;     /* rows whose values `before` has already */
    uint64_t *runs;          /* blocks at which they begin; one more than there are */
    size_t n_runs;
    lb_buf *closed;       /* of each run: what its blocks hold */
    pthread_mutex_t lock; /* of the nodes */

    /* With one thread values are taken in as soon as rows were passed over, from the window: those since the last row at which there
     * could be a state. */
    lb_arena at_once;
    mp_taker taker;
    lb_seen *seen; /* NULL: values are not taken in so */
    uint64_t seen_row;
    lb_status seen_status; /* why the nodes are of no use any more */
} survey;

/* ---------------------------------------------------------------- rows */

static void survey_tap(void *user, const uint8_t *bytes, size_t size)
{
    survey *s = user;
    const uint64_t end = s->tap_at + size;

    if (s->options->tap != NULL && end > s->tapped_to) {
        const size_t had = s->tapped_to > s->tap_at ? (size_t)(s->tapped_to - s->tap_at) : 0;
        s->options->tap(s->options->tap_user, bytes + had, size - had);
        s->tapped_to = end;
    }
    s->tap_at = end;
}

static lb_status survey_start_hash(survey *s, lb_block *block, lb_error *err)
{
    uint8_t bytes[MP_START_BYTES];
    const size_t want = (size_t)LB_MIN(block->total_byte_size, (uint64_t)sizeof bytes);
    size_t got;

    LB_TRY(lb_store_read(s->r->store, block->first_byte, bytes, want, &got, err));
    if (got != want)
        return lb_fail(err, LB_STALE, LB_AT(block->first_byte), "the file became shorter while it was read");
    block->start_hash = lb_xxh3_64(bytes, got);
    return LB_OK;
}

static lb_status survey_block(survey *s, uint64_t offset, uint64_t passed, lb_error *err)
{
    lb_block block = { .first_row = s->rows,
                       .row_count = passed,
                       .first_line = UINT64_MAX,
                       .first_byte = offset,
                       .total_byte_size = s->records.after - offset,
                       .compressed_size = s->records.after - offset };

    LB_TRY(survey_start_hash(s, &block, err));
    s->rows += passed;
    return lb_block_builder_add(&s->blocks, &block, err);
}

/* ---------------------------------------------------------------- values at once */

/* A state may be kept at rows that are multiples of this. */
static uint64_t survey_step(const survey *s)
{
    const uint64_t stride = s->options->stride;

    return stride >= SURVEY_STATE_ROWS ? stride : (SURVEY_STATE_ROWS + stride - 1) / stride * stride;
}

static void survey_drop_part(survey *s)
{
    if (s->seen == NULL)
        return;
    mp_taker_free(&s->taker);
    lb_arena_free(&s->at_once);
    s->seen = NULL;
}

static bool survey_begin_part(survey *s, uint64_t row)
{
    lb_arena_init(&s->at_once, &s->r->cx->budget);
    mp_taker_init(&s->taker, &s->at_once, &s->r->cx->budget, s->r->text, false);
    s->taker.places = mp_reader_places(s->r);
    s->seen_row = row;
    s->seen = mp_rows_new(&s->at_once, s->options->stats != LB_STATS_OFF, s->taker.places);
    if (s->seen != NULL)
        return true;
    mp_taker_free(&s->taker);
    lb_arena_free(&s->at_once);
    return false;
}

/* What was taken in goes to the nodes. */
static bool survey_keep_part(survey *s, lb_seen *to, uint64_t row)
{
    s->seen_status = lb_seen_merge(to, s->seen, &s->nodes, NULL);
    survey_drop_part(s);
    s->known_rows = row;
    return s->seen_status == LB_OK;
}

/* Rows that were just passed over. Whatever goes wrong, these and all that follow are left to the second step, and it says what. */
static void survey_take_now(void *user, uint64_t row, uint64_t count, mp_cursor c)
{
    survey *s = user;

    if (s->seen == NULL)
        return;
    if (row % survey_step(s) == 0 && row != s->seen_row &&
        !(survey_keep_part(s, s->before, row) && survey_begin_part(s, row)))
        return;
    s->taker.base = s->records.window.data;
    s->taker.base_offset = s->records.at;
    for (uint64_t i = 0; i < count; i++)
        if (!mp_take(&s->taker, s->seen, &c)) {
            survey_drop_part(s);
            return;
        }
}

static void survey_may_take_now(survey *s)
{
    if (s->r->cx->threads <= 1 && !s->array && !s->options->rows_only && s->options->stats != LB_STATS_BLOCKS &&
        survey_begin_part(s, s->rows)) {
        s->records.passed = survey_take_now;
        s->records.passed_user = s;
    }
}

/* ---------------------------------------------------------------- all rows */

/* From the records' place to the end. */
static lb_status survey_rows(survey *s, lb_error *err)
{
    mp_records *r = &s->records;
    const uint64_t sample = s->options->sample_bytes;

    for (;;) {
        const uint64_t offset = r->at + r->place;
        uint64_t passed;
        LB_TRY(mp_records_pass(r, s->options->stride, &passed, err));
        if (passed != 0)
            LB_TRY(survey_block(s, offset, passed, err));
        if (passed < s->options->stride)
            return LB_OK;
        s->sampled = sample != 0 && r->after >= sample && r->after < s->r->store->size;
        if (s->sampled)
            return LB_OK;
    }
}

/* All rows of a file. One array is taken for the rows if nothing follows it; else it is an object as those that do. */
static lb_status survey_file(survey *s, lb_error *err)
{
    mp_records *r = &s->records;

    for (bool may_array = true;; may_array = false) {
        mp_records_open(r, s->r->cx, s->r->store, 0, 0, UINT64_MAX, s->options->chunk);
        r->cuts = &s->cuts;
        r->tap = survey_tap;
        r->tap_user = s;
        s->tap_at = 0;
        LB_TRY(mp_begin_rows(r, s->r, may_array, &s->array, &s->r->places, err));
        survey_may_take_now(s);
        LB_TRY(survey_rows(s, err));
        if (!s->array || r->torn || s->sampled || r->at + r->place == s->r->store->size)
            return LB_OK;
        mp_records_close(r);
        lb_block_builder_free(&s->blocks);
        s->cuts.size = 0;
        s->rows = 0;
    }
}

/* ---------------------------------------------------------------- values */

static bool survey_has_block_stats(const survey *s)
{
    return s->options->stats == LB_STATS_BLOCKS && !s->options->rows_only;
}

/* Rows of a run, read in pieces that hold whole ones: where they end was noted when they were passed over. */
typedef struct survey_pieces {
    const survey *s;
    lb_buf bytes;
    size_t cut;       /* the next one */
    uint64_t at, end; /* of the bytes; of the run */
    uint64_t row;
    mp_cursor c;
} survey_pieces;

static size_t survey_cut_behind(const survey *s, uint64_t byte)
{
    const mp_cut *cuts = (const mp_cut *)(const void *)s->cuts.data;
    size_t low = 0, high = s->cuts.size / sizeof *cuts;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (cuts[middle].byte <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void pieces_open(survey_pieces *p, const survey *s, uint64_t first, uint64_t last)
{
    const lb_blocks *b = &s->found;

    *p = (survey_pieces){ .s = s,
                          .cut = survey_cut_behind(s, b->first_byte[first]),
                          .at = b->first_byte[first],
                          .end = b->first_byte[last] + b->total_byte_size[last],
                          .row = b->first_row[first] };
    lb_buf_init(&p->bytes, &s->r->cx->budget);
}

static lb_status pieces_changed(const survey_pieces *p, lb_error *err)
{
    return lb_fail(err, LB_STALE, (lb_where){ -1, (int64_t)p->row, -1 }, "the file changed while it was read");
}

/* The piece behind the one that was used up. */
static lb_status pieces_next(survey_pieces *p, lb_error *err)
{
    const mp_cut *cuts = (const mp_cut *)(const void *)p->s->cuts.data;
    const uint64_t from = p->at + p->bytes.size;
    const bool inside = p->cut < p->s->cuts.size / sizeof *cuts && cuts[p->cut].byte < p->end;
    const uint64_t stop = inside ? cuts[p->cut++].byte : p->end;
    size_t got = 0;

    if (from >= stop)
        return pieces_changed(p, err);
    LB_TRY(lb_check_cancel(p->s->r->cx, err));
    const size_t want = (size_t)(stop - from);
    p->bytes.size = 0;
    LB_TRY(lb_buf_reserve(&p->bytes, want + LB_TEXT_PADDING, err));
    LB_TRY(lb_store_read(p->s->r->store, from, p->bytes.data, want, &got, err));
    if (got != want)
        return pieces_changed(p, err);
    memset(p->bytes.data + want, 0, LB_TEXT_PADDING);
    p->bytes.size = want;
    p->at = from;
    p->c = (mp_cursor){ p->bytes.data, p->bytes.data + want };
    return LB_OK;
}

static lb_status survey_place_failure(uint64_t row, lb_status status, lb_error *err)
{
    if (err != NULL && err->code == status && err->row < 0 && !lb_is_callers(status))
        err->row = (int64_t)row;
    return status;
}

/* One block into `to`. *again: equal keys came, which have to be looked out for. */
static lb_status survey_take_block(survey_pieces *p, uint64_t count, mp_taker *t, lb_seen *to, bool *again,
                                   lb_error *err)
{
    t->err = err;
    for (uint64_t i = 0; i < count; i++, p->row++) {
        if (p->c.at == p->c.end) {
            LB_TRY(pieces_next(p, err));
            t->base = p->bytes.data;
            t->base_offset = p->at;
        }
        if (mp_take(t, to, &p->c))
            continue;
        *again = t->equal_keys;
        if (*again)
            return LB_OK;
        return t->status == LB_OK ? pieces_changed(p, err) : survey_place_failure(p->row, t->status, err);
    }
    return LB_OK;
}

/* The blocks of a run into `seen`; where blocks have statistics, each by itself first, and kept in `closed`. */
static lb_status survey_take_run(survey *s, size_t run, mp_taker *t, lb_seen *seen, bool *again, lb_error *err)
{
    const lb_blocks *b = &s->found;
    const uint64_t first = s->runs[run];
    survey_pieces pieces;

    pieces_open(&pieces, s, first, s->runs[run + 1] - 1);
    lb_status status = LB_OK;
    for (uint64_t i = first; status == LB_OK && !*again && i < s->runs[run + 1]; i++) {
        lb_seen *to = seen;
        if (survey_has_block_stats(s)) {
            to = mp_rows_new(t->arena, true, t->places);
            if (to == NULL)
                status = lb_arena_fail(t->arena, err);
        }
        if (status == LB_OK)
            status = survey_take_block(&pieces, b->row_count[i], t, to, again, err);
        if (status == LB_OK && to != seen && !*again)
            status = lb_seen_put(to, &s->closed[run], err);
        if (status == LB_OK && to != seen && !*again)
            status = lb_seen_merge(seen, to, t->arena, err);
    }
    lb_buf_free(&pieces.bytes);
    return status;
}

static lb_status survey_merge_run(survey *s, size_t run, const lb_seen *seen, lb_error *err)
{
    const bool before = s->found.first_row[s->runs[run]] < s->state_row && s->state_row != UINT64_MAX;

    pthread_mutex_lock(&s->lock);
    lb_status status = lb_seen_merge(before ? s->before : s->after, seen, &s->nodes, err);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static lb_status survey_run(void *user, size_t run, lb_error *err)
{
    survey *s = user;
    lb_budget *budget = &s->r->cx->budget;

    for (bool careful = false;; careful = true) {
        bool again = false;
        lb_arena arena;
        mp_taker t;
        lb_arena_init(&arena, budget);
        mp_taker_init(&t, &arena, budget, s->r->text, careful);
        t.places = mp_reader_places(s->r);
        s->closed[run].size = 0;
        lb_seen *seen = mp_rows_new(&arena, s->options->stats != LB_STATS_OFF, t.places);
        lb_status status = seen == NULL ? lb_arena_fail(&arena, err) : survey_take_run(s, run, &t, seen, &again, err);
        if (status == LB_OK && !again)
            status = survey_merge_run(s, run, seen, err);
        mp_taker_free(&t);
        lb_arena_free(&arena);
        if (status != LB_OK || !again)
            return status;
    }
}

/* Blocks that are read by one thread together. No run goes over the row of the state. */
static lb_status survey_cut(survey *s, lb_error *err)
{
    const lb_blocks *b = &s->found;
    uint64_t rows = 0, bytes = 0;

    s->runs = lb_arena_alloc(&s->nodes, (size_t)b->count + 1, sizeof *s->runs);
    if (s->runs == NULL)
        return lb_arena_fail(&s->nodes, err);
    for (uint64_t i = 0; i < b->count; i++) {
        if (b->first_row[i] < s->known_rows)
            continue;
        if (s->n_runs == 0 || b->first_row[i] == s->state_row || rows >= LB_RUN_ROWS || bytes >= LB_RUN_BYTES) {
            s->runs[s->n_runs++] = i;
            rows = bytes = 0;
        }
        rows += b->row_count[i];
        bytes += b->total_byte_size[i];
    }
    s->runs[s->n_runs] = b->count;
    s->closed = lb_arena_alloc(&s->nodes, s->n_runs, sizeof *s->closed);
    if (s->closed == NULL)
        return lb_arena_fail(&s->nodes, err);
    for (size_t i = 0; i < s->n_runs; i++)
        lb_buf_init(&s->closed[i], &s->r->cx->budget);
    return LB_OK;
}

/* The row at which the survey could be taken up again: the last one that begins a block and is a multiple of so many. */
static uint64_t survey_state_at(const survey *s)
{
    const uint64_t rows = s->found.count == 0 ? 0 : s->found.first_row[s->found.count - 1], step = survey_step(s);

    if (!s->options->keep_state || s->options->stats == LB_STATS_BLOCKS || s->array || s->found.count == 0)
        return UINT64_MAX;
    return rows / step * step;
}

static lb_status survey_values(survey *s, lb_error *err)
{
    s->after = mp_rows_new(&s->nodes, s->options->stats != LB_STATS_OFF, mp_reader_places(s->r));
    if (s->after == NULL)
        return lb_arena_fail(&s->nodes, err);
    s->state_row = survey_state_at(s);
    if (s->options->rows_only)
        return LB_OK;
    if (s->seen != NULL)
        (void)survey_keep_part(s, s->seen_row < s->state_row && s->state_row != UINT64_MAX ? s->before : s->after,
                               s->rows);
    if (s->seen_status != LB_OK)
        return lb_fail(err, s->seen_status, LB_NOWHERE, "what the columns hold passes the memory limit");
    LB_TRY(survey_cut(s, err));
    return lb_run_jobs(s->r->cx, s->n_runs, survey_run, s, err);
}

/* ---------------------------------------------------------------- the outcome */

static lb_status survey_keep_state(survey *s, lb_entry *out, lb_error *err)
{
    const mp_records *r = &s->records;
    const lb_seen_state state = { .row = s->state_row,
                                  .torn = r->torn,
                                  .torn_row = s->rows,
                                  .torn_byte = r->at + r->start,
                                  .rows = s->state_row == UINT64_MAX ? NULL : s->before };
    lb_buf bytes;

    if (s->state_row == UINT64_MAX && !r->torn)
        return LB_OK;
    lb_buf_init(&bytes, s->arena->budget);
    lb_status status = lb_seen_state_put(&state, &bytes, err);
    if (status == LB_OK) {
        out->open_state = (lb_str){ lb_arena_dup(s->arena, bytes.data, bytes.size), bytes.size };
        status = out->open_state.at == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

/* A key that names no column is known by its byte alone: what row that is in is found by reading on from where its block
 * begins. Where that fails the byte has to do. */
static void survey_place(const survey *s, lb_error *err)
{
    const lb_blocks *b = &s->found;
    uint64_t i = b->count;
    mp_records r;
    bool got = true;

    if (err == NULL || err->code != LB_UNSUPPORTED || err->offset < 0 || err->row >= 0)
        return;
    while (i != 0 && b->first_byte[i - 1] > (uint64_t)err->offset)
        i--;
    if (i-- == 0)
        return;
    mp_records_open(&r, s->r->cx, s->r->store, b->first_byte[i], b->first_row[i], UINT64_MAX, 0);
    while (got && r.after <= (uint64_t)err->offset)
        if (mp_records_next(&r, &got, NULL) != LB_OK)
            got = false;
    if (got)
        err->row = (int64_t)r.row - 1;
    mp_records_close(&r);
}

static lb_status survey_finish(survey *s, lb_entry *out, lb_error *err)
{
    lb_seen_result result = { .cx = s->r->cx,
                              .path = s->r->store->path,
                              .read = s->r->options,
                              .options = s->options,
                              .text = s->r->text,
                              .arena = s->arena,
                              .rows = s->after,
                              .n_rows = s->rows };

    LB_TRY(survey_keep_state(s, out, err));
    LB_TRY(lb_seen_merge(s->after, s->before, &s->nodes, err));
    lb_buf_init(&result.closed, s->arena->budget);
    lb_status status = LB_OK;
    if (survey_has_block_stats(s)) {
        for (size_t i = 0; status == LB_OK && i < s->n_runs; i++)
            status = lb_buf_append(&result.closed, s->closed[i].data, s->closed[i].size, err);
        result.n_closed = s->found.count;
    }
    out->blocks = s->found;
    out->total_rows = s->sampled ? LB_ROWS_UNKNOWN : s->rows;
    if (s->r->header) {
        out->has_dialect = true;
        out->dialect = (lb_dialect){ .delimiter = LB_STR(","),
                                     .quote = -1,
                                     .escape = -1,
                                     .has_header = true,
                                     .encoding = LB_STR(""),
                                     .sheet = -1,
                                     .header_row = -1 };
    }
    out->locator = s->array ? LB_STR("array_object") : LB_STR("object");
    if (status == LB_OK)
        status = lb_seen_finish(&result, out, err);
    if (status != LB_OK)
        survey_place(s, err);
    lb_buf_free(&result.closed);
    return status;
}

static lb_status survey_begin(survey *s, lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_error *err)
{
    const bool bounds = options->stats != LB_STATS_OFF;

    *s = (survey){ .r = r, .options = options, .arena = arena, .state_row = UINT64_MAX };
    lb_arena_init(&s->nodes, &r->cx->budget);
    lb_block_builder_init(&s->blocks, &r->cx->budget);
    lb_buf_init(&s->cuts, &r->cx->budget);
    pthread_mutex_init(&s->lock, NULL);
    s->before = lb_seen_rows(&s->nodes, bounds);
    return s->before == NULL ? lb_arena_fail(&s->nodes, err) : LB_OK;
}

static void survey_free(survey *s)
{
    for (size_t i = 0; s->closed != NULL && i < s->n_runs; i++)
        lb_buf_free(&s->closed[i]);
    mp_records_close(&s->records);
    lb_block_builder_free(&s->blocks);
    lb_buf_free(&s->cuts);
    survey_drop_part(s);
    lb_arena_free(&s->nodes);
    pthread_mutex_destroy(&s->lock);
}

static lb_status survey_rest(survey *s, lb_entry *out, lb_error *err)
{
    LB_TRY(lb_block_builder_finish(&s->blocks, s->arena, &s->found, err));
    LB_TRY(survey_values(s, err));
    return survey_finish(s, out, err);
}

lb_status mp_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err)
{
    survey s;

    lb_status status = survey_begin(&s, r, options, arena, err);
    if (status == LB_OK)
        status = survey_file(&s, err);
    if (status == LB_OK)
        status = survey_rest(&s, out, err);
    survey_free(&s);
    return status;
}

/* ---------------------------------------------------------------- files that grew */

static lb_status survey_copy_blocks(survey *s, const lb_blocks *b, uint64_t count, lb_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        const lb_block block = { b->first_row[i],       b->row_count[i], b->first_byte[i], b->total_byte_size[i],
                                 b->compressed_size[i], UINT64_MAX,      b->start_hash[i] };
        LB_TRY(lb_block_builder_add(&s->blocks, &block, err));
    }
    return LB_OK;
}

/* Go on from the block that the state was taken at. *done false: it is no state of this file. */
static lb_status survey_resume(survey *s, const lb_entry *known, bool *done, lb_error *err)
{
    const lb_blocks *b = &known->blocks;
    lb_seen_state state;

    LB_TRY(lb_seen_state_get(known->open_state, &s->nodes, true, &state, done, err));
    *done = *done && state.row != UINT64_MAX;
    if (!*done)
        return LB_OK;
    const uint64_t block = lb_blocks_find(b, state.row);
    *done = block != UINT64_MAX && b->first_row[block] == state.row && state.row % s->options->stride == 0 &&
            lb_seen_values(state.rows) <= state.row;
    if (!*done)
        return LB_OK;
    LB_TRY(lb_seen_merge(s->before, state.rows, &s->nodes, err));
    LB_TRY(survey_copy_blocks(s, b, block, err));
    s->rows = s->known_rows = state.row;
    mp_records_open(&s->records, s->r->cx, s->r->store, b->first_byte[block], state.row, UINT64_MAX, s->options->chunk);
    s->records.cuts = &s->cuts;
    survey_may_take_now(s);
    return survey_rows(s, err);
}

static bool survey_may_extend(const lb_entry *known, const lb_survey_options *options)
{
    const lb_blocks *b = &known->blocks;

    return b->count != 0 && b->first_byte != NULL && b->start_hash != NULL && known->open_state.size != 0 &&
           lb_str_is(known->locator, "object") && options->keep_state && options->stats != LB_STATS_BLOCKS;
}

lb_status mp_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                    lb_error *err)
{
    survey s;

    *done = false;
    if (!survey_may_extend(r->known, options))
        return LB_OK;
    lb_status status = survey_begin(&s, r, options, arena, err);
    if (status == LB_OK)
        status = survey_resume(&s, r->known, done, err);
    *done = *done && status == LB_OK;
    if (*done)
        status = survey_rest(&s, out, err);
    survey_free(&s);
    return status;
}
