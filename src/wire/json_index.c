#include "wire/json_index.h"

#include <stdatomic.h>

#include "base/cpu.h"

/* `[` and `{`, `]` and `}` differ in this bit alone, and no other byte becomes a brace by setting it. */
#define BRACE_BIT 0x20

/* The two loops over blocks of which `block` tells the words. */
#define INDEX_LOOPS(target, name, block)                                                                        \
    target static void index_##name(const uint8_t *p, size_t blocks, lb_json_words *out)                        \
    {                                                                                                           \
        for (size_t b = 0; b < blocks; b++)                                                                     \
            out[b] = block(p + b * LB_JSON_BLOCK);                                                              \
    }                                                                                                           \
                                                                                                                \
    target static void shapes_##name(const uint8_t *p, size_t blocks, lb_json_carry *carry, lb_json_shape *out) \
    {                                                                                                           \
        lb_json_carry c = *carry; /* in registers */                                                            \
        for (size_t b = 0; b < blocks; b++)                                                                     \
            out[b] = lb_json_shape_of(block(p + b * LB_JSON_BLOCK), &c);                                        \
        *carry = c;                                                                                             \
    }

static lb_json_words block_scalar(const uint8_t *p)
{
    lb_json_words w = { 0 };

    for (unsigned i = 0; i < LB_JSON_BLOCK; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        w.quotes |= p[i] == '"' ? bit : 0;
        w.backslashes |= p[i] == '\\' ? bit : 0;
        w.opens |= p[i] == '{' || p[i] == '[' ? bit : 0;
        w.closes |= p[i] == '}' || p[i] == ']' ? bit : 0;
        w.controls |= p[i] < 0x20 ? bit : 0;
    }
    return w;
}

INDEX_LOOPS(, scalar, block_scalar)

void lb_json_index_scalar(const uint8_t *p, size_t blocks, lb_json_words *out)
{
    index_scalar(p, blocks, out);
}

void lb_json_shapes_scalar(const uint8_t *p, size_t blocks, lb_json_carry *carry, lb_json_shape *out)
{
    shapes_scalar(p, blocks, carry, out);
}

/* What is chosen for a processor. */
typedef struct index_choice {
    lb_json_index_fn index;
    lb_json_shape_fn shapes;
} index_choice;

#if defined(__x86_64__)
#include <immintrin.h>

static inline uint64_t index_mask_sse2(const __m128i v[4])
{
    uint64_t low = (uint32_t)_mm_movemask_epi8(v[0]) | (uint64_t)(uint32_t)_mm_movemask_epi8(v[1]) << 16;
    uint64_t high = (uint32_t)_mm_movemask_epi8(v[2]) | (uint64_t)(uint32_t)_mm_movemask_epi8(v[3]) << 16;

    return low | high << 32;
}

static inline uint64_t index_equal_sse2(const __m128i v[4], char c)
{
    const __m128i want = _mm_set1_epi8(c);
    __m128i same[4];

    for (unsigned i = 0; i < 4; i++)
        same[i] = _mm_cmpeq_epi8(v[i], want);
    return index_mask_sse2(same);
}

static inline lb_json_words block_sse2(const uint8_t *p)
{
    const __m128i brace = _mm_set1_epi8(BRACE_BIT), last = _mm_set1_epi8(0x1f);
    __m128i v[4], braces[4], low[4];

    for (unsigned i = 0; i < 4; i++) {
        v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        braces[i] = _mm_or_si128(v[i], brace);
        low[i] = _mm_cmpeq_epi8(_mm_max_epu8(v[i], last), last);
    }
    return (lb_json_words){ .quotes = index_equal_sse2(v, '"'),
                            .backslashes = index_equal_sse2(v, '\\'),
                            .opens = index_equal_sse2(braces, '{'),
                            .closes = index_equal_sse2(braces, '}'),
                            .controls = index_mask_sse2(low) };
}

INDEX_LOOPS(, sse2, block_sse2)

#define INDEX_AVX2 __attribute__((target("avx2,bmi")))

INDEX_AVX2 static inline uint64_t index_mask_avx2(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

INDEX_AVX2 static inline uint64_t index_equal_avx2(__m256i low, __m256i high, char c)
{
    const __m256i want = _mm256_set1_epi8(c);

    return index_mask_avx2(_mm256_cmpeq_epi8(low, want), _mm256_cmpeq_epi8(high, want));
}

INDEX_AVX2 static inline lb_json_words block_avx2(const uint8_t *p)
{
    const __m256i brace = _mm256_set1_epi8(BRACE_BIT), last = _mm256_set1_epi8(0x1f);
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p),
                  high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    const __m256i braces_low = _mm256_or_si256(low, brace), braces_high = _mm256_or_si256(high, brace);

    return (lb_json_words){ .quotes = index_equal_avx2(low, high, '"'),
                            .backslashes = index_equal_avx2(low, high, '\\'),
                            .opens = index_equal_avx2(braces_low, braces_high, '{'),
                            .closes = index_equal_avx2(braces_low, braces_high, '}'),
                            .controls = index_mask_avx2(_mm256_cmpeq_epi8(_mm256_max_epu8(low, last), last),
                                                        _mm256_cmpeq_epi8(_mm256_max_epu8(high, last), last)) };
}

INDEX_LOOPS(INDEX_AVX2, avx2, block_avx2)

#define INDEX_AVX512 __attribute__((target("avx512f,avx512bw,bmi")))

INDEX_AVX512 static inline lb_json_words block_avx512(const uint8_t *p)
{
    const __m512i v = _mm512_loadu_si512((const void *)p), braces = _mm512_or_si512(v, _mm512_set1_epi8(BRACE_BIT));

    return (lb_json_words){ .quotes = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')),
                            .backslashes = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\')),
                            .opens = _mm512_cmpeq_epi8_mask(braces, _mm512_set1_epi8('{')),
                            .closes = _mm512_cmpeq_epi8_mask(braces, _mm512_set1_epi8('}')),
                            .controls = _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20)) };
}

INDEX_LOOPS(INDEX_AVX512, avx512, block_avx512)

static index_choice index_choose(void)
{
    if ((lb_cpu() & LB_CPU_AVX512) != 0)
        return (index_choice){ index_avx512, shapes_avx512 };
    if ((lb_cpu() & LB_CPU_AVX2) != 0)
        return (index_choice){ index_avx2, shapes_avx2 };
    return (index_choice){ index_sse2, shapes_sse2 };
}

#elif defined(__aarch64__)
#include <arm_neon.h>

/* Bits of four vectors whose bytes are all ones or zero. */
static inline uint64_t index_mask_neon(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    static const uint8_t weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    const uint8x16_t weight = vld1q_u8(weights);
    uint8x16_t low = vpaddq_u8(vandq_u8(a, weight), vandq_u8(b, weight));
    uint8x16_t high = vpaddq_u8(vandq_u8(c, weight), vandq_u8(d, weight));
    uint8x16_t pair = vpaddq_u8(low, high);

    pair = vpaddq_u8(pair, pair);
    return vgetq_lane_u64(vreinterpretq_u64_u8(pair), 0);
}

static inline uint64_t index_equal_neon(const uint8x16_t v[4], uint8_t c)
{
    const uint8x16_t want = vdupq_n_u8(c);

    return index_mask_neon(vceqq_u8(v[0], want), vceqq_u8(v[1], want), vceqq_u8(v[2], want), vceqq_u8(v[3], want));
}

static inline lb_json_words block_neon(const uint8_t *p)
{
    const uint8x16_t brace = vdupq_n_u8(BRACE_BIT), space = vdupq_n_u8(0x20);
    uint8x16_t v[4], braces[4];

    for (unsigned i = 0; i < 4; i++) {
        v[i] = vld1q_u8(p + 16 * i);
        braces[i] = vorrq_u8(v[i], brace);
    }
    return (lb_json_words){ .quotes = index_equal_neon(v, '"'),
                            .backslashes = index_equal_neon(v, '\\'),
                            .opens = index_equal_neon(braces, '{'),
                            .closes = index_equal_neon(braces, '}'),
                            .controls = index_mask_neon(vcltq_u8(v[0], space), vcltq_u8(v[1], space),
                                                        vcltq_u8(v[2], space), vcltq_u8(v[3], space)) };
}

INDEX_LOOPS(, neon, block_neon)

static index_choice index_choose(void)
{
    if ((lb_cpu() & LB_CPU_NEON) != 0)
        return (index_choice){ index_neon, shapes_neon };
    return (index_choice){ index_scalar, shapes_scalar };
}

#else

static index_choice index_choose(void)
{
    return (index_choice){ index_scalar, shapes_scalar };
}

#endif

lb_json_index_fn lb_json_index(void)
{
    static _Atomic(lb_json_index_fn) chosen;
    lb_json_index_fn f = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (f == NULL) {
        f = index_choose().index;
        atomic_store_explicit(&chosen, f, memory_order_relaxed);
    }
    return f;
}

lb_json_shape_fn lb_json_shapes(void)
{
    static _Atomic(lb_json_shape_fn) chosen;
    lb_json_shape_fn f = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (f == NULL) {
        f = index_choose().shapes;
        atomic_store_explicit(&chosen, f, memory_order_relaxed);
    }
    return f;
}
