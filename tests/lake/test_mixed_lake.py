"""One table in a file of every format: each reads back as the others, and a lake of all of them is one table of rows that is mapped,
sliced over the borders of files, taken from, split, sampled, doctored, damaged, healed, renamed and appended to.

Run by pytest; LAKEBED names the command. The files are written by pyarrow, fastavro, pyorc, msgpack, Python and, for Lance, Lakebed.
"""
import bz2
import csv
import datetime as dt
import gzip
import io
import json
import lzma
import os
import pathlib
import subprocess

import fastavro
import msgpack
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pyorc
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
MAP = ".br_map.bazan"
LONG_AGO = 1_600_000_000_000_000_000


def run(*args, status=0):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("BASALTIC", "LAKEBED"))}
    p = subprocess.run([LAKEBED, *map(str, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120, env=clean)
    assert p.returncode == status, (args, p.returncode, p.stdout[-2000:], p.stderr.decode(errors="replace"))
    return p.stdout.decode(), p.stderr.decode(errors="replace")


def rows_of(*args):
    return [json.loads(line) for line in run(*args, "--to", "ndjson", "--quiet")[0].splitlines()]


# ---------------------------------------------------------------- the table

ROWS = [
    {"id": 1, "name": "Peipus", "depth": 15.25, "salt": False},
    {"id": -2, "name": "Zürich, \"See\"", "depth": None, "salt": False},
    {"id": None, "name": None, "depth": -0.5, "salt": None},
    {"id": 9007199254740993, "name": "two\nlines", "depth": 1e300, "salt": True},
    {"id": 0, "name": "湖 🌊", "depth": 1642.0, "salt": None},
    {"id": 6, "name": "last one", "depth": 0.1, "salt": True},
]
TYPES = {"id": "int64", "name": "string", "depth": "float64", "salt": "bool"}

TABLE = pa.Table.from_pylist(ROWS, pa.schema([("id", pa.int64()), ("name", pa.string()), ("depth", pa.float64()), ("salt", pa.bool_())]))


def csv_of(rows, delimiter=","):
    out = io.StringIO(newline="")
    w = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    w.writerow(rows[0])
    for row in rows:
        w.writerow(["" if v is None else str(v).lower() if isinstance(v, bool) else v for v in row.values()])
    return out.getvalue().encode()


def ndjson_of(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def json_of(rows):
    return json.dumps(rows, indent=1).encode()


def buffer(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def arrow_of(rows, new):
    table = TABLE.from_pylist(rows, TABLE.schema)

    def write(out):
        with new(out, table.schema) as w:
            w.write_table(table, max_chunksize=4)
    return buffer(write)


AVRO = {"type": "record", "name": "lake", "fields": [{"name": n, "type": ["null", t]} for n, t in
                                                    (("id", "long"), ("name", "string"), ("depth", "double"), ("salt", "boolean"))]}


def orc_of(rows):
    def write(out):
        with pyorc.Writer(out, "struct<id:bigint,name:string,depth:double,salt:boolean>") as w:
            w.writerows(tuple(row.values()) for row in rows)
    return buffer(write)


MAKERS = {
    "a.csv": csv_of,
    "b.tsv": lambda rows: csv_of(rows, "\t"),
    "c.psv": lambda rows: csv_of(rows, "|"),
    "d.ndjson": ndjson_of,
    "e.jsonl": ndjson_of,
    "f.json": json_of,
    "g.parquet": lambda rows: buffer(lambda out: pa.parquet.write_table(TABLE.from_pylist(rows, TABLE.schema), out, row_group_size=4)),
    "h.arrow": lambda rows: arrow_of(rows, pa.ipc.new_file),
    "i.arrows": lambda rows: arrow_of(rows, pa.ipc.new_stream),
    "j.feather": lambda rows: buffer(lambda out: pa.feather.write_feather(TABLE.from_pylist(rows, TABLE.schema), out, compression="lz4")),
    "k.avro": lambda rows: buffer(lambda out: fastavro.writer(out, AVRO, rows, codec="deflate")),
    "l.orc": orc_of,
    "m.msgpack": lambda rows: b"".join(map(msgpack.packb, rows)),
    "n.array.msgpack": msgpack.packb,
    "p.csv.gz": lambda rows: gzip.compress(csv_of(rows), mtime=0),
    "q.ndjson.zst": lambda rows: pa.Codec("zstd").compress(ndjson_of(rows), asbytes=True),
    "r.csv.bz2": lambda rows: bz2.compress(csv_of(rows)),
    "s.json.xz": lambda rows: lzma.compress(json_of(rows), preset=0),
    "t.tsv.lz4": lambda rows: pa.Codec("lz4").compress(csv_of(rows, "\t"), asbytes=True),
}


def make(folder, names=None):
    folder.mkdir(exist_ok=True)
    for name in names or MAKERS:
        (folder / name).write_bytes(MAKERS[name](ROWS))
        os.utime(folder / name, ns=(LONG_AGO, LONG_AGO))
    return folder


@pytest.fixture(scope="module")
def lance(tmp_path_factory):
    """The data file of a dataset that Lakebed writes: nulls of numbers are lost in it, so it has its own test."""
    folder = tmp_path_factory.mktemp("lance")
    (folder / "in.csv").write_bytes(csv_of(ROWS))
    run("slice", folder / "in.csv", "--to", "lance", "-o", folder / "out.lance", "--nulls", "keep")
    return folder / "out.lance"


@pytest.fixture
def lake(tmp_path):
    return make(tmp_path / "lake")


N = len(ROWS)
ALL = N * len(MAKERS)


# ---------------------------------------------------------------- alone

@pytest.mark.parametrize("name", MAKERS)
def test_each_alone(tmp_path, name):
    folder = make(tmp_path / "one", [name])
    for mapped in (False, True):
        if mapped:
            run("map", folder, "--stride", "2", "--quiet")
        assert rows_of("slice", folder / name) == ROWS
        assert rows_of("slice", folder) == ROWS
        assert rows_of("slice", folder / name, "--offset", 2, "--limit", 3) == ROWS[2:5]
        assert rows_of("take", folder / name, 5, 0, 5, 3) == [ROWS[i] for i in (5, 0, 5, 3)]
        assert rows_of("tail", folder / name, "-n", 2) == ROWS[4:]
        assert rows_of("slice", folder / name, "--offset", 6) == []
        assert json.loads(run("count", folder / name, "--json")[0])["rows"] == N
        assert {c["name"]: c["type"] for c in json.loads(run("schema", folder / name, "--json")[0])["columns"]} == TYPES


def test_lance(lance):
    assert rows_of("slice", lance) == ROWS
    assert rows_of("take", lance, 5, 2) == [ROWS[5], ROWS[2]]


# ---------------------------------------------------------------- together

def test_as_one_table(lake):
    for mapped in (False, True):
        if mapped:
            run("map", lake, "--stride", "2", "--quiet")
        assert rows_of("slice", lake) == ROWS * len(MAKERS)
        for offset in range(0, ALL, 5):
            assert rows_of("slice", lake, "--offset", offset, "--limit", 8) == [ROWS[i % N] for i in range(offset, min(offset + 8, ALL))]
        assert run("slice", lake, "--schema", "strict", "--quiet")[0] == run("slice", lake, "--quiet")[0]
        assert rows_of("slice", lake, "--columns", "salt,id", "--offset", 4) == [
            {"salt": r["salt"], "id": r["id"]} for r in (ROWS * len(MAKERS))[4:]]


def test_drawn_rows(lake):
    numbers = [ALL - 1, 0, *range(5, ALL, 7), 5]
    results = []
    for mapped in (False, True):
        if mapped:
            run("map", lake, "--quiet")
        assert rows_of("take", lake, *numbers) == [ROWS[i % N] for i in numbers]
        results.append([run(verb, lake, "--seed", 7, "--to", "ndjson", "--quiet")[0] for verb in ("sample", "shuffle")])
        key = lambda row: json.dumps(row, sort_keys=True)
        assert sorted(map(key, map(json.loads, results[-1][1].splitlines()))) == sorted(map(key, ROWS * len(MAKERS)))
    assert results[0] == results[1]


def test_splits_and_places(lake):
    run("map", lake, "--stride", "2", "--quiet")
    splits = json.loads(run("splits", lake, "--json", "--quiet")[0])
    seen = []
    for part in splits["splits"]:
        seen += rows_of("slice", lake / part["path"], "--offset", part["first_row"], "--limit", part["rows"])
    assert seen == ROWS * len(MAKERS)
    for i, name in enumerate(MAKERS):
        place = json.loads(run("locate", lake, i * N + 3, "--json")[0])["rows"][0]
        assert (place["path"], place["file_row"]) == (name, 3)


def test_typed_columns(tmp_path):
    """Dates and instants, which JSON has no types for."""
    names = ("a.csv", "b.parquet", "c.arrow", "d.avro", "e.orc", "f.csv.gz")
    rows = [{"day": dt.date(2024, 2, 29), "at": dt.datetime(2024, 2, 29, 12, 30, 15, 250000)},
            {"day": None, "at": None}, {"day": dt.date(1969, 12, 31), "at": dt.datetime(1901, 1, 1, 0, 0, 0, 1)}]
    table = pa.Table.from_pylist(rows, pa.schema([("day", pa.date32()), ("at", pa.timestamp("us"))]))
    text = "day,at\n" + "".join(f"{r['day'] or ''},{r['at'].isoformat() if r['at'] else ''}\n" for r in rows)
    schema = {"type": "record", "name": "r", "fields": [
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]}]}
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / names[0]).write_text(text)
    pa.parquet.write_table(table, lake / names[1])
    pa.feather.write_feather(table, lake / names[2])
    with open(lake / names[3], "wb") as out:
        fastavro.writer(out, schema, rows)
    pa.orc.write_table(table, lake / names[4])
    (lake / names[5]).write_bytes(gzip.compress(text.encode()))
    expected = [{"day": r["day"] and r["day"].isoformat(), "at": r["at"] and r["at"].isoformat()} for r in rows]

    def same(row):
        return {k: v and (v if k == "day" else dt.datetime.fromisoformat(v).isoformat()) for k, v in row.items()}

    for name in names:
        assert list(map(same, rows_of("slice", lake / name))) == expected, name
    for mapped in (False, True):
        if mapped:
            run("map", lake, "--quiet")
        assert list(map(same, rows_of("slice", lake))) == expected * len(names)


# Types that delimited text is not read as, with a value of each.
OTHERS = [
    pa.array([[1, 2]], pa.list_(pa.int32())),
    pa.array([[1, 2]], pa.list_(pa.int32(), 2)),
    pa.array([{"x": 1}]),
    pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    pa.array(["long"], pa.large_string()),
    pa.array([b"long"], pa.large_binary()),
    pa.array([b"four"], pa.binary(4)),
    pa.array([1.5], pa.float16()),
    pa.array([dt.timedelta(seconds=1)]),
    pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda array: str(array.type).split("<")[0])
@pytest.mark.parametrize("text", ["id,v\n1,\n", "id,v\n"])
def test_no_values_go_with_every_type(tmp_path, other, text):
    """A column of text without a value is one of nulls beside a column of any type."""
    (tmp_path / "text.csv").write_text(text)
    for name in ("a.arrow", "z.arrow"):
        table = pa.table({"id": pa.array([2]), "v": other})
        with pa.ipc.new_file(tmp_path / name, table.schema) as out:
            out.write_table(table)
        for built in (False, True):
            if built:
                run("map", "-q", tmp_path)
            rows = rows_of("slice", tmp_path)
            assert [row["v"] for row in rows if row["id"] == 1] == [None] * (text.count("\n") - 1)
            assert all(row["v"] is not None for row in rows if row["id"] == 2)
            assert rows_of("take", tmp_path, len(rows) - 1, 0) == [rows[-1], rows[0]]
        os.unlink(tmp_path / MAP)


def pairs_of(*args):
    """Rows with all columns of a name."""
    out, _ = run(*args, "--to", "ndjson", "--quiet")
    return [json.loads(line, object_pairs_hook=list) for line in out.splitlines()]


def test_columns_of_one_name(tmp_path):
    """A file may have several columns of a name: each is one of the directory too, with its values and its bounds."""
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array(["x", "y"]), pa.array([3, 4]), pa.array([5, None])], ["a", "b", "a", "a"])
    alone = [[("a", 1), ("b", "x"), ("a", 3), ("a", 5)], [("a", 2), ("b", "y"), ("a", 4), ("a", None)]]
    with pa.ipc.new_file(tmp_path / "m.arrow", table.schema) as out:
        out.write_table(table)
    pa.parquet.write_table(table, tmp_path / "n.parquet")
    (tmp_path / "o.csv").write_text("b,a\nz,6\n")
    pa.parquet.write_table(table.select([3, 1]), tmp_path / "p.parquet")
    lake = alone * 2 + [[("a", 6), ("b", "z"), ("a", None), ("a", None)],
                        [("a", 5), ("b", "x"), ("a", None), ("a", None)], [("a", None), ("b", "y"), ("a", None), ("a", None)]]
    for built in (False, True):
        if built:
            run("map", "-q", tmp_path)
        assert pairs_of("slice", tmp_path) == lake
        assert pairs_of("take", tmp_path, 6, 4, 1) == [lake[6], lake[4], lake[1]]
        assert pairs_of("slice", tmp_path, "--columns", "b,a") == [[row[1], row[0]] for row in lake]
        for path, first in ((tmp_path, ("1", "6", 1)), (tmp_path / "m.arrow", ("1", "2", 0)), (tmp_path / "n.parquet", ("1", "2", 0))):
            columns = json.loads(run("stats", path, "--json")[0])["columns"]
            missing = 0 if first[2] == 0 else 3
            assert [(c["name"], c["min"], c["max"], c["nulls"]) for c in columns] == [
                ("a", *first), ("b", "x", "y" if missing == 0 else "z", 0), ("a", "3", "4", missing),
                ("a", "5", "5", 1 if missing == 0 else 5)]


def test_dates_of_text_beside_dates_in_milliseconds(tmp_path):
    (tmp_path / "text.csv").write_text("d\n2024-02-29\n")
    table = pa.table({"d": pa.array([dt.date(1969, 12, 31)], pa.date64())})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as out:
        out.write_table(table)
    assert [row["d"][:10] for row in rows_of("slice", tmp_path)] == ["1969-12-31", "2024-02-29"]


# ---------------------------------------------------------------- the doctor

def report(lake, *args, status=1):
    return json.loads(run("doctor", lake, "--json", "--quiet", *args, status=status)[0])


def rewrite(path, data):
    """Other contents under the same times."""
    st = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


@pytest.mark.parametrize("where", (0.3, 0.5, 0.8))
def test_damage(lake, where):
    run("map", lake, "--stride", "2", "--quiet")
    assert report(lake, "--verify", status=0)["status"] == "HEALTHY"
    whole = {name: (lake / name).read_bytes() for name in MAKERS}
    for name, data in whole.items():
        at = int(len(data) * where)
        rewrite(lake / name, data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
    found = {f["path"]: f for f in report(lake, "--verify")["findings"]}
    assert set(found) == set(MAKERS)
    for name in MAKERS:    # a file this small is one range of bytes, and all its rows are in it
        assert found[name]["drift"] == "damaged", found[name]
        assert [(d["first_row"], d["rows"]) for d in found[name]["damage"]] == [(0, N)], found[name]
    for name, data in whole.items():
        rewrite(lake / name, data)
    assert report(lake, "--verify", "--heal", status=0)["findings"] == []
    assert rows_of("slice", lake) == ROWS * len(MAKERS)


def test_damage_of_compressed_text(tmp_path):
    """Places in a compressed file are told as rows of what it holds: those between the restart points around them."""
    lake = tmp_path / "lake"
    lake.mkdir()
    lines = [f"{i},{i * 2654435761 % 2 ** 32:08x},{'some words ' * 6}\n".encode() for i in range(220_000)]
    text = b"id,v,w\n" + b"".join(lines)
    members = [gzip.compress(text[i:i + (1 << 20)], 1, mtime=0) for i in range(0, len(text), 1 << 20)]
    path = lake / "a.csv.gz"
    path.write_bytes(b"".join(members))
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    run("map", lake, "--stride", "1000", "--quiet")
    row_at = [text.count(b"\n", 0, i) - 1 for i in range(0, len(text), 1 << 20)] + [len(lines)]
    for member in (0, len(members) // 2, len(members) - 1):
        at = sum(map(len, members[:member])) + len(members[member]) // 2
        data = path.read_bytes()
        rewrite(path, data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        damage = report(lake, "--verify")["findings"][0]["damage"]
        assert len(damage) == 1 and damage[0]["first_byte"] <= at < damage[0]["first_byte"] + damage[0]["length"]
        first, end = damage[0]["first_row"], damage[0]["first_row"] + damage[0]["rows"]
        assert first <= max(row_at[member], 0) and row_at[member + 1] <= end, (member, first, end, row_at)
        assert end - first < len(lines), (member, first, end)
        rewrite(path, data)


def test_renames(tmp_path):
    names = [n for n in MAKERS if n != "e.jsonl"]    # the contents of d.ndjson: which of the two is gone cannot be told
    lake = make(tmp_path / "lake", names)
    run("map", lake, "--quiet")
    for name in names:
        (lake / name).rename(lake / ("z-" + name))
    r = report(lake, "--heal", status=0)
    assert {(f["was"], f["path"]) for f in r["findings"] if f["drift"] == "renamed"} == {(n, "z-" + n) for n in names}
    assert report(lake, status=0)["status"] == "HEALTHY"
    assert rows_of("slice", lake, "--offset", 3) == (ROWS * len(names))[3:]


def test_growth(lake):
    """Every file gets the rows twice: text and streams of objects are appended to, the others written anew."""
    run("map", lake, "--stride", "2", "--quiet")
    for name, make_one in MAKERS.items():
        old, new = (lake / name).read_bytes(), make_one(ROWS + ROWS)
        (lake / name).write_bytes(new)
        grown = new.startswith(old)
        assert grown or name not in ("a.csv", "b.tsv", "c.psv", "d.ndjson", "e.jsonl", "m.msgpack")
    found = {f["path"]: f for f in report(lake)["findings"]}
    assert set(found) == set(MAKERS)
    for name in ("a.csv", "b.tsv", "c.psv", "d.ndjson", "e.jsonl", "m.msgpack"):
        assert found[name]["drift"] == "appended", found[name]
    healed = report(lake, "--heal", status=0)
    assert healed["healed"] is True
    assert report(lake, "--verify", status=0)["status"] == "HEALTHY"
    assert rows_of("slice", lake) == ROWS * 2 * len(MAKERS)
    run("doctor", lake, "--undo")


# ---------------------------------------------------------------- names and contents that disagree

@pytest.mark.parametrize("name, content, hint", [
    ("x.csv", "g.parquet", "parquet"), ("x.json", "h.arrow", "arrow"), ("x.orc", "k.avro", "avro"), ("x.avro", "l.orc", "orc"),
    ("x.parquet", "j.feather", "arrow"), ("x.arrow", "g.parquet", "parquet"), ("x.arrows", "l.orc", "orc"), ("x.txt", "p.csv.gz", None)])
def test_wrong_names(tmp_path, name, content, hint):
    path = tmp_path / name
    path.write_bytes(MAKERS[content](ROWS))
    error = run("head", path, status=3)[1]
    assert "the name says" in error and "but the content is" in error
    if hint is not None:
        assert f"--format {hint} reads it" in error
        assert rows_of("slice", path, "--format", hint) == ROWS


@pytest.mark.parametrize("content", ("g.parquet", "h.arrow", "i.arrows", "k.avro", "l.orc"))
def test_names_that_say_nothing(tmp_path, content):
    for name in ("data", "data.bin"):
        (tmp_path / name).write_bytes(MAKERS[content](ROWS))
        assert rows_of("slice", tmp_path / name) == ROWS


def test_arrow_by_either_name(tmp_path):
    for name, content in (("x.arrows", "h.arrow"), ("x.arrow", "i.arrows")):
        (tmp_path / name).write_bytes(MAKERS[content](ROWS))
        assert rows_of("slice", tmp_path / name) == ROWS
