/* Schemas: JSON, whose names refer to what was declared before, as a graph of types without cycles. */
#include <assert.h>
#include <math.h>

#include "base/names.h"
#include "column/values.h"
#include "format/avro/avro.h"
#include "wire/json_tree.h"

/* Nodes of all columns, where each use of a named type counts: a few lines of schema can name millions. */
#define SCHEMA_WEIGHT 200000

/* Levels below the rows; a map takes two of LB_TYPE_DEPTH. */
#define SCHEMA_DEPTH (LB_TYPE_DEPTH - 4)

/* Type ids of an Arrow union. */
#define SCHEMA_BRANCHES 127

/* Unused branches and names of a text that nests ever deeper are stopped before the stack ends. */
#define SCHEMA_TEXT_DEPTH 256

typedef struct schema_reader {
    lb_arena *arena;
    lb_error *err;
    lb_names names; /* full name → avro_type * */
    unsigned text_depth;
} schema_reader;

static const char *const schema_primitives[] = {
    "null", "boolean", "int", "long", "float", "double", "bytes", "string"
};

static const avro_type schema_plain[] = {
    [AVRO_NULL] = { .kind = AVRO_NULL, .weight = 1 },
    [AVRO_BOOLEAN] = { .kind = AVRO_BOOLEAN, .least = 1, .most = 1, .weight = 1 },
    [AVRO_INT] = { .kind = AVRO_INT, .least = 1, .most = UINT64_MAX, .weight = 1 },
    [AVRO_LONG] = { .kind = AVRO_LONG, .least = 1, .most = UINT64_MAX, .weight = 1 },
    [AVRO_FLOAT] = { .kind = AVRO_FLOAT, .least = 4, .most = 4, .weight = 1 },
    [AVRO_DOUBLE] = { .kind = AVRO_DOUBLE, .least = 8, .most = 8, .weight = 1 },
    [AVRO_BYTES] = { .kind = AVRO_BYTES, .least = 1, .most = UINT64_MAX, .weight = 1 },
    [AVRO_STRING] = { .kind = AVRO_STRING, .least = 1, .most = UINT64_MAX, .weight = 1 },
};

static lb_status schema_bad(const schema_reader *r, const char *what, lb_str name)
{
    return lb_fail(r->err, LB_CORRUPT, LB_NOWHERE, "the schema: %s '%.*s'", what, (int)LB_MIN(name.size, 100),
                   name.size == 0 ? "" : name.at);
}

static lb_status schema_type(schema_reader *r, const json_t *json, lb_str space, const avro_type **out);

/* ---------------------------------------------------------------- sizes */

static uint64_t schema_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* What a type's parts say about it. */
static lb_status schema_measure(const schema_reader *r, avro_type *t, bool all, unsigned levels)
{
    t->weight = 1;
    t->least = all ? 0 : 1;
    t->most = all ? 0 : UINT64_MAX;
    for (uint32_t i = 0; t->fields != NULL && i < t->n; i++) {
        const avro_type *part = t->fields[i].type;
        t->weight = schema_add(t->weight, part->weight);
        t->depth = LB_MAX(t->depth, part->depth + levels);
        if (all) {
            t->least = schema_add(t->least, part->least);
            t->most = schema_add(t->most, part->most);
        }
    }
    if (t->weight > SCHEMA_WEIGHT)
        return lb_fail(r->err, LB_UNSUPPORTED, LB_NOWHERE, "the schema has more than %d parts", SCHEMA_WEIGHT);
    if (t->depth > SCHEMA_DEPTH)
        return lb_fail(r->err, LB_UNSUPPORTED, LB_NOWHERE, "the schema nests more than %d levels", SCHEMA_DEPTH);
    return LB_OK;
}

/* ---------------------------------------------------------------- members of JSON objects */

static lb_str schema_text(const json_t *json, const char *key)
{
    const json_t *v = json_object_get(json, key);

    return json_is_string(v) ? (lb_str){ json_string_value(v), json_string_length(v) } : (lb_str){ NULL, 0 };
}

/* A whole number within int32, or -1. */
static int64_t schema_number(const json_t *json, const char *key, int64_t absent)
{
    const json_t *v = json_object_get(json, key);

    if (v == NULL)
        return absent;
    const double d = json_is_number(v) ? json_number_value(v) : -1;
    return d >= 0 && d <= INT32_MAX && d == floor(d) ? (int64_t)d : -1;
}

/* ---------------------------------------------------------------- names */

/* Where the namespace of a full name ends; 0: it has none. */
static size_t schema_space_size(lb_str full)
{
    size_t n = full.size;

    while (n > 0 && full.at[n - 1] != '.')
        n--;
    return n == 0 ? 0 : n - 1;
}

static lb_status schema_join(schema_reader *r, lb_str space, lb_str name, lb_str *out)
{
    if (space.size == 0 || memchr(name.at, '.', name.size) != NULL)
        space.size = 0;
    const size_t dot = space.size != 0, size = space.size + dot + name.size;
    char *full = lb_arena_alloc(r->arena, size + 1, 1);
    if (full == NULL)
        return lb_arena_fail(r->arena, r->err);
    if (space.size != 0)
        memcpy(full, space.at, space.size);
    if (dot != 0)
        full[space.size] = '.';
    memcpy(full + space.size + dot, name.at, name.size);
    *out = (lb_str){ full, size };
    return LB_OK;
}

/* The full name that a declaration gives, and the namespace inside it. A dotted name has its namespace in itself, and a
 * leading dot is none. */
static lb_status schema_declared(schema_reader *r, const json_t *json, lb_str outer, lb_str *full, lb_str *space)
{
    const json_t *own = json_object_get(json, "namespace");
    lb_str name = schema_text(json, "name");

    if (name.size == 0 || memchr(name.at, 0, name.size) != NULL)
        return schema_bad(r, "a record, enum or fixed has no name", name);
    if (json_is_string(own))
        outer = schema_text(json, "namespace");
    LB_TRY(schema_join(r, outer, name, full));
    if (full->size > 1 && full->at[0] == '.')
        *full = (lb_str){ full->at + 1, full->size - 1 };
    *space = (lb_str){ full->at, schema_space_size(*full) };
    return LB_OK;
}

static lb_status schema_named(schema_reader *r, const json_t *json, avro_kind kind, lb_str outer, avro_type **out,
                              lb_str *space)
{
    bool was_there;
    avro_type *t = lb_arena_alloc(r->arena, 1, sizeof *t);

    if (t == NULL)
        return lb_arena_fail(r->arena, r->err);
    t->kind = kind;
    LB_TRY(schema_declared(r, json, outer, &t->name, space));
    LB_TRY(lb_names_add(&r->names, t->name, (uint64_t)(uintptr_t)t, &was_there, r->err));
    if (was_there)
        return schema_bad(r, "two types have the name", t->name);
    *out = t;
    return LB_OK;
}

static bool schema_primitive(lb_str name, avro_kind *kind)
{
    for (size_t i = 0; i < LB_COUNT_OF(schema_primitives); i++) {
        if (!lb_str_is(name, schema_primitives[i]))
            continue;
        *kind = (avro_kind)i;
        return true;
    }
    return false;
}

/* A primitive, or what was declared under that name: in the namespace around it, else as it stands. */
static lb_status schema_reference(schema_reader *r, lb_str name, lb_str space, const avro_type **out)
{
    lb_str full = { NULL, 0 };
    avro_kind kind;

    if (schema_primitive(name, &kind)) {
        *out = &schema_plain[kind];
        return LB_OK;
    }
    if (name.size == 0)
        return schema_bad(r, "a type without a name", name);
    LB_TRY(schema_join(r, space, name, &full));
    const uint64_t *found = lb_names_find(&r->names, full);
    if (found == NULL)
        found = lb_names_find(&r->names, name);
    if (found == NULL)
        return schema_bad(r, "nothing declares the type", name);
    const avro_type *t = (const avro_type *)(uintptr_t)*found;
    if (t->open) {
        lb_fail(r->err, LB_UNSUPPORTED, LB_NOWHERE,
                "the record '%.*s' contains itself: recursive types have no columns", (int)LB_MIN(t->name.size, 100),
                t->name.at);
        return LB_UNSUPPORTED;
    }
    *out = t;
    return LB_OK;
}

/* ---------------------------------------------------------------- logical types */

/* What a type's attribute says, where it goes with the type; one that does not is passed over (specification, "Logical
 * types"). */
static void schema_decimal(const json_t *json, avro_type *t)
{
    const int64_t precision = schema_number(json, "precision", -1), scale = schema_number(json, "scale", 0);
    const double digits = floor(log10(2) * (8.0 * (double)t->n - 1)); /* of a fixed */

    if (precision < 1 || precision > 76 || scale < 0 || scale > precision)
        return;
    if (t->kind == AVRO_FIXED && (double)precision > digits)
        return;
    t->logical = AVRO_DECIMAL;
    t->precision = (int32_t)precision;
    t->scale = (int32_t)scale;
}

static void schema_logical(const json_t *json, avro_type *t)
{
    static const struct {
        const char *name;
        avro_kind kind;
        avro_logical logical;
        enum ArrowTimeUnit unit;
    } known[] = {
        { "date", AVRO_INT, AVRO_DATE, NANOARROW_TIME_UNIT_SECOND },
        { "time-millis", AVRO_INT, AVRO_TIME, NANOARROW_TIME_UNIT_MILLI },
        { "time-micros", AVRO_LONG, AVRO_TIME, NANOARROW_TIME_UNIT_MICRO },
        { "timestamp-millis", AVRO_LONG, AVRO_TIMESTAMP, NANOARROW_TIME_UNIT_MILLI },
        { "timestamp-micros", AVRO_LONG, AVRO_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO },
        { "timestamp-nanos", AVRO_LONG, AVRO_TIMESTAMP, NANOARROW_TIME_UNIT_NANO },
        { "local-timestamp-millis", AVRO_LONG, AVRO_LOCAL_TIMESTAMP, NANOARROW_TIME_UNIT_MILLI },
        { "local-timestamp-micros", AVRO_LONG, AVRO_LOCAL_TIMESTAMP, NANOARROW_TIME_UNIT_MICRO },
        { "local-timestamp-nanos", AVRO_LONG, AVRO_LOCAL_TIMESTAMP, NANOARROW_TIME_UNIT_NANO },
        { "uuid", AVRO_STRING, AVRO_UUID, NANOARROW_TIME_UNIT_SECOND },
        { "uuid", AVRO_FIXED, AVRO_UUID, NANOARROW_TIME_UNIT_SECOND },
        { "duration", AVRO_FIXED, AVRO_DURATION, NANOARROW_TIME_UNIT_SECOND },
    };
    const lb_str name = schema_text(json, "logicalType");

    if (lb_str_is(name, "decimal") && (t->kind == AVRO_BYTES || t->kind == AVRO_FIXED))
        schema_decimal(json, t);
    for (size_t i = 0; i < LB_COUNT_OF(known); i++) {
        if (known[i].kind != t->kind || !lb_str_is(name, known[i].name))
            continue;
        if (t->kind == AVRO_FIXED && t->n != (known[i].logical == AVRO_UUID ? 16u : 12u))
            continue;
        t->logical = known[i].logical;
        t->unit = known[i].unit;
    }
}

/* ---------------------------------------------------------------- types of several parts */

static lb_status schema_one_part(schema_reader *r, const json_t *json, avro_kind kind, const char *key, lb_str space,
                                 const avro_type **out)
{
    const json_t *items = json_object_get(json, key);
    avro_type *t = lb_arena_alloc(r->arena, 1, sizeof *t);

    if (items == NULL)
        return schema_bad(r, kind == AVRO_ARRAY ? "an array without" : "a map without", lb_str_of(key));
    if (t != NULL)
        t->fields = lb_arena_alloc(r->arena, 1, sizeof *t->fields);
    if (t == NULL || t->fields == NULL)
        return lb_arena_fail(r->arena, r->err);
    t->kind = kind;
    t->n = 1;
    LB_TRY(schema_type(r, items, space, &t->fields[0].type));
    *out = t;
    return schema_measure(r, t, false, kind == AVRO_MAP ? 2 : 1);
}

static lb_str schema_branch_name(const avro_type *t)
{
    if (t->name.size != 0)
        return t->name;
    if (t->kind < LB_COUNT_OF(schema_primitives))
        return lb_str_of(schema_primitives[t->kind]);
    return t->kind == AVRO_ARRAY ? LB_STR("array") : LB_STR("map");
}

static lb_status schema_union(schema_reader *r, const json_t *json, lb_str space, const avro_type **out)
{
    const size_t n = json_array_size(json);
    avro_type *t = lb_arena_alloc(r->arena, 1, sizeof *t);
    unsigned null_branch;

    if (n == 0 || n > SCHEMA_BRANCHES)
        return lb_fail(r->err, n == 0 ? LB_CORRUPT : LB_UNSUPPORTED, LB_NOWHERE,
                       "the schema: a union of %zu branches (1 to %d can be read)", n, SCHEMA_BRANCHES);
    if (t != NULL)
        t->fields = lb_arena_alloc(r->arena, n, sizeof *t->fields);
    if (t == NULL || t->fields == NULL)
        return lb_arena_fail(r->arena, r->err);
    t->kind = AVRO_UNION;
    t->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        if (json_is_array(json_array_get(json, i)))
            return schema_bad(r, "a union directly within a union", LB_STR(""));
        LB_TRY(schema_type(r, json_array_get(json, i), space, &t->fields[i].type));
        t->fields[i].name = schema_branch_name(t->fields[i].type);
    }
    *out = t;
    return schema_measure(r, t, false, n == 1 || avro_nullable(t, &null_branch) != NULL ? 0 : 1);
}

static lb_status schema_fields(schema_reader *r, const json_t *fields, lb_str space, avro_type *t)
{
    lb_names seen = { 0 };
    lb_status status = LB_OK;

    for (size_t i = 0; status == LB_OK && i < t->n; i++) {
        const json_t *field = json_array_get(fields, i), *type = json_object_get(field, "type");
        const lb_str name = schema_text(field, "name");
        bool was_there = false;
        if (name.size == 0 || type == NULL || memchr(name.at, 0, name.size) != NULL) {
            status = schema_bad(r, "a field without a name or a type in", t->name);
            break;
        }
        t->fields[i].name = (lb_str){ lb_arena_copy(r->arena, name), name.size };
        status = t->fields[i].name.at == NULL ? lb_arena_fail(r->arena, r->err) : LB_OK;
        if (status == LB_OK)
            status = lb_names_add(&seen, t->fields[i].name, i, &was_there, r->err);
        if (was_there)
            status = schema_bad(r, "two fields have the name", name);
        if (status == LB_OK)
            status = schema_type(r, type, space, &t->fields[i].type);
    }
    lb_names_free(&seen);
    return status;
}

static lb_status schema_record(schema_reader *r, const json_t *json, lb_str space, const avro_type **out)
{
    const json_t *fields = json_object_get(json, "fields");
    avro_type *t = NULL;

    LB_TRY(schema_named(r, json, AVRO_RECORD, space, &t, &space));
    assert(t != NULL);
    if (!json_is_array(fields) || json_array_size(fields) > UINT32_MAX)
        return schema_bad(r, "no list of fields in the record", t->name);
    t->n = (uint32_t)json_array_size(fields);
    t->fields = lb_arena_alloc(r->arena, t->n, sizeof *t->fields);
    if (t->fields == NULL)
        return lb_arena_fail(r->arena, r->err);
    t->open = true;
    LB_TRY(schema_fields(r, fields, space, t));
    t->open = false;
    *out = t;
    return schema_measure(r, t, true, 1);
}

static lb_status schema_enum(schema_reader *r, const json_t *json, lb_str space, const avro_type **out)
{
    const json_t *symbols = json_object_get(json, "symbols");
    avro_type *t = NULL;

    LB_TRY(schema_named(r, json, AVRO_ENUM, space, &t, &space));
    assert(t != NULL);
    if (!json_is_array(symbols) || json_array_size(symbols) > INT32_MAX)
        return schema_bad(r, "no symbols in the enum", t->name);
    t->n = (uint32_t)json_array_size(symbols);
    t->symbols = lb_arena_alloc(r->arena, t->n, sizeof *t->symbols);
    if (t->symbols == NULL)
        return lb_arena_fail(r->arena, r->err);
    for (uint32_t i = 0; i < t->n; i++) {
        const json_t *symbol = json_array_get(symbols, i);
        if (!json_is_string(symbol))
            return schema_bad(r, "a symbol that is no text in the enum", t->name);
        const lb_str text = { json_string_value(symbol), json_string_length(symbol) };
        t->symbols[i] = (lb_str){ lb_arena_copy(r->arena, text), text.size };
        if (t->symbols[i].at == NULL)
            return lb_arena_fail(r->arena, r->err);
    }
    t->least = t->weight = 1;
    t->most = UINT64_MAX;
    *out = t;
    return LB_OK;
}

static lb_status schema_fixed(schema_reader *r, const json_t *json, lb_str space, const avro_type **out)
{
    const int64_t size = schema_number(json, "size", -1);
    avro_type *t = NULL;

    LB_TRY(schema_named(r, json, AVRO_FIXED, space, &t, &space));
    assert(t != NULL);
    if (size < 0)
        return schema_bad(r, "no size, or one out of range, of the fixed", t->name);
    t->n = (uint32_t)size;
    t->least = t->most = t->n;
    t->weight = 1;
    schema_logical(json, t);
    *out = t;
    return LB_OK;
}

/* ---------------------------------------------------------------- any type */

static lb_status schema_primitive_object(schema_reader *r, const json_t *json, avro_kind kind, const avro_type **out)
{
    avro_type *t = lb_arena_dup(r->arena, &schema_plain[kind], sizeof schema_plain[kind]);

    if (t == NULL)
        return lb_arena_fail(r->arena, r->err);
    schema_logical(json, t);
    *out = t;
    return LB_OK;
}

static lb_status schema_object(schema_reader *r, const json_t *json, lb_str space, const avro_type **out)
{
    const lb_str type = schema_text(json, "type");
    avro_kind kind;

    if (type.at == NULL) { /* {"type": {…}} */
        const json_t *inner = json_object_get(json, "type");
        return inner == NULL ? schema_bad(r, "an object without a type", LB_STR(""))
                             : schema_type(r, inner, space, out);
    }
    if (schema_primitive(type, &kind))
        return schema_primitive_object(r, json, kind, out);
    if (lb_str_is(type, "record") || lb_str_is(type, "error"))
        return schema_record(r, json, space, out);
    if (lb_str_is(type, "enum"))
        return schema_enum(r, json, space, out);
    if (lb_str_is(type, "fixed"))
        return schema_fixed(r, json, space, out);
    if (lb_str_is(type, "array"))
        return schema_one_part(r, json, AVRO_ARRAY, "items", space, out);
    if (lb_str_is(type, "map"))
        return schema_one_part(r, json, AVRO_MAP, "values", space, out);
    return schema_reference(r, type, space, out);
}

static lb_status schema_type(schema_reader *r, const json_t *json, lb_str space, const avro_type **out)
{
    lb_status status;

    if (r->text_depth == SCHEMA_TEXT_DEPTH)
        return lb_fail(r->err, LB_UNSUPPORTED, LB_NOWHERE, "the schema nests more than %d levels", SCHEMA_DEPTH);
    r->text_depth++;
    switch (json_typeof(json)) {
    case JSON_STRING:
        status = schema_reference(r, (lb_str){ json_string_value(json), json_string_length(json) }, space, out);
        break;
    case JSON_ARRAY:
        status = schema_union(r, json, space, out);
        break;
    case JSON_OBJECT:
        status = schema_object(r, json, space, out);
        break;
    default:
        status = schema_bad(r, "a type that is no name, object or list", LB_STR(""));
    }
    r->text_depth--;
    return status;
}

lb_status avro_schema_read(lb_str text, lb_arena *arena, const avro_type **out, lb_error *err)
{
    schema_reader r = { .arena = arena, .err = err };
    json_error_t why;
    /* A default may be any number; none is looked at, nor is one refused for its size. */
    json_t *json = lb_json_load(text.at, text.size, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &why);

    if (json == NULL)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the schema is no JSON: %s", why.text);
    lb_status status = schema_type(&r, json, LB_STR(""), out);
    lb_names_free(&r.names);
    json_decref(json);
    return status;
}

/* ---------------------------------------------------------------- as Arrow */

const avro_type *avro_nullable(const avro_type *t, unsigned *null_branch)
{
    if (t->kind != AVRO_UNION || t->n != 2)
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        if (t->fields[i].type->kind != AVRO_NULL || t->fields[1 - i].type->kind == AVRO_NULL)
            continue;
        *null_branch = i;
        return t->fields[1 - i].type;
    }
    return NULL;
}

static int arrow_type(const avro_type *t, struct ArrowSchema *out);

static int arrow_fields(const avro_type *t, struct ArrowSchema *out)
{
    for (uint32_t i = 0; i < t->n; i++) {
        int code = arrow_type(t->fields[i].type, out->children[i]);
        if (code == NANOARROW_OK && t->fields[i].name.at != NULL)
            code = ArrowSchemaSetName(out->children[i], t->fields[i].name.at);
        if (code != NANOARROW_OK)
            return code;
    }
    return NANOARROW_OK;
}

static int arrow_uuid(struct ArrowSchema *out)
{
    int code = ArrowSchemaSetTypeFixedSize(out, NANOARROW_TYPE_FIXED_SIZE_BINARY, 16);

    if (code != NANOARROW_OK)
        return code;
    return lb_schema_set_meta(out, "ARROW:extension:name", LB_STR("arrow.uuid"), NULL) == LB_OK ? NANOARROW_OK : ENOMEM;
}

static int arrow_logical(const avro_type *t, struct ArrowSchema *out)
{
    const bool zone = t->logical == AVRO_TIMESTAMP;

    switch (t->logical) {
    case AVRO_DECIMAL:
        return ArrowSchemaSetTypeDecimal(
            out, t->precision <= 38 ? NANOARROW_TYPE_DECIMAL128 : NANOARROW_TYPE_DECIMAL256, t->precision, t->scale);
    case AVRO_DATE:
        return ArrowSchemaSetType(out, NANOARROW_TYPE_DATE32);
    case AVRO_TIME:
        return ArrowSchemaSetTypeDateTime(out, t->kind == AVRO_INT ? NANOARROW_TYPE_TIME32 : NANOARROW_TYPE_TIME64,
                                          t->unit, NULL);
    case AVRO_TIMESTAMP:
    case AVRO_LOCAL_TIMESTAMP:
        return ArrowSchemaSetTypeDateTime(out, NANOARROW_TYPE_TIMESTAMP, t->unit, zone ? "UTC" : NULL);
    case AVRO_UUID:
        return arrow_uuid(out);
    case AVRO_DURATION:
        return ArrowSchemaSetType(out, NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO);
    case AVRO_PLAIN:
        break;
    }
    return EINVAL;
}

static int arrow_union(const avro_type *t, struct ArrowSchema *out)
{
    unsigned null_branch;
    const avro_type *one = t->n == 1 ? t->fields[0].type : avro_nullable(t, &null_branch);

    if (one != NULL) {
        int code = arrow_type(one, out);
        if (t->n != 1)
            out->flags |= ARROW_FLAG_NULLABLE;
        return code;
    }
    int code = ArrowSchemaSetTypeUnion(out, NANOARROW_TYPE_DENSE_UNION, (int64_t)t->n);
    return code == NANOARROW_OK ? arrow_fields(t, out) : code;
}

static int arrow_nested(const avro_type *t, struct ArrowSchema *out)
{
    int code;

    switch (t->kind) {
    case AVRO_ARRAY:
        code = ArrowSchemaSetType(out, NANOARROW_TYPE_LIST);
        return code == NANOARROW_OK ? arrow_type(t->fields[0].type, out->children[0]) : code;
    case AVRO_MAP:
        code = ArrowSchemaSetType(out, NANOARROW_TYPE_MAP);
        if (code == NANOARROW_OK)
            code = ArrowSchemaSetType(out->children[0]->children[0], NANOARROW_TYPE_STRING);
        if (code == NANOARROW_OK)
            out->children[0]->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
        return code == NANOARROW_OK ? arrow_type(t->fields[0].type, out->children[0]->children[1]) : code;
    case AVRO_RECORD:
        code = ArrowSchemaSetTypeStruct(out, (int64_t)t->n);
        return code == NANOARROW_OK ? arrow_fields(t, out) : code;
    default:
        return arrow_union(t, out);
    }
}

/* Null because the schema says so, and not for want of values. */
static int arrow_null(struct ArrowSchema *out)
{
    int code = ArrowSchemaSetType(out, NANOARROW_TYPE_NA);

    out->flags |= ARROW_FLAG_NULLABLE;
    if (code != NANOARROW_OK)
        return code;
    return lb_schema_set_meta(out, LB_META_DECLARED, LB_STR("true"), NULL) == LB_OK ? NANOARROW_OK : ENOMEM;
}

static int arrow_type(const avro_type *t, struct ArrowSchema *out)
{
    static const enum ArrowType plain[] = {
        [AVRO_BOOLEAN] = NANOARROW_TYPE_BOOL,  [AVRO_INT] = NANOARROW_TYPE_INT32,
        [AVRO_LONG] = NANOARROW_TYPE_INT64,    [AVRO_FLOAT] = NANOARROW_TYPE_FLOAT,
        [AVRO_DOUBLE] = NANOARROW_TYPE_DOUBLE, [AVRO_BYTES] = NANOARROW_TYPE_BINARY,
        [AVRO_STRING] = NANOARROW_TYPE_STRING, [AVRO_FIXED] = NANOARROW_TYPE_BINARY,
        [AVRO_ENUM] = NANOARROW_TYPE_STRING,
    };

    out->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    if (t->kind == AVRO_NULL)
        return arrow_null(out);
    if (t->logical != AVRO_PLAIN)
        return arrow_logical(t, out);
    if (t->kind >= AVRO_ARRAY)
        return arrow_nested(t, out);
    if (t->kind == AVRO_FIXED && t->n != 0) /* Arrow has none of no bytes */
        return ArrowSchemaSetTypeFixedSize(out, NANOARROW_TYPE_FIXED_SIZE_BINARY, (int32_t)t->n);
    return ArrowSchemaSetType(out, plain[t->kind]);
}

lb_status avro_schema_arrow(const avro_type *rows, struct ArrowSchema *out, lb_error *err)
{
    const avro_field value = { LB_STR(AVRO_VALUE), rows };
    const avro_type wrapped = { .kind = AVRO_RECORD, .n = 1, .fields = (avro_field *)(uintptr_t)&value };

    ArrowSchemaInit(out);
    int code = arrow_type(rows->kind == AVRO_RECORD ? rows : &wrapped, out);
    if (code == NANOARROW_OK)
        return LB_OK;
    out->release(out);
    return lb_fail_arrow(err, code, NULL);
}
