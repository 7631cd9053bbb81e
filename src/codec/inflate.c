/* Huffman codes are looked up in tables: the first bits of the input, reversed as deflate stores them, index an entry that says what to
 * do and how many bits it takes; codes longer than a table's bits go on in a second one behind it. With at least
 * FAST_IN bytes of input and FAST_OUT of room nothing is checked within a symbol; near either end, and where matches
 * are noted, symbols are decoded one at a time with every check. */
#include "codec/inflate.h"

#include <stdlib.h>
#include <string.h>

#define CODE_LENGTH_MOST 15
#define LITLEN_BITS 11
#define DIST_BITS 8
#define PRE_BITS 7
#define LITLEN_SYMBOLS 288
#define DIST_SYMBOLS 32
#define PRE_SYMBOLS 19

/* The most entries that a table and those behind it can have, for so many symbols and bits (zlib's examples/enough.c counts
 * them): 2,342 and 402. Building stops at them in any case. */
#define LITLEN_ENTRIES 2342
#define DIST_ENTRIES 402

#define MATCH_MOST 258
#define FAST_IN 32
#define FAST_OUT (MATCH_MOST + 3 + 64)

/* An entry:
 *     bits 31 … 16  a literal's byte; the least length or distance; where a second table begins
 *     ENTRY_LITERAL in bit 15: a literal; ENTRY_ODD in bit 14: none of the usual, and of those
 *     ENTRY_TABLE   in bit 13: a second table, ENTRY_END in bit 12: the end of the block; else no such code
 *     bits 11 … 8   bits of the code; of a second table: bits that index it
 *     bits 7 … 0    bits to take: the code's and those behind it that add to the length or distance */
#define ENTRY_LITERAL (1u << 15)
#define ENTRY_ODD (1u << 14)
#define ENTRY_TABLE (1u << 13)
#define ENTRY_END (1u << 12)

typedef enum inflate_state {
    INFLATE_HEADER,
    INFLATE_STORED,
    INFLATE_CODES,
    INFLATE_BORDER,
    INFLATE_DONE
} inflate_state;

struct lb_inflate {
    uint64_t bits;   /* taken from the input and not used yet; those above `n_bits` are 0 between calls */
    unsigned n_bits; /* below 8 between calls */
    unsigned skip;   /* bits of the first byte that are past */
    bool final;      /* the block is the last */
    bool fixed;      /* the tables are those of fixed codes */
    inflate_state state;
    unsigned stored;            /* bytes of a stored block to come */
    unsigned match, match_dist; /* of a match, bytes to come */
    uint8_t *marks;             /* NULL: not noting */
    uint32_t noted;             /* bytes of output since noting began */
    uint32_t litlen[LITLEN_ENTRIES];
    uint32_t dist[DIST_ENTRIES];
    uint32_t pre[1 << PRE_BITS];
    uint8_t lengths[LITLEN_SYMBOLS + DIST_SYMBOLS];
};

lb_inflate *lb_inflate_new(void)
{
    return calloc(1, sizeof(lb_inflate));
}

void lb_inflate_free(lb_inflate *z)
{
    free(z);
}

void lb_inflate_begin(lb_inflate *z, unsigned bit)
{
    z->bits = 0;
    z->n_bits = 0;
    z->skip = bit & 7;
    z->final = false;
    z->state = INFLATE_HEADER;
    z->stored = z->match = 0;
    z->marks = NULL;
}

void lb_inflate_place(const lb_inflate *z, const lb_inflate_io *io, uint64_t *byte, unsigned *bit)
{
    *byte = z->n_bits == 0 ? io->in_at : io->in_at - 1;
    *bit = z->n_bits == 0 ? 0 : 8 - z->n_bits;
}

void lb_inflate_note(lb_inflate *z, uint8_t *marks)
{
    z->marks = marks;
    z->noted = 0;
}

bool lb_inflate_notes(const lb_inflate *z)
{
    return z->marks != NULL;
}

/* ---------------------------------------------------------------- bits */

/* A call's own copies of what changes most. */
typedef struct inflate_bits {
    uint64_t bits;
    unsigned n;
    const uint8_t *in, *end;
} inflate_bits;

/* At least 56 bits, where 8 bytes may be read. Bits above `n` are those that come next, so that they may be or-ed again. */
static inline void bits_fill_fast(inflate_bits *b)
{
    uint64_t word;

    memcpy(&word, b->in, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    b->bits |= word << b->n;
    b->in += (63 - b->n) >> 3;
    b->n |= 56;
}

/* As many as there are, up to 63. */
static void bits_fill(inflate_bits *b)
{
    b->bits &= ((uint64_t)1 << b->n) - 1;
    while (b->n < 56 && b->in < b->end) {
        b->bits |= (uint64_t)*b->in++ << b->n;
        b->n += 8;
    }
}

static inline void bits_drop(inflate_bits *b, unsigned n)
{
    b->bits >>= n;
    b->n -= n;
}

/* The next `n` bits (at most 16), which are there. */
static inline unsigned bits_take(inflate_bits *b, unsigned n)
{
    unsigned v = (unsigned)(b->bits & (((uint64_t)1 << n) - 1));

    bits_drop(b, n);
    return v;
}

/* Give whole bytes back to the input. Only bits of this call's input can be whole bytes. */
static void bits_return(inflate_bits *b)
{
    b->in -= b->n >> 3;
    b->n &= 7;
    b->bits &= ((uint64_t)1 << b->n) - 1;
}

/* ---------------------------------------------------------------- tables */

typedef struct inflate_code {
    uint32_t *table;
    unsigned bits, cap;      /* of its first part; entries in all */
    const uint32_t *results; /* by symbol: an entry without the code's bits */
    const uint8_t *lengths;  /* by symbol */
    unsigned n;
} inflate_code;

/* The next code of `length` bits, reversed; 0 after the last. */
static unsigned code_next(unsigned code, unsigned length)
{
    unsigned bit = 1u << (length - 1);

    while ((code & bit) != 0)
        bit >>= 1;
    return bit == 0 ? 0 : (code & (bit - 1)) | bit;
}

static void code_fill(uint32_t *table, unsigned size, unsigned code, unsigned length, uint32_t entry)
{
    for (unsigned i = code; i < size; i += 1u << length)
        table[i] = entry;
}

/* Bits that index a second table: enough for the codes that begin as this one of `length` bits. `left_of`: codes that are not placed yet, by
 * length. */
static unsigned code_second_bits(const inflate_code *c, const unsigned *left_of, unsigned length)
{
    unsigned bits = length - c->bits;
    int left = 1 << bits;

    while (bits + c->bits < CODE_LENGTH_MOST) {
        left -= (int)left_of[bits + c->bits];
        if (left <= 0)
            break;
        bits++;
        left <<= 1;
    }
    return bits;
}

/* Symbols in the order of their codes. */
static void code_sort(const inflate_code *c, unsigned *counts, uint16_t *sorted)
{
    unsigned offsets[CODE_LENGTH_MOST + 2] = { 0 };

    for (unsigned i = 0; i < c->n; i++)
        counts[c->lengths[i]]++;
    for (unsigned length = 1; length <= CODE_LENGTH_MOST; length++)
        offsets[length + 1] = offsets[length] + counts[length];
    for (unsigned i = 0; i < c->n; i++)
        if (c->lengths[i] != 0)
            sorted[offsets[c->lengths[i]]++] = (uint16_t)i;
}

/* Is the set of codes complete, or one code of one bit, or none at all? What it lacks then is no code. */
static bool code_complete(const unsigned *counts, bool may_lack)
{
    int left = 1;
    unsigned used = 0;

    for (unsigned length = 1; length <= CODE_LENGTH_MOST; length++) {
        left = (left << 1) - (int)counts[length];
        if (left < 0)
            return false;
        used += counts[length];
    }
    return left == 0 || (may_lack && (used == 0 || (used == 1 && counts[1] == 1)));
}

static uint32_t code_entry(uint32_t result, unsigned length)
{
    return result + (length << 8) + length;
}

/* A table being filled, as codes come in their order. */
typedef struct inflate_filling {
    const inflate_code *c;
    unsigned left_of[CODE_LENGTH_MOST + 1];
    unsigned used;                        /* entries */
    unsigned second, second_size, prefix; /* the second table that codes go to now, and the bits before it */
} inflate_filling;

/* Begin a second table for the codes that begin as this one. */
static bool filling_second(inflate_filling *f, unsigned code, unsigned length)
{
    const inflate_code *c = f->c;
    unsigned bits = code_second_bits(c, f->left_of, length);

    f->prefix = code & ((1u << c->bits) - 1);
    f->second = f->used;
    f->second_size = 1u << bits;
    if (f->second_size > c->cap - f->used)
        return false;
    f->used += f->second_size;
    c->table[f->prefix] = (uint32_t)f->second << 16 | ENTRY_ODD | ENTRY_TABLE | bits << 8 | c->bits;
    for (unsigned i = 0; i < f->second_size; i++)
        c->table[f->second + i] = ENTRY_ODD;
    return true;
}

static bool filling_put(inflate_filling *f, unsigned code, unsigned length, uint32_t result)
{
    const inflate_code *c = f->c;

    if (length <= c->bits) {
        code_fill(c->table, 1u << c->bits, code, length, code_entry(result, length));
    } else {
        if ((code & ((1u << c->bits) - 1)) != f->prefix && !filling_second(f, code, length))
            return false;
        code_fill(c->table + f->second, f->second_size, code >> c->bits, length - c->bits,
                  code_entry(result, length - c->bits));
    }
    f->left_of[length]--;
    return true;
}

/* Fill the table; false where the lengths are no code. Behind a length's last code comes the next length's first, with a 0 at its
 * end: reversed, the same number. */
static bool code_build(const inflate_code *c, bool may_lack)
{
    inflate_filling f = { .c = c, .used = 1u << c->bits, .prefix = UINT32_MAX };
    uint16_t sorted[LITLEN_SYMBOLS];
    unsigned code = 0, at = 0;

    code_sort(c, f.left_of, sorted);
    if (!code_complete(f.left_of, may_lack))
        return false;
    for (unsigned i = 0; i < f.used; i++)
        c->table[i] = ENTRY_ODD;
    for (unsigned length = 1; length <= CODE_LENGTH_MOST; length++)
        for (; f.left_of[length] != 0; code = code_next(code, length))
            if (!filling_put(&f, code, length, c->results[sorted[at++]]))
                return false;
    return true;
}

/* ---------------------------------------------------------------- what symbols mean */

static const uint16_t length_base[29] = { 3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                          31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
static const uint8_t length_extra[29] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
static const uint16_t dist_base[30] = { 1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                        33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                        1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577 };

static void litlen_results(uint32_t *results)
{
    for (unsigned i = 0; i < 256; i++)
        results[i] = i << 16 | ENTRY_LITERAL;
    results[256] = ENTRY_ODD | ENTRY_END;
    for (unsigned i = 0; i < 29; i++)
        results[257 + i] = (uint32_t)length_base[i] << 16 | length_extra[i];
    results[286] = results[287] = ENTRY_ODD;
}

static void dist_results(uint32_t *results)
{
    for (unsigned i = 0; i < 30; i++)
        results[i] = (uint32_t)dist_base[i] << 16 | (i < 4 ? 0 : (i - 2) >> 1);
    results[30] = results[31] = ENTRY_ODD;
}

static bool inflate_build(lb_inflate *z, unsigned n_litlen, unsigned n_dist)
{
    uint32_t litlen[LITLEN_SYMBOLS], dist[DIST_SYMBOLS];

    litlen_results(litlen);
    dist_results(dist);
    return code_build(&(inflate_code){ z->litlen, LITLEN_BITS, LITLEN_ENTRIES, litlen, z->lengths, n_litlen }, true) &&
           code_build(&(inflate_code){ z->dist, DIST_BITS, DIST_ENTRIES, dist, z->lengths + n_litlen, n_dist }, true);
}

/* ---------------------------------------------------------------- headers of blocks */

static lb_status inflate_fail(const lb_inflate_io *io, const inflate_bits *b, const char *what, lb_error *err)
{
    uint64_t at = io->in_at + (uint64_t)(b->in - io->in) - LB_MIN((uint64_t)(b->n >> 3), io->in_at);

    return lb_fail(err, LB_CORRUPT, LB_AT(at), "deflate: %s", what);
}

static lb_status inflate_cut(const lb_inflate_io *io, const inflate_bits *b, lb_error *err)
{
    return inflate_fail(io, b, "the bytes end inside a block", err);
}

static bool header_fixed(lb_inflate *z)
{
    if (z->fixed)
        return true;
    memset(z->lengths, 8, 144);
    memset(z->lengths + 144, 9, 112);
    memset(z->lengths + 256, 7, 24);
    memset(z->lengths + 280, 8, 8);
    memset(z->lengths + 288, 5, 32);
    z->fixed = inflate_build(z, LITLEN_SYMBOLS, DIST_SYMBOLS);
    return z->fixed;
}

static lb_status header_stored(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, lb_error *err)
{
    bits_drop(b, b->n & 7);
    if (b->n < 32)
        return inflate_cut(io, b, err);
    unsigned size = bits_take(b, 16), check = bits_take(b, 16);
    if ((size ^ check) != 0xFFFF)
        return inflate_fail(io, b, "a stored block's size and its complement do not agree", err);
    z->stored = size;
    z->state = INFLATE_STORED;
    return LB_OK;
}

/* The lengths of the codes' own codes, then those of both codes, in runs. */
static lb_status header_pre(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, unsigned n, lb_error *err)
{
    static const uint8_t order[PRE_SYMBOLS] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
    uint8_t lengths[PRE_SYMBOLS] = { 0 };
    uint32_t results[PRE_SYMBOLS];

    for (unsigned i = 0; i < n; i++) {
        bits_fill(b);
        if (b->n < 3)
            return inflate_cut(io, b, err);
        lengths[order[i]] = (uint8_t)bits_take(b, 3);
    }
    for (unsigned i = 0; i < PRE_SYMBOLS; i++)
        results[i] = i << 16;
    if (!code_build(&(inflate_code){ z->pre, PRE_BITS, 1 << PRE_BITS, results, lengths, PRE_SYMBOLS }, false))
        return inflate_fail(io, b, "a block's code of code lengths is none", err);
    return LB_OK;
}

static lb_status header_lengths(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, unsigned n, lb_error *err)
{
    static const uint8_t extra[3] = { 2, 3, 7 };

    for (unsigned i = 0; i < n;) {
        bits_fill(b);
        uint32_t e = z->pre[b->bits & ((1u << PRE_BITS) - 1)];
        unsigned symbol = e >> 16, more = symbol < 16 ? 0 : extra[symbol - 16], count;
        if ((e & ENTRY_ODD) != 0)
            return inflate_fail(io, b, "a code length has no such code", err);
        if (b->n < (e & 0xFF) + more)
            return inflate_cut(io, b, err);
        bits_drop(b, e & 0xFF);
        if (symbol < 16) {
            z->lengths[i++] = (uint8_t)symbol;
            continue;
        }
        bool repeats = symbol == 16;
        count = (symbol == 18 ? 11 : 3) + bits_take(b, more);
        if (count > n - i || (repeats && i == 0))
            return inflate_fail(io, b, "a run of code lengths passes its block's codes", err);
        memset(z->lengths + i, repeats ? z->lengths[i - 1] : 0, count);
        i += count;
    }
    return LB_OK;
}

static lb_status header_dynamic(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, lb_error *err)
{
    z->fixed = false;
    bits_fill(b);
    if (b->n < 14)
        return inflate_cut(io, b, err);
    unsigned n_litlen = bits_take(b, 5) + 257, n_dist = bits_take(b, 5) + 1, n_pre = bits_take(b, 4) + 4;
    if (n_litlen > 286 || n_dist > 30)
        return inflate_fail(io, b, "a block has more codes than there are", err);
    LB_TRY(header_pre(z, io, b, n_pre, err));
    LB_TRY(header_lengths(z, io, b, n_litlen + n_dist, err));
    if (z->lengths[256] == 0)
        return inflate_fail(io, b, "a block has no code for its end", err);
    if (!inflate_build(z, n_litlen, n_dist))
        return inflate_fail(io, b, "a block's code lengths are no code", err);
    z->state = INFLATE_CODES;
    return LB_OK;
}

static lb_status inflate_header(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, lb_error *err)
{
    bits_fill(b);
    if (b->n < 3)
        return inflate_cut(io, b, err);
    z->final = bits_take(b, 1) != 0;
    switch (bits_take(b, 2)) {
    case 0:
        return header_stored(z, io, b, err);
    case 1:
        z->state = INFLATE_CODES;
        return header_fixed(z) ? LB_OK : inflate_fail(io, b, "no codes", err);
    case 2:
        return header_dynamic(z, io, b, err);
    default:
        return inflate_fail(io, b, "a block is of no known kind", err);
    }
}

/* ---------------------------------------------------------------- symbols, with slack */

/* Copy so many bytes at a time; what is copied twice is the same. */
#define MATCH_COPY(size)                                   \
    do {                                                   \
        for (; out < end; out += (size), from += (size)) { \
            uint8_t part[size];                            \
            memcpy(part, from, sizeof part);               \
            memcpy(out, part, sizeof part);                \
        }                                                  \
    } while (0)

/* Copy a match; up to 32 bytes behind it may be written. */
static inline void match_copy(uint8_t *out, unsigned dist, unsigned length)
{
    const uint8_t *from = out - dist;
    uint8_t *end = out + length;

    if (dist >= 32) {
        MATCH_COPY(32);
        return;
    }
    if (dist == 1) {
        memset(out, *from, length);
        return;
    }
    /* A short pattern is written over and over at twice its distance, until a step no longer reads what it writes. */
    for (; dist < 8 && out < end; out += dist, dist *= 2) {
        uint8_t part[8];
        memcpy(part, from, sizeof part);
        memcpy(out, part, sizeof part);
    }
    MATCH_COPY(8);
}

static inline unsigned entry_value(uint32_t e, uint64_t bits)
{
    return (e >> 16) + (unsigned)((bits & (((uint64_t)1 << (e & 0xFF)) - 1)) >> (e >> 8 & 0xF));
}

typedef enum inflate_odd { ODD_NONE, ODD_END, ODD_NO_CODE, ODD_TOO_FAR } inflate_odd;

/* The entry that the next bits of the input index. */
static inline uint32_t litlen_next(const lb_inflate *z, const inflate_bits *b)
{
    return z->litlen[b->bits & ((1u << LITLEN_BITS) - 1)];
}

static inline uint8_t *literal_put(inflate_bits *b, uint8_t *out, uint32_t e)
{
    bits_drop(b, e & 0xFF);
    *out = (uint8_t)(e >> 16);
    return out + 1;
}

/* Decode while there is slack on both sides. `e` is always the entry of the next symbol, so that it is on its way from memory
 * while a match is copied. */
static inflate_odd inflate_fast(const lb_inflate *z, inflate_bits *state, uint8_t **at, const uint8_t *out_end,
                                const uint8_t *history)
{
    inflate_bits b = *state;
    uint8_t *out = *at;
    const uint8_t *in_last = b.end - FAST_IN;
    const uint8_t *out_last = out_end - FAST_OUT;
    inflate_odd odd = ODD_NONE;

    bits_fill_fast(&b);
    uint32_t e = litlen_next(z, &b);
    while (b.in <= in_last && out <= out_last) {
        /* Three literals of the first table take at most 33 of 56 bits, and the next entry is found by 11. */
        if ((e & ENTRY_LITERAL) != 0) {
            out = literal_put(&b, out, e);
            e = litlen_next(z, &b);
            if ((e & ENTRY_LITERAL) != 0) {
                out = literal_put(&b, out, e);
                e = litlen_next(z, &b);
                if ((e & ENTRY_LITERAL) != 0) {
                    out = literal_put(&b, out, e);
                    e = litlen_next(z, &b);
                    bits_fill_fast(&b);
                    continue;
                }
            }
            bits_fill_fast(&b);
        }
        if (__builtin_expect((e & ENTRY_ODD) != 0, 0)) {
            if ((e & ENTRY_TABLE) != 0) {
                bits_drop(&b, LITLEN_BITS);
                e = z->litlen[(e >> 16) + (b.bits & ((1u << (e >> 8 & 0xF)) - 1))];
            }
            if ((e & ENTRY_LITERAL) != 0) {
                out = literal_put(&b, out, e);
                bits_fill_fast(&b);
                e = litlen_next(z, &b);
                continue;
            }
            if ((e & ENTRY_ODD) != 0) {
                odd = (e & ENTRY_END) != 0 ? ODD_END : ODD_NO_CODE;
                bits_drop(&b, odd == ODD_END ? e & 0xFF : 0);
                break;
            }
        }
        unsigned length = entry_value(e, b.bits);
        bits_drop(&b, e & 0xFF);
        uint32_t d = z->dist[b.bits & ((1u << DIST_BITS) - 1)];
        if (__builtin_expect((d & ENTRY_ODD) != 0, 0)) {
            if ((d & ENTRY_TABLE) != 0) {
                bits_drop(&b, DIST_BITS);
                d = z->dist[(d >> 16) + (b.bits & ((1u << (d >> 8 & 0xF)) - 1))];
            }
            if ((d & ENTRY_ODD) != 0) {
                odd = ODD_NO_CODE;
                break;
            }
        }
        unsigned dist = entry_value(d, b.bits);
        bits_drop(&b, d & 0xFF);
        if (__builtin_expect(dist > (size_t)(out - history), 0)) {
            odd = ODD_TOO_FAR;
            break;
        }
        bits_fill_fast(&b);
        e = litlen_next(z, &b);
        match_copy(out, dist, length);
        out += length;
    }
    b.bits &= ((uint64_t)1 << b.n) - 1;
    *state = b;
    *at = out;
    return odd;
}

/* ---------------------------------------------------------------- symbols, with every check */

static void match_note(lb_inflate *z, unsigned dist, unsigned length)
{
    if (z->marks == NULL)
        return;
    for (unsigned i = 0; i < length && z->noted + i < dist; i++)
        if (dist - z->noted - i <= LB_INFLATE_WINDOW)
            z->marks[LB_INFLATE_WINDOW - (dist - z->noted - i)] = 1;
}

/* `n` bytes of output came. */
static void inflate_noted(lb_inflate *z, uint32_t n)
{
    if (z->marks == NULL)
        return;
    z->noted += n;
    if (z->noted >= LB_INFLATE_WINDOW)
        z->marks = NULL;
}

/* The entry of the next symbol and the bits that a second table's index took before it. */
static uint32_t symbol_entry(const uint32_t *table, unsigned table_bits, uint64_t bits, unsigned *before)
{
    uint32_t e = table[bits & ((1u << table_bits) - 1)];

    *before = 0;
    if ((e & (ENTRY_ODD | ENTRY_TABLE)) == (ENTRY_ODD | ENTRY_TABLE)) {
        *before = table_bits;
        e = table[(e >> 16) + (bits >> table_bits & ((1u << (e >> 8 & 0xF)) - 1))];
    }
    return e;
}

static void match_give(lb_inflate *z, lb_inflate_io *io)
{
    unsigned n = (unsigned)LB_MIN((size_t)z->match, (size_t)(io->out_end - io->out));

    match_note(z, z->match_dist, n);
    for (unsigned i = 0; i < n; i++, io->out++)
        *io->out = *(io->out - z->match_dist);
    z->match -= n;
    inflate_noted(z, n);
}

/* One symbol. *cut: its bits are not all there, and nothing was done. */
static inflate_odd inflate_symbol(lb_inflate *z, inflate_bits *b, lb_inflate_io *io, bool *cut)
{
    unsigned before, before_dist;

    bits_fill(b);
    uint32_t e = symbol_entry(z->litlen, LITLEN_BITS, b->bits, &before);
    unsigned take = before + (e & 0xFF);
    *cut = take > b->n || b->n == 0;
    if (*cut)
        return ODD_NONE;
    if ((e & ENTRY_LITERAL) != 0) {
        bits_drop(b, take);
        *io->out++ = (uint8_t)(e >> 16);
        inflate_noted(z, 1);
        return ODD_NONE;
    }
    if ((e & ENTRY_ODD) != 0) {
        if ((e & ENTRY_END) == 0)
            return ODD_NO_CODE;
        bits_drop(b, take);
        return ODD_END;
    }
    unsigned length = entry_value(e, b->bits >> before);
    uint32_t d = symbol_entry(z->dist, DIST_BITS, b->bits >> take, &before_dist);
    unsigned take_dist = before_dist + (d & 0xFF);
    *cut = take + take_dist > b->n || (take == b->n);
    if (*cut)
        return ODD_NONE;
    if ((d & ENTRY_ODD) != 0)
        return ODD_NO_CODE;
    unsigned dist = entry_value(d, b->bits >> (take + before_dist));
    if (dist > (size_t)(io->out - io->history))
        return ODD_TOO_FAR;
    bits_drop(b, take + take_dist);
    z->match = length;
    z->match_dist = dist;
    match_give(z, io);
    return ODD_NONE;
}

/* Symbols until the block ends, or something is missing (*paused). */
static lb_status inflate_codes(lb_inflate *z, lb_inflate_io *io, inflate_bits *b, bool *paused, lb_inflate_stop *stop,
                               lb_error *err)
{
    inflate_odd odd = ODD_NONE;
    bool cut = false;

    *paused = false;
    while (odd == ODD_NONE) {
        if (z->match != 0)
            match_give(z, io);
        if (io->out == io->out_end) {
            *paused = true;
            *stop = LB_INFLATE_ROOM;
            return LB_OK;
        }
        if (z->marks == NULL && b->end - b->in >= FAST_IN && io->out_end - io->out >= FAST_OUT) {
            odd = inflate_fast(z, b, &io->out, io->out_end, io->history);
            continue;
        }
        if (!io->in_last && b->end - b->in < FAST_IN) {
            *paused = true;
            *stop = LB_INFLATE_INPUT;
            return LB_OK;
        }
        odd = inflate_symbol(z, b, io, &cut);
        if (cut)
            return inflate_cut(io, b, err);
    }
    if (odd == ODD_TOO_FAR)
        return inflate_fail(io, b, "a match reaches back before the first byte", err);
    if (odd == ODD_NO_CODE)
        return inflate_fail(io, b, "no such code", err);
    z->state = INFLATE_BORDER;
    return LB_OK;
}

/* ---------------------------------------------------------------- blocks */

static lb_status inflate_stored(lb_inflate *z, lb_inflate_io *io, inflate_bits *b, bool *paused, lb_inflate_stop *stop,
                                lb_error *err)
{
    bits_return(b);
    size_t n = LB_MIN((size_t)z->stored, LB_MIN((size_t)(b->end - b->in), (size_t)(io->out_end - io->out)));

    if (n != 0)
        memcpy(io->out, b->in, n);
    io->out += n;
    b->in += n;
    z->stored -= (unsigned)n;
    inflate_noted(z, (uint32_t)n);
    *paused = z->stored != 0;
    if (*paused && io->out != io->out_end && io->in_last)
        return inflate_cut(io, b, err);
    *stop = io->out == io->out_end ? LB_INFLATE_ROOM : LB_INFLATE_INPUT;
    if (!*paused)
        z->state = INFLATE_BORDER;
    return LB_OK;
}

static lb_status inflate_border(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, bool *paused,
                                lb_inflate_stop *stop)
{
    bits_return(b);
    *paused = z->final || io->stop_at_blocks;
    *stop = z->final ? LB_INFLATE_END : LB_INFLATE_BLOCK;
    z->state = z->final ? INFLATE_DONE : INFLATE_HEADER;
    if (z->final) {
        b->n = 0;
        b->bits = 0;
    }
    return LB_OK;
}

static lb_status inflate_step(lb_inflate *z, lb_inflate_io *io, inflate_bits *b, bool *paused, lb_inflate_stop *stop,
                              lb_error *err)
{
    *paused = false;
    switch (z->state) {
    case INFLATE_HEADER:
        *paused = !io->in_last && b->end - b->in < LB_INFLATE_AHEAD;
        *stop = LB_INFLATE_INPUT;
        return *paused ? LB_OK : inflate_header(z, io, b, err);
    case INFLATE_STORED:
        return inflate_stored(z, io, b, paused, stop, err);
    case INFLATE_CODES:
        return inflate_codes(z, io, b, paused, stop, err);
    case INFLATE_BORDER:
        return inflate_border(z, io, b, paused, stop);
    case INFLATE_DONE:
        *paused = true;
        *stop = LB_INFLATE_END;
        return LB_OK;
    }
    return LB_OK;
}

lb_status lb_inflate_run(lb_inflate *z, lb_inflate_io *io, lb_inflate_stop *stop, lb_error *err)
{
    inflate_bits b = { z->bits, z->n_bits, io->in, io->in_end };
    lb_status status = LB_OK;
    bool paused = false;

    *stop = LB_INFLATE_INPUT;
    if (z->skip != 0 && b.in < b.end) {
        b.bits = (uint64_t)(*b.in++ >> z->skip);
        b.n = 8 - z->skip;
        z->skip = 0;
    }
    if (z->skip != 0)
        return io->in_last ? inflate_cut(io, &b, err) : LB_OK;
    while (status == LB_OK && !paused)
        status = inflate_step(z, io, &b, &paused, stop, err);
    bits_return(&b);
    io->in_at += (uint64_t)(b.in - io->in);
    io->in = b.in;
    z->bits = b.bits;
    z->n_bits = b.n;
    return status;
}
