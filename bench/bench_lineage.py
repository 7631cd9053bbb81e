"""Measure lineage: a statement's time against sqlglot's lineage and against libpg_query's bare parse.

    bench/bench_lineage.py [--runs 5] [--library build/liblakebed.so] [--json FILE]

Statements are the public test cases of Impala where the conformance data is there, and generated queries (those of
tests/lineage/sql_generator.py). Lakebed reads, resolves and writes the record, in one process (bench_trace.c); sqlglot
tells the lineage of all columns of the query, parsing included; libpg_query (the PostgreSQL parser, through pglast) only
parses, to its protobuf form. Only statements that all can read are compared. All take turns, round after round.

Besides: a star over a table of 10,000 columns through five views, and an INSERT ... VALUES of 5 MB, each also at a tenth
of the size, so that what grows faster than the text shows.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "lineage"))
import sql_generator as generator

QUERIES = 300
REPEATS = 15    # of a statement inside a round


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--runs", type=int, default=5, help="rounds")
    add("--library", dest="shared", type=pathlib.Path, default=os.environ.get("LAKEBED_LIB", ROOT / "build" / "liblakebed.so"))
    add("--conformance", type=pathlib.Path, default=os.environ.get("LAKEBED_CONFORMANCE", ROOT.parent / "shared" / "conformance"))
    add("--json", type=pathlib.Path, default=ROOT / "build" / "bench_lineage.json")
    return parser.parse_args()


class Ours:
    def __init__(self, library, folder):
        self.program, self.folder = folder / "bench_trace", folder
        library = library.resolve()
        subprocess.run(["cc", "-std=gnu11", "-O2", "-I", ROOT / "include", HERE / "bench_trace.c", library,
                        "-Wl,-rpath," + str(library.parent), "-o", self.program], check=True)

    def times_in(self, catalog, statements, dbs):
        """The same where each statement has a database of its own."""
        out = [None] * len(statements)
        for db in sorted(set(dbs)):
            places = [i for i, its in enumerate(dbs) if its == db]
            for i, us in zip(places, self.times(catalog, [statements[i] for i in places], db=db)):
                out[i] = us
        return out

    def times(self, catalog, statements, repeats=REPEATS, db="default"):
        """Microseconds of each statement, None where it cannot be read."""
        (self.folder / "catalog").write_text(catalog)
        (self.folder / "statements").write_bytes(b"".join(s.encode() + b"\0" for s in statements))
        out = subprocess.run([self.program, self.folder / "catalog", self.folder / "statements", str(repeats), db],
                             check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        return [None if word == "-" else float(word) for word in out]


def timed(work, repeats):
    """The median of some repeats in microseconds, or None where it fails."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        try:
            work()
        except Exception:    # whatever a peer raises where it cannot read a statement
            return None
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


def pg_times(statements):
    import pglast.parser
    return [timed(lambda s=s: pglast.parser.parse_sql_protobuf(s), REPEATS) for s in statements]


def sqlglot_times(statements, schema):
    import sqlglot
    from sqlglot.lineage import lineage
    return [timed(lambda s=s: lineage(None, sqlglot.parse_one(s, dialect="hive"), schema=schema, dialect="hive"), 1)
            for s in statements]


def suite(folder):
    """The conformance cases: catalog, statements, and the catalog as sqlglot wants it."""
    if not (folder / "lineage" / "cases.jsonl").exists():
        return None
    catalog = (folder / "lineage" / "catalog.json").read_text()
    with open(folder / "lineage" / "cases.jsonl", encoding="utf-8") as file:
        cases = [c for c in map(json.loads, file) if c["check"] == "lineage"]
    schema = {}
    for table in json.loads(catalog)["tables"]:
        schema.setdefault(table["db"], {})[table["name"]] = {c["name"]: c["type"] for c in table["columns"]}
    return catalog, [c["sql"] for c in cases], schema, [c["default_db"] for c in cases]


def wide(columns):
    ddl = "create table wide (%s);\n" % ", ".join("c%d int" % i for i in range(columns))
    for i in range(5):
        ddl += "create view v%d as select * from %s;\n" % (i, "v%d" % (i - 1) if i else "wide")
    return ddl, "select * from v4"


def insert(size):
    row = "(%d, 'some text of a row', 2.5, null)"
    rows = [row % i for i in range(size // 40)]
    return "create table t (a int, b string, c double, d int)", "insert into t values " + ", ".join(rows)


def compare(name, ours, theirs):
    """Medians over the statements that both can read."""
    both = [(a, b) for a, b in zip(ours, theirs) if a is not None and b is not None]
    if not both:
        return None
    mine, other = (statistics.median(x) for x in zip(*both))
    return {"against": name, "statements": len(both), "lakebed_us": mine, "peer_us": other, "ratio": other / mine}


def measure_set(ours, name, runs, catalog, statements, schema, dbs):
    rounds = {"lakebed": [], "libpg_query": [], "sqlglot": []}
    for turn in range(runs):
        print("%s: round %d of %d" % (name, turn + 1, runs), file=sys.stderr)
        rounds["lakebed"].append(ours.times_in(catalog, statements, dbs))
        rounds["libpg_query"].append(pg_times(statements))
        if turn < 2:    # it takes a hundred times as long
            rounds["sqlglot"].append(sqlglot_times(statements, schema))

    def middle(lists):
        return [None if None in times else statistics.median(times) for times in zip(*lists)]
    mine = middle(rounds["lakebed"])
    read = [t for t in mine if t is not None]
    return {"set": name, "statements": len(statements), "read": len(read), "median_us": statistics.median(read),
            "mean_us": statistics.mean(read), "most_us": max(read),
            "bytes": statistics.median(len(s) for s in statements),
            "peers": [compare(p, mine, middle(rounds[p])) for p in ("libpg_query", "sqlglot")]}


def measure_large(ours, runs):
    out = []
    for name, make, sizes in (("star over N columns through 5 views", wide, (1000, 10000)),
                              ("INSERT VALUES of N bytes", insert, (500_000, 5_000_000))):
        for size in sizes:
            catalog, statement = make(size)
            times = [ours.times(catalog, [statement], 3)[0] for _ in range(runs)]
            pg = statistics.median(pg_times([statement])) if make is insert else None
            us = statistics.median(times)
            out.append({"work": name, "n": size, "bytes": len(statement), "ms": us / 1e3, "mb_per_s": len(statement) / us,
                        "libpg_query_ms": pg and pg / 1e3})
    return out


def main():
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="lakebed-bench-") as name:
        ours = Ours(args.shared, pathlib.Path(name))
        queries = [generator.Query(seed).text for seed in range(QUERIES)]
        sets = [measure_set(ours, "generated queries", args.runs, generator.ddl(), queries, {"shop": generator.CATALOG},
                            ["shop"] * len(queries))]
        cases = suite(args.conformance)
        if cases:
            sets.insert(0, measure_set(ours, "Impala's public cases", args.runs, *cases))
        figures = {"sets": sets, "large": measure_large(ours, args.runs)}
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(figures, indent=1) + "\n")
    for s in sets:
        print("%(set)s: %(read)d of %(statements)d read, %(bytes)d bytes; median %(median_us).1f us, mean %(mean_us).1f, "
              "most %(most_us).1f" % s)
        for p in filter(None, s["peers"]):
            print("  %(against)s, %(statements)d statements: %(peer_us).1f us to %(lakebed_us).1f us, %(ratio).1f x" % p)
    for w in figures["large"]:
        print("%(work)s, N = %(n)d: %(ms).1f ms, %(mb_per_s).1f MB/s" % w +
              (", libpg_query's parse %.1f ms" % w["libpg_query_ms"] if w["libpg_query_ms"] else ""))


if __name__ == "__main__":
    main()
