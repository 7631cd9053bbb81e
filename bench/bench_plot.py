"""Plot what maps and slices of CSV cost against the size of the file and against the offset, with DuckDB and Polars beside.

    bench/bench_plot.py [--sizes 64M,128M,256M,512M,1G] [--offsets 11] [--runs 5] [--out docs/img] [--folder DIR]

Writes cost-of-size.svg, cost-of-offset.svg and the figures behind them, cost.json. Medians with a warm cache; times of
the command are those of the whole process, times of the others leave out what Python and they take to start.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run as common    # noqa: E402  (it stands beside this file)

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 70, 190, 40, 50
COLOURS = ("#0b6e4f", "#5aa786", "#c0392b", "#e08e79", "#2c5f9e", "#8fb3de")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--sizes", default="64M,128M,256M,512M,1G")
    add("--offsets", type=int, default=11, help="places in the largest file, from its first row to its last")
    add("--runs", type=int, default=5)
    add("--lakebed", default=os.environ.get("LAKEBED", common.ROOT / "build" / "lakebed"), type=pathlib.Path)
    add("--out", type=pathlib.Path, default=common.ROOT / "docs" / "img")
    add("--folder", help="make the files in a folder below this one")
    return parser.parse_args()


def median(runs, measure):
    return statistics.median(measure() for _ in range(runs))


def slice_cost(args, path, first, runs):
    command = [args.lakebed, "slice", path, "--offset", str(first), "--limit", str(common.COUNT), "--to", "csv"]
    return median(runs, lambda: common.wall(command))


def peer_cost(tool, work, path, first, runs):
    command = [sys.executable, common.HERE / "peers.py", tool, work, path, str(first), str(common.COUNT)]
    return median(runs, lambda: common.told(command, os.cpu_count()))


def measure_size(args, lake, path, rows, tools):
    """Costs of one file: name → seconds."""
    few = max(args.runs // 3, 1)
    out = {"Lakebed: map": median(few, lambda: common.wall([args.lakebed, "map", lake, "-q"])),
           "Lakebed: 100 rows": slice_cost(args, path, rows * 3 // 4, args.runs)}
    for tool, name in tools:
        out["%s: read all" % name] = peer_cost(tool, "read", path, 0, few)
        out["%s: 100 rows" % name] = peer_cost(tool, "slice", path, rows * 3 // 4, few)
    return out


def measure_offsets(args, path, rows, tools):
    few = max(args.runs // 3, 1)
    found = {}
    for i in range(args.offsets):
        first = (rows - common.COUNT) * i // max(args.offsets - 1, 1)
        print("offset %d" % first, file=sys.stderr)
        costs = {"Lakebed": slice_cost(args, path, first, args.runs)}
        for tool, name in tools:
            costs[name] = peer_cost(tool, "slice", path, first, few)
        found[first] = costs
    return found


def measure(args, folder):
    tools = [pair for pair in (("duckdb", "DuckDB"), ("polars", "Polars")) if common.have(pair[0])]
    make = common.build_tool("bench_rows", folder)
    sizes, offsets = {}, {}
    wanted = [common.parse_size(text) for text in args.sizes.split(",")]
    for size in wanted:
        print("size %d" % size, file=sys.stderr)
        lake = folder / ("lake-%d" % size)
        lake.mkdir()
        path = lake / "orders.csv"
        rows = int(common.output([make, path, str(size)]))
        sizes[path.stat().st_size] = measure_size(args, lake, path, rows, tools)
        if size == wanted[-1]:
            offsets = measure_offsets(args, path, rows, tools)
        shutil.rmtree(lake)
    return sizes, offsets


# ---- drawing

def series_of(points):
    names = sorted({name for costs in points.values() for name in costs})
    return {name: [(x, costs[name]) for x, costs in sorted(points.items()) if name in costs] for name in names}


def label(seconds):
    return "%g s" % seconds if seconds >= 1 else "%g ms" % (seconds * 1000)


def svg(title, x_name, x_text, points):
    """A plot with a logarithmic axis of costs, one line for each name."""
    series = series_of(points)
    xs = [x for line in series.values() for x, _ in line]
    ys = [y for line in series.values() for _, y in line]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    place_x = lambda x: LEFT + (x - min(xs)) / ((max(xs) - min(xs)) or 1) * (right - LEFT)
    place_y = lambda y: bottom - (math.log10(y) - low) / ((high - low) or 1) * (bottom - TOP)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">' % (WIDTH, HEIGHT),
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           '<text x="%d" y="22" font-size="15" fill="#222222">%s</text>' % (LEFT, title)]
    for power in range(low, high + 1):
        y = place_y(10 ** power)
        out.append('<path d="M%d %.1fH%d" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#444444">%s</text>'
                   % (LEFT, y, right, LEFT - 8, y + 4, label(10 ** power)))
    for x in sorted(set(xs))[::max(len(set(xs)) // 6, 1)]:
        out.append('<text x="%.1f" y="%d" text-anchor="middle" fill="#444444">%s</text>' % (place_x(x), bottom + 18, x_text(x)))
    out.append('<text x="%.1f" y="%d" text-anchor="middle" fill="#222222">%s</text>' % ((LEFT + right) / 2, HEIGHT - 10, x_name))
    for i, (name, line) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join("%.1f,%.1f" % (place_x(x), place_y(y)) for x, y in line)
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (path, colour))
        out.extend('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (place_x(x), place_y(y), colour) for x, y in line)
    ends = sorted((place_y(line[-1][1]), i, name) for i, (name, line) in enumerate(series.items()))
    last = 0
    for y, i, name in ends:
        last = max(y, last + 15)
        out.append('<text x="%d" y="%.1f" fill="%s">%s, %s</text>'
                   % (right + 10, last + 4, COLOURS[i % len(COLOURS)], name, common.duration(series[name][-1][1])))
    return "\n".join([*out, "</svg>", ""])


def main():
    args = arguments()
    if not args.lakebed.exists():
        sys.exit("there is no %s: run make first" % args.lakebed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lakebed-bench-", dir=args.folder))
    load = os.getloadavg()[0]
    try:
        sizes, offsets = measure(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    args.out.mkdir(parents=True, exist_ok=True)
    mega = lambda size: "%d MB" % round(size / 1e6)
    (args.out / "cost-of-size.svg").write_text(svg("Cost against the size of the file", "size of the CSV file", mega, sizes),
                                               encoding="utf-8")
    (args.out / "cost-of-offset.svg").write_text(
        svg("100 rows of a CSV file of %s, against where they lie" % mega(max(sizes)), "first row",
            lambda row: "%.1f M" % (row / 1e6), offsets), encoding="utf-8")
    (args.out / "cost.json").write_text(
        json.dumps({"machine": common.machine(), "load_before": load, "versions": common.versions(args.lakebed),
                    "sizes": sizes, "offsets": offsets}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
