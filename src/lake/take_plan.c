/* The plan of a window: which files hold its rows, and in which runs each is read. */
#include <stdlib.h>

#include "base/sort.h"
#include "lake/take.h"

/* Wanted rows that stand so near to each other are read in one pass: passing over these bytes costs about what a new
 * beginning does. */
#define PLAN_NEAR_BYTES ((uint64_t)64 << 10)

/* A pass ends at the block border behind so many bytes, so that several threads have work. */
#define PLAN_PASS_BYTES ((uint64_t)4 << 20)

#define PLAN_CHUNK_BYTES ((uint64_t)256 << 10)
#define PLAN_CHUNK_LEAST ((uint64_t)4 << 10)

#define PLAN_WINDOW_BYTES ((uint64_t)1 << 30)
#define PLAN_WINDOW_LEAST 1024

/* ---------------------------------------------------------------- rows */

static lb_status plan_copy(lb_take_window *w, const lb_take_rows *rows, uint64_t at, uint32_t **places, lb_error *err)
{
    *places = lb_arena_alloc(&w->arena, w->n, sizeof **places);
    w->rows = lb_arena_alloc(&w->arena, w->n, sizeof *w->rows);
    w->pick = lb_arena_alloc(&w->arena, w->n, sizeof *w->pick);
    if (*places == NULL || w->rows == NULL || w->pick == NULL)
        return lb_arena_fail(&w->arena, err);
    for (size_t i = 0; i < w->n; i++) {
        (*places)[i] = (uint32_t)i;
        w->rows[i] = lb_take_row(rows, at + i);
    }
    return LB_OK;
}

/* Sort the rows, leave each once, and note where each asked one went. */
static lb_status plan_rows(lb_take_window *w, const lb_take_rows *rows, uint64_t at, lb_error *err)
{
    uint32_t *places;

    LB_TRY(plan_copy(w, rows, at, &places, err));
    uint64_t *spare = malloc(w->n * sizeof *spare + 1);
    uint32_t *spare_places = malloc(w->n * sizeof *spare_places + 1);
    if (spare != NULL && spare_places != NULL)
        lb_sort_u64(w->rows, places, w->n, spare, spare_places);
    bool sorted = spare != NULL && spare_places != NULL;
    free(spare);
    free(spare_places);
    if (!sorted)
        return lb_fail_nomem(err);
    w->as_asked = true;
    for (size_t i = 0; i < w->n; i++) {
        uint64_t row = w->rows[i];
        if (w->n_rows == 0 || w->rows[w->n_rows - 1] != row)
            w->rows[w->n_rows++] = row;
        w->pick[places[i]] = (uint32_t)(w->n_rows - 1);
        w->as_asked = w->as_asked && places[i] == i && w->n_rows == i + 1;
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- runs of a file */

static lb_status plan_grow(void **items, size_t n, size_t *cap, size_t size, lb_error *err)
{
    if (n < *cap)
        return LB_OK;
    size_t more = *cap == 0 ? 16 : *cap * 2, bytes;
    void *grown = lb_mul_size(more, size, &bytes) ? realloc(*items, bytes) : NULL;
    if (grown == NULL)
        return lb_fail_nomem(err);
    *items = grown;
    *cap = more;
    return LB_OK;
}

/* The block to read a row from: its own, or the last known before it. */
static uint64_t plan_block(const lb_blocks *b, uint64_t row, uint64_t block)
{
    if (row >= b->first_row[block] && row - b->first_row[block] < b->row_count[block])
        return block;
    uint64_t found = lb_blocks_find(b, row);
    return found == UINT64_MAX ? b->count - 1 : found;
}

/* About where in the file a row stands, if the rows of its block are of one size. */
static uint64_t plan_byte(const lb_blocks *b, uint64_t block, uint64_t row)
{
    uint64_t inside = LB_MIN(row - LB_MIN(row, b->first_row[block]), b->row_count[block]);

    return b->first_byte[block] +
           (uint64_t)((double)lb_blocks_bytes(b, block) / (double)LB_MAX(b->row_count[block], 1) * (double)inside);
}

/* Does a row of `block` begin a new pass, after one that began in `begun` and came to `row` of block `before`? */
static bool plan_cuts(const lb_blocks *b, uint64_t begun, uint64_t before, uint64_t row, uint64_t block)
{
    if (block == before)
        return false;
    if (b->first_byte == NULL)
        return true;
    uint64_t at = b->first_byte[block];
    return at - LB_MIN(at, plan_byte(b, before, row + 1)) > PLAN_NEAR_BYTES ||
           at - LB_MIN(at, b->first_byte[begun]) >= PLAN_PASS_BYTES;
}

/* Small blocks are read in small pieces: no more than the pass can need. */
static size_t plan_chunk(const lb_blocks *b, uint64_t begun, uint64_t last)
{
    if (b->count == 0 || b->first_byte == NULL || last + 1 == b->count)
        return 0;
    uint64_t bytes = b->first_byte[last] + lb_blocks_bytes(b, last) - b->first_byte[begun];
    bytes = (LB_MIN(bytes, PLAN_CHUNK_BYTES) + PLAN_CHUNK_LEAST - 1) / PLAN_CHUNK_LEAST * PLAN_CHUNK_LEAST;
    return bytes >= PLAN_CHUNK_BYTES ? 0 : (size_t)LB_MAX(bytes, PLAN_CHUNK_LEAST);
}

static lb_status plan_add_segment(lb_take_window *w, size_t first, size_t end, size_t chunk, lb_error *err)
{
    LB_TRY(plan_grow((void **)&w->segments, w->n_segments, &w->cap_segments, sizeof *w->segments, err));
    w->segments[w->n_segments++] =
        (lb_take_segment){ .part = w->n_parts - 1, .first = first, .end = end, .chunk = chunk };
    w->parts[w->n_parts - 1].segments++;
    return LB_OK;
}

static lb_status plan_segments(lb_take_window *w, const lb_take_part *p, const lb_blocks *b, lb_error *err)
{
    size_t first = p->first, end = p->end;

    if (b->count == 0)
        return plan_add_segment(w, first, end, 0, err);
    uint64_t begun = plan_block(b, w->rows[first], 0), block = begun;
    for (size_t i = first + 1; i < end; i++) {
        uint64_t next = plan_block(b, w->rows[i], block);
        if (plan_cuts(b, begun, block, w->rows[i - 1], next)) {
            LB_TRY(plan_add_segment(w, first, i, plan_chunk(b, begun, block), err));
            first = i;
            begun = next;
        }
        block = next;
    }
    return plan_add_segment(w, first, end, plan_chunk(b, begun, block), err);
}

/* ---------------------------------------------------------------- files */

lb_status lb_take_entry(const lb_take_window *w, uint64_t file, lb_arena *arena, lb_entry *out, lb_error *err)
{
    if (w->t->lake)
        return lb_table_entry(w->t, file, arena, out, err);
    *out = w->single->entry;
    return LB_OK;
}

static lb_status plan_file(lb_take_window *w, lb_error *err)
{
    lb_arena arena;
    lb_entry entry;

    lb_arena_init(&arena, &w->t->cx->budget);
    lb_take_part part = w->parts[w->n_parts - 1];
    lb_status status = lb_take_entry(w, part.file, &arena, &entry, err);
    if (status == LB_OK)
        status = plan_segments(w, &part, &entry.blocks, err);
    lb_arena_free(&arena);
    return status;
}

/* The part that begins with the row at `first`. Its rows become rows of the file. */
static lb_status plan_part(lb_take_window *w, size_t first, lb_error *err)
{
    lb_take_part p = { .first = first };
    uint64_t next = UINT64_MAX;

    if (w->t->lake) {
        LB_TRY(lb_table_find_row(w->t, w->rows[first], &p.file, err));
        if (p.file == UINT64_MAX)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "row %llu has no file", (unsigned long long)w->rows[first]);
        LB_TRY(lb_table_first_row(w->t, p.file, &p.first_row, err));
        LB_TRY(lb_table_first_row(w->t, p.file + 1, &next, err));
    }
    for (p.end = first; p.end < w->n_rows && w->rows[p.end] < next; p.end++)
        w->rows[p.end] -= p.first_row;
    LB_TRY(plan_grow((void **)&w->parts, w->n_parts, &w->cap_parts, sizeof *w->parts, err));
    w->parts[w->n_parts++] = p;
    return plan_file(w, err);
}

lb_status lb_take_plan(lb_take_window *w, lb_table *t, lb_data *single, const lb_take_rows *rows, uint64_t at, size_t n,
                       lb_error *err)
{
    *w = (lb_take_window){ .t = t, .single = single, .n = n };
    lb_arena_init(&w->arena, &t->cx->budget);
    LB_TRY(plan_rows(w, rows, at, err));
    for (size_t i = 0; i < w->n_rows; i = w->parts[w->n_parts - 1].end)
        LB_TRY(plan_part(w, i, err));
    /* They stay where they are from now on. */
    for (size_t i = 0; i < w->n_parts; i++)
        pthread_mutex_init(&w->parts[i].lock, NULL);
    return LB_OK;
}

static void plan_close_part(lb_take_part *p)
{
    if (p->own)
        lb_data_close(p->data);
    lb_project_close(&p->columns);
    p->data = NULL;
    p->own = false;
}

void lb_take_window_free(lb_take_window *w)
{
    for (size_t i = 0; i < w->n_segments; i++) {
        for (size_t k = 0; k < w->segments[i].n_batches; k++)
            if (w->segments[i].batches[k].release != NULL)
                w->segments[i].batches[k].release(&w->segments[i].batches[k]);
        free(w->segments[i].batches);
    }
    for (size_t i = 0; i < w->n_parts; i++)
        plan_close_part(&w->parts[i]);
    free(w->segments);
    free(w->parts);
    lb_arena_free(&w->arena);
    *w = (lb_take_window){ .t = w->t };
}

/* ---------------------------------------------------------------- a part's file */

static lb_status plan_open_part(lb_take_window *w, lb_take_part *p, const lb_project *project, bool fresh,
                                lb_error *err)
{
    p->data = w->single;
    if (w->t->lake)
        LB_TRY(lb_table_open_file(w->t, p->file, &p->data, &p->own, err));
    LB_TRY(lb_data_check(p->data, err));
    return project == NULL ? LB_OK : lb_project_open(&p->columns, project, p->data, fresh, err);
}

lb_status lb_take_part_open(lb_take_window *w, lb_take_part *p, const lb_project *project, bool fresh, lb_error *err)
{
    lb_status status = LB_OK;

    pthread_mutex_lock(&p->lock);
    if (!p->opened)
        status = plan_open_part(w, p, project, fresh, err);
    /* After a failure the next segment tries again, and fails alike; the first of them is told. */
    if (status == LB_OK)
        p->opened = true;
    else
        plan_close_part(p);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void lb_take_part_leave(lb_take_part *p)
{
    pthread_mutex_lock(&p->lock);
    if (--p->segments == 0)
        plan_close_part(p);
    pthread_mutex_unlock(&p->lock);
}

lb_status lb_take_short(lb_take_window *w, uint64_t missing, lb_error *err)
{
    uint64_t total;

    if (w->t->lake || w->single->entry.total_rows != LB_ROWS_UNKNOWN)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file gave fewer rows than it has");
    /* Only a sample of it was read, so that its end was not known. */
    LB_TRY(lb_table_count(w->t, &total, err));
    return lb_take_past_end(missing, total, err);
}

/* ---------------------------------------------------------------- how large a window is */

/* Bytes of a row, on the average. */
static uint64_t plan_mean(lb_table *t, const lb_data *single, uint64_t total)
{
    lb_map_info info = { .struct_size = sizeof info };

    if (t->lake)
        return lb_map_get_info(t->map, &info, NULL) == LB_OK ? info.bytes / LB_MAX(info.rows, 1) : 0;
    if (total != LB_ROWS_UNKNOWN)
        return single->entry.size_bytes / LB_MAX(total, 1);
    const lb_blocks *b = &single->entry.blocks;
    uint64_t bytes = 0, rows = 0;
    for (uint64_t i = 0; i < b->count; i++) {
        bytes += b->total_byte_size[i];
        rows += b->row_count[i];
    }
    return bytes / LB_MAX(rows, 1);
}

uint64_t lb_take_window_rows(lb_table *t, const lb_data *single, uint64_t total)
{
    uint64_t bytes = LB_MIN(PLAN_WINDOW_BYTES, t->cx->budget.limit / 8);
    uint64_t mean = LB_MIN(plan_mean(t, single, total), PLAN_WINDOW_BYTES);
    uint64_t rows = bytes / (2 * mean + 64);

    return LB_MIN(LB_MAX(rows, PLAN_WINDOW_LEAST), LB_TAKE_WINDOW_ROWS);
}
