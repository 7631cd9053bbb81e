/* With at least FAST_IN bytes of input and FAST_OUT of room nothing is checked within a symbol; near either end symbols are decoded one
 * at a time with every check. */
#include "codec/inflate.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "codec/inflate_tables.h"

/* Two literals and a match, and what is written behind it. */
#define MATCH_MOST 258
#define FAST_IN 32
#define FAST_OUT (2 + MATCH_MOST + 64)

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
    inflate_state state;
    unsigned stored;            /* bytes of a stored block to come */
    unsigned match, match_dist; /* of a match, bytes to come */
    const char *file;           /* for messages; NULL: some bytes */
    uint8_t *marks;             /* NULL: not noting */
    uint32_t noted;             /* bytes of output since noting began */
    lb_inflate_tables tables;
};

lb_inflate *lb_inflate_new(void)
{
    return calloc(1, sizeof(lb_inflate));
}

void lb_inflate_free(lb_inflate *z)
{
    free(z);
}

void lb_inflate_name(lb_inflate *z, const char *file)
{
    z->file = file;
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

/* ---------------------------------------------------------------- headers of blocks */

static lb_status inflate_fail(const lb_inflate *z, const lb_inflate_io *io, const inflate_bits *b, const char *what,
                              lb_error *err)
{
    uint64_t at = io->in_at + (uint64_t)(b->in - io->in) - LB_MIN((uint64_t)(b->n >> 3), io->in_at);

    return lb_fail(err, LB_CORRUPT, LB_AT(at), "%s: %s", z->file == NULL ? "deflate" : z->file, what);
}

static lb_status inflate_cut(const lb_inflate *z, const lb_inflate_io *io, const inflate_bits *b, lb_error *err)
{
    return inflate_fail(z, io, b, z->file == NULL ? "the bytes end inside a block" : "the file ends inside a block",
                        err);
}

static lb_status header_stored(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, lb_error *err)
{
    bits_drop(b, b->n & 7);
    if (b->n < 32)
        return inflate_cut(z, io, b, err);
    unsigned size = bits_take(b, 16), check = bits_take(b, 16);
    if ((size ^ check) != 0xFFFF)
        return inflate_fail(z, io, b, "a stored block's size and its complement do not agree", err);
    z->stored = size;
    z->state = INFLATE_STORED;
    return LB_OK;
}

/* The lengths of the codes' own codes, then those of both codes, in runs. */
static lb_status header_pre(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, unsigned n, lb_error *err)
{
    static const uint8_t order[LB_INFLATE_PRE_SYMBOLS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                           11, 4,  12, 3, 13, 2, 14, 1, 15 };
    uint8_t lengths[LB_INFLATE_PRE_SYMBOLS] = { 0 };

    for (unsigned i = 0; i < n; i++) {
        bits_fill(b);
        if (b->n < 3)
            return inflate_cut(z, io, b, err);
        lengths[order[i]] = (uint8_t)bits_take(b, 3);
    }
    if (!lb_inflate_tables_pre(&z->tables, lengths))
        return inflate_fail(z, io, b, "a block's code of code lengths is none", err);
    return LB_OK;
}

static lb_status header_lengths(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, unsigned n, lb_error *err)
{
    static const uint8_t extra[3] = { 2, 3, 7 };
    uint8_t *lengths = z->tables.lengths;

    for (unsigned i = 0; i < n;) {
        bits_fill(b);
        uint32_t e = z->tables.pre[b->bits & ((1u << LB_INFLATE_PRE_BITS) - 1)];
        unsigned symbol = e >> 16, more = symbol < 16 ? 0 : extra[symbol - 16], count;
        if ((e & LB_ENTRY_ODD) != 0)
            return inflate_fail(z, io, b, "a code length has no such code", err);
        if (b->n < lb_entry_take(e) + more)
            return inflate_cut(z, io, b, err);
        bits_drop(b, lb_entry_take(e));
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        bool repeats = symbol == 16;
        count = (symbol == 18 ? 11 : 3) + bits_take(b, more);
        if (count > n - i || (repeats && i == 0))
            return inflate_fail(z, io, b, "a run of code lengths passes its block's codes", err);
        memset(lengths + i, repeats ? lengths[i - 1] : 0, count);
        i += count;
    }
    return LB_OK;
}

static lb_status header_dynamic(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, lb_error *err)
{
    z->tables.fixed = false;
    bits_fill(b);
    if (b->n < 14)
        return inflate_cut(z, io, b, err);
    unsigned n_litlen = bits_take(b, 5) + 257, n_dist = bits_take(b, 5) + 1, n_pre = bits_take(b, 4) + 4;
    if (n_litlen > 286 || n_dist > 30)
        return inflate_fail(z, io, b, "a block has more codes than there are", err);
    LB_TRY(header_pre(z, io, b, n_pre, err));
    LB_TRY(header_lengths(z, io, b, n_litlen + n_dist, err));
    if (z->tables.lengths[256] == 0)
        return inflate_fail(z, io, b, "a block has no code for its end", err);
    if (!lb_inflate_tables_build(&z->tables, n_litlen, n_dist))
        return inflate_fail(z, io, b, "a block's code lengths are no code", err);
    z->state = INFLATE_CODES;
    return LB_OK;
}

static lb_status inflate_header(lb_inflate *z, const lb_inflate_io *io, inflate_bits *b, lb_error *err)
{
    bits_fill(b);
    if (b->n < 3)
        return inflate_cut(z, io, b, err);
    z->final = bits_take(b, 1) != 0;
    switch (bits_take(b, 2)) {
    case 0:
        return header_stored(z, io, b, err);
    case 1:
        lb_inflate_tables_fix(&z->tables);
        z->state = INFLATE_CODES;
        return LB_OK;
    case 2:
        return header_dynamic(z, io, b, err);
    default:
        return inflate_fail(z, io, b, "a block is of no known kind", err);
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

typedef enum inflate_odd { ODD_NONE, ODD_END, ODD_NO_CODE, ODD_TOO_FAR } inflate_odd;

/* The entry that the next bits of the input index. */
static inline uint32_t litlen_next(const lb_inflate_tables *t, const inflate_bits *b)
{
    return t->pairs[b->bits & ((1u << LB_INFLATE_LITLEN_BITS) - 1)];
}

/* The two literals' bytes; those that are none are written over. */
static inline uint8_t *literals_put(uint8_t *out, uint32_t e)
{
    out[0] = (uint8_t)(e >> 16);
    out[1] = (uint8_t)(e >> 24);
    return out + lb_entry_literals(e);
}

/* A match of `length` bytes, of which `noted` bytes of output stand behind the place of the marks. */
static void match_note(lb_inflate *z, unsigned dist, unsigned length)
{
    if (z->marks != NULL && z->noted < dist)
        memset(z->marks + LB_INFLATE_WINDOW - (dist - z->noted), 1, LB_MIN(length, dist - z->noted));
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

/* Decode while there is slack on both sides, and to the end of noting. `e` is always the entry of the next symbol, looked up before
 * more input is taken, so that it waits for nothing but the bits before it.
 * Of the 56 bits that are there after each taking, a distance takes 28, the entry behind it 20 and the index of the next distance 8. */
static inline __attribute__((always_inline)) inflate_odd fast_symbols(lb_inflate *z, inflate_bits *state, uint8_t **at,
                                                                      const uint8_t *out_end, const uint8_t *history,
                                                                      bool noting)
{
    const lb_inflate_tables *t = &z->tables;
    inflate_bits b = *state;
    uint8_t *out = *at;
    const uint8_t *in_last = b.end - FAST_IN;
    const uint8_t *out_last = out_end - FAST_OUT;
    inflate_odd odd = ODD_NONE;

    bits_fill_fast(&b);
    uint32_t e = litlen_next(t, &b);
    while (b.in <= in_last && out <= out_last && (!noting || z->marks != NULL)) {
        uint64_t bits = b.bits;
        bits_drop(&b, lb_entry_take(e));
        out = literals_put(out, e);
        if (noting)
            inflate_noted(z, lb_entry_literals(e));
        if ((e & LB_ENTRY_MATCH) == 0) {
            if (__builtin_expect((e & LB_ENTRY_ODD) == 0, 1)) {
                e = litlen_next(t, &b);
                bits_fill_fast(&b);
                continue;
            }
            if ((e & LB_ENTRY_TABLE) != 0) {
                bits_fill_fast(&b);
                e = t->litlen[lb_entry_second(e, b.bits)];
                bits = b.bits;
                bits_drop(&b, lb_entry_take(e));
                if ((e & LB_ENTRY_LITERAL) != 0) {
                    out = literals_put(out, e);
                    if (noting)
                        inflate_noted(z, 1);
                    e = litlen_next(t, &b);
                    bits_fill_fast(&b);
                    continue;
                }
            }
            if ((e & LB_ENTRY_ODD) != 0) {
                odd = (e & LB_ENTRY_END) != 0 ? ODD_END : ODD_NO_CODE;
                break;
            }
        }
        uint32_t d = t->dist[b.bits & ((1u << LB_INFLATE_DIST_BITS) - 1)];
        bits_fill_fast(&b);
        unsigned length = LB_INFLATE_MATCH_LEAST + (e >> 24) + lb_entry_more(e, bits);
        if (__builtin_expect((d & LB_ENTRY_ODD) != 0, 0)) {
            if ((d & LB_ENTRY_TABLE) != 0) {
                bits_drop(&b, LB_INFLATE_DIST_BITS);
                d = t->dist[lb_entry_second(d, b.bits)];
            }
            if ((d & LB_ENTRY_ODD) != 0) {
                odd = ODD_NO_CODE;
                break;
            }
        }
        unsigned dist = (d >> 16) + lb_entry_more(d, b.bits);
        bits_drop(&b, lb_entry_take(d));
        e = litlen_next(t, &b);
        if (__builtin_expect(dist > (size_t)(out - history), 0)) {
            odd = ODD_TOO_FAR;
            break;
        }
        if (noting) {
            match_note(z, dist, length);
            inflate_noted(z, length);
        }
        match_copy(out, dist, length);
        out += length;
    }
    b.bits &= ((uint64_t)1 << b.n) - 1;
    *state = b;
    *at = out;
    return odd;
}

#define FAST_KIND(target, name, noting)                                                                  \
    target static inflate_odd name(lb_inflate *z, inflate_bits *b, uint8_t **at, const uint8_t *out_end, \
                                   const uint8_t *history)                                               \
    {                                                                                                    \
        return fast_symbols(z, b, at, out_end, history, noting);                                         \
    }

FAST_KIND(, fast_noting, true)
FAST_KIND(, fast_plain, false)
#if defined __x86_64__
FAST_KIND(__attribute__((target("bmi,bmi2"))), fast_bmi2, false)
#endif

static inflate_odd inflate_fast(lb_inflate *z, inflate_bits *b, uint8_t **at, const uint8_t *out_end,
                                const uint8_t *history)
{
    if (!z->tables.paired)
        lb_inflate_tables_pair(&z->tables);
    if (z->marks != NULL)
        return fast_noting(z, b, at, out_end, history);
#if defined __x86_64__
    if ((lb_cpu() & LB_CPU_AVX2) != 0) /* every processor with it has BMI2 */
        return fast_bmi2(z, b, at, out_end, history);
#endif
    return fast_plain(z, b, at, out_end, history);
}

/* ---------------------------------------------------------------- symbols, with every check */

/* The entry of the next symbol and the bits that a second table's index took before it. */
static uint32_t symbol_entry(const uint32_t *table, unsigned table_bits, uint64_t bits, unsigned *before)
{
    uint32_t e = table[bits & ((1u << table_bits) - 1)];

    *before = 0;
    if ((e & LB_ENTRY_TABLE) != 0) {
        *before = table_bits;
        e = table[lb_entry_second(e, bits >> table_bits)];
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
    uint32_t e = symbol_entry(z->tables.litlen, LB_INFLATE_LITLEN_BITS, b->bits, &before);
    unsigned take = before + lb_entry_take(e);
    *cut = take > b->n || b->n == 0;
    if (*cut)
        return ODD_NONE;
    if ((e & LB_ENTRY_LITERAL) != 0) {
        bits_drop(b, take);
        *io->out++ = (uint8_t)(e >> 16);
        inflate_noted(z, 1);
        return ODD_NONE;
    }
    if ((e & LB_ENTRY_ODD) != 0) {
        if ((e & LB_ENTRY_END) == 0)
            return ODD_NO_CODE;
        bits_drop(b, take);
        return ODD_END;
    }
    unsigned length = LB_INFLATE_MATCH_LEAST + (e >> 24) + lb_entry_more(e, b->bits >> before);
    uint32_t d = symbol_entry(z->tables.dist, LB_INFLATE_DIST_BITS, b->bits >> take, &before_dist);
    unsigned take_dist = before_dist + lb_entry_take(d);
    *cut = take + take_dist > b->n || (take == b->n);
    if (*cut)
        return ODD_NONE;
    if ((d & LB_ENTRY_ODD) != 0)
        return ODD_NO_CODE;
    unsigned dist = (d >> 16) + lb_entry_more(d, b->bits >> (take + before_dist));
    if (dist > (size_t)(io->out - io->history))
        return ODD_TOO_FAR;
    bits_drop(b, take + take_dist);
    z->match = length;
    z->match_dist = dist;
    match_give(z, io);
    return ODD_NONE;
}

/* No symbol but the block's end can be taken in now. *cut: whether it comes cannot be told yet. */
static bool inflate_ends(lb_inflate *z, inflate_bits *b, const lb_inflate_io *io, bool *cut)
{
    unsigned before;

    *cut = !io->in_last && b->end - b->in < FAST_IN;
    if (*cut || z->match != 0)
        return false;
    bits_fill(b);
    uint32_t e = symbol_entry(z->tables.litlen, LB_INFLATE_LITLEN_BITS, b->bits, &before);
    unsigned take = before + lb_entry_take(e);
    if ((e & LB_ENTRY_LITERAL) != 0 || (e & LB_ENTRY_ODD) == 0 || (e & LB_ENTRY_END) == 0 || take > b->n)
        return false;
    bits_drop(b, take);
    return true;
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
            if (inflate_ends(z, b, io, &cut))
                break;
            *paused = true;
            *stop = cut && z->match == 0 ? LB_INFLATE_INPUT : LB_INFLATE_ROOM;
            return LB_OK;
        }
        if (b->end - b->in >= FAST_IN && io->out_end - io->out >= FAST_OUT) {
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
            return inflate_cut(z, io, b, err);
    }
    if (odd == ODD_TOO_FAR)
        return inflate_fail(z, io, b, "a match reaches back before the first byte", err);
    if (odd == ODD_NO_CODE)
        return inflate_fail(z, io, b, "no such code", err);
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
        return inflate_cut(z, io, b, err);
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
        return io->in_last ? inflate_cut(z, io, &b, err) : LB_OK;
    while (status == LB_OK && !paused)
        status = inflate_step(z, io, &b, &paused, stop, err);
    bits_return(&b);
    io->in_at += (uint64_t)(b.in - io->in);
    io->in = b.in;
    z->bits = b.bits;
    z->n_bits = b.n;
    return status;
}
