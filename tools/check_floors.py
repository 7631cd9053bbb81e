"""Check that every #include of src/ points to a lower floor, and that no file name occurs twice in the tree.

A folder may include headers of lower floors and its own. Beyond that:
- the command includes lakebed.h alone;
- a format knows no other format, and the floors above know formats through src/format/*.h only, save for the list of
  all handlers and the Lance floor, which stands on format/lance.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOORS = {
    "base": 0, "codec": 1, "wire": 1, "sql": 1, "io": 2, "column": 3, "lineage": 3,
    "format": 4, "lance": 5, "lake": 6, "query": 7, "cli": 8,
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
HANDLER_LIST = "lake/handlers.c"


def fault(file, target):
    """Why the file (a path below src/) may not include the target (likewise), or None."""
    room, wanted = file.parts[0], target.parts[0]
    if file.parent == target.parent:
        return None
    if room == "cli":
        return "the command knows lakebed.h only"
    if wanted not in FLOORS:
        return "there is no floor " + wanted
    if FLOORS[wanted] > FLOORS[room]:
        return "%s (floor %d) lies above %s (floor %d)" % (wanted, FLOORS[wanted], room, FLOORS[room])
    if FLOORS[wanted] == FLOORS[room] and wanted != room:
        return "%s and %s stand on one floor" % (room, wanted)
    if wanted == "format" and len(target.parts) > 2:
        if file.as_posix() != HANDLER_LIST and not (room == "lance" and target.parts[1] == "lance"):
            return "formats are reached through their handlers"
    return None


def resolve(file, name):
    """The header meant, as a path below src/; None for lakebed.h and for headers of other projects."""
    beside = (ROOT / "src" / file.parent / name).resolve()
    for path in (beside, ROOT / "src" / name):
        if path.is_file() and (ROOT / "src") in path.parents:
            return path.relative_to(ROOT / "src")
    return None


def check_includes():
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        file = path.relative_to(ROOT / "src")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            target = resolve(file, found.group(1)) if found else None
            why = fault(file, target) if target else None
            if why:
                yield "src/%s:%d: includes %s: %s" % (file, number, found.group(1), why)


def check_extension():
    for path in sorted((ROOT / "python").rglob("*.[ch]")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if found and found.group(1) != "core.h":
                yield "%s:%d: includes %s: the extension knows lakebed.h only" % (path.relative_to(ROOT), number, found.group(1))


def check_names():
    seen = {}
    for folder in ("src", "include", "tests", "fuzz", "bench", "examples", "python"):
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            file = path.relative_to(ROOT)
            if path.name in seen:
                yield "%s: the name occurs twice: %s" % (file, seen[path.name])
            seen[path.name] = file


def main():
    faults = list(check_includes()) + list(check_extension()) + list(check_names())
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
