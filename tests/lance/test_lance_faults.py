"""Every call of every kind of commit fails in turn, and the process dies before and after it (tests/faults/README.md): the dataset
is then the old or the new one, whole; no version before has changed; and the next writer does its work."""
import json
import os
import pathlib
import shutil
import subprocess

import pyarrow as pa
import pytest

from lance_api import Library

LAKEBED = pathlib.Path(os.environ["LAKEBED"])
SHIM = LAKEBED.parent / "tests" / "fault_shim.so"
ALL = os.environ.get("LAKEBED_FAULTS_ALL") == "1"
KILLS = ["kill-before", "kill-after"]
DEEDS = {"open": ["EIO", "EMFILE"], "read": ["EIO"], "write": ["ENOSPC", "EIO", *KILLS], "sync": ["EIO", *KILLS],
         "link": ["EIO", "EPERM", *KILLS], "rename": ["EIO", *KILLS], "unlink": ["EIO", *KILLS], "close": ["EIO"],
         "lock": ["EIO"], "readdir": ["EIO"], "stat": ["EIO"], "alloc": ["ENOMEM"]}
ERRNO = {"EIO": 5, "EMFILE": 24, "ENOSPC": 28, "EPERM": 1, "ENOMEM": 12}
EVERY = {"alloc": 97, "open": 3, "read": 5, "close": 3, "stat": 3}    # of these classes a part is tried

pytestmark = pytest.mark.skipif(not SHIM.exists() or os.environ.get("LAKEBED_SANITIZE", "") != "",
                                reason=f"the shim {SHIM} is not there")

VERBS = {
    "create": ["create", "new.lance", "--from", "more.csv"],
    "append": ["append", "d.lance", "--from", "more.csv"],
    "overwrite": ["overwrite", "d.lance", "--from", "more.csv"],
    "add-columns": ["add-columns", "d.lance", "--from", "extra.csv"],
    "delete": ["delete", "d.lance", "1", "5-7", "3"],
    "compact": ["compact", "d.lance"],
    "restore": ["restore", "d.lance@1"],
    "annotate": ["aux", "d.lance", "--set", "k=v"],
    "metadata": ["metadata", "d.lance", "--set", "k=v"],
    "tag": ["tag", "d.lance@1", "name"],
    "index": ["index", "v.lance", "vector"],
    "clean": ["clean", "o.lance", "--older-than", "0s"],
}
PATHS = {"create": "new.lance", "index": "v.lance", "clean": "o.lance"}
ORPHANS = ["left.lance", "right.lance"]    # which a clean removes


def lakebed(folder, *words, **environment):
    return subprocess.run([LAKEBED, *words, "-j", "1"], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def rows(folder, path):
    """All rows; None: there is no dataset (a folder without a version is none, whatever lies in it)."""
    if lakebed(folder, "lance", "log", path).returncode != 0:
        return None
    done = lakebed(folder, "slice", path, "--to", "csv")
    return done.stdout if done.returncode == 0 else None


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "first.csv").write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(9)))
    (folder / "more.csv").write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(100, 130)))
    (folder / "extra.csv").write_text("extra\n" + "".join(f"{i}\n" for i in range(17)))
    for words in (["create", "d.lance", "--from", "first.csv"], ["append", "d.lance", "--from", "first.csv"],
                  ["delete", "d.lance", "2"]):
        assert lakebed(folder, "lance", *words).returncode == 0
    shutil.copytree(folder / "d.lance", folder / "o.lance")
    for name in ORPHANS:
        (folder / "o.lance" / "data" / name).write_bytes(b"rest")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([i * i % 101 / 7 for i in range(512)], pa.float32()), 2)
    Library().write("create", folder / "v.lance", pa.table({"vector": vectors}))
    return folder


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def fault(folder, words, report, kind, at, deed):
    deed = deed if deed.startswith("kill") else f"errno:{ERRNO[deed]}"
    words = [f"{folder}/{w}" if ".lance" in w or ".csv" in w else w for w in words]    # the shim knows absolute paths
    return lakebed(folder, "lance", *words, LD_PRELOAD=str(SHIM), LAKEBED_FAULT_ROOT=str(folder), LAKEBED_FAULT_CLASS=kind,
                   LAKEBED_FAULT_AT=str(at), LAKEBED_FAULT_DO=deed, LAKEBED_FAULT_REPORT=str(report))


def check(folder, name, before, old, new, done, deed, unlinks):
    killed = done.returncode < 0
    path = PATHS.get(name, "d.lance")
    assert killed or done.returncode in (0, 3, 4), done.stderr
    assert not (done.returncode in (3, 4) and done.stderr == "")
    for file, data in before.items():    # what was there is as it was
        if file.name != "_latest.manifest" and file.name not in ORPHANS:
            assert (folder / file).read_bytes() == data, file
    now = rows(folder, path)
    if done.returncode == 0:
        assert now == new
    assert now in (old, new)
    left = json.loads(lakebed(folder, "lance", "show", path, "--orphans", "--json").stdout or '{"orphans":[]}')["orphans"]
    if not killed and not unlinks and (name != "clean" or done.returncode == 0):
        assert left == [], (left, done.stderr)
    if name == "create" and now is None:
        again = lakebed(folder, "lance", "create", path, "--from", "more.csv")
    else:
        again = lakebed(folder, "lance", "compact", path)
    assert again.returncode == 0, again.stderr
    if now is not None:
        assert rows(folder, path) == now
        assert lakebed(folder, "lance", "clean", path, "--older-than", "0s").returncode == 0
        assert rows(folder, path) == now
        newest = max(int(p.stem) for p in (folder / path / "_versions").glob("[0-9]*.manifest"))
        if "nothing" not in again.stdout:    # a version was made: now the copy is right again
            latest = (folder / path / "_latest.manifest").read_bytes()
            assert latest == (folder / path / "_versions" / f"{newest}.manifest").read_bytes()


@pytest.mark.parametrize("kind", DEEDS)
@pytest.mark.parametrize("name", VERBS)
def test_calls_that_fail(model, tmp_path, name, kind):
    words = VERBS[name]
    path = PATHS.get(name, "d.lance")

    def fresh():
        folder = tmp_path / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(model, folder)
        return folder

    report = tmp_path / "report"
    folder = fresh()
    old, before = rows(folder, path), files(folder)
    assert fault(folder, words, report, kind, 0, "EIO").returncode == 0
    new = rows(folder, path)
    calls = int(report.read_text().split()[0])
    assert calls > 0 or name == "clean" or kind in ("link", "rename", "unlink", "lock", "sync", "stat", "readdir")
    step = 1 if ALL else EVERY.get(kind, 1)
    for at in range(1, calls + 1, step):
        for deed in DEEDS[kind]:
            folder = fresh()
            done = fault(folder, words, report, kind, at, deed)
            try:
                check(folder, name, before, old, new, done, deed, kind == "unlink")
            except AssertionError as failed:
                raise AssertionError(f"{kind} {at} of {calls}, {deed}, status {done.returncode}: {failed}") from failed
