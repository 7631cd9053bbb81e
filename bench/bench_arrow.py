"""Measure Arrow IPC files against pyarrow, on the same files.

    bench/bench_arrow.py [--mb 1000] [--runs 7] [--batch-rows 65536] [--folder DIR] [--json] [--write]

Four columns (int64, float64 with nulls, string, dictionary of strings) in batches of --batch-rows rows, and the same in one
batch, uncompressed, LZ4 and ZSTD. Measured inside one Python process, one thread each, warm: the median of the runs in
turns, and the ratio to pyarrow in the same run. A slice is 100 rows at 99 % of the file, after open; a scan gives every
batch. Lakebed checks what it hands out (UTF-8, offsets) and decodes dictionaries; pyarrow does neither. "mapped" is
memory_map of Lakebed and pyarrow.memory_map. --write puts the table into bench/RESULTS.md in place of the last one.
Needs the built library (LAKEBED_LIB, or build/liblakebed.so) and the environment .deps/venv.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("LAKEBED_LIB", str(ROOT / "build" / "liblakebed.so"))
sys.path.insert(0, str(ROOT / "tests" / "format" / "arrow"))

RESULTS, HEAD = ROOT / "bench" / "RESULTS.md", "## Arrow IPC"
PLAIN = ["id", "price", "text"]
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


def works_of(library, path, rows, batch_rows):
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

    table, mapped = library.open(path), library.open(path, memory_map=True)

    def their_slice(source):
        """Of the batch that holds the rows; as many of them as it has."""
        batch = pa.ipc.open_file(source).get_batch(at // batch_rows)
        return len(batch.slice(at % batch_rows, 100))

    return {
        "open": {"lakebed": open_once, "pyarrow": lambda: pa.ipc.open_file(pa.OSFile(str(path)))},
        "100 rows": {"lakebed": lambda: count(table.reader(at, 100)), "lakebed, mapped": lambda: count(mapped.reader(at, 100)),
                     "pyarrow": lambda: their_slice(pa.OSFile(str(path))),
                     "pyarrow, mapped": lambda: their_slice(pa.memory_map(str(path)))},
        "one column": {"lakebed": lambda: count(table.reader(columns=["id"])),
                       "lakebed, mapped": lambda: count(mapped.reader(columns=["id"])),
                       "pyarrow": lambda: theirs(False, [0]), "pyarrow, mapped": lambda: theirs(True, [0])},
        "without dictionary": {"lakebed": lambda: count(table.reader(columns=PLAIN)),
                               "lakebed, mapped": lambda: count(mapped.reader(columns=PLAIN)),
                               "pyarrow": lambda: theirs(False, [0, 1, 2]), "pyarrow, mapped": lambda: theirs(True, [0, 1, 2])},
        "all rows": {"lakebed": lambda: count(table.reader()), "lakebed, mapped": lambda: count(mapped.reader()),
                     "pyarrow": lambda: theirs(False), "pyarrow, mapped": lambda: theirs(True)},
    }


def shown(ms):
    return "%.3f" % ms if ms < 1 else "%.1f" % ms if ms < 100 else "%.0f" % ms


SIDES = ("lakebed", "pyarrow", "lakebed, mapped", "pyarrow, mapped")


def row_of(name, work, got):
    """A line of the table: milliseconds of each side, and how many times as fast as pyarrow Lakebed is."""
    cells = [shown(1e3 * got[side][0]) if side in got else "" for side in SIDES]
    for ours, their in (SIDES[:2], SIDES[2:]):
        both = ours in got and their in got
        cells.append("%.2f" % (got[their][0] / got[ours][0]) if both else "")
    lakebed, pyarrow, mapped, pyarrow_mapped, ratio, ratio_mapped = cells
    return "| %s |" % " | ".join((name, work, lakebed, pyarrow, ratio, mapped, pyarrow_mapped, ratio_mapped))


def section(args, size, lines):
    import pyarrow as pa
    return "\n".join([HEAD, "",
        "%s; `bench/bench_arrow.py --mb %d --runs %d`; pyarrow %s, one thread each, warm; milliseconds, medians; the file of many "
        "batches has %.2f GB. Lakebed checks text and offsets and decodes dictionaries; pyarrow does neither." % (
            datetime.date.today().isoformat(), args.mb, args.runs, pa.__version__, size / 1e9), "",
        "| file | work | Lakebed | pyarrow | as fast | Lakebed, mapped | pyarrow, mapped | as fast |",
        "|---|---|---|---|---|---|---|---|", *lines]) + "\n"


def write(text):
    """Behind the others, or in place of the last one."""
    page = RESULTS.read_text(encoding="utf-8")
    before, _, rest = page.partition(HEAD + "\n")
    after = rest[rest.index("\n## ") + 1:] if "\n## " in rest else ""
    RESULTS.write_text(before.rstrip("\n") + "\n\n" + text.rstrip("\n") + "\n" + ("\n" + after if after else ""), encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mb", type=int, default=1000)
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--batch-rows", type=int, default=65536)
    p.add_argument("--folder", default=None)
    p.add_argument("--json", action="store_true", help="also print each figure by itself, with processor time")
    p.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    a = p.parse_args()
    import pyarrow as pa
    from arrow_library import Library
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    library, rows = Library(threads=1), a.mb * 1000000 // ROW
    files = (("uncompressed", a.batch_rows, None), ("one batch", rows, None), ("LZ4", a.batch_rows, "lz4"),
             ("ZSTD", a.batch_rows, "zstd"))
    lines, sizes = [], []
    with tempfile.TemporaryDirectory(prefix="bench_arrow_", dir=a.folder) as folder:
        path = pathlib.Path(folder) / "a.arrow"
        for name, batch, codec in files:
            make(path, rows, batch, codec)
            sizes.append(os.path.getsize(path))
            for work, sides in works_of(library, path, rows, batch).items():
                got = medians(sides, a.runs)
                lines.append(row_of(name, work, got))
                for side, (wall, cpu) in got.items() if a.json else ():
                    print(json.dumps({"file": name, "bytes": sizes[-1], "work": work, "side": side, "wall_ms": round(1e3 * wall, 4),
                                      "cpu_ms": round(1e3 * cpu, 4)}), flush=True)
            path.unlink()
    text = section(a, sizes[0], lines)
    print(text)
    if a.write:
        write(text)


if __name__ == "__main__":
    main()
