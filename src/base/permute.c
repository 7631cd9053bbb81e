/* Pseudo-random permutations: a Feistel network over Z_a x Z_b with a*b just above n, walked until the value lies
 * below n (J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002: the generalised Feistel
 * construction and cycle walking). The keys of the rounds are the numbers that SplitMix64 (G. Steele, D. Lea, C.
 * Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014) gives for the seed; a round adds number
 * `value` of that generator with the key for its seed. */
#include <string.h>

#include "base/fail.h"

#define PERMUTE_ROUNDS_SMALL LB_PERMUTATION_KEYS /* below PERMUTE_SMALL: few values a round need more rounds */
#define PERMUTE_ROUNDS 8
#define PERMUTE_SMALL 65536
#define PERMUTE_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static uint64_t permute_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Least a with a*a >= n. */
static uint64_t permute_root(uint64_t n)
{
    uint64_t low = 1, high = UINT64_C(1) << 32;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (mid >= UINT64_C(1) << 32 || mid * mid >= n)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

lb_status lb_permutation_init(lb_permutation *p, uint64_t n, uint64_t seed, lb_error *err)
{
    lb_error_clear(err);
    if (p->struct_size != sizeof *p)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_permutation.struct_size is %zu, not %zu", p->struct_size,
                       sizeof *p);
    if (n > (uint64_t)INT64_MAX)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a permutation has at most %lld places", (long long)INT64_MAX);
    memset(p, 0, sizeof *p);
    p->struct_size = sizeof *p;
    p->n = n;
    p->a = permute_root(n);
    p->b = n == 0 ? 1 : (n - 1) / p->a + 1;
    p->rounds = n < PERMUTE_SMALL ? PERMUTE_ROUNDS_SMALL : PERMUTE_ROUNDS;
    for (unsigned i = 0; i < p->rounds; i++)
        p->keys[i] = permute_mix(seed += PERMUTE_GAMMA);
    return LB_OK;
}

/* What round `i` adds, below `m`: the high word of a product takes a 64-bit value to the range without a division. */
static uint64_t permute_round(const lb_permutation *p, unsigned i, uint64_t value, uint64_t m)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t x = permute_mix(p->keys[i] + (value + 1) * PERMUTE_GAMMA);

    return (uint64_t)(((wide)x * m) >> 64);
}

/* Rounds come in pairs: one changes the half below a, the next the half below b. */
static uint64_t permute_forth(const lb_permutation *p, uint64_t x)
{
    uint64_t l = x % p->a, r = x / p->a;

    for (unsigned i = 0; i < p->rounds; i += 2) {
        l += permute_round(p, i, r, p->a);
        l -= l >= p->a ? p->a : 0;
        r += permute_round(p, i + 1, l, p->b);
        r -= r >= p->b ? p->b : 0;
    }
    return r * p->a + l;
}

static uint64_t permute_back(const lb_permutation *p, uint64_t x)
{
    uint64_t l = x % p->a, r = x / p->a;

    for (unsigned i = p->rounds; i > 0; i -= 2) {
        uint64_t down = permute_round(p, i - 1, l, p->b);
        r = r >= down ? r - down : r + p->b - down;
        down = permute_round(p, i - 2, r, p->a);
        l = l >= down ? l - down : l + p->a - down;
    }
    return r * p->a + l;
}

uint64_t lb_permutation_at(const lb_permutation *p, uint64_t place)
{
    if (place >= p->n)
        return UINT64_MAX;
    do
        place = permute_forth(p, place);
    while (place >= p->n);
    return place;
}

uint64_t lb_permutation_place(const lb_permutation *p, uint64_t value)
{
    if (value >= p->n)
        return UINT64_MAX;
    do
        value = permute_back(p, value);
    while (value >= p->n);
    return value;
}
