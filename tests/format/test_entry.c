/* Blocks are built, found and copied; what is copied does not hang on where it came from. */
#include "format/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static lb_blocks build(lb_arena *arena, const lb_block *blocks, size_t count)
{
    lb_block_builder b;
    lb_blocks out;
    lb_block_builder_init(&b, NULL);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lb_block_builder_add(&b, &blocks[i], NULL), LB_OK);
    assert_int_equal(lb_block_builder_finish(&b, arena, &out, NULL), LB_OK);
    return out;
}

static void building(void **state)
{
    (void)state;
    static const lb_block blocks[] = {
        { 0, 10, 5, 100, 90, UINT64_MAX, 7 },
        { 10, 3, 105, 20, 18, UINT64_MAX, UINT64_MAX },
    };
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    lb_blocks b = build(&arena, blocks, 2);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.first_row[1], 10);
    assert_int_equal(b.row_count[1], 3);
    assert_int_equal(b.first_byte[1], 105);
    assert_int_equal(b.total_byte_size[1], 20);
    assert_int_equal(b.compressed_size[1], 18);
    assert_null(b.first_line); /* no block has one */
    assert_int_equal(b.start_hash[0], 7);
    b = build(&arena, NULL, 0);
    assert_int_equal(b.count, 0);
    assert_int_equal(lb_blocks_find(&b, 0), UINT64_MAX);
    lb_arena_free(&arena);
}

static void building_out_of_budget(void **state)
{
    (void)state;
    lb_budget budget = { .limit = 3000 };
    lb_block_builder b;
    lb_status status = LB_OK;
    lb_block_builder_init(&b, &budget);
    for (uint64_t i = 0; status == LB_OK && i < 1000; i++)
        status = lb_block_builder_add(&b, &(lb_block){ .first_row = i, .row_count = 1 }, NULL);
    assert_int_equal(status, LB_BUDGET);
    lb_block_builder_free(&b);
    assert_int_equal(budget.used, 0);
}

/* As many bytes as the blocks of the rows have and 4 KiB more; 0 where that is much, or not to be believed. */
static void chunks(void **state)
{
    (void)state;
    static const lb_block blocks[] = {
        { 0, 10, 5, 100, 0, UINT64_MAX, UINT64_MAX },      { 10, 3, 105, 20, 0, UINT64_MAX, UINT64_MAX },
        { 13, 5, 125, 262144, 0, UINT64_MAX, UINT64_MAX }, { 18, 5, 262269, UINT64_MAX, 0, UINT64_MAX, UINT64_MAX },
        { 23, 5, 50, 10, 0, UINT64_MAX, UINT64_MAX },
    };
    static const struct {
        uint64_t first, last;
        size_t bytes;
    } cases[] = {
        { 0, 0, 4196 },
        { 9, 9, 4196 },
        { 0, 10, 4216 },
        { 12, 12, 4116 },
        { 13, 17, 262144 + 4096 },
        { 12, 13, 0 },
        { 13, 18, 0 },
        { 18, 18, 0 },
        { 12, 23, 0 },
        { 23, 27, 4106 },
        { 28, 28, 0 },
        { 0, 28, 0 },
        { 28, 0, 0 },
        { UINT64_MAX, UINT64_MAX, 0 },
    };
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    lb_blocks b = build(&arena, blocks, LB_COUNT_OF(blocks));
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++)
        assert_int_equal(lb_blocks_chunk(&b, cases[i].first, cases[i].last), cases[i].bytes);
    b.first_byte = NULL;
    assert_int_equal(lb_blocks_chunk(&b, 0, 0), 0);
    lb_arena_free(&arena);
}

/* Every row of blocks of random sizes, empty ones between, against a plain search. */
static void finding(void **state)
{
    (void)state;
    unsigned random = 7;
    for (int round = 0; round < 50; round++) {
        lb_block blocks[40] = { 0 };
        uint64_t rows = 0;
        for (size_t i = 0; i < 40; i++) {
            random = random * 1103515245 + 12345;
            blocks[i] = (lb_block){ .first_row = rows, .row_count = (random >> 16) % 4 };
            rows += blocks[i].row_count;
        }
        lb_arena arena;
        lb_arena_init(&arena, NULL);
        lb_blocks b = build(&arena, blocks, 40);
        for (uint64_t row = 0; row < rows + 2; row++) {
            uint64_t want = UINT64_MAX;
            for (uint64_t i = 0; i < 40; i++)
                if (row >= blocks[i].first_row && row - blocks[i].first_row < blocks[i].row_count)
                    want = i;
            assert_int_equal(lb_blocks_find(&b, row), want);
        }
        lb_arena_free(&arena);
    }
}

static void copying(void **state)
{
    (void)state;
    char path[] = "a/b.csv", schema[] = { 1, 0, 2 }, min[] = "aa";
    uint64_t first[] = { 0, 9 }, rows[] = { 9, 1 }, bytes[] = { 1, 2 };
    uint8_t bits[] = { 0xFF, 0x05, 0x80 }, window[] = "..abcde", xxh3[16] = { 9 };
    int32_t offsets[] = { 2, 5, 7 };
    lb_str leaves[] = { LB_STR("x.y") };
    lb_colstat stats[] = { { .name = { path, 1 }, .has = LB_MIN_B, .min_b = { min, 2 } } };
    lb_entry e = {
        .rel_path = { path, 7 }, .arrow_schema = { schema, 3 }, .total_rows = 10, .n_leaf_paths = 1,
        .leaf_paths = leaves,
        .blocks = { .count = 2, .first_row = first, .row_count = rows, .total_byte_size = bytes,
                    .compressed_size = bytes, .page_indexed = bits, .page_indexed_bit = 15 },
        .columns = { 1, stats },
        .access_points = { .count = 2, .kind = LB_STR("deflate"), .next_row = first, .window_offsets = offsets,
                           .window_data = window },
        .digests = { .count = 1, .first_byte = first, .length = rows, .xxh3 = xxh3 },
    }, copy;
    lb_arena arena;
    lb_arena_init(&arena, NULL);
    assert_int_equal(lb_entry_copy(&e, &arena, &copy, NULL), LB_OK);
    memset(path, 0, sizeof path); /* the copy does not notice */
    memset(first, 0, sizeof first);
    memset(bits, 0, sizeof bits);
    memset(window, 0, sizeof window);
    memset(xxh3, 0, sizeof xxh3);
    memset(min, 0, sizeof min);
    memset(stats, 0, sizeof stats);
    memset(leaves, 0, sizeof leaves);
    assert_true(lb_str_is(copy.rel_path, "a/b.csv"));
    assert_true(lb_str_equal(copy.arrow_schema, (lb_str){ schema, 3 }));
    assert_int_equal(copy.total_rows, 10);
    assert_int_equal(copy.blocks.first_row[1], 9);
    assert_null(copy.blocks.first_byte);
    assert_int_equal(copy.blocks.page_indexed_bit, 7);
    assert_int_equal(copy.blocks.page_indexed[0], 0x05); /* bits 15 and 16: 0 and 0 */
    assert_int_equal(copy.blocks.page_indexed[1], 0x80);
    assert_true(lb_str_is(copy.leaf_paths[0], "x.y"));
    assert_true(lb_str_is(copy.columns.items[0].name, "a"));
    assert_true(lb_str_is(copy.columns.items[0].min_b, "aa"));
    assert_int_equal(copy.access_points.window_offsets[0], 0);
    assert_int_equal(copy.access_points.window_offsets[2], 5);
    assert_memory_equal(copy.access_points.window_data, "abcde", 5);
    assert_int_equal(copy.digests.xxh3[0], 9);
    assert_null(copy.digests.blake3);
    lb_arena_free(&arena);
}

static void copying_hostile(void **state)
{
    (void)state;
    int32_t down[] = { 0, 5, 3 }, negative[] = { -4, 0, 3 };
    uint8_t data[8] = { 0 };
    lb_arena arena;
    lb_entry copy;
    lb_arena_init(&arena, NULL);
    for (int i = 0; i < 2; i++) {
        const int32_t *offsets = i == 0 ? down : negative;
        lb_entry e = { .access_points = { .count = 2, .window_offsets = offsets, .window_data = data } };
        lb_error err = LB_ERROR_INIT;
        assert_int_equal(lb_entry_copy(&e, &arena, &copy, &err), LB_CORRUPT);
        assert_non_null(strstr(err.message, "ascend"));
    }
    lb_arena_free(&arena);
    lb_budget budget = { .limit = 100 };
    lb_arena_init(&arena, &budget);
    lb_entry e = { .rel_path = LB_STR("some path") };
    assert_int_equal(lb_entry_copy(&e, &arena, &copy, NULL), LB_BUDGET);
    lb_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building), cmocka_unit_test(building_out_of_budget),
        cmocka_unit_test(finding),  cmocka_unit_test(chunks),
        cmocka_unit_test(copying),  cmocka_unit_test(copying_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
