"""Laws of mapped delimited files, on random files: mapped = unmapped = what Python's csv module reads, for any dialect,
encoding, stride, thread count, range and projection; and the types are those that a second reading of the rules gives.

Run by pytest; LAKEBED names the command. LAKEBED_PROPERTY_ROUNDS: how many random lakes (each follows from its number).
"""
import csv
import datetime
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
from decimal import Decimal

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
ROUNDS = int(os.environ.get("LAKEBED_PROPERTY_ROUNDS", "24"))

csv.field_size_limit(sys.maxsize)


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, timeout=120)
    assert p.returncode == status, "%s\n%s" % (args, p.stderr.decode(errors="replace"))
    return p.stdout


def rows_of(*args):
    """Rows as lists of values, in the order of the columns."""
    return [list(json.loads(line).values()) for line in run("slice", "--to", "tagged", *args).splitlines()]


# ---------------------------------------------------------------- random files

WORDS = ["", "x", "two words", " lead", "trail ", "a\nb", "a\r\nb", "\n", "say \"hi\"", "it's", "5\" pipe", "a,b",
         "a;b", "a|b", "a\tb", "\"", "''", "\\", "#1", "0012", "NA", "=1+1", "\x00", "\x0b\x0c", "long " * 30]
LATIN = ["café", "Ünï", "ß", "\u00a0"]
WIDE = ["€uro", "日本語", "😀", "e\u0301", "\u2028", "\ufeff"]
ENCODINGS = {"utf-8": ("UTF-8", LATIN + WIDE), "utf-8-sig": ("UTF-8", LATIN + WIDE), "latin-1": ("ISO-8859-1", LATIN),
             "cp1252": ("WINDOWS-1252", LATIN + ["€uro"]), "utf-16": ("UTF-16", LATIN + WIDE),
             "utf-16-le": ("UTF-16LE", LATIN + WIDE[:5]), "utf-16-be": ("UTF-16BE", LATIN + WIDE[:5])}
DELIMITERS = {"csv": ",", "tsv": "\t", "psv": "|", "txt": ";"}


def some_ints(r):
    return [str(r.choice([0, 1, -1, r.randint(-50, 50), r.randint(-2**63, 2**63 - 1)])) for _ in range(8)]


def some_floats(r):
    return [r.choice(["%.3f" % r.uniform(-9, 9), repr(r.uniform(-1, 1) * 10.0 ** r.randint(-300, 300)), "-0", ".5",
                      "5.", "1e5", "NaN", "-inf", "Infinity", str(r.randint(-2**53, 2**53)), "0.1"]) for _ in range(8)]


def some_dates(r):
    return [(datetime.date(1, 1, 1) + datetime.timedelta(r.randrange(3652059))).isoformat() for _ in range(8)]


def some_instants(r):
    zone = r.choice(["", "", "Z", "+01", "-0530", "+05:45"])
    out = []
    for _ in range(8):
        t = datetime.datetime(1700 + r.randrange(500), r.randint(1, 12), r.randint(1, 28), r.randrange(24),
                              r.randrange(60), r.randrange(60), r.randrange(10**6))
        out.append(t.isoformat(r.choice("T "), r.choice(["minutes", "seconds", "milliseconds", "microseconds"])) + zone)
    if r.random() < 0.3:
        out[0] = "2020-01-01T00:00:00.123456789" + zone
    return out + (some_dates(r)[:2] if not zone and r.random() < 0.5 else [])


def some_times(r):
    return ["%02d:%02d:%02d%s" % (r.randrange(24), r.randrange(60), r.randrange(60), r.choice(["", ".5", ".123456"]))
            for _ in range(8)]


def some_column(r, words):
    kind = r.randrange(9)
    if kind == 0:
        return some_ints(r)
    if kind == 1:
        return some_floats(r)
    if kind == 2:
        return some_dates(r)
    if kind == 3:
        return some_instants(r)
    if kind == 4:
        return some_times(r)
    if kind == 5:
        return ["true", "false", "True", "FALSE"]
    if kind == 6:
        return [str(r.randint(2**63, 2**64 - 1)), "0", str(r.choice([1, -1]))]
    return r.sample(words, min(8, len(words)))


class File:
    """A random delimited file, and what Python's csv module reads in it."""

    def __init__(self, r, folder, number):
        self.codec = r.choice(list(ENCODINGS))
        self.encoding, more = ENCODINGS[self.codec]
        self.extension = r.choice(list(DELIMITERS))
        self.delimiter = r.choice([DELIMITERS[self.extension], ",", ";", "|", "\t", ":"])
        self.quote = r.choice(['"', '"', '"', "'", None])
        self.escape = r.choice([None, None, None, "\\"])
        self.header = r.random() < 0.8
        self.ragged = r.random() < 0.3
        self.garbage = r.random() < 0.15
        self.path = folder / ("f%d.%s" % (number, self.extension))
        words = WORDS + more
        if self.garbage:
            self.ragged = True
            text = self.some_garbage(r)
        else:
            text = self.some_table(r, words)
        self.path.write_bytes(text.encode(self.codec))
        self.read(text)

    def some_garbage(self, r):
        signs = [self.delimiter, "\n", "\r", "\r\n", "a", "b ", " ", "é"] + [self.quote] * (3 if self.quote else 0)
        return "".join(r.choice(signs) for _ in range(r.randrange(300)))

    def some_table(self, r, words):
        width = r.randint(1, 5)
        columns = [some_column(r, words) for _ in range(width)]
        nulls = [r.choice([0, 0.2]) for _ in range(width)]
        style, breaks = r.random(), r.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r", "\n\n"]])
        records = []
        if self.header:
            records.append(["c%d" % r.randrange(width + 2) if r.random() < 0.3 else "c%d" % i for i in range(width)])
        for _ in range(r.choice([0, 1, 7, 60, 400])):
            n = r.randint(1, width + 1) if self.ragged and r.random() < 0.2 else width
            records.append(["" if r.random() < nulls[i % width] else r.choice(columns[i % width]) for i in range(n)])
        lines = [self.delimiter.join(self.field(r, v, style, len(record)) for v in record) for record in records]
        text = "".join(line + r.choice(breaks) for line in lines)
        return text if r.random() < 0.7 else text.rstrip("\r\n")

    def field(self, r, value, style, width):
        if self.quote is None:
            value = re.sub("[\r\n\\\\" + re.escape(self.delimiter) + "]", "_", value)
            return value or ("_" if width == 1 else "")
        needed = any(c in value for c in "\r\n" + self.delimiter + (self.escape or "")) or value.startswith(self.quote)
        if not (needed or (width == 1 and not value) or r.random() < style):
            return value
        if self.escape:
            value = value.replace(self.escape, self.escape * 2)
        double = self.escape if self.escape and r.random() < 0.5 else self.quote
        tail = r.choice(["x", " "]) if r.random() < 0.02 else ""
        return self.quote + value.replace(self.quote, double + self.quote) + self.quote + tail

    def read(self, text):
        records = self.records(text)
        header = records.pop(0) if self.header and records else []
        self.rows = records
        self.width = max([len(header)] + [len(row) for row in records])
        self.names = name_columns(header, self.width)

    def records(self, text):
        how = dict(quotechar=self.quote) if self.quote else dict(quoting=csv.QUOTE_NONE)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, escapechar=self.escape, **how)
        return [record for record in reader if record]

    def decode(self, data):
        """A piece of the file, which has no byte-order mark."""
        return data.decode({"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(self.codec, self.codec))

    def padded(self):
        return [row + [None] * (self.width - len(row)) for row in self.rows]

    def options(self):
        """As a map or a read is told how the file is to be read: names and values, all of them structural."""
        out = [("quote", self.quote or "none"), ("escape", self.escape or "none"), ("encoding", self.encoding),
               ("header", "true" if self.header else "false"), ("delimiter", self.delimiter.replace("\t", "\\t"))]
        return out + ([("ragged", "null")] if self.ragged else [])

    def as_set(self):
        values = ",".join("%s=%s" % (k, v.replace("\\", "\\\\").replace(",", "\\,")) for k, v in self.options())
        return "%s:%s" % (self.path.name, values)

    def as_flags(self):
        return [x for k, v in self.options() for x in ("--" + k, v)]


def name_columns(header, width):
    names, given = [], set(h for h in header if h)
    for i in range(width):
        name = header[i] if i < len(header) else ""
        base, k = (name + "_", 2) if name else ("column_", i + 1)
        if not name or name in names:
            while base + str(k) in given or base + str(k) in names:
                k += 1
            name = base + str(k)
        names.append(name)
    return names


# ---------------------------------------------------------------- laws of one file

def some_range(r, rows):
    return r.randint(0, rows + 2), r.choice([0, 1, 3, rows, r.randint(0, rows + 1)])


def some_columns(r, names):
    return [r.choice(names) for _ in range(r.randint(1, len(names) + 1))]


def column_flags(names):
    return [x for name in names for x in ("--columns", name.replace("\\", "\\\\").replace(",", "\\,"))]


def project(rows, names, wanted):
    places = [names.index(name) for name in wanted]
    return [[row[i] for i in places] for row in rows]


def distinct(wanted):
    return len(set(wanted)) == len(wanted)


def check_file(r, f):
    rows, n = f.padded(), len(f.rows)
    plain = ["--no-map", *f.as_flags()]
    assert rows_of(f.path, "--all-text") == rows
    assert rows_of(f.path, "--all-text", *plain, "-j", "1") == rows
    assert int(run("count", f.path)) == n
    schema = json.loads(run("schema", f.path, "--json"))
    assert schema == json.loads(run("schema", f.path, "--json", *plain))
    assert [c["name"] for c in schema["columns"]] == f.names
    typed = rows_of(f.path)
    assert typed == rows_of(f.path, *plain)
    for _ in range(2):
        offset, limit = some_range(r, n)
        part = ["--offset", str(offset), "--limit", str(limit)]
        assert rows_of(f.path, "--all-text", *part) == rows[offset:offset + limit]
        assert rows_of(f.path, *part, "-j", "1") == typed[offset:offset + limit] == rows_of(f.path, *part, *plain)
        if f.names:
            wanted = some_columns(r, f.names)
            got = run("slice", f.path, "--to", "canonical", *part, *column_flags(wanted))
            assert got == run("slice", f.path, "--to", "canonical", *part, *plain, *column_flags(wanted))
            if distinct(wanted):
                want = project(typed, f.names, wanted)[offset:offset + limit]
                assert rows_of(f.path, *part, *column_flags(wanted)) == want
    check_value_options(r, f, plain)


def check_value_options(r, f, plain):
    """What values mean is asked anew of a mapped file: the same as of one without a map."""
    options = r.sample(["--decimal", "--null=NA", "--null=x", "--types=text", "--types=proven"], r.randint(1, 3))
    if f.names and r.random() < 0.7 and "\0" not in f.names[0]:
        options.append("--column=%s=string" % f.names[0].replace("=", "\\="))
    assert run("schema", f.path, "--json", *options) == run("schema", f.path, "--json", *options, *plain)
    part = ["--to", "canonical", "--offset", str(r.randint(0, len(f.rows))), "--limit", "9"]
    assert run("slice", f.path, *part, *options) == run("slice", f.path, *part, *options, *plain)


def check_raw(r, f):
    """A slice of the records' own bytes holds the records."""
    offset, limit = some_range(r, len(f.rows))
    raw = run("slice", f.path, "--to", "raw", "--offset", str(offset), "--limit", str(limit))
    assert f.records(f.decode(raw)) == f.rows[offset:offset + limit]


# ---------------------------------------------------------------- types, read from the rules

DATE = r"(\d{4})-(\d\d)-(\d\d)"
CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
STAMP = DATE + r"[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?"


def nanos(digits):
    return int((digits or "0").ljust(9, "0"))


def as_date(v):
    m = re.fullmatch(DATE, v, re.ASCII)
    try:
        return ("date", datetime.date(*map(int, m.groups())).toordinal() - 719163) if m else None
    except ValueError:
        return None


def as_time(v):
    m = re.fullmatch(CLOCK, v, re.ASCII)
    if not m or int(m[1]) > 23 or int(m[2]) > 59 or int(m[3]) > 59:
        return None
    return "time", (int(m[1]) * 3600 + int(m[2]) * 60 + int(m[3])) * 10**9 + nanos(m[4]), len(m[4] or "") > 6


def as_stamp(v):
    m = re.fullmatch(STAMP, v, re.ASCII)
    try:
        t = datetime.datetime(*map(int, m.group(1, 2, 3, 4, 5)), int(m[6] or 0)) if m else None
    except ValueError:
        return None
    if t is None:
        return None
    seconds = (t - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    if m[8] and m[8] not in "Zz":
        digits = m[8][1:].replace(":", "").ljust(4, "0")
        if int(digits[:2]) > 23 or int(digits[2:]) > 59:
            return None
        seconds -= (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if m[8][0] == "-" else 1)
    return "utc" if m[8] else "stamp", seconds * 10**9 + nanos(m[7]), len(m[7] or "") > 6


def as_number(v):
    if re.fullmatch(r"-?(0|[1-9]\d*)", v, re.ASCII) and v != "-0":
        return "int", int(v)
    if re.fullmatch(r"-?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", v, re.ASCII):
        return ("float", float(v)) if abs(float(v)) < float("inf") else None
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", v, re.ASCII | re.IGNORECASE):
        return "float", float(v)
    return None


def kind_of(v):
    if v.lower() in ("true", "false"):
        return "bool", v.lower() == "true"
    return as_number(v) or as_date(v) or as_time(v) or as_stamp(v) or ("text", v)


def join(values):
    """The type of a column and its values as `tagged` prints them; values are not null and not quoted."""
    read = [kind_of(v.strip(" \t")) for v in values]
    kinds = {x[0] for x in read}
    if not kinds:
        return "null", []
    if kinds == {"bool"}:
        return "bool", [x[1] for x in read]
    if kinds == {"date"}:
        return "date", [x[1] for x in read]
    if kinds == {"int"} or kinds == {"int", "float"} or kinds == {"float"}:
        ints = [x[1] for x in read if x[0] == "int"]
        if "float" in kinds and all(abs(i) <= 2**53 for i in ints):
            return "float64", [tagged_float(float(x[1])) for x in read]
        if "float" not in kinds and -2**63 <= min(ints) and max(ints) < 2**63:
            return "int64", [tagged_int(i) for i in ints]
        if "float" not in kinds and 0 <= min(ints) and max(ints) < 2**64:
            return "uint64", [tagged_int(i) for i in ints]
    if kinds in ({"time"}, {"utc"}, {"stamp"}, {"stamp", "date"}):
        counts = [x[1] * 86400 * 10**9 if x[0] == "date" else x[1] for x in read]
        fine = any(x[2] for x in read if x[0] != "date")
        if not fine or all(-2**63 <= c < 2**63 for c in counts):
            word = "time[%s]" if kinds == {"time"} else "timestamp[%s,UTC]" if kinds == {"utc"} else "timestamp[%s]"
            return word % ("ns" if fine else "us"), [tagged_int(c if fine else c // 1000) for c in counts]
    return "string", list(values)


def tagged_int(i):
    return i if abs(i) < 2**53 else {"$int": str(i)}


def tagged_float(f):
    if f != f:
        return {"$float": "NaN"}
    return {"$float": "Infinity" if f > 0 else "-Infinity"} if f in (float("inf"), float("-inf")) else f


def same(a, b):
    return a == b and str(a) == str(b)    # -0.0 is not 0.0, and 1 is not 1.0 or true


@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 4)))
def test_types_by_the_rules(tmp_path, seed):
    """Unquoted values of all kinds in columns that mix them: the type and each value."""
    r = random.Random("types %d" % seed)
    path = tmp_path / "t.csv"
    columns = []
    for _ in range(40):
        pool = some_column(r, ["x", "1x", "00", "+1", "1_0", " 7 ", "\t1.5", "Na", "1e", ".", "--1", "2020-13-01",
                               "24:00:00"])
        if r.random() < 0.3:
            pool += some_column(r, ["y", " ", "-"])
        pool = [re.sub('[",\r\n]', "_", v) for v in pool]
        columns.append(["" if r.random() < 0.1 else r.choice(pool) for _ in range(12)])
    names = ["c%d" % i for i in range(len(columns))]
    path.write_text("\n".join(map(",".join, [names, *zip(*columns)])) + "\n", newline="")
    run("map", tmp_path, "--stride", "5", "-q")
    schema = json.loads(run("schema", path, "--json"))["columns"]
    rows = rows_of(path)
    assert rows == rows_of(path, "--no-map")
    for i, column in enumerate(columns):
        want, values = join([v for v in column if v])
        assert schema[i]["type"] == want, column
        values = iter(values)
        for row, v in zip(rows, column):
            assert same(row[i], next(values) if v else None), (column, v)


@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 8)))
def test_decimals_by_the_rules(tmp_path, seed):
    r = random.Random("decimals %d" % seed)
    columns = []
    for _ in range(20):
        whole, fraction = r.choice([1, 3, 18, 30]), r.choice([1, 2, 9, 30])
        columns.append([r.choice(["", "%d" % r.randint(-99, 99), "%s%d.%s" % (
            r.choice(["", "-"]), r.randrange(10**r.randint(1, whole)),
            "".join(r.choice("0123456789") for _ in range(r.randint(1, fraction))))]) for _ in range(9)])
    path = tmp_path / "d.csv"
    names = ["c%d" % i for i in range(len(columns))]
    path.write_text("\n".join(map(",".join, [names, *zip(*columns)])) + "\n", newline="")
    schema = json.loads(run("schema", path, "--decimal", "--json"))["columns"]
    rows = rows_of(path, "--decimal")
    for i, column in enumerate(columns):
        points = [v for v in column if "." in v]
        if not points:
            continue
        scale = max(len(v.split(".")[1]) for v in points)
        whole = max(len(v.lstrip("-").split(".")[0].lstrip("0")) for v in column if v)
        whole = max([whole] + [1 for v in column if v in ("0", "-0")])
        assert schema[i]["type"] == "decimal(%d,%d)" % (max(1, whole + scale), scale), column
        for row, v in zip(rows, column):
            assert (row[i] is None) == (v == "")
            if v:
                assert Decimal(row[i]) == Decimal(v) and len(row[i].split(".")[1]) == scale


# ---------------------------------------------------------------- lakes

@pytest.mark.parametrize("seed", range(ROUNDS))
def test_mapped_is_unmapped_is_python(tmp_path, seed):
    r = random.Random("lake %d" % seed)
    files = [File(r, tmp_path, i) for i in range(r.randint(1, 3))]
    sets = [x for f in files for x in ("--set", f.as_set())]
    stride = r.choice([1, 2, 3, 7, 50, 65536])
    run("map", tmp_path, "-q", "--stride", str(stride), "-j", str(r.choice([1, 2])),
        "--stats", r.choice(["all", "none", "block"]), *sets)
    for f in files:
        check_file(r, f)
        check_raw(r, f)
    check_lake(r, tmp_path, files)
    check_places(r, tmp_path, files, stride)


def unite(files):
    """All rows under the columns of all files, in order of first appearance."""
    files = sorted(files, key=lambda f: f.path.name)
    names = list(dict.fromkeys(name for f in files for name in f.names))
    rows = []
    for f in files:
        for row in f.padded():
            value = dict(zip(f.names, row))
            rows.append([value.get(name) for name in names])
    return names, rows


def check_lake(r, folder, files):
    names, rows = unite(files)
    assert int(run("count", folder)) == len(rows)
    assert rows_of(folder, "--all-text") == rows
    for threads in ("1", "2"):
        offset, limit = some_range(r, len(rows))
        part = ["--offset", str(offset), "--limit", str(limit), "--all-text", "-j", threads]
        assert rows_of(folder, *part) == rows[offset:offset + limit]
        if names:
            wanted = r.sample(names, r.randint(1, len(names)))
            assert rows_of(folder, *part, *column_flags(wanted)) == project(rows, names, wanted)[offset:offset + limit]


def check_places(r, folder, files, stride):
    """Where a row lies: its file, its place in a block, and in the block's bytes the row itself."""
    files = sorted(files, key=lambda f: f.path.name)
    total = sum(len(f.rows) for f in files)
    if total == 0:
        return
    wanted = sorted({r.randrange(total) for _ in range(3)})
    for place in json.loads(run("locate", folder, *map(str, wanted), "--json"))["rows"]:
        row, f = place["row"], None
        for f in files:
            if row < len(f.rows):
                break
            row -= len(f.rows)
        assert (place["path"], place["file_row"]) == (f.path.name, row)
        assert (place["block"], place["row_in_block"]) == (row // stride, row % stride)
        data = f.path.read_bytes()[place["block_first_byte"]:][:place["block_bytes"]]
        assert f.records(f.decode(data)) == f.rows[place["block_first_row"]:][:place["block_rows"]]
