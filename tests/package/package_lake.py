"""What the tests of the Python package share: the package under test, and lakes."""

import os
import pathlib
import shutil
import sys
import warnings

SOURCE = pathlib.Path(os.environ.get("LAKEBED_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PACKAGE = os.environ.get("LAKEBED_PACKAGE") or str(SOURCE / "build" / "python")
sys.path.insert(0, PACKAGE)

import lakebed  # noqa: E402

OPTIONS = ["eu/*.csv:delimiter=;", "nordic/*.csv:encoding=WINDOWS-1252"]


def make(folder, mapped=True, **options):
    """A copy of the example lake, with a map that reads all of it."""
    shutil.copytree(SOURCE / "examples" / "lake", folder)
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (1_600_000_000, 1_600_000_000))
    if mapped:
        lakebed.lake.create_map(folder, set=OPTIONS, **options)
    return folder


def numbers(path, n, start=0):
    """A CSV file of `n` rows: a number, its square, and a text."""
    with open(path, "w") as out:
        out.write("n,square,text\n")
        out.writelines("%d,%d,row %d\n" % (i, i * i, i) for i in range(start, start + n))
    return path


def environment():
    """For child processes that import the package."""
    return dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")


def quiet():
    """Warnings of the library are not what is tested."""
    warnings.simplefilter("ignore", lakebed.LakebedWarning)
