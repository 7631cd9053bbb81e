/* Cutting files into runs of whole records. Blocks of a map begin at records, so that small ones are joined as they
 * are; in large ones the records are looked for. */
#include "lake/splits.h"

#include <stdlib.h>

#include "base/pool.h"
#include "lake/handlers.h"

/* Records looked for by one thread at a time: those of a block, unless it has more. */
#define SPLITS_RUN 65536

/* Runs of records that are looked for together, for each thread. */
#define SPLITS_LOT 2

/* Consecutive rows of one block, and where they were found. */
typedef struct split_run {
    uint64_t first;
    size_t n;
    uint64_t *rows;
    lb_extent *extents;
} split_run;

typedef struct split_work {
    lb_splits *s;
    lb_split_file *f;
    lb_split_item open; /* the split being filled: as far as rows count */
    lb_data *data;      /* opened once records have to be looked for; NULL */
    bool own;
    split_run *lot;
    size_t n_lot, cap_lot;
} split_work;

/* ---------------------------------------------------------------- filling splits */

static lb_status splits_put(split_work *w, lb_error *err)
{
    lb_split_file *f = w->f;

    if (w->open.rows == 0)
        return LB_OK;
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 8 : f->cap * 2;
        lb_split_item *grown = realloc(f->items, cap * sizeof *grown);
        if (grown == NULL)
            return lb_fail_nomem(err);
        f->items = grown;
        f->cap = cap;
    }
    f->items[f->n++] = w->open;
    w->open = (lb_split_item){ .first_byte = w->open.first_byte + w->open.bytes,
                               .first_row = w->open.first_row + w->open.rows };
    return LB_OK;
}

/* Add rows whose bytes begin at `from` and end at `end`; what lies between the split's end and `from` goes with
 * them. */
static lb_status splits_add(split_work *w, uint64_t from, uint64_t end, uint64_t rows, lb_error *err)
{
    lb_split_item *open = &w->open;

    if (open->rows != 0 && end - open->first_byte > w->s->target)
        LB_TRY(splits_put(w, err));
    /* Blank lines before a record are no part of it, but of what was before. */
    if (open->rows == 0) {
        if (w->f->n != 0)
            w->f->items[w->f->n - 1].bytes = from - w->f->items[w->f->n - 1].first_byte;
        open->first_byte = from;
    }
    open->bytes = end - open->first_byte;
    open->rows += rows;
    return LB_OK;
}

/* ---------------------------------------------------------------- records of large blocks */

static lb_status splits_need_file(split_work *w, uint64_t file, lb_error *err)
{
    if (w->data != NULL)
        return LB_OK;
    LB_TRY(lb_splits_open_file(w->s, file, &w->data, &w->own, err));
    if (w->data != NULL)
        return LB_OK;
    (void)lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a file was opened and is not there");
    return LB_INTERNAL;
}

static lb_status splits_need_lot(split_work *w, lb_error *err)
{
    if (w->lot != NULL)
        return LB_OK;
    w->cap_lot = (size_t)SPLITS_LOT * (size_t)LB_MAX(w->s->t->cx->threads, 1);
    w->lot = calloc(w->cap_lot, sizeof *w->lot);
    return w->lot == NULL ? lb_fail_nomem(err) : LB_OK;
}

static lb_status splits_find_run(void *user, size_t i, lb_error *err)
{
    const split_work *w = user;
    split_run *run = &w->lot[i];
    size_t found;

    if (run->rows == NULL)
        run->rows = malloc(SPLITS_RUN * sizeof *run->rows);
    if (run->extents == NULL)
        run->extents = malloc(SPLITS_RUN * sizeof *run->extents);
    if (run->rows == NULL || run->extents == NULL)
        return lb_fail_nomem(err);
    LB_TRY(lb_check_cancel(w->s->t->cx, err));
    for (size_t k = 0; k < run->n; k++)
        run->rows[k] = run->first + k;
    LB_TRY(w->data->format->extents(w->data->reader, run->rows, run->n, run->extents, &found, err));
    if (found != run->n)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file gave fewer rows than it has");
    return LB_OK;
}

/* Look for the records of the lot, all threads at once, and fill splits with them in order. */
static lb_status splits_flush(split_work *w, lb_error *err)
{
    LB_TRY(lb_run_jobs(w->s->t->cx, w->n_lot, splits_find_run, w, err));
    for (size_t i = 0; i < w->n_lot; i++)
        for (size_t k = 0; k < w->lot[i].n; k++)
            LB_TRY(splits_add(w, w->lot[i].extents[k].first, w->lot[i].extents[k].end, 1, err));
    w->n_lot = 0;
    return LB_OK;
}

static lb_status splits_records(split_work *w, uint64_t file, uint64_t first, uint64_t count, lb_error *err)
{
    LB_TRY(splits_need_file(w, file, err));
    LB_TRY(splits_need_lot(w, err));
    for (uint64_t done = 0; done < count; done += SPLITS_RUN) {
        split_run *run = &w->lot[w->n_lot++];
        run->first = first + done;
        run->n = (size_t)LB_MIN(count - done, (uint64_t)SPLITS_RUN);
        if (w->n_lot == w->cap_lot)
            LB_TRY(splits_flush(w, err));
    }
    return LB_OK;
}

/* A block that is small enough to go with others whole. */
static lb_status splits_whole(split_work *w, const lb_blocks *b, uint64_t block, lb_error *err)
{
    uint64_t first = b->first_byte[block];

    LB_TRY(splits_flush(w, err));
    return splits_add(w, first, first + lb_blocks_bytes(b, block), b->row_count[block], err);
}

static void splits_close(split_work *w)
{
    for (size_t i = 0; w->lot != NULL && i < w->cap_lot; i++) {
        free(w->lot[i].rows);
        free(w->lot[i].extents);
    }
    free(w->lot);
    if (w->own)
        lb_data_close(w->data);
}

/* ---------------------------------------------------------------- files */

/* Can the records of a file be looked for? A handler of run time is known by the open file only. */
static lb_status splits_can_walk(split_work *w, uint64_t file, const lb_entry *entry, bool *walks, lb_error *err)
{
    const lb_format *format = lb_handler_of_name(entry->format);

    if (format == NULL) {
        LB_TRY(splits_need_file(w, file, err));
        format = w->data->format;
    }
    *walks = format->extents != NULL;
    return LB_OK;
}

static lb_status splits_blocks(split_work *w, uint64_t file, const lb_entry *entry, lb_error *err)
{
    const lb_blocks *b = &entry->blocks;
    bool walks;

    LB_TRY(splits_can_walk(w, file, entry, &walks, err));
    for (uint64_t i = 0; i < b->count; i++) {
        if (walks && lb_blocks_bytes(b, i) > w->s->target / 2 && b->row_count[i] > 1)
            LB_TRY(splits_records(w, file, b->first_row[i], b->row_count[i], err));
        else
            LB_TRY(splits_whole(w, b, i, err));
    }
    LB_TRY(splits_flush(w, err));
    return splits_put(w, err);
}

/* A format whose blocks have no place of their own in the file, or are no file with the header before them: rows are cut
 * at blocks, by their size. */
static lb_status splits_rows(split_work *w, const lb_entry *entry, lb_error *err)
{
    const lb_blocks *b = &entry->blocks;

    w->f->by_bytes = false;
    if (b->count == 0) {
        w->open.rows = entry->total_rows;
        return splits_put(w, err);
    }
    for (uint64_t i = 0, at = 0; i < b->count; at += b->total_byte_size[i++])
        LB_TRY(splits_add(w, at, at + b->total_byte_size[i], b->row_count[i], err));
    return splits_put(w, err);
}

static lb_status splits_entry(split_work *w, uint64_t file, const lb_entry *entry, lb_error *err)
{
    lb_table *t = w->s->t;

    pthread_mutex_lock(&t->lock);
    w->f->path = t->lake ? lb_arena_copy(&t->arena, lb_table_shown(t, entry->rel_path)) : t->path;
    lb_status status = w->f->path == NULL ? lb_arena_fail(&t->arena, err) : LB_OK;
    pthread_mutex_unlock(&t->lock);
    LB_TRY(status);
    /* An element alone is a row, but what lies between two is no file. */
    w->f->by_bytes = !lb_str_is(entry->locator, "array_object") && entry->container.size == 0;
    w->f->header_bytes = entry->has_dialect ? entry->dialect.data_start : 0;
    if (!lb_entry_has_rows(entry) || entry->total_rows == 0)
        return LB_OK;
    const lb_format *format = lb_handler_of_name(entry->format);
    /* Records have bytes of their own, and so do row groups; a record batch leans on what stands before it. */
    bool pieces = entry->blocks.first_byte != NULL && (format == NULL || format->raw != NULL || entry->blocks.packed);
    return pieces ? splits_blocks(w, file, entry, err) : splits_rows(w, entry, err);
}

static lb_status splits_file(void *user, size_t i, lb_error *err)
{
    lb_splits *s = user;
    split_work w = { .s = s, .f = &s->files[i] };
    lb_arena arena;
    lb_entry entry;
    lb_status status = LB_OK;

    lb_arena_init(&arena, &s->t->cx->budget);
    if (s->t->lake)
        status = lb_table_entry(s->t, i, &arena, &entry, err);
    else
        entry = s->single->entry;
    if (status == LB_OK)
        status = splits_entry(&w, i, &entry, err);
    if (status != LB_OK && w.data != NULL)
        lb_fail_path(err, w.data->store->path);
    splits_close(&w);
    lb_arena_free(&arena);
    return status;
}

lb_status lb_splits_open_file(const lb_splits *s, uint64_t file, lb_data **out, bool *own, lb_error *err)
{
    *out = s->single;
    *own = false;
    if (s->t->lake)
        LB_TRY(lb_table_open_file(s->t, file, out, own, err));
    return lb_data_check(*out, err);
}

/* ---------------------------------------------------------------- the public calls */

static lb_status splits_make(lb_splits *s, lb_error *err)
{
    uint64_t rows;

    s->n_files = lb_table_files(s->t);
    s->files = calloc((size_t)s->n_files + 1, sizeof *s->files);
    if (s->files == NULL)
        return lb_fail_nomem(err);
    LB_TRY(lb_table_index(s->t, &s->single, &rows, err));
    LB_TRY(lb_run_jobs(s->t->cx, (size_t)s->n_files, splits_file, s, err));
    for (uint64_t i = 0; i < s->n_files; i++) {
        s->files[i].first_split = s->n;
        s->n += s->files[i].n;
    }
    return LB_OK;
}

lb_status lb_table_splits(lb_table *t, uint64_t target, lb_splits **out, lb_error *err)
{
    lb_error_clear(err);
    *out = NULL;
    if (target == 0)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "a split has a target of at least 1 byte");
    lb_splits *s = calloc(1, sizeof *s);
    if (s == NULL)
        return lb_fail_nomem(err);
    s->t = t;
    s->target = target;
    lb_status status = splits_make(s, err);
    if (status == LB_OK) {
        *out = s;
        return LB_OK;
    }
    lb_splits_free(s);
    lb_fail_path(err, t->path);
    return status;
}

uint64_t lb_splits_count(const lb_splits *s)
{
    return s->n;
}

/* The last file whose splits begin at `index` or before. */
static uint64_t splits_find(const lb_splits *s, uint64_t index)
{
    uint64_t low = 0, high = s->n_files;

    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        if (s->files[mid].first_split <= index)
            low = mid;
        else
            high = mid;
    }
    return low;
}

lb_status lb_splits_at(const lb_splits *s, uint64_t index, lb_split *out, lb_error *err)
{
    lb_error_clear(err);
    if (index >= s->n)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "split %llu of %llu", (unsigned long long)index,
                       (unsigned long long)s->n);
    uint64_t file = splits_find(s, index);
    const lb_split_file *f = &s->files[file];
    const lb_split_item *item = &f->items[index - f->first_split];
    *out = (lb_split){ .struct_size = sizeof *out,
                       .path = f->path,
                       .file = file,
                       .number = index - f->first_split,
                       .first_byte = f->by_bytes ? (int64_t)item->first_byte : -1,
                       .bytes = f->by_bytes ? (int64_t)item->bytes : -1,
                       .first_row = item->first_row,
                       .rows = item->rows,
                       .header_bytes = f->by_bytes ? (int64_t)f->header_bytes : -1 };
    return LB_OK;
}

void lb_splits_free(lb_splits *s)
{
    if (s == NULL)
        return;
    for (uint64_t i = 0; s->files != NULL && i < s->n_files; i++)
        free(s->files[i].items);
    free(s->files);
    free(s);
}
