"""One measurement of another tool, in a process of its own: seconds as the last line of the output.

    peers.py duckdb|polars read|slice FILE [FIRST COUNT]

The time that Python and the tool take to start is not counted. THREADS in the environment sets the number of threads.
"""

import os
import sys
import time

THREADS = int(os.environ.get("THREADS", "1"))


def duckdb_run(work, path, first, count):
    import duckdb
    connection = duckdb.connect(config={"threads": THREADS})
    # Every value is read and typed, and its bounds found, as a map does; Polars below only reads.
    query = "SELECT count(COLUMNS(*)), min(COLUMNS(*)), max(COLUMNS(*)) FROM read_csv(?)"
    if work == "slice":
        query = "SELECT * FROM read_csv(?) LIMIT %d OFFSET %d" % (count, first)
    started = time.perf_counter()
    rows = connection.execute(query, [path]).fetchall()
    return time.perf_counter() - started, len(rows) if work == "slice" else rows[0][0]


def polars_run(work, path, first, count):
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    import polars
    started = time.perf_counter()
    if work == "slice":
        frame = polars.scan_csv(path, try_parse_dates=True).slice(first, count).collect()
    else:
        frame = polars.read_csv(path, try_parse_dates=True)
    return time.perf_counter() - started, len(frame)


def main():
    tool, work, path = sys.argv[1:4]
    first, count = (int(sys.argv[4]), int(sys.argv[5])) if len(sys.argv) > 4 else (0, 0)
    took, rows = {"duckdb": duckdb_run, "polars": polars_run}[tool](work, path, first, count)
    print("%d %.6f" % (rows, took))


main()
