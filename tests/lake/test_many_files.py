"""Lakes of many files: memory does not grow with what is known of each, maps of several batches, and what comes of a map that is built
over another."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pyarrow as pa
import pytest

LAKEBED = os.environ["LAKEBED"]
MAP, OLD = ".br_map.bazan", ".br_map.bazan.old"
FILES = 20_000
LIMIT_KIB = 28 << 10    # for 20,000 files; 2 KiB for each of them would be 40 MiB more


def run(*args, status=0):
    p = subprocess.run([LAKEBED, *map(str, args)], capture_output=True, check=False)
    assert p.returncode == status, (args, p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout, p.stderr.decode(errors="replace")


# A process begins with the peak of the one it was forked from, so that a small one has to come between.
MEASURE = """import os, resource, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)"""


def peak(*args, status=0):
    """Largest resident size of the command in KiB, or that of a bare Python if that is more."""
    command = [sys.executable, "-I", "-S", "-c", MEASURE, LAKEBED, *map(str, args)]
    code, kib = map(int, subprocess.run(command, capture_output=True, check=True).stdout.split())
    assert code == status, args
    return kib


def put(folder, first, count, text=""):
    folder.mkdir(exist_ok=True)
    for i in range(first, first + count):
        (folder / ("%06d.csv" % i)).write_text(text)


def entries(lake):
    with pa.ipc.open_file(lake / MAP) as f:
        batches = [f.get_batch(i) for i in range(f.num_record_batches)]
        return batches, {k.decode(): v.decode() for k, v in f.schema.metadata.items()}


@pytest.fixture
def in_memory():
    """A folder where tens of thousands of files and some syncs take no time, if there is one."""
    shared = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield pathlib.Path(folder)


@pytest.mark.skipif(os.environ.get("LAKEBED_SANITIZE", "") != "", reason="a sanitizer's memory is not ours")
def test_memory_of_many_files(in_memory):
    many = in_memory / "many"
    many.mkdir()
    for k in range(10):
        put(many / ("d%d" % k), 0, FILES // 10)
    assert peak("map", "-q", "-j", "2", many) < LIMIT_KIB
    size = (many / MAP).stat().st_size >> 10    # a map is mapped into memory where it is read
    assert peak("doctor", "-q", many) < LIMIT_KIB + size
    for k in range(10):
        for i in range(0, FILES // 10, 2):
            os.utime(many / ("d%d" % k) / ("%06d.csv" % i), (1, 1))
        (many / ("d%d" % k)).rename(many / ("e%d" % k)) if k % 5 == 0 else put(many / "new", 100 * k, 100)
    assert peak("doctor", "-q", "--heal", many) < LIMIT_KIB + size
    report = json.loads(run("doctor", "--json", many)[0])
    assert (report["status"], report["total_files"]) == ("HEALTHY", FILES + 800)
    os.unlink(many / MAP)
    assert peak("doctor", "-q", "--heal", many) < LIMIT_KIB
    assert json.loads(run("doctor", "--json", many)[0])["status"] == "HEALTHY"


@pytest.fixture
def wide(in_memory):
    """Files of so many columns that a batch holds some thousand of them."""
    header = ",".join("column_%02d" % i for i in range(80))
    put(in_memory / "a", 0, 1500, header + "\n" + ",".join(map(str, range(80))) + "\n")
    put(in_memory / "b", 0, 1500, header + "\n" + ",".join("x%d" % i for i in range(80)) + "\n" + "," * 79 + "\n")
    return in_memory


def test_a_healed_map_of_several_batches_is_a_fresh_one(wide):
    run("map", "-q", wide)
    batches, meta = entries(wide)
    assert len(batches) >= 2
    total, starts = 0, []
    for b in batches:
        starts.append("%d:%d:0" % (b.num_rows, b.column("first_global_row")[0].as_py()))
        assert b.column("first_global_row")[0].as_py() == total
        total += sum(b.column("total_rows").to_pylist())
    assert meta["bazan.batches"] == ",".join(starts) and meta["bazan.total_rows"] == str(total) == "4500"
    for i in range(0, 1500, 10):
        (wide / "a" / ("%06d.csv" % i)).unlink()
        with open(wide / "b" / ("%06d.csv" % i), "a") as f:
            f.write(",".join("y%d" % k for k in range(80)) + "\n")
    put(wide / "c", 0, 200, "id\n1\n2\n")
    assert json.loads(run("doctor", "--json", "--heal", wide)[0])["status"] == "HEALED"
    healed, healed_meta = entries(wide)
    run("map", "-q", wide)
    fresh, fresh_meta = entries(wide)
    times = {"inspected_ns", "verified_ns", "ctime_ns"}
    assert [b.num_rows for b in healed] == [b.num_rows for b in fresh]
    for a, b in zip(healed, fresh):
        for name in set(a.schema.names) - times:
            assert a.column(name).equals(b.column(name)), name
    assert {k: v for k, v in healed_meta.items() if k != "bazan.created_ns"} == \
        {k: v for k, v in fresh_meta.items() if k != "bazan.created_ns"}


def test_entries_put_into_other_batches(wide):
    """Another program may write the entries in batches of its own and keep what the metadata say: answers stay right."""
    run("map", "-q", wide)
    want = run("locate", wide, *range(0, 4500, 101), "--json")[0]
    with pa.ipc.open_file(wide / MAP) as f:
        table = f.read_all().combine_chunks()
    for size in (1, 700, 1499, 5000):
        with pa.ipc.new_file(wide / MAP, table.schema) as out:
            out.write_table(table.slice(0, size), max_chunksize=size)
            out.write_table(table.slice(size))
        assert run("locate", wide, *range(0, 4500, 101), "--json")[0] == want


def test_a_map_built_over_another(tmp_path):
    (tmp_path / "a.csv").write_text("id;v\n1;x\n")
    given = ["--stride", "7", "--delimiter", ";", "--set", "b*:encoding=WINDOWS-1252", "--stats", "id,v", "--hidden",
             "--exclude", "no such*", "--null", "NA", "--fingerprint", "blake3", "--interop", "full"]
    _, err = run("map", "-q", tmp_path, *given)
    assert "former map" not in err and not (tmp_path / OLD).exists()
    first = (tmp_path / MAP).read_bytes()
    _, err = run("map", "-q", tmp_path, *given)
    assert "former map" not in err, "nothing is lost"
    first = (tmp_path / MAP).read_bytes()
    _, err = run("map", tmp_path, "--stride", "9", "--delimiter", ";")
    note = [line for line in err.splitlines() if "former map" in line]
    assert note == ["lakebed: note: the former map was built with --fingerprint blake3 --interop full --stats id,v --hidden "
                    "--exclude 'no such*' --set 'b*:encoding=WINDOWS-1252' --null NA, which the new one is not; it is kept, "
                    "and comes back with `lakebed doctor %s --undo`" % tmp_path]
    assert (tmp_path / OLD).read_bytes() == first
    second = (tmp_path / MAP).read_bytes()
    run("doctor", tmp_path, "--undo")
    assert ((tmp_path / MAP).read_bytes(), (tmp_path / OLD).read_bytes()) == (first, second)
    # What is no map does not take the place of one.
    (tmp_path / MAP).write_bytes(b"no map")
    run("map", "-q", tmp_path, "--delimiter", ";")
    assert (tmp_path / OLD).read_bytes() == second
