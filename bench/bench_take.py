"""Measure scattered rows of a mapped CSV file, against DuckDB and Polars, in the same rounds.

    bench/bench_take.py [--size 1G] [--runs 9] [--json FILE] [--folder DIR] [--write]

Takes 10, 1,000 and 100,000 rows drawn at random (always the same), in the order drawn, at strides of 65,536 and 4,096 rows;
shuffles all rows; and finds splits of 64 MB. The peers give the same rows: Polars by gathering from the file read lazily, with all
cores, DuckDB by joining a table of row numbers with the numbered rows of the file. Every answer is checked first. Times of
the command are those of the whole process; those of the peers leave out what Python and they take to start. `--write` puts the
section into bench/RESULTS.md in place of the last one.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import run as bench_run

COUNTS = (10, 1_000, 100_000)
STRIDES = (65536, 4096)
COLUMNS = "id,price,note"
PASS = "one pass: slice of all rows, one column"
RESULTS = bench_run.HERE / "RESULTS.md"
HEAD = "## Scattered rows"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--size", type=bench_run.parse_size, default=bench_run.parse_size("1G"), help="bytes of the file (default 1G)")
    add("--runs", type=int, default=9, help="runs of what takes milliseconds; the rest runs a third as often")
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, default=bench_run.ROOT / "build" / "bench_take.json")
    add("--folder", help="make the files in a folder below this one")
    add("--write", action="store_true", help="write the section into bench/RESULTS.md")
    return parser.parse_args()


def make_rows(folder, rows):
    """A file of row numbers for each count."""
    drawn = random.Random(20261130)
    files = {}
    for count in COUNTS:
        files[count] = folder / ("rows-%d.txt" % count)
        files[count].write_text("".join("%d\n" % drawn.randrange(rows) for _ in range(count)))
    return files


def take(lakebed, path, file, *more):
    return [lakebed, "take", path, "--rows-from", file, "--columns", COLUMNS, "--to", "arrows", *more]


def peer(tool, path, file):
    return [sys.executable, bench_run.HERE / "peers.py", tool, "take", path, file, COLUMNS]


def check(lakebed, path, file):
    """The first column is the number of the row."""
    out = bench_run.output([lakebed, "take", path, "--rows-from", file, "--columns", "id", "--to", "csv"]).split()
    assert out[1:] == file.read_text().split(), "the rows taken are wrong"


def add_takes(bench, lakebed, lakes, name, files):
    for count, file in files.items():
        for stride, lake in lakes.items():
            for threads in (1, os.cpu_count()):
                command = take(lakebed, lake / name, file, "-j", str(threads))
                label = "take %d rows, stride %d, %d thread%s" % (count, stride, threads, "s" * (threads > 1))
                bench.add(label, lambda command=command: bench_run.wall(command), slow=count > 1000)


def add_peers(bench, path, files):
    for tool in ("duckdb", "polars"):
        if not bench_run.have(tool):
            print("%s is left out: it is not installed" % tool, file=sys.stderr)
            continue
        for count, file in files.items():
            command = peer(tool, path, file)
            bench.add("%s takes %d rows" % (tool, count),
                      lambda command=command: bench_run.told(command, os.cpu_count()), slow=True)


def add_rest(bench, lakebed, path):
    bench.add(PASS, lambda: bench_run.wall([lakebed, "slice", path, "--columns", "id", "--to", "arrows"]), slow=True)
    bench.add("shuffle of all rows", lambda: bench_run.wall([lakebed, "shuffle", path, "--seed", "1", "--to", "arrows"]),
              slow=True)
    bench.add("splits of 64 MB", lambda: bench_run.wall([lakebed, "splits", path, "--target", "64MB"]))
    bench.add("splits of 1 MB", lambda: bench_run.wall([lakebed, "splits", path, "--target", "1MB"]), slow=True)


def table(bench):
    rows = [["work", "median", "held against", "as fast"], ["---"] * 4]
    for name in bench.times:
        if not name.startswith(("take", "shuffle", "splits")):
            continue
        count = name.split()[1]
        against = ["duckdb takes %s rows" % count, "polars takes %s rows" % count] if name.startswith("take") else [PASS]
        line = bench_run.ratio_row(bench, name, against, "")
        rows.append(line[:2] + line[3:])
    return "\n".join("| %s |" % " | ".join(row) for row in rows)


def measure(args, folder):
    bench = bench_run.Works(args.runs)
    path = folder / "orders.csv"
    rows = int(bench_run.output([bench_run.build_tool("bench_rows", folder), path, str(args.size)]))
    lakes = {stride: bench_run.make_lake(folder, "stride-%d" % stride, path) for stride in STRIDES}
    files = make_rows(folder, rows)
    for stride, lake in lakes.items():
        subprocess.run([args.lakebed, "map", lake, "-q", "--stride", str(stride)], check=True)
        for file in files.values():
            check(args.lakebed, lake / path.name, file)
    add_takes(bench, args.lakebed, lakes, path.name, files)
    add_peers(bench, path, files)
    add_rest(bench, args.lakebed, lakes[STRIDES[0]] / path.name)
    load = os.getloadavg()[0]
    bench.run()
    figures = {"machine": bench_run.machine(), "load_before": load, "versions": bench_run.versions(args.lakebed),
               "bytes": path.stat().st_size, "rows": rows, "seconds": bench.figures()}
    return figures, table(bench)


def section(figures, text):
    tools = ", ".join("%s %s" % pair for pair in figures["versions"].items())
    return ("%s\n\n%s, %s. %s. %s bytes, %s rows; load before: %.1f. `bench/bench_take.py`: rows drawn at random from a "
            "mapped\nfile, three of its columns, in the order drawn.\n\n%s\n" %
            (HEAD, datetime.date.today(), figures["machine"], tools, format(figures["bytes"], ","),
             format(figures["rows"], ","), figures["load_before"], text))


def write(text):
    """Put the section in place of the last one, or at the end."""
    old = RESULTS.read_text(encoding="utf-8")
    start = old.find(HEAD + "\n")
    if start < 0:
        RESULTS.write_text(old.rstrip("\n") + "\n\n" + text, encoding="utf-8")
        return
    end = old.find("\n## ", start + len(HEAD))
    rest = "" if end < 0 else old[end:]
    RESULTS.write_text(old[:start] + text + rest, encoding="utf-8")


def main():
    args = arguments()
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        figures, text = measure(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = section(figures, text)
    print(text)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if args.write:
        write(text)


if __name__ == "__main__":
    main()
