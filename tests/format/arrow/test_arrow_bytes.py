"""Arrow files that pyarrow does not write, by a second writer: read as the values that went in, or refused by name.

Run by pytest; LAKEBED_LIB names the library.
"""
import random
import struct

import pyarrow as pa
import pytest
from arrow_by_hand import V4, I, Structs, Writer, flat
from arrow_library import Failed, Library
from arrow_make import NESTED, Maker, leaves
from test_arrow_reading import SEED, some_ranges, table_of

LIBRARY = Library()


def check(r, path, want):
    for memory_map in False, True:
        with LIBRARY.open(path, memory_map=memory_map) as table:
            for offset, limit in some_ranges(r, want.num_rows):
                got, part = table.rows(offset, limit), want.slice(offset, limit)
                got.validate(full=True)
                for name in want.column_names:
                    assert got.column(name).equals(part.column(name)), "%s\nis not %s" % (got.column(name), part.column(name))


def put(r, tmp_path, writer, encoded):
    """As a stream of one batch or a file of several."""
    path = tmp_path / "a.arrow"
    batch = encoded.combine_chunks().to_batches()
    if r.random() < 0.5:
        path.write_bytes(writer.stream(encoded.schema, batch, end=r.random() < 0.5))
    else:
        path.write_bytes(writer.file(encoded.schema, batch))
    return path


WRITERS = {
    "little": {}, "aligned to 64": {"align": 64}, "big": {"big": True}, "big zstd": {"big": True, "codec": "zstd"},
    "before 0.15": {"marker": False, "version": V4}, "lz4": {"codec": "lz4"}, "odd places": {"odd": 1},
    "big, odd places": {"big": True, "odd": 3}, "odd places, V4": {"odd": 4, "version": V4},
}


@pytest.mark.parametrize("how", WRITERS)
@pytest.mark.parametrize("place", range(len(leaves())))
def test_each_plain_type(how, place, tmp_path):
    r = random.Random("%d by hand %s %d" % (SEED, how, place))
    encoded, want = Maker(r, r.choice([0, 0.3])).leaf(r.choice([1, 20, 70]), leaves()[place])
    check(r, put(r, tmp_path, Writer(**WRITERS[how]), table_of([encoded])), table_of([want]))


@pytest.mark.parametrize("how", WRITERS)
@pytest.mark.parametrize("kind", NESTED)
def test_each_nested_type(how, kind, tmp_path):
    for i in range(3):
        r = random.Random("%d by hand %s %s %d" % (SEED, how, kind, i))
        encoded, want = getattr(Maker(r, r.choice([0, 0.3])), kind)(r.choice([1, 9, 40]), 2)
        check(r, put(r, tmp_path, Writer(**WRITERS[how]), table_of([encoded])), table_of([want]))


@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_unions_of_v4_have_nulls_of_their_own(mode, tmp_path):
    for i in range(8):
        r = random.Random("%d union nulls %s %d" % (SEED, mode, i))
        rows = r.choice([1, 9, 40])
        encoded, want = getattr(Maker(r, 0.2), mode)(rows, 1)
        nulls = {k for k in range(rows) if r.random() < 0.3}
        path = put(r, tmp_path, Writer(version=V4, union_nulls=lambda n: nulls if n == rows else []), table_of([encoded]))
        with LIBRARY.open(path) as table:
            for offset, limit in some_ranges(r, rows):
                got = table.rows(offset, limit)
                got.validate(full=True)
                codes = [c for chunk in got.column(0).chunks for c in chunk.type_codes.to_pylist()]
                assert codes == want.type_codes.to_pylist()[offset:offset + limit]
                for k, value in enumerate(got.column(0)):
                    row = offset + k
                    assert value.as_py() is None if row in nulls else value.equals(want[row])


def test_old_files_say_by_a_pair_that_they_are_compressed(tmp_path):
    column = pa.array(range(1000), pa.int64())
    writer = Writer(codec="zstd", version=V4)
    schema = pa.schema([("a", pa.int64())])
    parts = ([], [], [], [])
    out = b"".join(writer.message(1, writer.schema(schema)))
    writer.add(column, (0,), parts)
    table, body = writer.batch(1000, parts)
    del table[3]
    for name, good in (("ZSTD", True), ("zstd", True), ("BROTLI", False)):
        path = tmp_path / "a.arrows"
        path.write_bytes(out + b"".join(writer.message(3, table, body, {"ARROW:experimental_compression": name})))
        if good:
            check(random.Random(1), path, pa.table({"a": column}))
        else:
            with pytest.raises(Failed, match="compressed in a way"):
                LIBRARY.open(path)


def test_a_file_may_deliver_deltas(tmp_path):
    """Deltas are added in the footer's order, whatever batch comes before."""
    writer = Writer()
    words = pa.array(["a", "b", "c", "d", "e"])
    column = pa.DictionaryArray.from_arrays(pa.array([4, None, 0, 2, 3, 1], pa.int8()), words)
    schema = pa.schema([("d", column.type)])
    table = writer.schema(schema)
    _, record = writer.record(pa.record_batch([column], schema=schema))
    messages = [(3, record)] + [(2, writer.dictionary(0, pa.array(part), (0,), delta)[0]) for part, delta in
                                ((["a", "b"], False), (["c", "d"], True), (["e"], True))]
    out, lists = bytearray(b"ARROW1\0\0" + b"".join(writer.message(1, table))), {2: [], 3: []}
    for which, (head, body) in messages:
        lists[which].append(struct.pack("<qi4xq", len(out), len(head), len(body)))
        out += head + body
    footer = flat({0: I(2, 4), 1: table, **{k: Structs(len(v), b"".join(v)) for k, v in lists.items()}})
    path = tmp_path / "a.arrow"
    path.write_bytes(bytes(out) + footer + struct.pack("<i", len(footer)) + b"ARROW1")
    check(random.Random(1), path, pa.table({"d": words.take(column.indices)}))


# ---------------------------------------------------------------- what is wrong

def stream_of(column, **how):
    return Writer(**how), pa.schema([("a", column.type)]), [Batch(column)]


def refused(tmp_path, raw, match, name="a.arrows"):
    (tmp_path / name).write_bytes(raw)
    for memory_map in False, True:
        with pytest.raises(Exception, match=match):
            with LIBRARY.open(tmp_path / name, memory_map=memory_map) as table:
                table.rows()


class Wrong:
    """What the writer asks of an array, without pyarrow's checks."""

    def __init__(self, t, n, *buffers, children=()):
        self.type, self.n, self.null_count, self.inside = t, n, 0, children
        self.own = [b if b is None else pa.py_buffer(b) for b in buffers]

    def __len__(self):
        return self.n

    def buffers(self):
        return [None, *self.own[1:]] if not pa.types.is_union(self.type) else self.own

    def field(self, i):
        return self.inside[i]

    @property
    def values(self):
        return self.inside[0]


class Batch:
    def __init__(self, column):
        self.only, self.num_columns, self.num_rows = column, 1, len(column)

    def column(self, _):
        return self.only


def numbers(code, *all):
    return struct.pack("<%d%s" % (len(all), code), *all)


WRONG = {
    "offsets go back": (Wrong(pa.string(), 2, None, numbers("i", 0, 3, 1), b"abc"), "offsets do not ascend"),
    "offsets below 0": (Wrong(pa.string(), 2, None, numbers("i", -1, 0, 1), b"abc"), "offsets do not ascend"),
    "offsets behind the bytes": (Wrong(pa.string(), 2, None, numbers("i", 0, 1, 9), b"abc"), "shorter than its values"),
    "large offsets": (Wrong(pa.large_string(), 1, None, numbers("q", 0, 1 << 60), b"abc"), "shorter than its values"),
    "too few values": (Wrong(pa.int64(), 9, None, numbers("q", 1, 2)), "do not fit|shorter than its values"),
    "not UTF-8": (Wrong(pa.string(), 1, None, numbers("i", 0, 2), b"\xc3\x28"), "not UTF-8"),
    "a character cut in two": (Wrong(pa.string(), 2, None, numbers("i", 0, 1, 2), "ä".encode()), "not UTF-8"),
    "a view's buffer": (Wrong(pa.string_view(), 1, None, struct.pack("<i4sii", 20, b"abcd", 1, 0), b"x" * 20),
                        "refers to byte 0 of buffer 1 of 1"),
    "a view's end": (Wrong(pa.string_view(), 1, None, struct.pack("<i4sii", 20, b"abcd", 0, 8), b"x" * 20),
                     "shorter than its values"),
    "a view's length": (Wrong(pa.string_view(), 1, None, struct.pack("<i4sii", -5, b"abcd", 0, 0), b""), "-5 bytes"),
    "items of lists": (Wrong(pa.list_(pa.int8()), 1, None, numbers("i", 0, 9), children=[pa.array([1], pa.int8())]),
                       "it has 1 rows"),
    "items of list views": (Wrong(pa.list_view(pa.int8()), 1, None, numbers("i", 1), numbers("i", 3),
                                   children=[pa.array([1, 2], pa.int8())]), "it has 2 rows"),
    "list views below 0": (Wrong(pa.list_view(pa.int8()), 1, None, numbers("i", -1), numbers("i", 1),
                                  children=[pa.array([1, 2], pa.int8())]), "begins at -1"),
    "ids of a union": (Wrong(pa.sparse_union([pa.field("x", pa.int8())], [3]), 2, None, b"\x03\x04",
                              children=[pa.array([1, 2], pa.int8())]), "type 4, which the union does not have"),
    "offsets of a union": (Wrong(pa.dense_union([pa.field("x", pa.int8())], [3]), 1, None, b"\x03", numbers("i", 7),
                                  children=[pa.array([1, 2], pa.int8())]), "it has 2 rows"),
    "children of a struct": (Wrong(pa.struct([("x", pa.int8())]), 3, None, children=[pa.array([1, 2], pa.int8())]), "it has 2 rows"),
}


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("what", WRONG)
def test_wrong_values_are_refused(what, big, tmp_path):
    column, match = WRONG[what]
    writer, schema, batches = stream_of(column, big=big)
    refused(tmp_path, writer.stream(schema, batches), match)


def test_wrong_indices_are_refused(tmp_path):
    for number, code, index in (("int8", "b", -1), ("int8", "b", 2), ("uint16", "H", 65535), ("int64", "q", -1 << 63)):
        t = getattr(pa, number)()
        good = pa.DictionaryArray.from_arrays(pa.array([1], t), pa.array(["x", "y"]))
        writer, schema, batches = stream_of(good)
        raw = writer.stream(schema, batches)
        body = struct.pack("<" + code, 1) + bytes(-struct.calcsize(code) % 8)
        assert raw.count(body) >= 1
        at = raw.rindex(body)
        refused(tmp_path, raw[:at] + struct.pack("<" + code, index) + raw[at + struct.calcsize(code):],
                "index -?[0-9]+, and the dictionary has 2 values")


def test_missing_dictionaries_are_refused(tmp_path):
    column = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["x"]))
    writer, schema, batches = stream_of(column)
    head = b"".join(writer.message(1, writer.schema(schema)))
    refused(tmp_path, head + b"".join(writer.record(batches[0])[1]), "the dictionary has 0 values")


def test_a_file_may_not_replace_dictionaries(tmp_path):
    column = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["x"]))
    writer, schema, batches = stream_of(column)
    table = writer.schema(schema)
    out, lists = bytearray(b"ARROW1\0\0" + b"".join(writer.message(1, table))), {2: [], 3: []}
    for which, (head, body) in [(2, writer.dictionary(0, column.dictionary, (0,))[0])] * 2 + [(3, writer.record(batches[0])[1])]:
        lists[which].append(struct.pack("<qi4xq", len(out), len(head), len(body)))
        out += head + body
    footer = flat({0: I(2, 4), 1: table, **{k: Structs(len(v), b"".join(v)) for k, v in lists.items()}})
    refused(tmp_path, bytes(out) + footer + struct.pack("<i", len(footer)) + b"ARROW1", "delivered again", "a.arrow")


def message_of(table, version=4, kind=1):
    head = flat({0: I(2, version), 1: I(1, kind), 2: table, 3: I(8, 0)})
    return b"\xff\xff\xff\xff" + struct.pack("<i", len(head)) + head


INT = {0: "a", 2: I(1, 2), 3: {0: I(4, 32), 1: I(1, 1)}, 5: []}
SCHEMAS = {
    "V3": (message_of({1: [INT]}, version=2), "metadata of version V3"),
    "V6": (message_of({1: [INT]}, version=5), "metadata of version V6"),
    "no fields that lie inside": (message_of({1: [{**INT, 2: I(1, 99)}]}), "type of number 99"),
    "width of an integer": (message_of({1: [{**INT, 3: {0: I(4, 24)}}]}), "unknown width"),
    "a list of nothing": (message_of({1: [{**INT, 2: I(1, 12), 3: {}}]}), "another number of fields"),
    "a map of numbers": (message_of({1: [{**INT, 2: I(1, 17), 3: {}, 5: [INT]}]}), "no list of pairs"),
    "byte order": (message_of({0: I(2, 7), 1: [INT]}), "damaged"),
    "a record batch first": (message_of({0: I(8, 0)}, kind=3), "does not begin with a schema"),
    "types of one dictionary": (message_of({1: [{**INT, 4: {0: I(8, 5)}}, {0: "b", 2: I(1, 5), 3: {}, 4: {0: I(8, 5)}}]}),
                                "share a dictionary"),
    "binary of no bytes": (message_of({1: [{0: "a", 2: I(1, 15), 3: {0: I(4, 0)}}]}), "fixed size of 0"),
}


@pytest.mark.parametrize("what", SCHEMAS)
def test_wrong_schemas_are_refused(what, tmp_path):
    refused(tmp_path, *SCHEMAS[what])


def test_nesting_has_an_end(tmp_path):
    for depth, good in ((60, True), (70, False)):
        field = INT
        for _ in range(depth):
            field = {0: "a", 2: I(1, 12), 3: {}, 5: [field]}
        if good:
            (tmp_path / "a.arrows").write_bytes(message_of({1: [field]}))
            with LIBRARY.open(tmp_path / "a.arrows") as table:
                assert table.rows().num_rows == 0
        else:
            refused(tmp_path, message_of({1: [field]}), "nested more than")


# ---------------------------------------------------------------- files that break off

def test_a_torn_stream_gives_the_rows_before(tmp_path):
    writer = Writer()
    batches = [pa.record_batch([pa.array(range(i * 10, i * 10 + 10), pa.int64())], names=["a"]) for i in range(4)]
    whole = writer.stream(batches[0].schema, batches, end=False)
    path = tmp_path / "a.arrows"
    for cut in (1, 60, 100, 200):
        path.write_bytes(whole[:-cut])
        with LIBRARY.open(path) as table:
            assert table.rows(0, 30).column(0).to_pylist() == list(range(30))
            with pytest.raises(Exception, match="ends inside the message"):
                table.rows()


def test_a_file_without_a_footer_can_be_read_as_a_stream(tmp_path):
    writer = Writer()
    batches = [pa.record_batch([pa.array(range(i * 10, i * 10 + 10), pa.int64())], names=["a"]) for i in range(4)]
    whole = writer.file(batches[0].schema, batches)
    path = tmp_path / "a.arrow"
    path.write_bytes(whole[:whole.rindex(b"ARROW1") - 200])
    with pytest.raises(Failed, match="never finished") as failed:
        LIBRARY.open(path)
    assert "--format arrow_stream" in failed.value.hint
    with LIBRARY.open(path, format="arrow_stream") as table:
        assert table.rows(0, 30).column(0).to_pylist() == list(range(30))
