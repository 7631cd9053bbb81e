"""Measure the doctor: against a bare walk of the directory, against other BLAKE3 programs, and against mapping anew.

    bench/bench_doctor.py [--size 1G] [--files 100000] [--runs 9] [--json FILE] [--folder DIR]

Also run by bench/run.py. The walk is `find DIR -printf '%s %T@\\n'`, which looks up the size and time of each file as the
doctor must. BLAKE3 is held against `b3sum` where it is installed, else against the blake3 package of Python, one thread
each. Every figure is the median of its runs, which take turns; times are those of whole processes, but for the package's.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run as bench_run

APPENDED = 1 << 20
LONG_AGO = 1_600_000_000
WALK = "find with size and time of each file"
NOTHING = "doctor, nothing changed"
HASH = "doctor under BLAKE3, 1 thread"
HEAL = "heal after 1 MiB was appended"
ANEW = "the same file mapped anew"
HASHER = """import blake3, sys, time
started, h = time.perf_counter(), blake3.blake3()
with open(sys.argv[1], "rb", buffering=0) as f:
    while piece := f.read(1 << 20):
        h.update(piece)
h.digest()
print(time.perf_counter() - started)"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--size", type=bench_run.parse_size, default=bench_run.parse_size("1G"), help="bytes of the large file (default 1G)")
    add("--files", type=int, default=100_000, help="small files to walk over (default 100000)")
    add("--runs", type=int, default=9)
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, default=bench_run.ROOT / "build" / "bench_doctor.json")
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


def make_many(folder, count):
    for i in range(count):
        if i % 1000 == 0:
            inner = folder / ("%04d" % (i // 1000))
            inner.mkdir(parents=True)
        path = inner / ("%03d.csv" % (i % 1000))
        path.write_text("id,price\n%d,%d.5\n" % (i, i % 100))
        os.utime(path, (LONG_AGO, LONG_AGO))


def add_walk(bench, lakebed, folder, count):
    make_many(folder, count)
    subprocess.run([lakebed, "map", "-q", folder], check=True)
    bench.add(WALK, lambda: bench_run.wall(["find", folder, "-printf", "%s %T@\\n"]))
    bench.add(NOTHING, lambda: bench_run.wall([lakebed, "doctor", "-q", folder]))
    bench.add(NOTHING + ", 1 thread", lambda: bench_run.wall([lakebed, "doctor", "-q", "-j", "1", folder]))


def add_hash(bench, lakebed, folder, path):
    """The name of what it is held against, or None."""
    lake = bench_run.make_lake(folder, "blake3", path)
    subprocess.run([lakebed, "map", "-q", "--fingerprint", "blake3", lake], check=True)
    bench.add(HASH, lambda: bench_run.wall([lakebed, "doctor", "-q", "-j", "1", lake]))
    if shutil.which("b3sum"):
        bench.add("b3sum, 1 thread", lambda: bench_run.wall(["b3sum", "--num-threads", "1", path]))
        return "b3sum, 1 thread"
    if bench_run.have("blake3"):
        bench.add("blake3 of Python, 1 thread", lambda: bench_run.told([sys.executable, "-c", HASHER, path]))
        return "blake3 of Python, 1 thread"
    print("neither b3sum nor the Python package blake3 is installed", file=sys.stderr)
    return None


def last_records(path, size):
    """About so many bytes of whole records from the end of the file."""
    with open(path, "rb") as f:
        f.seek(-size - 4096, os.SEEK_END)
        return f.read().split(b"\n", 1)[1][-size:].split(b"\n", 1)[1]


def add_heal(bench, lakebed, folder, path):
    """A copy grows with every run; another is mapped anew, whole."""
    grown = folder / "grown"
    grown.mkdir()
    shutil.copyfile(path, grown / path.name)
    anew = bench_run.make_lake(folder, "whole", path)
    subprocess.run([lakebed, "map", "-q", grown], check=True)
    more = last_records(path, APPENDED)

    def heal():
        with open(grown / path.name, "ab") as f:
            f.write(more)
        return bench_run.wall([lakebed, "doctor", "-q", "--heal", "-j", "1", grown])
    bench.add(HEAL, heal)
    bench.add(ANEW, lambda: bench_run.wall([lakebed, "map", "-q", "-j", "1", anew]), slow=True)


def table(bench, size, files, hasher):
    rows = [["work", "median", "", "held against", "as fast"], ["---"] * 5]
    for name in (NOTHING, NOTHING + ", 1 thread"):
        rows.append(bench_run.ratio_row(bench, name, [WALK], "%d files" % files))
    rows.append(bench_run.ratio_row(bench, HASH, [hasher] if hasher else [], bench_run.rate(size, bench.median(HASH))))
    rows.append(bench_run.ratio_row(bench, HEAL, [ANEW], "%d bytes in all" % size))
    return "\n".join("| %s |" % " | ".join(row) for row in rows)


def measure(args, folder, path, files=100_000):
    """Figures and their table; `path` is a large CSV file, which is left as it is."""
    bench = bench_run.Works(args.runs)
    add_walk(bench, args.lakebed, folder / "many", files)
    hasher = add_hash(bench, args.lakebed, folder, path)
    add_heal(bench, args.lakebed, folder, path)
    load = os.getloadavg()[0]
    bench.run()
    figures = {"load_before": load, "load_after": os.getloadavg()[0], "files": files, "bytes": path.stat().st_size,
               "seconds": bench.figures()}
    return figures, table(bench, path.stat().st_size, files, hasher)


def main():
    args = arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        path = folder / "orders.csv"
        bench_run.output([bench_run.build_tool("bench_rows", folder), path, str(args.size)])
        figures, text = measure(args, folder, path, args.files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%s; load before: %.1f, after: %.1f\n\n%s" % (bench_run.machine(), figures["load_before"], figures["load_after"], text))
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
