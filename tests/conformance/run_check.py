#!/usr/bin/env python3
"""Run the conformance checker and judge its verdicts: run_check.py CHECKER [ARGUMENT …].

Every wrong file is a failure, but those of known.json, where the expectation itself is wrong and why is said there; a
known one that comes out right is a failure as well, so that the list stays true.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    with open(os.path.join(HERE, "known.json"), encoding="utf-8") as file:
        known = json.load(file)
    command = [sys.executable] + sys.argv[1:]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    wrong = re.findall(r"^wrong +(\S+)", done.stdout, re.MULTILINE)
    counted = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    sys.stdout.write(done.stdout)
    if counted is None or int(counted[2]) != len(wrong):
        print("the checker did not end as it should (exit status %d)" % done.returncode)
        return 1
    for name in wrong:
        if name in known:
            print("known: %s: %s" % (name, known[name]))
    formats = sys.argv[sys.argv.index("--only") + 1].split(",")
    stale = [] if "--corrupt" in sys.argv else [n for n in known if n.split("/")[0] in formats and n not in wrong]
    for name in stale:
        print("no longer wrong: %s; take it out of known.json" % name)
    return 1 if stale or any(name not in known for name in wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
