"""What a wheel needs besides itself: the libraries that every Linux of its tag has, and copies of the others.

A copy lies beside the package's library, which looks there first (DT_RPATH, cmake/python.cmake), under a name of its own
(libzstd.so.1 becomes lb_zstd.so.1), so that it is never taken for the machine's or another package's. The names in the
files are as long as before and are written over in place.
"""

import collections
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sysconfig

# As PEP 600 and its lists have it: what is there wherever the C library is new enough.
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux[-_a-z0-9]*|ld64)\.so(\.\d+)*$")
# The least glibc whose systems have the C++ library of a version: GLIBCXX_3.4.N.
STDCXX = ((19, 17), (22, 24), (24, 27), (25, 28), (28, 31), (29, 34), (30, 35), (32, 38), (33, 39))
DT_NEEDED, DT_STRTAB, DT_SONAME, DT_VERNEED, DT_VERNEEDNUM = 1, 5, 14, 0x6FFFFFFE, 0x6FFFFFFF


class Elf:
    """What the loader reads of a file. ValueError where it is none."""

    def __init__(self, path):
        self.path, self.bytes = pathlib.Path(path), bytearray(pathlib.Path(path).read_bytes())
        if self.bytes[:4] != b"\x7fELF":
            raise ValueError("no ELF file")
        self.wide = self.bytes[4] == 2
        self.order = "<" if self.bytes[5] == 1 else ">"
        self.segments = list(self._segments())
        self.dynamic = list(self._dynamic())
        self.strings = self._at(next((value for tag, value in self.dynamic if tag == DT_STRTAB), 0))

    def _read(self, form, at):
        return struct.unpack_from(self.order + form, self.bytes, at)

    def _segments(self):
        """Kind, place in the file, address and size of each."""
        start, = self._read("Q" if self.wide else "I", 32 if self.wide else 28)
        size, count = self._read("HH", 54 if self.wide else 42)
        for at in range(start, start + size * count, size):
            if self.wide:
                kind, _, place, address, _, bytes_there = self._read("IIQQQQ", at)
            else:
                kind, place, address, _, bytes_there = self._read("IIIII", at)
            yield kind, place, address, bytes_there

    def _at(self, address):
        """The place in the file of what is loaded there."""
        for kind, place, first, size in self.segments:
            if kind == 1 and first <= address < first + size:
                return address - first + place
        return 0

    def _dynamic(self):
        form, size = ("qQ", 16) if self.wide else ("iI", 8)
        for kind, place, _, length in self.segments:
            for at in range(place, place + length, size) if kind == 2 else ():
                yield self._read(form, at)

    def _text(self, index):
        start = self.strings + index
        return self.bytes[start:self.bytes.index(0, start)].decode()

    @property
    def needed(self):
        return [self._text(value) for tag, value in self.dynamic if tag == DT_NEEDED]

    @property
    def versions(self):
        """Versions of symbols that are asked of other files: GLIBC_2.34 …"""
        found = dict(self.dynamic)
        at, names = self._at(found.get(DT_VERNEED, 0)), set()
        for _ in range(found.get(DT_VERNEEDNUM, 0)):
            _, count, _, first, following = self._read("HHIII", at)
            inner = at + first
            for _ in range(count):
                _, _, _, name, next_inner = self._read("IHHII", inner)
                names.add(self._text(name))
                inner += next_inner
            at += following
        return names

    def rename(self, names):
        """Write over what the file and those it needs are called, and save it."""
        for tag, value in self.dynamic:
            if tag not in (DT_NEEDED, DT_SONAME):
                continue
            old = self._text(value)
            new = names.get(old, old).encode()
            if len(new) != len(old.encode()):
                raise ValueError("%s is not as long as %s" % (new, old))
            self.bytes[self.strings + value:self.strings + value + len(new)] = new
        self.path.write_bytes(self.bytes)


def elf_files(folder):
    found = []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            found.append(Elf(path))
    return found


# ---- carrying


def found_by_loader(path):
    """Each library that a file comes to need here, and where it is."""
    listed = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", listed, re.M))


def package_of(path):
    """The package of the system that a file belongs to, as a list of files that may say its licence."""
    for name in (str(path), os.path.realpath(path), str(path).replace("/lib/", "/usr/lib/", 1)):
        if shutil.which("dpkg-query") is None:
            break
        asked = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            package = asked.stdout.split(":")[0]
            return package, [pathlib.Path("/usr/share/doc") / package / "copyright"]
    if shutil.which("rpm") is not None:
        ask = ["rpm", "-qf", "--qf", "%{NAME}", os.path.realpath(path)]
        asked = subprocess.run(ask, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout, sorted((pathlib.Path("/usr/share/licenses") / asked.stdout).glob("*"))
    return None, []


def note_licence(name, path, folder):
    """The licence of a library goes into the wheel with it."""
    package, texts = package_of(path)
    for text in texts:
        if text.is_file():
            place = pathlib.Path(folder) / "licenses" / package
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(text, place / text.name)
    return "%s: a copy of %s%s" % (name, os.path.basename(path), " of the package " + package if package else "")


def own_name(name):
    return "lb_" + name[3:]


def carry(folder):
    """Copy what the installed tree needs and not every Linux has into it. Gives a line about each copy; none where the
    package's library does not look beside itself, as one that was built in another way."""
    package = pathlib.Path(folder) / "lakebed"
    wanted = {}
    for elf in elf_files(package):
        for name, path in found_by_loader(elf.path).items():
            if not SYSTEM.match(name) and not (package / name).exists() and name.startswith("lib"):
                wanted[name] = path
    names, notes = {name: own_name(name) for name in wanted}, []
    for name, path in sorted(wanted.items()):
        copy = package / names[name]
        shutil.copyfile(path, copy)
        copy.chmod(0o755)
        notes.append(note_licence(names[name], path, folder))
    for elf in elf_files(package):
        elf.rename(names)
    if notes:
        place = pathlib.Path(folder) / "licenses"
        place.mkdir(exist_ok=True)
        text = "The package carries these libraries, and its command holds what it needs of them:\n\n"
        (place / "LIBRARIES.txt").write_text(text + "\n".join(notes) + "\n", encoding="utf-8")
    return notes


# ---- the tag


def least_glibc(versions):
    """The 2.N that symbols of these versions need; None: nobody says which systems have them."""
    least = 17  # as PEP 600 begins
    for version in versions:
        glibc = re.match(r"GLIBC_2\.(\d+)(\.\d+)?$", version)
        stdcxx = re.match(r"GLIBCXX_3\.4\.(\d+)$", version)
        if glibc:
            least = max(least, int(glibc[1]))
        elif stdcxx:
            have = [n for most, n in STDCXX if int(stdcxx[1]) <= most]
            if not have:
                return None
            least = max(least, have[0])
        elif version == "GLIBC_PRIVATE":
            return None
    return least


def platform(folder):
    """The platform part of the tag for an installed tree: manylinux with the least C library, or that of this machine where
    something is needed that not every Linux has."""
    here = re.sub(r"[-.]", "_", sysconfig.get_platform())
    elves = elf_files(folder)
    inside = {elf.path.name for elf in elves}
    versions = collections.Counter()
    for elf in elves:
        if any(name not in inside and not SYSTEM.match(name) for name in elf.needed):
            return here
        versions.update(elf.versions)
    least = least_glibc(versions)
    glibc = any(version.startswith("GLIBC_") for version in versions)
    if least is None or not glibc or not here.startswith("linux_"):
        return here
    return "manylinux_2_%d_%s" % (least, here[len("linux_"):])
