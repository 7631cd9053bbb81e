/* Fields of many records at a time, so that values can be taken in column after column. The separators of the index are
 * written down one after the other; where every `width`-th of them is a line end and no other one is, the records all have
 * `width` fields. */
#include <stdlib.h>

#include "format/delimited/delimited.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define CELLS_INLINE static inline __attribute__((always_inline))

/* Positions are kept in 32 bits, two of which say what kind of field it is. */
#define CELLS_REACH ((size_t)1 << 30)

/* Places for so many fields, and for those of a block more. */
static size_t cells_places(size_t room)
{
    return (room / LB_FIND_BLOCK + 3) * LB_FIND_BLOCK;
}

static size_t cells_bytes(size_t room)
{
    return cells_places(room) * 4 * sizeof(uint32_t) + cells_places(room) / LB_FIND_BLOCK * 2 * sizeof(uint64_t);
}

#define CELLS_OF_LEFT 16 /* they may take one part in so many of the memory that is left */

/* Fewer where memory is short; 0: too few to be worth it. */
static size_t cells_room(size_t width, const lb_budget *budget)
{
    const size_t left = budget == NULL ? SIZE_MAX : budget->limit - LB_MIN(atomic_load(&budget->used), budget->limit);
    size_t room = DELIM_CELLS;

    while (room / DELIM_CELLS_RECORDS >= width && cells_bytes(room) > left / CELLS_OF_LEFT)
        room /= 2;
    return room / DELIM_CELLS_RECORDS >= width ? room : 0;
}

lb_status delim_cells_init(delim_cells *c, size_t width, lb_budget *budget, lb_error *err)
{
    const size_t room = cells_room(width, budget), places = cells_places(room), bytes = cells_bytes(room);

    *c = (delim_cells){ .width = width, .room = room, .budget = budget };
    if (width == 0 || room == 0 || !lb_budget_take(budget, bytes))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "many records of %zu fields at a time pass the memory limit", width);
    c->opened = malloc(bytes);
    if (c->opened == NULL) {
        lb_budget_give(budget, bytes);
        return lb_fail_nomem(err);
    }
    c->bytes = bytes;
    c->closed = c->opened + places / LB_FIND_BLOCK;
    c->begin = (uint32_t *)(void *)(c->closed + places / LB_FIND_BLOCK);
    c->size = c->begin + places;
    c->ends = c->size + places;
    c->marked = c->ends + places;
    return LB_OK;
}

void delim_cells_free(delim_cells *c)
{
    lb_budget_give(c->budget, c->bytes);
    free(c->opened);
    *c = (delim_cells){ .width = 0 };
}

/* ---------------------------------------------------------------- the index written down */

/* What is written of the index so far. */
typedef struct cells_walk {
    size_t n_begins, n_ends, n_records, n_marked; /* fields that began, and ended */
    bool doubled;                                 /* line ends follow one another */
    bool quoted;                                  /* some field begins with a quote */
    uint64_t edge, closed;                        /* 1: it is a separator, a closing quote */
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

/* The bits of `bits` at the places that `places` has, side by side: the definition. */
static inline uint64_t cells_extract(uint64_t bits, uint64_t places)
{
    uint64_t out = 0;

    for (unsigned n = 0; places != 0; n++, places &= places - 1)
        out |= (uint64_t)((bits & places & (0 - places)) != 0) << n;
    return out;
}

/* Put bits behind the first n; those behind them are 0 from then on. */
CELLS_INLINE void cells_append(uint64_t *words, size_t n, uint64_t bits)
{
    const unsigned at = n % 64;
    uint64_t *to = words + n / 64, had = *to & (((uint64_t)1 << at) - 1);

    to[0] = had | bits << at;
    to[1] = bits >> 1 >> (63 - at);
}

/* None of the fields so far is quoted. */
static void cells_begin_quotes(delim_cells *c, cells_walk *w)
{
    memset(c->opened, 0, (w->n_begins / 64 + 1) * sizeof *c->opened);
    memset(c->closed, 0, (w->n_ends / 64 + 1) * sizeof *c->closed);
    w->quoted = true;
}

/* Gives the block's separators, each of which ends a field. `extract`: cells_extract or what does the same. */
CELLS_INLINE uint64_t cells_block(const delim_scanner *s, delim_cells *c, cells_walk *w, size_t b, unsigned from,
                                  uint64_t (*extract)(uint64_t bits, uint64_t places))
{
    const uint64_t inside = ~(uint64_t)0 << from, breaks = s->breaks[b] & inside, ends = s->ends[b] & inside,
                   separators = s->separators[b] & inside, bits = (separators & ~breaks) | ends,
                   marks = s->marks[b] & inside, begins = (separators << 1 | w->edge << from) & ~(breaks & ~ends),
                   closes = s->closes[b] & inside;

    if (!w->quoted && s->opens[b] != 0)
        cells_begin_quotes(c, w);
    if (w->quoted) {
        cells_append(c->opened, w->n_begins, extract(s->opens[b], begins));
        cells_append(c->closed, w->n_ends, extract(closes << 1 | w->closed << from, bits));
    }
    if (marks != 0)
        w->n_marked = cells_name(marks, bits, w->n_ends, c->marked, w->n_marked);
    w->doubled |= breaks != ends;
    w->n_begins += (size_t)__builtin_popcountll(begins);
    w->n_ends += (size_t)__builtin_popcountll(bits);
    w->n_records += (size_t)__builtin_popcountll(ends);
    w->edge = separators >> 63;
    w->closed = closes >> 63;
    return bits;
}

CELLS_INLINE void cells_blocks(delim_scanner *s, delim_cells *c, cells_walk *walk, uint64_t want,
                               uint64_t (*extract)(uint64_t bits, uint64_t places))
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
            bits[b] = cells_block(s, c, &w, b, from, extract);
        spread(bits + first, b - first, (uint32_t)(s->base + first * LB_FIND_BLOCK - c->start), c->ends + had);
        s->block = b;
    }
    *walk = w;
}

static void cells_walk_plainly(delim_scanner *s, delim_cells *c, cells_walk *w, uint64_t want)
{
    cells_blocks(s, c, w, want, cells_extract);
}

#if defined(__x86_64__)
#define CELLS_BMI2 __attribute__((target("popcnt,bmi,bmi2,lzcnt")))

CELLS_BMI2 static inline uint64_t cells_extract_bmi2(uint64_t bits, uint64_t places)
{
    return _pext_u64(bits, places);
}

/* The same with the instructions that count bits and pick them out. */
CELLS_BMI2 static void cells_walk_counting(delim_scanner *s, delim_cells *c, cells_walk *w, uint64_t want)
{
    cells_blocks(s, c, w, want, cells_extract_bmi2);
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

    if (c->width == 1)
        return true;
    for (size_t i = c->width - 1; n != 0; n--, i += c->width)
        well &= cells_is_break(c->data[c->ends[i]]);
    return well;
}

/* How many of the first `n` records have as many fields as are wanted, before one that has not. */
static size_t cells_fitting(const delim_cells *c, const cells_walk *w, size_t n)
{
    const size_t width = c->width;
    size_t row = 0;

    /* As many as there should be, and all where they should be: so none is elsewhere. */
    if (w->n_records == w->n_ends / width && cells_end_well(c, w->n_records))
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

#define CELLS_RUN 16 /* fields that are looked at together, whether they are there or not */

CELLS_INLINE void cells_make(uint32_t *restrict begin, uint32_t *restrict size, const uint32_t *restrict ends, size_t n)
{
    begin[0] = 0;
    for (size_t i = 0; i < n; i += CELLS_RUN) {
        for (size_t k = 0; k < CELLS_RUN; k++)
            begin[i + k + 1] = ends[i + k] + 1;
        for (size_t k = 0; k < CELLS_RUN; k++)
            size[i + k] = ends[i + k] - begin[i + k];
    }
}

/* Take the quotes from fields for which there is a bit. */
CELLS_INLINE void cells_strip(uint32_t *restrict begin, uint32_t *restrict size, uint64_t clean)
{
    for (; clean != 0; clean >>= CELLS_RUN, begin += CELLS_RUN, size += CELLS_RUN) {
        const uint32_t some = (uint32_t)clean & ((1u << CELLS_RUN) - 1);
        for (uint32_t k = 0; k < CELLS_RUN; k++) {
            const uint32_t quoted = some >> k & 1;
            begin[k] += quoted;
            size[k] += (quoted << 30) - (quoted << 1);
        }
    }
}

/* Blank lines before a record, and the LF of a CR LF, are not part of it. */
static void cells_pass_blank(delim_cells *c)
{
    for (size_t i = 0, n = c->rows * c->width; i < n; i += c->width)
        for (; c->size[i] != 0 && cells_is_break(c->data[c->begin[i]]); c->size[i]--)
            c->begin[i]++;
}

/* A quoted field that does not end with the quote that closes it is left as it stands. */
CELLS_INLINE void cells_unquote(delim_cells *c)
{
    const size_t n = c->rows * c->width;

    for (size_t at = 0; at < n; at += 64) {
        const uint64_t opened = c->opened[at / 64], closed = c->closed[at / 64];
        cells_strip(c->begin + at, c->size + at, opened & closed);
        for (uint64_t odd = opened & ~closed; odd != 0; odd &= odd - 1)
            c->size[at + (size_t)__builtin_ctzll(odd)] |= DELIM_CELL_QUOTED | DELIM_CELL_DIRTY;
    }
}

/* Fields within which a quote or an escape stands. */
static void cells_mark(delim_cells *c, const cells_walk *w, int escape)
{
    const size_t n = c->rows * c->width;

    for (size_t k = 0; k < w->n_marked && c->marked[k] < n; k++) {
        const size_t i = c->marked[k];
        if ((c->size[i] & DELIM_CELL_DIRTY) != 0)
            continue;
        if ((c->size[i] & DELIM_CELL_QUOTED) != 0) {
            c->begin[i]--;
            c->size[i] = (c->size[i] + 2) | DELIM_CELL_DIRTY;
        } else if (escape >= 0 && memchr(c->data + c->begin[i], escape, c->size[i]) != NULL) {
            c->size[i] |= DELIM_CELL_DIRTY;
        }
    }
}

CELLS_INLINE void cells_place(delim_cells *c, const cells_walk *w, const delim_dialect *d)
{
    cells_make(c->begin, c->size, c->ends, c->rows * c->width);
    if (w->doubled)
        cells_pass_blank(c);
    if (w->quoted)
        cells_unquote(c);
    if (w->n_marked != 0)
        cells_mark(c, w, d->escape);
}

static void cells_place_plainly(delim_cells *c, const cells_walk *w, const delim_dialect *d)
{
    cells_place(c, w, d);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void cells_place_wide(delim_cells *c, const cells_walk *w,
                                                             const delim_dialect *d)
{
    cells_place(c, w, d);
}
#else
#define cells_place_wide cells_place_plainly
#endif

size_t delim_take_cells(delim_scanner *s, delim_cells *c, uint64_t want)
{
    cells_walk w = { .edge = 1 };

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
    (s->plain ? cells_place_plainly : cells_place_wide)(c, &w, s->dialect);
    delim_goto(s, delim_pass_break(s, c->start + c->ends[c->rows * c->width - 1]));
    s->start = s->after;
    return c->rows;
}
