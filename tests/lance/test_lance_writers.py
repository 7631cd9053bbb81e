"""Several writers at once: no version is lost, none is overwritten, and whoever cannot go on top of another's gets a conflict."""
import ctypes
import json
import multiprocessing
import os
import pathlib
import subprocess

import pyarrow as pa
import pytest

from lance_api import CONFLICT, Failed, Library

LAKEBED = os.environ["LAKEBED"]


def append_rows(path, who, count, barrier):
    library = Library()
    barrier.wait()
    for i in range(count):
        library.write("append", path, pa.table({"who": [who], "n": [i]}))


def delete_rows(path, ids, barrier):
    library = Library()
    barrier.wait()
    for i in ids:
        library.change("delete", path, (ctypes.c_uint64 * 1)(i), 1, True)


def rewrite(path, barrier, conflicts):
    library = Library()
    barrier.wait()
    for _ in range(5):
        try:
            library.change("compact", path)
        except Failed as failed:
            assert failed.code == CONFLICT
            conflicts.value += 1


def tag_on(path, barrier):
    library = Library()
    barrier.wait()
    for i in range(10):
        library.change("annotate", path, aux={"n": str(i).encode()})


def create(path, who, barrier, results):
    library = Library()
    barrier.wait()
    try:
        library.write("create", path, pa.table({"who": [who]}))
        results.put(who)
    except Failed as failed:
        results.put(failed.code)


def run(workers):
    """Workers are functions and their arguments; `None` among these is the barrier."""
    barrier = multiprocessing.Barrier(len(workers))
    processes = [multiprocessing.Process(target=f, args=[barrier if a is None else a for a in args]) for f, *args in workers]
    for p in processes:
        p.start()
    for p in processes:
        p.join(120)
    assert [p.exitcode for p in processes] == [0] * len(processes)


def check_history(path, versions):
    """Numbers without a gap; each version was built on the one before; the copy of the newest is the newest."""
    names = sorted(int(p.stem) for p in (path / "_versions").iterdir())
    assert names == list(range(1, versions + 1))
    assert (path / "_latest.manifest").read_bytes() == (path / "_versions" / f"{versions}.manifest").read_bytes()
    assert not list(path.rglob(".tmp*"))
    orphans = json.loads(subprocess.run([LAKEBED, "lance", "show", path, "--orphans", "--json"], capture_output=True,
                                        check=True).stdout)["orphans"]
    assert orphans == []


@pytest.mark.parametrize("writers", [2, 4, 8])
def test_appends_lose_nothing(tmp_path, writers):
    path, library = tmp_path / "d.lance", Library()
    library.write("create", path, pa.table({"who": [-1], "n": [0]}))
    run([(append_rows, str(path), who, 12, None) for who in range(writers)])
    versions = writers * 12 + 1
    check_history(path, versions)
    rows = library.read(path).to_pylist()
    assert len(rows) == versions
    for who in range(writers):    # each one's rows in its order
        assert [r["n"] for r in rows if r["who"] == who] == list(range(12))
    for number in range(1, versions + 1):
        assert library.read(f"{path}@{number}").to_pylist() == rows[:number]


def test_appends_and_deletes_side_by_side(tmp_path):
    path, library = tmp_path / "d.lance", Library()
    library.write("create", path, pa.table({"who": [-1] * 40, "n": list(range(40))}), file_rows=20, group_rows=5)
    ids = [(i // 20) << 32 | i % 20 for i in range(40)]
    run([(append_rows, str(path), 0, 10, None), (append_rows, str(path), 1, 10, None), (tag_on, str(path), None),
         (delete_rows, str(path), ids[0:20:2], None), (delete_rows, str(path), ids[1:20:2], None),
         (delete_rows, str(path), ids[25:30], None)])
    rows = library.read(path).to_pylist()
    assert [r["n"] for r in rows if r["who"] == -1] == [*range(20, 25), *range(30, 40)]
    assert all([r["n"] for r in rows if r["who"] == who] == list(range(10)) for who in (0, 1))
    newest = max(int(p.stem) for p in (path / "_versions").iterdir())
    assert newest == 1 + 20 + 10 + 25
    check_history(path, newest)


def test_rewriting_meets_other_writers(tmp_path):
    path, library = tmp_path / "d.lance", Library()
    library.write("create", path, pa.table({"who": [-1] * 4, "n": list(range(4))}))
    conflicts = multiprocessing.Value("i", 0)
    run([(append_rows, str(path), 0, 20, None), (append_rows, str(path), 1, 20, None), (rewrite, str(path), None, conflicts)])
    rows = library.read(path).to_pylist()
    assert len(rows) == 44
    assert all([r["n"] for r in rows if r["who"] == who] == list(range(20)) for who in (0, 1))
    check_history(path, max(int(p.stem) for p in (path / "_versions").iterdir()))


def test_one_of_many_creates(tmp_path):
    path, results = tmp_path / "d.lance", multiprocessing.Queue()
    run([(create, str(path), who, None, results) for who in range(100, 106)])
    made = [r for r in (results.get() for _ in range(6)) if r >= 100]
    assert len(made) == 1
    assert Library().read(path)["who"].to_pylist() == made
    check_history(path, 1)


def test_what_makes_no_sense_is_a_conflict(tmp_path):
    """The second writer took its look before the first one committed: a stream that pauses in the middle."""
    path, library = tmp_path / "d.lance", Library()
    library.write("create", path, pa.table({"a": range(10)}))
    other = Library()

    def rows(meanwhile, table):
        def batches():
            meanwhile()
            yield from table.to_batches()
        return pa.RecordBatchReader.from_batches(table.schema, batches())

    columns = rows(lambda: other.write("append", path, pa.table({"a": [10]})), pa.table({"b": range(10)}))
    with pytest.raises(Failed) as failed:
        library.write("add_columns", path, columns)
    assert failed.value.code == CONFLICT
    changed = rows(lambda: other.write("add_columns", path, pa.table({"b": range(11)})), pa.table({"a": [99]}))
    with pytest.raises(Failed) as failed:
        library.write("append", path, changed)
    assert failed.value.code == CONFLICT
    gone = rows(lambda: other.write("overwrite", path, pa.table({"a": [1], "b": [2]})), pa.table({"a": [3], "b": [4]}))
    assert library.write("append", path, gone).version == 5    # the same columns: on top of the new rows
    assert library.read(path).to_pylist() == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert library.read(f"{path}@3").num_rows == 11
    check_history(path, 5)


def test_a_clean_spares_what_is_being_written(tmp_path):
    path, library = tmp_path / "d.lance", Library()
    library.write("create", path, pa.table({"a": [1]}))
    (path / "data" / "left.lance").write_bytes(b"x")
    (path / "_versions" / ".tmp_9.manifest_x").write_bytes(b"x")

    def clean(*words):
        return subprocess.run([LAKEBED, "lance", "clean", path, "--json", *words], capture_output=True, text=True)

    assert json.loads(clean().stdout)["removed"] == 0    # not old enough
    table = pa.table({"a": [2]})
    status = []

    def batches():
        status.append(clean("--older-than", "0s").returncode)
        yield from table.to_batches()

    library.write("append", path, pa.RecordBatchReader.from_batches(table.schema, batches()))
    assert status == [4]
    done = json.loads(clean("--older-than", "0s").stdout)
    assert done["removed"] == 2 and {o["path"] for o in done["orphans"]} == {"data/left.lance", "_versions/.tmp_9.manifest_x"}
    assert library.read(path)["a"].to_pylist() == [1, 2]
    pathlib.Path(path / "_versions" / "1.manifest").write_bytes(b"damaged")
    (path / "data" / "left.lance").write_bytes(b"x")
    assert clean("--older-than", "0s").returncode == 3    # without proof nothing goes
    assert (path / "data" / "left.lance").exists()
