/* Lake maps: whatever the bytes are, a map that loads answers or refuses, and what it answers keeps its own laws:
 * blocks lie one after the other and inside the file, a found path is the path asked for, and a found row lies in
 * the entry. */
#include <stdlib.h>

#include "lake/map.h"

#define REQUIRE(truth) \
    do {               \
        if (!(truth))  \
            abort();   \
    } while (0)

#define ENTRIES_MOST 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink; /* keeps the reads below */

/* Reads every byte, so that one outside the input is noticed. */
static unsigned sum_of(const void *bytes, uint64_t size)
{
    unsigned sum = 0;
    for (uint64_t i = 0; bytes != NULL && i < size; i++)
        sum = sum * 31 + ((const uint8_t *)bytes)[i];
    return sum;
}

static unsigned check_blocks(const lb_entry *e)
{
    const lb_blocks *b = &e->blocks;
    uint64_t next = 0;
    for (uint64_t i = 0; i < b->count; i++) {
        REQUIRE(b->first_row[i] == next);
        next += b->row_count[i];
        if (b->first_byte != NULL && e->container.size == 0)
            REQUIRE(b->first_byte[i] <= e->size_bytes);
    }
    REQUIRE(b->count == 0 || next == e->total_rows);
    return sum_of(b->total_byte_size, b->count * 8) + sum_of(b->compressed_size, b->count * 8) +
           sum_of(b->first_line, b->count * 8) + sum_of(b->start_hash, b->count * 8) +
           (b->page_indexed == NULL || b->count == 0
                ? 0u
                : sum_of(b->page_indexed, (b->page_indexed_bit + b->count + 7) / 8));
}

static unsigned read_parts(const lb_entry *e)
{
    const lb_access_points *p = &e->access_points;
    unsigned sum = sum_of(e->rel_path.at, e->rel_path.size) + sum_of(e->rel_path_raw.at, e->rel_path_raw.size) +
                   sum_of(e->format.at, e->format.size) + sum_of(e->error.at, e->error.size) +
                   sum_of(e->arrow_schema.at, e->arrow_schema.size) + sum_of(e->open_state.at, e->open_state.size) +
                   sum_of(e->dialect.delimiter.at, e->dialect.delimiter.size);
    for (uint64_t i = 0; i < e->n_leaf_paths; i++)
        sum += sum_of(e->leaf_paths[i].at, e->leaf_paths[i].size);
    sum += sum_of(e->chunks.offset, e->chunks.count * 8) + sum_of(e->chunks.null_count, e->chunks.count * 8);
    sum += sum_of(e->pages.first_row, e->pages.count * 8) + sum_of(e->pages.column, e->pages.count * 4);
    sum += sum_of(e->digests.xxh3, e->digests.count * 16) + sum_of(e->digests.blake3, e->digests.count * 32);
    sum += sum_of(p->next_row, p->count * 8) + sum_of(p->bit, p->count);
    for (uint64_t i = 0; p->window_offsets != NULL && i < p->count; i++)
        sum +=
            sum_of(p->window_data + p->window_offsets[i], (uint64_t)(p->window_offsets[i + 1] - p->window_offsets[i]));
    for (uint64_t i = 0; i < e->columns.count; i++)
        sum += sum_of(e->columns.items[i].min_b.at, e->columns.items[i].min_b.size);
    for (uint64_t i = 0; i < e->block_columns.count; i++)
        sum += e->block_of_column[i] + sum_of(e->block_columns.items[i].name.at, e->block_columns.items[i].name.size);
    return sum;
}

static void check_place(const lb_map *map, uint64_t row)
{
    lb_place p = { .struct_size = sizeof p };
    if (lb_map_locate(map, row, &p, NULL) != LB_OK)
        return;
    REQUIRE(p.global_row == row && p.entry < lb_map_count(map));
    if (p.block >= 0)
        REQUIRE(p.block_first_row <= (int64_t)p.file_row && (int64_t)p.file_row - p.block_first_row == p.row_in_block &&
                p.row_in_block < p.block_rows);
}

static unsigned check_entry(const lb_map *map, uint64_t index, lb_arena *arena)
{
    lb_entry e;
    uint64_t found;
    unsigned sum = 0;
    if (lb_map_view_all(map, index, arena, &e, NULL) == LB_OK) {
        sum = check_blocks(&e) + read_parts(&e);
        lb_str path;
        if (lb_map_find_path(map, e.rel_path, &found, NULL) == LB_OK)
            REQUIRE(lb_map_view_path(map, found, &path, NULL) == LB_OK && lb_str_equal(path, e.rel_path));
        for (uint64_t i = 0; i < 3 && e.total_rows > 0; i++) {
            uint64_t first, rows, row = e.first_global_row + (e.total_rows - 1) / 2 * i;
            if (lb_map_find_row(map, row, &found, NULL) == LB_OK)
                REQUIRE(lb_map_view_rows(map, found, &first, &rows, NULL) == LB_OK && first <= row &&
                        row - first < rows);
            check_place(map, row);
        }
    }
    return sum;
}

static void check_public(const lb_map *map, uint64_t index)
{
    lb_entry_info e = { .struct_size = sizeof e };
    lb_column_info c = { .struct_size = sizeof c };
    if (lb_map_entry(map, index, &e, NULL) == LB_OK)
        REQUIRE(e.path != NULL && e.format != NULL && e.locator != NULL);
    for (uint64_t i = 0; i < 8; i++)
        if (lb_map_column(map, index, i, &c, NULL) == LB_OK)
            REQUIRE(c.name != NULL && c.type != NULL);
    uint64_t failed;
    if (lb_map_next_failed(map, index, &failed, NULL) == LB_OK)
        REQUIRE(failed >= index && failed < lb_map_count(map));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lb_error err = LB_ERROR_INIT;
    lb_buf bytes;
    lb_map *map;
    lb_buf_init(&bytes, NULL);
    if (lb_buf_append(&bytes, data, size, NULL) != LB_OK)
        return 0;
    lb_status status = lb_map_load_bytes(&bytes, "fuzz", &map, &err);
    REQUIRE(status == err.code && (status == LB_OK) == (map != NULL));
    for (uint64_t i = 0; map != NULL && i < lb_map_count(map) && i < ENTRIES_MOST; i++) {
        lb_arena arena;
        lb_arena_init(&arena, NULL);
        sink += check_entry(map, i, &arena);
        check_public(map, i);
        lb_arena_free(&arena);
    }
    lb_map_close(map);
    return 0;
}
