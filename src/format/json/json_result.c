/* What comes of a survey besides types and statistics (format/seen.h). */
#include "format/json/json_survey.h"

/* The two pieces of a state as one node. */
static lb_status result_state_rows(survey *s, lb_seen **out, lb_error *err)
{
    lb_seen *more;
    lb_cursor c;

    lb_cursor_init(&c, s->state.data, s->state.size, 0);
    LB_TRY(lb_seen_get(&c, &s->nodes, out, err));
    if (s->state_more.size == 0)
        return LB_OK;
    lb_seen *rows = lb_seen_rows(&s->nodes, true);
    if (rows == NULL)
        return lb_arena_fail(&s->nodes, err);
    LB_TRY(lb_seen_merge(rows, *out, &s->nodes, err));
    lb_cursor_init(&c, s->state_more.data, s->state_more.size, 0);
    LB_TRY(lb_seen_get(&c, &s->nodes, &more, err));
    *out = rows;
    return lb_seen_merge(rows, more, &s->nodes, err);
}

static lb_status result_keep_state(survey *s, lb_entry *out, lb_error *err)
{
    lb_seen_state state = { .row = s->state_row,
                            .torn = s->torn,
                            .torn_row = s->torn_row,
                            .torn_line = s->torn_line,
                            .torn_byte = s->torn_byte };
    lb_buf bytes;

    if (s->state_row == UINT64_MAX && !s->torn)
        return LB_OK;
    if (s->state_row != UINT64_MAX)
        LB_TRY(result_state_rows(s, &state.rows, err));
    lb_buf_init(&bytes, s->arena->budget);
    lb_status status = lb_seen_state_put(&state, &bytes, err);
    if (status == LB_OK) {
        out->open_state = (lb_str){ lb_arena_dup(s->arena, bytes.data, bytes.size), bytes.size };
        status = out->open_state.at == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

/* Text of another encoding is said to be so; all other dialects are JSON's own. */
static lb_status result_keep_dialect(survey *s, lb_entry *out, lb_error *err)
{
    const char *encoding = s->r->encoding;

    if (encoding[0] == '\0')
        return LB_OK;
    out->has_dialect = true;
    out->dialect = (lb_dialect){ .delimiter = LB_STR(","),
                                 .quote = '"',
                                 .escape = '\\',
                                 .encoding = { lb_arena_copy(s->arena, lb_str_of(encoding)), strlen(encoding) },
                                 .bom_bytes = (uint8_t)s->r->bom_bytes,
                                 .sheet = -1,
                                 .header_row = -1 };
    return out->dialect.encoding.at == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- the place of a key */

/* Before the row that an offset lies in, or one before it: at its block, which begins *base bytes into the file. Other
 * encodings count bytes of the text that UTF-8 is made of, from its beginning. */
static lb_status result_reopen(const survey *s, const lb_blocks *b, uint64_t offset, js_records *r, uint64_t *base)
{
    const lb_reader *reader = s->r;
    uint64_t i = b->count;

    *base = 0;
    if (reader->encoding[0] != '\0') {
        LB_TRY(js_records_open(r, reader->cx, reader->store, reader->encoding, LB_JSON_LINES, 0, 0, 1, 0, NULL));
        return s->base_offset != 0 ? LB_NOTFOUND : js_records_begin(r, s->array, NULL);
    }
    while (i != 0 && b->first_byte[i - 1] > offset)
        i--;
    if (i-- == 0)
        return LB_NOTFOUND;
    *base = b->first_byte[i];
    return js_records_open(r, reader->cx, reader->store, reader->encoding, s->array ? LB_JSON_ELEMENTS : LB_JSON_LINES,
                           *base, b->first_row[i], b->first_line[i], 0, NULL);
}

/* A key that names no column is known by its byte alone: what row and line that is in is found by reading on from where its block
 * begins. Where that fails the byte has to do. */
static void result_place(const survey *s, const lb_blocks *b, lb_error *err)
{
    js_records r = { 0 };
    uint64_t base;
    bool got = true;

    if (err == NULL || err->code != LB_UNSUPPORTED || err->offset < 0 || err->row >= 0)
        return;
    lb_status status = result_reopen(s, b, (uint64_t)err->offset, &r, &base);
    const uint64_t place = (uint64_t)err->offset - base;
    while (status == LB_OK && got) {
        status = js_records_next(&r, &got, NULL);
        if (status != LB_OK || !got || place >= r.text.at + r.walk.stop)
            continue;
        if (place >= r.text.at + r.walk.start) {
            const lb_where where = js_records_where(&r, r.text.data + (place - r.text.at));
            err->offset = where.offset;
            err->row = where.row;
            err->line = where.line;
        }
        got = false;
    }
    js_records_close(&r);
}

/* ---------------------------------------------------------------- all */

lb_status js_survey_result(survey *s, lb_entry *out, lb_error *err)
{
    const lb_seen_result result = { .cx = s->r->cx,
                                    .path = s->r->store->path,
                                    .read = s->r->options,
                                    .options = s->options,
                                    .text = s->r->text,
                                    .arena = s->arena,
                                    .rows = s->seen,
                                    .n_rows = s->rows,
                                    .closed = s->closed,
                                    .n_closed = s->n_closed };

    LB_TRY(lb_block_builder_finish(&s->blocks, s->arena, &out->blocks, err));
    lb_status status = lb_seen_finish(&result, out, err);
    if (status != LB_OK) {
        result_place(s, &out->blocks, err);
        return status;
    }
    LB_TRY(result_keep_dialect(s, out, err));
    return result_keep_state(s, out, err);
}
