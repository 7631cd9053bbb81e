/* One pass over a file: rows, checkpoints, and the types and statistics of every column. */
#include <stdlib.h>

#include "base/hash.h"
#include "format/delimited/delimited_survey.h"

#define SURVEY_STATE_ROWS 4096

/* Bytes read record by record before several threads are tried again, where something had to be read so. */
#define SURVEY_PLAIN_BYTES ((uint64_t)16 << 20)

/* ---------------------------------------------------------------- columns */

static bool survey_wants_bounds(const survey *s, lb_str name)
{
    const lb_survey_options *o = s->options;

    if (o->stats == LB_STATS_ALL || o->stats == LB_STATS_BLOCKS)
        return true;
    for (size_t i = 0; o->stats == LB_STATS_NAMED && o->stats_columns != NULL && o->stats_columns[i] != NULL; i++)
        if (lb_str_is(name, o->stats_columns[i]))
            return true;
    return false;
}

static lb_status survey_declare(survey *s, survey_column *c, lb_str name, lb_error *err)
{
    struct ArrowSchema type = { 0 };

    c->declared.type = delim_declared(s->r, name);
    if (c->declared.type == NULL)
        return LB_OK;
    LB_TRY(lb_type_of_words(c->declared.type, &type, err));
    lb_status status = delim_target_of(&type, &c->declared.target, err);
    type.release(&type);
    return status;
}

static lb_status survey_begin_column(survey *s, survey_column *c, lb_error *err)
{
    *c = (survey_column){ .bounds = false };
    LB_TRY(delim_namer_next(&s->namer, s->arena, &c->name, &c->original, err));
    c->bounds = survey_wants_bounds(s, c->name);
    return survey_declare(s, c, c->name, err);
}

lb_status survey_widen_block(survey *s, size_t more, lb_error *err)
{
    if (s->options->stats != LB_STATS_BLOCKS)
        return LB_OK;
    LB_TRY(lb_buf_reserve(&s->open_bytes, more * sizeof *s->open, err));
    memset(s->open_bytes.data + s->open_bytes.size, 0, more * sizeof *s->open);
    s->open_bytes.size += more * sizeof *s->open;
    s->open = (survey_block_column *)(void *)s->open_bytes.data;
    return LB_OK;
}

lb_status survey_widen(survey *s, size_t width, lb_error *err)
{
    size_t more = width - s->width;

    LB_TRY(lb_buf_reserve(&s->column_bytes, more * sizeof *s->columns, err));
    s->columns = (survey_column *)(void *)s->column_bytes.data;
    LB_TRY(survey_widen_block(s, more, err));
    while (s->width < width) {
        LB_TRY(survey_begin_column(s, &s->columns[s->width], err));
        s->column_bytes.size += sizeof *s->columns;
        s->width++;
    }
    s->has_width = true;
    return LB_OK;
}

void survey_count_nulls(survey *s)
{
    for (size_t i = 0; i < s->width && !s->structure_only; i++)
        s->columns[i].seen.nulls = s->rows - delim_column_values(&s->columns[i].seen);
}

/* ---------------------------------------------------------------- header */

static lb_status survey_header(survey *s, lb_error *err)
{
    delim_scanner *scan = &s->records.scan;
    size_t n_header;
    lb_str *header;
    bool got;

    LB_TRY(delim_records_bom(&s->records, err));
    s->data_start = lb_text_offset(&s->records.text, s->records.text.at + scan->after);
    if (!s->r->dialect.has_header)
        return LB_OK;
    s->records.row = UINT64_MAX; /* the header is no row: the next record is row 0 */
    LB_TRY(delim_records_next(&s->records, &got, err));
    s->records.row = 0;
    if (!got)
        return LB_OK;
    n_header = scan->n_fields;
    header = lb_arena_alloc(s->arena, n_header, sizeof *header);
    if (header == NULL)
        return lb_arena_fail(s->arena, err);
    const delim_values as_text = { .text = true };
    for (size_t i = 0; i < n_header; i++) {
        delim_value v;
        LB_TRY(delim_read_value(&s->r->dialect, &as_text, &scan->fields[i], SIZE_MAX, &s->scratch, &v, err));
        header[i] = (lb_str){ lb_arena_copy(s->arena, v.text), v.text.size };
        if (header[i].at == NULL)
            return lb_arena_fail(s->arena, err);
    }
    s->data_start = lb_text_offset(&s->records.text, s->records.text.at + scan->after);
    LB_TRY(delim_namer_init(&s->namer, header, n_header, err));
    return survey_widen(s, n_header, err);
}

/* ---------------------------------------------------------------- blocks */

static lb_status survey_start_hash(survey *s, lb_block *block, lb_error *err)
{
    uint8_t bytes[DELIM_START_BYTES];
    size_t want = LB_MIN(block->total_byte_size, sizeof bytes), got = 0;

    if (s->block.n_bytes >= want) {
        block->start_hash = lb_xxh3_64(s->block.bytes, want);
        return LB_OK;
    }

    LB_TRY(lb_store_read(s->r->store, block->first_byte, bytes, want, &got, err));
    if (got != want)
        return lb_fail(err, LB_STALE, LB_AT(block->first_byte), "the file became shorter while it was read");
    block->start_hash = lb_xxh3_64(bytes, got);
    return LB_OK;
}

static void survey_bound_scalar(const delim_target *t, survey_bounds *b, const delim_scalar *v)
{
    bool first = !b->any;

    if (t->storage == DELIM_DOUBLE && v->f != v->f) {
        b->nans++;
        return;
    }
    b->any = true;
    switch (t->storage) {
    case DELIM_UNSIGNED:
        b->min.u = first ? v->u : LB_MIN(b->min.u, v->u);
        b->max.u = first ? v->u : LB_MAX(b->max.u, v->u);
        break;
    case DELIM_DOUBLE:
        b->min.f = first || delim_less(v->f, b->min.f) ? v->f : b->min.f;
        b->max.f = first || delim_less(b->max.f, v->f) ? v->f : b->max.f;
        break;
    case DELIM_DECIMAL:
        b->min.d = first || lb_i256_compare(v->d, b->min.d) < 0 ? v->d : b->min.d;
        b->max.d = first || lb_i256_compare(v->d, b->max.d) > 0 ? v->d : b->max.d;
        break;
    default:
        b->min.i = first ? v->i : LB_MIN(b->min.i, v->i);
        b->max.i = first ? v->i : LB_MAX(b->max.i, v->i);
        break;
    }
}

void survey_merge_bounds(const delim_target *t, survey_bounds *b, const survey_bounds *other)
{
    if (other->any) {
        survey_bound_scalar(t, b, &other->min);
        survey_bound_scalar(t, b, &other->max);
    }
    b->nans += other->nans;
}

/* Put the open block's columns away in few bytes, and begin them anew: u32 block  u64 columns  columns × (state of a column,
 * and for a declared one survey_bounds). Types are known at the end only, so what was seen is kept and not yet a statistic. */
static lb_status survey_close_columns(survey *s, uint64_t rows, lb_error *err)
{
    uint32_t block = (uint32_t)(s->blocks.first_row.size / sizeof(uint64_t));
    uint64_t width = s->block_width;

    if (s->options->stats != LB_STATS_BLOCKS)
        return LB_OK;
    LB_TRY(lb_buf_append(&s->closed, &block, sizeof block, err));
    LB_TRY(lb_buf_append(&s->closed, &width, sizeof width, err));
    for (size_t i = 0; i < width; i++) {
        survey_block_column *open = &s->open[i];
        survey_declared *declared = &s->columns[i].declared;
        open->seen.nulls = rows - delim_column_values(&open->seen);
        LB_TRY(delim_state_add(&s->closed, &open->seen, err));
        delim_column_merge(&s->columns[i].seen, &open->seen);
        if (declared->type != NULL) {
            LB_TRY(lb_buf_append(&s->closed, &open->declared, sizeof open->declared, err));
            survey_merge_bounds(&declared->target, &declared->bounds, &open->declared);
        }
        *open = (survey_block_column){ .declared.any = false };
    }
    s->n_closed += width;
    return LB_OK;
}

lb_status survey_put_open(survey *s, lb_error *err)
{
    if (s->options->stats != LB_STATS_BLOCKS)
        return LB_OK;
    for (size_t i = 0; i < s->width; i++) {
        survey_block_column *open = &s->open[i];
        LB_TRY(delim_state_add(&s->closed, &open->seen, err));
        if (s->columns[i].declared.type != NULL)
            LB_TRY(lb_buf_append(&s->closed, &open->declared, sizeof open->declared, err));
        *open = (survey_block_column){ .declared.any = false };
    }
    return LB_OK;
}

/* The open block ends before row `row`, at an offset. */
static lb_status survey_close_block(survey *s, uint64_t row, uint64_t offset, lb_error *err)
{
    lb_block block = { .first_row = s->block.first_row,
                       .row_count = row - s->block.first_row,
                       .first_line = s->block.first_line,
                       .first_byte = s->block.first_byte,
                       .total_byte_size = offset - s->block.first_byte };

    if (!s->has_block)
        return LB_OK;
    s->has_block = false;
    LB_TRY(survey_start_hash(s, &block, err));
    LB_TRY(survey_close_columns(s, block.row_count, err));
    return lb_block_builder_add(&s->blocks, &block, err);
}

lb_status survey_begin_block(survey *s, const survey_start *start, lb_error *err)
{
    LB_TRY(survey_close_block(s, start->first_row, start->before, err));
    s->block = *start;
    s->has_block = true;
    return LB_OK;
}

/* Rows between states that are kept: a whole number of blocks, so that where the last state lies follows from the rows alone. */
static uint64_t survey_state_rows(const survey *s)
{
    uint64_t stride = s->options->stride;

    return stride >= SURVEY_STATE_ROWS ? stride : (SURVEY_STATE_ROWS + stride - 1) / stride * stride;
}

/* May the survey be taken up again from a state? Bounds of declared columns and of blocks are not part of one. */
static bool survey_keeps_state(const survey *s)
{
    return s->options->keep_state && s->options->stats != LB_STATS_BLOCKS &&
           (s->r->options == NULL || s->r->options->n_columns == 0);
}

bool survey_state_due(const survey *s, uint64_t row)
{
    return survey_keeps_state(s) && row % survey_state_rows(s) == 0;
}

lb_status survey_take_state(survey *s, uint64_t row, lb_error *err)
{
    if (!survey_state_due(s, row))
        return LB_OK;
    survey_count_nulls(s);
    s->owed.any = false;
    LB_TRY(delim_state_begin(&s->state, row, (uint32_t)s->width, err));
    for (size_t i = 0; i < s->width; i++)
        LB_TRY(delim_state_add(&s->state, &s->columns[i].seen, err));
    return LB_OK;
}

void survey_keep_bytes(survey_start *start, const uint8_t *at, size_t size)
{
    start->n_bytes = size < sizeof start->bytes ? 0 : sizeof start->bytes;
    memcpy(start->bytes, at, start->n_bytes);
}

static lb_status survey_open_block(survey *s, lb_error *err)
{
    const delim_scanner *scan = &s->records.scan;
    survey_start start = { .first_row = s->rows, .before = delim_records_marked(&s->records) };

    /* Asked for behind the mark: offsets are cheapest in ascending order. */
    start.first_byte = lb_text_offset(&s->records.text, delim_records_position(&s->records));
    start.first_line = delim_records_line(&s->records);

    if (s->records.text.encoding == NULL)
        survey_keep_bytes(&start, scan->data + scan->start, scan->size - scan->start);
    if (s->part) {
        LB_TRY(survey_put_open(s, err));
        return lb_buf_append(&s->starts, &start, sizeof start, err);
    }
    LB_TRY(survey_begin_block(s, &start, err));
    return survey_take_state(s, s->rows, err);
}

/* ---------------------------------------------------------------- rows */

static bool survey_is_unclosed(const delim_scanner *scan)
{
    return scan->n_fields != 0 && (scan->fields[scan->n_fields - 1].flags & DELIM_UNCLOSED) != 0;
}

lb_status delim_fail_ragged(lb_reader *r, delim_records *records, size_t width, lb_error *err)
{
    size_t n = records->scan.n_fields;
    lb_status status =
        lb_fail(err, LB_CORRUPT, delim_records_where(records), "a record of %zu field%s where %zu %s expected", n,
                n == 1 ? "" : "s", width, width == 1 ? "is" : "are");
    char option[128], why[128];

    if (survey_is_unclosed(&records->scan))
        lb_fail_hint(err, "its last quote is never closed; --quote none reads quotes as ordinary bytes");
    if (delim_suggest(r, option, why, sizeof option, NULL) == LB_OK && strncmp(option, "delimiter=", 10) == 0)
        lb_fail_hint(err, "%s: --delimiter '%s' reads it so", why, option + 10);
    lb_fail_hint(err, "--ragged null pads short records with nulls and gives long ones columns of their own");
    return status;
}

static lb_status survey_declared_value(survey *s, size_t column, const delim_value *v, survey_bounds *bounds,
                                       lb_error *err)
{
    const survey_declared *d = &s->columns[column].declared;
    delim_scalar scalar;

    if (d->target.storage == DELIM_TEXT || delim_nulls(&d->target, v))
        return LB_OK;
    if (delim_parse(&d->target, delim_trim(v->text, v->quoted), &scalar)) {
        survey_bound_scalar(&d->target, bounds, &scalar);
        return LB_OK;
    }
    lb_str name = s->columns[column].name;
    lb_fail(err, LB_CORRUPT, delim_records_where(&s->records), "column '%.*s': \"%.*s\" does not read as %s",
            (int)LB_MIN(name.size, 100), name.at, (int)LB_MIN(v->text.size, 60), v->text.at, d->type);
    lb_fail_hint(err, "declare another type with --column NAME=TYPE, or string to keep it as it stands");
    return LB_CORRUPT;
}

static delim_column *survey_seen(survey *s, size_t column)
{
    return s->options->stats == LB_STATS_BLOCKS ? &s->open[column].seen : &s->columns[column].seen;
}

static lb_status survey_value(survey *s, size_t column, const delim_value *v, lb_error *err)
{
    survey_column *c = &s->columns[column];
    bool in_blocks = s->options->stats == LB_STATS_BLOCKS;

    if (c->declared.type != NULL)
        LB_TRY(survey_declared_value(s, column, v, in_blocks ? &s->open[column].declared : &c->declared.bounds, err));
    if (!v->null)
        delim_column_add(survey_seen(s, column), v->text, v->quoted, &s->r->values, c->bounds);
    return LB_OK;
}

/* What a short record lacks is found missing by survey_count_nulls. */
static lb_status survey_values(survey *s, lb_error *err)
{
    const delim_scanner *scan = &s->records.scan;
    delim_value v;

    for (size_t i = 0; i < scan->n_fields; i++) {
        LB_TRY(delim_read_value(&s->r->dialect, &s->r->values, &scan->fields[i], SIZE_MAX, &s->scratch, &v, err));
        LB_TRY(survey_value(s, i, &v, err));
    }
    return LB_OK;
}

lb_status survey_record(survey *s, lb_error *err)
{
    size_t n = s->records.scan.n_fields;

    if (s->has_width && n != s->width && !s->r->dialect.ragged_null)
        return delim_fail_ragged(s->r, &s->records, s->width, err);
    if (n > s->width)
        LB_TRY(survey_widen(s, n, err));
    if (!s->loose && s->rows % s->options->stride == 0)
        LB_TRY(survey_open_block(s, err));
    if (!s->structure_only)
        LB_TRY(survey_values(s, err));
    s->rows++;
    s->block_width = s->width;
    delim_records_mark(&s->records);
    return LB_OK;
}

/* May records be taken in by columns? A value that does not read as its column declares is told with its place. */
static bool survey_may_have_many(const survey *s)
{
    return !s->structure_only && s->has_width && (s->has_block || s->part) && s->options->sample_bytes == 0 &&
           (s->r->options == NULL || s->r->options->n_columns == 0);
}

/* Cells for as many fields as the records have. */
static bool survey_make_cells(survey *s)
{
    if (s->cells.width == s->width)
        return true;
    delim_cells_free(&s->cells);
    return delim_cells_init(&s->cells, s->width, &s->r->cx->budget, NULL) == LB_OK;
}

lb_status survey_many(survey *s, uint64_t most, lb_error *err)
{
    const uint64_t stride = s->options->stride, left = s->loose ? UINT64_MAX : stride - s->rows % stride;

    if (s->single != 0 || left == stride || !survey_may_have_many(s)) {
        s->single -= s->single != 0;
        return LB_OK;
    }
    if (!survey_make_cells(s)) {
        s->single = UINT64_MAX;
        return LB_OK;
    }
    const size_t n = delim_records_cells(&s->records, &s->cells, LB_MIN(left, most));
    for (size_t i = 0; i < s->width && n != 0; i++)
        LB_TRY(delim_typing_add(&s->typing, &s->cells, i, survey_seen(s, i), s->columns[i].bounds, err));
    s->rows += n;
    /* What was looked at in vain costs less than reading so many records. */
    s->single = s->cells.wasted / 4;
    return LB_OK;
}

/* A quote that is never closed takes in all that follows: more often a torn file than one long value. */
static void survey_tell_unclosed(survey *s)
{
    const delim_scanner *scan = &s->records.scan;

    if (scan->n_fields != 0 && (scan->fields[scan->n_fields - 1].flags & DELIM_UNCLOSED) != 0)
        lb_note(s->r->cx,
                "%s: line %llu: the quote that opens in this record is never closed; --quote none reads quotes as "
                "ordinary bytes",
                s->r->store->path, (unsigned long long)delim_records_line(&s->records));
}

/* Where only the structure is wanted, the records behind the first of a block need no look at their fields. */
static lb_status survey_pass(survey *s, lb_error *err)
{
    uint64_t left = s->options->stride - s->rows % s->options->stride, passed;

    if (!s->structure_only || s->options->sample_bytes != 0 || !s->has_block || left == s->options->stride)
        return LB_OK;
    LB_TRY(delim_records_skip_fitting(&s->records, left, s->width, s->r->dialect.ragged_null, &passed, err));
    s->rows += passed;
    return LB_OK;
}

/* Where several threads can read they do; what they leave is read record by record, and then they are asked again, ever more
 * seldom where they found nothing to do. */
static lb_status survey_rows(survey *s, lb_error *err)
{
    uint64_t sample = s->options->sample_bytes, plain = SURVEY_PLAIN_BYTES, again = 0;
    bool got;

    for (;;) {
        if (s->has_width && s->records.text.at >= again) {
            bool odd;
            LB_TRY(survey_chunks(s, &odd, err));
            plain = odd ? plain * 2 : SURVEY_PLAIN_BYTES;
            again = s->records.text.at + plain;
        }
        LB_TRY(survey_pass(s, err));
        LB_TRY(survey_many(s, UINT64_MAX, err));
        LB_TRY(delim_records_next(&s->records, &got, err));
        if (!got)
            break;
        survey_tell_unclosed(s);
        LB_TRY(survey_record(s, err));
        if (sample != 0 && delim_records_marked(&s->records) >= sample) {
            s->sampled = true;
            break;
        }
    }
    LB_TRY(survey_pay_state(s, err));
    return survey_close_block(s, s->rows, delim_records_marked(&s->records), err);
}

/* ---------------------------------------------------------------- the tap, and opening */

static void survey_tap(void *user, const uint8_t *bytes, size_t size)
{
    survey *s = user;
    uint64_t at = s->tap_at;

    s->tap_at += size;
    lb_tapped_give(&s->tapped, at, bytes, size);
}

lb_status survey_open_records(survey *s, uint64_t offset, uint64_t line, lb_error *err)
{
    lb_reader *r = s->r;

    LB_TRY(
        delim_records_open(&s->records, r->cx, r->store, &r->dialect, offset, s->rows, line, s->options->chunk, err));
    s->tap_at = offset;
    lb_text_tap(&s->records.text, false, survey_tap, s);
    return LB_OK;
}

/* ---------------------------------------------------------------- beginning and ending */

void survey_begin(survey *s, lb_reader *r, const lb_survey_options *options, lb_arena *arena)
{
    lb_budget *budget = &r->cx->budget;

    *s = (survey){ .r = r, .options = options, .arena = arena };
    s->tapped = (lb_tapped){ .tap = options->tap, .sums = options->sums, .user = options->tap_user };
    lb_buf_init(&s->scratch, budget);
    lb_buf_init(&s->column_bytes, budget);
    lb_buf_init(&s->open_bytes, budget);
    lb_buf_init(&s->closed, budget);
    lb_buf_init(&s->state, budget);
    lb_buf_init(&s->starts, budget);
    lb_buf_init(&s->owed.seen, budget);
    lb_block_builder_init(&s->blocks, budget);
    const bool declared = r->options != NULL && r->options->n_columns != 0;
    s->structure_only = options->stats == LB_STATS_OFF && (options->rows_only || (r->values.text && !declared));
    delim_typing_init(&s->typing, &r->dialect, &r->values, &s->scratch);
}

void survey_free(survey *s)
{
    delim_records_close(&s->records);
    lb_buf_free(&s->scratch);
    lb_buf_free(&s->column_bytes);
    lb_buf_free(&s->open_bytes);
    lb_buf_free(&s->closed);
    delim_namer_free(&s->namer);
    lb_buf_free(&s->state);
    lb_buf_free(&s->starts);
    lb_buf_free(&s->owed.seen);
    delim_cells_free(&s->cells);
    lb_block_builder_free(&s->blocks);
}

/* Make the entry of what was seen, unless that failed; frees the survey. */
static lb_status survey_end(survey *s, lb_status status, lb_entry *out, lb_error *err)
{
    if (status == LB_OK)
        status = survey_result(s, out, err);
    out->total_rows = s->sampled ? LB_ROWS_UNKNOWN : s->rows;
    out->format = lb_str_of(s->r->format->name);
    out->locator = lb_str_of(s->r->format->locator);
    survey_free(s);
    return status;
}

lb_status delim_survey(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, lb_error *err)
{
    survey s;

    survey_begin(&s, r, options, arena);
    lb_status status = survey_open_records(&s, 0, 1, err);
    if (status == LB_OK)
        status = survey_header(&s, err);
    if (status == LB_OK)
        status = survey_rows(&s, err);
    return survey_end(&s, status, out, err);
}

/* ---------------------------------------------------------------- files that grew */

/* The columns as the state has them. *read false: it is no state of this file. */
static lb_status survey_restore(survey *s, const lb_entry *known, uint64_t *block, bool *read, lb_error *err)
{
    lb_cursor c;
    uint64_t row;
    uint32_t width;

    *read = false;
    if (!delim_state_open(known->open_state, &c, &row, &width))
        return LB_OK;
    *block = lb_blocks_find(&known->blocks, row);
    if (*block == UINT64_MAX || known->blocks.first_row[*block] != row || width < s->width)
        return LB_OK;
    s->rows = row;
    LB_TRY(survey_widen(s, width, err));
    for (size_t i = 0; i < width; i++)
        if (!delim_state_next(&c, &s->columns[i].seen) || delim_column_values(&s->columns[i].seen) > row)
            return LB_OK;
    *read = true;
    return lb_buf_append(&s->state, known->open_state.at, known->open_state.size, err);
}

static lb_status survey_copy_blocks(survey *s, const lb_blocks *b, uint64_t count, lb_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        const lb_block block = { b->first_row[i],       b->row_count[i],  b->first_byte[i], b->total_byte_size[i],
                                 b->compressed_size[i], b->first_line[i], b->start_hash[i] };
        LB_TRY(lb_block_builder_add(&s->blocks, &block, err));
    }
    return LB_OK;
}

/* Read the header again, then go on from the block that the state was taken at. */
static lb_status survey_resume(survey *s, const lb_entry *known, bool *done, lb_error *err)
{
    lb_reader *r = s->r;
    const lb_blocks *b = &known->blocks;
    uint64_t block = 0;

    LB_TRY(delim_records_open(&s->records, r->cx, r->store, &r->dialect, 0, 0, 1, s->options->chunk, err));
    LB_TRY(survey_header(s, err));
    LB_TRY(survey_restore(s, known, &block, done, err));
    if (!*done)
        return LB_OK;
    LB_TRY(survey_copy_blocks(s, b, block, err));
    delim_records_close(&s->records);
    LB_TRY(delim_records_open(&s->records, r->cx, r->store, &r->dialect, b->first_byte[block], b->first_row[block],
                              b->first_line[block], s->options->chunk, err));
    return survey_rows(s, err);
}

lb_status delim_extend(lb_reader *r, const lb_survey_options *options, lb_arena *arena, lb_entry *out, bool *done,
                       lb_error *err)
{
    const lb_entry *known = r->known;
    const lb_blocks *b = &known->blocks;
    survey s;

    *done = false;
    if (b->count == 0 || b->first_byte == NULL || b->first_line == NULL || b->start_hash == NULL ||
        known->open_state.size == 0)
        return LB_OK;
    survey_begin(&s, r, options, arena);
    if (!survey_keeps_state(&s))
        return survey_end(&s, LB_OK, &(lb_entry){ 0 }, err);
    lb_status status = survey_resume(&s, known, done, err);
    if (status != LB_OK)
        *done = false;
    return survey_end(&s, status, *done ? out : &(lb_entry){ 0 }, err);
}
