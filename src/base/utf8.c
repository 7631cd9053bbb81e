/* UTF-8: what is valid, one character at a time both ways, and widths. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "base/utf8_width.h"

#define REPLACEMENT 0xfffd
#define HIGH_BITS UINT64_C(0x8080808080808080)

/* What a first byte asks for. In the second byte lie all the exceptions: overlong forms, surrogates, the end of
 * Unicode. Length 0: no character begins so. */
typedef struct utf8_lead {
    uint8_t length, low, high;
} utf8_lead;

static inline utf8_lead lead_of(uint8_t byte)
{
    if (byte < 0x80)
        return (utf8_lead){ 1, 0, 0 };
    if (byte < 0xc2 || byte > 0xf4)
        return (utf8_lead){ 0, 0, 0 };
    if (byte < 0xe0)
        return (utf8_lead){ 2, 0x80, 0xbf };
    if (byte < 0xf0)
        return (utf8_lead){ 3, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf };
    return (utf8_lead){ 4, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf };
}

static inline bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Length of the character at p; 0 where there is none, or the end cuts it off. */
static inline size_t char_length(const uint8_t *p, size_t left)
{
    utf8_lead lead = lead_of(*p);
    if (lead.length > left)
        return 0;
    if (lead.length < 2)
        return lead.length;
    if (p[1] < lead.low || p[1] > lead.high || (lead.length > 2 && !is_tail(p[2])) ||
        (lead.length > 3 && !is_tail(p[3])))
        return 0;
    return lead.length;
}

static inline uint64_t load_word(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Step over ASCII: 8 bytes at a time, then single ones. */
static inline size_t ascii_skip_words(const uint8_t *p, size_t at, size_t size)
{
    while (size - at >= 8 && (load_word(p + at) & HIGH_BITS) == 0)
        at += 8;
    while (at < size && p[at] < 0x80)
        at++;
    return at;
}

static inline size_t ascii_skip(const uint8_t *p, size_t at, size_t size)
{
    while (size - at >= 32) {
        uint64_t any = load_word(p + at) | load_word(p + at + 8) | load_word(p + at + 16) | load_word(p + at + 24);
        if ((any & HIGH_BITS) != 0)
            break;
        at += 32;
    }
    return ascii_skip_words(p, at, size);
}

/* From a character's first byte on, one character after the other; the definition of what is valid. */
static size_t valid_plain(const uint8_t *p, size_t at, size_t size)
{
    for (;;) {
        at = ascii_skip(p, at, size);
        /* text of another script has runs of characters that are none of them ASCII */
        while (at < size && p[at] >= 0x80) {
            size_t length = char_length(p + at, size - at);
            if (length == 0)
                return at;
            at += length;
        }
        if (at == size)
            return at;
    }
}

#if defined(__x86_64__)

/* The check by tables of Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021): three nibbles, two of
 * the byte before and one of this byte, each name the faults that they allow; a fault that all three allow is there. */
enum {
    FAULT_SHORT = 1,       /* a first byte, and no tail follows */
    FAULT_LONG = 2,        /* ASCII, and a tail follows */
    FAULT_OVERLONG_3 = 4,  /* E0 80 to E0 9F */
    FAULT_LARGE = 8,       /* F4 90 and above */
    FAULT_SURROGATE = 16,  /* ED A0 to ED BF */
    FAULT_OVERLONG_2 = 32, /* C0 and C1 */
    FAULT_OTHER = 64,      /* F0 80 to F0 8F, or F5 80 and above */
    FAULT_TAILS = 128,     /* two tails: a fault unless a long character began before */
    FAULT_ANY_LOW = FAULT_SHORT | FAULT_LONG | FAULT_TAILS
};

#define TWICE(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)
#define UTF8_AVX2 __attribute__((target("avx2")))

/* The bytes `n` places before those of `now`. */
#define SHIFTED(now, before, n) _mm256_alignr_epi8(now, _mm256_permute2x128_si256(before, now, 0x21), 16 - (n))

UTF8_AVX2 static inline __m256i utf8_high_nibbles(__m256i v)
{
    return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
}

/* Not zero where `now`, behind `before`, holds a fault. */
UTF8_AVX2 static inline __m256i utf8_faults(__m256i now, __m256i before)
{
    enum {
        A = FAULT_LONG,
        B = FAULT_TAILS,
        L = FAULT_ANY_LOW,
        M = FAULT_ANY_LOW | FAULT_LARGE | FAULT_OTHER,
        T = FAULT_LONG | FAULT_OVERLONG_2 | FAULT_TAILS,
        S = FAULT_SHORT
    };
    const __m256i first_high = TWICE(A, A, A, A, A, A, A, A, (char)B, (char)B, (char)B, (char)B, S | FAULT_OVERLONG_2,
                                     S, S | FAULT_OVERLONG_3 | FAULT_SURROGATE, S | FAULT_LARGE | FAULT_OTHER);
    const __m256i first_low =
        TWICE((char)(L | FAULT_OVERLONG_3 | FAULT_OVERLONG_2 | FAULT_OTHER), (char)(L | FAULT_OVERLONG_2), (char)L,
              (char)L, (char)(L | FAULT_LARGE), (char)M, (char)M, (char)M, (char)M, (char)M, (char)M, (char)M, (char)M,
              (char)(M | FAULT_SURROGATE), (char)M, (char)M);
    const __m256i second_high = TWICE(
        S, S, S, S, S, S, S, S, (char)(T | FAULT_OVERLONG_3 | FAULT_OTHER), (char)(T | FAULT_OVERLONG_3 | FAULT_LARGE),
        (char)(T | FAULT_SURROGATE | FAULT_LARGE), (char)(T | FAULT_SURROGATE | FAULT_LARGE), S, S, S, S);
    __m256i one = SHIFTED(now, before, 1), two = SHIFTED(now, before, 2), three = SHIFTED(now, before, 3);
    __m256i faults =
        _mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(first_high, utf8_high_nibbles(one)),
                                          _mm256_shuffle_epi8(first_low, _mm256_and_si256(one, _mm256_set1_epi8(15)))),
                         _mm256_shuffle_epi8(second_high, utf8_high_nibbles(now)));
    /* The third and fourth byte of a character are second tails, and must be. */
    __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8((char)(0xe0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8((char)(0xf0 - 0x80)));
    __m256i tails = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(tails, faults);
}

/* To the last first byte within three bytes before `at`, for what follows it was not looked at. */
static size_t utf8_back(const uint8_t *p, size_t at)
{
    for (size_t n = 1; n <= 3 && n <= at && p[at - n] >= 0x80; n++)
        if (p[at - n] >= 0xc0)
            return at - n;
    return at;
}

/* Whole runs of 64 bytes without a fault; a character may be cut, or begin wrongly, at the end of what was looked at. */
UTF8_AVX2 static size_t valid_avx2(const uint8_t *p, size_t size)
{
    __m256i before = _mm256_setzero_si256();
    bool open = false; /* a character may go on behind `before` */
    size_t at = 0;

    for (; size - at >= 64; at += 64) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(p + at));
        __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + at + 32));
        if (_mm256_movemask_epi8(_mm256_or_si256(low, high)) == 0 && !open)
            continue;
        if (!open)
            before = _mm256_setzero_si256(); /* as good as any ASCII */
        __m256i faults = _mm256_or_si256(utf8_faults(low, before), utf8_faults(high, low));
        if (!_mm256_testz_si256(faults, faults))
            break;
        open = p[at + 63] >= 0xc0 || p[at + 62] >= 0xe0 || p[at + 61] >= 0xf0;
        before = high;
    }
    return at;
}
#endif

size_t lb_utf8_valid_prefix(const uint8_t *p, size_t size)
{
    size_t at = 0;

#if defined(__x86_64__)
    if (size >= 64 && (lb_cpu() & LB_CPU_AVX2) != 0) {
        at = utf8_back(p, valid_avx2(p, size));
    }
#endif
    return valid_plain(p, at, size);
}

size_t lb_utf8_cut_tail(const uint8_t *p, size_t size)
{
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        const uint8_t *start = p + (size - back);
        if (is_tail(*start))
            continue;
        utf8_lead lead = lead_of(*start);
        bool cut = lead.length > back && (back < 2 || (start[1] >= lead.low && start[1] <= lead.high));
        return cut ? back : 0;
    }
    return 0;
}

size_t lb_utf8_decode(const uint8_t *p, size_t size, uint32_t *code_point)
{
    switch (size == 0 ? 0 : char_length(p, size)) {
    case 1:
        *code_point = p[0];
        return 1;
    case 2:
        *code_point = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
        return 2;
    case 3:
        *code_point = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
        return 3;
    case 4:
        *code_point = (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 | (uint32_t)(p[2] & 0x3f) << 6 |
                      (p[3] & 0x3f);
        return 4;
    default:
        *code_point = REPLACEMENT;
        return 1;
    }
}

/* What is no character (a surrogate, or past the end of Unicode) is written as U+FFFD. */
size_t lb_utf8_encode(uint32_t code_point, uint8_t out[4])
{
    uint32_t c = code_point;
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        c = REPLACEMENT;
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

static bool range_holds(const utf8_range *ranges, size_t count, uint32_t code_point)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ranges[mid].last < code_point)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && ranges[low].first <= code_point;
}

int lb_utf8_width(uint32_t code_point)
{
    if (code_point < 0x300) /* nothing below combines or is wide */
        return 1;
    if (range_holds(utf8_zero, sizeof utf8_zero / sizeof utf8_zero[0], code_point))
        return 0;
    return range_holds(utf8_wide, sizeof utf8_wide / sizeof utf8_wide[0], code_point) ? 2 : 1;
}
