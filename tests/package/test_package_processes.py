"""Threads, forks, other processes, signals, and what is left behind."""

import concurrent.futures
import gc
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import package_lake
import pytest

br = package_lake.lakebed
N = 3000
SANITIZED = bool(os.environ.get("LAKEBED_SANITIZE"))
pytestmark = pytest.mark.skipif(
    "thread" in os.environ.get("LAKEBED_SANITIZE", ""), reason="the thread sanitizer does not survive forks"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "data"
    folder.mkdir()
    package_lake.numbers(folder / "a.csv", 1000)
    package_lake.numbers(folder / "b.csv", N - 1000, 1000)
    br.lake.create_map(folder, checkpoint_stride_rows=64)
    return folder


# ---- threads


def test_threads_hammer_one_table(folder):
    lake = br.open(folder)
    errors = []

    def work(seed):
        draw = random.Random(seed)
        for _ in range(150):
            i, n = draw.randrange(N), draw.randrange(200)
            try:
                if lake[i : i + n].column("n") != list(range(i, min(i + n, N))):
                    errors.append((i, n))
                wanted = [draw.randrange(N) for _ in range(20)]
                if lake.take(wanted).column("n") != wanted or lake[i]["n"] != i:
                    errors.append(wanted)
                if br.lake.locate_row(folder, i)["file_offset"] != i - (1000 if i >= 1000 else 0):
                    errors.append(i)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_closing_while_others_read(folder):
    """Each call ends as if nothing happened, or says that the table is closed."""
    for _ in range(30):
        lake = br.open(folder)
        strange = []

        def work():
            try:
                for i in range(10_000):
                    lake.slice(i % N, 50)
            except ValueError as error:
                strange.extend([] if "closed" in str(error) else [error])

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.003)
        lake.close()
        for thread in threads:
            thread.join()
        assert strange == []


def test_a_stream_is_read_by_one_thread_at_a_time(folder):
    batches = br.open(folder).batches(max_rows=1)
    seen, refused = [], []

    def work():
        while True:
            try:
                seen.append(next(batches)[0]["n"])
            except StopIteration:
                return
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) >= N - 4 and all("another thread" in text for text in refused)


def test_other_threads_run_meanwhile(tmp_path):
    """A long call lets go of the interpreter's lock."""
    package_lake.numbers(tmp_path / "big.csv", 300_000)
    turns = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            turns.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    br.lake.create_map(tmp_path, checkpoint_stride_rows=10)
    took = time.monotonic() - began
    stop.set()
    thread.join()
    assert len(turns) > took * 20


# ---- forks and other processes


def in_child(work):
    """What `work` gives in a forked child, by a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, pickle.dumps(work()))
            os._exit(0)
        except BaseException as error:
            os.write(writing, pickle.dumps(repr(error)))
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        value = pickle.loads(answer.read())
    _, status = os.waitpid(child, 0)
    assert status == 0, value
    return value


def test_a_table_survives_a_fork(folder):
    lake = br.open(folder)
    view = lake.select(["n"])
    shuffled = lake.shuffle(3)
    rows = lake[5:9]
    order = shuffled.rows()
    child = in_child(lambda: (lake[1234]["n"], view[7], shuffled[5]["n"], rows.column("n"), len(lake)))
    assert child == (1234, {"n": 7}, order[5], [5, 6, 7, 8], N)
    assert in_child(lambda: in_child(lambda: lake[3]["n"])) == 3
    assert lake[1234]["n"] == 1234


def test_a_fork_while_threads_read(folder):
    lake = br.open(folder)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            lake.take([random.randrange(N) for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for i in range(20):
            assert in_child(lambda: lake[i : i + 3].column("n")) == [i, i + 1, i + 2]
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_stream_does_not_survive_a_fork(folder):
    batches = br.open(folder).batches(max_rows=10)
    next(batches)

    def work():
        try:
            for _ in range(1000):
                next(batches)
        except RuntimeError as error:
            return str(error)

    assert "fork" in in_child(work)
    assert next(batches)[0]["n"] == 10


def numbers_of(table, rows):
    return table.take(rows).column("n")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(folder, method):
    lake = br.open(folder)
    context = multiprocessing.get_context(method)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([package_lake.PACKAGE, os.path.dirname(__file__)])
    try:
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            parts = [list(range(i, N, 7)) for i in range(7)]
            assert list(pool.map(numbers_of, [lake] * 7, parts)) == parts
            assert pool.submit(lake.slice, 3, 2).result().column("n") == [3, 4]
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


# ---- signals

BUILD = """
    import sys, lakebed
    print("begin", flush=True)
    try:
        lakebed.lake.create_map(sys.argv[1], checkpoint_stride_rows=3)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise SystemExit(3)
    print("done", flush=True)
"""


def interrupted(source, folder, wait, how=signal.SIGINT):
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=package_lake.environment(),
    )
    assert child.stdout.readline() == "begin\n"
    time.sleep(wait)
    sent = time.monotonic()
    child.send_signal(how)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err, time.monotonic() - sent


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    piece = "".join("%d,%d,row %d\n" % (i, i * i, i) for i in range(100_000))
    for name in "abc":
        with open(folder / (name + ".csv"), "w") as out:
            out.write("n,square,text\n")
            for _ in range(30):
                out.write(piece)
    return folder


def test_an_interrupt_in_the_middle_of_a_map_build_leaves_nothing(big):
    for wait in (0.01, 0.1, 0.3):
        status, out, err, took = interrupted(BUILD, big, wait)
        assert (status, out) == (3, "interrupted\n"), err
        assert took < 5
        assert sorted(path.name for path in big.iterdir()) == ["a.csv", "b.csv", "c.csv"]


def test_an_interrupt_keeps_the_former_map(big, tmp_path):
    (tmp_path / "a.csv").symlink_to(big / "a.csv")
    os.link(big / "b.csv", tmp_path / "b.csv")
    br.lake.create_map(tmp_path, stats_columns=[])
    before = (tmp_path / ".br_map.bazan").read_bytes()
    names = sorted(path.name for path in tmp_path.iterdir())
    status, out, err, _ = interrupted(BUILD, tmp_path, 0.05)
    assert (status, out) == (3, "interrupted\n"), err
    assert (tmp_path / ".br_map.bazan").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_table_is_used_again_after_an_interrupt(big):
    source = """
        import os, signal, sys, threading, lakebed
        table = lakebed.open(sys.argv[1] + "/a.csv", use_map=False, types="sample")
        print("begin", flush=True)
        try:
            while True:
                table.take([2_999_999, 5])
        except KeyboardInterrupt:
            pass
        print(table.take([7])[0]["n"], table[2][ "n"], flush=True)
    """
    status, out, err, took = interrupted(source, big, 0.3)
    assert (status, out) == (0, "7 2\n"), err
    assert took < 10


@pytest.mark.parametrize("reader", ["pyarrow.table(rows)", "polars.DataFrame(rows)"])
def test_readers_of_other_libraries_are_interrupted_inside_one_batch(reader, big):
    """All rows in a random order come in one batch, after many seconds; the interrupt comes out of the reader long before."""
    pytest.importorskip("pyarrow")
    pytest.importorskip(reader.split(".", maxsplit=1)[0])
    source = """
        import sys, lakebed, %s
        rows = lakebed.open(sys.argv[1], use_map=False).shuffle(seed=1)
        first = rows[3:5].column("n")
        print("begin", flush=True)
        try:
            %s
        except KeyboardInterrupt:
            print(rows[3:5].column("n") == first, flush=True)
    """ % (reader.split(".", maxsplit=1)[0], reader)
    status, out, err, took = interrupted(source, big, 0.5)
    assert (status, out) == (0, "True\n"), err
    assert took < 6


def test_a_handler_that_does_not_raise_lets_the_call_go_on(big):
    source = """
        import signal, sys, lakebed
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        print("begin", flush=True)
        lakebed.lake.doctor(sys.argv[1], verify=True)
        rows = len(lakebed.open(sys.argv[1], use_map=False))
        print(rows, len(seen), flush=True)
    """
    status, out, err, _ = interrupted(source, big, 0.1, signal.SIGUSR1)
    assert (status, out) == (0, "9000000 1\n"), err


def test_progress_that_raises_ends_the_build(big, monkeypatch):
    from lakebed import _progress

    class Screen:
        def show(self, text):
            raise ZeroDivisionError(text)

        def close(self):
            pass

    monkeypatch.setattr(_progress, "_screen", lambda: Screen())
    with pytest.raises(ZeroDivisionError):
        br.lake.create_map(big)
    assert not (big / ".br_map.bazan").exists()


# ---- progress


def test_progress_on_a_terminal(big, tmp_path):
    import pty

    os.link(big / "a.csv", tmp_path / "a.csv")
    ours, theirs = pty.openpty()
    code = "import lakebed; lakebed.lake.create_map(%r, checkpoint_stride_rows=100)" % str(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=package_lake.environment())
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert child.wait() == 0
    assert re.search(rb"\rmapping: \d+ %, [01] of 1 files.*\x1b\[K", shown) and shown.endswith(b"\r\033[K")


def test_progress_into_a_file_is_silent(folder):
    code = "import lakebed; lakebed.lake.doctor(%r, verify=True, show_progress=True)" % str(folder)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=package_lake.environment(), check=True)
    assert done.stdout == done.stderr == b""


def test_progress_in_a_notebook(folder, monkeypatch):
    import types

    shown = []

    class Handle:
        def update(self, content):
            shown.append(content)

    def display(content, display_id):
        shown.append(content)
        return Handle()

    python = types.ModuleType("IPython")
    python.get_ipython = lambda: object()
    python.display = types.SimpleNamespace(display=display, HTML=str)
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", python.display)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    br.lake.doctor(folder, verify=True, show_progress=True)
    assert "comparing: 100 %" in shown[-2] and shown[-1] == ""


# ---- nothing leaks


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def calls(folder):
    """One of everything that is cheap, good and bad."""
    lake = br.open(folder)

    def refused(call, *arguments):
        try:
            call(*arguments)
        except (br.Error, ValueError, TypeError, IndexError, OverflowError):
            return
        raise AssertionError("not refused")

    return [
        lambda: lake[5],
        lambda: lake[5:9].to_pydict(),
        lambda: lake.take([7, 3]).to_pylist(),
        lambda: lake.sample(2, 5),
        lambda: lake.select(["n"]).schema.fields,
        lambda: next(lake.batches(3)),
        lambda: lake.files,
        lambda: lake.stats,
        lambda: lake.explain(1, 2),
        lambda: lake[3:5].__arrow_c_stream__(),
        lambda: lake[3:5].batches[0].__arrow_c_array__(),
        lambda: lake.__arrow_c_stream__(),
        lambda: pickle.loads(pickle.dumps(lake[1:3])),
        lambda: lake[1:3].select(["n"]).slice(1),
        lambda: lake[1:3].to_bytes("ndjson"),
        lambda: br.open(folder / "a.csv"),
        lambda: br.read.slice_rows(folder / "a.csv", 3, 2),
        lambda: br.lake.locate_row(folder, 5),
        lambda: br.formats.describe(),
        lambda: br.lineage("select a from t where b > 1"),
        lambda: br.Catalog("create table t (a int)"),
        lambda: br._core.values(lake[1:3].select(["n"])),
        lambda: refused(lake.take, [N]),
        lambda: refused(lake.select, ["x"]),
        lambda: refused(lake.__getitem__, N),
        lambda: refused(lake.slice, -1, 1),
        lambda: refused(br.open, folder / "nowhere.csv"),
        lambda: refused(br.lake.locate_row, "nowhere", 1),
        lambda: refused(br.lake.create_map, folder, "x", "y"),
        lambda: refused(br._core.values, 5),
        lambda: refused(br.formats.register_delimited, "x", "yy"),
    ]


def test_nothing_leaks_over_ten_thousand_calls(folder):
    package_lake.quiet()
    if SANITIZED:
        pytest.skip("a sanitizer keeps memory")
    made = calls(folder)

    def rounds(n):
        for _ in range(n):
            for call in made:
                call()
        gc.collect()

    rounds(30)
    blocks, before = sys.getallocatedblocks(), resident()
    descriptors = len(os.listdir("/proc/self/fd"))
    rounds(10_000 // len(made) + 1)
    assert sys.getallocatedblocks() - blocks < 1000
    assert len(os.listdir("/proc/self/fd")) == descriptors
    first = resident() - before
    rounds(10_000 // len(made) + 1)
    assert resident() - before < max(2 * first, 8 << 20) and resident() - before < 32 << 20


def test_references_are_let_go(folder):
    """Objects that go in are counted as before when all is done."""
    name, names, rows = "n" * 3, ["n"], [1, 2, 3]
    marker = object()
    counts = [sys.getrefcount(thing) for thing in (None, name, names, rows, marker)]
    lake = br.open(folder)
    for _ in range(1000):
        lake.select(names)
        lake.take(rows)
        with pytest.raises(br.ColumnError):
            lake.select([name])
    br.formats.register("kind", lambda path, kept=marker: kept)
    br.formats.unregister_format("kind")
    del lake
    gc.collect()
    br.formats.describe()
    now = [sys.getrefcount(thing) for thing in (None, name, names, rows, marker)]
    assert now[1:] == counts[1:] and (abs(now[0] - counts[0]) < 500 or counts[0] > 2**30)


def test_import_is_cheap():
    code = "import time; t = time.perf_counter(); import lakebed; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=package_lake.environment(), check=True)
    assert float(done.stdout) < 2
    code = "import sys, lakebed; print([m for m in ('pyarrow', 'numpy', 'pandas', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=package_lake.environment(), check=True)
    assert done.stdout == b"[]\n" and pathlib.Path(package_lake.PACKAGE).exists()
