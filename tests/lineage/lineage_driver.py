"""Runs `lakebed lineage` over scripts and reads its records; used by the tests beside it."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
CONFORMANCE = os.environ.get("LAKEBED_CONFORMANCE", str(SOURCE.parent / "shared" / "conformance"))
SUITE = os.path.join(CONFORMANCE, "lineage")


def suite():
    """The checked cases of the conformance suite; none where it is not there."""
    path = os.path.join(SUITE, "cases.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [case for case in map(json.loads, file) if case["check"] != "setup"]


def suite_catalog():
    with open(os.path.join(SUITE, "catalog.json"), encoding="utf-8") as file:
        return json.load(file)


def run(script, catalog=None, db="default", options=(), status=0):
    """Records of a script, by the number of their statement from 0; and what was said on standard error."""
    command = [LAKEBED, "lineage", "-", "--to", "impala", "--default-db", db, "--newlines", "keep", "--user", "tester",
               "--query-id", "0:0", *options]
    with tempfile.TemporaryDirectory() as folder:
        if catalog is not None:
            path = os.path.join(folder, "catalog.json" if not isinstance(catalog, str) else "catalog.sql")
            with open(path, "w", encoding="utf-8") as file:
                file.write(catalog if isinstance(catalog, str) else json.dumps(catalog))
            command += ["--catalog", path]
        done = subprocess.run(command, input=script.encode("utf-8"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=300, check=False)
    said = done.stderr.decode("utf-8", "replace")
    assert done.returncode == status, "exit status %d\n%s" % (done.returncode, said)
    records = {}
    for text in done.stdout.decode("utf-8").splitlines():
        record = json.loads(text)
        records[int(record["queryId"].split(":")[1], 16)] = record
    return records, said


def run_all(statements, catalog=None, db="default", options=(), status=0):
    """The record of each statement, or None."""
    records, _ = run(";\n".join(statements), catalog, db, options, status)
    return [records.get(i) for i in range(len(statements))]


def shape(record):
    """Edges in order, with labels in place of ids: what does not hang on how labels sort."""
    if record is None:
        return None
    label = {v["id"]: v["vertexId"] for v in record["vertices"]}
    return [(e["edgeType"], sorted(label[i] for i in e["targets"]), sorted(label[i] for i in e["sources"]))
            for e in record["edges"]]


TOKEN = re.compile(r"""(?P<blank>\s+)|(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
                   |(?P<quoted>`[^`]*`)|(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<word>\w+)|(?P<sign>.)""", re.X | re.S)


def tokens(sql):
    return [(m.lastgroup, m.group()) for m in TOKEN.finditer(sql)]
