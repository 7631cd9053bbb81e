#include "column/array_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "column/values.h"

typedef enum stats_kind {
    STATS_NONE,
    STATS_INT,
    STATS_UINT,
    STATS_FLOAT,
    STATS_BYTES,
    STATS_TEXT,
    STATS_DECIMAL
} stats_kind;

typedef struct stats_leaf {
    char *path, *type;
    uint32_t column;
    unsigned depth;                /* structs above it, the batch included */
    int32_t places[LB_TYPE_DEPTH]; /* which child of each leads to it */
    stats_kind kind;
    unsigned decimal_bytes;
    uint64_t nulls, nans;
    bool any;
    int64_t min_i, max_i;
    uint64_t min_u, max_u;
    double min_f, max_f;
    lb_i256 min_d, max_d;
    lb_text_bounds *text;
} stats_leaf;

struct lb_array_stats {
    lb_arena arena;
    lb_buf leaves; /* while they are collected */
    size_t n;
    stats_leaf *items;
    lb_stats_want_fn want;
    void *user;
};

/* ---------------------------------------------------------------- which leaves there are */

static stats_kind stats_kind_of(const struct ArrowSchemaView *v)
{
    switch (v->type) {
    case NANOARROW_TYPE_BOOL:
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
    case NANOARROW_TYPE_TIMESTAMP:
    case NANOARROW_TYPE_DURATION:
        return STATS_INT;
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        return STATS_UINT;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        return STATS_FLOAT;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
        return STATS_TEXT;
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        return STATS_BYTES;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return STATS_DECIMAL;
    default:
        return STATS_NONE;
    }
}

static lb_status stats_words(const struct ArrowSchema *schema, lb_arena *arena, char **out, lb_error *err)
{
    lb_buf words;

    lb_buf_init(&words, arena->budget);
    lb_status status = lb_type_words(schema, false, &words, err);
    if (status == LB_OK) {
        *out = lb_arena_copy(arena, (lb_str){ (const char *)words.data, words.size });
        status = *out == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&words);
    return status;
}

static lb_status stats_collect(lb_array_stats *s, const struct ArrowSchema *schema, const stats_leaf *above,
                               const char *path, lb_error *err)
{
    struct ArrowSchemaView view;
    stats_leaf leaf = *above;

    LB_TRY(lb_schema_view(schema, &view, err));
    if (view.type == NANOARROW_TYPE_STRUCT && schema->n_children != 0 && above->depth < LB_TYPE_DEPTH) {
        leaf.depth++;
        for (int64_t i = 0; i < schema->n_children; i++) {
            const char *name = schema->children[i]->name == NULL ? "" : schema->children[i]->name;
            size_t size = strlen(path) + strlen(name) + 2;
            char *inner = lb_arena_alloc(&s->arena, size, 1);
            if (inner == NULL)
                return lb_arena_fail(&s->arena, err);
            (void)snprintf(inner, size, "%s%s%s", path, above->depth == 0 ? "" : ".", name);
            if (above->depth == 0)
                leaf.column = (uint32_t)i;
            leaf.places[above->depth] = (int32_t)i;
            LB_TRY(stats_collect(s, schema->children[i], &leaf, inner, err));
        }
        return LB_OK;
    }
    if (above->depth == 0 || (s->want != NULL && !s->want(s->user, path, leaf.column)))
        return LB_OK;
    leaf.path = lb_arena_copy(&s->arena, lb_str_of(path));
    if (leaf.path == NULL)
        return lb_arena_fail(&s->arena, err);
    LB_TRY(stats_words(schema, &s->arena, &leaf.type, err));
    leaf.kind = stats_kind_of(&view);
    leaf.decimal_bytes = view.type == NANOARROW_TYPE_DECIMAL128 ? 16 : 32;
    if (leaf.kind == STATS_TEXT || leaf.kind == STATS_BYTES) {
        leaf.text = lb_arena_alloc(&s->arena, 1, sizeof *leaf.text);
        if (leaf.text == NULL)
            return lb_arena_fail(&s->arena, err);
    }
    return lb_buf_append(&s->leaves, &leaf, sizeof leaf, err);
}

lb_status lb_array_stats_new(const struct ArrowSchema *schema, lb_stats_want_fn want, void *user, lb_budget *budget,
                             lb_array_stats **out, lb_error *err)
{
    const stats_leaf top = { .depth = 0 };
    lb_array_stats *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->want = want;
    s->user = user;
    lb_arena_init(&s->arena, budget);
    lb_buf_init(&s->leaves, budget);
    lb_status status = stats_collect(s, schema, &top, "", err);
    if (status != LB_OK) {
        lb_array_stats_free(s);
        return status;
    }
    s->items = (stats_leaf *)(void *)s->leaves.data;
    s->n = s->leaves.size / sizeof *s->items;
    *out = s;
    return LB_OK;
}

void lb_array_stats_free(lb_array_stats *s)
{
    if (s == NULL)
        return;
    lb_buf_free(&s->leaves);
    lb_arena_free(&s->arena);
    free(s);
}

void lb_array_stats_reset(lb_array_stats *s)
{
    for (size_t i = 0; i < s->n; i++) {
        stats_leaf *l = &s->items[i];
        l->any = false;
        l->nulls = l->nans = 0;
        if (l->text != NULL)
            *l->text = (lb_text_bounds){ .any = false };
    }
}

/* ---------------------------------------------------------------- values */

static void stats_int(stats_leaf *l, int64_t min, int64_t max)
{
    l->min_i = !l->any || min < l->min_i ? min : l->min_i;
    l->max_i = !l->any || max > l->max_i ? max : l->max_i;
    l->any = true;
}

static void stats_uint(stats_leaf *l, uint64_t min, uint64_t max)
{
    l->min_u = !l->any || min < l->min_u ? min : l->min_u;
    l->max_u = !l->any || max > l->max_u ? max : l->max_u;
    l->any = true;
}

/* Of zeros the negative one is the less. */
static bool stats_less(double a, double b)
{
    return a < b || (a == b && signbit(a) != 0 && signbit(b) == 0);
}

static void stats_float(stats_leaf *l, double min, double max)
{
    l->min_f = !l->any || stats_less(min, l->min_f) ? min : l->min_f;
    l->max_f = !l->any || stats_less(l->max_f, max) ? max : l->max_f;
    l->any = true;
}

/* Sign first, then from the top: the words of lb_i256 lie from the least on. */
static int stats_decimal_order(const lb_i256 *a, const lb_i256 *b)
{
    uint64_t x[4], y[4];

    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    if ((int64_t)x[3] != (int64_t)y[3])
        return (int64_t)x[3] < (int64_t)y[3] ? -1 : 1;
    for (int i = 2; i >= 0; i--)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static void stats_decimal(stats_leaf *l, const lb_i256 *min, const lb_i256 *max)
{
    l->min_d = !l->any || stats_decimal_order(min, &l->min_d) < 0 ? *min : l->min_d;
    l->max_d = !l->any || stats_decimal_order(max, &l->max_d) > 0 ? *max : l->max_d;
    l->any = true;
}

static void stats_value(stats_leaf *l, const struct ArrowArrayView *v, int64_t row)
{
    lb_i256 decimal;
    int64_t i;
    double f;

    switch (l->kind) {
    case STATS_INT:
        i = ArrowArrayViewGetIntUnsafe(v, row);
        stats_int(l, i, i);
        return;
    case STATS_UINT:
        stats_uint(l, ArrowArrayViewGetUIntUnsafe(v, row), ArrowArrayViewGetUIntUnsafe(v, row));
        return;
    case STATS_FLOAT:
        f = lb_view_double(v, row);
        if (isnan(f))
            l->nans++;
        else
            stats_float(l, f, f);
        return;
    case STATS_TEXT:
    case STATS_BYTES: {
        lb_str text = lb_view_bytes(v, row);
        lb_text_bounds_add(l->text, text.size == 0 ? "" : text.at, text.size);
        return;
    }
    case STATS_DECIMAL:
        decimal = lb_view_decimal(v, row);
        stats_decimal(l, &decimal, &decimal);
        return;
    case STATS_NONE:
        return;
    }
}

/* int64 and double columns without nulls are the common case, and worth a loop of their own. */
static bool stats_fast(stats_leaf *l, const struct ArrowArrayView *v)
{
    if (v->length == 0 || v->storage_type != NANOARROW_TYPE_INT64 || l->kind != STATS_INT)
        return false;
    const int64_t *p = v->buffer_views[1].data.as_int64 + v->offset;
    int64_t min = p[0], max = p[0];
    for (int64_t i = 1; i < v->length; i++) {
        min = p[i] < min ? p[i] : min;
        max = p[i] > max ? p[i] : max;
    }
    stats_int(l, min, max);
    return true;
}

static void stats_leaf_add(stats_leaf *l, const struct ArrowArrayView *batch)
{
    const struct ArrowArrayView *chain[LB_TYPE_DEPTH + 1] = { batch };
    bool nulls = false;

    for (unsigned k = 0; k < l->depth; k++) {
        chain[k + 1] = chain[k]->children[l->places[k]];
        nulls = nulls || lb_view_has_validity(chain[k + 1]) || chain[k + 1]->storage_type == NANOARROW_TYPE_NA;
    }
    const struct ArrowArrayView *v = chain[l->depth];
    if (!nulls && (l->kind == STATS_NONE || stats_fast(l, v)))
        return;
    for (int64_t row = 0; row < batch->length; row++) {
        bool null = false;
        for (unsigned k = 1; nulls && k <= l->depth && !null; k++)
            null = lb_view_is_null(chain[k], row);
        if (null)
            l->nulls++;
        else
            stats_value(l, v, row);
    }
}

lb_status lb_array_stats_add(lb_array_stats *s, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                             lb_error *err)
{
    struct ArrowArrayView view;

    LB_TRY(lb_view_open(schema, batch, &view, err));
    for (size_t i = 0; i < s->n; i++)
        stats_leaf_add(&s->items[i], &view);
    ArrowArrayViewReset(&view);
    return LB_OK;
}

void lb_array_stats_merge(lb_array_stats *s, const lb_array_stats *from)
{
    for (size_t i = 0; i < s->n; i++) {
        stats_leaf *l = &s->items[i];
        const stats_leaf *m = &from->items[i];
        l->nulls += m->nulls;
        l->nans += m->nans;
        if (l->text != NULL)
            lb_text_bounds_merge(l->text, m->text);
        if (!m->any)
            continue;
        if (l->kind == STATS_INT)
            stats_int(l, m->min_i, m->max_i);
        else if (l->kind == STATS_UINT)
            stats_uint(l, m->min_u, m->max_u);
        else if (l->kind == STATS_FLOAT)
            stats_float(l, m->min_f, m->max_f);
        else if (l->kind == STATS_DECIMAL)
            stats_decimal(l, &m->min_d, &m->max_d);
    }
}

/* ---------------------------------------------------------------- results */

size_t lb_array_stats_count(const lb_array_stats *s)
{
    return s->n;
}

static lb_status stats_decimal_bytes(const lb_i256 *value, unsigned bytes, lb_arena *arena, lb_str *out, lb_error *err)
{
    uint8_t little[32], big[32];

    memcpy(little, value, sizeof little);
    for (unsigned i = 0; i < bytes; i++)
        big[i] = little[bytes - 1 - i];
    *out = (lb_str){ lb_arena_dup(arena, big, bytes), bytes };
    return out->at == NULL ? lb_arena_fail(arena, err) : LB_OK;
}

static lb_status stats_bounds(const stats_leaf *l, lb_arena *arena, lb_colstat *out, lb_error *err)
{
    if (l->text != NULL)
        return lb_text_bounds_finish(l->text, l->kind == STATS_TEXT, arena, out, err);
    if (!l->any)
        return LB_OK;
    out->min_exact = out->max_exact = true;
    out->min_i = l->min_i;
    out->max_i = l->max_i;
    out->min_u = l->min_u;
    out->max_u = l->max_u;
    out->min_f = l->min_f;
    out->max_f = l->max_f;
    switch (l->kind) {
    case STATS_INT:
        out->has = LB_MIN_I | LB_MAX_I;
        return LB_OK;
    case STATS_UINT:
        out->has = LB_MIN_U | LB_MAX_U;
        return LB_OK;
    case STATS_FLOAT:
        out->has = LB_MIN_F | LB_MAX_F;
        return LB_OK;
    case STATS_DECIMAL:
        out->has = LB_MIN_B | LB_MAX_B;
        LB_TRY(stats_decimal_bytes(&l->min_d, l->decimal_bytes, arena, &out->min_b, err));
        return stats_decimal_bytes(&l->max_d, l->decimal_bytes, arena, &out->max_b, err);
    default:
        return LB_OK;
    }
}

lb_status lb_array_stats_finish(const lb_array_stats *s, lb_arena *arena, lb_colstat *out, uint32_t *columns,
                                lb_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        const stats_leaf *l = &s->items[i];
        out[i] = (lb_colstat){ .source = LB_STATS_COMPUTED,
                               .has_null_count = true,
                               .null_count = l->nulls,
                               .has_nan_count = l->kind == STATS_FLOAT,
                               .nan_count = l->nans };
        const char *path = lb_arena_copy(arena, lb_str_of(l->path)), *type = lb_arena_copy(arena, lb_str_of(l->type));
        if (path == NULL || type == NULL)
            return lb_arena_fail(arena, err);
        out[i].name = lb_str_of(path);
        out[i].type = lb_str_of(type);
        if (columns != NULL)
            columns[i] = l->column;
        LB_TRY(stats_bounds(l, arena, &out[i], err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- going on where another one ended */

/* Of a leaf with a long bound, followed by the kept bytes of both. */
typedef struct stats_long {
    uint32_t leaf;
    uint16_t min_size, max_size;
} stats_long;

static bool stats_is_long(const stats_leaf *l)
{
    return l->text != NULL && (l->text->min_size > LB_STATS_TEXT_BYTES || l->text->max_size > LB_STATS_TEXT_BYTES);
}

lb_status lb_array_stats_put_long(const lb_array_stats *s, lb_buf *out, lb_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        const lb_text_bounds *b = s->items[i].text;
        if (!stats_is_long(&s->items[i]))
            continue;
        const stats_long head = { (uint32_t)i, (uint16_t)b->min_size, (uint16_t)b->max_size };
        LB_TRY(lb_buf_append(out, &head, sizeof head, err));
        LB_TRY(lb_buf_append(out, b->min, b->min_size, err));
        LB_TRY(lb_buf_append(out, b->max, b->max_size, err));
    }
    return LB_OK;
}

static bool resume_long(lb_array_stats *s, lb_str bytes)
{
    while (bytes.size != 0) {
        stats_long head;
        if (bytes.size < sizeof head)
            return false;
        memcpy(&head, bytes.at, sizeof head);
        const size_t size = (size_t)head.min_size + head.max_size;
        const char *at = bytes.at + sizeof head;
        if (head.leaf >= s->n || s->items[head.leaf].text == NULL || head.min_size > LB_STATS_TEXT_BYTES + 1 ||
            head.max_size > LB_STATS_TEXT_BYTES + 1 || size > bytes.size - sizeof head)
            return false;
        lb_text_bounds_add(s->items[head.leaf].text, at, head.min_size);
        lb_text_bounds_add(s->items[head.leaf].text, at + head.min_size, head.max_size);
        bytes = (lb_str){ at + size, bytes.size - sizeof head - size };
    }
    return true;
}

/* Text that is not in the long bounds is all in its own. */
static bool resume_text(stats_leaf *l, const lb_colstat *from)
{
    if ((from->has & (LB_MIN_B | LB_MAX_B)) == 0 || stats_is_long(l))
        return true;
    if (from->has != (LB_MIN_B | LB_MAX_B) || !from->min_exact || !from->max_exact)
        return false;
    lb_text_bounds_add(l->text, from->min_b.size == 0 ? "" : from->min_b.at, from->min_b.size);
    lb_text_bounds_add(l->text, from->max_b.size == 0 ? "" : from->max_b.at, from->max_b.size);
    return true;
}

static bool resume_decimal(lb_str bytes, unsigned size, lb_i256 *out)
{
    uint8_t little[32];

    if (bytes.size != size || size == 0)
        return false;
    memset(little, (bytes.at[0] & 0x80) != 0 ? 0xff : 0, sizeof little);
    for (unsigned i = 0; i < size; i++)
        little[i] = (uint8_t)bytes.at[size - 1 - i];
    memcpy(out, little, sizeof little);
    return true;
}

static bool resume_bounds(stats_leaf *l, const lb_colstat *from)
{
    lb_i256 min, max;

    if (l->text != NULL)
        return resume_text(l, from);
    if (from->has == 0)
        return true;
    if (l->kind == STATS_INT && from->has == (LB_MIN_I | LB_MAX_I))
        stats_int(l, from->min_i, from->max_i);
    else if (l->kind == STATS_UINT && from->has == (LB_MIN_U | LB_MAX_U))
        stats_uint(l, from->min_u, from->max_u);
    else if (l->kind == STATS_FLOAT && from->has == (LB_MIN_F | LB_MAX_F))
        stats_float(l, from->min_f, from->max_f);
    else if (l->kind == STATS_DECIMAL && from->has == (LB_MIN_B | LB_MAX_B) &&
             resume_decimal(from->min_b, l->decimal_bytes, &min) && resume_decimal(from->max_b, l->decimal_bytes, &max))
        stats_decimal(l, &min, &max);
    else
        return false;
    return true;
}

bool lb_array_stats_resume(lb_array_stats *s, const lb_colstats *from, lb_str long_bounds)
{
    if (from->count != s->n || !resume_long(s, long_bounds))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        stats_leaf *l = &s->items[i];
        const lb_colstat *f = &from->items[i];
        if (f->source != LB_STATS_COMPUTED || !f->has_null_count || f->has_nan_count != (l->kind == STATS_FLOAT) ||
            !lb_str_is(f->name, l->path) || !lb_str_is(f->type, l->type) || !resume_bounds(l, f))
            return false;
        l->nulls += f->null_count;
        l->nans += f->has_nan_count ? f->nan_count : 0;
    }
    return true;
}
