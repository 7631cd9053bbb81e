/* The tokenizer: records are walked from one separator of the index to the next. */
#include <stdlib.h>

#include "base/cpu.h"
#include "format/delimited/delimited.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

void delim_scanner_init(delim_scanner *s, const delim_dialect *d, lb_budget *budget)
{
    *s = (delim_scanner){ .dialect = d, .find = lb_find_values(), .budget = budget };
    s->values[s->n_values++] = '\n';
    s->values[s->n_values++] = '\r';
    s->values[s->n_values++] = d->delimiter[0];
    if (d->quote >= 0)
        s->values[s->n_values++] = (uint8_t)d->quote;
    if (d->escape >= 0)
        s->values[s->n_values++] = (uint8_t)d->escape;
    s->plain = (lb_cpu() & LB_CPU_AVX2) == 0;
}

void delim_scanner_free(delim_scanner *s)
{
    lb_budget_give(s->budget, s->cap_fields * sizeof *s->fields);
    free(s->fields);
    s->fields = NULL;
    s->cap_fields = 0;
}

static inline bool delim_is_break(uint8_t c)
{
    return c == '\n' || c == '\r';
}

/* ---------------------------------------------------------------- going through the index */

bool delim_refill(delim_scanner *s)
{
    size_t next = s->base + s->n_blocks * LB_FIND_BLOCK;

    if (next >= s->limit)
        return false;
    s->base = next;
    delim_index(s);
    s->block = 0;
    s->mask = s->separators[0];
    return true;
}

void delim_goto(delim_scanner *s, size_t at)
{
    s->after = s->passed = at;
    if (s->n_blocks != 0 && at >= s->base && at < s->base + s->n_blocks * LB_FIND_BLOCK) {
        s->block = (at - s->base) / LB_FIND_BLOCK;
        s->mask = s->separators[s->block] & ~(uint64_t)0 << (at - s->base) % LB_FIND_BLOCK;
        return;
    }
    s->base = at;
    s->n_blocks = s->block = 0;
    s->mask = 0;
    s->carry = (delim_carry){ .edge = true, .blank = true };
    s->dirty_to = 0;
}

/* What cannot be told before more is read: a delimiter that may go on, a CR that an LF may follow. */
static size_t delim_limit(const delim_scanner *s)
{
    size_t open = s->dialect->delimiter_size - 1;

    if (s->end || s->size == 0)
        return s->size;
    if (s->data[s->size - 1] == '\r')
        open = LB_MAX(open, 1);
    return s->size - LB_MIN(open, s->size);
}

void delim_window(delim_scanner *s, const uint8_t *data, size_t size, bool end, size_t from)
{
    s->data = data;
    s->size = size;
    s->end = end;
    s->limit = delim_limit(s);
    s->start = from;
    s->n_blocks = 0;
    delim_goto(s, from);
}

/* The next word of separators that is not empty, in s->mask; false: there are none before s->limit. */
static inline bool delim_more_separators(delim_scanner *s)
{
    while (s->mask == 0) {
        if (s->block + 1 < s->n_blocks)
            s->mask = s->separators[++s->block];
        else if (!delim_refill(s))
            return false;
    }
    return true;
}

static lb_status delim_grow(delim_scanner *s, lb_error *err)
{
    size_t cap = s->cap_fields == 0 ? 2 * LB_FIND_BLOCK : s->cap_fields * 2, bytes;

    if (!lb_mul_size(cap, sizeof *s->fields, &bytes) ||
        !lb_budget_take(s->budget, bytes - s->cap_fields * sizeof *s->fields))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "a record of more than %zu fields passes the memory limit",
                       s->n_fields);
    delim_field *fields = realloc(s->fields, bytes);
    if (fields == NULL) {
        lb_budget_give(s->budget, bytes - s->cap_fields * sizeof *s->fields);
        return lb_fail_nomem(err);
    }
    s->fields = fields;
    s->cap_fields = cap;
    return LB_OK;
}

/* ---------------------------------------------------------------- records */

/* Does a quote or an escape stand within the field's quotes? */
static bool delim_has_special(const delim_scanner *s, size_t from, size_t to)
{
    const delim_dialect *d = s->dialect;

    return from < s->dirty_to && (memchr(s->data + from, d->quote, to - from) != NULL ||
                                  (d->escape >= 0 && memchr(s->data + from, d->escape, to - from) != NULL));
}

static delim_field delim_quoted_field(const delim_scanner *s, size_t from, size_t to)
{
    const uint8_t *p = s->data + from;
    const size_t size = to - from;

    /* Never closed: it runs to the end of the text. */
    if (to == s->size && s->carry.quoted)
        return (delim_field){ p, size, DELIM_QUOTED | DELIM_DIRTY | DELIM_UNCLOSED };
    if (size >= 2 && p[size - 1] == (uint8_t)s->dialect->quote && !delim_has_special(s, from + 1, to - 1))
        return (delim_field){ p + 1, size - 2, DELIM_QUOTED };
    return (delim_field){ p, size, DELIM_QUOTED | DELIM_DIRTY };
}

/* A field that does not simply stand as it is. */
static __attribute__((noinline)) delim_field delim_odd_field(const delim_scanner *s, size_t from, size_t to)
{
    const delim_dialect *d = s->dialect;

    if ((int)s->data[from] == d->quote && from < to)
        return delim_quoted_field(s, from, to);
    bool dirty = from < s->dirty_to && d->escape >= 0 && memchr(s->data + from, d->escape, to - from) != NULL;
    return (delim_field){ s->data + from, to - from, dirty ? DELIM_DIRTY : 0 };
}

/* Take the fields that end in the word of separators at hand, up to a line end. *from moves behind each; gives where the record
 * ends, s->limit where it goes on. There is room for as many fields as a word has bits. */
static inline size_t delim_take_fields(delim_scanner *s, size_t *from)
{
    const uint8_t *data = s->data;
    const int quote = s->dialect->quote;
    const size_t width = s->dialect->delimiter_size, at = s->base + s->block * LB_FIND_BLOCK,
                 odd_to = s->dialect->escape >= 0 ? s->dirty_to : 0;
    const uint64_t breaks = s->breaks[s->block];
    uint64_t mask = s->mask;
    delim_field *field = s->fields + s->n_fields;
    size_t begin = *from, end = s->limit;

    do {
        const size_t to = at + (size_t)__builtin_ctzll(mask);
        if (__builtin_expect((int)data[begin] == quote || begin < odd_to, 0))
            *field++ = delim_odd_field(s, begin, to);
        else
            *field++ = (delim_field){ data + begin, to - begin, 0 };
        const uint64_t bit = mask & (0 - mask);
        mask ^= bit;
        if ((breaks & bit) != 0) {
            end = to;
            break;
        }
        begin = to + width;
    } while (mask != 0);
    s->mask = mask;
    s->n_fields = (size_t)(field - s->fields);
    *from = begin;
    return end;
}

static inline size_t delim_pass_blank(const delim_scanner *s, size_t at)
{
    while (at < s->size && delim_is_break(s->data[at]))
        at++;
    return at;
}

/* Separators before a record, of blank lines or of the LF of a CR LF, are dropped. */
static void delim_drop_before(delim_scanner *s, size_t at)
{
    while (delim_more_separators(s)) {
        size_t block_at = s->base + s->block * LB_FIND_BLOCK;
        if (block_at + LB_FIND_BLOCK > at) {
            if (block_at < at)
                s->mask &= ~(uint64_t)0 << (at - block_at);
            if (s->mask != 0)
                return;
        }
        s->mask = 0;
    }
}

lb_status delim_next(delim_scanner *s, delim_step *step, lb_error *err)
{
    size_t from = delim_pass_blank(s, s->after), to = s->limit;

    if (from != s->passed)
        delim_drop_before(s, from);
    s->passed = from;
    s->start = s->stop = s->after = from;
    s->n_fields = 0;
    *step = s->end ? DELIM_END : DELIM_MORE;
    if (from == s->size)
        return LB_OK;
    while (to == s->limit) {
        if (s->cap_fields - s->n_fields < LB_FIND_BLOCK)
            LB_TRY(delim_grow(s, err));
        if (!delim_more_separators(s)) {
            if (!s->end)
                return LB_OK;
            s->fields[s->n_fields++] = delim_odd_field(s, from, s->size);
            break;
        }
        to = delim_take_fields(s, &from);
    }
    s->stop = to;
    s->after = delim_pass_break(s, to);
    s->passed = to + 1;
    *step = DELIM_RECORD;
    return LB_OK;
}

/* ---------------------------------------------------------------- passing over records */

#define DELIM_INLINE static inline __attribute__((always_inline))

/* Position of the n-th set bit, n from 1. */
static inline unsigned delim_nth_bit(uint64_t bits, uint64_t n)
{
    while (n-- > 1)
        bits &= bits - 1;
    return (unsigned)__builtin_ctzll(bits);
}

/* Which records may be passed: any, or those of so many fields. */
typedef struct delim_fit {
    size_t width;
    bool fewer;
    uint64_t every; /* bit 0, and each `width`-th one behind it */
} delim_fit;

/* A walk over the blocks. Records end at the first line end behind a byte that is none. */
typedef struct delim_walk {
    uint64_t passed, want;
    size_t stop;                   /* where the last record passed ends; SIZE_MAX: none */
    size_t n_delimiters;           /* of the open record, before the block */
    uint64_t lines, lines_at_stop; /* physical lines ended before the block; up to the end of the last record passed */
    bool unfit;
} delim_walk;

/* A record that ends at the lowest of `ends`, where there is one: without a branch, since rows are often about as long as a
 * block and nobody can foretell in which one ends. */
DELIM_INLINE void delim_walk_end(delim_walk *w, const delim_fit *fit, uint64_t ends, uint64_t delimiters,
                                 uint64_t lines, size_t block_at)
{
    const uint64_t upto = ends ^ (ends - 1);
    const bool any = ends != 0;
    const size_t width = w->n_delimiters + (size_t)__builtin_popcountll(delimiters & upto) + 1;
    const size_t rest = (size_t)__builtin_popcountll(delimiters & ~upto);

    w->unfit = any && (width != fit->width) && !(fit->fewer && width < fit->width);
    if (w->unfit)
        return;
    w->passed += any;
    w->stop = any ? block_at + (size_t)__builtin_ctzll(any ? ends : 1) : w->stop;
    w->lines_at_stop = any ? w->lines + (uint64_t)__builtin_popcountll(lines & upto) : w->lines_at_stop;
    w->n_delimiters = any ? rest : width - 1;
}

/* Records that end in the block, their fields counted. */
DELIM_INLINE void delim_walk_fitting(delim_walk *w, const delim_fit *fit, uint64_t ends, uint64_t delimiters,
                                     uint64_t lines, size_t block_at)
{
    const uint64_t n = (uint64_t)__builtin_popcountll(ends);

    /* One column, and no delimiter in sight: short records need no look at each. */
    if (n > 1 && fit->width == 1 && (delimiters | w->n_delimiters) == 0 && n < w->want - w->passed) {
        const unsigned last = 63 - (unsigned)__builtin_clzll(ends);
        w->passed += n;
        w->stop = block_at + last;
        w->lines_at_stop = w->lines + (uint64_t)__builtin_popcountll(lines << (63 - last));
        w->lines += (uint64_t)__builtin_popcountll(lines);
        return;
    }
    delim_walk_end(w, fit, ends, delimiters, lines, block_at);
    for (uint64_t more = ends & (ends - 1); more != 0 && !w->unfit && w->passed < w->want; more &= more - 1) {
        uint64_t passed = ends & ~more; /* those before the lowest of `more` */
        uint64_t behind = ~(~(uint64_t)0 >> __builtin_clzll(passed));
        w->n_delimiters = 0;
        delim_walk_end(w, fit, more, delimiters & behind, lines, block_at);
    }
    w->lines += (uint64_t)__builtin_popcountll(lines);
}

DELIM_INLINE void delim_walk_any(delim_walk *w, uint64_t ends, size_t block_at)
{
    uint64_t n = (uint64_t)__builtin_popcountll(ends);

    if (n == 0)
        return;
    if (w->passed + n >= w->want) {
        w->stop = block_at + delim_nth_bit(ends, w->want - w->passed);
        w->passed = w->want;
        return;
    }
    w->passed += n;
    w->stop = block_at + 63 - (size_t)__builtin_clzll(ends);
}

/* Walks on from block s->block over those whose records all fit; those left have to be looked at one by one. */
typedef void (*delim_run_fn)(delim_scanner *s, delim_walk *w, const delim_fit *fit);

DELIM_INLINE void delim_walk_blocks(delim_scanner *s, delim_walk *walk, const delim_fit *fit, delim_run_fn run)
{
    delim_walk w = *walk; /* in registers */
    unsigned from = (s->after - s->base) % LB_FIND_BLOCK;

    while (w.passed < w.want && !w.unfit && (s->block < s->n_blocks || delim_refill(s))) {
        const size_t n = s->n_blocks;
        if (run != NULL && from == 0)
            run(s, &w, fit);
        for (size_t b = s->block; b < n && w.passed < w.want && !w.unfit; b++, from = 0) {
            const uint64_t inside = ~(uint64_t)0 << from, ends = s->ends[b] & inside;
            const size_t at = s->base + b * LB_FIND_BLOCK;
            if (fit != NULL)
                delim_walk_fitting(&w, fit, ends, s->separators[b] & ~s->breaks[b] & inside, s->lines[b] & inside, at);
            else
                delim_walk_any(&w, ends, at);
            s->block = b + 1;
        }
    }
    *walk = w;
}

static void delim_walk_plainly(delim_scanner *s, delim_walk *w, const delim_fit *fit)
{
    if (fit != NULL)
        delim_walk_blocks(s, w, fit, NULL);
    else
        delim_walk_blocks(s, w, NULL, NULL);
}

#if defined(__x86_64__)
#define DELIM_BMI2 __attribute__((target("popcnt,bmi,bmi2,lzcnt")))
#define DELIM_VPOPCNT \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,popcnt,bmi,bmi2,lzcnt")))

/* A batch of blocks as separators side by side; a word for each block. */
typedef struct delim_batch {
    uint64_t separators[DELIM_INDEX_BLOCKS]; /* delimiters, and line ends that end a record */
    uint64_t all[DELIM_INDEX_BLOCKS];        /* so many of them */
    uint64_t records[DELIM_INDEX_BLOCKS];    /* so many records end */
    uint64_t n_records, n_lines;             /* of them all */
} delim_batch;

/* Of the blocks from `from` on. The loops are of a fixed length, so that the compiler makes vectors of them where it can. */
DELIM_INLINE void delim_batch_of(const delim_scanner *s, size_t from, delim_batch *out)
{
    uint64_t records = 0, lines = 0;

    for (size_t b = 0; b < DELIM_INDEX_BLOCKS; b++) {
        out->separators[b] = (s->separators[b] ^ s->breaks[b]) | s->ends[b];
        out->all[b] = (uint64_t)__builtin_popcountll(out->separators[b]);
    }
    for (size_t b = 0; b < DELIM_INDEX_BLOCKS; b++) {
        out->records[b] = b < from ? 0 : (uint64_t)__builtin_popcountll(s->ends[b]);
        records += out->records[b];
        lines += b < from ? 0 : (uint64_t)__builtin_popcountll(s->lines[b]);
    }
    out->n_records = records;
    out->n_lines = lines;
}

/* Where the walk stands behind the batch, which ends before block `to`. */
DELIM_INLINE void delim_walk_on(const delim_scanner *s, delim_walk *w, const delim_batch *batch, size_t to)
{
    uint64_t lines = 0;
    size_t last = to;

    w->lines += batch->n_lines;
    w->passed += batch->n_records;
    if (batch->n_records == 0)
        return;
    while (s->ends[--last] == 0)
        lines += (uint64_t)__builtin_popcountll(s->lines[last]);
    const int behind = __builtin_clzll(s->ends[last]); /* bits behind the last end */
    w->stop = s->base + last * LB_FIND_BLOCK + 63 - (size_t)behind;
    w->lines_at_stop = w->lines - lines - (uint64_t)__builtin_popcountll(s->lines[last] & ~(~(uint64_t)0 >> behind));
}

/* Of the separators side by side each `width`-th one, counted from where the open record began, must end a record, and no other one
 * may: that is told of all the records of a block at once. Nothing is done where that is not so. */
DELIM_VPOPCNT DELIM_INLINE void delim_walk_run(delim_scanner *s, delim_walk *w, const delim_fit *fit)
{
    const size_t from = s->block, width = fit->width;
    size_t next = width - 1 - w->n_delimiters, to = s->n_blocks; /* delimiters before the next end */
    uint64_t odd = 0;
    delim_batch batch;

    delim_batch_of(s, from, &batch);
    while (batch.n_records > w->want - w->passed) {
        batch.n_records -= batch.records[--to];
        batch.n_lines -= (uint64_t)__builtin_popcountll(s->lines[to]);
    }
    for (size_t b = from; b < to; b++) {
        const uint64_t even = _bzhi_u64(next < 64 ? fit->every << next : 0, (unsigned)batch.all[b]);
        odd |= _pext_u64(s->ends[b], batch.separators[b]) ^ even;
        next += batch.records[b] * width - batch.all[b];
    }
    if (odd != 0)
        return;
    w->n_delimiters = width - 1 - next;
    delim_walk_on(s, w, &batch, to);
    s->block = to;
}

/* The same with the instructions that count bits. */
DELIM_BMI2 static void delim_walk_counting(delim_scanner *s, delim_walk *w, const delim_fit *fit)
{
    if (fit != NULL)
        delim_walk_blocks(s, w, fit, NULL);
    else
        delim_walk_blocks(s, w, NULL, NULL);
}

/* The same where many words are counted at once. What can do that picks bits out fast, too, which Zen 1 and 2 do not. */
DELIM_VPOPCNT static void delim_walk_wide(delim_scanner *s, delim_walk *w, const delim_fit *fit)
{
    if (fit == NULL)
        delim_walk_blocks(s, w, NULL, NULL);
    else if (fit->fewer)
        delim_walk_blocks(s, w, fit, NULL);
    else
        delim_walk_blocks(s, w, fit, delim_walk_run);
}
#else
#define delim_walk_counting delim_walk_plainly
#endif

static void delim_pass(delim_scanner *s, delim_walk *w, const delim_fit *fit)
{
    if (s->plain)
        delim_walk_plainly(s, w, fit);
#if defined(__x86_64__)
    else if ((lb_cpu() & LB_CPU_VBMI2) != 0)
        delim_walk_wide(s, w, fit);
#endif
    else
        delim_walk_counting(s, w, fit);
}

uint64_t delim_skip(delim_scanner *s, uint64_t want)
{
    delim_walk w = { .want = want, .stop = SIZE_MAX };
    size_t from = delim_pass_blank(s, s->after);

    delim_goto(s, s->after);
    delim_pass(s, &w, NULL);
    from = w.stop == SIZE_MAX ? from : delim_pass_blank(s, w.stop);
    /* No line end closes the last record of a text. */
    if (w.passed < want && s->end && from < s->size) {
        w.passed++;
        from = s->size;
    }
    delim_goto(s, s->start = from);
    return w.passed;
}

bool delim_skip_open(delim_scanner *s, bool quoted)
{
    delim_walk w = { .want = 1, .stop = SIZE_MAX };

    s->carry = (delim_carry){ .quoted = quoted };
    delim_pass(s, &w, NULL);
    if (w.stop == SIZE_MAX)
        return false;
    delim_goto(s, s->start = delim_pass_blank(s, w.stop));
    return true;
}

void delim_skip_blank(delim_scanner *s)
{
    s->after = delim_pass_blank(s, s->after);
}

/* Bit 0, and each `width`-th one behind it. */
static uint64_t delim_every(size_t width)
{
    uint64_t every = 1;

    for (size_t at = width; at < 64 && width != 0; at *= 2)
        every |= every << at;
    return every;
}

uint64_t delim_skip_fitting(delim_scanner *s, uint64_t want, size_t width, bool fewer)
{
    const delim_fit fit = { width, fewer, delim_every(width) };
    delim_walk w = { .want = want, .stop = SIZE_MAX };

    delim_goto(s, s->after);
    delim_pass(s, &w, &fit);
    s->unfit = w.unfit;
    s->lines_passed = w.lines_at_stop;
    s->start = w.stop == SIZE_MAX ? s->after : delim_pass_blank(s, w.stop);
    delim_goto(s, w.stop == SIZE_MAX ? s->after : delim_pass_break(s, w.stop));
    return w.passed;
}

/* The end of a run of bytes that stand for themselves. */
static const uint8_t *delim_run_end(const delim_dialect *d, const uint8_t *p, const uint8_t *end, bool quoted)
{
    if (d->escape >= 0) {
        while (p < end && *p != (uint8_t)d->escape && !(quoted && *p == (uint8_t)d->quote))
            p++;
        return p;
    }
    const uint8_t *found = quoted && p < end ? memchr(p, d->quote, (size_t)(end - p)) : NULL;
    return found == NULL ? end : found;
}

size_t delim_unescape(const delim_dialect *d, const delim_field *field, size_t most, uint8_t *out)
{
    const uint8_t *p = field->p, *end = p + field->size;
    bool quoted = (field->flags & DELIM_QUOTED) != 0;
    size_t size = 0;

    p += quoted;
    while (p < end && size < most) {
        const uint8_t *to = delim_run_end(d, p, end, quoted);
        size_t run = LB_MIN((size_t)(to - p), most - size);
        memcpy(out + size, p, run);
        size += run;
        if (to == end || size == most)
            break;
        p = to + 1;
        if ((int)*to == d->escape ? p < end : p < end && *p == *to) {
            out[size++] = *p++; /* what the escape, or the quote before another one, makes of it */
        } else if ((int)*to == d->escape) {
            out[size++] = *to; /* nothing follows */
        } else {
            quoted = false;
        }
    }
    return size;
}
