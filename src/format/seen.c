/* Types proven over all values (types.md section 2): each value has a kind, a node keeps what it saw of every kind,
 * and the type is the join of that. */
#include <stdlib.h>

#include "format/seen.h"

#define SEEN_EXACT_IN_DOUBLE ((int64_t)1 << 53)

/* ---------------------------------------------------------------- nodes */

lb_seen *lb_seen_new(lb_arena *arena, bool bounds)
{
    lb_seen *n = lb_arena_alloc(arena, 1, sizeof *n);

    if (n == NULL)
        return NULL;
    n->most_keys = LB_SEEN_OBJECT_KEYS;
    n->bounds = bounds;
    return n;
}

lb_seen *lb_seen_rows(lb_arena *arena, bool bounds)
{
    lb_seen *n = lb_seen_new(arena, bounds);

    if (n != NULL)
        n->most_keys = LB_SEEN_ROW_KEYS;
    return n;
}

uint64_t lb_seen_values(const lb_seen *n)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < LB_SEEN_KINDS; k++)
        sum += n->seen[k];
    return sum;
}

void lb_seen_mix(lb_seen *n)
{
    n->mixed = true;
    n->map = false;
    n->keys = (lb_keys){ 0 };
    n->members = NULL;
    n->items = NULL;
}

/* Kinds that meet in one type. */
static unsigned seen_families(const lb_seen *n)
{
    static const lb_seen_kind alone[] = { LB_SEEN_BOOL,   LB_SEEN_TEXT,      LB_SEEN_OBJECT, LB_SEEN_ARRAY,
                                          LB_SEEN_BINARY, LB_SEEN_EXTENSION, LB_SEEN_STAMP };
    unsigned families =
        n->seen[LB_SEEN_INT] + n->seen[LB_SEEN_UINT] + n->seen[LB_SEEN_BIG] + n->seen[LB_SEEN_FLOAT] != 0;

    for (size_t i = 0; i < LB_COUNT_OF(alone); i++)
        families += n->seen[alone[i]] != 0;
    return families;
}

void lb_seen_new_kind(lb_seen *n)
{
    if (seen_families(n) > 1)
        lb_seen_mix(n);
}

lb_status lb_seen_items(lb_seen *n, lb_arena *arena, lb_error *err)
{
    if (n->items == NULL)
        n->items = lb_seen_new(arena, n->bounds);
    return n->items == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

/* ---------------------------------------------------------------- members */

lb_seen_member *lb_seen_add_member(lb_seen *n, lb_arena *arena, lb_str name, uint64_t first)
{
    size_t number = lb_keys_of(&n->keys, name);
    const size_t cap = n->keys.cap;

    if (number != LB_NO_KEY)
        return &n->members[number];
    number = n->keys.count;
    lb_seen *node = lb_seen_new(arena, n->bounds);
    if (node == NULL || lb_keys_add(&n->keys, arena, name, NULL) != LB_OK)
        return NULL;
    if (n->keys.cap != cap) {
        lb_seen_member *members = lb_arena_alloc(arena, n->keys.cap, sizeof *members);
        if (members == NULL)
            return NULL;
        if (number != 0)
            memcpy(members, n->members, number * sizeof *members);
        n->members = members;
    }
    n->members[number] = (lb_seen_member){ .node = node, .first = first };
    return &n->members[number];
}

static int member_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Members in the order in which they first stand in the file, whoever met them first. */
static lb_status seen_sort(lb_seen *n, lb_arena *arena, lb_error *err)
{
    const size_t count = n->keys.count;
    bool sorted = true;

    for (size_t i = 1; i < count; i++)
        sorted &= n->members[i - 1].first <= n->members[i].first;
    if (sorted)
        return LB_OK;
    uint64_t(*order)[2] = lb_arena_alloc(arena, count, sizeof *order);
    lb_seen_member *members = lb_arena_alloc(arena, count, sizeof *members);
    if (order == NULL || members == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < count; i++) {
        order[i][0] = n->members[i].first;
        order[i][1] = i;
    }
    qsort(order, count, sizeof *order, member_compare);
    memcpy(members, n->members, count * sizeof *members);
    lb_keys keys = n->keys;
    n->keys = (lb_keys){ 0 };
    n->members = NULL;
    for (size_t i = 0; i < count; i++) {
        const lb_seen_member *from = &members[order[i][1]];
        lb_seen_member *made = lb_seen_add_member(n, arena, keys.items[order[i][1]].name, from->first);
        if (made == NULL)
            return lb_arena_fail(arena, err);
        made->node = from->node;
    }
    return LB_OK;
}

lb_status lb_seen_become_map(lb_seen *n, lb_arena *arena, lb_error *err)
{
    const lb_seen_member *members = n->members;
    const size_t count = n->keys.count;

    n->map = true;
    n->keys = (lb_keys){ 0 };
    n->members = NULL;
    LB_TRY(lb_seen_items(n, arena, err));
    for (size_t i = 0; i < count; i++)
        LB_TRY(lb_seen_merge(n->items, members[i].node, arena, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- merging */

/* `any`, `other`: have the two a value? */
#define SEEN_MERGE_RANGE(n, from, any, other, min, max, less) \
    do {                                                      \
        if ((other) == 0)                                     \
            break;                                            \
        if ((any) == 0 || less((from)->min, (n)->min))        \
            (n)->min = (from)->min;                           \
        if ((any) == 0 || less((n)->max, (from)->max))        \
            (n)->max = (from)->max;                           \
    } while (0)

#define SEEN_LESS(a, b) ((a) < (b))

static bool seen_stamp_less(lb_stamp a, lb_stamp b)
{
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.nanos < b.nanos;
}

void lb_seen_stamp(lb_seen *n, lb_stamp v)
{
    const bool first = n->seen[LB_SEEN_STAMP] == 0;

    n->min_s = first || seen_stamp_less(v, n->min_s) ? v : n->min_s;
    n->max_s = first || seen_stamp_less(n->max_s, v) ? v : n->max_s;
    n->finer |= v.nanos % 1000 != 0;
    lb_seen_see(n, LB_SEEN_STAMP);
}

bool lb_stamp_count(lb_stamp v, int64_t unit, int64_t *out)
{
    const int64_t grain = 1000000000 / unit;
    int64_t more = (int64_t)v.nanos / grain;

    if ((int64_t)v.nanos % grain != 0)
        return false;
    /* Before 1970 the sum may fit where the product does not. */
    if (v.seconds < 0 && more > 0) {
        v.seconds++;
        more -= unit;
    }
    return !__builtin_mul_overflow(v.seconds, unit, out) && !__builtin_add_overflow(*out, more, out);
}

lb_status lb_seen_keep_text(lb_seen *n, lb_arena *arena, lb_error *err)
{
    if (n->text == NULL)
        n->text = lb_arena_alloc(arena, 1, sizeof *n->text);
    return n->text == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

static lb_status seen_merge_plain(lb_seen *n, const lb_seen *from, lb_arena *arena, lb_error *err)
{
    SEEN_MERGE_RANGE(n, from, n->seen[LB_SEEN_INT], from->seen[LB_SEEN_INT], min_i, max_i, SEEN_LESS);
    SEEN_MERGE_RANGE(n, from, n->seen[LB_SEEN_UINT], from->seen[LB_SEEN_UINT], min_u, max_u, SEEN_LESS);
    SEEN_MERGE_RANGE(n, from, n->seen[LB_SEEN_FLOAT] - n->nans, from->seen[LB_SEEN_FLOAT] - from->nans, min_f, max_f,
                     lb_seen_less);
    SEEN_MERGE_RANGE(n, from, n->seen[LB_SEEN_STAMP], from->seen[LB_SEEN_STAMP], min_s, max_s, seen_stamp_less);
    n->nans += from->nans;
    n->finer |= from->finer;
    n->has_false |= from->has_false;
    n->has_true |= from->has_true;
    for (unsigned k = 0; k < LB_SEEN_KINDS; k++)
        n->seen[k] += from->seen[k];
    if (!n->bounds || from->text == NULL)
        return LB_OK;
    LB_TRY(lb_seen_keep_text(n, arena, err));
    lb_text_bounds_merge(n->text, from->text);
    return LB_OK;
}

/* *merged of them, until there are so many keys that it is a map. */
static lb_status seen_merge_members(lb_seen *n, const lb_seen *from, size_t *merged, lb_arena *arena, lb_error *err)
{
    while (*merged < from->keys.count) {
        const lb_seen_member *m = &from->members[*merged];
        lb_seen_member *to = lb_seen_add_member(n, arena, from->keys.items[(*merged)++].name, m->first);
        if (to == NULL)
            return lb_arena_fail(arena, err);
        to->first = LB_MIN(to->first, m->first);
        LB_TRY(lb_seen_merge(to->node, m->node, arena, err));
        if (n->keys.count > n->most_keys)
            return lb_seen_become_map(n, arena, err);
    }
    return LB_OK;
}

/* Objects of both: as a map if either is one. */
static lb_status seen_merge_objects(lb_seen *n, const lb_seen *from, lb_arena *arena, lb_error *err)
{
    size_t i = 0;

    if (from->map && !n->map)
        LB_TRY(lb_seen_become_map(n, arena, err));
    if (!n->map)
        LB_TRY(seen_merge_members(n, from, &i, arena, err));
    if (!n->map)
        return seen_sort(n, arena, err);
    if (from->map)
        return lb_seen_merge(n->items, from->items, arena, err);
    for (; i < from->keys.count; i++)
        LB_TRY(lb_seen_merge(n->items, from->members[i].node, arena, err));
    return LB_OK;
}

lb_status lb_seen_merge(lb_seen *n, const lb_seen *from, lb_arena *arena, lb_error *err)
{
    LB_TRY(seen_merge_plain(n, from, arena, err));
    if (from->mixed || (!n->mixed && seen_families(n) > 1))
        lb_seen_mix(n);
    if (n->mixed)
        return LB_OK;
    if (from->seen[LB_SEEN_OBJECT] != 0 || from->map)
        return seen_merge_objects(n, from, arena, err);
    if (from->items == NULL)
        return LB_OK;
    LB_TRY(lb_seen_items(n, arena, err));
    return lb_seen_merge(n->items, from->items, arena, err);
}

/* ---------------------------------------------------------------- types */

typedef enum seen_type {
    SEEN_NULL,
    SEEN_BOOL,
    SEEN_INT64,
    SEEN_UINT64,
    SEEN_FLOAT64,
    SEEN_STRING,
    SEEN_STRUCT,
    SEEN_MAP,
    SEEN_LIST,
    SEEN_BINARY,
    SEEN_EXTENSION,
    SEEN_NANOS,
    SEEN_MICROS
} seen_type;

static uint64_t seen_largest_int(const lb_seen *n)
{
    const uint64_t low = n->min_i < 0 ? 0 - (uint64_t)n->min_i : 0, high = n->max_i > 0 ? (uint64_t)n->max_i : 0;

    return n->seen[LB_SEEN_INT] == 0 ? 0 : LB_MAX(low, high);
}

static seen_type seen_number_type(const lb_seen *n)
{
    if (n->seen[LB_SEEN_BIG] != 0)
        return SEEN_STRING;
    if (n->seen[LB_SEEN_FLOAT] != 0)
        return n->seen[LB_SEEN_UINT] == 0 && seen_largest_int(n) <= (uint64_t)SEEN_EXACT_IN_DOUBLE ? SEEN_FLOAT64
                                                                                                   : SEEN_STRING;
    if (n->seen[LB_SEEN_UINT] != 0)
        return n->seen[LB_SEEN_INT] != 0 && n->min_i < 0 ? SEEN_STRING : SEEN_UINT64;
    return SEEN_INT64;
}

/* Nanoseconds if all fit, else microseconds if all fit and no digit is lost. */
static seen_type seen_stamp_type(const lb_seen *n)
{
    int64_t count;

    if (lb_stamp_count(n->min_s, 1000000000, &count) && lb_stamp_count(n->max_s, 1000000000, &count))
        return SEEN_NANOS;
    const lb_stamp low = { n->min_s.seconds, 0 }, high = { n->max_s.seconds, 999999000 };
    return !n->finer && lb_stamp_count(low, 1000000, &count) && lb_stamp_count(high, 1000000, &count) ? SEEN_MICROS
                                                                                                      : SEEN_STRING;
}

static seen_type seen_type_of(const lb_seen *n)
{
    if (n->mixed || n->seen[LB_SEEN_TEXT] != 0)
        return SEEN_STRING;
    if (n->seen[LB_SEEN_BINARY] != 0)
        return SEEN_BINARY;
    if (n->seen[LB_SEEN_EXTENSION] != 0)
        return SEEN_EXTENSION;
    if (n->seen[LB_SEEN_STAMP] != 0)
        return seen_stamp_type(n);
    if (n->seen[LB_SEEN_OBJECT] != 0)
        return n->map ? SEEN_MAP : SEEN_STRUCT;
    if (n->seen[LB_SEEN_ARRAY] != 0)
        return SEEN_LIST;
    if (n->seen[LB_SEEN_BOOL] != 0)
        return SEEN_BOOL;
    return lb_seen_values(n) == 0 ? SEEN_NULL : seen_number_type(n);
}

static lb_status seen_type_arrow(int code, lb_error *err)
{
    return code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, NULL);
}

static lb_status seen_type_fill(const lb_seen *n, bool text, struct ArrowSchema *out, lb_error *err);

lb_status lb_seen_check_name(const lb_seen *n, size_t i, lb_error *err)
{
    const lb_str name = n->keys.items[i].name;

    if (name.size == 0 || memchr(name.at, 0, name.size) == NULL)
        return LB_OK;
    return lb_fail(err, LB_UNSUPPORTED, LB_AT(n->members[i].first),
                   "a key holds the character NUL, which no name of a column can have");
}

static lb_status seen_type_struct(const lb_seen *n, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(seen_type_arrow(ArrowSchemaSetTypeStruct(out, (int64_t)n->keys.count), err));
    for (size_t i = 0; i < n->keys.count; i++) {
        LB_TRY(lb_seen_check_name(n, i, err));
        LB_TRY(seen_type_fill(n->members[i].node, false, out->children[i], err));
        LB_TRY(lb_schema_set_name(out->children[i], n->keys.items[i].name, err));
    }
    return LB_OK;
}

static lb_status seen_type_items(const lb_seen *n, struct ArrowSchema *out, lb_error *err)
{
    if (n->items == NULL)
        return seen_type_arrow(ArrowSchemaSetType(out, NANOARROW_TYPE_NA), err);
    return seen_type_fill(n->items, false, out, err);
}

static lb_status seen_type_map(const lb_seen *n, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(seen_type_arrow(ArrowSchemaSetType(out, NANOARROW_TYPE_MAP), err));
    LB_TRY(seen_type_arrow(ArrowSchemaSetType(out->children[0]->children[0], NANOARROW_TYPE_STRING), err));
    out->children[0]->children[0]->flags &= ~(int64_t)ARROW_FLAG_NULLABLE;
    return seen_type_items(n, out->children[0]->children[1], err);
}

static lb_status seen_type_list(const lb_seen *n, struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(seen_type_arrow(ArrowSchemaSetType(out, NANOARROW_TYPE_LIST), err));
    return seen_type_items(n, out->children[0], err);
}

static lb_status seen_type_marks(const lb_seen *n, struct ArrowSchema *out, lb_error *err)
{
    if (seen_largest_int(n) > (uint64_t)SEEN_EXACT_IN_DOUBLE)
        LB_TRY(lb_schema_set_meta(out, LB_META_WIDE, LB_STR("true"), err));
    if (n->min_i < 0)
        LB_TRY(lb_schema_set_meta(out, LB_META_NEGATIVE, LB_STR("true"), err));
    return LB_OK;
}

static lb_status seen_type_extension(struct ArrowSchema *out, lb_error *err)
{
    LB_TRY(seen_type_arrow(ArrowSchemaSetTypeStruct(out, 2), err));
    LB_TRY(seen_type_arrow(ArrowSchemaSetType(out->children[0], NANOARROW_TYPE_INT8), err));
    LB_TRY(seen_type_arrow(ArrowSchemaSetType(out->children[1], NANOARROW_TYPE_BINARY), err));
    LB_TRY(lb_schema_set_name(out->children[0], LB_STR("type"), err));
    return lb_schema_set_name(out->children[1], LB_STR("data"), err);
}

static lb_status seen_type_stamp(enum ArrowTimeUnit unit, struct ArrowSchema *out, lb_error *err)
{
    return seen_type_arrow(ArrowSchemaSetTypeDateTime(out, NANOARROW_TYPE_TIMESTAMP, unit, "UTC"), err);
}

static lb_status seen_type_fill(const lb_seen *n, bool text, struct ArrowSchema *out, lb_error *err)
{
    static const enum ArrowType plain[] = {
        [SEEN_NULL] = NANOARROW_TYPE_NA,        [SEEN_BOOL] = NANOARROW_TYPE_BOOL,
        [SEEN_INT64] = NANOARROW_TYPE_INT64,    [SEEN_UINT64] = NANOARROW_TYPE_UINT64,
        [SEEN_FLOAT64] = NANOARROW_TYPE_DOUBLE, [SEEN_STRING] = NANOARROW_TYPE_STRING,
        [SEEN_BINARY] = NANOARROW_TYPE_BINARY,
    };
    const seen_type type = text ? SEEN_STRING : seen_type_of(n);

    switch (type) {
    case SEEN_STRUCT:
        return seen_type_struct(n, out, err);
    case SEEN_MAP:
        return seen_type_map(n, out, err);
    case SEEN_LIST:
        return seen_type_list(n, out, err);
    case SEEN_EXTENSION:
        return seen_type_extension(out, err);
    case SEEN_NANOS:
        return seen_type_stamp(NANOARROW_TIME_UNIT_NANO, out, err);
    case SEEN_MICROS:
        return seen_type_stamp(NANOARROW_TIME_UNIT_MICRO, out, err);
    default:
        LB_TRY(seen_type_arrow(ArrowSchemaSetType(out, plain[type]), err));
        return type == SEEN_INT64 ? seen_type_marks(n, out, err) : LB_OK;
    }
}

lb_status lb_seen_schema(const lb_seen *n, bool text, struct ArrowSchema *out, lb_error *err)
{
    ArrowSchemaInit(out);
    lb_status status = seen_type_fill(n, text, out, err);
    if (status != LB_OK && out->release != NULL)
        out->release(out);
    return status;
}

/* ---------------------------------------------------------------- statistics */

static void seen_stat_floats(const lb_seen *n, lb_colstat *out)
{
    double min = n->min_f, max = n->max_f;

    if (n->seen[LB_SEEN_FLOAT] == 0)
        return;
    out->has_nan_count = true;
    out->nan_count = n->nans;
    if (n->seen[LB_SEEN_FLOAT] == n->nans) {
        if (n->seen[LB_SEEN_INT] == 0)
            return;
        min = (double)n->min_i;
        max = (double)n->max_i;
    }
    if (n->seen[LB_SEEN_INT] != 0) {
        const double low = (double)n->min_i, high = (double)n->max_i;
        min = lb_seen_less(low, min) ? low : min;
        max = lb_seen_less(max, high) ? high : max;
    }
    out->min_f = min;
    out->max_f = max;
    out->has |= LB_MIN_F | LB_MAX_F;
}

static void seen_stat_unsigned(const lb_seen *n, lb_colstat *out)
{
    out->min_u = n->seen[LB_SEEN_INT] != 0 ? (uint64_t)n->min_i : n->min_u;
    out->max_u = n->seen[LB_SEEN_UINT] != 0 ? n->max_u : (uint64_t)n->max_i;
    out->has |= LB_MIN_U | LB_MAX_U;
}

static void seen_stat_stamps(const lb_seen *n, int64_t unit, lb_colstat *out)
{
    if (lb_stamp_count(n->min_s, unit, &out->min_i) && lb_stamp_count(n->max_s, unit, &out->max_i))
        out->has |= LB_MIN_I | LB_MAX_I;
}

lb_status lb_seen_stat(const lb_seen *n, lb_str name, const struct ArrowSchema *type, uint64_t rows, bool bounds,
                       lb_arena *arena, lb_colstat *out, lb_error *err)
{
    const uint64_t values = lb_seen_values(n);
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
    if (strcmp(type->format, "l") == 0 && n->seen[LB_SEEN_INT] != 0) {
        out->min_i = n->min_i;
        out->max_i = n->max_i;
        out->has |= LB_MIN_I | LB_MAX_I;
    } else if (strcmp(type->format, "b") == 0) {
        out->min_i = n->has_false ? 0 : 1;
        out->max_i = n->has_true;
        out->has |= LB_MIN_I | LB_MAX_I;
    } else if (strcmp(type->format, "L") == 0) {
        seen_stat_unsigned(n, out);
    } else if (strcmp(type->format, "g") == 0) {
        seen_stat_floats(n, out);
    } else if (strncmp(type->format, "ts", 2) == 0 && n->seen[LB_SEEN_STAMP] != 0) {
        seen_stat_stamps(n, type->format[2] == 'n' ? 1000000000 : 1000000, out);
    } else if (strcmp(type->format, "z") == 0 && n->text != NULL && n->seen[LB_SEEN_BINARY] == values) {
        return lb_text_bounds_finish(n->text, false, arena, out, err);
    } else if (strcmp(type->format, "u") == 0 && n->text != NULL && n->seen[LB_SEEN_TEXT] == values) {
        return lb_text_bounds_finish(n->text, true, arena, out, err);
    }
    return LB_OK;
}

bool lb_schema_is_value(const struct ArrowSchema *schema)
{
    lb_str rows;

    return schema->n_children == 1 && lb_schema_get_meta(schema->children[0], LB_META_ROWS, &rows);
}
