"""How far a long call is: one line on a terminal, or in a notebook."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Callable

UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(number: float) -> str:
    """Bytes for people.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    unit = 0
    while number >= 999.5 and unit + 1 < len(UNITS):
        number /= 1000
        unit += 1
    return "%d %s" % (number, UNITS[unit]) if unit == 0 else "%.1f %s" % (number, UNITS[unit])


def line(what: str, done: int, total: int, files: int, total_files: int, seconds: float) -> str:
    """What is shown.

    >>> line("mapping", 50_000_000, 200_000_000, 1, 4, 0.5)
    'mapping: 25 %, 1 of 4 files, 100.0 MB/s, 2 s left'
    """
    parts = ["%d %%" % (100 * done // total if total else 100), "%d of %d files" % (files, total_files)]
    if seconds > 0 and done > 0:
        parts.append("%s/s" % size(done / seconds))
        if total > done:
            parts.append("%d s left" % max(round((total - done) * seconds / done), 1))
    return what + ": " + ", ".join(parts)


class Terminal:
    """A line on standard error that is drawn over, and gone in the end."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, text: str) -> None:
        sys.stderr.write("\r" + text + "\033[K")
        sys.stderr.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Notebook:
    """A line below the cell of a notebook, and gone in the end."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, text: str) -> None:
        content = self._display.HTML("<code>%s</code>" % html.escape(text))
        if self._handle is None:
            self._handle = self._display.display(content, display_id=True)
        elif self._handle is not None:
            self._handle.update(content)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))


def _screen() -> Terminal | Notebook | None:
    python = sys.modules.get("IPython")
    if python is not None and "ipykernel" in sys.modules and python.get_ipython() is not None:
        from IPython import display

        return Notebook(display)
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class Progress:
    """To be used as a context manager; what it gives is what the extension calls, or None where nobody looks."""

    def __init__(self, what: str, wanted: bool) -> None:
        self._what = what
        self._screen = _screen() if wanted else None
        self._began = time.monotonic()

    def __enter__(self) -> Callable[[int, int, int, int], None] | None:
        return self._show if self._screen is not None else None

    def _show(self, done: int, total: int, files: int, total_files: int) -> None:
        if self._screen is not None and total_files:
            seconds = time.monotonic() - self._began
            self._screen.show(line(self._what, done, total, files, total_files, seconds))

    def __exit__(self, *exc: object) -> None:
        if self._screen is not None:
            self._screen.close()
