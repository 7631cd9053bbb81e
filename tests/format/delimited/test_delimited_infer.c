/* Types and statistics of columns of text: the joins of all kinds of values, their bounds, and the law that a column
 * cut in pieces and put together again, in any order, is the same column. */
#include "format/delimited/delimited.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/datetime.h"

#define VALUES_MOST 64

/* Values are parted by `|`; one that begins with `@` is quoted. */
static const struct {
    const char *values, *type;
} joins[] = {
    { "", "null" },
    { "||", "null" },
    { "@", "string" },
    { "|@|", "string" },
    { "@|1", "int64" },
    { "@|true|", "bool" },
    { "@|2020-01-01", "date" },
    { "true|FALSE|True", "bool" },
    { "true|1", "string" },
    { "true|yes", "string" },
    { "t", "string" },
    { "truex", "string" },
    { "1|-2|0", "int64" },
    { "|1|", "int64" },
    { " 1 |\t2", "int64" },
    { "@ 1|2", "string" },
    { "@1|@2", "int64" },
    { "01", "string" },
    { "1|007", "string" },
    { "+1", "string" },
    { "-", "string" },
    { "1_000", "string" },
    { "0x10", "string" },
    { "-0", "float64" },
    { "-0|1", "float64" },
    { "9223372036854775807|-9223372036854775808", "int64" },
    { "9223372036854775808", "uint64" },
    { "18446744073709551615|0", "uint64" },
    { "18446744073709551615|-1", "string" },
    { "-1|18446744073709551615", "string" },
    { "18446744073709551616", "string" },
    { "18446744073709551616|1", "string" },
    { "-9223372036854775809", "string" },
    { "18446744073709551616|1.5", "string" },
    { "18446744073709551615|1.5", "string" },
    { "1.5|2", "float64" },
    { ".5|5.|1e5|-2E-3", "float64" },
    { "NaN|inf|-Infinity|+INF|1", "float64" },
    { "nan", "float64" },
    { "nano", "string" },
    { "1.5|00.5", "string" },
    { "1e", "string" },
    { ".", "string" },
    { "1e999", "string" },
    { "9007199254740992|0.5", "float64" },
    { "-9007199254740992|0.5", "float64" },
    { "9007199254740993|0.5", "string" },
    { "0.5|-9007199254740993", "string" },
    { "9007199254740993|1", "int64" },
    { "2020-02-29|0001-01-01|9999-12-31", "date" },
    { "2019-02-29", "string" },
    { "0000-01-01", "string" },
    { "2020-1-1", "string" },
    { "2020-01-01|1", "string" },
    { "00:00:00|23:59:59.999999", "time[us]" },
    { "00:00:00|23:59:59.9999990", "time[ns]" },
    { "00:00:00.123456789", "time[ns]" },
    { "24:00:00", "string" },
    { "12:00", "string" },
    { "12:00:00|2020-01-01", "string" },
    { "2020-01-01T00:00", "timestamp[us]" },
    { "2020-01-01 00:00:00.5", "timestamp[us]" },
    { "2020-01-01  00:00", "string" },
    { "2020-01-01|2020-01-01T12:00", "timestamp[us]" },
    { "2020-01-01T00:00:00.1234567", "timestamp[ns]" },
    { "2020-01-01T00:00:00.1234567|2020-01-01T00:00", "timestamp[ns]" },
    { "2020-01-01T00:00:00.1234567|1600-01-01T00:00", "string" },
    { "1600-01-01T00:00|2020-01-01T00:00:00.1234567", "string" },
    { "2020-01-01T00:00:00.1234567|1600-01-01", "string" },
    { "9999-12-31|2020-01-01T00:00:00.1234567", "string" },
    { "2020-01-01T00:00:00.1234567|1600-01-01|2020-01-01", "string" },
    { "2020-01-01T00:00:00.1234567|2020-01-01|9999-12-31", "string" },
    { "2020-01-01T00:00:00.1234567|2020-01-01|2021-12-31", "timestamp[ns]" },
    { "1600-01-01T00:00|9999-12-31", "timestamp[us]" },
    { "2262-04-11T23:47:16.854775807", "timestamp[ns]" },
    { "2262-04-11T23:47:16.854775808", "string" },
    { "2262-04-11T23:47:16.854775807|2262-04-11T23:47:16.854775", "timestamp[ns]" },
    { "2262-04-11T23:47:17|1970-01-01T00:00:00.000000001", "string" },
    { "1677-09-21T00:12:43.145224192", "timestamp[ns]" },
    { "1677-09-21T00:12:43.145224191", "string" },
    { "2020-01-01T00:00Z", "timestamp[us,UTC]" },
    { "2020-01-01T00:00+01|2020-01-01 00:00-0130|2020-01-01T00:00:00+05:30", "timestamp[us,UTC]" },
    { "2020-01-01T00:00:00.1234567Z|2020-01-01T00:00Z", "timestamp[ns,UTC]" },
    { "2020-01-01T00:00:00.1234567Z|1600-01-01T00:00Z", "string" },
    { "2020-01-01T00:00Z|2020-01-01T00:00", "string" },
    { "2020-01-01T00:00Z|2020-01-01", "string" },
    { "2020-01-01T00:00Z|1", "string" },
    { "a|1|2.5", "string" },
    { "1|a", "string" },
    { " ", "string" },
    { "1| ", "string" },
};

static const struct {
    const char *values, *type;
} decimal_joins[] = {
    { "1.5|2.25", "decimal(3,2)" },
    { "1.50", "decimal(3,2)" },
    { "-12.5|3", "decimal(3,1)" },
    { "1000|0.25", "decimal(6,2)" },
    { "0.5", "decimal(1,1)" },
    { ".05|5.", "decimal(3,2)" },
    { "0.0", "decimal(1,1)" },
    { "0.", "decimal(1,0)" },
    { "1|2", "int64" },
    { "1.5|1e3", "float64" },
    { "1.5|NaN", "float64" },
    { "1.5|-0", "float64" },
    { "9007199254740993|0.5", "decimal(17,1)" },
    { "-9223372036854775808|0.5", "decimal(20,1)" },
    { "1234567890123456789012345678901234567890123456789012345678901234567890123456.", "decimal(76,0)" },
    { "12345678901234567890123456789012345678901234567890123456789012345678901234567.", "string" },
    { "0.0123456789012345678901234567890123456789012345678901234567890123456789012345", "decimal(76,76)" },
    { "1234567890123456789012345678901234567890.|0.0000000000000000000000000000000000001", "string" },
};

typedef struct value {
    const char *at;
    size_t size;
    bool quoted;
} value;

static size_t split(const char *text, value *out)
{
    size_t n = 0;

    for (const char *p = text;; p++) {
        size_t size = strcspn(p, "|");
        bool quoted = *p == '@';
        assert_true(n < VALUES_MOST);
        out[n++] = (value){ p + quoted, size - quoted, quoted };
        p += size;
        if (*p == '\0')
            return n;
    }
}

/* A value with just the padding that is promised, which holds what it likes. */
static char *padded(const value *v)
{
    static unsigned turn;
    char *copy = malloc(v->size + DELIM_VALUE_PADDING);

    assert_non_null(copy);
    memcpy(copy, v->at, v->size);
    for (size_t i = 0; i < DELIM_VALUE_PADDING; i++)
        copy[v->size + i] = "5.-e:0 \xff"[turn++ % 8];
    return copy;
}

static void add(delim_column *c, const value *v, const delim_values *values, bool stats)
{
    const delim_dialect d = { .delimiter = { ',' }, .delimiter_size = 1, .quote = '"', .escape = -1 };
    char *bytes = padded(v);
    delim_field field = { (const uint8_t *)bytes, v->size, v->quoted ? DELIM_QUOTED : 0 };
    delim_value read;
    lb_error err = LB_ERROR_INIT;

    assert_int_equal(delim_read_value(&d, values, &field, SIZE_MAX, NULL, &read, &err), LB_OK);
    assert_int_equal(read.quoted, v->quoted);
    if (read.null)
        c->nulls++;
    else
        delim_column_add(c, read.text, read.quoted, values, stats);
    free(bytes);
}

static void add_all(delim_column *c, const value *v, size_t n, const delim_values *values)
{
    delim_column_init(c);
    for (size_t i = 0; i < n; i++)
        add(c, &v[i], values, true);
}

static delim_column column_of(const char *text, const delim_values *values)
{
    value v[VALUES_MOST];
    delim_column c;
    size_t n = split(text, v);

    add_all(&c, v, n, values);
    return c;
}

static void assert_type(const delim_column *c, const delim_values *values, const char *want, const char *text)
{
    char type[DELIM_TYPE_TEXT];

    delim_column_type(c, values, type);
    if (strcmp(type, want) != 0)
        fail_msg("%s: expected %s, got %s", text, want, type);
}

static void infer_joins(void **state)
{
    const delim_values plain = { 0 }, decimal = { .decimal = true }, text = { .text = true };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(joins); i++) {
        delim_column c = column_of(joins[i].values, &plain);
        assert_type(&c, &plain, joins[i].type, joins[i].values);
        c = column_of(joins[i].values, &text);
        assert_type(&c, &text, "string", joins[i].values);
        assert_int_equal(c.nulls, 0);
    }
    for (size_t i = 0; i < LB_COUNT_OF(decimal_joins); i++) {
        delim_column c = column_of(decimal_joins[i].values, &decimal);
        assert_type(&c, &decimal, decimal_joins[i].type, decimal_joins[i].values);
    }
}

/* ---------------------------------------------------------------- nulls */

static void infer_null_words(void **state)
{
    static const char *const words[] = { "NA", "-", "\\N" };
    const delim_values plain = { 0 }, nulls = { .nulls = words, .n_nulls = 3 };
    const delim_values all_text = { .text = true, .nulls = words, .n_nulls = 3 };
    static const struct {
        const char *values, *type, *plain_type;
        uint64_t nulls;
    } rows[] = {
        { "1|NA|-|", "int64", "string", 3 }, { "1| NA |2", "int64", "string", 1 }, { "1|@NA|2", "string", "string", 0 },
        { "1|na", "string", "string", 0 },   { "NA|\\N", "null", "string", 2 },    { "x|-|@|", "string", "string", 2 },
    };

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++) {
        delim_column c = column_of(rows[i].values, &nulls);
        assert_type(&c, &nulls, rows[i].type, rows[i].values);
        assert_int_equal(c.nulls, rows[i].nulls);
        c = column_of(rows[i].values, &plain);
        assert_type(&c, &plain, rows[i].plain_type, rows[i].values);
        c = column_of(rows[i].values, &all_text);
        assert_type(&c, &all_text, "string", rows[i].values);
        assert_int_equal(c.nulls, 0);
    }
}

/* ---------------------------------------------------------------- statistics */

static lb_colstat stats_of(const delim_column *c, const delim_values *values, lb_arena *arena)
{
    char type[DELIM_TYPE_TEXT];
    lb_colstat out;
    lb_error err = LB_ERROR_INIT;

    delim_column_type(c, values, type);
    const char *kept = lb_arena_copy(arena, lb_str_of(type));
    assert_int_equal(delim_column_stats(c, LB_STR("c"), kept, true, arena, &out, &err), LB_OK);
    assert_true(lb_str_is(out.type, type));
    return out;
}

static void infer_integer_bounds(void **state)
{
    static const struct {
        const char *values;
        int64_t min, max;
        uint64_t nulls;
    } rows[] = {
        { "3|-7||12", -7, 12, 1 },
        { "@|5", 5, 5, 1 },
        { "9223372036854775807|-9223372036854775808", INT64_MIN, INT64_MAX, 0 },
        { "true|false|TRUE", 0, 1, 0 },
        { "true|", 1, 1, 1 },
        { "1970-01-02|1969-12-31|2000-02-29", -1, 11016, 0 },
        { "00:00:01|23:59:59.999999", 1000000, 86399999999, 0 },
        { "00:00:01.000000001", 1000000001, 1000000001, 0 },
        { "1970-01-01T00:00|1969-12-31T23:59:59.999999", -1, 0, 0 },
        { "1970-01-02|1970-01-01T12:00|1970-01-01T01:00", 3600000000, 86400000000, 0 },
        { "1970-01-01|1970-01-01T00:00:00.0000001", 0, 100, 0 },
        { "1970-01-01T00:00+01|1970-01-01T00:00Z", -3600000000, 0, 0 },
        { "2262-04-11T23:47:16.854775807|1677-09-21T00:12:43.145224192", INT64_MIN, INT64_MAX, 0 },
    };
    const delim_values plain = { 0 };
    lb_arena arena;

    (void)state;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++) {
        delim_column c = column_of(rows[i].values, &plain);
        lb_colstat s = stats_of(&c, &plain, &arena);
        assert_int_equal(s.has, LB_MIN_I | LB_MAX_I);
        assert_int_equal(s.min_i, rows[i].min);
        assert_int_equal(s.max_i, rows[i].max);
        assert_true(s.has_null_count && s.min_exact && s.max_exact && !s.has_nan_count);
        assert_int_equal(s.null_count, rows[i].nulls);
    }
    lb_arena_free(&arena);
}

static void infer_other_bounds(void **state)
{
    const delim_values plain = { 0 };
    lb_arena arena;
    lb_colstat s;
    delim_column c;

    (void)state;
    lb_arena_init(&arena, NULL);
    c = column_of("5|18446744073709551615|", &plain);
    s = stats_of(&c, &plain, &arena);
    assert_int_equal(s.has, LB_MIN_U | LB_MAX_U);
    assert_true(s.min_u == 5 && s.max_u == UINT64_MAX && s.null_count == 1);
    c = column_of("9223372036854775808|18446744073709551615", &plain);
    s = stats_of(&c, &plain, &arena);
    assert_true(s.min_u == (uint64_t)INT64_MAX + 1 && s.max_u == UINT64_MAX);
    c = column_of("||", &plain);
    s = stats_of(&c, &plain, &arena);
    assert_true(s.has == 0 && s.null_count == 3);
    c = column_of("b|a|@||\xC3\xBC", &plain);
    s = stats_of(&c, &plain, &arena);
    assert_int_equal(s.has, LB_MIN_B | LB_MAX_B);
    assert_true(lb_str_is(s.min_b, "") && lb_str_is(s.max_b, "\xC3\xBC") && s.null_count == 1);
    c = column_of("10|9|x1| 2", &plain);
    s = stats_of(&c, &plain, &arena);
    assert_true(lb_str_is(s.min_b, " 2") && lb_str_is(s.max_b, "x1") && s.null_count == 0);
    lb_arena_free(&arena);
}

static void infer_float_bounds(void **state)
{
    static const struct {
        const char *values;
        unsigned has;
        double min, max;
        uint64_t nans;
    } rows[] = {
        { "1.5|-2.5|3", LB_MIN_F | LB_MAX_F, -2.5, 3, 0 },
        { "NaN|1.5", LB_MIN_F | LB_MAX_F, 1.5, 1.5, 1 },
        { "NaN|nan", 0, 0, 0, 2 },
        { "NaN|7", LB_MIN_F | LB_MAX_F, 7, 7, 1 },
        { "-inf|Infinity", LB_MIN_F | LB_MAX_F, -INFINITY, INFINITY, 0 },
        { "0.0|-0.0", LB_MIN_F | LB_MAX_F, -0.0, 0.0, 0 },
        { "-0.0|0", LB_MIN_F | LB_MAX_F, -0.0, 0.0, 0 },
        { "0|-0", LB_MIN_F | LB_MAX_F, -0.0, 0.0, 0 },
        { "5e-324|1.7976931348623157e308", LB_MIN_F | LB_MAX_F, 4.9406564584124654e-324, 1.7976931348623157e308, 0 },
        { "9007199254740992|0.1", LB_MIN_F | LB_MAX_F, 0.1, 9007199254740992.0, 0 },
    };
    const delim_values plain = { 0 };
    lb_arena arena;

    (void)state;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++) {
        delim_column c = column_of(rows[i].values, &plain);
        lb_colstat s = stats_of(&c, &plain, &arena);
        assert_int_equal(s.has, rows[i].has);
        assert_true(s.has_nan_count && s.nan_count == rows[i].nans);
        if (s.has == 0)
            continue;
        assert_memory_equal(&s.min_f, &rows[i].min, sizeof s.min_f); /* by bits: -0.0 lies below 0.0 */
        assert_memory_equal(&s.max_f, &rows[i].max, sizeof s.max_f);
    }
    lb_arena_free(&arena);
}

/* Bytes as Python's int.to_bytes(n, "big", signed=True) gives them. */
static void infer_decimal_bounds(void **state)
{
    static const struct {
        const char *values;
        size_t size;
        const char *min, *max; /* the last 8 bytes; those before repeat the sign */
    } rows[] = {
        { "1.5|-2.25|3", 16, "\xff\xff\xff\xff\xff\xff\xff\x1f", "\0\0\0\0\0\0\x01\x2c" },
        { "10.5|9.75", 16, "\0\0\0\0\0\0\x03\xcf", "\0\0\0\0\0\0\x04\x1a" },
        { "-10.5|-9.75", 16, "\xff\xff\xff\xff\xff\xff\xfb\xe6", "\xff\xff\xff\xff\xff\xff\xfc\x31" },
        { "0.5|-5|7", 16, "\xff\xff\xff\xff\xff\xff\xff\xce", "\0\0\0\0\0\0\0\x46" },
        { "-.5|0.25", 16, "\xff\xff\xff\xff\xff\xff\xff\xce", "\0\0\0\0\0\0\0\x19" },
        { "0.0000000000000000000000000000000000000001|-0.", 32, "\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\x01" },
    };
    const delim_values decimal = { .decimal = true };
    lb_arena arena;

    (void)state;
    lb_arena_init(&arena, NULL);
    for (size_t i = 0; i < LB_COUNT_OF(rows); i++) {
        delim_column c = column_of(rows[i].values, &decimal);
        lb_colstat s = stats_of(&c, &decimal, &arena);
        assert_int_equal(s.has, LB_MIN_B | LB_MAX_B);
        assert_true(s.min_b.size == rows[i].size && s.max_b.size == rows[i].size);
        assert_memory_equal(s.min_b.at + s.min_b.size - 8, rows[i].min, 8);
        assert_memory_equal(s.max_b.at + s.max_b.size - 8, rows[i].max, 8);
        for (size_t k = 0; k < s.min_b.size - 8; k++) {
            assert_int_equal((uint8_t)s.min_b.at[k], (uint8_t)rows[i].min[0] & 0x80 ? 0xff : 0);
            assert_int_equal((uint8_t)s.max_b.at[k], (uint8_t)rows[i].max[0] & 0x80 ? 0xff : 0);
        }
    }
    lb_arena_free(&arena);
}

/* ---------------------------------------------------------------- pieces */

static uint64_t random_state = 1234567;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static void assert_same_bytes(lb_str a, lb_str b, const char *what)
{
    if (!lb_str_equal(a, b))
        fail_msg("%s: %.*s and %.*s", what, (int)a.size, a.at == NULL ? "" : a.at, (int)b.size,
                 b.at == NULL ? "" : b.at);
}

static void assert_same_column(const delim_column *a, const delim_column *b, const delim_values *values)
{
    lb_arena arena;

    lb_arena_init(&arena, NULL);
    lb_colstat x = stats_of(a, values, &arena), y = stats_of(b, values, &arena);
    assert_same_bytes(x.type, y.type, "type");
    assert_int_equal(x.null_count, y.null_count);
    assert_int_equal(x.has_nan_count, y.has_nan_count);
    assert_int_equal(x.nan_count, y.nan_count);
    assert_int_equal(x.has, y.has);
    assert_int_equal(x.min_i, y.min_i);
    assert_int_equal(x.max_i, y.max_i);
    assert_int_equal(x.min_u, y.min_u);
    assert_int_equal(x.max_u, y.max_u);
    assert_memory_equal(&x.min_f, &y.min_f, sizeof x.min_f);
    assert_memory_equal(&x.max_f, &y.max_f, sizeof x.max_f);
    assert_same_bytes(x.min_b, y.min_b, "minimum");
    assert_same_bytes(x.max_b, y.max_b, "maximum");
    assert_int_equal(x.min_exact, y.min_exact);
    assert_int_equal(x.max_exact, y.max_exact);
    lb_arena_free(&arena);
}

static void shuffle(value *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = random_below(i);
        value other = v[k];
        v[k] = v[i - 1];
        v[i - 1] = other;
    }
}

/* In three pieces of random size, each taken in on its own, put together from either side. */
static void check_pieces(const value *v, size_t n, const delim_column *whole, const delim_values *values)
{
    size_t a = random_below(n + 1), b = a + random_below(n - a + 1);
    delim_column first, second, third, left, right;

    add_all(&first, v, a, values);
    add_all(&second, v + a, b - a, values);
    add_all(&third, v + b, n - b, values);
    left = first;
    delim_column_merge(&left, &second);
    delim_column_merge(&left, &third);
    assert_same_column(whole, &left, values);
    right = third;
    delim_column_merge(&second, &right);
    delim_column_merge(&second, &first);
    assert_same_column(whole, &second, values);
}

static void infer_pieces_make_the_whole(void **state)
{
    static const char *const pools[] = {
        "1|-5|0|700|",
        "1|9007199254740992|9007199254740993|-9007199254740993|0.5|-0|NaN|-0.0|0.0|",
        "1|-1|9223372036854775808|18446744073709551615|18446744073709551616|2.5",
        "1.5|2.25|-3|0.001|1000000|-0.5|-.5|0.50|12.|99999999999999999999999999999999999999.5",
        "2020-01-01|1600-01-01|2020-01-01T10:00|2020-01-01T10:00:00.1234567|9999-12-31T00:00|",
        "2020-01-01T10:00Z|2020-01-01T10:00:00.1234567+01|1500-01-01T00:00Z|",
        "10:00:00|10:00:00.1234567|00:00:00.5||@",
        "true|false|1|@||x|",
        "a|b|@||abc| 1|1|\xC3\xA4",
        "NA|1|2|NA|@NA",
    };
    static const char *const words[] = { "NA" };
    value pool[VALUES_MOST], v[VALUES_MOST];
    delim_column whole, shuffled;

    (void)state;
    for (int turn = 0; turn < 30000; turn++) {
        const delim_values values = { .decimal = turn % 2 == 1, .nulls = words, .n_nulls = 1 };
        size_t n_pool = split(pools[random_below(LB_COUNT_OF(pools))], pool), n = random_below(9);
        for (size_t i = 0; i < n; i++)
            v[i] = pool[random_below(n_pool)];
        add_all(&whole, v, n, &values);
        check_pieces(v, n, &whole, &values);
        shuffle(v, n);
        add_all(&shuffled, v, n, &values);
        assert_same_column(&whole, &shuffled, &values);
    }
}

/* ---------------------------------------------------------------- value by value */

/* The rules without any short way: the oracle of delim_column_add. */
static void plain_add_float(delim_column *c, const lb_number *n)
{
    bool first = c->seen[DELIM_KIND_FLOAT]++ == c->nans;

    c->nans += isnan(n->f) != 0;
    if (!isnan(n->f) && (first || delim_less(n->f, c->min_f)))
        c->min_f = n->f;
    if (!isnan(n->f) && (first || delim_less(c->max_f, n->f)))
        c->max_f = n->f;
}

#define PLAIN_WIDEN(c, kind, min, max, value)                       \
    do {                                                            \
        bool none = (c)->seen[kind]++ == 0;                         \
        (c)->min = none || (value) < (c)->min ? (value) : (c)->min; \
        (c)->max = none || (value) > (c)->max ? (value) : (c)->max; \
    } while (0)

static bool instant_below(struct delim_instant a, struct delim_instant b)
{
    return a.seconds < b.seconds || (a.seconds == b.seconds && a.nanos < b.nanos);
}

static delim_kind plain_add_instant(delim_column *c, int place, const lb_datetime *t)
{
    struct delim_instant at = { t->seconds, t->nanos };
    bool none = c->seen[DELIM_KIND_TIME + (delim_kind)place]++ == 0;

    c->min_at[place] = none || instant_below(at, c->min_at[place]) ? at : c->min_at[place];
    c->max_at[place] = none || instant_below(c->max_at[place], at) ? at : c->max_at[place];
    c->nanos[place] |= t->fraction_digits > 6;
    return DELIM_KIND_TIME + (delim_kind)place;
}

static bool plain_add_datetime(delim_column *c, lb_str v)
{
    lb_datetime t;

    switch (lb_datetime_parse(v.at, v.size, &t)) {
    case LB_DATE:
        PLAIN_WIDEN(c, DELIM_KIND_DATE, min_date, max_date, t.days);
        return true;
    case LB_TIME:
        return plain_add_instant(c, 0, &t) == DELIM_KIND_TIME;
    case LB_TIMESTAMP:
        return plain_add_instant(c, 1, &t) == DELIM_KIND_TIMESTAMP;
    case LB_TIMESTAMP_UTC:
        return plain_add_instant(c, 2, &t) == DELIM_KIND_UTC;
    default:
        return false;
    }
}

static void plain_add_value(delim_column *c, lb_str v)
{
    lb_number n;
    uint8_t yes = lb_str_is_nocase(v, "true");

    if (yes || lb_str_is_nocase(v, "false")) {
        PLAIN_WIDEN(c, DELIM_KIND_BOOL, min_bool, max_bool, yes);
        return;
    }
    if (plain_add_datetime(c, v))
        return;
    switch (lb_number_parse(v.at, v.size, &n)) {
    case LB_NUMBER_INT:
        PLAIN_WIDEN(c, DELIM_KIND_INT, min_i, max_i, n.i);
        break;
    case LB_NUMBER_UINT:
        PLAIN_WIDEN(c, DELIM_KIND_UINT, min_u, max_u, n.u);
        break;
    case LB_NUMBER_BIG:
        c->seen[DELIM_KIND_BIG]++;
        break;
    case LB_NUMBER_FLOAT:
        plain_add_float(c, &n);
        break;
    case LB_NOT_A_NUMBER:
        c->seen[DELIM_KIND_TEXT]++;
        break;
    }
}

/* Settled is a column as soon as the values of two of its kinds meet in text only. */
static bool plain_is_settled(const delim_column *c)
{
    const uint64_t *s = c->seen;
    bool numbers = s[DELIM_KIND_INT] != 0 || s[DELIM_KIND_UINT] != 0 || s[DELIM_KIND_FLOAT] != 0;
    bool days = s[DELIM_KIND_DATE] != 0 || s[DELIM_KIND_TIMESTAMP] != 0;
    int sorts = numbers + days + (s[DELIM_KIND_BOOL] != 0) + (s[DELIM_KIND_BIG] != 0) + (s[DELIM_KIND_TIME] != 0) +
                (s[DELIM_KIND_UTC] != 0);

    return s[DELIM_KIND_TEXT] != 0 || sorts > 1 || (s[DELIM_KIND_UINT] != 0 && s[DELIM_KIND_FLOAT] != 0);
}

static void plain_add(delim_column *c, const value *v)
{
    lb_str text = { v->at, v->size };

    if (v->size == 0 && !v->quoted) {
        c->nulls++;
        return;
    }
    lb_text_bounds_add(&c->text, v->at, v->size);
    if (v->size == 0)
        c->quoted_empty++;
    else if (c->settled)
        c->seen[DELIM_KIND_TEXT]++;
    else
        plain_add_value(c, delim_trim(text, v->quoted));
    c->settled = plain_is_settled(c);
}

static size_t print_any(char *out, size_t cap, unsigned sort)
{
    uint64_t r = random_below(UINT64_MAX), wide = r << 11 ^ random_below(2048);
    int64_t i = (int64_t)wide >> random_below(64);
    double f = (double)(int64_t)(wide >> random_below(40)) / (double)(1 + random_below(100000));
    int n;

    switch (sort) {
    case 0:
        n = snprintf(out, cap, "%lld", (long long)i);
        break;
    case 1:
        n = snprintf(out, cap, "%.*f", (int)random_below(10), f / (double)(1 + random_below(UINT32_MAX)));
        break;
    case 2:
        n = snprintf(out, cap, "%.*g", (int)random_below(18), f);
        break;
    case 3:
        n = snprintf(out, cap, "%04u-%02u-%02u", (unsigned)random_below(3000), (unsigned)random_below(13),
                     (unsigned)random_below(32));
        break;
    case 4:
        n = snprintf(out, cap, "2020-0%u-0%uT%02u:%02u:%02u.%u%s", (unsigned)random_below(10),
                     (unsigned)random_below(10), (unsigned)random_below(25), (unsigned)random_below(60),
                     (unsigned)random_below(60), (unsigned)(r % 10000000), r & 1 ? "" : "Z");
        break;
    case 5:
        n = snprintf(out, cap, "%02u:%02u:%02u", (unsigned)random_below(25), (unsigned)random_below(60),
                     (unsigned)random_below(60));
        break;
    case 6:
        n = snprintf(out, cap, "%s",
                     ((const char *[]){ "true", "false", "TRUE", "False", "tRUE", "trve", "false " })[r % 7]);
        break;
    case 7:
        n = snprintf(out, cap, "%llu", (unsigned long long)wide);
        break;
    case 9:
        n = snprintf(out, cap, "%04u-%02u-%02u%c%02u:%02u:%02u", (unsigned)(1 + random_below(3000)),
                     (unsigned)(1 + random_below(12)), (unsigned)(1 + random_below(28)), "TTTTTTT "[random_below(8)],
                     (unsigned)random_below(24), (unsigned)random_below(60), (unsigned)random_below(60));
        break;
    case 10:
        n = snprintf(out, cap, "%lld", (long long)(i >> 34));
        break;
    case 11:
        n = (int)lb_print_date((int64_t)random_below(800000) - 600000, out);
        break;
    case 12:
        n = snprintf(out, cap, "%.*f", (int)random_below(5), (double)(i >> 34) / 1000);
        break;
    default:
        n = snprintf(out, cap, "%s",
                     ((const char *[]){ "", "-", "abc", " 12", "-0", "nan", "-inf", "1e5 ", "0.0", "-0.0" })[r % 10]);
        break;
    }
    return (size_t)n;
}

/* Mostly values of one sort, some of which lack a byte or have a wrong one. */
static value random_value(char *out, size_t cap, unsigned sort, uint64_t strange)
{
    bool odd = random_below(strange) == 0;
    value v = { out, print_any(out, cap, odd ? (unsigned)random_below(9) : sort), random_below(20) == 0 };

    if (odd && v.size != 0 && random_below(2) == 0)
        out[sort == 9 && v.size > 10 && random_below(2) == 0 ? 10 : random_below(v.size)] =
            "0123456789.-+eE: T"[random_below(18)];
    if (odd && random_below(4) == 0)
        v.size = random_below(v.size + 1);
    return v;
}

static void assert_same_state(const delim_column *a, const delim_column *b)
{
    lb_buf x, y;
    lb_error err = LB_ERROR_INIT;

    lb_buf_init(&x, NULL);
    lb_buf_init(&y, NULL);
    assert_int_equal(delim_state_add(&x, a, &err), LB_OK);
    assert_int_equal(delim_state_add(&y, b, &err), LB_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    lb_buf_free(&x);
    lb_buf_free(&y);
}

static void infer_short_ways_change_nothing(void **state)
{
    (void)state;
    for (int turn = 0; turn < 40000; turn++) {
        const delim_values values = { .decimal = false };
        const uint64_t stranges[] = { 2, 20, 200, UINT64_MAX };
        uint64_t strange = stranges[random_below(4)];
        unsigned sort = (unsigned)random_below(9);
        delim_column plain, c;
        delim_column_init(&plain);
        delim_column_init(&c);
        for (int i = 0; i < 40; i++) {
            char text[400];
            value v = random_value(text, sizeof text, sort, strange);
            plain_add(&plain, &v);
            add(&c, &v, &values, true);
        }
        assert_same_state(&plain, &c);
    }
}

/* ---------------------------------------------------------------- many values at a time */

#define MANY_ROWS 200
#define MANY_WIDTH 2

/* Values laid out as the fields of records, with other values beside them, in memory of just the size that is promised. */
typedef struct many {
    uint8_t *data;
    uint32_t begin[MANY_ROWS * MANY_WIDTH], size[MANY_ROWS * MANY_WIDTH];
    delim_cells cells;
} many;

static void many_put(many *m, size_t *at, size_t cell, const value *v)
{
    m->begin[cell] = (uint32_t)*at;
    m->size[cell] = (uint32_t)v->size | (v->quoted ? DELIM_CELL_QUOTED : 0);
    if (v->size != 0)
        memcpy(m->data + *at, v->at, v->size);
    *at += v->size + 1;
}

/* A quoted value is at times written with its quotes and doubled ones. */
static void many_put_dirty(many *m, size_t *at, size_t cell, const value *v)
{
    const size_t from = *at;

    m->data[(*at)++] = '"';
    for (size_t i = 0; i < v->size; i++) {
        if (v->at[i] == '"')
            m->data[(*at)++] = '"';
        m->data[(*at)++] = (uint8_t)v->at[i];
    }
    m->data[(*at)++] = '"';
    m->begin[cell] = (uint32_t)from;
    m->size[cell] = (uint32_t)(*at - from) | DELIM_CELL_QUOTED | DELIM_CELL_DIRTY;
    *at += 1;
}

static void many_add(many *m, size_t rows, size_t column, const delim_values *values, bool stats, delim_column *c)
{
    static const delim_dialect d = { .delimiter = { ',' }, .delimiter_size = 1, .quote = '"', .escape = -1 };
    lb_buf scratch;
    delim_typing typing;
    lb_error err = LB_ERROR_INIT;

    m->cells = (delim_cells){ .data = m->data, .width = MANY_WIDTH, .rows = rows, .begin = m->begin, .size = m->size };
    lb_buf_init(&scratch, NULL);
    delim_typing_init(&typing, &d, values, &scratch);
    assert_int_equal(delim_typing_add(&typing, &m->cells, column, c, stats, &err), LB_OK);
    lb_buf_free(&scratch);
}

/* As `add` does one by one. */
static void check_many(unsigned sort, uint64_t strange, const delim_values *values, bool stats)
{
    static char texts[MANY_ROWS * MANY_WIDTH][400];
    static many m;
    delim_column one[MANY_WIDTH], c[MANY_WIDTH];
    const size_t rows = 1 + random_below(MANY_ROWS);
    const uint64_t quoted = 1 + random_below(30);

    for (size_t k = 0; k < MANY_WIDTH; k++) {
        delim_column_init(&one[k]);
        delim_column_init(&c[k]);
    }
    for (int batch = 0; batch < 2; batch++) {
        size_t at = 0;
        m.data = malloc((size_t)MANY_ROWS * MANY_WIDTH * 810);
        assert_non_null(m.data);
        for (size_t i = 0; i < rows * MANY_WIDTH; i++) {
            value v = random_value(texts[i], sizeof texts[i], sort, strange);
            v.quoted = random_below(quoted) == 0;
            if (v.quoted && random_below(4) == 0)
                many_put_dirty(&m, &at, i, &v);
            else
                many_put(&m, &at, i, &v);
            add(&one[i % MANY_WIDTH], &v, values, stats);
        }
        m.data = realloc(m.data, at + DELIM_VALUE_PADDING);
        assert_non_null(m.data);
        for (size_t i = 0; i < DELIM_VALUE_PADDING; i++)
            m.data[at + i] = (uint8_t) "7.-:T \xff\0"[random_below(8)];
        for (size_t k = 0; k < MANY_WIDTH; k++)
            many_add(&m, rows, k, values, stats, &c[k]);
        free(m.data);
    }
    for (size_t k = 0; k < MANY_WIDTH; k++) {
        c[k].nulls = one[k].nulls; /* those are counted by rows */
        assert_same_state(&one[k], &c[k]);
    }
}

/* Values of a column that are all the same, but for one. */
static const struct {
    const char *all, *one;
} nearly[] = {
    { "2024-01-01T00:00:00", "2024-01-01x00:00:00" },
    { "2024-01-01T00:00:00", "2024-01-01 00:00:00" },
    { "2024-01-01T00:00:00", "2024-01-01T24:00:00" },
    { "2024-01-01T00:00:00", "2024-01-01T23:60:00" },
    { "2024-01-01T00:00:00", "2024-01-01T23:59:60" },
    { "2024-01-01T00:00:00", "2024-01-01T23:59:59" },
    { "2024-01-01T00:00:00", "2024-01-01T00:00:00.5" },
    { "2024-01-01 00:00:00", "2023-02-29 00:00:00" },
    { "2024-01-01 00:00:00", "2024-02-29 00:00:00" },
    { "2024-02-29", "2023-02-29" },
    { "2024-02-29", "2024-02-30" },
    { "2024-02-29", "1900-02-29" },
    { "2024-02-29", "2000-02-29" },
    { "2024-02-29", "2024-04-31" },
    { "2024-02-29", "2024-12-31" },
    { "2024-02-29", "2024-13-01" },
    { "2024-02-29", "2024-00-01" },
    { "2024-02-29", "2024-01-00" },
    { "2024-02-29", "0000-01-01" },
    { "2024-02-29", "0001-01-01" },
    { "2024-02-29", "2024/02/29" },
    { "2024-02-29", "2024-02-2:" },
    { "1.5", "00.5" },
    { "1.5", "01.5" },
    { "1.5", "0.5" },
    { "1.5", "-0.5" },
    { "1.5", "." },
    { "1.5", "-." },
    { "1.5", "-.5" },
    { "1.5", "5." },
    { "1.5", "1.5.5" },
    { "1.5", "0.0" },
    { "-0.5", "-0.0" },
    { "0.0", "-0.0" },
    { "-0.0", "0.0" },
    { "1.5", "2" },
    { "1.5", "123456789012345.6" },
    { "1.5", "12345678901234.56" },
    { "1.5", "-12345678901234.5" },
    { "1.5", "0.12345678901234567" },
    { "1.5", "1e5" },
    { "1.5", "1.x" },
    { "12", "-0" },
    { "12", "0" },
    { "12", "-" },
    { "12", "-1" },
    { "12", "012" },
    { "12", "1234567890123456" },
    { "12", "-1234567890123456" },
    { "12", "12345678901234567" },
    { "12", "9223372036854775808" },
    { "12", "1a" },
    { "12", "a1" },
    { "12", "1:" },
    { "12", "1/" },
    { "12", "1.5" },
    { "true", "truE" },
    { "true", "fals" },
    { "true", "truex" },
    { "true", "FALSE" },
    { "12:00:00", "11:59:59" },
    { "12:00:00", "12:00:00.123456789" },
    { "2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01" },
    { "abcdefghijklmno", "abcdefghijklmnop" },
    { "abcdefghijklmnop", "abcdefghijklmno" },
    { "abcdefghijklmnop", "abcdefghijklmnoq" },
    { "abcdefghijklmnoq", "abcdefghijklmnop" },
    { "abcdefghijklmnopq", "abcdefghijklmnopp" },
    { "abcdefghijklmnopq", "abcdefghijklmnopr" },
    { "x", "x\1" },
    { "x\1", "x" },
    { "x", "" },
};

static void infer_many_but_one(void **state)
{
    static many m;
    const delim_values values = { .text = false };

    (void)state;
    for (size_t k = 0; k < LB_COUNT_OF(nearly) * 2 * 70; k++) {
        const bool nul = k % 2 != 0; /* a byte of 1 stands for a NUL */
        const size_t at = k / 2 % 70, i = k / 140, rows = 140;
        char text_of[64];
        delim_column one, c;
        size_t end = 0;
        delim_column_init(&one);
        delim_column_init(&c);
        m.data = calloc(rows * MANY_WIDTH * 64 + DELIM_VALUE_PADDING, 1);
        assert_non_null(m.data);
        for (size_t row = 0; row < rows * MANY_WIDTH; row++) {
            const char *text = row == at * MANY_WIDTH ? nearly[i].one : nearly[i].all;
            value v = { text_of, strlen(text), false };
            memcpy(text_of, text, v.size);
            for (size_t j = 0; nul && j < v.size; j++)
                text_of[j] = (char)(text_of[j] == 1 ? 0 : text_of[j]);
            many_put(&m, &end, row, &v);
            if (row % MANY_WIDTH == 0)
                add(&one, &v, &values, true);
        }
        many_add(&m, rows, 0, &values, true, &c);
        free(m.data);
        c.nulls = one.nulls;
        assert_same_state(&one, &c);
    }
}

static void infer_many_at_a_time(void **state)
{
    static const char *const words[] = { "abc", "-", "5", "0.0" };

    (void)state;
    for (int turn = 0; turn < 6000; turn++) {
        const uint64_t stranges[] = { 2, 20, 200, UINT64_MAX };
        const delim_values values = { .decimal = random_below(8) == 0,
                                      .text = random_below(8) == 0,
                                      .nulls = words,
                                      .n_nulls = random_below(4) == 0 ? 4 : 0 };
        check_many((unsigned)random_below(13), stranges[random_below(4)], &values, random_below(8) != 0);
    }
}

/* Decimal bounds, also those that a double cannot tell apart: as integers of the last place. */
static void infer_decimals_are_exact(void **state)
{
    lb_arena arena;

    (void)state;
    for (int turn = 0; turn < 20000; turn++) {
        const delim_values values = { .decimal = true };
        int64_t base = (int64_t)(random_below(UINT64_MAX) << 8) >> random_below(60), min = INT64_MAX, max = INT64_MIN;
        delim_column c;
        lb_str low, high;
        lb_error err = LB_ERROR_INIT;
        delim_column_init(&c);
        lb_arena_init(&arena, NULL);
        for (int i = 0; i < 30; i++) {
            int64_t n = base / 4 + (int64_t)random_below(i % 2 == 0 ? 100 : 10000) - 50;
            char text[64];
            size_t size = lb_print_decimal(lb_i256_of(n), 3, text);
            value v = { text, size, false };
            add(&c, &v, &values, true);
            min = LB_MIN(min, n);
            max = LB_MAX(max, n);
        }
        lb_colstat s = stats_of(&c, &values, &arena);
        assert_int_equal(delim_decimal_bytes(lb_i256_of(min), 38, &arena, &low, &err), LB_OK);
        assert_int_equal(delim_decimal_bytes(lb_i256_of(max), 38, &arena, &high, &err), LB_OK);
        assert_true(lb_str_equal(s.min_b, low) && lb_str_equal(s.max_b, high));
        lb_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infer_joins),
        cmocka_unit_test(infer_null_words),
        cmocka_unit_test(infer_integer_bounds),
        cmocka_unit_test(infer_other_bounds),
        cmocka_unit_test(infer_float_bounds),
        cmocka_unit_test(infer_decimal_bounds),
        cmocka_unit_test(infer_pieces_make_the_whole),
        cmocka_unit_test(infer_short_ways_change_nothing),
        cmocka_unit_test(infer_many_at_a_time),
        cmocka_unit_test(infer_many_but_one),
        cmocka_unit_test(infer_decimals_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
