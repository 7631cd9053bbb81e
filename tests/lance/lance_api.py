"""The Lance calls of the shared library, for Python tests: rows go in as pyarrow tables."""
import ctypes
import os
import pathlib

import pyarrow as pa

CONFORMANCE = pathlib.Path(os.environ.get("LAKEBED_CONFORMANCE") or
                           pathlib.Path(os.environ["LAKEBED_SOURCE"]).parent / "shared" / "conformance") / "lance"

REFUSE, KEEP, LOSSY = range(3)
USAGE, NOTFOUND, CONFLICT = 6, 7, 9


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("offset", ctypes.c_int64), ("row", ctypes.c_int64), ("line", ctypes.c_int64),
                ("path", ctypes.c_char * 512), ("message", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


class KeyValue(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("nulls", ctypes.c_int), ("group_rows", ctypes.c_uint64),
                ("file_rows", ctypes.c_uint64), ("whole_batches", ctypes.c_bool), ("replace", ctypes.c_bool),
                ("tag", ctypes.c_char_p), ("metadata", ctypes.POINTER(KeyValue)), ("n_metadata", ctypes.c_size_t),
                ("aux", ctypes.POINTER(KeyValue)), ("n_aux", ctypes.c_size_t), ("timestamp_ns", ctypes.c_int64),
                ("file_names", ctypes.POINTER(ctypes.c_char_p))]


class Result(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version", ctypes.c_uint64), ("rows", ctypes.c_uint64),
                ("files", ctypes.c_uint64), ("fragments", ctypes.c_uint64)]


class IndexOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("metric", ctypes.c_int), ("partitions", ctypes.c_uint32),
                ("sub_vectors", ctypes.c_uint32), ("rounds", ctypes.c_uint32), ("seed", ctypes.c_uint64), ("replace", ctypes.c_bool),
                ("keep_model", ctypes.c_bool)]


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("read", ctypes.c_void_p), ("format", ctypes.c_char_p),
                ("no_map", ctypes.c_bool), ("schema", ctypes.c_int)]


class Slice(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("offset", ctypes.c_uint64), ("limit", ctypes.c_uint64),
                ("columns", ctypes.c_void_p)]


class Take(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("rows", ctypes.POINTER(ctypes.c_uint64)), ("count", ctypes.c_uint64),
                ("shuffled", ctypes.c_bool), ("seed", ctypes.c_uint64), ("first", ctypes.c_uint64), ("sorted", ctypes.c_bool),
                ("columns", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream, of which only the room counts here."""
    _fields_ = [("members", ctypes.c_void_p * 5)]


class Failed(Exception):
    def __init__(self, err):
        self.code, self.row = err.code, err.row
        self.message, self.hint = err.message.decode(), err.hint.decode()
        super().__init__(f"{err.path.decode()}: {self.message}")


def pairs(values):
    """Key and value pairs as the library takes them; a value of None takes the key away."""
    items = [KeyValue(k.encode(), v, 0 if v is None else len(v)) for k, v in values.items()]
    return (KeyValue * len(items))(*items)


def options(*, nulls=REFUSE, metadata=None, aux=None, names=None, tag=None, **others):
    metadata, aux = pairs(metadata or {}), pairs(aux or {})
    names = None if names is None else (ctypes.c_char_p * (len(names) + 1))(*[n.encode() for n in names], None)
    return Options(struct_size=ctypes.sizeof(Options), nulls=nulls, metadata=metadata, n_metadata=len(metadata), aux=aux,
                   n_aux=len(aux), tag=None if tag is None else tag.encode(), file_names=names, **others)


class Library:
    def __init__(self, threads=1):
        self.lib = ctypes.CDLL(os.environ["LAKEBED_LIB"])
        self.lib.lb_close.argtypes = [ctypes.c_void_p]
        self.context = ctypes.c_void_p()
        self.call("lb_context_new", None, ctypes.byref(self.context))

    def call(self, name, *args):
        err = Error()
        status = getattr(self.lib, name)(*args, ctypes.byref(err))
        if status != 0:
            raise Failed(err)

    def write(self, name, path, rows, **how):
        """`create`, `append` …: rows are a table, batches or a reader; gives the result."""
        if isinstance(rows, pa.Table):
            reader = rows.to_reader()
        elif isinstance(rows, list):
            reader = pa.RecordBatchReader.from_batches(rows[0].schema, rows)
        else:
            reader = rows
        stream = Stream()
        reader._export_to_c(ctypes.addressof(stream))
        return self.change(name, path, ctypes.byref(stream), **how)

    def change(self, name, path, *args, **how):
        result, how = Result(struct_size=ctypes.sizeof(Result)), options(**how)
        self.call("lb_lance_" + name, self.context, str(path).encode(), *args, ctypes.byref(how), ctypes.byref(result))
        return result

    def index(self, path, column, names=None, **how):
        """Make a vector index; names: the UUID of its folder."""
        want = IndexOptions(struct_size=ctypes.sizeof(IndexOptions), **how)
        return self.change("index", path, column.encode(), ctypes.byref(want), names=names)

    def read(self, path, offset=0, limit=2**64 - 1, mapped=False):
        part = Slice(struct_size=ctypes.sizeof(Slice), offset=offset, limit=limit)
        return self.stream("lb_table_slice", path, part, mapped)

    def take(self, path, rows, mapped=False):
        """Scattered rows, in the order asked."""
        list_of_rows = (ctypes.c_uint64 * len(rows))(*rows)
        return self.stream("lb_table_take", path, Take(struct_size=ctypes.sizeof(Take), rows=list_of_rows, count=len(rows)), mapped)

    def stream(self, name, path, want, mapped):
        table = ctypes.c_void_p()
        how = OpenOptions(struct_size=ctypes.sizeof(OpenOptions), no_map=not mapped)
        self.call("lb_open", self.context, str(path).encode(), ctypes.byref(how), ctypes.byref(table))
        try:
            stream = Stream()
            self.call(name, table, ctypes.byref(want), ctypes.byref(stream))
            return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
        finally:
            self.lib.lb_close(table)
