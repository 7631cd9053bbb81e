"""Lance datasets: folders of versions. Every change commits a new one, and none is ever changed.

Rows are whatever speaks Arrow: tables and data frames of pyarrow, Polars, pandas and DuckDB, and what Lakebed itself
gives, so that `lance.create("t.lance", lakebed.open("data.csv"))` is how a file becomes a dataset.
"""

from __future__ import annotations

import datetime
import os
from typing import Any, NamedTuple, cast

from . import _core, _options
from ._table import Dataset, open

NULLS = {"refuse": 0, "keep": 1, "lossy": 2}


class Version(NamedTuple):
    """A version: its number, when it was committed (None: not written), its manifest, and its tags."""

    version: int
    committed: datetime.datetime | None
    manifest: str
    bytes: int
    tags: list[str]


class Change(NamedTuple):
    """What a change made. Version 0: there was nothing to change."""

    version: int
    rows: int
    files: int
    fragments: int


class Orphan(NamedTuple):
    """A file that no version reaches."""

    path: str
    bytes: int
    age_seconds: float
    removed: bool


def _pairs(name: str, values: dict[str, Any] | None) -> list[tuple[str, bytes | None]]:
    pairs: list[tuple[str, bytes | None]] = []
    for key, value in (values or {}).items():
        if not isinstance(key, str) or not isinstance(value, (str, bytes, type(None))):
            raise TypeError("%s has str for keys, and str, bytes or None (take it away) for values" % name)
        pairs.append((key, value.encode() if isinstance(value, str) else value))
    return pairs


def _write_options(
    nulls: str = "refuse",
    group_rows: int = 0,
    file_rows: int = 0,
    replace: bool = False,
    tag: str | None = None,
    metadata: dict[str, Any] | None = None,
    aux: dict[str, Any] | None = None,
) -> tuple[Any, ...]:
    if nulls not in NULLS:
        raise ValueError("nulls is 'refuse', 'keep' or 'lossy', not %r" % (nulls,))
    rows = _options.whole("group_rows", group_rows), _options.whole("file_rows", file_rows)
    return (NULLS[nulls], *rows, replace, tag, _pairs("metadata", metadata), _pairs("aux", aux))


def _write(kind: str, path: Any, rows: Any, options: dict[str, Any]) -> Dataset:
    raw = _options.path_bytes(path)
    version = _core.lance_write(kind, raw, rows, _write_options(**options))[0]
    return checkout(path, version) if version else cast(Dataset, open(path))


def create(path: Any, rows: Any, **options: Any) -> Dataset:
    """Make a dataset of rows. Options, also of the other changes: `nulls` ("refuse", the default: an error that names
    column and row; "keep": a companion column tells; "lossy": 0 or empty) for nulls that the format cannot hold,
    `group_rows`, `file_rows`, `tag`, `metadata` of the schema, `aux` of the version.

    >>> lakes = lakebed.open("lake/africa.csv").select(["name", "max_depth_m"])
    >>> made = lakebed.lance.create("africa.lance", lakes, nulls="keep")
    >>> len(made), made[0]
    (12, {'name': 'Albert', 'max_depth_m': 58})
    >>> lakebed.lance.create("africa.lance", lakes, nulls="keep")    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lakebed.UsageError: africa.lance: there is a Lance dataset already (lakebed.lance.append() adds rows, ...)
    """
    return _write("create", path, rows, options)


def append(path: Any, rows: Any, **options: Any) -> Dataset:
    """Add rows behind the others; columns are matched by name. `replace=True`: make the dataset where there is none."""
    return _write("append", path, rows, options)


def overwrite(path: Any, rows: Any, **options: Any) -> Dataset:
    """A version that holds these rows only, with their columns. What came before stays in its versions."""
    return _write("overwrite", path, rows, options)


def add_columns(path: Any, rows: Any, **options: Any) -> Dataset:
    """Add columns: one row of `rows` for each row of the dataset, in its order."""
    return _write("add_columns", path, rows, options)


def _change(kind: str, path: Any, argument: bytes, ids: bool, options: dict[str, Any]) -> Change:
    return Change(*_core.lance_change(kind, _options.path_bytes(path), argument, ids, _write_options(**options)))


def delete(path: Any, rows: Any, *, ids: bool = False, **options: Any) -> Change:
    """Delete rows of the newest version, by their numbers or (`ids`) by Lance's row ids."""
    return _change("delete", path, _options.row_numbers(rows), ids, options)


def compact(path: Any, **options: Any) -> Change:
    """Rewrite neighbouring fragments that are small or have deleted rows into full ones."""
    return _change("compact", path, b"", False, options)


def restore(path: Any, version: int | str, **options: Any) -> Change:
    """A new version with what an older one holds: a number, a tag or a time."""
    return _change("restore", path, str(version).encode(), False, options)


def annotate(path: Any, **options: Any) -> Change:
    """A new version with the same rows, that says what the options have: `metadata`, `aux`, `tag`."""
    return _change("annotate", path, b"", False, options)


def tag(path: Any, tag: str, version: int | str | None = None, *, replace: bool = False) -> None:
    """Name a version (None: the newest)."""
    spec = None if version is None else str(version)
    _core.lance_tag(_options.path_bytes(path), spec, tag, False, _write_options(replace=replace))


def untag(path: Any, tag: str) -> None:
    """Take a tag away."""
    _core.lance_tag(_options.path_bytes(path), None, tag, True, _write_options())


def log(path: Any) -> list[Version]:
    """All versions that are there, the first one first.

    >>> made = lakebed.lance.create("africa.lance", lakebed.open("lake/africa.csv"), nulls="keep")
    >>> again = lakebed.lance.append("africa.lance", lakebed.open("lake/africa.csv"), nulls="keep")
    >>> [version.version for version in lakebed.lance.log("africa.lance")]
    [1, 2]
    """
    return [_version(*found) for found in _core.Dataset(_options.path_bytes(path)).versions()]


def _version(number: int, manifest: str, size: int, seconds: int, nanos: int, own: str, tags: str) -> Version:
    committed = None
    if seconds or nanos:
        committed = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(microsecond=nanos // 1000)
    return Version(number, committed, manifest, size, ([own] if own else []) + [t for t in tags.split() if t != own])


def checkout(path: Any, version: int | str | datetime.datetime) -> Dataset:
    """A version: a number, a tag or a time.

    >>> made = lakebed.lance.create("africa.lance", lakebed.open("lake/africa.csv"), nulls="keep", tag="first")
    >>> lakebed.lance.checkout("africa.lance", "first").version
    1
    """
    if isinstance(version, datetime.datetime):
        moment = version if version.tzinfo else version.astimezone()
        version = moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return cast(Dataset, open(os.fsencode(path) + b"@" + str(version).encode()))


def orphans(path: Any, *, remove: bool = False, older_than: float = 0) -> list[Orphan]:
    """Files that no version reaches, left by a writer that died; `remove` takes away those older than so many
    seconds."""
    found = _core.lance_orphans(_options.path_bytes(path), remove, int(older_than * 1e9))
    return [Orphan(name, size, age / 1e9, removed) for name, size, age, removed in found]


def exists(path: Any) -> bool:
    """Is there a Lance dataset?"""
    return _core.lance_exists(_options.path_bytes(path))
