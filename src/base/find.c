#include "base/find.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/cpu.h"

void lb_find_scalar(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out, size_t stride)
{
    for (size_t b = 0; b < blocks; b++)
        for (unsigned v = 0; v < n; v++) {
            uint64_t found = 0;
            for (unsigned i = 0; i < LB_FIND_BLOCK; i++)
                found |= (uint64_t)(p[b * LB_FIND_BLOCK + i] == values[v]) << i;
            out[v * stride + b] = found;
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

/* The loops over values are unrolled for each count, so that the wanted values stay in registers. */
#if defined(__GNUC__) && !defined(__clang__) /* Clang does so by itself */
#define FIND_UNROLL _Pragma("GCC unroll 6")
#else
#define FIND_UNROLL
#endif

#define FIND_FOR_EACH_COUNT(body)                \
    switch (n) {                                 \
    case 1:                                      \
        body(p, blocks, values, 1, out, stride); \
        break;                                   \
    case 2:                                      \
        body(p, blocks, values, 2, out, stride); \
        break;                                   \
    case 3:                                      \
        body(p, blocks, values, 3, out, stride); \
        break;                                   \
    case 4:                                      \
        body(p, blocks, values, 4, out, stride); \
        break;                                   \
    case 5:                                      \
        body(p, blocks, values, 5, out, stride); \
        break;                                   \
    default:                                     \
        body(p, blocks, values, 6, out, stride); \
        break;                                   \
    }

#if defined(__x86_64__)
#include <immintrin.h>

FIND_INLINE void find_sse2_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                                size_t stride)
{
    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out++)
        for (unsigned v = 0; v < n; v++) {
            const __m128i want = _mm_set1_epi8((char)values[v]);
            uint64_t found = 0;
            for (unsigned i = 0; i < LB_FIND_BLOCK; i += 16) {
                __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
                found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, want)) << i;
            }
            out[v * stride] = found;
        }
}

static void find_sse2(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                      size_t stride){ FIND_FOR_EACH_COUNT(find_sse2_body) }

#define FIND_AVX2 __attribute__((target("avx2")))

FIND_AVX2 FIND_INLINE void find_avx2_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n,
                                          uint64_t *out, size_t stride)
{
    __m256i want[LB_FIND_VALUES];

    FIND_UNROLL
    for (unsigned v = 0; v < n; v++)
        want[v] = _mm256_set1_epi8((char)values[v]);
    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out++) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
        __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
        FIND_UNROLL
        for (unsigned v = 0; v < n; v++) {
            uint32_t l = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, want[v]));
            uint32_t h = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, want[v]));
            out[v * stride] = l | (uint64_t)h << 32;
        }
    }
}

FIND_AVX2 static void find_avx2(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                                size_t stride){ FIND_FOR_EACH_COUNT(find_avx2_body) }

#define FIND_AVX512 __attribute__((target("avx512f,avx512bw")))

FIND_AVX512 FIND_INLINE void find_avx512_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n,
                                              uint64_t *out, size_t stride)
{
    __m512i want[LB_FIND_VALUES];

    FIND_UNROLL
    for (unsigned v = 0; v < n; v++)
        want[v] = _mm512_set1_epi8((char)values[v]);
    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out++) {
        __m512i bytes = _mm512_loadu_si512((const void *)p);
        FIND_UNROLL
        for (unsigned v = 0; v < n; v++)
            out[v * stride] = _mm512_cmpeq_epi8_mask(bytes, want[v]);
    }
}

FIND_AVX512 static void find_avx512(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                                    size_t stride)
{
    FIND_FOR_EACH_COUNT(find_avx512_body)
}

#define FIND_GFNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,gfni")))
#define FIND_TABLE 128

/* Four values in two blocks at a time. A table says for each byte below 128 which of the values it is, by one bit each: of
 * the first block in the lower half of a byte, of the second one in the upper half. Eight such bytes are an 8 by 8 matrix of
 * bits, whose transpose has for each value a byte of its places (multiplying the unit matrix by it transposes). The bytes of
 * each value are then put side by side. Every other byte counts as 127, so that no value may be. */
FIND_GFNI FIND_INLINE void find_gfni_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n,
                                          uint64_t *out, size_t stride)
{
    static const uint8_t by_value[LB_FIND_BLOCK] = {
        0,  8,  16, 24, 32, 40, 48, 56, 4,  12, 20, 28, 36, 44, 52, 60, 1,  9,  17, 25, 33, 41,
        49, 57, 5,  13, 21, 29, 37, 45, 53, 61, 2,  10, 18, 26, 34, 42, 50, 58, 6,  14, 22, 30,
        38, 46, 54, 62, 3,  11, 19, 27, 35, 43, 51, 59, 7,  15, 23, 31, 39, 47, 55, 63,
    };
    uint8_t table[FIND_TABLE] = { 0 };

    for (unsigned v = 0; v < n; v++)
        table[values[v]] |= (uint8_t)(1u << v);
    const __m512i low = _mm512_loadu_si512((const void *)table),
                  high = _mm512_loadu_si512((const void *)(table + LB_FIND_BLOCK));
    const __m512i last = _mm512_set1_epi8(FIND_TABLE - 1), sides = _mm512_loadu_si512((const void *)by_value),
                  unit = _mm512_set1_epi64((long long)0x8040201008040201),
                  reverse = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);
    const __m512i low_2 = _mm512_slli_epi16(low, 4), high_2 = _mm512_slli_epi16(high, 4);

    for (size_t b = 0; b < blocks; b += 2, p += 2 * LB_FIND_BLOCK, out += 2) {
        const bool both = b + 1 < blocks;
        const __m512i one = _mm512_loadu_si512((const void *)p),
                      two = both ? _mm512_loadu_si512((const void *)(p + LB_FIND_BLOCK)) : last;
        __m512i are = _mm512_or_si512(_mm512_permutex2var_epi8(low, _mm512_min_epu8(one, last), high),
                                      _mm512_permutex2var_epi8(low_2, _mm512_min_epu8(two, last), high_2));
        are = _mm512_gf2p8affine_epi64_epi8(unit, _mm512_shuffle_epi8(are, reverse), 0);
        are = _mm512_permutexvar_epi8(sides, are);
        const __mmask8 stored = both ? 3 : 1;
        _mm_mask_storeu_epi64((void *)out, stored, _mm512_castsi512_si128(are));
        if (n > 1)
            _mm_mask_storeu_epi64((void *)(out + stride), stored, _mm512_extracti64x2_epi64(are, 1));
        if (n > 2)
            _mm_mask_storeu_epi64((void *)(out + 2 * stride), stored, _mm512_extracti64x2_epi64(are, 2));
        if (n > 3)
            _mm_mask_storeu_epi64((void *)(out + 3 * stride), stored, _mm512_extracti64x2_epi64(are, 3));
    }
}

/* Values beside those of text are found otherwise. */
FIND_GFNI static void find_gfni(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                                size_t stride)
{
    bool text = true;

    for (unsigned v = 0; v < n; v++)
        text &= values[v] < FIND_TABLE - 1;
    if (!text) {
        find_avx512(p, blocks, values, n, out, stride);
        return;
    }
    for (; n > 4; n -= 4, values += 4, out += 4 * stride)
        find_gfni_body(p, blocks, values, 4, out, stride);
    FIND_FOR_EACH_COUNT(find_gfni_body)
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
        return (lb_cpu() & LB_CPU_VBMI2) != 0 ? find_gfni : find_avx512;
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

FIND_INLINE void find_neon_body(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out,
                                size_t stride)
{
    static const uint8_t weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    const uint8x16_t weight = vld1q_u8(weights);

    for (size_t b = 0; b < blocks; b++, p += LB_FIND_BLOCK, out++)
        for (unsigned v = 0; v < n; v++) {
            const uint8x16_t want = vdupq_n_u8(values[v]);
            uint8x16_t sum[4];
            for (unsigned i = 0; i < 4; i++)
                sum[i] = vandq_u8(vceqq_u8(vld1q_u8(p + 16 * i), want), weight);
            uint8x16_t pair = vpaddq_u8(vpaddq_u8(sum[0], sum[1]), vpaddq_u8(sum[2], sum[3]));
            pair = vpaddq_u8(pair, pair);
            out[v * stride] = vgetq_lane_u64(vreinterpretq_u64_u8(pair), 0);
        }
}

static void find_neon(const uint8_t *p, size_t blocks, const uint8_t *values, unsigned n, uint64_t *out, size_t stride)
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
