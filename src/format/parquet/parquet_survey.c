/* What a map keeps of a Parquet file: row groups as blocks, column chunks, pages, statistics. */
#include "base/utf8.h"
#include "column/ipc.h"
#include "format/parquet/parquet_reader.h"
#include "format/parquet/parquet_stats.h"

/* ---------------------------------------------------------------- schema, row groups, chunks */

static lb_status survey_schema(const lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &r->cx->budget);
    lb_status status = lb_ipc_encode_schema(&r->footer.schema.arrow, &bytes, err);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

static lb_status survey_add_blocks(const lb_parquet_footer *f, lb_block_builder *b, lb_error *err)
{
    for (size_t i = 0; i < f->n_groups; i++) {
        const lb_parquet_group *g = &f->groups[i];
        const lb_block block = { .first_row = g->first_row,
                                 .row_count = g->rows,
                                 .first_byte = g->first_byte,
                                 .total_byte_size = g->total_byte_size,
                                 .compressed_size = g->compressed_size,
                                 .first_line = UINT64_MAX,
                                 .start_hash = UINT64_MAX };
        LB_TRY(lb_block_builder_add(b, &block, err));
    }
    return LB_OK;
}

static lb_status survey_blocks(const lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const lb_parquet_footer *f = &r->footer;
    lb_block_builder b;

    lb_block_builder_init(&b, &r->cx->budget);
    lb_status status = survey_add_blocks(f, &b, err);
    if (status != LB_OK) {
        lb_block_builder_free(&b);
        return status;
    }
    LB_TRY(lb_block_builder_finish(&b, arena, &out->blocks, err));
    lb_parquet_meta room;
    uint8_t *indexed = lb_arena_alloc(arena, f->n_groups / 8 + 1, 1);
    if (indexed == NULL)
        return lb_arena_fail(arena, err);
    for (size_t g = 0; g < f->n_groups; g++)
        for (size_t i = 0; i < f->schema.n_leaves && (indexed[g / 8] >> (g % 8) & 1) == 0; i++)
            if (lb_parquet_footer_look(f, g, i, &room)->offset_index_length != 0)
                indexed[g / 8] |= (uint8_t)(1u << (g % 8));
    out->blocks.page_indexed = indexed;
    out->blocks.packed = true;
    return LB_OK;
}

/* A path that can stand in a map: what is not UTF-8 becomes '?'. */
static char *survey_path(lb_arena *arena, lb_str path)
{
    char *out = lb_arena_copy(arena, path);
    size_t good = 0;

    while (out != NULL && (good += lb_utf8_valid_prefix((const uint8_t *)out + good, path.size - good)) < path.size)
        out[good] = '?';
    return out;
}

static lb_status survey_leaf_paths(const lb_parquet_footer *f, lb_arena *arena, lb_entry *out, lb_error *err)
{
    lb_str *paths = lb_arena_alloc(arena, f->schema.n_leaves + 1, sizeof *paths);

    if (paths == NULL)
        return lb_arena_fail(arena, err);
    for (size_t i = 0; i < f->schema.n_leaves; i++) {
        lb_str path = f->schema.leaves[i].path;
        paths[i] = (lb_str){ survey_path(arena, path), path.size };
        if (paths[i].at == NULL)
            return lb_arena_fail(arena, err);
    }
    out->leaf_paths = paths;
    out->n_leaf_paths = f->schema.n_leaves;
    return LB_OK;
}

/* `nulls_too`: their statistics are looked at, which a read alone has no use for. */
static lb_status survey_chunks(const lb_parquet_footer *f, bool nulls_too, lb_arena *arena, lb_entry *out,
                               lb_error *err)
{
    const size_t leaves = f->schema.n_leaves, n = f->n_groups * leaves;
    uint64_t *offset = lb_arena_alloc(arena, n + 1, sizeof *offset),
             *length = lb_arena_alloc(arena, n + 1, sizeof *length),
             *nulls = lb_arena_alloc(arena, n + 1, sizeof *nulls);

    if (offset == NULL || length == NULL || nulls == NULL)
        return lb_arena_fail(arena, err);
    for (size_t g = 0, i = 0; g < f->n_groups; g++)
        for (size_t leaf = 0; leaf < leaves; leaf++, i++) {
            lb_parquet_meta room;
            const lb_parquet_meta *m = lb_parquet_footer_look(f, g, leaf, &room);
            offset[i] = m->offset;
            length[i] = m->length;
            nulls[i] = UINT64_MAX;
            if (nulls_too)
                LB_TRY(lb_parquet_null_count(m, &f->schema.leaves[leaf], &nulls[i], err));
        }
    out->chunks = (lb_chunks){ .count = n, .offset = offset, .length = length, .null_count = nulls };
    return survey_leaf_paths(f, arena, out, err);
}

/* ---------------------------------------------------------------- pages */

typedef struct survey_pages {
    const lb_reader *r;
    lb_buf block, column, first_row, offset, length;
    uint32_t group, leaf;
    uint64_t next_row; /* of the chunk that is walked; UINT64_MAX: not known any more */
} survey_pages;

static lb_status survey_add_page(survey_pages *p, uint64_t first_row, uint64_t offset, uint64_t length, lb_error *err)
{
    LB_TRY(lb_buf_append(&p->block, &p->group, sizeof p->group, err));
    LB_TRY(lb_buf_append(&p->column, &p->leaf, sizeof p->leaf, err));
    LB_TRY(lb_buf_append(&p->first_row, &first_row, sizeof first_row, err));
    LB_TRY(lb_buf_append(&p->offset, &offset, sizeof offset, err));
    return lb_buf_append(&p->length, &length, sizeof length, err);
}

static lb_status survey_walked(void *user, const lb_parquet_page *page, lb_error *err)
{
    survey_pages *p = user;

    if (page->kind != LB_PARQUET_DATA_PAGE && page->kind != LB_PARQUET_DATA_PAGE_V2)
        return LB_OK;
    return survey_add_page(p, page->first_row, page->offset, (uint64_t)page->header_size + page->stored_size, err);
}

static lb_status survey_chunk_pages(survey_pages *p, lb_arena *scratch, lb_error *err)
{
    const size_t leaf = p->leaf;
    lb_parquet_plan plan;

    LB_TRY(lb_parquet_plan_of(p->r, p->group, leaf, &plan, err));
    LB_TRY(lb_parquet_places(p->r, p->group, &leaf, &plan, 1, scratch, err));
    if (plan.n_places == 0)
        return lb_parquet_pages(p->r->cx, p->r->store, &plan, LB_PARQUET_HEADERS, survey_walked, p, err);
    for (size_t i = 0; i < plan.n_places; i++)
        LB_TRY(survey_add_page(p, plan.places[i].first_row, plan.places[i].offset, plan.places[i].length, err));
    return LB_OK;
}

static lb_status survey_keep_pages(const survey_pages *p, lb_arena *arena, lb_entry *out, lb_error *err)
{
    const uint32_t *block = lb_arena_dup(arena, p->block.data, p->block.size),
                   *column = lb_arena_dup(arena, p->column.data, p->column.size);
    const uint64_t *first = lb_arena_dup(arena, p->first_row.data, p->first_row.size),
                   *offset = lb_arena_dup(arena, p->offset.data, p->offset.size),
                   *length = lb_arena_dup(arena, p->length.data, p->length.size);

    if (block == NULL || column == NULL || first == NULL || offset == NULL || length == NULL)
        return lb_arena_fail(arena, err);
    out->pages = (lb_pages){ p->block.size / sizeof *block, block, column, first, offset, length };
    return LB_OK;
}

static lb_status survey_pages_of(const lb_reader *r, lb_arena *arena, lb_entry *out, lb_error *err)
{
    survey_pages p = { .r = r };
    lb_buf *all[] = { &p.block, &p.column, &p.first_row, &p.offset, &p.length };
    lb_status status = LB_OK;

    for (size_t i = 0; i < LB_COUNT_OF(all); i++)
        lb_buf_init(all[i], &r->cx->budget);
    for (size_t g = 0; status == LB_OK && g < r->footer.n_groups; g++)
        for (size_t i = 0; status == LB_OK && i < r->footer.schema.n_leaves; i++) {
            lb_arena scratch;
            p.group = (uint32_t)g;
            p.leaf = (uint32_t)i;
            lb_arena_init(&scratch, &r->cx->budget);
            status = lb_check_cancel(r->cx, err);
            if (status == LB_OK)
                status = survey_chunk_pages(&p, &scratch, err);
            lb_arena_free(&scratch);
        }
    if (status == LB_OK)
        status = survey_keep_pages(&p, arena, out, err);
    for (size_t i = 0; i < LB_COUNT_OF(all); i++)
        lb_buf_free(all[i]);
    return status;
}

/* ---------------------------------------------------------------- all of it */

lb_status lb_parquet_survey(lb_reader *r, const lb_survey_options *o, lb_arena *arena, lb_entry *out, lb_error *err)
{
    out->total_rows = r->footer.rows;
    LB_TRY(survey_schema(r, arena, out, err));
    LB_TRY(survey_blocks(r, arena, out, err));
    LB_TRY(survey_chunks(&r->footer, o->keep_state, arena, out, err));
    LB_TRY(lb_parquet_footer_keep(&r->footer, arena, &out->open_state, err));
    if (o->pages)
        LB_TRY(survey_pages_of(r, arena, out, err));
    return lb_parquet_survey_stats(r, o, arena, out, err);
}
