#include "format/lance/lance_data.h"

#include <stdlib.h>

/* ---------------------------------------------------------------- versions */

lb_status lb_lance_data_check_version(const lb_lance_footer *f, lb_error *err)
{
    const char *name = NULL;

    if (f->major == 0 && f->minor <= 2)
        return LB_OK;
    if ((f->major == 0 && f->minor == 3) || (f->major == 2 && f->minor == 0))
        name = "2.0";
    else if (f->major == 2 && f->minor == 1)
        name = "2.1";
    else if (f->major == 2 && f->minor == 2)
        name = "2.2";
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE,
            "this file uses %s%s (footer %u.%u); only the legacy format (0.1) is supported",
            name == NULL ? "an unknown Lance file format" : "Lance file format ", name == NULL ? "" : name, f->major,
            f->minor);
    lb_fail_hint(err, "a current Lance release can write the data again with data_storage_version=\"legacy\"");
    return LB_UNSUPPORTED;
}

/* ---------------------------------------------------------------- the end of a file */

#define DATA_TAIL ((size_t)16384) /* holds everything but the pages of most files */
#define DATA_TAIL_SHORT ((size_t)2048)

/* The store with its last bytes read at once: what opening a file needs lies there, in pieces. */
typedef struct data_tail {
    lb_store store;
    lb_store *whole;
    uint64_t first; /* of `bytes` in the file */
    uint8_t *bytes;
    size_t size;
} data_tail;

static lb_status tail_read_at(lb_store *store, uint64_t offset, void *out, size_t size, size_t *got, lb_error *err)
{
    const data_tail *t = (const data_tail *)store;

    if (offset < t->first || offset > t->first + t->size)
        return lb_store_read(t->whole, offset, out, size, got, err);
    *got = (size_t)LB_MIN((uint64_t)size, t->first + t->size - offset);
    memcpy(out, t->bytes + (offset - t->first), *got);
    return LB_OK;
}

static lb_status tail_init(data_tail *t, lb_store *whole, void *room, size_t cap, lb_error *err)
{
    size_t want = (size_t)LB_MIN((uint64_t)cap, whole->size);

    *t = (data_tail){ .store = { .read_at = tail_read_at, .path = whole->path, .size = whole->size },
                      .whole = whole,
                      .first = whole->size - want,
                      .bytes = room };
    return lb_store_read(whole, t->first, room, want, &t->size, err);
}

/* ---------------------------------------------------------------- metadata */

/* `from`: the file's store, or one with its tail. */
static lb_status data_metadata(lb_lance_data *d, lb_store *from, lb_error *err)
{
    lb_lance_footer footer;

    LB_TRY(lb_lance_read_footer(from, &footer, err));
    LB_TRY(lb_lance_data_check_version(&footer, err));
    d->end = from->size - LB_LANCE_FOOTER;
    return lb_lance_read_message(from, &lb_pb__file_metadata__descriptor, footer.position, d->end, true,
                                 "the file's metadata", &d->arena, &d->meta, err);
}

static lb_status data_batches(lb_lance_data *d, lb_error *err)
{
    static const int32_t none[1];
    const lb_lance_file_metadata *m = d->meta;

    d->offsets = m->n_batch_offsets == 0 ? none : m->batch_offsets;
    d->n_batches = m->n_batch_offsets == 0 ? 0 : m->n_batch_offsets - 1;
    if (d->offsets[0] != 0)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the first batch begins at row %d, not 0", d->offsets[0]);
    for (size_t i = 0; i < d->n_batches; i++)
        if (d->offsets[i + 1] < d->offsets[i])
            return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "batch %zu ends at row %d, before it begins", i,
                           d->offsets[i + 1]);
    d->rows = (uint64_t)d->offsets[d->n_batches];
    return LB_OK;
}

static lb_status data_schema(lb_lance_data *d, lb_store *from, lb_error *err)
{
    if (d->meta->manifest_position == 0)
        return LB_OK;
    return lb_lance_read_message(from, &lb_pb__manifest__descriptor, d->meta->manifest_position, d->end, false,
                                 "the file's schema", &d->arena, &d->schema, err);
}

/* ---------------------------------------------------------------- page table */

typedef struct data_ids {
    int32_t min, max;
} data_ids;

static void data_id(data_ids *ids, int32_t id)
{
    if (id < 0) /* a retired column */
        return;
    ids->min = LB_MIN(ids->min, id);
    ids->max = LB_MAX(ids->max, id);
}

/* Where the values of a dictionary begin: for text that is what the first offset says. */
static uint64_t data_dictionary_start(lb_store *from, const lb_lance_field *f)
{
    lb_str logical = lb_lance_str(f->logical_type);
    uint64_t start = (uint64_t)f->dictionary->offset;
    lb_lance_type type;
    size_t got;

    if (f->dictionary->offset < 0 || lb_lance_type_of(logical, &type, NULL, NULL) != LB_OK ||
        type.kind != LB_LANCE_DICTIONARY || type.value_kind != LB_LANCE_VAR)
        return start;
    if (lb_store_read(from, start, &start, sizeof start, &got, NULL) != LB_OK || got != sizeof start)
        return UINT64_MAX;
    return start;
}

/* What follows the page table tells how many rows it has. */
static uint64_t data_table_end(const lb_lance_data *d, lb_store *from)
{
    uint64_t table = d->meta->page_table_position, next = d->end;

    if (d->meta->manifest_position > table)
        next = LB_MIN(next, d->meta->manifest_position);
    for (size_t i = 0; d->schema != NULL && i < d->schema->n_fields; i++) {
        const lb_lance_field *f = d->schema->fields[i];
        uint64_t start = f->dictionary == NULL ? 0 : data_dictionary_start(from, f);
        if (start > table)
            next = LB_MIN(next, start);
    }
    return next;
}

/* Field ids of the table's rows. Up to release 0.7 they began at 0, since 0.8 at the smallest id of the file: only the room
 * that the table has says which. */
static lb_status data_table_ids(lb_lance_data *d, const data_ids *ids, uint64_t room, lb_error *err)
{
    uint64_t row = 16 * (uint64_t)d->n_batches, rows = room / row;

    if (d->meta->statistics != NULL) {
        d->low = ids->min;
        d->high = ids->max;
    } else {
        d->low = rows > (uint64_t)ids->max ? 0 : ids->min;
        d->high = (int32_t)LB_MIN((uint64_t)ids->max, (uint64_t)d->low + rows - 1);
    }
    if (rows == 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(d->meta->page_table_position), "there is no room for a page table");
    /* Field ids behind the last leaf have no row. */
    d->high = (int32_t)LB_MIN((int64_t)d->high, (int64_t)d->low + (int64_t)LB_MIN(rows, (uint64_t)INT32_MAX) - 1);
    return LB_OK;
}

static lb_status data_pages(lb_lance_data *d, lb_store *from, const int32_t *fields, size_t n_fields, lb_error *err)
{
    data_ids ids = { INT32_MAX, -1 };
    uint64_t table = d->meta->page_table_position;
    size_t got;

    for (size_t i = 0; d->schema != NULL && i < d->schema->n_fields; i++)
        data_id(&ids, d->schema->fields[i]->id);
    for (size_t i = 0; d->schema == NULL && i < n_fields; i++)
        data_id(&ids, fields[i]);
    d->low = 0;
    d->high = -1;
    if (d->n_batches == 0 || ids.max < 0)
        return LB_OK;
    if (table >= d->end)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the page table is said to lie at byte %llu of %llu",
                       (unsigned long long)table, (unsigned long long)d->end);
    LB_TRY(data_table_ids(d, &ids, data_table_end(d, from) - table, err));
    size_t count = (size_t)(d->high - d->low + 1) * d->n_batches;
    lb_lance_page *pages = lb_arena_alloc(&d->arena, count, sizeof *pages);
    if (pages == NULL)
        return lb_arena_fail(&d->arena, err);
    LB_TRY(lb_store_read(from, table, pages, count * sizeof *pages, &got, err));
    if (got != count * sizeof *pages)
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the file became shorter while it was read");
    d->pages = pages;
    return LB_OK;
}

/* ---------------------------------------------------------------- opening */

static lb_status data_open(lb_lance_data *d, const int32_t *ids, size_t n_ids, lb_error *err)
{
    uint8_t room[DATA_TAIL];
    data_tail tail;

    LB_TRY(tail_init(&tail, d->store, room, sizeof room, err));
    LB_TRY(data_metadata(d, &tail.store, err));
    LB_TRY(data_batches(d, err));
    LB_TRY(data_schema(d, &tail.store, err));
    return data_pages(d, &tail.store, ids, n_ids, err);
}

lb_status lb_lance_data_open(lb_store *store, bool lent, const int32_t *ids, size_t n_ids, lb_budget *budget,
                             lb_lance_data **out, lb_error *err)
{
    lb_lance_data *d = calloc(1, sizeof *d);

    *out = NULL;
    if (d == NULL) {
        if (!lent)
            lb_store_close(store);
        return lb_fail_nomem(err);
    }
    d->store = store;
    d->lent = lent;
    lb_arena_init(&d->arena, budget);
    lb_status status = data_open(d, ids, n_ids, err);
    if (status == LB_OK) {
        *out = d;
        return LB_OK;
    }
    lb_fail_path(err, store->path);
    lb_lance_data_close(d);
    return status;
}

void lb_lance_data_close(lb_lance_data *d)
{
    if (d == NULL)
        return;
    if (!d->lent)
        lb_store_close(d->store);
    lb_arena_free(&d->arena);
    free(d);
}

lb_status lb_lance_data_count(lb_store *store, lb_budget *budget, uint64_t *rows, lb_error *err)
{
    lb_lance_data d = { .store = store };
    uint8_t room[DATA_TAIL_SHORT];
    data_tail tail;

    lb_arena_init(&d.arena, budget);
    lb_status status = tail_init(&tail, store, room, sizeof room, err);
    if (status == LB_OK)
        status = data_metadata(&d, &tail.store, err);
    if (status == LB_OK)
        status = data_batches(&d, err);
    *rows = d.rows;
    lb_arena_free(&d.arena);
    if (status != LB_OK)
        lb_fail_path(err, store->path);
    return status;
}

size_t lb_lance_data_batch(const lb_lance_data *d, uint64_t row)
{
    size_t low = 0, high = d->n_batches;

    /* The last batch that begins at the row or before: empty ones are passed over. */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((uint64_t)d->offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

lb_status lb_lance_data_page(const lb_lance_data *d, int32_t id, size_t batch, lb_lance_page *out, lb_error *err)
{
    if (id < d->low || id > d->high || batch >= d->n_batches)
        return lb_fail(err, LB_CORRUPT, LB_AT(d->meta->page_table_position), "the page table has no field %d", id);
    *out = d->pages[(size_t)(id - d->low) * d->n_batches + batch];
    if (out->position < 0 || out->length < 0)
        return lb_fail(err, LB_CORRUPT, LB_AT(d->meta->page_table_position), "field %d has no page in batch %zu", id,
                       batch);
    return LB_OK;
}
