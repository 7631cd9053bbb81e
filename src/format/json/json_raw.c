/* The records' own bytes, and where they stand. A record's end is the line end behind it; without one, as inside an
 * array, where it is followed by more on its line, it is the record's last byte. */
#include "format/json/json_rows.h"

/* The line end behind a record: blanks before it go with it. The window may end there: what follows is read. */
static lb_status raw_line_end(lb_reader *r, uint64_t stop, uint64_t *end, lb_error *err)
{
    uint8_t bytes[64];
    uint64_t at = stop;

    *end = stop;
    if (r->encoding[0] != '\0')
        return LB_OK;
    for (;;) {
        size_t got, i = 0;
        LB_TRY(lb_store_read(r->store, at, bytes, sizeof bytes, &got, err));
        while (i < got && (bytes[i] == ' ' || bytes[i] == '\t'))
            i++;
        if (i == got && got != 0) {
            at += got;
            continue;
        }
        if (i == got || (bytes[i] != '\r' && bytes[i] != '\n'))
            return LB_OK;
        *end = at + i + 1;
        uint8_t next = 0;
        if (bytes[i] == '\r') {
            LB_TRY(lb_store_read(r->store, *end, &next, 1, &got, err));
            *end += got == 1 && next == '\n';
        }
        return LB_OK;
    }
}

static lb_status raw_place(lb_reader *r, js_records *records, lb_extent *out, lb_error *err)
{
    lb_text *text = &records->text;

    out->first = lb_text_offset(text, text->at + records->walk.start);
    out->stop = lb_text_offset(text, text->at + records->walk.stop);
    return raw_line_end(r, out->stop, &out->end, err);
}

static lb_status raw_places(lb_reader *r, js_records *records, const uint64_t *rows, size_t n, lb_extent *out,
                            size_t *found, lb_error *err)
{
    uint64_t passed;
    bool got;

    for (*found = 0; *found < n; (*found)++) {
        uint64_t between = rows[*found] - records->row;
        if (between != 0)
            LB_TRY(js_records_skip(records, between, &passed, err));
        if (between != 0 && passed != between)
            return LB_OK;
        LB_TRY(js_records_next(records, &got, err));
        if (!got)
            return LB_OK;
        LB_TRY(raw_place(r, records, &out[*found], err));
    }
    return LB_OK;
}

lb_status js_extents(lb_reader *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found, lb_error *err)
{
    js_records records = { 0 };
    bool there;

    *found = 0;
    if (n == 0)
        return LB_OK;
    lb_status status = js_seek(r, rows[0], 0, &records, &there, err);
    if (status == LB_OK && there)
        status = raw_places(r, &records, rows, n, out, found, err);
    js_records_close(&records);
    return status;
}

static lb_status raw_copy(lb_reader *r, uint64_t from, uint64_t to, lb_write_fn write, void *user, lb_error *err)
{
    uint8_t bytes[65536];

    while (from < to) {
        size_t want = (size_t)LB_MIN(to - from, (uint64_t)sizeof bytes), got;
        LB_TRY(lb_check_cancel(r->cx, err));
        LB_TRY(lb_store_read(r->store, from, bytes, want, &got, err));
        if (got == 0 && to == LB_SIZE_UNKNOWN)
            return LB_OK;
        if (got == 0)
            return lb_fail(err, LB_STALE, LB_AT(from), "the file became shorter while it was read");
        if (!write(user, bytes, got))
            return lb_fail(err, LB_CANCELLED, LB_NOWHERE, "writing was stopped");
        from += got;
    }
    return LB_OK;
}

/* Bytes from the beginning of the next record to the end of the last of `count`. */
static lb_status raw_range(lb_reader *r, js_records *records, uint64_t count, uint64_t *from, uint64_t *to,
                           lb_error *err)
{
    lb_extent place = { 0 };
    uint64_t passed;
    bool got;

    *from = *to = 0;
    LB_TRY(js_records_next(records, &got, err));
    if (!got)
        return LB_OK;
    LB_TRY(raw_place(r, records, &place, err));
    *from = place.first;
    *to = place.end;
    if (count < 2)
        return LB_OK;
    LB_TRY(js_records_skip(records, count - 2, &passed, err));
    LB_TRY(js_records_next(records, &got, err));
    if (got)
        LB_TRY(raw_place(r, records, &place, err));
    *to = got ? place.end : r->store->size;
    return LB_OK;
}

lb_status js_raw(lb_reader *r, uint64_t first, uint64_t count, lb_write_fn write, void *user, lb_error *err)
{
    js_records records = { 0 };
    uint64_t from, to;
    bool there;

    if (r->known->total_rows != LB_ROWS_UNKNOWN)
        count = first >= r->known->total_rows ? 0 : LB_MIN(count, r->known->total_rows - first);
    if (count == 0)
        return LB_OK;
    lb_status status = js_seek(r, first, 0, &records, &there, err);
    if (status == LB_OK && there) {
        status = raw_range(r, &records, count, &from, &to, err);
        if (status == LB_OK)
            status = raw_copy(r, from, to, write, user, err);
    }
    js_records_close(&records);
    return status;
}
