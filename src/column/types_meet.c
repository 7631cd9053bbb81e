/* How columns of equal name but different types meet. */
#include <errno.h>
#include <stdio.h>

#include "column/values.h"

/* One side, below dictionaries and runs. */
typedef struct meet_side {
    const struct ArrowSchema *field; /* has name, nullability and metadata */
    const struct ArrowSchema *type;  /* has the type */
    struct ArrowSchemaView v;
    bool nullable, inferred;
    const lb_colstat *stats;
} meet_side;

static lb_status meet_sides(const meet_side *a, const meet_side *b, int depth, struct ArrowSchema *out, bool *met,
                            lb_error *err);

static lb_status meet_strip(meet_side *s, lb_error *err)
{
    s->type = s->field;
    s->nullable = (s->field->flags & ARROW_FLAG_NULLABLE) != 0;
    for (int depth = 0; depth < LB_TYPE_DEPTH; depth++) {
        LB_TRY(lb_schema_view(s->type, &s->v, err));
        if (s->v.type == NANOARROW_TYPE_DICTIONARY)
            s->type = s->type->dictionary;
        else if (s->v.type == NANOARROW_TYPE_RUN_END_ENCODED)
            s->nullable |= ((s->type = s->type->children[1])->flags & ARROW_FLAG_NULLABLE) != 0;
        else
            return LB_OK;
    }
    return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
}

/* ---------------------------------------------------------------- what statistics tell */

static int int_bits(enum ArrowType type, bool *is_signed)
{
    *is_signed = type == NANOARROW_TYPE_INT8 || type == NANOARROW_TYPE_INT16 || type == NANOARROW_TYPE_INT32 ||
                 type == NANOARROW_TYPE_INT64;
    switch (type) {
    case NANOARROW_TYPE_INT8:
    case NANOARROW_TYPE_UINT8:
        return 8;
    case NANOARROW_TYPE_INT16:
    case NANOARROW_TYPE_UINT16:
        return 16;
    case NANOARROW_TYPE_INT32:
    case NANOARROW_TYPE_UINT32:
        return 32;
    case NANOARROW_TYPE_INT64:
    case NANOARROW_TYPE_UINT64:
        return 64;
    default:
        return 0;
    }
}

static bool is_int(const meet_side *s)
{
    bool is_signed;
    return int_bits(s->v.type, &is_signed) != 0;
}

/* Range of the counts of a side; false: not known. */
static bool stats_range(const meet_side *s, __int128 *min, __int128 *max)
{
    bool is_signed;
    int bits = int_bits(s->v.type, &is_signed);
    unsigned has = s->stats == NULL ? 0 : s->stats->has;
    if ((has & LB_MIN_I) != 0 && (has & LB_MAX_I) != 0) {
        *min = s->stats->min_i;
        *max = s->stats->max_i;
        return true;
    }
    if ((has & LB_MIN_U) != 0 && (has & LB_MAX_U) != 0) {
        *min = s->stats->min_u;
        *max = s->stats->max_u;
        return true;
    }
    if (bits == 0 || (bits == 64 && is_signed))
        return false;
    *max = ((__int128)1 << (is_signed ? bits - 1 : bits)) - 1; /* the type itself is a bound */
    *min = is_signed ? -*max - 1 : 0;
    return bits < 64;
}

/* Whether all integers of a side lie within -limit … limit. */
static bool stats_within(const meet_side *s, __int128 limit)
{
    __int128 min, max;
    return stats_range(s, &min, &max) && min >= -limit && max <= limit;
}

/* Whether counts still fit into 64 bits when multiplied. Unknown ones do when `otherwise` says so. */
static bool stats_fit(const meet_side *s, int64_t factor, bool otherwise)
{
    __int128 min, max;
    if (factor == 1)
        return true;
    if (!stats_range(s, &min, &max))
        return otherwise;
    return min * factor >= INT64_MIN && max * factor <= INT64_MAX;
}

/* ---------------------------------------------------------------- results */

/* Metadata of `a`, less what named an extension type unless `extension`. */
static lb_status meet_metadata(const struct ArrowSchema *from, bool extension, struct ArrowSchema *out, lb_error *err)
{
    static const char prefix[] = "ARROW:extension:";
    struct ArrowMetadataReader reader;
    struct ArrowStringView key, value;
    struct ArrowBuffer meta;
    bool any = false;
    int code = ArrowMetadataBuilderInit(&meta, out->metadata);
    if (code == NANOARROW_OK)
        code = ArrowMetadataReaderInit(&reader, from->metadata);
    while (code == NANOARROW_OK && ArrowMetadataReaderRead(&reader, &key, &value) == NANOARROW_OK) {
        size_t n = sizeof prefix - 1;
        if (!extension && (size_t)key.size_bytes >= n && memcmp(key.data, prefix, n) == 0)
            continue;
        code = ArrowMetadataBuilderSet(&meta, key, value);
        any = true;
    }
    if (code == NANOARROW_OK && any)
        code = ArrowSchemaSetMetadata(out, (const char *)meta.data);
    ArrowBufferReset(&meta);
    return lb_fail_arrow(err, code, NULL);
}

/* Give the made type the name and metadata of `a`, and the nullability of both. */
static lb_status meet_dress(const meet_side *a, const meet_side *b, bool extension, struct ArrowSchema *out,
                            lb_error *err)
{
    bool nullable = a->nullable || b->nullable || a->v.type == NANOARROW_TYPE_NA || b->v.type == NANOARROW_TYPE_NA;
    out->flags = nullable ? out->flags | ARROW_FLAG_NULLABLE : out->flags & ~ARROW_FLAG_NULLABLE;
    LB_TRY(lb_fail_arrow(err, ArrowSchemaSetName(out, a->field->name), NULL));
    return meet_metadata(a->field, extension, out, err);
}

static lb_status meet_drop(lb_status s, struct ArrowSchema *out, bool *met)
{
    if (s != LB_OK && out->release != NULL) {
        out->release(out);
        out->release = NULL;
    }
    *met = s == LB_OK;
    return s;
}

/* The result is the type of one side. */
static lb_status meet_take(const meet_side *which, const meet_side *a, const meet_side *b, struct ArrowSchema *out,
                           bool *met, lb_error *err)
{
    LB_TRY(lb_schema_plain(which->type, out, err));
    return meet_drop(meet_dress(a, b, which == a, out, err), out, met);
}

/* The result has a format of its own. */
static lb_status meet_format(const char *format, const meet_side *a, const meet_side *b, struct ArrowSchema *out,
                             bool *met, lb_error *err)
{
    ArrowSchemaInit(out);
    lb_status s = lb_fail_arrow(err, ArrowSchemaSetFormat(out, format), NULL);
    if (s == LB_OK)
        s = meet_dress(a, b, false, out, err);
    return meet_drop(s, out, met);
}

/* Nothing but text holds both: right for columns whose types were guessed, else a conflict. */
static lb_status meet_not(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met, lb_error *err)
{
    if (a->inferred && b->inferred)
        return meet_format("u", a, b, out, met, err);
    *met = false;
    return LB_OK;
}

/* ---------------------------------------------------------------- numbers */

static lb_status meet_ints(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met, lb_error *err)
{
    bool a_signed, b_signed;
    __int128 min, max;
    int a_bits = int_bits(a->v.type, &a_signed), b_bits = int_bits(b->v.type, &b_signed);
    if (a_signed == b_signed)
        return meet_take(a_bits >= b_bits ? a : b, a, b, out, met, err);
    const meet_side *s = a_signed ? a : b;
    int s_bits = a_signed ? a_bits : b_bits, u_bits = a_signed ? b_bits : a_bits;
    if (u_bits < 64)
        return meet_format(LB_MAX(s_bits, 2 * u_bits) == 16   ? "s"
                           : LB_MAX(s_bits, 2 * u_bits) == 32 ? "i"
                                                              : "l",
                           a, b, out, met, err);
    if (stats_range(s, &min, &max) && min >= 0)
        return meet_format("L", a, b, out, met, err);
    return meet_not(a, b, out, met, err);
}

/* Integers up to this size are exact in the float type. */
static int64_t float_exact(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_HALF_FLOAT:
        return (int64_t)1 << 11;
    case NANOARROW_TYPE_FLOAT:
        return (int64_t)1 << 24;
    case NANOARROW_TYPE_DOUBLE:
        return (int64_t)1 << 53;
    default:
        return 0;
    }
}

static lb_status meet_int_float(const meet_side *i, const meet_side *f, const meet_side *a, const meet_side *b,
                                struct ArrowSchema *out, bool *met, lb_error *err)
{
    if (i->inferred && stats_within(i, float_exact(f->v.type)))
        return meet_take(f, a, b, out, met, err);
    return meet_not(a, b, out, met, err);
}

static bool is_decimal(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_DECIMAL32 || s->v.type == NANOARROW_TYPE_DECIMAL64 ||
           s->v.type == NANOARROW_TYPE_DECIMAL128 || s->v.type == NANOARROW_TYPE_DECIMAL256;
}

static lb_status meet_decimal_of(int whole, int scale, const meet_side *a, const meet_side *b, struct ArrowSchema *out,
                                 bool *met, lb_error *err)
{
    char format[64];
    int precision = LB_MAX(whole + scale, 1);
    if (precision > 76)
        return meet_not(a, b, out, met, err);
    (void)snprintf(format, sizeof format, precision <= 38 ? "d:%d,%d" : "d:%d,%d,256", precision, scale);
    return meet_format(format, a, b, out, met, err);
}

static lb_status meet_decimals(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met,
                               lb_error *err)
{
    const struct ArrowSchemaView *x = &a->v, *y = &b->v;
    if (x->decimal_precision == y->decimal_precision && x->decimal_scale == y->decimal_scale)
        return meet_take(x->decimal_bitwidth >= y->decimal_bitwidth ? a : b, a, b, out, met, err);
    int64_t whole =
        LB_MAX((int64_t)x->decimal_precision - x->decimal_scale, (int64_t)y->decimal_precision - y->decimal_scale);
    int scale = LB_MAX(x->decimal_scale, y->decimal_scale);
    if (whole > 76 + LB_SCALE_MAX || whole < -LB_SCALE_MAX || scale > LB_SCALE_MAX || scale < -LB_SCALE_MAX)
        return meet_not(a, b, out, met, err);
    return meet_decimal_of((int)whole, scale, a, b, out, met, err);
}

/* Decimal digits that hold every integer of a side; 0 in nothing but zeros. */
static int int_digits(const meet_side *s)
{
    __int128 min, max, size = 1;
    int digits = 0;
    if (!stats_range(s, &min, &max))
        return s->v.type == NANOARROW_TYPE_UINT64 ? 20 : 19;
    while (digits < 20 && (max >= size || min <= -size)) {
        size *= 10;
        digits++;
    }
    return digits;
}

static lb_status meet_int_decimal(const meet_side *i, const meet_side *d, const meet_side *a, const meet_side *b,
                                  struct ArrowSchema *out, bool *met, lb_error *err)
{
    int digits = int_digits(i), whole = d->v.decimal_precision - d->v.decimal_scale;
    if (i->inferred && d->v.decimal_scale >= 0 && digits <= whole)
        return meet_take(d, a, b, out, met, err);
    if (i->inferred && d->inferred && d->v.decimal_scale >= 0)
        return meet_decimal_of(digits, d->v.decimal_scale, a, b, out, met, err);
    return meet_not(a, b, out, met, err);
}

/* ---------------------------------------------------------------- dates and times */

static const char unit_letters[] = "smun";

static bool is_time(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_TIME32 || s->v.type == NANOARROW_TYPE_TIME64;
}

static bool is_date(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_DATE32 || s->v.type == NANOARROW_TYPE_DATE64;
}

/* Counts of the finer side that are all the same whole number of the coarser unit. */
static bool stats_coarsen(const meet_side *fine, int64_t factor)
{
    __int128 min, max;
    return stats_range(fine, &min, &max) && min == max && min % factor == 0;
}

/* The unit both sides keep their values in. Counts without statistics are taken to fit up to microseconds, which reach
 * 290,000 years (a cast still checks each); nanoseconds end in 2262 and need statistics that say so. False: none. */
static bool meet_unit(const meet_side *a, const meet_side *b, enum ArrowTimeUnit *unit)
{
    const meet_side *fine = a->v.time_unit >= b->v.time_unit ? a : b, *coarse = fine == a ? b : a;
    int64_t factor = lb_unit_of(fine->v.time_unit) / lb_unit_of(coarse->v.time_unit);
    *unit = fine->v.time_unit;
    if (stats_fit(coarse, factor, *unit != NANOARROW_TIME_UNIT_NANO))
        return true;
    *unit = coarse->v.time_unit;
    return stats_coarsen(fine, factor);
}

static lb_status meet_timestamps(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met,
                                 lb_error *err)
{
    enum ArrowTimeUnit unit;
    const char *x = a->v.timezone, *y = b->v.timezone;
    if ((x[0] == '\0') != (y[0] == '\0') || !meet_unit(a, b, &unit))
        return meet_not(a, b, out, met, err);
    if (strcmp(x, y) == 0)
        return meet_take(a->v.time_unit == unit ? a : b, a, b, out, met, err);
    const char format[] = { 't', 's', unit_letters[unit], ':', 'U', 'T', 'C', '\0' };
    return meet_format(format, a, b, out, met, err);
}

static lb_status meet_date_timestamp(const meet_side *d, const meet_side *t, const meet_side *a, const meet_side *b,
                                     struct ArrowSchema *out, bool *met, lb_error *err)
{
    int64_t second = lb_unit_of(t->v.time_unit);
    int64_t factor = d->v.type == NANOARROW_TYPE_DATE32 ? 86400 * second : LB_MAX(second / 1000, 1);
    if (t->v.timezone[0] != '\0' || !stats_fit(d, factor, t->v.time_unit != NANOARROW_TIME_UNIT_NANO))
        return meet_not(a, b, out, met, err);
    return meet_take(t, a, b, out, met, err);
}

static lb_status meet_durations(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met,
                                lb_error *err)
{
    enum ArrowTimeUnit unit;
    if (!meet_unit(a, b, &unit))
        return meet_not(a, b, out, met, err);
    return meet_take(a->v.time_unit == unit ? a : b, a, b, out, met, err);
}

/* ---------------------------------------------------------------- text and binary */

static bool is_text(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_STRING || s->v.type == NANOARROW_TYPE_LARGE_STRING ||
           s->v.type == NANOARROW_TYPE_STRING_VIEW;
}

static bool is_uuid(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_FIXED_SIZE_BINARY && lb_str_is(lb_schema_extension(s->type), "arrow.uuid");
}

static bool is_binary(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_BINARY || s->v.type == NANOARROW_TYPE_LARGE_BINARY ||
           s->v.type == NANOARROW_TYPE_BINARY_VIEW || (s->v.type == NANOARROW_TYPE_FIXED_SIZE_BINARY && !is_uuid(s));
}

/* ---------------------------------------------------------------- nested */

static bool is_list(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_LIST || s->v.type == NANOARROW_TYPE_LARGE_LIST ||
           s->v.type == NANOARROW_TYPE_FIXED_SIZE_LIST || s->v.type == NANOARROW_TYPE_LIST_VIEW ||
           s->v.type == NANOARROW_TYPE_LARGE_LIST_VIEW;
}

static bool is_union(const meet_side *s)
{
    return s->v.type == NANOARROW_TYPE_SPARSE_UNION || s->v.type == NANOARROW_TYPE_DENSE_UNION;
}

/* Meeting of a child of each side; bounds of nested values are not known here. */
static lb_status meet_children(const meet_side *a, const meet_side *b, const struct ArrowSchema *x,
                               const struct ArrowSchema *y, int depth, struct ArrowSchema *out, bool *met,
                               lb_error *err)
{
    meet_side p = { .field = x, .inferred = a->inferred }, q = { .field = y, .inferred = b->inferred };
    out->release = NULL;
    *met = false;
    LB_TRY(meet_strip(&p, err));
    LB_TRY(meet_strip(&q, err));
    return meet_sides(&p, &q, depth + 1, out, met, err);
}

static lb_status meet_lists(const meet_side *a, const meet_side *b, int depth, struct ArrowSchema *out, bool *met,
                            lb_error *err)
{
    struct ArrowSchema item;
    LB_TRY(meet_children(a, b, a->type->children[0], b->type->children[0], depth, &item, met, err));
    if (!*met)
        return meet_not(a, b, out, met, err);
    bool wide = a->v.type == NANOARROW_TYPE_LARGE_LIST || b->v.type == NANOARROW_TYPE_LARGE_LIST ||
                a->v.type == NANOARROW_TYPE_LARGE_LIST_VIEW || b->v.type == NANOARROW_TYPE_LARGE_LIST_VIEW;
    bool fixed =
        a->v.type == NANOARROW_TYPE_FIXED_SIZE_LIST && b->v.type == a->v.type && a->v.fixed_size == b->v.fixed_size;
    lb_status s = meet_format(fixed ? a->type->format : wide ? "+L" : "+l", a, b, out, met, err);
    if (s == LB_OK)
        s = meet_drop(lb_fail_arrow(err, ArrowSchemaAllocateChildren(out, 1), NULL), out, met);
    if (s == LB_OK)
        ArrowSchemaMove(&item, out->children[0]);
    else
        item.release(&item);
    return s;
}

static lb_status meet_maps(const meet_side *a, const meet_side *b, int depth, struct ArrowSchema *out, bool *met,
                           lb_error *err)
{
    const struct ArrowSchema *x = a->type->children[0], *y = b->type->children[0];
    struct ArrowSchema parts[2] = { { .release = NULL }, { .release = NULL } };
    lb_status s = LB_OK;
    *met = true;
    for (int i = 0; s == LB_OK && *met && i < 2; i++)
        s = meet_children(a, b, x->children[i], y->children[i], depth, &parts[i], met, err);
    if (s == LB_OK && !*met) {
        s = meet_not(a, b, out, met, err);
    } else if (s == LB_OK) {
        s = meet_take(a, a, b, out, met, err); /* the names inside, then its own two types */
        for (int i = 0; s == LB_OK && i < 2; i++) {
            struct ArrowSchema *place = out->children[0]->children[i];
            place->release(place);
            ArrowSchemaMove(&parts[i], place);
        }
    }
    for (int i = 0; i < 2; i++)
        if (parts[i].release != NULL)
            parts[i].release(&parts[i]);
    return s;
}

static const struct ArrowSchema *field_named(const struct ArrowSchema *type, const char *name)
{
    for (int64_t i = 0; i < type->n_children; i++)
        if (strcmp(type->children[i]->name == NULL ? "" : type->children[i]->name, name == NULL ? "" : name) == 0)
            return type->children[i];
    return NULL;
}

/* Fields are united by name: those of `a`, then those only `b` has; what one side lacks is null there. */
static lb_status meet_fields(const meet_side *a, const meet_side *b, int depth, struct ArrowSchema *out, int64_t *used,
                             bool *met, lb_error *err)
{
    *used = 0;
    *met = true;
    for (int64_t i = 0; i < a->type->n_children; i++) {
        const struct ArrowSchema *x = a->type->children[i], *y = field_named(b->type, x->name);
        struct ArrowSchema *place = out->children[*used];
        if (y != NULL)
            LB_TRY(meet_children(a, b, x, y, depth, place, met, err));
        else
            LB_TRY(lb_schema_plain(x, place, err));
        if (!*met)
            return LB_OK;
        if (y == NULL)
            place->flags |= ARROW_FLAG_NULLABLE;
        ++*used;
    }
    for (int64_t i = 0; i < b->type->n_children; i++) {
        if (field_named(a->type, b->type->children[i]->name) != NULL)
            continue;
        LB_TRY(lb_schema_plain(b->type->children[i], out->children[*used], err));
        out->children[(*used)++]->flags |= ARROW_FLAG_NULLABLE;
    }
    return LB_OK;
}

static lb_status meet_structs(const meet_side *a, const meet_side *b, int depth, struct ArrowSchema *out, bool *met,
                              lb_error *err)
{
    int64_t extra = 0, used = 0;
    for (int64_t i = 0; i < b->type->n_children; i++)
        extra += field_named(a->type, b->type->children[i]->name) == NULL;
    LB_TRY(meet_format("+s", a, b, out, met, err));
    lb_status s = lb_fail_arrow(err, ArrowSchemaAllocateChildren(out, a->type->n_children + extra), NULL);
    if (s == LB_OK)
        s = meet_fields(a, b, depth, out, &used, met, err);
    if (s == LB_OK && *met)
        return LB_OK;
    bool none = s == LB_OK;
    out->release(out);
    out->release = NULL;
    *met = false;
    return none ? meet_not(a, b, out, met, err) : s;
}

/* ---------------------------------------------------------------- all */

static bool same_union(const struct ArrowSchema *x, const struct ArrowSchema *y)
{
    if (strcmp(x->format, y->format) != 0 || x->n_children != y->n_children)
        return false;
    for (int64_t i = 0; i < x->n_children; i++)
        if (!lb_schema_equal(x->children[i], y->children[i]))
            return false;
    return true;
}

static lb_status meet_temporal(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met,
                               lb_error *err)
{
    enum ArrowType x = a->v.type, y = b->v.type;
    if (is_time(a) && is_time(b))
        return meet_take(a->v.time_unit >= b->v.time_unit ? a : b, a, b, out, met, err);
    if (is_date(a) && is_date(b))
        return meet_take(x == NANOARROW_TYPE_DATE64 ? a : b, a, b, out, met, err);
    if (x == NANOARROW_TYPE_TIMESTAMP && y == x)
        return meet_timestamps(a, b, out, met, err);
    if (x == NANOARROW_TYPE_DURATION && y == x)
        return meet_durations(a, b, out, met, err);
    if (is_date(a) && y == NANOARROW_TYPE_TIMESTAMP)
        return meet_date_timestamp(a, b, a, b, out, met, err);
    if (is_date(b) && x == NANOARROW_TYPE_TIMESTAMP)
        return meet_date_timestamp(b, a, a, b, out, met, err);
    return meet_not(a, b, out, met, err);
}

static lb_status meet_numbers(const meet_side *a, const meet_side *b, struct ArrowSchema *out, bool *met, lb_error *err)
{
    int64_t x = float_exact(a->v.type), y = float_exact(b->v.type);
    if (is_int(a) && is_int(b))
        return meet_ints(a, b, out, met, err);
    if (x != 0 && y != 0)
        return meet_take(x >= y ? a : b, a, b, out, met, err);
    if (is_int(a) && y != 0)
        return meet_int_float(a, b, a, b, out, met, err);
    if (is_int(b) && x != 0)
        return meet_int_float(b, a, a, b, out, met, err);
    if (is_decimal(a) && is_decimal(b))
        return meet_decimals(a, b, out, met, err);
    if (is_int(a) && is_decimal(b))
        return meet_int_decimal(a, b, a, b, out, met, err);
    if (is_int(b) && is_decimal(a))
        return meet_int_decimal(b, a, a, b, out, met, err);
    return meet_not(a, b, out, met, err);
}

static bool is_number(const meet_side *s)
{
    return is_int(s) || is_decimal(s) || float_exact(s->v.type) != 0;
}

static lb_status meet_sides(const meet_side *a, const meet_side *b, int depth, struct ArrowSchema *out, bool *met,
                            lb_error *err)
{
    if (depth > LB_TYPE_DEPTH)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "a type is nested more than %d deep", LB_TYPE_DEPTH);
    if (a->v.type == NANOARROW_TYPE_NA)
        return meet_take(b, a, b, out, met, err);
    if (b->v.type == NANOARROW_TYPE_NA)
        return meet_take(a, a, b, out, met, err);
    if (is_number(a) && is_number(b))
        return meet_numbers(a, b, out, met, err);
    if (is_text(a) && is_text(b))
        return strcmp(a->type->format, b->type->format) == 0 ? meet_take(a, a, b, out, met, err)
                                                             : meet_format("u", a, b, out, met, err);
    if (is_binary(a) && is_binary(b))
        return strcmp(a->type->format, b->type->format) == 0 ? meet_take(a, a, b, out, met, err)
                                                             : meet_format("z", a, b, out, met, err);
    if (is_uuid(a) || is_uuid(b))
        return is_uuid(a) && is_uuid(b) ? meet_take(a, a, b, out, met, err) : meet_not(a, b, out, met, err);
    if (is_list(a) && is_list(b))
        return meet_lists(a, b, depth, out, met, err);
    if (a->v.type == NANOARROW_TYPE_MAP && b->v.type == NANOARROW_TYPE_MAP)
        return meet_maps(a, b, depth, out, met, err);
    if (a->v.type == NANOARROW_TYPE_STRUCT && b->v.type == NANOARROW_TYPE_STRUCT)
        return meet_structs(a, b, depth, out, met, err);
    if (is_union(a) && is_union(b) && same_union(a->type, b->type))
        return meet_take(a, a, b, out, met, err);
    if (a->type->n_children == 0 && strcmp(a->type->format, b->type->format) == 0)
        return meet_take(a, a, b, out, met, err);
    return meet_temporal(a, b, out, met, err);
}

lb_status lb_types_meet(const lb_column_side *a, const lb_column_side *b, struct ArrowSchema *out, bool *met,
                        lb_error *err)
{
    meet_side x = { .field = a->field, .inferred = a->inferred, .stats = a->stats };
    meet_side y = { .field = b->field, .inferred = b->inferred, .stats = b->stats };
    *met = false;
    out->release = NULL;
    LB_TRY(meet_strip(&x, err));
    LB_TRY(meet_strip(&y, err));
    return meet_sides(&x, &y, 0, out, met, err);
}
