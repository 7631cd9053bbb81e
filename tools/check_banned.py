"""Find calls that have no place where input is hostile: in src/ and python/src/, outside of comments and texts."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INSTEAD = {
    "strcpy": "lb_buf or memcpy with a checked length", "strcat": "lb_buf", "stpcpy": "lb_buf",
    "strncpy": "memcpy with a checked length", "strncat": "lb_buf",
    "sprintf": "snprintf or lb_buf_printf", "vsprintf": "vsnprintf", "gets": "a reader with a limit",
    "atoi": "base/number.h", "atol": "base/number.h", "atoll": "base/number.h", "atof": "base/number.h",
    "strtol": "base/number.h", "strtoul": "base/number.h", "strtoll": "base/number.h", "strtoull": "base/number.h",
    "strtok": "lb_str", "alloca": "lb_arena",
}
# Comments, texts and characters: what they hold is no code.
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
CALL = re.compile(r"\b(%s)\s*\(" % "|".join(INSTEAD))


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def main():
    faults = 0
    for path in sorted([*(ROOT / "src").rglob("*.[ch]"), *(ROOT / "python").rglob("*.[ch]")]):
        code = NO_CODE.sub(blank, path.read_text(encoding="utf-8"))
        for found in CALL.finditer(code):
            line = code.count("\n", 0, found.start()) + 1
            print("%s:%d: %s: use %s" % (path.relative_to(ROOT), line, found.group(1), INSTEAD[found.group(1)]))
            faults += 1
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
