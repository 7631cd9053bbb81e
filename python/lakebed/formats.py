"""What is read, and readers of one's own."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from . import _core


class Format(NamedTuple):
    """A format: its extensions, what its places in a map are called, its read options, and whether it was
    registered."""

    name: str
    extensions: list[str]
    locator: str
    options: list[str]
    dynamic: bool


def describe() -> list[Format]:
    """All formats, the registered ones last.

    >>> [format.name for format in lakebed.formats.describe()][:2]
    ['csv', 'tsv']
    """
    return [
        Format(name, extensions.split(), locator, [o.replace("-", "_") for o in options.split()], dynamic)
        for name, extensions, locator, options, dynamic in _core.formats()
    ]


def list_formats() -> list[str]:
    """Extensions of all files that are read, sorted."""
    return sorted({extension for format in describe() for extension in format.extensions})


def register_delimited(ext: str, delimiter: str, has_header: bool = True) -> None:
    """Read files with this extension as text delimited by one character. Replaces what served it, built in or not.

    Holds for what is opened from now on in this process. A map keeps no places of such files, and the doctor finds them
    missing where they are not registered.

    >>> lakebed.formats.register_delimited("tilde", "~")
    >>> "tilde" in lakebed.formats.list_formats()
    True
    >>> lakebed.formats.unregister_format("tilde"), lakebed.formats.unregister_format("tilde")
    (True, False)
    """
    _core.register_delimited(_extension(ext), delimiter, has_header)


def register(ext: str, handler: Callable[[str], Any] | None = None) -> Any:
    """Read files with this extension by a function: it gets a path, and gives rows that speak Arrow, a table, a data
    frame or a reader of batches. Also a decorator.

    Every call for one file must give the same columns and rows; calls may come from several threads. What it raises is
    the cause of a CorruptError. Such files are in maps with rows and columns and without places, and the doctor has to
    run where they are registered.

    >>> import pyarrow
    >>> @lakebed.formats.register("squares")
    ... def squares(path):
    ...     n = int(open(path).read())
    ...     return pyarrow.table({"n": range(n), "square": [i * i for i in range(n)]})
    >>> _ = open("ten.squares", "w").write("10")
    >>> lakebed.open("ten.squares")[7]
    {'n': 7, 'square': 49}
    >>> lakebed.formats.unregister_format("squares")
    True
    """
    if handler is None:
        return lambda function: register(ext, function)
    _core.register_stream(_extension(ext), handler)
    return handler


def unregister_format(ext: str) -> bool:
    """Undo a registration; says whether there was one."""
    return _core.unregister(_extension(ext))


def _extension(ext: Any) -> str:
    if not isinstance(ext, str):
        raise TypeError("ext is a str, not %s" % type(ext).__name__)
    return ext
