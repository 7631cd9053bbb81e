"""What lb_dataset tells of the conformance data: versions, fields, fragments, files, indices, metadata, row ids and searches,
against the expected files (for the most part by lance 8.0.0 and 0.4.17).

Run by pytest; LAKEBED names the command, LAKEBED_LIB the library.
"""
import ctypes as c
import json
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = pathlib.Path(os.environ.get("LAKEBED_CONFORMANCE", SOURCE.parent / "shared" / "conformance")) / "lance"
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))
NAMES = sorted(p.stem for p in DATA.glob("expected/*.json"))
pytestmark = pytest.mark.skipif(not NAMES or "LAKEBED_LIB" not in os.environ, reason="there is no conformance data")


def record(name, text):
    kinds = {"str": c.c_char_p, "u64": c.c_uint64, "i64": c.c_int64, "i32": c.c_int32, "u32": c.c_uint32, "bool": c.c_bool,
             "size": c.c_size_t, "ids": c.POINTER(c.c_int32), "numbers": c.POINTER(c.c_uint32)}
    fields = [("struct_size", c.c_size_t)] + [(n, kinds[k]) for k, n in (w.split(":") for w in text.split())]
    return type(name, (c.Structure,), {"_fields_": fields})


Info = record("Info", "str:path str:manifest u64:version u64:newest i64:rows i64:deleted str:unreadable u64:fragments u64:files "
              "u64:fields u64:columns u64:indices i64:seconds i32:nanos str:tag str:writer str:storage str:branch "
              "str:transaction u64:reader_flags u64:writer_flags i64:max_fragment u64:manifest_bytes bool:has_indices "
              "bool:has_aux")
Version = record("Version", "u64:version str:manifest u64:bytes i64:seconds i32:nanos str:tag str:tags")
FieldInfo = record("FieldInfo", "i32:id i32:parent str:name str:logical_type str:encoding bool:nullable i32:null_of "
                   "i64:dictionary_offset i64:dictionary_length")
Fragment = record("Fragment", "u64:id u64:files i64:rows i64:rows_recorded i64:deleted str:deletion_file")
File = record("File", "str:path ids:fields size:n_fields u32:major u32:minor u64:bytes")
Index = record("Index", "str:name str:uuid ids:fields size:n_fields u64:dataset_version str:type numbers:fragments "
               "size:n_fragments")


class Search(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("column", c.c_char_p), ("query", c.POINTER(c.c_float)),
                ("dimension", c.c_size_t), ("k", c.c_size_t), ("probes", c.c_uint), ("refine", c.c_uint),
                ("metric", c.c_int), ("exact", c.c_bool)]


class Hit(c.Structure):
    _fields_ = [("row", c.c_uint64), ("row_id", c.c_uint64), ("distance", c.c_double)]


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("offset", c.c_int64), ("row", c.c_int64), ("line", c.c_int64),
                ("path", c.c_char * 512), ("message", c.c_char * 512), ("hint", c.c_char * 256)]


class Dataset:
    def __init__(self, path):
        self.lib = c.CDLL(os.environ["LAKEBED_LIB"])
        self.lib.lb_dataset_meta_count.restype = c.c_uint64
        self.context, self.handle = c.c_void_p(), c.c_void_p()
        self.call("lb_context_new", None, c.byref(self.context))
        self.call("lb_dataset_open", self.context, os.fspath(path).encode(), c.byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lib.lb_dataset_close(self.handle)
        self.lib.lb_context_free(self.context)

    def call(self, name, *args):
        err = Error()
        status = getattr(self.lib, name)(*args, c.byref(err))
        if status != 0:
            raise RuntimeError(status, err.message.decode())

    def get(self, name, kind, *at):
        out = kind(struct_size=c.sizeof(kind))
        self.call(name, self.handle, *[c.c_uint64(x) for x in at], c.byref(out))
        return out

    def meta(self, kind):
        out = {}
        for i in range(self.lib.lb_dataset_meta_count(self.handle, kind)):
            key, value, size = c.c_char_p(), c.c_void_p(), c.c_size_t()
            self.call("lb_dataset_meta_at", self.handle, kind, c.c_uint64(i), c.byref(key), c.byref(value), c.byref(size))
            out[key.value.decode()] = c.string_at(value, size.value).decode()
        return out

    def row_ids(self, n):
        out = (c.c_uint64 * (n + 1))()
        self.call("lb_dataset_row_ids", self.handle, c.c_uint64(0), c.c_uint64(n), out)
        return list(out)[:n]

    def row_of(self, id):
        out = c.c_uint64()
        self.call("lb_dataset_row_of_id", self.handle, c.c_uint64(id), c.byref(out))
        return out.value

    def search(self, column, query, k, **how):
        q = (c.c_float * len(query))(*query)
        want = Search(struct_size=c.sizeof(Search), column=column.encode(), query=q, dimension=len(query), k=k, **how)
        hits, n = (Hit * k)(), c.c_size_t()
        self.call("lb_dataset_search", self.handle, c.byref(want), hits, c.byref(n))
        return [(h.row_id, h.distance) for h in hits[:n.value]]


def ranges(ids):
    out = []
    for i in ids:
        if out and out[-1][1] + 1 == i:
            out[-1][1] = i
        else:
            out.append([i, i])
    return out


def check_fields(d, info, want):
    assert info.fields == len(want["fields"])
    for i, w in enumerate(want["fields"]):
        f = d.get("lb_dataset_field_at", FieldInfo, i)
        assert (f.id, f.parent, f.name.decode(), f.logical_type.decode(), f.nullable) == \
            (w["id"], w["parent_id"], w["name"], w["logical_type"], w.get("nullable", False))
        assert f.encoding.decode() == ["none", "plain", "var_binary", "dictionary"][w.get("encoding", 0)]
        assert f.null_of == -1


def check_fragments(d, info, want):
    assert info.fragments == len(want["fragments"])
    for i, w in enumerate(want["fragments"]):
        f = d.get("lb_dataset_fragment_at", Fragment, i)
        assert (f.id, f.files) == (w["id"], len(w["files"]))
        assert f.rows_recorded == w.get("physical_rows_recorded", -1)
        if info.rows >= 0:
            assert f.rows == w["physical_rows"]
            gone = w.get("deleted_ranges_inclusive", [])  # a summary where there are many
            assert f.deleted == (w["deletion_file"]["n"] if isinstance(gone, dict) else sum(b - a + 1 for a, b in gone))
        if "deletion_file" in w and isinstance(w["deletion_file"], dict) and "path" in w["deletion_file"]:
            assert f.deletion_file.decode() == w["deletion_file"]["path"]
        for k, wf in enumerate(w["files"]):
            one = d.get("lb_dataset_file_at", File, i, k)
            assert one.path.decode() == "data/" + wf["path"]
            assert one.fields[:one.n_fields] == wf["fields"]


def check_indices(d, info, want):
    assert info.indices == len(want.get("indices", []))
    for i, w in enumerate(want.get("indices", [])):
        x = d.get("lb_dataset_index_at", Index, i)
        assert (x.name.decode(), x.uuid.decode(), x.dataset_version) == (w["name"], w["uuid"], w["dataset_version"])
        assert x.fields[:x.n_fields] == w["fields"]
        assert (x.fragments[:x.n_fragments] if x.fragments else None) == w.get("fragment_bitmap")


def check_rows(d, info, want):
    if "expected_error" in want:
        assert info.rows == -1 and info.unreadable or info.rows == 0
        return
    assert info.rows == want["num_rows"] and info.unreadable is None
    ids = d.row_ids(info.rows)
    told = want["row_id_ranges_inclusive"]
    if isinstance(told, list):
        assert ranges(ids) == told
    else:
        got = ranges(ids)
        assert len(got) == told["count"] and got[:3] == told["first"] and got[-3:] == told["last"]
    for row in sorted({0, 1, info.rows // 2, info.rows - 1} & set(range(info.rows))):
        assert d.row_of(ids[row]) == row
    with pytest.raises(RuntimeError):
        d.row_of(1 << 60)
    d.call("lb_dataset_verify", d.handle)


@pytest.mark.parametrize("name", NAMES)
def test_dataset(name):
    expected = json.loads((DATA / "expected" / (name + ".json")).read_text())
    for number, want in expected["versions"].items():
        with Dataset("%s@%s" % (DATA / name, number)) as d:
            info = d.get("lb_dataset_get_info", Info)
            assert info.version == int(number) and info.newest == expected["latest_version"]
            assert info.manifest.decode() == want["manifest_file"]
            assert [info.seconds, info.nanos] == want["timestamp"] and info.tag.decode() == want["tag"]
            assert (info.reader_flags, info.writer_flags) == (want["reader_feature_flags"], want["writer_feature_flags"])
            assert info.max_fragment == want.get("max_fragment_id", -1)
            assert info.writer.decode() == " ".join(want.get("writer_version", []))
            assert d.meta(0) == want.get("schema_metadata", {})
            assert not info.has_aux
            check_fields(d, info, want)
            check_fragments(d, info, want)
            check_indices(d, info, want)
            check_rows(d, info, want)
    with Dataset(DATA / name) as d:
        count = c.c_uint64()
        d.call("lb_dataset_version_count", d.handle, c.byref(count))
        versions = [d.get("lb_dataset_version_at", Version, i) for i in range(count.value)]
        assert [v.version for v in versions] == sorted(map(int, expected["versions"]))
        for v in versions:
            want = expected["versions"][str(v.version)]
            assert [v.seconds, v.nanos] == want["timestamp"] and v.manifest.decode() == want["manifest_file"]
            assert v.bytes == (DATA / name / want["manifest_file"]).stat().st_size


def test_search_from_the_command():
    """The same results as the library's, in a table and as JSON; what is wrong with a query is said."""
    search = json.loads((DATA / "expected" / "w0.10.18-ivf_pq_dot.json").read_text())["search"]
    q = search["queries"][0]
    path = "%s@%d" % (DATA / "w0.10.18-ivf_pq_dot", search["dataset_version"])

    def run(*args):
        return subprocess.run([LAKEBED, "lance", "search", *args], capture_output=True, check=False)

    query = ["--query", ",".join(map(str, q["query"])), "--probes", str(q["nprobes"]), "-n", str(q["k"])]
    told = json.loads(run(path, "vector", "--json", *query).stdout)["hits"]
    near([(h["row_id"], h["distance"]) for h in told], [(int(i), x) for i, x in q["results"]])
    assert len(run(path, "vector", *query).stdout.splitlines()) == q["k"] + 1
    for words, status, says in ((["vector", "--query", "1,x"], 2, b"this is none"), (["vector"], 2, b"--query takes"),
                                (["nix", *query], 4, b"'nix' not found"), (["id", *query], 2, b"no vectors"),
                                (["vector", "--query", "1,2"], 2, b"has 2 numbers"), ([], 2, b"a dataset and a column")):
        p = run(path, *words)
        assert p.returncode == status and says in p.stderr, p.stderr


SEARCHED = [n for n in NAMES if "search" in json.loads((DATA / "expected" / (n + ".json")).read_text())]


def near(got, want):
    assert [g[1] for g in got] == pytest.approx([w[1] for w in want], rel=1e-3, abs=1e-4)
    if [g[0] for g in got] != [w[0] for w in want]:  # equal distances may change places
        assert sorted(g[0] for g in got) == sorted(w[0] for w in want)


METRICS = {"w0.10.18-ivf_pq_cosine": 2, "w0.10.18-ivf_pq_dot": 3}


@pytest.mark.parametrize("name", SEARCHED)
def test_search(name):
    expected = json.loads((DATA / "expected" / (name + ".json")).read_text())
    search = expected["search"]
    alive = {f["id"] for f in expected["versions"][str(search["dataset_version"])]["fragments"]}
    with Dataset("%s@%d" % (DATA / name, search["dataset_version"])) as d:
        for q in search["queries"]:
            # Rows of fragments that are gone are no rows: others take their places at the end.
            want = [(int(i), x) for i, x in q["results"] if int(i) >> 32 in alive]
            refine = 1 if isinstance(q["refine"], str) else q["refine"] or 0
            got = d.search("vector", q["query"], q["k"], probes=q["nprobes"], refine=refine)
            assert len(got) == q["k"]
            near(got[:len(want)], want)
            with pytest.raises(RuntimeError):
                d.search("vector", q["query"][1:], q["k"])
            every = d.search("vector", q["query"], q["k"], probes=10000, refine=1000)
            near(every, d.search("vector", q["query"], q["k"], exact=True, metric=METRICS.get(name, 1)))
