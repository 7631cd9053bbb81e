"""Datasets of many fragments whose manifest does not say how many rows each has: they are counted as far as rows are wanted,
and what is read does not depend on that."""
import json
import os
import random
import shutil
import subprocess

import pyarrow as pa
import pytest

from lance_api import Library

LAKEBED = os.path.abspath(os.environ["LAKEBED"])
ROWS, FILE = 1000, 4


def lakebed(*words, fails=None):
    done = subprocess.run([LAKEBED, *map(str, words)], capture_output=True, text=True)
    if fails is None:
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert done.returncode == fails, done.stdout + done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    table = pa.table({"id": pa.array(range(ROWS), pa.int64()), "name": [f"row {i}" for i in range(ROWS)]})
    Library().write("create", folder / "many.lance", table, file_rows=FILE, group_rows=2)
    return folder


@pytest.fixture(params=["unmapped", "mapped"])
def many(lake, tmp_path, request):
    path = tmp_path / "many.lance"
    shutil.copytree(lake / "many.lance", path)
    if request.param == "mapped":
        lakebed("map", tmp_path)
    return path


def ids(text):
    return [int(line.split(",")[0]) for line in text.splitlines()[1:]]


def test_fragments_have_no_counts(lake):
    shown = json.loads(lakebed("lance", "show", lake / "many.lance", "--json"))
    assert len(shown["fragments"]) == ROWS // FILE
    assert all(f.get("rows_recorded") is None for f in shown["fragments"])


@pytest.mark.parametrize("first, count", [(0, 1), (0, 5), (190, 10), (191, 1), (192, 1), (500, 300), (997, 3), (997, 90), (999, 1),
                                          (1000, 1), (5000, 7), (0, 5000)])
def test_slices(many, first, count):
    assert ids(lakebed("slice", many, "--offset", first, "--limit", count, "--to", "csv")) == list(range(ROWS))[first:first + count]


@pytest.mark.parametrize("seed", range(4))
def test_takes(many, seed):
    rows = [random.Random(seed).randrange(ROWS) for _ in range(30)]
    assert ids(lakebed("take", many, *rows, "--to", "csv")) == rows


def test_take_past_the_end(many):
    assert "1000" in lakebed("take", many, 3, 1000, fails=2)


def test_count_and_tail(many):
    assert lakebed("count", many).split()[0] == str(ROWS)
    assert ids(lakebed("tail", many, "--limit", 4, "--to", "csv")) == [996, 997, 998, 999]


def test_splits_cover_all(many):
    splits = json.loads(lakebed("splits", many, "--target", "1KB", "--json"))["splits"]
    assert sum(s["rows"] for s in splits) == ROWS
    size = sum(f.stat().st_size for f in (many / "data").iterdir())
    assert size / 1024 <= len(splits) <= 2 * size / 1024


def last_file(path):
    shown = json.loads(lakebed("lance", "show", path, "--json"))
    return path / shown["fragments"][-1]["files"][0]["path"]


def test_rows_far_away_are_not_asked_for(many):
    """What lies behind the rows that are wanted is not opened."""
    last = last_file(many)
    last.unlink()
    assert ids(lakebed("slice", many, "--limit", 3, "--to", "csv")) == [0, 1, 2]
    assert ids(lakebed("take", many, 100, 7, "--to", "csv")) == [100, 7]
    assert last.name in lakebed("slice", many, "--offset", 999, "--limit", 1, fails=4)


def test_versions_change_under_a_map(many):
    """The numbers that a map keeps are of one version."""
    Library().write("append", many, pa.table({"id": pa.array([-1, -2], pa.int64()), "name": ["x", "y"]}))
    assert ids(lakebed("slice", many, "--offset", 998, "--to", "csv")) == [998, 999, -1, -2]
