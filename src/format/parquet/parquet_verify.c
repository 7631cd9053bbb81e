/* Everything of a file is read: the footer, the indexes, each page with its checksum, levels and values. */
#include "base/pool.h"
#include "format/parquet/parquet_reader.h"

typedef struct verify_chunk {
    uint64_t next_row; /* of the row group, behind the pages that were right; LB_PARQUET_UNKNOWN */
} verify_chunk;

static lb_status verify_page(void *user, const lb_parquet_page *page, lb_error *err)
{
    verify_chunk *c = user;
    (void)err;

    if (page->kind == LB_PARQUET_DATA_PAGE || page->kind == LB_PARQUET_DATA_PAGE_V2)
        c->next_row = page->first_row == LB_PARQUET_UNKNOWN || page->n_rows == LB_PARQUET_UNKNOWN
                          ? LB_PARQUET_UNKNOWN
                          : page->first_row + page->n_rows;
    return LB_OK;
}

/* The offset index, where there is one, has to be right: slices rely on it. */
static lb_status verify_index(const lb_reader *r, size_t group, size_t leaf, lb_parquet_plan *plan, lb_arena *arena,
                              lb_error *err)
{
    const lb_parquet_meta m = lb_parquet_footer_meta(&r->footer, group, leaf);

    if (m.offset_index_length == 0)
        return LB_OK;
    LB_TRY(lb_parquet_places(r, group, &leaf, plan, 1, arena, err));
    if (plan->n_places != 0 || plan->num_values == 0)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_AT(m.offset_index),
                   "the offset index of column '%.200s', row group %zu, is damaged", plan->leaf->path.at, group);
}

static lb_status verify_one(void *user, size_t index, lb_error *err)
{
    const lb_reader *r = user; /* with a footer that was read */
    const lb_parquet_footer *f = &r->footer;
    const size_t group = index / f->schema.n_leaves, leaf = index % f->schema.n_leaves;
    verify_chunk c = { .next_row = 0 };
    lb_parquet_plan plan;
    lb_arena arena;

    LB_TRY(lb_check_cancel(r->cx, err));
    LB_TRY(lb_parquet_plan_of(r, group, leaf, &plan, err));
    lb_arena_init(&arena, &r->cx->budget);
    lb_status status = verify_index(r, group, leaf, &plan, &arena, err);
    if (status == LB_OK)
        status = lb_parquet_pages(r->cx, r->store, &plan, LB_PARQUET_ALL, verify_page, &c, err);
    if (status == LB_CORRUPT && err != NULL && err->row < 0 && c.next_row != LB_PARQUET_UNKNOWN)
        err->row = (int64_t)(f->groups[group].first_row + LB_MIN(c.next_row, f->groups[group].rows));
    lb_arena_free(&arena);
    return status;
}

/* What a map says of the file is what its footer says. */
static lb_status verify_known(const lb_reader *r, const lb_entry *known, lb_error *err)
{
    const lb_parquet_footer *f = &r->footer;
    bool same = known->total_rows == f->rows && known->blocks.count == f->n_groups;

    for (size_t g = 0; same && g < f->n_groups; g++)
        same = known->blocks.row_count[g] == f->groups[g].rows;
    return same ? LB_OK : lb_fail(err, LB_STALE, LB_AT(f->at), "the row groups are not those that were mapped");
}

lb_status lb_parquet_verify(lb_reader *r, lb_error *err)
{
    lb_reader whole = { .cx = r->cx, .store = r->store };

    LB_TRY(lb_parquet_footer_read(r->cx, r->store, &whole.footer, err));
    lb_status status = LB_OK;
    if (r->known != NULL && r->known->blocks.count != 0)
        status = verify_known(&whole, r->known, err);
    if (status == LB_OK)
        status = lb_run_jobs(r->cx, whole.footer.n_groups * whole.footer.schema.n_leaves, verify_one, &whole, err);
    lb_parquet_footer_free(&whole.footer);
    return status;
}
