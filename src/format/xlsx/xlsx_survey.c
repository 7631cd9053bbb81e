/* One pass over a sheet: its extent, the types of its columns, where its blocks begin; and a second one over the columns of which
 * statistics are wanted, since only then their types are known. */
#include <stdio.h>
#include <stdlib.h>

#include "base/names.h"
#include "column/array_stats.h"
#include "column/ipc.h"
#include "column/stream.h"
#include "format/access_points.h"
#include "format/xlsx/xlsx.h"

typedef struct survey_column {
    xl_seen seen;
    lb_str header; /* what stands in the header's row; at NULL: nothing */
} survey_column;

typedef struct survey {
    lb_reader *r;
    const lb_survey_options *options;
    lb_arena *arena;
    xl_rows rows;
    xl_valuer values; /* without texts */
    survey_column *columns;
    size_t n_columns, cap_columns;
    uint32_t least_column;
    bool settled; /* the header's row is known */
    uint32_t header_row, first_row, last_row;
    uint64_t next_place; /* row of the sheet that has the next one */
    lb_buf places, string_offsets, names;
    xl_table table;
    lb_entry *out;
} survey;

/* ---------------------------------------------------------------- rows */

static lb_status survey_column_at(survey *s, uint32_t column, survey_column **out, lb_error *err)
{
    if (column >= s->cap_columns) {
        size_t cap = LB_MAX(s->cap_columns * 2, (size_t)column + 16);
        survey_column *grown = realloc(s->columns, cap * sizeof *grown);
        if (grown == NULL)
            return lb_fail_nomem(err);
        memset(grown + s->cap_columns, 0, (cap - s->cap_columns) * sizeof *grown);
        s->columns = grown;
        s->cap_columns = cap;
    }
    s->n_columns = LB_MAX(s->n_columns, (size_t)column + 1);
    s->least_column = LB_MIN(s->least_column, column);
    *out = &s->columns[column];
    return LB_OK;
}

/* Which row is the header: the first that holds a value, unless it was said. */
static void survey_settle(survey *s)
{
    const lb_read_options *o = s->r->options;
    bool said = o != NULL && (o->set & LB_OPT_HEADER) != 0;

    s->settled = true;
    if (said && !o->has_header)
        s->header_row = 0;
    else if (said && o->header_row > 0)
        s->header_row = (uint32_t)o->header_row;
    else
        s->header_row = s->rows.row;
    s->first_row = s->header_row + 1;
    s->next_place = s->first_row;
}

static lb_status survey_header(survey *s, lb_error *err)
{
    xl_valuer texts = { .package = &s->r->package, .strings = s->r->strings };
    survey_column *c = NULL;
    lb_status status = LB_OK;
    char room[XL_TEXT_ROOM];
    xl_value value;

    lb_buf_init(&texts.scratch, &s->r->cx->budget);
    for (size_t i = 0; i < s->rows.n_cells && status == LB_OK; i++) {
        const xl_cell *cell = &s->rows.cells[i];
        status = survey_column_at(s, cell->column, &c, err);
        if (status == LB_OK)
            status = xl_value_of(&texts, &s->rows, cell, &value, err);
        if (status != LB_OK)
            break;
        lb_str text = xl_value_text(&value, room);
        c->header = (lb_str){ lb_arena_copy(s->arena, text), text.size };
        if (c->header.at == NULL)
            status = lb_arena_fail(s->arena, err);
    }
    lb_buf_free(&texts.scratch);
    return status;
}

/* Places up to this row, behind the row before, are here. */
static lb_status survey_places(survey *s, lb_error *err)
{
    const xl_place place = { .offset = s->rows.offset, .row = s->rows.row };

    for (; s->next_place <= s->rows.row; s->next_place += s->table.spacing)
        LB_TRY(lb_buf_append(&s->places, &place, sizeof place, err));
    return LB_OK;
}

static lb_status survey_row(survey *s, lb_error *err)
{
    if (s->rows.n_cells == 0)
        return LB_OK;
    if (!s->settled)
        survey_settle(s);
    if (s->rows.row < s->header_row)
        return LB_OK;
    if (s->rows.row == s->header_row)
        return survey_header(s, err);
    s->last_row = s->rows.row;
    LB_TRY(survey_places(s, err));
    for (size_t i = 0; i < s->rows.n_cells; i++) {
        survey_column *c = NULL;
        xl_value value;
        LB_TRY(survey_column_at(s, s->rows.cells[i].column, &c, err));
        if (s->options->rows_only)
            continue;
        LB_TRY(xl_value_of(&s->values, &s->rows, &s->rows.cells[i], &value, err));
        xl_seen_add(&c->seen, &value);
    }
    return LB_OK;
}

static lb_status survey_rows(survey *s, lb_error *err)
{
    lb_xml_token token = LB_XML_TEXT;
    bool got = true;

    LB_TRY(xl_rows_open(&s->rows, s->r->cx, &s->r->sheet, 0, 0, s->options->chunk, err));
    while (got) {
        LB_TRY(xl_rows_next(&s->rows, &got, err));
        if (got)
            LB_TRY(survey_row(s, err));
    }
    /* What follows the rows is read too: it has to be whole, and the checksum is of all. */
    while (token != LB_XML_DONE)
        LB_TRY(lb_xml_next(&s->rows.xml, &token, err));
    return LB_OK;
}

/* ---------------------------------------------------------------- schema */

typedef struct survey_names {
    lb_names taken, used;
} survey_names;

/* `base_N`, N being the first from *next on that is free. */
static lb_status names_make(survey *s, const survey_names *n, lb_str base, uint64_t *next, lb_str *out, lb_error *err)
{
    size_t room = base.size + 24;
    char *text = lb_arena_alloc(s->arena, room, 1);

    if (text == NULL)
        return lb_arena_fail(s->arena, err);
    memcpy(text, base.at, base.size);
    do {
        int m = snprintf(text + base.size, room - base.size, "_%llu", (unsigned long long)(*next)++);
        *out = (lb_str){ text, base.size + (size_t)m };
    } while (lb_names_find(&n->taken, *out) != NULL);
    return LB_OK;
}

static lb_status names_next(survey *s, survey_names *n, size_t number, lb_str header, lb_str *out, lb_error *err)
{
    uint64_t own = number;
    uint64_t *next = header.size == 0 ? &own : lb_names_find(&n->used, header);

    *out = header;
    if (next != NULL)
        LB_TRY(names_make(s, n, header.size == 0 ? LB_STR("column") : header, next, out, err));
    LB_TRY(lb_names_add(&n->used, *out, 2, NULL, err));
    return lb_names_add(&n->taken, *out, 0, NULL, err);
}

static lb_status survey_field(survey *s, const survey_column *c, lb_str name, struct ArrowSchema *field, lb_error *err)
{
    const lb_read_options *o = s->r->options;
    bool text = o != NULL && o->types == LB_TYPES_TEXT;
    xl_column_type type = text ? XL_C_STRING : xl_seen_type(&c->seen);

    field->release(field);
    LB_TRY(lb_type_of_words(xl_type_words[type], field, err));
    LB_TRY(lb_schema_set_name(field, name, err));
    if (s->header_row != 0 && !lb_str_equal(name, c->header))
        LB_TRY(lb_schema_set_meta(field, LB_META_ORIGINAL_NAME, c->header.at == NULL ? LB_STR("") : c->header, err));
    if ((type == XL_C_DATE || type == XL_C_TIMESTAMP) && c->seen.wide)
        LB_TRY(lb_schema_set_meta(field, LB_META_WIDE, LB_STR("true"), err));
    if (type == XL_C_INT && c->seen.negative)
        return lb_schema_set_meta(field, LB_META_NEGATIVE, LB_STR("true"), err);
    return LB_OK;
}

static lb_status survey_fields(survey *s, survey_names *names, lb_error *err)
{
    size_t n = (size_t)s->table.schema.n_children;
    lb_str name;

    if (s->columns == NULL)
        return LB_OK;
    const survey_column *columns = s->columns + s->table.first_column;

    /* What the sheet itself calls a column, no made-up name may take. */
    for (size_t i = 0; i < n; i++)
        if (columns[i].header.size != 0)
            LB_TRY(lb_names_add(&names->taken, columns[i].header, 0, NULL, err));
    for (size_t i = 0; i < n; i++) {
        LB_TRY(names_next(s, names, i + 1, columns[i].header, &name, err));
        LB_TRY(survey_field(s, &columns[i], name, s->table.schema.children[i], err));
    }
    return LB_OK;
}

/* With a header the table is the part of the sheet that is used; without one it begins at the cell A1. */
static lb_status survey_schema(survey *s, lb_error *err)
{
    survey_names names = { .taken = { .count = 0 } };

    s->table.first_column = s->header_row == 0 || s->n_columns == 0 ? 0 : s->least_column;
    LB_TRY(lb_schema_struct(&s->table.schema, (int64_t)(s->n_columns - s->table.first_column), err));
    lb_status status = survey_fields(s, &names, err);
    lb_names_free(&names.taken);
    lb_names_free(&names.used);
    return status;
}

/* ---------------------------------------------------------------- blocks */

static lb_status survey_blocks(survey *s, lb_error *err)
{
    lb_block_builder b;
    lb_status status = LB_OK;
    uint64_t stride = s->options->stride, first = 0;

    lb_block_builder_init(&b, &s->r->cx->budget);
    for (; status == LB_OK && first < s->table.n_rows; first += LB_MIN(stride, (uint64_t)XL_ROWS_MOST)) {
        /* Places in the XML are in open_state: here only places in the file would do. */
        const lb_block block = { .first_row = first,
                                 .row_count = LB_MIN(stride, s->table.n_rows - first),
                                 .first_byte = UINT64_MAX,
                                 .first_line = UINT64_MAX,
                                 .start_hash = UINT64_MAX };
        status = lb_block_builder_add(&b, &block, err);
    }
    if (status != LB_OK) {
        lb_block_builder_free(&b);
        return status;
    }
    LB_TRY(lb_block_builder_finish(&b, s->arena, &s->out->blocks, err));
    s->table.blocks = &s->out->blocks;
    s->table.n_places = s->places.size / sizeof(xl_place);
    s->table.places = (xl_place *)(void *)s->places.data;
    return LB_OK;
}

/* ---------------------------------------------------------------- statistics */

static bool stats_wants(const survey *s, const char *name)
{
    const lb_survey_options *o = s->options;

    if (o->stats == LB_STATS_ALL || o->stats == LB_STATS_BLOCKS)
        return true;
    for (size_t i = 0; o->stats == LB_STATS_NAMED && o->stats_columns != NULL && o->stats_columns[i] != NULL; i++)
        if (strcmp(o->stats_columns[i], name) == 0)
            return true;
    return false;
}

/* Columns without any value need not be read: they can be many. */
static bool stats_is_null(const struct ArrowSchema *field)
{
    return strcmp(field->format, "n") == 0;
}

typedef struct survey_stats {
    lb_wanted *wanted;
    size_t n;
    struct ArrowSchema schema;
    lb_array_stats *whole, *part;
    lb_buf items, of_block, of_column; /* of blocks */
} survey_stats;

static lb_status stats_columns(const survey *s, survey_stats *t, lb_error *err)
{
    size_t n = (size_t)s->table.schema.n_children;

    t->wanted = calloc(n + 1, sizeof *t->wanted);
    if (t->wanted == NULL)
        return lb_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (stats_wants(s, s->table.schema.children[i]->name) && !stats_is_null(s->table.schema.children[i]))
            t->wanted[t->n++].column = i;
    LB_TRY(lb_schema_struct(&t->schema, (int64_t)t->n, err));
    for (size_t i = 0; i < t->n; i++) {
        t->schema.children[i]->release(t->schema.children[i]);
        LB_TRY(lb_schema_copy(s->table.schema.children[t->wanted[i].column], t->schema.children[i], err));
    }
    LB_TRY(lb_array_stats_new(&t->schema, NULL, NULL, &s->r->cx->budget, &t->whole, err));
    return lb_array_stats_new(&t->schema, NULL, NULL, &s->r->cx->budget, &t->part, err);
}

static lb_status stats_keep_block(const survey *s, survey_stats *t, uint32_t block, lb_error *err)
{
    size_t n = lb_array_stats_count(t->part);

    LB_TRY(lb_buf_reserve(&t->items, n * sizeof(lb_colstat), err));
    LB_TRY(lb_buf_reserve(&t->of_column, n * sizeof(uint32_t), err));
    uint32_t *columns = (uint32_t *)(void *)(t->of_column.data + t->of_column.size);
    LB_TRY(
        lb_array_stats_finish(t->part, s->arena, (lb_colstat *)(void *)(t->items.data + t->items.size), columns, err));
    t->items.size += n * sizeof(lb_colstat);
    t->of_column.size += n * sizeof(uint32_t);
    for (size_t i = 0; i < n; i++) {
        columns[i] = (uint32_t)t->wanted[columns[i]].column;
        LB_TRY(lb_buf_append(&t->of_block, &block, sizeof block, err));
    }
    return LB_OK;
}

/* Rows of one block, or of all. */
static lb_status stats_read(const survey *s, survey_stats *t, uint64_t first, uint64_t count, lb_error *err)
{
    const lb_range range = { .first = first, .count = count, .n_columns = t->n, .columns = t->wanted };
    struct ArrowArrayStream stream;

    LB_TRY(xl_scan_table(s->r, &s->table, &range, &stream, err));
    lb_status status = LB_OK;
    while (status == LB_OK) {
        struct ArrowArray batch = { 0 };
        status = lb_stream_next(&stream, &batch, err);
        if (status != LB_OK || batch.release == NULL)
            break;
        status = lb_array_stats_add(t->part, &t->schema, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    if (status == LB_OK)
        lb_array_stats_merge(t->whole, t->part);
    return status;
}

static lb_status stats_each_block(survey *s, survey_stats *t, lb_error *err)
{
    const lb_blocks *b = s->table.blocks;

    for (uint64_t i = 0; i < b->count; i++) {
        lb_array_stats_reset(t->part);
        LB_TRY(stats_read(s, t, b->first_row[i], b->row_count[i], err));
        LB_TRY(stats_keep_block(s, t, (uint32_t)i, err));
    }
    s->out->block_columns.count = t->items.size / sizeof(lb_colstat);
    s->out->block_columns.items = lb_arena_dup(s->arena, t->items.data, t->items.size);
    s->out->block_of_column = lb_arena_dup(s->arena, t->of_block.data, t->of_block.size);
    s->out->column_of_column = lb_arena_dup(s->arena, t->of_column.data, t->of_column.size);
    bool kept =
        s->out->block_columns.items != NULL && s->out->block_of_column != NULL && s->out->column_of_column != NULL;
    return kept ? LB_OK : lb_arena_fail(s->arena, err);
}

/* Statistics of the columns that were read, and of those without a value, in the columns' order. */
static lb_status stats_put(survey *s, survey_stats *t, lb_error *err)
{
    size_t n = (size_t)s->table.schema.n_children, read = lb_array_stats_count(t->whole), at = 0;
    lb_colstat *found = lb_arena_alloc(s->arena, read + 1, sizeof *found);
    lb_colstat *items = lb_arena_alloc(s->arena, n + 1, sizeof *items);

    if (found == NULL || items == NULL)
        return lb_arena_fail(s->arena, err);
    LB_TRY(lb_array_stats_finish(t->whole, s->arena, found, NULL, err));
    for (size_t i = 0; i < n; i++) {
        const struct ArrowSchema *field = s->table.schema.children[i];
        if (!stats_wants(s, field->name))
            continue;
        lb_colstat *item = &items[s->out->columns.count++];
        if (!stats_is_null(field)) {
            *item = found[at++];
            continue;
        }
        lb_str name = lb_str_of(field->name);
        *item = (lb_colstat){ .name = { lb_arena_copy(s->arena, name), name.size },
                              .type = LB_STR("null"),
                              .source = LB_STATS_COMPUTED,
                              .has_null_count = true,
                              .null_count = s->table.n_rows };
        if (item->name.at == NULL)
            return lb_arena_fail(s->arena, err);
    }
    s->out->columns.items = items;
    return LB_OK;
}

static lb_status survey_stats_of(survey *s, lb_error *err)
{
    survey_stats t = { .n = 0 };

    if (s->options->stats == LB_STATS_OFF || s->options->rows_only)
        return LB_OK;
    lb_buf_init(&t.items, &s->r->cx->budget);
    lb_buf_init(&t.of_block, &s->r->cx->budget);
    lb_buf_init(&t.of_column, &s->r->cx->budget);
    lb_status status = stats_columns(s, &t, err);
    if (status == LB_OK && s->options->stats == LB_STATS_BLOCKS)
        status = stats_each_block(s, &t, err);
    else if (status == LB_OK && t.n != 0)
        status = stats_read(s, &t, 0, s->table.n_rows, err);
    if (status == LB_OK)
        status = stats_put(s, &t, err);
    lb_array_stats_free(t.whole);
    lb_array_stats_free(t.part);
    if (t.schema.release != NULL)
        t.schema.release(&t.schema);
    lb_buf_free(&t.items);
    lb_buf_free(&t.of_block);
    lb_buf_free(&t.of_column);
    free(t.wanted);
    return status;
}

/* ---------------------------------------------------------------- the entry */

static lb_status survey_keep(survey *s, lb_buf *bytes, lb_str *out, lb_error *err)
{
    *out = (lb_str){ lb_arena_dup(s->arena, bytes->data, bytes->size), bytes->size };
    return out->at == NULL ? lb_arena_fail(s->arena, err) : LB_OK;
}

static lb_status survey_keep_bytes(survey *s, lb_error *err)
{
    lb_buf bytes;

    lb_buf_init(&bytes, &s->r->cx->budget);
    lb_status status = lb_ipc_encode_schema(&s->table.schema, &bytes, err);
    if (status == LB_OK)
        status = survey_keep(s, &bytes, &s->out->arrow_schema, err);
    bytes.size = 0;
    if (status == LB_OK)
        status = xl_state_put(&s->table, &bytes, err);
    if (status == LB_OK)
        status = survey_keep(s, &bytes, &s->out->open_state, err);
    lb_buf_free(&bytes);
    return status;
}

typedef struct survey_walk {
    const xl_table *table;
    size_t place;
} survey_walk;

static void survey_next_row(void *user, uint64_t at, uint64_t *row, uint64_t *byte)
{
    survey_walk *w = user;
    const xl_table *t = w->table;

    while (w->place < t->n_places && t->places[w->place].offset < at)
        w->place++;
    bool there = w->place < t->n_places;
    *row = there ? t->places[w->place].row - t->first_row : t->n_rows;
    *byte = there ? t->places[w->place].offset : at;
}

static void survey_behind(void *user, uint64_t at, uint64_t *row, uint64_t *byte)
{
    const xl_table *t = user;

    *row = t->n_rows;
    *byte = at;
}

/* Where shared strings begin, and where decompressing them can. */
static lb_status survey_strings(survey *s, lb_error *err)
{
    const xl_part *part = xl_strings_part(s->r->strings);
    lb_access_points points = { .count = 0 };
    uint64_t count;

    if (!s->options->keep_state) /* it is no map that is made */
        return LB_OK;
    LB_TRY(xl_strings_list(s->r->strings, &s->string_offsets, &count, err));
    s->table.strings = (xl_string_list){ count, s->string_offsets.data };
    if (count == 0 || part->view == part->packed)
        return LB_OK;
    LB_TRY(lb_points_keep(part->view, lb_container_deflate.point_kind, part->member, part->content_at, survey_behind,
                          &s->table, s->arena, &points, err));
    return lb_points_join(&s->out->access_points, &points, s->arena, err);
}

static lb_status survey_names_of_sheets(survey *s, lb_error *err)
{
    for (size_t i = 0; i < s->r->package.n_sheets; i++) {
        const lb_str name = s->r->package.sheets[i].name;
        const uint32_t size = (uint32_t)LB_MIN(name.size, (size_t)UINT32_MAX);
        LB_TRY(lb_buf_append(&s->names, &size, sizeof size, err));
        LB_TRY(lb_buf_append(&s->names, name.at, size, err));
    }
    s->table.names = (lb_str){ (const char *)s->names.data, s->names.size };
    return LB_OK;
}

static lb_status survey_result(survey *s, lb_error *err)
{
    const xl_part *sheet = &s->r->sheet;
    survey_walk walk = { .table = &s->table };

    s->table.header_row = s->header_row;
    s->table.first_row = s->first_row;
    s->table.n_rows = s->last_row < s->first_row ? 0 : (uint64_t)s->last_row - s->first_row + 1;
    s->out->total_rows = s->table.n_rows;
    s->out->locator = LB_STR("sheet_row");
    s->out->has_dialect = true;
    s->out->dialect = (lb_dialect){ .delimiter = LB_STR(","),
                                    .quote = -1,
                                    .escape = -1,
                                    .has_header = s->header_row != 0,
                                    .sheet = (int32_t)s->r->sheet_number,
                                    .header_row = (int32_t)s->header_row };
    LB_TRY(survey_schema(s, err));
    LB_TRY(survey_blocks(s, err));
    if (sheet->view != sheet->packed)
        LB_TRY(lb_points_keep(sheet->view, lb_container_deflate.point_kind, sheet->member, sheet->content_at,
                              survey_next_row, &walk, s->arena, &s->out->access_points, err));
    LB_TRY(survey_strings(s, err));
    LB_TRY(survey_names_of_sheets(s, err));
    LB_TRY(survey_stats_of(s, err));
    return survey_keep_bytes(s, err);
}

lb_status xl_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err)
{
    survey s = { .r = r,
                 .options = options,
                 .arena = arena,
                 .values = { .package = &r->package },
                 .least_column = UINT32_MAX,
                 .table = { .spacing = LB_MIN(options->stride, (uint64_t)XL_SPACING_MOST) },
                 .first_row = 1,
                 .out = out };

    lb_buf_init(&s.places, &r->cx->budget);
    lb_buf_init(&s.string_offsets, &r->cx->budget);
    lb_buf_init(&s.names, &r->cx->budget);
    lb_status status = survey_rows(&s, err);
    if (status == LB_OK && !s.settled)
        survey_settle(&s);
    xl_rows_close(&s.rows);
    if (status == LB_OK)
        status = survey_result(&s, err);
    if (s.table.schema.release != NULL)
        s.table.schema.release(&s.table.schema);
    lb_buf_free(&s.places);
    lb_buf_free(&s.string_offsets);
    lb_buf_free(&s.names);
    free(s.columns);
    return status;
}
