"""The blocks of the kind `pycon` in README.md and docs/, run in order, page by page, beside the example lake."""

import doctest
import re

import package_lake
import pytest

for peer in ("pyarrow", "polars", "duckdb"):
    pytest.importorskip(peer)

ROOT = package_lake.SOURCE
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALL = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in ALL if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, tmp_path, monkeypatch):
    package_lake.make(tmp_path / "lake", mapped=False)
    monkeypatch.chdir(tmp_path)
    text = "\n".join(BLOCK.findall(page.read_text()))
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    said = []
    try:
        failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append).failed
    finally:
        package_lake.lakebed.formats.unregister_format("squares")
    assert failures == 0, "".join(said)


def test_there_are_pages():
    assert {"README.md", "python.md"} <= {page.name for page in PAGES}
