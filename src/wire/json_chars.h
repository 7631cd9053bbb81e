/* What single bytes of JSON text are. */
#ifndef LB_WIRE_JSON_CHARS_H
#define LB_WIRE_JSON_CHARS_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "wire/json_text.h"

/* Of lb_json_bytes. */
#define LB_JSON_BLANK_BIT 0x10 /* space, tab, LF, CR */
#define LB_JSON_SHAPE_BIT 0x20 /* brackets, comma, colon, quote: they end a number or word, as blanks do */

static inline lb_json_kind lb_json_kind_of(uint8_t c)
{
    return (lb_json_kind)(lb_json_bytes[c] & LB_JSON_KIND_BITS);
}

static inline bool lb_json_is_blank(uint8_t c)
{
    return (lb_json_bytes[c] & LB_JSON_BLANK_BIT) != 0;
}

static inline bool lb_json_in_scalar(uint8_t c)
{
    return (lb_json_bytes[c] & (LB_JSON_BLANK_BIT | LB_JSON_SHAPE_BIT)) == 0;
}

/* The first byte from p on that is no blank, or `end`; p is before it. Reads up to LB_JSON_PADDING behind the end. */
const uint8_t *lb_json_pass_run(const uint8_t *p, const uint8_t *end);

/* The same, where mostly no blank stands, or one. */
static inline const uint8_t *lb_json_pass_blanks(const uint8_t *p, const uint8_t *end)
{
    if (p >= end || *p > ' ')
        return p;
    if (p + 1 < end && p[1] > ' ' && lb_json_is_blank(*p))
        return p + 1;
    return lb_json_pass_run(p, end);
}

/* The first quote, backslash or control character from p on, or a place behind the end. Reads up to LB_JSON_PADDING
 * behind the end, and what it finds there does not count. */
static inline __attribute__((always_inline)) const uint8_t *lb_json_plain(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), last = _mm_set1_epi8(0x1f);

    for (; p < end; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                     _mm_cmpeq_epi8(_mm_max_epu8(bytes, last), last));
        unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask != 0)
            return p + __builtin_ctz(mask);
    }
#else
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20)
        p++;
#endif
    return p;
}

#endif
