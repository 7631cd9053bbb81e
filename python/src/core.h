/* What the rooms of the Python extension share. It knows include/lakebed.h and Python's limited interface, and nothing
 * else; what is pythonic is done by the Python files beside it. */
#ifndef LAKEBED_CORE_H
#define LAKEBED_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <lakebed.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CORE_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A type's slot with its docstring, which Python wants to be able to change. */
#define CORE_DOC(text)      \
    {                       \
        Py_tp_doc, (char[]) \
        {                   \
            text            \
        }                   \
    }

/* ---------------------------------------------------------------- contexts, and who uses them */

/* Counted without the interpreter's lock: whoever takes a stream may let go of it on any thread. */
typedef struct core_context {
    _Atomic long refs;
    lb_context *cx;
    unsigned long generation; /* of the process: a child after a fork leaves alone what its parent opened */
    _Atomic uint64_t done, total, files, total_files;
    pthread_mutex_t lock; /* of notes */
    char **notes;
    size_t n_notes;
    PyObject *cause;   /* the exception of a handler in Python; under the interpreter's lock */
    bool calls_python; /* it has handlers in Python: its threads may wait for the interpreter's lock */
} core_context;

extern unsigned long core_generation;

/* A context with the options and handlers of now. NULL: an exception is set. */
core_context *core_context_new(void);
core_context *core_context_ref(core_context *s);
void core_context_unref(core_context *s); /* NULL is fine; needs no lock */

/* A call into the library: the interpreter's lock is free meanwhile, and signals are looked after. */
typedef struct core_call {
    core_context *s;
    struct core_call *outer; /* of this thread: a handler may call in turn */
    PyThreadState *thread;
    PyObject *progress; /* called with four numbers, or NULL */
    bool raised;        /* by a signal or the progress function; the exception is set */
    bool left;          /* from core_enter */
    lb_error err;
} core_call;

void core_begin(core_call *call, core_context *s, PyObject *progress);

/* What kind of thing is missing where a call says NOTFOUND. */
typedef enum core_kind { CORE_FILE, CORE_COLUMN, CORE_MAP } core_kind;

/* Take the lock again; true if all went well, else an exception is set. Notes become warnings. */
bool core_end(core_call *call, lb_status status, core_kind kind);

/* The same where a reader of another library pulls a stream of ours, on any thread, with the interpreter's lock or without
 * it. It is free meanwhile, and in the main thread signals are looked after: a handler that raises ends the stream, and the
 * exception comes when the reader is back in Python, if it is a KeyboardInterrupt; another one is reported as one that
 * nobody can catch. */
void core_enter(core_call *call, core_context *s);
void core_leave(core_call *call);

/* Where others call on us: let the interpreter's lock go if this thread has it and threads of the context may want it;
 * NULL: nothing to take again. */
PyThreadState *core_unlock(const core_context *s);
void core_relock(PyThreadState *thread); /* NULL is fine */

/* Raise what `err` says. */
void core_raise(const lb_error *err, core_kind kind, PyObject *cause);

/* A call that is over at once, calls nobody back and waits for no thread: without giving the lock away. */
#define CORE_ASK(kind, expression)                                   \
    do {                                                             \
        lb_error err = LB_ERROR_INIT;                                \
        if ((expression) != LB_OK)                                   \
            return core_raise(&err, (kind), NULL), (PyObject *)NULL; \
    } while (0)

/* ---------------------------------------------------------------- what Python hands in and gets */

/* Callables of the Python side, by name, set once at import. */
typedef enum core_callable {
    CORE_ERROR,
    CORE_WARN,
    CORE_DATE,
    CORE_TIME,
    CORE_TIMESTAMP,
    CORE_DURATION,
    CORE_INTERVAL,
    CORE_DECIMAL,
    CORE_SCHEMA_TYPE,
    CORE_BATCH_TYPE,
    CORE_CALLABLES
} core_callable;
extern PyObject *core_callables[CORE_CALLABLES];

/* Names or globs, ended by NULL. `value` None or NULL: at NULL. */
typedef struct core_strings {
    PyObject *keep;
    const char **at;
    Py_ssize_t n;
} core_strings;
bool core_strings_get(PyObject *value, core_strings *out);
void core_strings_free(core_strings *strings);

/* For PyArg_ParseTuple's "O&": a whole number from 0 to 2^64-1; OverflowError, TypeError. */
int core_u64(PyObject *value, void *out);

/* A list of (name, value) pairs as read options. */
bool core_read_options(PyObject *pairs, lb_read_options **out);

/* Row numbers: bytes that hold uint64 in the machine's order; lent. */
bool core_row_numbers(PyObject *bytes, const uint64_t **rows, uint64_t *n);

/* Text of a span, or None where it is empty and `none`. */
PyObject *core_text(lb_span span, bool none);

/* A path as Python has it, whatever its bytes; None for NULL. */
PyObject *core_path(const char *path);

/* Bytes that the library writes, one piece after the other. */
typedef struct core_bytes {
    char *at;
    size_t size, cap;
} core_bytes;
bool core_bytes_write(void *user, const void *bytes, size_t size);
PyObject *core_bytes_take(core_bytes *bytes); /* as bytes; frees */

/* What is known of a column, as a dictionary. */
PyObject *core_column_object(const lb_column_info *c);

/* Append `item` to a list and let go of it; false: an exception is set. `item` may be NULL. */
bool core_list_add(PyObject *list, PyObject *item);

/* ---------------------------------------------------------------- Arrow */

typedef struct core_schema core_schema;
typedef struct core_batch core_batch;

/* A stream whose table and context live as long as it does. */
typedef struct core_hold {
    void *what;
    void (*drop)(void *what);
} core_hold;

/* Makes a Stream object of an open stream; takes it and `hold`, also on error. */
PyObject *core_stream_object(core_context *s, struct ArrowArrayStream *stream, core_hold hold);

/* Pulls everything: (schema, [batches]). Takes the stream and `hold`. */
PyObject *core_stream_read(core_context *s, struct ArrowArrayStream *stream, core_hold hold);

/* A Schema object; moves `schema`, also on error. */
PyObject *core_schema_object(struct ArrowSchema *schema);

/* Anything that speaks Arrow as a stream of ours. false: an exception is set. */
bool core_import_stream(PyObject *value, struct ArrowArrayStream *out);
bool core_import_schema(PyObject *value, struct ArrowSchema *out);

/* A value of an array as a Python object. */
PyObject *core_value(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t row);

/* Whether a row is null; never for unions and runs, whose values tell. */
bool core_is_null(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t row);

/* Bytes that buffer `i` of an array has; -1: a type that is not known. */
int64_t core_buffer_bytes(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t i);

/* ---------------------------------------------------------------- the rooms */

bool core_add_handlers(PyObject *module);
bool core_add_arrow(PyObject *module);
bool core_add_tables(PyObject *module);
bool core_add_maps(PyObject *module);
bool core_add_lance(PyObject *module);
bool core_add_lineage(PyObject *module);

/* Makes a type and puts it into the module. */
PyObject *core_add_type(PyObject *module, PyType_Spec *spec, const char *name);

/* Puts functions into the module; `functions` ends with an entry of no name, and lives for ever. */
bool core_add_functions(PyObject *module, PyMethodDef *functions);

/* Registered handlers are put into a new context. */
lb_status core_handlers_apply(core_context *s, lb_error *err);

/* Python objects whose count may only fall under the lock are let go of by the next call into the extension. */
void core_drop_later(PyObject *object);
void core_drop_now(void);

#endif
