"""One measurement of another tool, in a process of its own: seconds as the last line of the output.

    peers.py duckdb|polars read|decode|slice FILE [FIRST COUNT]
    peers.py duckdb|polars take FILE ROWS COLUMN,…       ROWS: a file with a row number on each line

FILE is .csv, or .ndjson, or .json that is one array. `read` finds the bounds of all columns too, with DuckDB; `decode` brings
them into memory. The time that Python and the tool take to start is not counted. THREADS in the environment sets the number of threads.
"""

import os
import sys
import time

THREADS = int(os.environ.get("THREADS", "1"))


def duckdb_run(work, path, first, count):
    import duckdb
    connection = duckdb.connect(config={"threads": THREADS})
    # Every value is read and typed, and its bounds found, as a map does; Polars below only reads.
    reader = "read_csv" if path.endswith(".csv") else "read_json"
    query = "SELECT count(COLUMNS(*)), min(COLUMNS(*)), max(COLUMNS(*)) FROM %s(?)" % reader
    if work == "slice":
        query = "SELECT * FROM %s(?) LIMIT %d OFFSET %d" % (reader, count, first)
    if work == "decode":
        query = "CREATE TABLE decoded AS FROM %s(?)" % reader
    started = time.perf_counter()
    rows = connection.execute(query, [path]).fetchall()
    return time.perf_counter() - started, len(rows) if work == "slice" else rows[0][0]


def polars_run(work, path, first, count):
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    import polars
    started = time.perf_counter()
    if path.endswith(".ndjson"):
        frame = polars.scan_ndjson(path).slice(first, count).collect() if work == "slice" else polars.read_ndjson(path)
    elif path.endswith(".json"):
        frame = polars.read_json(path).slice(first, count if work == "slice" else None)
    elif work == "slice":
        frame = polars.scan_csv(path, try_parse_dates=True).slice(first, count).collect()
    else:
        frame = polars.read_csv(path, try_parse_dates=True)
    return time.perf_counter() - started, len(frame)


def read_rows(path):
    with open(path, encoding="ascii") as lines:
        return [int(line) for line in lines]


def duckdb_take(path, rows, columns):
    import duckdb
    import pyarrow
    connection = duckdb.connect(config={"threads": THREADS})
    wanted = pyarrow.table({"place": pyarrow.array(range(len(rows))), "row": pyarrow.array(rows, pyarrow.int64())})
    connection.register("wanted", wanted)
    query = """SELECT %s FROM (SELECT %s, row_number() OVER () - 1 AS row FROM read_csv(?)) AS numbered
               JOIN wanted USING (row) ORDER BY place""" % (columns, columns)
    started = time.perf_counter()
    taken = connection.execute(query, [path]).to_arrow_table()
    return time.perf_counter() - started, taken["id"].to_pylist()


def polars_take(path, rows, columns):
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    import polars
    wanted = polars.Series(rows, dtype=polars.UInt32)
    started = time.perf_counter()
    taken = polars.scan_csv(path, try_parse_dates=True).select(columns.split(",")).select(polars.all().gather(wanted)).collect()
    return time.perf_counter() - started, taken["id"].to_list()


def take_main(tool, path, rows_path, columns):
    rows = read_rows(rows_path)
    took, ids = {"duckdb": duckdb_take, "polars": polars_take}[tool](path, rows, columns)
    if ids != rows:
        sys.exit("%s gave other rows" % tool)
    print("%d %.6f" % (len(ids), took))


def main():
    if len(sys.argv) not in (4, 6):
        sys.exit(__doc__)
    if sys.argv[2] == "take":
        return take_main(sys.argv[1], *sys.argv[3:6])
    tool, work, path = sys.argv[1:4]
    first, count = (int(sys.argv[4]), int(sys.argv[5])) if len(sys.argv) > 4 else (0, 0)
    took, rows = {"duckdb": duckdb_run, "polars": polars_run}[tool](work, path, first, count)
    print("%d %.6f" % (rows, took))


main()
