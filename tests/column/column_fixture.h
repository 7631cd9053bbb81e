/* Arrays written down as JSON-like text, for tests of types, casts and printers. */
#ifndef LB_TESTS_COLUMN_FIXTURE_H
#define LB_TESTS_COLUMN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/number.h"
#include "column/print.h"
#include "column/stream.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The status, with the message where it is not the wanted one. */
#define assert_status(wanted, call, error)                                                 \
    do {                                                                                   \
        lb_status got_ = (call);                                                           \
        if (got_ != (wanted))                                                              \
            fail_msg("status %d, not %d: %s", (int)got_, (int)(wanted), (error)->message); \
    } while (0)

#define assert_arrow(call) assert_int_equal(NANOARROW_OK, (call))

static inline void fixture_skip(const char **p)
{
    while (**p == ' ' || **p == ',' || **p == ':')
        ++*p;
}

/* A word without blanks or brackets. */
static inline lb_str fixture_word(const char **p)
{
    const char *start = *p;
    while (**p != '\0' && strchr(" ,:[]{}", **p) == NULL)
        ++*p;
    return (lb_str){ start, (size_t)(*p - start) };
}

/* Text between quotes, without escapes: bytes are written in the test as C does. */
static inline lb_str fixture_text(const char **p)
{
    assert_int_equal('"', **p);
    const char *start = ++*p;
    while (**p != '"')
        ++*p;
    return (lb_str){ start, (size_t)((*p)++ - start) };
}

static inline void fixture_decimal(lb_str word, const struct ArrowSchemaView *v, struct ArrowArray *out)
{
    struct ArrowDecimal d;
    lb_i256 value;
    assert_true(lb_parse_decimal(word.at, word.size, v->decimal_precision, v->decimal_scale, &value));
    ArrowDecimalInit(&d, v->decimal_bitwidth, v->decimal_precision, v->decimal_scale);
    ArrowDecimalSetBytes(&d, (const uint8_t *)&value);
    assert_arrow(ArrowArrayAppendDecimal(out, &d));
}

static inline int64_t fixture_int(const char **p)
{
    int64_t i = 0;
    fixture_skip(p);
    lb_str word = fixture_word(p);
    assert_true(lb_parse_int64(word.at, word.size, &i));
    return i;
}

/* `[months,days,ns]`, all three for every kind. */
static inline void fixture_interval(const char **p, enum ArrowType type, struct ArrowArray *out)
{
    struct ArrowInterval v;
    ++*p;
    ArrowIntervalInit(&v, type);
    v.months = (int32_t)fixture_int(p);
    v.days = (int32_t)fixture_int(p);
    v.ns = fixture_int(p);
    v.ms = (int32_t)(v.ns / 1000000);
    assert_int_equal(']', *(*p)++);
    assert_arrow(ArrowArrayAppendInterval(out, &v));
}

static inline void fixture_value(const char **p, const struct ArrowSchema *type, struct ArrowArray *out);

/* Items up to the closing bracket, each of the next child's type (`one`: all of the first). */
static inline void fixture_items(const char **p, const struct ArrowSchema *type, struct ArrowArray *out, bool one)
{
    ++*p;
    for (int64_t i = 0;; i++) {
        fixture_skip(p);
        if (**p == ']' || **p == '}')
            break;
        int64_t c = one ? 0 : i;
        fixture_value(p, type->children[c], out->children[c]);
    }
    ++*p;
    assert_arrow(ArrowArrayFinishElement(out));
}

static inline void fixture_scalar(lb_str word, const struct ArrowSchemaView *v, struct ArrowArray *out)
{
    int64_t i;
    uint64_t u;
    double d;
    switch (v->type) {
    case NANOARROW_TYPE_BOOL:
        assert_arrow(ArrowArrayAppendInt(out, lb_str_is(word, "true")));
        break;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        assert_true(lb_parse_double(word.at, word.size, &d));
        assert_arrow(ArrowArrayAppendDouble(out, d));
        break;
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        fixture_decimal(word, v, out);
        break;
    case NANOARROW_TYPE_UINT64:
        assert_true(lb_parse_uint64(word.at, word.size, &u));
        assert_arrow(ArrowArrayAppendUInt(out, u));
        break;
    case NANOARROW_TYPE_INTERVAL_MONTHS: {
        struct ArrowInterval months;
        assert_true(lb_parse_int64(word.at, word.size, &i));
        ArrowIntervalInit(&months, v->type);
        months.months = (int32_t)i;
        assert_arrow(ArrowArrayAppendInterval(out, &months));
        break;
    }
    default:
        assert_true(lb_parse_int64(word.at, word.size, &i));
        if (ArrowArrayAppendInt(out, i) != NANOARROW_OK)
            fail_msg("%.*s does not fit %s", (int)word.size, word.at, v->schema->format);
    }
}

static inline void fixture_value(const char **p, const struct ArrowSchema *type, struct ArrowArray *out)
{
    struct ArrowSchemaView v;
    assert_arrow(ArrowSchemaViewInit(&v, type, NULL));
    fixture_skip(p);
    if (strncmp(*p, "null", 4) == 0) {
        *p += 4;
        assert_arrow(ArrowArrayAppendNull(out, 1));
    } else if (**p == '"') {
        lb_str text = fixture_text(p);
        assert_arrow(ArrowArrayAppendBytes(out, (struct ArrowBufferView){ { text.at }, (int64_t)text.size }));
    } else if (v.type == NANOARROW_TYPE_STRUCT) {
        fixture_items(p, type, out, false);
    } else if (v.type == NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO || v.type == NANOARROW_TYPE_INTERVAL_DAY_TIME) {
        fixture_interval(p, v.type, out);
    } else if (**p == '[') {
        fixture_items(p, type, out, true);
    } else if (v.type == NANOARROW_TYPE_SPARSE_UNION || v.type == NANOARROW_TYPE_DENSE_UNION) {
        int64_t id = fixture_int(p);
        fixture_value(p, type->children[id], out->children[id]);
        assert_arrow(ArrowArrayFinishUnionElement(out, (int8_t)id));
    } else {
        fixture_scalar(fixture_word(p), &v, out);
    }
}

/* Values separated by commas: `1, null, 3`; structs are `{a,b}` by place, union values `id:value`. */
static inline void fixture_array(const struct ArrowSchema *type, const char *values, struct ArrowArray *out)
{
    struct ArrowError why = { "" };
    assert_arrow(ArrowArrayInitFromSchema(out, type, &why));
    assert_arrow(ArrowArrayStartAppending(out));
    for (fixture_skip(&values); *values != '\0'; fixture_skip(&values))
        fixture_value(&values, type, out);
    if (ArrowArrayFinishBuildingDefault(out, &why) != NANOARROW_OK)
        fail_msg("%s", why.message);
}

/* A type from words, or with `@` in front from a format string of the Arrow C interface. */
static inline void fixture_type(const char *words, struct ArrowSchema *out)
{
    lb_error err = LB_ERROR_INIT;
    if (words[0] != '@') {
        assert_status(LB_OK, lb_type_of_words(words, out, &err), &err);
        return;
    }
    ArrowSchemaInit(out);
    assert_arrow(ArrowSchemaSetFormat(out, words + 1));
}

/* Every row of an array in a form, each with a newline. */
static inline void fixture_print(const struct ArrowSchema *type, const struct ArrowArray *array, lb_form form,
                                 lb_buf *out)
{
    struct ArrowArrayView view;
    lb_error err = LB_ERROR_INIT;
    assert_arrow(ArrowArrayViewInitFromSchema(&view, type, NULL));
    assert_arrow(ArrowArrayViewSetArray(&view, array, NULL));
    for (int64_t row = 0; row < array->length; row++) {
        assert_status(LB_OK, lb_print_value(type, &view, row, form, out, &err), &err);
        assert_status(LB_OK, lb_buf_append(out, "\n", 1, &err), &err);
    }
    ArrowArrayViewReset(&view);
}

static inline void assert_text(const char *want, const lb_buf *got)
{
    if (got->size != strlen(want) || (got->size != 0 && memcmp(want, got->data, got->size) != 0))
        fail_msg("expected:\n%s\nfound:\n%.*s", want, (int)got->size, (const char *)got->data);
}

/* ---------------------------------------------------------------- streams of one batch, given `times` times */

typedef struct fixture_source {
    const struct ArrowSchema *schema;
    const struct ArrowArray *batch;
    int times;
    lb_status then; /* after the batches; OK: the end */
    int closed;
} fixture_source;

static inline void fixture_lent(struct ArrowArray *array)
{
    array->release = NULL;
}

static inline lb_status fixture_next(void *state, struct ArrowArray *out, lb_error *err)
{
    fixture_source *s = state;
    if (s->times-- > 0) {
        *out = *s->batch;
        out->release = fixture_lent;
        return LB_OK;
    }
    return s->then == LB_OK ? LB_OK : lb_fail(err, s->then, ((lb_where){ 17, 3, -1 }), "the fixture breaks off");
}

static inline void fixture_close(void *state)
{
    ((fixture_source *)state)->closed++;
}

static inline void fixture_stream(fixture_source *s, struct ArrowArrayStream *out)
{
    struct ArrowSchema schema;
    lb_error err = LB_ERROR_INIT;
    assert_status(LB_OK, lb_schema_copy(s->schema, &schema, &err), &err);
    assert_status(LB_OK, lb_stream_make((lb_source){ fixture_next, fixture_close, s }, &schema, out, &err), &err);
}

static inline bool fixture_write(void *user, const void *bytes, size_t size)
{
    return lb_buf_append(user, bytes, size, NULL) == LB_OK;
}

/* Print a struct array as lb_print does. */
static inline lb_status fixture_print_rows(const struct ArrowSchema *schema, const struct ArrowArray *batch, int times,
                                           const char *form, const lb_print_options *options, lb_buf *out,
                                           uint64_t *rows, lb_error *err)
{
    fixture_source source = { .schema = schema, .batch = batch, .times = times };
    struct ArrowArrayStream stream;
    fixture_stream(&source, &stream);
    lb_status s = lb_print(NULL, &stream, form, options, fixture_write, out, rows, err);
    assert_null(stream.release);
    assert_int_equal(1, source.closed);
    return s;
}

#endif
