"""Random arrays of every Arrow type, each with the plain array that means the same: what a reader that decodes
dictionaries, runs and views has to give."""
import datetime
import decimal
import struct

import pyarrow as pa


def some_text(r):
    return "".join(r.choice("abcäßЖ中😀 0") for _ in range(r.choice([0, 1, 3, 12, 13, 40])))


def some_bytes(r):
    return bytes(r.randrange(256) for _ in range(r.choice([0, 1, 4, 12, 13, 50])))


def some_int(r, bits, signed):
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return r.choice([low, high, 0, 1, r.randint(low, high), r.randint(low, high)])


def digits(r, precision, scale):
    return decimal.Decimal(r.randint(-10**precision + 1, 10**precision - 1)).scaleb(-scale, decimal.Context(prec=90))


def leaves():
    """Type and a way to make one value."""
    out = [(pa.bool_(), lambda r: r.random() < 0.5), (pa.null(), lambda r: None)]
    for bits in 8, 16, 32, 64:
        out.append((getattr(pa, "int%d" % bits)(), lambda r, b=bits: some_int(r, b, True)))
        out.append((getattr(pa, "uint%d" % bits)(), lambda r, b=bits: some_int(r, b, False)))
    out += [(pa.float32(), lambda r: struct.unpack("f", struct.pack("f", r.gauss(0, 1e3)))[0]),
            (pa.float64(), lambda r: r.gauss(0, 1e9)),
            (pa.float16(), lambda r: float(r.randint(-1000, 1000)) / 8)]
    for make, precision, scale in ((pa.decimal32, 9, 2), (pa.decimal64, 18, 0), (pa.decimal128, 38, 10),
                                   (pa.decimal256, 76, 30)):
        out.append((make(precision, scale), lambda r, p=precision, s=scale: digits(r, p, s)))
    out += [(pa.date32(), lambda r: datetime.date.fromordinal(r.randint(1, 3000000))),
            (pa.date64(), lambda r: datetime.date.fromordinal(r.randint(1, 3000000))),
            (pa.time32("s"), lambda r: r.randrange(86400)), (pa.time32("ms"), lambda r: r.randrange(86400000)),
            (pa.time64("us"), lambda r: r.randrange(86400 * 10**6)),
            (pa.time64("ns"), lambda r: r.randrange(86400 * 10**9)),
            (pa.month_day_nano_interval(), lambda r: (r.randint(-99, 99), r.randint(-99, 99), r.randint(-10**15, 10**15)))]
    for unit in "s", "ms", "us", "ns":
        out += [(pa.timestamp(unit), lambda r: some_int(r, 62, True)), (pa.duration(unit), lambda r: some_int(r, 62, True)),
                (pa.timestamp(unit, "Europe/Berlin"), lambda r: some_int(r, 60, True))]
    out += [(pa.string(), some_text), (pa.large_string(), some_text), (pa.string_view(), some_text),
            (pa.binary(), some_bytes), (pa.large_binary(), some_bytes), (pa.binary_view(), some_bytes),
            (pa.binary(5), lambda r: bytes(r.randrange(256) for _ in range(5)))]
    return out


PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
NESTED = ["list", "large_list", "list_view", "large_list_view", "fixed_list", "struct", "map", "dictionary", "runs", "sparse",
          "dense"]


class Maker:
    def __init__(self, r, nulls=0.2, unions=True, views=True):
        self.r, self.nulls, self.unions, self.views = r, nulls, unions, views

    def null(self):
        return self.r.random() < self.nulls

    def leaf(self, n, kind=None):
        t, make = kind or self.r.choice(leaves())
        if not self.views and "view" in str(t):
            return self.leaf(n)
        values = [None if self.null() else make(self.r) for _ in range(n)]
        return pa.array(values, t), pa.array(values, PLAIN.get(t, t))

    def mask(self, n):
        return None if self.nulls == 0 or self.r.random() < 0.3 else pa.array([self.null() for _ in range(n)], pa.bool_())

    def sizes(self, n):
        return [self.r.choice([0, 0, 1, 2, 5]) for _ in range(n)]

    def array(self, n, depth=2):
        """An array of n rows, and the same of plain types."""
        if depth == 0 or self.r.random() < 0.35:
            return self.leaf(n)
        kind = self.r.choice(NESTED)
        if not self.unions and kind in ("sparse", "dense"):
            return self.leaf(n)
        if not self.views and "view" in kind:
            kind = "list"
        return getattr(self, kind)(n, depth)

    def list(self, n, depth, make=pa.ListArray, number=pa.int32()):
        offsets = [self.r.choice([0, 0, 3])]
        for size in self.sizes(n):
            offsets.append(offsets[-1] + size)
        items = self.array(offsets[-1] + self.r.choice([0, 2]), depth - 1)
        mask = self.mask(n)
        return tuple(make.from_arrays(pa.array(offsets, number), a, mask=mask) for a in items)

    def large_list(self, n, depth):
        return self.list(n, depth, pa.LargeListArray, pa.int64())

    def list_view(self, n, depth, make=pa.ListViewArray, plain=pa.ListArray, number=pa.int32()):
        sizes, whole = self.sizes(n), self.r.randint(5, 20)
        encoded, items = self.array(whole, depth - 1)
        ordered = self.r.random() < 0.5
        starts, at = [], 0
        for i, size in enumerate(sizes):
            if ordered and at + size > whole:
                sizes[i] = size = 0
            starts.append(at if ordered else self.r.randint(0, whole - size))
            at += size
        mask, flat, offsets = self.mask(n), [], [0]
        for i, (start, size) in enumerate(zip(starts, sizes)):
            if mask is None or not mask[i].as_py():
                flat += range(start, start + size)
            offsets.append(len(flat))
        return (make.from_arrays(pa.array(starts, number), pa.array(sizes, number), encoded, mask=mask),
                plain.from_arrays(pa.array(offsets, number), items.take(pa.array(flat, pa.int64())), mask=mask))

    def large_list_view(self, n, depth):
        return self.list_view(n, depth, pa.LargeListViewArray, pa.LargeListArray, pa.int64())

    def fixed_list(self, n, depth):
        each = self.r.choice([1, 2, 3])
        items, mask = self.array(n * each, depth - 1), self.mask(n)
        return tuple(pa.FixedSizeListArray.from_arrays(a, each, mask=mask) for a in items)

    def struct(self, n, depth):
        fields = [self.array(n, depth - 1) for _ in range(self.r.randint(1, 3))]
        names, mask = ["f%d" % i for i in range(len(fields))], self.mask(n)
        return tuple(pa.StructArray.from_arrays([f[k] for f in fields], names, mask=mask) for k in (0, 1))

    def map(self, n, depth):
        offsets = [0]
        for size in self.sizes(n):
            offsets.append(offsets[-1] + size)
        keys = pa.array([some_text(self.r) for _ in range(offsets[-1])], pa.string())
        items, mask = self.array(offsets[-1], depth - 1), self.mask(n)
        return tuple(pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, a, mask=mask) for a in items)

    def dictionary(self, n, depth):
        size = self.r.randint(1, 9)
        encoded, values = self.array(size, depth - 1)
        while pa.types.is_dictionary(encoded.type):  # a field has one index type: the metadata cannot say two
            encoded, values = self.array(size, depth - 1)
        number = self.r.choice([pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()])
        indices = pa.array([None if self.null() else self.r.randrange(size) for _ in range(n)], number)
        return pa.DictionaryArray.from_arrays(indices, encoded), values.take(indices)

    def runs(self, n, depth):
        ends, at = [], 0
        while at < n:
            at = min(n, at + self.r.choice([1, 1, 2, 7]))
            ends.append(at)
        encoded, values = self.leaf(len(ends)) if self.r.random() < 0.7 else self.array(len(ends), depth - 1)
        number = self.r.choice([pa.int16(), pa.int32(), pa.int64()])
        where, run = [], 0
        for row in range(n):
            run += row >= ends[run]
            where.append(run)
        return (pa.RunEndEncodedArray.from_arrays(pa.array(ends, number), encoded),
                values.take(pa.array(where, pa.int64())))

    def sparse(self, n, depth):
        types = [self.array(n, depth - 1) for _ in range(self.r.randint(1, 3))]
        codes = self.r.sample(range(100), len(types))
        ids = pa.array([self.r.choice(codes) for _ in range(n)], pa.int8())
        names = ["t%d" % i for i in range(len(types))]
        return tuple(pa.UnionArray.from_sparse(ids, [t[k] for t in types], names, codes) for k in (0, 1))

    def dense(self, n, depth):
        count = self.r.randint(1, 3)
        codes = self.r.sample(range(100), count)
        ids = [self.r.choice(codes) for _ in range(n)]
        offsets, used = [], dict.fromkeys(codes, 0)
        for i in ids:
            offsets.append(used[i])
            used[i] += 1
        types = [self.array(used[c], depth - 1) for c in codes]
        names = ["t%d" % i for i in range(count)]
        return tuple(pa.UnionArray.from_dense(pa.array(ids, pa.int8()), pa.array(offsets, pa.int32()),
                                              [t[k] for t in types], names, codes) for k in (0, 1))
