/* Columns: where their streams stand, and the batch that is built of them. */
#include "format/orc/orc.h"

/* ---------------------------------------------------------------- making */

void orc_node_init(const orc_file *file, const orc_type *type, const char *column, orc_node *out)
{
    lb_budget *budget = &file->cx->budget;

    *out = (orc_node){ .file = file, .type = type, .column = column };
    ArrowBufferInit(&out->validity);
    ArrowBufferInit(&out->offsets);
    ArrowBufferInit(&out->data);
    lb_buf_init(&out->words, budget);
    lb_buf_init(&out->word_starts, budget);
    lb_buf_init(&out->index.starts, budget);
    lb_buf_init(&out->index.positions, budget);
}

lb_status orc_node_make(const orc_file *file, uint32_t type, const char *column, lb_arena *arena, orc_node *out,
                        lb_error *err)
{
    const orc_type *t = &file->types[type];

    orc_node_init(file, t, column, out);
    out->children = lb_arena_alloc(arena, (size_t)t->n_children + 1, sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(arena, err);
    for (uint32_t i = 0; i < t->n_children; i++) {
        LB_TRY(orc_node_make(file, t->children[i], column, arena, &out->children[i], err));
        out->n_children++;
    }
    return LB_OK;
}

void orc_node_close_stripe(orc_node *n)
{
    for (unsigned i = 0; i < ORC_INS; i++) {
        orc_in_free(&n->in[i]);
        n->in_there[i] = false;
    }
    lb_buf_free(&n->words);
    lb_buf_free(&n->word_starts);
    lb_buf_free(&n->index.starts);
    lb_buf_free(&n->index.positions);
    n->index.read = false;
    n->index.n = 0;
    n->index_at = n->index_size = 0;
    n->has_encoding = n->v2 = n->dictionary = n->dictionary_read = false;
    for (size_t i = 0; i < n->n_children; i++)
        orc_node_close_stripe(&n->children[i]);
}

void orc_node_reset(orc_node *n)
{
    ArrowBufferReset(&n->validity);
    ArrowBufferReset(&n->offsets);
    ArrowBufferReset(&n->data);
    n->length = n->nulls = 0;
    for (size_t i = 0; i < n->n_children; i++)
        orc_node_reset(&n->children[i]);
}

static int finish_offsets(orc_node *n, struct ArrowArray *out)
{
    static const int32_t zero;

    if (n->offsets.size_bytes == 0)
        NANOARROW_RETURN_NOT_OK(ArrowBufferAppend(&n->offsets, &zero, sizeof zero));
    return ArrowArraySetBuffer(out, 1, &n->offsets);
}

static int finish_children(orc_node *n, struct ArrowArray *out)
{
    for (size_t i = 0; i < n->n_children; i++)
        NANOARROW_RETURN_NOT_OK(orc_node_finish(&n->children[i], out->children[i]));
    return NANOARROW_OK;
}

/* The last branch has the nulls of the union itself. */
static int finish_union(orc_node *n, struct ArrowArray *out)
{
    out->null_count = 0;
    out->children[n->n_children]->length = out->children[n->n_children]->null_count = n->nulls;
    NANOARROW_RETURN_NOT_OK(ArrowArraySetBuffer(out, 0, &n->data));
    NANOARROW_RETURN_NOT_OK(ArrowArraySetBuffer(out, 1, &n->offsets));
    return finish_children(n, out);
}

int orc_node_finish(orc_node *n, struct ArrowArray *out)
{
    struct ArrowBitmap bits;

    out->length = n->length;
    out->null_count = n->nulls;
    if (n->type->kind == ORC_UNION)
        return finish_union(n, out);
    if (n->nulls != 0) {
        ArrowBitmapInit(&bits);
        ArrowBufferMove(&n->validity, &bits.buffer);
        bits.size_bits = n->length;
        ArrowArraySetValidityBitmap(out, &bits);
    }
    switch (n->type->kind) {
    case ORC_STRUCT:
        return finish_children(n, out);
    case ORC_LIST:
        NANOARROW_RETURN_NOT_OK(finish_offsets(n, out));
        return finish_children(n, out);
    case ORC_MAP:
        NANOARROW_RETURN_NOT_OK(finish_offsets(n, out));
        out->children[0]->length = n->children[0].length;
        out->children[0]->null_count = 0;
        return finish_children(n, out->children[0]);
    case ORC_STRING:
    case ORC_VARCHAR:
    case ORC_CHAR:
    case ORC_BINARY:
    case ORC_GEOMETRY:
    case ORC_GEOGRAPHY:
        NANOARROW_RETURN_NOT_OK(finish_offsets(n, out));
        return ArrowArraySetBuffer(out, 2, &n->data);
    default:
        return ArrowArraySetBuffer(out, 1, &n->data);
    }
}

/* ---------------------------------------------------------------- room */

lb_status orc_room(orc_build *b, struct ArrowBuffer *buffer, int64_t more, lb_error *err)
{
    const int64_t cap = buffer->capacity_bytes, size = buffer->size_bytes;

    if (cap - size >= more)
        return LB_OK;
    const int64_t grown = LB_MAX(LB_MAX(2 * cap, size + more), 1024);
    if (!lb_budget_take(b->budget, (uint64_t)(grown - cap)))
        return lb_fail(err, LB_BUDGET, LB_NOWHERE, "a batch of rows passes the memory limit");
    b->taken += (uint64_t)(grown - cap);
    if (ArrowBufferReserve(buffer, grown - size) != NANOARROW_OK)
        return lb_fail_nomem(err);
    return LB_OK;
}

lb_status orc_too_long(orc_build *b, const orc_node *n, lb_error *err)
{
    b->too_long = true;
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column '%.80s': its values pass what a batch of rows holds",
                   n->column);
}

/* Room for n offsets, behind the one the column begins with; they are counted in at once. */
lb_status orc_offset_room(orc_node *n, orc_build *b, size_t count, int32_t **out, lb_error *err)
{
    static const int32_t zero;

    LB_TRY(orc_room(b, &n->offsets, (int64_t)(count + 1) * 4, err));
    if (n->offsets.size_bytes == 0)
        ArrowBufferAppendUnsafe(&n->offsets, &zero, sizeof zero);
    *out = (int32_t *)(void *)(n->offsets.data + n->offsets.size_bytes);
    n->offsets.size_bytes += (int64_t)count * 4;
    return LB_OK;
}

/* Append bits to bits; behind the last are zeros. `to` has room. */
static void bits_append(uint8_t *to, size_t at, const uint8_t *from, size_t n)
{
    const unsigned shift = at & 7;
    uint8_t *p = to + at / 8;

    if (shift == 0) {
        memcpy(p, from, (n + 7) / 8);
        return;
    }
    for (size_t i = 0; i < (n + 7) / 8; i++) {
        p[i] |= (uint8_t)(from[i] << shift);
        if (8 * i + 8 - shift < n)
            p[i + 1] = (uint8_t)(from[i] >> (8 - shift));
    }
}

static void bits_append_ones(uint8_t *to, size_t at, size_t n)
{
    for (; n != 0 && (at & 7) != 0; n--, at++)
        to[at >> 3] |= (uint8_t)(1u << (at & 7));
    memset(to + at / 8, 0xFF, n / 8);
    if (n % 8 != 0)
        to[(at + n) >> 3] = (uint8_t)((1u << n % 8) - 1);
}

/* `valid` NULL: all n are there. */
static lb_status node_validity(orc_node *n, orc_build *b, size_t count, size_t k, const uint8_t *valid, lb_error *err)
{
    const size_t at = (size_t)n->length;

    if (k == count && n->nulls == 0)
        return LB_OK;
    const int64_t size = (int64_t)(at + count + 7) / 8;
    LB_TRY(orc_room(b, &n->validity, size - n->validity.size_bytes + 8, err));
    if (n->nulls == 0)
        bits_append_ones(n->validity.data, 0, at);
    if (k == count)
        bits_append_ones(n->validity.data, at, count);
    else
        bits_append(n->validity.data, at, valid, count);
    n->validity.size_bytes = size;
    n->nulls += (int64_t)(count - k);
    return LB_OK;
}

/* ---------------------------------------------------------------- reading */

/* The k bits of `from` to where `valid` has ones. */
static void bits_spread(const uint8_t *from, const uint8_t *valid, size_t n, uint8_t *out)
{
    size_t j = 0;

    memset(out, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        if (orc_bit(valid, i))
            out[i >> 3] |= (uint8_t)(orc_bit(from, j++) << (i & 7));
}

static lb_status node_missing(const orc_node *n, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "column '%.80s': the stripe does not say how it is encoded", n->column);
}

lb_status orc_node_read(orc_node *n, orc_build *b, size_t count, const uint8_t *valid, lb_error *err)
{
    uint8_t present[ORC_STEP / 8 + 8], spread[ORC_STEP / 8 + 8];
    size_t k = valid == NULL ? count : orc_count_bits(valid, count);

    if (!n->has_encoding)
        return node_missing(n, err);
    if (n->in_there[ORC_IN_PRESENT]) {
        const size_t parents = k;
        LB_TRY(orc_bits_read(&n->present, present, parents, err));
        k = orc_count_bits(present, parents);
        if (k < parents && valid != NULL) {
            bits_spread(present, valid, count, spread);
            valid = spread;
        } else if (k < parents) {
            valid = present;
        }
    }
    if (k == count)
        valid = NULL;
    if (n->type->kind != ORC_UNION)
        LB_TRY(node_validity(n, b, count, k, valid, err));
    LB_TRY(orc_values_read(n, b, count, k, valid, err));
    n->length += (int64_t)count;
    b->bytes += count / 8;
    return LB_OK;
}

lb_status orc_node_skip(orc_node *n, orc_build *b, uint64_t count, lb_error *err)
{
    uint8_t present[ORC_STEP / 8 + 8];

    if (!n->has_encoding)
        return node_missing(n, err);
    if (!n->in_there[ORC_IN_PRESENT])
        return orc_values_skip(n, b, count, err);
    for (uint64_t k = 0, step; count != 0; count -= step) {
        step = LB_MIN(count, (uint64_t)ORC_STEP);
        LB_TRY(orc_bits_read(&n->present, present, (size_t)step, err));
        k += orc_count_bits(present, (size_t)step);
        if (count == step)
            return orc_values_skip(n, b, k, err);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- positions */

static bool node_is_text(const orc_node *n)
{
    switch (n->type->kind) {
    case ORC_STRING:
    case ORC_VARCHAR:
    case ORC_CHAR:
    case ORC_BINARY:
    case ORC_GEOMETRY:
    case ORC_GEOGRAPHY:
        return true;
    default:
        return false;
    }
}

void orc_node_start(orc_node *n)
{
    orc_in *data = &n->in[ORC_IN_DATA];

    n->present = (orc_bits){ .bytes = { .in = &n->in[ORC_IN_PRESENT] } };
    n->bits = (orc_bits){ .bytes = { .in = data } };
    n->bytes = (orc_bytes){ .in = data };
    switch (n->type->kind) {
    case ORC_LIST:
    case ORC_MAP:
        orc_ints_init(&n->ints, &n->in[ORC_IN_LENGTH], n->v2, false);
        break;
    case ORC_DECIMAL:
        orc_ints_init(&n->second, &n->in[ORC_IN_SECOND], n->v2, true);
        break;
    case ORC_TIMESTAMP:
    case ORC_INSTANT:
        orc_ints_init(&n->ints, data, n->v2, true);
        orc_ints_init(&n->second, &n->in[ORC_IN_SECOND], n->v2, false);
        break;
    default:
        orc_ints_init(&n->ints, data, n->v2, !node_is_text(n));
        orc_ints_init(&n->second, &n->in[ORC_IN_LENGTH], n->v2, false);
    }
    for (size_t i = 0; i < n->n_children; i++)
        orc_node_start(&n->children[i]);
}

lb_status orc_node_rewind(orc_node *n, lb_error *err)
{
    for (unsigned i = 0; i < ORC_IN_DICTIONARY; i++)
        if (n->in_there[i] && !(i == ORC_IN_LENGTH && n->dictionary))
            LB_TRY(orc_in_seek(&n->in[i], 0, 0, err));
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(orc_node_rewind(&n->children[i], err));
    orc_node_start(n);
    return LB_OK;
}

/* Positions that a column's streams have, in the order of the index: numbers beside the place in the stream. */
typedef struct seek_plan {
    unsigned n;
    struct {
        unsigned in;
        unsigned numbers; /* 0: none; 1: values of the run; 2: those, and bits of the byte */
    } parts[3];
} seek_plan;

static void plan_add(seek_plan *p, unsigned in, unsigned numbers)
{
    p->parts[p->n].in = in;
    p->parts[p->n++].numbers = numbers;
}

static seek_plan seek_plan_of(const orc_node *n)
{
    seek_plan p = { 0 };

    plan_add(&p, ORC_IN_PRESENT, 2);
    switch (n->type->kind) {
    case ORC_STRUCT:
        break;
    case ORC_BOOLEAN:
        plan_add(&p, ORC_IN_DATA, 2);
        break;
    case ORC_FLOAT:
    case ORC_DOUBLE:
        plan_add(&p, ORC_IN_DATA, 0);
        break;
    case ORC_LIST:
    case ORC_MAP:
        plan_add(&p, ORC_IN_LENGTH, 1);
        break;
    case ORC_DECIMAL:
        plan_add(&p, ORC_IN_DATA, 0);
        plan_add(&p, ORC_IN_SECOND, 1);
        break;
    case ORC_TIMESTAMP:
    case ORC_INSTANT:
        plan_add(&p, ORC_IN_DATA, 1);
        plan_add(&p, ORC_IN_SECOND, 1);
        break;
    default:
        plan_add(&p, ORC_IN_DATA, node_is_text(n) && !n->dictionary ? 0 : 1);
        if (node_is_text(n) && !n->dictionary)
            plan_add(&p, ORC_IN_LENGTH, 1);
    }
    return p;
}

/* Decoders other than the streams themselves: so many values (and bits) further. */
static lb_status seek_numbers(orc_node *n, unsigned in, const uint64_t *at, unsigned numbers, lb_error *err)
{
    if (in == ORC_IN_PRESENT || n->type->kind == ORC_BOOLEAN) {
        orc_bits *bits = in == ORC_IN_PRESENT ? &n->present : &n->bits;
        if (at[1] > 8 || at[0] > 130)
            return orc_in_fail(&n->in[in], err, "its row index leads outside a run");
        LB_TRY(orc_bytes_skip(&bits->bytes, at[0], err));
        return orc_bits_skip(bits, at[1], err);
    }
    if (numbers == 0)
        return LB_OK;
    if (at[0] > ORC_RUN)
        return orc_in_fail(&n->in[in], err, "its row index leads outside a run");
    if (n->type->kind == ORC_BYTE || n->type->kind == ORC_UNION)
        return orc_bytes_skip(&n->bytes, at[0], err);
    return orc_ints_skip(n->second.in == &n->in[in] ? &n->second : &n->ints, at[0], err);
}

/* *count positions of the group; NULL where the whole index has none. */
static const uint64_t *seek_positions(const orc_node *n, uint64_t group, size_t *count)
{
    const uint32_t *starts = (const uint32_t *)(const void *)n->index.starts.data;
    const uint64_t *positions = (const uint64_t *)(const void *)n->index.positions.data;

    *count = starts[group + 1] - starts[group];
    return positions == NULL ? NULL : positions + starts[group];
}

/* Some writers leave out the positions of a PRESENT stream that they leave out, some keep them: how many to pass over. False: the
 * number of positions fits neither. */
static bool seek_fits(const orc_node *n, uint64_t group, bool packed, size_t *extra)
{
    const seek_plan plan = seek_plan_of(n);
    size_t need = 0, have, present = packed ? 4 : 3;

    (void)seek_positions(n, group, &have);
    for (unsigned i = 0; i < plan.n; i++)
        if (plan.parts[i].in != ORC_IN_PRESENT || n->in_there[ORC_IN_PRESENT])
            need += 1u + packed + plan.parts[i].numbers;
    *extra = !n->in_there[ORC_IN_PRESENT] && have == need + present ? present : 0;
    return have == need + *extra;
}

static bool seek_can(const orc_node *n, uint64_t group, uint64_t groups, bool packed)
{
    size_t extra;

    if (n->index.n != groups || !seek_fits(n, group, packed, &extra))
        return false;
    for (size_t i = 0; i < n->n_children; i++)
        if (!seek_can(&n->children[i], group, groups, packed))
            return false;
    return true;
}

static lb_status seek_node(orc_node *n, uint64_t group, bool packed, lb_error *err)
{
    const seek_plan plan = seek_plan_of(n);
    size_t count, extra;
    const uint64_t *at = seek_positions(n, group, &count);

    (void)seek_fits(n, group, packed, &extra);
    at = at == NULL ? NULL : at + extra;
    for (unsigned i = 0; at != NULL && i < plan.n; i++) {
        const unsigned in = plan.parts[i].in, numbers = plan.parts[i].numbers;
        if (in == ORC_IN_PRESENT && !n->in_there[in])
            continue;
        if (n->in_there[in]) {
            LB_TRY(orc_in_seek(&n->in[in], packed ? at[0] : 0, at[packed], err));
            LB_TRY(seek_numbers(n, in, at + 1 + packed, numbers, err));
        }
        at += 1u + packed + numbers;
    }
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(seek_node(&n->children[i], group, packed, err));
    return LB_OK;
}

lb_status orc_node_seek(orc_node *n, uint64_t group, uint64_t groups, bool *done, lb_error *err)
{
    const bool packed = n->file->codec != LB_CODEC_NONE;

    *done = seek_can(n, group, groups, packed);
    if (!*done)
        return LB_OK;
    orc_node_start(n);
    return seek_node(n, group, packed, err);
}
