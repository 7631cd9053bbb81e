/* Rows for people. The widths come from the first rows (at most TABLE_SAMPLE), which are kept as text until then; rows
 * after them are cut to those widths. Nothing of a value can steer the terminal: control characters, and those that
 * change the direction of text, are shown as escapes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "column/print_nodes.h"

#define TABLE_SAMPLE 1000
#define TABLE_SAMPLE_CELLS ((size_t)200000)
#define TABLE_SAMPLE_BYTES ((size_t)16 * 1024 * 1024)
#define TABLE_CELL_MAX 1000u /* widest cell where the line has no limit */
#define TABLE_TYPE_MAX 24u   /* a type alone makes a column no wider than this */
#define TABLE_LEAST 6u       /* columns are not squeezed below this: the last ones are left out instead */
#define TABLE_GAP 2u

typedef struct table_cell {
    size_t at, size;
    unsigned width;
    bool null;
} table_cell;

typedef struct table_column {
    table_cell name, type;
    unsigned width;
    bool right;
} table_column;

typedef struct table_state {
    lb_buf text; /* of names, types and kept cells */
    lb_buf scratch;
    table_column *columns;
    size_t n_columns; /* which may be shown: a line holds no more */
    size_t n_shown;   /* set with the widths */
    bool more;        /* some are left out */
    unsigned cap;
    table_cell *cells;
    size_t n_cells, cells_cap;
    bool begun;
} table_state;

/* ---------------------------------------------------------------- visible text */

static bool table_unseen(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x200e || cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) ||
           (cp >= 0x2066 && cp <= 0x2069) || cp == 0x061c || cp == 0xfeff;
}

static size_t table_escape(uint32_t cp, char out[16])
{
    int n;
    if (cp == '\n' || cp == '\t' || cp == '\r')
        n = snprintf(out, 16, "\\%c", cp == '\n' ? 'n' : cp == '\t' ? 't' : 'r');
    else if (cp < 0x80)
        n = snprintf(out, 16, "\\x%02x", (unsigned)cp);
    else
        n = snprintf(out, 16, "\\u%04x", (unsigned)cp);
    return n < 0 ? 0 : (size_t)n;
}

/* Append text as it may be shown, cut with `…` to `cap` columns; gives its width. */
static lb_status table_visible(lb_buf *out, const uint8_t *p, size_t size, unsigned cap, unsigned *width, lb_error *err)
{
    size_t fits = out->size; /* end of what leaves room for the … */
    unsigned w = 0, fits_width = 0;
    while (size > 0) {
        char shown[16];
        uint32_t cp;
        size_t read = lb_utf8_decode(p, size, &cp), n;
        unsigned more;
        if (table_unseen(cp)) {
            n = table_escape(cp, shown);
            more = (unsigned)n;
        } else {
            n = lb_utf8_encode(cp, (uint8_t *)shown);
            more = (unsigned)LB_MAX(lb_utf8_width(cp), 0);
        }
        if (w + more > cap || out->size - fits > 4096) {
            out->size = fits;
            *width = fits_width + 1;
            return lb_buf_append_str(out, "…", err);
        }
        LB_TRY(lb_buf_append(out, shown, n, err));
        w += more;
        if (w + 1 <= cap && more != 0) {
            fits = out->size;
            fits_width = w;
        }
        p += read;
        size -= read;
    }
    *width = w;
    return LB_OK;
}

static lb_status table_cell_of(table_state *t, const void *p, size_t size, table_cell *out, lb_error *err)
{
    out->at = t->text.size;
    out->null = false;
    LB_TRY(table_visible(&t->text, p, size, t->cap, &out->width, err));
    out->size = t->text.size - out->at;
    return LB_OK;
}

/* ---------------------------------------------------------------- lines */

static lb_status table_pad(lb_buf *out, unsigned n, lb_error *err)
{
    LB_TRY(print_room(out, n, err));
    if (n != 0)
        memset(out->data + out->size, ' ', n);
    out->size += n;
    return LB_OK;
}

/* One cell in its column; `style`: SGR number, 0 none. */
static lb_status table_put(print_job *job, const table_column *c, const table_cell *cell, bool last, int style,
                           lb_error *err)
{
    table_state *t = job->state;
    lb_buf *out = &job->out;
    unsigned width = LB_MIN(cell->width, c->width), gap = c->width - width;
    if (c->right)
        LB_TRY(table_pad(out, gap, err));
    if (style != 0 && job->options->colour)
        LB_TRY(lb_buf_printf(out, err, "\033[%dm", style));
    if (cell->width > c->width) {
        LB_TRY(table_visible(out, t->text.data + cell->at, cell->size, c->width, &width, err));
        gap = c->width - LB_MIN(width, c->width);
    } else {
        LB_TRY(lb_buf_append(out, t->text.data + cell->at, cell->size, err));
    }
    if (style != 0 && job->options->colour)
        LB_TRY(lb_buf_append_str(out, "\033[0m", err));
    return c->right || last ? LB_OK : table_pad(out, gap, err);
}

static lb_status table_end_line(print_job *job, lb_error *err)
{
    table_state *t = job->state;
    if (t->more)
        LB_TRY(lb_buf_append_str(&job->out, "  …", err));
    return lb_buf_append(&job->out, "\n", 1, err);
}

static lb_status table_row(print_job *job, const table_cell *cells, lb_error *err)
{
    table_state *t = job->state;
    for (size_t i = 0; i < t->n_shown; i++) {
        if (i != 0)
            LB_TRY(table_pad(&job->out, TABLE_GAP, err));
        LB_TRY(table_put(job, &t->columns[i], &cells[i], i + 1 == t->n_shown && !t->more, cells[i].null ? 2 : 0, err));
    }
    LB_TRY(table_end_line(job, err));
    return print_flush_full(job, err);
}

static lb_status table_rule(print_job *job, lb_error *err)
{
    table_state *t = job->state;
    if (job->options->colour)
        LB_TRY(lb_buf_append_str(&job->out, "\033[2m", err));
    for (size_t i = 0; i < t->n_shown; i++) {
        if (i != 0)
            LB_TRY(table_pad(&job->out, TABLE_GAP, err));
        for (unsigned k = 0; k < t->columns[i].width; k++)
            LB_TRY(lb_buf_append_str(&job->out, "─", err));
    }
    return lb_buf_append_str(&job->out, job->options->colour ? "\033[0m\n" : "\n", err);
}

static lb_status table_header(print_job *job, lb_error *err)
{
    table_state *t = job->state;
    for (int line = 0; line < 2; line++) {
        for (size_t i = 0; i < t->n_shown; i++) {
            table_column *c = &t->columns[i];
            if (i != 0)
                LB_TRY(table_pad(&job->out, TABLE_GAP, err));
            LB_TRY(table_put(job, c, line == 0 ? &c->name : &c->type, i + 1 == t->n_shown && !t->more,
                             line == 0 ? 1 : 2, err));
        }
        LB_TRY(table_end_line(job, err));
    }
    return table_rule(job, err);
}

/* ---------------------------------------------------------------- widths */

static size_t table_total(const table_state *t, size_t n, unsigned cap)
{
    size_t total = n == 0 ? 0 : (n - 1) * TABLE_GAP;
    for (size_t i = 0; i < n; i++)
        total += LB_MIN(t->columns[i].width, cap);
    return total;
}

/* Squeeze the widest columns first; where even narrow ones do not fit, leave out the last ones. */
static void table_fit(table_state *t, unsigned line)
{
    size_t n = t->n_columns, room = line;
    t->n_shown = n;
    if (line == 0 || (!t->more && table_total(t, n, UINT32_MAX) <= line))
        return;
    while (n > 1 && table_total(t, n, TABLE_LEAST) + (t->more ? TABLE_GAP + 1 : 0) > line) {
        n--;
        t->more = true;
    }
    if (t->more)
        room = line > TABLE_GAP + 1 ? line - TABLE_GAP - 1 : 1;
    unsigned cap = line;
    while (cap > 1 && table_total(t, n, cap) > room)
        cap--;
    for (size_t i = 0; i < n; i++)
        t->columns[i].width = LB_MIN(t->columns[i].width, cap);
    t->n_shown = n;
}

static lb_status table_begin(print_job *job, lb_error *err)
{
    table_state *t = job->state;
    t->begun = true;
    for (size_t i = 0; i < t->n_columns; i++) {
        table_column *c = &t->columns[i];
        c->width = LB_MAX(LB_MAX(c->name.width, LB_MIN(c->type.width, TABLE_TYPE_MAX)), 1u);
        for (size_t k = i; k < t->n_cells; k += t->n_columns)
            c->width = LB_MAX(c->width, t->cells[k].width);
    }
    table_fit(t, job->options->width);
    if (t->n_columns == 0)
        return LB_OK;
    LB_TRY(table_header(job, err));
    for (size_t k = 0; k < t->n_cells; k += t->n_columns)
        LB_TRY(table_row(job, t->cells + k, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- the form */

static bool table_is_number(const print_node *n)
{
    while ((n->type == NANOARROW_TYPE_DICTIONARY || n->type == NANOARROW_TYPE_RUN_END_ENCODED) && n->n_children == 1)
        n = &n->children[0];
    lb_family family = lb_type_family(n->type);
    return family == LB_FAMILY_INT || family == LB_FAMILY_FLOAT || family == LB_FAMILY_DECIMAL;
}

static lb_status table_title(table_state *t, const struct ArrowSchema *field, table_column *c, lb_error *err)
{
    const char *name = field->name == NULL ? "" : field->name;
    LB_TRY(table_cell_of(t, name, strlen(name), &c->name, err));
    t->scratch.size = 0;
    LB_TRY(lb_type_words(field, false, &t->scratch, err));
    return table_cell_of(t, t->scratch.data, t->scratch.size, &c->type, err);
}

lb_status print_open_table(print_job *job, lb_error *err)
{
    unsigned line = job->options->width;
    table_state *t = lb_arena_alloc(&job->arena, 1, sizeof *t);
    if (t == NULL)
        return lb_arena_fail(&job->arena, err);
    job->state = t;
    lb_buf_init(&t->text, job->out.budget);
    lb_buf_init(&t->scratch, job->out.budget);
    t->cap = line == 0 ? TABLE_CELL_MAX : LB_MIN(line, TABLE_CELL_MAX);
    t->n_columns = line == 0 ? job->n_columns : LB_MIN(job->n_columns, (size_t)line / (1 + TABLE_GAP) + 1);
    t->more = t->n_columns < job->n_columns;
    t->columns = lb_arena_alloc(&job->arena, LB_MAX(t->n_columns, 1u), sizeof *t->columns);
    if (t->columns == NULL)
        return lb_arena_fail(&job->arena, err);
    for (size_t i = 0; i < t->n_columns; i++) {
        LB_TRY(table_title(t, job->schema->children[i], &t->columns[i], err));
        t->columns[i].right = table_is_number(&job->columns[i]);
    }
    return LB_OK;
}

static lb_status table_value(print_job *job, size_t c, int64_t row, table_cell *out, lb_error *err)
{
    table_state *t = job->state;
    const print_node *n = &job->columns[c];
    bool null = print_node_is_null(n, row);
    t->scratch.size = 0;
    if (null)
        LB_TRY(lb_buf_append_str(&t->scratch, "∅", err));
    else
        LB_TRY(n->put(n, row, &t->scratch, err));
    LB_TRY(table_cell_of(t, t->scratch.data, t->scratch.size, out, err));
    out->null = null;
    return LB_OK;
}

static lb_status table_more_cells(table_state *t, lb_error *err)
{
    if (t->n_cells + t->n_columns <= t->cells_cap)
        return LB_OK;
    size_t cap = LB_MAX(t->cells_cap * 2, LB_MAX(t->n_columns, 64u));
    table_cell *more = realloc(t->cells, cap * sizeof *more);
    if (more == NULL)
        return lb_fail_nomem(err);
    t->cells = more;
    t->cells_cap = cap;
    return LB_OK;
}

lb_status print_rows_table(print_job *job, const struct ArrowArray *batch, int64_t n_rows, lb_error *err)
{
    table_state *t = job->state;
    for (int64_t row = 0; row < n_rows; row++) {
        size_t titles = t->text.size, first = t->begun ? 0 : t->n_cells;
        if (t->begun)
            t->n_cells = 0;
        LB_TRY(table_more_cells(t, err));
        for (size_t c = 0; c < t->n_columns; c++)
            LB_TRY(table_value(job, c, batch->offset + row, &t->cells[first + c], err));
        t->n_cells = first + t->n_columns;
        job->rows++;
        if (t->begun) {
            LB_TRY(table_row(job, t->cells, err));
            t->text.size = titles;
        } else if (job->rows >= TABLE_SAMPLE || t->n_cells >= TABLE_SAMPLE_CELLS ||
                   t->text.size >= TABLE_SAMPLE_BYTES) {
            LB_TRY(table_begin(job, err));
        }
    }
    return LB_OK;
}

lb_status print_end_table(print_job *job, lb_error *err)
{
    table_state *t = job->state;
    return t->begun ? LB_OK : table_begin(job, err);
}

void print_close_table(print_job *job)
{
    table_state *t = job->state;
    if (t == NULL)
        return;
    /* After an error the rows kept so far are still shown. */
    if (!t->begun && t->n_cells != 0 && t->n_columns != 0 && table_begin(job, NULL) == LB_OK)
        (void)print_flush(job, NULL);
    lb_buf_free(&t->text);
    lb_buf_free(&t->scratch);
    free(t->cells);
}
