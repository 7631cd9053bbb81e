/* Tables: a file, a dataset or a directory, as rows. */
#include "core.h"

/* Counted, for streams outlive the object that made them; the last one closes. */
typedef struct core_table {
    _Atomic long refs;
    core_context *s;
    lb_table *t;
    unsigned long generation;
} core_table;

typedef struct table_object {
    PyObject_HEAD core_table *held;
} table_object;

static core_table *table_ref(core_table *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

/* In a child of a fork the parent's table is left as it lies: a thread that is not there may hold a lock in it. */
static void table_unref(void *what)
{
    core_table *t = what;

    if (t == NULL || atomic_fetch_sub(&t->refs, 1) != 1 || t->generation != core_generation)
        return;
    lb_close(t->t);
    core_context_unref(t->s);
    free(t);
}

static core_table *table_of(PyObject *self)
{
    core_table *t = ((table_object *)self)->held;

    if (t == NULL)
        PyErr_SetString(PyExc_ValueError, "the table is closed");
    else if (t->generation != core_generation)
        PyErr_SetString(PyExc_RuntimeError, "the table was opened before a fork");
    else
        return t;
    return NULL;
}

/* ---------------------------------------------------------------- opening */

static core_table *table_open(core_context *s, const char *path, const lb_open_options *options)
{
    core_table *t = calloc(1, sizeof *t);
    core_call call;

    if (t == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    *t = (core_table){ .s = core_context_ref(s), .generation = core_generation };
    atomic_store(&t->refs, 1);
    core_begin(&call, s, NULL);
    lb_status status = lb_open(s->cx, path, options, &t->t, &call.err);
    if (core_end(&call, status, CORE_FILE))
        return t;
    table_unref(t);
    return NULL;
}

/* Table(path, format, no_map, memory_map, schema, options) */
static int table_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lb_open_options options = { .struct_size = sizeof options };
    lb_read_options *read = NULL;
    const char *path;
    PyObject *pairs;
    int no_map, memory_map, schema;

    if (kwargs != NULL && PyDict_Size(kwargs) != 0) {
        PyErr_SetString(PyExc_TypeError, "no keywords are taken");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "yzppiO!", &path, &options.format, &no_map, &memory_map, &schema, &PyList_Type,
                          &pairs) ||
        !core_read_options(pairs, &read))
        return -1;
    options.read = read;
    options.no_map = no_map != 0;
    options.memory_map = memory_map != 0;
    options.schema = (lb_schema_mode)schema;
    core_context *s = core_context_new();
    core_table *t = s == NULL ? NULL : table_open(s, path, &options);
    core_context_unref(s);
    lb_read_options_free(read);
    if (t == NULL)
        return -1;
    table_unref(((table_object *)self)->held);
    ((table_object *)self)->held = t;
    return 0;
}

static void table_let_go(PyObject *self)
{
    core_table *held = ((table_object *)self)->held;

    ((table_object *)self)->held = NULL;
    if (held == NULL)
        return;
    Py_BEGIN_ALLOW_THREADS table_unref(held);
    Py_END_ALLOW_THREADS
}

static PyObject *table_close(PyObject *self, PyObject *args)
{
    (void)args;
    table_let_go(self);
    Py_RETURN_NONE;
}

static void table_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    table_let_go(self);
    release(self);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- what it is */

static PyObject *table_info(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    (void)args;

    if (t == NULL)
        return NULL;
    return Py_BuildValue("(OLKK)", lb_table_is_lake(t->t) ? Py_True : Py_False, (long long)lb_table_rows(t->t),
                         (unsigned long long)lb_table_files(t->t), (unsigned long long)lb_table_failed(t->t));
}

static PyObject *table_count(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    uint64_t rows = 0;
    core_call call;
    (void)args;

    if (t == NULL)
        return NULL;
    (void)table_ref(t);
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_count(t->t, &rows, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    table_unref(t);
    return good ? PyLong_FromUnsignedLongLong(rows) : NULL;
}

static PyObject *table_schema(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    struct ArrowSchema schema;
    core_call call;
    (void)args;

    if (t == NULL)
        return NULL;
    (void)table_ref(t);
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_schema(t->t, &schema, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    table_unref(t);
    if (good)
        return core_schema_object(&schema);
    if (status == LB_OK)
        schema.release(&schema);
    return NULL;
}

static PyObject *table_file_object(const lb_entry_info *e, const char *map_use)
{
    return Py_BuildValue("{s:N,s:s,s:s,s:z,s:z,s:z,s:K,s:K,s:K,s:K,s:K,s:L,s:s}", "path", core_path(e->path), "format",
                         e->format, "locator", e->locator, "container", e->container, "error", e->error, "content_hash",
                         e->content_hash, "bytes", (unsigned long long)e->bytes, "rows", (unsigned long long)e->rows,
                         "first_row", (unsigned long long)e->first_row, "blocks", (unsigned long long)e->blocks,
                         "columns", (unsigned long long)e->columns, "mtime_ns", (long long)e->mtime_ns, "map", map_use);
}

static PyObject *table_file(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    lb_entry_info e = { .struct_size = sizeof e };
    const char *map_use = NULL;
    uint64_t index;
    core_call call;

    if (t == NULL || !PyArg_ParseTuple(args, "O&", core_u64, &index))
        return NULL;
    (void)table_ref(t);
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_file(t->t, index, &e, &call.err);
    if (status == LB_OK)
        map_use = lb_table_map_use(t->t, index);
    PyObject *file = core_end(&call, status, CORE_FILE) ? table_file_object(&e, map_use) : NULL;
    table_unref(t);
    return file;
}

/* The first one asked for may survey all files. */
static PyObject *table_column(core_table *t, uint64_t column)
{
    lb_column_info c = { .struct_size = sizeof c };
    core_call call;

    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_column(t->t, column, &c, &call.err);
    return core_end(&call, status, CORE_FILE) ? core_column_object(&c) : NULL;
}

static PyObject *table_columns(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    (void)args;

    if (t == NULL)
        return NULL;
    (void)table_ref(t);
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < lb_table_columns(t->t); i++)
        if (!core_list_add(list, table_column(t, i)))
            Py_CLEAR(list);
    table_unref(t);
    return list;
}

/* ---------------------------------------------------------------- rows */

static bool table_slice_open(core_table *t, PyObject *args, struct ArrowArrayStream *out)
{
    lb_slice slice = { .struct_size = sizeof slice };
    core_strings columns;
    PyObject *names;
    core_call call;

    if (!PyArg_ParseTuple(args, "O&O&O", core_u64, &slice.offset, core_u64, &slice.limit, &names) ||
        !core_strings_get(names, &columns))
        return false;
    slice.columns = columns.at;
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_slice(t->t, &slice, out, &call.err);
    bool good = core_end(&call, status, CORE_COLUMN);
    core_strings_free(&columns);
    if (!good && status == LB_OK)
        out->release(out);
    return good;
}

static PyObject *table_stream(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    struct ArrowArrayStream stream;

    if (t == NULL)
        return NULL;
    const core_hold hold = { table_ref(t), table_unref };
    if (table_slice_open(t, args, &stream))
        return core_stream_object(t->s, &stream, hold);
    table_unref(t);
    return NULL;
}

static PyObject *table_read(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    struct ArrowArrayStream stream;

    if (t == NULL)
        return NULL;
    const core_hold hold = { table_ref(t), table_unref };
    if (table_slice_open(t, args, &stream))
        return core_stream_read(t->s, &stream, hold);
    table_unref(t);
    return NULL;
}

/* (rows or None, shuffled, seed, from, count, sorted, columns) */
static bool table_take_get(PyObject *args, lb_take *take, core_strings *columns)
{
    PyObject *rows, *names;
    int shuffled, sorted;

    *take = (lb_take){ .struct_size = sizeof *take };
    if (!PyArg_ParseTuple(args, "OpO&O&O&pO", &rows, &shuffled, core_u64, &take->seed, core_u64, &take->from, core_u64,
                          &take->count, &sorted, &names))
        return false;
    take->shuffled = shuffled != 0;
    take->sorted = sorted != 0;
    if (!take->shuffled && !core_row_numbers(rows, &take->rows, &take->count))
        return false;
    if (!core_strings_get(names, columns))
        return false;
    take->columns = columns->at;
    return true;
}

/* The table, and the row numbers that a stream is lent. */
typedef struct table_lent {
    core_table *t;
    uint64_t *rows;
} table_lent;

static void table_lent_free(void *what)
{
    table_lent *lent = what;

    table_unref(lent->t);
    free(lent->rows);
    free(lent);
}

static table_lent *table_lend(core_table *t, lb_take *take)
{
    table_lent *lent = calloc(1, sizeof *lent);
    size_t size = take->rows == NULL ? 0 : (size_t)take->count * sizeof *lent->rows;

    if (lent == NULL || (lent->rows = malloc(size + 1)) == NULL) {
        free(lent);
        PyErr_NoMemory();
        return NULL;
    }
    if (size != 0)
        memcpy(lent->rows, take->rows, size);
    if (!take->shuffled)
        take->rows = lent->rows;
    lent->t = table_ref(t);
    return lent;
}

static bool table_take_open(core_table *t, PyObject *args, struct ArrowArrayStream *out, core_hold *hold)
{
    core_strings columns = { NULL, NULL, 0 };
    core_call call;
    lb_take take;

    if (!table_take_get(args, &take, &columns))
        return false;
    table_lent *lent = table_lend(t, &take);
    if (lent == NULL) {
        core_strings_free(&columns);
        return false;
    }
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_take(t->t, &take, out, &call.err);
    bool good = core_end(&call, status, CORE_COLUMN);
    core_strings_free(&columns);
    if (!good && status == LB_OK)
        out->release(out);
    if (!good)
        table_lent_free(lent);
    *hold = (core_hold){ lent, table_lent_free };
    return good;
}

static PyObject *table_take_stream(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    struct ArrowArrayStream stream;
    core_hold hold;

    if (t == NULL || !table_take_open(t, args, &stream, &hold))
        return NULL;
    return core_stream_object(t->s, &stream, hold);
}

static PyObject *table_take_read(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    struct ArrowArrayStream stream;
    core_hold hold;

    if (t == NULL || !table_take_open(t, args, &stream, &hold))
        return NULL;
    return core_stream_read(t->s, &stream, hold);
}

static PyObject *table_raw(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    lb_slice slice = { .struct_size = sizeof slice };
    core_bytes bytes = { NULL, 0, 0 };
    core_call call;

    if (t == NULL || !PyArg_ParseTuple(args, "O&O&", core_u64, &slice.offset, core_u64, &slice.limit))
        return NULL;
    (void)table_ref(t);
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_raw(t->t, &slice, core_bytes_write, &bytes, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    table_unref(t);
    if (good)
        return core_bytes_take(&bytes);
    free(bytes.at);
    return NULL;
}

/* ---------------------------------------------------------------- explanations */

static PyObject *table_part(const lb_part *p)
{
    return Py_BuildValue("{s:N,s:s,s:s,s:s,s:K,s:K,s:K,s:K,s:L,s:L,s:K}", "path", core_path(p->path), "map", p->map,
                         "format", p->format, "locator", p->locator, "first_row", (unsigned long long)p->first_row,
                         "rows", (unsigned long long)p->rows, "first_block", (unsigned long long)p->first_block,
                         "blocks", (unsigned long long)p->blocks, "first_byte", (long long)p->first_byte, "bytes",
                         (long long)p->bytes, "skipped_rows", (unsigned long long)p->skipped_rows);
}

static bool table_explain_part(core_table *t, const lb_slice *slice, uint64_t i, PyObject *list, bool *done)
{
    lb_part part = { .struct_size = sizeof part };
    core_call call;

    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_explain(t->t, slice, i, &part, done, &call.err);
    if (!core_end(&call, status, CORE_COLUMN))
        return false;
    return *done || core_list_add(list, table_part(&part));
}

static PyObject *table_explain(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    lb_slice slice = { .struct_size = sizeof slice };
    core_strings columns;
    PyObject *names, *list;
    bool done = false;

    if (t == NULL || !PyArg_ParseTuple(args, "O&O&O", core_u64, &slice.offset, core_u64, &slice.limit, &names) ||
        !core_strings_get(names, &columns))
        return NULL;
    slice.columns = columns.at;
    list = PyList_New(0);
    (void)table_ref(t);
    for (uint64_t i = 0; list != NULL && !done; i++)
        if (!table_explain_part(t, &slice, i, list, &done))
            Py_CLEAR(list);
    table_unref(t);
    core_strings_free(&columns);
    return list;
}

/* ---------------------------------------------------------------- splits */

static PyObject *table_split(const lb_splits *splits, uint64_t i)
{
    lb_split s = { .struct_size = sizeof s };

    CORE_ASK(CORE_FILE, lb_splits_at(splits, i, &s, &err));
    return Py_BuildValue("(NKKLLKKL)", core_path(s.path), (unsigned long long)s.file, (unsigned long long)s.number,
                         (long long)s.first_byte, (long long)s.bytes, (unsigned long long)s.first_row,
                         (unsigned long long)s.rows, (long long)s.header_bytes);
}

static PyObject *table_splits(PyObject *self, PyObject *args)
{
    core_table *t = table_of(self);
    lb_splits *splits = NULL;
    uint64_t target;
    int check;
    core_call call;

    if (t == NULL || !PyArg_ParseTuple(args, "O&p", core_u64, &target, &check))
        return NULL;
    (void)table_ref(t);
    core_begin(&call, t->s, NULL);
    lb_status status = lb_table_splits(t->t, target, &splits, &call.err);
    if (status == LB_OK && check)
        status = lb_splits_check(splits, &call.err);
    PyObject *list = core_end(&call, status, CORE_FILE) ? PyList_New(0) : NULL;
    for (uint64_t i = 0; list != NULL && i < lb_splits_count(splits); i++)
        if (!core_list_add(list, table_split(splits, i)))
            Py_CLEAR(list);
    lb_splits_free(splits);
    table_unref(t);
    return list;
}

/* ---------------------------------------------------------------- the type */

static PyMethodDef table_methods[] = {
    { "close", table_close, METH_NOARGS, NULL },
    { "info", table_info, METH_NOARGS, NULL },
    { "count", table_count, METH_NOARGS, NULL },
    { "schema", table_schema, METH_NOARGS, NULL },
    { "file", table_file, METH_VARARGS, NULL },
    { "columns", table_columns, METH_NOARGS, NULL },
    { "stream", table_stream, METH_VARARGS, NULL },
    { "read", table_read, METH_VARARGS, NULL },
    { "take_stream", table_take_stream, METH_VARARGS, NULL },
    { "take_read", table_take_read, METH_VARARGS, NULL },
    { "raw", table_raw, METH_VARARGS, NULL },
    { "explain", table_explain, METH_VARARGS, NULL },
    { "splits", table_splits, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot table_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, table_init },
    { Py_tp_dealloc, table_dealloc },
    { Py_tp_methods, table_methods },
    CORE_DOC("A file, a dataset or a directory, as rows."),
    { 0, NULL },
};

static PyType_Spec table_spec = { "lakebed._core.Table", sizeof(table_object), 0, Py_TPFLAGS_DEFAULT, table_slots };

bool core_add_tables(PyObject *module)
{
    return core_add_type(module, &table_spec, "Table") != NULL;
}
