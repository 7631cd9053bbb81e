/* A file of delimited text by several threads (format/portions.h): where records are likely to begin, how they are walked, and how
 * what each part holds is put together. */
#include <stdlib.h>

#include "base/utf8.h"
#include "format/delimited/delimited_survey.h"
#include "format/portions.h"

#define CHUNK_PIECE ((size_t)256 << 10)
#define CHUNK_TAIL ((size_t)16 << 10) /* bytes behind a part that are read for its last record, at first */
#define CHUNK_GUESS_RECORDS 64
#define CHUNK_MARK_ROWS 1024

/* Where a record begins and where the one before it ends, so many lines behind the beginning of the part's records. */
typedef struct chunk_mark {
    size_t at, before;
    uint64_t lines;
} chunk_mark;

/* What a part has of ours. */
typedef struct chunk {
    lb_buf marks;  /* of chunk_mark, one every CHUNK_MARK_ROWS rows */
    survey survey; /* of the part */
} chunk;

/* ---------------------------------------------------------------- guessing */

/* What speaks against records that begin at `from`: fields that a writer would not have written so, records of another width. */
static size_t chunk_objections(const survey *s, const lb_portion *p, size_t from, size_t size)
{
    const int quote = s->r->dialect.quote;
    delim_scanner scan;
    delim_step step;
    size_t objections = 0;

    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    delim_window(&scan, lb_portion_data(p), size, false, from);
    for (unsigned n = 0; n < CHUNK_GUESS_RECORDS; n++) {
        if (delim_next(&scan, &step, NULL) != LB_OK || step != DELIM_RECORD)
            break;
        objections += scan.n_fields != s->width && !(s->r->dialect.ragged_null && scan.n_fields < s->width);
        for (size_t i = 0; i < scan.n_fields; i++) {
            const delim_field *f = &scan.fields[i];
            bool quoted = (f->flags & DELIM_QUOTED) != 0;
            objections += quoted ? (f->flags & DELIM_DIRTY) != 0 && f->p[f->size - 1] != (uint8_t)quote
                                 : f->size != 0 && memchr(f->p, quote, f->size) != NULL;
        }
    }
    delim_scanner_free(&scan);
    return objections;
}

/* Where the first record begins if the part begins inside quotes or outside; LB_PORTION_UNKNOWN: not in the bytes at hand. */
static size_t chunk_first(const survey *s, const lb_portion *p, size_t size, bool quoted)
{
    const uint8_t before = lb_portion_data(p)[-1];
    delim_scanner scan;
    size_t first = LB_PORTION_UNKNOWN;

    if (!quoted && (before == '\n' || (before == '\r' && lb_portion_data(p)[0] != '\n')))
        return lb_portion_pass_breaks(p, 0, size);
    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    delim_window(&scan, lb_portion_data(p), size, false, 0);
    if (delim_skip_open(&scan, quoted))
        first = lb_portion_pass_breaks(p, scan.start, size);
    delim_scanner_free(&scan);
    return first;
}

/* Where the part's first record is likely to begin. */
static size_t chunk_guess(void *user, const lb_portion *p)
{
    const survey *s = user;
    const size_t size = LB_MIN(p->filled, p->size), outside = chunk_first(s, p, size, false);

    if (s->r->dialect.quote < 0 || memchr(lb_portion_data(p), s->r->dialect.quote, size) == NULL)
        return outside;
    size_t inside = chunk_first(s, p, size, true);
    if (inside == LB_PORTION_UNKNOWN || outside == LB_PORTION_UNKNOWN) {
        if (size < p->size)
            return LB_PORTION_UNKNOWN;
        return outside == LB_PORTION_UNKNOWN ? inside : outside;
    }
    return chunk_objections(s, p, inside, size) < chunk_objections(s, p, outside, size) ? inside : outside;
}

/* ---------------------------------------------------------------- walking */

/* Records and lines passed are counted; marks are set before every so many rows. False: a record does not fit. */
static bool chunk_pass(const survey *s, lb_portion *p, delim_scanner *scan, uint64_t most)
{
    chunk *c = p->own;
    bool more = true;

    while (more) {
        const size_t before = scan->after;
        delim_skip_blank(scan);
        p->lines += lb_portion_lines(p, before, scan->after);
        if (p->rows % CHUNK_MARK_ROWS == 0 &&
            lb_buf_append(&c->marks, &(chunk_mark){ scan->after, p->last_after, p->lines }, sizeof(chunk_mark), NULL) !=
                LB_OK)
            return false;
        uint64_t want = LB_MIN(most, CHUNK_MARK_ROWS - p->rows % CHUNK_MARK_ROWS);
        uint64_t n = delim_skip_fitting(scan, want, s->width, s->r->dialect.ragged_null);
        /* The mark stands at a record that was not passed: it is set again when that is. */
        if (n == 0 && p->rows % CHUNK_MARK_ROWS == 0)
            c->marks.size -= sizeof(chunk_mark);
        p->rows += n;
        p->lines += scan->lines_passed;
        p->last_after = n != 0 ? scan->after : p->last_after;
        most -= n;
        more = n == want && most != 0;
    }
    return !scan->unfit;
}

/* Text up to `to`, between two characters, is valid; it is up to *checked. */
static bool chunk_check(const lb_portion *p, size_t to, size_t *checked)
{
    const size_t size = to - *checked, valid = lb_utf8_valid_prefix(lb_portion_data(p) + *checked, size);

    *checked = to;
    return valid == size;
}

/* The records that end in the part, read piece by piece while what was read is still near the processor. */
static bool chunk_walk_inside(const survey *s, lb_portion *p, delim_scanner *scan, size_t *checked)
{
    for (size_t from = p->from;; from = scan->after) {
        const size_t size = LB_MIN(p->filled, p->size);
        delim_window(scan, lb_portion_data(p), size, false, from);
        if (!chunk_pass(s, p, scan, UINT64_MAX) || !chunk_check(p, scan->after, checked))
            return false;
        if (size == p->size)
            return true;
        if (!lb_portion_fill(p, LB_MIN(p->filled + CHUNK_PIECE, p->size)))
            return false;
    }
}

/* The record that begins in the part and ends behind it; as much again as the part is read for it. */
static bool chunk_walk_last(const survey *s, lb_portion *p, delim_scanner *scan)
{
    const size_t tail = LB_MIN(CHUNK_TAIL, p->size);
    const uint64_t rows = p->rows, left = p->store->size - p->at;

    for (size_t more = tail; more < p->size + tail && p->rows == rows; more *= 2) {
        if (!lb_portion_fill(p, (size_t)LB_MIN((uint64_t)(p->size + more), left)))
            return false;
        delim_window(scan, lb_portion_data(p), p->filled, false, scan->after);
        if (!chunk_pass(s, p, scan, 1))
            return false;
    }
    return p->rows != rows;
}

/* Blank lines up to the part's end belong to it; a CR LF is not cut. */
static bool chunk_walk_blank(lb_portion *p, const delim_scanner *scan)
{
    p->to = LB_MAX(scan->after, p->size);
    if (scan->after > p->size)
        return true;
    p->lines += lb_portion_lines(p, scan->after, p->size);
    if (!lb_portion_fill(p, p->size + 1))
        return false;
    p->to += lb_portion_data(p)[p->size - 1] == '\r' && lb_portion_data(p)[p->size] == '\n';
    return true;
}

static bool chunk_walk(void *user, lb_portion *p)
{
    const survey *s = user;
    chunk *c = p->own;
    size_t checked = p->from;
    delim_scanner scan;

    c->marks.size = 0;
    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    bool good = chunk_walk_inside(s, p, &scan, &checked);
    /* More than one where the part ends within what may be a delimiter: the window was not decided up to there. */
    while (good && lb_portion_pass_breaks(p, scan.after, p->size) != LB_PORTION_UNKNOWN)
        good = chunk_walk_last(s, p, &scan);
    if (good)
        good = chunk_walk_blank(p, &scan);
    delim_scanner_free(&scan);
    return good && chunk_check(p, p->to, &checked);
}

/* ---------------------------------------------------------------- values */

/* Where only structure is wanted, blocks begin so many rows behind a mark. */
static lb_status chunk_find_starts(const survey *s, lb_portion *p, lb_error *err)
{
    chunk *c = p->own;
    const uint64_t stride = s->options->stride;
    const chunk_mark *marks = (const chunk_mark *)(const void *)c->marks.data;
    lb_status status = LB_OK;
    delim_scanner scan;

    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    for (uint64_t row = (stride - p->first_row % stride) % stride; row < p->rows && status == LB_OK; row += stride) {
        const chunk_mark *mark = &marks[row / CHUNK_MARK_ROWS];
        size_t at = mark->at, before = mark->before;
        uint64_t lines = mark->lines;
        if (row % CHUNK_MARK_ROWS != 0) {
            delim_window(&scan, lb_portion_data(p), p->to, true, at);
            (void)delim_skip_fitting(&scan, row % CHUNK_MARK_ROWS, s->width, s->r->dialect.ragged_null);
            at = scan.start;
            before = scan.after;
            lines += scan.lines_passed + lb_portion_lines(p, before, at);
        }
        survey_start start = { .first_row = p->first_row + row,
                               .first_line = p->first_line + lines,
                               .first_byte = p->at + at,
                               .before = p->at + before };
        survey_keep_bytes(&start, lb_portion_data(p) + at, p->to - at);
        status = lb_buf_append(&c->survey.starts, &start, sizeof start, err);
        if (row > UINT64_MAX - stride)
            break;
    }
    delim_scanner_free(&scan);
    return status;
}

/* Columns as the whole survey has them, with nothing seen. */
static lb_status chunk_columns(const survey *s, survey *part, lb_error *err)
{
    part->column_bytes.size = 0;
    LB_TRY(lb_buf_reserve(&part->column_bytes, s->width * sizeof *part->columns, err));
    part->columns = (survey_column *)(void *)part->column_bytes.data;
    for (size_t i = 0; i < s->width; i++) {
        part->columns[i] = (survey_column){ .bounds = s->columns[i].bounds, .declared = s->columns[i].declared };
        part->columns[i].declared.bounds = (survey_bounds){ .any = false };
    }
    part->width = s->width;
    part->has_width = true;
    part->open_bytes.size = part->closed.size = 0;
    return survey_widen_block(part, s->width, err);
}

static lb_status chunk_take_in(const survey *s, const lb_portion *p, lb_error *err)
{
    survey *part = &((chunk *)p->own)->survey;
    bool got = true;

    LB_TRY(chunk_columns(s, part, err));
    part->rows = p->first_row;
    delim_records_lend(&part->records, p->cx, p->store, &part->r->dialect, lb_portion_data(p) + p->from,
                       p->to - p->from, p->at + p->from, p->first_row, p->first_line);
    lb_status status = LB_OK;
    while (status == LB_OK && got) {
        status = survey_many(part, err);
        if (status == LB_OK)
            status = delim_records_next(&part->records, &got, err);
        if (status == LB_OK && got)
            status = survey_record(part, err);
    }
    delim_records_close(&part->records);
    if (status == LB_OK)
        status = survey_put_open(part, err);
    if (status == LB_OK && part->rows != p->first_row + p->rows)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a part of a file has %llu rows once and %llu rows again",
                       (unsigned long long)p->rows, (unsigned long long)(part->rows - p->first_row));
    return status;
}

static bool chunk_values(void *user, lb_portion *p)
{
    const survey *s = user;
    chunk *c = p->own;
    lb_error ignored = LB_ERROR_INIT;

    c->survey.starts.size = 0;
    c->survey.state_row = UINT64_MAX;
    if (p->rows == 0)
        return true;
    return (s->structure_only ? chunk_find_starts(s, p, &ignored) : chunk_take_in(s, p, &ignored)) == LB_OK;
}

/* ---------------------------------------------------------------- joining */

/* Columns as survey_put_open put them go into those of the open block. */
static lb_status chunk_join_open(survey *s, lb_cursor *c, lb_error *err)
{
    if (s->options->stats != LB_STATS_BLOCKS)
        return LB_OK;
    for (size_t i = 0; i < s->width; i++) {
        const survey_declared *declared = &s->columns[i].declared;
        survey_block_column *open = &s->open[i];
        delim_column more;
        survey_bounds bounds;
        if (!delim_state_next(c, &more))
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "the columns of a part of the file do not read");
        delim_column_merge(&open->seen, &more);
        if (declared->type == NULL)
            continue;
        const uint8_t *bytes = lb_cursor_take(c, sizeof bounds);
        if (bytes == NULL)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "the bounds of a part of the file do not read");
        memcpy(&bounds, bytes, sizeof bounds);
        survey_merge_bounds(&declared->target, &open->declared, &bounds);
    }
    return LB_OK;
}

static lb_status chunk_join_starts(survey *s, const lb_portion *p, uint64_t after, lb_error *err)
{
    const survey *part = &((chunk *)p->own)->survey;
    survey_start *starts = (survey_start *)(void *)part->starts.data;
    size_t n = part->starts.size / sizeof *starts;
    lb_cursor columns;

    s->block_width = s->width;
    lb_cursor_init(&columns, part->closed.data, part->closed.size, 0);
    LB_TRY(chunk_join_open(s, &columns, err));
    for (size_t i = 0; i < n; i++) {
        if (starts[i].first_row == p->first_row)
            starts[i].before = after;
        LB_TRY(survey_begin_block(s, &starts[i], err));
        LB_TRY(chunk_join_open(s, &columns, err));
        if (s->structure_only)
            LB_TRY(survey_take_state(s, starts[i].first_row, err));
    }
    return LB_OK;
}

/* The state in the part is of its own columns; those of the parts before it go in. */
static lb_status chunk_join_state(survey *s, const survey *part, lb_error *err)
{
    lb_cursor cursor;
    uint64_t row;
    uint32_t width;

    if (part->state_row == UINT64_MAX)
        return LB_OK;
    if (!delim_state_open((lb_str){ (const char *)part->state.data, part->state.size }, &cursor, &row, &width) ||
        width != s->width)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "the state of a part of the file does not read");
    LB_TRY(delim_state_begin(&s->state, row, width, err));
    for (size_t i = 0; i < width; i++) {
        delim_column seen = s->columns[i].seen, more;
        if (!delim_state_next(&cursor, &more))
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "the state of a part of the file does not read");
        delim_column_merge(&seen, &more);
        seen.nulls = row - delim_column_values(&seen);
        LB_TRY(delim_state_add(&s->state, &seen, err));
    }
    return LB_OK;
}

static lb_status chunk_join(void *user, lb_portion *p, uint64_t after, lb_error *err)
{
    survey *s = user;
    const survey *part = &((chunk *)p->own)->survey;

    /* Also the end of the last record, which lies behind the part: who reads on begins there. */
    survey_give_tap(s, p->at, lb_portion_data(p), p->to);
    if (p->rows == 0)
        return LB_OK;
    LB_TRY(chunk_join_starts(s, p, after, err));
    if (!s->structure_only)
        LB_TRY(chunk_join_state(s, part, err));
    for (size_t i = 0; i < s->width && !s->structure_only && s->options->stats != LB_STATS_BLOCKS; i++) {
        survey_column *to = &s->columns[i];
        const survey_column *from = &part->columns[i];
        delim_column_merge(&to->seen, &from->seen);
        if (to->declared.type != NULL)
            survey_merge_bounds(&to->declared.target, &to->declared.bounds, &from->declared.bounds);
    }
    s->rows += p->rows;
    return LB_OK;
}

/* ---------------------------------------------------------------- beginning and ending */

static lb_status chunk_open(void *user, lb_portion *p, lb_error *err)
{
    const survey *s = user;
    chunk *c = calloc(1, sizeof *c);

    p->own = c;
    if (c == NULL)
        return lb_fail_nomem(err);
    lb_buf_init(&c->marks, &p->cx->budget);
    survey_begin(&c->survey, s->r, s->options, s->arena);
    c->survey.part = true;
    return LB_OK;
}

static void chunk_close(void *user, lb_portion *p)
{
    chunk *c = p->own;

    (void)user;
    if (c == NULL)
        return;
    lb_buf_free(&c->marks);
    survey_free(&c->survey);
    free(c);
}

/* Is this a file that parts can be read of? */
static bool chunks_may(const survey *s)
{
    return s->has_width && !s->part && s->records.text.encoding == NULL && s->records.text.bad_at == UINT64_MAX &&
           s->options->sample_bytes == 0;
}

lb_status survey_chunks(survey *s, bool *odd, lb_error *err)
{
    static const lb_portions_work work = { chunk_open, chunk_close, chunk_guess, chunk_walk, chunk_values, chunk_join };
    lb_portions_place place = { .row = s->rows };

    *odd = false;
    if (!chunks_may(s))
        return LB_OK;
    delim_records_place(&s->records, &place.offset, &place.line);
    place.after = delim_records_marked(&s->records);
    const uint64_t offset = place.offset;
    LB_TRY(lb_read_portions(s->r->cx, s->r->store, &work, s, s->options->part, &place, odd, err));
    if (place.offset == offset)
        return LB_OK;
    /* The record reader goes on where the parts end. */
    delim_records_close(&s->records);
    LB_TRY(survey_open_records(s, place.offset, place.line, err));
    s->records.mark_offset = place.after;
    return LB_OK;
}
