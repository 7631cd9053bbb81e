/* Values as Arrow arrays: a tree of fields in the shape of the schema, over columns that grow (column/append.h). */
#include "base/datetime.h"
#include "base/number.h"
#include "column/values.h"
#include "format/msgpack/msgpack.h"
#include "io/text.h"

/* Keys that no column has are learnt, so that they are known at a glance; so many of them. */
#define BUILD_LEARNT_KEYS 4096

typedef enum build_kind {
    BUILD_NULL,
    BUILD_BOOL,
    BUILD_INT,
    BUILD_UINT,
    BUILD_DOUBLE,
    BUILD_DAYS,
    BUILD_CLOCK,
    BUILD_INSTANT,
    BUILD_DECIMAL,
    BUILD_TEXT,
    BUILD_BINARY,
    BUILD_EXTENSION, /* a struct of a number and bytes, as extensions are */
    BUILD_STRUCT,
    BUILD_LIST,
    BUILD_MAP
} build_kind;

struct mp_field {
    build_kind kind;
    lb_growing *to;
    bool utc;          /* INSTANT: with a zone */
    int64_t unit;      /* CLOCK, INSTANT: counts a second */
    int digits, scale; /* DECIMAL */
    size_t n_children;
    mp_field *children; /* STRUCT: fields; LIST: items; MAP: keys and values */
    mp_field *same;     /* STRUCT's fields: the next one of that name */
    lb_keys keys;       /* STRUCT: names of fields, then learnt ones */
    size_t n_named;
    mp_field **named; /* the first field of each name */
};

/* ---------------------------------------------------------------- making */

static lb_status build_make(mp_build *b, const struct ArrowSchema *schema, lb_growing *to, mp_field *out,
                            lb_error *err);

static lb_status build_children(mp_build *b, struct ArrowSchema *const *fields, lb_growing *to, mp_field *out,
                                lb_error *err)
{
    out->children = lb_arena_alloc(b->arena, to->n_children, sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(b->arena, err);
    for (; out->n_children < to->n_children; out->n_children++) {
        const size_t i = out->n_children;
        LB_TRY(build_make(b, fields[i], &to->children[i], &out->children[i], err));
    }
    return LB_OK;
}

static lb_status build_names(mp_build *b, const struct ArrowSchema *schema, mp_field *out, lb_error *err)
{
    out->named = lb_arena_alloc(b->arena, out->n_children, sizeof(mp_field *));
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

static bool build_is_extension(const struct ArrowSchema *schema)
{
    return schema->n_children == 2 && strcmp(schema->children[0]->format, "c") == 0 &&
           strcmp(schema->children[0]->name, "type") == 0 && strcmp(schema->children[1]->format, "z") == 0 &&
           strcmp(schema->children[1]->name, "data") == 0;
}

static lb_status build_refuse(const struct ArrowSchema *schema, lb_error *err)
{
    lb_buf words;

    lb_buf_init(&words, NULL);
    lb_status status = lb_type_words(schema, false, &words, err);
    if (status == LB_OK)
        status = lb_fail(err, LB_USAGE, LB_NOWHERE, "MessagePack is not read as %.*s", (int)LB_MIN(words.size, 200),
                         (const char *)words.data);
    lb_buf_free(&words);
    return status;
}

static lb_status build_kind_of(const struct ArrowSchemaView *v, mp_field *out)
{
    switch (v->type) {
    case NANOARROW_TYPE_NA:
        out->kind = BUILD_NULL;
        return LB_OK;
    case NANOARROW_TYPE_BOOL:
        out->kind = BUILD_BOOL;
        return LB_OK;
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
        out->kind = BUILD_INT;
        return LB_OK;
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        out->kind = BUILD_UINT;
        return LB_OK;
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        out->kind = BUILD_DOUBLE;
        return LB_OK;
    case NANOARROW_TYPE_DATE32:
        out->kind = BUILD_DAYS;
        return LB_OK;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        out->kind = BUILD_CLOCK;
        out->unit = lb_unit_of(v->time_unit);
        return LB_OK;
    case NANOARROW_TYPE_TIMESTAMP:
        out->kind = BUILD_INSTANT;
        out->utc = v->timezone != NULL && v->timezone[0] != '\0';
        out->unit = lb_unit_of(v->time_unit);
        return LB_OK;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        out->kind = BUILD_DECIMAL;
        out->digits = v->decimal_precision;
        out->scale = v->decimal_scale;
        return LB_OK;
    case NANOARROW_TYPE_STRING:
        out->kind = BUILD_TEXT;
        return LB_OK;
    case NANOARROW_TYPE_BINARY:
        out->kind = BUILD_BINARY;
        return LB_OK;
    case NANOARROW_TYPE_STRUCT:
        out->kind = BUILD_STRUCT;
        return LB_OK;
    case NANOARROW_TYPE_LIST:
        out->kind = BUILD_LIST;
        return LB_OK;
    case NANOARROW_TYPE_MAP:
        out->kind = BUILD_MAP;
        return LB_OK;
    default:
        return LB_USAGE;
    }
}

static lb_status build_make(mp_build *b, const struct ArrowSchema *schema, lb_growing *to, mp_field *out, lb_error *err)
{
    struct ArrowSchemaView view;

    out->to = to;
    LB_TRY(lb_schema_view(schema, &view, err));
    if (build_kind_of(&view, out) != LB_OK)
        return build_refuse(schema, err);
    switch (out->kind) {
    case BUILD_STRUCT:
        if (build_is_extension(schema))
            out->kind = BUILD_EXTENSION;
        LB_TRY(build_children(b, schema->children, to, out, err));
        return build_names(b, schema, out, err);
    case BUILD_LIST:
        return build_children(b, schema->children, to, out, err);
    case BUILD_MAP:
        LB_TRY(build_children(b, schema->children[0]->children, to, out, err));
        return out->children[0].kind == BUILD_TEXT ? LB_OK : build_refuse(schema, err);
    default:
        return LB_OK;
    }
}

lb_status mp_build_make(mp_build *b, const struct ArrowSchema *schema, lb_growing *rows, mp_field **out, lb_error *err)
{
    *out = lb_arena_alloc(b->arena, 1, sizeof **out);
    if (*out == NULL)
        return lb_arena_fail(b->arena, err);
    (*out)->to = rows;
    (*out)->kind = BUILD_STRUCT;
    LB_TRY(build_children(b, schema->children, rows, *out, err));
    return build_names(b, schema, *out, err);
}

void mp_build_free(mp_build *b)
{
    lb_buf_free(&b->text);
    lb_buf_free(&b->replaced);
    lb_buf_free(&b->list);
    lb_buf_free(&b->key);
}

/* ---------------------------------------------------------------- plain values */

static bool build_value(mp_build *b, mp_field *f, mp_cursor *c);

static bool build_wrong(mp_build *b, const uint8_t *at)
{
    if (b->append.status == LB_OK && b->wrong_at == NULL)
        b->wrong_at = at;
    return false;
}

static bool build_int(mp_build *b, mp_field *f, const lb_msgpack_token *t, const uint8_t *at)
{
    const uint32_t width = f->to->width;
    const int64_t most = width == 8 ? INT64_MAX : ((int64_t)1 << (8 * width - 1)) - 1;

    if (t->kind != LB_MSGPACK_INT || t->i > most || t->i < -most - 1)
        return build_wrong(b, at);
    return width == 8 ? lb_growing_fixed(&b->append, f->to, &t->i, 8)
                      : lb_growing_fixed(&b->append, f->to, &t->i, width);
}

static bool build_uint(mp_build *b, mp_field *f, const lb_msgpack_token *t, const uint8_t *at)
{
    const uint32_t width = f->to->width;
    const uint64_t most = width == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * width)) - 1,
                   v = t->kind == LB_MSGPACK_UINT ? t->u : (uint64_t)t->i;

    if ((t->kind != LB_MSGPACK_UINT && (t->kind != LB_MSGPACK_INT || t->i < 0)) || v > most)
        return build_wrong(b, at);
    return lb_growing_fixed(&b->append, f->to, &v, width);
}

static bool build_double(mp_build *b, mp_field *f, const lb_msgpack_token *t, const uint8_t *at)
{
    double v = t->f;

    if (t->kind == LB_MSGPACK_INT)
        v = (double)t->i;
    else if (t->kind == LB_MSGPACK_UINT)
        v = (double)t->u;
    else if (t->kind != LB_MSGPACK_FLOAT)
        return build_wrong(b, at);
    const float single = (float)v;
    return f->to->width == 4 ? lb_growing_fixed(&b->append, f->to, &single, 4)
                             : lb_growing_fixed(&b->append, f->to, &v, 8);
}

/* A text of its own, or of a number: what a declared type is read of. */
static bool build_words(mp_build *b, mp_cursor *c, lb_str *out)
{
    b->text.size = 0;
    if (!mp_plain(c, &b->text, &b->append.status, b->append.err))
        return false;
    *out = (lb_str){ (const char *)b->text.data, b->text.size };
    return true;
}

static bool build_declared(mp_build *b, mp_field *f, mp_cursor *c, const uint8_t *at)
{
    lb_datetime v = { .days = 0 };
    lb_str text;
    lb_i256 decimal;
    int64_t count;

    if (!build_words(b, c, &text))
        return false;
    if (f->kind == BUILD_DECIMAL)
        return lb_parse_decimal(text.at, text.size, f->digits, f->scale, &decimal)
                   ? lb_growing_fixed(&b->append, f->to, decimal.w, f->to->width)
                   : build_wrong(b, at);
    const lb_datetime_kind kind = lb_datetime_parse(text.at, text.size, &v);
    if (f->kind == BUILD_DAYS)
        return kind == LB_DATE ? lb_growing_fixed(&b->append, f->to, &v.days, sizeof v.days) : build_wrong(b, at);
    const bool plain = kind == LB_TIMESTAMP || kind == LB_DATE;
    if (f->kind == BUILD_CLOCK ? kind != LB_TIME : f->utc ? kind != LB_TIMESTAMP_UTC : !plain)
        return build_wrong(b, at);
    if (kind == LB_DATE)
        v.seconds = (int64_t)v.days * 86400;
    return lb_datetime_count(&v, f->unit, &count) ? lb_growing_fixed(&b->append, f->to, &count, f->to->width)
                                                  : build_wrong(b, at);
}

static bool build_instant(mp_build *b, mp_field *f, mp_cursor *c, const uint8_t *at)
{
    mp_cursor again = *c;
    lb_msgpack_token t;
    lb_stamp v;
    int64_t count;

    if (!mp_next(&again, &t))
        return build_wrong(b, at);
    if (t.kind != LB_MSGPACK_EXT || !mp_stamp(&t, &v))
        return build_declared(b, f, c, at);
    *c = again;
    return f->utc && f->unit >= 1000000 && lb_stamp_count(v, f->unit, &count)
               ? lb_growing_fixed(&b->append, f->to, &count, sizeof count)
               : build_wrong(b, at);
}

static bool build_text(mp_build *b, mp_field *f, mp_cursor *c)
{
    mp_cursor again = *c;
    lb_msgpack_token t;
    lb_str text;

    if (mp_next(&again, &t) && t.kind == LB_MSGPACK_STR && mp_is_text(&t)) {
        *c = again;
        return lb_growing_bytes(&b->append, f->to, t.data, (size_t)t.n);
    }
    return build_words(b, c, &text) && lb_growing_bytes(&b->append, f->to, text.at, text.size);
}

static bool build_extension(mp_build *b, mp_field *f, const lb_msgpack_token *t, const uint8_t *at)
{
    lb_stamp v;

    if (t->kind != LB_MSGPACK_EXT || mp_stamp(t, &v))
        return build_wrong(b, at);
    const int8_t type = (int8_t)t->i;
    return lb_growing_fixed(&b->append, f->children[0].to, &type, 1) &&
           lb_growing_bytes(&b->append, f->children[1].to, t->data, (size_t)t->n) &&
           lb_growing_struct(&b->append, f->to);
}

/* ---------------------------------------------------------------- nested ones */

static bool build_list(mp_build *b, mp_field *f, mp_cursor *c, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!build_value(b, &f->children[0], c))
            return false;
    return lb_growing_items(&b->append, f->to);
}

/* Bits of the pairs that later ones replace; *from SIZE_MAX: none. */
static bool build_replaced(mp_build *b, const mp_cursor *c, uint64_t n, size_t *from)
{
    const size_t size = b->replaced.size;
    bool any;

    *from = SIZE_MAX;
    if (n < 2)
        return true;
    if (!mp_find_replaced(*c, n, &b->list, &b->key, &b->replaced, &any, &b->append.status, b->append.err))
        return false;
    if (any)
        *from = size;
    else
        b->replaced.size = size;
    return true;
}

static bool build_map(mp_build *b, mp_field *f, mp_cursor *c, uint64_t n)
{
    const size_t size = b->replaced.size;
    size_t from;
    lb_str key;

    if (!build_replaced(b, c, n, &from))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        if (mp_is_replaced(&b->replaced, from, i)) {
            if (!mp_pass(c, 2))
                return false;
            continue;
        }
        if (!mp_key(c, &b->key, &key, &b->append.status, b->append.err) ||
            !lb_growing_bytes(&b->append, f->children[0].to, key.at, key.size) || !build_value(b, &f->children[1], c))
            return false;
    }
    b->replaced.size = size;
    return lb_growing_items(&b->append, f->to);
}

/* Where only a part of the file was looked at, a key may come that no column was made of: its values are not dropped in silence. */
static bool build_knows(mp_build *b, lb_str name, bool top)
{
    for (int64_t i = 0; top && !b->trusted && i < b->file->n_children; i++)
        if (lb_str_is(name, b->file->children[i]->name))
            return true;
    if (!b->trusted)
        b->unknown = name;
    return b->trusted;
}

/* The first field that the k-th key names; NULL: none. */
static mp_field *build_field(mp_build *b, mp_field *f, uint64_t k, lb_str name, bool top)
{
    size_t number = lb_keys_find(&f->keys, (size_t)k, name);

    if (number == LB_NO_KEY && !build_knows(b, name, top))
        return NULL;
    if (number == LB_NO_KEY && f->keys.count < f->n_named + BUILD_LEARNT_KEYS) {
        number = f->keys.count;
        if (lb_keys_add(&f->keys, b->arena, name, NULL) != LB_OK)
            return NULL;
    }
    if (number == LB_NO_KEY)
        return NULL;
    lb_keys_hint(&f->keys, b->arena, (size_t)k, number);
    return number < f->n_named ? f->named[number] : NULL;
}

/* The value at the cursor for a field and those of its name; of equal keys the last one counts. */
static bool build_fields(mp_build *b, const mp_field *f, mp_field *field, mp_cursor *c, size_t *filled)
{
    for (; field != NULL; field = field->same) {
        mp_cursor again = *c;
        if (field->to->length > f->to->length)
            lb_growing_truncate(field->to, f->to->length);
        else
            ++*filled;
        if (!build_value(b, field, field->same != NULL ? &again : c))
            return false;
    }
    return true;
}

/* A value that is not of its column's type does not matter if a later pair of the map, which begins at `begin`, has the same
 * key: it is taken back. */
static bool build_was_replaced(mp_build *b, const mp_cursor *begin, uint64_t n, uint64_t k)
{
    const size_t size = b->replaced.size;
    const uint8_t *wrong = b->wrong_at;
    size_t from;

    if (wrong == NULL || b->append.status != LB_OK || b->unknown.at != NULL || !build_replaced(b, begin, n, &from))
        return false;
    const bool replaced = mp_is_replaced(&b->replaced, from, k);
    b->replaced.size = size;
    b->wrong_at = replaced ? NULL : wrong;
    return replaced;
}

/* Fields that no pair filled are null. */
static bool build_missing(mp_build *b, const mp_field *f, size_t filled)
{
    for (size_t i = 0; filled != f->n_children && i < f->n_children; i++)
        if (f->children[i].to->length == f->to->length && !lb_growing_null(&b->append, f->children[i].to))
            return false;
    return true;
}

static bool build_pair(mp_build *b, mp_field *f, mp_cursor *c, uint64_t k, bool top, mp_field **field, size_t *filled)
{
    const size_t number = mp_hinted_key(&f->keys, k, c);
    lb_str name;

    if (number != LB_NO_KEY) {
        *field = number < f->n_named ? f->named[number] : NULL;
    } else {
        if (!mp_key(c, &b->key, &name, &b->append.status, b->append.err))
            return false;
        *field = build_field(b, f, k, name, top);
    }
    if (b->unknown.at != NULL)
        return false;
    if (top)
        b->top = *field;
    return *field == NULL ? mp_pass(c, 1) : build_fields(b, f, *field, c, filled);
}

/* The field of the next key, which is passed, if that is the k-th one as in the map before, and its only field has no value yet. */
static inline mp_field *build_hinted(const mp_field *f, uint64_t k, mp_cursor *c)
{
    const uint8_t *at = c->at;
    const size_t number = mp_hinted_key(&f->keys, k, c);

    if (number < f->n_named && f->named[number]->same == NULL && f->named[number]->to->length == f->to->length)
        return f->named[number];
    c->at = at;
    return NULL;
}

/* All pairs of a map into the fields. The struct itself is left to the caller. */
static bool build_struct(mp_build *b, mp_field *f, mp_cursor *c, uint64_t n, bool top)
{
    const mp_cursor begin = *c;
    const size_t size = b->replaced.size;
    size_t filled = 0;

    for (uint64_t k = 0; k < n; k++) {
        const uint8_t *pair = c->at; /* not the cursor: to copy what was just written to in part stalls */
        mp_field *field = build_hinted(f, k, c);
        if (field != NULL) { /* by far the most */
            if (top)
                b->top = field;
            filled++;
            if (build_value(b, field, c))
                continue;
        } else if (build_pair(b, f, c, k, top, &field, &filled)) {
            continue;
        }
        if (field == NULL || !build_was_replaced(b, &begin, n, k))
            return false;
        b->replaced.size = size;
        c->at = pair;
        for (mp_field *one = field; one != NULL; one = one->same)
            lb_growing_truncate(one->to, f->to->length);
        filled = SIZE_MAX / 2; /* not known: the fields are looked at one by one */
        if (!mp_pass(c, 2))
            return false;
    }
    return build_missing(b, f, filled);
}

/* ---------------------------------------------------------------- any value */

/* A text that stands in the window, behind which 64 bytes can be read: most are short, and copied in steps of 16 bytes. */
static inline bool build_bytes(mp_build *b, lb_growing *to, const lb_msgpack_token *t)
{
    const int64_t room = to->data.capacity_bytes - to->data.size_bytes;

    if (t->n > 32 || room < 32)
        return lb_growing_bytes(&b->append, to, t->data, (size_t)t->n);
    memcpy(to->data.data + to->data.size_bytes, t->data, 16);
    if (t->n > 16)
        memcpy(to->data.data + to->data.size_bytes + 16, t->data + 16, 16);
    to->data.size_bytes += (int64_t)t->n;
    b->append.bytes += t->n;
    return lb_append_end(&b->append, to, to->data.size_bytes) && lb_append_valid(&b->append, to);
}

/* A value that another token than a text's begins, or a text that is none. */
static bool build_other(mp_build *b, mp_field *f, mp_cursor *c, const lb_msgpack_token *t, const uint8_t *at)
{
    switch (f->kind) {
    case BUILD_BOOL:
        return t->kind == LB_MSGPACK_BOOL ? lb_growing_bool(&b->append, f->to, t->i != 0) : build_wrong(b, at);
    case BUILD_UINT:
        return build_uint(b, f, t, at);
    case BUILD_TEXT:
        c->at = at;
        return build_text(b, f, c);
    case BUILD_BINARY:
        return t->kind == LB_MSGPACK_BIN || t->kind == LB_MSGPACK_STR ? build_bytes(b, f->to, t) : build_wrong(b, at);
    case BUILD_EXTENSION:
        if (t->kind == LB_MSGPACK_EXT)
            return build_extension(b, f, t, at);
        return t->kind == LB_MSGPACK_MAP ? build_struct(b, f, c, t->n, false) && lb_growing_struct(&b->append, f->to)
                                         : build_wrong(b, at);
    case BUILD_MAP:
        return t->kind == LB_MSGPACK_MAP ? build_map(b, f, c, t->n) : build_wrong(b, at);
    case BUILD_INSTANT:
        c->at = at;
        return build_instant(b, f, c, at);
    case BUILD_DAYS:
    case BUILD_CLOCK:
    case BUILD_DECIMAL:
        c->at = at;
        return build_declared(b, f, c, at);
    default:
        return build_wrong(b, at);
    }
}

static bool build_value(mp_build *b, mp_field *f, mp_cursor *c)
{
    const uint8_t *at = c->at;
    lb_msgpack_token t;

    if (!mp_next(c, &t))
        return build_wrong(b, at);
    if (t.kind == LB_MSGPACK_NIL)
        return lb_growing_null(&b->append, f->to);
    switch (f->kind) {
    case BUILD_INT:
        return build_int(b, f, &t, at);
    case BUILD_DOUBLE:
        return build_double(b, f, &t, at);
    case BUILD_TEXT:
        return t.kind == LB_MSGPACK_STR && mp_is_text(&t) ? build_bytes(b, f->to, &t) : build_other(b, f, c, &t, at);
    case BUILD_STRUCT:
        return t.kind == LB_MSGPACK_MAP ? build_struct(b, f, c, t.n, false) && lb_growing_struct(&b->append, f->to)
                                        : build_wrong(b, at);
    case BUILD_LIST:
        return t.kind == LB_MSGPACK_ARRAY ? build_list(b, f, c, t.n) : build_wrong(b, at);
    default:
        return build_other(b, f, c, &t, at);
    }
}

/* A row that is an array: its places are the fields of their names. */
static bool build_places(mp_build *b, mp_field *rows, mp_cursor *c, uint64_t n)
{
    char own[MP_PLACE_NAME];
    size_t filled = 0;

    for (uint64_t i = 0; i < n; i++) {
        const lb_str name = mp_place_name(b->places, i, own);
        const size_t number = lb_keys_of(&rows->keys, name);
        mp_field *field = number != LB_NO_KEY && number < rows->n_named ? rows->named[number] : NULL;
        if (field == NULL && !build_knows(b, name, true))
            return false;
        if (field != NULL)
            b->top = field;
        if (!(field == NULL ? mp_pass(c, 1) : build_fields(b, rows, field, c, &filled)))
            return false;
    }
    return build_missing(b, rows, filled);
}

static bool build_as_value(mp_build *b, mp_field *rows, mp_cursor *c)
{
    const mp_cursor begin = *c;

    for (size_t i = 0; i < rows->n_children; i++) {
        *c = begin;
        b->top = &rows->children[i];
        if (!build_value(b, &rows->children[i], c))
            return false;
    }
    return rows->n_children != 0 || mp_pass(c, 1);
}

static bool build_row(mp_build *b, mp_field *rows, bool value, mp_cursor *c)
{
    const uint8_t *at = c->at;
    lb_msgpack_token t = { .kind = LB_MSGPACK_NIL };

    if (value)
        return build_as_value(b, rows, c);
    if (mp_next(c, &t) && t.kind == LB_MSGPACK_ARRAY && b->places != NULL)
        return build_places(b, rows, c, t.n);
    return t.kind == LB_MSGPACK_MAP ? build_struct(b, rows, c, t.n, true) : build_wrong(b, at);
}

bool mp_build_row(mp_build *b, mp_field *rows, bool value, mp_cursor *c)
{
    b->wrong_at = NULL;
    b->unknown = (lb_str){ NULL, 0 };
    b->top = NULL;
    b->column = 0;
    if (build_row(b, rows, value, c)) {
        rows->to->length++;
        return true;
    }
    if (b->top != NULL)
        b->column = (size_t)(b->top - rows->children);
    return false;
}

bool mp_build_try(mp_build *b, mp_field *rows, bool value, mp_cursor *c)
{
    const uint64_t bytes = b->append.bytes;

    b->append.err = NULL;
    if (mp_build_row(b, rows, value, c))
        return true;
    b->append.status = LB_OK;
    b->append.bytes = bytes;
    b->replaced.size = 0;
    for (size_t i = 0; i < rows->n_children; i++)
        lb_growing_truncate(rows->children[i].to, rows->to->length);
    return false;
}
