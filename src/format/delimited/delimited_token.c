/* The tokenizer: special bytes are found 64 at a time, and the records are walked from one special byte to the next. */
#include <stdlib.h>

#include "format/delimited/delimited.h"

void delim_scanner_init(delim_scanner *s, const delim_dialect *d, lb_budget *budget)
{
    uint8_t bytes[5] = { '\n', '\r', d->delimiter[0] }, quotes[2];
    size_t n = 3, n_quotes = 0;

    *s = (delim_scanner){ .dialect = d, .find = lb_find64(), .budget = budget };
    if (d->quote >= 0)
        quotes[n_quotes++] = (uint8_t)d->quote;
    if (d->escape >= 0)
        quotes[n_quotes++] = (uint8_t)d->escape;
    for (size_t i = 0; i < n_quotes; i++)
        bytes[n++] = quotes[i];
    s->specials = lb_byte_set_of(bytes, n);
    s->breaks = lb_byte_set_of(bytes, 2);
    s->quotes = n_quotes == 0 ? s->breaks : lb_byte_set_of(quotes, n_quotes);
}

void delim_scanner_free(delim_scanner *s)
{
    lb_budget_give(s->budget, s->cap_fields * sizeof *s->fields);
    free(s->fields);
    s->fields = NULL;
    s->cap_fields = 0;
}

/* Special bytes of the block at s->base, those past the window left out. */
static inline void delim_load(delim_scanner *s)
{
    s->mask = s->find(s->data + s->base, &s->specials);
    if (s->size - s->base < LB_FIND_BLOCK)
        s->mask &= ((uint64_t)1 << (s->size - s->base)) - 1;
}

static void delim_goto(delim_scanner *s, size_t from)
{
    s->base = from / LB_FIND_BLOCK * LB_FIND_BLOCK;
    s->mask = 0;
    s->skip_to = from;
    if (s->base < s->size) {
        delim_load(s);
        s->mask &= ~(uint64_t)0 << (from - s->base);
    }
}

void delim_window(delim_scanner *s, const uint8_t *data, size_t size, bool end, size_t from)
{
    s->data = data;
    s->size = size;
    s->end = end;
    s->start = s->after = from;
    delim_goto(s, from);
}

/* Position of the next special byte that is not to be skipped; s->size where there is none. */
static inline size_t delim_special(delim_scanner *s)
{
    for (;;) {
        while (s->mask == 0) {
            if (s->size - s->base <= LB_FIND_BLOCK)
                return s->size;
            s->base += LB_FIND_BLOCK;
            delim_load(s);
        }
        size_t at = s->base + (size_t)__builtin_ctzll(s->mask);
        s->mask &= s->mask - 1;
        if (at >= s->skip_to)
            return at;
    }
}

static lb_status delim_grow(delim_scanner *s, lb_error *err)
{
    size_t cap = s->cap_fields == 0 ? 64 : s->cap_fields * 2, bytes;

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

/* Find the quote that closes the field opened before. Gives its position, s->size at the end of the window. */
static size_t delim_closing(delim_scanner *s, unsigned *flags, bool *more)
{
    const uint8_t quote = (uint8_t)s->dialect->quote;

    for (;;) {
        size_t at = delim_special(s);
        if (at == s->size)
            return at;
        if (s->data[at] == quote) {
            if (at + 1 == s->size && !s->end)
                return *more = true, s->size;
            if (at + 1 == s->size || s->data[at + 1] != quote)
                return at;
        } else if ((int)s->data[at] != s->dialect->escape) {
            continue;
        }
        *flags |= DELIM_DIRTY;
        s->skip_to = at + 2;
    }
}

/* Is the delimiter whole at `at`? Its first byte is. */
static inline bool delim_is_delimiter(delim_scanner *s, size_t at, bool *more)
{
    const delim_dialect *d = s->dialect;

    if (d->delimiter_size == 1)
        return true;
    if (s->size - at < d->delimiter_size) {
        *more = !s->end && memcmp(s->data + at, d->delimiter, s->size - at) == 0;
        return false;
    }
    return memcmp(s->data + at, d->delimiter, d->delimiter_size) == 0;
}

/* One field from `from` on. Gives where it ends: at a delimiter, a line end, or the window's end (`*more` when the field
 * may go on behind it). */
static size_t delim_walk_field(delim_scanner *s, size_t from, delim_field *out, bool *more)
{
    const delim_dialect *d = s->dialect;
    unsigned flags = 0;
    size_t close = 0, at;

    if (d->quote >= 0 && from < s->size && s->data[from] == (uint8_t)d->quote) {
        flags = DELIM_QUOTED;
        s->skip_to = from + 1;
        close = delim_closing(s, &flags, more);
        if (close == s->size) {
            /* Never closed: the field runs to the end of the text. */
            *more |= !s->end;
            *out = (delim_field){ s->data + from, s->size - from, flags | DELIM_DIRTY | DELIM_UNCLOSED };
            return close;
        }
    }
    for (;;) {
        at = delim_special(s);
        if (at >= s->size)
            break;
        uint8_t c = s->data[at];
        if (c == d->delimiter[0] ? delim_is_delimiter(s, at, more) : c == '\n' || c == '\r')
            break;
        if (*more)
            return s->size;
        if ((int)c == d->escape) {
            flags |= DELIM_DIRTY;
            s->skip_to = at + 2;
        }
    }
    *more |= at >= s->size && !s->end;
    if (flags & DELIM_QUOTED && !(flags & DELIM_DIRTY) && at == close + 1)
        *out = (delim_field){ s->data + from + 1, close - from - 1, flags };
    else
        *out = (delim_field){ s->data + from, at - from, flags & DELIM_QUOTED ? flags | DELIM_DIRTY : flags };
    return at;
}

/* Behind the line end at `at`; *more when an LF may still follow a CR. */
static size_t delim_pass_break(delim_scanner *s, size_t at, bool *more)
{
    if (at == s->size || s->data[at] == '\n')
        return LB_MIN(at + 1, s->size);
    if (at + 1 == s->size)
        *more = !s->end;
    return at + 1 < s->size && s->data[at + 1] == '\n' ? at + 2 : at + 1;
}

lb_status delim_next(delim_scanner *s, delim_step *step, lb_error *err)
{
    size_t at = s->after;
    bool more = false;

    while (at < s->size && (s->data[at] == '\n' || s->data[at] == '\r'))
        at++;
    s->start = s->stop = s->after = at;
    s->n_fields = 0;
    if (at == s->size) {
        *step = s->end ? DELIM_END : DELIM_MORE;
        return LB_OK;
    }
    s->skip_to = at; /* the masks stand in the block of `at` or before */
    for (;;) {
        if (s->n_fields == s->cap_fields)
            LB_TRY(delim_grow(s, err));
        at = delim_walk_field(s, at, &s->fields[s->n_fields], &more);
        if (more)
            break;
        s->n_fields++;
        if (at == s->size || s->data[at] == '\n' || s->data[at] == '\r')
            break;
        at += s->dialect->delimiter_size;
        s->skip_to = at;
    }
    s->stop = at;
    s->after = more ? s->start : delim_pass_break(s, at, &more);
    if (more)
        s->after = s->start;
    *step = more ? DELIM_MORE : DELIM_RECORD;
    return LB_OK;
}

/* Pass over one record by the general way; false: it is not whole. */
static bool delim_skip_one(delim_scanner *s)
{
    size_t at = s->start;
    bool more = false;
    delim_field field;

    delim_goto(s, at);
    for (;;) {
        at = delim_walk_field(s, at, &field, &more);
        if (more || at == s->size || s->data[at] == '\n' || s->data[at] == '\r')
            break;
        at += s->dialect->delimiter_size;
        s->skip_to = at;
    }
    if (!more)
        s->after = delim_pass_break(s, at, &more);
    return !more;
}

/* Where no quote stands, a record is a run of bytes between line ends: bit i of the answer says that a record ends before
 * byte i, which is the first of its line ends. */
static uint64_t delim_ends(uint64_t breaks, bool after_break)
{
    return breaks & ~(breaks << 1 | (after_break ? 1 : 0));
}

/* Position of the n-th set bit, n from 1. */
static unsigned delim_nth_bit(uint64_t bits, uint64_t n)
{
    while (n-- > 1)
        bits &= bits - 1;
    return (unsigned)__builtin_ctzll(bits);
}

/* Blocks without quotes, from `at` inside or before a record: passes whole records until one with a quote begins, `want` are
 * passed or the window ends. s->start is left at the beginning of the first record not passed. */
static uint64_t delim_skip_plain(delim_scanner *s, uint64_t want, bool *quote)
{
    size_t at = s->after;
    uint64_t passed = 0;
    bool in_break = true; /* the byte before `at` ended a line, or nothing is before it */

    s->start = at;
    *quote = false;
    for (; at < s->size; at += LB_FIND_BLOCK) {
        uint64_t inside = s->size - at < LB_FIND_BLOCK ? ((uint64_t)1 << (s->size - at)) - 1 : ~(uint64_t)0;
        uint64_t breaks = s->find(s->data + at, &s->breaks) & inside;
        uint64_t quotes =
            (s->dialect->quote < 0 && s->dialect->escape < 0 ? 0 : s->find(s->data + at, &s->quotes)) & inside;
        if (quotes != 0)
            breaks &= (quotes & -quotes) - 1;
        uint64_t ends = delim_ends(breaks, in_break);
        uint64_t n = (uint64_t)__builtin_popcountll(ends);
        if (passed + n >= want) {
            s->start = at + delim_nth_bit(ends, want - passed);
            return want;
        }
        passed += n;
        if (ends != 0)
            s->start = at + 63 - (size_t)__builtin_clzll(ends);
        if (quotes != 0) {
            *quote = true;
            return passed;
        }
        in_break = (breaks >> 63) != 0;
    }
    return passed;
}

uint64_t delim_skip(delim_scanner *s, uint64_t want)
{
    uint64_t passed = 0;
    bool quote;

    s->start = s->after;
    while (passed < want) {
        passed += delim_skip_plain(s, want - passed, &quote);
        /* s->start stands at the line end of the last record passed, or where we began. */
        while (s->start < s->size && (s->data[s->start] == '\n' || s->data[s->start] == '\r'))
            s->start++;
        s->after = s->start;
        if (passed == want || s->start == s->size)
            break;
        if (!quote && !s->end)
            break;
        if (!delim_skip_one(s))
            break;
        s->start = s->after;
        passed++;
    }
    delim_goto(s, s->after = s->start);
    return passed;
}

size_t delim_unescape(const delim_dialect *d, const delim_field *field, uint8_t *out)
{
    const uint8_t *p = field->p, *end = p + field->size;
    bool quoted = (field->flags & DELIM_QUOTED) != 0;
    uint8_t *to = out;

    if (quoted)
        p++;
    while (p < end) {
        if ((int)*p == d->escape && p + 1 < end) {
            p++;
        } else if (quoted && *p == (uint8_t)d->quote) {
            if (p + 1 < end && p[1] == (uint8_t)d->quote) {
                p++;
            } else {
                quoted = false;
                p++;
                continue;
            }
        }
        *to++ = *p++;
    }
    return (size_t)(to - out);
}
