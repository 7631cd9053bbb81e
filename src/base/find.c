#include "base/find.h"

#include <stdatomic.h>

#include "base/cpu.h"

void lb_find_scalar(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    for (size_t b = 0; b < blocks; b++)
        for (unsigned v = 0; v < n; v++) {
            uint64_t found = 0;
            for (unsigned i = 0; i < LB_FIND_BLOCK; i++)
                found |= (uint64_t)(p[b * LB_FIND_BLOCK + i] == values[v]) << i;
            *out++ = found;
        }
}

#define FIND_INLINE static inline __attribute__((always_inline))

/* Eight bits at a time, whether they are there or not: how many there are is a matter of chance. */
FIND_INLINE void spread_body(const uint64_t *words, size_t n, uint32_t at, uint32_t *out)
{
    for (size_t w = 0; w < n; w++, at += LB_FIND_BLOCK) {
        uint64_t bits = words[w];
        uint32_t *to = out;
        out += __builtin_popcountll(bits);
        for (; bits != 0; to += 8)
            for (unsigned i = 0; i < 8; i++) {
                to[i] = at + (uint32_t)__builtin_ctzll(bits | (uint64_t)1 << 63);
                bits &= bits - 1;
            }
    }
}

void lb_spread_scalar(const uint64_t *words, size_t n, uint32_t at, uint32_t *out)
{
    spread_body(words, n, at, out);
}

/* The loop over values is unrolled for each count, so that the wanted values stay in registers. */
#define FIND_FOR_EACH_COUNT(body)        \
    switch (n) {                         \
    case 1:                              \
        body(p, blocks, values, 1, out); \
        break;                           \
    case 2:                              \
        body(p, blocks, values, 2, out); \
        break;                           \
    case 3:                              \
        body(p, blocks, values, 3, out); \
        break;                           \
    case 4:                              \
        body(p, blocks, values, 4, out); \
        break;                           \
    case 5:                              \
        body(p, blocks, values, 5, out); \
        break;                           \
    default:                             \
        body(p, blocks, values, 6, out); \
        break;                           \
    }

#if defined(__x86_64__)
#include <immintrin.h>

FIND_INLINE void find_sse2_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out += n)
        for (unsigned v = 0; v < n; v++) {
            const __m128i want = _mm_set1_epi8((char)values[v]);
            uint64_t found = 0;
            for (unsigned i = 0; i < LB_FIND_BLOCK; i += 16) {
                __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
                found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, want)) << i;
            }
            out[v] = found;
        }
}

static void find_sse2(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n,
                      uint64_t *out){ FIND_FOR_EACH_COUNT(find_sse2_body) }

#define FIND_AVX2 __attribute__((target("avx2")))

FIND_AVX2 FIND_INLINE
    void find_avx2_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    __m256i want[LB_FIND_VALUES];

    for (unsigned v = 0; v < n; v++)
        want[v] = _mm256_set1_epi8((char)values[v]);
    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out += n) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
        for (unsigned v = 0; v < n; v++) {
            uint32_t l = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, want[v]));
            uint32_t h = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, want[v]));
            out[v] = l | (uint64_t)h << 32;
        }
    }
}

FIND_AVX2 static void find_avx2(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n,
                                uint64_t *out){ FIND_FOR_EACH_COUNT(find_avx2_body) }

#define FIND_AVX512 __attribute__((target("avx512f,avx512bw")))

FIND_AVX512 FIND_INLINE
    void find_avx512_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    __m512i want[LB_FIND_VALUES];

    for (unsigned v = 0; v < n; v++)
        want[v] = _mm512_set1_epi8((char)values[v]);
    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out += n) {
        __m512i bytes = _mm512_loadu_si512((const void *)p);
        for (unsigned v = 0; v < n; v++)
            out[v] = _mm512_cmpeq_epi8_mask(bytes, want[v]);
    }
}

FIND_AVX512 static void find_avx512(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    FIND_FOR_EACH_COUNT(find_avx512_body)
}

__attribute__((target("popcnt,bmi"))) static void spread_counting(const uint64_t *words, size_t n, uint32_t at,
                                                                  uint32_t *out)
{
    spread_body(words, n, at, out);
}

/* No branch tells how many bits a word has. */
__attribute__((target("avx512f,popcnt,bmi"))) static void spread_avx512(const uint64_t *words, size_t n, uint32_t at,
                                                                        uint32_t *out)
{
    const __m512i sixteen = _mm512_set1_epi32(16);
    __m512i places = _mm512_add_epi32(_mm512_set1_epi32((int)at),
                                      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));

    for (size_t w = 0; w < n; w++)
        for (unsigned i = 0; i < LB_FIND_BLOCK; i += 16) {
            const __mmask16 bits = (__mmask16)(words[w] >> i);
            _mm512_storeu_si512((void *)out, _mm512_maskz_compress_epi32(bits, places));
            out += __builtin_popcount(bits);
            places = _mm512_add_epi32(places, sixteen);
        }
}

/* The places within a block are bytes, which are picked out together. */
__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt"))) static void spread_vbmi2(const uint64_t *words, size_t n,
                                                                                        uint32_t at, uint32_t *out)
{
    static const uint8_t block[LB_FIND_BLOCK] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    const __m512i all = _mm512_loadu_si512((const void *)block);

    for (size_t w = 0; w < n; w++, at += LB_FIND_BLOCK) {
        const size_t bits = (size_t)__builtin_popcountll(words[w]);
        const __m512i base = _mm512_set1_epi32((int)at);
        __m512i places = _mm512_maskz_compress_epi8(words[w], all);
        for (size_t i = 0; i < bits; i += 16) {
            const __m512i some = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
            _mm512_storeu_si512((void *)(out + i), _mm512_add_epi32(some, base));
            places = _mm512_shuffle_i64x2(places, places, 0x39); /* the next sixteen come first */
        }
        out += bits;
    }
}

static lb_find_fn find_choose(void)
{
    if ((lb_cpu() & LB_CPU_AVX512) != 0)
        return find_avx512;
    return (lb_cpu() & LB_CPU_AVX2) != 0 ? find_avx2 : find_sse2;
}

static lb_spread_fn spread_choose(void)
{
    if ((lb_cpu() & LB_CPU_AVX512) != 0)
        return (lb_cpu() & LB_CPU_VBMI2) != 0 ? spread_vbmi2 : spread_avx512;
    return (lb_cpu() & LB_CPU_AVX2) != 0 ? spread_counting : lb_spread_scalar;
}

#elif defined(__aarch64__)
#include <arm_neon.h>

FIND_INLINE void find_neon_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    static const uint8_t weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    const uint8x16_t weight = vld1q_u8(weights);

    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out += n)
        for (unsigned v = 0; v < n; v++) {
            const uint8x16_t want = vdupq_n_u8(values[v]);
            uint8x16_t sum[4];
            for (unsigned i = 0; i < 4; i++)
                sum[i] = vandq_u8(vceqq_u8(vld1q_u8(p + 16 * i), want), weight);
            uint8x16_t pair = vpaddq_u8(vpaddq_u8(sum[0], sum[1]), vpaddq_u8(sum[2], sum[3]));
            pair = vpaddq_u8(pair, pair);
            out[v] = vgetq_lane_u64(vreinterpretq_u64_u8(pair), 0);
        }
}

static void find_neon(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out)
{
    FIND_FOR_EACH_COUNT(find_neon_body)
}

static lb_find_fn find_choose(void)
{
    return (lb_cpu() & LB_CPU_NEON) != 0 ? find_neon : lb_find_scalar;
}

static lb_spread_fn spread_choose(void)
{
    return lb_spread_scalar;
}

#else

static lb_find_fn find_choose(void)
{
    return lb_find_scalar;
}

static lb_spread_fn spread_choose(void)
{
    return lb_spread_scalar;
}

#endif

lb_find_fn lb_find_values(void)
{
    static _Atomic(lb_find_fn) chosen;
    lb_find_fn f = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (f == NULL) {
        f = find_choose();
        atomic_store_explicit(&chosen, f, memory_order_relaxed);
    }
    return f;
}

lb_spread_fn lb_spread_bits(void)
{
    static _Atomic(lb_spread_fn) chosen;
    lb_spread_fn f = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (f == NULL) {
        f = spread_choose();
        atomic_store_explicit(&chosen, f, memory_order_relaxed);
    }
    return f;
}
