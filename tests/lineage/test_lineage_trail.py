"""Columns followed through logs: hand-made histories, and random ones against a slow search of every path.

Run by pytest; LAKEBED names the command.
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))


def record(number, started, ended, target, columns, restrict=(), operation="INSERT", target_type="hive"):
    """`columns`: target column → source columns; `restrict`: sources of the statement's PREDICATE edge."""
    vertices, ids = [], {}

    def vertex(label, table, kind):
        if label not in ids:
            ids[label] = len(vertices)
            vertices.append({"id": ids[label], "vertexType": "COLUMN", "vertexId": label})
            if table:
                vertices[-1]["metadata"] = {"tableName": table, "tableType": kind, "tableCreateTime": 1}
        return ids[label]
    edges = []
    for name, sources in columns.items():
        to = vertex(name, target, target_type)
        edges.append({"sources": sorted(vertex(s, ".".join(s.split(".")[:2]), "hive") for s in sources),
                      "targets": [to], "edgeType": "PROJECTION"})
    if restrict:
        edges.append({"sources": sorted(vertex(s, ".".join(s.split(".")[:2]), "hive") for s in restrict),
                      "targets": sorted(ids[n] for n in columns), "edgeType": "PREDICATE"})
    out = {"queryText": "statement %d" % number, "operationType": operation, "queryId": "%016x:%016x" % (1, number),
           "hash": "0" * 32, "user": "u", "timestamp": started, "endTime": ended, "edges": edges, "vertices": vertices}
    if ended is None:
        del out["endTime"]
    return out


def run(path, *args, status=0):
    p = subprocess.run([LAKEBED, "lineage", "--log", str(path), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=60)
    assert p.returncode == status, p.stderr.decode()
    return p.stdout.decode() if status in (0, 1) else p.stderr.decode()


def write(tmp_path, records):
    path = tmp_path / "impala_lineage_log_1.0-1700000000000"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return tmp_path


def ask(path, way, column, *args):
    out = json.loads(run(path, way, column, "--json", *args))
    assert out["direction"] == way[2:]
    return {c["column"]: (c["how"], c["depth"]) for c in out["columns"]}


HISTORY = [
    record(1, 100, 110, "stage.orders", {"amount": ["raw.orders.amount"], "day": ["raw.orders.ts"]},
           ["raw.orders.status"]),
    record(2, 200, 210, "mart.daily", {"revenue": ["stage.orders.amount"], "day": ["stage.orders.day"]}),
    record(3, 300, 310, None, {"revenue": ["mart.daily.revenue"]}, ["mart.daily.day"], operation="SELECT"),
    record(4, 400, 410, "stage.orders", {"amount": ["late.fix.amount"]}),
]


def test_upstream_goes_through_statements_that_ran_before(tmp_path):
    path = write(tmp_path, HISTORY)
    assert ask(path, "--upstream", "mart.daily.revenue") == {
        "stage.orders.amount": ("value", 1), "raw.orders.amount": ("value", 2), "raw.orders.status": ("restriction", 2)}
    # What came later is of no use to a statement that had ended, but it is in the table itself.
    assert "late.fix.amount" in ask(path, "--upstream", "stage.orders.amount")


def test_downstream(tmp_path):
    path = write(tmp_path, HISTORY)
    assert ask(path, "--downstream", "raw.orders.status") == {
        "stage.orders.amount": ("restriction", 1), "stage.orders.day": ("restriction", 1),
        "mart.daily.revenue": ("restriction", 2), "mart.daily.day": ("restriction", 2), "revenue": ("restriction", 3)}
    assert ask(path, "--downstream", "raw.orders.amount", "--values-only") == {
        "stage.orders.amount": ("value", 1), "mart.daily.revenue": ("value", 2), "revenue": ("value", 3)}
    assert ask(path, "--downstream", "raw.orders.amount", "--depth", "1") == {"stage.orders.amount": ("value", 1)}
    # What was put right in the end did not reach what had been read before.
    assert ask(path, "--downstream", "late.fix.amount") == {"stage.orders.amount": ("value", 1)}


def test_the_order_of_the_lines_does_not_count(tmp_path):
    path = write(tmp_path, HISTORY[::-1])
    assert ask(path, "--upstream", "mart.daily.revenue") == {
        "stage.orders.amount": ("value", 1), "raw.orders.amount": ("value", 2), "raw.orders.status": ("restriction", 2)}


def test_a_view_hands_on_what_comes_later(tmp_path):
    path = write(tmp_path, [
        record(1, 100, 101, "db.v", {"x": ["db.t.x"]}, operation="CREATEVIEW", target_type="view"),
        record(2, 200, 201, "db.t", {"x": ["db.s.x"]})])
    assert ask(path, "--upstream", "db.v.x") == {"db.t.x": ("value", 1), "db.s.x": ("value", 2)}
    assert ask(path, "--downstream", "db.s.x") == {"db.t.x": ("value", 1), "db.v.x": ("value", 2)}


def test_nested_fields_hang_on_their_column(tmp_path):
    path = write(tmp_path, [record(1, 100, 101, "db.t", {"c": ["db.s.x"]}),
                            record(2, 200, 201, "db.u", {"y": ["db.t.c.item.f"]})])
    assert ask(path, "--upstream", "db.u.y") == {
        "db.t.c.item.f": ("value", 1), "db.t.c": ("value", 2), "db.s.x": ("value", 3)}
    assert list(ask(path, "--downstream", "db.s.x")) == ["db.t.c", "db.t.c.item.f", "db.u.y"]


def test_update_of_a_column_by_itself_ends(tmp_path):
    path = write(tmp_path, [record(1, 100, 101, "db.t", {"db.t.n": ["db.t.n", "db.t.m"]}, operation="UPDATE")])
    assert ask(path, "--upstream", "db.t.n") == {"db.t.m": ("value", 1)}


def test_names_of_columns(tmp_path):
    path = write(tmp_path, HISTORY)
    assert ask(path, "--upstream", "DAILY.Revenue") == ask(path, "--upstream", "mart.daily.revenue")
    assert "3 columns are named 'amount'" in run(path, "--upstream", "amount", status=2)
    assert "did you mean mart.daily.revenue" in run(path, "--upstream", "mart.daily.revenu", status=4)


def test_forms_of_the_answer(tmp_path):
    path = write(tmp_path, HISTORY)
    table = run(path, "--upstream", "mart.daily.revenue")
    assert re.search(r"^\s*2\s+raw\.orders\.status\s+restriction\s+stage\.orders\.amount\s+INSERT\s+"
                     r"1970-01-01T00:01:40Z\s+0000000000000001:0000000000000001$", table, re.MULTILINE)
    dot = run(path, "--upstream", "mart.daily.revenue", "--to", "dot")
    assert dot.startswith("digraph lineage {") and 'label="mart.daily (hive)"' in dot and "style=dashed" in dot
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot.encode(), stdout=subprocess.DEVNULL, check=True)


def test_the_list_of_records(tmp_path):
    path = write(tmp_path, HISTORY)
    out = json.loads(run(path, "--json"))
    assert [r["target"] for r in out["records"]] == ["stage.orders", "mart.daily", None, "stage.orders"]
    assert out["records"][0]["sources"] == ["raw.orders"] and out["bad"] == 0
    assert out["records"][3]["query_text"] == "statement 4"
    assert len(run(path).splitlines()) == 1 + len(HISTORY)


# ---------------------------------------------------------------- random histories

def slow(records, way, column, values_only):
    """Every (column, time) that some path reaches, one by one."""
    edges = []
    for r in records:
        names = {}
        for v in r["vertices"]:
            table = v.get("metadata", {}).get("tableName")
            label = v["vertexId"]
            names[v["id"]] = label if table is None or label.startswith(table + ".") else table + "." + label
        view = any(v.get("metadata", {}).get("tableType") == "view" for v in r["vertices"])
        ended = r.get("endTime", 1 << 62)
        for e in r["edges"]:
            if values_only and e["edgeType"] == "PREDICATE":
                continue
            for s in e["sources"]:
                for t in e["targets"]:
                    edges.append((names[s], names[t], r["timestamp"], max(ended, r["timestamp"]), view))
    start = (column, float("inf") if way == "--upstream" else float("-inf"))
    seen, todo = {start}, [start]
    while todo:
        at, time = todo.pop()
        for s, t, started, ended, view in edges:
            if way == "--upstream" and t == at and started <= time:
                new = (s, time if view else min(time, ended))
            elif way == "--downstream" and s == at and (view or ended >= time):
                new = (t, time if view else max(time, started))
            else:
                continue
            if new not in seen:
                seen.add(new)
                todo.append(new)
    return {c for c, _ in seen} - {column}


@pytest.mark.parametrize("seed", range(25))
def test_random_histories(seed, tmp_path):
    rng = random.Random(seed)
    tables = ["db.t%d" % i for i in range(rng.randint(2, 7))]
    columns = [t + "." + c for t in tables for c in "ab"]
    records = []
    for number in range(rng.randint(1, 25)):
        target = rng.choice(tables)
        started = rng.randint(0, 30)
        view = rng.random() < 0.15
        sources = [c for c in columns if not view or not c.startswith(target + ".")]
        records.append(record(number, started, rng.choice([started + rng.randint(0, 6), None]), target,
                              {c: rng.sample(sources, rng.randint(0, 2)) for c in rng.choice(["a", "b", "ab"])},
                              rng.sample(sources, rng.randint(0, 2)), target_type="view" if view else "hive"))
    path = write(tmp_path, records)
    known = {c for r in records for e in r["edges"] for v in r["vertices"]
             for c in [v["vertexId"] if v["vertexId"].startswith("db.") else
                       v["metadata"]["tableName"] + "." + v["vertexId"]]}
    for column in sorted(known)[:6]:
        for way in ("--upstream", "--downstream"):
            values = slow(records, way, column, True)
            want = {c: "value" if c in values else "restriction" for c in slow(records, way, column, False)}
            assert {c: how for c, (how, _) in ask(path, way, column).items()} == want
            assert set(ask(path, way, column, "--values-only")) == values
