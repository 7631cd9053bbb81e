/* The tables that deflate's Huffman codes are looked up in: the first bits of the input, reversed as deflate stores them, index an entry
 * that says what to do and how many bits it takes; codes longer than a table's bits go on in a second one behind it. */
#ifndef LB_CODEC_INFLATE_TABLES_H
#define LB_CODEC_INFLATE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#define LB_INFLATE_LITLEN_BITS 11
#define LB_INFLATE_DIST_BITS 8
#define LB_INFLATE_PRE_BITS 7
#define LB_INFLATE_LITLEN_SYMBOLS 288
#define LB_INFLATE_DIST_SYMBOLS 32
#define LB_INFLATE_PRE_SYMBOLS 19

/* The most entries that a table and those behind it can have, for so many symbols and bits (zlib's examples/enough.c counts
 * them): 2,342 and 402. Building stops at them in any case. */
#define LB_INFLATE_LITLEN_ENTRIES 2342
#define LB_INFLATE_DIST_ENTRIES 402

/* An entry, from its lowest bit:
 *     6 bits  to take: the code's and those behind it that add to the length or distance
 *     2       literals: 0, 1, or, of a pair, 2
 *     4       bits before those that add; of a second table: bits that index it
 *     4       flags
 *     8       the first literal                  }  of a distance: the least one; of a second
 *     8       the second, or the least length    }  table: where it begins; of a code of
 *               less LB_INFLATE_MATCH_LEAST      }  lengths: the symbol */
enum {
    LB_ENTRY_LITERAL = 1u << 6,
    LB_ENTRY_LITERALS = 3u << 6,
    LB_ENTRY_END = 1u << 12,   /* with ODD: the end of the block */
    LB_ENTRY_MATCH = 1u << 13, /* a length; a distance follows */
    LB_ENTRY_TABLE = 1u << 14, /* with ODD: a second table */
    LB_ENTRY_ODD = 1u << 15,   /* none of the usual; alone: no such code */
};

#define LB_INFLATE_MATCH_LEAST 3

static inline unsigned lb_entry_take(uint32_t e)
{
    return e & 63;
}

static inline unsigned lb_entry_literals(uint32_t e)
{
    return e >> 6 & 3;
}

static inline unsigned lb_entry_before(uint32_t e)
{
    return e >> 8 & 15;
}

/* What the bits of the input that an entry takes add to its length or distance. */
static inline unsigned lb_entry_more(uint32_t e, uint64_t bits)
{
    return (unsigned)((bits & (((uint64_t)1 << lb_entry_take(e)) - 1)) >> lb_entry_before(e));
}

/* The place of an entry in its second table. */
static inline unsigned lb_entry_second(uint32_t e, uint64_t bits)
{
    return (e >> 16) + (unsigned)(bits & ((1u << lb_entry_before(e)) - 1));
}

typedef struct lb_inflate_tables {
    uint32_t litlen[LB_INFLATE_LITLEN_ENTRIES];
    uint32_t dist[LB_INFLATE_DIST_ENTRIES];
    uint32_t pre[1 << LB_INFLATE_PRE_BITS];
    uint32_t pairs[1 << LB_INFLATE_LITLEN_BITS];
    bool paired;                                                          /* `pairs` is made */
    bool fixed;                                                           /* they are those of fixed codes */
    uint8_t lengths[LB_INFLATE_LITLEN_SYMBOLS + LB_INFLATE_DIST_SYMBOLS]; /* of codes, by symbol */
} lb_inflate_tables;

/* Make `pre` of the lengths of its codes; false: they are no code. */
bool lb_inflate_tables_pre(lb_inflate_tables *t, const uint8_t lengths[LB_INFLATE_PRE_SYMBOLS]);

/* Make `litlen` and `dist` of the first n_litlen of `lengths` and the n_dist behind them; false: they are no codes. */
bool lb_inflate_tables_build(lb_inflate_tables *t, unsigned n_litlen, unsigned n_dist);

/* Make those of the fixed codes (RFC 1951, 3.2.6). */
void lb_inflate_tables_fix(lb_inflate_tables *t);

/* Make `pairs`: `litlen` without its second tables, where a literal is joined by the literal or length behind it if the index has all of
 * that one's code. */
void lb_inflate_tables_pair(lb_inflate_tables *t);

#endif
