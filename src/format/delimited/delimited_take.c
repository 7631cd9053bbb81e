/* Where scattered records stand in the file. */
#include "format/delimited/delimited.h"

static void take_place(delim_records *r, lb_extent *out)
{
    const delim_scanner *s = &r->scan;

    out->first = lb_text_offset(&r->text, r->text.at + s->start);
    out->stop = lb_text_offset(&r->text, r->text.at + s->stop);
    out->end = lb_text_offset(&r->text, r->text.at + s->after);
}

static lb_status take_places(delim_records *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found,
                             lb_error *err)
{
    uint64_t passed;
    bool got;

    for (*found = 0; *found < n; (*found)++) {
        uint64_t between = rows[*found] - r->row;
        if (between != 0)
            LB_TRY(delim_records_skip(r, between, &passed, err));
        if (between != 0 && passed != between)
            return LB_OK;
        LB_TRY(delim_records_next(r, &got, err));
        if (!got)
            return LB_OK;
        take_place(r, &out[*found]);
    }
    return LB_OK;
}

lb_status delim_extents(lb_reader *r, const uint64_t *rows, size_t n, lb_extent *out, size_t *found, lb_error *err)
{
    delim_records records = { 0 };
    bool there;

    *found = 0;
    if (n == 0)
        return LB_OK;
    lb_status status = delim_seek(r, rows[0], 0, &records, &there, err);
    if (status == LB_OK && there)
        status = take_places(&records, rows, n, out, found, err);
    delim_records_close(&records);
    return status;
}
