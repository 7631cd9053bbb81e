"""Laws of JSON files, on random ones: mapped = unmapped = what Python's json module reads, for any layout, white space,
escapes, order of keys, stride, thread count, range and projection; and the types are those that a second reading of the
rules gives.

Run by pytest; LAKEBED names the command. LAKEBED_PROPERTY_ROUNDS: how many random lakes (each follows from its number).
"""
import json
import os
import random
import struct
import subprocess

import pytest

from json_model import LAKEBED, Float, Object, Table, read, run

ROUNDS = int(os.environ.get("LAKEBED_PROPERTY_ROUNDS", "24"))


# ---------------------------------------------------------------- random values

WORDS = ["", "x", "two words", "\n", "\t\"\\/", "}{][,:", "\\\"", "\u0000", "\u001f", "\u007f", "café", "日本語",
         "😀 \U0010ffff", "e\u0301", "\u2028", "\ufeff", "long " * 30, "\\u0041", "true", "1.5", "a" * 63, "b" * 64]
KEYS = ["a", "b", "id", "naïve", "with space", "q\"uote", "", "日", "x.y", "K", "k", "a" * 70]


def some_int(r):
    return r.choice([0, 1, -1, 7, r.randint(-50, 50), r.randint(-2**53, 2**53), r.randint(-2**63, 2**63 - 1)])


def small_int(r):
    return r.randint(-2**r.randint(1, 53), 2**r.randint(1, 53))


def some_float(r):
    return Float(r.choice([0.0, -0.0, 0.5, 1e5, 1e300, 5e-324, round(r.uniform(-9, 9), 3),
                           r.uniform(-1, 1) * 10.0 ** r.randint(-300, 300)]))


def some_word(r):
    return r.choice(WORDS) + r.choice(["", "", r.choice(WORDS)])


def some_kind(r, deep):
    """A function that makes values of one column."""
    kind = r.randrange(14 if deep else 8)
    if kind == 0:
        return some_int
    if kind == 1:
        return some_float
    if kind in (2, 3):
        return some_word
    if kind == 4:
        return lambda r: r.random() < 0.5
    if kind == 5:
        return r.choice([lambda r: r.randint(0, 2**64 - 1), lambda r: r.choice([5, -5, 2**64, 10**30])])
    if kind == 6:
        return lambda r: r.choice([small_int, some_float])(r)
    if kind == 7:
        return lambda r: None
    if kind in (8, 9):
        members = [(key, some_kind(r, deep - 1)) for key in r.sample(KEYS, r.randrange(4))]
        return lambda r: some_object(r, members)
    if kind in (10, 11):
        item = some_kind(r, deep - 1)
        return lambda r: [item(r) if r.random() < 0.9 else None for _ in range(r.choice([0, 1, 3]))]
    if kind == 12:
        several = [some_kind(r, deep - 1) for _ in range(2)]
        return lambda r: r.choice(several)(r)
    return lambda r: []


def some_object(r, members):
    chosen = [m for m in members if r.random() < 0.9]
    if r.random() < 0.2:
        r.shuffle(chosen)
    if chosen and r.random() < 0.05:
        chosen.append(r.choice(chosen))    # an equal key: the last one counts
    return Object((key, None if r.random() < 0.1 else make(r)) for key, make in chosen)


# ---------------------------------------------------------------- written at random

class Writer:
    def __init__(self, r):
        self.r = r
        self.blanks = r.choice([0, 0, 0.1, 0.6])
        self.escapes = r.choice([0, 0.05, 0.9])
        self.indent = r.choice([None, None, None, 2])

    def gap(self):
        r = self.r
        return "".join(r.choice([" ", "\n", "\t", "\r", "\r\n", " " * 40]) for _ in range(r.randint(1, 3))) \
            if r.random() < self.blanks else ""

    def string(self, text):
        out = []
        for c in text:
            if c in "\"\\" or c < " " or self.r.random() < self.escapes:
                short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
                         "\t": "\\t"}.get(c)
                units = struct.unpack("<%dH" % (len(c.encode("utf-16-le")) // 2), c.encode("utf-16-le"))
                form = self.r.choice(["\\u%04x", "\\u%04X"])
                out.append(short if short and self.r.random() < 0.7 else "".join(form % u for u in units))
            else:
                out.append(c)
        return '"%s"' % "".join(out)

    def number(self, v):
        if not isinstance(v, float):
            return str(v)
        forms = [repr(float(v)), "%.17e" % v, "%.17E" % v]
        if v == 0 and str(v)[0] == "-":
            forms.append("-0")
        return self.r.choice(forms)

    def nested(self, open_, parts, close, level):
        if not parts:
            return open_ + self.gap() + close
        if self.indent:
            between = "\n" + " " * (self.indent * (level + 1))
            return open_ + between + ("," + between).join(parts) + "\n" + " " * (self.indent * level) + close
        return open_ + ",".join(self.gap() + p + self.gap() for p in parts) + close

    def value(self, v, level=0):
        if v is None or v is True or v is False:
            return {None: "null", True: "true", False: "false"}[v]
        if isinstance(v, str):
            return self.string(v)
        if isinstance(v, Object):
            colon = self.gap() + ":" + self.gap()
            return self.nested("{", [self.string(k) + colon + self.value(x, level + 1) for k, x in v], "}", level)
        if isinstance(v, list):
            return self.nested("[", [self.value(x, level + 1) for x in v], "]", level)
        return self.number(v)

    def lines(self, rows):
        ends = self.r.choice([["\n"], ["\r\n"], ["\r"], [" "], ["\n", "\n\n", " \n", "\t"], ["\n", ""]])
        out = []
        for row in rows:
            end = self.r.choice(ends)
            out += [self.value(row), end or (" " if type(row) not in (Object, list, str) else "")]
        if out and self.r.random() < 0.3:
            out.pop()    # the last line has no end
        return "".join(out)

    def array(self, rows):
        return self.gap() + self.nested("[", [self.value(row, 1) for row in rows], "]", 0) + self.r.choice(["", "\n"])


class File:
    """A random JSON file, and its rows."""

    def __init__(self, r, folder, number):
        writer = Writer(r)
        make = some_kind(r, 3)
        members = [(key, some_kind(r, 3)) for key in r.sample(KEYS, r.randrange(1, 7))]
        objects = r.random() < 0.85
        self.rows = [some_object(r, members) if objects else make(r) for _ in range(r.choice([0, 1, 2, 30, 200]))]
        array = r.random() < 0.4
        # `[` as the first byte of these two makes an array whose elements are the rows
        lines = ["ndjson"] if self.rows and type(self.rows[0]) is list else ["ndjson", "jsonl", "json"]
        self.path = folder / ("f%d.%s" % (number, r.choice(["json", "jsonl"] if array else lines)))
        text = writer.array(self.rows) if array else writer.lines(self.rows)
        self.path.write_bytes((b"\xef\xbb\xbf" if r.random() < 0.1 else b"") + text.encode())
        # What Python reads is what was meant, so nothing here rests on the writer.
        if array:
            assert read(text) == self.rows


# ---------------------------------------------------------------- the laws

def check_file(r, file, *options):
    table = Table(file.rows)
    table.check_schema(file.path, *options)
    table.check_rows(0, len(table.rows), table.columns, run("slice", file.path, "--to", "tagged", *options))
    for _ in range(3):
        first, count = r.randrange(len(table.rows) + 2), r.randrange(len(table.rows) + 2)
        names = [name for name, _ in table.columns if "," not in name and "." not in name and name]
        columns = r.sample(names, r.randint(1, len(names))) if names and r.random() < 0.5 else None
        chosen = [(n, t) for n, t in table.columns if n in columns] if columns else table.columns
        chosen = sorted(chosen, key=lambda c: columns.index(c[0])) if columns else chosen
        select = ["--columns", ",".join(columns)] if columns else []
        where = ["--offset", str(first), "--limit", str(count)]
        out = run("slice", file.path, *where, "--to", "tagged", *select, *options)
        table.check_rows(first, count, chosen, out)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_random_lakes(number, tmp_path):
    r = random.Random(number)
    files = [File(r, tmp_path, i) for i in range(6)]
    for file in files:
        check_file(r, file)
    for stride in r.sample([1, 3, 7, 64, 1000, 65536], 2):
        run("map", tmp_path, "-q", "--stride", str(stride), "-j", str(r.choice([1, 2, 7])))
        for file in files:
            check_file(r, file, "-j", str(r.choice([1, 2, 7])))


def test_many_keys_are_a_map(tmp_path):
    path = tmp_path / "m.ndjson"
    rows = [Object([("o", Object(("k%d" % (2 * i + j), i) for j in range(2)))]) for i in range(501)]
    path.write_text("".join(Writer(random.Random(1)).value(row) + "\n" for row in rows))
    schema = json.loads(run("schema", path, "--json"))
    assert [(c["name"], c["type"]) for c in schema["columns"]] == [("o", {"map": ["string", "int64"]})]
    last = json.loads(run("slice", path, "--offset", "500", "--to", "tagged"))
    assert last == {"o": [["k1000", 500], ["k1001", 500]]}


# ---------------------------------------------------------------- torn ends

TORN = '{"a":1,"b":"é\\u00e9😀"}\r\n{"a":-2.5e3,"b":null,"c":[true,{"d":[]}]} \n{"b":"\\"}"}\n'
ROWS = [read(line) for line in TORN.splitlines()]


def whole_rows(text):
    """How many rows are whole in a text of lines or of an array that is cut, and what follows them."""
    n = at = 0
    for row in (line.strip().encode() for line in TORN.splitlines()):
        if row not in text[at:]:
            break
        n, at = n + 1, text.index(row, at) + len(row)
    return n, text[at:].strip()


@pytest.mark.parametrize("layout", ["ndjson", "json"])
def test_every_cut(layout, tmp_path):
    text = TORN.encode()
    if layout == "json":
        text = b" [" + b" ,\n".join(line.strip().encode() for line in TORN.splitlines()) + b"] \n"
    path = tmp_path / ("cut." + layout)
    for cut in range(len(text) + 1):
        path.write_bytes(text[:cut])
        n, rest = whole_rows(text[:cut])
        open_ = text[:cut].strip() and rest != b"]" if layout == "json" else rest
        p = subprocess.run([LAKEBED, "slice", path, "--to", "tagged"], capture_output=True, timeout=60, check=False)
        assert p.returncode == (3 if open_ else 0), (cut, p.stderr)
        Table(ROWS[:n]).check_rows(0, n, Table(ROWS[:n]).columns, p.stdout)
        if open_:
            assert b"row %d, line " % n in p.stderr, (cut, p.stderr)
