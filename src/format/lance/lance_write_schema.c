/* Arrow types as Lance fields: which types there are, what they are called, and bringing batches to them. */
#include <errno.h>

#include "base/names.h"
#include "column/values.h"
#include "format/lance/lance_write.h"

/* ---------------------------------------------------------------- names of types */

/* Formats of the Arrow C interface whose logical type is one word, and that stand in fixed-size lists as well. */
static const struct {
    const char *format, *word;
} lance_words[] = {
    { "b", "bool" },          { "c", "int8" },          { "C", "uint8" },        { "s", "int16" },
    { "S", "uint16" },        { "i", "int32" },         { "I", "uint32" },       { "l", "int64" },
    { "L", "uint64" },        { "e", "halffloat" },     { "f", "float" },        { "g", "double" },
    { "tdD", "date32:day" },  { "tdm", "date64:ms" },   { "tts", "time32:s" },   { "ttm", "time32:ms" },
    { "ttu", "time64:us" },   { "ttn", "time64:ns" },   { "tDs", "duration:s" }, { "tDm", "duration:ms" },
    { "tDu", "duration:us" }, { "tDn", "duration:ns" },
};

static const char *lance_word(const char *format)
{
    for (size_t i = 0; i < LB_COUNT_OF(lance_words); i++)
        if (strcmp(lance_words[i].format, format) == 0)
            return lance_words[i].word;
    return NULL;
}

/* Name of a fixed-width type that is one value; *done false: it is none. */
static lb_status lance_fixed_name(const struct ArrowSchemaView *v, lb_buf *out, bool *done, lb_error *err)
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    const char *word = lance_word(v->schema->format);
    *done = true;
    if (word != NULL)
        return lb_buf_append_str(out, word, err);
    switch (v->type) {
    case NANOARROW_TYPE_TIMESTAMP:
        return lb_buf_printf(out, err, "timestamp:%s:%s", units[(unsigned)v->time_unit & 3],
                             v->timezone == NULL || v->timezone[0] == '\0' ? "-" : v->timezone);
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
        return lb_buf_printf(out, err, "decimal:128:%d:%d", (int)v->decimal_precision, (int)v->decimal_scale);
    case NANOARROW_TYPE_DECIMAL256:
        return lb_buf_printf(out, err, "decimal:256:%d:%d", (int)v->decimal_precision, (int)v->decimal_scale);
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        return lb_buf_printf(out, err, "fixed_size_binary:%d", (int)v->fixed_size);
    default:
        *done = false;
        return LB_OK;
    }
}

static bool lance_is_fixed(const struct ArrowSchemaView *v)
{
    if (lance_word(v->schema->format) != NULL)
        return true;
    switch (v->type) {
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return v->fixed_size > 0;
    case NANOARROW_TYPE_TIMESTAMP:
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return true;
    default:
        return false;
    }
}

static lb_status lance_list_name(const struct ArrowSchema *schema, lb_buf *out, int depth, bool *done, lb_error *err)
{
    struct ArrowSchemaView v;
    LB_TRY(lb_schema_view(schema, &v, err));
    if (v.type != NANOARROW_TYPE_FIXED_SIZE_LIST)
        return lance_fixed_name(&v, out, done, err);
    const struct ArrowSchema *item = schema->children[0];
    LB_TRY(lb_buf_append_str(out, "fixed_size_list:", err));
    if (strcmp(item->format, "w:2") == 0 && lb_str_is(lb_schema_extension(item), "lance.bfloat16")) {
        *done = true;
        LB_TRY(lb_buf_append_str(out, "lance.bfloat16", err));
    } else {
        *done = depth < LB_TYPE_DEPTH;
        if (*done)
            LB_TRY(lance_list_name(item, out, depth + 1, done, err));
    }
    return lb_buf_printf(out, err, ":%d", (int)v.fixed_size);
}

/* Values that a dictionary may have: whole numbers, text and binary. */
static const char *lance_dictionary_word(const char *format)
{
    static const struct {
        const char *format, *word;
    } words[] = { { "u", "string" }, { "U", "large_string" }, { "z", "binary" }, { "Z", "large_binary" } };
    for (size_t i = 0; i < LB_COUNT_OF(words); i++)
        if (strcmp(words[i].format, format) == 0)
            return words[i].word;
    return strlen(format) == 1 && strchr("cCsSiIlL", format[0]) != NULL ? lance_word(format) : NULL;
}

/* The logical type of a field. *done false: Lance has none. `encoding`: its number in the schema. */
static lb_status lance_logical_type(const struct ArrowSchema *schema, lb_buf *out, int32_t *encoding, bool *done,
                                    lb_error *err)
{
    struct ArrowSchemaView v;
    *encoding = 1;
    *done = true;
    if (schema->dictionary != NULL) {
        const char *values = lance_dictionary_word(schema->dictionary->format), *keys = lance_word(schema->format);
        *encoding = 3;
        *done = values != NULL && keys != NULL;
        return *done ? lb_buf_printf(out, err, "dict:%s:%s:false", values, keys) : LB_OK;
    }
    LB_TRY(lb_schema_view(schema, &v, err));
    switch (v.type) {
    case NANOARROW_TYPE_NA:
        *encoding = 0;
        return lb_buf_append_str(out, "null", err);
    case NANOARROW_TYPE_STRUCT:
        *encoding = 0;
        return lb_buf_append_str(out, "struct", err);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
        return lb_buf_printf(out, err, "%slist%s", v.type == NANOARROW_TYPE_LIST ? "" : "large_",
                             strcmp(schema->children[0]->format, "+s") == 0 ? ".struct" : "");
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return lance_list_name(schema, out, 0, done, err);
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
        *encoding = 2;
        return lb_buf_append_str(out, lance_dictionary_word(schema->format), err);
    default:
        return lance_fixed_name(&v, out, done, err);
    }
}

/* ---------------------------------------------------------------- the schema to write */

/* May a column stay as it is: no views, no runs, and dictionaries only as Lance has them? */
static bool schema_stays(const struct ArrowSchema *s, bool in_fixed, int depth)
{
    if (depth > LB_TYPE_DEPTH)
        return false;
    if (s->dictionary != NULL)
        return !in_fixed && lance_dictionary_word(s->dictionary->format) != NULL && s->dictionary->dictionary == NULL;
    if (s->format[0] == 'v' || strncmp(s->format, "+v", 2) == 0 || strcmp(s->format, "+r") == 0)
        return false;
    in_fixed = in_fixed || strncmp(s->format, "+w:", 3) == 0;
    for (int64_t i = 0; i < s->n_children; i++)
        if (!schema_stays(s->children[i], in_fixed, depth + 1))
            return false;
    return true;
}

/* A map is a list of its pairs: the same memory under another name. And no release of Lance reads a list whose
 * items are not nullable, are not called `item`, or have metadata. */
static lb_status schema_as_lance(struct ArrowSchema *s, int depth, lb_error *err)
{
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    if (strcmp(s->format, "+m") == 0) {
        LB_TRY(lb_fail_arrow(err, ArrowSchemaSetFormat(s, "+l"), NULL));
        s->flags &= ~(int64_t)ARROW_FLAG_MAP_KEYS_SORTED;
        if (depth == 0)
            LB_TRY(lb_schema_set_meta(s, "lakebed.type", LB_STR("map"), err));
    }
    if (strcmp(s->format, "+l") == 0 || strcmp(s->format, "+L") == 0) {
        LB_TRY(lb_fail_arrow(err, ArrowSchemaSetName(s->children[0], "item"), NULL));
        LB_TRY(lb_fail_arrow(err, ArrowSchemaSetMetadata(s->children[0], NULL), NULL));
        s->children[0]->flags |= ARROW_FLAG_NULLABLE;
    }
    for (int64_t i = 0; i < s->n_children; i++)
        LB_TRY(schema_as_lance(s->children[i], depth + 1, err));
    return LB_OK;
}

static lb_status schema_plain_or_same(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err)
{
    return schema_stays(from, false, 0) ? lb_schema_copy(from, out, err) : lb_schema_plain(from, out, err);
}

static lb_status schema_fail_type(const char *path, const struct ArrowSchema *s, lb_error *err)
{
    lb_buf words;
    lb_buf_init(&words, NULL);
    const char *text = lb_type_words(s, true, &words, NULL) == LB_OK ? lb_buf_text(&words) : NULL;
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%.100s' has type %.200s, which Lance v1 files cannot hold", path,
            text == NULL ? s->format : text);
    lb_fail_hint(err, "leave it out with --columns");
    lb_buf_free(&words);
    return LB_UNSUPPORTED;
}

/* Values of one width, also in fixed-size lists. */
static lb_status schema_is_fixed(const struct ArrowSchema *s, int depth, bool *fixed, lb_error *err)
{
    struct ArrowSchemaView v;
    LB_TRY(lb_schema_view(s, &v, err));
    *fixed = lance_is_fixed(&v) && s->dictionary == NULL && depth <= LB_TYPE_DEPTH;
    if (!*fixed || v.type != NANOARROW_TYPE_FIXED_SIZE_LIST)
        return LB_OK;
    return schema_is_fixed(s->children[0], depth + 1, fixed, err);
}

static lb_status schema_check_names(const struct ArrowSchema *s, bool top, lb_error *err)
{
    lb_names names = { NULL, 0, 0 };
    lb_status status = LB_OK;
    for (int64_t i = 0; i < s->n_children && status == LB_OK; i++) {
        const char *name = s->children[i]->name == NULL ? "" : s->children[i]->name;
        bool twice = false;
        status = lb_names_add(&names, lb_str_of(name), (uint64_t)i, &twice, err);
        if (status == LB_OK && twice)
            status = lb_fail(err, LB_USAGE, LB_NOWHERE, "there are two columns '%.200s'", name);
        if (status == LB_OK && top && strchr(name, '.') != NULL) {
            status = lb_fail(err, LB_USAGE, LB_NOWHERE,
                             "column '%.200s' has a dot in its name, which a Lance dataset cannot hold", name);
            lb_fail_hint(err, "give it another name in the source, or leave it out with --columns");
        }
    }
    lb_names_free(&names);
    return status;
}

static const char *schema_path(lb_buf *path)
{
    const char *text = lb_buf_text(path);
    return text == NULL ? "?" : text;
}

static lb_status schema_check_children(const struct ArrowSchema *s, lb_buf *path, int depth, lb_error *err);

/* `path`: the names from the column down to `s`, with dots between. */
static lb_status schema_check(const struct ArrowSchema *s, lb_buf *path, int depth, lb_error *err)
{
    struct ArrowSchemaView v;
    bool fixed;
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%.100s' is nested more than %d deep",
                       schema_path(path), LB_TYPE_DEPTH);
    LB_TRY(lb_schema_view(s, &v, err));
    switch (v.type) {
    case NANOARROW_TYPE_NA:
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_DICTIONARY:
        return LB_OK;
    case NANOARROW_TYPE_STRUCT:
        LB_TRY(schema_check_names(s, depth == 0, err));
        break;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
        break;
    default:
        LB_TRY(schema_is_fixed(s, depth, &fixed, err));
        return fixed ? LB_OK : schema_fail_type(schema_path(path), s, err);
    }
    return schema_check_children(s, path, depth, err);
}

static lb_status schema_check_children(const struct ArrowSchema *s, lb_buf *path, int depth, lb_error *err)
{
    const size_t size = path->size;
    for (int64_t i = 0; i < s->n_children; i++) {
        const char *name = s->children[i]->name == NULL ? "" : s->children[i]->name;
        if (depth != 0)
            LB_TRY(lb_buf_append_str(path, ".", err));
        LB_TRY(lb_buf_append_str(path, name, err));
        LB_TRY(schema_check(s->children[i], path, depth + 1, err));
        path->size = size;
    }
    return LB_OK;
}

static lb_status schema_check_all(const struct ArrowSchema *s, lb_error *err)
{
    lb_buf path;
    lb_buf_init(&path, NULL);
    lb_status status = schema_check(s, &path, 0, err);
    lb_buf_free(&path);
    return status;
}

lb_status lb_lance_write_schema(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err)
{
    lb_status s = LB_OK;
    out->release = NULL;
    if (strcmp(from->format, "+s") != 0)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "rows are wanted, as a stream of structs");
    LB_TRY(lb_schema_struct(out, from->n_children, err));
    for (int64_t i = 0; i < from->n_children && s == LB_OK; i++) {
        struct ArrowSchema child;
        s = schema_plain_or_same(from->children[i], &child, err);
        if (s != LB_OK)
            break;
        out->children[i]->release(out->children[i]);
        ArrowSchemaMove(&child, out->children[i]);
        s = schema_as_lance(out->children[i], 0, err);
    }
    if (s == LB_OK && from->metadata != NULL)
        s = lb_fail_arrow(err, ArrowSchemaSetMetadata(out, from->metadata), NULL);
    if (s == LB_OK)
        s = schema_check_all(out, err);
    if (s != LB_OK) {
        out->release(out);
        out->release = NULL;
    }
    return s;
}

/* ---------------------------------------------------------------- batches */

/* Child `i` as an array of its own: what the parent says of offset and length comes to it. */
static void batch_take_child(struct ArrowArray *batch, int64_t i, struct ArrowArray *out)
{
    ArrowArrayMove(batch->children[i], out);
    if (batch->offset != 0 || out->length != batch->length) {
        out->offset += batch->offset;
        out->length = batch->length;
        out->null_count = out->null_count == 0 ? 0 : -1;
    }
}

static lb_status batch_cast(const struct ArrowSchema *from, struct ArrowArray *array, const struct ArrowSchema *to,
                            struct ArrowArray *out, lb_error *err)
{
    struct ArrowSchema plain, named;
    lb_status s = schema_plain_or_same(from, &plain, err);
    if (s == LB_OK && (s = lb_schema_copy(&plain, &named, err)) != LB_OK)
        plain.release(&plain);
    if (s != LB_OK) {
        array->release(array);
        return s;
    }
    s = schema_as_lance(&named, 0, err);
    named.flags = to->flags;
    if (s != LB_OK)
        array->release(array);
    else if (from->dictionary != NULL && to->dictionary != NULL)
        ArrowArrayMove(array, out); /* the writer looks at keys and values itself */
    else
        s = lb_array_cast(from, array, lb_schema_equal(&named, to) ? &plain : to, out, err);
    plain.release(&plain);
    named.release(&named);
    return s;
}

static int64_t batch_find(const struct ArrowSchema *from, const char *name, int64_t guess)
{
    if (guess < from->n_children && strcmp(from->children[guess]->name, name) == 0)
        return guess;
    for (int64_t i = 0; i < from->n_children; i++)
        if (from->children[i]->name != NULL && strcmp(from->children[i]->name, name) == 0)
            return i;
    return -1;
}

static lb_status batch_fill(const struct ArrowSchema *from, struct ArrowArray *batch, const struct ArrowSchema *to,
                            struct ArrowArray *out, lb_error *err)
{
    for (int64_t i = 0; i < to->n_children; i++) {
        int64_t at = batch_find(from, to->children[i]->name == NULL ? "" : to->children[i]->name, i);
        struct ArrowArray child, made = { .release = NULL };
        if (at < 0 || batch->children[at]->release == NULL)
            return lb_fail(err, LB_USAGE, LB_NOWHERE, "column '%.200s' is missing", to->children[i]->name);
        batch_take_child(batch, at, &child);
        lb_status s = batch_cast(from->children[at], &child, to->children[i], &made, err);
        if (s != LB_OK)
            return s;
        ArrowArrayMove(&made, out->children[i]);
    }
    return LB_OK;
}

lb_status lb_lance_write_batch(const struct ArrowSchema *from, struct ArrowArray *array, const struct ArrowSchema *to,
                               struct ArrowArray *out, lb_error *err)
{
    out->release = NULL;
    int code = array->n_children == from->n_children ? ArrowArrayInitFromType(out, NANOARROW_TYPE_STRUCT) : EINVAL;
    if (code == NANOARROW_OK)
        code = ArrowArrayAllocateChildren(out, to->n_children);
    lb_status s = lb_fail_arrow(err, code, NULL);
    if (s == LB_OK) {
        for (int64_t i = 0; i < to->n_children; i++)
            out->children[i]->release = NULL;
        s = batch_fill(from, array, to, out, err);
        out->length = array->length;
    }
    array->release(array);
    if (s != LB_OK && out->release != NULL) {
        out->release(out);
        out->release = NULL;
    }
    return s;
}

/* ---------------------------------------------------------------- fields */

typedef struct fields_builder {
    lb_arena *arena;
    lb_lance_fields *out;
    size_t cap;
    int64_t next_id;
    lb_buf text;
} fields_builder;

static lb_status fields_copy(fields_builder *b, lb_str text, ProtobufCBinaryData *out, lb_error *err)
{
    uint8_t *copy = lb_arena_dup(b->arena, text.at, text.size);
    if (copy == NULL)
        return lb_arena_fail(b->arena, err);
    *out = (ProtobufCBinaryData){ text.size, copy };
    return LB_OK;
}

/* Marks that say how a column was found in text say nothing of a column that now has a type. */
static bool fields_keeps_meta(lb_str key)
{
    return !lb_str_is(key, LB_META_DECLARED) && !lb_str_is(key, LB_META_WIDE) && !lb_str_is(key, LB_META_NEGATIVE);
}

static lb_status fields_metadata(fields_builder *b, const struct ArrowSchema *s, lb_lance_field *field, lb_error *err)
{
    struct ArrowMetadataReader reader;
    struct ArrowStringView key, value;
    if (ArrowMetadataReaderInit(&reader, s->metadata) != NANOARROW_OK || reader.remaining_keys <= 0)
        return LB_OK;
    field->metadata = lb_arena_alloc(b->arena, (size_t)reader.remaining_keys, sizeof *field->metadata);
    if (field->metadata == NULL)
        return lb_arena_fail(b->arena, err);
    while (ArrowMetadataReaderRead(&reader, &key, &value) == NANOARROW_OK) {
        lb_str k = { key.data, (size_t)key.size_bytes };
        if (!fields_keeps_meta(k))
            continue;
        lb_lance_entry *e = lb_arena_alloc(b->arena, 1, sizeof *e);
        if (e == NULL)
            return lb_arena_fail(b->arena, err);
        lb_pb__entry__init(e);
        LB_TRY(fields_copy(b, k, &e->key, err));
        LB_TRY(fields_copy(b, (lb_str){ value.data, (size_t)value.size_bytes }, &e->value, err));
        field->metadata[field->n_metadata++] = e;
    }
    return LB_OK;
}

static lb_status fields_room(fields_builder *b, lb_error *err)
{
    if (b->out->count < b->cap)
        return LB_OK;
    size_t cap = b->cap == 0 ? 16 : b->cap * 2;
    lb_lance_field **more = lb_arena_alloc(b->arena, cap, sizeof *more);
    if (more == NULL)
        return lb_arena_fail(b->arena, err);
    if (b->out->count != 0)
        memcpy(more, b->out->items, b->out->count * sizeof *more);
    b->out->items = more;
    b->cap = cap;
    return LB_OK;
}

static lb_status fields_add(fields_builder *b, const struct ArrowSchema *s, int32_t parent, int depth, lb_error *err)
{
    bool done;
    int32_t encoding;
    if (depth > LB_TYPE_DEPTH || b->next_id >= INT32_MAX)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the schema has more fields than a Lance dataset can hold");
    lb_lance_field *field = lb_arena_alloc(b->arena, 1, sizeof *field);
    if (field == NULL)
        return lb_arena_fail(b->arena, err);
    LB_TRY(fields_room(b, err));
    lb_pb__field__init(field);
    b->text.size = 0;
    LB_TRY(lance_logical_type(s, &b->text, &encoding, &done, err));
    if (!done)
        return schema_fail_type(s->name == NULL ? "" : s->name, s, err);
    LB_TRY(fields_copy(b, (lb_str){ (char *)b->text.data, b->text.size }, &field->logical_type, err));
    LB_TRY(fields_copy(b, lb_str_of(s->name), &field->name, err));
    field->id = (int32_t)b->next_id++;
    field->parent_id = parent;
    field->encoding = encoding;
    field->nullable = (s->flags & ARROW_FLAG_NULLABLE) != 0;
    LB_TRY(fields_metadata(b, s, field, err));
    b->out->items[b->out->count++] = field;
    if (encoding == 3 || strncmp(s->format, "+w:", 3) == 0)
        return LB_OK;
    for (int64_t i = 0; i < s->n_children; i++)
        LB_TRY(fields_add(b, s->children[i], field->id, depth + 1, err));
    return LB_OK;
}

lb_status lb_lance_fields_of_schema(const struct ArrowSchema *schema, int32_t next_id, lb_arena *arena,
                                    lb_lance_fields *out, lb_error *err)
{
    fields_builder b = { .arena = arena, .out = out, .next_id = next_id };
    lb_status s = LB_OK;
    *out = (lb_lance_fields){ NULL, 0 };
    lb_buf_init(&b.text, NULL);
    for (int64_t i = 0; i < schema->n_children && s == LB_OK; i++)
        s = fields_add(&b, schema->children[i], -1, 1, err);
    lb_buf_free(&b.text);
    return s;
}

/* ---------------------------------------------------------------- companions */

static bool companion_number(const char **at, const char *end, int64_t *out)
{
    const char *from = *at;
    *out = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *out <= INT32_MAX)
        *out = *out * 10 + (*(*at)++ - '0');
    return *at > from && *out <= INT32_MAX;
}

/* FIELD:OF or FIELD:OF/LEVEL at the beginning of a text. */
static bool companion_parse(const char **at, const char *end, lb_lance_companion *out)
{
    int64_t field, of, level = 0;
    if (!companion_number(at, end, &field) || *at >= end || *(*at)++ != ':' || !companion_number(at, end, &of))
        return false;
    if (*at < end && **at == '/') {
        ++*at;
        if (!companion_number(at, end, &level) || level > LB_TYPE_DEPTH)
            return false;
    }
    *out = (lb_lance_companion){ (int32_t)field, (int32_t)of, (unsigned)level };
    return true;
}

lb_status lb_lance_companions_parse(lb_str value, lb_arena *arena, lb_lance_companions *out, lb_error *err)
{
    const char *at = value.at, *end = at + value.size;
    *out = (lb_lance_companions){ NULL, 0 };
    if (value.size == 0)
        return LB_OK;
    out->items = lb_arena_alloc(arena, value.size / 4 + 1, sizeof *out->items); /* "1:2 " is the shortest */
    if (out->items == NULL)
        return lb_arena_fail(arena, err);
    for (;;) {
        if (!companion_parse(&at, end, &out->items[out->count]))
            break;
        out->count++;
        if (at == end)
            return LB_OK;
        if (*at++ != ' ')
            break;
    }
    out->count = 0;
    return LB_OK;
}

lb_status lb_lance_companions_print(const lb_lance_companions *list, lb_buf *out, lb_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const lb_lance_companion *c = &list->items[i];
        LB_TRY(lb_buf_printf(out, err, "%s%d:%d", i == 0 ? "" : " ", c->field, c->of));
        if (c->level != 0)
            LB_TRY(lb_buf_printf(out, err, "/%u", c->level));
    }
    return LB_OK;
}
