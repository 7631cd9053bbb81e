"""What a map keeps of Parquet files, against pyarrow's own metadata and data; the second open; page-level access; one row space with
text; damage. Run by pytest; LAKEBED names the command and LAKEBED_LIB the library."""
import json
import os
import pathlib
import random
import re
import subprocess

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from parquet_api import Library

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
NONE = 2**64 - 1


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert p.returncode == status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout, p.stderr.decode(errors="replace")


def load(root):
    with pa.ipc.open_file(root / ".br_map.bazan") as f:
        table = f.read_all()
    table.validate(full=True)
    return table.to_pylist()


def sample(n=5000, nested=True):
    r = random.Random(7)
    columns = {"id": pa.array(range(n), pa.int64()),
               "k": pa.array([None if r.random() < 0.2 else r.randrange(-50, 50) for _ in range(n)], pa.int32()),
               "s": pa.array([r.choice(["ä", "bb", "c" * 300, None]) for _ in range(n)]),
               "f": pa.array([r.choice([None, 0.0, -2.5, 9.75]) for _ in range(n)], pa.float64()),
               "u": pa.array([r.randrange(2**32) for _ in range(n)], pa.uint32()),
               "p": pa.array([{"x": i % 7, "y": None if i % 3 else "t"} for i in range(n)])}
    if nested:
        columns["l"] = pa.array([None if i % 5 == 0 else list(range(i % 4)) for i in range(n)], pa.list_(pa.int16()))
    return pa.table(columns)


def traced(path, *args):
    """The bytes that a command read of a file, by strace."""
    log = path.parent / "trace"
    subprocess.run(["strace", "-f", "-y", "-e", "trace=pread64,read", "-o", log, LAKEBED, *map(str, args), "-j", "1"], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    return sum(int(m[1]) for m in re.finditer(re.escape(f"<{path}>") + r".*= (\d+)\n", log.read_text()))


# ---------------------------------------------------------------- what is kept

@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("pages", [False, True])
def test_places_are_those_of_the_footer(tmp_path, index, pages):
    path = tmp_path / "a.parquet"
    pq.write_table(sample(), path, row_group_size=1200, data_page_size=500, write_batch_size=50, write_page_index=index,
                   compression="snappy", store_schema=False)
    run("map", "-q", tmp_path, *(["--pages"] if pages else []))
    entry, meta = load(tmp_path)[0], pq.read_metadata(path)
    assert (entry["format"], entry["locator"], entry["total_rows"]) == ("parquet", "row_group", 5000)
    leaves = [meta.schema.column(i).path for i in range(meta.num_columns)]
    assert entry["leaf_paths"] == leaves
    first = 0
    for g, block in enumerate(entry["blocks"]):
        group = meta.row_group(g)
        chunks = [group.column(c) for c in range(len(leaves))]
        starts = [c.dictionary_page_offset or c.data_page_offset for c in chunks]
        assert (block["first_row"], block["row_count"]) == (first, group.num_rows)
        assert (block["first_byte"], block["total_byte_size"]) == (min(starts), group.total_byte_size)
        assert block["page_indexed"] == index
        first += group.num_rows
        for c, chunk in enumerate(chunks):
            kept = entry["chunks"][g * len(leaves) + c]
            assert (kept["offset"], kept["length"]) == (starts[c], chunk.total_compressed_size)
            assert kept["null_count"] == chunk.statistics.null_count
    assert first == 5000
    assert bool(entry["pages"]) == pages
    for page in entry["pages"]:
        chunk = entry["chunks"][page["block"] * len(leaves) + page["column"]]
        assert chunk["offset"] <= page["offset"] and page["offset"] + page["length"] <= chunk["offset"] + chunk["length"]
        assert index or leaves[page["column"]].startswith("l") or page["first_row"] is not None


def test_walked_pages_are_those_of_the_index(tmp_path):
    for name, index in (("a", False), ("b", True)):
        pq.write_table(sample(nested=False), tmp_path / f"{name}.parquet", row_group_size=1200, data_page_size=500,
                       write_batch_size=50, write_page_index=index)
    run("map", "-q", tmp_path, "--pages")
    walked, indexed = load(tmp_path)
    # Where a page has no statistics elsewhere they are in its header, so that sizes differ.
    rows_of = [[(p["block"], p["column"], p["first_row"]) for p in entry["pages"]] for entry in (walked, indexed)]
    assert len(rows_of[0]) > 100 and rows_of[0] == rows_of[1]


def bounds(stat):
    for kind in "iufb":
        if stat.get("min_" + kind) is not None:
            return stat["min_" + kind], stat["max_" + kind]
    return None, None


@pytest.mark.parametrize("how", ["footer", "index", "data"])
def test_statistics(tmp_path, how):
    """From the footer, from the column index where the footer has none, and from the data."""
    table = sample()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=900, write_statistics=how != "data",
                   write_page_index=how == "index")
    run("map", "-q", tmp_path, "--stats", "block")
    entry = load(tmp_path)[0]
    kept = {c["name"]: c for c in entry["columns"]}
    assert list(kept) == ["id", "k", "s", "f", "u", "p.x", "p.y", "l"]
    flat = {**{n: table[n] for n in "id k s f u".split()}, "p.x": pc.struct_field(table["p"], "x"),
            "p.y": pc.struct_field(table["p"], "y")}
    for name, column in flat.items():
        stat = kept[name]
        assert stat["null_count"] == column.null_count, name
        low, high = bounds(stat)
        want = pc.min_max(column)
        if name == "s":
            assert low == "bb".encode() and high == "ä".encode()
        elif name == "p.y":
            assert (low, high) == (b"t", b"t")
        else:
            assert (low, high) == (want["min"].as_py(), want["max"].as_py()), name
    assert kept["l"]["null_count"] is None    # of a list the footer has none, and no data is read for that alone
    per_block = [c for c in entry["block_columns"] if c["name"] == "k"]
    for g, stat in enumerate(per_block):
        part = table["k"].slice(g * 900, 900)
        want = pc.min_max(part)
        assert (stat["null_count"], *bounds(stat)) == (part.null_count, want["min"].as_py(), want["max"].as_py())


def test_no_page_is_read_for_a_map(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(sample(20000), path, compression="none")
    size = path.stat().st_size
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little") + 8
    read = traced(path, "map", "-q", tmp_path, "--no-checksums") if "--no-checksums" in run("map", "--help")[0].decode() \
        else None
    assert read is None or read < 70000 < size, (read, size, footer)


# ---------------------------------------------------------------- only the pages with wanted rows

@pytest.mark.parametrize("way", ["index", "pages", "v2"])
def test_a_slice_reads_its_pages_alone(tmp_path, way):
    path, n = tmp_path / "a.parquet", 200000
    table = pa.table({"a": pa.array(range(n), pa.int64()), "b": pa.array([f"text {i}" for i in range(n)]),
                      "c": pa.array([float(i) for i in range(n)])})
    pq.write_table(table, path, row_group_size=n, data_page_size=8192, write_batch_size=500, compression="none",
                   use_dictionary=False, write_page_index=way == "index", data_page_version="2.0" if way == "v2" else "1.0")
    run("map", "-q", tmp_path, *(["--pages"] if way != "index" else []))
    size = path.stat().st_size
    for args in (["slice", path, "--offset", "123456", "--limit", "10"], ["take", path, "5", "100000", "199999"]):
        read = traced(path, *args, "-q")
        assert read < size / 20, (read, size)
        one = traced(path, *args, "-q", "--columns", "b")
        assert one < read
    got = run("slice", path, "--offset", "123456", "--limit", "2", "--to", "ndjson")[0].decode().splitlines()
    assert [json.loads(g)["b"] for g in got] == ["text 123456", "text 123457"]


def test_the_second_open_reads_no_footer(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({f"c{i}": pa.array(range(100)) for i in range(300)})
    pq.write_table(table, path, row_group_size=2)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    assert footer > 10**6
    run("map", "-q", tmp_path)
    assert traced(path, "slice", path, "--offset", "50", "--limit", "1", "--columns", "c7", "-q") < 20000


def test_a_changed_file_is_read_as_it_is(tmp_path):
    """Of the same size and time of change: the end of the file tells."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    run("map", "-q", tmp_path)
    old = path.stat()
    pq.write_table(pa.table({"a": [4, 5, 6]}), path)
    assert path.stat().st_size == old.st_size
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    out = run("slice", path, "--to", "ndjson")[0].decode().split()
    assert [json.loads(o)["a"] for o in out] == [4, 5, 6]


# ---------------------------------------------------------------- beside other formats

def test_one_row_space_with_text(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,when\n1,x,2024-01-01T00:00:00\n2,,\n")
    (tmp_path / "b.ndjson").write_text('{"id":3,"more":[1,2]}\n')
    pq.write_table(pa.table({"name": ["p", "q"], "id": pa.array([4, 2**40], pa.int64()), "flag": [True, None]}),
                   tmp_path / "c.parquet")
    run("map", "-q", tmp_path)
    rows = [json.loads(line) for line in run("slice", tmp_path, "--to", "ndjson")[0].decode().splitlines()]
    assert [r["id"] for r in rows] == [1, 2, 3, 4, 2**40]
    assert [r["name"] for r in rows] == ["x", None, None, "p", "q"]
    assert [r["flag"] for r in rows] == [None, None, None, True, None]
    taken = run("take", tmp_path, "4", "0", "3", "--columns", "id", "--to", "ndjson")[0].decode().split()
    assert [json.loads(t)["id"] for t in taken] == [2**40, 1, 4]
    place = run("locate", tmp_path, "4")[0].decode()
    assert "c.parquet" in place


def test_splits_are_row_groups(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(sample(), path, row_group_size=1000, compression="zstd")
    splits = json.loads(run("splits", path, "--target", "1", "--json", "--check")[0])["splits"]
    assert [s["rows"] for s in splits] == [1000] * 5
    meta = pq.read_metadata(path)
    for g, s in enumerate(splits):
        group = meta.row_group(g)
        sizes = [group.column(c).total_compressed_size for c in range(group.num_columns)]
        assert s["bytes"] == sum(sizes)


# ---------------------------------------------------------------- damage

@pytest.mark.parametrize("crc", [False, True])
def test_any_flipped_byte_is_found(tmp_path, crc):
    good = tmp_path / "good.parquet"
    pq.write_table(sample(300), good, row_group_size=100, write_page_checksum=crc, compression="snappy")
    data = good.read_bytes()
    good.unlink()
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    run("map", "-q", tmp_path)
    stamp = path.stat()
    r = random.Random(1)
    for at in [0, 3, 4, len(data) - 1, len(data) - 9, *(r.randrange(len(data)) for _ in range(25))]:
        changed = bytearray(data)
        changed[at] ^= 1 << r.randrange(8)
        path.write_bytes(changed)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        report = json.loads(run("doctor", tmp_path, "--verify", "--json", status=1)[0])
        assert "a.parquet" in json.dumps(report), at
    path.write_bytes(data)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    run("doctor", tmp_path, "--verify")


@pytest.mark.parametrize("n", [2001, 2513])
def test_checksums_of_pages_are_compared_when_all_is_read(tmp_path, n):
    """Pages of lists do not say how many rows they have, and the last bytes of this one's indices are filling; its gzip checksum
    counts all the same when every row is read."""
    path = tmp_path / "a.parquet"
    lists = [[i * 7919 % 100, i * 31 % 100] for i in range(n)] + [[1], [5]]
    pq.write_table(pa.table({"l": pa.array(lists, pa.list_(pa.int64()))}), path, compression="gzip", write_statistics=False)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    changed = bytearray(path.read_bytes())
    run("slice", path)
    changed[chunk.dictionary_page_offset + chunk.total_compressed_size - 6] ^= 0x55
    path.write_bytes(changed)
    run("slice", path, status=3)


def test_encrypted_files_are_refused_by_name(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PARE" + bytes(100) + b"\x10\0\0\0PARE")
    assert "encrypted" in run("slice", path, status=3)[1]


# ---------------------------------------------------------------- memory

@pytest.mark.parametrize("how", ["none", "none, index", "snappy", "zstd, index", "zstd, dictionary", "lz4, v2"])
def test_a_large_group_is_sliced_within_pages(tmp_path, how):
    """A row group of 400 MB, within 16 MB: of pages of 1 MB, and a dictionary of 4 MB."""
    path, n = tmp_path / "a.parquet", 400000
    text = pa.array([f"{i:04}" * 250 for i in range(1000)])
    columns = {"id": pa.array(range(n), pa.int64()), "s": pa.chunked_array([text] * (n // 1000))}
    pq.write_table(pa.table(columns), path, row_group_size=n, compression=how.split(",")[0], use_dictionary="dictionary" in how,
                   dictionary_pagesize_limit=4 << 20, data_page_size=1 << 20, write_page_index="index" in how,
                   data_page_version="2.0" if "v2" in how else "1.0")
    library = Library(memory_limit=16 << 20)
    with library.open(path) as f:
        part, taken = f.slice(399990, 5), f.take([0, 399999, 200000])
        assert part["id"].to_pylist() == list(range(399990, 399995))
        assert part["s"].to_pylist() == [f"{i:04}" * 250 for i in range(990, 995)]
        assert taken["id"].to_pylist() == [0, 399999, 200000]
        assert taken["s"].to_pylist() == ["0000" * 250, "0999" * 250, "0000" * 250]
    with pytest.raises(OSError, match="memory limit"), Library(memory_limit=1 << 20).open(path) as f:
        f.slice(0, 1000 if "dictionary" not in how else 20000)


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "brotli", "lz4", "gzip"])
def test_every_row_alone(tmp_path, codec):
    """Pages and dictionaries are decompressed up to the row: of every kind of value, with nulls, wherever it stands."""
    r, n, path = random.Random(codec), 30000, tmp_path / "a.parquet"
    values = {"plain": [i * 7919 for i in range(n)], "few": [r.randrange(40) for _ in range(n)],
              "many": [f"{r.randrange(20000)} of many" for _ in range(n)], "nulls": [None if r.random() < 0.3 else i for i in range(n)],
              "text": [None if r.random() < 0.1 else "t" * r.randrange(90) + str(i) for i in range(n)],
              "flags": [None if r.random() < 0.2 else r.random() < 0.5 for _ in range(n)],
              "runs": [i // 700 for i in range(n)], "lists": [None if i % 9 == 0 else [i] * (i % 4) for i in range(n)],
              "long": ["x" * 3000 if i % 5000 == 17 else "s" for i in range(n)]}
    table = pa.table(values)
    encodings = {"plain": "PLAIN", "nulls": "DELTA_BINARY_PACKED", "text": "PLAIN", "flags": "RLE", "long": "PLAIN"}
    for index in (False, True):
        pq.write_table(table, path, compression=codec, use_dictionary=["few", "many", "runs", "lists.list.element"],
                       column_encoding=encodings, row_group_size=n // 2, data_page_size=100000, write_page_index=index,
                       max_rows_per_page=n, data_page_version="2.0" if index else "1.0")
        with Library().open(path) as f:
            for count in (1, 2, 7, 300):
                rows = [r.randrange(n) for _ in range(count)]
                assert f.take(rows).to_pydict() == table.take(rows).to_pydict()
            for _ in range(20):
                row, count = r.randrange(n), r.choice([1, 1, 3, 500])
                assert f.slice(row, count).to_pydict() == table.slice(row, count).to_pydict()
