"""What JSON files must become: read by Python's module, typed by a second reading of the rules (docs/formats/json.md),
and compared with what the command prints. For the tests beside this file.
"""
import json
import os
import pathlib
import re
import struct
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, timeout=120)
    assert p.returncode == status, "%s\n%s" % (args, p.stderr.decode(errors="replace"))
    return p.stdout


class Float(float):
    """Told apart by its bits: 0.0 is not -0.0, and 1.0 is no integer."""

    def __eq__(self, other):
        return isinstance(other, Float) and struct.pack("<d", self) == struct.pack("<d", other)

    __hash__ = float.__hash__


class Object(list):
    """The members of an object as they stand in the text, equal keys with them."""


def read(text):
    """By Python's module, with all that is said of the classes above."""
    return json.loads(text, parse_float=Float, parse_int=lambda s: Float(s) if s == "-0" else int(s),
                      object_pairs_hook=Object)


# ---------------------------------------------------------------- the rules, read a second time

class Seen:
    """What a column has seen: types.md, section 2."""

    def __init__(self):
        self.kinds, self.ints, self.members, self.items = set(), [0, 0], {}, None

    def see(self, v):
        if v is None:
            return
        kind = {bool: "bool", str: "string", Float: "float", int: "int", Object: "object", list: "array"}[type(v)]
        self.kinds.add(kind)
        if kind == "int":
            self.ints = [min(self.ints[0], v), max(self.ints[1], v)]
        elif kind == "object":
            for key, x in dict(v).items():
                self.members.setdefault(key, Seen()).see(x)
        elif kind == "array":
            self.items = self.items or Seen()
            for x in v:
                self.items.see(x)

    def number_type(self):
        low, high = self.ints
        if "float" in self.kinds:
            return "float64" if max(-low, high) <= 2**53 else "string"
        if -2**63 <= low and high < 2**63:
            return "int64"
        return "uint64" if low == 0 and high < 2**64 else "string"

    def type(self):
        if not self.kinds:
            return "null"
        if self.kinds <= {"int", "float"}:
            return self.number_type()
        if len(self.kinds) > 1:
            return "string"
        kind = next(iter(self.kinds))
        if kind == "object":
            return {"struct": [(key, seen.type()) for key, seen in self.members.items()]}
        return {"list": self.items.type()} if kind == "array" else kind


def tagged(v):
    """A value of a column of mixed values, as its text."""
    if isinstance(v, bool) or v is None:
        return json.dumps(v)
    if isinstance(v, Object):
        return {"{": {key: tagged(x) for key, x in dict(v).items()}}
    return [tagged(x) for x in v] if isinstance(v, list) else v


def untagged(text):
    """Such a text, read again."""
    def member(pairs):
        if len(pairs) == 1 and pairs[0][0] == "$int":
            return int(pairs[0][1])
        return {"{": dict(pairs)}
    def plain(v):
        if v is None or v is True or v is False:
            return json.dumps(v)
        return [plain(x) for x in v] if isinstance(v, list) else \
            {"{": {k: plain(x) for k, x in v["{"].items()}} if isinstance(v, dict) else v
    return plain(json.loads(text, parse_float=Float, object_pairs_hook=member))


def minified(text):
    return re.search(r'\s', re.sub(r'"(\\.|[^"\\])*"', '""', text)) is None


def same(type_, want, got):
    """Is this the value that was written, in the shape of its column?"""
    if want is None or type_ == "null":
        return got is None and want is None
    if type_ == "float64":
        return got == Float(want)
    if type_ in ("int64", "uint64", "bool"):
        if isinstance(got, Object) and [k for k, _ in got] == ["$int"] and abs(want) > 2**53 - 1:
            got = int(got[0][1])
        return type(got) is type(want) and got == want
    if type_ == "string":
        if isinstance(want, str):
            return got == want
        return isinstance(got, str) and minified(got) and untagged(got) == tagged(want)
    if "list" in type_:
        return isinstance(got, list) and not isinstance(got, Object) and len(got) == len(want) and \
            all(same(type_["list"], w, g) for w, g in zip(want, got))
    members = dict(want)
    return isinstance(got, Object) and [k for k, _ in got] == [k for k, _ in type_["struct"]] and \
        all(same(t, members.get(k), g) for (k, t), (_, g) in zip(type_["struct"], got))


def told_type(t):
    """A type word of `schema --json` in the form used here."""
    if isinstance(t, str):
        return t
    if "list" in t:
        return {"list": told_type(t["list"])}
    return {"struct": [(f["name"], told_type(f["type"])) for f in t["struct"]]}


def same_type(want, got):
    if want == "null":
        return got in ("null", "string")
    if isinstance(want, str) or isinstance(got, str):
        return want == got
    if "list" in want:
        return "list" in got and same_type(want["list"], got["list"])
    return "struct" in got and [k for k, _ in want["struct"]] == [k for k, _ in got["struct"]] and \
        all(same_type(w, g) for (_, w), (_, g) in zip(want["struct"], got["struct"]))


class Table:
    """The columns and rows that a file must have."""

    def __init__(self, rows):
        if not all(isinstance(row, Object) for row in rows):
            rows = [Object([("value", row)]) for row in rows]
        seen = Seen()
        for row in rows:
            seen.see(row)
        self.rows, self.columns = rows, seen.type()["struct"] if rows else []

    def check_schema(self, path, *options):
        schema = json.loads(run("schema", path, "--json", *options))
        assert schema["rows"] == len(self.rows)
        got = [(c["name"], told_type(c["type"])) for c in schema["columns"]]
        assert same_type({"struct": self.columns}, {"struct": got}), (self.columns, got)

    def check_rows(self, first, count, columns, out):
        lines = out.splitlines()
        wanted = self.rows[first:first + count]
        assert len(lines) == len(wanted)
        for i, (line, row) in enumerate(zip(lines, wanted)):
            assert same({"struct": columns}, row, read(line)), (first + i, columns, row, line)
