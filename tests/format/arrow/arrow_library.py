"""Reading through the shared library in this process, as Arrow streams that pyarrow takes over."""
import ctypes
import os

import pyarrow as pa

ALL = 2**64 - 1


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("offset", ctypes.c_int64), ("row", ctypes.c_int64), ("line", ctypes.c_int64),
                ("path", ctypes.c_char * 512), ("message", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint), ("memory_limit", ctypes.c_uint64),
                ("progress", ctypes.c_void_p), ("note", ctypes.c_void_p), ("poll", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("read", ctypes.c_void_p), ("format", ctypes.c_char_p),
                ("no_map", ctypes.c_bool), ("memory_map", ctypes.c_bool), ("schema", ctypes.c_int)]


class Slice(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("offset", ctypes.c_uint64), ("limit", ctypes.c_uint64),
                ("columns", ctypes.POINTER(ctypes.c_char_p))]


class Take(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("rows", ctypes.POINTER(ctypes.c_uint64)), ("count", ctypes.c_uint64),
                ("shuffled", ctypes.c_bool), ("seed", ctypes.c_uint64), ("from_", ctypes.c_uint64), ("sorted", ctypes.c_bool),
                ("columns", ctypes.POINTER(ctypes.c_char_p))]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream, of which only the room counts here."""
    _fields_ = [("members", ctypes.c_void_p * 5)]


class Failed(Exception):
    def __init__(self, err):
        self.code, self.row, self.offset = err.code, err.row, err.offset
        self.message, self.hint = err.message.decode(errors="replace"), err.hint.decode(errors="replace")
        super().__init__("%s: %s (code %d)" % (err.path.decode(errors="replace"), self.message, self.code))


class Library:
    def __init__(self, threads=1, memory=0):
        self.lib = ctypes.CDLL(os.environ["LAKEBED_LIB"])
        self.lib.lb_close.argtypes = [ctypes.c_void_p]
        self.context = ctypes.c_void_p()
        how = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), threads=threads, memory_limit=memory)
        self.call("lb_context_new", ctypes.byref(how), ctypes.byref(self.context))

    def call(self, name, *args):
        err = Error()
        if getattr(self.lib, name)(*args, ctypes.byref(err)) != 0:
            raise Failed(err)

    def open(self, path, mapped=False, format=None, memory_map=False):
        return Table(self, path, mapped, format, memory_map)


class Table:
    def __init__(self, library, path, mapped, format, memory_map=False):
        self.br, self.handle = library, ctypes.c_void_p()
        how = OpenOptions(struct_size=ctypes.sizeof(OpenOptions), no_map=not mapped, format=format and format.encode(),
                          memory_map=memory_map)
        library.call("lb_open", library.context, os.fspath(path).encode(), ctypes.byref(how), ctypes.byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.br.lib.lb_close(self.handle)

    def reader(self, offset=0, limit=ALL, columns=None):
        names = None if columns is None else (ctypes.c_char_p * (len(columns) + 1))(*[c.encode() for c in columns], None)
        stream = Stream()
        part = Slice(struct_size=ctypes.sizeof(Slice), offset=offset, limit=limit, columns=names)
        self.br.call("lb_table_slice", self.handle, ctypes.byref(part), ctypes.byref(stream))
        return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))

    def rows(self, offset=0, limit=ALL, columns=None):
        return self.reader(offset, limit, columns).read_all()

    def take(self, rows):
        list = (ctypes.c_uint64 * (len(rows) + 1))(*rows)
        stream, how = Stream(), Take(struct_size=ctypes.sizeof(Take), rows=list, count=len(rows))
        self.br.call("lb_table_take", self.handle, ctypes.byref(how), ctypes.byref(stream))
        return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
