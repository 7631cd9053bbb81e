"""Let every call of a command fail in turn, and judge what is left on disk. See README.md beside this file."""
import argparse
import concurrent.futures
import csv
import errno
import io
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

MAP = ".br_map.bazan"
OLD = ".br_map.bazan.old"
LOCK = ".br_map.lock"
PAST = 1_600_000_000
SECONDS = 60

# What is done at each call of a class. A name alone is an error the call gives; `+` means from that call on.
KILLS = ["kill-before", "kill-after"]
DEEDS = {
    "open": ["EIO", "EMFILE", "EMFILE+", "EINTR", *KILLS],
    "read": ["EIO", "EIO+", "EINTR", "short", "short+"],
    "write": ["EIO", "ENOSPC", "ENOSPC+", "EINTR", "short", "short+", *KILLS],
    "sync": ["EIO", "EIO+", "EINTR", *KILLS],
    "rename": ["EIO", "ENOSPC", *KILLS],
    "link": ["EIO", "EPERM", *KILLS],
    "unlink": ["EIO", *KILLS],
    "lock": ["EIO", "EINTR", *KILLS],
    "close": ["EIO", "EINTR", *KILLS],
    "mmap": ["ENOMEM", "EIO"],
    "stat": ["EIO", "ENOMEM"],
    "readdir": ["EIO"],
    "truncate": ["EIO", "EINTR", *KILLS],
    "alloc": ["ENOMEM", "ENOMEM+"],
}
# After these nothing must be different: the call is made again, or goes on where it stopped.
HARMLESS = {"EINTR", "short", "short+"}


# ---------------------------------------------------------------- the lake

def rows_text(first, count, separator):
    """Rows that name themselves by a number, with quotes, empty fields and letters beyond ASCII among them."""
    lines = [separator.join(("id", "name", "weight", "day"))]
    for i in range(first, first + count):
        name = ['plain', '"a ""quoted"" one"', "", "Größe"][i % 4]
        lines.append(separator.join((str(i), name, f"{i}.5", f"2024-01-{i % 28 + 1:02d}")))
    return "\n".join(lines) + "\n"


class Lake:
    """A folder with a lake in it, and what its rows are."""

    def __init__(self, where):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-faults-", dir=where))
        self.root = self.base / "watched" / "lake"
        self.out = self.base / "watched" / "out"
        for folder in (self.root / "sub" / "deep", self.out):
            folder.mkdir(parents=True)
        self.rows = {}
        self.put("a.csv", 0, 150)
        self.put("b.tsv", 1000, 40, "\t")
        self.put("latin.csv", 2000, 30, encoding="latin-1")
        self.put("sub/c.csv", 3000, 60)
        self.put("sub/deep/d.psv", 4000, 20, "|")
        self.kept = {}

    def put(self, name, first, count, separator=",", encoding="utf-8"):
        path = self.root / name
        path.write_bytes(rows_text(first, count, separator).encode(encoding))
        os.utime(path, (PAST, PAST))
        self.rows[name] = list(range(first, first + count))

    def append(self, name, first, count):
        path = self.root / name
        text = path.read_bytes() + rows_text(first, count, ",").encode().split(b"\n", 1)[1]
        with open(path, "r+b") as file:
            file.write(text)
        os.utime(path, (PAST + 100, PAST + 100))
        self.rows[name] += range(first, first + count)

    def change(self):
        self.append("a.csv", 150, 30)
        self.put("sub/c.csv", 3500, 55)
        os.utime(self.root / "sub/c.csv", (PAST + 100, PAST + 100))

    def drift(self):
        """Every kind of change at once."""
        self.change()
        (self.root / "b.tsv").unlink()
        del self.rows["b.tsv"]
        self.put("new.csv", 5000, 25)
        (self.root / "sub/deep/d.psv").rename(self.root / "sub/moved.psv")
        self.rows["sub/moved.psv"] = self.rows.pop("sub/deep/d.psv")

    def ids(self, without=()):
        return [i for name in sorted(self.rows) if name not in without for i in self.rows[name]]

    def data(self):
        """Names of the files that are the user's, with all that would tell of a change."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            st = path.lstat()
            if path.is_file() and not path.name.startswith(".br_map."):
                found[str(path)] = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
        return found

    def ours(self):
        """The product's own files: name to bytes."""
        found = {}
        for folder in (self.root, self.root / "sub", self.root / "sub/deep", self.out):
            for path in folder.iterdir():
                if folder == self.out or path.name.startswith(".br_map."):
                    found[str(path)] = path.read_bytes()
        return found

    def keep(self):
        self.kept = self.ours()
        self.kept_data = self.data()

    def restore(self):
        for name in self.ours():
            if name not in self.kept:
                os.unlink(name)
        for name, content in self.kept.items():
            with open(name, "wb") as file:
                file.write(content)

    def age(self):
        """Let what a killed writer left be old enough for the next one to clear away."""
        for name in self.ours():
            if ".tmp." in name:
                os.utime(name, (PAST, PAST))

    def path(self, name):
        return str(self.root / name)

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)


# ---------------------------------------------------------------- running

class Wrong(Exception):
    """What is not as it must be."""


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Run:
    """One run of the command, under the shim or without it."""

    def __init__(self, tools, lake, args, which=None, at=0, deed=None):
        report = lake.base / "report"
        env = {k: v for k, v in os.environ.items() if not k.startswith("LAKEBED_FAULT")}
        env.update(LC_ALL="C.UTF-8", HOME=str(lake.base))
        if which is not None:
            report.unlink(missing_ok=True)
            env.update(LD_PRELOAD=tools.shim, LAKEBED_FAULT_ROOT=str(lake.base / "watched"), LAKEBED_FAULT_CLASS=which,
                       LAKEBED_FAULT_AT=str(at), LAKEBED_FAULT_REPORT=str(report))
            if lake.plain:
                env["LAKEBED_FAULT_PLAIN"] = "1"
            if deed is not None:
                env["LAKEBED_FAULT_DO"] = shim_deed(deed)
        try:
            done = subprocess.run([tools.lakebed, *args], env=env, cwd=lake.base, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired as late:
            raise Wrong(f"still runs after {SECONDS} s") from late
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.decode(errors="replace")
        self.killed = deed is not None and deed.startswith("kill") and self.status == -9
        self.count, self.hit, self.open_fds = 0, self.killed, 0
        if which is not None and report.exists():
            self.count, hit, self.open_fds = map(int, report.read_text().split())
            self.hit = bool(hit)


def shim_deed(deed):
    name, more = deed.rstrip("+"), "+" if deed.endswith("+") else ""
    return f"errno:{getattr(errno, name)}{more}" if name.startswith("E") else deed


def ids_of(out):
    """The numbers of the rows in a printed table."""
    return [int(row[0]) for row in list(csv.reader(io.StringIO(out.decode())))[1:]]


# ---------------------------------------------------------------- what is run, and what it must leave

class Scenario:
    """One command; prepare() makes the lake it runs on, judge() says what is wrong after a run."""

    def __init__(self, name, args, judge, prepare=lambda tools, lake: None, plain=False):
        self.name, self.args, self.judge, self.prepare, self.plain = name, args, judge, prepare, plain

    def lake(self, tools, where):
        lake = Lake(where)
        lake.plain = self.plain
        self.prepare(tools, lake)
        lake.keep()
        good = Run(tools, lake, self.args(lake))
        need(good.status == 0, f"{self.name} does not even run alone: {good.status} {good.err}")
        lake.good = good
        lake.new = lake.ours()
        self.judge(tools, lake, good, None)
        lake.restore()
        return lake


def make_map(tools, lake, *more):
    run = Run(tools, lake, ["map", "-q", "-j", "1", "--stride", "16", *SET, *more, str(lake.root)])
    need(run.status == 0, f"map: {run.status} {run.err}")


SET = ["--set", "latin.csv:encoding=ISO-8859-1"]


def judge_any(lake, run, deed):
    need(run.killed or run.status in (0, 1, 3, 4), f"status {run.status}")
    told = "lakebed: " in run.err or (run.status == 1 and run.out)    # a finding is the report itself
    need(run.killed or run.status == 0 or told, f"status {run.status} and no message")
    need(deed not in HARMLESS or run.status == 0, f"status {run.status}, though nothing was lost: {run.err}")
    need(lake.data() == lake.kept_data, "the user's files changed")


def judge_names(lake, run, allowed):
    extra = sorted(set(map(os.path.basename, lake.ours())) - set(allowed))
    need(run.killed or not extra, f"left behind: {extra}")
    odd = [name for name in extra if not re.search(r"\.tmp\.[0-9]+\.[0-9a-f]+$", name)]
    need(not odd, f"left behind under a name that no writer clears away: {odd}")


def judge_map_serves(tools, lake, without=()):
    """A map that is there has to be whole, and fit the data."""
    run = Run(tools, lake, ["slice", "--explain", "--json", str(lake.root)])
    # A file that could not be read when it was compared may have been surveyed all the same.
    done = run.status
    want = lake.ids(without if done == 1 else ())
    need(done in (0, 1 if without else 0) and json.loads(run.out)["map"] in ("used", "error when mapped"), f"the new map is not used: {run.out} {run.err}")
    run = Run(tools, lake, ["slice", "--to", "csv", str(lake.root)])
    need(run.status == done and ids_of(run.out) == want, f"the new map gives other rows: {run.status} {run.err}")
    if want:
        run = Run(tools, lake, ["locate", str(lake.root), str(len(want) - 1)])
        need(run.status == 0, f"the last row is not in the new map: {run.err}")
    if not without:
        run = Run(tools, lake, ["doctor", "--verify", str(lake.root)])
        need(run.status == 0, f"the doctor is not content with the new map: {run.status} {run.out} {run.err}")


def failed_files(lake, run):
    """Files that a run said it could not read."""
    text = run.err + run.out.decode(errors="replace")
    return [name for name in lake.rows
            if re.search(rf"(^|[/ ]){re.escape(name)}: |^  {re.escape(name)}  .*\n    cannot be read: ", text, re.M)]


def judge_writer(tools, lake, run, deed, keeps, found=None):
    """`keeps`: the former map has to stand beside a new one. `found`: what the run met, where that is not the lake as it was made."""
    judge_any(lake, run, deed)
    judge_names(lake, run, {MAP, OLD, LOCK})
    now, was = lake.ours(), lake.kept if found is None else found
    new = now.get(lake.path(MAP)) != was.get(lake.path(MAP))
    need(new or run.status != 0, "status 0, but no new map")
    if new:
        without = failed_files(lake, run) if run.status == 1 else ()
        need(run.status != 1 or without, f"status 1, but no file is named: {run.err}")
        judge_map_serves(tools, lake, without)
    if OLD in map(os.path.basename, now):
        allowed = {was.get(lake.path(OLD))} | ({was.get(lake.path(MAP))} if keeps else set())
        need(now[lake.path(OLD)] in allowed, f"{OLD} is none of the former maps")
    need(not (new and keeps) or now.get(lake.path(OLD)) == was[lake.path(MAP)], f"{OLD} is not the map of before")


def judge_map(tools, lake, run, deed):
    judge_writer(tools, lake, run, deed, lake.path(MAP) in lake.kept)


def judge_heal(tools, lake, run, deed):
    judge_writer(tools, lake, run, deed, True)


def judge_undo(tools, lake, run, deed):
    judge_any(lake, run, deed)
    judge_names(lake, run, {MAP, OLD, LOCK})
    a, b = lake.kept[lake.path(MAP)], lake.kept[lake.path(OLD)]
    now = lake.ours()
    pair = now.get(lake.path(MAP)), now.get(lake.path(OLD))
    need(pair in ((a, b), (b, a)), "the two maps are neither as they were nor swapped")
    need(run.status != 0 or pair == (b, a), "status 0, but not swapped")
    # Swapped, but perhaps not to last, or without memory for the words that say so.
    late = "sync" in run.err or "out of memory" in run.err
    need(run.status == 0 or run.killed or pair == (a, b) or late, "failed, but swapped")


def judge_undo_plainly(tools, lake, run, deed):
    """Without a call that exchanges names, a kill may leave the former map without its name, never the lake without a map."""
    if run.killed:
        judge_any(lake, run, deed)
        need(lake.ours().get(lake.path(MAP)) in (lake.kept[lake.path(MAP)], lake.kept[lake.path(OLD)]), "no whole map")
    else:
        judge_undo(tools, lake, run, deed)


def judge_reader(tools, lake, run, deed):
    del tools
    judge_any(lake, run, deed)
    need(lake.ours() == lake.kept, "a reader wrote")
    if run.status == 0:
        need(run.out == lake.good.out, "status 0, but other rows")
    elif run.status == 1:
        need(failed_files(lake, run), f"status 1, but no file is named: {run.err}")
    else:
        need(lake.good.out.startswith(run.out), "wrong rows before the failure")


def judge_rows(tools, lake, run, deed):
    judge_reader(tools, lake, run, deed)
    without = failed_files(lake, run) if run.status == 1 else ()
    need(run.status not in (0, 1) or ids_of(run.out) == lake.ids(without), "the rows are not those of the files")


def judge_file(tools, lake, run, deed):
    del tools
    judge_any(lake, run, deed)
    judge_names(lake, run, {MAP, LOCK, "rows.csv"})
    target = str(lake.out / "rows.csv")
    now = lake.ours().get(target)
    if run.status == 1:
        need(ids_of(now) == lake.ids(failed_files(lake, run)), "status 1, and rows of other files than the named are missing")
        return
    need(now in (lake.kept.get(target), lake.new[target]), "the file is neither old nor new")
    need(run.status != 0 or now == lake.new[target], "status 0, but the file is old")
    need(ids_of(lake.new[target]) == lake.ids(), "the rows are not those of the files")


def mapped(tools, lake):
    make_map(tools, lake)


def mapped_blake3(tools, lake):
    make_map(tools, lake, "--fingerprint", "blake3")


def drifted(tools, lake):
    make_map(tools, lake)
    lake.drift()


def changed(tools, lake):
    """The map knows every file, but two as they are no more."""
    make_map(tools, lake)
    lake.change()


def drifted_blake3(tools, lake):
    make_map(tools, lake, "--fingerprint", "blake3")
    lake.drift()


def healed_once(tools, lake):
    """A former map stands there already when the heal begins."""
    make_map(tools, lake)
    lake.put("first.csv", 7000, 5)
    run = Run(tools, lake, ["doctor", "--heal", str(lake.root)])
    need(run.status == 0, f"doctor: {run.status} {run.err}")
    lake.drift()


def healed(tools, lake):
    drifted(tools, lake)
    run = Run(tools, lake, ["doctor", "--heal", str(lake.root)])
    need(run.status == 0, f"doctor: {run.status} {run.err}")


def old_output(tools, lake):
    make_map(tools, lake)
    (lake.out / "rows.csv").write_text("what stood there before\n")


def command(*words, stride=False):
    options = ["--stride", "16", *SET] if stride else []
    return lambda lake: [words[0], *words[1:], *options, "-j", "1", str(lake.root)]


def take(lake, *options):
    return ["take", "-j", "1", *options, str(lake.root), "190", "3", "3", "20-60", "7"]


def output(lake):
    return ["slice", "-j", "1", "-o", str(lake.out / "rows.csv"), "--to", "csv", str(lake.root)]


SCENARIOS = [
    Scenario("map-first", command("map", stride=True), judge_map),
    Scenario("map-again", command("map", stride=True), judge_map, mapped),
    Scenario("map-blake3", command("map", "--fingerprint", "blake3", stride=True), judge_map),
    Scenario("map-abort", command("map", "--on-error", "abort", stride=True), judge_map, mapped),
    Scenario("heal", command("doctor", "--heal"), judge_heal, drifted),
    Scenario("heal-again", command("doctor", "--heal"), judge_heal, healed_once),
    Scenario("heal-blake3", command("doctor", "--heal"), judge_heal, drifted_blake3),
    Scenario("undo", command("doctor", "--undo"), judge_undo, healed),
    Scenario("undo-plainly", command("doctor", "--undo"), judge_undo_plainly, healed, plain=True),
    Scenario("slice-mapped", command("slice", "--to", "csv"), judge_rows, mapped),
    Scenario("slice-changed", command("slice", "--to", "csv"), judge_rows, changed),
    Scenario("slice-unmapped", command("slice", "--to", "csv", *("--encoding", "ISO-8859-1")), judge_rows),
    Scenario("take", take, judge_reader, mapped),
    Scenario("take-raw", lambda lake: take(lake, "--to", "raw"), judge_reader, mapped),
    Scenario("shuffle", command("shuffle", "--seed", "3"), judge_reader, mapped),
    Scenario("splits", command("splits", "--target", "500", "--check"), judge_reader, mapped),
    Scenario("schema", command("schema", "--json"), judge_reader, mapped),
    Scenario("count", command("count"), judge_reader, mapped),
    Scenario("output-new", output, judge_file, mapped),
    Scenario("output-over", output, judge_file, old_output),
]


# ---------------------------------------------------------------- all points

def count_points(tools, scenario, lake):
    points = {}
    for which in DEEDS:
        lake.restore()
        points[which] = Run(tools, lake, scenario.args(lake), which, 0).count
    lake.restore()
    return points


def chosen(points, most):
    """All points, or `most` of them, evenly spread, with the first and the last."""
    if most == 0 or points <= most:
        return range(1, points + 1)
    return sorted({1 + (points - 1) * i // (most - 1) for i in range(most)})


def tasks_of(points, tools):
    for which, deeds in DEEDS.items():
        most = 0 if tools.all else tools.sample * (4 if which == "alloc" else 1)
        for deed in deeds:
            for at in chosen(points[which], most):
                yield which, at, deed


def one_point(tools, scenario, lake, which, at, deed):
    lake.restore()
    run = Run(tools, lake, scenario.args(lake), which, at, deed)
    scenario.judge(tools, lake, run, deed)
    need(run.hit, "the call was not reached")
    need(which == "alloc" or run.open_fds == 0, f"{run.open_fds} descriptors stay open")
    if run.killed:
        after_kill(tools, scenario, lake)


def after_kill(tools, scenario, lake):
    """The next run does its work as if nothing had been, and clears away what was left."""
    if scenario.judge is judge_undo_plainly:
        lake.age()
        make_map(tools, lake)
        judge_names(lake, Run(tools, lake, ["count", str(lake.root)]), {MAP, OLD, LOCK})
        return
    was_swapped = scenario.judge is judge_undo and lake.ours()[lake.path(MAP)] != lake.kept[lake.path(MAP)]
    lake.age()
    found = lake.ours()
    run = Run(tools, lake, scenario.args(lake))
    need(run.status == 0, f"after a kill: status {run.status}: {run.err}")
    if was_swapped:
        need(lake.ours() == lake.kept, "after a kill: not swapped back")
    elif scenario.judge is judge_map:
        judge_writer(tools, lake, run, None, lake.path(MAP) in found, found)
    elif scenario.judge in (judge_file, judge_undo):
        scenario.judge(tools, lake, run, None)
    else:
        judge_names(lake, run, {MAP, OLD, LOCK})
        if scenario.judge is judge_heal:
            judge_map_serves(tools, lake)


def run_scenario(tools, scenario, where, threads):
    """Returns the points and what was found wrong."""
    lakes = queue.SimpleQueue()
    made = [scenario.lake(tools, where) for _ in range(threads)]
    for lake in made:
        lakes.put(lake)
    points = count_points(tools, scenario, made[0])
    wrong = []

    def work(task):
        lake = lakes.get()
        try:
            one_point(tools, scenario, lake, *task)
        except Wrong as why:
            wrong.append((task, str(why)))
        finally:
            lakes.put(lake)

    tasks = list(tasks_of(points, tools))
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, task) for task in tasks]:
            future.result()
    for lake in made:
        lake.close()
    return points, len(tasks), sorted(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lakebed", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--all", action="store_true", help="every point, not a sample")
    parser.add_argument("--sample", type=int, default=3, help="points of a class where not all are tried")
    parser.add_argument("-j", dest="threads", type=int, default=1)
    parser.add_argument("scenario", nargs="*", help="which (default: all): " + " ".join(s.name for s in SCENARIOS))
    tools = parser.parse_args()
    tools.lakebed, tools.shim = map(os.path.abspath, (tools.lakebed, tools.shim))
    bad = 0
    with tempfile.TemporaryDirectory(prefix="lakebed-faults-") as where:
        for scenario in SCENARIOS:
            if tools.scenario and scenario.name not in tools.scenario:
                continue
            began = time.monotonic()
            points, runs, wrong = run_scenario(tools, scenario, where, tools.threads)
            shown = " ".join(f"{which} {n}" for which, n in points.items() if n)
            print(f"{scenario.name}: {sum(points.values())} points ({shown}), {runs} runs, "
                  f"{len(wrong)} wrong, {time.monotonic() - began:.1f} s", flush=True)
            for (which, at, deed), why in wrong:
                print(f"  {which} {at} {deed}: {why.strip()}", flush=True)
            bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
