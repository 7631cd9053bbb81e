/* A file by several threads (format/portions.h): where records are likely to begin, how they are walked, and how what
 * each part holds is put together. */
#include <stdlib.h>

#include "base/utf8.h"
#include "format/json/json_survey.h"
#include "format/portions.h"

#define PARTS_TAIL ((size_t)64 << 10) /* bytes behind a part that are read for its last record, at first */
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
} parts_own;

/* ---------------------------------------------------------------- walking */

static size_t parts_guess(void *user, const lb_portion *p)
{
    const parts_file *f = user;
    const size_t size = LB_MIN(p->filled, p->size),
                 at = lb_json_guess(lb_portion_data(p) - 1, size + 1, f->layout, (lb_str){ f->like, f->like_size });

    return at == SIZE_MAX || at == 0 ? LB_PORTION_UNKNOWN : at - 1;
}

/* Look on in what was read since; `from` is where the walk stopped. */
static void parts_window(lb_json_walk *w, const lb_portion *p, size_t size, size_t from)
{
    lb_json_walk_window(w, lb_portion_data(p), size, false, from);
}

/* The records that end in the part. False: something odd. */
static bool parts_walk_inside(lb_portion *p, lb_json_walk *w)
{
    lb_json_step step = LB_JSON_VALUE;

    while (step == LB_JSON_VALUE) {
        uint64_t n;
        step = lb_json_walk_skip(w, PARTS_WALK_ROWS, &n);
        p->rows += n;
        if (n != 0)
            p->last_after = w->stop;
    }
    return step == LB_JSON_MORE;
}

/* The record that begins in the part and ends behind it, and where the next one begins; as much again as the part is
 * read for it. */
static bool parts_walk_last(lb_portion *p, lb_json_walk *w)
{
    const size_t tail = LB_MIN(PARTS_TAIL, p->size);
    const uint64_t left = p->store->size - p->at;
    size_t more = tail, from = w->start;

    for (; more < 2 * p->size + tail; more *= 2) {
        if (!lb_portion_fill(p, (size_t)LB_MIN((uint64_t)p->size + more, left)))
            return false;
        parts_window(w, p, p->filled, from);
        lb_json_step step = lb_json_walk_begin(w);
        while (step == LB_JSON_VALUE && w->start < p->size) {
            step = lb_json_walk_next(w);
            if (step != LB_JSON_VALUE)
                break;
            p->rows++;
            p->last_after = w->stop;
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

static bool parts_walk(void *user, lb_portion *p)
{
    const parts_file *f = user;
    lb_json_walk w;

    if (!lb_portion_fill(p, p->size))
        return false;
    lb_json_walk_init(&w, f->layout);
    parts_window(&w, p, p->size, p->from);
    if (!parts_walk_inside(p, &w) || !parts_walk_last(p, &w))
        return false;
    p->lines = lb_portion_lines(p, p->from, p->to);
    return lb_utf8_valid_prefix(lb_portion_data(p) + p->from, p->to - p->from) == p->to - p->from;
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

static bool parts_values(void *user, lb_portion *p)
{
    const parts_file *f = user;
    parts_own *own = p->own;
    lb_error ignored = LB_ERROR_INIT;

    if (own->begun)
        js_survey_free(&own->survey);
    own->begun = true;
    lb_status status =
        js_survey_begin(&own->survey, f->s->r, f->s->options, f->s->arena, f->s->taker.careful, &ignored);
    own->survey.part = true;
    if (status == LB_OK && p->rows != 0)
        status = parts_take_in(f, p, &own->survey, &ignored);
    js_records_close(&own->survey.records);
    own->survey.records = (js_records){ .row = 0 };
    return status == LB_OK;
}

/* ---------------------------------------------------------------- joining */

/* The state in the part is of what it has seen itself: what was seen before it goes in at the end. */
static lb_status parts_join_state(survey *s, const survey *part, lb_error *err)
{
    if (part->state_row == UINT64_MAX)
        return LB_OK;
    s->state_row = part->state_row;
    s->state.size = s->state_more.size = 0;
    LB_TRY(lb_seen_put(s->seen, &s->state, err));
    return lb_buf_append(&s->state_more, part->state.data, part->state.size, err);
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

    js_survey_give_tap(s, p->at, lb_portion_data(p), LB_MAX(p->size, p->to));
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
    LB_TRY(parts_join_state(s, part, err));
    LB_TRY(lb_seen_merge(s->seen, part->seen, &s->nodes, err));
    s->rows += p->rows;
    return LB_OK;
}

/* ---------------------------------------------------------------- beginning and ending */

static lb_status parts_open(void *user, lb_portion *p, lb_error *err)
{
    (void)user;
    p->own = calloc(1, sizeof(parts_own));
    return p->own == NULL ? lb_fail_nomem(err) : LB_OK;
}

static void parts_close(void *user, lb_portion *p)
{
    parts_own *own = p->own;

    (void)user;
    if (own == NULL)
        return;
    if (own->begun)
        js_survey_free(&own->survey);
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
    LB_TRY(lb_read_portions(s->r->cx, s->r->store, &work, &f, s->options->part, &place, odd, err));
    if (place.offset == offset)
        return LB_OK;
    /* The record reader goes on where the parts end. */
    js_records_close(&s->records);
    LB_TRY(js_survey_open_records(s, f.layout, place.offset, place.line, err));
    s->records.mark_offset = place.after;
    s->records.mark = 0;
    return LB_OK;
}
