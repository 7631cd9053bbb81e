"""Measure reading ORC files against pyarrow and pyorc, on the same files.

    bench/bench_orc.py [--rows 1000000] [--runs 7] [--codec zstd,zlib,…]

Files of ten columns (whole numbers, doubles, words of a dictionary, texts of their own, booleans, numbers with nulls, timestamps,
decimals) are made with pyarrow in a temporary folder. Lakebed and pyarrow give Arrow columns, with one thread each; pyorc gives
Python's values, of a tenth of the rows, and its time is that times ten. Medians of the processor time of the process, in turns,
with a warm cache. Needs the built library (LAKEBED_LIB, or build/liblakebed.so) and .deps/venv.
"""

import argparse
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("LAKEBED_LIB", str(ROOT / "build" / "liblakebed.so"))
os.environ.setdefault("LAKEBED_SOURCE", str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "lance"))

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc
import pyorc
from lance_api import Library

CODECS = ["uncompressed", "zlib", "snappy", "lz4", "zstd"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000, help="rows of each file (default 1000000)")
    add("--runs", type=int, default=7, help="runs of each measurement (default 7)")
    add("--codec", default=",".join(CODECS), help=f"of {','.join(CODECS)} (default all)")
    return parser.parse_args()


def table(rows):
    rng = random.Random(1)
    uniform = pa.array([rng.random() for _ in range(rows)])
    other = pa.array([rng.random() for _ in range(rows)])

    def whole(values, low, high, kind):
        return pc.cast(pc.floor(pc.add(pc.multiply(values, high - low), low)), kind)

    words = pa.array(["word number %d" % i for i in range(5000)])
    cents = pc.cast(whole(other, 0, 10**7, "int64"), pa.decimal128(19, 0))
    return pa.table({
        "id": pa.array(range(rows)),
        "int": whole(uniform, -1000, 100_000, "int32"),
        "long": whole(other, -2**50, 2**50, "int64"),
        "double": uniform,
        "word": words.take(whole(other, 0, 5000, "int32")),
        "text": pc.binary_join_element_wise("x", pc.cast(whole(uniform, 0, 10**9, "int64"), "string"), ""),
        "bool": pc.less(uniform, 0.3),
        "null": pc.if_else(pc.less(other, 0.2), pa.scalar(None, "int32"), whole(uniform, 0, 100, "int32")),
        "time": pc.cast(pc.multiply(whole(uniform, 0, 10**15, "int64"), 1999), pa.timestamp("ns")),
        "decimal": pc.cast(cents, pa.decimal128(21, 2))})


def with_pyorc(path, rows):
    with open(path, "rb") as file:
        reader = pyorc.Reader(file)
        for _ in range(rows):
            next(reader)


def measure(works, runs):
    times = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def main():
    args = arguments()
    pa.set_cpu_count(1)
    library = Library()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-orc-"))
    try:
        data = table(args.rows)
        for codec in args.codec.split(","):
            path = str(folder / f"{codec}.orc")
            pyarrow.orc.write_table(data, path, compression=codec, stripe_size=64 << 20, dictionary_key_size_threshold=0.5)
            part = max(args.rows // 10, 1)
            middle = args.rows // 2
            full = measure({"lakebed": lambda: library.read(path), "pyarrow": lambda: pyarrow.orc.ORCFile(path).read()}, args.runs)
            slices = measure({"lakebed": lambda: library.read(path, middle, 100)}, args.runs)
            slow = measure({"pyorc": lambda: with_pyorc(path, part)}, 3)["pyorc"] * args.rows / part
            ours = full["lakebed"]
            print(f"{codec:<13} all {ours * 1e3:8.1f} ms  pyarrow {full['pyarrow'] * 1e3:8.1f} ms {full['pyarrow'] / ours:5.2f}x"
                  f"  pyorc {slow * 1e3:8.0f} ms {slow / ours:6.1f}x  100 rows {slices['lakebed'] * 1e3:6.2f} ms", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
