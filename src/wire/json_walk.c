/* Values of a text one after the other. Between them every byte is looked at; a value that begins with a bracket is
 * passed by the index: brackets outside strings are counted until they balance. The index is of the text from a place
 * outside strings on, so it never has to be told in what state it begins. */
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "wire/json_chars.h"
#include "wire/json_index.h"
#include "wire/json_text.h"

/* What may come at `at`. */
enum {
    WALK_BEGIN,   /* `[` of the array */
    WALK_FIRST,   /* an element, or `]` */
    WALK_ELEMENT, /* an element: a comma was passed */
    WALK_COMMA,   /* a comma or `]` */
    WALK_LINES,   /* a value */
    WALK_DONE     /* nothing: `]` was passed */
};

/* Values that lie deeper than this are passed by counting brackets of whole blocks. */
#define WALK_DEEP 4

#define WALK_INLINE static inline __attribute__((always_inline))

void lb_json_walk_init(lb_json_walk *w, lb_json_layout layout)
{
    static const uint8_t states[] = { WALK_LINES, WALK_BEGIN, WALK_ELEMENT };

    *w = (lb_json_walk){ .layout = layout, .state = states[layout] };
}

void lb_json_walk_window(lb_json_walk *w, const uint8_t *data, size_t size, bool end, size_t from)
{
    w->data = data;
    w->size = size;
    w->end = end;
    w->start = w->stop = w->at = w->base = from;
    w->n_blocks = 0;
    w->carry = (lb_json_carry){ .in_string = false };
}

/* ---------------------------------------------------------------- the index */

/* Go on to the next blocks; false: the window has no more. */
static bool walk_index(lb_json_walk *w)
{
    w->base += w->n_blocks * LB_JSON_BLOCK;
    if (w->base >= w->size) {
        w->n_blocks = 0;
        return false;
    }
    const size_t left = w->size - w->base, blocks = (left + LB_JSON_BLOCK - 1) / LB_JSON_BLOCK;
    w->n_blocks = blocks < LB_JSON_INDEX_BLOCKS ? blocks : LB_JSON_INDEX_BLOCKS;
    lb_json_shapes()(w->data + w->base, w->n_blocks, &w->carry, w->index);
    if (left < w->n_blocks * LB_JSON_BLOCK) { /* what lies behind the window does not count */
        lb_json_shape *last = &w->index[w->n_blocks - 1];
        const uint64_t kept = ((uint64_t)1 << left % LB_JSON_BLOCK) - 1;
        last->brackets &= kept;
        last->opens &= kept;
        last->quotes &= kept;
        last->controls &= kept;
    }
    return true;
}

/* The block of the index that has a position. False: the window does not. */
WALK_INLINE bool walk_block(lb_json_walk *w, size_t at, size_t *block)
{
    while (at - w->base >= w->n_blocks * LB_JSON_BLOCK)
        if (!walk_index(w))
            return false;
    *block = (at - w->base) / LB_JSON_BLOCK;
    return true;
}

/* The end of the value that begins at `from` with a bracket. False: not in this window, or a string has a control
 * character, of which there are none in JSON: so an open quote does not swallow what follows it. */
WALK_INLINE bool walk_balance(lb_json_walk *w, size_t from, size_t *stop)
{
    size_t depth = 1, at = from + 1, b;

    while (walk_block(w, at, &b)) {
        const uint64_t behind = ~UINT64_C(0) << (at - w->base) % LB_JSON_BLOCK;
        uint64_t bits = w->index[b].brackets & behind, opens = w->index[b].opens & behind;
        const size_t place = w->base + b * LB_JSON_BLOCK;
        const uint64_t controls = w->index[b].controls & behind;
        if (depth >= WALK_DEEP) {
            size_t closing = (size_t)__builtin_popcountll(bits & ~opens);
            if (closing < depth) {
                depth += (size_t)__builtin_popcountll(opens) - closing;
                bits = 0;
            }
        }
        for (; bits != 0; bits &= bits - 1) {
            depth = (opens & bits & (0 - bits)) != 0 ? depth + 1 : depth - 1;
            if (depth == 0) {
                *stop = place + (size_t)__builtin_ctzll(bits) + 1;
                return (controls & ((bits & (0 - bits)) - 1)) == 0;
            }
        }
        if (controls != 0)
            return false;
        at = place + LB_JSON_BLOCK;
    }
    return false;
}

/* The same of a string. */
WALK_INLINE bool walk_string(lb_json_walk *w, size_t from, size_t *stop)
{
    size_t at = from + 1, b;

    while (walk_block(w, at, &b)) {
        const uint64_t behind = ~UINT64_C(0) << (at - w->base) % LB_JSON_BLOCK;
        const uint64_t quotes = w->index[b].quotes & behind;
        if ((w->index[b].controls & behind & ((quotes & (0 - quotes)) - 1)) != 0)
            return false;
        if (quotes != 0) {
            *stop = w->base + b * LB_JSON_BLOCK + (size_t)__builtin_ctzll(quotes) + 1;
            return true;
        }
        at = w->base + (b + 1) * LB_JSON_BLOCK;
    }
    return false;
}

/* ---------------------------------------------------------------- answers */

static lb_json_step walk_bad(lb_json_walk *w, lb_json_reason reason, size_t start, size_t bad_at)
{
    w->start = start;
    w->reason = reason;
    w->bad_at = bad_at;
    return LB_JSON_BAD;
}

static lb_json_step walk_more(lb_json_walk *w, size_t at)
{
    w->start = w->at = at;
    return LB_JSON_MORE;
}

/* The value that begins at `from` does not end in this window, or holds what no value can. */
static lb_json_step walk_cut(lb_json_walk *w, size_t from)
{
    lb_json_cursor c = lb_json_cursor_over(w->data + from, w->data + w->size);

    w->at = from;
    (void)lb_json_skip(&c, NULL);
    if (c.reason != LB_JSON_CUT && c.reason != LB_JSON_GOOD)
        return walk_bad(w, c.reason, from, (size_t)(c.bad_at - w->data));
    if (!w->end)
        return walk_more(w, from);
    return walk_bad(w, LB_JSON_CUT, from, w->size);
}

/* The end of what begins at `from` and is a number or a word, as far as its bytes tell. */
WALK_INLINE size_t walk_scalar_end(const lb_json_walk *w, size_t from)
{
    size_t stop = from + 1;

#if defined(__SSE2__)
    /* Commas, colons, quotes, brackets, and all below `!`; few of the last are no blanks, and those the loop below
     * passes. */
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(w->data + stop)), low = _mm_set1_epi8(' ');
    const __m128i braces = _mm_or_si128(v, low);
    __m128i found = _mm_or_si128(_mm_cmpeq_epi8(_mm_max_epu8(v, low), low), _mm_cmpeq_epi8(v, _mm_set1_epi8(',')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(braces, _mm_set1_epi8('}')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(braces, _mm_set1_epi8('{')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(v, _mm_set1_epi8(':')));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
    const unsigned mask = (unsigned)_mm_movemask_epi8(found);
    stop += mask != 0 ? (size_t)__builtin_ctz(mask) : 16;
#endif
    while (stop < w->size && lb_json_in_scalar(w->data[stop]))
        stop++;
    return stop < w->size ? stop : w->size;
}

/* A number or a word: up to a byte that cannot be one of theirs. At the end of the text it may be cut: for certain
 * where an array is still open, and otherwise where it is not whole as it stands. */
static lb_json_step walk_scalar(lb_json_walk *w, size_t from)
{
    const size_t stop = walk_scalar_end(w, from);

    if (stop == w->size) {
        lb_json_cursor c = lb_json_cursor_over(w->data + from, w->data + w->size);
        if (!w->end || w->state != WALK_LINES || !lb_json_skip(&c, NULL))
            return walk_cut(w, from);
    }
    w->stop = stop;
    return LB_JSON_VALUE;
}

/* ---------------------------------------------------------------- steps */

/* What stands at `at`, behind blanks, where no value does. */
static lb_json_step walk_other(lb_json_walk *w, size_t at)
{
    const uint8_t c = w->data[at];

    if (w->state == WALK_DONE)
        return walk_bad(w, LB_JSON_BEHIND, at, at);
    if (w->state == WALK_BEGIN && c != '[')
        return walk_bad(w, LB_JSON_NO_ARRAY, at, at);
    if (w->state == WALK_COMMA && c != ',' && c != ']')
        return walk_bad(w, LB_JSON_NO_COMMA, at, at);
    if (w->state == WALK_BEGIN)
        w->state = WALK_FIRST;
    else if (w->state == WALK_COMMA && c == ',')
        w->state = WALK_ELEMENT;
    else if (c == ']' && (w->state == WALK_FIRST || w->state == WALK_COMMA))
        w->state = WALK_DONE;
    else
        return walk_bad(w, LB_JSON_NO_VALUE, at, at);
    w->at = at + 1;
    return LB_JSON_VALUE; /* look on */
}

static lb_json_step walk_at_end(lb_json_walk *w)
{
    if (!w->end)
        return walk_more(w, w->size);
    if (w->state != WALK_LINES && w->state != WALK_DONE)
        return walk_bad(w, LB_JSON_CUT, w->size, w->size);
    w->start = w->at = w->size;
    return LB_JSON_END;
}

/* Pass over blanks, and over commas and brackets of the array, to where a value begins. */
WALK_INLINE lb_json_step walk_begin(lb_json_walk *w)
{
    for (;;) {
        const size_t at = (size_t)(lb_json_pass_blanks(w->data + w->at, w->data + w->size) - w->data);
        if (at == w->size)
            return walk_at_end(w);
        if ((w->state == WALK_LINES || w->state == WALK_ELEMENT || (w->state == WALK_FIRST && w->data[at] != ']')) &&
            lb_json_kind_of(w->data[at]) != LB_JSON_NOTHING) {
            w->at = at;
            return LB_JSON_VALUE;
        }
        if (w->state == WALK_COMMA && w->data[at] == ',') {
            w->state = WALK_ELEMENT;
            w->at = at + 1;
            continue;
        }
        if (walk_other(w, at) == LB_JSON_BAD)
            return LB_JSON_BAD;
    }
}

WALK_INLINE lb_json_step walk_step(lb_json_walk *w)
{
    lb_json_step step = walk_begin(w);
    size_t stop;

    if (step != LB_JSON_VALUE)
        return step;
    const size_t from = w->at;
    const lb_json_kind kind = lb_json_kind_of(w->data[from]);
    if (kind >= LB_JSON_OBJECT) {
        if (!walk_balance(w, from, &stop))
            return walk_cut(w, from);
    } else if (kind == LB_JSON_STRING) {
        if (!walk_string(w, from, &stop))
            return walk_cut(w, from);
    } else {
        step = walk_scalar(w, from);
        stop = w->stop;
        if (step != LB_JSON_VALUE)
            return step;
    }
    w->start = from;
    w->stop = w->at = stop;
    if (w->state != WALK_LINES)
        w->state = WALK_COMMA;
    return LB_JSON_VALUE;
}

lb_json_step lb_json_walk_begin(lb_json_walk *w)
{
    lb_json_step step = walk_begin(w);

    if (step == LB_JSON_VALUE)
        w->start = w->at;
    return step;
}

/* The index goes on where it is, unless the value ends behind it: then from there, which is outside strings. */
void lb_json_walk_passed(lb_json_walk *w, size_t stop)
{
    w->start = w->at;
    w->stop = w->at = stop;
    if (w->state != WALK_LINES)
        w->state = WALK_COMMA;
    if (stop - w->base >= w->n_blocks * LB_JSON_BLOCK) {
        w->base = stop;
        w->n_blocks = 0;
        w->carry = (lb_json_carry){ .in_string = false };
    }
}

lb_json_step lb_json_walk_next(lb_json_walk *w)
{
    return walk_step(w);
}

lb_json_step lb_json_walk_skip(lb_json_walk *w, uint64_t count, uint64_t *passed)
{
    lb_json_step step = LB_JSON_VALUE;
    uint64_t n = 0;

    while (n < count && (step = walk_step(w)) == LB_JSON_VALUE)
        n++;
    *passed = n;
    return step;
}

/* ---------------------------------------------------------------- guessing */

static bool guess_is_break(uint8_t c)
{
    return c == '\n' || c == '\r';
}

/* Behind the last line end before `at`, how far the line is indented; SIZE_MAX: `at` does not begin its line. */
static size_t guess_indent(const uint8_t *data, size_t at)
{
    size_t from = at;

    while (from > 0 && (data[from - 1] == ' ' || data[from - 1] == '\t'))
        from--;
    return from > 0 && guess_is_break(data[from - 1]) ? at - from : SIZE_MAX;
}

/* Is it an element's beginning: a comma stands before it, and a value that ends with a bracket before that? Elements
 * that are no containers are taken where lines begin. */
static bool guess_after_comma(const uint8_t *data, size_t at)
{
    while (at > 0 && lb_json_is_blank(data[at - 1]))
        at--;
    if (at == 0 || data[at - 1] != ',')
        return false;
    at--;
    while (at > 0 && lb_json_is_blank(data[at - 1]))
        at--;
    return at > 0 && (data[at - 1] == '}' || data[at - 1] == ']');
}

static bool guess_is_like(const uint8_t *data, size_t size, size_t at, lb_str like)
{
    return like.size <= size - at && (like.size == 0 || memcmp(data + at, like.at, like.size) == 0);
}

/* A line end has no place inside a string, so one outside of all is known by sight; which line begins a value is not.
 * Lines that begin like the known value are better than others, and less indented ones than more. */
static size_t guess_line(const uint8_t *data, size_t size, lb_str like)
{
    size_t best = SIZE_MAX, best_indent = SIZE_MAX;

    for (size_t at = 1; at < size; at++) {
        if (lb_json_kind_of(data[at]) == LB_JSON_NOTHING)
            continue;
        size_t indent = guess_indent(data, at);
        if (indent == SIZE_MAX)
            continue;
        if (indent == 0 && guess_is_like(data, size, at, like))
            return at;
        if (indent < best_indent) {
            best = at;
            best_indent = indent;
        }
    }
    return best;
}

static size_t guess_element(const uint8_t *data, size_t size, lb_str like)
{
    size_t best = SIZE_MAX, best_indent = SIZE_MAX;
    bool best_like = false;

    for (size_t at = 2; at < size; at++) {
        if (lb_json_kind_of(data[at]) < LB_JSON_OBJECT || !guess_after_comma(data, at))
            continue;
        bool is_like = guess_is_like(data, size, at, like);
        size_t indent = guess_indent(data, at);
        if (is_like && indent == SIZE_MAX)
            return at;
        if (best == SIZE_MAX || indent < best_indent || (indent == best_indent && is_like && !best_like)) {
            best = at;
            best_indent = indent;
            best_like = is_like;
        }
    }
    return best != SIZE_MAX ? best : guess_line(data, size, like);
}

size_t lb_json_guess(const uint8_t *data, size_t size, lb_json_layout layout, lb_str like)
{
    return layout == LB_JSON_LINES ? guess_line(data, size, like) : guess_element(data, size, like);
}
