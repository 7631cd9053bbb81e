"""Arrow files and streams of every type, written by pyarrow: any range of rows and columns is what went in.

Types x codec x null pattern x sizes of batches, at random, from LAKEBED_SEED on; with a map and without, and scattered rows.
Run by pytest; LAKEBED_LIB names the library, LAKEBED the command.
"""
import os
import random
import struct
import subprocess

import pyarrow as pa
import pytest
from arrow_library import Failed, Library
from arrow_make import NESTED, Maker, leaves

SEED = int(os.environ.get("LAKEBED_SEED", "1"))
ROUNDS = int(os.environ.get("LAKEBED_ROUNDS", "60"))
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", "build/lakebed"))
LIBRARY, THREADS = Library(), Library(threads=3)


def write(r, path, batches, schema):
    """In a form and with a codec at random; gives the form."""
    stream, codec = r.random() < 0.5, r.choice([None, None, "lz4", "zstd"])
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=r.random() < 0.5,
                                     use_legacy_format=stream and codec is None and r.random() < 0.2,
                                     unify_dictionaries=False)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(path, schema, options=options) as out:
        for batch in batches:
            out.write_batch(batch)
    return "stream" if stream else "file"


def same(got, want):
    got.validate(full=True)
    assert got.schema.types == want.schema.types
    if got.equals(want):
        return
    for name in want.column_names:
        a, b = got.column(name), want.column(name)
        assert a.equals(b), "%s: %s\nis not %s" % (name, a, b)
    raise AssertionError("tables differ")


def some_ranges(r, n):
    out = [(0, n), (0, 1), (max(n - 1, 0), 5), (n, 3), (n // 2, 0)]
    return out + [(a := r.randint(0, n), r.randint(0, n - a)) for _ in range(6)]


def check_take(r, table, want):
    n = want.num_rows
    if n == 0 or "union" in str(want.schema):  # pyarrow has no take for all unions
        return
    for rows in ([r.randrange(n) for _ in range(20)], sorted(r.sample(range(n), r.randint(1, n))), [n - 1, 0, n - 1]):
        same(table.take(rows), want.take(rows))


def check(r, path, want):
    names = want.column_names
    subprocess.run([LAKEBED, "map", "-q", path.parent, "--stats", r.choice(["all", "none", "block"])], check=True)
    for library, mapped, memory_map in ((LIBRARY, False, False), (LIBRARY, True, False), (THREADS, False, True),
                                        (THREADS, True, True), (THREADS, True, False)):
        with library.open(path, mapped, memory_map=memory_map) as table:
            same(table.rows(), want)
            check_take(r, table, want)
            for offset, limit in some_ranges(r, want.num_rows):
                same(table.rows(offset, limit), want.slice(offset, limit))
            columns = [r.choice(names) for _ in range(r.randint(1, 3))]
            offset, limit = r.choice(some_ranges(r, want.num_rows))
            got = table.rows(offset, limit, columns)
            assert got.column_names == columns
            for i, c in enumerate(columns):
                assert got.column(i).equals(want.column(c).slice(offset, limit))


def table_of(columns):
    return pa.table({"c%d" % i: c for i, c in enumerate(columns)})


def round_trip(r, tmp_path, pairs, rows):
    encoded, want = table_of([p[0] for p in pairs]), table_of([p[1] for p in pairs])
    size = r.choice([1, 3, 8, 50, max(rows, 1)])
    batches = []
    for batch in encoded.to_batches(max_chunksize=size):
        batches.append(batch)
        if r.random() < 0.1:
            batches.append(batch.slice(0, 0))
    path = tmp_path / ("a" + r.choice([".arrow", ".arrows"]))
    write(r, path, batches, encoded.schema)
    check(r, path, want)


@pytest.mark.parametrize("place", range(len(leaves())))
def test_each_plain_type(place, tmp_path):
    for nulls in 0, 0.2, 1:
        r = random.Random("%d leaf %d %s" % (SEED, place, nulls))
        rows = r.choice([1, 100, 300])
        round_trip(r, tmp_path, [Maker(r, nulls).leaf(rows, leaves()[place])], rows)


@pytest.mark.parametrize("kind", NESTED)
def test_each_nested_type(kind, tmp_path):
    for i in range(6):
        r = random.Random("%d %s %d" % (SEED, kind, i))
        rows = r.choice([0, 1, 30, 100])
        round_trip(r, tmp_path, [getattr(Maker(r, r.choice([0, 0.3])), kind)(rows, 2)], rows)


@pytest.mark.parametrize("i", range(ROUNDS))
def test_any_table(i, tmp_path):
    r = random.Random("%d table %d" % (SEED, i))
    rows = r.choice([0, 1, 7, 64, 200])
    maker = Maker(r, r.choice([0, 0.1, 0.9]))
    round_trip(r, tmp_path, [maker.array(rows, r.choice([1, 2, 3])) for _ in range(r.randint(1, 6))], rows)


@pytest.mark.parametrize("i", range(8))
@pytest.mark.parametrize("deltas", [False, True])
def test_streams_deliver_dictionaries_again(i, deltas, tmp_path):
    """Each batch with a dictionary of its own, which grows or is another one."""
    r = random.Random("%d again %d" % (SEED, i))
    words, batches, plain = ["a"], [], []
    for _ in range(12):
        if r.random() < 0.6:
            words = words + ["w%d" % r.randrange(1000) for _ in range(r.randint(1, 3))]
        elif r.random() < 0.5:
            words = ["n%d" % r.randrange(1000) for _ in range(r.randint(1, 4))]
        indices = pa.array([None if r.random() < 0.2 else r.randrange(len(words)) for _ in range(r.randint(0, 9))], pa.int16())
        flat = pa.DictionaryArray.from_arrays(indices, pa.array(words))
        offsets = pa.array([0, *sorted(r.randint(0, len(flat)) for _ in range(len(flat) - 1)), len(flat)][:len(flat) + 1], pa.int32())
        batches.append(pa.record_batch({"d": flat, "l": pa.ListArray.from_arrays(offsets, flat)}))
        text = pa.array(words).take(indices)
        plain.append(pa.record_batch({"d": text, "l": pa.ListArray.from_arrays(offsets, text)}))
    path = tmp_path / "a.arrows"
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas, compression=r.choice([None, "zstd"]))
    with pa.ipc.new_stream(path, batches[0].schema, options=options) as out:
        for b in batches:
            out.write_batch(b)
    check(r, path, pa.Table.from_batches(plain))


def test_what_a_file_says_of_its_columns_is_kept(tmp_path):
    field = pa.field("a", pa.int32(), nullable=False, metadata={"k": "v", "ARROW:extension:name": "somebody.thing",
                                                               "ARROW:extension:metadata": "{}"})
    schema = pa.schema([field], metadata={"pandas": "{}", "big": "x" * 100000})
    with pa.ipc.new_file(tmp_path / "a.arrow", schema) as out:
        out.write_batch(pa.record_batch([pa.array([1, 2], pa.int32())], schema=schema))
    with LIBRARY.open(tmp_path / "a.arrow") as table:
        all = [table.rows(), table.rows(1, 1, ["a"]), table.take([1])]
    for got in (rows.schema for rows in all):
        assert got.metadata == schema.metadata
        assert got.field("a").equals(field, check_metadata=True)
        assert not got.field("a").nullable


def test_a_large_batch_is_cut(tmp_path):
    """Values that come to far more bytes than the file has, and a batch that is read in pieces."""
    long = "x" * 3000
    n = 200000
    column = pa.DictionaryArray.from_arrays(pa.array([i % 2 for i in range(n)], pa.int8()), pa.array(["a", long]))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([n], pa.int32()), pa.array([long]))
    item = struct.pack("<i4sii", len(long), b"xxxx", 0, 0)
    view = pa.Array.from_buffers(pa.string_view(), n, [None, pa.py_buffer(item * n), pa.py_buffer(long.encode())])
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("d", column.type), ("r", runs.type), ("v", view.type)])) as out:
        out.write_batch(pa.record_batch([column, runs, view], names=["d", "r", "v"]))
    rows = 0
    with LIBRARY.open(tmp_path / "a.arrow") as table:
        for batch in table.reader(columns=["d", "v", "r"]):
            assert batch.nbytes < 400 << 20
            for i in (0, len(batch) - 1):
                assert batch.column(0)[i].as_py() == ("a" if (rows + i) % 2 == 0 else long)
                assert batch.column(1)[i].as_py() == long == batch.column(2)[i].as_py()
            rows += len(batch)
    assert rows == n


def test_memory_is_bounded(tmp_path):
    """A gigabyte of zeros in a few kilobytes is refused under a limit of 64 MiB, and does not take the process down."""
    zeros = pa.Array.from_buffers(pa.int64(), 1 << 24, [None, pa.py_buffer(bytes(1 << 27))])
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("z", pa.int64())]),
                         options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
        out.write_batch(pa.record_batch([zeros], names=["z"]))
    assert os.path.getsize(tmp_path / "a.arrow") < 1 << 18
    small = Library(memory=64 << 20)
    with small.open(tmp_path / "a.arrow") as table, pytest.raises(Exception, match="memory limit"):
        table.rows(5, 10)
    with LIBRARY.open(tmp_path / "a.arrow") as table:
        assert table.rows(5, 10).column(0).to_pylist() == [0] * 10


def test_feather_v1_is_refused_by_name(tmp_path):
    path = tmp_path / "a.feather"
    path.write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    with pytest.raises(Failed, match="Feather V1"):
        LIBRARY.open(path)
