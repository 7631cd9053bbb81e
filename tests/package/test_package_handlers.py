"""Handlers in Python, with the rules that a map has for them."""

import os
import threading

import package_lake
import pytest

pyarrow = pytest.importorskip("pyarrow")
br = package_lake.lakebed


def squares(path):
    """Files that hold a number n: n rows, in batches of 100."""
    with open(path) as file:
        n = int(file.read())
    return pyarrow.table({"n": pyarrow.array(range(n), "int64"), "text": ["row %d" % i for i in range(n)]})


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    package_lake.numbers(folder / "a.csv", 10)
    (folder / "b.squares").write_text("1000")
    br.formats.register("squares", squares)
    yield folder
    br.formats.unregister_format("squares")


def test_a_file_of_a_handler(folder):
    table = br.open(folder / "b.squares")
    assert type(table) is br.File and len(table) == 1000 and table.schema.types == ["int64", "string"]
    assert table[999] == {"n": 999, "text": "row 999"} and table[10:13].column("n") == [10, 11, 12]
    assert table.take([500, 3, 500]).column("text") == ["row 500", "row 3", "row 500"]
    assert sorted(r["n"] for r in table.shuffle(1)) == list(range(1000))
    assert table.select(["text"]).tail(1).to_pylist() == [{"text": "row 999"}]
    assert (table.stats["n"].min, table.stats["n"].max, table.stats["n"].null_count) == (0, 999, 0)
    assert table.files[0].format == "dynamic" and table.explain(5, 1)[0]["skipped_rows"] == 5
    with pytest.raises(br.UnsupportedError):
        table.raw()
    with pytest.raises(br.ColumnError):
        table.select(["x"])


def test_maps_keep_rows_and_no_places(folder):
    br.lake.create_map(folder)
    entries = br.lake.describe(folder)["entries"]
    assert [(e["path"], e["format"], e["locator"], e["rows"], e["blocks"]) for e in entries][1] == (
        "b.squares",
        "dynamic",
        "none",
        1000,
        0,
    )
    assert br.lake.locate_row(folder, 500) == {
        "rel_path": "b.squares",
        "file_offset": 490,
        "row_group": None,
        "row_in_group": None,
        "page_indexed": False,
    }
    lake = br.open(folder)
    assert lake.files[1].map == "dynamic handler" and lake[500]["n"] == 490
    assert lake[5:15].column("text") == ["row %d" % i for i in (5, 6, 7, 8, 9, 0, 1, 2, 3, 4)]
    assert br.lake.doctor(folder)["status"] == "HEALTHY"


def test_what_is_not_registered_is_missing(folder):
    br.lake.create_map(folder)
    br.formats.unregister_format("squares")
    assert br.lake.doctor(folder)["missing_files"] == ["b.squares"]
    healed = br.lake.doctor(folder, auto_heal=True)
    assert healed["status"] == "HEALED" and br.lake.describe(folder)["files"] == 1


def test_the_doctor_sees_what_changes(folder):
    br.lake.create_map(folder)
    (folder / "b.squares").write_text("20")
    (folder / "c.squares").write_text("5")
    assert br.lake.doctor(folder, auto_heal=True)["modified_files"] == ["b.squares"]
    assert br.lake.describe(folder)["rows"] == 35


def test_a_handler_takes_over_what_is_built_in(folder):
    br.formats.register(".CSV", lambda path: pyarrow.table({"path": [os.path.basename(path)]}))
    try:
        assert br.open(folder / "a.csv")[0] == {"path": "a.csv"}
        br.lake.create_map(folder)
        assert br.lake.describe(folder)["entries"][0]["format"] == "dynamic"
    finally:
        br.formats.unregister_format("csv")
    assert br.open(folder / "a.csv")[9]["n"] == 9


def test_the_last_registration_counts(folder):
    opened = br.open(folder / "b.squares")
    br.formats.register("squares", lambda path: pyarrow.table({"x": [1]}))
    assert br.open(folder / "b.squares")[0] == {"x": 1} and opened[7]["n"] == 7
    br.formats.register_delimited("squares", "|")
    assert br.open(folder / "b.squares").columns == ["1000"]


def test_what_a_handler_may_give(folder):
    polars = pytest.importorskip("polars")
    given = {
        "table": pyarrow.table({"n": [1, 2], "s": ["a", None]}),
        "batch": pyarrow.record_batch({"n": [1, 2], "s": ["a", None]}),
        "polars": polars.DataFrame({"n": [1, 2], "s": ["a", None]}),
        "coded": pyarrow.table({"n": [1, 2], "s": pyarrow.array(["a", None]).dictionary_encode()}),
        "ours": None,
    }
    (folder / "x.csv").write_text("n,s\n1,a\n2,\n")
    given["ours"] = br.open(folder / "x.csv")
    for name, rows in given.items():
        br.formats.register("squares", lambda path, rows=rows: rows)
        table = br.open(folder / "b.squares")
        assert table.read().to_pydict() == {"n": [1, 2], "s": ["a", None]}, name
        assert table.schema.types == ["int64", "string"] or name == "polars"
        assert table.take([1, 0]).column("n") == [2, 1]


def test_a_handler_may_give_nothing(folder):
    br.formats.register("squares", lambda path: pyarrow.table({"n": pyarrow.array([], "int64")}))
    table = br.open(folder / "b.squares")
    assert len(table) == 0 and table.columns == ["n"] and table[:].num_rows == 0


def test_readers_of_batches(folder):
    def batches(path):
        schema = pyarrow.schema([("n", pyarrow.int64())])
        pieces = (pyarrow.record_batch([pyarrow.array(range(i, i + 10), "int64")], schema) for i in range(0, 100, 10))
        return pyarrow.RecordBatchReader.from_batches(schema, pieces)

    br.formats.register("squares", batches)
    table = br.open(folder / "b.squares")
    assert table.read().column("n") == list(range(100)) and table[35:52].column("n") == list(range(35, 52))


def test_what_a_handler_raises_is_the_cause(folder):
    def broken(path):
        raise ZeroDivisionError("no rows in " + os.path.basename(path))

    br.formats.register("squares", broken)
    with pytest.raises(br.CorruptError, match="ZeroDivisionError: no rows in b.squares") as caught:
        br.open(folder / "b.squares")
    assert type(caught.value.__cause__) is ZeroDivisionError and caught.value.path.endswith("b.squares")
    with pytest.raises(br.CorruptError):
        br.lake.create_map(folder)
    assert not (folder / ".br_map.bazan").exists()
    br.lake.create_map(folder, on_error="record")
    assert "ZeroDivisionError" in br.lake.describe(folder)["entries"][1]["error"]


@pytest.mark.parametrize("given", [None, 5, [1, 2], {"n": [1]}, pyarrow.array([1, 2])])
def test_what_a_handler_may_not_give(folder, given):
    br.formats.register("squares", lambda path: given)
    with pytest.raises(br.Error):
        br.open(folder / "b.squares")


def test_a_handler_that_gives_other_columns_later(folder):
    tables = [pyarrow.table({"n": [1]}), pyarrow.table({"m": ["x"]})]
    br.formats.register("squares", lambda path: tables.pop(0) if len(tables) > 1 else tables[0])
    table = br.open(folder / "b.squares")
    with pytest.raises(br.StaleError):
        table.read()


def test_a_handler_may_open_other_files(folder):
    br.formats.register("squares", lambda path: br.open(os.path.join(os.path.dirname(path), "a.csv")).select(["n"]))
    assert br.open(folder / "b.squares").read().column("n") == list(range(10))


def test_handlers_are_called_from_many_threads(folder):
    for i in range(20):
        (folder / ("%d.squares" % i)).write_text(str(i))
    seen = set()

    def slow(path):
        seen.add(threading.get_ident())
        return squares(path)

    br.formats.register("squares", slow)
    br.configure(threads=4)
    try:
        br.lake.create_map(folder)
    finally:
        br.configure()
    assert br.lake.describe(folder)["rows"] == 1010 + sum(range(20)) and seen


def test_registering(folder):
    assert br.formats.register("kind", squares) is squares
    assert br.formats.unregister_format(".KIND") and not br.formats.unregister_format("kind")
    for ext, handler, error in (("kind", 5, TypeError), (5, squares, TypeError), ("a.b", squares, ValueError)):
        with pytest.raises(error):
            br.formats.register(ext, handler)


def test_whoever_pulls_may_hold_the_interpreter_s_lock(tmp_path):
    """Readers of other libraries, over many files whose handlers run on threads of the library."""
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    for i in range(12):
        (tmp_path / ("%02d.squares" % i)).write_text(str(i * 100))
    br.formats.register("squares", squares)
    br.configure(threads=4)
    try:
        lake = br.open(tmp_path)
        expected = [n for i in range(12) for n in range(i * 100)]
        for _ in range(5):
            assert polars.DataFrame(lake)["n"].to_list() == expected
            assert duckdb.sql("select count(*), sum(n) from lake").fetchall() == [(len(expected), sum(expected))]
            assert pyarrow.table(lake).column("n").to_pylist() == expected
            reader = pyarrow.RecordBatchReader.from_stream(lake)
            reader.read_next_batch()
            del reader
            lake.__arrow_c_stream__()
            next(lake.batches())
            assert lake.take(lake.select(["n"])[:5]).num_rows == 5
            assert lake.take(lake.select(["n"]).batches()).num_rows == len(expected)
            assert lake.stats["n"].max == 1099
        assert br.lance.create(tmp_path / "t.lance", lake).num_rows == len(expected)
    finally:
        br.configure()
        br.formats.unregister_format("squares")
