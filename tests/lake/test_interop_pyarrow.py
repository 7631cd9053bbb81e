"""Maps as other programs see them: an Arrow file whose first eight columns are those of map schema 3.

Run by pytest; LAKEBED names the command. Read with pyarrow and json; the digests' values come from other programs.
"""
import base64
import json
import os
import pathlib
import subprocess

import pyarrow as pa
import pyarrow.dataset as dataset
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
MAP = ".br_map.bazan"
COLUMNS = [("rel_path", pa.string(), False), ("size_bytes", pa.uint64(), False), ("mtime_ms", pa.int64(), False),
           ("total_rows", pa.uint64(), False), ("stats_json", pa.string(), False), ("first_global_row", pa.uint64(), False),
           ("row_groups_json", pa.string(), False), ("content_hash", pa.string(), True)]


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert p.returncode == status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout, p.stderr.decode(errors="replace")


def load(root):
    with pa.ipc.open_file(root / MAP) as f:
        table = f.read_all()
    table.validate(full=True)
    return table, {k.decode(): v for k, v in table.schema.metadata.items()}


@pytest.fixture
def lake(tmp_path):
    (tmp_path / "eu").mkdir()
    (tmp_path / "a.csv").write_text('id,price,name,day,ok,none\n1,1.5,x,2024-01-01,true,\n-9,2,"y\nz",,,\n3,,Zoë,2023-01-01,false,\n')
    (tmp_path / "eu" / "b.txt").write_text("id;extra\n9007199254740993;1\n")
    (tmp_path / "z.tsv").write_text("id\tname\n")
    return tmp_path


def test_reference_columns_come_first(lake):
    run("map", "-q", lake, "--stride", "2", "--interop", "full", "--fingerprint", "blake3", "--stats", "id,name,day")
    table, meta = load(lake)
    assert [(f.name, f.type, f.nullable) for f in table.schema][:8] == COLUMNS
    rows = table.to_pylist()
    assert [r["rel_path"] for r in rows] == ["a.csv", "eu/b.txt", "z.tsv"]
    for r in rows:
        st = (lake / r["rel_path"]).stat()
        assert (r["size_bytes"], r["mtime_ms"], r["mtime_ns"]) == (st.st_size, st.st_mtime_ns // 10**6, st.st_mtime_ns)
        assert len(r["content_hash"]) == 64 and int(r["content_hash"], 16) >= 0
    assert [r["total_rows"] for r in rows] == [3, 1, 0]
    assert [r["first_global_row"] for r in rows] == [0, 3, 4]
    for key, value in {"kind": "lake_map", "version": "1", "payload": "arrow_ipc", "map_schema": "3", "ext": "1",
                       "checkpoint_stride_rows": "2", "fingerprint": "blake3", "interop": "full", "total_files": "3",
                       "total_rows": "4", "total_bytes": str(sum(r["size_bytes"] for r in rows))}.items():
        assert meta["bazan." + key].decode() == value, key
    assert json.loads(meta["bazan.stats_columns"]) == ["day", "id", "name"]
    # The JSON of the first columns, key by key.
    stats = json.loads(rows[0]["stats_json"])
    assert stats["total_rows"] == 3
    assert stats["columns"] == {"id": {"min": -9, "max": 3, "min_str": None, "max_str": None},
                                "name": {"min": None, "max": None, "min_str": "Zoë", "max_str": "y\nz"}}
    data = (lake / "a.csv").read_bytes()
    first, third = data.index(b"1,1.5"), data.index(b"3,,")
    assert json.loads(rows[0]["row_groups_json"]) == [
        {"ordinal": 0, "first_row": 0, "row_count": 2, "first_byte": first, "total_byte_size": third - first, "compressed_size": 0,
         "columns": []},
        {"ordinal": 1, "first_row": 2, "row_count": 1, "first_byte": third, "total_byte_size": len(data) - third,
         "compressed_size": 0, "columns": []}]
    assert json.loads(rows[2]["row_groups_json"]) == []
    # The same, typed.
    assert [(b["first_row"], b["row_count"], b["first_byte"], b["total_byte_size"], b["first_line"]) for b in rows[0]["blocks"]] == \
        [(0, 2, first, third - first, 2), (2, 1, third, len(data) - third, 5)]
    columns = {c["name"]: c for c in rows[0]["columns"]}
    assert set(columns) == {"id", "name", "day"}
    assert (columns["id"]["min_i"], columns["id"]["max_i"], columns["id"]["null_count"]) == (-9, 3, 0)
    assert (columns["day"]["min_i"], columns["day"]["max_i"], columns["day"]["null_count"]) == (19358, 19723, 1)
    assert columns["name"]["min_b"] == "Zoë".encode() and columns["name"]["max_b"] == b"y\nz"
    dialect = rows[1]["dialect"]
    assert dialect["delimiter"] == b";" and dialect["quote"] == 34 and dialect["has_header"] and dialect["data_start"] == 9


def test_schemas_are_arrows_own(lake):
    run("map", "-q", lake)
    table, meta = load(lake)
    a = table.to_pylist()[0]
    schema = pa.ipc.read_schema(pa.py_buffer(a["arrow_schema"]))
    assert schema.names == ["id", "price", "name", "day", "ok", "none"]
    assert [str(t) for t in schema.types] == ["int64", "double", "string", "date32[day]", "bool", "null"]
    union = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(meta["bazan.union_schema"])))
    assert union.names == ["id", "price", "name", "day", "ok", "none", "extra"]
    assert all(f.nullable for f in union if f.name not in ("id",))


def test_lean_maps_have_empty_json(lake):
    run("map", "-q", lake)
    for r in load(lake)[0].to_pylist():
        stats = json.loads(r["stats_json"])
        assert stats == {"total_rows": r["total_rows"], "columns": {}} and json.loads(r["row_groups_json"]) == []
        assert r["content_hash"] is None


def test_threads_do_not_show(lake):
    """The same map whatever the number of threads, but for when it was made."""
    for i in range(30):
        (lake / ("f%02d.csv" % i)).write_text("id,v\n" + "".join("%d,%d.5\n" % (j, i) for j in range(i * 20)))
    seen = []
    for threads in ("1", "2"):
        run("map", "-q", lake, "-j", threads, "--stride", "8", "--interop", "full", "--fingerprint", "blake3", "--stats", "block")
        table, meta = load(lake)
        meta.pop("bazan.created_ns")
        seen.append((table.drop_columns(["inspected_ns"]).to_pylist(), table.schema.remove_metadata(), meta))
    assert seen[0] == seen[1]


def test_equal_schemas_are_stored_once(tmp_path):
    for i in range(5):
        (tmp_path / ("%d.csv" % i)).write_text("id,v\n%d,x\n" % i)
    (tmp_path / "3.csv").write_text("other\n1\n")
    run("map", "-q", tmp_path)
    rows = load(tmp_path)[0].to_pylist()
    assert [r["schema_ref"] for r in rows] == [None, 0, 0, None, 0]
    assert [r["arrow_schema"] is None for r in rows] == [False, True, True, False, True]


def test_metadata_is_that_of_the_first_file(tmp_path):
    """As in a dataset of pyarrow, for schema and columns; with a map and without one, of all columns and of some."""
    lake = tmp_path / "lake"
    lake.mkdir()
    for i, of in enumerate(({"pandas": "{}", "k": "first"}, {"k": "second", "more": "x" * 70000}, None)):
        fields = [pa.field("a", pa.int64(), metadata={"of": str(i)}), pa.field("b%d" % i, pa.string(), metadata={"of": "b"})]
        table = pa.table([[i], ["x"]], schema=pa.schema(fields, metadata=of))
        with pa.ipc.new_file(lake / ("%d.arrow" % i), table.schema) as f:
            f.write_table(table)

    def check(path, want):
        for columns in ([], ["--columns", "a"]):
            out = tmp_path / "out.arrow"
            run("slice", path, *columns, "-o", out)
            got = pa.ipc.open_file(out).schema
            out.unlink()
            assert (got.metadata or None) == want.metadata
            assert got.field("a").metadata == want.field("a").metadata

    first = dataset.dataset(lake, format="ipc").schema
    assert first.metadata == {b"pandas": b"{}", b"k": b"first"}
    for _ in range(2):
        check(lake, first)
        check(lake / "1.arrow", pa.ipc.open_file(lake / "1.arrow").schema)
        run("map", "-q", lake)
    (lake / "0.arrow").rename(lake / "9.arrow")
    second = dataset.dataset(lake, format="ipc").schema
    assert len(second.metadata) == 2
    run("doctor", lake, "--heal")
    check(lake, second)
    (lake / "0.csv").write_text("a,c\n1,2\n")
    run("map", "-q", lake)
    check(lake, pa.schema([pa.field("a", pa.int64())]))


def test_options_are_kept(lake):
    (lake / ".hidden").mkdir()
    (lake / ".hidden" / "h.csv").write_text("id\n1\n")
    run("map", "-q", lake, "--hidden", "--detect", "--exclude", "z*", "--include", "**/*.csv", "--include", "**/*.t*", "--set",
        "eu/*:delimiter=;,null=NA", "--set", "*.csv:quote=none", "--null", "-", "--on-error", "record", status=1)
    options = json.loads(load(lake)[1]["bazan.options"])
    assert options["hidden"] is True and options["detect"] is True and options["on_error"] == "record"
    assert options["exclude"] == ["z*"] and options["include"] == ["**/*.csv", "**/*.t*"]
    assert options["set"] == ["eu/*:delimiter=;,null=NA", "*.csv:quote=none"]
    assert options["read"] == {"null": ["-"]}


# BLAKE3 of the published test inputs, bytes 0, 1 … 250 again and again; XXH3-128 of the same, by the xxhash package of Python.
PATTERN = bytes(range(251))
VECTORS = [
    # size, BLAKE3 of the file, BLAKE3 of its ranges, XXH3-128 of its ranges
    (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
     [],
     []),
    (1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
     ["2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"],
     ["a6cd5e9392000f6ac44bdff4074eecdb"]),
    (1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
     ["10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"],
     ["4325711b0ed4d742d3d91d80ac495685"]),
    (1048576, "74cb441fd087764ca9c3694da742ebe30cbeb3060a17009ca81825c7a8d10343",
     ["74cb441fd087764ca9c3694da742ebe30cbeb3060a17009ca81825c7a8d10343"],
     ["53738d98098cabba6e0d7ac36b8c10ff"]),
    (1048577, "2f053cd7472cf0cd2f9adaf45c1180255b91b9a865404a63671a0ee5f792ed33",
     ["74cb441fd087764ca9c3694da742ebe30cbeb3060a17009ca81825c7a8d10343",
      "48466bee526f88461838b900c45f868ad55af9e9c6fa5487aab44e5d5abe0dc3"],
     ["53738d98098cabba6e0d7ac36b8c10ff", "bf10363c9fab0aae7351dee679f41de4"]),
    (2500000, "a4052902f59677aa7a01889796008376578c68b85bed14769ffecc3632bdbc35",
     ["74cb441fd087764ca9c3694da742ebe30cbeb3060a17009ca81825c7a8d10343",
      "ce7ce983fb2878cba93b6e4fd6d613aa42617934a5c5f21e6a8890fa1e31568d",
      "67d6f4fec2a50a9334f18cbb992c728f2d1538dbadfce69ae479610d893341aa"],
     ["53738d98098cabba6e0d7ac36b8c10ff", "31fb61c527beb130389c602a75e16490", "dbe574fa22f47b49cbe7d049988c3d23"]),
]


@pytest.mark.parametrize("size, whole, blake3, xxh3", VECTORS, ids=[str(v[0]) for v in VECTORS])
def test_digests(tmp_path, size, whole, blake3, xxh3):
    """Over every byte of the file, header and all, in ranges of 1 MiB, whatever the reading does with them."""
    (tmp_path / "a.csv").write_bytes((PATTERN * (size // 251 + 1))[:size])
    # The bytes are no UTF-8; with one quote and both line ends among them. Latin-1 reads them all.
    run("map", "-q", tmp_path, "--fingerprint", "blake3", "--encoding", "ISO-8859-1", "--ragged", "null", "--quote", "none")
    row = load(tmp_path)[0].to_pylist()[0]
    assert row["content_hash"] == whole
    assert [d["blake3"].hex() for d in row["digests"]] == blake3
    assert [d["xxh3"].hex() for d in row["digests"]] == xxh3
    assert [(d["first_byte"], d["length"]) for d in row["digests"]] == \
        [(i, min(1 << 20, size - i)) for i in range(0, size, 1 << 20)]
    run("map", "-q", tmp_path, "--encoding", "ISO-8859-1", "--ragged", "null", "--quote", "none")
    row = load(tmp_path)[0].to_pylist()[0]
    assert [d["xxh3"].hex() for d in row["digests"]] == xxh3 and all(d["blake3"] is None for d in row["digests"])


def test_digests_of_text(tmp_path):
    """UTF-8 with a BOM, and UTF-16: of the file's bytes, not of the text."""
    text = "id,name\n" + "".join("%d,Größe %d\n" % (i, i) for i in range(70000))
    for name, encoding in (("a", "utf-8-sig"), ("b", "utf-16")):
        (tmp_path / (name + ".csv")).write_bytes(text.encode(encoding))
    run("map", "-q", tmp_path, "--fingerprint", "blake3", "--set", "b.csv:encoding=UTF-16")
    rows = load(tmp_path)[0].to_pylist()
    for row in rows:
        data = (tmp_path / row["rel_path"]).read_bytes()
        assert len(row["digests"]) == (len(data) + 2**20 - 1) // 2**20
        assert sum(d["length"] for d in row["digests"]) == len(data) == row["size_bytes"]
    # Cut into files of their own, the ranges have the hashes that they have as ranges.
    parts = tmp_path / "parts"
    parts.mkdir()
    for row in rows:
        data = (tmp_path / row["rel_path"]).read_bytes()
        for i in range(len(row["digests"])):
            (parts / ("%s%d.csv" % (row["rel_path"][0], i))).write_bytes(data[i << 20:(i + 1) << 20])
    run("map", "-q", parts, "--fingerprint", "blake3", "--encoding", "ISO-8859-1", "--ragged", "null", "--quote", "none", "--no-header")
    want = [d["blake3"].hex() for row in rows for d in row["digests"]]
    assert [r["content_hash"] for r in load(parts)[0].to_pylist()] == want


def test_names_as_bytes(tmp_path):
    """Blanks, newlines, percent signs and bytes that are no UTF-8."""
    names = [b"a b.csv", b"new\nline.csv", b"100%.csv", b"\xff\xfe 5%.csv", "Größe.csv".encode(), b"d\xe9/x.csv"]
    for i, name in enumerate(sorted(names)):
        path = os.path.join(os.fsencode(tmp_path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write("id\n%d\n" % i)
    run("map", "-q", tmp_path)
    rows = load(tmp_path)[0].to_pylist()
    assert {r["rel_path"]: r["rel_path_raw"] for r in rows} == {
        "a b.csv": None, "new\nline.csv": None, "100%.csv": None, "%FF%FE 5%25.csv": b"\xff\xfe 5%.csv", "Größe.csv": None,
        "d%E9/x.csv": b"d\xe9/x.csv"}
    assert [r["rel_path"].encode() for r in rows] == sorted(r["rel_path"].encode() for r in rows)
    lines = run("slice", "-q", tmp_path, "--to", "csv", "--columns", "id")[0].split()[1:]
    assert sorted(map(int, lines)) == list(range(6))
    out = run("slice", "-q", "--explain", "--json", os.path.join(os.fsencode(tmp_path), b"\xff\xfe 5%.csv"))[0]
    assert b'"map":"used"' in out
    # Two names that would be one in the map.
    with open(os.path.join(os.fsencode(tmp_path), b"%FF%FE 5%25.csv"), "w") as f:
        f.write("id\n9\n")
    before = (tmp_path / MAP).read_bytes()
    _, err = run("map", tmp_path, "--on-error", "abort", status=3)
    assert "two files" in err and (tmp_path / MAP).read_bytes() == before
    # Recorded by a third name; the other one is read as before, and neither is taken for the other.
    _, err = run("map", tmp_path, status=1)
    assert "1 file could not be read" in err and "two files would both be called %FF%FE 5%25.csv" in err
    rows = {r["rel_path"]: r for r in load(tmp_path)[0].to_pylist()}
    third = "".join("%%%02X" % b for b in b"\xff\xfe 5%.csv")
    assert len(rows) == 7 and rows[third]["error"] and rows[third]["rel_path_raw"] == b"\xff\xfe 5%.csv"
    assert (rows["%FF%FE 5%25.csv"]["error"], rows["%FF%FE 5%25.csv"]["total_rows"]) == (None, 1)
    for name, value, use in ((b"\xff\xfe 5%.csv", "5", b'"map":"not listed"'), (b"%FF%FE 5%25.csv", "9", b'"map":"used"')):
        path = os.path.join(os.fsencode(tmp_path), name)
        assert run("slice", "-q", path, "--to", "csv")[0].split() == [b"id", value.encode()]
        assert use in run("slice", "-q", "--explain", "--json", path)[0]
    assert json.loads(run("doctor", tmp_path, "--json")[0])["status"] == "HEALTHY"


def test_stays_an_arrow_file_with_pyarrow_writing_it(lake):
    """A map that pyarrow read and wrote again serves as before."""
    run("map", "-q", lake, "--stride", "1")
    want = run("slice", "-q", lake, "--to", "tagged")[0]
    table, _ = load(lake)
    os.unlink(lake / MAP)
    with pa.ipc.new_file(lake / MAP, table.schema) as out:
        out.write_table(table.combine_chunks())
    assert run("slice", "-q", lake, "--to", "tagged")[0] == want
    assert json.loads(run("slice", "-q", lake, "--explain", "--json")[0])["map"] == "used"
