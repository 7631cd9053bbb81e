"""Lance datasets from Python: made, changed, read by version; other releases of Lance read them in tests/lance."""

import datetime
import pickle

import package_lake
import pytest

pyarrow = pytest.importorskip("pyarrow")
br = package_lake.lakebed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.lance"


def rows(*numbers):
    return pyarrow.table({"n": pyarrow.array(numbers, "int64"), "s": ["row %d" % n for n in numbers]})


def numbers(dataset):
    return dataset.read().column("n")


def test_create_append_log_checkout(path):
    made = br.lance.create(path, rows(1, 2), tag="first", metadata={"by": "test"}, aux={"note": b"\0\1"})
    assert type(made) is br.Dataset and (made.version, len(made), made.folder) == (1, 2, str(path))
    assert made.metadata["by"] == b"test" and made.aux == {"note": b"\0\1"}
    more = br.lance.append(path, rows(3))
    assert (more.version, numbers(more), numbers(made)) == (2, [1, 2, 3], [1, 2])
    log = br.lance.log(path)
    assert [(v.version, v.tags) for v in log] == [(1, ["first"]), (2, [])]
    assert abs((log[1].committed - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 100
    assert [v.version for v in made.versions] == [1, 2]
    for version in (1, "1", "first"):
        assert numbers(br.lance.checkout(path, version)) == [1, 2]
    assert numbers(made.checkout(2)) == numbers(br.open(path)) == numbers(br.open(str(path) + "@2")) == [1, 2, 3]
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    assert br.lance.checkout(path, later).version == 2
    for version in (7, "nothing", datetime.datetime(2001, 1, 1)):
        with pytest.raises(br.NotFoundError):
            br.lance.checkout(path, version)


def test_a_version_stays_what_it_is(path):
    made = br.lance.create(path, rows(1, 2))
    pickled = pickle.dumps(made)
    br.lance.overwrite(path, rows(9))
    assert numbers(made) == numbers(pickle.loads(pickled)) == [1, 2]
    assert pickle.loads(pickled).version == 1 and br.open(path).version == 2


def test_overwrite_add_columns_delete_compact_restore(path):
    br.lance.create(path, rows(1, 2, 3, 4))
    wide = br.lance.add_columns(path, pyarrow.table({"m": [10, 20, 30, 40]}))
    assert wide.columns == ["n", "s", "m"] and wide[3] == {"n": 4, "s": "row 4", "m": 40}
    assert br.lance.delete(path, [1, 2]).rows == 2
    assert numbers(br.open(path)) == [1, 4] and br.open(path).row_ids() == [0, 3]
    assert br.lance.delete(path, [3], ids=True).rows == 1
    assert br.lance.compact(path).version == 5 and br.open(path).row_ids() != [0]
    assert br.lance.restore(path, 1).version == 6 and numbers(br.open(path)) == [1, 2, 3, 4]
    assert br.lance.annotate(path, metadata={"k": "v"}).version == 7 and br.open(path).metadata["k"] == b"v"
    assert "k" not in br.lance.checkout(path, br.lance.annotate(path, metadata={"k": None}).version).metadata


def test_tags(path):
    br.lance.create(path, rows(1))
    br.lance.append(path, rows(2))
    br.lance.tag(path, "good", 1)
    assert numbers(br.lance.checkout(path, "good")) == [1]
    with pytest.raises(ValueError):
        br.lance.tag(path, "good")
    br.lance.tag(path, "good", replace=True)
    assert numbers(br.lance.checkout(path, "good")) == [1, 2]
    br.lance.untag(path, "good")
    with pytest.raises(br.NotFoundError):
        br.lance.checkout(path, "good")
    with pytest.raises(br.NotFoundError):
        br.lance.untag(path, "good")


def test_what_is_in_it(path):
    made = br.lance.create(path, rows(*range(10)), group_rows=4, file_rows=4)
    assert made.info["rows"] == 10 and len(made.fragments) == made.info["fragments"] == 3
    assert [f["rows"] for f in made.fragments] == [4, 4, 2]
    assert made.fragments[0]["files"][0]["path"].startswith("data/")
    assert [(f["name"], f["logical_type"]) for f in made.fields] == [("n", "int64"), ("s", "string")]
    assert made.indices == [] and made.config == {}
    made.verify()
    name = path / made.fragments[1]["files"][0]["path"]
    sound = name.read_bytes()
    name.write_bytes(sound[:-8] + b"damaged!")
    with pytest.raises(br.Error):
        br.open(path).verify()
    # What was read before, and verified, is no reason to believe it now.
    with pytest.raises(br.CorruptError):
        made.verify()
    name.unlink()
    with pytest.raises(br.NotFoundError):
        made.verify()
    name.write_bytes(sound)
    made.verify()
    manifest = path / made.info["manifest"]
    manifest.write_bytes(manifest.read_bytes()[:-4] + b"LANX")
    with pytest.raises(br.Error):
        made.verify()


def test_search(path):
    vectors = pyarrow.array([[float(i), 0.0] for i in range(50)], pyarrow.list_(pyarrow.float32(), 2))
    made = br.lance.create(path, pyarrow.table({"v": vectors}))
    hits = made.search("v", [7.2, 0.0], 3)
    assert [row for row, _ in hits] == [7, 8, 6]
    assert [distance for _, distance in hits] == pytest.approx([0.04, 0.64, 1.44], abs=1e-3)
    assert made.search("v", pyarrow.array([7.2, 0.0]), 1, exact=True)[0][0] == 7
    with pytest.raises(br.ColumnError):
        made.search("w", [0.0, 0.0])
    with pytest.raises(ValueError):
        made.search("v", [0.0, 0.0], metric="manhattan")
    with pytest.raises(ValueError):
        made.search("v", [0.0])


def test_nulls(path):
    table = pyarrow.table({"n": [1, None]})
    with pytest.raises(br.Error, match="n"):
        br.lance.create(path, table)
    assert not br.lance.exists(path)
    assert numbers(br.lance.create(path, table, nulls="keep")) == [1, None]
    assert numbers(br.lance.overwrite(path, table, nulls="lossy")) == [1, 0]
    with pytest.raises(ValueError):
        br.lance.create(path, table, nulls="maybe")


def test_refusals(path):
    for call in (br.lance.append, br.lance.overwrite, br.lance.add_columns):
        with pytest.raises(OSError):
            call(path, rows(1))
    assert br.lance.append(path, rows(1), replace=True).version == 1
    with pytest.raises(ValueError, match=r"lakebed\.lance\.append\(\)"):
        br.lance.create(path, rows(1))
    with pytest.raises(ValueError):
        br.lance.append(path, pyarrow.table({"other": [1]}))
    with pytest.raises(ValueError):
        br.lance.delete(path, [5])
    with pytest.raises(OverflowError):
        br.lance.delete(path, [-1])
    with pytest.raises(TypeError):
        br.lance.append(path, rows(1), metadata={"k": 5})
    with pytest.raises(TypeError):
        br.lance.append(path, rows(1), colour="red")
    assert [v.version for v in br.lance.log(path)] == [1]


def test_a_stream_that_fails_leaves_nothing(path):
    def batches():
        yield pyarrow.record_batch({"n": [1]})
        raise RuntimeError("the well is dry")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("n", pyarrow.int64())]), batches())
    with pytest.raises(br.Error, match="the well is dry"):
        br.lance.create(path, reader)
    assert not br.lance.exists(path)


def test_from_files_and_data_frames(path, tmp_path):
    package_lake.numbers(tmp_path / "a.csv", 5000)
    made = br.lance.create(path, br.open(tmp_path / "a.csv"))
    assert made.read().to_pylist() == br.open(tmp_path / "a.csv").read().to_pylist()
    assert len(br.lance.append(path, br.open(tmp_path / "a.csv").batches(100))) == 10_000
    assert len(br.lance.append(path, br.open(tmp_path / "a.csv")[5:10])) == 10_005
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"n": [1], "square": [1], "text": ["x"]})
    assert br.lance.append(path, frame)[-1] == {"n": 1, "square": 1, "text": "x"}


def test_orphans(path):
    br.lance.create(path, rows(1))
    (path / "data" / "left.lance").write_bytes(b"x" * 100)
    found = br.lance.orphans(path)
    assert [(o.path, o.bytes, o.removed) for o in found] == [("data/left.lance", 100, False)]
    assert br.lance.orphans(path, remove=True)[0].removed and br.lance.orphans(path) == []


def test_a_dataset_in_a_lake(path, tmp_path):
    br.lance.create(path, rows(1, 2))
    package_lake.numbers(tmp_path / "a.csv", 3)
    br.lake.create_map(tmp_path)
    assert [(e["path"], e["format"], e["rows"]) for e in br.lake.describe(tmp_path)["entries"]] == [
        ("a.csv", "csv", 3),
        ("t.lance", "lance", 2),
    ]
    assert br.open(tmp_path)[4]["s"] == "row 2"
