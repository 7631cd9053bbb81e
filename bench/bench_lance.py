"""Measure Lance datasets against a release of pylance that still writes the legacy format, on the same datasets.

    bench/bench_lance.py [--rows 1000000] [--runs 7] [--release 0.10.18] [--versions 10000] [--fragments 100000]

Both work inside a Python process with pyarrow, one thread each for Lakebed and what pylance takes for itself; figures are medians of
wall-clock and of the process's processor time, in turns. Needs the built library (LAKEBED_LIB, or build/liblakebed.so), the
environment .deps/venv, and .deps/lance-RELEASE (tools/setup.sh --tests --lance-peers).
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

COMMON = """
import json, random, resource, sys, time
import pyarrow as pa

def table(first, count):
    ids = pa.array(range(first, first + count), pa.int64())
    return pa.table({"id": ids, "price": pa.compute.multiply(ids.cast(pa.float64()), 0.5),
                     "name": pa.array(["row number %d" % i for i in range(first, first + count)]),
                     "vector": pa.FixedSizeListArray.from_arrays(pa.array([0.25] * (count * 16), pa.float32()), 16)})

def measure(work):
    cpu, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = work()
    wall = time.perf_counter() - wall
    now = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"wall": wall, "cpu": now.ru_utime + now.ru_stime - cpu.ru_utime - cpu.ru_stime, "rows": result}))

verb, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = random.Random(count).sample(range(int(sys.argv[4])), count) if verb == "take" else []
import pyarrow.compute
data = table(0, count) if verb in ("create", "append") else None
"""

OURS = COMMON + """
from lance_api import Library
library = Library()
measure({"create": lambda: library.write("create", path, data).rows,
         "append": lambda: library.write("append", path, data).rows,
         "scan": lambda: library.read(path).num_rows,
         "slice": lambda: library.read(path, count, 100).num_rows,
         "take": lambda: library.take(path, rows).num_rows,
         "open": lambda: library.read(path, 0, 1).num_rows}[verb])
"""

THEIRS = COMMON + """
import lance
measure({"create": lambda: lance.write_dataset(data, path, mode="create") and count,
         "append": lambda: lance.write_dataset(data, path, mode="append") and count,
         "scan": lambda: lance.dataset(path).to_table().num_rows,
         "take": lambda: lance.dataset(path).take(rows).num_rows,
         "slice": lambda: lance.dataset(path).to_table(offset=count, limit=100).num_rows,
         "open": lambda: lance.dataset(path).head(1).num_rows}[verb])
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000, help="rows of the large dataset (default 1000000)")
    add("--runs", type=int, default=7, help="runs of each measurement (default 7)")
    add("--release", default="0.10.18", help="release of pylance (default 0.10.18)")
    add("--versions", type=int, default=10_000, help="versions of the dataset with many (default 10000)")
    add("--fragments", type=int, default=100_000, help="fragments of the dataset with many (default 100000)")
    return parser.parse_args()


class Tool:
    def __init__(self, name, python, program):
        self.name, self.python, self.program = name, python, program
        library = os.environ.get("LAKEBED_LIB", str(ROOT / "build" / "liblakebed.so"))
        self.environment = {**os.environ, "LAKEBED_LIB": library, "LAKEBED_SOURCE": str(ROOT),
                            "PYTHONPATH": str(ROOT / "tests" / "lance")}

    def run(self, verb, path, count, rows=0):
        done = subprocess.run([self.python, "-c", self.program, verb, str(path), str(count), str(rows)], capture_output=True, text=True,
                              env=self.environment)
        if done.returncode != 0:
            sys.exit(f"{self.name}, {verb}: {done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])


def compare(title, tools, runs, verb, count, prepare, rows=0):
    times = {tool.name: [] for tool in tools}
    for _ in range(runs):
        for tool in tools:
            times[tool.name].append(tool.run(verb, prepare(tool), count, rows))
    ours, theirs = ({key: statistics.median(t[key] for t in times[tool.name]) for key in ("wall", "cpu")} for tool in tools)
    print(f"{title:<44} {ours['wall'] * 1e3:9.1f} ms {theirs['wall'] * 1e3:9.1f} ms  wall {theirs['wall'] / ours['wall']:6.2f}x"
          f"  cpu {theirs['cpu'] / max(ours['cpu'], 1e-9):6.2f}x", flush=True)


# ---------------------------------------------------------------- a manifest of many fragments

def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def message(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def many_fragments(path, count):
    """Version 2 of a dataset: the one fragment of version 1, `count` times."""
    old = (path / "_versions" / "1.manifest").read_bytes()
    at = int.from_bytes(old[-16:-8], "little")
    body, fields, fragment, i = old[at + 4:-16], b"", b"", 0
    while i < len(body):
        start, tag = i, body[i]
        i += 1
        size = shift = 0
        while True:
            byte = body[i]
            i += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        i += size if tag & 7 == 2 else 0
        if tag == 0x0A:
            fields += body[start:i]
        elif tag == 0x12:
            fragment = body[i - size:i]
    fragments = b"".join(message(2, (b"\x08" + varint(n) if n else b"") + fragment) for n in range(count))
    body = fields + fragments + b"\x18\x02"
    new = len(body).to_bytes(4, "little") + body + bytes(8) + b"\0\0\1\0LANC"
    for name in ("_versions/2.manifest", "_latest.manifest"):
        (path / name).write_bytes(new)


def main():
    args = arguments()
    tools = [Tool("lakebed", ROOT / ".deps" / "venv" / "bin" / "python", OURS),
             Tool("pylance", ROOT / ".deps" / f"lance-{args.release}" / "bin" / "python", THEIRS)]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-lance-"))

    def fresh(tool):
        path = folder / f"new-{tool.name}"
        shutil.rmtree(path, ignore_errors=True)
        return path

    def copied(tool):
        path = fresh(tool)
        shutil.copytree(folder / "small", path)
        return path

    try:
        print(f"{'':<44} {'lakebed':>12} {'pylance ' + args.release:>12}")
        tools[0].run("create", folder / "large", args.rows)
        tools[0].run("create", folder / "small", 10)
        compare(f"create, {args.rows:,} rows", tools, args.runs, "create", args.rows, fresh)
        compare("append 10,000 rows", tools, args.runs, "append", 10_000, copied)
        compare("append 1 row", tools, args.runs, "append", 1, copied)
        compare(f"scan {args.rows:,} rows, all columns", tools, args.runs, "scan", 0, lambda tool: folder / "large")
        compare(f"100 rows at row {args.rows // 2:,}", tools, args.runs, "slice", args.rows // 2, lambda tool: folder / "large")
        for count in (10, 1000, 10_000):
            compare(f"take {count:,} of {args.rows:,} rows", tools, args.runs, "take", count, lambda tool: folder / "large", args.rows)
        tools[0].run("create", folder / "versions", 10)
        newest = (folder / "versions" / "_versions" / "1.manifest").read_bytes()
        for version in range(2, args.versions + 1):    # the number inside matters only to a list of versions
            (folder / "versions" / "_versions" / f"{version}.manifest").write_bytes(newest)
        compare(f"open of {args.versions:,} versions, one row", tools, args.runs, "open", 0, lambda tool: folder / "versions")
        tools[0].run("create", folder / "fragments", 10)
        many_fragments(folder / "fragments", args.fragments)
        compare(f"open of {args.fragments:,} fragments, one row", tools, args.runs, "open", 0, lambda tool: folder / "fragments")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
