/* Which key of a row follows which, and the bytes of each from the value before to its own value: `,"price":`. Most
 * keys are then found by one comparison. Private to taking values in. */
#ifndef LB_FORMAT_JSON_KNOWN_H
#define LB_FORMAT_JSON_KNOWN_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "format/json/json_rows.h"

#define JS_KNOWN_VECTOR 16
#define JS_KNOWN_TEXT 48 /* longer ones are looked up each time */

/* The key of number i has place i + 1; place 0 is the beginning of a row. */
typedef struct js_known_key {
    uint8_t text[JS_KNOWN_TEXT];
    uint32_t size;   /* of the text; UINT32_MAX: not known */
    uint32_t mask;   /* bits of its first bytes, JS_KNOWN_VECTOR at most */
    uint32_t next;   /* the place of the key that followed the last time; 0: none */
    uint32_t unused; /* so that places are a power of two apart */
} js_known_key;

/* Place 0, which there must be. Errors: BUDGET, NOMEM. */
lb_status js_known_begin(js_taker *t, lb_error *err);
/* The key of a number stands at p, with what is before and behind it. *at: the place of the key before it, then its own.
 * Without memory it is not remembered. */
void js_known_learn(js_taker *t, size_t *at, size_t number, const uint8_t *p, size_t size);

/* Is this what stands at p? Sixteen bytes can be read there. */
static inline bool js_known_is(const js_known_key *key, const uint8_t *p, const uint8_t *end)
{
    if (key->size > (size_t)(end - p))
        return false;
#if defined(__SSE2__)
    const __m128i want = _mm_loadu_si128((const __m128i *)(const void *)key->text),
                  have = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (((uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(want, have)) & key->mask) != key->mask)
        return false;
    return key->size <= JS_KNOWN_VECTOR ||
           memcmp(key->text + JS_KNOWN_VECTOR, p + JS_KNOWN_VECTOR, key->size - JS_KNOWN_VECTOR) == 0;
#else
    return memcmp(key->text, p, key->size) == 0;
#endif
}

/* The place of the key that follows the one of place `at`, if it is the one that followed the last time: *p is moved to
 * its value then. 0: another, or the end of the row. */
static inline size_t js_known_next(const js_taker *t, size_t at, const uint8_t **p, const uint8_t *end)
{
    const js_known_key *keys = (const js_known_key *)(const void *)t->known.data, *key = &keys[keys[at].next];

    if (!js_known_is(key, *p, end))
        return 0;
    *p += key->size;
    return (size_t)(key - keys);
}

#endif
