"""What holds for the whole process, and where the library itself lies."""

from __future__ import annotations

import os

from . import _core, _options

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def configure(*, threads: int = 0, memory_limit: int = 0) -> None:
    """Threads and bytes of memory for what is opened from now on; 0: one thread a core, half of the machine's memory.

    >>> lakebed.configure(threads=2, memory_limit=1 << 30)
    >>> lakebed.configure()
    """
    _core.configure(_options.whole("threads", threads), _options.whole("memory_limit", memory_limit))


def get_include() -> str:
    """The folder of `lakebed.h`, for programs in C."""
    return os.path.join(PACKAGE, "include")


def get_library() -> str:
    """The shared library that this package uses."""
    return os.path.join(PACKAGE, "liblakebed.so.0")
