#include "format/lance/lance_schema.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "column/values.h"

/* ---------------------------------------------------------------- logical types */

static const struct {
    const char *name;
    enum ArrowType type;
    uint8_t width; /* 0: not of a fixed width */
} schema_plain[] = {
    { "int8", NANOARROW_TYPE_INT8, 1 },
    { "int16", NANOARROW_TYPE_INT16, 2 },
    { "int32", NANOARROW_TYPE_INT32, 4 },
    { "int64", NANOARROW_TYPE_INT64, 8 },
    { "uint8", NANOARROW_TYPE_UINT8, 1 },
    { "uint16", NANOARROW_TYPE_UINT16, 2 },
    { "uint32", NANOARROW_TYPE_UINT32, 4 },
    { "uint64", NANOARROW_TYPE_UINT64, 8 },
    { "halffloat", NANOARROW_TYPE_HALF_FLOAT, 2 },
    { "float", NANOARROW_TYPE_FLOAT, 4 },
    { "double", NANOARROW_TYPE_DOUBLE, 8 },
    { "date32:day", NANOARROW_TYPE_DATE32, 4 },
    { "date64:ms", NANOARROW_TYPE_DATE64, 8 },
    { "string", NANOARROW_TYPE_STRING, 0 },
    { "binary", NANOARROW_TYPE_BINARY, 0 },
    { "large_string", NANOARROW_TYPE_LARGE_STRING, 0 },
    { "large_binary", NANOARROW_TYPE_LARGE_BINARY, 0 },
};

static const struct {
    const char *name;
    enum ArrowType type;
    enum ArrowTimeUnit unit;
    uint8_t width;
} schema_times[] = {
    { "time32:s", NANOARROW_TYPE_TIME32, NANOARROW_TIME_UNIT_SECOND, 4 },
    { "time32:ms", NANOARROW_TYPE_TIME32, NANOARROW_TIME_UNIT_MILLI, 4 },
    { "time64:us", NANOARROW_TYPE_TIME64, NANOARROW_TIME_UNIT_MICRO, 8 },
    { "time64:ns", NANOARROW_TYPE_TIME64, NANOARROW_TIME_UNIT_NANO, 8 },
    { "duration:s", NANOARROW_TYPE_DURATION, NANOARROW_TIME_UNIT_SECOND, 8 },
    { "duration:ms", NANOARROW_TYPE_DURATION, NANOARROW_TIME_UNIT_MILLI, 8 },
    { "duration:us", NANOARROW_TYPE_DURATION, NANOARROW_TIME_UNIT_MICRO, 8 },
    { "duration:ns", NANOARROW_TYPE_DURATION, NANOARROW_TIME_UNIT_NANO, 8 },
};

static lb_status schema_unknown(lb_str logical, lb_error *err)
{
    char shown[128];

    lb_lance_shown(logical, shown, sizeof shown);
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the type '%s' does not occur in legacy Lance files", shown);
}

/* Cut `text` at a colon: what stands before it; the rest begins behind. False: no colon. */
static bool schema_cut(lb_str *text, lb_str *before)
{
    const char *colon = text->size == 0 ? NULL : memchr(text->at, ':', text->size);

    if (colon == NULL)
        return false;
    *before = (lb_str){ text->at, (size_t)(colon - text->at) };
    *text = (lb_str){ colon + 1, text->size - before->size - 1 };
    return true;
}

static bool schema_number(lb_str text, int64_t most, int64_t *out)
{
    bool negative = text.size > 1 && text.at[0] == '-';
    size_t i = negative;

    *out = 0;
    if (i == text.size || text.size > 12)
        return false;
    for (; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *out = *out * 10 + (text.at[i] - '0');
    }
    *out = negative ? -*out : *out;
    return *out <= most;
}

static bool schema_starts(lb_str text, const char *prefix, lb_str *rest)
{
    size_t n = strlen(prefix);

    if (text.size < n || memcmp(text.at, prefix, n) != 0)
        return false;
    *rest = (lb_str){ text.at + n, text.size - n };
    return true;
}

static lb_status schema_set(struct ArrowSchema *schema, enum ArrowType type, lb_error *err)
{
    return schema == NULL ? LB_OK : lb_fail_arrow(err, ArrowSchemaSetType(schema, type), NULL);
}

static lb_status schema_simple(lb_str logical, lb_lance_type *out, struct ArrowSchema *schema, bool *known,
                               lb_error *err)
{
    *known = true;
    for (size_t i = 0; i < LB_COUNT_OF(schema_plain); i++) {
        enum ArrowType type = schema_plain[i].type;
        if (!lb_str_is(logical, schema_plain[i].name))
            continue;
        *out = (lb_lance_type){ .kind = schema_plain[i].width == 0 ? LB_LANCE_VAR : LB_LANCE_FIXED,
                                .width = schema_plain[i].width,
                                .large = type == NANOARROW_TYPE_LARGE_STRING || type == NANOARROW_TYPE_LARGE_BINARY,
                                .text = type == NANOARROW_TYPE_STRING || type == NANOARROW_TYPE_LARGE_STRING };
        return schema_set(schema, type, err);
    }
    for (size_t i = 0; i < LB_COUNT_OF(schema_times); i++) {
        if (!lb_str_is(logical, schema_times[i].name))
            continue;
        *out = (lb_lance_type){ .kind = LB_LANCE_FIXED, .width = schema_times[i].width };
        return schema == NULL
                   ? LB_OK
                   : lb_fail_arrow(err,
                                   ArrowSchemaSetTypeDateTime(schema, schema_times[i].type, schema_times[i].unit, NULL),
                                   NULL);
    }
    *known = false;
    return LB_OK;
}

/* timestamp:UNIT:ZONE; the zone may hold colons, and `-` is none. C++ releases left it out. */
static lb_status schema_timestamp(lb_str logical, lb_str rest, lb_lance_type *out, struct ArrowSchema *schema,
                                  lb_error *err)
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    lb_str unit = rest, zone = rest;
    char text[256] = "";

    if (!schema_cut(&zone, &unit))
        zone = LB_STR("-");
    for (size_t i = 0; i < LB_COUNT_OF(units); i++) {
        if (!lb_str_is(unit, units[i]))
            continue;
        if (zone.size >= sizeof text || memchr(zone.at, '\0', zone.size) != NULL ||
            lb_utf8_valid_prefix((const uint8_t *)zone.at, zone.size) != zone.size)
            break;
        memcpy(text, zone.at, zone.size);
        *out = (lb_lance_type){ .kind = LB_LANCE_FIXED, .width = 8 };
        if (schema == NULL)
            return LB_OK;
        return lb_fail_arrow(err,
                             ArrowSchemaSetTypeDateTime(schema, NANOARROW_TYPE_TIMESTAMP, (enum ArrowTimeUnit)i,
                                                        strcmp(text, "-") == 0 ? NULL : text),
                             NULL);
    }
    return schema_unknown(logical, err);
}

static lb_status schema_decimal(lb_str logical, lb_str rest, lb_lance_type *out, struct ArrowSchema *schema,
                                lb_error *err)
{
    lb_str bits = rest, precision = rest;
    int64_t b, p, s;

    if (!schema_cut(&rest, &bits) || !schema_cut(&rest, &precision) || !schema_number(bits, 256, &b) ||
        !schema_number(precision, 76, &p) || !schema_number(rest, LB_SCALE_MAX, &s) || (b != 128 && b != 256) ||
        p < 1 || (b == 128 && p > 38) || s < -LB_SCALE_MAX)
        return schema_unknown(logical, err);
    *out = (lb_lance_type){ .kind = LB_LANCE_FIXED, .width = (uint64_t)b / 8 };
    if (schema == NULL)
        return LB_OK;
    return lb_fail_arrow(err,
                         ArrowSchemaSetTypeDecimal(schema,
                                                   b == 128 ? NANOARROW_TYPE_DECIMAL128 : NANOARROW_TYPE_DECIMAL256,
                                                   (int32_t)p, (int32_t)s),
                         NULL);
}

static lb_status schema_binary(lb_str logical, lb_str size, const char *extension, lb_lance_type *out,
                               struct ArrowSchema *schema, lb_error *err)
{
    int64_t n;

    if (!schema_number(size, INT32_MAX, &n) || n < 1)
        return schema_unknown(logical, err);
    *out = (lb_lance_type){ .kind = LB_LANCE_FIXED, .width = (uint64_t)n };
    if (schema == NULL)
        return LB_OK;
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetTypeFixedSize(schema, NANOARROW_TYPE_FIXED_SIZE_BINARY, (int32_t)n), NULL));
    return extension == NULL ? LB_OK : lb_schema_set_meta(schema, "ARROW:extension:name", lb_str_of(extension), err);
}

static lb_status schema_type(lb_str logical, unsigned depth, lb_lance_type *out, struct ArrowSchema *schema,
                             lb_error *err);

/* fixed_size_list:TYPE:N, where the type may hold colons: the size follows the last one. */
static lb_status schema_fixed_list(lb_str logical, lb_str rest, unsigned depth, lb_lance_type *out,
                                   struct ArrowSchema *schema, lb_error *err)
{
    const char *colon = rest.size == 0 ? NULL : memrchr(rest.at, ':', rest.size);
    struct ArrowSchema *item = NULL;
    int64_t n;

    if (colon == NULL || depth >= LB_TYPE_DEPTH ||
        !schema_number((lb_str){ colon + 1, rest.size - (size_t)(colon + 1 - rest.at) }, INT32_MAX, &n) || n < 1)
        return schema_unknown(logical, err);
    if (schema != NULL) {
        LB_TRY(
            lb_fail_arrow(err, ArrowSchemaSetTypeFixedSize(schema, NANOARROW_TYPE_FIXED_SIZE_LIST, (int32_t)n), NULL));
        item = schema->children[0];
        item->release(item);
        ArrowSchemaInit(item);
    }
    rest.size = (size_t)(colon - rest.at);
    if (lb_str_is(rest, "lance.bfloat16"))
        LB_TRY(schema_binary(logical, LB_STR("2"), "lance.bfloat16", out, item, err));
    else
        LB_TRY(schema_type(rest, depth + 1, out, item, err));
    if (out->kind != LB_LANCE_FIXED && out->kind != LB_LANCE_BITS)
        return schema_unknown(logical, err);
    if (out->width > LB_LANCE_ROW_BYTES_MAX / (uint64_t)n)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a fixed-size list of more than %llu bytes a row",
                       (unsigned long long)LB_LANCE_ROW_BYTES_MAX);
    out->width *= (uint64_t)n;
    return item == NULL ? LB_OK : lb_schema_set_name(item, LB_STR("item"), err);
}

/* dict:VALUE:KEY:ordered */
static lb_status schema_dictionary(lb_str logical, lb_str rest, lb_lance_type *out, struct ArrowSchema *schema,
                                   lb_error *err)
{
    lb_lance_type value, key;
    lb_str words[2];
    bool known;

    if (!schema_cut(&rest, &words[0]) || !schema_cut(&rest, &words[1]))
        return schema_unknown(logical, err);
    LB_TRY(schema_simple(words[1], &key, NULL, &known, err));
    if (!known || key.kind != LB_LANCE_FIXED || (words[1].at[0] != 'i' && words[1].at[0] != 'u'))
        return schema_unknown(logical, err);
    LB_TRY(schema_simple(words[0], &value, schema, &known, err));
    if (!known)
        return schema_unknown(logical, err);
    *out = (lb_lance_type){ .kind = LB_LANCE_DICTIONARY,
                            .width = key.width,
                            .is_signed = words[1].at[0] == 'i',
                            .value_kind = value.kind,
                            .value_large = value.large,
                            .value_text = value.text,
                            .value_width = value.width };
    return LB_OK;
}

static lb_status schema_type(lb_str logical, unsigned depth, lb_lance_type *out, struct ArrowSchema *schema,
                             lb_error *err)
{
    lb_str rest;
    bool known;

    LB_TRY(schema_simple(logical, out, schema, &known, err));
    if (known)
        return LB_OK;
    *out = (lb_lance_type){ .kind = LB_LANCE_NOTHING };
    if (lb_str_is(logical, "null"))
        return schema_set(schema, NANOARROW_TYPE_NA, err);
    if (lb_str_is(logical, "bool")) {
        *out = (lb_lance_type){ .kind = LB_LANCE_BITS, .width = 1 };
        return schema_set(schema, NANOARROW_TYPE_BOOL, err);
    }
    out->kind = LB_LANCE_STRUCT;
    if (lb_str_is(logical, "struct"))
        return LB_OK;
    out->kind = LB_LANCE_LIST;
    if (lb_str_is(logical, "list") || lb_str_is(logical, "list.struct"))
        return LB_OK;
    out->large = true;
    if (lb_str_is(logical, "large_list") || lb_str_is(logical, "large_list.struct"))
        return LB_OK;
    if (schema_starts(logical, "timestamp:", &rest))
        return schema_timestamp(logical, rest, out, schema, err);
    if (schema_starts(logical, "decimal:", &rest))
        return schema_decimal(logical, rest, out, schema, err);
    if (schema_starts(logical, "fixed_size_binary:", &rest))
        return schema_binary(logical, rest, NULL, out, schema, err);
    if (schema_starts(logical, "fixed_size_list:", &rest))
        return schema_fixed_list(logical, rest, depth, out, schema, err);
    if (schema_starts(logical, "dict:", &rest))
        return schema_dictionary(logical, rest, out, schema, err);
    return schema_unknown(logical, err);
}

lb_status lb_lance_type_of(lb_str logical, lb_lance_type *out, struct ArrowSchema *schema, lb_error *err)
{
    if (schema != NULL)
        ArrowSchemaInit(schema);
    lb_status status = schema_type(logical, 0, out, schema, err);
    if (status != LB_OK && schema != NULL)
        schema->release(schema);
    return status;
}

/* ---------------------------------------------------------------- the tree */

static int schema_order_ids(const void *a, const void *b)
{
    const lb_lance_node *x = *(lb_lance_node *const *)a, *y = *(lb_lance_node *const *)b;

    return (x->id > y->id) - (x->id < y->id);
}

static lb_status schema_bad(const lb_lance_node *n, const char *what, lb_error *err)
{
    char shown[128];

    lb_lance_shown(n->name, shown, sizeof shown);
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "column '%s' (field %d) %s", shown, n->id, what);
}

static lb_status schema_node(const lb_lance_field *field, lb_lance_node *out, lb_error *err)
{
    *out = (lb_lance_node){
        .field = field, .name = lb_lance_str(field->name), .id = field->id, .nullable = field->nullable
    };
    if (lb_utf8_valid_prefix((const uint8_t *)out->name.at, out->name.size) != out->name.size ||
        (out->name.size != 0 && memchr(out->name.at, '\0', out->name.size) != NULL))
        return schema_bad(out, "has a name that is no text", err);
    if (out->id < 0)
        return schema_bad(out, "has a number below zero", err);
    if (field->encoding == 4)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "field %d has the encoding RLE, which no release wrote",
                       out->id);
    return lb_lance_type_of(lb_lance_str(field->logical_type), &out->type, NULL, err);
}

static lb_lance_node *schema_find(lb_lance_node *const *by_id, size_t n, int32_t id)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_id[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && by_id[low]->id == id ? by_id[low] : NULL;
}

/* Parents stand before their children, so that no circle can come about. */
static lb_status schema_link(lb_lance_tree *tree, lb_lance_node *const *by_id, lb_error *err)
{
    for (size_t i = 0; i < tree->n_nodes; i++) {
        lb_lance_node *n = &tree->nodes[i];
        unsigned depth = 0;
        n->index = i;
        if (i > 0 && by_id[i]->id == by_id[i - 1]->id)
            return schema_bad(by_id[i], "has the number of another one", err);
        if (n->field->parent_id == -1) {
            tree->n_columns++;
            continue;
        }
        n->parent = schema_find(by_id, tree->n_nodes, n->field->parent_id);
        if (n->parent == NULL || n->parent >= n)
            return schema_bad(n, "has a parent that does not stand before it", err);
        if (n->parent->type.kind != LB_LANCE_LIST && n->parent->type.kind != LB_LANCE_STRUCT)
            return schema_bad(n, "has a parent that is neither list nor struct", err);
        n->parent->n_children++;
        for (const lb_lance_node *up = n->parent; up != NULL; up = up->parent)
            if (++depth >= LB_TYPE_DEPTH - 1)
                return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "types nest more than %d deep", LB_TYPE_DEPTH - 1);
    }
    return LB_OK;
}

/* Give every parent its children, in order. */
static lb_status schema_adopt(lb_lance_tree *tree, lb_arena *arena, lb_error *err)
{
    lb_lance_node **room = lb_arena_alloc(arena, tree->n_nodes + 1, sizeof *room);
    size_t columns = 0;

    if (room == NULL)
        return lb_arena_fail(arena, err);
    tree->columns = room;
    room += tree->n_columns;
    for (size_t i = 0; i < tree->n_nodes; i++) {
        lb_lance_node *n = &tree->nodes[i];
        n->children = room;
        room += n->n_children;
        if (n->type.kind == LB_LANCE_LIST && n->n_children != 1)
            return schema_bad(n, "is a list that does not have exactly one child", err);
        n->n_children = 0;
        if (n->parent != NULL)
            n->parent->children[n->parent->n_children++] = n;
        else
            tree->columns[columns++] = n;
        tree->min_id = LB_MIN(tree->min_id, n->id);
        tree->max_id = LB_MAX(tree->max_id, n->id);
    }
    return LB_OK;
}

lb_status lb_lance_tree_make(lb_lance_field *const *fields, size_t n, lb_arena *arena, lb_lance_tree *out,
                             lb_error *err)
{
    lb_lance_node **by_id = calloc(n + 1, sizeof *by_id);
    lb_status status = LB_OK;

    *out = (lb_lance_tree){ .n_nodes = n, .min_id = n == 0 ? 0 : INT32_MAX, .max_id = -1 };
    if (by_id == NULL)
        return lb_fail_nomem(err);
    out->nodes = lb_arena_alloc(arena, n + 1, sizeof *out->nodes);
    if (status == LB_OK && out->nodes == NULL)
        status = lb_arena_fail(arena, err);
    for (size_t i = 0; status == LB_OK && out->nodes != NULL && i < n; i++) {
        status = schema_node(fields[i], &out->nodes[i], err);
        by_id[i] = &out->nodes[i];
    }
    if (status == LB_OK && out->nodes != NULL) {
        qsort(by_id, n, sizeof *by_id, schema_order_ids);
        status = schema_link(out, by_id, err);
    }
    if (status == LB_OK && out->nodes != NULL)
        status = schema_adopt(out, arena, err);
    free(by_id);
    return status;
}

const lb_lance_node *lb_lance_tree_find(const lb_lance_tree *tree, int32_t id)
{
    for (size_t i = 0; i < tree->n_nodes; i++)
        if (tree->nodes[i].id == id)
            return &tree->nodes[i];
    return NULL;
}

/* ---------------------------------------------------------------- Arrow schemas */

static lb_status schema_children(const lb_lance_node *node, struct ArrowSchema *out, lb_error *err)
{
    if (node->type.kind == LB_LANCE_STRUCT)
        LB_TRY(lb_fail_arrow(err, ArrowSchemaSetTypeStruct(out, (int64_t)node->n_children), NULL));
    else
        LB_TRY(lb_fail_arrow(
            err, ArrowSchemaSetType(out, node->type.large ? NANOARROW_TYPE_LARGE_LIST : NANOARROW_TYPE_LIST), NULL));
    for (size_t i = 0; i < node->n_children; i++) {
        struct ArrowSchema *child = out->children[i];
        if (child->release != NULL)
            child->release(child);
        LB_TRY(lb_lance_node_schema(node->children[i], child, err));
    }
    return LB_OK;
}

/* Metadata values that are text reach Arrow as they are: Arrow's own may hold any bytes. */
static lb_status schema_metadata(const lb_lance_node *node, struct ArrowSchema *out, lb_error *err)
{
    const lb_lance_field *f = node->field;
    char key[256];
    lb_str value;

    for (size_t i = 0; i < f->n_metadata; i++) {
        lb_str name = lb_lance_str(f->metadata[i]->key);
        if (name.size == 0 || name.size >= sizeof key || memchr(name.at, '\0', name.size) != NULL)
            continue;
        memcpy(key, name.at, name.size);
        key[name.size] = '\0';
        LB_TRY(lb_schema_set_meta(out, key, lb_lance_str(f->metadata[i]->value), err));
    }
    if (f->extension_name.len != 0 && !lb_schema_get_meta(out, "ARROW:extension:name", &value))
        return lb_schema_set_meta(out, "ARROW:extension:name", lb_lance_str(f->extension_name), err);
    return LB_OK;
}

static lb_status schema_field(const lb_lance_node *node, struct ArrowSchema *out, lb_error *err)
{
    if (node->type.kind == LB_LANCE_STRUCT || node->type.kind == LB_LANCE_LIST)
        LB_TRY(schema_children(node, out, err));
    LB_TRY(lb_schema_set_name(out, node->name, err));
    out->flags = node->nullable ? ARROW_FLAG_NULLABLE : 0;
    return schema_metadata(node, out, err);
}

lb_status lb_lance_node_schema(const lb_lance_node *node, struct ArrowSchema *out, lb_error *err)
{
    lb_lance_type type;

    LB_TRY(lb_lance_type_of(lb_lance_str(node->field->logical_type), &type, out, err));
    lb_status status = schema_field(node, out, err);
    if (status != LB_OK)
        out->release(out);
    return status;
}
