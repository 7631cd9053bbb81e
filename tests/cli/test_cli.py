"""The command: its sessions in cases/*.case, and what needs a terminal, a signal or another reader of JSON.

Run by pytest; LAKEBED names the command. A case is a session as a terminal would show it. It runs in an empty directory,
with plain pipes. What a line begins with says what it is:

    $    a line for bash; `lakebed` is the command under test
    |    a line that the command before must print on standard output
    !    a line on standard error
    =    its exit status, where that is not 0
    #    a remark

`[..]` in an expected line stands for anything. What is not expected must not be printed. `test_cli.py --update CASE…`
writes what is printed now into the cases: read the difference before you keep it.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("LAKEBED") and k not in ("COLUMNS", "NO_COLOR")}
    return dict(env, LC_ALL="C.UTF-8", TERM="xterm", **more)


def run(*args, cwd=None, **more):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, cwd=cwd, env=environment(**more), timeout=60)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


# ---------------------------------------------------------------- sessions

class Step:
    def __init__(self, command):
        self.command, self.out, self.err, self.status, self.remarks = command, [], [], 0, []


def parse(text):
    steps, remarks = [], []
    for number, line in enumerate(text.splitlines(), 1):
        mark, rest = line[:2].rstrip(), line[2:]
        if mark == "$":
            steps.append(Step(rest))
            steps[-1].remarks, remarks = remarks, []
        elif mark == "|":
            steps[-1].out.append(rest)
        elif mark == "!":
            steps[-1].err.append(rest)
        elif mark == "=":
            steps[-1].status = int(rest)
        elif mark == "#":
            remarks.append(line)
        elif line:
            raise ValueError("line %d of the case begins with none of $ | ! = #" % number)
    return steps


def play(step, folder):
    script = "lakebed() { \"$LAKEBED\" \"$@\"; }\n" + step.command
    p = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                       cwd=folder, env=dict(environment(), LAKEBED=LAKEBED), timeout=60)
    return p.stdout.decode().splitlines(), p.stderr.decode().splitlines(), p.returncode


def matches(want, got):
    if len(want) != len(got):
        return False
    return all(re.fullmatch(".*".join(map(re.escape, w.split("[..]"))), g) for w, g in zip(want, got))


def show(out, err, status):
    lines = ["| " + x if x else "|" for x in out] + ["! " + x if x else "!" for x in err]
    return lines + (["= %d" % status] if status else [])


CASES = sorted((HERE / "cases").glob("*.case"))


@pytest.mark.parametrize("case", CASES, ids=[c.stem for c in CASES])
def test_session(case, tmp_path):
    for step in parse(case.read_text(encoding="utf-8")):
        out, err, status = play(step, tmp_path)
        good = matches(step.out, out) and matches(step.err, err) and step.status == status
        assert good, "\n".join(["", "$ " + step.command, "expected:"] + show(step.out, step.err, step.status) +
                               ["printed:"] + show(out, err, status))


def update(case):
    """Write what is printed now, keeping every expected line that still matches (its `[..]` with it)."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for step in parse(case.read_text(encoding="utf-8")):
            out, err, status = play(step, folder)
            keep = matches(step.out, out), matches(step.err, err)
            lines += step.remarks + ["$ " + step.command]
            lines += show(step.out if keep[0] else out, step.err if keep[1] else err, status)
    case.write_text("\n".join(lines) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- tables, manual and completion agree

def complete(*words):
    status, out, err = run("__complete", *words)
    assert (status, err) == (0, "")
    return [line.split("\t")[0] for line in out.splitlines()]


VERBS = [v for v in complete("") if not v.startswith(":")] if os.path.exists(LAKEBED) else []


def manual_text():
    """All pages of the manual."""
    pages = sorted((SOURCE / "docs" / "man").glob("*.1"))
    return "".join(page.read_text(encoding="utf-8") for page in pages)


def test_verbs_are_those_of_this_version():
    assert VERBS == ["map", "doctor", "locate", "slice", "head", "tail", "take", "sample", "shuffle", "splits",
                     "count", "schema", "stats", "lineage", "lance", "formats", "help", "version"]


@pytest.mark.parametrize("verb", VERBS + ["a.csv"])
def test_manual_and_help_know_every_option(verb):
    manual = manual_text()
    told = set(re.findall(r"Fl (?:\w , Fl )?-([a-z-]+)", manual))
    status, text, err = run("--help") if verb == "a.csv" else run(verb, "--help")
    assert (status, err) == (0, "")
    options = complete(verb, "--")
    assert options
    for option in options:
        assert option[2:] in told, "%s is not in the manual" % option
        if verb != "a.csv":
            assert re.search(r"%s\b" % re.escape(option), text)
    if verb != "a.csv":
        assert ".Cm %s\n" % verb in manual


def test_manual_tells_no_option_that_is_not():
    manual = manual_text()
    told = set(re.findall(r"^\.It Fl (?:\w , Fl )?-([a-z-]+)", manual, re.M))
    real = {o[2:] for verb in VERBS + ["a.csv"] for o in complete(verb, "--")}
    assert told == real


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not there")
def test_manual_is_well_formed():
    pages = sorted((SOURCE / "docs" / "man").glob("*.1"))
    p = subprocess.run(["mandoc", "-Tlint", "-Wstyle", *pages], stdout=subprocess.PIPE, text=True)
    found = [line for line in p.stdout.splitlines() if "referenced manual not found: Xr lakebed" not in line]
    assert found == []    # our own pages need not be installed


@pytest.fixture
def data(tmp_path):
    """What the examples of help and manual speak of: data.csv, a.csv, b.csv, rows.txt, data/ with eu/2024.csv, and a
    dataset."""
    rows = "".join("%d,%d.5\n" % (i, i) for i in range(100))
    for name in ("data.csv", "a.csv", "b.csv", "data/one.csv", "data/eu/2024.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("id,price\n" + rows)
    for name in ("prices.csv", "today.csv"):
        (tmp_path / name).write_text("id,price\n" + 3 * rows)
    assert run("lance", "create", "prices.lance", "--from", "prices.csv", cwd=tmp_path)[0] == 0
    (tmp_path / "rows.txt").write_text("17\n3-9\n17\n")
    return tmp_path


@pytest.fixture
def scripts(data):
    """What the examples of lineage speak of besides."""
    (data / "tables.sql").write_text("create table t (a int, b int)")
    (data / "catalog.json").write_text('[{"db": "default", "name": "t", "columns": ["a", "b"]}]')
    (data / "daily.sql").write_text("create table mart.daily as select a, sum(b) as revenue from t group by a;\n"
                                    "create table mart.day as select max(price) as top from orders")
    for log in ("log", "lineage-log"):
        assert run("lineage", "-q", "-f", "daily.sql", "--log", log, cwd=data)[0] == 0


def examples():
    for verb in VERBS:
        text = run(verb, "--help")[1]
        for line in text.split("\nExamples:\n")[1].splitlines():
            yield line.strip()
    for line in (SOURCE / "docs" / "man" / "lakebed.1").read_text(encoding="utf-8").splitlines():
        if line.startswith("$ lakebed"):
            yield line[2:].replace("\\e", "\\")


@pytest.mark.parametrize("line", sorted(set(examples())) if VERBS else [])
def test_examples_run(line, data, scripts):
    """As they stand, on small data: the row numbers of a large directory are past the end here, which locate refuses."""
    assert run("map", "data", cwd=data)[0] == 0
    line = re.sub(r"(locate .*?)\b(1000000|4711)", r"\g<1>9", line)
    p = subprocess.run(["bash", "-c", "lakebed() { \"$LAKEBED\" \"$@\"; }\n" + line], cwd=data, stderr=subprocess.PIPE,
                       stdout=subprocess.PIPE, env=dict(environment(), LAKEBED=LAKEBED), timeout=60)
    recorded = "delimiter=;" in line    # the example's files have commas: recorded as unreadable at most
    assert p.returncode in ((0, 1) if recorded else (0,)), p.stderr.decode()


# ---------------------------------------------------------------- JSON

def report(*args, cwd):
    status, out, err = run(*args, "--json", cwd=cwd)
    assert (status, err) == (0, "")
    assert out.endswith("\n") and out.count("\n") == 1
    return json.loads(out)


def test_json_of_hard_names(tmp_path):
    """Whatever stands in a name comes back from JSON as it was."""
    names = ["a\"b", "back\\slash", "tab\there", "ünï", "\x1b[31m", "a\u2028b", "😀", " "]
    quoted = ['"%s"' % n.replace('"', '""') for n in names]
    (tmp_path / "a.tsv").write_text("|".join(quoted) + "\n" + "|".join("1" * len(names)) + "\n", encoding="utf-8")
    got = report("schema", "a.tsv", "--delimiter", "|", cwd=tmp_path)
    assert [c["name"] for c in got["columns"]] == names
    text = run("schema", "a.tsv", "--delimiter", "|", cwd=tmp_path)[1]
    assert "\x1b" not in text and "\\x1b[31m" in text and "a\\u2028b" in text and "tab\\there" in text


def test_json_reports(data):
    made = report("map", "data", "--stride", "7", cwd=data)
    assert (made["files"], made["rows"], made["failed"], made["stride"]) == (2, 200, 0, 7)
    assert made["map_bytes"] == (data / made["map"]).stat().st_size
    assert made["bytes"] == sum(p.stat().st_size for p in (data / "data").rglob("*.csv"))
    assert report("count", "data", "data.csv", cwd=data) == {
        "files": [{"path": "data", "rows": 200}, {"path": "data.csv", "rows": 100}], "rows": 300}
    # Counting does not look at values: neither in a file nor in a folder without a map.
    (data / "words.csv").write_text("id,price\nno number,1\n2,x\n")
    (data / "unmapped").mkdir()
    (data / "unmapped" / "words.csv").write_text("id,price\nno number,1\n2,x\n")
    for path in ("words.csv", "unmapped"):
        assert report("count", path, "--column", "id=int64", cwd=data)["rows"] == 2
    assert run("schema", "words.csv", "--column", "id=int64", cwd=data)[0] == 3
    schema = report("schema", "data", cwd=data)
    assert schema["rows"] == 200 and [c["name"] for c in schema["columns"]] == ["id", "price"]
    assert list(schema) == ["rows", "columns"] and list(schema["columns"][0]) == ["name", "type", "nullable"]
    explained = report("slice", "data", "--explain", "--offset", "95", "--limit", "10", cwd=data)
    assert explained["map"] == "used" and explained["rows"] == 10
    assert [(p["path"], p["first_row"], p["rows"]) for p in explained["parts"]] == [
        ("eu/2024.csv", 95, 5), ("one.csv", 0, 5)]
    stats = report("stats", "data", cwd=data)
    assert [(f["path"], f["rows"], f["map"]) for f in stats["files"]] == [
        ("eu/2024.csv", 100, "used"), ("one.csv", 100, "used")]
    assert [(c["name"], c["nulls"], c["min"], c["max"]) for c in stats["columns"]] == [
        ("id", 0, "0", "99"), ("price", 0, "0.5", "99.5")]


def test_locate_finds_the_bytes(data):
    """Every row's own bytes lie where locate says its block lies."""
    report("map", "data", "--stride", "7", cwd=data)
    rows = report("locate", "data", *map(str, range(0, 200, 13)), cwd=data)["rows"]
    for at in rows:
        raw = run("slice", "data", "--to", "raw", "--offset", str(at["row"]), "--limit", "1", cwd=data)[1]
        content = (data / "data" / at["path"]).read_text()
        block = content[at["block_first_byte"]:at["block_first_byte"] + at["block_bytes"]]
        assert block.splitlines()[at["row_in_block"]] == raw.rstrip("\n")
        assert content.splitlines()[at["block_first_line"] - 1 + at["row_in_block"]] == raw.rstrip("\n")
        if at["line"] is not None:
            assert content.splitlines()[at["line"] - 1] == raw.rstrip("\n")


# ---------------------------------------------------------------- terminals, pipes, signals

def on_terminal(*args, cwd, columns=80, **more):
    """Run on a terminal of its own; gives the status and what was shown."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    p = subprocess.Popen([LAKEBED, *args], stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=environment(**more))
    os.close(slave)
    shown, end = b"", time.time() + 60
    while time.time() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(master)
    return p.wait(timeout=10), shown.decode().replace("\r\n", "\n")


@pytest.fixture
def long_csv(tmp_path):
    (tmp_path / "long.csv").write_text("id\n" + "".join("%d\n" % i for i in range(5000)))
    return tmp_path


def test_terminal_stops_at_1000_rows(long_csv):
    status, shown = on_terminal("slice", "long.csv", cwd=long_csv, NO_COLOR="1")
    assert status == 0 and "\x1b[3" not in shown
    assert "stopped at 1,000 rows" in shown
    assert re.search(r"\b999\b", shown) and not re.search(r"\b1000\b", shown)


def test_terminal_gives_what_is_asked_for(long_csv):
    status, shown = on_terminal("slice", "long.csv", "--limit", "1200", cwd=long_csv, NO_COLOR="1")
    assert status == 0 and "stopped" not in shown and re.search(r"\b1199\b", shown)
    status, shown = on_terminal("slice", "long.csv", "--to", "csv", cwd=long_csv)
    assert status == 0 and shown.split() == ["id"] + [str(i) for i in range(5000)]


def test_terminal_is_spared_arrow(long_csv):
    status, shown = on_terminal("slice", "long.csv", "--to", "arrow", cwd=long_csv, NO_COLOR="1")
    assert status == 2 and "ARROW1" not in shown and "-o" in shown


def test_progress_goes_away(long_csv):
    status, shown = on_terminal("map", ".", cwd=long_csv, NO_COLOR="1")
    assert status == 0 and shown.rsplit("\x1b[K", 1)[-1].startswith("1 file, 5,000 rows")


def test_table_fits_the_terminal(tmp_path):
    names, values = ["column%d" % i for i in range(30)], ["x" * 20] * 30
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(values) + "\n")
    status, shown = on_terminal("slice", "wide.csv", cwd=tmp_path, columns=60, NO_COLOR="1")
    assert status == 0 and max(map(len, shown.splitlines())) <= 60


def test_colour_only_where_wanted(long_csv):
    assert "\x1b[" not in run("head", "long.csv", "--to", "table", cwd=long_csv)[1]
    assert "\x1b[" not in run("head", "long.csv", "--to", "table", "--color", "never", cwd=long_csv)[1]
    assert "\x1b[" in run("slice", "nope", "--color", "always", cwd=long_csv)[2]
    assert "\x1b[" in run("slice", "nope", "--color", "always", cwd=long_csv, NO_COLOR="1")[2]
    assert "\x1b[" not in run("slice", "nope", cwd=long_csv)[2]


def test_pipe_gets_all_rows(long_csv):
    status, out, err = run("slice", "long.csv", cwd=long_csv)
    assert (status, err) == (0, "") and len(out.splitlines()) == 5001


@pytest.mark.parametrize("args", [["slice", "long.csv"], ["slice", "long.csv", "--to", "raw"], ["stats", "d", "--json"]])
def test_closed_pipe_is_quiet(args, tmp_path):
    (tmp_path / "long.csv").write_text("id\n" + "".join("%d\n" % i for i in range(200000)))
    (tmp_path / "d").mkdir()
    for i in range(400):
        (tmp_path / "d" / ("f%d.csv" % i)).write_text("a\n1\n")
    p = subprocess.run(["bash", "-c", "\"$0\" \"$@\" | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}", LAKEBED] + args,
                       cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert (p.stdout, p.stderr) == (b"0\n", b"")


def test_interrupt_leaves_nothing_behind(tmp_path):
    """While a map is made of a directory that takes long: status 130, and the directory is as it was."""
    lake = tmp_path / "d"
    lake.mkdir()
    rows = "".join("%d,some text,%d.25,2024-01-01\n" % (i, i) for i in range(100000)) * 8
    (lake / "f0.csv").write_text(rows)
    for i in range(1, 16):
        os.link(lake / "f0.csv", lake / ("f%d.csv" % i))
    files = sorted(os.listdir(lake))
    p = subprocess.Popen([LAKEBED, "map", lake, "-j", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    time.sleep(0.15)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    if p.returncode == 0:
        pytest.skip("the map was made before the signal came")
    assert p.returncode == 130 and out == b""
    assert err.startswith(b"lakebed: ") and err.count(b"\n") <= 2
    assert sorted(set(os.listdir(lake)) - {".br_map.lock"}) == files


@pytest.mark.parametrize("signals", [[signal.SIGHUP], [signal.SIGTERM] * 2, [signal.SIGINT, signal.SIGTERM]])
def test_signals_leave_no_file_behind(tmp_path, signals):
    """A file that is being written goes, also where a signal comes to the process and to its group."""
    (tmp_path / "a.csv").write_text("a,b\n" + "".join("%d,some text\n" % i for i in range(400000)))
    p = subprocess.Popen([LAKEBED, "slice", "a.csv", "-o", "b.ndjson", "-j", "1"], stderr=subprocess.PIPE, cwd=tmp_path,
                         env=environment())
    while len(os.listdir(tmp_path)) == 1 and p.poll() is None:
        time.sleep(0.001)
    for number in signals:
        p.send_signal(number)
    _, err = p.communicate(timeout=60)
    if p.returncode == 0:
        pytest.skip("the file was written before the signal came")
    assert p.returncode in {128 + number for number in signals} and re.fullmatch(rb"lakebed: (a.csv: )?cancelled\n", err)
    assert os.listdir(tmp_path) == ["a.csv"]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--update"]:
        for name in sys.argv[2:] or CASES:
            update(pathlib.Path(name))
    else:
        sys.exit(pytest.main([__file__] + sys.argv[1:]))
