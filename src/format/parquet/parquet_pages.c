/* All pages of a chunk in turn: for a list of where they lie, and to verify them. */
#include "format/parquet/parquet_chunk.h"

#define PAGES_BLOCK 1024

typedef struct pages_walk {
    lb_parquet_chunk *chunk;
    lb_parquet_depth depth;
    const lb_parquet_plan *plan; /* with the places that are to be compared */
    lb_parquet_conversion as;    /* as it is stored */
    size_t place;                /* that the next data page has to have */
} pages_walk;

static lb_parquet_conversion conversion_stored(const lb_parquet_leaf *leaf)
{
    lb_parquet_conversion as = { .form = LB_PARQUET_WIDE, .type = "" };

    as.stored = as.width = lb_parquet_width(leaf);
    if (leaf->physical == LB_PARQUET_BOOLEAN)
        as.form = LB_PARQUET_BITS;
    else if (leaf->physical == LB_PARQUET_BYTE_ARRAY)
        as.form = LB_PARQUET_STRINGS;
    return as;
}

/* Decode values as far as it takes to know that they are whole. */
static lb_status walk_values(pages_walk *w, size_t n, lb_error *err)
{
    uint32_t indices[PAGES_BLOCK];

    if (w->chunk->values.kind != LB_PARQUET_V_DICTIONARY)
        return lb_parquet_chunk_skip(w->chunk, n, err);
    LB_TRY(lb_parquet_chunk_want(w->chunk, n, err));
    for (size_t part; n != 0; n -= part) {
        part = LB_MIN(n, (size_t)PAGES_BLOCK);
        LB_TRY(lb_parquet_chunk_indices(w->chunk, &w->as, part, indices, err));
    }
    return LB_OK;
}

static lb_status walk_block(pages_walk *w, uint64_t *rows, lb_error *err)
{
    lb_parquet_chunk *c = w->chunk;
    size_t there = 0;

    for (size_t i = 0; i < c->block_size; i++) {
        *rows += c->reps[i] == 0;
        there += c->defs[i] == c->plan.leaf->max_def;
    }
    c->block_at = c->block_size;
    return w->depth == LB_PARQUET_ALL && there != 0 ? walk_values(w, there, err) : LB_OK;
}

/* Decode a data page, and count the rows that begin in it. */
static lb_status walk_body(pages_walk *w, lb_parquet_page_head *head, lb_error *err)
{
    lb_parquet_chunk *c = w->chunk;
    uint64_t rows = 0;
    bool end;

    LB_TRY(lb_parquet_chunk_begin(c, head, err));
    while (c->levels_left != 0) {
        LB_TRY(lb_parquet_chunk_levels(c, 0, &end, err));
        LB_TRY(walk_block(w, &rows, err));
    }
    if (head->page.n_rows != LB_PARQUET_UNKNOWN && head->page.n_rows != rows)
        return lb_fail(err, LB_CORRUPT, LB_AT(head->page.offset),
                       "%llu rows begin in the page, not the %llu that its header says", (unsigned long long)rows,
                       (unsigned long long)head->page.n_rows);
    head->page.n_rows = rows;
    return LB_OK;
}

/* The index says of this page what the page says. Pages without values may be left out. */
static lb_status walk_compare(pages_walk *w, const lb_parquet_page *page, lb_error *err)
{
    const lb_parquet_plan *p = w->plan;

    if (p->n_places == 0)
        return LB_OK;
    if (w->place >= p->n_places || p->places[w->place].offset != page->offset) {
        if (page->num_values == 0)
            return LB_OK;
        return lb_fail(err, LB_CORRUPT, LB_AT(page->offset), "the page index does not have this page");
    }
    if (p->places[w->place++].first_row == page->first_row)
        return LB_OK;
    return lb_fail(err, LB_CORRUPT, LB_AT(page->offset),
                   "the page index has row %llu where the page begins with row %llu",
                   (unsigned long long)p->places[w->place - 1].first_row, (unsigned long long)page->first_row);
}

static lb_status walk_data(pages_walk *w, lb_parquet_page_head *head, lb_error *err)
{
    lb_parquet_chunk *c = w->chunk;

    head->page.first_row = c->row;
    c->values_seen += head->page.num_values;
    if (w->depth == LB_PARQUET_ALL || (w->depth == LB_PARQUET_ROWS && head->page.n_rows == LB_PARQUET_UNKNOWN))
        LB_TRY(walk_body(w, head, err));
    if (head->page.n_rows == LB_PARQUET_UNKNOWN || c->row == LB_PARQUET_UNKNOWN)
        c->row = LB_PARQUET_UNKNOWN;
    else
        c->row += head->page.n_rows;
    return w->depth == LB_PARQUET_ALL ? walk_compare(w, &head->page, err) : LB_OK;
}

static lb_status walk_page(pages_walk *w, lb_parquet_page_head *head, lb_error *err)
{
    lb_parquet_chunk *c = w->chunk;

    LB_TRY(lb_check_cancel(c->cx, err));
    c->head = *head; /* where a failure is */
    LB_TRY(lb_parquet_chunk_head(c, head, err));
    c->head = *head;
    c->next = head->page.offset + head->page.header_size + head->page.stored_size;
    if (head->page.kind == LB_PARQUET_DATA_PAGE || head->page.kind == LB_PARQUET_DATA_PAGE_V2)
        return walk_data(w, head, err);
    if (head->page.kind == LB_PARQUET_DICTIONARY_PAGE && w->depth == LB_PARQUET_ALL) {
        LB_TRY(lb_parquet_chunk_dictionary_page(c, head, err));
        return lb_parquet_dictionary_ready(&c->dictionary, c->plan.leaf, &w->as, c->dictionary.count, err);
    }
    return LB_OK;
}

/* What a chunk must come to. */
static lb_status walk_end(const pages_walk *w, lb_error *err)
{
    const lb_parquet_chunk *c = w->chunk;

    if (c->values_seen != w->plan->num_values)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the pages of the chunk have %llu values, not %llu",
                       (unsigned long long)c->values_seen, (unsigned long long)w->plan->num_values);
    if (c->row != w->plan->rows)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the pages of the chunk have %llu rows, not %llu",
                       (unsigned long long)c->row, (unsigned long long)w->plan->rows);
    if (w->place < w->plan->n_places)
        return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "the page index has pages that the chunk does not have");
    return LB_OK;
}

static lb_status walk_all(pages_walk *w, lb_parquet_page_fn page, void *user, lb_error *err)
{
    lb_parquet_page_head head = { .page = { .offset = w->plan->offset } };

    while (!lb_parquet_chunk_ended(w->chunk)) {
        lb_status status = walk_page(w, &head, err);
        if (status != LB_OK)
            return lb_parquet_chunk_failed(w->chunk, status, err);
        if (page != NULL)
            LB_TRY(page(user, &head.page, err));
    }
    return w->depth == LB_PARQUET_ALL ? lb_parquet_chunk_failed(w->chunk, walk_end(w, err), err) : LB_OK;
}

lb_status lb_parquet_pages(lb_context *cx, lb_store *store, const lb_parquet_plan *plan, lb_parquet_depth depth,
                           lb_parquet_page_fn page, void *user, lb_error *err)
{
    lb_parquet_plan walked = *plan;
    pages_walk w = { .depth = depth, .plan = plan, .as = conversion_stored(plan->leaf) };

    /* Every header in turn; read ahead only where the bodies are wanted too. */
    walked.n_places = 0;
    walked.places = NULL;
    walked.want_first = 0;
    walked.want_end = depth == LB_PARQUET_HEADERS ? 0 : plan->rows;
    walked.sparse = depth == LB_PARQUET_ROWS; /* levels are enough */
    LB_TRY(lb_parquet_chunk_open(cx, store, &walked, &w.chunk, err));
    lb_status status = walk_all(&w, page, user, err);
    lb_parquet_chunk_close(w.chunk);
    return status;
}
