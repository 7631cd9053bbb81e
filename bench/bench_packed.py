"""Measure compressed text: mapping it, which finds its restart points, against tools that index or decompress it, and slices.

    bench/bench_packed.py [--size 1G] [--runs 5] [--json FILE] [--folder DIR]

The file of bench/run.py is compressed by Python in every container: gzip as one member (level 6) and as BGZF, zstd in frames of 1
MiB, lz4; bzip2 and xz, which are slow to write, of an eighth of it. indexed_gzip builds its index with the same distance between
points; isal (igzip) decompresses and throws away. Times of the command are those of the whole process; those of Python's tools
leave out starting. Everything is warm, and works take turns. Ratios to peers are of processor time, as others may be at work on the
machine; those of two threads to one are of wall time, and of no worth where the machine is not idle.
"""

import argparse
import bz2
import json
import lzma
import os
import pathlib
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import run as bench_run

SPACING = 4 << 20
COUNT = 100
STRUCTURE = ["--types", "text", "--stats", "none"]
GOALS = {"build": 2.0, "slice": 0.015, "index": 0.01, "threads": 1.8}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--size", type=bench_run.parse_size, default=bench_run.parse_size("1G"), help="bytes of the text, as 200M (default 1G)")
    add("--runs", type=int, default=5)
    add("--lakebed", default=os.environ.get("LAKEBED", bench_run.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--json", type=pathlib.Path, help="where the figures go")
    add("--folder", help="make the files in a folder below this one")
    add("--peer", nargs=2, help=argparse.SUPPRESS)    # one measurement, in a process of its own
    return parser.parse_args()


# ---- the files

def pieces(path, size, limit=None):
    with open(path, "rb") as f:
        left = limit if limit is not None else os.path.getsize(path)
        while left > 0 and (piece := f.read(min(size, left))):
            left -= len(piece)
            yield piece


def whole(compressor):
    def compress(parts):
        yield from map(compressor.compress, parts)
        yield compressor.flush()
    return compress


def bgzf(parts):
    for part in [*parts, b""]:
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = deflate.compress(part) + deflate.flush()
        yield struct.pack("<BBBBIBBH2sHH", 31, 139, 8, 4, 0, 0, 255, 6, b"BC", 2, len(body) + 25) + body
        yield struct.pack("<II", zlib.crc32(part), len(part))


def arrow(codec):
    import pyarrow
    return lambda parts: (pyarrow.Codec(codec).compress(part, asbytes=True) for part in parts)


def containers():
    """Name: ending, how, bytes of text at a time, part of the text."""
    return {"gzip": ("gz", whole(zlib.compressobj(6, zlib.DEFLATED, 31)), 1 << 20, 1),
            "BGZF": ("gz", bgzf, 0xFF00, 1),
            "zstd frames": ("zst", arrow("zstd"), 1 << 20, 1),
            "lz4": ("lz4", arrow("lz4"), 1 << 20, 1),
            "bzip2": ("bz2", whole(bz2.BZ2Compressor(9)), 1 << 20, 8),
            "xz": ("xz", whole(lzma.LZMACompressor(preset=3)), 1 << 20, 8)}


def make(folder, plain, name):
    """A directory with the file in a container; its path, its size, bytes of text. The text ends behind a row."""
    ending, compress, at_a_time, part = containers()[name]
    size = os.path.getsize(plain) // part
    if part != 1:
        with open(plain, "rb") as f:
            f.seek(size)
            size += len(f.readline())
    lake = folder / name.replace(" ", "-")
    lake.mkdir()
    path = lake / ("orders.csv." + ending)
    with open(path, "wb") as out:
        for piece in compress(pieces(plain, at_a_time, size)):
            out.write(piece)
    return path, path.stat().st_size, size


# ---- the peers

def peer(tool, path):
    """Print seconds, and those of the processor."""
    if tool == "indexed_gzip":
        import indexed_gzip
        file = indexed_gzip.IndexedGzipFile(path, spacing=SPACING)
        work = file.build_full_index
    else:
        from isal import igzip

        def work():
            buffer = bytearray(1 << 20)
            with igzip.open(path, "rb") as f:
                while f.readinto(buffer):
                    pass
    began, used = time.perf_counter(), time.process_time()
    work()
    print(time.perf_counter() - began, time.process_time() - used)


def ask_peer(tool, path):
    text = bench_run.output([sys.executable, __file__, "--peer", tool, path])
    return tuple(float(word) for word in text.split())


# ---- measuring

def command(words):
    """Seconds of a whole process, and those of the processor."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def works(lakebed, paths, rows):
    out = {}

    def add(name, work):
        out[name] = work

    def command_of(*words):
        return lambda: command([lakebed, *words])

    gz = paths["gzip"][0]
    add("gzip, map structure", command_of("map", gz.parent, "-q", "-j", 1, *STRUCTURE))
    for tool in ("indexed_gzip", "isal"):
        if bench_run.have(tool):
            add(tool, lambda tool=tool: ask_peer(tool, gz))
        else:
            print("%s is left out: it is not installed" % tool, file=sys.stderr)
    middle = ["--offset", rows // 2, "--limit", COUNT, "--to", "csv"]
    add("gzip, slice in the middle", command_of("slice", gz, *middle))
    for threads in (1, 2):
        for name in ("BGZF", "zstd frames"):
            add("%s, map structure, %d" % (name, threads),
                command_of("map", paths[name][0].parent, "-q", "-j", threads, *STRUCTURE))
        add("gzip, full map, %d" % threads, command_of("map", gz.parent, "-q", "-j", threads))
        add("gzip, read two columns, %d" % threads,
            command_of("slice", gz, "--columns", "id,price", "--to", "arrows", "-j", threads))
        add("gzip, to CSV, %d" % threads, command_of("slice", gz, "--to", "csv", "-j", threads))
    for name in ("lz4", "bzip2", "xz"):
        add("%s, map structure" % name, command_of("map", paths[name][0].parent, "-q", "-j", 1, *STRUCTURE))
        add("%s, slice in the middle" % name,
            command_of("slice", paths[name][0], "--offset", rows // 2 // containers()[name][3], *middle[2:]))
    return out


def measure(args, folder):
    plain = folder / "plain" / "orders.csv"
    plain.parent.mkdir()
    rows = int(bench_run.output([bench_run.build_tool("bench_rows", folder), plain, str(args.size)]))
    paths = {}
    for name in containers():
        print("compressing: %s" % name, file=sys.stderr)
        paths[name] = make(folder, plain, name)
    for path, _, _ in [(plain, 0, 0), *paths.values()]:
        command([args.lakebed, "map", path.parent, "-q", *STRUCTURE])
    check = bench_run.output([args.lakebed, "slice", paths["gzip"][0], "--offset", str(rows // 2), "--limit", "1", "--to", "csv"])
    assert check.split("\n")[1].split(",")[0] == str(rows // 2), "the slice in the middle is wrong"
    sizes = {name: {"bytes": size, "text": text, "map": (path.parent / ".br_map.bazan").stat().st_size}
             for name, (path, size, text) in paths.items()}
    sizes["plain"] = {"bytes": plain.stat().st_size, "text": plain.stat().st_size,
                      "map": (plain.parent / ".br_map.bazan").stat().st_size}
    all_works = works(args.lakebed, paths, rows)
    taken = {name: [] for name in all_works}
    for turn in range(args.runs):
        print("round %d of %d" % (turn + 1, args.runs), file=sys.stderr)
        for name, work in all_works.items():
            taken[name].append(work())
    seconds = {name: {"wall": statistics.median(t[0] for t in all), "processor": statistics.median(t[1] for t in all),
                      "least": min(t[0] for t in all)} for name, all in taken.items()}
    return {"machine": bench_run.machine(), "load": os.getloadavg()[0], "rows": rows, "sizes": sizes, "seconds": seconds}


# ---- telling

def verdict(value, goal, less=False):
    return "reached" if (value <= goal if less else value >= goal) else "missed"


def table(figures):
    seconds, sizes = figures["seconds"], figures["sizes"]
    text = {name: s["text"] for name, s in sizes.items()}
    rows = [["work", "wall", "processor", "text a second", "held against", "goal"], ["---"] * 6]

    def add(name, against="", goal="", of=None):
        s = seconds[name]
        rate = bench_run.rate(text[of or name.split(",", 1)[0]], s["processor"]) if "slice" not in name else ""
        rows.append([name, bench_run.duration(s["wall"]), bench_run.duration(s["processor"]), rate, against, goal])

    build = seconds["gzip, map structure"]["processor"]
    for peer_name in ("indexed_gzip", "isal"):
        if peer_name in seconds:
            add(peer_name, of="gzip")
    ratios = {p: seconds[p]["processor"] / build for p in ("indexed_gzip", "isal") if p in seconds}
    add("gzip, map structure", ", ".join("%.2f × %s" % (r, p) for p, r in ratios.items()),
        verdict(ratios.get("indexed_gzip", 0), GOALS["build"]) + " (2 × indexed_gzip)")
    middle = seconds["gzip, slice in the middle"]["wall"]
    add("gzip, slice in the middle", "", verdict(middle, GOALS["slice"], True) + " (15 ms)")
    for name in ("BGZF, map structure", "zstd frames, map structure", "gzip, full map", "gzip, read two columns",
                 "gzip, to CSV"):
        faster = seconds[name + ", 1"]["wall"] / seconds[name + ", 2"]["wall"]
        add(name + ", 1")
        add(name + ", 2", "%.2f × one thread" % faster, verdict(faster, GOALS["threads"]) + " (1.8 ×)")
    for name in ("lz4", "bzip2", "xz"):
        add("%s, map structure" % name)
        add("%s, slice in the middle" % name)
    lines = ["| %s |" % " | ".join(row) for row in rows]
    lines += ["", "| file | text | compressed | map | restart points take |", "|---|---|---|---|---|"]
    for name, s in sizes.items():
        grown = s["map"] - sizes["plain"]["map"] * s["text"] // sizes["plain"]["text"]
        part = "%.2f %%" % (100 * max(grown, 0) / s["bytes"]) if name != "plain" else ""
        if name == "gzip":
            part += ", " + verdict(grown / s["bytes"], GOALS["index"], True) + " (1 %)"
        lines.append("| %s | %d | %d | %d | %s |" % (name, s["text"], s["bytes"], s["map"], part))
    return "\n".join(lines)


def main():
    args = arguments()
    if args.peer:
        return peer(*args.peer)
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    try:
        figures = measure(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("%s; load: %.1f\n\n%s" % (figures["machine"], figures["load"], table(figures)))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
