/* For formats that can go on with a file that grew: whatever the bytes are, what is made of a beginning and then of the rest is
 * what is made of the whole. */
#ifndef LB_FUZZ_GROWN_H
#define LB_FUZZ_GROWN_H

#include <math.h>
#include <stdlib.h>

#include "format/format.h"

#define GROWN_REQUIRE(truth) \
    do {                     \
        if (!(truth))        \
            abort();         \
    } while (0)

static inline bool grown_same_text(lb_str a, lb_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

/* Of zeros the signs too; bounds are never NaN. */
static inline bool grown_same_float(double a, double b)
{
    return a == b && (signbit(a) != 0) == (signbit(b) != 0);
}

static inline void grown_same_stats(const lb_colstats *a, const lb_colstats *b)
{
    GROWN_REQUIRE(a->count == b->count);
    for (uint64_t i = 0; i < a->count; i++) {
        const lb_colstat *x = &a->items[i], *y = &b->items[i];
        GROWN_REQUIRE(grown_same_text(x->name, y->name) && grown_same_text(x->type, y->type));
        GROWN_REQUIRE(x->null_count == y->null_count && x->nan_count == y->nan_count && x->has == y->has);
        GROWN_REQUIRE((x->has & LB_MIN_I) == 0 || (x->min_i == y->min_i && x->max_i == y->max_i));
        GROWN_REQUIRE((x->has & LB_MIN_U) == 0 || (x->min_u == y->min_u && x->max_u == y->max_u));
        GROWN_REQUIRE((x->has & LB_MIN_F) == 0 ||
                      (grown_same_float(x->min_f, y->min_f) && grown_same_float(x->max_f, y->max_f)));
        GROWN_REQUIRE((x->has & LB_MIN_B) == 0 || grown_same_text(x->min_b, y->min_b));
        GROWN_REQUIRE((x->has & LB_MAX_B) == 0 || grown_same_text(x->max_b, y->max_b));
        GROWN_REQUIRE(x->min_exact == y->min_exact && x->max_exact == y->max_exact);
    }
}

static inline void grown_same(const lb_entry *a, const lb_entry *b)
{
    const size_t size = (size_t)a->blocks.count * sizeof(uint64_t);

    GROWN_REQUIRE(a->total_rows == b->total_rows && a->blocks.count == b->blocks.count);
    GROWN_REQUIRE(size == 0 || (memcmp(a->blocks.row_count, b->blocks.row_count, size) == 0 &&
                                memcmp(a->blocks.first_byte, b->blocks.first_byte, size) == 0 &&
                                memcmp(a->blocks.total_byte_size, b->blocks.total_byte_size, size) == 0 &&
                                memcmp(a->blocks.start_hash, b->blocks.start_hash, size) == 0));
    GROWN_REQUIRE(grown_same_text(a->open_state, b->open_state) && grown_same_text(a->arrow_schema, b->arrow_schema));
    grown_same_stats(&a->columns, &b->columns);
}

/* `whole`: the entry of all bytes, surveyed with the same options. */
static inline void grown_check(const lb_format *format, lb_context *cx, const uint8_t *data, size_t size, size_t cut,
                               const lb_survey_options *options, const lb_entry *whole)
{
    lb_store *some = NULL, *all = NULL;
    lb_reader *before = NULL, *after = NULL;
    lb_entry known = { .size_bytes = cut }, grown = { .size_bytes = size };
    bool done = false;
    lb_arena arena;

    lb_arena_init(&arena, &cx->budget);
    if (lb_store_open_memory(data, cut, &some, NULL) == LB_OK &&
        lb_store_open_memory(data, size, &all, NULL) == LB_OK &&
        format->open(format, cx, some, NULL, NULL, &before, NULL) == LB_OK &&
        format->survey(before, options, &arena, &known, NULL) == LB_OK &&
        format->open(format, cx, all, NULL, &known, &after, NULL) == LB_OK &&
        format->extend(after, options, &arena, &grown, &done, NULL) == LB_OK && done)
        grown_same(&grown, whole);
    if (after != NULL)
        format->close(after);
    if (before != NULL)
        format->close(before);
    lb_store_close(all);
    lb_store_close(some);
    lb_arena_free(&arena);
}

#endif
