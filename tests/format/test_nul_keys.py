"""Keys with the character NUL, which no column can be named by: JSON and MessagePack read the same rows of them, and refuse the same
files, at the row where such a key has to be a column or a field. What Python makes of the rows is the control.

Run by pytest; LAKEBED names the command.
"""
import json
import os
import subprocess

import msgpack
import pytest

LAKEBED = os.environ["LAKEBED"]

BAD = {"x": 1, "y\0z": [1, "\0"]}
READ = {
    "beside other text": [{"a": BAD}, {"a": "s"}, {"a": None}],
    "behind other text": [{"a": "s"}, {"a": BAD}],
    "in a list beside a number": [{"a": [BAD, 7]}, {"a": [BAD]}],
    "in rows of any kind": [BAD, 7],
    "of a map": [{"a": {"\0%d" % (600 * row + i): i for i in range(600)}} for row in range(2)],
}
REFUSED = {
    "a column": ([{"a": 1}, {"a": 2}, {"a": 3, "b\0": 1}, {"b\0": 2}], 2),
    "a column of the first row": ([{"\0": 1}], 0),
    "a field": ([{"a": {"x": i}} for i in range(5)] + [{"a": BAD}], 5),
    "a field of a list's items": ([{"a": []}, {"a": [{}, BAD]}], 1),
}
LAYOUTS = {
    "lines.ndjson": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    "array.json": lambda rows: json.dumps(rows, indent=1).encode(),
    "wide.ndjson": lambda rows: "\n\n".join(json.dumps(row) for row in rows).encode("utf-16"),
    "stream.msgpack": lambda rows: b"".join(map(msgpack.packb, rows)),
    "array.msgpack": msgpack.packb,
}


def run(*arguments):
    return subprocess.run([LAKEBED, *map(str, arguments)], capture_output=True, text=True)


def slices(path):
    """Read alone, and by a map of each row, of several rows, and by several threads."""
    encoding = ["--encoding", "UTF-16"] if path.name == "wide.ndjson" else []
    yield run("slice", path, "--to", "tagged", *encoding)
    for stride, threads in ((1, 1), (2, 2), (65536, 2)):
        run("map", path.parent, "-q", "--stride", stride, "-j", threads, "--set", "wide.ndjson:encoding=UTF-16")
        yield run("slice", path, "--to", "tagged", "-j", threads, *encoding)


def plain(value):
    """A value of a column of mixed types is JSON text; a map is a list of pairs."""
    if isinstance(value, str):
        try:
            return plain(json.loads(value))
        except ValueError:
            return value
    if isinstance(value, list) and value and all(isinstance(v, list) and len(v) == 2 for v in value):
        return dict(value)
    return [plain(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", READ)
def test_read_as_data(what, layout, tmp_path):
    path = tmp_path / layout
    path.write_bytes(LAYOUTS[layout](READ[what]))
    for done in slices(path):
        assert done.returncode == 0, done.stderr
        got = [{k: plain(v) for k, v in json.loads(line).items()} for line in done.stdout.splitlines()]
        assert got == (READ[what] if what != "in rows of any kind" else [{"value": row} for row in READ[what]])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_place(what, layout, tmp_path):
    rows, row = REFUSED[what]
    path = tmp_path / layout
    path.write_bytes(LAYOUTS[layout](rows))
    line = {"lines.ndjson": row + 1, "wide.ndjson": 2 * row + 1}.get(layout)
    for done in slices(path):
        assert done.returncode == 3 and done.stdout == ""
        assert "a key holds the character NUL" in done.stderr and "row %d" % row in done.stderr, done.stderr
        assert line is None or "line %d" % line in done.stderr, done.stderr
