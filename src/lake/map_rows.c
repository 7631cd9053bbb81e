/* Finding global rows. The batch first, then the entry in it: between two samples, by a guess in proportion. */
#include <assert.h>
#include <stdlib.h>

#include "lake/map_private.h"

/* ---------------------------------------------------------------- what is known of a batch */

static const uint64_t *rows_u64s(const lb_map_batch *b, unsigned id)
{
    return (const uint64_t *)(const void *)b->fields[id].data;
}

/* Does each entry begin where the one before it ends? */
static bool rows_are_even(const lb_map_batch *b, uint64_t *end)
{
    const uint64_t *first = rows_u64s(b, LB_MAP_F_FIRST_GLOBAL_ROW), *rows = rows_u64s(b, LB_MAP_F_TOTAL_ROWS);
    const uint64_t last = b->count - 1;
    uint64_t apart = 0, large = first[last] | rows[last];

    if (b->fields[LB_MAP_F_FIRST_GLOBAL_ROW].validity != NULL || b->fields[LB_MAP_F_TOTAL_ROWS].validity != NULL)
        return false;
    for (uint64_t i = 0; i < last; i++) {
        apart |= (first[i] + rows[i]) ^ first[i + 1];
        large |= first[i] | rows[i];
    }
    *end = first[last] + rows[last];
    return apart == 0 && large <= INT64_MAX && *end <= INT64_MAX;
}

/* Has each entry one block? */
static bool rows_have_one_block(const lb_map_batch *b)
{
    const lb_map_array *list = &b->fields[LB_MAP_F_BLOCKS];
    uint32_t other = 0;

    if (list->validity != NULL || list->offsets[0] != 0 || b->fields[LB_MAP_F_BLOCKS + 1].length != b->count)
        return false;
    for (uint64_t i = 0; i <= b->count; i++)
        other |= (uint32_t)list->offsets[i] ^ (uint32_t)i;
    return other == 0;
}

/* Is some entry's locator as long as that of packed blocks? Of those another number is the size. */
static bool rows_may_be_packed(const lb_map_batch *b)
{
    const int32_t *at = b->fields[LB_MAP_F_LOCATOR].offsets;
    bool any = b->fields[LB_MAP_F_LOCATOR].validity != NULL;

    for (uint64_t i = 0; i < b->count; i++)
        any |= (uint32_t)at[i + 1] - (uint32_t)at[i] == sizeof LB_LOCATOR_PACKED - 1;
    return any;
}

static bool rows_page_indexed(const lb_map_batch *b)
{
    const lb_map_array *a = &b->fields[LB_MAP_F_BLOCK_PAGE_INDEXED];
    uint8_t any = 0;

    for (uint64_t i = 0; a->present && i < (a->length + 7) / 8; i++)
        any |= a->data[i];
    return any != 0;
}

/* A number of each block, or of none. */
static bool rows_column(const lb_map_batch *b, unsigned id, const uint64_t **out)
{
    const lb_map_array *a = &b->fields[id];

    *out = a->present && a->validity == NULL ? rows_u64s(b, id) : NULL;
    return *out != NULL || !a->present || a->null_count == a->length;
}

static bool rows_are_single(lb_map_rows *r)
{
    const lb_map_batch *b = r->batch;

    return r->even && rows_have_one_block(b) && !rows_may_be_packed(b) && !rows_page_indexed(b) &&
           rows_column(b, LB_MAP_F_BLOCK_FIRST_BYTE, &r->first_byte) &&
           rows_column(b, LB_MAP_F_BLOCK_TOTAL_BYTE_SIZE, &r->bytes) && r->bytes != NULL &&
           rows_column(b, LB_MAP_F_BLOCK_FIRST_LINE, &r->first_line);
}

/* The batch was read, so that it has no more entries than the file has room for. */
static lb_map_rows *rows_new(const lb_map_batch *b)
{
    const size_t n = (size_t)((b->count + LB_MAP_SAMPLE - 1) / LB_MAP_SAMPLE);
    lb_map_rows *r = calloc(1, sizeof *r + n * sizeof r->samples[0]);

    if (r == NULL)
        return NULL;
    r->batch = b;
    r->first_rows = rows_u64s(b, LB_MAP_F_FIRST_GLOBAL_ROW);
    r->n_samples = n;
    for (size_t i = 0; i < n; i++)
        r->samples[i] = r->first_rows[i * LB_MAP_SAMPLE];
    r->even = rows_are_even(b, &r->end);
    r->single = rows_are_single(r);
    return r;
}

static lb_status rows_of_part(const lb_map *map, lb_map_part *part, const lb_map_rows **out, lb_error *err)
{
    lb_map_rows *other = atomic_load_explicit(&part->rows, memory_order_acquire);
    const lb_map_batch *b;

    *out = other;
    if (other != NULL)
        return LB_OK;
    LB_TRY(lb_map_batch_of(map, part, &b, err));
    lb_map_rows *made = rows_new(b);
    if (made == NULL)
        return lb_fail_nomem(err);
    *out = made;
    if (!atomic_compare_exchange_strong_explicit(&part->rows, &other, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        free(made); /* another thread was faster */
        *out = other;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- searching */

#define GUESSES 8 /* then the search only halves, whatever the numbers are */

/* How many of `count` numbers, which ascend, are at or below one; the first is, and is about `from`, and what would
 * follow them is about `to`. The place is guessed by proportion, so that few pages of a large map are touched. */
static uint64_t count_rows(const uint64_t *first_rows, uint64_t count, uint64_t row, uint64_t from, uint64_t to)
{
    uint64_t low = 0, high = count;

    for (unsigned turn = 0; high - low > 1; turn++) {
        uint64_t at = low + (high - low) / 2;
        if (turn < GUESSES && from <= row && row < to) {
            double share = (double)(row - from) / (double)(to - from);
            at = low + LB_MIN(LB_MAX((uint64_t)(share * (double)(high - low)), 1u), high - low - 1);
        }
        uint64_t first = first_rows[at];
        if (first <= row) {
            low = at;
            from = first;
        } else {
            high = at;
            to = first;
        }
    }
    return high;
}

/* What is told of an entry lies in as many places of the file: bring them in all at once, before it is known whether the guess is
 * right. Those next to it mostly are brought in with it. */
static void rows_ahead(const lb_map *map, const lb_map_rows *r, uint64_t entry)
{
    const lb_map_batch *b = r->batch;

    __builtin_prefetch(r->first_rows + entry);
    if (r->single) {
        if (r->first_byte != NULL) {
            __builtin_prefetch(r->first_byte + entry);
            __builtin_prefetch(r->bytes + entry);
        }
        if (r->first_line != NULL)
            __builtin_prefetch(r->first_line + entry);
    } else {
        __builtin_prefetch(b->fields[LB_MAP_F_BLOCKS].offsets + entry);
        __builtin_prefetch(b->fields[LB_MAP_F_LOCATOR].offsets + entry);
    }
    lb_map_names_ahead(map, b->first_entry + entry);
}

/* How far `row` lies between two others, as one of `n` places. */
static uint64_t rows_share(uint64_t row, uint64_t from, uint64_t to, uint64_t n)
{
    if (row < from || row >= to)
        return 0;
    return LB_MIN((uint64_t)((double)(row - from) / (double)(to - from) * (double)n), n - 1);
}

/* The sample at or before a row, where the first one is: by ever longer steps from a guess, then by halves. Damaged maps may not
 * ascend: then it is any. */
static size_t rows_sample(const lb_map_rows *r, uint64_t row)
{
    const uint64_t *samples = r->samples;
    size_t low = (size_t)rows_share(row, samples[0], r->end, r->n_samples), high = low + 1, step = 1;

    if (samples[low] <= row) {
        for (; high < r->n_samples && samples[high] <= row; step *= 2) {
            low = high;
            high = r->n_samples - low > step * 2 ? low + step * 2 : r->n_samples;
        }
    } else {
        for (; low != 0 && samples[low] > row; step *= 2) {
            high = low;
            low = low > step ? low - step : 0;
        }
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (samples[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The last entry of the batch that begins at or before a row, where the first one does. An entry without rows begins where the next
 * one does and stands before it, so that the last of them has the row. */
static uint64_t rows_entry(const lb_map *map, const lb_map_rows *r, uint64_t row)
{
    const uint64_t *first_rows = r->first_rows, count = r->batch->count;
    const size_t at = rows_sample(r, row);
    const uint64_t low = at * LB_MAP_SAMPLE, high = LB_MIN(low + LB_MAP_SAMPLE, count), from = r->samples[at],
                   to = at + 1 < r->n_samples ? r->samples[at + 1] : r->end;
    uint64_t entry = low + rows_share(row, from, to, high - low);

    rows_ahead(map, r, entry);
    while (entry > low && first_rows[entry] > row)
        entry--;
    while (entry + 1 < high && first_rows[entry + 1] <= row)
        entry++;
    return entry;
}

static lb_status rows_first_of_part(const lb_map *map, lb_map_part *part, uint64_t *out, lb_error *err)
{
    const lb_map_batch *b;

    *out = part->first_row;
    if (map->indexed)
        return LB_OK;
    LB_TRY(lb_map_batch_of(map, part, &b, err));
    *out = rows_u64s(b, LB_MAP_F_FIRST_GLOBAL_ROW)[0];
    return LB_OK;
}

/* The last part that begins at or before a row; NULL: none does. */
static lb_status rows_part(const lb_map *map, uint64_t row, lb_map_part **out, lb_error *err)
{
    size_t low = 0, high = map->n_parts;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t first;
        LB_TRY(rows_first_of_part(map, &map->parts[middle], &first, err));
        if (first <= row)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low == 0 ? NULL : &map->parts[low - 1];
    return LB_OK;
}

static lb_status rows_none(const lb_map *map, uint64_t row, lb_error *err)
{
    lb_status status =
        lb_fail(err, LB_USAGE, LB_NOWHERE, "there is no row %llu: the lake has %llu row%s", (unsigned long long)row,
                (unsigned long long)map->total_rows, map->total_rows == 1 ? "" : "s");

    lb_fail_path(err, map->path);
    if (map->total_rows != 0)
        lb_fail_hint(err, "rows are counted from 0: the last one is %llu", (unsigned long long)map->total_rows - 1);
    return status;
}

/* In a map of ours. */
static lb_status rows_find(const lb_map *map, uint64_t row, lb_map_found *out, lb_error *err)
{
    lb_map_part *part;
    const lb_map_rows *r;

    LB_TRY(rows_part(map, row, &part, err));
    if (part == NULL)
        return lb_map_fail(map, err, "its entries do not begin at row 0");
    LB_TRY(rows_of_part(map, part, &r, err));
    const uint64_t entry = rows_entry(map, r, row);
    out->of = r;
    out->cell = (lb_map_cell){ r->batch, entry };
    if (!r->even)
        return lb_map_cell_rows(map, out->cell, &out->first, &out->rows, err);
    out->first = r->first_rows[entry];
    out->rows = (entry + 1 < r->batch->count ? r->first_rows[entry + 1] : r->end) - out->first;
    return LB_OK;
}

/* Through the rows worked out on load, of maps that are not ours. */
static lb_status rows_find_in_list(const lb_map *map, uint64_t row, lb_map_found *out, lb_error *err)
{
    out->of = NULL;
    if (map->count == 0)
        return lb_map_fail(map, err, "its entries do not begin at row 0");
    LB_TRY(lb_map_cell_of(map, count_rows(map->first_rows, map->count, row, 0, map->total_rows) - 1, &out->cell, err));
    return lb_map_cell_rows(map, out->cell, &out->first, &out->rows, err);
}

lb_status lb_map_cell_of_row(const lb_map *map, uint64_t row, lb_map_found *out, lb_error *err)
{
    if (row >= map->total_rows)
        return rows_none(map, row, err);
    LB_TRY(map->first_rows != NULL ? rows_find_in_list(map, row, out, err) : rows_find(map, row, out, err));
    if (row < out->first || row - out->first >= out->rows)
        return lb_map_fail(map, err, "its global rows have a gap at row %llu", (unsigned long long)row);
    return LB_OK;
}

lb_status lb_map_find_row(const lb_map *map, uint64_t row, uint64_t *index, lb_error *err)
{
    lb_map_found found = { .of = NULL };

    LB_TRY(lb_map_cell_of_row(map, row, &found, err));
    assert(found.cell.batch != NULL);
    *index = found.cell.batch->first_entry + found.cell.row;
    return LB_OK;
}
