#include "codec/inflate_tables.h"

#include <string.h>

#define CODE_LENGTH_MOST 15

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
    c->table[f->prefix] = (uint32_t)f->second << 16 | LB_ENTRY_ODD | LB_ENTRY_TABLE | bits << 8 | c->bits;
    for (unsigned i = 0; i < f->second_size; i++)
        c->table[f->second + i] = LB_ENTRY_ODD;
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
    uint16_t sorted[LB_INFLATE_LITLEN_SYMBOLS];
    unsigned code = 0, at = 0;

    code_sort(c, f.left_of, sorted);
    if (!code_complete(f.left_of, may_lack))
        return false;
    for (unsigned i = 0; i < f.used; i++)
        c->table[i] = LB_ENTRY_ODD;
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
    for (uint32_t i = 0; i < 256; i++)
        results[i] = i << 16 | LB_ENTRY_LITERAL;
    results[256] = LB_ENTRY_ODD | LB_ENTRY_END;
    for (unsigned i = 0; i < 29; i++)
        results[257 + i] = (uint32_t)(length_base[i] - LB_INFLATE_MATCH_LEAST) << 24 | LB_ENTRY_MATCH | length_extra[i];
    results[286] = results[287] = LB_ENTRY_ODD;
}

static void dist_results(uint32_t *results)
{
    for (unsigned i = 0; i < 30; i++)
        results[i] = (uint32_t)dist_base[i] << 16 | (i < 4 ? 0 : (i - 2) >> 1);
    results[30] = results[31] = LB_ENTRY_ODD;
}

bool lb_inflate_tables_build(lb_inflate_tables *t, unsigned n_litlen, unsigned n_dist)
{
    uint32_t litlen[LB_INFLATE_LITLEN_SYMBOLS], dist[LB_INFLATE_DIST_SYMBOLS];
    inflate_code of_litlen = { t->litlen, LB_INFLATE_LITLEN_BITS, LB_INFLATE_LITLEN_ENTRIES, litlen, t->lengths,
                               n_litlen };
    inflate_code of_dist = {
        t->dist, LB_INFLATE_DIST_BITS, LB_INFLATE_DIST_ENTRIES, dist, t->lengths + n_litlen, n_dist
    };

    litlen_results(litlen);
    dist_results(dist);
    t->paired = t->fixed = false;
    return code_build(&of_litlen, true) && code_build(&of_dist, true);
}

void lb_inflate_tables_fix(lb_inflate_tables *t)
{
    if (t->fixed)
        return;
    memset(t->lengths, 8, 144);
    memset(t->lengths + 144, 9, 112);
    memset(t->lengths + 256, 7, 24);
    memset(t->lengths + 280, 8, 8);
    memset(t->lengths + LB_INFLATE_LITLEN_SYMBOLS, 5, LB_INFLATE_DIST_SYMBOLS);
    t->fixed = lb_inflate_tables_build(t, LB_INFLATE_LITLEN_SYMBOLS, LB_INFLATE_DIST_SYMBOLS);
}

bool lb_inflate_tables_pre(lb_inflate_tables *t, const uint8_t lengths[LB_INFLATE_PRE_SYMBOLS])
{
    uint32_t results[LB_INFLATE_PRE_SYMBOLS];
    inflate_code of_pre = { t->pre,  LB_INFLATE_PRE_BITS,   1 << LB_INFLATE_PRE_BITS, results,
                            lengths, LB_INFLATE_PRE_SYMBOLS };

    for (uint32_t i = 0; i < LB_INFLATE_PRE_SYMBOLS; i++)
        results[i] = i << 16;
    return code_build(&of_pre, false);
}

/* The fields of two entries add up; the second one's literal goes behind the first's. */
static uint32_t entry_pair(uint32_t first, uint32_t second)
{
    return first + (second & 0xFF00FFFF) + ((second & 0x00FF0000) << 8);
}

void lb_inflate_tables_pair(lb_inflate_tables *t)
{
    for (unsigned i = 0; i < 1u << LB_INFLATE_LITLEN_BITS; i++) {
        uint32_t first = t->litlen[i], second = t->litlen[i >> (lb_entry_take(first) & 15)];
        bool all = (first & LB_ENTRY_LITERAL) != 0 && (second & LB_ENTRY_ODD) == 0 &&
                   lb_entry_take(first) + lb_entry_before(second) <= LB_INFLATE_LITLEN_BITS;
        t->pairs[i] = all ? entry_pair(first, second) : first;
    }
    t->paired = true;
}
