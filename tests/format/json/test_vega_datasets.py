"""Real data: the JSON files of the package vega-datasets as a lake, against Python's json module; the largest also as
lines and laid out over many lines.

Run by pytest; LAKEBED names the command. Skipped where the package is not there (tools/setup.sh --tests).
"""
import json
import os
import random
import shutil

import pytest

from json_model import SOURCE, Object, Table, read, run

DATA = os.path.join(os.environ.get("LAKEBED_DEPS", SOURCE / ".deps"), "vega-datasets")
pytestmark = pytest.mark.skipif(not os.path.isdir(DATA), reason="vega-datasets is not there (tools/setup.sh --tests)")
STRIDE = 1000
LARGEST = "flights-200k.json"


def rows_of(path):
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".ndjson":
        return [read(line) for line in text.splitlines()]
    document = read(text)
    return document if isinstance(document, list) and not isinstance(document, Object) else [document]


class Lake:
    def __init__(self, folder):
        for name in sorted(os.listdir(DATA)):
            if name.endswith(".json"):
                shutil.copyfile(os.path.join(DATA, name), folder / name)
        rows = json.loads((folder / LARGEST).read_text())
        (folder / "lines.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "pretty.json").write_text(json.dumps(rows, indent=1))
        self.folder = folder
        self.tables = {path.name: Table(rows_of(path)) for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return Lake(tmp_path_factory.mktemp("vega"))


def check_all(lake, *options):
    for name, table in lake.tables.items():
        path = lake.folder / name
        table.check_schema(path)
        table.check_rows(0, len(table.rows), table.columns, run("slice", path, "--to", "tagged", *options))


def check_ranges(lake, rounds, *options):
    r = random.Random(7)
    for name, table in lake.tables.items():
        rows = len(table.rows)
        for _ in range(rounds):
            border = STRIDE * r.randrange(1 + rows // STRIDE) - 1
            first = max(0, r.choice([0, rows - 3, rows, r.randrange(rows + 1), border]))
            out = run("slice", lake.folder / name, "--offset", str(first), "--limit", "5", "--to", "tagged", *options)
            table.check_rows(first, 5, table.columns, out)


def test_without_a_map(lake):
    assert not (lake.folder / ".br_map.bazan").exists()
    check_all(lake)
    check_ranges(lake, 1)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_through_a_map(lake, threads):
    run("map", lake.folder, "-q", "--stride", str(STRIDE), "-j", str(threads))
    check_all(lake, "-j", str(threads))
    check_ranges(lake, 4, "-j", str(threads))
    assert int(run("count", lake.folder / LARGEST)) == 200000


def test_maps_are_the_same_for_any_threads(lake):
    maps = []
    for threads in (1, 2, 7):
        run("map", lake.folder, "-q", "--stride", str(STRIDE), "-j", str(threads))
        maps.append(json.loads(run("stats", lake.folder / LARGEST, "--json")))
    assert maps[0] == maps[1] == maps[2]
