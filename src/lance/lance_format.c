#include "lance/lance_format.h"

#include <stdlib.h>

#include "lance/dataset_store.h"
#include "lance/lance_drift.h"

/* Column `open_state` of a map: which version was mapped, and behind it the rows of its fragments (lb_lance_count_run), so
 * that no data file has to be asked again. */
typedef struct lance_state {
    char mark[8]; /* "LANCEv02"; "LANCEv01": no fragments follow */
    uint64_t version;
} lance_state;

static const char lance_mark[8] = { 'L', 'A', 'N', 'C', 'E', 'v', '0', '2' };
static const char lance_mark_first[8] = { 'L', 'A', 'N', 'C', 'E', 'v', '0', '1' };

struct lb_reader {
    lb_context *cx;
    lb_store *store;
    const lb_entry *known;
    lb_lance_set *set;
};

lb_lance_set *lb_lance_reader_set(lb_reader *reader)
{
    return reader->set;
}

static int lance_sniff(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    return peek->tail_size >= 4 && memcmp(peek->tail + peek->tail_size - 4, LB_LANCE_MAGIC, 4) == 0 ? 100 : 0;
}

static uint64_t lance_version(const lb_store *store)
{
    return store->open_inside == NULL ? 0 : lb_dataset_store_version(store).version;
}

bool lb_lance_entry_version(const lb_entry *entry, uint64_t *version)
{
    lance_state state;

    if (entry->open_state.size < sizeof state)
        return false;
    memcpy(&state, entry->open_state.at, sizeof state);
    *version = state.version;
    return state.version != 0 && (memcmp(state.mark, lance_mark_first, sizeof state.mark) == 0 ||
                                  memcmp(state.mark, lance_mark, sizeof state.mark) == 0);
}

/* A map's entry is of this very version. Its numbers, where it has any, go to the arena. */
static lb_status lance_take_known(const lb_entry *known, const lb_store *store, lb_arena *arena,
                                  const lb_lance_counts **out, lb_error *err)
{
    lance_state state;

    if (known == NULL || known->open_state.size < sizeof state)
        return LB_OK;
    memcpy(&state, known->open_state.at, sizeof state);
    bool first = memcmp(state.mark, lance_mark_first, sizeof state.mark) == 0;
    if ((!first && memcmp(state.mark, lance_mark, sizeof lance_mark) != 0) || state.version != lance_version(store))
        return lb_fail(err, LB_STALE, LB_NOWHERE, "the dataset has another version than the one that was mapped");
    if (first)
        return LB_OK;
    size_t size = known->open_state.size - sizeof state;
    lb_lance_counts *counts = lb_arena_alloc(arena, 1, sizeof *counts);
    void *runs = lb_arena_dup(arena, known->open_state.at + sizeof state, size);
    if (counts == NULL || runs == NULL)
        return lb_arena_fail(arena, err);
    *counts = (lb_lance_counts){ size / sizeof(lb_lance_count_run), runs };
    *out = counts;
    return LB_OK;
}

static void lance_drop(void *set)
{
    lb_lance_set_close(set);
}

/* A dataset is mostly opened again at once, by what was found in it. */
static void lance_close(lb_reader *r)
{
    if (r == NULL)
        return;
    if (r->set != NULL && r->store->open_inside != NULL)
        lb_dataset_store_keep(r->store, r->set, lance_drop);
    else
        lb_lance_set_close(r->set);
    free(r);
}

static lb_status lance_open_set(lb_reader *r, lb_error *err)
{
    const lb_lance_counts *counts = NULL;
    lb_arena arena;

    r->set = r->store->open_inside == NULL ? NULL : lb_dataset_store_take(r->store);
    if (r->set != NULL && r->set->cx != r->cx) {
        lb_lance_set_close(r->set);
        r->set = NULL;
    }
    lb_arena_init(&arena, &r->cx->budget);
    lb_status status = lance_take_known(r->known, r->store, &arena, &counts, err);
    if (status == LB_OK && r->set == NULL)
        status = lb_lance_set_open_some(r->cx, r->store, counts, &r->set, err);
    lb_arena_free(&arena);
    if (status != LB_OK || r->known == NULL || r->known->arrow_schema.size == 0)
        return status;
    uint64_t rows = atomic_load(&r->set->rows), mapped = r->known->total_rows;
    if (rows == mapped || rows == LB_ROWS_UNKNOWN || mapped == LB_ROWS_UNKNOWN)
        return LB_OK;
    return lb_fail(err, LB_STALE, LB_NOWHERE, "the dataset has %llu rows, not the %llu that were mapped",
                   (unsigned long long)rows, (unsigned long long)mapped);
}

static lb_status lance_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                            const lb_entry *known, lb_reader **out, lb_error *err)
{
    (void)format;
    (void)options;
    *out = NULL;
    lb_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .cx = cx, .store = store, .known = known };
    lb_status status = lance_open_set(r, err);
    if (status != LB_OK) {
        lance_close(r);
        return status;
    }
    *out = r;
    return LB_OK;
}

/* ---------------------------------------------------------------- survey */

static lb_status lance_put_state(const lb_reader *r, lb_buf *bytes, lb_error *err)
{
    lance_state state = { .version = lance_version(r->store) };
    lb_lance_count_run run = { 0, 0, 0 };
    size_t reached = atomic_load(&r->set->reached);

    memcpy(state.mark, lance_mark, sizeof lance_mark);
    LB_TRY(lb_buf_append(bytes, &state, sizeof state, err));
    for (size_t i = 0; i < reached; i++) {
        const lb_lance_rows_of *f = &r->set->fragments[i];
        if (run.count != 0 && (f->rows != run.rows || f->deleted != run.deleted)) {
            LB_TRY(lb_buf_append(bytes, &run, sizeof run, err));
            run.count = 0;
        }
        run = (lb_lance_count_run){ run.count + 1, (uint32_t)f->rows, (uint32_t)f->deleted };
    }
    return run.count == 0 ? LB_OK : lb_buf_append(bytes, &run, sizeof run, err);
}

static lb_status lance_keep_state(const lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &r->cx->budget);
    lb_status status = lance_put_state(r, &bytes, err);
    if (status == LB_OK) {
        out->open_state = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->open_state.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

static lb_status lance_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    if (!o->rows_later)
        LB_TRY(lb_lance_set_reach(r->set, UINT64_MAX, err));
    LB_TRY(lb_lance_survey(r->set, o, arena, out, err));
    return r->store->open_inside == NULL ? LB_OK : lance_keep_state(r, arena, out, err);
}

/* ---------------------------------------------------------------- rows */

static uint64_t lance_border(void *user, uint64_t row)
{
    const lb_reader *r = user;

    return lb_blocks_border(&r->known->blocks, row);
}

static lb_status lance_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    uint64_t *columns = calloc(range->n_columns + 1, sizeof *columns);

    out->release = NULL;
    if (columns == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < range->n_columns; i++)
        columns[i] = range->columns[i].column;
    const lb_lance_scan scan = { .first = range->first,
                                 .count = range->count,
                                 .rows = range->rows,
                                 .n_columns = range->n_columns,
                                 .columns = columns,
                                 .batch_rows = range->batch_rows,
                                 .border = r->known == NULL || range->rows != NULL ? NULL : lance_border,
                                 .border_user = r };
    lb_status status = lb_lance_set_scan(r->set, &scan, out, err);
    free(columns);
    return status;
}

static lb_status lance_verify(lb_reader *r, lb_error *err)
{
    return lb_lance_verify(r->set, err);
}

static const char *const lance_extensions[] = { "lance", NULL };
static const char *const lance_options[] = { NULL };

const lb_format lb_format_lance = {
    .name = "lance",
    .extensions = lance_extensions,
    .locator = "fragment",
    .options = lance_options,
    .sniff = lance_sniff,
    .open = lance_open,
    .survey = lance_survey,
    .scan = lance_scan,
    .take = lance_scan,
    .verify = lance_verify,
    .close = lance_close,
};
