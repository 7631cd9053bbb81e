"""Text compressed as a whole, in every container and the ways that tools write them: the rows are those of the plain file, mapped
or not; damage and odd endings are told with their place.

Run by pytest; LAKEBED names the command. Python's own modules and Arrow compress; BGZF and the seekable form of zstd are put together
here as their specifications say.
"""
import bz2
import gzip
import json
import lzma
import os
import pathlib
import random
import shutil
import struct
import subprocess
import zlib

import pyarrow as pa
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
CONFORMANCE = pathlib.Path(os.environ.get("LAKEBED_CONFORMANCE", SOURCE.parent / "shared" / "conformance"))
MAP = ".br_map.bazan"
SPACING = 4 << 20


def run(*args, status=0):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("BASALTIC", "LAKEBED"))}
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=300, env=clean)
    assert p.returncode == status, (args, p.returncode, p.stdout[-300:], p.stderr.decode(errors="replace"))
    return p.stdout, p.stderr.decode(errors="replace")


# ---------------------------------------------------------------- containers

def pieces(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)] or [b""]


def bgzf(data):
    out = b""
    for chunk in [*pieces(data, 0xFF00), b""]:
        c = zlib.compressobj(1, zlib.DEFLATED, -15)
        body = c.compress(chunk) + c.flush()
        out += struct.pack("<BBBBIBBH2sHH", 31, 139, 8, 4, 0, 0, 255, 6, b"BC", 2, len(body) + 25) + body
        out += struct.pack("<II", zlib.crc32(chunk), len(chunk))
    return out


def arrow(codec):
    return lambda data: pa.Codec(codec).compress(data, asbytes=True)


def seekable_zstd(data):
    frames = [(arrow("zstd")(p), len(p)) for p in pieces(data, 1 << 20)]
    table = b"".join(struct.pack("<II", len(f), n) for f, n in frames) + struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    return b"".join(f for f, _ in frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


def many(compress, size=1 << 20):
    return lambda data: b"".join(compress(p) for p in pieces(data, size))


def tool(*command):
    def compress(data):
        if shutil.which(command[0]) is None:
            pytest.skip(f"no command {command[0]} here")
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout
    return compress


def gzip_one(data):
    return gzip.compress(data, 6, mtime=0)


# ending, compress, can a reader begin in the middle
CONTAINERS = {
    "gzip": ("gz", gzip_one, True),
    "gzip-many": ("gz", many(gzip_one), True),
    "gzip-tiny": ("gz", many(gzip_one, 3000), True),
    "bgzf": ("bgz", bgzf, True),
    "zstd": ("zst", arrow("zstd"), False),
    "zstd-many": ("zst", many(arrow("zstd")), True),
    "zstd-seekable": ("zst", seekable_zstd, True),
    "bzip2": ("bz2", bz2.compress, True),
    "bzip2-many": ("bz2", many(bz2.compress), True),
    "xz": ("xz", lambda data: lzma.compress(data, preset=0), False),
    "xz-many": ("xz", many(lambda data: lzma.compress(data, preset=0)), True),
    "xz-blocks": ("xz", tool("xz", "-c0", "--block-size=1048576"), True),
    "lz4": ("lz4", arrow("lz4"), True),
    "lz4-leaning": ("lz4", tool("lz4", "-c", "-B4", "-BD"), True),
    "lz4-many": ("lz4", many(arrow("lz4")), True),
}


OF_EACH = ("gzip", "zstd-many", "bzip2", "xz-many", "lz4-leaning")


# ---------------------------------------------------------------- data

def csv_text(rows, seed=5):
    draw = random.Random(seed)
    lines = ["id,when,name,price,note\n"]
    for i in range(rows):
        note = '"called ""urgent"",\nsecond line"' if i % 977 == 5 else "plain " * (i % 7)
        lines.append(f"{i},2026-01-{i % 28 + 1:02}T00:00:{i % 60:02},n{draw.randrange(10 ** 9)},{draw.random():.6f},{note}\n")
    return "".join(lines).encode()


def ndjson_text(rows, seed=6):
    draw = random.Random(seed)
    return b"".join(json.dumps({"id": i, "v": draw.random(), "tags": ["a"] * (i % 4), "s": "é" * (i % 5)},
                               ensure_ascii=False).encode() + b"\n" for i in range(rows))


ROWS = 80_000
TEXTS = {"csv": csv_text(ROWS), "ndjson": ndjson_text(ROWS)}
TEXTS["json"] = b"[" + TEXTS["ndjson"].rstrip().replace(b"\n", b",\n") + b"]"
RANGES = [(0, 3), (1, 1), (ROWS // 2, 5), (ROWS - 2, 2), (ROWS - 1, 10), (ROWS + 5, 5)]


def slices(path, *options, ranges=RANGES):
    return [run("slice", path, "--offset", str(a), "--limit", str(n), "--to", "tagged", *options)[0] for a, n in ranges]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    out = {}
    for kind, text in TEXTS.items():
        path = folder / f"t.{kind}"
        path.write_bytes(text)
        out[kind] = (slices(path), run("take", path, "5", "79999", "70000", "5", "--to", "tagged")[0],
                     run("slice", path, "--offset", "79990", "--limit", "20", "--to", "raw")[0],
                     run("schema", path, "--json")[0])
    return out


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("kind", TEXTS)
def test_rows_are_those_of_the_plain_file(tmp_path, plain, name, kind):
    ending, compress, seeks = CONTAINERS[name]
    if kind != "csv" and name not in OF_EACH:
        pytest.skip("one shape of each container is enough for JSON")
    lake = tmp_path / "lake"
    lake.mkdir()
    path = lake / f"t.{kind}.{ending}"
    path.write_bytes(compress(TEXTS[kind]))
    rows, take, raw, schema = plain[kind]
    assert slices(path, ranges=RANGES[2:4]) == rows[2:4]
    for threads, stride in (("1", "65536"), ("2", "1000")):
        run("map", lake, "-j", threads, "--stride", stride, "-q")
        assert run("count", path)[0].split()[-1].replace(b",", b"") == str(ROWS).encode()
        assert slices(path, "-j", threads) == rows
        assert run("take", path, "5", "79999", "70000", "5", "--to", "tagged")[0] == take
        assert run("slice", path, "--offset", "79990", "--limit", "20", "--to", "raw")[0] == raw
        assert json.loads(run("schema", path, "--json")[0]) == json.loads(schema)
        assert run("doctor", lake, "--verify")
        points = points_of(lake)
        assert (len(points) > 0) == (seeks and len(TEXTS[kind]) > SPACING + 900_000), points
        assert points == sorted(points) and all(b - a >= SPACING for a, b in zip(points, points[1:]))
        assert json.loads(run("slice", path, "--offset", "5", "--explain", "--json")[0])["map"] == "used"


def points_of(lake):
    with pa.ipc.open_file(lake / MAP) as f:
        table = f.read_all()
    return [p["uncompressed_byte"] for p in table.column("access_points").to_pylist()[0] or []]


@pytest.mark.parametrize("name", CONTAINERS)
def test_maps_do_not_depend_on_threads(tmp_path, name):
    """One file in a lake: all threads are at it."""
    ending, compress, _ = CONTAINERS[name]
    for kind, text in TEXTS.items():
        packed, maps = compress(text), []
        for threads in ("1", "2", "7"):
            lake = tmp_path / kind / threads
            lake.mkdir(parents=True)
            (lake / f"t.{kind}.{ending}").write_bytes(packed)
            run("map", lake, "-j", threads, "-q")
            with pa.ipc.open_file(lake / MAP) as f:
                table = f.read_all()
            maps.append({c: table.column(c).to_pylist()
                         for c in ("access_points", "blocks", "total_rows", "digests", "columns", "arrow_schema")})
        for other in maps[1:]:
            for column, mine in maps[0].items():
                assert mine == other[column], (kind, column)


# ---------------------------------------------------------------- conformance

def conformance_files():
    out = []
    for kind in ("csv", "json"):
        folder = CONFORMANCE / kind
        if folder.is_dir():
            out += [p for p in sorted(folder.iterdir())
                    if p.is_file() and p.suffix not in (".md",) and not p.name.endswith(".expected.json")]
    return out


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="no conformance data here")
def test_conformance_files_compressed(tmp_path):
    """Each in one of the containers, in turn: the same outcome as the plain file's, also of those that are refused."""
    names = [n for n in CONTAINERS if n not in ("xz-blocks", "lz4-leaning")]
    for i, file in enumerate(conformance_files()):
        ending, compress, _ = CONTAINERS[names[i % len(names)]]
        plain, packed = tmp_path / "a" / file.name, tmp_path / "b" / f"{file.name}.{ending}"
        plain.parent.mkdir(exist_ok=True)
        packed.parent.mkdir(exist_ok=True)
        shutil.copy(file, plain)
        packed.write_bytes(compress(file.read_bytes()))
        for options in ([], ["--all-text", "--ragged", "null", "--encoding", "ISO-8859-1"]):
            if options and "csv" not in str(file.parent):
                continue
            want = subprocess.run([LAKEBED, "slice", plain, "--to", "tagged", *options], capture_output=True, timeout=120)
            got = subprocess.run([LAKEBED, "slice", packed, "--to", "tagged", *options], capture_output=True, timeout=120)
            assert (got.returncode, got.stdout) == (want.returncode, want.stdout), (file.name, got.stderr[-300:])
        plain.unlink()
        packed.unlink()


# ---------------------------------------------------------------- endings and damage

SMALL = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(4000))


@pytest.mark.parametrize("name", ["gzip", "zstd", "bzip2", "xz", "lz4"])
def test_truncation_and_garbage_are_told_with_their_place(tmp_path, name):
    ending, compress, _ = CONTAINERS[name]
    whole = compress(SMALL)
    path = tmp_path / f"t.csv.{ending}"
    path.write_bytes(whole[:-3])
    message = run("slice", path, status=3)[1]
    assert f"byte {len(whole) - 3}" in message or "byte" in message, message
    assert "ends" in message, message
    path.write_bytes(whole + b"GARBAGE")
    message = run("slice", path, status=3)[1]
    assert f"byte {len(whole)}" in message and "follow" in message, message
    path.write_bytes(b"no such thing at all")
    assert "does not begin as" in run("slice", path, status=3)[1]
    path.write_bytes(b"")
    assert "ends" in run("slice", path, status=3)[1]


@pytest.mark.parametrize("name", ["gzip", "zstd", "bzip2", "xz", "lz4"])
def test_any_flipped_byte_is_an_error_or_harmless(tmp_path, name):
    ending, compress, _ = CONTAINERS[name]
    whole = bytearray(compress(SMALL))
    path = tmp_path / f"t.csv.{ending}"
    path.write_bytes(whole)
    good = run("slice", path, "--to", "tagged")[0]
    unchecked = name in ("zstd", "lz4")    # Arrow writes these without checksums
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        whole[at] ^= 0x10
        path.write_bytes(whole)
        p = subprocess.run([LAKEBED, "slice", path, "--to", "tagged"], capture_output=True, timeout=60)
        assert p.returncode == 3 or (p.returncode == 0 and p.stdout == good) or unchecked, (at, p)
        whole[at] ^= 0x10


def test_zero_bytes_may_follow_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip_one(SMALL) + bytes(512))
    assert run("count", path)[0].split()[-1].replace(b",", b"") == b"4000"


def test_a_bomb_takes_no_memory(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", 9) as f:
        f.write(b"a\n")
        for _ in range(256):
            f.write(b"1\n" * (1 << 19))
    assert path.stat().st_size < 2 << 20
    limit = "" if os.environ.get("LAKEBED_SANITIZE") else "ulimit -v 1500000; "    # shadow memory is terabytes
    p = subprocess.run(["/usr/bin/env", "bash", "-c", f"{limit}exec {LAKEBED} count {path} --memory 64M"],
                       capture_output=True, timeout=300)
    assert p.returncode in (0, 2) and (p.returncode == 2 or b"134,217,728" in p.stdout or b"134217728" in p.stdout), p


# ---------------------------------------------------------------- lakes

def test_discovery(tmp_path):
    (tmp_path / "a.csv").write_bytes(SMALL)
    (tmp_path / "b.csv.gz").write_bytes(gzip_one(SMALL))
    (tmp_path / "c.tsv.zst").write_bytes(arrow("zstd")(SMALL.replace(b",", b"\t")))
    (tmp_path / "d.gz").write_bytes(gzip_one(SMALL))
    (tmp_path / "e.bin.gz").write_bytes(gzip_one(SMALL))
    assert b"3 files, 12,000 rows" in run("map", tmp_path)[0]
    assert run("slice", tmp_path, "--offset", "7999", "--limit", "2", "--to", "csv")[0] == b"a,b\r\n3999,15992001\r\n0,0\r\n" \
        or b"3999,15992001" in run("slice", tmp_path, "--offset", "7999", "--limit", "2", "--to", "csv")[0]
    assert b"1 file, 4,000 rows" in run("map", tmp_path, "--no-compressed")[0]


def test_formats_that_are_not_read_compressed_are_named(tmp_path):
    path = tmp_path / "t.parquet.gz"
    path.write_bytes(gzip_one(b"PAR1....PAR1"))
    message = run("slice", path, status=3)[1]
    assert "parquet" in message.lower(), message


def test_text_that_begins_as_other_formats_do(tmp_path):
    for text in (b"PAR1,PAR2\n1,2\n", b"FEA1\n1\n", b"PAR1\nPAR1"):
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip_one(text))
        assert run("count", path)[0].split() == [b"1"]


def test_the_doctor_sees_damage_growth_and_renames(tmp_path):
    path = tmp_path / "t.csv.gz"
    first = gzip_one(TEXTS["csv"])
    path.write_bytes(first)
    run("map", tmp_path, "-q")
    damaged = bytearray(first)
    damaged[len(first) // 2] ^= 1
    times = path.stat()
    path.write_bytes(damaged)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    report = json.loads(run("doctor", tmp_path, "--verify", "--json", status=1)[0])
    assert "damaged" in json.dumps(report)
    path.write_bytes(first + gzip_one(b"".join(TEXTS["csv"].splitlines(keepends=True)[1:2])))
    run("doctor", tmp_path, "--heal", "-q")
    assert run("count", path)[0].split()[-1].replace(b",", b"") == str(ROWS + 1).encode()
    path.rename(tmp_path / "u.csv.gz")
    assert b"renamed" in run("doctor", tmp_path, status=1)[0]


# ---------------------------------------------------------------- writing

@pytest.mark.parametrize("ending", ["zst", "gz"])
@pytest.mark.parametrize("rows", [0, 1, 60_000])
def test_what_is_written_is_read_by_others_and_has_restart_points(tmp_path, ending, rows):
    source, out = tmp_path / "t.csv", tmp_path / "lake" / f"t.csv.{ending}"
    out.parent.mkdir()
    source.write_bytes(csv_text(rows))
    run("slice", source, "-o", tmp_path / "plain.csv")
    run("slice", source, "-o", out)
    plain = (tmp_path / "plain.csv").read_bytes()
    data = out.read_bytes()
    if ending == "gz":
        assert gzip.decompress(data) == plain
        assert data.endswith(bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000"))    # BGZF's end
    else:
        with pa.input_stream(out, compression="zstd") as f:
            assert f.read() == plain
        frames, flags, magic = struct.unpack("<IBI", data[-9:])
        assert (frames, flags, magic) == (max(1, -(-len(plain) // (1 << 20))), 0, 0x8F92EAB1)
    run("map", out.parent, "-q")
    assert run("slice", out, "--to", "csv")[0] == plain
    assert (len(points_of(out.parent)) > 0) == (len(plain) > SPACING + (1 << 20))


def test_containers_that_are_not_written(tmp_path):
    (tmp_path / "t.csv").write_bytes(SMALL)
    assert ".zst and .gz are" in run("slice", tmp_path / "t.csv", "--to", "csv", "-o", tmp_path / "o.csv.xz", status=2)[1]
    assert "tells no form" in run("slice", tmp_path / "t.csv", "-o", tmp_path / "o.arrow.zst", status=2)[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]


# ---------------------------------------------------------------- files that tell their frames

def test_frames_that_lie_are_told(tmp_path):
    """Sizes that a file claims of its frames, and that what comes does not have."""
    frames = [pa.Codec("zstd").compress(p, asbytes=True) for p in pieces(TEXTS["csv"][:2 << 20], 1 << 19)]
    lying = bytearray(b"".join(frames))
    at = len(frames[0])    # the second frame's header: single segment, size in 4 bytes
    assert lying[at + 4] >> 6 == 2 and lying[at + 4] & 0x20
    size = struct.unpack_from("<I", lying, at + 5)[0]
    struct.pack_into("<I", lying, at + 5, size - 1)
    path = tmp_path / "t.csv.zst"
    path.write_bytes(lying)
    run("count", path, "-j", "2", status=3)

    members = bytearray(bgzf(TEXTS["csv"][:2 << 20]))
    first = struct.unpack_from("<H", members, 16)[0] + 1
    struct.pack_into("<I", members, first - 4, 0xFF00 - 1)
    path = tmp_path / "t.csv.bgz"
    path.write_bytes(members)
    assert "the size does not hold" in run("count", path, "-j", "2", status=3)[1]


def test_many_tiny_frames_are_not_walked_one_by_one(tmp_path):
    """Eight megabytes of empty skippable frames, each of 8 bytes, around one frame of rows: read by decompressing, in a moment."""
    path = tmp_path / "t.csv.zst"
    path.write_bytes(struct.pack("<II", 0x184D2A50, 0) * (1 << 20) + arrow("zstd")(SMALL))
    assert run("count", path)[0].split()[-1] == b"4000"


# ---------------------------------------------------------------- what cannot be read from the middle

def test_files_without_restart_points_are_told(tmp_path):
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(600_000))
    assert len(text) > 2 * SPACING
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "one.csv.zst").write_bytes(arrow("zstd")(text))
    (lake / "many.csv.zst").write_bytes(many(arrow("zstd"))(text))
    (lake / "small.csv.zst").write_bytes(arrow("zstd")(SMALL))
    (lake / "gzip.csv.gz").write_bytes(gzip_one(text))
    run("map", lake, "-q")
    report = json.loads(run("doctor", lake, "--json")[0])
    assert report["status"] == "HEALTHY" and [f["path"] for f in report["unseekable_files"]] == ["one.csv.zst"]
    assert report["unseekable_files"][0]["container"] == "zstd"
    assert report["unseekable_files"][0]["text_bytes"] == len(text)
    said = run("doctor", lake)[0].decode()
    assert "without restart points" in said and "  one.csv.zst  zstd, " in said and "many.csv.zst" not in said
    assert b"csv in zstd without restart points," in run(lake / "one.csv.zst")[0]
    assert b"csv in zstd, " in run(lake / "many.csv.zst")[0]
    points = {f["path"]: f["restart_points"] for f in json.loads(run("stats", lake, "--json")[0])["files"]}
    assert points["one.csv.zst"] == points["small.csv.zst"] == 0 and points["many.csv.zst"] > 0 and points["gzip.csv.gz"] > 0
    # What a heal takes in is told by the same report.
    (lake / "new.csv.xz").write_bytes(lzma.compress(text, preset=0))
    report = json.loads(run("doctor", lake, "--heal", "--json")[0])
    assert [f["path"] for f in report["unseekable_files"]] == ["new.csv.xz", "one.csv.zst"]


@pytest.mark.parametrize("name", ["gzip", "zstd", "bzip2", "xz", "lz4"])
@pytest.mark.parametrize("content", [b"a,b\n1,2\n" * 100, b"a,b\n1,2\n", b"a,b\n"])
def test_a_plain_file_with_a_container_s_name_gets_a_hint(tmp_path, name, content):
    path = tmp_path / f"t.csv.{CONTAINERS[name][0]}"
    path.write_bytes(content)
    message = run("slice", path, status=3)[1]
    assert "byte 0: " in message, message
    if len(content) > 12:
        assert f"does not begin as {name} does" in message and "rename it" in message, message


def test_long_reads_by_threads_are_those_of_one(tmp_path, plain):
    lake = tmp_path / "lake"
    lake.mkdir()
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(3_000_000))
    path = lake / "t.csv.gz"
    path.write_bytes(gzip.compress(text, 1, mtime=0))
    run("map", lake, "-q", "--stride", "16384")
    for form in ("csv", "canonical"):
        one = run("slice", path, "--to", form, "-j", "1")[0]
        assert one == run("slice", path, "--to", form, "-j", "2")[0] == run("slice", path, "--to", form, "-j", "5")[0]
    assert run("slice", path, "--to", "csv")[0] == text
