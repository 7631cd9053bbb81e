"""Every version of every dataset of the conformance data: columns by value and hash, row counts, refusals; and the same
through a map. The form of the expected files is told in the data's README.

Run by pytest; LAKEBED names the command, LAKEBED_CONFORMANCE the data. Skipped where there is none.
"""
import base64
import decimal
import hashlib
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
DATA = pathlib.Path(os.environ.get("LAKEBED_CONFORMANCE", SOURCE.parent / "shared" / "conformance")) / "lance"
NAMES = sorted(p.stem for p in DATA.glob("expected/*.json"))
pytestmark = pytest.mark.skipif(not NAMES, reason="there is no conformance data")

PLAIN = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
         "halffloat": "e", "float": "f", "double": "d", "date32:day": "i", "date64:ms": "q", "time32:s": "i",
         "time32:ms": "i", "time64:us": "q", "time64:ns": "q"}
NULL = b"\xff\xff\xff\xff"


def run(*args):
    return subprocess.run([LAKEBED, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=300)


def must(*args):
    p = run(*args)
    assert p.returncode == 0, "%s\n%s" % (args, p.stderr.decode(errors="replace"))
    return p.stdout.decode()


def rows_of(path, *more):
    return [json.loads(line) for line in must("slice", path, "--to", "tagged", *more).splitlines()]


# ---------------------------------------------------------------- from tagged values to the bytes that are hashed

def number(v):
    if isinstance(v, dict):
        return int(v["$int"]) if "$int" in v else float(v["$float"])
    return v


def raw(v):
    return base64.b64decode(v["$bin"]) if isinstance(v, dict) else v.encode()


def variable(v):
    return NULL if v is None else struct.pack("<I", len(raw(v))) + raw(v)


def fixed(v, kind):
    if kind in PLAIN:
        v = number(v)
        return struct.pack("<" + PLAIN[kind], v)
    if kind == "bool":
        return bytes([v])
    if kind.startswith(("timestamp:", "duration:")):
        return struct.pack("<q", number(v))
    if kind.startswith("decimal:"):
        bits, _, scale = map(int, kind.split(":")[1:])
        with decimal.localcontext(decimal.Context(prec=100)):
            return int(decimal.Decimal(v).scaleb(scale)).to_bytes(bits // 8, "little", signed=True)
    if kind.startswith("fixed_size_binary:") or kind == "lance.bfloat16":
        return raw(v)
    if kind.startswith("fixed_size_list:"):
        item = kind[len("fixed_size_list:"):].rsplit(":", 1)[0]
        return b"".join(fixed(x, item) for x in v)
    raise AssertionError(kind)


def encode(v, field, missing):
    kind = field["logical_type"]
    if v is None and missing:
        return NULL
    if kind == "null":
        return b""
    if kind.startswith("dict:"):
        kind = kind.split(":")[1]
    if kind in ("string", "binary", "large_string", "large_binary"):
        return variable(v)
    if kind == "struct":
        return b"".join(encode(v[c["name"]], c, False) for c in field["children"])
    if kind.startswith(("list", "large_list")):
        return struct.pack("<I", len(v)) + b"".join(encode(x, field["children"][0], False) for x in v)
    return fixed(v, kind)


def tree(fields):
    by_id = {f["id"]: dict(f, children=[]) for f in fields}
    for f in by_id.values():
        if f["parent_id"] != -1:
            by_id[f["parent_id"]]["children"].append(f)
    return [f for f in by_id.values() if f["parent_id"] == -1]


def is_missing(version, field):
    return not all(any(field["id"] in f["fields"] for f in fragment["files"]) for fragment in version["fragments"])


# ---------------------------------------------------------------- from tagged values to those of the expected files

def plain(v, field):
    kind = field["logical_type"]
    if kind.startswith("dict:"):
        kind = kind.split(":")[1]
    if v is None:
        return None
    if kind == "struct":
        return {c["name"]: plain(v[c["name"]], c) for c in field["children"]}
    if kind.startswith(("list", "large_list")):
        return [plain(x, field["children"][0]) for x in v]
    if kind.startswith("fixed_size_list:"):
        item = dict(field, logical_type=kind[len("fixed_size_list:"):].rsplit(":", 1)[0], children=[])
        return [plain(x, item) for x in v]
    if kind.startswith("decimal:"):
        with decimal.localcontext(decimal.Context(prec=100)):
            return int(decimal.Decimal(v).scaleb(int(kind.split(":")[3])))
    if kind in ("string", "large_string"):
        return v
    if isinstance(v, dict) and "$bin" in v:
        return "hex:" + raw(v).hex()
    return number(v)


def same(want, got):
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, dict):
        return set(want) == set(got) and all(same(want[k], got[k]) for k in want)
    if isinstance(got, float) and isinstance(want, str):
        want = float(want)
        return (math.isnan(want) and math.isnan(got)) or (want == got and math.copysign(1, want) == math.copysign(1, got))
    if isinstance(got, int) and isinstance(want, str):
        return int(want) == got
    return want == got


def check_version(path, version):
    rows = rows_of(path)
    schema = json.loads(must("schema", path, "--json"))
    assert schema["rows"] == len(rows) == version["num_rows"]
    fields = tree(version["fields"])
    assert [c["name"] for c in schema["columns"]] == [f["name"] for f in fields]
    for f in fields:
        name, want = f["name"], version["columns"].get(f["name"])
        if want is None:
            assert not rows
            continue
        missing = is_missing(version, f)
        told = hashlib.sha256(b"".join(encode(r[name], f, missing) for r in rows)).hexdigest()
        values = [plain(r[name], f) for r in rows]
        for part, got in (("values", values), ("first", values), ("last", values)):
            if part in want:
                n = len(want[part])
                got = got[len(got) - n:] if part == "last" else got[:n]
                assert same(want[part], got), "%s: %s" % (name, part)
        assert told == want["sha256"], name
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_versions(name):
    expected = json.loads((DATA / "expected" / (name + ".json")).read_text())
    for number_, version in expected["versions"].items():
        path = "%s@%s" % (DATA / name, number_)
        if "expected_error" not in version:
            check_version(path, version)
            continue
        p = run("slice", path, "--to", "tagged")
        said = p.stderr.decode()
        # A version without data files has nothing that could be of another format, whatever its manifest says.
        if not version["fragments"]:
            assert p.returncode in (0, 3)
            continue
        assert p.returncode in (3, 4) and p.stdout == b"" and said
        if version["expected_error"].startswith("missing file: "):
            assert version["expected_error"].split(": ")[1] in said and p.returncode == 4
        else:
            assert "Lance file format 2." in said and p.returncode == 3
    newest = expected["versions"][str(expected["latest_version"])]
    if "expected_error" not in newest:
        check_version(DATA / name, newest)


@pytest.mark.parametrize("name", NAMES)
def test_mapped(name, tmp_path):
    expected = json.loads((DATA / "expected" / (name + ".json")).read_text())
    newest = expected["versions"][str(expected["latest_version"])]
    shutil.copytree(DATA / name, tmp_path / "lake" / name)
    (tmp_path / "lake" / "other.csv").write_text("")
    p = run("map", tmp_path / "lake", "--on-error", "abort", "--include", name)
    if "expected_error" in newest:
        assert p.returncode in (3, 4)
        return
    assert p.returncode == 0, p.stderr
    copy = tmp_path / "lake" / name
    rows = check_version(copy, newest)
    told = json.loads(must("slice", copy, "--explain", "--json", "--offset", "0", "--limit", "1"))
    assert told["map"] == "used" or not rows
    assert rows_of(tmp_path / "lake") == rows
    for at in sorted({0, 1, len(rows) // 3, len(rows) // 2, max(len(rows) - 1, 0)}):
        for n in (1, 7, 1500):
            assert rows_of(copy, "--offset", at, "--limit", n) == rows[at:at + n]
    must("doctor", tmp_path / "lake")
