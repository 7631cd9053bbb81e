#!/usr/bin/env python3
"""Write tests/base/permutation_cases.h: places of permutations, worked out from the description in the papers.

Usage: tools/gen_permutation_cases.py [FOLDER]     (default: tests/base)

A generalised Feistel network over Z_a x Z_b (Black and Rogaway 2002) whose keys are the numbers that
SplitMix64 (Steele, Lea and Flood 2014) gives for the seed, and whose rounds add number `value` of such a generator. A seed that people keep must go on giving the same rows: these cases never change.
"""

import os
import sys
from math import isqrt

GOLDEN, WORD = 0x9E3779B97F4A7C15, 2**64


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


class Permutation:
    def __init__(self, n, seed):
        self.n = n
        self.a = max(1, isqrt(n - 1) + 1)
        self.b = -(-n // self.a)
        rounds = 16 if n < 65536 else 8
        self.keys = [mix((seed + (i + 1) * GOLDEN) % WORD) for i in range(rounds)]

    def once(self, x):
        right, left = divmod(x, self.a)
        for i, key in enumerate(self.keys):
            if i % 2 == 0:
                left = (left + (mix((key + (right + 1) * GOLDEN) % WORD) * self.a >> 64)) % self.a
            else:
                right = (right + (mix((key + (left + 1) * GOLDEN) % WORD) * self.b >> 64)) % self.b
        return right * self.a + left

    def at(self, place):
        place = self.once(place)
        while place >= self.n:
            place = self.once(place)
        return place


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/base"
    sizes = [1, 2, 3, 5, 10, 188, 1000, 65535, 65536, 1000003, 10**9, 2**32, 2**40 + 7, 2**63 - 1]
    rows = []
    for k, n in enumerate(sizes):
        for seed in (0, 1, k * 1234567, 2**64 - 1 - k):
            p = Permutation(n, seed)
            first = ", ".join("UINT64_C(%d)" % p.at(i) for i in range(min(n, 6)))
            rows.append("    { UINT64_C(%d), UINT64_C(%d), { %s } },\n" % (n, seed, first))
    with open(os.path.join(folder, "permutation_cases.h"), "w", encoding="ascii") as out:
        out.write("/* Made by tools/gen_permutation_cases.py, which follows the papers; do not edit. */\n")
        out.write("/* clang-format off */\n\nstatic const struct {\n    uint64_t n, seed, first[6];\n} permutation_cases[] = {\n")
        out.writelines(rows)
        out.write("};\n")


main()
