"""Measure MessagePack files against Python's msgpack, on the same file in the same run.

    bench/bench_msgpack.py [--rows 1000000] [--runs 5] [--folder DIR]

Rows are those of bench_avro.py: ten fields, among them nullable ones, a list and a map. Lakebed's figures are the processor time of the
whole command with one thread (`slice --to arrows` into nothing finds the types of all columns, decodes every value and prints the Arrow
batches); msgpack's leaves out what Python takes to start. Medians, in turns. Passing objects over is measured in process
(bench/bench_msgpack_pass.c, which is built). Needs the environment of the tests (tools/setup.sh --tests).
"""

import pathlib
import statistics
import subprocess
import tempfile

import bench_avro
import run as bench_run


def make(folder, count):
    import msgpack
    path = folder / "rows.msgpack"
    with open(path, "wb") as out:
        for row in bench_avro.rows(count):
            out.write(msgpack.packb(row))
    return path


def passing(a, path):
    subprocess.run(["cmake", "--build", a.lakebed.parent, "--target", "lakebed_bench_msgpack"], check=True, stdout=subprocess.DEVNULL)
    objects, size, passed, scanned, _ = bench_run.output([a.lakebed.parent / "bench_msgpack_pass", path]).split()
    print("%-40s %9.2f GB/s, %.2f of reading the bytes (%s objects)" % (
        "passing objects over", int(size) / float(passed) / 1e9, float(scanned) / float(passed), objects))


def mapping(a, folder, path):
    command = [a.lakebed, "map", folder, "--quiet", "-j", 1]
    cpu = statistics.median(bench_avro.ours(command)[0] for _ in range(a.runs))
    print("%-40s %9.1f ms  %31.0f MB/s" % ("map with types and statistics", cpu * 1e3, path.stat().st_size / cpu / 1e6))
    bench_avro.mapped(a, path, "100 rows from the middle, mapped")


def main():
    a = bench_avro.arguments(__doc__)
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        folder = pathlib.Path(folder)
        path = make(folder, a.rows)
        print("%d rows, %d bytes; processor time of Lakebed, of msgpack, and the ratio" % (a.rows, path.stat().st_size))
        bench_avro.race(a, "types and decode", [a.lakebed, "slice", path, "--to", "arrows", "-j", 1, "--no-map"], "msgpack decode", path,
                        path.stat().st_size)
        passing(a, path)
        mapping(a, folder, path)


if __name__ == "__main__":
    main()
