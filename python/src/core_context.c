/* Calls into the library: contexts, the interpreter's lock, signals, progress, notes, errors, forks. */
#include "core.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned long core_generation;

static unsigned context_threads;
static uint64_t context_memory;

/* The call that this thread is in. */
static _Thread_local core_call *context_call;

/* ---------------------------------------------------------------- what must wait for the lock */

typedef struct dropped {
    struct dropped *next;
    PyObject *object;
} dropped;

static _Atomic(dropped *) drops;

void core_drop_later(PyObject *object)
{
    dropped *d = malloc(sizeof *d);

    if (d == NULL)
        return; /* kept for ever: better than a count that falls while others use it */
    d->object = object;
    d->next = atomic_load(&drops);
    while (!atomic_compare_exchange_weak(&drops, &d->next, d))
        ;
}

void core_drop_now(void)
{
    dropped *d = atomic_load_explicit(&drops, memory_order_relaxed) == NULL ? NULL : atomic_exchange(&drops, NULL);

    while (d != NULL) {
        dropped *next = d->next;
        Py_DECREF(d->object);
        free(d);
        d = next;
    }
}

/* ---------------------------------------------------------------- callbacks, on any thread, without the lock */

static void context_progress(void *user, uint64_t done, uint64_t total, uint64_t files, uint64_t total_files)
{
    core_context *s = user;

    atomic_store_explicit(&s->done, done, memory_order_relaxed);
    atomic_store_explicit(&s->total, total, memory_order_relaxed);
    atomic_store_explicit(&s->files, files, memory_order_relaxed);
    atomic_store_explicit(&s->total_files, total_files, memory_order_relaxed);
}

static void context_note(void *user, const char *note)
{
    core_context *s = user;

    pthread_mutex_lock(&s->lock);
    char **more = realloc(s->notes, (s->n_notes + 1) * sizeof *more);
    if (more != NULL) {
        s->notes = more;
        more[s->n_notes] = strdup(note);
        s->n_notes += more[s->n_notes] != NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

static bool context_show(const core_call *call)
{
    core_context *s = call->s;
    PyObject *shown =
        PyObject_CallFunction(call->progress, "KKKK", (unsigned long long)s->done, (unsigned long long)s->total,
                              (unsigned long long)s->files, (unsigned long long)s->total_files);

    Py_XDECREF(shown);
    return shown != NULL;
}

/* An exception has no way through the reader of another library. An interrupt is made to come again. */
static void context_put_off(void)
{
    if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_WriteUnraisable(NULL);
        return;
    }
    PyErr_Clear();
    PyErr_SetInterrupt();
}

static bool context_poll_left(core_call *call)
{
    const bool had = call->thread != NULL;
    PyGILState_STATE state = PyGILState_UNLOCKED;

    if (had)
        PyEval_RestoreThread(call->thread);
    else
        state = PyGILState_Ensure();
    call->raised = PyErr_CheckSignals() != 0;
    if (call->raised)
        context_put_off();
    if (had)
        call->thread = PyEval_SaveThread();
    else
        PyGILState_Release(state);
    return call->raised;
}

/* Only the thread that called may look after signals; for the others nothing is to be done. */
static bool context_poll(void *user)
{
    core_call *call = context_call;

    if (call == NULL || call->s != user)
        return false;
    if (call->raised)
        return true;
    if (call->left)
        return context_poll_left(call);
    PyEval_RestoreThread(call->thread);
    call->raised = PyErr_CheckSignals() != 0 || (call->progress != NULL && !context_show(call));
    call->thread = PyEval_SaveThread();
    return call->raised;
}

/* ---------------------------------------------------------------- contexts */

static core_context *context_make(lb_error *err)
{
    core_context *s = calloc(1, sizeof *s);
    const lb_context_options options = { .struct_size = sizeof options,
                                         .threads = context_threads,
                                         .memory_limit = context_memory,
                                         .progress = context_progress,
                                         .note = context_note,
                                         .poll = context_poll,
                                         .user = s };

    if (s == NULL) {
        err->code = LB_NOMEM;
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    atomic_store(&s->refs, 1);
    s->generation = core_generation;
    if (lb_context_new(&options, &s->cx, err) == LB_OK && core_handlers_apply(s, err) == LB_OK)
        return s;
    core_context_unref(s);
    return NULL;
}

core_context *core_context_new(void)
{
    lb_error err = LB_ERROR_INIT;

    core_drop_now();
    core_context *s = context_make(&err);
    if (s == NULL)
        core_raise(&err, CORE_FILE, NULL);
    return s;
}

core_context *core_context_ref(core_context *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void core_context_unref(core_context *s)
{
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) != 1 || s->generation != core_generation)
        return;
    lb_context_free(s->cx);
    for (size_t i = 0; i < s->n_notes; i++)
        free(s->notes[i]);
    free(s->notes);
    if (s->cause != NULL)
        core_drop_later(s->cause);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---------------------------------------------------------------- calls */

void core_begin(core_call *call, core_context *s, PyObject *progress)
{
    static const lb_error none = LB_ERROR_INIT;

    call->s = s;
    call->progress = progress == Py_None ? NULL : progress;
    call->raised = call->left = false;
    call->err = none;
    call->outer = context_call;
    context_call = call;
    call->thread = PyEval_SaveThread();
}

static bool context_warn(const char *note)
{
    PyObject *text = PyUnicode_DecodeUTF8(note, (Py_ssize_t)strlen(note), "replace");
    PyObject *done = text == NULL ? NULL : PyObject_CallFunctionObjArgs(core_callables[CORE_WARN], text, NULL);

    Py_XDECREF(text);
    Py_XDECREF(done);
    return done != NULL;
}

/* Notes of the call as warnings. A warning that was made an error is the exception of the call. */
static bool context_tell(core_context *s)
{
    pthread_mutex_lock(&s->lock);
    char **notes = s->notes;
    size_t n = s->n_notes;
    s->notes = NULL;
    s->n_notes = 0;
    pthread_mutex_unlock(&s->lock);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        good = good && context_warn(notes[i]);
        free(notes[i]);
    }
    free(notes);
    return good;
}

bool core_end(core_call *call, lb_status status, core_kind kind)
{
    core_context *s = call->s;

    PyEval_RestoreThread(call->thread);
    context_call = call->outer;
    core_drop_now();
    PyObject *cause = s->cause;
    s->cause = NULL;
    if (call->raised) {
        lb_context_resume(s->cx);
    } else if (status != LB_OK) {
        if (call->err.code == LB_OK)
            call->err.code = status;
        if (status == LB_CANCELLED)
            lb_context_resume(s->cx);
        core_raise(&call->err, kind, cause);
    } else if (call->progress != NULL && s->total_files != 0 && !context_show(call)) {
        call->raised = true;
    }
    Py_XDECREF(cause);
    if (call->raised || status != LB_OK)
        return false;
    return s->n_notes == 0 || context_tell(s);
}

void core_raise(const lb_error *err, core_kind kind, PyObject *cause)
{
    const char *message = err->message[0] != '\0' ? err->message : lb_status_text(err->code);
    PyObject *path = PyUnicode_DecodeFSDefault(err->path);
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    PyObject *error = path == NULL || text == NULL
                          ? NULL
                          : PyObject_CallFunction(core_callables[CORE_ERROR], "iiOOLLLsO", (int)err->code, (int)kind,
                                                  text, path, (long long)err->offset, (long long)err->row,
                                                  (long long)err->line, err->hint, cause == NULL ? Py_None : cause);

    Py_XDECREF(path);
    Py_XDECREF(text);
    if (error == NULL)
        return;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
}

/* PyGILState_Check is in every CPython, but not in its limited interface. */
static int (*context_has_lock)(void);

/* Does this thread have the interpreter's lock? */
static bool context_locked(void)
{
    return context_has_lock != NULL && PyGILState_GetThisThreadState() != NULL && context_has_lock() != 0;
}

PyThreadState *core_unlock(const core_context *s)
{
    return s->calls_python && context_locked() ? PyEval_SaveThread() : NULL;
}

void core_relock(PyThreadState *thread)
{
    if (thread != NULL)
        PyEval_RestoreThread(thread);
}

void core_enter(core_call *call, core_context *s)
{
    *call = (core_call){ .s = s, .outer = context_call, .left = true };
    /* Whoever waits for a lock inside must not hold the interpreter's: who has that lock may come to poll. */
    if (context_locked())
        call->thread = PyEval_SaveThread();
    if (syscall(SYS_gettid) == getpid() && context_has_lock != NULL)
        context_call = call;
}

void core_leave(core_call *call)
{
    context_call = call->outer;
    if (call->raised)
        lb_context_resume(call->s->cx);
    core_relock(call->thread);
}

/* ---------------------------------------------------------------- handlers in Python */

/* One registration. It outlives its place in the list while contexts use it. */
typedef struct handler {
    _Atomic long refs;
    struct handler *next;
    PyObject *open; /* NULL: delimited text */
    char delimiter[8];
    bool has_header;
    char extension[];
} handler;

static handler *handlers; /* under the interpreter's lock */

static void handler_unref(void *user)
{
    handler *h = user;

    if (atomic_fetch_sub(&h->refs, 1) != 1)
        return;
    if (h->open != NULL)
        core_drop_later(h->open);
    free(h);
}

/* The exception that is set, as an error of the library; the exception itself is kept to be the cause. */
static lb_status handler_failed(core_context *s, lb_error *err)
{
    PyObject *type, *value, *trace;
    const char *utf8 = NULL;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL)
        PyException_SetTraceback(value, trace);
    PyObject *name = PyObject_GetAttrString(type, "__name__");
    PyObject *text = name == NULL ? NULL : PyUnicode_FromFormat("%S: %S", name, value);
    PyObject *bytes = text == NULL ? NULL : PyUnicode_AsEncodedString(text, "utf-8", "replace");
    if (bytes != NULL)
        utf8 = PyBytes_AsString(bytes);
    PyErr_Clear();
    if (utf8 != NULL)
        (void)PyOS_snprintf(err->message, sizeof err->message, "%s", utf8);
    err->code = LB_CORRUPT;
    Py_XDECREF(name);
    Py_XDECREF(text);
    Py_XDECREF(bytes);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    Py_XDECREF(s->cause);
    s->cause = value;
    return LB_CORRUPT;
}

typedef struct handler_use {
    handler *h;
    core_context *s;
} handler_use;

static lb_status handler_open(void *user, const char *path, struct ArrowArrayStream *out, lb_error *err)
{
    handler_use *use = user;
    lb_status status = LB_OK;

    PyGILState_STATE held = PyGILState_Ensure();
    PyObject *name = PyUnicode_DecodeFSDefault(path);
    PyObject *rows = name == NULL ? NULL : PyObject_CallFunctionObjArgs(use->h->open, name, NULL);
    if (rows == NULL || !core_import_stream(rows, out))
        status = handler_failed(use->s, err);
    Py_XDECREF(name);
    Py_XDECREF(rows);
    PyGILState_Release(held);
    return status;
}

static void handler_done(void *user)
{
    handler_use *use = user;

    handler_unref(use->h);
    free(use);
}

static lb_status handler_apply(core_context *s, handler *h, lb_error *err)
{
    if (h->open == NULL)
        return lb_register_delimited(s->cx, h->extension, h->delimiter, h->has_header, err);
    handler_use *use = malloc(sizeof *use);
    if (use == NULL)
        return err->code = LB_NOMEM;
    *use = (handler_use){ h, s };
    s->calls_python = true;
    atomic_fetch_add(&h->refs, 1);
    return lb_register_stream(s->cx, h->extension, handler_open, use, handler_done, err);
}

lb_status core_handlers_apply(core_context *s, lb_error *err)
{
    lb_status status = LB_OK;

    for (handler *h = handlers; status == LB_OK && h != NULL; h = h->next)
        status = handler_apply(s, h, err);
    return status;
}

static bool handler_remove(const char *extension)
{
    for (handler **at = &handlers; *at != NULL; at = &(*at)->next) {
        handler *h = *at;
        if (PyOS_mystricmp(h->extension, extension) != 0)
            continue;
        *at = h->next;
        handler_unref(h);
        core_drop_now();
        return true;
    }
    return false;
}

static handler *handler_new(const char *extension, PyObject *open, const char *delimiter, bool has_header)
{
    size_t size = strlen(extension) + 1;
    handler *h = calloc(1, sizeof *h + size);

    if (h == NULL)
        return NULL;
    memcpy(h->extension, extension, size);
    (void)PyOS_snprintf(h->delimiter, sizeof h->delimiter, "%s", delimiter);
    h->has_header = has_header;
    Py_XINCREF(open);
    h->open = open;
    atomic_store(&h->refs, 1);
    return h;
}

/* Tries it on a context, so that what is refused is not kept. */
static PyObject *handler_add(const char *extension, PyObject *open, const char *delimiter, bool has_header)
{
    lb_error err = LB_ERROR_INIT;
    extension += extension[0] == '.';
    handler *h = handler_new(extension, open, delimiter, has_header);
    core_context *s = h == NULL ? NULL : core_context_new();

    if (s == NULL) {
        if (h == NULL)
            return PyErr_NoMemory();
        handler_unref(h);
        return NULL;
    }
    lb_status status = handler_apply(s, h, &err);
    core_context_unref(s);
    if (status != LB_OK) {
        handler_unref(h);
        core_drop_now();
        core_raise(&err, CORE_FILE, NULL);
        return NULL;
    }
    (void)handler_remove(extension);
    h->next = handlers;
    handlers = h;
    Py_RETURN_NONE;
}

static PyObject *context_register_delimited(PyObject *self, PyObject *args)
{
    const char *extension, *delimiter;
    int has_header;
    (void)self;

    if (!PyArg_ParseTuple(args, "ssp", &extension, &delimiter, &has_header))
        return NULL;
    return handler_add(extension, NULL, delimiter, has_header != 0);
}

static PyObject *context_register_stream(PyObject *self, PyObject *args)
{
    const char *extension;
    PyObject *open;
    (void)self;

    if (!PyArg_ParseTuple(args, "sO", &extension, &open))
        return NULL;
    if (!PyCallable_Check(open)) {
        PyErr_SetString(PyExc_TypeError, "a handler is a function of a path");
        return NULL;
    }
    return handler_add(extension, open, "", false);
}

static PyObject *context_unregister(PyObject *self, PyObject *args)
{
    const char *extension;
    (void)self;

    if (!PyArg_ParseTuple(args, "s", &extension))
        return NULL;
    return PyBool_FromLong(handler_remove(extension + (extension[0] == '.')));
}

static PyObject *context_format(core_context *s, size_t index)
{
    lb_format_info info = { .struct_size = sizeof info };

    CORE_ASK(CORE_FILE, lb_format_at(s->cx, index, &info, &err));
    return Py_BuildValue("(ssssO)", info.name, info.extensions, info.locator, info.options,
                         info.dynamic ? Py_True : Py_False);
}

static PyObject *context_formats(PyObject *self, PyObject *args)
{
    PyObject *list = PyList_New(0);
    core_context *s = list == NULL ? NULL : core_context_new();
    (void)self;
    (void)args;

    for (size_t i = 0; s != NULL && list != NULL && i < lb_format_count(s->cx); i++)
        if (!core_list_add(list, context_format(s, i)))
            Py_CLEAR(list);
    if (s == NULL)
        Py_CLEAR(list);
    core_context_unref(s);
    return list;
}

/* ---------------------------------------------------------------- the module's own functions */

static PyObject *context_configure(PyObject *self, PyObject *args)
{
    uint64_t threads, memory;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&O&", core_u64, &threads, core_u64, &memory))
        return NULL;
    context_threads = threads > 256 ? 256 : (unsigned)threads;
    context_memory = memory;
    Py_RETURN_NONE;
}

static PyObject *context_generation(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return PyLong_FromUnsignedLong(core_generation);
}

static void context_forked(void)
{
    core_generation++;
    context_call = NULL;
}

static PyMethodDef context_functions[] = {
    { "configure", context_configure, METH_VARARGS, NULL },
    { "generation", context_generation, METH_NOARGS, NULL },
    { "formats", context_formats, METH_NOARGS, NULL },
    { "register_delimited", context_register_delimited, METH_VARARGS, NULL },
    { "register_stream", context_register_stream, METH_VARARGS, NULL },
    { "unregister", context_unregister, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

bool core_add_handlers(PyObject *module)
{
    *(void **)&context_has_lock = dlsym(RTLD_DEFAULT, "PyGILState_Check");
    if (pthread_atfork(NULL, NULL, context_forked) != 0) {
        PyErr_NoMemory();
        return false;
    }
    return core_add_functions(module, context_functions);
}
