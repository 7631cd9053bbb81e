"""A second writer of Lance v1 files, made from the format's description alone, so that tests can write what no library would:
any layout that is allowed, and what is not."""
import struct


# ---------------------------------------------------------------- protobuf

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(n & 0x7F | (0x80 if n > 0x7F else 0))
        n >>= 7
        if n == 0:
            return bytes(out)


def num(number, value):
    return varint(number << 3) + varint(value)


def opt(number, value):
    return num(number, value) if value else b""


def blob(number, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def packed(number, values):
    return blob(number, b"".join(map(varint, values))) if values else b""


def entry(number, key, value):
    return blob(number, blob(1, key) + blob(2, value))


def framed(message):
    return struct.pack("<I", len(message)) + message


def footer(position, major=0, minor=1):
    return struct.pack("<qHH", position, major, minor) + b"LANC"


# ---------------------------------------------------------------- fields

class Field:
    def __init__(self, id, name, kind, nullable=False, parent=-1, children=(), dictionary=None, more=b"", encoding=None):
        self.id, self.name, self.kind, self.nullable, self.parent = id, name, kind, nullable, parent
        self.children, self.dictionary, self.more, self.encoding = list(children), dictionary, more, encoding
        for c in self.children:
            c.parent = id

    def flat(self):
        return [self] + [x for c in self.children for x in c.flat()]

    def message(self, at=None):
        dictionary = b"" if at is None else blob(8, opt(1, at[0]) + opt(2, at[1]))
        encoding = self.encoding
        if encoding is None:
            encoding = 0 if self.kind in ("struct", "null") else 3 if self.kind.startswith("dict:") else \
                2 if self.kind in VARIABLE else 1
        return (blob(2, self.name) + opt(3, self.id) + num(4, self.parent) + blob(5, self.kind) +
                opt(6, int(self.nullable)) + opt(7, encoding) + dictionary + self.more)


VARIABLE = ("string", "binary", "large_string", "large_binary")
PLAIN = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
         "float": "f", "double": "d", "date32:day": "i", "timestamp:us:-": "q"}


def flat(fields):
    return [x for f in fields for x in f.flat()]


# ---------------------------------------------------------------- pages

class DataFile:
    """Values come as batches: for each a list of columns, each a list of values; None is a null."""

    def __init__(self, fields, batches, low="min", position_first=0, schema=True, pages=None, statistics=False):
        self.out = bytearray(b"\xAA" * position_first)  # pages need not begin at 0
        self.fields, self.low, self.table = fields, low, {}
        self.offsets = [0]
        for b, columns in enumerate(batches):
            self.offsets.append(self.offsets[-1] + (len(columns[0]) if columns else 0))
            for f, values in zip(fields, columns):
                self.put(f, values, b)
        self.finish(len(batches), schema, pages, statistics)

    def page(self, f, b, length, content):
        self.table[f.id, b] = (len(self.out), length)
        self.out += content

    def strings(self, values):
        texts = [b"" if v is None else v.encode() if isinstance(v, str) else v for v in values]
        at = len(self.out)
        bounds = [at]
        for t in texts:
            bounds.append(bounds[-1] + len(t))
        self.out += b"".join(texts)
        position = len(self.out)
        self.out += struct.pack("<%dq" % len(bounds), *bounds)
        return position

    def put(self, f, values, b):
        kind = f.kind
        if kind == "struct":
            for c in f.children:
                self.put(c, [None if v is None else v[c.name] for v in values], b)
        elif kind.startswith(("list", "large_list")):
            bounds = [0]
            for v in values:
                bounds.append(bounds[-1] + len(v or []))
            self.page(f, b, len(bounds), struct.pack("<%d%s" % (len(bounds), "q" if "large" in kind else "i"), *bounds))
            self.put(f.children[0], [x for v in values for x in v or []], b)
        elif kind in VARIABLE:
            position = self.strings(values)
            self.table[f.id, b] = (position, len(values))
        elif kind.startswith("dict:"):
            code = PLAIN[kind.split(":")[2]]
            keys = [f.dictionary.index(v) for v in values]
            self.page(f, b, len(values), struct.pack("<%d%s" % (len(keys), code), *keys))
        elif kind == "null":
            self.page(f, b, len(values), b"")
        elif kind == "bool":
            self.page(f, b, len(values), bits(values))
        elif kind.startswith("fixed_size_list:"):
            item = kind[len("fixed_size_list:"):].rsplit(":", 1)[0]
            items = [x for v in values for x in v]
            content = bits(items) if item == "bool" else struct.pack("<%d%s" % (len(items), PLAIN[item]), *items)
            self.page(f, b, len(values), content)
        else:
            self.page(f, b, len(values), struct.pack("<%d%s" % (len(values), PLAIN[kind]), *[v or 0 for v in values]))

    def finish(self, batches, schema, pages, statistics):
        ids = [f.id for f in flat(self.fields)]
        leaves = [i for i, _ in self.table] or ids
        low = 0 if self.low == "zero" else min(ids, default=0)
        self.table_at = len(self.out)
        table = {k: v for k, v in self.table.items()}
        table.update(pages or {})
        for i in range(low, max(leaves, default=-1) + 1):
            for b in range(batches):
                self.out += struct.pack("<qq", *table.get((i, b), (0, 0)))
        if statistics:  # pages of statistics may follow the page table
            self.out += b"\x55" * 80
        places = self.dictionaries()
        manifest_at = len(self.out)
        if schema:
            self.out += framed(b"".join(blob(1, f.message(places.get(f.id))) for f in flat(self.fields)) + num(3, 1))
        at = len(self.out)
        told = blob(5, num(3, self.table_at + 16)) if statistics else b""
        self.out += framed((opt(1, manifest_at) if schema else b"") + packed(2, self.offsets if batches else []) +
                           opt(3, self.table_at) + told)
        self.out += footer(at)

    def dictionaries(self):
        places = {}
        for f in flat(self.fields):
            if f.dictionary is not None:
                places[f.id] = (put_dictionary(self, f), len(f.dictionary))
        return places

    def bytes(self):
        return bytes(self.out)


def put_dictionary(to, f):
    kind = f.kind.split(":")[1]
    if kind in VARIABLE:
        return DataFile.strings(to, f.dictionary)
    at = len(to.out)
    to.out += struct.pack("<%d%s" % (len(f.dictionary), PLAIN[kind]), *f.dictionary)
    return at


def bits(values):
    out = bytearray((len(values) + 7) // 8)
    for i, v in enumerate(values):
        out[i // 8] |= (1 if v else 0) << i % 8
    return bytes(out)


# ---------------------------------------------------------------- manifests

def data_file(path, fields, more=b""):
    return blob(1, path) + packed(2, [f if isinstance(f, int) else f.id for f in fields]) + more


def fragment(id, files, deletion=b"", rows=0, more=b""):
    return opt(1, id) + b"".join(blob(2, f) for f in files) + (blob(3, deletion) if deletion else b"") + opt(4, rows) + more


def manifest(fields, fragments, version=1, seconds=1700000000, more=b"", dictionaries=True, minor=1):
    class To:
        out = bytearray()
    to = To()
    to.out = bytearray()
    places = {}
    for f in flat(fields):
        if f.dictionary is not None and dictionaries:
            places[f.id] = (put_dictionary(to, f), len(f.dictionary))
    at = len(to.out)
    message = b"".join(blob(1, f.message(places.get(f.id))) for f in flat(fields))
    message += b"".join(blob(2, f) for f in fragments) + num(3, version)
    message += blob(7, num(1, seconds)) + more
    return bytes(to.out) + framed(message) + footer(at, minor=minor)


def dataset(root, versions, files=(), deletions=()):
    """versions: {file name in _versions: bytes}; files and deletions: {name: bytes}."""
    for folder, content in (("_versions", versions), ("data", files), ("_deletions", deletions)):
        if not content:
            continue
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name, data in content.items():
            (root / folder / name).write_bytes(data)
    return root
