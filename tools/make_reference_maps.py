"""Make the maps under tests/lake/data: the layouts of other programs (5, 7 and 8 columns), and some that are none.

    python3 tools/make_reference_maps.py        (needs pyarrow)

The rows stand in tests/lake/test_map_reference.c as well.
"""

import json
import pathlib

import pyarrow as pa

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "lake" / "data"


def block(ordinal, first_row, row_count, first_byte, total, compressed, columns=()):
    return {"ordinal": ordinal, "first_row": first_row, "row_count": row_count, "first_byte": first_byte,
            "total_byte_size": total, "compressed_size": compressed, "columns": list(columns)}


def chunk(path, offset, length, pages=()):
    return {"path": path, "offset": offset, "length": length,
            "pages": [{"first_row": r, "offset": o, "length": n} for r, o, n in pages]}


def bounds(low=None, high=None, low_str=None, high_str=None):
    return {"min": low, "max": high, "min_str": low_str, "max_str": high_str}


def stats(rows, **columns):
    return json.dumps({"total_rows": rows, "columns": columns})


# path, size, mtime in ms, rows, statistics, blocks, hash
ROWS = [
    ("a/data.parquet", 900, 1700000000001, 10,
     stats(10, id=bounds(0.0, 9.0), name=bounds(low_str="a", high_str="zé")),
     [block(0, 0, 4, 4, 400, 300, [chunk("id", 4, 100, [(0, 4, 50), (2, 54, 50)]), chunk("s.name", 104, 200)]),
      block(1, 4, 6, 304, 600, 500, [chunk("id", 304, 200), chunk("s.name", 504, 300)])], "0" * 63 + "f"),
    ("b.csv", 120, 1700000000002, 5, stats(5, big=bounds(1, 9007199254740993)),
     [block(0, 0, 3, 8, 60, 0), block(1, 3, 2, 68, 52, 0)], None),
    ("c.arrow", 50, -1, 2, stats(2), [block(0, 0, 2, None, 0, 0), block(1, 2, 0, None, 0, 0)], None),
    # Blocks that do not add up to the rows: the entry is good, its locator is not.
    ("d.json", 77, 0, 9, stats(9), [block(0, 0, 8, 1, 70, 0)], None),
    ("e.xlsx", 77, 0, 0, stats(0), [], None),
]
META3 = {"bazan.kind": "lake_map", "bazan.version": "1", "bazan.payload": "arrow_ipc", "bazan.map_schema": "3",
         "bazan.checkpoint_stride_rows": "1000", "bazan.fingerprint": "blake3", "bazan.stats_columns": '["id","name"]'}
META2 = {**{k: META3[k] for k in ("bazan.kind", "bazan.version", "bazan.payload")}, "bazan.map_schema": "2"}
TYPES = [("rel_path", pa.utf8()), ("size_bytes", pa.uint64()), ("mtime_ms", pa.int64()), ("total_rows", pa.uint64()),
         ("stats_json", pa.utf8()), ("first_global_row", pa.uint64()), ("row_groups_json", pa.utf8()),
         ("content_hash", pa.utf8())]


def table(rows, n_columns, metadata):
    first, columns = 0, [[] for _ in TYPES]
    for path, size, mtime, count, stats_json, blocks, digest in rows:
        values = (path, size, mtime, count, stats_json, first, json.dumps(blocks, separators=(",", ":")), digest)
        for column, value in zip(columns, values):
            column.append(value)
        first += count
    fields = [pa.field(name, t, nullable=name == "content_hash") for name, t in TYPES[:n_columns]]
    arrays = [pa.array(c, t) for c, (_, t) in zip(columns, TYPES)][:n_columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))


def save(name, t, rows_a_batch=None, **options):
    with pa.ipc.new_file(OUT / name, t.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(t, max_chunksize=rows_a_batch)


def changed(**keys):
    return {**META3, **{"bazan." + k: v for k, v in keys.items()}}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    eight = table(ROWS, 8, META3)
    save("reference_5.bazan", table([ROWS[1], ROWS[0]] + ROWS[2:], 5, None), 2)    # not in the order of paths
    save("reference_7.bazan", table(ROWS, 7, META2))
    save("reference_8.bazan", eight, 2)
    extra = pa.array([[["x"]], None, [], [[]], [["y", None]]], pa.list_(pa.large_list(pa.utf8())))
    save("reference_8_extra.bazan", eight.append_column("format", pa.array(range(5), pa.int16()))
         .append_column("nested", extra))

    save("bad_4_columns.bazan", table(ROWS, 4, None))
    save("bad_6_columns.bazan", table(ROWS, 6, None))
    save("bad_type.bazan", eight.set_column(1, "size_bytes", eight["size_bytes"].cast(pa.int64())))
    save("bad_kind.bazan", table(ROWS, 8, changed(kind="other")))
    save("bad_version.bazan", table(ROWS, 8, changed(version="2")))
    save("bad_map_schema.bazan", table(ROWS, 8, changed(map_schema="4")))
    save("bad_layout.bazan", table(ROWS, 7, META3))
    save("bad_stride.bazan", table(ROWS, 8, changed(checkpoint_stride_rows="0")))
    save("bad_fingerprint.bazan", table(ROWS, 8, changed(fingerprint="md5")))
    save("bad_stats.bazan", table(ROWS, 8, changed(stats_columns="id")))
    save("bad_no_hash.bazan", eight.rename_columns([n for n, _ in TYPES[:7]] + ["hash"]))
    save("bad_compressed.bazan", eight, compression="zstd")
    save("bad_dictionary.bazan", eight.set_column(7, "content_hash", eight["content_hash"].dictionary_encode()))
    save("bad_ext.bazan", table(ROWS, 8, changed(ext="1")))
    save("bad_path.bazan", table([("../x.csv",) + ROWS[1][1:]], 8, META3))
    save("bad_json.bazan", table([ROWS[1][:4] + ("{", [{"first_row": "0"}], None)], 8, META3))
    (OUT / "bad_text.bazan").write_text("this is no map\n" * 4)


if __name__ == "__main__":
    main()
