"""Measure Parquet files against DuckDB, Polars and pyarrow: slices and scattered rows, footers, many files, full decoding, memory.

    bench/bench_parquet.py [--rows 10000000] [--runs 9] [--folder DIR] [--json FILE] [--only footer,files,rows,decode,memory]

All tools work inside one Python process, one thread each; figures are medians of wall-clock in turns, and the bytes that each read of the
files (Linux counts them for the process; what is mapped into memory it does not count: "mapped"). The files are made by pyarrow and
DuckDB, always the same, in a temporary folder that is removed. Needs the built library (LAKEBED_LIB, or build/liblakebed.so), the command
(LAKEBED, or build/lakebed) and the environment .deps/venv.
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("LAKEBED_LIB", str(ROOT / "build" / "liblakebed.so"))
os.environ.setdefault("POLARS_MAX_THREADS", "1")
sys.path.insert(0, str(ROOT / "tests" / "format" / "parquet"))

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from parquet_api import Library

LAKEBED = os.environ.get("LAKEBED", str(ROOT / "build" / "lakebed"))
CODECS = ["none", "snappy", "zstd", "gzip", "lz4", "brotli"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--rows", type=int, default=10_000_000, help="rows of the large files (default 10000000)")
    add("--runs", type=int, default=9, help="runs of each measurement (default 9)")
    add("--folder", help="make the files in a folder below this one")
    add("--json", type=pathlib.Path, help="where the figures go too")
    add("--only", default="footer,files,rows,decode,memory", help="parts to measure")
    return parser.parse_args()


# ---- measuring

def bytes_read():
    for line in pathlib.Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar"):
            return int(line.split()[1])
    return 0


class Report:
    def __init__(self, runs):
        self.runs, self.figures = runs, []

    def race(self, what, works):
        """Let {tool: function} work in turns, and tell the medians; each works once before, for a warm cache."""
        times, read = {tool: [] for tool in works}, {}
        for tool, work in works.items():
            before = bytes_read()
            work()
            read[tool] = bytes_read() - before
        for _ in range(self.runs):
            for tool, work in works.items():
                begun = time.perf_counter()
                work()
                times[tool].append(time.perf_counter() - begun)
        medians = {tool: statistics.median(t) for tool, t in times.items()}
        ours = medians["Lakebed"]
        print(what)
        for tool, seconds in medians.items():
            ratio = "" if tool == "Lakebed" else f"   {seconds / ours:6.2f} × ours"
            print(f"    {tool:24} {seconds * 1e3:11.3f} ms {read[tool] / 1e6:10.3f} MB read{ratio}", flush=True)
        self.figures.append({"what": what, "seconds": medians, "bytes": read})


def mapped(folder, *flags):
    subprocess.run([LAKEBED, "map", "-q", folder, *flags], check=True)


# ---- parts

def measure_footer(report, folder, _):
    """1,000 columns × 100 row groups."""
    columns, groups = 1000, 100
    path = folder / "wide" / "wide.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({f"column_{i}": pa.array(range(groups * 2), pa.int64()) for i in range(columns)}), path,
                   row_group_size=2, write_page_index=True)
    library, last = Library(), groups * 2 - 1

    def ours():
        with library.open(path, no_map=True):
            pass

    def row(no_map):
        with library.open(path, no_map) as f:
            f.slice(last, 1, ["column_7"])

    connection = duckdb.connect()
    connection.execute("set threads = 1")
    report.race(f"open a file of {columns} columns × {groups} row groups, not mapped (footer and its directory)", {
        "Lakebed": ours, "pyarrow": lambda: pq.read_metadata(path), "Polars": lambda: pl.read_parquet_schema(path),
        "DuckDB": lambda: connection.execute(f"select num_rows from parquet_file_metadata('{path}')").fetchall()})
    mapped(path.parent)
    report.race("one value of its last row", {
        "Lakebed": lambda: row(False), "Lakebed, not mapped": lambda: row(True),
        "Polars": lambda: pl.scan_parquet(path).select("column_7").slice(last, 1).collect(),
        "DuckDB": lambda: connection.execute(f"select column_7 from '{path}' offset {last}").fetchall()})


def measure_files(report, folder, rows):
    """200 files, mapped from their footers alone."""
    where = folder / "many"
    where.mkdir()
    table = pa.table({"id": pa.array(range(10000)), "text": [f"text number {i}" for i in range(10000)],
                      "price": [i / 8 for i in range(10000)]})
    for i in range(200):
        pq.write_table(table, where / f"{i:03}.parquet", row_group_size=1000)
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    library = Library()

    def count(no_map):
        rows = ctypes.c_uint64()
        with library.open(where, no_map) as f:
            library.call("lb_table_count", f.table, ctypes.byref(rows))
        assert rows.value == 200 * len(table)

    peers = {"DuckDB": lambda: connection.execute(f"select count(*) from '{where}/*.parquet'").fetchall(),
             "Polars": lambda: pl.scan_parquet(where / "*.parquet").select(pl.len()).collect()}
    report.race("200 files of 10 row groups: count their rows, not mapped", {"Lakebed": lambda: count(True), **peers})
    report.race("200 files of 10 row groups: map them, statistics and digests of all bytes (a process of its own) / count their rows",
                {"Lakebed": lambda: mapped(where, "-j", "1"), **peers})
    report.race("200 files of 10 row groups, mapped: count their rows", {"Lakebed": lambda: count(False), **peers})


def make_rows(folder, rows):
    connection = duckdb.connect()
    made = f"""select i as id, (i * 7919) % 1000003 as code, (i % 1000) / 7.0 as price, 'name_' || ((i * 31) % 50000) as name,
               timestamp '2020-01-01' + to_seconds(i) as at, i % 2 = 0 as ok, 'some longer text of row ' || i as comment
               from range({rows}) t(i)"""
    for name in ("plain", "indexed", "snappy", "none", "duckdb"):
        (folder / name).mkdir()
    connection.execute(f"copy ({made}) to '{folder}/duckdb/rows.parquet' (format parquet, compression zstd)")
    reader = pq.ParquetFile(folder / "duckdb" / "rows.parquet")
    writers = [pq.ParquetWriter(folder / name / "rows.parquet", reader.schema_arrow, compression=codec,
                                write_page_index=name != "plain")
               for name, codec in (("plain", "zstd"), ("indexed", "zstd"), ("snappy", "snappy"), ("none", "none"))]
    for batch in reader.iter_batches(1 << 20):
        for writer in writers:
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=1 << 20)
    for writer in writers:
        writer.close()


def measure_rows(report, folder, rows):
    make_rows(folder, rows)
    library, connection = Library(), duckdb.connect()
    connection.execute("set threads = 1")
    draw = random.Random(1)
    kinds = {"duckdb": "by DuckDB, zstd", "indexed": "by pyarrow, zstd, with a page index",
             "plain": "by pyarrow, zstd, with its pages in the map", "snappy": "by pyarrow, snappy, with a page index",
             "none": "by pyarrow, not compressed, with a page index"}
    for name, told in kinds.items():
        path = folder / name / "rows.parquet"
        mapped(path.parent, *(["--pages"] if name in ("duckdb", "plain") else []))

        def ours(work):
            with library.open(path) as f:
                work(f)

        at = rows - rows // 1000
        report.race(f"{rows} rows {told}: 100 rows at {at}", {
            "Lakebed": lambda: ours(lambda f: f.slice(at, 100, check=False)),
            "Polars": lambda: pl.scan_parquet(path).slice(at, 100).collect(),
            "DuckDB": lambda: connection.execute(f"select * from '{path}' limit 100 offset {at}").fetchall()})
        for n in (10, 10000):
            some = [draw.randrange(rows) for _ in range(n)]
            listed = ",".join(map(str, some))
            report.race(f"{rows} rows {told}: {n} scattered rows", {
                "Lakebed": lambda: ours(lambda f: f.take(some, check=False)),
                "DuckDB": lambda: connection.execute(
                    f"select * from read_parquet('{path}', file_row_number = true) where file_row_number in ({listed})").fetchall()})


def decode_columns(n):
    draw = random.Random(2)
    words = [f"word {i}" for i in range(5000)]
    return {"int64": pa.array([draw.randrange(2**40) for _ in range(n)], pa.int64()),
            "int32, nulls": pa.array([None if draw.random() < 0.1 else draw.randrange(1000) for _ in range(n)], pa.int32()),
            "double": pa.array([draw.random() for _ in range(n)]),
            "string": pa.array([f"text of row {i}" for i in range(n)]),
            "string, dictionary": pa.array([draw.choice(words) for _ in range(n)]),
            "bool": pa.array([draw.random() < 0.5 for _ in range(n)]),
            "timestamp": pa.array([draw.randrange(2**50) for _ in range(n)], pa.timestamp("us", "UTC")),
            "list": pa.array([list(range(i % 5)) for i in range(n)], pa.list_(pa.int32()))}


def measure_decode(report, folder, rows):
    n, library = min(rows, 1_000_000), Library()
    pa.set_cpu_count(1)
    where = folder / "decode"
    where.mkdir()

    def ours(path):
        with library.open(path, no_map=True) as f:
            f.slice(check=False)

    for name, column in decode_columns(n).items():
        for codec in CODECS if name in ("int64", "string") else ["snappy"]:
            path = where / "one.parquet"
            pq.write_table(pa.table({"v": column}), path, compression=codec, row_group_size=n // 4)
            report.race(f"decode {n} rows of {name}, {codec}", {
                "Lakebed": lambda: ours(path), "pyarrow": lambda: pq.ParquetFile(path).read(use_threads=False)})
    for encoding, name in (("DELTA_BINARY_PACKED", "int64"), ("BYTE_STREAM_SPLIT", "double"), ("DELTA_BYTE_ARRAY", "string"),
                           ("DELTA_LENGTH_BYTE_ARRAY", "string")):
        path = where / "one.parquet"
        pq.write_table(pa.table({"v": decode_columns(n)[name]}), path, compression="none", use_dictionary=False,
                       column_encoding={"v": encoding}, row_group_size=n // 4)
        report.race(f"decode {n} rows of {name}, {encoding}", {
            "Lakebed": lambda: ours(path), "pyarrow": lambda: pq.ParquetFile(path).read(use_threads=False)})


# A process between, for what its parent holds counts for a new process too.
SMALL = """import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)[1:]
print(usage.ru_maxrss if status == 0 else 0)"""


def peak(work, path):
    """The most memory in MB that a process of its own held for it; None: it failed."""
    work = [w.replace("PATH", str(path)) for w in work]
    told = subprocess.run([sys.executable, "-I", "-S", "-c", SMALL, *work], stdout=subprocess.PIPE, check=True).stdout
    return int(told) / 1024 or None


def measure_memory(report, folder, _):
    """A row group of 4 GB."""
    where, n = folder / "large", 4_000_000
    where.mkdir()
    path = where / "large.parquet"
    text = pa.array([f"{i:010}" * 100 for i in range(10000)])
    pq.write_table(pa.table({"id": pa.array(range(n)), "text": pa.chunked_array([text] * (n // len(text)))}), path, row_group_size=n,
                   compression="zstd", use_dictionary=False)
    mapped(where, "--pages")
    python = [sys.executable, "-c"]
    works = {"100 rows at 3999000": {
                "Lakebed": [LAKEBED, "slice", "PATH", "--offset", "3999000", "--limit", "100"],
                "Polars": [*python, "import polars as pl; pl.scan_parquet('PATH').slice(3999000, 100).collect()"],
                "DuckDB": [*python, "import duckdb; duckdb.sql(\"select * from 'PATH' limit 100 offset 3999000\").fetchall()"]},
             "3 scattered rows": {
                "Lakebed": [LAKEBED, "take", "PATH", "3", "2000000", "3999999"],
                "DuckDB": [*python, "import duckdb; duckdb.sql(\"select * from read_parquet('PATH', file_row_number = true) "
                                    "where file_row_number in (3, 2000000, 3999999)\").fetchall()"]}}
    for what, tools in works.items():
        found = {tool: peak(work, path) for tool, work in tools.items()}
        print(f"a row group of 4 GB, {what}: peak memory")
        for tool, megabytes in found.items():
            print(f"    {tool:24} " + ("           failed" if megabytes is None else f"{megabytes:11.1f} MB"), flush=True)
        report.figures.append({"what": f"a row group of 4 GB, {what}: peak memory", "megabytes": found})


def main():
    options = arguments()
    report = Report(options.runs)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-parquet-", dir=options.folder))
    parts = {"footer": measure_footer, "files": measure_files, "rows": measure_rows, "decode": measure_decode,
             "memory": measure_memory}
    try:
        for part in options.only.split(","):
            parts[part](report, folder, options.rows)
    finally:
        shutil.rmtree(folder)
    if options.json is not None:
        options.json.write_text(json.dumps(report.figures, indent=1))


if __name__ == "__main__":
    main()
