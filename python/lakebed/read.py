"""Rows of one file, in one call."""

from __future__ import annotations

from typing import Any

from . import _options
from ._rows import Rows
from ._table import open


def slice_rows(file_path: Any, offset: int, limit: int, **options: Any) -> Rows:
    """Rows [offset, offset + limit) of a file, fewer where it ends before; a directory is one table. Options are
    those of `lakebed.open`.

    >>> lakebed.read.slice_rows("lake/levels/huron.csv", 96, 2).to_pydict()["level_ft"]
    [579.89, 579.96]
    """
    return slice_cols(file_path, [], offset, limit, **options)


def slice_cols(file_path: Any, selected_cols: list[str], offset: int, limit: int, **options: Any) -> Rows:
    """The same with these columns, in this order; a name may repeat. An empty list, or None: all.

    >>> lakebed.read.slice_cols("lake/levels/huron.csv", ["year", "year"], 0, 1).column_names
    ['year', 'year']
    >>> lakebed.read.slice_cols("lake/levels/huron.csv", ["yaer"], 0, 1)
    Traceback (most recent call last):
    lakebed.ColumnError: lake/levels/huron.csv: Column 'yaer' not found (did you mean 'year'?)
    """
    first, count = _options.whole("offset", offset), _options.whole("limit", limit)
    columns = _options.strings("selected_cols", selected_cols)
    with open(file_path, **options) as table:
        return Rows(*table._source.core().read(first, count, columns or None))
