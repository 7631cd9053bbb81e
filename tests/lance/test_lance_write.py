"""Laws of writing Lance datasets: what is written is read, through every kind of change, and no version ever changes."""
import ctypes
import datetime
import decimal
import random

import pyarrow as pa
import pytest

from lance_api import KEEP, LOSSY, REFUSE, USAGE, NOTFOUND, Failed, Library


@pytest.fixture(scope="module")
def library():
    return Library()


def plain(table):
    """The values, whatever their layout: of dictionaries the words."""
    return [column.to_pylist() for column in table.columns]


# ---------------------------------------------------------------- values of all types

def numbers(kind):
    bits, signed = kind.bit_width, str(kind)[0] == "i"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return lambda r: r.choice([low, high, 0, r.randint(low, high)])


def text(r):
    return r.choice(["a", "ä", "x" * r.randint(1, 300), "日本", "\0", "row %d" % r.randint(0, 9)])


VALUES = {pa.bool_(): lambda r: r.random() < 0.5,
          pa.float32(): lambda r: r.choice([0.0, -0.0, 1.5, float("inf"), 2.0**-140]),
          pa.float64(): lambda r: r.choice([0.0, -0.0, 0.1, float("-inf"), 5e-324]),
          pa.string(): text, pa.large_string(): text,
          pa.binary(): lambda r: text(r).encode(), pa.large_binary(): lambda r: text(r).encode(),
          pa.binary(3): lambda r: r.randbytes(3),
          pa.date32(): lambda r: datetime.date(1970, 1, 1) + datetime.timedelta(r.randint(-10**5, 10**5)),
          pa.time64("us"): lambda r: datetime.time(r.randint(0, 23), r.randint(0, 59), 5, r.randint(0, 999999)),
          pa.timestamp("us", "Europe/Berlin"): lambda r: datetime.datetime(2024, 1, r.randint(1, 28),
                                                                           tzinfo=datetime.timezone.utc),
          pa.timestamp("s"): lambda r: datetime.datetime(1960, 5, r.randint(1, 28)),
          pa.duration("ms"): lambda r: datetime.timedelta(milliseconds=r.randint(-10**6, 10**6)),
          pa.decimal128(20, 3): lambda r: decimal.Decimal(r.randint(-10**19, 10**19)).scaleb(-3),
          pa.decimal256(40, 3): lambda r: decimal.Decimal(r.randint(-10**19, 10**19)).scaleb(-3)}
VALUES |= {k: numbers(k) for k in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
                                   pa.uint64())}


def random_type(r, depth):
    roll = r.random()
    if depth == 0 or roll < 0.55:
        return r.choice(list(VALUES))
    if roll < 0.7:
        return pa.list_(random_type(r, depth - 1))
    if roll < 0.75:
        return pa.large_list(random_type(r, depth - 1))
    if roll < 0.9:
        return pa.struct([pa.field("f%d" % i, random_type(r, depth - 1)) for i in range(r.randint(1, 3))])
    fixed = [k for k in VALUES if k not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())]
    item = r.choice(fixed)
    return pa.list_(pa.list_(item, r.randint(1, 2)) if roll > 0.97 else item, r.randint(1, 3))


def random_value(r, kind, nulls):
    if r.random() < nulls:
        return None
    if pa.types.is_struct(kind):
        return {f.name: random_value(r, f.type, nulls) for f in kind}
    if pa.types.is_fixed_size_list(kind):
        return [random_value(r, kind.value_type, nulls) for _ in range(kind.list_size)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [random_value(r, kind.value_type, nulls) for _ in range(r.randint(0, 4))]
    return VALUES[kind](r)


def random_table(seed, rows, nulls, columns=5, kinds=None):
    r = random.Random(seed)
    kinds = kinds or [random_type(r, 3) for _ in range(columns)]
    arrays = [pa.array([random_value(r, k, nulls) for _ in range(rows)], k) for k in kinds]
    return pa.table(arrays, names=["c%d" % i for i in range(len(arrays))])


def slices(r, table):
    """The same rows as batches of odd sizes, some with an offset."""
    batches, at = [], 0
    while at < table.num_rows:
        n = r.randint(1, 40)
        batches += table.slice(at, n).combine_chunks().to_batches()
        at += n
    return batches


@pytest.mark.parametrize("seed", range(40))
def test_values_come_back(library, tmp_path, seed):
    table = random_table(seed, 150, 0)
    library.write("create", tmp_path / "d", slices(random.Random(seed), table), group_rows=random.Random(seed).randint(1, 99))
    assert plain(library.read(tmp_path / "d")) == plain(table)
    assert plain(library.read(tmp_path / "d", 40, 33)) == plain(table.slice(40, 33))


@pytest.mark.parametrize("seed", range(40))
def test_nulls_are_kept(library, tmp_path, seed):
    table = random_table(seed, 120, 0.15)
    library.write("create", tmp_path / "d", slices(random.Random(seed), table), nulls=KEEP, group_rows=17, file_rows=50)
    back = library.read(tmp_path / "d")
    assert back.column_names == table.column_names
    assert plain(back) == plain(table)
    assert plain(library.read(tmp_path / "d", 45, 40)) == plain(table.slice(45, 40))
    delete(library, tmp_path / "d", [0, 60, 119])
    rows = [i for i in range(120) if i not in (0, 60, 119)]
    library.change("compact", tmp_path / "d", group_rows=7)
    assert plain(library.read(tmp_path / "d")) == plain(table.take(rows))


def test_empty_text_survives_where_it_can(library, tmp_path):
    for values, nulls in ((["", "a", ""], REFUSE), ([None, "a", None], REFUSE), (["", None, "b"], KEEP)):
        table = pa.table({"s": values, "b": [v if v is None else v.encode() for v in values]})
        path = tmp_path / f"d{values!r}".replace("/", "")
        library.write("create", path, table, nulls=nulls)
        assert plain(library.read(path)) == plain(table)


@pytest.mark.parametrize("values, row, word", [
    (pa.array([1, 2, None]), 2, "null"),
    (pa.array([True, None, True]), 1, "null"),
    (pa.array(["", "x", None]), 2, "null"),
    (pa.array(["x", None, ""]), 2, "empty"),
    (pa.array([[1], None, [2]]), 1, "null"),
    (pa.array([[1], [2, None], [2]]), 1, "null"),
    (pa.array([["x"], ["y", ""], None]), 1, "empty"),
    (pa.array([{"a": 1}, {"a": 2}, None]), 2, "null"),
    (pa.array([{"a": 1}, {"a": None}, None]), 1, "null"),
    (pa.array([[1.0, 2.0], [3.0, None]], pa.list_(pa.float32(), 2)), 1, "null"),
    (pa.array(["a", None, "b"]).dictionary_encode(), 1, "null"),
])
def test_nulls_are_refused_by_column_and_row(library, tmp_path, values, row, word):
    table = pa.table({"id": pa.array(range(len(values)), pa.int32()), "col": values})
    with pytest.raises(Failed) as failed:
        library.write("create", tmp_path / "d", table)
    assert failed.value.code == USAGE and failed.value.row == row
    assert "'col" in failed.value.message and word in failed.value.message and "--nulls keep" in failed.value.hint
    assert not (tmp_path / "d").exists()
    library.write("create", tmp_path / "d", table, nulls=LOSSY)
    assert library.read(tmp_path / "d").num_rows == len(values)
    library.write("overwrite", tmp_path / "d", table, nulls=KEEP)
    assert plain(library.read(tmp_path / "d")) == plain(table)


def test_dictionaries_go_on(library, tmp_path):
    words = pa.array(["red", "green", "red"]).dictionary_encode()
    library.write("create", tmp_path / "d", pa.table({"d": words}))
    library.write("append", tmp_path / "d", pa.table({"d": pa.array(["blue", "red"]).dictionary_encode()}))
    library.write("append", tmp_path / "d", pa.table({"d": ["green", "yellow"]}))
    assert library.read(tmp_path / "d")["d"].to_pylist() == ["red", "green", "red", "blue", "red", "green", "yellow"]
    assert library.read(f"{tmp_path}/d@1")["d"].to_pylist() == ["red", "green", "red"]
    library.change("compact", tmp_path / "d")
    assert library.read(tmp_path / "d")["d"].to_pylist() == ["red", "green", "red", "blue", "red", "green", "yellow"]
    many = pa.table({"d": [str(i) for i in range(300)]})
    small = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", "b"]))
    library.write("create", tmp_path / "small", pa.table({"d": small}))
    with pytest.raises(Failed, match="128"):
        library.write("append", tmp_path / "small", many)


def test_appended_columns_are_fitted(library, tmp_path):
    library.write("create", tmp_path / "d", pa.table({"a": pa.array([1], pa.int64()), "b": [1.5]}))
    library.write("append", tmp_path / "d", pa.table({"b": pa.array([2.5], pa.float32()), "a": pa.array([2], pa.int8())}))
    assert plain(library.read(tmp_path / "d")) == [[1, 2], [1.5, 2.5]]
    for table, words in ((pa.table({"a": [1]}), "missing"), (pa.table({"a": [1], "b": ["x"]}), "string"),
                         (pa.table({"a": [1], "b": [1.0], "c": [1]}), "no column 'c'")):
        with pytest.raises(Failed, match=words) as failed:
            library.write("append", tmp_path / "d", table)
        assert failed.value.code == USAGE


def test_what_cannot_be_written_is_named(library, tmp_path):
    inner = pa.struct([("x" * 90, pa.int64()), ("deep", pa.month_day_nano_interval())])
    nested = pa.array([None], pa.struct([("ok", pa.list_(inner)), ("in", inner)]))
    for column, words in ((nested, "'bad.ok.item.deep' has type .interval"), (nested.field("in"), "'bad.deep' has type .interval"),
                          (pa.nulls(1, pa.month_day_nano_interval()), "interval"),
                          (pa.array([["a"]], pa.list_(pa.string(), 1)), "list")):
        with pytest.raises(Failed, match=words):
            library.write("create", tmp_path / "d", pa.table({"bad": column}), nulls=LOSSY)
    with pytest.raises(Failed, match="dot"):
        library.write("create", tmp_path / "d", pa.table({"a.b": [1]}))
    assert not (tmp_path / "d").exists()


def test_maps_become_lists_of_pairs(library, tmp_path):
    table = pa.table({"m": pa.array([[("a", 1), ("b", 2)], []], pa.map_(pa.string(), pa.int32()))})
    library.write("create", tmp_path / "d", table)
    assert library.read(tmp_path / "d")["m"].to_pylist() == [[{"key": "a", "value": 1}, {"key": "b", "value": 2}], []]


@pytest.mark.parametrize("seed", range(20))
def test_first_nulls_come_later(library, tmp_path, seed):
    """Rows that were there before a column got its first nulls stay as they were."""
    r = random.Random(seed)
    kinds = [random_type(r, 3) for _ in range(4)]
    tables = [random_table(seed + n / 10, 40, nulls, kinds=kinds) for n, nulls in enumerate((0, 0, 0.2, 0, 0.3))]
    library.write("create", tmp_path / "d", tables[0], nulls=KEEP, group_rows=9, file_rows=15)
    library.write("append", tmp_path / "d", tables[1])
    delete(library, tmp_path / "d", [0, 14, 15, 41])
    library.write("append", tmp_path / "d", tables[2], nulls=KEEP)
    library.write("append", tmp_path / "d", tables[3], nulls=KEEP)
    library.write("append", tmp_path / "d", tables[4], nulls=KEEP)
    rows = pa.concat_tables(tables)
    assert plain(library.read(tmp_path / "d")) == plain(rows.take([i for i in range(200) if i not in (0, 14, 15, 41)]))
    assert plain(library.read(f"{tmp_path}/d@2")) == plain(pa.concat_tables(tables[:2]))


# ---------------------------------------------------------------- a life of a dataset against a model

def delete(library, path, rows, ids=False):
    return library.change("delete", path, (ctypes.c_uint64 * len(rows))(*rows), len(rows), ids)


@pytest.mark.parametrize("seed", range(15))
def test_every_version_stays_what_it_was(library, tmp_path, seed):
    r = random.Random(1000 + seed)
    kinds = [random_type(r, 2) for _ in range(3)]
    model = random_table(seed, 60, 0.1, kinds=kinds)
    path, versions = tmp_path / "d", {}
    library.write("create", path, model, nulls=KEEP, group_rows=9, file_rows=25)
    versions[1] = model
    for step in range(8):
        verb = r.choice(["append", "delete", "compact", "restore", "overwrite", "columns", "annotate"])
        before = dict(versions)
        if verb == "append":
            more = random_table(r.random(), r.randint(1, 30), 0, kinds=[f.type for f in model.schema])
            more = more.rename_columns(model.column_names)
            try:
                result = library.write("append", path, more)
            except Failed as failed:    # an empty text beside nulls, and the like
                assert failed.code == USAGE
                continue
            model = pa.concat_tables([model, more.cast(model.schema)])
        elif verb == "delete" and model.num_rows > 3:
            gone = r.sample(range(model.num_rows), r.randint(1, model.num_rows // 2))
            result = delete(library, path, gone)
            assert result.rows == len(gone)
            model = model.take([i for i in range(model.num_rows) if i not in set(gone)])
        elif verb == "compact":
            result = library.change("compact", path, group_rows=8, file_rows=40)
            if result.version == 0:
                continue
        elif verb == "restore":
            number = r.choice(list(versions))
            result = library.change("restore", path, str(number).encode())
            model = versions[number]
        elif verb == "overwrite":
            model = random_table(r.random(), r.randint(0, 30), 0.1, kinds=kinds)
            result = library.write("overwrite", path, model, nulls=KEEP)
        elif verb == "columns" and model.num_columns < 8:
            extra = random_table(r.random(), model.num_rows, 0.1, columns=1).rename_columns(["x%d" % step])
            result = library.write("add_columns", path, extra, nulls=KEEP)
            model = model.append_column("x%d" % step, extra.column(0))
        else:
            result = library.change("annotate", path, aux={"step": str(step).encode()})
        versions[result.version] = model
        assert result.version == max(before) + 1
    for number, table in versions.items():
        back = library.read(f"{path}@{number}")
        assert back.column_names == table.column_names
        assert plain(back) == plain(table), number
    assert plain(library.read(path)) == plain(model)


def test_deleting_by_id_twice_and_all(library, tmp_path):
    table = pa.table({"a": range(20)})
    library.write("create", tmp_path / "d", table, file_rows=10, group_rows=5)
    assert delete(library, tmp_path / "d", [3, (1 << 32) + 4, 3], ids=True).rows == 2
    assert library.read(tmp_path / "d")["a"].to_pylist() == [i for i in range(20) if i not in (3, 14)]
    assert delete(library, tmp_path / "d", list(range(9))).rows == 9
    assert library.read(tmp_path / "d")["a"].to_pylist() == [10, 11, 12, 13, 15, 16, 17, 18, 19]
    for rows, ids in (([9], False), ([5 << 32], True), ([(1 << 32) + 10], True)):
        with pytest.raises(Failed) as failed:
            delete(library, tmp_path / "d", rows, ids)
        assert failed.value.code == USAGE


def test_many_deletions_are_a_bitmap(library, tmp_path):
    library.write("create", tmp_path / "d", pa.table({"a": pa.array(range(20000), pa.int32())}))
    gone = set(random.Random(5).sample(range(20000), 6000))
    delete(library, tmp_path / "d", sorted(gone))
    assert [p.suffix for p in (tmp_path / "d" / "_deletions").iterdir()] == [".bin"]
    assert library.read(tmp_path / "d")["a"].to_pylist() == [i for i in range(20000) if i not in gone]


def test_tags(library, tmp_path):
    path = str(tmp_path / "d").encode()
    library.write("create", tmp_path / "d", pa.table({"a": [1]}), tag="born")
    library.write("append", tmp_path / "d", pa.table({"a": [2]}))
    library.call("lb_lance_tag", library.context, path, b"1", b"first", False, None)
    assert library.read(f"{tmp_path}/d@first")["a"].to_pylist() == [1]
    assert library.read(f"{tmp_path}/d@born")["a"].to_pylist() == [1]
    for tag in (b"first", b"born"):
        with pytest.raises(Failed) as failed:
            library.call("lb_lance_tag", library.context, path, b"2", tag, False, None)
        assert failed.value.code == USAGE
    for tag in (b"", b"17", b"a/b", b"..", b".x", b"2024-01-01"):
        with pytest.raises(Failed):
            library.call("lb_lance_tag", library.context, path, b"2", tag, False, None)
    library.call("lb_lance_tag", library.context, path, None, b"first", True, None)
    with pytest.raises(Failed) as failed:
        library.read(f"{tmp_path}/d@first")
    assert failed.value.code == NOTFOUND


def test_where_no_dataset_can_be(library, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("full", "file"):
        with pytest.raises(Failed) as failed:
            library.write("create", tmp_path / name, pa.table({"a": [1]}))
        assert failed.value.code == USAGE
    with pytest.raises(Failed) as failed:
        library.write("append", tmp_path / "none", pa.table({"a": [1]}))
    assert failed.value.code == NOTFOUND
    library.write("append", tmp_path / "none", pa.table({"a": [1]}), replace=True)
    assert library.read(tmp_path / "none")["a"].to_pylist() == [1]
