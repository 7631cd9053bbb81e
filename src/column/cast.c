/* Bringing arrays to a wider type, column by column. A tree of nodes is made, one for each pair of types; each appends
 * runs of rows to the array it builds. Rows are copied in chunks, whose loops are free of decisions. */
#include <errno.h>
#include <stdlib.h>

#include "column/gather.h"
#include "column/print_nodes.h"

#define CAST_CHUNK 512

typedef struct cast_node cast_node;
typedef lb_status (*cast_fn)(cast_node *n, int64_t row, int64_t count, lb_error *err);

struct cast_node {
    cast_fn run;                     /* append rows [row, row+count) of `in`, whose offset is still to be added */
    const struct ArrowArrayView *in; /* NULL: nothing but nulls */
    struct ArrowArray *out;
    const struct ArrowSchema *to;
    enum ArrowType in_storage, out_storage;
    int64_t times, parts; /* counts are multiplied and divided */
    int64_t exact;        /* largest integer a float holds */
    bool check_sign;      /* the sign bit must be clear */
    int shift;            /* digits to append to decimals */
    lb_i256 limit;        /* decimals stay below */
    cast_node *children;
    size_t n_children;
    print_node print;
    lb_buf text;
};

static lb_status cast_nulls(struct ArrowArray *out, const struct ArrowSchema *to, int64_t count, lb_error *err);

static enum ArrowType cast_storage(const struct ArrowArray *a)
{
    return ((const struct ArrowArrayPrivateData *)a->private_data)->storage_type;
}

static uint8_t cast_room_nothing[8];

/* Room at the end of a buffer, counted as used at once. NULL: no memory. */
static void *cast_room(struct ArrowArray *out, int buffer, int64_t size, lb_error *err)
{
    struct ArrowBuffer *b = ArrowArrayBuffer(out, buffer);
    if (size < 0 || b->size_bytes > INT64_MAX - size || ArrowBufferReserve(b, size) != NANOARROW_OK ||
        b->data == NULL) {
        if (size == 0 && b->data == NULL)
            return cast_room_nothing;
        lb_fail_nomem(err);
        return NULL;
    }
    b->size_bytes += size;
    return b->data + b->size_bytes - size;
}

/* Append `count` bits to a bitmap of `have` bits. */
static lb_status cast_bits(struct ArrowBuffer *b, int64_t have, const uint8_t *from, int64_t first, int64_t count,
                           lb_error *err)
{
    int64_t bytes = (have + count + 7) / 8, more = bytes - b->size_bytes;
    if (count <= 0)
        return LB_OK;
    if (more > 0) {
        if (ArrowBufferReserve(b, more) != NANOARROW_OK)
            return lb_fail_nomem(err);
        memset(b->data + b->size_bytes, 0, (size_t)more);
        b->size_bytes = bytes;
    }
    if (b->data == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a bitmap has bits and no bytes");
    if (from == NULL) {
        ArrowBitsSetTo(b->data, have, count, 1);
    } else if (have % 8 == 0 && first % 8 == 0) {
        memcpy(b->data + have / 8, from + first / 8, (size_t)((count + 7) / 8));
        if ((have + count) % 8 != 0) /* no bits beyond the last */
            b->data[bytes - 1] &= (uint8_t)((1 << ((have + count) % 8)) - 1);
    } else {
        for (int64_t i = 0; i < count; i++)
            ArrowBitSetTo(b->data, have + i, ArrowBitGet(from, first + i));
    }
    return LB_OK;
}

/* Validity of the next `count` rows: from `bits` beginning at `first`, or all valid. Counts the rows as appended. */
static lb_status cast_valid(struct ArrowArray *out, const uint8_t *bits, int64_t first, int64_t count, lb_error *err)
{
    struct ArrowBitmap *map = ArrowArrayValidityBitmap(out);
    int64_t nulls = bits == NULL ? 0 : count - ArrowBitCountSet(bits, first, count);
    if (nulls != 0 || map->buffer.data != NULL) {
        if (map->buffer.data == NULL && out->length != 0)
            LB_TRY(cast_bits(&map->buffer, 0, NULL, 0, out->length, err));
        LB_TRY(cast_bits(&map->buffer, out->length, nulls == 0 ? NULL : bits, first, count, err));
        map->size_bits = out->length + count;
    }
    out->null_count += nulls;
    out->length += count;
    return LB_OK;
}

static lb_status cast_validity(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    const uint8_t *bits = lb_view_has_validity(n->in) ? n->in->buffer_views[0].data.as_uint8 : NULL;
    return cast_valid(n->out, count == 0 ? NULL : bits, n->in->offset + row, count, err);
}

static lb_status cast_misfit(const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "%s does not fit the column's common type", what);
}

/* ---------------------------------------------------------------- numbers of fixed width */

#define CAST_EACH(type, from, to)       \
    for (int64_t i = 0; i < count; i++) \
    (to)[i] = (__typeof__((to)[0]))((const type *)(from))[i]

/* Counts from absolute index `first` on, as 64 bits. */
static void cast_load(const struct ArrowArrayView *in, int64_t first, int64_t count, int64_t *v)
{
    const uint8_t *p = in->buffer_views[1].data.as_uint8 + first * (in->layout.element_size_bits[1] / 8);
    switch (in->storage_type) {
    case NANOARROW_TYPE_INT8:
        CAST_EACH(int8_t, p, v);
        break;
    case NANOARROW_TYPE_INT16:
        CAST_EACH(int16_t, p, v);
        break;
    case NANOARROW_TYPE_INT32:
        CAST_EACH(int32_t, p, v);
        break;
    case NANOARROW_TYPE_UINT8:
        CAST_EACH(uint8_t, p, v);
        break;
    case NANOARROW_TYPE_UINT16:
        CAST_EACH(uint16_t, p, v);
        break;
    case NANOARROW_TYPE_UINT32:
        CAST_EACH(uint32_t, p, v);
        break;
    default:
        memcpy(v, p, (size_t)count * 8);
        break;
    }
}

#define CAST_STORE(type, from, to)      \
    for (int64_t i = 0; i < count; i++) \
    ((type *)(to))[i] = (type)(from)[i]

static void cast_store(enum ArrowType storage, const int64_t *v, int64_t count, void *to)
{
    switch (storage) {
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_UINT8:
        CAST_STORE(uint8_t, v, to);
        break;
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_UINT16:
        CAST_STORE(uint16_t, v, to);
        break;
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_UINT32:
        CAST_STORE(uint32_t, v, to);
        break;
    default:
        memcpy(to, v, (size_t)count * 8);
        break;
    }
}

static int64_t cast_width(enum ArrowType storage)
{
    switch (storage) {
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_UINT8:
        return 1;
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_HALF_FLOAT:
        return 2;
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_FLOAT:
        return 4;
    default:
        return 8;
    }
}

/* Null rows hold anything: make it 0, so that it cannot fail a check. */
static void cast_clear_nulls(const cast_node *n, int64_t row, int64_t count, int64_t *v)
{
    if (lb_view_has_validity(n->in))
        for (int64_t i = 0; i < count; i++)
            if (lb_view_is_null(n->in, row + i))
                v[i] = 0;
}

static lb_status cast_scale(const cast_node *n, int64_t *v, int64_t count, lb_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        if (__builtin_mul_overflow(v[i], n->times, &v[i]) || v[i] % n->parts != 0)
            return cast_misfit("a date or time", err);
        v[i] /= n->parts;
    }
    return LB_OK;
}

static lb_status cast_check_sign(const int64_t *v, int64_t count, lb_error *err)
{
    int64_t any = 0;
    for (int64_t i = 0; i < count; i++)
        any |= v[i];
    return any < 0 ? cast_misfit("an integer", err) : LB_OK;
}

/* Integers, dates and times. */
static lb_status run_counts(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    int64_t v[CAST_CHUNK], width = cast_width(n->out_storage);
    LB_TRY(cast_validity(n, row, count, err));
    for (int64_t at = 0, some; at < count; at += some) {
        some = LB_MIN(count - at, CAST_CHUNK);
        cast_load(n->in, n->in->offset + row + at, some, v);
        if (n->check_sign || n->times != 1 || n->parts != 1)
            cast_clear_nulls(n, row + at, some, v);
        if (n->check_sign)
            LB_TRY(cast_check_sign(v, some, err));
        if (n->times != 1 || n->parts != 1)
            LB_TRY(cast_scale(n, v, some, err));
        void *to = cast_room(n->out, 1, some * width, err);
        if (to == NULL)
            return LB_NOMEM;
        cast_store(n->out_storage, v, some, to);
    }
    return LB_OK;
}

static void cast_store_doubles(enum ArrowType storage, const double *v, int64_t count, void *to)
{
    if (storage == NANOARROW_TYPE_DOUBLE)
        memcpy(to, v, (size_t)count * 8);
    else if (storage == NANOARROW_TYPE_FLOAT)
        CAST_STORE(float, v, to);
    else
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)to)[i] = ArrowFloatToHalfFloat((float)v[i]);
}

static lb_status cast_int_doubles(const cast_node *n, int64_t row, int64_t count, double *f, lb_error *err)
{
    int64_t v[CAST_CHUNK];
    /* An uint64 of 2^63 and more is below 0 here. */
    int64_t least = n->in_storage == NANOARROW_TYPE_UINT64 ? 0 : -n->exact;
    cast_load(n->in, n->in->offset + row, count, v);
    cast_clear_nulls(n, row, count, v);
    for (int64_t i = 0; i < count; i++) {
        if (v[i] > n->exact || v[i] < least)
            return cast_misfit("an integer", err);
        f[i] = (double)v[i];
    }
    return LB_OK;
}

/* To floats, from floats or integers. */
static lb_status run_floats(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    double v[CAST_CHUNK];
    LB_TRY(cast_validity(n, row, count, err));
    for (int64_t at = 0, some; at < count; at += some) {
        some = LB_MIN(count - at, CAST_CHUNK);
        if (n->exact != 0)
            LB_TRY(cast_int_doubles(n, row + at, some, v, err));
        else
            for (int64_t i = 0; i < some; i++)
                v[i] = lb_view_double(n->in, row + at + i);
        void *to = cast_room(n->out, 1, some * cast_width(n->out_storage), err);
        if (to == NULL)
            return LB_NOMEM;
        cast_store_doubles(n->out_storage, v, some, to);
    }
    return LB_OK;
}

static lb_status run_bool(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    int64_t have = n->out->length;
    LB_TRY(cast_validity(n, row, count, err));
    return cast_bits(ArrowArrayBuffer(n->out, 1), have, n->in->buffer_views[1].data.as_uint8, n->in->offset + row,
                     count, err);
}

/* Values of equal bytes on both sides. */
static lb_status run_same(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    int64_t width = n->in->layout.element_size_bits[1] / 8;
    LB_TRY(cast_validity(n, row, count, err));
    void *to = cast_room(n->out, 1, count * width, err);
    if (to == NULL)
        return LB_NOMEM;
    if (count != 0)
        memcpy(to, n->in->buffer_views[1].data.as_uint8 + (n->in->offset + row) * width, (size_t)(count * width));
    return LB_OK;
}

/* ---------------------------------------------------------------- decimals */

static bool i256_times_ten(lb_i256 *v) /* of a value that is not negative */
{
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)v->w[i] * 10;
        v->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0 && (v->w[3] >> 63) == 0;
}

/* Append `shift` zeros and hold against the limit. */
static bool cast_decimal_value(const cast_node *n, lb_i256 v, lb_i256 *out)
{
    bool minus = (v.w[3] >> 63) != 0;
    if (minus)
        v = lb_i256_negate(v);
    if ((v.w[3] >> 63) != 0)
        return false;
    for (int i = 0; i < n->shift; i++)
        if (!i256_times_ten(&v))
            return false;
    if (lb_i256_compare(v, n->limit) >= 0)
        return false;
    *out = minus ? lb_i256_negate(v) : v;
    return true;
}

static lb_i256 cast_decimal_of(const cast_node *n, int64_t row)
{
    int64_t v;
    switch (n->in_storage) {
    case NANOARROW_TYPE_DECIMAL32:
    case NANOARROW_TYPE_DECIMAL64:
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return lb_view_decimal(n->in, row);
    case NANOARROW_TYPE_UINT64:
        return (lb_i256){ { ArrowArrayViewGetUIntUnsafe(n->in, row), 0, 0, 0 } };
    default:
        cast_load(n->in, n->in->offset + row, 1, &v);
        return lb_i256_of(v);
    }
}

static lb_status run_decimal(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    const struct ArrowArrayPrivateData *p = n->out->private_data;
    size_t width = (size_t)(p->layout.element_size_bits[1] / 8);
    LB_TRY(cast_validity(n, row, count, err));
    uint8_t *to = cast_room(n->out, 1, count * (int64_t)width, err);
    if (to == NULL)
        return LB_NOMEM;
    for (int64_t i = 0; i < count; i++, to += width) {
        lb_i256 v = { { 0, 0, 0, 0 } };
        if (!lb_view_is_null(n->in, row + i) && !cast_decimal_value(n, cast_decimal_of(n, row + i), &v))
            return cast_misfit("a number", err);
        memcpy(to, &v, width);
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- text and binary */

static bool cast_is_wide(enum ArrowType storage)
{
    return storage == NANOARROW_TYPE_LARGE_STRING || storage == NANOARROW_TYPE_LARGE_BINARY ||
           storage == NANOARROW_TYPE_LARGE_LIST;
}

/* Last offset written; -1: does not fit 32 bits when `more` is added. */
static int64_t cast_last_offset(const cast_node *n, int64_t more)
{
    struct ArrowBuffer *b = ArrowArrayBuffer(n->out, 1);
    if (cast_is_wide(n->out_storage))
        return ((const int64_t *)b->data)[b->size_bytes / 8 - 1];
    int64_t last = ((const int32_t *)b->data)[b->size_bytes / 4 - 1];
    return more > INT32_MAX - last ? -1 : last;
}

static lb_status cast_put_offset(cast_node *n, int64_t offset, lb_error *err)
{
    bool wide = cast_is_wide(n->out_storage);
    void *to = cast_room(n->out, 1, wide ? 8 : 4, err);
    if (to == NULL)
        return LB_NOMEM;
    if (wide)
        *(int64_t *)to = offset;
    else
        *(int32_t *)to = (int32_t)offset;
    return LB_OK;
}

static lb_status cast_too_long(lb_error *err)
{
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
                   "one batch would hold more than 2 GiB in a column; ask for fewer rows");
}

static lb_status cast_append_bytes(cast_node *n, lb_str s, lb_error *err)
{
    int64_t last = s.size > INT64_MAX / 2 ? -1 : cast_last_offset(n, (int64_t)s.size);
    if (last < 0)
        return cast_too_long(err);
    void *to = cast_room(n->out, 2, (int64_t)s.size, err);
    if (to == NULL)
        return LB_NOMEM;
    if (s.size != 0)
        memcpy(to, s.at, s.size);
    return cast_put_offset(n, last + (int64_t)s.size, err);
}

static lb_status run_bytes(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    LB_TRY(cast_validity(n, row, count, err));
    for (int64_t i = 0; i < count; i++) {
        lb_str none = { "", 0 };
        LB_TRY(cast_append_bytes(n, lb_view_is_null(n->in, row + i) ? none : lb_view_bytes(n->in, row + i), err));
    }
    return LB_OK;
}

static lb_status run_text(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    LB_TRY(cast_validity(n, row, count, err));
    for (int64_t i = 0; i < count; i++) {
        n->text.size = 0;
        if (!lb_view_is_null(n->in, row + i))
            LB_TRY(n->print.put(&n->print, row + i, &n->text, err));
        LB_TRY(cast_append_bytes(n, (lb_str){ (const char *)n->text.data, n->text.size }, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- encoded and nested */

static lb_status cast_outside(lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an Arrow array refers to a row outside its child");
}

static lb_status run_nulls(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    (void)row;
    return cast_nulls(n->out, n->to, count, err);
}

static lb_status run_dictionary(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    cast_node *values = &n->children[0];
    for (int64_t i = 0; i < count; i++) {
        if (lb_view_is_null(n->in, row + i)) {
            LB_TRY(cast_nulls(n->out, n->to, 1, err));
            continue;
        }
        int64_t at = lb_view_dictionary_index(n->in, row + i);
        if (at < 0)
            return cast_outside(err);
        LB_TRY(values->run(values, at, 1, err));
    }
    return LB_OK;
}

static lb_status run_runs(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    cast_node *values = &n->children[0];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = lb_view_run(n->in, row + i);
        if (at < 0)
            return cast_outside(err);
        LB_TRY(values->run(values, at, 1, err));
    }
    return LB_OK;
}

/* Lists whose items follow each other: all items at once, then the offsets. */
static lb_status cast_list_dense(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    cast_node *item = &n->children[0];
    int64_t first, last, size, base = item->out->length;
    if (!lb_view_list(n->in, row, &first, &size) || !lb_view_list(n->in, row + count - 1, &last, &size) ||
        last + size < first)
        return cast_outside(err);
    last += size;
    if (!cast_is_wide(n->out_storage) && base + last - first > INT32_MAX)
        return cast_too_long(err);
    LB_TRY(item->run(item, first, last - first, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t start;
        if (!lb_view_list(n->in, row + i, &start, &size) || start < first || start + size > last)
            return cast_outside(err);
        LB_TRY(cast_put_offset(n, base + start + size - first, err));
    }
    return LB_OK;
}

static lb_status cast_list_loose(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    cast_node *item = &n->children[0];
    for (int64_t i = 0; i < count; i++) {
        int64_t start, size;
        if (!lb_view_is_null(n->in, row + i)) {
            if (!lb_view_list(n->in, row + i, &start, &size))
                return cast_outside(err);
            LB_TRY(item->run(item, start, size, err));
        }
        if (!cast_is_wide(n->out_storage) && item->out->length > INT32_MAX)
            return cast_too_long(err);
        LB_TRY(cast_put_offset(n, item->out->length, err));
    }
    return LB_OK;
}

static lb_status run_list(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    bool loose = n->in_storage == NANOARROW_TYPE_LIST_VIEW || n->in_storage == NANOARROW_TYPE_LARGE_LIST_VIEW;
    if (count == 0)
        return LB_OK;
    LB_TRY(cast_validity(n, row, count, err));
    return loose ? cast_list_loose(n, row, count, err) : cast_list_dense(n, row, count, err);
}

static lb_status run_fixed_list(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    int64_t each = n->in->layout.child_size_elements;
    LB_TRY(cast_validity(n, row, count, err));
    return n->children[0].run(&n->children[0], (n->in->offset + row) * each, count * each, err);
}

static lb_status run_struct(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    LB_TRY(cast_validity(n, row, count, err));
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(n->children[i].run(&n->children[i], n->in->offset + row, count, err));
    return LB_OK;
}

static lb_status run_sparse_union(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    int8_t *ids = cast_room(n->out, 0, count, err);
    if (ids == NULL)
        return LB_NOMEM;
    if (count != 0)
        memcpy(ids, n->in->buffer_views[0].data.as_int8 + n->in->offset + row, (size_t)count);
    for (size_t i = 0; i < n->n_children; i++)
        LB_TRY(n->children[i].run(&n->children[i], n->in->offset + row, count, err));
    n->out->length += count;
    return LB_OK;
}

static lb_status run_dense_union(cast_node *n, int64_t row, int64_t count, lb_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        int id, child;
        int64_t at;
        if (lb_view_union(n->in, row + i, &id, &child, &at) == NULL || (size_t)child >= n->n_children)
            return cast_outside(err);
        cast_node *c = &n->children[child];
        int8_t *to_id = cast_room(n->out, 0, 1, err);
        int32_t *to_offset = to_id == NULL ? NULL : cast_room(n->out, 1, 4, err);
        if (to_offset == NULL)
            return LB_NOMEM;
        if (c->out->length >= INT32_MAX)
            return cast_too_long(err);
        *to_id = (int8_t)id;
        *to_offset = (int32_t)c->out->length;
        LB_TRY(c->run(c, at, 1, err));
        n->out->length++;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- nulls of any type */

static lb_status nulls_offsets(struct ArrowArray *out, int64_t count, int64_t size, lb_error *err)
{
    struct ArrowBuffer *b = ArrowArrayBuffer(out, 1);
    uint8_t last[8];
    memcpy(last, b->data + b->size_bytes - size, (size_t)size);
    for (int64_t i = 0; i < count; i++)
        if (ArrowBufferAppend(b, last, size) != NANOARROW_OK)
            return lb_fail_nomem(err);
    return LB_OK;
}

static lb_status nulls_fill(struct ArrowArray *out, int buffer, int64_t count, int64_t size, int value, lb_error *err)
{
    int64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return lb_fail_nomem(err);
    void *to = cast_room(out, buffer, bytes, err);
    if (to == NULL)
        return LB_NOMEM;
    memset(to, value, (size_t)bytes);
    return LB_OK;
}

/* A union has no nulls of its own: they are nulls of its first type. */
static lb_status nulls_union(struct ArrowArray *out, const struct ArrowSchema *to, int64_t count, bool dense,
                             lb_error *err)
{
    int8_t ids[128] = { 0 };
    if (out->n_children == 0)
        return count == 0 ? LB_OK : lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a union of no types holds no nulls");
    (void)_ArrowParseUnionTypeIds(to->format + 4, ids);
    LB_TRY(nulls_fill(out, 0, count, 1, ids[0], err));
    int64_t first = out->children[0]->length;
    for (int64_t i = 0; i < (dense ? 1 : out->n_children); i++)
        LB_TRY(cast_nulls(out->children[i], to->children[i], count, err));
    if (dense && first + count > INT32_MAX)
        return cast_too_long(err);
    for (int64_t i = 0; dense && i < count; i++)
        if (ArrowBufferAppendInt32(ArrowArrayBuffer(out, 1), (int32_t)(first + i)) != NANOARROW_OK)
            return lb_fail_nomem(err);
    out->length += count;
    return LB_OK;
}

/* One run of nulls that ends where the array then ends. */
static lb_status nulls_runs(struct ArrowArray *out, const struct ArrowSchema *to, int64_t count, lb_error *err)
{
    if (count == 0)
        return LB_OK;
    if (ArrowArrayAppendInt(out->children[0], out->length + count) != NANOARROW_OK)
        return cast_too_long(err);
    LB_TRY(cast_nulls(out->children[1], to->children[1], 1, err));
    out->length += count;
    return LB_OK;
}

static lb_status nulls_children(struct ArrowArray *out, const struct ArrowSchema *to, int64_t count, int64_t each,
                                lb_error *err)
{
    int64_t n;
    if (__builtin_mul_overflow(count, each, &n))
        return lb_fail_nomem(err);
    for (int64_t i = 0; i < out->n_children; i++)
        LB_TRY(cast_nulls(out->children[i], to->children[i], n, err));
    return LB_OK;
}

static lb_status nulls_data(struct ArrowArray *out, const struct ArrowSchema *to, int64_t count, lb_error *err)
{
    const struct ArrowLayout *layout = &((const struct ArrowArrayPrivateData *)out->private_data)->layout;
    switch (cast_storage(out)) {
    case NANOARROW_TYPE_BOOL: {
        struct ArrowBuffer *b = ArrowArrayBuffer(out, 1);
        return nulls_fill(out, 1, (out->length + count + 7) / 8 - b->size_bytes, 1, 0, err);
    }
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP:
        return nulls_offsets(out, count, 4, err);
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_LARGE_LIST:
        return nulls_offsets(out, count, 8, err);
    case NANOARROW_TYPE_STRUCT:
        return nulls_children(out, to, count, 1, err);
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        return nulls_children(out, to, count, layout->child_size_elements, err);
    case NANOARROW_TYPE_LIST_VIEW:
    case NANOARROW_TYPE_LARGE_LIST_VIEW:
        LB_TRY(nulls_fill(out, 2, count, layout->element_size_bits[2] / 8, 0, err)); /* fall through */
    default:
        return nulls_fill(out, 1, count, layout->element_size_bits[1] / 8, 0, err);
    }
}

static lb_status cast_nulls(struct ArrowArray *out, const struct ArrowSchema *to, int64_t count, lb_error *err)
{
    enum ArrowType storage = cast_storage(out);
    switch (storage) {
    case NANOARROW_TYPE_NA:
        out->length += count;
        out->null_count += count;
        return LB_OK;
    case NANOARROW_TYPE_SPARSE_UNION:
    case NANOARROW_TYPE_DENSE_UNION:
        return nulls_union(out, to, count, storage == NANOARROW_TYPE_DENSE_UNION, err);
    case NANOARROW_TYPE_RUN_END_ENCODED:
        return nulls_runs(out, to, count, err);
    default:
        break;
    }
    LB_TRY(nulls_data(out, to, count, err));
    if (count == 0)
        return LB_OK;
    struct ArrowBitmap *map = ArrowArrayValidityBitmap(out);
    if (map->buffer.data == NULL && out->length != 0)
        LB_TRY(cast_bits(&map->buffer, 0, NULL, 0, out->length, err));
    int64_t more = (out->length + count + 7) / 8 - map->buffer.size_bytes;
    if (more > 0 && ArrowBufferAppendFill(&map->buffer, 0, more) != NANOARROW_OK)
        return lb_fail_nomem(err);
    map->size_bits = out->length + count; /* bits beyond the length are always 0 */
    out->length += count;
    out->null_count += count;
    return LB_OK;
}

/* ---------------------------------------------------------------- making the tree */

static lb_status cast_make(lb_arena *arena, const struct ArrowSchema *from, const struct ArrowArrayView *in,
                           const struct ArrowSchema *to, struct ArrowArray *out, int depth, cast_node *n,
                           lb_error *err);

static lb_status cast_none(const struct ArrowSchema *from, const struct ArrowSchema *to, lb_error *err)
{
    char x[200], y[200];
    lb_type_json(from, x, sizeof x);
    lb_type_json(to, y, sizeof y);
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s does not become %s", x, y);
}

static lb_status cast_make_children(lb_arena *arena, cast_node *n, size_t count, lb_error *err)
{
    n->children = lb_arena_alloc(arena, LB_MAX(count, 1u), sizeof *n->children);
    if (n->children == NULL)
        return lb_arena_fail(arena, err);
    n->n_children = count;
    return LB_OK;
}

/* The one child of dictionaries and runs builds the same array. */
static lb_status cast_make_encoded(lb_arena *arena, const struct ArrowSchema *values, const struct ArrowArrayView *in,
                                   int depth, cast_node *n, lb_error *err)
{
    if (n->to->dictionary != NULL)
        return cast_none(values, n->to, err);
    LB_TRY(cast_make_children(arena, n, 1, err));
    return cast_make(arena, values, in, n->to, n->out, depth + 1, &n->children[0], err);
}

static lb_status cast_make_nested(lb_arena *arena, const struct ArrowSchema *from, int depth, cast_node *n,
                                  lb_error *err)
{
    LB_TRY(cast_make_children(arena, n, (size_t)n->to->n_children, err));
    for (int64_t i = 0; i < n->to->n_children; i++)
        LB_TRY(cast_make(arena, from->children[i], n->in->children[i], n->to->children[i], n->out->children[i],
                         depth + 1, &n->children[i], err));
    return LB_OK;
}

static bool cast_same_name(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    return strcmp(a->name == NULL ? "" : a->name, b->name == NULL ? "" : b->name) == 0;
}

/* Field of `from` for field `i` of `to`: the one in the same place if its name is the same, else by name; -1: none. */
static int64_t cast_field(const struct ArrowSchema *from, const struct ArrowSchema *to, int64_t i)
{
    if (i < from->n_children && cast_same_name(from->children[i], to->children[i]))
        return i;
    for (int64_t k = 0; k < from->n_children; k++)
        if (cast_same_name(from->children[k], to->children[i]))
            return k;
    return -1;
}

static lb_status cast_make_struct(lb_arena *arena, const struct ArrowSchema *from, int depth, cast_node *n,
                                  lb_error *err)
{
    n->run = run_struct;
    LB_TRY(cast_make_children(arena, n, (size_t)n->to->n_children, err));
    for (int64_t i = 0; i < n->to->n_children; i++) {
        int64_t k = cast_field(from, n->to, i);
        cast_node *c = &n->children[i];
        if (k >= 0)
            LB_TRY(cast_make(arena, from->children[k], n->in->children[k], n->to->children[i], n->out->children[i],
                             depth + 1, c, err));
        else
            *c = (cast_node){ .run = run_nulls, .out = n->out->children[i], .to = n->to->children[i] };
    }
    return LB_OK;
}

static lb_status cast_make_decimal(const struct ArrowSchemaView *f, const struct ArrowSchemaView *t, cast_node *n,
                                   lb_error *err)
{
    int64_t shift = (int64_t)t->decimal_scale - f->decimal_scale;
    if (shift < 0 || shift > 2 * LB_SCALE_MAX || t->decimal_precision < 1 || t->decimal_precision > 76)
        return cast_none(f->schema, t->schema, err);
    n->run = run_decimal;
    n->shift = (int)shift;
    n->limit = lb_i256_of(1);
    for (int i = 0; i < t->decimal_precision; i++)
        (void)i256_times_ten(&n->limit); /* 10^76 is below 2^255 */
    return LB_OK;
}

static lb_status cast_make_text(lb_arena *arena, const struct ArrowSchema *from, cast_node *n, lb_error *err)
{
    n->run = run_text;
    lb_buf_init(&n->text, NULL);
    LB_TRY(print_node_make(arena, from, from->n_children == 0 ? PRINT_TEXT : PRINT_TAGGED, &n->print, err));
    print_node_bind(&n->print, n->in);
    return LB_OK;
}

static bool cast_is_signed(enum ArrowType type)
{
    return type == NANOARROW_TYPE_INT8 || type == NANOARROW_TYPE_INT16 || type == NANOARROW_TYPE_INT32 ||
           type == NANOARROW_TYPE_INT64;
}

static lb_status cast_make_ints(const struct ArrowSchemaView *f, const struct ArrowSchemaView *t, cast_node *n,
                                lb_error *err)
{
    int64_t x = cast_width(f->storage_type), y = cast_width(t->storage_type);
    bool from_signed = cast_is_signed(f->type), to_signed = cast_is_signed(t->type);
    if (y < x || (y == x && !from_signed && to_signed && x < 8))
        return cast_none(f->schema, t->schema, err);
    n->run = run_counts;
    n->check_sign = from_signed != to_signed && (from_signed || y == x);
    return LB_OK;
}

static lb_status cast_make_floats(const struct ArrowSchemaView *f, const struct ArrowSchemaView *t, cast_node *n,
                                  lb_error *err)
{
    if (lb_type_family(f->type) == LB_FAMILY_FLOAT && cast_width(t->type) < cast_width(f->type))
        return cast_none(f->schema, t->schema, err);
    n->run = run_floats;
    if (lb_type_family(f->type) == LB_FAMILY_INT)
        n->exact = t->type == NANOARROW_TYPE_DOUBLE  ? (int64_t)1 << 53
                   : t->type == NANOARROW_TYPE_FLOAT ? (int64_t)1 << 24
                                                     : (int64_t)1 << 11;
    return LB_OK;
}

/* Counts a day, or a second, of the type: dates in days, all else by its unit. */
static lb_status cast_make_times(const struct ArrowSchemaView *f, const struct ArrowSchemaView *t, cast_node *n,
                                 lb_error *err)
{
    int64_t from_unit = lb_unit_of(f->time_unit), to_unit = lb_unit_of(t->time_unit);
    bool date = t->type == NANOARROW_TYPE_DATE64 || t->type == NANOARROW_TYPE_TIMESTAMP;
    if (f->type == NANOARROW_TYPE_DATE32 && date) {
        n->times = 86400 * (t->type == NANOARROW_TYPE_DATE64 ? 1000 : to_unit);
        n->run = run_counts;
        return LB_OK;
    }
    if (f->type == NANOARROW_TYPE_DATE64 && t->type == NANOARROW_TYPE_TIMESTAMP)
        from_unit = 1000;
    else if (f->type != t->type && !(f->type == NANOARROW_TYPE_TIME32 && t->type == NANOARROW_TYPE_TIME64))
        return cast_none(f->schema, t->schema, err);
    n->run = run_counts;
    n->times = LB_MAX(to_unit / from_unit, 1);
    n->parts = LB_MAX(from_unit / to_unit, 1);
    return LB_OK;
}

static lb_status cast_make_lists(lb_arena *arena, const struct ArrowSchema *from, const struct ArrowSchemaView *f,
                                 const struct ArrowSchemaView *t, int depth, cast_node *n, lb_error *err)
{
    bool fixed = t->type == NANOARROW_TYPE_FIXED_SIZE_LIST;
    if (fixed ? f->type != t->type || f->fixed_size != t->fixed_size
              : t->type != NANOARROW_TYPE_LIST && t->type != NANOARROW_TYPE_LARGE_LIST)
        return cast_none(from, t->schema, err);
    n->run = fixed ? run_fixed_list : run_list;
    return cast_make_nested(arena, from, depth, n, err);
}

static lb_status cast_make_bytes(const struct ArrowSchemaView *f, const struct ArrowSchemaView *t, cast_node *n,
                                 lb_error *err)
{
    if (t->type == NANOARROW_TYPE_FIXED_SIZE_BINARY) {
        if (f->type != t->type || f->fixed_size != t->fixed_size)
            return cast_none(f->schema, t->schema, err);
        n->run = run_same;
        return LB_OK;
    }
    if (t->type == NANOARROW_TYPE_BINARY_VIEW || t->type == NANOARROW_TYPE_STRING_VIEW)
        return cast_none(f->schema, t->schema, err);
    n->run = run_bytes;
    return LB_OK;
}

/* Types of equal format that are neither lists nor structs. */
static lb_status cast_make_same(lb_arena *arena, const struct ArrowSchema *from, const struct ArrowSchemaView *f,
                                int depth, cast_node *n, lb_error *err)
{
    if (from->n_children != n->to->n_children)
        return cast_none(from, n->to, err);
    switch (f->type) {
    case NANOARROW_TYPE_BOOL:
        n->run = run_bool;
        return LB_OK;
    case NANOARROW_TYPE_SPARSE_UNION:
    case NANOARROW_TYPE_DENSE_UNION:
        n->run = f->type == NANOARROW_TYPE_DENSE_UNION ? run_dense_union : run_sparse_union;
        return cast_make_nested(arena, from, depth, n, err);
    case NANOARROW_TYPE_MAP:
        n->run = run_list;
        return cast_make_nested(arena, from, depth, n, err);
    default:
        n->run = run_same;
        return LB_OK;
    }
}

static lb_status cast_make_pair(lb_arena *arena, const struct ArrowSchema *from, const struct ArrowSchemaView *f,
                                const struct ArrowSchemaView *t, int depth, cast_node *n, lb_error *err)
{
    lb_family x = lb_type_family(f->type), y = lb_type_family(t->type);
    if ((x == LB_FAMILY_TEXT && y == LB_FAMILY_TEXT) || (x == LB_FAMILY_BINARY && y == LB_FAMILY_BINARY))
        return cast_make_bytes(f, t, n, err);
    if (t->type == NANOARROW_TYPE_STRING || t->type == NANOARROW_TYPE_LARGE_STRING)
        return cast_make_text(arena, from, n, err);
    if (x == LB_FAMILY_LIST && y == LB_FAMILY_LIST)
        return cast_make_lists(arena, from, f, t, depth, n, err);
    if (f->type == NANOARROW_TYPE_STRUCT && t->type == NANOARROW_TYPE_STRUCT)
        return cast_make_struct(arena, from, depth, n, err);
    if (strcmp(from->format, n->to->format) == 0)
        return cast_make_same(arena, from, f, depth, n, err);
    if (x == LB_FAMILY_INT && y == LB_FAMILY_INT)
        return cast_make_ints(f, t, n, err);
    if ((x == LB_FAMILY_INT || x == LB_FAMILY_FLOAT) && y == LB_FAMILY_FLOAT)
        return cast_make_floats(f, t, n, err);
    if ((x == LB_FAMILY_INT || x == LB_FAMILY_DECIMAL) && y == LB_FAMILY_DECIMAL)
        return cast_make_decimal(f, t, n, err);
    return cast_make_times(f, t, n, err);
}

static lb_status cast_make(lb_arena *arena, const struct ArrowSchema *from, const struct ArrowArrayView *in,
                           const struct ArrowSchema *to, struct ArrowArray *out, int depth, cast_node *n, lb_error *err)
{
    struct ArrowSchemaView f, t;
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    if (from == NULL || in == NULL || out == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a type lacks the type of its values");
    LB_TRY(lb_schema_view(from, &f, err));
    LB_TRY(lb_schema_view(to, &t, err));
    *n = (cast_node){ .in = in,
                      .out = out,
                      .to = to,
                      .in_storage = in->storage_type,
                      .out_storage = cast_storage(out),
                      .times = 1,
                      .parts = 1 };
    if (f.type == NANOARROW_TYPE_NA) {
        n->run = run_nulls;
        return LB_OK;
    }
    if (f.type == NANOARROW_TYPE_DICTIONARY) {
        n->run = run_dictionary;
        return cast_make_encoded(arena, from->dictionary, in->dictionary, depth, n, err);
    }
    if (f.type == NANOARROW_TYPE_RUN_END_ENCODED) {
        n->run = run_runs;
        return cast_make_encoded(arena, from->children[1], in->children[1], depth, n, err);
    }
    return cast_make_pair(arena, from, &f, &t, depth, n, err);
}

static void cast_free(cast_node *n)
{
    for (size_t i = 0; i < n->n_children; i++)
        cast_free(&n->children[i]);
    if (n->run == run_text)
        lb_buf_free(&n->text);
}

/* ---------------------------------------------------------------- building */

/* Offsets begin with a 0. */
static lb_status build_offsets(struct ArrowArray *out, lb_error *err)
{
    int64_t size = 0;
    switch (cast_storage(out)) {
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP:
        size = 4;
        break;
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_LARGE_LIST:
        size = 8;
        break;
    default:
        break;
    }
    if (size != 0)
        LB_TRY(nulls_fill(out, 1, 1, size, 0, err));
    for (int64_t i = 0; i < out->n_children; i++)
        LB_TRY(build_offsets(out->children[i], err));
    return out->dictionary == NULL ? LB_OK : build_offsets(out->dictionary, err);
}

static lb_status build_start(const struct ArrowSchema *type, struct ArrowArray *out, lb_error *err)
{
    struct ArrowError why = { "" };
    out->release = NULL;
    int code = ArrowArrayInitFromSchema(out, type, &why);
    if (code != NANOARROW_OK) {
        out->release = NULL;
        return lb_fail_arrow(err, code, &why);
    }
    return build_offsets(out, err);
}

static lb_status build_finish(struct ArrowArray *out, lb_error *err)
{
    struct ArrowError why = { "" };
    return lb_fail_arrow(err, ArrowArrayFinishBuildingDefault(out, &why), &why);
}

static lb_status build_drop(lb_status s, struct ArrowArray *out)
{
    if (s != LB_OK && out->release != NULL) {
        out->release(out);
        out->release = NULL;
    }
    return s;
}

lb_status lb_array_nulls(const struct ArrowSchema *type, int64_t length, struct ArrowArray *out, lb_error *err)
{
    if (length < 0)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "an array cannot have %lld rows", (long long)length);
    lb_status s = build_start(type, out, err);
    if (s == LB_OK)
        s = cast_nulls(out, type, length, err);
    if (s == LB_OK)
        s = build_finish(out, err);
    return build_drop(s, out);
}

/* Whether arrays of the one type are arrays of the other as they are. */
static bool cast_is_move(const struct ArrowSchema *a, const struct ArrowSchema *b, int depth)
{
    bool zones = strncmp(a->format, "ts", 2) == 0 && strncmp(b->format, a->format, 4) == 0;
    if (depth > LB_TYPE_DEPTH || (!zones && strcmp(a->format, b->format) != 0) || a->n_children != b->n_children ||
        (a->dictionary == NULL) != (b->dictionary == NULL))
        return false;
    if (a->dictionary != NULL && !cast_is_move(a->dictionary, b->dictionary, depth + 1))
        return false;
    bool named = strcmp(a->format, "+s") == 0;
    for (int64_t i = 0; i < a->n_children; i++)
        if ((named && !cast_same_name(a->children[i], b->children[i])) ||
            !cast_is_move(a->children[i], b->children[i], depth + 1))
            return false;
    return true;
}

/* A value did not fit: go through the rows one by one to tell which. What is built meanwhile is thrown away. */
static lb_status cast_find_row(cast_node *root, int64_t length, lb_error *err)
{
    for (int64_t row = 0; row < length; row++) {
        lb_error one = LB_ERROR_INIT;
        lb_status s = root->run(root, row, 1, &one);
        if (s == LB_OK)
            continue;
        if (one.row < 0)
            one.row = row;
        if (err != NULL && err->code == LB_OK)
            *err = one;
        return s;
    }
    return cast_misfit("a value", err);
}

static lb_status cast_run(const struct ArrowSchema *from, const struct ArrowArray *array, const struct ArrowSchema *to,
                          struct ArrowArray *out, lb_error *err)
{
    struct ArrowArrayView view;
    lb_arena arena;
    cast_node root = { .n_children = 0 };
    lb_error first = LB_ERROR_INIT;
    lb_arena_init(&arena, NULL);
    lb_status s = lb_view_open(from, array, &view, &first);
    if (s == LB_OK)
        s = build_start(to, out, &first);
    if (s == LB_OK)
        s = cast_make(&arena, from, &view, to, out, 0, &root, &first);
    bool made = s == LB_OK;
    if (s == LB_OK)
        s = root.run(&root, 0, array->length, &first);
    if (s == LB_CORRUPT && made)
        s = cast_find_row(&root, array->length, err);
    else if (s == LB_OK)
        s = build_finish(out, &first);
    if (s != LB_OK && err != NULL && err->code == LB_OK)
        *err = first;
    cast_free(&root);
    lb_arena_free(&arena);
    ArrowArrayViewReset(&view);
    return build_drop(s, out);
}

lb_status lb_array_cast(const struct ArrowSchema *from, struct ArrowArray *array, const struct ArrowSchema *to,
                        struct ArrowArray *out, lb_error *err)
{
    if (cast_is_move(from, to, 0)) {
        ArrowArrayMove(array, out);
        return LB_OK;
    }
    out->release = NULL;
    lb_status s = cast_run(from, array, to, out, err);
    array->release(array);
    return s;
}

/* ---------------------------------------------------------------- rows of several arrays */

/* One tree of nodes a chunk; all append to the same array. */
typedef struct cast_chunk {
    struct ArrowArrayView view;
    cast_node root;
} cast_chunk;

static lb_status cast_pick(cast_chunk *chunks, const lb_pick *picks, size_t n, lb_error *err)
{
    for (size_t i = 0, count; i < n; i += count) {
        cast_node *node = &chunks[picks[i].chunk].root;
        if (node->run == NULL)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "rows are picked of a chunk that is not there");
        for (count = 1;
             i + count < n && picks[i + count].chunk == picks[i].chunk && picks[i + count].row == picks[i].row + count;)
            count++;
        LB_TRY(node->run(node, (int64_t)picks[i].row, (int64_t)count, err));
    }
    return LB_OK;
}

lb_status lb_array_gather_any(const struct ArrowSchema *type, const struct ArrowArray *const *chunks, size_t n_chunks,
                              const lb_pick *picks, size_t n, struct ArrowArray *out, lb_error *err)
{
    cast_chunk *made = calloc(n_chunks + 1, sizeof *made);
    size_t opened = 0;
    lb_arena arena;

    out->release = NULL;
    if (made == NULL)
        return lb_fail_nomem(err);
    lb_arena_init(&arena, NULL);
    lb_status s = build_start(type, out, err);
    while (s == LB_OK && opened < n_chunks) {
        cast_chunk *c = &made[opened++];
        s = lb_view_open(type, chunks[opened - 1], &c->view, err);
        if (s == LB_OK)
            s = cast_make(&arena, type, &c->view, type, out, 0, &c->root, err);
    }
    if (s == LB_OK)
        s = cast_pick(made, picks, n, err);
    if (s == LB_OK)
        s = build_finish(out, err);
    for (size_t i = 0; i < opened; i++) {
        cast_free(&made[i].root);
        ArrowArrayViewReset(&made[i].view);
    }
    free(made);
    lb_arena_free(&arena);
    return build_drop(s, out);
}
