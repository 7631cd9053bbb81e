/* A sliding window over a file, and the rows in it. */
#include "format/msgpack/msgpack.h"
#include "io/text.h"

#define RECORDS_CHUNK ((size_t)1 << 20)

void mp_records_open(mp_records *r, lb_context *cx, lb_store *store, uint64_t offset, uint64_t row, uint64_t left,
                     size_t chunk)
{
    *r = (mp_records){ .cx = cx,
                       .store = store,
                       .at = offset,
                       .row = row,
                       .left = left,
                       .after = offset,
                       .chunk = chunk != 0 ? chunk : RECORDS_CHUNK };
    lb_buf_init(&r->window, &cx->budget);
}

void mp_records_close(mp_records *r)
{
    lb_buf_free(&r->window);
}

/* Drop what lies before `keep`, and read on. */
static lb_status records_more(mp_records *r, size_t keep, lb_error *err)
{
    const size_t kept = r->window.size - keep,
                 more = LB_MAX(r->chunk, kept); /* a row that fills the window doubles it */
    size_t got;

    LB_TRY(lb_check_cancel(r->cx, err));
    if (keep != 0 && kept != 0)
        memmove(r->window.data, r->window.data + keep, kept);
    r->window.size = kept;
    r->at += keep;
    r->place -= keep;
    r->start -= LB_MIN(r->start, keep);
    LB_TRY(lb_buf_reserve(&r->window, more + LB_TEXT_PADDING, err));
    LB_TRY(lb_store_read(r->store, r->at + kept, r->window.data + kept, more, &got, err));
    if (r->tap != NULL && got != 0)
        r->tap(r->tap_user, r->window.data + kept, got);
    r->window.size += got;
    r->end = got < more;
    memset(r->window.data + r->window.size, 0, LB_TEXT_PADDING);
    return LB_OK;
}

static lb_status records_fail(mp_records *r, lb_error *err)
{
    const lb_where where = { (int64_t)(r->at + r->place), (int64_t)r->row, -1 };

    return lb_fail(err, LB_CORRUPT, where, "this is no MessagePack: the byte 0x%02x begins no value",
                   r->window.data[r->place]);
}

/* An object whose items cannot all be there is not read to its end to see that. */
static bool records_hopeless(const mp_records *r)
{
    const uint64_t at = r->at + r->place;

    return r->skip.pending > r->store->size - LB_MIN(r->store->size, at);
}

/* Up to `count` rows, as far as the window goes; one that it cuts is kept, and *more tells. */
static lb_status records_pass(mp_records *r, uint64_t count, uint64_t *passed, bool *more, lb_error *err)
{
    const uint8_t *start = r->window.data == NULL ? NULL : r->window.data + r->start;

    r->skip.at = r->window.data == NULL ? NULL : r->window.data + r->place;
    *passed = 0;
    *more = true;
    if (r->place < r->window.size || r->skip.pending != 0) {
        lb_msgpack_step step = lb_msgpack_pass(&r->skip, r->window.data + r->window.size, count, passed, &start);
        r->place = (size_t)(r->skip.at - r->window.data);
        r->start = (size_t)(start - r->window.data);
        r->row += *passed;
        if (r->left != UINT64_MAX)
            r->left -= *passed;
        *more = step != LB_MSGPACK_DONE;
        if (*passed != 0)
            r->after = r->at + (r->skip.pending == 0 ? r->place : r->start);
        /* A value that the file is too short for is torn, whatever else is wrong with it: whether that is seen here or at the end of
         * the window must not depend on the window. Once too short it stays so, for each token takes at least a byte. */
        if (step == LB_MSGPACK_BAD && !records_hopeless(r))
            return records_fail(r, err);
    }
    return LB_OK;
}

static lb_status records_cut(mp_records *r, lb_error *err)
{
    const mp_cut cut = { .byte = r->after };
    const size_t n = r->cuts->size / sizeof cut;

    if (n != 0 && cut.byte - ((const mp_cut *)(const void *)r->cuts->data)[n - 1].byte < MP_PIECE_BYTES)
        return LB_OK;
    return lb_buf_append(r->cuts, &cut, sizeof cut, err);
}

/* The window is used up. *ends: nothing follows. */
static lb_status records_refill(mp_records *r, bool *ends, lb_error *err)
{
    const bool open = r->skip.pending != 0;

    *ends = r->end || (open && records_hopeless(r));
    if (*ends) {
        r->torn = open || (r->left != UINT64_MAX && r->left != 0);
        if (!open)
            r->start = r->place;
        return LB_OK;
    }
    lb_status status = records_more(r, open ? r->start : r->place, err);
    if (status == LB_BUDGET && err != NULL)
        err->row = (int64_t)r->row;
    return status;
}

lb_status mp_records_pass(mp_records *r, uint64_t count, uint64_t *passed, lb_error *err)
{
    bool ends = r->torn;

    count = LB_MIN(count, r->left);
    for (*passed = 0; *passed < count && !ends;) {
        const uint64_t row = r->row, from = r->after;
        uint64_t n;
        bool more;
        LB_TRY(records_pass(r, count - *passed, &n, &more, err));
        *passed += n;
        if (n != 0 && r->passed != NULL)
            r->passed(r->passed_user, row, n,
                      (mp_cursor){ r->window.data + (from - r->at), r->window.data + (r->after - r->at) });
        if (more && r->cuts != NULL)
            LB_TRY(records_cut(r, err));
        if (more)
            LB_TRY(records_refill(r, &ends, err));
    }
    return LB_OK;
}

lb_status mp_records_next(mp_records *r, bool *got, lb_error *err)
{
    uint64_t passed;

    LB_TRY(mp_records_pass(r, 1, &passed, err));
    *got = passed == 1;
    r->stop = r->place;
    return LB_OK;
}

lb_status mp_records_begin(mp_records *r, bool may_array, bool *array, lb_error *err)
{
    lb_msgpack_token t;

    *array = false;
    LB_TRY(records_more(r, 0, err));
    while (r->window.size < 6 && !r->end) /* the largest head, and a byte behind it */
        LB_TRY(records_more(r, 0, err));
    const uint8_t *p = r->window.data;
    if (!may_array || !lb_msgpack_next(&p, p + r->window.size, &t) || t.kind != LB_MSGPACK_ARRAY)
        return LB_OK;
    *array = true;
    r->place = (size_t)(p - r->window.data);
    r->left = t.n;
    r->after = r->place;
    return LB_OK;
}
