/* Values as Arrow arrays: a tree of builders in the shape of the schema. */
#include "base/datetime.h"
#include "column/print.h"
#include "column/values.h"
#include "format/json/json_rows.h"

/* Keys that no column has are learnt, so that they are known at a glance; so many of them. */
#define BUILD_LEARNT_KEYS 4096

#define BUILD_INT_EXACT (((int64_t)1 << 53) - 1) /* larger ones are tagged: conformance form of integers */

typedef enum build_storage {
    BUILD_NULL,
    BUILD_BOOL,
    BUILD_INT,
    BUILD_UINT,
    BUILD_DOUBLE,
    BUILD_DAYS,
    BUILD_INSTANT, /* a timestamp or a time of day */
    BUILD_DECIMAL,
    BUILD_TEXT,
    BUILD_STRUCT,
    BUILD_LIST,
    BUILD_MAP
} build_storage;

struct js_builder {
    build_storage storage;
    unsigned bytes;    /* of one value */
    bool clock, utc;   /* INSTANT: a time of day; with a zone */
    int64_t unit;      /* INSTANT: counts a second */
    int digits, scale; /* DECIMAL */
    int64_t length, nulls;
    struct ArrowBitmap validity; /* without a bit as long as there are no nulls */
    struct ArrowBitmap bits;
    struct ArrowBuffer offsets, data;
    size_t n_children;
    js_builder *children; /* STRUCT: fields; LIST: items; MAP: keys and values */
    js_builder *same;     /* STRUCT's fields: the next one of that name */
    lb_keys keys;         /* STRUCT: names of fields, then learnt ones */
    size_t n_named;
    js_builder **named; /* the first field of each name */
};

/* ---------------------------------------------------------------- making */

static lb_status builder_make(js_build *b, const struct ArrowSchema *schema, int depth, js_builder *out, lb_error *err);

static lb_status builder_children(js_build *b, struct ArrowSchema *const *fields, size_t n, int depth, js_builder *out,
                                  lb_error *err)
{
    out->children = lb_arena_alloc(b->arena, n, sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(b->arena, err);
    for (; out->n_children < n; out->n_children++)
        LB_TRY(builder_make(b, fields[out->n_children], depth + 1, &out->children[out->n_children], err));
    return LB_OK;
}

static lb_status builder_names(js_build *b, const struct ArrowSchema *schema, js_builder *out, lb_error *err)
{
    out->named = lb_arena_alloc(b->arena, out->n_children, sizeof(js_builder *));
    if (out->named == NULL)
        return lb_arena_fail(b->arena, err);
    for (size_t i = out->n_children; i-- > 0;) {
        const lb_str name = lb_str_of(schema->children[i]->name);
        size_t number = lb_keys_of(&out->keys, name);
        if (number == LB_NO_KEY) {
            number = out->keys.count;
            LB_TRY(lb_keys_add(&out->keys, b->arena, name, err));
        }
        out->children[i].same = out->named[number];
        out->named[number] = &out->children[i];
    }
    out->n_named = out->keys.count;
    return LB_OK;
}

static lb_status builder_map(js_build *b, const struct ArrowSchema *schema, int depth, js_builder *out, lb_error *err)
{
    const struct ArrowSchema *entries = schema->children[0];

    out->storage = BUILD_MAP;
    LB_TRY(builder_children(b, entries->children, 2, depth + 1, out, err));
    if (out->children[0].storage != BUILD_TEXT)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "the keys of a map in JSON are text");
    return LB_OK;
}

static lb_status builder_refuse(const struct ArrowSchema *schema, lb_error *err)
{
    lb_buf words;

    lb_buf_init(&words, NULL);
    lb_status status = lb_type_words(schema, false, &words, err);
    if (status == LB_OK)
        status =
            lb_fail(err, LB_USAGE, LB_NOWHERE, "JSON is not read as %.*s", (int)words.size, (const char *)words.data);
    lb_buf_free(&words);
    lb_fail_hint(err, "it is read as bool, integers, float32, float64, decimals, dates, times, timestamps, string, and "
                      "lists, structs and maps of them");
    return status;
}

static lb_status builder_make(js_build *b, const struct ArrowSchema *schema, int depth, js_builder *out, lb_error *err)
{
    struct ArrowSchemaView view;

    ArrowBitmapInit(&out->validity);
    ArrowBitmapInit(&out->bits);
    ArrowBufferInit(&out->offsets);
    ArrowBufferInit(&out->data);
    LB_TRY(lb_schema_view(schema, &view, err));
    if (depth > LB_TYPE_DEPTH || schema->dictionary != NULL)
        return builder_refuse(schema, err);
    switch (view.type) {
    case NANOARROW_TYPE_NA:
        out->storage = BUILD_NULL;
        return LB_OK;
    case NANOARROW_TYPE_BOOL:
        out->storage = BUILD_BOOL;
        return LB_OK;
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
        out->storage = BUILD_INT;
        break;
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        out->storage = BUILD_UINT;
        break;
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        out->storage = BUILD_DOUBLE;
        break;
    case NANOARROW_TYPE_DATE32:
        out->storage = BUILD_DAYS;
        break;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
    case NANOARROW_TYPE_TIMESTAMP:
        out->storage = BUILD_INSTANT;
        out->clock = view.type != NANOARROW_TYPE_TIMESTAMP;
        out->utc = !out->clock && view.timezone != NULL && view.timezone[0] != '\0';
        out->unit = lb_unit_of(view.time_unit);
        break;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        out->storage = BUILD_DECIMAL;
        out->digits = view.decimal_precision;
        out->scale = view.decimal_scale;
        break;
    case NANOARROW_TYPE_STRING:
        out->storage = BUILD_TEXT;
        return LB_OK;
    case NANOARROW_TYPE_STRUCT:
        out->storage = BUILD_STRUCT;
        LB_TRY(builder_children(b, schema->children, (size_t)schema->n_children, depth, out, err));
        return builder_names(b, schema, out, err);
    case NANOARROW_TYPE_LIST:
        out->storage = BUILD_LIST;
        return builder_children(b, schema->children, 1, depth, out, err);
    case NANOARROW_TYPE_MAP:
        return builder_map(b, schema, depth, out, err);
    default:
        return builder_refuse(schema, err);
    }
    out->bytes = (unsigned)view.layout.element_size_bits[1] / 8;
    return LB_OK;
}

lb_status js_builder_make(js_build *b, const struct ArrowSchema *schema, js_builder **out, lb_error *err)
{
    *out = lb_arena_alloc(b->arena, 1, sizeof **out);
    return *out == NULL ? lb_arena_fail(b->arena, err) : builder_make(b, schema, 0, *out, err);
}

void js_builder_reset(js_builder *s)
{
    if (s == NULL)
        return;
    ArrowBitmapReset(&s->validity);
    ArrowBitmapReset(&s->bits);
    ArrowBufferReset(&s->offsets);
    ArrowBufferReset(&s->data);
    s->length = s->nulls = 0;
    for (size_t i = 0; i < s->n_children; i++)
        js_builder_reset(&s->children[i]);
}

/* ---------------------------------------------------------------- appending */

static bool build_fails(js_build *b, lb_status status)
{
    if (status != LB_OK && b->status == LB_OK)
        b->status = status;
    return status != LB_OK;
}

static bool build_grow(js_build *b, struct ArrowBuffer *buffer, int64_t more)
{
    const int64_t cap = LB_MAX(buffer->capacity_bytes, 512), grown = LB_MAX(2 * cap, buffer->size_bytes + more);

    if (!lb_budget_take(b->budget, (uint64_t)(grown - buffer->capacity_bytes)))
        return !build_fails(b, lb_fail(b->err, LB_BUDGET, LB_NOWHERE, "a batch of rows passes the memory limit"));
    b->taken += (uint64_t)(grown - buffer->capacity_bytes);
    if (ArrowBufferReserve(buffer, grown - buffer->size_bytes) != NANOARROW_OK)
        return !build_fails(b, lb_fail_nomem(b->err));
    return true;
}

static inline bool build_room(js_build *b, struct ArrowBuffer *buffer, int64_t more)
{
    b->bytes += (uint64_t)more;
    return buffer->capacity_bytes - buffer->size_bytes >= more || build_grow(b, buffer, more);
}

/* The bits before the first null are all set. */
static bool build_validity(js_build *b, js_builder *s, bool valid)
{
    if (valid && s->nulls == 0)
        return true;
    if (s->nulls == 0 && s->validity.size_bits < s->length &&
        ArrowBitmapAppend(&s->validity, 1, s->length - s->validity.size_bits) != NANOARROW_OK)
        return !build_fails(b, lb_fail_nomem(b->err));
    if (ArrowBitmapAppend(&s->validity, valid, 1) != NANOARROW_OK)
        return !build_fails(b, lb_fail_nomem(b->err));
    s->nulls += !valid;
    return true;
}

/* The end of a text, a list or a map; the first one has a beginning before it. */
static bool build_offset(js_build *b, js_builder *s, int64_t end)
{
    static const int32_t zero;
    const int32_t at = (int32_t)end;

    if (end > INT32_MAX)
        return !build_fails(
            b, lb_fail(b->err, LB_UNSUPPORTED, LB_NOWHERE, "values of one column pass what a batch of rows holds"));
    if (s->offsets.size_bytes == 0) {
        if (!build_room(b, &s->offsets, 4))
            return false;
        ArrowBufferAppendUnsafe(&s->offsets, &zero, 4);
    }
    if (!build_room(b, &s->offsets, 4))
        return false;
    ArrowBufferAppendUnsafe(&s->offsets, &at, 4);
    return true;
}

static inline bool build_fixed(js_build *b, js_builder *s, const void *value)
{
    if (!build_room(b, &s->data, s->bytes))
        return false;
    ArrowBufferAppendUnsafe(&s->data, value, s->bytes);
    return true;
}

static bool build_bit(js_build *b, js_builder *s, bool value)
{
    b->bytes++;
    return ArrowBitmapAppend(&s->bits, value, 1) == NANOARROW_OK || !build_fails(b, lb_fail_nomem(b->err));
}

static bool build_null(js_build *b, js_builder *s);

/* What a null leaves in the buffers. */
static bool build_hole(js_build *b, js_builder *s)
{
    static const lb_i256 zero;

    switch (s->storage) {
    case BUILD_NULL:
        return true;
    case BUILD_BOOL:
        return build_bit(b, s, false);
    case BUILD_INT:
    case BUILD_UINT:
    case BUILD_DOUBLE:
    case BUILD_DAYS:
    case BUILD_INSTANT:
    case BUILD_DECIMAL:
        return build_fixed(b, s, &zero);
    case BUILD_TEXT:
        return build_offset(b, s, s->data.size_bytes);
    case BUILD_LIST:
    case BUILD_MAP:
        return build_offset(b, s, s->children[0].length);
    case BUILD_STRUCT:
        break;
    }
    for (size_t i = 0; i < s->n_children; i++)
        if (!build_null(b, &s->children[i]))
            return false;
    return true;
}

static bool build_null(js_build *b, js_builder *s)
{
    b->bytes++;
    if (!build_hole(b, s) || !build_validity(b, s, false))
        return false;
    s->length++;
    return true;
}

/* Take the last values back, so that `length` are left; also one that was begun only. */
static void build_truncate(js_builder *s, int64_t length)
{
    const bool any = s->offsets.size_bytes != 0;
    const int32_t end = any ? ((const int32_t *)(const void *)s->offsets.data)[length] : 0;

    for (int64_t i = length; i < s->validity.size_bits; i++)
        s->nulls -= !ArrowBitGet(s->validity.buffer.data, i);
    s->validity.size_bits = LB_MIN(s->validity.size_bits, length);
    s->bits.size_bits = LB_MIN(s->bits.size_bits, length);
    s->length = length;
    switch (s->storage) {
    case BUILD_INT:
    case BUILD_UINT:
    case BUILD_DOUBLE:
    case BUILD_DAYS:
    case BUILD_INSTANT:
    case BUILD_DECIMAL:
        s->data.size_bytes = length * s->bytes;
        break;
    case BUILD_TEXT:
        s->data.size_bytes = end;
        s->offsets.size_bytes = any ? 4 * (length + 1) : 0;
        break;
    case BUILD_LIST:
    case BUILD_MAP:
        s->offsets.size_bytes = any ? 4 * (length + 1) : 0;
        for (size_t i = 0; i < s->n_children; i++)
            build_truncate(&s->children[i], end);
        break;
    case BUILD_STRUCT:
        for (size_t i = 0; i < s->n_children; i++)
            build_truncate(&s->children[i], length);
        break;
    case BUILD_NULL:
    case BUILD_BOOL:
        break;
    }
}

/* ---------------------------------------------------------------- values */

static bool build_value(js_build *b, js_builder *s, lb_json_cursor *c);

static bool build_wrong(js_build *b, const uint8_t *at)
{
    if (b->status == LB_OK && b->wrong_at == NULL)
        b->wrong_at = at;
    return false;
}

static bool build_put_int(js_build *b, js_builder *s, const lb_number *v, lb_number_kind kind, const uint8_t *at)
{
    const int64_t most = s->bytes == 8 ? INT64_MAX : ((int64_t)1 << (8 * s->bytes - 1)) - 1;

    if (kind != LB_NUMBER_INT || v->i > most || v->i < -most - 1)
        return build_wrong(b, at);
    return build_fixed(b, s, &v->i);
}

static bool build_put_uint(js_build *b, js_builder *s, const lb_number *v, lb_number_kind kind, const uint8_t *at)
{
    const uint64_t most = s->bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * s->bytes)) - 1,
                   value = kind == LB_NUMBER_UINT ? v->u : (uint64_t)v->i;

    if ((kind != LB_NUMBER_UINT && (kind != LB_NUMBER_INT || v->i < 0)) || value > most)
        return build_wrong(b, at);
    return build_fixed(b, s, &value);
}

static bool build_put_double(js_build *b, js_builder *s, const lb_number *v, lb_number_kind kind, lb_str text,
                             const uint8_t *at)
{
    double d = v->f;

    if (kind == LB_NOT_A_NUMBER)
        return build_wrong(b, at);
    if (kind == LB_NUMBER_INT)
        d = (double)v->i;
    else if (kind == LB_NUMBER_UINT)
        d = (double)v->u;
    else if (kind == LB_NUMBER_BIG && !lb_parse_double(text.at, text.size, &d))
        return build_wrong(b, at);
    const float single = (float)d;
    return build_fixed(b, s, s->bytes == 4 ? (const void *)&single : (const void *)&d);
}

static bool build_number(js_build *b, js_builder *s, lb_json_cursor *c)
{
    const uint8_t *at = c->p;
    lb_str text;
    lb_number v;

    if (*at != '-' && (*at < '0' || *at > '9'))
        return build_wrong(b, at);
    const lb_number_kind kind = lb_json_number(c, &text, &v);
    if (c->reason != LB_JSON_GOOD)
        return false;
    if (s->storage == BUILD_INT)
        return build_put_int(b, s, &v, kind, at);
    return s->storage == BUILD_UINT ? build_put_uint(b, s, &v, kind, at) : build_put_double(b, s, &v, kind, text, at);
}

static bool build_bytes(js_build *b, js_builder *s, const void *p, size_t size)
{
    if (size > (size_t)INT32_MAX || !build_room(b, &s->data, (int64_t)size))
        return size <= (size_t)INT32_MAX
                   ? false
                   : !build_fails(b, lb_fail(b->err, LB_UNSUPPORTED, LB_NOWHERE,
                                             "a value of %zu bytes is longer than a column of text holds", size));
    if (size != 0)
        ArrowBufferAppendUnsafe(&s->data, p, (int64_t)size);
    return build_offset(b, s, s->data.size_bytes);
}

/* Without an escape the bytes are the text; else it is decoded where it is to stand. */
static bool build_string(js_build *b, js_builder *s, const lb_json_text *text)
{
    if (!text->escaped || text->size > (size_t)INT32_MAX)
        return build_bytes(b, s, text->p, text->size);
    if (!build_room(b, &s->data, (int64_t)text->size))
        return false;
    s->data.size_bytes += (int64_t)lb_json_decode(text, s->data.data + s->data.size_bytes);
    return build_offset(b, s, s->data.size_bytes);
}

/* A number in a column of text: an integer as it stands, another one as floats are printed, if a double holds it. */
static bool build_number_text(js_build *b, js_builder *s, lb_json_cursor *c)
{
    char printed[LB_DOUBLE_TEXT];
    lb_str text;
    lb_number v;
    const lb_number_kind kind = lb_json_number(c, &text, &v);

    if (c->reason != LB_JSON_GOOD)
        return false;
    if (kind == LB_NUMBER_FLOAT)
        text = (lb_str){ printed, lb_print_double(v.f, printed) };
    return build_bytes(b, s, text.at, text.size);
}

static bool build_text(js_build *b, js_builder *s, lb_json_cursor *c)
{
    lb_json_text text;

    if (*c->p == '"')
        return lb_json_string(c, &text) && build_string(b, s, &text);
    if (*c->p == '-' || (*c->p >= '0' && *c->p <= '9'))
        return build_number_text(b, s, c);
    b->scratch.size = 0;
    return js_tagged(b, c, &b->scratch) && build_bytes(b, s, b->scratch.data, b->scratch.size);
}

/* The text of a string, or of a number where `number`. */
static bool build_words(js_build *b, lb_json_cursor *c, bool number, lb_str *out)
{
    const uint8_t *at = c->p;
    lb_json_text text;
    lb_number v;

    if (*at != '"' && (!number || (*at != '-' && (*at < '0' || *at > '9'))))
        return build_wrong(b, at);
    if (*at != '"') {
        (void)lb_json_number(c, out, &v);
        return c->reason == LB_JSON_GOOD;
    }
    if (!lb_json_string(c, &text))
        return false;
    *out = js_text(&text, &b->key);
    return out->at != NULL || !build_fails(b, lb_fail_nomem(b->err));
}

/* A date counts as its midnight where the type has no zone. */
static bool build_is_instant(const js_builder *s, lb_datetime_kind kind)
{
    if (s->clock)
        return kind == LB_TIME;
    return s->utc ? kind == LB_TIMESTAMP_UTC : kind == LB_TIMESTAMP || kind == LB_DATE;
}

static bool build_datetime(js_build *b, js_builder *s, lb_json_cursor *c)
{
    const uint8_t *at = c->p;
    lb_datetime v = { .days = 0 };
    lb_str text = { NULL, 0 };
    int64_t count;

    if (!build_words(b, c, false, &text))
        return false;
    const lb_datetime_kind kind = lb_datetime_parse(text.at, text.size, &v);
    if (s->storage == BUILD_DAYS)
        return kind == LB_DATE ? build_fixed(b, s, &v.days) : build_wrong(b, at);
    if (!build_is_instant(s, kind))
        return build_wrong(b, at);
    if (kind == LB_DATE)
        v.seconds = (int64_t)v.days * 86400;
    return lb_datetime_count(&v, s->unit, &count) ? build_fixed(b, s, &count) : build_wrong(b, at);
}

static bool build_decimal(js_build *b, js_builder *s, lb_json_cursor *c)
{
    const uint8_t *at = c->p;
    lb_str text = { NULL, 0 };
    lb_i256 v;

    if (!build_words(b, c, true, &text))
        return false;
    return lb_parse_decimal(text.at, text.size, s->digits, s->scale, &v) ? build_fixed(b, s, v.w) : build_wrong(b, at);
}

static bool build_list(js_build *b, js_builder *s, lb_json_cursor *c)
{
    if (*c->p != '[')
        return build_wrong(b, c->p);
    for (bool more = lb_json_array(c); more; more = lb_json_item(c))
        if (!build_value(b, &s->children[0], c))
            return false;
    return c->reason == LB_JSON_GOOD && build_offset(b, s, s->children[0].length);
}

static bool build_pass(js_build *b, lb_json_cursor *c)
{
    return b->trusted ? lb_json_pass(c, NULL) : lb_json_skip(c, NULL);
}

/* Bits of the members that later ones replace; *from SIZE_MAX: none. */
static bool build_replaced(js_build *b, const lb_json_cursor *c, size_t *from)
{
    const size_t size = b->replaced.size;
    size_t n;
    bool any;

    *from = SIZE_MAX;
    if (!js_find_replaced(*c, &b->replaced, &n, &any)) {
        lb_json_cursor again = *c;
        return !lb_json_skip(&again, NULL) || !build_fails(b, lb_fail_nomem(b->err)); /* bad text is met again */
    }
    if (any)
        *from = size;
    else
        b->replaced.size = size;
    return true;
}

static bool build_is_replaced(const js_build *b, size_t from, size_t k)
{
    return from != SIZE_MAX && (b->replaced.data[from + k / 8] >> k % 8 & 1) != 0;
}

static bool build_map(js_build *b, js_builder *s, lb_json_cursor *c)
{
    const size_t size = b->replaced.size;
    lb_json_text key;
    size_t from, k = 0;

    if (*c->p != '{')
        return build_wrong(b, c->p);
    if (!build_replaced(b, c, &from))
        return false;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key), k++) {
        if (build_is_replaced(b, from, k)) {
            if (!lb_json_skip(c, NULL))
                return false;
            continue;
        }
        if (!build_string(b, &s->children[0], &key))
            return false;
        s->children[0].length++;
        if (!build_value(b, &s->children[1], c))
            return false;
    }
    b->replaced.size = size;
    return c->reason == LB_JSON_GOOD && build_offset(b, s, s->children[0].length);
}

/* Where only a part of the file was looked at, a key may come that no column was made of: its values are not dropped in
 * silence. */
static bool build_knows(js_build *b, const lb_json_text *key, bool top)
{
    for (int64_t i = 0; top && !b->trusted && i < b->file->n_children; i++)
        if (lb_json_text_is(key, lb_str_of(b->file->children[i]->name)))
            return true;
    if (!b->trusted)
        b->unknown_at = key->p;
    return b->trusted;
}

/* The first field that the k-th key names; NULL: none. */
static js_builder *build_field(js_build *b, js_builder *s, size_t k, const lb_json_text *key, bool top)
{
    size_t number = js_keys_find(&s->keys, k, key, &b->key);

    if (number == LB_NO_KEY && !build_knows(b, key, top))
        return NULL;
    if (number == LB_NO_KEY && s->keys.count < s->n_named + BUILD_LEARNT_KEYS) {
        const lb_str name = js_text(key, &b->key);
        number = s->keys.count;
        if (name.at == NULL || lb_keys_add(&s->keys, b->arena, name, NULL) != LB_OK)
            return NULL;
    }
    if (number == LB_NO_KEY)
        return NULL;
    lb_keys_hint(&s->keys, b->arena, k, number);
    return number < s->n_named ? s->named[number] : NULL;
}

/* A value that is not of its column's type does not matter if a later member of the object, whose beginning is
 * `begin`, has the same key: it is taken back and passed. */
static bool build_was_replaced(js_build *b, const lb_json_cursor *begin, size_t k)
{
    const size_t size = b->replaced.size;
    const uint8_t *wrong = b->wrong_at;
    size_t from;

    if (wrong == NULL || b->status != LB_OK || b->unknown_at != NULL || !build_replaced(b, begin, &from))
        return false;
    const bool replaced = build_is_replaced(b, from, k);
    b->replaced.size = size;
    b->wrong_at = replaced ? NULL : wrong;
    return replaced;
}

/* The value at the cursor for a field and those of its name; of equal keys the last one counts. */
static bool build_fields(js_build *b, js_builder *s, js_builder *field, lb_json_cursor *c, size_t *filled)
{
    for (; field != NULL; field = field->same) {
        lb_json_cursor again = *c;
        if (field->length > s->length)
            build_truncate(field, s->length);
        else
            ++*filled;
        if (!build_value(b, field, field->same != NULL ? &again : c)) {
            *c = field->same != NULL ? again : *c;
            return false;
        }
    }
    return true;
}

static bool build_struct(js_build *b, js_builder *s, lb_json_cursor *c, bool top)
{
    const lb_json_cursor begin = *c;
    const size_t size = b->replaced.size;
    lb_json_text key;
    size_t filled = 0, k = 0;

    if (*c->p != '{')
        return build_wrong(b, c->p);
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key), k++) {
        js_builder *field = build_field(b, s, k, &key, top);
        if (b->unknown_at != NULL)
            return false;
        if (top && field != NULL)
            b->column = (size_t)(field - s->children);
        const lb_json_cursor value = *c;
        if (field == NULL ? build_pass(b, c) : build_fields(b, s, field, c, &filled))
            continue;
        if (field == NULL || !build_was_replaced(b, &begin, k))
            return false;
        b->replaced.size = size;
        *c = value;
        for (js_builder *f = field; f != NULL; f = f->same)
            build_truncate(f, s->length);
        filled = SIZE_MAX / 2; /* not known: the fields are looked at one by one */
        if (!lb_json_skip(c, NULL))
            return false;
    }
    if (c->reason != LB_JSON_GOOD)
        return false;
    for (size_t i = 0; filled != s->n_children && i < s->n_children; i++)
        if (s->children[i].length == s->length && !build_null(b, &s->children[i]))
            return false;
    return true;
}

static bool build_word(js_build *b, js_builder *s, lb_json_cursor *c, lb_json_kind kind)
{
    if (kind != LB_JSON_TRUE && kind != LB_JSON_FALSE)
        return build_wrong(b, c->p);
    return lb_json_word(c) && build_bit(b, s, kind == LB_JSON_TRUE);
}

static bool build_of_type(js_build *b, js_builder *s, lb_json_cursor *c, lb_json_kind kind)
{
    switch (s->storage) {
    case BUILD_NULL:
        break;
    case BUILD_BOOL:
        return build_word(b, s, c, kind);
    case BUILD_INT:
    case BUILD_UINT:
    case BUILD_DOUBLE:
        return build_number(b, s, c);
    case BUILD_DAYS:
    case BUILD_INSTANT:
        return build_datetime(b, s, c);
    case BUILD_DECIMAL:
        return build_decimal(b, s, c);
    case BUILD_TEXT:
        return build_text(b, s, c);
    case BUILD_STRUCT:
        return build_struct(b, s, c, false);
    case BUILD_LIST:
        return build_list(b, s, c);
    case BUILD_MAP:
        return build_map(b, s, c);
    }
    return build_wrong(b, c->p);
}

static bool build_value(js_build *b, js_builder *s, lb_json_cursor *c)
{
    const lb_json_kind kind = lb_json_peek(c);

    if (kind == LB_JSON_NOTHING)
        return false;
    if (kind == LB_JSON_NULL)
        return lb_json_word(c) && build_null(b, s);
    if (!build_of_type(b, s, c, kind) || !build_validity(b, s, true))
        return false;
    s->length++;
    return true;
}

bool js_builder_row(js_build *b, js_builder *rows, bool value, lb_json_cursor *c)
{
    const lb_json_cursor begin = *c;

    b->wrong_at = b->unknown_at = NULL;
    b->column = 0;
    if (!value) {
        if (lb_json_peek(c) == LB_JSON_NOTHING || !build_struct(b, rows, c, true))
            return false;
    } else {
        for (size_t i = 0; i < rows->n_children; i++) {
            *c = begin;
            b->column = i;
            if (!build_value(b, &rows->children[i], c))
                return false;
        }
    }
    rows->length++;
    return lb_json_finish(c);
}

/* ---------------------------------------------------------------- finishing */

static int finish_array(js_builder *s, struct ArrowArray *out)
{
    static const int32_t zero;
    int code = NANOARROW_OK;

    out->length = s->length;
    out->null_count = s->storage == BUILD_NULL ? s->length : s->nulls;
    if (s->storage == BUILD_NULL)
        return code;
    if (s->nulls != 0)
        ArrowArraySetValidityBitmap(out, &s->validity);
    switch (s->storage) {
    case BUILD_NULL:
        break;
    case BUILD_BOOL:
        return ArrowArraySetBuffer(out, 1, &s->bits.buffer);
    case BUILD_INT:
    case BUILD_UINT:
    case BUILD_DOUBLE:
    case BUILD_DAYS:
    case BUILD_INSTANT:
    case BUILD_DECIMAL:
        return ArrowArraySetBuffer(out, 1, &s->data);
    case BUILD_STRUCT:
        for (size_t i = 0; code == NANOARROW_OK && i < s->n_children; i++)
            code = finish_array(&s->children[i], out->children[i]);
        return code;
    case BUILD_TEXT:
    case BUILD_LIST:
    case BUILD_MAP:
        if (s->offsets.size_bytes == 0)
            code = ArrowBufferAppend(&s->offsets, &zero, 4);
        if (code == NANOARROW_OK)
            code = ArrowArraySetBuffer(out, 1, &s->offsets);
        if (code == NANOARROW_OK && s->storage == BUILD_TEXT)
            return ArrowArraySetBuffer(out, 2, &s->data);
        if (code == NANOARROW_OK && s->storage == BUILD_LIST)
            return finish_array(&s->children[0], out->children[0]);
        break;
    }
    struct ArrowArray *entries = out->children[0];
    entries->length = s->children[0].length;
    entries->null_count = 0;
    for (size_t i = 0; code == NANOARROW_OK && i < 2; i++)
        code = finish_array(&s->children[i], entries->children[i]);
    return code;
}

lb_status js_builder_finish(js_builder *rows, const struct ArrowSchema *schema, int64_t n, struct ArrowArray *out,
                            lb_error *err)
{
    int code = ArrowArrayInitFromSchema(out, schema, NULL);

    rows->length = n;
    if (code == NANOARROW_OK)
        code = finish_array(rows, out);
    if (code == NANOARROW_OK)
        code = ArrowArrayFinishBuilding(out, NANOARROW_VALIDATION_LEVEL_MINIMAL, NULL);
    js_builder_reset(rows);
    if (code == NANOARROW_OK)
        return LB_OK;
    if (out->release != NULL)
        out->release(out);
    return lb_fail_arrow(err, code, NULL);
}

/* ---------------------------------------------------------------- tagged text */

static bool tagged_put(js_build *b, lb_buf *out, const void *p, size_t size)
{
    return !build_fails(b, lb_buf_append(out, p, size, b->err));
}

static bool tagged_string(js_build *b, const lb_json_text *text, lb_buf *out)
{
    const lb_str plain = js_text(text, &b->key);

    if (plain.at == NULL)
        return !build_fails(b, lb_fail_nomem(b->err));
    return !build_fails(b, lb_print_json_string(out, plain.at, plain.size, b->err));
}

static bool tagged_number(js_build *b, lb_json_cursor *c, lb_buf *out)
{
    char printed[LB_DOUBLE_TEXT];
    lb_str text;
    lb_number v;
    const lb_number_kind kind = lb_json_number(c, &text, &v);

    if (c->reason != LB_JSON_GOOD)
        return false;
    const bool large = kind == LB_NUMBER_UINT || kind == LB_NUMBER_BIG ||
                       (kind == LB_NUMBER_INT && (v.i > BUILD_INT_EXACT || v.i < -BUILD_INT_EXACT));
    if (large)
        return tagged_put(b, out, "{\"$int\":\"", 9) && tagged_put(b, out, text.at, text.size) &&
               tagged_put(b, out, "\"}", 2);
    if (kind == LB_NUMBER_FLOAT)
        text = (lb_str){ printed, lb_print_double(v.f, printed) };
    return tagged_put(b, out, text.at, text.size);
}

static bool tagged_value(js_build *b, lb_json_cursor *c, lb_buf *out);

static bool tagged_array(js_build *b, lb_json_cursor *c, lb_buf *out)
{
    const char *before = "[";

    for (bool more = lb_json_array(c); more; more = lb_json_item(c), before = ",")
        if (!tagged_put(b, out, before, 1) || !tagged_value(b, c, out))
            return false;
    return c->reason == LB_JSON_GOOD && tagged_put(b, out, before[0] == '[' ? "[]" : "]", before[0] == '[' ? 2 : 1);
}

static bool tagged_object(js_build *b, lb_json_cursor *c, lb_buf *out)
{
    const size_t size = b->replaced.size;
    const char *before = "{";
    lb_json_text key;
    size_t from, k = 0;

    if (!build_replaced(b, c, &from))
        return false;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key), k++) {
        if (build_is_replaced(b, from, k)) {
            if (!lb_json_skip(c, NULL))
                return false;
            continue;
        }
        if (!tagged_put(b, out, before, 1) || !tagged_string(b, &key, out) || !tagged_put(b, out, ":", 1) ||
            !tagged_value(b, c, out))
            return false;
        before = ",";
    }
    b->replaced.size = size;
    return c->reason == LB_JSON_GOOD && tagged_put(b, out, before[0] == '{' ? "{}" : "}", before[0] == '{' ? 2 : 1);
}

static bool tagged_value(js_build *b, lb_json_cursor *c, lb_buf *out)
{
    const lb_json_kind kind = lb_json_peek(c);
    const uint8_t *at = c->p;
    lb_json_text text;

    switch (kind) {
    case LB_JSON_NOTHING:
        return false;
    case LB_JSON_NULL:
    case LB_JSON_FALSE:
    case LB_JSON_TRUE:
        return lb_json_word(c) && tagged_put(b, out, at, (size_t)(c->p - at));
    case LB_JSON_NUMBER:
        return tagged_number(b, c, out);
    case LB_JSON_STRING:
        return lb_json_string(c, &text) && tagged_string(b, &text, out);
    case LB_JSON_OBJECT:
        return tagged_object(b, c, out);
    case LB_JSON_ARRAY_VALUE:
        return tagged_array(b, c, out);
    }
    return false;
}

bool js_tagged(js_build *b, lb_json_cursor *c, lb_buf *out)
{
    return tagged_value(b, c, out);
}
