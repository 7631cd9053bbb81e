/* The two JSON columns that a reference reader expects (lake-map.md 4.2 and 4.3): full, or just enough to be valid. */
#include <math.h>

#include "base/number.h"
#include "column/print.h"
#include "lake/map_private.h"

/* ---------------------------------------------------------------- stats_json */

/* The three types the reference has statistics of. */
static bool json_knows(const lb_colstat *s)
{
    if (lb_str_is(s->type, "int64"))
        return (s->has & (LB_MIN_I | LB_MAX_I)) == (LB_MIN_I | LB_MAX_I);
    if (lb_str_is(s->type, "float64"))
        return (s->has & (LB_MIN_F | LB_MAX_F)) == (LB_MIN_F | LB_MAX_F);
    return lb_str_is(s->type, "string") && (s->has & (LB_MIN_B | LB_MAX_B)) == (LB_MIN_B | LB_MAX_B);
}

/* JSON has no infinities. */
static lb_status json_double(lb_buf *out, double v, lb_error *err)
{
    char text[LB_DOUBLE_TEXT];
    if (!isfinite(v))
        return lb_buf_append_str(out, "null", err);
    return lb_buf_append(out, text, lb_print_double(v, text), err);
}

static lb_status json_stat(const lb_colstat *s, lb_buf *out, lb_error *err)
{
    bool text = lb_str_is(s->type, "string"), whole = lb_str_is(s->type, "int64");
    LB_TRY(lb_print_json_string(out, s->name.at, s->name.size, err));
    if (text) {
        LB_TRY(lb_buf_append_str(out, ":{\"min\":null,\"max\":null,\"min_str\":", err));
        LB_TRY(lb_print_json_string(out, s->min_b.at, s->min_b.size, err));
        LB_TRY(lb_buf_append_str(out, ",\"max_str\":", err));
        LB_TRY(lb_print_json_string(out, s->max_b.at, s->max_b.size, err));
        return lb_buf_append_str(out, "}", err);
    }
    LB_TRY(lb_buf_append_str(out, ":{\"min\":", err));
    LB_TRY(json_double(out, whole ? (double)s->min_i : s->min_f, err));
    LB_TRY(lb_buf_append_str(out, ",\"max\":", err));
    LB_TRY(json_double(out, whole ? (double)s->max_i : s->max_f, err));
    return lb_buf_append_str(out, ",\"min_str\":null,\"max_str\":null}", err);
}

lb_status lb_map_print_stats(const lb_entry *entry, bool full, lb_buf *out, lb_error *err)
{
    bool any = false;
    LB_TRY(lb_buf_printf(out, err, "{\"total_rows\":%llu,\"columns\":{", (unsigned long long)entry->total_rows));
    for (uint64_t i = 0; full && i < entry->columns.count; i++) {
        if (!json_knows(&entry->columns.items[i]))
            continue;
        if (any)
            LB_TRY(lb_buf_append_str(out, ",", err));
        any = true;
        LB_TRY(json_stat(&entry->columns.items[i], out, err));
    }
    return lb_buf_append_str(out, "}}", err);
}

/* ---------------------------------------------------------------- row_groups_json */

/* Pages of one chunk, from *page on; pages stand in the order of blocks and columns. Without all first rows, none. */
static lb_status json_pages(const lb_pages *p, uint64_t *page, uint64_t block, uint64_t column, lb_buf *out,
                            lb_error *err)
{
    uint64_t from = *page, to = from;
    bool known = true;
    while (to < p->count && p->block[to] == block && p->column[to] == column)
        known = p->first_row[to++] != UINT64_MAX && known;
    *page = to;
    for (uint64_t i = from; known && i < to; i++)
        LB_TRY(lb_buf_printf(out, err, "%s{\"first_row\":%llu,\"offset\":%llu,\"length\":%llu}", i == from ? "" : ",",
                             (unsigned long long)p->first_row[i], (unsigned long long)p->offset[i],
                             (unsigned long long)p->length[i]));
    return LB_OK;
}

static lb_status json_chunks(const lb_entry *e, uint64_t block, uint64_t *page, lb_buf *out, lb_error *err)
{
    for (uint64_t c = 0; e->chunks.count > 0 && c < e->n_leaf_paths; c++) {
        uint64_t i = block * e->n_leaf_paths + c;
        LB_TRY(lb_buf_append_str(out, c == 0 ? "{\"path\":" : ",{\"path\":", err));
        LB_TRY(lb_print_json_string(out, e->leaf_paths[c].at, e->leaf_paths[c].size, err));
        LB_TRY(lb_buf_printf(out, err, ",\"offset\":%llu,\"length\":%llu,\"pages\":[",
                             (unsigned long long)e->chunks.offset[i], (unsigned long long)e->chunks.length[i]));
        LB_TRY(json_pages(&e->pages, page, block, c, out, err));
        LB_TRY(lb_buf_append_str(out, "]}", err));
    }
    return LB_OK;
}

static lb_status json_block(const lb_entry *e, uint64_t i, bool physical, uint64_t *page, lb_buf *out, lb_error *err)
{
    const lb_blocks *b = &e->blocks;
    LB_TRY(lb_buf_printf(
        out, err, "%s{\"ordinal\":%llu,\"first_row\":%llu,\"row_count\":%llu,\"first_byte\":", i == 0 ? "" : ",",
        (unsigned long long)i, (unsigned long long)b->first_row[i], (unsigned long long)b->row_count[i]));
    if (physical)
        LB_TRY(lb_buf_printf(out, err, "%llu", (unsigned long long)b->first_byte[i]));
    else
        LB_TRY(lb_buf_append_str(out, "null", err));
    LB_TRY(lb_buf_printf(out, err, ",\"total_byte_size\":%llu,\"compressed_size\":%llu,\"columns\":[",
                         (unsigned long long)(physical ? b->total_byte_size[i] : 0),
                         (unsigned long long)(physical ? b->compressed_size[i] : 0)));
    LB_TRY(json_chunks(e, i, page, out, err));
    return lb_buf_append_str(out, "]}", err);
}

/* Blocks of compressed text mean nothing to the reference, which does not read such files. */
lb_status lb_map_print_row_groups(const lb_entry *entry, bool full, lb_buf *out, lb_error *err)
{
    bool physical = entry->blocks.first_byte != NULL && !lb_str_is(entry->locator, "record_batch") &&
                    !lb_str_is(entry->locator, "sheet_row");
    uint64_t page = 0,
             n = full && entry->container.size == 0 && !lb_str_is(entry->locator, "fragment") ? entry->blocks.count : 0;
    LB_TRY(lb_buf_append_str(out, "[", err));
    for (uint64_t i = 0; i < n; i++)
        LB_TRY(json_block(entry, i, physical, &page, out, err));
    return lb_buf_append_str(out, "]", err);
}
