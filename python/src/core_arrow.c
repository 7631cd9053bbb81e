/* Arrow in and out: schemas, batches and streams as Python objects, and as capsules of the PyCapsule interface. */
#include "core.h"

#include <errno.h>

/* ---------------------------------------------------------------- what is shared
 * What is exported points into what Python keeps, and counts it; each node of an exported tree holds one count, for its
 * taker may move children out of it. */

/* The children of a node stand behind its pointers to them. */
#define SHARED(counted, name, type, node)                                                                  \
    struct counted {                                                                                       \
        _Atomic long refs;                                                                                 \
        struct type node;                                                                                  \
    };                                                                                                     \
    static counted *name##_ref(counted *c)                                                                 \
    {                                                                                                      \
        atomic_fetch_add(&c->refs, 1);                                                                     \
        return c;                                                                                          \
    }                                                                                                      \
    static void name##_unref(counted *c)                                                                   \
    {                                                                                                      \
        if (c == NULL || atomic_fetch_sub(&c->refs, 1) != 1)                                               \
            return;                                                                                        \
        if (c->node.release != NULL)                                                                       \
            c->node.release(&c->node);                                                                     \
        free(c);                                                                                           \
    }                                                                                                      \
    /* Moves `moved`, also on error (NULL: no memory). */                                                  \
    static counted *name##_keep(struct type *moved)                                                        \
    {                                                                                                      \
        counted *c = calloc(1, sizeof *c);                                                                 \
        if (c == NULL) {                                                                                   \
            moved->release(moved);                                                                         \
            return NULL;                                                                                   \
        }                                                                                                  \
        atomic_store(&c->refs, 1);                                                                         \
        c->node = *moved;                                                                                  \
        moved->release = NULL;                                                                             \
        return c;                                                                                          \
    }                                                                                                      \
    static void node##_release(struct type *n)                                                             \
    {                                                                                                      \
        for (int64_t i = 0; i < n->n_children; i++)                                                        \
            if (n->children[i]->release != NULL)                                                           \
                n->children[i]->release(n->children[i]);                                                   \
        if (n->dictionary != NULL && n->dictionary->release != NULL)                                       \
            n->dictionary->release(n->dictionary);                                                         \
        free(n->dictionary);                                                                               \
        free(n->children);                                                                                 \
        name##_unref(n->private_data);                                                                     \
        n->release = NULL;                                                                                 \
    }                                                                                                      \
    /* False: no memory; `out` is to be released all the same. */                                          \
    static bool node##_share(counted *owner, const struct type *from, struct type *out)                    \
    {                                                                                                      \
        const size_t n = (size_t)from->n_children;                                                         \
        *out = *from;                                                                                      \
        out->n_children = 0;                                                                               \
        out->children = NULL;                                                                              \
        out->dictionary = NULL;                                                                            \
        out->private_data = name##_ref(owner);                                                             \
        out->release = node##_release;                                                                     \
        if (n != 0 && (out->children = calloc(n, sizeof *out->children + sizeof **out->children)) == NULL) \
            return false;                                                                                  \
        struct type *nodes = (struct type *)(void *)(out->children + n);                                   \
        for (size_t i = 0; i < n; i++) {                                                                   \
            out->children[i] = &nodes[i];                                                                  \
            out->n_children++;                                                                             \
            if (!node##_share(owner, from->children[i], &nodes[i]))                                        \
                return false;                                                                              \
        }                                                                                                  \
        if (from->dictionary == NULL)                                                                      \
            return true;                                                                                   \
        out->dictionary = calloc(1, sizeof *out->dictionary);                                              \
        return out->dictionary != NULL && node##_share(owner, from->dictionary, out->dictionary);          \
    }

SHARED(core_schema, schema, ArrowSchema, schema)
SHARED(core_batch, batch, ArrowArray, array)

static bool schema_export(core_schema *s, struct ArrowSchema *out)
{
    if (schema_share(s, &s->schema, out))
        return true;
    out->release(out);
    return false;
}

/* Of some rows of an array the nulls were not counted. */
static void array_cut_nulls(struct ArrowArray *a)
{
    if (a->n_buffers == 0)
        a->null_count = a->null_count == 0 ? 0 : a->length; /* nulls only, or no nulls of its own */
    else if (a->null_count != 0)
        a->null_count = a->buffers[0] == NULL ? 0 : -1;
}

/* Rows [from, from + n) of a batch: columns begin later, nothing is copied. */
static bool batch_export(core_batch *b, int64_t from, int64_t n, struct ArrowArray *out)
{
    if (!array_share(b, &b->array, out)) {
        out->release(out);
        return false;
    }
    if (from == 0 && n == b->array.length)
        return true;
    for (int64_t i = 0; i < out->n_children; i++) {
        out->children[i]->offset += out->offset + from;
        out->children[i]->length = n;
        array_cut_nulls(out->children[i]);
    }
    out->offset = 0;
    out->length = n;
    out->null_count = 0;
    out->buffers = b->array.buffers;
    return true;
}

/* ---------------------------------------------------------------- capsules */

#define CAPSULE_OF(name, type)                                                       \
    static void name##_capsule_free(PyObject *capsule)                               \
    {                                                                                \
        struct type *held = PyCapsule_GetPointer(capsule, #name);                    \
        if (held->release != NULL)                                                   \
            held->release(held);                                                     \
        free(held);                                                                  \
    }                                                                                \
    static PyObject *name##_capsule(struct type *moved)                              \
    {                                                                                \
        struct type *held = malloc(sizeof *held);                                    \
        PyObject *capsule = NULL;                                                    \
        if (held == NULL) {                                                          \
            moved->release(moved);                                                   \
            return PyErr_NoMemory();                                                 \
        }                                                                            \
        *held = *moved;                                                              \
        capsule = PyCapsule_New(held, #name, name##_capsule_free);                   \
        if (capsule == NULL) {                                                       \
            held->release(held);                                                     \
            free(held);                                                              \
        }                                                                            \
        return capsule;                                                              \
    }                                                                                \
    static bool name##_take(PyObject *capsule, struct type *out)                     \
    {                                                                                \
        struct type *held = PyCapsule_GetPointer(capsule, #name);                    \
        if (held == NULL)                                                            \
            return false;                                                            \
        *out = *held;                                                                \
        held->release = NULL;                                                        \
        if (out->release == NULL)                                                    \
            PyErr_SetString(PyExc_ValueError, "an " #name " that was already used"); \
        return out->release != NULL;                                                 \
    }

CAPSULE_OF(arrow_schema, ArrowSchema)
CAPSULE_OF(arrow_array, ArrowArray)
CAPSULE_OF(arrow_array_stream, ArrowArrayStream)

/* ---------------------------------------------------------------- Schema */

typedef struct schema_object {
    PyObject_HEAD core_schema *held;
} schema_object;

typedef struct batch_object {
    PyObject_HEAD core_schema *schema;
    core_batch *held;
    int64_t from, n; /* its rows of those that are held */
} batch_object;

/* An object of a type of the Python side that stands on one of ours. */
static PyObject *arrow_new(core_callable type)
{
    allocfunc make = (allocfunc)PyType_GetSlot((PyTypeObject *)core_callables[type], Py_tp_alloc);

    return make((PyTypeObject *)core_callables[type], 0);
}

static void arrow_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(self);
    Py_DECREF(type);
}

static PyObject *schema_object_of(core_schema *held)
{
    schema_object *self = held == NULL ? NULL : (schema_object *)arrow_new(CORE_SCHEMA_TYPE);

    if (held == NULL)
        return PyErr_NoMemory();
    if (self == NULL)
        schema_unref(held);
    else
        self->held = held;
    return (PyObject *)self;
}

PyObject *core_schema_object(struct ArrowSchema *schema)
{
    return schema_object_of(schema_keep(schema));
}

static void schema_dealloc(PyObject *self)
{
    schema_unref(((schema_object *)self)->held);
    arrow_free(self);
}

static core_schema *schema_of(PyObject *self)
{
    core_schema *held = ((schema_object *)self)->held;

    if (held == NULL)
        PyErr_SetString(PyExc_TypeError, "this schema was not made by Lakebed");
    return held;
}

static PyObject *schema_capsule(PyObject *self, PyObject *args)
{
    struct ArrowSchema out;
    core_schema *held = schema_of(self);
    (void)args;

    if (held == NULL)
        return NULL;
    return schema_export(held, &out) ? arrow_schema_capsule(&out) : PyErr_NoMemory();
}

static PyObject *schema_words(const struct ArrowSchema *type)
{
    size_t size = lb_type_json(type, NULL, 0);
    char *text = size == 0 ? NULL : malloc(size + 1);

    if (text == NULL)
        return PyErr_NoMemory();
    (void)lb_type_json(type, text, size + 1);
    PyObject *words = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    free(text);
    return words;
}

/* Bytes of a field's metadata: a count, and two lengths with text for each. */
static Py_ssize_t schema_metadata_size(const char *metadata)
{
    int32_t n, size;
    Py_ssize_t at = sizeof n;

    if (metadata == NULL)
        return 0;
    memcpy(&n, metadata, sizeof n);
    for (int64_t i = 0; i < 2 * (int64_t)n; i++) {
        memcpy(&size, metadata + at, sizeof size);
        at += (Py_ssize_t)sizeof size + size;
    }
    return at;
}

/* One field: (name, type in JSON, nullable, metadata as it stands). */
static PyObject *schema_field(const struct ArrowSchema *field)
{
    return Py_BuildValue("(zNOy#)", field->name, schema_words(field),
                         (field->flags & ARROW_FLAG_NULLABLE) != 0 ? Py_True : Py_False,
                         field->metadata == NULL ? "" : field->metadata, schema_metadata_size(field->metadata));
}

static PyObject *schema_fields(PyObject *self, PyObject *args)
{
    core_schema *held = schema_of(self);
    PyObject *list = held == NULL ? NULL : PyList_New(0);
    (void)args;

    for (int64_t i = 0; list != NULL && i < held->schema.n_children; i++)
        if (!core_list_add(list, schema_field(held->schema.children[i])))
            Py_CLEAR(list);
    return list;
}

/* All of it, as what pickle knows. */
static PyObject *schema_state(const struct ArrowSchema *s)
{
    PyObject *children = PyList_New(0);

    for (int64_t i = 0; children != NULL && i < s->n_children; i++)
        if (!core_list_add(children, schema_state(s->children[i])))
            Py_CLEAR(children);
    PyObject *dictionary = NULL;
    if (s->dictionary != NULL) {
        dictionary = schema_state(s->dictionary);
    } else {
        dictionary = Py_None;
        Py_INCREF(Py_None);
    }
    if (children == NULL || dictionary == NULL) {
        Py_XDECREF(children);
        Py_XDECREF(dictionary);
        return NULL;
    }
    return Py_BuildValue("(szy#LNN)", s->format, s->name, s->metadata == NULL ? "" : s->metadata,
                         schema_metadata_size(s->metadata), (long long)s->flags, children, dictionary);
}

static PyObject *schema_get_state(PyObject *self, PyObject *args)
{
    core_schema *held = schema_of(self);
    (void)args;

    return held == NULL ? NULL : schema_state(&held->schema);
}

static PyObject *schema_count(PyObject *self, PyObject *args)
{
    core_schema *held = schema_of(self);
    (void)args;

    return held == NULL ? NULL : PyLong_FromLongLong(held->schema.n_children);
}

static PyMethodDef schema_methods[] = {
    { "__arrow_c_schema__", schema_capsule, METH_NOARGS, "The schema as a capsule of the Arrow C data interface." },
    { "_fields", schema_fields, METH_NOARGS, NULL },
    { "_state", schema_get_state, METH_NOARGS, NULL },
    { "__len__", schema_count, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot schema_slots[] = {
    { Py_tp_dealloc, schema_dealloc },
    { Py_tp_methods, schema_methods },
    CORE_DOC("Columns of rows."),
    { 0, NULL },
};

static PyType_Spec schema_spec = { "lakebed._core.Schema", sizeof(schema_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, schema_slots };

/* ---------------------------------------------------------------- Batch */

static PyObject *batch_object_of(core_schema *schema, core_batch *held, int64_t from, int64_t n)
{
    batch_object *self = held == NULL ? NULL : (batch_object *)arrow_new(CORE_BATCH_TYPE);

    if (held == NULL)
        return PyErr_NoMemory();
    if (self == NULL) {
        batch_unref(held);
        return NULL;
    }
    self->schema = schema_ref(schema);
    self->held = held;
    self->from = from;
    self->n = n;
    return (PyObject *)self;
}

static void batch_dealloc(PyObject *self)
{
    batch_object *b = (batch_object *)self;

    batch_unref(b->held);
    schema_unref(b->schema);
    arrow_free(self);
}

static batch_object *batch_of(PyObject *self)
{
    batch_object *b = (batch_object *)self;

    if (b->held != NULL)
        return b;
    PyErr_SetString(PyExc_TypeError, "this batch was not made by Lakebed");
    return NULL;
}

static PyObject *batch_capsules(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    PyObject *requested = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;

    if (b == NULL || !PyArg_ParseTuple(args, "|O", &requested))
        return NULL;
    if (!schema_export(b->schema, &schema))
        return PyErr_NoMemory();
    if (!batch_export(b->held, b->from, b->n, &array)) {
        schema.release(&schema);
        return PyErr_NoMemory();
    }
    PyObject *first = arrow_schema_capsule(&schema), *second = arrow_array_capsule(&array);
    if (first == NULL || second == NULL) {
        Py_XDECREF(first);
        Py_XDECREF(second);
        return NULL;
    }
    return Py_BuildValue("(NN)", first, second);
}

static PyObject *batch_schema(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    (void)args;

    return b == NULL ? NULL : schema_object_of(schema_ref(b->schema));
}

static PyObject *batch_rows(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    (void)args;

    return b == NULL ? NULL : PyLong_FromLongLong(b->n);
}

static PyObject *batch_slice(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    long long from, n;

    if (b == NULL || !PyArg_ParseTuple(args, "LL", &from, &n))
        return NULL;
    if (from < 0 || n < 0 || from > b->n || n > b->n - from) {
        PyErr_SetString(PyExc_IndexError, "rows that the batch does not have");
        return NULL;
    }
    return batch_object_of(b->schema, batch_ref(b->held), b->from + from, n);
}

/* Values of one column. */
static PyObject *batch_column(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    long long column;

    if (b == NULL || !PyArg_ParseTuple(args, "L", &column))
        return NULL;
    if (column < 0 || column >= b->held->array.n_children) {
        PyErr_SetString(PyExc_IndexError, "a column that the batch does not have");
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list != NULL && i < b->n; i++)
        if (!core_list_add(list, core_value(b->schema->schema.children[column], b->held->array.children[column],
                                            b->held->array.offset + b->from + i)))
            Py_CLEAR(list);
    return list;
}

/* One row as a dictionary; of columns of one name the first counts. */
static PyObject *batch_row(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    long long row;

    if (b == NULL || !PyArg_ParseTuple(args, "L", &row))
        return NULL;
    if (row < 0 || row >= b->n) {
        PyErr_SetString(PyExc_IndexError, "a row that the batch does not have");
        return NULL;
    }
    PyObject *dict = PyDict_New();
    for (int64_t i = 0; dict != NULL && i < b->held->array.n_children; i++) {
        const char *name = b->schema->schema.children[i]->name;
        if (PyDict_GetItemString(dict, name == NULL ? "" : name) != NULL)
            continue;
        PyObject *value = core_value(b->schema->schema.children[i], b->held->array.children[i],
                                     b->held->array.offset + b->from + row);
        if (value == NULL || PyDict_SetItemString(dict, name == NULL ? "" : name, value) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* An array as what pickle knows: (length, offset, nulls, buffers, children, dictionary). */
static PyObject *array_state(const struct ArrowSchema *type, const struct ArrowArray *a);

static PyObject *array_buffers(const struct ArrowSchema *type, const struct ArrowArray *a)
{
    PyObject *list = PyList_New(0);

    for (int64_t i = 0; list != NULL && i < a->n_buffers; i++) {
        int64_t size = core_buffer_bytes(type, a, i);
        PyObject *bytes = Py_None;
        if (size < 0) {
            PyErr_Format(PyExc_NotImplementedError, "an array of type '%s' cannot be pickled", type->format);
            bytes = NULL;
        } else if (a->buffers[i] != NULL) {
            bytes = PyBytes_FromStringAndSize(a->buffers[i], (Py_ssize_t)size);
        } else {
            Py_INCREF(bytes);
        }
        if (!core_list_add(list, bytes))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *array_children(const struct ArrowSchema *type, const struct ArrowArray *a)
{
    PyObject *list = PyList_New(0);

    for (int64_t i = 0; list != NULL && i < a->n_children; i++)
        if (!core_list_add(list, array_state(type->children[i], a->children[i])))
            Py_CLEAR(list);
    return list;
}

static PyObject *array_state(const struct ArrowSchema *type, const struct ArrowArray *a)
{
    PyObject *buffers = array_buffers(type, a), *children = array_children(type, a), *dictionary = Py_None;

    if (a->dictionary != NULL)
        dictionary = array_state(type->dictionary, a->dictionary);
    else
        Py_INCREF(dictionary);
    if (buffers == NULL || children == NULL || dictionary == NULL) {
        Py_XDECREF(buffers);
        Py_XDECREF(children);
        Py_XDECREF(dictionary);
        return NULL;
    }
    return Py_BuildValue("(LLLNNN)", (long long)a->length, (long long)a->offset, (long long)a->null_count, buffers,
                         children, dictionary);
}

static PyObject *batch_state(PyObject *self, PyObject *args)
{
    batch_object *b = batch_of(self);
    struct ArrowArray part;
    (void)args;

    if (b == NULL)
        return NULL;
    if (!batch_export(b->held, b->from, b->n, &part))
        return PyErr_NoMemory();
    PyObject *state = array_state(&b->schema->schema, &part);
    part.release(&part);
    return state;
}

static PyMethodDef batch_methods[] = {
    { "__arrow_c_array__", batch_capsules, METH_VARARGS, "The rows as capsules of the Arrow C data interface." },
    { "_schema", batch_schema, METH_NOARGS, NULL },
    { "__len__", batch_rows, METH_NOARGS, NULL },
    { "_slice", batch_slice, METH_VARARGS, NULL },
    { "_column", batch_column, METH_VARARGS, NULL },
    { "_row", batch_row, METH_VARARGS, NULL },
    { "_state", batch_state, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot batch_slots[] = {
    { Py_tp_dealloc, batch_dealloc },
    { Py_tp_methods, batch_methods },
    CORE_DOC("Rows that were read together."),
    { 0, NULL },
};

static PyType_Spec batch_spec = { "lakebed._core.Batch", sizeof(batch_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, batch_slots };

/* Some columns of a batch, in the order wanted: nothing is copied. */
static bool batch_pick(const batch_object *b, PyObject *list, struct ArrowArray *out)
{
    size_t n = (size_t)PyList_Size(list);

    *out = (struct ArrowArray){ .n_buffers = 1,
                                .buffers = b->held->array.buffers,
                                .private_data = batch_ref(b->held),
                                .length = b->n,
                                .release = array_release };
    out->children = calloc(n + 1, sizeof *out->children + sizeof **out->children);
    if (out->children == NULL) {
        PyErr_NoMemory();
        return false;
    }
    struct ArrowArray *nodes = (struct ArrowArray *)(void *)(out->children + n + 1);
    for (size_t i = 0; i < n; i++) {
        long long column = PyLong_AsLongLong(PyList_GetItem(list, (Py_ssize_t)i));
        if (column < 0 || column >= b->held->array.n_children) {
            PyErr_SetString(PyExc_IndexError, "a column that the batch does not have");
            return false;
        }
        out->children[i] = &nodes[i];
        out->n_children++;
        if (!array_share(b->held, b->held->array.children[column], &nodes[i])) {
            PyErr_NoMemory();
            return false;
        }
        nodes[i].offset += b->held->array.offset + b->from;
        nodes[i].length = b->n;
        array_cut_nulls(&nodes[i]);
    }
    return true;
}

static PyObject *arrow_batch_select(PyObject *self, PyObject *args)
{
    PyObject *batch, *schema, *list;
    struct ArrowArray out;
    (void)self;

    if (!PyArg_ParseTuple(args, "OOO!", &batch, &schema, &PyList_Type, &list))
        return NULL;
    if (!PyObject_TypeCheck(schema, (PyTypeObject *)core_callables[CORE_SCHEMA_TYPE]) ||
        !PyObject_TypeCheck(batch, (PyTypeObject *)core_callables[CORE_BATCH_TYPE])) {
        PyErr_SetString(PyExc_TypeError, "a Batch and a Schema are expected");
        return NULL;
    }
    batch_object *b = batch_of(batch);
    core_schema *kept = b == NULL ? NULL : schema_of(schema);
    if (kept == NULL)
        return NULL;
    if (!batch_pick(b, list, &out)) {
        out.release(&out);
        return NULL;
    }
    return batch_object_of(kept, batch_keep(&out), 0, b->n);
}

/* ---------------------------------------------------------------- out of a pickle */

/* Children and dictionary of a node, each in memory of its own. */
#define REMADE(name, type)                                                                \
    static bool name(PyObject *state, struct type *out);                                  \
    static struct type *name##_new(PyObject *state, bool *good)                           \
    {                                                                                     \
        struct type *made = calloc(1, sizeof *made);                                      \
        if (made == NULL)                                                                 \
            PyErr_NoMemory();                                                             \
        *good = made != NULL && name(state, made);                                        \
        return made;                                                                      \
    }                                                                                     \
    static bool name##_inside(PyObject *children, PyObject *dictionary, struct type *out) \
    {                                                                                     \
        const Py_ssize_t n = PyList_Size(children);                                       \
        bool good = n >= 0;                                                               \
        out->children = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *out->children);      \
        if (n >= 0 && out->children == NULL)                                              \
            PyErr_NoMemory();                                                             \
        good = good && out->children != NULL;                                             \
        for (Py_ssize_t i = 0; good && i < n; i++) {                                      \
            struct type *child = name##_new(PyList_GetItem(children, i), &good);          \
            if (child != NULL)                                                            \
                out->children[out->n_children++] = child;                                 \
        }                                                                                 \
        if (good && dictionary != Py_None)                                                \
            out->dictionary = name##_new(dictionary, &good);                              \
        return good;                                                                      \
    }                                                                                     \
    static void name##_outside(struct type *out)                                          \
    {                                                                                     \
        for (int64_t i = 0; i < out->n_children; i++) {                                   \
            if (out->children[i]->release != NULL)                                        \
                out->children[i]->release(out->children[i]);                              \
            free(out->children[i]);                                                       \
        }                                                                                 \
        if (out->dictionary != NULL && out->dictionary->release != NULL)                  \
            out->dictionary->release(out->dictionary);                                    \
        free(out->dictionary);                                                            \
        free(out->children);                                                              \
        out->release = NULL;                                                              \
    }

REMADE(remade_schema, ArrowSchema)
REMADE(remade_array, ArrowArray)

/* Of what is unpickled every string is held by the node itself. */
static void remade_schema_release(struct ArrowSchema *s)
{
    free(s->private_data);
    remade_schema_outside(s);
}

static bool remade_strings(struct ArrowSchema *out, const char *format, const char *name, const char *metadata,
                           Py_ssize_t size)
{
    size_t f = strlen(format) + 1, n = name == NULL ? 0 : strlen(name) + 1;
    char *all = malloc(f + n + (size_t)size);

    if (all == NULL) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(all, format, f);
    if (name != NULL)
        memcpy(all + f, name, n);
    if (size != 0)
        memcpy(all + f + n, metadata, (size_t)size);
    out->format = all;
    out->name = name == NULL ? NULL : all + f;
    out->metadata = size == 0 ? NULL : all + f + n;
    out->private_data = all;
    return true;
}

static bool remade_schema(PyObject *state, struct ArrowSchema *out)
{
    const char *format, *name, *metadata;
    PyObject *children, *dictionary;
    Py_ssize_t size;
    long long flags;

    *out = (struct ArrowSchema){ .release = remade_schema_release };
    if (!PyArg_ParseTuple(state, "szy#LOO", &format, &name, &metadata, &size, &flags, &children, &dictionary) ||
        !remade_strings(out, format, name, metadata, size))
        return false;
    out->flags = flags;
    return remade_schema_inside(children, dictionary, out);
}

static PyObject *arrow_schema_of(PyObject *self, PyObject *args)
{
    struct ArrowSchema out;
    PyObject *state;
    (void)self;

    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &state))
        return NULL;
    if (remade_schema(state, &out))
        return core_schema_object(&out);
    out.release(&out);
    return NULL;
}

static void remade_array_release(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_buffers; i++)
        free((void *)(uintptr_t)a->buffers[i]);
    free(a->buffers);
    remade_array_outside(a);
}

/* Aligned to 64 bytes, as Arrow recommends. */
static void *remade_buffer(PyObject *bytes)
{
    char *at;
    Py_ssize_t size;

    if (PyBytes_AsStringAndSize(bytes, &at, &size) != 0)
        return NULL;
    void *copy = aligned_alloc(64, ((size_t)size + 64) / 64 * 64);
    if (copy == NULL)
        return PyErr_NoMemory();
    memcpy(copy, at, (size_t)size);
    return copy;
}

static bool remade_buffers(PyObject *buffers, struct ArrowArray *out)
{
    Py_ssize_t n = PyList_Size(buffers);

    if (n < 0)
        return false;
    out->buffers = calloc((size_t)n + 1, sizeof *out->buffers);
    if (out->buffers == NULL) {
        PyErr_NoMemory();
        return false;
    }
    out->n_buffers = n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *bytes = PyList_GetItem(buffers, i);
        if (bytes != Py_None && (out->buffers[i] = remade_buffer(bytes)) == NULL)
            return false;
    }
    return true;
}

static bool remade_array(PyObject *state, struct ArrowArray *out)
{
    PyObject *buffers, *children, *dictionary;
    long long length, offset, nulls;

    *out = (struct ArrowArray){ .release = remade_array_release };
    if (!PyArg_ParseTuple(state, "LLLOOO", &length, &offset, &nulls, &buffers, &children, &dictionary))
        return false;
    out->length = length;
    out->offset = offset;
    out->null_count = nulls;
    return remade_buffers(buffers, out) && remade_array_inside(children, dictionary, out);
}

static PyObject *arrow_batch_of(PyObject *self, PyObject *args)
{
    struct ArrowArray out;
    PyObject *schema, *state;
    (void)self;

    if (!PyArg_ParseTuple(args, "OO!", &schema, &PyTuple_Type, &state))
        return NULL;
    if (!PyObject_TypeCheck(schema, (PyTypeObject *)core_callables[CORE_SCHEMA_TYPE])) {
        PyErr_SetString(PyExc_TypeError, "a Schema is expected");
        return NULL;
    }
    core_schema *held = schema_of(schema);
    if (held == NULL)
        return NULL;
    if (!remade_array(state, &out)) {
        out.release(&out);
        return NULL;
    }
    int64_t n = out.length;
    return batch_object_of(held, batch_keep(&out), 0, n);
}

/* ---------------------------------------------------------------- streams of kept batches */

typedef struct batch_part {
    core_batch *batch;
    int64_t from, n;
} batch_part;

typedef struct batches_stream {
    core_schema *schema;
    Py_ssize_t n, next;
    batch_part parts[];
} batches_stream;

static int batches_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    batches_stream *s = stream->private_data;

    return schema_export(s->schema, out) ? 0 : ENOMEM;
}

static int batches_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    batches_stream *s = stream->private_data;

    out->release = NULL;
    if (s->next == s->n)
        return 0;
    const batch_part *part = &s->parts[s->next++];
    return batch_export(part->batch, part->from, part->n, out) ? 0 : ENOMEM;
}

static const char *batches_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "out of memory";
}

static void batches_release(struct ArrowArrayStream *stream)
{
    batches_stream *s = stream->private_data;

    for (Py_ssize_t i = 0; i < s->n; i++)
        batch_unref(s->parts[i].batch);
    schema_unref(s->schema);
    free(s);
    stream->release = NULL;
}

static bool batches_open(core_schema *schema, PyObject *list, struct ArrowArrayStream *out)
{
    Py_ssize_t n = PyList_Size(list);
    batches_stream *s = n < 0 ? NULL : calloc(1, sizeof *s + (size_t)n * sizeof *s->parts);

    if (s == NULL) {
        PyErr_NoMemory();
        return false;
    }
    s->schema = schema_ref(schema);
    *out = (struct ArrowArrayStream){ batches_get_schema, batches_get_next, batches_last_error, batches_release, s };
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyObject_TypeCheck(item, (PyTypeObject *)core_callables[CORE_BATCH_TYPE]) || batch_of(item) == NULL) {
            PyErr_SetString(PyExc_TypeError, "a list of batches is expected");
            out->release(out);
            return false;
        }
        batch_object *b = (batch_object *)item;
        s->parts[s->n++] = (batch_part){ batch_ref(b->held), b->from, b->n };
    }
    return true;
}

/* A capsule of a schema and a list of batches of it. */
static PyObject *arrow_stream_of(PyObject *self, PyObject *args)
{
    struct ArrowArrayStream out;
    PyObject *schema, *list;
    (void)self;

    if (!PyArg_ParseTuple(args, "OO!", &schema, &PyList_Type, &list))
        return NULL;
    if (!PyObject_TypeCheck(schema, (PyTypeObject *)core_callables[CORE_SCHEMA_TYPE])) {
        PyErr_SetString(PyExc_TypeError, "a Schema is expected");
        return NULL;
    }
    core_schema *held = schema_of(schema);
    if (held == NULL || !batches_open(held, list, &out))
        return NULL;
    return arrow_array_stream_capsule(&out);
}

/* ---------------------------------------------------------------- Stream: rows that are still to be read */

typedef struct core_stream {
    _Atomic long refs;
    core_context *s;
    struct ArrowArrayStream stream;
    core_hold hold;
    core_schema *schema;
    unsigned long generation;
} core_stream;

typedef struct stream_object {
    PyObject_HEAD core_stream *held;
    bool busy;
} stream_object;

static PyObject *stream_type;

static void hold_drop(core_hold hold)
{
    if (hold.drop != NULL)
        hold.drop(hold.what);
}

/* In a child of a fork the parent's stream is left as it lies: its threads are not there. */
static void stream_unref(core_stream *s)
{
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) != 1 || s->generation != core_generation)
        return;
    if (s->stream.release != NULL)
        s->stream.release(&s->stream);
    hold_drop(s->hold);
    schema_unref(s->schema);
    core_context_unref(s->s);
    free(s);
}

static core_stream *stream_keep(core_context *context, struct ArrowArrayStream *stream, core_hold hold)
{
    core_stream *s = calloc(1, sizeof *s);
    struct ArrowSchema schema;

    if (s == NULL) {
        stream->release(stream);
        hold_drop(hold);
        PyErr_NoMemory();
        return NULL;
    }
    *s =
        (core_stream){ .s = core_context_ref(context), .stream = *stream, .hold = hold, .generation = core_generation };
    atomic_store(&s->refs, 1);
    if (s->stream.get_schema(&s->stream, &schema) == 0 && (s->schema = schema_keep(&schema)) != NULL)
        return s;
    stream_unref(s);
    PyErr_NoMemory();
    return NULL;
}

PyObject *core_stream_object(core_context *context, struct ArrowArrayStream *stream, core_hold hold)
{
    core_stream *s = stream_keep(context, stream, hold);
    stream_object *self = NULL;

    if (s == NULL)
        return NULL;
    self = (stream_object *)((allocfunc)PyType_GetSlot((PyTypeObject *)stream_type, Py_tp_alloc))(
        (PyTypeObject *)stream_type, 0);
    if (self == NULL)
        stream_unref(s);
    else
        self->held = s;
    return (PyObject *)self;
}

static lb_status stream_pull(struct ArrowArrayStream *stream, struct ArrowArray *out, lb_error *err)
{
    int code = stream->get_next(stream, out);

    if (code == 0)
        return LB_OK;
    out->release = NULL;
    if (!lb_stream_error(stream, err))
        err->code = LB_INTERNAL;
    return err->code;
}

/* The next batch, or None. */
static PyObject *stream_step(core_stream *s)
{
    struct ArrowArray array = { .release = NULL };
    core_call call;

    core_begin(&call, s->s, NULL);
    lb_status status = stream_pull(&s->stream, &array, &call.err);
    if (!core_end(&call, status, CORE_FILE)) {
        if (array.release != NULL)
            array.release(&array);
        return NULL;
    }
    if (array.release == NULL)
        Py_RETURN_NONE;
    int64_t n = array.length;
    return batch_object_of(s->schema, batch_keep(&array), 0, n);
}

PyObject *core_stream_read(core_context *context, struct ArrowArrayStream *stream, core_hold hold)
{
    core_stream *s = stream_keep(context, stream, hold);
    PyObject *list = s == NULL ? NULL : PyList_New(0), *schema = NULL;

    while (list != NULL) {
        PyObject *batch = stream_step(s);
        if (batch == Py_None) {
            Py_DECREF(batch);
            break;
        }
        if (!core_list_add(list, batch))
            Py_CLEAR(list);
    }
    if (list != NULL)
        schema = schema_object_of(schema_ref(s->schema));
    if (s != NULL) {
        Py_BEGIN_ALLOW_THREADS stream_unref(s);
        Py_END_ALLOW_THREADS
    }
    if (schema == NULL) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("(NN)", schema, list);
}

static stream_object *stream_of(PyObject *self)
{
    stream_object *o = (stream_object *)self;

    if (o->held == NULL)
        PyErr_SetString(PyExc_ValueError, "the rows were handed over to another reader, or the stream was closed");
    else if (o->held->generation != core_generation)
        PyErr_SetString(PyExc_RuntimeError, "a stream of rows does not survive a fork: begin it in the child");
    else if (o->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading from this stream");
    else
        return o;
    return NULL;
}

static PyObject *stream_next(PyObject *self, PyObject *args)
{
    stream_object *o = stream_of(self);
    (void)args;

    if (o == NULL)
        return NULL;
    o->busy = true;
    PyObject *batch = stream_step(o->held);
    o->busy = false;
    return batch;
}

static PyObject *stream_schema(PyObject *self, PyObject *args)
{
    stream_object *o = stream_of(self);
    (void)args;

    return o == NULL ? NULL : schema_object_of(schema_ref(o->held->schema));
}

static void stream_let_go(stream_object *o)
{
    core_stream *held = o->held;

    o->held = NULL;
    if (held == NULL)
        return;
    Py_BEGIN_ALLOW_THREADS stream_unref(held);
    Py_END_ALLOW_THREADS
}

static PyObject *stream_close(PyObject *self, PyObject *args)
{
    stream_object *o = (stream_object *)self;
    (void)args;

    if (o->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading from this stream");
        return NULL;
    }
    stream_let_go(o);
    Py_RETURN_NONE;
}

static void stream_dealloc(PyObject *self)
{
    stream_let_go((stream_object *)self);
    arrow_free(self);
}

/* ---- the stream as it leaves: what it holds goes with it */

static int leaving_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    core_stream *s = stream->private_data;

    return schema_export(s->schema, out) ? 0 : ENOMEM;
}

static int leaving_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    core_stream *s = stream->private_data;

    core_call call;

    out->release = NULL;
    if (s->generation != core_generation)
        return ECANCELED;
    core_enter(&call, s->s);
    int code = s->stream.get_next(&s->stream, out);
    core_leave(&call);
    return code;
}

static const char *leaving_last_error(struct ArrowArrayStream *stream)
{
    core_stream *s = stream->private_data;
    const char *text = s->generation == core_generation ? s->stream.get_last_error(&s->stream) : NULL;

    return text != NULL ? text : "a stream of rows does not survive a fork: begin it in the child";
}

static void leaving_release(struct ArrowArrayStream *stream)
{
    core_stream *s = stream->private_data;
    PyThreadState *thread = s->generation == core_generation ? core_unlock(s->s) : NULL;

    stream_unref(s);
    core_relock(thread);
    stream->release = NULL;
}

static PyObject *stream_capsule(PyObject *self, PyObject *args)
{
    stream_object *o = stream_of(self);
    PyObject *requested = NULL;

    if (o == NULL || !PyArg_ParseTuple(args, "|O", &requested))
        return NULL;
    struct ArrowArrayStream out = { leaving_get_schema, leaving_get_next, leaving_last_error, leaving_release,
                                    o->held };
    o->held = NULL;
    return arrow_array_stream_capsule(&out);
}

static PyMethodDef stream_methods[] = {
    { "__arrow_c_stream__", stream_capsule, METH_VARARGS, "Hand the rows over, once." },
    { "next", stream_next, METH_NOARGS, NULL },
    { "schema", stream_schema, METH_NOARGS, NULL },
    { "close", stream_close, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot stream_slots[] = {
    { Py_tp_dealloc, stream_dealloc },
    { Py_tp_methods, stream_methods },
    CORE_DOC("Rows that are still to be read."),
    { 0, NULL },
};

static PyType_Spec stream_spec = { "lakebed._core.Stream", sizeof(stream_object), 0, Py_TPFLAGS_DEFAULT, stream_slots };

/* ---------------------------------------------------------------- what is taken in */

/* A stream of the one batch that __arrow_c_array__ gives. */
static bool import_array(PyObject *pair, struct ArrowArrayStream *out)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    PyObject *first, *second;

    if (!PyArg_ParseTuple(pair, "OO", &first, &second) || !arrow_schema_take(first, &schema))
        return false;
    if (!arrow_array_take(second, &array)) {
        schema.release(&schema);
        return false;
    }
    batches_stream *s = calloc(1, sizeof *s + sizeof *s->parts);
    int64_t n = array.length;
    core_schema *kept = schema_keep(&schema);
    core_batch *batch = batch_keep(&array);
    if (s == NULL || kept == NULL || batch == NULL) {
        free(s);
        schema_unref(kept);
        batch_unref(batch);
        PyErr_NoMemory();
        return false;
    }
    s->schema = kept;
    s->parts[0] = (batch_part){ batch, 0, n };
    s->n = 1;
    *out = (struct ArrowArrayStream){ batches_get_schema, batches_get_next, batches_last_error, batches_release, s };
    return true;
}

bool core_import_stream(PyObject *value, struct ArrowArrayStream *out)
{
    PyObject *given;
    bool good;

    out->release = NULL;
    if (PyObject_HasAttrString(value, "__arrow_c_stream__")) {
        given = PyObject_CallMethod(value, "__arrow_c_stream__", NULL);
        good = given != NULL && arrow_array_stream_take(given, out);
    } else if (PyObject_HasAttrString(value, "__arrow_c_array__")) {
        given = PyObject_CallMethod(value, "__arrow_c_array__", NULL);
        good = given != NULL && import_array(given, out);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "rows in Arrow are expected (something with __arrow_c_stream__ or __arrow_c_array__), not %R",
                     (PyObject *)Py_TYPE(value));
        return false;
    }
    Py_XDECREF(given);
    return good;
}

bool core_import_schema(PyObject *value, struct ArrowSchema *out)
{
    PyObject *given = PyObject_CallMethod(value, "__arrow_c_schema__", NULL);
    bool good = given != NULL && arrow_schema_take(given, out);

    Py_XDECREF(given);
    return good;
}

/* The values of a stream of one column each row, as a list; for row numbers and names that come in Arrow. */
static PyObject *arrow_values(PyObject *self, PyObject *args)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    PyObject *value, *list;
    (void)self;

    if (!PyArg_ParseTuple(args, "O", &value) || !core_import_stream(value, &stream))
        return NULL;
    if (stream.get_schema(&stream, &schema) != 0) {
        stream.release(&stream);
        PyErr_SetString(PyExc_ValueError, "an Arrow stream without a schema");
        return NULL;
    }
    const bool rows = strcmp(schema.format, "+s") == 0;
    list = rows && schema.n_children != 1 ? NULL : PyList_New(0);
    if (list == NULL)
        PyErr_SetString(PyExc_ValueError, "one column is expected");
    while (list != NULL) {
        struct ArrowArray array = { .release = NULL };
        int code;
        Py_BEGIN_ALLOW_THREADS code = stream.get_next(&stream, &array);
        Py_END_ALLOW_THREADS if (code != 0)
        {
            const char *text = stream.get_last_error(&stream);
            PyErr_SetString(PyExc_OSError, text != NULL ? text : "an Arrow stream failed");
            Py_CLEAR(list);
        }
        if (list == NULL || array.release == NULL)
            break;
        for (int64_t i = 0; list != NULL && i < array.length; i++)
            if (!core_list_add(list, rows ? core_value(schema.children[0], array.children[0], array.offset + i)
                                          : core_value(&schema, &array, i)))
                Py_CLEAR(list);
        array.release(&array);
    }
    schema.release(&schema);
    stream.release(&stream);
    return list;
}

/* ---------------------------------------------------------------- printing */

static PyObject *arrow_print(PyObject *self, PyObject *args)
{
    lb_print_options options = { .struct_size = sizeof options };
    struct ArrowArrayStream stream;
    core_bytes bytes = { NULL, 0, 0 };
    const char *form;
    PyObject *value;
    unsigned width;
    int header;
    core_call call;
    (void)self;

    if (!PyArg_ParseTuple(args, "OsIp", &value, &form, &width, &header) || !core_import_stream(value, &stream))
        return NULL;
    options.width = width;
    options.header = header != 0;
    core_context *s = core_context_new();
    if (s == NULL) {
        stream.release(&stream);
        return NULL;
    }
    core_begin(&call, s, NULL);
    lb_status status = lb_print(s->cx, &stream, form, &options, core_bytes_write, &bytes, NULL, &call.err);
    bool good = core_end(&call, status, CORE_FILE);
    core_context_unref(s);
    if (good)
        return core_bytes_take(&bytes);
    free(bytes.at);
    return NULL;
}

/* A Schema of anything with __arrow_c_schema__ that holds columns. */
static PyObject *arrow_schema_import(PyObject *self, PyObject *args)
{
    struct ArrowSchema schema;
    PyObject *value;
    (void)self;

    if (!PyArg_ParseTuple(args, "O", &value) || !core_import_schema(value, &schema))
        return NULL;
    if (strcmp(schema.format, "+s") == 0)
        return core_schema_object(&schema);
    schema.release(&schema);
    PyErr_SetString(PyExc_ValueError, "columns are expected, not the type of one");
    return NULL;
}

static PyMethodDef arrow_functions[] = {
    { "schema_import", arrow_schema_import, METH_VARARGS, NULL },
    { "schema_of", arrow_schema_of, METH_VARARGS, NULL },
    { "batch_of", arrow_batch_of, METH_VARARGS, NULL },
    { "batch_select", arrow_batch_select, METH_VARARGS, NULL },
    { "stream_of", arrow_stream_of, METH_VARARGS, NULL },
    { "values", arrow_values, METH_VARARGS, NULL },
    { "print", arrow_print, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

bool core_add_arrow(PyObject *module)
{
    stream_type = core_add_type(module, &stream_spec, "Stream");
    return stream_type != NULL && core_add_type(module, &schema_spec, "Schema") != NULL &&
           core_add_type(module, &batch_spec, "Batch") != NULL && core_add_functions(module, arrow_functions);
}
