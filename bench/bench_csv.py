"""Measure maps of CSV files of several shapes, with one thread and two, against the machine's limit, DuckDB and Polars.

    bench/bench_csv.py [--size 1G] [--runs 3] [--shapes orders,dense,wide,long,one] [--json FILE] [--folder DIR]

One file of each shape is made (bench_rows.c says what they are) and all works on it take turns, round after round. Figures
are medians with a warm cache. Times of the command are those of the whole process; times of DuckDB and Polars leave out
what Python and they take to start. Memory is the most that the process held at a time, beyond what `lakebed version` holds.

What two threads can gain at most depends on the machine: `apart` is two processes of one thread each, at the same time, on
two files of half the size. `work` is the processor time, user's and system's, that two threads take for what one takes 1.
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


class Took:
    """What a work took: seconds, of processors too, and the largest memory in bytes; None is not known."""
    def __init__(self, seconds, processors=None, memory=None):
        self.seconds, self.processors, self.memory = seconds, processors, memory


def processes(*commands):
    """Run whole processes at the same time."""
    started = time.perf_counter()
    children = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    usages = []
    for child in children:
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            raise subprocess.CalledProcessError(status, child.args)
        usages.append(usage)
    return Took(time.perf_counter() - started, sum(u.ru_utime + u.ru_stime for u in usages),
                max(u.ru_maxrss for u in usages) * 1024)


def peer(tool, threads, path):
    """Seconds; None where the tool cannot read the file."""
    command = [sys.executable, common.HERE / "peers.py", tool, "read", path]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, THREADS=str(threads)), check=False)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


def works_of(args, path, lakes, halves, limit):
    """What is measured of one file: name → a call that gives a Took."""
    out = {"limit": lambda: Took(float(common.output([limit, path]).split()[0]))}
    for name, options in (("structure", STRUCTURE), ("full", [])):
        def command(lake, threads, options=options):
            return [args.lakebed, "map", lake, "-q", "-j", str(threads), *options]
        for threads in (1, 2):
            out["%s, %d" % (name, threads)] = lambda run=command(lakes[threads], threads): processes(run)
        out["%s, apart" % name] = lambda runs=[command(half, 1) for half in halves]: processes(*runs)
    for tool in ("duckdb", "polars"):
        if common.have(tool):
            for threads in (1, 2):
                out["%s, %d" % (tool, threads)] = lambda tool=tool, threads=threads: Took(peer(tool, threads, path))
    return out


def make_halves(folder, shape, size, rows_tool):
    halves = []
    for name in ("first", "second"):
        lake = folder / ("%s-%s" % (shape, name))
        lake.mkdir()
        common.output([rows_tool, lake / (shape + ".csv"), str(size // 2), shape])
        halves.append(lake)
    return halves


def measure_shape(args, folder, shape, rows_tool, limit):
    path = folder / (shape + ".csv")
    rows = int(common.output([rows_tool, path, str(args.size), shape]))
    lakes = {threads: common.make_lake(folder, "%s-%d" % (shape, threads), path) for threads in (1, 2)}
    halves = make_halves(folder, shape, args.size, rows_tool)
    works = works_of(args, path, lakes, halves, limit)
    seconds, processors, memory = {name: [] for name in works}, {name: [] for name in works}, {}
    for turn in range(args.runs):
        print("%s: round %d of %d" % (shape, turn + 1, args.runs), file=sys.stderr)
        for name, work in works.items():
            took = work()
            if took.seconds is not None:
                seconds[name].append(took.seconds)
            if took.processors is not None:
                processors[name].append(took.processors)
                memory[name] = max(memory.get(name, 0), took.memory)
    assert int(common.output([args.lakebed, "count", lakes[2]]).split()[0]) == rows, "the map counts other rows"
    maps = [common.output([args.lakebed, "stats", lake, "--json"]) for lake in lakes.values()]
    assert maps[0].replace(shape + "-1", shape + "-2") == maps[1], "one thread and two find different things"
    size = path.stat().st_size
    for lake in [*lakes.values(), *halves]:
        shutil.rmtree(lake)
    path.unlink()
    return {"bytes": size, "rows": rows, "seconds": seconds, "processors": processors, "memory": memory}


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

    def by_two(name):
        used = {threads: statistics.median(found["processors"]["%s, %d" % (name, threads)]) for threads in (1, 2)}
        return "%s; apart %s; work %.2f" % (times(m[name + ", 1"], m[name + ", 2"]), times(m[name + ", 1"], m[name + ", apart"]),
                                            used[2] / used[1])
    return [shape, common.duration(m["limit"]), "%s; %s" % (common.duration(m["structure, 1"]), times(m["limit"], m["structure, 1"])),
            by_two("structure"), "%s; %s" % (common.duration(m["full, 1"]), common.rate(found["bytes"], m["full, 1"])),
            "%s, %s: %s" % (times(peer1, m["full, 1"]), name1, "–" if peer1 is None else common.duration(peer1)),
            by_two("full"),
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
