"""Measure JSON files, as lines and as one array: their structure, maps, decoding and slices, against the machine's
limit and other tools.

    bench/bench_json.py [--size 1G] [--runs 9] [--threads N] [--json FILE] [--folder DIR]

The same rows stand in two files: an object on each line, and one array in a single line (bench/bench_json_rows.c).
Structure is measured in process (bench/bench_json_walk.c, the target lakebed_bench_json of the build): reading, UTF-8,
values, checkpoints with their lines. Times of the command are those of the whole process. Every work is measured as
wall time and as processor time; ratios are of the latter but for slices, since others may be at work on the machine.
Works take turns.
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

import run as bench_run

LAYOUTS = {"lines": "ndjson", "array": "json"}
STRIDES = (65536, 4096)
COUNT = 100
LIMIT = bench_run.LIMIT
# One command: seconds, processor seconds, KiB at its peak. The peak of a process begins with that of the one it was
# forked from, so a small one comes between.
MEASURE = """import os, sys, time
started = time.perf_counter()
null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[null])
_, status, usage = os.wait4(pid, 0)
took = time.perf_counter() - started
print(os.waitstatus_to_exitcode(status), took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--size", type=bench_run.parse_size, default=bench_run.parse_size("1G"), help="bytes of each file (default 1G)")
    add("--runs", type=int, default=9, help="runs of what takes milliseconds; the rest runs a third as often")
    add("--threads", type=int, default=os.cpu_count(), help="of the map by several threads")
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, default=bench_run.ROOT / "build" / "bench_json.json")
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


def cost(command):
    """Wall seconds, processor seconds and KiB of a command that must succeed."""
    status, wall, cpu, kib = bench_run.output([sys.executable, "-I", "-S", "-c", MEASURE, *map(str, command)]).split()
    if status != "0":
        sys.exit("%s: status %s" % (command, status))
    return float(wall), float(cpu), int(kib)


class Works:
    def __init__(self, runs):
        self.runs, self.works, self.costs = runs, {}, {}

    def add(self, name, command, slow=True):
        self.works[name] = ([*map(str, command)], slow)
        self.costs[name] = []

    def run(self):
        for turn in range(self.runs):
            print("round %d of %d" % (turn + 1, self.runs), file=sys.stderr)
            for name, (command, slow) in self.works.items():
                if not slow or turn % 3 == 0:
                    self.costs[name].append(cost(command))

    def median(self, name, what):
        return statistics.median(c[what] for c in self.costs[name])

    def figures(self):
        out = {}
        for name, costs in self.costs.items():
            out[name] = {"runs": len(costs)}
            for key, values in zip(("wall", "cpu", "kib"), zip(*costs)):
                out[name][key] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
        return out


def make_files(args, folder):
    """{layout: (path, rows)}, each file in a lake of its own, mapped at each stride."""
    maker = bench_run.build_tool("bench_json_rows", folder)
    files = {}
    for layout, extension in LAYOUTS.items():
        path = folder / ("orders." + extension)
        rows = int(bench_run.output([maker, path, str(args.size), layout]))
        lakes = {stride: bench_run.make_lake(folder, "%s-%d" % (layout, stride), path) for stride in STRIDES}
        for stride, lake in lakes.items():
            subprocess.run([args.lakebed, "map", lake, "-q", "--stride", str(stride)], check=True)
            check_slice(args.lakebed, lake / path.name, rows)
        anew = bench_run.make_lake(folder, layout + "-anew", path)
        files[layout] = (path, rows, lakes, anew)
    return files


def check_slice(lakebed, path, rows):
    """A figure is worth something only if the answer is right."""
    out = bench_run.output([lakebed, "slice", path, "--offset", str(rows - COUNT), "--to", "csv", "--columns", "id"])
    assert out.split() == ["id"] + [str(i) for i in range(rows - COUNT, rows)], "the slice at the end is wrong"


def add_lakebed(works, args, walker, layout, path, rows, lakes, anew):
    name = layout + ": "
    works.add(name + "structure", [walker, path, layout])
    works.add(name + "map, 1 thread", [args.lakebed, "map", anew, "-q", "-j", "1"])
    works.add(name + "map, %d threads" % args.threads, [args.lakebed, "map", anew, "-q", "-j", str(args.threads)])
    mapped = lakes[STRIDES[0]] / path.name
    works.add(name + "decode all, 1 thread", [args.lakebed, "slice", mapped, "--to", "arrows", "-j", "1"])
    works.add(name + "decode 2 columns, 1 thread",
              [args.lakebed, "slice", mapped, "--to", "arrows", "-j", "1", "--columns", "id,price"])
    for stride, lake in lakes.items():
        for where, first in (("start", 0), ("end", rows - COUNT)):
            command = [args.lakebed, "slice", lake / path.name, "--offset", str(first), "--limit", str(COUNT)]
            works.add(name + "slice at the %s, stride %d" % (where, stride), [*command, "--to", "csv"], slow=False)


def add_peers(works, layout, path, rows):
    peers = [sys.executable, bench_run.HERE / "peers.py"]
    for tool in ("duckdb", "polars"):
        if not bench_run.have(tool):
            print("%s is left out: it is not installed" % tool, file=sys.stderr)
            continue
        for work, words in (("bounds", ["read", path]), ("decode", ["decode", path]),
                            ("slice at the end", ["slice", path, str(rows - COUNT), str(COUNT)])):
            works.add("%s: %s, %s" % (layout, tool, work), [*peers, tool, *words])


def measure(args, folder):
    os.environ.setdefault("THREADS", "1")    # of the peers
    subprocess.run(["cmake", "--build", args.lakebed.parent, "--target", "lakebed_bench_json"], check=True,
                   stdout=subprocess.DEVNULL)
    works = Works(args.runs)
    files = make_files(args, folder)
    works.add(LIMIT, [bench_run.build_tool("bench_limit", folder), files["lines"][0]], slow=False)
    works.add("the process alone (lakebed version)", [args.lakebed, "version"], slow=False)
    for layout, (path, rows, lakes, anew) in files.items():
        add_lakebed(works, args, args.lakebed.parent / "bench_json_walk", layout, path, rows, lakes, anew)
        add_peers(works, layout, path, rows)
    load = os.getloadavg()[0]
    works.run()
    figures = {"machine": bench_run.machine(), "versions": bench_run.versions(args.lakebed), "load_before": load,
               "load_after": os.getloadavg()[0], "bytes": {k: f[0].stat().st_size for k, f in files.items()},
               "rows": {k: f[1] for k, f in files.items()}, "costs": works.figures()}
    return figures, table(works, figures)


# ---- telling

def others(works, layout, work):
    """The works of the same run that one of ours is held against."""
    if work == "structure":
        return [LIMIT]
    kinds = {"slice": "slice at the end", "map": "bounds", "decode": "decode"}
    kind = next((kind for word, kind in kinds.items() if work.startswith(word)), None)
    names = ["%s: %s, %s" % (layout, tool, kind) for tool in ("duckdb", "polars")]
    return [name for name in names if name in works.works]


def row(works, figures, name):
    wall, cpu, kib = (works.median(name, i) for i in range(3))
    layout, _, work = name.partition(": ")
    size = figures["bytes"].get("lines" if name == LIMIT else layout, 0)
    what = 0 if "slice" in work else 1
    held = min(((works.median(other, what), other) for other in others(works, layout, work)), default=None)
    return [name, bench_run.duration(wall), bench_run.duration(cpu),
            bench_run.rate(size, cpu) if size and "slice" not in work else "", "%.0f MiB" % (kib / 1024),
            "%s: %s" % (held[1], bench_run.duration(held[0])) if held else "",
            "%.2f ×" % (held[0] / (wall, cpu)[what]) if held else ""]


def table(works, figures):
    lines = [["work", "wall", "processor", "of processor time", "peak", "held against", "as fast"], ["---"] * 7]
    lines += [row(works, figures, name) for name in works.works]
    return "\n".join("| %s |" % " | ".join(line) for line in lines)


def main():
    args = arguments()
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        figures, text = measure(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tools = ", ".join("%s %s" % pair for pair in figures["versions"].items())
    print("%s\n%s; load before %.1f, after %.1f\n%s\n\n%s" % (figures["machine"], tools, figures["load_before"],
                                                              figures["load_after"], figures["rows"], text))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
