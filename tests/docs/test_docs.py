"""The examples of the documentation, run as tests.

In README.md, examples/README.md and docs/**/*.md every fenced block of the kind `console` is what a terminal shows:
lines that begin with `$ ` are commands, those that begin with `> ` go on with the command before, and all others are
what it prints, standard output and error together. The blocks of one page are run in order by bash, in one folder that
holds a copy of the example lake as `lake`. Rules of comparison:

- Lines are equal, byte for byte, but for blanks at their end.
- `…` stands for whatever differs from run to run (times, sizes) inside a line; a line of `…` alone for any number of
  lines.
- A last line `[exit status N]` is the command's exit status where it is not 0.

The block of the kind `c` in README.md is compiled against the header and the library, and run; a block of the kind
`text` after it is what it prints. The examples of the manual page are run too, in a folder of the sort that they speak
of, and must succeed.

`python3 tests/docs/test_docs.py --update` (LAKEBED and LAKEBED_SOURCE set) writes what the commands print into the
pages instead: read the difference before you commit it. Output that a page describes with `…` is kept.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("LAKEBED_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
LAKEBED = pathlib.Path(os.environ.get("LAKEBED", ROOT / "build" / "lakebed")).resolve()
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATUS = re.compile(r"^\[exit status (\d+)\]$")
WIDTH = "110"
MAP_LAKE = "lakebed map lake --set 'eu/*.csv:delimiter=;' --set 'nordic/*.csv:encoding=WINDOWS-1252'"


def environment(folder):
    """What the commands see: the command under test on the path, no colours, and nothing of the caller's taste."""
    bin_folder = folder / ".bin"
    bin_folder.mkdir(exist_ok=True)
    if not (bin_folder / "lakebed").exists():
        (bin_folder / "lakebed").symlink_to(LAKEBED)
    env = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS") or k in ("HOME", "LD_PRELOAD")}
    python = pathlib.Path(sys.executable).parent
    env.update(PATH="%s:%s:%s" % (bin_folder, python, os.environ["PATH"]), COLUMNS=WIDTH, NO_COLOR="1", TERM="dumb",
               LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    return env


def read_all(fd):
    """All that is written to a terminal until its last writer closes it."""
    out = b""
    while True:
        ready, _, _ = select.select([fd], [], [], 120)
        if not ready:
            raise AssertionError("nothing was printed for two minutes")
        try:
            piece = os.read(fd, 65536)
        except OSError:    # the other side is closed
            return out
        if not piece:
            return out
        out += piece


def as_seen(raw):
    """The text that is left on the terminal: a progress line is drawn over and erased."""
    text = raw.decode("utf-8").replace("\r\n", "\n")
    lines = [re.split(r"\r(?:\033\[K)?", line)[-1].replace("\033[K", "") for line in text.split("\n")]
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def run(command, folder):
    """What a command prints on a terminal, with its exit status as the last line where it is not 0."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                             stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = as_seen(read_all(ours))
    os.close(ours)
    status = child.wait()
    return "\n".join(filter(None, [text, "[exit status %d]" % status if status else ""]))


def matches(wanted, got):
    """Does the text of the page describe what was printed?"""
    pattern = []
    for line in wanted.split("\n"):
        if line == "…":
            pattern.append(r"(?:[^\n]*\n)*?")
        else:
            pattern.append("[^\n]*".join(re.escape(part) for part in line.rstrip().split("…")) + "\n")
    return re.fullmatch("".join(pattern), got + "\n") is not None


def steps(block):
    """The (command as written, command, wanted output) of a console block."""
    found = []
    for line in block.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append([line, line[2:], []])
        elif line.startswith("> ") and found and not found[-1][2]:
            found[-1][0] += "\n" + line
            found[-1][1] += "\n" + line[2:]
        else:
            assert found, "a console block begins with a command: " + line
            found[-1][2].append(line)
    return [(shown, command, "\n".join(output).rstrip("\n")) for shown, command, output in found]


def make_folder(folder):
    shutil.copytree(ROOT / "examples" / "lake", folder / "lake")


def difference(page, command, wanted, got):
    return "%s: %s\n---- the page says\n%s\n---- it prints\n%s" % (page.relative_to(ROOT), command, wanted, got)


def blocks(page, kind):
    return [m.group(2) for m in FENCE.finditer(page.read_text(encoding="utf-8")) if m.group(1) == kind]


def check_page(page, folder):
    make_folder(folder)
    wrong = []
    for block in blocks(page, "console"):
        for _, command, wanted in steps(block):
            got = run(command, folder)
            if not matches(wanted, got):
                wrong.append(difference(page, command, wanted, got))
    assert not wrong, "\n\n".join(wrong)


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        pages = [p for p in PAGES if blocks(p, "console")]
        metafunc.parametrize("page", pages, ids=[p.relative_to(ROOT).as_posix() for p in pages])


def test_page(page, tmp_path):
    check_page(page, tmp_path)


def test_rules_of_comparison():
    assert matches("a\nb", "a\nb")
    assert not matches("a\nb", "a\nb\nc")
    assert not matches("a", "ab")
    assert matches("took … s", "took 0.12 s")
    assert not matches("took … s", "took 0.12 s\nmore s")
    assert matches("a\n…\nz", "a\nz") and matches("a\n…\nz", "a\nb\nc\nz")
    assert not matches("1.5", "1x5")
    assert as_seen(b"\r 50%  1 file\033[K\r\033[Kdone \r\nnext\r\n") == "done\nnext"


def test_c_example(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^```c\n(.*?)^```\n(?:(?!```).)*?^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, "README.md has a C example and what it prints"
    make_folder(tmp_path)
    (tmp_path / "example.c").write_text(found.group(1), encoding="utf-8")
    flags = ["-fsanitize=" + os.environ["LAKEBED_SANITIZE"]] if os.environ.get("LAKEBED_SANITIZE") else []
    library = [LAKEBED.parent / "liblakebed.so", "-Wl,-rpath," + str(LAKEBED.parent)]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, "-I", ROOT / "include", "example.c",
                    "-o", "example", *library], cwd=tmp_path, check=True)
    run(MAP_LAKE, tmp_path)
    got = run("./example lake", tmp_path)
    assert matches(found.group(2).rstrip("\n"), got), difference(ROOT / "README.md", "./example lake", found.group(2), got)


# ---- the manual page

def manual_examples():
    """The examples' blocks, each a list of commands, with the macros' escapes undone."""
    text = (ROOT / "docs" / "man" / "lakebed.1").read_text(encoding="utf-8")
    section = text.split("\n.Sh EXAMPLES\n")[1].split("\n.Sh ")[0]
    for block in re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed$", section, re.MULTILINE | re.DOTALL):
        yield [line[2:].replace(r"\e", "\\").replace(r"\-", "-") for line in block.split("\n") if line.startswith("$ ")]


def make_data(folder):
    """A directory of the sort that the manual speaks of: a table of more than a million rows, and a file from elsewhere."""
    (folder / "data").mkdir()
    with open(folder / "data" / "orders.csv", "w", encoding="utf-8") as out:
        out.write("id,price\n")
        out.writelines("%d,%d.5\n" % (i, i % 100) for i in range(1000100))
    (folder / "rows.txt").write_text("17\n99\n3-5\n", encoding="utf-8")


def add_foreign_file(folder):
    (folder / "data" / "eu").mkdir()
    (folder / "data" / "eu" / "prices.csv").write_bytes("id;price;city\n1;2,5;Zürich\n".encode("cp1252"))


def test_manual_page(tmp_path):
    make_data(tmp_path)
    seen = 0
    for commands in manual_examples():
        if any("eu/" in command for command in commands):
            add_foreign_file(tmp_path)
        for command in commands:
            got = run(command, tmp_path)
            assert "[exit status" not in got, difference(ROOT / "docs/man/lakebed.1", command, "success", got)
            seen += 1
    assert seen >= 5
    assert (tmp_path / "part.arrow").stat().st_size > 0


# ---- writing the pages anew

def updated_block(page, block, folder):
    out = []
    for shown, command, wanted in steps(block):
        got = run(command, folder)
        if wanted and matches(wanted, got):
            got = wanted
        out.append(shown + ("\n" + got if got else ""))
    return "\n".join(out) + "\n"


def update(page):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_folder(folder)

        def replace(found):
            if found.group(1) != "console":
                return found.group(0)
            return "```console\n" + updated_block(page, found.group(2), folder) + "```"

        page.write_text(FENCE.sub(replace, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"]:
        sys.exit("usage: test_docs.py --update [PAGE…]; the tests are run by pytest")
    for one in [pathlib.Path(p).resolve() for p in sys.argv[2:]] or PAGES:
        update(one)
