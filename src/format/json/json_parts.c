/* A file by several threads (format/portions.h): where records are likely to begin, how they are walked, and how what
 * each part holds is put together. */
#include <stdlib.h>

#include "base/utf8.h"
#include "format/json/json_survey.h"
#include "format/portions.h"

#define PARTS_PIECE ((size_t)256 << 10)
#define PARTS_TAIL ((size_t)8 << 10) /* bytes behind a part that are read for its last record, at first */
#define PARTS_MARK_ROWS 1024
#define PARTS_WALK_ROWS 4096
#define PARTS_LIKE 64

/* What all parts know. */
typedef struct parts_file {
    survey *s;
    lb_json_layout layout; /* from a place inside: LB_JSON_LINES or LB_JSON_ELEMENTS */
    char like[PARTS_LIKE]; /* how a record begins */
    size_t like_size;
} parts_file;

/* What a part has of ours. */
typedef struct parts_own {
    survey survey; /* of the part */
    bool begun;
    lb_buf marks; /* of lb_portion_mark, one every PARTS_MARK_ROWS rows or a few more */
} parts_own;

/* Are values taken in while the records are walked? Those of blocks only where it is known which rows they are. */
static bool parts_in_one(const survey *s, const lb_portion *p)
{
    return p->certain && !s->options->rows_only && s->options->stats != LB_STATS_BLOCKS;
}

/* ---------------------------------------------------------------- walking */

/* Does an element begin with the part, behind a comma? The guess looks for what is before that, too. */
static bool parts_begins(const parts_file *f, const lb_portion *p, size_t size)
{
    const uint8_t *data = lb_portion_data(p);

    return f->layout == LB_JSON_ELEMENTS && data[-1] == ',' && f->like_size != 0 && f->like_size <= size &&
           memcmp(data, f->like, f->like_size) == 0;
}

static size_t parts_guess(void *user, const lb_portion *p)
{
    const parts_file *f = user;
    const size_t size = LB_MIN(p->filled, p->size);

    if (parts_begins(f, p, size))
        return 0;
    const size_t at = lb_json_guess(lb_portion_data(p) - 1, size + 1, f->layout, (lb_str){ f->like, f->like_size });

    return at == SIZE_MAX || at == 0 ? LB_PORTION_UNKNOWN : at - 1;
}

/* A walk over the part's text as far as that is valid and at hand. */
typedef struct parts_walker {
    const parts_file *f;
    lb_portion *p;
    lb_json_walk *w;
    survey *part;   /* takes values in; NULL: nobody does */
    size_t checked; /* text is valid up to there */
} parts_walker;

/* Look on in what was read since, up to `size` at most, from the place where the walk stopped. False: text is not valid. */
static bool parts_window(parts_walker *k, size_t size, size_t from)
{
    const uint8_t *data = lb_portion_data(k->p);

    if (size > k->checked)
        k->checked += lb_utf8_valid_prefix(data + k->checked, size - k->checked);
    if (k->checked < size && size - k->checked > lb_utf8_cut_tail(data + k->checked, size - k->checked))
        return false;
    if (k->part != NULL) {
        k->part->records.text.data = data;
        k->part->records.text.size = LB_MIN(size, k->checked);
    }
    lb_json_walk_window(k->w, data, LB_MIN(size, k->checked), false, from);
    return true;
}

/* NULL: none was set. */
static const lb_portion_mark *parts_last_mark(const parts_own *own)
{
    const lb_portion_mark *marks = (const lb_portion_mark *)(const void *)own->marks.data;
    const size_t n = own->marks.size / sizeof *marks;

    return n == 0 ? NULL : &marks[n - 1];
}

/* Before the record at which the walk stands: set a mark, if the last one is far behind. */
static bool parts_mark_record(const parts_walker *k)
{
    lb_portion *p = k->p;
    parts_own *own = p->own;
    const lb_portion_mark *last = parts_last_mark(own);

    if (last != NULL && p->rows - last->row < PARTS_MARK_ROWS)
        return true;
    p->lines += lb_portion_lines(p, last != NULL ? last->at : p->from, k->w->start);
    const lb_portion_mark mark = { k->w->start, p->last_after, p->rows, p->lines };
    return lb_buf_append(&own->marks, &mark, sizeof mark, NULL) == LB_OK;
}

/* Take in the next record, or many (`many`). LB_JSON_BAD: something odd. */
static lb_json_step parts_take(const parts_walker *k, bool many)
{
    survey *part = k->part;
    lb_portion *p = k->p;

    if (!parts_mark_record(k))
        return LB_JSON_BAD;
    if (!many || js_survey_known(part, PARTS_MARK_ROWS) == 0) {
        const lb_json_step step = lb_json_walk_next(k->w);
        if (step != LB_JSON_VALUE)
            return step;
        if (js_survey_record(part, NULL) != LB_OK || part->taker.equal_keys)
            return LB_JSON_BAD;
    }
    p->rows = part->rows;
    p->last_after = k->w->stop;
    return LB_JSON_VALUE;
}

/* Pass over the next records that are whole in the window; one, or many. */
static lb_json_step parts_pass(const parts_walker *k, bool many)
{
    uint64_t n;
    const lb_json_step step = lb_json_walk_skip(k->w, many ? PARTS_WALK_ROWS : 1, &n);

    k->p->rows += n;
    if (n != 0)
        k->p->last_after = k->w->stop;
    return step;
}

static lb_json_step parts_step(const parts_walker *k, bool many)
{
    if (k->part == NULL)
        return parts_pass(k, many);
    const lb_json_step step = lb_json_walk_begin(k->w);
    return step == LB_JSON_VALUE ? parts_take(k, many) : step;
}

/* The records that end in the part, read piece by piece while what was read is still near the processor. False: something odd. */
static bool parts_walk_inside(parts_walker *k)
{
    lb_portion *p = k->p;

    size_t size = LB_MIN(LB_MIN(p->filled, p->size), LB_MAX(p->from + 1, PARTS_PIECE));

    for (size_t from = p->from;; from = k->w->start) {
        lb_json_step step = LB_JSON_VALUE;
        if (!parts_window(k, size, from))
            return false;
        while (step == LB_JSON_VALUE)
            step = parts_step(k, true);
        if (step != LB_JSON_MORE)
            return false;
        if (size == p->size)
            return true;
        size = LB_MIN(size + PARTS_PIECE, p->size);
        if (!lb_portion_fill(p, size))
            return false;
    }
}

/* The record that begins in the part and ends behind it, and where the next one begins; as much again as the part is
 * read for it. */
static bool parts_walk_last(parts_walker *k)
{
    lb_portion *p = k->p;
    lb_json_walk *w = k->w;
    const size_t tail = LB_MIN(PARTS_TAIL, p->size);
    const uint64_t left = p->store->size - p->at;
    size_t more = tail, from = w->start;

    for (; more < 2 * p->size + tail; more *= 2) {
        if (!lb_portion_fill(p, (size_t)LB_MIN((uint64_t)p->size + more, left)) || !parts_window(k, p->filled, from))
            return false;
        lb_json_step step = lb_json_walk_begin(w);
        while (step == LB_JSON_VALUE && w->start < p->size) {
            step = parts_step(k, false);
            if (step == LB_JSON_VALUE)
                step = lb_json_walk_begin(w);
        }
        p->to = w->start;
        if (step == LB_JSON_VALUE)
            return true;
        if (step != LB_JSON_MORE || (uint64_t)p->filled == left)
            return false;
        from = w->start;
    }
    return false;
}

/* Values are taken in from here on; what was before is forgotten. */
static lb_status parts_begin(const parts_file *f, lb_portion *p, lb_error *err)
{
    parts_own *own = p->own;

    if (own->begun)
        js_survey_free(&own->survey);
    own->begun = true;
    lb_status status = js_survey_begin(&own->survey, f->s->r, f->s->options, f->s->arena, f->s->taker.careful, err);
    own->survey.part = true;
    return status;
}

static bool parts_walk_all(parts_walker *k)
{
    lb_portion *p = k->p;

    lb_json_walk_init(k->w, k->f->layout);
    if (!parts_walk_inside(k) || !parts_walk_last(k))
        return false;
    const lb_portion_mark *last = parts_last_mark(p->own);
    p->lines += lb_portion_lines(p, last != NULL ? last->at : p->from, p->to);
    return k->checked >= p->to;
}

static bool parts_walk(void *user, lb_portion *p)
{
    const parts_file *f = user;
    parts_own *own = p->own;
    lb_json_walk w;
    parts_walker k = { .f = f, .p = p, .w = &w, .checked = p->from };

    own->marks.size = 0;
    if (!parts_in_one(f->s, p))
        return parts_walk_all(&k);
    if (parts_begin(f, p, NULL) != LB_OK)
        return false;
    k.part = &own->survey;
    k.w = &own->survey.records.walk;
    k.part->loose = true;
    k.part->base_offset = p->at;
    js_records_lend(&k.part->records, p->cx, p->store, f->layout, lb_portion_data(p), p->filled, p->at, 0, 1);
    const bool good = parts_walk_all(&k);
    js_records_close(&k.part->records);
    return good;
}

/* ---------------------------------------------------------------- values */

static lb_status parts_take_in(const parts_file *f, const lb_portion *p, survey *part, lb_error *err)
{
    bool got = true;

    LB_TRY(js_survey_open_nodes(part, err));
    part->rows = p->first_row;
    part->base_offset = p->at + p->from;
    js_records_lend(&part->records, p->cx, p->store, f->layout, lb_portion_data(p) + p->from, p->last_after - p->from,
                    p->at + p->from, p->first_row, p->first_line);
    while (got && part->rows != p->first_row + p->rows) {
        const uint64_t left = part->options->stride - part->rows % part->options->stride;
        uint64_t passed = 0;
        if (part->options->rows_only && left != part->options->stride) {
            LB_TRY(js_records_skip(&part->records, LB_MIN(left, p->first_row + p->rows - part->rows), &passed, err));
            part->rows += passed;
            got = passed != 0;
            continue;
        }
        if (left != part->options->stride &&
            js_survey_known(part, LB_MIN(left, p->first_row + p->rows - part->rows)) != 0)
            continue;
        LB_TRY(js_records_next(&part->records, &got, err));
        if (got)
            LB_TRY(js_survey_record(part, err));
        if (part->taker.equal_keys)
            return LB_CORRUPT;
    }
    if (part->rows != p->first_row + p->rows)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a part of a file has %llu rows once and %llu rows again",
                       (unsigned long long)p->rows, (unsigned long long)(part->rows - p->first_row));
    return js_survey_put_open(part, err);
}

static survey_start parts_find_start(const parts_file *f, const lb_portion *p, lb_json_walk *w, uint64_t row)
{
    const lb_portion_mark *mark = lb_portion_find_mark(&((const parts_own *)p->own)->marks, row);
    size_t at = mark->at, before = mark->before;
    uint64_t passed;

    if (row != mark->row) {
        lb_json_walk_init(w, f->layout);
        lb_json_walk_window(w, lb_portion_data(p), p->to, true, at);
        (void)lb_json_walk_skip(w, row - mark->row, &passed);
        before = w->stop;
        (void)lb_json_walk_begin(w);
        at = w->start;
    }
    survey_start start = { .first_row = p->first_row + row,
                           .first_line = p->first_line + mark->lines + lb_portion_lines(p, mark->at, at),
                           .first_byte = p->at + at,
                           .before = p->at + before };
    js_survey_keep_bytes(&start, lb_portion_data(p) + at, p->to - at);
    return start;
}

/* Blocks begin so many rows behind a mark. */
static lb_status parts_find_starts(const parts_file *f, const lb_portion *p, survey *part, lb_error *err)
{
    const uint64_t stride = f->s->options->stride;
    lb_json_walk w;

    part->starts.size = 0;
    for (uint64_t row = (stride - p->first_row % stride) % stride; row < p->rows; row += stride) {
        const survey_start start = parts_find_start(f, p, &w, row);
        LB_TRY(lb_buf_append(&part->starts, &start, sizeof start, err));
        if (row > UINT64_MAX - stride)
            break;
    }
    return LB_OK;
}

static bool parts_values(void *user, lb_portion *p)
{
    const parts_file *f = user;
    parts_own *own = p->own;
    lb_error ignored = LB_ERROR_INIT;

    if (p->rows == 0)
        return true;
    if (parts_in_one(f->s, p))
        return parts_find_starts(f, p, &own->survey, &ignored) == LB_OK;
    lb_status status = parts_begin(f, p, &ignored);
    if (status == LB_OK)
        status = parts_take_in(f, p, &own->survey, &ignored);
    js_records_close(&own->survey.records);
    own->survey.records = (js_records){ .row = 0 };
    return status == LB_OK;
}

/* ---------------------------------------------------------------- joining */

/* The last state of those that begin in the part lacks the part's rows before it. Few such states are the file's last, which is the
 * one that counts. */
static lb_status parts_owe_state(survey *s, const lb_portion *p, const survey *part, lb_error *err)
{
    const survey_start *starts = (const survey_start *)(const void *)part->starts.data;
    size_t n = part->starts.size / sizeof *starts;

    while (n != 0 && !js_survey_state_due(s, starts[n - 1].first_row))
        n--;
    if (n == 0)
        return LB_OK;
    LB_TRY(js_survey_take_state(s, starts[n - 1].first_row, err));
    s->owed = (survey_owed){ .any = s->state_row != p->first_row,
                             .offset = p->at + p->from,
                             .rows = s->state_row - p->first_row };
    return LB_OK;
}

/* What js_survey_put_open put goes into what the open block has. */
static lb_status parts_join_open(survey *s, lb_cursor *c, lb_error *err)
{
    lb_arena arena;
    lb_seen *more;

    if (s->open == NULL)
        return LB_OK;
    lb_arena_init(&arena, s->arena->budget);
    lb_status status = lb_seen_get(c, &arena, &more, err);
    if (status == LB_OK && c->bad)
        status = lb_fail(err, LB_INTERNAL, LB_NOWHERE, "what a part of the file has seen does not read");
    if (status == LB_OK)
        status = lb_seen_merge(s->open, more, &s->open_nodes, err);
    lb_arena_free(&arena);
    return status;
}

static lb_status parts_join(void *user, lb_portion *p, uint64_t after, lb_error *err)
{
    const parts_file *f = user;
    survey *s = f->s;
    const survey *part = &((parts_own *)p->own)->survey;
    survey_start *starts = (survey_start *)(void *)part->starts.data;
    lb_cursor open;

    lb_tapped_give_part(&s->tapped, p);
    if (p->rows == 0)
        return LB_OK;
    lb_cursor_init(&open, part->closed.data, part->closed.size, 0);
    LB_TRY(parts_join_open(s, &open, err));
    for (size_t i = 0; i < part->starts.size / sizeof *starts; i++) {
        if (starts[i].first_row == p->first_row)
            starts[i].before = after;
        LB_TRY(js_survey_begin_block(s, &starts[i], err));
        LB_TRY(parts_join_open(s, &open, err));
    }
    LB_TRY(parts_owe_state(s, p, part, err));
    LB_TRY(lb_seen_merge(s->seen, part->seen, &s->nodes, err));
    s->rows += p->rows;
    return LB_OK;
}

/* ---------------------------------------------------------------- beginning and ending */

static lb_status parts_open(void *user, lb_portion *p, lb_error *err)
{
    parts_own *own = calloc(1, sizeof *own);

    (void)user;
    p->own = own;
    if (own == NULL)
        return lb_fail_nomem(err);
    lb_buf_init(&own->marks, &p->cx->budget);
    return LB_OK;
}

static void parts_close(void *user, lb_portion *p)
{
    parts_own *own = p->own;

    (void)user;
    if (own == NULL)
        return;
    if (own->begun)
        js_survey_free(&own->survey);
    lb_buf_free(&own->marks);
    free(own);
}

/* Is this a file that parts can be read of? */
static bool parts_may(const survey *s)
{
    return !s->part && s->records.text.encoding == NULL && s->records.text.bad_at == UINT64_MAX &&
           s->options->sample_bytes == 0;
}

/* How the record just read begins: up to the end of its first key. */
static void parts_like(parts_file *f)
{
    const js_records *r = &f->s->records;
    lb_json_cursor c = lb_json_cursor_of(&r->walk);
    lb_json_text key;

    if (lb_json_peek(&c) != LB_JSON_OBJECT || !lb_json_object(&c, &key))
        return;
    const size_t size = (size_t)(key.p + key.size + 1 - (r->text.data + r->walk.start));
    if (size > sizeof f->like)
        return;
    memcpy(f->like, r->text.data + r->walk.start, size);
    f->like_size = size;
}

lb_status js_survey_parts(survey *s, bool *odd, lb_error *err)
{
    static const lb_portions_work work = { parts_open, parts_close, parts_guess, parts_walk, parts_values, parts_join };
    parts_file f = { .s = s, .layout = s->array ? LB_JSON_ELEMENTS : LB_JSON_LINES };
    lb_portions_place place = { .row = s->rows };

    *odd = false;
    if (!parts_may(s))
        return LB_OK;
    parts_like(&f);
    if (lb_json_walk_begin(&s->records.walk) != LB_JSON_VALUE)
        return LB_OK;
    js_records_place(&s->records, &place.offset, &place.line);
    place.after = js_records_marked(&s->records);
    const uint64_t offset = place.offset;
    lb_text_keep(&s->records.text, s->records.text.at + s->records.walk.at);
    LB_TRY(lb_read_portions(s->r->cx, s->r->store, &work, &f, s->options->part, &s->tapped, &place, odd, err));
    if (place.offset == offset)
        return LB_OK;
    /* The record reader goes on where the parts end, and the last record of theirs. */
    LB_TRY(lb_tapped_give_store(&s->tapped, s->r->store, place.offset, err));
    js_records_close(&s->records);
    LB_TRY(js_survey_open_records(s, f.layout, place.offset, place.line, err));
    s->records.mark_offset = place.after;
    s->records.mark = 0;
    return LB_OK;
}

/* ---------------------------------------------------------------- a state that is owed */

static lb_status parts_see_owed(const survey *s, survey *part, lb_error *err)
{
    while (part->rows != s->owed.rows) {
        bool got;
        if (js_survey_known(part, s->owed.rows - part->rows) != 0)
            continue;
        LB_TRY(js_records_next(&part->records, &got, err));
        if (!got)
            return lb_fail(err, LB_STALE, LB_AT(s->owed.offset), "the file changed while it was read");
        LB_TRY(js_survey_record(part, err));
    }
    return LB_OK;
}

lb_status js_survey_pay_state(survey *s, lb_error *err)
{
    survey part;

    if (!s->owed.any)
        return LB_OK;
    s->owed.any = false;
    lb_status status = js_survey_begin(&part, s->r, s->options, s->arena, s->taker.careful, err);
    part.part = part.loose = true;
    part.base_offset = s->owed.offset;
    if (status == LB_OK)
        status =
            js_records_open(&part.records, s->r->cx, s->r->store, s->r->encoding,
                            s->array ? LB_JSON_ELEMENTS : LB_JSON_LINES, s->owed.offset, 0, 1, s->options->chunk, err);
    if (status == LB_OK)
        status = parts_see_owed(s, &part, err);
    if (status == LB_OK)
        status = lb_seen_put(part.seen, &s->state_more, err);
    js_survey_free(&part);
    return status;
}
