"""What the Python package adds to a slice in C, and batches of random rows against what trains models.

    bench/bench_python.py [--rows 1000000] [--runs 5] [--write]

The same slices of a mapped CSV file are taken in a C program and in Python, in turns; the difference of the medians is
what Python adds. Random batches of 256 rows, the same ones for all, are read by `take` from the CSV file itself (at two
strides of its map), from a Parquet file of the same rows (snappy, dictionaries, row groups of 64 Ki rows) and from a Lance
dataset, and, where `datasets` is installed, from datasets of Hugging Face made of the CSV file and of the Parquet file,
which are Arrow files in its cache (warm), as processor time; and from that Arrow file itself. What was made first is
timed beside.
Needs a build with the Python package (`cmake --build build --target lakebed_python`). `--write` puts the section into
bench/RESULTS.md in place of the last one.
"""

import argparse
import datetime
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import run as bench_run

HEAD = "## Python"
RESULTS = bench_run.HERE / "RESULTS.md"
BUILD = pathlib.Path(os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed")).parent
COUNTS = (1, 100, 1000)
STEP = 7919
TIMES = 400
STRIDES = (1024, 64)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the figures into bench/RESULTS.md")
    return parser.parse_args()


def make(path, rows):
    with open(path, "w") as out:
        out.write("id,price,name,flag\n")
        out.writelines("%d,%.2f,item %d,%s\n" % (i, i * 0.37, i % 1000, i % 2 == 0) for i in range(rows))


def c_program(folder):
    program = folder / "bench_slice"
    flags = ["-std=gnu11", "-O2", "-I", bench_run.ROOT / "include", bench_run.HERE / "bench_slice.c"]
    link = ["-L", BUILD, "-llakebed", "-Wl,-rpath," + str(BUILD), "-o", program]
    subprocess.run(["cc", *flags, *link], check=True)
    return program


def in_c(program, path, rows, count):
    words = [program, path, rows, count, STEP, TIMES]
    return [int(line) for line in bench_run.output([str(word) for word in words]).split()]


def in_python(table, rows, count):
    taken = []
    for i in range(TIMES):
        began = time.perf_counter_ns()
        table.slice(i * STEP % rows, count)
        taken.append(time.perf_counter_ns() - began)
    return taken


def overhead(lakebed, program, path, rows, runs):
    """Rows of the table: count, microseconds in C, in Python, and the difference, of medians over all runs."""
    table = lakebed.open(path)
    assert table.files[0].map == "used" and table.slice(STEP, 2).column("id") == [STEP, STEP + 1]
    for count in COUNTS:
        pairs = []
        for _ in range(runs):
            pairs.append((statistics.median(in_c(program, path, rows, count)),
                          statistics.median(in_python(table, rows, count))))
        c, python = (statistics.median(side) / 1000 for side in zip(*pairs))
        more = statistics.median(b - a for a, b in pairs) / 1000
        yield "%d row%s" % (count, "s" if count > 1 else ""), "%.1f µs" % c, "%.1f µs" % python, "%.1f µs" % more


def batches_of(rows, n=50, size=256):
    draw = random.Random(7)
    return [[draw.randrange(rows) for _ in range(size)] for _ in range(n)]


def timed(read, batches):
    """Seconds of the processor for a batch, of all threads: others may be at work on the machine."""
    began = time.process_time()
    for batch in batches:
        read(batch)
    return (time.process_time() - began) / len(batches)


def parquet_of(table, path):
    """The same rows as Parquet."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(table), path, row_group_size=65_536)
    return path


def hugging_face(folder, batches, expected, files, notes):
    """A reader for each kind of file, of the Arrow file that `datasets` makes of it first; and where that file is."""
    try:
        import datasets
    except ImportError:
        notes.append("`datasets` is not installed: no figures of it.")
        return {}, []
    datasets.disable_progress_bars()
    readers, made = {}, []
    for kind, path in files:
        began = time.perf_counter()
        loaded = datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(folder / ("cache_" + kind)))
        notes.append("`datasets` %s made its cache of %s in %.1f s." % (
            datasets.__version__, {"csv": "CSV", "parquet": "Parquet"}[kind], time.perf_counter() - began))
        arrow = loaded.with_format("arrow")
        assert arrow[batches[0]].column("id").to_pylist() == expected
        readers["datasets, made of %s" % path.name] = arrow.__getitem__
        made += [file["filename"] for file in loaded.cache_files]
    return readers, made


def random_reads(lakebed, path, rows, runs, folder):
    batches = batches_of(rows)
    table = lakebed.open(path)
    readers, notes = {}, []
    for stride in STRIDES:
        began = time.perf_counter()
        lakebed.lake.create_map(folder, show_progress=False, include=["*.csv"], checkpoint_stride_rows=stride)
        notes.append("The map of stride %d was made in %.1f s." % (stride, time.perf_counter() - began))
        readers["lakebed, the CSV file, stride %d" % stride] = lakebed.open(path).take
    began = time.perf_counter()
    readers["lakebed, a Lance dataset"] = lakebed.lance.create(folder / "items.lance", table).take
    notes.append("The Lance dataset was made in %.1f s." % (time.perf_counter() - began))
    expected = table.take(batches[0]).column("id")
    parquet = parquet_of(table, folder / "items.parquet")
    began = time.perf_counter()
    lakebed.lake.create_map(folder, show_progress=False, include=["*.csv", "*.parquet"], pages=True,
                            checkpoint_stride_rows=64)
    notes.append("The map of the Parquet file was made in %.1f s." % (time.perf_counter() - began))
    readers["lakebed, the Parquet file"] = lakebed.open(parquet).take
    theirs, made = hugging_face(folder, batches, expected, (("csv", path), ("parquet", parquet)), notes)
    for name in made[:1]:
        for title, memory_map in (("", False), (", memory_map", True)):
            readers["lakebed, the Arrow file of datasets" + title] = lakebed.open(name, memory_map=memory_map).take
    readers.update(theirs)
    for name, read in readers.items():
        got = read(batches[0])
        assert (got.column("id") if name.startswith("lakebed") else got.column("id").to_pylist()) == expected, name
    for read in readers.values():
        read(batches[0])
    best = {name: statistics.median(timed(read, batches) for _ in range(runs)) for name, read in readers.items()}
    return [(name, "%.2f ms" % (seconds * 1000)) for name, seconds in best.items()], notes


def section(args, cost, reads, notes):
    lines = [HEAD, "", "%s; `bench/bench_python.py --rows %d --runs %d`; %s." % (
        datetime.date.today().isoformat(), args.rows, args.runs, "the machine as above"), "",
        "| slice of a mapped CSV file | in C | in Python | Python adds |", "| --- | --- | --- | --- |"]
    lines += ["| %s |" % " | ".join(row) for row in cost]
    lines += ["", "| 256 rows at random | processor time a batch |", "| --- | --- |"]
    lines += ["| %s |" % " | ".join(row) for row in reads]
    return "\n".join(lines + [""] + notes) + "\n"


def write(text):
    """Behind the others, or in place of the last one."""
    page = RESULTS.read_text(encoding="utf-8")
    before, _, rest = page.partition(HEAD + "\n")
    after = rest[rest.index("\n## ") + 1:] if "\n## " in rest else ""
    page = before.rstrip("\n") + "\n\n" + text.rstrip("\n") + "\n" + ("\n" + after if after else "")
    RESULTS.write_text(page, encoding="utf-8")


def main():
    args = arguments()
    sys.path.insert(0, str(BUILD / "python"))
    import lakebed

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "items.csv"
        make(path, args.rows)
        lakebed.lake.create_map(folder, show_progress=False, checkpoint_stride_rows=1024)
        cost = list(overhead(lakebed, c_program(folder), path, args.rows, args.runs))
        reads, notes = random_reads(lakebed, path, args.rows, args.runs, folder)
        text = section(args, cost, reads, notes)
    print(text)
    if args.write:
        write(text)


if __name__ == "__main__":
    main()
