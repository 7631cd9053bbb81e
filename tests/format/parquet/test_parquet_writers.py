"""Footers as writers with faults have them, made of pyarrow's by changing fields of its Thrift: rows are read as they were meant, statistics
that cannot be trusted are not, and what cannot be read is refused by name. Run by pytest; LAKEBED names the command."""
import json
import os
import pathlib
import struct
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))

# ---------------------------------------------------------------- the compact protocol, both ways
# A struct is a dictionary of field ids to (type, value); a list is (type of items, items).

TRUE, FALSE, I8, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
I16, I32, I64 = 4, 5, 6


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value

    def value(self, kind):
        if kind in (TRUE, FALSE):
            return self.byte() == 1
        if kind == I8:
            return self.byte()
        if kind in (I16, I32, I64):
            v = self.varint()
            return v >> 1 ^ -(v & 1)
        if kind == DOUBLE:
            self.at += 8
            return self.data[self.at - 8:self.at]
        if kind == BINARY:
            n = self.varint()
            self.at += n
            return self.data[self.at - n:self.at]
        if kind in (LIST, SET):
            head = self.byte()
            n = head >> 4 if head >> 4 != 15 else self.varint()
            return head & 15, [self.value(head & 15) for _ in range(n)]
        assert kind == STRUCT
        fields, number = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            number = number + (head >> 4) if head >> 4 else self.value(I16)
            kind = head & 15
            fields[number] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind))


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def encoded(kind, v):
    if kind in (TRUE, FALSE):
        return b"\1" if v else b"\2"
    if kind == I8:
        return bytes([v])
    if kind in (I16, I32, I64):
        return varint((v << 1 ^ v >> 63) & 2**64 - 1)
    if kind == DOUBLE:
        return v
    if kind == BINARY:
        return varint(len(v)) + v
    if kind in (LIST, SET):
        item, items = v
        head = bytes([len(items) << 4 | item]) if len(items) < 15 else bytes([0xF0 | item]) + varint(len(items))
        return head + b"".join(encoded(item, i) for i in items)
    out, last = b"", 0
    for number, (kind, value) in sorted(v.items()):
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        out += bytes([number - last << 4 | kind]) if number - last < 16 else bytes([kind]) + encoded(I16, number)
        out += b"" if kind in (TRUE, FALSE) else encoded(kind, value)
        last = number
    return out + b"\0"


def changed(path, change):
    """Let `change` have the FileMetaData of a file, and write it back."""
    data = path.read_bytes()
    size = struct.unpack("<I", data[-8:-4])[0]
    footer = Reader(data[-8 - size:-8]).value(STRUCT)
    assert encoded(STRUCT, footer) == data[-8 - size:-8]
    change(footer)
    new = encoded(STRUCT, footer)
    path.write_bytes(data[:-8 - size] + new + struct.pack("<I", len(new)) + b"PAR1")


def chunks(footer):
    return [chunk for group in footer[4][1][1] for chunk in group[1][1][1]]


def metas(footer):
    return [chunk[3][1] for chunk in chunks(footer)]


def statistics(footer, column):
    return [m[12][1] for i, m in enumerate(metas(footer)) if i % 4 == column]


# ---------------------------------------------------------------- files

ROWS = [{"i": i % 7 - 3 if i % 5 else None, "s": f"t{i % 11}", "f": i / 4, "l": list(range(i % 3))} for i in range(60)]


@pytest.fixture
def path(tmp_path):
    table = pa.Table.from_pylist(ROWS, pa.schema([("i", pa.int32()), ("s", pa.string()), ("f", pa.float64()),
                                                  ("l", pa.list_(pa.int64()))]))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=25, compression="none", data_page_size=40, write_batch_size=5,
                   write_page_index=True)
    return tmp_path / "a.parquet"


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    assert p.returncode == status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout.decode(), p.stderr.decode(errors="replace")


def check_rows(path):
    for mapped in (False, True):
        if mapped:
            run("map", "-q", path.parent)
        got = [json.loads(line) for line in run("slice", path, "--to", "ndjson")[0].splitlines()]
        assert got == ROWS
        got = [json.loads(line) for line in run("take", path, "59", "24", "25", "0", "--to", "ndjson")[0].splitlines()]
        assert got == [ROWS[59], ROWS[24], ROWS[25], ROWS[0]]


def no_file_rows(footer):
    footer[3] = (I64, 0)


def no_dictionary_offset(footer):
    for m in metas(footer):
        if 11 in m:
            m[9] = m.pop(11)


def zero_dictionary_offset(footer):
    for m in metas(footer):
        if 11 in m:
            m[9], m[11] = m[11], (I64, 0)


def short_chunks(footer):
    """The length of a chunk leaves out the header of its dictionary page."""
    for m in metas(footer):
        if 11 in m:
            m[7] = (I64, m[7][1] - 14)


def no_optional_fields(footer):
    for c in chunks(footer):
        for field in (4, 5, 6, 7):
            c.pop(field, None)
        for field in (8, 10, 12, 13, 14, 15, 16):
            c[3][1].pop(field, None)
    for field in (5, 6, 7):
        footer.pop(field, None)


def wild_offset_indexes(footer):
    for k, c in enumerate(chunks(footer)):
        c[4] = (I64, [4, 10**15, 1, 50][k % 4])
        c[5] = (I32, [30, 30, 2**31 - 1, 7][k % 4])


def swapped_offset_indexes(footer):
    """Each chunk has the index of another one."""
    places = [(c[4], c[5]) for c in chunks(footer)]
    for c, (offset, length) in zip(chunks(footer), places[1:] + places[:1]):
        c[4], c[5] = offset, length


@pytest.mark.parametrize("fault", [no_file_rows, no_dictionary_offset, zero_dictionary_offset, short_chunks, no_optional_fields,
                                   wild_offset_indexes, swapped_offset_indexes], ids=lambda f: f.__name__)
def test_rows_are_as_they_were_meant(path, fault):
    changed(path, fault)
    check_rows(path)


# ---------------------------------------------------------------- statistics

def kept(path, name):
    run("map", "-q", path.parent)
    with pa.ipc.open_file(path.parent / ".br_map.bazan") as f:
        entry = f.read_all().to_pylist()[0]
    return next(c for c in entry["columns"] if c["name"] == name)


def no_orders(footer):
    footer.pop(7)


def strip_index(footer):
    for c in chunks(footer):
        c.pop(6, None)
        c.pop(7, None)


def turned_over(footer):
    for s in statistics(footer, 0):
        s[5], s[6] = s[6], s[5]
        s[1], s[2] = s[2], s[1]


def wrong_size(footer):
    for s in statistics(footer, 0):
        s[6] = s[2] = (BINARY, b"\0\0\0\0\0")


def too_many_nulls(footer):
    for s in statistics(footer, 0):
        s[3] = (I64, 10**6)


def no_nulls_said(footer):
    for s in statistics(footer, 0):
        s.pop(3)


@pytest.mark.parametrize("fault", [turned_over, wrong_size, too_many_nulls, no_nulls_said, no_optional_fields],
                         ids=lambda f: f.__name__)
def test_numbers_that_cannot_be_are_looked_up(path, fault):
    changed(path, strip_index)
    changed(path, fault)
    stat = kept(path, "i")
    assert (stat["min_i"], stat["max_i"], stat["null_count"]) == (-3, 3, 12)


def nan_bounds(footer):
    for s in statistics(footer, 2):
        for field in (1, 2, 5, 6):
            s[field] = (BINARY, struct.pack("<d", float("nan")))


def test_nan_is_no_bound(path):
    changed(path, strip_index)
    changed(path, nan_bounds)
    stat = kept(path, "f")
    assert (stat["min_f"], stat["max_f"]) == (0.0, 59 / 4)


def old_text_bounds(footer):
    """The deprecated bounds of text were compared as signed bytes, or not at all: these are nonsense."""
    for s in statistics(footer, 1):
        s.pop(5), s.pop(6)
        s[1], s[2] = (BINARY, b"\0"), (BINARY, b"\0")


def test_old_bounds_of_text_are_not_believed(path):
    changed(path, strip_index)
    changed(path, old_text_bounds)
    stat = kept(path, "s")
    assert (stat["min_b"], stat["max_b"]) == (b"t0", b"t9")


def test_bounds_without_an_order_are_not_believed(path):
    def lies(footer):
        no_orders(footer)
        for s in statistics(footer, 1):
            s[5] = s[6] = (BINARY, b"lie")

    changed(path, strip_index)
    changed(path, lies)
    stat = kept(path, "s")
    assert (stat["min_b"], stat["max_b"]) == (b"t0", b"t9")


# ---------------------------------------------------------------- refused by name

def unknown_codec(footer):
    for m in metas(footer):
        m[4] = (I32, 77)


def encrypted_column(footer):
    chunks(footer)[0][8] = (STRUCT, {1: (STRUCT, {})})


def other_files(footer):
    for c in chunks(footer):
        c[1] = (BINARY, b"part-0.parquet")


def negative_rows(footer):
    footer[4][1][1][0][3] = (I64, -5)


def chunk_past_the_end(footer):
    metas(footer)[0][7] = (I64, 10**12)


@pytest.mark.parametrize("fault,says", [(unknown_codec, "codec 77"), (encrypted_column, "encrypted columns"),
                                        (other_files, "part-0.parquet"), (negative_rows, "-5 rows"),
                                        (chunk_past_the_end, "past the end")], ids=lambda f: getattr(f, "__name__", ""))
def test_what_cannot_be_read_says_why(path, fault, says):
    changed(path, fault)
    assert says in run("slice", path, status=3)[1]
