"""The wheel: packed from what the build made, installed into a fresh environment, used there."""

import base64
import csv
import hashlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import package_lake
import pytest

BUILD = pathlib.Path(package_lake.PACKAGE).parent
PLAIN = not os.environ.get("LAKEBED_SANITIZE") and shutil.which("cmake") is not None
pytestmark = pytest.mark.skipif(not PLAIN, reason="a wheel is packed from a plain build")


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("build_backend", package_lake.SOURCE / "python" / "build_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BUILD, module.build = BUILD, lambda: None
    return module


@pytest.fixture(scope="module")
def wheel(backend, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    return folder / backend.build_wheel(folder)


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A fresh environment with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("venv") / "v"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-index", wheel]
    subprocess.run(pip, check=True)
    return folder / "bin"


def run(command, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LAKEBED", "LD_"))}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout


def test_the_record_is_true(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        record = next(name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(io.StringIO(packed.read(record).decode())))
        assert sorted(row[0] for row in rows) == sorted(names)
        for name, digest, size in rows:
            content = packed.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert name == record or (digest, int(size)) == ("sha256=" + expected, len(content))
        assert {"lakebed/py.typed", "lakebed/_core.pyi", "lakebed/include/lakebed.h"} <= set(names)
        tag = wheel.name.split("-", 2)[2][: -len(".whl")]
        assert b"\nTag: %s\n" % tag.encode() in packed.read(record.replace("RECORD", "WHEEL"))


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def dynamic(path):
    """What the system's own tools say a file needs: names, and versions of the C library's symbols."""
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("no readelf")
    told = subprocess.run([readelf, "-dVW", path], capture_output=True, text=True, check=True).stdout
    needs = re.findall(r"\(NEEDED\).*\[(.*)\]", told)
    return needs, [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", told)], told


def test_it_needs_nothing_but_what_its_tag_promises(wheel, unpacked):
    """Every Linux of a manylinux tag has the libraries of GCC and glibc, and nothing else is counted on."""
    files = [path for path in unpacked.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert {"_core.abi3.so", "liblakebed.so.0", "lakebed"} <= {path.name for path in files}
    inside, outside, newest = {path.name for path in files}, set(), 0
    for path in files:
        needs, versions, told = dynamic(path)
        outside |= set(needs) - inside
        newest = max([newest, *versions])
        if path.parent.name == "lakebed" and path.name in ("_core.abi3.so", "liblakebed.so.0"):
            assert "(RPATH)" in told and "[$ORIGIN]" in told
    assert all(re.match(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)|ld-linux.*)\.so", name) for name in outside), outside
    assert "_manylinux_2_%d_" % newest in "_" + wheel.name.split("abi3-")[1]
    carried = {path.name for path in files if path.name.startswith("lb_")}
    notes = next(unpacked.rglob("LIBRARIES.txt")).read_text()
    assert carried and not any("lzo" in name for name in carried) and all(name in notes for name in carried)


def test_nothing_of_the_machine_s_codecs_is_loaded(environment, tmp_path):
    """Read through the package in the fresh environment: only what it carries, and what Python itself has."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for codec in "snappy", "gzip", "brotli", "zstd", "lz4":
        parquet.write_table(pyarrow.table({"a": range(1000)}), tmp_path / (codec + ".parquet"), compression=codec)
    code = """
import sys
def mapped():
    with open("/proc/self/maps") as maps:
        return {line.split()[-1] for line in maps if ".so" in line}
before = mapped()
import lakebed
for codec in "snappy", "gzip", "brotli", "zstd", "lz4":
    assert len(lakebed.open(codec + ".parquet")[:].column("a")) == 1000
print(sorted(name for name in mapped() - before if "/lb_" not in name))
"""
    loaded = run([environment / "python", "-c", code], tmp_path)
    for name in "zstd", "snappy", "lz4", "brotli", "lzo", "deflate", "xxhash", "jansson", "protobuf":
        assert "lib" + name not in loaded


def test_tags(backend):
    least = backend.wheel_libraries.least_glibc
    assert least([]) == least(["GLIBC_2.2.5", "GLIBCXX_3.4.9", "CXXABI_1.3"]) == 17
    assert least(["GLIBC_2.34", "GLIBC_2.3.4"]) == 34 and least(["GLIBCXX_3.4.30"]) == 35
    assert least(["GLIBC_PRIVATE"]) is None and least(["GLIBCXX_3.4.99"]) is None


def test_one_wheel_for_every_python():
    """No symbol outside of the limited interface, as Python 3.9 had it."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    core = pathlib.Path(package_lake.PACKAGE) / "lakebed" / "_core.abi3.so"
    listed = subprocess.run([nm, "-D", "--undefined-only", core], capture_output=True, text=True, check=True).stdout
    used = {line.split()[-1] for line in listed.splitlines() if line.split()[-1].startswith(("Py", "_Py"))}
    stable = {"_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_Py_Dealloc"}
    private = {name for name in used if name.startswith("_Py") and not name.endswith("_SizeT")} - stable
    assert private == set() and "PyUnicode_AsUTF8AndSize" not in used and "PyObject_GetBuffer" not in used


def test_it_works_in_a_fresh_environment(environment, tmp_path):
    package_lake.make(tmp_path / "lake", mapped=False)
    code = "import doctest, lakebed; ran = doctest.testmod(lakebed); print(ran.failed, ran.attempted > 5)"
    assert run([environment / "python", "-c", code], tmp_path) == "0 True\n"
    version = package_lake.lakebed.__version__
    assert run([environment / "lakebed", "--version"], tmp_path).startswith("lakebed " + version)
    assert run([environment / "lakebed", "count", "lake"], tmp_path).strip().endswith("272")
    for call in ("get_include() + '/lakebed.h'", "get_library()"):
        code = "import lakebed, os; print(os.path.isfile(lakebed.%s))" % call
        assert run([environment / "python", "-c", code], tmp_path) == "True\n"


def test_the_source_distribution_has_what_builds_it(backend, tmp_path):
    name = backend.build_sdist(tmp_path)
    with tarfile.open(tmp_path / name) as packed:
        names = {member.name.split("/", 1)[1] for member in packed.getmembers()}
        assert not any(member.name.startswith("/") or ".." in member.name for member in packed.getmembers())
    wanted = {"PKG-INFO", "pyproject.toml", "CMakeLists.txt", "include/lakebed.h", "python/build_backend.py", "LICENSE"}
    assert wanted <= names and "python/src/core_module.c" in names and "src/lake/handlers.c" in names
    assert not any("__pycache__" in n or n.endswith((".so", ".o")) for n in names)
    again = tmp_path / "again"
    again.mkdir()
    assert (again / backend.build_sdist(again)).read_bytes() == (tmp_path / name).read_bytes()


def test_metadata(backend, tmp_path):
    folder = tmp_path / backend.prepare_metadata_for_build_wheel(tmp_path)
    text = (folder / "METADATA").read_text()
    assert "\nVersion: %s\n" % package_lake.lakebed.__version__ in text and "Requires-Dist" not in text
    assert backend.get_requires_for_build_wheel() == []
