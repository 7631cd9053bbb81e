/* Which files, blocks and bytes a slice touches, without reading them. */
#include "codec/unpack.h"
#include "lake/table.h"

/* Blocks [*first, *first + *n) that hold rows [from, to) of a file. */
static void explain_blocks(const lb_blocks *blocks, uint64_t from, uint64_t to, lb_part *out)
{
    uint64_t first = lb_blocks_find(blocks, from), last = to > from ? lb_blocks_find(blocks, to - 1) : first;

    if (first == UINT64_MAX || last == UINT64_MAX)
        return;
    out->first_block = first;
    out->blocks = last - first + 1;
    out->skipped_rows = from - blocks->first_row[first];
    if (blocks->first_byte == NULL)
        return;
    out->first_byte = (int64_t)blocks->first_byte[first];
    out->bytes = (int64_t)(blocks->first_byte[last] + lb_blocks_bytes(blocks, last) - blocks->first_byte[first]);
}

/* How much is decompressed before the range: from the last restart point before it. */
static void explain_packed(const lb_entry *entry, lb_part *out)
{
    const lb_access_points *p = &entry->access_points;
    uint64_t from = 0;

    out->container = lb_container_of_name(entry->container)->name;
    out->restart_points = p->count;
    if (out->blocks == 0 || out->first_byte < 0)
        return;
    for (uint64_t i = 0; i < p->count && p->uncompressed_byte[i] <= (uint64_t)out->first_byte; i++)
        from = p->uncompressed_byte[i];
    out->unpacked_bytes = (int64_t)((uint64_t)out->first_byte - from);
}

static lb_status explain_file(lb_table *t, uint64_t file, uint64_t at, uint64_t end, lb_part *out, lb_error *err)
{
    uint64_t first, next;
    lb_entry entry;

    LB_TRY(lb_table_first_row(t, file, &first, err));
    LB_TRY(lb_table_first_row(t, file + 1, &next, err));
    if (t->lake)
        LB_TRY(lb_table_entry(t, file, &t->arena, &entry, err));
    else
        entry = t->file->entry;
    *out = (lb_part){ .struct_size = sizeof *out,
                      .map = lb_table_reason(t, file, &entry),
                      .first_byte = -1,
                      .bytes = -1,
                      .unpacked_bytes = -1 };
    out->path = t->lake ? lb_arena_copy(&t->arena, lb_table_shown(t, entry.rel_path)) : t->path;
    out->format = lb_arena_copy(&t->arena, entry.format);
    out->locator = lb_arena_copy(&t->arena, entry.locator);
    if (out->path == NULL || out->format == NULL || out->locator == NULL)
        return lb_arena_fail(&t->arena, err);
    out->first_row = at - first;
    out->rows = LB_MIN(t->lake ? next : end, end) - at;
    if (strcmp(out->map, "used") == 0) {
        explain_blocks(&entry.blocks, out->first_row, out->first_row + out->rows, out);
    } else {
        out->first_byte = 0;
        out->bytes = (int64_t)entry.size_bytes;
        out->skipped_rows = out->first_row;
    }
    if (lb_container_of_name(entry.container) != NULL)
        explain_packed(&entry, out);
    return LB_OK;
}

/* The next file after `file` that has rows. */
static lb_status explain_next(lb_table *t, uint64_t file, uint64_t *out, lb_error *err)
{
    uint64_t row;

    LB_TRY(lb_table_first_row(t, file + 1, &row, err));
    return lb_table_find_row(t, row, out, err);
}

/* File of a part; parts are asked for one after the other, so the last one is remembered. */
static lb_status explain_find(lb_table *t, uint64_t at, uint64_t part, uint64_t *file, lb_error *err)
{
    uint64_t from = 0;

    if (part != 0 && t->explained_at == at && t->explained_part + 1 == part) {
        *file = t->explained_file;
        from = t->explained_part;
    } else {
        LB_TRY(lb_table_find_row(t, at, file, err));
    }
    for (; from < part && *file != UINT64_MAX; from++)
        LB_TRY(explain_next(t, *file, file, err));
    t->explained_at = at;
    t->explained_part = part;
    t->explained_file = *file;
    return LB_OK;
}

static lb_status explain_part(lb_table *t, const lb_slice *slice, uint64_t part, lb_part *out, bool *done,
                              lb_error *err)
{
    uint64_t at, end, file, first;

    lb_table_span(t, slice, &at, &end);
    *done = true;
    if (!t->lake) {
        *done = part != 0;
        return *done ? LB_OK : explain_file(t, 0, at, LB_MAX(at, end), out, err);
    }
    if (at >= end)
        return LB_OK;
    LB_TRY(explain_find(t, at, part, &file, err));
    if (file == UINT64_MAX)
        return LB_OK;
    LB_TRY(lb_table_first_row(t, file, &first, err));
    *done = first >= end;
    return *done ? LB_OK : explain_file(t, file, LB_MAX(at, first), end, out, err);
}

lb_status lb_table_explain(lb_table *t, const lb_slice *slice, uint64_t part, lb_part *out, bool *done, lb_error *err)
{
    lb_error_clear(err);
    *done = true;
    if (slice->struct_size != sizeof *slice)
        return lb_fail(err, LB_USAGE, LB_NOWHERE, "lb_slice.struct_size is %zu, not %zu", slice->struct_size,
                       sizeof *slice);
    pthread_mutex_lock(&t->lock);
    lb_status status = explain_part(t, slice, part, out, done, err);
    pthread_mutex_unlock(&t->lock);
    return status;
}
