"""The lineage log under failing calls: whichever call of an appending command fails, falls short, or is the last one of the
process, every record is in the log whole or not at all, the earlier ones stay, and the next command goes on.

Run by pytest; LAKEBED names the command, beside which the shim of README.md lies.
"""
import errno
import json
import os
import pathlib
import shutil
import subprocess

import pytest

LAKEBED = pathlib.Path(os.environ.get("LAKEBED", pathlib.Path(__file__).resolve().parents[2] / "build" / "lakebed"))
SHIM = LAKEBED.resolve().parent / "tests" / "fault_shim.so"
KILLS = ["kill-before", "kill-after"]
DEEDS = {
    "open": ["EIO", "EMFILE", "EINTR", *KILLS],
    "read": ["EIO", "EINTR", "short"],
    "write": ["EIO", "ENOSPC", "ENOSPC+", "EINTR", "short", "short+", *KILLS],
    "sync": ["EIO", "EINTR", *KILLS],
    "lock": ["EIO", "EINTR", *KILLS],
    "close": ["EIO", *KILLS],
    "stat": ["EIO", "ENOMEM"],
    "truncate": ["EIO", *KILLS],
}
HARMLESS = {"EINTR", "short", "short+"}
OLD, NEW, LATER = ["old 0", "old 1"], ["new 0", "new 1"], ["later 0"]

pytestmark = [pytest.mark.skipif(not SHIM.exists(), reason="the shim is not built"),
              pytest.mark.skipif(bool(os.environ.get("LAKEBED_SANITIZE")), reason="a sanitizer has its own allocator")]


def append(log, labels, **env):
    sql = "; ".join("select 1 as `%s`" % label for label in labels)
    return subprocess.run([LAKEBED, "lineage", sql, "--log", log], env={**os.environ, **env}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)


def shimmed(log, which, at, deed, report):
    name, ever = deed.rstrip("+"), deed.endswith("+")
    do = ("errno:%d" % getattr(errno, name) if name.startswith("E") else name) + ("+" if ever else "")
    return append(log, NEW, LD_PRELOAD=str(SHIM), LAKEBED_FAULT_ROOT=str(log.parent), LAKEBED_FAULT_CLASS=which,
                  LAKEBED_FAULT_AT=str(at), LAKEBED_FAULT_DO=do, LAKEBED_FAULT_REPORT=str(report))


def labels(log):
    """Of all records, and how many lines were none."""
    if not log.exists() or not [n for n in os.listdir(log) if not n.startswith(".")]:
        return [], 0
    p = subprocess.run([LAKEBED, "lineage", "--log", log, "--to", "impala"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60)
    assert p.returncode in (0, 1), p.stderr
    return ([json.loads(line)["vertices"][0]["vertexId"] for line in p.stdout.splitlines()],
            p.stderr.count(b"no lineage record"))


def make_log(folder, fresh):
    log = folder / "watched" / "log"
    log.parent.mkdir()
    if not fresh:
        assert append(log, OLD).returncode == 0
    return log


def judge(log, fresh, p, deed):
    before = [] if fresh else OLD
    got, bad = labels(log)
    assert got[:len(before)] == before and got[len(before):] in ([], NEW[:1], NEW), (got, p.stderr)
    assert bad == 0
    if p.returncode == 0:
        assert got == before + NEW
    else:
        assert p.returncode in (-9, 4) and (p.returncode == -9) == (deed in KILLS), (p.returncode, p.stderr)
        assert p.returncode == -9 or p.stderr
    assert deed not in HARMLESS or p.returncode == 0, p.stderr
    assert append(log, LATER).returncode == 0
    assert labels(log) == (got + LATER, 0)


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "present"])
@pytest.mark.parametrize("which", sorted(DEEDS))
def test_every_call(which, fresh, tmp_path):
    report = tmp_path / "report"
    for deed in DEEDS[which]:
        for at in range(1, 200):
            folder = tmp_path / "run"
            folder.mkdir()
            log = make_log(folder, fresh)
            report.unlink(missing_ok=True)
            p = shimmed(log, which, at, deed, report)
            hit = p.returncode == -9 or (report.exists() and report.read_text().split()[1] not in ("0", "false", "no"))
            judge(log, fresh, p, deed)
            shutil.rmtree(folder)
            if not hit:
                break
        else:
            raise AssertionError("there is no end of calls")
