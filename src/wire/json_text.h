/* JSON text (RFC 8259) read where it lies, in two steps that a reader of rows puts together:
 *
 *   walking   lb_json_walk finds the values that follow one another in a text, or the elements of one array: where each
 *             begins and ends, from quotes, backslashes and brackets alone, 64 bytes at a time.
 *   visiting  lb_json_cursor goes through one value as it is asked for, member by member, and checks every byte it
 * passes.
 *
 *     lb_json_walk_init(&w, LB_JSON_LINES);
 *     lb_json_walk_window(&w, data, size, end, 0);
 *     while (lb_json_walk_next(&w) == LB_JSON_VALUE) {
 *         lb_json_cursor c = lb_json_cursor_of(&w);
 *         lb_json_text key;
 *         if (lb_json_peek(&c) == LB_JSON_OBJECT)
 *             for (bool more = lb_json_object(&c, &key); more; more = lb_json_member(&c, &key))
 *                 lb_json_skip(&c);
 *         if (!lb_json_finish(&c))
 *             … c.reason, c.bad_at
 *     }
 *
 * Both leave the bytes alone and take no memory. All text given must be valid UTF-8 (lb_text and lb_utf8_valid_prefix
 * say so), and LB_JSON_PADDING bytes after it readable; what they hold does not matter. Threads: one at a time on one
 * struct. */
#ifndef LB_WIRE_JSON_TEXT_H
#define LB_WIRE_JSON_TEXT_H

#include "base/number.h"
#include "base/str.h"
#include "wire/json_index.h"

#define LB_JSON_PADDING 64

/* Arrays and objects inside each other. Deeper text is refused: who visits it recursively must not run out of stack. */
#define LB_JSON_DEPTH 1000

/* What is wrong. lb_json_reason_text has the words. */
typedef enum lb_json_reason {
    LB_JSON_GOOD,
    LB_JSON_CUT,            /* the text ends inside a value */
    LB_JSON_NO_VALUE,       /* something else stands where a value must */
    LB_JSON_BAD_WORD,       /* begins like true, false or null, or goes on after it */
    LB_JSON_BAD_NUMBER,     /* `01`, `1.`, `-`, `1e`, or a number that goes on as something else */
    LB_JSON_BAD_ESCAPE,     /* `\x`, `\u12g4` */
    LB_JSON_LONE_SURROGATE, /* half of a pair: no text of Unicode has it */
    LB_JSON_CONTROL,        /* a byte below 0x20 in a string: also a line end */
    LB_JSON_NO_KEY,         /* in an object, where a key must stand */
    LB_JSON_NO_COLON,
    LB_JSON_NO_COMMA, /* between members, or between items: neither a comma nor the end */
    LB_JSON_TOO_DEEP,
    LB_JSON_NO_ARRAY, /* LB_JSON_ARRAY: the text does not begin with `[` */
    LB_JSON_BEHIND    /* something stands behind the array, or behind the value in lb_json_finish */
} lb_json_reason;

/* "expected a value" … : one clause, without an end mark. */
const char *lb_json_reason_text(lb_json_reason reason);

/* ---------------------------------------------------------------- walking */

typedef enum lb_json_layout {
    LB_JSON_LINES,   /* values, with blanks and line ends or nothing between them */
    LB_JSON_ARRAY,   /* the elements of the one array that the text is */
    LB_JSON_ELEMENTS /* the same from the first byte of an element on, as from a checkpoint; up to `]` */
} lb_json_layout;

typedef enum lb_json_step {
    LB_JSON_VALUE, /* `start` and `stop` have it */
    LB_JSON_MORE,  /* a longer window is needed, which must begin at `start` or before it */
    LB_JSON_END,   /* no value follows; `start` is the end of the text */
    LB_JSON_BAD    /* `reason` and `bad_at` say what and where; `start` is where the bad value begins, or bad_at between
                    * values. LB_JSON_CUT: a torn end, and all before it is right as far as it goes. Steps on give the
                    * same again */
} lb_json_step;

/* Words of the index at a time: 2 KiB of text. */
#define LB_JSON_INDEX_BLOCKS 32

typedef struct lb_json_walk {
    /* Read these. Positions in the window. */
    size_t start, stop; /* the last value: its first byte, and the one behind its last */
    lb_json_reason reason;
    size_t bad_at;

    /* Private. */
    const uint8_t *data;
    size_t size, at; /* `at`: where to look on */
    bool end;
    lb_json_layout layout;
    uint8_t state;         /* what may come: see json_walk.c */
    size_t base, n_blocks; /* the index: of these bytes of the window */
    lb_json_carry carry;   /* at its end */
    lb_json_shape index[LB_JSON_INDEX_BLOCKS];
} lb_json_walk;

void lb_json_walk_init(lb_json_walk *w, lb_json_layout layout);

/* Look on in another window, from its position `from` on. The first one: `from` passes over a byte order mark. Later
 * ones, after LB_JSON_MORE: data[from] is the byte that `start` was. `end`: the text ends with the window. */
void lb_json_walk_window(lb_json_walk *w, const uint8_t *data, size_t size, bool end, size_t from);

/* The next value. Its brackets balance and its strings end; whether it is JSON otherwise is left to the cursor, for a
 * cut value is checked here as far as it goes before more is asked for: what cannot become JSON never asks for the rest
 * of the file. Cost: linear in the text, by vectors; a value that is cut is looked at again from its beginning, so
 * windows should double. */
lb_json_step lb_json_walk_next(lb_json_walk *w);

/* As `count` calls of lb_json_walk_next or fewer: stops at the first that gives no value. *passed: how many did;
 * `start` and `stop` are then those of the last, unless the answer is another step. count > 0. */
lb_json_step lb_json_walk_skip(lb_json_walk *w, uint64_t count, uint64_t *passed);

/* Where the next value begins, without looking for its end: LB_JSON_VALUE sets `start` alone, and the next step gives
 * that value. Other answers as of lb_json_walk_next. */
lb_json_step lb_json_walk_begin(lb_json_walk *w);

/* The value at which lb_json_walk_begin left off ends at `stop`: the caller has found so, and it is JSON. */
void lb_json_walk_passed(lb_json_walk *w, size_t stop);

/* Where a value (LB_JSON_LINES) or an element (the others) is likely to begin, in text cut anywhere: behind a line end,
 * or as in `},{`. `like`: how one begins that is known, up to the end of its first key (`{"id"`); may be empty.
 * SIZE_MAX: no such place. A guess, to be held against a walk from the beginning. */
size_t lb_json_guess(const uint8_t *data, size_t size, lb_json_layout layout, lb_str like);

/* ---------------------------------------------------------------- visiting */

typedef enum lb_json_kind {
    LB_JSON_NOTHING, /* no value begins so; or the cursor is bad */
    LB_JSON_NULL,
    LB_JSON_FALSE,
    LB_JSON_TRUE,
    LB_JSON_NUMBER,
    LB_JSON_STRING,
    LB_JSON_OBJECT,
    LB_JSON_ARRAY_VALUE
} lb_json_kind;

/* Stands before a value, or behind the last one. An error sticks: all calls then give false, nothing or 0. */
typedef struct lb_json_cursor {
    const uint8_t *p, *end;
    const uint8_t *bad_at; /* where `reason` was found */
    lb_json_reason reason;
    unsigned depth; /* of the containers entered */
    bool whole;     /* `end` is known to be the value's: it is not cut */
} lb_json_cursor;

/* What stands between the quotes of a string, lent from the text. */
typedef struct lb_json_text {
    const uint8_t *p;
    size_t size;
    bool escaped; /* has escapes: lb_json_decode gives the text, else it is the bytes */
} lb_json_text;

static inline lb_json_cursor lb_json_cursor_over(const uint8_t *p, const uint8_t *end)
{
    return (lb_json_cursor){ .p = p, .end = end };
}

/* Over the value that the walk stands at. */
static inline lb_json_cursor lb_json_cursor_of(const lb_json_walk *w)
{
    return (lb_json_cursor){ .p = w->data + w->start, .end = w->data + w->stop, .whole = true };
}

/* For each byte the kind of value that begins with it, and in higher bits what json_chars.h says. */
extern const uint8_t lb_json_bytes[256];
#define LB_JSON_KIND_BITS 0x0f

lb_json_kind lb_json_peek_on(lb_json_cursor *c);

/* What the value at the cursor begins like; steps over blanks before it, and over nothing else. At the end: fails with
 * LB_JSON_CUT. */
static inline lb_json_kind lb_json_peek(lb_json_cursor *c)
{
    const lb_json_kind kind =
        c->p < c->end ? (lb_json_kind)(lb_json_bytes[*c->p] & LB_JSON_KIND_BITS) : LB_JSON_NOTHING;

    return kind != LB_JSON_NOTHING ? kind : lb_json_peek_on(c);
}

/* Enter an object, or go on to its next member: `key` is lent, the cursor stands before the member's value, which the
 * caller must pass with one of these calls. False: the object has ended and the cursor is behind it; or the cursor is
 * bad. */
bool lb_json_object(lb_json_cursor *c, lb_json_text *key);
bool lb_json_member(lb_json_cursor *c, lb_json_text *key);

/* The same of an array; the cursor stands before the item. */
bool lb_json_array(lb_json_cursor *c);
bool lb_json_item(lb_json_cursor *c);

/* Pass a value of the kind that lb_json_peek gave. */
bool lb_json_string(lb_json_cursor *c, lb_json_text *out);
/* INT, UINT, BIG (an integer beyond both: `text` has it), FLOAT (also `-0`, as JSON has no other reading of it), or
 * LB_NOT_A_NUMBER with a cursor that is still good: a number too large for a double (`1e999`), which only its text
 * holds. `text` is lent. */
lb_number_kind lb_json_number(lb_json_cursor *c, lb_str *text, lb_number *out);
bool lb_json_word(lb_json_cursor *c); /* true, false, null */

/* Pass any value, checking all of it. `span`, unless NULL, gets its bytes. */
bool lb_json_skip(lb_json_cursor *c, lb_str *span);

/* The same, trusting that the value is JSON, as after an earlier visit of the same bytes: faster, and what breaks the
 * rules inside it may pass unseen. */
bool lb_json_pass(lb_json_cursor *c, lb_str *span);

/* Nothing but blanks is left, and no error was met. */
bool lb_json_finish(lb_json_cursor *c);

/* Decode a string's escapes: the text is written to `out`, which has text->size bytes, for it is never longer. Returns
 * its length. The string came from a good cursor. */
size_t lb_json_decode(const lb_json_text *text, uint8_t *out);

/* Is the string, decoded, equal to this text? */
bool lb_json_text_is(const lb_json_text *text, lb_str want);

#endif
