/* Line ends are counted in wide blocks. */
#include <stdatomic.h>

#include "base/cpu.h"
#include "io/text.h"

#define LINES_RUN 255 /* blocks whose counts fit a byte each */

typedef uint8_t lines_narrow __attribute__((vector_size(16)));
typedef uint8_t lines_wide __attribute__((vector_size(32)));

/* Line ends in so many blocks, of which each has so many bytes; p[-1] can be read. */
#define LINES_COUNT(target, name, block)                                                    \
    target static uint64_t name(const uint8_t *p, size_t blocks)                            \
    {                                                                                       \
        const block lf = (block){ 0 } + '\n', cr = (block){ 0 } + '\r';                     \
        uint64_t total = 0;                                                                 \
        while (blocks != 0) {                                                               \
            const size_t run = LB_MIN(blocks, (size_t)LINES_RUN);                           \
            block sum = { 0 };                                                              \
            for (size_t i = 0; i < run; i++, p += sizeof(block)) {                          \
                block here, before;                                                         \
                memcpy(&here, p, sizeof here);                                              \
                memcpy(&before, p - 1, sizeof before);                                      \
                sum -= (block)(here == cr) | ((block)(here == lf) & (block)(before != cr)); \
            }                                                                               \
            for (size_t i = 0; i < sizeof(block); i++)                                      \
                total += sum[i];                                                            \
            blocks -= run;                                                                  \
        }                                                                                   \
        return total;                                                                       \
    }

LINES_COUNT(, lines_count, lines_narrow)

#if defined(__x86_64__)
#include <immintrin.h>

LINES_COUNT(__attribute__((target("avx2"))), lines_count_avx2, lines_wide)

__attribute__((target("avx512f,avx512bw,popcnt,bmi"))) static uint64_t lines_count_avx512(const uint8_t *p,
                                                                                          size_t blocks)
{
    const __m512i lf = _mm512_set1_epi8('\n'), cr = _mm512_set1_epi8('\r');
    uint64_t total = 0, before = p[-1] == '\r';

    for (; blocks != 0; blocks--, p += 64) {
        const __m512i here = _mm512_loadu_si512((const void *)p);
        const uint64_t lfs = _mm512_cmpeq_epi8_mask(here, lf), crs = _mm512_cmpeq_epi8_mask(here, cr);
        total += (uint64_t)__builtin_popcountll(crs | (lfs & ~(crs << 1 | before)));
        before = crs >> 63;
    }
    return total;
}
#endif

/* What counts, and the bytes of one of its blocks. */
typedef struct lines_way {
    uint64_t (*count)(const uint8_t *p, size_t blocks);
    size_t block;
} lines_way;

static const lines_way *lines_choose(void)
{
    static const lines_way plain = { lines_count, sizeof(lines_narrow) };
#if defined(__x86_64__)
    static const lines_way avx2 = { lines_count_avx2, sizeof(lines_wide) }, avx512 = { lines_count_avx512, 64 };
    if ((lb_cpu() & LB_CPU_AVX512) != 0)
        return &avx512;
    if ((lb_cpu() & LB_CPU_AVX2) != 0)
        return &avx2;
#endif
    return &plain;
}

uint64_t lb_count_lines(const uint8_t *p, size_t size, bool after_cr)
{
    static _Atomic(const lines_way *) chosen;
    const lines_way *way = atomic_load_explicit(&chosen, memory_order_relaxed);
    uint64_t total = 0;

    if (size == 0)
        return 0;
    if (way == NULL) {
        way = lines_choose();
        atomic_store_explicit(&chosen, way, memory_order_relaxed);
    }
    total += p[0] == '\r' || (p[0] == '\n' && !after_cr);
    const size_t blocks = (size - 1) / way->block;
    total += way->count(p + 1, blocks);
    for (size_t i = 1 + blocks * way->block; i < size; i++)
        total += p[i] == '\r' || (p[i] == '\n' && p[i - 1] != '\r');
    return total;
}
