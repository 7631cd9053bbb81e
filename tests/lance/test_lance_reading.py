"""Reading Lance datasets that a second writer made from the format's description: any layout that is allowed reads as the
values that went in, and what is not allowed is refused by name.

Run by pytest; LAKEBED names the command.
"""
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lance_by_hand import (DataFile, Field, blob, data_file, dataset, entry, flat, footer, fragment, framed, manifest,  # noqa: E402
                           num)

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
WRITER = blob(13, blob(1, "by hand") + blob(2, "1.0.0"))


def run(*args):
    return subprocess.run([LAKEBED, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=300)


def rows_of(path, *more):
    p = run("slice", path, "--to", "tagged", *more)
    assert p.returncode == 0, p.stderr.decode()
    return [json.loads(line) for line in p.stdout.splitlines()]


def refused(path, *words, status=3):
    p = run("slice", path, "--to", "tagged")
    said = p.stderr.decode()
    assert p.returncode == status and p.stdout == b"", (p.returncode, said)
    for w in words:
        assert w in said, said
    return said


# ---------------------------------------------------------------- any layout that is allowed

def random_field(rng, ids, name, depth=0):
    kinds = ["int8", "int64", "double", "string", "bool", "fixed_size_list:bool:3", "fixed_size_list:int16:2", "null",
             "large_string", "dict:string:int8:false", "dict:int64:uint16:false", "uint32"]
    if depth < 3:
        kinds += ["struct", "list", "large_list", "struct", "list"]
    kind = rng.choice(kinds)
    f = Field(next(ids), name, kind, nullable=rng.random() < 0.5)
    if kind == "struct":
        f.children = [random_field(rng, ids, "c%d" % i, depth + 1) for i in range(rng.randint(1, 3))]
    elif "list" in kind and not kind.startswith("fixed"):
        f.children = [random_field(rng, ids, "item", depth + 1)]
        f.kind += ".struct" if f.children[0].kind == "struct" else ""
    elif kind.startswith("dict:string"):
        f.dictionary = ["red", "green", "a longer one", "blau"]
    elif kind.startswith("dict:"):
        f.dictionary = [5, -7, 1 << 40]
    for c in f.children:
        c.parent = f.id
    return f


def random_value(rng, f):
    k = f.kind
    if k == "struct":
        return {c.name: random_value(rng, c) for c in f.children}
    if k.startswith(("list", "large_list")):
        return [random_value(rng, f.children[0]) for _ in range(rng.choice([0, 0, 1, 2, 5]))]
    if k.startswith("fixed_size_list:bool"):
        return [rng.random() < 0.5 for _ in range(3)]
    if k.startswith("fixed_size_list"):
        return [rng.randint(-99, 99), rng.randint(-99, 99)]
    if f.dictionary is not None:
        return rng.choice(f.dictionary)
    if k in ("string", "large_string"):
        return rng.choice(["", "x", "né", "long " * 20, "tail"])
    return {"null": None, "bool": rng.random() < 0.5, "double": rng.uniform(-1, 1), "int8": rng.randint(-128, 127),
            "uint32": rng.randint(0, 1 << 32 - 1)}.get(k, rng.randint(-(1 << 50), 1 << 50))


def seen(v, f):
    """The value as a reader gives it: an empty text of a nullable field is null."""
    if f.kind == "struct":
        return {c.name: seen(v[c.name], c) for c in f.children}
    if f.kind.startswith(("list", "large_list")):
        return [seen(x, f.children[0]) for x in v]
    return None if f.kind in ("string", "large_string") and f.nullable and v == "" else v


def cut(rng, n):
    """n rows in batches, some of them empty."""
    out = []
    while n > 0:
        k = min(n, rng.choice([0, 1, 3, 8, 20, 200]))
        out.append(k)
        n -= k
    return out


def arrow_deletions(rows, compressed):
    pa = pytest.importorskip("pyarrow")
    to = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if compressed else None)
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    with pa.ipc.new_file(to, schema, options=options) as w:
        w.write_batch(pa.record_batch([pa.array(rows, pa.uint32())], schema=schema))
    return to.getvalue()


def bitmap_deletions(rows):
    return struct.pack("<IIHHI", 0x303A, 1, 0, len(rows) - 1, 16) + struct.pack("<%dH" % len(rows), *sorted(rows))


@pytest.mark.parametrize("seed", range(40))
def test_layouts(seed, tmp_path):
    rng = random.Random(seed)
    ids = iter(range(1000))
    groups = []
    for g in range(rng.randint(1, 3)):  # fields of a first file, and of files that were added
        for _ in range(rng.choice([0, 0, 5])):
            next(ids)  # dropped columns leave gaps
        groups.append([random_field(rng, ids, "f%d_%d" % (g, i)) for i in range(rng.randint(1, 4))])
    fields = [f for g in groups for f in g]
    files, deletions, fragments, want = {}, {}, [], []
    for k in range(rng.randint(1, 4)):
        n = rng.choice([1, 7, 60, 300])
        rows = [{f.name: random_value(rng, f) for f in fields} for _ in range(n)]
        listed = []
        absent = rng.randrange(len(groups)) if len(groups) > 1 and rng.random() < 0.3 else None
        for g, group in enumerate(groups):
            if g == absent:
                continue
            name, at, batches = "%d-%d.lance" % (k, g), 0, []
            for size in cut(rng, n):
                batches.append([[r[f.name] for r in rows[at:at + size]] for f in group])
                at += size
            files[name] = DataFile(group, batches, low=rng.choice(["min", "zero"]), position_first=rng.choice([0, 3]),
                                   statistics=False).bytes()
            listed.append(data_file(name, flat(group)))
        gone = sorted(rng.sample(range(n), rng.choice([0, 0, 1, n // 3, n - 1])))
        deletion = b""
        if gone:
            bits = rng.random() < 0.5
            shuffled = rng.sample(gone, len(gone))
            deletions["%d-1-77.%s" % (k, "bin" if bits else "arrow")] = \
                bitmap_deletions(gone) if bits else arrow_deletions(shuffled, rng.random() < 0.5)
            deletion = num(1, int(bits)) + num(2, 1) + num(3, 77) + (num(4, len(gone)) if rng.random() < 0.5 else b"")
        fragments.append(fragment(k, listed, deletion, rows=n if rng.random() < 0.5 else 0))
        for i, r in enumerate(rows):
            if i not in gone:
                want.append({f.name: None if absent is not None and f in groups[absent] else seen(r[f.name], f)
                             for f in fields})
    flags = num(9, 1) if deletions else b""
    told = rng.choice([b"", WRITER])
    if told:  # then its numbers of rows are believed
        fragments = [f for f in fragments]
    ds = dataset(tmp_path / "t", {"1.manifest": manifest(fields, fragments, more=flags + told)}, files, deletions)
    assert rows_of(ds) == want
    for _ in range(6):
        at, n = rng.randrange(len(want) + 1), rng.choice([1, 2, 50])
        assert rows_of(ds, "--offset", at, "--limit", n) == want[at:at + n]
    one = rng.choice(fields).name
    assert rows_of(ds, "--columns", one) == [{one: r[one]} for r in want]
    assert run("map", tmp_path, "--on-error", "abort").returncode == 0
    assert rows_of(ds) == want
    p = run("doctor", tmp_path, "--verify")
    assert p.returncode == 0, p.stdout.decode() + p.stderr.decode()


ID, NAME = Field(0, "id", "int64"), Field(1, "name", "string", nullable=True)


def simple(root, more=b"", files=None, fragments=None, fields=None, **how):
    fields = fields or [ID, NAME]
    content = DataFile([ID, NAME], [[[1, 2, 3], ["a", "", "c"]]]).bytes()
    fragments = fragments or [fragment(0, [data_file("a.lance", [0, 1])])]
    return dataset(root, {"1.manifest": manifest(fields, fragments, more=more, **how)}, files or {"a.lance": content})


SIMPLE = [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]


def test_data_file_alone(tmp_path):
    colours = Field(2, "d", "dict:string:int8:false", dictionary=["", "red"])
    content = DataFile([ID, NAME, colours], [[[1], ["x"], ["red"]], [[2], ["y"], [""]]]).bytes()
    (tmp_path / "one.lance").write_bytes(content)
    want = [{"id": 1, "name": "x", "d": "red"}, {"id": 2, "name": "y", "d": ""}]
    assert rows_of(tmp_path / "one.lance") == want
    (tmp_path / "noname").write_bytes(content)
    assert rows_of(tmp_path / "noname") == want
    assert run("map", tmp_path).returncode == 0
    assert rows_of(tmp_path / "one.lance", "--offset", 1) == want[1:]
    (tmp_path / "bare.lance").write_bytes(DataFile([ID], [[[1]]], schema=False).bytes())
    refused(tmp_path / "bare.lance", "no schema of its own")


def test_unknown_fields_and_batches_of_nothing(tmp_path):
    ds = simple(tmp_path / "t", more=blob(40, "later") + num(41, 7) + blob(12, "0-x.txn"))
    assert rows_of(ds) == SIMPLE
    empty = dataset(tmp_path / "e", {"1.manifest": manifest([ID, NAME], [])})
    assert rows_of(empty) == []
    nothing = DataFile([ID, NAME], []).bytes()
    ds = simple(tmp_path / "n", files={"a.lance": nothing})
    assert rows_of(ds) == []


def test_dictionary_of_the_file_where_the_manifest_has_none(tmp_path):
    a = Field(0, "d", "dict:string:int8:false", dictionary=["x", "y"])
    b = Field(0, "d", "dict:string:int8:false", dictionary=["p", "q", "r"])
    files = {"a.lance": DataFile([a], [[["y", "x"]]]).bytes(), "b.lance": DataFile([b], [[["r", "q"]]]).bytes()}
    fragments = [fragment(0, [data_file("a.lance", [0])]), fragment(1, [data_file("b.lance", [0])])]
    ds = dataset(tmp_path / "t", {"1.manifest": manifest([a], fragments, dictionaries=False)}, files)
    assert [r["d"] for r in rows_of(ds)] == ["y", "x", "r", "q"]


def test_types_that_are_hard_to_spell(tmp_path):
    cases = [("timestamp:us:+05:30", "timestamp[us,+05:30]"), ("timestamp:ms:Asia/Kolkata", "timestamp[ms,Asia/Kolkata]"),
             ("timestamp:s", "timestamp[s]"), ("timestamp:ns:-", "timestamp[ns]"), ("decimal:128:38:-3", "decimal(38,-3)"),
             ("fixed_size_list:timestamp:us:-:4", {"list": "timestamp[us]"}),
             ("fixed_size_list:decimal:128:7:3:2", {"list": "decimal(7,3)"}),
             ("fixed_size_list:fixed_size_list:float:2:3", {"list": {"list": "float32"}}),
             ("fixed_size_list:lance.bfloat16:8", {"list": "fixed_binary(2)"})]
    fields = [Field(i, "f%d" % i, k) for i, (k, _) in enumerate(cases)]
    ds = dataset(tmp_path / "t", {"1.manifest": manifest(fields, [])})
    got = json.loads(run("schema", ds, "--json").stdout)
    assert [c["type"] for c in got["columns"]] == [w for _, w in cases]


def test_nulls_that_a_companion_tells(tmp_path):
    there = Field(2, "id_there", "bool")
    items = Field(4, "item", "int32")
    lists = Field(3, "l", "list", children=[items])
    told = Field(6, "item", "bool")
    tells = Field(5, "l_there", "list", children=[told])
    named = Field(7, "name_there", "bool")
    fields = [ID, NAME, there, lists, tells, named]
    content = DataFile(fields, [[[1, 0, 3], ["a", "", ""], [True, False, True], [[1, 2], [], [3]],
                                 [[True, False], [], [True]], [True, True, False]]]).bytes()
    ds = dataset(tmp_path / "t", {"1.manifest": manifest(
        fields, [fragment(0, [data_file("a.lance", flat(fields))])],
        more=entry(5, "lakebed.nulls", "2:0 6:4 7:1"))}, {"a.lance": content})
    assert rows_of(ds) == [{"id": 1, "name": "a", "l": [1, None]}, {"id": None, "name": "", "l": []},
                           {"id": 3, "name": None, "l": [3]}]
    assert rows_of(ds, "--columns", "name") == [{"name": "a"}, {"name": ""}, {"name": None}]


# ---------------------------------------------------------------- versions

def test_versions(tmp_path):
    def rows(n):
        return [fragment(0, [data_file("%d.lance" % n, [0, 1])])]

    files = {"%d.lance" % n: DataFile([ID, NAME], [[[n], ["v"]]]).bytes() for n in (1, 2, 3, 10)}
    names = {"%d.manifest" % n: manifest([ID, NAME], rows(n), version=n, seconds=1700000000 + n,
                                         more=blob(8, "stone") if n == 2 else b"") for n in (1, 2, 3, 10)}
    ds = dataset(tmp_path / "t", names, files)
    for junk in (".tmp_11.manifest_aa", "11.manifest#1", "d12.manifest", "latest_version_hint.json", "99.manifest.bak"):
        (ds / "_versions" / junk).write_bytes(b"junk")
    (ds / "_refs" / "tags").mkdir(parents=True)
    (ds / "_refs" / "tags" / "gold.json").write_text('{"version": 3, "manifestSize": 5}')
    (ds / "_refs" / "tags" / "bad.json").write_text('{"version": "x"}')

    def first(spec):
        return rows_of("%s@%s" % (ds, spec) if spec else ds)[0]["id"]

    assert first("") == 10
    assert [first(s) for s in (1, 2, 3, 10, "stone", "gold")] == [1, 2, 3, 10, 2, 3]
    assert first("2023-11-14T22:13:22Z") == 2    # 1700000002
    assert first("2023-11-14T22:13:22.5Z") == 2
    assert first("2023-11-14T23:13:29+01:00") == 3
    assert first("2030-01-01") == 10
    assert "from 1 to 10" in refused("%s@4" % ds, status=4)
    refused("%s@nix" % ds, "no version with the tag", status=4)
    refused("%s@1999-01-01" % ds, "no version is as old", status=4)
    refused("%s@bad" % ds, "JSON object", status=3)


def test_long_names_and_latest_alone(tmp_path):
    a = simple(tmp_path / "a")
    (a / "_versions" / "1.manifest").rename(a / "_versions" / ("%d.manifest" % (2 ** 64 - 2)))
    assert rows_of(a) == rows_of("%s@1" % a) == SIMPLE
    b = simple(tmp_path / "b")
    (b / "_versions" / "1.manifest").rename(b / "_latest.manifest")
    (b / "_versions").rmdir()
    assert rows_of(b) == SIMPLE
    refused("%s@1" % b, "has none", status=4)


def test_a_new_version_is_seen_and_healed(tmp_path):
    ds = simple(tmp_path / "t")
    assert run("map", tmp_path).returncode == 0
    more = DataFile([ID, NAME], [[[4], ["d"]]]).bytes()
    fragments = [fragment(0, [data_file("a.lance", [0, 1])]), fragment(1, [data_file("b.lance", [0, 1])])]
    dataset(ds, {"2.manifest": manifest([ID, NAME], fragments, version=2)}, {"b.lance": more})
    want = SIMPLE + [{"id": 4, "name": "d"}]
    assert rows_of(ds) == rows_of(tmp_path) == want
    assert run("doctor", tmp_path).returncode == 1
    assert run("doctor", tmp_path, "--heal").returncode == 0
    assert run("doctor", tmp_path).returncode == 0
    assert rows_of(tmp_path) == want
    (ds / "data" / "b.lance").write_bytes(more.replace(struct.pack("<q", 1), struct.pack("<q", 9), 1))
    assert run("doctor", tmp_path, "--verify").returncode in (0, 1)
    (ds / "data" / "b.lance").unlink()
    p = run("doctor", tmp_path, "--verify")
    assert p.returncode == 1 and b"unreadable" in p.stdout


def test_a_lake_of_datasets_and_files(tmp_path):
    simple(tmp_path / "sub" / "b.lance")
    (tmp_path / "a.csv").write_text("id,name\n7,z\n")
    assert rows_of(tmp_path) == [{"id": 7, "name": "z"}] + SIMPLE
    assert run("map", tmp_path).returncode == 0
    assert rows_of(tmp_path) == [{"id": 7, "name": "z"}] + SIMPLE
    p = run("map", tmp_path / "sub" / "b.lance")
    assert p.returncode == 2 and b"one Lance dataset" in p.stderr


# ---------------------------------------------------------------- what is refused

@pytest.mark.parametrize("flags,words", [(2, "2 (stable row ids)"), (3, "2 (stable row ids)"), (16, "16 (base paths)"),
                                         (64, "64 (unknown)"), (1 << 40 | 18, "16 (base paths)")])
def test_feature_flags(flags, words, tmp_path):
    refused(simple(tmp_path / "t", more=num(9, flags)), "feature flag", words)


def test_writer_flags_do_not_matter_to_a_reader(tmp_path):
    assert rows_of(simple(tmp_path / "t", more=num(10, 0xFFFF))) == SIMPLE


@pytest.mark.parametrize("major,minor,words", [(0, 3, "2.0"), (2, 0, "2.0"), (2, 1, "2.1"), (2, 2, "2.2"), (7, 9, "unknown")])
def test_data_files_of_format_2(major, minor, words, tmp_path):
    content = DataFile([ID, NAME], [[[1], ["a"]]]).bytes()
    content = content[:-8] + struct.pack("<HH", major, minor) + b"LANC"
    said = refused(simple(tmp_path / "t", files={"a.lance": content}), words, "footer %d.%d" % (major, minor))
    assert "a.lance" in said
    # A later file of the dataset as well: then rows before it may come out.
    good = DataFile([ID, NAME], [[[1], ["a"]]]).bytes()
    fragments = [fragment(0, [data_file("a.lance", [0, 1])], rows=1), fragment(1, [data_file("b.lance", [0, 1])], rows=1)]
    ds = simple(tmp_path / "m", more=WRITER, files={"a.lance": good, "b.lance": content}, fragments=fragments)
    p = run("slice", ds, "--to", "tagged")
    assert p.returncode == 3 and words.encode() in p.stderr
    assert rows_of(ds, "--limit", 1) == [{"id": 1, "name": "a"}]


def test_manifests_of_before_release_0_2_7(tmp_path):
    for message in (num(4, 1) + blob(1, ID.message()), blob(1, ID.message()) + num(3, 1) + blob(6, b"\x08\x01")):
        ds = dataset(tmp_path / ("t%d" % len(message)), {"1.manifest": framed(message) + footer(0)})
        refused(ds, "too old")


@pytest.mark.parametrize("path", ["../a.lance", "/etc/passwd", "x/../../a.lance", "", "a\0b"])
def test_paths_outside(path, tmp_path):
    refused(simple(tmp_path / "t", fragments=[fragment(0, [data_file(path, [0, 1])])]), "outside the dataset")


@pytest.mark.parametrize("fields,words", [
    ([ID, Field(0, "other", "int32")], "number of another"),
    ([Field(1, "c", "int32", parent=0), Field(0, "s", "struct")], "parent that does not stand before"),
    ([Field(3, "c", "int32", parent=3)], "parent that does not stand before"),
    ([ID, Field(1, "c", "int32", parent=0)], "neither list nor struct"),
    ([Field(0, "l", "list")], "exactly one child"),
    ([Field(0, "m", "map")], "'map'"),
    ([Field(0, "m", "fixed_size_list:string:2")], "fixed_size_list:string:2"),
    ([Field(0, "m", "fixed_size_list:int8:0")], "fixed_size_list:int8:0"),
    ([Field(0, "m", "fixed_size_list:int64:2000000000")], "fixed-size list"),
    ([Field(0, "m", "decimal:128:39:0")], "decimal:128:39:0"),
    ([Field(0, "m", "dict:double:int8:false")], None),
    ([Field(0, "m", "int32", encoding=4)], "RLE"),
    ([Field(0, b"\xff", "int32")], "no text"),
])
def test_schemas(fields, words, tmp_path):
    ds = dataset(tmp_path / "t", {"1.manifest": manifest(fields, [])})
    if words is None:
        assert run("slice", ds).returncode in (0, 3)
    else:
        refused(ds, words)


def test_deep_types(tmp_path):
    f = Field(100, "item", "int8")
    for i in range(99, -1, -1):
        f = Field(i, "l" if i == 0 else "item", "list", children=[f])
    refused(dataset(tmp_path / "t", {"1.manifest": manifest([f], [])}), "nest")


def test_blob_columns_are_refused_alone(tmp_path):
    name = Field(1, "name", "string", nullable=True, more=blob(11, "blob"))
    ds = simple(tmp_path / "t", fields=[ID, name])
    refused(ds, "storage class 'blob'")
    assert rows_of(ds, "--columns", "id") == [{"id": n} for n in (1, 2, 3)]


@pytest.mark.parametrize("pages,words", [
    ({(0, 0): (1 << 40, 3)}, "beyond the end"), ({(0, 0): (0, 2)}, "number of rows"), ({(0, 0): (0, 4)}, "number of rows"),
    ({(0, 0): (-1, -1)}, "no page"), ({(0, 0): (0, 1 << 62)}, "number of rows"), ({(1, 0): (0, 3)}, "offsets"),
    ({(0, 0): ((1 << 63) - 1, 3)}, "beyond the end"),
])
def test_pages(pages, words, tmp_path):
    content = DataFile([ID, NAME], [[[1, -2, 3], ["a", "", "c"]]], pages=pages).bytes()
    refused(simple(tmp_path / "t", files={"a.lance": content}), words)


def test_files_of_other_length(tmp_path):
    a, b = DataFile([ID], [[[1, 2, 3]]]).bytes(), DataFile([NAME], [[["a", "b"]]]).bytes()
    fragments = [fragment(0, [data_file("a.lance", [0]), data_file("b.lance", [1])])]
    refused(simple(tmp_path / "t", files={"a.lance": a, "b.lance": b}, fragments=fragments), "has 2 rows", "b.lance")


def test_deletions(tmp_path):
    def made(name, content, more=b""):
        files = {"a.lance": DataFile([ID, NAME], [[[1, 2, 3], ["a", "", "c"]]]).bytes()}
        kind = 1 if name.endswith("bin") else 0
        fragments = [fragment(0, [data_file("a.lance", [0, 1])], num(1, kind) + num(2, 1) + num(3, 5) + more)]
        return dataset(tmp_path / ("t%d" % len(list(tmp_path.iterdir()))),
                       {"1.manifest": manifest([ID, NAME], fragments, more=num(9, 1))}, files, {name: content})

    assert rows_of(made("0-1-5.bin", bitmap_deletions([1]))) == [SIMPLE[0], SIMPLE[2]]
    assert rows_of(made("0-1-5.bin", bitmap_deletions([0, 1, 2]))) == []
    refused(made("0-1-5.bin", bitmap_deletions([3])), "there are only 3", "0-1-5.bin")
    refused(made("0-1-5.bin", bitmap_deletions([1]), num(4, 2)), "the manifest says 2")
    refused(made("0-1-5.bin", b"nonsense"), "Roaring")
    refused(made("0-1-5.arrow", b"nonsense and more of it"), "ARROW1")
    refused(made("0-1-5.arrow", arrow_deletions([1, 1], False)), "twice")
    refused(made("0-1-5.arrow", arrow_deletions([7], True)), "row 7")
    refused(made("0-1-6.bin", bitmap_deletions([1])), "0-1-5.bin", status=4)


def test_damage_anywhere_is_an_error_or_other_values(tmp_path):
    """Every byte of a small dataset's files set to 0xff and 0: never a crash, never an endless loop."""
    ds = simple(tmp_path / "t")
    rng = random.Random(1)
    for path in (ds / "_versions" / "1.manifest", ds / "data" / "a.lance"):
        good = path.read_bytes()
        for at in rng.sample(range(len(good)), min(len(good), 60)):
            for value in (0, 255):
                path.write_bytes(good[:at] + bytes([value]) + good[at + 1:])
                p = run("slice", ds, "--to", "tagged")
                assert p.returncode in (0, 3, 4), (path, at, value, p.stderr)
            path.write_bytes(good[:at])
            assert run("slice", ds, "--to", "tagged").returncode in (3, 4)
        path.write_bytes(good)


# ---------------------------------------------------------------- statistics

def test_statistics(tmp_path):
    """Null counts and bounds as Python works them out, over fragments, deletions and the fields of structs."""
    rng = random.Random(3)
    inner = [Field(6, "n", "int32"), Field(7, "t", "string", nullable=True)]
    fields = [Field(0, "i", "int64"), Field(1, "u", "uint64"), Field(2, "f", "double"), Field(3, "s", "string", nullable=True),
              Field(4, "b", "bool"), Field(5, "st", "struct", children=inner), Field(8, "late", "int16")]
    files, fragments, live = {}, [], []
    for k in range(3):
        rows = [[rng.randint(-(1 << 62), 1 << 62), rng.randint(0, (1 << 64) - 1), rng.uniform(-9, 9),
                 rng.choice(["", "a", "zz", "é"]), rng.random() < 0.5, {"n": rng.randint(-5, 5), "t": rng.choice(["", "q"])},
                 rng.randint(-99, 99)] for _ in range(50)]
        here = fields if k else fields[:-1]
        files["%d.lance" % k] = DataFile(here, [[[r[i] for r in rows] for i in range(len(here))]]).bytes()
        deletion = num(1, 1) + num(2, 1) + num(3, 9) if k == 1 else b""
        gone = {0, 7, 49} if k == 1 else set()
        fragments.append(fragment(k, [data_file("%d.lance" % k, flat(here))], deletion))
        live += [r if k else r[:-1] + [None] for j, r in enumerate(rows) if j not in gone]
    ds = dataset(tmp_path / "lake" / "t", {"1.manifest": manifest(fields, fragments, more=num(9, 1))}, files,
                 {"1-1-9.bin": bitmap_deletions([0, 7, 49])})
    assert run("map", tmp_path / "lake").returncode == 0
    for options in ((), ("--no-map",)):
        p = run("stats", ds, "--json", *options)
        assert p.returncode == 0, p.stderr
        told = {c["name"]: c for c in json.loads(p.stdout)["columns"]}
        for at, name in ((0, "i"), (1, "u"), (2, "f"), (3, "s"), (6, "late")):
            values = [None if name == "s" and r[at] == "" else r[at] for r in live]
            there = [v for v in values if v is not None]
            low, high = (min(there, key=str.encode), max(there, key=str.encode)) if name == "s" else (min(there), max(there))
            kind = {"f": float, "s": str}.get(name, int)
            assert told[name]["nulls"] == len(values) - len(there), name
            assert (kind(told[name]["min"]), kind(told[name]["max"])) == (low, high), name
