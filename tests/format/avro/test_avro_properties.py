"""Laws of Avro files, on random schemas and rows that fastavro writes: mapped = unmapped = what was written, for any codec, size of
blocks, range, projection, number of threads and order of scattered rows; and what damage is told as.

Run by pytest; LAKEBED names the command. LAKEBED_PROPERTY_ROUNDS: how many random files (each follows from its number).
"""
import base64
import decimal
import io
import json
import os
import random
import shutil
import struct
import subprocess
import uuid

import fastavro
import pytest

LAKEBED = os.environ["LAKEBED"]
ROUNDS = int(os.environ.get("LAKEBED_PROPERTY_ROUNDS", "24"))
CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
WORDS = ["", "x", "two words", "\n\"\\", "café", "日本語 😀", "long " * 30]


def run(*arguments, status=0):
    done = subprocess.run([LAKEBED, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


# ---------------------------------------------------------------- kinds of values: (schema, make), make gives (datum, tagged)

def tagged_int(v):
    return v if abs(v) < 2**53 else {"$int": str(v)}


def tagged_float(v):
    if v != v or v in (float("inf"), float("-inf")):
        return {"$float": "NaN" if v != v else "Infinity" if v > 0 else "-Infinity"}
    return v


def binary(v):
    return {"$bin": base64.b64encode(v).decode()}


def some_int(r, bits):
    return r.choice([0, 1, -1, 63, -64, 64, -65, r.randint(-100, 100), 2**(bits - 1) - 1, -2**(bits - 1),
                     r.randint(-2**(bits - 1), 2**(bits - 1) - 1)])


def some_double(r):
    return r.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 5e-324, r.uniform(-1e9, 1e9)])


def same(make):
    def both(r):
        v = make(r)
        return v, v
    return both


def number(make, tagged):
    def both(r):
        v = make(r)
        return v, tagged(v)
    return both


def some_bytes(r, size=None):
    return r.randbytes(r.choice([0, 1, 5, 40]) if size is None else size)


class Kinds:
    """Makes schemas; names are used once each, or again by reference."""

    def __init__(self, r):
        self.r, self.made, self.named = r, 0, []

    def name(self):
        self.made += 1
        return "T%d" % self.made

    def some(self, deep):
        r = self.r
        return r.choice([self.plain, self.plain, self.logical] + ([self.nested] if deep else []))(deep)

    def plain(self, _):
        r = self.r
        size, symbols = r.choice([1, 3, 16]), ["S%d" % i for i in range(r.choice([1, 3, 200]))]
        return r.choice([
            lambda: ("null", same(lambda r: None)),
            lambda: ("boolean", same(lambda r: r.random() < 0.5)),
            lambda: ("int", same(lambda r: some_int(r, 32))),
            lambda: ("long", number(lambda r: some_int(r, 64), tagged_int)),
            lambda: ("float", number(lambda r: struct.unpack("<f", struct.pack("<f", r.choice([0.0, -0.0, 0.1, 3e38])))[0],
                                     tagged_float)),
            lambda: ("double", number(some_double, tagged_float)),
            lambda: ("bytes", number(some_bytes, binary)),
            lambda: ("string", same(lambda r: r.choice(WORDS))),
            lambda: ({"type": "fixed", "name": self.name(), "size": size}, number(lambda r: some_bytes(r, size), binary)),
            lambda: ({"type": "enum", "name": self.name(), "symbols": symbols}, same(lambda r: r.choice(symbols))),
        ])()

    def logical(self, _):
        r = self.r

        def of(kind, logical, bits):
            return {"type": kind, "logicalType": logical}, number(lambda r: some_int(r, bits), tagged_int)

        def dec(r, precision, scale, big):
            digits = r.randint(0, 10**min(precision, big) - 1)
            sign = r.randint(0, 1) if digits else 0
            v = decimal.Decimal((sign, tuple(map(int, str(digits))), -scale))
            return v, format(v, "f")

        def some_uuid(r):
            v = uuid.UUID(bytes=r.randbytes(16))
            return v, str(v)

        def some_duration(r):
            months, days, ms = r.choice([0, 5, 2**31 - 1]), r.choice([0, 31, 2**31 - 1]), r.choice([0, 1, 2**32 - 1])
            return struct.pack("<III", months, days, ms), [months, days, tagged_int(ms * 10**6)]

        precision = r.choice([1, 9, 18, 38, 39, 70])
        scale = r.randint(0, precision)
        return r.choice([
            lambda: of("int", "date", 32), lambda: of("int", "time-millis", 32), lambda: of("long", "time-micros", 64),
            lambda: of("long", "timestamp-millis", 64), lambda: of("long", "timestamp-micros", 64),
            lambda: of("long", "timestamp-nanos", 64), lambda: of("long", "local-timestamp-millis", 64),
            lambda: of("long", "local-timestamp-micros", 64), lambda: of("string", "date", 64)[:1] +
            (same(lambda r: r.choice(WORDS)),),
            lambda: ({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale},
                     lambda r: dec(r, precision, scale, 70)),
            lambda: ({"type": "fixed", "name": self.name(), "size": 9, "logicalType": "decimal", "precision": 20,
                      "scale": 3}, lambda r: dec(r, 20, 3, 20)),
            lambda: ({"type": "string", "logicalType": "uuid"}, some_uuid),
            lambda: ({"type": "fixed", "name": self.name(), "size": 12, "logicalType": "duration"}, some_duration),
        ])()

    def nested(self, deep):
        r = self.r
        return r.choice([self.array, self.map, self.record, self.nullable, self.union, self.again])(deep)

    def array(self, deep):
        schema, make = self.some(deep - 1)

        def both(r):
            items = [make(r) for _ in range(r.choice([0, 1, 2, 5]))]
            return [a for a, _ in items], [b for _, b in items]
        return {"type": "array", "items": schema}, both

    def map(self, deep):
        schema, make = self.some(deep - 1)

        def both(r):
            items = [(key, make(r)) for key in r.sample(WORDS, r.choice([0, 1, 3]))]
            return {k: v[0] for k, v in items}, [[k, v[1]] for k, v in items]
        return {"type": "map", "values": schema}, both

    def record(self, deep):
        fields = [("f%d" % i, self.some(deep - 1)) for i in range(self.r.randrange(4))]
        name = self.name()

        def both(r):
            made = [(key, make(r)) for key, (_, make) in fields]
            return {k: v[0] for k, v in made}, {k: v[1] for k, v in made}
        self.named.append((name, both))
        return {"type": self.r.choice(["record", "record", "error"]), "name": name, "namespace": "",
                "fields": [{"name": k, "type": s} for k, (s, _) in fields]}, both

    def again(self, deep):
        return self.r.choice(self.named) if self.named else self.record(deep)

    def nullable(self, deep):
        schema, make = self.some(deep - 1)
        if schema == "null" or isinstance(schema, list):
            return schema, make
        order = self.r.choice([["null", schema], [schema, "null"]])
        return order, lambda r: (None, None) if r.random() < 0.3 else make(r)

    def union(self, deep):
        item, make = self.record(deep)
        branches = [("null", lambda r: (None, None)), ("string", same(lambda r: r.choice(WORDS))),
                    ("long", number(lambda r: some_int(r, 64), tagged_int)), (item, make),
                    ({"type": "array", "items": "int"}, same(lambda r: [1, 2]))]
        chosen = self.r.sample(branches, self.r.choice([1, 3, 5]))

        def both(r):
            i = r.randrange(len(chosen))
            datum, shown = chosen[i][1](r)
            if chosen[i][0] is item:
                datum = (item["name"], datum)
            return datum, shown if len(chosen) == 1 else {"$union": [i, shown]}
        return [schema for schema, _ in chosen], both


def make_file(r):
    """(bytes, names of columns, rows as tagged values)"""
    kinds = Kinds(r)
    if r.random() < 0.15:
        schema, make = kinds.some(2)
        names, columns = ["value"], [make]
        row = lambda values: values[0][0]
    else:
        fields = [("c%d" % i, kinds.some(3)) for i in range(r.choice([1, 3, 8]))]
        schema = {"type": "record", "name": "Rows", "namespace": r.choice(["", "a.b"]),
                  "fields": [{"name": k, "type": s, "doc": "d", "aliases": ["z"]} for k, (s, _) in fields]}
        names, columns = [k for k, _ in fields], [make for _, (_, make) in fields]
        row = lambda values: {k: v[0] for k, v in zip(names, values)}
    made = [[make(r) for make in columns] for _ in range(r.choice([0, 1, 30, 300]))]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [row(values) for values in made], codec=r.choice(CODECS),
                    sync_interval=r.choice([1, 300, 16000]), metadata={"k": "v" * r.choice([1, 20000])})
    return out.getvalue(), names, [[shown for _, shown in values] for values in made]


def plain(v):
    """Comparable: floats by their bits, but no two zeros or NaNs alike."""
    if isinstance(v, float):
        return "f" + struct.pack("<d", v).hex()
    if isinstance(v, list):
        return [plain(x) for x in v]
    return {k: plain(x) for k, x in v.items()} if isinstance(v, dict) else v


def read(*arguments):
    return [list(map(plain, json.loads(line).values())) for line in run(*arguments).splitlines()]


@pytest.mark.parametrize("number_of_file", range(ROUNDS))
def test_files(number_of_file, tmp_path):
    r = random.Random(number_of_file)
    data, names, rows = make_file(r)
    lake, alone = tmp_path / "lake", tmp_path / "alone.avro"
    lake.mkdir()
    alone.write_bytes(data)
    shutil.copy(alone, lake / "x.avro")
    want = [list(map(plain, row)) for row in rows]
    assert read("slice", alone, "--to", "tagged") == want
    run("map", lake, "--stats", r.choice(["all", "none", "block"]), "-j", r.choice([1, 2]))
    assert read("slice", lake / "x.avro", "--to", "tagged", "-j", r.choice([1, 2])) == want
    assert run("count", lake).strip() == str(len(rows))
    for _ in range(4):
        first, count = r.randrange(len(rows) + 2), r.choice([1, 7, 100])
        columns = r.sample(range(len(names)), r.randint(1, len(names)))
        part = [[want[i][c] for c in columns] for i in range(len(rows))][first:first + count]
        assert read("slice", r.choice([alone, lake]), "--offset", first, "--limit", count, "--to", "tagged", "--columns",
                    ",".join(names[c] for c in columns)) == part
    if rows:
        some = [r.randrange(len(rows)) for _ in range(r.choice([1, 9]))]
        assert read("take", r.choice([alone, lake]), *some, "--to", "tagged") == [want[i] for i in some]
    run("doctor", lake, "--verify")


# ---------------------------------------------------------------- damage

def rows_file(codec, n=400):
    schema = {"type": "record", "name": "R", "fields": [{"name": "i", "type": "long"}, {"name": "s", "type": "string"}]}
    out = io.BytesIO()
    fastavro.writer(out, schema, [{"i": i, "s": "row %d" % i} for i in range(n)], codec=codec, sync_interval=1000,
                    sync_marker=b"0123456789abcdef")
    return out.getvalue()


@pytest.mark.parametrize("codec", CODECS)
def test_every_damaged_marker_is_found(codec, tmp_path):
    data, path = rows_file(codec), tmp_path / "x.avro"
    at = data.index(b"0123456789abcdef") + 1
    while (at := data.find(b"0123456789abcdef", at)) >= 0:
        path.write_bytes(data[:at] + b"?" + data[at + 1:])
        assert "byte %d" % at in run("count", path, status=3)
        at += 1


@pytest.mark.parametrize("codec", CODECS)
def test_a_file_cut_anywhere_is_refused(codec, tmp_path):
    data, path = rows_file(codec, 60), tmp_path / "x.avro"
    whole = {data.index(b"0123456789abcdef") + 16}    # a file without a block is one
    at = 0
    while (at := data.find(b"0123456789abcdef", at)) >= 0:
        at += 16
        whole.add(at)
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        if size not in whole:
            run("slice", path, status=3)


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_damaged_payloads_never_pass_unseen_where_they_have_a_checksum(codec, tmp_path):
    data, path = rows_file(codec), tmp_path / "x.avro"
    want = run("slice", _write(path, data), "--to", "tagged")
    r = random.Random(1)
    begin = data.index(b"0123456789abcdef") + 30
    for _ in range(60):
        at = r.randrange(begin, len(data) - 16)
        damaged = bytearray(data)
        damaged[at] ^= 1 << r.randrange(8)
        path.write_bytes(damaged)
        done = subprocess.run([LAKEBED, "slice", path, "--to", "tagged"], capture_output=True, text=True)
        assert done.returncode == 3 or done.stdout == want or codec in ("deflate", "zstandard")
        assert done.returncode in (0, 3)


def _write(path, data):
    path.write_bytes(data)
    return path


def test_a_changed_file_is_not_read_through_its_old_map(tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "x.avro").write_bytes(rows_file("null"))
    run("map", lake)
    (lake / "x.avro").write_bytes(rows_file("null", 500))
    assert json.loads(run("slice", lake / "x.avro", "--offset", 499, "--to", "tagged")) == {"i": 499, "s": "row 499"}


# ---------------------------------------------------------------- by hand

def varint(v):
    v = v << 1 ^ v >> 63
    v &= 2**64 - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def text(v):
    v = v if isinstance(v, bytes) else v.encode()
    return varint(len(v)) + v


def by_hand(schema, *blocks, more=b"", codec=None, negative=False):
    """blocks: (rows, bytes). A schema that is text is the name of a type, or begins with `{`."""
    schema = schema if isinstance(schema, str) and schema.startswith("{") else json.dumps(schema)
    entries = text("avro.schema") + text(schema)
    count = 1
    if codec is not None:
        entries, count = entries + text("avro.codec") + text(codec), 2
    head = varint(-count) + varint(len(entries)) if negative else varint(count)
    sync = bytes(range(16))
    return b"Obj\x01" + head + entries + varint(0) + sync + b"".join(
        varint(rows) + varint(len(data)) + data + sync for rows, data in blocks) + more


HAND = [
    # arrays in runs whose bytes are told, so that they can be passed
    ({"type": "array", "items": "int"},
     [(1, varint(-2) + varint(2) + varint(1) + varint(2) + varint(1) + varint(3) + varint(0))], ['{"value":[1,2,3]}']),
    # blocks without rows between others
    ("int", [(0, b""), (1, varint(5)), (0, b""), (2, varint(6) + varint(7))], ['{"value":5}', '{"value":6}', '{"value":7}']),
    # rows of no bytes
    ("null", [(3, b"")], ['{"value":null}'] * 3),
    ({"type": "record", "name": "R", "fields": []}, [(2, b"")], ["{}"] * 2),
    # arrays of nulls take no bytes but their counts
    ({"type": "array", "items": "null"}, [(2, varint(3) + varint(-2) + varint(0) + varint(0) + varint(0))],
     ['{"value":[null,null,null,null,null]}', '{"value":[]}']),
    # a union of one type has its index all the same
    (["int"], [(1, varint(0) + varint(9))], ['{"value":9}']),
    # names: a dotted one has its own namespace, a nested one that of what is around it
    ({"type": "record", "name": "a.R", "fields": [
        {"name": "x", "type": {"type": "fixed", "name": "F", "size": 1}}, {"name": "y", "type": "a.F"},
        {"name": "z", "type": {"type": "record", "name": "b.S", "fields": [
            {"name": "x", "type": {"type": "fixed", "name": "F", "size": 2}}, {"name": "y", "type": "F"}]}},
        {"name": "w", "type": "F"}]},
     [(1, b"1222334")], ['{"x":{"$bin":"MQ=="},"y":{"$bin":"Mg=="},"z":{"x":{"$bin":"MjI="},'
                                       '"y":{"$bin":"MzM="}},"w":{"$bin":"NA=="}}']),
    # a fixed of no bytes, and an enum in an object of its own
    ({"type": "fixed", "name": "F", "size": 0}, [(1, b"")], ['{"value":{"$bin":""}}']),
    ({"type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, [(1, varint(1))], ['{"value":"B"}']),
    # logical types that do not go with their type, or that nobody knows, are passed over
    ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, [(1, text("a"))], ['{"value":{"$bin":"YQ=="}}']),
    ({"type": "int", "logicalType": "timestamp-millis"}, [(1, varint(1))], ['{"value":1}']),
    ({"type": "string", "logicalType": "weather"}, [(1, text("a"))], ['{"value":"a"}']),
    # a decimal with more bytes of the sign than it needs, and one of none
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
     [(3, text(b"\xff" * 40 + b"\x9c") + text(b"") + text(b"\x00" * 40 + b"\x7f"))],
     ['{"value":"-1.00"}', '{"value":"0.00"}', '{"value":"1.27"}']),
    # defaults of any size are nobody's concern here
    ('{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":123456789012345678901234567890}]}',
     [(1, varint(1))], ['{"a":1}']),
    ("string", [(1, text(b"\xff"))], ['{"value":{"$bin":"/w=="}}']),
]


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("place", range(len(HAND)))
def test_bytes_by_hand(place, negative, tmp_path):
    schema, blocks, want = HAND[place]
    path = _write(tmp_path / "x.avro", by_hand(schema, *blocks, negative=negative))
    assert run("slice", path, "--to", "tagged").splitlines() == want
    assert run("count", path).strip() == str(len(want))


REFUSED = [
    (by_hand({"type": "record", "name": "R", "fields": [{"name": "x", "type": ["null", "R"]}]}), "'R' contains itself"),
    (by_hand({"type": "record", "name": "n.R", "fields": [{"name": "x", "type": {"type": "array", "items": "n.R"}}]}),
     "'n.R' contains itself"),
    (by_hand("in"), "nothing declares the type 'in'"),
    (by_hand("{"), "no JSON"),
    (by_hand({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}, {"name": "x", "type": "int"}]}),
     "two fields have the name 'x'"),
    (by_hand("int", (1, varint(1)), codec="lz77"), "'lz77'"),
    (by_hand("int", (2**40, b"")), "claims 1099511627776 rows"),
    (by_hand("null", (2**40, b"")), "claims 1099511627776 rows"),
    (by_hand("int", (1, varint(1) + b"x")), "follow the last row"),
    (by_hand("int", (1, varint(2**31))), "more than 32 bits"),
    (by_hand("long", (1, b"\xff" * 10)), "more than 64 bits"),
    (by_hand("boolean", (1, b"\x02")), "neither 0 nor 1"),
    (by_hand(["null", "int"], (1, varint(2))), "a branch that the union does not have"),
    (by_hand(["null", "int", "long"], (1, varint(-1))), "a branch that the union does not have"),
    (by_hand({"type": "enum", "name": "E", "symbols": ["A"]}, (1, varint(1))), "symbol that there is not"),
    (by_hand("string", (1, varint(-1))), "a length that is negative"),
    (by_hand({"type": "array", "items": "null"}, (1, varint(2**40) + varint(0))), "without a byte"),
    (by_hand({"type": "array", "items": "int"}, (1, varint(2**40) + varint(0))), "more items than the block can hold"),
    (by_hand({"type": "array", "items": "null"}, (1, varint(-1) + varint(1) + varint(0) + varint(0))), "as many bytes as is told"),
    (by_hand({"type": "array", "items": "int"}, (1, varint(-1) + varint(2) + varint(1) + varint(0) + varint(0))),
     "as many bytes as is told"),
    (by_hand({"type": "string", "logicalType": "uuid"}, (1, text("x"))), "no UUID"),
    (by_hand({"type": "bytes", "logicalType": "decimal", "precision": 4}, (1, text(b"\x01" * 17))), "more digits"),
    (by_hand("int", more=varint(1) + varint(-1)), "-1 bytes"),
    (b"Obj\x02" + by_hand("int")[4:], "version"),
    (b"Obj\x01\x00" + bytes(16), "no schema"),
    (by_hand('{"type":"array","items":' * 300 + '"int"' + "}" * 300), "levels"),
    (by_hand({"type": "record", "name": "A0", "fields": [{"name": "x", "type": "int"}] + [
        {"name": "f%d" % i, "type": {"type": "record", "name": "A%d" % (i + 1), "fields": [
            {"name": "x%d" % k, "type": "A%d" % i if i else "int"} for k in range(60)]}} for i in range(4)]}), "parts"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_refused(place, tmp_path):
    data, words = REFUSED[place]
    assert words in run("slice", _write(tmp_path / "x.avro", data), status=3)


def test_very_many_columns(tmp_path):
    path = tmp_path / "x.avro"
    fields = [{"name": f"f{i}", "type": "int"} for i in range(60_000)]
    with open(path, "wb") as out:
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [{f"f{i}": i for i in range(60_000)}])
    done = subprocess.run([LAKEBED, "slice", path, "--to", "csv"], capture_output=True, timeout=60)
    row = done.stdout.split(b"\n")[-2].strip().split(b",")
    assert row == [b"%d" % i for i in range(60_000)], (done.returncode, done.stderr[-300:])
