"""What the doctor says of a dataset that has other versions than the one that was mapped."""
import json
import os
import shutil
import subprocess

import pyarrow as pa
import pytest

from lance_api import Library

LAKEBED = os.path.abspath(os.environ["LAKEBED"])


@pytest.fixture(scope="module")
def library():
    return Library()


def lakebed(*words, status=0):
    done = subprocess.run([LAKEBED, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def table(first, count):
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "x": [float(i) for i in range(first, first + count)]})


def finding(lake):
    report = json.loads(lakebed("doctor", lake, "--json", status=1))
    (found,) = report["findings"]
    assert found["path"] == "d.lance" and report["modified_files"] == ["d.lance"]
    return found["drift"], found["note"], found["schema"]


def append(library, path):
    library.write("append", path, table(100, 20))


def append_twice(library, path):
    library.write("append", path, table(100, 20))
    library.write("append", path, table(120, 5))


def delete(library, path):
    lakebed("lance", "delete", path, 3)


def delete_and_append(library, path):
    lakebed("lance", "delete", path, 3)
    library.write("append", path, table(100, 20))


def delete_fragment(library, path):
    lakebed("lance", "delete", path, "0-49")


def add_column(library, path):
    library.write("add_columns", path, pa.table({"y": pa.array(range(100), pa.int32())}))


def overwrite(library, path):
    library.write("overwrite", path, table(5, 100))


def compact(library, path):
    lakebed("lance", "compact", path)


def aux(library, path):
    lakebed("lance", "aux", path, "--set", "who=me")


def again(library, path):
    shutil.rmtree(path)
    library.write("create", path, table(0, 100))
    library.write("append", path, table(0, 7))
    library.write("append", path, table(0, 7))


def lose_the_old(library, path):
    library.write("append", path, table(100, 20))
    (path / "_versions" / "1.manifest").unlink()


# The reference era did not write row counts; once rows were deleted, they are there.
CASES = [
    (append, "appended", "version 2, was 1: 1 fragment added"),
    (append_twice, "appended", "version 3, was 1: 2 fragments added"),
    (delete, "modified", "version 2, was 1: rows deleted in 1 fragment"),
    (delete_and_append, "modified", "version 3, was 1: 1 fragment added (20 rows), rows deleted in 1 fragment"),
    (delete_fragment, "modified", "version 2, was 1: 1 fragment gone"),
    (add_column, "modified", "version 2, was 1: 1 column added"),
    (overwrite, "rewritten", "version 2, was 1: overwritten"),
    (compact, "rewritten", "version 2, was 1: every fragment was rewritten"),
    (aux, "modified", "version 2, was 1: the same rows"),
    (again, "rewritten", "version 3, was 1, which is not there any more"),
    (lose_the_old, "rewritten", "version 2, was 1, which is not there any more"),
]


@pytest.mark.parametrize("change, drift, note", CASES, ids=lambda v: v.__name__ if callable(v) else "")
def test_versions(library, tmp_path, change, drift, note):
    path = tmp_path / "d.lance"
    library.write("create", path, table(0, 100), file_rows=50, group_rows=50)
    lakebed("map", tmp_path)
    lakebed("doctor", tmp_path)
    change(library, path)
    found = finding(tmp_path)
    assert found[:2] == (drift, note)
    assert found[2] == (["column 'y' (int32) is new"] if change is add_column else [])
    assert note in lakebed("doctor", tmp_path, status=1)
    before = lakebed("slice", path, "--to", "csv")
    lakebed("doctor", tmp_path, "--heal")
    lakebed("doctor", tmp_path)
    assert lakebed("slice", path, "--to", "csv") == before


def test_a_copy_that_grew(library, tmp_path):
    """The time of the former manifest is another one, its bytes are the same."""
    path = tmp_path / "d.lance"
    library.write("create", path, table(0, 100))
    lakebed("map", tmp_path)
    append(library, path)
    os.utime(path / "_versions" / "1.manifest", (1, 1))
    assert finding(tmp_path)[0] == "appended"


def test_an_index(library, tmp_path):
    path = tmp_path / "d.lance"
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([i % 97 / 7 for i in range(1200)], pa.float32()), 4)
    library.write("create", path, pa.table({"vector": vectors}))
    lakebed("map", tmp_path)
    library.index(path, "vector")
    assert finding(tmp_path)[:2] == ("modified", "version 2, was 1: the same rows, other indices")


def test_touched(library, tmp_path):
    path = tmp_path / "d.lance"
    library.write("create", path, table(0, 100))
    lakebed("map", tmp_path)
    os.utime(path / "_versions" / "1.manifest", (1, 1))
    assert finding(tmp_path) == ("touched", None, [])
