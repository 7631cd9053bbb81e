#!/usr/bin/env python3
"""Write src/base/utf8_width.h: characters that take no column or two on a terminal, from Python's unicodedata.

Usage: tools/gen_utf8_width.py > src/base/utf8_width.h
"""

import unicodedata

HEAD = """/* Characters that take no column of a terminal, or two; all others take one. Ranges are inclusive and
 * ascending. Written by tools/gen_utf8_width.py from Unicode %s; do not edit. */
/* clang-format off */
#ifndef LB_BASE_UTF8_WIDTH_H
#define LB_BASE_UTF8_WIDTH_H

#include <stdint.h>

typedef struct utf8_range {
    uint32_t first, last;
} utf8_range;
"""

# Planes and blocks that Unicode keeps for wide ideographs, also where no character stands yet
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD))

# Format characters that show: the soft hyphen, and signs that stand before or around the digits they mark
SHOWN = (0xAD, 0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)


def width(code):
    if any(first <= code <= last for first, last in IDEOGRAPHS):
        return 2
    char = chr(code)
    kind = unicodedata.category(char)
    # vowels and finals of Hangul join the consonant before them
    if kind in ("Mn", "Me", "Cf") and code not in SHOWN or 0x1160 <= code <= 0x11FF:
        return 0
    if kind == "Cn":
        return 1
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def ranges(wanted):
    found = []
    for code in range(0x110000):
        if width(code) != wanted:
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def table(name, wanted):
    print("static const utf8_range %s[] = {" % name)
    line = "   "
    for first, last in ranges(wanted):
        item = " { 0x%x, 0x%x }," % (first, last)
        if len(line) + len(item) > 118:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};")


def main():
    print(HEAD % unicodedata.unidata_version)
    table("utf8_zero", 0)
    print()
    table("utf8_wide", 2)
    print("\n#endif")


if __name__ == "__main__":
    main()
