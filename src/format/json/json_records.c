/* Records of a store, one after the other: the window, the walk over it, and the count of rows and lines. */
#include "base/utf8.h"
#include "format/json/json_rows.h"

static const uint8_t records_bom[3] = { 0xEF, 0xBB, 0xBF };

/* ---------------------------------------------------------------- lines and offsets */

static void records_count_lines(js_records *r, size_t to)
{
    const uint64_t position = r->text.at + to;

    if (position <= r->counted)
        return;
    const size_t from = (size_t)(r->counted - r->text.at);
    r->line += lb_count_lines(r->text.data + from, to - from, r->counted_cr);
    r->counted_cr = r->text.data[to - 1] == '\r';
    r->counted = position;
}

/* Of a place behind what was counted nothing is kept, so that lines of earlier places can still be asked for. */
uint64_t js_records_line(js_records *r, size_t at)
{
    records_count_lines(r, LB_MIN(at, r->walk.start));
    const uint64_t position = r->text.at + at;
    if (position <= r->counted)
        return r->line;
    const size_t from = (size_t)(r->counted - r->text.at);
    return r->line + lb_count_lines(r->text.data + from, at - from, r->counted_cr);
}

uint64_t js_records_marked(js_records *r)
{
    if (r->mark_offset == UINT64_MAX)
        r->mark_offset = lb_text_offset(&r->text, r->mark);
    return r->mark_offset;
}

void js_records_mark(js_records *r)
{
    r->mark = r->text.at + r->walk.stop;
    r->mark_offset = UINT64_MAX;
}

/* ---------------------------------------------------------------- the window */

/* What of the window is valid text; `end`: nothing can follow it. A character that the window cuts is left for the next
 * one: what is wrong with it must not depend on where the window ends. */
static size_t records_valid(const js_records *r, bool *end)
{
    const lb_text *t = &r->text;
    const bool bad = t->bad_at - t->at < t->size;

    *end = t->end && (!bad || t->cut_at_end);
    if (bad)
        return (size_t)(t->bad_at - t->at);
    return t->end ? t->size : t->size - lb_utf8_cut_tail(t->data, t->size);
}

static void records_window(js_records *r, size_t from)
{
    bool end;
    const size_t size = records_valid(r, &end);

    lb_json_walk_window(&r->walk, r->text.data, size, end, from);
}

/* A record that fills the window is looked at again only when the window has doubled. What fails here fails again, with
 * an error, if the record still needs more. */
static void records_double(js_records *r, size_t size)
{
    while (!r->text.end && r->text.size < size && lb_text_more(&r->text, 0, NULL) == LB_OK)
        ;
}

static lb_status records_more(js_records *r, size_t keep, lb_error *err)
{
    LB_TRY(lb_check_cancel(r->cx, err));
    (void)js_records_marked(r); /* the window may leave it */
    records_count_lines(r, keep);
    const size_t kept = r->text.size - keep;
    lb_status status = lb_text_more(&r->text, keep, err);
    if (status == LB_BUDGET && err != NULL) {
        err->row = (int64_t)r->row;
        err->line = (int64_t)r->line;
    }
    LB_TRY(status);
    records_double(r, 2 * kept);
    records_window(r, 0);
    return LB_OK;
}

/* The walk wants more than there is. Invalid text ends what can be had. */
static lb_status records_want(js_records *r, lb_error *err)
{
    if (r->text.bad_at != UINT64_MAX)
        return lb_text_fail(&r->text, (int64_t)r->row,
                            (int64_t)js_records_line(r, (size_t)(r->text.bad_at - r->text.at)), err);
    return records_more(r, r->walk.start, err);
}

/* ---------------------------------------------------------------- opening */

lb_status js_records_open(js_records *r, lb_context *cx, lb_store *store, const char *encoding, lb_json_layout layout,
                          uint64_t offset, uint64_t row, uint64_t line, size_t chunk, lb_error *err)
{
    *r = (js_records){ .cx = cx, .row = row, .line = line, .mark_offset = offset };
    LB_TRY(lb_text_open(&r->text, cx, store, offset, encoding, chunk, err));
    lb_json_walk_init(&r->walk, layout);
    records_window(r, 0);
    return LB_OK;
}

void js_records_lend(js_records *r, lb_context *cx, lb_store *store, lb_json_layout layout, const uint8_t *data,
                     size_t size, uint64_t offset, uint64_t row, uint64_t line)
{
    *r = (js_records){ .cx = cx, .row = row, .line = line, .mark_offset = offset };
    lb_text_lend(&r->text, cx, store, data, size, offset);
    lb_json_walk_init(&r->walk, layout);
    records_window(r, 0);
}

void js_records_close(js_records *r)
{
    lb_text_close(&r->text);
}

/* Without a byte but blanks it is no array. */
static lb_status records_is_array(js_records *r, size_t at, bool *array, lb_error *err)
{
    for (;; at++) {
        while (at >= r->text.size && !r->text.end)
            LB_TRY(records_more(r, 0, err));
        if (at >= r->text.size)
            break;
        const uint8_t c = r->text.data[at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            *array = c == '[';
            return LB_OK;
        }
    }
    *array = false;
    return LB_OK;
}

lb_status js_records_begin(js_records *r, bool may_array, lb_error *err)
{
    bool array = false;
    size_t from = 0;

    while (r->text.size < sizeof records_bom && !r->text.end)
        LB_TRY(records_more(r, 0, err));
    if (r->text.size >= sizeof records_bom && memcmp(r->text.data, records_bom, sizeof records_bom) == 0)
        from = sizeof records_bom;
    if (may_array)
        LB_TRY(records_is_array(r, from, &array, err));
    lb_json_walk_init(&r->walk, array ? LB_JSON_ARRAY : LB_JSON_LINES);
    records_window(r, from);
    return LB_OK;
}

/* ---------------------------------------------------------------- errors */

lb_where js_records_where(js_records *r, const uint8_t *at)
{
    const size_t place = (size_t)(at - r->text.data);

    return (lb_where){ .offset = (int64_t)lb_text_offset(&r->text, r->text.at + place),
                       .row = (int64_t)r->row - 1,
                       .line = (int64_t)js_records_line(r, place) };
}

static lb_status records_fail(js_records *r, lb_json_reason reason, const uint8_t *at, int64_t row, lb_error *err)
{
    lb_where where = js_records_where(r, at);

    where.row = row;
    lb_fail(err, LB_CORRUPT, where, "this is no JSON: %s", lb_json_reason_text(reason));
    if (reason == LB_JSON_TOO_DEEP)
        lb_fail_hint(err, "%d levels are read", LB_JSON_DEPTH);
    return LB_CORRUPT;
}

lb_status js_records_fail(js_records *r, const lb_json_cursor *c, lb_error *err)
{
    return records_fail(r, c->reason, c->bad_at, (int64_t)r->row - 1, err);
}

/* ---------------------------------------------------------------- reading */

/* The walk stopped. *again: there is more to look at. */
static lb_status records_stopped(js_records *r, lb_json_step step, bool *again, lb_error *err)
{
    *again = step == LB_JSON_MORE;
    if (step == LB_JSON_MORE || (step == LB_JSON_END && r->text.bad_at != UINT64_MAX))
        return records_want(r, err);
    if (step != LB_JSON_BAD)
        return LB_OK;
    r->torn = r->walk.reason == LB_JSON_CUT && r->walk.end;
    r->arrays = r->walk.reason == LB_JSON_BEHIND && r->text.data[r->walk.bad_at] == '[';
    return r->torn ? LB_OK : records_fail(r, r->walk.reason, r->text.data + r->walk.bad_at, (int64_t)r->row, err);
}

lb_status js_records_next(js_records *r, bool *got, lb_error *err)
{
    for (bool again = true; again;) {
        const lb_json_step step = lb_json_walk_next(&r->walk);
        *got = step == LB_JSON_VALUE;
        if (*got) {
            r->row++;
            return LB_OK;
        }
        LB_TRY(records_stopped(r, step, &again, err));
    }
    return LB_OK;
}

lb_status js_records_skip(js_records *r, uint64_t count, uint64_t *passed, lb_error *err)
{
    bool again = true;

    *passed = 0;
    while (*passed < count && again) {
        uint64_t n;
        const lb_json_step step = lb_json_walk_skip(&r->walk, count - *passed, &n);
        *passed += n;
        r->row += n;
        if (n != 0)
            js_records_mark(r);
        if (step != LB_JSON_VALUE)
            LB_TRY(records_stopped(r, step, &again, err));
    }
    return LB_OK;
}

void js_records_place(js_records *r, uint64_t *offset, uint64_t *line)
{
    *offset = lb_text_offset(&r->text, r->text.at + r->walk.at);
    *line = js_records_line(r, r->walk.at);
}
