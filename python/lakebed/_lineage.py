"""Where the columns of SQL come from. Nothing is run."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Iterator, NamedTuple

from . import _core, _errors, _options
from ._rows import Schema

SQL_TYPES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "float16": "float",
    "float32": "float",
    "float64": "double",
    "bool": "boolean",
    "date": "date",
    "string": "string",
    "binary": "binary",
}


class Vertex(NamedTuple):
    """A column. `table` is None where the record has none."""

    label: str
    table: str | None
    table_type: str | None
    create_time: int
    target: bool
    unresolved: bool


class Edge(NamedTuple):
    """Sources make targets (PROJECTION), or decide which rows they come from (PREDICATE)."""

    kind: str
    sources: list[str]
    targets: list[str]


class Mark(NamedTuple):
    """A name that could not be resolved for certain: "unknown table", "unknown column" or "ambiguous column"."""

    kind: str
    offset: int
    name: str
    view: str | None


class Record:
    """The lineage of one statement, as Impala records it."""

    __slots__ = ("_graph",)

    def __init__(self, graph: dict[str, Any]) -> None:
        self._graph = graph

    @property
    def query(self) -> str:
        """The statement's text."""
        return self._graph["query_text"]

    @property
    def operation(self) -> str:
        """What kind of statement it is, as "CREATETABLE_AS_SELECT"."""
        return self._graph["operation"]

    @property
    def query_id(self) -> str:
        """Its id."""
        return self._graph["query_id"]

    @property
    def user(self) -> str:
        """Who ran it."""
        return self._graph["user"]

    @property
    def target(self) -> str | None:
        """The table that it writes; None for a query."""
        return self._graph["target"]

    @property
    def started(self) -> int:
        """When it began, in seconds since 1970."""
        return self._graph["started"]

    @property
    def ended(self) -> int | None:
        """When it ended; None: not recorded."""
        return self._graph["ended"] if self._graph["ended"] >= 0 else None

    @property
    def vertices(self) -> list[Vertex]:
        """All columns in it."""
        return [Vertex(*vertex) for vertex in self._graph["vertices"]]

    @property
    def edges(self) -> list[Edge]:
        """How the columns hang together, by their labels."""
        labels = [vertex[0] for vertex in self._graph["vertices"]]
        return [
            Edge(kind, [labels[i] for i in sources], [labels[i] for i in targets])
            for kind, sources, targets in self._graph["edges"]
        ]

    def sources_of(self, column: str, *, values_only: bool = False) -> list[str]:
        """Labels of the columns that a result column is made of, or (not `values_only`) that decide its rows too."""
        found = [
            source
            for edge in self.edges
            if column in edge.targets and not (values_only and edge.kind != "PROJECTION")
            for source in edge.sources
        ]
        return list(dict.fromkeys(found))

    @property
    def json(self) -> str:
        """The record as Impala writes it, a line of JSON."""
        return self._graph["written"].decode("utf-8").rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """The record as Impala writes it, parsed."""
        return json.loads(self.json)

    def __repr__(self) -> str:
        return "<lakebed.Record %s, %d columns, %d edges>" % (
            self.operation,
            len(self._graph["vertices"]),
            len(self._graph["edges"]),
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr><td>%s</td><td>%s</td><td>%s</td></tr>"
            % tuple(html.escape(text) for text in (", ".join(e.targets), e.kind.lower(), ", ".join(e.sources)))
            for e in self.edges[:50]
        )
        return "<table><tr><th>column</th><th></th><th>from</th></tr>%s</table>" % rows


class Statement(NamedTuple):
    """A statement of a script. `record` is None where it has an error, or leaves no record (as DELETE or SHOW)."""

    begin: int
    end: int
    error: _errors.Error | None
    record: Record | None
    marks: list[Mark]


class Lineage:
    """The statements of a script with their lineage: what `lakebed.lineage` gives; a sequence of `Statement`.

    >>> traced = lakebed.lineage("select a + b as c from t where d > 0")
    >>> traced.sources_of("c")
    ['default.t.a', 'default.t.b', 'default.t.d']
    >>> [(edge.kind, edge.targets) for edge in traced.edges]
    [('PROJECTION', ['c']), ('PREDICATE', ['c'])]
    """

    __slots__ = ("_call", "_statements")

    def __init__(self, statements: list[Statement], call: Any) -> None:
        self._statements = statements
        self._call = call

    @property
    def records(self) -> list[Record]:
        """Records of the statements that leave one."""
        return [s.record for s in self._statements if s.record is not None]

    @property
    def errors(self) -> list[_errors.Error]:
        """What is wrong with the statements that cannot be read or resolved."""
        return [s.error for s in self._statements if s.error is not None]

    @property
    def marks(self) -> list[Mark]:
        """Names that could not be resolved for certain."""
        return [mark for s in self._statements for mark in s.marks]

    @property
    def vertices(self) -> list[Vertex]:
        """Columns of all statements."""
        return [vertex for record in self.records for vertex in record.vertices]

    @property
    def edges(self) -> list[Edge]:
        """Edges of all statements."""
        return [edge for record in self.records for edge in record.edges]

    def sources_of(self, column: str, *, values_only: bool = False) -> list[str]:
        """Labels of the columns that a result column is made of, over all statements."""
        found = [s for record in self.records for s in record.sources_of(column, values_only=values_only)]
        return list(dict.fromkeys(found))

    def to(self, form: str) -> bytes:
        """All records as "impala", "thrift", "thrift-compact" or "dot"."""
        graphs = (graph for _, _, _, graph, _ in self._call(form))
        return b"".join(graph["written"] for graph in graphs if graph is not None)

    def __len__(self) -> int:
        return len(self._statements)

    def __getitem__(self, index: int) -> Statement:
        return self._statements[index]

    def __iter__(self) -> Iterator[Statement]:
        return iter(self._statements)

    def __repr__(self) -> str:
        return "<lakebed.Lineage of %d statements, %d errors>" % (len(self), len(self.errors))

    def _repr_html_(self) -> str:
        errors = "".join("<p>%s</p>" % html.escape(str(error)) for error in self.errors[:20])
        return errors + "".join(record._repr_html_() for record in self.records[:20])


def _sql_type(words: Any) -> str | None:
    """A column's type as SQL has it; None where it has none."""
    if isinstance(words, str):
        if words.startswith("timestamp"):
            return "timestamp"
        return words if words.startswith("decimal(") else SQL_TYPES.get(words)
    if "list" in words:
        item = _sql_type(words["list"])
        return item and "array<%s>" % item
    if "map" in words:
        key, value = map(_sql_type, words["map"])
        return key and value and "map<%s,%s>" % (key, value)
    return None


def _column(column: Any) -> tuple[str, str | None, bool, bool]:
    if isinstance(column, str):
        return column, None, False, False
    name, kind = column[0], column[1]
    return name, kind, len(column) > 2 and bool(column[2]), False


class Catalog:
    """Tables and views that statements name.

    >>> catalog = lakebed.Catalog("create table t (a int, b int)")
    >>> catalog.add_table("u", ["x", ("y", "bigint")])
    >>> len(catalog)
    2
    >>> lakebed.lineage("select * from t", catalog).records[0].vertices[0].label
    'a'
    """

    __slots__ = ("_core",)

    def __init__(self, *sources: Any, default_db: str | None = None) -> None:
        self._core = _core.Catalog()
        for source in sources:
            self.add(source, default_db=default_db)

    def add(self, source: Any, *, default_db: str | None = None) -> None:
        """Add the tables of a source: statements of SQL or JSON as str; a list or dict as that JSON; the path of a file
        of either, or of a directory whose data files are tables; an opened lake."""
        if isinstance(source, (dict, list)):
            self._core.add(json.dumps(source), default_db)
        elif hasattr(source, "map_path"):
            self.add_lake(source.path, default_db=default_db)
        elif isinstance(source, str) and not os.path.exists(source):
            self._core.add(source, default_db)
        else:
            self._add_path(source, default_db)

    def _add_path(self, path: Any, default_db: str | None) -> None:
        if os.path.isdir(path):
            self.add_lake(path, default_db=default_db)
            return
        with open(path, encoding="utf-8") as file:
            self._core.add(file.read(), default_db)

    def add_lake(self, dir_path: Any, *, default_db: str | None = None) -> None:
        """Add every data file of a directory as a table."""
        self._core.add_lake(_options.path_bytes(dir_path), default_db)

    def add_table(
        self,
        name: str,
        columns: Any = (),
        *,
        db: str = "default",
        table_type: str | None = None,
        location: str | None = None,
        create_time: int = -1,
        view_sql: str | None = None,
    ) -> None:
        """Add one table. Columns are names, (name, type) or (name, type, is partition), or anything with an Arrow
        schema."""
        if hasattr(columns, "__arrow_c_schema__"):
            columns = [(f.name, _sql_type(f.type)) for f in _core.schema_import(columns)]
        self._core.add_table(db, name, table_type, location, create_time, view_sql, [_column(c) for c in columns])

    def __len__(self) -> int:
        return self._core.size()

    def __repr__(self) -> str:
        return "<lakebed.Catalog of %d tables>" % len(self)


def _catalog(given: Any, default_db: str | None) -> Any:
    if given is None:
        return None
    return (given if isinstance(given, Catalog) else Catalog(given, default_db=default_db))._core


def _statement(begin: int, end: int, error: Any, graph: Any, marks: Any) -> Statement:
    failed = None
    if error is not None:
        code, message, offset, hint = error
        failed = _errors.make(code, _errors.KIND_FILE, message, "", offset, -1, -1, hint, None)
    return Statement(begin, end, failed, Record(graph) if graph is not None else None, [Mark(*m) for m in marks])


def lineage(
    sql: str,
    catalog: Any = None,
    *,
    default_db: str | None = None,
    log: Any = None,
    user: str | None = None,
    query_id: str | None = None,
    warehouse: str | None = None,
    started: int = 0,
    ended: int = 0,
    keep_newlines: bool = False,
    expand_complex_types: bool = False,
    expr_rewrites: bool = False,
    strict: bool = False,
) -> Lineage:
    """Tell which columns the columns of SQL statements are made of, and which decide their rows.

    `catalog` says what tables there are: a `Catalog`, or whatever one is made of (a lake, DDL, JSON, a path). `log`: a
    directory to whose log the records are appended. A statement that cannot be read has an `error`, and the others go
    on; `strict` makes an unknown or ambiguous name such an error.

    >>> traced = lakebed.lineage("create table deep as select country, max(max_depth_m) m from africa group by country",
    ...                          lakebed.open("lake"))
    >>> traced.sources_of("m", values_only=True)
    ['default.africa.max_depth_m']
    """
    text = sql.decode("utf-8") if isinstance(sql, bytes) else sql
    flags = (keep_newlines, expand_complex_types, expr_rewrites, strict)
    bits = sum(bool(flag) << bit for bit, flag in enumerate(flags))
    tables = _catalog(catalog, default_db)
    names = (default_db, warehouse, user)
    where = None if log is None else os.fsdecode(log)
    first = _core.trace(tables, text, names + (query_id, started, ended, bits), where, "impala")
    statements = [_statement(*found) for found in first]

    def again(form: str) -> Any:
        graphs = [s.record for s in statements if s.record is not None]
        if not graphs:
            return []
        pinned = (graphs[0].query_id, graphs[0].started, graphs[0].ended or 0, bits)
        return _core.trace(tables, text, names + pinned, None, form)

    return Lineage(statements, again)


def read_log(path: Any) -> Iterator[Record]:
    """Records of a lineage log: a directory (Lakebed's or Impala's), or one file of records in JSON or Thrift."""
    records = _core.Records(_options.path_bytes(path))
    while True:
        graph = records.next("impala")
        if graph is None:
            return
        yield Record(graph)


class TrailStep(NamedTuple):
    """A column that was reached, from the step `toward`; `value`: by values alone."""

    column: str
    table: str | None
    depth: int
    value: bool
    toward: int
    operation: str | None
    query: str | None
    query_id: str
    started: int


def trail(
    log: Any, column: str, *, downstream: bool = False, values_only: bool = False, depth: int = 0
) -> list[TrailStep]:
    """Follow a column through the statements of a log: to what it was made of, or (`downstream`) to what was made of
    it.

    >>> _ = lakebed.lineage("create table deep as select max(max_depth_m) m from africa", "lake", log="log")
    >>> [step.column for step in lakebed.trail("log", "deep.m")]
    ['default.deep.m', 'default.africa.max_depth_m']
    """
    steps = _core.trail(_options.path_bytes(log), column, downstream, values_only, depth)
    return [
        TrailStep(
            s["column"],
            s["table"],
            s["depth"],
            s["value"],
            s["toward"],
            s["operation"],
            s["query_text"],
            s["query_id"],
            s["started"],
        )
        for s in steps
    ]
