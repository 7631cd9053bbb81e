"""Parquet files that pyarrow wrote at random, over types, encodings, codecs, page versions, nesting, nulls, page and group sizes:
any rows, by slice and take, with a map (with its pages and without) and without one, are those that pyarrow reads.

Run by pytest; LAKEBED names the command and LAKEBED_LIB the library. LAKEBED_ROUNDS: how many files.
"""
import datetime
import decimal
import os
import pathlib
import random
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parquet_api import Library

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
ROUNDS = int(os.environ.get("LAKEBED_ROUNDS", "60"))
CODECS = ["NONE", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"]

# ---------------------------------------------------------------- types and values


def some_int(r, bits, signed):
    low, high = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
    kind = r.randrange(4)
    if kind == 0:
        return r.choice([low, high, 0])
    if kind == 1:
        return r.randint(low, high)
    return r.randint(max(low, -9), 9)


def some_text(r):
    return "".join(r.choice(["a", "b", "zz", "é", "日本", "😀", "0"]) for _ in range(r.choice([0, 1, 2, 3, 20])))


INTS = {f"{'' if s else 'u'}int{b}": (b, s) for b in (8, 16, 32, 64) for s in (True, False)}
FLAT = [*INTS, "bool", "float16", "float32", "float64", "string", "binary", "fixed", "date", "time_ms", "time_us", "time_ns",
        "ts_ms", "ts_us", "ts_ns", "ts_us_utc", "decimal_small", "decimal_mid", "decimal_large", "decimal_huge", "null", "dict"]


class Kind:
    """A type, and how to make a value of it."""

    def __init__(self, r, depth=0):
        nested = ["list", "struct", "map", "list", "large_list", "fixed_list"] if depth < 3 else []
        self.name = r.choice(nested) if nested and r.random() < (0.35 if depth == 0 else 0.3) else r.choice(FLAT)
        self.nulls = r.choice([0, 0, 0.1, 0.5, 0.9, 1])
        self.width = r.randint(1, 20)
        self.distinct = r.choice([1, 3, 50, 0])    # 0: as they come
        self.pool = []
        if self.name in ("list", "large_list", "fixed_list"):
            self.children = [Kind(r, depth + 1)]
        elif self.name == "struct":
            self.children = [Kind(r, depth + 1) for _ in range(r.randint(1, 3))]
        elif self.name == "map":
            key = Kind(r, 9)
            while key.name in ("null", "dict"):
                key = Kind(r, 9)
            self.children = [key, Kind(r, depth + 1)]
        else:
            self.children = []
        scale = r.randint(0, 3)
        simple = {**{n: getattr(pa, n)() for n in INTS}, "bool": pa.bool_(), "float16": pa.float16(), "float32": pa.float32(),
                  "float64": pa.float64(), "string": pa.string(), "binary": pa.binary(), "fixed": pa.binary(self.width),
                  "date": pa.date32(), "time_ms": pa.time32("ms"), "time_us": pa.time64("us"), "time_ns": pa.time64("ns"),
                  "ts_ms": pa.timestamp("ms"), "ts_us": pa.timestamp("us"), "ts_ns": pa.timestamp("ns"),
                  "ts_us_utc": pa.timestamp("us", "UTC"), "decimal_small": pa.decimal128(9, scale),
                  "decimal_mid": pa.decimal128(18, scale), "decimal_large": pa.decimal128(38, scale),
                  "decimal_huge": pa.decimal256(76, scale), "null": pa.null(), "dict": pa.dictionary(pa.int32(), pa.string())}
        self.digits = {"decimal_small": 9, "decimal_mid": 18, "decimal_large": 38, "decimal_huge": 76}.get(self.name)
        self.scale, self.fixed_items = scale, r.randint(1, 3)
        self.nullable = self.nulls != 0 or self.name == "null" or r.random() < 0.5
        if self.name in simple:
            self.type = simple[self.name]
        elif self.name == "struct":
            self.type = pa.struct([pa.field(f"f{i}", c.type, c.nullable) for i, c in enumerate(self.children)])
        elif self.name == "map":
            self.type = pa.map_(self.children[0].type, pa.field("value", self.children[1].type, self.children[1].nullable))
        else:
            item = pa.field("item", self.children[0].type, self.children[0].nullable)
            self.type = {"list": pa.list_(item), "large_list": pa.large_list(item),
                         "fixed_list": pa.list_(item, self.fixed_items)}[self.name]

    def value(self, r):
        if self.nulls and r.random() < self.nulls:
            return None
        if self.distinct and len(self.pool) >= self.distinct:
            return r.choice(self.pool)
        v = self.new(r)
        self.pool.append(v)
        return v

    def new(self, r):
        n = self.name
        if n in INTS:
            return some_int(r, *INTS[n])
        if n.startswith("float"):
            return r.choice([0.0, -0.0, 1.5, float("inf"), r.randint(-1000, 1000) / 8])
        if n == "null":
            return None
        if n == "bool":
            return r.random() < 0.5
        if n in ("string", "dict"):
            return some_text(r)
        if n == "binary":
            return r.randbytes(r.choice([0, 1, 5, 30]))
        if n == "fixed":
            return r.randbytes(self.width)
        if n == "date":
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=r.randint(-30000, 30000))
        if n.startswith("time_"):
            return r.randrange({"ms": 86400000, "us": 86400000000, "ns": 86400000000000}[n[5:]])
        if n.startswith("ts_"):
            return r.randint(-2**40, 2**40) if "ns" not in n else r.randint(-2**62, 2**62)
        if self.digits:
            number = r.choice([r.randint(-10**self.digits + 1, 10**self.digits - 1), r.randint(-99, 99)])
            with decimal.localcontext() as c:
                c.prec = 80
                return decimal.Decimal(number).scaleb(-self.scale)
        if n == "struct":
            return {f"f{i}": c.value(r) for i, c in enumerate(self.children)}
        if n == "map":
            return [(self.children[0].new(r), self.children[1].value(r)) for _ in range(r.choice([0, 1, 1, 3]))]
        count = self.fixed_items if n == "fixed_list" else r.choice([0, 1, 2, 7])
        return [self.children[0].value(r) for _ in range(count)]


def make_table(r):
    kinds = [Kind(r) for _ in range(r.choice([1, 2, 4, 9]))]
    n = r.choice([0, 1, 7, 100, 100, 1000, 3000])
    columns = [pa.array([k.value(r) for _ in range(n)], k.type) for k in kinds]
    schema = pa.schema([pa.field(f"c{i}", k.type, k.nullable) for i, k in enumerate(kinds)])
    return pa.table(columns, schema=schema), kinds


# ---------------------------------------------------------------- files

ENCODINGS = {"INT32": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"], "INT64": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
             "FLOAT": ["BYTE_STREAM_SPLIT"], "DOUBLE": ["BYTE_STREAM_SPLIT"],
             "BYTE_ARRAY": ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
             "FIXED_LEN_BYTE_ARRAY": ["BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"], "BOOLEAN": ["RLE"], "INT96": []}


def leaf_types(table, options):
    """Dotted paths of the leaves, and their physical types: as pyarrow itself would write them."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.slice(0, 0), sink, **options)
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return {schema.column(i).path: schema.column(i).physical_type for i in range(len(schema))}


def write_file(r, table, path):
    options = dict(compression=r.choice(CODECS), data_page_version=r.choice(["1.0", "2.0"]), version=r.choice(["1.0", "2.4", "2.6"]),
                   store_schema=False, write_statistics=r.random() < 0.8, write_page_index=r.random() < 0.5,
                   write_page_checksum=r.random() < 0.5, data_page_size=r.choice([1, 100, 1000, 10**6]),
                   write_batch_size=r.choice([1, 10, 1024]), dictionary_pagesize_limit=r.choice([1, 200, 10**6]),
                   use_compliant_nested_type=r.random() < 0.5, allow_truncated_timestamps=True)
    if r.random() < 0.1:
        options["use_deprecated_int96_timestamps"] = True
    options["row_group_size"] = r.choice([1, 13, 500, 10**6]) if table.num_rows <= 100 else r.choice([170, 900, 10**6])
    way = r.randrange(3)
    options["use_dictionary"] = way == 0
    if way == 1:
        leaves = leaf_types(table, options)
        options["column_encoding"] = {name: r.choice(["PLAIN", *ENCODINGS[t]]) for name, t in leaves.items()}
    pq.write_table(table, path, **options)
    return options


# ---------------------------------------------------------------- comparing

def check_same(got, want, what):
    assert got.num_rows == want.num_rows and got.column_names == want.column_names, what
    for name, a, b in zip(got.column_names, got.columns, want.columns):
        if a.type != b.type:    # names of list items may differ, nothing else
            a = a.cast(b.type)
        if a.equals(b):
            continue
        a, b = a.to_pylist(), b.to_pylist()
        if repr(a) != repr(b):
            row = next(i for i, (x, y) in enumerate(zip(a, b)) if repr(x) != repr(y))
            raise AssertionError(f"{what}: column {name}, row {row}: {a[row]!r}, not {b[row]!r}")


def check_file(r, library, path, want, what, no_map=False):
    n, names = want.num_rows, want.column_names
    with library.open(path, no_map) as f:
        check_same(f.slice(), want, what)
        for _ in range(4):
            offset, limit = r.randint(0, n + 1), r.choice([1, 2, 10, n])
            columns = [r.choice(names) for _ in range(r.randint(1, 3))] if r.random() < 0.5 else None
            part = want.slice(min(offset, n), limit)
            if columns is not None:
                part = pa.table([part[c] for c in columns], names=columns)
            check_same(f.slice(offset, limit, columns), part, (what, offset, limit, columns))
        if n != 0:
            rows = [r.randrange(n) for _ in range(r.choice([1, 3, 40]))]
            check_same(f.take(rows), want.take(rows), (what, "take", rows))


def plain(type_):
    """The type that a file has for it, which no schema of Arrow's is in."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(plain(f.type)) for f in type_])
    if pa.types.is_map(type_):
        return pa.map_(plain(type_.key_type), type_.item_field.with_type(plain(type_.item_type)))
    if type_.num_fields == 1:
        return pa.list_(type_.value_field.with_type(plain(type_.value_type)))
    return type_


def read_by_pyarrow(path, table):
    """What the file holds; a file that pyarrow wrote and cannot read holds what it was made of."""
    try:
        read = pq.ParquetFile(path, arrow_extensions_enabled=False).read()
    except pa.ArrowException:
        read = None
    if read is not None and read.num_rows == table.num_rows:
        return read
    return table.cast(pa.schema([f.with_type(plain(f.type)) for f in table.schema]))


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_generated(tmp_path, seed):
    r = random.Random(seed)
    table, _ = make_table(r)
    path = tmp_path / "a.parquet"
    try:
        options = write_file(r, table, path)
    except pa.ArrowException as e:
        pytest.skip(f"pyarrow writes no such file: {e}")
    want, what = read_by_pyarrow(path, table), str(options)
    for threads in (1, 3):
        check_file(r, Library(threads), path, want, what)
    for flags in ([], ["--pages"], ["--stats", "none"]):
        subprocess.run([LAKEBED, "map", "-q", tmp_path, *flags], check=True, timeout=120)
        check_file(r, Library(r.choice([1, 3])), path, want, (what, flags))
