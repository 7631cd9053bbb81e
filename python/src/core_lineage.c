/* Lineage: catalogs, traces of statements, logs, and trails through them. */
#include "core.h"

/* ---------------------------------------------------------------- Catalog */

typedef struct catalog_object {
    PyObject_HEAD core_context *s;
    lb_catalog *catalog;
    long users; /* traces at work: it may not change under them */
} catalog_object;

static int catalog_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    catalog_object *o = (catalog_object *)self;
    lb_error err = LB_ERROR_INIT;
    (void)kwargs;

    if (o->s != NULL || !PyArg_ParseTuple(args, "") || (o->s = core_context_new()) == NULL)
        return -1;
    if (lb_catalog_new(o->s->cx, &o->catalog, &err) == LB_OK)
        return 0;
    core_raise(&err, CORE_FILE, NULL);
    return -1;
}

static void catalog_dealloc(PyObject *self)
{
    catalog_object *o = (catalog_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (o->s != NULL && o->s->generation == core_generation)
        lb_catalog_free(o->catalog);
    core_context_unref(o->s);
    release(self);
    Py_DECREF(type);
}

static catalog_object *catalog_of(PyObject *self, bool change)
{
    catalog_object *o = (catalog_object *)self;

    if (o->catalog == NULL)
        PyErr_SetString(PyExc_ValueError, "the catalog was not made");
    else if (o->s->generation != core_generation)
        PyErr_SetString(PyExc_RuntimeError, "the catalog was made before a fork");
    else if (change && o->users != 0)
        PyErr_SetString(PyExc_RuntimeError, "another thread is using this catalog");
    else
        return o;
    return NULL;
}

static PyObject *catalog_add(PyObject *self, PyObject *args)
{
    catalog_object *o = catalog_of(self, true);
    const char *text, *db;
    Py_ssize_t size;
    core_call call;

    if (o == NULL || !PyArg_ParseTuple(args, "s#z", &text, &size, &db))
        return NULL;
    o->users++;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_catalog_add(o->catalog, text, (size_t)size, db, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    o->users--;
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *catalog_add_lake(PyObject *self, PyObject *args)
{
    catalog_object *o = catalog_of(self, true);
    const char *dir, *db;
    core_call call;

    if (o == NULL || !PyArg_ParseTuple(args, "yz", &dir, &db))
        return NULL;
    o->users++;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_catalog_add_lake(o->catalog, o->s->cx, dir, db, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    o->users--;
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* add_table(db, name, type, location, create_time, view_sql, [(name, type, partition, hidden)]) */
static PyObject *catalog_add_table(PyObject *self, PyObject *args)
{
    lb_catalog_table_info table = { .struct_size = sizeof table };
    catalog_object *o = catalog_of(self, true);
    PyObject *list;
    long long create_time;
    lb_error err = LB_ERROR_INIT;
    bool good = true;

    if (o == NULL || !PyArg_ParseTuple(args, "sszzLzO!", &table.db, &table.name, &table.type, &table.location,
                                       &create_time, &table.view_sql, &PyList_Type, &list))
        return NULL;
    Py_ssize_t n = PyList_Size(list);
    lb_catalog_column_info *columns = calloc((size_t)n + 1, sizeof *columns);
    if (columns == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < n; i++) {
        int partition, hidden;
        good = PyArg_ParseTuple(PyList_GetItem(list, i), "szpp", &columns[i].name, &columns[i].type, &partition,
                                &hidden) != 0;
        columns[i].partition = good && partition;
        columns[i].hidden = good && hidden;
    }
    table.create_time = create_time;
    table.columns = columns;
    table.n_columns = (size_t)n;
    if (good && lb_catalog_add_table(o->catalog, &table, &err) != LB_OK) {
        core_raise(&err, CORE_FILE, NULL);
        good = false;
    }
    free(columns);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *catalog_size(PyObject *self, PyObject *args)
{
    catalog_object *o = catalog_of(self, false);
    (void)args;

    return o == NULL ? NULL : PyLong_FromSize_t(lb_catalog_size(o->catalog));
}

static PyMethodDef catalog_methods[] = {
    { "add", catalog_add, METH_VARARGS, NULL },
    { "add_lake", catalog_add_lake, METH_VARARGS, NULL },
    { "add_table", catalog_add_table, METH_VARARGS, NULL },
    { "size", catalog_size, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot catalog_slots[] = {
    { Py_tp_new, PyType_GenericNew },         { Py_tp_init, catalog_init },
    { Py_tp_dealloc, catalog_dealloc },       { Py_tp_methods, catalog_methods },
    CORE_DOC("Tables that statements name."), { 0, NULL },
};

static PyType_Spec catalog_spec = { "lakebed._core.Catalog", sizeof(catalog_object), 0, Py_TPFLAGS_DEFAULT,
                                    catalog_slots };
static PyObject *catalog_type;

/* ---------------------------------------------------------------- graphs as tuples */

static PyObject *graph_vertices(const lb_lineage_graph *graph, uint64_t n)
{
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < n; i++) {
        lb_vertex_info v = { .struct_size = sizeof v };
        lb_error err = LB_ERROR_INIT;
        PyObject *item = NULL;
        if (lb_lineage_vertex_at(graph, i, &v, &err) != LB_OK)
            core_raise(&err, CORE_FILE, NULL);
        else
            item = Py_BuildValue("(NNNLOO)", core_text(v.label, false), core_text(v.table, true),
                                 core_text(v.table_type, true), (long long)v.create_time, v.target ? Py_True : Py_False,
                                 v.unresolved ? Py_True : Py_False);
        if (!core_list_add(list, item))
            Py_CLEAR(list);
    }
    return list;
}

typedef lb_status (*graph_end_fn)(const lb_lineage_graph *graph, uint64_t edge, uint64_t index, uint64_t *vertex,
                                  lb_error *err);

static PyObject *graph_ends(const lb_lineage_graph *graph, uint64_t edge, uint64_t n, graph_end_fn end)
{
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < n; i++) {
        lb_error err = LB_ERROR_INIT;
        uint64_t vertex = 0;
        PyObject *item = NULL;
        if (end(graph, edge, i, &vertex, &err) != LB_OK)
            core_raise(&err, CORE_FILE, NULL);
        else
            item = PyLong_FromUnsignedLongLong(vertex);
        if (!core_list_add(list, item))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *graph_edge(const lb_lineage_graph *graph, uint64_t i)
{
    lb_edge_info e = { .struct_size = sizeof e };

    CORE_ASK(CORE_FILE, lb_lineage_edge_at(graph, i, &e, &err));
    PyObject *sources = graph_ends(graph, i, e.sources, lb_lineage_source_at);
    PyObject *targets = graph_ends(graph, i, e.targets, lb_lineage_target_at);
    if (sources == NULL || targets == NULL) {
        Py_XDECREF(sources);
        Py_XDECREF(targets);
        return NULL;
    }
    return Py_BuildValue("(sNN)", e.kind == LB_EDGE_PROJECTION ? "PROJECTION" : "PREDICATE", sources, targets);
}

static PyObject *graph_edges(const lb_lineage_graph *graph, uint64_t n)
{
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < n; i++)
        if (!core_list_add(list, graph_edge(graph, i)))
            Py_CLEAR(list);
    return list;
}

/* A graph in a form of the library's, as bytes. */
static PyObject *graph_written(const lb_lineage_graph *graph, const char *form)
{
    core_bytes bytes = { NULL, 0, 0 };
    lb_error err = LB_ERROR_INIT;

    if (lb_lineage_write(graph, form, core_bytes_write, &bytes, &err) == LB_OK)
        return core_bytes_take(&bytes);
    free(bytes.at);
    core_raise(&err, CORE_FILE, NULL);
    return NULL;
}

static PyObject *graph_object(const lb_lineage_graph *graph, const char *form)
{
    lb_lineage_info i = { .struct_size = sizeof i };

    if (graph == NULL)
        Py_RETURN_NONE;
    CORE_ASK(CORE_FILE, lb_lineage_get_info(graph, &i, &err));
    PyObject *vertices = graph_vertices(graph, i.vertices), *edges = graph_edges(graph, i.edges);
    PyObject *written = form == NULL ? Py_None : graph_written(graph, form);
    if (form == NULL)
        Py_INCREF(written);
    if (vertices == NULL || edges == NULL || written == NULL) {
        Py_XDECREF(vertices);
        Py_XDECREF(edges);
        Py_XDECREF(written);
        return NULL;
    }
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:s,s:L,s:L,s:N,s:N,s:N}", "query_text",
                         core_text(i.query_text, false), "operation", core_text(i.operation, false), "user",
                         core_text(i.user, false), "hash", core_text(i.hash, false), "location",
                         core_text(i.location, true), "target", core_text(i.target, true), "target_type",
                         core_text(i.target_type, true), "query_id", i.query_id, "started", (long long)i.started,
                         "ended", (long long)i.ended, "vertices", vertices, "edges", edges, "written", written);
}

/* ---------------------------------------------------------------- tracing */

static PyObject *trace_marks(const lb_trace *trace, uint64_t n)
{
    static const char *const kinds[] = { "unknown table", "unknown column", "ambiguous column" };
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < n; i++) {
        lb_mark_info m = { .struct_size = sizeof m };
        lb_error err = LB_ERROR_INIT;
        PyObject *item = NULL;
        if (lb_trace_mark(trace, i, &m, &err) != LB_OK)
            core_raise(&err, CORE_FILE, NULL);
        else
            item = Py_BuildValue("(sKNN)", kinds[(unsigned)m.kind % 3], (unsigned long long)m.offset,
                                 core_text(m.name, false), core_text(m.view, true));
        if (!core_list_add(list, item))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *trace_error(const lb_error *e)
{
    if (e == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(isLs)", (int)e->code, e->message, (long long)e->offset, e->hint);
}

static PyObject *trace_statement(const lb_trace *trace, const lb_trace_info *i, const char *form)
{
    PyObject *graph = graph_object(i->graph, form), *marks = trace_marks(trace, i->marks);
    PyObject *error = trace_error(i->status == LB_OK ? NULL : i->error);

    if (graph == NULL || marks == NULL || error == NULL) {
        Py_XDECREF(graph);
        Py_XDECREF(marks);
        Py_XDECREF(error);
        return NULL;
    }
    return Py_BuildValue("(KKNNN)", (unsigned long long)i->begin, (unsigned long long)i->end, error, graph, marks);
}

/* The next statement into `list`. false: an exception is set. */
static bool trace_step(core_context *s, lb_trace *trace, lb_lineage_log *log, const char *form, PyObject *list,
                       bool *done)
{
    lb_trace_info info = { .struct_size = sizeof info };
    core_call call;

    core_begin(&call, s, NULL);
    lb_status status = lb_trace_next(trace, &info, done, &call.err);
    if (status == LB_OK && !*done && log != NULL && info.graph != NULL)
        status = lb_lineage_log_append(log, info.graph, &call.err);
    return core_end(&call, status, CORE_FILE) && (*done || core_list_add(list, trace_statement(trace, &info, form)));
}

typedef struct trace_inputs {
    core_context *s;
    lb_trace_options options;
    const char *text, *log, *form;
    Py_ssize_t size;
} trace_inputs;

static PyObject *trace_run(const trace_inputs *in, lb_lineage_log *log)
{
    lb_trace *trace = NULL;
    bool done = false;

    CORE_ASK(CORE_FILE, lb_trace_open(in->s->cx, &in->options, in->text, (size_t)in->size, &trace, &err));
    PyObject *list = PyList_New(0);
    while (list != NULL && !done)
        if (!trace_step(in->s, trace, log, in->form, list, &done))
            Py_CLEAR(list);
    lb_trace_close(trace);
    return list;
}

static PyObject *trace_logged(const trace_inputs *in)
{
    const lb_lineage_log_options options = { .struct_size = sizeof options };
    lb_lineage_log *log = NULL;
    core_call call;

    core_begin(&call, in->s, NULL);
    lb_status status = in->log == NULL ? LB_OK : lb_lineage_log_open(in->s->cx, in->log, &options, &log, &call.err);
    if (!core_end(&call, status, CORE_FILE))
        return NULL;
    PyObject *list = trace_run(in, log);
    if (list == NULL) { /* the exception that is set says more than a log that cannot be closed */
        (void)lb_lineage_log_close(log, NULL);
        return NULL;
    }
    core_begin(&call, in->s, NULL);
    status = lb_lineage_log_close(log, &call.err);
    if (!core_end(&call, status, CORE_FILE))
        Py_CLEAR(list);
    return list;
}

/* trace(catalog or None, text, (default_db, warehouse, user, query_id, started, ended, flags), log or None, form or
 * None);
 * flags are keep_newlines, expand_complex_types, expr_rewrites, strict from the lowest bit on. */
static PyObject *lineage_trace(PyObject *self, PyObject *args)
{
    trace_inputs in = { .options = { .struct_size = sizeof in.options } };
    catalog_object *catalog = NULL;
    long long started, ended;
    PyObject *given;
    unsigned flags;
    (void)self;

    if (!PyArg_ParseTuple(args, "Os#(zzzzLLI)zz", &given, &in.text, &in.size, &in.options.default_db,
                          &in.options.warehouse, &in.options.user, &in.options.query_id, &started, &ended, &flags,
                          &in.log, &in.form))
        return NULL;
    if (given != Py_None) {
        if (!PyObject_TypeCheck(given, (PyTypeObject *)catalog_type) || (catalog = catalog_of(given, false)) == NULL)
            return PyErr_Occurred() != NULL ? NULL : PyErr_Format(PyExc_TypeError, "a Catalog is expected");
        in.options.catalog = catalog->catalog;
    }
    in.options.started = started;
    in.options.ended = ended;
    in.options.keep_newlines = (flags & 1) != 0;
    in.options.expand_complex_types = (flags & 2) != 0;
    in.options.expr_rewrites = (flags & 4) != 0;
    in.options.strict = (flags & 8) != 0;
    in.s = core_context_new();
    if (in.s == NULL)
        return NULL;
    if (catalog != NULL)
        catalog->users++;
    PyObject *list = trace_logged(&in);
    if (catalog != NULL)
        catalog->users--;
    core_context_unref(in.s);
    return list;
}

/* ---------------------------------------------------------------- records */

typedef struct records_object {
    PyObject_HEAD core_context *s;
    lb_lineage_records *records;
    bool busy;
} records_object;

static int records_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    records_object *o = (records_object *)self;
    const char *path;
    core_call call;
    (void)kwargs;

    if (o->s != NULL || !PyArg_ParseTuple(args, "y", &path) || (o->s = core_context_new()) == NULL)
        return -1;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_lineage_records_open(o->s->cx, path, &o->records, &call.err);
    return core_end(&call, status, CORE_FILE) ? 0 : -1;
}

static void records_dealloc(PyObject *self)
{
    records_object *o = (records_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (o->s != NULL && o->s->generation == core_generation)
        lb_lineage_records_close(o->records);
    core_context_unref(o->s);
    release(self);
    Py_DECREF(type);
}

/* next(form or None): a record, or None at the end. */
static PyObject *records_next(PyObject *self, PyObject *args)
{
    records_object *o = (records_object *)self;
    const lb_lineage_graph *graph = NULL;
    const char *form;
    core_call call;

    if (o->records == NULL || o->busy || o->s->generation != core_generation) {
        PyErr_SetString(PyExc_RuntimeError, "records are read by one thread, that opened them");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "z", &form))
        return NULL;
    o->busy = true;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_lineage_records_next(o->records, &graph, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    o->busy = false;
    return good ? graph_object(graph, form) : NULL;
}

static PyMethodDef records_methods[] = {
    { "next", records_next, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot records_slots[] = {
    { Py_tp_new, PyType_GenericNew },   { Py_tp_init, records_init },          { Py_tp_dealloc, records_dealloc },
    { Py_tp_methods, records_methods }, CORE_DOC("Records of a lineage log."), { 0, NULL },
};

static PyType_Spec records_spec = { "lakebed._core.Records", sizeof(records_object), 0, Py_TPFLAGS_DEFAULT,
                                    records_slots };

/* ---------------------------------------------------------------- trails */

static lb_status trail_fill(core_context *s, const char *path, lb_trail *trail, lb_error *err)
{
    lb_lineage_records *records = NULL;
    const lb_lineage_graph *graph = NULL;

    lb_status status = lb_lineage_records_open(s->cx, path, &records, err);
    do {
        if (status == LB_OK)
            status = lb_lineage_records_next(records, &graph, err);
        if (status == LB_OK && graph != NULL)
            status = lb_trail_add(trail, graph, err);
    } while (status == LB_OK && graph != NULL);
    lb_lineage_records_close(records);
    return status;
}

static PyObject *trail_column(const lb_trail_reply *reply, uint64_t i)
{
    lb_trail_column_info c = { .struct_size = sizeof c };

    CORE_ASK(CORE_FILE, lb_trail_reply_at(reply, i, &c, &err));
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:O,s:O,s:I,s:K,s:N,s:N,s:N,s:s,s:L,s:L}", "column", core_text(c.column, false), "table",
        core_text(c.table, true), "table_type", core_text(c.table_type, true), "result", c.result ? Py_True : Py_False,
        "value", c.value ? Py_True : Py_False, "depth", (unsigned)c.depth, "toward", (unsigned long long)c.toward,
        "operation", core_text(c.operation, true), "query_text", core_text(c.query_text, true), "user",
        core_text(c.user, true), "query_id", c.query_id, "started", (long long)c.started, "ended", (long long)c.ended);
}

/* trail(path, column, downstream, values_only, depth) */
static PyObject *lineage_trail(PyObject *self, PyObject *args)
{
    lb_trail_options options = { .struct_size = sizeof options };
    lb_trail *trail = NULL;
    lb_trail_reply *reply = NULL;
    const char *path, *column;
    int downstream, values_only;
    unsigned depth;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "ysppI", &path, &column, &downstream, &values_only, &depth))
        return NULL;
    options.downstream = downstream != 0;
    options.values_only = values_only != 0;
    options.depth = depth;
    core_context *s = core_context_new();
    if (s == NULL)
        return NULL;
    core_begin(&call, s, NULL);
    core_kind kind = CORE_FILE;
    lb_status status = lb_trail_new(s->cx, &trail, &call.err);
    if (status == LB_OK)
        status = trail_fill(s, path, trail, &call.err);
    if (status == LB_OK) {
        kind = CORE_COLUMN;
        status = lb_trail_ask(trail, column, &options, &reply, &call.err);
    }
    PyObject *list = core_end(&call, status, kind) ? PyList_New(0) : NULL;
    for (uint64_t i = 0; list != NULL && i < lb_trail_reply_size(reply); i++)
        if (!core_list_add(list, trail_column(reply, i)))
            Py_CLEAR(list);
    lb_trail_reply_free(reply);
    lb_trail_free(trail);
    core_context_unref(s);
    return list;
}

static PyObject *lineage_forms(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return PyUnicode_FromString(lb_lineage_forms());
}

static PyMethodDef lineage_functions[] = {
    { "trace", lineage_trace, METH_VARARGS, NULL },
    { "trail", lineage_trail, METH_VARARGS, NULL },
    { "lineage_forms", lineage_forms, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

bool core_add_lineage(PyObject *module)
{
    catalog_type = core_add_type(module, &catalog_spec, "Catalog");
    return catalog_type != NULL && core_add_type(module, &records_spec, "Records") != NULL &&
           core_add_functions(module, lineage_functions);
}
