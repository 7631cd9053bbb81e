/* What types, casts and printers share: looking at one value of an ArrowArrayView, whatever its layout. Private to
 * src/column. */
#ifndef LB_COLUMN_VALUES_H
#define LB_COLUMN_VALUES_H

#include "base/number.h"
#include "column/types.h"

/* Types nest at most this deep: every walk over a schema is a recursion. */
#define LB_TYPE_DEPTH 64

/* Further digits after the point than any 256-bit decimal has; larger scales are refused, for they would only print
 * zeros. */
#define LB_SCALE_MAX 80

/* One row of the view as our error where the schema is none. */
lb_status lb_schema_view(const struct ArrowSchema *schema, struct ArrowSchemaView *out, lb_error *err);

/* Types that differ in width or layout only. */
typedef enum lb_family {
    LB_FAMILY_OTHER,
    LB_FAMILY_INT,
    LB_FAMILY_FLOAT,
    LB_FAMILY_DECIMAL,
    LB_FAMILY_TEXT,
    LB_FAMILY_BINARY, /* also of a fixed size */
    LB_FAMILY_LIST    /* also of a fixed size; no maps */
} lb_family;

lb_family lb_type_family(enum ArrowType type);

/* A view of `array`, which has the type of `schema`; its buffers are lent. Reset it with ArrowArrayViewReset, also on
 * error. */
lb_status lb_view_open(const struct ArrowSchema *schema, const struct ArrowArray *array, struct ArrowArrayView *out,
                       lb_error *err);

/* The type without its layouts that only save space: dictionaries and run-end encoding decoded, views and list views
 * as plain strings, binaries and lists. Names, nullability and metadata stay. */
lb_status lb_schema_plain(const struct ArrowSchema *from, struct ArrowSchema *out, lb_error *err);

/* Whether lb_schema_plain would change anything. */
bool lb_schema_is_plain(const struct ArrowSchema *schema);

/* The name `ARROW:extension:name` of a field; empty where there is none. */
lb_str lb_schema_extension(const struct ArrowSchema *field);

/* Counts a second of a time unit. */
static inline int64_t lb_unit_of(enum ArrowTimeUnit unit)
{
    static const int64_t units[] = { 1, 1000, 1000000, 1000000000 };
    return units[(unsigned)unit & 3];
}

static inline bool lb_view_has_validity(const struct ArrowArrayView *v)
{
    return v->layout.buffer_type[0] == NANOARROW_BUFFER_TYPE_VALIDITY && v->buffer_views[0].data.data != NULL;
}

/* Null by its own bitmap; dictionaries and runs may still lead to a null value. */
static inline bool lb_view_is_null(const struct ArrowArrayView *v, int64_t row)
{
    if (v->storage_type == NANOARROW_TYPE_NA)
        return true;
    return lb_view_has_validity(v) && !ArrowBitGet(v->buffer_views[0].data.as_uint8, v->offset + row);
}

/* Physical index of a row of a run-end encoded array; -1 where its runs do not reach so far. */
static inline int64_t lb_view_run(const struct ArrowArrayView *v, int64_t row)
{
    const struct ArrowArrayView *ends = v->children[0];
    int64_t low = 0, high = ends->length;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ArrowArrayViewGetIntUnsafe(ends, middle) > v->offset + row)
            high = middle;
        else
            low = middle + 1;
    }
    return low < v->children[1]->length ? low : -1;
}

/* Index into the dictionary; -1 where it points outside. */
static inline int64_t lb_view_dictionary_index(const struct ArrowArrayView *v, int64_t row)
{
    uint64_t i = v->storage_type == NANOARROW_TYPE_UINT64 ? ArrowArrayViewGetUIntUnsafe(v, row)
                                                          : (uint64_t)ArrowArrayViewGetIntUnsafe(v, row);
    return i < (uint64_t)v->dictionary->length ? (int64_t)i : -1;
}

/* Rows of the child that a list, map, fixed-size list or list view holds at `row`. False: they lie outside the child. */
static inline bool lb_view_list(const struct ArrowArrayView *v, int64_t row, int64_t *start, int64_t *count)
{
    int64_t i = v->offset + row, n = v->layout.child_size_elements;
    switch (v->storage_type) {
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP:
        *start = v->buffer_views[1].data.as_int32[i];
        *count = (int64_t)v->buffer_views[1].data.as_int32[i + 1] - *start;
        break;
    case NANOARROW_TYPE_LARGE_LIST:
        *start = v->buffer_views[1].data.as_int64[i];
        if (__builtin_sub_overflow(v->buffer_views[1].data.as_int64[i + 1], *start, count))
            return false;
        break;
    case NANOARROW_TYPE_LIST_VIEW:
        *start = v->buffer_views[1].data.as_int32[i];
        *count = v->buffer_views[2].data.as_int32[i];
        break;
    case NANOARROW_TYPE_LARGE_LIST_VIEW:
        *start = v->buffer_views[1].data.as_int64[i];
        *count = v->buffer_views[2].data.as_int64[i];
        break;
    default:
        *start = i * n;
        *count = n;
    }
    int64_t all = v->children[0]->length;
    return *start >= 0 && *count >= 0 && *start <= all && *count <= all - *start;
}

/* Child and its row that a union holds; NULL where the type id is unknown or the row lies outside. */
static inline const struct ArrowArrayView *lb_view_union(const struct ArrowArrayView *v, int64_t row, int *id,
                                                         int *child, int64_t *child_row)
{
    *id = v->buffer_views[0].data.as_int8[v->offset + row];
    *child = *id < 0 || v->union_type_id_map == NULL ? -1 : v->union_type_id_map[*id];
    if (*child < 0 || *child >= v->n_children)
        return NULL;
    *child_row = v->storage_type == NANOARROW_TYPE_DENSE_UNION ? v->buffer_views[1].data.as_int32[v->offset + row]
                                                               : v->offset + row;
    const struct ArrowArrayView *c = v->children[*child];
    return *child_row >= 0 && *child_row < c->length ? c : NULL;
}

/* Bytes of a string or binary value of any layout. */
static inline lb_str lb_view_bytes(const struct ArrowArrayView *v, int64_t row)
{
    /* Where all values are empty there may be no bytes to point into. */
    if (v->layout.buffer_type[2] == NANOARROW_BUFFER_TYPE_DATA && v->buffer_views[2].data.data == NULL)
        return (lb_str){ "", 0 };
    struct ArrowBufferView b = ArrowArrayViewGetBytesUnsafe(v, row);
    return (lb_str){ b.data.as_char, b.size_bytes < 0 ? 0 : (size_t)b.size_bytes };
}

/* A decimal of any width, sign-extended. */
static inline lb_i256 lb_view_decimal(const struct ArrowArrayView *v, int64_t row)
{
    size_t size = (size_t)(v->layout.element_size_bits[1] / 8);
    const uint8_t *p = v->buffer_views[1].data.as_uint8 + (size_t)(v->offset + row) * size;
    lb_i256 out;
    memset(&out, (p[size - 1] & 0x80) != 0 ? 0xff : 0, sizeof out);
    memcpy(&out, p, size);
    return out;
}

static inline double lb_view_double(const struct ArrowArrayView *v, int64_t row)
{
    if (v->storage_type == NANOARROW_TYPE_HALF_FLOAT)
        return (double)lb_half_to_float(v->buffer_views[1].data.as_uint16[v->offset + row]);
    return ArrowArrayViewGetDoubleUnsafe(v, row);
}

#endif
