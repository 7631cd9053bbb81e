"""Long and deep statements: the graph is right, the time grows with the text, and what is too deep is told.

Run by pytest; LAKEBED names the command.
"""
import pathlib
import resource
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lineage_driver as driver

SANITIZED = bool(driver.os.environ.get("LAKEBED_SANITIZE"))
WIDE = "create table w (%s);\n" % ", ".join("c%d int" % i for i in range(10000))
SMALL = "create table t (a int, b int, c string); create table k (id int, v int) stored as kudu;"


def one(sql, catalog=SMALL, options=()):
    """Shape of the last statement's record."""
    records, said = driver.run(sql, catalog, options=options)
    assert said == ""
    return driver.shape(records[max(records)])


def test_ten_thousand_columns_through_five_views():
    views = "".join("create view v%d as select * from %s;" % (i, "v%d" % (i - 1) if i else "w") for i in range(5))
    assert one("select * from v4", WIDE + views) == [
        ("PROJECTION", ["c%d" % i], ["default.w.c%d" % i]) for i in range(10000)]


def test_ten_thousand_entries_in_a_row():
    entries = ", ".join("x%d as (select a, b + 1 b from %s where %s > 3)" % (i, "x%d" % (i - 1) if i else "t", "ab"[i % 2])
                        for i in range(10000))
    assert one("with %s select b from x9999" % entries) == [
        ("PROJECTION", ["b"], ["default.t.b"]), ("PREDICATE", ["b"], ["default.t.a", "default.t.b"])]


def test_entries_that_meet_again_and_again():
    """Each uses the one before twice: without a memory of results the time would double with each."""
    entries = ", ".join("x%d as (select x.a, y.b from x%d x join x%d y on x.a = y.b)" % (i, i - 1, i - 1)
                        for i in range(1, 500))
    assert one("with x0 as (select a, b from t where c > 'x'), %s select a from x499" % entries) == [
        ("PROJECTION", ["a"], ["default.t.a"]), ("PREDICATE", ["a"], ["default.t.a", "default.t.b", "default.t.c"])]


def test_a_hundred_thousand_operands():
    union = " union all ".join("select %s from t" % "ab"[i % 2] for i in range(100000))
    assert one("select * from (%s) x" % union) == [("PROJECTION", ["a"], ["default.t.a", "default.t.b"])]


def test_a_hundred_thousand_terms():
    terms = " + ".join("c%d" % (i % 10000) for i in range(100000))
    tests = " and ".join("c%d > 1" % (i % 5000) for i in range(100000))
    got = one("select %s x from w where %s" % (terms, tests), WIDE)
    assert got[0] == ("PROJECTION", ["x"], sorted("default.w.c%d" % i for i in range(10000)))
    assert got[1] == ("PREDICATE", ["x"], sorted("default.w.c%d" % i for i in range(5000)))


def test_a_long_list_of_values():
    rows = ", ".join("(%d, %d)" % (i, i) for i in range(300000))
    assert one("insert into k values " + rows) == [("PROJECTION", ["id"], []), ("PROJECTION", ["v"], [])]


def test_recursion_that_goes_round():
    """Each turn moves the sources one column on, until every column has all of them."""
    n = 40
    columns = ", ".join("c%d" % i for i in range(n))
    turned = ", ".join("c%d" % ((i + 1) % n) for i in range(n))
    want = sorted("default.big.b%d" % i for i in range(n))
    got = one("with recursive r (%s) as (select * from big union all select %s from r) select * from r"
              % (columns, turned), "create table big (%s)" % ", ".join("b%d int" % i for i in range(n)))
    assert got == [("PROJECTION", ["c%d" % i], want) for i in range(n)]


DEEP = {
    "parentheses": lambda n: "select %sa%s from t" % ("(" * n, ")" * n),
    "inline views": lambda n: "select a from %st%s" % ("(select a from " * n, ") x" * n),
    "EXISTS": lambda n: "select a from t where %sa = 1%s" % ("exists (select 1 from t where " * n, ")" * n),
    "scalar subqueries": lambda n: "select %sa%s from t" % ("(select " * n, " from t)" * n),
    "functions": lambda n: "select %sa%s from t" % ("f(" * n, ")" * n),
    "entries": lambda n: "%sselect a from t%s" % ("with w as (" * n, ") select * from w" * n),
    "unions": lambda n: "select * from %st%s" % ("(select a from t union all select * from " * n, ") x" * n),
    "joins": lambda n: "select t.a from %st%s" % ("(" * n, " join k on true)" * n),
}


@pytest.mark.parametrize("kind", DEEP)
def test_nesting(kind):
    """A few hundred levels are understood; too many are an error with a place, not a crash."""
    records, _ = driver.run(DEEP[kind](150), SMALL)
    assert len(records) == 1
    for n in (2000, 100000):
        records, said = driver.run(DEEP[kind](n) + "; select a from t", SMALL, status=3)
        assert list(records) == [1] and "nested" in said


def test_views_that_lead_nowhere():
    script = ("create view a as select * from b; create view b as select * from a; select * from a; "
              "create view c as select * from c; select 1 x")
    records, said = driver.run(script, SMALL, status=3, options=["--quiet"])
    assert "is defined by itself" in said
    assert driver.shape(records[4]) == [("PROJECTION", ["x"], [])]


@pytest.mark.skipif(SANITIZED, reason="sanitizers have times of their own")
@pytest.mark.parametrize("make", [
    lambda n: "insert into k values " + ", ".join("(%d, %d)" % (i, i) for i in range(n)),
    lambda n: "with x0 as (select a from t)%s select a from x%d" % (
        "".join(", x%d as (select a from x%d where a > 1)" % (i, i - 1) for i in range(1, n // 10)), n // 10 - 1),
    lambda n: " union all ".join("select a from t" for _ in range(n)),
    lambda n: "select %s x from t" % " + ".join("a" for _ in range(n)),
    lambda n: "; ".join("select a, b + 1 x from t where c > 'x'" for _ in range(n // 20)),
], ids=["values", "entries", "operands", "terms", "statements"])
def test_time_grows_with_the_text(make):
    def least(n):
        sql, best = make(n), 1e9
        for _ in range(3):
            began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            driver.run(sql, SMALL)
            best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began)
        return best
    small, large = least(30000), least(240000)
    assert large < 32 * max(small, 0.02), (small, large)  # 8 times the text: a square would be 64 times
