/* JSON read byte by byte from the grammar of RFC 8259 alone, for tests to compare with: no masks, no windows, and one
 * function for each of the grammar's names. */
#ifndef TESTS_SLOW_JSON_H
#define TESTS_SLOW_JSON_H

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/json_text.h"

typedef struct slow_json {
    const uint8_t *p;
    size_t size, at;
    unsigned depth;
    lb_json_reason reason; /* the first thing wrong */
    size_t bad_at;
    uint8_t *out; /* the values, written as slow_put_* say; NULL: not wanted */
    size_t n_out;
} slow_json;

/* A value takes at most so many bytes of `out` for each of its own. */
#define SLOW_JSON_OUT 12

static inline bool slow_json_bad(slow_json *j, lb_json_reason reason, size_t at)
{
    j->reason = at >= j->size ? LB_JSON_CUT : reason;
    j->bad_at = at >= j->size ? j->size : at;
    return false;
}

static inline int slow_json_next(const slow_json *j)
{
    return j->at < j->size ? j->p[j->at] : -1;
}

static inline void slow_json_blanks(slow_json *j)
{
    while (slow_json_next(j) == ' ' || slow_json_next(j) == '\t' || slow_json_next(j) == '\n' ||
           slow_json_next(j) == '\r')
        j->at++;
}

/* Values are written as: a letter, what it holds, and for texts their length in front; so that no two are written
 * alike. */
static inline void slow_put(uint8_t *out, size_t *n, const void *bytes, size_t size)
{
    if (out == NULL || size == 0)
        return;
    memcpy(out + *n, bytes, size);
    *n += size;
}

static inline void slow_put_text(uint8_t *out, size_t *n, char letter, const void *bytes, size_t size)
{
    uint32_t length = (uint32_t)size;

    slow_put(out, n, &letter, 1);
    slow_put(out, n, &length, sizeof length);
    slow_put(out, n, bytes, size);
}

/* Four hexadecimal digits; false: what stands there is none, or the end. */
static inline bool slow_json_hex(slow_json *j, size_t escape, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const int c = slow_json_next(j);
        const char *digit = c <= 0 ? NULL : strchr(digits, c);
        if (c < 0)
            return slow_json_bad(j, LB_JSON_CUT, j->size);
        if (digit == NULL)
            return slow_json_bad(j, LB_JSON_BAD_ESCAPE, escape);
        *unit = *unit * 16 + (uint32_t)(digit - digits - (digit - digits > 15 ? 6 : 0));
        j->at++;
    }
    return true;
}

/* Behind `\u`. */
static inline bool slow_json_unit(slow_json *j, size_t escape, uint32_t *character)
{
    uint32_t high, low;

    if (!slow_json_hex(j, escape, &high))
        return false;
    *character = high;
    if (high < 0xd800 || high > 0xdfff)
        return true;
    if (high > 0xdbff)
        return slow_json_bad(j, LB_JSON_LONE_SURROGATE, escape);
    const size_t second = j->at;
    for (const char *want = "\\u"; *want != '\0'; want++, j->at++) {
        if (slow_json_next(j) < 0)
            return slow_json_bad(j, LB_JSON_CUT, j->size);
        if (slow_json_next(j) != *want)
            return slow_json_bad(j, LB_JSON_LONE_SURROGATE, escape);
    }
    if (!slow_json_hex(j, second, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return slow_json_bad(j, LB_JSON_LONE_SURROGATE, escape);
    *character = 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
    return true;
}

static inline bool slow_json_escape(slow_json *j, uint8_t *to, size_t *size)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const size_t escape = j->at++;
    const int c = slow_json_next(j);
    const char *name = c <= 0 ? NULL : strchr(names, c);
    uint32_t character;

    if (c < 0)
        return slow_json_bad(j, LB_JSON_CUT, j->size);
    j->at++;
    if (c == 'u') {
        if (!slow_json_unit(j, escape, &character))
            return false;
        *size += lb_utf8_encode(character, to + *size);
        return true;
    }
    if (name == NULL)
        return slow_json_bad(j, LB_JSON_BAD_ESCAPE, escape);
    to[(*size)++] = (uint8_t)values[name - names];
    return true;
}

static inline bool slow_json_string(slow_json *j, char letter)
{
    uint8_t *text = malloc(j->size - j->at + 4);
    size_t size = 0;
    bool good = true;

    for (j->at++; good && slow_json_next(j) != '"';) {
        const int c = slow_json_next(j);
        if (c == '\\')
            good = slow_json_escape(j, text, &size);
        else if (c < 0x20) /* or the end */
            good = slow_json_bad(j, LB_JSON_CONTROL, j->at);
        else
            text[size++] = j->p[j->at++];
    }
    if (good) {
        j->at++;
        slow_put_text(j->out, &j->n_out, letter, text, size);
    }
    free(text);
    return good;
}

static inline bool slow_json_digits(slow_json *j)
{
    const size_t from = j->at;

    while (slow_json_next(j) >= '0' && slow_json_next(j) <= '9')
        j->at++;
    return j->at > from;
}

/* True at the end and at bytes with which something new begins. */
static inline bool slow_json_ends(const slow_json *j)
{
    return slow_json_next(j) < 0 || (slow_json_next(j) != 0 && strchr(" \t\r\n{}[],:\"", slow_json_next(j)) != NULL);
}

static inline bool slow_json_number(slow_json *j)
{
    const size_t from = j->at;
    bool good;

    j->at += slow_json_next(j) == '-';
    if (slow_json_next(j) == '0') {
        j->at++;
        good = true;
    } else {
        good = slow_json_digits(j);
    }
    if (good && slow_json_next(j) == '.') {
        j->at++;
        good = slow_json_digits(j);
    }
    if (good && (slow_json_next(j) == 'e' || slow_json_next(j) == 'E')) {
        j->at++;
        j->at += slow_json_next(j) == '+' || slow_json_next(j) == '-';
        good = slow_json_digits(j);
    }
    if (!good && j->at >= j->size)
        return slow_json_bad(j, LB_JSON_CUT, j->size);
    if (!good || !slow_json_ends(j))
        return slow_json_bad(j, LB_JSON_BAD_NUMBER, from);
    slow_put_text(j->out, &j->n_out, '#', j->p + from, j->at - from);
    return true;
}

static inline bool slow_json_word(slow_json *j, const char *word)
{
    const size_t from = j->at;

    for (const char *w = word; *w != '\0'; w++, j->at++) {
        if (slow_json_next(j) < 0)
            return slow_json_bad(j, LB_JSON_CUT, j->size);
        if (slow_json_next(j) != *w)
            return slow_json_bad(j, LB_JSON_BAD_WORD, from);
    }
    if (!slow_json_ends(j))
        return slow_json_bad(j, LB_JSON_BAD_WORD, from);
    slow_put(j->out, &j->n_out, word, 1);
    return true;
}

static inline bool slow_json_value(slow_json *j);

static inline bool slow_json_member(slow_json *j)
{
    if (slow_json_next(j) != '"')
        return slow_json_bad(j, LB_JSON_NO_KEY, j->at);
    if (!slow_json_string(j, 'k'))
        return false;
    slow_json_blanks(j);
    if (slow_json_next(j) != ':')
        return slow_json_bad(j, LB_JSON_NO_COLON, j->at);
    j->at++;
    slow_json_blanks(j);
    return slow_json_value(j);
}

static inline bool slow_json_nested(slow_json *j)
{
    const bool object = slow_json_next(j) == '{';
    const int closing = object ? '}' : ']';

    if (j->depth >= LB_JSON_DEPTH)
        return slow_json_bad(j, LB_JSON_TOO_DEEP, j->at);
    slow_put(j->out, &j->n_out, object ? "{" : "[", 1);
    j->depth++;
    j->at++;
    slow_json_blanks(j);
    for (bool first = true; slow_json_next(j) != closing || !first; first = false) {
        if (!(object ? slow_json_member(j) : slow_json_value(j)))
            return false;
        slow_json_blanks(j);
        if (slow_json_next(j) == closing)
            break;
        if (slow_json_next(j) != ',')
            return slow_json_bad(j, LB_JSON_NO_COMMA, j->at);
        j->at++;
        slow_json_blanks(j);
    }
    j->at++;
    j->depth--;
    slow_put(j->out, &j->n_out, object ? "}" : "]", 1);
    return true;
}

/* The value that stands at j->at. */
static inline bool slow_json_value(slow_json *j)
{
    const int c = slow_json_next(j);

    if (c == '{' || c == '[')
        return slow_json_nested(j);
    if (c == '"')
        return slow_json_string(j, 's');
    if (c == '-' || (c >= '0' && c <= '9'))
        return slow_json_number(j);
    if (c == 't' || c == 'f' || c == 'n')
        return slow_json_word(j, c == 't' ? "true" : c == 'f' ? "false" : "null");
    return slow_json_bad(j, LB_JSON_NO_VALUE, j->at);
}

/* The rows of a text, up to the first thing wrong. */
typedef struct slow_json_rows {
    size_t *starts, *stops;
    size_t n;
    uint8_t *out; /* all rows, written */
    size_t n_out;
    lb_json_reason reason; /* LB_JSON_GOOD: all is right */
    size_t bad_at;
} slow_json_rows;

static inline bool slow_json_row(slow_json *j, slow_json_rows *rows)
{
    const size_t start = j->at;

    rows->n_out = j->n_out; /* without this row, should it be wrong */
    if (!slow_json_value(j)) {
        j->n_out = rows->n_out;
        return false;
    }
    rows->starts[rows->n] = start;
    rows->stops[rows->n++] = j->at;
    return true;
}

static inline bool slow_json_lines(slow_json *j, slow_json_rows *rows)
{
    for (slow_json_blanks(j); j->at < j->size; slow_json_blanks(j))
        if (!slow_json_row(j, rows))
            return false;
    return true;
}

static inline bool slow_json_elements(slow_json *j, slow_json_rows *rows)
{
    for (;;) {
        if (!slow_json_row(j, rows))
            return false;
        if (j->at == j->size && strchr("}]\"", j->p[j->at - 1]) == NULL) {
            rows->n--; /* a number or word that may go on */
            j->n_out = rows->n_out;
            return slow_json_bad(j, LB_JSON_CUT, j->size);
        }
        slow_json_blanks(j);
        if (slow_json_next(j) == ']')
            break;
        if (slow_json_next(j) != ',')
            return slow_json_bad(j, LB_JSON_NO_COMMA, j->at);
        j->at++;
        slow_json_blanks(j);
    }
    j->at++;
    slow_json_blanks(j);
    return j->at == j->size || slow_json_bad(j, LB_JSON_BEHIND, j->at);
}

static inline bool slow_json_array(slow_json *j, slow_json_rows *rows)
{
    if (slow_json_next(j) != '[')
        return slow_json_bad(j, LB_JSON_NO_ARRAY, j->at);
    j->at++;
    slow_json_blanks(j);
    if (slow_json_next(j) != ']')
        return slow_json_elements(j, rows);
    j->at++;
    slow_json_blanks(j);
    return j->at == j->size || slow_json_bad(j, LB_JSON_BEHIND, j->at);
}

static inline slow_json_rows slow_json_read(const uint8_t *p, size_t size, lb_json_layout layout)
{
    slow_json j = { .p = p, .size = size, .out = malloc(SLOW_JSON_OUT * (size + 1)) };
    slow_json_rows rows = { .starts = calloc(size + 1, sizeof *rows.starts),
                            .stops = calloc(size + 1, sizeof *rows.stops) };

    slow_json_blanks(&j);
    if (layout == LB_JSON_LINES)
        (void)slow_json_lines(&j, &rows);
    else if (layout == LB_JSON_ARRAY)
        (void)slow_json_array(&j, &rows);
    else
        (void)slow_json_elements(&j, &rows);
    rows.reason = j.reason;
    rows.bad_at = j.bad_at;
    rows.out = j.out;
    rows.n_out = j.n_out;
    return rows;
}

static inline void slow_json_free(slow_json_rows *rows)
{
    free(rows->starts);
    free(rows->stops);
    free(rows->out);
}

/* ---------------------------------------------------------------- the same through a cursor */

static inline void visit_text(const lb_json_text *text, char letter, uint8_t *out, size_t *n)
{
    uint8_t *bytes = malloc(text->size + 1);
    size_t size = lb_json_decode(text, bytes);

    slow_put_text(out, n, letter, bytes, size);
    free(bytes);
}

/* What the cursor makes of a number is what the general reader of numbers makes of its text. */
static inline bool visit_agrees(lb_str text, lb_number_kind kind, const lb_number *number)
{
    lb_number want;
    uint64_t bits, want_bits;

    if (lb_number_parse(text.at, text.size, &want) != kind)
        return false;
    switch (kind) {
    case LB_NUMBER_INT:
        return number->i == want.i;
    case LB_NUMBER_UINT:
        return number->u == want.u;
    case LB_NUMBER_FLOAT:
        memcpy(&bits, &number->f, sizeof bits);
        memcpy(&want_bits, &want.f, sizeof want_bits);
        return bits == want_bits && number->point == want.point && number->whole_digits == want.whole_digits &&
               number->fraction_digits == want.fraction_digits;
    default:
        return true;
    }
}

/* Write the value at the cursor as the slow reader does; a number that is read otherwise is written otherwise. */
static inline void visit_json(lb_json_cursor *c, uint8_t *out, size_t *n)
{
    const lb_json_kind kind = lb_json_peek(c);
    lb_json_text text;
    lb_number number;
    lb_str span;

    if (kind == LB_JSON_OBJECT) {
        slow_put(out, n, "{", 1);
        for (bool more = lb_json_object(c, &text); more; more = lb_json_member(c, &text)) {
            visit_text(&text, 'k', out, n);
            visit_json(c, out, n);
        }
        slow_put(out, n, "}", 1);
    } else if (kind == LB_JSON_ARRAY_VALUE) {
        slow_put(out, n, "[", 1);
        for (bool more = lb_json_array(c); more; more = lb_json_item(c))
            visit_json(c, out, n);
        slow_put(out, n, "]", 1);
    } else if (kind == LB_JSON_STRING) {
        if (lb_json_string(c, &text))
            visit_text(&text, 's', out, n);
    } else if (kind == LB_JSON_NUMBER) {
        lb_number_kind read = lb_json_number(c, &span, &number);
        bool same = c->reason != LB_JSON_GOOD || visit_agrees(span, read, &number);
        slow_put_text(out, n, same ? '#' : '?', span.at, span.size);
    } else if (kind != LB_JSON_NOTHING && lb_json_word(c)) {
        slow_put(out, n, kind == LB_JSON_TRUE ? "t" : kind == LB_JSON_FALSE ? "f" : "n", 1);
    }
}

#endif
