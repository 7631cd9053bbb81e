/* Printing of single values: one function for each kind of type and style. */
#include <math.h>
#include <stdio.h>

#include "base/datetime.h"
#include "base/utf8.h"
#include "column/print_nodes.h"

/* ---------------------------------------------------------------- small pieces */

static inline lb_status put_ascii(lb_buf *out, const char *text, size_t size, bool quoted, lb_error *err)
{
    LB_TRY(print_room(out, size + 2, err));
    if (quoted)
        lb_buf_putc(out, '"');
    lb_buf_put(out, text, size);
    if (quoted)
        lb_buf_putc(out, '"');
    return LB_OK;
}

static lb_status put_tag(lb_buf *out, const char *tag, const char *text, size_t size, lb_error *err)
{
    LB_TRY(lb_buf_append_str(out, tag, err));
    LB_TRY(put_ascii(out, text, size, true, err));
    return lb_buf_append(out, "}", 1, err);
}

static lb_status put_bin(lb_buf *out, const void *bytes, size_t size, lb_error *err)
{
    LB_TRY(lb_buf_append_str(out, "{\"$bin\":\"", err));
    LB_TRY(lb_print_base64(out, bytes, size, err));
    return lb_buf_append(out, "\"}", 2, err);
}

/* ---------------------------------------------------------------- numbers */

#define PUT_INT(name, type, print)                                                                   \
    static lb_status put_##name(const print_node *n, int64_t row, lb_buf *out, lb_error *err)        \
    {                                                                                                \
        LB_TRY(print_room(out, LB_INT_TEXT, err));                                                   \
        out->size += print(((const type *)n->data)[n->offset + row], (char *)out->data + out->size); \
        return LB_OK;                                                                                \
    }

PUT_INT(int8, int8_t, lb_print_int64)
PUT_INT(int16, int16_t, lb_print_int64)
PUT_INT(int32, int32_t, lb_print_int64)
PUT_INT(int64, int64_t, lb_print_int64)
PUT_INT(uint8, uint8_t, lb_print_uint64)
PUT_INT(uint16, uint16_t, lb_print_uint64)
PUT_INT(uint32, uint32_t, lb_print_uint64)
PUT_INT(uint64, uint64_t, lb_print_uint64)

#define SAFE_INTEGER ((int64_t)9007199254740991) /* 2^53 - 1: what every JSON reader keeps exact */

static lb_status put_tagged_int(int64_t v, lb_buf *out, lb_error *err)
{
    char text[LB_INT_TEXT];
    size_t size = lb_print_int64(v, text);
    if (v > SAFE_INTEGER || v < -SAFE_INTEGER)
        return put_tag(out, "{\"$int\":", text, size, err);
    return put_ascii(out, text, size, false, err);
}

static lb_status put_int64_tagged(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    return put_tagged_int(((const int64_t *)n->data)[n->offset + row], out, err);
}

static lb_status put_uint64_tagged(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_INT_TEXT];
    uint64_t v = ((const uint64_t *)n->data)[n->offset + row];
    size_t size = lb_print_uint64(v, text);
    if (v > (uint64_t)SAFE_INTEGER)
        return put_tag(out, "{\"$int\":", text, size, err);
    return put_ascii(out, text, size, false, err);
}

static lb_status put_bool(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    bool v = ArrowBitGet(n->data, n->offset + row);
    return put_ascii(out, v ? "true" : "false", v ? 4 : 5, false, err);
}

static lb_status put_not_finite(const print_node *n, double v, lb_buf *out, lb_error *err)
{
    const char *text = isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity";
    if (n->style == PRINT_TAGGED)
        return put_tag(out, "{\"$float\":", text, strlen(text), err);
    return put_ascii(out, text, strlen(text), n->style == PRINT_JSON, err);
}

static lb_status put_double_value(const print_node *n, double v, lb_buf *out, lb_error *err)
{
    if (!isfinite(v))
        return put_not_finite(n, v, out, err);
    LB_TRY(print_room(out, LB_DOUBLE_TEXT, err));
    char *at = (char *)out->data + out->size;
    out->size += n->style == PRINT_CANONICAL ? lb_print_double_17g(v, at) : lb_print_double(v, at);
    return LB_OK;
}

static lb_status put_double(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    return put_double_value(n, ((const double *)n->data)[n->offset + row], out, err);
}

/* Narrow floats are widened first where the text must be that of a double. */
static lb_status put_narrow(const print_node *n, float v, lb_buf *out, lb_error *err)
{
    if (n->style == PRINT_TAGGED || n->style == PRINT_CANONICAL || !isfinite(v))
        return put_double_value(n, (double)v, out, err);
    LB_TRY(print_room(out, LB_DOUBLE_TEXT, err));
    out->size += lb_print_float(v, (char *)out->data + out->size);
    return LB_OK;
}

static lb_status put_float(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    return put_narrow(n, ((const float *)n->data)[n->offset + row], out, err);
}

static lb_status put_half(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    return put_narrow(n, lb_half_to_float(((const uint16_t *)n->data)[n->offset + row]), out, err);
}

static lb_status put_decimal(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DECIMAL_TEXT + LB_SCALE_MAX];
    size_t size = lb_print_decimal(lb_view_decimal(n->view, row), n->scale, text);
    return put_ascii(out, text, size, n->style == PRINT_TAGGED || n->style == PRINT_CANONICAL, err);
}

/* ---------------------------------------------------------------- dates and times, as ISO 8601 */

static lb_status put_date32(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DATETIME_TEXT];
    size_t size = lb_print_date(((const int32_t *)n->data)[n->offset + row], text);
    return put_ascii(out, text, size, n->style == PRINT_JSON, err);
}

/* Milliseconds that should be whole days; where they are not, nothing is hidden. */
static lb_status put_date64(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DATETIME_TEXT];
    int64_t ms = ((const int64_t *)n->data)[n->offset + row], day = 86400000;
    size_t size = ms % day == 0 ? lb_print_date(ms / day, text) : lb_print_timestamp(ms, 1000, false, text);
    return put_ascii(out, text, size, n->style == PRINT_JSON, err);
}

static lb_status put_time(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DATETIME_TEXT];
    size_t size = lb_print_time(ArrowArrayViewGetIntUnsafe(n->view, row), n->unit, text);
    return put_ascii(out, text, size, n->style == PRINT_JSON, err);
}

static lb_status put_timestamp(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DATETIME_TEXT];
    size_t size = lb_print_timestamp(((const int64_t *)n->data)[n->offset + row], n->unit, n->zone, text);
    return put_ascii(out, text, size, n->style == PRINT_JSON, err);
}

static lb_status put_duration(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DATETIME_TEXT];
    size_t size = lb_print_duration(((const int64_t *)n->data)[n->offset + row], n->unit, text);
    return put_ascii(out, text, size, n->style == PRINT_JSON, err);
}

/* Nanoseconds as `1.5S`, sign first. */
static size_t interval_seconds(int64_t ns, bool negate, char *out, size_t cap)
{
    bool minus = (ns < 0) != (negate && ns != 0);
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t whole = size / 1000000000, rest = size % 1000000000;
    int digits = 9;
    while (rest != 0 && rest % 10 == 0) {
        rest /= 10;
        digits--;
    }
    int n = rest == 0 ? snprintf(out, cap, "T%s%lluS", minus ? "-" : "", (unsigned long long)whole)
                      : snprintf(out, cap, "T%s%llu.%0*lluS", minus ? "-" : "", (unsigned long long)whole, digits,
                                 (unsigned long long)rest);
    return n < 0 ? 0 : LB_MIN((size_t)n, cap - 1);
}

/* `P1M2DT3.5S`: parts of nothing are left out; when all parts are below zero the sign stands first, else each has its
 * own. */
static size_t interval_text(const struct ArrowInterval *v, char *out, size_t cap)
{
    int64_t months = v->months, days = v->days;
    int64_t ns = v->type == NANOARROW_TYPE_INTERVAL_DAY_TIME ? v->ms * (int64_t)1000000 : v->ns;
    bool some = months != 0 || days != 0 || ns != 0;
    bool minus = some && months <= 0 && days <= 0 && ns <= 0;
    int n = snprintf(out, cap, "%sP", minus ? "-" : "");
    size_t at = n < 0 ? 0 : (size_t)n;
    if (months != 0 || (!some && v->type == NANOARROW_TYPE_INTERVAL_MONTHS))
        at += (size_t)snprintf(out + at, cap - at, "%lldM", (long long)(minus ? -months : months));
    if (days != 0)
        at += (size_t)snprintf(out + at, cap - at, "%lldD", (long long)(minus ? -days : days));
    if (ns != 0 || (!some && v->type != NANOARROW_TYPE_INTERVAL_MONTHS))
        at += interval_seconds(ns, minus, out + at, cap - at);
    return at;
}

static struct ArrowInterval interval_of(const print_node *n, int64_t row)
{
    struct ArrowInterval v;
    memset(&v, 0, sizeof v);
    v.type = n->type;
    ArrowArrayViewGetIntervalUnsafe(n->view, row, &v);
    return v;
}

static lb_status put_interval(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    char text[LB_DATETIME_TEXT + 32];
    struct ArrowInterval v = interval_of(n, row);
    return put_ascii(out, text, interval_text(&v, text, sizeof text), n->style == PRINT_JSON, err);
}

/* `[days, ms]` or `[months, days, ns]` of tests. */
static lb_status put_interval_parts(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    struct ArrowInterval v = interval_of(n, row);
    if (n->type == NANOARROW_TYPE_INTERVAL_DAY_TIME)
        return lb_buf_printf(out, err, "[%d,%d]", v.days, v.ms);
    LB_TRY(lb_buf_printf(out, err, "[%d,%d,", v.months, v.days));
    if (n->style == PRINT_TAGGED)
        LB_TRY(put_tagged_int(v.ns, out, err));
    else
        LB_TRY(lb_buf_printf(out, err, "%lld", (long long)v.ns));
    return lb_buf_append(out, "]", 1, err);
}

/* ---------------------------------------------------------------- text and binary */

/* Of the layouts with offsets in place; the others go through the view. */
static inline lb_str bytes_at(const print_node *n, int64_t row)
{
    if (n->view->storage_type == NANOARROW_TYPE_STRING || n->view->storage_type == NANOARROW_TYPE_BINARY) {
        const int32_t *o = (const int32_t *)n->data + n->offset + row;
        /* A column of nothing but empty text may have no data buffer at all. */
        if (o[1] <= o[0])
            return (lb_str){ "", 0 };
        return (lb_str){ n->view->buffer_views[2].data.as_char + o[0], (size_t)(o[1] - o[0]) };
    }
    return lb_view_bytes(n->view, row);
}

static lb_status put_string_text(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    lb_str s = bytes_at(n, row);
    return lb_buf_append(out, s.at, s.size, err);
}

static lb_status put_string_json(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    lb_str s = bytes_at(n, row);
    return lb_print_json_text(out, s.at, s.size, err);
}

static lb_status put_string_exact(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    lb_str s = bytes_at(n, row);
    if (lb_utf8_valid_prefix((const uint8_t *)s.at, s.size) != s.size)
        return put_bin(out, s.at, s.size, err);
    return lb_print_json_string(out, s.at, s.size, err);
}

static lb_status put_binary(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    lb_str s = bytes_at(n, row);
    switch (n->style) {
    case PRINT_TAGGED:
    case PRINT_CANONICAL:
        return put_bin(out, s.at, s.size, err);
    case PRINT_CELL:
        return lb_buf_printf(out, err, "⟨%zu byte%s⟩", s.size, s.size == 1 ? "" : "s");
    case PRINT_TEXT:
        return lb_print_base64(out, s.at, s.size, err);
    default:
        LB_TRY(lb_buf_append(out, "\"", 1, err));
        LB_TRY(lb_print_base64(out, s.at, s.size, err));
        return lb_buf_append(out, "\"", 1, err);
    }
}

static lb_status put_uuid(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    static const char digits[] = "0123456789abcdef";
    lb_str s = bytes_at(n, row);
    char text[36];
    size_t at = 0;
    for (size_t i = 0; i < 16 && i < s.size; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        text[at++] = digits[(uint8_t)s.at[i] >> 4];
        text[at++] = digits[(uint8_t)s.at[i] & 15];
    }
    return put_ascii(out, text, at, n->style != PRINT_TEXT && n->style != PRINT_CELL, err);
}

/* ---------------------------------------------------------------- nested and encoded */

static lb_status put_null(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    (void)row;
    if (n->style == PRINT_TEXT || n->style == PRINT_CELL)
        return LB_OK;
    return put_ascii(out, "null", 4, false, err);
}

static lb_status outside(const char *what, int64_t row, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, ((lb_where){ -1, row, -1 }), "%s points outside its array", what);
}

static lb_status put_dictionary(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    int64_t i = lb_view_dictionary_index(n->view, row);
    return i < 0 ? outside("a dictionary index", row, err) : print_node_value(&n->children[0], i, out, err);
}

static lb_status put_run(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    int64_t i = lb_view_run(n->view, row);
    return i < 0 ? outside("a run end", row, err) : print_node_value(&n->children[0], i, out, err);
}

static lb_status put_list(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    int64_t start, count;
    if (!lb_view_list(n->view, row, &start, &count))
        return outside("a list", row, err);
    LB_TRY(lb_buf_append(out, "[", 1, err));
    for (int64_t i = 0; i < count; i++) {
        if (i != 0)
            LB_TRY(lb_buf_append(out, ",", 1, err));
        LB_TRY(print_node_value(&n->children[0], start + i, out, err));
    }
    return lb_buf_append(out, "]", 1, err);
}

/* The row of the struct is that of its children, moved by its own offset. */
static lb_status put_struct(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    LB_TRY(lb_buf_append(out, "{", 1, err));
    for (size_t i = 0; i < n->n_children; i++) {
        const print_node *c = &n->children[i];
        if (i != 0)
            LB_TRY(lb_buf_append(out, ",", 1, err));
        LB_TRY(lb_buf_append(out, c->key.at, c->key.size, err));
        LB_TRY(print_node_value(c, n->offset + row, out, err));
    }
    return lb_buf_append(out, "}", 1, err);
}

static lb_status put_map(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    const print_node *key = &n->children[0].children[0], *value = &n->children[0].children[1];
    const char *open = n->text_keys ? "{" : "[", *shut = n->text_keys ? "}" : "]";
    int64_t start, count, moved = n->children[0].offset;
    if (!lb_view_list(n->view, row, &start, &count))
        return outside("a map", row, err);
    LB_TRY(lb_buf_append(out, open, 1, err));
    for (int64_t i = start; i < start + count; i++) {
        if (i != start)
            LB_TRY(lb_buf_append(out, ",", 1, err));
        if (!n->text_keys)
            LB_TRY(lb_buf_append(out, "[", 1, err));
        LB_TRY(print_node_value(key, moved + i, out, err));
        LB_TRY(lb_buf_append(out, n->text_keys ? ":" : ",", 1, err));
        LB_TRY(print_node_value(value, moved + i, out, err));
        if (!n->text_keys)
            LB_TRY(lb_buf_append(out, "]", 1, err));
    }
    return lb_buf_append(out, shut, 1, err);
}

static lb_status put_union(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    int id, child;
    int64_t at;
    if (lb_view_union(n->view, row, &id, &child, &at) == NULL)
        return outside("a union", row, err);
    if (n->style == PRINT_JSON || n->children[child].null_branch)
        return print_node_value(&n->children[child], at, out, err);
    LB_TRY(lb_buf_printf(out, err, "{\"$union\":[%d,", id));
    LB_TRY(print_node_value(&n->children[child], at, out, err));
    return lb_buf_append(out, "]}", 2, err);
}

lb_status print_node_value(const print_node *n, int64_t row, lb_buf *out, lb_error *err)
{
    return print_is_null_here(n, row) ? put_null(n, row, out, err) : n->put(n, row, out, err);
}

/* The node and row that hold the value in the end: below dictionaries, runs and unions. NULL: outside. */
static const print_node *node_below(const print_node *n, int64_t *row)
{
    int id, child;
    if (n->put == put_union)
        return lb_view_union(n->view, *row, &id, &child, row) == NULL ? NULL : &n->children[child];
    *row = n->put == put_run ? lb_view_run(n->view, *row) : lb_view_dictionary_index(n->view, *row);
    return *row < 0 ? NULL : &n->children[0];
}

bool print_node_is_null(const print_node *n, int64_t row)
{
    while (!print_is_null_here(n, row) && (n->put == put_dictionary || n->put == put_run || n->put == put_union)) {
        n = node_below(n, &row);
        if (n == NULL)
            return false; /* printing it says what is wrong */
    }
    return n->put == put_null || print_is_null_here(n, row);
}

/* ---------------------------------------------------------------- choosing */

/* Counts as they are, which the exact forms print for dates and times too. */
static print_fn choose_integer(enum ArrowType storage, bool tagged)
{
    switch (storage) {
    case NANOARROW_TYPE_INT8:
        return put_int8;
    case NANOARROW_TYPE_INT16:
        return put_int16;
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INTERVAL_MONTHS:
        return put_int32;
    case NANOARROW_TYPE_INT64:
        return tagged ? put_int64_tagged : put_int64;
    case NANOARROW_TYPE_UINT8:
        return put_uint8;
    case NANOARROW_TYPE_UINT16:
        return put_uint16;
    case NANOARROW_TYPE_UINT32:
        return put_uint32;
    default:
        return tagged ? put_uint64_tagged : put_uint64;
    }
}

static print_fn choose_time(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_DATE32:
        return put_date32;
    case NANOARROW_TYPE_DATE64:
        return put_date64;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        return put_time;
    case NANOARROW_TYPE_TIMESTAMP:
        return put_timestamp;
    case NANOARROW_TYPE_DURATION:
        return put_duration;
    default:
        return put_interval;
    }
}

static print_fn choose_string(print_style style)
{
    if (style == PRINT_TEXT || style == PRINT_CELL)
        return put_string_text;
    return style == PRINT_JSON ? put_string_json : put_string_exact;
}

static print_fn choose_float(enum ArrowType type)
{
    return type == NANOARROW_TYPE_HALF_FLOAT ? put_half : type == NANOARROW_TYPE_FLOAT ? put_float : put_double;
}

static print_fn choose_binary(const struct ArrowSchemaView *v)
{
    bool uuid = v->type == NANOARROW_TYPE_FIXED_SIZE_BINARY && v->fixed_size == 16 &&
                lb_str_is(lb_schema_extension(v->schema), "arrow.uuid");
    return uuid ? put_uuid : put_binary;
}

/* NULL: no type of values without children. */
static print_fn choose_plain(const struct ArrowSchemaView *v, print_style style)
{
    bool exact = style == PRINT_TAGGED || style == PRINT_CANONICAL;
    switch (v->type) {
    case NANOARROW_TYPE_NA:
        return put_null;
    case NANOARROW_TYPE_BOOL:
        return put_bool;
    case NANOARROW_TYPE_INTERVAL_DAY_TIME:
    case NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO:
        return exact ? put_interval_parts : put_interval;
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
    case NANOARROW_TYPE_TIMESTAMP:
    case NANOARROW_TYPE_DURATION:
    case NANOARROW_TYPE_INTERVAL_MONTHS:
        return exact ? choose_integer(v->storage_type, style == PRINT_TAGGED) : choose_time(v->type);
    default:
        return NULL;
    }
}

static print_fn choose_flat(const struct ArrowSchemaView *v, print_style style)
{
    switch (lb_type_family(v->type)) {
    case LB_FAMILY_INT:
        return choose_integer(v->storage_type, style == PRINT_TAGGED);
    case LB_FAMILY_FLOAT:
        return choose_float(v->type);
    case LB_FAMILY_DECIMAL:
        return put_decimal;
    case LB_FAMILY_TEXT:
        return choose_string(style);
    case LB_FAMILY_BINARY:
        return choose_binary(v);
    case LB_FAMILY_LIST:
        return NULL;
    default:
        return choose_plain(v, style);
    }
}

static print_fn choose_nested(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_DICTIONARY:
        return put_dictionary;
    case NANOARROW_TYPE_RUN_END_ENCODED:
        return put_run;
    case NANOARROW_TYPE_STRUCT:
        return put_struct;
    case NANOARROW_TYPE_MAP:
        return put_map;
    case NANOARROW_TYPE_SPARSE_UNION:
    case NANOARROW_TYPE_DENSE_UNION:
        return put_union;
    default:
        return lb_type_family(type) == LB_FAMILY_LIST ? put_list : NULL;
    }
}

static lb_status node_key(lb_arena *arena, const struct ArrowSchema *field, print_node *out, lb_error *err)
{
    const char *name = field->name == NULL ? "" : field->name;
    lb_buf key;
    lb_buf_init(&key, NULL);
    lb_status s = out->style == PRINT_TAGGED || out->style == PRINT_CANONICAL
                      ? lb_print_json_string(&key, name, strlen(name), err)
                      : lb_print_json_text(&key, name, strlen(name), err);
    if (s == LB_OK)
        s = lb_buf_append(&key, ":", 1, err);
    if (s == LB_OK) {
        out->key = (lb_str){ lb_arena_dup(arena, key.data, key.size), key.size };
        if (out->key.at == NULL)
            s = lb_arena_fail(arena, err);
    }
    lb_buf_free(&key);
    return s;
}

static lb_status node_make(lb_arena *arena, const struct ArrowSchema *field, print_style style, int depth,
                           print_node *out, lb_error *err);

/* Children: those of the schema; of dictionaries and runs the values alone. */
static lb_status node_children(lb_arena *arena, const struct ArrowSchemaView *v, int depth, print_node *out,
                               lb_error *err)
{
    const struct ArrowSchema *one = v->type == NANOARROW_TYPE_DICTIONARY        ? v->schema->dictionary
                                    : v->type == NANOARROW_TYPE_RUN_END_ENCODED ? v->schema->children[1]
                                                                                : NULL;
    if (one == NULL && (out->style == PRINT_TEXT || out->style == PRINT_CELL))
        out->style = PRINT_JSON;
    out->n_children = one != NULL ? 1 : (size_t)v->schema->n_children;
    out->children = lb_arena_alloc(arena, LB_MAX(out->n_children, 1u), sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < out->n_children; i++)
        LB_TRY(node_make(arena, one != NULL ? one : v->schema->children[i], out->style, depth + 1, &out->children[i],
                         err));
    return LB_OK;
}

static bool node_is_text(const print_node *n)
{
    while (n->put == put_dictionary || n->put == put_run)
        n = &n->children[0];
    return n->put == put_string_json;
}

static lb_status node_make(lb_arena *arena, const struct ArrowSchema *field, print_style style, int depth,
                           print_node *out, lb_error *err)
{
    struct ArrowSchemaView v;
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    LB_TRY(lb_schema_view(field, &v, err));
    lb_str mark;
    *out = (print_node){ .style = style, .type = v.type };
    out->null_branch = v.type == NANOARROW_TYPE_NA && lb_schema_get_meta(field, LB_META_NULL_BRANCH, &mark);
    out->put = choose_flat(&v, style);
    if (out->put == put_decimal)
        out->scale = v.decimal_scale;
    else if (out->put == put_time || out->put == put_timestamp || out->put == put_duration)
        out->unit = lb_unit_of(v.time_unit);
    out->zone = v.type == NANOARROW_TYPE_TIMESTAMP && v.timezone[0] != '\0';
    LB_TRY(node_key(arena, field, out, err));
    if (out->scale > LB_SCALE_MAX || out->scale < -LB_SCALE_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%.100s': a decimal's scale of %d is not supported",
                       field->name == NULL ? "" : field->name, out->scale);
    if (out->put != NULL)
        return LB_OK;
    out->put = choose_nested(v.type);
    if (out->put == NULL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "Arrow type '%.40s' (%s) cannot be printed", field->format,
                       ArrowTypeString(v.type));
    LB_TRY(node_children(arena, &v, depth, out, err));
    out->text_keys =
        v.type == NANOARROW_TYPE_MAP && out->style == PRINT_JSON && node_is_text(&out->children[0].children[0]);
    return LB_OK;
}

lb_status print_node_make(lb_arena *arena, const struct ArrowSchema *field, print_style style, print_node *out,
                          lb_error *err)
{
    return node_make(arena, field, style, 0, out, err);
}

void print_node_bind(print_node *n, const struct ArrowArrayView *view)
{
    n->view = view;
    n->validity = lb_view_has_validity(view) ? view->buffer_views[0].data.as_uint8 : NULL;
    n->data = view->buffer_views[1].data.data;
    n->offset = view->offset;
    for (size_t i = 0; i < n->n_children; i++)
        print_node_bind(&n->children[i], n->put == put_dictionary ? view->dictionary
                                         : n->put == put_run      ? view->children[1]
                                                                  : view->children[i]);
}

lb_status lb_print_value(const struct ArrowSchema *field, const struct ArrowArrayView *column, int64_t row,
                         lb_form form, lb_buf *out, lb_error *err)
{
    static const print_style styles[LB_FORM_COUNT] = {
        [LB_FORM_CSV] = PRINT_TEXT,
        [LB_FORM_TAGGED] = PRINT_TAGGED,
        [LB_FORM_CANONICAL] = PRINT_CANONICAL,
        [LB_FORM_TABLE] = PRINT_CELL,
    };
    lb_arena arena;
    print_node node;
    lb_arena_init(&arena, out->budget);
    lb_status s =
        print_node_make(&arena, field, (unsigned)form < LB_FORM_COUNT ? styles[form] : PRINT_JSON, &node, err);
    if (s == LB_OK) {
        print_node_bind(&node, column);
        s = print_node_value(&node, row, out, err);
    }
    lb_arena_free(&arena);
    return s;
}
