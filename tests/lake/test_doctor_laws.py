"""The law of healing: after random edits a healed map is, field by field, the map that would be built anew, but for the times
at which files were looked at.

Run by pytest; LAKEBED names the command.
"""
import json
import os
import pathlib
import random
import subprocess

import pyarrow as pa
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
MAP = ".br_map.bazan"
TIMES = ("inspected_ns", "verified_ns")
DELIMITERS = {"csv": ",", "tsv": "\t", "psv": "|", "txt": ";"}
WORDS = ["", "a", "Zoë", "two\nlines", 'say "so"', "x,y;z|t", "0", "-5", "1.5", "true", "2024-02-29", "12:30:00", "日本", "9" * 20]


def run(*args, status=(0,)):
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    assert p.returncode in status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout


def load(lake):
    """Metadata and rows of the map without what may differ."""
    with pa.ipc.open_file(lake / MAP) as f:
        table = f.read_all()
    meta = {k.decode(): v for k, v in table.schema.metadata.items() if k != b"bazan.created_ns"}
    rows = table.to_pylist()
    for row in rows:
        for name in TIMES:
            row.pop(name)
    return meta, table.schema.remove_metadata(), rows


class Edits:
    """A lake of delimited files and what may happen to it; says of each path what a doctor has to find."""

    def __init__(self, root, seed):
        self.random, self.root, self.count = random.Random(seed), root, 0
        self.expected = {}
        for _ in range(self.random.randint(3, 8)):
            self.add()
        self.expected.clear()

    def files(self):
        return sorted(p for p in self.root.rglob("*.*") if p.suffix[1:] in DELIMITERS)

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def quoted(self, text, delimiter):
        hard = any(c in text for c in '"\n\r' + delimiter) or self.random.random() < 0.1
        return '"%s"' % text.replace('"', '""') if hard else text

    def records(self, path, n):
        delimiter = DELIMITERS[path.suffix[1:]]
        kinds = [self.random.choice(["int", "float", "word", "small"]) for _ in range(2)]
        make = {"int": lambda: str(self.random.randint(-10**12, 10**12)), "float": lambda: repr(self.random.uniform(-9, 9)),
                "word": lambda: self.random.choice(WORDS), "small": lambda: str(self.random.randint(0, 9))}
        return "".join("%d%s%s\n" % (self.random.randint(0, 999), delimiter,
                                     delimiter.join(self.quoted(make[k](), delimiter) for k in kinds)) for _ in range(n))

    def whole(self, path):
        delimiter = DELIMITERS[path.suffix[1:]]
        n = self.random.choice([0, 1, 3, 50, 400])
        return delimiter.join(["id", "x", "y%d" % self.random.randint(0, 2)]) + "\n" + self.records(path, n)

    def add(self):
        self.count += 1
        path = self.root / self.random.choice(["", "s/", "s/t u/", "é/"]) / ("f%03d.%s" % (self.count, self.random.choice(list(DELIMITERS))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.whole(path), encoding="utf-8")
        self.expected[self.name(path)] = "unindexed"

    def pick(self):
        """A file that nothing has happened to since it was mapped."""
        left = [p for p in self.files() if self.name(p) not in self.expected]
        return self.random.choice(left) if left else None

    def step(self):
        what = self.random.choice(["append", "append", "half", "rewrite", "remove", "add", "rename", "touch", "cut", "rot"])
        path = self.pick()
        if what == "add" or path is None:
            self.add()
            return
        text = path.read_bytes()
        other = bytes([65 + (text[0] + 1) % 26])    # in place of the first byte
        if what == "append":
            with open(path, "a", encoding="utf-8") as f:
                f.write(self.records(path, self.random.choice([1, 2, 60, 500])))
            kind = "appended"
        elif what == "half":
            with open(path, "a", encoding="utf-8") as f:
                f.write(self.records(path, 1).rstrip("\n"))
            kind = "appended"
        elif what == "rewrite":
            path.write_bytes(other + text[1:])
            os.utime(path, ns=(0, self.random.randint(1, 10**18)))
            kind = "rewritten"
        elif what == "remove":
            path.unlink()
            kind = "missing"
        elif what == "rename":
            self.count += 1
            new = path.with_name("r%03d%s" % (self.count, path.suffix))
            path.rename(new)
            self.expected[self.name(new)] = "renamed"
            kind = "missing"
        elif what == "touch":
            os.utime(path, ns=(0, self.random.randint(1, 10**18)))
            kind = "touched"
        elif what == "cut":
            lines = text.split(b"\n")
            os.truncate(path, len(lines[0]) + 1)
            kind = "truncated" if len(lines) > 2 else "touched"
        else:
            st = path.stat()
            path.write_bytes(other + text[1:])
            os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
            kind = "damaged"
        self.expected[self.name(path)] = kind


OPTIONS = [[], ["--stride", "3"], ["--stride", "64", "--stats", "x"], ["--stride", "10", "--fingerprint", "blake3"],
           ["--stats", "none", "--interop", "full"], ["--stride", "7", "--stats", "block", "--exclude", "é/*"],
           ["--stride", "5", "--null", "a", "--ragged", "null"], ["--all-text", "--types", "text", "--stride", "16"]]


@pytest.mark.parametrize("seed", range(int(os.environ.get("LAKEBED_DOCTOR_SEEDS", "32"))))
def test_a_healed_map_is_a_fresh_map(tmp_path, seed):
    options = OPTIONS[seed % len(OPTIONS)]
    edits = Edits(tmp_path, seed)
    run("map", "-q", tmp_path, *options, status=(0, 1))
    for turn in range(4):
        edits.expected.clear()
        for _ in range(edits.random.randint(1, 6)):
            edits.step()
        report = json.loads(run("doctor", "--json", tmp_path, "--heal", "-j", str(1 + turn % 2), status=(0, 1)))
        check_report(report, edits, "--exclude" in options)
        healed = load(tmp_path)
        run("map", "-q", tmp_path, *options, status=(0, 1))
        fresh = load(tmp_path)
        assert healed[0] == fresh[0]
        assert healed[1] == fresh[1]
        assert [r["rel_path"] for r in healed[2]] == [r["rel_path"] for r in fresh[2]]
        for a, b in zip(healed[2], fresh[2]):
            for name in a:
                assert a[name] == b[name], (a["rel_path"], name, edits.expected.get(a["rel_path"]))


def check_report(report, edits, excluded):
    """A file whose old entry has no digests (it could not be read, or was empty of all but a header) is told less exactly."""
    got = {f["path"]: f["drift"] for f in report["findings"] if f["drift"] != "racy"}
    former = {f["was"]: "missing" for f in report["findings"] if f["drift"] == "renamed"}
    assert not set(former) & set(got)    # a file that was renamed has one finding
    got.update(former)
    want = {p: k for p, k in edits.expected.items() if not (excluded and p.startswith("é/"))}
    assert set(got) == set(want)
    for path, kind in want.items():
        if kind in ("unindexed", "renamed", "missing"):
            # Of equal contents, any may be the one that was renamed.
            assert got[path] in (kind, "unindexed", "renamed") if kind != "missing" else got[path] == kind, (path, got[path], kind)
        else:
            assert got[path] in (kind, "modified"), (path, got[path], kind)
