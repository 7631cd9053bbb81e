#include "format/parquet/parquet_convert.h"

/* ---------------------------------------------------------------- integers */

#define NARROW(name, type)                                                                        \
    static size_t name(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out) \
    {                                                                                             \
        int32_t wrong = 0, v;                                                                     \
        (void)c;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                          \
            memcpy(&v, in + i * 4, 4);                                                            \
            type narrow = (type)v;                                                                \
            memcpy(out + i * sizeof narrow, &narrow, sizeof narrow);                              \
            wrong |= v ^ narrow;                                                                  \
        }                                                                                         \
        for (size_t i = 0; wrong != 0 && i < n; i++) {                                            \
            memcpy(&v, in + i * 4, 4);                                                            \
            if (v != (type)v)                                                                     \
                return i;                                                                         \
        }                                                                                         \
        return n;                                                                                 \
    }

NARROW(to_int8, int8_t)
NARROW(to_int16, int16_t)
NARROW(to_uint8, uint8_t)
NARROW(to_uint16, uint16_t)

/* ---------------------------------------------------------------- decimals */

static size_t decimal_of_int(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++, in += c->stored, out += c->width) {
        memset(out, (in[c->stored - 1] & 0x80) != 0 ? 0xFF : 0, c->width);
        memcpy(out, in, c->stored);
    }
    return n;
}

/* Two's complement, the highest byte first, of any length. False: beyond the width. */
static bool decimal_of_bytes(const uint8_t *in, size_t size, uint8_t *out, size_t width)
{
    const uint8_t sign = size != 0 && (in[0] & 0x80) != 0 ? 0xFF : 0;
    const size_t kept = size < width ? size : width;

    for (size_t i = 0; i < size - kept; i++)
        if (in[i] != sign)
            return false;
    for (size_t i = 0; i < kept; i++)
        out[i] = in[size - 1 - i];
    memset(out + kept, sign, width - kept);
    return kept < width || width == 0 || ((out[width - 1] ^ sign) & 0x80) == 0;
}

/* Up to 8 bytes into the lower half of 16. */
static void decimal_short(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++, in += size, out += 16) {
        uint64_t v = 0;
        for (size_t b = 0; b < size; b++)
            v = v << 8 | in[b];
        int64_t value = (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size), high = value >> 63;
        memcpy(out, &value, 8);
        memcpy(out + 8, &high, 8);
    }
}

static size_t decimal_of_fixed(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out)
{
    if (c->stored > 0 && c->stored <= 8 && c->width == 16) {
        decimal_short(in, c->stored, n, out);
        return n;
    }
    for (size_t i = 0; i < n; i++, in += c->stored, out += c->width)
        if (!decimal_of_bytes(in, c->stored, out, c->width))
            return i;
    return n;
}

static size_t decimal_of_strings(const lb_parquet_conversion *c, const lb_parquet_strings *in, uint8_t *out)
{
    const int32_t *ends = (const int32_t *)(const void *)in->ends.data;
    const size_t n = lb_parquet_strings_count(in);

    for (size_t i = 0; i < n; i++, out += c->width)
        if (!decimal_of_bytes(in->data.data + ends[i], (size_t)(ends[i + 1] - ends[i]), out, c->width))
            return i;
    return n;
}

/* ---------------------------------------------------------------- times */

#define JULIAN_EPOCH 2440588 /* Julian day number of 1970-01-01 */
#define DAY_NS INT64_C(86400000000000)

/* Nanoseconds of the day, then the Julian day. */
static size_t timestamp_of_int96(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out)
{
    (void)c;
    for (size_t i = 0; i < n; i++, in += 12, out += 8) {
        int64_t of_day, ns;
        int32_t day;
        memcpy(&of_day, in, 8);
        memcpy(&day, in + 8, 4);
        if (__builtin_mul_overflow((int64_t)day - JULIAN_EPOCH, DAY_NS, &ns) || __builtin_add_overflow(ns, of_day, &ns))
            return i;
        memcpy(out, &ns, 8);
    }
    return n;
}

/* Months, days and milliseconds, each unsigned. */
static size_t interval_of_fixed(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out)
{
    (void)c;
    for (size_t i = 0; i < n; i++, in += 12, out += 16) {
        uint32_t part[3];
        memcpy(part, in, 12);
        if (part[0] > INT32_MAX || part[1] > INT32_MAX)
            return i;
        int64_t ns = (int64_t)part[2] * 1000000;
        memcpy(out, part, 8);
        memcpy(out + 8, &ns, 8);
    }
    return n;
}

/* ---------------------------------------------------------------- which one */

static void conversion_decimal(const lb_parquet_leaf *leaf, size_t width, lb_parquet_conversion *out)
{
    out->width = width;
    switch (leaf->physical) {
    case LB_PARQUET_INT32:
    case LB_PARQUET_INT64:
        out->wide = decimal_of_int;
        break;
    case LB_PARQUET_FIXED:
        out->wide = decimal_of_fixed;
        break;
    case LB_PARQUET_BYTE_ARRAY:
        out->strings = decimal_of_strings;
        break;
    default:
        out->width = 0;
    }
}

static void conversion_int32(enum ArrowType type, lb_parquet_conversion *out)
{
    static const struct {
        enum ArrowType type;
        size_t width;
        size_t (*wide)(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out);
    } kinds[] = {
        { NANOARROW_TYPE_INT8, 1, to_int8 },   { NANOARROW_TYPE_UINT8, 1, to_uint8 },
        { NANOARROW_TYPE_INT16, 2, to_int16 }, { NANOARROW_TYPE_UINT16, 2, to_uint16 },
        { NANOARROW_TYPE_INT32, 4, NULL },     { NANOARROW_TYPE_UINT32, 4, NULL },
        { NANOARROW_TYPE_DATE32, 4, NULL },    { NANOARROW_TYPE_TIME32, 4, NULL },
    };
    for (size_t i = 0; i < LB_COUNT_OF(kinds); i++)
        if (kinds[i].type == type) {
            out->width = kinds[i].width;
            out->wide = kinds[i].wide;
        }
}

static void conversion_int64(enum ArrowType type, lb_parquet_conversion *out)
{
    if (type == NANOARROW_TYPE_INT64 || type == NANOARROW_TYPE_UINT64 || type == NANOARROW_TYPE_TIME64 ||
        type == NANOARROW_TYPE_TIMESTAMP || type == NANOARROW_TYPE_DURATION)
        out->width = 8;
}

static void conversion_fixed(const struct ArrowSchemaView *view, lb_parquet_conversion *out)
{
    if (view->type == NANOARROW_TYPE_FIXED_SIZE_BINARY && (size_t)view->fixed_size == out->stored)
        out->width = out->stored;
    else if (view->type == NANOARROW_TYPE_HALF_FLOAT && out->stored == 2)
        out->width = 2;
    else if (view->type == NANOARROW_TYPE_INTERVAL_MONTH_DAY_NANO && out->stored == 12) {
        out->width = 16;
        out->wide = interval_of_fixed;
    }
}

/* The width stays 0 where nothing fits. */
static void conversion_wide(const lb_parquet_leaf *leaf, const struct ArrowSchemaView *view, lb_parquet_conversion *out)
{
    switch (leaf->physical) {
    case LB_PARQUET_INT32:
        conversion_int32(view->type, out);
        break;
    case LB_PARQUET_INT64:
        conversion_int64(view->type, out);
        break;
    case LB_PARQUET_INT96:
        if (view->type == NANOARROW_TYPE_TIMESTAMP && view->time_unit == NANOARROW_TIME_UNIT_NANO) {
            out->width = 8;
            out->wide = timestamp_of_int96;
        }
        break;
    case LB_PARQUET_FLOAT:
        out->width = view->type == NANOARROW_TYPE_FLOAT ? 4 : 0;
        break;
    case LB_PARQUET_DOUBLE:
        out->width = view->type == NANOARROW_TYPE_DOUBLE ? 8 : 0;
        break;
    case LB_PARQUET_FIXED:
        conversion_fixed(view, out);
        break;
    default:
        break;
    }
}

static lb_status conversion_none(const lb_parquet_node *node, lb_error *err)
{
    lb_buf words;
    lb_error none = { .code = LB_OK };

    lb_buf_init(&words, NULL);
    const char *type = lb_type_words(node->schema, false, &words, &none) == LB_OK ? lb_buf_text(&words) : NULL;
    lb_status status =
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "column %.*s: Parquet type %d (%u bytes) as %s",
                (int)LB_MIN(node->leaf->path.size, (size_t)100), node->leaf->path.at, (int)node->leaf->physical,
                (unsigned)node->leaf->type_length, type == NULL ? "this type" : type);
    lb_buf_free(&words);
    return status;
}

lb_status lb_parquet_conversion_of(const lb_parquet_node *node, lb_parquet_conversion *out, lb_error *err)
{
    struct ArrowSchemaView view;
    struct ArrowError arrow_error;
    int code = ArrowSchemaViewInit(&view, node->schema, &arrow_error);

    if (code != NANOARROW_OK)
        return lb_fail_arrow(err, code, &arrow_error);
    *out = (lb_parquet_conversion){ .form = LB_PARQUET_WIDE, .stored = lb_parquet_width(node->leaf) };
    out->type = view.type == NANOARROW_TYPE_TIMESTAMP ? "INT96 as 64 bits of nanoseconds, which reach from 1677 to 2262"
                                                      : ArrowTypeString(view.type);
    if (view.type == NANOARROW_TYPE_NA) {
        out->form = LB_PARQUET_NOTHING;
        return LB_OK;
    }
    if (view.type == NANOARROW_TYPE_BOOL && node->leaf->physical == LB_PARQUET_BOOLEAN) {
        out->form = LB_PARQUET_BITS;
        return LB_OK;
    }
    if ((view.type == NANOARROW_TYPE_STRING || view.type == NANOARROW_TYPE_BINARY) &&
        node->leaf->physical == LB_PARQUET_BYTE_ARRAY) {
        out->form = LB_PARQUET_STRINGS;
        return LB_OK;
    }
    if (view.type == NANOARROW_TYPE_DECIMAL128 || view.type == NANOARROW_TYPE_DECIMAL256)
        conversion_decimal(node->leaf, view.type == NANOARROW_TYPE_DECIMAL128 ? 16 : 32, out);
    else
        conversion_wide(node->leaf, &view, out);
    return out->width == 0 ? conversion_none(node, err) : LB_OK;
}

lb_status lb_parquet_leaf_check(const lb_parquet_node *node, lb_error *err)
{
    lb_parquet_conversion c;

    return lb_parquet_conversion_of(node, &c, err);
}

/* ---------------------------------------------------------------- doing it */

static lb_status convert_fits(const lb_parquet_conversion *c, size_t good, size_t n, lb_error *err)
{
    if (good == n)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "a value does not fit the column's type: %s", c->type);
}

lb_status lb_parquet_convert(const lb_parquet_conversion *c, const uint8_t *in, size_t n, uint8_t *out, lb_error *err)
{
    if (c->wide != NULL)
        return convert_fits(c, c->wide(c, in, n, out), n, err);
    if (n * c->width != 0)
        memcpy(out, in, n * c->width);
    return LB_OK;
}

lb_status lb_parquet_convert_strings(const lb_parquet_conversion *c, const lb_parquet_strings *in, uint8_t *out,
                                     lb_error *err)
{
    return convert_fits(c, c->strings(c, in, out), lb_parquet_strings_count(in), err);
}
