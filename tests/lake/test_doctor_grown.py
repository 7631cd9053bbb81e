"""Arrow streams and Avro files that grew: a heal reads only what was added, and the healed map is, field by field, the map that
would be built anew, but for the times.

Run by pytest; LAKEBED names the command. Seeds begin at LAKEBED_SEED.
"""
import decimal
import io
import json
import math
import os
import pathlib
import random
import struct
import subprocess

import fastavro
import pyarrow as pa
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
SEED, ROUNDS = int(os.environ.get("LAKEBED_SEED", "1")), int(os.environ.get("LAKEBED_ROUNDS", "30"))
MAP = ".br_map.bazan"
END = b"\xff\xff\xff\xff\0\0\0\0"


def run(*args):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    assert p.returncode in (0, 1), (args, p.returncode, p.stderr.decode(errors="replace"))  # 1: something is wrong, and told
    return p.stdout


def load(lake):
    """Metadata and rows of the map without what may differ."""
    with pa.ipc.open_file(lake / MAP) as f:
        table = f.read_all()
    meta = {k.decode(): v for k, v in table.schema.metadata.items() if k != b"bazan.created_ns"}
    rows = table.to_pylist()
    for row in rows:
        row.pop("inspected_ns")
        row.pop("verified_ns")
    return meta, table.schema.remove_metadata(), rows


def heal(lake, path, added):
    """Heal after a file grew by so many bytes; gives the bytes that were surveyed."""
    report = json.loads(run("doctor", lake, "--heal", "--json"))
    assert report["status"] == "HEALED"
    assert [(f["path"], f["drift"]) for f in report["findings"]] == [(path.name, "appended")]
    return report["bytes_surveyed"]


def same_as_fresh(lake, options):
    healed = repr(load(lake))  # repr: NaN is not equal to itself
    run("map", "-q", lake, *options)
    assert healed == repr(load(lake))


def some_options(r):
    return ["--stats", r.choice(["all", "all", "none", "block", "text,real"]), "-j", r.choice(["1", "3"])]


# ---------------------------------------------------------------- values

def text(r):
    """Also longer than a bound is kept, with characters where it would be cut."""
    most = r.choice([3, 20, 254, 255, 256, 257, 400])
    return r.choice(["a", "b", "ä", "日", "\U0010ffff"]) * r.randint(0, most) + r.choice(["", "x", "é"])


VALUES = {
    "int": (pa.int64(), lambda r: r.randint(-2**63, 2**63 - 1)),
    "unsigned": (pa.uint64(), lambda r: r.randint(0, 2**64 - 1)),
    "real": (pa.float64(), lambda r: r.choice([math.nan, 0.0, -0.0, math.inf, r.uniform(-9, 9)])),
    "text": (pa.string(), text),
    "bytes": (pa.binary(), lambda r: bytes([r.choice([0, 255, 7])]) * r.choice([0, 3, 255, 256, 257, 300])),
    "cents": (pa.decimal128(20, 2), lambda r: decimal.Decimal(r.randint(-10**19, 10**19)) / 100),
    "flag": (pa.bool_(), lambda r: r.random() < 0.5),
    "day": (pa.date32(), lambda r: r.randint(-10**5, 10**5)),
    "list": (pa.list_(pa.int8()), lambda r: [1] * r.randint(0, 3)),
    "pair": (pa.struct([("a", pa.int16()), ("b", pa.string())]), lambda r: {"a": r.randint(-9, 9), "b": text(r)}),
}


def column(r, name, n):
    kind, make = VALUES[name]
    nulls = r.choice([0, 0.3, 1])
    return pa.array([None if r.random() < nulls else make(r) for _ in range(n)], kind)


def batch(r, names):
    n = r.choice([0, 1, 3, 30])
    columns = [column(r, name, n) for name in names]
    columns.append(pa.array([r.choice("abcdefgh") * r.randint(1, 3) for _ in range(n)], pa.string()).dictionary_encode())
    return pa.record_batch(columns, names=[*names, "word"])


# ---------------------------------------------------------------- Arrow streams

class Stream:
    """A stream as a growing run of bytes."""

    def __init__(self, r, names):
        self.bytes = io.BytesIO()
        codec = r.choice([None, None, "lz4", "zstd"])
        options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=r.random() < 0.5, unify_dictionaries=False)
        self.writer = pa.ipc.new_stream(self.bytes, batch(r, names).schema, options=options)

    def grow(self, batch):
        """What a batch adds, with the dictionaries before it."""
        before = self.bytes.tell()
        self.writer.write_batch(batch)
        return self.bytes.getvalue()[before:]


@pytest.mark.parametrize("i", range(ROUNDS))
def test_streams(i, tmp_path):
    r = random.Random("%d stream %d" % (SEED, i))
    names = ["text", "real"] + r.sample([n for n in VALUES if n not in ("text", "real")], r.randint(0, 4))
    stream, path, options = Stream(r, names), tmp_path / "a.arrows", some_options(r)
    for _ in range(r.randint(1, 4)):
        stream.grow(batch(r, names))
    path.write_bytes(stream.bytes.getvalue())
    run("map", "-q", tmp_path, *options)
    for _ in range(3):
        more = b"".join(stream.grow(batch(r, names)) for _ in range(r.randint(1, 3)))
        with open(path, "ab") as out:
            out.write(more)
        assert heal(tmp_path, path, len(more)) == len(more)
    same_as_fresh(tmp_path, options)


@pytest.mark.parametrize("legacy", [False, True])
def test_what_follows_the_end_mark_is_no_part_of_the_stream(legacy, tmp_path):
    r = random.Random("end %d" % SEED)
    stream, path = Stream(r, ["int"]), tmp_path / "a.arrows"
    rows = batch(r, ["int"])
    stream.grow(rows)
    path.write_bytes(stream.bytes.getvalue() + (END[4:] if legacy else END))
    run("map", "-q", tmp_path)
    more = stream.grow(batch(r, ["int"]))
    with open(path, "ab") as out:
        out.write(more)
    assert heal(tmp_path, path, len(more)) == len(more)
    same_as_fresh(tmp_path, [])
    assert json.loads(run("schema", path, "--json"))["rows"] == len(rows)


def test_a_mark_that_is_written_over_is_another_content(tmp_path):
    r = random.Random("over %d" % SEED)
    stream, path = Stream(r, ["int"]), tmp_path / "a.arrows"
    first, second = batch(r, ["int"]), pa.record_batch({"int": [1, 2], "word": pa.array(["a", "b"]).dictionary_encode()})
    stream.grow(first)
    path.write_bytes(stream.bytes.getvalue() + END)
    run("map", "-q", tmp_path)
    stream.grow(second)
    path.write_bytes(stream.bytes.getvalue() + END)
    assert json.loads(run("doctor", tmp_path, "--heal", "--json"))["status"] == "HEALED"
    same_as_fresh(tmp_path, [])
    assert json.loads(run("schema", path, "--json"))["rows"] == len(first) + 2


@pytest.mark.parametrize("i", range(12))
def test_torn_streams_are_mended_by_what_follows(i, tmp_path):
    r = random.Random("%d torn %d" % (SEED, i))
    names = ["text", "int", "pair"]
    stream, path, options = Stream(r, names), tmp_path / "a.arrows", some_options(r)
    for _ in range(r.randint(0, 2)):
        stream.grow(batch(r, names))
    whole = len(stream.bytes.getvalue())
    stream.grow(batch(r, names))
    all = stream.bytes.getvalue()
    cut = r.randint(whole, len(all))
    path.write_bytes(all[:cut])
    run("map", "-q", tmp_path, "--on-error", "record", *options)
    again = r.randint(cut, len(all))  # torn once more, inside the same message or at its end
    for end in again, len(all):
        if end == path.stat().st_size:
            continue
        added = end - path.stat().st_size
        path.write_bytes(all[:end])
        assert heal(tmp_path, path, added) == added
        healed = repr(load(tmp_path))
        run("map", "-q", tmp_path, "--on-error", "record", *options)
        assert healed == repr(load(tmp_path))


def test_files_with_a_footer_are_surveyed_whole(tmp_path):
    """One file behind another: the footer at the end is the second one's, and its places are of the bytes before."""
    path, options = tmp_path / "a.arrow", ["--on-error", "record"]
    files = []
    for values in [1, 2], [1, 2, 3]:
        with pa.ipc.new_file(path, pa.schema([("a", pa.int64())])) as out:
            out.write_batch(pa.record_batch({"a": values}))
        files.append(path.read_bytes())
    path.write_bytes(files[0])
    run("map", "-q", tmp_path, *options)
    path.write_bytes(files[0] + files[1])
    report = json.loads(run("doctor", tmp_path, "--heal", "--json"))
    assert report["findings"][0]["drift"] == "appended"
    same_as_fresh(tmp_path, options)


# ---------------------------------------------------------------- Avro

SCHEMA = {"type": "record", "name": "r", "fields": [
    {"name": "int", "type": "long"},
    {"name": "real", "type": ["null", "double"]},
    {"name": "text", "type": ["null", "string"]},
    {"name": "bytes", "type": "bytes"},
    {"name": "cents", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
    {"name": "list", "type": {"type": "array", "items": "int"}},
    {"name": "pair", "type": {"type": "record", "name": "p", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}},
]}


def record(r):
    row = {f["name"]: VALUES[f["name"]][1](r) for f in SCHEMA["fields"]}
    for name in "real", "text":
        if r.random() < 0.3:
            row[name] = None
    return row


def avro(r, n, codec, marker, size):
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, [record(r) for _ in range(n)], codec=codec, sync_interval=size, sync_marker=marker)
    return out.getvalue()


@pytest.mark.parametrize("i", range(ROUNDS))
def test_avro(i, tmp_path):
    r = random.Random("%d avro %d" % (SEED, i))
    codec, marker, size = r.choice(["null", "deflate", "zstandard"]), r.randbytes(16), r.choice([1, 500, 16000])
    header = len(avro(r, 0, codec, marker, size))
    path, options = tmp_path / "a.avro", some_options(r)
    path.write_bytes(avro(r, r.choice([0, 1, 20, 200]), codec, marker, size))
    run("map", "-q", tmp_path, *options)
    for _ in range(3):
        more = avro(r, r.choice([1, 5, 50]), codec, marker, size)[header:]
        if r.random() < 0.3:
            more += struct.pack("<2B", 0, 0) + marker  # a block of no rows
        with open(path, "ab") as out:
            out.write(more)
        if r.random() < 0.5:
            assert heal(tmp_path, path, len(more)) == len(more)
        else:
            run("doctor", tmp_path, "--heal")
    same_as_fresh(tmp_path, options)


def test_avro_that_grew_wrongly_fails_as_if_it_were_new(tmp_path):
    r = random.Random("wrong %d" % SEED)
    path, marker = tmp_path / "a.avro", r.randbytes(16)
    path.write_bytes(avro(r, 10, "null", marker, 500))
    run("map", "-q", tmp_path, "--on-error", "record")
    with open(path, "ab") as out:
        out.write(struct.pack("<2B", 2, 4) + b"ab" + r.randbytes(16))
    healed = json.loads(run("doctor", tmp_path, "--heal", "--json"))
    assert healed["findings"][0]["drift"] == "appended"
    healed = repr(load(tmp_path))
    run("map", "-q", tmp_path, "--on-error", "record")
    assert healed == repr(load(tmp_path))
