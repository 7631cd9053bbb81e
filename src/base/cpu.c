/* Asked once; the answer is kept. Two threads that ask at the same time find the same. */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CPU_ASKED (1u << 31) /* beside the features, so that "none" is known from "not asked yet" */

static const struct {
    const char *name;
    unsigned feature;
} cpu_names[] = {
    { "avx2", LB_CPU_AVX2 },
    { "avx512", LB_CPU_AVX512 | LB_CPU_VBMI2 },
    { "vbmi2", LB_CPU_VBMI2 },
    { "neon", LB_CPU_NEON },
};

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Bodies for AVX2 count bits, pick them out and multiply without carries, too. Virtual machines may have the one without the other,
 * and LZCNT that is not there gives wrong numbers without a word. */
static bool cpu_counts_bits(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & bit_LZCNT) != 0 && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul");
}
#endif

/* AVX512 stands for its foundation with byte, doubleword and short-vector forms: what every server since 2017 has. VBMI2 came two
 * years later, and with it VBMI, GFNI and VPOPCNTDQ, for which it stands, too. */
static unsigned cpu_find(void)
{
    unsigned found = 0;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && cpu_counts_bits())
        found |= LB_CPU_AVX2;
    if ((found & LB_CPU_AVX2) != 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found |= LB_CPU_AVX512;
    if ((found & LB_CPU_AVX512) != 0 && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx512vpopcntdq"))
        found |= LB_CPU_VBMI2;
#elif defined(__aarch64__) || defined(__ARM_NEON)
    found |= LB_CPU_NEON;
#endif
    return found;
}

/* The features a list of names stands for; names that are unknown stand for none. */
static unsigned cpu_named(const char *list)
{
    unsigned named = 0;
    while (list != NULL && *list != '\0') {
        size_t size = strcspn(list, ", ");
        for (size_t i = 0; i < sizeof cpu_names / sizeof cpu_names[0]; i++)
            if (strlen(cpu_names[i].name) == size && memcmp(cpu_names[i].name, list, size) == 0)
                named |= cpu_names[i].feature;
        list += size;
        list += strspn(list, ", ");
    }
    return named;
}

unsigned lb_cpu(void)
{
    static _Atomic unsigned known;
    unsigned v = atomic_load_explicit(&known, memory_order_relaxed);
    if (v == 0) {
        v = (cpu_find() & ~cpu_named(getenv("LB_DISABLE_CPU"))) | CPU_ASKED;
        atomic_store_explicit(&known, v, memory_order_relaxed);
    }
    return v & ~CPU_ASKED;
}
