/* Keys that are known by what stood before; and rows of text columns taken in by them. Of their values nothing is kept but
 * how many there are of each kind: so a row is read once, from its first byte to its last, checking all of it, and the
 * walk is told where it ends. What is counted goes in only when the row has ended. */
#include "format/json/json_known.h"
#include "wire/json_chars.h"

const lb_seen_kind js_text_kinds[] = {
    [LB_JSON_FALSE] = LB_SEEN_BOOL,  [LB_JSON_TRUE] = LB_SEEN_BOOL,     [LB_JSON_NUMBER] = LB_SEEN_INT,
    [LB_JSON_STRING] = LB_SEEN_TEXT, [LB_JSON_OBJECT] = LB_SEEN_OBJECT, [LB_JSON_ARRAY_VALUE] = LB_SEEN_ARRAY
};

/* ---------------------------------------------------------------- keys */

static lb_status known_grow(js_taker *t, size_t places, lb_error *err)
{
    static const js_known_key none = { .size = UINT32_MAX };
    const size_t had = t->known.size / sizeof none;

    if (places <= had)
        return LB_OK;
    const size_t more = LB_MAX(places - had, had);
    LB_TRY(lb_buf_reserve(&t->known, more * sizeof none, err));
    for (size_t i = 0; i < more; i++)
        lb_buf_put(&t->known, &none, sizeof none);
    return LB_OK;
}

lb_status js_known_begin(js_taker *t, lb_error *err)
{
    return known_grow(t, 1, err);
}

void js_known_learn(js_taker *t, size_t *at, size_t number, const uint8_t *p, size_t size)
{
    const size_t before = *at;

    *at = 0;
    if (known_grow(t, number + 2, NULL) != LB_OK)
        return;
    js_known_key *keys = (js_known_key *)(void *)t->known.data, *key = &keys[number + 1];
    *at = number + 1;
    keys[before].next = (uint32_t)(number + 1);
    if (size > sizeof key->text)
        return;
    memcpy(key->text, p, size);
    key->size = (uint32_t)size;
    key->mask = size >= JS_KNOWN_VECTOR ? 0xffff : ((uint32_t)1 << size) - 1;
}

/* The next key of a row, of `k` before it. Returns what follows it, or NULL: it is new, or there is none. *number
 * LB_NO_KEY: what follows is behind the row. */
static const uint8_t *known_look_up(js_taker *t, lb_seen *n, const uint8_t *p, const uint8_t *end, size_t k, size_t *at,
                                    size_t *number)
{
    lb_json_cursor c = lb_json_cursor_over(p, end);
    lb_json_text key;

    *number = LB_NO_KEY;
    c.depth = k == 0 ? 0 : 1;
    if (!(k == 0 ? lb_json_object(&c, &key) : lb_json_member(&c, &key)))
        return c.reason == LB_JSON_GOOD ? c.p : NULL;
    *number = js_keys_find(&n->keys, k, &key, &t->scratch);
    if (*number == LB_NO_KEY)
        return NULL;
    js_known_learn(t, at, *number, p, (size_t)(c.p - p));
    return c.p;
}

/* ---------------------------------------------------------------- values */

static const uint8_t *known_skip(const uint8_t *p, const uint8_t *end)
{
    lb_json_cursor c = lb_json_cursor_over(p, end);

    c.depth = 1;
    return lb_json_skip(&c, NULL) ? c.p : NULL;
}

static inline const uint8_t *known_string(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *stop = lb_json_plain(p + 1, end);

    return stop < end && *stop == '"' ? stop + 1 : known_skip(p, end);
}

/* Fifteen bytes or fewer, of digits and at most one point, are told by their bits. What follows them ends a number, or
 * no key is found there. */
static inline const uint8_t *known_number(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p), nine = _mm_set1_epi8(9);
    const __m128i less = _mm_sub_epi8(v, _mm_set1_epi8('0'));
    const unsigned sign = *p == '-';
    const uint32_t digits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(less, nine), less)) >> sign;
    const uint32_t all = digits | (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('.'))) >> sign;
    const unsigned size = (unsigned)__builtin_ctz(~all);
    const uint32_t points = ~digits & (((uint32_t)1 << size) - 1);
    const bool plain = (digits & 1) != 0 && size + sign < JS_KNOWN_VECTOR && (points & (points - 1)) == 0 &&
                       points >> (size - 1) == 0 && (p[sign] != '0' || size == 1 || points == 2);
    if (plain && (p[sign + size] | 0x20) != 'e')
        return p + sign + size;
#endif
    return known_skip(p, end);
}

static inline const uint8_t *known_word(const uint8_t *p, const uint8_t *end)
{
    const size_t longer = *p == 'f';
    const char *word = *p == 't' ? "true" : longer ? "false" : "null";

    return memcmp(p + longer, word + longer, 4) == 0 ? p + 4 + longer : known_skip(p, end);
}

/* The end of the value at p, before `end`; NULL: it is wrong, or does not end there. */
static inline const uint8_t *known_value(lb_json_kind kind, const uint8_t *p, const uint8_t *end)
{
    switch (kind) {
    case LB_JSON_STRING:
        return known_string(p, end);
    case LB_JSON_NUMBER:
        return known_number(p, end);
    case LB_JSON_NULL:
    case LB_JSON_FALSE:
    case LB_JSON_TRUE:
        return known_word(p, end);
    default:
        return known_skip(p, end);
    }
}

/* ---------------------------------------------------------------- rows */

/* The end of the row that begins at p; NULL: nothing was taken in. There is a counter for each key. */
static const uint8_t *known_row(js_taker *t, lb_seen *n, const uint8_t *p, const uint8_t *end)
{
    uint64_t **counters = (uint64_t **)(void *)t->counters.data, nulls = 1;
    const uint64_t object = ++t->object;
    size_t at = 0, k = 0, number;

    for (;; k++) {
        const size_t next = js_known_next(t, at, &p, end);
        if (next != 0) {
            at = next;
            number = next - 1;
        } else if (*p == '}') {
            p++;
            break;
        } else {
            p = known_look_up(t, n, p, end, k, &at, &number);
            if (p == NULL)
                return NULL;
            if (number == LB_NO_KEY)
                break;
        }
        lb_seen_member *m = &n->members[number];
        const lb_json_kind kind = p < end ? lb_json_kind_of(*p) : LB_JSON_NOTHING;
        if (kind == LB_JSON_NOTHING || m->stamp == object)
            return NULL;
        m->stamp = object;
        counters[k] = kind == LB_JSON_NULL ? &nulls : &m->node->seen[js_text_kinds[kind]];
        p = known_value(kind, p, end);
        if (p == NULL || p >= end || *counters[k] == 0)
            return NULL;
    }
    for (size_t i = 0; i < k; i++)
        ++*counters[i];
    return p;
}

uint64_t js_take_known(js_taker *t, lb_seen *n, lb_json_walk *w, uint64_t count)
{
    uint64_t passed = 0;

    if (!t->text || n->bounds || n->mixed || n->map || n->seen[LB_SEEN_OBJECT] == 0 || t->known.size == 0 ||
        lb_buf_reserve(&t->counters, n->keys.count * sizeof(uint64_t *), NULL) != LB_OK)
        return 0;
    for (; passed < count && lb_json_walk_begin(w) == LB_JSON_VALUE && w->data[w->start] == '{'; passed++) {
        const uint8_t *stop = known_row(t, n, w->data + w->start, w->data + w->size);
        if (stop == NULL)
            break;
        lb_json_walk_passed(w, (size_t)(stop - w->data));
    }
    n->seen[LB_SEEN_OBJECT] += passed;
    return passed;
}
