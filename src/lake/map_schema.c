#include "lake/map_schema.h"

#include "column/types.h"

#define FIELD_ROW(id, depth_, name_, type_, nullable_) \
    [LB_MAP_F_##id] = { .name = (name_), .depth = (depth_), .type = LB_MAP_##type_, .nullable = (nullable_) },

const lb_map_field lb_map_fields[LB_MAP_N_FIELDS] = { LB_MAP_FIELDS(FIELD_ROW) };

static const struct {
    const char *name;
    enum ArrowType arrow;
    uint8_t width;
} types[] = {
    [LB_MAP_UTF8] = { "utf8", NANOARROW_TYPE_STRING, 0 },
    [LB_MAP_BINARY] = { "binary", NANOARROW_TYPE_BINARY, 0 },
    [LB_MAP_BOOL] = { "bool", NANOARROW_TYPE_BOOL, 0 },
    [LB_MAP_U8] = { "uint8", NANOARROW_TYPE_UINT8, 1 },
    [LB_MAP_U32] = { "uint32", NANOARROW_TYPE_UINT32, 4 },
    [LB_MAP_U64] = { "uint64", NANOARROW_TYPE_UINT64, 8 },
    [LB_MAP_I32] = { "int32", NANOARROW_TYPE_INT32, 4 },
    [LB_MAP_I64] = { "int64", NANOARROW_TYPE_INT64, 8 },
    [LB_MAP_F64] = { "float64", NANOARROW_TYPE_DOUBLE, 8 },
    [LB_MAP_FIXED16] = { "fixed_size_binary(16)", NANOARROW_TYPE_FIXED_SIZE_BINARY, 16 },
    [LB_MAP_FIXED32] = { "fixed_size_binary(32)", NANOARROW_TYPE_FIXED_SIZE_BINARY, 32 },
    [LB_MAP_STRUCT] = { "struct", NANOARROW_TYPE_STRUCT, 0 },
    [LB_MAP_LIST] = { "list", NANOARROW_TYPE_LIST, 0 },
};

unsigned lb_map_field_end(unsigned id)
{
    unsigned end = id + 1;
    while (end < LB_MAP_N_FIELDS && lb_map_fields[end].depth > lb_map_fields[id].depth)
        end++;
    return end;
}

unsigned lb_map_type_width(lb_map_type type)
{
    return types[type].width;
}

const char *lb_map_type_name(lb_map_type type)
{
    return types[type].name;
}

static int64_t count_children(unsigned id)
{
    int64_t n = 0;
    for (unsigned at = id + 1, end = lb_map_field_end(id); at < end; at = lb_map_field_end(at))
        n++;
    return n;
}

static int schema_field(struct ArrowSchema *out, unsigned id);

static int schema_children(struct ArrowSchema *out, unsigned id)
{
    unsigned at = id + 1;
    for (int64_t i = 0; i < out->n_children; i++, at = lb_map_field_end(at))
        NANOARROW_RETURN_NOT_OK(schema_field(out->children[i], at));
    return NANOARROW_OK;
}

static int schema_type(struct ArrowSchema *out, unsigned id)
{
    const lb_map_field *f = &lb_map_fields[id];
    enum ArrowType arrow = types[f->type].arrow;
    if (arrow == NANOARROW_TYPE_FIXED_SIZE_BINARY)
        return ArrowSchemaSetTypeFixedSize(out, arrow, types[f->type].width);
    if (arrow == NANOARROW_TYPE_STRUCT)
        return ArrowSchemaSetTypeStruct(out, count_children(id));
    return ArrowSchemaSetType(out, arrow);
}

static int schema_field(struct ArrowSchema *out, unsigned id)
{
    const lb_map_field *f = &lb_map_fields[id];
    NANOARROW_RETURN_NOT_OK(schema_type(out, id));
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetName(out, f->name));
    out->flags = f->nullable ? ARROW_FLAG_NULLABLE : 0;
    return schema_children(out, id);
}

static int schema_columns(struct ArrowSchema *out)
{
    int64_t n = 0;
    for (unsigned id = 0; id < LB_MAP_N_FIELDS; id = lb_map_field_end(id))
        n++;
    ArrowSchemaInit(out);
    NANOARROW_RETURN_NOT_OK(ArrowSchemaSetTypeStruct(out, n));
    out->flags = 0;
    unsigned id = 0;
    for (int64_t i = 0; i < n; i++, id = lb_map_field_end(id))
        NANOARROW_RETURN_NOT_OK(schema_field(out->children[i], id));
    return NANOARROW_OK;
}

static int schema_metadata(struct ArrowSchema *out, const lb_str *pairs, size_t n_pairs)
{
    struct ArrowBuffer buffer;
    NANOARROW_RETURN_NOT_OK(ArrowMetadataBuilderInit(&buffer, NULL));
    int code = NANOARROW_OK;
    for (size_t i = 0; i < n_pairs && code == NANOARROW_OK; i++) {
        struct ArrowStringView key = { pairs[2 * i].at, (int64_t)pairs[2 * i].size };
        struct ArrowStringView value = { pairs[2 * i + 1].at, (int64_t)pairs[2 * i + 1].size };
        code = ArrowMetadataBuilderAppend(&buffer, key, value);
    }
    if (code == NANOARROW_OK)
        code = ArrowSchemaSetMetadata(out, (const char *)buffer.data);
    ArrowBufferReset(&buffer);
    return code;
}

lb_status lb_map_make_schema(const lb_str *pairs, size_t n_pairs, struct ArrowSchema *out, lb_error *err)
{
    int code = schema_columns(out);
    if (code == NANOARROW_OK)
        code = schema_metadata(out, pairs, n_pairs);
    if (code == NANOARROW_OK)
        return LB_OK;
    ArrowSchemaRelease(out);
    return lb_fail_nomem(err);
}
