"""Random queries over a small catalog, the same for the same seed: for comparing lineage with other tools.

Every column of every block has an alias that its block uses once, so that results can be told apart by name; names in
expressions are qualified. The features of a query are noted in `features`, so that differences can be told by kind.
"""
import random

CATALOG = {
    "orders": {"id": "bigint", "customer_id": "bigint", "amount": "double", "day": "string", "status": "string"},
    "customers": {"id": "bigint", "name": "string", "city": "string", "since": "string"},
    "items": {"order_id": "bigint", "product": "string", "price": "double", "qty": "bigint"},
    "days": {"day": "string", "week": "bigint", "year": "bigint"},
}


def ddl():
    return "".join("create table shop.%s (%s);\n" % (t, ", ".join("%s %s" % c for c in columns.items()))
                   for t, columns in CATALOG.items())


class Query:
    """One query: its text, its result columns, and what it uses."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.features = set()
        self.names = 0
        self.ctes = {}
        with_entries = []
        for _ in range(self.rng.choice([0, 0, 0, 1, 2])):
            name = self.name("w")
            text, columns = self.query(2)
            with_entries.append("%s as (%s)" % (name, text))
            self.ctes[name] = columns
        text, self.columns = self.query(3)
        self.text = ("with %s " % ", ".join(with_entries) if with_entries else "") + text
        if with_entries:
            self.features.add("with")

    def name(self, prefix):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    # ---- relations

    def relation(self, depth):
        """Text of a FROM item, its alias and its columns."""
        alias = self.name("r")
        kind = self.rng.random()
        if depth > 0 and kind < 0.3:
            text, columns = self.query(depth - 1)
            self.features.add("inline view")
            return "(%s) %s" % (text, alias), alias, columns
        if self.ctes and kind < 0.55:
            name = self.rng.choice(sorted(self.ctes))
            return "%s %s" % (name, alias), alias, self.ctes[name]
        table = self.rng.choice(sorted(CATALOG))
        return "shop.%s %s" % (table, alias), alias, list(CATALOG[table])

    def from_clause(self, depth):
        text, alias, columns = self.relation(depth)
        scope = {alias: columns}
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            more, alias, columns = self.relation(depth)
            kind = self.rng.choice(["join", "left join", "right join", "full outer join", "cross join"])
            left = self.column(scope)
            scope[alias] = columns
            text += " %s %s" % (kind, more)
            if kind != "cross join":
                text += " on %s = %s.%s" % (left, alias, self.rng.choice(columns))
        return text, scope

    # ---- expressions

    def column(self, scope):
        alias = self.rng.choice(sorted(scope))
        return "%s.%s" % (alias, self.rng.choice(scope[alias]))

    def literal(self):
        return self.rng.choice(["1", "2.5", "'x'", "NULL", "'it\\'s'", "-3"])

    def scalar(self, scope, depth):
        kind = self.rng.randint(0, 9)
        if depth == 0 or kind < 4:
            return self.column(scope) if self.rng.random() < 0.9 else self.literal()
        a, b = self.scalar(scope, depth - 1), self.scalar(scope, depth - 1)
        if kind == 4:
            return "(%s %s %s)" % (a, self.rng.choice(["+", "-", "*", "/", "%"]), b)
        if kind == 5:
            return "%s(%s, %s)" % (self.rng.choice(["coalesce", "concat", "nullif", "greatest"]), a, b)
        if kind == 6:
            self.features.add("case")
            return "case when %s then %s else %s end" % (self.condition(scope, depth - 1, False), a, b)
        if kind == 7:
            return "cast(%s as %s)" % (a, self.rng.choice(["bigint", "string", "double"]))
        if kind == 8:
            return "upper(%s)" % a
        self.features.add("case")
        return "if(%s, %s, %s)" % (self.condition(scope, depth - 1, False), a, b)

    def condition(self, scope, depth, subqueries=True):
        kind = self.rng.randint(0, 8)
        a = self.scalar(scope, max(depth - 1, 0))
        if depth > 0 and kind < 2:
            return "(%s %s %s)" % (self.condition(scope, depth - 1, subqueries), self.rng.choice(["and", "or"]),
                                   self.condition(scope, depth - 1, subqueries))
        if kind == 2:
            return "%s is %snull" % (a, self.rng.choice(["", "not "]))
        if kind == 3:
            return "%s between %s and %s" % (a, self.literal(), self.scalar(scope, 0))
        if kind == 4:
            return "%s in (1, 2, %s)" % (a, self.scalar(scope, 0))
        if subqueries and depth > 0 and kind == 5:
            self.features.add("in subquery")
            text, _ = self.block(0, 1)
            return "%s in (%s)" % (a, text)
        if subqueries and depth > 0 and kind == 6:
            self.features.add("exists")
            inner, alias, columns = self.relation(0)
            return "exists (select 1 from %s where %s.%s = %s)" % (inner, alias, self.rng.choice(columns),
                                                                   self.column(scope))
        return "%s %s %s" % (a, self.rng.choice(["=", "<", ">=", "<>"]), self.scalar(scope, max(depth - 1, 0)))

    def window(self, scope):
        self.features.add("window")
        call = self.rng.choice(["sum(%s)", "max(%s)", "lag(%s, 1)", "first_value(%s)"]) % self.column(scope)
        if self.rng.random() < 0.3:
            call = self.rng.choice(["row_number()", "rank()"])
        over = []
        if self.rng.random() < 0.6:
            over.append("partition by %s" % self.column(scope))
        if not over or self.rng.random() < 0.6 or "lag" in call or "rank" in call or "row" in call:
            over.append("order by %s" % self.column(scope))
        return "%s over (%s)" % (call, " ".join(over))

    def scalar_subquery(self):
        self.features.add("scalar subquery")
        inner, alias, columns = self.relation(0)
        return "(select max(%s.%s) from %s)" % (alias, self.rng.choice(columns), inner)

    # ---- blocks

    def item(self, scope):
        kind = self.rng.random()
        if kind < 0.12:
            return self.window(scope)
        if kind < 0.17:
            return self.scalar_subquery()
        return self.scalar(scope, 2)

    def block(self, depth, width):
        text, scope = self.from_clause(depth)
        where = " where %s" % self.condition(scope, 2) if self.rng.random() < 0.5 else ""
        group = ""
        if self.rng.random() < 0.25:
            self.features.add("group by")
            key = self.column(scope)
            items = [self.rng.choice([key, "count(*)", "sum(%s)" % self.scalar(scope, 1), "min(%s)" % self.column(scope),
                                      "count(distinct %s)" % self.column(scope)]) for _ in range(width)]
            group = " group by %s" % key
            if self.rng.random() < 0.4:
                group += " having max(%s) > 1" % self.column(scope)
        else:
            items = [self.item(scope) for _ in range(width)]
        columns = [self.name("c") for _ in range(width)]
        distinct = "distinct " if self.rng.random() < 0.1 else ""
        tail = " order by 1 limit 10" if self.rng.random() < 0.1 else ""
        return "select %s%s from %s%s%s%s" % (distinct, ", ".join("%s as %s" % p for p in zip(items, columns)), text,
                                              where, group, tail), columns

    def query(self, depth):
        width = self.rng.randint(1, 4)
        text, columns = self.block(depth, width)
        if depth > 0 and self.rng.random() < 0.15 and " limit " not in text:
            word = self.rng.choice(["union all", "union", "union all", "except", "intersect"])
            self.features.add(word.split()[0])
            more, _ = self.block(depth - 1, width)
            text = "%s %s %s" % (text, word, more.replace(" order by 1 limit 10", ""))
        return text, columns
