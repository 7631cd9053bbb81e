/* Statistics that the file itself has, as far as they can be relied on. */
#include <math.h>

#include "base/number.h"
#include "format/orc/orc.h"

/* Java's first writers got bounds wrong (HIVE-8732); from this version of theirs on they are right. */
#define STATS_WRITER_JAVA 0
#define STATS_WRITER_GOOD 1

typedef struct stats_message {
    bool has_values;
    uint64_t values;
    lb_str kinds[14]; /* messages of the kinds, by field number */
} stats_message;

static bool stats_parse(lb_str bytes, stats_message *out)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field f;

    *out = (stats_message){ 0 };
    while (lb_proto_next(&m, &f)) {
        if (f.number == 1) {
            out->has_values = true;
            out->values = f.value;
        } else if (f.number < LB_COUNT_OF(out->kinds)) {
            out->kinds[f.number] = f.bytes;
        }
    }
    return !m.bad && bytes.size != 0;
}

/* Fields 1 and 2 of a message: both bounds. */
typedef struct stats_pair {
    bool has[8];
    uint64_t v[8];
    lb_str bytes[8];
} stats_pair;

static bool stats_pair_of(lb_str bytes, stats_pair *out)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field f;

    *out = (stats_pair){ 0 };
    while (lb_proto_next(&m, &f))
        if (f.number < LB_COUNT_OF(out->v)) {
            out->has[f.number] = true;
            out->v[f.number] = f.value;
            out->bytes[f.number] = f.bytes;
        }
    return !m.bad;
}

/* Bounds beyond what the type holds are of values that are read otherwise than they were written. */
static bool stats_integers(lb_str bytes, unsigned bits, lb_colstat *out)
{
    const int64_t most = (int64_t)(UINT64_MAX >> 1 >> (64 - bits));
    stats_pair p;

    if (!stats_pair_of(bytes, &p) || !p.has[1] || !p.has[2])
        return false;
    out->min_i = lb_proto_zigzag(p.v[1]);
    out->max_i = lb_proto_zigzag(p.v[2]);
    out->has = LB_MIN_I | LB_MAX_I;
    out->min_exact = out->max_exact = true;
    return out->min_i <= out->max_i && out->min_i >= -most - 1 && out->max_i <= most;
}

/* How many are true. */
static bool stats_booleans(lb_str bytes, uint64_t values, lb_colstat *out)
{
    lb_proto m = lb_proto_of(bytes);
    lb_proto_field f;
    uint64_t trues = UINT64_MAX;

    while (lb_proto_next(&m, &f)) {
        lb_proto_packed numbers = lb_proto_unpack(&f);
        if (f.number == 1 && trues == UINT64_MAX && !lb_proto_packed_next(&numbers, &trues))
            return false;
    }
    if (m.bad || trues > values)
        return false;
    out->min_i = trues == values;
    out->max_i = trues != 0;
    out->has = LB_MIN_I | LB_MAX_I;
    out->min_exact = out->max_exact = true;
    return true;
}

/* Writers may have begun with a NaN, which no value is less or more than. Zeros have signs, which they do not tell apart. */
static bool stats_floats(lb_str bytes, lb_colstat *out)
{
    stats_pair p;

    if (!stats_pair_of(bytes, &p) || !p.has[1] || !p.has[2])
        return false;
    memcpy(&out->min_f, &p.v[1], 8);
    memcpy(&out->max_f, &p.v[2], 8);
    if (isnan(out->min_f) || isnan(out->max_f) || out->min_f > out->max_f)
        return false;
    out->min_exact = out->min_f != 0.0;
    out->max_exact = out->max_f != 0.0;
    if (out->min_f == 0.0)
        out->min_f = -0.0;
    if (out->max_f == 0.0)
        out->max_f = 0.0;
    out->has = LB_MIN_F | LB_MAX_F;
    return true;
}

static bool stats_text(lb_str bytes, lb_arena *arena, lb_colstat *out, lb_status *status, lb_error *err)
{
    lb_text_bounds bounds = { 0 };
    stats_pair p;

    if (!stats_pair_of(bytes, &p) || !p.has[1] || !p.has[2] || lb_str_compare(p.bytes[1], p.bytes[2]) > 0)
        return false;
    for (unsigned i = 1; i <= 2; i++)
        lb_text_bounds_add(&bounds, p.bytes[i].size == 0 ? "" : p.bytes[i].at, p.bytes[i].size);
    *status = lb_text_bounds_finish(&bounds, true, arena, out, err);
    return true;
}

static bool stats_decimal(const orc_type *t, lb_str text, lb_arena *arena, lb_str *out, lb_i256 *value,
                          lb_status *status, lb_error *err)
{
    uint8_t little[32], big[16];

    if (text.size == 0 || !lb_parse_decimal(text.at, text.size, (int)t->precision, (int)t->scale, value))
        return false;
    memcpy(little, value, sizeof little);
    for (unsigned i = 0; i < sizeof big; i++)
        big[i] = little[sizeof big - 1 - i];
    *out = (lb_str){ lb_arena_dup(arena, big, sizeof big), sizeof big };
    if (out->at == NULL)
        *status = lb_arena_fail(arena, err);
    return true;
}

static bool stats_decimals(const orc_type *t, lb_str bytes, lb_arena *arena, lb_colstat *out, lb_status *status,
                           lb_error *err)
{
    lb_i256 low, high;
    stats_pair p;

    if (t->undeclared || !stats_pair_of(bytes, &p) ||
        !stats_decimal(t, p.bytes[1], arena, &out->min_b, &low, status, err) ||
        !stats_decimal(t, p.bytes[2], arena, &out->max_b, &high, status, err) || lb_i256_compare(low, high) > 0)
        return false;
    out->has = LB_MIN_B | LB_MAX_B;
    out->min_exact = out->max_exact = true;
    return true;
}

/* What lies in the second before 1970 is read as the second behind it, so that a bound near there says little; in any zone this is
 * within so many milliseconds of 1970. */
#define STATS_NEAR_1970 INT64_C(100000000)

/* Milliseconds by the writer's clock, and one more than the nanoseconds behind them: only newer writers give both. */
static bool stats_timestamp(const stats_pair *p, unsigned millis, unsigned nanos, bool micros, int64_t *out)
{
    const int64_t v = lb_proto_zigzag(p->v[millis]), rest = (int64_t)p->v[nanos] - 1;

    if (!p->has[millis] || !p->has[nanos] || rest < 0 || rest > 999999 || (v > -STATS_NEAR_1970 && v < STATS_NEAR_1970))
        return false;
    if (micros)
        return rest % 1000 == 0 && !__builtin_mul_overflow(v, INT64_C(1000), out) &&
               !__builtin_add_overflow(*out, rest / 1000, out);
    return !__builtin_mul_overflow(v, INT64_C(1000000), out) && !__builtin_add_overflow(*out, rest, out);
}

static bool stats_timestamps(const orc_type *t, lb_str bytes, lb_colstat *out)
{
    stats_pair p;

    if (!stats_pair_of(bytes, &p) || !stats_timestamp(&p, 3, 5, t->micros, &out->min_i) ||
        !stats_timestamp(&p, 4, 6, t->micros, &out->max_i) || out->min_i > out->max_i)
        return false;
    out->has = LB_MIN_I | LB_MAX_I;
    out->min_exact = out->max_exact = true;
    return true;
}

/* False may also fill *out, which the caller clears. */
static bool stats_bounds(const orc_type *t, const stats_message *m, lb_arena *arena, lb_colstat *out, lb_status *status,
                         lb_error *err)
{
    switch (t->kind) {
    case ORC_BOOLEAN:
        return stats_booleans(m->kinds[5], m->values, out);
    case ORC_BYTE:
        return stats_integers(m->kinds[2], 8, out);
    case ORC_SHORT:
        return stats_integers(m->kinds[2], 16, out);
    case ORC_INT:
        return stats_integers(m->kinds[2], 32, out);
    case ORC_LONG:
        return stats_integers(m->kinds[2], 64, out);
    case ORC_DATE:
        return stats_integers(m->kinds[7], 32, out);
    case ORC_FLOAT:
    case ORC_DOUBLE:
        return stats_floats(m->kinds[3], out);
    case ORC_STRING:
    case ORC_VARCHAR:
    case ORC_CHAR:
        return stats_text(m->kinds[4], arena, out, status, err);
    case ORC_DECIMAL:
        return stats_decimals(t, m->kinds[6], arena, out, status, err);
    case ORC_TIMESTAMP:
    case ORC_INSTANT:
        return stats_timestamps(t, m->kinds[9], out);
    default:
        return true; /* without an order that counts */
    }
}

bool orc_stats_of(const orc_file *f, const orc_type *t, lb_str message, uint64_t rows, lb_arena *arena, lb_colstat *out,
                  lb_status *status, lb_error *err)
{
    const lb_str name = out->name, type = out->type;
    stats_message m;

    *status = LB_OK;
    if ((f->writer == STATS_WRITER_JAVA && f->writer_version < STATS_WRITER_GOOD) || !stats_parse(message, &m) ||
        !m.has_values || m.values > rows)
        return false;
    if (m.values == 0 || stats_bounds(t, &m, arena, out, status, err)) {
        out->source = LB_STATS_FROM_METADATA;
        out->has_null_count = true;
        out->null_count = rows - m.values;
        return true;
    }
    *out = (lb_colstat){ .name = name, .type = type };
    return false;
}

bool orc_stats_beyond_nanos(const orc_file *f, lb_str message)
{
    const int64_t most = INT64_MAX / 1000000;
    stats_message m;
    stats_pair p;

    if ((f->writer == STATS_WRITER_JAVA && f->writer_version < STATS_WRITER_GOOD) || !stats_parse(message, &m) ||
        !stats_pair_of(m.kinds[9], &p))
        return false;
    /* Least and largest, by the reader's clock or by UTC: a day apart at most. */
    for (unsigned i = 1; i <= 4; i++) {
        const int64_t v = lb_proto_zigzag(p.v[i]);
        if (p.has[i] && (v > most || v < -most))
            return true;
    }
    return false;
}
