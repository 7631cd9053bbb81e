"""examples/lake: one table of six rows in a file of every format, each written by the format's own tools, reads as the same rows; and all
of them, with the other files beside them, are one lake that is mapped, sliced over the borders of files, taken from, damaged and healed.

Run by pytest; LAKEBED names the command. `python3 tests/lake/test_example_lake.py FOLDER` writes the files anew.
"""
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import fastavro
import msgpack
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyorc
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = SOURCE / "examples" / "lake"
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
OPTIONS = ["--set", "eu/*.csv:delimiter=;", "--set", "nordic/*.csv:encoding=WINDOWS-1252"]
LONG_AGO = 1_600_000_000_000_000_000

COLUMNS = {"name": "string", "country": "string", "area_km2": "int64", "volume_km3": "float64", "year": "int64", "power": "bool",
           "notes": "string"}
ROWS = [dict(zip(COLUMNS, row)) for row in (
    ("Kariba", "Zambia; Zimbabwe", 5580, 180.6, 1959, True, "the largest by volume"),
    ("Bratsk", "Russia", 5470, 169.3, 1964, True, None),
    ("Nasser", "Egypt; Sudan", 5250, 162.0, 1971, True, "in Sudan: \"Buhayrat an-Nuba\""),
    ("Volta", "Ghana", 8502, 153.0, 1965, True, "the largest by area, of Akosombo's dam"),
    ("Manicouagan", "Canada", 1942, 141.9, 1968, True, "a ring: the crater « œil du Québec »"),
    ("Williston", "Canada", 1761, None, 1968, None, None),
)]


def run(*args, status=0):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("BASALTIC", "LAKEBED"))}
    p = subprocess.run([LAKEBED, *map(str, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120, env=clean)
    assert p.returncode == status, (args, p.returncode, p.stdout[-2000:], p.stderr.decode(errors="replace"))
    return p.stdout.decode()


def rows_of(*args):
    return [json.loads(line) for line in run(*args, "--to", "ndjson", "--quiet").splitlines()]


# ---------------------------------------------------------------- who writes what

TYPES = {"string": (pa.string(), "string", "string"), "int64": (pa.int64(), "long", "bigint"),
         "float64": (pa.float64(), "double", "double"), "bool": (pa.bool_(), "boolean", "boolean")}
TABLE = pa.Table.from_pylist(ROWS, pa.schema([(name, TYPES[t][0]) for name, t in COLUMNS.items()]))


def csv_text():
    out = io.StringIO(newline="")
    w = csv.writer(out, lineterminator="\n")
    w.writerow(COLUMNS)
    for row in ROWS:
        w.writerow(["" if v is None else str(v).lower() if isinstance(v, bool) else v for v in row.values()])
    return out.getvalue().encode()


def ndjson_text():
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def write_ipc(path, new):
    with new(str(path), TABLE.schema) as w:
        w.write_table(TABLE, max_chunksize=4)


def write_avro(path):
    schema = {"type": "record", "name": "reservoir", "fields": [{"name": n, "type": ["null", TYPES[t][1]]} for n, t in COLUMNS.items()]}
    with open(path, "wb") as out:
        fastavro.writer(out, schema, ROWS, codec="deflate", sync_marker=b"lakes and rivers")


def write_orc(path):
    with open(path, "wb") as out, pyorc.Writer(out, "struct<%s>" % ",".join(f"{n}:{TYPES[t][2]}" for n, t in COLUMNS.items())) as w:
        w.writerows(tuple(row.values()) for row in ROWS)


def write_xlsx(path):
    book = openpyxl.Workbook()
    book.active.title = "reservoirs"
    book.active.append(list(COLUMNS))
    for row in ROWS:
        book.active.append(list(row.values()))
    book.save(path)


def write_lance(path):
    """Lance before 0.10, which Lakebed itself writes; what its nulls cannot tell is kept beside them."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "six_csv.csv").write_bytes(csv_text())
        run("lance", "create", path, "--from", pathlib.Path(folder) / "six_csv.csv", "--nulls", "keep", "--quiet")


MAKERS = {
    "six_arrow.arrow": lambda path: write_ipc(path, pa.ipc.new_file),
    "six_stream.arrows": lambda path: write_ipc(path, pa.ipc.new_stream),
    "six_avro.avro": write_avro,
    "six_csv.csv": lambda path: path.write_bytes(csv_text()),
    "six_csv_gz.csv.gz": lambda path: path.write_bytes(gzip.compress(csv_text(), mtime=0)),
    "six_feather.feather": lambda path: pa.feather.write_feather(TABLE, str(path), compression="lz4"),
    "six_json.json": lambda path: path.write_text(json.dumps(ROWS, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"),
    "six_lance.lance": write_lance,
    "six_msgpack.msgpack": lambda path: path.write_bytes(b"".join(map(msgpack.packb, ROWS))),
    "six_ndjson.ndjson": lambda path: path.write_bytes(ndjson_text()),
    "six_jsonl_zst.jsonl.zst": lambda path: path.write_bytes(pa.Codec("zstd").compress(ndjson_text(), asbytes=True)),
    "six_orc.orc": write_orc,
    "six_parquet.parquet": lambda path: pa.parquet.write_table(TABLE, str(path), row_group_size=4),
    "six_xlsx.xlsx": write_xlsx,
}


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MAKERS.items():
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        make(folder / name)


# ---------------------------------------------------------------- each alone

@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    write_all(folder)
    return folder


@pytest.mark.parametrize("name", MAKERS)
def test_each_reads_as_the_same_rows(name, written, tmp_path):
    """Those of the examples, and those that the same tools write now."""
    for path in (EXAMPLES / "reservoirs" / name, written / name):
        lake = tmp_path / path.parent.name
        lake.mkdir()
        (shutil.copytree if path.is_dir() else shutil.copy2)(path, lake / name)
        for mapped in (False, True):
            if mapped:
                run("map", lake, "--stride", "2", "--quiet")
            assert rows_of("slice", lake / name) == ROWS
            assert rows_of("slice", lake, "--offset", 2, "--limit", 3) == ROWS[2:5]
            assert rows_of("take", lake / name, 5, 0, 3) == [ROWS[i] for i in (5, 0, 3)]
            told = json.loads(run("schema", lake / name, "--json"))
            assert {c["name"]: c["type"] for c in told["columns"]} == COLUMNS and told["rows"] == 6


# ---------------------------------------------------------------- together

@pytest.fixture
def lake(tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "lake")
    for path in (tmp_path / "lake").rglob("*"):
        os.utime(path, ns=(LONG_AGO, LONG_AGO))
    return tmp_path / "lake"


def files_of(lake):
    return json.loads(run("stats", lake, "--json", "--quiet"))["files"]


def test_there_is_one_of_every_format(lake):
    assert {p.name for p in (EXAMPLES / "reservoirs").iterdir()} == set(MAKERS)
    run("map", lake, "--quiet", *OPTIONS)
    shown = {f["format"] for f in files_of(lake)}
    assert shown == {f["name"] for f in json.loads(run("formats", "--json"))["formats"]}
    assert sum(p.stat().st_size for p in EXAMPLES.rglob("*") if p.is_file()) < 200_000


def test_as_one_table(lake):
    """Any rows of the mapped lake are those of all of it, and all of it is its files one after the other."""
    run("map", lake, "--stride", "4", "--quiet", *OPTIONS)
    whole = rows_of("slice", lake)
    count = json.loads(run("count", lake, "--json", "--quiet"))["rows"]
    names = list(whole[0])
    assert len(whole) == count and [row["name"] for row in whole[-6 * len(MAKERS):]] == [row["name"] for row in ROWS] * len(MAKERS)
    for row, want in zip(whole[-6 * len(MAKERS):], ROWS * len(MAKERS)):
        assert row == {n: want.get(n) for n in names}
    for offset in range(0, count, 7):
        assert rows_of("slice", lake, "--offset", offset, "--limit", 9) == whole[offset:offset + 9]
    some = [count - 1, 0, *range(5, count, 11), 5]
    assert rows_of("take", lake, *some) == [whole[i] for i in some]
    again = rows_of("slice", lake, "--threads", 2)
    assert again == whole


def test_damage_is_found_and_healed(lake):
    run("map", lake, "--quiet", *OPTIONS)
    assert json.loads(run("doctor", lake, "--verify", "--json", "--quiet"))["status"] == "HEALTHY"
    before = rows_of("slice", lake)
    whole = {}
    for name in MAKERS:
        path = lake / "reservoirs" / name
        path = next((path / "data").iterdir()) if path.is_dir() else path
        data = whole[path] = path.read_bytes()
        at = len(data) // 2
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        os.utime(path, ns=(LONG_AGO, LONG_AGO))
    found = json.loads(run("doctor", lake, "--verify", "--json", "--quiet", status=1))["findings"]
    assert {f["path"].split("/")[1] for f in found} == set(MAKERS)
    for path, data in whole.items():
        path.write_bytes(data)
        os.utime(path, ns=(LONG_AGO, LONG_AGO))
    run("doctor", lake, "--verify", "--heal", "--quiet")
    assert json.loads(run("doctor", lake, "--verify", "--json", "--quiet"))["status"] == "HEALTHY"
    assert rows_of("slice", lake) == before


def test_growth_is_healed(lake):
    """A stream of objects that is appended to is read on from its last block."""
    run("map", lake, "--quiet", *OPTIONS)
    count = json.loads(run("count", lake, "--json", "--quiet"))["rows"]
    for name, more in (("six_ndjson.ndjson", ndjson_text()), ("six_msgpack.msgpack", b"".join(map(msgpack.packb, ROWS)))):
        with open(lake / "reservoirs" / name, "ab") as out:
            out.write(more)
    found = json.loads(run("doctor", lake, "--json", "--quiet", status=1))["findings"]
    assert {(f["path"], f["drift"]) for f in found} == {("reservoirs/six_msgpack.msgpack", "appended"), ("reservoirs/six_ndjson.ndjson", "appended")}
    run("doctor", lake, "--heal", "--quiet")
    assert json.loads(run("count", lake, "--json", "--quiet"))["rows"] == count + 12


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 test_example_lake.py FOLDER")
    write_all(pathlib.Path(sys.argv[1]))
