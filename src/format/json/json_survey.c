/* One pass over a file: rows, checkpoints, and the types and statistics of every column. */
#include "base/hash.h"
#include "format/json/json_known.h"
#include "format/json/json_survey.h"

#define SURVEY_STATE_ROWS 4096

/* Bytes read record by record before several threads are tried again, where something had to be read so. */
#define SURVEY_PLAIN_BYTES ((uint64_t)16 << 20)

/* ---------------------------------------------------------------- blocks */

static lb_status survey_start_hash(survey *s, lb_block *block, lb_error *err)
{
    uint8_t bytes[JS_START_BYTES];
    size_t want = LB_MIN(block->total_byte_size, sizeof bytes), got = 0;

    if (s->block.n_bytes >= want) {
        block->start_hash = lb_xxh3_64(s->block.bytes, want);
        return LB_OK;
    }
    LB_TRY(lb_store_read(s->r->store, block->first_byte, bytes, want, &got, err));
    if (got != want)
        return lb_fail(err, LB_STALE, LB_AT(block->first_byte), "the file became shorter while it was read");
    block->start_hash = lb_xxh3_64(bytes, got);
    return LB_OK;
}

static bool survey_has_block_stats(const survey *s)
{
    return s->options->stats == LB_STATS_BLOCKS && !s->options->rows_only;
}

/* What the open block has seen is kept, and goes into what the file has. */
static lb_status survey_close_nodes(survey *s, lb_error *err)
{
    if (!survey_has_block_stats(s))
        return LB_OK;
    LB_TRY(lb_seen_put(s->open, &s->closed, err));
    LB_TRY(lb_seen_merge(s->seen, s->open, &s->nodes, err));
    s->n_closed++;
    lb_arena_free(&s->open_nodes);
    s->open = NULL;
    return LB_OK;
}

/* The open block ends before row `row`, at an offset. */
static lb_status survey_close_block(survey *s, uint64_t row, uint64_t offset, lb_error *err)
{
    lb_block block = { .first_row = s->block.first_row,
                       .row_count = row - s->block.first_row,
                       .first_line = s->block.first_line,
                       .first_byte = s->block.first_byte,
                       .total_byte_size = offset - s->block.first_byte,
                       .compressed_size = offset - s->block.first_byte };

    if (!s->has_block)
        return LB_OK;
    s->has_block = false;
    LB_TRY(survey_start_hash(s, &block, err));
    LB_TRY(survey_close_nodes(s, err));
    return lb_block_builder_add(&s->blocks, &block, err);
}

lb_status js_survey_open_nodes(survey *s, lb_error *err)
{
    if (!survey_has_block_stats(s))
        return LB_OK;
    lb_arena_init(&s->open_nodes, s->arena->budget);
    s->open = lb_seen_rows(&s->open_nodes, true);
    return s->open == NULL ? lb_arena_fail(&s->open_nodes, err) : LB_OK;
}

lb_status js_survey_put_open(survey *s, lb_error *err)
{
    if (s->open == NULL)
        return LB_OK;
    LB_TRY(lb_seen_put(s->open, &s->closed, err));
    lb_arena_free(&s->open_nodes);
    s->open = NULL;
    return LB_OK;
}

lb_status js_survey_begin_block(survey *s, const survey_start *start, lb_error *err)
{
    LB_TRY(survey_close_block(s, start->first_row, start->before, err));
    s->block = *start;
    s->has_block = true;
    return js_survey_open_nodes(s, err);
}

/* Rows between states that are kept: a whole number of blocks, so that where the last state lies follows from the
 * rows alone. */
static uint64_t survey_state_rows(const survey *s)
{
    uint64_t stride = s->options->stride;

    return stride >= SURVEY_STATE_ROWS ? stride : (SURVEY_STATE_ROWS + stride - 1) / stride * stride;
}

/* May the survey be taken up again from a state? What blocks have seen is not part of one. */
static bool survey_keeps_state(const survey *s)
{
    return s->options->keep_state && s->options->stats != LB_STATS_BLOCKS;
}

bool js_survey_state_due(const survey *s, uint64_t row)
{
    return survey_keeps_state(s) && row % survey_state_rows(s) == 0;
}

lb_status js_survey_take_state(survey *s, uint64_t row, lb_error *err)
{
    if (!js_survey_state_due(s, row))
        return LB_OK;
    s->state_row = row;
    s->owed.any = false;
    s->state.size = s->state_more.size = 0;
    return lb_seen_put(s->seen, &s->state, err);
}

void js_survey_keep_bytes(survey_start *start, const uint8_t *at, size_t size)
{
    start->n_bytes = size < sizeof start->bytes ? 0 : sizeof start->bytes;
    memcpy(start->bytes, at, start->n_bytes);
}

static lb_status survey_open_block(survey *s, lb_error *err)
{
    js_records *r = &s->records;
    survey_start start = { .first_row = s->rows,
                           .first_line = js_records_line(r, r->walk.start),
                           .before = js_records_marked(r),
                           .first_byte = lb_text_offset(&r->text, r->text.at + r->walk.start) };

    if (r->text.encoding == NULL)
        js_survey_keep_bytes(&start, r->text.data + r->walk.start, r->text.size - r->walk.start);
    if (s->part) {
        LB_TRY(js_survey_put_open(s, err));
        LB_TRY(js_survey_open_nodes(s, err));
        return lb_buf_append(&s->starts, &start, sizeof start, err);
    }
    LB_TRY(js_survey_begin_block(s, &start, err));
    return js_survey_take_state(s, s->rows, err);
}

/* ---------------------------------------------------------------- rows */

/* A failure that is not the text's gets what is known of its place. */
static lb_status survey_place_failure(survey *s, lb_status status, lb_error *err)
{
    if (err != NULL && err->code == status && err->row < 0 && !lb_is_callers(status)) {
        err->row = (int64_t)s->rows;
        err->line = (int64_t)js_records_line(&s->records, s->records.walk.start);
    }
    return status;
}

static lb_status survey_values(survey *s, lb_error *err)
{
    js_taker *t = &s->taker;
    lb_json_cursor c = lb_json_cursor_of(&s->records.walk);

    t->base = s->records.text.data;
    t->base_offset = s->base_offset + s->records.text.at;
    t->err = err;
    t->arena = s->open != NULL ? &s->open_nodes : &s->nodes;
    if (js_take(t, s->open != NULL ? s->open : s->seen, &c) || t->equal_keys)
        return LB_OK;
    return t->status != LB_OK ? survey_place_failure(s, t->status, err) : js_records_fail(&s->records, &c, err);
}

lb_status js_survey_record(survey *s, lb_error *err)
{
    if (!s->loose && s->rows % s->options->stride == 0)
        LB_TRY(survey_open_block(s, err));
    if (!s->options->rows_only)
        LB_TRY(survey_values(s, err));
    s->rows++;
    js_records_mark(&s->records);
    return LB_OK;
}

uint64_t js_survey_known(survey *s, uint64_t most)
{
    if (s->options->rows_only || s->open != NULL)
        return 0;
    const uint64_t passed = js_take_known(&s->taker, s->seen, &s->records.walk, most);
    if (passed != 0) {
        s->rows += passed;
        s->records.row += passed;
        js_records_mark(&s->records);
    }
    return passed;
}

/* The records behind the first of a block: where only rows are counted they need no look at what they hold, and where
 * every column is text most need none but at their keys. */
static lb_status survey_pass(survey *s, lb_error *err)
{
    uint64_t left = s->options->stride - s->rows % s->options->stride, passed;

    if (s->options->sample_bytes != 0 || !s->has_block || left == s->options->stride)
        return LB_OK;
    if (!s->options->rows_only) {
        (void)js_survey_known(s, left);
        return LB_OK;
    }
    LB_TRY(js_records_skip(&s->records, left, &passed, err));
    s->rows += passed;
    return LB_OK;
}

static void survey_keep_torn(survey *s)
{
    js_records *r = &s->records;

    s->torn = r->torn;
    if (!r->torn)
        return;
    s->torn_row = s->rows;
    s->torn_byte = lb_text_offset(&r->text, r->text.at + r->walk.start);
    s->torn_line = js_records_line(r, r->walk.start);
}

/* Where several threads can read they do; what they leave is read record by record, and then they are asked again,
 * ever more seldom where they found nothing to do. */
static lb_status survey_rows(survey *s, lb_error *err)
{
    uint64_t sample = s->options->sample_bytes, plain = SURVEY_PLAIN_BYTES, again = 0;
    bool got;

    for (;;) {
        if (s->rows != 0 && s->records.text.at >= again) {
            bool odd;
            LB_TRY(js_survey_parts(s, &odd, err));
            plain = odd ? plain * 2 : SURVEY_PLAIN_BYTES;
            again = s->records.text.at + plain;
        }
        LB_TRY(survey_pass(s, err));
        LB_TRY(js_records_next(&s->records, &got, err));
        if (!got)
            break;
        LB_TRY(js_survey_record(s, err));
        if (s->taker.equal_keys)
            return LB_OK;
        if (sample != 0 && js_records_marked(&s->records) >= sample) {
            s->sampled = true;
            break;
        }
    }
    survey_keep_torn(s);
    LB_TRY(js_survey_pay_state(s, err));
    return survey_close_block(s, s->rows, js_records_marked(&s->records), err);
}

/* ---------------------------------------------------------------- the tap, and opening */

static void survey_tap(void *user, const uint8_t *bytes, size_t size)
{
    survey *s = user;
    uint64_t at = s->tap_at;

    s->tap_at += size;
    lb_tapped_give(&s->tapped, at, bytes, size);
}

lb_status js_survey_open_records(survey *s, lb_json_layout layout, uint64_t offset, uint64_t line, lb_error *err)
{
    lb_reader *r = s->r;

    LB_TRY(js_records_open(&s->records, r->cx, r->store, r->encoding, layout, offset, s->rows, line, s->options->chunk,
                           err));
    s->base_offset = s->tap_at = offset;
    lb_text_tap(&s->records.text, false, survey_tap, s);
    return LB_OK;
}

/* ---------------------------------------------------------------- beginning and ending */

lb_status js_survey_begin(survey *s, lb_reader *r, const lb_survey_options *options, lb_arena *arena, bool careful,
                          lb_error *err)
{
    lb_budget *budget = &r->cx->budget;

    *s = (survey){ .r = r, .options = options, .arena = arena, .state_row = UINT64_MAX };
    s->tapped = (lb_tapped){ .tap = options->tap, .sums = options->sums, .user = options->tap_user };
    lb_arena_init(&s->nodes, budget);
    lb_arena_init(&s->open_nodes, budget);
    s->taker = (js_taker){ .text = r->text, .careful = careful, .maps = (const char *const *)r->maps };
    lb_buf_init(&s->taker.scratch, budget);
    lb_buf_init(&s->taker.replaced, budget);
    lb_buf_init(&s->taker.known, budget);
    lb_buf_init(&s->taker.counters, budget);
    lb_buf_init(&s->closed, budget);
    lb_buf_init(&s->state, budget);
    lb_buf_init(&s->state_more, budget);
    lb_buf_init(&s->starts, budget);
    lb_block_builder_init(&s->blocks, budget);
    s->seen = lb_seen_rows(&s->nodes, options->stats != LB_STATS_OFF);
    if (s->seen == NULL)
        return lb_arena_fail(&s->nodes, err);
    return survey_has_block_stats(s) ? LB_OK : js_known_begin(&s->taker, err); /* numbers of keys are of one node */
}

void js_survey_free(survey *s)
{
    js_records_close(&s->records);
    lb_arena_free(&s->nodes);
    lb_arena_free(&s->open_nodes);
    lb_buf_free(&s->taker.scratch);
    lb_buf_free(&s->taker.replaced);
    lb_buf_free(&s->taker.known);
    lb_buf_free(&s->taker.counters);
    lb_buf_free(&s->closed);
    lb_buf_free(&s->state);
    lb_buf_free(&s->state_more);
    lb_buf_free(&s->starts);
    lb_block_builder_free(&s->blocks);
}

static lb_status survey_once(survey *s, bool may_array, lb_error *err)
{
    LB_TRY(js_survey_open_records(s, LB_JSON_LINES, 0, 1, err));
    LB_TRY(js_records_begin(&s->records, may_array && !s->r->lines_only, err));
    s->array = s->records.walk.layout != LB_JSON_LINES;
    return survey_rows(s, err);
}

/* Make the entry of what was seen, unless that failed. */
static lb_status survey_end(survey *s, lb_status status, lb_entry *out, lb_error *err)
{
    if (status == LB_OK)
        status = js_survey_result(s, out, err);
    out->total_rows = s->sampled ? LB_ROWS_UNKNOWN : s->rows;
    out->format = lb_str_of(s->r->format->name);
    out->locator = s->array ? LB_STR("array_object") : LB_STR("line");
    return status;
}

lb_status js_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err)
{
    bool careful = false, may_array = true;
    uint64_t tapped_to = 0;
    survey s;

    /* Once more where keys of one object are equal, for few files have that and looking out for it is slow; and where
     * several arrays follow one another, which are then values as others. */
    for (;;) {
        lb_error failure = LB_ERROR_INIT;
        lb_status status = js_survey_begin(&s, r, options, arena, careful, &failure);
        s.tapped.to = tapped_to;
        if (status == LB_OK)
            status = survey_once(&s, may_array, &failure);
        const bool arrays = status == LB_CORRUPT && s.records.arrays, again = arrays || s.taker.equal_keys;
        if (status != LB_OK && !again && err != NULL)
            *err = failure;
        may_array &= !arrays;
        careful |= s.taker.equal_keys;
        tapped_to = s.tapped.to;
        if (!again)
            status = survey_end(&s, status, out, err);
        js_survey_free(&s);
        if (!again)
            return status;
    }
}

/* ---------------------------------------------------------------- files that grew */

static lb_status survey_copy_blocks(survey *s, const lb_blocks *b, uint64_t count, lb_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        const lb_block block = { b->first_row[i],       b->row_count[i],  b->first_byte[i], b->total_byte_size[i],
                                 b->compressed_size[i], b->first_line[i], b->start_hash[i] };
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
    LB_TRY(lb_seen_merge(s->seen, state.rows, &s->nodes, err));
    LB_TRY(survey_copy_blocks(s, b, block, err));
    s->rows = state.row;
    s->array = js_is_array(known->locator);
    LB_TRY(js_survey_open_records(s, s->array ? LB_JSON_ELEMENTS : LB_JSON_LINES, b->first_byte[block],
                                  b->first_line[block], err));
    return survey_rows(s, err);
}

static bool survey_may_extend(const lb_entry *known)
{
    const lb_blocks *b = &known->blocks;

    return b->count != 0 && b->first_byte != NULL && b->first_line != NULL && b->start_hash != NULL &&
           known->open_state.size != 0;
}

lb_status js_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                    lb_error *err)
{
    survey s;

    *done = false;
    if (!survey_may_extend(r->known))
        return LB_OK;
    for (bool careful = false;; careful = true) {
        lb_status status = js_survey_begin(&s, r, options, arena, careful, err);
        if (status == LB_OK && survey_keeps_state(&s))
            status = survey_resume(&s, r->known, done, err);
        *done = *done && status == LB_OK;
        const bool again = *done && s.taker.equal_keys;
        if (*done && !again)
            status = survey_end(&s, status, out, err);
        js_survey_free(&s);
        if (!again)
            return status;
    }
}
