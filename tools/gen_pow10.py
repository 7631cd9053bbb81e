#!/usr/bin/env python3
"""Write src/base/number_table.h: powers of ten to 128 bits, for reading and printing doubles.

Usage: tools/gen_pow10.py > src/base/number_table.h
"""

FIRST, LAST = -342, 324

HEAD = """/* Powers of ten to 128 bits. Written by tools/gen_pow10.py; do not edit.
 *
 * Row q - LB_POWER_FIRST holds the 128 leading bits of 10^q, high word first, the top bit set: cut where q >= 0
 * (exact up to 10^55), rounded up where q < 0. One source file defines the table by setting LB_POWER_TABLE_BODY. */
/* clang-format off */
#ifndef LB_BASE_NUMBER_TABLE_H
#define LB_BASE_NUMBER_TABLE_H

#include <stdint.h>

#define LB_POWER_FIRST (%d)
#define LB_POWER_LAST %d

extern const uint64_t lb_power_table[LB_POWER_LAST - LB_POWER_FIRST + 1][2];

#ifdef LB_POWER_TABLE_BODY
const uint64_t lb_power_table[LB_POWER_LAST - LB_POWER_FIRST + 1][2] = {"""

TAIL = """};
#endif

#endif"""


def leading_bits(q):
    """The 128 leading bits of 5^q (those of 10^q are the same)."""
    if q >= 0:
        power = 5 ** q
        shift = power.bit_length() - 128
        return power >> shift if shift >= 0 else power << -shift
    power = 5 ** -q
    # 2^(length + 127) / 5^-q has exactly 128 bits, since 5^-q is no power of two
    return (1 << (power.bit_length() + 127)) // power + 1


def main():
    print(HEAD % (FIRST, LAST))
    for q in range(FIRST, LAST + 1):
        bits = leading_bits(q)
        assert bits.bit_length() == 128
        print("    { 0x%016x, 0x%016x }, /* %d */" % (bits >> 64, bits & (2 ** 64 - 1), q))
    print(TAIL)


if __name__ == "__main__":
    main()
