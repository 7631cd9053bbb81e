/* Types in words, both ways. */
#include <stdio.h>

#include "base/utf8.h"
#include "column/print.h"
#include "column/values.h"

/* Words that stand for one format string of the Arrow C interface. */
static const struct {
    const char *word, *format;
} simple_types[] = {
    { "null", "n" },
    { "bool", "b" },
    { "int8", "c" },
    { "int16", "s" },
    { "int32", "i" },
    { "int64", "l" },
    { "uint8", "C" },
    { "uint16", "S" },
    { "uint32", "I" },
    { "uint64", "L" },
    { "float16", "e" },
    { "float32", "f" },
    { "float64", "g" },
    { "string", "u" },
    { "binary", "z" },
    { "date", "tdD" },
    { "date[ms]", "tdm" },
    { "time[s]", "tts" },
    { "time[ms]", "ttm" },
    { "time[us]", "ttu" },
    { "time[ns]", "ttn" },
    { "timestamp[s]", "tss:" },
    { "timestamp[ms]", "tsm:" },
    { "timestamp[us]", "tsu:" },
    { "timestamp[ns]", "tsn:" },
    { "duration[s]", "tDs" },
    { "duration[ms]", "tDm" },
    { "duration[us]", "tDu" },
    { "duration[ns]", "tDn" },
    { "interval[month]", "tiM" },
    { "interval[day_ms]", "tiD" },
    { "interval[month_day_ns]", "tin" },
};

#define WORDS_KNOWN                                                                                               \
    "null, bool, int8 to int64, uint8 to uint64, float16, float32, float64, decimal(P,S), string, binary, "       \
    "fixed_binary(N), uuid, date, date[ms], time[U], timestamp[U], timestamp[U,ZONE], duration[U] (U: s, ms, us," \
    " ns), interval[month], interval[day_ms], interval[month_day_ns], {\"list\":T}, {\"map\":[K,V]}, "            \
    "{\"struct\":[…]}, {\"union\":[…]}"

/* ---------------------------------------------------------------- from schemas */

static lb_status words_of(const struct ArrowSchema *schema, bool quoted, int depth, lb_buf *out, lb_error *err);

static lb_status words_simple(const char *text, size_t size, bool quoted, lb_buf *out, lb_error *err)
{
    return quoted ? lb_print_json_string(out, text, size, err) : lb_buf_append(out, text, size, err);
}

static lb_status words_fields(const struct ArrowSchema *schema, const int8_t *ids, int depth, lb_buf *out,
                              lb_error *err)
{
    lb_str mark;
    bool first = true;

    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *c = schema->children[i];
        const char *name = c->name == NULL ? "" : c->name;
        if (ids != NULL && lb_schema_get_meta(c, LB_META_NULL_BRANCH, &mark))
            continue;
        LB_TRY(lb_buf_append_str(out, first ? "{" : ",{", err));
        first = false;
        if (ids != NULL)
            LB_TRY(lb_buf_printf(out, err, "\"id\":%d,", ids[i]));
        LB_TRY(lb_buf_append_str(out, "\"name\":", err));
        LB_TRY(lb_print_json_string(out, name, strlen(name), err));
        LB_TRY(lb_buf_append_str(out, ",\"type\":", err));
        LB_TRY(words_of(c, true, depth + 1, out, err));
        if (ids == NULL)
            LB_TRY(
                lb_buf_printf(out, err, ",\"nullable\":%s", (c->flags & ARROW_FLAG_NULLABLE) != 0 ? "true" : "false"));
        LB_TRY(lb_buf_append_str(out, "}", err));
    }
    return lb_buf_append_str(out, "]}", err);
}

static lb_status words_union(const struct ArrowSchemaView *v, int depth, lb_buf *out, lb_error *err)
{
    int8_t ids[128];
    memset(ids, 0, sizeof ids);
    /* The view checked that there are as many ids as children, each from 0 to 127. */
    (void)_ArrowParseUnionTypeIds(v->union_type_ids, ids);
    LB_TRY(lb_buf_append_str(out, "{\"union\":[", err));
    return words_fields(v->schema, ids, depth, out, err);
}

static lb_status words_map(const struct ArrowSchema *entries, int depth, lb_buf *out, lb_error *err)
{
    LB_TRY(lb_buf_append_str(out, "{\"map\":[", err));
    LB_TRY(words_of(entries->children[0], true, depth + 1, out, err));
    LB_TRY(lb_buf_append_str(out, ",", err));
    LB_TRY(words_of(entries->children[1], true, depth + 1, out, err));
    return lb_buf_append_str(out, "]}", err);
}

static lb_status words_timestamp(const struct ArrowSchemaView *v, bool quoted, lb_buf *out, lb_error *err)
{
    lb_buf text;
    lb_buf_init(&text, out->budget);
    lb_status s = lb_buf_printf(&text, err, "timestamp[%s%s%s]", ArrowTimeUnitString(v->time_unit),
                                v->timezone[0] == '\0' ? "" : ",", v->timezone);
    if (s == LB_OK)
        s = words_simple((const char *)text.data, text.size, quoted, out, err);
    lb_buf_free(&text);
    return s;
}

static lb_status words_plain(const struct ArrowSchemaView *v, bool quoted, lb_buf *out, lb_error *err)
{
    char text[64];
    int n = -1;
    switch (v->type) {
    case NANOARROW_TYPE_STRING_VIEW:
    case NANOARROW_TYPE_LARGE_STRING:
        return words_simple("string", 6, quoted, out, err);
    case NANOARROW_TYPE_BINARY_VIEW:
    case NANOARROW_TYPE_LARGE_BINARY:
        return words_simple("binary", 6, quoted, out, err);
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        n = snprintf(text, sizeof text, "decimal(%d,%d)", v->decimal_precision, v->decimal_scale);
        break;
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        if (v->fixed_size == 16 && lb_str_is(lb_schema_extension(v->schema), "arrow.uuid"))
            return words_simple("uuid", 4, quoted, out, err);
        n = snprintf(text, sizeof text, "fixed_binary(%d)", v->fixed_size);
        break;
    case NANOARROW_TYPE_TIMESTAMP:
        return words_timestamp(v, quoted, out, err);
    default:
        for (size_t i = 0; i < LB_COUNT_OF(simple_types); i++)
            if (strcmp(simple_types[i].format, v->schema->format) == 0)
                return words_simple(simple_types[i].word, strlen(simple_types[i].word), quoted, out, err);
    }
    if (n < 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "Arrow type '%.40s' is not supported", v->schema->format);
    return words_simple(text, (size_t)n, quoted, out, err);
}

static lb_status words_of(const struct ArrowSchema *schema, bool quoted, int depth, lb_buf *out, lb_error *err)
{
    struct ArrowSchemaView v;
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    LB_TRY(lb_schema_view(schema, &v, err));
    switch (v.type) {
    case NANOARROW_TYPE_DICTIONARY:
        return words_of(schema->dictionary, quoted, depth + 1, out, err);
    case NANOARROW_TYPE_RUN_END_ENCODED:
        return words_of(schema->children[1], quoted, depth + 1, out, err);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
    case NANOARROW_TYPE_LIST_VIEW:
    case NANOARROW_TYPE_LARGE_LIST_VIEW:
        LB_TRY(lb_buf_append_str(out, "{\"list\":", err));
        LB_TRY(words_of(schema->children[0], true, depth + 1, out, err));
        return lb_buf_append_str(out, "}", err);
    case NANOARROW_TYPE_MAP:
        return words_map(schema->children[0], depth, out, err);
    case NANOARROW_TYPE_STRUCT:
        LB_TRY(lb_buf_append_str(out, "{\"struct\":[", err));
        return words_fields(schema, NULL, depth, out, err);
    case NANOARROW_TYPE_SPARSE_UNION:
    case NANOARROW_TYPE_DENSE_UNION:
        return words_union(&v, depth, out, err);
    default:
        return words_plain(&v, quoted, out, err);
    }
}

lb_status lb_type_words(const struct ArrowSchema *schema, bool quoted, lb_buf *out, lb_error *err)
{
    return words_of(schema, quoted, 0, out, err);
}

LB_API size_t lb_type_json(const struct ArrowSchema *type, char *out, size_t cap)
{
    lb_buf text;
    lb_buf_init(&text, NULL);
    if (lb_type_words(type, true, &text, NULL) != LB_OK)
        text.size = 0;
    size_t size = text.size, kept = cap == 0 ? 0 : LB_MIN(size, cap - 1);
    if (kept != 0)
        memcpy(out, text.data, kept);
    if (cap != 0)
        out[kept] = '\0';
    lb_buf_free(&text);
    return size;
}

/* ---------------------------------------------------------------- to schemas */

typedef struct words_reader {
    const char *p, *end;
    int depth;
} words_reader;

static lb_status words_bad(const words_reader *r, lb_error *err)
{
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "no type starts at '%.*s'; types are " WORDS_KNOWN,
                   (int)LB_MIN(r->end - r->p, 40), r->p);
}

static void words_blanks(words_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static bool words_take(words_reader *r, const char *token)
{
    size_t n = strlen(token);
    words_blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, token, n) != 0)
        return false;
    r->p += n;
    return true;
}

static bool words_hex4(words_reader *r, uint32_t *out)
{
    *out = 0;
    if (r->end - r->p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *r->p++;
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static bool words_escape(words_reader *r, uint32_t *cp)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint32_t low;
    if (r->p == r->end)
        return false;
    char c = *r->p++;
    const char *at = memchr(from, c, sizeof from - 1);
    if (at != NULL) {
        *cp = (uint8_t)to[at - from];
        return true;
    }
    if (c != 'u' || !words_hex4(r, cp) || (*cp >= 0xdc00 && *cp <= 0xdfff))
        return false;
    if (*cp < 0xd800 || *cp > 0xdbff)
        return *cp != 0;
    if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u')
        return false;
    r->p += 2;
    if (!words_hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* A JSON string into `out`, which is emptied first. NUL characters are refused, for names end in one. */
static lb_status words_string(words_reader *r, lb_buf *out, lb_error *err)
{
    out->size = 0;
    if (!words_take(r, "\""))
        return words_bad(r, err);
    while (r->p < r->end && *r->p != '"') {
        uint8_t bytes[4] = { (uint8_t)*r->p };
        size_t n = 1;
        uint32_t cp;
        if (*r->p++ == '\\') {
            if (!words_escape(r, &cp))
                return words_bad(r, err);
            n = lb_utf8_encode(cp, bytes);
        }
        LB_TRY(lb_buf_append(out, bytes, n, err));
    }
    return words_take(r, "\"") ? LB_OK : words_bad(r, err);
}

/* A whole number of at most four digits, with a sign if `negative`; what `stop` says follows. */
static bool words_int(lb_str *text, bool negative, char stop, int *out)
{
    size_t i = 0;
    bool minus = negative && text->size != 0 && text->at[0] == '-';
    int v = 0;
    if (minus)
        i++;
    size_t first = i;
    for (; i < text->size && text->at[i] >= '0' && text->at[i] <= '9' && i - first < 9; i++)
        v = v * 10 + (text->at[i] - '0');
    if (i == first || i >= text->size || text->at[i] != stop)
        return false;
    *out = minus ? -v : v;
    text->at += i + 1;
    text->size -= i + 1;
    return true;
}

static bool words_prefix(lb_str *text, const char *prefix)
{
    size_t n = strlen(prefix);
    if (text->size < n || memcmp(text->at, prefix, n) != 0)
        return false;
    text->at += n;
    text->size -= n;
    return true;
}

/* Type of a format string made here; `out` is unset on error. */
static lb_status words_make(struct ArrowSchema *out, const char *format, lb_error *err)
{
    ArrowSchemaInit(out);
    int code = ArrowSchemaSetFormat(out, format);
    if (code != NANOARROW_OK) {
        ArrowSchemaRelease(out);
        out->release = NULL;
    }
    return lb_fail_arrow(err, code, NULL);
}

static lb_status words_zone(lb_str text, struct ArrowSchema *out, bool *known, lb_error *err)
{
    static const struct {
        const char *words;
        char unit;
    } units[] = { { "s,", 's' }, { "ms,", 'm' }, { "us,", 'u' }, { "ns,", 'n' } };
    for (size_t i = 0; i < LB_COUNT_OF(units); i++) {
        lb_str rest = text;
        if (!words_prefix(&rest, units[i].words) || rest.size < 2 || rest.at[rest.size - 1] != ']')
            continue;
        lb_buf format;
        lb_buf_init(&format, NULL);
        lb_status s =
            lb_buf_printf(&format, err, "ts%c:%.*s", units[i].unit, (int)LB_MIN(rest.size - 1, 1000u), rest.at);
        const char *made = s == LB_OK ? lb_buf_text(&format) : NULL;
        if (s == LB_OK)
            s = made == NULL ? lb_fail_nomem(err) : words_make(out, made, err);
        lb_buf_free(&format);
        *known = true;
        return s;
    }
    return LB_OK;
}

static lb_status words_uuid(struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(words_make(out, "w:16", err));
    lb_status s = lb_schema_set_meta(out, "ARROW:extension:name", LB_STR("arrow.uuid"), err);
    if (s == LB_OK)
        s = lb_schema_set_meta(out, "ARROW:extension:metadata", LB_STR(""), err);
    if (s != LB_OK) {
        ArrowSchemaRelease(out);
        out->release = NULL;
    }
    return s;
}

/* Types with numbers or a zone in brackets. */
static lb_status words_param(lb_str text, struct ArrowSchema *out, bool *known, lb_error *err)
{
    char format[64];
    int p, s;
    lb_str rest = text;
    if (words_prefix(&rest, "timestamp["))
        return words_zone(rest, out, known, err);
    if (words_prefix(&rest, "decimal(") && words_int(&rest, false, ',', &p) && words_int(&rest, true, ')', &s) &&
        rest.size == 0 && p >= 1 && p <= 76 && s >= -LB_SCALE_MAX && s <= LB_SCALE_MAX) {
        (void)snprintf(format, sizeof format, p <= 38 ? "d:%d,%d" : "d:%d,%d,256", p, s);
        *known = true;
        return words_make(out, format, err);
    }
    rest = text;
    if (words_prefix(&rest, "fixed_binary(") && words_int(&rest, false, ')', &p) && rest.size == 0 && p >= 1) {
        (void)snprintf(format, sizeof format, "w:%d", p);
        *known = true;
        return words_make(out, format, err);
    }
    return LB_OK;
}

static lb_status words_to_simple(lb_str text, struct ArrowSchema *out, lb_error *err)
{
    bool known = false;
    for (size_t i = 0; i < LB_COUNT_OF(simple_types); i++)
        if (lb_str_is(text, simple_types[i].word))
            return words_make(out, simple_types[i].format, err);
    if (lb_str_is(text, "uuid"))
        return words_uuid(out, err);
    LB_TRY(words_param(text, out, &known, err));
    if (known)
        return LB_OK;
    return lb_fail(err, LB_USAGE, LB_NOWHERE, "unknown type '%.*s'; types are " WORDS_KNOWN,
                   (int)LB_MIN(text.size, 60u), text.at);
}

static lb_status words_read(words_reader *r, struct ArrowSchema *out, lb_error *err);

/* Read a type into child `i`, named and nullable. */
static lb_status words_child(words_reader *r, struct ArrowSchema *parent, int64_t i, const char *name, lb_error *err)
{
    struct ArrowSchema *c = parent->children[i];
    LB_TRY(words_read(r, c, err));
    c->flags |= ARROW_FLAG_NULLABLE;
    return lb_fail_arrow(err, ArrowSchemaSetName(c, name), NULL);
}

static lb_status words_list(words_reader *r, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetFormat(out, "+l"), NULL));
    LB_TRY(lb_fail_arrow(err, ArrowSchemaAllocateChildren(out, 1), NULL));
    return words_child(r, out, 0, "item", err);
}

static lb_status words_read_map(words_reader *r, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetFormat(out, "+m"), NULL));
    LB_TRY(lb_fail_arrow(err, ArrowSchemaAllocateChildren(out, 1), NULL));
    struct ArrowSchema *entries = out->children[0];
    ArrowSchemaInit(entries);
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetFormat(entries, "+s"), NULL));
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetName(entries, "entries"), NULL));
    LB_TRY(lb_fail_arrow(err, ArrowSchemaAllocateChildren(entries, 2), NULL));
    entries->flags &= ~ARROW_FLAG_NULLABLE;
    if (!words_take(r, "["))
        return words_bad(r, err);
    LB_TRY(words_child(r, entries, 0, "key", err));
    entries->children[0]->flags &= ~ARROW_FLAG_NULLABLE;
    if (!words_take(r, ","))
        return words_bad(r, err);
    LB_TRY(words_child(r, entries, 1, "value", err));
    return words_take(r, "]") ? LB_OK : words_bad(r, err);
}

/* Fields are collected first: their number is known only at the end. */
typedef struct words_list_of {
    struct ArrowSchema *items;
    size_t count, cap;
} words_list_of;

static lb_status words_more(words_list_of *list, lb_error *err)
{
    if (list->count < list->cap)
        return LB_OK;
    size_t cap = list->cap == 0 ? 8 : list->cap * 2;
    struct ArrowSchema *more = realloc(list->items, cap * sizeof *more);
    if (more == NULL)
        return lb_fail_nomem(err);
    list->items = more;
    list->cap = cap;
    return LB_OK;
}

static void words_drop(words_list_of *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].release != NULL)
            ArrowSchemaRelease(&list->items[i]);
    free(list->items);
}

/* The keys of one field object, in any order. */
static lb_status words_field(words_reader *r, struct ArrowSchema *out, int *id, lb_buf *key, lb_buf *name,
                             lb_error *err)
{
    bool nullable = true;
    name->size = 0;
    if (!words_take(r, "{"))
        return words_bad(r, err);
    do {
        LB_TRY(words_string(r, key, err));
        lb_str k = { (const char *)key->data, key->size };
        if (!words_take(r, ":"))
            return words_bad(r, err);
        if (lb_str_is(k, "name")) {
            LB_TRY(words_string(r, name, err));
        } else if (lb_str_is(k, "type") && out->release == NULL) {
            LB_TRY(words_read(r, out, err));
        } else if (lb_str_is(k, "nullable")) {
            nullable = words_take(r, "true");
            if (!nullable && !words_take(r, "false"))
                return words_bad(r, err);
        } else if (lb_str_is(k, "id")) {
            words_blanks(r);
            for (*id = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9' && *id < 1000; r->p++)
                *id = *id * 10 + (*r->p - '0');
        } else {
            return words_bad(r, err);
        }
    } while (words_take(r, ","));
    if (!words_take(r, "}") || out->release == NULL)
        return words_bad(r, err);
    out->flags = nullable ? out->flags | ARROW_FLAG_NULLABLE : out->flags & ~ARROW_FLAG_NULLABLE;
    return lb_schema_set_name(out, (lb_str){ (const char *)name->data, name->size }, err);
}

static lb_status words_adopt(words_list_of *list, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(lb_fail_arrow(err, ArrowSchemaAllocateChildren(out, (int64_t)list->count), NULL));
    for (size_t i = 0; i < list->count; i++)
        ArrowSchemaMove(&list->items[i], out->children[i]);
    return LB_OK;
}

static lb_status words_union_format(lb_buf *format, const int *ids, size_t count, struct ArrowSchema *out,
                                    lb_error *err)
{
    format->size = 0;
    LB_TRY(lb_buf_append_str(format, "+ud:", err));
    for (size_t i = 0; i < count; i++)
        LB_TRY(lb_buf_printf(format, err, i == 0 ? "%d" : ",%d", ids[i]));
    const char *text = lb_buf_text(format);
    return text == NULL ? lb_fail_nomem(err) : lb_fail_arrow(err, ArrowSchemaSetFormat(out, text), NULL);
}

/* A member without a name of its own. */
static lb_status words_bare(words_reader *r, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(words_read(r, out, err));
    return lb_fail_arrow(err, ArrowSchemaSetName(out, ""), NULL);
}

/* `[{…},…]` of a struct or a union; items of a union may also be bare types. */
static lb_status words_members(words_reader *r, bool is_union, struct ArrowSchema *out, lb_error *err)
{
    words_list_of list = { NULL, 0, 0 };
    lb_buf key, name;
    int ids[128];
    lb_status s = LB_OK;
    lb_buf_init(&key, NULL);
    lb_buf_init(&name, NULL);
    if (!words_take(r, "["))
        s = words_bad(r, err);
    bool more = s == LB_OK && !words_take(r, "]");
    while (s == LB_OK && more) {
        if (is_union && list.count == 127) {
            s = lb_fail(err, LB_USAGE, LB_NOWHERE, "a union has at most 127 types");
            break;
        }
        if ((s = words_more(&list, err)) != LB_OK)
            break;
        int id = (int)list.count;
        struct ArrowSchema *item = &list.items[list.count++];
        item->release = NULL;
        words_reader peek = *r;
        bool object = words_take(&peek, "{") && words_string(&peek, &key, NULL) == LB_OK &&
                      (lb_str_is((lb_str){ (char *)key.data, key.size }, "name") ||
                       lb_str_is((lb_str){ (char *)key.data, key.size }, "type") ||
                       lb_str_is((lb_str){ (char *)key.data, key.size }, "id"));
        s = object || !is_union ? words_field(r, item, &id, &key, &name, err) : words_bare(r, item, err);
        if (s == LB_OK && is_union && id > 127)
            s = words_bad(r, err);
        if (is_union)
            ids[list.count - 1] = id;
        more = words_take(r, ",");
        if (s == LB_OK && !more && !words_take(r, "]"))
            s = words_bad(r, err);
    }
    if (s == LB_OK)
        s = is_union ? words_union_format(&name, ids, list.count, out, err)
                     : lb_fail_arrow(err, ArrowSchemaSetFormat(out, "+s"), NULL);
    if (s == LB_OK)
        s = words_adopt(&list, out, err);
    words_drop(&list);
    lb_buf_free(&key);
    lb_buf_free(&name);
    return s;
}

static lb_status words_nested(words_reader *r, struct ArrowSchema *out, lb_error *err)
{
    lb_status s;
    ArrowSchemaInit(out);
    if (words_take(r, "\"list\"") && words_take(r, ":"))
        s = words_list(r, out, err);
    else if (words_take(r, "\"map\"") && words_take(r, ":"))
        s = words_read_map(r, out, err);
    else if (words_take(r, "\"struct\"") && words_take(r, ":"))
        s = words_members(r, false, out, err);
    else if (words_take(r, "\"union\"") && words_take(r, ":"))
        s = words_members(r, true, out, err);
    else
        s = words_bad(r, err);
    if (s == LB_OK && !words_take(r, "}"))
        s = words_bad(r, err);
    if (s != LB_OK) {
        ArrowSchemaRelease(out);
        out->release = NULL;
    }
    return s;
}

static lb_status words_read(words_reader *r, struct ArrowSchema *out, lb_error *err)
{
    lb_status s;
    out->release = NULL;
    if (r->depth >= LB_TYPE_DEPTH)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    r->depth++;
    if (words_take(r, "{")) {
        s = words_nested(r, out, err);
    } else {
        lb_buf text;
        lb_buf_init(&text, NULL);
        s = words_string(r, &text, err);
        if (s == LB_OK)
            s = words_to_simple((lb_str){ (const char *)text.data, text.size }, out, err);
        lb_buf_free(&text);
    }
    r->depth--;
    return s;
}

lb_status lb_type_of_words(const char *words, struct ArrowSchema *out, lb_error *err)
{
    words_reader r = { words, words + strlen(words), 0 };
    out->release = NULL;
    words_blanks(&r);
    if (r.p == r.end || (*r.p != '{' && *r.p != '"'))
        return words_to_simple((lb_str){ words, strlen(words) }, out, err);
    LB_TRY(words_read(&r, out, err));
    words_blanks(&r);
    struct ArrowSchemaView v;
    lb_status s = r.p == r.end ? lb_schema_view(out, &v, NULL) : LB_USAGE;
    if (s != LB_OK) {
        ArrowSchemaRelease(out);
        out->release = NULL;
        return words_bad(&r, err);
    }
    return LB_OK;
}
