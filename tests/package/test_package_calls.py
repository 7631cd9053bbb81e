"""The calls of lakebed.lake, lakebed.read and lakebed.formats, and every exception that they promise."""

import csv
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import warnings

import package_lake
import pytest

br = package_lake.lakebed


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return package_lake.make(tmp_path / "lake")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    package_lake.numbers(folder / "a.csv", 1000)
    package_lake.numbers(folder / "b.csv", 500, 1000)
    return folder


# ---- create_map


def test_create_map_gives_the_path_of_the_map(data):
    assert br.lake.create_map("data", checkpoint_stride_rows=16_384) == "data/.br_map.bazan"
    assert br.lake.create_map(data, show_progress=False) == str(data / ".br_map.bazan")
    about = br.lake.describe("data")
    assert (about["files"], about["rows"], about["stride"]) == (2, 1500, 65536)


def test_create_map_remembers_its_options(data):
    br.lake.create_map("data", checkpoint_stride_rows=7, fingerprint="blake3", stats_columns=["n"])
    about = br.lake.describe("data")
    assert (about["stride"], about["fingerprint"]) == (7, "blake3")
    assert len(about["entries"][0]["content_hash"]) == 64
    assert about["entries"][0]["blocks"] == (1000 + 6) // 7
    opened = br._core.Map(b"data")
    assert [(c["name"], c["max"]) for c in opened.columns(0) if c["has_stats"]] == [("n", "999")]


@pytest.mark.parametrize(
    "options, error",
    [
        (dict(checkpoint_stride_rows=0), ValueError),
        (dict(checkpoint_stride_rows=-1), OverflowError),
        (dict(checkpoint_stride_rows=2**64), OverflowError),
        (dict(checkpoint_stride_rows="7"), TypeError),
        (dict(checkpoint_stride_rows=7.5), TypeError),
        (dict(fingerprint="md5"), ValueError),
        (dict(fingerprint=1), TypeError),
        (dict(stats_columns="n"), TypeError),
        (dict(stats_columns=[1]), TypeError),
        (dict(stats_columns=["a,b"]), ValueError),
        (dict(stats_columns=["n"], block_stats=True), ValueError),
        (dict(on_error="ignore"), ValueError),
        (dict(include="*.csv"), TypeError),
        (dict(delimeter=";"), TypeError),
        (dict(delimiter="too long"), ValueError),
        (dict(delimiter=object()), TypeError),
    ],
)
def test_create_map_refuses(data, options, error):
    with pytest.raises(error):
        br.lake.create_map("data", **options)
    assert not (data / ".br_map.bazan").exists()


@pytest.mark.parametrize("path, error", [(7, TypeError), (None, TypeError), ("a\0b", ValueError)])
def test_paths_that_are_none(path, error):
    for call in (br.lake.create_map, br.lake.doctor, br.open):
        with pytest.raises(error):
            call(path)


def test_a_misspelt_option_is_told():
    with pytest.raises(TypeError, match="did you mean 'delimiter'"):
        br.open("x.csv", delimeter=";")


def test_create_map_of_what_is_no_directory(data):
    with pytest.raises(FileNotFoundError):
        br.lake.create_map("nowhere")
    with pytest.raises((OSError, ValueError)) as caught:
        br.lake.create_map("data/a.csv")
    assert isinstance(caught.value, br.Error)


def test_a_file_that_cannot_be_read_aborts_or_is_recorded(data):
    (data / "bad.csv").write_bytes(b"a,b\n1,2\n3\n")
    with pytest.raises(OSError) as caught:
        br.lake.create_map("data")
    assert isinstance(caught.value, br.CorruptError)
    assert (caught.value.line, caught.value.row) == (3, 1)
    assert caught.value.path.endswith("bad.csv")
    br.lake.create_map("data", on_error="record")
    about = br.lake.describe("data")
    assert about["failed"] == 1 and about["rows"] == 1500
    assert "line 3" in about["entries"][2]["error"]


def test_include_exclude_and_set(data):
    (data / "c.csv").write_text("x;y\n1;2\n")
    br.lake.create_map("data", include=["*.csv"], exclude=["b.*"], set=["c.csv:delimiter=;"])
    about = br.lake.describe("data")
    assert [e["path"] for e in about["entries"]] == ["a.csv", "c.csv"]
    assert br.open("data/c.csv")[0] == {"x": 1, "y": 2}


# ---- locate_row


def test_locate_row(data):
    br.lake.create_map("data", checkpoint_stride_rows=100)
    assert br.lake.locate_row("data", 1234) == {
        "rel_path": "b.csv",
        "file_offset": 234,
        "row_group": 2,
        "row_in_group": 34,
        "page_indexed": False,
    }
    assert br.lake.locate_row("data", 1499)["file_offset"] == 499
    assert br.lake.locate_row("data", 1500) is None
    with pytest.raises(OverflowError):
        br.lake.locate_row("data", -1)
    with pytest.raises(TypeError):
        br.lake.locate_row("data", "1")


def test_locate_tells_the_bytes(data):
    br.lake.create_map("data", checkpoint_stride_rows=100)
    place = br.lake.locate("data", 234, file="b.csv")
    text = (data / "b.csv").read_bytes()
    block = text[place["block_first_byte"] :][: place["block_bytes"]]
    assert block.startswith(b"1200,1440000,row 1200\n") and block.count(b"\n") == 100
    assert place["global_row"] == 1234 and place["block_first_line"] == 202
    with pytest.raises(br.NotFoundError):
        br.lake.locate("data", 0, file="nowhere.csv")


def test_locate_row_does_not_look_at_the_files(data):
    br.lake.create_map("data")
    os.unlink(data / "a.csv")
    assert br.lake.locate_row("data", 0)["rel_path"] == "a.csv"


def test_a_map_that_is_missing_or_none(data):
    with pytest.raises(OSError) as caught:
        br.lake.locate_row("data", 0)
    assert type(caught.value) is br.MapError and caught.value.path.endswith(".br_map.bazan")
    (data / ".br_map.bazan").write_text("this is no map")
    for call in (lambda: br.lake.locate_row("data", 0), lambda: br.lake.doctor("data", auto_heal=True)):
        with pytest.raises(br.MapError):
            call()
    assert (data / ".br_map.bazan").read_text() == "this is no map"


# ---- doctor

SEVEN = ["status", "total_files", "healthy_count", "modified_files", "unindexed_files", "missing_files", "healed"]


def test_doctor_through_its_states(data):
    assert br.lake.doctor("data")["status"] == "DRIFT_DETECTED"
    br.lake.create_map("data")
    healthy = br.lake.doctor("data", verify=True)
    assert list(healthy)[:7] == SEVEN
    assert [healthy[key] for key in SEVEN] == ["HEALTHY", 2, 2, [], [], [], False]
    package_lake.numbers(data / "new.csv", 3)
    package_lake.numbers(data / "a.csv", 999)
    os.unlink(data / "b.csv")
    before = (data / ".br_map.bazan").read_bytes()
    drift = br.lake.doctor("data")
    assert [drift[key] for key in SEVEN] == ["DRIFT_DETECTED", 2, 0, ["a.csv"], ["new.csv"], ["b.csv"], False]
    assert (data / ".br_map.bazan").read_bytes() == before
    healed = br.lake.doctor("data", auto_heal=True)
    assert [healed[key] for key in SEVEN] == ["HEALED", 2, 0, ["a.csv"], ["new.csv"], ["b.csv"], True]
    assert br.lake.doctor("data")["status"] == "HEALTHY"
    assert br.lake.describe("data")["rows"] == 1002
    br.lake.undo("data")
    assert (data / ".br_map.bazan").read_bytes() == before


def test_doctor_names_a_renamed_file_once(data):
    br.lake.create_map("data")
    os.rename(data / "a.csv", data / "c.csv")
    drift = br.lake.doctor("data")
    assert [drift[key] for key in SEVEN] == ["DRIFT_DETECTED", 2, 1, [], ["c.csv"], ["a.csv"], False]
    found = [(f["path"], f["drift"], f["was"]) for f in drift["findings"] if f["drift"] != "racy"]
    assert found == [("c.csv", "renamed", "a.csv")]
    assert drift["renamed_files"] == [{"path": "c.csv", "was": "a.csv"}]


def test_doctor_names_the_damage(data):
    br.lake.create_map("data", checkpoint_stride_rows=100)
    stat = os.stat(data / "a.csv")
    raw = bytearray((data / "a.csv").read_bytes())
    raw[5000:5003] = b"xyz"
    (data / "a.csv").write_bytes(raw)
    os.utime(data / "a.csv", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    found = br.lake.doctor("data", verify=True)["findings"]
    found = [f for f in found if f["drift"] != "racy"]  # the files are new
    assert [(f["path"], f["drift"]) for f in found] == [("a.csv", "damaged")]
    damage = found[0]["damage"][0]
    assert damage["first_byte"] <= 5000 < damage["first_byte"] + damage["length"]


@pytest.mark.parametrize("changed", [False, True])
def test_doctor_says_what_the_command_says(data, changed):
    for name in ("gone", "old", "cut", "log"):
        (data / (name + ".ndjson")).write_text("".join('{"%s":%d}\n' % (name, i) for i in range(50)))
    (data / "torn.ndjson").write_text('{"a":1}\n{"a":')
    (data / "none.json").write_text("[}")
    shutil.copytree(package_lake.SOURCE / "examples" / "lake" / "reservoirs" / "six_lance.lance", data / "d.lance")
    br.lake.create_map("data", on_error="record", checkpoint_stride_rows=10)
    if changed:
        os.unlink(data / "gone.ndjson")
        os.rename(data / "old.ndjson", data / "new.ndjson")
        os.truncate(data / "cut.ndjson", 70)
        with open(data / "log.ndjson", "a", encoding="utf-8") as file:
            file.write('{"log":1.5}\n')
        stat = os.stat(data / "a.csv")
        (data / "a.csv").write_bytes((data / "a.csv").read_bytes().replace(b"1", b"2", 1))
        os.utime(data / "a.csv", ns=(stat.st_atime_ns, stat.st_mtime_ns))
        br.lance.delete("data/d.lance", [2])
    for verify in (False, True):
        command = [os.environ.get("LAKEBED") or str(package_lake.SOURCE / "build" / "lakebed"), "doctor", "data", "--json"]
        done = subprocess.run(command + ["--verify"] * verify, capture_output=True)
        told, report = json.loads(done.stdout), br.lake.doctor("data", verify=verify)
        assert list(told) == list(report)
        for key in told:
            assert key == "elapsed_ms" or told[key] == report[key], key
        drifts = {f["drift"] for f in told["findings"]}
        assert drifts > ({"missing", "renamed", "truncated", "appended", "damaged"} if changed else {"torn"})
        assert not changed or any(f["note"] is not None for f in report["findings"])


def test_doctor_refuses(data):
    br.lake.create_map("data")
    with pytest.raises(FileNotFoundError):
        br.lake.doctor("nowhere")
    with pytest.raises(TypeError):
        br.lake.doctor("data", older_than="week")
    with pytest.raises(OverflowError):
        br.lake.doctor("data", older_than=-1)
    with pytest.raises(OSError):
        br.lake.undo("data/nowhere")


# ---- read


def test_slice_rows_equals_the_file(lake):
    with open("lake/levels/huron.csv", newline="") as file:
        expected = [(r["name"], int(r["year"]), float(r["level_ft"])) for r in csv.DictReader(file)]
    for offset, limit in [(0, 98), (0, 1), (97, 10), (40, 7), (98, 1), (500, 5), (3, 0)]:
        rows = br.read.slice_rows("lake/levels/huron.csv", offset, limit)
        got = list(zip(*rows.to_pydict().values()))
        assert got == expected[offset : offset + limit]
        assert rows.column_names == ["name", "year", "level_ft"]


def test_slice_cols(lake):
    rows = br.read.slice_cols("lake/levels/huron.csv", ["year", "name", "year"], 96, 5)
    assert rows.column_names == ["year", "name", "year"]
    assert rows.num_rows == 2 and rows.column(0) == rows.column(2) == [1971, 1972]
    assert br.read.slice_cols("lake/levels/huron.csv", [], 0, 1).num_columns == 3


def test_an_unknown_column_is_a_key_error_and_an_os_error(lake):
    for error in (KeyError, OSError, br.ColumnError):
        with pytest.raises(error, match="Column 'yaer' not found.*year"):
            br.read.slice_cols("lake/levels/huron.csv", ["yaer"], 0, 1)
    with pytest.raises(br.ColumnError):
        br.open("lake").select(["nothing"])
    with pytest.raises(br.ColumnError):
        br.open("lake").schema["nothing"]
    with pytest.raises(br.ColumnError):
        br.open("lake").head(1).column("nothing")


@pytest.mark.parametrize(
    "arguments, error",
    [
        (("lake/asia.csv", -1, 5), OverflowError),
        (("lake/asia.csv", 0, -5), OverflowError),
        (("lake/asia.csv", "0", 5), TypeError),
        (("lake/asia.csv", 0, 1.0), TypeError),
        ((3, 0, 5), TypeError),
        (("lake/none.csv", 0, 5), FileNotFoundError),
        (("", 0, 5), OSError),
    ],
)
def test_slice_rows_refuses(lake, arguments, error):
    with pytest.raises(error):
        br.read.slice_rows(*arguments)


def test_slice_cols_wants_a_list_of_str(lake):
    with pytest.raises(TypeError):
        br.read.slice_cols("lake/asia.csv", "name", 0, 1)
    with pytest.raises(TypeError):
        br.read.slice_cols("lake/asia.csv", [1], 0, 1)


def test_an_unsupported_file_is_a_value_error_and_an_os_error(tmp_path):
    path = tmp_path / "x.unknown"
    path.write_bytes(b"\0\1\2\3" * 100)
    for error in (ValueError, OSError, br.UnsupportedError):
        with pytest.raises(error):
            br.read.slice_rows(path, 0, 1)


def test_hints_are_for_python(tmp_path):
    path = tmp_path / "eu.csv"
    path.write_text("a;b\n1;2,5\n")
    with pytest.raises(br.CorruptError) as caught:
        br.open(path)
    assert 'delimiter=";"' in caught.value.hint and "--" not in str(caught.value)
    assert br.open(path, delimiter=";")[0] == {"a": 1, "b": "2,5"}


def test_options_of_a_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("1|NA|häh\n2|3|x\n".encode("latin-1"))
    table = br.open(path, delimiter="|", header=False, null="NA", encoding="ISO-8859-1", column={"column_1": "string"})
    assert table.read().to_pylist() == [
        {"column_1": "1", "column_2": None, "column_3": "häh"},
        {"column_1": "2", "column_2": 3, "column_3": "x"},
    ]
    with pytest.raises(ValueError):
        br.open(path, format="csvv")
    with pytest.raises(ValueError):
        br.open(path, schema="loose")


# ---- formats


def test_registered_delimiters_in_a_map(data):
    (data / "x.pipes").write_text("a|b\n1|2\n")
    br.lake.create_map("data")
    assert br.lake.describe("data")["files"] == 2
    br.formats.register_delimited(".PIPES", "|")
    try:
        assert "pipes" in br.formats.list_formats() and br.formats.list_formats() == sorted(br.formats.list_formats())
        assert br.formats.describe()[-1] == br.formats.Format(
            "dynamic", ["pipes"], "none", br.formats.describe()[0].options, True
        )
        assert br.lake.doctor("data", auto_heal=True)["unindexed_files"] == ["x.pipes"]
        assert br.lake.describe("data")["rows"] == 1501
        assert br.open("data/x.pipes")[0] == {"a": 1, "b": 2}
    finally:
        assert br.formats.unregister_format("pipes")
    assert br.lake.doctor("data")["missing_files"] == ["x.pipes"]


@pytest.mark.parametrize(
    "arguments, error",
    [
        (("pipes", ""), ValueError),
        (("pipes", "||"), ValueError),
        (("pipes", '"'), ValueError),
        (("a/b", "|"), ValueError),
        (("", "|"), ValueError),
        ((7, "|"), TypeError),
        (("pipes", 7), TypeError),
    ],
)
def test_register_delimited_refuses(arguments, error):
    with pytest.raises(error):
        br.formats.register_delimited(*arguments)
    assert "pipes" not in br.formats.list_formats()


# ---- exceptions


def test_exceptions_are_what_they_promise():
    promised = {
        br.IoError: OSError,
        br.NotFoundError: FileNotFoundError,
        br.ColumnError: KeyError,
        br.MapError: OSError,
        br.CorruptError: OSError,
        br.UnsupportedError: ValueError,
        br.UsageError: ValueError,
        br.StaleError: OSError,
        br.ConflictError: OSError,
        br.BudgetError: OSError,
        br.MemoryLimitError: MemoryError,
        br.InternalError: RuntimeError,
    }
    for ours, theirs in promised.items():
        assert issubclass(ours, theirs) and issubclass(ours, br.Error)
        error = ours("found", status="IO", path="a.csv", row=3, line=5, offset=70, hint="do")
        assert str(error) == "a.csv: row 3, line 5, byte 70: found (do)"
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is ours and str(again) == str(error) and again.row == 3
    assert issubclass(br.CancelledError, br.Error) and issubclass(br.UnsupportedError, OSError)
    assert br.NotFoundError("x", path="y").filename == "y"


def test_the_memory_limit_is_told(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("a\n" + "x" * 3_000_000 + "\n")
    br.configure(memory_limit=1 << 20)
    try:
        with pytest.raises(br.BudgetError):
            br.open(path).read()
    finally:
        br.configure()
    assert len(br.open(path)) == 1
    with pytest.raises(OverflowError):
        br.configure(threads=-1)


def test_a_file_that_changes_is_not_read_with_the_old_map(data):
    br.lake.create_map("data", checkpoint_stride_rows=10)
    table = br.open("data/a.csv")
    assert table.files[0].map == "used" and table[700]["n"] == 700
    with open(data / "a.csv", "w") as out:
        out.write("n,square,text\n")
        out.writelines("%d,%d,other %d\n" % (i, i, i) for i in range(1000))
    try:
        assert table[700] == {"n": 700, "square": 700, "text": "other 700"}
    except br.StaleError:
        pass
    assert br.open("data/a.csv")[700] == {"n": 700, "square": 700, "text": "other 700"}
    assert br.open("data/a.csv").files[0].map == "stale"


def test_notes_are_warnings(data):
    (data / ".br_map.bazan").write_text("no map")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            br.open("data/a.csv")
        except br.Error:
            pass
    assert all(issubclass(w.category, br.LakebedWarning) for w in caught)
    br.lake.create_map("data", checkpoint_stride_rows=10, set=["a.csv:null=NA"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", br.LakebedWarning)
        with pytest.raises(br.LakebedWarning):
            br.lake.create_map("data")


def test_names_that_are_no_utf8(tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    raw = os.path.join(os.fsencode(folder), b"n\xe4me.csv")
    pathlib.Path(os.fsdecode(raw)).write_text("a\n1\n")
    br.lake.create_map(folder)
    assert br.open(raw)[0] == {"a": 1}
    assert br.open(os.fsdecode(raw)).path == os.fsdecode(raw)
    assert len(br.open(folder)) == 1
    with pytest.raises(FileNotFoundError) as caught:
        br.open(os.path.join(os.fsencode(folder), b"\xff.csv"))
    assert caught.value.path is not None


def test_nothing_is_written_beside_data(lake):
    before = sorted(path for path in lake.rglob("*"))
    br.open("lake").read()
    br.lake.doctor("lake", verify=True)
    assert sorted(path for path in lake.rglob("*")) == before
    shutil.rmtree(lake)
