"""Measure maps of CSV files of several shapes, with one thread and two, against the machine's limit, DuckDB and Polars.

    bench/bench_csv.py [--size 1G] [--runs 3] [--shapes orders,dense,wide,long,one] [--json FILE] [--folder DIR]

One file of each shape is made (bench_rows.c says what they are) and all works on it take turns, round after round. Figures
are medians with a warm cache. Times of the command are those of the whole process; times of DuckDB and Polars leave out
what Python and they take to start. Memory is the most that the process held at a time, beyond what `lakebed version` holds.
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
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run as common    # noqa: E402  (it stands beside this file)

SHAPES = ("orders", "dense", "wide", "long", "one")
STRUCTURE = ["--types", "text", "--stats", "none"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--size", type=common.parse_size, default=common.parse_size("1G"), help="bytes of each file (default 1G)")
    add("--runs", type=int, default=3)
    add("--shapes", default=",".join(SHAPES))
    add("--lakebed", default=os.environ.get("LAKEBED", common.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, default=common.ROOT / "build" / "bench-csv.json", help="where the figures go")
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


def process(command):
    """Seconds and the largest memory in bytes of a whole process."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise subprocess.CalledProcessError(status, command)
    return time.perf_counter() - started, usage.ru_maxrss * 1024


def peer(tool, threads, path):
    """Seconds; None where the tool cannot read the file."""
    command = [sys.executable, common.HERE / "peers.py", tool, "read", path]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, THREADS=str(threads)), check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


def works_of(args, path, lakes, limit):
    """What is measured of one file: name → a call that gives (seconds or None, memory or None)."""
    out = {"limit": lambda: (float(common.output([limit, path]).split()[0]), None)}
    for threads in (1, 2):
        for name, options in (("structure", STRUCTURE), ("full", [])):
            command = [args.lakebed, "map", lakes[threads], "-q", "-j", str(threads), *options]
            out["%s, %d" % (name, threads)] = lambda command=command: process(command)
    for tool in ("duckdb", "polars"):
        if common.have(tool):
            for threads in (1, 2):
                out["%s, %d" % (tool, threads)] = lambda tool=tool, threads=threads: (peer(tool, threads, path), None)
    return out


def measure_shape(args, folder, shape, rows_tool, limit):
    path = folder / (shape + ".csv")
    rows = int(common.output([rows_tool, path, str(args.size), shape]))
    lakes = {threads: common.make_lake(folder, "%s-%d" % (shape, threads), path) for threads in (1, 2)}
    works = works_of(args, path, lakes, limit)
    seconds, memory = {name: [] for name in works}, {}
    for turn in range(args.runs):
        print("%s: round %d of %d" % (shape, turn + 1, args.runs), file=sys.stderr)
        for name, work in works.items():
            took, held = work()
            if took is not None:
                seconds[name].append(took)
            if held is not None:
                memory[name] = max(memory.get(name, 0), held)
    assert int(common.output([args.lakebed, "count", lakes[2]]).split()[0]) == rows, "the map counts other rows"
    maps = [common.output([args.lakebed, "stats", lake, "--json"]) for lake in lakes.values()]
    assert maps[0].replace(shape + "-1", shape + "-2") == maps[1], "one thread and two find different things"
    size = path.stat().st_size
    for lake in lakes.values():
        shutil.rmtree(lake)
    path.unlink()
    return {"bytes": size, "rows": rows, "seconds": seconds, "memory": memory}


# ---- telling

def best(medians, threads):
    known = [(medians[name], name.split(",")[0]) for name in ("duckdb, %d" % threads, "polars, %d" % threads)
             if medians.get(name) is not None]
    return min(known) if known else (None, "–")


def row_of(shape, found):
    m = {name: statistics.median(times) if times else None for name, times in found["seconds"].items()}
    peer1, name1 = best(m, 1)
    peer2, name2 = best(m, 2)
    times = lambda a, b: "–" if a is None or b is None else "%.2f ×" % (a / b)
    held = found["memory"].get("full, 2", 0) / (1 << 20)
    return [shape, common.duration(m["limit"]), "%s; %s" % (common.duration(m["structure, 1"]), times(m["limit"], m["structure, 1"])),
            times(m["structure, 1"], m["structure, 2"]), "%s; %s" % (common.duration(m["full, 1"]), common.rate(found["bytes"], m["full, 1"])),
            "%s, %s: %s" % (times(peer1, m["full, 1"]), name1, "–" if peer1 is None else common.duration(peer1)),
            times(m["full, 1"], m["full, 2"]),
            "%s, %s: %s" % (times(peer2, m["full, 2"]), name2, "–" if peer2 is None else common.duration(peer2)),
            "%.0f MiB" % held]


def table(found):
    head = ["shape", "limit", "structure, 1 thread; of the limit", "by 2 threads", "full, 1 thread",
            "as fast as the better peer, 1 thread", "by 2 threads", "as fast as the better peer, 2 threads",
            "memory, full, 2 threads"]
    rows = [head, ["---"] * len(head)] + [row_of(shape, f) for shape, f in found.items()]
    return "\n".join("| %s |" % " | ".join(row) for row in rows)


def main():
    args = arguments()
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    load = os.getloadavg()[0]
    try:
        tools = [common.build_tool(name, folder) for name in ("bench_rows", "bench_limit")]
        found = {shape: measure_shape(args, folder, shape, *tools) for shape in args.shapes.split(",")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = {"machine": common.machine(), "load_before": load, "versions": common.versions(args.lakebed), "shapes": found}
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print("%s; load before: %.1f\n" % (figures["machine"], load))
    print(table(found))


if __name__ == "__main__":
    main()
