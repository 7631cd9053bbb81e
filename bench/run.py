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
LIMIT = "the limit: pread and counting newlines"
STRUCTURE = "map, structure only, 1 thread"
FULL = "map, types and statistics, 1 thread"


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
    """One of the programs beside this file, compiled for this very processor."""
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


class Works:
    """What is measured, in order. All are run in turn, round after round, so that what else the machine does meets all
    of them alike; slow ones take part in every third round."""

    def __init__(self, runs):
        self.runs = runs
        self.works = {}
        self.times = {}

    def add(self, name, measure, slow=False):
        self.works[name] = (measure, slow)
        self.times[name] = []

    def run(self):
        for turn in range(self.runs):
            print("round %d of %d" % (turn + 1, self.runs), file=sys.stderr)
            for name, (measure, slow) in self.works.items():
                if not slow or turn % 3 == 0:
                    self.times[name].append(measure())

    def median(self, name):
        return statistics.median(self.times[name]) if name in self.times else None

    def figures(self):
        return {name: {"median": self.median(name), "min": min(times), "max": max(times), "runs": len(times)}
                for name, times in self.times.items()}


def have(module):
    return subprocess.run([sys.executable, "-c", "import " + module], capture_output=True, check=False).returncode == 0


def make_lake(folder, name, path):
    """A directory that holds the same file, so that each has a map of its own."""
    lake = folder / name
    lake.mkdir()
    (lake / path.name).hardlink_to(path)
    return lake


def add_maps(bench, lakebed, lake):
    text = ["--types", "text", "--stats", "none"]
    bench.add(STRUCTURE, lambda: wall([lakebed, "map", lake, "-q", "-j", "1", *text]), slow=True)
    bench.add(FULL, lambda: wall([lakebed, "map", lake, "-q", "-j", "1"]), slow=True)


def add_slices(bench, lakebed, lakes, name, rows):
    for where, first in (("start", 0), ("end", rows - COUNT)):
        for stride, lake in lakes.items():
            command = [lakebed, "slice", lake / name, "--offset", str(first), "--limit", str(COUNT), "--to", "csv"]
            bench.add("slice at the %s, stride %d" % (where, stride), lambda command=command: wall(command))
    bench.add("the process alone (lakebed version)", lambda: wall([lakebed, "version"]))


def add_peers(bench, path, rows):
    peers = [sys.executable, HERE / "peers.py"]
    for tool in ("duckdb", "polars"):
        if not have(tool):
            print("%s is left out: it is not installed" % tool, file=sys.stderr)
            continue
        read = [*peers, tool, "read", path]
        bench.add("%s reads all, 1 thread" % tool, lambda read=read: told(read), slow=True)
        for where, first in (("start", 0), ("end", rows - COUNT)):
            command = [*peers, tool, "slice", path, str(first), str(COUNT)]
            name = "%s slices at the %s" % (tool, where)
            bench.add(name, lambda command=command: told(command, os.cpu_count()), slow=True)


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
    times = "–" if other is None else ("%.2f ×" if other / mine < 10 else "%.0f ×") % (other / mine)
    return [name, duration(mine), more, "–" if other is None else "%s: %s" % (other_name, duration(other)), times]


def table(bench, size):
    rows = [["work", "median", "", "held against", "as fast"], ["---"] * 5]
    rows.append([LIMIT, duration(bench.median(LIMIT)), rate(size, bench.median(LIMIT)), "", ""])
    rows.append(ratio_row(bench, STRUCTURE, [LIMIT], rate(size, bench.median(STRUCTURE))))
    rows.append(ratio_row(bench, FULL, ["duckdb reads all, 1 thread", "polars reads all, 1 thread"],
                          rate(size, bench.median(FULL))))
    for where in ("start", "end"):
        for stride in (65536, 4096):
            against = ["duckdb slices at the " + where, "polars slices at the " + where]
            rows.append(ratio_row(bench, "slice at the %s, stride %d" % (where, stride), against, "%d rows" % COUNT))
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
    bench = Works(args.runs)
    path = folder / "orders.csv"
    rows = int(output([build_tool("bench_rows", folder), path, str(args.size)]))
    size = path.stat().st_size
    limit = build_tool("bench_limit", folder)
    lakes = {stride: make_lake(folder, "stride-%d" % stride, path) for stride in (65536, 4096)}
    mapped_anew = make_lake(folder, "anew", path)
    map_bytes = {}
    for stride, lake in lakes.items():
        subprocess.run([args.lakebed, "map", lake, "-q", "--stride", str(stride)], check=True)
        map_bytes[stride] = (lake / ".br_map.bazan").stat().st_size
        check_slice(args.lakebed, lake / path.name, rows)
    bench.add(LIMIT, lambda: float(output([limit, path]).split()[0]))
    add_maps(bench, args.lakebed, mapped_anew)
    add_slices(bench, args.lakebed, lakes, path.name, rows)
    add_peers(bench, path, rows)
    load = os.getloadavg()[0]
    bench.run()
    figures = {"machine": machine(), "load_before": load, "versions": versions(args.lakebed), "bytes": size, "rows": rows,
               "map_bytes": map_bytes, "seconds": bench.figures()}
    return path, figures, table(bench, size)


def run_doctor(args, folder, path):
    import bench_doctor    # here, for it uses this file
    folder.mkdir()
    return bench_doctor.measure(args, folder, path)


def run_map(args, folder):
    import bench_map    # as above
    folder.mkdir()
    return bench_map.measure(args, folder, [1, 1000, 1_000_000], 200_000, 100_000)


def main():
    args = arguments()
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        path, figures, text = run(args, folder)
        figures["doctor"], doctor_text = run_doctor(args, folder / "doctor", path)
        figures["map"], map_text = run_map(args, folder / "map")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tools = ", ".join("%s %s" % pair for pair in figures["versions"].items())
    print("%s\n%s; load before: %.1f" % (figures["machine"], tools, figures["load_before"]))
    print("%d bytes, %d rows\n\n%s\n\n%s\n\n%s" % (figures["bytes"], figures["rows"], text, doctor_text, map_text))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
