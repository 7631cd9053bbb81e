"""The map of a directory, and the doctor who keeps it true."""

from __future__ import annotations

import datetime
import os
from typing import Any

from . import _core, _options
from ._progress import Progress

MAP_NAME = ".br_map.bazan"
FINGERPRINTS = {"metadata": 0, "blake3": 1}
MODIFIED = ("modified", "appended", "truncated", "rewritten", "touched", "damaged", "unreadable")


def _stats(stats_columns: Any, block_stats: bool) -> str:
    names = _options.strings("stats_columns", stats_columns)
    if block_stats and names is not None:
        raise ValueError("statistics of blocks are of all columns: give either stats_columns or block_stats")
    if names is None:
        return "block" if block_stats else "all"
    for name in names:
        if "," in name or not name:
            raise ValueError("statistics of the column %r alone cannot be asked for: an odd name" % name)
    return ",".join(names) or "none"


def _stride(rows: Any) -> int:
    stride = _options.whole("checkpoint_stride_rows", rows)
    if stride == 0:
        raise ValueError("checkpoint_stride_rows is at least 1")
    return stride


def _choice(name: str, value: Any, known: dict[str, int]) -> int:
    if not isinstance(value, str):
        raise TypeError("%s is a str, not %s" % (name, type(value).__name__))
    if value not in known:
        raise ValueError("%s is one of %s, not %r" % (name, ", ".join(map(repr, known)), value))
    return known[value]


def create_map(
    dir_path: Any,
    show_progress: bool = True,
    *,
    checkpoint_stride_rows: int = 65536,
    fingerprint: str = "metadata",
    stats_columns: list[str] | None = None,
    block_stats: bool = False,
    on_error: str = "abort",
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    hidden: bool = False,
    by_products: bool = False,
    compressed: bool = True,
    detect: bool = False,
    pages: bool = False,
    interop_full: bool = False,
    set: list[str] | None = None,
    **read_options: Any,
) -> str:
    """Find where the rows of every data file below a directory are, and save that as its map; gives the map's path.

    A place is kept every `checkpoint_stride_rows` rows. `fingerprint="blake3"` keeps hashes of all contents.
    Statistics are of all columns, or of `stats_columns` (`[]`: none); `block_stats` keeps them for every block.
    `on_error="record"` keeps a file that cannot be read as an entry with its error, instead of failing. `include` and
    `exclude` are globs on paths below the directory; `set` gives read options to some of them
    (`"eu/*.csv:delimiter=;"`), and read options as arguments hold for all. The map remembers all of it. Ctrl-C leaves
    everything as it was.

    >>> lakebed.lake.create_map("lake/americas", checkpoint_stride_rows=16_384)
    'lake/americas/.br_map.bazan'
    >>> lakebed.lake.create_map("lake/americas", checkpoint_stride_rows=0)
    Traceback (most recent call last):
    ValueError: checkpoint_stride_rows is at least 1
    """
    raw = _options.path_bytes(dir_path)
    flags = (on_error == "record", hidden, not compressed, by_products, detect, interop_full, pages)
    _choice("on_error", on_error, {"abort": 0, "record": 1})
    arguments = (
        raw,
        _stride(checkpoint_stride_rows),
        _choice("fingerprint", fingerprint, FINGERPRINTS),
        _stats(stats_columns, block_stats),
        sum(bool(flag) << bit for bit, flag in enumerate(flags)),
        _options.strings("include", include),
        _options.strings("exclude", exclude),
        _options.strings("set", set),
        _options.read_options("create_map", read_options),
    )
    with Progress("mapping", show_progress) as progress:
        _core.map_create(*arguments, progress)
    return os.path.join(os.fsdecode(raw), MAP_NAME)


def _paths(findings: list[dict[str, Any]], *drifts: str) -> list[str]:
    return sorted(f["path"] for f in findings if f["drift"] in drifts)


def _unknown(counts: dict[str, Any], *keys: str) -> None:
    for key in keys:
        counts[key] = counts[key] if counts[key] >= 0 else None


def _report(found: dict[str, Any]) -> dict[str, Any]:
    """Seven keys that other readers rely on, in their order; then more."""
    findings = found["findings"]
    for finding in findings:
        _unknown(finding, "old_bytes", "new_bytes")
        for damage in finding["damage"]:
            _unknown(damage, "first_row", "rows")
    return {
        "status": found["status"],
        "total_files": found["total_files"],
        "healthy_count": found["healthy_count"],
        "modified_files": _paths(findings, *MODIFIED),
        "unindexed_files": _paths(findings, "unindexed", "renamed"),
        "missing_files": sorted(_paths(findings, "missing") + [f["was"] for f in findings if f["was"] is not None]),
        "healed": found["healed"],
        "map_path": found["map_path"],
        "map_schema": found["map_schema"] if found["had_map"] else None,
        "bytes_hashed": found["bytes_hashed"],
        "bytes_surveyed": found["bytes_surveyed"],
        "elapsed_ms": found["elapsed_ns"] / 1e6,
        "renamed_files": [{"path": f["path"], "was": f["was"]} for f in findings if f["was"] is not None],
        "unreadable_files": sorted(f["path"] for f in findings if f["error"] is not None),
        "racy_files": _paths(findings, "racy"),
        "unseekable_files": found["unseekable"],
        "errors": sorted(({"path": f["path"], "error": f["error"]} for f in findings if f["error"]), key=_path_of),
        "findings": findings,
    }


def _path_of(finding: dict[str, Any]) -> str:
    return finding["path"]


def _nanoseconds(age: Any) -> int:
    seconds = age.total_seconds() if isinstance(age, datetime.timedelta) else age
    if seconds is None:
        return 0
    if not isinstance(seconds, (int, float)):
        raise TypeError("older_than is seconds or a timedelta, not %s" % type(age).__name__)
    if seconds < 0:
        raise OverflowError("older_than is not negative")
    return min(int(seconds * 1e9), 2**63 - 1)


def doctor(
    dir_path: Any,
    auto_heal: bool = False,
    *,
    verify: bool = False,
    older_than: Any = None,
    show_progress: bool = False,
) -> dict[str, Any]:
    """Compare the map of a directory with the disk, and with `auto_heal` bring it up to date.

    Gives a report whose `status` is HEALTHY, DRIFT_DETECTED or HEALED; lists tell the state before healing. `verify`
    reads every file and compares contents, with `older_than` (seconds or a timedelta) only those not verified since.
    Without `auto_heal` nothing is written. Raises MapError where the map is none; it is not replaced then.

    >>> report = lakebed.lake.doctor("lake/asia.csv")
    Traceback (most recent call last):
    lakebed.UsageError: lake/asia.csv: a directory is expected, this is a file
    >>> report = lakebed.lake.doctor("lake/levels", auto_heal=True)
    >>> report["status"], report["unindexed_files"], report["healed"]
    ('HEALED', ['huron.csv'], True)
    """
    raw = _options.path_bytes(dir_path)
    age = _nanoseconds(older_than)
    with Progress("healing" if auto_heal else "comparing", show_progress) as progress:
        return _report(_core.doctor(raw, auto_heal, verify, age, progress))


def undo(dir_path: Any) -> None:
    """Put the map of before the last heal or build back; what it replaces becomes the former one."""
    _core.doctor_undo(_options.path_bytes(dir_path))


def locate_row(dir_path: Any, global_row: int) -> dict[str, Any] | None:
    """Where a row of the directory lies: its file, its row there, block and row in that; None past the end.

    Nothing is read but the map, and whether files changed since is not looked at.

    >>> lakebed.lake.locate_row("lake", 70)
    {'rel_path': 'levels/huron.csv', 'file_offset': 0, 'row_group': 0, 'row_in_group': 0, 'page_indexed': False}
    >>> lakebed.lake.locate_row("lake", 272) is None
    True
    """
    place = locate(dir_path, global_row)
    if place is None:
        return None
    return {
        "rel_path": place["path"],
        "file_offset": place["file_row"],
        "row_group": place["block"],
        "row_in_group": place["row_in_block"],
        "page_indexed": place["page_indexed"],
    }


def locate(dir_path: Any, row: int, *, file: str | None = None) -> dict[str, Any] | None:
    """As `locate_row`, with all that is known: global row, block, bytes, physical line; `file`: `row` is of that file.

    >>> lakebed.lake.locate("lake", 97, file="levels/huron.csv")["block_first_byte"]
    19
    """
    number = _options.whole("row", row)
    opened = _core.Map(_options.path_bytes(dir_path))
    place = opened.locate(number, file)
    opened.close()
    if place is None:
        return None
    return {name: None if isinstance(value, int) and value < 0 else value for name, value in place.items()}


def describe(dir_path: Any) -> dict[str, Any]:
    """What a map says of itself: files, rows, bytes, stride, fingerprint, when it was made and by what, and `entries`.

    >>> about = lakebed.lake.describe("lake")
    >>> about["files"], about["rows"], about["entries"][0]["path"]
    (22, 272, 'africa.csv')
    """
    opened = _core.Map(_options.path_bytes(dir_path))
    about = opened.info()
    about["entries"] = [opened.entry(i) for i in range(about["files"])]
    opened.close()
    return about
