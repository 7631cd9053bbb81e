/* From bytes to separators, 64 bytes at a time. Quotes, delimiters and line ends are found by vectors; which of the quotes
 * open and close fields is then settled with whole words of bits.
 *
 * The rule: a quote where a field begins opens it, the next one closes it, and one right behind that opens it again (`""`);
 * every other quote is an ordinary byte. If all quotes of a block obeyed that, the bytes inside quotes would be those
 * behind an odd number of quotes: the running exclusive or of the quote bits. So that is taken first, and every quote that
 * would open is held against what stands before it. The first one that may not open is ordinary for certain, since all
 * before it is right, and so is every other quote up to the end of its field: they are taken out, and the rest is looked at
 * again. A block costs one round more for each field with such quotes in it. */
#include "base/cpu.h"
#include "format/delimited/delimited.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { VALUE_LF, VALUE_CR, VALUE_DELIMITER, VALUE_NEXT };

#define INDEX_INLINE static inline __attribute__((always_inline))

/* Bit i of the answer: exclusive or of bits 0 to i. */
typedef uint64_t (*index_xor_fn)(uint64_t bits);

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

/* delim_carry as words. */
typedef struct index_carry {
    uint64_t quoted;                  /* all bits or none */
    uint64_t edge, blank, closed, cr; /* the lowest bit */
    bool escaped;
} index_carry;

/* What the first words found in a block are, with quotes still to be settled. */
typedef struct index_words {
    uint64_t separators, breaks;
} index_words;

/* Leaves in `w` those outside quotes. *dirty gets bits where a quote stands within a field. */
INDEX_INLINE index_roles index_quotes(const uint64_t all, index_words *w, index_carry *carry, uint64_t *dirty,
                                      index_xor_fn running_xor)
{
    const uint64_t ends = w->separators;
    uint64_t quotes = all, inside, outside, closing, reopened, opening;

    for (;;) {
        inside = running_xor(quotes) ^ carry->quoted; /* behind byte i */
        outside = ends & ~inside;
        closing = quotes & ~inside;
        opening = quotes & inside;
        reopened = closing << 1 | carry->closed;
        uint64_t bad = opening & ~(outside << 1 | carry->edge | reopened);
        if (__builtin_expect(bad == 0, 1))
            break;
        uint64_t from = index_below(bad); /* what is right */
        uint64_t field = ends & ~from;    /* a separator behind it ends the field */
        quotes &= from | (field == 0 ? 0 : ~index_below(field));
        *dirty = 1;
    }
    *dirty |= opening & reopened;
    w->separators = outside;
    w->breaks &= outside;
    carry->quoted = 0 - (inside >> 63);
    carry->edge = outside >> 63;
    carry->closed = closing >> 63;
    return (index_roles){ opening & ~reopened, closing, (all & ~quotes) | (opening & reopened) };
}

/* ---------------------------------------------------------------- block after block */

/* The words found of each value, side by side. */
typedef struct index_found {
    const uint64_t *lf, *cr, *delimiter, *quote, *escape;
} index_found;

/* How the running exclusive or is had; whether the dialect has quotes and escapes; whether opens, closes and marks are wanted. */
typedef struct index_kind {
    index_xor_fn running_xor;
    bool quote, escape, marking;
} index_kind;

/* Words behind the last block. */
static void index_clear(delim_scanner *s)
{
    const size_t n = s->n_blocks, size = (DELIM_INDEX_BLOCKS - n) * sizeof(uint64_t);

    memset(s->separators + n, 0, size);
    memset(s->breaks + n, 0, size);
    memset(s->ends + n, 0, size);
    memset(s->lines + n, 0, size);
}

INDEX_INLINE void index_blocks(delim_scanner *s, const index_found f, const index_kind k)
{
    const size_t n_blocks = s->n_blocks;
    index_carry carry = {
        0 - (uint64_t)s->carry.quoted, s->carry.edge, s->carry.blank, s->carry.closed, s->carry.cr, s->carry.escaped
    };
    uint64_t dirty = 0;

    for (size_t b = 0; b < n_blocks; b++) {
        const uint64_t lf = f.lf[b], cr = f.cr[b];
        index_words w = { lf | cr | f.delimiter[b], lf | cr };
        s->lines[b] = w.breaks & ~(lf & (cr << 1 | carry.cr));
        carry.cr = cr >> 63;
        uint64_t quotes = k.quote ? f.quote[b] : 0, marks = 0;
        index_roles roles = { 0, 0, 0 };
        if (k.escape && (f.escape[b] != 0 || carry.escaped)) {
            uint64_t escaped = index_escaped(f.escape[b], &carry.escaped);
            w.breaks &= ~escaped;
            w.separators &= ~escaped;
            quotes &= ~escaped;
            marks = f.escape[b] & ~escaped;
            dirty = 1;
        }
        if ((quotes | carry.quoted) != 0) {
            roles = index_quotes(quotes, &w, &carry, &dirty, k.running_xor);
        } else {
            carry.edge = w.separators >> 63;
            carry.closed = 0;
        }
        s->separators[b] = w.separators;
        s->breaks[b] = w.breaks;
        s->ends[b] = w.breaks & ~(w.breaks << 1 | carry.blank);
        carry.blank = w.breaks >> 63;
        if (k.marking) {
            s->opens[b] = roles.opens;
            s->closes[b] = roles.closes;
            s->marks[b] = marks | roles.within;
        }
    }
    s->carry = (delim_carry){ .quoted = carry.quoted != 0,
                              .edge = carry.edge != 0,
                              .blank = carry.blank != 0,
                              .closed = carry.closed != 0,
                              .escaped = carry.escaped,
                              .cr = carry.cr != 0 };
    index_clear(s);
    if (dirty != 0)
        s->dirty_to = s->base + n_blocks * LB_FIND_BLOCK;
}

/* ---------------------------------------------------------------- all blocks together */

/* Where there are no escapes. The loops are of a fixed length over words that lie side by side, so that the compiler makes
 * vectors of them (so the words found must be an array of the same function, which nothing else can be the same as); words behind
 * the last block are 0. */
#define INDEX_ALL(b) for (size_t b = 0; b < DELIM_INDEX_BLOCKS; b++)

/* A row of words with room for the one before the first. */
#define INDEX_LEAD 8
#define INDEX_ROW (INDEX_LEAD + DELIM_INDEX_BLOCKS)

/* Word b moved on by one bit: the highest of the word before comes in. */
#define INDEX_MOVED(row, b) ((row)[(b)] << 1 | (row)[(ptrdiff_t)(b)-1] >> 63)

/* Physical lines: the LF of a CR LF ends no further one. `cr` has the word before the first one. */
INDEX_INLINE void index_lines(delim_scanner *s, const index_found f)
{
    INDEX_ALL(b)
    s->lines[b] = f.cr[b] | (f.lf[b] & ~INDEX_MOVED(f.cr, b));
}

/* What no quote is a part of. */
INDEX_INLINE void index_unquoted(delim_scanner *s, const index_found f, const index_kind k)
{
    _Alignas(64) uint64_t row[INDEX_ROW];
    uint64_t *const breaks = row + INDEX_LEAD;

    breaks[-1] = (uint64_t)s->carry.blank << 63;
    INDEX_ALL(b)
    breaks[b] = f.lf[b] | f.cr[b];
    INDEX_ALL(b)
    {
        s->breaks[b] = breaks[b];
        s->ends[b] = breaks[b] & ~INDEX_MOVED(breaks, b);
        s->separators[b] = breaks[b] | f.delimiter[b];
    }
    s->carry.closed = false;
    if (k.marking) {
        memset(s->opens, 0, sizeof s->opens);
        memset(s->closes, 0, sizeof s->closes);
        memset(s->marks, 0, sizeof s->marks);
    }
}

/* For each byte whether it stands within quotes, if each of them opens or closes a field; the one that opens does, the one that
 * closes does not. */
INDEX_INLINE void index_inside(const uint64_t *quote, uint64_t *inside, bool quoted, index_xor_fn running_xor)
{
    uint64_t odd = 0;

    INDEX_ALL(b)
    inside[b] = index_running_xor(quote[b]);
    INDEX_ALL(b)
    odd |= inside[b] >> 63 << b;
    const uint64_t before = running_xor(odd << 1 | quoted); /* a bit for each block */
    INDEX_ALL(b)
    inside[b] ^= 0 - (before >> b & 1);
}

INDEX_INLINE void index_mark(delim_scanner *s, const uint64_t *quote, const uint64_t *inside, const uint64_t *closing)
{
    INDEX_ALL(b)
    {
        const uint64_t opening = quote[b] & inside[b], reopened = INDEX_MOVED(closing, b);
        s->opens[b] = opening & ~reopened;
        s->marks[b] = opening & reopened;
        s->closes[b] = quote[b] & ~inside[b];
    }
}

/* False: some quote is an ordinary byte, and what was written does not count. */
INDEX_INLINE bool index_quoted(delim_scanner *s, const index_found f, const index_kind k)
{
    _Alignas(64) uint64_t inside[DELIM_INDEX_BLOCKS], rows[3][INDEX_ROW];
    uint64_t bad = 0, reopens = 0;
    uint64_t *const outside = rows[0] + INDEX_LEAD, *const closing = rows[1] + INDEX_LEAD,
                    *const breaks = rows[2] + INDEX_LEAD;
    const size_t last = s->n_blocks - 1;

    outside[-1] = (uint64_t)s->carry.edge << 63;
    closing[-1] = (uint64_t)s->carry.closed << 63;
    breaks[-1] = (uint64_t)s->carry.blank << 63;
    index_inside(f.quote, inside, s->carry.quoted, k.running_xor);
    INDEX_ALL(b)
    {
        s->breaks[b] = breaks[b] = (f.lf[b] | f.cr[b]) & ~inside[b];
        s->separators[b] = outside[b] = breaks[b] | (f.delimiter[b] & ~inside[b]);
        closing[b] = f.quote[b] & ~inside[b];
    }
    INDEX_ALL(b)
    {
        const uint64_t opening = f.quote[b] & inside[b], reopened = INDEX_MOVED(closing, b);
        bad |= opening & ~(INDEX_MOVED(outside, b) | reopened);
        reopens |= opening & reopened;
        s->ends[b] = breaks[b] & ~INDEX_MOVED(breaks, b);
    }
    if (bad != 0)
        return false;
    if (k.marking)
        index_mark(s, f.quote, inside, closing);
    s->carry.quoted = inside[last] >> 63 != 0;
    s->carry.closed = closing[last] >> 63 != 0;
    if (reopens != 0)
        s->dirty_to = s->base + s->n_blocks * LB_FIND_BLOCK;
    return true;
}

INDEX_INLINE void index_all(delim_scanner *s, const index_found f, const index_kind k)
{
    const size_t last = s->n_blocks - 1;
    uint64_t any = s->carry.quoted;

    if (k.quote)
        INDEX_ALL(b)
    any |= f.quote[b];
    if (any == 0) {
        index_unquoted(s, f, k);
    } else if (!index_quoted(s, f, k)) {
        index_blocks(s, f, k);
        return;
    }
    index_lines(s, f);
    s->carry.edge = s->separators[last] >> 63 != 0;
    s->carry.blank = s->breaks[last] >> 63 != 0;
    s->carry.cr = f.cr[last] >> 63 != 0;
}

/* ---------------------------------------------------------------- choosing */

/* Vectors over as many blocks as the window has from s->base on; what lies behind its limit does not count. A row of words for
 * each value, at found + INDEX_LEAD. */
INDEX_INLINE index_found index_find(delim_scanner *s, uint64_t *found)
{
    const size_t left = s->limit - s->base,
                 blocks = LB_MIN((left + LB_FIND_BLOCK - 1) / LB_FIND_BLOCK, DELIM_INDEX_BLOCKS);
    uint64_t *row = found + INDEX_LEAD;

    s->n_blocks = blocks;
    s->find(s->data + s->base, blocks, s->values, s->n_values, row, INDEX_ROW);
    for (unsigned v = 0; v < s->n_values; v++, row += INDEX_ROW) {
        memset(row + blocks, 0, (DELIM_INDEX_BLOCKS - blocks) * sizeof *row);
        if (left < blocks * LB_FIND_BLOCK)
            row[blocks - 1] &= ((uint64_t)1 << left % LB_FIND_BLOCK) - 1;
    }
    row = found + INDEX_LEAD;
    row[VALUE_CR * INDEX_ROW - 1] = (uint64_t)s->carry.cr << 63;
    return (index_found){ row + VALUE_LF * INDEX_ROW, row + VALUE_CR * INDEX_ROW, row + VALUE_DELIMITER * INDEX_ROW,
                          row + VALUE_NEXT * INDEX_ROW, row + (s->n_values - 1) * (size_t)INDEX_ROW };
}

/* A body for each kind. */
INDEX_INLINE void index_any(delim_scanner *s, index_xor_fn running_xor)
{
    _Alignas(64) uint64_t rows[INDEX_ROW * (VALUE_NEXT + 2)];
    const index_found f = index_find(s, rows);
    const bool quote = s->dialect->quote >= 0;

    if (s->dialect->escape >= 0)
        index_blocks(s, f, (index_kind){ running_xor, quote, true, true });
    else if (s->marking)
        index_all(s, f, (index_kind){ running_xor, quote, false, true });
    else
        index_all(s, f, (index_kind){ running_xor, quote, false, false });
}

static void index_plainly(delim_scanner *s)
{
    index_any(s, index_running_xor);
}

#if defined(__x86_64__)
#define INDEX_AVX2 __attribute__((target("avx2,pclmul,popcnt,bmi,bmi2,lzcnt")))
#define INDEX_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,pclmul,popcnt,bmi,bmi2,lzcnt")))

/* A product without carries by a number that is all ones. */
INDEX_AVX2 static inline uint64_t index_running_xor_clmul(uint64_t bits)
{
    const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8((char)0xff), 0);

    return (uint64_t)_mm_cvtsi128_si64(product);
}

INDEX_AVX2 static void index_avx2(delim_scanner *s)
{
    index_any(s, index_running_xor_clmul);
}

INDEX_AVX512 static void index_avx512(delim_scanner *s)
{
    index_any(s, index_running_xor_clmul);
}
#endif

void delim_index(delim_scanner *s)
{
    if (s->dialect->delimiter_size > 1)
        delim_index_slow(s);
#if defined(__x86_64__)
    else if ((lb_cpu() & LB_CPU_AVX512) != 0)
        index_avx512(s);
    else if ((lb_cpu() & LB_CPU_AVX2) != 0)
        index_avx2(s);
#endif
    else
        index_plainly(s);
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
        s->ends[b] |= before.blank ? 0 : bit;
        carry->edge = carry->blank = true;
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
    memset(s->separators, 0, sizeof s->separators);
    memset(s->breaks, 0, sizeof s->breaks);
    memset(s->ends, 0, sizeof s->ends);
    memset(s->lines, 0, sizeof s->lines);
    memset(s->opens, 0, sizeof s->opens);
    memset(s->closes, 0, sizeof s->closes);
    memset(s->marks, 0, sizeof s->marks);
    left = LB_MIN(left, s->n_blocks * LB_FIND_BLOCK);
    for (size_t i = 0; i < left; i++)
        index_byte(s, s->base + i, &carry, (uint64_t)1 << i % LB_FIND_BLOCK, i / LB_FIND_BLOCK);
    s->carry = carry;
}
