/* From bytes to separators, 64 bytes at a time. Quotes, delimiters and line ends are found by vectors; which of the quotes
 * open and close fields is then settled with whole words of bits.
 *
 * The rule: a quote where a field begins opens it, the next one closes it, and one right behind that opens it again (`""`);
 * every other quote is an ordinary byte. If all quotes of a block obeyed that, the bytes inside quotes would be those
 * behind an odd number of quotes: the running exclusive or of the quote bits. So that is taken first, and every quote that
 * would open is held against what stands before it. The first one that may not open is ordinary for certain, since all
 * before it is right, and so is every other quote up to the end of its field: they are taken out, and the rest is looked at
 * again. A block costs one round more for each field with such quotes in it. */
#include "format/delimited/delimited.h"

enum { VALUE_LF, VALUE_CR, VALUE_DELIMITER, VALUE_NEXT };

#define INDEX_INLINE static inline __attribute__((always_inline))

/* Bit i of the answer: exclusive or of bits 0 to i. */
INDEX_INLINE uint64_t index_running_xor(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* Bits below the lowest one that is set; all where none is. */
INDEX_INLINE uint64_t index_below(uint64_t bits)
{
    return (bits & (0 - bits)) - 1;
}

/* Bytes that stand behind an escape byte which itself stands for no other byte. */
static uint64_t index_escaped(uint64_t escapes, bool *carry)
{
    uint64_t escaped = *carry ? 1 : 0;

    *carry = false;
    escapes &= ~escaped;
    while (escapes != 0) {
        unsigned at = (unsigned)__builtin_ctzll(escapes);
        if (at == 63) {
            *carry = true;
            break;
        }
        escaped |= (uint64_t)2 << at;
        escapes &= ~((uint64_t)3 << at);
    }
    return escaped;
}

/* What quotes are. */
typedef struct index_roles {
    uint64_t opens, closes, within; /* open a field, close one, stand for themselves within one */
} index_roles;

/* Leaves in `separators` and `breaks` those outside quotes. */
INDEX_INLINE index_roles index_quotes(const uint64_t all, uint64_t *separators, uint64_t *breaks, delim_carry *carry)
{
    uint64_t quotes = all;
    const uint64_t ends = *separators, quoted = carry->quoted ? ~(uint64_t)0 : 0, edge = carry->edge ? 1 : 0,
                   closed = carry->closed ? 1 : 0;
    uint64_t inside, outside, closing, reopened, opening;

    for (;;) {
        inside = index_running_xor(quotes) ^ quoted; /* behind byte i */
        outside = ends & ~inside;
        closing = quotes & ~inside;
        opening = quotes & inside;
        reopened = closing << 1 | closed;
        uint64_t bad = opening & ~(outside << 1 | edge | reopened);
        if (bad == 0)
            break;
        uint64_t from = index_below(bad); /* what is right */
        uint64_t field = ends & ~from;    /* a separator behind it ends the field */
        quotes &= from | (field == 0 ? 0 : ~index_below(field));
    }
    *separators = outside;
    *breaks &= ~inside;
    carry->quoted = inside >> 63 != 0;
    carry->edge = outside >> 63 != 0;
    carry->closed = closing >> 63 != 0;
    return (index_roles){ opening & ~reopened, closing, (all & ~quotes) | (opening & reopened) };
}

INDEX_INLINE void index_blocks(delim_scanner *s, const uint64_t *found, bool has_quote, bool has_escape, bool marking)
{
    const unsigned n = s->n_values;
    delim_carry carry = s->carry;
    bool dirty = false;

    for (size_t b = 0; b < s->n_blocks; b++, found += n) {
        uint64_t breaks = found[VALUE_LF] | found[VALUE_CR], separators = breaks | found[VALUE_DELIMITER];
        s->lines[b] = breaks & ~(found[VALUE_LF] & (found[VALUE_CR] << 1 | (carry.cr ? 1 : 0)));
        carry.cr = found[VALUE_CR] >> 63 != 0;
        uint64_t quotes = has_quote ? found[VALUE_NEXT] : 0, marks = 0;
        index_roles roles = { 0, 0, 0 };
        if (has_escape && (found[n - 1] != 0 || carry.escaped)) {
            uint64_t escaped = index_escaped(found[n - 1], &carry.escaped);
            breaks &= ~escaped;
            separators &= ~escaped;
            quotes &= ~escaped;
            marks = found[n - 1] & ~escaped;
            dirty = true;
        }
        if (quotes != 0 || carry.quoted) {
            roles = index_quotes(quotes, &separators, &breaks, &carry);
            dirty |= roles.within != 0;
        } else {
            carry.edge = separators >> 63 != 0;
            carry.closed = false;
        }
        s->separators[b] = separators;
        s->breaks[b] = breaks;
        if (marking) {
            s->opens[b] = roles.opens;
            s->closes[b] = roles.closes;
            s->marks[b] = marks | roles.within;
        }
    }
    s->carry = carry;
    if (dirty)
        s->dirty_to = s->base + s->n_blocks * LB_FIND_BLOCK;
}

/* Vectors over as many blocks as the window has from s->base on; what lies behind its limit does not count. */
static void index_find(delim_scanner *s, uint64_t *found)
{
    size_t left = s->limit - s->base, blocks = LB_MIN((left + LB_FIND_BLOCK - 1) / LB_FIND_BLOCK, DELIM_INDEX_BLOCKS);

    s->n_blocks = blocks;
    s->find(s->data + s->base, blocks, s->values, s->n_values, found);
    if (left < blocks * LB_FIND_BLOCK) {
        uint64_t inside = ((uint64_t)1 << left % LB_FIND_BLOCK) - 1;
        for (unsigned v = 0; v < s->n_values; v++)
            found[(blocks - 1) * s->n_values + v] &= inside;
    }
}

void delim_index(delim_scanner *s)
{
    uint64_t found[DELIM_INDEX_BLOCKS * (VALUE_NEXT + 2)];

    if (s->dialect->delimiter_size > 1) {
        delim_index_slow(s);
        return;
    }
    index_find(s, found);
    if (s->dialect->escape >= 0)
        index_blocks(s, found, s->dialect->quote >= 0, true, true);
    else if (s->marking)
        index_blocks(s, found, s->dialect->quote >= 0, false, true);
    else
        index_blocks(s, found, s->dialect->quote >= 0, false, false);
}

/* ---------------------------------------------------------------- byte by byte */

/* What a special byte at a position is: sets its bits, and what follows from it in `carry`, which is of the byte itself. */
static void index_byte(delim_scanner *s, size_t at, delim_carry *carry, uint64_t bit, size_t b)
{
    const delim_dialect *d = s->dialect;
    const delim_carry before = *carry;
    const int c = s->data[at];

    *carry = (delim_carry){ .quoted = before.quoted, .cr = c == '\r' };
    if (c == '\r' || (c == '\n' && !before.cr))
        s->lines[b] |= bit;
    if (before.escaped)
        return;
    if (before.skip != 0) {
        carry->skip = before.skip - 1;
        carry->edge = carry->skip == 0;
    } else if (c == d->escape) {
        carry->escaped = true;
        s->marks[b] |= bit;
        s->dirty_to = at + 1;
    } else if (c == d->quote) {
        bool opens = !before.quoted && (before.edge || before.closed);
        if (before.edge)
            s->opens[b] |= bit;
        if (before.quoted)
            s->closes[b] |= bit;
        if (!before.edge && !before.quoted) {
            s->marks[b] |= bit;
            s->dirty_to = at + 1;
        }
        carry->closed = before.quoted;
        carry->quoted = opens;
    } else if (before.quoted) {
        return;
    } else if (c == '\n' || c == '\r') {
        s->separators[b] |= bit;
        s->breaks[b] |= bit;
        carry->edge = true;
    } else if (memcmp(s->data + at, d->delimiter, LB_MIN(d->delimiter_size, s->size - at)) == 0 &&
               s->size - at >= d->delimiter_size) {
        s->separators[b] |= bit;
        carry->skip = d->delimiter_size - 1;
        carry->edge = carry->skip == 0;
    }
}

void delim_index_slow(delim_scanner *s)
{
    size_t left = s->limit - s->base;
    delim_carry carry = s->carry;

    s->n_blocks = LB_MIN((left + LB_FIND_BLOCK - 1) / LB_FIND_BLOCK, DELIM_INDEX_BLOCKS);
    memset(s->separators, 0, s->n_blocks * sizeof *s->separators);
    memset(s->breaks, 0, s->n_blocks * sizeof *s->breaks);
    memset(s->lines, 0, s->n_blocks * sizeof *s->lines);
    memset(s->opens, 0, s->n_blocks * sizeof *s->opens);
    memset(s->closes, 0, s->n_blocks * sizeof *s->closes);
    memset(s->marks, 0, s->n_blocks * sizeof *s->marks);
    left = LB_MIN(left, s->n_blocks * LB_FIND_BLOCK);
    for (size_t i = 0; i < left; i++)
        index_byte(s, s->base + i, &carry, (uint64_t)1 << i % LB_FIND_BLOCK, i / LB_FIND_BLOCK);
    s->carry = carry;
}
