/* What must hold for any JSON text: the walk and the cursor find the rows, values and first error of the slow reader,
 * however the text is cut into windows. For the fuzz target and for texts made at random; REQUIRE is the includer's. */
#ifndef TESTS_JSON_LAWS_H
#define TESTS_JSON_LAWS_H

#include "base/fail.h"
#include "slow_json.h"
#include "wire/json_index.h"

#define JSON_LAWS_MOST 4096 /* bytes of text */

typedef struct json_laws {
    const uint8_t *text;
    size_t size, chunk;
    uint64_t skip;
    lb_json_layout layout;
} json_laws;

/* What reading came to. */
typedef struct outcome {
    size_t n, n_out;
    uint8_t *out;
    lb_json_reason reason;
    size_t bad_at;
} outcome;

/* The bytes from `from` to `to`, padded with what would mislead who read on. */
static inline uint8_t *window_of(const json_laws *in, uint8_t *old, size_t from, size_t to)
{
    uint8_t *p = malloc(to - from + LB_JSON_PADDING);

    REQUIRE(p != NULL);
    if (to != from)
        memcpy(p, in->text + from, to - from);
    memset(p + (to - from), "\"]}\\"[in->skip & 3], LB_JSON_PADDING);
    free(old);
    return p;
}

/* One row: where the slow reader says, with its values, or with its error. False: an error. */
static inline bool check_row(const lb_json_walk *w, size_t base, const slow_json_rows *slow, outcome *o)
{
    lb_json_cursor visit = lb_json_cursor_of(w), skip = visit, pass = visit;
    const size_t n_out = o->n_out;
    lb_str span, passed;

    visit_json(&visit, o->out, &o->n_out);
    (void)lb_json_finish(&visit);
    (void)lb_json_skip(&skip, &span);
    (void)lb_json_finish(&skip);
    REQUIRE(visit.reason == skip.reason && visit.bad_at == skip.bad_at);
    if (visit.reason != LB_JSON_GOOD) {
        o->n_out = n_out;
        o->reason = visit.reason;
        o->bad_at = base + (size_t)(visit.bad_at - w->data);
        return false;
    }
    REQUIRE(lb_json_pass(&pass, &passed) && lb_json_finish(&pass));
    REQUIRE(span.size == w->stop - w->start && passed.at == span.at && passed.size == span.size);
    REQUIRE(o->n < slow->n && base + w->start == slow->starts[o->n] && base + w->stop == slow->stops[o->n]);
    o->n++;
    return true;
}

/* Read all in windows that grow by a chunk; `skip` rows are passed over between those that are looked at. One of them
 * may be wrong inside, and the walk then goes on as it can. */
static inline outcome read_windows(const json_laws *in, const slow_json_rows *slow, size_t chunk, uint64_t skip)
{
    outcome o = { .out = malloc(SLOW_JSON_OUT * (in->size + 1)) };
    size_t base = 0, end = LB_MIN(chunk, in->size);
    uint8_t *window = window_of(in, NULL, 0, end);
    uint64_t passing = 0, passed;
    lb_json_walk w;

    lb_json_walk_init(&w, in->layout);
    lb_json_walk_window(&w, window, end, end == in->size, 0);
    for (;;) {
        lb_json_step step = LB_JSON_VALUE;
        if (passing != 0) {
            step = lb_json_walk_skip(&w, passing, &passed);
            REQUIRE(passed <= passing);
            o.n += passed;
            passing -= passed;
        } else {
            if ((in->chunk & 1) != 0) {
                size_t begins = lb_json_walk_begin(&w) == LB_JSON_VALUE ? w.start : SIZE_MAX;
                step = lb_json_walk_next(&w);
                REQUIRE(step != LB_JSON_VALUE || begins == w.start);
            } else {
                step = lb_json_walk_next(&w);
            }
            if (step == LB_JSON_VALUE) {
                if ((skip != 0 && o.n >= slow->n) || !check_row(&w, base, slow, &o))
                    break;
                passing = skip;
            }
        }
        if (step == LB_JSON_MORE) {
            REQUIRE(end < in->size);
            const size_t start = w.start, kept = base + start - LB_MIN(start, (size_t)(in->skip & 1));
            const size_t from = base + start - kept;
            end = LB_MIN(end + chunk, in->size);
            window = window_of(in, window, kept, end);
            base = kept;
            lb_json_walk_window(&w, window, end - base, end == in->size, from);
        } else if (step != LB_JSON_VALUE) {
            o.reason = step == LB_JSON_BAD ? w.reason : LB_JSON_GOOD;
            o.bad_at = step == LB_JSON_BAD ? base + w.bad_at : 0;
            REQUIRE(step == LB_JSON_BAD || base + w.start == in->size);
            break;
        }
    }
    free(window);
    return o;
}

static inline void check_read(const json_laws *in, const slow_json_rows *slow, size_t chunk, uint64_t skip)
{
    outcome o = read_windows(in, slow, chunk, skip);

    if (skip == 0 || slow->reason == LB_JSON_GOOD)
        REQUIRE(o.n == slow->n && o.reason == slow->reason && o.bad_at == slow->bad_at);
    if (skip == 0)
        REQUIRE(o.n_out == slow->n_out && memcmp(o.out, slow->out, o.n_out) == 0);
    free(o.out);
}

/* The index by vectors says what the one byte by byte says, and the strings are those of a state that goes byte by
 * byte. */
static inline void check_index(const json_laws *in)
{
    const size_t blocks = in->size / LB_JSON_BLOCK;
    lb_json_words fast[JSON_LAWS_MOST / LB_JSON_BLOCK], slow[JSON_LAWS_MOST / LB_JSON_BLOCK];
    lb_json_carry carry = { false, false };
    bool in_string = false, escaped = false;

    lb_json_index()(in->text, blocks, fast);
    lb_json_index_scalar(in->text, blocks, slow);
    REQUIRE(memcmp(fast, slow, blocks * sizeof *fast) == 0);
    lb_json_shape shapes[JSON_LAWS_MOST / LB_JSON_BLOCK], slow_shapes[JSON_LAWS_MOST / LB_JSON_BLOCK];
    lb_json_carry after = carry, slow_after = carry;
    lb_json_shapes()(in->text, blocks, &after, shapes);
    lb_json_shapes_scalar(in->text, blocks, &slow_after, slow_shapes);
    REQUIRE(memcmp(shapes, slow_shapes, blocks * sizeof *shapes) == 0);
    REQUIRE(after.in_string == slow_after.in_string && after.escaped == slow_after.escaped);
    for (size_t b = 0; b < blocks; b++) {
        uint64_t quotes, inside = lb_json_strings(&fast[b], &quotes, &carry);
        for (unsigned i = 0; i < LB_JSON_BLOCK; i++) {
            const uint8_t c = in->text[b * LB_JSON_BLOCK + i];
            const bool quote = c == '"' && !escaped;
            in_string ^= quote;
            escaped = c == '\\' && !escaped;
            REQUIRE((quotes >> i & 1) == quote && (inside >> i & 1) == in_string);
        }
    }
}

/* Every beginning of a good row is one, or is cut. */
static inline void check_prefixes(const json_laws *in, const slow_json_rows *slow)
{
    for (size_t i = 0; i < slow->n && i < 4; i++)
        for (size_t stop = slow->starts[i] + 1; stop < slow->stops[i] && stop < slow->starts[i] + 300; stop++) {
            lb_json_cursor c = lb_json_cursor_over(in->text + slow->starts[i], in->text + stop);
            bool good = lb_json_skip(&c, NULL);
            REQUIRE(good || (c.reason == LB_JSON_CUT && c.bad_at == in->text + stop));
            REQUIRE(!good || in->text[slow->starts[i]] == '-' || (unsigned)(in->text[slow->starts[i]] - '0') < 10);
        }
}

/* `in->text` is valid UTF-8 of at most JSON_LAWS_MOST bytes. */
static inline void json_laws_hold(const json_laws *given)
{
    json_laws in = *given;

    in.text = window_of(&in, NULL, 0, in.size);
    slow_json_rows slow = slow_json_read(in.text, in.size, in.layout);
    check_read(&in, &slow, in.size, 0);
    check_read(&in, &slow, in.chunk, 0);
    check_read(&in, &slow, 65, 0);
    check_read(&in, &slow, in.chunk, 1 + in.skip % 7);
    check_index(&in);
    check_prefixes(&in, &slow);
    size_t guess = lb_json_guess(in.text, in.size, in.layout, LB_STR("{\"a\""));
    REQUIRE(guess == SIZE_MAX || guess < in.size);
    slow_json_free(&slow);
    free((void *)(uintptr_t)in.text);
}

#endif
