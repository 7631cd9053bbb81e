/* The schema of an Arrow file: from the flatbuffer to the types that are handed out, and to a tree of nodes that says which buffers
 * each field has. */
#include <stdlib.h>

#include "base/utf8.h"
#include "column/values.h"
#include "format/arrow/arrow.h"

typedef struct schema_parse {
    lb_flat *f;
    lb_arena *arena;
    lb_arrow_schema *out;
    lb_buf dictionaries; /* lb_arrow_dictionary */
    lb_buf text;         /* the format of a type */
    uint64_t left;       /* work still allowed: tables may be referred to many times */
    lb_error *err;
} schema_parse;

static lb_status schema_damaged(const schema_parse *p, const char *what)
{
    return lb_fail(p->err, LB_CORRUPT, LB_NOWHERE, "the Arrow schema is damaged: %s", what);
}

static lb_status schema_pay(schema_parse *p, uint64_t work)
{
    if (work > p->left)
        return schema_damaged(p, "its parts refer to each other too often");
    p->left -= work;
    return LB_OK;
}

/* ---------------------------------------------------------------- types */

/* A type as the C interface spells it, and what is known of its buffers. */
typedef struct schema_type {
    lb_arrow_node *node;
    uint64_t table; /* of the type; 0: it has none */
    int64_t flags;
    int64_t least_children, most_children;
} schema_type;

static lb_status type_plain(schema_parse *p, schema_type *t, lb_arrow_layout layout, const char *format)
{
    t->node->layout = layout;
    return lb_buf_append_str(&p->text, format, p->err);
}

static lb_status type_fixed(schema_parse *p, schema_type *t, unsigned width, unsigned swap, const char *format)
{
    t->node->width = width;
    t->node->swap = (uint8_t)swap;
    return type_plain(p, t, LB_ARROW_FIXED, format);
}

static uint64_t type_number(const schema_parse *p, const schema_type *t, unsigned id, unsigned width, uint64_t unset)
{
    return t->table == 0 ? unset : lb_flat_scalar_or(p->f, t->table, id, width, unset);
}

static lb_status type_int(schema_parse *p, schema_type *t)
{
    uint64_t bits = type_number(p, t, 0, 4, 0);
    bool is_signed = type_number(p, t, 1, 1, 0) != 0;
    unsigned place = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    const char format[2] = { (is_signed ? "csil" : "CSIL")[place], '\0' };

    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
        return schema_damaged(p, "an integer of an unknown width");
    t->node->is_signed = is_signed;
    return type_fixed(p, t, (unsigned)bits / 8, bits == 8 ? 0 : (unsigned)bits / 8, format);
}

static lb_status type_float(schema_parse *p, schema_type *t)
{
    static const char *const formats[] = { "e", "f", "g" };
    uint64_t precision = type_number(p, t, 0, 2, 0);

    if (precision > 2)
        return schema_damaged(p, "a float of an unknown width");
    return type_fixed(p, t, 2u << precision, 2u << precision, formats[precision]);
}

static lb_status type_decimal(schema_parse *p, schema_type *t)
{
    int32_t precision = (int32_t)type_number(p, t, 0, 4, 0), scale = (int32_t)type_number(p, t, 1, 4, 0);
    uint64_t bits = type_number(p, t, 2, 4, 128);

    if (bits != 32 && bits != 64 && bits != 128 && bits != 256)
        return schema_damaged(p, "a decimal of an unknown width");
    /* Digits of 2^31, 2^63, 2^127 and 2^255, rounded down. */
    if (precision < 1 || precision > (bits == 32 ? 9 : bits == 64 ? 18 : bits == 128 ? 38 : 76))
        return schema_damaged(p, "a decimal of an impossible precision");
    LB_TRY(type_fixed(p, t, (unsigned)bits / 8, (unsigned)bits / 8, ""));
    if (bits == 128)
        return lb_buf_printf(&p->text, p->err, "d:%d,%d", precision, scale);
    return lb_buf_printf(&p->text, p->err, "d:%d,%d,%u", precision, scale, (unsigned)bits);
}

static lb_status type_date(schema_parse *p, schema_type *t)
{
    uint64_t unit = type_number(p, t, 0, 2, 1);

    if (unit > 1)
        return schema_damaged(p, "a date of an unknown unit");
    return unit == 0 ? type_fixed(p, t, 4, 4, "tdD") : type_fixed(p, t, 8, 8, "tdm");
}

static lb_status type_time(schema_parse *p, schema_type *t)
{
    static const char *const formats[] = { "tts", "ttm", "ttu", "ttn" };
    uint64_t unit = type_number(p, t, 0, 2, 1), bits = type_number(p, t, 1, 4, 32);

    if (unit > 3 || bits != (unit < 2 ? 32 : 64))
        return schema_damaged(p, "a time of day of an unknown unit");
    return type_fixed(p, t, (unsigned)bits / 8, (unsigned)bits / 8, formats[unit]);
}

static lb_status type_timestamp(schema_parse *p, schema_type *t)
{
    static const char *const formats[] = { "tss:", "tsm:", "tsu:", "tsn:" };
    uint64_t unit = type_number(p, t, 0, 2, 0);
    lb_str zone = t->table == 0 ? LB_STR("") : lb_flat_string(p->f, t->table, 1);

    if (unit > 3)
        return schema_damaged(p, "a timestamp of an unknown unit");
    if (p->f->bad || lb_utf8_valid_prefix((const uint8_t *)zone.at, zone.size) != zone.size ||
        (zone.size != 0 && memchr(zone.at, 0, zone.size) != NULL))
        return schema_damaged(p, "a time zone that is no text");
    LB_TRY(schema_pay(p, zone.size));
    LB_TRY(type_fixed(p, t, 8, 8, formats[unit]));
    return lb_buf_append(&p->text, zone.at, zone.size, p->err);
}

static lb_status type_duration(schema_parse *p, schema_type *t)
{
    static const char *const formats[] = { "tDs", "tDm", "tDu", "tDn" };
    uint64_t unit = type_number(p, t, 0, 2, 1);

    return unit > 3 ? schema_damaged(p, "a duration of an unknown unit") : type_fixed(p, t, 8, 8, formats[unit]);
}

static lb_status type_interval(schema_parse *p, schema_type *t)
{
    switch (type_number(p, t, 0, 2, 0)) {
    case 0:
        return type_fixed(p, t, 4, 4, "tiM");
    case 1:
        return type_fixed(p, t, 8, 4, "tiD");
    case 2:
        return type_fixed(p, t, 16, LB_ARROW_SWAP_MONTH_DAY_NANO, "tin");
    default:
        return schema_damaged(p, "an interval of an unknown unit");
    }
}

static lb_status type_union_id(schema_parse *p, schema_type *t, uint64_t i, int32_t id)
{
    if (id < 0 || id > 127 || t->node->child_of_id[id] >= 0)
        return schema_damaged(p, "a union whose type ids are no numbers of their own from 0 to 127");
    t->node->child_of_id[id] = (int16_t)i;
    return lb_buf_printf(&p->text, p->err, "%s%d", i == 0 ? "" : ",", id);
}

static lb_status type_union(schema_parse *p, schema_type *t, uint64_t n_children)
{
    bool dense = type_number(p, t, 0, 2, 0) == 1;
    uint64_t n = 0, at = t->table == 0 ? 0 : lb_flat_vector(p->f, t->table, 1, 4, &n);

    if (at != 0 && n != n_children)
        return schema_damaged(p, "a union that has another number of type ids than of types");
    t->node->child_of_id = lb_arena_alloc(p->arena, 128, sizeof *t->node->child_of_id);
    if (t->node->child_of_id == NULL)
        return lb_arena_fail(p->arena, p->err);
    memset(t->node->child_of_id, 0xff, 128 * sizeof *t->node->child_of_id);
    LB_TRY(type_plain(p, t, dense ? LB_ARROW_DENSE : LB_ARROW_SPARSE, dense ? "+ud:" : "+us:"));
    for (uint64_t i = 0; i < n_children; i++)
        LB_TRY(type_union_id(p, t, i, at == 0 ? (int32_t)LB_MIN(i, 128) : (int32_t)lb_flat_read(p->f, at + 4 * i, 4)));
    t->most_children = 128;
    return LB_OK;
}

static lb_status type_fixed_size(schema_parse *p, schema_type *t, bool list)
{
    int32_t size = (int32_t)type_number(p, t, 0, 4, 0);

    if (size < 0 || (size == 0 && t->table == 0))
        return schema_damaged(p, "a type of a fixed size without one");
    if (size == 0 && !list)
        return lb_fail(p->err, LB_UNSUPPORTED, LB_NOWHERE, "column '%.60s' is binary of a fixed size of 0 bytes",
                       t->node->name);
    t->node->each = size;
    LB_TRY(list ? type_plain(p, t, LB_ARROW_FIXED_LIST, "+w:") : type_fixed(p, t, (unsigned)size, 0, "w:"));
    t->least_children = t->most_children = list;
    return lb_buf_printf(&p->text, p->err, "%d", size);
}

static lb_status type_list(schema_parse *p, schema_type *t, lb_arrow_layout layout, const char *format)
{
    t->least_children = t->most_children = 1;
    return type_plain(p, t, layout, format);
}

static lb_status type_text(schema_parse *p, schema_type *t, lb_arrow_layout layout, const char *format)
{
    t->node->text = format[0] == 'u' || format[0] == 'U' || strcmp(format, "vu") == 0;
    return type_plain(p, t, layout, format);
}

static lb_status type_of(schema_parse *p, unsigned kind, schema_type *t, uint64_t n_children)
{
    switch (kind) {
    case LB_IPC_NULL:
        return type_plain(p, t, LB_ARROW_NULLS, "n");
    case LB_IPC_INT:
        return type_int(p, t);
    case LB_IPC_FLOAT:
        return type_float(p, t);
    case LB_IPC_BINARY:
        return type_text(p, t, LB_ARROW_BYTES, "z");
    case LB_IPC_UTF8:
        return type_text(p, t, LB_ARROW_BYTES, "u");
    case LB_IPC_LARGE_BINARY:
        return type_text(p, t, LB_ARROW_LARGE, "Z");
    case LB_IPC_LARGE_UTF8:
        return type_text(p, t, LB_ARROW_LARGE, "U");
    case LB_IPC_BINARY_VIEW:
        return type_text(p, t, LB_ARROW_VIEWS, "vz");
    case LB_IPC_UTF8_VIEW:
        return type_text(p, t, LB_ARROW_VIEWS, "vu");
    case LB_IPC_BOOL:
        return type_plain(p, t, LB_ARROW_BITS, "b");
    case LB_IPC_DECIMAL:
        return type_decimal(p, t);
    case LB_IPC_DATE:
        return type_date(p, t);
    case LB_IPC_TIME:
        return type_time(p, t);
    case LB_IPC_TIMESTAMP:
        return type_timestamp(p, t);
    case LB_IPC_DURATION:
        return type_duration(p, t);
    case LB_IPC_INTERVAL:
        return type_interval(p, t);
    case LB_IPC_LIST:
        return type_list(p, t, LB_ARROW_LIST, "+l");
    case LB_IPC_LARGE_LIST:
        return type_list(p, t, LB_ARROW_LARGE_LIST, "+L");
    case LB_IPC_LIST_VIEW:
        return type_list(p, t, LB_ARROW_LIST_VIEW, "+vl");
    case LB_IPC_LARGE_LIST_VIEW:
        return type_list(p, t, LB_ARROW_LARGE_LIST_VIEW, "+vL");
    case LB_IPC_MAP:
        t->flags = type_number(p, t, 0, 1, 0) != 0 ? ARROW_FLAG_MAP_KEYS_SORTED : 0;
        return type_list(p, t, LB_ARROW_LIST, "+m");
    case LB_IPC_FIXED_BINARY:
    case LB_IPC_FIXED_LIST:
        return type_fixed_size(p, t, kind == LB_IPC_FIXED_LIST);
    case LB_IPC_STRUCT:
        t->most_children = INT64_MAX;
        return type_plain(p, t, LB_ARROW_STRUCT, "+s");
    case LB_IPC_UNION:
        return type_union(p, t, n_children);
    case LB_IPC_RUN_END:
        t->least_children = t->most_children = 2;
        return type_plain(p, t, LB_ARROW_RUNS, "+r");
    default:
        return lb_fail(p->err, LB_UNSUPPORTED, LB_NOWHERE,
                       "the Arrow schema has a type of number %u, which is not known", kind);
    }
}

/* ---------------------------------------------------------------- metadata */

static lb_status schema_metadata(schema_parse *p, uint64_t table, unsigned id, struct ArrowSchema *out)
{
    struct ArrowBuffer made;
    uint64_t n, at = lb_flat_vector(p->f, table, id, 4, &n);

    if (n == 0)
        return p->f->bad ? schema_damaged(p, "its metadata lies outside") : LB_OK;
    LB_TRY(lb_fail_arrow(p->err, ArrowMetadataBuilderInit(&made, NULL), NULL));
    lb_status status = LB_OK;
    for (uint64_t i = 0; status == LB_OK && i < n; i++) {
        uint64_t pair = lb_flat_follow(p->f, at + 4 * i);
        lb_str key = lb_flat_string(p->f, pair, 0), value = lb_flat_string(p->f, pair, 1);
        status = p->f->bad ? schema_damaged(p, "its metadata lies outside") : schema_pay(p, 8 + key.size + value.size);
        if (status == LB_OK)
            status =
                lb_fail_arrow(p->err,
                              ArrowMetadataBuilderAppend(&made, (struct ArrowStringView){ key.at, (int64_t)key.size },
                                                         (struct ArrowStringView){ value.at, (int64_t)value.size }),
                              NULL);
    }
    if (status == LB_OK)
        status = lb_fail_arrow(p->err, ArrowSchemaSetMetadata(out, (const char *)made.data), NULL);
    ArrowBufferReset(&made);
    return status;
}

/* ---------------------------------------------------------------- fields */

unsigned lb_arrow_node_buffers(const lb_arrow_node *n)
{
    static const uint8_t buffers[] = {
        [LB_ARROW_NULLS] = 0,     [LB_ARROW_FIXED] = 2,           [LB_ARROW_BITS] = 2,       [LB_ARROW_BYTES] = 3,
        [LB_ARROW_LARGE] = 3,     [LB_ARROW_VIEWS] = 2,           [LB_ARROW_LIST] = 2,       [LB_ARROW_LARGE_LIST] = 2,
        [LB_ARROW_LIST_VIEW] = 3, [LB_ARROW_LARGE_LIST_VIEW] = 3, [LB_ARROW_FIXED_LIST] = 1, [LB_ARROW_STRUCT] = 1,
        [LB_ARROW_SPARSE] = 1,    [LB_ARROW_DENSE] = 2,           [LB_ARROW_RUNS] = 0,       [LB_ARROW_DICTIONARY] = 2,
    };

    return buffers[n->layout];
}

static void node_number(lb_arrow_node *n, lb_arrow_counts *c)
{
    n->at = *c;
    c->nodes++;
    c->buffers += lb_arrow_node_buffers(n);
    c->views += n->layout == LB_ARROW_VIEWS;
    c->unions += n->layout == LB_ARROW_SPARSE || n->layout == LB_ARROW_DENSE;
}

bool lb_arrow_node_same(const lb_arrow_node *a, const lb_arrow_node *b)
{
    bool same = a->layout == b->layout && a->text == b->text && a->is_signed == b->is_signed && a->swap == b->swap &&
                a->width == b->width && a->each == b->each && a->dictionary == b->dictionary &&
                a->n_children == b->n_children && (a->child_of_id == NULL) == (b->child_of_id == NULL);

    if (same && a->child_of_id != NULL)
        same = memcmp(a->child_of_id, b->child_of_id, 128 * sizeof *a->child_of_id) == 0;
    for (uint32_t i = 0; same && i < a->n_children; i++)
        same = lb_arrow_node_same(&a->children[i], &b->children[i]);
    return same;
}

static lb_status schema_field(schema_parse *p, uint64_t field, int depth, lb_arrow_counts *counts,
                              struct ArrowSchema *out, lb_arrow_node *node);

static lb_status schema_name(schema_parse *p, lb_str name, struct ArrowSchema *out, lb_arrow_node *node)
{
    if (lb_utf8_valid_prefix((const uint8_t *)name.at, name.size) != name.size)
        return schema_damaged(p, "a name that is not UTF-8");
    if (name.size != 0 && memchr(name.at, 0, name.size) != NULL)
        return lb_fail(p->err, LB_UNSUPPORTED, LB_NOWHERE, "a column's name has a NUL in it");
    LB_TRY(schema_pay(p, name.size));
    node->name = lb_arena_copy(p->arena, name);
    return node->name == NULL ? lb_arena_fail(p->arena, p->err) : lb_schema_set_name(out, name, p->err);
}

static lb_status schema_children(schema_parse *p, uint64_t at, uint64_t n, int depth, lb_arrow_counts *counts,
                                 struct ArrowSchema *out, lb_arrow_node *node)
{
    node->n_children = (uint32_t)n;
    node->children = lb_arena_alloc(p->arena, (size_t)n, sizeof *node->children);
    if (node->children == NULL)
        return lb_arena_fail(p->arena, p->err);
    LB_TRY(lb_fail_arrow(p->err, ArrowSchemaAllocateChildren(out, (int64_t)n), NULL));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t field = lb_flat_follow(p->f, at + 4 * i);
        LB_TRY(schema_field(p, field, depth + 1, counts, out->children[i], &node->children[i]));
    }
    return LB_OK;
}

/* What the format asks of the types below. */
static lb_status schema_check_children(const schema_parse *p, const struct ArrowSchema *type, const lb_arrow_node *n)
{
    if (n->layout == LB_ARROW_RUNS) {
        const lb_arrow_node *ends = &n->children[0];
        if (ends->layout != LB_ARROW_FIXED || !ends->is_signed || ends->width == 1)
            return schema_damaged(p, "runs that do not end at integers");
    }
    if (strcmp(type->format, "+m") == 0 && (n->children[0].layout != LB_ARROW_STRUCT || n->children[0].n_children != 2))
        return schema_damaged(p, "a map that is no list of pairs");
    return LB_OK;
}

/* The type of a field, or of its dictionary's values. */
static lb_status schema_type_of(schema_parse *p, uint64_t field, int depth, lb_arrow_counts *counts,
                                struct ArrowSchema *out, lb_arrow_node *node)
{
    unsigned kind = (unsigned)lb_flat_scalar(p->f, field, 2, 1);
    schema_type t = { .node = node, .table = lb_flat_table(p->f, field, 3) };
    uint64_t n, at = lb_flat_vector(p->f, field, 5, 4, &n);

    LB_TRY(schema_pay(p, 16 + 4 * n));
    p->text.size = 0;
    LB_TRY(type_of(p, kind, &t, n));
    if (p->f->bad || (int64_t)n < t.least_children || (int64_t)n > t.most_children)
        return schema_damaged(p, "a type has another number of fields than it should");
    const char *format = lb_buf_text(&p->text);
    if (format == NULL)
        return lb_fail_nomem(p->err);
    LB_TRY(lb_fail_arrow(p->err, ArrowSchemaSetFormat(out, format), NULL));
    out->flags = t.flags | (lb_flat_scalar(p->f, field, 1, 1) != 0 ? ARROW_FLAG_NULLABLE : 0);
    node_number(node, counts);
    LB_TRY(schema_children(p, at, n, depth, counts, out, node));
    return schema_check_children(p, out, node);
}

/* Note down what a dictionary holds; fields may share one. */
static lb_status schema_register(schema_parse *p, const lb_arrow_dictionary *d, uint32_t *place)
{
    const lb_arrow_dictionary *all = (const lb_arrow_dictionary *)(const void *)p->dictionaries.data;
    size_t n = p->dictionaries.size / sizeof *all;
    const char *id = lb_arena_dup(p->arena, &d->id, sizeof d->id);
    bool was_there;

    if (id == NULL)
        return lb_arena_fail(p->arena, p->err);
    *place = lb_arrow_schema_dictionary(p->out, d->id);
    if (*place != UINT32_MAX)
        return lb_arrow_node_same(&all[*place].values, &d->values)
                   ? LB_OK
                   : schema_damaged(p, "two fields of different types share a dictionary");
    *place = (uint32_t)n;
    LB_TRY(lb_names_add(&p->out->ids, (lb_str){ id, sizeof d->id }, n, &was_there, p->err));
    return lb_buf_append(&p->dictionaries, d, sizeof *d, p->err);
}

static lb_status schema_dictionary(schema_parse *p, uint64_t field, uint64_t encoding, int depth,
                                   lb_arrow_counts *counts, struct ArrowSchema *out, lb_arrow_node *node)
{
    lb_arrow_dictionary d = { .id = (int64_t)lb_flat_scalar(p->f, encoding, 0, 8) };
    uint64_t type = lb_flat_table(p->f, encoding, 1);
    schema_type index = { .node = node, .table = type };

    p->text.size = 0;
    if (type != 0)
        LB_TRY(type_int(p, &index));
    else
        LB_TRY(type_fixed(p, &index, 4, 4, "i"));
    node->is_signed = type == 0 || node->is_signed;
    const char *format = lb_buf_text(&p->text);
    if (format == NULL)
        return lb_fail_nomem(p->err);
    LB_TRY(lb_fail_arrow(p->err, ArrowSchemaSetFormat(out, format), NULL));
    node->layout = LB_ARROW_DICTIONARY;
    node_number(node, counts);
    LB_TRY(lb_fail_arrow(p->err, ArrowSchemaAllocateDictionary(out), NULL));
    ArrowSchemaInit(out->dictionary);
    d.values.name = node->name;
    LB_TRY(schema_type_of(p, field, depth + 1, &d.counts, out->dictionary, &d.values));
    out->flags = out->dictionary->flags & ARROW_FLAG_NULLABLE;
    if (lb_flat_scalar(p->f, encoding, 2, 1) != 0)
        out->flags |= ARROW_FLAG_DICTIONARY_ORDERED;
    return schema_register(p, &d, &node->dictionary);
}

static lb_status schema_field(schema_parse *p, uint64_t field, int depth, lb_arrow_counts *counts,
                              struct ArrowSchema *out, lb_arrow_node *node)
{
    ArrowSchemaInit(out);
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(p->err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    uint64_t encoding = p->f->bad ? 0 : lb_flat_table(p->f, field, 4);
    lb_str name = p->f->bad ? LB_STR("") : lb_flat_string(p->f, field, 0);
    if (p->f->bad)
        return schema_damaged(p, "a field lies outside");
    LB_TRY(schema_name(p, name, out, node));
    if (encoding != 0)
        LB_TRY(schema_dictionary(p, field, encoding, depth, counts, out, node));
    else
        LB_TRY(schema_type_of(p, field, depth, counts, out, node));
    return schema_metadata(p, field, 6, out);
}

/* ---------------------------------------------------------------- all of it */

/* Tell each node the type that is handed out for it. */
static void node_bind(lb_arrow_schema *s, lb_arrow_node *n, const struct ArrowSchema *plain)
{
    n->plain = plain;
    if (n->layout == LB_ARROW_DICTIONARY) {
        if (s->dictionaries[n->dictionary].values.plain == NULL)
            node_bind(s, &s->dictionaries[n->dictionary].values, plain);
    } else if (n->layout == LB_ARROW_RUNS) {
        node_bind(s, &n->children[1], plain);
    } else {
        for (uint32_t i = 0; i < n->n_children; i++)
            node_bind(s, &n->children[i], plain->children[i]);
    }
}

static lb_status schema_fields(schema_parse *p, uint64_t table, struct ArrowSchema *encoded)
{
    lb_arrow_node top = { .layout = LB_ARROW_STRUCT };
    uint64_t n, at = lb_flat_vector(p->f, table, 1, 4, &n);
    uint64_t order = lb_flat_scalar(p->f, table, 0, 2);

    if (p->f->bad || order > 1)
        return schema_damaged(p, "its first part lies outside");
    p->out->swap = order == 1;
    LB_TRY(schema_pay(p, 4 * n));
    LB_TRY(lb_fail_arrow(p->err, ArrowSchemaSetFormat(encoded, "+s"), NULL));
    LB_TRY(schema_children(p, at, n, 0, &p->out->counts, encoded, &top));
    p->out->n_columns = top.n_children;
    p->out->columns = top.children;
    return schema_metadata(p, table, 2, encoded);
}

static lb_status schema_finish(schema_parse *p, const struct ArrowSchema *encoded)
{
    lb_arrow_schema *s = p->out;

    s->n_dictionaries = (uint32_t)(p->dictionaries.size / sizeof *s->dictionaries);
    s->dictionaries = lb_arena_dup(p->arena, p->dictionaries.data, p->dictionaries.size);
    if (s->dictionaries == NULL)
        return lb_arena_fail(p->arena, p->err);
    LB_TRY(lb_schema_plain(encoded, &s->plain, p->err));
    s->plain.flags |= ARROW_FLAG_NULLABLE; /* as lb_schema_struct makes it */
    for (uint32_t i = 0; i < s->n_columns; i++) {
        struct ArrowSchema *field = s->plain.children[i];
        /* A column of the null type is what its writer meant, not one without a value. */
        if (strcmp(field->format, "n") == 0)
            LB_TRY(lb_schema_set_meta(field, LB_META_DECLARED, LB_STR("true"), p->err));
        node_bind(s, &s->columns[i], field);
    }
    return LB_OK;
}

lb_status lb_arrow_schema_read(lb_flat *f, uint64_t table, lb_arena *arena, lb_arrow_schema *out, lb_error *err)
{
    schema_parse p = { .f = f, .arena = arena, .out = out, .left = 8 * f->size + 4096, .err = err };
    struct ArrowSchema encoded;

    *out = (lb_arrow_schema){ .n_columns = 0 };
    ArrowSchemaInit(&encoded);
    lb_buf_init(&p.dictionaries, arena->budget);
    lb_buf_init(&p.text, arena->budget);
    lb_status status = schema_fields(&p, table, &encoded);
    if (status == LB_OK)
        status = schema_finish(&p, &encoded);
    ArrowSchemaRelease(&encoded);
    lb_buf_free(&p.dictionaries);
    lb_buf_free(&p.text);
    return status;
}

void lb_arrow_schema_release(lb_arrow_schema *schema)
{
    if (schema->plain.release != NULL)
        schema->plain.release(&schema->plain);
    lb_names_free(&schema->ids);
}

uint32_t lb_arrow_schema_dictionary(const lb_arrow_schema *schema, int64_t id)
{
    const uint64_t *found = lb_names_find(&schema->ids, (lb_str){ (const char *)&id, sizeof id });

    return found == NULL ? UINT32_MAX : (uint32_t)*found;
}

/* ---------------------------------------------------------------- room of a row */

uint64_t lb_arrow_node_bits(const lb_arrow_node *n)
{
    uint64_t bits = 0;

    switch (n->layout) {
    case LB_ARROW_FIXED:
    case LB_ARROW_DICTIONARY:
        return 8 * (uint64_t)n->width;
    case LB_ARROW_BITS:
        return 1;
    case LB_ARROW_BYTES:
    case LB_ARROW_LIST:
    case LB_ARROW_DENSE:
        return 32;
    case LB_ARROW_SPARSE:
        return 8;
    case LB_ARROW_LARGE:
    case LB_ARROW_LARGE_LIST:
    case LB_ARROW_LIST_VIEW:
        return 64;
    case LB_ARROW_VIEWS:
    case LB_ARROW_LARGE_LIST_VIEW:
        return 128;
    case LB_ARROW_FIXED_LIST:
        return n->each == 0 ? 0 : lb_arrow_node_bits(&n->children[0]);
    case LB_ARROW_STRUCT:
        for (uint32_t i = 0; i < n->n_children; i++)
            bits = LB_MAX(bits, lb_arrow_node_bits(&n->children[i]));
        return bits;
    case LB_ARROW_NULLS:
    case LB_ARROW_RUNS:
        break;
    }
    return 0;
}
