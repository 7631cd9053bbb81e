/* Lance datasets: what is in a version, and changes that make new ones. */
#include "core.h"

/* ---------------------------------------------------------------- Dataset */

typedef struct dataset_object {
    PyObject_HEAD core_context *s;
    lb_dataset *d;
    bool busy; /* one call at a time: what is lent by one may be made anew by another */
} dataset_object;

static int dataset_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    dataset_object *o = (dataset_object *)self;
    const char *path;
    core_call call;
    (void)kwargs;

    if (o->s != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a dataset is opened once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "y", &path) || (o->s = core_context_new()) == NULL)
        return -1;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_dataset_open(o->s->cx, path, &o->d, &call.err);
    return core_end(&call, status, CORE_FILE) ? 0 : -1;
}

static void dataset_dealloc(PyObject *self)
{
    dataset_object *o = (dataset_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (o->s != NULL && o->s->generation == core_generation)
        lb_dataset_close(o->d);
    core_context_unref(o->s);
    release(self);
    Py_DECREF(type);
}

static lb_dataset *dataset_of(PyObject *self)
{
    dataset_object *o = (dataset_object *)self;

    if (o->d == NULL)
        PyErr_SetString(PyExc_ValueError, "the dataset is not open");
    else if (o->s->generation != core_generation)
        PyErr_SetString(PyExc_RuntimeError, "the dataset was opened before a fork");
    else if (o->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread is asking this dataset");
    else
        return o->d;
    return NULL;
}

static PyObject *dataset_info(PyObject *self, PyObject *args)
{
    lb_dataset_info i = { .struct_size = sizeof i };
    lb_dataset *d = dataset_of(self);
    (void)args;

    if (d == NULL)
        return NULL;
    CORE_ASK(CORE_FILE, lb_dataset_get_info(d, &i, &err));
    return Py_BuildValue(
        "{s:N,s:s,s:K,s:K,s:L,s:L,s:z,s:K,s:K,s:K,s:K,s:K,s:L,s:i,s:s,s:s,s:s,s:s,s:s,s:K,s:K,s:L,s:K,s:O,s:O}", "path",
        core_path(i.path), "manifest", i.manifest, "version", (unsigned long long)i.version, "newest",
        (unsigned long long)i.newest, "rows", (long long)i.rows, "deleted", (long long)i.deleted, "unreadable",
        i.unreadable, "fragments", (unsigned long long)i.fragments, "files", (unsigned long long)i.files, "fields",
        (unsigned long long)i.fields, "columns", (unsigned long long)i.columns, "indices",
        (unsigned long long)i.indices, "seconds", (long long)i.seconds, "nanos", (int)i.nanos, "tag", i.tag, "writer",
        i.writer, "storage", i.storage, "branch", i.branch, "transaction", i.transaction, "reader_flags",
        (unsigned long long)i.reader_flags, "writer_flags", (unsigned long long)i.writer_flags, "max_fragment",
        (long long)i.max_fragment, "manifest_bytes", (unsigned long long)i.manifest_bytes, "has_indices",
        i.has_indices ? Py_True : Py_False, "has_aux", i.has_aux ? Py_True : Py_False);
}

static PyObject *dataset_version(lb_dataset *d, uint64_t index)
{
    lb_dataset_version v = { .struct_size = sizeof v };

    CORE_ASK(CORE_FILE, lb_dataset_version_at(d, index, &v, &err));
    return Py_BuildValue("(KsKLiss)", (unsigned long long)v.version, v.manifest, (unsigned long long)v.bytes,
                         (long long)v.seconds, (int)v.nanos, v.tag, v.tags);
}

static PyObject *dataset_versions(PyObject *self, PyObject *args)
{
    dataset_object *o = (dataset_object *)self;
    lb_dataset *d = dataset_of(self);
    uint64_t n = 0;
    core_call call;
    (void)args;

    if (d == NULL)
        return NULL;
    o->busy = true;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_dataset_version_count(d, &n, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    o->busy = false;
    PyObject *list = good ? PyList_New(0) : NULL;
    for (uint64_t i = 0; list != NULL && i < n; i++)
        if (!core_list_add(list, dataset_version(d, i)))
            Py_CLEAR(list);
    return list;
}

static PyObject *dataset_ids(const int32_t *ids, size_t n)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < n; i++)
        if (!core_list_add(list, PyLong_FromLong(ids[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *dataset_field(lb_dataset *d, uint64_t index)
{
    lb_dataset_field f = { .struct_size = sizeof f };

    CORE_ASK(CORE_FILE, lb_dataset_field_at(d, index, &f, &err));
    return Py_BuildValue("{s:i,s:i,s:s,s:s,s:s,s:O}", "id", (int)f.id, "parent", (int)f.parent, "name", f.name,
                         "logical_type", f.logical_type, "encoding", f.encoding, "nullable",
                         f.nullable ? Py_True : Py_False);
}

static PyObject *dataset_file(lb_dataset *d, uint64_t fragment, uint64_t index)
{
    lb_dataset_file f = { .struct_size = sizeof f };

    CORE_ASK(CORE_FILE, lb_dataset_file_at(d, fragment, index, &f, &err));
    PyObject *fields = dataset_ids(f.fields, f.n_fields);
    return fields == NULL
               ? NULL
               : Py_BuildValue("{s:s,s:N,s:K,s:I,s:I}", "path", f.path, "fields", fields, "bytes",
                               (unsigned long long)f.bytes, "major", (unsigned)f.major, "minor", (unsigned)f.minor);
}

static PyObject *dataset_fragment(lb_dataset *d, uint64_t index)
{
    lb_dataset_fragment f = { .struct_size = sizeof f };

    CORE_ASK(CORE_FILE, lb_dataset_fragment_at(d, index, &f, &err));
    PyObject *files = PyList_New(0);
    for (uint64_t i = 0; files != NULL && i < f.files; i++)
        if (!core_list_add(files, dataset_file(d, index, i)))
            Py_CLEAR(files);
    return files == NULL
               ? NULL
               : Py_BuildValue("{s:K,s:L,s:L,s:z,s:N}", "id", (unsigned long long)f.id, "rows", (long long)f.rows,
                               "deleted", (long long)f.deleted, "deletion_file", f.deletion_file, "files", files);
}

static PyObject *dataset_index(lb_dataset *d, uint64_t index)
{
    lb_dataset_index i = { .struct_size = sizeof i };

    CORE_ASK(CORE_FILE, lb_dataset_index_at(d, index, &i, &err));
    PyObject *fields = dataset_ids(i.fields, i.n_fields);
    return fields == NULL ? NULL
                          : Py_BuildValue("{s:s,s:s,s:N,s:K,s:s}", "name", i.name, "uuid", i.uuid, "fields", fields,
                                          "dataset_version", (unsigned long long)i.dataset_version, "type", i.type);
}

/* parts("fields" | "fragments" | "indices") */
static PyObject *dataset_parts(PyObject *self, PyObject *args)
{
    static const struct {
        const char *name;
        PyObject *(*get)(lb_dataset *d, uint64_t index);
    } kinds[] = { { "fields", dataset_field }, { "fragments", dataset_fragment }, { "indices", dataset_index } };
    lb_dataset_info info = { .struct_size = sizeof info };
    lb_dataset *d = dataset_of(self);
    const char *kind;

    if (d == NULL || !PyArg_ParseTuple(args, "s", &kind))
        return NULL;
    CORE_ASK(CORE_FILE, lb_dataset_get_info(d, &info, &err));
    const uint64_t counts[] = { info.fields, info.fragments, info.indices };
    for (size_t k = 0; k < CORE_COUNT_OF(kinds); k++) {
        if (strcmp(kind, kinds[k].name) != 0)
            continue;
        PyObject *list = PyList_New(0);
        for (uint64_t i = 0; list != NULL && i < counts[k]; i++)
            if (!core_list_add(list, kinds[k].get(d, i)))
                Py_CLEAR(list);
        return list;
    }
    return PyErr_Format(PyExc_ValueError, "a dataset has no '%s'", kind);
}

/* meta(kind): of the schema 0, of the version 1, settings 2, of the table 3. */
static PyObject *dataset_meta(PyObject *self, PyObject *args)
{
    lb_dataset *d = dataset_of(self);
    int kind;

    if (d == NULL || !PyArg_ParseTuple(args, "i", &kind))
        return NULL;
    PyObject *dict = PyDict_New();
    for (uint64_t i = 0; dict != NULL && i < lb_dataset_meta_count(d, (lb_dataset_meta)kind); i++) {
        const char *key;
        const void *value;
        size_t size;
        lb_error err = LB_ERROR_INIT;
        PyObject *bytes = NULL;
        if (lb_dataset_meta_at(d, (lb_dataset_meta)kind, i, &key, &value, &size, &err) != LB_OK)
            core_raise(&err, CORE_FILE, NULL);
        else
            bytes = PyBytes_FromStringAndSize(value, (Py_ssize_t)size);
        if (bytes == NULL || PyDict_SetItemString(dict, key, bytes) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(bytes);
    }
    return dict;
}

static PyObject *dataset_row_ids(PyObject *self, PyObject *args)
{
    dataset_object *o = (dataset_object *)self;
    lb_dataset *d = dataset_of(self);
    uint64_t first, count;
    core_call call;

    if (d == NULL || !PyArg_ParseTuple(args, "O&O&", core_u64, &first, core_u64, &count))
        return NULL;
    uint64_t *ids = count > PY_SSIZE_T_MAX / sizeof *ids ? NULL : malloc((size_t)count * sizeof *ids + 1);
    if (ids == NULL)
        return PyErr_NoMemory();
    o->busy = true;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_dataset_row_ids(d, first, count, ids, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    o->busy = false;
    PyObject *list = good ? PyList_New(0) : NULL;
    for (uint64_t i = 0; list != NULL && i < count; i++)
        if (!core_list_add(list, PyLong_FromUnsignedLongLong(ids[i])))
            Py_CLEAR(list);
    free(ids);
    return list;
}

static PyObject *dataset_verify(PyObject *self, PyObject *args)
{
    dataset_object *o = (dataset_object *)self;
    lb_dataset *d = dataset_of(self);
    core_call call;
    (void)args;

    if (d == NULL)
        return NULL;
    o->busy = true;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_dataset_verify(d, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    o->busy = false;
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *dataset_hits(const lb_hit *hits, size_t n)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < n; i++)
        if (!core_list_add(list, Py_BuildValue("(KdK)", (unsigned long long)hits[i].row, hits[i].distance,
                                               (unsigned long long)hits[i].row_id)))
            Py_CLEAR(list);
    return list;
}

/* search(column, query as bytes of floats, k, probes, refine, metric, exact) */
static PyObject *dataset_search(PyObject *self, PyObject *args)
{
    lb_search search = { .struct_size = sizeof search };
    dataset_object *o = (dataset_object *)self;
    lb_dataset *d = dataset_of(self);
    const char *query;
    Py_ssize_t size;
    uint64_t k;
    size_t n = 0;
    int metric, exact;
    core_call call;

    if (d == NULL || !PyArg_ParseTuple(args, "sy#O&IIip", &search.column, &query, &size, core_u64, &k, &search.probes,
                                       &search.refine, &metric, &exact))
        return NULL;
    lb_hit *hits = k > PY_SSIZE_T_MAX / sizeof *hits ? NULL : malloc((size_t)k * sizeof *hits + 1);
    if (hits == NULL)
        return PyErr_NoMemory();
    search.query = (const float *)(const void *)query;
    search.dimension = (size_t)size / sizeof *search.query;
    search.k = (size_t)k;
    search.metric = (lb_metric)metric;
    search.exact = exact != 0;
    o->busy = true;
    core_begin(&call, o->s, NULL);
    lb_status status = lb_dataset_search(d, &search, hits, &n, &call.err);
    bool good = core_end(&call, status, CORE_COLUMN);
    o->busy = false;
    PyObject *list = good ? dataset_hits(hits, n) : NULL;
    free(hits);
    return list;
}

static PyMethodDef dataset_methods[] = {
    { "info", dataset_info, METH_NOARGS, NULL },        { "versions", dataset_versions, METH_NOARGS, NULL },
    { "parts", dataset_parts, METH_VARARGS, NULL },     { "meta", dataset_meta, METH_VARARGS, NULL },
    { "row_ids", dataset_row_ids, METH_VARARGS, NULL }, { "verify", dataset_verify, METH_NOARGS, NULL },
    { "search", dataset_search, METH_VARARGS, NULL },   { NULL, NULL, 0, NULL },
};

static PyType_Slot dataset_slots[] = {
    { Py_tp_new, PyType_GenericNew },          { Py_tp_init, dataset_init },
    { Py_tp_dealloc, dataset_dealloc },        { Py_tp_methods, dataset_methods },
    CORE_DOC("A version of a Lance dataset."), { 0, NULL },
};

static PyType_Spec dataset_spec = { "lakebed._core.Dataset", sizeof(dataset_object), 0, Py_TPFLAGS_DEFAULT,
                                    dataset_slots };

/* ---------------------------------------------------------------- changes */

typedef struct lance_pairs {
    lb_key_value *at;
    size_t n;
} lance_pairs;

/* A list of (key, bytes or None); lent from it. */
static bool lance_pairs_get(PyObject *list, lance_pairs *out)
{
    Py_ssize_t n = PyList_Size(list);

    *out = (lance_pairs){ NULL, 0 };
    if (n < 0)
        return false;
    out->at = calloc((size_t)n + 1, sizeof *out->at);
    if (out->at == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        lb_key_value *pair = &out->at[out->n++];
        Py_ssize_t size;
        const char *value;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sz#", &pair->key, &value, &size)) {
            free(out->at);
            return false;
        }
        pair->value = value;
        pair->size = (size_t)size;
    }
    return true;
}

typedef struct lance_options {
    lb_lance_options o;
    lance_pairs metadata, aux;
} lance_options;

static void lance_options_free(lance_options *o)
{
    free(o->metadata.at);
    free(o->aux.at);
}

/* (nulls, group_rows, file_rows, replace, tag, metadata, aux) */
static bool lance_options_get(PyObject *tuple, lance_options *out)
{
    PyObject *metadata, *aux;
    int nulls, replace;

    *out = (lance_options){ .o = { .struct_size = sizeof out->o } };
    if (!PyArg_ParseTuple(tuple, "iO&O&pzO!O!", &nulls, core_u64, &out->o.group_rows, core_u64, &out->o.file_rows,
                          &replace, &out->o.tag, &PyList_Type, &metadata, &PyList_Type, &aux) ||
        !lance_pairs_get(metadata, &out->metadata))
        return false;
    if (!lance_pairs_get(aux, &out->aux)) {
        free(out->metadata.at);
        return false;
    }
    out->o.nulls = (lb_lance_nulls)nulls;
    out->o.replace = replace != 0;
    out->o.metadata = out->metadata.at;
    out->o.n_metadata = out->metadata.n;
    out->o.aux = out->aux.at;
    out->o.n_aux = out->aux.n;
    return true;
}

static PyObject *lance_result(const lb_lance_result *r)
{
    return Py_BuildValue("(KKKK)", (unsigned long long)r->version, (unsigned long long)r->rows,
                         (unsigned long long)r->files, (unsigned long long)r->fragments);
}

typedef lb_status (*lance_write_fn)(lb_context *cx, const char *path, struct ArrowArrayStream *rows,
                                    const lb_lance_options *options, lb_lance_result *out, lb_error *err);

/* write(kind, path, rows, options): create, append, overwrite or add_columns. */
static PyObject *lance_write(PyObject *self, PyObject *args)
{
    static const struct {
        const char *name;
        lance_write_fn call;
    } kinds[] = { { "create", lb_lance_create },
                  { "append", lb_lance_append },
                  { "overwrite", lb_lance_overwrite },
                  { "add_columns", lb_lance_add_columns } };
    lb_lance_result result = { .struct_size = sizeof result };
    struct ArrowArrayStream rows;
    const char *kind, *path;
    PyObject *value, *tuple;
    lance_options options;
    size_t k = 0;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "syOO", &kind, &path, &value, &tuple))
        return NULL;
    while (k + 1 < CORE_COUNT_OF(kinds) && strcmp(kinds[k].name, kind) != 0)
        k++;
    if (!lance_options_get(tuple, &options))
        return NULL;
    core_context *s = core_context_new();
    if (s == NULL || !core_import_stream(value, &rows)) {
        core_context_unref(s);
        lance_options_free(&options);
        return NULL;
    }
    core_begin(&call, s, NULL);
    lb_status status = kinds[k].call(s->cx, path, &rows, &options.o, &result, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    core_context_unref(s);
    lance_options_free(&options);
    return good ? lance_result(&result) : NULL;
}

/* change(kind, path, argument, ids, options): delete (row numbers), compact, restore (a version) or annotate. */
static lb_status lance_change_call(core_call *call, const char *kind, const char *path, PyObject *argument, bool ids,
                                   const lance_options *o, lb_lance_result *result)
{
    lb_context *cx = call->s->cx;

    if (kind[0] == 'd') {
        const char *rows = PyBytes_AsString(argument); /* cannot fail: it was looked at */
        return lb_lance_delete(cx, path, (const uint64_t *)(const void *)rows,
                               (size_t)PyBytes_Size(argument) / sizeof(uint64_t), ids, &o->o, result, &call->err);
    }
    if (kind[0] == 'c')
        return lb_lance_compact(cx, path, &o->o, result, &call->err);
    if (kind[0] == 'r')
        return lb_lance_restore(cx, path, PyBytes_AsString(argument), &o->o, result, &call->err);
    return lb_lance_annotate(cx, path, &o->o, result, &call->err);
}

static PyObject *lance_change(PyObject *self, PyObject *args)
{
    lb_lance_result result = { .struct_size = sizeof result };
    PyObject *argument, *tuple;
    const char *kind, *path;
    lance_options options;
    int ids;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "syO!pO", &kind, &path, &PyBytes_Type, &argument, &ids, &tuple) ||
        !lance_options_get(tuple, &options))
        return NULL;
    core_context *s = core_context_new();
    if (s == NULL) {
        lance_options_free(&options);
        return NULL;
    }
    core_begin(&call, s, NULL);
    lb_status status = lance_change_call(&call, kind, path, argument, ids != 0, &options, &result);
    bool good = core_end(&call, status, CORE_FILE);
    core_context_unref(s);
    lance_options_free(&options);
    return good ? lance_result(&result) : NULL;
}

static PyObject *lance_tag(PyObject *self, PyObject *args)
{
    const char *path, *spec, *tag;
    int remove;
    PyObject *tuple;
    lance_options options;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "yzspO", &path, &spec, &tag, &remove, &tuple) || !lance_options_get(tuple, &options))
        return NULL;
    core_context *s = core_context_new();
    if (s == NULL) {
        lance_options_free(&options);
        return NULL;
    }
    core_begin(&call, s, NULL);
    lb_status status = lb_lance_tag(s->cx, path, spec, tag, remove != 0, &options.o, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    core_context_unref(s);
    lance_options_free(&options);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- orphans */

typedef struct orphan {
    char *path;
    uint64_t bytes;
    int64_t age_ns;
    bool removed;
} orphan;

typedef struct orphans {
    orphan *at;
    size_t n;
} orphans;

/* Told without the interpreter's lock, so they are kept in C until the call is over. */
static void lance_orphan_told(void *user, const lb_lance_orphan *o)
{
    orphans *all = user;
    orphan *more = realloc(all->at, (all->n + 1) * sizeof *more);
    char *path = strdup(o->path);

    if (more != NULL)
        all->at = more;
    if (more == NULL || path == NULL) {
        free(path);
        return;
    }
    more[all->n++] = (orphan){ path, o->bytes, o->age_ns, o->removed };
}

static PyObject *lance_orphans(PyObject *self, PyObject *args)
{
    orphans all = { NULL, 0 };
    long long older_than;
    const char *path;
    int remove;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "ypL", &path, &remove, &older_than))
        return NULL;
    core_context *s = core_context_new();
    if (s == NULL)
        return NULL;
    core_begin(&call, s, NULL);
    lb_status status = lb_lance_orphans(s->cx, path, remove != 0, older_than, lance_orphan_told, &all, &call.err);
    PyObject *list = core_end(&call, status, CORE_FILE) ? PyList_New(0) : NULL;
    for (size_t i = 0; i < all.n; i++) {
        if (list != NULL &&
            !core_list_add(list, Py_BuildValue("(sKLO)", all.at[i].path, (unsigned long long)all.at[i].bytes,
                                               (long long)all.at[i].age_ns, all.at[i].removed ? Py_True : Py_False)))
            Py_CLEAR(list);
        free(all.at[i].path);
    }
    free(all.at);
    core_context_unref(s);
    return list;
}

static PyObject *lance_exists(PyObject *self, PyObject *args)
{
    const char *path;
    (void)self;

    if (!PyArg_ParseTuple(args, "y", &path))
        return NULL;
    return PyBool_FromLong(lb_dataset_exists(path));
}

static PyMethodDef lance_functions[] = {
    { "lance_write", lance_write, METH_VARARGS, NULL },   { "lance_change", lance_change, METH_VARARGS, NULL },
    { "lance_tag", lance_tag, METH_VARARGS, NULL },       { "lance_orphans", lance_orphans, METH_VARARGS, NULL },
    { "lance_exists", lance_exists, METH_VARARGS, NULL }, { NULL, NULL, 0, NULL },
};

bool core_add_lance(PyObject *module)
{
    return core_add_type(module, &dataset_spec, "Dataset") != NULL && core_add_functions(module, lance_functions);
}
