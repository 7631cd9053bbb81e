/* A file of delimited text by several threads (format/portions.h): where records are likely to begin, how they are walked, and how
 * what each part holds is put together. */
#include <stdlib.h>

#include "base/utf8.h"
#include "format/delimited/delimited_survey.h"
#include "format/portions.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define CHUNK_COLUMN ((size_t)16 << 10)
#define CHUNK_MOST ((size_t)4 << 20)
#define CHUNK_PIECE ((size_t)256 << 10)
#define CHUNK_TAIL ((size_t)4 << 10) /* so many bytes more than a record usually has are read behind a part at first */
#define CHUNK_LONG_TAIL ((size_t)64 << 10)
#define CHUNK_GUESS_RECORDS 64 /* that are looked at, if the first few do not tell */
#define CHUNK_GUESS_FEW 8
#define CHUNK_MARK_ROWS 1024

/* What a part has of ours. */
typedef struct chunk {
    lb_buf marks;  /* of lb_portion_mark, one every CHUNK_MARK_ROWS rows or a few more */
    survey survey; /* of the part */
} chunk;

/* ---------------------------------------------------------------- guessing */

/* What speaks against records that begin at `from`: fields that a writer would not have written so, records of another width. */
static size_t chunk_objections(const survey *s, const lb_portion *p, size_t from, size_t size, unsigned records)
{
    const int quote = s->r->dialect.quote;
    delim_scanner scan;
    delim_step step;
    size_t objections = 0;

    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    delim_window(&scan, lb_portion_data(p), size, false, from);
    for (unsigned n = 0; n < records; n++) {
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

/* A part that begins inside quotes may begin between two that stand for one: then the second one is passed. By the byte behind all
 * quotes in a row it can be told, for one of them closes the field where a delimiter or a line end follows. */
static size_t chunk_pass_half(const survey *s, const lb_portion *p, size_t size)
{
    const uint8_t *data = lb_portion_data(p), quote = (uint8_t)s->r->dialect.quote;
    size_t n = 0;

    if (data[-1] != quote)
        return 0;
    while (n < size && data[n] == quote)
        n++;
    if (n == 0 || n == size)
        return 0;
    const bool closes = data[n] == '\n' || data[n] == '\r' || data[n] == s->r->dialect.delimiter[0];
    return (n % 2 == 1) != closes ? 1 : 0;
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
    delim_window(&scan, lb_portion_data(p), size, false, quoted ? chunk_pass_half(s, p, size) : 0);
    if (delim_skip_open(&scan, quoted))
        first = lb_portion_pass_breaks(p, scan.start, size);
    delim_scanner_free(&scan);
    return first;
}

/* Does less speak against records that begin at one place than at another? */
static bool chunk_likelier(const survey *s, const lb_portion *p, size_t one, size_t other, size_t size)
{
    for (unsigned records = CHUNK_GUESS_FEW;; records = CHUNK_GUESS_RECORDS) {
        const size_t against = chunk_objections(s, p, one, size, records),
                     otherwise = chunk_objections(s, p, other, size, records);
        if (against != otherwise || records == CHUNK_GUESS_RECORDS)
            return against < otherwise;
    }
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
    return chunk_likelier(s, p, inside, outside, size) ? inside : outside;
}

/* ---------------------------------------------------------------- walking */

/* Columns as the whole survey has them, with nothing seen. What those have seen may be changing. */
static lb_status chunk_columns(const survey *s, survey *part, lb_error *err)
{
    part->column_bytes.size = 0;
    LB_TRY(lb_buf_reserve(&part->column_bytes, s->width * sizeof *part->columns, err));
    part->columns = (survey_column *)(void *)part->column_bytes.data;
    for (size_t i = 0; i < s->width; i++) {
        const survey_declared *declared = &s->columns[i].declared;
        part->columns[i] = (survey_column){ .name = s->columns[i].name,
                                            .bounds = s->columns[i].bounds,
                                            .declared = { .type = declared->type, .target = declared->target } };
    }
    part->width = s->width;
    part->has_width = true;
    part->open_bytes.size = part->closed.size = 0;
    return survey_widen_block(part, s->width, err);
}

/* Are values taken in while the records are walked? Those of blocks only where it is known which rows they are. */
static bool chunk_in_one(const survey *s, const lb_portion *p)
{
    return p->certain && !s->structure_only && s->options->stats != LB_STATS_BLOCKS;
}

static bool chunk_mark_due(const lb_portion *p)
{
    const chunk *c = p->own;
    const size_t n = c->marks.size / sizeof(lb_portion_mark);

    return n == 0 || p->rows - ((const lb_portion_mark *)(const void *)c->marks.data)[n - 1].row >= CHUNK_MARK_ROWS;
}

/* Set a mark at the record at hand. */
static bool chunk_mark_record(lb_portion *p, const delim_scanner *scan)
{
    chunk *c = p->own;
    const lb_portion_mark mark = { scan->after, p->last_after, p->rows, p->lines };

    return lb_buf_append(&c->marks, &mark, sizeof mark, NULL) == LB_OK;
}

/* So many records were passed behind the mark that may have been set. One at a record that was not passed is taken away: it is set
 * again when that is, for blank lines may stand before it. */
static void chunk_passed(lb_portion *p, const delim_scanner *scan, uint64_t n, bool marked)
{
    chunk *c = p->own;

    if (n == 0 && marked)
        c->marks.size -= sizeof(lb_portion_mark);
    p->rows += n;
    p->last_after = n != 0 ? scan->after : p->last_after;
}

/* Records and lines passed are counted. False: a record does not fit. */
static bool chunk_pass(const survey *s, lb_portion *p, delim_scanner *scan, uint64_t most)
{
    bool more = true;

    while (more) {
        const size_t before = scan->after;
        delim_skip_blank(scan);
        p->lines += lb_portion_lines(p, before, scan->after);
        const bool marked = chunk_mark_due(p);
        if (marked && !chunk_mark_record(p, scan))
            return false;
        const uint64_t want = LB_MIN(most, CHUNK_MARK_ROWS),
                       n = delim_skip_fitting(scan, want, s->width, s->r->dialect.ragged_null);
        p->lines += scan->lines_passed;
        chunk_passed(p, scan, n, marked);
        most -= n;
        more = n == want && most != 0;
    }
    return !scan->unfit;
}

static bool chunk_fits(const survey *s, const delim_scanner *scan)
{
    return scan->n_fields == s->width || (scan->n_fields < s->width && s->r->dialect.ragged_null);
}

/* Take in the next record or many; *more false: it is not whole in the window. */
static bool chunk_take_next(const survey *s, survey *part, uint64_t most, bool *more)
{
    delim_scanner *scan = &part->records.scan;
    const uint64_t rows = part->rows;
    delim_step step;

    if (survey_many(part, most, NULL) != LB_OK)
        return false;
    if (part->rows != rows)
        return true;
    if (delim_next(scan, &step, NULL) != LB_OK)
        return false;
    *more = step == DELIM_RECORD;
    if (!*more)
        return true;
    return chunk_fits(s, scan) && survey_record(part, NULL) == LB_OK;
}

/* Records are taken in. False: one does not fit. */
static bool chunk_take(const survey *s, lb_portion *p, delim_scanner *scan, uint64_t most)
{
    survey *part = &((chunk *)p->own)->survey;
    size_t counted = scan->after;
    bool more = true;

    while (more && most != 0) {
        const bool marked = chunk_mark_due(p);
        if (marked) {
            delim_skip_blank(scan);
            p->lines += lb_portion_lines(p, counted, scan->after);
            counted = scan->after;
        }
        if ((marked && !chunk_mark_record(p, scan)) || !chunk_take_next(s, part, most, &more))
            return false;
        const uint64_t n = part->rows - p->rows;
        chunk_passed(p, scan, n, marked);
        most -= n;
    }
    p->lines += lb_portion_lines(p, counted, scan->after);
    return true;
}

/* The records of a window, `most` of them at most. */
static bool chunk_walk_window(const survey *s, lb_portion *p, size_t size, size_t from, uint64_t most)
{
    delim_records *r = &((chunk *)p->own)->survey.records;

    r->text.data = lb_portion_data(p);
    r->text.size = size;
    delim_window(&r->scan, lb_portion_data(p), size, false, from);
    return chunk_in_one(s, p) ? chunk_take(s, p, &r->scan, most) : chunk_pass(s, p, &r->scan, most);
}

/* Text is valid up to *checked, and now up to `size` but for a character that may be cut there. */
static bool chunk_check_text(const lb_portion *p, size_t *checked, size_t size)
{
    if (size <= *checked)
        return true;
    *checked += lb_utf8_valid_prefix(lb_portion_data(p) + *checked, size - *checked);
    return size - *checked <= lb_utf8_cut_tail(lb_portion_data(p) + *checked, size - *checked);
}

/* The records that end in the part, read piece by piece while what was read is still near the processor. */
static bool chunk_walk_inside(const survey *s, lb_portion *p, size_t *checked)
{
    const delim_scanner *scan = &((chunk *)p->own)->survey.records.scan;

    size_t size = LB_MIN(LB_MIN(p->filled, p->size), LB_MAX(p->from + 1, CHUNK_PIECE));

    for (size_t from = p->from;; from = scan->after) {
        if (!chunk_check_text(p, checked, size) || !chunk_walk_window(s, p, size, from, UINT64_MAX))
            return false;
        if (size == p->size)
            return true;
        size = LB_MIN(size + CHUNK_PIECE, p->size);
        if (!lb_portion_fill(p, size))
            return false;
    }
}

/* The record that begins in the part and ends behind it; as much again as the part is read for it. */
static bool chunk_walk_last(const survey *s, lb_portion *p, size_t *checked)
{
    const delim_scanner *scan = &((chunk *)p->own)->survey.records.scan;
    const size_t usual = (size_t)LB_MIN(p->size / (p->rows + 1), CHUNK_LONG_TAIL),
                 tail = LB_MIN(usual + CHUNK_TAIL, p->size);
    const uint64_t rows = p->rows, left = p->store->size - p->at;

    for (size_t more = tail; more < p->size + tail && p->rows == rows; more *= 2) {
        if (!lb_portion_fill(p, (size_t)LB_MIN((uint64_t)(p->size + more), left)))
            return false;
        if (!chunk_check_text(p, checked, p->filled) || !chunk_walk_window(s, p, p->filled, scan->after, 1))
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

static bool chunk_walk_all(const survey *s, lb_portion *p)
{
    const delim_scanner *scan = &((chunk *)p->own)->survey.records.scan;
    size_t checked = p->from;

    if (!chunk_walk_inside(s, p, &checked))
        return false;
    /* More than one where the part ends within what may be a delimiter: the window was not decided up to there. */
    while (lb_portion_pass_breaks(p, scan->after, p->size) != LB_PORTION_UNKNOWN)
        if (!chunk_walk_last(s, p, &checked))
            return false;
    return chunk_walk_blank(p, scan) && chunk_check_text(p, &checked, p->to) && checked >= p->to;
}

static bool chunk_walk(void *user, lb_portion *p)
{
    const survey *s = user;
    chunk *c = p->own;
    survey *part = &c->survey;

    c->marks.size = 0;
    part->loose = chunk_in_one(s, p);
    part->rows = part->single = 0;
    if (part->loose && chunk_columns(s, part, NULL) != LB_OK)
        return false;
    delim_records_lend(&part->records, p->cx, p->store, &part->r->dialect, lb_portion_data(p), p->filled, p->at, 0, 1);
    const bool good = chunk_walk_all(s, p);
    delim_records_close(&part->records);
    return good;
}

/* ---------------------------------------------------------------- values */

static survey_start chunk_find_start(const survey *s, const lb_portion *p, delim_scanner *scan, uint64_t row)
{
    const lb_portion_mark *mark = lb_portion_find_mark(&((const chunk *)p->own)->marks, row);
    size_t at = mark->at, before = mark->before;
    uint64_t lines = mark->lines;

    if (row != mark->row) {
        delim_window(scan, lb_portion_data(p), p->to, true, at);
        (void)delim_skip_fitting(scan, row - mark->row, s->width, s->r->dialect.ragged_null);
        at = scan->start;
        before = scan->after;
        lines += scan->lines_passed + lb_portion_lines(p, before, at);
    }
    survey_start start = { .first_row = p->first_row + row,
                           .first_line = p->first_line + lines,
                           .first_byte = p->at + at,
                           .before = p->at + before };
    survey_keep_bytes(&start, lb_portion_data(p) + at, p->to - at);
    return start;
}

/* Blocks begin so many rows behind a mark. */
static lb_status chunk_find_starts(const survey *s, lb_portion *p, lb_error *err)
{
    chunk *c = p->own;
    const uint64_t stride = s->options->stride;
    lb_status status = LB_OK;
    delim_scanner scan;

    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    for (uint64_t row = (stride - p->first_row % stride) % stride; row < p->rows && status == LB_OK; row += stride) {
        const survey_start start = chunk_find_start(s, p, &scan, row);
        status = lb_buf_append(&c->survey.starts, &start, sizeof start, err);
        if (row > UINT64_MAX - stride)
            break;
    }
    delim_scanner_free(&scan);
    return status;
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
        status = survey_many(part, UINT64_MAX, err);
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
    if (p->rows == 0)
        return true;
    if (s->structure_only || chunk_in_one(s, p))
        return chunk_find_starts(s, p, &ignored) == LB_OK;
    return chunk_take_in(s, p, &ignored) == LB_OK;
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

/* The last state of those that begin in the part is owed: what columns have seen before the part is kept, and that they are to see
 * the part's rows before it. Few such states are the file's last, which is the one that counts. */
static lb_status chunk_join_state(survey *s, const lb_portion *p, lb_error *err)
{
    const survey *part = &((chunk *)p->own)->survey;
    const survey_start *starts = (const survey_start *)(const void *)part->starts.data;
    size_t n = part->starts.size / sizeof *starts;

    while (n != 0 && !survey_state_due(s, starts[n - 1].first_row))
        n--;
    if (n == 0)
        return LB_OK;
    s->owed.any = true;
    s->owed.row = starts[n - 1].first_row;
    s->owed.rows = s->owed.row - p->first_row;
    s->owed.offset = p->at + p->from;
    s->owed.seen.size = 0;
    for (size_t i = 0; i < s->width; i++)
        LB_TRY(lb_buf_append(&s->owed.seen, &s->columns[i].seen, sizeof s->columns[i].seen, err));
    return LB_OK;
}

static lb_status chunk_join(void *user, lb_portion *p, uint64_t after, lb_error *err)
{
    survey *s = user;
    const survey *part = &((chunk *)p->own)->survey;

    lb_tapped_give_part(&s->tapped, p);
    if (p->rows == 0)
        return LB_OK;
    LB_TRY(chunk_join_starts(s, p, after, err));
    if (!s->structure_only)
        LB_TRY(chunk_join_state(s, p, err));
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

/* ---------------------------------------------------------------- a state that is owed */

/* Take in the rows that the state lacks. */
static lb_status chunk_see_owed(const survey *s, survey *part, lb_error *err)
{
    while (part->rows != s->owed.rows) {
        const uint64_t rows = part->rows;
        bool got;
        LB_TRY(survey_many(part, s->owed.rows - rows, err));
        if (part->rows != rows)
            continue;
        LB_TRY(delim_records_next(&part->records, &got, err));
        if (!got || !chunk_fits(s, &part->records.scan))
            return lb_fail(err, LB_STALE, LB_AT(s->owed.offset), "the file changed while it was read");
        LB_TRY(survey_record(part, err));
    }
    return LB_OK;
}

static lb_status chunk_put_owed(survey *s, const survey *part, lb_error *err)
{
    const uint64_t row = s->owed.row;
    delim_column *seen = (delim_column *)(void *)s->owed.seen.data;
    const size_t width = s->owed.seen.size / sizeof *seen;

    LB_TRY(delim_state_begin(&s->state, row, (uint32_t)width, err));
    for (size_t i = 0; i < width; i++) {
        delim_column_merge(&seen[i], &part->columns[i].seen);
        seen[i].nulls = row - delim_column_values(&seen[i]);
        LB_TRY(delim_state_add(&s->state, &seen[i], err));
    }
    return LB_OK;
}

lb_status survey_pay_state(survey *s, lb_error *err)
{
    survey part;

    if (!s->owed.any)
        return LB_OK;
    s->owed.any = false;
    survey_begin(&part, s->r, s->options, s->arena);
    part.part = part.loose = true;
    lb_status status = chunk_columns(s, &part, err);
    if (status == LB_OK)
        status = delim_records_open(&part.records, s->r->cx, s->r->store, &s->r->dialect, s->owed.offset, 0, 1,
                                    s->options->chunk, err);
    if (status == LB_OK)
        status = chunk_see_owed(s, &part, err);
    if (status == LB_OK)
        status = chunk_put_owed(s, &part, err);
    survey_free(&part);
    return status;
}

/* ---------------------------------------------------------------- beginning and ending */

/* What columns cost a part does not depend on its size. */
static size_t chunk_bytes(const survey *s)
{
    if (s->options->part != 0 || s->structure_only)
        return s->options->part;
    return LB_MIN(LB_MAX(s->width * CHUNK_COLUMN, CHUNK_BYTES), CHUNK_MOST);
}

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
    lb_text_keep(&s->records.text, s->records.text.at + s->records.scan.after);
    LB_TRY(lb_read_portions(s->r->cx, s->r->store, &work, s, chunk_bytes(s), &s->tapped, &place, odd, err));
    if (place.offset == offset)
        return LB_OK;
    /* The record reader goes on where the parts end, and the last record of theirs. */
    LB_TRY(lb_tapped_give_store(&s->tapped, s->r->store, place.offset, err));
    delim_records_close(&s->records);
    LB_TRY(survey_open_records(s, place.offset, place.line, err));
    s->records.mark_offset = place.after;
    return LB_OK;
}
