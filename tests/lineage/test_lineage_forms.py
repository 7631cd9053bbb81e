"""Lineage records between forms: Lakebed's against Python's json and Apache Thrift's own library, both ways.

Run by pytest; LAKEBED names the command. `lineage --log FILE --to FORM` reads records and writes them anew.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lineage_peer as peer

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
THRIFT_FORMS = ["thrift", "thrift-compact"]


def convert(path, form, status=0):
    p = subprocess.run([LAKEBED, "lineage", "--log", str(path), "--to", form], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    assert p.returncode == status, p.stderr.decode()
    return p.stdout


def records():
    """Ours, and the expected graphs of the conformance data where they are."""
    out = list(peer.RECORDS)
    folder = os.environ.get("LAKEBED_CONFORMANCE")
    if folder and os.path.exists(os.path.join(folder, "lineage", "cases.jsonl")):
        with open(os.path.join(folder, "lineage", "cases.jsonl"), encoding="utf-8") as file:
            for i, case in enumerate(map(json.loads, file)):
                expected = case.get("expected")
                if not expected:
                    continue
                for vertex in expected["vertices"]:
                    if "metadata" in vertex:
                        vertex["metadata"]["tableCreateTime"] = 1600000000 + i
                record = {"queryText": expected["queryText"], "operationType": expected["operationType"],
                          "queryId": "00000000000000aa:%016x" % i, "hash": expected["hash"], "user": "impala",
                          "timestamp": 1700000000, "endTime": 1700000001, "edges": expected["edges"],
                          "vertices": expected["vertices"]}
                if "tableLocation" in expected:
                    record["tableLocation"] = expected["tableLocation"]
                out.append(record)
    return out


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "log"
    path.write_text("".join(map(peer.line, records())), encoding="utf-8")
    return path


def test_json_lines_come_back_byte_for_byte(log):
    assert convert(log, "impala") == log.read_bytes()


@pytest.mark.parametrize("form", THRIFT_FORMS)
def test_thrift_is_what_the_official_library_writes(log, form):
    pytest.importorskip("thrift")
    assert convert(log, form) == peer.thrift_bytes(form, records())


@pytest.mark.parametrize("form", THRIFT_FORMS)
def test_the_official_library_reads_ours(log, form):
    pytest.importorskip("thrift")
    want = records()
    assert peer.thrift_records(form, convert(log, form), len(want)) == want


@pytest.mark.parametrize("form", THRIFT_FORMS)
def test_we_read_what_the_official_library_writes(log, form, tmp_path):
    pytest.importorskip("thrift")
    (tmp_path / "records").write_bytes(peer.thrift_bytes(form, records()))
    assert convert(tmp_path / "records", "impala") == log.read_bytes()


@pytest.mark.parametrize("form", THRIFT_FORMS)
def test_an_older_struct_without_operation_type(form, tmp_path):
    pytest.importorskip("thrift")
    old = {k: v for k, v in peer.RECORDS[0].items() if k not in ("operationType", "endTime")}
    (tmp_path / "records").write_bytes(peer.thrift_bytes(form, [old]))
    assert convert(tmp_path / "records", "impala").decode() == peer.line(old)


@pytest.mark.parametrize("form", THRIFT_FORMS)
def test_unknown_fields_are_stepped_over(form, tmp_path):
    pytest.importorskip("thrift")
    from thrift.Thrift import TType
    from thrift.transport import TTransport
    graph = peer.to_thrift(peer.RECORDS[0])
    spec = graph.thrift_spec + ((11, TType.MAP, "extra", (TType.STRING, "UTF8", TType.LIST, (TType.BOOL, None, False),
                                                          False), None),)
    graph.extra = {"k": [True, False], "": []}
    out = TTransport.TMemoryBuffer()
    peer.protocol(form, out).writeStruct(graph, spec)
    (tmp_path / "records").write_bytes(out.getvalue())
    assert convert(tmp_path / "records", "impala").decode() == peer.line(peer.RECORDS[0])


def test_keys_in_any_order_and_unknown_ones(tmp_path):
    def shuffle(value):
        if isinstance(value, dict):
            return {**{k: shuffle(v) for k, v in reversed(value.items())}, "later": {"a": [1, {"b": None}, -1.5e3]}}
        return [shuffle(v) for v in value] if isinstance(value, list) else value
    lines = [json.dumps(shuffle(r), ensure_ascii=i % 2 == 0, indent=None) for i, r in enumerate(records())]
    (tmp_path / "records").write_text("\n\n".join(lines) + "\n  \n", encoding="utf-8")
    assert convert(tmp_path / "records", "impala").decode() == "".join(map(peer.line, records()))


def test_records_of_older_versions(tmp_path):
    """No operation and table types, labels with the view's name, vertices of tables with the time."""
    old = {"queryText": "create view db_1.view_1 as select count, id from db_1.table_1", "hash": "64" * 16,
           "user": "admin", "queryId": "3a441d0c130962f8:7f634aec00000000", "timestamp": 1554750072,
           "endTime": 1554750554,
           "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
           "vertices": [{"id": 0, "vertexType": "COLUMN", "vertexId": "db_1.view_1.count"},
                        {"id": 4, "vertexType": "TABLE", "vertexId": "db_1.table_1", "createTime": 1554750070},
                        {"id": 1, "vertexType": "COLUMN", "vertexId": "db_1.table_1.count"}]}
    (tmp_path / "records").write_text(json.dumps(old) + "\n")
    new = json.loads(convert(tmp_path / "records", "impala"))
    assert new["vertices"] == [
        {"id": 0, "vertexType": "COLUMN", "vertexId": "db_1.view_1.count"},
        {"id": 1, "vertexType": "COLUMN", "vertexId": "db_1.table_1.count",
         "metadata": {"tableName": "db_1.table_1", "tableCreateTime": 1554750070}}]
    assert new["edges"] == old["edges"] and "operationType" not in new


BAD = [
    "", "{", "[]", "null", "{}", '{"queryText":"x","edges":[],"vertices":[]',
    '{"queryText":"x","edges":[],"vertices":[]} {}', '{"queryText":1,"edges":[],"vertices":[]}',
    '{"queryText":"x","edges":[{"sources":[0],"targets":[],"edgeType":"PROJECTION"}],"vertices":[]}',
    '{"queryText":"x","edges":[{"sources":[],"targets":[],"edgeType":"OTHER"}],"vertices":[]}',
    '{"queryText":"x","edges":[],"vertices":[{"id":0}]}',
    '{"queryText":"x","edges":[],"vertices":[{"id":0,"vertexId":"a"},{"id":0,"vertexId":"b"}]}',
    '{"queryText":"x","edges":[],"vertices":[{"id":1.5,"vertexId":"a"}]}',
    '{"queryText":"x","queryId":"zz","edges":[],"vertices":[]}', '{"queryText":"\\q","edges":[],"vertices":[]}',
    '{"queryText":"\t","edges":[],"vertices":[]}', '{"x":%s0%s,"queryText":"x","edges":[],"vertices":[]}' %
    ("[" * 100000, "]" * 100000), '{"queryText":"x","edges":[],"vertices":[],}', '{"queryText":"x" "edges":[]}',
]


@pytest.mark.parametrize("number", range(1, len(BAD)))
def test_a_bad_line_is_told_and_passed_over(number, tmp_path):
    good = peer.line(peer.RECORDS[0])
    (tmp_path / "records").write_text(good + BAD[number] + "\n" + good)
    p = subprocess.run([LAKEBED, "lineage", "--log", str(tmp_path / "records"), "--to", "impala"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert (p.returncode, p.stdout.decode()) == (1, 2 * good)
    assert b":2: no lineage record" in p.stderr


def test_odd_strings(tmp_path):
    """Escapes that need not be, halves of surrogate pairs, and bytes that are no UTF-8 survive as far as they can."""
    text = b'{"queryText":"\\u0041\\ud83d\\ude00\\ud83d\\/ \xff\xfe","edges":[],"vertices":[]}\n'
    (tmp_path / "records").write_bytes(text)
    assert b'{"queryText":"A\xf0\x9f\x98\x80\xef\xbf\xbd/ \xff\xfe",' in convert(tmp_path / "records", "impala")


@pytest.mark.parametrize("form", THRIFT_FORMS)
def test_thrift_cut_short(form, tmp_path):
    pytest.importorskip("thrift")
    data = peer.thrift_bytes(form, peer.RECORDS[:2])
    (tmp_path / "records").write_bytes(data[:-3])
    p = subprocess.run([LAKEBED, "lineage", "--log", str(tmp_path / "records"), "--to", "impala"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert (p.returncode, p.stdout.decode()) == (1, peer.line(peer.RECORDS[0]))


def test_dot_is_read_by_graphviz_and_escaped(log):
    text = convert(log, "dot").decode()
    want = records()
    assert text.count("digraph lineage {") == text.count("\n}\n") == len(want)
    assert '\\"' in text and "\\\\" in text
    assert re.search(r'subgraph cluster_\d+ \{\n\s+label="functional.alltypestiny \(hive\)"', text)
    assert "\x01" not in text and convert(log, "dot").decode() == text
    if shutil.which("dot"):
        svg = subprocess.run(["dot", "-Tsvg"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
        assert svg.count(b"</svg>") == len(want)


@pytest.mark.parametrize("form", ["openlineage", "html"])
def test_forms_of_later(log, form):
    p = subprocess.run([LAKEBED, "lineage", "--log", str(log), "--to", form], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60)
    assert p.returncode == 3 and not p.stdout and b"not written as" in p.stderr
