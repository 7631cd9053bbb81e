"""Vector indices that Lakebed makes: the file is the one that release 0.4.17 wrote where its centers and codes are given, the
same for any number of threads, other releases search with it, and what is found is what looking at every vector finds."""
import array
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pyarrow as pa
import pytest

from lance_api import CONFORMANCE, KEEP, NOTFOUND, USAGE, Failed, Library

LAKEBED = os.path.abspath(os.environ["LAKEBED"])
DEPS = pathlib.Path(os.environ.get("LAKEBED_DEPS") or pathlib.Path(os.environ["LAKEBED_SOURCE"]) / ".deps")
UUID = "6e282ca5-9ea6-456e-8c36-5d09b7798914"
UNSUPPORTED = 3
METRICS = {"l2": 1, "cosine": 2, "dot": 3}


@pytest.fixture(scope="module")
def library():
    return Library()


def vectors(count, dim, seed=1):
    """Points around some centers, so that neighbours are worth finding."""
    r = random.Random(seed)
    centers = [[r.gauss(0, 1) for _ in range(dim)] for _ in range(12)]
    out = array.array("f")
    for _ in range(count):
        out.extend(x + 0.3 * r.gauss(0, 1) for x in centers[r.randrange(12)])
    return out


def table_of(count, dim=16, seed=1, first=0):
    values = pa.array(vectors(count, dim, seed), pa.float32())
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()),
                     "vector": pa.FixedSizeListArray.from_arrays(values, dim)})


def lakebed(*words, **environment):
    done = subprocess.run([LAKEBED, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def search(path, query, k=10, *more):
    shown = lakebed("lance", "search", path, "vector", "--query=" + ",".join(map(repr, query)), "--limit", k, "--json", *more)
    return [(hit["row_id"], hit["distance"]) for hit in json.loads(shown)["hits"]]


def queries(count, dim=16):
    values = vectors(count, dim, 77)
    return [list(values[i * dim:(i + 1) * dim]) for i in range(count)]


def index_file(path):
    files = list((path / "_indices").glob("*/index.idx"))
    assert len(files) == 1
    return files[0]


# ---------------------------------------------------------------- bytes

@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="there is no conformance data")
def test_bytes_of_the_reference(library, tmp_path):
    """Partitions and codes by the centers and codebook of 0.4.17. The version that was read is another one: 3, not 2."""
    path = tmp_path / "d"
    shutil.copytree(CONFORMANCE / "w0.4.17-ivf_pq_l2", path)
    was = index_file(path).read_bytes()
    shutil.move(path / "_indices" / UUID, tmp_path / UUID)
    shutil.copytree(tmp_path / UUID, path / "_indices" / UUID)
    fresh = "00000000-0000-4000-8000-000000000001"
    result = library.index(path, "vector", names=[fresh], name=b"vec_idx", keep_model=True)
    assert (result.version, result.rows) == (4, 400)
    now = (path / "_indices" / fresh / "index.idx").read_bytes()
    assert len(now) == len(was)
    assert [i for i in range(len(was)) if was[i] != now[i]] == [0x2584 + 18]
    assert was[0x2584 + 17:0x2584 + 19] == b"\x18\x02" and now[0x2584 + 18] == 3
    assert [i["name"] for i in json.loads(lakebed("lance", "show", path, "--json"))["indices"]] == ["vec_idx"]


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_bytes_whatever_computes_them(library, tmp_path, metric):
    made = []
    for threads, lacks in ((1, ""), (2, ""), (2, "avx2,avx512")):
        path = tmp_path / f"d{len(made)}"
        library.write("create", path, table_of(3000))
        lakebed("lance", "index", path, "vector", "--metric", metric, "-j", threads, "--partitions", 9, LB_DISABLE_CPU=lacks)
        made.append(index_file(path).read_bytes())
    assert made[0] == made[1] == made[2]


def test_seeds_give_other_indices(library, tmp_path):
    made = set()
    for seed in (0, 1, 0):
        path = tmp_path / f"d{len(os.listdir(tmp_path))}"
        library.write("create", path, table_of(1000))
        library.index(path, "vector", seed=seed)
        made.add(index_file(path).read_bytes())
    assert len(made) == 2


# ---------------------------------------------------------------- searching

@pytest.mark.parametrize("metric", METRICS)
def test_finds_what_is_near(library, tmp_path, metric):
    path = tmp_path / "d"
    library.write("create", path, table_of(6000), file_rows=1024)
    library.index(path, "vector", metric=METRICS[metric], partitions=20)
    found = 0
    for query in queries(20):
        exact = search(path, query, 10, "--exact", "--metric", metric)
        near = search(path, query, 10, "--probes", 8, "--refine", 10)
        found += len({r for r, _ in exact} & {r for r, _ in near})
        both = dict(exact)
        assert all(d == pytest.approx(both[r], rel=1e-5, abs=1e-6) for r, d in near if r in both)
        every = search(path, query, 10, "--probes", 100, "--refine", 600)
        assert [r for r, _ in every] == [r for r, _ in exact]
    assert found >= 180


def test_rows_that_come_and_go(library, tmp_path):
    path = tmp_path / "d"
    library.write("create", path, table_of(2000))
    library.index(path, "vector")
    query = queries(1)[0]
    best = search(path, query, 3, "--refine", 50)
    library.write("append", path, table_of(1, first=2000).set_column(1, "vector", pa.FixedSizeListArray.from_arrays(
        pa.array(query, pa.float32()), 16)))
    assert search(path, query, 1)[0] == (1 << 32, 0)
    lakebed("lance", "delete", path, best[0][0])
    assert [r for r, _ in search(path, query, 3, "--refine", 50)] == [1 << 32, best[1][0], best[2][0]]
    assert library.index(path, "vector", replace=True).rows == 2000
    assert [r for r, _ in search(path, query, 3, "--refine", 50)] == [1 << 32, best[1][0], best[2][0]]
    library.write("append", path, table_of(300, seed=5, first=3000))
    assert library.index(path, "vector", keep_model=True).rows == 2300
    every = search(path, query, 20, "--probes", 100, "--refine", 100)
    assert every == search(path, query, 20, "--exact")
    library.write("overwrite", path, table_of(500, seed=9))
    assert json.loads(lakebed("lance", "show", path, "--json"))["indices"] == []


def test_nulls_are_not_found(library, tmp_path):
    path = tmp_path / "d"
    table = table_of(600)
    rows = table.column("vector").to_pylist()
    rows[5] = rows[17] = None
    library.write("create", path, pa.table({"id": table.column("id"), "vector": pa.array(rows, pa.list_(pa.float32(), 16))}), nulls=KEEP)
    assert library.index(path, "vector").rows == 598
    hits = search(path, [0.0] * 16, 600, "--probes", 1000)
    assert len(hits) == 598 and not {5, 17} & {r for r, _ in hits}


# ---------------------------------------------------------------- what is refused

@pytest.mark.parametrize("how, code, words", [
    ({"column": "vector", "sub_vectors": 5}, USAGE, "equal parts"),
    ({"column": "vector", "partitions": 301}, USAGE, "too few"),
    ({"column": "vector", "partitions": 70000}, USAGE, "at most"),
    ({"column": "id"}, UNSUPPORTED, "vectors of float"),
    ({"column": "nothing"}, NOTFOUND, "nothing"),
    ({"column": "vector", "keep_model": True}, NOTFOUND, "no index"),
    ({"column": "vector", "names": ["../x"]}, USAGE, "UUID"),
    ({"column": "vector", "metric": 9}, USAGE, "metric"),
])
def test_refused(library, tmp_path, how, code, words):
    path = tmp_path / "d"
    library.write("create", path, table_of(300))
    with pytest.raises(Failed) as why:
        library.index(path, **how)
    assert words in why.value.message
    assert why.value.code == code
    assert not (path / "_indices").exists() and len(os.listdir(path / "_versions")) == 1


def test_too_few(library, tmp_path):
    path = tmp_path / "d"
    library.write("create", path, table_of(255))
    with pytest.raises(Failed, match="256"):
        library.index(path, "vector")


def test_names(library, tmp_path):
    path = tmp_path / "d"
    library.write("create", path, table_of(300))
    library.index(path, "vector")
    with pytest.raises(Failed, match="already"):
        library.index(path, "vector")
    library.index(path, "vector", name=b"other")
    library.index(path, "vector", replace=True)
    assert [i["name"] for i in json.loads(lakebed("lance", "show", path, "--json"))["indices"]] == ["other", "vector_idx"]


def test_vectors_that_are_no_numbers(library, tmp_path):
    path = tmp_path / "d"
    table = table_of(300)
    values = vectors(300, 16)
    values[0], values[16] = float("nan"), float("inf")
    library.write("create", path, table.set_column(1, "vector", pa.FixedSizeListArray.from_arrays(pa.array(values, pa.float32()), 16)))
    assert library.index(path, "vector").rows == 300
    assert len(search(path, [0.5] * 16, 5)) == 5


def test_all_alike(library, tmp_path):
    path = tmp_path / "d"
    alike = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0] * 400, pa.float32()), 2)
    library.write("create", path, pa.table({"vector": alike}))
    library.index(path, "vector", partitions=4)
    assert search(path, [1.0, 2.0], 400, "--probes", 9) == [(i, 0) for i in range(400)]


# ---------------------------------------------------------------- other writers meanwhile

def while_indexing(path, work):
    """Do something while the index is being computed; gives its exit status and what it said."""
    process = subprocess.Popen([LAKEBED, "lance", "index", path, "vector"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        # Fields 14 and 15: a tenth of a second of processor time is far behind the reading of the manifest.
        while process.poll() is None and sum(map(int, open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13])) < 10:
            time.sleep(0.01)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGSTOP)
        work()
        os.kill(process.pid, signal.SIGCONT)
        said = process.communicate(timeout=120)
        return process.returncode, said[1]
    finally:
        process.kill()


@pytest.fixture(scope="module")
def large(library, tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "d"
    library.write("create", path, table_of(20000))
    return path


def test_rows_appended_meanwhile_stay(library, large, tmp_path):
    path = tmp_path / "d"
    shutil.copytree(large, path)
    query = queries(1)[0]
    nearest = table_of(1, first=9).set_column(1, "vector", pa.FixedSizeListArray.from_arrays(pa.array(query, pa.float32()), 16))
    assert while_indexing(path, lambda: library.write("append", path, nearest)) == (0, "")
    (index,) = json.loads(lakebed("lance", "show", path, "--json"))["indices"]
    assert (index["fragments"], index["dataset_version"]) == ([0], 1)
    assert search(path, query, 1) == [(1 << 32, 0)]


def test_rows_overwritten_meanwhile_are_a_conflict(library, large, tmp_path):
    path = tmp_path / "d"
    shutil.copytree(large, path)
    status, said = while_indexing(path, lambda: library.write("overwrite", path, table_of(300)))
    assert status == 4 and "rewrote" in said
    assert not (path / "_indices").exists() and len(os.listdir(path / "_versions")) == 2


# ---------------------------------------------------------------- others search with it

PEER = """
import json, sys
import lance
import numpy as np
path, k, probes, refine = sys.argv[1], *map(int, sys.argv[2:5])
data = lance.dataset(path)
out = []
for query in json.load(sys.stdin):
    how = {"column": "vector", "q": np.array(query, "f4"), "k": k, "nprobes": probes}
    if refine: how["refine_factor"] = refine
    table = data.to_table(columns=["id"], nearest=how)
    score = [c for c in table.column_names if c in ("score", "_distance")][0]
    out.append([[int(i), float(d)] for i, d in zip(table["id"].to_pylist(), table[score].to_pylist())])
print(json.dumps(out))
"""


SEGMENTS = """
import sys
import lance
import pyarrow as pa
path, rows = sys.argv[1:3]
with pa.OSFile(rows, "rb") as file:
    table = pa.ipc.open_stream(file).read_all()
lance.write_dataset(table.slice(0, 1000), path)
lance.dataset(path).create_index("vector", index_type="IVF_PQ", num_partitions=2, num_sub_vectors=4)
lance.write_dataset(table.slice(1000), path, mode="append")
lance.dataset(path).optimize.optimize_indices(num_indices_to_merge=0)
assert len(lance.dataset(path).list_indices()) == 2
"""


def test_an_index_of_two_files(tmp_path):
    """Rows that came later have a file of their own, whose entry claims all fragments."""
    python = DEPS / "lance-0.10.18" / "bin" / "python"
    if not python.exists():
        pytest.skip("pylance 0.10.18 is not there")
    rows, path, table = tmp_path / "rows", tmp_path / "d", table_of(1300)
    with pa.OSFile(str(rows), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    done = subprocess.run([python, "-c", SEGMENTS, path, rows], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for query in queries(3):
        assert search(path, query, 10, "--probes", 9, "--refine", 130) == search(path, query, 10, "--exact")
    hits = search(path, queries(1)[0], 1300, "--probes", 9)
    assert len({r for r, _ in hits}) == 1300


# Release 0.4.21 crashes in cosine searches of its own indices.
@pytest.mark.parametrize("release, metric", [("0.4.21", "l2"), ("0.10.18", "l2"), ("0.10.18", "cosine"), ("0.10.18", "dot"),
                                             ("8.0.0", "l2"), ("8.0.0", "cosine"), ("8.0.0", "dot")])
def test_they_search_with_ours(library, tmp_path, release, metric):
    python = DEPS / f"lance-{release}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"pylance {release} is not there")
    path = tmp_path / "d"
    library.write("create", path, table_of(2000))
    library.index(path, "vector", metric=METRICS[metric], partitions=8, sub_vectors=8)
    asked = queries(5)
    shift = 1 if (release, metric) == ("0.10.18", "dot") else 0    # it gives -x.y, later ones 1 - x.y
    for probes, refine in ((3, 0), (8, 5)):
        done = subprocess.run([python, "-c", PEER, path, "10", str(probes), str(refine)], input=json.dumps(asked),
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        for query, theirs in zip(asked, json.loads(done.stdout)):
            ours = search(path, query, 10, "--probes", probes, *(["--refine", refine] if refine else []))
            assert [d for _, d in ours] == pytest.approx([d + shift for _, d in theirs], rel=1e-3, abs=1e-4)
            assert len({r for r, _ in ours} & {r for r, _ in theirs}) >= 9
