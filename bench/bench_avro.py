"""Measure Avro files against fastavro, on the same files in the same run.

    bench/bench_avro.py [--rows 1000000] [--runs 5] [--folder DIR]

Rows have ten fields: numbers, texts, nullable ones, an enum, a list, a record. Lakebed's figures are the processor time of the whole command with
one thread (`slice --to arrows` into nothing decodes every value, and prints the Arrow batches); those of fastavro leave out what
Python takes to start. Medians, in turns. Needs the environment of the tests (tools/setup.sh --tests).
"""

import argparse
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import run as bench_run

CODECS = ["null", "deflate", "snappy", "zstandard"]
SCHEMA = {"type": "record", "name": "Row", "fields": [
    {"name": "id", "type": "long"}, {"name": "when", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "name", "type": "string"}, {"name": "city", "type": ["null", "string"]}, {"name": "x", "type": "double"},
    {"name": "n", "type": ["null", "int"]}, {"name": "flag", "type": "boolean"},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["a", "bb", "ccc"]}},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "pos", "type": {"type": "record", "name": "Pos", "fields": [
        {"name": "a", "type": "float"}, {"name": "b", "type": ["null", "long"]}]}}]}


def arguments(about):
    parser = argparse.ArgumentParser(description=about.split("\n", 1)[0])
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000, help="rows of each file (default 1000000)")
    add("--runs", type=int, default=5, help="runs of each measurement (default 5)")
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


def rows(count):
    r = random.Random(1)
    for i in range(count):
        yield {"id": i, "when": 1577836800000000 + i * 1000000, "name": "name%d" % r.randrange(10**6),
               "city": None if i % 7 == 0 else "city of %d" % (i % 50), "x": r.random(), "n": None if i % 5 == 0 else i % 1000,
               "flag": i % 2 == 0, "kind": ["a", "bb", "ccc"][i % 3], "tags": ["t%d" % j for j in range(i % 4)],
               "pos": {"a": 0.5, "b": i}}


def make(folder, count):
    import fastavro
    files = {}
    for codec in CODECS:
        files[codec] = folder / (codec + ".avro")
        with open(files[codec], "wb") as out:
            fastavro.writer(out, SCHEMA, rows(count), codec=codec, sync_interval=64000)
    return files


# ---- the others (bench_msgpack.py has one too), each in a process of its own: processor seconds, rows

THEIRS = {
    "avro decode": "sum(1 for _ in fastavro.reader(f))",
    "avro count": "sum(b.num_records for b in fastavro.block_reader(f))",
    "msgpack decode": "sum(1 for _ in msgpack.Unpacker(f))",
}


def theirs(work, path):
    program = ("import sys, time, %s\nwith open(sys.argv[1], 'rb') as f:\n    t = time.process_time()\n    n = %s\n"
               "    print(time.process_time() - t, n)" % (work.split()[0].replace("avro", "fastavro"), THEIRS[work]))
    seconds, n = bench_run.output([sys.executable, "-c", program, str(path)]).split()
    return float(seconds), int(n)


def ours(command):
    """Processor seconds, and wall seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def say(title, mine, other, size=None):
    rate = "" if size is None else "  %6.0f MB/s" % (size / mine / 1e6)
    print("%-40s %9.1f ms  %9.1f ms  %7.1fx%s" % (title, mine * 1e3, other * 1e3, other / max(mine, 1e-9), rate), flush=True)


def race(a, title, command, work, path, size=None):
    times = []
    for _ in range(a.runs):
        times.append((ours(command)[0], theirs(work, path)[0]))
    say(title, statistics.median(m for m, _ in times), statistics.median(t for _, t in times), size)


def mapped(a, path, title):
    """100 rows from the middle of a mapped file."""
    command = [a.lakebed, "slice", path, "--offset", a.rows // 2, "--limit", 100, "--to", "arrows"]
    measured = [ours(command) for _ in range(a.runs * 3)]
    print("%-40s %9.1f ms, the whole command; %.1f ms of the processor" % (
        title, statistics.median(wall for _, wall in measured) * 1e3, statistics.median(cpu for cpu, _ in measured) * 1e3))


def main():
    a = arguments(__doc__)
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        files = make(pathlib.Path(folder), a.rows)
        print("%d rows; processor time of Lakebed, of the other, and the ratio" % a.rows)
        for codec in CODECS:
            path, size = files[codec], files["null"].stat().st_size
            race(a, "Avro %s, decode (fastavro)" % codec, [a.lakebed, "slice", path, "--to", "arrows", "-j", 1, "--no-map"],
                 "avro decode", path, size)
            race(a, "Avro %s, count (fastavro)" % codec, [a.lakebed, "count", path, "--no-map"], "avro count", path)
        bench_run.output([a.lakebed, "map", folder, "--quiet"])
        mapped(a, files["snappy"], "100 rows from the middle, mapped: snappy")


if __name__ == "__main__":
    main()
