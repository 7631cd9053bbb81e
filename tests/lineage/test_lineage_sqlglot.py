"""Value lineage against sqlglot's, over generated queries; and sqlglot's own test statements, which must not hurt.

Both tell, for each column of a result, which columns of tables its value is made of. They mean different things by it in
two places, each a decision of the formats (docs/lineage.md has the table):

- window: what PARTITION BY and ORDER BY of a window function name is part of the value to sqlglot; to Impala it is a
  restriction of that column.
- set: the right operand of EXCEPT and INTERSECT gives values to sqlglot; to Impala it restricts.

A difference is accepted only if it is exactly that: the window's columns are those of our PREDICATE edge, and with
UNION ALL in the place of EXCEPT and INTERSECT the rest is equal.

Run by pytest; LAKEBED names the command, LAKEBED_PEER_QUERIES how many queries (2000).
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import sql_generator as generator

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
VENV = pathlib.Path(os.environ.get("LAKEBED_VENV", SOURCE / ".deps" / "venv"))
QUERIES = int(os.environ.get("LAKEBED_PEER_QUERIES", "2000"))


def ours(texts, folder):
    """Of each query: column → (columns its value is made of, columns that restrict it alone)."""
    (folder / "catalog.sql").write_text(generator.ddl())
    (folder / "queries.sql").write_text(";\n".join(texts))
    p = subprocess.run([LAKEBED, "lineage", "-f", folder / "queries.sql", "--catalog", folder / "catalog.sql",
                        "--query-id", "0:0", "--user", "u"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert (p.returncode, p.stderr.decode()) == (0, "")
    found = [None] * len(texts)
    for record in map(json.loads, p.stdout.splitlines()):
        label = {v["id"]: v["vertexId"].removeprefix("shop.") for v in record["vertices"]}
        value, alone = {}, collections.defaultdict(set)
        for edge in record["edges"]:
            sources = {label[i] for i in edge["sources"]}
            if edge["edgeType"] == "PROJECTION":
                value[label[edge["targets"][0]]] = sources
            elif len(edge["targets"]) == 1 and edge is not record["edges"][-1]:
                alone[label[edge["targets"][0]]] |= sources
        # The last edge may be a window's or the whole statement's where there is one target only.
        last = record["edges"][-1]
        if last["edgeType"] == "PREDICATE" and len(last["targets"]) == 1:
            alone[label[last["targets"][0]]] |= {label[i] for i in last["sources"]}
        found[int(record["queryId"].split(":")[1], 16)] = {c: (value[c], alone[c]) for c in value}
    return found


def theirs(query):
    import sqlglot
    from sqlglot import exp
    from sqlglot.lineage import lineage
    schema = {"shop": generator.CATALOG}
    found = {}
    for column, node in lineage(None, sqlglot.parse_one(query.text, dialect="hive"), schema=schema,
                                dialect="hive").items():
        found[column] = {n.expression.name + "." + n.name.split(".")[-1] for n in node.walk()
                         if not n.downstream and isinstance(n.expression, exp.Table)}
    return found


def explain(got, as_union, want):
    """The kind of difference of one column, or None where it is none that is known."""
    value, _ = got
    union_value, union_alone = as_union
    if value == want:
        return "equal"
    if union_value == value:
        return "window" if value < want <= value | union_alone else None
    if union_value == want:
        return "set"
    return "set and window" if union_value < want <= union_value | union_alone else None


@pytest.mark.skipif(QUERIES == 0, reason="no queries are asked for")
def test_generated_queries_agree(tmp_path, capsys):
    pytest.importorskip("sqlglot")
    queries = [generator.Query(seed) for seed in range(QUERIES)]
    found = ours([q.text for q in queries], tmp_path)
    union = ours([q.text.replace(" except ", " union all ").replace(" intersect ", " union all ") for q in queries],
                 tmp_path)
    kinds, features, unexplained = collections.Counter(), collections.Counter(), []
    for query, got, as_union in zip(queries, found, union):
        features.update(query.features)
        want = theirs(query)
        assert set(want) == set(query.columns) == set(got)
        for column in query.columns:
            kind = explain(got[column], as_union[column], want[column])
            kinds[kind] += 1
            if kind is None:
                unexplained.append((query.text, column, got[column], want[column]))
    with capsys.disabled():
        print("\n%d queries: %s; using %s" % (QUERIES, dict(kinds), dict(features)))
    assert not unexplained, "%d, of which: %s" % (len(unexplained), unexplained[:3])
    assert kinds["equal"] > 0.6 * sum(kinds.values())


def fixtures():
    return sorted((VENV.parent / "sqlglot").rglob("*.sql"))


@pytest.mark.parametrize("path", fixtures() or [None], ids=lambda p: p.name if p else "none")
def test_statements_of_others_do_no_harm(path):
    if path is None:
        pytest.skip("sqlglot's sources are not in .deps")
    p = subprocess.run([LAKEBED, "lineage", "-q", "-f", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120)
    assert p.returncode in (0, 1, 3)
    for line in p.stdout.splitlines():
        json.loads(line)
