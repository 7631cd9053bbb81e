"""Folders that a writer left before it committed a first version, and datasets whose manifests are gone."""
import os
import subprocess

import pyarrow as pa
import pytest

from lance_api import Library

LAKEBED = os.path.abspath(os.environ["LAKEBED"])
UNFINISHED = "a Lance dataset that was never finished"


def run(*words):
    return subprocess.run([LAKEBED, *map(str, words)], capture_output=True, text=True)


def table(count):
    return pa.table({"id": pa.array(range(count), pa.int64())})


@pytest.fixture
def rest(tmp_path):
    """What `lance create` leaves when it is killed before its commit."""
    path = tmp_path / "lake" / "d.lance"
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.csv").write_text("x\n1\n2\n")
    Library().write("create", path, table(10), file_rows=4, group_rows=4)
    os.rename(path / "_versions" / "1.manifest", path / "_versions" / ".tmp_1.manifest_00000000-0000-4000-8000-000000000000")
    (path / "_latest.manifest").unlink()
    return path


def old(path):
    for folder, _, names in os.walk(path):
        for name in names:
            os.utime(os.path.join(folder, name), (1e9, 1e9))


@pytest.mark.parametrize("words", [["slice"], ["count"], ["schema"], ["map"], ["lance", "show"], ["lance", "log"]])
def test_it_is_not_read_as_a_directory(rest, words):
    done = run(*words, rest)
    assert done.returncode == 3 and UNFINISHED in done.stderr and "lance clean" in done.stderr


def test_a_lake_leaves_it_out(rest):
    done = run("map", rest.parent)
    assert done.returncode == 0 and UNFINISHED in done.stderr and str(rest) in done.stderr
    assert run("count", rest.parent).stdout.split()[0] == "2"
    assert run("doctor", rest.parent).returncode == 0


def test_clean_removes_it_when_it_is_old(rest):
    assert run("lance", "clean", rest).returncode == 0
    assert len(os.listdir(rest / "data")) == 3
    old(rest)
    done = run("lance", "clean", rest)
    assert done.returncode == 0, done.stderr
    assert not rest.exists()


def test_one_young_file_stays(rest):
    old(rest)
    young = rest / "data" / sorted(os.listdir(rest / "data"))[0]
    os.utime(young)
    assert run("lance", "clean", rest).returncode == 0
    assert os.listdir(rest / "data") == [young.name]


def test_create_goes_on_from_there(rest):
    Library().write("create", rest, table(5))
    assert run("count", rest).stdout.split()[0] == "5"
    old(rest / "data")
    assert run("lance", "clean", rest).returncode == 0
    assert run("lance", "clean", rest, "--older-than", "0s").returncode == 0
    assert len(os.listdir(rest / "data")) == 1
    assert run("count", rest).stdout.split()[0] == "5"


def test_a_dataset_that_lost_its_manifests_is_not_cleaned(rest):
    old(rest)
    (rest / "_deletions").mkdir()
    done = run("lance", "clean", rest, "--older-than", "0s")
    assert done.returncode == 3 and "without a version" in done.stderr
    assert len(os.listdir(rest / "data")) == 3
    done = run("slice", rest)
    assert done.returncode == 3 and "without a version" in done.stderr


def test_other_folders_are_what_they_were(tmp_path):
    for name in ("data", "_versions"):
        (tmp_path / "plain" / name).mkdir(parents=True)
    (tmp_path / "only" / "data").mkdir(parents=True)
    (tmp_path / "only" / "data" / "a.csv").write_text("x\n1\n")
    assert run("count", tmp_path / "only").stdout.split()[0] == "1"
    (tmp_path / "plain" / "data" / "a.csv").write_text("x\n1\n")
    assert run("lance", "clean", tmp_path / "plain", "--older-than", "0s").returncode == 3
    assert (tmp_path / "plain" / "data" / "a.csv").exists()
