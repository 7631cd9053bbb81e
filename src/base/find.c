#include "base/find.h"

#include <stdatomic.h>

#include "base/cpu.h"

lb_byte_set lb_byte_set_of(const uint8_t *bytes, size_t count)
{
    lb_byte_set set;

    for (size_t i = 0; i < LB_FIND_BYTES; i++)
        set.bytes[i] = bytes[i < count ? i : 0];
    return set;
}

uint64_t lb_find64_scalar(const uint8_t *p, const lb_byte_set *set)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < LB_FIND_BLOCK; i++)
        for (unsigned k = 0; k < LB_FIND_BYTES; k++)
            found |= (uint64_t)(p[i] == set->bytes[k]) << i;
    return found;
}

#if defined(__x86_64__)
#include <immintrin.h>

static uint64_t find64_sse2(const uint8_t *p, const lb_byte_set *set)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < LB_FIND_BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i)), hit = _mm_setzero_si128();
        for (unsigned k = 0; k < LB_FIND_BYTES; k++)
            hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8((char)set->bytes[k])));
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(hit) << i;
    }
    return found;
}

__attribute__((target("avx2"))) static uint64_t find64_avx2(const uint8_t *p, const lb_byte_set *set)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    __m256i hit_a = _mm256_setzero_si256(), hit_b = hit_a;

    for (unsigned k = 0; k < LB_FIND_BYTES; k++) {
        __m256i want = _mm256_set1_epi8((char)set->bytes[k]);
        hit_a = _mm256_or_si256(hit_a, _mm256_cmpeq_epi8(a, want));
        hit_b = _mm256_or_si256(hit_b, _mm256_cmpeq_epi8(b, want));
    }
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(hit_a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(hit_b) << 32;
}

static lb_find64_fn find_choose(void)
{
    return (lb_cpu() & LB_CPU_AVX2) != 0 ? find64_avx2 : find64_sse2;
}

#elif defined(__aarch64__)
#include <arm_neon.h>

static uint64_t find64_neon(const uint8_t *p, const lb_byte_set *set)
{
    static const uint8_t weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    uint8x16_t weight = vld1q_u8(weights), sum[4];

    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t v = vld1q_u8(p + 16 * i), hit = vdupq_n_u8(0);
        for (unsigned k = 0; k < LB_FIND_BYTES; k++)
            hit = vorrq_u8(hit, vceqq_u8(v, vdupq_n_u8(set->bytes[k])));
        sum[i] = vandq_u8(hit, weight);
    }
    uint8x16_t pair = vpaddq_u8(vpaddq_u8(sum[0], sum[1]), vpaddq_u8(sum[2], sum[3]));
    pair = vpaddq_u8(pair, pair);
    return vgetq_lane_u64(vreinterpretq_u64_u8(pair), 0);
}

static lb_find64_fn find_choose(void)
{
    return (lb_cpu() & LB_CPU_NEON) != 0 ? find64_neon : lb_find64_scalar;
}

#else

static lb_find64_fn find_choose(void)
{
    return lb_find64_scalar;
}

#endif

lb_find64_fn lb_find64(void)
{
    static _Atomic(lb_find64_fn) chosen;
    lb_find64_fn f = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (f == NULL) {
        f = find_choose();
        atomic_store_explicit(&chosen, f, memory_order_relaxed);
    }
    return f;
}
