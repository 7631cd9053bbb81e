"""The verb lineage: statements in, records out; what it says and how it ends, also on hostile text.

Run by pytest; LAKEBED names the command.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lineage_peer as peer

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
SANITIZED = bool(os.environ.get("LAKEBED_SANITIZE"))
DDL = "create table db.t (a int, b string); create table u (a int, c int)"


def run(*args, stdin=b"", cwd=None, timeout=120, **more):
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "SOURCE_DATE_EPOCH")}
    p = subprocess.run([LAKEBED, "lineage", *map(os.fspath, args)], input=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, cwd=cwd, env=dict(env, LC_ALL="C.UTF-8", **more), timeout=timeout)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


@pytest.fixture
def catalog(tmp_path):
    (tmp_path / "catalog.sql").write_text(DDL)
    return tmp_path / "catalog.sql"


def edges(record):
    label = {v["id"]: v["vertexId"] for v in record["vertices"]}
    return [([label[i] for i in e["sources"]], [label[i] for i in e["targets"]], e["edgeType"]) for e in record["edges"]]


# ---------------------------------------------------------------- input

def test_the_same_from_everywhere(catalog, tmp_path):
    sql = "select a, b from db.t where a > 1"
    (tmp_path / "q.sql").write_text(sql)
    options = ["--catalog", catalog, "--query-id", "1:2", "--user", "me"]
    env = {"SOURCE_DATE_EPOCH": "1700000000"}
    want = run(sql, *options, **env)
    assert want[0] == 0 and want[2] == ""
    assert run("-f", tmp_path / "q.sql", *options, **env) == want
    assert run("-", *options, stdin=sql.encode(), **env) == want
    assert run("-f", "-", *options, stdin=sql.encode(), **env) == want
    record = json.loads(want[1])
    assert want[1] == peer.line(record)
    assert (record["queryId"], record["user"]) == ("0000000000000001:0000000000000002", "me")
    assert record["timestamp"] == record["endTime"] == 1700000000
    assert edges(record) == [(["db.t.a"], ["a"], "PROJECTION"), (["db.t.b"], ["b"], "PROJECTION"),
                             (["db.t.a"], ["a", "b"], "PREDICATE")]


def test_time_and_id_of_now():
    before = int(time.time())
    first, second = (json.loads(run("select 1 x")[1]) for _ in range(2))
    assert before <= first["timestamp"] <= first["endTime"] <= int(time.time())
    assert first["queryId"] != second["queryId"] and re.fullmatch("[0-9a-f]{16}:[0-9a-f]{16}", first["queryId"])


def test_catalogs_of_all_kinds(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"db": "db", "name": "t", "table_type": "kudu", "create_time": 7,
                                                  "columns": [{"name": "a", "type": "int"}]}]))
    (tmp_path / "b.sql").write_text("create view db.v as select a as z from db.t;")
    status, out, err = run("select * from db.v", "--catalog", tmp_path / "a.json", "--catalog", tmp_path / "b.sql")
    assert (status, err) == (0, "")
    vertex = json.loads(out)["vertices"][1]
    assert vertex["vertexId"] == "db.t.a"
    assert vertex["metadata"] == {"tableName": "db.t", "tableType": "kudu", "tableCreateTime": 7}


def test_a_lake_is_a_catalog(tmp_path):
    lake = tmp_path / "lake"
    (lake / "eu" / "north").mkdir(parents=True)
    (lake / "Orders.2024.csv").write_text("Id,price\n1,2.5\n")
    (lake / "eu" / "north" / "prices.csv").write_text("id,price\n1,2.5\n")
    (lake / "orders.csv").write_text("x\n1\n")
    os.utime(lake / "Orders.2024.csv", (1600000000, 1600000000))
    for mapped in (False, True):
        if mapped:
            subprocess.run([LAKEBED, "map", "-q", lake], check=True)
        status, out, err = run("select o.*, p.price as eu from orders o join eu_north.prices p using (id)",
                               "--lake", lake, "--default-db", "shop")
        assert status == 0
        assert "orders.csv is no table of its own: another file is shop.orders already" in err
        record = json.loads(out)
        assert [v["vertexId"] for v in record["vertices"]] == ["id", "shop.orders.id", "price", "shop.orders.price", "eu",
                                                               "eu_north.prices.price", "eu_north.prices.id"]
        assert record["vertices"][1]["metadata"] == {"tableName": "shop.orders", "tableType": "hive",
                                                     "tableCreateTime": 1600000000}


def test_a_script_makes_its_tables(tmp_path):
    (tmp_path / "s.sql").write_text("""-- nightly
create table stage as select 1 as a, 'x' as b;
create view v as select a from stage; show tables;
insert into stage select a + 1, b from stage where b <> 'x';
select * from v""")
    status, out, err = run("-f", tmp_path / "s.sql", "--query-id", "a:0")
    assert (status, err) == (0, "")
    records = list(map(json.loads, out.splitlines()))
    assert [r["operationType"] for r in records] == ["CREATETABLE_AS_SELECT", "CREATEVIEW", "INSERT", "SELECT"]
    assert [r["queryId"][-1] for r in records] == ["0", "1", "3", "4"]
    assert edges(records[3]) == [(["default.stage.a"], ["a"], "PROJECTION")]


def test_newlines(tmp_path):
    sql = "select 1 as x -- one\r\n , 2 as y"
    assert json.loads(run(sql)[1])["queryText"] == sql.replace("\n", " ")
    assert json.loads(run(sql, "--newlines", "keep")[1])["queryText"] == sql


# ---------------------------------------------------------------- what is told

def test_a_bad_statement_does_not_end_a_script(tmp_path, catalog):
    (tmp_path / "s.sql").write_text("select a from db.t;\nselect from where;\nselect b from db.t;\nselect é é é\n")
    status, out, err = run("-f", "s.sql", "--catalog", catalog, cwd=tmp_path)
    assert status == 3 and len(out.splitlines()) == 2
    assert re.search(r"^lakebed: s\.sql: line 2, column 8: .*\n  select from where;\n         \^$", err, re.MULTILINE)
    assert re.search(r"^lakebed: s\.sql: line 4, column 12: .*\n  select é é é\n             \^$", err, re.MULTILINE)


def test_names_that_are_not_known(catalog):
    status, out, err = run("select t.a, nope, c from db.t join u join w", "--catalog", catalog)
    assert status == 0 and len(out.splitlines()) == 1
    assert "line 1, column 43: table w is in no catalog" in err
    assert run("select a from w", "-q")[2] == ""
    status, out, err = run("select x from db.t; select a from db.t", "--catalog", catalog, "--strict")
    assert status == 1 and len(out.splitlines()) == 1
    assert "line 1, column 8: column x is of no table that is known here" in err
    assert run("select a from db.t, u", "--catalog", catalog, "--strict")[0] == 1


@pytest.mark.parametrize("args, says", [
    ([], "lineage needs SQL"), (["select 1", "select 2"], "too much"), (["-f", "x.sql", "select 1"], "statements once"),
    (["select 1", "--to", "svg"], "--to takes"), (["select 1", "--upstream", "a.b.c"], "asks a log"),
    (["--log", "d", "--strict"], "goes with SQL"), (["--log", "d", "--upstream", "a", "--downstream", "b"], "one thing"),
    (["--log", "d", "--depth", "2"], "go with --upstream"), (["select 1", "--query-id", "zz"], "query id"),
    (["select 1", "--newlines", "crlf"], "--newlines takes keep or blank"), (["select 1", "--dialect", "x"], "no option"),
])
def test_wrong_usage(args, says, tmp_path):
    status, out, err = run(*args, cwd=tmp_path)
    assert (status, out) == (2, "") and says in err


@pytest.mark.parametrize("args, status, says", [
    (["-f", "missing.sql"], 4, "missing.sql: No such file"), (["select 1", "--catalog", "missing"], 4, "No such file"),
    (["select 1", "--lake", "missing"], 4, "missing"), (["--log", "missing"], 4, "missing"),
    (["select 1", "--to", "openlineage"], 3, "not written as openlineage yet"), (["-f", "."], 4, "directory"),
    (["select 1", "--log", "missing/deep"], 4, "missing/deep"),
])
def test_what_is_not_there(args, status, says, tmp_path):
    got, out, err = run(*args, cwd=tmp_path)
    assert (got, out) == (status, "") and says in err


# ---------------------------------------------------------------- output

def test_forms_and_files(catalog, tmp_path):
    pytest.importorskip("thrift")
    options = ["--catalog", catalog, "--query-id", "1:1"]
    sql = "select a from db.t; select b from db.t where a = 1"
    records = list(map(json.loads, run(sql, *options, SOURCE_DATE_EPOCH="5")[1].splitlines()))
    for form in ("thrift", "thrift-compact"):
        status, out, err = run(sql, *options, "--to", form, "-o", tmp_path / "out", SOURCE_DATE_EPOCH="5")
        assert (status, out, err) == (0, "", "")
        assert peer.thrift_records(form, (tmp_path / "out").read_bytes(), 2) == records
    status, out, _ = run(sql, *options, "--to", "dot")
    assert status == 0 and out.count("digraph") == 2 and 'label="db.t (hive)"' in out and "style=dashed" in out


def test_a_log_of_many_commands(catalog, tmp_path):
    log = tmp_path / "log"
    jobs = [subprocess.Popen([LAKEBED, "lineage", "insert into db.t select a + %d, b from db.t; select %d as x" % (i, i),
                              "--catalog", catalog, "--log", log, "--query-id", "%x:0" % i], stdout=subprocess.PIPE)
            for i in range(8)]
    assert [(p.wait(60), p.stdout.read()) for p in jobs] == [(0, b"")] * 8
    files = [f for f in os.listdir(log) if not f.startswith(".")]
    assert len(files) == 1 and re.fullmatch(r"impala_lineage_log_1\.0-\d{13}", files[0])
    lines = (log / files[0]).read_text().splitlines()
    assert sorted(json.loads(l)["queryId"] for l in lines) == ["%016x:%016x" % (i, k) for i in range(8) for k in range(2)]
    assert run("select 1 as y", "--log", log, "--to", "impala")[1] == (log / files[0]).read_text().splitlines()[-1] + "\n"
    assert run("--log", log, "--to", "impala")[1].splitlines() == (log / files[0]).read_text().splitlines()


def test_a_full_disk_is_told(catalog):
    with open("/dev/full", "wb") as full:
        p = subprocess.run([LAKEBED, "lineage", "select 1 as x"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert p.returncode == 4 and b"No space" in p.stderr


# ---------------------------------------------------------------- hostile text

def test_ten_thousand_parentheses():
    for sql in ("select " + "(" * 10000 + "1" + ")" * 10000, "select * from " + "(select * from " * 10000,
                "select " + "case when a then " * 10000, "select " + "not " * 10000 + "a", "select " + "- " * 10000 + "1",
                "select cast(a as " + "array<" * 10000 + "int" + ">" * 10000 + ")"):
        status, out, err = run("-", stdin=sql.encode())
        assert status == 3 and out == "" or status == 0 and len(out.splitlines()) == 1
        assert status == 0 or re.search(r"^lakebed: standard input: line 1, column \d+: ", err)


@pytest.mark.parametrize("chain", ["a + ", "a and ", "a or ", "a || "])
def test_long_chains(chain):
    status, out, err = run("-q", "-", stdin=b"select " + chain.encode() * 100000 + b"a as x from t")
    assert (status, err) == (0, "")
    assert edges(json.loads(out)) == [(["default.t.a"], ["x"], "PROJECTION")]


def test_a_long_union():
    status, out, err = run("-q", "-", stdin=b" union all ".join([b"select a as x from t"] * 20000))
    assert (status, err) == (0, "")
    assert edges(json.loads(out)) == [(["default.t.a"], ["x"], "PROJECTION")]


@pytest.mark.skipif(SANITIZED, reason="takes too long")
def test_a_statement_of_100_megabytes(tmp_path):
    row = "(1, 'some text of a row', 2.5, null),"
    with open(tmp_path / "big.sql", "w") as file:
        file.write("insert into t values ")
        for _ in range(100_000_000 // (len(row) * 1000)):
            file.write(row * 1000)
        file.write("(1, 'x', 2, 3)")
    (tmp_path / "catalog.sql").write_text("create table t (a int, b string, c double, d int)")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    p = subprocess.run([LAKEBED, "lineage", "-f", tmp_path / "big.sql", "--catalog", tmp_path / "catalog.sql", "-o",
                        tmp_path / "out"], stderr=subprocess.PIPE, preexec_fn=limit, timeout=300)
    (tmp_path / "big.sql").unlink()
    assert p.returncode == 0 or (p.returncode == 3 and b"memory" in p.stderr)
    if p.returncode == 0:
        record = json.loads((tmp_path / "out").read_text())
        assert len(record["queryText"]) > 99_000_000
        assert edges(record) == [([], [c], "PROJECTION") for c in "abcd"]


@pytest.mark.parametrize("sql, column", [(b"select 'a\xff' as x", 10), (b"select \x00 as x", 8), (b"\xc3", 1),
                                         (b"select 1 as x\x00", 14), (b"select a\xed\xa0\x80 from t", 9)])
def test_bytes_that_are_no_text(sql, column):
    status, out, err = run("-", stdin=sql + b"; select 2 as y")
    assert status == 3
    assert "standard input: line 1, column %d: " % column in err
    # A byte that is no text ends nothing but its statement.
    assert [json.loads(line)["queryText"] for line in out.splitlines()] in ([" select 2 as y"], ["select 2 as y"], [])


def test_a_terminal_is_not_steered(tmp_path):
    status, _, err = run("-", stdin=b"select \x1b[31m 'x\xe2\x80\xae")
    assert status == 3 and "\x1b" not in err and "\u202e" not in err
