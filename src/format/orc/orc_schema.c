/* Types as an Arrow schema. */
#include "base/utf8.h"
#include "format/orc/orc.h"

static lb_status schema_name(const orc_file *f, struct ArrowSchema *field, lb_str name, lb_error *err)
{
    if (memchr(name.size == 0 ? "" : name.at, 0, name.size) != NULL ||
        lb_utf8_valid_prefix((const uint8_t *)(name.size == 0 ? "" : name.at), name.size) != name.size)
        return lb_fail(err, LB_CORRUPT, LB_AT(f->tail_at), "a column's name is no text in UTF-8");
    return lb_schema_set_name(field, name, err);
}

/* Attributes, as Iceberg's ids of columns, are the field's metadata. */
static lb_status schema_attributes(const orc_type *t, struct ArrowSchema *field, lb_error *err)
{
    for (uint32_t i = 0; i < t->n_attributes; i++) {
        const lb_str key = t->attributes[2 * i];
        char name[128];
        if (key.size == 0 || key.size >= sizeof name || memchr(key.at, 0, key.size) != NULL)
            continue;
        lb_copy_text(name, sizeof name, key.at, key.size);
        LB_TRY(lb_schema_set_meta(field, name, t->attributes[2 * i + 1], err));
    }
    return LB_OK;
}

static lb_status schema_type(const orc_file *f, uint32_t id, struct ArrowSchema *out, lb_error *err);

static lb_status schema_struct(const orc_file *f, const orc_type *t, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetTypeStruct(out, t->n_children), NULL));
    for (uint32_t i = 0; i < t->n_children; i++) {
        LB_TRY(schema_type(f, t->children[i], out->children[i], err));
        LB_TRY(schema_name(f, out->children[i], t->names[i], err));
    }
    return LB_OK;
}

static lb_status schema_map(const orc_file *f, const orc_type *t, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetType(out, NANOARROW_TYPE_MAP), NULL));
    for (uint32_t i = 0; i < 2; i++) {
        struct ArrowSchema *field = out->children[0]->children[i];
        field->release(field);
        ArrowSchemaInit(field);
        LB_TRY(schema_type(f, t->children[i], field, err));
        LB_TRY(lb_schema_set_name(field, i == 0 ? LB_STR("key") : LB_STR("value"), err));
        if (i == 0)
            field->flags &= ~ARROW_FLAG_NULLABLE;
    }
    return LB_OK;
}

/* A union may be null itself, which Arrow's may not: one more branch holds these nulls. */
static lb_status schema_union(const orc_file *f, const orc_type *t, struct ArrowSchema *out, lb_error *err)
{
    char name[LB_INT_TEXT];

    if (t->n_children > 126)
        return lb_fail(err, LB_UNSUPPORTED, LB_AT(f->tail_at), "a union of %u branches is more than Arrow holds",
                       t->n_children);
    LB_TRY(
        lb_fail_arrow(err, ArrowSchemaSetTypeUnion(out, NANOARROW_TYPE_DENSE_UNION, (int64_t)t->n_children + 1), NULL));
    for (uint32_t i = 0; i < t->n_children; i++) {
        LB_TRY(schema_type(f, t->children[i], out->children[i], err));
        LB_TRY(lb_schema_set_name(out->children[i], (lb_str){ name, lb_print_uint64(i, name) }, err));
    }
    struct ArrowSchema *null = out->children[t->n_children];
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetType(null, NANOARROW_TYPE_NA), NULL));
    LB_TRY(lb_schema_set_name(null, LB_STR("null"), err));
    return lb_schema_set_meta(null, LB_META_NULL_BRANCH, LB_STR("true"), err);
}

static int schema_plain(const orc_type *t, struct ArrowSchema *out)
{
    static const enum ArrowType types[] = {
        [ORC_BOOLEAN] = NANOARROW_TYPE_BOOL,    [ORC_BYTE] = NANOARROW_TYPE_INT8,
        [ORC_SHORT] = NANOARROW_TYPE_INT16,     [ORC_INT] = NANOARROW_TYPE_INT32,
        [ORC_LONG] = NANOARROW_TYPE_INT64,      [ORC_FLOAT] = NANOARROW_TYPE_FLOAT,
        [ORC_DOUBLE] = NANOARROW_TYPE_DOUBLE,   [ORC_STRING] = NANOARROW_TYPE_STRING,
        [ORC_BINARY] = NANOARROW_TYPE_BINARY,   [ORC_DATE] = NANOARROW_TYPE_DATE32,
        [ORC_VARCHAR] = NANOARROW_TYPE_STRING,  [ORC_CHAR] = NANOARROW_TYPE_STRING,
        [ORC_GEOMETRY] = NANOARROW_TYPE_BINARY, [ORC_GEOGRAPHY] = NANOARROW_TYPE_BINARY,
    };
    const enum ArrowTimeUnit unit = t->micros ? NANOARROW_TIME_UNIT_MICRO : NANOARROW_TIME_UNIT_NANO;

    switch (t->kind) {
    case ORC_TIMESTAMP:
    case ORC_INSTANT:
        return ArrowSchemaSetTypeDateTime(out, NANOARROW_TYPE_TIMESTAMP, unit, t->kind == ORC_INSTANT ? "UTC" : NULL);
    case ORC_DECIMAL:
        return ArrowSchemaSetTypeDecimal(out, NANOARROW_TYPE_DECIMAL128, (int32_t)t->precision, (int32_t)t->scale);
    default:
        return ArrowSchemaSetType(out, types[t->kind]);
    }
}

/* `out` was only initialised. */
static lb_status schema_type(const orc_file *f, uint32_t id, struct ArrowSchema *out, lb_error *err)
{
    const orc_type *t = &f->types[id];

    switch (t->kind) {
    case ORC_STRUCT:
        LB_TRY(schema_struct(f, t, out, err));
        break;
    case ORC_MAP:
        LB_TRY(schema_map(f, t, out, err));
        break;
    case ORC_UNION:
        LB_TRY(schema_union(f, t, out, err));
        break;
    case ORC_LIST:
        LB_TRY(lb_fail_arrow(err, ArrowSchemaSetType(out, NANOARROW_TYPE_LIST), NULL));
        out->children[0]->release(out->children[0]);
        ArrowSchemaInit(out->children[0]);
        LB_TRY(schema_type(f, t->children[0], out->children[0], err));
        LB_TRY(lb_schema_set_name(out->children[0], LB_STR("item"), err));
        break;
    default:
        LB_TRY(lb_fail_arrow(err, schema_plain(t, out), NULL));
    }
    return schema_attributes(t, out, err);
}

static void schema_units(orc_file *f)
{
    for (uint32_t i = 0; i < f->n_types; i++)
        if (f->types[i].kind == ORC_TIMESTAMP || f->types[i].kind == ORC_INSTANT)
            f->types[i].micros = orc_stats_beyond_nanos(f, f->stats[i]);
}

lb_status orc_file_schema(orc_file *f, lb_error *err)
{
    const orc_type *root = &f->types[0];

    schema_units(f);
    f->bare = root->kind != ORC_STRUCT;
    f->n_columns = f->bare ? 1 : root->n_children;
    f->columns = lb_arena_alloc(&f->arena, (size_t)f->n_columns + 1, sizeof *f->columns);
    if (f->columns == NULL)
        return lb_arena_fail(&f->arena, err);
    LB_TRY(lb_schema_struct(&f->schema, f->n_columns, err));
    for (uint32_t i = 0; i < f->n_columns; i++) {
        struct ArrowSchema *field = f->schema.children[i];
        f->columns[i] = f->bare ? 0 : root->children[i];
        if (field->release != NULL)
            field->release(field);
        ArrowSchemaInit(field);
        LB_TRY(schema_type(f, f->columns[i], field, err));
        LB_TRY(schema_name(f, field, f->bare ? LB_STR("value") : root->names[i], err));
    }
    return LB_OK;
}

const char *orc_column_name(const orc_file *f, uint64_t column)
{
    return f->schema.children[column]->name;
}
