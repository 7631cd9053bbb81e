/* Rows of a sheet as Arrow batches, from the place before the first of them. */
#include <stdlib.h>

#include "column/stream.h"
#include "format/xlsx/xlsx.h"

#define SCAN_BATCH_ROWS LB_RUN_ROWS
#define SCAN_BATCH_CELLS ((size_t)1 << 19) /* some 16 MiB; columns of only nulls do not count */
#define SCAN_BATCH_BYTES ((uint64_t)32 << 20)
#define SCAN_BATCH_PART 8 /* of the memory limit */
#define SCAN_DAY_MS INT64_C(86400000)
#define SCAN_NONE UINT32_MAX

typedef struct scan {
    lb_reader *r;
    const xl_table *table;
    xl_rows rows;
    bool have;  /* rows.row is read, and not behind what is wanted */
    bool first; /* nothing was read yet: the row has to be where the block says */
    xl_place place;
    xl_valuer values;
    struct ArrowSchema schema;
    uint32_t *out_of;  /* of each column of the table: the first column of the batch that is it */
    uint32_t *next_of; /* of each column of the batch: the next one that is the same */
    xl_column_type *types;
    uint64_t at, left;
    const uint64_t *wanted; /* take: the next row; NULL: all from `at` on */
    size_t batch_rows;
    uint64_t batch_bytes, bytes, taken;
} scan;

/* ---------------------------------------------------------------- cells */

static lb_status scan_wrong(scan *s, uint32_t column, lb_error *err)
{
    lb_fail(err, LB_STALE, (lb_where){ -1, (int64_t)s->at, -1 },
            "row %u of the sheet: a value that is not of the type of column '%s'", s->rows.row,
            s->schema.children[column]->name);
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

/* What goes into a column of fixed width. False: the value is not of that type. */
static bool scan_number(xl_column_type type, const xl_value *v, int64_t *out)
{
    switch (type) {
    case XL_C_BOOL:
        *out = v->boolean;
        return v->kind == XL_BOOL;
    case XL_C_INT:
        *out = v->kind == XL_NUMERIC ? (int64_t)LB_MAX(LB_MIN(v->number, 9007199254740992.0), -9007199254740992.0) : 0;
        return v->kind == XL_NUMERIC && (double)*out == v->number;
    case XL_C_DATE:
        *out = v->instant / SCAN_DAY_MS;
        return v->kind == XL_MOMENT && *out * SCAN_DAY_MS == v->instant;
    case XL_C_TIME:
        *out = v->span;
        return v->kind == XL_MOMENT && v->of_day;
    case XL_C_TIMESTAMP:
        *out = v->instant;
        return v->kind == XL_MOMENT && v->shows != XL_ELAPSED;
    case XL_C_DURATION:
        *out = v->span;
        return v->kind == XL_MOMENT && v->shows == XL_ELAPSED;
    default:
        return false;
    }
}

static lb_status scan_take_bytes(scan *s, size_t n, lb_error *err)
{
    s->bytes += n;
    while (s->bytes > s->taken) {
        if (!lb_budget_take(&s->r->cx->budget, (uint64_t)1 << 20))
            return lb_fail(err, LB_BUDGET, LB_NOWHERE, "a batch of rows passes the memory limit");
        s->taken += (uint64_t)1 << 20;
    }
    return LB_OK;
}

static lb_status scan_text(scan *s, struct ArrowArray *a, const xl_value *v, lb_error *err)
{
    char room[XL_TEXT_ROOM];
    lb_str text = xl_value_text(v, room);

    LB_TRY(scan_take_bytes(s, text.size, err));
    int code = ArrowArrayAppendString(a, (struct ArrowStringView){ text.at, (int64_t)text.size });
    return code == 0 ? LB_OK : lb_fail_arrow(err, code, NULL);
}

/* Nulls up to row `row`. Of several bits appended at once nanoarrow 0.8 makes room for one only, so these go one by one. */
static lb_status scan_nulls(struct ArrowArray *a, xl_column_type type, int64_t row, lb_error *err)
{
    int code = 0;

    while (code == 0 && a->length < row)
        code = ArrowArrayAppendNull(a, type == XL_C_BOOL ? 1 : row - a->length);
    return code == 0 ? LB_OK : lb_fail_arrow(err, code, NULL);
}

/* A value into row `row` of a column; those before it that have none are null. */
static lb_status scan_put(scan *s, struct ArrowArray *a, uint32_t column, int64_t row, const xl_value *v, lb_error *err)
{
    xl_column_type type = s->types[column];
    int64_t number;
    int code;

    LB_TRY(scan_nulls(a, type, row, err));
    LB_TRY(scan_take_bytes(s, 8, err));
    if (type == XL_C_STRING)
        return scan_text(s, a, v, err);
    if (v->kind == XL_ERROR)
        return LB_OK;
    if (type == XL_C_DOUBLE) {
        if (v->kind != XL_NUMERIC)
            return scan_wrong(s, column, err);
        code = ArrowArrayAppendDouble(a, v->number);
    } else {
        if (!scan_number(type, v, &number))
            return scan_wrong(s, column, err);
        code = ArrowArrayAppendInt(a, number);
    }
    return code == 0 ? LB_OK : lb_fail_arrow(err, code, NULL);
}

static lb_status scan_cells(scan *s, struct ArrowArray *batch, int64_t row, lb_error *err)
{
    uint32_t first = s->table->first_column;
    uint64_t n = (uint64_t)s->table->schema.n_children;
    xl_value value;

    for (size_t i = 0; i < s->rows.n_cells; i++) {
        const xl_cell *cell = &s->rows.cells[i];
        if (cell->column < first || cell->column - first >= n) {
            lb_fail(err, LB_STALE, (lb_where){ -1, (int64_t)s->at, -1 },
                    "row %u of the sheet has a value where no column was mapped", s->rows.row);
            return LB_STALE;
        }
        uint32_t out = s->out_of[cell->column - first];
        if (out == SCAN_NONE)
            continue;
        LB_TRY(xl_value_of(&s->values, &s->rows, cell, &value, err));
        for (; out != SCAN_NONE; out = s->next_of[out])
            LB_TRY(scan_put(s, batch->children[out], out, row, &value, err));
    }
    return LB_OK;
}

/* ---------------------------------------------------------------- rows */

static lb_status scan_stale(lb_error *err)
{
    lb_fail(err, LB_STALE, LB_NOWHERE, "the sheet's rows are not where they were mapped");
    lb_fail_hint(err, "`lakebed doctor` on its directory tells what changed");
    return LB_STALE;
}

/* Read on until row `number` of the sheet, or one behind it, is at hand. */
static lb_status scan_reach(scan *s, uint64_t number, lb_error *err)
{
    while (!s->have || s->rows.row < number) {
        lb_status status = xl_rows_next(&s->rows, &s->have, err);
        if (s->first && s->place.row != 0 &&
            (status == LB_CORRUPT ||
             (status == LB_OK && (!s->have || s->rows.row != s->place.row || s->rows.offset != s->place.offset)))) {
            lb_error_clear(err);
            return scan_stale(err);
        }
        s->first = false;
        LB_TRY(status);
        if (!s->have) /* the last row of a table holds a value */
            return scan_stale(err);
    }
    return LB_OK;
}

static uint64_t scan_want(const scan *s)
{
    uint64_t want = LB_MIN(s->left, (uint64_t)s->batch_rows);

    if (s->wanted != NULL || s->table->blocks == NULL || s->table->blocks->count == 0)
        return want;
    return LB_MIN(want, lb_blocks_border(s->table->blocks, s->at) - s->at);
}

/* What a cell of the row holds cannot be read. */
static lb_status scan_say_row(const scan *s, lb_status status, lb_error *err)
{
    if (status != LB_OK && err != NULL && err->code == status && err->row < 0 && !lb_is_callers(status))
        err->row = (int64_t)s->at;
    return status;
}

static lb_status scan_fill(scan *s, struct ArrowArray *batch, uint64_t *rows, lb_error *err)
{
    const uint64_t want = scan_want(s);

    s->bytes = 0;
    for (*rows = 0; *rows < want && s->bytes < s->batch_bytes; (*rows)++) {
        if (s->wanted != NULL)
            s->at = *s->wanted++;
        uint64_t number = s->table->first_row + s->at;
        LB_TRY(scan_reach(s, number, err));
        if (s->rows.row == number)
            LB_TRY(scan_say_row(s, scan_cells(s, batch, (int64_t)*rows, err), err));
        s->at++;
    }
    s->left -= *rows;
    return LB_OK;
}

static lb_status scan_finish(scan *s, struct ArrowArray *batch, int64_t rows, lb_error *err)
{
    struct ArrowError why = { .message = "" };

    for (size_t i = 0; i < (size_t)s->schema.n_children; i++)
        LB_TRY(scan_nulls(batch->children[i], s->types[i], rows, err));
    batch->length = rows;
    int code = ArrowArrayFinishBuildingDefault(batch, &why);
    return code == 0 ? LB_OK : lb_fail_arrow(err, code, &why);
}

static lb_status scan_begin(const scan *s, struct ArrowArray *out, lb_error *err)
{
    struct ArrowError why = { .message = "" };
    int code = ArrowArrayInitFromSchema(out, &s->schema, &why);

    if (code == 0)
        code = ArrowArrayStartAppending(out);
    return code == 0 ? LB_OK : lb_fail_arrow(err, code, &why);
}

static lb_status scan_next(void *state, struct ArrowArray *out, lb_error *err)
{
    scan *s = state;
    uint64_t rows = 0;

    out->release = NULL;
    if (s->left == 0)
        return LB_OK;
    lb_status status = scan_begin(s, out, err);
    if (status == LB_OK)
        status = scan_fill(s, out, &rows, err);
    if (status == LB_OK)
        status = scan_finish(s, out, (int64_t)rows, err);
    lb_budget_give(&s->r->cx->budget, s->taken);
    s->taken = 0;
    if (status == LB_OK)
        return LB_OK;
    if (out->release != NULL)
        out->release(out);
    out->release = NULL;
    lb_fail_path(err, s->r->store->path);
    return status;
}

/* ---------------------------------------------------------------- opening */

static void scan_close(void *state)
{
    scan *s = state;

    if (s == NULL)
        return;
    xl_rows_close(&s->rows);
    lb_buf_free(&s->values.scratch);
    if (s->schema.release != NULL)
        s->schema.release(&s->schema);
    free(s->out_of);
    free(s->next_of);
    free(s->types);
    free(s);
}

static lb_status scan_type(const struct ArrowSchema *field, xl_column_type *out, lb_error *err)
{
    static const char *const formats[XL_C_TYPES] = { "n", "b", "l", "g", "tdD", "ttm", "tsm:", "tDm", "u" };

    for (int i = 0; i < XL_C_TYPES; i++)
        if (strcmp(field->format, formats[i]) == 0) {
            *out = (xl_column_type)i;
            return LB_OK;
        }
    return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "column '%s' is of a type that workbooks do not have", field->name);
}

static lb_status scan_columns(scan *s, const lb_range *range, size_t *full, lb_error *err)
{
    const struct ArrowSchema *file = &s->table->schema;
    size_t n = range->n_columns, width = (size_t)file->n_children;

    s->out_of = malloc((width + 1) * sizeof *s->out_of);
    s->next_of = malloc((n + 1) * sizeof *s->next_of);
    s->types = calloc(n + 1, sizeof *s->types);
    if (s->out_of == NULL || s->next_of == NULL || s->types == NULL)
        return lb_fail_nomem(err);
    memset(s->out_of, 0xFF, (width + 1) * sizeof *s->out_of);
    LB_TRY(lb_schema_struct(&s->schema, (int64_t)n, err));
    *full = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t column = range->columns[i].column;
        if (column >= width)
            return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "column %llu of a file that has %llu",
                           (unsigned long long)column, (unsigned long long)width);
        s->schema.children[i]->release(s->schema.children[i]);
        LB_TRY(lb_schema_copy(file->children[column], s->schema.children[i], err));
        LB_TRY(scan_type(s->schema.children[i], &s->types[i], err));
        *full += s->types[i] != XL_C_NULL;
        s->next_of[i] = s->out_of[column];
        s->out_of[column] = s->types[i] == XL_C_NULL ? SCAN_NONE : (uint32_t)i;
    }
    return LB_OK;
}

/* Rows of the range that lie before the end of the table. */
static uint64_t scan_count(const lb_range *range, uint64_t total)
{
    uint64_t n = range->count;

    if (range->rows == NULL)
        return range->first >= total ? 0 : LB_MIN(n, total - range->first);
    while (n > 0 && range->rows[n - 1] >= total)
        n--;
    return n;
}

static lb_status scan_open(scan *s, const lb_range *range, lb_error *err)
{
    lb_reader *r = s->r;
    size_t full = 0;

    LB_TRY(scan_columns(s, range, &full, err));
    s->batch_rows = LB_MIN(range->batch_rows != 0 ? range->batch_rows : (size_t)SCAN_BATCH_ROWS,
                           LB_MAX(SCAN_BATCH_CELLS / LB_MAX(full, (size_t)1), (size_t)1));
    s->batch_bytes = LB_MAX(LB_MIN(SCAN_BATCH_BYTES, r->cx->budget.limit / SCAN_BATCH_PART), (uint64_t)1);
    s->left = scan_count(range, s->table->n_rows);
    if (s->left == 0)
        return LB_OK;
    s->wanted = range->rows;
    s->at = range->rows != NULL ? range->rows[0] : range->first;
    uint64_t place = s->at / s->table->spacing;
    if (place < s->table->n_places)
        s->place = s->table->places[place];
    s->first = true;
    return xl_rows_open(&s->rows, r->cx, &r->sheet, s->place.offset, s->place.row, range->chunk, err);
}

lb_status xl_scan_table(lb_reader *r, const xl_table *table, const lb_range *range, struct ArrowArrayStream *out,
                        lb_error *err)
{
    scan *s = calloc(1, sizeof *s);

    out->release = NULL;
    if (s == NULL)
        return lb_fail_nomem(err);
    s->r = r;
    s->table = table;
    s->values = (xl_valuer){ .package = &r->package, .strings = r->strings };
    lb_buf_init(&s->values.scratch, &r->cx->budget);
    lb_status status = scan_open(s, range, err);
    return lb_stream_begin(status, (lb_source){ scan_next, scan_close, s }, &s->schema, out, err);
}
