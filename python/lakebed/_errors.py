"""Exceptions: each is also the built-in one that fits, so that code that knows only those catches it."""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Any

STATUSES = (
    "OK",
    "IO",
    "CORRUPT",
    "UNSUPPORTED",
    "BUDGET",
    "NOMEM",
    "USAGE",
    "NOTFOUND",
    "STALE",
    "CONFLICT",
    "CANCELLED",
    "INTERNAL",
)
MAP_NAME = ".br_map.bazan"
KIND_FILE, KIND_COLUMN, KIND_MAP = range(3)
OPTION = re.compile(r"--([a-z][a-z-]+)(?: ('[^']*'|[^\s',;)]+))?")
COMMAND = re.compile(r"`lakebed ([a-z]+)((?: [^` ]+)*)`")
FLAGS = {"force": "replace=True", "detect": "detect=True", "delimited": "lakebed.formats.register_delimited()"}
RENAMED = {"stride": "checkpoint_stride_rows", "stats": "stats_columns", "no-header": "header=False"}
CALLS = {
    "map": "lakebed.lake.create_map(%s)",
    "doctor": "lakebed.lake.doctor(%s)",
    "schema": "lakebed.open(%s).schema",
    "formats": "lakebed.formats.describe(%s)",
}


class LakebedWarning(UserWarning):
    """Something that a reader of the rows may want to know, as why a map was not used."""


class Error(Exception):
    """What every exception of Lakebed is. Places are None where they do not apply.

    `message` is the sentence alone, `hint` what to do next; `str()` has all of it with the place.
    """

    status: str
    message: str
    path: str | None
    offset: int | None
    row: int | None
    line: int | None
    hint: str

    def __init__(
        self,
        message: str = "",
        *,
        status: str = "INTERNAL",
        path: str | None = None,
        offset: int | None = None,
        row: int | None = None,
        line: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.path = path
        self.filename = path
        self.offset = offset
        self.row = row
        self.line = line
        self.hint = hint

    def __str__(self) -> str:
        places = [("row", self.row), ("line", self.line), ("byte", self.offset)]
        place = ", ".join("%s %s" % pair for pair in places if pair[1] is not None)
        head = ": ".join(part for part in (self.path, place) if part)
        return (head + ": " if head else "") + self.message + (" (" + self.hint + ")" if self.hint else "")

    def __reduce__(self) -> Any:
        return _remake, (type(self), self.message, self._places())

    def _places(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("status", "path", "offset", "row", "line", "hint")}


def _remake(kind: type[Error], message: str, places: dict[str, Any]) -> Error:
    return kind(message, **places)


class IoError(Error, OSError):
    """A file could not be read or written."""


class NotFoundError(Error, FileNotFoundError):
    """There is no such file, directory, dataset or version."""


class ColumnError(Error, KeyError, OSError):
    """There is no such column; the message suggests the nearest name."""


class MapError(Error, OSError):
    """The map is missing or is none; `path` says where it was looked for."""


class CorruptError(Error, OSError):
    """The bytes break the rules of the format, or a handler in Python failed (see `__cause__`)."""


class UnsupportedError(Error, ValueError, OSError):
    """A format or a feature that is not read."""


class UsageError(Error, ValueError):
    """An argument or option that cannot be."""


class StaleError(Error, OSError):
    """The file changed while it was read."""


class ConflictError(Error, OSError):
    """Another writer holds the thing or changed it."""


class BudgetError(Error, OSError):
    """More memory would be needed than `configure(memory_limit=…)` allows."""


class MemoryLimitError(Error, MemoryError):
    """There is no memory."""


class CancelledError(Error):
    """Somebody else interrupted what this call was working on, as Ctrl-C in another thread."""


class InternalError(Error, RuntimeError):
    """A fault of Lakebed itself."""


CLASSES: dict[str, type[Error]] = {
    "IO": IoError,
    "CORRUPT": CorruptError,
    "UNSUPPORTED": UnsupportedError,
    "BUDGET": BudgetError,
    "NOMEM": MemoryLimitError,
    "USAGE": UsageError,
    "NOTFOUND": NotFoundError,
    "STALE": StaleError,
    "CONFLICT": ConflictError,
    "CANCELLED": CancelledError,
}


def _class_of(status: str, kind: int, path: str) -> type[Error]:
    if status == "NOTFOUND" and kind == KIND_COLUMN:
        return ColumnError
    of_map = kind == KIND_MAP and os.path.basename(path).startswith(MAP_NAME)
    if of_map and status in ("NOTFOUND", "CORRUPT", "UNSUPPORTED"):
        return MapError
    return CLASSES.get(status, InternalError)


def _option_in_python(match: re.Match[str]) -> str:
    option, value = match.group(1), match.group(2)
    name = RENAMED.get(option, option.replace("-", "_"))
    if option in FLAGS:
        return FLAGS[option] + (" " + value if value and option == "force" else "")
    if value is None:
        return name
    value = value[1:-1] if value.startswith("'") else value
    if option == "column" and "=" in value:
        return 'column={"%s": "%s"}' % tuple(value.split("=", 1))
    return ("%s=%s" if value.isdigit() else '%s="%s"') % (name, value)


def _command_in_python(match: re.Match[str]) -> str:
    verb, words = match.group(1), match.group(2).split()
    if verb == "lance":
        return "lakebed.lance.%s()" % words[0].replace("-", "_")
    places = ", ".join('"%s"' % word for word in words if not word.startswith("--"))
    if "--undo" in words:
        return "lakebed.lake.undo(%s)" % places
    if "--heal" in words:
        places += ", auto_heal=True"
    return CALLS.get(verb, "lakebed.%s(%%s)" % verb) % places


def pythonic(text: str) -> str:
    """The library speaks of options and verbs as the command has them; here they are arguments and functions.

    >>> pythonic("--encoding WINDOWS-1252 reads it so")
    'encoding="WINDOWS-1252" reads it so'
    >>> pythonic("build one with `lakebed map data`")
    'build one with lakebed.lake.create_map("data")'
    """
    return OPTION.sub(_option_in_python, COMMAND.sub(_command_in_python, text))


def make(
    code: int, kind: int, message: str, path: str, offset: int, row: int, line: int, hint: str, cause: Any
) -> Error:
    """The exception for an error of the library; called by the extension."""
    status = STATUSES[code] if 0 <= code < len(STATUSES) else "INTERNAL"
    error = _class_of(status, kind, path)(
        pythonic(message),
        status=status,
        path=path or None,
        offset=offset if offset >= 0 else None,
        row=row if row >= 0 else None,
        line=line if line >= 0 else None,
        hint=pythonic(hint),
    )
    if isinstance(cause, BaseException):
        error.__cause__ = cause
    return error


def warn(note: str) -> None:
    """A note of the library as a warning of whoever called this package; called by the extension."""
    package, level, frame = os.path.dirname(os.path.abspath(__file__)), 2, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == package:
        frame = frame.f_back
        level += 1
    warnings.warn(pythonic(note), LakebedWarning, stacklevel=level)
