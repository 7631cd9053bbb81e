/* Where a survey can be taken up again: what every column had seen when a block began, kept as the entry's `open_state`, so that a
 * file that grew is read from there only.
 *
 *   u8 version  u64 first_row of the block  u32 width  width × column
 *   column: u64 nulls, quoted_empty; u16 kinds seen; for each kind its count and bounds; text bounds when kept
 *
 * Little-endian, as the map. Whatever does not read so is no state: the file is then surveyed whole. */
#include "base/cursor.h"
#include "format/delimited/delimited.h"

#define STATE_VERSION 1

static lb_status state_put(lb_buf *out, const void *value, size_t size, lb_error *err)
{
    return lb_buf_append(out, value, size, err);
}

#define STATE_PUT(out, value) LB_TRY(state_put(out, &(value), sizeof(value), err))

static lb_status state_put_bytes(lb_buf *out, const void *bytes, uint32_t size, lb_error *err)
{
    STATE_PUT(out, size);
    return state_put(out, bytes, size, err);
}

static lb_status state_put_text(lb_buf *out, const lb_text_bounds *t, lb_error *err)
{
    uint8_t any = t->any;

    STATE_PUT(out, any);
    if (!any)
        return LB_OK;
    LB_TRY(state_put_bytes(out, t->min, t->min_size, err));
    return state_put_bytes(out, t->max, t->max_size, err);
}

static lb_status state_put_column(lb_buf *out, const delim_column *c, lb_error *err)
{
    delim_column text;
    uint16_t kinds = 0;

    /* Text, whatever follows: which kinds it was made of depends on who looked at how much before that was clear. */
    if (c->settled) {
        delim_column_init(&text);
        text.settled = true;
        text.nulls = c->nulls;
        text.quoted_empty = c->quoted_empty;
        text.text = c->text;
        text.seen[DELIM_KIND_TEXT] = delim_column_values(c) - c->quoted_empty;
        c = &text;
    }
    uint8_t settled = c->settled, nanos = (uint8_t)(c->nanos[0] | c->nanos[1] << 1 | c->nanos[2] << 2);
    for (unsigned k = 0; k < DELIM_KINDS; k++)
        kinds |= (uint16_t)((c->seen[k] != 0 ? 1u : 0u) << k);
    STATE_PUT(out, c->nulls);
    STATE_PUT(out, c->quoted_empty);
    STATE_PUT(out, kinds);
    STATE_PUT(out, settled);
    STATE_PUT(out, nanos);
    for (unsigned k = 0; k < DELIM_KINDS; k++)
        if (c->seen[k] != 0)
            STATE_PUT(out, c->seen[k]);
    if (c->seen[DELIM_KIND_BOOL] != 0) {
        STATE_PUT(out, c->min_bool);
        STATE_PUT(out, c->max_bool);
    }
    if (c->seen[DELIM_KIND_INT] != 0) {
        STATE_PUT(out, c->min_i);
        STATE_PUT(out, c->max_i);
    }
    if (c->seen[DELIM_KIND_UINT] != 0) {
        STATE_PUT(out, c->min_u);
        STATE_PUT(out, c->max_u);
    }
    if (c->seen[DELIM_KIND_FLOAT] != 0) {
        STATE_PUT(out, c->nans);
        STATE_PUT(out, c->points);
        STATE_PUT(out, c->min_f);
        STATE_PUT(out, c->max_f);
        STATE_PUT(out, c->whole_digits);
        STATE_PUT(out, c->fraction_digits);
        LB_TRY(state_put_bytes(out, c->min_decimal.text, c->min_decimal.size, err));
        LB_TRY(state_put_bytes(out, c->max_decimal.text, c->max_decimal.size, err));
    }
    if (c->seen[DELIM_KIND_DATE] != 0) {
        STATE_PUT(out, c->min_date);
        STATE_PUT(out, c->max_date);
    }
    for (unsigned p = 0; p < 3; p++) {
        if (c->seen[DELIM_KIND_TIME + p] == 0)
            continue;
        STATE_PUT(out, c->min_at[p].seconds);
        STATE_PUT(out, c->min_at[p].nanos);
        STATE_PUT(out, c->max_at[p].seconds);
        STATE_PUT(out, c->max_at[p].nanos);
    }
    return state_put_text(out, &c->text, err);
}

lb_status delim_state_begin(lb_buf *out, uint64_t first_row, uint32_t width, lb_error *err)
{
    uint8_t version = STATE_VERSION;

    out->size = 0;
    STATE_PUT(out, version);
    STATE_PUT(out, first_row);
    STATE_PUT(out, width);
    return LB_OK;
}

lb_status delim_state_add(lb_buf *out, const delim_column *c, lb_error *err)
{
    return state_put_column(out, c, err);
}

/* ---------------------------------------------------------------- reading */

static void state_get(lb_cursor *c, void *out, size_t size)
{
    const uint8_t *p = lb_cursor_take(c, size);

    if (p != NULL)
        memcpy(out, p, size);
}

#define STATE_GET(c, member) state_get(c, &(member), sizeof(member))

/* Bytes with their length, into an array of `cap`. */
static uint32_t state_get_bytes(lb_cursor *c, void *out, size_t cap)
{
    uint32_t size = lb_cursor_u32(c);
    const uint8_t *p = size > cap ? NULL : lb_cursor_take(c, size);

    if (p == NULL) {
        c->bad = true;
        return 0;
    }
    memcpy(out, p, size);
    return size;
}

static void state_get_text(lb_cursor *c, lb_text_bounds *t)
{
    lb_text_bounds lower = { 0 }, upper = { 0 };
    uint8_t bytes[LB_STATS_TEXT_BYTES + 1];

    if (lb_cursor_u8(c) == 0)
        return;
    uint32_t size = state_get_bytes(c, bytes, sizeof bytes);
    lb_text_bounds_add(&lower, (const char *)bytes, size);
    size = state_get_bytes(c, bytes, sizeof bytes);
    lb_text_bounds_add(&upper, (const char *)bytes, size);
    if (c->bad)
        return;
    *t = lower;
    lb_text_bounds_merge(t, &upper);
}

static void state_get_column(lb_cursor *c, delim_column *out)
{
    uint16_t kinds = 0;
    uint8_t settled = 0, nanos = 0;

    delim_column_init(out);
    STATE_GET(c, out->nulls);
    STATE_GET(c, out->quoted_empty);
    STATE_GET(c, kinds);
    STATE_GET(c, settled);
    STATE_GET(c, nanos);
    out->settled = settled != 0;
    for (unsigned p = 0; p < 3; p++)
        out->nanos[p] = (nanos >> p & 1) != 0;
    for (unsigned k = 0; k < DELIM_KINDS; k++)
        if ((kinds >> k & 1) != 0)
            STATE_GET(c, out->seen[k]);
    if (out->seen[DELIM_KIND_BOOL] != 0) {
        STATE_GET(c, out->min_bool);
        STATE_GET(c, out->max_bool);
    }
    if (out->seen[DELIM_KIND_INT] != 0) {
        STATE_GET(c, out->min_i);
        STATE_GET(c, out->max_i);
    }
    if (out->seen[DELIM_KIND_UINT] != 0) {
        STATE_GET(c, out->min_u);
        STATE_GET(c, out->max_u);
    }
    if (out->seen[DELIM_KIND_FLOAT] != 0) {
        STATE_GET(c, out->nans);
        STATE_GET(c, out->points);
        STATE_GET(c, out->min_f);
        STATE_GET(c, out->max_f);
        STATE_GET(c, out->whole_digits);
        STATE_GET(c, out->fraction_digits);
        out->min_decimal.size = (uint8_t)state_get_bytes(c, out->min_decimal.text, sizeof out->min_decimal.text);
        out->max_decimal.size = (uint8_t)state_get_bytes(c, out->max_decimal.text, sizeof out->max_decimal.text);
    }
    if (out->seen[DELIM_KIND_DATE] != 0) {
        STATE_GET(c, out->min_date);
        STATE_GET(c, out->max_date);
    }
    for (unsigned p = 0; p < 3; p++) {
        if (out->seen[DELIM_KIND_TIME + p] == 0)
            continue;
        STATE_GET(c, out->min_at[p].seconds);
        STATE_GET(c, out->min_at[p].nanos);
        STATE_GET(c, out->max_at[p].seconds);
        STATE_GET(c, out->max_at[p].nanos);
    }
    state_get_text(c, &out->text);
}

bool delim_state_open(lb_str bytes, lb_cursor *c, uint64_t *first_row, uint32_t *width)
{
    lb_cursor_init(c, bytes.at, bytes.size, 0);
    if (lb_cursor_u8(c) != STATE_VERSION)
        return false;
    *first_row = lb_cursor_u64(c);
    *width = (uint32_t)lb_cursor_count(c, lb_cursor_u32(c), 20);
    return !c->bad;
}

bool delim_state_next(lb_cursor *c, delim_column *out)
{
    state_get_column(c, out);
    return !c->bad;
}
