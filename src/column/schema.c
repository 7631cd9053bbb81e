/* Making, copying and comparing Arrow schemas. */
#include <assert.h>
#include <errno.h>

#include "column/values.h"

lb_status lb_fail_arrow(lb_error *err, int code, const struct ArrowError *arrow_error)
{
    const char *text = arrow_error != NULL && arrow_error->message[0] != '\0' ? arrow_error->message : NULL;
    switch (code) {
    case NANOARROW_OK:
        return LB_OK;
    case ENOMEM:
        return lb_fail_nomem(err);
    case ENOTSUP:
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s", text != NULL ? text : "this Arrow type is not supported");
    case EIO:
        return lb_fail(err, LB_IO, LB_NOWHERE, "%s", text != NULL ? text : "Arrow data could not be read or written");
    default:
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s",
                       text != NULL ? text : "Arrow data does not have the expected form");
    }
}

lb_status lb_schema_view(const struct ArrowSchema *schema, struct ArrowSchemaView *out, lb_error *err)
{
    struct ArrowError why = { "" };
    int code = ArrowSchemaViewInit(out, schema, &why);
    return code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, &why);
}

lb_family lb_type_family(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        return LB_FAMILY_INT;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        return LB_FAMILY_FLOAT;
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return LB_FAMILY_DECIMAL;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_STRING_VIEW:
        return LB_FAMILY_TEXT;
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_BINARY_VIEW:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        return LB_FAMILY_BINARY;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
    case NANOARROW_TYPE_LIST_VIEW:
    case NANOARROW_TYPE_LARGE_LIST_VIEW:
        return LB_FAMILY_LIST;
    default:
        return LB_FAMILY_OTHER;
    }
}

lb_status lb_view_open(const struct ArrowSchema *schema, const struct ArrowArray *array, struct ArrowArrayView *out,
                       lb_error *err)
{
    struct ArrowError why = { "" };
    ArrowArrayViewInitFromType(out, NANOARROW_TYPE_UNINITIALIZED);
    int code = ArrowArrayViewInitFromSchema(out, schema, &why);
    if (code == NANOARROW_OK)
        code = ArrowArrayViewSetArray(out, array, &why);
    return code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, &why);
}

/* Hands a failed building call on and leaves `out` unset. */
static lb_status schema_drop(struct ArrowSchema *out, int code, lb_error *err)
{
    if (code == NANOARROW_OK)
        return LB_OK;
    if (out->release != NULL)
        ArrowSchemaRelease(out);
    out->release = NULL;
    return lb_fail_arrow(err, code, NULL);
}

lb_status lb_schema_struct(struct ArrowSchema *out, int64_t n_children, lb_error *err)
{
    ArrowSchemaInit(out);
    return schema_drop(out, ArrowSchemaSetTypeStruct(out, n_children), err);
}

lb_status lb_schema_set_name(struct ArrowSchema *field, lb_str name, lb_error *err)
{
    char *copy = malloc(name.size + 1);
    if (copy == NULL)
        return lb_fail_nomem(err);
    if (name.size != 0)
        memcpy(copy, name.at, name.size);
    copy[name.size] = '\0';
    int code = ArrowSchemaSetName(field, copy);
    free(copy);
    return lb_fail_arrow(err, code, NULL);
}

lb_status lb_schema_set_meta(struct ArrowSchema *field, const char *key, lb_str value, lb_error *err)
{
    struct ArrowBuffer meta;
    int code = ArrowMetadataBuilderInit(&meta, field->metadata);
    if (code == NANOARROW_OK)
        code =
            ArrowMetadataBuilderSet(&meta, ArrowCharView(key),
                                    (struct ArrowStringView){ value.size == 0 ? "" : value.at, (int64_t)value.size });
    if (code == NANOARROW_OK)
        code = ArrowSchemaSetMetadata(field, (const char *)meta.data);
    ArrowBufferReset(&meta);
    return lb_fail_arrow(err, code, NULL);
}

lb_status lb_schema_copy(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err)
{
    out->release = NULL;
    int code = ArrowSchemaDeepCopy(from, out);
    if (code != NANOARROW_OK)
        out->release = NULL;
    return lb_fail_arrow(err, code, NULL);
}

bool lb_schema_get_meta(const struct ArrowSchema *field, const char *key, lb_str *value)
{
    struct ArrowMetadataReader reader;
    struct ArrowStringView k, v;
    size_t size = strlen(key);
    if (ArrowMetadataReaderInit(&reader, field->metadata) != NANOARROW_OK)
        return false;
    while (ArrowMetadataReaderRead(&reader, &k, &v) == NANOARROW_OK) {
        if ((size_t)k.size_bytes == size && memcmp(k.data, key, size) == 0) {
            *value = (lb_str){ v.data, (size_t)v.size_bytes };
            return true;
        }
    }
    return false;
}

lb_str lb_schema_extension(const struct ArrowSchema *field)
{
    lb_str name = { "", 0 };
    lb_schema_get_meta(field, "ARROW:extension:name", &name);
    return name;
}

static bool schema_equal(const struct ArrowSchema *a, const struct ArrowSchema *b, int depth)
{
    const char *x = a->name == NULL ? "" : a->name, *y = b->name == NULL ? "" : b->name;
    if (depth > LB_TYPE_DEPTH || strcmp(x, y) != 0 || strcmp(a->format, b->format) != 0 ||
        a->n_children != b->n_children)
        return false;
    if (((a->flags ^ b->flags) & ARROW_FLAG_NULLABLE) != 0 || (a->dictionary == NULL) != (b->dictionary == NULL))
        return false;
    if (a->dictionary != NULL && !schema_equal(a->dictionary, b->dictionary, depth + 1))
        return false;
    for (int64_t i = 0; i < a->n_children; i++)
        if (!schema_equal(a->children[i], b->children[i], depth + 1))
            return false;
    return true;
}

bool lb_schema_equal(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    return schema_equal(a, b, 0);
}

/* ---------------------------------------------------------------- plain types */

static bool schema_saves_space(const struct ArrowSchema *schema)
{
    const char *f = schema->format;
    return schema->dictionary != NULL || f[0] == 'v' || strcmp(f, "+r") == 0 || strcmp(f, "+vl") == 0 ||
           strcmp(f, "+vL") == 0;
}

bool lb_schema_is_plain(const struct ArrowSchema *schema)
{
    if (schema_saves_space(schema))
        return false;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!lb_schema_is_plain(schema->children[i]))
            return false;
    return true;
}

/* Put `inner` (of which it takes the type and, where it has none of its own, the metadata) in the place of `field`. */
static lb_status schema_replace(struct ArrowSchema *field, const struct ArrowSchema *inner, lb_error *err)
{
    struct ArrowSchema made = { .release = NULL };
    assert(inner != NULL);
    LB_TRY(lb_schema_copy(inner, &made, err));
    int code = ArrowSchemaSetName(&made, field->name);
    if (code == NANOARROW_OK && field->metadata != NULL)
        code = ArrowSchemaSetMetadata(&made, field->metadata);
    LB_TRY(schema_drop(&made, code, err));
    /* What a dictionary says of its values' nulls is not kept: the format gives its type no such flag. */
    int64_t nullable = field->flags | (field->dictionary == NULL ? inner->flags : 0);
    made.flags = (made.flags & ~ARROW_FLAG_NULLABLE) | (nullable & ARROW_FLAG_NULLABLE);
    ArrowSchemaRelease(field);
    ArrowSchemaMove(&made, field);
    return LB_OK;
}

static lb_status schema_make_plain(struct ArrowSchema *field, int depth, lb_error *err)
{
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    struct ArrowSchemaView view;
    LB_TRY(lb_schema_view(field, &view, err));
    int code = NANOARROW_OK;
    switch (view.type) {
    case NANOARROW_TYPE_DICTIONARY:
        LB_TRY(schema_replace(field, field->dictionary, err));
        return schema_make_plain(field, depth + 1, err);
    case NANOARROW_TYPE_RUN_END_ENCODED:
        LB_TRY(schema_replace(field, field->children[1], err));
        return schema_make_plain(field, depth + 1, err);
    case NANOARROW_TYPE_STRING_VIEW:
        code = ArrowSchemaSetFormat(field, "u");
        break;
    case NANOARROW_TYPE_BINARY_VIEW:
        code = ArrowSchemaSetFormat(field, "z");
        break;
    case NANOARROW_TYPE_LIST_VIEW:
        code = ArrowSchemaSetFormat(field, "+l");
        break;
    case NANOARROW_TYPE_LARGE_LIST_VIEW:
        code = ArrowSchemaSetFormat(field, "+L");
        break;
    default:
        break;
    }
    LB_TRY(lb_fail_arrow(err, code, NULL));
    for (int64_t i = 0; i < field->n_children; i++)
        LB_TRY(schema_make_plain(field->children[i], depth + 1, err));
    return LB_OK;
}

lb_status lb_schema_plain(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_schema_copy(from, out, err));
    lb_status s = schema_make_plain(out, 0, err);
    if (s != LB_OK) {
        ArrowSchemaRelease(out);
        out->release = NULL;
    }
    return s;
}
