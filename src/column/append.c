#include "column/append.h"

#include "column/values.h"

#define APPEND_FIRST 512 /* bytes of a new buffer */
#define APPEND_SLACK 64  /* texts are copied in steps of some bytes where there is room */

/* ---------------------------------------------------------------- making */

static lb_status append_make(const struct ArrowSchema *schema, lb_arena *arena, int depth, lb_growing *out,
                             lb_error *err);

static lb_status append_children(struct ArrowSchema *const *fields, int64_t n, lb_arena *arena, int depth,
                                 lb_growing *out, lb_error *err)
{
    out->children = lb_arena_alloc(arena, (size_t)n, sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(arena, err);
    for (; out->n_children < (size_t)n; out->n_children++)
        LB_TRY(append_make(fields[out->n_children], arena, depth + 1, &out->children[out->n_children], err));
    return LB_OK;
}

static lb_status append_kind(const struct ArrowSchemaView *v, lb_growing *out, lb_error *err)
{
    switch (v->type) {
    case NANOARROW_TYPE_NA:
        out->kind = LB_GROWING_NULL;
        return LB_OK;
    case NANOARROW_TYPE_BOOL:
        out->kind = LB_GROWING_BOOL;
        return LB_OK;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
        out->kind = LB_GROWING_BYTES;
        return LB_OK;
    case NANOARROW_TYPE_STRUCT:
        out->kind = LB_GROWING_STRUCT;
        return LB_OK;
    case NANOARROW_TYPE_LIST:
        out->kind = LB_GROWING_LIST;
        return LB_OK;
    case NANOARROW_TYPE_MAP:
        out->kind = LB_GROWING_MAP;
        return LB_OK;
    case NANOARROW_TYPE_DENSE_UNION:
        out->kind = LB_GROWING_UNION;
        return LB_OK;
    default:
        break;
    }
    if (v->layout.buffer_type[1] != NANOARROW_BUFFER_TYPE_DATA || v->layout.element_size_bits[1] < 8 ||
        v->layout.buffer_type[2] != NANOARROW_BUFFER_TYPE_NONE)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "columns of type %s are not made row by row",
                       ArrowTypeString(v->type));
    out->kind = LB_GROWING_FIXED;
    out->width = (uint32_t)(v->layout.element_size_bits[1] / 8);
    return LB_OK;
}

static lb_status append_make(const struct ArrowSchema *schema, lb_arena *arena, int depth, lb_growing *out,
                             lb_error *err)
{
    struct ArrowSchemaView v;

    ArrowBufferInit(&out->valid);
    ArrowBufferInit(&out->ends);
    ArrowBufferInit(&out->data);
    LB_TRY(lb_schema_view(schema, &v, err));
    if (depth > LB_TYPE_DEPTH || schema->dictionary != NULL)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type that is nested too deeply, or has a dictionary");
    LB_TRY(append_kind(&v, out, err));
    switch (out->kind) {
    case LB_GROWING_STRUCT:
    case LB_GROWING_LIST:
    case LB_GROWING_UNION:
        return append_children(schema->children, schema->n_children, arena, depth, out, err);
    case LB_GROWING_MAP:
        return append_children(schema->children[0]->children, 2, arena, depth + 1, out, err);
    default:
        return LB_OK;
    }
}

lb_status lb_growing_make(const struct ArrowSchema *schema, lb_arena *arena, lb_growing **out, lb_error *err)
{
    *out = lb_arena_alloc(arena, 1, sizeof **out);
    return *out == NULL ? lb_arena_fail(arena, err) : append_make(schema, arena, 0, *out, err);
}

static void append_reset(lb_growing *g)
{
    ArrowBufferReset(&g->valid);
    ArrowBufferReset(&g->ends);
    ArrowBufferReset(&g->data);
    g->length = g->nulls = 0;
    for (size_t i = 0; i < g->n_children; i++)
        append_reset(&g->children[i]);
}

void lb_growing_reset(lb_append *a, lb_growing *g)
{
    if (g != NULL)
        append_reset(g);
    lb_budget_give(a->budget, a->taken);
    a->taken = a->bytes = 0;
}

/* After a batch was made: what was copied stays for the next one, and counts. */
static uint64_t append_keep(lb_growing *g)
{
    g->valid.size_bytes = g->ends.size_bytes = g->data.size_bytes = 0;
    g->length = g->nulls = 0;
    uint64_t kept = (uint64_t)(g->valid.capacity_bytes + g->ends.capacity_bytes + g->data.capacity_bytes);
    for (size_t i = 0; i < g->n_children; i++)
        kept += append_keep(&g->children[i]);
    return kept;
}

static void append_expect(lb_append *a, lb_growing *g, uint64_t part, uint64_t of)
{
    const uint64_t had = (uint64_t)g->had, want = had / of * part + (had % of + 1) * part / of + APPEND_SLACK;

    for (size_t i = 0; i < g->n_children; i++)
        append_expect(a, &g->children[i], part, of);
    if (had <= APPEND_FIRST || g->data.capacity_bytes != 0 || !lb_budget_take(a->budget, want))
        return;
    if (ArrowBufferReserve(&g->data, (int64_t)want) == NANOARROW_OK)
        a->taken += want;
    else
        lb_budget_give(a->budget, want);
}

void lb_growing_expect(lb_append *a, lb_growing *g, uint64_t rows)
{
    if (a->had_rows != 0)
        append_expect(a, g, LB_MIN(rows, a->had_rows), a->had_rows);
}

/* ---------------------------------------------------------------- appending */

static bool append_fails(lb_append *a, lb_status status)
{
    if (a->status == LB_OK)
        a->status = status;
    return false;
}

bool lb_append_grow(lb_append *a, struct ArrowBuffer *buffer, int64_t more)
{
    const int64_t cap = LB_MAX(buffer->capacity_bytes, APPEND_FIRST),
                  grown = LB_MAX(2 * cap, buffer->size_bytes + more), added = grown - buffer->capacity_bytes;

    if (!lb_budget_take(a->budget, (uint64_t)added))
        return append_fails(a, lb_fail(a->err, LB_BUDGET, LB_NOWHERE, "a batch of rows passes the memory limit"));
    a->taken += (uint64_t)added;
    if (ArrowBufferReserve(buffer, grown - buffer->size_bytes) != NANOARROW_OK)
        return append_fails(a, lb_fail_nomem(a->err));
    return true;
}

bool lb_append_too_long(lb_append *a)
{
    return append_fails(
        a, lb_fail(a->err, LB_UNSUPPORTED, LB_NOWHERE, "values of one column pass what a batch of rows holds"));
}

bool lb_append_first_null(lb_append *a, lb_growing *g)
{
    if (!lb_append_room(a, &g->valid, g->length + 1))
        return false;
    if (g->length != 0)
        memset(g->valid.data, 1, (size_t)g->length);
    g->valid.size_bytes = g->length;
    return true;
}

/* What a null leaves in the buffers. */
static bool append_hole(lb_append *a, lb_growing *g)
{
    switch (g->kind) {
    case LB_GROWING_BOOL:
    case LB_GROWING_FIXED: {
        const int64_t width = g->kind == LB_GROWING_BOOL ? 1 : (int64_t)g->width;
        if (!lb_append_room(a, &g->data, width))
            return false;
        memset(g->data.data + g->data.size_bytes, 0, (size_t)width);
        g->data.size_bytes += width;
        return true;
    }
    case LB_GROWING_BYTES:
        return lb_append_end(a, g, g->data.size_bytes);
    case LB_GROWING_LIST:
    case LB_GROWING_MAP:
        return lb_append_end(a, g, g->children[0].length);
    case LB_GROWING_STRUCT:
        for (size_t i = 0; i < g->n_children; i++)
            if (!lb_growing_null(a, &g->children[i]))
                return false;
        return true;
    case LB_GROWING_NULL:
    case LB_GROWING_UNION:
        break;
    }
    return true;
}

/* A union has no nulls of its own: a null of its first branch stands for one. */
static bool append_null_branch(lb_append *a, lb_growing *g)
{
    if (g->n_children == 0)
        return append_fails(a, lb_fail(a->err, LB_CORRUPT, LB_NOWHERE, "a null in a union of nothing"));
    return lb_growing_branch(a, g, 0) && lb_growing_null(a, &g->children[0]);
}

bool lb_growing_null(lb_append *a, lb_growing *g)
{
    a->bytes++;
    if (g->kind == LB_GROWING_UNION)
        return append_null_branch(a, g);
    if (g->kind != LB_GROWING_NULL) {
        if (g->nulls == 0 && !lb_append_first_null(a, g))
            return false;
        if (!append_hole(a, g) || !lb_append_room(a, &g->valid, 1))
            return false;
        g->valid.data[g->valid.size_bytes++] = 0;
    }
    g->length++;
    g->nulls++;
    return true;
}

/* ---------------------------------------------------------------- taking back */

static int64_t append_end_of(const lb_growing *g, int64_t length)
{
    int32_t end = 0;

    if (length > 0)
        memcpy(&end, g->ends.data + (length - 1) * 4, sizeof end);
    return end;
}

static void append_truncate_validity(lb_growing *g, int64_t length)
{
    for (int64_t i = length; i < g->valid.size_bytes; i++)
        g->nulls -= g->valid.data[i] == 0;
    g->valid.size_bytes = LB_MIN(g->valid.size_bytes, length);
    if (g->kind == LB_GROWING_NULL)
        g->nulls = length;
    if (g->nulls == 0)
        g->valid.size_bytes = 0;
}

static void append_truncate_branches(lb_growing *g, int64_t length)
{
    for (int64_t i = g->length; i-- > length;)
        lb_growing_truncate(&g->children[g->data.data[i]], append_end_of(g, i + 1));
    g->data.size_bytes = length;
    g->ends.size_bytes = 4 * length;
}

/* Values that were begun only, as items of a list without its end, go as well. */
void lb_growing_truncate(lb_growing *g, int64_t length)
{
    const int64_t end = g->kind == LB_GROWING_UNION ? 0 : append_end_of(g, g->ends.size_bytes == 0 ? 0 : length);

    append_truncate_validity(g, length);
    switch (g->kind) {
    case LB_GROWING_NULL:
        break;
    case LB_GROWING_BOOL:
        g->data.size_bytes = length;
        break;
    case LB_GROWING_FIXED:
        g->data.size_bytes = length * (int64_t)g->width;
        break;
    case LB_GROWING_BYTES:
        g->data.size_bytes = end;
        g->ends.size_bytes = 4 * length;
        break;
    case LB_GROWING_LIST:
    case LB_GROWING_MAP:
        g->ends.size_bytes = 4 * length;
        for (size_t i = 0; i < g->n_children; i++)
            lb_growing_truncate(&g->children[i], end);
        break;
    case LB_GROWING_STRUCT:
        for (size_t i = 0; i < g->n_children; i++)
            lb_growing_truncate(&g->children[i], length);
        break;
    case LB_GROWING_UNION:
        append_truncate_branches(g, length);
        break;
    }
    g->length = length;
}

/* ---------------------------------------------------------------- finishing */

static int finish_bits(const struct ArrowBuffer *bytes, int64_t n, struct ArrowBitmap *out)
{
    ArrowBitmapInit(out);
    int code = ArrowBitmapReserve(out, n);
    if (code == NANOARROW_OK)
        ArrowBitmapAppendInt8Unsafe(out, (const int8_t *)bytes->data, n);
    return code;
}

static int finish_ends(lb_growing *g, struct ArrowArray *out)
{
    static const int32_t zero;
    struct ArrowBuffer offsets;

    ArrowBufferInit(&offsets);
    int code = ArrowBufferReserve(&offsets, g->ends.size_bytes + 4);
    if (code != NANOARROW_OK)
        return code;
    ArrowBufferAppendUnsafe(&offsets, &zero, 4);
    if (g->ends.size_bytes != 0)
        ArrowBufferAppendUnsafe(&offsets, g->ends.data, g->ends.size_bytes);
    return ArrowArraySetBuffer(out, 1, &offsets);
}

static int finish_array(lb_growing *g, struct ArrowArray *out);

static int finish_children(lb_growing *g, struct ArrowArray *out, bool same_length)
{
    for (size_t i = 0; i < g->n_children; i++) {
        if (same_length && g->children[i].length != g->length)
            return EINVAL;
        int code = finish_array(&g->children[i], out->children[i]);
        if (code != NANOARROW_OK)
            return code;
    }
    return NANOARROW_OK;
}

static int finish_map(lb_growing *g, struct ArrowArray *out)
{
    struct ArrowArray *entries = out->children[0];

    entries->length = g->children[0].length;
    entries->null_count = 0;
    if (g->children[1].length != entries->length)
        return EINVAL;
    return finish_children(g, entries, false);
}

static int finish_validity(lb_growing *g, struct ArrowArray *out)
{
    struct ArrowBitmap bits;

    if (g->nulls == 0 || g->kind == LB_GROWING_NULL)
        return NANOARROW_OK;
    int code = finish_bits(&g->valid, g->length, &bits);
    if (code == NANOARROW_OK)
        ArrowArraySetValidityBitmap(out, &bits);
    return code;
}

static int finish_values(lb_growing *g, struct ArrowArray *out)
{
    struct ArrowBitmap bits;
    int code;

    switch (g->kind) {
    case LB_GROWING_NULL:
        return NANOARROW_OK;
    case LB_GROWING_BOOL:
        code = finish_bits(&g->data, g->length, &bits);
        return code == NANOARROW_OK ? ArrowArraySetBuffer(out, 1, &bits.buffer) : code;
    case LB_GROWING_FIXED:
        g->had = g->data.size_bytes;
        return ArrowArraySetBuffer(out, 1, &g->data);
    case LB_GROWING_BYTES:
        g->had = g->data.size_bytes;
        code = finish_ends(g, out);
        return code == NANOARROW_OK ? ArrowArraySetBuffer(out, 2, &g->data) : code;
    case LB_GROWING_LIST:
        code = finish_ends(g, out);
        return code == NANOARROW_OK ? finish_children(g, out, false) : code;
    case LB_GROWING_MAP:
        code = finish_ends(g, out);
        return code == NANOARROW_OK ? finish_map(g, out) : code;
    case LB_GROWING_STRUCT:
        return finish_children(g, out, true);
    case LB_GROWING_UNION:
        code = ArrowArraySetBuffer(out, 0, &g->data);
        if (code == NANOARROW_OK)
            code = ArrowArraySetBuffer(out, 1, &g->ends);
        return code == NANOARROW_OK ? finish_children(g, out, false) : code;
    }
    return EINVAL;
}

static int finish_array(lb_growing *g, struct ArrowArray *out)
{
    out->length = g->length;
    out->null_count = g->nulls;
    int code = finish_validity(g, out);
    return code == NANOARROW_OK ? finish_values(g, out) : code;
}

lb_status lb_growing_finish(lb_append *a, lb_growing *g, const struct ArrowSchema *schema, struct ArrowArray *out,
                            lb_error *err)
{
    int code = ArrowArrayInitFromSchema(out, schema, NULL);

    if (code == NANOARROW_OK)
        code = finish_array(g, out);
    if (code == NANOARROW_OK)
        code = ArrowArrayFinishBuilding(out, NANOARROW_VALIDATION_LEVEL_MINIMAL, NULL);
    if (code == NANOARROW_OK) {
        const uint64_t kept = append_keep(g);
        lb_budget_give(a->budget, a->taken - kept);
        a->taken = kept;
        a->bytes = 0;
        a->had_rows = (uint64_t)out->length;
        return LB_OK;
    }
    lb_growing_reset(a, g);
    if (out->release != NULL)
        out->release(out);
    return lb_fail_arrow(err, code, NULL);
}
