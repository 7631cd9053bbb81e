"""Measure maps by their number of files: opening one, finding a row and a path in it; and a lake of many empty files mapped,
checked and healed.

    bench/bench_map.py [--entries 1,1000,1000000] [--files 200000] [--lookups 100000] [--runs 9] [--json FILE] [--folder DIR]

Also run by bench/run.py. The maps are made by the library's own writer from entries behind which no files stand
(bench/bench_map.c, the target lakebed_bench_map of the build). Opening is the call in a process that has just begun; rows and
paths are picked at random, and are asked for twice, of which the second round counts: the first brings the map's pages in. All
of this is processor time.
Memory is the largest resident size of the whole command. Every figure is the median of its runs, which take turns.
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

OPEN, FIRST, ROW, PATH = "opening", "the first row found", "a row", "a path"
MAP, NOTHING, HEAL, WALK = "map", "doctor, nothing changed", "heal, 1 in 100 touched, gone or new", "find with size and time of each file"
# The peak of a process begins with that of the one it was forked from, so that a small one has to come between.
MEASURE = """import os, sys, time
started = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), time.perf_counter() - started, usage.ru_maxrss)"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--entries", type=lambda text: [int(n) for n in text.split(",")], default=[1, 1000, 1000000],
        help="sizes of the made maps (10000000 takes 4 GB)")
    add("--files", type=int, default=200_000, help="empty files to map (default 200000)")
    add("--lookups", type=int, default=100_000)
    add("--runs", type=int, default=9)
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, default=bench_run.ROOT / "build" / "bench_map.json")
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


def maker(lakebed):
    """The program that makes maps, built beside the command."""
    subprocess.run(["cmake", "--build", lakebed.parent, "--target", "lakebed_bench_map"], check=True, stdout=subprocess.DEVNULL)
    return lakebed.parent / "bench_map"


def measure_maps(program, folder, entries, lookups, runs):
    """{entries: {what: [seconds]}} and the sizes of the maps."""
    times, sizes = {n: {OPEN: [], FIRST: [], ROW: [], PATH: []} for n in entries}, {}
    for n in entries:
        (folder / str(n)).mkdir()
        subprocess.run([program, "make", folder / str(n), str(n)], check=True)
        sizes[n] = (folder / str(n) / ".br_map.bazan").stat().st_size
    for _ in range(runs):
        for n in entries:
            words = bench_run.output([program, "ask", folder / str(n), str(lookups)]).split()
            for what, seconds in zip((OPEN, FIRST, ROW, PATH), words):
                times[n][what].append(float(seconds))
    return times, sizes


def cost(command, statuses=(0,)):
    """Seconds and KiB of a command."""
    out = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, *map(str, command)], check=True, capture_output=True, text=True)
    status, seconds, kib = out.stdout.split()
    if int(status) not in statuses:
        sys.exit("%s: status %s" % (command, status))
    return float(seconds), int(kib)


def empty(folder, name, count):
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        os.close(os.open(folder / (name % i), os.O_CREAT | os.O_WRONLY))


def change(lake, turn):
    """Every hundredth file is touched, the one after it goes, and a new one comes."""
    for folder in sorted(lake.iterdir()):
        if folder.is_dir():
            names = sorted(p for p in folder.iterdir())
            for i in range(turn, len(names) - 1, 100):
                os.utime(names[i], ns=(10**18 + turn, 10**18 + turn))
                names[i + 1].unlink()
                os.close(os.open(folder / ("turn-%d-%06d.csv" % (turn, i)), os.O_CREAT | os.O_WRONLY))


def measure_lake(lakebed, lake, count, runs):
    for k in range(0, count, 1000):
        empty(lake / ("%05d" % (k // 1000)), "%06d.csv", min(1000, count - k))
    costs = {WALK: [], MAP: [], NOTHING: [], HEAL: []}
    for turn in range(runs):
        costs[WALK].append(cost(["find", lake, "-printf", "%s %T@\\n"]))
        costs[MAP].append(cost([lakebed, "map", "-q", lake]))
        cost([lakebed, "doctor", "-q", "--heal", lake])
        costs[NOTHING].append(cost([lakebed, "doctor", "-q", lake]))
        change(lake, turn)
        costs[HEAL].append(cost([lakebed, "doctor", "-q", "--heal", lake]))
    return costs


def micro(seconds):
    return "%.0f µs" % (seconds * 1e6) if seconds >= 1e-5 else "%.2f µs" % (seconds * 1e6)


def line(cells):
    return "| %s |" % " | ".join(cells)


def map_table(times, sizes):
    rows = [["files in the map", "its size", OPEN, FIRST, ROW, PATH], ["---"] * 6]
    for n, by in times.items():
        rows.append(["{:,}".format(n), "%.1f MB" % (sizes[n] / 1e6)] + [micro(statistics.median(by[w])) for w in (OPEN, FIRST, ROW, PATH)])
    return "\n".join(map(line, rows))


def lake_table(costs, count, size):
    rows = [["{:,} empty files, a map of {:.1f} MB".format(count, size / 1e6), "median", "least", "memory"], ["---"] * 4]
    for work, figures in costs.items():
        seconds, kib = zip(*figures)
        rows.append([work, bench_run.duration(statistics.median(seconds)), bench_run.duration(min(seconds)),
                     "%.0f MB" % (max(kib) * 1024 / 1e6)])
    return "\n".join(map(line, rows))


def measure(args, folder, entries, files, lookups):
    load = os.getloadavg()[0]
    times, sizes = measure_maps(maker(args.lakebed), folder, entries, lookups, args.runs)
    lake = folder / "lake"
    costs = measure_lake(args.lakebed, lake, files, args.runs)
    size = (lake / ".br_map.bazan").stat().st_size
    figures = {"load_before": load, "load_after": os.getloadavg()[0], "maps": {str(n): by for n, by in times.items()},
               "map_bytes": {str(n): s for n, s in sizes.items()}, "files": files, "lake_map_bytes": size,
               "lake": {work: {"seconds": [s for s, _ in c], "kib": [k for _, k in c]} for work, c in costs.items()}}
    return figures, map_table(times, sizes) + "\n\n" + lake_table(costs, files, size)


def main():
    args = arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        figures, text = measure(args, folder, args.entries, args.files, args.lookups)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%s; load before: %.1f, after: %.1f\n\n%s" % (bench_run.machine(), figures["load_before"], figures["load_after"], text))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
