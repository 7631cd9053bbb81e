"""Lineage from Python: the same records as the command, as objects."""

import json
import os
import subprocess

import package_lake
import pytest

br = package_lake.lakebed
COMMAND = os.environ.get("LAKEBED") or str(package_lake.SOURCE / "build" / "lakebed")
DDL = "create table sales (day date, shop int, amount double); create table shops (id int, town string)"
SQL = """
create table best as select town, sum(amount) as total from sales join shops on shop = id group by town;
insert into archive select * from best where total > 5;
delete from best;
select nothing from
"""


def test_records_are_those_of_the_command(tmp_path):
    (tmp_path / "tables.sql").write_text(DDL)
    (tmp_path / "script.sql").write_text(SQL)
    traced = br.lineage(SQL, DDL, query_id="1:1", user="me", started=5, ended=6)
    command = [COMMAND, "lineage", "-f", "script.sql", "--catalog", "tables.sql", "--query-id", "1:1", "--user", "me"]
    lines = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    ours = [dict(record.to_dict(), timestamp=0, endTime=0) for record in traced.records]
    theirs = [dict(json.loads(line), timestamp=0, endTime=0) for line in lines]
    assert ours == theirs and len(ours) == 2
    assert (traced.records[0].started, traced.records[0].ended) == (5, 6)


def test_statements(tmp_path):
    traced = br.lineage(SQL, DDL)
    assert len(traced) == 4 and [s.record is not None for s in traced] == [True, True, False, False]
    assert SQL.encode()[traced[2].begin : traced[2].end].decode() == "delete from best"
    assert [type(e) for e in traced.errors] == [type(traced[3].error)] and isinstance(traced[3].error, br.Error)
    record = traced[0].record
    assert (record.operation, record.target, record.user) == ("CREATETABLE_AS_SELECT", "default.best", "")
    assert record.sources_of("total", values_only=True) == ["default.sales.amount"]
    assert set(record.sources_of("total")) == {
        "default.sales.amount",
        "default.sales.shop",
        "default.shops.id",
        "default.shops.town",
    }
    assert {v.label for v in record.vertices if v.target} == {"town", "total"}
    assert traced.to("dot").startswith(b"digraph") and b"total" in traced.to("dot")
    assert traced.to("impala").decode().splitlines() == [r.json for r in traced.records]
    assert traced.to("thrift")[:1] != traced.to("thrift-compact")[:1]
    with pytest.raises(ValueError):
        traced.to("poem")
    assert "<script" not in br.lineage("select '<script>' as `<b>` from t")._repr_html_()


def test_marks_and_strictness():
    traced = br.lineage("select x from sales where day > 1", DDL)
    assert [(m.kind, m.name) for m in traced.marks] == [("unknown column", "x")]
    assert br.lineage("select x from sales", DDL, strict=True).errors
    assert [m.kind for m in br.lineage("select a from nowhere", DDL).marks] == ["unknown table"]


def test_catalogs(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    catalog = br.Catalog(DDL)
    assert len(catalog) == 2
    catalog.add_table("v", view_sql="select amount * 2 as twice from sales")
    schema = pyarrow.schema([("a", pyarrow.int32()), ("l", pyarrow.list_(pyarrow.string()))])
    catalog.add_table("t", schema, db="other")
    assert br.lineage("select twice from v", catalog).sources_of("twice") == ["default.sales.amount"]
    assert [v.label for v in br.lineage("select * from other.t", catalog).vertices][:1] == ["a"]
    listed = br.Catalog({"tables": [{"db": "d", "name": "t", "columns": [{"name": "x", "type": "int"}]}]})
    assert br.lineage("select * from d.t", listed).sources_of("x") == ["d.t.x"]
    (tmp_path / "tables.sql").write_text(DDL)
    assert len(br.Catalog(tmp_path / "tables.sql")) == len(br.Catalog(str(tmp_path / "tables.sql"))) == 2
    for bad in ("create tabel t (a int)", {"tables": [{"db": 5}]}):
        with pytest.raises(OSError):
            br.Catalog(bad)
    with pytest.raises(ValueError):
        catalog.add_table("t", ["a", "a"])


def test_lakes_are_catalogs(tmp_path):
    package_lake.make(tmp_path / "lake")
    for given in (tmp_path / "lake", str(tmp_path / "lake"), br.open(tmp_path / "lake")):
        traced = br.lineage("select max(level_ft) as high from levels.huron", given)
        assert traced.sources_of("high") == ["levels.huron.level_ft"] and not traced.marks


def test_logs_and_trails(tmp_path):
    log = tmp_path / "log"
    br.lineage("create table a as select amount as x from sales", DDL, log=log, query_id="1:1", started=1, ended=2)
    br.lineage("create table b as select x as y from a", log=str(log), query_id="2:2", started=3, ended=4)
    records = list(br.read_log(log))
    assert [(r.query_id, r.target) for r in records] == [
        ("0000000000000001:0000000000000001", "default.a"),
        ("0000000000000002:0000000000000002", "default.b"),
    ]
    steps = br.trail(log, "b.y")
    assert [(s.column, s.depth) for s in steps] == [("default.b.y", 0), ("default.a.x", 1), ("default.sales.amount", 2)]
    assert [s.column for s in br.trail(log, "b.y", depth=1)] == ["default.b.y", "default.a.x"]
    assert [s.column for s in br.trail(log, "sales.amount", downstream=True)][-1] == "default.b.y"
    with pytest.raises(br.ColumnError):
        br.trail(log, "b.z")
    with pytest.raises(FileNotFoundError):
        list(br.read_log(tmp_path / "nothing"))


def test_refusals():
    with pytest.raises(TypeError):
        br.lineage(5)
    with pytest.raises(ValueError):
        br.lineage("select 1", query_id="no id")
    with pytest.raises((TypeError, OSError)):
        br.lineage("select 1", object())
