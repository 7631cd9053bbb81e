"""Rows of files through the shared library's Arrow C streams, as pyarrow tables."""
import ctypes
import os

import pyarrow as pa


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("offset", ctypes.c_int64), ("row", ctypes.c_int64), ("line", ctypes.c_int64),
                ("path", ctypes.c_char * 512), ("message", ctypes.c_char * 512), ("hint", ctypes.c_char * 256)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_uint), ("memory_limit", ctypes.c_uint64),
                ("progress", ctypes.c_void_p), ("note", ctypes.c_void_p), ("poll", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("read", ctypes.c_void_p), ("format", ctypes.c_char_p),
                ("no_map", ctypes.c_bool), ("schema", ctypes.c_int)]


class Slice(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("offset", ctypes.c_uint64), ("limit", ctypes.c_uint64),
                ("columns", ctypes.c_void_p)]


class Take(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("rows", ctypes.c_void_p), ("count", ctypes.c_uint64),
                ("shuffled", ctypes.c_bool), ("seed", ctypes.c_uint64), ("start", ctypes.c_uint64), ("sorted", ctypes.c_bool),
                ("columns", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream, of which only the room counts here."""
    _fields_ = [("members", ctypes.c_void_p * 5)]


class Failed(Exception):
    def __init__(self, err):
        self.code, self.offset, self.row = err.code, err.offset, err.row
        self.message = err.message.decode()
        super().__init__(f"{err.path.decode()}: {self.message} (byte {err.offset}, row {err.row})")


def names_of(columns):
    return None if columns is None else (ctypes.c_char_p * (len(columns) + 1))(*[c.encode() for c in columns], None)


class Library:
    def __init__(self, threads=1, memory_limit=0):
        self.lib = ctypes.CDLL(os.environ["LAKEBED_LIB"])
        self.lib.lb_close.argtypes = [ctypes.c_void_p]
        self.context = ctypes.c_void_p()
        how = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), threads=threads, memory_limit=memory_limit)
        self.call("lb_context_new", ctypes.byref(how), ctypes.byref(self.context))

    def call(self, name, *args):
        err = Error()
        status = getattr(self.lib, name)(*args, ctypes.byref(err))
        if status != 0:
            raise Failed(err)

    def open(self, path, no_map=False):
        return File(self, path, no_map)


class File:
    """with library.open(path) as f: f.slice(…), f.take(…)"""

    def __init__(self, library, path, no_map):
        self.br, self.table = library, ctypes.c_void_p()
        how = OpenOptions(struct_size=ctypes.sizeof(OpenOptions), no_map=no_map)
        library.call("lb_open", library.context, os.fsencode(path), ctypes.byref(how), ctypes.byref(self.table))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.br.lib.lb_close(self.table)

    def pull(self, call, request, check=True):
        stream = Stream()
        self.br.call(call, self.table, ctypes.byref(request), ctypes.byref(stream))
        table = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
        if check:
            table.validate(full=True)
        return table

    def slice(self, offset=0, limit=2**64 - 1, columns=None, check=True):
        names = names_of(columns)
        return self.pull("lb_table_slice", Slice(struct_size=ctypes.sizeof(Slice), offset=offset, limit=limit,
                                                 columns=ctypes.cast(names, ctypes.c_void_p)), check)

    def take(self, rows, columns=None, check=True):
        names, rows = names_of(columns), (ctypes.c_uint64 * len(rows))(*rows)
        return self.pull("lb_table_take", Take(struct_size=ctypes.sizeof(Take), rows=ctypes.cast(rows, ctypes.c_void_p),
                                               count=len(rows), columns=ctypes.cast(names, ctypes.c_void_p)), check)
