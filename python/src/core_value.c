/* Values of Arrow arrays as Python objects, by the array's format string; every layout of the Arrow columnar format. */
#include <math.h>

#include "core.h"

#define VALUE_DEPTH 128

static PyObject *value_at(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t row, int depth);

/* A number in memory, wherever it stands. */
#define VALUE_READ(name, type)                                                           \
    static type name(const void *buffer, int64_t at)                                     \
    {                                                                                    \
        type value;                                                                      \
        memcpy(&value, (const char *)buffer + at * (int64_t)sizeof value, sizeof value); \
        return value;                                                                    \
    }

VALUE_READ(read_i8, int8_t)
VALUE_READ(read_i16, int16_t)
VALUE_READ(read_i32, int32_t)
VALUE_READ(read_i64, int64_t)
VALUE_READ(read_u8, uint8_t)
VALUE_READ(read_u16, uint16_t)
VALUE_READ(read_u32, uint32_t)
VALUE_READ(read_u64, uint64_t)
VALUE_READ(read_f32, float)
VALUE_READ(read_f64, double)

static bool value_bit(const void *bits, int64_t at)
{
    return (((const uint8_t *)bits)[at / 8] >> (at % 8) & 1) != 0;
}

static bool value_starts(const char *format, const char *with)
{
    return strncmp(format, with, strlen(with)) == 0;
}

/* The number that a text begins with, as formats have them: of up to nine digits. */
static long value_count(const char *text)
{
    const bool negative = text[0] == '-';
    long value = 0;

    text += negative;
    for (int i = 0; i < 9 && text[i] >= '0' && text[i] <= '9'; i++)
        value = value * 10 + (text[i] - '0');
    return negative ? -value : value;
}

bool core_is_null(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t row)
{
    const char *f = type->format;

    if (f[0] == 'n')
        return true;
    if (value_starts(f, "+u") || value_starts(f, "+r") || array->n_buffers == 0 || array->buffers[0] == NULL)
        return false;
    return !value_bit(array->buffers[0], array->offset + row);
}

/* ---------------------------------------------------------------- numbers */

static double value_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, value;

    if (exponent == 31)
        value = fraction == 0 ? (double)INFINITY : (double)NAN;
    else
        value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static PyObject *value_number(char kind, const void *data, int64_t at)
{
    switch (kind) {
    case 'b':
        return PyBool_FromLong(value_bit(data, at));
    case 'c':
        return PyLong_FromLong(read_i8(data, at));
    case 'C':
        return PyLong_FromLong(read_u8(data, at));
    case 's':
        return PyLong_FromLong(read_i16(data, at));
    case 'S':
        return PyLong_FromLong(read_u16(data, at));
    case 'i':
        return PyLong_FromLong(read_i32(data, at));
    case 'I':
        return PyLong_FromUnsignedLong(read_u32(data, at));
    case 'l':
        return PyLong_FromLongLong(read_i64(data, at));
    case 'L':
        return PyLong_FromUnsignedLongLong(read_u64(data, at));
    case 'e':
        return PyFloat_FromDouble(value_half(read_u16(data, at)));
    case 'f':
        return PyFloat_FromDouble((double)read_f32(data, at));
    default:
        return PyFloat_FromDouble(read_f64(data, at));
    }
}

/* d:PRECISION,SCALE[,BITS] */
static PyObject *value_decimal(const char *format, const void *data, int64_t at)
{
    const char *comma = strchr(format, ','), *second = comma == NULL ? NULL : strchr(comma + 1, ',');
    int64_t bytes = second == NULL ? 16 : value_count(second + 1) / 8;
    long scale = comma == NULL ? 0 : value_count(comma + 1);

    if (bytes < 1 || bytes > 32)
        return PyErr_Format(PyExc_ValueError, "no type is called '%s'", format);
    return PyObject_CallFunction(core_callables[CORE_DECIMAL], "y#l", (const char *)data + at * bytes,
                                 (Py_ssize_t)bytes, scale);
}

/* ---------------------------------------------------------------- text and bytes */

static PyObject *value_text(bool text, const char *at, int64_t size)
{
    return text ? PyUnicode_DecodeUTF8(at == NULL ? "" : at, (Py_ssize_t)size, "surrogateescape")
                : PyBytes_FromStringAndSize(at == NULL ? "" : at, (Py_ssize_t)size);
}

static PyObject *value_bytes(const char *format, const struct ArrowArray *a, int64_t at)
{
    const bool large = format[0] == 'U' || format[0] == 'Z';
    int64_t from = large ? read_i64(a->buffers[1], at) : read_i32(a->buffers[1], at);
    int64_t to = large ? read_i64(a->buffers[1], at + 1) : read_i32(a->buffers[1], at + 1);
    const char *data = a->buffers[2];

    return value_text(format[0] == 'u' || format[0] == 'U', data == NULL ? NULL : data + from, to - from);
}

/* A view: a size, and the bytes themselves up to 12, else a prefix, a buffer and an offset. */
static PyObject *value_view(const char *format, const struct ArrowArray *a, int64_t at)
{
    const char *view = (const char *)a->buffers[1] + 16 * at;
    int32_t size = read_i32(view, 0);
    const char *data = view + 4;

    if (size > 12)
        data = (const char *)a->buffers[2 + read_i32(view, 2)] + read_i32(view, 3);
    return value_text(format[1] == 'u', data, size);
}

/* ---------------------------------------------------------------- dates and times */

static long long value_per_second(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
}

static PyObject *value_interval(char kind, const void *data, int64_t at)
{
    const char *value = (const char *)data + at * (kind == 'M' ? 4 : kind == 'D' ? 8 : 16);
    long long months = kind == 'D' ? 0 : read_i32(value, 0);
    long long days = kind == 'M' ? 0 : kind == 'D' ? read_i32(value, 0) : read_i32(value, 1);
    long long nanos = kind == 'M' ? 0 : kind == 'D' ? read_i32(value, 1) * 1000000LL : read_i64(value, 1);

    return PyObject_CallFunction(core_callables[CORE_INTERVAL], "LLL", months, days, nanos);
}

static PyObject *value_time(const char *format, const void *data, int64_t at)
{
    const char kind = format[1], unit = format[2];

    if (kind == 'd')
        return PyObject_CallFunction(
            core_callables[CORE_DATE], "L",
            unit == 'D' ? (long long)read_i32(data, at)
                        : (long long)(read_i64(data, at) / 86400000 - (read_i64(data, at) % 86400000 < 0)));
    if (kind == 'i')
        return value_interval(unit, data, at);
    const bool narrow = kind == 't' && (unit == 's' || unit == 'm');
    long long value = narrow ? read_i32(data, at) : read_i64(data, at);
    if (kind == 's')
        return PyObject_CallFunction(core_callables[CORE_TIMESTAMP], "LLs", value, value_per_second(unit), format + 4);
    return PyObject_CallFunction(core_callables[kind == 't' ? CORE_TIME : CORE_DURATION], "LL", value,
                                 value_per_second(unit));
}

/* ---------------------------------------------------------------- nested */

static PyObject *value_list(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t from, int64_t to,
                            int depth)
{
    PyObject *list = PyList_New(0);

    for (int64_t i = from; list != NULL && i < to; i++)
        if (!core_list_add(list, value_at(type->children[0], a->children[0], i, depth + 1)))
            Py_CLEAR(list);
    return list;
}

static PyObject *value_struct(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t at, int depth)
{
    PyObject *dict = PyDict_New();

    for (int64_t i = 0; dict != NULL && i < a->n_children; i++) {
        const char *name = type->children[i]->name;
        PyObject *value = value_at(type->children[i], a->children[i], at, depth + 1);
        if (value == NULL || PyDict_SetItemString(dict, name == NULL ? "" : name, value) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* A map as a list of pairs: keys may repeat, and need not be hashable. */
static PyObject *value_map(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t from, int64_t to,
                           int depth)
{
    const struct ArrowSchema *pair = type->children[0];
    const struct ArrowArray *pairs = a->children[0];
    PyObject *list = PyList_New(0);

    for (int64_t i = from; list != NULL && i < to; i++) {
        PyObject *key = value_at(pair->children[0], pairs->children[0], pairs->offset + i, depth + 1);
        PyObject *value = value_at(pair->children[1], pairs->children[1], pairs->offset + i, depth + 1);
        PyObject *both = key == NULL || value == NULL ? NULL : PyTuple_Pack(2, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (!core_list_add(list, both))
            Py_CLEAR(list);
    }
    return list;
}

/* +ud:ID,ID,… or +us:…: a value's type byte names one of them. */
static PyObject *value_union(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t at, int depth)
{
    const char *ids = type->format + 4;
    int8_t id = read_i8(a->buffers[0], at);

    for (int64_t i = 0; i < a->n_children && ids != NULL; i++) {
        if (value_count(ids) == id)
            return value_at(type->children[i], a->children[i],
                            type->format[2] == 'd' ? read_i32(a->buffers[1], at) : at, depth + 1);
        ids = strchr(ids, ',');
        ids += ids != NULL;
    }
    return PyErr_Format(PyExc_ValueError, "a union value of type %d, which '%s' does not have", (int)id, type->format);
}

static int64_t value_run_end(const struct ArrowSchema *type, const struct ArrowArray *ends, int64_t i)
{
    const void *data = ends->buffers[1];
    int64_t at = ends->offset + i;

    return type->format[0] == 's'   ? read_i16(data, at)
           : type->format[0] == 'i' ? read_i32(data, at)
                                    : read_i64(data, at);
}

static PyObject *value_run(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t at, int depth)
{
    const struct ArrowArray *ends = a->children[0];
    int64_t low = 0, high = ends->length;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (value_run_end(type->children[0], ends, middle) > at)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == ends->length)
        return PyErr_Format(PyExc_ValueError, "runs that end before the rows do");
    return value_at(type->children[1], a->children[1], low, depth + 1);
}

static PyObject *value_nested(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t at, int depth)
{
    const char *f = type->format;
    const void *data = a->n_buffers > 1 ? a->buffers[1] : NULL;

    if (depth > VALUE_DEPTH)
        return PyErr_Format(PyExc_ValueError, "a type is nested more than %d deep", VALUE_DEPTH);
    switch (f[1]) {
    case 'l':
        return value_list(type, a, read_i32(data, at), read_i32(data, at + 1), depth);
    case 'L':
        return value_list(type, a, read_i64(data, at), read_i64(data, at + 1), depth);
    case 'm':
        return value_map(type, a, read_i32(data, at), read_i32(data, at + 1), depth);
    case 's':
        return value_struct(type, a, at, depth);
    case 'u':
        return value_union(type, a, at, depth);
    case 'r':
        return value_run(type, a, at, depth);
    case 'w': {
        int64_t n = value_count(f + 3);
        return value_list(type, a, at * n, at * n + n, depth);
    }
    case 'v': {
        const bool large = f[2] == 'L';
        int64_t from = large ? read_i64(data, at) : read_i32(data, at);
        int64_t n = large ? read_i64(a->buffers[2], at) : read_i32(a->buffers[2], at);
        return value_list(type, a, from, from + n, depth);
    }
    default:
        return PyErr_Format(PyExc_ValueError, "no type is called '%s'", f);
    }
}

/* ---------------------------------------------------------------- any */

static PyObject *value_index(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t at)
{
    PyObject *number = value_number(type->format[0], a->buffers[1], at);
    long long index = number == NULL ? -1 : PyLong_AsLongLong(number);

    Py_XDECREF(number);
    if (index < 0 || index >= a->dictionary->length)
        return PyErr_Occurred() != NULL ? NULL : PyErr_Format(PyExc_ValueError, "a key that its dictionary lacks");
    return value_at(type->dictionary, a->dictionary, index, 0);
}

static PyObject *value_at(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t row, int depth)
{
    const char *f = type->format;
    int64_t at = a->offset + row;

    if (core_is_null(type, a, row))
        Py_RETURN_NONE;
    if (a->n_buffers > 1 && a->buffers[1] == NULL && strcmp(f, "w:0") != 0)
        return PyErr_Format(PyExc_ValueError, "an array of type '%s' has no values", f);
    if (type->dictionary != NULL)
        return value_index(type, a, at);
    switch (f[0]) {
    case 'b':
    case 'c':
    case 'C':
    case 's':
    case 'S':
    case 'i':
    case 'I':
    case 'l':
    case 'L':
    case 'e':
    case 'f':
    case 'g':
        return value_number(f[0], a->buffers[1], at);
    case 'u':
    case 'U':
    case 'z':
    case 'Z':
        return value_bytes(f, a, at);
    case 'v':
        return value_view(f, a, at);
    case 'w': {
        int64_t n = value_count(f + 2);
        return value_text(false, (const char *)a->buffers[1] + at * n, n);
    }
    case 'd':
        return value_decimal(f, a->buffers[1], at);
    case 't':
        return value_time(f, a->buffers[1], at);
    case '+':
        return value_nested(type, a, at, depth);
    default:
        return PyErr_Format(PyExc_ValueError, "no type is called '%s'", f);
    }
}

PyObject *core_value(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t row)
{
    return value_at(type, array, row, 0);
}

/* ---------------------------------------------------------------- sizes of buffers */

static int64_t buffer_width(const char *f)
{
    switch (f[0]) {
    case 'c':
    case 'C':
        return 1;
    case 's':
    case 'S':
    case 'e':
        return 2;
    case 'i':
    case 'I':
    case 'f':
        return 4;
    case 'l':
    case 'L':
    case 'g':
        return 8;
    case 'w':
        return value_count(f + 2);
    case 'd': {
        const char *comma = strchr(f, ','), *second = comma == NULL ? NULL : strchr(comma + 1, ',');
        return second == NULL ? 16 : value_count(second + 1) / 8;
    }
    default:
        break;
    }
    if (value_starts(f, "tdD") || value_starts(f, "tts") || value_starts(f, "ttm") || value_starts(f, "tiM"))
        return 4;
    return value_starts(f, "tin") ? 16 : 8;
}

/* Of text and binary: offsets, then what they reach to. */
static int64_t buffer_of_bytes(const struct ArrowArray *a, int64_t n, int64_t i, bool large)
{
    if (i == 1)
        return (n + 1) * (large ? 8 : 4);
    if (a->buffers[1] == NULL)
        return 0;
    return large ? read_i64(a->buffers[1], n) : read_i32(a->buffers[1], n);
}

static int64_t buffer_of_views(const struct ArrowArray *a, int64_t n, int64_t i)
{
    if (i == 1)
        return n * 16;
    if (i == a->n_buffers - 1)
        return (a->n_buffers - 3) * 8;
    return read_i64(a->buffers[a->n_buffers - 1], i - 2);
}

static int64_t buffer_of_nested(const char *f, int64_t n, int64_t i)
{
    switch (f[1]) {
    case 'l':
    case 'm':
        return (n + 1) * 4;
    case 'L':
        return (n + 1) * 8;
    case 'v':
        return n * (f[2] == 'L' ? 8 : 4);
    case 'u':
        return i == 0 ? n : n * 4;
    default:
        return -1;
    }
}

int64_t core_buffer_bytes(const struct ArrowSchema *type, const struct ArrowArray *array, int64_t i)
{
    const char *f = type->format;
    int64_t n = array->offset + array->length;

    if (i == 0 && !value_starts(f, "+u"))
        return (n + 7) / 8;
    switch (f[0]) {
    case 'b':
        return (n + 7) / 8;
    case 'u':
    case 'z':
        return buffer_of_bytes(array, n, i, false);
    case 'U':
    case 'Z':
        return buffer_of_bytes(array, n, i, true);
    case 'v':
        return buffer_of_views(array, n, i);
    case '+':
        return buffer_of_nested(f, n, i);
    default:
        return n * buffer_width(f);
    }
}
