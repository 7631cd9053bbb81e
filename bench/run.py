"""Measure Lakebed against the machine's own limit and against the tools that people use for the same work.

    bench/run.py [--size 1G] [--runs 9] [--json FILE] [--folder DIR]

A CSV file of the size is made (always the same bytes), mapped and read; every figure is the median of its runs, with a
warm cache, and is given as a ratio to something measured in the same run. Times of the command are those of the whole
process. Times of DuckDB and Polars leave out what Python and they take to start. Everything happens in a temporary
folder that is removed.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
COUNT = 100    # rows of a slice


def parse_size(text):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1].upper()] if text[-1].upper() in units else int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--size", type=parse_size, default=parse_size("1G"), help="bytes of the file, as 200M (default 1G)")
    add("--runs", type=int, default=9, help="runs of what takes milliseconds; the rest runs a third as often")
    add("--lakebed", default=os.environ.get("LAKEBED", ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, default=ROOT / "build" / "bench.json", help="where the figures go")
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


# ---- measuring

def build_tool(name, folder):
    """A helper program, compiled for this very processor."""
    program = folder / name
    subprocess.run(["cc", "-std=gnu11", "-O3", "-march=native", HERE / (name + ".c"), "-o", program], check=True)
    return program


def output(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def wall(command):
    """Seconds of a whole process; its output is thrown away."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def told(command, threads=1):
    """Seconds as the last word that the process prints."""
    env = dict(os.environ, THREADS=str(threads))
    return float(output(command, env=env).split()[-1])


class Figures:
    """Medians by name, in order."""

    def __init__(self, runs):
        self.runs = runs
        self.found = {}

    def take(self, name, measure, slow=False):
        times = [measure() for _ in range(max(1, self.runs // 3) if slow else self.runs)]
        self.found[name] = {"median": statistics.median(times), "min": min(times), "max": max(times), "runs": len(times)}
        print("  %-46s %s" % (name, duration(self.found[name]["median"])), file=sys.stderr)

    def skip(self, name, why):
        print("  %-46s left out: %s" % (name, why), file=sys.stderr)

    def median(self, name):
        return self.found[name]["median"] if name in self.found else None


def have(module):
    return subprocess.run([sys.executable, "-c", "import " + module], capture_output=True, check=False).returncode == 0


def measure_map(bench, lakebed, lake):
    text = ["--types", "text", "--stats", "none"]
    bench.take("map, types and statistics, 1 thread", lambda: wall([lakebed, "map", lake, "-q", "-j", "1"]), slow=True)
    bench.take("map, structure only, 1 thread", lambda: wall([lakebed, "map", lake, "-q", "-j", "1", *text]), slow=True)


def measure_slices(bench, lakebed, lake, path, rows):
    last = rows - COUNT
    for stride in (65536, 4096):
        subprocess.run([lakebed, "map", lake, "-q", "--stride", str(stride)], check=True)
        for where, first in (("start", 0), ("end", last)):
            command = [lakebed, "slice", path, "--offset", str(first), "--limit", str(COUNT), "--to", "csv"]
            bench.take("slice at the %s, stride %d" % (where, stride), lambda: wall(command))
    bench.take("the process alone (lakebed version)", lambda: wall([lakebed, "version"]))


def measure_peers(bench, path, rows):
    peers = HERE / "peers.py"
    for tool in ("duckdb", "polars"):
        if not have(tool):
            bench.skip(tool, "not installed")
            continue
        bench.take("%s reads all, 1 thread" % tool, lambda: told([sys.executable, peers, tool, "read", path]), slow=True)
        for where, first in (("start", 0), ("end", rows - COUNT)):
            command = [sys.executable, peers, tool, "slice", path, str(first), str(COUNT)]
            bench.take("%s slices at the %s" % (tool, where), lambda: told(command, os.cpu_count()), slow=True)


def check_slice(lakebed, path, rows):
    """A figure is worth something only if the answer is right."""
    command = [lakebed, "slice", path, "--offset", str(rows - COUNT), "--to", "csv", "--columns", "id"]
    out = output(command).split()
    assert out == ["id"] + [str(i) for i in range(rows - COUNT, rows)], "the slice at the end is wrong"


# ---- telling

def duration(seconds):
    return "%.3f s" % seconds if seconds >= 0.1 else "%.2f ms" % (seconds * 1000)


def rate(size, seconds):
    return "%.2f GB/s" % (size / seconds / 1e9)


def best_of(bench, names):
    known = [(bench.median(n), n) for n in names if bench.median(n) is not None]
    return min(known) if known else (None, None)


def ratio_row(bench, name, against, more):
    """A line of the table: the figure, what it is held against, and how many times as fast it is."""
    mine = bench.median(name)
    other, other_name = best_of(bench, against)
    times = "–" if other is None else "%.2f ×" % (other / mine) if other / mine < 10 else "%.0f ×" % (other / mine)
    return [name, duration(mine), more, "–" if other is None else "%s: %s" % (other_name, duration(other)), times]


def table(bench, size):
    limit = "the limit: pread and counting newlines"
    rows = [["work", "median", "", "held against", "as fast"], ["---"] * 5]
    rows.append([limit, duration(bench.median(limit)), rate(size, bench.median(limit)), "", ""])
    structure, full = "map, structure only, 1 thread", "map, types and statistics, 1 thread"
    rows.append(ratio_row(bench, structure, [limit], rate(size, bench.median(structure))))
    rows.append(ratio_row(bench, full, ["duckdb reads all, 1 thread", "polars reads all, 1 thread"],
                          rate(size, bench.median(full))))
    for where in ("start", "end"):
        for stride in (65536, 4096):
            rows.append(ratio_row(bench, "slice at the %s, stride %d" % (where, stride),
                                  ["duckdb slices at the " + where, "polars slices at the " + where], "%d rows" % COUNT))
    return "\n".join("| %s |" % " | ".join(row) for row in rows)


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return "%s, %d cores, %.0f GiB, %s %s" % (names[0] if names else platform.machine(), os.cpu_count(), memory,
                                           platform.system(), platform.release())


def versions(lakebed):
    out = {"lakebed": output([lakebed, "version"]).split()[-1]}
    for tool in ("duckdb", "polars"):
        if have(tool):
            out[tool] = output([sys.executable, "-c", "import %s as t; print(t.__version__)" % tool]).strip()
    return out


def run(args, folder):
    bench = Figures(args.runs)
    lake = folder / "lake"
    path = lake / "orders.csv"
    lake.mkdir()
    rows = int(output([build_tool("bench_rows", folder), path, str(args.size)]))
    size = path.stat().st_size
    limit = build_tool("bench_limit", folder)
    print("%d bytes, %d rows" % (size, rows), file=sys.stderr)
    bench.take("the limit: pread and counting newlines", lambda: float(output([limit, path]).split()[0]))
    measure_map(bench, args.lakebed, lake)
    measure_slices(bench, args.lakebed, lake, path, rows)
    check_slice(args.lakebed, path, rows)
    map_bytes = (lake / ".br_map.bazan").stat().st_size
    measure_peers(bench, path, rows)
    return {"machine": machine(), "versions": versions(args.lakebed), "bytes": size, "rows": rows,
            "map_bytes_at_stride_4096": map_bytes, "seconds": bench.found}, table(bench, size)


def main():
    args = arguments()
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        figures, text = run(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tools = ", ".join("%s %s" % pair for pair in figures["versions"].items())
    print("%s\n%s\n%d bytes, %d rows\n\n%s" % (figures["machine"], tools, figures["bytes"], figures["rows"], text))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
