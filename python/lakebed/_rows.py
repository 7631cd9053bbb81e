"""Rows, and what says which columns they have. All of it speaks Arrow."""

from __future__ import annotations

import html
import json
import shutil
import struct
from typing import Any, Iterator, NamedTuple

from . import _core, _errors, _values

HTML_ROWS = 10
HTML_COLUMNS = 20
HTML_TEXT = 60


class Field(NamedTuple):
    """A column: its name, its type in words ("int64", or JSON for nested ones), whether nulls may be in it, and what
    else is said of it."""

    name: str
    type: Any
    nullable: bool
    metadata: dict[str, str]


def _metadata(raw: bytes) -> dict[str, str]:
    """Arrow's metadata: a count, then each key and value with its length before it."""
    if not raw:
        return {}
    texts, at = [], 4
    for _ in range(2 * struct.unpack_from("=i", raw)[0]):
        (size,) = struct.unpack_from("=i", raw, at)
        texts.append(raw[at + 4 : at + 4 + size].decode("utf-8", "replace"))
        at += 4 + size
    return dict(zip(texts[::2], texts[1::2]))


def words_of(kind: Any) -> str:
    """A type as it is shown: a word, or JSON where it is nested."""
    return kind if isinstance(kind, str) else json.dumps(kind)


class Schema(_core.Schema):
    """Columns of rows.

    >>> schema = lakebed.open("lake/africa.csv").schema
    >>> schema.names[:3]
    ['name', 'country', 'area_km2']
    >>> schema["max_depth_m"].type
    'int64'
    >>> len(schema), "name" in schema
    (10, True)
    """

    __slots__ = ()

    @property
    def fields(self) -> list[Field]:
        """All columns in order."""
        return [Field(name or "", json.loads(words), null, _metadata(raw)) for name, words, null, raw in self._fields()]

    @property
    def names(self) -> list[str]:
        """Names of all columns in order."""
        return [field[0] or "" for field in self._fields()]

    @property
    def types(self) -> list[Any]:
        """Types of all columns in words."""
        return [json.loads(field[1]) for field in self._fields()]

    def __getitem__(self, key: int | str) -> Field:
        fields = self.fields
        if isinstance(key, int):
            return fields[key]
        for field in fields:
            if field.name == key:
                return field
        raise _errors.ColumnError("Column '%s' not found" % key, status="NOTFOUND")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash(tuple(self.names))

    def __repr__(self) -> str:
        return "<lakebed.Schema %s>" % ", ".join("%s: %s" % (f.name, words_of(f.type)) for f in self.fields)

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr><td>%s</td><td>%s</td></tr>" % (html.escape(f.name), html.escape(words_of(f.type)))
            for f in self.fields[: HTML_COLUMNS * 5]
        )
        return "<table><tr><th>column</th><th>type</th></tr>%s</table>" % rows

    def __reduce__(self) -> Any:
        return _core.schema_of, (self._state(),)


def first_of(names: list[str]) -> dict[str, int]:
    """Each name with the place of the first column that has it."""
    places: dict[str, int] = {}
    for i, name in enumerate(names):
        places.setdefault(name, i)
    return places


class Batch(_core.Batch):
    """Rows that were read together: `pyarrow.record_batch(batch)` takes them without a copy."""

    __slots__ = ()

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema()

    @property
    def num_rows(self) -> int:
        """Number of rows, as `len()`."""
        return len(self)

    def slice(self, offset: int, length: int | None = None) -> Batch:
        """Rows [offset, offset + length) without a copy."""
        left = max(len(self) - offset, 0)
        return self._slice(min(offset, len(self)), left if length is None else min(length, left))

    def to_pydict(self) -> dict[str, list[Any]]:
        """Columns as lists of Python values; of columns of one name the first counts."""
        return {name: self._column(i) for name, i in first_of(self.schema.names).items()}

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        return [self._row(i) for i in range(len(self))]

    def __getitem__(self, row: int) -> dict[str, Any]:
        return self._row(row + len(self) if row < 0 else row)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._row(i) for i in range(len(self)))

    def __arrow_c_schema__(self) -> object:
        """The columns as a capsule of the Arrow C data interface."""
        return self._schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of one batch."""
        return _core.stream_of(self._schema(), [self])

    def __repr__(self) -> str:
        return "<lakebed.Batch: %d rows × %d columns>" % (len(self), len(self.schema))

    def __reduce__(self) -> Any:
        return _core.batch_of, (self._schema(), self._state())


class Rows:
    """Rows in memory, as `pyarrow.Table`: what slices and takes give.

    >>> rows = lakebed.open("lake/africa.csv")[2:4]
    >>> rows.num_rows, rows.num_columns, rows.column_names[0]
    (2, 10, 'name')
    >>> rows.select(["name"]).to_pydict()
    {'name': ['Edward', 'Kariba']}
    >>> rows[1]["max_depth_m"]
    97
    """

    __slots__ = ("_batches", "_names", "_schema", "_starts")

    def __init__(self, schema: Schema, batches: list[Batch]) -> None:
        self._schema = schema
        self._batches = batches
        self._names: list[str] | None = None

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema

    @property
    def batches(self) -> list[Batch]:
        """The pieces in which the rows came."""
        return list(self._batches)

    @property
    def num_rows(self) -> int:
        """Number of rows, as `len()`."""
        return sum(map(len, self._batches))

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self._schema)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        if self._names is None:
            self._names = self._schema.names
        return list(self._names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_columns

    def column(self, key: int | str) -> list[Any]:
        """One column as a list of Python values."""
        index = key if isinstance(key, int) else self._index(key)
        index += len(self._schema) if index < 0 else 0
        values = []
        for batch in self._batches:
            values += batch._column(index)
        if not self._batches and not 0 <= index < len(self._schema):
            raise IndexError("a column that the rows do not have")
        return values

    def _index(self, name: str) -> int:
        names = self.column_names
        if name not in names:
            raise _errors.ColumnError("Column '%s' not found" % name, status="NOTFOUND")
        return names.index(name)

    def to_pydict(self) -> dict[str, list[Any]]:
        """Columns as lists of Python values; of columns of one name the first counts."""
        return {name: self.column(i) for name, i in first_of(self.column_names).items()}

    def to_pylist(self) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        return list(self)

    def select(self, columns: list[str]) -> Rows:
        """The same rows with these columns, without a copy."""
        wanted = [self._index(name) for name in columns]
        state = self._schema._state()
        schema = _core.schema_of(state[:4] + ([state[4][i] for i in wanted], state[5]))
        return Rows(schema, [_core.batch_select(batch, schema, wanted) for batch in self._batches])

    def slice(self, offset: int, length: int | None = None) -> Rows:
        """Rows [offset, offset + length) without a copy."""
        pieces, left = [], self.num_rows if length is None else length
        for batch in self._batches:
            if offset < len(batch) and left > 0:
                piece = batch.slice(offset, left)
                pieces.append(piece)
                left -= len(piece)
            offset = max(offset - len(batch), 0)
        return Rows(self._schema, pieces)

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                raise ValueError("rows in memory are sliced without a step; take() of the table has any order")
            return self.slice(start, max(stop - start, 0))
        row = key + len(self) if key < 0 else key
        for batch in self._batches:
            if 0 <= row < len(batch):
                return batch._row(row)
            row -= len(batch)
        raise IndexError("row %d of %d rows" % (key, len(self)))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._batches:
            yield from batch

    def to_bytes(self, form: str = "csv", *, header: bool = True) -> bytes:
        """The rows as "csv", "ndjson", "json", "table", "arrow" (an IPC file), "arrows" (an IPC stream), "tagged" or
        "canonical".

        >>> print(lakebed.open("lake/africa.csv").select(["name", "max_depth_m"])[:2].to_bytes().decode(), end="")
        name,max_depth_m
        Albert,58
        Chad,11
        """
        return _core.print(self, form, 0, header)

    def to_arrow(self) -> Any:
        """As `pyarrow.Table`, without a copy; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self, **options: Any) -> Any:
        """As `pandas.DataFrame`; needs pandas and pyarrow. Options are those of `pyarrow.Table.to_pandas`."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> Any:
        """As `polars.DataFrame`; needs polars."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a capsule of the Arrow C stream interface; as often as wanted."""
        return _core.stream_of(self._schema, self._batches)

    def __arrow_c_schema__(self) -> object:
        """The columns as a capsule of the Arrow C data interface."""
        return self._schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return "<lakebed.Rows: %d rows × %d columns>" % self.shape

    def __str__(self) -> str:
        width = shutil.get_terminal_size((100, 24)).columns
        return _core.print(self, "table", width, True).decode("utf-8", "replace").rstrip("\n")

    def _repr_html_(self) -> str:
        return html_of(self.slice(0, HTML_ROWS), "%d rows × %d columns" % self.shape)

    def __reduce__(self) -> Any:
        return Rows, (self._schema, self._batches)


class Batches:
    """Rows that are still to be read, batch by batch; read once.

    >>> batches = lakebed.open("lake").select(["name"]).batches(max_rows=50)
    >>> sum(len(batch) for batch in batches)
    272
    """

    __slots__ = ("_held", "_max_rows", "_schema", "_stream")

    def __init__(self, stream: Any, max_rows: int | None = None) -> None:
        if max_rows is not None and max_rows < 1:
            raise ValueError("max_rows is at least 1")
        self._stream = stream
        self._schema = stream.schema()
        self._max_rows = max_rows
        self._held: Batch | None = None

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        batch = self._stream.next() if self._held is None else self._held
        self._held = None
        if batch is None:
            raise StopIteration
        if self._max_rows is not None and len(batch) > self._max_rows:
            self._held = batch.slice(self._max_rows)
            return batch.slice(0, self._max_rows)
        return batch

    def read_all(self) -> Rows:
        """What is left, in memory."""
        return Rows(self._schema, list(self))

    def close(self) -> None:
        """Let go of the files; what was read stays."""
        self._held = None
        self._stream.close()

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand what is left over to another reader, once."""
        if self._held is not None:
            raise ValueError("a batch was read in part: read the rest here, or hand over from the start")
        return self._stream.__arrow_c_stream__()

    def __arrow_c_schema__(self) -> object:
        """The columns as a capsule of the Arrow C data interface."""
        return self._schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return "<lakebed.Batches of %d columns>" % len(self._schema)


def _cell(value: Any) -> str:
    if value is None:
        return "<td style='color:gray'>∅</td>"
    text = "⟨%d bytes⟩" % len(value) if isinstance(value, bytes) else str(value)
    return "<td>%s</td>" % html.escape(text if len(text) <= HTML_TEXT else text[: HTML_TEXT - 1] + "…")


def html_of(rows: Rows, caption: str) -> str:
    """A short table for notebooks; whatever stands in the data stays text."""
    names = rows.column_names[:HTML_COLUMNS]
    columns = [rows.column(i) for i in range(len(names))]
    more = "<th>…</th>" if rows.num_columns > len(names) else ""
    head = "".join("<th>%s</th>" % html.escape(name[:HTML_TEXT]) for name in names)
    lines = ("<tr>%s</tr>" % "".join(_cell(column[i]) for column in columns) for i in range(len(rows)))
    return "<div><p>%s</p><table><tr>%s%s</tr>%s</table></div>" % (html.escape(caption), head, more, "".join(lines))


_core.use(
    {
        "error": _errors.make,
        "warn": _errors.warn,
        "date": _values.date,
        "time": _values.time,
        "timestamp": _values.timestamp,
        "duration": _values.duration,
        "interval": _values.interval,
        "decimal": _values.decimal_of,
        "schema_type": Schema,
        "batch_type": Batch,
    }
)
