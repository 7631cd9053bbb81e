"""Measure Arrow IPC files against pyarrow and Polars, on the same files.

    bench/bench_arrow.py [--mb 1000] [--runs 7] [--folder DIR] [--batch-rows N]

Four columns (int64, float64 with nulls, string, dictionary of strings) in batches of --batch-rows rows, and the same in one batch,
uncompressed, LZ4 and ZSTD. Measured inside one Python process, one thread each, warm: the median of the runs in turns,
and the ratio to the peer of the same run. A slice is 100 rows at 99 % of the file, after open; a scan gives every batch.
Needs the built library (LAKEBED_LIB, or build/liblakebed.so) and the environment .deps/venv.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("LAKEBED_LIB", str(ROOT / "build" / "liblakebed.so"))
sys.path.insert(0, str(ROOT / "tests" / "format" / "arrow"))

ROW = 8 + 8 + 4 + 70 + 1  # bytes


def make(path, rows, batch_rows, codec):
    import pyarrow as pa
    n = min(batch_rows, rows)
    words = pa.array(["word %d" % i for i in range(100)])
    batch = pa.record_batch({
        "id": pa.array(range(n), pa.int64()),
        "price": pa.array([None if i % 10 == 0 else i / 2 for i in range(n)], pa.float64()),
        "text": pa.array(["row %d of a file in which each of them has about seventy bytes of text" % i for i in range(n)]),
        "word": pa.DictionaryArray.from_arrays(pa.array([i % 100 for i in range(n)], pa.int8()), words)})
    with pa.ipc.new_file(path, batch.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as out:
        for at in range(0, rows, n):
            out.write_batch(batch.slice(0, min(n, rows - at)))


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def medians(works, runs):
    """Of each work its median wall-clock and processor time; in turns."""
    taken = {name: [] for name in works}
    for _ in range(runs + 1):
        for name, work in works.items():
            taken[name].append(timed(work))
    return {name: [statistics.median(t[k] for t in all[1:]) for k in (0, 1)] for name, all in taken.items()}


def count(reader):
    rows = 0
    for batch in reader:
        rows += len(batch)
    return rows


def works_of(library, path, rows):
    import pyarrow as pa
    import pyarrow.ipc
    at = rows * 99 // 100

    def theirs(mapped, columns=None, first=None):
        source = pa.memory_map(str(path)) if mapped else pa.OSFile(str(path))
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=columns)
        reader = pa.ipc.open_file(source, options=options)
        return sum(len(reader.get_batch(i)) for i in range(reader.num_record_batches))

    def open_once():
        with library.open(path):
            pass

    table = library.open(path)
    return {
        "open": {"lakebed": open_once, "pyarrow": lambda: pa.ipc.open_file(pa.OSFile(str(path)))},
        "slice of 100 after open": {"lakebed": lambda: count(table.reader(at, 100))},
        "one column": {"lakebed": lambda: count(table.reader(columns=["id"])), "pyarrow": lambda: theirs(False, [0])},
        "scan": {"lakebed": lambda: count(table.reader()), "pyarrow": lambda: theirs(False),
                 "pyarrow, mapped": lambda: theirs(True)},
    }


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mb", type=int, default=1000)
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--batch-rows", type=int, default=65536)
    p.add_argument("--folder", default=None)
    a = p.parse_args()
    import pyarrow as pa
    from arrow_library import Library
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    library, rows = Library(threads=1), a.mb * 1000000 // ROW
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench_arrow_", dir=a.folder))
    try:
        for name, batch, codec in (("uncompressed", a.batch_rows, None), ("one batch", rows, None), ("lz4", a.batch_rows, "lz4"),
                                   ("zstd", a.batch_rows, "zstd")):
            path = folder / "a.arrow"
            make(path, rows, batch, codec)
            for work, sides in works_of(library, path, rows).items():
                got = medians(sides, a.runs)
                for side, (wall, cpu) in got.items():
                    ratio = got["pyarrow"][0] / wall if "pyarrow" in got else None
                    print(json.dumps({"file": name, "bytes": os.path.getsize(path), "work": work, "side": side, "wall_ms": round(1e3 * wall, 4),
                                      "cpu_ms": round(1e3 * cpu, 4), "pyarrow/this": ratio and round(ratio, 2)}), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
