/* Minimum and maximum of a column, from the bytes that footers and indexes have (Statistics and ColumnOrder of
 * parquet.thrift). */
#include <math.h>

#include "base/utf8.h"
#include "format/parquet/parquet_stats.h"

lb_parquet_bound_kind lb_parquet_bound_kind_of(const lb_parquet_node *node)
{
    struct ArrowSchemaView v;
    lb_str note;

    if (node->shape != LB_PARQUET_LEAF || ArrowSchemaViewInit(&v, node->schema, NULL) != NANOARROW_OK)
        return LB_PARQUET_BOUND_NONE;
    /* Shapes have no order. */
    if (lb_schema_get_meta(node->schema, LB_META_PARQUET_TYPE, &note) && note.size > 3 &&
        memcmp(note.at, "GEO", 3) == 0)
        return LB_PARQUET_BOUND_NONE;
    switch (v.type) {
    case NANOARROW_TYPE_BOOL:
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
    case NANOARROW_TYPE_TIMESTAMP:
        return LB_PARQUET_BOUND_INT;
    case NANOARROW_TYPE_UINT8:
    case NANOARROW_TYPE_UINT16:
    case NANOARROW_TYPE_UINT32:
    case NANOARROW_TYPE_UINT64:
        return LB_PARQUET_BOUND_UINT;
    case NANOARROW_TYPE_HALF_FLOAT:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        return LB_PARQUET_BOUND_FLOAT;
    case NANOARROW_TYPE_STRING:
        return LB_PARQUET_BOUND_TEXT;
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        return LB_PARQUET_BOUND_BYTES;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        return LB_PARQUET_BOUND_DECIMAL;
    default:
        return LB_PARQUET_BOUND_NONE;
    }
}

void lb_parquet_bounds_clear(lb_parquet_bounds *b)
{
    const lb_parquet_bounds empty = { .kind = b->kind, .min_exact = true, .max_exact = true, .text = b->text };

    *b = empty;
    if (b->text != NULL)
        *b->text = (lb_text_bounds){ .any = false };
}

/* ---------------------------------------------------------------- values as the file has them */

/* Types that Arrow has narrower than the file. */
static bool bounds_fit(const lb_parquet_node *node, int64_t v)
{
    switch (node->schema->format[0]) {
    case 'b':
        return v == 0 || v == 1;
    case 'c':
        return v == (int8_t)v;
    case 's':
        return v == (int16_t)v;
    default:
        return true;
    }
}

static bool bounds_int(const lb_parquet_node *node, lb_str bytes, int64_t *out)
{
    int32_t i;

    switch (node->leaf->physical) {
    case LB_PARQUET_BOOLEAN:
        *out = bytes.size == 1 ? bytes.at[0] : -1;
        return bytes.size == 1 && bounds_fit(node, *out);
    case LB_PARQUET_INT32:
        if (bytes.size != sizeof i)
            return false;
        memcpy(&i, bytes.at, sizeof i);
        *out = i;
        return bounds_fit(node, i);
    case LB_PARQUET_INT64:
        if (bytes.size != sizeof *out)
            return false;
        memcpy(out, bytes.at, sizeof *out);
        return true;
    default:
        return false; /* INT96 has no order that writers agree on */
    }
}

static bool bounds_uint(const lb_parquet_node *node, lb_str bytes, uint64_t *out)
{
    const char format = node->schema->format[0];
    const uint64_t most = format == 'C' ? UINT8_MAX : format == 'S' ? UINT16_MAX : UINT64_MAX;
    uint32_t u;

    if (node->leaf->physical == LB_PARQUET_INT64 && bytes.size == sizeof *out) {
        memcpy(out, bytes.at, sizeof *out);
        return true;
    }
    if (node->leaf->physical != LB_PARQUET_INT32 || bytes.size != sizeof u)
        return false;
    memcpy(&u, bytes.at, sizeof u);
    *out = u;
    return u <= most;
}

static double bounds_half(uint16_t h)
{
    const unsigned exponent = h >> 10 & 31u, fraction = h & 1023u;
    double v = exponent == 0    ? ldexp(fraction, -24)
               : exponent == 31 ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                : ldexp(fraction + 1024u, (int)exponent - 25);

    return (h & 0x8000u) != 0 ? -v : v;
}

static bool bounds_float(const lb_parquet_node *node, lb_str bytes, double *out)
{
    uint16_t h;
    float f;

    if (node->leaf->physical == LB_PARQUET_DOUBLE && bytes.size == sizeof *out) {
        memcpy(out, bytes.at, sizeof *out);
    } else if (node->leaf->physical == LB_PARQUET_FLOAT && bytes.size == sizeof f) {
        memcpy(&f, bytes.at, sizeof f);
        *out = (double)f;
    } else if (node->leaf->physical == LB_PARQUET_FIXED && bytes.size == sizeof h) {
        memcpy(&h, bytes.at, sizeof h);
        *out = bounds_half(h);
    } else {
        return false;
    }
    return !isnan(*out);
}

/* As 32 bytes, big-endian two's complement. */
static bool bounds_decimal(const lb_parquet_node *node, lb_str bytes, uint8_t out[32])
{
    uint8_t turned[8];
    const uint8_t *p = (const uint8_t *)bytes.at;
    const bool little = node->leaf->physical == LB_PARQUET_INT32 || node->leaf->physical == LB_PARQUET_INT64;

    if (bytes.size == 0 || bytes.size > 32 ||
        (little && bytes.size != (node->leaf->physical == LB_PARQUET_INT32 ? 4 : 8)))
        return false;
    for (size_t i = 0; little && i < bytes.size; i++)
        turned[i] = p[bytes.size - 1 - i];
    if (little)
        p = turned;
    memset(out, (p[0] & 0x80) != 0 ? 0xFF : 0, 32);
    memcpy(out + 32 - bytes.size, p, bytes.size);
    return true;
}

static int bounds_decimal_order(const uint8_t a[32], const uint8_t b[32])
{
    const int x = (int8_t)a[0], y = (int8_t)b[0];

    return x != y ? (x > y) - (x < y) : memcmp(a + 1, b + 1, 31);
}

/* ---------------------------------------------------------------- taking in */

static void bounds_exact(lb_parquet_bounds *b, bool is_min, bool better, bool same, bool exact)
{
    bool *flag = is_min ? &b->min_exact : &b->max_exact;

    if (better)
        *flag = exact;
    else if (same)
        *flag = *flag || exact;
}

static void bounds_take_int(lb_parquet_bounds *b, int64_t min, int64_t max)
{
    b->min_i = b->any ? LB_MIN(b->min_i, min) : min;
    b->max_i = b->any ? LB_MAX(b->max_i, max) : max;
}

static void bounds_take_uint(lb_parquet_bounds *b, uint64_t min, uint64_t max)
{
    b->min_u = b->any ? LB_MIN(b->min_u, min) : min;
    b->max_u = b->any ? LB_MAX(b->max_u, max) : max;
}

/* Of zeros the negative one is the less. */
static bool bounds_less(double a, double b)
{
    return a < b || (a == b && signbit(a) != 0 && signbit(b) == 0);
}

static void bounds_take_float(lb_parquet_bounds *b, double min, double max, bool min_exact, bool max_exact)
{
    bounds_exact(b, true, !b->any || bounds_less(min, b->min_f), b->any && min == b->min_f, min_exact);
    bounds_exact(b, false, !b->any || bounds_less(b->max_f, max), b->any && max == b->max_f, max_exact);
    b->min_f = !b->any || bounds_less(min, b->min_f) ? min : b->min_f;
    b->max_f = !b->any || bounds_less(b->max_f, max) ? max : b->max_f;
}

static void bounds_take_decimal(lb_parquet_bounds *b, const uint8_t min[32], const uint8_t max[32])
{
    if (!b->any || bounds_decimal_order(min, b->min_d) < 0)
        memcpy(b->min_d, min, 32);
    if (!b->any || bounds_decimal_order(max, b->max_d) > 0)
        memcpy(b->max_d, max, 32);
}

/* A zero may stand for the other one: writers did not agree on their order. */
static bool bounds_add_float(lb_parquet_bounds *b, const lb_parquet_node *node, lb_str min, lb_str max)
{
    double low, high;

    if (!bounds_float(node, min, &low) || !bounds_float(node, max, &high) || low > high)
        return false;
    const bool low_zero = low == 0, high_zero = high == 0;
    bounds_take_float(b, low_zero ? -0.0 : low, high_zero ? 0.0 : high, !low_zero, !high_zero);
    return true;
}

static bool bounds_add_bytes(lb_parquet_bounds *b, lb_str min, lb_str max, bool min_exact, bool max_exact)
{
    const bool text = b->kind == LB_PARQUET_BOUND_TEXT;
    lb_str low = min;

    if (min.at == NULL || max.at == NULL || lb_str_compare(min, max) > 0)
        return false;
    if (text && lb_utf8_valid_prefix((const uint8_t *)max.at, max.size) != max.size)
        return false;
    /* One that was cut inside a character is a bound without it as well. */
    if (text)
        low.size = lb_utf8_valid_prefix((const uint8_t *)min.at, min.size);
    lb_text_bounds_add(b->text, low.at, low.size);
    lb_text_bounds_add(b->text, max.at, max.size);
    b->min_exact = b->min_exact && min_exact && low.size == min.size;
    b->max_exact = b->max_exact && max_exact;
    return true;
}

bool lb_parquet_bounds_add(lb_parquet_bounds *b, const lb_parquet_node *node, lb_str min, lb_str max, bool min_exact,
                           bool max_exact)
{
    uint8_t low_d[32], high_d[32];
    uint64_t low_u, high_u;
    int64_t low, high;

    switch (b->kind) {
    case LB_PARQUET_BOUND_INT:
        if (!bounds_int(node, min, &low) || !bounds_int(node, max, &high) || low > high)
            return false;
        bounds_take_int(b, low, high);
        break;
    case LB_PARQUET_BOUND_UINT:
        if (!bounds_uint(node, min, &low_u) || !bounds_uint(node, max, &high_u) || low_u > high_u)
            return false;
        bounds_take_uint(b, low_u, high_u);
        break;
    case LB_PARQUET_BOUND_FLOAT:
        if (!bounds_add_float(b, node, min, max))
            return false;
        break;
    case LB_PARQUET_BOUND_DECIMAL:
        if (!bounds_decimal(node, min, low_d) || !bounds_decimal(node, max, high_d) ||
            bounds_decimal_order(low_d, high_d) > 0)
            return false;
        bounds_take_decimal(b, low_d, high_d);
        break;
    case LB_PARQUET_BOUND_BYTES:
    case LB_PARQUET_BOUND_TEXT:
        if (!bounds_add_bytes(b, min, max, min_exact, max_exact))
            return false;
        break;
    case LB_PARQUET_BOUND_NONE:
        break;
    }
    b->any = true;
    return true;
}

void lb_parquet_bounds_merge(lb_parquet_bounds *b, const lb_parquet_bounds *from)
{
    b->nulls += from->nulls;
    b->has_nans = b->has_nans && from->has_nans;
    b->nans += from->nans;
    if (!from->any)
        return;
    if (b->kind == LB_PARQUET_BOUND_INT)
        bounds_take_int(b, from->min_i, from->max_i);
    else if (b->kind == LB_PARQUET_BOUND_UINT)
        bounds_take_uint(b, from->min_u, from->max_u);
    else if (b->kind == LB_PARQUET_BOUND_FLOAT)
        bounds_take_float(b, from->min_f, from->max_f, from->min_exact, from->max_exact);
    else if (b->kind == LB_PARQUET_BOUND_DECIMAL)
        bounds_take_decimal(b, from->min_d, from->max_d);
    if (b->text != NULL) {
        lb_text_bounds_merge(b->text, from->text);
        b->min_exact = b->min_exact && from->min_exact;
        b->max_exact = b->max_exact && from->max_exact;
    }
    b->any = true;
}

/* ---------------------------------------------------------------- results */

static lb_status bounds_finish_decimal(const lb_parquet_bounds *b, const lb_parquet_node *node, lb_arena *arena,
                                       lb_colstat *out, lb_error *err)
{
    struct ArrowSchemaView v;
    size_t bytes = 32;

    if (ArrowSchemaViewInit(&v, node->schema, NULL) == NANOARROW_OK && v.type == NANOARROW_TYPE_DECIMAL128)
        bytes = 16;
    out->min_b = (lb_str){ lb_arena_dup(arena, b->min_d + 32 - bytes, bytes), bytes };
    out->max_b = (lb_str){ lb_arena_dup(arena, b->max_d + 32 - bytes, bytes), bytes };
    if (out->min_b.at == NULL || out->max_b.at == NULL)
        return lb_arena_fail(arena, err);
    out->has = LB_MIN_B | LB_MAX_B;
    return LB_OK;
}

static lb_status bounds_finish_text(const lb_parquet_bounds *b, lb_arena *arena, lb_colstat *out, lb_error *err)
{
    LB_TRY(lb_text_bounds_finish(b->text, b->kind == LB_PARQUET_BOUND_TEXT, arena, out, err));
    out->min_exact = out->min_exact && b->min_exact;
    out->max_exact = out->max_exact && b->max_exact;
    return LB_OK;
}

lb_status lb_parquet_bounds_finish(const lb_parquet_bounds *b, const lb_parquet_node *node, lb_arena *arena,
                                   lb_colstat *out, lb_error *err)
{
    out->has_null_count = true;
    out->null_count = b->nulls;
    out->has_nan_count = b->kind == LB_PARQUET_BOUND_FLOAT && b->has_nans;
    out->nan_count = out->has_nan_count ? b->nans : 0;
    if (!b->any)
        return LB_OK;
    out->min_exact = b->kind == LB_PARQUET_BOUND_FLOAT ? b->min_exact : true;
    out->max_exact = b->kind == LB_PARQUET_BOUND_FLOAT ? b->max_exact : true;
    out->min_i = b->min_i;
    out->max_i = b->max_i;
    out->min_u = b->min_u;
    out->max_u = b->max_u;
    out->min_f = b->min_f;
    out->max_f = b->max_f;
    switch (b->kind) {
    case LB_PARQUET_BOUND_INT:
        out->has = LB_MIN_I | LB_MAX_I;
        return LB_OK;
    case LB_PARQUET_BOUND_UINT:
        out->has = LB_MIN_U | LB_MAX_U;
        return LB_OK;
    case LB_PARQUET_BOUND_FLOAT:
        out->has = LB_MIN_F | LB_MAX_F;
        return LB_OK;
    case LB_PARQUET_BOUND_DECIMAL:
        return bounds_finish_decimal(b, node, arena, out, err);
    case LB_PARQUET_BOUND_BYTES:
    case LB_PARQUET_BOUND_TEXT:
        return bounds_finish_text(b, arena, out, err);
    case LB_PARQUET_BOUND_NONE:
        break;
    }
    return LB_OK;
}
