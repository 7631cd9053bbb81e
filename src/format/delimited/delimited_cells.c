/* Fields of many records at a time, so that values can be taken in column after column. The separators of the index are
 * written down one after the other; where every `width`-th of them is a line end and no other one is, the records all have
 * `width` fields. */
#include <stdlib.h>

#include "format/delimited/delimited.h"

#define CELLS_INLINE static inline __attribute__((always_inline))

/* Positions are kept in 32 bits, two of which say what kind of field it is. */
#define CELLS_REACH ((size_t)1 << 30)

lb_status delim_cells_init(delim_cells *c, size_t width, lb_budget *budget, lb_error *err)
{
    const size_t room = LB_MAX((size_t)DELIM_CELLS, width), ends = room + LB_FIND_BLOCK;
    size_t bytes;

    *c = (delim_cells){ .width = width, .room = room, .budget = budget };
    if (!lb_mul_size(room + 2 * ends, sizeof(delim_cell), &bytes) || !lb_budget_take(budget, bytes))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "records of %zu fields pass the memory limit", width);
    c->cells = malloc(bytes);
    if (c->cells == NULL) {
        lb_budget_give(budget, bytes);
        return lb_fail_nomem(err);
    }
    c->bytes = bytes;
    c->ends = (uint32_t *)(void *)(c->cells + room);
    c->opened = c->ends + ends;
    c->marked = c->opened + ends;
    return LB_OK;
}

void delim_cells_free(delim_cells *c)
{
    lb_budget_give(c->budget, c->bytes);
    free(c->cells);
    *c = (delim_cells){ .width = 0 };
}

/* ---------------------------------------------------------------- the index written down */

/* What is written of the index so far. */
typedef struct cells_walk {
    size_t n_ends, n_records, n_opened, n_marked;
    bool doubled;      /* line ends follow one another */
    uint64_t in_break; /* 1: the byte before the block ends a line, or no record has begun */
} cells_walk;

/* For each bit the number of the field that it stands in, each field once. */
CELLS_INLINE size_t cells_name(uint64_t bits, uint64_t separators, size_t n_ends, uint32_t *out, size_t n)
{
    for (; bits != 0; bits &= bits - 1) {
        const uint64_t below = (bits & (0 - bits)) - 1;
        out[n] = (uint32_t)(n_ends + (size_t)__builtin_popcountll(separators & below));
        n += n == 0 || out[n - 1] != out[n];
    }
    return n;
}

/* Gives the block's separators, each of which ends a field. */
CELLS_INLINE uint64_t cells_block(const delim_scanner *s, delim_cells *c, cells_walk *w, size_t b, unsigned from)
{
    const uint64_t inside = ~(uint64_t)0 << from, breaks = s->breaks[b] & inside,
                   ends = breaks & ~(breaks << 1 | w->in_break << from),
                   bits = (s->separators[b] & inside & ~breaks) | ends, opens = s->opens[b] & inside,
                   marks = s->marks[b] & inside;

    if (opens != 0)
        w->n_opened = cells_name(opens, bits, w->n_ends, c->opened, w->n_opened);
    if (marks != 0)
        w->n_marked = cells_name(marks, bits, w->n_ends, c->marked, w->n_marked);
    w->doubled |= breaks != ends;
    w->n_ends += (size_t)__builtin_popcountll(bits);
    w->n_records += (size_t)__builtin_popcountll(ends);
    w->in_break = breaks >> 63;
    return bits;
}

CELLS_INLINE void cells_blocks(delim_scanner *s, delim_cells *c, cells_walk *walk, uint64_t want)
{
    const lb_spread_fn spread = lb_spread_bits();
    cells_walk w = *walk; /* in registers */
    uint64_t bits[DELIM_INDEX_BLOCKS];
    unsigned from = (s->after - s->base) % LB_FIND_BLOCK;

    while (w.n_ends < c->room && w.n_records < want && (s->block < s->n_blocks || delim_refill(s))) {
        const size_t n = s->n_blocks, first = s->block, had = w.n_ends;
        size_t b = first;
        if (s->base + n * LB_FIND_BLOCK - c->start > CELLS_REACH)
            break;
        for (; b < n && w.n_ends < c->room && w.n_records < want; b++, from = 0)
            bits[b] = cells_block(s, c, &w, b, from);
        spread(bits + first, b - first, (uint32_t)(s->base + first * LB_FIND_BLOCK - c->start), c->ends + had);
        s->block = b;
    }
    *walk = w;
}

static void cells_walk_plainly(delim_scanner *s, delim_cells *c, cells_walk *w, uint64_t want)
{
    cells_blocks(s, c, w, want);
}

#if defined(__x86_64__)
/* The same with the instructions that count bits. */
__attribute__((target("popcnt,bmi,bmi2,lzcnt"))) static void cells_walk_counting(delim_scanner *s, delim_cells *c,
                                                                                 cells_walk *w, uint64_t want)
{
    cells_blocks(s, c, w, want);
}
#else
#define cells_walk_counting cells_walk_plainly
#endif

/* ---------------------------------------------------------------- from positions to fields */

static inline bool cells_is_break(uint8_t byte)
{
    return byte == '\n' || byte == '\r';
}

/* Do the first `n` records all end with their last field? */
static bool cells_end_well(const delim_cells *c, size_t n)
{
    bool well = true;

    for (size_t i = c->width - 1; n != 0; n--, i += c->width)
        well &= cells_is_break(c->data[c->ends[i]]);
    return well;
}

/* How many of the first `n` records have as many fields as are wanted, before one that has not. */
static size_t cells_fitting(const delim_cells *c, const cells_walk *w, size_t n)
{
    const size_t width = c->width;
    size_t row = 0;

    /* All line ends are where they should be, so none is elsewhere. */
    if (w->n_records <= w->n_ends / width && w->n_ends - w->n_records * width < width && cells_end_well(c, w->n_records))
        return n;
    for (n = LB_MIN(n, w->n_ends / width); row < n; row++) {
        const uint32_t *ends = c->ends + row * width;
        size_t i = 0;
        while (i + 1 < width && !cells_is_break(c->data[ends[i]]))
            i++;
        if (i + 1 != width || !cells_is_break(c->data[ends[i]]))
            break;
    }
    return row;
}

static void cells_make(delim_cells *c, const cells_walk *w)
{
    const size_t n = c->rows * c->width;
    uint32_t begin = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t end = c->ends[i];
        c->cells[i] = (delim_cell){ begin, end - begin };
        begin = end + 1;
    }
    /* Blank lines before a record, and the LF of a CR LF, are not part of it. */
    for (size_t i = 0; w->doubled && i < n; i += c->width) {
        delim_cell *cell = &c->cells[i];
        for (; cells_is_break(c->data[cell->begin]) && cell->size != 0; cell->size--)
            cell->begin++;
    }
}

static void cells_unquote(delim_cells *c, const cells_walk *w, uint8_t quote)
{
    const size_t n = c->rows * c->width;

    for (size_t k = 0; k < w->n_opened && c->opened[k] < n; k++) {
        delim_cell *cell = &c->cells[c->opened[k]];
        if (cell->size >= 2 && c->data[cell->begin + cell->size - 1] == quote)
            *cell = (delim_cell){ cell->begin + 1, (cell->size - 2) | DELIM_CELL_QUOTED };
        else
            cell->size |= DELIM_CELL_QUOTED | DELIM_CELL_DIRTY;
    }
}

/* Fields within which a quote or an escape stands. */
static void cells_mark(delim_cells *c, const cells_walk *w, int escape)
{
    const size_t n = c->rows * c->width;

    for (size_t k = 0; k < w->n_marked && c->marked[k] < n; k++) {
        delim_cell *cell = &c->cells[c->marked[k]];
        if ((cell->size & DELIM_CELL_DIRTY) != 0)
            continue;
        if ((cell->size & DELIM_CELL_QUOTED) != 0)
            *cell = (delim_cell){ cell->begin - 1, (cell->size + 2) | DELIM_CELL_DIRTY };
        else if (escape >= 0 && memchr(c->data + cell->begin, escape, cell->size) != NULL)
            cell->size |= DELIM_CELL_DIRTY;
    }
}

size_t delim_take_cells(delim_scanner *s, delim_cells *c, uint64_t want)
{
    cells_walk w = { .in_break = 1 };

    c->rows = c->wasted = 0;
    if (s->dialect->delimiter_size > 1)
        return 0;
    if (!s->marking) {
        s->marking = true;
        s->n_blocks = 0; /* the index is made again */
    }
    want = LB_MIN(want, c->room / c->width);
    delim_goto(s, s->after);
    c->start = s->after;
    c->data = s->data + s->after;
    if (s->plain)
        cells_walk_plainly(s, c, &w, want);
    else
        cells_walk_counting(s, c, &w, want);
    const size_t found = (size_t)LB_MIN(want, w.n_records);
    c->rows = cells_fitting(c, &w, found);
    c->wasted = found - c->rows;
    if (c->rows == 0) {
        delim_goto(s, s->after);
        return 0;
    }
    cells_make(c, &w);
    if (w.n_opened != 0)
        cells_unquote(c, &w, (uint8_t)s->dialect->quote);
    if (w.n_marked != 0)
        cells_mark(c, &w, s->dialect->escape);
    delim_goto(s, delim_pass_break(s, c->start + c->ends[c->rows * c->width - 1]));
    s->start = s->after;
    return c->rows;
}
