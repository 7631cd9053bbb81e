"""Laws of MessagePack files, on random ones: mapped = unmapped = what was written, for every encoding of a value, streams and arrays,
strides, threads, ranges, projections and scattered rows; types are those that a second reading of the rules (types.md section 3) gives.
The msgpack package is the control: it reads what the writer here writes, and writes what Lakebed reads.

Run by pytest; LAKEBED names the command. LAKEBED_PROPERTY_ROUNDS: how many random files (each follows from its number).
"""
import base64
import datetime
import io
import json
import os
import random
import shutil
import struct
import subprocess

import msgpack
import pytest

LAKEBED = os.environ["LAKEBED"]
ROUNDS = int(os.environ.get("LAKEBED_PROPERTY_ROUNDS", "40"))
WORDS = ["", "x", "two words", "\n\"\\", "café", "日本語 😀", "long " * 30, "b" * 31, "c" * 32, "d" * 300, "1.5", "null"]


class Object(list):
    """Pairs of a map, in order; keys may be equal."""


class Ext(tuple):
    """(type, bytes)"""


class Stamp(tuple):
    """(seconds, nanoseconds)"""


def run(*arguments, status=0, text=True):
    done = subprocess.run([LAKEBED, *map(str, arguments)], capture_output=True, text=text)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


# ---------------------------------------------------------------- written at random, every form that holds a value

def pack(v, r):
    if v is None or v is True or v is False:
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[v]
    if isinstance(v, int):
        forms = [form for low, high, form in [
            (0, 127, "B"), (-32, -1, "b"), (0, 2**8 - 1, "\xccB"), (0, 2**16 - 1, "\xcdH"), (0, 2**32 - 1, "\xceI"),
            (0, 2**64 - 1, "\xcfQ"), (-2**7, 2**7 - 1, "\xd0b"), (-2**15, 2**15 - 1, "\xd1h"),
            (-2**31, 2**31 - 1, "\xd2i"), (-2**63, 2**63 - 1, "\xd3q")] if low <= v <= high]
        form = r.choice(forms)
        return form[:-1].encode("latin-1") + struct.pack(">" + form[-1], v)
    if isinstance(v, float):
        narrow = v == v and abs(v) < 3e38 and struct.unpack(">f", struct.pack(">f", v))[0] == v
        return struct.pack(">Bf", 0xca, v) if narrow and r.random() < 0.5 else struct.pack(">Bd", 0xcb, v)
    if isinstance(v, str):
        return head(r, len(v.encode()), [(31, 0xa0, None), (2**8 - 1, 0xd9, "B"), (2**16 - 1, 0xda, "H"),
                                         (2**32 - 1, 0xdb, "I")]) + v.encode()
    if isinstance(v, bytes):
        return head(r, len(v), [(2**8 - 1, 0xc4, "B"), (2**16 - 1, 0xc5, "H"), (2**32 - 1, 0xc6, "I")]) + v
    if isinstance(v, Stamp):
        return pack_stamp(v, r)
    if isinstance(v, Ext):
        return pack_ext(v[0], v[1], r)
    if isinstance(v, Object):
        return head(r, len(v), [(15, 0x80, None), (2**16 - 1, 0xde, "H"), (2**32 - 1, 0xdf, "I")]) + b"".join(
            pack(k, r) + pack(x, r) for k, x in v)
    return head(r, len(v), [(15, 0x90, None), (2**16 - 1, 0xdc, "H"), (2**32 - 1, 0xdd, "I")]) + b"".join(
        pack(x, r) for x in v)


def head(r, n, forms):
    most, byte, form = r.choice([f for f in forms if n <= f[0]])
    return bytes([byte | n]) if form is None else bytes([byte]) + struct.pack(">" + form, n)


def pack_ext(kind, data, r):
    fixed = {1: 0xd4, 2: 0xd5, 4: 0xd6, 8: 0xd7, 16: 0xd8}
    if len(data) in fixed and r.random() < 0.7:
        return bytes([fixed[len(data)]]) + struct.pack("b", kind) + data
    return head(r, len(data), [(2**8 - 1, 0xc7, "B"), (2**16 - 1, 0xc8, "H"), (2**32 - 1, 0xc9, "I")]) + struct.pack(
        "b", kind) + data


def pack_stamp(v, r):
    seconds, nanos = v
    forms = [struct.pack(">Iq", nanos, seconds)]
    if 0 <= seconds < 2**34:
        forms.append(struct.pack(">Q", nanos << 34 | seconds))
    if 0 <= seconds < 2**32 and nanos == 0:
        forms.append(struct.pack(">I", seconds))
    return pack_ext(-1, r.choice(forms), r)


# ---------------------------------------------------------------- random values

def some_int(r):
    return r.choice([0, 1, -1, 127, 128, -32, -33, 255, 256, -128, -129, 65535, -2**31, 2**32, r.randint(-2**53, 2**53)])


def some_float(r):
    return r.choice([0.0, -0.0, 0.5, 1e300, 5e-324, float("nan"), float("inf"), float("-inf"), r.uniform(-9, 9)])


def some_stamp(r):
    return Stamp((r.choice([0, 1, -1, 1600000000, 2**32 - 1, 2**34 - 1, -2208988801]), r.choice([0, 1000, 999999000])))


def some_kind(r, deep):
    """A function that makes values of one column."""
    kind = r.randrange(18 if deep else 11)
    if kind < 2:
        return some_int
    if kind == 2:
        return some_float
    if kind in (3, 4):
        return lambda r: r.choice(WORDS)
    if kind == 5:
        return lambda r: r.random() < 0.5
    if kind == 6:
        return r.choice([lambda r: r.randint(0, 2**64 - 1), lambda r: r.choice([5, -5, 2**64 - 1])])
    if kind == 7:
        return lambda r: r.choice([b"", b"\xff", b"abc", bytes(300)])
    if kind == 8:
        return lambda r: Ext((r.choice([0, 1, -2, 127, -128]), r.randbytes(r.choice([0, 1, 4, 16, 17]))))
    if kind == 9:
        beyond = r.choice([[], [], [Stamp((2**34, 5000))], [Stamp((2**40, 1)), Stamp((-2**60, 7))]])
        return lambda r: r.choice([some_stamp(r), *beyond])
    if kind == 10:
        return lambda r: None
    if kind in (11, 12):
        members = [(key, some_kind(r, deep - 1)) for key in r.sample(["a", "b", "naïve", "d" * 40, 1, None, b"\xff", -5.5], r.randrange(4))]
        return lambda r: some_object(r, members)
    if kind in (13, 14):
        item = some_kind(r, deep - 1)
        return lambda r: [item(r) if r.random() < 0.9 else None for _ in range(r.choice([0, 1, 3, 20]))]
    if kind == 15:
        return lambda r: []
    several = [some_kind(r, deep - 1) for _ in range(2)]
    return lambda r: r.choice(several)(r)


def some_object(r, members):
    chosen = [m for m in members if r.random() < 0.9]
    if r.random() < 0.2:
        r.shuffle(chosen)
    if chosen and r.random() < 0.05:
        chosen.append(r.choice(chosen))    # an equal key: the last one counts
    return Object((key, None if r.random() < 0.1 else make(r)) for key, make in chosen)


# ---------------------------------------------------------------- the rules, read once more

def tagged(v):
    if isinstance(v, bool) or v is None or isinstance(v, str):
        return v
    if isinstance(v, int):
        return v if abs(v) < 2**53 else {"$int": str(v)}
    if isinstance(v, float):
        return v if v - v == 0 else {"$float": "NaN" if v != v else "Infinity" if v > 0 else "-Infinity"}
    if isinstance(v, bytes):
        return {"$bin": base64.b64encode(v).decode()}
    if isinstance(v, Stamp):
        return {"$ts": list(v)}
    if isinstance(v, Ext):
        return {"$ext": [v[0], base64.b64encode(v[1]).decode()]}
    if isinstance(v, Object):
        if all(isinstance(k, str) for k, _ in v):
            held = {}
            for k, x in v:    # of equal keys the last one, where it stands
                held.pop(k, None)
                held[k] = tagged(x)
            return held
        return {"$map": [[tagged(k), tagged(x)] for k, x in v]}
    return [tagged(x) for x in v]


def key_name(k):
    return k if isinstance(k, str) else json.dumps(tagged(k), separators=(",", ":"))


def family(v):
    if isinstance(v, bool):
        return "bool"
    if isinstance(v, (int, float)):
        return "number"
    return type(v).__name__


def members(v):
    return {key_name(k): x for k, x in v}


def stamp_fits(v, unit):
    return v[1] % (10**9 // unit) == 0 and -2**63 <= v[0] * unit + v[1] * unit // 10**9 < 2**63


def infer(values):
    values = [v for v in values if v is not None]
    families = {family(v) for v in values}
    if not values:
        return "null"
    if len(families) > 1:
        return "string"
    kind = families.pop()
    if kind == "number":
        ints = [v for v in values if isinstance(v, int)]
        if len(ints) < len(values):
            return "float64" if all(abs(v) <= 2**53 for v in ints) else "string"
        if max(ints) < 2**63:
            return "int64"
        return "uint64" if min(ints) >= 0 else "string"
    if kind == "Stamp":
        for unit, name in ((10**9, "ns"), (10**6, "us")):
            if all(stamp_fits(v, unit) for v in values):
                return "timestamp[%s,UTC]" % name
        return "string"
    if kind == "list":
        return ["list", infer([x for v in values for x in v])]
    if kind == "Object":
        names = {}
        for v in values:
            for k, x in members(v).items():
                names.setdefault(k, []).append(x)
        return {k: infer(xs) for k, xs in names.items()}
    return {"bool": "bool", "str": "string", "bytes": "binary", "Ext": "ext"}[kind]


class Text:
    """A text that reads as this JSON."""

    def __init__(self, v):
        self.v = v


def iso(v):
    if not -62135596800 <= v[0] < 253402300800:
        return None
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=v[0])
    n = "%09d" % v[1]
    while n.endswith("000"):
        n = n[:-3]
    return at.isoformat(timespec="seconds") + ("." + n if n else "") + "Z"


def show(v, t):
    if v is None:
        return None
    if isinstance(t, dict):
        held = members(v)
        return {k: show(held.get(k), x) for k, x in t.items()}
    if isinstance(t, list):
        return [show(x, t[1]) for x in v]
    if t == "ext":
        return {"type": v[0], "data": tagged(v[1])}
    if t == "float64":
        return tagged(float(v))
    if t.startswith("timestamp"):
        unit = 10**9 if "ns" in t else 10**6
        return tagged(v[0] * unit + v[1] * unit // 10**9)
    if t != "string" or isinstance(v, str):
        return tagged(v)
    if isinstance(v, Stamp):
        return iso(v)
    if isinstance(v, int) and not isinstance(v, bool):
        return str(v)
    if isinstance(v, float):
        return Text(v)
    return Text(tagged(v))


def equal(want, got):
    if isinstance(want, Text):
        if isinstance(want.v, float):
            return isinstance(got, str) and equal(want.v, float(got))
        return isinstance(got, str) and equal(want.v, json.loads(got))
    if isinstance(want, bool) or isinstance(got, bool):
        return want is got
    if isinstance(want, float):
        return isinstance(got, float) and struct.pack("d", want) == struct.pack("d", got) or want != want and got != got
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(equal, want, got))
    if isinstance(want, dict):
        return isinstance(got, dict) and list(want) == list(got) and all(equal(want[k], got[k]) for k in want)
    if want is None and isinstance(got, str) and "T" in got:    # a year that Python has no date for
        return True
    return want == got and type(want) is type(got)


class Table:
    def __init__(self, rows):
        objects = all(isinstance(v, Object) for v in rows)
        types = infer(rows)
        self.types = ({} if types == "null" else types) if objects else {"value": types}
        self.rows = [show(v, self.types) if objects else {"value": show(v, types)} for v in rows]

    def words(self):
        """Of each column its name, and its type if that is simple."""
        return [(k, None if not isinstance(t, str) else "string" if t == "null" else t) for k, t in self.types.items()]


# ---------------------------------------------------------------- files

def make_rows(r):
    if r.random() < 0.25:
        kinds = [some_kind(r, 3) for _ in range(r.choice([1, 1, 2]))]
        rows = [r.choice(kinds)(r) for _ in range(r.choice([1, 5, 60]))]
    else:
        columns = [("c%d" % i if i else r.choice(["c0", 0]), some_kind(r, 3)) for i in range(r.choice([1, 3, 8]))]
        rows = [some_object(r, columns) for _ in range(r.choice([1, 30, 300]))]
    if len(rows) == 1 and isinstance(rows[0], list) and not isinstance(rows[0], Object):
        rows.append(None)    # one array alone would be the rows
    return rows


def make_file(r):
    rows = make_rows(r)
    packed = [pack(v, r) for v in rows]
    array = r.random() < 0.4
    data = head(r, len(rows), [(15, 0x90, None), (2**16 - 1, 0xdc, "H"), (2**32 - 1, 0xdd, "I")]) if array else b""
    return rows, data + b"".join(packed)


def read(*arguments):
    return [json.loads(line) for line in run(*arguments).splitlines()]


@pytest.mark.parametrize("number", range(ROUNDS))
def test_files(number, tmp_path):
    r = random.Random(number)
    rows, data = make_file(r)
    table = Table(rows)
    lake, alone = tmp_path / "lake", tmp_path / "alone.msgpack"
    lake.mkdir()
    alone.write_bytes(data)
    shutil.copy(alone, lake / "x.msgpack")

    schema = json.loads(run("schema", alone, "--json"))
    assert schema["rows"] == len(rows)
    for (name, words), column in zip(table.words(), schema["columns"], strict=True):
        assert column["name"] == name and (words in (None, "ext") or column["type"] == words)

    def check(got, want):
        assert len(got) == len(want)
        for a, b in zip(want, got):
            assert equal(a, b), (a, b)

    check(read("slice", alone, "--to", "tagged"), table.rows)
    run("map", lake, "--stride", r.choice([1, 3, 64, 65536]), "--stats", r.choice(["all", "none", "block"]), "-j",
        r.choice([1, 2]))
    check(read("slice", lake / "x.msgpack", "--to", "tagged", "-j", r.choice([1, 2])), table.rows)
    for _ in range(3):
        first, count = r.randrange(len(rows) + 2), r.choice([1, 7, 100])
        where = [r.choice([alone, lake]), "--offset", first, "--limit", count]
        part = table.rows[first:first + count]
        names = r.sample(list(table.types), r.randint(1, len(table.types))) if table.types else []
        if names and not any("," in k or '"' in k for k in names):
            check(read("slice", *where, "--to", "tagged", "--columns", ",".join(names)),
                  [{k: row[k] for k in names} for row in part])
        raw = run("slice", *where, "--to", "raw", text=False)
        again = b"".join(pack(v, random.Random(0)) for v in rows[first:first + count])
        assert repr(unpack(raw)) == repr(unpack(again))
    some = [r.randrange(len(rows)) for _ in range(r.choice([1, 9]))]
    check(read("take", r.choice([alone, lake]), *some, "--to", "tagged"), [table.rows[i] for i in some])
    run("doctor", lake, "--verify")


LOOSE = {"strict_map_key": False, "timestamp": 0, "object_pairs_hook": lambda p: ("map", repr(p)),
         "ext_hook": lambda kind, data: ("ext", kind, data), "unicode_errors": "surrogateescape"}


def unpack(data):
    return list(msgpack.Unpacker(io.BytesIO(data), **LOOSE))


@pytest.mark.parametrize("number", range(20))
def test_the_writer_here_is_right(number):
    """What it writes, msgpack reads as the same."""
    r = random.Random(500 + number)
    for v in make_rows(r):
        forms = [pack(v, r) for _ in range(3)]
        values = [unpack(form) for form in forms]
        assert all(repr(x) == repr(values[0]) for x in values) and len(values[0]) == 1


@pytest.mark.parametrize("number", range(10))
def test_what_msgpack_writes(number, tmp_path):
    r = random.Random(900 + number)
    rows = [{"i": some_int(r), "s": r.choice(WORDS), "b": r.randbytes(3), "f": r.choice([0.5, 1e300]), "l": [1, None, 3],
             "m": {"x": None, "y": [True]}, "e": msgpack.ExtType(5, b"ab"),
             "t": msgpack.Timestamp(r.choice([0, 5, 2**33]), r.choice([0, 1]))} for _ in range(50)]
    path = tmp_path / "x.msgpack"
    path.write_bytes(b"".join(msgpack.packb(row) for row in rows))
    want = [dict(row, b=tagged(row["b"]), e={"type": 5, "data": tagged(b"ab")},
                 t=tagged(row["t"].seconds * 10**9 + row["t"].nanoseconds)) for row in rows]
    got = read("slice", path, "--to", "tagged")
    assert all(equal(a, b) for a, b in zip(want, got, strict=True))


# ---------------------------------------------------------------- by hand

HAND = [
    (b"", []),
    (b"\x90", []),
    (b"\xc0", ['{"value":null}']),
    (b"\x91\x91\x01", ['{"value":[1]}']),
    # two arrays are rows themselves, also where the first could be all
    (b"\x91\x01\x91\x02", ['{"value":[1]}', '{"value":[2]}']),
    (b"\x80\x80", ["{}", "{}"]),
    (b"\x81\xa1a\x01\xc0", ['{"value":{"a":1}}', '{"value":null}']),
    # text and text that is none
    (b"\xa1a\xa1\xff", ['{"value":"a"}', '{"value":"{\\"$bin\\":\\"/w==\\"}"}']),
    (b"\xa1\xff", ['{"value":{"$bin":"/w=="}}']),
    # keys that are no text; of equal ones the last, also where the first is of another type
    (b"\x82\x01\x02\xa1a\x03", ['{"1":2,"a":3}']),
    (b"\x82\xa1a\xa1x\xa1a\x01", ['{"a":1}']),
    (b"\x81\xa1a\x82\xa1b\x90\xa1b\x02", ['{"a":{"b":2}}']),
    # an extension of type -1 that is no instant is one as others
    (b"\xd5\xff\x00\x00", ['{"value":{"type":-1,"data":{"$bin":"AAA="}}}']),
    (b"\xd7\xff" + b"\xff" * 8, ['{"value":{"type":-1,"data":{"$bin":"//////////8="}}}']),
    (b"\xc7\x0c\xff\x00\x00\x00\x01" + (-1).to_bytes(8, "big", signed=True), ['{"value":-999999999}']),
    # beyond nanoseconds; beyond microseconds
    (b"\xc7\x0c\xff\x00\x00\x00\x00" + (2**40).to_bytes(8, "big"), ['{"value":{"$int":"1099511627776000000"}}']),
    (b"\xc7\x0c\xff\x00\x00\x00\x01" + (253402300799).to_bytes(8, "big"), ['{"value":"9999-12-31T23:59:59.000000001Z"}']),
]


@pytest.mark.parametrize("place", range(len(HAND)))
def test_bytes_by_hand(place, tmp_path):
    data, want = HAND[place]
    path = tmp_path / "x.msgpack"
    path.write_bytes(data)
    assert run("slice", path, "--to", "tagged").splitlines() == want


def test_a_byte_that_is_never_used(tmp_path):
    path = tmp_path / "x.msgpack"
    path.write_bytes(b"\x01\x02\x92\x01\xc1")
    message = run("slice", path, status=3)
    assert "0xc1" in message and "byte 4" in message and "row 2" in message


@pytest.mark.parametrize("array", [False, True])
def test_a_file_cut_anywhere_gives_its_whole_rows(array, tmp_path):
    rows = [{"i": i, "s": "x" * (i % 40)} for i in range(30)]
    packed = [msgpack.packb(row) for row in rows]
    data = (b"\xdc\x00\x1e" if array else b"") + b"".join(packed)
    ends = [len(data) - sum(map(len, packed[i:])) for i in range(31)]
    path = tmp_path / "x.msgpack"
    for size in range(ends[0] + 1, len(data), 11):
        path.write_bytes(data[:size])
        whole = max(i for i, end in enumerate(ends) if end <= size)
        done = subprocess.run([LAKEBED, "slice", path, "--to", "tagged"], capture_output=True, text=True)
        assert [json.loads(line) for line in done.stdout.splitlines()] == rows[:whole]
        assert done.returncode == (0 if size == ends[whole] and not array else 3)


def test_a_file_that_grows_is_read_on(tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    path = lake / "x.msgpack"
    rows = [{"i": i, "s": None if i < 9000 else "late"} for i in range(20000)]
    path.write_bytes(b"".join(msgpack.packb(row) for row in rows[:9000]))
    run("map", lake, "--stride", 1000)
    with open(path, "ab") as more:
        more.write(b"".join(msgpack.packb(row) for row in rows[9000:]))
    run("doctor", lake, "--heal")
    assert read("slice", path, "--to", "tagged", "--offset", 8999, "--limit", 2) == rows[8999:9001]
    assert json.loads(run("slice", path, "--explain", "--json", "--offset", 15000, "--limit", 1))["map"] == "used"
    healed = json.loads(run("stats", lake, "--json"))["columns"]
    run("map", lake, "--stride", 1000)
    assert healed == json.loads(run("stats", lake, "--json"))["columns"] and "late" in json.dumps(healed)


def test_nesting_costs_nothing_until_it_is_text(tmp_path):
    path = tmp_path / "x.msgpack"
    path.write_bytes((b"\x91" * 200000 + b"\x01") * 2)
    assert run("count", path).strip() == "2"
    assert "levels" in run("slice", path, status=3)
    path.write_bytes((b"\x91" * 100 + b"\x01") * 2)
    value = json.loads(run("slice", path, "--to", "tagged").splitlines()[1])["value"]
    depth = 0
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    while isinstance(value, str):
        value = json.loads(value)
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    assert (value, depth) == (1, 100)


def test_text_of_maps_within_maps(tmp_path):
    """Maps of text say which of equal keys counts, and which are lists of pairs, at every depth."""
    def nested(depth, value):
        for i in range(depth):
            value = {"k%d" % i: value, "x": [i, {}]}
        return value

    def equal_keys(depth):    # {"a": …, "b": 1, "a": the same again}, in which the first one does not count
        value = b"\x01"
        for i in range(depth):
            value = b"\x83\xa1a\x81\xa1a\x02\xa1b" + bytes([i]) + b"\xa1a" + value
        return value

    deep = nested(450, "bottom")
    pairs = b"\x92\x82\x01\x81\xa1a\x02\xa1b\x03\x81\xa1a\x81\x91\x01\xc0"
    path = tmp_path / "x.msgpack"
    path.write_bytes(b"\x07" + msgpack.packb(deep) + pairs + equal_keys(3))
    texts = [json.loads(line)["value"] for line in run("slice", path, "--to", "tagged").splitlines()]
    assert texts[0] == "7" and json.loads(texts[1]) == deep
    assert json.loads(texts[2]) == [{"$map": [[1, {"a": 2}], ["b", 3]]}, {"a": {"$map": [[[1], None]]}}]
    assert json.loads(texts[3]) == {"b": 2, "a": {"b": 1, "a": {"b": 0, "a": 1}}}


@pytest.mark.parametrize("mode, status", [("sample", 3), ("proven", 0)])
def test_types_of_a_sample(mode, status, tmp_path):
    """What a sample did not see is told, never dropped."""
    path = tmp_path / "x.msgpack"
    row, odd = msgpack.packb({"a": 1, "s": "x" * 100}), msgpack.packb({"a": 1, "s": "x", "new": 2})
    path.write_bytes(row * 200000 + odd + row)
    out = run("slice", path, "--types", mode, "--offset", 200000, "--to", "tagged", status=status)
    assert ("'new'" in out and "--types proven" in out) if status else json.loads(out.splitlines()[0])["new"] == 2


def test_declared_types(tmp_path):
    path = tmp_path / "x.msgpack"
    path.write_bytes(msgpack.packb({"d": "2020-01-02", "n": "12.50", "i": 5, "f": 1, "t": "12:30:00", "m": {"k": 1}}))
    declare = ["--column", "d=date", "--column", "n=decimal(6,2)", "--column", "i=int16", "--column", "f=float32", "--column",
               "t=time[us]", "--column", 'm={"map":["string","int32"]}']
    assert json.loads(run("slice", path, "--to", "tagged", *declare)) == {
        "d": 18263, "n": "12.50", "i": 5, "f": 1.0, "t": 45000000000, "m": [["k", 1]]}
    assert "does not read so" in run("slice", path, "--column", "d=int64", status=3)
    assert json.loads(run("slice", path, "--to", "tagged", "--all-text"))["m"] == '{"k":1}'


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_places_of_arrays(array, header, threads, tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    path = lake / "x.msgpack"
    rows = [[i, "s%d" % i, [i]][:3 - i % 2] + ([True] if i == 700 else []) for i in range(1000)]
    want = [dict(zip(["id", "a,b", "c", "column_4"], row + [None] * (4 - len(row)))) for row in rows]
    objects = ([["id", "a,b", "c"]] if header else []) + rows
    path.write_bytes(msgpack.packb(objects) if array else b"".join(map(msgpack.packb, objects)))
    option = ["--header-row"] if header else ["--names", "id,a\\,b,c"]
    assert read("slice", path, *option, "--to", "tagged") == want
    run("map", lake, "--stride", 64, "-j", threads, *option)
    for first in (0, 63, 64, 699, 990):
        assert read("slice", path, "--offset", first, "--limit", 20, "--to", "tagged") == want[first:first + 20]
    assert json.loads(run("slice", path, "--explain", "--json", "--limit", 1))["map"] == "used"
    assert read("take", path, 999, 0, 700, "--to", "tagged", "--columns", "column_4,id") == [
        {"column_4": want[i]["column_4"], "id": i} for i in (999, 0, 700)]
    run("doctor", lake, "--verify")
    assert run("slice", path, *option, "--offset", 5, "--limit", 2, "--to", "tagged").splitlines() == run(
        "slice", path, "--offset", 5, "--limit", 2, "--to", "tagged").splitlines()
    if not header:    # other names than those of the map; and an array of names that nobody asked for is a row
        assert read("slice", path, "--names", "x", "--limit", 1, "--to", "tagged") == [
            {"x": 0, "column_2": "s0", "column_3": [0], "column_4": None}]


def test_names_of_places_are_told_apart(tmp_path):
    path = tmp_path / "x.msgpack"
    path.write_bytes(msgpack.packb(["a", "a", None, "", 5]) + msgpack.packb([1, 2, 3, 4, 5]) + msgpack.packb({"a": 6, "z": 7}))
    assert read("slice", path, "--header-row", "--to", "ndjson") == [
        {"a": 1, "a_2": 2, "column_3": 3, "column_4": 4, "5": 5, "z": None},
        {"a": 6, "a_2": None, "column_3": None, "column_4": None, "5": None, "z": 7}]
    path.write_bytes(msgpack.packb({"a": 1}))
    assert "no array of names" in run("slice", path, "--header-row", status=3)


def test_files_without_a_telling_name_are_known(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(b"".join(msgpack.packb({"a": i, "b": "x" * 50}) for i in range(100)))
    assert run("count", path).strip() == "100"
    path.write_bytes(msgpack.packb([{"a": i} for i in range(100)]))
    assert run("count", path).strip() == "100"


def test_very_many_equal_names(tmp_path):
    """Numbers behind equal names go on where they were: this ends in seconds or, tried from 2 each time, in hours."""
    path = tmp_path / "x.msgpack"
    path.write_bytes(msgpack.packb(["a"] * 200_000) + msgpack.packb([0] * 200_000))
    names = [c["name"] for c in json.loads(run("schema", path, "--header-row", "--json"))["columns"]]
    assert names in (["value"], ["a"] + [f"a_{i}" for i in range(2, 200_001)])
    path.write_bytes(msgpack.packb(["a", "a_2", "a", "", "a", "a_2"]) + msgpack.packb([0] * 6))
    names = [c["name"] for c in json.loads(run("schema", path, "--header-row", "--json"))["columns"]]
    assert names == ["a", "a_2", "a_3", "column_4", "a_4", "a_2_2"]
