/* Visiting: one value, byte by byte. Nothing before `end` is passed unchecked, and nothing behind it is believed. */
#include "wire/json_text.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/utf8.h"
#include "wire/json_chars.h"
#include "wire/json_index.h"

#define JSON_INLINE static inline __attribute__((always_inline))

const char *lb_json_reason_text(lb_json_reason reason)
{
    static const char *const texts[] = {
        [LB_JSON_GOOD] = "valid JSON",
        [LB_JSON_CUT] = "the text ends inside a value",
        [LB_JSON_NO_VALUE] = "expected a value",
        [LB_JSON_BAD_WORD] = "expected true, false or null",
        [LB_JSON_BAD_NUMBER] = "expected a number as JSON writes it",
        [LB_JSON_BAD_ESCAPE] = "an escape that JSON does not have",
        [LB_JSON_LONE_SURROGATE] = "half of a surrogate pair stands alone, which is no character",
        [LB_JSON_CONTROL] = "a control character inside a string, where it must be escaped",
        [LB_JSON_NO_KEY] = "expected a key in quotes",
        [LB_JSON_NO_COLON] = "expected a colon behind the key",
        [LB_JSON_NO_COMMA] = "expected a comma or the closing bracket",
        [LB_JSON_TOO_DEEP] = "arrays and objects lie too deep inside each other",
        [LB_JSON_NO_ARRAY] = "expected an array",
        [LB_JSON_BEHIND] = "something follows the end",
    };

    return texts[reason];
}

#define SHAPE LB_JSON_SHAPE_BIT
#define BLANK LB_JSON_BLANK_BIT

const uint8_t lb_json_bytes[256] = {
    ['\t'] = BLANK,
    ['\n'] = BLANK,
    ['\r'] = BLANK,
    [' '] = BLANK,
    ['"'] = LB_JSON_STRING | SHAPE,
    [','] = SHAPE,
    [':'] = SHAPE,
    ['['] = LB_JSON_ARRAY_VALUE | SHAPE,
    [']'] = SHAPE,
    ['{'] = LB_JSON_OBJECT | SHAPE,
    ['}'] = SHAPE,
    ['-'] = LB_JSON_NUMBER,
    ['0' ... '9'] = LB_JSON_NUMBER,
    ['f'] = LB_JSON_FALSE,
    ['n'] = LB_JSON_NULL,
    ['t'] = LB_JSON_TRUE,
};

/* ---------------------------------------------------------------- errors */

static bool json_bad(lb_json_cursor *c, lb_json_reason reason, const uint8_t *at)
{
    if (c->reason == LB_JSON_GOOD) {
        c->reason = reason;
        c->bad_at = at;
        c->p = c->end; /* so that every later call comes upon the end */
    }
    return false;
}

/* The end was met, or what stands at `p` is wrong. */
static bool json_wrong(lb_json_cursor *c, lb_json_reason reason, const uint8_t *p)
{
    if (p >= c->end)
        return json_bad(c, LB_JSON_CUT, c->end);
    return json_bad(c, reason, p);
}

/* ---------------------------------------------------------------- blanks */

/* Line ends and indents make runs, so 16 bytes are looked at at once. */
const uint8_t *lb_json_pass_run(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t');
    const __m128i lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');

    for (; p < end; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i blank = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, space), _mm_cmpeq_epi8(v, lf)),
                                     _mm_or_si128(_mm_cmpeq_epi8(v, tab), _mm_cmpeq_epi8(v, cr)));
        unsigned others = (unsigned)_mm_movemask_epi8(blank) ^ 0xffff;
        if (others != 0) {
            p += __builtin_ctz(others);
            break;
        }
    }
    return p < end ? p : end;
#else
    while (p < end && lb_json_is_blank(*p))
        p++;
    return p;
#endif
}

lb_json_kind lb_json_peek_on(lb_json_cursor *c)
{
    c->p = lb_json_pass_blanks(c->p, c->end);
    if (c->p >= c->end) {
        (void)json_bad(c, LB_JSON_CUT, c->end);
        return LB_JSON_NOTHING;
    }
    lb_json_kind kind = lb_json_kind_of(*c->p);
    if (kind == LB_JSON_NOTHING)
        (void)json_bad(c, LB_JSON_NO_VALUE, c->p);
    return kind;
}

/* ---------------------------------------------------------------- strings */

/* The value of a hexadecimal digit; above 15: none. */
static unsigned json_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - (unsigned)'0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10 : 16;
}

/* Four digits, all known to be there. */
static uint32_t json_unit(const uint8_t *p)
{
    return json_hex(p[0]) << 12 | json_hex(p[1]) << 8 | json_hex(p[2]) << 4 | json_hex(p[3]);
}

static bool json_is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool json_is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* `\uXXXX` at p, whose `\` stands there; NULL: it is none. */
static const uint8_t *json_escape_unit(lb_json_cursor *c, const uint8_t *p, uint32_t *unit)
{
    const uint8_t *at = p + 2;

    for (; at < c->end && at < p + 6; at++)
        if (json_hex(*at) > 15) {
            (void)json_bad(c, LB_JSON_BAD_ESCAPE, p);
            return NULL;
        }
    if (at < p + 6) {
        (void)json_bad(c, LB_JSON_CUT, c->end);
        return NULL;
    }
    *unit = json_unit(p + 2);
    return at;
}

/* `\u` at p: a character, or two halves of one. */
static const uint8_t *json_escape_u(lb_json_cursor *c, const uint8_t *p)
{
    uint32_t unit, low;
    const uint8_t *at = json_escape_unit(c, p, &unit);

    if (at == NULL)
        return NULL;
    if (json_is_high(unit)) {
        /* the other half must follow: as much of it as is there */
        if ((at < c->end && *at != '\\') || (at + 1 < c->end && at[1] != 'u')) {
            (void)json_bad(c, LB_JSON_LONE_SURROGATE, p);
            return NULL;
        }
        if (c->end - at < 2) {
            (void)json_bad(c, LB_JSON_CUT, c->end);
            return NULL;
        }
        at = json_escape_unit(c, at, &low);
        if (at == NULL || json_is_low(low))
            return at;
    } else if (!json_is_low(unit)) {
        return at;
    }
    (void)json_bad(c, LB_JSON_LONE_SURROGATE, p);
    return NULL;
}

/* An escape; returns what follows it, or NULL. */
static const uint8_t *json_escape(lb_json_cursor *c, const uint8_t *p)
{
    if (c->end - p < 2) {
        (void)json_bad(c, LB_JSON_CUT, c->end);
        return NULL;
    }
    switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 2;
    case 'u':
        return json_escape_u(c, p);
    default:
        (void)json_bad(c, LB_JSON_BAD_ESCAPE, p);
        return NULL;
    }
}

/* The closing quote of the string that p is inside of, or NULL. */
JSON_INLINE const uint8_t *json_string_end(lb_json_cursor *c, const uint8_t *p, bool *escaped)
{
    *escaped = false;
    for (;;) {
        p = lb_json_plain(p, c->end);
        if (__builtin_expect(p >= c->end, 0)) {
            (void)json_bad(c, LB_JSON_CUT, c->end);
            return NULL;
        }
        if (*p == '"')
            return p;
        if (*p != '\\') {
            (void)json_bad(c, LB_JSON_CONTROL, p);
            return NULL;
        }
        *escaped = true;
        p = json_escape(c, p);
        if (p == NULL)
            return NULL;
    }
}

/* The string whose opening quote stands at p. */
JSON_INLINE const uint8_t *json_text(lb_json_cursor *c, const uint8_t *p, lb_json_text *out)
{
    const uint8_t *stop = json_string_end(c, p + 1, &out->escaped);

    if (stop == NULL)
        return NULL;
    out->p = p + 1;
    out->size = (size_t)(stop - out->p);
    return stop + 1;
}

bool lb_json_string(lb_json_cursor *c, lb_json_text *out)
{
    const uint8_t *p = c->p;

    *out = (lb_json_text){ .p = c->end };
    if (p >= c->end || *p != '"')
        return json_wrong(c, LB_JSON_NO_VALUE, p);
    p = json_text(c, p, out);
    if (p == NULL)
        return false;
    c->p = p;
    return true;
}

/* ---------------------------------------------------------------- numbers and words */

/* A number or word ends here: its end is that of all, or a byte that cannot be its next one. */
JSON_INLINE bool json_ends(const lb_json_cursor *c, const uint8_t *p)
{
    return p >= c->end || !lb_json_in_scalar(*p);
}

/* Of a number that does not go on as it must at p. */
static bool json_number_bad(lb_json_cursor *c, const uint8_t *start, const uint8_t *p)
{
    if (p >= c->end && !c->whole)
        return json_bad(c, LB_JSON_CUT, c->end);
    return json_bad(c, LB_JSON_BAD_NUMBER, start);
}

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

JSON_INLINE uint64_t json_load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* How many of the eight bytes are digits, before one that is none. A sum or difference that carries spoils bytes above
 * alone. */
JSON_INLINE size_t json_count_digits(uint64_t v)
{
    uint64_t others = ((v + EACH_BYTE(0x80 - 0x3a)) | (v - EACH_BYTE('0'))) & EACH_BYTE(0x80);

    return others == 0 ? 8 : (size_t)__builtin_ctzll(others) / 8;
}

/* The value of the first `n` of eight digits. They move to the end, behind bytes of no value; then neighbours are
 * joined, and pairs, and fours. */
JSON_INLINE uint64_t json_value_of(uint64_t v, size_t n)
{
    if (n == 0)
        return 0;
    v = (v << 8 * (8 - n)) & EACH_BYTE(0x0f);
    v = (v * 10 + (v >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v * 100 + (v >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (v * 10000 + (v >> 32)) & 0xffffffff;
}

static const uint64_t json_tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };

/* Pass digits, running them onto *value, which is right for up to 19 of them. */
JSON_INLINE const uint8_t *json_digits(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    uint64_t v = *value;

    for (size_t n = 8; n == 8 && p < end; p += n) {
        const uint64_t eight = json_load(p);
        n = json_count_digits(eight);
        if (n > (size_t)(end - p))
            n = (size_t)(end - p);
        v = v * json_tens[n] + json_value_of(eight, n);
    }
    *value = v;
    return p;
}

/* A number taken apart, without its sign. */
typedef struct json_parts {
    size_t whole, fraction; /* digits before and behind the point */
    uint64_t value;         /* of all these run together, right for up to 19 */
    bool exponent;
} json_parts;

/* What stands behind an `e` and must be a number; NULL: it is none. */
static const uint8_t *json_exponent(lb_json_cursor *c, const uint8_t *start, const uint8_t *p)
{
    uint64_t value = 0;

    if (p < c->end && (*p == '+' || *p == '-'))
        p++;
    const uint8_t *digits = p;
    p = json_digits(p, c->end, &value);
    return p == digits ? (json_number_bad(c, start, p), NULL) : p;
}

/* The end of the number at p, or NULL. */
JSON_INLINE const uint8_t *json_number_end(lb_json_cursor *c, const uint8_t *p, json_parts *parts)
{
    const uint8_t *start = p, *digits;

    p += *p == '-';
    digits = p;
    parts->value = 0;
    parts->exponent = false;
    p = json_digits(p, c->end, &parts->value);
    parts->whole = (size_t)(p - digits);
    parts->fraction = 0;
    if (p == digits)
        return json_number_bad(c, start, p), NULL;
    if (*digits == '0' && p - digits > 1)
        return json_bad(c, LB_JSON_BAD_NUMBER, start), NULL;
    if (json_ends(c, p))
        return p;
    if (*p == '.') {
        digits = p + 1;
        p = json_digits(digits, c->end, &parts->value);
        parts->fraction = (size_t)(p - digits);
        if (p == digits)
            return json_number_bad(c, start, p), NULL;
    }
    if (p < c->end && (*p | 0x20) == 'e') {
        parts->exponent = true;
        p = json_exponent(c, start, p + 1);
    }
    if (p != NULL && !json_ends(c, p))
        return json_number_bad(c, start, p), NULL;
    return p;
}

/* Numbers of so many digits are read here: integers fit, and doubles are one exact integer divided by another, rounded
 * once (Clinger 1990). The others are left to lb_number_parse. */
#define JSON_SHORT_INT 18
#define JSON_SHORT_FLOAT 15

JSON_INLINE lb_number_kind json_number_of(const json_parts *parts, lb_str text, lb_number *out)
{
    const bool negative = *text.at == '-';
    const size_t digits = parts->whole + parts->fraction;

    if (parts->exponent || (negative && parts->value == 0))
        return lb_number_parse(text.at, text.size, out);
    if (parts->fraction == 0 && digits <= JSON_SHORT_INT) {
        *out = (lb_number){ .i = negative ? -(int64_t)parts->value : (int64_t)parts->value };
        return LB_NUMBER_INT;
    }
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 0
    static const double tens[] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
    };
    if (digits <= JSON_SHORT_FLOAT && parts->fraction != 0) {
        const double v = (double)parts->value / tens[parts->fraction];
        *out = (lb_number){ .f = negative ? -v : v,
                            .point = true,
                            .whole_digits = parts->whole == 1 && text.at[negative] == '0' ? 0 : (uint32_t)parts->whole,
                            .fraction_digits = (uint32_t)parts->fraction };
        return LB_NUMBER_FLOAT;
    }
#endif
    return lb_number_parse(text.at, text.size, out);
}

lb_number_kind lb_json_number(lb_json_cursor *c, lb_str *text, lb_number *out)
{
    const uint8_t *start = c->p, *stop;
    json_parts parts;

    *text = (lb_str){ "", 0 };
    if (start >= c->end || lb_json_kind_of(*start) != LB_JSON_NUMBER) {
        (void)json_wrong(c, LB_JSON_NO_VALUE, start);
        return LB_NOT_A_NUMBER;
    }
    stop = json_number_end(c, start, &parts);
    if (stop == NULL)
        return LB_NOT_A_NUMBER;
    *text = (lb_str){ (const char *)start, (size_t)(stop - start) };
    c->p = stop;
    return json_number_of(&parts, *text, out);
}

/* The word at p, which is not what it must be, or is cut. */
static const uint8_t *json_word_bad(lb_json_cursor *c, const uint8_t *p, const char *word, size_t size)
{
    const size_t left = (size_t)(c->end - p);

    if (!c->whole && left < size && memcmp(p, word, left) == 0)
        return json_bad(c, LB_JSON_CUT, c->end), NULL;
    return json_bad(c, LB_JSON_BAD_WORD, p), NULL;
}

JSON_INLINE uint32_t json_load_4(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* The end of the word at p, or NULL. */
JSON_INLINE const uint8_t *json_word_end(lb_json_cursor *c, const uint8_t *p)
{
    const char *word = *p == 't' ? "true" : *p == 'f' ? "false" : "null";
    const size_t longer = *p == 'f', size = 4 + longer; /* the first letter is known */

    if (json_load_4(p + longer) != json_load_4(word + longer) || (size_t)(c->end - p) < size || !json_ends(c, p + size))
        return json_word_bad(c, p, word, size);
    return p + size;
}

bool lb_json_word(lb_json_cursor *c)
{
    const uint8_t *p = c->p;

    if (p >= c->end || (*p != 't' && *p != 'f' && *p != 'n'))
        return json_wrong(c, LB_JSON_NO_VALUE, p);
    p = json_word_end(c, p);
    if (p == NULL)
        return false;
    c->p = p;
    return true;
}

/* ---------------------------------------------------------------- arrays and objects */

/* A key, its colon, and the blanks around them; returns where the member's value stands, or NULL. */
JSON_INLINE const uint8_t *json_key(lb_json_cursor *c, const uint8_t *p, lb_json_text *key)
{
    if (p >= c->end || *p != '"')
        return json_wrong(c, LB_JSON_NO_KEY, p), NULL;
    p = json_text(c, p, key);
    if (p == NULL)
        return NULL;
    p = lb_json_pass_blanks(p, c->end);
    if (p >= c->end || *p != ':')
        return json_wrong(c, LB_JSON_NO_COLON, p), NULL;
    return lb_json_pass_blanks(p + 1, c->end);
}

static bool json_enter(lb_json_cursor *c, uint8_t bracket)
{
    if (c->p >= c->end || *c->p != bracket)
        return json_wrong(c, LB_JSON_NO_VALUE, c->p);
    if (c->depth >= LB_JSON_DEPTH)
        return json_bad(c, LB_JSON_TOO_DEEP, c->p);
    c->depth++;
    c->p = lb_json_pass_blanks(c->p + 1, c->end);
    return true;
}

JSON_INLINE bool json_leave(lb_json_cursor *c, const uint8_t *p)
{
    c->depth--;
    c->p = p + 1;
    return false;
}

bool lb_json_object(lb_json_cursor *c, lb_json_text *key)
{
    if (!json_enter(c, '{'))
        return false;
    if (c->p < c->end && *c->p == '}')
        return json_leave(c, c->p);
    const uint8_t *p = json_key(c, c->p, key);
    if (p == NULL)
        return false;
    c->p = p;
    return true;
}

bool lb_json_member(lb_json_cursor *c, lb_json_text *key)
{
    const uint8_t *p = lb_json_pass_blanks(c->p, c->end);

    if (p >= c->end || *p != ',') {
        if (p < c->end && *p == '}')
            return json_leave(c, p);
        return json_wrong(c, LB_JSON_NO_COMMA, p);
    }
    p = json_key(c, lb_json_pass_blanks(p + 1, c->end), key);
    if (p == NULL)
        return false;
    c->p = p;
    return true;
}

bool lb_json_array(lb_json_cursor *c)
{
    if (!json_enter(c, '['))
        return false;
    if (c->p < c->end && *c->p == ']')
        return json_leave(c, c->p);
    return true;
}

bool lb_json_item(lb_json_cursor *c)
{
    const uint8_t *p = lb_json_pass_blanks(c->p, c->end);

    if (p >= c->end || *p != ',') {
        if (p < c->end && *p == ']')
            return json_leave(c, p);
        return json_wrong(c, LB_JSON_NO_COMMA, p);
    }
    c->p = lb_json_pass_blanks(p + 1, c->end);
    return true;
}

/* ---------------------------------------------------------------- whole values */

/* A value that holds no others; returns what follows, or NULL. */
JSON_INLINE const uint8_t *json_skip_scalar(lb_json_cursor *c, const uint8_t *p)
{
    json_parts parts;
    bool escaped;

    switch (lb_json_kind_of(*p)) {
    case LB_JSON_STRING:
        p = json_string_end(c, p + 1, &escaped);
        return p == NULL ? NULL : p + 1;
    case LB_JSON_NUMBER:
        return json_number_end(c, p, &parts);
    case LB_JSON_NULL:
    case LB_JSON_FALSE:
    case LB_JSON_TRUE:
        return json_word_end(c, p);
    default:
        return json_bad(c, LB_JSON_NO_VALUE, p), NULL;
    }
}

/* Which of the containers entered are objects: a bit for each level. */
typedef struct json_stack {
    uint64_t bits[LB_JSON_DEPTH / 64 + 1];
} json_stack;

JSON_INLINE bool json_push(lb_json_cursor *c, json_stack *s, bool object, const uint8_t *p)
{
    if (c->depth >= LB_JSON_DEPTH)
        return json_bad(c, LB_JSON_TOO_DEEP, p);
    const uint64_t bit = (uint64_t)1 << c->depth % 64;
    uint64_t *word = &s->bits[c->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    c->depth++;
    return true;
}

JSON_INLINE bool json_in_object(const lb_json_cursor *c, const json_stack *s)
{
    const unsigned level = c->depth - 1;

    return (s->bits[level / 64] >> level % 64 & 1) != 0;
}

/* The container that begins at p; returns what follows it, or NULL. */
static const uint8_t *json_skip_nested(lb_json_cursor *c, const uint8_t *p)
{
    const unsigned outer = c->depth;
    const uint8_t *const end = c->end;
    lb_json_text key;
    json_stack stack;

    for (;;) {
        /* p stands at a value */
        if (p >= end)
            return json_bad(c, LB_JSON_CUT, end), NULL;
        if (lb_json_kind_of(*p) >= LB_JSON_OBJECT) {
            const bool object = *p == '{';
            if (!json_push(c, &stack, object, p))
                return NULL;
            p = lb_json_pass_blanks(p + 1, end);
            if (p < end && *p == (object ? '}' : ']')) {
                c->depth--;
                p++;
            } else {
                if (object && (p = json_key(c, p, &key)) == NULL)
                    return NULL;
                continue;
            }
        } else if ((p = json_skip_scalar(c, p)) == NULL) {
            return NULL;
        }
        /* p stands behind a value */
        for (;;) {
            if (c->depth == outer)
                return p;
            p = lb_json_pass_blanks(p, end);
            const bool object = json_in_object(c, &stack);
            if (p < end && *p == ',') {
                p = lb_json_pass_blanks(p + 1, end);
                if (object && (p = json_key(c, p, &key)) == NULL)
                    return NULL;
                break;
            }
            if (p >= end || *p != (object ? '}' : ']'))
                return json_wrong(c, LB_JSON_NO_COMMA, p), NULL;
            c->depth--;
            p++;
        }
    }
}

static bool json_passed(lb_json_cursor *c, const uint8_t *from, const uint8_t *to, lb_str *span)
{
    if (span != NULL)
        *span = (lb_str){ (const char *)from, (size_t)(to - from) };
    c->p = to;
    return true;
}

bool lb_json_skip(lb_json_cursor *c, lb_str *span)
{
    const lb_json_kind kind = lb_json_peek(c);
    const uint8_t *p = c->p;

    if (kind == LB_JSON_NOTHING)
        return false;
    p = kind >= LB_JSON_OBJECT ? json_skip_nested(c, p) : json_skip_scalar(c, p);
    return p != NULL && json_passed(c, c->p, p, span);
}

/* The closing bracket of the container at p, by the index; NULL: none before the end. */
static const uint8_t *json_pass_nested(const uint8_t *p, const uint8_t *end)
{
    const lb_json_index_fn index = lb_json_index();
    lb_json_carry carry = { false, false };
    size_t depth = 0;

    for (; p < end; p += LB_JSON_BLOCK) {
        lb_json_words words;
        uint64_t quotes;
        index(p, 1, &words);
        uint64_t outside = ~lb_json_strings(&words, &quotes, &carry);
        for (uint64_t bits = (words.opens | words.closes) & outside; bits != 0; bits &= bits - 1) {
            depth = (words.opens & bits & (0 - bits)) != 0 ? depth + 1 : depth - 1;
            if (depth == 0)
                return p + __builtin_ctzll(bits);
        }
    }
    return NULL;
}

static const uint8_t *json_pass_string(const uint8_t *p, const uint8_t *end)
{
    for (p = lb_json_plain(p, end); p < end && *p != '"'; p = lb_json_plain(p, end))
        p += *p == '\\' ? 2 : 1;
    return p;
}

bool lb_json_pass(lb_json_cursor *c, lb_str *span)
{
    const lb_json_kind kind = lb_json_peek(c);
    const uint8_t *p = c->p;

    if (kind == LB_JSON_NOTHING)
        return false;
    if (kind < LB_JSON_STRING) {
        while (p < c->end && lb_json_in_scalar(*p))
            p++;
        return json_passed(c, c->p, p, span);
    }
    p = kind == LB_JSON_STRING ? json_pass_string(p + 1, c->end) : json_pass_nested(p, c->end);
    if (p == NULL || p >= c->end)
        return json_bad(c, LB_JSON_CUT, c->end);
    return json_passed(c, c->p, p + 1, span);
}

bool lb_json_finish(lb_json_cursor *c)
{
    if (c->reason != LB_JSON_GOOD)
        return false;
    c->p = lb_json_pass_blanks(c->p, c->end);
    return c->p >= c->end || json_bad(c, LB_JSON_BEHIND, c->p);
}

/* ---------------------------------------------------------------- text of strings */

/* One escape, whose backslash stands at *p, as UTF-8; moves *p behind it. */
static size_t json_unescape(const uint8_t **p, uint8_t out[4])
{
    static const uint8_t letters[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };
    const uint8_t *at = *p + 1;

    *p = at + 1;
    if (*at != 'u') {
        out[0] = letters[*at];
        return 1;
    }
    uint32_t unit = json_unit(at + 1);
    *p = at + 5;
    if (json_is_high(unit)) {
        unit = 0x10000 + ((unit & 0x3ff) << 10) + (json_unit(at + 7) & 0x3ff);
        *p = at + 11;
    }
    return lb_utf8_encode(unit, out);
}

size_t lb_json_decode(const lb_json_text *text, uint8_t *out)
{
    const uint8_t *p = text->p, *const end = p + text->size;
    uint8_t *to = out;

    while (p < end) {
        const uint8_t *slash = text->escaped ? memchr(p, '\\', (size_t)(end - p)) : NULL;
        const size_t plain = (size_t)((slash == NULL ? end : slash) - p);
        memcpy(to, p, plain);
        to += plain;
        p += plain;
        if (slash != NULL)
            to += json_unescape(&p, to);
    }
    return (size_t)(to - out);
}

bool lb_json_text_is(const lb_json_text *text, lb_str want)
{
    const uint8_t *p = text->p, *const end = p + text->size;
    size_t at = 0;

    if (!text->escaped)
        return lb_str_equal((lb_str){ (const char *)p, text->size }, want);
    while (p < end) {
        uint8_t bytes[4];
        size_t size = 1;
        if (*p == '\\')
            size = json_unescape(&p, bytes);
        else
            bytes[0] = *p++;
        if (size > want.size - at || memcmp(bytes, want.at + at, size) != 0)
            return false;
        at += size;
    }
    return at == want.size;
}
