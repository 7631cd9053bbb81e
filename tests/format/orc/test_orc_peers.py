"""Files that pyarrow and pyorc write, of every type, codec, pattern of nulls and size of stripes, strides and chunks: any range gives
the values that were written, mapped or not, and so do scattered rows; statistics are those of the values."""
import datetime
import decimal
import json
import os
import pathlib
import random
import subprocess
import sys
import zoneinfo

import pyarrow as pa
import pyarrow.orc
import pyorc
import pytest

sys.path.insert(0, str(pathlib.Path(os.environ["LAKEBED_SOURCE"]) / "tests" / "lance"))
from lance_api import Library

LAKEBED = os.environ["LAKEBED"]
assert os.environ["LAKEBED_LIB"]    # what Library loads
ROWS = 2500

ROWS_OF = {  # what a value of each type is made of
    "boolean": lambda r: r.random() < 0.5,
    "tinyint": lambda r: r.randint(-128, 127),
    "smallint": lambda r: r.randint(-2**15, 2**15 - 1),
    "int": lambda r: r.choice([r.randint(-2**31, 2**31 - 1), r.randint(0, 9), 7]),
    "bigint": lambda r: r.choice([r.randint(-2**63, 2**63 - 1), r.randint(-1000, 1000), 0]),
    "float": lambda r: r.randint(-1000, 1000) / 8,
    "double": lambda r: r.choice([r.random(), -0.0, 1e300, 5e-324]),
    "string": lambda r: r.choice(["", "a", "grüße", "x" * r.randint(0, 40), str(r.random())]),
    "words": lambda r: "word %d" % r.randint(0, 20),
    "binary": lambda r: r.randbytes(r.randint(0, 20)),
    "date": lambda r: datetime.date(1970, 1, 1) + datetime.timedelta(days=r.randint(-200_000, 200_000)),
    "decimal(9,2)": lambda r: decimal.Decimal(r.randint(-10**9 + 1, 10**9 - 1)).scaleb(-2),
    "decimal(38,10)": lambda r: decimal.Decimal(r.randint(-10**30, 10**30)).scaleb(-10, decimal.Context(prec=50)),
}
DENSITY = {"none": 0.0, "some": 0.2, "all": 1.0}


def some(make, r, nulls):
    return None if r.random() < nulls else make(r)


def nested(r, nulls):
    """A value each of a list, a map, a struct, and lists of structs of lists."""
    one = lambda: some(ROWS_OF["int"], r, nulls)
    text = lambda: some(ROWS_OF["words"], r, nulls)
    return [some(lambda _: [one() for _ in range(r.randint(0, 5))], r, nulls),
            some(lambda _: {f"k{i}": text() for i in range(r.randint(0, 4))}, r, nulls),
            some(lambda _: (one(), text()), r, nulls),
            some(lambda _: [some(lambda _: ([one() for _ in range(r.randint(0, 3))],), r, nulls) for _ in range(r.randint(0, 3))],
                 r, nulls)]


NESTED = "l:array<int>,m:map<string,string>,s:struct<a:int,b:string>,n:array<struct<x:array<int>>>"
FLAT = "boolean tinyint smallint int bigint float double string words binary date decimal(9,2) decimal(38,10)".split()


def flat_schema():
    return ",".join(f"c{i}:{'string' if t == 'words' else t}" for i, t in enumerate(FLAT))


def make_rows(r, count, nulls):
    return [tuple([some(ROWS_OF[t], r, nulls) for t in FLAT] + nested(r, nulls)) for _ in range(count)]


def plain(value):
    """Values of pyorc and of Arrow in one form."""
    if isinstance(value, dict):
        return tuple(plain(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    if isinstance(value, float):
        return repr(value)
    return value


def as_pairs(rows):
    """Maps as tuples of pairs, as Arrow gives them."""
    def one(value):
        if isinstance(value, dict):
            return tuple((k, v) for k, v in value.items())
        return value
    return [tuple(one(v) for v in row) for row in rows]


def ours(library, path, offset, limit):
    table = library.read(path, offset, limit)
    return [plain(tuple(row.values())) for row in table.to_pylist()]


def write(path, schema, rows, **how):
    with open(path, "wb") as file:
        with pyorc.Writer(file, f"struct<{schema}>", **how) as writer:
            for row in rows:
                writer.write(row)


UNIONS = """
import json, pyorc, sys
with open(sys.argv[1], "wb") as file, pyorc.Writer(file, "struct<u:uniontype<int,string>>", row_index_stride=1000) as writer:
    for value in json.load(sys.stdin):
        writer.write((value,))
"""


def write_unions(path, values):
    """In a process of its own: pyorc tries branches by C++ exceptions, which a sanitizer that was loaded before cannot take."""
    plain_environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run([sys.executable, "-c", UNIONS, str(path)], input=json.dumps(values), text=True, check=True, env=plain_environment)


def command(*words):
    done = subprocess.run([LAKEBED, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


CASES = [(codec, nulls, stride, stripe, block)
         for codec in ("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD")
         for nulls, stride, stripe, block in [("none", 1000, 16 << 10, 4 << 10), ("some", 1000, 64 << 20, 64 << 10),
                                              ("some", 10000, 16 << 10, 1 << 10), ("some", 0, 64 << 20, 16 << 10),
                                              ("all", 1000, 64 << 20, 64 << 10)]]


@pytest.mark.parametrize("codec,nulls,stride,stripe,block", CASES)
def test_any_range(tmp_path, codec, nulls, stride, stripe, block):
    r = random.Random(f"{codec}{nulls}{stride}{stripe}")
    rows = make_rows(r, ROWS, DENSITY[nulls])
    lake = tmp_path / "lake"
    lake.mkdir()
    path = lake / "x.orc"
    write(path, flat_schema() + "," + NESTED, rows, compression=getattr(pyorc.CompressionKind, codec), stripe_size=stripe,
          row_index_stride=stride, compression_block_size=block, memory_block_size=min(block, 64 << 10), dict_key_size_threshold=r.choice([0.0, 0.5, 1.0]),
          batch_size=r.choice([100, 1024]))
    want = [plain(row) for row in as_pairs(rows)]
    library = Library()
    assert ours(library, path, 0, 2**64 - 1) == want
    ranges = [(r.randrange(ROWS), r.randint(0, 300)) for _ in range(12)]
    ranges += [(at, 2) for at in (0, 999, 1000, 1001, 1999, ROWS - 1, ROWS)]
    for offset, limit in ranges:
        assert ours(library, path, offset, limit) == want[offset:offset + limit], (offset, limit)
    # Scattered rows, in the order asked.
    places = [r.randrange(ROWS) for _ in range(50)]
    everything = command("slice", path, "--to", "tagged").splitlines()
    assert command("take", path, *places, "--to", "tagged").splitlines() == [everything[p] for p in places]
    # Through a map.
    command("map", lake, "--stride", 7)
    for offset, limit in ranges[:3] + ranges[-5:]:
        got = command("slice", path, "--to", "tagged", "--offset", offset, "--limit", limit).splitlines()
        assert got == everything[offset:offset + limit]
        said = json.loads(command("slice", path, "--explain", "--json", "--offset", offset, "--limit", limit))
        assert said["map"] == "used"
    command("doctor", lake, "--verify")


def test_statistics_are_of_the_values(tmp_path):
    r = random.Random(5)
    rows = make_rows(r, ROWS, 0.2)
    path = tmp_path / "x.orc"
    write(path, flat_schema() + "," + NESTED, rows, stripe_size=16 << 10)
    said = json.loads(command("stats", path, "--json"))
    columns = {c["name"]: c for c in (said["columns"] if "columns" in said else said["files"][0]["columns"])}
    for i, kind in enumerate(FLAT):
        values = [row[i] for row in rows if row[i] is not None]
        column = columns[f"c{i}"]
        assert column["nulls"] == len(rows) - len(values), kind
        if kind in ("tinyint", "smallint", "int", "bigint", "string", "words"):
            assert column["min"] == str(min(values, key=lambda v: v.encode() if isinstance(v, str) else v)), kind
            assert column["max"] == str(max(values, key=lambda v: v.encode() if isinstance(v, str) else v)), kind
    for name, place in (("l", -4), ("m", -3), ("n", -1)):
        assert columns[name]["nulls"] == sum(row[place] is None for row in rows)


ZONES = ["UTC", "America/Los_Angeles", "Asia/Shanghai", "Asia/Kolkata", "Europe/Berlin", "Australia/Lord_Howe"]


@pytest.mark.parametrize("zone", ZONES)
def test_writers_clock(tmp_path, zone):
    """Timestamps are what the writer's clock showed; pyorc takes instants, and tells which zone it wrote in."""
    r = random.Random(zone)
    utc, there = datetime.timezone.utc, zoneinfo.ZoneInfo(zone)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=utc)
    seconds = [r.randint(-2**31, 2**32) for _ in range(2000)] + [0, 1, -86400 * 365, 1710064799, 1710064800, 1730624400]
    # The second before 1970 is one that the format does not hold.
    instants = [epoch + datetime.timedelta(seconds=s, microseconds=r.choice([0, 1, 999, 1000, 123456, 999999]) if s > 0 or s < -1
                                           else 0) for s in seconds]
    path = tmp_path / "x.orc"
    write(path, "t:timestamp,i:timestamp with local time zone", [(v, v) for v in instants], timezone=there)
    table = Library().read(path)
    assert table.schema.field("t").type == pa.timestamp("ns")
    assert table.schema.field("i").type == pa.timestamp("ns", "UTC")

    def micros(moment):
        return (moment - epoch) // datetime.timedelta(microseconds=1)

    wall = [micros(v.astimezone(there).replace(tzinfo=utc)) * 1000 for v in instants]
    assert table["t"].cast(pa.int64()).to_pylist() == wall
    assert table["i"].cast(pa.int64()).to_pylist() == [micros(v) * 1000 for v in instants]
    columns = {c["name"]: c for c in json.loads(command("stats", path, "--json"))["columns"]}
    for name, values in (("t", wall), ("i", [micros(v) * 1000 for v in instants])):
        for bound, value in (("min", min(values)), ("max", max(values))):
            said = datetime.datetime.fromisoformat(columns[name][bound].replace("Z", "")).replace(tzinfo=utc)
            assert micros(said) * 1000 == value, (name, bound)


def test_far_timestamps_are_microseconds(tmp_path):
    """Where the file's statistics say that nanoseconds do not hold them."""
    moments = [datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc), datetime.datetime(9999, 12, 31, tzinfo=datetime.timezone.utc)]
    path = tmp_path / "x.orc"
    write(path, "t:timestamp", [(m,) for m in moments])
    table = Library().read(path)
    assert table.schema.field("t").type == pa.timestamp("us")
    assert table["t"].to_pylist() == [m.replace(tzinfo=None) for m in moments]


@pytest.mark.parametrize("count,pattern", [(900, [1, "a", None, 2, "b", None, 3]), (5000, [1, "a", 2, "b", 3])])
def test_unions(tmp_path, count, pattern):
    """pyorc writes wrong values behind its first batch (of 1024 rows) where unions are null: it is given fewer."""
    values = (pattern * count)[:count]
    path = tmp_path / "x.orc"
    write_unions(path, values)
    lines = command("slice", path, "--to", "canonical").splitlines()
    assert lines == ["[null]" if v is None else '[{"$union":[%d,%s]}]' % (isinstance(v, str), json.dumps(v)) for v in values]
    for offset in (0, count // 2, count // 10 * 8, count - 3):
        assert command("slice", path, "--to", "canonical", "--offset", offset, "--limit", 20).splitlines() == lines[offset:offset + 20]
    assert json.loads(command("schema", path, "--json"))["columns"][0]["type"] == {
        "union": [{"id": 0, "name": "0", "type": "int32"}, {"id": 1, "name": "1", "type": "string"}]}


def test_bare_and_empty(tmp_path):
    path = tmp_path / "bare.orc"
    with open(path, "wb") as file, pyorc.Writer(file, "bigint") as writer:
        for v in range(100):
            writer.write(v)
    table = Library().read(path, 50, 3)
    assert table.to_pylist() == [{"value": 50}, {"value": 51}, {"value": 52}]
    path = tmp_path / "empty.orc"
    write(path, "a:int,b:array<string>", [])
    table = Library().read(path)
    assert table.num_rows == 0 and table.column_names == ["a", "b"]


def arrow_table(r, count):
    def column(make, kind, nulls=0.15):
        return pa.array([some(make, r, nulls) for _ in range(count)], kind)

    return pa.table({
        "i8": column(ROWS_OF["tinyint"], pa.int8()), "i64": column(ROWS_OF["bigint"], pa.int64()),
        "rising": pa.array([3 * i for i in range(count)], pa.int32()), "falling": pa.array(range(count, 0, -1), pa.int64()),
        "outliers": column(lambda r: r.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 10**12]), pa.int64(), 0),
        "same": pa.array([5] * count, pa.int16()),
        "f": column(ROWS_OF["float"], pa.float32()), "s": column(ROWS_OF["string"], pa.string()),
        "t": column(lambda r: r.randint(-2 * 10**18, 9 * 10**18), pa.int64(), 0).cast(pa.timestamp("ns")),
        "d": column(ROWS_OF["date"], pa.date32()), "dec": column(ROWS_OF["decimal(9,2)"], pa.decimal128(9, 2)),
        "l": column(lambda r: [r.randint(0, 9)] * r.randint(0, 4), pa.list_(pa.int64())),
        "m": column(lambda r: {"a": 1, "b": r.randint(0, 9)}, pa.map_(pa.string(), pa.int32()))})


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "zlib", "lz4", "zstd"])
@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_pyarrow_writes(tmp_path, codec, version):
    """Both versions of run lengths, as pyarrow writes and reads them."""
    r = random.Random(codec)
    path = tmp_path / "x.orc"
    pa.orc.write_table(arrow_table(r, 3000), str(path), compression=codec, file_version=version, row_index_stride=1000,
                       stripe_size=64 << 10, compression_block_size=64 << 10, dictionary_key_size_threshold=r.choice([0.0, 1.0]))
    theirs = pa.orc.ORCFile(str(path)).read()
    library = Library()
    whole = library.read(path)
    assert whole.cast(theirs.schema).equals(theirs)
    for _ in range(15):
        offset, limit = r.randrange(3000), r.randint(0, 500)
        assert library.read(path, offset, limit).equals(whole.slice(offset, limit)), (offset, limit)


def test_long_values(tmp_path):
    """A file of a few kilobytes whose rows are far larger: they come in batches of as many as are sensible."""
    words = ["x" * (1 << 20), "y" * (1 << 20)]
    path = tmp_path / "x.orc"
    write(path, "s:string,l:array<string>", [(words[i % 2], words if i % 10 == 0 else []) for i in range(120)],
          dict_key_size_threshold=1.0)
    assert path.stat().st_size < 100_000
    table = Library().read(path)
    assert table["s"].to_pylist() == [words[i % 2] for i in range(120)]
    assert [len(v) for v in table["l"].to_pylist()] == [2 if i % 10 == 0 else 0 for i in range(120)]
    assert max(chunk.nbytes for chunk in table["s"].chunks) <= 64 << 20
    assert Library().read(path, 117, 5)["s"].to_pylist() == [words[i % 2] for i in range(117, 120)]


def test_large_lists_of_nothing(tmp_path):
    """A value that claims more than its file could hold is refused, and at once."""
    path = tmp_path / "x.orc"
    write(path, "a:array<int>", [([1, 2, 3],)] * 10, compression=pyorc.CompressionKind.NONE)
    data = path.read_bytes()
    # Short repeat of width 1: ten times 3; now of width 4: ten times 2^31 - 1 does not fit the stream any more.
    at = data.index(bytes([0x07, 0x03]))
    path.write_bytes(data[:at] + bytes([0x07, 0xFF]) + data[at + 2:])
    with pytest.raises(pa.ArrowInvalid, match="ends before its values"):
        Library().read(path)
