#!/usr/bin/env python3
"""Write tests/io/text_cases.h: texts in many encodings as Python encodes them, with the offset of every character.

Usage: tools/gen_text_cases.py > tests/io/text_cases.h
"""
import random

PLAIN = "id,name,note\r\n1,abc,def\n"
CASES = [  # iconv's name, Python's name, letters
    ("ISO-8859-1", "latin-1", "éèüßñÆ¿ÿ"),
    ("WINDOWS-1252", "cp1252", "€œŽ’é"),
    ("WINDOWS-1255", "cp1255", "אבגדהוש"),
    ("KOI8-R", "koi8-r", "привет"),
    ("UTF-16LE", "utf-16-le", "é日本\U0001F600\U00020000ж"),
    ("UTF-16BE", "utf-16-be", "é日本\U0001F600ж"),
    ("UTF-32LE", "utf-32-le", "é日\U0001F600"),
    ("GB18030", "gb18030", "中文é字符\U0001F600ж"),
    ("GBK", "gbk", "中文字符"),
    ("SHIFT_JIS", "shift_jis", "日本語アイｱｲ表"),
    ("EUC-JP", "euc_jp", "日本語アｱ"),
    ("EUC-KR", "euc_kr", "한국어"),
    ("BIG5", "big5", "中文功許"),
    ("BIG5-HKSCS", "big5hkscs", "中文Êê功"),
]


def literal(data):
    """A C string literal in lines; octal escapes, since they cannot run into the next digit."""
    lines = []
    for i in range(0, len(data), 24):
        lines.append('"' + "".join(f"\\{b:03o}" for b in data[i:i + 24]) + '"')
    return "\n        ".join(lines) or '""'


def main():
    rng = random.Random(7)
    print("/* Made by tools/gen_text_cases.py: do not edit. */\n/* clang-format off */\n#include <stddef.h>\n#include <stdint.h>\n")
    rows = []
    for number, (name, codec, letters) in enumerate(CASES):
        text = PLAIN + "".join(rng.choice(letters + "ab,1\n" + letters) for _ in range(150)) + "\n"
        pairs, position, offset = [], 0, 0
        for c in text + "\n":
            pairs.append((position, offset))
            position += len(c.encode())
            offset += len(c.encode(codec))
        numbers = [str(n) for pair in pairs for n in pair]
        print(f"static const uint16_t text_borders_{number}[] = {{")
        for i in range(0, len(numbers), 20):
            print("    " + ", ".join(numbers[i:i + 20]) + ",")
        print("};")
        rows.append(f'    {{ "{name}",\n        {literal(text.encode(codec))},\n        {len(text.encode(codec))},\n'
                    f'        {literal(text.encode())},\n        {len(text.encode())}, text_borders_{number}, {len(pairs)} }},')
    print("\n/* borders: position in UTF-8 and offset in the encoding of each character, and of the end. */")
    print("static const struct {\n    const char *encoding, *bytes;\n    size_t size;\n    const char *utf8;\n    size_t utf8_size;")
    print("    const uint16_t *borders;\n    size_t n_borders;\n} text_cases[] = {")
    print("\n".join(rows))
    print("};")


if __name__ == "__main__":
    main()
