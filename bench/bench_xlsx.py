"""Measure workbooks against openpyxl and python-calamine, on the same cells in the same run.

    bench/bench_xlsx.py [--rows 1000000] [--columns 20] [--runs 3] [--folder DIR]

The sheet has whole numbers, fractions, dates, shared strings and booleans in turn. It is mapped (processor time, peak memory), all its
cells are read (`slice --to arrows` into nothing, one thread), and 100 rows from its middle, unmapped and mapped: the time of the whole
command. openpyxl (read_only) and python-calamine read a sheet of a tenth of the rows, made in the same way, in processes of their own;
what they and Python take to start is not counted. The last one is a sheet of two cells, one in A1 and one in XFD1048576. Medians, in
turns. Needs the environment of the tests (tools/setup.sh --tests).
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

import run as bench_run

TEXTS = 50_000
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
SHEET = HEAD + '<worksheet xmlns="%s"><sheetData>' % MAIN
PARTS = {
    "[Content_Types].xml": HEAD + '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>%s</Types>' % "".join(
        '<Override PartName="/xl/%s.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.%s+xml"/>' % pair
        for pair in (("workbook", "sheet.main"), ("worksheets/sheet1", "worksheet"), ("styles", "styles"),
                     ("sharedStrings", "sharedStrings"))),
    "_rels/.rels": HEAD + '<Relationships xmlns="%s"><Relationship Id="r1" Type="%s/officeDocument" Target="xl/workbook.xml"/>'
    '</Relationships>' % (PACKAGE, OFFICE),
    "xl/workbook.xml": HEAD + '<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets>'
    '</workbook>' % (MAIN, OFFICE),
    "xl/_rels/workbook.xml.rels": HEAD + '<Relationships xmlns="%s">%s</Relationships>' % (PACKAGE, "".join(
        '<Relationship Id="r%d" Type="%s/%s" Target="%s"/>' % (i + 1, OFFICE, kind, target) for i, (kind, target) in enumerate((
            ("worksheet", "worksheets/sheet1.xml"), ("styles", "styles.xml"), ("sharedStrings", "sharedStrings.xml"))))),
    "xl/styles.xml": HEAD + '<styleSheet xmlns="%s"><fonts count="1"><font/></fonts><fills count="1"><fill><patternFill/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0"/>'
    '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>' % MAIN,
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000, help="rows of the sheet, the header apart (default 1000000)")
    add("--columns", type=int, default=20, help="columns of the sheet (default 20)")
    add("--runs", type=int, default=3, help="runs of each measurement (default 3)")
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


# ---- the sheets

def letters(column):
    out = ""
    while column >= 0:
        out = chr(65 + column % 26) + out
        column = column // 26 - 1
    return out


KINDS = ['<c r="%s%%d"><v>%%d</v></c>', '<c r="%s%%d"><v>%%r</v></c>', '<c r="%s%%d" s="1"><v>%%r</v></c>',
         '<c r="%s%%d" t="s"><v>%%d</v></c>', '<c r="%s%%d" t="b"><v>%%d</v></c>']


def row_maker(columns):
    """What makes the XML of row N: the numbers of each kind come from a table of some thousand random ones."""
    r = random.Random(1)
    template = "<row r=\"%%d\">%s</row>" % "".join(KINDS[c % 5] % letters(c) for c in range(columns))
    fractions = [round(r.uniform(-1000, 1000), 4) for _ in range(4099)]
    moments = [43831 + r.randrange(86400 * 2000) / 86400 for _ in range(4093)]
    texts = [r.randrange(TEXTS) for _ in range(4091)]

    def make(n):
        values = [n]
        for c in range(columns):
            kind, at = c % 5, n * 7 + c * 131
            values += n, (n * (c + 1) if kind == 0 else fractions[at % 4099] if kind == 1 else moments[at % 4093] if kind == 2
                          else (texts[at % 4091] + n // 4091) % TEXTS if kind == 3 else at & 1)
        return template % tuple(values)
    return make


def write_book(path, sheet):
    """`sheet` writes the rows."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as book:
        for name, text in PARTS.items():
            book.writestr(name, text)
        with book.open("xl/sharedStrings.xml", "w") as out:
            out.write((HEAD + '<sst xmlns="%s" uniqueCount="%d">' % (MAIN, TEXTS)).encode())
            for i in range(TEXTS):
                out.write(b"<si><t>text number %d of the workbook</t></si>" % i)
            out.write(b"</sst>")
        with book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as out:
            out.write(SHEET.encode())
            sheet(out)
            out.write(b"</sheetData></worksheet>")


def write_rows(path, rows, columns):
    make = row_maker(columns)

    def sheet(out):
        names = "".join('<c r="%s1" t="inlineStr"><is><t>column %d</t></is></c>' % (letters(c), c + 1) for c in range(columns))
        out.write(('<row r="1">%s</row>' % names).encode())
        for first in range(2, rows + 2, 1000):
            out.write("".join(map(make, range(first, min(first + 1000, rows + 2)))).encode())
    write_book(path, sheet)


def write_stray(path):
    write_book(path, lambda out: out.write(b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'))


# ---- the others: processor seconds, cells

THEIRS = {
    "openpyxl": "import openpyxl\nt = time.process_time()\nsheet = openpyxl.load_workbook(sys.argv[1], read_only=True).worksheets[0]\n"
                "n = sum(len(row) for row in sheet.iter_rows(values_only=True))\n",
    "calamine": "import python_calamine\nt = time.process_time()\n"
                "n = sum(len(row) for row in python_calamine.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0).to_python())\n",
}


def theirs(tool, path):
    program = "import sys, time\n%sprint(time.process_time() - t, n)" % THEIRS[tool]
    seconds, n = bench_run.output([sys.executable, "-c", program, str(path)]).split()
    return float(seconds), int(n)


def ours(command):
    """Processor seconds, wall seconds, and the most memory that it had, in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime, time.perf_counter() - started, used.ru_maxrss / 1024


def median(measured):
    return [statistics.median(one) for one in zip(*measured)]


# ---- telling

def say(title, cells, seconds, more=""):
    rate = "%8.2f M cells/s" % (cells / seconds / 1e6) if cells else " " * 18
    print("%-48s %10.1f ms %s  %s" % (title, seconds * 1e3, rate, more), flush=True)


def all_cells(a, big, tenth):
    cells, runs = a.rows * a.columns, range(a.runs)
    times = {name: [] for name in ("ours", "ours, a tenth", *THEIRS)}
    read = [a.lakebed, "slice", big, "--to", "arrows", "-j", 1, "--no-map"]
    small = [tenth if c is big else c for c in read]
    for _ in runs:
        times["ours"].append(ours(read))
        times["ours, a tenth"].append(ours(small))
        for tool in THEIRS:
            times[tool].append(theirs(tool, tenth))
    cpu, _, rss = median(times["ours"])
    say("types and all cells, one thread", cells, cpu, "%.0f MiB" % rss)
    cpu, _, rss = median(times["ours, a tenth"])
    say("the same, a tenth of the rows", cells // 10, cpu, "%.0f MiB" % rss)
    for tool in THEIRS:
        seconds = median(times[tool])[0]
        say("%s, a tenth of the rows" % tool, cells // 10, seconds, "%.1f x" % (seconds / cpu))


def mapping(a, lake, big):
    cells = a.rows * a.columns
    middle = ["--offset", a.rows // 2, "--limit", 100, "--to", "arrows"]
    _, wall, rss = median(ours([a.lakebed, "slice", big, *middle, "--no-map"]) for _ in range(a.runs))
    say("100 rows from the middle, unmapped", 0, wall, "the whole command, %.0f MiB" % rss)
    for title, options in (("mapped, without statistics", ["--stats", "none"]), ("mapped, with statistics", [])):
        cpu, _, rss = median(ours([a.lakebed, "map", lake, "--quiet", "-j", 1, *options]) for _ in range(a.runs))
        say(title, cells, cpu, "%.0f MiB" % rss)
    _, wall, rss = median(ours([a.lakebed, "slice", big, *middle]) for _ in range(a.runs * 5))
    say("100 rows from the middle, mapped", 0, wall, "the whole command, %.0f MiB; map of %d bytes" % (
        rss, (lake / ".br_map.bazan").stat().st_size))
    _, wall, _ = median(ours([a.lakebed, "version"]) for _ in range(a.runs * 5))
    say("the process alone", 0, wall, "lakebed version")


def stray(a, lake):
    cpu, _, rss = median(ours([a.lakebed, "map", lake, "--quiet", "-j", 1]) for _ in range(a.runs))
    say("a cell in XFD1048576, mapped", 0, cpu, "%.0f MiB" % rss)
    cpu, _, rss = median(ours([a.lakebed, "slice", lake / "stray.xlsx", "--header", "none", "--columns", "column_1,column_16384", "--to", "arrows",
                               "-j", 1, "--no-map"]) for _ in range(a.runs))
    say("a cell in XFD1048576, both columns read", 0, cpu, "%.0f MiB" % rss)


def main():
    a = arguments()
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        folder = pathlib.Path(folder)
        lake, lonely = folder / "lake", folder / "lonely"
        lake.mkdir()
        lonely.mkdir()
        write_rows(lake / "sheet.xlsx", a.rows, a.columns)
        write_rows(folder / "tenth.xlsx", a.rows // 10, a.columns)
        write_stray(lonely / "stray.xlsx")
        print("%d rows of %d columns, %d bytes; times of the processor unless said" % (
            a.rows, a.columns, (lake / "sheet.xlsx").stat().st_size), flush=True)
        all_cells(a, lake / "sheet.xlsx", folder / "tenth.xlsx")
        mapping(a, lake, lake / "sheet.xlsx")
        stray(a, lonely)


if __name__ == "__main__":
    main()
