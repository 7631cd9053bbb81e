"""Compare the tracked C files with clang-format's layout of them.

clang-format would move each comment at the end of a line to its own idea of a column; where such a comment starts, and
where the backslashes of a macro stand, is left to the writer. `make format` lays out everything.
"""

import concurrent.futures
import difflib
import os
import re
import shutil
import subprocess
import sys

COMMENT_COLUMN = re.compile(r"(?<=\S) +(?=/\*)")
MACRO_COLUMN = re.compile(r" +\\$")


def normal(text):
    lines = text.splitlines()
    return [MACRO_COLUMN.sub(" \\\\", COMMENT_COLUMN.sub(" ", line)) for line in lines]


def check(formatter, name):
    """The differences as lines of text, at most twenty."""
    with open(name, encoding="utf-8") as file:
        text = file.read()
    wanted = subprocess.run([formatter, "--style=file", name], check=True, capture_output=True, text=True).stdout
    lines = difflib.unified_diff(normal(text), normal(wanted), name, name + " (laid out)", n=1, lineterm="")
    return list(lines)[:20]


def main():
    if len(sys.argv) != 2 or shutil.which(sys.argv[1]) is None:
        sys.exit("usage: python3 tools/check_format.py CLANG_FORMAT\n  CLANG_FORMAT is the program to compare with, as clang-format-14")
    formatter = sys.argv[1]
    command = ["git", "ls-files", "-z", "--cached", "--", "*.c", "*.h"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    names = [name for name in names if name and os.path.exists(name)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [lines for lines in pool.map(lambda name: check(formatter, name), names) if lines]
    for lines in found:
        print("\n".join(lines))
    if found:
        print("%d of %d files: `make format` lays them out" % (len(found), len(names)))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
