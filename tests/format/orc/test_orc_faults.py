"""Reading an ORC file under failing calls: whichever allocation or read is refused, the command says so or prints the same rows, and
never dies of it. The shim is that of tests/faults/README.md; LAKEBED_FAULTS_ALL tries every point."""
import errno
import os
import pathlib
import subprocess

import pytest

LAKEBED = pathlib.Path(os.environ["LAKEBED"])
SHIM = LAKEBED.resolve().parent / "tests" / "fault_shim.so"
CORPUS = pathlib.Path(os.environ["LAKEBED_SOURCE"]) / "fuzz" / "corpus" / "orc"
STEP = 1 if os.environ.get("LAKEBED_FAULTS_ALL") else 13

pytestmark = [pytest.mark.skipif(not SHIM.exists(), reason="the shim is not built"),
              pytest.mark.skipif(bool(os.environ.get("LAKEBED_SANITIZE")), reason="a sanitizer has its own allocator")]

COMMANDS = {"slice": ["slice", "--to", "canonical"], "stats": ["stats", "--json"],
            "take": ["take", "--to", "canonical", "-j", "1", "ROWS"]}


def run(folder, verb, **env):
    words = COMMANDS[verb]
    path = str(folder / "x.orc")
    command = [LAKEBED, *words[:-1], path, "7", "3", "20"] if words[-1] == "ROWS" else [LAKEBED, *words, path]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, timeout=60)


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("sample", ["all_none", "all_zstd", "times"])
@pytest.mark.parametrize("which,deed", [("alloc", errno.ENOMEM), ("read", errno.EIO), ("open", errno.EMFILE)])
def test_refused(tmp_path, verb, sample, which, deed):
    folder, report = tmp_path / "watched", tmp_path / "report"
    folder.mkdir()
    (folder / "x.orc").write_bytes((CORPUS / sample).read_bytes())
    right = run(folder, verb)
    assert right.returncode == 0, right.stderr
    at, came = 1, True
    while came:
        done = run(folder, verb, LD_PRELOAD=str(SHIM), LAKEBED_FAULT_ROOT=str(folder), LAKEBED_FAULT_CLASS=which,
                   LAKEBED_FAULT_AT=str(at), LAKEBED_FAULT_DO=f"errno:{deed}", LAKEBED_FAULT_REPORT=str(report))
        came = report.exists() and report.read_text().split()[1] == "1"
        assert done.returncode in (0, 3, 4), (at, done)
        if done.returncode == 0:
            assert done.stdout == right.stdout, at
        else:
            assert came and done.stderr.startswith(b"lakebed: "), (at, done)
        at += STEP if which == "alloc" else 1
    assert at > 2
