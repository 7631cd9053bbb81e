"""The wheel: packed from what the build made, installed into a fresh environment, used there."""

import base64
import csv
import hashlib
import importlib.util
import io
import os
import pathlib
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
        assert b"-abi3-linux_" in packed.read(record.replace("RECORD", "WHEEL"))


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
    assert run([environment / "lakebed", "count", "lake"], tmp_path).strip().endswith("188")
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
