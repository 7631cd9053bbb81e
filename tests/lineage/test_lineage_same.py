"""Statements written otherwise that mean the same: the graph changes only as it must.

The statements are the conformance suite's, where it is there, and in any case those of a generator with a fixed seed.
Run by pytest; LAKEBED names the command.
"""
import copy
import pathlib
import random
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lineage_driver as driver

# ---- statements

CATALOG = """
create table d.t (a int, b int, c string, k int);
create table d.u (a int, e int, f string, k int);
create table d.w (id int, g int, h string, k int) partitioned by (p int);
create view d.v as select a, e + k s, f from d.u where e > 1;
"""
TABLES = {"d.t": ["a", "b", "c", "k"], "d.u": ["a", "e", "f", "k"], "d.w": ["id", "g", "h", "k", "p"],
          "d.v": ["a", "s", "f"]}


class Maker:
    """Makes queries as nested parts, so that a part can be written as an inline view or as a WITH entry."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def name(self, letter):
        self.names += 1
        return "%s%d" % (letter, self.names)

    def value(self, columns, depth=2):
        r = self.random
        kind = r.randrange(9) if depth else 0
        if kind < 3:
            return r.choice(columns)
        if kind == 3:
            return str(r.randrange(100))
        if kind == 4:
            return "%s + %s" % (self.value(columns, depth - 1), self.value(columns, depth - 1))
        if kind == 5:
            return "coalesce(%s, %s)" % (self.value(columns, depth - 1), self.value(columns, depth - 1))
        if kind == 6:
            return "case when %s > 3 then %s else 'x' end" % (r.choice(columns), self.value(columns, depth - 1))
        if kind == 7:
            return "cast(%s as string)" % self.value(columns, depth - 1)
        return "sum(%s) over (partition by %s order by %s)" % (r.choice(columns), r.choice(columns), r.choice(columns))

    def condition(self, columns, depth):
        r = self.random
        kind = r.randrange(5)
        if kind == 0 and depth:
            table = r.choice(list(TABLES))
            alias = self.name("z")
            inner = [alias + "." + c for c in TABLES[table]]
            return "exists (select 1 from %s %s where %s = %s)" % (table, alias, r.choice(inner), r.choice(columns))
        if kind == 1 and depth:
            table = r.choice(list(TABLES))
            alias = self.name("z")
            inner = [alias + "." + c for c in TABLES[table]]
            return "%s in (select %s from %s %s where %s < 5)" % (r.choice(columns), r.choice(inner), table, alias,
                                                                  r.choice(inner))
        if kind == 2:
            return "(%s or %s = 3)" % (self.condition(columns, 0), r.choice(columns))
        return "%s > %d" % (r.choice(columns), r.randrange(9))

    def relation(self, depth):
        """(how it is written in FROM before its alias, names of its columns)"""
        if depth and self.random.random() < 0.5:
            return self.query(depth - 1)
        table = self.random.choice(list(TABLES))
        return table, TABLES[table]

    def query(self, depth):
        r = self.random
        relations = [(self.relation(depth), self.name("r")) for _ in range(r.choice([1, 1, 2, 3]))]
        columns = [alias + "." + c for (_, names), alias in relations for c in names]
        parts = {"from": relations, "on": [], "group": None, "having": None, "where": None, "order": None}
        for i in range(1, len(relations)):
            left = [alias + "." + c for (_, names), alias in relations[:i] for c in names]
            right = [relations[i][1] + "." + c for c in relations[i][0][1]]
            parts["on"].append("%s = %s" % (r.choice(left), r.choice(right)))
        outputs = [self.name("o") for _ in range(r.randrange(1, 4))]
        if r.random() < 0.3:
            keys = r.sample(columns, min(2, len(columns)))
            items = ["%s(%s)" % (r.choice(["sum", "max", "count"]), r.choice(columns)) if i else keys[0]
                     for i in range(len(outputs))]
            parts["group"] = ", ".join(keys)
            if r.random() < 0.5:
                parts["having"] = "count(%s) > 1" % r.choice(columns)
        else:
            items = [self.value(columns) for _ in outputs]
            if r.random() < 0.3:
                parts["order"] = "%s limit 7" % r.choice(columns)
        if r.random() < 0.6:
            parts["where"] = " and ".join(self.condition(columns, 1) for _ in range(r.randrange(1, 3)))
        parts["items"] = list(zip(items, outputs))
        return parts, outputs


def write(query, entries=None):
    """A query as text; with a list of entries, its inline views become WITH entries put there."""
    if isinstance(query, str):
        return query
    froms = []
    for i, ((part, _), alias) in enumerate(query["from"]):
        if isinstance(part, str):
            text = part
        elif entries is None:
            text = "(%s)" % write(part)
        else:
            inner = write(part, entries)
            text = "entry_%s" % alias
            entries.append("%s as (%s)" % (text, inner))
        froms.append("%s %s" % (text, alias) if i == 0 else "join %s %s on %s" % (text, alias, query["on"][i - 1]))
    out = "select %s from %s" % (", ".join("%s as %s" % item for item in query["items"]), " ".join(froms))
    for word, key in (("where", "where"), ("group by", "group"), ("having", "having"), ("order by", "order")):
        if query[key] is not None:
            out += " %s %s" % (word, query[key])
    return out


def write_with(query):
    entries = []
    body = write(query, entries)
    return ("with %s %s" % (", ".join(entries), body)) if entries else body


MADE = [Maker(seed).query(3)[0] for seed in range(400)]


# ---- what is the same

def same_but(before, after, label=lambda text: text):
    """Edges are equal, in order, when labels are taken through a function."""
    return [(kind, sorted(map(label, t)), sorted(map(label, s))) for kind, t, s in driver.shape(before)] == \
        driver.shape(after)


def facts(record):
    """All that does not hang on the text as it was written."""
    return {key: record[key] for key in ("operationType", "edges", "vertices")}


def suite_selects():
    return [case for case in driver.suite() if case["expected"] and case["expected"]["operationType"] == "SELECT"]


def groups(cases):
    """Cases by database; each group is one script."""
    out = {}
    for case in cases:
        out.setdefault(case["default_db"], []).append(case)
    return out.items()


def compare(change, cases, made, options=(), same=lambda a, b: facts(a) == facts(b)):
    """Both ways of writing each statement, and what is not the same."""
    wrong = []
    if made:
        plain = [write(query) for query in MADE]
        before = driver.run_all(plain, CATALOG, "d", options)
        changed = [change(sql) for sql in plain]
        after = driver.run_all(changed, CATALOG, "d", options)
        wrong += [(a, b) for a, b, x, y in zip(plain, changed, before, after) if not same(x, y)]
    for db, group in groups(cases):
        catalog = driver.suite_catalog()
        for case in group:  # one by one: some make tables that others have
            x = driver.run_all([case["sql"]], catalog, db, options)[0]
            y = driver.run_all([change(case["sql"])], catalog, db, options)[0]
            if (x is None) != (y is None) or (x is not None and not same(x, y)):
                wrong.append((case["sql"], change(case["sql"])))
    assert not wrong, "%d differ, as\n%s\n%s" % (len(wrong), *wrong[0])


def lowered(record):
    record = copy.deepcopy(record)
    for vertex in record["vertices"]:
        vertex["vertexId"] = vertex["vertexId"].lower()
    return facts(record)


def test_case_does_not_matter():
    """Words that are neither strings nor quoted, in upper case; labels of window functions keep it, so they are lowered."""
    def change(sql):
        return "".join(text.upper() if kind == "word" else text for kind, text in driver.tokens(sql))
    compare(change, driver.suite(), True, same=lambda a, b: lowered(a) == lowered(b))


def test_blanks_and_comments_do_not_matter():
    def change(sql):
        blanks = [" ", "\n", "\t \r\n", "/* select ' from \" */", " -- it's\n", "  "]
        out = [""]
        for i, (kind, text) in enumerate(driver.tokens(sql)):
            if kind == "blank":
                out.append(blanks[i % len(blanks)])
            elif kind == "sign" and text in ",()" and i % 3:
                out.append(text + blanks[i % len(blanks)])
            else:
                out.append(text)
        return "".join(out)
    compare(change, driver.suite(), True)


def test_a_star_over_it_does_not_matter():
    compare(lambda sql: "select * from (%s) wrapped" % sql, suite_selects(), True)


def test_a_star_over_it_as_an_entry_does_not_matter():
    compare(lambda sql: "with wrapped as (%s) select * from wrapped" % sql, suite_selects(), True)


def test_an_unused_entry_does_not_matter():
    def change(sql):
        entry = "unused as (select max(1) m from (select 2 n) x where n > 1 group by n)"
        if re.match(r"\s*with\b", sql, re.I):
            return re.sub(r"^\s*with\b", lambda m: "with %s," % entry, sql, count=1, flags=re.I)
        return "with %s %s" % (entry, sql)
    compare(change, suite_selects(), True)


def test_parentheses_around_conditions_do_not_matter():
    def change(sql):
        return re.sub(r"\bwhere (.*?)( group by| order by|\)|$)", r"where ((\1))\2", sql, count=1) \
            if "exists" not in sql and " in (" not in sql and sql.count(" where ") == 1 and "(" not in sql else sql
    compare(change, [], True)


def test_inline_views_and_entries_are_the_same():
    plain, entries = [write(q) for q in MADE], [write_with(q) for q in MADE]
    assert sum(a != b for a, b in zip(plain, entries)) > 100
    before, after = driver.run_all(plain, CATALOG, "d"), driver.run_all(entries, CATALOG, "d")
    for sql, x, y in zip(entries, before, after):
        assert facts(x) == facts(y), sql


def test_a_stored_view_is_the_same_as_an_inline_view():
    queries = [q for q in MADE if any(not isinstance(part, str) for (part, _), _ in q["from"])]
    assert len(queries) > 100
    script, numbers = [], []
    for i, query in enumerate(queries):
        query = copy.deepcopy(query)
        for k, ((part, names), alias) in enumerate(query["from"]):
            if not isinstance(part, str):
                script.append("create view x%d_%d as %s" % (i, k, write(part)))
                query["from"][k] = (("x%d_%d" % (i, k), names), alias)
        numbers.append(len(script))
        script.append(write(query))
    got = driver.run_all(script, CATALOG, "d")
    before = driver.run_all([write(q) for q in queries], CATALOG, "d")
    for query, x, n in zip(queries, before, numbers):
        assert facts(x) == facts(got[n]), write(query)


def test_aliases_do_not_matter():
    """Names of relations; those of columns are labels of the result."""
    def change(sql):
        return re.sub(r"\b[rz](\d+)\b", r"other_\1_name", sql)
    compare(change, [], True)


def renamer(names):
    """New names for what the catalog names, long enough that labels sort as before within a table."""
    return {name: name + "_x" for name in names}


def rename(sql, names):
    return "".join(names.get(text.lower(), text) if kind == "word" else text for kind, text in driver.tokens(sql))


def rename_label(text, names):
    return re.sub(r"\w+", lambda m: names.get(m.group().lower(), m.group()), text)


def renamed_type(text, names):
    return re.sub(r"(\w+):", lambda m: names.get(m.group(1), m.group(1)) + ":", text)


def test_names_of_tables_and_columns_do_not_matter():
    if not driver.suite():
        pytest.skip("there is no conformance data")
    catalog = driver.suite_catalog()
    fixed = {"item", "key", "value", "pos", "x", "y", "a", "b", "c", "d", "e", "default"}
    words = {t["name"] for t in catalog["tables"]} | {t["db"] for t in catalog["tables"]}
    for table in catalog["tables"]:
        for column in table["columns"]:
            words.add(column["name"])
            words.update(re.findall(r"(\w+):", column["type"]))
    names = renamer(words - fixed)
    other = copy.deepcopy(catalog)
    for table in other["tables"]:
        table["name"], table["db"] = rename(table["name"], names), rename(table["db"], names)
        if "view_sql" in table:
            table["view_sql"] = rename(table["view_sql"], names)
        for column in table["columns"]:
            column["name"] = names.get(column["name"], column["name"])
            column["type"] = renamed_type(column["type"], names)
        if table["table_type"] == "hbase":  # its order is that of the names
            table["columns"] = table["columns"][:1] + sorted(table["columns"][1:], key=lambda c: c["name"])
    wrong = []
    for case in driver.suite():
        db = case["default_db"]
        x = driver.run_all([case["sql"]], catalog, db)[0]
        y = driver.run_all([rename(case["sql"], names)], other, names.get(db, db))[0]
        if (x is None) != (y is None):
            wrong.append(case["id"])
        elif x is not None and sorted(map(repr, driver.shape(y))) != sorted(
                repr((kind, sorted(rename_label(t, names) for t in ts), sorted(rename_label(s, names) for s in ss)))
                for kind, ts, ss in driver.shape(x)):
            wrong.append(case["id"])
    assert not wrong


def test_columns_made_up_by_the_generator_are_renamed_alike():
    names = {name: name + "_x" for table in TABLES for name in TABLES[table]}
    plain = [write(q) for q in MADE]
    other = [rename(sql, names) for sql in plain]
    before = driver.run_all(plain, CATALOG, "d")
    after = driver.run_all(other, rename(CATALOG, names), "d")
    for sql, x, y in zip(other, before, after):
        assert same_but(x, y, lambda text: rename_label(text, names)), sql
