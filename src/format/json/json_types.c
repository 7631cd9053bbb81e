/* Types proven over all values (types.md section 2): each value has a kind, a node keeps what it saw of every kind,
 * and the type is the join of that. */
#include <stdlib.h>

#include "format/json/json_rows.h"

#define TYPES_EXACT_IN_DOUBLE ((int64_t)1 << 53)

/* ---------------------------------------------------------------- nodes */

js_node *js_node_new(lb_arena *arena, bool bounds)
{
    js_node *n = lb_arena_alloc(arena, 1, sizeof *n);

    if (n == NULL)
        return NULL;
    n->most_keys = JS_OBJECT_KEYS;
    n->bounds = bounds;
    return n;
}

js_node *js_rows_new(lb_arena *arena, bool bounds)
{
    js_node *n = js_node_new(arena, bounds);

    if (n != NULL)
        n->most_keys = JS_ROW_KEYS;
    return n;
}

uint64_t js_node_values(const js_node *n)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < JS_KINDS; k++)
        sum += n->seen[k];
    return sum;
}

/* Whatever follows, this is text: what lies below is of no use any more. */
static void node_mix(js_node *n)
{
    n->mixed = true;
    n->map = false;
    n->keys = (js_keys){ 0 };
    n->members = NULL;
    n->items = NULL;
}

/* Kinds that meet in one type. */
static unsigned node_families(const js_node *n)
{
    unsigned numbers = n->seen[JS_INT] + n->seen[JS_UINT] + n->seen[JS_BIG] + n->seen[JS_FLOAT] != 0;

    return (n->seen[JS_BOOL] != 0) + numbers + (n->seen[JS_TEXT] != 0) + (n->seen[JS_OBJECT] != 0) +
           (n->seen[JS_ARRAY] != 0);
}

/* One more value of a kind; the first of each may make a mix. */
static void node_see(js_node *n, js_kind kind)
{
    if (n->seen[kind]++ == 0 && !n->mixed && node_families(n) > 1)
        node_mix(n);
}

static lb_status node_items(js_node *n, lb_arena *arena, lb_error *err)
{
    if (n->items == NULL)
        n->items = js_node_new(arena, n->bounds);
    return n->items == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- members */

js_member *js_node_member(js_node *n, lb_arena *arena, lb_str name, uint64_t first)
{
    size_t number = js_keys_of(&n->keys, name);
    const size_t cap = n->keys.cap;

    if (number != JS_NO_KEY)
        return &n->members[number];
    number = n->keys.count;
    js_node *node = js_node_new(arena, n->bounds);
    if (node == NULL || js_keys_add(&n->keys, arena, name, NULL) != LB_OK)
        return NULL;
    if (n->keys.cap != cap) {
        js_member *members = lb_arena_alloc(arena, n->keys.cap, sizeof *members);
        if (members == NULL)
            return NULL;
        if (number != 0)
            memcpy(members, n->members, number * sizeof *members);
        n->members = members;
    }
    n->members[number] = (js_member){ .node = node, .first = first };
    return &n->members[number];
}

static int member_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Members in the order in which they first stand in the file, whoever met them first. */
static lb_status node_sort(js_node *n, lb_arena *arena, lb_error *err)
{
    const size_t count = n->keys.count;
    bool sorted = true;

    for (size_t i = 1; i < count; i++)
        sorted &= n->members[i - 1].first <= n->members[i].first;
    if (sorted)
        return LB_OK;
    uint64_t(*order)[2] = lb_arena_alloc(arena, count, sizeof *order);
    js_member *members = lb_arena_alloc(arena, count, sizeof *members);
    if (order == NULL || members == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < count; i++) {
        order[i][0] = n->members[i].first;
        order[i][1] = i;
    }
    qsort(order, count, sizeof *order, member_compare);
    memcpy(members, n->members, count * sizeof *members);
    js_keys keys = n->keys;
    n->keys = (js_keys){ 0 };
    n->members = NULL;
    for (size_t i = 0; i < count; i++) {
        const js_member *from = &members[order[i][1]];
        js_member *made = js_node_member(n, arena, keys.items[order[i][1]].name, from->first);
        if (made == NULL)
            return lb_arena_fail(arena, err);
        made->node = from->node;
    }
    return LB_OK;
}

/* Too many keys for a struct: a map, whose values are those of all members. */
static lb_status node_become_map(js_node *n, lb_arena *arena, lb_error *err)
{
    const js_member *members = n->members;
    const size_t count = n->keys.count;

    n->map = true;
    n->keys = (js_keys){ 0 };
    n->members = NULL;
    LB_TRY(node_items(n, arena, err));
    for (size_t i = 0; i < count; i++)
        LB_TRY(js_node_merge(n->items, members[i].node, arena, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- merging */

#define NODE_MERGE_RANGE(n, from, kind, min, max, less)          \
    do {                                                         \
        if ((from)->seen[kind] == 0)                             \
            break;                                               \
        if ((n)->seen[kind] == 0 || less((from)->min, (n)->min)) \
            (n)->min = (from)->min;                              \
        if ((n)->seen[kind] == 0 || less((n)->max, (from)->max)) \
            (n)->max = (from)->max;                              \
    } while (0)

#define NODE_LESS(a, b) ((a) < (b))

/* Order of doubles in which -0.0 lies below +0.0. */
static bool node_less(double a, double b)
{
    return a < b || (a == b && __builtin_signbit(a) && !__builtin_signbit(b));
}

static lb_status node_keep_text(js_node *n, lb_arena *arena, lb_error *err)
{
    if (n->text == NULL)
        n->text = lb_arena_alloc(arena, 1, sizeof *n->text);
    return n->text == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

static lb_status node_merge_plain(js_node *n, const js_node *from, lb_arena *arena, lb_error *err)
{
    NODE_MERGE_RANGE(n, from, JS_INT, min_i, max_i, NODE_LESS);
    NODE_MERGE_RANGE(n, from, JS_UINT, min_u, max_u, NODE_LESS);
    NODE_MERGE_RANGE(n, from, JS_FLOAT, min_f, max_f, node_less);
    n->has_false |= from->has_false;
    n->has_true |= from->has_true;
    for (unsigned k = 0; k < JS_KINDS; k++)
        n->seen[k] += from->seen[k];
    if (!n->bounds || from->text == NULL)
        return LB_OK;
    LB_TRY(node_keep_text(n, arena, err));
    lb_text_bounds_merge(n->text, from->text);
    return LB_OK;
}

/* *merged of them, until there are so many keys that it is a map. */
static lb_status node_merge_members(js_node *n, const js_node *from, size_t *merged, lb_arena *arena, lb_error *err)
{
    while (*merged < from->keys.count) {
        const js_member *m = &from->members[*merged];
        js_member *to = js_node_member(n, arena, from->keys.items[(*merged)++].name, m->first);
        if (to == NULL)
            return lb_arena_fail(arena, err);
        to->first = LB_MIN(to->first, m->first);
        LB_TRY(js_node_merge(to->node, m->node, arena, err));
        if (n->keys.count > n->most_keys)
            return node_become_map(n, arena, err);
    }
    return LB_OK;
}

/* Objects of both: as a map if either is one. */
static lb_status node_merge_objects(js_node *n, const js_node *from, lb_arena *arena, lb_error *err)
{
    size_t i = 0;

    if (from->map && !n->map)
        LB_TRY(node_become_map(n, arena, err));
    if (!n->map)
        LB_TRY(node_merge_members(n, from, &i, arena, err));
    if (!n->map)
        return node_sort(n, arena, err);
    if (from->map)
        return js_node_merge(n->items, from->items, arena, err);
    for (; i < from->keys.count; i++)
        LB_TRY(js_node_merge(n->items, from->members[i].node, arena, err));
    return LB_OK;
}

lb_status js_node_merge(js_node *n, const js_node *from, lb_arena *arena, lb_error *err)
{
    LB_TRY(node_merge_plain(n, from, arena, err));
    if (from->mixed || (!n->mixed && node_families(n) > 1))
        node_mix(n);
    if (n->mixed)
        return LB_OK;
    if (from->seen[JS_OBJECT] != 0 || from->map)
        return node_merge_objects(n, from, arena, err);
    if (from->items == NULL)
        return LB_OK;
    LB_TRY(node_items(n, arena, err));
    return js_node_merge(n->items, from->items, arena, err);
}

/* ---------------------------------------------------------------- taking values in */

static bool take_fails(js_taker *t, lb_status status)
{
    if (status != LB_OK)
        t->status = status;
    return status != LB_OK;
}

static uint64_t take_offset(const js_taker *t, const uint8_t *at)
{
    return t->base_offset + (uint64_t)(at - t->base);
}

static bool take_value(js_taker *t, js_node *n, lb_json_cursor *c, unsigned depth);

static bool take_word(js_node *n, lb_json_cursor *c, lb_json_kind kind)
{
    if (kind != LB_JSON_NULL) {
        node_see(n, JS_BOOL);
        n->has_true |= kind == LB_JSON_TRUE;
        n->has_false |= kind == LB_JSON_FALSE;
    }
    return lb_json_word(c);
}

#define TAKE_WIDEN(n, kind, min, max, value, less) \
    do {                                           \
        if ((n)->seen[kind] == 0) {                \
            (n)->min = (n)->max = (value);         \
        } else {                                   \
            if (less((value), (n)->min))           \
                (n)->min = (value);                \
            if (less((n)->max, (value)))           \
                (n)->max = (value);                \
        }                                          \
        node_see(n, kind);                         \
    } while (0)

static bool take_number(js_node *n, lb_json_cursor *c)
{
    lb_number v;
    lb_str text;

    switch (lb_json_number(c, &text, &v)) {
    case LB_NUMBER_INT:
        TAKE_WIDEN(n, JS_INT, min_i, max_i, v.i, NODE_LESS);
        break;
    case LB_NUMBER_UINT:
        TAKE_WIDEN(n, JS_UINT, min_u, max_u, v.u, NODE_LESS);
        break;
    case LB_NUMBER_FLOAT:
        TAKE_WIDEN(n, JS_FLOAT, min_f, max_f, v.f, node_less);
        break;
    case LB_NUMBER_BIG:
        node_see(n, JS_BIG);
        break;
    case LB_NOT_A_NUMBER: /* one that no double holds, unless the cursor is bad */
        if (c->reason != LB_JSON_GOOD)
            return false;
        node_see(n, JS_BIG);
        break;
    }
    return true;
}

static bool take_string(js_taker *t, js_node *n, lb_json_cursor *c)
{
    lb_json_text text;

    if (!lb_json_string(c, &text))
        return false;
    node_see(n, JS_TEXT);
    if (!n->bounds || n->mixed)
        return true;
    if (n->text == NULL && take_fails(t, node_keep_text(n, t->arena, t->err)))
        return false;
    const lb_str v = js_text(&text, &t->scratch);
    if (v.at == NULL)
        return !take_fails(t, lb_fail_nomem(t->err));
    if (!lb_text_bounds_hold(n->text, lb_text_prefix(v.at, v.size), v.size))
        lb_text_bounds_add_padded(n->text, v.at, v.size);
    return true;
}

static bool take_array(js_taker *t, js_node *n, lb_json_cursor *c, unsigned depth)
{
    if (take_fails(t, node_items(n, t->arena, t->err)))
        return false;
    for (bool more = lb_json_array(c); more; more = lb_json_item(c))
        if (!take_value(t, n->items, c, depth + 1))
            return false;
    return c->reason == LB_JSON_GOOD;
}

static bool take_declared_map(const js_taker *t, lb_str name)
{
    for (size_t i = 0; t->maps != NULL && t->maps[i] != NULL; i++)
        if (lb_str_is(name, t->maps[i]))
            return true;
    return false;
}

/* The member that a key names; NULL: t->status says why. */
static js_member *take_member(js_taker *t, js_node *n, size_t k, const lb_json_text *key, unsigned depth)
{
    size_t number = js_keys_find(&n->keys, k, key, &t->scratch);

    if (number != JS_NO_KEY) {
        js_keys_hint(&n->keys, t->arena, k, number);
        return &n->members[number];
    }
    const lb_str name = js_text(key, &t->scratch);
    if (name.at == NULL) {
        (void)take_fails(t, lb_fail_nomem(t->err));
        return NULL;
    }
    if (memchr(name.at, 0, name.size) != NULL) {
        (void)take_fails(t, lb_fail(t->err, LB_UNSUPPORTED, LB_AT(take_offset(t, key->p)),
                                    "a key holds the character NUL, which no name of a column can have"));
        return NULL;
    }
    js_member *made = js_node_member(n, t->arena, name, take_offset(t, key->p));
    if (made == NULL) {
        (void)take_fails(t, lb_arena_fail(t->arena, t->err));
        return NULL;
    }
    js_keys_hint(&n->keys, t->arena, k, n->keys.count - 1);
    made->node->map = depth == 0 && take_declared_map(t, name);
    return made;
}

/* Which members of the object at the cursor count: bit i of t->replaced from *from on says that member i does not.
 * *from SIZE_MAX: all do. */
static bool take_replaced(js_taker *t, const lb_json_cursor *c, bool needed, size_t *from)
{
    const size_t size = t->replaced.size;
    size_t n;
    bool any;

    *from = SIZE_MAX;
    if (!needed)
        return true;
    if (!js_find_replaced(*c, &t->replaced, &n, &any)) {
        lb_json_cursor again = *c;
        /* Where the text is bad, reading it says so. */
        return !lb_json_skip(&again, NULL) || !take_fails(t, lb_fail_nomem(t->err));
    }
    if (any)
        *from = size;
    else
        t->replaced.size = size;
    return true;
}

static bool take_is_replaced(const js_taker *t, size_t from, size_t k)
{
    return from != SIZE_MAX && (t->replaced.data[from + k / 8] >> k % 8 & 1) != 0;
}

/* Keys are data: what they are called does not matter. */
static bool take_map(js_taker *t, js_node *n, lb_json_cursor *c, unsigned depth)
{
    lb_json_text key;
    size_t from, k = 0, size = t->replaced.size;

    if (take_fails(t, node_items(n, t->arena, t->err)) || !take_replaced(t, c, true, &from))
        return false;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key), k++)
        if (!(take_is_replaced(t, from, k) ? lb_json_skip(c, NULL) : take_value(t, n->items, c, depth + 1)))
            return false;
    t->replaced.size = size;
    return c->reason == LB_JSON_GOOD;
}

/* What becomes a map on the way: its members so far are in. */
static bool take_rest_of_map(js_taker *t, js_node *n, lb_json_cursor *c, const lb_json_cursor *begin, unsigned depth,
                             size_t from, size_t k)
{
    lb_json_text key;

    if (!t->careful && !take_replaced(t, begin, true, &from))
        return false;
    if (!t->careful && from != SIZE_MAX) {
        t->equal_keys = true;
        return false;
    }
    for (bool more = lb_json_member(c, &key); more; more = lb_json_member(c, &key), k++)
        if (!(take_is_replaced(t, from, k) ? lb_json_skip(c, NULL) : take_value(t, n->items, c, depth + 1)))
            return false;
    return c->reason == LB_JSON_GOOD;
}

/* Where every column is text, what a value is made of does not matter. */
static bool take_as_text(js_taker *t, js_node *n, lb_json_cursor *c)
{
    static const js_kind kinds[] = {
        [LB_JSON_FALSE] = JS_BOOL,  [LB_JSON_TRUE] = JS_BOOL,     [LB_JSON_NUMBER] = JS_INT,
        [LB_JSON_STRING] = JS_TEXT, [LB_JSON_OBJECT] = JS_OBJECT, [LB_JSON_ARRAY_VALUE] = JS_ARRAY
    };
    const lb_json_kind kind = lb_json_peek(c);

    if (kind == LB_JSON_STRING)
        return take_string(t, n, c);
    if (kind > LB_JSON_NULL)
        node_see(n, kinds[kind]);
    return lb_json_skip(c, NULL);
}

static bool take_struct(js_taker *t, js_node *n, lb_json_cursor *c, unsigned depth)
{
    const uint64_t object = ++t->object;
    const size_t size = t->replaced.size;
    const lb_json_cursor begin = *c;
    lb_json_text key;
    size_t from, k = 0;

    if (!take_replaced(t, c, t->careful, &from))
        return false;
    for (bool more = lb_json_object(c, &key); more; more = lb_json_member(c, &key), k++) {
        js_member *m = take_member(t, n, k, &key, depth);
        if (m == NULL)
            return false;
        if (m->stamp == object && !t->careful) { /* being careful and still here: the text is bad further on */
            t->equal_keys = true;
            return false;
        }
        m->stamp = object;
        if (take_is_replaced(t, from, k)) {
            if (!lb_json_skip(c, NULL))
                return false;
            continue;
        }
        if (!(t->text ? take_as_text(t, m->node, c) : take_value(t, m->node, c, depth + 1)))
            return false;
        if (n->keys.count > n->most_keys)
            return !take_fails(t, node_become_map(n, t->arena, t->err)) &&
                   take_rest_of_map(t, n, c, &begin, depth, from, k + 1);
    }
    t->replaced.size = size;
    return c->reason == LB_JSON_GOOD;
}

static bool take_object(js_taker *t, js_node *n, lb_json_cursor *c, unsigned depth)
{
    return n->map ? take_map(t, n, c, depth) : take_struct(t, n, c, depth);
}

static bool take_value(js_taker *t, js_node *n, lb_json_cursor *c, unsigned depth)
{
    const lb_json_kind kind = lb_json_peek(c);

    switch (kind) {
    case LB_JSON_NOTHING:
        return false;
    case LB_JSON_NULL:
    case LB_JSON_TRUE:
    case LB_JSON_FALSE:
        return take_word(n, c, kind);
    case LB_JSON_NUMBER:
        return take_number(n, c);
    case LB_JSON_STRING:
        return take_string(t, n, c);
    case LB_JSON_OBJECT:
    case LB_JSON_ARRAY_VALUE:
        break;
    }
    node_see(n, kind == LB_JSON_OBJECT ? JS_OBJECT : JS_ARRAY);
    if (depth >= JS_DEPTH && !n->mixed)
        node_mix(n);
    if (n->mixed)
        return lb_json_skip(c, NULL);
    return kind == LB_JSON_OBJECT ? take_object(t, n, c, depth) : take_array(t, n, c, depth);
}

bool js_take(js_taker *t, js_node *n, lb_json_cursor *c)
{
    return take_value(t, n, c, 0) && lb_json_finish(c);
}

/* ---------------------------------------------------------------- types */

typedef enum node_type {
    NODE_NULL,
    NODE_BOOL,
    NODE_INT64,
    NODE_UINT64,
    NODE_FLOAT64,
    NODE_STRING,
    NODE_STRUCT,
    NODE_MAP,
    NODE_LIST
} node_type;

static uint64_t node_largest_int(const js_node *n)
{
    const uint64_t low = n->min_i < 0 ? 0 - (uint64_t)n->min_i : 0, high = n->max_i > 0 ? (uint64_t)n->max_i : 0;

    return n->seen[JS_INT] == 0 ? 0 : LB_MAX(low, high);
}

static node_type node_number_type(const js_node *n)
{
    if (n->seen[JS_BIG] != 0)
        return NODE_STRING;
    if (n->seen[JS_FLOAT] != 0)
        return n->seen[JS_UINT] == 0 && node_largest_int(n) <= (uint64_t)TYPES_EXACT_IN_DOUBLE ? NODE_FLOAT64
                                                                                               : NODE_STRING;
    if (n->seen[JS_UINT] != 0)
        return n->seen[JS_INT] != 0 && n->min_i < 0 ? NODE_STRING : NODE_UINT64;
    return NODE_INT64;
}

static node_type node_type_of(const js_node *n)
{
    if (n->mixed || n->seen[JS_TEXT] != 0)
        return NODE_STRING;
    if (n->seen[JS_OBJECT] != 0)
        return n->map ? NODE_MAP : NODE_STRUCT;
    if (n->seen[JS_ARRAY] != 0)
        return NODE_LIST;
    if (n->seen[JS_BOOL] != 0)
        return NODE_BOOL;
    return js_node_values(n) == 0 ? NODE_NULL : node_number_type(n);
}

static lb_status types_arrow(int code, lb_error *err)
{
    return code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, NULL);
}

static lb_status types_fill(const js_node *n, bool text, struct ArrowSchema *out, lb_error *err);

static lb_status types_named(const js_node *n, lb_str name, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(types_fill(n, false, out, err));
    return lb_schema_set_name(out, name, err);
}

static lb_status types_struct(const js_node *n, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(types_arrow(ArrowSchemaSetTypeStruct(out, (int64_t)n->keys.count), err));
    for (size_t i = 0; i < n->keys.count; i++)
        LB_TRY(types_named(n->members[i].node, n->keys.items[i].name, out->children[i], err));
    return LB_OK;
}

static lb_status types_items(const js_node *n, struct ArrowSchema *out, lb_error *err)
{
    if (n->items == NULL)
        return types_arrow(ArrowSchemaSetType(out, NANOARROW_TYPE_NA), err);
    return types_fill(n->items, false, out, err);
}

static lb_status types_map(const js_node *n, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(types_arrow(ArrowSchemaSetType(out, NANOARROW_TYPE_MAP), err));
    LB_TRY(types_arrow(ArrowSchemaSetType(out->children[0]->children[0], NANOARROW_TYPE_STRING), err));
    out->children[0]->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    return types_items(n, out->children[0]->children[1], err);
}

static lb_status types_list(const js_node *n, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(types_arrow(ArrowSchemaSetType(out, NANOARROW_TYPE_LIST), err));
    return types_items(n, out->children[0], err);
}

static lb_status types_marks(const js_node *n, struct ArrowSchema *out, lb_error *err)
{
    if (node_largest_int(n) > (uint64_t)TYPES_EXACT_IN_DOUBLE)
        LB_TRY(lb_schema_set_meta(out, LB_META_WIDE, LB_STR("true"), err));
    if (n->min_i < 0)
        LB_TRY(lb_schema_set_meta(out, LB_META_NEGATIVE, LB_STR("true"), err));
    return LB_OK;
}

static lb_status types_fill(const js_node *n, bool text, struct ArrowSchema *out, lb_error *err)
{
    static const enum ArrowType plain[] = {
        [NODE_NULL] = NANOARROW_TYPE_NA,        [NODE_BOOL] = NANOARROW_TYPE_BOOL,
        [NODE_INT64] = NANOARROW_TYPE_INT64,    [NODE_UINT64] = NANOARROW_TYPE_UINT64,
        [NODE_FLOAT64] = NANOARROW_TYPE_DOUBLE, [NODE_STRING] = NANOARROW_TYPE_STRING,
    };
    const node_type type = text ? NODE_STRING : node_type_of(n);

    switch (type) {
    case NODE_STRUCT:
        return types_struct(n, out, err);
    case NODE_MAP:
        return types_map(n, out, err);
    case NODE_LIST:
        return types_list(n, out, err);
    default:
        LB_TRY(types_arrow(ArrowSchemaSetType(out, plain[type]), err));
        return type == NODE_INT64 ? types_marks(n, out, err) : LB_OK;
    }
}

lb_status js_node_schema(const js_node *n, bool text, struct ArrowSchema *out, lb_error *err)
{
    ArrowSchemaInit(out);
    lb_status status = types_fill(n, text, out, err);
    if (status != LB_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* ---------------------------------------------------------------- statistics */

static void stat_floats(const js_node *n, lb_colstat *out)
{
    double min = n->min_f, max = n->max_f;

    if (n->seen[JS_FLOAT] == 0)
        return;
    if (n->seen[JS_INT] != 0) {
        const double low = (double)n->min_i, high = (double)n->max_i;
        min = node_less(low, min) ? low : min;
        max = node_less(max, high) ? high : max;
    }
    out->min_f = min;
    out->max_f = max;
    out->has |= LB_MIN_F | LB_MAX_F;
    out->has_nan_count = true;
}

static void stat_unsigned(const js_node *n, lb_colstat *out)
{
    out->min_u = n->seen[JS_INT] != 0 ? (uint64_t)n->min_i : n->min_u;
    out->max_u = n->seen[JS_UINT] != 0 ? n->max_u : (uint64_t)n->max_i;
    out->has |= LB_MIN_U | LB_MAX_U;
}

lb_status js_node_stat(const js_node *n, lb_str name, const struct ArrowSchema *type, uint64_t rows, bool bounds,
                       lb_arena *arena, lb_colstat *out, lb_error *err)
{
    const uint64_t values = js_node_values(n);
    lb_buf words;

    *out = (lb_colstat){ .name = name, .source = LB_STATS_COMPUTED, .has_null_count = true };
    out->null_count = rows - LB_MIN(rows, values);
    out->min_exact = out->max_exact = true;
    lb_buf_init(&words, arena->budget);
    lb_status status = lb_type_words(type, false, &words, err);
    if (status == LB_OK) {
        out->type = (lb_str){ lb_arena_copy(arena, (lb_str){ (const char *)words.data, words.size }), words.size };
        status = out->type.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&words);
    if (status != LB_OK || !bounds || values == 0)
        return status;
    if (strcmp(type->format, "l") == 0 && n->seen[JS_INT] != 0) {
        out->min_i = n->min_i;
        out->max_i = n->max_i;
        out->has |= LB_MIN_I | LB_MAX_I;
    } else if (strcmp(type->format, "b") == 0) {
        out->min_i = n->has_false ? 0 : 1;
        out->max_i = n->has_true;
        out->has |= LB_MIN_I | LB_MAX_I;
    } else if (strcmp(type->format, "L") == 0) {
        stat_unsigned(n, out);
    } else if (strcmp(type->format, "g") == 0) {
        stat_floats(n, out);
    } else if (strcmp(type->format, "u") == 0 && n->text != NULL && n->seen[JS_TEXT] == values) {
        return lb_text_bounds_finish(n->text, true, arena, out, err);
    }
    return LB_OK;
}
