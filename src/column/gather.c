/* Gathering rows: values of fixed width and text are copied directly, everything else goes through the nodes of
 * cast.c. */
#include "column/gather.h"

#include <stdlib.h>

#include "column/values.h"

/* Rows ahead whose memory is asked for early: they lie anywhere. */
#define GATHER_AHEAD 16

/* The buffers of a chunk, beginning with its first row where rows are of whole bytes. */
typedef struct gather_chunk {
    const uint8_t *valid; /* NULL: no row is null */
    const uint8_t *values;
    const int32_t *offsets;
    int64_t first_bit;
} gather_chunk;

typedef struct gather {
    struct ArrowArrayView *views;
    gather_chunk *chunks;
    size_t n_views;
    const lb_pick *picks;
    size_t n;
    struct ArrowArray *out;
} gather;

static lb_status gather_arrow(int code, lb_error *err)
{
    return code == NANOARROW_OK ? LB_OK : lb_fail_arrow(err, code, NULL);
}

/* Bytes of a value that is copied as it is; 0: of another kind. */
static int64_t gather_width(const struct ArrowSchemaView *type)
{
    int64_t bits = type->layout.element_size_bits[1];

    if (type->layout.buffer_type[1] != NANOARROW_BUFFER_TYPE_DATA || type->type == NANOARROW_TYPE_DICTIONARY ||
        type->layout.buffer_type[2] != NANOARROW_BUFFER_TYPE_NONE)
        return 0;
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 || bits == 256 ? bits / 8 : 0;
}

static void gather_chunk_of(const struct ArrowArrayView *v, int64_t width, gather_chunk *out)
{
    out->first_bit = v->offset;
    out->valid = lb_view_has_validity(v) ? v->buffer_views[0].data.as_uint8 : NULL;
    out->values = v->buffer_views[1].data.as_uint8;
    if (width != 0 && out->values != NULL)
        out->values += v->offset * width;
    if (v->layout.buffer_type[2] != NANOARROW_BUFFER_TYPE_DATA)
        return;
    out->offsets = v->buffer_views[1].data.as_int32;
    if (out->offsets != NULL)
        out->offsets += v->offset;
    out->values = v->buffer_views[2].data.as_uint8;
}

/* ---------------------------------------------------------------- validity */

static lb_status gather_validity(gather *g, lb_error *err)
{
    struct ArrowBitmap bits;
    int64_t nulls = 0;
    bool any = false;

    for (size_t i = 0; i < g->n_views; i++)
        any = any || g->chunks[i].valid != NULL;
    if (!any)
        return LB_OK;
    ArrowBitmapInit(&bits);
    lb_status status = gather_arrow(ArrowBitmapReserve(&bits, (int64_t)g->n), err);
    for (size_t i = 0; status == LB_OK && i < g->n; i++) {
        const gather_chunk *c = &g->chunks[g->picks[i].chunk];
        bool null = c->valid != NULL && !ArrowBitGet(c->valid, c->first_bit + g->picks[i].row);
        nulls += null;
        ArrowBitmapAppendUnsafe(&bits, !null, 1);
    }
    g->out->null_count = nulls;
    if (nulls != 0)
        ArrowArraySetValidityBitmap(g->out, &bits);
    ArrowBitmapReset(&bits);
    return status;
}

/* ---------------------------------------------------------------- values of fixed width */

/* A constant width lets the compiler copy without a call. */
#define GATHER_WIDTH(bytes)                                                                      \
    static void gather_copy_##bytes(const gather *g, uint8_t *to)                                \
    {                                                                                            \
        for (size_t i = 0; i < g->n; i++, to += (bytes)) {                                       \
            const lb_pick p = g->picks[i], ahead = g->picks[LB_MIN(i + GATHER_AHEAD, g->n - 1)]; \
            __builtin_prefetch(g->chunks[ahead.chunk].values + (size_t)ahead.row * (bytes));     \
            memcpy(to, g->chunks[p.chunk].values + (size_t)p.row * (bytes), (bytes));            \
        }                                                                                        \
    }

GATHER_WIDTH(1)
GATHER_WIDTH(2)
GATHER_WIDTH(4)
GATHER_WIDTH(8)
GATHER_WIDTH(16)
GATHER_WIDTH(32)

static lb_status gather_fixed(gather *g, int64_t width, lb_error *err)
{
    struct ArrowBuffer *data = ArrowArrayBuffer(g->out, 1);

    LB_TRY(gather_arrow(ArrowBufferReserve(data, (int64_t)g->n * width), err));
    if (g->n == 0)
        return LB_OK;
    if (width == 1)
        gather_copy_1(g, data->data);
    else if (width == 2)
        gather_copy_2(g, data->data);
    else if (width == 4)
        gather_copy_4(g, data->data);
    else if (width == 8)
        gather_copy_8(g, data->data);
    else if (width == 16)
        gather_copy_16(g, data->data);
    else
        gather_copy_32(g, data->data);
    data->size_bytes = (int64_t)g->n * width;
    return LB_OK;
}

static lb_status gather_bits(gather *g, lb_error *err)
{
    struct ArrowBuffer *data = ArrowArrayBuffer(g->out, 1);
    int64_t bytes = ((int64_t)g->n + 7) / 8;

    LB_TRY(gather_arrow(ArrowBufferAppendFill(data, 0, bytes), err));
    for (size_t i = 0; i < g->n; i++) {
        const gather_chunk *c = &g->chunks[g->picks[i].chunk];
        if (ArrowBitGet(c->values, c->first_bit + g->picks[i].row))
            ArrowBitSet(data->data, (int64_t)i);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- text */

static lb_status gather_offsets(gather *g, int64_t *total, lb_error *err)
{
    struct ArrowBuffer *offsets = ArrowArrayBuffer(g->out, 1);
    int32_t *to;

    LB_TRY(gather_arrow(ArrowBufferReserve(offsets, ((int64_t)g->n + 1) * 4), err));
    to = (int32_t *)(void *)offsets->data;
    to[0] = 0;
    *total = 0;
    for (size_t i = 0; i < g->n; i++) {
        const lb_pick ahead = g->picks[LB_MIN(i + GATHER_AHEAD, g->n - 1)];
        __builtin_prefetch(g->chunks[ahead.chunk].offsets + ahead.row);
        const int32_t *at = g->chunks[g->picks[i].chunk].offsets + g->picks[i].row;
        *total += at[1] - at[0];
        if (*total > INT32_MAX)
            return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a batch of rows has more text than a column holds");
        to[i + 1] = (int32_t)*total;
    }
    offsets->size_bytes = ((int64_t)g->n + 1) * 4;
    return LB_OK;
}

static lb_status gather_text(gather *g, lb_error *err)
{
    struct ArrowBuffer *data = ArrowArrayBuffer(g->out, 2);
    int64_t total;

    LB_TRY(gather_offsets(g, &total, err));
    LB_TRY(gather_arrow(ArrowBufferReserve(data, total), err));
    for (size_t i = 0; i < g->n; i++) {
        const lb_pick ahead = g->picks[LB_MIN(i + GATHER_AHEAD, g->n - 1)];
        const gather_chunk *c = &g->chunks[g->picks[i].chunk], *next = &g->chunks[ahead.chunk];
        const int32_t *at = c->offsets + g->picks[i].row;
        if (next->values != NULL)
            __builtin_prefetch(next->values + next->offsets[ahead.row]);
        if (at[1] != at[0])
            ArrowBufferAppendUnsafe(data, c->values + at[0], at[1] - at[0]);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- the call */

static bool gather_is_flat(const struct ArrowSchemaView *type)
{
    return type->type == NANOARROW_TYPE_STRING || type->type == NANOARROW_TYPE_BINARY ||
           type->type == NANOARROW_TYPE_BOOL || gather_width(type) != 0;
}

static lb_status gather_values(gather *g, const struct ArrowSchemaView *type, lb_error *err)
{
    LB_TRY(gather_validity(g, err));
    g->out->length = (int64_t)g->n;
    if (type->type == NANOARROW_TYPE_BOOL)
        return gather_bits(g, err);
    if (type->type == NANOARROW_TYPE_STRING || type->type == NANOARROW_TYPE_BINARY)
        return gather_text(g, err);
    return gather_fixed(g, gather_width(type), err);
}

/* Views of all chunks; what the type says is looked up for the first alone: flat ones hold nothing of their own. */
static lb_status gather_open(gather *g, const struct ArrowSchema *type, const struct ArrowArray *const *chunks,
                             size_t n_chunks, size_t width, lb_error *err)
{
    struct ArrowArrayView blank;
    struct ArrowError why = { "" };

    ArrowArrayViewInitFromType(&blank, NANOARROW_TYPE_UNINITIALIZED);
    LB_TRY(gather_arrow(ArrowArrayViewInitFromSchema(&blank, type, &why), err));
    while (g->n_views < n_chunks) {
        size_t i = g->n_views++;
        g->views[i] = blank;
        LB_TRY(gather_arrow(ArrowArrayViewSetArray(&g->views[i], chunks[i], &why), err));
        gather_chunk_of(&g->views[i], width, &g->chunks[i]);
    }
    return LB_OK;
}

static lb_status gather_flat(const struct ArrowSchema *type, const struct ArrowSchemaView *kind,
                             const struct ArrowArray *const *chunks, size_t n_chunks, gather *g, lb_error *err)
{
    struct ArrowError why = { "" };
    lb_status status = LB_OK;

    g->views = calloc(n_chunks + 1, sizeof *g->views);
    g->chunks = calloc(n_chunks + 1, sizeof *g->chunks);
    if (g->views == NULL || g->chunks == NULL)
        status = lb_fail_nomem(err);
    if (status == LB_OK)
        status = gather_open(g, type, chunks, n_chunks, gather_width(kind), err);
    if (status == LB_OK) {
        status = gather_arrow(ArrowArrayInitFromSchema(g->out, type, &why), err);
        if (status != LB_OK)
            g->out->release = NULL; /* what was begun is gone already */
    }
    if (status == LB_OK)
        status = gather_values(g, kind, err);
    if (status == LB_OK)
        status = gather_arrow(ArrowArrayFinishBuilding(g->out, NANOARROW_VALIDATION_LEVEL_MINIMAL, &why), err);
    free(g->views);
    free(g->chunks);
    if (status != LB_OK && g->out->release != NULL)
        g->out->release(g->out);
    return status;
}

lb_status lb_array_gather(const struct ArrowSchema *type, const struct ArrowArray *const *chunks, size_t n_chunks,
                          const lb_pick *picks, size_t n, struct ArrowArray *out, lb_error *err)
{
    struct ArrowSchemaView kind;
    gather g = { .picks = picks, .n = n, .out = out };

    out->release = NULL;
    LB_TRY(lb_schema_view(type, &kind, err));
    if (!gather_is_flat(&kind))
        return lb_array_gather_any(type, chunks, n_chunks, picks, n, out, err);
    return gather_flat(type, &kind, chunks, n_chunks, &g, err);
}
