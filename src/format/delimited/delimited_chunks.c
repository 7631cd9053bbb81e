/* One file by several threads. The file is cut into chunks of equal size; a chunk's records are those that begin in it.
 *
 *   1. structure  Each chunk is read by some thread, which does not know whether the chunk begins inside quotes. It looks at the
 *                 first records under both assumptions, takes the one that fits better, and walks the records from there.
 *   2. placing    In order of the chunks: the records of a chunk are right when they begin where those of the chunk before it
 *                 end, for the same bytes from the same beginning give the same records. Where a chunk began elsewhere it is
 *                 walked again, from the right place. Now its first row and line are known.
 *   3. values     The values of the chunk are taken in, by any thread, as a survey of its own.
 *   4. joining    In order again: blocks, states and columns are put together, and the tap gets the bytes.
 *
 * So a wrong guess costs time and nothing else, and the outcome is that of reading record by record. A chunk that holds
 * something odd (a record of another width, invalid text, a record that does not end) ends all this: the rows before it are
 * joined, and the rest is left to that way of reading, which has the words for it. */
#include <pthread.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/utf8.h"
#include "format/delimited/delimited_survey.h"

#define CHUNK_BYTES ((size_t)4 << 20)
#define CHUNK_READ ((size_t)256 << 10)
#define CHUNK_LEAD 1                         /* bytes before the chunk that are kept: do they end a record? */
#define CHUNK_TAIL ((size_t)64 << 10)        /* bytes behind it that are read along: its last record goes on there */
#define CHUNK_GUESS_BYTES ((size_t)64 << 10) /* looked at under both assumptions */
#define CHUNK_GUESS_RECORDS 64
#define CHUNK_MARK_ROWS 1024
#define CHUNKS_A_THREAD 2 /* chunks at hand for every thread, and one more */
#define CHUNK_UNKNOWN SIZE_MAX

typedef enum chunk_state {
    CHUNK_FREE,
    CHUNK_AT_WORK,    /* some thread has it */
    CHUNK_STRUCTURED, /* 1 is done */
    CHUNK_AGAIN,      /* its records begin at `from`: 1 is to be done again */
    CHUNK_PLACED,     /* 2 is done */
    CHUNK_DONE        /* 3 is done */
} chunk_state;

/* Where a record begins and where the one before it ends, so many lines behind the beginning of the chunk's records. */
typedef struct chunk_mark {
    size_t at, before;
    uint64_t lines;
} chunk_mark;

typedef struct chunk {
    chunk_state state;
    bool odd;
    uint64_t at;   /* offset in the store */
    size_t size;   /* records that begin in so many bytes are the chunk's */
    lb_buf bytes;  /* CHUNK_LEAD bytes, then the chunk and what follows it, then padding */
    size_t filled; /* bytes read, less the lead */

    /* Positions count from `at`. */
    size_t from, to;      /* of the records; blank lines may stand before `to` where it lies at the chunk's end */
    size_t last_after;    /* behind the last record */
    uint64_t rows, lines; /* between them */
    lb_buf marks;         /* of chunk_mark, one every CHUNK_MARK_ROWS rows */
    uint64_t first_row, first_line;
    survey part;
} chunk;

typedef struct chunks {
    survey *s;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    chunk *slots;
    size_t n_slots;
    uint64_t at, size; /* of chunk 0; of each */
    uint64_t count;
    uint64_t begun, placed, joined; /* so many chunks were */
    uint64_t stop;                  /* no chunk from here on is wanted */
    bool joining;
    lb_status status; /* of what no other way of reading would mend */
    lb_error error;

    /* Behind the chunks that were placed, and behind those that were joined. */
    uint64_t row, line, offset;
    uint64_t left_row, left_line, left_offset, left_after;
} chunks;

static chunk *chunks_slot(chunks *all, uint64_t index)
{
    return &all->slots[index % all->n_slots];
}

static const uint8_t *chunk_data(const chunk *c)
{
    return c->bytes.data + CHUNK_LEAD;
}

/* Physical lines that end between two positions. A piece that was read may have ended between CR and LF. */
static uint64_t chunk_lines(const chunk *c, size_t from, size_t to)
{
    const uint8_t *p = chunk_data(c) + from;

    return lb_count_lines(p, to - from, p[-1] == '\r');
}

/* ---------------------------------------------------------------- reading */

/* Read on until `size` bytes of the chunk and what follows are there; the store may end before. */
static bool chunk_fill(const chunks *all, chunk *c, size_t size)
{
    while (c->filled < size) {
        size_t want = LB_MIN(size - c->filled, CHUNK_READ), got;
        if (lb_buf_reserve(&c->bytes, size - c->filled + LB_TEXT_PADDING, NULL) != LB_OK ||
            lb_check_cancel(all->s->r->cx, NULL) != LB_OK)
            return false;
        uint8_t *to = c->bytes.data + CHUNK_LEAD + c->filled;
        if (lb_store_read(all->s->r->store, c->at + c->filled, to, want, &got, NULL) != LB_OK || got == 0)
            return false;
        c->filled += got;
        c->bytes.size = CHUNK_LEAD + c->filled;
        memset(to + got, 0, LB_TEXT_PADDING);
    }
    return true;
}

static bool chunk_begin(const chunks *all, chunk *c, uint64_t index)
{
    size_t got;

    c->at = all->at + index * all->size;
    c->size = (size_t)all->size;
    c->filled = 0;
    c->odd = false;
    c->bytes.size = 0;
    if (lb_buf_reserve(&c->bytes, CHUNK_LEAD + c->size + LB_MIN(CHUNK_TAIL, c->size) + LB_TEXT_PADDING, NULL) != LB_OK)
        return false;
    c->bytes.size = CHUNK_LEAD;
    c->bytes.data[0] = '\n';
    if (index != 0 && (lb_store_read(all->s->r->store, c->at - 1, c->bytes.data, 1, &got, NULL) != LB_OK || got != 1))
        return false;
    return chunk_fill(all, c, LB_MIN(c->size, CHUNK_GUESS_BYTES));
}

/* ---------------------------------------------------------------- 1: structure */

/* What speaks against records that begin at `from`: fields that a writer would not have written so, records of another width. */
static size_t chunk_objections(const survey *s, const chunk *c, size_t from, size_t size)
{
    const int quote = s->r->dialect.quote;
    delim_scanner scan;
    delim_step step;
    size_t objections = 0;

    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    delim_window(&scan, chunk_data(c), size, false, from);
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

/* Line ends before a record are passed over; CHUNK_UNKNOWN where the bytes end before one begins. */
static size_t chunk_pass_blank(const chunk *c, size_t at, size_t size)
{
    const uint8_t *data = chunk_data(c);

    while (at < size && (data[at] == '\n' || data[at] == '\r'))
        at++;
    return at < size ? at : CHUNK_UNKNOWN;
}

/* Where the first record begins if the chunk begins inside quotes or outside; CHUNK_UNKNOWN: not in the bytes at hand. */
static size_t chunk_first(const survey *s, const chunk *c, size_t size, bool quoted)
{
    const uint8_t before = c->bytes.data[0];
    delim_scanner scan;
    size_t first = CHUNK_UNKNOWN;

    if (!quoted && (before == '\n' || (before == '\r' && chunk_data(c)[0] != '\n')))
        return chunk_pass_blank(c, 0, size);
    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    delim_window(&scan, chunk_data(c), size, false, 0);
    if (delim_skip_open(&scan, quoted))
        first = chunk_pass_blank(c, scan.start, size);
    delim_scanner_free(&scan);
    return first;
}

/* Where the chunk's first record is likely to begin. */
static size_t chunk_guess(const survey *s, const chunk *c)
{
    const size_t size = LB_MIN(c->filled, CHUNK_GUESS_BYTES), outside = chunk_first(s, c, size, false);

    if (s->r->dialect.quote < 0 || memchr(chunk_data(c), s->r->dialect.quote, size) == NULL)
        return outside;
    size_t inside = chunk_first(s, c, size, true);
    if (inside == CHUNK_UNKNOWN || outside == CHUNK_UNKNOWN)
        return outside == CHUNK_UNKNOWN ? inside : outside;
    return chunk_objections(s, c, inside, size) < chunk_objections(s, c, outside, size) ? inside : outside;
}

/* Records and lines passed are counted; marks are set before every so many rows. False: no memory for a mark. */
static bool chunk_pass(const survey *s, chunk *c, delim_scanner *scan, uint64_t most)
{
    bool more = true;

    while (more) {
        const size_t before = scan->after;
        delim_skip_blank(scan);
        c->lines += chunk_lines(c, before, scan->after);
        if (c->rows % CHUNK_MARK_ROWS == 0 &&
            lb_buf_append(&c->marks, &(chunk_mark){ scan->after, c->last_after, c->lines }, sizeof(chunk_mark), NULL) !=
                LB_OK)
            return false;
        uint64_t want = LB_MIN(most, CHUNK_MARK_ROWS - c->rows % CHUNK_MARK_ROWS);
        uint64_t n = delim_skip_fitting(scan, want, s->width, s->r->dialect.ragged_null);
        c->rows += n;
        c->lines += scan->lines_passed;
        c->last_after = n != 0 ? scan->after : c->last_after;
        most -= n;
        more = n == want && most != 0;
        /* The mark stands at a record that was not passed: it is set again when it is. */
        if (n == 0 && c->rows % CHUNK_MARK_ROWS == 0)
            c->marks.size -= sizeof(chunk_mark);
    }
    return !scan->unfit;
}

/* The records that end in the chunk, read piece by piece while what was read is still near the processor. */
static bool chunk_walk_inside(const chunks *all, chunk *c, delim_scanner *scan)
{
    for (size_t to = c->from;;) {
        const size_t size = LB_MIN(c->filled, c->size);
        delim_window(scan, chunk_data(c), size, false, to);
        if (!chunk_pass(all->s, c, scan, UINT64_MAX))
            return false;
        to = scan->after;
        if (size == c->size)
            return true;
        if (!chunk_fill(all, c, LB_MIN(c->filled + CHUNK_READ, c->size)))
            return false;
    }
}

/* The record that begins in the chunk and ends behind it; as much again as the chunk is read for it. */
static bool chunk_walk_last(const chunks *all, chunk *c, delim_scanner *scan)
{
    const uint64_t rows = c->rows;

    const size_t tail = LB_MIN(CHUNK_TAIL, c->size);

    for (size_t more = tail; more < c->size + tail; more *= 2) {
        if (!chunk_fill(all, c, (size_t)LB_MIN((uint64_t)(c->size + more), all->s->r->store->size - c->at)))
            return false;
        delim_window(scan, chunk_data(c), c->filled, false, scan->after);
        if (!chunk_pass(all->s, c, scan, 1))
            return false;
        if (c->rows != rows)
            return true;
    }
    return false;
}

/* Blank lines up to the chunk's end belong to it; a CR LF is not cut. */
static bool chunk_walk_blank(const chunks *all, chunk *c, delim_scanner *scan)
{
    c->to = LB_MAX(scan->after, c->size);
    if (scan->after >= c->size)
        return true;
    c->lines += chunk_lines(c, scan->after, c->size);
    if (!chunk_fill(all, c, c->size + 1))
        return false;
    c->to += chunk_data(c)[c->size - 1] == '\r' && chunk_data(c)[c->size] == '\n';
    return true;
}

static bool chunk_walk(const chunks *all, chunk *c)
{
    delim_scanner scan;

    c->rows = c->lines = 0;
    c->marks.size = 0;
    c->to = c->last_after = c->from;
    if (c->from == CHUNK_UNKNOWN)
        return false;
    if (c->from >= c->size)
        return true;
    delim_scanner_init(&scan, &all->s->r->dialect, &all->s->r->cx->budget);
    bool good = chunk_walk_inside(all, c, &scan);
    if (good && chunk_pass_blank(c, scan.after, c->size) != CHUNK_UNKNOWN)
        good = chunk_walk_last(all, c, &scan);
    if (good)
        good = chunk_walk_blank(all, c, &scan);
    delim_scanner_free(&scan);
    return good && lb_utf8_valid_prefix(chunk_data(c) + c->from, c->to - c->from) == c->to - c->from;
}

/* ---------------------------------------------------------------- 2: placing */

/* The chunk's records begin at c->from, if they begin where those before it end; blank lines may lie between. True: they do,
 * or where they begin cannot be told. */
static bool chunks_place(chunks *all, chunk *c)
{
    size_t at = (size_t)LB_MIN(all->offset - c->at, (uint64_t)c->filled), from = chunk_pass_blank(c, at, c->filled);

    if (from == CHUNK_UNKNOWN) {
        c->odd = true;
        return true;
    }
    if (from != c->from) {
        c->from = from;
        return false;
    }
    c->first_row = all->row;
    c->first_line = all->line + chunk_lines(c, at, from);
    return true;
}

/* Place what can be placed; the lock is held. */
static void chunks_place_all(chunks *all)
{
    while (all->placed < all->begun && all->placed < all->stop) {
        chunk *c = chunks_slot(all, all->placed);
        if (c->state != CHUNK_STRUCTURED)
            return;
        if (!chunks_place(all, c)) {
            c->state = CHUNK_AGAIN;
            return;
        }
        if (c->odd) {
            all->stop = all->placed;
            return;
        }
        all->row += c->rows;
        all->line = c->first_line + c->lines;
        all->offset = c->at + c->to;
        c->state = CHUNK_PLACED;
        all->placed++;
    }
}

/* ---------------------------------------------------------------- 3: values */

/* Where only structure is wanted, blocks begin so many rows behind a mark. */
static lb_status chunk_find_starts(const chunks *all, chunk *c, lb_error *err)
{
    const survey *s = all->s;
    const uint64_t stride = s->options->stride;
    const chunk_mark *marks = (const chunk_mark *)(const void *)c->marks.data;
    lb_status status = LB_OK;
    delim_scanner scan;

    delim_scanner_init(&scan, &s->r->dialect, &s->r->cx->budget);
    for (uint64_t row = (stride - c->first_row % stride) % stride; row < c->rows && status == LB_OK; row += stride) {
        const chunk_mark *mark = &marks[row / CHUNK_MARK_ROWS];
        size_t at = mark->at, before = mark->before;
        uint64_t lines = mark->lines;
        if (row % CHUNK_MARK_ROWS != 0) {
            delim_window(&scan, chunk_data(c), c->to, true, at);
            (void)delim_skip_fitting(&scan, row % CHUNK_MARK_ROWS, s->width, s->r->dialect.ragged_null);
            at = scan.start;
            before = scan.after;
            lines += scan.lines_passed + chunk_lines(c, before, at);
        }
        survey_start start = { .first_row = c->first_row + row,
                               .first_line = c->first_line + lines,
                               .first_byte = c->at + at,
                               .before = c->at + before };
        survey_keep_bytes(&start, chunk_data(c) + at, c->to - at);
        status = lb_buf_append(&c->part.starts, &start, sizeof start, err);
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
    return LB_OK;
}

static lb_status chunk_take_in(const chunks *all, chunk *c, lb_error *err)
{
    survey *part = &c->part;
    bool got = true;

    LB_TRY(chunk_columns(all->s, part, err));
    part->rows = c->first_row;
    delim_records_lend(&part->records, part->r->cx, part->r->store, &part->r->dialect, chunk_data(c) + c->from,
                       c->to - c->from, c->at + c->from, c->first_row, c->first_line);
    lb_status status = LB_OK;
    while (status == LB_OK && got) {
        status = delim_records_next(&part->records, &got, err);
        if (status == LB_OK && got)
            status = survey_record(part, err);
    }
    delim_records_close(&part->records);
    if (status == LB_OK && part->rows != c->first_row + c->rows)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a part of a file has %llu rows once and %llu rows again",
                       (unsigned long long)c->rows, (unsigned long long)(part->rows - c->first_row));
    return status;
}

static bool chunk_values(const chunks *all, chunk *c)
{
    lb_error ignored = LB_ERROR_INIT;

    c->part.starts.size = 0;
    c->part.state_row = UINT64_MAX;
    if (c->rows == 0)
        return true;
    if (all->s->structure_only)
        return chunk_find_starts(all, c, &ignored) == LB_OK;
    return chunk_take_in(all, c, &ignored) == LB_OK;
}

/* ---------------------------------------------------------------- 4: joining */

static lb_status chunks_join_starts(chunks *all, const chunk *c, lb_error *err)
{
    survey_start *starts = (survey_start *)(void *)c->part.starts.data;
    size_t n = c->part.starts.size / sizeof *starts;

    for (size_t i = 0; i < n; i++) {
        if (starts[i].first_row == c->first_row)
            starts[i].before = all->left_after;
        LB_TRY(survey_begin_block(all->s, &starts[i], err));
        if (all->s->structure_only)
            LB_TRY(survey_take_state(all->s, starts[i].first_row, err));
    }
    return LB_OK;
}

/* The state in the chunk is of its own columns; those of the chunks before it go in. */
static lb_status chunks_join_state(chunks *all, const chunk *c, lb_error *err)
{
    survey *s = all->s;
    const survey *part = &c->part;
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

static lb_status chunks_join(chunks *all, chunk *c, lb_error *err)
{
    survey *s = all->s;

    LB_TRY(lb_check_cancel(s->r->cx, err));
    survey_give_tap(s, c->at, chunk_data(c), c->size);
    LB_TRY(chunks_join_starts(all, c, err));
    if (c->rows != 0 && !s->structure_only) {
        LB_TRY(chunks_join_state(all, c, err));
        for (size_t i = 0; i < s->width; i++) {
            survey_column *to = &s->columns[i], *from = &c->part.columns[i];
            delim_column_merge(&to->seen, &from->seen);
            if (to->declared.type != NULL)
                survey_merge_bounds(&to->declared.target, &to->declared.bounds, &from->declared.bounds);
        }
    }
    s->rows += c->rows;
    s->block_width = s->width;
    all->left_row = c->first_row + c->rows;
    all->left_line = c->first_line + c->lines;
    all->left_offset = c->at + c->to;
    if (c->rows != 0)
        all->left_after = c->at + c->last_after;
    return LB_OK;
}

/* ---------------------------------------------------------------- sharing out the work */

/* Do a step on a chunk without the lock. */
#define CHUNKS_UNLOCKED(all, step)          \
    do {                                    \
        pthread_mutex_unlock(&(all)->lock); \
        step;                               \
        pthread_mutex_lock(&(all)->lock);   \
    } while (0)

static bool chunks_try_join(chunks *all)
{
    chunk *c = chunks_slot(all, all->joined);
    lb_error err = LB_ERROR_INIT;
    lb_status status;

    if (all->joining || all->joined >= all->placed || all->joined >= all->stop || c->state != CHUNK_DONE)
        return false;
    all->joining = true;
    CHUNKS_UNLOCKED(all, status = chunks_join(all, c, &err));
    all->joining = false;
    if (status != LB_OK) {
        all->stop = all->joined;
        all->status = status;
        all->error = err;
        return true;
    }
    c->state = CHUNK_FREE;
    all->joined++;
    return true;
}

static bool chunks_try_values(chunks *all)
{
    for (uint64_t i = all->joined; i < all->placed && i < all->stop; i++) {
        chunk *c = chunks_slot(all, i);
        bool good;
        if (c->state != CHUNK_PLACED)
            continue;
        c->state = CHUNK_AT_WORK;
        CHUNKS_UNLOCKED(all, good = chunk_values(all, c));
        c->state = CHUNK_DONE;
        if (!good)
            all->stop = LB_MIN(all->stop, i);
        return true;
    }
    return false;
}

static void chunks_walk(chunks *all, chunk *c)
{
    bool good;

    CHUNKS_UNLOCKED(all, good = chunk_walk(all, c));
    c->odd = !good;
    c->state = CHUNK_STRUCTURED;
    chunks_place_all(all);
}

static bool chunks_try_again(chunks *all)
{
    chunk *c = chunks_slot(all, all->placed);

    if (all->placed >= all->begun || all->placed >= all->stop || c->state != CHUNK_AGAIN)
        return false;
    c->state = CHUNK_AT_WORK;
    chunks_walk(all, c);
    return true;
}

static bool chunks_try_structure(chunks *all)
{
    const uint64_t index = all->begun;
    chunk *c = chunks_slot(all, index);
    bool good;

    if (index >= all->count || index >= all->stop || index - all->joined >= all->n_slots || c->state != CHUNK_FREE)
        return false;
    all->begun++;
    c->state = CHUNK_AT_WORK;
    CHUNKS_UNLOCKED(all, good = chunk_begin(all, c, index));
    if (!good) {
        all->stop = LB_MIN(all->stop, index);
        c->state = CHUNK_DONE;
        return true;
    }
    CHUNKS_UNLOCKED(all, c->from = chunk_guess(all->s, c));
    chunks_walk(all, c);
    return true;
}

static void chunks_work(lb_crew *crew, void *user)
{
    chunks *all = user;

    pthread_mutex_lock(&all->lock);
    while (all->joined < LB_MIN(all->count, all->stop)) {
        lb_crew_call(crew);
        if (chunks_try_join(all) || chunks_try_again(all) || chunks_try_values(all) || chunks_try_structure(all))
            pthread_cond_broadcast(&all->turn);
        else
            pthread_cond_wait(&all->turn, &all->lock);
    }
    pthread_cond_broadcast(&all->turn);
    pthread_mutex_unlock(&all->lock);
}

static lb_status chunks_open(chunks *all, lb_error *err)
{
    survey *s = all->s;

    all->n_slots = (size_t)LB_MIN((uint64_t)s->r->cx->threads * CHUNKS_A_THREAD + 1, all->count);
    all->slots = calloc(all->n_slots, sizeof *all->slots);
    if (all->slots == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < all->n_slots; i++) {
        chunk *c = &all->slots[i];
        lb_buf_init(&c->bytes, &s->r->cx->budget);
        lb_buf_init(&c->marks, &s->r->cx->budget);
        survey_begin(&c->part, s->r, s->options, s->arena);
        c->part.part = true;
    }
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->turn, NULL);
    return LB_OK;
}

static void chunks_close(chunks *all)
{
    for (size_t i = 0; i < all->n_slots; i++) {
        chunk *c = &all->slots[i];
        lb_buf_free(&c->bytes);
        lb_buf_free(&c->marks);
        survey_free(&c->part);
    }
    free(all->slots);
    pthread_mutex_destroy(&all->lock);
    pthread_cond_destroy(&all->turn);
}

/* The record reader goes on where the chunks end. */
static lb_status chunks_leave(chunks *all, lb_error *err)
{
    survey *s = all->s;

    if (all->joined == 0)
        return LB_OK;
    delim_records_close(&s->records);
    LB_TRY(survey_open_records(s, all->left_offset, all->left_line, err));
    s->records.mark_offset = all->left_after;
    return LB_OK;
}

/* May several threads read on? */
static bool chunks_may(const survey *s, uint64_t offset, uint64_t size)
{
    const uint64_t end = s->r->store->size;

    return s->has_width && !s->part && s->records.text.encoding == NULL && s->records.text.bad_at == UINT64_MAX &&
           s->options->stats != LB_STATS_BLOCKS && s->options->sample_bytes == 0 && lb_threads_free(s->r->cx) &&
           offset < end && (end - offset - 1) / size >= 2;
}

lb_status survey_chunks(survey *s, bool *odd, lb_error *err)
{
    chunks all = { .s = s,
                   .stop = UINT64_MAX,
                   .size = s->options->part != 0 ? s->options->part : CHUNK_BYTES,
                   .error = LB_ERROR_INIT };

    *odd = false;
    delim_records_place(&s->records, &all.offset, &all.line);
    if (!chunks_may(s, all.offset, all.size))
        return LB_OK;
    all.at = all.left_offset = all.offset;
    all.count = (s->r->store->size - all.at - 1) / all.size;
    all.row = all.left_row = s->rows;
    all.left_line = all.line;
    all.left_after = delim_records_marked(&s->records);
    LB_TRY(chunks_open(&all, err));
    lb_run_crew(s->r->cx, chunks_work, &all);
    *odd = all.stop < all.count;
    lb_status status = all.status;
    if (status != LB_OK && err != NULL)
        *err = all.error;
    if (status == LB_OK)
        status = chunks_leave(&all, err);
    chunks_close(&all);
    return status;
}
