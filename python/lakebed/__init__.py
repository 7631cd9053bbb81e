"""Directories of data files: where every row is, what became of it, and where it came from.

>>> import lakebed as br
>>> br.lake.create_map("lake", set=["eu/*.csv:delimiter=;", "nordic/*.csv:encoding=WINDOWS-1252"])
'lake/.br_map.bazan'
>>> lake = br.open("lake")
>>> len(lake)
272
>>> lake.select(["name", "max_depth_m"])[70]
{'name': 'Huron', 'max_depth_m': None}
>>> br.lake.doctor("lake")["status"]
'HEALTHY'

What is returned speaks Arrow: `pyarrow.table(x)`, `polars.DataFrame(x)` and `duckdb.sql("from x")` take it without a
copy. Rows are counted from 0, and header records do not count.
"""

from __future__ import annotations

from . import _core, formats, lake, lance, read
from ._errors import (
    BudgetError,
    CancelledError,
    ColumnError,
    ConflictError,
    CorruptError,
    Error,
    InternalError,
    IoError,
    LakebedWarning,
    MapError,
    MemoryLimitError,
    NotFoundError,
    StaleError,
    UnsupportedError,
    UsageError,
)
from ._lineage import Catalog, Edge, Lineage, Mark, Record, Statement, TrailStep, Vertex, lineage, read_log, trail
from ._rows import Batch, Batches, Field, Rows, Schema
from ._settings import configure, get_include, get_library
from ._table import ColumnStats, Dataset, File, FileInfo, Lake, Shuffled, Split, Table, open

__version__: str = _core.version()

for _name in dir():
    if isinstance(globals()[_name], type) and issubclass(globals()[_name], (Error, LakebedWarning)):
        globals()[_name].__module__ = __name__
del _name

__all__ = [
    "Batch",
    "Batches",
    "BudgetError",
    "CancelledError",
    "Catalog",
    "ColumnError",
    "ColumnStats",
    "ConflictError",
    "CorruptError",
    "Dataset",
    "Edge",
    "Error",
    "Field",
    "File",
    "FileInfo",
    "InternalError",
    "IoError",
    "Lake",
    "LakebedWarning",
    "Lineage",
    "MapError",
    "Mark",
    "MemoryLimitError",
    "NotFoundError",
    "Record",
    "Rows",
    "Schema",
    "Shuffled",
    "Split",
    "StaleError",
    "Statement",
    "Table",
    "TrailStep",
    "UnsupportedError",
    "UsageError",
    "Vertex",
    "configure",
    "formats",
    "get_include",
    "get_library",
    "lake",
    "lance",
    "lineage",
    "open",
    "read",
    "read_log",
    "trail",
]
