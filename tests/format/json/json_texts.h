/* Random JSON files: for the tests beside this file. */
#ifndef TESTS_JSON_TEXTS_H
#define TESTS_JSON_TEXTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

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

#endif
