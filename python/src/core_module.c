/* The module, and what its rooms take from Python. */
#include "core.h"

PyObject *core_callables[CORE_CALLABLES];

static const char *const module_callable_names[CORE_CALLABLES] = {
    "error", "warn", "date", "time", "timestamp", "duration", "interval", "decimal", "schema_type", "batch_type",
};

/* ---------------------------------------------------------------- arguments */

bool core_list_add(PyObject *list, PyObject *item)
{
    bool good = item != NULL && PyList_Append(list, item) == 0;

    Py_XDECREF(item);
    return good;
}

int core_u64(PyObject *value, void *out)
{
    PyObject *index = PyNumber_Index(value);

    if (index == NULL)
        return 0;
    *(uint64_t *)out = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    return PyErr_Occurred() == NULL;
}

void core_strings_free(core_strings *strings)
{
    Py_XDECREF(strings->keep);
    free(strings->at);
    *strings = (core_strings){ NULL, NULL, 0 };
}

static bool strings_add(core_strings *out, PyObject *item)
{
    PyObject *bytes = NULL;

    if (PyBytes_Check(item)) {
        Py_INCREF(item);
        bytes = item;
    } else if (PyUnicode_Check(item)) {
        bytes = PyUnicode_AsEncodedString(item, "utf-8", "surrogateescape");
    } else {
        PyErr_Format(PyExc_TypeError, "a str is expected, not %R", (PyObject *)Py_TYPE(item));
    }
    char *text = NULL;
    if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &text, NULL) != 0 || PyList_Append(out->keep, bytes) != 0) {
        Py_XDECREF(bytes);
        return false;
    }
    out->at[out->n++] = text;
    Py_DECREF(bytes);
    return true;
}

bool core_strings_get(PyObject *value, core_strings *out)
{
    *out = (core_strings){ NULL, NULL, 0 };
    if (value == NULL || value == Py_None)
        return true;
    Py_ssize_t n = PyUnicode_Check(value) ? -1 : PySequence_Size(value);
    if (n < 0) {
        if (PyErr_Occurred() == NULL)
            PyErr_SetString(PyExc_TypeError, "a list of str is expected, not one str");
        return false;
    }
    out->at = calloc((size_t)n + 1, sizeof *out->at);
    out->keep = PyList_New(0);
    bool good = out->at != NULL && out->keep != NULL;
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *item = PySequence_GetItem(value, i);
        good = item != NULL && strings_add(out, item);
        Py_XDECREF(item);
    }
    if (good)
        return true;
    if (PyErr_Occurred() == NULL)
        PyErr_NoMemory();
    core_strings_free(out);
    return false;
}

bool core_read_options(PyObject *pairs, lb_read_options **out)
{
    lb_error err = LB_ERROR_INIT;
    Py_ssize_t n = PyList_Size(pairs);

    *out = NULL;
    if (n < 0)
        return false;
    lb_status status = n == 0 ? LB_OK : lb_read_options_new(out, &err);
    for (Py_ssize_t i = 0; status == LB_OK && i < n; i++) {
        const char *name, *value;
        if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "sz", &name, &value)) {
            lb_read_options_free(*out);
            *out = NULL;
            return false;
        }
        status = lb_read_options_set(*out, name, value, &err);
    }
    if (status == LB_OK)
        return true;
    lb_read_options_free(*out);
    *out = NULL;
    core_raise(&err, CORE_FILE, NULL);
    return false;
}

bool core_row_numbers(PyObject *bytes, const uint64_t **rows, uint64_t *n)
{
    char *at;
    Py_ssize_t size;

    if (PyBytes_AsStringAndSize(bytes, &at, &size) != 0)
        return false;
    *rows = (const uint64_t *)(const void *)at; /* bytes begin at a multiple of 8 and 32 bytes: aligned */
    *n = (uint64_t)size / sizeof **rows;
    return true;
}

PyObject *core_text(lb_span span, bool none)
{
    if (span.size == 0 && none)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(span.text == NULL ? "" : span.text, (Py_ssize_t)span.size, "replace");
}

PyObject *core_path(const char *path)
{
    if (path == NULL)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

bool core_bytes_write(void *user, const void *bytes, size_t size)
{
    core_bytes *b = user;

    if (size > b->cap - b->size) {
        size_t cap = b->size + size + b->cap;
        char *more = cap > PY_SSIZE_T_MAX ? NULL : realloc(b->at, cap);
        if (more == NULL)
            return false;
        b->at = more;
        b->cap = cap;
    }
    if (size != 0)
        memcpy(b->at + b->size, bytes, size);
    b->size += size;
    return true;
}

PyObject *core_bytes_take(core_bytes *bytes)
{
    PyObject *out = PyBytes_FromStringAndSize(bytes->at == NULL ? "" : bytes->at, (Py_ssize_t)bytes->size);

    free(bytes->at);
    *bytes = (core_bytes){ NULL, 0, 0 };
    return out;
}

/* ---------------------------------------------------------------- the module */

PyObject *core_add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);

    if (type == NULL || PyObject_SetAttrString(module, name, type) != 0) {
        Py_XDECREF(type);
        return NULL;
    }
    return type;
}

bool core_add_functions(PyObject *module, PyMethodDef *functions)
{
    for (PyMethodDef *f = functions; f->ml_name != NULL; f++) {
        PyObject *function = PyCFunction_NewEx(f, NULL, NULL);
        int set = function == NULL ? -1 : PyObject_SetAttrString(module, f->ml_name, function);
        Py_XDECREF(function);
        if (set != 0)
            return false;
    }
    return true;
}

/* Take the callables of the Python side; once. */
static PyObject *module_use(PyObject *self, PyObject *args)
{
    PyObject *dict;
    (void)self;

    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
        return NULL;
    for (int i = 0; i < CORE_CALLABLES; i++) {
        PyObject *callable = PyDict_GetItemString(dict, module_callable_names[i]);
        if (callable == NULL)
            return PyErr_Format(PyExc_KeyError, "%s", module_callable_names[i]);
        Py_INCREF(callable);
        Py_XDECREF(core_callables[i]);
        core_callables[i] = callable;
    }
    Py_RETURN_NONE;
}

static PyObject *module_version(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return PyUnicode_FromString(lb_version());
}

PyObject *core_column_object(const lb_column_info *c)
{
    return Py_BuildValue("{s:s,s:s,s:O,s:O,s:L,s:L,s:z#,s:z#,s:O,s:O}", "name", c->name, "type", c->type, "nullable",
                         c->nullable ? Py_True : Py_False, "has_stats", c->has_stats ? Py_True : Py_False, "null_count",
                         (long long)c->null_count, "nan_count", (long long)c->nan_count, "min", c->min,
                         (Py_ssize_t)c->min_size, "max", c->max, (Py_ssize_t)c->max_size, "min_exact",
                         c->min_exact ? Py_True : Py_False, "max_exact", c->max_exact ? Py_True : Py_False);
}

static PyObject *module_read_option(const lb_option_info *o)
{
    return Py_BuildValue("(szsOO)", o->name, o->value, o->help, o->structural ? Py_True : Py_False,
                         o->repeatable ? Py_True : Py_False);
}

static PyObject *module_read_options(PyObject *self, PyObject *args)
{
    PyObject *list = PyList_New(0);
    (void)self;
    (void)args;

    for (const lb_option_info *o = lb_read_option_list(); list != NULL && o->name != NULL; o++)
        if (!core_list_add(list, module_read_option(o)))
            Py_CLEAR(list);
    return list;
}

static PyObject *module_permutation(PyObject *self, PyObject *args)
{
    lb_permutation p = { .struct_size = sizeof p };
    uint64_t n, seed, from, count;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&O&O&O&", core_u64, &n, core_u64, &seed, core_u64, &from, core_u64, &count))
        return NULL;
    CORE_ASK(CORE_FILE, lb_permutation_init(&p, n, seed, &err));
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list != NULL && i < count && from + i < n; i++)
        if (!core_list_add(list, PyLong_FromUnsignedLongLong(lb_permutation_at(&p, from + i))))
            Py_CLEAR(list);
    return list;
}

static PyMethodDef module_functions[] = {
    { "use", module_use, METH_VARARGS, NULL },
    { "version", module_version, METH_NOARGS, NULL },
    { "read_options", module_read_options, METH_NOARGS, NULL },
    { "permutation", module_permutation, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "lakebed._core", "Lakebed's library, as it is.", -1, module_functions, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&module_def);

    if (module == NULL)
        return NULL;
    if (core_add_handlers(module) && core_add_arrow(module) && core_add_tables(module) && core_add_maps(module) &&
        core_add_lance(module) && core_add_lineage(module))
        return module;
    Py_DECREF(module);
    return NULL;
}
