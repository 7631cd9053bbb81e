"""Arguments as the library wants them."""

from __future__ import annotations

import array
import difflib
import functools
import os
from typing import Any, Iterable

from . import _core

PathLike = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
UNLIMITED = 2**64 - 1


def path_bytes(path: Any) -> bytes:
    """A path as the file system has it. TypeError where it is none; ValueError where a NUL is in it."""
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise ValueError("a path with a NUL in it")
    return raw


@functools.lru_cache(maxsize=1)
def read_option_names() -> dict[str, str]:
    """Names of all read options as arguments, each with the library's."""
    return {name.replace("-", "_"): name for name, _, _, _, _ in _core.read_options()}


def _values(name: str, value: Any) -> Iterable[tuple[str, str | None]]:
    if value is True:
        return [(name, None)]
    if value is None or value is False:
        return []
    if isinstance(value, dict):
        return [(name, "%s=%s" % pair) for pair in value.items()]
    if isinstance(value, (list, tuple)):
        return [(name, str(item)) for item in value]
    if isinstance(value, (str, int)):
        return [(name, str(value))]
    raise TypeError("%s is a str, a number, a bool, a list or a dict, not %s" % (name, type(value).__name__))


def read_options(call: str, options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Read options as pairs of texts. `header=False` is the flag no-header; `column={"a": "int64"}` declares types.

    >>> read_options("open", {"delimiter": ";", "header": False, "null": ["NA", "-"]})
    [('delimiter', ';'), ('no-header', None), ('null', 'NA'), ('null', '-')]
    """
    known = read_option_names()
    pairs: list[tuple[str, str | None]] = []
    for argument, value in options.items():
        if argument not in known:
            near = difflib.get_close_matches(argument, known, 1)
            hint = "; did you mean '%s'?" % near[0] if near else ""
            raise TypeError("%s() got an unexpected keyword argument '%s'%s" % (call, argument, hint))
        if argument == "header" and value is False:
            argument, value = "no_header", True
        elif argument == "header" and value is True:
            value = "1"
        pairs += _values(known[argument], value)
    return pairs


def strings(name: str, value: Any) -> list[str] | None:
    """A list of str or None; one str by itself is a mistake."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        raise TypeError("%s is a list of str, not one" % name)
    items = _core.values(value) if speaks_arrow(value) else list(value)
    for item in items:
        if not isinstance(item, str):
            raise TypeError("%s is a list of str, not of %s" % (name, type(item).__name__))
    return items


def speaks_arrow(value: Any) -> bool:
    """Does it give an array or a stream of the Arrow PyCapsule interface?"""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def whole(name: str, value: Any) -> int:
    """A number from 0 on. TypeError, OverflowError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError("%s is a whole number, not %s" % (name, type(value).__name__))
    number = value.__index__()
    if number < 0 or number > UNLIMITED:
        raise OverflowError("%s is a number from 0 to 2^64 - 1, not %d" % (name, number))
    return number


def row_numbers(rows: Any) -> bytes:
    """Row numbers as the library reads them: a list, a range, an array of NumPy or Arrow. TypeError, OverflowError.

    >>> row_numbers([1, 2]) == row_numbers(range(1, 3))
    True
    """
    if isinstance(rows, array.array) and rows.typecode == "Q":
        return rows.tobytes()
    kind = getattr(getattr(rows, "dtype", None), "kind", None)
    if kind in ("i", "u") and hasattr(rows, "astype"):
        if len(rows) and rows.min() < 0:
            raise OverflowError("rows are numbers from 0 on")
        return rows.astype("uint64").tobytes()
    if speaks_arrow(rows):
        rows = _core.values(rows)
    elif isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__"):
        raise TypeError("rows are whole numbers in a list, a range or an array, not a %s" % type(rows).__name__)
    return array.array("Q", rows).tobytes()
