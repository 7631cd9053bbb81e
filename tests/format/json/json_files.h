/* Surveys of JSON files that can be compared: for the tests beside this file. */
#ifndef TESTS_JSON_FILES_H
#define TESTS_JSON_FILES_H

#include "format/checked_sums.h"
#include "format/json/json_handlers.h"
#include "format/json/json_rows.h"
#include "format/json/json_texts.h"

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

static inline void surveyed_give(void *user, const uint8_t *bytes, size_t size, const uint8_t *sums)
{
    const surveyed *s = user;

    assert_int_equal(s->tapped.size % CHECKED_RANGE, 0);
    assert_true(checked_right(bytes, size, sums));
    surveyed_tap(user, bytes, size);
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
    const lb_sums sums = checked_sums(surveyed_give);
    lb_context *cx = new_context(threads);
    lb_reader *reader;
    bool done = true;

    *out = (surveyed){ .err = LB_ERROR_INIT };
    lb_arena_init(&out->arena, NULL);
    lb_buf_init(&out->tapped, NULL);
    how.tap = surveyed_tap;
    how.tap_user = out;
    how.sums = threads > 1 ? &sums : NULL;
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
