"""Impala's own column lineage tests, compared strictly: hash, ids, labels, metadata, the order of edges.

Run by pytest; LAKEBED names the command. Skipped where the conformance data is not there.
"""
import pathlib
import sys
import urllib.parse

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lineage_driver as driver

CASES = driver.suite()
pytestmark = pytest.mark.skipif(not CASES, reason="there is no conformance data")


def without_times(vertices):
    for vertex in vertices:
        vertex.get("metadata", {}).pop("tableCreateTime", None)
    return vertices


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    options = ["--expand-complex-types"] if case["options"]["expand_complex_types"] else []
    if case["options"]["enable_expr_rewrites"]:
        options.append("--expr-rewrites")
    if not case["id"].startswith("PL"):
        options += ["--newlines", "blank"]
    records, said = driver.run(case["sql"], driver.suite_catalog(), case["default_db"], options)
    assert said == ""
    want = case["expected"]
    if want is None:
        assert records == {}
        return
    assert list(records) == [0]
    got = records[0]
    assert got["operationType"] == want["operationType"]
    assert without_times(got["vertices"]) == without_times(want["vertices"])
    assert got["edges"] == want["edges"]
    assert got["queryText"] == want["queryText"]
    assert got["hash"] == want["hash"]
    assert ("tableLocation" in got) == ("tableLocation" in want)
    if "tableLocation" in want:
        assert got["tableLocation"] == urllib.parse.urlparse(want["tableLocation"]).path
