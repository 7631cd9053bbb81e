/* Rows of text columns whose keys are known. Of their values nothing is kept but how many there are of each kind; so a
 * row is read once, from its first byte to its last, checking all of it, and the walk is told where it ends. Which key
 * follows which is remembered together with the bytes of it, from the value before to its own value: `,"price":`. Most
 * keys are then found by one comparison. What is counted goes in only when the row has ended. */
#include "format/json/json_rows.h"
#include "wire/json_chars.h"

#define KNOWN_VECTOR 16
#define KNOWN_TEXT 48 /* longer ones are looked up each time */

const lb_seen_kind js_text_kinds[] = {
    [LB_JSON_FALSE] = LB_SEEN_BOOL,  [LB_JSON_TRUE] = LB_SEEN_BOOL,     [LB_JSON_NUMBER] = LB_SEEN_INT,
    [LB_JSON_STRING] = LB_SEEN_TEXT, [LB_JSON_OBJECT] = LB_SEEN_OBJECT, [LB_JSON_ARRAY_VALUE] = LB_SEEN_ARRAY
};

/* The key of a number has the place behind that; place 0 is the beginning of a row. */
typedef struct known_key {
    uint8_t text[KNOWN_TEXT];
    uint32_t size; /* of the text; UINT32_MAX: not known */
    uint32_t mask; /* bits of its first bytes, KNOWN_VECTOR at most */
    uint32_t next; /* the place of the key that followed the last time */
} known_key;

/* ---------------------------------------------------------------- keys */

/* Is this what stands at p? Sixteen bytes can be read there. */
static inline bool known_is(const known_key *key, const uint8_t *p, const uint8_t *end)
{
    if (key->size > (size_t)(end - p))
        return false;
#if defined(__SSE2__)
    const __m128i want = _mm_loadu_si128((const __m128i *)(const void *)key->text),
                  have = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(want, have)) & key->mask) != key->mask)
        return false;
    return key->size <= KNOWN_VECTOR ||
           memcmp(key->text + KNOWN_VECTOR, p + KNOWN_VECTOR, key->size - KNOWN_VECTOR) == 0;
#else
    return memcmp(key->text, p, key->size) == 0;
#endif
}

static void known_learn(known_key *keys, size_t before, size_t at, const uint8_t *p, size_t size)
{
    known_key *key = &keys[at];

    keys[before].next = (uint32_t)at;
    if (size > sizeof key->text)
        return;
    memcpy(key->text, p, size);
    key->size = (uint32_t)size;
    key->mask = size >= KNOWN_VECTOR ? 0xffff : ((uint32_t)1 << size) - 1;
}

/* The next key, or the end of the row: then *at is 0. Returns what follows, or NULL: the key is new, or there is none.
 * `k`: keys before it. */
static const uint8_t *known_look_up(js_taker *t, lb_seen *n, const uint8_t *p, const uint8_t *end, size_t k, size_t *at)
{
    lb_json_cursor c = lb_json_cursor_over(p, end);
    const size_t before = *at;
    lb_json_text key;

    c.depth = k == 0 ? 0 : 1;
    if (!(k == 0 ? lb_json_object(&c, &key) : lb_json_member(&c, &key))) {
        *at = 0;
        return c.reason == LB_JSON_GOOD ? c.p : NULL;
    }
    const size_t number = js_keys_find(&n->keys, k, &key, &t->scratch);
    if (number == LB_NO_KEY)
        return NULL;
    *at = number + 1;
    known_learn((known_key *)(void *)t->known.data, before, *at, p, (size_t)(c.p - p));
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
    const bool plain = (digits & 1) != 0 && size + sign < KNOWN_VECTOR && (points & (points - 1)) == 0 &&
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

/* The end of the row that begins at p; NULL: nothing was taken in. */
static const uint8_t *known_row(js_taker *t, lb_seen *n, const uint8_t *p, const uint8_t *end)
{
    const known_key *keys = (const known_key *)(const void *)t->known.data;
    uint64_t **counters = (uint64_t **)(void *)t->counters.data, nulls = 1;
    const uint64_t object = ++t->object;
    size_t at = 0, k = 0;

    for (;; k++) {
        const size_t next = keys[at].next;
        if (known_is(&keys[next], p, end)) {
            p += keys[next].size;
            at = next;
        } else if (*p == '}') {
            p++;
            break;
        } else {
            p = known_look_up(t, n, p, end, k, &at);
            if (p == NULL)
                return NULL;
            if (at == 0)
                break;
        }
        lb_seen_member *m = &n->members[at - 1];
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

/* Room for all keys that there are. False: no memory. */
static bool known_prepare(js_taker *t, const lb_seen *n)
{
    static const known_key none = { .size = UINT32_MAX };
    const size_t had = t->known.size / sizeof none, want = n->keys.count + 1;

    if (had >= want)
        return true;
    if (lb_buf_reserve(&t->known, (want - had) * sizeof none, NULL) != LB_OK ||
        lb_buf_reserve(&t->counters, want * sizeof(uint64_t *), NULL) != LB_OK)
        return false;
    for (size_t i = had; i < want; i++)
        lb_buf_put(&t->known, &none, sizeof none);
    return true;
}

uint64_t js_take_known(js_taker *t, lb_seen *n, lb_json_walk *w, uint64_t count)
{
    uint64_t passed = 0;

    if (!t->text || n->bounds || n->mixed || n->map || n->seen[LB_SEEN_OBJECT] == 0 || !known_prepare(t, n))
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
