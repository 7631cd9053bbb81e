"""Workbooks: values and types against openpyxl and by types.md section 4, the two laws (a map changes nothing; any rows are those of
the whole), archives as other writers make them, and what has to be refused.

Run by pytest; LAKEBED names the command.
"""
import datetime as dt
import io
import json
import os
import pathlib
import random
import resource
import struct
import subprocess
import zipfile

import openpyxl
import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent.parent
LAKEBED = os.path.abspath(os.environ.get("LAKEBED", SOURCE / "build" / "lakebed"))


def run(*args, status=0):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("BASALTIC", "LAKEBED"))}
    p = subprocess.run([LAKEBED, *map(os.fspath, args)], capture_output=True, stdin=subprocess.DEVNULL, timeout=300, env=clean)
    assert p.returncode == status, (args, p.returncode, p.stdout[-300:], p.stderr.decode(errors="replace"))
    return p.stdout, p.stderr.decode(errors="replace")


def rows(path, *args):
    return [json.loads(line) for line in run("slice", path, "--to", "ndjson", *args)[0].splitlines()]


def types(path, *args):
    return {c["name"]: c["type"] for c in json.loads(run("schema", path, "--json", *args)[0])["columns"]}


# ---------------------------------------------------------------- workbooks by hand

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACK = "http://schemas.openxmlformats.org/package/2006/relationships"


def relations(*items):
    return f'<Relationships xmlns="{PACK}">' + "".join(
        f'<Relationship Id="{i}" Type="{REL}/{t}" Target="{p}"/>' for i, t, p in items) + "</Relationships>"


def sheet(inside):
    return f'<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="{MAIN}"><sheetData>{inside}</sheetData></worksheet>'


def parts(sheet_xml, strings=None, styles=None, date1904=False):
    p = {
        "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{REL}"><workbookPr date1904="{int(date1904)}"/>'
                           '<sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml"),
                                                ("r3", "styles", "styles.xml")),
        "xl/worksheets/sheet1.xml": sheet_xml,
    }
    if strings is not None:
        p["xl/sharedStrings.xml"] = f'<sst xmlns="{MAIN}">{strings}</sst>'
    if styles is not None:
        p["xl/styles.xml"] = (f'<styleSheet xmlns="{MAIN}"><numFmts>' + "".join(
            f'<numFmt numFmtId="{164 + i}" formatCode="{c}"/>' for i, c in enumerate(styles)) + "</numFmts>"
            '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>' + "".join(
            f'<xf numFmtId="{164 + i}"/>' for i in range(len(styles))) + "</cellXfs></styleSheet>")
    return p


def write(path, content, method=zipfile.ZIP_DEFLATED, level=None):
    with zipfile.ZipFile(path, "w", method, compresslevel=level) as z:
        for name, data in content.items():
            z.writestr(name, data)
    return path


def table(tmp_path, inside, *args, **more):
    return rows(write(tmp_path / "t.xlsx", parts(sheet(inside), **more)), "--header", "none", *args)


# ---------------------------------------------------------------- values

def test_cells_of_all_kinds(tmp_path):
    inside = ('<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>in</t><rPh><t>no</t></rPh></is></c>'
              '<c r="C1" t="str"><f>1+1</f><v>two &lt; 3</v></c><c r="D1" t="b"><v>1</v></c><c r="E1" t="e"><v>#N/A</v></c>'
              '<c r="F1"><v>1.5</v></c><c r="G1"><v>7</v></c></row>'
              '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="C2" t="str"><v/></c><c r="D2" t="b"><v>0</v></c>'
              '<c r="F2"><v>2E2</v></c><c r="G2"><v> 9007199254740992 </v></c></row>')
    strings = "<si><r><t>rich</t></r><r><t xml:space=\"preserve\"> text</t></r><rPh><t>x</t></rPh></si><si><t>a_x000D_b_x005F_</t></si>"
    got = table(tmp_path, inside, strings=strings)
    assert [list(r.values()) for r in got] == [["rich text", "in", "two < 3", True, None, 1.5, 7],
                                               ["a\rb_", None, "", False, None, 200.0, 9007199254740992]]
    assert list(types(tmp_path / "t.xlsx", "--header", "none").values()) == ["string", "string", "string", "bool", "string", "float64", "int64"]


@pytest.mark.parametrize("values, want, kind", [
    (["<c><v>1</v></c>", "<c><v>2</v></c>"], [1, 2], "int64"),
    (["<c><v>1</v></c>", "<c><v>2.25</v></c>"], [1.0, 2.25], "float64"),
    (["<c><v>-0</v></c>", "<c><v>2</v></c>"], [-0.0, 2.0], "float64"),
    (["<c><v>1e300</v></c>", "<c><v>2</v></c>"], [1e300, 2.0], "float64"),
    (["<c><v>9007199254740994</v></c>", "<c><v>2</v></c>"], [9007199254740994.0, 2.0], "float64"),
    (["<c><v>1</v></c>", '<c t="b"><v>1</v></c>'], ["1", "true"], "string"),
    (["<c><v>0.1</v></c>", '<c t="str"><v>x</v></c>'], ["0.1", "x"], "string"),
    (['<c t="e"><v>#DIV/0!</v></c>', "<c><v>2</v></c>"], [None, 2], "int64"),
    (['<c t="e"><v>#DIV/0!</v></c>', '<c t="str"><v>x</v></c>'], ["#DIV/0!", "x"], "string"),
    (['<c s="1"><v>44197</v></c>', '<c s="1"><v>44198</v></c>'], ["2021-01-01", "2021-01-02"], "date"),
    (['<c s="1"><v>44197</v></c>', '<c s="1"><v>44198.5</v></c>'], ["2021-01-01T00:00:00", "2021-01-02T12:00:00"], "timestamp[ms]"),
    (['<c s="1"><v>1</v></c>', '<c s="1"><v>59</v></c>'], ["1900-01-01", "1900-02-28"], "date"),
    (['<c s="1"><v>60</v></c>', '<c s="1"><v>61</v></c>'], ["1900-02-28", "1900-03-01"], "date"),
    (['<c s="2"><v>0.5</v></c>', '<c s="2"><v>0.75</v></c>'], ["12:00:00", "18:00:00"], "time[ms]"),
    (['<c s="2"><v>0.5</v></c>', '<c s="2"><v>61.75</v></c>'], ["1899-12-31T12:00:00", "1900-03-01T18:00:00"], "timestamp[ms]"),
    (['<c s="3"><v>1.5</v></c>', '<c s="3"><v>-0.25</v></c>'], ["P1DT12H", "-PT6H"], "duration[ms]"),
    (['<c s="3"><v>1.5</v></c>', '<c s="1"><v>44197</v></c>'], ["36:00:00", "2021-01-01"], "string"),
    (['<c s="1"><v>44197</v></c>', "<c><v>5</v></c>"], ["2021-01-01", "5"], "string"),
    (['<c s="2"><v>0.5</v></c>', '<c t="str"><v>x</v></c>'], ["12:00:00", "x"], "string"),
    (['<c s="1"><v>-3</v></c>', '<c s="1"><v>2958466</v></c>'], [-3, 2958466], "int64"),
    (['<c t="d"><v>2020-02-29</v></c>', '<c s="1"><v>44197</v></c>'], ["2020-02-29", "2021-01-01"], "date"),
    (['<c t="d"><v>2020-02-29T01:02:03.5</v></c>', '<c s="1"><v>44197</v></c>'], ["2020-02-29T01:02:03.500", "2021-01-01T00:00:00"],
     "timestamp[ms]"),
    (['<c t="d"><v>2020-02-29T01:02:03Z</v></c>', '<c s="1"><v>44197</v></c>'], ["2020-02-29T01:02:03Z", "2021-01-01"], "string"),
    (["<c><v>abc</v></c>", "<c><v>1</v></c>"], ["abc", "1"], "string"),
    (["<c><v></v></c>", "<c><v>1</v></c>"], [None, 1], "int64"),
])
def test_columns_take_the_narrowest_type(tmp_path, values, want, kind):
    inside = "".join(f"<row>{v}</row>" for v in values)
    got = table(tmp_path, inside, styles=["yyyy\\-mm\\-dd", "hh:mm:ss", "[h]:mm"])
    assert [r["column_1"] for r in got] == want
    assert types(tmp_path / "t.xlsx", "--header", "none") == {"column_1": kind}
    texts = [r["column_1"] for r in rows(tmp_path / "t.xlsx", "--header", "none", "--all-text")]
    assert all(t is None or isinstance(t, str) for t in texts)


def test_the_other_date_system(tmp_path):
    got = table(tmp_path, '<row><c s="1"><v>0</v></c></row><row><c s="1"><v>42735.25</v></c></row>', styles=["m/d/yy h:mm"], date1904=True)
    assert [r["column_1"] for r in got] == ["1904-01-01T00:00:00", "2021-01-01T06:00:00"]


@pytest.mark.parametrize("code, kind", [
    ("0.00", "float64"), ("General", "float64"), ("#,##0 [$EUR]", "float64"), ("0.00E+00", "float64"), ("&quot;day&quot; 0", "float64"), ("@", "float64"),
    ("[Red]0.0;[Blue]d", "float64"), ("0\\h", "float64"), ("# ?/?", "float64"),
    ("yyyy", "timestamp[ms]"), ("[$-409]d\\-mmm\\-yy;@", "timestamp[ms]"), ("mmmm", "timestamp[ms]"), ("[Red]dd/mm", "timestamp[ms]"), ("d.m.yyyy h:mm", "timestamp[ms]"),
    ("h:mm AM/PM", "time[ms]"), ("mm:ss", "time[ms]"), ("mm:ss.0", "time[ms]"), ("h", "time[ms]"), ("[$-F400]h:mm:ss\\ AM/PM", "time[ms]"),
    ("[mm]:ss", "duration[ms]"), ("[ss]", "duration[ms]"), ("[hh]:mm:ss.000", "duration[ms]"),
])
def test_formats_that_show_dates_and_times(tmp_path, code, kind):
    table(tmp_path, '<row><c s="1"><v>0.25</v></c></row>', styles=[code])
    assert types(tmp_path / "t.xlsx", "--header", "none") == {"column_1": kind}


# ---------------------------------------------------------------- the table

def test_the_table_begins_where_the_sheet_is_used(tmp_path):
    inside = ('<row r="3"><c r="C3" t="str"><v>a</v></c><c r="D3" t="str"><v>a</v></c><c r="F3"><v>2020</v></c></row>'
              '<row r="5"><c r="C5"><v>1</v></c><c r="E5"><v>2</v></c></row><row r="9"/>')
    path = write(tmp_path / "t.xlsx", parts(sheet(inside)))
    assert rows(path) == [{"a": None, "a_2": None, "column_3": None, "2020": None}, {"a": 1, "a_2": None, "column_3": 2, "2020": None}]
    assert rows(path, "--header", "4") == [{"column_1": 1, "column_2": None, "column_3": 2}]
    none = rows(path, "--header", "none")
    assert len(none) == 5 and list(none[0]) == [f"column_{i}" for i in range(1, 7)] and none[4]["column_5"] == 2
    assert len(rows(path, "--header", "none", "--offset", "2", "--limit", "2")) == 2


def test_cells_out_of_order_and_without_references(tmp_path):
    got = table(tmp_path, '<row><c r="B1"><v>2</v></c><c r="A1"><v>1</v></c><c r="B1"><v>3</v></c></row><row><c/><c><v>4</v></c></row>')
    assert [list(r.values()) for r in got] == [[1, 3], [None, 4]]


def test_long_gaps_in_columns_of_each_type(tmp_path):
    cells = ['<c r="A{0}" t="b"><v>1</v></c>', '<c r="B{0}"><v>3</v></c>', '<c r="C{0}"><v>.5</v></c>', '<c r="D{0}" s="1"><v>44197</v></c>',
             '<c r="E{0}" t="str"><v>x</v></c>']
    inside = "".join(f'<row r="{i}">' + "".join(c.format(i) for c in cells) + "</row>" for i in (1, 5000))
    inside += '<row r="9000"><c r="B9000"><v>3</v></c></row>'
    got = table(tmp_path, inside, styles=["yyyy-mm-dd"])
    full = [True, 3, 0.5, "2021-01-01", "x"]
    assert len(got) == 9000 and list(got[0].values()) == full == list(got[4999].values())
    assert all(v is None for i in (1, 2500, 4998, 5000, 8998) for v in got[i].values())


def test_sheets_by_name_and_number(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "first"
    book.active.append(["x"])
    book.active.append([1])
    book.create_chartsheet("chart")
    hidden = book.create_sheet("Zahlen & Ähnliches")
    hidden.sheet_state = "hidden"
    hidden.append(["y"])
    hidden.append([2])
    path = tmp_path / "t.xlsx"
    book.save(path)
    assert rows(path) == [{"x": 1}] == rows(path, "--sheet", "0")
    assert rows(path, "--sheet", "Zahlen & Ähnliches") == [{"y": 2}] == rows(path, "--sheet", "2")
    assert "chart" in run("slice", path, "--sheet", "1", status=3)[1]
    assert "first, chart, Zahlen" in run("slice", path, "--sheet", "nope", status=2)[1]


def test_a_map_serves_its_sheet_by_name_and_number(tmp_path):
    """A name wins over a number, also where the map tells which sheet is meant."""
    book = openpyxl.Workbook()
    book.active.title = "first"
    for name in ("1", "Größe"):
        book.create_sheet(name)
    for i, part in enumerate(book.worksheets):
        part.append(["x"])
        part.append([i])
    book.save(tmp_path / "t.xlsx")
    os.utime(tmp_path / "t.xlsx", (1.6e9, 1.6e9))
    for mapped, serves in (("1", ["1"]), ("Größe", ["Größe", "2"]), ("0", ["first", "0"])):
        run("map", tmp_path, "--sheet", mapped)
        for asked, number in (("first", 0), ("0", 0), ("1", 1), ("Größe", 2), ("2", 2)):
            assert rows(tmp_path / "t.xlsx", "--sheet", asked) == [{"x": number}]
            told = json.loads(run("slice", tmp_path / "t.xlsx", "--sheet", asked, "--explain", "--json")[0])
            assert (told["map"] == "used") == (asked in serves), (mapped, asked, told)
        assert "first, 1, Größe" in run("slice", tmp_path / "t.xlsx", "--sheet", "nope", status=2)[1]


# ---------------------------------------------------------------- laws

def random_cell(rng, kind):
    if rng.random() < 0.2:
        return None
    return {"int": lambda: rng.randrange(-10**6, 10**6), "float": lambda: rng.randrange(10**6) / 64,
            "text": lambda: rng.choice(["", "a", "naïve", "<&>", "two\nlines", "日本", "x" * 300]) or None, "bool": lambda: rng.random() < 0.5,
            "date": lambda: dt.date(1950, 1, 1) + dt.timedelta(days=rng.randrange(40000)),
            "datetime": lambda: dt.datetime(1950, 1, 1) + dt.timedelta(seconds=rng.randrange(3 * 10**9)),
            "time": lambda: dt.time(rng.randrange(24), rng.randrange(60), rng.randrange(60))}[kind]()


def shown(v):
    if isinstance(v, dt.datetime):
        return v.isoformat(timespec="seconds")
    return v.isoformat() if isinstance(v, (dt.date, dt.time)) else v


@pytest.mark.parametrize("seed", range(6))
def test_random_workbooks_read_as_openpyxl_wrote_them(tmp_path, seed):
    rng = random.Random(seed)
    kinds = [rng.choice(["int", "float", "text", "bool", "date", "datetime", "time"]) for _ in range(rng.randrange(1, 9))]
    data = [[random_cell(rng, k) for k in kinds] for _ in range(rng.randrange(1, 400))]
    data[-1][0] = random_cell(random.Random(7), kinds[0])
    book = openpyxl.Workbook(write_only=seed % 2 == 0)
    out = book.create_sheet("s") if seed % 2 == 0 else book.active
    out.append([f"{k}{i}" for i, k in enumerate(kinds)])
    for row in data:
        out.append(row)
    lake = tmp_path / "lake"
    lake.mkdir()
    path = lake / "t.xlsx"
    book.save(path)
    plain = rows(path, "--no-map")
    for got, row in zip(plain, data, strict=True):
        assert len(got) == len(row)
        for g, w in zip(got.values(), row):
            same = g == shown(w) or (isinstance(w, dt.datetime) and g is not None and g[:10] == shown(w)[:10]) or (w is not None and g == str(w).lower())
            assert same, (g, w)
    stride = rng.choice([1, 2, 7, 64, 1000])
    os.utime(path, (1.6e9, 1.6e9))
    run("map", lake, "--stride", str(stride))
    assert json.loads(run("slice", path, "--explain", "--json")[0])["map"] == "used"
    for _ in range(6):
        at, n = rng.randrange(len(data)), rng.randrange(1, 50)
        assert rows(path, "--offset", str(at), "--limit", str(n)) == plain[at:at + n]
    picked = sorted(rng.sample(range(len(data)), min(len(data), 9)))
    took = run("take", path, *map(str, picked), "--to", "ndjson")[0]
    assert [json.loads(line) for line in took.splitlines()] == [plain[i] for i in picked]


def big(n, stored=False):
    return sheet('<row r="1"><c t="inlineStr"><is><t>n</t></is></c><c t="inlineStr"><is><t>half</t></is></c></row>' + "".join(
        f'<row r="{i}"><c r="A{i}"><v>{i}</v></c><c r="B{i}"><v>{i * 7919 % 1000003 / 2}</v></c></row>' for i in range(2, n + 2)))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_a_slice_begins_near_its_rows(tmp_path, method):
    n = 200_000
    path = write(tmp_path / "t.xlsx", parts(big(n)), method, 1)
    os.utime(path, (1.6e9, 1.6e9))
    run("map", tmp_path)
    for at in (0, 1, 1023, 1024, 65535, 65536, 131071, n - 3):
        got = rows(path, "--offset", str(at), "--limit", "3")
        assert got == [{"n": i, "half": i * 7919 % 1000003 / 2} for i in range(at + 2, at + 5)]
    stats = json.loads(run("stats", path, "--json")[0])
    assert "200001" in json.dumps(stats)


def test_strings_that_are_not_kept_are_read_again(tmp_path):
    texts = [f"{i}" + "x" * 2000 for i in range(20000)]  # 40 MB: more than are kept
    strings = "".join(f"<si><t>{t}</t></si>" for t in texts)
    order = list(range(20000))
    random.Random(1).shuffle(order)
    order = order[:300] + [0, 19999, 5]
    got = table(tmp_path, "".join(f'<row><c t="s"><v>{i}</v></c></row>' for i in order), strings=strings)
    assert [r["column_1"] for r in got] == [texts[i] for i in order]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_strings_are_read_from_near_their_place(tmp_path, method):
    """A map knows where they begin: the law holds for strings in any order, missing and broken ones included."""
    n = 60_000
    texts = [f"{i * 7919 % n}" + "y" * (i * 31 % 200) for i in range(n)]
    strings = "".join(f"<si><t>{t}</t></si>" if i % 3 else f"<si><r><t>{t[:2]}</t></r><rPh><t>no</t></rPh><r><t>{t[2:]}</t></r></si>"
                      for i, t in enumerate(texts))
    strings = strings.replace(f"<t>{texts[40001]}<", "<t>&broken;<").replace(f"<t>{texts[2]}<", "<t/><t>&broken;<")
    order = list(range(3, n - 60))
    random.Random(7).shuffle(order)
    order = [i for i in order if i != 40001][:2996] + [40000, 3, 40002, 1]    # beside the broken ones
    texts_of = [texts[i] for i in order]
    cells = "".join(f'<row r="{k + 1}"><c r="A{k + 1}" t="s"><v>{i}</v></c></row>' for k, i in enumerate(order + [40001, 2, n]))
    path = write(tmp_path / "t.xlsx", parts(sheet(cells), strings=strings), method, 1)
    os.utime(path, (1.6e9, 1.6e9))
    got = [("0", "40"), ("1500", "3"), ("2990", "10"), ("2990", "11"), ("3000", "1"), ("3001", "1"), ("3002", "1")]

    def read(*options):
        out = []
        for offset, limit in got:
            p = subprocess.run([LAKEBED, "slice", path, "--to", "ndjson", "--header", "none", "--offset", offset, "--limit", limit, *options],
                               capture_output=True, timeout=100)
            out.append((p.returncode, p.stdout, p.stderr))
        return out

    unmapped = read()
    run("map", tmp_path, "--header", "none", "--stats", "none")
    told = json.loads(run("slice", path, "--header", "none", "--explain", "--json")[0])
    assert told["map"] == "used"
    assert read() == unmapped
    assert [code for code, _, _ in unmapped] == [0, 0, 0, 3, 3, 3, 3]
    for (offset, limit), (code, out, _) in zip(got, unmapped):
        want = texts_of[int(offset):min(int(offset) + int(limit), 3000)]
        assert code != 0 or [json.loads(line)["column_1"] for line in out.splitlines()] == want
    for _, _, said in unmapped[3:6]:
        assert b"a reference to nothing" in said
    assert b"row 3000" in unmapped[3][2] and b"row 3001" in unmapped[5][2] and b"which is not there" in unmapped[6][2]


# ---------------------------------------------------------------- memory

def test_a_stray_cell_costs_nothing(tmp_path):
    inside = '<row r="1"><c r="A1" t="str"><v>a</v></c></row><row r="2"><c r="A2"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>7</v></c></row>'
    path = write(tmp_path / "t.xlsx", parts(sheet(inside)))
    got = rows(path, "--limit", "2", "--columns", "a,column_16384")
    assert got == [{"a": 1, "column_16384": None}, {"a": None, "column_16384": None}]
    assert rows(path, "--offset", "1048574", "--columns", "a,column_16384") == [{"a": None, "column_16384": 7}]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    run("map", tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert after < max(before, 400_000)


# ---------------------------------------------------------------- archives

def good(tmp_path):
    return parts(sheet('<row><c t="s"><v>0</v></c></row><row><c><v>5</v></c></row>'), strings="<si><t>h</t></si>")


def test_bytes_in_front_and_a_comment_behind(tmp_path):
    write(tmp_path / "a.xlsx", good(tmp_path))
    data = (tmp_path / "a.xlsx").read_bytes()
    (tmp_path / "b.xlsx").write_bytes(b"#!/bin/sh\nexit\n" + data)
    assert rows(tmp_path / "b.xlsx") == [{"h": 5}]
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a") as z:
        z.comment = b"PK\5\6 is how an end begins" * 20
    assert rows(tmp_path / "a.xlsx") == [{"h": 5}]


def test_zip64_and_sizes_behind_the_data(tmp_path):
    path = tmp_path / "t.xlsx"

    class OneWay(io.RawIOBase):  # nothing can be written back: sizes follow the data
        def __init__(self, f):
            self.f = f

        def writable(self):
            return True

        def write(self, b):
            return self.f.write(b)

    with open(path, "wb") as f, zipfile.ZipFile(OneWay(f), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in good(tmp_path).items():
            with z.open(name, "w", force_zip64=True) as part:
                part.write(data.encode())
    assert rows(path) == [{"h": 5}]
    data = path.read_bytes()
    end = data.rindex(b"PK\5\6")
    n, size, at = struct.unpack("<HII", data[end + 10:end + 20])
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, n, n, size, at) + struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    path.write_bytes(data[:end] + wide + struct.pack("<IHHHHIIH", 0x06054B50, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    assert rows(path) == [{"h": 5}]


def test_prefixes_comments_cdata_and_backslashes(tmp_path):
    p = good(tmp_path)
    p["xl/worksheets/sheet1.xml"] = (f'<?xml version="1.0"?><!-- <row> --><x:worksheet xmlns:x="{MAIN}"><x:sheetData><x:row r="1"><x:c t="inlineStr">'
                                     '<x:is><x:t><![CDATA[a<b]]>&#x26;&amp;</x:t></x:is></x:c></x:row><?pi <c>?>'
                                     "<x:row\nr='2'\t><x:c r='A2' x='>'><x:v>5</x:v></x:c></x:row></x:sheetData></x:worksheet>")
    write(tmp_path / "t.xlsx", {k.replace("/", "\\") if "sheet1" in k else k.upper() if "styles" in k else k: v for k, v in p.items()})
    assert rows(tmp_path / "t.xlsx") == [{"a<b&&": 5}]


# ---------------------------------------------------------------- refusals

def refused(path, word):
    said = run("slice", path, status=3)[1]
    assert word in said, said


@pytest.mark.parametrize("part, content, word", [
    ("xl/worksheets/sheet1.xml", '<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>', "document type declaration"),
    ("xl/sharedStrings.xml", '<!DOCTYPE x [<!ENTITY a "b">]><sst/>', "document type declaration"),
    ("xl/workbook.xml", '<!DOCTYPE x SYSTEM "file:///etc/passwd"><workbook/>', "document type declaration"),
    ("xl/worksheets/sheet1.xml", sheet("<row><c t='str'><v>&nope;</v></c></row>"), "reference to nothing"),
    ("xl/worksheets/sheet1.xml", sheet("<row><c><v>1</v></row>"), "closed before"),
    ("xl/worksheets/sheet1.xml", sheet("<row><c><v>1</v></c></row>")[:-9], "ends inside"),
    ("xl/worksheets/sheet1.xml", sheet("<row r='5'/><row r='4'/>"), "stands behind"),
    ("xl/worksheets/sheet1.xml", sheet("<row r='1048577'/>"), "1,048,576"),
    ("xl/worksheets/sheet1.xml", sheet("<row><c r='XFE1'><v>1</v></c></row>"), "reference is none"),
    ("xl/worksheets/sheet1.xml", sheet("<row r='1'><c r='A2'><v>1</v></c></row>"), "another row"),
    ("xl/worksheets/sheet1.xml", sheet("<row><c t='s'><v>9</v></c></row><row/>"), "which is not there"),
    ("xl/worksheets/sheet1.xml", sheet("").encode("utf-16"), "UTF-16"),
    ("xl/worksheets/sheet1.xml", sheet("").replace("UTF-8", "ISO-8859-1"), "ISO-8859-1"),
    ("xl/worksheets/sheet1.xml", sheet("<row><c t='str'><v>\xff</v></c></row>").encode("latin-1"), "no UTF-8"),
    ("xl/_rels/workbook.xml.rels", relations(("r1", "worksheet", "../../../etc/passwd")), "climbs out"),
    ("xl/_rels/workbook.xml.rels", relations(("r1", "worksheet", "worksheets/sheet9.xml")), "has no part"),
    ("xl/workbook.xml", f'<workbook xmlns="{MAIN}"><sheets/></workbook>', "no worksheet"),
    ("_rels/.rels", "CORRUPTED", "outside the outermost element"),
])
def test_what_is_refused(tmp_path, part, content, word):
    p = good(tmp_path)
    p[part] = content
    refused(write(tmp_path / "t.xlsx", p), word)


def test_a_part_that_is_not_what_its_checksum_says(tmp_path):
    path = write(tmp_path / "t.xlsx", good(tmp_path), zipfile.ZIP_STORED)
    data = path.read_bytes()
    at = data.index(b"<v>5</v>")
    path.write_bytes(data[:at + 3] + b"6" + data[at + 4:])
    refused(path, "checksum")


def test_a_bomb_is_no_more_than_its_reading(tmp_path):
    xml = sheet("<row><c><v>1</v></c></row>" + " " * (200 << 20) + "<row><c><v>2</v></c></row>")
    path = write(tmp_path / "t.xlsx", parts(xml), level=9)
    assert path.stat().st_size < 1 << 20
    assert [r["column_1"] for r in rows(path, "--header", "none")] == [1, 2]


def test_compound_files_are_named(tmp_path):
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(22) + struct.pack("<H", 9) + bytes(16) + struct.pack("<I", 0) + bytes(460)
    (tmp_path / "a.xlsx").write_bytes(head + "EncryptedPackage".encode("utf-16-le") + bytes(480))
    refused(tmp_path / "a.xlsx", "encrypted")
    (tmp_path / "b.xlsx").write_bytes(head + "Workbook".encode("utf-16-le") + bytes(496))
    refused(tmp_path / "b.xlsx", ".xls")


# ---------------------------------------------------------------- doctor

def test_a_changed_workbook_is_found(tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    path = write(lake / "t.xlsx", good(tmp_path))
    os.utime(path, (1.6e9, 1.6e9))
    run("map", lake)
    run("doctor", lake)
    data = path.read_bytes()
    at = data.index(b"PK\3\4", 40) - 20
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
    os.utime(path, (1.6e9, 1.6e9))
    run("doctor", lake, "--verify", status=1)
