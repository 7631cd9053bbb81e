"""lakebed.open and what it gives: rows by number, by range, scattered, shuffled, in pieces, split."""

import csv
import itertools
import pickle
import random

import package_lake
import pytest

br = package_lake.lakebed
N = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "data"
    folder.mkdir()
    package_lake.numbers(folder / "a.csv", 1000)
    package_lake.numbers(folder / "b.csv", N - 1000, 1000)
    br.lake.create_map(folder, checkpoint_stride_rows=64)
    return folder


@pytest.fixture
def lake(folder):
    return br.open(folder)


def row(i):
    return {"n": i, "square": i * i, "text": "row %d" % i}


def test_what_is_opened(folder, tmp_path):
    assert type(br.open(folder)) is br.Lake and type(br.open(folder / "a.csv")) is br.File
    assert isinstance(br.open(folder), br.Table)
    assert br.open(folder).map_path == str(folder / ".br_map.bazan")
    lake = br.open(folder)
    assert (len(lake), lake.shape, lake.columns, lake.failed) == (N, (N, 3), ["n", "square", "text"], 0)
    assert [(f.path, f.rows, f.first_row, f.map) for f in lake.files] == [
        ("a.csv", 1000, 0, "used"),
        ("b.csv", 2000, 1000, "used"),
    ]
    assert br.open(folder, use_map=False).files[0].map == "not asked"


def test_rows_by_number(lake):
    for i in (0, 1, 63, 64, 999, 1000, N - 1):
        assert lake[i] == row(i)
        assert lake[i - N] == row(i)
    for i in (N, -N - 1, 10**18):
        with pytest.raises(IndexError):
            lake[i]
    with pytest.raises(TypeError):
        lake["n"]
    for bad in (1.5, None, b"n"):
        with pytest.raises(TypeError, match="row"):
            lake[bad]


def test_ranges_are_python_s(lake):
    everything = list(range(N))
    cuts = [None, 0, 1, 7, 64, 998, 1002, N - 1, N, N + 5, -1, -7, -N, -N - 5]
    for start, stop in itertools.product(cuts, cuts):
        assert lake[start:stop].column("n") == everything[start:stop], (start, stop)
    for start, stop, step in [(None, None, 7), (None, None, -1), (100, 10, -3), (10, 100, 5)]:
        assert lake[start:stop:step].column("n") == everything[start:stop:step]
    with pytest.raises(ValueError):
        lake[::0]


def test_slices(lake):
    assert lake.slice(998, 4).to_pylist() == [row(i) for i in range(998, 1002)]
    assert lake.head(3).column("n") == [0, 1, 2] and lake.tail(2).column("n") == [N - 2, N - 1]
    assert lake.slice(N, 5).num_rows == 0 and lake.slice(N, 5).column_names == ["n", "square", "text"]
    for bad in ((-1, 2), (0, -2)):
        with pytest.raises(OverflowError):
            lake.slice(*bad)
    with pytest.raises(TypeError):
        lake.slice("0", 1)


def test_take(lake):
    wanted = [random.Random(5).randrange(N) for _ in range(500)] + [7, 7, 0]
    assert lake.take(wanted).column("n") == wanted
    assert lake.take(wanted, sort=True).column("n") == sorted(wanted)
    assert lake.take(range(10, 0, -3)).column("n") == [10, 7, 4, 1]
    assert lake.take([]).num_rows == 0
    assert lake[[5, 3]].column("n") == [5, 3]
    with pytest.raises(OverflowError):
        lake.take([-1])
    with pytest.raises(TypeError):
        lake.take(["1"])
    for bad in ("12", 12, None, 1.5):
        with pytest.raises(TypeError, match="whole numbers"):
            lake.take(bad)
    with pytest.raises(ValueError, match=str(N)):
        lake.take([N])


def test_no_columns_are_not_all_columns(lake):
    with pytest.raises(ValueError, match="columns"):
        lake.select([])


def test_bounds_hold_nul_characters(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a\n\"x\0z\"\nx\0y\n")
    stats = br.open(tmp_path / "a.csv").stats["a"]
    assert (stats.min, stats.max) == ("x\0y", "x\0z")


def test_a_torn_file_of_a_lake(tmp_path):
    """Its rows are those of the lake too, and the files behind it are read."""
    (tmp_path / "a.ndjson").write_text('{"a":1,"b":"x"}\n{"a":')
    (tmp_path / "b.csv").write_text("a\n2\n")
    with pytest.warns(br.LakebedWarning, match="torn"):
        table = br.open(tmp_path)
    assert table[:].to_pylist() == list(table) == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_take_of_arrow_and_of_buffers(lake):
    pyarrow = pytest.importorskip("pyarrow")
    assert lake.take(pyarrow.array([3, 1])).column("n") == [3, 1]
    assert lake.take(pyarrow.table({"row": [3, 1]})).column("n") == [3, 1]
    assert lake.take(pyarrow.chunked_array([[3], [1]])).column("n") == [3, 1]
    assert lake.take(lake[2:4].select(["n"])).column("n") == [2, 3]


def test_take_of_numpy(lake):
    numpy = pytest.importorskip("numpy")
    for kind in ("int64", "uint64", "int32", "uint8"):
        assert lake.take(numpy.array([3, 1], dtype=kind)).column("n") == [3, 1]
    with pytest.raises(OverflowError):
        lake.take(numpy.array([-1]))
    assert lake[numpy.int64(5)] == row(5)


def test_sample_and_shuffle(lake):
    sample = lake.sample(50, seed=3).column("n")
    assert len(set(sample)) == 50 and sample == lake.sample(50, seed=3).column("n")
    assert sample != lake.sample(50, seed=4).column("n")
    assert lake.sample(10 * N, seed=3).num_rows == N
    assert lake.sample(20).num_rows == 20
    assert sorted(sample) == lake.sample(50, seed=3, sort=True).column("n")
    shuffled = lake.shuffle(seed=3)
    order = [r["n"] for r in shuffled]
    assert sorted(order) == list(range(N)) and order[:50] == sample
    assert shuffled.rows() == order and shuffled.rows(10, 5) == order[10:15]
    assert shuffled[7]["n"] == order[7] and shuffled[-1]["n"] == order[-1]
    assert shuffled[20:30].column("n") == order[20:30]
    resumed = [n for batch in shuffled.batches(max_rows=100, start=1234) for n in batch.to_pydict()["n"]]
    assert resumed == order[1234:]
    assert pickle.loads(pickle.dumps(shuffled))[5]["n"] == order[5]
    with pytest.raises(IndexError):
        shuffled[N]
    with pytest.raises(OverflowError):
        lake.shuffle(seed=-1)


def test_select(lake):
    two = lake.select(["text", "n"])
    assert (two.columns, two[5], len(two)) == (["text", "n"], {"text": "row 5", "n": 5}, N)
    assert lake[["n"]].schema.types == ["int64"] and two[["n"]].columns == ["n"]
    assert two.take([3]).to_pydict() == {"text": ["row 3"], "n": [3]}
    assert next(iter(two.shuffle(1))).keys() == {"text", "n"}
    assert br.open(lake.path, columns=["n"]).columns == ["n"]
    with pytest.raises(TypeError):
        lake.select("n")


def test_batches(lake):
    for options in ({}, {"max_rows": 100}, {"max_rows": 1}, {"offset": 990, "limit": 20, "max_rows": 7}):
        batches = list(lake.batches(**options))
        first, limit = options.get("offset", 0), options.get("limit", N)
        assert [r["n"] for b in batches for r in b] == list(range(N))[first : first + limit]
        assert max(len(b) for b in batches) <= options.get("max_rows", N)
    with lake.batches(10) as stream:
        assert next(stream)[0] == row(0)
        with pytest.raises(ValueError):
            stream.__arrow_c_stream__()
    with pytest.raises(ValueError):
        next(stream)
    with pytest.raises(ValueError):
        lake.batches(0)
    assert [r["n"] for r in itertools.islice(lake, 5)] == [0, 1, 2, 3, 4]


def test_schema_and_stats(lake):
    assert repr(lake.schema) == "<lakebed.Schema n: int64, square: int64, text: string>"
    assert lake.schema == br.open(lake.path).schema and hash(lake.schema) == hash(br.open(lake.path).schema)
    assert lake.schema != lake.select(["n"]).schema and lake.schema[0].name == "n" and "n" in lake.schema
    assert [f.nullable for f in lake.schema] == [True] * 3 or len(lake.schema) == 3
    stats = lake.stats
    assert (stats["n"].min, stats["n"].max, stats["n"].null_count) == (0, N - 1, 0)
    assert (stats["text"].type, stats["square"].max) == ("string", (N - 1) ** 2)
    assert list(lake.select(["n"]).stats) == ["n"]


def test_explain(lake):
    parts = lake.explain(998, 4)
    assert [(p["path"], p["first_row"], p["rows"], p["map"]) for p in parts] == [
        ("a.csv", 998, 2, "used"),
        ("b.csv", 0, 2, "used"),
    ]


def test_splits_hold_all_rows(lake):
    splits = lake.splits(4096, check=True)
    assert sum(s.rows for s in splits) == N and len(splits) > 10
    read = [n for s in splits for n in lake.read_split(s).column("n")]
    assert read == list(range(N))
    with pytest.raises(ValueError):
        lake.splits(0)
    assert pickle.loads(pickle.dumps(splits[3])) == splits[3]


def test_raw_is_the_file_s_own(folder):
    text = (folder / "a.csv").read_bytes().split(b"\n", 1)[1]
    table = br.open(folder / "a.csv")
    assert table.raw() == text and table.raw(5, 2) == b"5,25,row 5\n6,36,row 6\n"


def test_closing(folder):
    with br.open(folder) as lake:
        stream = lake.batches(10)
        rows = lake[5:7]
        view = lake.select(["n"])
    assert lake.closed and view.closed and rows.column("n") == [5, 6]
    assert sum(len(batch) for batch in stream) == N
    for use in (lambda: lake[0], lambda: lake[0:1], lambda: lake.take([0]), lambda: view[0], lambda: lake.stats):
        with pytest.raises(ValueError, match="closed"):
            use()
    lake.close()
    assert "closed" in repr(lake) and "closed" in lake._repr_html_()


def test_pickles_open_again(folder, lake):
    again = pickle.loads(pickle.dumps(lake.select(["n"])))
    assert type(again) is br.Lake and again[1234] == {"n": 1234}
    file = pickle.loads(pickle.dumps(br.open(folder / "a.csv", types="text")))
    assert file[3] == {"n": "3", "square": "9", "text": "row 3"}


def test_relative_paths_outlive_a_change_of_folder(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    pickled = pickle.dumps(br.open("a.csv"))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickled)[9]["n"] == 9


def test_rows_in_memory(lake):
    rows = lake[995:1005]
    assert len(rows) == rows.num_rows == 10 and rows.shape == (10, 3)
    assert rows[0] == row(995) and rows[-1] == row(1004) and rows[2:4].to_pylist() == [row(997), row(998)]
    assert rows.slice(4, 3).column("n") == [999, 1000, 1001] and rows.slice(50).num_rows == 0
    assert rows.select(["text"]).to_pydict() == {"text": ["row %d" % i for i in range(995, 1005)]}
    assert rows.select(["n", "n"]).to_pydict() == {"n": list(range(995, 1005))}
    assert [r["n"] for r in rows] == list(range(995, 1005))
    with pytest.raises(IndexError):
        rows[10]
    with pytest.raises(IndexError):
        rows.column(3)
    again = pickle.loads(pickle.dumps(rows[3:8]))
    assert again.to_pylist() == rows[3:8].to_pylist() and again.schema == rows.schema
    batch = pickle.loads(pickle.dumps(rows.batches[0].slice(1)))
    assert batch.to_pylist() == rows.batches[0].slice(1).to_pylist()


def test_rows_as_text(lake):
    rows = lake[:2]
    assert rows.to_bytes() == b"n,square,text\n0,0,row 0\n1,1,row 1\n"
    assert rows.to_bytes("ndjson").splitlines()[1] == b'{"n":1,"square":1,"text":"row 1"}'
    assert rows.to_bytes("arrow")[:6] == b"ARROW1"
    assert "row 1" in str(rows) and repr(rows) == "<lakebed.Rows: 2 rows × 3 columns>"
    with pytest.raises(ValueError):
        rows.to_bytes("parchment")


def test_html_is_short_and_safe(tmp_path):
    with open(tmp_path / "x.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["<script>alert(1)</script>"] + ["c%d" % i for i in range(100)])
        out.writerows([["<b>&" + "x" * 10_000] + [1] * 100] * 1000)
    table = br.open(tmp_path / "x.csv")
    for shown in (table._repr_html_(), table[:50]._repr_html_(), table.schema._repr_html_()):
        assert len(shown) < 25_000 and "<script" not in shown and "<b>" not in shown
    assert "&lt;b&gt;&amp;" in table._repr_html_() and table._repr_html_().count("<tr>") == 11


def test_a_file_that_is_not_read_whole_is_counted(tmp_path):
    path = package_lake.numbers(tmp_path / "x.csv", 10)
    assert len(br.open(path, types="sample")) == 10
