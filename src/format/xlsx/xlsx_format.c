/* The handler: how a workbook is recognised and opened. */
#include <stdio.h>
#include <stdlib.h>

#include "column/ipc.h"
#include "format/access_points.h"
#include "format/xlsx/xlsx.h"
#include "format/xlsx/xlsx_handlers.h"

/* ---------------------------------------------------------------- sniffing */

/* What the archive's first entry is called tells: writers put the list of content types, or the workbook, in front. */
static int format_sniff(const lb_format *format, const lb_peek *peek)
{
    (void)format;
    if (peek->head_size < LB_ZIP_LOCAL || memcmp(peek->head, "PK\3\4", 4) != 0)
        return 0;
    if (memmem(peek->head, peek->head_size, "xl/", 3) != NULL)
        return 90;
    return memmem(peek->head, peek->head_size, "[Content_Types].xml", 19) != NULL ||
                   memmem(peek->head, peek->head_size, "_rels/", 6) != NULL ||
                   memmem(peek->head, peek->head_size, "docProps/", 9) != NULL
               ? 60
               : 0;
}

/* ---------------------------------------------------------------- which sheet */

static lb_status format_no_sheet(const lb_reader *r, const char *asked, lb_error *err)
{
    char names[256] = "";
    size_t n = 0;

    for (size_t i = 0; i < r->package.n_sheets && n + 1 < sizeof names; i++) {
        const xl_sheet *s = &r->package.sheets[i];
        int m = snprintf(names + n, sizeof names - n, "%s%.*s", i == 0 ? "" : ", ",
                         (int)LB_MIN(s->name.size, (size_t)80), s->name.at == NULL ? "" : s->name.at);
        n += m < 0 ? 0 : (size_t)m;
    }
    lb_fail(err, LB_USAGE, LB_NOWHERE, "the workbook has no sheet '%.80s'", asked);
    lb_fail_hint(err, "its sheets, from 0: %s", names);
    return LB_USAGE;
}

/* By name, or by number among all sheets, from 0. */
static lb_status format_named_sheet(lb_reader *r, const char *asked, lb_error *err)
{
    lb_str *names = lb_arena_alloc(&r->arena, r->package.n_sheets, sizeof *names);

    if (names == NULL)
        return lb_arena_fail(&r->arena, err);
    for (size_t i = 0; i < r->package.n_sheets; i++)
        names[i] = r->package.sheets[i].name;
    const int64_t number = xl_sheet_of(names, r->package.n_sheets, asked);
    if (number < 0)
        return format_no_sheet(r, asked, err);
    r->sheet_number = (uint32_t)number;
    return LB_OK;
}

static lb_status format_first_sheet(lb_reader *r, lb_error *err)
{
    for (size_t i = 0; i < r->package.n_sheets; i++)
        if (r->package.sheets[i].kind == XL_WORKSHEET) {
            r->sheet_number = (uint32_t)i;
            return LB_OK;
        }
    return lb_fail(err, r->package.n_sheets == 0 ? LB_CORRUPT : LB_UNSUPPORTED, LB_NOWHERE,
                   "the workbook has no worksheet");
}

static lb_status format_sheet(lb_reader *r, lb_error *err)
{
    const lb_read_options *o = r->options;
    const lb_entry *known = r->known;

    if (known != NULL && known->has_dialect && known->dialect.sheet >= 0) {
        r->sheet_number = (uint32_t)known->dialect.sheet;
        if (r->sheet_number >= r->package.n_sheets)
            return lb_fail(err, LB_STALE, LB_NOWHERE, "the sheet that was mapped is gone");
    } else if (o != NULL && (o->set & LB_OPT_SHEET) != 0) {
        LB_TRY(format_named_sheet(r, o->sheet, err));
    } else {
        LB_TRY(format_first_sheet(r, err));
    }
    const xl_sheet *sheet = &r->package.sheets[r->sheet_number];
    if (sheet->kind != XL_WORKSHEET && sheet->path.size != 0)
        return lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "the sheet '%.*s' is a %s: it has no cells",
                       (int)LB_MIN(sheet->name.size, (size_t)80), sheet->name.at == NULL ? "" : sheet->name.at,
                       sheet->kind == XL_CHART ? "chart" : "dialog or macro");
    return xl_part_open(&r->package, sheet->path, &r->sheet, err);
}

/* ---------------------------------------------------------------- opening */

static lb_status format_known(lb_reader *r, lb_error *err)
{
    const lb_entry *known = r->known;

    if (known == NULL || known->arrow_schema.size == 0)
        return LB_OK;
    LB_TRY(xl_state_get(known, &r->arena, &r->table, err));
    LB_TRY(xl_strings_know(r->strings, &r->table.strings, &known->access_points, err));
    LB_TRY(lb_ipc_decode_schema(known->arrow_schema.at, known->arrow_schema.size, &r->table.schema, err));
    if (r->sheet.view == r->sheet.packed || known->access_points.count == 0)
        return LB_OK;
    return lb_points_know(r->sheet.view, &known->access_points, r->sheet.member, r->sheet.content_at, err);
}

static lb_status format_setup(lb_reader *r, lb_error *err)
{
    LB_TRY(xl_package_open(r->cx, r->store, &r->package, err));
    LB_TRY(format_sheet(r, err));
    LB_TRY(xl_strings_new(&r->package, &r->strings, err));
    return format_known(r, err);
}

static void format_close(lb_reader *r)
{
    if (r == NULL)
        return;
    xl_strings_free(r->strings);
    if (r->table.schema.release != NULL)
        r->table.schema.release(&r->table.schema);
    xl_part_close(&r->sheet);
    xl_package_close(&r->package);
    lb_arena_free(&r->arena);
    free(r);
}

static lb_status format_open(const lb_format *format, lb_context *cx, lb_store *store, const lb_read_options *options,
                             const lb_entry *known, lb_reader **out, lb_error *err)
{
    lb_reader *r = calloc(1, sizeof *r);

    (void)format;
    *out = NULL;
    if (r == NULL)
        return lb_fail_nomem(err);
    r->cx = cx;
    r->store = store;
    r->options = options;
    r->known = known;
    lb_arena_init(&r->arena, &cx->budget);
    lb_status status = format_setup(r, err);
    if (status == LB_OK)
        *out = r;
    else
        format_close(r);
    return status;
}

/* ---------------------------------------------------------------- reading */

static lb_status format_scan(lb_reader *r, const lb_range *range, struct ArrowArrayStream *out, lb_error *err)
{
    out->release = NULL;
    if (r->table.schema.release == NULL)
        return lb_fail(err, LB_INTERNAL, LB_NOWHERE, "a scan needs an entry with a schema");
    return xl_scan_table(r, &r->table, range, out, err);
}

/* Every part of the archive, against its checksum. */
static lb_status format_verify(lb_reader *r, lb_error *err)
{
    for (size_t i = 0; i < r->package.n_entries; i++) {
        xl_part part;
        lb_status status = xl_part_open_entry(&r->package, i, &part, err);
        xl_reading reading = { .part = &part, .cx = r->cx, .check = true };
        if (status == LB_OK)
            status = xl_reading_drain(&reading, err);
        xl_part_close(&part);
        LB_TRY(status);
    }
    return LB_OK;
}

static lb_status format_all_text(struct ArrowSchema *schema, lb_error *err)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *field = schema->children[i], made = { 0 };
        lb_str original;
        LB_TRY(lb_type_of_words("string", &made, err));
        lb_status status = lb_schema_set_name(&made, lb_str_of(field->name), err);
        if (status == LB_OK && lb_schema_get_meta(field, LB_META_ORIGINAL_NAME, &original))
            status = lb_schema_set_meta(&made, LB_META_ORIGINAL_NAME, original, err);
        if (status != LB_OK) {
            made.release(&made);
            return status;
        }
        field->release(field);
        *field = made;
    }
    return LB_OK;
}

static lb_status format_adapt(const lb_entry *known, const lb_read_options *o, lb_arena *arena, lb_entry *out,
                              bool *done, lb_error *err)
{
    struct ArrowSchema schema = { 0 };
    lb_buf bytes;

    *done = o->value_set == LB_VAL_TYPES && o->types == LB_TYPES_TEXT && known->arrow_schema.size != 0;
    if (!*done)
        return LB_OK;
    *out = *known;
    out->columns = (lb_colstats){ 0 };
    out->block_columns = (lb_colstats){ 0 };
    LB_TRY(lb_ipc_decode_schema(known->arrow_schema.at, known->arrow_schema.size, &schema, err));
    lb_buf_init(&bytes, arena->budget);
    lb_status status = format_all_text(&schema, err);
    if (status == LB_OK)
        status = lb_ipc_encode_schema(&schema, &bytes, err);
    schema.release(&schema);
    if (status == LB_OK) {
        out->arrow_schema = (lb_str){ lb_arena_dup(arena, bytes.data, bytes.size), bytes.size };
        status = out->arrow_schema.at == NULL ? lb_arena_fail(arena, err) : LB_OK;
    }
    lb_buf_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------- the handler */

static const char *const format_extensions[] = { "xlsx", "xlsm", "xltx", "xltm", NULL };
static const char *const format_options[] = { "sheet", "header", "types", "all-text", NULL };

const lb_format lb_format_xlsx = {
    .name = "xlsx",
    .extensions = format_extensions,
    .locator = "sheet_row",
    .options = format_options,
    .sniff = format_sniff,
    .open = format_open,
    .survey = xl_survey,
    .scan = format_scan,
    .take = format_scan,
    .verify = format_verify,
    .adapt = format_adapt,
    .sheet_of = xl_state_sheet_of,
    .close = format_close,
};
