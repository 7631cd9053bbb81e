/* Arrow IPC on nanoarrow's encoder and decoder. */
#include "column/ipc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "column/flat_memory.h"
#include "column/values.h"
#include "nanoarrow/nanoarrow_ipc.h"

/* What an encoding came to, `code` being what nanoarrow says of it. */
static lb_status ipc_encoded(lb_error *err, int code, const struct ArrowError *why)
{
    return lb_flat_failed() ? lb_fail_nomem(err) : lb_fail_arrow(err, code, why);
}

/* ---------------------------------------------------------------- schemas */

static lb_status ipc_encode(const struct ArrowSchema *schema, lb_buf *out, lb_error *err)
{
    struct ArrowIpcEncoder encoder;
    struct ArrowBuffer bytes;
    struct ArrowError why = { "" };
    lb_flat_begin();
    int code = ArrowIpcEncoderInit(&encoder);
    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, NULL);
    ArrowBufferInit(&bytes);
    code = ArrowIpcEncoderEncodeSchema(&encoder, schema, &why);
    if (code == NANOARROW_OK)
        code = ArrowIpcEncoderFinalizeBuffer(&encoder, 1, &bytes);
    lb_status s = ipc_encoded(err, code, &why);
    if (s == LB_OK)
        s = lb_buf_append(out, bytes.data, (size_t)bytes.size_bytes, err);
    ArrowBufferReset(&bytes);
    ArrowIpcEncoderReset(&encoder);
    return s;
}

/* The encoder takes a name for granted, and only plain types. */
static bool ipc_is_encodable(const struct ArrowSchema *schema, bool top)
{
    if (!top && schema->name == NULL)
        return false;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!ipc_is_encodable(schema->children[i], false))
            return false;
    return !top || lb_schema_is_plain(schema);
}

static lb_status ipc_give_names(struct ArrowSchema *schema, lb_error *err)
{
    if (schema->name == NULL)
        LB_TRY(lb_fail_arrow(err, ArrowSchemaSetName(schema, ""), NULL));
    for (int64_t i = 0; i < schema->n_children; i++)
        LB_TRY(ipc_give_names(schema->children[i], err));
    return LB_OK;
}

lb_status lb_ipc_encode_schema(const struct ArrowSchema *schema, lb_buf *out, lb_error *err)
{
    struct ArrowSchema plain = { .release = NULL };
    if (ipc_is_encodable(schema, true))
        return ipc_encode(schema, out, err);
    LB_TRY(lb_schema_plain(schema, &plain, err));
    lb_status s = ipc_give_names(&plain, err);
    if (s == LB_OK)
        s = ipc_encode(&plain, out, err);
    plain.release(&plain);
    return s;
}

/* A flatbuffer may refer to one table from many places, so that a few hundred bytes describe billions of fields; and
 * flatcc's verifier looks at each failing table twice, which doubles with every level of nesting. So messages are
 * verified here and not there: once over each table, within a budget of work, and asking also for what the format
 * leaves optional but the decoder takes for granted. The shapes are those of the format's Message.fbs and Schema.fbs. */
typedef enum ipc_kind {
    IPC_ABSENT, /* not looked at; `required`: must not be there */
    IPC_NUMBER,
    IPC_STRING,
    IPC_VECTOR, /* of numbers */
    IPC_TABLES, /* vector of tables */
    IPC_TYPE,   /* union of type tables, chosen by the member before it */
    IPC_HEADER  /* the same of messages: here always a schema */
} ipc_kind;

typedef struct ipc_shape ipc_shape;

typedef struct ipc_member {
    ipc_kind kind;
    uint8_t size; /* of a number, or of a vector's items */
    bool required;
    const ipc_shape *tables;
} ipc_member;

#define IPC_MEMBERS 7

struct ipc_shape {
    ipc_member members[IPC_MEMBERS];
};

static const ipc_shape ipc_pair = { { { IPC_STRING, 1, true, NULL }, { IPC_STRING, 1, true, NULL } } };

static const ipc_shape ipc_field = { {
    { IPC_STRING, 1, false, NULL }, /* name */
    { IPC_NUMBER, 1, false, NULL }, /* nullable */
    { IPC_NUMBER, 1, true, NULL },  /* which type */
    { IPC_TYPE, 0, true, NULL },
    { IPC_ABSENT, 0, true, NULL },        /* dictionary */
    { IPC_TABLES, 4, false, &ipc_field }, /* children */
    { IPC_TABLES, 4, false, &ipc_pair },  /* metadata */
} };

static const ipc_shape ipc_schema = { {
    { IPC_NUMBER, 2, false, NULL }, /* byte order */
    { IPC_TABLES, 4, false, &ipc_field },
    { IPC_TABLES, 4, false, &ipc_pair },
    { IPC_VECTOR, 8, false, NULL }, /* features */
} };

static const ipc_shape ipc_message = { {
    { IPC_NUMBER, 2, false, NULL }, /* version */
    { IPC_NUMBER, 1, true, NULL },  /* which header */
    { IPC_HEADER, 0, true, NULL },
    { IPC_NUMBER, 8, false, NULL }, /* body length */
    { IPC_TABLES, 4, false, &ipc_pair },
} };

#define IPC_NUMBER_OF(size)             \
    {                                   \
        IPC_NUMBER, (size), false, NULL \
    }

/* By the number of the type: 1 Null, 2 Int, 3 FloatingPoint, 4 Binary, 5 Utf8, 6 Bool, 7 Decimal, 8 Date, 9 Time,
 * 10 Timestamp, 11 Interval, 12 List, 13 Struct, 14 Union, 15 FixedSizeBinary, 16 FixedSizeList, 17 Map, 18 Duration,
 * 19 LargeBinary, 20 LargeUtf8, 21 LargeList, 22 RunEndEncoded. */
static const ipc_shape ipc_types[] = {
    [2] = { { IPC_NUMBER_OF(4), IPC_NUMBER_OF(1) } },
    [3] = { { IPC_NUMBER_OF(2) } },
    [7] = { { IPC_NUMBER_OF(4), IPC_NUMBER_OF(4), IPC_NUMBER_OF(4) } },
    [8] = { { IPC_NUMBER_OF(2) } },
    [9] = { { IPC_NUMBER_OF(2), IPC_NUMBER_OF(4) } },
    [10] = { { IPC_NUMBER_OF(2), { IPC_STRING, 1, false, NULL } } },
    [11] = { { IPC_NUMBER_OF(2) } },
    [14] = { { IPC_NUMBER_OF(2), { IPC_VECTOR, 4, false, NULL } } },
    [15] = { { IPC_NUMBER_OF(4) } },
    [16] = { { IPC_NUMBER_OF(4) } },
    [17] = { { IPC_NUMBER_OF(1) } },
    [18] = { { IPC_NUMBER_OF(2) } },
    [22] = { { { IPC_ABSENT, 0, false, NULL } } },
};

/* Message, schema and the type of the deepest field are levels as well. */
#define IPC_DEPTH (LB_TYPE_DEPTH + 3)

typedef struct ipc_walk {
    const uint8_t *at;
    uint32_t size;
    uint64_t left; /* work still allowed */
} ipc_walk;

/* A table whose header has been looked at. */
typedef struct ipc_table {
    uint32_t at, size, vtable, vtable_size;
} ipc_table;

static bool ipc_walk_table(ipc_walk *w, uint32_t pos, const ipc_shape *shape, int depth);

static uint32_t ipc_u32(const ipc_walk *w, uint32_t pos)
{
    uint32_t v;
    memcpy(&v, w->at + pos, 4);
    return v;
}

static uint32_t ipc_u16(const ipc_walk *w, uint32_t pos)
{
    uint16_t v;
    memcpy(&v, w->at + pos, 2);
    return v;
}

static bool ipc_pay(ipc_walk *w, uint64_t work)
{
    if (work > w->left)
        return false;
    w->left -= work;
    return true;
}

/* Follow the offset stored at `pos` to something of at least 4 bytes. */
static bool ipc_follow(const ipc_walk *w, uint32_t pos, uint32_t *out)
{
    uint32_t step = ipc_u32(w, pos);
    if (step == 0 || step > w->size - pos)
        return false;
    *out = pos + step;
    return *out % 4 == 0 && w->size - *out >= 4;
}

static bool ipc_open_table(const ipc_walk *w, uint32_t pos, ipc_table *t)
{
    int64_t vtable = (int64_t)pos - (int32_t)ipc_u32(w, pos);
    if (vtable < 0 || vtable % 2 != 0 || vtable > (int64_t)w->size - 4)
        return false;
    t->at = pos;
    t->vtable = (uint32_t)vtable;
    t->vtable_size = ipc_u16(w, t->vtable);
    t->size = ipc_u16(w, t->vtable + 2);
    return t->vtable_size % 2 == 0 && t->vtable_size >= 4 && t->vtable_size <= w->size - t->vtable && t->size >= 4 &&
           t->size <= w->size - pos;
}

/* Place of a member of `size` bytes; 0: absent. False: outside the table, or not aligned. */
static bool ipc_find(const ipc_walk *w, const ipc_table *t, uint32_t index, uint32_t size, uint32_t *out)
{
    uint32_t entry = 4 + 2 * index, at = entry < t->vtable_size ? ipc_u16(w, t->vtable + entry) : 0;
    *out = at == 0 ? 0 : t->at + at;
    return at == 0 || (at <= t->size && size <= t->size - at && *out % size == 0);
}

/* A vector: its first item and their number, which is paid for. */
static bool ipc_vector(ipc_walk *w, uint32_t pos, uint32_t item, uint32_t *first, uint32_t *count)
{
    uint32_t at;
    if (!ipc_follow(w, pos, &at))
        return false;
    *count = ipc_u32(w, at);
    *first = at + 4;
    return *count <= (w->size - *first) / item && (*count == 0 || *first % item == 0) &&
           ipc_pay(w, (uint64_t)*count * item);
}

static bool ipc_string(ipc_walk *w, uint32_t pos)
{
    uint32_t first, count;
    return ipc_vector(w, pos, 1, &first, &count) && count < w->size - first && w->at[first + count] == 0;
}

static bool ipc_tables(ipc_walk *w, uint32_t pos, const ipc_shape *shape, int depth)
{
    uint32_t first, count, table;
    if (!ipc_vector(w, pos, 4, &first, &count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!ipc_follow(w, first + 4 * i, &table) || !ipc_walk_table(w, table, shape, depth))
            return false;
    return true;
}

/* The table of a union, whose kind the member before it names. */
static bool ipc_union(ipc_walk *w, const ipc_table *t, uint32_t index, uint32_t pos, bool header, int depth)
{
    uint32_t kind_at, table;
    if (!ipc_find(w, t, index - 1, 1, &kind_at) || kind_at == 0 || !ipc_follow(w, pos, &table))
        return false;
    uint32_t kind = w->at[kind_at];
    if (header)
        return kind == 1 && ipc_walk_table(w, table, &ipc_schema, depth);
    return kind >= 1 && kind < LB_COUNT_OF(ipc_types) && ipc_walk_table(w, table, &ipc_types[kind], depth);
}

static bool ipc_walk_member(ipc_walk *w, const ipc_table *t, uint32_t index, const ipc_member *m, int depth)
{
    uint32_t pos, size = m->kind == IPC_NUMBER ? m->size : 4, first, count;
    if (m->kind == IPC_ABSENT)
        return !m->required || (ipc_find(w, t, index, 1, &pos) && pos == 0);
    if (!ipc_find(w, t, index, size, &pos))
        return false;
    if (pos == 0)
        return !m->required;
    switch (m->kind) {
    case IPC_STRING:
        return ipc_string(w, pos);
    case IPC_VECTOR:
        return ipc_vector(w, pos, m->size, &first, &count);
    case IPC_TABLES:
        return ipc_tables(w, pos, m->tables, depth + 1);
    case IPC_TYPE:
    case IPC_HEADER:
        return ipc_union(w, t, index, pos, m->kind == IPC_HEADER, depth + 1);
    default:
        return true;
    }
}

static bool ipc_walk_table(ipc_walk *w, uint32_t pos, const ipc_shape *shape, int depth)
{
    ipc_table t;
    if (depth > IPC_DEPTH || !ipc_pay(w, 16) || !ipc_open_table(w, pos, &t))
        return false;
    for (uint32_t i = 0; i < IPC_MEMBERS; i++)
        if (!ipc_walk_member(w, &t, i, &shape->members[i], depth))
            return false;
    return true;
}

/* Whether the flatbuffer is a schema message whose parts together are not much larger than itself. */
static bool ipc_walk_schema(const uint8_t *p, uint32_t size)
{
    ipc_walk w = { p, size, 8 * (uint64_t)size + 4096 };
    uint32_t message;
    return size >= 8 && ipc_follow(&w, 0, &message) && ipc_walk_table(&w, message, &ipc_message, 0);
}

static lb_status ipc_decode(struct ArrowIpcDecoder *decoder, const void *bytes, size_t size, struct ArrowSchema *out,
                            lb_error *err)
{
    struct ArrowError why = { "" };
    struct ArrowBufferView data = { { bytes }, (int64_t)size };
    int code = ArrowIpcDecoderDecodeHeader(decoder, data, &why);
    if (code == NANOARROW_OK && decoder->message_type != NANOARROW_IPC_MESSAGE_TYPE_SCHEMA)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the Arrow message is not a schema");
    if (code == NANOARROW_OK)
        code = ArrowIpcDecoderDecodeSchema(decoder, out, &why);
    if (code != NANOARROW_OK && out->release != NULL) {
        out->release(out);
        out->release = NULL;
    }
    if (code == ENOMEM || code == ENOTSUP)
        return lb_fail_arrow(err, code, &why);
    return code == NANOARROW_OK ? LB_OK
                                : lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an Arrow schema message: %s", why.message);
}

/* nanoarrow takes what a message says of types as it comes; every level has to be a type of the C interface. */
static bool ipc_schema_is_valid(const struct ArrowSchema *schema, int depth)
{
    struct ArrowSchemaView v;
    if (depth > LB_TYPE_DEPTH || lb_schema_view(schema, &v, NULL) != LB_OK)
        return false;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (!ipc_schema_is_valid(schema->children[i], depth + 1))
            return false;
    return true;
}

lb_status lb_ipc_decode_schema(const void *bytes, size_t size, struct ArrowSchema *out, lb_error *err)
{
    lb_cursor c;
    struct ArrowIpcDecoder decoder;
    out->release = NULL;
    lb_cursor_init(&c, bytes, size, 0);
    uint32_t mark = lb_cursor_u32(&c), length = lb_cursor_u32(&c);
    const uint8_t *body = length > INT32_MAX - 8 ? NULL : lb_cursor_take(&c, length);
    if (mark != 0xffffffffu || body == NULL || !ipc_walk_schema(body, length))
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the bytes are not an Arrow schema message");
    /* Flatbuffers are read in place and must be aligned. */
    void *aligned = NULL;
    size_t whole = (size_t)length + 8;
    if (posix_memalign(&aligned, 64, whole) != 0)
        return lb_fail_nomem(err);
    memcpy(aligned, bytes, whole);
    int code = ArrowIpcDecoderInit(&decoder);
    lb_status s = lb_fail_arrow(err, code, NULL);
    if (s == LB_OK) {
        s = ipc_decode(&decoder, aligned, whole, out, err);
        ArrowIpcDecoderReset(&decoder);
    }
    free(aligned);
    assert(s != LB_OK || out->release != NULL);
    if (s == LB_OK)
        out->flags |= ARROW_FLAG_NULLABLE; /* as lb_schema_struct makes it */
    if (s == LB_OK && (strcmp(out->format, "+s") != 0 || !ipc_schema_is_valid(out, 0))) {
        out->release(out);
        out->release = NULL;
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an Arrow schema message names a type that is none");
    }
    return s;
}

/* ---------------------------------------------------------------- batches without offsets A record batch has no place
 * for offsets of arrays: each view is made to begin at its first row. Buffers are lent where whole bytes can be
 * skipped, else (bitmaps at odd bits, offsets that do not begin at 0) made anew in an arena. */

typedef struct ipc_slicer {
    lb_arena arena;
    lb_error *err;
} ipc_slicer;

static lb_status slice_node(ipc_slicer *s, const struct ArrowArrayView *in, int64_t first, int64_t n,
                            struct ArrowArrayView *out);

static void *slice_alloc(ipc_slicer *s, int64_t count, size_t size)
{
    return lb_arena_alloc(&s->arena, (size_t)(count > 0 ? count : 1), size);
}

/* `n` bits from bit `first` on. */
static lb_status slice_bits(ipc_slicer *s, const uint8_t *bits, int64_t first, int64_t n, struct ArrowBufferView *out)
{
    out->size_bytes = n / 8 + (n % 8 != 0);
    if (first % 8 == 0) {
        out->data.as_uint8 = bits + first / 8;
        return LB_OK;
    }
    uint8_t *made = slice_alloc(s, out->size_bytes, 1);
    if (made == NULL)
        return lb_arena_fail(&s->arena, s->err);
    const uint8_t *from = bits + first / 8, *last = bits + (first + n - 1) / 8;
    int shift = (int)(first % 8);
    for (int64_t i = 0; n > 0 && i < out->size_bytes; i++) {
        unsigned high = from + i < last ? from[i + 1] : 0u;
        made[i] = (uint8_t)(from[i] >> shift | high << (8 - shift));
    }
    out->data.as_uint8 = made;
    return LB_OK;
}

static lb_status slice_validity(ipc_slicer *s, const struct ArrowArrayView *in, int64_t first, int64_t n,
                                struct ArrowArrayView *out)
{
    out->null_count = 0;
    out->buffer_views[0] = (struct ArrowBufferView){ { NULL }, 0 };
    if (in->storage_type == NANOARROW_TYPE_NA)
        out->null_count = n;
    if (!lb_view_has_validity(in) || n == 0)
        return LB_OK;
    const uint8_t *bits = in->buffer_views[0].data.as_uint8;
    out->null_count = n - ArrowBitCountSet(bits, first, n);
    return out->null_count == 0 ? LB_OK : slice_bits(s, bits, first, n, &out->buffer_views[0]);
}

/* Offsets of rows first … first+n, moved to begin at 0; gives the range they covered. */
static lb_status slice_offsets(ipc_slicer *s, const struct ArrowArrayView *in, int64_t first, int64_t n,
                               struct ArrowArrayView *out, int64_t *start, int64_t *end)
{
    bool wide = in->layout.element_size_bits[1] == 64;
    size_t size = wide ? 8 : 4;
    struct ArrowBufferView *o = &out->buffer_views[1];
    *start = *end = 0;
    *o = (struct ArrowBufferView){ { NULL }, 0 };
    if (n == 0 || in->buffer_views[1].data.data == NULL)
        return LB_OK;
    const uint8_t *from = in->buffer_views[1].data.as_uint8 + (size_t)first * size;
    *start = wide ? ((const int64_t *)from)[0] : ((const int32_t *)from)[0];
    *end = wide ? ((const int64_t *)from)[n] : ((const int32_t *)from)[n];
    *o = (struct ArrowBufferView){ { from }, (n + 1) * (int64_t)size };
    if (*start == 0)
        return LB_OK;
    void *made = slice_alloc(s, n + 1, size);
    if (made == NULL)
        return lb_arena_fail(&s->arena, s->err);
    for (int64_t i = 0; i <= n; i++) {
        if (wide)
            ((int64_t *)made)[i] = ((const int64_t *)from)[i] - *start;
        else
            ((int32_t *)made)[i] = ((const int32_t *)from)[i] - (int32_t)*start;
    }
    o->data.data = made;
    return LB_OK;
}

static lb_status slice_bytes(ipc_slicer *s, const struct ArrowArrayView *in, int64_t first, int64_t n,
                             struct ArrowArrayView *out)
{
    int64_t start, end;
    LB_TRY(slice_offsets(s, in, first, n, out, &start, &end));
    if (end < start)
        return lb_fail(s->err, LB_CORRUPT, LB_NOWHERE, "offsets of an Arrow array run backwards");
    out->buffer_views[2] = (struct ArrowBufferView){ { NULL }, end - start };
    if (end > start)
        out->buffer_views[2].data.as_uint8 = in->buffer_views[2].data.as_uint8 + start;
    return LB_OK;
}

static lb_status slice_children(ipc_slicer *s, const struct ArrowArrayView *in, int64_t first, int64_t n,
                                struct ArrowArrayView *out)
{
    out->children = slice_alloc(s, in->n_children, sizeof *out->children);
    if (out->children == NULL)
        return lb_arena_fail(&s->arena, s->err);
    for (int64_t i = 0; i < in->n_children; i++) {
        struct ArrowArrayView *c = slice_alloc(s, 1, sizeof *c);
        if (c == NULL)
            return lb_arena_fail(&s->arena, s->err);
        out->children[i] = c;
        /* The children of a dense union stay whole: its offsets point into them. */
        bool whole = in->storage_type == NANOARROW_TYPE_DENSE_UNION;
        LB_TRY(slice_node(s, in->children[i], whole ? 0 : first, whole ? in->children[i]->length : n, c));
    }
    return LB_OK;
}

static void slice_fixed(const struct ArrowArrayView *in, int buffer, int64_t first, int64_t n,
                        struct ArrowArrayView *out)
{
    int64_t size = in->layout.element_size_bits[buffer] / 8;
    out->buffer_views[buffer] = (struct ArrowBufferView){ { NULL }, n * size };
    if (n > 0)
        out->buffer_views[buffer].data.as_uint8 = in->buffer_views[buffer].data.as_uint8 + first * size;
}

/* Rows [row, row+n) of `in`, whose own offset is still to be added. */
static lb_status slice_node(ipc_slicer *s, const struct ArrowArrayView *in, int64_t row, int64_t n,
                            struct ArrowArrayView *out)
{
    int64_t first = in->offset + row, start, end, each = in->layout.child_size_elements;
    *out = *in;
    out->offset = 0;
    out->length = n;
    if (row < 0 || n < 0 || n > in->length - row)
        return lb_fail(s->err, LB_CORRUPT, LB_NOWHERE, "an Arrow array is shorter than what refers to it");
    bool is_union = in->storage_type == NANOARROW_TYPE_SPARSE_UNION || in->storage_type == NANOARROW_TYPE_DENSE_UNION;
    if (is_union)
        out->null_count = 0;
    else
        LB_TRY(slice_validity(s, in, first, n, out));
    switch (in->storage_type) {
    case NANOARROW_TYPE_NA:
        return LB_OK;
    case NANOARROW_TYPE_BOOL:
        if (n == 0)
            return slice_fixed(in, 1, first, n, out), LB_OK;
        return slice_bits(s, in->buffer_views[1].data.as_uint8, first, n, &out->buffer_views[1]);
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY:
        return slice_bytes(s, in, first, n, out);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_MAP:
        LB_TRY(slice_offsets(s, in, first, n, out, &start, &end));
        return slice_children(s, in, start, end - start, out);
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return slice_children(s, in, first * each, n * each, out);
    case NANOARROW_TYPE_STRUCT:
        return slice_children(s, in, first, n, out);
    case NANOARROW_TYPE_DENSE_UNION:
        slice_fixed(in, 1, first, n, out); /* fall through */
    case NANOARROW_TYPE_SPARSE_UNION:
        slice_fixed(in, 0, first, n, out);
        return slice_children(s, in, first, n, out);
    default:
        if (in->dictionary != NULL || in->layout.buffer_type[1] != NANOARROW_BUFFER_TYPE_DATA)
            return lb_fail(s->err, LB_UNSUPPORTED, LB_NOWHERE, "Arrow output of %s columns needs them decoded before",
                           in->dictionary != NULL ? "dictionary" : ArrowTypeString(in->storage_type));
        slice_fixed(in, 1, first, n, out);
        return LB_OK;
    }
}

/* ---------------------------------------------------------------- the writer */

struct lb_ipc_writer {
    struct ArrowIpcWriter writer;
    struct ArrowArrayView view;
    lb_write_fn write;
    void *user;
    bool file;
};

static ArrowErrorCode ipc_stream_write(struct ArrowIpcOutputStream *stream, const void *bytes, int64_t size,
                                       int64_t *written, struct ArrowError *error)
{
    lb_ipc_writer *w = stream->private_data;
    *written = size;
    if (size == 0 || w->write(w->user, bytes, (size_t)size))
        return NANOARROW_OK;
    ArrowErrorSet(error, "the output could not be written");
    return EIO;
}

static void ipc_stream_release(struct ArrowIpcOutputStream *stream)
{
    stream->release = NULL;
}

lb_status lb_ipc_writer_open(const struct ArrowSchema *schema, bool file, lb_write_fn write, void *user,
                             lb_ipc_writer **out, lb_error *err)
{
    struct ArrowError why = { "" };
    struct ArrowSchemaView top;
    *out = NULL;
    LB_TRY(lb_schema_view(schema, &top, err));
    if (!lb_schema_is_plain(schema))
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                       "Arrow output of dictionaries, runs and views needs them decoded before");
    struct ArrowSchema named;
    LB_TRY(lb_schema_copy(schema, &named, err));
    lb_ipc_writer *w = calloc(1, sizeof *w);
    lb_status s = w == NULL ? lb_fail_nomem(err) : ipc_give_names(&named, err);
    if (s != LB_OK) {
        named.release(&named);
        free(w);
        return s;
    }
    w->write = write;
    w->user = user;
    w->file = file;
    lb_flat_begin();
    ArrowArrayViewInitFromType(&w->view, NANOARROW_TYPE_UNINITIALIZED);
    struct ArrowIpcOutputStream stream = { .write = ipc_stream_write,
                                           .release = ipc_stream_release,
                                           .private_data = w };
    int code = ArrowArrayViewInitFromSchema(&w->view, schema, &why);
    if (code == NANOARROW_OK)
        code = ArrowIpcWriterInit(&w->writer, &stream);
    if (code == NANOARROW_OK && file)
        code = ArrowIpcWriterStartFile(&w->writer, &why);
    if (code == NANOARROW_OK)
        code = ArrowIpcWriterWriteSchema(&w->writer, &named, &why);
    named.release(&named);
    s = ipc_encoded(err, code, &why);
    if (s == LB_OK)
        *out = w;
    else
        lb_ipc_writer_free(w);
    return s;
}

lb_status lb_ipc_writer_batch(lb_ipc_writer *w, const struct ArrowArray *batch, lb_error *err)
{
    struct ArrowError why = { "" };
    struct ArrowArrayView sliced;
    ipc_slicer slicer = { .err = err };
    int code = ArrowArrayViewSetArray(&w->view, batch, &why);
    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &why);
    lb_arena_init(&slicer.arena, NULL);
    lb_status s = slice_node(&slicer, &w->view, 0, batch->length, &sliced);
    if (s == LB_OK) {
        lb_flat_begin();
        code = ArrowIpcWriterWriteArrayView(&w->writer, &sliced, &why);
        s = ipc_encoded(err, code, &why);
    }
    lb_arena_free(&slicer.arena);
    return s;
}

lb_status lb_ipc_writer_finish(lb_ipc_writer *w, lb_error *err)
{
    struct ArrowError why = { "" };
    lb_flat_begin();
    int code = ArrowIpcWriterWriteArrayView(&w->writer, NULL, &why);
    if (code == NANOARROW_OK && w->file)
        code = ArrowIpcWriterFinalizeFile(&w->writer, &why);
    return ipc_encoded(err, code, &why);
}

void lb_ipc_writer_free(lb_ipc_writer *w)
{
    if (w == NULL)
        return;
    if (w->writer.private_data != NULL)
        ArrowIpcWriterReset(&w->writer);
    ArrowArrayViewReset(&w->view);
    free(w);
}
