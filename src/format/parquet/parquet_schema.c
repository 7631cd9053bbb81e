#include "format/parquet/parquet_schema.h"

#include <stdio.h>

#include "base/utf8.h"

/* Arrow fields within each other: what the printers and the map take (LB_TYPE_DEPTH) less a margin. */
#define SCHEMA_DEPTH 60

typedef struct schema_build {
    const lb_parquet_element *elements;
    size_t n, at; /* the next one */
    lb_arena *arena;
    lb_parquet_schema *out;
    lb_error *err;
} schema_build;

/* Where a field stands. */
typedef struct schema_place {
    uint16_t def, slot_def, rep;
    unsigned depth;
    const char *path; /* dotted, of what is around it; "" at the top */
} schema_place;

static lb_status schema_field(schema_build *b, const schema_place *place, struct ArrowSchema *arrow,
                              lb_parquet_node **out);
static lb_status schema_value(schema_build *b, const lb_parquet_element *e, const schema_place *place, bool nullable,
                              struct ArrowSchema *arrow, lb_parquet_node **out);

/* ---------------------------------------------------------------- names */

/* A name as Arrow can hold it: UTF-8 without NUL; what is neither becomes U+FFFD, and the metadata keeps the bytes. */
static lb_status schema_name(const schema_build *b, const lb_parquet_element *e, struct ArrowSchema *arrow)
{
    const uint8_t *p = (const uint8_t *)e->name.at;
    size_t good = lb_utf8_valid_prefix(p, e->name.size), used = 0;

    if (good == e->name.size && (e->name.size == 0 || memchr(p, '\0', e->name.size) == NULL))
        return lb_schema_set_name(arrow, e->name, b->err);
    char *shown = lb_arena_alloc(b->arena, e->name.size, 3);
    if (shown == NULL)
        return lb_arena_fail(b->arena, b->err);
    for (size_t i = 0; i < e->name.size;) {
        uint32_t c;
        size_t n = lb_utf8_decode(p + i, e->name.size - i, &c);
        used += lb_utf8_encode(c == 0 ? 0xFFFD : c, (uint8_t *)shown + used);
        i += n;
    }
    LB_TRY(lb_schema_set_name(arrow, (lb_str){ shown, used }, b->err));
    return lb_schema_set_meta(arrow, LB_META_ORIGINAL_NAME, e->name, b->err);
}

static lb_status schema_path(const schema_build *b, const schema_place *place, lb_str name, const char **out)
{
    size_t above = strlen(place->path), dot = above != 0 ? 1 : 0;
    char *path = lb_arena_alloc(b->arena, above + dot + name.size + 1, 1);

    if (path == NULL)
        return lb_arena_fail(b->arena, b->err);
    memcpy(path, place->path, above);
    if (dot != 0)
        path[above] = '.';
    if (name.size != 0)
        memcpy(path + above + dot, name.at, name.size);
    *out = path;
    return LB_OK;
}

/* ---------------------------------------------------------------- types of leaves */

/* Metadata that says what the storage was annotated as. */
static lb_status schema_annotate(const schema_build *b, const lb_parquet_element *e, struct ArrowSchema *arrow)
{
    static const char *const algorithms[] = { "SPHERICAL", "VINCENTY", "THOMAS", "ANDOYER", "KARNEY" };
    char text[256];
    size_t crs = LB_MIN(e->text.size, (size_t)160);
    const char *edges = e->a >= 0 && (size_t)e->a < LB_COUNT_OF(algorithms) ? algorithms[e->a] : "?";

    switch (e->note) {
    case LB_PARQUET_NOTE_ENUM:
        (void)snprintf(text, sizeof text, "ENUM");
        break;
    case LB_PARQUET_NOTE_JSON:
        (void)snprintf(text, sizeof text, "JSON");
        break;
    case LB_PARQUET_NOTE_BSON:
        (void)snprintf(text, sizeof text, "BSON");
        break;
    case LB_PARQUET_NOTE_DECIMAL:
        (void)snprintf(text, sizeof text, "DECIMAL(%d,%d)", e->a, e->b);
        break;
    case LB_PARQUET_NOTE_VARIANT:
        (void)snprintf(text, sizeof text, "VARIANT(%d)", LB_MAX(e->a, 1));
        break;
    case LB_PARQUET_NOTE_GEOMETRY:
        (void)snprintf(text, sizeof text, "GEOMETRY(%.*s)", (int)(crs == 0 ? 9 : crs),
                       crs == 0 ? "OGC:CRS84" : e->text.at);
        break;
    case LB_PARQUET_NOTE_GEOGRAPHY:
        (void)snprintf(text, sizeof text, "GEOGRAPHY(%.*s,%s)", (int)(crs == 0 ? 9 : crs),
                       crs == 0 ? "OGC:CRS84" : e->text.at, edges);
        break;
    default:
        return LB_OK;
    }
    size_t size = lb_utf8_valid_prefix((const uint8_t *)text, strlen(text));
    return lb_schema_set_meta(arrow, LB_META_PARQUET_TYPE, (lb_str){ text, size }, b->err);
}

static int schema_storage(const lb_parquet_element *e, struct ArrowSchema *arrow)
{
    static const enum ArrowType types[LB_PARQUET_PHYSICAL_COUNT] = {
        [LB_PARQUET_BOOLEAN] = NANOARROW_TYPE_BOOL,  [LB_PARQUET_INT32] = NANOARROW_TYPE_INT32,
        [LB_PARQUET_INT64] = NANOARROW_TYPE_INT64,   [LB_PARQUET_FLOAT] = NANOARROW_TYPE_FLOAT,
        [LB_PARQUET_DOUBLE] = NANOARROW_TYPE_DOUBLE, [LB_PARQUET_BYTE_ARRAY] = NANOARROW_TYPE_BINARY,
    };

    if (e->physical == LB_PARQUET_INT96)
        return ArrowSchemaSetTypeDateTime(arrow, NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_NANO, NULL);
    if (e->physical == LB_PARQUET_FIXED)
        return ArrowSchemaSetTypeFixedSize(arrow, NANOARROW_TYPE_FIXED_SIZE_BINARY, (int32_t)e->type_length);
    return ArrowSchemaSetType(arrow, types[e->physical]);
}

static bool schema_is_decimal(const lb_parquet_element *e)
{
    return e->note == LB_PARQUET_NOTE_DECIMAL && e->a >= 1 && e->a <= 76 && e->b >= 0 && e->b <= e->a &&
           (e->physical == LB_PARQUET_INT32 || e->physical == LB_PARQUET_INT64 || e->physical == LB_PARQUET_FIXED ||
            e->physical == LB_PARQUET_BYTE_ARRAY);
}

static enum ArrowType schema_integer(const lb_parquet_element *e)
{
    static const enum ArrowType types[2][4] = {
        { NANOARROW_TYPE_UINT8, NANOARROW_TYPE_UINT16, NANOARROW_TYPE_UINT32, NANOARROW_TYPE_UINT64 },
        { NANOARROW_TYPE_INT8, NANOARROW_TYPE_INT16, NANOARROW_TYPE_INT32, NANOARROW_TYPE_INT64 },
    };
    const bool is_signed = e->b != 0;

    if (e->physical == LB_PARQUET_INT64)
        return e->a == 64 ? types[is_signed][3] : NANOARROW_TYPE_UNINITIALIZED;
    if (e->physical != LB_PARQUET_INT32)
        return NANOARROW_TYPE_UNINITIALIZED;
    return e->a == 8    ? types[is_signed][0]
           : e->a == 16 ? types[is_signed][1]
           : e->a == 32 ? types[is_signed][2]
                        : NANOARROW_TYPE_UNINITIALIZED;
}

/* The type of an annotation that needs no more than its name, on the physical type it belongs to. */
static enum ArrowType schema_simple(const lb_parquet_element *e)
{
    const bool bytes = e->physical == LB_PARQUET_BYTE_ARRAY;

    switch (e->note) {
    case LB_PARQUET_NOTE_STRING:
    case LB_PARQUET_NOTE_ENUM:
    case LB_PARQUET_NOTE_JSON:
        return bytes ? NANOARROW_TYPE_STRING : NANOARROW_TYPE_UNINITIALIZED;
    case LB_PARQUET_NOTE_DATE:
        return e->physical == LB_PARQUET_INT32 ? NANOARROW_TYPE_DATE32 : NANOARROW_TYPE_UNINITIALIZED;
    case LB_PARQUET_NOTE_FLOAT16:
        return e->physical == LB_PARQUET_FIXED && e->type_length == 2 ? NANOARROW_TYPE_HALF_FLOAT
                                                                      : NANOARROW_TYPE_UNINITIALIZED;
    case LB_PARQUET_NOTE_INTERVAL:
        return e->physical == LB_PARQUET_FIXED && e->type_length == 12 ? NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO
                                                                       : NANOARROW_TYPE_UNINITIALIZED;
    case LB_PARQUET_NOTE_INTEGER:
        return schema_integer(e);
    case LB_PARQUET_NOTE_UNKNOWN:
        return NANOARROW_TYPE_NA;
    default:
        return NANOARROW_TYPE_UNINITIALIZED;
    }
}

/* Time of day and timestamps; false: the physical type is not the annotation's. */
static bool schema_time(const lb_parquet_element *e, struct ArrowSchema *arrow, int *code)
{
    enum ArrowTimeUnit unit = (enum ArrowTimeUnit)e->a;
    const bool milli = unit == NANOARROW_TIME_UNIT_MILLI, day = e->note == LB_PARQUET_NOTE_TIME;

    if (!day && e->note != LB_PARQUET_NOTE_TIMESTAMP)
        return false;
    if (e->physical != (day && milli ? LB_PARQUET_INT32 : LB_PARQUET_INT64))
        return false;
    enum ArrowType type = !day ? NANOARROW_TYPE_TIMESTAMP : milli ? NANOARROW_TYPE_TIME32 : NANOARROW_TYPE_TIME64;
    *code = ArrowSchemaSetTypeDateTime(arrow, type, unit, !day && e->b != 0 ? "UTC" : NULL);
    return true;
}

/* An annotation that its physical type cannot have is passed over, as if it were not there. */
static lb_status schema_leaf_type(const schema_build *b, const lb_parquet_element *e, struct ArrowSchema *arrow)
{
    enum ArrowType simple = schema_simple(e);
    int code;

    if (simple != NANOARROW_TYPE_UNINITIALIZED)
        code = ArrowSchemaSetType(arrow, simple);
    else if (schema_is_decimal(e))
        code = ArrowSchemaSetTypeDecimal(arrow, e->a <= 38 ? NANOARROW_TYPE_DECIMAL128 : NANOARROW_TYPE_DECIMAL256,
                                         e->a, e->b);
    else if (!schema_time(e, arrow, &code))
        code = schema_storage(e, arrow);
    LB_TRY(lb_fail_arrow(b->err, code, NULL));
    if (simple == NANOARROW_TYPE_NA)
        return lb_schema_set_meta(arrow, LB_META_DECLARED, LB_STR("true"), b->err);
    if (e->note == LB_PARQUET_NOTE_UUID && e->physical == LB_PARQUET_FIXED && e->type_length == 16)
        return lb_schema_set_meta(arrow, "ARROW:extension:name", LB_STR("arrow.uuid"), b->err);
    return schema_is_decimal(e) ? LB_OK : schema_annotate(b, e, arrow);
}

/* ---------------------------------------------------------------- nodes */

/* The next element; NULL: there is none. */
static const lb_parquet_element *schema_next(schema_build *b)
{
    return b->at < b->n ? &b->elements[b->at++] : NULL;
}

static lb_status schema_short(const schema_build *b)
{
    return lb_fail(b->err, LB_CORRUPT, LB_NOWHERE, "the schema has groups with more fields than it lists");
}

static lb_status schema_node(schema_build *b, lb_parquet_shape shape, const schema_place *place, bool nullable,
                             const struct ArrowSchema *arrow, size_t n_children, lb_parquet_node **out)
{
    lb_parquet_node *node = lb_arena_alloc(b->arena, 1, sizeof *node);
    lb_parquet_node **children = lb_arena_alloc(b->arena, n_children + 1, sizeof(lb_parquet_node *));

    if (node == NULL || children == NULL)
        return lb_arena_fail(b->arena, b->err);
    *node = (lb_parquet_node){ .shape = shape,
                               .nullable = nullable,
                               .def = place->def,
                               .slot_def = place->slot_def,
                               .rep = place->rep,
                               .schema = arrow,
                               .n_children = n_children,
                               .children = children,
                               .first_leaf = b->out->n_leaves };
    *out = node;
    return LB_OK;
}

/* The place of the items of a list or map that stands at `place`. */
static schema_place schema_inside(const schema_place *place)
{
    uint16_t def = (uint16_t)(place->def + 1);

    return (schema_place){ def, def, (uint16_t)(place->rep + 1), place->depth + 1, place->path };
}

static lb_status schema_leaf(schema_build *b, const lb_parquet_element *e, const schema_place *place, bool nullable,
                             struct ArrowSchema *arrow, lb_parquet_node **out)
{
    const char *path = place->path;
    lb_parquet_leaf *leaf = &b->out->leaves[b->out->n_leaves];

    if (e->physical == LB_PARQUET_FIXED && (e->type_length == 0 || e->type_length > INT32_MAX))
        return lb_fail(b->err, LB_CORRUPT, LB_NOWHERE, "column '%.200s' has values of a fixed length without a length",
                       path);
    LB_TRY(schema_leaf_type(b, e, arrow));
    LB_TRY(schema_node(b, LB_PARQUET_LEAF, place, nullable, arrow, 0, out));
    *leaf = (lb_parquet_leaf){ .physical = (lb_parquet_physical)e->physical,
                               .type_length = e->type_length,
                               .max_def = place->def,
                               .max_rep = place->rep,
                               .path = lb_str_of(path) };
    (*out)->leaf = leaf;
    b->out->n_leaves++;
    return LB_OK;
}

static lb_status schema_struct(schema_build *b, const lb_parquet_element *e, const schema_place *place, bool nullable,
                               struct ArrowSchema *arrow, lb_parquet_node **out)
{
    schema_place inside = *place;

    inside.depth++;
    if (e->n_children == 0)
        return lb_fail(b->err, LB_UNSUPPORTED, LB_NOWHERE, "group '%.200s' has no fields", place->path);
    if (e->n_children > b->n - b->at)
        return lb_fail(b->err, LB_CORRUPT, LB_NOWHERE, "group '%.200s' has more fields than the schema lists",
                       place->path);
    LB_TRY(lb_fail_arrow(b->err, ArrowSchemaSetTypeStruct(arrow, e->n_children), NULL));
    LB_TRY(schema_annotate(b, e, arrow));
    LB_TRY(schema_node(b, LB_PARQUET_STRUCT, place, nullable, arrow, e->n_children, out));
    for (uint32_t i = 0; i < e->n_children; i++)
        LB_TRY(schema_field(b, &inside, arrow->children[i], &(*out)->children[i]));
    return LB_OK;
}

/* Path of the element that comes next below `place`. */
static lb_status schema_step(const schema_build *b, const lb_parquet_element *e, schema_place *place)
{
    return schema_path(b, place, e->name, &place->path);
}

/* Is the repeated group of a list the item itself, rather than a layer around it? (LogicalTypes.md,
 * "Backward-compatibility rules") */
static bool schema_is_item(const lb_parquet_element *list, const lb_parquet_element *repeated,
                           const lb_parquet_element *inner)
{
    static const char tuple[] = "_tuple";
    const size_t n = list->name.size;

    if (repeated->physical != LB_PARQUET_GROUP || repeated->n_children != 1 || inner->repetition == LB_PQT_REPEATED)
        return true;
    if (lb_str_is(repeated->name, "array"))
        return true;
    return repeated->name.size == n + sizeof tuple - 1 &&
           (n == 0 || memcmp(repeated->name.at, list->name.at, n) == 0) &&
           memcmp(repeated->name.at + n, tuple, sizeof tuple - 1) == 0;
}

/* Does a group have the form of a list or map: one field, which repeats? */
static bool schema_repeats(const schema_build *b, const lb_parquet_element *e)
{
    return e->n_children == 1 && b->at < b->n && b->elements[b->at].repetition == LB_PQT_REPEATED;
}

static lb_status schema_list_of(schema_build *b, const lb_parquet_element *item, const schema_place *place,
                                bool nullable, struct ArrowSchema *arrow, lb_parquet_node **out)
{
    schema_place inside = schema_inside(place);

    LB_TRY(lb_fail_arrow(b->err, ArrowSchemaSetType(arrow, NANOARROW_TYPE_LIST), NULL));
    LB_TRY(schema_node(b, LB_PARQUET_LIST, place, nullable, arrow, 1, out));
    (*out)->item_def = inside.def;
    if (item == NULL)
        return schema_field(b, &inside, arrow->children[0], &(*out)->children[0]);
    return schema_value(b, item, &inside, false, arrow->children[0], &(*out)->children[0]);
}

static lb_status schema_list(schema_build *b, const lb_parquet_element *e, const schema_place *place, bool nullable,
                             struct ArrowSchema *arrow, lb_parquet_node **out)
{
    const lb_parquet_element *repeated = schema_next(b);
    schema_place inside = *place;

    if (repeated == NULL)
        return schema_short(b);
    LB_TRY(schema_step(b, repeated, &inside));
    /* A layer is stepped over; a group of one field has one to come, or the schema ends early, which is found there. */
    const lb_parquet_element *inner = b->at < b->n ? &b->elements[b->at] : repeated;
    const bool is_item = schema_is_item(e, repeated, inner);
    LB_TRY(schema_list_of(b, is_item ? repeated : NULL, &inside, nullable, arrow, out));
    return lb_schema_set_name(arrow->children[0], LB_STR("item"), b->err);
}

static lb_status schema_map(schema_build *b, const schema_place *place, bool nullable, struct ArrowSchema *arrow,
                            lb_parquet_node **out)
{
    const lb_parquet_element *repeated = schema_next(b);
    lb_parquet_node *entries;
    schema_place inside = schema_inside(place);

    if (repeated == NULL)
        return schema_short(b);
    LB_TRY(schema_step(b, repeated, &inside));
    LB_TRY(lb_fail_arrow(b->err, ArrowSchemaSetType(arrow, NANOARROW_TYPE_MAP), NULL));
    LB_TRY(schema_node(b, LB_PARQUET_MAP, place, nullable, arrow, 1, out));
    (*out)->item_def = inside.def;
    struct ArrowSchema *pair = arrow->children[0];
    LB_TRY(schema_node(b, LB_PARQUET_STRUCT, &inside, false, pair, 2, &entries));
    (*out)->children[0] = entries;
    inside.depth++;
    for (int i = 0; i < 2; i++) {
        LB_TRY(schema_field(b, &inside, pair->children[i], &entries->children[i]));
        LB_TRY(lb_schema_set_name(pair->children[i], i == 0 ? LB_STR("key") : LB_STR("value"), b->err));
    }
    /* Arrow has no null keys; writers that call them optional write none. */
    pair->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    entries->n_leaves = b->out->n_leaves - entries->first_leaf;
    return LB_OK;
}

static bool schema_is_map(const schema_build *b, const lb_parquet_element *e)
{
    return e->note == LB_PARQUET_NOTE_MAP && schema_repeats(b, e) && b->elements[b->at].n_children == 2;
}

/* What an element is but for its repetition, which `place` and `nullable` say. */
static lb_status schema_value(schema_build *b, const lb_parquet_element *e, const schema_place *place, bool nullable,
                              struct ArrowSchema *arrow, lb_parquet_node **out)
{
    lb_status status;

    if (place->depth > SCHEMA_DEPTH)
        return lb_fail(b->err, LB_UNSUPPORTED, LB_NOWHERE, "the schema is nested more than %d deep", SCHEMA_DEPTH);
    if (e->physical != LB_PARQUET_GROUP)
        status = schema_leaf(b, e, place, nullable, arrow, out);
    else if (e->note == LB_PARQUET_NOTE_LIST && schema_repeats(b, e))
        status = schema_list(b, e, place, nullable, arrow, out);
    else if (schema_is_map(b, e))
        status = schema_map(b, place, nullable, arrow, out);
    else
        status = schema_struct(b, e, place, nullable, arrow, out);
    if (status != LB_OK)
        return status;
    (*out)->n_leaves = b->out->n_leaves - (*out)->first_leaf;
    if (!nullable)
        arrow->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    return LB_OK;
}

/* A field id, where there is one, under the key that other readers give it. */
static lb_status schema_field_id(const schema_build *b, const lb_parquet_element *e, struct ArrowSchema *arrow)
{
    char text[16];

    if (e->has_field_id == 0)
        return LB_OK;
    (void)snprintf(text, sizeof text, "%d", e->field_id);
    return lb_schema_set_meta(arrow, "PARQUET:field_id", lb_str_of(text), b->err);
}

/* The next element as a field of a group. */
static lb_status schema_field(schema_build *b, const schema_place *place, struct ArrowSchema *arrow,
                              lb_parquet_node **out)
{
    const lb_parquet_element *e = schema_next(b);
    schema_place at = *place;

    if (e == NULL)
        return schema_short(b);
    LB_TRY(schema_step(b, e, &at));
    if (e->repetition == LB_PQT_REPEATED) {
        if (at.depth > SCHEMA_DEPTH)
            return lb_fail(b->err, LB_UNSUPPORTED, LB_NOWHERE, "the schema is nested more than %d deep", SCHEMA_DEPTH);
        LB_TRY(schema_list_of(b, e, &at, false, arrow, out));
        LB_TRY(lb_schema_set_name(arrow->children[0], LB_STR("item"), b->err));
        (*out)->n_leaves = b->out->n_leaves - (*out)->first_leaf;
        arrow->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    } else {
        at.def = (uint16_t)(at.def + (e->repetition == LB_PQT_OPTIONAL));
        LB_TRY(schema_value(b, e, &at, e->repetition == LB_PQT_OPTIONAL, arrow, out));
    }
    LB_TRY(schema_field_id(b, e, arrow));
    return schema_name(b, e, arrow);
}

/* ---------------------------------------------------------------- all of it */

static lb_status schema_columns(schema_build *b)
{
    const schema_place top = { 0, 0, 0, 1, "" };
    const lb_parquet_element *root = schema_next(b);
    lb_parquet_schema *out = b->out;

    if (root == NULL)
        return schema_short(b);
    if (root->physical != LB_PARQUET_GROUP)
        return lb_fail(b->err, LB_CORRUPT, LB_NOWHERE, "the schema does not begin with a group");
    if (root->n_children > b->n - b->at)
        return lb_fail(b->err, LB_CORRUPT, LB_NOWHERE, "the schema has fewer elements than its root has fields");
    out->n_columns = root->n_children;
    out->columns = lb_arena_alloc(b->arena, out->n_columns + 1, sizeof(lb_parquet_node *));
    out->leaves = lb_arena_alloc(b->arena, b->n, sizeof *out->leaves);
    if (out->columns == NULL || out->leaves == NULL)
        return lb_arena_fail(b->arena, b->err);
    LB_TRY(lb_schema_struct(&out->arrow, (int64_t)out->n_columns, b->err));
    for (size_t i = 0; i < out->n_columns; i++)
        LB_TRY(schema_field(b, &top, out->arrow.children[i], &out->columns[i]));
    if (b->at != b->n)
        return lb_fail(b->err, LB_CORRUPT, LB_NOWHERE, "the schema lists %zu elements more than its groups have",
                       b->n - b->at);
    return LB_OK;
}

lb_status lb_parquet_schema_new(const lb_parquet_element *elements, size_t n, lb_arena *arena, lb_parquet_schema *out,
                                lb_error *err)
{
    schema_build b = { .elements = elements, .n = n, .arena = arena, .out = out, .err = err };

    *out = (lb_parquet_schema){ .n_columns = 0 };
    lb_status status = schema_columns(&b);
    if (status != LB_OK)
        lb_parquet_schema_free(out);
    return status;
}

void lb_parquet_schema_free(lb_parquet_schema *schema)
{
    if (schema->arrow.release != NULL)
        ArrowSchemaRelease(&schema->arrow);
    schema->arrow.release = NULL;
}
