/* Which files, blocks and bytes a take touches, without reading rows. */
#include "lake/take.h"

static lb_status explain_strings(lb_table *t, const lb_entry *entry, lb_part *out, lb_error *err)
{
    pthread_mutex_lock(&t->lock);
    out->path = t->lake ? lb_arena_copy(&t->arena, lb_table_shown(t, entry->rel_path)) : t->path;
    out->format = lb_arena_copy(&t->arena, entry->format);
    out->locator = lb_arena_copy(&t->arena, entry->locator);
    bool good = out->path != NULL && out->format != NULL && out->locator != NULL;
    lb_status status = good ? LB_OK : lb_arena_fail(&t->arena, err);
    pthread_mutex_unlock(&t->lock);
    return status;
}

/* Count the blocks of ascending rows; `bytes` -1: not known. */
static void explain_blocks(const lb_blocks *b, const uint64_t *rows, size_t n, lb_part *out)
{
    uint64_t before = UINT64_MAX;

    out->bytes = b->first_byte != NULL ? 0 : -1;
    for (size_t i = 0; i < n; i++) {
        uint64_t block = lb_blocks_find(b, rows[i]);
        if (block == UINT64_MAX)
            continue;
        if (block != before) {
            out->first_block = before == UINT64_MAX ? block : out->first_block;
            out->blocks++;
            out->skipped_rows += rows[i] - b->first_row[block];
            if (b->first_byte != NULL)
                out->bytes += (int64_t)lb_blocks_bytes(b, block);
        } else {
            out->skipped_rows += rows[i] - rows[i - 1] - 1;
        }
        before = block;
    }
    out->first_byte = b->first_byte != NULL && out->blocks != 0 ? (int64_t)b->first_byte[out->first_block] : -1;
}

static lb_status explain_part(const lb_take_window *w, const lb_take_part *p, lb_arena *arena, lb_part *out,
                              lb_error *err)
{
    const uint64_t *rows = w->rows + p->first;
    size_t n = p->end - p->first;
    lb_entry entry;

    LB_TRY(lb_take_entry(w, p->file, arena, &entry, err));
    *out = (lb_part){ .struct_size = sizeof *out,
                      .map = lb_table_reason(w->t, p->file, &entry),
                      .first_row = rows[0],
                      .rows = n,
                      .first_byte = -1,
                      .bytes = -1 };
    if (strcmp(out->map, "used") == 0) {
        explain_blocks(&entry.blocks, rows, n, out);
    } else {
        out->first_byte = 0;
        out->bytes = (int64_t)entry.size_bytes;
        out->skipped_rows = rows[n - 1] + 1 - n;
    }
    return explain_strings(w->t, &entry, out, err);
}

static lb_status explain_all(const lb_take_window *w, lb_part_fn tell, void *user, lb_error *err)
{
    for (size_t i = 0; i < w->n_parts; i++) {
        lb_part part;
        lb_arena arena;
        lb_arena_init(&arena, &w->t->cx->budget);
        lb_status status = explain_part(w, &w->parts[i], &arena, &part, err);
        lb_arena_free(&arena);
        LB_TRY(status);
        if (!tell(user, &part))
            break;
    }
    return LB_OK;
}

lb_status lb_table_take_explain(lb_table *t, const lb_take *take, lb_part_fn tell, void *user, lb_error *err)
{
    lb_take_window w = { .t = t };
    lb_take sorted = *take;
    lb_taking k;

    lb_error_clear(err);
    sorted.sorted = true;
    lb_status status = lb_taking_init(&k, t, &sorted, err);
    if (status == LB_OK && k.rows.count > UINT32_MAX)
        status = lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "more rows are asked for than can be explained at once");
    if (status == LB_OK && k.rows.count != 0)
        status = lb_take_plan(&w, t, k.single, &k.rows, 0, (size_t)k.rows.count, err);
    if (status == LB_OK)
        status = explain_all(&w, tell, user, err);
    lb_take_window_free(&w);
    lb_taking_free(&k);
    if (status != LB_OK)
        lb_fail_path(err, t->path);
    return status;
}
