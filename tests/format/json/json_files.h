/* Random JSON files, and surveys of them that can be compared: for the tests beside this file. */
#ifndef TESTS_JSON_FILES_H
#define TESTS_JSON_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/json/json_handlers.h"
#include "format/json/json_rows.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

/* ---------------------------------------------------------------- files */

#define FILE_MOST ((size_t)65536)

/* How a file is written. */
typedef struct style {
    bool array;
    unsigned blanks;     /* one in so many places has some; 0: none */
    unsigned equal_keys; /* one object in so many has a key twice; 0: none */
    unsigned odd;        /* one row in so many is no object; 0: none */
    unsigned kinds[6];   /* what the columns hold */
} style;

typedef struct text {
    char *at;
    size_t size;
    style s;
} text;

static void put(text *t, const char *p)
{
    const size_t size = strlen(p);

    assert_true(t->size + size < FILE_MOST);
    memcpy(t->at + t->size, p, size);
    t->size += size;
}

static void put_gap(text *t)
{
    static const char *const gaps[] = { " ", "\n", "\r\n", "\r", "\t", "  \n\n ", "                        " };

    if (t->s.blanks != 0 && random_below(t->s.blanks) == 0)
        put(t, gaps[random_below(LB_COUNT_OF(gaps))]);
}

static const char *const scalars[][8] = {
    { "1", "-20", "300", "null", "0", "9223372036854775807", "7", "42" },
    { "1.5", "-2", "1e5", "-0", "null", "0.25", "7", "123456789012345678" },
    { "18446744073709551615", "0", "5", "null", "9223372036854775808", "1", "2", "3" },
    { "true", "false", "null", "true", "false", "true", "false", "true" },
    { "\"x\"", "\"\"", "\"two words\"", "\"\\u00fc\\ud83d\\ude00\"", "\"},{\\\"id\\\":\"", "null", "\"\xE2\x82\xAC\"",
      "\"a longer text that does not fit into one block of 64 bytes, for it goes on and on\"" },
    { "1", "\"1\"", "true", "null", "2.5", "\"x\"", "[]", "{}" },
    { "null", "null", "null", "null", "null", "null", "null", "null" },
    { "1e999", "7", "100000000000000000000", "1", "2", "3", "null", "-1" },
};

static void put_value(text *t, unsigned kind, unsigned depth);

static void put_members(text *t, const unsigned *kinds, size_t n, unsigned depth)
{
    static const char *const keys[] = { "\"id\"", "\"b\"", "\"a longer key\"", "\"d\\u0065\"", "\"\"", "\"f\"" };
    size_t order = random_below(8) == 0 ? random_below(n + 1) : 0, count = 0;

    put(t, "{");
    for (size_t i = 0; i < n; i++) {
        const size_t k = (i + order) % n;
        const unsigned times = t->s.equal_keys != 0 && random_below(t->s.equal_keys) == 0 ? 2 : 1;
        for (unsigned j = 0; j < times && random_below(8) != 0; j++) {
            put_gap(t);
            if (count++ != 0)
                put(t, ",");
            put_gap(t);
            put(t, keys[k]);
            put_gap(t);
            put(t, ":");
            put_gap(t);
            put_value(t, j == 0 && times == 2 ? 5 : kinds[k], depth + 1);
        }
    }
    put_gap(t);
    put(t, "}");
}

static void put_value(text *t, unsigned kind, unsigned depth)
{
    static const unsigned inner[] = { 0, 4, 1 };

    if (kind < LB_COUNT_OF(scalars) || depth > 3) {
        put(t, scalars[kind % LB_COUNT_OF(scalars)][random_below(8)]);
    } else if (kind == LB_COUNT_OF(scalars)) {
        put_members(t, inner, 3, depth);
    } else {
        size_t n = random_below(4);
        put(t, "[");
        for (size_t i = 0; i < n; i++) {
            put(t, i != 0 ? "," : "");
            put_gap(t);
            put_value(t, kind == LB_COUNT_OF(scalars) + 1 ? 1 : LB_COUNT_OF(scalars), depth + 1);
        }
        put(t, "]");
    }
}

static void put_row(text *t, size_t i)
{
    static const char *const ends[] = { "\n", "\n", "\n", "\r\n", "\r", "", "\n\n\n" };

    if (t->s.array && i != 0)
        put(t, random_below(3) == 0 ? ",\n" : ",");
    put_gap(t);
    if (t->s.odd != 0 && random_below(t->s.odd) == 0)
        put(t, scalars[4][random_below(5)]);
    else
        put_members(t, t->s.kinds, 6, 0);
    if (!t->s.array)
        put(t, ends[random_below(LB_COUNT_OF(ends))]);
}

/* A file of about `most` bytes. */
static void random_text(text *t, size_t most)
{
    t->size = 0;
    t->s = (style){ .array = random_below(2) == 0,
                    .blanks = random_below(3) == 0 ? 1 + (unsigned)random_below(9) : 0,
                    .equal_keys = random_below(6) == 0 ? 20 : 0,
                    .odd = random_below(8) == 0 ? 50 : 0 };
    for (size_t i = 0; i < 6; i++)
        t->s.kinds[i] = (unsigned)random_below(LB_COUNT_OF(scalars) + 3);
    if (random_below(10) == 0)
        put(t, "\xEF\xBB\xBF");
    if (t->s.array)
        put(t, "[");
    for (size_t i = 0; t->size < most; i++)
        put_row(t, i);
    if (t->s.array)
        put(t, random_below(2) == 0 ? "]" : "]\n \n");
}

/* ---------------------------------------------------------------- surveys */

typedef struct surveyed {
    lb_arena arena;
    lb_entry entry;
    lb_status status;
    lb_error err;
    lb_buf tapped;
} surveyed;

static void surveyed_tap(void *user, const uint8_t *bytes, size_t size)
{
    surveyed *s = user;
    assert_int_equal(lb_buf_append(&s->tapped, bytes, size, NULL), LB_OK);
}

static lb_context *new_context(unsigned threads)
{
    const lb_context_options options = { .struct_size = sizeof options, .threads = threads };
    lb_context *cx;

    assert_int_equal(lb_context_new(&options, &cx, NULL), LB_OK);
    return cx;
}

/* Survey a store; `known`: as what it has grown from. */
static void survey_store(lb_store *store, const lb_format *format, unsigned threads, const lb_read_options *o,
                         lb_survey_options how, const lb_entry *known, surveyed *out)
{
    lb_context *cx = new_context(threads);
    lb_reader *reader;
    bool done = true;

    *out = (surveyed){ .err = LB_ERROR_INIT };
    lb_arena_init(&out->arena, NULL);
    lb_buf_init(&out->tapped, NULL);
    how.tap = surveyed_tap;
    how.tap_user = out;
    assert_int_equal(format->open(format, cx, store, o, known, &reader, &out->err), LB_OK);
    if (known == NULL)
        out->status = format->survey(reader, &how, &out->arena, &out->entry, &out->err);
    else
        out->status = format->extend(reader, &how, &out->arena, &out->entry, &done, &out->err);
    if (!done)
        out->status = LB_UNSUPPORTED;
    format->close(reader);
    assert_int_equal(cx->helping, 0);
    assert_int_equal(cx->budget.used, 0);
    lb_context_free(cx);
}

static void surveyed_free(surveyed *s)
{
    lb_arena_free(&s->arena);
    lb_buf_free(&s->tapped);
}

static void same_str(lb_str a, lb_str b)
{
    assert_int_equal(a.size, b.size);
    if (a.size != 0)
        assert_memory_equal(a.at, b.at, a.size);
}

static void same_stats(const lb_colstats *a, const lb_colstats *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const lb_colstat *x = &a->items[i], *y = &b->items[i];
        same_str(x->name, y->name);
        same_str(x->type, y->type);
        assert_int_equal(x->null_count, y->null_count);
        assert_int_equal(x->has, y->has);
        assert_true(x->min_i == y->min_i && x->max_i == y->max_i && x->min_u == y->min_u && x->max_u == y->max_u);
        assert_memory_equal(&x->min_f, &y->min_f, sizeof x->min_f);
        assert_memory_equal(&x->max_f, &y->max_f, sizeof x->max_f);
        same_str(x->min_b, y->min_b);
        same_str(x->max_b, y->max_b);
    }
}

static void same_blocks(const lb_blocks *x, const lb_blocks *y)
{
    assert_int_equal(x->count, y->count);
    for (uint64_t i = 0; i < x->count; i++) {
        assert_int_equal(x->first_row[i], y->first_row[i]);
        assert_int_equal(x->row_count[i], y->row_count[i]);
        assert_int_equal(x->first_byte[i], y->first_byte[i]);
        assert_int_equal(x->total_byte_size[i], y->total_byte_size[i]);
        assert_int_equal(x->first_line[i], y->first_line[i]);
        assert_int_equal(x->start_hash[i], y->start_hash[i]);
    }
}

static void same_survey(const surveyed *a, const surveyed *b)
{
    if (a->status != b->status)
        fail_msg("status %d (%s) and %d (%s)", a->status, a->err.message, b->status, b->err.message);
    assert_string_equal(a->err.message, b->err.message);
    assert_int_equal(a->err.offset, b->err.offset);
    assert_int_equal(a->err.row, b->err.row);
    assert_int_equal(a->err.line, b->err.line);
    if (a->status != LB_OK)
        return;
    assert_int_equal(a->entry.total_rows, b->entry.total_rows);
    same_str(a->entry.locator, b->entry.locator);
    same_blocks(&a->entry.blocks, &b->entry.blocks);
    same_str(a->entry.arrow_schema, b->entry.arrow_schema);
    same_stats(&a->entry.columns, &b->entry.columns);
    same_stats(&a->entry.block_columns, &b->entry.block_columns);
    same_str(a->entry.open_state, b->entry.open_state);
}

#endif
