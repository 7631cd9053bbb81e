"""A second writer of Arrow IPC, made from the format's description, for what pyarrow does not write: big-endian bodies,
metadata V4 with nulls in unions, buffers at odd places, messages without a marker, and wrong files.

A flatbuffer is told as dictionaries {field number: value}: I(width, number) is a number, text a string, a list a vector of
tables, a dictionary a table, Structs a vector of structs, Numbers a vector of numbers.
"""
import struct
from collections import namedtuple

import pyarrow as pa

I = namedtuple("I", "width number")  # noqa: E741
Structs = namedtuple("Structs", "count raw")
Numbers = namedtuple("Numbers", "width all")

V4, V5 = 3, 4
CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


# ---------------------------------------------------------------- flatbuffers

class Flat:
    def __init__(self):
        self.out = bytearray(4)

    def pad(self, size):
        self.out += bytes(-len(self.out) % size)

    def refer(self, at, to):
        self.out[at:at + 4] = struct.pack("<I", to - at)

    def vector(self, count, raw, align):
        while (len(self.out) + 4) % align:
            self.out.append(0)
        at = len(self.out)
        self.out += struct.pack("<I", count) + raw
        return at

    def value(self, v):
        """Write what is not a number; gives where it is."""
        if isinstance(v, dict):
            return self.table(v)
        if isinstance(v, str):
            at = self.vector(len(v.encode()), v.encode() + b"\0", 4)
            self.pad(4)
            return at
        if isinstance(v, Structs):
            return self.vector(v.count, v.raw, 8)
        if isinstance(v, Numbers):
            return self.vector(len(v.all), b"".join(struct.pack("<" + CODES[v.width], n) for n in v.all), max(v.width, 4))
        self.pad(4)
        at = self.vector(len(v), bytes(4 * len(v)), 4)
        for i, item in enumerate(v):
            self.refer(at + 4 + 4 * i, self.value(item))
        return at

    def table(self, fields):
        last = max(fields, default=-1)
        size, places = 4, {}
        for k in sorted(fields):
            width = fields[k].width if isinstance(fields[k], I) else 4
            size += -size % width
            places[k] = size
            size += width
        self.pad(8)
        vtable = 4 + 2 * (last + 1)
        self.out += bytes(-vtable % 8)
        at = len(self.out) + vtable
        self.out += struct.pack("<HH", vtable, size) + b"".join(struct.pack("<H", places.get(k, 0)) for k in range(last + 1))
        self.out += struct.pack("<i", vtable) + bytes(size - 4)
        for k, v in fields.items():
            if isinstance(v, I):
                self.out[at + places[k]:at + places[k] + v.width] = struct.pack("<" + CODES[v.width], v.number)
        for k, v in fields.items():
            if not isinstance(v, I):
                self.refer(at + places[k], self.value(v))
        return at


def flat(table):
    f = Flat()
    f.refer(0, f.table(table))
    f.pad(8)
    return bytes(f.out)


# ---------------------------------------------------------------- types

UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}


def type_of(t):
    """Number and table of a type, its children, and the item width of each of its own buffers (0: bytes, "b": bits)."""
    p = pa.types
    number = t.bit_width // 8 if p.is_primitive(t) and not p.is_boolean(t) else 0
    if p.is_null(t):
        return 1, {}, [], []
    if p.is_integer(t):
        return 2, {0: I(4, 8 * number), 1: I(1, int(p.is_signed_integer(t)))}, [], ["b", number]
    if p.is_floating(t):
        return 3, {0: I(2, {2: 0, 4: 1, 8: 2}[number])}, [], ["b", number]
    if p.is_boolean(t):
        return 6, {}, [], ["b", "b"]
    if p.is_decimal(t):
        width = t.bit_width // 8
        return 7, {0: I(4, t.precision), 1: I(4, t.scale), 2: I(4, t.bit_width)}, [], ["b", width]
    if p.is_date(t):
        return 8, {0: I(2, int(p.is_date64(t)))}, [], ["b", number]
    if p.is_time(t):
        return 9, {0: I(2, UNITS[t.unit]), 1: I(4, 8 * number)}, [], ["b", number]
    if p.is_timestamp(t):
        return 10, {0: I(2, UNITS[t.unit]), **({1: t.tz} if t.tz else {})}, [], ["b", 8]
    if p.is_duration(t):
        return 18, {0: I(2, UNITS[t.unit])}, [], ["b", 8]
    if p.is_interval(t):
        return 11, {0: I(2, 2)}, [], ["b", "mdn"]
    for is_it, kind, widths in ((p.is_binary, 4, ["b", 4, 0]), (p.is_string, 5, ["b", 4, 0]),
                                (p.is_large_binary, 19, ["b", 8, 0]), (p.is_large_string, 20, ["b", 8, 0])):
        if is_it(t) and not p.is_fixed_size_binary(t):
            return kind, {}, [], widths
    if p.is_fixed_size_binary(t):
        return 15, {0: I(4, t.byte_width)}, [], ["b", 0]
    if p.is_binary_view(t) or p.is_string_view(t):
        return 23 + int(p.is_string_view(t)), {}, [], ["b", "views"]
    for is_it, kind, widths in ((p.is_list, 12, ["b", 4]), (p.is_large_list, 21, ["b", 8]),
                                (p.is_list_view, 25, ["b", 4, 4]), (p.is_large_list_view, 26, ["b", 8, 8])):
        if is_it(t):
            return kind, {}, [t.value_field], widths
    if p.is_fixed_size_list(t):
        return 16, {0: I(4, t.list_size)}, [t.value_field], ["b"]
    if p.is_map(t):
        entries = pa.field("entries", pa.struct([t.key_field, t.item_field]), nullable=False)
        return 17, {0: I(1, 0)}, [entries], ["b", 4]
    if p.is_struct(t):
        return 13, {}, [t.field(i) for i in range(t.num_fields)], ["b"]
    if p.is_union(t):
        dense = t.mode == "dense"
        return 14, {0: I(2, int(dense)), 1: Numbers(4, t.type_codes)}, [t.field(i) for i in range(t.num_fields)], \
            [1, 4] if dense else [1]
    if p.is_run_end_encoded(t):
        return 22, {}, [pa.field("run_ends", t.run_end_type, nullable=False), pa.field("values", t.value_type)], []
    raise NotImplementedError(t)


def turn(raw, width):
    """Bytes of a buffer as a big-endian machine has them."""
    if width in (0, 1, "b"):
        return raw
    if width == "mdn":
        return b"".join(raw[i:i + 4][::-1] + raw[i + 4:i + 8][::-1] + raw[i + 8:i + 16][::-1] for i in range(0, len(raw), 16))
    if width == "views":
        out = b""
        for i in range(0, len(raw), 16):
            view = raw[i:i + 16]
            long = struct.unpack("<i", view[:4])[0] > 12
            out += view[:4][::-1] + (view[4:8] + view[8:12][::-1] + view[12:][::-1] if long else view[4:])
        return out
    whole = len(raw) // width * width
    return b"".join(raw[i:i + width][::-1] for i in range(0, whole, width)) + raw[whole:]


# ---------------------------------------------------------------- batches

class Writer:
    """`union_nulls`: rows of unions that are null of themselves, given to V4 as a bitmap."""

    def __init__(self, *, big=False, version=V5, marker=True, align=8, codec=None, union_nulls=None, odd=0):
        self.big, self.version, self.marker, self.align, self.codec = big, version, marker, align, codec
        self.union_nulls, self.odd = union_nulls, odd
        self.ids = {}

    # -- schema

    def field(self, f, path):
        out = {0: f.name, 1: I(1, int(f.nullable))}
        t = f.type
        if pa.types.is_dictionary(t):
            self.ids[path] = len(self.ids)
            kind, table, _, _ = type_of(t.index_type)
            out[4] = {0: I(8, self.ids[path]), 1: table}
            t = t.value_type
        kind, table, children, _ = type_of(t)
        out[2], out[3] = I(1, kind), table
        out[5] = [self.field(c, (*path, i)) for i, c in enumerate(children)]
        if f.metadata:
            out[6] = [{0: k.decode(), 1: v.decode()} for k, v in f.metadata.items()]
        return out

    def schema(self, schema):
        self.ids = {}
        table = {1: [self.field(schema.field(i), (i,)) for i in range(len(schema))]}
        if self.big:
            table[0] = I(2, 1)
        return table

    # -- arrays

    def add(self, a, path, parts):
        nodes, buffers, views, dictionaries = parts
        t = a.type
        if pa.types.is_dictionary(t):
            self.add(a.indices, path, parts)
            dictionaries.append((self.ids[path], a.dictionary, path))
            return
        _, _, _, widths = type_of(t)
        union = pa.types.is_union(t)
        own = a.buffers()
        if union:
            own = own[1:]
            nulls = self.union_nulls(len(a)) if self.union_nulls else []
            if self.version == V4:
                bits = bytearray((len(a) + 7) // 8)
                for i in range(len(a)):
                    bits[i // 8] |= (i not in nulls) << i % 8
                buffers.append(bytes(bits) if nulls else b"")
            nodes.append((len(a), len(nulls)))
        else:
            nodes.append((len(a), a.null_count))
        for buffer, width in zip(own, widths):
            raw = b"" if buffer is None or (width == "b" and buffer is own[0] and a.null_count == 0 and not union) \
                else buffer.to_pybytes()
            if pa.types.is_boolean(t) and buffer is not None and buffer is own[1]:
                raw = buffer.to_pybytes()
            buffers.append(turn(raw, width) if self.big else raw)
        if widths[-1:] == ["views"]:
            views.append(len(own) - 2)
            buffers += [b.to_pybytes() for b in own[2:]]
        for i, c in enumerate(self.children(a)):
            self.add(c, (*path, i), parts)

    @staticmethod
    def children(a):
        p, t = pa.types, a.type
        if p.is_map(t):
            return [pa.StructArray.from_arrays([a.keys, a.items], fields=[t.key_field, t.item_field])]
        if p.is_list(t) or p.is_large_list(t) or p.is_list_view(t) or p.is_large_list_view(t) or p.is_fixed_size_list(t):
            return [a.values]
        if p.is_struct(t) or p.is_union(t):
            return [a.field(i) for i in range(t.num_fields)]
        if p.is_run_end_encoded(t):
            return [a.run_ends, a.values]
        return []

    def compress(self, raw):
        if self.codec is None or not raw:
            return raw
        packed = pa.compress(raw, codec=self.codec, asbytes=True)
        if len(packed) >= len(raw):
            return struct.pack("<q", -1) + raw
        return struct.pack("<q", len(raw)) + packed

    def batch(self, rows, parts):
        nodes, buffers, views, _ = parts
        body, places = bytearray(), b""
        for raw in map(self.compress, buffers):
            body += bytes(-len(body) % self.align + (self.odd if raw else 0))
            places += struct.pack("<qq", len(body), len(raw))
            body += raw
        body += bytes(-len(body) % 8)
        table = {0: I(8, rows), 1: Structs(len(nodes), b"".join(struct.pack("<qq", *n) for n in nodes)),
                 2: Structs(len(buffers), places)}
        if self.codec:
            table[3] = {0: I(1, {"lz4": 0, "zstd": 1}[self.codec])}
        if views:
            table[4] = Numbers(8, views)
        return table, bytes(body)

    def message(self, kind, table, body=b"", pairs=None):
        head = {0: I(2, self.version), 1: I(1, kind), 2: table, 3: I(8, len(body))}
        if pairs:
            head[4] = [{0: k, 1: v} for k, v in pairs.items()]
        head = flat(head)
        head += bytes(-(len(head) + (8 if self.marker else 4)) % 8)
        prefix = b"\xff\xff\xff\xff" if self.marker else b""
        return prefix + struct.pack("<i", len(head)) + head, body

    def dictionary(self, number, values, path, delta=False):
        """The messages of a dictionary, those inside it first."""
        parts = ([], [], [], [])
        self.add(values, path, parts)
        out = [m for inner in parts[3] for m in self.dictionary(*inner)]
        table, body = self.batch(len(values), parts)
        return out + [self.message(2, {0: I(8, number), 1: table, **({2: I(1, 1)} if delta else {})}, body)]

    def record(self, batch):
        """Messages of its dictionaries, and its own."""
        parts = ([], [], [], [])
        for i in range(batch.num_columns):
            self.add(batch.column(i), (i,), parts)
        dictionaries = [m for d in parts[3] for m in self.dictionary(*d)]
        return dictionaries, self.message(3, *self.batch(batch.num_rows, parts))

    # -- whole files

    def stream(self, schema, batches, end=True):
        out = b"".join(self.message(1, self.schema(schema)))
        for b in batches:
            dictionaries, record = self.record(b)
            out += b"".join(h + body for h, body in [*dictionaries, record])
        return out + ((b"\xff\xff\xff\xff" if self.marker else b"") + bytes(4) if end else b"")

    def file(self, schema, batches):
        """Dictionaries of the first batch serve all."""
        table = self.schema(schema)
        out = bytearray(b"ARROW1\0\0" + b"".join(self.message(1, table)))
        lists = {2: [], 3: []}
        for n, b in enumerate(batches):
            dictionaries, record = self.record(b)
            for which, messages in ((2, dictionaries if n == 0 else []), (3, [record])):
                for head, body in messages:
                    out += bytes(-len(out) % 8)
                    lists[which].append(struct.pack("<qi4xq", len(out), len(head), len(body)))
                    out += head + body
        footer = flat({0: I(2, self.version), 1: table, **{k: Structs(len(v), b"".join(v)) for k, v in lists.items()}})
        return bytes(out) + footer + struct.pack("<i", len(footer)) + b"ARROW1"
