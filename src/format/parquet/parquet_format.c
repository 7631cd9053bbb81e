/* The handler: sniffing, opening, closing. */
#include <stdlib.h>

#include "format/parquet/parquet_handlers.h"
#include "format/parquet/parquet_reader.h"

static int parquet_sniff(const lb_format *format, const lb_peek *peek)
{
    const uint8_t *tail = peek->tail + peek->tail_size;
    (void)format;

    if (peek->tail_size < 4 || peek->head_size < 4)
        return 0;
    /* An encrypted one is taken too, to be refused by its name. */
    if (memcmp(tail - 4, LB_PARQUET_MAGIC, 4) == 0 || memcmp(tail - 4, LB_PARQUET_MAGIC_ENCRYPTED, 4) == 0)
        return memcmp(peek->head, tail - 4, 4) == 0 ? 100 : 80;
    return 0;
}

static void parquet_close(lb_reader *r)
{
    if (r == NULL)
        return;
    while (r->n_spare > 0)
        lb_parquet_chunk_close(r->spare[--r->n_spare]);
    pthread_mutex_destroy(&r->lock);
    lb_parquet_footer_free(&r->footer);
    free(r);
}

/* The rows that a map tells of are those of the footer. */
static lb_status parquet_check_known(const lb_reader *r, lb_error *err)
{
    const lb_entry *known = r->known;

    if (known == NULL || known->arrow_schema.size == 0 || known->total_rows == r->footer.rows)
        return LB_OK;
    return lb_fail(err, LB_STALE, LB_NOWHERE, "the file has %llu rows, not the %llu that were mapped",
                   (unsigned long long)r->footer.rows, (unsigned long long)known->total_rows);
}

static lb_status parquet_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                              const lb_entry *known, lb_reader **out, lb_error *err)
{
    bool done = false;
    (void)format;
    (void)options;

    *out = NULL;
    lb_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return lb_fail_nomem(err);
    r->cx = cx;
    r->store = store;
    r->known = known;
    pthread_mutex_init(&r->lock, NULL);
    lb_status status = lb_parquet_footer_of(cx, store, known, &r->footer, &done, err);
    if (status == LB_OK && !done)
        status = lb_parquet_footer_read(cx, store, &r->footer, err);
    if (status != LB_OK) {
        pthread_mutex_destroy(&r->lock);
        free(r);
        return status;
    }
    status = parquet_check_known(r, err);
    if (status != LB_OK) {
        parquet_close(r);
        return status;
    }
    *out = r;
    return LB_OK;
}

/* ---------------------------------------------------------------- chunks */

/* Chunks that are kept have no more memory than this together, nor than this share of what there may be. */
#define PARQUET_SPARE_BYTES ((size_t)32 << 20)
#define PARQUET_SPARE_SHARE 8

lb_status lb_parquet_take_chunk(lb_reader *r, const lb_parquet_plan *plan, lb_parquet_chunk **out, lb_error *err)
{
    pthread_mutex_lock(&r->lock);
    *out = r->n_spare == 0 ? NULL : r->spare[--r->n_spare];
    pthread_mutex_unlock(&r->lock);
    if (*out == NULL)
        return lb_parquet_chunk_open(r->cx, r->store, plan, out, err);
    lb_parquet_chunk_reopen(*out, plan);
    return LB_OK;
}

void lb_parquet_give_chunk(lb_reader *r, lb_parquet_chunk **chunk)
{
    const size_t most = LB_MIN(PARQUET_SPARE_BYTES, r->cx->budget.limit / PARQUET_SPARE_SHARE);
    lb_parquet_chunk *c = *chunk;
    size_t kept = c == NULL ? 0 : lb_parquet_chunk_memory(c);

    *chunk = NULL;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n_spare; i++)
        kept += lb_parquet_chunk_memory(r->spare[i]);
    if (c != NULL && r->n_spare < LB_PARQUET_SPARE && kept <= most) {
        r->spare[r->n_spare++] = c;
        c = NULL;
    }
    pthread_mutex_unlock(&r->lock);
    lb_parquet_chunk_close(c);
}

static const char *const parquet_extensions[] = { "parquet", "pq", NULL };
static const char *const parquet_options[] = { NULL };

const lb_format lb_format_parquet = {
    .name = "parquet",
    .extensions = parquet_extensions,
    .locator = "row_group",
    .options = parquet_options,
    .sniff = parquet_sniff,
    .open = parquet_open,
    .survey = lb_parquet_survey,
    .scan = lb_parquet_scan,
    .take = lb_parquet_scan,
    .verify = lb_parquet_verify,
    .close = parquet_close,
};
