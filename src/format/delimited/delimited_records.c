/* Records of a store, one after the other: the window, the tokenizer over it, and the count of rows and lines. */
#include "format/delimited/delimited.h"

static const uint8_t records_bom[3] = { 0xEF, 0xBB, 0xBF };

/* So many lines end between what was counted and a position of the window, which is not its beginning. */
static void records_counted(delim_records *r, size_t to, uint64_t lines)
{
    r->line += lines;
    r->counted_cr = r->text.data[to - 1] == '\r';
    r->counted = r->text.at + to;
}

/* Count lines up to a position of the window. */
static void records_count_lines(delim_records *r, size_t to)
{
    uint64_t position = r->text.at + to;

    if (position > r->counted) {
        size_t from = (size_t)(r->counted - r->text.at);
        records_counted(r, to, lb_count_lines(r->text.data + from, to - from, r->counted_cr));
    }
}

/* A record that fills the window is looked at again only when the window has doubled: the work stays linear in its size. What
 * fails here fails again, with an error, if the record still needs more. */
static void records_double(delim_records *r, size_t size)
{
    while (!r->text.end && r->text.size < size && lb_text_more(&r->text, 0, NULL) == LB_OK)
        ;
}

uint64_t delim_records_marked(delim_records *r)
{
    if (r->mark_offset == UINT64_MAX)
        r->mark_offset = lb_text_offset(&r->text, r->mark);
    return r->mark_offset;
}

/* Read on, keeping the window from `keep` on. */
static lb_status records_more(delim_records *r, size_t keep, lb_error *err)
{
    LB_TRY(lb_check_cancel(r->cx, err));
    (void)delim_records_marked(r); /* the window may leave it */
    records_count_lines(r, keep);
    size_t kept = r->text.size - keep;
    lb_status status = lb_text_more(&r->text, keep, err);
    if (status == LB_BUDGET && err != NULL) {
        err->row = (int64_t)r->row;
        err->line = (int64_t)r->line;
        lb_fail_hint(err, "an unclosed quote may run through the file; --quote none reads quotes as ordinary bytes");
    }
    LB_TRY(status);
    records_double(r, 2 * kept);
    delim_window(&r->scan, r->text.data, r->text.size, r->text.end, 0);
    return LB_OK;
}

lb_status delim_records_open(delim_records *r, lb_context *cx, lb_store *store, const delim_dialect *dialect,
                             uint64_t offset, uint64_t row, uint64_t line, size_t chunk, lb_error *err)
{
    *r = (delim_records){ .cx = cx, .row = row, .line = line, .mark_offset = offset };
    LB_TRY(lb_text_open(&r->text, cx, store, offset, dialect->encoding, chunk, err));
    delim_scanner_init(&r->scan, dialect, &cx->budget);
    delim_window(&r->scan, r->text.data, r->text.size, r->text.end, 0);
    return LB_OK;
}

void delim_records_lend(delim_records *r, lb_context *cx, lb_store *store, const delim_dialect *dialect,
                        const uint8_t *data, size_t size, uint64_t offset, uint64_t row, uint64_t line)
{
    *r = (delim_records){ .cx = cx, .row = row, .line = line, .mark_offset = offset };
    lb_text_lend(&r->text, cx, store, data, size, offset);
    delim_scanner_init(&r->scan, dialect, &cx->budget);
    delim_window(&r->scan, data, size, true, 0);
}

void delim_records_close(delim_records *r)
{
    lb_text_close(&r->text);
    delim_scanner_free(&r->scan);
}

lb_status delim_records_bom(delim_records *r, lb_error *err)
{
    while (r->text.size < sizeof records_bom && !r->text.end)
        LB_TRY(records_more(r, 0, err));
    if (r->text.size >= sizeof records_bom && memcmp(r->text.data, records_bom, sizeof records_bom) == 0)
        delim_window(&r->scan, r->text.data, r->text.size, r->text.end, sizeof records_bom);
    return LB_OK;
}

static lb_status records_check_text(delim_records *r, lb_error *err)
{
    if (r->text.at + r->scan.stop <= r->text.bad_at)
        return LB_OK;
    return lb_text_fail(&r->text, (int64_t)r->row, (int64_t)delim_records_line(r), err);
}

lb_status delim_records_next(delim_records *r, bool *got, lb_error *err)
{
    delim_step step;

    for (;;) {
        lb_status status = delim_next(&r->scan, &step, err);
        if (status != LB_OK)
            return status;
        if (step != DELIM_MORE)
            break;
        LB_TRY(records_more(r, r->scan.start, err));
    }
    *got = step == DELIM_RECORD;
    LB_TRY(records_check_text(r, err));
    r->row += *got;
    return LB_OK;
}

lb_status delim_records_skip(delim_records *r, uint64_t count, uint64_t *passed, lb_error *err)
{
    *passed = 0;
    for (;;) {
        uint64_t n = delim_skip(&r->scan, count - *passed);
        *passed += n;
        r->row += n;
        if (*passed == count || r->text.end)
            return LB_OK;
        LB_TRY(records_more(r, r->scan.start, err));
    }
}

lb_status delim_records_skip_fitting(delim_records *r, uint64_t count, size_t width, bool fewer, uint64_t *passed,
                                     lb_error *err)
{
    *passed = 0;
    /* Text that is not valid is looked at record by record, and so is the last record. */
    while (*passed < count && r->text.bad_at == UINT64_MAX) {
        delim_skip_blank(&r->scan);
        records_count_lines(r, r->scan.after);
        uint64_t n = delim_skip_fitting(&r->scan, count - *passed, width, fewer);
        *passed += n;
        r->row += n;
        if (n != 0) {
            delim_records_mark(r);
            records_counted(r, r->scan.after, r->scan.lines_passed);
        }
        bool drained = !r->scan.unfit && *passed < count;
        if (!drained || r->text.end)
            break;
        LB_TRY(records_more(r, r->scan.start, err));
    }
    return LB_OK;
}

size_t delim_records_cells(delim_records *r, delim_cells *cells, uint64_t want)
{
    /* Text that is not valid is looked at record by record. */
    size_t n = r->text.bad_at == UINT64_MAX ? delim_take_cells(&r->scan, cells, want) : 0;

    if (n != 0)
        delim_records_mark(r);
    r->row += n;
    return n;
}

uint64_t delim_records_line(delim_records *r)
{
    records_count_lines(r, r->scan.start);
    return r->line;
}

void delim_records_place(delim_records *r, uint64_t *offset, uint64_t *line)
{
    records_count_lines(r, r->scan.after);
    *offset = lb_text_offset(&r->text, r->text.at + r->scan.after);
    *line = r->line;
}

lb_where delim_records_where(delim_records *r)
{
    return (lb_where){ .offset = (int64_t)lb_text_offset(&r->text, delim_records_position(r)),
                       .row = (int64_t)r->row - 1,
                       .line = (int64_t)delim_records_line(r) };
}
