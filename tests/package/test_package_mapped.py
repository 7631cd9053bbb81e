"""memory_map=True: Arrow files as they lie on the disk. The same rows as ever in every form, whatever row they begin with, from
buffers inside the mapping, which lives as long as the rows do."""

import pickle

import package_lake
import pyarrow as pa
import pytest

br = package_lake.lakebed
N = 5000


def columns(first):
    rows = range(first, first + N)
    return pa.record_batch({
        "id": pa.array(rows, pa.int64()),
        "small": pa.array([None if i % 7 == 0 else i % 100 for i in rows], pa.int8()),
        "text": pa.array([None if i % 11 == 0 else "row %d, mit ä" % i for i in rows]),
        "flag": pa.array([i % 3 == 0 for i in rows]),
        "big": pa.array([b"\0" * (i % 5) for i in rows], pa.large_binary()),
        "list": pa.array([list(range(i % 4)) for i in rows], pa.list_(pa.int16())),
        "pair": pa.array([None if i % 13 == 0 else {"a": i, "b": str(i)} for i in rows]),
        "word": pa.array(["ab cd ef".split()[i % 3] for i in rows]).dictionary_encode(),
    })


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    with pa.ipc.new_file(folder / "a.arrow", columns(0).schema) as out:
        out.write_batch(columns(0))
    with pa.ipc.new_stream(folder / "b.arrows", columns(N).schema) as out:
        out.write_batch(columns(N))
    return folder


RANGES = [(0, 2 * N), (0, 1), (3, 100), (8, 8), (N - 5, 10), (N + 1001, 77), (2 * N - 1, 5)]


@pytest.mark.parametrize("form", ["csv", "ndjson", "json", "tagged", "canonical", "table", "arrow", "arrows"])
def test_every_form(folder, form):
    plain, mapped = br.open(folder), br.open(folder, memory_map=True)
    for offset, limit in RANGES:
        # The arrow forms hold what is below the rows too, as offsets: their values are compared.
        a, b = plain.slice(offset, limit).to_bytes(form), mapped.slice(offset, limit).to_bytes(form)
        if form == "arrow":
            assert pa.ipc.open_file(a).read_all().equals(pa.ipc.open_file(b).read_all())
        elif form == "arrows":
            assert pa.ipc.open_stream(a).read_all().equals(pa.ipc.open_stream(b).read_all())
        else:
            assert a == b


def test_other_readers_of_the_same_rows(folder, tmp_path):
    plain, mapped = br.open(folder), br.open(folder, memory_map=True)
    for offset, limit in RANGES:
        want, got = plain.slice(offset, limit), mapped.slice(offset, limit)
        assert got.to_pylist() == want.to_pylist()
        table = pa.table(got)
        table.validate(full=True)
        assert table.equals(pa.table(want))
        assert pickle.loads(pickle.dumps(got)).to_pylist() == want.to_pylist()
    rows = [17, 3, N + 9, 17, 2 * N - 1]
    assert mapped.take(rows).to_pylist() == plain.take(rows).to_pylist()
    assert mapped.sample(50, 1).to_pylist() == plain.sample(50, 1).to_pylist()
    some = ["id", "small", "text"]
    made = br.lance.create(tmp_path / "a.lance", br.open(folder / "a.arrow", memory_map=True).select(some), nulls="keep")
    assert made.slice(3, 1000).to_pylist() == plain.select(some).slice(3, 1000).to_pylist()
    again = pickle.loads(pickle.dumps(mapped))
    assert again.slice(3, 5).to_pylist() == plain.slice(3, 5).to_pylist()


def regions(path):
    """Where a file is mapped."""
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps if line.rstrip().endswith(str(path))]
    return [tuple(int(end, 16) for end in line[0].split("-")) for line in lines]


def test_buffers_lie_in_the_mapping_and_keep_it(folder):
    path = folder / "a.arrow"
    assert regions(path) == []
    table = br.open(path, memory_map=True)
    rows = table.select(["id", "small", "text", "flag", "pair"]).slice(1003, 2000)
    del table
    batch = pa.table(rows).combine_chunks().to_batches()[0]
    del rows
    (start, end), = regions(path)
    for column in batch.columns:
        for buffer in column.buffers():
            assert buffer is None or start <= buffer.address <= buffer.address + buffer.size <= end
    assert batch.column("id").to_pylist() == list(range(1003, 3003))
    del batch, column, buffer
    assert regions(path) == []


def test_it_is_asked_for_and_costs_others_nothing(folder, tmp_path):
    rows = br.open(folder / "a.arrow").slice(0, 10)
    assert regions(folder / "a.arrow") == [] and rows.to_pylist()[0]["id"] == 0
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "empty.csv").write_text("")
    assert br.open(tmp_path / "a.csv", memory_map=True).to_arrow().column("a").to_pylist() == [1]
    assert len(br.open(tmp_path / "empty.csv", memory_map=True)) == 0
