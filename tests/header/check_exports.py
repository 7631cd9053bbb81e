"""Compare what liblakebed.so exports with what lakebed.h declares: they must be the same names, all lb_*."""

import argparse
import re
import subprocess
import sys

MARK = '__attribute__((visibility("default")))'


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared(cc, header):
    """Names of the functions marked LB_API, from the preprocessed header (no comments, no macros)."""
    names = set()
    for piece in run(cc, "-E", "-P", header).split(MARK)[1:]:
        found = re.match(r"[^;{]*?\b(\w+)\s*\(", piece)
        if found is None:
            sys.exit("a declaration this check cannot read: %r" % piece[:80])
        names.add(found.group(1))
    return names


def exported(nm, library):
    """Names of what the library defines for others; absolute ones are the linker's own."""
    rows = (line.split() for line in run(nm, "-D", "--defined-only", library).splitlines())
    return {row[2].split("@")[0] for row in rows if len(row) == 3 and row[1] != "A"}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("header", "library", "nm", "cc"):
        options.add_argument("--" + name, required=True)
    given = vars(options.parse_args())
    says, has = declared(given["cc"], given["header"]), exported(given["nm"], given["library"])
    faults = ["exported, but not named lb_*: " + name for name in sorted(has) if not name.startswith("lb_")]
    faults += ["exported, but not declared in lakebed.h: " + name for name in sorted(has - says)]
    faults += ["declared in lakebed.h, but not in the library: " + name for name in sorted(says - has)]
    print("\n".join(faults) or "%d functions, declared and exported" % len(says))
    sys.exit(bool(faults) or not says)


if __name__ == "__main__":
    main()
