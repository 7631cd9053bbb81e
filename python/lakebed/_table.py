"""Files, datasets and directories as rows."""

from __future__ import annotations

import os
import threading
from typing import Any, Iterator, NamedTuple

from . import _core, _options, _rows, _values
from ._options import UNLIMITED
from ._rows import Batch, Batches, Rows, Schema

SCHEMA_MODES = {"union": 0, "strict": 1, "text": 2}
MAP_NAME = ".br_map.bazan"

_reopening = threading.Lock()


def _after_fork() -> None:
    global _reopening
    _reopening = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class FileInfo(NamedTuple):
    """A file of a table. `map` is "used", or why no map serves it."""

    path: str
    format: str
    rows: int
    bytes: int
    first_row: int
    blocks: int
    columns: int
    locator: str
    map: str
    error: str | None
    mtime_ns: int


class ColumnStats(NamedTuple):
    """What is known of a column over all files. `min` and `max` are None where unknown, and bounds only where not
    exact; counts are None where unknown."""

    type: str
    nullable: bool
    null_count: int | None
    nan_count: int | None
    min: Any
    max: Any
    min_exact: bool
    max_exact: bool


class Split(NamedTuple):
    """A run of whole records of one file. `first_byte`, `bytes` and `header_bytes` are None where the file is not split
    by bytes."""

    path: str
    file: int
    number: int
    first_byte: int | None
    bytes: int | None
    first_row: int
    rows: int
    header_bytes: int | None


class _Source:
    """What was opened, and how to open it again: in a child of a fork, and in another process."""

    __slots__ = ("_columns", "_core", "_files", "_generation", "spec")

    def __init__(self, spec: tuple[Any, ...], path: bytes | None = None) -> None:
        self.spec = spec
        self._generation = _core.generation()
        self._files: list[dict[str, Any]] | None = None
        self._columns: list[dict[str, Any]] | None = None
        self._core: Any = _core.Table(*((path,) + spec[1:] if path is not None else spec))

    def core(self) -> Any:
        if self._core is None:
            raise ValueError("the table is closed")
        if self._generation != _core.generation():
            self._reopen()
        return self._core

    def _reopen(self) -> None:
        with _reopening:
            if self._core is not None and self._generation != _core.generation():
                self._core = _core.Table(*self.spec)
                self._generation = _core.generation()

    def files(self) -> list[dict[str, Any]]:
        """Asked once: what the library tells it keeps until it is closed."""
        core = self.core()
        if self._files is None:
            self._files = [core.file(i) for i in range(core.info()[2])]
        return self._files

    def columns(self) -> list[dict[str, Any]]:
        """Likewise."""
        core = self.core()
        if self._columns is None:
            self._columns = core.columns()
        return self._columns

    def close(self) -> None:
        core, self._core = self._core, None
        if core is not None:
            core.close()

    @property
    def closed(self) -> bool:
        return self._core is None


class Table:
    """Rows of a file, a dataset or a directory: what `lakebed.open` gives.

    Many threads may read one table. It survives a fork and being pickled: the other process opens it again.
    """

    __slots__ = ("_columns", "_info", "_path", "_schema", "_source")

    def __init__(self, path: str, source: _Source, columns: list[str] | None, schema: Schema | None = None) -> None:
        self._path = path
        self._source = source
        self._columns = columns
        self._schema = schema
        self._info: tuple[Any, ...] | None = None

    # ---- what it is

    @property
    def path(self) -> str:
        """What was opened, as it was named."""
        return self._path

    @property
    def schema(self) -> Schema:
        """The columns."""
        if self._schema is None:
            core = self._source.core()
            self._schema = core.schema() if self._columns is None else core.stream(0, 0, self._columns).schema()
        return self._schema

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.schema.names

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.schema)

    @property
    def num_rows(self) -> int:
        """Number of rows, as `len()`. A file that is not mapped and was too large to be read whole when it was opened
        is read to its end for that."""
        if self._info is None or self._info[1] < 0:
            core = self._source.core()
            info = core.info()
            self._info = info if info[1] >= 0 else (info[0], core.count()) + info[2:]
        return self._info[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_columns

    @property
    def files(self) -> list[FileInfo]:
        """The files, in the order of their rows.

        >>> [(file.path, file.rows) for file in lakebed.open("lake/africa.csv").files]
        [('lake/africa.csv', 12)]
        """
        return [FileInfo(**{name: info[name] for name in FileInfo._fields}) for info in self._source.files()]

    @property
    def stats(self) -> dict[str, ColumnStats]:
        """Bounds and counts of every column, from the map where it has them, else from the file.

        >>> lakebed.open("lake/levels/huron.csv").stats["year"].max
        1972
        """
        wanted = None if self._columns is None else set(self._columns)
        return {
            column["name"]: _stats_of(column)
            for column in self._source.columns()
            if wanted is None or column["name"] in wanted
        }

    # ---- rows

    def __len__(self) -> int:
        return self.num_rows

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        """Row `[i]` as a dictionary, rows `[a:b]` as `Rows`, columns `[["a", "b"]]` as a table, scattered rows
        `[[7, 3]]` as `Rows`."""
        if isinstance(key, slice):
            return self._range(key)
        if hasattr(key, "__index__"):
            return self._row(key.__index__())
        if isinstance(key, (list, tuple)) and key and all(isinstance(item, str) for item in key):
            return self.select(list(key))
        if isinstance(key, str):
            raise TypeError("a column is taken by a list of names: [[%r]]" % key)
        if isinstance(key, (bytes, float)) or not (hasattr(key, "__iter__") or _options.speaks_arrow(key)):
            raise TypeError("a table has [row], [from:to], [[row, row]] and [[name, name]], not [%r]" % (key,))
        return self.take(key)

    def _row(self, index: int) -> dict[str, Any]:
        row = index + len(self) if index < 0 else index
        batches = self._source.core().read(row, 1, self._columns)[1] if row >= 0 else []
        if not batches:
            raise IndexError("row %d of %d rows" % (index, len(self)))
        return batches[0]._row(0)

    def _range(self, key: slice) -> Rows:
        step = 1 if key.step is None else key.step.__index__()
        if step == 1 and _from_start(key.start) and _from_start(key.stop):
            start = key.start or 0
            return self.slice(start, UNLIMITED if key.stop is None else max(key.stop - start, 0))
        start, stop, step = key.indices(len(self))
        if step == 1:
            return self.slice(start, max(stop - start, 0))
        return self.take(range(start, stop, step))

    def slice(self, offset: int, limit: int) -> Rows:
        """Rows [offset, offset + limit), fewer where the table ends before.

        >>> lakebed.open("lake/levels/huron.csv").slice(96, 10).column("year")
        [1971, 1972]
        """
        return Rows(*self._source.core().read(offset, limit, self._columns))

    def head(self, n: int = 10) -> Rows:
        """The first rows."""
        return self.slice(0, n)

    def tail(self, n: int = 10) -> Rows:
        """The last rows."""
        return self.slice(max(len(self) - n, 0), n)

    def take(self, rows: Any, *, sort: bool = False) -> Rows:
        """Scattered rows in the order asked (`sort`: of the table); one may repeat. A list, a range, an array of
        NumPy or Arrow. Every block with a wanted row is read once.

        >>> lakebed.open("lake/levels/huron.csv").take([97, 0]).column("year")
        [1972, 1875]
        """
        numbers = _options.row_numbers(rows)
        return Rows(*self._source.core().take_read(numbers, False, 0, 0, 0, sort, self._columns))

    def sample(self, n: int, seed: int | None = None, *, sort: bool = False) -> Rows:
        """`n` rows drawn at random without replacement, the same ones for the same seed and number of rows.

        >>> lake = lakebed.open("lake/levels/huron.csv")
        >>> lake.sample(3, seed=1).column("year") == lake.sample(3, seed=1).column("year")
        True
        """
        seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        return Rows(*self._source.core().take_read(None, True, seed, 0, n, sort, self._columns))

    def shuffle(self, seed: int = 0) -> Shuffled:
        """All rows in a random order, which takes no memory and is taken up again at any place.

        >>> shuffled = lakebed.open("lake/levels/huron.csv").shuffle(seed=7)
        >>> sorted(row["year"] for row in shuffled) == list(range(1875, 1973))
        True
        """
        return Shuffled(self, _options.whole("seed", seed))

    def select(self, columns: list[str]) -> Table:
        """The same rows with these columns, in this order; a name may repeat.
        Nothing is read but what is asked for later."""
        names = _options.strings("columns", columns)
        if names is not None and not names:
            raise ValueError("columns names none; a table has one at least")
        schema = self._source.core().stream(0, 0, names).schema() if names else None
        return type(self)(self._path, self._source, names, schema)

    def batches(self, max_rows: int | None = None, *, offset: int = 0, limit: int | None = None) -> Batches:
        """Rows piece by piece, of at most `max_rows` rows where given, so that memory stays small."""
        limit = UNLIMITED if limit is None else limit
        return Batches(self._source.core().stream(offset, limit, self._columns), max_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            yield from batch

    def raw(self, offset: int = 0, limit: int | None = None) -> bytes:
        """The records' own bytes of these rows, of text formats.

        >>> lakebed.open("lake/levels/huron.csv").raw(0, 1)
        b'Huron,1875,580.38\\n'
        """
        return self._source.core().raw(offset, UNLIMITED if limit is None else limit)

    # ---- how it is read

    def explain(self, offset: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Which files, blocks and bytes a slice touches, and why a map is not used."""
        return self._source.core().explain(offset, UNLIMITED if limit is None else limit, self._columns)

    def splits(self, target_bytes: int = 64 << 20, *, check: bool = False) -> list[Split]:
        """Where the files can be cut into runs of whole records of about so many bytes. `check` reads each alone and
        compares.

        >>> [split.rows for split in lakebed.open("lake/levels/huron.csv").splits(1000)]
        [55, 43]
        """
        target = _options.whole("target_bytes", target_bytes)
        if target == 0:
            raise ValueError("target_bytes is at least 1")
        return [Split(*(_known(value) for value in split)) for split in self._source.core().splits(target, check)]

    def read_split(self, split: Split) -> Rows:
        """The rows of one split."""
        first = self._source.files()[split.file]["first_row"]
        return self.slice(first + split.first_row, split.rows)

    # ---- for others

    def read(self) -> Rows:
        """All rows, in memory."""
        return self.slice(0, UNLIMITED)

    def to_arrow(self) -> Any:
        """All rows as `pyarrow.Table`; needs pyarrow."""
        return self.read().to_arrow()

    def to_pandas(self, **options: Any) -> Any:
        """All rows as `pandas.DataFrame`; needs pandas and pyarrow."""
        return self.read().to_pandas(**options)

    def to_polars(self) -> Any:
        """All rows as `polars.DataFrame`; needs polars."""
        return self.read().to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as a capsule of the Arrow C stream interface; as often as wanted."""
        return self._source.core().stream(0, UNLIMITED, self._columns).__arrow_c_stream__()

    def __arrow_c_schema__(self) -> object:
        """The columns as a capsule of the Arrow C data interface."""
        return self.schema.__arrow_c_schema__()

    def close(self) -> None:
        """Let go of the files. Rows that were read stay, and streams that were begun go on."""
        self._source.close()

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._source.closed

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return _unpickled, (type(self), self._path, self._source.spec, self._columns)

    def _about(self) -> str:
        if self._source.closed:
            return "closed"
        rows = self._source.core().info()[1]
        return "%s rows × %d columns" % ("many" if rows < 0 else rows, self.num_columns)

    def __repr__(self) -> str:
        return "<lakebed.%s %r: %s>" % (type(self).__name__, self._path, self._about())

    def _repr_html_(self) -> str:
        caption = "%s %s: %s" % (type(self).__name__.lower(), self._path, self._about())
        if self._source.closed:
            return "<p>%s</p>" % _rows.html.escape(caption)
        return _rows.html_of(self.slice(0, _rows.HTML_ROWS), caption)


def _known(value: Any) -> Any:
    return None if isinstance(value, int) and value < 0 else value


def _from_start(value: Any) -> bool:
    return value is None or (isinstance(value, int) and value >= 0)


def _stats_of(column: dict[str, Any]) -> ColumnStats:
    kind = column["type"]
    return ColumnStats(
        type=kind,
        nullable=column["nullable"],
        null_count=_known(column["null_count"]),
        nan_count=_known(column["nan_count"]),
        min=_values.of_text(kind, column["min"]),
        max=_values.of_text(kind, column["max"]),
        min_exact=column["min_exact"],
        max_exact=column["max_exact"],
    )


def _unpickled(kind: type[Table], path: str, spec: tuple[Any, ...], columns: list[str] | None) -> Table:
    return kind(path, _Source(spec), columns)


class File(Table):
    """One data file."""

    __slots__ = ()


class Lake(Table):
    """A directory of data files as one table, in the order of their paths."""

    __slots__ = ()

    @property
    def failed(self) -> int:
        """Files that could not be read and have no rows here; each was told of by a warning."""
        return self._source.core().info()[3]

    @property
    def map_path(self) -> str:
        """Where its map is, or would be."""
        return os.path.join(self._path, MAP_NAME)

    def locate(self, row: int) -> dict[str, Any] | None:
        """File, block and bytes of a row, from the map alone; see `lakebed.lake.locate`."""
        from . import lake

        return lake.locate(self._path, row)

    def doctor(self, auto_heal: bool = False, **options: Any) -> dict[str, Any]:
        """What became of the files since they were mapped; see `lakebed.lake.doctor`."""
        from . import lake

        return lake.doctor(self._path, auto_heal, **options)


class Dataset(Table):
    """A version of a Lance dataset. It stays that version, whatever is committed later.

    >>> import pyarrow
    >>> made = lakebed.lance.create("numbers.lance", pyarrow.table({"a": [1, 2, 3]}))
    >>> made.version, len(made)
    (1, 3)
    >>> lakebed.lance.append("numbers.lance", pyarrow.table({"a": [4]})).version
    2
    >>> len(made.checkout(2)), len(made)
    (4, 3)
    """

    __slots__ = ("_dataset",)

    def _core_dataset(self) -> Any:
        generation = _core.generation()
        held = getattr(self, "_dataset", None)
        if held is None or held[0] != generation:
            held = (generation, _core.Dataset(self._source.spec[0]))
            self._dataset: Any = held
        return held[1]

    @property
    def folder(self) -> str:
        """The dataset's folder."""
        return self.info["path"]

    @property
    def info(self) -> dict[str, Any]:
        """What the version's manifest says: rows, fragments, files, commit time, writer, flags …"""
        return self._core_dataset().info()

    @property
    def version(self) -> int:
        """Number of this version."""
        return self.info["version"]

    @property
    def versions(self) -> list[Any]:
        """All versions that are there, by number; see `lakebed.lance.log`."""
        from . import lance

        return lance.log(self.folder)

    @property
    def fields(self) -> list[dict[str, Any]]:
        """Lance's fields, nested ones too."""
        return self._core_dataset().parts("fields")

    @property
    def fragments(self) -> list[dict[str, Any]]:
        """Fragments with their files."""
        return self._core_dataset().parts("fragments")

    @property
    def indices(self) -> list[dict[str, Any]]:
        """Indices."""
        return self._core_dataset().parts("indices")

    @property
    def metadata(self) -> dict[str, bytes]:
        """Metadata of the schema."""
        return self._core_dataset().meta(0)

    @property
    def aux(self) -> dict[str, bytes]:
        """Version-auxiliary data."""
        return self._core_dataset().meta(1)

    @property
    def config(self) -> dict[str, bytes]:
        """Settings of the table."""
        return self._core_dataset().meta(2)

    def row_ids(self, offset: int = 0, limit: int | None = None) -> list[int]:
        """Lance's ids of live rows: fragment << 32 | row in the fragment."""
        return self._core_dataset().row_ids(offset, len(self) - offset if limit is None else limit)

    def checkout(self, version: int | str) -> Dataset:
        """Another version: a number, a tag or a time."""
        from . import lance

        return lance.checkout(self.folder, version)

    def verify(self) -> None:
        """Read everything that the version reaches; the first damage is the exception."""
        _core.Dataset(self._source.spec[0]).verify()

    def search(
        self,
        column: str,
        query: Any,
        k: int = 10,
        *,
        probes: int = 0,
        refine: int = 0,
        metric: str | None = None,
        exact: bool = False,
    ) -> list[tuple[int, float]]:
        """The `k` rows whose vectors are nearest, as (row, distance), nearest first. `metric`: "l2" (squared),
        "cosine" or "dot"; None: the index's, or "l2"."""
        import array

        metrics = {None: 0, "l2": 1, "cosine": 2, "dot": 3}
        if metric not in metrics:
            raise ValueError("metric is 'l2', 'cosine' or 'dot', not %r" % metric)
        values = _core.values(query) if _options.speaks_arrow(query) else query
        floats = array.array("f", [float(value) for value in values]).tobytes()
        hits = self._core_dataset().search(column, floats, k, probes, refine, metrics[metric], exact)
        return [(row, distance) for row, distance, _ in hits]


class Shuffled:
    """All rows of a table in a random order: nothing of the order is stored, and any place can be gone to."""

    __slots__ = ("_seed", "_table")

    def __init__(self, table: Table, seed: int) -> None:
        self._table = table
        self._seed = seed

    @property
    def seed(self) -> int:
        """The seed; the same one gives the same order for the same number of rows."""
        return self._seed

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._table.schema

    def __len__(self) -> int:
        return len(self._table)

    def rows(self, start: int = 0, count: int | None = None) -> list[int]:
        """Numbers of the table's rows, in this order, from place `start` on."""
        n = len(self._table)
        return _core.permutation(n, self._seed, start, n if count is None else count)

    def _take(self, start: int, count: int) -> Rows:
        core = self._table._source.core()
        return Rows(*core.take_read(None, True, self._seed, start, count, False, self._table._columns))

    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                raise ValueError("a shuffle is sliced without a step")
            return self._take(start, max(stop - start, 0))
        place = key + len(self) if key < 0 else key
        if not 0 <= place < len(self):
            raise IndexError("place %d of %d rows" % (key, len(self)))
        return self._take(place, 1)[0]

    def batches(self, max_rows: int | None = None, *, start: int = 0) -> Batches:
        """Rows piece by piece, from place `start` on: to go on where another process stopped."""
        core = self._table._source.core()
        stream = core.take_stream(None, True, self._seed, start, UNLIMITED, False, self._table._columns)
        return Batches(stream, max_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            yield from batch

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as a capsule of the Arrow C stream interface."""
        return self.batches().__arrow_c_stream__()

    def __arrow_c_schema__(self) -> object:
        """The columns as a capsule of the Arrow C data interface."""
        return self.schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return "<lakebed.Shuffled %r, seed %d: %d rows>" % (self._table.path, self._seed, len(self))

    def __reduce__(self) -> Any:
        return Shuffled, (self._table, self._seed)


def _kind_of(core: Any, raw: bytes) -> type[Table]:
    is_lake, _, files, _ = core.info()
    if is_lake:
        return Lake
    if files == 1 and core.file(0)["format"] == "lance" and not os.path.isfile(raw):
        return Dataset
    return File


def open(
    path: Any,
    *,
    format: str | None = None,
    use_map: bool = True,
    memory_map: bool = False,
    schema: str = "union",
    columns: list[str] | None = None,
    **read_options: Any,
) -> Table:
    """Open a data file, a directory of them, or a Lance dataset (`"PATH@VERSION"`: an older version).

    A map is found from the path upwards and used for files that have not changed; `use_map=False` goes without.
    `memory_map=True` hands out uncompressed Arrow files as they lie in memory, without a copy; nobody may change or
    shorten them meanwhile, or the process dies. `schema` says what becomes of columns on which the files of a directory disagree: "union" (reads that use them
    fail), "strict" (opening fails), "text" (they become text). Read options are those of the command
    (`delimiter=";"`, `encoding="WINDOWS-1252"`, `header=False`, `column={"id": "string"}`, `null=["NA"]` …); what is
    not given is what the map remembers. Raises NotFoundError, UnsupportedError, CorruptError, UsageError.

    >>> lakebed.open("lake/eu/europe.csv", delimiter=";")[0]["name"]
    'Annecy'
    >>> lakebed.open("lake/asia.csv")
    <lakebed.File 'lake/asia.csv': 15 rows × 10 columns>
    >>> lakebed.open("lake/atlantis.csv")
    Traceback (most recent call last):
    lakebed.NotFoundError: lake/atlantis.csv: cannot open: No such file or directory
    """
    raw = _options.path_bytes(path)
    if schema not in SCHEMA_MODES:
        raise ValueError("schema is 'union', 'strict' or 'text', not %r" % schema)
    options = _options.read_options("open", read_options)
    spec = (os.path.abspath(raw), format, not use_map, memory_map, SCHEMA_MODES[schema], options)
    source = _Source(spec, raw)
    kind = _kind_of(source.core(), raw)
    if kind is Dataset:
        dataset = _core.Dataset(raw).info()
        folder = os.path.abspath(os.fsencode(dataset["path"]))
        source.spec = (folder + b"@%d" % dataset["version"],) + spec[1:]
    table = kind(os.fsdecode(raw), source, None)
    return table if columns is None else table.select(columns)
