#include "format/entry.h"

#include <stddef.h>

#define BLOCKS_CHUNK_MOST ((uint64_t)256 << 10)
#define BLOCKS_CHUNK_MORE 4096

/* ---------------------------------------------------------------- building blocks */

#define ENTRY_COLUMNS 7

/* The builder's columns, and where each goes; in lb_block they stand as members of one size. */
static const struct {
    size_t builder, block, blocks;
    bool nullable;
} entry_columns[ENTRY_COLUMNS] = {
#define ENTRY_COLUMN(name, nullable)                                                                    \
    {                                                                                                   \
        offsetof(lb_block_builder, name), offsetof(lb_block, name), offsetof(lb_blocks, name), nullable \
    }
    ENTRY_COLUMN(first_row, false),       ENTRY_COLUMN(row_count, false), ENTRY_COLUMN(total_byte_size, false),
    ENTRY_COLUMN(compressed_size, false), ENTRY_COLUMN(first_byte, true), ENTRY_COLUMN(first_line, true),
    ENTRY_COLUMN(start_hash, true),
};

static lb_buf *entry_column(lb_block_builder *b, size_t i)
{
    return (lb_buf *)(void *)((char *)b + entry_columns[i].builder);
}

void lb_block_builder_init(lb_block_builder *b, lb_budget *budget)
{
    for (size_t i = 0; i < ENTRY_COLUMNS; i++)
        lb_buf_init(entry_column(b, i), budget);
}

lb_status lb_block_builder_add(lb_block_builder *b, const lb_block *block, lb_error *err)
{
    for (size_t i = 0; i < ENTRY_COLUMNS; i++) /* all or none */
        LB_TRY(lb_buf_reserve(entry_column(b, i), sizeof(uint64_t), err));
    for (size_t i = 0; i < ENTRY_COLUMNS; i++)
        lb_buf_put(entry_column(b, i), (const char *)block + entry_columns[i].block, sizeof(uint64_t));
    return LB_OK;
}

lb_status lb_block_builder_add_all(lb_block_builder *b, const lb_blocks *from, uint64_t count, lb_error *err)
{
    for (uint64_t i = 0; i < LB_MIN(count, from->count); i++) {
        const lb_block block = {
            .first_row = from->first_row[i],
            .row_count = from->row_count[i],
            .first_byte = from->first_byte == NULL ? UINT64_MAX : from->first_byte[i],
            .total_byte_size = from->total_byte_size[i],
            .compressed_size = from->compressed_size[i],
            .first_line = from->first_line == NULL ? UINT64_MAX : from->first_line[i],
            .start_hash = from->start_hash == NULL ? UINT64_MAX : from->start_hash[i],
        };
        LB_TRY(lb_block_builder_add(b, &block, err));
    }
    return LB_OK;
}

/* A column in which no block has a value (all are UINT64_MAX) is left out. */
static bool entry_all_unknown(const lb_buf *column)
{
    for (size_t i = 0; i < column->size; i++)
        if (column->data[i] != 0xFF)
            return false;
    return true;
}

static lb_status entry_finish(lb_block_builder *b, lb_arena *arena, lb_blocks *out, lb_error *err)
{
    *out = (lb_blocks){ .count = b->first_row.size / sizeof(uint64_t) };
    for (size_t i = 0; i < ENTRY_COLUMNS; i++) {
        const lb_buf *column = entry_column(b, i);
        if (out->count == 0 || (entry_columns[i].nullable && entry_all_unknown(column)))
            continue;
        const uint64_t *copy = lb_arena_dup(arena, column->data, column->size);
        if (copy == NULL)
            return lb_arena_fail(arena, err);
        memcpy((char *)out + entry_columns[i].blocks, &copy, sizeof copy);
    }
    return LB_OK;
}

lb_status lb_block_builder_finish(lb_block_builder *b, lb_arena *arena, lb_blocks *out, lb_error *err)
{
    lb_status status = entry_finish(b, arena, out, err);
    if (status != LB_OK)
        *out = (lb_blocks){ 0 };
    lb_block_builder_free(b);
    return status;
}

void lb_block_builder_free(lb_block_builder *b)
{
    for (size_t i = 0; i < ENTRY_COLUMNS; i++)
        lb_buf_free(entry_column(b, i));
}

uint64_t lb_blocks_find(const lb_blocks *blocks, uint64_t row)
{
    uint64_t low = 0, high = blocks->count;
    while (low < high) { /* the first block that begins after the row */
        uint64_t middle = low + (high - low) / 2;
        if (blocks->first_row[middle] > row)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0 || row - blocks->first_row[low - 1] >= blocks->row_count[low - 1])
        return UINT64_MAX;
    return low - 1;
}

size_t lb_blocks_chunk(const lb_blocks *b, uint64_t first, uint64_t last)
{
    uint64_t from = lb_blocks_find(b, first), to = lb_blocks_find(b, last), end;

    if (from == UINT64_MAX || to == UINT64_MAX || b->first_byte == NULL ||
        __builtin_add_overflow(b->first_byte[to], b->total_byte_size[to], &end) || end < b->first_byte[from])
        return 0;
    uint64_t bytes = end - b->first_byte[from];
    return bytes > BLOCKS_CHUNK_MOST ? 0 : (size_t)bytes + BLOCKS_CHUNK_MORE;
}

/* Blocks of a run. */
static uint64_t blocks_of_run(const lb_blocks *b)
{
    uint64_t by_rows = LB_RUN_ROWS / LB_MAX(b->row_count[0], 1),
             by_bytes = b->total_byte_size == NULL ? UINT64_MAX : LB_RUN_BYTES / LB_MAX(b->total_byte_size[0], 1);

    uint64_t run = LB_MAX(LB_MIN(by_rows, by_bytes), 1);
    if (b->unpacked && b->total_byte_size != NULL)
        run = LB_MAX(run, LB_MIN(4 * run, LB_RUN_UNPACKED_BYTES / LB_MAX(b->total_byte_size[0], 1)));
    return run;
}

uint64_t lb_blocks_border(const lb_blocks *b, uint64_t row)
{
    uint64_t block = lb_blocks_find(b, row), run;

    if (block == UINT64_MAX)
        return UINT64_MAX;
    run = blocks_of_run(b);
    block += run - block % run;
    return block < b->count && b->first_row[block] > row ? b->first_row[block] : UINT64_MAX;
}

uint64_t lb_blocks_run_bytes(const lb_blocks *b)
{
    uint64_t bytes = 0;

    if (b->count == 0 || b->total_byte_size == NULL)
        return LB_RUN_BYTES;
    (void)__builtin_mul_overflow(b->total_byte_size[0], blocks_of_run(b), &bytes);
    return LB_MAX(bytes, LB_RUN_BYTES);
}

/* ---------------------------------------------------------------- copying */

/* A copy under way: after the first failure the rest does nothing. */
typedef struct entry_copy {
    lb_arena *arena;
    lb_error *err;
    lb_status status;
} entry_copy;

static const void *entry_dup(entry_copy *c, const void *from, uint64_t count, size_t each)
{
    size_t size;
    if (from == NULL || c->status != LB_OK)
        return NULL;
    if (count > SIZE_MAX || !lb_mul_size((size_t)count, each, &size)) {
        c->status = lb_fail(c->err, LB_CORRUPT, LB_NOWHERE, "an entry claims %llu items", (unsigned long long)count);
        return NULL;
    }
    const void *copy = lb_arena_dup(c->arena, from, size);
    if (copy == NULL)
        c->status = lb_arena_fail(c->arena, c->err);
    return copy;
}

#define ENTRY_DUP(c, array, count) ((array) = entry_dup((c), (array), (count), sizeof *(array)))

static void entry_dup_str(entry_copy *c, lb_str *text)
{
    if (text->size == 0)
        *text = LB_STR("");
    else
        text->at = entry_dup(c, text->at, text->size, 1);
}

static void entry_copy_blocks(entry_copy *c, lb_blocks *b)
{
    uint64_t skip = b->page_indexed_bit / 8;
    ENTRY_DUP(c, b->first_row, b->count);
    ENTRY_DUP(c, b->row_count, b->count);
    ENTRY_DUP(c, b->total_byte_size, b->count);
    ENTRY_DUP(c, b->compressed_size, b->count);
    ENTRY_DUP(c, b->first_byte, b->count);
    ENTRY_DUP(c, b->first_line, b->count);
    ENTRY_DUP(c, b->start_hash, b->count);
    b->page_indexed_bit %= 8;
    if (b->page_indexed != NULL)
        b->page_indexed = entry_dup(c, b->page_indexed + skip, (b->page_indexed_bit + b->count + 7) / 8, 1);
}

static void entry_copy_stats(entry_copy *c, lb_colstats *stats)
{
    const lb_colstat *from = stats->count == 0 ? NULL : stats->items;
    lb_colstat *items = (lb_colstat *)(uintptr_t)entry_dup(c, from, stats->count, sizeof *items);
    stats->items = items;
    for (uint64_t i = 0; items != NULL && i < stats->count; i++) {
        entry_dup_str(c, &items[i].name);
        entry_dup_str(c, &items[i].type);
        entry_dup_str(c, &items[i].min_b);
        entry_dup_str(c, &items[i].max_b);
    }
}

static void entry_copy_leaves(entry_copy *c, lb_entry *e)
{
    lb_str *paths = (lb_str *)(uintptr_t)entry_dup(c, e->leaf_paths, e->n_leaf_paths, sizeof *paths);
    e->leaf_paths = paths;
    for (uint64_t i = 0; paths != NULL && i < e->n_leaf_paths; i++)
        entry_dup_str(c, &paths[i]);
}

/* Strings of a column as offsets and data. Offsets are checked, since they may come straight from a map, and begin at 0
 * in the copy. */
static void entry_copy_strings(entry_copy *c, uint64_t count, const int32_t **offsets, const uint8_t **data)
{
    const int32_t *from = *offsets;
    if (from == NULL || c->status != LB_OK)
        return;
    for (uint64_t i = 0; i <= count; i++) {
        if (from[i] < 0 || (i > 0 && from[i] < from[i - 1])) {
            c->status = lb_fail(c->err, LB_CORRUPT, LB_NOWHERE, "offsets of restart points do not ascend");
            return;
        }
    }
    int32_t *to = (int32_t *)(uintptr_t)entry_dup(c, from, count + 1, sizeof *to);
    if (to == NULL)
        return;
    for (uint64_t i = 0; i <= count; i++)
        to[i] = from[i] - from[0];
    *offsets = to;
    if (*data != NULL)
        *data = entry_dup(c, *data + from[0], (uint64_t)to[count], 1);
}

static void entry_copy_points(entry_copy *c, lb_access_points *p)
{
    if (p->count == 0) {
        p->window_offsets = p->params_offsets = NULL;
        p->window_data = p->params_data = NULL;
    }
    entry_dup_str(c, &p->kind);
    ENTRY_DUP(c, p->member, p->count);
    ENTRY_DUP(c, p->compressed_byte, p->count);
    ENTRY_DUP(c, p->uncompressed_byte, p->count);
    ENTRY_DUP(c, p->next_row, p->count);
    ENTRY_DUP(c, p->next_row_byte, p->count);
    ENTRY_DUP(c, p->bit, p->count);
    entry_copy_strings(c, p->count, &p->window_offsets, &p->window_data);
    entry_copy_strings(c, p->count, &p->params_offsets, &p->params_data);
}

static void entry_copy_parquet(entry_copy *c, lb_entry *e)
{
    entry_copy_leaves(c, e);
    ENTRY_DUP(c, e->chunks.offset, e->chunks.count);
    ENTRY_DUP(c, e->chunks.length, e->chunks.count);
    ENTRY_DUP(c, e->chunks.null_count, e->chunks.count);
    ENTRY_DUP(c, e->pages.block, e->pages.count);
    ENTRY_DUP(c, e->pages.column, e->pages.count);
    ENTRY_DUP(c, e->pages.first_row, e->pages.count);
    ENTRY_DUP(c, e->pages.offset, e->pages.count);
    ENTRY_DUP(c, e->pages.length, e->pages.count);
}

static void entry_copy_texts(entry_copy *c, lb_entry *e)
{
    entry_dup_str(c, &e->rel_path);
    entry_dup_str(c, &e->rel_path_raw);
    entry_dup_str(c, &e->format);
    entry_dup_str(c, &e->locator);
    entry_dup_str(c, &e->container);
    entry_dup_str(c, &e->error);
    entry_dup_str(c, &e->arrow_schema);
    entry_dup_str(c, &e->open_state);
    entry_dup_str(c, &e->dialect.delimiter);
    entry_dup_str(c, &e->dialect.encoding);
}

lb_status lb_entry_copy(const lb_entry *from, lb_arena *arena, lb_entry *out, lb_error *err)
{
    entry_copy c = { .arena = arena, .err = err, .status = LB_OK };
    lb_entry e = *from;
    entry_copy_texts(&c, &e);
    entry_copy_blocks(&c, &e.blocks);
    entry_copy_parquet(&c, &e);
    entry_copy_stats(&c, &e.columns);
    entry_copy_stats(&c, &e.block_columns);
    ENTRY_DUP(&c, e.block_of_column, e.block_columns.count);
    ENTRY_DUP(&c, e.column_of_column, e.block_columns.count);
    entry_copy_points(&c, &e.access_points);
    ENTRY_DUP(&c, e.digests.first_byte, e.digests.count);
    ENTRY_DUP(&c, e.digests.length, e.digests.count);
    if (e.digests.count > SIZE_MAX / 32)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "an entry claims too many digests");
    e.digests.xxh3 = entry_dup(&c, e.digests.xxh3, e.digests.count, 16);
    e.digests.blake3 = entry_dup(&c, e.digests.blake3, e.digests.count, 32);
    if (c.status == LB_OK)
        *out = e;
    return c.status;
}
