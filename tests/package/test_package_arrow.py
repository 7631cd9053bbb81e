"""Hand-over: pyarrow, Polars, DuckDB and pandas take what Lakebed gives, whole, valid and with the same values; values
in Python are those that pyarrow gives, for every type."""

import datetime
import decimal
import math
import pickle

import package_lake
import pytest

pyarrow = pytest.importorskip("pyarrow")
br = package_lake.lakebed
N = 2500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrow") / "data"
    package_lake.make(folder, checkpoint_stride_rows=5)
    with open(folder / "kinds.csv", "w") as out:
        out.write("i,u,f,b,d,t,s,z\n")
        for i in range(N):
            number, text = "" if i % 7 == 0 else i, '"a, b"' if i % 5 else ""
            values = (number, 2**63 + i, i / 3, i % 2 == 0, i % 28 + 1, i % 60, text, i % 60)
            out.write("%s,%d,%r,%s,2024-01-%02d,12:00:%02d,%s,2024-01-01T00:%02d:00Z\n" % values)
    br.lake.create_map(folder, checkpoint_stride_rows=100, set=package_lake.OPTIONS)
    return folder


def everything_given(folder):
    table = br.open(folder / "kinds.csv")
    yield table, table.read()
    yield table.read(), table.read()
    yield table[100:777], table.slice(100, 677)
    yield table.select(["s", "i"]), table.read().select(["s", "i"])
    yield table.batches(), table.read()
    yield table[5:9].batches[0], table[5:9]
    yield table.shuffle(3), table.shuffle(3)[:]
    yield br.open(folder), br.open(folder).read()


def same(given, expected):
    """NaN equals NaN here, and UTC is one zone under two names; nothing else is bent."""
    return text_of(given) == text_of(expected)


def text_of(values):
    return repr(values).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc")


def test_pyarrow(folder):
    for given, rows in everything_given(folder):
        table = pyarrow.table(given)
        table.validate(full=True)
        assert table.column_names == rows.column_names and table.num_rows == rows.num_rows
        assert same(table.to_pylist(), rows.to_pylist())


def test_pyarrow_record_batch_and_schema(folder):
    table = br.open(folder / "kinds.csv")
    batch = table[5:9].batches[0]
    taken = pyarrow.record_batch(batch)
    taken.validate(full=True)
    assert same(taken.to_pylist(), batch.to_pylist())
    for thing in (table, table[0:1], batch, table.schema, table.batches(), table.shuffle(1)):
        assert pyarrow.schema(thing).names == table.columns
    reader = pyarrow.RecordBatchReader.from_stream(table)
    assert reader.read_all().equals(pyarrow.table(table))


def test_polars(folder):
    polars = pytest.importorskip("polars")
    for given, rows in everything_given(folder):
        frame = polars.DataFrame(given)
        assert frame.columns == rows.column_names and frame.height == rows.num_rows
        for name in rows.column_names:
            assert same(frame[name].to_list(), rows.column(name)), name
    assert br.open(folder / "kinds.csv").to_polars().equals(polars.DataFrame(br.open(folder / "kinds.csv").to_arrow()))


def test_duckdb(folder):
    duckdb = pytest.importorskip("duckdb")
    x = br.open(folder / "kinds.csv").select(["i", "f", "s", "b", "d"])
    assert duckdb.sql("from x").fetchall() == [tuple(row.values()) for row in x]
    total = sum(row["i"] or 0 for row in x)
    assert duckdb.sql("select sum(i), count(*), count(i) from x").fetchall() == [(total, N, N - len(range(0, N, 7)))]
    assert duckdb.sql("from x where i = 13").fetchall() == duckdb.sql("from x where i = 13").fetchall() != []
    rows = x[10:12]
    assert duckdb.sql("from rows").fetchall() == [tuple(row.values()) for row in rows]


def test_pandas(folder):
    pandas = pytest.importorskip("pandas")
    x = br.open(folder / "kinds.csv").select(["u", "f", "s"])
    frame = x.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["u"].tolist() == x.read().column("u") and frame["f"].tolist() == x.read().column("f")
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(x)["u"].tolist() == x.read().column("u")


def test_rows_outlive_what_they_came_from(folder):
    def made():
        with br.open(folder / "kinds.csv") as table:
            return table[10:20], pyarrow.table(table[10:20]), pyarrow.RecordBatchReader.from_stream(table)

    rows, taken, reader = made()
    assert same(taken.to_pylist(), rows.to_pylist())
    assert reader.read_all().num_rows == N
    column = pyarrow.table(rows).column("s")
    del rows, taken
    assert column.to_pylist()[1] == "a, b"


def test_a_stream_is_handed_over_once(folder):
    batches = br.open(folder / "kinds.csv").batches()
    assert pyarrow.table(batches).num_rows == N
    with pytest.raises(ValueError):
        pyarrow.table(batches)
    table = br.open(folder / "kinds.csv")
    assert pyarrow.table(table).num_rows == pyarrow.table(table).num_rows == N


def test_a_stream_that_nobody_takes_is_let_go(folder):
    for _ in range(100):
        br.open(folder / "kinds.csv").__arrow_c_stream__()
        br.open(folder / "kinds.csv").schema.__arrow_c_schema__()
        br.open(folder / "kinds.csv")[0:3].batches[0].__arrow_c_array__()


def test_children_may_be_moved_out_of_what_is_exported(folder):
    rows = br.open(folder / "kinds.csv")[0:50]
    for _ in range(3):
        batch = pyarrow.record_batch(rows.batches[0])
        column = batch.column(6)
        del batch
        assert column.to_pylist() == rows.column("s")[: len(column)]


# ---- every type

D = decimal.Decimal
DEEP = [[{"m": [[1], []]}, None], None, [], [{"m": None}]]
DAY = datetime.date(2024, 2, 29)
OLD = datetime.datetime(1969, 12, 31)
SPANS = [datetime.timedelta(days=-1, microseconds=5), None, datetime.timedelta(0), datetime.timedelta(9)]
STRUCTS = [{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": 3, "b": ""}]
NOON = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)


def typed():
    """Columns of every type that pyarrow makes, with nulls, and an empty batch's worth of offsets to go wrong."""
    pa = pyarrow
    simple = [
        ("bool", pa.bool_(), [True, None, False, True]),
        ("null", pa.null(), [None] * 4),
        ("f16", pa.float16(), [1.5, None, -0.0, 65504.0]),
        ("f32", pa.float32(), [1.5, None, math.inf, -1e-40]),
        ("f64", pa.float64(), [0.1, None, -math.inf, 1e300]),
        ("str", pa.string(), ["", None, "häh", "x" * 50]),
        ("lstr", pa.large_string(), ["", None, "häh", "x" * 50]),
        ("vstr", pa.string_view(), ["", None, "häh", "longer than twelve bytes"]),
        ("bin", pa.binary(), [b"", None, b"\0\xff", b"x" * 50]),
        ("lbin", pa.large_binary(), [b"", None, b"\0\xff", b"x"]),
        ("vbin", pa.binary_view(), [b"", None, b"\0\xff", b"longer than twelve bytes"]),
        ("fix", pa.binary(3), [b"abc", None, b"\0\1\2", b"xyz"]),
        ("d128", pa.decimal128(30, 4), [D("-1.2345"), None, D(10**20), D("0.0001")]),
        ("d256", pa.decimal256(70, 2), [D("-1.25"), None, D(10**60), D("0.01")]),
        ("date32", pa.date32(), [DAY, None, datetime.date.min, datetime.date.max]),
        ("date64", pa.date64(), [DAY, None, datetime.date(1969, 12, 31), datetime.date(1900, 1, 1)]),
        ("t32", pa.time32("ms"), [datetime.time(1, 2, 3, 4000), None, datetime.time.min, datetime.time(23, 59, 59)]),
        ("t64", pa.time64("us"), [datetime.time(1, 2, 3, 4), None, datetime.time.min, datetime.time.max]),
        ("ts", pa.timestamp("us"), [NOON, None, datetime.datetime.min, datetime.datetime.max]),
        ("tss", pa.timestamp("s"), [NOON.replace(microsecond=0), None, OLD, datetime.datetime(1, 1, 1)]),
        ("tz", pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=datetime.timezone.utc), None] * 2),
        ("tzo", pa.timestamp("ms", "+02:30"), [NOON.replace(microsecond=0, tzinfo=datetime.timezone.utc), None] * 2),
        ("dur", pa.duration("us"), SPANS),
        ("list", pa.list_(pa.int16()), [[1, None], None, [], [3]]),
        ("llist", pa.large_list(pa.string()), [["a", None], None, [], ["b", "c"]]),
        ("flist", pa.list_(pa.int8(), 2), [[1, 2], None, [3, None], [5, 6]]),
        ("struct", pa.struct([("a", pa.int8()), ("b", pa.string())]), STRUCTS),
        ("map", pa.map_(pa.string(), pa.int8()), [[("a", 1), ("b", None)], None, [], [("a", 2)]]),
        ("deep", pa.list_(pa.struct([("m", pa.list_(pa.list_(pa.int64())))])), DEEP),
    ]
    for width in (8, 16, 32, 64):
        signed, unsigned = getattr(pa, "int%d" % width)(), getattr(pa, "uint%d" % width)()
        simple.append(("i%d" % width, signed, [-(2 ** (width - 1)), None, 0, 2 ** (width - 1) - 1]))
        simple.append(("u%d" % width, unsigned, [2**width - 1, None, 0, 1]))
    columns = [(name, pa.array(values, kind)) for name, kind, values in simple]
    columns.append(("dict", pa.array(["a", None, "b", "a"]).dictionary_encode()))
    return columns


def others():
    """Layouts that only some writers use."""
    pa = pyarrow
    yield "run", pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int32()), pa.array(["a", None]))
    yield "lview", pa.array([[1, None], None, [], [3]], pa.list_view(pa.int16()))
    yield "llview", pa.array([["a"], None, [], ["b", "c"]], pa.large_list_view(pa.string()))
    kinds = pa.array([0, 1, 0, 1], pa.int8())
    yield "sparse", pa.UnionArray.from_sparse(kinds, [pa.array([1, 2, 3, 4]), pa.array(["a", "b", "c", "d"])])
    yield "dense", pa.UnionArray.from_dense(
        kinds, pa.array([0, 0, 1, 1], pa.int32()), [pa.array([1, None]), pa.array(["a", "b"])]
    )


def expected_of(column):
    values = column.to_pylist()
    return [value.as_py() if hasattr(value, "as_py") else value for value in values]


@pytest.mark.parametrize("name, column", [pytest.param(n, c, id=n) for n, c in typed() + list(others())])
def test_values_are_those_of_pyarrow(name, column):
    """As they are, and sliced, so that every offset counts."""
    for part in (column, column.slice(1), column.slice(2, 1), column.slice(4)):
        table = pyarrow.table({name: part})
        assert same(br._core.values(table), expected_of(part))
        assert isinstance(part, pyarrow.StructArray) or same(br._core.values(part), expected_of(part))


@pytest.mark.parametrize("name, column", [pytest.param(n, c, id=n) for n, c in typed()])
def test_every_type_through_a_handler_a_slice_and_a_pickle(name, column, tmp_path):
    table = pyarrow.table({"row": pyarrow.array(range(4)), name: column})
    br.formats.register("kind", lambda path: table)
    try:
        (tmp_path / "x.kind").write_text("")
        opened = br.open(tmp_path / "x.kind")
        assert same(opened.read().column(name), column.to_pylist())
        for first, n in ((0, 4), (1, 2), (3, 1), (4, 0)):
            rows = opened.slice(first, n)
            assert same(rows.column(name), column.to_pylist()[first : first + n])
            again = pickle.loads(pickle.dumps(rows))
            assert repr(again.column(name)) == repr(rows.column(name))
            taken = pyarrow.table(again)
            taken.validate(full=True)
            assert same(taken.column(name).to_pylist(), rows.column(name))
        assert same(opened.take([3, 0, 3]).column(name), [column.to_pylist()[i] for i in (3, 0, 3)])
    finally:
        br.formats.unregister_format("kind")


def test_what_datetime_cannot_hold_is_text():
    values = br._values
    assert values.timestamp(1, 10**9, "") == "1970-01-01T00:00:00.000000001"
    assert values.timestamp(2**62, 1, "") == "%d/1 seconds since 1970-01-01" % 2**62
    assert values.time(86_400, 1) == "24:00:00.000000000"
    assert values.duration(2**62, 1).endswith("/1 seconds")
    assert values.zone("No/Such") is None
    assert values.timestamp(0, 1, "No/Such").tzinfo == datetime.timezone.utc
    assert values.timestamp(0, 1, "-03:30").utcoffset() == datetime.timedelta(hours=-3, minutes=-30)
    assert values.interval(1, 2, 3) == (1, 2, 3)
    month_day_nano = pyarrow.array([pyarrow.MonthDayNano([1, -2, 3]), None])
    assert br._core.values(month_day_nano) == [(1, -2, 3), None]


def test_what_is_taken_in_has_to_speak_arrow(tmp_path):
    for rows in ([1, 2], {"a": [1]}, None, "x"):
        with pytest.raises(TypeError):
            br.lance.create(tmp_path / "x.lance", rows)
    assert not (tmp_path / "x.lance").exists()


def test_errors_of_a_stream_reach_who_pulls(tmp_path):
    def handler(path):
        def batches():
            yield pyarrow.record_batch({"a": [1]})
            raise RuntimeError("the well is dry")

        reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("a", pyarrow.int64())]), batches())
        return reader if state["fail"] else pyarrow.table({"a": [1, 2]})

    state = {"fail": False}
    br.formats.register("kind", handler)
    try:
        (tmp_path / "x.kind").write_text("")
        table = br.open(tmp_path / "x.kind")
        state["fail"] = True
        with pytest.raises(br.Error, match="the well is dry"):
            table.read()
        with pytest.raises((OSError, pyarrow.ArrowException), match="the well is dry"):
            pyarrow.table(table)
    finally:
        br.formats.unregister_format("kind")
