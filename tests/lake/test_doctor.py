"""The doctor: every kind of drift alone and together, what an adversary or an accident may do, heals, undoing, and reports.

Run by pytest; LAKEBED names the command. What is expected follows from what the test did to the files.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
SCHEMA = json.loads((SOURCE / "docs" / "doctor-report.schema.json").read_text(encoding="utf-8"))
MAP, OLD = ".br_map.bazan", ".br_map.bazan.old"
LONG_AGO = 1_600_000_000_000_000_000
MODIFIED = ("modified", "appended", "truncated", "rewritten", "touched", "damaged", "unreadable")


def environment(**more):
    return dict({k: v for k, v in os.environ.items() if not k.startswith(("BASALTIC", "LAKEBED"))}, **more)


def run(*args, status=0, **env):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                       env=environment(**env))
    assert p.returncode == status, (args, p.returncode, p.stdout.decode(), p.stderr.decode(errors="replace"))
    return p.stdout.decode(), p.stderr.decode(errors="replace")


# ---------------------------------------------------------------- reports

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_kind(value, kind):
    if kind in ("integer", "number"):
        return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, KINDS[kind])


def validate(value, schema, at="report"):
    """As much of JSON Schema as doctor-report.schema.json uses; a word it does not know fails."""
    assert set(schema) <= {"$schema", "$id", "title", "description", "type", "enum", "const", "minimum", "properties",
                           "required", "additionalProperties", "items", "uniqueItems", "$defs", "$ref"}, (at, set(schema))
    if "$ref" in schema:
        return validate(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], at)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    assert not kinds or any(is_kind(value, k) for k in kinds), (at, value, kinds)
    assert "enum" not in schema or value in schema["enum"], (at, value)
    assert "minimum" not in schema or value is None or value >= schema["minimum"], (at, value)
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value), (at, set(value))
        assert schema.get("additionalProperties", True) or set(value) <= set(schema["properties"]), (at, set(value))
        for key, one in value.items():
            validate(one, schema["properties"].get(key, {}), at + "." + key)
    if isinstance(value, list):
        assert not schema.get("uniqueItems") or len(set(value)) == len(value), (at, value)
        for i, one in enumerate(value):
            validate(one, schema.get("items", {}), "%s[%d]" % (at, i))


FIRST_KEYS = ["status", "total_files", "healthy_count", "modified_files", "unindexed_files", "missing_files", "healed"]


def doctor(lake, *args, status=0):
    """The report, held against its schema and against itself."""
    out, err = run("doctor", lake, "--json", *args, status=status)
    r = json.loads(out)
    validate(r, SCHEMA)
    assert list(r)[:7] == FIRST_KEYS
    by = {k: [f["path"] for f in r["findings"] if f["drift"] == k] for k in MODIFIED + ("unindexed", "missing", "renamed", "racy", "torn")}
    assert sum(map(len, by.values())) == len(r["findings"])
    assert r["modified_files"] == sorted(sum((by[k] for k in MODIFIED), []), key=os.fsencode)
    assert r["unindexed_files"] == sorted(by["unindexed"] + by["renamed"], key=os.fsencode)
    former = [f["was"] for f in r["findings"] if f["drift"] == "renamed"]
    assert r["missing_files"] == sorted(by["missing"] + former, key=os.fsencode) and r["racy_files"] == by["racy"]
    assert r["total_files"] == r["healthy_count"] + len(r["modified_files"]) + len(r["unindexed_files"])
    assert r["renamed_files"] == [{"path": f["path"], "was": f["was"]} for f in r["findings"] if f["drift"] == "renamed"]
    assert {(e["path"], e["error"]) for e in r["errors"]} == {(f["path"], f["error"]) for f in r["findings"] if f["error"]}
    return r


def drifts(r):
    """What became of each file that is not as mapped."""
    assert len({f["path"] for f in r["findings"]}) == len(r["findings"])
    return {f["path"]: f["drift"] for f in r["findings"] if f["drift"] != "racy"}


def finding(r, path):
    return [f for f in r["findings"] if f["path"] == path][0]


def age(path, ns=LONG_AGO):
    os.utime(path, ns=(ns, ns))


def map_rows(lake):
    with pa.ipc.open_file(lake / MAP) as f:
        return f.read_all().to_pylist()


def metadata(lake):
    with pa.ipc.open_file(lake / MAP) as f:
        return {k.decode(): v.decode(errors="replace") for k, v in f.schema.metadata.items()}


def rows_of(path):
    return [list(json.loads(line).values()) for line in run("slice", "-q", path, "--to", "ndjson")[0].splitlines()]


def stamp(path):
    st = os.stat(path)
    return st.st_ino, st.st_mtime_ns, st.st_size


HEAD = "id,v\n"


def records(first, count, word="w"):
    return "".join("%d,%s%d\n" % (i, word, i) for i in range(first, first + count))


@pytest.fixture
def lake(tmp_path):
    """Four files of 100 rows, changed long ago, in blocks of 16."""
    root = tmp_path / "lake"
    root.mkdir()
    for i, name in enumerate(("a.csv", "b.csv", "c.csv", "sub/d.csv")):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + records(i * 100, 100))
        age(path)
    run("map", "-q", root, "--stride", "16")
    return root


def heal_ends_well(lake):
    """After a heal the lake is healthy, its rows are those of the files, and a second heal writes nothing."""
    healed = doctor(lake, "--heal")
    assert (healed["status"], healed["healed"]) == ("HEALED", True)
    for folder, _, names in os.walk(lake):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith("csv") and os.path.isfile(path) and not os.path.islink(path):
                age(path)
    doctor(lake, "--heal")
    before = stamp(lake / MAP)
    again = doctor(lake, "--heal")
    assert (again["status"], again["healed"], again["findings"]) == ("HEALTHY", False, [])
    assert stamp(lake / MAP) == before
    rows = map_rows(lake)
    firsts = [r["first_global_row"] for r in rows]
    assert firsts == [sum(r["total_rows"] for r in rows[:i]) for i in range(len(rows))]
    assert rows_of(lake) == [list(json.loads(line).values())
                             for line in run("slice", "-q", lake, "--no-map", "--to", "ndjson")[0].splitlines()]
    return healed


# ---------------------------------------------------------------- one kind alone

def test_healthy(lake):
    before = sorted(os.listdir(lake)), stamp(lake / MAP)
    r = doctor(lake)
    assert (r["status"], r["total_files"], r["healthy_count"], r["findings"]) == ("HEALTHY", 4, 4, [])
    assert (r["map_schema"], r["bytes_hashed"], r["bytes_surveyed"]) == (3, 0, 0)
    assert r["map_path"] == os.fspath(lake / MAP)
    assert (sorted(os.listdir(lake)), stamp(lake / MAP)) == before


def test_a_diagnosis_writes_nothing(lake):
    """Not even a lock file, and not on drift."""
    (lake / ".br_map.lock").unlink(missing_ok=True)
    (lake / "new.csv").write_text(HEAD)
    before = sorted(os.listdir(lake)), stamp(lake / MAP)
    doctor(lake, status=1)
    doctor(lake, "--verify", status=1)
    assert (sorted(os.listdir(lake)), stamp(lake / MAP)) == before


def append(p):
    with open(p, "a", encoding="utf-8") as f:
        f.write(records(1000, 7))


def other_time(p):
    age(p, LONG_AGO + 1)


def rewrite_longer(p):
    p.write_text(HEAD + records(5000, 200, "other"))


def rewrite_same_size(p):
    p.write_text(p.read_text().replace("w", "x"))
    age(p, LONG_AGO + 10**9)


def rewrite_keeping_times(p):
    p.write_text(p.read_text().replace("w", "x"))
    age(p)


def cut_between_records(p):
    os.truncate(p, len(HEAD + records(int(p.read_text().split("\n")[1].split(",")[0]), 40)))


def cut_inside_a_record(p):
    os.truncate(p, len(HEAD + records(int(p.read_text().split("\n")[1].split(",")[0]), 40)) + 6)


CHANGES = {"append": (append, "appended"), "touch": (other_time, "touched"), "longer": (rewrite_longer, "rewritten"),
           "same size": (rewrite_same_size, "rewritten"), "same size and time": (rewrite_keeping_times, "damaged"),
           "cut between records": (cut_between_records, "truncated"), "cut inside a record": (cut_inside_a_record, "truncated"),
           "emptied": (lambda p: os.truncate(p, 0), "truncated"), "removed": (os.unlink, "missing")}


@pytest.mark.parametrize("change", CHANGES)
def test_one_change(lake, change):
    do, kind = CHANGES[change]
    old = (lake / "b.csv").stat().st_size
    do(lake / "b.csv")
    now = (lake / "b.csv").stat().st_size if (lake / "b.csv").exists() else None
    r = doctor(lake, status=1)
    assert (r["status"], r["healed"]) == ("DRIFT_DETECTED", False)
    assert drifts(r) == {"b.csv": kind}
    assert r["healthy_count"] == 3
    f = finding(r, "b.csv")
    assert (f["old_bytes"], f["new_bytes"], f["error"]) == (old, now, None)
    assert drifts(doctor(lake, "--verify", status=1)) == {"b.csv": kind}
    assert drifts(heal_ends_well(lake)) == {"b.csv": kind}


def test_all_changes_at_once(tmp_path):
    lake = tmp_path
    for i, name in enumerate(sorted(CHANGES)):
        (lake / (name + ".csv")).write_text(HEAD + records(i * 1000, 100))
        age(lake / (name + ".csv"))
    (lake / "untouched.csv").write_text(HEAD + records(0, 3))
    (lake / "old name.csv").write_text(HEAD + records(9000, 30))
    age(lake / "untouched.csv")
    run("map", "-q", lake, "--stride", "16")
    for name, (do, _) in CHANGES.items():
        do(lake / (name + ".csv"))
    (lake / "new.csv").write_text(HEAD + records(8000, 2))
    os.rename(lake / "old name.csv", lake / "new name.csv")
    want = {name + ".csv": kind for name, (_, kind) in CHANGES.items()}
    want.update({"new.csv": "unindexed", "new name.csv": "renamed"})
    r = doctor(lake, status=1)
    assert drifts(r) == want and r["healthy_count"] == 1
    assert r["renamed_files"] == [{"path": "new name.csv", "was": "old name.csv"}]
    assert r["missing_files"] == ["old name.csv", "removed.csv"]
    assert [f["path"] for f in r["findings"] if f["drift"] == "missing"] == ["removed.csv"]
    assert r["unindexed_files"] == ["new name.csv", "new.csv"]
    assert drifts(heal_ends_well(lake)) == want


def test_new_modified_and_missing(tmp_path):
    """T-70."""
    (tmp_path / "keep.csv").write_text(HEAD + records(0, 5))
    (tmp_path / "gone.csv").write_text(HEAD + records(5, 5))
    run("map", "-q", tmp_path)
    assert doctor(tmp_path)["status"] == "HEALTHY"
    append(tmp_path / "keep.csv")
    os.unlink(tmp_path / "gone.csv")
    (tmp_path / "added.csv").write_text(HEAD + records(50, 3))
    r = doctor(tmp_path, status=1)
    assert (r["modified_files"], r["unindexed_files"], r["missing_files"]) == (["keep.csv"], ["added.csv"], ["gone.csv"])
    assert (r["total_files"], r["healthy_count"]) == (2, 0)
    r = doctor(tmp_path, "--heal")
    assert (r["status"], r["healed"], r["healthy_count"], r["modified_files"]) == ("HEALED", True, 0, ["keep.csv"])
    r = doctor(tmp_path)
    assert (r["status"], r["total_files"], r["healthy_count"]) == ("HEALTHY", 2, 2)
    assert json.loads(run("count", "--json", tmp_path)[0])["rows"] == 12 + 3


def test_only_ctime_moved(lake):
    """chmod changes no contents: they are looked at and found equal, which is health."""
    os.chmod(lake / "b.csv", 0o600)
    r = doctor(lake)
    assert (r["status"], r["bytes_hashed"]) == ("HEALTHY", (lake / "b.csv").stat().st_size)
    doctor(lake, "--heal")
    assert not (lake / OLD).exists(), "new times are no heal"
    assert doctor(lake)["bytes_hashed"] == 0


def test_swapped(lake):
    """Two files of equal size and time change places."""
    b, c = lake / "b.csv", lake / "c.csv"
    assert b.stat().st_size == c.stat().st_size
    os.rename(b, lake / "t")
    os.rename(c, b)
    os.rename(lake / "t", c)
    assert drifts(doctor(lake, status=1)) == {"b.csv": "damaged", "c.csv": "damaged"}
    heal_ends_well(lake)
    assert rows_of(b)[0] == [200, "w200"] and rows_of(c)[0] == [100, "w100"]


def test_half_a_record_then_the_rest(lake):
    b = lake / "b.csv"
    with open(b, "a", encoding="utf-8") as f:
        f.write("777,ha")
    assert drifts(doctor(lake, "--heal")) == {"b.csv": "appended"}
    assert rows_of(b)[-1] == [777, "ha"]
    with open(b, "a", encoding="utf-8") as f:
        f.write("lf\n778,whole\n")
    assert drifts(doctor(lake, "--heal")) == {"b.csv": "appended"}
    assert rows_of(b)[-2:] == [[777, "half"], [778, "whole"]] and len(rows_of(b)) == 102


def test_an_open_quote_appended(lake):
    """What is appended may change what the last record was."""
    b = lake / "b.csv"
    with open(b, "a", encoding="utf-8") as f:
        f.write('777,"two\nlines')
    assert drifts(doctor(lake, "--heal")) == {"b.csv": "appended"}
    assert rows_of(b)[-1] == [777, "two\nlines"]
    with open(b, "a", encoding="utf-8") as f:
        f.write(' end"\n')
    doctor(lake, "--heal")
    assert rows_of(b)[-1] == [777, "two\nlines end"] and len(rows_of(b)) == 101


def test_case_only_rename(lake):
    os.rename(lake / "b.csv", lake / "B.csv")
    r = doctor(lake, status=1)
    assert r["renamed_files"] == [{"path": "B.csv", "was": "b.csv"}]
    heal_ends_well(lake)
    assert [e["rel_path"] for e in map_rows(lake)] == ["B.csv", "a.csv", "c.csv", "sub/d.csv"]


def test_renamed_to_another_format(lake):
    """The same bytes under an extension that reads them otherwise: the rows are those of the new reading."""
    os.rename(lake / "b.csv", lake / "b.txt")
    assert drifts(doctor(lake, "--heal")) == {"b.txt": "renamed"}
    assert [list(r) for r in rows_of(lake / "b.txt")][0] == ["100,w100"]
    assert doctor(lake, "--verify")["status"] == "HEALTHY"


def test_copies_are_not_renames(lake):
    """One file is gone, two of its contents are new: one of them was it, the other is new."""
    text = (lake / "b.csv").read_text()
    os.unlink(lake / "b.csv")
    for name in ("x.csv", "y.csv"):
        (lake / name).write_text(text)
    r = doctor(lake, status=1)
    assert drifts(r) == {"x.csv": "renamed", "y.csv": "unindexed"}
    heal_ends_well(lake)


def test_a_folder_renamed(tmp_path):
    """Two thousand files move at once, in a time that grows with their number only."""
    (tmp_path / "x").mkdir()
    for i in range(2000):
        (tmp_path / "x" / ("%04d.csv" % i)).write_text(HEAD + records(i * 10, 2))
    run("map", "-q", tmp_path)
    os.rename(tmp_path / "x", tmp_path / "y")
    r = doctor(tmp_path, "--heal")
    assert r["renamed_files"] == [{"path": "y/%04d.csv" % i, "was": "x/%04d.csv" % i} for i in range(2000)]
    assert r["bytes_surveyed"] == 0
    assert doctor(tmp_path)["status"] == "HEALTHY"


@pytest.mark.parametrize("what", ["link", "dangling", "fifo", "folder", "socket", "folder with data"])
def test_replaced_by_no_file(lake, what):
    """A name may stay and its file be gone. Nothing hangs, and nothing outside is taken in: links are not followed."""
    b = lake / "b.csv"
    b.unlink()
    if what == "link":
        outside = lake.parent / "secret.csv"
        outside.write_text(HEAD + records(0, 1))
        os.symlink(outside, b)
    elif what == "dangling":
        os.symlink(lake / "nowhere", b)
    elif what == "fifo":
        os.mkfifo(b)
    elif what == "socket":
        s = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(lake)
        s.bind("b.csv")
        os.chdir(here)
    else:
        b.mkdir()
    want = {"b.csv": "missing"}
    if what == "folder with data":
        (b / "x.csv").write_text(HEAD + records(0, 1))
        want["b.csv/x.csv"] = "unindexed"
    assert drifts(doctor(lake, status=1)) == want
    doctor(lake, "--heal")
    assert doctor(lake)["status"] == "HEALTHY"
    assert len(rows_of(lake)) == 300 + (what == "folder with data")


def test_names_that_are_not_utf8(tmp_path):
    root = os.fsencode(tmp_path)
    for name in (b"\xff.csv", b"\xfe.csv", b"\xffx.csv"):
        with open(root + b"/" + name, "w", encoding="utf-8") as f:
            f.write(HEAD + records(0, 3))
    run("map", "-q", tmp_path)
    assert doctor(tmp_path)["status"] == "HEALTHY"
    append(pathlib.Path(os.fsdecode(root + b"/\xff.csv")))
    os.rename(root + b"/\xfe.csv", root + b"/\xfd\xfd.csv")
    r = doctor(tmp_path, status=1)
    assert sorted(drifts(r).values()) == ["appended", "renamed"]
    doctor(tmp_path, "--heal")
    assert doctor(tmp_path)["status"] == "HEALTHY"
    assert json.loads(run("count", "--json", tmp_path)[0])["rows"] == 3 + 7 + 3 + 3


def test_names_that_steer_terminals(tmp_path):
    (tmp_path / "a\x1b[31m\n.csv").write_text(HEAD)
    out, _ = run("doctor", tmp_path, status=1)
    assert "\x1b" not in out and "a\\x1b[31m\\n.csv" in out
    assert doctor(tmp_path, status=1)["unindexed_files"] == ["a\x1b[31m\n.csv"]


def test_times_from_the_future_and_before_1970(lake):
    for ns in (4_000_000_000 * 10**9, -86400 * 10**9 + 1, 0):
        age(lake / "b.csv", ns)
        assert drifts(doctor(lake, "--heal")) == {"b.csv": "touched"}
        r = doctor(lake)
        # A time after the inspection's may hide a later change: the contents are looked at each time.
        assert r["racy_files"] == (["b.csv"] if ns > 10**18 else [])
        (lake / "b.csv").write_text((lake / "b.csv").read_text().swapcase())
        age(lake / "b.csv", ns)
        assert drifts(doctor(lake, status=1)) == {"b.csv": "damaged"}
        doctor(lake, "--heal")


def test_racy(tmp_path):
    """Mapped at once after writing: checked by contents until a heal has stamped it later."""
    f = tmp_path / "a.csv"
    f.write_text(HEAD + records(0, 10))
    run("map", "-q", tmp_path)
    r = doctor(tmp_path)
    assert (r["status"], r["healthy_count"], r["racy_files"], r["modified_files"]) == ("HEALTHY", 1, ["a.csv"], [])
    assert r["bytes_hashed"] == f.stat().st_size
    now = f.stat().st_mtime_ns
    f.write_text(HEAD + records(0, 10, "W"))
    os.utime(f, ns=(now, now))
    assert drifts(doctor(tmp_path, status=1)) == {"a.csv": "damaged"}
    doctor(tmp_path, "--heal")
    time.sleep(2.1)
    doctor(tmp_path, "--heal")
    assert doctor(tmp_path)["racy_files"] == []


@pytest.mark.parametrize("text", ["", HEAD, "\n\n", "x"])
def test_small_files(tmp_path, text):
    f = tmp_path / "a.csv"
    (tmp_path / "b.csv").write_text(text)
    f.write_text(text)
    for p in (f, tmp_path / "b.csv"):
        age(p)
    run("map", "-q", tmp_path)
    assert doctor(tmp_path, "--verify")["status"] == "HEALTHY"
    f.write_text(HEAD + records(0, 3))
    r = doctor(tmp_path, status=1)
    assert drifts(r) == {"a.csv": "appended" if text in ("", HEAD) else "rewritten"}
    heal_ends_well(tmp_path)
    assert rows_of(f) == [[0, "w0"], [1, "w1"], [2, "w2"]]
    f.write_text(text)
    assert list(drifts(doctor(tmp_path, "--heal"))) == ["a.csv"]
    assert doctor(tmp_path, "--verify")["status"] == "HEALTHY"


def test_unreadable_and_mended(tmp_path):
    """A file that cannot be read stands in the map with its error; mended, it is read."""
    bad = tmp_path / "bad.csv"
    (tmp_path / "good.csv").write_text(HEAD + records(0, 2))
    bad.write_bytes("id,v\n1,Größe\n".encode("cp1252"))
    for p in tmp_path.glob("*.csv"):
        age(p)
    run("map", "-q", tmp_path, status=1)
    assert doctor(tmp_path)["status"] == "HEALTHY"
    bad.write_text("id,v\n1,Größe\n", encoding="utf-8")
    r = doctor(tmp_path, status=1)
    assert list(drifts(r)) == ["bad.csv"] and r["errors"] == []
    heal_ends_well(tmp_path)
    assert rows_of(bad) == [[1, "Größe"]]
    bad.write_bytes("id,v\n1,Größe\n".encode("cp1252"))
    r = doctor(tmp_path, "--heal", status=1)
    assert (r["status"], r["unreadable_files"]) == ("HEALED", ["bad.csv"])
    assert "UTF-8" in r["errors"][0]["error"] and "line 2" in r["errors"][0]["error"] and "--encoding" in r["errors"][0]["error"]
    out, _ = run("doctor", tmp_path)
    assert out.startswith("HEALTHY")


@pytest.mark.parametrize("fingerprint", ["metadata", "blake3"])
def test_mended_with_the_same_size_and_time(tmp_path, fingerprint):
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"id,v\n1,\xff\n")
    age(bad)
    run("map", "-q", tmp_path, "--fingerprint", fingerprint, status=1)
    # Known to be unreadable and not changed since: no drift, though there is no hash to compare with.
    assert doctor(tmp_path)["status"] == "HEALTHY"
    bad.write_bytes(b"id,v\n1,x\n")
    age(bad)
    assert drifts(doctor(tmp_path, status=1)) == {"bad.csv": "modified"}
    doctor(tmp_path, "--heal")
    assert rows_of(bad) == [[1, "x"]]


def test_abort_keeps_the_map(lake):
    """T-74: without --on-error record a file that cannot be read ends the heal, and the map is as it was."""
    run("map", "-q", lake, "--on-error", "abort", "--stride", "16")
    before, former = (lake / MAP).read_bytes(), (lake / OLD).read_bytes()
    (lake / "b.csv").write_bytes(b"id,v\n1,\xff\n")
    (lake / "new.csv").write_text(HEAD)
    _, err = run("doctor", lake, "--heal", status=3)
    assert "b.csv" in err and "UTF-8" in err
    assert ((lake / MAP).read_bytes(), (lake / OLD).read_bytes()) == (before, former)
    assert [n for n in os.listdir(lake) if ".tmp" in n] == []


# ---------------------------------------------------------------- schema drift, damage

def test_schema_drift_by_column_and_file(lake):
    (lake / "a.csv").write_text("id,v,w\n1,x,2024-01-01\n")
    (lake / "b.csv").write_text("id\nx\n")
    append(lake / "c.csv")
    with open(lake / "sub" / "d.csv", "a", encoding="utf-8") as f:
        f.write("1.5,word\n")
    want = {"a.csv": ["column 'w' (date) is new"], "b.csv": ["column 'id': int64 became string", "column 'v' (string) is gone"],
            "c.csv": [], "sub/d.csv": ["column 'id': int64 became float64"]}
    for args, status in (([], 1), (["--heal"], 0)):
        r = doctor(lake, *args, status=status)
        assert {f["path"]: f["schema"] for f in r["findings"]} == want
    for path, lines in want.items():
        rows = json.loads(run("schema", "--json", lake / path)[0])["columns"]
        for line in lines:
            if "became" in line:
                assert [c["type"] for c in rows if c["name"] == "id"] == [line.split()[-1]]


MIB = 1 << 20


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A file of 5 MiB and a bit, records of 32 bytes; mapped in blocks of 1,000 rows. Lent: tests copy it."""
    root = tmp_path_factory.mktemp("big")
    with open(root / "big.csv", "w", encoding="utf-8") as f:
        f.write("id,text".ljust(31, "x") + "\n")
        f.writelines(("%07d,%s" % (i, "y" * 23)) + "\n" for i in range(170_000))
    age(root / "big.csv")
    run("map", "-q", root, "--stride", "1000")
    return root


@pytest.mark.parametrize("spots", [[0], [3 * MIB + 10], [2 * MIB - 1, 2 * MIB], [100, 5 * MIB + 32 * 1000]])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_verify_names_the_damage(big, tmp_path, spots, threads):
    shutil.copytree(big, tmp_path / "l", copy_function=shutil.copy2)
    lake, f = tmp_path / "l", tmp_path / "l" / "big.csv"
    size = f.stat().st_size
    with open(f, "r+b") as out:
        for at in spots:
            out.seek(at)
            out.write(b"#")
    age(f)
    r = doctor(lake, "--verify", "-j", threads, status=1)
    assert drifts(r) == {"big.csv": "damaged"}
    hit = sorted({at // MIB for at in spots})
    runs = []
    for piece in hit:
        if runs and runs[-1][1] == piece * MIB:
            runs[-1][1] = min((piece + 1) * MIB, size)
        else:
            runs.append([piece * MIB, min((piece + 1) * MIB, size)])
    got = finding(r, "big.csv")["damage"]
    assert [[d["first_byte"], d["first_byte"] + d["length"]] for d in got] == runs
    for (start, end), d in zip(runs, got):
        first, last = max(0, start - 32) // 32, (end - 1 - 32) // 32
        assert d["first_row"] == first // 1000 * 1000
        assert d["first_row"] + d["rows"] == min((last // 1000 + 1) * 1000, 170_000)
    out, _ = run("doctor", lake, "--verify", status=1)
    first = "{:,}".format(runs[0][0])
    assert "bytes %s to" % first in out and "rows " in out and "restore" in out


@pytest.mark.parametrize("fingerprint", ["metadata", "blake3"])
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_digests_by_many_threads(tmp_path, form, fingerprint):
    """Whoever takes them while the map is built, the doctor finds the same when it reads the file by itself."""
    row = '{"id":%d,"text":"%s"}\n' if form == "ndjson" else "%d,%s\n"
    with open(tmp_path / ("f." + form), "w", encoding="utf-8") as f:
        f.write("id,text\n" if form == "csv" else "")
        f.writelines(row % (i, "z" * (i % 90)) for i in range(120_000))
    age(tmp_path / ("f." + form))
    for threads in ("1", "2", "7"):
        run("map", "-q", tmp_path, "-j", threads, "--fingerprint", fingerprint)
        report = doctor(tmp_path, "--verify")
        assert report["status"] == "HEALTHY" and report["bytes_hashed"] > 5 * MIB


def test_unnoticed_without_verify(big, tmp_path):
    """Bytes that rot on disk change no time: only --verify sees them. A test cannot keep ctime, so it forges the map's."""
    shutil.copytree(big, tmp_path / "l", copy_function=shutil.copy2)
    lake, f = tmp_path / "l", tmp_path / "l" / "big.csv"
    with open(f, "r+b") as out:
        out.seek(4 * MIB + 5)
        out.write(b"#")
    age(f)
    with pa.ipc.open_file(lake / MAP) as m:
        table = m.read_all()
    i = table.schema.get_field_index("ctime_ns")
    table = table.set_column(i, table.schema.field(i), pa.array([f.stat().st_ctime_ns], pa.int64()))
    (lake / MAP).unlink()
    with pa.ipc.new_file(lake / MAP, table.schema) as out:
        out.write_table(table.combine_chunks())
    assert doctor(lake)["status"] == "HEALTHY"
    r = doctor(lake, "--verify", status=1)
    assert [(d["first_byte"], d["length"]) for d in finding(r, "big.csv")["damage"]] == [(4 * MIB, MIB)]


def test_older_than(lake):
    """What a heal has verified is left out until it is old enough."""
    sizes = sum(p.stat().st_size for p in lake.rglob("*.csv"))
    assert doctor(lake, "--older-than", "7d")["bytes_hashed"] == sizes    # never verified
    assert doctor(lake, "--older-than", "7d")["bytes_hashed"] == sizes    # a diagnosis remembers nothing
    r = doctor(lake, "--heal", "--verify")
    assert (r["status"], r["healed"]) == ("HEALTHY", False)
    assert all(e["verified_ns"] is not None for e in map_rows(lake))
    assert doctor(lake, "--verify", "--older-than", "1h")["bytes_hashed"] == 0
    assert doctor(lake, "--verify", "--older-than", "0s")["bytes_hashed"] == sizes
    assert doctor(lake, "--verify")["bytes_hashed"] == sizes
    time.sleep(1.1)
    assert doctor(lake, "--older-than", "1s")["bytes_hashed"] == sizes


@pytest.mark.parametrize("bad", ["7", "d", "1y", "-1d", "1.5h", "9999999999999999w", "1 d", " 1d", "1dd", "0x1s"])
def test_ages_that_are_none(lake, bad):
    _, err = run("doctor", lake, "--older-than=" + bad, status=2)
    assert "7d" in err


# ---------------------------------------------------------------- BLAKE3, options that are kept

# By the blake3 package of Python.
BLAKE3 = {b"id,v\n1,one\n2,two\n": "2ccecd77f6b510138f55dbed0a51c11c0d69563285bcce163af0c1ee53e6b09e", b"id,v\n1,one\n9,two\n": "e74624fe6e89e4b6413d8acf0a9819d89b2bcc07cbc62b84770ecf775e4e55b2"}


def test_blake3_policy(tmp_path):
    """T-71."""
    f = tmp_path / "a.csv"
    before, after = BLAKE3
    f.write_bytes(before)
    age(f)
    run("map", "-q", tmp_path, "--fingerprint", "blake3", "--stats", "none", "--stride", "5")
    assert map_rows(tmp_path)[0]["content_hash"] == BLAKE3[before]
    r = doctor(tmp_path)
    assert (r["status"], r["bytes_hashed"]) == ("HEALTHY", len(before))
    f.write_bytes(after)
    age(f)
    assert drifts(doctor(tmp_path, status=1)) == {"a.csv": "damaged"}
    doctor(tmp_path, "--heal")
    m = metadata(tmp_path)
    assert (m["bazan.fingerprint"], m["bazan.checkpoint_stride_rows"], m["bazan.stats_columns"]) == ("blake3", "5", "[]")
    row = map_rows(tmp_path)[0]
    assert row["content_hash"] == BLAKE3[after] and row["columns"] == []
    assert doctor(tmp_path)["status"] == "HEALTHY"
    before = stamp(tmp_path / MAP)
    assert doctor(tmp_path, "--heal")["status"] == "HEALTHY"
    assert stamp(tmp_path / MAP) == before


def test_options_are_kept(tmp_path):
    for name in ("eu/a.csv", "us/b.csv", "us/skip.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "eu" / "a.csv").write_bytes("id;v\n1;Größe\n2;NA\n".encode("cp1252"))
    (tmp_path / "us" / "b.csv").write_text("id,v\n3,x\n")
    (tmp_path / "us" / "skip.csv").write_text("id,v\n4,never\n")
    run("map", "-q", tmp_path, "--stride", "7", "--fingerprint", "blake3", "--stats", "id", "--null", "NA", "--exclude", "*/skip*",
        "--include", "*/*.csv", "--set", "eu/*.csv:delimiter=;,encoding=WINDOWS-1252")
    before = {k: v for k, v in metadata(tmp_path).items()
              if k in ("bazan.options", "bazan.fingerprint", "bazan.checkpoint_stride_rows", "bazan.stats_columns")}
    assert len(before) == 4
    (tmp_path / "eu" / "new.csv").write_bytes("id;v\n5;Übung\n6;NA\n".encode("cp1252"))
    append(tmp_path / "us" / "b.csv")
    (tmp_path / "top.csv").write_text(HEAD + "7,out\n")
    append(tmp_path / "us" / "skip.csv")
    r = doctor(tmp_path, "--heal")
    assert (r["unindexed_files"], r["modified_files"]) == (["eu/new.csv"], ["us/b.csv"])
    assert {k: metadata(tmp_path)[k] for k in before} == before
    assert rows_of(tmp_path)[:5] == [[1, "Größe"], [2, None], [5, "Übung"], [6, None], [3, "x"]]
    assert all(len(e["content_hash"]) == 64 and [c["path"] if "path" in c else c["name"] for c in e["columns"]] == ["id"]
               for e in map_rows(tmp_path))


def test_an_unregistered_handler(tmp_path):
    """LM-33: what this process cannot read is missing."""
    (tmp_path / "a.log").write_text("id|v\n1|x\n")
    (tmp_path / "b.csv").write_text(HEAD + "2,y\n")
    run("map", "-q", tmp_path, "--delimited", "log=|")
    assert doctor(tmp_path, "--delimited", "log=|")["status"] == "HEALTHY"
    assert doctor(tmp_path, status=1)["missing_files"] == ["a.log"]
    doctor(tmp_path, "--heal")
    assert doctor(tmp_path, "--delimited", "log=|", status=1)["unindexed_files"] == ["a.log"]


# ---------------------------------------------------------------- maps

def test_heal_without_a_map(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + records(0, 4))
    r = doctor(tmp_path, status=1)
    assert (r["status"], r["map_schema"], r["unindexed_files"]) == ("DRIFT_DETECTED", None, ["a.csv"])
    assert not (tmp_path / MAP).exists()
    r = doctor(tmp_path, "--heal")
    assert (r["status"], r["healed"]) == ("HEALED", True)
    assert not (tmp_path / OLD).exists()
    assert doctor(tmp_path)["status"] == "HEALTHY"
    assert metadata(tmp_path)["bazan.checkpoint_stride_rows"] == "65536"


def test_an_empty_directory(tmp_path):
    """LM-118."""
    assert doctor(tmp_path, status=1)["status"] == "DRIFT_DETECTED"
    assert doctor(tmp_path, "--heal")["status"] == "HEALED"
    r = doctor(tmp_path)
    assert (r["status"], r["total_files"]) == ("HEALTHY", 0)


def test_no_directory(tmp_path):
    for args in ([], ["--heal"], ["--undo"]):
        run("doctor", tmp_path / "nope", *args, status=4)
        (tmp_path / "file.csv").write_text(HEAD)
        p = subprocess.run([LAKEBED, "doctor", tmp_path / "file.csv", *args], capture_output=True, env=environment(), check=False)
        assert p.returncode in (2, 4) and p.stderr
    assert os.listdir(tmp_path) == ["file.csv"]


def test_a_map_in_a_subfolder(lake):
    run("map", "-q", lake / "sub")
    assert doctor(lake)["status"] == "HEALTHY"
    append(lake / "sub" / "d.csv")
    doctor(lake, "--heal")
    assert doctor(lake)["status"] == "HEALTHY"
    assert drifts(doctor(lake / "sub", status=1)) == {"d.csv": "appended"}


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "of another layout"])
def test_an_invalid_map_is_never_replaced(lake, damage):
    m = lake / MAP
    good = m.read_bytes()
    m.unlink()
    bad = {"text": b"this is no map\n", "empty": b"", "cut": good[:len(good) // 2],
           "of another layout": (SOURCE / "tests" / "lake" / "data" / "bad_6_columns.bazan").read_bytes()}[damage]
    m.write_bytes(bad)
    for args in ([], ["--heal"], ["--verify"]):
        _, err = run("doctor", lake, *args, status=3)
        assert MAP in err
    assert m.read_bytes() == bad


def test_undo_twice(lake):
    first = (lake / MAP).read_bytes()
    append(lake / "b.csv")
    doctor(lake, "--heal")
    second = (lake / MAP).read_bytes()
    assert (lake / OLD).read_bytes() == first != second
    run("doctor", lake, "--undo")
    assert ((lake / MAP).read_bytes(), (lake / OLD).read_bytes()) == (first, second)
    assert drifts(doctor(lake, status=1)) == {"b.csv": "appended"}
    run("doctor", lake, "--undo")
    assert ((lake / MAP).read_bytes(), (lake / OLD).read_bytes()) == (second, first)
    assert doctor(lake)["status"] == "HEALTHY"
    assert sorted(n for n in os.listdir(lake) if n.startswith(".")) == [MAP, OLD, ".br_map.lock"]


def test_undo_without_a_former_map(lake):
    before = (lake / MAP).read_bytes()
    _, err = run("doctor", lake, "--undo", status=4)
    assert "no former map" in err
    (lake / OLD).write_text("no map")
    run("doctor", lake, "--undo", status=3)
    assert (lake / MAP).read_bytes() == before
    for other in ("--heal", "--verify", "--older-than=1d"):
        run("doctor", lake, "--undo", other, status=2)


def reference_map(lake, n):
    """A map as other writers make it, of layout n columns."""
    paths = sorted(p for p in lake.rglob("*.csv"))
    entries = [(p.relative_to(lake).as_posix(), p.stat().st_size, p.stat().st_mtime_ns // 10**6, 100) for p in paths]
    firsts = [100 * i for i in range(len(entries))]
    blocks = [json.dumps([{"ordinal": 0, "first_row": 0, "row_count": 100, "first_byte": 5, "total_byte_size": e[1] - 5,
                           "compressed_size": 0, "columns": []}]) for e in entries]
    stats = [json.dumps({"total_rows": 100, "columns": {}})] * len(entries)
    columns = [("rel_path", pa.string(), [e[0] for e in entries]), ("size_bytes", pa.uint64(), [e[1] for e in entries]),
               ("mtime_ms", pa.int64(), [e[2] for e in entries]), ("total_rows", pa.uint64(), [e[3] for e in entries]),
               ("stats_json", pa.string(), stats), ("first_global_row", pa.uint64(), firsts),
               ("row_groups_json", pa.string(), blocks), ("content_hash", pa.string(), [None] * len(entries))][:n]
    meta = {"bazan.kind": "lake_map", "bazan.version": "1", "bazan.payload": "arrow_ipc"}
    if n == 8:
        meta.update({"bazan.map_schema": "3", "bazan.checkpoint_stride_rows": "48", "bazan.fingerprint": "metadata",
                     "bazan.stats_columns": '["id"]'})
    elif n == 7:
        meta["bazan.map_schema"] = "2"
    schema = pa.schema([pa.field(name, t, nullable=name == "content_hash") for name, t, _ in columns], metadata=meta)
    (lake / MAP).unlink()
    with pa.ipc.new_file(lake / MAP, schema) as out:
        out.write_batch(pa.record_batch([pa.array(v, t) for _, t, v in columns], schema=schema))


@pytest.mark.parametrize("n, layout", [(5, 1), (7, 2), (8, 3)])
def test_reference_maps_are_healed_and_upgraded(lake, n, layout):
    reference_map(lake, n)
    before = (lake / MAP).read_bytes()
    r = doctor(lake)
    assert (r["status"], r["map_schema"], r["healthy_count"]) == ("HEALTHY", layout, 4)
    assert doctor(lake, "--heal")["status"] == "HEALTHY" and (lake / MAP).read_bytes() == before
    append(lake / "b.csv")
    (lake / "new.csv").write_text(HEAD + records(0, 1))
    r = doctor(lake, status=1)
    # How it changed cannot be known: there are no digests.
    assert drifts(r) == {"b.csv": "modified", "new.csv": "unindexed"}
    assert doctor(lake, "--heal")["status"] == "HEALED"
    r = doctor(lake)
    assert (r["status"], r["map_schema"], r["healthy_count"]) == ("HEALTHY", 3, 5)
    rows = map_rows(lake)
    assert [e["total_rows"] for e in rows] == [100, 107, 100, 1, 100] and all(e["digests"] for e in rows)
    stride = 48 if n == 8 else 65536
    assert metadata(lake)["bazan.checkpoint_stride_rows"] == str(stride)
    assert [b["row_count"] for b in rows[0]["blocks"]] == ([48, 48, 4] if n == 8 else [100])
    assert (lake / OLD).read_bytes() == before
    run("doctor", lake, "--undo")
    assert (lake / MAP).read_bytes() == before


def test_the_sandbox(lake):
    """T-73."""
    for name in ("BASALTIC_RED_DATA_ROOT", "BASALTIC_RED_ALLOWED_ROOT"):
        for args in ([], ["--heal"], ["--undo"]):
            _, err = run("doctor", lake, *args, status=2, **{name: os.fspath(lake / "sub")})
            assert "path traversal" in err
        run("doctor", lake, **{name: os.fspath(lake)})


# ---------------------------------------------------------------- several at once, and accidents

def test_two_heals_at_once(lake):
    """Each does its work or says that another is at it; the map is valid after each round."""
    for i in range(12):
        (lake / ("n%02d.csv" % i)).write_text(HEAD + records(i, 2000))
        heals = [subprocess.Popen([LAKEBED, "doctor", "-q", "--heal", lake], stderr=subprocess.PIPE, env=environment())
                 for _ in range(3)]
        for p in heals:
            err = p.communicate(timeout=60)[1]
            assert p.returncode == 0 or (p.returncode == 4 and b"another writer" in err), err
        assert doctor(lake)["total_files"] == 5 + i
    assert [n for n in os.listdir(lake) if "tmp" in n] == []


def test_a_heal_under_readers(lake):
    """Eight readers slice a lake that is healed again and again: every read is right."""
    stop, wrong = threading.Event(), []
    want = [[100 + i, "w%d" % (100 + i)] for i in range(100)]

    def read():
        while not stop.is_set():
            p = subprocess.run([LAKEBED, "slice", "-q", "--to", "ndjson", lake / "b.csv"], capture_output=True, env=environment(),
                               check=False)
            got = [list(json.loads(line).values()) for line in p.stdout.splitlines()]
            if p.returncode != 0 or got != want:
                wrong.append((p.returncode, p.stderr, len(got)))
    readers = [threading.Thread(target=read) for _ in range(8)]
    for t in readers:
        t.start()
    try:
        for i in range(25):
            (lake / "new.csv").write_text(HEAD + records(i, 50 + i))
            if i % 3 == 0:
                other_time(lake / "b.csv")
            elif i % 3 == 1:
                age(lake / "b.csv")
            doctor(lake, "--heal")
    finally:
        stop.set()
        for t in readers:
            t.join()
    assert wrong == []


def test_interrupt_leaves_nothing_behind(tmp_path):
    """While a lake is verified and healed: status 130, map and folder as they were."""
    rows = HEAD + records(0, 400_000)
    (tmp_path / "f00.csv").write_text(rows)
    run("map", "-q", tmp_path)
    for i in range(1, 30):
        os.link(tmp_path / "f00.csv", tmp_path / ("f%02d.csv" % i))
    before, files = (tmp_path / MAP).read_bytes(), sorted(set(os.listdir(tmp_path)) | {".br_map.lock"})
    seen = set()
    for wait in (0.02, 0.1, 0.3):
        p = subprocess.Popen([LAKEBED, "doctor", tmp_path, "--heal", "--verify", "-j", "1"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=environment())
        time.sleep(wait)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
        seen.add(p.returncode)
        if p.returncode == 0:
            break
        if p.returncode == -signal.SIGINT:    # it came before the command was ready
            continue
        assert p.returncode == 130 and out == b"" and err.count(b"\n") <= 2
        assert (tmp_path / MAP).read_bytes() == before
        assert sorted(set(os.listdir(tmp_path)) | {".br_map.lock"}) == files
    assert 130 in seen, "no signal came while it worked"


def can_write_anywhere(folder):
    probe = folder / "probe"
    try:
        probe.write_text("")
    except OSError:
        return False
    probe.unlink()
    return True


def test_a_read_only_directory(lake):
    append(lake / "b.csv")
    os.chmod(lake, 0o555)
    try:
        if can_write_anywhere(lake):
            pytest.skip("this user may write everywhere")
        assert drifts(doctor(lake, status=1)) == {"b.csv": "appended"}
        run("doctor", lake, "--heal", status=4)
    finally:
        os.chmod(lake, 0o755)


def test_an_unreadable_file(lake):
    os.chmod(lake / "b.csv", 0)
    try:
        if os.access(lake / "b.csv", os.R_OK):
            pytest.skip("this user may read everything")
        r = doctor(lake, status=1)
        assert drifts(r) == {"b.csv": "unreadable"} and r["unreadable_files"] == r["modified_files"] == ["b.csv"]
    finally:
        os.chmod(lake / "b.csv", 0o644)


def test_a_full_disk(tmp_path):
    """No room for the new map: an error, the former map whole, nothing left over."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        for i in range(40):
            (disk / ("%02d.csv" % i)).write_text(HEAD + records(i, 5))
        (disk / "wide.csv").write_text(2 * (",".join("%d" % i for i in range(2500)) + "\n"))
        run("map", "-q", disk)
        before = (disk / MAP).read_bytes()
        append(disk / "00.csv")
        try:
            with open(disk / "fill", "wb", buffering=0) as f:
                while True:
                    f.write(bytes(4096))
        except OSError:
            pass
        _, err = run("doctor", disk, "--heal", status=4)
        assert "space" in err
        _, err = run("map", disk, status=4)  # larger than what is written at once
        assert MAP in err and "space" in err
        assert (disk / MAP).read_bytes() == before
        assert [n for n in os.listdir(disk) if "tmp" in n or n == OLD] == []
        os.unlink(disk / "fill")
        doctor(disk, "--heal")
        assert len(rows_of(disk)) == 40 * 5 + 7 + 1
    finally:
        subprocess.run(["umount", disk], check=True)


PEAK = """import os, resource, subprocess, sys
p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


@pytest.mark.skipif(bool(os.environ.get("LAKEBED_SANITIZE")), reason="memory under a sanitizer says nothing")
def test_a_hundred_thousand_files(tmp_path):
    """Empty ones: a heal without a map, one with nothing to do, one of a map with all files gone; below 400 MB."""
    for i in range(100):
        (tmp_path / ("%02d" % i)).mkdir()
        for k in range(1000):
            os.close(os.open(tmp_path / ("%02d" % i) / ("%03d.csv" % k), os.O_CREAT | os.O_WRONLY))
    peaks = []
    for args, status in ((["--heal"], 0), (["--verify"], 0), (["--heal"], 0)):
        out = subprocess.run([sys.executable, "-c", PEAK, LAKEBED, "doctor", "-q", tmp_path, *args], capture_output=True, text=True,
                             env=environment(), check=True).stdout.split()
        assert out[0] == str(status)
        peaks.append(int(out[1]) / 1000)
    print("peak memory in MB:", peaks)
    assert max(peaks) < 400, peaks
    assert doctor(tmp_path)["total_files"] == 100_000
    shutil.rmtree(tmp_path / "42")
    assert len(doctor(tmp_path, "--heal")["missing_files"]) == 1000


# ---------------------------------------------------------------- for people

def test_what_people_see(lake):
    out, err = run("doctor", lake)
    assert (out, err) == ("HEALTHY: 4 files, as mapped by size and time\n"
                          "to compare contents as well: lakebed doctor %s --verify\n" % lake, "")
    append(lake / "b.csv")
    os.rename(lake / "a.csv", lake / "z.csv")
    size = (lake / "b.csv").stat().st_size
    out, err = run("doctor", lake, status=1)
    assert err == "" and out.splitlines() == [
        "DRIFT_DETECTED: 4 files, 2 as mapped; 1 renamed, 1 appended", "renamed, the contents of a file that is gone:",
        "  z.csv  was a.csv  %s bytes" % "{:,}".format((lake / "z.csv").stat().st_size), "appended, what was mapped still stands:",
        "  b.csv  %s bytes, now %s" % ("{:,}".format(size - 7 * 11), "{:,}".format(size)),
        "to bring the map up to date: lakebed doctor %s --heal" % lake]
    assert run("doctor", "-q", lake, status=1) == ("", "")
    assert run("doctor", lake, "--heal")[0].splitlines()[-1] == "to take this back: lakebed doctor %s --undo" % lake


def test_the_next_step_can_be_typed(tmp_path):
    lake = tmp_path / "it's a lake"
    lake.mkdir()
    (lake / "a.csv").write_text(HEAD)
    line = run("doctor", lake, status=1)[0].splitlines()[-1]
    assert line.startswith("to map it: lakebed map ")
    subprocess.run(["bash", "-c", 'lakebed() { "$LAKEBED" "$@"; }\n' + line.split(": ", 1)[1]], check=True,
                   env=environment(LAKEBED=LAKEBED), stdout=subprocess.DEVNULL)
    assert (lake / MAP).exists()
