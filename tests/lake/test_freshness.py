"""Files, links and maps that are not as they were: what is read then, and what never is.

Run by pytest; LAKEBED names the command. Maps of other layouts, and maps that lie, are made with pyarrow.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import pyarrow as pa
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
MAP = ".br_map.bazan"


def run(*args, status=0, **env):
    base = {k: v for k, v in os.environ.items() if not k.startswith(("BASALTIC", "LAKEBED"))}
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                       env=dict(base, **env))
    assert p.returncode == status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout.decode(), p.stderr.decode(errors="replace")


LEFT_OUT = 1    # the exit status where files of a lake were left out


def values(path, *args, status=0, **env):
    out = run("slice", "-q", path, "--to", "ndjson", *args, status=status, **env)[0]
    return [list(json.loads(line).values()) for line in out.splitlines()]


def map_use(path, *args):
    e = json.loads(run("slice", "-q", "--explain", "--json", path, *args)[0])
    return [p["map"] for p in e["parts"]] or [e["map"]]


def rewrite(path, text, keep_mtime=False):
    before = path.stat()
    path.write_text(text)
    if keep_mtime:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))


@pytest.fixture
def lake(tmp_path):
    """Three files of ten rows, in blocks of four."""
    root = tmp_path / "lake"
    root.mkdir()
    for i, name in enumerate("abc"):
        (root / (name + ".csv")).write_text("id,v\n" + "".join("%d,%s%d\n" % (i * 10 + k, name, k) for k in range(10)))
    run("map", "-q", root, "--stride", "4")
    return root


WHOLE = [[i * 10 + k, "%s%d" % (name, k)] for i, name in enumerate("abc") for k in range(10)]


# ---------------------------------------------------------------- a file that changed

NEW = "id,v\n" + "".join("%d,new%d\n" % (100 + k, k) for k in range(7))
NEW_ROWS = [[100 + k, "new%d" % k] for k in range(7)]


def test_nothing_changed(lake):
    assert values(lake) == WHOLE
    assert map_use(lake) == ["used"] * 3 and map_use(lake / "b.csv") == ["used"]


@pytest.mark.parametrize("change", ["rewritten", "replaced", "appended", "truncated", "emptied"])
def test_a_changed_file_is_read_as_it_is(lake, change):
    b = lake / "b.csv"
    want = NEW_ROWS
    if change == "rewritten":
        rewrite(b, NEW)
    elif change == "replaced":
        (lake / "b.new").write_text(NEW)
        os.rename(lake / "b.new", b)
    elif change == "appended":
        with open(b, "a") as f:
            f.write("99,more\n")
        want = WHOLE[10:20] + [[99, "more"]]
    elif change == "truncated":
        os.truncate(b, len("id,v\n10,b0\n11,b1\n"))
        want = WHOLE[10:12]
    else:
        os.truncate(b, 0)
        want = []
    lake_want = WHOLE[:10] + want + WHOLE[20:]
    if change != "emptied":
        assert values(b) == want and map_use(b) == ["stale"]
        assert values(b, "--offset", "1", "--limit", "2") == want[1:3]
    got = values(lake)
    assert got == lake_want
    assert map_use(lake) == ["used"] + ["stale"] * bool(want) + ["used"]
    assert values(lake, "--offset", "9", "--limit", "4") == lake_want[9:13]
    assert values(lake, "--offset", "10") == lake_want[10:]
    assert json.loads(run("count", "-q", lake, "--json")[0])["rows"] == len(lake_want)
    assert values(lake, "--no-map") == lake_want


def test_a_vanished_file_has_no_rows(lake):
    os.unlink(lake / "b.csv")
    out, err = run("slice", lake, "--to", "ndjson", status=LEFT_OUT)
    assert len(out.splitlines()) == 20 and "b.csv" in err
    assert values(lake, status=LEFT_OUT) == WHOLE[:10] + WHOLE[20:]
    run("slice", lake / "b.csv", status=4)


def test_touched(lake):
    """Only the time differs: read without the map, the same rows. Only ctime differs: the map serves."""
    st = (lake / "b.csv").stat()
    os.utime(lake / "b.csv", ns=(st.st_atime_ns, st.st_mtime_ns + 1))
    assert values(lake) == WHOLE and map_use(lake) == ["used", "stale", "used"]
    os.utime(lake / "b.csv", ns=(st.st_atime_ns, st.st_mtime_ns))
    os.chmod(lake / "b.csv", 0o600)
    assert values(lake) == WHOLE and map_use(lake) == ["used"] * 3


def test_an_unlisted_file(lake):
    (lake / "d.csv").write_text("id\n1\n")
    assert values(lake / "d.csv") == [[1]] and map_use(lake / "d.csv") == ["not listed"]
    assert values(lake) == WHOLE


# ---------------------------------------------------------------- same size, old mtime

def test_same_size_and_mtime_is_caught_by_the_start_hash(lake):
    b = lake / "b.csv"
    rewrite(b, b.read_text().replace("10,b0", "77,B0").replace("18,b8", "88,B8"), keep_mtime=True)
    want = [[77, "B0"]] + WHOLE[11:18] + [[88, "B8"]] + WHOLE[19:20]
    assert map_use(b) == ["used"]
    assert values(b) == want
    out, err = run("slice", b, "--to", "csv")
    assert "changed since it was mapped" in err
    assert values(b, "--offset", "8", "--limit", "1") == [[88, "B8"]]
    # In a lake rows are numbered already, so that it is said instead.
    _, err = run("slice", lake, status=3)
    assert "b.csv: byte 5: the bytes here are not those that were mapped" in err
    assert values(lake, "--no-map") == WHOLE[:10] + want + WHOLE[20:]
    assert values(lake, "--limit", "10") == WHOLE[:10]


@pytest.mark.parametrize("rows, want", [
    # The columns changed places.
    (["v,id"] + ["%s,%d" % (v, k) for k, v in WHOLE[10:20]], WHOLE[10:20]),
    # More rows, and fewer; the last value fills the file up to its size.
    (["id,v"] + ["%d,%s" % (k % 10, "p") for k in range(14)], [[k % 10, "p"] for k in range(14)]),
    (["id,v"] + ["%d,%s" % (k, "long text") for k in range(3)], [[k, "long text"] for k in range(3)]),
    # Records that are none.
    (["id,v", "1", "2"], None),
])
def test_same_size_and_mtime_other_shape(lake, rows, want):
    b = lake / "b.csv"
    pad = b.stat().st_size - len("\n".join(rows)) - 1
    assert pad >= 0
    rewrite(b, "\n".join(rows) + "n" * pad + "\n", keep_mtime=True)
    if want is None:
        run("slice", b, status=3)
        return
    want = want[:-1] + [[want[-1][0], want[-1][1] + "n" * pad]]
    assert values(b) == want
    assert values(b, "--columns", "v,id") == [[v, k] for k, v in want]
    assert values(b, "--offset", "2", "--limit", "3") == want[2:5]


def test_a_column_gone_is_told(lake):
    b = lake / "b.csv"
    rewrite(b, b.read_text().replace("id,v", "id,w"), keep_mtime=True)
    # The hash covers the block's start, not the header: the first block must differ too.
    rewrite(b, b.read_text().replace("10,b0", "10,b9"), keep_mtime=True)
    _, err = run("slice", b, status=3)
    assert "'v'" in err


# ---------------------------------------------------------------- while a file is inspected

def test_a_file_in_motion_is_never_mapped(tmp_path):
    """A writer appends whole records all the time: a build fails or maps a state that was, never a mixture."""
    f, stop = tmp_path / "a.csv", threading.Event()
    f.write_text("id,text\n" + "".join("%d,%s\n" % (i, "x" * 80) for i in range(30000)))

    def append():
        with open(f, "a") as out:
            while not stop.is_set():
                out.write("1,%s\n" % ("y" * 80))
                out.flush()
                time.sleep(0.0005)
    writer = threading.Thread(target=append)
    writer.start()
    try:
        results = []
        for _ in range(4):
            p = subprocess.run([LAKEBED, "map", "--on-error", "abort", os.fspath(tmp_path)], capture_output=True)
            results.append(p.returncode)
            if p.returncode:
                assert p.returncode == 3 and b"changed while it was inspected" in p.stderr, p.stderr
                assert not (tmp_path / MAP).exists()
            else:
                os.unlink(tmp_path / MAP)
    finally:
        stop.set()
        writer.join()
    assert 3 in results
    _, err = run("map", tmp_path)
    assert len(values(tmp_path)) == f.read_text().count("\n") - 1


def test_files_come_and_go_while_mapped(tmp_path):
    stop = threading.Event()
    for i in range(200):
        (tmp_path / ("k%03d.csv" % i)).write_text("id\n1\n")

    def churn():
        i = 0
        while not stop.is_set():
            path = tmp_path / ("z%03d.csv" % (i % 300))
            path.write_text("id\n2\n")
            if i > 50:
                (tmp_path / ("z%03d.csv" % ((i - 50) % 300))).unlink(missing_ok=True)
            i += 1
            time.sleep(0.0005)
    writer = threading.Thread(target=churn)
    writer.start()
    try:
        for _ in range(5):
            p = subprocess.run([LAKEBED, "map", "-q", "--json", os.fspath(tmp_path)], capture_output=True)
            assert p.returncode in (0, 1), p.stderr
            assert json.loads(p.stdout)["files"] >= 200
    finally:
        stop.set()
        writer.join()


# ---------------------------------------------------------------- maps that are none, or another's

@pytest.mark.parametrize("damage", ["text", "empty", "truncated", "half", "directory"])
def test_a_map_that_is_none(lake, damage):
    """Rows are read without it, with a note; what needs the map fails; it is never replaced unasked."""
    m = lake / MAP
    good = m.read_bytes()
    os.unlink(m)
    if damage == "directory":
        m.mkdir()
    else:
        m.write_bytes({"text": b"this is no map\n", "empty": b"", "truncated": good[:-10], "half": good[:len(good) // 2]}[damage])
    before = None if damage == "directory" else m.read_bytes()
    for path in (lake, lake / "b.csv"):
        out, err = run("slice", path, "--to", "ndjson")
        want = WHOLE if path == lake else WHOLE[10:20]
        assert [list(json.loads(line).values()) for line in out.splitlines()] == want
        assert MAP in err, err
        assert map_use(path)[0] == "invalid map"
    run("locate", lake, "0", status=3)
    assert before is None or m.read_bytes() == before


def test_a_map_of_another_folder(lake, tmp_path):
    """Its entries match no file here: nothing is read through it, and no row of another lake comes out."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.csv").write_text(NEW)
    shutil.copy(lake / MAP, other / MAP)
    assert values(other, status=LEFT_OUT) == NEW_ROWS
    assert values(other / "b.csv") == NEW_ROWS and map_use(other / "b.csv") == ["stale"]


def test_a_retired_name_is_no_map(lake):
    os.rename(lake / MAP, lake / ".br_map.ipc")
    run("locate", lake, "0", status=4)
    assert values(lake) == WHOLE and map_use(lake)[0] == "no map"
    run("map", "-q", lake)
    assert json.loads(run("stats", "-q", "--json", lake)[0])["files"][0]["path"] == "a.csv"


# Layouts 1, 2 and 3 of other writers.

def reference_map(lake, n_columns, entries=None):
    if entries is None:
        entries = [(p.name, p.stat().st_size, p.stat().st_mtime_ns // 10**6, 10) for p in sorted(lake.glob("*.csv"))]
    blocks = []
    for path, size, _, rows in entries:
        first = len("id,v\n")
        blocks.append(json.dumps([{"ordinal": 0, "first_row": 0, "row_count": rows, "first_byte": first,
                                   "total_byte_size": max(0, size - first), "compressed_size": 0, "columns": []}]))
    firsts = [sum(e[3] for e in entries[:i]) for i in range(len(entries))]
    stats = [json.dumps({"total_rows": e[3], "columns": {}}) for e in entries]
    columns = [("rel_path", pa.string(), False, [e[0] for e in entries]), ("size_bytes", pa.uint64(), False, [e[1] for e in entries]),
               ("mtime_ms", pa.int64(), False, [e[2] for e in entries]), ("total_rows", pa.uint64(), False, [e[3] for e in entries]),
               ("stats_json", pa.string(), False, stats), ("first_global_row", pa.uint64(), False, firsts),
               ("row_groups_json", pa.string(), False, blocks), ("content_hash", pa.string(), True, [None] * len(entries))][:n_columns]
    meta = {"bazan.kind": "lake_map", "bazan.version": "1", "bazan.payload": "arrow_ipc"}
    if n_columns == 8:
        meta.update({"bazan.map_schema": "3", "bazan.checkpoint_stride_rows": "65536", "bazan.fingerprint": "metadata",
                     "bazan.stats_columns": "all"})
    elif n_columns == 7:
        meta["bazan.map_schema"] = "2"
    schema = pa.schema([pa.field(n, t, nullable=null) for n, t, null, _ in columns], metadata=meta)
    batch = pa.record_batch([pa.array(v, t) for _, t, _, v in columns], schema=schema)
    (lake / MAP).unlink(missing_ok=True)
    with pa.ipc.new_file(lake / MAP, schema) as out:
        out.write_batch(batch)


@pytest.mark.parametrize("n", [5, 7, 8])
def test_reference_layouts(lake, n):
    reference_map(lake, n)
    place = json.loads(run("locate", "--json", lake, "15")[0])["rows"][0]
    assert place["path"] == "b.csv" and place["file_row"] == 5
    assert values(lake) == WHOLE
    assert values(lake, "--offset", "9", "--limit", "3") == WHOLE[9:12]
    assert values(lake / "b.csv", "--offset", "3", "--limit", "2") == WHOLE[13:15]
    # Positions that another tokenizer made are not trusted.
    assert map_use(lake / "b.csv") == ["no locator" if n == 5 else "reference layout"]
    assert map_use(lake) == ["reference layout"] * 3
    rewrite(lake / "b.csv", NEW)
    assert map_use(lake / "b.csv") == ["stale"]
    assert values(lake) == WHOLE[:10] + NEW_ROWS + WHOLE[20:]
    run("map", "-q", lake)
    assert map_use(lake) == ["used"] * 3


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/hostname", "a/../../secret.csv", "./a.csv", "a//b.csv", "", "a/"])
@pytest.mark.parametrize("n", [5, 8])
def test_a_path_that_leaves_the_lake(lake, tmp_path, n, path):
    secret = tmp_path / "secret.csv"
    secret.write_text("id,v\n" + "1,secret\n" * 10)
    if path == "/etc/hostname":
        path = os.fspath(secret)
    st = secret.stat()
    reference_map(lake, n, [(path, st.st_size, st.st_mtime_ns // 10**6, 10)])
    p = subprocess.run([LAKEBED, "locate", os.fspath(lake), "0"], capture_output=True)
    assert p.returncode == 3, p.stderr
    out, _ = run("slice", lake, "--to", "csv")
    assert "secret" not in out


def forge(lake, **replaced):
    """Our own map of the lake with cells of its columns replaced."""
    with pa.ipc.open_file(lake / MAP) as f:
        table = f.read_all()
    for name, cells in replaced.items():
        i = table.schema.get_field_index(name)
        table = table.set_column(i, table.schema.field(i), pa.array(cells, table.schema.field(i).type))
    (lake / MAP).unlink()
    with pa.ipc.new_file(lake / MAP, table.schema) as out:
        out.write_table(table.combine_chunks())


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("path", ["../secret.csv", "{root}/secret.csv", "x/../../secret.csv"])
def test_our_map_with_a_path_that_leaves_the_lake(lake, tmp_path, path, raw):
    shutil.copy2(lake / "a.csv", tmp_path / "secret.csv")
    rewrite(tmp_path / "secret.csv", (lake / "a.csv").read_text().replace(",a", ",S"), keep_mtime=True)
    path = path.format(root=tmp_path)
    if raw:
        forge(lake, rel_path_raw=[path.encode(), None, None])
    else:
        forge(lake, rel_path=sorted([path, "b.csv", "c.csv"]))
    p = subprocess.run([LAKEBED, "slice", "--to", "csv", os.fspath(lake)], capture_output=True)
    assert b"S0" not in p.stdout and b"S" not in p.stdout


def test_numbers_that_lie(lake):
    """Rows and blocks that do not add up are refused, or not believed."""
    for column, cells in [("total_rows", [11, 10, 10]), ("total_rows", [2**63, 10, 10]), ("first_global_row", [0, 5, 20]),
                          ("size_bytes", [0, 0, 0])]:
        run("map", "-q", lake, "--stride", "4")
        forge(lake, **{column: cells})
        p = subprocess.run([LAKEBED, "slice", "-q", "--to", "csv", os.fspath(lake)], capture_output=True)
        if p.returncode == 0:
            assert p.stdout.decode().splitlines()[1:] == ["%d,%s" % (i, v) for i, v in WHOLE], column
        else:
            assert p.returncode == 3, (column, p.stderr)


# ---------------------------------------------------------------- links and things that are no files

def test_only_regular_files(tmp_path):
    root, out = tmp_path / "lake", tmp_path / "out"
    for d in (root, out, root / "sub"):
        d.mkdir()
    (root / "sub" / "a.csv").write_text("id\n1\n")
    (out / "b.csv").write_text("id\n2\n")
    os.symlink(out / "b.csv", root / "link.csv")
    os.symlink(out, root / "outside")
    os.symlink(root, root / "sub" / "loop")
    os.symlink("nowhere.csv", root / "dangling.csv")
    os.mkfifo(root / "pipe.csv")
    (root / "folder.csv").mkdir()
    (root / "folder.csv" / "in.csv").write_text("id\n3\n")
    s = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(root)
    s.bind("socket.csv")
    os.chdir(here)
    assert values(root) == [[3], [1]]
    run("map", "-q", root)
    assert values(root) == [[3], [1]]
    # The root itself may be a link, as may a file that is named.
    os.symlink(root, tmp_path / "to_lake")
    assert values(tmp_path / "to_lake") == [[3], [1]] and map_use(tmp_path / "to_lake") == ["used", "used"]
    assert values(root / "link.csv") == [[2]]
    run("map", "-q", tmp_path / "to_lake")
    run("slice", root / "pipe.csv", status=2)
    run("slice", root / "socket.csv", status=2)
    s.close()


@pytest.mark.parametrize("what", ["file", "folder", "fifo", "same"])
def test_a_link_planted_after_mapping(tmp_path, what):
    """A file of the map that became a link, or lies behind one, is left out: a lake follows none."""
    root, out = tmp_path / "lake", tmp_path / "out"
    (root / "sub").mkdir(parents=True)
    out.mkdir()
    (root / "a.csv").write_text("id\n1\n")
    (root / "sub" / "b.csv").write_text("id\n2\n")
    run("map", "-q", root)
    (out / "b.csv").write_text("id\n777\n")
    if what == "same":
        (out / "b.csv").write_text("id\n7\n")
        st = (root / "sub" / "b.csv").stat()
        os.utime(out / "b.csv", ns=(st.st_atime_ns, st.st_mtime_ns))
    if what in ("folder", "same"):
        shutil.rmtree(root / "sub")
        os.symlink(out, root / "sub")
    else:
        os.unlink(root / "sub" / "b.csv")
        if what == "file":
            os.symlink(out / "b.csv", root / "sub" / "b.csv")
        else:
            os.mkfifo(root / "sub" / "b.csv")
    assert values(root, status=LEFT_OUT) == [[1]]
    assert values(root, "--no-map") == [[1]]


# ---------------------------------------------------------------- the sandbox

@pytest.mark.parametrize("variable", ["BASALTIC_RED_DATA_ROOT", "BASALTIC_RED_ALLOWED_ROOT"])
def test_sandbox(lake, tmp_path, variable):
    inside, out = tmp_path / "root", tmp_path / "rooted"
    for d in (inside, out):
        d.mkdir()
        (d / "a.csv").write_text("id\n1\n")
    env = {variable: os.fspath(inside)}
    assert values(inside, **env) == [[1]]
    run("map", "-q", inside, **env)
    assert values(inside / "a.csv", **env) == [[1]]
    run("locate", inside, "0", **env)
    os.symlink(out, inside / "link")
    os.symlink(out / "a.csv", inside / "link.csv")
    run("map", "-q", out)
    for path in (out, out / "a.csv", inside / ".." / "rooted", inside / "link", inside / "link.csv", inside / "link" / "a.csv"):
        _, err = run("slice", path, status=2, **env)
        assert "path traversal" in err
    for path in (out, inside / "link", inside / ".."):
        before = sorted(os.listdir(path))
        _, err = run("map", "-q", path, status=2, **env)
        assert "path traversal" in err and sorted(os.listdir(path)) == before
    _, err = run("locate", out, "0", status=2, **env)
    assert "path traversal" in err
    # A map above the root, or one that is a link out of it, is not loaded.
    run("map", "-q", tmp_path)
    os.unlink(inside / MAP)
    (inside / "b.csv").write_text("id\n5\n")
    e = json.loads(run("slice", "-q", "--explain", "--json", inside / "b.csv", **env)[0])
    assert e["map"] == "no map"
    os.symlink(out / MAP, inside / MAP)
    _, err = run("slice", inside, status=2, **env)
    assert "path traversal" in err
    run("locate", inside, "0", status=2, **env)
    run("slice", inside, status=4, **{variable: os.fspath(tmp_path / "missing")})
