"""What Lakebed writes is what release 0.4.17 wrote, byte for byte: each dataset of the reference era is made again from its
values, under the same file names and times."""
import base64
import json
import struct

import pyarrow as pa
import pytest

from lance_api import CONFORMANCE, Library

pytestmark = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="there is no conformance data")

NAMES = ["minimal", "primitives", "one_fsb", "one_lstr", "one_flag", "nested", "list_null", "struct_null", "dict_i8",
         "dict_u32", "dict_int", "dict_two", "dict_in_struct", "versions", "batches"]

SIMPLE = {"null": pa.null(), "bool": pa.bool_(), "halffloat": pa.float16(), "float": pa.float32(), "double": pa.float64(),
          "string": pa.string(), "binary": pa.binary(), "large_string": pa.large_string(),
          "large_binary": pa.large_binary(), "date32:day": pa.date32(), "date64:ms": pa.date64()}
SIMPLE |= {name: getattr(pa, name)() for sign in ("", "u") for name in (f"{sign}int{n}" for n in (8, 16, 32, 64))}
RAW = {pa.types.is_date32: pa.int32(), pa.types.is_time32: pa.int32(), pa.types.is_date64: pa.int64(),
       pa.types.is_time64: pa.int64(), pa.types.is_timestamp: pa.int64(), pa.types.is_duration: pa.int64()}


def arrow_type(logical, children):
    """The Arrow type of a field, by its logical type and the fields inside it."""
    if logical in SIMPLE:
        return SIMPLE[logical]
    word, _, rest = logical.partition(":")
    if word in ("list", "list.struct"):
        return pa.list_(children[0])
    if word in ("large_list", "large_list.struct"):
        return pa.large_list(children[0])
    if word == "struct":
        return pa.struct(children)
    if word == "dict":
        value, key, _ = rest.rsplit(":", 2)
        return pa.dictionary(SIMPLE[key], SIMPLE[value])
    if word == "fixed_size_list":
        item, size = rest.rsplit(":", 1)
        return pa.list_(arrow_type(item, []), int(size))
    if word == "fixed_size_binary":
        return pa.binary(int(rest))
    if word == "decimal":
        bits, precision, scale = map(int, rest.split(":"))
        return (pa.decimal128 if bits == 128 else pa.decimal256)(precision, scale)
    if word == "timestamp":
        unit, zone = rest.split(":", 1)
        return pa.timestamp(unit, None if zone == "-" else zone)
    return {"time32": pa.time32, "time64": pa.time64, "duration": pa.duration}[word](rest)


def arrow_fields(fields, parent=-1):
    return [pa.field(f["name"], arrow_type(f["logical_type"], arrow_fields(fields, f["id"])), f["nullable"])
            for f in fields if f["parent_id"] == parent]


def dictionaries(fields):
    return {f["name"]: f["dictionary"]["values"] for f in fields if "dictionary" in f}


def fixed(kind, values):
    """An array by way of the stored whole numbers."""
    width = kind.bit_width // 8
    data = b"".join(int(v or 0).to_bytes(width, "little", signed=True) for v in values)
    valid = None
    if any(v is None for v in values):
        valid = pa.array([v is not None for v in values]).buffers()[1]
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(data)])


def blob(value):
    return value if value is None else bytes.fromhex(value.removeprefix("hex:"))


def array(field, values, known):
    kind = field.type
    if pa.types.is_dictionary(kind):
        words = array(pa.field("", kind.value_type), known[field.name], known)
        keys = [words.to_pylist().index(v) for v in array(pa.field("", kind.value_type), values, known).to_pylist()]
        return pa.DictionaryArray.from_arrays(pa.array(keys, kind.index_type), words)
    if pa.types.is_struct(kind):
        inner = [array(f, [None if v is None else v[f.name] for v in values], known) for f in kind]
        return pa.StructArray.from_arrays(inner, fields=list(kind))
    if pa.types.is_fixed_size_list(kind):
        flat = array(kind.value_field, [x for v in values for x in v], known)
        return pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = [0]
        for v in values:
            ends.append(ends[-1] + len(v))
        flat = array(kind.value_field, [x for v in values for x in v], known)
        made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        ends = pa.array(ends, pa.int64() if made is pa.LargeListArray else pa.int32())
        return made.from_arrays(ends, flat, type=kind)
    if pa.types.is_decimal(kind) or any(test(kind) for test in RAW):
        return fixed(kind, values)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.array([blob(v) for v in values], kind)
    if pa.types.is_floating(kind):
        values = [None if v is None else float(v) for v in values]
        if kind == pa.float16():
            data = b"".join(struct.pack("<e", v) for v in values)
            return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])
        return pa.array(values, kind)
    if pa.types.is_integer(kind):
        values = [None if v is None else int(v) for v in values]
    return pa.array(values, kind)


def table_of(version):
    """All rows of a version, as the expected file has them."""
    fields = version["fields"]
    known = dictionaries(fields)
    columns = arrow_fields(fields)
    arrays = [array(f, version["columns"][f.name]["values"], known) for f in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema(columns))


def stems(fragments):
    return [f["files"][0]["path"].removesuffix(".lance") for f in fragments]


def when(version):
    seconds, nanos = version["timestamp"]
    return seconds * 10**9 + nanos


def compare(made, reference):
    ours, theirs = ({p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
                    for root in (made, reference))
    assert sorted(ours) == sorted(theirs)
    for name, data in theirs.items():
        assert ours[name] == data, f"{name}: {base64.b16encode(ours[name])}\n{base64.b16encode(data)}"


@pytest.mark.parametrize("name", NAMES)
def test_dataset_is_made_again(name, tmp_path):
    folder = f"w0.4.17-{name}"
    expected = json.loads((CONFORMANCE / "expected" / f"{folder}.json").read_text())
    made, before = tmp_path / "made.lance", None
    library = Library()
    for number, version in sorted(expected["versions"].items(), key=lambda v: int(v[0])):
        how = {"timestamp_ns": when(version), "whole_batches": True}
        known = before is not None and stems(version["fragments"])[:len(before)] == before
        names = stems(version["fragments"])[len(before):] if known else stems(version["fragments"])
        if name == "batches":    # six batches of 450 rows
            rows = library.read(CONFORMANCE / folder).combine_chunks().to_batches(450)
        else:
            skip = sum(f["physical_rows"] for f in version["fragments"][:-1]) if known else 0
            rows = table_of(version).slice(skip)
        verb = "create" if before is None else "append" if known else "overwrite"
        result = library.write(verb, made, rows, names=names, **how)
        assert result.version == int(number)
        before = stems(version["fragments"])
    compare(made, CONFORMANCE / folder)
