"""Arrow files of another writer, Polars: views and dictionaries, old and new, in every codec.

Run by pytest; LAKEBED_LIB names the library.
"""
import datetime

import polars
import pytest
from arrow_library import Library

LIBRARY = Library()
ROWS = 5000


def frame():
    day, moment = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)
    text = [None if i % 7 == 0 else "text %d " % i * (i % 4) for i in range(ROWS)]
    return polars.DataFrame({
        "number": range(ROWS), "text": text, "day": [day + datetime.timedelta(days=i % 400) for i in range(ROWS)],
        "moment": [moment + datetime.timedelta(seconds=i) for i in range(ROWS)], "list": [[1] * (i % 3) for i in range(ROWS)],
        "struct": [{"a": i, "b": None if i % 2 else "x"} for i in range(ROWS)], "bool": [i % 3 == 0 for i in range(ROWS)],
        "bytes": [bytes([i % 256]) * (i % 20) for i in range(ROWS)], "word": ["ab"[i % 2] for i in range(ROWS)]})


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("level", [polars.CompatLevel.oldest(), polars.CompatLevel.newest()], ids=["oldest", "newest"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_polars(codec, level, kind, tmp_path):
    want = frame()
    given = want.with_columns(category=polars.col("text").cast(polars.Categorical),
                              enum=polars.col("word").cast(polars.Enum(["a", "b"])))
    want = want.with_columns(category=polars.col("text"), enum=polars.col("word"))
    path = tmp_path / "a.arrow"
    (given.write_ipc if kind == "file" else given.write_ipc_stream)(path, compression=codec, compat_level=level)
    for memory_map in False, True:
        with LIBRARY.open(path, memory_map=memory_map) as table:
            for offset, limit in ((0, ROWS), (1003, 77), (ROWS - 1, 5)):
                assert polars.from_arrow(table.rows(offset, limit)).equals(want.slice(offset, limit))
