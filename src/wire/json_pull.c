#include "wire/json_pull.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "base/utf8.h"

/* Let nothing more be read. */
static void pull_stop(lb_json_pull *p, lb_status status)
{
    p->status = status;
    p->in.at = p->in.end;
}

void lb_json_pull_fail(lb_json_pull *p, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (p->status != LB_OK)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pull_stop(p, lb_fail(p->err, LB_CORRUPT, LB_AT(lb_cursor_offset(&p->in)), "JSON: %s", text));
}

void lb_json_pull_begin(lb_json_pull *p, lb_str text, lb_arena *arena, lb_error *err)
{
    *p = (lb_json_pull){ .arena = arena, .err = err };
    lb_cursor_init(&p->in, text.at, text.size, 0);
}

static void skip_blanks(lb_cursor *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t'))
        in->at++;
}

/* The next byte that is no blank, or -1. */
static int pull_look(lb_json_pull *p)
{
    skip_blanks(&p->in);
    return p->in.at < p->in.end ? *p->in.at : -1;
}

static bool pull_expect(lb_json_pull *p, char want)
{
    if (p->status == LB_OK && pull_look(p) == want) {
        p->in.at++;
        return true;
    }
    lb_json_pull_fail(p, "'%c' is expected", want);
    return false;
}

lb_json_pull_kind lb_json_pull_peek(lb_json_pull *p)
{
    int c = pull_look(p);
    if (c == '{')
        return LB_JSON_PULL_OBJECT;
    if (c == '[')
        return LB_JSON_PULL_ARRAY;
    if (c == '"')
        return LB_JSON_PULL_STRING;
    if (c == '-' || (c >= '0' && c <= '9'))
        return LB_JSON_PULL_NUMBER;
    return c == 't' || c == 'f' || c == 'n' ? LB_JSON_PULL_WORD : LB_JSON_PULL_NOTHING;
}

/* ---------------------------------------------------------------- strings */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits of a \u escape; -1: they are none. */
static int32_t hex_unit(const uint8_t *at, const uint8_t *end)
{
    int32_t unit = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* One escape behind its backslash; *at moves on. Returns the bytes written, 0: it is none. Half a surrogate pair
 * becomes U+FFFD. */
static size_t read_escape(const uint8_t **at, const uint8_t *end, uint8_t out[4])
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint8_t c = *(*at)++;
    const char *found = c == '\0' ? NULL : strchr(from, c);
    if (found != NULL) {
        out[0] = (uint8_t)to[found - from];
        return 1;
    }
    int32_t unit = c == 'u' ? hex_unit(*at, end) : -1;
    if (unit < 0)
        return 0;
    *at += 4;
    if (unit >= 0xD800 && unit < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        int32_t low = hex_unit(*at + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            *at += 6;
            return lb_utf8_encode(0x10000u + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00), out);
        }
    }
    return lb_utf8_encode(unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : (uint32_t)unit, out);
}

/* An escape takes at least as many bytes as what it stands for: the text fits where its escaped form did. */
static lb_str unescape(lb_json_pull *p, const uint8_t *at, const uint8_t *end)
{
    lb_str nothing = { NULL, 0 };
    uint8_t *out = lb_arena_alloc(p->arena, (size_t)(end - at) + 1, 1), *to = out;
    if (out == NULL) {
        pull_stop(p, lb_arena_fail(p->arena, p->err));
        return nothing;
    }
    while (at < end) {
        uint8_t escaped[4];
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        at++;
        size_t n = read_escape(&at, end, escaped);
        if (n == 0) {
            lb_json_pull_fail(p, "a string holds an escape that is none");
            return nothing;
        }
        memcpy(to, escaped, n);
        to += n;
    }
    return (lb_str){ (const char *)out, (size_t)(to - out) };
}

/* The string's bytes between the quotes, and whether some are escapes. The cursor ends up behind it. */
static bool find_string(lb_json_pull *p, const uint8_t **begin, const uint8_t **end, bool *escapes)
{
    if (!pull_expect(p, '"'))
        return false;
    lb_cursor *in = &p->in;
    *begin = in->at;
    *escapes = false;
    for (const uint8_t *at = in->at; at < in->end; at++) {
        if (*at == '"') {
            *end = at;
            in->at = at + 1;
            return true;
        }
        if (*at < 0x20) {
            in->at = at;
            lb_json_pull_fail(p, "a string holds a control character, 0x%02X", *at);
            return false;
        }
        if (*at == '\\') {
            *escapes = true;
            at++;
        }
    }
    in->at = in->end;
    lb_json_pull_fail(p, "the text ends inside a string");
    return false;
}

lb_str lb_json_pull_string(lb_json_pull *p)
{
    const uint8_t *begin, *end;
    bool escapes;
    if (!find_string(p, &begin, &end, &escapes))
        return (lb_str){ NULL, 0 };
    if (escapes)
        return unescape(p, begin, end);
    return (lb_str){ (const char *)begin, (size_t)(end - begin) };
}

/* ---------------------------------------------------------------- numbers and words */

/* The run of bytes that a number or word is made of. */
static lb_str pull_run(lb_json_pull *p)
{
    (void)pull_look(p);
    const uint8_t *begin = p->in.at;
    while (p->in.at < p->in.end) {
        uint8_t c = *p->in.at, low = c | 0x20;
        if (!((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || (low >= 'a' && low <= 'z')))
            break;
        p->in.at++;
    }
    return (lb_str){ (const char *)begin, (size_t)(p->in.at - begin) };
}

int64_t lb_json_pull_int(lb_json_pull *p)
{
    lb_number n;
    lb_str run = pull_run(p);
    if (p->status == LB_OK && lb_number_parse(run.at, run.size, &n) == LB_NUMBER_INT)
        return n.i;
    p->in.at -= run.size;
    lb_json_pull_fail(p, "a whole number is expected");
    return 0;
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* -?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)? */
static bool is_number(lb_str run)
{
    const uint8_t *at = (const uint8_t *)run.at, *end = at + run.size, *from;
    at += at < end && *at == '-';
    from = at;
    at = skip_digits(at, end);
    if (at == from || (*from == '0' && at - from > 1))
        return false;
    if (at < end && *at == '.') {
        from = ++at;
        at = skip_digits(at, end);
        if (at == from)
            return false;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        from = at;
        at = skip_digits(at, end);
        if (at == from)
            return false;
    }
    return at == end;
}

/* ---------------------------------------------------------------- brackets */

bool lb_json_pull_enter(lb_json_pull *p, char bracket)
{
    if (p->status != LB_OK)
        return false;
    if (pull_look(p) != bracket) {
        lb_json_pull_fail(p, bracket == '{' ? "an object is expected" : "an array is expected");
        return false;
    }
    p->in.at++;
    return p->fresh = true;
}

/* Past the comma, to a member or item; false at the closing bracket. */
static bool pull_next(lb_json_pull *p, char close)
{
    bool fresh = p->fresh;
    p->fresh = false;
    if (p->status != LB_OK)
        return false;
    if (pull_look(p) == close) {
        p->in.at++;
        return false;
    }
    if (fresh)
        return true;
    if (pull_look(p) != ',') {
        lb_json_pull_fail(p, "',' or '%c' is expected", close);
        return false;
    }
    p->in.at++;
    return true;
}

bool lb_json_pull_next_key(lb_json_pull *p, lb_str *key)
{
    if (!pull_next(p, '}'))
        return false;
    *key = lb_json_pull_string(p);
    return pull_expect(p, ':');
}

bool lb_json_pull_next_item(lb_json_pull *p)
{
    return pull_next(p, ']');
}

/* ---------------------------------------------------------------- stepping over */

static void skip_plain(lb_json_pull *p)
{
    const uint8_t *begin, *end;
    bool escapes;
    if (lb_json_pull_peek(p) == LB_JSON_PULL_STRING) {
        (void)find_string(p, &begin, &end, &escapes);
        return;
    }
    lb_str run = pull_run(p);
    if (is_number(run) || lb_str_is(run, "true") || lb_str_is(run, "false") || lb_str_is(run, "null"))
        return;
    p->in.at -= run.size;
    lb_json_pull_fail(p, "a value is expected");
}

/* The brackets that are open stand in a stack of their own. */
void lb_json_pull_skip(lb_json_pull *p)
{
    char open[LB_JSON_PULL_DEPTH];
    size_t depth = 0;
    lb_str key;
    do {
        lb_json_pull_kind kind = lb_json_pull_peek(p);
        if (kind != LB_JSON_PULL_OBJECT && kind != LB_JSON_PULL_ARRAY) {
            skip_plain(p);
        } else if (depth == LB_JSON_PULL_DEPTH) {
            if (p->status == LB_OK)
                pull_stop(p, lb_fail(p->err, LB_CORRUPT, LB_AT(lb_cursor_offset(&p->in)),
                                     "JSON: values are nested deeper than %d", LB_JSON_PULL_DEPTH));
        } else {
            open[depth] = kind == LB_JSON_PULL_OBJECT ? '{' : '[';
            (void)lb_json_pull_enter(p, open[depth++]);
        }
        while (depth > 0 && p->status == LB_OK &&
               !(open[depth - 1] == '{' ? lb_json_pull_next_key(p, &key) : lb_json_pull_next_item(p)))
            depth--;
    } while (depth > 0 && p->status == LB_OK);
}

lb_status lb_json_pull_end(lb_json_pull *p)
{
    if (p->status == LB_OK && pull_look(p) >= 0)
        lb_json_pull_fail(p, "something follows the value");
    return p->status;
}
