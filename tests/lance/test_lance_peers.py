"""Other implementations and Lakebed work on the same datasets: what the one writes the other reads, appends to and deletes
from. The peers are releases of pylance, each in an environment `.deps/lance-RELEASE`, and vectordb 0.1.4 for Node.js (Lance
0.4.17, the reference) in `.deps/lance-node`; tools/setup.sh --lance-peers makes them. A peer that is not there is skipped by name."""
import ctypes
import json
import os
import pathlib
import shutil
import subprocess

import pyarrow as pa
import pytest

from lance_api import KEEP, Library

DEPS = pathlib.Path(os.environ.get("LAKEBED_DEPS") or pathlib.Path(os.environ["LAKEBED_SOURCE"]) / ".deps")
RELEASES = ["0.4.21", "0.10.18", "8.0.0"]
DELETING = ["0.10.18", "8.0.0"]

PEER = """
import sys
import lance
import pyarrow as pa

verb, path, rows = sys.argv[1:4]
how = {"data_storage_version": "legacy"} if int(lance.__version__.split(".")[0]) >= 1 else {}
if verb == "read":
    table = lance.dataset(path, version=int(sys.argv[4]) if len(sys.argv) > 4 else None).to_table()
    with pa.OSFile(rows, "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
elif verb == "count":
    print(lance.dataset(path).count_rows())
elif verb == "delete":
    lance.dataset(path).delete(rows)
elif verb == "compact":
    lance.dataset(path).optimize.compact_files()
else:
    with pa.OSFile(rows, "rb") as file:
        table = pa.ipc.open_stream(file).read_all()
    lance.write_dataset(table, path, mode=verb, **how)
"""


class Peer:
    def __init__(self, release, folder):
        self.python = DEPS / f"lance-{release}" / "bin" / "python"
        if not self.python.exists():
            pytest.skip(f"pylance {release} is not there ({self.python.parent.parent})")
        self.rows = folder / "rows.arrows"

    def run(self, *words):
        done = subprocess.run([self.python, "-c", PEER, *map(str, words)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self, path, *version):
        self.run("read", path, self.rows, *version)
        with pa.OSFile(str(self.rows), "rb") as file:
            return pa.ipc.open_stream(file).read_all()

    def write(self, verb, path, table):
        with pa.OSFile(str(self.rows), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
        self.run(verb, path, self.rows)


@pytest.fixture(scope="module")
def library():
    return Library()


@pytest.fixture(params=RELEASES)
def peer(request, tmp_path):
    return Peer(request.param, tmp_path)


@pytest.fixture(params=DELETING)
def deleting(request, tmp_path):
    return Peer(request.param, tmp_path)


def table_of(first, count):
    ids = range(first, first + count)
    return pa.table({
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([None if i % 7 == 3 else "row %d" % i for i in ids]),
        "vector": pa.array([[i / 2, -i] for i in ids], pa.list_(pa.float32(), 2)),
        "flag": pa.array([i % 3 == 0 for i in ids]),
        "tags": pa.array([["t%d" % k for k in range(i % 4)] for i in ids], pa.list_(pa.string())),
        "place": pa.array([{"x": i, "y": {"z": i * 0.5}} for i in ids]),
        "when": pa.array([i * 10**6 for i in ids], pa.timestamp("us")),
        "blob": pa.array([b"\0" * (i % 5 + 1) for i in ids], pa.binary()),
    })


def same(a, b):
    assert a.num_rows == b.num_rows
    assert a.select(b.column_names).to_pylist() == b.to_pylist()


def delete(library, path, rows):
    library.change("delete", path, (ctypes.c_uint64 * len(rows))(*rows), len(rows), False)


def test_they_read_what_we_wrote(library, peer, tmp_path):
    path = tmp_path / "d.lance"
    library.write("create", path, table_of(0, 2500), file_rows=1000)
    library.write("append", path, table_of(2500, 100))
    same(peer.read(path), table_of(0, 2600))
    same(peer.read(path, 1), table_of(0, 2500))


def test_they_append_to_ours_and_we_to_theirs(library, peer, tmp_path):
    path = tmp_path / "d.lance"
    library.write("create", path, table_of(0, 50))
    peer.write("append", path, table_of(50, 30))
    same(library.read(path), table_of(0, 80))
    library.write("append", path, table_of(80, 20))
    peer.write("append", path, table_of(100, 20))
    same(library.read(path), table_of(0, 120))
    same(peer.read(path), table_of(0, 120))
    peer.write("overwrite", path, table_of(5, 5))
    same(library.read(path), table_of(5, 5))
    library.write("overwrite", path, table_of(7, 7))
    same(peer.read(path), table_of(7, 7))
    for version, rows in enumerate([(0, 50), (0, 80), (0, 100), (0, 120), (5, 5), (7, 7)], 1):
        same(library.read(f"{path}@{version}"), table_of(*rows))


def test_we_go_on_with_theirs(library, peer, tmp_path):
    path = tmp_path / "d.lance"
    peer.write("create", path, table_of(0, 60))
    library.write("append", path, table_of(60, 60))
    same(peer.read(path), table_of(0, 120))
    library.change("compact", path)
    same(peer.read(path), table_of(0, 120))
    extra = pa.table({"extra": pa.array(range(120), pa.int32())})
    library.write("add_columns", path, extra)
    same(library.read(path), table_of(0, 120).append_column("extra", extra["extra"]))


def test_they_read_our_deletions(library, deleting, tmp_path):
    path = tmp_path / "d.lance"
    library.write("create", path, table_of(0, 9000), file_rows=6000)
    gone = [*range(100), 5999, 6000, *range(6001, 6050)]
    delete(library, path, gone)
    left = [i for i in range(9000) if i not in set(gone)]
    same(deleting.read(path), table_of(0, 9000).take(left))
    more = list(range(50, 5600))    # above 5,000 in a fragment: a bitmap
    delete(library, path, more)
    left = [left[i] for i in range(len(left)) if i not in set(more)]
    same(deleting.read(path), table_of(0, 9000).take(left))
    assert int(deleting.run("count", path, "")) == len(left)
    library.change("compact", path)
    same(deleting.read(path), table_of(0, 9000).take(left))


def test_both_delete(library, deleting, tmp_path):
    path = tmp_path / "d.lance"
    library.write("create", path, table_of(0, 100), file_rows=40, group_rows=20)
    deleting.run("delete", path, "id % 10 = 4")
    left = [i for i in range(100) if i % 10 != 4]
    same(library.read(path), table_of(0, 100).take(left))
    delete(library, path, [0, 1, 89])
    left = left[2:89]
    same(deleting.read(path), table_of(0, 100).take(left))
    deleting.run("delete", path, "id % 10 = 7")
    left = [i for i in left if i % 10 != 7]
    same(library.read(path), table_of(0, 100).take(left))
    deleting.run("compact", path, "")
    same(library.read(path), table_of(0, 100).take(left))
    library.write("append", path, table_of(100, 10))
    same(deleting.read(path), pa.concat_tables([table_of(0, 100).take(left), table_of(100, 10)]))


def test_they_read_added_columns(library, deleting, tmp_path):
    path = tmp_path / "d.lance"
    library.write("create", path, table_of(0, 100), file_rows=40, group_rows=20)
    delete(library, path, [3, 39, 40])
    extra = pa.table({"words": [None if i == 5 else "w%d" % i for i in range(97)], "n": range(97)})
    library.write("add_columns", path, extra)
    left = table_of(0, 100).take([i for i in range(100) if i not in (3, 39, 40)])
    for name in extra.column_names:
        left = left.append_column(name, extra[name])
    same(library.read(path), left)
    same(deleting.read(path), left)


def test_kept_nulls_are_plain_columns_to_them(library, peer, tmp_path):
    path = tmp_path / "d.lance"
    table = pa.table({"a": pa.array([1, None, 3]), "l": pa.array([[1, None], [], None])})
    library.write("create", path, table, nulls=KEEP)
    same(library.read(path), table)
    theirs = peer.read(path).to_pydict()
    assert theirs["a"] == [1, 0, 3] and theirs["a__valid"] == [True, False, True]
    assert theirs["l"] == [[1, 0], [], []] and theirs["l__valid"] == [True, True, False]
    assert theirs["l_item__valid"] == [[True, False], [], []]


@pytest.mark.parametrize("kind", [
    pa.list_(pa.field("element", pa.int8())),
    pa.list_(pa.field("item", pa.int8(), False)),
    pa.list_(pa.field("x", pa.struct([pa.field("a", pa.int8(), False)]), False, {"k": "v"})),
    pa.list_(pa.field("item", pa.list_(pa.field("element", pa.int8(), False)), False)),
    pa.large_list(pa.field("element", pa.int8(), False)),
    pa.struct([pa.field("l", pa.list_(pa.field("element", pa.int8(), False)))]),
    pa.list_(pa.field("element", pa.float32(), False), 1),
    pa.map_(pa.string(), pa.int8()),
], ids=str)
def test_lists_of_any_kind_are_read(library, tmp_path, kind):
    def value(t, n):
        if pa.types.is_struct(t):
            return {f.name: value(f.type, n) for f in t}
        if pa.types.is_map(t):
            return [("k", n)]
        return [value(t.value_type, n)] if hasattr(t, "value_type") else n

    table = pa.table({"c": pa.array([value(kind, i) for i in range(3)], kind)})
    library.write("create", tmp_path / "d.lance", table)
    for release in RELEASES:
        theirs = Peer(release, tmp_path).read(tmp_path / "d.lance")
        assert theirs.to_pylist() == library.read(tmp_path / "d.lance").to_pylist()
    assert theirs.num_rows == 3


# ---------------------------------------------------------------- the reference itself, in Node.js

NODE = """
const lancedb = require(process.argv[1]);
(async () => {
    const db = await lancedb.connect(process.argv[2]);
    const table = await db.openTable("t");
    if (process.argv[3] === "add") await table.add(JSON.parse(process.argv[4]));
    console.log(JSON.stringify(await table.search([0, 0]).limit(1000).execute()));
})().catch(e => { console.error(e); process.exit(1); });
"""


def node(folder, *words):
    home = DEPS / "lance-node"
    program = shutil.which("node")
    if program is None or not (home / "node_modules" / "vectordb").is_dir():
        pytest.skip(f"vectordb for Node.js is not there ({home})")
    libraries = [str(p.parent) for p in home.glob("deb/usr/lib/*/libgfortran.so.5")]
    done = subprocess.run([program, "-e", NODE, home / "node_modules" / "vectordb", folder, *words], capture_output=True,
                          text=True, timeout=120, env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)})
    if "ERR_DLOPEN_FAILED" in done.stderr:
        pytest.skip("vectordb for Node.js lacks a library of the system")
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(done.stdout), key=lambda row: row["id"])


def seen(row):
    return {"vector": list(row["vector"].values()), "id": row["id"], "s": row["s"]}


def test_the_reference_reads_and_appends(library, tmp_path):
    path = tmp_path / "t.lance"
    rows = [{"vector": [float(i), i / 2], "id": float(i), "s": "row %d" % i if i % 3 else ""} for i in range(6)]
    schema = pa.schema([pa.field("vector", pa.list_(pa.field("item", pa.float32()), 2)), pa.field("id", pa.float64(), False),
                        pa.field("s", pa.string(), False)])
    library.write("create", path, pa.Table.from_pylist(rows[:2], schema))
    library.write("append", path, pa.Table.from_pylist(rows[2:4], schema))
    theirs = node(tmp_path, "read")
    assert [seen(r) for r in theirs] == rows[:4]
    theirs = node(tmp_path, "add", json.dumps(rows[4:]))
    assert [seen(r) for r in theirs] == rows
    assert library.read(path).to_pylist() == rows
