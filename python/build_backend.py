"""What `pip install .` and `make wheel` call (PEP 517): CMake builds, and what it installs is packed into a wheel.

Needs nothing but Python itself, and CMake, which pip fetches where the system has none. One wheel serves every CPython
from 3.9 on. Where libraries are missing, tools/setup.sh is asked to fetch them.
"""

import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import wheel_libraries  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build-python"
PYTHON = "cp39-abi3-"
TAG = PYTHON + re.sub(r"[-.]", "_", sysconfig.get_platform())  # of what is used where it was built
STAMP = (1980, 1, 1, 0, 0, 0)  # the same sources give the same wheel
SOURCES = (
    "CHANGELOG.md",
    "CMakeLists.txt",
    "LICENSE",
    "README.md",
    "lakebed.pc.in",
    "pyproject.toml",
    "bench",
    "cmake",
    "docs",
    "examples",
    "include",
    "python",
    "src",
    "tests/CMakeLists.txt",
    "tools",
)
FETCHED = (".deps/nanoarrow", ".deps/blake3")
LEFT_OUT = re.compile(r"(^|/)(__pycache__|.*\.pyc|.*\.so|\.br_map\..*)(/|$)")


def version():
    """It stands once, in the public header."""
    header = (ROOT / "include" / "lakebed.h").read_text(encoding="utf-8")
    parts = (re.search(r"#define LB_VERSION_%s (\d+)" % name, header) for name in ("MAJOR", "MINOR", "PATCH"))
    return ".".join(part.group(1) for part in parts)


def metadata():
    head = [
        "Metadata-Version: 2.1",
        "Name: lakebed",
        "Version: " + version(),
        "Summary: Maps, reads and doctors directories of data files, and traces where their columns come from",
        "License: Apache-2.0",
        "Requires-Python: >=3.9",
        "Classifier: Development Status :: 4 - Beta",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: C",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head) + "\n\n" + (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


# ---- building


def run(*command):
    print(" ".join(map(str, command)), file=sys.stderr, flush=True)
    subprocess.run([str(word) for word in command], cwd=ROOT, check=True, stdout=sys.stderr)


def configure():
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (BUILD / "CMakeCache.txt").exists() else []
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DLAKEBED_TESTS=OFF", "-DLAKEBED_WERROR=OFF"]
    options += ["-DLAKEBED_PYTHON=" + sys.executable, "--log-level=WARNING"]
    run("cmake", "-S", ROOT, "-B", BUILD, *generator, *options)


def build():
    try:
        configure()
    except subprocess.CalledProcessError:
        run("bash", ROOT / "tools" / "setup.sh", "--python")
        configure()
    jobs = os.environ.get("JOBS") or str(os.cpu_count() or 2)
    run("cmake", "--build", BUILD, "-j", jobs, "--target", "lakebed_python", "lakebed_packaged_command")


def strip(folder):
    """Without the symbols that only a debugger wants."""
    programs = [path for path in pathlib.Path(folder).rglob("*") if os.access(path, os.X_OK) and path.is_file()]
    if shutil.which("strip"):
        run("strip", "--strip-unneeded", *programs)


def installed(folder):
    run("cmake", "--install", BUILD, "--component", "python", "--prefix", folder)
    strip(folder)
    wheel_libraries.carry(folder)
    return sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())


# ---- packing


def name_in_wheel(path):
    """Where a file of the installed tree goes: the package, the command's folder, the licences."""
    info, data = "lakebed-%s.dist-info" % version(), "lakebed-%s.data" % version()
    if path.parts[0] == "scripts":
        return "/".join((data, "scripts") + path.parts[1:])
    if path.parts[0] == "licenses":
        return "/".join((info,) + path.parts)
    return path.as_posix()


def add(wheel, record, name, content, executable=False):
    entry = zipfile.ZipInfo(name, STAMP)
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record.append("%s,sha256=%s,%d" % (name, digest, len(content)))


def wheel_text(tag):
    return "Wheel-Version: 1.0\nGenerator: lakebed\nRoot-Is-Purelib: false\nTag: %s\n" % tag


def write_wheel(folder, files, tag=TAG):
    """`files`: pairs of a name and its content, and whether it is executable."""
    name = "lakebed-%s-%s.whl" % (version(), tag)
    info, record = "lakebed-%s.dist-info/" % version(), []
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        for path, content, executable in files:
            add(wheel, record, path, content, executable)
        add(wheel, record, info + "METADATA", metadata().encode())
        add(wheel, record, info + "WHEEL", wheel_text(tag).encode())
        record.append(info + "RECORD,,")
        wheel.writestr(zipfile.ZipInfo(info + "RECORD", STAMP), "\n".join(record) + "\n")
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build()
    with tempfile.TemporaryDirectory() as folder:
        paths = [(path, path.relative_to(folder)) for path in installed(folder)]
        files = [(name_in_wheel(name), path.read_bytes(), os.access(path, os.X_OK)) for path, name in paths]
        return write_wheel(wheel_directory, files, PYTHON + wheel_libraries.platform(folder))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package where it was built; its Python files are links to the sources."""
    build()
    files = [("lakebed-editable.pth", (str(BUILD / "python") + "\n").encode(), False)]
    command = (BUILD / "packaged" / "lakebed").read_bytes()
    return write_wheel(wheel_directory, files + [("lakebed-%s.data/scripts/lakebed" % version(), command, True)])


def write_metadata(metadata_directory):
    name = "lakebed-%s.dist-info" % version()
    folder = pathlib.Path(metadata_directory) / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(metadata(), encoding="utf-8")
    (folder / "WHEEL").write_text(wheel_text(TAG), encoding="utf-8")
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return write_metadata(metadata_directory)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    return write_metadata(metadata_directory)


def get_requires_for_build_wheel(config_settings=None):
    return [] if shutil.which("cmake") else ["cmake"]


def get_requires_for_build_editable(config_settings=None):
    return get_requires_for_build_wheel(config_settings)


# ---- the source distribution: what builds it, and the sources that tools/setup.sh fetched


def source_files():
    for name in SOURCES + FETCHED:
        top = ROOT / name
        found = [top] if top.is_file() else sorted(top.rglob("*")) if top.is_dir() else []
        for path in found:
            relative = path.relative_to(ROOT).as_posix()
            if path.is_file() and not LEFT_OUT.search(relative):
                yield path, relative


def add_source(archive, name, content, mode):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = mode
    entry.mtime = 315532800
    archive.addfile(entry, io.BytesIO(content))


def build_sdist(sdist_directory, config_settings=None):
    top = "lakebed-%s" % version()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add_source(archive, top + "/PKG-INFO", metadata().encode(), 0o644)
        for path, name in source_files():
            add_source(archive, top + "/" + name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
    with gzip.GzipFile(pathlib.Path(sdist_directory) / (top + ".tar.gz"), "wb", mtime=0) as out:
        out.write(packed.getvalue())
    return top + ".tar.gz"


# ---- by hand: python3 python/build_backend.py FOLDER


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (build_sdist(folder), build_wheel(folder)):
        print(folder / name)


if __name__ == "__main__":
    main()
