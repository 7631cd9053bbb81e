/* Where the bytes that shape JSON stand, 64 bytes at a time: the primitive under the walk. */
#ifndef LB_WIRE_JSON_INDEX_H
#define LB_WIRE_JSON_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LB_JSON_BLOCK 64

/* Bit i of each word is of byte i. */
typedef struct lb_json_words {
    uint64_t quotes, backslashes;
    uint64_t opens, closes; /* `{` and `[`, `}` and `]` */
    uint64_t controls;      /* below 0x20 */
} lb_json_words;

/* Reads exactly 64 * blocks bytes. */
typedef void (*lb_json_index_fn)(const uint8_t *p, size_t blocks, lb_json_words *out);

/* The fastest one for this machine; all give the same bits. */
lb_json_index_fn lb_json_index(void);

/* The definition, byte by byte: the oracle of the others. */
void lb_json_index_scalar(const uint8_t *p, size_t blocks, lb_json_words *out);

/* What the next block has to know of the one before it. */
typedef struct lb_json_carry {
    bool in_string, escaped; /* `escaped`: the next byte stands behind a backslash that counts */
} lb_json_carry;

/* Bytes behind a backslash that counts. In a run of backslashes the first, third, fifth … count, each for the byte
 * behind it. Adding the beginning of a run to the run clears it, so one sum takes out all runs that begin on even
 * places: of those the even places count, and of the others the odd ones. */
static inline uint64_t lb_json_escaped(uint64_t backslashes, bool *carry)
{
    const uint64_t even = UINT64_C(0x5555555555555555), first = *carry ? 1 : 0;

    backslashes &= ~first;
    if (backslashes == 0) {
        *carry = false;
        return first;
    }
    uint64_t begins = backslashes & ~(backslashes << 1);
    uint64_t on_odd = backslashes & (backslashes + (begins & even));
    uint64_t counting = (backslashes & ~on_odd & even) | (on_odd & ~even);
    *carry = counting >> 63 != 0;
    return counting << 1 | first;
}

/* Bit i of the answer: exclusive or of bits 0 to i. */
static inline uint64_t lb_json_running_xor(uint64_t bits)
{
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* The bytes of strings, opening quotes with them and closing ones not; `quotes` keeps those that open and close. */
static inline uint64_t lb_json_strings(const lb_json_words *words, uint64_t *quotes, lb_json_carry *carry)
{
    *quotes = words->quotes & ~lb_json_escaped(words->backslashes, &carry->escaped);
    uint64_t inside = lb_json_running_xor(*quotes) ^ (carry->in_string ? ~UINT64_C(0) : 0);
    carry->in_string = inside >> 63 != 0;
    return inside;
}

/* What of a block shapes the text. */
typedef struct lb_json_shape {
    uint64_t brackets, opens; /* outside strings: all, and those that open */
    uint64_t quotes;          /* that begin and end strings */
    uint64_t controls;        /* inside strings, where none may be */
} lb_json_shape;

static inline lb_json_shape lb_json_shape_of(lb_json_words words, lb_json_carry *carry)
{
    lb_json_shape s;
    const uint64_t inside = lb_json_strings(&words, &s.quotes, carry);

    s.brackets = (words.opens | words.closes) & ~inside;
    s.opens = words.opens & ~inside;
    s.controls = words.controls & inside;
    return s;
}

/* Both in one: nothing is written down between. Reads exactly 64 * blocks bytes. */
typedef void (*lb_json_shape_fn)(const uint8_t *p, size_t blocks, lb_json_carry *carry, lb_json_shape *out);
lb_json_shape_fn lb_json_shapes(void);
void lb_json_shapes_scalar(const uint8_t *p, size_t blocks, lb_json_carry *carry, lb_json_shape *out);

#endif
