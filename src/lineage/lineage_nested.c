#include "lineage/lineage_nested.h"

const lb_nested_type lb_nested_scalar = { .kind = LB_TYPE_SCALAR };

typedef struct nested_reader {
    lb_arena *arena;
    const char *at, *end;
    bool bad; /* sticky: not well formed */
} nested_reader;

lb_str lb_lower_copy(lb_arena *arena, lb_str text, bool lend)
{
    size_t i = 0;

    while (i < text.size && !(text.at[i] >= 'A' && text.at[i] <= 'Z'))
        i++;
    if (lend && i == text.size)
        return text.at != NULL ? text : LB_STR("");
    char *copy = lb_arena_alloc(arena, text.size + 1, 1);
    if (copy == NULL)
        return (lb_str){ NULL, 0 };
    for (i = 0; i < text.size; i++)
        copy[i] = text.at[i] >= 'A' && text.at[i] <= 'Z' ? (char)(text.at[i] | 0x20) : text.at[i];
    return (lb_str){ copy, text.size };
}

static void nested_blanks(nested_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool nested_take(nested_reader *r, char c)
{
    nested_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool nested_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

/* A plain or quoted name; of no bytes: there is none. */
static lb_str nested_word(nested_reader *r)
{
    nested_blanks(r);
    const char *from = r->at;
    if (r->at < r->end && *r->at == '`') {
        const char *close = memchr(r->at + 1, '`', (size_t)(r->end - r->at - 1));
        if (close != NULL) {
            r->at = close + 1;
            return (lb_str){ from + 1, (size_t)(close - from - 1) };
        }
    }
    while (r->at < r->end && nested_is_word(*r->at))
        r->at++;
    return (lb_str){ from, (size_t)(r->at - from) };
}

/* Step over a `comment '…'` after a struct's field. */
static void nested_comment(nested_reader *r)
{
    nested_blanks(r);
    if (r->end - r->at < 7 || !lb_str_is_nocase((lb_str){ r->at, 7 }, "comment"))
        return;
    r->at += 7;
    nested_blanks(r);
    char quote = r->at < r->end ? *r->at : '\0';
    if (quote != '\'' && quote != '"') {
        r->bad = true;
        return;
    }
    for (r->at++; r->at < r->end && *r->at != quote; r->at++)
        if (*r->at == '\\' && r->at + 1 < r->end)
            r->at++;
    if (r->at < r->end)
        r->at++;
}

/* The rest of a scalar type: `(10,2)`, `double precision`. */
static void nested_scalar_rest(nested_reader *r)
{
    while (r->at < r->end && *r->at != ',' && *r->at != '>' && *r->at != '(') {
        if (r->end - r->at >= 7 && lb_str_is_nocase((lb_str){ r->at, 7 }, "comment"))
            return;
        r->at++;
    }
    if (r->at < r->end && *r->at == '(') {
        const char *close = memchr(r->at, ')', (size_t)(r->end - r->at));
        r->at = close == NULL ? r->end : close + 1;
    }
}

static const lb_nested_type *nested_type(nested_reader *r, int depth);

typedef struct nested_field_node {
    struct nested_field_node *next;
    lb_nested_field field;
} nested_field_node;

static void nested_struct(nested_reader *r, int depth, lb_nested_type *out)
{
    nested_field_node *first = NULL, **end = &first;

    do {
        nested_field_node *node = lb_arena_alloc(r->arena, 1, sizeof *node);
        lb_str name = nested_word(r);
        if (node == NULL || name.size == 0 || r->bad) {
            r->bad = true;
            return;
        }
        nested_take(r, ':'); /* `name type` is fine too */
        node->field.name = lb_lower_copy(r->arena, name, false);
        node->field.type = nested_type(r, depth);
        if (node->field.name.at == NULL || node->field.type == NULL)
            r->bad = true;
        nested_comment(r);
        *end = node;
        end = &node->next;
        out->n_fields++;
    } while (!r->bad && nested_take(r, ','));

    lb_nested_field *fields = lb_arena_alloc(r->arena, out->n_fields, sizeof *fields);
    if (fields == NULL) {
        r->bad = true;
        return;
    }
    out->fields = fields;
    for (const nested_field_node *node = first; node != NULL; node = node->next)
        *fields++ = node->field;
}

static const lb_nested_type *nested_type(nested_reader *r, int depth)
{
    lb_str word = nested_word(r);
    lb_type_kind kind = lb_str_is_nocase(word, "array")    ? LB_TYPE_ARRAY
                        : lb_str_is_nocase(word, "map")    ? LB_TYPE_MAP
                        : lb_str_is_nocase(word, "struct") ? LB_TYPE_STRUCT
                                                           : LB_TYPE_SCALAR;
    r->bad |= word.size == 0 || depth == 0;
    if (r->bad)
        return &lb_nested_scalar;
    if (kind == LB_TYPE_SCALAR || !nested_take(r, '<')) {
        nested_scalar_rest(r);
        return &lb_nested_scalar;
    }
    lb_nested_type *type = lb_arena_alloc(r->arena, 1, sizeof *type);
    if (type == NULL)
        return NULL;
    type->kind = kind;
    if (kind == LB_TYPE_STRUCT) {
        nested_struct(r, depth - 1, type);
    } else {
        if (kind == LB_TYPE_MAP) {
            type->key = nested_type(r, depth - 1);
            r->bad |= !nested_take(r, ',');
        }
        type->item = nested_type(r, depth - 1);
    }
    r->bad |= !nested_take(r, '>');
    return type;
}

const lb_nested_type *lb_nested_parse(lb_arena *arena, lb_str text)
{
    nested_reader r = { .arena = arena, .at = text.at, .end = text.at + text.size };

    arena->why = LB_OK;
    const lb_nested_type *type = text.size == 0 ? &lb_nested_scalar : nested_type(&r, LB_NESTED_DEPTH);
    if (arena->why != LB_OK)
        return NULL;
    nested_blanks(&r);
    return r.bad || r.at != r.end ? &lb_nested_scalar : type;
}
