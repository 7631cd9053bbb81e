"""Laws of lakes, on random lakes of delimited files and against Python's own reader of them.

Run by pytest; LAKEBED names the command. The oracle for values is Python's csv module; where types matter, the law is that
a read through a map, without one, at any stride and with any number of threads gives the same.
"""
import csv
import io
import json
import os
import pathlib
import random
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
MAP = ".br_map.bazan"
DELIMITERS = {"csv": ",", "tsv": "\t", "psv": "|", "txt": ";"}


def run(*args, cwd=None, status=0):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, cwd=cwd, timeout=120)
    assert p.returncode == status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout, p.stderr.decode(errors="replace")


def rows_of(path, *args, form="ndjson"):
    out = run("slice", "-q", path, "--to", form, *args)[0]
    return [json.loads(line, object_pairs_hook=lambda pairs: [list(pair) for pair in pairs]) for line in out.splitlines()]


def report(verb, *args):
    return json.loads(run(verb, "--json", "-q", *args)[0])


# ---------------------------------------------------------------- random lakes

WORDS = ["", "a", "Zoë", "x,y", "two\nlines", 'say "so"', " pad ", "a|b;c", "tab\there", "0", "-5", "007", "1.5", "true",
         "2024-02-29", "2024-02-29T12:00:00", "12:30:00", "NULL", "\r\n", "日本"]


class Lake:
    """A directory of files; `files` holds, in map order, path, names and the records' fields as text."""

    def __init__(self, root, seed):
        self.random = random.Random(seed)
        self.root, self.files = root, []
        paths = ["%s%s.%s" % (folder, name, ext) for folder in ("", "b/", "b/c d/", "é/") for name in ("a", "m 1", "z")
                 for ext in DELIMITERS]
        for path in sorted(self.random.sample(paths, self.random.randint(1, 7)), key=os.fsencode):
            self.add(path)

    def column(self, n):
        kind = self.random.choice(["int", "small", "float", "date", "text", "bool", "null", "mixed"])
        make = {"int": lambda: str(self.random.randint(-10**15, 10**15)), "small": lambda: str(self.random.randint(0, 9)),
                "float": lambda: repr(self.random.uniform(-1e6, 1e6)), "bool": lambda: self.random.choice(["true", "false"]),
                "date": lambda: "20%02d-0%d-1%d" % (self.random.randint(0, 99), self.random.randint(1, 9), self.random.randint(0, 9)),
                "text": lambda: self.random.choice(WORDS), "null": lambda: "", "mixed": lambda: self.random.choice(WORDS[9:18])}[kind]
        holes = self.random.random() < 0.3
        return [("" if holes and self.random.random() < 0.3 else make()) for _ in range(n)]

    def add(self, path):
        names = self.random.sample(["id", "name", "x", "y", "Größe", "a b"], self.random.randint(1, 4))
        n = self.random.choice([0, 1, 3, 40])
        rows = list(zip(*(self.column(n) for _ in names)))
        text = io.StringIO()
        end = self.random.choice(["\n", "\r\n"])
        writer = csv.writer(text, delimiter=DELIMITERS[path.rsplit(".", 1)[1]], lineterminator=end,
                            quoting=self.random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        writer.writerow(names)
        writer.writerows(rows)
        data = text.getvalue()
        if rows and data.endswith(end) and self.random.random() < 0.3 and not data.endswith(end + end):
            data = data[:-len(end)]
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode())
        self.files.append((path, names, rows))

    def columns(self):
        seen = []
        for _, names, _ in self.files:
            seen += [name for name in names if name not in seen]
        return seen

    def text_rows(self):
        """All rows as text; a column that a file has not is null."""
        columns = self.columns()
        return [[[c, (row[names.index(c)] if c in names else None)] for c in columns]
                for _, names, rows in self.files for row in rows]


def ranges(lake, n):
    starts = [0]
    for _, _, rows in lake.files:
        starts.append(starts[-1] + len(rows))
    picks = [(0, n), (0, 0), (n, 1), (n + 7, 3), (0, 2**63 - 1)]
    picks += [(max(0, s - 1), 2) for s in starts]
    picks += [(lake.random.randint(0, n), lake.random.randint(0, n + 2)) for _ in range(3)]
    return lake.random.sample(picks, min(6, len(picks)))


@pytest.mark.parametrize("seed", range(10))
def test_text_is_what_python_reads(tmp_path, seed):
    """Every value as it stands, in map order, over all borders: mapped and not."""
    lake = Lake(tmp_path, seed)
    want = lake.text_rows()
    run("map", "-q", tmp_path, "--stride", random.Random(seed).choice(["1", "2", "7", "65536"]))
    assert rows_of(tmp_path, "--all-text") == want
    assert rows_of(tmp_path, "--all-text", "--no-map") == want
    for first, count in ranges(lake, len(want)):
        assert rows_of(tmp_path, "--all-text", "--offset", str(first), "--limit", str(count)) == want[first:first + count]


@pytest.mark.parametrize("seed", range(10, 22))
def test_mapped_is_unmapped(tmp_path, seed):
    lake = Lake(tmp_path, seed)
    n = len(lake.text_rows())
    schema = report("schema", tmp_path, "--no-map")
    whole = run("slice", "-q", tmp_path, "--to", "tagged", "--no-map")[0].splitlines()
    stats = report("stats", tmp_path, "--no-map")["columns"]
    assert schema["rows"] == n == len(whole)
    assert [c["name"] for c in schema["columns"]] == lake.columns()
    for stride in ("1", "2", "7", "65536"):
        run("map", "-q", tmp_path, "--stride", stride)
        assert report("schema", tmp_path) == schema
        assert report("stats", tmp_path)["columns"] == stats
        for first, count in ranges(lake, n):
            args = ["--offset", str(first), "--limit", str(count)]
            got = run("slice", "-q", tmp_path, "--to", "tagged", *args)[0].splitlines()
            assert got == whole[first:first + count], (stride, args)


@pytest.mark.parametrize("seed", range(40, 46))
def test_types_do_not_depend_on_statistics(tmp_path, seed):
    """Nor on whether a file of the lake is read without its entry."""
    lake = Lake(tmp_path, seed)
    schema = report("schema", tmp_path, "--no-map")
    whole = run("slice", "-q", tmp_path, "--to", "tagged", "--no-map")[0]
    for stats in ("all", "none", "block", "id,x"):
        run("map", "-q", tmp_path, "--stats", stats)
        assert report("schema", tmp_path) == schema, stats
        assert run("slice", "-q", tmp_path, "--to", "tagged")[0] == whole, stats
        os.utime(tmp_path / lake.random.choice(lake.files)[0])
        assert report("schema", tmp_path) == schema, stats
        assert run("slice", "-q", tmp_path, "--to", "tagged")[0] == whole, stats


def test_meetings_do_not_depend_on_statistics(tmp_path):
    (tmp_path / "a.csv").write_text("i,u,t,d,b\n1,5,2020-01-01T00:00:00,2020-01-01,9007199254740993\n")
    (tmp_path / "b.csv").write_text("i,u,t,d,b\n1.5,18446744073709551615,2020-01-01T00:00:00.123456789,2020-01-01T10:00,0.5\n")
    want = ["float64", "uint64", "timestamp[ns]", "timestamp[us]", "string"]
    for stats in ("all", "none", "block", "i,d"):
        run("map", "-q", tmp_path, "--stats", stats)
        assert [c["type"] for c in report("schema", tmp_path)["columns"]] == want, stats
        os.utime(tmp_path / "b.csv")
        assert [c["type"] for c in report("schema", tmp_path)["columns"]] == want, stats


@pytest.mark.parametrize("seed", range(22, 28))
def test_projections(tmp_path, seed):
    """Columns in the order asked, repeated ones each time, absent ones as nulls."""
    lake = Lake(tmp_path, seed)
    whole = rows_of(tmp_path, "--no-map")
    run("map", "-q", tmp_path, "--stride", "2")
    columns = lake.columns()
    for _ in range(3):
        picked = [lake.random.choice(columns) for _ in range(lake.random.randint(1, 5))]
        first, count = lake.random.randint(0, len(whole)), lake.random.randint(1, 9)
        want = [[[c, dict(row)[c]] for c in picked] for row in whole[first:first + count]]
        args = ["--columns", ",".join(picked), "--offset", str(first), "--limit", str(count)]
        assert rows_of(tmp_path, *args) == want
        assert rows_of(tmp_path, "--no-map", *args) == want


@pytest.mark.parametrize("seed", range(28, 34))
def test_explain_and_locate_agree_with_rows(tmp_path, seed):
    lake = Lake(tmp_path, seed)
    run("map", "-q", tmp_path, "--stride", lake.random.choice(["1", "2", "7"]))
    whole = rows_of(tmp_path, "--all-text")
    for first, count in ranges(lake, len(whole)):
        args = ["--offset", str(first), "--limit", str(count)]
        e = report("slice", tmp_path, "--explain", *args)
        parts = e["parts"]
        want = whole[first:first + count]
        assert e["rows"] == len(want) == sum(p["rows"] for p in parts)
        got = []
        for p in parts:
            data = (tmp_path / p["path"]).read_bytes()
            assert p["map"] == "used" and p["blocks"] >= 1 and p["rows"] >= 1 and p["bytes"] >= 1
            assert 0 < p["first_byte"] and p["first_byte"] + p["bytes"] <= len(data)
            # The bytes named are records: cut out and read alone they give the rows, and the ones passed over.
            names = next(names for path, names, _ in lake.files if path == p["path"])
            text = io.StringIO(data[p["first_byte"]:p["first_byte"] + p["bytes"]].decode(), newline="")
            records = [r for r in csv.reader(text, delimiter=DELIMITERS[p["path"].rsplit(".", 1)[1]]) if r]
            for record in records[p["skipped_rows"]:p["skipped_rows"] + p["rows"]]:
                got.append([[c, record[names.index(c)] if c in names else None] for c in lake.columns()])
        assert got == want
    if not whole:
        return
    at = sorted(lake.random.sample(range(len(whole)), min(5, len(whole))))
    for place in report("locate", tmp_path, *map(str, at))["rows"]:
        row = dict(map(tuple, whole[place["row"]]))
        mine = rows_of(tmp_path / place["path"], "--all-text", "--offset", str(place["file_row"]), "--limit", "1")
        assert mine == [[[c, row[c]] for c, _ in mine[0]]]
        back = report("locate", tmp_path, "--file", place["path"], str(place["file_row"]))["rows"][0]
        assert back == place
        data = (tmp_path / place["path"]).read_bytes()
        assert data[:place["block_first_byte"]].count(b"\n") + 1 == place["block_first_line"]
    run("locate", tmp_path, str(len(whole)), status=2)


@pytest.mark.parametrize("seed", range(34, 40))
def test_raw_is_the_files_bytes(tmp_path, seed):
    lake = Lake(tmp_path, seed)
    run("map", "-q", tmp_path, "--stride", lake.random.choice(["1", "2", "7"]))
    want = b""
    for path, names, rows in lake.files:
        if not rows:
            continue
        first = report("locate", tmp_path, "--file", path, "0")["rows"][0]
        # Where a file ends without a line end, the next one's first record still begins on a line of its own.
        if want and want[-1:] not in b"\r\n":
            want += b"\n"
        want += (tmp_path / path).read_bytes()[first["block_first_byte"]:]
    assert run("slice", "-q", tmp_path, "--to", "raw")[0] == want
    assert run("slice", "-q", tmp_path, "--to", "raw", "--no-map")[0] == want
    n = sum(len(rows) for _, _, rows in lake.files)
    pieces = [run("slice", "-q", tmp_path, "--to", "raw", "--offset", str(i), "--limit", "1")[0] for i in range(min(n, 12))]
    assert all(pieces)
    assert want.translate(None, b"\r\n").startswith(b"".join(pieces).translate(None, b"\r\n"))


def test_deep_and_many(tmp_path):
    """5,000 files, deep folders."""
    folder = tmp_path
    for depth in range(50):
        folder = folder / ("d%02d" % depth)
        folder.mkdir()
        for i in range(100):
            (folder / ("%03d.csv" % i)).write_text("k\n%d\n" % (depth * 100 + i))
    run("map", "-q", tmp_path)
    # In the order of the paths' bytes files come before the folder, as digits come before "d".
    assert [r[0][1] for r in rows_of(tmp_path)] == list(range(5000))
    assert rows_of(tmp_path, "--offset", "4999") == [[["k", 4999]]]
    e = report("slice", tmp_path, "--explain", "--offset", "100", "--limit", "250")
    assert len(e["parts"]) == 250 and e["map"] == "used"


# ---------------------------------------------------------------- how a lake is read: options

def options_lake(root):
    (root / "eu").mkdir()
    (root / "us").mkdir()
    (root / "eu" / "a.csv").write_text("id;v\n1;2,5\n2;NA\n")
    (root / "eu" / "b.csv").write_bytes("id;v\n3;Größe\n".encode("cp1252"))
    (root / "us" / "c.csv").write_text("id,v\n4,x\n5,\n")
    return ["--set", "eu/*.csv:delimiter=;", "--set", "eu/b.csv:encoding=WINDOWS-1252"]


def test_rules_later_ones_win(tmp_path):
    rules = options_lake(tmp_path)
    want = [[["id", 1], ["v", "2,5"]], [["id", 2], ["v", "NA"]], [["id", 3], ["v", "Größe"]], [["id", 4], ["v", "x"]],
            [["id", 5], ["v", None]]]
    run("map", "-q", tmp_path, "--set", "eu/*:delimiter=|", *rules)
    assert rows_of(tmp_path) == want
    assert rows_of(tmp_path / "eu" / "b.csv") == [[["id", 3], ["v", "Größe"]]]
    assert report("slice", tmp_path, "--explain")["map"] == "used"


def test_options_survive_and_serve_a_changed_file(tmp_path):
    run("map", "-q", tmp_path, *options_lake(tmp_path), "--null", "NA")
    assert rows_of(tmp_path)[1] == [["id", 2], ["v", None]]
    (tmp_path / "eu" / "b.csv").write_bytes("id;v\n3;NA\n33;Übung\n".encode("cp1252"))
    assert rows_of(tmp_path)[2:4] == [[["id", 3], ["v", None]], [["id", 33], ["v", "Übung"]]]
    assert rows_of(tmp_path / "eu" / "b.csv")[1] == [["id", 33], ["v", "Übung"]]


@pytest.mark.parametrize("args, want", [
    (["--null", "x"], [[1, "2,5"], [2, "NA"], [3, "Größe"], [4, None], [5, None]]),
    (["--null", "NA", "--null", "2,5"], [[1, None], [2, None], [3, "Größe"], [4, "x"], [5, None]]),
    (["--column", "id=string"], [["1", "2,5"], ["2", "NA"], ["3", "Größe"], ["4", "x"], ["5", None]]),
    (["--all-text"], [["1", "2,5"], ["2", "NA"], ["3", "Größe"], ["4", "x"], ["5", ""]]),
    (["--column", "id=float64", "--null", "x"], [[1.0, "2,5"], [2.0, "NA"], [3.0, "Größe"], [4.0, None], [5.0, None]]),
])
def test_value_options_over_a_mapped_lake(tmp_path, args, want):
    run("map", "-q", tmp_path, *options_lake(tmp_path))
    assert [[v for _, v in row] for row in rows_of(tmp_path, *args)] == want


def test_asked_wins_over_rules(tmp_path):
    """What a read asks for wins over what the map remembers, for a lake as for a file of it."""
    (tmp_path / "a.csv").write_text("id;v\n1;NA\n2;NULL\n")
    run("map", "-q", tmp_path, "--set", "*.csv:delimiter=;")
    want = [[["id;v", "1;NA"]], [["id;v", "2;NULL"]]]
    assert rows_of(tmp_path / "a.csv", "--delimiter", ",") == want
    assert rows_of(tmp_path, "--delimiter", ",") == want
    assert report("slice", tmp_path, "--explain", "--delimiter", ",")["map"] == "other options"
    # Equal options are served.
    assert report("slice", tmp_path, "--explain", "--delimiter", ";")["map"] in ("used", "other options")
    assert rows_of(tmp_path, "--delimiter", ";") == rows_of(tmp_path)


def test_asked_types_win_over_rules(tmp_path):
    (tmp_path / "a.csv").write_text("id\n1\n2\n")
    run("map", "-q", tmp_path, "--set", "*.csv:column=id=string")
    assert rows_of(tmp_path) == [[["id", "1"]], [["id", "2"]]]
    for path in (tmp_path / "a.csv", tmp_path):
        assert rows_of(path, "--column", "id=int64") == [[["id", 1]], [["id", 2]]], path
        assert rows_of(path, "--column", "id=float64", "--null", "2") == [[["id", 1.0]], [["id", None]]], path


def test_no_map_forgets_the_rules(tmp_path):
    (tmp_path / "a.csv").write_text("id;v\n1;2\n")
    run("map", "-q", tmp_path, "--delimiter", ";")
    assert rows_of(tmp_path) == [[["id", 1], ["v", 2]]]
    assert rows_of(tmp_path, "--no-map") == [[["id;v", "1;2"]]]
    assert rows_of(tmp_path / "a.csv", "--no-map") == [[["id;v", "1;2"]]]
    assert report("slice", tmp_path, "--explain", "--no-map")["map"] == "not asked"


def test_detect_is_remembered(tmp_path):
    (tmp_path / "a.csv").write_text("id;v\n1;2\n3;4\n5;6\n")
    _, err = run("map", tmp_path)
    assert "delimiter=;" in err or "--delimiter" in err, err
    assert rows_of(tmp_path)[0] == [["id;v", "1;2"]]
    run("map", "-q", tmp_path, "--detect")
    want = [[["id", 1], ["v", 2]], [["id", 3], ["v", 4]], [["id", 5], ["v", 6]]]
    assert rows_of(tmp_path) == want
    assert rows_of(tmp_path / "a.csv", "--offset", "1") == want[1:]
    assert report("slice", tmp_path, "--explain")["map"] == "used"
    (tmp_path / "a.csv").write_text("id;v\n1;2\n3;4\n5;6\n7;8\n")
    assert rows_of(tmp_path)[3] == [["id", 7], ["v", 8]]


@pytest.mark.parametrize("text, option", [(b"a,b\n1,2\n3\n", "ragged"), ("a\nGröße\n".encode("cp1252"), "encoding")])
def test_a_recorded_failure_names_the_option(tmp_path, text, option):
    (tmp_path / "bad.csv").write_bytes(text)
    (tmp_path / "good.csv").write_text("a\n1\n")
    _, err = run("map", tmp_path, status=1)
    assert "bad.csv" in err and option in err
    assert (tmp_path / MAP).exists()
    # What is left out is a finding, and what is there is given.
    assert run("slice", "-q", tmp_path, "--to", "ndjson", status=1)[0] == b'{"a":1}\n'
    os.unlink(tmp_path / MAP)
    _, err = run("map", tmp_path, "--on-error", "abort", status=3)
    assert "bad.csv" in err and option in err
    assert sorted(os.listdir(tmp_path)) in (["bad.csv", "good.csv"], [".br_map.lock", "bad.csv", "good.csv"])
