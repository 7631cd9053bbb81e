/* The lake map and the doctor. */
#include "core.h"

/* ---------------------------------------------------------------- building */

typedef struct map_lists {
    core_strings include, exclude, set;
    lb_read_options *read;
} map_lists;

static void map_lists_free(map_lists *l)
{
    core_strings_free(&l->include);
    core_strings_free(&l->exclude);
    core_strings_free(&l->set);
    lb_read_options_free(l->read);
}

static bool map_lists_get(PyObject *include, PyObject *exclude, PyObject *set, PyObject *pairs, map_lists *out)
{
    *out = (map_lists){ 0 };
    if (core_strings_get(include, &out->include) && core_strings_get(exclude, &out->exclude) &&
        core_strings_get(set, &out->set) && core_read_options(pairs, &out->read))
        return true;
    map_lists_free(out);
    return false;
}

static bool map_build(const char *dir, const lb_map_options *options, PyObject *progress)
{
    core_context *s = core_context_new();
    core_call call;

    if (s == NULL)
        return false;
    core_begin(&call, s, progress);
    lb_status status = lb_map_create(s->cx, dir, options, NULL, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    core_context_unref(s);
    return good;
}

/* map_create(dir, stride, fingerprint, stats, flags, include, exclude, set, options, progress); flags are
 * record_errors, hidden, no_compressed, by_products, detect, interop_full, pages from the lowest bit on. */
static PyObject *map_create(PyObject *self, PyObject *args)
{
    lb_map_options o = { .struct_size = sizeof o };
    PyObject *include, *exclude, *set, *pairs, *progress;
    unsigned flags;
    const char *dir;
    int fingerprint;
    map_lists lists;
    (void)self;

    if (!PyArg_ParseTuple(args, "yO&izIOOOOO", &dir, core_u64, &o.stride, &fingerprint, &o.stats, &flags, &include,
                          &exclude, &set, &pairs, &progress) ||
        !map_lists_get(include, exclude, set, pairs, &lists))
        return NULL;
    o.fingerprint = (lb_fingerprint)fingerprint;
    o.record_errors = (flags & 1) != 0;
    o.hidden = (flags & 2) != 0;
    o.no_compressed = (flags & 4) != 0;
    o.by_products = (flags & 8) != 0;
    o.detect = (flags & 16) != 0;
    o.interop_full = (flags & 32) != 0;
    o.pages = (flags & 64) != 0;
    o.include = lists.include.at;
    o.exclude = lists.exclude.at;
    o.set = lists.set.at;
    o.read = lists.read;
    bool good = map_build(dir, &o, progress);
    map_lists_free(&lists);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the doctor */

static PyObject *doctor_damage(const lb_finding *f)
{
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < f->n_damage; i++) {
        const lb_damage *d = &f->damage[i];
        if (!core_list_add(list, Py_BuildValue("{s:K,s:K,s:L,s:L}", "first_byte", (unsigned long long)d->first_byte,
                                               "length", (unsigned long long)d->length, "first_row",
                                               (long long)d->first_row, "rows", (long long)d->rows)))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *doctor_schema(const lb_finding *f)
{
    PyObject *list = PyList_New(0);

    for (uint64_t i = 0; list != NULL && i < f->n_schema; i++)
        if (!core_list_add(list, PyUnicode_FromString(f->schema[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *doctor_finding(const lb_doctor_report *report, uint64_t i)
{
    lb_finding f = { .struct_size = sizeof f };

    CORE_ASK(CORE_FILE, lb_doctor_finding(report, i, &f, &err));
    PyObject *damage = doctor_damage(&f), *schema = doctor_schema(&f);
    if (damage == NULL || schema == NULL) {
        Py_XDECREF(damage);
        Py_XDECREF(schema);
        return NULL;
    }
    return Py_BuildValue("{s:s,s:N,s:N,s:z,s:z,s:L,s:L,s:N,s:N}", "drift", lb_drift_text(f.drift), "path",
                         core_path(f.path), "was", core_path(f.was), "error", f.error, "note", f.note, "old_bytes",
                         (long long)f.old_bytes, "new_bytes", (long long)f.new_bytes, "damage", damage, "schema",
                         schema);
}

static PyObject *doctor_unseekable(const lb_doctor_report *report, uint64_t i)
{
    lb_unseekable u = { .struct_size = sizeof u };

    CORE_ASK(CORE_FILE, lb_doctor_unseekable(report, i, &u, &err));
    return Py_BuildValue("{s:N,s:s,s:K,s:K}", "path", core_path(u.path), "container", u.container, "bytes",
                         (unsigned long long)u.bytes, "text_bytes", (unsigned long long)u.text_bytes);
}

static PyObject *doctor_report(const lb_doctor_report *report)
{
    lb_doctor_info d = { .struct_size = sizeof d };

    CORE_ASK(CORE_FILE, lb_doctor_get_info(report, &d, &err));
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < d.findings; i++)
        if (!core_list_add(list, doctor_finding(report, i)))
            Py_CLEAR(list);
    PyObject *unseekable = list == NULL ? NULL : PyList_New(0);
    for (uint64_t i = 0; unseekable != NULL && i < d.unseekable; i++)
        if (!core_list_add(unseekable, doctor_unseekable(report, i)))
            Py_CLEAR(unseekable);
    if (unseekable == NULL) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("{s:s,s:K,s:K,s:O,s:O,s:N,s:i,s:K,s:K,s:L,s:N,s:N}", "status", lb_doctor_status_text(d.status),
                         "total_files", (unsigned long long)d.total_files, "healthy_count",
                         (unsigned long long)d.healthy, "healed", d.healed ? Py_True : Py_False, "had_map",
                         d.had_map ? Py_True : Py_False, "map_path", core_path(d.map_path), "map_schema", d.map_schema,
                         "bytes_hashed", (unsigned long long)d.bytes_hashed, "bytes_surveyed",
                         (unsigned long long)d.bytes_surveyed, "elapsed_ns", (long long)d.elapsed_ns, "findings", list,
                         "unseekable", unseekable);
}

static PyObject *map_doctor(PyObject *self, PyObject *args)
{
    lb_doctor_options options = { .struct_size = sizeof options };
    lb_doctor_report *report = NULL;
    PyObject *progress, *out = NULL;
    long long older_than;
    const char *dir;
    int heal, verify;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "yppLO", &dir, &heal, &verify, &older_than, &progress))
        return NULL;
    options.heal = heal != 0;
    options.verify = verify != 0;
    options.older_than_ns = older_than;
    core_context *s = core_context_new();
    if (s == NULL)
        return NULL;
    core_begin(&call, s, progress);
    lb_status status = lb_doctor(s->cx, dir, &options, &report, &call.err);
    if (core_end(&call, status, CORE_MAP))
        out = doctor_report(report);
    lb_doctor_report_free(report);
    core_context_unref(s);
    return out;
}

static PyObject *map_undo(PyObject *self, PyObject *args)
{
    const char *dir;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "y", &dir))
        return NULL;
    core_context *s = core_context_new();
    if (s == NULL)
        return NULL;
    core_begin(&call, s, NULL);
    lb_status status = lb_doctor_undo(s->cx, dir, &call.err);
    bool good = core_end(&call, status, CORE_MAP);
    core_context_unref(s);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- Map */

typedef struct map_object {
    PyObject_HEAD core_context *s;
    lb_map *map;
} map_object;

/* Map(dir) */
static int map_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    map_object *m = (map_object *)self;
    const char *dir;
    core_call call;
    (void)kwargs;

    if (m->s != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a map is opened once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "y", &dir) || (m->s = core_context_new()) == NULL)
        return -1;
    core_begin(&call, m->s, NULL);
    lb_status status = lb_map_open(m->s->cx, dir, &m->map, &call.err);
    return core_end(&call, status, CORE_MAP) ? 0 : -1;
}

/* A map that the parent opened is only memory: the child may read it, and leaves it to the parent to close. */
static void map_let_go(map_object *m)
{
    if (m->s != NULL && m->s->generation == core_generation)
        lb_map_close(m->map);
    core_context_unref(m->s);
    m->s = NULL;
    m->map = NULL;
}

static void map_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    map_let_go((map_object *)self);
    release(self);
    Py_DECREF(type);
}

static PyObject *map_close(PyObject *self, PyObject *args)
{
    (void)args;
    map_let_go((map_object *)self);
    Py_RETURN_NONE;
}

static lb_map *map_of(PyObject *self)
{
    lb_map *map = ((map_object *)self)->map;

    if (map == NULL)
        PyErr_SetString(PyExc_ValueError, "the map is closed");
    return map;
}

static PyObject *map_info(PyObject *self, PyObject *args)
{
    lb_map_info i = { .struct_size = sizeof i };
    lb_map *map = map_of(self);
    (void)args;

    if (map == NULL)
        return NULL;
    CORE_ASK(CORE_MAP, lb_map_get_info(map, &i, &err));
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:s,s:L,s:i,s:O,s:K,s:s,s:s}", "files", (unsigned long long)i.files,
                         "rows", (unsigned long long)i.rows, "bytes", (unsigned long long)i.bytes, "failed",
                         (unsigned long long)i.failed, "stride", (unsigned long long)i.stride, "fingerprint",
                         i.fingerprint == LB_FINGERPRINT_BLAKE3 ? "blake3" : "metadata", "created_ns",
                         (long long)i.created_ns, "map_schema", i.map_schema, "extended",
                         i.extended ? Py_True : Py_False, "file_bytes", (unsigned long long)i.file_bytes,
                         "options_json", i.options_json, "writer", i.writer);
}

static PyObject *map_entry(PyObject *self, PyObject *args)
{
    lb_entry_info e = { .struct_size = sizeof e };
    lb_map *map = map_of(self);
    uint64_t index;

    if (map == NULL || !PyArg_ParseTuple(args, "O&", core_u64, &index))
        return NULL;
    CORE_ASK(CORE_MAP, lb_map_entry(map, index, &e, &err));
    return Py_BuildValue("{s:s,s:s,s:s,s:z,s:z,s:z,s:K,s:K,s:K,s:K,s:K,s:L}", "path", e.path, "format", e.format,
                         "locator", e.locator, "container", e.container, "error", e.error, "content_hash",
                         e.content_hash, "bytes", (unsigned long long)e.bytes, "rows", (unsigned long long)e.rows,
                         "first_row", (unsigned long long)e.first_row, "blocks", (unsigned long long)e.blocks,
                         "columns", (unsigned long long)e.columns, "mtime_ns", (long long)e.mtime_ns);
}

static PyObject *map_find(PyObject *self, PyObject *args)
{
    lb_map *map = map_of(self);
    const char *path;
    uint64_t index = 0;

    if (map == NULL || !PyArg_ParseTuple(args, "s", &path))
        return NULL;
    CORE_ASK(CORE_FILE, lb_map_find(map, path, &index, &err));
    return PyLong_FromUnsignedLongLong(index);
}

static PyObject *map_column(lb_map *map, uint64_t index, uint64_t column)
{
    lb_column_info c = { .struct_size = sizeof c };

    CORE_ASK(CORE_MAP, lb_map_column(map, index, column, &c, &err));
    return core_column_object(&c);
}

static PyObject *map_columns(PyObject *self, PyObject *args)
{
    lb_entry_info e = { .struct_size = sizeof e };
    lb_map *map = map_of(self);
    uint64_t index;

    if (map == NULL || !PyArg_ParseTuple(args, "O&", core_u64, &index))
        return NULL;
    CORE_ASK(CORE_MAP, lb_map_entry(map, index, &e, &err));
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < e.columns; i++)
        if (!core_list_add(list, map_column(map, index, i)))
            Py_CLEAR(list);
    return list;
}

static PyObject *map_place(const lb_place *p)
{
    return Py_BuildValue("{s:s,s:K,s:K,s:K,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:O}", "path", p->path, "entry",
                         (unsigned long long)p->entry, "global_row", (unsigned long long)p->global_row, "file_row",
                         (unsigned long long)p->file_row, "block", (long long)p->block, "row_in_block",
                         (long long)p->row_in_block, "block_first_row", (long long)p->block_first_row, "block_rows",
                         (long long)p->block_rows, "block_first_byte", (long long)p->block_first_byte, "block_bytes",
                         (long long)p->block_bytes, "block_first_line", (long long)p->block_first_line, "page_indexed",
                         p->page_indexed ? Py_True : Py_False);
}

/* None where there is no such row. */
static PyObject *map_locate(PyObject *self, PyObject *args)
{
    lb_place place = { .struct_size = sizeof place };
    lb_error err = LB_ERROR_INIT;
    const char *path = NULL;
    lb_map *map = map_of(self);
    uint64_t row;

    if (map == NULL || !PyArg_ParseTuple(args, "O&|z", core_u64, &row, &path))
        return NULL;
    lb_status status =
        path == NULL ? lb_map_locate(map, row, &place, &err) : lb_map_locate_in(map, path, row, &place, &err);
    if (status == LB_USAGE)
        Py_RETURN_NONE;
    if (status == LB_OK)
        return map_place(&place);
    core_raise(&err, status == LB_NOTFOUND ? CORE_FILE : CORE_MAP, NULL);
    return NULL;
}

static PyMethodDef map_methods[] = {
    { "close", map_close, METH_NOARGS, NULL },
    { "info", map_info, METH_NOARGS, NULL },
    { "entry", map_entry, METH_VARARGS, NULL },
    { "find", map_find, METH_VARARGS, NULL },
    { "columns", map_columns, METH_VARARGS, NULL },
    { "locate", map_locate, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot map_slots[] = {
    { Py_tp_new, PyType_GenericNew }, { Py_tp_init, map_init },   { Py_tp_dealloc, map_dealloc },
    { Py_tp_methods, map_methods },   CORE_DOC("An opened map."), { 0, NULL },
};

static PyType_Spec map_spec = { "lakebed._core.Map", sizeof(map_object), 0, Py_TPFLAGS_DEFAULT, map_slots };

static PyMethodDef map_functions[] = {
    { "map_create", map_create, METH_VARARGS, NULL },
    { "doctor", map_doctor, METH_VARARGS, NULL },
    { "doctor_undo", map_undo, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

bool core_add_maps(PyObject *module)
{
    return core_add_type(module, &map_spec, "Map") != NULL && core_add_functions(module, map_functions);
}
