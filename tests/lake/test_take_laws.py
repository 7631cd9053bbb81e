"""Laws of scattered rows and of splits, on random files and lakes, against Python's own csv module.

Taken rows are the rows that a slice has at these places, in the order asked, for any stride, number of threads, encoding and
dialect, with a map and without; a sample is the beginning of its shuffle; a shuffle has every row once; header and bytes of
any split are a file that csv reads as these rows. Run by pytest; LAKEBED names the command.
"""
import csv
import io
import json
import os
import random
import subprocess

import pytest
import test_properties as properties

LAKEBED = properties.LAKEBED
ROUNDS = properties.ROUNDS
run, rows_of = properties.run, properties.rows_of


def tagged(verb, path, *args, stdin=None):
    p = subprocess.run([LAKEBED, verb, "-q", os.fspath(path), "--to", "tagged", *map(str, args)], input=stdin,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    assert p.returncode == 0, p.stderr.decode(errors="replace")
    return [list(json.loads(line).values()) for line in p.stdout.splitlines()]


def taken(path, rows, *args):
    """By --rows-from: with one row an operand too, so that both ways are gone."""
    lines = "".join("%d\n" % row for row in rows[1:]).encode()
    return tagged("take", path, *([] if not rows else [rows[0]]), "--rows-from", "-", *args, stdin=lines)


def some_rows(r, n):
    """Rows to ask for: scattered, ascending, dense, and again and again."""
    if n == 0:
        return []
    kind = r.randrange(5)
    if kind == 0:
        return sorted(r.sample(range(n), r.randint(1, n)))
    if kind == 1:
        first = r.randrange(n)
        return list(range(first, r.randint(first, n - 1) + 1))
    if kind == 2:
        return [r.randrange(n)] * 5 + [0, n - 1]
    if kind == 3:
        return list(range(n))[::-1]
    return [r.randrange(n) for _ in range(r.randint(1, 3 * n))]


# ---------------------------------------------------------------- files

def check_take(r, f):
    rows, n = f.padded(), len(f.rows)
    typed, plain = rows_of(f.path), ["--no-map", *f.as_flags()]
    for threads in ("1", "2", "7"):
        want = some_rows(r, n)
        assert taken(f.path, want, "--all-text", "-j", threads) == [rows[i] for i in want]
        assert taken(f.path, want, "-j", threads) == [typed[i] for i in want]
    want = some_rows(r, n)
    assert taken(f.path, want, *plain) == [typed[i] for i in want]
    if f.names:
        columns = list(dict.fromkeys(properties.some_columns(r, f.names)))
        want = some_rows(r, n)
        got = taken(f.path, want, *properties.column_flags(columns))
        assert got == properties.project([typed[i] for i in want], f.names, columns)


def check_raw(r, f):
    want = some_rows(r, len(f.rows))
    if not want:
        return
    if f.garbage:    # a quote that is never closed takes in what follows: only the last record can have one
        want = [i for i in want if i + 1 < len(f.rows)] + [len(f.rows) - 1]
    raw = run("take", f.path, *map(str, want), "--to", "raw", "-q")
    assert f.records(f.decode(raw)) == [f.rows[i] for i in want]


def check_random(r, f):
    typed, n, seed = rows_of(f.path), len(f.rows), r.randrange(2**63)
    seeded = ["--seed", seed, "-j", r.choice([1, 2])]
    shuffled = tagged("shuffle", f.path, *seeded)
    key = json.dumps
    assert sorted(map(key, shuffled)) == sorted(map(key, typed))
    k, m = r.randint(0, n + 1), r.randint(0, n + 1)
    assert tagged("shuffle", f.path, *seeded, "--from", k) == shuffled[k:]
    assert tagged("shuffle", f.path, *seeded, "--from", k, "--limit", m) == shuffled[k:k + m]
    assert tagged("sample", f.path, *seeded, "-n", m, "--no-map", *f.as_flags()) == shuffled[:m]
    in_order = tagged("sample", f.path, *seeded, "-n", m, "--sorted")
    assert sorted(map(key, in_order)) == sorted(map(key, shuffled[:m]))
    at = -1
    for row in in_order:    # a subsequence of the file's rows
        at = typed.index(row, at + 1)


def check_splits(r, f):
    data, target = f.path.read_bytes(), r.choice([1, 10, 64, 200, 1000, 10**6])
    for flags in ([], ["--no-map", *f.as_flags()]):
        report = json.loads(run("splits", f.path, "--target", str(target), "--check", "--json", "-q", *flags))
        splits = report["splits"]
        assert report["target"] == target and sum(s["rows"] for s in splits) == len(f.rows)
        row = 0
        for number, s in enumerate(splits):
            assert (s["split"], s["first_row"]) == (number, row)
            assert number + 1 == len(splits) or s["end_byte"] == splits[number + 1]["first_byte"]
            piece = data[s["first_byte"]:s["end_byte"]]
            assert len(piece) == s["bytes"]
            want = f.rows[row:row + s["rows"]]
            assert f.records(f.decode(piece)) == want
            # With the header it is a file like the whole one.
            alone = (data[:s["header_bytes"]] + piece).decode(f.codec)
            assert f.records(alone)[1 if f.header else 0:] == want
            row += s["rows"]
            blanks = len(piece) - len(piece.rstrip(b"\r\n\0"))
            assert s["rows"] == 1 or s["bytes"] - blanks <= target


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_files(tmp_path, seed):
    r = random.Random("take %d" % seed)
    files = [properties.File(r, tmp_path, i) for i in range(r.randint(1, 3))]
    sets = [x for f in files for x in ("--set", f.as_set())]
    stride = r.choice([1, 2, 7, 64, 65536])
    run("map", tmp_path, "--stride", str(stride), "-q", *sets)
    for f in files:
        check_take(r, f)
        check_raw(r, f)
        check_random(r, f)
        check_splits(r, f)


# ---------------------------------------------------------------- lakes

def put_lake(r, root):
    """Files whose columns differ; gives all rows as a slice of the whole has them."""
    for i in range(r.randint(2, 6)):
        names = r.sample(["a", "b", "c", "d"], r.randint(1, 4))
        path = root / ("%d.%s" % (i, r.choice(["csv", "tsv"])))
        out = io.StringIO()
        w = csv.writer(out, delimiter="\t" if path.suffix == ".tsv" else ",", lineterminator=r.choice(["\n", "\r\n"]))
        w.writerow(names)
        for k in range(r.choice([0, 1, 30, 200])):
            w.writerow([r.choice(["x", "two\nlines", 'q"', str(k)]) if name > "b" else k for name in names])
        path.write_text(out.getvalue(), newline="")


@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 3)))
def test_lakes(tmp_path, seed):
    r = random.Random("take lake %d" % seed)
    (tmp_path / "sub").mkdir()
    put_lake(r, tmp_path)
    put_lake(r, tmp_path / "sub")
    text = ["--schema", "text"]
    unmapped = rows_of(tmp_path, *text)
    want = some_rows(r, len(unmapped))
    assert taken(tmp_path, want, *text) == [unmapped[i] for i in want]
    run("map", tmp_path, "--stride", str(r.choice([1, 7, 65536])), "-q")
    for path in (tmp_path, tmp_path / "sub"):
        rows = rows_of(path, *text)
        for threads in ("1", "2", "7"):
            want = some_rows(r, len(rows))
            assert taken(path, want, *text, "-j", threads) == [rows[i] for i in want]
        shuffled = tagged("shuffle", path, *text, "--seed", seed)
        assert sorted(map(json.dumps, shuffled)) == sorted(map(json.dumps, rows))
        splits = json.loads(run("splits", path, "--target", "300", "--check", "--json", "-q"))["splits"]
        assert sum(s["rows"] for s in splits) == len(rows)


def test_the_order_does_not_depend_on_threads_or_maps(tmp_path):
    """The bytes that are printed, also as Arrow, in which batches show."""
    with open(tmp_path / "a.csv", "w") as f:
        f.write("id,text\n")
        f.writelines('%d,"row %d"\n' % (i, i * i) for i in range(150000))
    run("map", tmp_path, "--stride", "1000", "-q")
    path = tmp_path / "a.csv"
    for verb, *args in (["shuffle", "--seed", "1"], ["take", "0-149999"], ["take", "140000-149999", "5-20", "5-20"],
                        ["sample", "-n", "70000", "--seed", "9"]):
        operands = [a for a in args if a[0].isdigit() and verb == "take"]
        options = [a for a in args if a not in operands]
        one = run(verb, path, *operands, *options, "--to", "arrows", "-j", "1")
        assert run(verb, path, *operands, *options, "--to", "arrows", "-j", "7") == one
    pa = pytest.importorskip("pyarrow")
    table = pa.ipc.open_stream(run("shuffle", path, "--seed", "1", "--to", "arrows")).read_all()
    assert sorted(table["id"].to_pylist()) == list(range(150000))
    assert table["text"].to_pylist() == ["row %d" % (i * i) for i in table["id"].to_pylist()]


# ---------------------------------------------------------------- a large file of which a sample is read

@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Beyond what is surveyed whole: its end is not known before it is read."""
    path = tmp_path_factory.mktemp("large") / "large.csv"
    line, n = "x" * 4000, 70000
    with open(path, "w") as f:
        f.write("id,text\n")
        for i in range(n):
            f.write("%d,%s\n" % (i, line if i % 7 else '"two\nlines"'))
    assert path.stat().st_size > 220 << 20
    with open(path, "a") as f:
        f.writelines("%d,%s\n" % (i, line) for i in range(n, n + 10000))
    yield path, n + 10000
    path.unlink()


def test_rows_behind_a_sample(large):
    path, n = large
    assert path.stat().st_size > 256 << 20
    want = [n - 1, 0, 41234, 41234, 7, n - 2]
    ids = ["--columns", "id"]
    assert taken(path, want, *ids) == [[i] for i in want]
    p = subprocess.run([LAKEBED, "take", path, "3", str(n), *ids], capture_output=True, text=True, timeout=120)
    assert p.returncode == 2 and p.stdout == ""
    assert "row %d is past the end: there are %d rows, 0 to %d" % (n, n, n - 1) in p.stderr
    shuffled = tagged("shuffle", path, "--seed", 3, *ids)
    assert sorted(shuffled) == [[i] for i in range(n)]
    assert tagged("sample", path, "--seed", 3, "-n", 20, *ids) == shuffled[:20]
    raw = run("take", path, "14", str(n - 1), "0", "--to", "raw", "-q").decode()
    assert raw == '14,"two\nlines"\n%d,%s\n0,"two\nlines"\n' % (n - 1, "x" * 4000)
    splits = json.loads(run("splits", path, "--target", "100MB", "--json", "-q", "--check"))["splits"]
    assert sum(s["rows"] for s in splits) == n and splits[-1]["end_byte"] == path.stat().st_size
    assert all(s["bytes"] <= 100 * 10**6 for s in splits)


# ---------------------------------------------------------------- files that change

@pytest.fixture
def changing(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("id,v\n" + "".join("%d,b%d\n" % (i, i) for i in range(10, 20)))
    (tmp_path / "a.csv").write_text("id,v\n1,x\n")
    run("map", tmp_path, "--stride", "4", "-q")
    return path


def refused(verb, *args, status):
    p = subprocess.run([LAKEBED, verb, *map(os.fspath, args)], capture_output=True, text=True, timeout=60)
    assert p.returncode == status and p.stdout == "", p.stderr
    return p.stderr


def rewrite(path, text):
    """Other content under the size and time that were mapped."""
    st = path.stat()
    assert len(text) == st.st_size
    path.write_text(text)
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


def test_a_file_that_changed_is_read_as_it_is(changing):
    rewrite(changing, changing.read_text().replace("10,b0", "77,B0").replace("14,b14", "55,B99"))
    want = [[i, "b%d" % i] for i in range(10, 20)]
    want[4] = [55, "B99"]
    assert taken(changing, [4, 0, 4, 9]) == [want[4], want[0], want[4], want[9]]
    p = subprocess.run([LAKEBED, "take", changing, "4", "--to", "raw"], capture_output=True, text=True, timeout=60)
    assert p.stdout == "55,B99\n" and "changed since it was mapped" in p.stderr
    assert sorted(tagged("shuffle", changing, "--seed", 5)) == sorted(want)
    # In a lake rows are numbered already, so that it is said instead.
    assert "not those that were mapped" in refused("take", changing.parent, "5", status=3)
    assert taken(changing.parent, [0, 2]) == [[1, "x"], want[1]]


def test_a_file_that_lost_rows(changing):
    changing.write_text("id,v\n10,b10\n11,b11\n")
    assert taken(changing, [1, 0]) == [[11, "b11"], [10, "b10"]]
    assert "row 2 is past the end: there are 2 rows" in refused("take", changing, "0", "2", status=2)
    assert sorted(tagged("shuffle", changing, "--seed", 5)) == [[10, "b10"], [11, "b11"]]


def test_fewer_rows_under_the_same_size_and_time(changing):
    text = "id,v\n1,y\n2," + "z" * 100
    rewrite(changing, text[:changing.stat().st_size - 1] + "\n")
    assert [row[0] for row in taken(changing, [1, 0])] == [2, 1]
    assert "row 7 is past the end: there are 2 rows" in refused("take", changing, "7", status=2)


def test_splits_of_a_file_whose_map_lies(tmp_path):
    """Blocks in the middle of records are found by the check, and the split is named."""
    path = tmp_path / "a.csv"
    path.write_text("id,v\n" + "".join("%d,abcdefgh\n" % i for i in range(1000, 1100)))
    run("map", tmp_path, "--stride", "50", "-q")
    st = path.stat()
    text = path.read_text()
    # One record less and one longer, inside the first block: the second one begins elsewhere.
    text = text.replace("1010,abcdefgh\n", "").replace("1049,abcdefgh\n", "1049,abcdefgh1010,abcdefgh1\n"[:27] + "\n")
    rewrite(path, text[:st.st_size])
    err = refused("splits", path, "--target", "700", "--check", status=3)
    assert "a.csv" in err and ("split 0" in err or "not those that were mapped" in err)
