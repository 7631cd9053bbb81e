#include "lance/lance_format.h"

#include <stdlib.h>

#include "lance/dataset_store.h"

/* Column `open_state` of a map: which version was mapped. */
typedef struct lance_state {
    char mark[8]; /* "LANCEv01" */
    uint64_t version;
} lance_state;

static const char lance_mark[8] = { 'L', 'A', 'N', 'C', 'E', 'v', '0', '1' };

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

/* A map's entry is of this very version. */
static lb_status lance_check_known(const lb_entry *known, const lb_store *store, lb_error *err)
{
    lance_state state;

    if (known == NULL || known->open_state.size != sizeof state)
        return LB_OK;
    memcpy(&state, known->open_state.at, sizeof state);
    if (memcmp(state.mark, lance_mark, sizeof lance_mark) == 0 && state.version == lance_version(store))
        return LB_OK;
    return lb_fail(err, LB_STALE, LB_NOWHERE, "the dataset has another version than the one that was mapped");
}

static void lance_close(lb_reader *r)
{
    if (r == NULL)
        return;
    lb_lance_set_close(r->set);
    free(r);
}

static lb_status lance_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                            const lb_entry *known, lb_reader **out, lb_error *err)
{
    (void)format;
    (void)options;
    *out = NULL;
    LB_TRY(lance_check_known(known, store, err));
    lb_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return lb_fail_nomem(err);
    *r = (lb_reader){ .cx = cx, .store = store, .known = known };
    lb_status status = lb_lance_set_open(cx, store, &r->set, err);
    if (status == LB_OK && known != NULL && known->arrow_schema.size != 0 && known->total_rows != r->set->rows)
        status = lb_fail(err, LB_STALE, LB_NOWHERE, "the dataset has %llu rows, not the %llu that were mapped",
                         (unsigned long long)r->set->rows, (unsigned long long)known->total_rows);
    if (status != LB_OK) {
        lance_close(r);
        return status;
    }
    *out = r;
    return LB_OK;
}

/* ---------------------------------------------------------------- survey */

static lb_status lance_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    LB_TRY(lb_lance_survey(r->set, o, arena, out, err));
    if (o->keep_state && r->store->open_inside != NULL) {
        lance_state state = { .version = lance_version(r->store) };
        memcpy(state.mark, lance_mark, sizeof lance_mark);
        out->open_state = (lb_str){ lb_arena_dup(arena, &state, sizeof state), sizeof state };
        if (out->open_state.at == NULL)
            return lb_arena_fail(arena, err);
    }
    return LB_OK;
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
