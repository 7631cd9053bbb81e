/* The rows of a sheet, one after the other, each with the cells that hold a value. */
#include <stdlib.h>

#include "format/xlsx/xlsx.h"

#define ROWS_CELLS_MOST 65536 /* written down in one row, columns that repeat included */
#define ROWS_TEXT_MOST ((size_t)256 << 20)

lb_status xl_rows_open(xl_rows *r, lb_context *cx, const xl_part *sheet, uint64_t offset, uint32_t row, size_t chunk,
                       lb_error *err)
{
    *r = (xl_rows){
        .reading = { .part = sheet, .cx = cx, .at = offset, .check = row == 0, .chunk = chunk },
        .row = row == 0 ? 0 : row - 1,
    };
    lb_buf_init(&r->text, &cx->budget);
    return lb_xml_open(&r->xml, xl_reading_fill, &r->reading, "sheet", row == 0 ? 0 : offset, row == 0 ? 0 : 2, err);
}

void xl_rows_close(xl_rows *r)
{
    lb_xml_close(&r->xml);
    lb_buf_free(&r->text);
    free(r->cells);
    r->cells = NULL;
}

static lb_status rows_fail(const xl_rows *r, const char *what, lb_error *err)
{
    return lb_fail(err, LB_CORRUPT, LB_NOWHERE, "row %u of the sheet: %s", r->row, what);
}

/* ---------------------------------------------------------------- attributes */

static bool rows_number(lb_str s, uint32_t *out)
{
    uint64_t n = 0;

    if (s.size == 0 || s.size > 10)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(s.at[i] - '0');
    }
    *out = (uint32_t)LB_MIN(n, (uint64_t)UINT32_MAX);
    return true;
}

/* `AB12`: column from 0, row from 1. */
static bool rows_reference(lb_str s, uint32_t *column, uint32_t *row)
{
    uint32_t c = 0;
    size_t i = 0;

    for (; i < s.size && i < 4; i++) {
        char letter = s.at[i] >= 'a' && s.at[i] <= 'z' ? (char)(s.at[i] - 'a' + 'A') : s.at[i];
        if (letter < 'A' || letter > 'Z')
            break;
        c = c * 26 + (uint32_t)(letter - 'A') + 1;
    }
    *column = c - 1;
    return c != 0 && c <= XL_COLUMNS_MOST && rows_number((lb_str){ s.at + i, s.size - i }, row);
}

static xl_type rows_type(lb_str t)
{
    if (t.size == 1)
        switch (t.at[0]) {
        case 's':
            return XL_T_SHARED;
        case 'b':
            return XL_T_BOOL;
        case 'e':
            return XL_T_ERROR;
        case 'd':
            return XL_T_ISO;
        default:
            return XL_T_NUMBER;
        }
    return lb_str_is(t, "str") || lb_str_is(t, "inlineStr") ? XL_T_TEXT : XL_T_NUMBER;
}

/* ---------------------------------------------------------------- cells */

static lb_status rows_cell_attributes(xl_rows *r, uint32_t next, xl_cell *c, lb_error *err)
{
    lb_str rest = r->xml.attributes, name, value;
    uint32_t row;

    *c = (xl_cell){ .column = next };
    while (lb_xml_attribute(&rest, &name, &value)) {
        if (name.size != 1)
            continue;
        if (name.at[0] == 'r') {
            if (!rows_reference(value, &c->column, &row))
                return rows_fail(r, "a cell's reference is none", err);
            if (row != r->row)
                return rows_fail(r, "a cell's reference is of another row", err);
        } else if (name.at[0] == 't') {
            c->type = rows_type(value);
        } else if (name.at[0] == 's') {
            if (!rows_number(value, &c->style))
                c->style = 0;
        }
    }
    if (c->column >= XL_COLUMNS_MOST)
        return rows_fail(r, "more cells than a sheet has columns", err);
    return LB_OK;
}

/* The text of a `v` that was just begun. */
static lb_status rows_value(xl_rows *r, lb_error *err)
{
    const unsigned depth = r->xml.depth;
    lb_xml_token token;

    if (r->xml.empty)
        return LB_OK;
    for (;;) {
        LB_TRY(lb_xml_next(&r->xml, &token, err));
        if (token == LB_XML_END && r->xml.depth < depth)
            return LB_OK;
        if (token == LB_XML_DONE)
            return LB_OK;
        if (token == LB_XML_TEXT && r->xml.depth == depth) {
            if (r->text.size > ROWS_TEXT_MOST)
                return rows_fail(r, "cells of more than 256 MiB", err);
            LB_TRY(lb_xml_decode(&r->xml, r->xml.text, r->xml.plain, &r->text, err));
        }
    }
}

/* What stands in a cell; *there: a value. */
static lb_status rows_cell_inside(xl_rows *r, xl_cell *c, bool *there, lb_error *err)
{
    const unsigned depth = r->xml.depth;
    lb_xml_token token;

    *there = false;
    c->at = r->text.size;
    for (;;) {
        LB_TRY(lb_xml_next(&r->xml, &token, err));
        if ((token == LB_XML_END && r->xml.depth < depth) || token == LB_XML_DONE)
            break;
        if (token != LB_XML_START)
            continue;
        if (lb_str_is(r->xml.name, "v")) {
            *there = true;
            r->text.size = c->at;
            LB_TRY(rows_value(r, err));
            if (c->type == XL_T_TEXT)
                xl_unescape(&r->text, c->at);
        } else if (lb_str_is(r->xml.name, "is")) {
            *there = true;
            r->text.size = c->at;
            c->type = XL_T_TEXT;
            LB_TRY(xl_string_item(&r->xml, &r->text, err));
        } else {
            LB_TRY(lb_xml_skip(&r->xml, err));
        }
    }
    c->size = r->text.size - c->at;
    return LB_OK;
}

/* A cell that holds nothing: numbers and dates without text. */
static bool rows_is_blank(const xl_rows *r, const xl_cell *c)
{
    if (c->type == XL_T_TEXT)
        return false;
    for (size_t i = 0; i < c->size; i++)
        if (r->text.data[c->at + i] > ' ')
            return false;
    return true;
}

static lb_status rows_keep(xl_rows *r, const xl_cell *c, lb_error *err)
{
    if (r->n_cells == r->cap_cells) {
        size_t cap = r->cap_cells == 0 ? 64 : r->cap_cells * 2;
        xl_cell *grown = cap > ROWS_CELLS_MOST ? NULL : realloc(r->cells, cap * sizeof *grown);
        if (grown == NULL)
            return cap > ROWS_CELLS_MOST ? rows_fail(r, "columns that repeat without end", err) : lb_fail_nomem(err);
        r->cells = grown;
        r->cap_cells = cap;
    }
    r->cells[r->n_cells++] = *c;
    return LB_OK;
}

/* By column; of two of one column the later one, which stands behind in the text. */
static int rows_compare(const void *a, const void *b)
{
    const xl_cell *x = a, *y = b;

    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void rows_order(xl_rows *r)
{
    bool ordered = true;
    size_t n = 0;

    for (size_t i = 1; i < r->n_cells; i++)
        ordered = ordered && r->cells[i - 1].column < r->cells[i].column;
    if (ordered)
        return;
    qsort(r->cells, r->n_cells, sizeof *r->cells, rows_compare);
    for (size_t i = 0; i < r->n_cells; i++) {
        if (n != 0 && r->cells[n - 1].column == r->cells[i].column)
            n--;
        r->cells[n++] = r->cells[i];
    }
    r->n_cells = n;
}

/* ---------------------------------------------------------------- rows */

static lb_status rows_cells(xl_rows *r, lb_error *err)
{
    const unsigned depth = r->xml.depth;
    uint32_t next = 0;
    lb_xml_token token;

    for (;;) {
        LB_TRY(lb_xml_next(&r->xml, &token, err));
        if ((token == LB_XML_END && r->xml.depth < depth) || token == LB_XML_DONE)
            break;
        if (token != LB_XML_START)
            continue;
        if (!lb_str_is(r->xml.name, "c")) {
            LB_TRY(lb_xml_skip(&r->xml, err));
            continue;
        }
        xl_cell c;
        bool there = false;
        LB_TRY(rows_cell_attributes(r, next, &c, err));
        next = c.column + 1;
        if (!r->xml.empty)
            LB_TRY(rows_cell_inside(r, &c, &there, err));
        if (there && !rows_is_blank(r, &c))
            LB_TRY(rows_keep(r, &c, err));
        else
            r->text.size = there ? c.at : r->text.size;
    }
    rows_order(r);
    return LB_OK;
}

static lb_status rows_begin(xl_rows *r, lb_error *err)
{
    uint32_t row = r->row + 1;
    lb_str value;

    if (lb_xml_find(&r->xml, "r", &value) && !rows_number(value, &row))
        return rows_fail(r, "the number of the row behind it is none", err);
    if (row == 0)
        return rows_fail(r, "the row behind it has the number 0", err);
    if (row <= r->row) {
        lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the sheet's row %u stands behind row %u", row, r->row);
        lb_fail_hint(err, "saved again by a spreadsheet program, its rows come in order");
        return LB_UNSUPPORTED;
    }
    if (row > XL_ROWS_MOST)
        return rows_fail(r, "a row behind it is beyond the 1,048,576 that a sheet has", err);
    r->row = row;
    r->offset = r->xml.offset;
    r->n_cells = 0;
    r->text.size = 0;
    return r->xml.empty ? LB_OK : rows_cells(r, err);
}

lb_status xl_rows_next(xl_rows *r, bool *got, lb_error *err)
{
    lb_xml_token token;

    *got = false;
    while (!r->at_end) {
        LB_TRY(lb_xml_next(&r->xml, &token, err));
        if (token == LB_XML_DONE || (token == LB_XML_END && lb_str_is(r->xml.name, "sheetData"))) {
            r->at_end = true;
        } else if (token == LB_XML_START && r->xml.depth + (r->xml.empty ? 1 : 0) == 3) {
            if (lb_str_is(r->xml.name, "row")) {
                *got = true;
                return rows_begin(r, err);
            }
            LB_TRY(lb_xml_skip(&r->xml, err));
        }
    }
    return LB_OK;
}
